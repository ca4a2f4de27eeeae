"""`cases/tool-choice.jsonl`: what each provider is sent for a choice, and what answers made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.lowering import lower

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "tool-choice.jsonl").read_text("utf-8").splitlines()
]
_PASSED = ("choice", "model", "thinking", "parallel", "mode", "hosted", "history_has_tool_blocks")


def subset(wanted: Any, got: Any) -> bool:
    """Is all that is wanted there? Objects may hold more, other values are equal by value and type."""
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(
            key in got and subset(value, got[key]) for key, value in wanted.items()
        )
    return type(wanted) is type(got) and wanted == got


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    given, expect = case["input"], case["expect"]
    tools = given.get("activeTools", given["tools"])
    options = {key: given[key] for key in _PASSED if key in given}
    if "refuse" in expect:
        with pytest.raises(callgate.ContractViolation) as caught:
            lower(case["provider"], tools=tools, **options)
        assert caught.value.code == expect["refuse"]
        return
    lowered = lower(case["provider"], tools=tools, **options)
    if "response" in given:
        verified = lowered.verify(given["response"]["calls"])
        assert verified.honoured is expect["honoured"]
        assert expect["event"] in [each.code for each in verified.events]
        assert list(verified.execute) == expect.get("execute", list(verified.execute))
        return
    body = expect.get("body", expect.get("bind", expect.get("settings", {})))
    assert subset(body, lowered.body)
    assert set(lowered.body) == set(body), "no fields beside those"
    for key in expect.get("omit", ()):
        assert key not in lowered.body
        assert key != "tools" or list(lowered.tools) == []
    assert lowered.guarantee == expect.get("guarantee", "exact")
    assert list(lowered.tools) == expect.get("tools_sent", list(lowered.tools))
    assert [str(each) for each in lowered.events] == expect.get("events", [])
    for key in ("reset_tool_choice", "release"):
        assert lowered.beside.get(key) == expect.get(key)
