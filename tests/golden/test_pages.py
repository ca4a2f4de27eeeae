"""Golden cases as pages: a title, a rule text, a call, and the part of the verdict that matters.

Each `*.md` beside this file holds sections that begin with `# TITLE` and hold three blocks:

* gate: the rule text;
* call: JSON with `tool`, and `arguments` or `text`; beside them `model`, `schema` (of this tool) or `tools`,
  `context`, `stop_reason`;
* verdict: JSON, of which every field must be in the verdict, by value and type. `changes` are the changes
  with the fields that are written; `observations` and `issues` likewise.

`UPDATE_GOLDEN=1 pytest tests/golden` rewrites the verdict blocks, with the fields that they have, and
nothing else.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import callgate

FOLDER = Path(__file__).parent
BLOCK = re.compile(r"^```(gate|call|verdict)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIELDS = ("outcome", "arguments")  # what a new verdict block gets


@dataclass(frozen=True)
class Case:
    """One section of a page. `start` and `end`: where the text of its verdict block stands in the page."""

    page: Path
    title: str
    rules: str
    call: dict[str, Any]
    verdict: dict[str, Any]
    start: int
    end: int


def read_page(page: Path) -> list[Case]:
    """The cases of a page, in order.

    Raises:
        ValueError: a section lacks one of its three blocks, or has one twice.
    """
    text = page.read_text("utf-8")
    heads = list(re.finditer(r"^# (.+)$", text, re.MULTILINE))
    fenced = [(match.start(), match.end()) for match in BLOCK.finditer(text)]
    heads = [head for head in heads if not any(start < head.start() < end for start, end in fenced)]
    found = []
    for number, head in enumerate(heads):
        until = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        blocks = list(BLOCK.finditer(text, head.end(), until))
        kinds = [block[1] for block in blocks]
        if kinds != ["gate", "call", "verdict"]:
            raise ValueError(f"{page.name}: `{head[1]}` has the blocks {kinds}")
        gate, call, verdict = blocks
        wanted = json.loads(verdict[2]) if verdict[2].strip() else dict.fromkeys(FIELDS)
        found.append(
            Case(page, head[1], gate[2], json.loads(call[2]), wanted, verdict.start(2), verdict.end(2))
        )
    return found


def judge(case: Case) -> callgate.Verdict:
    call = dict(case.call)
    tool, schema, tools = call.pop("tool"), call.pop("schema", None), call.pop("tools", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", callgate.CallgateWarning)
        engine = callgate.compile(case.rules, tools=tools if schema is None else {tool: schema})
    if "text" in call:
        return engine.check_text(tool, call.pop("text"), **call)
    return engine.check(tool, call.pop("arguments"), **call)


def part(wanted: Any, got: Any) -> Any:
    """`got` with those fields only that `wanted` has, in the lists of records and at the top."""
    if isinstance(wanted, dict):
        return {key: got.get(key) for key in wanted}
    if isinstance(wanted, list) and wanted and len(wanted) == len(got):
        return [part(one, other) for one, other in zip(wanted, got, strict=True)]
    return got


def selected(wanted: dict[str, Any], verdict: callgate.Verdict) -> dict[str, Any]:
    """The verdict with the fields that the page shows."""
    whole = verdict.as_dict()
    found: dict[str, Any] = {}
    for key, value in wanted.items():
        records = key in ("changes", "observations", "issues")
        found[key] = part(value, whole[key]) if records else whole[key]
    return found


def shown(value: dict[str, Any]) -> str:
    """One field on a line; one record on a line."""
    lines = []
    for key, held in value.items():
        if key in ("changes", "observations", "issues") and held:
            inner = ",\n".join(f"    {json.dumps(each, ensure_ascii=False)}" for each in held)
            lines.append(f"  {json.dumps(key)}: [\n{inner}\n  ]")
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(held, ensure_ascii=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def update(page: Path, cases: list[Case]) -> None:
    """Rewrite the verdict blocks of a page, and nothing else."""
    text = page.read_text("utf-8")
    for case in reversed(cases):
        text = text[: case.start] + shown(selected(case.verdict, judge(case))) + text[case.end :]
    page.write_text(text, "utf-8")


PAGES = sorted(page for page in FOLDER.glob("*.md"))
if os.environ.get("UPDATE_GOLDEN") == "1":
    for each in PAGES:
        update(each, read_page(each))
CASES = [pytest.param(case, id=f"{page.stem}: {case.title}") for page in PAGES for case in read_page(page)]


@pytest.mark.parametrize("case", CASES)
def test_a_page_says_what_the_engine_does(case: Case) -> None:
    assert case.verdict, "a verdict block must say something"
    got = selected(case.verdict, judge(case))
    assert shown(got) == shown(case.verdict)


def test_the_pages_show_every_outcome() -> None:
    outcomes = {case.verdict["outcome"] for page in PAGES for case in read_page(page)}
    assert outcomes == {outcome.value for outcome in callgate.Outcome}


PAGE = """\
# one

Words.

```gate
tool t { alias /a from b }  # no head
```

```call
{"tool": "t", "arguments": {"b": 1}}
```

```verdict
{"outcome": "valid", "changes": []}
```

The end.
"""


def test_updating_rewrites_the_verdict_blocks_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, "utf-8")
    update(page, read_page(page))
    text = page.read_text("utf-8")
    before, _, after = PAGE.partition('{"outcome": "valid", "changes": []}\n')
    assert text.startswith(before)
    assert text.endswith(after)
    (case,) = read_page(page)
    assert case.verdict["outcome"] == "repaired"
    assert [change["rule"] for change in case.verdict["changes"]] == ["t:alias:/a"]
    update(page, read_page(page))
    assert page.read_text("utf-8") == text


def test_a_wrong_page_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, "utf-8")
    (case,) = read_page(page)
    with pytest.raises(AssertionError):
        test_a_page_says_what_the_engine_does(case)
    page.write_text(PAGE.replace("```call", "```json"), "utf-8")
    with pytest.raises(ValueError, match="one"):
        read_page(page)
