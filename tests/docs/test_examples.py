"""The examples: the rule files hold their tests, and the calls come out as their names say."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.loading import check_rules, read_files
from callgate.engine.ruletest import count_tests
from callgate.grammar.diagnostics import Severity
from callgate.grammar.parser import parse
from callgate.grammar.printer import print_file
from callgate.rules.statements import words

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.gate"))
TOOLS = json.loads((EXAMPLES / "tools.json").read_text("utf-8"))
CALLS = [json.loads(line) for line in (EXAMPLES / "calls.jsonl").read_text("utf-8").splitlines()]

WANTED = {
    "valid-read": "valid",
    "valid-edit": "valid",
    "valid-bash": "valid",
    "valid-search": "valid",
    "alias-path": "repaired",
    "alias-path-text": "repaired",
    "flat-edit": "repaired",
    "edits-as-text": "repaired",
    "edits-with-other-names": "repaired",
    "anchors": "repaired",
    "markdown-link": "repaired",
    "asked-entities": "asked",
    "closing-tags": "repaired",
    "encoded-arguments": "repaired",
    "whole-call": "repaired",
    "one-object-array": "repaired",
    "bare-text": "repaired",
    "number-as-text": "repaired",
    "boolean-as-text": "repaired",
    "list-as-text": "repaired",
    "text-for-a-list": "repaired",
    "enum-case": "repaired",
    "empty-object-for-a-list": "repaired",
    "raw-line-end": "repaired",
    "duplicate-key": "repaired",
    "cut-after-a-value": "repaired",
    "name-with-channel": "repaired",
    "name-with-prefix": "repaired",
    "name-renamed": "repaired",
    "denied-climbing-out": "denied",
    "denied-protected": "denied",
    "denied-sudo": "denied",
    "denied-behind-entities": "denied",
    "asked-rm": "asked",
    "asked-background": "asked",
    "asked-many-edits": "asked",
    "asked-curl": "asked",
    "cut-command": "unrepairable truncated",
    "cut-at-length": "unrepairable truncated",
    "two-calls": "unrepairable several-calls",
    "two-targets": "unrepairable duplicate-key",
    "swallowed": "unrepairable swallowed-parameter",
    "not-a-number": "unrepairable schema",
    "no-path": "unrepairable schema",
    "unknown-field": "unrepairable schema",
    "unknown-tool": "unrepairable unknown-tool",
    "arguments-in-the-name": "unrepairable lost-arguments",
    "infinite": "unrepairable number",
    "half-a-character": "unrepairable surrogate",
    "word-null-on-edit": "unrepairable schema",
}


@pytest.fixture(scope="module")
def engine() -> callgate.Engine:
    rules = (EXAMPLES / "rules.gate").read_text("utf-8")
    return callgate.compile(rules, tools=TOOLS, folder=EXAMPLES)


def judge(engine: callgate.Engine, call: dict[str, Any]) -> callgate.Verdict:
    options = {"model": call.get("model"), "stop_reason": call.get("stop_reason")}
    if "arguments_text" in call:
        return engine.check_text(call["tool"], call["arguments_text"], **options)
    return engine.check(call["tool"], call["arguments"], **options)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_file_has_tests_that_hold_and_nothing_to_warn_about(path: Path) -> None:
    tools = TOOLS if path.stem == "rules" else None
    checked = check_rules(read_files([path]), tools=tools)
    assert [each for each in checked.diagnostics if each.severity is not Severity.NOTE] == []
    assert count_tests(tuple(unit for unit in checked.compiled.units if unit.top)) >= 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_file_is_formatted(path: Path) -> None:
    text = path.read_text("utf-8")
    assert print_file(parse(text, words=words, file=path.name).file) == text


@pytest.mark.parametrize("call", CALLS, ids=lambda call: str(call["id"]))
def test_a_call_comes_out_as_it_should(engine: callgate.Engine, call: dict[str, Any]) -> None:
    verdict = judge(engine, call)
    said = verdict.outcome.value if verdict.code is None else f"{verdict.outcome.value} {verdict.code}"
    assert said == WANTED[call["id"]]
    first = call["id"].partition("-")[0]
    assert first not in ("valid", "denied", "asked") or first == verdict.outcome.value


def test_the_calls_show_every_outcome_many_codes_and_many_models() -> None:
    assert [call["id"] for call in CALLS] == list(WANTED)
    assert {said.partition(" ")[0] for said in WANTED.values()} == {each.value for each in callgate.Outcome}
    assert len({said for said in WANTED.values() if said.startswith("unrepairable")}) >= 8
    assert len({call["model"] for call in CALLS}) >= 8
    assert sum("arguments_text" in call for call in CALLS) >= 10


def test_no_two_example_calls_are_the_same() -> None:
    assert len({json.dumps({**call, "id": ""}, sort_keys=True) for call in CALLS}) == len(CALLS)


def test_the_agent_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "agent.py"), run_name="__main__")
    said = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert said == ["called", "kept in", "called", "called", "let out"]


def test_the_embedding_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "embed.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert shown.startswith('repaired {"path": "/repo/a.py", "edits": [')
    assert "only files of the workspace" in shown
