"""The decision log: one line of JSON for each decision, written by a thread of its own.

Source: `docs/decision-log.md`. `put` copies the arguments and leaves the rest to the thread: it waits for
nothing and raises nothing. What is not in the log is counted, and the log says so itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any
from weakref import finalize

import msgspec

from ..grammar.pointer import read_pointer
from .decided import Decided
from .errors import InputError
from .logcounts import LogCounts, Tally
from .logfile import FileSink, FunctionSink, OutputSink, Sink
from .logline import LineWriter, take
from .logread import LogReader, read_log
from .logthread import EXIT, LogThread
from .stores._forks import watch_forks

__all__ = ["DecisionLog", "LogCounts", "LogReader", "LogSettings", "read_log"]


BOUNDS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "value_bytes": (0, 1 << 24),
        "max_bytes": (1024, 1 << 50),
        "keep": (0, 1000),
        "queue": (1, 1_000_000),
    }
)


class LogSettings(msgspec.Struct, frozen=True):
    """Where the decision log goes, and what is in it.

    `to`: a file's path; `stdout` or `-`; or a function that is given each line as an object. `values`: the
    arguments too, and not only digests. `mask`: JSON Pointers of what never to show, `*` for every item.
    `value_bytes`: of the arguments in one line; larger ones are a digest and their size. `max_bytes`: of the
    file, before it rotates; None: never. `keep`: old files. `queue`: decisions that wait for the thread.

    Raises:
        InputError: a setting that is none.
    """

    to: str | Callable[[dict[str, Any]], object]
    values: bool = False
    mask: tuple[str, ...] = ()
    value_bytes: int = 65_536
    max_bytes: int | None = None
    keep: int = 5
    queue: int = 10_000

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the file and of those that it is rotated to."""
        if type(self.to) is not str or self.to in ("stdout", "-"):
            return ()
        old = range(1, self.keep + 1) if self.max_bytes is not None else ()
        return (self.to, *(f"{self.to}.{number}" for number in old))

    @property
    def place(self) -> object:
        """Equal for logs that share a thread: one function is never called on several."""
        return self.to if callable(self.to) else (self.to, self.max_bytes, self.keep)

    def __post_init__(self) -> None:
        if not callable(self.to) and (type(self.to) is not str or not self.to or "\0" in self.to):
            raise InputError("`to` of a log is a file's path, `stdout`, or a function")
        if not callable(self.to):
            try:
                os.fsencode(self.to)
            except UnicodeError:
                raise InputError("`to` of a log holds what no path can") from None
        if type(self.values) is not bool:
            raise InputError("`values` of a log is true or false")
        if type(self.mask) is not tuple or not all(type(each) is str for each in self.mask):
            raise InputError("`mask` of a log is a list of JSON Pointers")
        for each in self.mask:
            try:
                read_pointer(each)
            except ValueError as error:
                raise InputError(f"the mask `{each[:64]}` is no JSON Pointer: {error}") from None
        for name, (least, most) in BOUNDS.items():
            value = getattr(self, name)
            if value is None and name == "max_bytes":
                continue
            if type(value) is not int or not least <= value <= most:
                raise InputError(f"`{name}` of a log is a whole number from {least} to {most}")


class DecisionLog:
    """A decision log. Serves every thread; a process may fork with it, and both sides go on.

    `tally`: who counts. `before`: the log whose place it takes, at the same `place`: they share its thread.
    """

    def __init__(
        self, settings: LogSettings, tally: Tally | None = None, before: DecisionLog | None = None
    ) -> None:
        self.settings = settings
        self._writer = LineWriter(
            values=settings.values, mask=settings.mask, value_bytes=settings.value_bytes
        )
        if before is not None:
            self._first: DecisionLog | None = before._first or before  # with which the thread ends
            self._thread: LogThread = before._thread
            self._end: finalize[..., Any] = before._end
            self._thread.most = settings.queue
            return
        self._first = None
        if tally is None:
            tally = Tally()
            watch_forks(tally)
        self._thread = LogThread(self._writer, _sink(settings), settings.queue, tally)
        watch_forks(self._thread)
        # Also when the process ends: what waits is written then.
        self._end = finalize(self, LogThread.close, self._thread, EXIT)

    def put(self, seen: Decided) -> None:
        """Log a decision. Never waits, and never raises: what cannot be logged is counted."""
        thread = self._thread
        try:
            if len(thread.queue) >= thread.most:
                thread.overflow()
                return
            taken = take(seen)
            if taken.size > thread.light and not thread.has_room(taken.size):
                return
            thread.queue.append((self._writer, taken))
            if len(thread.queue) > thread.calm:
                thread.stir()
        except Exception as error:
            thread.fail_one(error)

    @property
    def counts(self) -> LogCounts:
        """What became of the decisions so far, in this process."""
        return self._thread.counts()

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until what was put before is written or counted as lost, so long at most; is it?"""
        return self._thread.flush(seconds)

    @property
    def alive(self) -> bool:
        """Does its thread run?"""
        return self._thread.alive

    def rest(self, resting: bool) -> None:
        """Is another log in its place? Then what it lacks is told once at most."""
        self._thread.resting = resting

    def end(self) -> None:
        """`close`, without waiting: what was put before is written all the same."""
        self._thread.end()

    def close(self, seconds: float = 5.0) -> bool:
        """`flush`, and no more: what is put later, and what is left, is counted as dropped."""
        self._end.detach()
        return self._thread.close(seconds)


def _sink(settings: LogSettings) -> Sink:
    if callable(settings.to):
        return FunctionSink(settings.to)
    if settings.to in ("stdout", "-"):
        return OutputSink()
    try:
        path = os.path.abspath(settings.to)  # now: the process may change its folder later
    except OSError:
        path = settings.to  # there is no current folder; what that means is counted when it is written
    return FileSink(path, settings.max_bytes, settings.keep)
