"""Stage 5: the `bound` rules of a tool, each an admission of one primitive (`docs/bounds.md`)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..grammar.ast import Json, Segment
from ..rules.kind import Action, Log
from ..rules.primitive import PrimitiveKind, PrimitiveSchema
from .admission import (
    FIELD,
    Adapter,
    Admission,
    AdmissionKernel,
    Attempt,
    Candidate,
    Policy,
    PrimitiveTypistPolicy,
)
from .selector import Path, pointer

_ADAPTER = Adapter()
_CLASSES = {
    bool: "a boolean",
    int: "an integer",
    float: "a number with a fraction or an exponent",
    str: "text",
}


class NotAdmitted(Exception):
    """A bound refuses the value at a place. `reason` names its class, not the value."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class OutOfBounds(Exception):
    """The call is denied by a `bound` rule."""

    def __init__(self, rule: str, reason: str, note: str | None) -> None:
        super().__init__(reason)
        self.rule = rule
        self.reason = reason
        self.note = note


class Admit(Struct, frozen=True):
    """The admission at the places of one rule."""

    schema: PrimitiveSchema
    kernel: AdmissionKernel
    target: str

    def __call__(self, value: Json, _log: Log) -> Json:
        """The value, or what a repair makes of it.

        Raises:
            NotAdmitted: neither.
        """
        if isinstance(value, dict | list):
            raise NotAdmitted(self._reason(value))
        candidate = Candidate(((FIELD, value),))
        decision = self.kernel.evaluate(
            Attempt(candidate, self.schema, "pre", "tool.call", self.target, _ADAPTER)
        )
        if decision.outcome is Admission.DENY:
            raise NotAdmitted(self._reason(value))
        return decision.enacted.fields[0][1] if decision.outcome is Admission.REPLACE else value

    def _reason(self, value: Json) -> str:
        if isinstance(value, dict | list):
            sent = "an object" if isinstance(value, dict) else "an array"
        else:
            sent = "null" if value is None else _CLASSES[type(value)]
        if type(value) is int and self.schema.expected is PrimitiveKind.INTEGER:
            sent = "another integer"
        elif type(value) is str:
            sent = "text that is none"
        return f"{self.schema.wanted} is wanted, and {sent} was sent"


def admission(schema: PrimitiveSchema, target: str, policies: Sequence[Policy]) -> Action:
    """The action of a `bound` rule. `policies`: the host's, which are asked at every bounded place."""
    admit = Admit(schema, AdmissionKernel([PrimitiveTypistPolicy(), *policies]), target)
    if policies:
        return Action(admit)
    if schema.expected is PrimitiveKind.BOOLEAN:
        return Action(admit, "type(v) is not bool")
    names = {"low": schema.minimum, "high": schema.maximum}
    return Action(admit, "type(v) is not int or not $low <= v <= $high", names)


def denial(path: Path, wanted: str) -> str:
    """What a denial says: the place, the class of the value, and the bound."""
    return f"at `{pointer(path) or 'the root'}` {wanted}"


def overlap(one: tuple[Segment, ...], other: tuple[Segment, ...]) -> bool:
    """May two selectors reach the same place?"""
    return len(one) == len(other) and all(
        left == right or not (isinstance(left, str) and isinstance(right, str))
        for left, right in zip(one, other, strict=True)
    )
