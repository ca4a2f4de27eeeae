"""The decision log: what a line says, what `put` costs the caller, and what becomes of every decision."""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callgate
from callgate.engine.decided import Decided, decided, fingerprint
from callgate.engine.log import DecisionLog, LogSettings, read_log
from callgate.engine.logline import LineWriter, take
from callgate.engine.metrics import Metrics

RULES = 'tool t { alias /a from b, c; ask "sure?" when /a == 1; deny "no" when /a == 2 }'


def seen(arguments: Any, engine: callgate.Engine | None = None, *, sent: str = "t", **more: Any) -> Decided:
    verdict = (engine or callgate.compile(RULES)).check(sent, arguments)
    return decided(verdict, sent=sent, before=arguments, micros=1.26, **more)


def logged(*told: Decided, **settings: Any) -> list[dict[str, Any]]:
    """What a function is given for these decisions."""
    lines: list[dict[str, Any]] = []
    log = DecisionLog(LogSettings(lines.append, **settings))
    for each in told:
        log.put(each)
    assert log.close()
    assert log.counts.written == len(told)
    return lines


def line_of(told: Decided, *, values: bool = True, mask: tuple[str, ...] = (), most: int = 65_536) -> bytes:
    return LineWriter(values=values, mask=mask, value_bytes=most).line(take(told))


def test_a_line_says_who_called_what_and_what_came_of_it_and_no_value() -> None:
    call = seen({"b": "secret"}, session="s", call_id="c", model="m")
    (line,) = logged(call)
    assert {name: line[name] for name in ("session", "call", "tool", "model", "outcome")} == {
        "session": "s",
        "call": "c",
        "tool": "t",
        "model": "m",
        "outcome": "repaired",
    }
    assert (line["rules"], line["paths"], line["micros"]) == (["t:alias:/a"], ["/a"], 1.3)
    assert line["digest"] == call.verdict.engine
    assert len(line["before_digest"]) == len(line["after_digest"]) == 32
    assert not {"name", "code", "before", "after", "packs", "text"} & set(line)
    assert "secret" not in json.dumps(line)
    assert time.strptime(line["time"][:19], "%Y-%m-%dT%H:%M:%S")
    assert line["time"][19] == "."
    assert line["time"].endswith("Z")
    assert len(line["time"]) == 27


def test_with_values_a_line_has_the_arguments_that_came_and_those_that_run_where_they_differ() -> None:
    valid, repaired, denied = logged(seen({"a": 3}), seen({"b": 3}), seen({"a": 2}), values=True)
    assert (valid["before"], repaired["before"], denied["before"]) == ({"a": 3}, {"b": 3}, {"a": 2})
    assert repaired["after"] == {"a": 3}
    assert "after" not in valid
    assert "after" not in denied
    assert denied["rules"] == ["t:deny"]


def test_a_log_with_values_can_be_replayed() -> None:
    engine = callgate.compile(RULES)
    calls: list[Any] = [
        {"b": 3},
        {"a": 2},
        {"a": "\ud800"},
        {"a": float("nan")},
        {"x": 10**30},
        '{"b": 1',
        "\ud800",
    ]
    for line, call in zip(logged(*(seen(each) for each in calls), values=True), calls, strict=True):
        before = line["before"] if "before" in line else json.loads(line["before_json"])
        again = engine.check(line["tool"], before)
        assert again.outcome == line["outcome"] == engine.check("t", call).outcome
        assert (again.code or "") == line.get("code", "")


def test_the_settled_name_is_there_where_another_was_sent() -> None:
    engine = callgate.compile("", tools={"read_file": {}})
    one, other = logged(seen({}, engine, sent="read_file"), seen({}, engine, sent="functions.read_file"))
    assert "name" not in one
    assert (other["tool"], other["name"]) == ("functions.read_file", "read_file")


def test_arguments_in_a_tools_name_are_not_shown() -> None:
    engine = callgate.compile("", tools={"read": {}})
    for sent in (
        "read<arg_key>k</arg_key><arg_value>hunter2",
        'read{"k": "hunter2"}',
        "read(hunter2)",
        "read hunter2",
    ):
        for line in logged(seen({}, engine, sent=sent)):
            assert "hunter2" not in json.dumps(line)
            assert line["tool"] == "read…"


