"""What a shell command may do, told from its text alone: nothing is run and the disk is never touched.

Source: `docs/shell.md`. In doubt a command changes something: it is read-only only where every part of
it is known to be, by `rules/programs.yaml`. The shell's own configuration (aliases, `PATH`, what `git` is set
up to run) is the host's and counts as wanted: a command that changes it changes something.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .errors import InputError
from .shellchanges import changed, folder_of_patch, named, unclear
from .shellparts import is_paged, is_read_only, is_reader, takes_input
from .shellread import Command, read
from .shellruns import runs_program
from .shelltargets import displayed, listed, searches, shown
from .shelltargets import is_sure as sure
from .shelltargets import said as words_of

_HANGING = re.compile(r"\|&?[ \t]*+(?:#[^\n]*+)?\n")


def mutates(command: str) -> bool:
    """May this command change something? False only where every part of it is known to be read-only.

    Cost: linear in the length of the text. Raises: InputError on what is no `str`; nothing else.
    """
    parts = _read(command)
    return parts is None or not all(map(is_read_only, parts)) or _reads_on(parts, command)


def _reads_on(parts: tuple[Command, ...], command: str) -> bool:
    """May what only reads take the lines behind it for its input, so that the shell goes on within them?"""
    if "\n" not in command.strip():
        return False
    # Where a line is an error for a shell, the next one reads what the shell itself reads.
    piped = all(part.line >= 0 for part in parts) or _HANGING.search(command) is None
    ends = not command.rstrip().rpartition("\n")[2].lstrip().startswith("#")
    for part, after in zip(parts, (*parts, None)[1:], strict=True):
        if ends and part.line == parts[-1].line >= 0:
            break  # nothing stands behind it
        seen = after is not None and (after.link not in ("|", "|&") or not piped)
        if is_reader(part) and (takes_input(part, piped) or (seen and is_paged(part))):
            return True
    return False


def runs(command: str, program: str) -> bool | None:
    """Is the text one simple command that runs `program`, and not for its help, version or a dry run?

    None where that cannot be known: text that is not read, an expansion in the program's place or where
    one of those options could stand, a program that itself runs what it is given.
    """
    parts = _read(command)
    if type(program) is not str:
        raise InputError("the program must be a string")
    return None if parts is None else runs_program(parts, program)


def targets(command: str) -> tuple[tuple[str, ...], bool]:
    """The files that a mutating command plainly names, as written, and whether it may change more."""
    parts = _read(command)
    certain = None if parts is None else changed(parts)
    if parts is None or certain is None:
        return named(command), True
    return tuple(certain), _reads_on(parts, command)


def left(command: str) -> Mapping[str, str]:
    """Those of `targets` that are only `made` or marked, as by `mkdir` and `chmod`, `gone` or `moved`."""
    parts = _read(command)
    certain = None if parts is None else changed(parts)
    return {name: kind for name, kind in (certain or {}).items() if kind}


def lists(command: str) -> tuple[str, ...]:
    """The folders whose entries are listed, one `ls` without more; `.` where it names none."""
    parts = _read(command)
    return () if parts is None else listed(parts)


def reads(command: str) -> tuple[str, ...]:
    """The files that a read-only command plainly shows, as written; () where there is none."""
    parts = _read(command)
    return () if parts is None else shown(parts)


def shows(command: str) -> tuple[str, ...]:
    """Those of `reads` where nothing but their lines comes out: no count, no text of the command's own."""
    parts = _read(command)
    return () if parts is None else displayed(parts)


def is_sure(command: str, several: bool) -> bool:
    """Does each file of `shows` show something of itself, if anything comes out and all went well?

    `several`: there is more than one.
    """
    parts = _read(command)
    return parts is not None and sure(parts, several)


def is_search(command: str) -> bool:
    """Is it one `grep` or `rg` of the working directory that prints a file's name before each line, for sure?

    What it searches is in `shows`, `.` where it names nothing.
    """
    parts = _read(command)
    return parts is not None and searches(parts)


def said(command: str) -> tuple[str, ...]:
    """What a command may repeat because it was told: its text, and every word of it without its quotes.

    Of a word that is not known, what is known of it. Cost: linear. Raises: as `mutates`.
    """
    parts = _read(command)
    return tuple(dict.fromkeys((command, *(words_of(parts) if parts is not None else ()))))


def unknown(command: str) -> tuple[str, ...]:
    """What a command gives to programs that are not known, word by word. Cost: linear."""
    return unclear(command)


def patched(command: str) -> str | None:
    """The folder in which a command applies the patch that is in its text; None where that is not known."""
    return folder_of_patch(command)


def _read(command: object) -> tuple[Command, ...] | None:
    if type(command) is not str:
        raise InputError("a shell command must be a string")
    return read(command)
