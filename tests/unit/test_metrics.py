"""Counters of decisions, as Prometheus reads them."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import callgate
from callgate.engine.decided import Decided, decided
from callgate.engine.log import LogCounts
from callgate.engine.metrics import BUCKETS, Metrics

parser = pytest.importorskip("prometheus_client.parser")
RULES = 'tool t { alias /a from b; ask "sure?" when /a == 1; deny "no" when /a == 2 }'


def seen(arguments: Any, engine: callgate.Engine, *, sent: str = "t", micros: float = 1.0) -> Decided:
    return decided(engine.check(sent, arguments), sent=sent, before=arguments, micros=micros)


def samples(metrics: Metrics) -> dict[tuple[str, tuple[str, ...]], float]:
    """Every sample by its name and the values of its labels, as prometheus_client reads them."""
    text = metrics.text()
    assert text.endswith("\n")
    found = {}
    for family in parser.text_string_to_metric_families(text):
        assert family.documentation
        assert family.type in ("counter", "gauge", "histogram")
        for each in family.samples:
            key = (each.name, tuple(each.labels[name] for name in sorted(each.labels)))
            assert key not in found
            found[key] = each.value
    return found


def test_decisions_are_counted_by_outcome_and_tool_and_by_rule() -> None:
    engine, metrics = callgate.compile(RULES, tools={"t": {}, "u": {}}), Metrics()
    for call in ({"a": 3}, {"a": 3}, {"b": 3}, {"a": 1}, {"a": 2}, {"b": 2}):
        metrics.decided(seen(call, engine))
    metrics.decided(seen({}, engine, sent="u"))
    found = samples(metrics)
    name = "callgate_decisions_total"
    assert {key[1]: value for key, value in found.items() if key[0] == name} == {
        ("valid", "t"): 2,
        ("repaired", "t"): 1,
        ("asked", "t"): 1,
        ("denied", "t"): 2,
        ("valid", "u"): 1,
    }
    hits = {key[1][0]: value for key, value in found.items() if key[0] == "callgate_rule_hits_total"}
    assert hits == {"t:alias:/a": 1, "t:ask": 1, "t:deny": 2}


def test_times_are_a_histogram_in_seconds() -> None:
    engine, metrics = callgate.compile(RULES), Metrics()
    for micros in (0.5, 1.0, 1.5, 3000.0, 1e6):
        metrics.decided(seen({}, engine, micros=micros))
    found = samples(metrics)
    name = "callgate_decision_duration_seconds"
    counts = {float(key[1][0]): value for key, value in found.items() if key[0] == f"{name}_bucket"}
    assert counts == dict(
        zip(
            [*(bound / 1e6 for bound in BUCKETS), float("inf")],
            [2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 5],
            strict=True,
        )
    )
    assert found[f"{name}_count", ()] == 5
    assert found[f"{name}_sum", ()] == pytest.approx(1.003003)


def test_names_of_models_and_rules_cannot_break_the_text() -> None:
    name = 'a"b\\c\nd\ud800'
    engine, metrics = callgate.compile(f"tool t {{ deny {'x'!r} when /a == 2 }}".replace("'", '"')), Metrics()
    call = seen({"a": 2}, engine)
    verdict = callgate.Verdict(
        call.verdict.outcome, "t", {}, call.verdict.source, reason="x", decided_by=(name,)
    )
    metrics.decided(decided(verdict, sent="t", before={}, micros=1.0))
    metrics.decided(seen({}, engine, sent=name))
    found = samples(metrics)
    assert found["callgate_rule_hits_total", ('a"b\\c\nd\\ud800',)] == 1
    assert found["callgate_decisions_total", ("unrepairable", "unknown")] == 1


def test_more_than_1000_tools_or_rules_count_as_other() -> None:
    engine, metrics = callgate.compile(""), Metrics()
    for n in range(1500):
        metrics.decided(seen({}, engine, sent=f"tool_{n}"))
    metrics.decided(seen({}, engine, sent="tool_7"))
    found = samples(metrics)
    tools = {key[1][1]: value for key, value in found.items() if key[0] == "callgate_decisions_total"}
    assert (len(tools), tools["tool_7"], tools["other"]) == (1001, 2, 500)
    call = seen({}, engine)
    for n in range(1500):
        verdict = callgate.Verdict(
            callgate.Outcome.DENIED, "t", {}, call.verdict.source, decided_by=(f"r{n}",)
        )
        metrics.decided(decided(verdict, sent="t", before={}, micros=1.0))
    rules = {
        key[1][0]: value for key, value in samples(metrics).items() if key[0] == "callgate_rule_hits_total"
    }
    assert (len(rules), rules["other"]) == (1001, 500)


def test_tools_that_nobody_registered_count_as_one() -> None:
    engine, metrics = callgate.compile("", tools={"read": {}}), Metrics()
    for sent in ("zzz", "yyy", "", "x<arg_key>secret", "read"):
        metrics.decided(seen({}, engine, sent=sent))
    found = samples(metrics)
    assert found["callgate_decisions_total", ("unrepairable", "unknown")] == 4
    assert found["callgate_decisions_total", ("valid", "read")] == 1


def test_the_log_and_the_reloads_are_told_as_they_are_now() -> None:
    counts = LogCounts(5, 2, 1, 3, "full", "2026-11-30T06:05:30Z")
    stale = 0.0
    metrics = Metrics(log=lambda: counts, stale=lambda: stale)
    for ok in (True, False, False):
        metrics.reloaded(ok)
    stale = 12.5
    found = samples(metrics)
    assert {key[1][0]: value for key, value in found.items() if key[0] == "callgate_log_lines_total"} == {
        "written": 5,
        "dropped": 2,
        "failed": 1,
    }
    assert (found["callgate_log_waiting", ()], found["callgate_log_failing", ()]) == (3, 1)
    assert found["callgate_reloads_total", ("success",)] == 1
    assert found["callgate_reloads_total", ("failure",)] == 2
    assert found["callgate_rules_stale_seconds", ()] == 12.5


def test_a_function_that_fails_costs_only_its_own_figures() -> None:
    def fails() -> Any:
        raise RuntimeError

    found = samples(Metrics(log=fails, stale=fails))
    assert not [key for key in found if "log" in key[0] or "stale" in key[0]]
    assert found["callgate_decision_duration_seconds_count", ()] == 0


def test_no_count_is_lost_between_threads() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        count_in_threads()
    finally:
        sys.setswitchinterval(interval)


def count_in_threads() -> None:
    engine, metrics = callgate.compile(RULES), Metrics()
    call = seen({"b": 3}, engine)

    def count() -> None:
        for _ in range(5000):
            metrics.decided(call)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = samples(metrics)
    assert found["callgate_decisions_total", ("repaired", "t")] == 20_000
    assert found["callgate_rule_hits_total", ("t:alias:/a",)] == 20_000
    assert found["callgate_decision_duration_seconds_count", ()] == 20_000
