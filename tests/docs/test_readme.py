"""The README: its rule file, its calls, its program and its numbers are true."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from callgate.engine.cli.main import main

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text("utf-8")
TOOLS = ROOT / "examples" / "tools.json"


def block(language: str, begins: str = "") -> str:
    """The first fenced block of a language that begins so."""
    found = re.search(rf"^```{language}\n({re.escape(begins)}.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edit.gate").write_text(block("gate"), "utf-8")
    return tmp_path


def test_the_rule_file_has_no_errors_and_its_tests_hold(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "edit.gate", "--tools", str(TOOLS)]) == 0
    assert "2 tests: no errors, no warnings" in capfd.readouterr().err


def test_a_misspelt_field_gives_the_diagnostic_that_is_shown(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    slip = block("gate").replace("alias /path from", "alias /pth from")
    (folder / "edit.gate").write_text(slip, "utf-8")
    assert main(["check", "edit.gate", "--tools", str(TOOLS)]) == 1
    assert capfd.readouterr().out.startswith(block("text", "error[G104]"))


def test_a_call_gives_the_verdict_that_is_shown() -> None:
    import callgate

    call = json.loads(block("json", '{"id": "1", "tool"'))
    verdict = callgate.compile(block("gate")).check(call["tool"], call["arguments"])
    wanted: dict[str, Any] = json.loads(block("json", '{\n  "id": "1", "outcome"'))
    got = {"id": "1", **json.loads(json.dumps(verdict.as_dict())), "engine": "…"}
    assert list(got) == list(wanted)
    assert got == wanted


def test_the_programs_print_what_their_comments_say() -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 3
    program = "\n".join(blocks)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {})
    assert printed.getvalue().splitlines() == re.findall(r"print\(.*\)  # (.+)", program)


def test_there_are_as_many_example_calls_as_it_says() -> None:
    calls = (ROOT / "examples" / "calls.jsonl").read_text("utf-8").splitlines()
    assert "Run fifty calls" in TEXT
    assert len(calls) == 50


def test_each_of_the_two_commands_is_one_line() -> None:
    lines = [line for line in TEXT.splitlines() if line.startswith("pip install uv")]
    assert len(lines) == 2
    assert "callgate run" in lines[0]
    assert "pytest" in lines[1]


def test_the_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert re.findall(r"^\| `([a-z]+)` \|", TEXT, re.MULTILINE) == list(extras)


def test_every_link_leads_to_a_page() -> None:
    for link in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (ROOT / link.partition("#")[0]).is_file(), link
