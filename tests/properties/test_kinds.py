"""What holds for every kind and every value."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.engine.places import Open
from callgate.engine.schema import Schema
from callgate.engine.selector import places
from callgate.grammar.ast import Json, Literal, Pointer, Segment, Statement, Text, Word
from callgate.grammar.parser import parse
from callgate.rules.catalog import kinds
from callgate.rules.kind import Action, Kind, NotApplicable, Phase, Place, Spec
from callgate.rules.reader import read_rule
from callgate.rules.statements import words
from callgate.rules.strictjson import equal


@dataclass
class Recorder:
    told: list[str] = field(default_factory=list)

    def change(self, path: tuple[str | int, ...] = (), note: str | None = None) -> None:
        self.told.append(f"change {path} {note}")

    def observe(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        self.told.append(f"observe {path} {message}")


def step(word: str, *items: Any) -> Statement:
    return Statement(Word(word), tuple((item,) for item in items))


def at(*segments: Segment) -> Pointer:
    return Pointer(segments)


def schema(document: Json) -> Place:
    return Schema(document).root


ANY_OF: Json = {"anyOf": [{"type": "array"}, {"type": "object"}, {"type": "null"}]}

# Each kind that works on a value, made ready in every way that matters.
ACTIONS: list[tuple[str, Spec, Place]] = [
    ("alias", Spec("alias", selectors=(at("a"),), clauses={"from": ["b", "c"]}), Open()),
    (
        "alias with options",
        Spec(
            "alias",
            selectors=(at("a"),),
            clauses={"from": ["b", "c"], "accepting": ["string", "integer"], "empty-is-missing": True},
        ),
        schema({"properties": {"a": {}, "c": {}}}),
    ),
    ("filesystem-path", Spec("filesystem-path", selectors=(at("a"),)), Open()),
    ("filesystem-path-array", Spec("filesystem-path-array", selectors=(at("a"),)), Open()),
    ("string-or-array", Spec("string-or-array", selectors=(at("a"),)), schema({"type": "array"})),
    ("string-or-array, a union", Spec("string-or-array", selectors=(at("a"),)), schema(ANY_OF)),
    *(
        (
            f"scalar as {name}",
            Spec("scalar", selectors=(at("a"),), clauses={"as": name}),
            schema({"type": wants}),
        )
        for name, wants in (
            ("number", "number"),
            ("number", "integer"),
            ("boolean", "boolean"),
            ("string", "string"),
        )
    ),
    ("anchor-bleed", Spec("anchor-bleed", selectors=(at("a"),)), Open()),
    ("grammar-tokens", Spec("grammar-tokens", selectors=(at(),)), Open()),
    ("closing-tags", Spec("closing-tags", selectors=(at("a"),), closing_forms=("<|end|>",)), Open()),
    ("html-entities", Spec("html-entities", selectors=(at("a"),)), Open()),
    *(
        (f"structural {word}", Spec("structural", "s", (at(),), block=tuple(steps)), Open())
        for word, steps in {
            "move": [step("move", at("b"), Word("to"), at("a", "0", "c"))],
            "copy": [step("copy", at(), Word("to"), at("a"))],
            "set": [step("set", at("a"), Literal({"x": [1]}), Word("over"))],
            "remove": [step("remove", at("0"))],
            "wrap and unwrap": [step("wrap", at("a")), step("unwrap", at("a"))],
            "parse": [step("parse", at("a"))],
            "join": [step("join", at("a"), Word("with"), Text(","))],
            "split": [step("split", at("a"), Word("on"), Text("<"))],
            "parse the whole": [step("parse", at())],
        }.items()
    ),
    (
        "structural call",
        Spec("structural", "s", (at(),), {"call": "f"}, functions={"f": lambda value: value}),
        Open(),
    ),
]


def build(spec: Spec, place: Place) -> Action:
    action = kinds()[spec.keyword].build(spec, place)
    assert action is not None
    return action


READY = {name: build(spec, place) for name, spec, place in ACTIONS}

PIECES = (
    *(
        "a",
        "b",
        " ",
        "\n",
        "[",
        "]",
        "[a](http://a)",
        "](http://",
        "(",
        ")",
        "](http://a)",
        "^",
        "$",
        "<",
        ">",
    ),
    *("</a>", "<a>", "</invoke>", "</parameter>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    *("<|end|>", "&amp;", "&#39;", "&#0;", "&", ";", "true", "False", "1", "1.0", "-0", "1e5", '"', "\\"),
    *(",", "{", "}", "é", "\0"),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
NAMES = st.sampled_from(["a", "b", "c", "0", "<arg_key>a", "a</arg_key>", " <arg_key> b", ""]) | TEXTS
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, 10**700, -(10**640)])
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)


def spec_of(rule: str) -> Spec:
    parsed = parse(f"tool t {{\n{rule}\n}}", words=words)
    (statement,) = parsed.file.statements[0].block or ()
    spec, found = read_rule(statement, kinds())
    assert spec is not None, found
    return spec


def by_example(kind: type[Kind]) -> Iterator[tuple[str, Action, list[Json]]]:
    """The rules of a kind's examples, each ready for the schema of its example, and values at its place."""
    values: dict[str, tuple[Action, list[Json]]] = {}
    for example in kind.examples:
        spec = spec_of(example.rule)
        segments = spec.segments if spec.selectors else ()
        segments = segments[:-1] if kind.acts_on_parent else segments
        place = (Open() if example.schema is None else Schema(example.schema).root).under(segments)
        action = kind.build(spec, place)
        if action is not None:
            name = example.rule if example.schema is None else f"{example.rule} in {example.schema}"
            sent = [example.before] if example.after is None else [example.before, example.after]
            there = [value for whole in sent for _, value in places(whole, segments)]
            values.setdefault(name, (action, []))[1].extend(there)
    for name, (action, there) in values.items():
        yield name, action, there


