"""`cases/normalize.jsonl`: which results are the same after what varies by itself is replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate.engine.grounding import normalize

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "normalize.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    assert (normalize(case["a"]) == normalize(case["b"])) is case["equal"]
