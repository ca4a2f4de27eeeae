"""What is walked by hand finds what the validator finds."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from callgate.engine.native import Misfit, native_faults
from callgate.engine.schema import Schema
from callgate.engine.selector import Path

KEYS = st.sampled_from(["a", "b", "c/d", "e~f", "0", ""])
LEAF = st.sampled_from(
    [
        {},
        True,
        False,
        {"type": "string", "minLength": 2},
        {"type": "integer", "minimum": 0},
        {"type": ["number", "null"]},
        {"enum": ["x", 1]},
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
        {"$ref": "#/$defs/n"},
        {"$ref": "#/$defs/o"},
        {"allOf": [{"$ref": "#/$defs/o"}, {"properties": {"a": {"type": "string"}}}]},
    ]
)

DEFS = {
    "n": {"type": "number"},
    "o": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/o"}, "": {"$ref": "#/$defs/n"}},
        "required": ["b"],
    },
}


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"properties": st.dictionaries(KEYS, inner, max_size=3)},
        optional={
            "type": st.sampled_from(["object", ["object", "null"]]),
            "required": st.lists(KEYS, unique=True, max_size=2),
            "additionalProperties": st.one_of(st.booleans(), inner),
            "minProperties": st.just(2),
        },
    )


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={"minItems": st.just(1), "maxItems": st.just(2), "uniqueItems": st.just(True)},
    )


SCHEMAS = st.recursive(LEAF, lambda inner: objects(inner) | arrays(inner), max_leaves=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 5) | st.sampled_from(["", "x", "long", 1.5]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def shown(fault: Misfit) -> tuple[Path, str]:
    """A fault without the key `` in its path, which the validator leaves out."""
    return tuple(part for part in fault.path if part != ""), fault.keyword


@given(SCHEMAS, VALUES)
def test_the_walk_finds_what_the_validator_finds(part: Any, value: Any) -> None:
    document = {"$defs": DEFS, "type": "object", "properties": {"v": part}}
    schema = Schema(document)
    arguments = {"v": value}
    walked = {shown(each) for each in schema.faults(arguments, 1000)}
    native = {shown(each) for each in native_faults(schema.validator_at(""), arguments, 1000)}
    assert walked == native
    assert bool(walked) is not schema.is_valid(arguments)


def test_the_walk_ends_with_the_issues_that_are_wanted() -> None:
    schema = Schema({"properties": {"v": {"type": "array", "items": {"type": "integer"}}}})
    found = schema.faults({"v": ["x"] * 100_000}, 3)
    assert [each.path for each in found] == [("v", 0), ("v", 1), ("v", 2)]
