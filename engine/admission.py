"""One primitive is admitted, repaired or denied, by policies that can be listed and audited.

A candidate is shown to every policy; any denial wins, repairs must agree, and a repair is shown to all
of them again before it counts. Values have exact built-in types: a subclass is refused before anything
of its own can run. Source: `docs/bounds.md`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..rules.primitive import Answer, BoundError, PrimitiveKind, PrimitiveSchema, admit
from .errors import CallgateError

__all__ = [
    "Adapter", "Admission", "AdmissionKernel", "Attempt", "BoundError", "Candidate", "CandidateError",
    "Decision", "Policy", "PrimitiveKind", "PrimitiveSchema", "PrimitiveTypistPolicy", "Proposal", "Verb",
]  # fmt: skip

Primitive: TypeAlias = str | int | float | bool | None
FIELD = "argument"  # what a primitive schema governs
_CALL = ("pre", "tool.call")
_FAILURE = ("post", "tool.failure")


class CandidateError(CallgateError):
    """A candidate or an attempt with something of another type. `reason` is a stable word."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Candidate(Struct, frozen=True):
    """Field names with their values, in order. Make it with `create`, which refuses inexact types."""

    fields: tuple[tuple[str, Primitive], ...] = ()

    @classmethod
    def create(cls, values: Mapping[str, Primitive]) -> Candidate:
        """A candidate of the fields of an exact `dict`.

        Raises:
            CandidateError: another mapping, a name that is no exact `str`, a value of another type.
        """
        if type(values) is not dict:
            raise CandidateError("candidate_type", "a candidate is made from a dict")
        candidate = cls(tuple(values.items()))
        candidate.check()
        return candidate

    def check(self) -> None:
        """Refuse what was not made by `create`; no method of a value runs.

        Raises:
            CandidateError: a type that is not exact.
        """
        if type(self.fields) is not tuple:
            raise CandidateError("candidate_type", "the fields of a candidate are a tuple")
        names: set[str] = set()
        for pair in self.fields:
            if type(pair) is not tuple or len(pair) != 2:
                raise CandidateError("candidate_type", "a field is a name and a value")
            if type(pair[0]) is not str:
                raise CandidateError("field_name", "a field's name is exactly text")
            if pair[0] in names:
                raise CandidateError("field_name", "a field stands once")
            names.add(pair[0])
            if not _is_exact(pair[1]):
                raise CandidateError(
                    "value_type", "a value is exactly text, an integer, a float, a boolean or none"
                )

    def get(self, name: str) -> Primitive | _Missing:
        """The value of a field, or `MISSING`."""
        for field, value in self.fields:
            if field == name:
                return value
        return MISSING

    def put(self, name: str, value: Primitive) -> Candidate:
        """A whole candidate with one value replaced."""
        return Candidate(tuple((field, value if field == name else old) for field, old in self.fields))

    @property
    def values(self) -> tuple[Primitive, ...]:
        """The values, in order."""
        return tuple(value for _, value in self.fields)

    def as_dict(self) -> dict[str, Primitive]:
        return dict(self.fields)


class _Missing:
    """No such field."""

    __slots__ = ()


MISSING = _Missing()


class Adapter(Struct, frozen=True):
    """What the host around a tool can do."""

    deny: bool = True
    replace: bool = True
    retry: bool = False


