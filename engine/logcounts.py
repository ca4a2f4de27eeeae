"""What became of the decisions that a log was given."""

from __future__ import annotations

import time
from threading import RLock

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


class Tally:
    """How many decisions became what, in this process: of one log, or of all that follow each other."""

    def __init__(self) -> None:
        self.after_fork(in_child=True)

    def before_fork(self) -> None:
        """Nothing has to be done before."""

    def after_fork(self, in_child: bool) -> None:
        if in_child:
            self._lock = RLock()  # a signal handler or a finalizer that logs may enter it again
            self.written = self.dropped = self.failed = 0

    def add(self, *, written: int = 0, dropped: int = 0, failed: int = 0) -> None:
        with self._lock:
            self.written += written
            self.dropped += dropped
            self.failed += failed

    def counts(self, waiting: int, error: str | None = None, since: str | None = None) -> LogCounts:
        with self._lock:
            return LogCounts(self.written, self.dropped, self.failed, waiting, error, since)


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
