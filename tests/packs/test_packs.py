"""The packs that ship: they load without a word, their tests hold, and a test needs each of their rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.loading import Checked, check_rules
from callgate.engine.packs import shipped_names
from callgate.engine.ruletest import count_tests
from callgate.engine.ruletext import RuleText, read_rule_file
from callgate.engine.units import Written
from callgate.grammar.parser import parse
from callgate.grammar.printer import print_file
from callgate.rules.statements import words

PACKS = Path(__file__).parents[2] / "rules" / "packs"
FILES = sorted(PACKS.glob("*.gate"))


def checked(text: str) -> Checked:
    return check_rules([RuleText(text, "pack.gate", PACKS)])


def test_common_ships_and_comes_first() -> None:
    assert shipped_names()[0] == "common"
    assert sorted(shipped_names()) == sorted(path.stem for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_pack_loads_without_a_word_and_its_tests_hold(path: Path) -> None:
    result = check_rules([read_rule_file(path)])
    assert result.diagnostics == ()
    assert count_tests(result.compiled.units) >= 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_pack_is_named_like_its_file_and_says_what_it_is_for(path: Path) -> None:
    (unit,) = check_rules([read_rule_file(path)], tests=False).compiled.units
    assert unit.pack is not None
    assert unit.pack.name == path.stem
    assert unit.pack.what


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_pack_is_formatted(path: Path) -> None:
    text = path.read_text("utf-8")
    assert print_file(parse(text, words=words, file=path.name).file) == text


def rules() -> list[Any]:
    """Every rule of every pack: its file and where it stands."""
    found: list[Any] = []
    for path in FILES:
        (unit,) = check_rules([read_rule_file(path)], tests=False).compiled.units
        written = [item for item in unit.items if isinstance(item, Written)]
        found += [pytest.param(path, item.spec.span, id=item.name) for item in written]
    return found


@pytest.mark.parametrize(("path", "span"), rules())
def test_without_one_of_its_rules_a_test_of_the_pack_fails(path: Path, span: Any) -> None:
    text = path.read_text("utf-8")
    result = checked(text[: span.start] + text[span.end :])
    assert {each.code for each in result.diagnostics} == {"G402"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_rule_has_a_comment_above_its_block_that_names_what_is_seen(path: Path) -> None:
    for statement in parse(path.read_text("utf-8"), words=words, file=path.name).file.statements:
        if statement.word.text == "tool":
            assert statement.comments, statement.span.line


def test_the_shipped_packs_are_put_before_a_rule_text() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    engine = callgate.compile(
        'tool read { deny "x" when /path == "/b" }', tools={"read": schema}, packs="shipped"
    )
    assert engine.check("read", {"file_path": "/a"}).arguments == {"path": "/a"}
    assert engine.check("read", {"file_path": "/b"}).outcome is callgate.Outcome.DENIED
    assert engine.packs[0].startswith("common@")


def test_common_leaves_a_value_that_is_there_and_what_stands_beside_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "command": {"type": "string"},
            "content": {"type": "string"},
        },
        "required": ["path", "command", "content"],
    }
    engine = callgate.compile("", tools={"t": schema}, packs="shipped")
    sent = {
        "path": "a",
        "command": "",
        "content": "",
        "file_path": "b",
        "cmd": "c",
        "contents": "d",
        "query": "e",
    }
    verdict = engine.check("t", sent)
    assert verdict.arguments is sent
    assert {each.path for each in verdict.observations} == {"/file_path", "/cmd", "/contents"}
