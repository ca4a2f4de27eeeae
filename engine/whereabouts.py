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
# Words in the name of an argument that says which machine it is, whose files, or in which state of them.
_STATES = frozenset(
    {
        *("ref", "refs", "branch", "revision", "rev", "commit", "commitish", "sha", "version", "tag"),
        *("treeish", "tree"),
    }
)
_PLACES = frozenset(
    {
        *("host", "hosts", "machine", "node", "server", "remote", "ssh", "instance", "device", "vm", "vmid"),
        *("container", "containers", "docker", "pod", "kube", "cluster", "namespace", "sandbox", "image"),
        *("volume", "mount", "bucket", "drive", "site", "region", "environment", "env", "stage", "tenant"),
        *("org", "organization", "owner", "account", "user", "group", "connection", "profile"),
        *("repo", "repository", "project", "workspace", "worktree", "package", "module", "archive", "zip"),
        *("gist", "pull", "pr", "mr", "merge", "issue", "iid", "changeset", "patchset", "snapshot"),
        *("checkpoint", "stash", "backup", "base", "prefix", "parent", "origin", "location", "scope"),
        *("original", "staged", "cached", "deleted", "timestamp", "date", "submodule"),
    }
)
# Said of it as one word alone; of two they are about something else.
_ALONE = frozenset(
    ("at", "asof", "in", "from", "before", "within", "side", "context", "old", "index", "change")
)
# Beside one of these words it is a text for people, or a count.
_ASIDE = frozenset(
    {
        *("message", "title", "description", "body", "comment", "note", "summary", "reason", "explanation"),
        *(
            "string",
            "str",
            "text",
            "content",
            "source",
            "query",
            "prompt",
            "count",
            "limit",
            "lines",
            "type",
            "rule",
        ),
    }
)
_NO = ("", "false", "no", "0")


class Where(Struct, frozen=True):
    """Where a call is at work: a `folder` (None: none is named), or `unknown`, where it names more than one.

    `apart`: what else tells its files from others of these names, a text that is the same for the same place.
    """

    folder: str | None = None
    unknown: bool = False
    apart: str = ""


def where(facts: Iterable[tuple[str, Any]], *, files: frozenset[str] | None = None) -> Where:
    """Where a call is at work, by what stands beside its command, or beside the names of its `files`, which
    are the arguments with these names."""
    folders: set[str] = set()
    apart: dict[str, str] = {}
    for key, value in facts:
        if is_no(value) or (files is not None and key in files):
            continue
        plain = key.replace("_", "").replace("-", "").lower()
        if _FOLDER.fullmatch(plain) is not None:
            if type(value) is bool or (files is not None and plain in _NAMES):
                continue
            if type(value) is not str:
                return Where(unknown=True)
            folders.add(value.rstrip("/") if value.strip("/") else value[:1])
            continue
        kind = _kind(key, plain, value)
        if kind is not None:
            text = value if type(value) is str else json.dumps(value, sort_keys=True)
            apart[kind] = text.removeprefix("refs/heads/")
    folders -= {"", "."}
    if len(folders) > 1:
        return Where(unknown=True)
    found = json.dumps(sorted(apart.items())) if apart else ""
    return Where(folders.pop() if folders else None, apart=found)


def _kind(key: str, plain: str, value: Any) -> str | None:
    """Which kind of place an argument names; None where it names none."""
    if plain in _ALONE:
        return plain if type(value) in (str, bool) else None
    words = {each.lower() for each in _WORDS.findall(key)}
    if not words.isdisjoint(_ASIDE):
        return None
    if not words.isdisjoint(_STATES):
        return "state"
    found = sorted(words & _PLACES)
    return " ".join(found) if found else None


def inside(place: Where, files: Iterable[str]) -> tuple[str, ...]:
    """The files, seen from where the session is."""
    return tuple(files) if place.folder is None else within(place.folder, files)


def within(folder: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names, seen from outside of a folder."""
    return tuple(name if name[0] in "/~" else f"{folder.rstrip('/')}/{name}" for name in names)


def is_no(value: Any) -> bool:
    """Is an argument as good as not given?"""
    return not value or (type(value) is str and value.strip().lower() in _NO)
