"""The decision logs of a deployment: that of the settings in force, and those that turns may still be on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from .log import DecisionLog, LogCounts, LogSettings
from .logcounts import total

_OPEN = 8  # logs at a time
_NONE = LogCounts(0, 0, 0, 0, None, None)


class Logs:
    """A decision goes to the log of the set that it was made under. `to`: the host's function, in each.

    `of` and `close` are for one thread at a time.
    """

    def __init__(self, to: Callable[[dict[str, Any]], object] | None) -> None:
        self._to = to
        self._closed = False
        self._logs: tuple[LogCounts, tuple[DecisionLog, ...]] = (
            _NONE,
            (),
        )  # of those before, the newest first

    def of(self, settings: LogSettings | None) -> DecisionLog | None:
        """The log that is meant by these settings."""
        if self._to is not None:
            settings = replace(settings or LogSettings(self._to), to=self._to)
        if settings is None:
            return None
        past, logs = self._logs
        found = next((each for each in logs if each.settings == settings), None) or DecisionLog(settings)
        logs = (found, *(each for each in logs if each is not found))
        for old in logs[_OPEN:]:
            old.close()
            past = total((past, old.counts))
        self._logs = (past, logs[:_OPEN])
        if self._closed:
            found.close()
        return found

    def close(self) -> None:
        """Write what waits. What is put later is counted as dropped."""
        self._closed = True
        for each in self._logs[1]:
            each.close()

    @property
    def counts(self) -> LogCounts:
        """What became of all decisions."""
        past, logs = self._logs
        return total((*(each.counts for each in logs), past))
