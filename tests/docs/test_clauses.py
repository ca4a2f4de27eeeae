"""A kind whose clause could never be written is refused, of this package and from outside."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from callgate.rules import kinds as folder
from callgate.rules.catalog import GROUP, CatalogError, gather, own
from callgate.rules.kind import Kind, Phase

OWN = """
from callgate.rules.kind import Kind, Phase

class Odd(Kind):
    keyword = "odd"
    phase = Phase.PREPROCESS
    clauses = {{{clause!r}: {{"type": "boolean"}}}}

KIND = Odd
"""
NEVER = ["only from", "", "-x", "x.", "5", 'a"b', "für", "x\n"]


def offered(clause: Any) -> EntryPoint:
    facts = {
        "__doc__": "Odd.",
        "keyword": "odd",
        "phase": Phase.PREPROCESS,
        "clauses": {clause: {"type": "boolean"}},
    }
    kind = type("Odd", (Kind,), facts)

    class Offered(EntryPoint):
        def load(self) -> Any:
            return kind

    return Offered("odd", "offered:Odd", GROUP)


@pytest.mark.parametrize("clause", [*NEVER, 5])
def test_a_kind_from_outside_with_a_clause_that_is_no_word_is_refused(clause: Any) -> None:
    with pytest.raises(CatalogError) as raised:
        gather(own(), [offered(clause)])
    assert f"its clause `{clause}` is no word, so no rule could be written with it" in str(raised.value)
    assert "odd = offered:Odd" in str(raised.value)


@pytest.mark.parametrize("clause", ["only-from", "from", "in-array", "_x", "a.b"])
def test_a_kind_from_outside_with_a_clause_that_is_a_word_is_taken(clause: str) -> None:
    assert gather(own(), [offered(clause)])["odd"].clauses == {clause: {"type": "boolean"}}


@pytest.mark.parametrize(
    ("clause", "why"),
    [
        ("only from", "its clause `only from` is no word, so no rule could be written with it"),
        ("when", "its clause `when` is a word of the language"),
    ],
)
def test_a_kind_of_this_package_with_such_a_clause_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clause: str, why: str
) -> None:
    (tmp_path / "odd_kind.py").write_text(OWN.format(clause=clause), "utf-8")
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    name = f"{folder.__name__}.odd_kind"
    try:
        with pytest.raises(CatalogError) as raised:
            own()
    finally:
        sys.modules.pop(name, None)
        vars(folder).pop("odd_kind", None)
    assert str(raised.value) == f"the kind `odd` of `rules/kinds/odd_kind.py`: {why}"
