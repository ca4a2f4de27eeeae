"""How far `run` has come, on a terminal. Loads `rich`, and so is loaded only where something is drawn."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

_REFRESH = 0.1  # seconds


class Progress:
    """A bar where the size of the input is known in bytes, else a counter of calls, on standard error."""

    def __init__(self, size: int | None) -> None:
        calls = TextColumn("{task.fields[calls]} calls")
        columns = (BarColumn(), TextColumn("{task.percentage:>3.0f}%")) if size is not None else ()
        self._bar = Bar(*columns, calls, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=size, calls=0)
        self._calls = self._bytes = 0
        self._next = 0.0
        self._bar.start()

    def advance(self, size: int) -> None:
        """One more line, of this many bytes."""
        self._calls += 1
        self._bytes += size
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _REFRESH
            self._bar.update(self._task, completed=self._bytes, calls=self._calls)

    def stop(self) -> None:
        """Take it off the screen."""
        self._bar.stop()