class Attempt(Struct, frozen=True):
    """A candidate on its way. `phase`: `pre` or `post`. `event`: `tool.call`, `tool.failure` or another."""

    candidate: Candidate
    schema: PrimitiveSchema | None = None
    phase: str = "pre"
    event: str = "tool.call"
    target: str = ""
    adapter: Adapter = Adapter()

    def check(self) -> None:
        """Refuse an attempt with anything of another type, before a policy or a digest sees it.

        Raises:
            CandidateError: what is wrong.
        """
        if type(self.candidate) is not Candidate:
            raise CandidateError("candidate_type", "an attempt has a candidate")
        self.candidate.check()
        if self.schema is not None:
            if type(self.schema) is not PrimitiveSchema:
                raise CandidateError("schema_type", "the schema of an attempt is a primitive schema")
            _check_schema(self.schema)
        if any(type(text) is not str for text in (self.phase, self.event, self.target)):
            raise CandidateError("attempt_type", "phase, event and target are exactly text")
        if type(self.adapter) is not Adapter:
            raise CandidateError("attempt_type", "what the adapter can do is an `Adapter`")
        if any(
            type(each) is not bool for each in (self.adapter.deny, self.adapter.replace, self.adapter.retry)
        ):
            raise CandidateError("attempt_type", "what an adapter can do is true or false")

    def copy(self) -> Attempt:
        """The same attempt in objects of its own, for a policy that may change what it is given."""
        schema, adapter = self.schema, self.adapter
        if schema is not None:
            schema = PrimitiveSchema(*(getattr(schema, name) for name in schema.__struct_fields__))
        own = Adapter(adapter.deny, adapter.replace, adapter.retry)
        return Attempt(Candidate(self.candidate.fields), schema, self.phase, self.event, self.target, own)

    def digest(self) -> str:
        """32 hexadecimal digits that tell `1`, `true`, `1.0` and `"1"` apart; equal in every process.

        Raises:
            CandidateError: something is of another type.
        """
        from hashlib import blake2b  # what never digests need not load it

        self.check()
        digest = blake2b(digest_size=16)
        parts: list[Primitive] = [self.phase, self.event, self.target]
        parts += (None, None) if self.schema is None else (self.schema.schema_id, self.schema.version)
        for field, value in self.candidate.fields:
            parts += (field, value)
        for part in parts:
            tag, data = _bytes(part)
            digest.update(tag + len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()


def _check_schema(schema: PrimitiveSchema) -> None:
    if type(schema.expected) is not PrimitiveKind:
        raise CandidateError("expected", "`expected` is a `PrimitiveKind`")
    try:
        PrimitiveSchema.create(
            schema_id=schema.schema_id,
            version=schema.version,
            expected=schema.expected,
            minimum=schema.minimum,
            maximum=schema.maximum,
            lowercase=schema.lowercase,
        )
    except BoundError as error:
        raise CandidateError(error.reason, str(error)) from None


def _is_exact(value: object) -> bool:
    kind = type(value)
    return kind is str or kind is int or kind is float or kind is bool or value is None


def _bytes(value: Primitive) -> tuple[bytes, bytes]:
    """A tag for the type, and the value; no integer is printed, and every NaN is one."""
    if value is None:
        return b"n", b""
    if type(value) is str:
        return b"s", value.encode("utf-8", "surrogatepass")
    if type(value) is bool:
        return b"b", b"1" if value else b"0"
    if type(value) is int:
        return b"i", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
    assert type(value) is float
    return b"f", b"nan" if value != value else struct.pack(">d", value)


class Verb(StrEnum):
    """What a policy proposes."""

    ACCEPT = "accept"
    REPAIR = "repair"
    DENY = "deny"
    OBSERVE = "observe"
    ABSTAIN = "abstain"


class Proposal(Struct, frozen=True):
    """What one policy says. `reason` is a stable word; `successor` the whole candidate of a repair;
    `available` what an observation would have made of the value. An observation never asks for a retry."""

    verb: Verb
    reason: str = ""
    successor: Candidate | None = None
    available: Primitive = None

    @classmethod
    def accept(cls, reason: str = "") -> Proposal:
        return cls(Verb.ACCEPT, reason)

    @classmethod
    def repair(cls, successor: Candidate, reason: str = "") -> Proposal:
        return cls(Verb.REPAIR, reason, successor)

    @classmethod
    def deny(cls, reason: str) -> Proposal:
        return cls(Verb.DENY, reason)

    @classmethod
    def observe(cls, available: Primitive, reason: str = "") -> Proposal:
        return cls(Verb.OBSERVE, reason, None, available)

    @classmethod
    def abstain(cls, reason: str = "") -> Proposal:
        return cls(Verb.ABSTAIN, reason)


class Policy(Protocol):
    """What a host adds to a kernel. `owns` are the fields that it may repair, a frozenset of text.

    Each is given objects of its own. One that raises an `Exception` denies; what ends a process does.
    """

    @property
    def owns(self) -> frozenset[str]: ...

    def propose(self, attempt: Attempt) -> Proposal: ...


class PrimitiveTypistPolicy(Struct, frozen=True):
    """Exact values pass, two canonical spellings are repaired, all else is denied (`rules/primitive.py`)."""

    owns: frozenset[str] = frozenset({FIELD})

    def propose(self, attempt: Attempt) -> Proposal:
        schema, lifecycle = attempt.schema, (attempt.phase, attempt.event)
        if schema is None:
            return Proposal.abstain("no_schema")
        if lifecycle not in (_CALL, _FAILURE):
            return Proposal.abstain("lifecycle")
        value = attempt.candidate.get(FIELD)
        if isinstance(value, _Missing):
            return Proposal.abstain("field")
        answer, reason, repaired = admit(schema, value)
        if lifecycle == _FAILURE:
            # The call ran and failed; nothing is sent again on its behalf.
            return Proposal.observe(repaired, reason) if answer is Answer.REPAIR else Proposal.abstain(reason)
        if answer is Answer.REPAIR:
            return Proposal.repair(attempt.candidate.put(FIELD, repaired), reason)
        return Proposal.accept(reason) if answer is Answer.ACCEPT else Proposal.deny(reason)


class Admission(StrEnum):
    """What a kernel decided."""

    ACCEPT = "accept"
    REPLACE = "replace"
    DENY = "deny"
    OBSERVE = "observe"
    ABSTAIN = "abstain"


class Decision(Struct, frozen=True):
    """What becomes of an attempt.

    `enacted` is what may run: the successor's candidate on `replace`, else the candidate as it came.
    `evaluations` counts how often all policies were asked. `enforced`: could the adapter do what was
    decided? `available` and `retry` belong to an observation; nothing is ever to be sent again.
    """

    outcome: Admission
    enacted: Candidate
    attempt: Attempt
    reason: str = ""
    successor: Attempt | None = None
    evaluations: int = 1
    enforced: bool = True
    available: Primitive = None
    replacement: None = None
    retry: str = "never"

    @property
    def digest(self) -> str:
        """The digest of the attempt."""
        return self.attempt.digest()

    @property
    def successor_digest(self) -> str | None:
        """The digest of the attempt that replaces it."""
        return None if self.successor is None else self.successor.digest()


class _Combined(Struct, frozen=True):
    verb: Verb
    reason: str = ""
    successor: Candidate | None = None
    available: Primitive = None


class AdmissionKernel:
    """A list of policies. It has no state, so one serves every thread; an empty one has no opinion."""

    __slots__ = ("_policies",)

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = tuple(policies)

    def evaluate(self, attempt: Attempt) -> Decision:
        """Show an attempt to every policy, and a repair of theirs to all of them again.

        Raises:
            CandidateError: the attempt holds something of another type; no policy saw it.
        """
        if type(attempt) is not Attempt:
            raise CandidateError("attempt_type", "an attempt is exactly an `Attempt`")
        attempt.check()
        found = self._ask(attempt)
        if (attempt.phase, attempt.event) == _FAILURE and found.verb is not Verb.OBSERVE:
            # The call ran: nothing can be replaced or denied any more.
            return Decision(Admission.ABSTAIN, attempt.candidate, attempt, found.reason)
        if found.verb is Verb.REPAIR:
            return self._repair(attempt, found)
        if found.verb is Verb.DENY:
            return _denied(attempt, found.reason, 1)
        outcome = Admission(found.verb.value)
        return Decision(outcome, attempt.candidate, attempt, found.reason, available=found.available)

    def _repair(self, attempt: Attempt, found: _Combined) -> Decision:
        adapter = attempt.adapter
        if not adapter.replace:
            if adapter.deny:
                return _denied(attempt, "repair_unavailable", 1)
            return Decision(
                Admission.OBSERVE, attempt.candidate, attempt, "repair_unavailable", enforced=False
            )
        assert found.successor is not None
        successor = replace(attempt, candidate=found.successor)
        again = self._ask(successor)
        if again.verb is Verb.DENY:
            return _denied(attempt, again.reason, 2)
        if again.verb is Verb.REPAIR:
            return _denied(attempt, "not_fixed_point", 2)
        return Decision(
            Admission.REPLACE, successor.candidate, attempt, found.reason, successor, evaluations=2
        )

    def _ask(self, attempt: Attempt) -> _Combined:
        """Every policy's word, as one: a denial, else one repair, else accept, observe, abstain."""
        proposals = [self._propose(policy, attempt) for policy in self._policies]
        order: tuple[Verb, ...] = (Verb.DENY, Verb.REPAIR, Verb.ACCEPT, Verb.OBSERVE)
        if (attempt.phase, attempt.event) == _FAILURE:
            order = (Verb.OBSERVE,)
        for verb in order:
            said = [each for each in proposals if each.verb is verb]
            if not said:
                continue
            if verb is Verb.REPAIR:
                wanted = {tuple(map(_bytes, each.successor.values)) for each in said if each.successor}
                if len(wanted) != 1:
                    return _Combined(Verb.DENY, "conflicting_repairs")
            return _Combined(verb, said[0].reason, said[0].successor, said[0].available)
        return _Combined(Verb.ABSTAIN, proposals[0].reason if len(proposals) == 1 else "")

    def _propose(self, policy: Policy, attempt: Attempt) -> Proposal:
        """One policy's word. What raises, or says something that is none, denies."""
        try:
            proposal = policy.propose(attempt.copy())
            if (
                type(proposal) is not Proposal
                or type(proposal.verb) is not Verb
                or type(proposal.reason) is not str
            ):
                return Proposal.deny("evaluator_failure")
            if not _is_exact(proposal.available):
                return Proposal.deny("evaluator_failure")
            if proposal.verb is Verb.REPAIR:
                owns = policy.owns
                if type(owns) is not frozenset or any(type(name) is not str for name in owns):
                    return Proposal.deny("evaluator_failure")
                fault = _successor_fault(attempt, proposal.successor, owns)
                if fault or proposal.successor is None:
                    return Proposal.deny(fault)
                return Proposal.repair(Candidate(proposal.successor.fields), proposal.reason)
        except Exception:  # a host's policy may raise anything
            return Proposal.deny("evaluator_failure")
        return proposal


def _successor_fault(attempt: Attempt, successor: Candidate | None, owns: frozenset[str]) -> str:
    """Why a successor cannot be used, or "": it is whole, and only fields that the policy owns changed."""
    if type(successor) is not Candidate:
        return "evaluator_failure"
    successor.check()
    before, after = attempt.candidate.fields, successor.fields
    if [name for name, _ in before] != [name for name, _ in after]:
        return "field_ownership"
    changed = [
        name for (name, old), (_, new) in zip(before, after, strict=True) if _bytes(old) != _bytes(new)
    ]
    if not changed:
        return "no_change"
    return "" if all(name in owns for name in changed) else "field_ownership"


def _denied(attempt: Attempt, reason: str, evaluations: int) -> Decision:
    """A denial; an adapter that cannot deny claims nothing."""
    outcome = Admission.DENY if attempt.adapter.deny else Admission.OBSERVE
    return Decision(
        outcome, attempt.candidate, attempt, reason, evaluations=evaluations, enforced=attempt.adapter.deny
    )
