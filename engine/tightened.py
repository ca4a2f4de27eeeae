"""A tool's schema with what its bounds say, for the model to see."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ..grammar.ast import STAR, Json, Segment
from ..rules.primitive import PrimitiveKind, PrimitiveSchema
from .bounds import Admit
from .plan import Plan
from .selector import array_index

_INDEX = 64  # a larger index is not written out


def tightened(document: Json, plan: Plan) -> Json:
    """A copy of a schema with the bounds that hold for every call: in force, without a condition.

    A bound goes into the property itself where plain `properties` and `items` lead to it, else into an
    `allOf` beside what is there.
    """
    schema: Any = deepcopy(document) if isinstance(document, dict) else {"type": "object"}
    if document is False:
        return False
    for step in plan.bounds:
        admit = step.action.apply
        if step.quiet or step.condition is not None or not isinstance(admit, Admit):
            continue
        spot = _spot(schema, step.segments)
        if spot is not None and _fits(spot, admit.schema):
            _tighten(spot, admit.schema)
        else:
            beside = _nested(step.segments, _tighten({}, admit.schema))
            schema["allOf"] = [*schema.get("allOf", []), beside]
    return schema  # type: ignore[no-any-return]


def _spot(schema: Any, segments: tuple[Segment, ...]) -> Any:
    """The subschema that plain keywords lead to, or None."""
    for segment in segments:
        if not isinstance(schema, dict) or "$ref" in schema:
            return None
        if segment is STAR:
            schema = schema.get("items") if "prefixItems" not in schema else None
        else:
            properties = schema.get("properties")
            schema = properties.get(segment) if isinstance(properties, dict) else None
    return schema if isinstance(schema, dict) and "$ref" not in schema else None


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
        if index is not None and index < _INDEX:  # on an array it is an index, on an object a key
            outer["prefixItems"] = [*[True] * index, inner]
        inner = outer
    return inner