def texts(value: Json) -> Iterator[str]:
    """Every text in a value, keys too."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from item
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


BLANKS = ("", " ", "\n", "\t ", "\u00a0")


def near_texts(text: str) -> list[str]:
    """The text with white space, in other cases, bare, with something before or after it, and parts of it."""
    forms = (text, text.strip(), text.upper(), text.lower(), text.swapcase(), text[1:], text[:-1])
    found = [before + form + after for form in forms for before in BLANKS for after in BLANKS]
    for piece in (*PIECES, text):
        found += [piece + text, text + piece, piece + text + piece]
    return list(dict.fromkeys(found))


def exchanged(value: Json, old: str, new: str) -> Json:
    """The value with one text in place of another, among its keys too."""
    if isinstance(value, dict):
        return {new if key == old else key: exchanged(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [exchanged(item, old, new) for item in value]
    return new if value == old else value


def near(value: Json, leaves: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """The value, with some of what is in it exchanged, dropped, repeated, or put into something."""
    if isinstance(value, str):
        same: st.SearchStrategy[Json] = st.sampled_from(near_texts(value))
    elif isinstance(value, list):
        same = st.tuples(*(near(item, leaves) for item in value)).map(list).flatmap(_some_items)
    elif isinstance(value, dict):
        fields = {key: near(item, leaves) for key, item in value.items()}
        same = st.fixed_dictionaries({}, optional=fields) | st.fixed_dictionaries(fields).flatmap(
            lambda object_: leaves.map(lambda more: {**object_, "more": more})
        )
    else:
        same = st.sampled_from([value, str(value), json.dumps(value)])
    return st.just(value) | same | same | leaves | same.map(lambda item: [item])


def _some_items(items: list[Json]) -> st.SearchStrategy[Json]:
    return st.just(items) | st.lists(st.sampled_from(items), max_size=4) if items else st.just(items)


def around(values: list[Json]) -> st.SearchStrategy[Json]:
    """Values like these, and unlike them."""
    known = sorted({text for value in values for text in texts(value)}) or ["a"]
    leaves = st.sampled_from(known).flatmap(lambda text: st.sampled_from(near_texts(text))) | SCALARS
    mutated = st.one_of(*(near(value, leaves) for value in values)) if values else leaves
    return mutated | mutated | leaves | VALUES


PREPROCESSORS = {keyword: kind for keyword, kind in kinds().items() if kind.phase is Phase.PREPROCESS}
DERIVED = [
    pytest.param(keyword, action, values, id=name)
    for keyword, kind in PREPROCESSORS.items()
    for name, action, values in by_example(kind)
]
# The kinds that are made ready nowhere above, as their first example has them.
OTHERS = [
    next((name, action) for name, action, _ in by_example(kind))
    for keyword, kind in PREPROCESSORS.items()
    if keyword not in {spec.keyword for _, spec, _ in ACTIONS}
]
# An entity may decode to one, and steps are the author's own: the pipeline refuses what does not settle.
UNSETTLED = ("structural", "html-entities")
SETTLING = [name for name in READY if not name.startswith(UNSETTLED)]


def apply(action: Action, value: Json) -> tuple[Json, list[str]]:
    log = Recorder()
    try:
        return action.apply(value, log), log.told
    except NotApplicable:
        return value, []


def passes(action: Action, value: Json) -> bool:
    """Would the engine run the action on this value?"""
    if action.keys and not (isinstance(value, dict) and value.keys() & action.keys):
        return False
    return bool(eval((action.guard or "True").replace("$", ""), {"v": value, **action.names}))


def shape(value: Json) -> Any:
    """A value told apart from every other, `1` from `true` and `1.0` too, and keys in their order."""
    if isinstance(value, dict):
        return {"object": [(key, shape(item)) for key, item in value.items()]}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value).__name__, value.hex() if isinstance(value, float) else value


@pytest.mark.parametrize("keyword", PREPROCESSORS)
def test_every_kind_that_changes_values_has_an_example_from_which_it_can_be_built(keyword: str) -> None:
    assert any(param.values[0] == keyword for param in DERIVED)


def keeps_its_promises(keyword: str, action: Action, value: Json) -> None:
    before = shape(value)
    result, told = apply(action, value)
    assert shape(value) == before, "it changed what it was given"
    if not passes(action, value):
        assert result is value, "the guard, or `keys`, holds back a value that it changes"
        assert told == [], "the guard, or `keys`, holds back a value that it observes"
    if result is value:
        assert not any(line.startswith("change") for line in told), "it logs a change and makes none"
    else:
        assert not equal(result, value), "it gives an equal value in place of the very object"
    if keyword not in UNSETTLED:
        assert apply(action, result)[0] is result, "it changes its own result"


@pytest.mark.parametrize(("keyword", "action", "values"), DERIVED)
def test_a_rule_of_an_example_keeps_the_promises_of_an_action_near_its_texts(
    keyword: str, action: Action, values: list[Json]
) -> None:
    for value in values:
        keeps_its_promises(keyword, action, value)
        for text in sorted(set(texts(value))):
            for other in near_texts(text):
                keeps_its_promises(keyword, action, exchanged(value, text, other))


@pytest.mark.parametrize(("keyword", "action", "values"), DERIVED)
def test_a_rule_of_an_example_keeps_the_promises_of_an_action_on_any_value(
    keyword: str, action: Action, values: list[Json]
) -> None:
    @given(around(values))
    def on(value: Json) -> None:
        keeps_its_promises(keyword, action, value)

    on()


@pytest.mark.parametrize("name", READY)
@given(value=VALUES)
def test_no_kind_changes_what_it_was_given(name: str, value: Json) -> None:
    before = shape(value)
    apply(READY[name], value)
    assert shape(value) == before


@pytest.mark.parametrize("name", READY)
@given(value=VALUES)
def test_a_value_that_a_guard_holds_back_would_have_stayed_as_it_is(name: str, value: Json) -> None:
    result, told = apply(READY[name], value)
    if not passes(READY[name], value):
        assert result is value
        assert told == []


@pytest.mark.parametrize("name", READY)
@given(value=VALUES)
def test_a_kind_gives_the_same_object_or_another_value(name: str, value: Json) -> None:
    result, told = apply(READY[name], value)
    if result is value:
        assert not any(line.startswith("change") for line in told)
    else:
        assert not equal(result, value)


@pytest.mark.parametrize("name", SETTLING)
@given(value=VALUES)
def test_applying_twice_is_applying_once(name: str, value: Json) -> None:
    once, _ = apply(READY[name], value)
    twice, _ = apply(READY[name], once)
    assert twice is once


@pytest.mark.parametrize("name", [name for name in READY if name.startswith("alias")])
@given(value=st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), SCALARS))
def test_an_alias_moves_the_very_values_and_loses_none(name: str, value: dict[str, Json]) -> None:
    result, _ = apply(READY[name], value)
    assert isinstance(result, dict)
    assert all(any(item is there for there in value.values()) for item in result.values())
    for key, item in value.items():
        kept = any(equal(item, there) for there in result.values())
        assert kept or (key == "a" and item in (None, ""))


def repeated(unit: str, size: int) -> Json:
    return unit * (size // len(unit))


def nested(depth: int) -> Json:
    value: Json = []
    for _ in range(depth):
        value = [value]
    return value


UNITS = (
    *(
        "[",
        "]",
        "^",
        "$",
        "<arg_value>",
        "</arg_value>",
        "</a>",
        "</invoke>",
        "</x:invoke>",
        "&",
        "&amp;",
        "&#",
    ),
    *("](http://", "[a](", "[a](http://a)", "[a](http://b)", "<a ", "</", ">", "> ", "</a> ", "0", " ", "x<"),
)
HOSTILE: dict[str, Callable[[int], Json]] = {
    **{f"{unit} repeated": partial(repeated, unit) for unit in UNITS},
    "links in links": lambda n: "[" * (n // 12) + "a" + "](http://a)" * (n // 12),
    "open brackets before links": lambda n: "[" * (n // 2) + "](http://" * (n // 20),
    "a long link": lambda n: f"[{'[]' * (n // 5)}](http://{'[]' * (n // 5)}x)",
    "white space before a tag": lambda n: "x" + " " * n + "</a>",
    "openings before a tag": lambda n: "<b>" * (n // 3) + "</a></invoke>",
    "many keys": lambda n: {f"<arg_key>{i}</arg_key>": "</invoke>" for i in range(n // 20)},
    "many colliding keys": lambda n: {"<arg_key>" * i + "a": i for i in range(int((n / 5) ** 0.5))},
    "many items": lambda n: ["[a](http://b)"] * (n // 12),
    "a deep array": lambda n: nested(n // 10),
    "deep array text": lambda n: '["' + "[" * n,
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_values_of_a_megabyte_take_linear_time(hostile: str) -> None:
    value = HOSTILE[hostile](1_000_000)
    for name, action in [*READY.items(), *OTHERS]:
        if name == "structural call" and hostile == "a deep array":
            with pytest.raises(ValueError, match="deep"):
                action.apply(value, Recorder())
            continue
        for item in (value, {"a": value, "b": value}):
            begun = time.process_time()
            apply(action, item)
            assert time.process_time() - begun < 10, name
    while isinstance(value, list) and value and hostile == "a deep array":
        value = value[0]  # taken apart here, since to free it at once would recurse
