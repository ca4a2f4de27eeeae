"""What else than its command says what a call of a shell does: variables, input, another shell.

Source: `docs/grounding.md`, "What a change owes".
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import join, quote
from typing import Any

from ..grammar.ast import Json, Segment
from .selector import array_index, get
from .shown import written
from .whereabouts import words_of

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
_NO = ("", "false", "no", "0")
_PLACES = ("command", "cmd")
_WORDS = frozenset({"bash", "sh", "zsh", "dash", "shell", "terminal", "command", "cmd"})  # in a tool's name
_LATER = frozenset({"run_in_background", "is_background", "isBackground", "background", "detach"})


def command_of(tool: str, arguments: Json) -> tuple[dict[str, Any], tuple[Segment, ...]] | None:
    """The command of a call of which no rule tells that it has one: arguments in which it is a text, and
    where it stands there. Options alone are those of the program that the tool is called."""
    shell = not _WORDS.isdisjoint(words_of(tool))
    if type(arguments) is dict:
        for key in _PLACES:
            line = _line(arguments.get(key))
            # One word may be what another tool is to do with the file beside it: `{"command": "view"}`.
            if line is None:
                continue
            several, alone = len(line.split()) > 1, not written(arguments)
            if (several or alone) if shell else (several and alone):
                return {**arguments, key: line}, (key,)
        return None
    if type(arguments) is str and arguments.startswith("-"):
        arguments = f"{quote(tool)} {arguments}"
    elif type(arguments) is list and arguments and str(arguments[0]).startswith("-"):
        arguments = [tool, *arguments]
    elif not shell:
        return None
    line = _line(arguments)
    return None if line is None else ({"command": line}, ("command",))


def _line(value: Any) -> str | None:
    """A command, given as text or as the words of one, as text; None where it is none."""
    if type(value) is str:
        return value if value.strip() else None
    if type(value) is not list or not all(type(each) is str for each in value):
        return None
    if _is_shell(value):
        return str(value[-1])
    return join(value) if value and len(value[0].split()) == 1 else None


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
    return _is_shell(value) and array_index(segment) == len(value) - 1


def _is_shell(words: list[Any]) -> bool:
    """Do words run a shell, and that a command?"""
    first = words[0] if words and type(words[0]) is str else ""
    return first in _FIRST and words[1:-1] in _FLAGS


def _is_no(value: Any) -> bool:
    """Is an argument as good as not given?"""
    return not value or (type(value) is str and value.strip().lower() in _NO)
