"""The engine and the second implementation in `tests/spec/pipeline.py` give the same answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from ..spec.pipeline import Answer, OutOfScope, Pipeline
from .dice import seeded
from .strategies import TOOL, Call, calls
from .test_invariants import exact, run

pytestmark = pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")


def spec_of(call: Call) -> Answer | None:
    """What the pages say, or None where the second implementation does not know."""
    pipeline = Pipeline(call.rules, TOOL, call.schema, call.model, call.context)
    try:
        return pipeline.answer(call.arguments, text=call.text, stop=call.stop)
    except (OutOfScope, RecursionError):  # the latter on a schema that only refers to itself
        return None


def engine_answer(call: Call) -> Answer:
    verdict = run(call)
    changes = {(each.kind, each.path) for each in verdict.changes}
    return Answer(verdict.outcome.value, verdict.arguments, changes, verdict.code)


def comparable(answer: Answer, code: str | None) -> tuple[Any, ...]:
    """`code` "any": the text has several faults, and which of them is told is open."""
    return (
        answer.outcome,
        None if code == "any" else answer.code,
        exact(sorted_keys(answer.arguments)),
        answer.changes,
    )


def sorted_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


def agree(call: Call) -> None:
    wanted = spec_of(call)
    if wanted is None:
        return
    assert comparable(engine_answer(call), wanted.code) == comparable(wanted, wanted.code)


# Kills: closing tags taken past one that the text opens; a required key dropped; text cut inside a string
# that is closed; enum members compared with their case; a default that beats `allow`.


@given(seeded(calls()))
def test_the_engine_says_what_the_pages_say(call: Call) -> None:
    note(repr(call))
    agree(call)


@given(seeded(calls([], open_tools=False)))
def test_the_repairs_that_the_schema_guides_are_those_of_the_page(call: Call) -> None:
    note(repr(call))
    agree(call)


@given(seeded(calls(["alias", "scalar", "structural", "deny", "ask", "allow"])))
def test_permissions_judge_the_final_arguments_and_what_was_sent(call: Call) -> None:
    note(repr(call))
    agree(call)


@given(seeded(calls(["closing-tags", "grammar-tokens", "filesystem-path", "anchor-bleed", "html-entities"])))
def test_what_stage_4_takes_away_is_what_the_page_says(call: Call) -> None:
    note(repr(call))
    agree(call)


STRING, ARRAY = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
EDIT = "tool edit {{ {} }}"
# Where a random call rarely goes: rules of the block, the schema of `a`, the call, the outcome.
RARE: list[tuple[str, Any, Any, str]] = [
    ('alias /a from b; deny "no" when present /b', STRING, {"b": "x"}, "denied"),
    ('alias /a from b; deny "no" when missing /a', STRING, {"b": "x"}, "repaired"),
    ('alias /a from b; ask "sure" when /b == "x"', STRING, {"b": "x"}, "asked"),
    ('alias /a from b; deny "no" unless /a == "x"', STRING, {"b": "x"}, "repaired"),
    ('scalar /a as string; deny "no" when /a == 5', STRING, {"a": 5}, "denied"),
    ("", ARRAY, {"a": "one\ntwo"}, "unrepairable"),
    ("", ARRAY, {"a": "one"}, "repaired"),
    ("", ARRAY, {"a": '["one'}, "unrepairable"),
    ("", ARRAY, {"a": ' ["one"]\n'}, "repaired"),
    ("", ARRAY, {"a": {"item": "one"}}, "repaired"),
    ("", ARRAY, {"a": {}}, "repaired"),
    ("", STRING, {"a": 5}, "repaired"),
    ("", STRING, {"a": 5.5}, "unrepairable"),
    ("", {"type": "integer"}, {"a": "5.7"}, "unrepairable"),
    ("", {"type": "integer"}, {"a": "-5"}, "repaired"),
    ("", {"type": "number"}, {"a": "0.10"}, "unrepairable"),
    ("", {"enum": ["a", "A"]}, {"a": " a"}, "unrepairable"),
    ("", {"enum": ["Fast", "slow"]}, {"a": "FAST "}, "repaired"),
]


@pytest.mark.parametrize(("rules", "schema", "arguments", "outcome"), RARE)
def test_rare_calls_end_as_the_page_says(rules: str, schema: Any, arguments: Any, outcome: str) -> None:
    # Kills: a `deny` that does not look at what the model sent; a list made of text of several lines.
    call = Call(EDIT.format(rules), {"type": "object", "properties": {"a": schema}}, arguments)
    wanted = spec_of(call)
    assert wanted is not None
    assert wanted.outcome == outcome
    agree(call)


UNION: list[tuple[Any, Any, Any]] = [
    # The branches, what was sent, what it becomes; None where it stays unrepairable.
    ([{"type": "integer"}, {"type": "boolean"}], "5", 5),
    ([{"type": "integer"}, {"type": "number"}], "5", None),
    ([{"type": "integer"}, {"type": "boolean"}], "x", None),
    ([{"type": "integer"}, {"type": "null"}], "5", 5),
    ([{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}], "5", 5),
    ([{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}, {"type": "null"}],
     {"n": "5"}, {"n": 5}),
    ([{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
      {"type": "object", "properties": {"n": {"type": "boolean"}}, "required": ["n"]}], {"n": "5"}, {"n": 5}),
    ([{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
      {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}], {"n": "5"}, None),
]  # fmt: skip


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
@pytest.mark.parametrize(("branches", "sent", "becomes"), UNION)
def test_a_repair_in_a_union_makes_exactly_one_branch_pass(
    word: str, branches: Any, sent: Any, becomes: Any
) -> None:
    schema = {"type": "object", "properties": {"a": {word: branches}}, "required": ["a"]}
    verdict = run(Call(EDIT.format(""), schema, {"a": sent}))
    if becomes is None:
        assert verdict.outcome.value == "unrepairable"
    else:
        assert exact(verdict.arguments) == exact({"a": becomes})


BOUNDED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "b": {"type": "boolean"},
        "s": {"type": ["integer", "string"]},
        "items": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "number"}}}},
    },
}
_BOUNDS = [
    "bound /n integer 0..9",
    "bound /n integer -3..100 when /b == true",
    "bound /b boolean",
    "bound /b boolean lowercase",
    "bound /s integer 1..5",
    "bound /items/*/n integer 0..9",
    "bound /items/0/n integer 0..5 for 'kimi'",
    "shadow bound /n integer 0..1",
    'bound /n integer 0..9 unless context.role == "admin"',
    "scalar /n as number",
    "scalar /items/*/n as number",
    "alias /n from count",
    'structural "move" "" { move /items/0/n to /n }',
    "string-or-array /items",
    'deny "never" when /n == 5',
    'ask "sure" when /b == true',
]
_NUMBERS = st.integers(-5, 12) | st.sampled_from(
    ["5", "12", "-0", "07", " 7", "7.0", "true", "True", True, None, 5.0]
)


# Kills: a bound on what another cast made, a bound that a condition of unknown truth lifts, a clamp.
@given(
    st.lists(st.sampled_from(_BOUNDS), min_size=1, max_size=4, unique=True),
    st.fixed_dictionaries(
        {},
        optional={
            "n": _NUMBERS,
            "b": _NUMBERS,
            "s": _NUMBERS,
            "count": _NUMBERS,
            "items": st.lists(st.fixed_dictionaries({}, optional={"n": _NUMBERS}), max_size=3)
            | st.just('[{"n": "5"}]')
            | st.just('[{"n": 50}]'),
        },
    ),
    st.sampled_from([None, BOUNDED]),
    st.sampled_from(["kimi-k2", "glm", None]),
    st.sampled_from([None, {"role": "admin"}, {"role": "x"}]),
)
def test_bounds_admit_what_the_page_says(
    rules: list[str], sent: Any, schema: Any, model: str | None, context: Any
) -> None:
    text = "tool edit {\n  " + "\n  ".join(rules) + "\n}\n"
    agree(Call(text, schema, sent, model=model, context=context))
