"""Who is told of what a deployment does: its counters, the decision log, telemetry, the program's log.

Source: `docs/deployments.md`. Nothing that any of them raises costs a call its verdict, or fails a load.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from .decided import Decided, decided
from .log import DecisionLog
from .logs import Logs
from .metrics import Metrics
from .verdict import Verdict

if TYPE_CHECKING:
    from .otel import Telemetry

_log = logging.getLogger("callgate")


class Telling:
    """Tells of the decisions of one deployment."""

    def __init__(
        self,
        path: Path,
        log: Callable[[dict[str, Any]], object] | None,
        telemetry: Telemetry | None,
        stale: Callable[[], float],
    ) -> None:
        """`log`: is given each line in the place of a file. `stale`: seconds for which the set is stale."""
        self._path = path
        self.logs = logs = Logs(log)
        self.metrics = Metrics(log=lambda: logs.counts, stale=stale)
        self._telemetry = telemetry
        self._telemetry_fails = False

    def tell(
        self,
        log: DecisionLog | None,
        verdict: Verdict,
        sent: str,
        before: object,
        began: int,
        model: str | None,
        model_id: str | None,
        session: str | None,
        call_id: str | None,
        stop_reason: str | None,
        *,
        text: bool,
    ) -> None:
        """A decision, to whoever counts or keeps it. `began`: of `perf_counter_ns`."""
        seen = decided(
            verdict,
            sent=sent,
            before=before,
            micros=(perf_counter_ns() - began) / 1000,
            model=model,
            session=session,
            call_id=call_id,
            text=text,
            stop_reason=stop_reason,
            model_id=model_id,
        )
        self.metrics.decided(seen)
        if log is not None:
            log.put(seen)
        if self._telemetry is not None:
            self._tell_telemetry(self._telemetry, seen)

    def _tell_telemetry(self, telemetry: Telemetry, seen: Decided) -> None:
        """What it raises is counted, and said the first time: it costs no call its verdict."""
        try:
            telemetry.decided(seen)
        except KeyboardInterrupt:  # that of the user
            raise
        except BaseException as error:  # not even SystemExit
            self.metrics.untold()
            first, self._telemetry_fails = not self._telemetry_fails, True
            if first:
                what = type(error).__name__
                say(logging.WARNING, "%s: the telemetry takes no decision: %s: %s", self._path, what, error)
        else:
            self._telemetry_fails = False


def say(level: int, message: str, *what: object) -> None:
    """Tell the program's log. What its filters and handlers raise is no fault of the load."""
    with suppress(Exception, SystemExit):
        _log.log(level, message, *what, stacklevel=2)
