"""The decision logs of a deployment: that of the settings in force, and those that turns may still be on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from .log import DecisionLog, LogCounts, LogSettings
from .logcounts import Tally
from .stores._forks import watch_forks

_OPEN = 8  # logs at a time


class Logs:
    """A decision goes to the log of the set that it was made under. `to`: the host's function, in each.

    `of` and `close` are for one thread at a time.
    """

    def __init__(self, to: Callable[[dict[str, Any]], object] | None) -> None:
        self._to = to
        self._closed = False
        self._tally = Tally()
        watch_forks(self._tally)
        self._now: DecisionLog | None = None
        self._logs: tuple[DecisionLog, ...] = ()  # the newest of each place, the newest first
        self._ending: tuple[DecisionLog, ...] = ()  # which write what waits, and take no more

    def of(self, settings: LogSettings | None) -> DecisionLog | None:
        """The log that is meant by these settings."""
        if self._to is not None:
            settings = replace(settings or LogSettings(self._to), to=self._to)
        found, logs = None, list(self._logs)
        if settings is not None:
            found = next((each for each in logs if each.settings.place == settings.place), None)
            logs = [each for each in logs if each is not found]
            if found is None or found.settings != settings:
                found = DecisionLog(settings, self._tally, found)
        for each in logs:
            each.rest(True)
        if found is not None:
            found.rest(False)
            logs.insert(0, found)
        for old in logs[_OPEN:]:
            old.end()
        self._ending = tuple(each for each in (*self._ending, *logs[_OPEN:]) if each.alive)
        self._logs, self._now = tuple(logs[:_OPEN]), found
        if self._closed and found is not None:
            found.close()
        return found

    def close(self) -> None:
        """Write what waits. What is put later is counted as dropped."""
        self._closed = True
        for each in (*self._logs, *self._ending):
            each.close()

    @property
    def counts(self) -> LogCounts:
        """What became of all decisions, and whether the log in force can be written."""
        now = self._now.counts if self._now is not None else self._tally.counts(0)
        return replace(now, waiting=sum(each.counts.waiting for each in (*self._logs, *self._ending)))
