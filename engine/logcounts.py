"""What became of the decisions that a log was given."""

from __future__ import annotations

import time

import msgspec


class LogCounts(msgspec.Struct, frozen=True):
    """What became of the decisions so far. `waiting`: neither written nor lost yet.

    `dropped`: there was no room for them, or the log was closed. `failed`: they could not be written.
    `error`: what was wrong last, with the file's name; None: nothing was. `since`: the time since when the
    log cannot be written; None: it can.
    """

    written: int
    dropped: int
    failed: int
    waiting: int
    error: str | None
    since: str | None


class Missing:
    """Losses that the log does not tell yet: how many, since when (nanoseconds since 1970), why at last."""

    def __init__(self) -> None:
        self.count = 0
        self.since = 0
        self.error = ""

    def add(self, count: int, error: str) -> None:
        self.since = self.since if self.count else time.time_ns()
        self.count += count
        self.error = error
