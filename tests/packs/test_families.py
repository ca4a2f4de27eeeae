"""Model ids as providers write them: each falls into exactly its family, and a family's rules are its own.

`models/*.tsv` lists ids, a tab, and the family, or `-` where no shipped pack knows the model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.loading import check_rules
from callgate.engine.packs import Library
from callgate.engine.plan import matches_model
from callgate.engine.ruletext import RuleText, read_rule_file
from callgate.engine.units import Unit
from callgate.grammar.span import Span
from callgate.rules.testblock import CallStep

PACKS = Path(__file__).parents[2] / "rules" / "packs"
LISTS = sorted(Path(__file__).with_name("models").glob("*.tsv"))
IDS = [
    tuple(line.split("\t")) for path in LISTS for line in path.read_text("utf-8").splitlines() if line.strip()
]


def read_units() -> dict[str, Unit]:
    """Every shipped pack by its name, without running its tests."""
    units: dict[str, Unit] = {}
    for path in sorted(PACKS.glob("*.gate")):
        (units[path.stem],) = check_rules([read_rule_file(path)], tests=False).compiled.units
    return units


UNITS = read_units()
FAMILIES = {name: patterns for unit in UNITS.values() for name, patterns in unit.families.items()}


@pytest.mark.parametrize(("model", "family"), IDS)
def test_an_id_falls_into_exactly_its_family(model: str, family: str) -> None:
    found = {name for name, patterns in FAMILIES.items() if matches_model(patterns, model)}
    assert found == ({family} if family != "-" else set())


def test_no_id_is_listed_twice_and_every_family_is_listed() -> None:
    models = [model for model, _ in IDS]
    assert sorted(models) == sorted(set(models))
    assert {family for _, family in IDS} - {"-"} == set(FAMILIES)


def test_a_family_is_named_once_and_in_the_pack_of_its_name() -> None:
    named = [(pack, name) for pack, unit in UNITS.items() for name in unit.families]
    assert all(pack == name for pack, name in named)


def test_all_packs_load_together_without_a_word() -> None:
    result = check_rules([read_rule_file(PACKS / f"{name}.gate") for name in UNITS], tests=False)
    assert result.diagnostics == ()


@pytest.mark.parametrize("pack", sorted(FAMILIES))
def test_the_rules_of_a_family_do_nothing_for_other_models(pack: str) -> None:
    strangers = [*{family: model for model, family in IDS if family != pack}.values(), None]
    unit = UNITS[pack]
    for case, block in unit.tests:
        tools = Library().document(unit.source.folder, case.tools) if case.tools is not None else None
        engine = callgate.compile("", tools=tools, packs=[pack])  # type: ignore[arg-type]
        for step in (each for each in case.steps if isinstance(each, CallStep)):
            tool = step.tool or block.names[0].text  # type: ignore[union-attr]
            for model in strangers:
                check = engine.check_text if step.raw else engine.check
                changes = check(tool, step.arguments, model=model).changes  # type: ignore[arg-type]
                assert not [each.rule for each in changes if each.rule.startswith(f"{pack}:")]


def spoken() -> list[Any]:
    """Every statement of a pack about what a model prints beside its arguments."""
    return [
        pytest.param(pack, statement.span, id=f"{pack}:{statement.span.line}")
        for pack, unit in UNITS.items()
        for statement in unit.tree.statements
        if statement.word.text in ("surroundings", "quote-token", "closing-form")
    ]


@pytest.mark.parametrize(("pack", "span"), spoken())
def test_without_one_of_its_statements_a_test_of_the_pack_fails(pack: str, span: Span) -> None:
    text = UNITS[pack].source.text
    result = check_rules([RuleText(text[: span.start] + text[span.end :], "pack.gate", PACKS)])
    assert {each.code for each in result.diagnostics} == {"G402"}