def test_packs_text_and_the_stop_reason_are_there_where_there_are_any() -> None:
    engine = callgate.compile("", packs={"p": 'pack "p" "1.0.0"\ntool t { alias /a from b }'})
    verdict = engine.check_text("t", '{"b": 1}', stop_reason="stop")
    call = decided(verdict, sent="t", before='{"b": 1}', micros=1.0, text=True, stop_reason="stop")
    (line,) = logged(call, values=True)
    assert (line["packs"], line["text"], line["stop_reason"]) == (["p@1.0.0"], True, "stop")
    assert (line["before"], line["after"]) == ('{"b": 1}', {"a": 1})


def test_equal_faults_of_different_calls_have_one_fingerprint_and_others_another() -> None:
    engine = callgate.compile("tool t { alias /rows/*/a from b, c }")
    calls = [{"rows": [{"b": 1}]}, {"rows": [{"a": 1}, {"b": "x"}]}, {"rows": []}]
    first, second, valid = logged(*(seen(each, engine) for each in calls))
    assert first["paths"] != second["paths"]
    assert first["fingerprint"] == second["fingerprint"] is not None
    assert valid["fingerprint"] is None
    alias, denied, asked = logged(seen({"b": 3}), seen({"a": 2}), seen({"a": 1}))
    assert len({each["fingerprint"] for each in (first, alias, denied, asked)}) == 4
    assert denied["fingerprint"] == seen({"a": 2}).verdict.fingerprint == fingerprint(seen({"a": 2}))


def test_digests_are_equal_for_equal_arguments_in_any_order_and_tell_types_apart() -> None:
    same = [
        line["before_digest"]
        for line in logged(seen({"x": 1, "y": {"b": 1, "a": 2}}), seen({"y": {"a": 2, "b": 1}, "x": 1}))
    ]
    assert same[0] == same[1]
    other = [line["before_digest"] for line in logged(*(seen({"x": each}) for each in (1, 1.0, "1", True)))]
    assert len(set(other)) == 4


def test_what_the_caller_changes_after_the_call_is_not_in_the_log() -> None:
    gate, lines = threading.Event(), []

    def slow(line: dict[str, Any]) -> None:
        gate.wait(10)
        lines.append(line)

    log = DecisionLog(LogSettings(slow, values=True))
    flat, nested, mended = {"a": 3}, {"x": [{"y": 3}]}, {"b": [3]}
    for call in (flat, nested, mended):
        log.put(seen(call))
    flat["a"] = 4
    nested["x"][0]["y"] = 4
    mended["b"][0] = 4
    gate.set()
    assert log.close()
    assert [line["before"] for line in lines] == [{"a": 3}, {"x": [{"y": 3}]}, {"b": [3]}]
    assert lines[2]["after"] == {"a": [3]}


def test_arguments_over_the_cap_are_a_digest_and_their_size() -> None:
    small, large, both = (
        json.loads(line_of(seen(call), most=100)) for call in ({"x": "y"}, {"x": "y" * 100}, {"b": "y" * 50})
    )
    assert small["before"] == {"x": "y"}
    assert (large["before_bytes"], len(large["before_digest"]), "before" in large) == (108, 32, False)
    assert both["before"] == {"b": "y" * 50}  # the cap is one for both
    assert (both["after_bytes"], "after" in both) == (58, False)
    assert len(line_of(seen({"x": "y" * 900_000}))) < 1000


def test_arguments_without_an_end_or_over_a_limit_are_left_out() -> None:
    bomb: Any = []
    for _ in range(200):
        bomb = [bomb, bomb]
    cycle: Any = {}
    cycle["x"] = cycle
    engine = callgate.compile("", tools={"t": {}}, limits=callgate.Limits(input_bytes=1000))
    for call, sent in ((bomb, "t"), (bomb, "unknown"), (cycle, "t"), (cycle, "unknown"), ("x" * 2000, "t")):
        (line,) = logged(seen(call, engine, sent=sent), values=True)
        assert not [name for name in line if name.startswith(("before", "after"))]
        assert line["outcome"] == "unrepairable"


def test_a_line_with_very_many_places_shows_64_and_says_how_many_more() -> None:
    engine = callgate.compile("tool t { alias /rows/*/a from b }")
    (line,) = logged(seen({"rows": [{"b": 1}] * 100}, engine))
    assert (len(line["paths"]), line["more"]) == (64, 36)


