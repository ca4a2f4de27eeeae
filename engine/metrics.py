"""Counters of the decisions of one process, as Prometheus text (`docs/decision-log.md`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from threading import RLock
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from .decided import Decided
from .messages import sendable
from .stores._forks import watch_forks

if TYPE_CHECKING:
    from .logcounts import LogCounts

NAMES = 1000  # different tools, and different rules; what comes later counts as `other`
OTHER = "other"
T = TypeVar("T")
# A suffix of the metric's name, labels, value.
Sample: TypeAlias = tuple[str, dict[str, str], float]
# Microseconds. A valid small call takes about one; a large one that is mended some thousands.
BUCKETS = (1, 2, 5, 10, 25, 50, 100, 250, 1000, 5000, 25_000, 100_000)


class Metrics:
    """Counters of decisions, rules, times, the log and reloads. Serves every thread.

    `log`: gives the log's counts. `stale`: gives the seconds since the rules in force stopped being the
    newest ones, 0 while they are.
    """

    def __init__(
        self,
        *,
        log: Callable[[], LogCounts] | None = None,
        stale: Callable[[], float] | None = None,
    ) -> None:
        self._log = log
        self._stale = stale
        self._lock = RLock()  # a finalizer may log a decision while this thread counts one
        self._tools: dict[str, dict[str, int]] = {}
        self._rules: dict[str, int] = {}
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._micros = 0.0
        self._reloads = {"success": 0, "failure": 0}
        self._untold = 0
        watch_forks(self)

    def before_fork(self) -> None:
        """Nothing has to be done before."""

    def after_fork(self, in_child: bool) -> None:
        if in_child:
            self._lock = RLock()  # a thread that held it is not here to give it back

    def decided(self, seen: Decided) -> None:
        """Count a decision."""
        verdict, outcome = seen.verdict, seen.verdict.outcome._value_
        name = verdict.tool
        if verdict.code is not None or name not in self._tools:
            name = seen.tool
        with self._lock:
            counts = self._tools.get(name)
            if counts is None:
                if len(self._tools) >= NAMES:
                    name = OTHER
                counts = self._tools.setdefault(name, {})
            counts[outcome] = counts.get(outcome, 0) + 1
            self._buckets[bisect_left(BUCKETS, seen.micros)] += 1
            self._micros += seen.micros
            if verdict.changes or verdict.decided_by:
                for rule in seen.rules:
                    if rule not in self._rules and len(self._rules) >= NAMES:
                        rule = OTHER
                    self._rules[rule] = self._rules.get(rule, 0) + 1

    def reloaded(self, ok: bool) -> None:
        """Count a reload of the rules, and whether the new ones are in force."""
        with self._lock:
            self._reloads["success" if ok else "failure"] += 1

    def untold(self) -> None:
        """Count a decision that the telemetry did not take."""
        with self._lock:
            self._untold += 1

    def text(self) -> str:
        """Everything in Prometheus' text format 0.0.4."""
        with self._lock:
            tools = [(tool, dict(counts)) for tool, counts in self._tools.items()]
            rules, reloads, untold = dict(self._rules), dict(self._reloads), self._untold
            buckets, micros = list(self._buckets), self._micros
        pages = [
            _family(
                "callgate_decisions_total",
                "counter",
                "Decisions by outcome and tool.",
                (
                    ("", {"outcome": outcome, "tool": tool}, count)
                    for tool, counts in tools
                    for outcome, count in counts.items()
                ),
            ),
            _family(
                "callgate_rule_hits_total",
                "counter",
                "Decisions by the rules that changed or decided them.",
                (("", {"rule": rule}, count) for rule, count in rules.items()),
            ),
            _family(
                "callgate_decision_duration_seconds",
                "histogram",
                "Seconds that a decision took.",
                _histogram(buckets, micros),
            ),
            *self._log_pages(),
            _family(
                "callgate_reloads_total",
                "counter",
                "Reloads of the rules, by result.",
                (("", {"result": result}, count) for result, count in reloads.items()),
            ),
            _family(
                "callgate_telemetry_failures_total",
                "counter",
                "Decisions that the telemetry did not take.",
                [("", {}, untold)],
            ),
        ]
        stale = _asked(self._stale)
        if stale is not None:
            pages.append(
                _family(
                    "callgate_rules_stale_seconds",
                    "gauge",
                    "Seconds since the rules in force stopped being the newest ones.",
                    [("", {}, stale)],
                )
            )
        return "".join(pages)

    def _log_pages(self) -> list[str]:
        counts = _asked(self._log)
        if counts is None:
            return []
        lines = (("written", counts.written), ("dropped", counts.dropped), ("failed", counts.failed))
        return [
            _family(
                "callgate_log_lines_total",
                "counter",
                "Decisions by what became of them in the log.",
                (("", {"result": result}, count) for result, count in lines),
            ),
            _family(
                "callgate_log_waiting",
                "gauge",
                "Decisions that wait for the log.",
                [("", {}, counts.waiting)],
            ),
            _family(
                "callgate_log_failing",
                "gauge",
                "1 while the log cannot be written.",
                [("", {}, int(counts.since is not None))],
            ),
        ]


def _asked(ask: Callable[[], T] | None) -> T | None:
    """What a function of the host gives; None where it fails: the other figures are shown all the same."""
    if ask is None:
        return None
    try:
        return ask()
    except Exception:
        return None


def _histogram(buckets: list[int], micros: float) -> Iterable[Sample]:
    total = 0
    for bound, count in zip(BUCKETS, buckets, strict=False):
        total += count
        yield "_bucket", {"le": repr(bound / 1e6)}, total
    total += buckets[-1]
    yield "_bucket", {"le": "+Inf"}, total
    yield "_sum", {}, micros / 1e6
    yield "_count", {}, total


def _family(name: str, kind: str, description: str, samples: Iterable[Sample]) -> str:
    """One metric: what it is, and its samples in the order of their labels as they came."""
    lines = [f"# HELP {name} {description}", f"# TYPE {name} {kind}"]
    for suffix, labels, value in samples:
        inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        lines.append(f"{name}{suffix}{{{inner}}} {value}" if inner else f"{name}{suffix} {value}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return sendable(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
