"""OpenTelemetry: an event on the current span for each decision, and counters (`docs/decision-log.md`).

Loaded only when it is asked for. Attribute names: OpenTelemetry's semantic conventions for generative AI
(`gen_ai.*`), which are in development; what they have no name for is `callgate.*`. No value is ever sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .decided import PLACES, Decided, fingerprint, shown, shown_name
from .errors import CallgateError
from .messages import sendable
from .version import VERSION

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

EVENT = "callgate.decision"
# Seconds: those that the conventions advise begin where a decision has long ended.
BOUNDARIES = (1e-6, 2e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 1e-3, 5e-3, 2.5e-2, 0.1)


class Telemetry:
    """Tells OpenTelemetry of decisions. Serves every thread.

    `tracer_provider`: where no span is current, a decision gets a span of its own there; None: no span.
    `meter_provider`: None: the global one.

    Raises:
        CallgateError: OpenTelemetry is not installed.
    """

    def __init__(
        self, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise CallgateError("telemetry needs OpenTelemetry: pip install 'callgate[otel]'") from error
        self.errors = 0  # decisions that could not be told
        self._current = trace.get_current_span
        self._tracer = None
        if tracer_provider is not None:
            self._tracer = tracer_provider.get_tracer("callgate", VERSION)
        meter = metrics.get_meter("callgate", VERSION, meter_provider=meter_provider)
        self._decisions = meter.create_counter(
            "callgate.decisions", unit="{decision}", description="Decisions by outcome and tool."
        )
        self._hits = meter.create_counter(
            "callgate.rule.hits",
            unit="{decision}",
            description="Decisions by the rules that changed or decided them.",
        )
        self._duration = meter.create_histogram(
            "callgate.decision.duration",
            unit="s",
            description="Seconds that a decision took.",
            explicit_bucket_boundaries_advisory=BOUNDARIES,
        )

    def decided(self, seen: Decided) -> None:
        """Tell of a decision. Never raises."""
        try:
            self._tell(seen)
        except Exception:  # an exporter of the host must not stop a call
            self.errors += 1

    def _tell(self, seen: Decided) -> None:
        outcome = seen.verdict.outcome._value_
        labels = {"callgate.outcome": outcome, "gen_ai.tool.name": seen.tool}
        self._decisions.add(1, labels)
        self._duration.record(seen.micros / 1e6, labels)
        for rule in seen.rules:
            self._hits.add(1, {"callgate.rule": sendable(rule)})
        span = self._current()
        if span.is_recording():
            span.add_event(EVENT, attributes(seen), timestamp=seen.time)
        elif self._tracer is not None:
            start = seen.time - int(seen.micros * 1000)
            own = self._tracer.start_span(EVENT, attributes=attributes(seen), start_time=start)
            own.end(seen.time)


def attributes(seen: Decided) -> Mapping[str, Any]:
    """What is told of a decision: names, rules and digests, and no value."""
    verdict = seen.verdict
    found = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": sendable(shown_name(verdict.tool)),
        "gen_ai.tool.call.id": shown(seen.call),
        "gen_ai.conversation.id": shown(seen.session),
        "gen_ai.request.model": shown(seen.model),
        "callgate.outcome": verdict.outcome._value_,
        "callgate.code": verdict.code,
        "callgate.rules": [sendable(rule) for rule in seen.rules[:PLACES]],
        "callgate.fingerprint": fingerprint(seen),
        "callgate.digest": verdict.source.engine,
        "callgate.duration": seen.micros / 1e6,
    }
    if verdict.tool != seen.sent:
        found["callgate.tool.sent"] = sendable(shown_name(seen.sent))
    return {name: value for name, value in found.items() if value is not None}