TEXTS = st.text(st.characters(codec=None, exclude_categories=())) | st.sampled_from(
    ["\n", "\r\n", "\u2028", "\x85", "\x00\x1f", "\ud800", "🙂", 'a"b', "</x>"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**700), 10**700) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, TEXTS, TEXTS, st.booleans(), st.sampled_from([(), ("/a",), ("/a/*/b", "/c"), ("",)]))
def test_whatever_is_called_is_one_line_of_strict_json(
    arguments: Any, name: str, text: str, values: bool, mask: tuple[str, ...]
) -> None:
    call = seen(arguments, sent=name, model=text, session=text, call_id=text, stop_reason=text)
    data = line_of(call, values=values, mask=mask)
    assert data.endswith(b"\n")
    assert len(data.decode("utf-8").splitlines()) == 1
    line = json.loads(data, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert line["outcome"] == call.verdict.outcome
    assert "before" in line or "before_json" in line or "before_digest" in line or line["code"] == "limit"


def test_four_threads_lose_no_decision_uncounted(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = DecisionLog(LogSettings(str(path), queue=500))
    call = seen({"a": 3})

    def puts() -> None:
        for _ in range(10_000):
            log.put(call)

    threads = [threading.Thread(target=puts) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert log.flush(30)
    counts = log.counts
    assert counts.written + counts.dropped + counts.failed == 40_000
    assert counts.waiting == counts.failed == 0
    assert log.close()
    reader = read_log(str(path))
    assert len(list(reader)) == counts.written
    assert (reader.skipped, reader.lost) == (0, counts.dropped)


def test_a_function_that_hangs_stops_no_call_and_what_has_no_room_is_counted() -> None:
    gate, lines = threading.Event(), []

    def hangs(line: dict[str, Any]) -> None:
        gate.wait(30)
        lines.append(line)

    log = DecisionLog(LogSettings(hangs, queue=10))
    call = seen({"a": 3})
    log.put(call)
    while log.counts.waiting:  # until the thread has it, and hangs
        time.sleep(0.01)
    start = time.monotonic()
    for _ in range(100):
        log.put(call)
    assert time.monotonic() - start < 1
    assert not log.flush(0.05)
    assert log.counts.dropped == 90
    gate.set()
    assert log.close()
    assert log.counts.written == 11
    (lost,) = (line for line in lines if line.get("log") == "lost")
    assert (lost["count"], lost["error"]) == (90, "the queue was full")
    assert lost["since"] <= lost["time"]


def test_large_arguments_that_wait_are_bounded_by_their_size() -> None:
    gate = threading.Event()
    log = DecisionLog(LogSettings(lambda _line: gate.wait(30)))
    large = seen({"x": "y" * 1_000_000})
    for _ in range(100):
        log.put(large)
    dropped = log.counts.dropped
    gate.set()
    assert 25 < dropped < 40  # about 67 of them have room
    assert log.close()
    assert log.counts.written + log.counts.dropped == 100
    log = DecisionLog(LogSettings(lambda _line: None))
    for _ in range(300):
        log.put(large)
        assert log.flush()
    assert log.counts.dropped == 0  # the room is given back
    assert log.close()


def test_a_function_that_raises_costs_its_own_line_only_and_the_error_is_reported() -> None:
    lines = []

    def picky(line: dict[str, Any]) -> None:
        if line.get("call") == "bad":
            raise SystemExit("never")
        lines.append(line)

    log = DecisionLog(LogSettings(picky))
    for name in ("one", "bad", "two"):
        log.put(seen({"a": 3}, call_id=name))
    assert log.flush()
    assert [line["call"] for line in lines if "call" in line] == ["one", "two"]
    assert (log.counts.written, log.counts.failed) == (2, 1)
    assert "SystemExit: never" in (log.counts.error or "")
    log.put(seen({"a": 3}))
    assert log.flush()
    assert log.counts.since is None
    assert log.close()


def test_put_raises_nothing_whatever_it_is_given() -> None:
    log = DecisionLog(LogSettings(lambda _line: None))
    bad: Any = None
    log.put(bad)
    log.put(decided(seen({}).verdict, sent="t", before=object(), micros=1.0))
    number: Any = 7
    log.put(decided(seen({}).verdict, sent="t", before={}, micros=1.0, session=number))
    assert log.flush()
    assert (log.counts.written, log.counts.failed) == (0, 3)
    assert log.close()


def test_what_is_put_after_the_end_is_counted() -> None:
    log = DecisionLog(LogSettings(lambda _line: None))
    log.put(seen({}))
    assert log.close()
    log.put(seen({}))
    assert (log.counts.written, log.counts.dropped, log.counts.waiting) == (1, 1, 0)
    assert log.flush()
    assert log.close()


def test_nothing_runs_before_the_first_decision_nor_after_the_log_is_gone() -> None:
    def running() -> int:
        return sum(each.name == "callgate-log" for each in threading.enumerate())

    before = running()
    log = DecisionLog(LogSettings(lambda _line: None))
    assert running() == before
    assert log.flush()
    log.put(seen({}))
    assert log.flush()
    assert running() == before + 1
    del log
    assert running() == before


def test_a_line_that_is_put_after_a_long_rest_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.engine.logthread.IDLE", 0.05)
    lines: list[Any] = []
    log = DecisionLog(LogSettings(lines.append))
    for n in range(3):
        log.put(seen({}))
        until = time.monotonic() + 5
        while len(lines) <= n and time.monotonic() < until:
            time.sleep(0.01)
        assert len(lines) == n + 1
        time.sleep(0.2)  # it sleeps until it is woken
    assert log.close()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"to": ""}, "path"),
        ({"to": 7}, "path"),
        ({"to": "/tmp/\ud800"}, "no path can"),
        ({"to": "x", "values": 1}, "values"),
        ({"to": "x", "mask": ["/a"]}, "mask"),
        ({"to": "x", "mask": ("a",)}, "does not begin with `/`"),
        ({"to": "x", "max_bytes": 10}, "max_bytes"),
        ({"to": "x", "keep": -1}, "keep"),
        ({"to": "x", "queue": 0}, "queue"),
        ({"to": "x", "value_bytes": True}, "value_bytes"),
    ],
)
def test_a_setting_that_is_none_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(callgate.InputError, match=words):
        LogSettings(**settings)


