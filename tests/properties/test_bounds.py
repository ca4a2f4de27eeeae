"""Bounds: no spelling but the canonical one, no clamp, no method of a value, equal in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import callgate
from callgate import Outcome
from callgate.engine.admission import (
    Admission,
    AdmissionKernel,
    Attempt,
    Candidate,
    CandidateError,
    PrimitiveSchema,
    PrimitiveTypistPolicy,
)

KERNEL = AdmissionKernel([PrimitiveTypistPolicy()])
TEXTS = (
    st.integers(-(10**6), 10**6).map(str)
    | st.from_regex(r"[-+ ]?[0-9]{1,5}[ .e_0-9]{0,3}", fullmatch=True)
    | st.sampled_from(["true", "false", "True", " true", "٧", "７", "-0", "007", "", "\ud800", "0x1", "NaN"])
    | st.text(max_size=6)
)
VALUES = st.integers() | st.booleans() | st.none() | st.floats() | TEXTS
LOW, HIGH = -1000, 1000
BOUNDS = st.tuples(st.integers(LOW, HIGH), st.integers(LOW, HIGH)).map(sorted)


def integer(low: int, high: int) -> PrimitiveSchema:
    return PrimitiveSchema.create(schema_id="s", version="1", expected="integer", minimum=low, maximum=high)


def boolean(lowercase: bool) -> PrimitiveSchema:
    return PrimitiveSchema.create(schema_id="s", version="1", expected="boolean", lowercase=lowercase)


def decide(schema: PrimitiveSchema, value: Any) -> Any:
    return KERNEL.evaluate(Attempt(Candidate.create({"argument": value}), schema))


# Kills: trimming, `int()` on text, a clamp, a bound that is not included, a boolean that counts as integer.
@given(BOUNDS, VALUES)
@example([0, 1], True)
@example([-5, 5], "-0")
@example([0, 9], 9.0)
def test_only_the_canonical_text_inside_is_repaired_and_to_its_own_value(
    bounds: list[int], value: Any
) -> None:
    low, high = bounds
    decision = decide(integer(low, high), value)
    inside = type(value) is int and low <= value <= high
    canonical = type(value) is str and any(value == str(each) for each in near(value, low, high))
    wanted = Admission.ACCEPT if inside else Admission.REPLACE if canonical else Admission.DENY
    assert decision.outcome is wanted
    (enacted,) = decision.enacted.values
    if wanted is Admission.REPLACE:
        assert (type(enacted), str(enacted)) == (int, value)
        again = decide(integer(low, high), enacted)
        assert again.outcome is Admission.ACCEPT
        assert again.enacted.values == (enacted,)
    else:
        assert enacted is value


def near(text: str, low: int, high: int) -> list[int]:
    """The integers inside the bounds that the text may be, found without reading it."""
    return [each for each in range(low, high + 1) if str(each) == text]


@given(st.booleans(), VALUES)
def test_only_two_words_are_booleans_and_only_where_asked_for(lowercase: bool, value: Any) -> None:
    decision = decide(boolean(lowercase), value)
    if type(value) is bool:
        wanted = Admission.ACCEPT
    else:
        listed = type(value) is str and value in ("true", "false")
        wanted = Admission.REPLACE if lowercase and listed else Admission.DENY
    assert decision.outcome is wanted
    if wanted is Admission.REPLACE:
        assert decision.enacted.values[0] is (value == "true")


RULES = """
tool t {
  bound /i integer -1000..1000
  bound /b boolean
  bound /l boolean lowercase
}
"""
ENGINE = callgate.compile(RULES)
FIELDS = {"i": integer(LOW, HIGH), "b": boolean(False), "l": boolean(True)}
SAFE = (
    st.integers(-(2**63), 2**63)
    | st.booleans()
    | st.none()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)


@given(st.sampled_from(sorted(FIELDS)), SAFE.filter(lambda value: value != "\ud800"))
def test_a_rule_and_the_policy_give_the_same_outcome(field: str, value: Any) -> None:
    if type(value) is str and any("\ud800" <= each <= "\udfff" for each in value):
        return
    decision = decide(FIELDS[field], value)
    verdict = ENGINE.check("t", {field: value})
    wanted = {
        Admission.ACCEPT: Outcome.VALID,
        Admission.REPLACE: Outcome.REPAIRED,
        Admission.DENY: Outcome.DENIED,
    }
    assert verdict.outcome is wanted[decision.outcome]
    if verdict.outcome is not Outcome.DENIED:
        (enacted,) = decision.enacted.values
        assert (type(verdict.arguments[field]), verdict.arguments[field]) == (type(enacted), enacted)


@pytest.mark.parametrize("limit", [640, 0])
def test_the_digit_limit_of_the_process_changes_nothing(limit: int) -> None:
    before = sys.get_int_max_str_digits()
    wide = 10**1000
    try:
        sys.set_int_max_str_digits(limit)
        assert decide(integer(0, wide), "9" * 1000).outcome is Admission.REPLACE
        assert decide(integer(0, wide), "9" * 1002).outcome is Admission.DENY
        assert decide(integer(0, 5), wide).outcome is Admission.DENY
        assert decide(integer(0, wide), wide).digest
    finally:
        sys.set_int_max_str_digits(before)


def test_a_text_of_a_million_digits_is_denied_in_constant_time() -> None:
    schema = integer(0, 10)
    attempts = [Attempt(Candidate.create({"argument": "9" * size}), schema) for size in (2_000, 1_000_000)]

    def spent(attempt: Attempt) -> float:
        best = 1.0
        for _ in range(20):
            start = time.process_time()
            for _ in range(100):
                assert KERNEL.evaluate(attempt).outcome is Admission.DENY
            best = min(best, time.process_time() - start)
        return best

    short, long = (spent(attempt) for attempt in attempts)
    assert long < 5 * short + 0.001


RAN: list[str] = []


def hostile(base: type, *given: Any) -> Any:
    """A value of a subclass whose methods all say that they ran."""
    names = [
        "__eq__",
        "__ne__",
        "__hash__",
        "__str__",
        "__repr__",
        "__len__",
        "__bool__",
        "__index__",
        "__int__",
    ]
    names += [
        "__float__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__getattribute__",
        "__iter__",
        "__format__",
    ]
    names += ["encode", "isascii", "isspace", "to_bytes", "bit_length", "__contains__", "__getitem__"]

    def method(name: str) -> Any:
        def run(self: Any, *_: Any, **__: Any) -> Any:
            RAN.append(name)
            raise AssertionError(name)

        return run

    return type("Hostile", (base,), {name: method(name) for name in names})(*given)


@pytest.mark.parametrize(("base", "plain"), [(str, "7"), (int, 7), (float, 7.0)])
def test_no_method_of_a_subclass_ever_runs(base: type, plain: Any) -> None:
    value = hostile(base, plain)
    RAN.clear()
    with pytest.raises(CandidateError, match="exactly"):
        Candidate.create({"argument": value})
    with pytest.raises(CandidateError):
        KERNEL.evaluate(Attempt(Candidate((("argument", value),)), integer(0, 9)))
    with pytest.raises(CandidateError):
        Candidate(((value, "7"),)).check()
    with pytest.raises(CandidateError):
        Attempt(Candidate.create({}), None, value).check()
    with pytest.raises(CandidateError):
        Attempt(value).check()
    with pytest.raises(callgate.InputError):
        ENGINE.check("t", {"i": value})
    assert RAN == []


# Kills: `==` in the digest, an integer that is printed, `hash()`.
@given(VALUES, VALUES)
@example(1, True)
@example(0.0, -0.0)
@example(1, 1.0)
@example("1", 1)
def test_digests_tell_types_and_values_apart(one: Any, other: Any) -> None:
    def digest(value: Any) -> str:
        return Attempt(Candidate.create({"argument": value})).digest()

    assert digest(one) == digest(one)
    same = type(one) is type(other) and repr(one) == repr(other)
    assert (digest(one) == digest(other)) is same


_CHILD = """
import sys
from callgate.engine.admission import Attempt, Candidate, PrimitiveSchema
schema = PrimitiveSchema.create(schema_id="s", version="1", expected="integer", minimum=0, maximum=9)
for value in (1, True, 1.0, "1", None, float("nan"), -0.0, 10**5000, "\\ud800", "é"):
    candidate = Candidate.create({"argument": value, "other": 1})
    print(Attempt(candidate, schema, "pre", "tool.call", "t").digest())
"""


def test_digests_are_equal_in_processes_with_other_hashes() -> None:
    found = []
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", _CHILD]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, env=environment, capture_output=True, cwd=root, check=True)
        found.append(done.stdout)
    assert found[0].count(b"\n") == 10
    assert len(set(found[0].split())) == 10
    assert found[1:] == [found[0], found[0]]


def test_a_denial_survives_json(tmp_path: Path) -> None:
    verdict = ENGINE.check("t", {"i": 10**30})
    assert json.loads(json.dumps(verdict.as_dict()))["outcome"] == "denied"
