"""Whatever `check` and `check_text` are given, the answer is a verdict or our own error, in linear time."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import callgate
from callgate import Engine, Outcome, Verdict

_TEXTS = {
    "alias /path from file_path, file",
    "filesystem-path /path",
    "filesystem-path-array /paths",
    "string-or-array /labels",
    "scalar /limit as number",
    "scalar /flag as boolean",
    "scalar /path as string",
    'anchor-bleed /path for "kimi"',
    'grammar-tokens "" for "kimi"',
    'closing-tags "" for "kimi"',
    "closing-tags /path for 'kimi'",
    'html-entities /path for "kimi"',
    'html-entities /edits/*/old for "kimi"',
    "droppable /limit, /mode",
    "root /path",
    'structural "flat" "" when present /old { move /old to /edits/0/old }',
    'structural "split" /labels { split "" on "," }',
    'deny "not here" when any /edits/*/old contains "rm -rf"',
    'ask "long" when length(/path) > 100',
    'deny "no" when /path matches "(?i)secret.*$"',
}
RULES = (
    'quote-token "<q>"\nsurroundings "voila"\n' + "tool edit {\n  " + "\n  ".join(sorted(_TEXTS)) + "\n}\n"
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "paths": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "array", "items": {"type": "string"}},
        "limit": {"type": "integer"},
        "flag": {"type": "boolean"},
        "mode": {"enum": ["fast", "Slow"]},
        "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
        "any": {"anyOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}, {"type": "null"}]},
        "tree": {"$ref": "#/$defs/tree"},
    },
    "$defs": {
        "edit": {"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old"]},
        "tree": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        },
    },
    "required": ["path"],
}
# The same rules over a tool with a schema, a tool without, and one whose root may be anything.
ENGINES = {
    "with a schema": callgate.compile(RULES, tools={"edit": SCHEMA}),
    "without a schema": callgate.compile(RULES.replace("tool edit", 'tool "*"')),
    "with a closed schema": callgate.compile(
        RULES, tools={"edit": {**SCHEMA, "additionalProperties": False}}
    ),
    "with an array at the root": callgate.compile("", tools={"edit": {"type": "array"}}),
}

TEXT = st.text(max_size=20) | st.sampled_from(
    ["/a", "null", "[1]", '{"path": 1}', "<parameter=path>", "</path>", "1e999", "^x$", "&amp;", "True"]
)
KEYS = st.sampled_from([*SCHEMA["properties"], "file_path", "old", "x", "arguments", "__proto__", ""]) | TEXT
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=True)
    | TEXT
    | st.text(st.characters(), max_size=5)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)
MODELS = st.sampled_from([None, "kimi-k2", "gpt"])
STOPS = st.sampled_from([None, "length", "stop"])
_MARKS = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    "'",
    "\\",
    '"path"',
    '"a"',
    "1",
    "-",
    "1e5",
    "null",
    "True",
    " ",
    "\n",
]
_MARKS += ["\\u0041", "\\ud800", "\\ude00", "NaN", "<parameter=path>", "</path>", "```json", "//", "é"]
_MARKS += [
    "path",
    "edits",
    "fast",
    "/*",
    "*/",
    "# ",
    "`",
    "“",
    "”",
    "<path>",
    "</tool_call>",
    "<|end|>",
    "<q>",
]
_MARKS += [
    "done",
    "Here is the call:",
    "[ARGS]",
    "\\n",
    "C:\\",
    "\\'",
    "\ufeff",
    "{{",
    "}}",
    ",,",
    "'a'",
    '"a:',
]
PIECES = st.lists(st.sampled_from(_MARKS), max_size=25).map("".join)


def well_formed(verdict: Verdict, given_arguments: object, text: bool = False) -> None:
    """What is true of every verdict, whatever the call."""
    assert isinstance(verdict, Verdict)
    if verdict.outcome is Outcome.REPAIRED:
        assert verdict.changes
    if verdict.outcome in (Outcome.UNREPAIRABLE, Outcome.DENIED):
        assert verdict.changes == ()
        assert verdict.arguments is given_arguments
        assert verdict.retry_message
        # Python's own JSON writer, and every host's, must be able to send this to the model.
        verdict.retry_message.encode()
        assert len(verdict.retry_message) < 20_000
    assert (verdict.code is not None) == (verdict.outcome is Outcome.UNREPAIRABLE)
    if verdict.outcome is Outcome.VALID and not text:
        assert verdict.arguments is given_arguments
    for change in verdict.changes:
        assert change.rule
        assert change.kind
        assert change.note
        change.note.encode()


@pytest.mark.parametrize("name", ENGINES)
@given(JSON, MODELS, STOPS)
@example({"path": "\ud800"}, None, None)
@example({"path": ["\ud800"]}, None, None)
@example("\ud800", None, None)
@example(2**70_000, None, None)
@example({"path": 10**5000}, None, None)
@example({"path": -0.0}, "kimi-k2", None)
def test_any_json_value_gets_a_verdict(name: str, value: Any, model: str | None, stop: str | None) -> None:
    before = exact(value)
    well_formed(ENGINES[name].check("edit", value, model=model, stop_reason=stop), value)
    assert exact(value) == before


def exact(value: Any) -> Any:
    """Equal for the same JSON only; integers of any length are compared as they are."""
    if isinstance(value, dict):
        return ("dict", [(key, exact(item)) for key, item in value.items()])
    if isinstance(value, list):
        return ("list", [exact(item) for item in value])
    return (type(value), repr(value) if isinstance(value, float) else value)


@pytest.mark.parametrize("name", ENGINES)
@given(PIECES | st.text(st.characters(), max_size=40) | JSON.map(json.dumps), MODELS, STOPS)
@example('{"a": "\\ud800"}', None, None)
@example("\x00", None, None)
@example('{"path": "x"}' + "\u2028", None, None)
def test_any_text_gets_a_verdict(name: str, text: str, model: str | None, stop: str | None) -> None:
    engine = ENGINES[name]
    well_formed(engine.check_text("edit", text, model=model, stop_reason=stop), text, text=True)
    well_formed(engine.check("edit", text, model=model, stop_reason=stop), text)
    # And as the value of a field.
    inside = {"path": text, "labels": text, "edits": text, "any": text}
    well_formed(engine.check("edit", inside, model=model, stop_reason=stop), inside)


@given(st.text(st.characters(), max_size=40), JSON)
@example("\ud800", {})
@example("edit\ud800", {"path": "\ud800"})
@example("<arg_key>", {"path": "\ud800"})
@example("x" * 100_000, {})
def test_any_tool_name_gets_a_verdict(name: str, value: Any) -> None:
    for engine in ENGINES.values():
        well_formed(engine.check(name, value), value)


DEPTH = 100_000
DEEP_TEXTS = {
    "open arrays": "[" * DEPTH,
    "arrays": "[" * DEPTH + "]" * DEPTH,
    "open objects": '{"a":' * DEPTH,
    "objects": '{"a":' * DEPTH + "1" + "}" * DEPTH,
    "objects of a known key": '{"path":' * DEPTH + "1" + "}" * DEPTH,
    "trees": '{"children":[' * DEPTH + "]}" * DEPTH,
    "wrappers": '{"arguments":' * DEPTH + "{}" + "}" * DEPTH,
    "open braces": "{" * DEPTH,
    "closing braces": "}" * DEPTH,
    "a deep second object": "{}" + '{"a":' * DEPTH + "1" + "}" * DEPTH,
    "brackets in a string": '{"path": "' + "[" * DEPTH + '"}',
    "brackets after a quote that never closes": '"' + "[" * DEPTH,
}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("kind", DEEP_TEXTS)
def test_text_nested_a_hundred_thousand_deep_gets_a_verdict(name: str, kind: str) -> None:
    text = DEEP_TEXTS[kind]
    engine = ENGINES[name]
    well_formed(engine.check_text("edit", text, model="kimi-k2"), text, text=True)
    well_formed(engine.check("edit", text), text)
    inside = {"path": "x", "edits": text, "any": text, "labels": [text]}
    well_formed(engine.check("edit", inside), inside)


def nested(wrap: Callable[[Any], Any], depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = wrap(value)
    return value


DEEP_VALUES: dict[str, Callable[[Any], Any]] = {
    "arrays": lambda inner: [inner],
    "objects": lambda inner: {"a": inner},
    "trees": lambda inner: {"children": [inner]},
    "wrappers": lambda inner: {"arguments": inner},
    "items": lambda inner: {"item": inner},
}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("kind", DEEP_VALUES)
@pytest.mark.parametrize("depth", [60, 70, DEPTH])
def test_a_value_nested_a_hundred_thousand_deep_gets_a_verdict(name: str, kind: str, depth: int) -> None:
    value = nested(DEEP_VALUES[kind], depth)
    engine = ENGINES[name]
    for arguments in (value, {"path": value}, {"tree": value}, {"path": "x", "any": value}, [value]):
        verdict = engine.check("edit", arguments, model="kimi-k2")
        well_formed(verdict, arguments)
        if depth == DEPTH:
            assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "limit")


def test_json_in_json_in_json_without_end_gets_a_verdict() -> None:
    text = json.dumps({"path": "x"})
    for layer in range(1, 12):
        for engine in ENGINES.values():
            well_formed(engine.check_text("edit", text), text, text=True)
            inside = {"path": "x", "edits": text}
            well_formed(engine.check("edit", inside), inside)
        assert ENGINES["with a schema"].check_text("edit", text).allowed == (layer <= 3)
        text = json.dumps(text)


UNITS = [
    "{'", '"', "'", '\\', '\\"', ',', '[', '{"a":', ']', '}', ':', '{', '<', '>', '&', '&amp;', '&#', '^',
    '$', ' ', '\n', '\t', '\x00', '<parameter name="', '<parameter=path>', '<parameter', '</a>', '</path>',
    '</parameter>', '</', '<arg_key>', '</arg_value>', '[a](http://a)', '](http://', '[a](', '[[', '[]',
    '{}', '{"a":1}', '{"a":1},', '"a",', '1', '1,', '-', '1e5', 'null', 'null ', 'True', 'tru', '\\u0041',
    '\\ud800', 'é', '😀', '\u2028', '//', '/*', '```', '```json\n', '#', 'a b', '`', '“', 'param', 'secret',
    '\r\n', '</a:b>', '</｜DSML｜parameter>', ' </path>\n', 'a</path>', '<a', '<a>', '<arg_key>a</arg_key>',
    '<parameter name="path">', '</path><parameter name="zzz">',
]  # fmt: skip
# How a repeated unit becomes what is sent.
FRAMES: dict[str, Callable[[str], Any]] = {
    "as the whole text": lambda text: text,
    "after an object": lambda text: '{"path": "x"}' + text,
    "in an object that does not close": lambda text: '{"path": "x", "edits": ' + text,
    "in a string that does not close": lambda text: '{"path": "' + text,
    "in a path": lambda text: {"path": text},
    "in every field": lambda text: dict.fromkeys(("path", "labels", "edits", "mode", "any"), text),
    "in text that is JSON": lambda text: json.dumps({"path": text, "limit": text, "flag": text}),
    "as a key": lambda text: {text: "x"},
    "after an open tag": lambda text: {"path": "<path>" + text + "</path>"},
}  # fmt: skip
SMALL, BIG = 5_000, 500_000


def cpu(engine: Engine, arguments: Any, runs: int) -> float:
    """Seconds of CPU time for one call, the best of some, without the garbage collector."""
    best = float("inf")
    gc.disable()
    try:
        for _ in range(runs):
            start = time.process_time()
            engine.check("edit", arguments, model="kimi-k2")
            best = min(best, time.process_time() - start)
    finally:
        gc.enable()
    return best


def slow(engine: Engine, frame: Callable[[str], Any], unit: str) -> tuple[float, float] | None:
    """The seconds for 5 kB and for 500 kB, if the second is over 300 times the first; else None."""
    small = 0.000_3  # seconds: what is below it is not measured well
    large = frame(unit * (BIG // len(unit)))
    for _ in range(4):  # another process may have disturbed a measurement
        took = cpu(engine, large, 1)
        if took <= 300 * small:
            return None
        small = max(small, cpu(engine, frame(unit * (SMALL // len(unit))), 5))
    return small, took


@pytest.mark.parametrize("frame", FRAMES)
def test_a_hundred_times_the_text_takes_about_a_hundred_times_as_long(frame: str) -> None:
    engine = ENGINES["with a schema"]
    found = {unit: times for unit in UNITS if (times := slow(engine, FRAMES[frame], unit)) is not None}
    assert not found


@pytest.mark.parametrize(
    "grow",
    [
        lambda n: {"path": "x", "edits": [{"old": "a"}] * n},
        lambda n: {"path": "x", "edits": [{"old": 1}] * n},
        lambda n: {"path": "x", "labels": [None] * n},
        lambda n: {"path": "x", "paths": ["[a](http://a)"] * n},
        lambda n: {f"k{i}": "</path>" for i in range(n)} | {"path": "x"},
        lambda n: {f"<arg_key>k{i}": "<arg_value>" for i in range(n)} | {"path": "x"},
        lambda n: {"path": "x", "any": {f"k{i}": {} for i in range(n)}},
        lambda n: {"path": 1, "edits": [[]] * n, "labels": [{}] * n},
        lambda n: [{"path": "x"}] * n,
    ],
    ids=["items", "bad items", "nulls", "links", "fields", "tokens", "objects", "arrays", "several objects"],
)
def test_ten_times_the_items_take_about_ten_times_as_long(grow: Callable[[int], Any]) -> None:
    engine = ENGINES["with a schema"]
    for _ in range(3):
        small = max(cpu(engine, grow(1_000), 3), 0.000_5)
        large = cpu(engine, grow(10_000), 1)
        if large <= 30 * small:
            return
    assert large <= 30 * small
