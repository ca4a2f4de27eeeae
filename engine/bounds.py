"""Stage 5: the `bound` rules of a tool, each an admission of one primitive (`docs/bounds.md`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from ..grammar.ast import Json, Segment
from ..rules.kind import Action, Log
from ..rules.primitive import Answer, PrimitiveKind, PrimitiveSchema, admit
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
from .domain import NotAdmitted

_ADAPTER = Adapter()
_WORD = re.compile(r"[a-z0-9_-]{1,64}")  # the reason of a policy; anything else might hold a value
_CLASSES = {
    bool: "a boolean",
    int: "an integer",
    float: "a number with a fraction or an exponent",
    str: "other text",
}


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
            # What the bound itself takes was refused by a policy of the host.
            theirs = admit(self.schema, value)[0] is not Answer.DENY
            raise NotAdmitted(_theirs(decision.reason) if theirs else self._reason(value))
        return decision.enacted.fields[0][1] if decision.outcome is Admission.REPLACE else value

    def _reason(self, value: Json) -> str:
        if isinstance(value, dict | list):
            sent = "an object" if isinstance(value, dict) else "an array"
        else:
            sent = "null" if value is None else _CLASSES[type(value)]
        if type(value) is int and self.schema.expected is PrimitiveKind.INTEGER:
            sent = "another integer"
        return f"{self.schema.wanted} is wanted, and {sent} was sent"


def _theirs(reason: str) -> str:
    word = f" (`{reason}`)" if _WORD.fullmatch(reason) else ""
    return f"the value was refused by a policy of the host{word}"


def admission(schema: PrimitiveSchema, target: str, policies: Sequence[Policy]) -> Action:
    """The action of a `bound` rule. `policies`: the host's, which are asked at every bounded place."""
    admit = Admit(schema, AdmissionKernel([PrimitiveTypistPolicy(), *policies]), target)
    if policies:
        return Action(admit)
    if schema.expected is PrimitiveKind.BOOLEAN:
        return Action(admit, "type(v) is not bool")
    names = {"low": schema.minimum, "high": schema.maximum}
    return Action(admit, "type(v) is not int or not $low <= v <= $high", names)


def overlap(one: tuple[Segment, ...], other: tuple[Segment, ...]) -> bool:
    """May two selectors reach the same place?"""
    return len(one) == len(other) and all(
        left == right or not (isinstance(left, str) and isinstance(right, str))
        for left, right in zip(one, other, strict=True)
    )
