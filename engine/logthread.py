"""The thread of a decision log: it takes what waits, makes lines of it, and writes them in batches."""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from threading import Event, RLock, Thread, current_thread

from .logcounts import LogCounts, Missing, Tally
from .logfile import Fault, Sink
from .logline import LineWriter, Taken

BATCH = 256  # lines of one write
BATCH_BYTES = 1 << 20  # and their bytes, about
TICK = 0.05  # seconds between two looks at the queue: lines are written together
IDLE = 1.0  # seconds without a line, after which it sleeps until it is woken
TELL = 1.0  # seconds between two lines that say what is missing, while much is
LIGHT = 4096  # bytes of arguments that are not counted one by one
HEAVY = 1 << 26  # bytes of arguments that may wait, beside the light ones
FIRST, LONGEST = 0.1, 5.0  # seconds until a failing log is tried again
EXIT = 5.0  # seconds that the end of a process waits for its log


class LogThread:
    """The queue and who empties it. The thread starts with the first decision, and anew in a forked child.

    `queue`: decisions with who makes lines of them, and events that `flush` waits for. `most`: decisions that
    may wait. `calm`: so many may wait without `stir`. `light`: larger arguments ask `has_room`. `resting`:
    another log is in its place, and what it lacks is told once at most.
    """

    def __init__(self, writer: LineWriter, sink: Sink, most: int, tally: Tally) -> None:
        self.queue: deque[tuple[LineWriter, Taken] | Event] = deque()
        self.most = most
        self.light = LIGHT
        self.resting = False
        self._writer = writer  # of the lines about the log itself
        self._sink = sink
        self._tally = tally
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        """As if nothing had been put: at first, and in a forked child, where no thread came along."""
        self.queue.clear()
        self.calm = 0
        # Both may be entered again by a signal handler or a finalizer that logs.
        self._lock = RLock()
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._thread: Thread | None = None
        self._marks = 0  # flushes that wait
        self._heavy = 0
        self._drops, self._faults = Missing(), Missing()
        self._told = 0.0
        self._error: str | None = None
        self._since = 0
        self._delay = self._retry = 0.0

    def before_fork(self) -> None:
        """Nothing: the parent's thread goes on, and writes what waits."""

    def after_fork(self, in_child: bool) -> None:
        if in_child:
            self._begin()
            self._sink.close()  # the lock of an open file belongs to both sides, so each opens its own

    # On the caller's side

    def overflow(self) -> None:
        """There is no room for a decision."""
        self.drop_one("the queue was full")
        if not self.alive:
            self.stir()

    def drop_one(self, why: str) -> None:
        with self._lock:
            self._tally.add(dropped=1)
            self._drops.add(1, why)

    def fail_one(self, error: BaseException) -> None:
        """A decision that cannot be copied, or of which no line can be made."""
        with self._lock:
            self._tally.add(failed=1)
            self._faults.add(1, f"no line can be made of it: {type(error).__name__}: {str(error)[:200]}")

    def has_room(self, size: int) -> bool:
        """May so many bytes more wait? If not, the decision is dropped."""
        with self._lock:
            if self._heavy + size <= HEAVY:
                self._heavy += size
                return True
            self.drop_one("more than 64 MiB of arguments were waiting")
            return False

    def stir(self) -> None:
        """More than `calm` decisions wait: start the thread, or wake it."""
        first, fault = False, ""
        with self._lock:
            if self._closed:
                self._leave()
                return
            self.calm = self.most  # once is enough
            if self.alive or not (fault := self._start()):
                self._wake.put(None)
            else:
                self.calm = 0  # the next decision tries again
                first = self._fails(fault)
        if first:
            _warn(fault)

    def _start(self) -> str:
        """Start the thread. What keeps it from that, such as a system without room for one, or nothing."""
        try:
            self._thread = Thread(target=self._run, name="callgate-log", daemon=True)
            self._thread.start()
        except Exception as error:
            self._thread = None
            return f"its thread cannot be started: {str(error) or type(error).__name__}"
        _flush_with_worker(self)
        return ""

    def counts(self) -> LogCounts:
        with self._lock:
            since = datetime.fromtimestamp(self._since // 1_000_000_000, UTC) if self._since else None
            return self._tally.counts(
                len(self.queue),
                self._error if self._since else self._sink.warning or self._error,
                None if since is None else since.strftime("%Y-%m-%dT%H:%M:%SZ"),
            )

    def flush(self, seconds: float) -> bool:
        mark = Event()
        with self._lock:
            if not self.queue and self._thread is None:
                return True
            self._marks += 1
            self.queue.append(mark)
        self.stir()
        return mark.wait(seconds)

    @property
    def alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def end(self) -> None:
        """Write what waits, and no more. Waits for nothing."""
        if self.queue and not self.alive:
            self.stir()
        with self._lock:
            self._closed = True
            self._wake.put(None)
            if not self.alive:
                self._ended()

    def close(self, seconds: float) -> bool:
        self.end()
        thread = self._thread
        # It may be the log's own thread that forgets the log.
        if thread is not None and thread.is_alive() and thread is not current_thread():
            thread.join(seconds)
        with self._lock:
            self.calm = 0
            self._leave()
        return not self.alive

    def _ended(self) -> None:
        """What is put from now on stirs, and is left."""
        self.calm = 0
        self._leave()
        self._sink.close()

    def _leave(self) -> None:
        """Nobody will write what still waits."""
        while self.queue:
            with suppress(IndexError):
                left = self.queue.popleft()
                if isinstance(left, Event):
                    left.set()
                else:
                    self.drop_one("the log was closed")

    # On the thread's side

    def _run(self) -> None:
        quiet = time.monotonic()
        while True:
            while not self._wake.empty():
                self._wake.get_nowait()
            self.calm = self.most // 2
            if self._pauses():
                self._nap(self._retry - time.monotonic())
            elif self.queue:
                while self.queue and not self._pauses():
                    self._write_batch()
                quiet = time.monotonic()
                if not self._closed:
                    self._nap(TICK)
            elif self._drops.count or self._faults.count:
                self._tell()
                if self._closed:
                    break
            elif self._closed:
                break
            elif time.monotonic() - quiet < IDLE:
                self._nap(TICK)
            else:
                self.calm = 0
                if not self.queue and not self._closed:  # what is put from now on stirs
                    self._nap(None)
        self._ended()

    def _pauses(self) -> bool:
        """Is a log that failed left alone for a while? Not if somebody waits for it, or much does."""
        if not self._delay or self._closed or self._marks or len(self.queue) > self.most // 2:
            return False
        return time.monotonic() < self._retry

    def _nap(self, seconds: float | None) -> None:
        with suppress(Empty):
            self._wake.get(timeout=None if seconds is None else max(seconds, 0.0))

    def _write_batch(self) -> None:
        lines: list[bytes] = []
        size = heavy = 0
        mark: Event | None = None
        while mark is None and len(lines) < BATCH and size < BATCH_BYTES:
            try:
                each = self.queue.popleft()
            except IndexError:  # it is empty, or was left
                break
            if isinstance(each, Event):
                mark = each
                continue
            writer, taken = each
            heavy += taken.size if taken.size > LIGHT else 0
            try:
                lines.append(writer.line(taken))
                size += len(lines[-1])
            except Exception as error:
                self.fail_one(error)
        if self._drops.count or self._faults.count:
            urgent = mark is not None or self._closed or not self.queue
            if urgent or time.monotonic() - self._told > TELL:
                self._tell()
        if lines:
            self._write(lines)
        with self._lock:
            self._heavy -= heavy
            self._marks -= mark is not None
        if mark is not None:
            mark.set()

    def _write(self, lines: list[bytes]) -> None:
        fault = self._sent(lines)
        with self._lock:
            lost = fault.lines if fault else 0
            self._tally.add(written=len(lines) - lost, failed=lost)
            if fault is not None:
                self._faults.add(fault.lines, fault.error)
        self._found(None if fault is None else fault.error)

    def _sent(self, lines: list[bytes]) -> Fault | None:
        try:
            return self._sink.write(lines)
        except BaseException as fault:  # nothing that a sink does may end the log
            return Fault(len(lines), f"{type(fault).__name__}: {str(fault)[:200]}")

    def _tell(self) -> None:
        """Write into the log what it lacks; once more later, if that fails."""
        self._told = time.monotonic()
        for missing in (self._drops, self._faults):
            count = missing.count
            if not count:
                continue
            fault = self._sent([self._writer.lost(count, missing.since, missing.error)])
            if fault is None or not self._sink.tells_again or self.resting:
                with self._lock:
                    missing.count -= count
                    missing.since = time.time_ns()
            self._found(None if fault is None else fault.error)

    def _found(self, error: str | None) -> None:
        """Note whether the log can be written; the first time that it cannot, say so."""
        if error is None:
            self._since, self._delay = 0, 0.0
            return
        first = self._fails(error)
        self._delay = min(max(self._delay * 2, FIRST), LONGEST)
        self._retry = time.monotonic() + self._delay
        if first:
            _warn(error)

    def _fails(self, error: str) -> bool:
        """Note that the log cannot be written; is this the first time?"""
        with self._lock:
            first = not self._since
            self._since = self._since or time.time_ns()
            self._error = error
            return first


def _warn(error: str) -> None:
    with suppress(BaseException):  # nothing that the host's handlers do may end the log
        from logging import getLogger

        getLogger("callgate").warning("the decision log cannot be written: %s", error)


def _flush_with_worker(thread: LogThread) -> None:
    """Processes of `multiprocessing` end without `atexit`: there the log is flushed by its own means."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(thread, thread.flush, args=(EXIT,), exitpriority=10)
