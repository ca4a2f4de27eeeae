"""What else than its command says what a call of a shell does: variables, a folder, another shell.

Source: `docs/grounding.md`, "What a change owes".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from ..grammar.ast import Json, Segment
from .selector import array_index, get

# Names of arguments, without capitals and marks: `workingDir` and `working_dir` are one.
_FOLDER = re.compile(
    r"cwd|wd|(?:work|working|exec|current|base|project|repo(?:sitory)?|workspace|start|root)?"
    r"(?:dir|directory|folder|path|root)(?:path)?"
)
_ELSEWHERE = re.compile(
    r"(?:host|machine|container|pod|vm|sandbox|cluster|namespace|remote|server|ref|branch|revision|rev|commit"
    r"|sha|version|tag|snapshot|repo|repository|project|workspace|bucket)(?:id|name|sha|hash|url|slug)?"
)
_NAMED = ("path", "dir", "directory", "folder")  # what a tool without a command looks at
_SHELLS = frozenset({"shell", "executable", "interpreter"})
_KNOWN_SHELLS = frozenset({"sh", "bash", "zsh", "dash"})
# What stands before a command in a list: `["bash", "-lc", "…"]`.
_FIRST = frozenset(folder + shell for folder in ("", "/bin/", "/usr/bin/") for shell in _KNOWN_SHELLS)
_FLAGS = (["-c"], ["-lc"], ["-l", "-c"])
_CHANGING = frozenset(
    {
        *("env", "environment", "env_vars", "envVars", "stdin", "input", "is_input", "args", "arguments"),
        *("argv", "script", "prefix"),
    }
)
_HARMLESS = frozenset({"prefix_rule", "tags", "labels"})
_LATER = frozenset({"run_in_background", "is_background", "isBackground", "background", "detach"})
_NO = ("", "false", "no", "0")


class Where(Struct, frozen=True):
    """Where a call is at work: a `folder` (None: none is named), or `unknown`, where it is none of ours."""

    folder: str | None = None
    unknown: bool = False


def is_plain(arguments: Json, segments: tuple[Segment, ...]) -> bool:
    """Does the command alone say what runs? Not with variables, input, more arguments, or another shell."""
    if not all(_is_last(get(arguments, segments[:at]), segment) for at, segment in enumerate(segments)):
        return False
    for key, value in beside(arguments, segments):
        if _is_no(value) or key in _HARMLESS:
            continue
        if key in _SHELLS:
            if type(value) is not str or value.rpartition("/")[2] not in _KNOWN_SHELLS:
                return False
        elif key in _CHANGING or type(value) in (dict, list):
            return False
    return True


def runs_later(arguments: Json, segments: tuple[Segment, ...]) -> bool:
    """Does it run in the background, so that its result is not what it comes to?"""
    return any(key in _LATER and not _is_no(value) for key, value in beside(arguments, segments))


def where(facts: Iterable[tuple[str, Any]], *, names: bool = False) -> Where:
    """Where a call is at work, by what stands beside its command. `names`: beside the names of files."""
    folders: set[str] = set()
    for key, value in facts:
        plain = key.replace("_", "").replace("-", "").lower()
        if _ELSEWHERE.fullmatch(plain) is not None and not _is_no(value):
            return Where(unknown=True)
        if _FOLDER.fullmatch(plain) is None or (names and plain in _NAMED) or value is None:
            continue
        if type(value) is not str:
            return Where(unknown=True)
        folders.add(value.rstrip("/") if value.strip("/") else value[:1])
    folders -= {"", "."}
    if len(folders) > 1:
        return Where(unknown=True)
    return Where(folders.pop() if folders else None)


def inside(place: Where, files: Iterable[str]) -> tuple[str, ...]:
    """The files, seen from where the session is."""
    from .shelltargets import within

    return tuple(files) if place.folder is None else within(place.folder, files)


def beside(arguments: Any, segments: tuple[Segment, ...]) -> Iterator[tuple[str, Any]]:
    """The keys and values of the objects on the way to the command, but for that way."""
    here = arguments
    for segment in segments:
        if type(here) is not dict:
            return
        yield from ((key, value) for key, value in here.items() if key != segment)
        here = here.get(segment) if type(segment) is str else None


def _is_last(value: Any, segment: Segment) -> bool:
    """If it is a list: is what it runs a shell, which runs the item at the segment and nothing else?"""
    if type(value) is not list:
        return True
    first = value[0] if value and type(value[0]) is str else ""
    return first in _FIRST and value[1:-1] in _FLAGS and array_index(segment) == len(value) - 1


def _is_no(value: Any) -> bool:
    return not value or (type(value) is str and value.strip().lower() in _NO)
