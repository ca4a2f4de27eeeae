"""What became of the decisions that a log was given."""

from __future__ import annotations

import time
from collections.abc import Iterable

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


def total(counts: Iterable[LogCounts]) -> LogCounts:
    """All of them in one. What is wrong is what is wrong with the first, before what was."""
    found = list(counts)
    worst = next((each for each in found if each.since), next((each for each in found if each.error), None))
    return LogCounts(
        sum(each.written for each in found),
        sum(each.dropped for each in found),
        sum(each.failed for each in found),
        sum(each.waiting for each in found),
        worst.error if worst is not None else None,
        worst.since if worst is not None else None,
    )


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