def no_thread(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """The system has no room for the thread of a log, so often."""
    start, left = threading.Thread.start, [None] * times

    def starts(thread: threading.Thread) -> None:
        if thread.name == "callgate-log" and left:
            left.pop()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starts)


def test_a_thread_that_cannot_be_started_is_told_and_tried_again_with_the_next_decision(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    no_thread(monkeypatch, 2)
    lines: list[Any] = []
    log = DecisionLog(LogSettings(lines.append))
    for _ in range(2):
        log.put(seen({}))
    counts = log.counts
    assert (counts.waiting, counts.failed, counts.since is None) == (2, 0, False)
    assert counts.error == "its thread cannot be started: can't start new thread"
    assert "callgate_log_failing 1" in Metrics(log=lambda: log.counts).text()
    told = f"the decision log cannot be written: {counts.error}"
    assert [each.message for each in caplog.records] == [told]
    log.put(seen({}))
    assert log.flush()
    assert (log.counts.written, log.counts.failed, log.counts.since, len(lines)) == (3, 0, None, 3)
    assert log.close()


def test_what_waits_for_a_thread_is_written_or_counted_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for times, written in ((1, 1), (9, 0)):
        with monkeypatch.context() as patch:
            no_thread(patch, times)
            log = DecisionLog(LogSettings(lambda _line: None))
            log.put(seen({}))
            assert log.close()
            counts = log.counts
        assert (counts.written, counts.dropped, counts.failed, counts.waiting) == (written, 1 - written, 0, 0)


def test_no_handler_of_the_programs_log_ends_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    class Exits(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise SystemExit

    fails, lines = [True], []

    def flaky(line: dict[str, Any]) -> None:
        if fails:
            raise ValueError(fails.pop())
        lines.append(line)

    handler = Exits()
    logging.getLogger("callgate").addHandler(handler)
    try:
        log = DecisionLog(LogSettings(flaky))
        for _ in range(2):
            log.put(seen({}))
            assert log.flush()
    finally:
        logging.getLogger("callgate").removeHandler(handler)
    assert log.close()
    assert (log.counts.written, log.counts.failed) == (1, 1)


def test_no_fault_of_a_sink_ends_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    class Output:
        def write(self, text: str) -> None:
            raise SystemExit("no more")

    monkeypatch.setattr("sys.stdout", Output())
    log = DecisionLog(LogSettings("stdout"))
    for _ in range(2):
        log.put(seen({}))
        assert log.flush()
    assert (log.counts.failed, log.counts.error) == (2, "SystemExit: no more")
    log.close()
