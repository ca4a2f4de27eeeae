"""What OpenTelemetry is told of a decision."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.decided import Decided, decided

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callgate.engine.otel import Telemetry

ROOT = Path(__file__).parents[2]
RULES = 'tool t { alias /a from b; ask "sure?" when /a == 1; deny "no" when /a == 2 }'


class Set:
    """OpenTelemetry in memory."""

    def __init__(self, *, own_spans: bool = False) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        meters = MeterProvider(metric_readers=[self.reader])
        self.telemetry = Telemetry(self.tracers if own_spans else None, meters)

    def span(self, told: Decided) -> ReadableSpan:
        """The span that was current when it was told."""
        with self.tracers.get_tracer("test").start_as_current_span("chat"):
            self.telemetry.decided(told)
        assert self.telemetry.errors == 0
        return self.exporter.get_finished_spans()[-1]

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        assert data is not None
        for resource in data.resource_metrics:
            for scope in resource.scope_metrics:
                assert scope.scope.name == "callgate"
                for metric in scope.metrics:
                    if metric.name == name:
                        return list(metric.data.data_points)
        raise AssertionError(name)


def seen(arguments: Any, *, sent: str = "t", tools: Any = None, **more: Any) -> Decided:
    verdict = callgate.compile(RULES, tools=tools).check(sent, arguments)
    return decided(verdict, sent=sent, before=arguments, micros=250.0, **more)


def test_the_current_span_gets_an_event_with_the_names_of_the_conventions_and_no_value() -> None:
    told = seen({"b": "secret"}, model="m", session="s", call_id="c")
    span = Set().span(told)
    (event,) = span.events
    assert (event.name, event.timestamp) == ("callgate.decision", told.time)
    attributes = dict(event.attributes or {})
    assert len(str(attributes.pop("callgate.fingerprint"))) == 24
    assert attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t",
        "gen_ai.tool.call.id": "c",
        "gen_ai.conversation.id": "s",
        "gen_ai.request.model": "m",
        "callgate.outcome": "repaired",
        "callgate.rules": ("t:alias:/a",),
        "callgate.digest": told.verdict.engine,
        "callgate.duration": 0.00025,
    }
    assert "secret" not in span.to_json()


def test_what_is_not_known_is_left_out_and_the_name_that_was_sent_is_there_where_it_differs() -> None:
    set_ = Set()
    (event,) = set_.span(seen({}, sent="functions.t", tools={"t": {}})).events
    attributes = dict(event.attributes or {})
    assert (attributes["gen_ai.tool.name"], attributes["callgate.tool.sent"]) == ("t", "functions.t")
    assert not {"gen_ai.tool.call.id", "gen_ai.conversation.id", "callgate.code"} & set(attributes)
    (event,) = set_.span(seen({}, sent="t<arg_key>k</arg_key><arg_value>secret", tools={"t": {}})).events
    assert (event.attributes or {})["callgate.code"] == "lost-arguments"
    assert "secret" not in json.dumps(dict(event.attributes or {}))
    (event,) = set_.span(seen({}, sent="t</x>secret", tools={"t": {}})).events
    assert (event.attributes or {})["callgate.tool.sent"] == "t…"


def test_names_that_utf8_cannot_carry_are_told_all_the_same() -> None:
    span = Set().span(seen({}, sent="a\ud800", model="\ud800" * 300, session="\ud800", call_id="\ud800"))
    span.to_json().encode()
    assert span.events[0].attributes is not None


def test_decisions_rules_and_times_are_counted() -> None:
    set_ = Set()
    for call in ({"a": 3}, {"a": 3}, {"b": 3}, {"b": 2}):
        set_.telemetry.decided(seen(call))
    counts = {
        (each.attributes["callgate.outcome"], each.attributes["gen_ai.tool.name"]): each.value
        for each in set_.points("callgate.decisions")
    }
    assert counts == {("valid", "t"): 2, ("repaired", "t"): 1, ("denied", "t"): 1}
    hits = {each.attributes["callgate.rule"]: each.value for each in set_.points("callgate.rule.hits")}
    assert hits == {"t:alias:/a": 1, "t:deny": 1}
    points = set_.points("callgate.decision.duration")
    assert sum(each.count for each in points) == 4
    assert sum(each.sum for each in points) == pytest.approx(0.001)
    assert max(points[0].explicit_bounds) == 0.1


def test_names_that_no_tool_has_count_as_one() -> None:
    set_ = Set()
    for sent in ("x", "y", "z<"):
        set_.telemetry.decided(seen({}, sent=sent, tools={"t": {}}))
    (point,) = set_.points("callgate.decisions")
    assert (point.attributes["gen_ai.tool.name"], point.value) == ("unknown", 3)


def test_without_a_current_span_there_is_none_or_one_of_its_own() -> None:
    for own in (False, True):
        set_ = Set(own_spans=own)
        told = seen({"b": 1})
        set_.telemetry.decided(told)
        spans = set_.exporter.get_finished_spans()
        assert len(spans) == int(own)
        if own:
            assert (spans[0].name, spans[0].end_time) == ("callgate.decision", told.time)
            assert spans[0].start_time == told.time - 250_000
            assert (spans[0].attributes or {})["callgate.outcome"] == "asked"


def test_an_exporter_that_fails_stops_no_call() -> None:
    set_ = Set()
    bad: Any = None
    set_.telemetry.decided(bad)
    assert set_.telemetry.errors == 1


def test_without_the_package_the_error_says_what_to_install() -> None:
    program = """
import sys
sys.modules["opentelemetry"] = None
import callgate
from callgate.engine.otel import Telemetry
try:
    Telemetry()
except callgate.CallgateError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pip install 'callgate[otel]'" in done.stdout


def test_nothing_of_opentelemetry_is_loaded_before_it_is_asked_for() -> None:
    program = "import sys, callgate.engine.log, callgate.engine.otel; print('opentelemetry' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"
