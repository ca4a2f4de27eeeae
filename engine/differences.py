"""What two rule sets say and decide differently.

Source: `docs/deployments.md`, "What an edit changes". The order: what is let through now and was not, first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ..grammar.printer import print_statement
from .units import Unit, all_units, rules_in_order
from .verdict import Outcome, Verdict

# How far a call is let through, and what a step from one to the other means.
_LET = {Outcome.VALID: 2, Outcome.REPAIRED: 2, Outcome.ASKED: 1, Outcome.UNREPAIRABLE: 0, Outcome.DENIED: 0}


class Rewritten(Struct, frozen=True):
    """Something that one set says otherwise, or alone: `old` or `new` None where it does not say it."""

    name: str
    old: str | None
    new: str | None


class Decided(Struct, frozen=True):
    """A call that two sets decide differently. `rank`: 0 denied before and let through now, up to 5."""

    rank: int
    what: str
    id: str
    tool: str
    old: Verdict
    new: Verdict


def rewritten(old: tuple[Unit, ...], new: tuple[Unit, ...]) -> list[Rewritten]:
    """The statements that differ, by the names of rules; others by their first words."""
    before, after = _said(old), _said(new)
    return [
        Rewritten(name, before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]


def _said(units: tuple[Unit, ...]) -> dict[str, str]:
    """What a set says: its rules by name, and the other statements of its files."""
    found: dict[str, str] = {}
    for _, item in rules_in_order(units):
        tools = ", ".join(each.text for each in item.block.names)
        found[_free(item.name, found)] = f"{print_statement(item.statement)} # {tools}"
    for unit in all_units(units):
        for statement in unit.tree.statements:
            if statement.word.text not in ("tool", "test"):
                text = print_statement(statement)
                found[_free(text.partition("\n")[0], found)] = text
    return found


def _free(name: str, taken: dict[str, str]) -> str:
    number = 2
    free = name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


def decided(id: str, old: Verdict, new: Verdict) -> Decided | None:
    """How two verdicts on one call differ, or None where they come to the same."""
    before, after = _LET[old.outcome], _LET[new.outcome]
    if after > before:
        rank = 0 if old.outcome is Outcome.DENIED else 1
        what = f"{old.outcome.value} → {new.outcome.value}"
    elif after < before:
        rank, what = 2, f"{old.outcome.value} → {new.outcome.value}"
    elif after and not _equal(old, new):
        rank, what = 3, "other arguments"
    elif old.outcome is not new.outcome:
        rank, what = 4, f"{old.outcome.value} → {new.outcome.value}"
    elif (old.reason, old.code, old.tool) != (new.reason, new.code, new.tool):
        rank, what = 5, "for another reason"
    else:
        return None
    return Decided(rank, what, id, new.tool, old, new)


def _equal(old: Verdict, new: Verdict) -> bool:
    from ..rules.strictjson import equal

    return old.tool == new.tool and equal(old.arguments, new.arguments)


def lines(found: Decided) -> Iterator[str]:
    """A difference, for a person."""
    yield f"{found.what}: {found.tool}" + (f" ({found.id})" if found.id else "")
    for label, verdict in (("was", found.old), ("is", found.new)):
        yield f"  {label + ':':<4} {_short(verdict)}"


def _short(verdict: Verdict) -> str:
    by = ", ".join(verdict.decided_by or dict.fromkeys(each.rule for each in verdict.changes))
    said: Any = verdict.reason or verdict.code or ""
    return " ".join(each for each in (verdict.outcome.value, str(said), f"by {by}" if by else "") if each)
