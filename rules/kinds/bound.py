"""bound: admit one primitive, inside its bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from ...grammar.ast import Range
from ..kind import Example, Finding, Kind, Phase, Place, Selecting, Spec, takes_none
from ..primitive import PrimitiveSchema

_WANTED: Final = {
    "integer": frozenset({"integer", "number"}),
    "boolean": frozenset({"boolean"}),
}


class Bound(Kind):
    """Admit an integer inside `LOW..HIGH`, both ends included, or a boolean; refuse everything else.

    It owns two casts and no more: canonical decimal text inside the bounds becomes the integer, and with
    `lowercase` exactly `true` or `false` becomes the boolean. Nothing is trimmed, rounded or clamped.
    It takes effect where its condition is true or unknown.

    Not for a place whose schema does not take the type. A refusal denies the call; it names the place, the
    class of the value and the bound, and never the value. `scalar` rules and repairs leave a bounded place
    alone. The bound also tightens what `tool_schemas` gives to the model.
    """

    keyword = "bound"
    phase = Phase.BOUND
    selecting = Selecting.ONE
    clauses: ClassVar = {
        "integer": {"meta": {"reads": "range"}},
        "boolean": {"type": "boolean"},
        "lowercase": {"type": "boolean"},
    }
    note = "The value is not admitted. Send it in its own type and inside its bounds."
    cost = "one comparison"
    examples = (
        Example("bound /n integer 0..100", {"n": 7}, why="inside"),
        Example("bound /n integer 0..100", {"n": "7"}, {"n": 7}),
        Example("bound /b boolean lowercase", {"b": "true"}, {"b": True}),
        Example("bound /n integer 0..100", {}, why="nothing is there"),
    )

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        named = [name for name in _WANTED if name in spec.clauses]
        if len(named) != 1:
            yield Finding(
                "G224", "`bound` admits an integer or a boolean", "write `integer LOW..HIGH` or `boolean`"
            )
            return
        if "lowercase" in spec.clauses and named == ["integer"]:
            yield Finding("G224", "`lowercase` is for `boolean`", "leave it out")
        limits = spec.clauses.get("integer")
        if isinstance(limits, Range):
            if not (isinstance(limits.low, int) and isinstance(limits.high, int)):
                yield Finding(
                    "G224", "the bounds of an integer are integers", "write `integer 0..100`", limits.span
                )
            elif limits.low > limits.high:
                yield Finding("G224", "the lower bound is above the upper one", "swap them", limits.span)
        if takes_none(place, *_WANTED[named[0]]):
            yield Finding("G226", f"the schema takes no {named[0]} here", "bound a type that it takes")

    @classmethod
    def primitive(cls, spec: Spec) -> PrimitiveSchema | None:
        limits = spec.clauses.get("integer")
        if isinstance(limits, Range):
            if type(limits.low) is not int or type(limits.high) is not int or limits.low > limits.high:
                return None
            return PrimitiveSchema.create(
                schema_id="bound", version="1", expected="integer", minimum=limits.low, maximum=limits.high
            )
        lowercase = bool(spec.clauses.get("lowercase"))
        return PrimitiveSchema.create(schema_id="bound", version="1", expected="boolean", lowercase=lowercase)


KIND = Bound
