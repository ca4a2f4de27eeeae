"""The cases of `tests/cases/calls.jsonl`: a rule text, a call, and what becomes of it."""

from __future__ import annotations

import copy
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import callgate

CASES = Path(__file__).parents[1] / "cases" / "calls.jsonl"


def cases() -> list[Any]:
    found = []
    for line in CASES.read_text("utf-8").splitlines():
        case = json.loads(line)
        found.append(pytest.param(case, id=case["id"]))
    return found


def exact(value: Any) -> str:
    """A text that is equal for values that are equal in type too: `1`, `1.0`, `true` and `"1"` differ."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("case", cases())
def test_a_case_comes_out_as_it_says(case: dict[str, Any]) -> None:
    call, expect = case["call"], case["expect"]
    given = call["arguments"]
    before = copy.deepcopy(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", callgate.CallgateWarning)
        engine = callgate.compile(case["rules"])
    verdict = engine.check(call["tool"], given, schema=call["schema"], model=call.get("model"))
    shown = f"{case['why']}\n{json.dumps(verdict.as_dict(), indent=1)}"
    assert verdict.outcome.value == expect["outcome"], shown
    if "arguments" in expect:
        assert exact(verdict.arguments) == exact(expect["arguments"]), shown
    if expect.get("same_object"):
        assert verdict.arguments is given, shown
    if "kinds" in expect:
        assert {change.kind for change in verdict.changes} == set(expect["kinds"]), shown
    assert exact(given) == exact(before), "the caller's object was changed"
    assert (verdict.outcome is callgate.Outcome.REPAIRED) == bool(verdict.changes), shown


def test_every_case_has_an_id_of_its_own() -> None:
    ids = [json.loads(line)["id"] for line in CASES.read_text("utf-8").splitlines()]
    assert len(ids) == len(set(ids)) >= 133
