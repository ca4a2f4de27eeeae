"""Reading a decision log: each line that is whole, and how many are not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

LONGEST = 1 << 26  # bytes of a line; a longer one is none
_KEPT = 100  # numbers of skipped lines that are kept


class LogReader:
    """The decisions of a log, as `(line number, line)`; numbers begin at 1. It can be read again.

    `skipped`: lines so far that are none (torn by a crash), and `skipped_lines`: the numbers of the first
    hundred. `lost`: decisions that the log itself says are missing.

    Raises:
        OSError: when it is read: the file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.skipped = 0
        self.skipped_lines: tuple[int, ...] = ()
        self.lost = 0

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        self.skipped, self.skipped_lines, self.lost = 0, (), 0
        number = 0
        with open(self.path, "rb") as file:
            while data := file.readline(LONGEST):
                number += 1
                whole = data.endswith(b"\n") or len(data) < LONGEST
                while data and not data.endswith(b"\n") and not whole:
                    data = file.readline(LONGEST)
                line = _read(data) if whole else None
                if line is not None and line.get("log") == "lost":
                    self.lost += line["count"] if type(line.get("count")) is int else 0
                elif line is not None and "outcome" in line:
                    yield number, line
                elif not whole or data.strip():
                    self.skipped += 1
                    if len(self.skipped_lines) < _KEPT:
                        self.skipped_lines += (number,)


def read_log(path: str) -> LogReader:
    """The decisions of a log file, in the order in which they were written."""
    return LogReader(path)


def _read(data: bytes) -> dict[str, Any] | None:
    try:
        line = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        try:
            line = json.loads(data)  # what other programs wrote may hold halves of surrogate pairs
        except (ValueError, RecursionError):
            return None
    return line if type(line) is dict else None
