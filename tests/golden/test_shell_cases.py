"""The cases of `tests/cases/shell.jsonl`: does the command mutate?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate.engine.shell import mutates

CASES = Path(__file__).parents[1] / "cases" / "shell.jsonl"
LINES = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", LINES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    assert mutates(case["command"]) is case["mutating"], case["why"]
