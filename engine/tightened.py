"""A tool's schema with what its bounds say, for the model to see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..grammar.ast import STAR, Json, Segment
from ..rules.primitive import PrimitiveKind, PrimitiveSchema
from .bounds import Admit
from .plan import Plan
from .selector import array_index

_INDEX = 64  # a larger index is not written out
# With one of these what stands at a place says something elsewhere too, or beside something else.
_ELSEWHERE = frozenset({"$ref", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"})


def tightened(plan: Plan) -> Json:
    """A copy of the tool's schema with the bounds that hold for every call: in force, without a condition.

    A bound goes into the property itself where plain `properties` and `items` lead to it, else into an
    `allOf` beside what is there. Where neither says the same as the bound alone, it is left out.
    """
    document: Any = plan.schema.document if plan.schema is not None else {"type": "object"}
    schema = _own(document)
    if not isinstance(schema, dict):
        return schema
    words = set(_keywords(schema))
    for step in plan.bounds:
        bound = step.action.apply
        if step.quiet or step.condition is not None or not isinstance(bound, Admit):
            continue
        spot = None if words & _ELSEWHERE else _spot(schema, step.segments)
        if spot is not None and _fits(spot, bound.schema):
            _tighten(spot, bound.schema)
        elif _may_stand_beside(schema, words, step.segments):
            said: Any = schema.get("allOf", [])
            schema["allOf"] = [*said, _nested(step.segments, _tighten({}, bound.schema))]
    return schema


def _own(value: Json) -> Json:
    """A copy in which no part is shared. The depth of a schema is bounded."""
    if isinstance(value, dict):
        return {key: _own(item) for key, item in value.items()}
    return [_own(item) for item in value] if isinstance(value, list) else value


def _keywords(schema: Json) -> Iterator[str]:
    """Every key that stands anywhere in a schema, and what its references are."""
    todo = [schema]
    while todo:
        here = todo.pop()
        if isinstance(here, dict):
            for key, item in here.items():
                yield key
                if key == "$ref" and isinstance(item, str) and item.rstrip("/") in ("", "#"):
                    yield "#"  # the whole document inside itself
                todo.append(item)
        elif isinstance(here, list):
            todo += here


def _may_stand_beside(schema: dict[str, Any], words: set[str], segments: tuple[Segment, ...]) -> bool:
    """Does an `allOf` at the root say the same as the bound, and nothing more?"""
    if (
        words & (_ELSEWHERE - {"$ref"})
        or "#" in words
        or "unevaluatedProperties" in words
        or "$ref" in schema
    ):
        return False
    if "unevaluatedItems" in words:
        return False
    old = "draft-07" in str(schema.get("$schema", ""))
    return all(_is_writable(segment, old) for segment in segments)


def _is_writable(segment: Segment, old: bool) -> bool:
    index = array_index(segment) if isinstance(segment, str) else None
    return index is None or (index < _INDEX and not old)


def _spot(schema: Any, segments: tuple[Segment, ...]) -> Any:
    """The subschema that plain keywords lead to, or None."""
    for segment in segments:
        if not isinstance(schema, dict):
            return None
        if segment is STAR:
            schema = schema.get("items") if "prefixItems" not in schema else None
        elif isinstance(segment, str) and array_index(segment) is None:
            properties = schema.get("properties")
            schema = properties.get(segment) if isinstance(properties, dict) else None
        else:
            return None  # on an array it would be an index
    return schema if isinstance(schema, dict) else None


def _fits(spot: dict[str, Any], bound: PrimitiveSchema) -> bool:
    """May the bound be written into the subschema without a change of what else it says?"""
    kind = spot.get("type")
    if bound.expected is PrimitiveKind.BOOLEAN:
        return kind in (None, "boolean")
    numbers = [spot.get(word) for word in ("minimum", "maximum")]
    return kind in (None, "integer", "number") and all(each is None or type(each) is int for each in numbers)


def _tighten(spot: dict[str, Any], bound: PrimitiveSchema) -> dict[str, Any]:
    spot["type"] = bound.expected.value
    if bound.expected is PrimitiveKind.INTEGER:
        low, high = spot.get("minimum"), spot.get("maximum")
        spot["minimum"] = bound.minimum if low is None else max(low, bound.minimum)
        spot["maximum"] = bound.maximum if high is None else min(high, bound.maximum)
    return spot


def _nested(segments: tuple[Segment, ...], inner: dict[str, Any]) -> dict[str, Any]:
    """A schema that says something about the places of a selector alone."""
    for segment in reversed(segments):
        if segment is STAR:
            inner = {"items": inner}
            continue
        outer: dict[str, Any] = {"properties": {segment: inner}}
        index = array_index(segment)
        if index is not None:  # on an array it is an index, on an object a key
            outer["prefixItems"] = [*[True] * index, inner]
        inner = outer
    return inner
