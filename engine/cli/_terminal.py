"""Standard output and standard error: each may be a terminal, a pipe, a file, closed, or full."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import UnsupportedOperation
from stat import S_ISREG
from typing import TextIO

INTERRUPTED = 130  # exit status after Ctrl-C
_BLOCK = 65_536


class Unusable(Exception):
    """A command cannot do its work. The message names the file and the setting."""


def out(text: str) -> None:
    """Write a result to standard output, as UTF-8 whatever the locale says.

    Raises:
        Unusable: it is closed, or cannot be written to. BrokenPipeError: its reader has gone.
    """
    target = Output()
    target.write(text.encode("utf-8", "backslashreplace"))
    target.flush()


class Output:
    """Standard output for many lines of bytes: each at once for a reader on a pipe, in blocks to a file.

    Raises:
        Unusable: it is closed, or cannot be written to. BrokenPipeError: its reader has gone.
    """

    def __init__(self) -> None:
        if sys.stdout is None:
            raise Unusable("standard output is closed")
        try:  # a buffer of its own: Python may have been told to leave standard output without one
            self._stream = open(sys.stdout.fileno(), "wb", _BLOCK, closefd=False)  # noqa: SIM115
        except UnsupportedOperation:
            self._stream = sys.stdout.buffer
        self._at_once = size_left(sys.stdout) is None

    def write(self, line: bytes) -> None:
        try:
            self._stream.write(line)
            if self._at_once:
                self._stream.flush()
        except OSError as error:
            raise _unwritable(error) from None

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise _unwritable(error) from None


def _unwritable(error: OSError) -> Exception:
    if isinstance(error, BrokenPipeError):
        return error
    let_go()  # else what is still buffered complains once more when the process ends
    return Unusable(f"standard output: {error.strerror or error}")


def size_left(stream: TextIO) -> int | None:
    """Bytes from here to the end of a regular file; None for anything else."""
    try:
        status = os.fstat(stream.fileno())
        return status.st_size - os.lseek(stream.fileno(), 0, os.SEEK_CUR) if S_ISREG(status.st_mode) else None
    except OSError:  # also a stream without a descriptor
        return None


def complain(text: str) -> None:
    """Write a line or more to standard error. Where nobody can read it, it is lost, and nothing else is."""
    if sys.stderr is None:  # `print` would write to standard output then
        return
    with suppress(OSError):
        print(text.removesuffix("\n"), file=sys.stderr, flush=True)


def colour(stream: TextIO | None) -> bool:
    """May colours be written to this stream? Only to a terminal, and never against `NO_COLOR`."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def visible(text: str) -> str:
    """The text with a mark for each character that would command a terminal; line ends stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def several(number: int, what: str) -> str:
    """`1 file`, `2 files`, `no files`."""
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def let_go() -> None:
    """Once standard output cannot be written to: what is still to be written goes nowhere."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
