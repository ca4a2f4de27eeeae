"""The cases of `tests/cases/reports.jsonl`: real faults of real models, judged with the shipped packs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import callgate

CASES = Path(__file__).parents[1] / "cases" / "reports.jsonl"
LINES = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def shipped() -> callgate.Engine:
    return callgate.compile("", packs="shipped")


def judge(case: dict[str, Any], shipped: callgate.Engine) -> callgate.Verdict:
    call = case["call"]
    engine = shipped
    if "rules" in case:
        engine = callgate.compile(case["rules"], packs="shipped")
    return engine.with_tools(call["tools"]).check_text(
        call["tool"],
        call["arguments_text"],
        model=call.get("model"),
        stop_reason=call.get("stop_reason"),
    )


def exact(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("case", [pytest.param(each, id=each["id"]) for each in LINES])
def test_a_report_comes_out_as_it_should(case: dict[str, Any], shipped: callgate.Engine) -> None:
    verdict, expect = judge(case, shipped), case["expect"]
    shown = f"{case['why']}\n{json.dumps(verdict.as_dict(), indent=1)}"
    assert verdict.allowed is expect["allowed"], shown
    if expect["allowed"]:
        assert verdict.tool == expect["tool"], shown
        assert exact(verdict.arguments) == exact(expect["arguments"]), shown
    else:
        assert verdict.retry_message, shown


def test_every_report_has_an_id_of_its_own() -> None:
    assert len({each["id"] for each in LINES}) == len(LINES) >= 111
