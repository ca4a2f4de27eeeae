"""bound: admit one primitive, inside its bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from ...grammar.ast import Range
from ..kind import Finding, Kind, Phase, Place, Selecting, Spec, takes_none

_WANTED: Final = {
    "integer": frozenset({"integer", "number"}),
    "boolean": frozenset({"boolean"}),
}


class Bound(Kind):
    """Admit an integer inside `LOW..HIGH`, both ends included, or a boolean; refuse everything else.

    It owns two casts and no more: canonical decimal text inside the bounds becomes the integer, and with
    `lowercase` exactly `true` or `false` becomes the boolean. Nothing is trimmed, rounded or clamped.
    It takes effect where its condition is true or unknown.

    Not for a place whose schema does not take the type. In this version the rule is read and checked, and
    has no effect yet.
    """

    keyword = "bound"
    phase = Phase.BOUND
    selecting = Selecting.ONE
    in_force = False
    clauses: ClassVar = {
        "integer": {"meta": {"reads": "range"}},
        "boolean": {"type": "boolean"},
        "lowercase": {"type": "boolean"},
    }
    note = "The value is not admitted. Send it in its own type and inside its bounds."
    cost = "one comparison"

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


KIND = Bound
