"""What else than its command says what a call of a shell does: variables, a folder, another shell.

Source: `docs/shell.md`, "The call".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..grammar.ast import Json, Segment

_FOLDERS = frozenset(
    {
        *("cwd", "workdir", "working_directory", "workingDirectory", "working_dir", "workingDir"),
        *("directory", "dir", "dir_path", "dirPath", "folder", "path"),
    }
)
_SHELLS = frozenset({"shell", "executable", "interpreter"})
_KNOWN_SHELLS = frozenset({"sh", "bash", "zsh", "dash"})
_CHANGING = frozenset(
    {
        *("env", "environment", "env_vars", "envVars", "stdin", "input", "is_input", "args", "arguments"),
        *("argv", "script", "prefix", "session", "session_id", "sessionId", "terminal_id", "terminalId"),
    }
)
_NO = ("", "false", "no", "0")


def is_plain(arguments: Json, segments: tuple[Segment, ...]) -> bool:
    """Does the command alone say what runs? Not with variables, input, more arguments, or another shell."""
    for key, value in _beside(arguments, segments):
        if not value or (type(value) is str and value.strip().lower() in _NO):
            continue
        if key in _SHELLS:
            if type(value) is not str or value.rpartition("/")[2] not in _KNOWN_SHELLS:
                return False
        elif key in _CHANGING or type(value) in (dict, list):
            return False
    return True


def in_folder(files: tuple[str, ...], arguments: Json, segments: tuple[Segment, ...]) -> tuple[str, ...]:
    """The files in the folder that the call says it runs in; () where that is not known."""
    folders = {
        value if type(value) is str else ""
        for key, value in _beside(arguments, segments)
        if key in _FOLDERS and value is not None
    }
    if not folders:
        return files
    folder = folders.pop()
    if folders or not folder.startswith("/"):
        return ()
    from .shelltargets import within

    # What lies above the folder may be seen through a link.
    return within(folder, (each for each in files if ".." not in each.split("/")))


def _beside(arguments: Any, segments: tuple[Segment, ...]) -> Iterator[tuple[str, Any]]:
    """The keys and values of the objects on the way to the command, but for that way."""
    here = arguments
    for segment in segments:
        if type(here) is not dict:
            return
        yield from ((key, value) for key, value in here.items() if key != segment)
        here = here.get(segment) if type(segment) is str else None
