"""Where a call is at work: in which folder, and on which machine or in which state of its files.

Source: `docs/grounding.md`, "What a change owes".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

# Names of arguments, without capitals and marks: `workingDir` and `working_dir` are one.
_FOLDER = re.compile(
    r"\w*(?:cwd|wd|dir|directory|folder|root|rooturi)"
    r"|(?:\w*(?:dir|directory|folder|root)|work|working|exec|current|base|project|repo|repository|workspace"
    r"|start|search|parent|sub)?path"
)
_NAMES = ("path", "dir", "directory", "folder")  # what a tool without a command looks at
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Words in the name of an argument that says in which state of its files a look looks: by kind, the same for
# words that mean the same. A change is made at a branch; of the others it says what it builds on.
_STATES = {
    **dict.fromkeys(("ref", "refs", "branch"), "ref"),
    **dict.fromkeys(("revision", "rev"), "revision"),
    **dict.fromkeys(("commit", "commitish", "treeish", "tree"), "commit"),
    **{each: each for each in ("sha", "version", "tag", "snapshot", "checkpoint", "stash", "backup")},
    **{each: each for each in ("timestamp", "date", "staged", "cached", "deleted", "original", "changeset")},
}
# And those that say on which machine it is, or whose files they are.
_PLACES = {
    **{each: each for each in ("host", "machine", "server", "remote", "ssh", "instance", "device", "vm")},
    **{each: each for each in ("container", "docker", "pod", "kube", "cluster", "namespace", "sandbox")},
    **{each: each for each in ("volume", "mount", "bucket", "drive", "site", "region", "stage", "tenant")},
    **{each: each for each in ("owner", "account", "user", "group", "connection", "profile", "archive")},
    **{each: each for each in ("project", "workspace", "worktree", "submodule", "gist", "pull", "issue")},
    **dict.fromkeys(("repo", "repository"), "repo"),
    **dict.fromkeys(("org", "organization"), "org"),
    **dict.fromkeys(("env", "environment"), "environment"),
    **dict.fromkeys(("pr", "mr", "iid"), "pull"),
    **{f"{each}s": each for each in ("host", "container", "server")},
    "image": "image",
    "zip": "archive",
}
_KINDS = {**_STATES, **_PLACES}
_ONE = re.compile(rf"({'|'.join(sorted(_KINDS, key=len, reverse=True))})(?:id|name|sha|hash|url|slug)")
_YES = frozenset(("staged", "cached", "deleted", "original", "remote"))  # said by yes or no
_ALONE = frozenset(("at", "asof"))  # of a look, as one word
# Beside one of these words it is a text for people, a count, or how something is done.
_ASIDE = frozenset(
    {
        *("message", "title", "description", "body", "comment", "note", "summary", "reason", "explanation"),
        *("string", "str", "text", "query", "prompt", "count", "limit", "lines", "line", "type", "rule"),
        *("permission", "permissions", "disable", "dangerously", "approved", "confirmed", "intent", "api"),
        *("schema", "create", "auto", "use", "include", "detail", "depth", "format", "expected", "mcp"),
    }
)
# A machine, in the name of a folder there.
_FAR = frozenset(("remote", "ssh", "host", "container", "docker", "pod", "vm", "sandbox"))
_DEEPEST = 64  # objects in a call that are looked through for other places


class Where(Struct, frozen=True):
    """Where a call is at work: a `folder` (None: none is named), or `unknown`, where it names more than one.

    `apart`: what else tells its files from others of these names, a text that is the same for the same place.
    """

    folder: str | None = None
    unknown: bool = False
    apart: str = ""


def where(
    facts: Iterable[tuple[str, Any]], *, files: frozenset[str] | None = None, changes: bool = False
) -> Where:
    """Where a call is at work, by what stands beside its command, or beside the names of its `files`, which
    are the arguments with these names. `changes`: what a change builds on is no place."""
    folders: set[str] = set()
    apart: dict[str, list[str]] = {}
    for key, value in facts:
        given = (bool(value) and value != "false") or (type(value) in (int, float) and value == 0)
        if not given or (files is not None and key in files):
            continue
        plain = plain_key(key)
        if _FOLDER.fullmatch(plain) is not None:
            for word in _FAR.intersection(_words_of(key)):
                apart.setdefault(word, []).append(str(value))
            if type(value) is bool or (files is not None and plain in _NAMES):
                continue
            if type(value) is not str:
                return Where(unknown=True, apart="?")
            folders.add(value.rstrip("/") if value.strip("/") else value[:1])
            continue
        for kind in _kinds(key, plain, value, changes):
            text = (
                value.removeprefix("refs/heads/") if type(value) is str else json.dumps(value, sort_keys=True)
            )
            apart.setdefault(kind, []).append(text)
    folders -= {"", "."}
    if len(folders) > 1:
        return Where(unknown=True, apart="?")
    found = json.dumps(sorted((kind, sorted(set(each))) for kind, each in apart.items())) if apart else ""
    return Where(folders.pop() if folders else None, apart=found)


def names_places(value: Any) -> bool:
    """Does an object below the arguments name places of its own?"""
    todo, left = [value], _DEEPEST
    while todo and left:
        here, left = todo.pop(), left - 1
        if type(here) is list:
            todo.extend(each for each in here[:_DEEPEST] if type(each) in (dict, list))
        elif type(here) is dict:
            if any(
                type(each) is str and _kinds(key, plain_key(key), each, False) for key, each in here.items()
            ):
                return True
            todo.extend(each for each in here.values() if type(each) in (dict, list))
    return False


def _kinds(key: str, plain: str, value: Any, changes: bool) -> list[str]:
    """Which kinds of place an argument names, most often none."""
    if plain in _ALONE:
        return [plain] if type(value) is str and not changes else []
    words = _words_of(key)
    if not words.isdisjoint(_ASIDE):
        return []
    one = _ONE.fullmatch(plain)
    found = {_KINDS[each] for each in words if each in _KINDS} or ({_KINDS[one[1]]} if one else set())
    if type(value) is bool:
        return sorted(found & _YES)
    kept = found if not changes else {each for each in found if each == "ref" or each not in _STATES.values()}
    building = changes and not words.isdisjoint(("start", "last", "base", "previous", "old", "parent"))
    return [] if building else sorted(kept)


def _words_of(key: str) -> set[str]:
    return {each.lower() for each in _WORDS.findall(key)}


def plain_key(key: str) -> str:
    """A key without capitals and marks."""
    return key.replace("_", "").replace("-", "").lower()


def inside(place: Where, files: Iterable[str]) -> tuple[str, ...]:
    """The files, seen from where the session is."""
    return tuple(files) if place.folder is None else within(place.folder, files)


def within(folder: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names, seen from outside of a folder."""
    return tuple(name if name[0] in "/~" else f"{folder.rstrip('/')}/{name}" for name in names)
