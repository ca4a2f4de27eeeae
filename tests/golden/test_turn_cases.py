"""`cases/turns.jsonl`: what a turn's calls ground, and which claims are let out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine import grounding

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "turns.jsonl").read_text("utf-8").splitlines()
]


def by(area: str) -> Any:
    cases = [case for case in CASES if case["area"] == area]
    return pytest.mark.parametrize("case", cases, ids=[case["id"] for case in cases])


def gate(case: Mapping[str, Any]) -> tuple[Any, Any]:
    """The state and the verifier of a case."""
    fields = dict(case.get("state") or {})
    answer = fields.pop("verifier", ...)

    def verifier(*_: Any) -> Any:
        if answer == "raises":
            raise RuntimeError("away")
        if isinstance(answer, dict):
            return {key: float(each) for key, each in answer.items()}
        return answer

    extractors = {
        name: (lambda given: lambda _args, _result: given)(each["const"])
        for name, each in fields.pop("extractors", {}).items()
    }
    state = grounding.GateState.for_model_class(case["preset"], extractors=extractors, **fields)
    return state, None if answer is ... else verifier


def subset(wanted: Mapping[str, Any], got: Mapping[str, Any]) -> bool:
    return all(key in got and got[key] == value for key, value in wanted.items())


@by("preset")
def test_preset(case: dict[str, Any]) -> None:
    if case["expect"].get("error"):
        with pytest.raises(callgate.InputError):
            gate(case)
        return
    state, _ = gate(case)
    assert all(getattr(state, name) == value for name, value in case["expect"].items())


@by("classify")
def test_classify(case: dict[str, Any]) -> None:
    state, _ = gate(case)
    found = []
    for step in case["script"]:
        for name, value in step.get("set", {}).items():
            setattr(state, name, value)
        got = grounding.classify_observation(
            step["tool"], step["args"], step["result"], state, step["read_only"]
        )
        found.append([got["grounds_assertion"], got["grounds_completion"]])
    assert found == case["expect"]["observations"]


@by("boundary")
def test_boundary(case: dict[str, Any]) -> None:
    state, verifier = gate(case)
    if case["expect"].get("error"):
        with pytest.raises(callgate.InputError):
            grounding.boundary_check(case["script"][0], state, verifier)
        return
    results = [grounding.boundary_check(each, state, verifier) for each in case["script"]]
    assert all(map(subset, case["expect"]["results"], results))
    assert state.halted is case["expect"]["halted"]


@by("loop")
def test_loop(case: dict[str, Any]) -> None:
    state, verifier = gate(case)
    expect = case["expect"]
    if expect.get("error"):
        with pytest.raises(callgate.InputError):
            grounding.turn_loop(case["script"], state, verifier)
        return
    emitted, trace = grounding.turn_loop(case["script"], state, verifier)
    assert emitted == expect["emitted"]
    kinds = [f"{kind}:{said}" if kind == "terminal" else kind for kind, said in trace]
    assert kinds == expect.get("trace", kinds)
    verdicts = [said for kind, said in trace if kind == "terminal"]
    assert verdicts == expect.get("verdicts", verdicts)
    final = {
        "budget": state.budget,
        "halted": state.halted,
        "grounded": state.grounded_this_turn,
        "verified": state.verified_this_turn,
        "step": state.current_step,
        "last_mutation_step": state.last_mutation_step,
    }
    assert subset(expect.get("final", {}), final)
