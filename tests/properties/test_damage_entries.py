"""Entries that are damaged alike are read at once, and what comes out is what each alone would give."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, note

from callgate.engine import damage
from callgate.engine.shapes import Shape

from . import dice as st
from .dice import seeded
from .strategies import Call
from .test_invariants import run
from .test_spec_agrees import agree

pytestmark = pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")

ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"enum": ["fast", "slow", "a.b"]},
        "ok": {"type": "boolean"},
        "text": {"type": "string"},
        "word": {"enum": ["True", "x"]},
    },
}
OTHER: dict[str, Any] = {
    "type": "object",
    "properties": {"mode": {"type": "string"}, "ok": {"enum": ["True"]}},
}
ITEMS: list[dict[str, Any]] = [
    {},
    {"items": ITEM},
    {"items": ITEM},
    {"items": {"anyOf": [ITEM, OTHER]}},
]
# Here the engine is compared with itself alone: the second reading takes all items of an array as alike.
UNLIKE: list[dict[str, Any]] = [
    {"prefixItems": [ITEM, ITEM, ITEM, OTHER], "items": ITEM},
    {"prefixItems": [ITEM] * 5, "items": OTHER},
    {"items": ITEM, "properties": {"4": OTHER}},
]
KEYS = ["path", "text", "mode", "ok", "word", "n", "a"]
TEXTS = [
    "a",
    "x y",
    "",
    "5",
    "a, b",
    "{a}",
    "}, {",
    "it's",
    "# x",
    "// x",
    "/* x */",
    "a: b",
    "true",
    "é“",
    "%s %",
    "name:",
]
NUMBERS = ["0", "1", "-3", "10", "123", "1.5", "2e3"]
ODD = ["\\d+", "a\tb", "\\w \\. b", "C:\\Users\\me", "a\nb"]
WAYS = ["json", "json", "json", "bare", "single", "curly", "lost opening", "lost closing"]
VALUES = [
    "text",
    "text",
    "text",
    "number",
    "number",
    "json word",
    "word",
    "true",
    "listed",
    "single",
    "curly",
    "odd",
]
BLANKS = ["", "", "", " ", " ", "\n", "\\n", "\u00a0", " /* a note */ ", " // a note\n", "\n# a note\n"]
ODD_BLANKS = [*BLANKS, " // it's\n", ' /* "x" */', ' // "a": 1\n', " // 5\n", "/**/", " #x\n", "// a\\n"]
BETWEEN = [", ", ", ", ",", " ,", ",\n", ",\\n  ", ", // a note\n"]


@dataclass(frozen=True)
class Field:
    """How one field is written in each entry."""

    key: str
    way: str
    value: str
    before: str = ""
    inside: str = " "
    after: str = ""
    comma: str = ", "


@dataclass(frozen=True)
class Entry:
    fields: tuple[Field, ...]
    end: str = ""
    between: str = ", "


def scalar(draw: st.DrawFn, kind: str) -> str:
    if kind == "text":
        return json.dumps(draw(st.sampled_from(TEXTS)), ensure_ascii=False)
    plain = draw(st.sampled_from(["a", "x y", "", "a, b", "# x", "{a: 1}"]))
    match kind:
        case "number":
            return draw(st.sampled_from(NUMBERS))
        case "json word":
            return draw(st.sampled_from(["true", "false", "null"]))
        case "word":
            return draw(st.sampled_from(["True", "False", "None"]))
        case "true":
            return "True"
        case "listed":
            return "fast"
        case "single":
            return f"'{plain}'"
        case "curly":
            return f"“{plain}”"
    return '"' + draw(st.sampled_from(ODD)) + '"'


def key(way: str, name: str) -> str:
    match way:
        case "bare":
            return name
        case "single":
            return f"'{name}'"
        case "curly":
            return f"“{name}”"
        case "lost opening":
            return f'{name}"'
        case "lost closing":
            return f'"{name}'
    return f'"{name}"'


def written(draw: st.DrawFn, entry: Entry) -> str:
    pieces = [
        f"{each.before}{key(each.way, each.key)}:{each.inside}{scalar(draw, each.value)}{each.after}"
        + each.comma * (number + 1 < len(entry.fields))
        for number, each in enumerate(entry.fields)
    ]
    return "{" + "".join(pieces) + entry.end + "}"


def drawn_field(draw: st.DrawFn, blanks: list[str]) -> Field:
    return Field(
        draw(st.sampled_from(KEYS)),
        draw(st.sampled_from(WAYS)),
        draw(st.sampled_from(VALUES)),
        *(draw(st.sampled_from(blanks)) if draw(st.booleans()) else "" for _ in range(3)),
        draw(st.sampled_from([", ", ", ", ",", ",, ", ",\\n"])),
    )


def near(draw: st.DrawFn, entry: Entry, blanks: list[str]) -> Entry:
    """An entry that misses the shape of this one in one thing."""
    at = draw(st.integers(0, len(entry.fields) - 1))
    field, other = entry.fields[at], drawn_field(draw, blanks)
    what = draw(
        st.sampled_from(["key", "way", "value", "before", "inside", "after", "comma", "end", "between"])
    )
    if what == "end":
        return replace(entry, end=draw(st.sampled_from(["", ",", ", ", ",,"])))
    if what == "between":
        return replace(entry, between=draw(st.sampled_from(BETWEEN)))
    changed = replace(field, **{what: getattr(other, what)})
    return replace(entry, fields=(*entry.fields[:at], changed, *entry.fields[at + 1 :]))


@st.composite
def alike(draw: st.DrawFn, arrays: list[dict[str, Any]], odd: bool = False) -> Call:
    """A call with many entries of one shape, some that miss it, and now and then something else."""
    blanks = ODD_BLANKS if odd else BLANKS
    fields = draw(st.lists(st.Strategy(lambda _: drawn_field(draw, blanks)), min_size=1, max_size=4))
    if draw(st.integers(0, 9)):
        fields = [*{each.key: each for each in fields}.values()]  # no key stands twice
    entry = Entry(
        tuple(fields), draw(st.sampled_from(["", "", "", ",", ", "])), draw(st.sampled_from(BETWEEN))
    )
    misses = draw(st.sampled_from([0, 0, 0, 1, 3]))
    array = ""
    count = draw(st.sampled_from([4, 6, 9, 12]))
    for number in range(count):
        one = entry
        if misses and draw(st.integers(0, 9)) < misses:
            one = near(draw, entry, blanks)
            entry = one if draw(st.booleans()) else entry
        array += written(draw, one)
        if odd and not draw(st.integers(0, 29)):
            array += ", " + draw(
                st.sampled_from(["1", "[1, 2]", "{}", "[{a: 1}, {a: 2}]", "'x'", '{"n": {"m": 1}}'])
            )
        array += one.between if number + 1 < count else ""
    text = draw(
        st.sampled_from(
            ['{"edits": [%s]}', '{"edits": [%s]}', '{edits: [%s], "n": 1,}', '{"x": [%s], "edits": []}']
        )
    )
    text = text.replace("%s", array)
    if odd and not draw(st.integers(0, 4)):
        at = draw(st.integers(1, len(text)))
        rest = draw(st.sampled_from(["", text[at:], text[at + 1 :]]))
        text = (
            text[:at]
            + draw(st.sampled_from(["", '"', "'", ",", "\\", "}", "5", "a", "\x01", "\x05", "%"]))
            * (rest != "")
            + rest
        )
    schema = {"type": "object", "properties": {"edits": {"type": "array", **draw(st.sampled_from(arrays))}}}
    return Call("", schema, text, True, None, None)


def each_alone() -> Any:
    """Where no shape is known, each entry is looked at."""
    return mock.patch.object(damage, "shape_of", return_value=None)


# Kills: a word looked up once for entries under other keys; a number taken where a text stood.
@given(seeded(alike(ITEMS)))
def test_entries_that_are_alike_are_what_the_second_reading_says(call: Call) -> None:
    note(repr(call))
    agree(call)


# Kills: a word looked up once for items of which the schema says different things; a comment that holds a
# text; the message of another fault than the first.
@given(seeded(alike([*ITEMS, *UNLIKE], odd=True)))
def test_entries_that_are_alike_are_read_as_each_alone_is(call: Call) -> None:
    note(repr(call))
    here = run(call)
    with each_alone():
        assert here == run(call)


def test_many_of_these_calls_have_entries_that_are_read_at_once() -> None:
    # Without this the properties would hold for an engine that never does.
    taken = []
    take = Shape.take

    def seen(self: Shape, *args: Any) -> Any:
        found = take(self, *args)
        taken[-1] += found is not None
        return found

    with mock.patch.object(Shape, "take", seen):
        for seed in range(300):
            taken.append(0)
            run(alike(ITEMS).draw(Random(seed)))
    assert sum(map(bool, taken)) > 100
