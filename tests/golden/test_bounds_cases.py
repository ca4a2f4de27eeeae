"""The cases of `tests/cases/bounds.jsonl`: one primitive, and what the admission kernel makes of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate.engine.admission import (
    Adapter,
    Admission,
    AdmissionKernel,
    Attempt,
    BoundError,
    Candidate,
    CandidateError,
    PrimitiveSchema,
    PrimitiveTypistPolicy,
    Proposal,
)

CASES = Path(__file__).parents[1] / "cases" / "bounds.jsonl"
LINES = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
# What the names of policies in the cases stand for.
TYPES = {"str": str, "int": int, "float": float}


def value_of(written: Any) -> Any:
    """The Python value that a case writes with its type."""
    if not isinstance(written, dict):
        return written
    kind, plain = written["t"], written.get("v")
    if kind == "repeat":
        text = written.get("prefix", "") + written["unit"] * written["n"] + written.get("suffix", "")
        return digits(text) if written.get("as") == "int" else text
    if kind == "pow10":
        return written.get("sign", 1) * 10 ** written["e"]
    if kind == "subclass":
        return type("Hostile", (TYPES[written["of"]],), {})(plain)
    if kind == "int":
        return digits(plain)
    if kind == "float":
        return float(plain)
    if kind == "bytes":
        return plain.encode()
    return {"bool": plain, "none": None, "str": plain, "list": plain, "dict": plain, "tuple": plain}[kind]


def digits(text: str) -> int:
    """An integer whose text may be longer than the process lets `int` read."""
    number = 0
    for digit in text.lstrip("-"):
        number = number * 10 + int(digit)
    return -number if text.startswith("-") else number


class AlwaysDeny:
    owns = frozenset({"argument"})

    def propose(self, attempt: Attempt) -> Proposal:
        return Proposal.deny("always")


class RepairTo8(AlwaysDeny):
    def propose(self, attempt: Attempt) -> Proposal:
        return Proposal.repair(attempt.candidate.put("argument", 8))


class DenyInt7(AlwaysDeny):
    def propose(self, attempt: Attempt) -> Proposal:
        value = attempt.candidate.get("argument")
        return Proposal.deny("seven") if type(value) is int and value == 7 else Proposal.abstain()


class RepairsUnownedField(AlwaysDeny):
    owns = frozenset()

    def propose(self, attempt: Attempt) -> Proposal:
        return Proposal.repair(attempt.candidate.put("argument", 7))


POLICIES = {
    "typist": PrimitiveTypistPolicy,
    "typist_copy": PrimitiveTypistPolicy,
    "always_deny": AlwaysDeny,
    "repair_to_8": RepairTo8,
    "deny_int_7": DenyInt7,
    "repairs_unowned_field": RepairsUnownedField,
}


@contextmanager
def digit_limit(limit: int | None) -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    try:
        if limit is not None:
            sys.set_int_max_str_digits(limit)
        yield
    finally:
        sys.set_int_max_str_digits(before)


def candidate_of(written: dict[str, Any]) -> Candidate:
    return Candidate.create({name: value_of(value) for name, value in written.items()})


def schema_of(written: dict[str, Any] | None) -> PrimitiveSchema | None:
    if written is None:
        return None
    return PrimitiveSchema.create(**{name: value_of(value) for name, value in written.items()})


def exact(candidate: Candidate) -> list[tuple[str, type, Any]]:
    return [(name, type(value), value) for name, value in candidate.fields]


@pytest.mark.parametrize("case", [pytest.param(each, id=each["id"]) for each in LINES if "op" not in each])
def test_a_case_comes_out_as_it_says(case: dict[str, Any]) -> None:
    expect = case["expect"]
    outcome = expect["outcome"]
    with digit_limit(case.get("env", {}).get("int_max_str_digits")):
        if outcome == "schema_error":
            with pytest.raises(BoundError) as failed:
                schema_of(case["schema"])
            assert failed.value.reason == expect["reason"]
            return
        schema = schema_of(case["schema"])
        if outcome == "reject_candidate":
            with pytest.raises(CandidateError) as refused:
                candidate_of(case["candidate"])
            assert refused.value.reason == expect["reason"]
            return
        candidate = candidate_of(case["candidate"])
        adapter = Adapter(**case["adapter"]) if "adapter" in case else Adapter()
        attempt = Attempt(candidate, schema, case["phase"], case["event"], "t", adapter)
        policies = [POLICIES[name]() for name in case.get("policies", ["typist"])]
        decision = AdmissionKernel(policies).evaluate(attempt)
    wanted = {"repair": "replace"}.get(outcome, outcome)
    assert decision.outcome.value == wanted, decision.reason
    if "reason" in expect:
        assert decision.reason == expect["reason"]
    enacted = expect.get("successor", expect.get("enacted"))
    if enacted is not None:
        assert exact(decision.enacted) == exact(candidate_of(enacted))
    elif wanted != "replace":
        assert decision.enacted is candidate
    if expect.get("fixed_point"):
        again = AdmissionKernel(policies).evaluate(Attempt(decision.enacted, schema))
        assert again.outcome is Admission.ACCEPT
    if "available" in expect:
        assert (type(decision.available), decision.available) == (
            type(value_of(expect["available"])),
            value_of(expect["available"]),
        )
    for name in ("retry", "replacement", "evaluations", "enforced"):
        if name in expect:
            assert getattr(decision, name) == expect[name], name
    if expect.get("parent_digest_differs"):
        assert decision.successor_digest not in (None, decision.digest)


@pytest.mark.parametrize("case", [pytest.param(each, id=each["id"]) for each in LINES if "op" in each])
def test_a_digest_is_as_a_case_says(case: dict[str, Any]) -> None:
    one = Attempt(candidate_of(case["a"])).digest()
    if case["op"] == "digest_differs":
        assert one != Attempt(candidate_of(case["b"])).digest()
    elif case["op"] == "digest_equal":
        assert one == Attempt(candidate_of(case["b"])).digest()
    else:
        assert case["op"] == "digest_stable"
        assert one == Attempt(candidate_of(case["a"])).digest()


def test_the_cases_are_all_there() -> None:
    assert len({case["id"] for case in LINES}) == len(LINES) >= 96
