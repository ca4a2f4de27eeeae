"""Where a call is at work: in which folder, and on which machine or in which state of its files.

Source: `docs/grounding.md`, "What a change owes".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

# Names of arguments, without capitals and marks: `workingDir` and `working_dir` are one.
_FOLDER = re.compile(
    r"(?:remote|ssh|host|container|docker|pod|vm|sandbox)?(?:cwd|pwd|wd|chdir|(?:work|working|exec|current|base"
    r"|project|repo|repository|workspace|start|root|search|parent|sub|git)?(?:dir|directory|folder|root)(?:path|uri)?"
    r"|(?:work|working|exec|current|base|project|repo|repository|workspace|start|root|search|parent|sub)?path)"
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
    **{each: each for each in ("staged", "cached", "deleted", "original", "changeset")},
}
# And those that say on which machine it is, or whose files they are.
_PLACES = {
    **{each: each for each in ("host", "machine", "server", "remote", "ssh", "instance", "vm")},
    **{each: each for each in ("container", "docker", "pod", "kube", "cluster", "namespace", "sandbox")},
    **{each: each for each in ("volume", "mount", "bucket", "site", "region", "tenant")},
    **{each: each for each in ("owner", "connection", "archive")},
    **{each: each for each in ("project", "workspace", "worktree", "submodule", "gist", "pull", "issue")},
    **dict.fromkeys(("repo", "repository"), "repo"),
    **dict.fromkeys(("org", "organization"), "org"),
    **dict.fromkeys(("env", "environment"), "environment"),
    **dict.fromkeys(("pr", "mr", "iid"), "pull"),
    **{f"{each}s": each for each in ("host", "container", "server")},
    "zip": "archive",
}
_KINDS = {**_STATES, **_PLACES}
_ONE = re.compile(rf"({'|'.join(sorted(_KINDS, key=len, reverse=True))})(?:id|name|sha|hash|url|slug)")
_SIDES = frozenset(("source", "target", "from", "to", "dest", "destination"))  # one of two
_ALONE = frozenset(("at", "asof"))  # of a look, as one word
# Beside one of these words it is a text for people, a count, or how something is done.
_ASIDE = frozenset(
    {
        *("message", "title", "description", "body", "comment", "note", "summary", "reason", "explanation"),
        *("string", "str", "text", "query", "prompt", "count", "limit", "lines", "line", "type", "rule"),
        *("permission", "permissions", "disable", "dangerously", "approved", "confirmed", "intent", "api"),
        *(
            "schema",
            "create",
            "auto",
            "use",
            "include",
            "detail",
            "depth",
            "format",
            "expected",
            "mcp",
            "dir",
            "directory",
            "folder",
        ),
    }
)
# A machine, in the name of a folder there.
_FAR = frozenset(("remote", "ssh", "host", "container", "docker", "pod", "vm", "sandbox"))
_MOST = 4_096  # values of a call that are looked through for places


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
    apart: set[str] = set()
    todo: list[tuple[str, Any, bool]] = [(key, value, True) for key, value in facts]
    left = _MOST
    while todo:
        key, value, top = todo.pop()
        left -= 1
        if left < 0:
            return Where(unknown=True, apart="?")  # there may be places in the rest
        if not value and (value is None or type(value) in (bool, str, list, dict)):
            continue
        plain = plain_key(key)
        if files is None or key not in files:
            folder = _FOLDER.fullmatch(plain) is not None and type(value) is not bool
            if folder and not top:
                apart.add(f"{plain} {json.dumps(value, sort_keys=True)}")
            elif folder and not (files is not None and plain in _NAMES):
                apart.update(f"{word} {value}" for word in _FAR.intersection(words_of(key)))
                if type(value) is not str:
                    return Where(unknown=True, apart="?")
                folders.add(value.rstrip("/") if value.strip("/") else value[:1])
                continue
            elif value != "false":
                apart.update(_places(key, plain, value, changes))
        if type(value) is dict:
            todo.extend((below, each, False) for below, each in value.items())
        elif type(value) is list:
            todo.extend(("", each, False) for each in value if type(each) in (dict, list))
    folders -= {"", "."}
    if len(folders) > 1:
        return Where(unknown=True, apart="?")
    return Where(folders.pop() if folders else None, apart="\n".join(sorted(apart)))


def _places(key: str, plain: str, value: Any, changes: bool) -> Iterator[str]:
    """Which places an argument names, most often none."""
    words = words_of(key)
    if plain in _ALONE and type(value) is str and not changes:
        yield f"{plain} {value}"
    if not words.isdisjoint(_ASIDE):
        return
    one = _ONE.fullmatch(plain)
    found = {_KINDS[each] for each in words if each in _KINDS} or ({_KINDS[one[1]]} if one else set())
    if changes and not words.isdisjoint(("start", "last", "base", "previous", "old", "parent")):
        found -= set(_STATES.values())
    elif changes:
        found -= set(_STATES.values()) - {"ref"}
    side = " ".join(sorted(words & _SIDES))
    for kind in found:
        if kind == "ref" and type(value) is str:
            value = value.removeprefix("refs/heads/")
        yield f"{side} {kind} {json.dumps(value, sort_keys=True)}"


def words_of(key: str) -> set[str]:
    """The words that a name is made of, without capitals."""
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
