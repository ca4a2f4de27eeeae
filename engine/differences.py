"""What two rule sets say and decide differently.

Source: `docs/deployments.md`, "What an edit changes". The order: what is let through now and was not, first.
What a deployment's `state`, `log` and `reload` say decides no call, and is not compared.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..grammar.ast import Json
from ..grammar.printer import print_statement
from .definitions import declared, definitions
from .domain import Limits
from .messages import text_of
from .units import Unit, Written, all_units, rules_in_order
from .verdict import Outcome, Verdict

if TYPE_CHECKING:
    from .engine import Engine
    from .settings import Settings

# How far a call is let through.
_LET = {Outcome.VALID: 2, Outcome.REPAIRED: 2, Outcome.ASKED: 1, Outcome.UNREPAIRABLE: 0, Outcome.DENIED: 0}

_OTHER = 6  # the rank of calls that are let through by both, with other arguments


class Side(Struct, frozen=True):
    """One of the two sets. `settings`: of a deployment."""

    engine: Engine
    units: tuple[Unit, ...]
    settings: Settings | None = None


class Rewritten(Struct, frozen=True):
    """Something that one set says otherwise, or alone: `old` or `new` None where it does not say it."""

    name: str
    old: str | None
    new: str | None


class Decided(Struct, frozen=True):
    """A call that two sets decide differently. `rank`: 0 denied before and let through now, up to 8.

    `line`: of the record. `id`: null where it has none. `old`, `new`: text says why there is no verdict.
    """

    rank: int
    what: str
    line: int
    id: Json
    tool: str
    arguments: Json
    old: Verdict | str
    new: Verdict | str


def rewritten(old: Side, new: Side) -> list[Rewritten]:
    """What the two say otherwise: settings, tools, statements by the names of rules, and their order."""
    found: list[Rewritten] = []
    for before, after in (
        (_settings(old.settings), _settings(new.settings)),
        (_tools(old.engine.tools), _tools(new.engine.tools)),
        (_statements(old.units), _statements(new.units)),
    ):
        found += [
            Rewritten(name, before.get(name), after.get(name))
            for name in dict.fromkeys((*before, *after))
            if before.get(name) != after.get(name)
        ]
    return found + _moved(list(_rules(old.units)), list(_rules(new.units)))


def _settings(settings: Settings | None) -> dict[str, str]:
    if settings is None:
        return {}
    limits, usual = settings.limits, Limits()
    said: dict[str, object] = {
        name: value
        for name, value, unset in (
            ("default", settings.default, ""),
            ("why", settings.why, ""),
            ("policy", settings.policy, None),
            ("cwd", settings.cwd, None),
            ("limits.input-bytes", limits.input_bytes, usual.input_bytes),
            ("limits.depth", limits.depth, usual.depth),
        )
        if value != unset
    }
    said |= {f"let.{name}": value for name, value in settings.let.items()}
    said |= {f"models.{name}": what for name, what in settings.models.items()}
    return {name: f"{name}: {_json(value)}" for name, value in said.items()}


def _tools(tools: Any) -> dict[str, str]:
    """What decides of the tools, by name."""
    if tools is None:
        return {"tools": "tools: every name"}
    said = dict.fromkeys(declared(tools).hosted, "run by the provider")
    for name, schema, mutates, reads in definitions(tools):
        said[name] = _json(schema) + (" # changes things" if mutates else " # only looks" if reads else "")
    return {f"tools.{name}": f"tools.{name}: {what}" for name, what in said.items()}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _rules(units: tuple[Unit, ...]) -> dict[str, Written]:
    """The rules by name, in the order in which they count."""
    found: dict[str, Written] = {}
    for _, item in rules_in_order(units):
        found[_free(item.name, found)] = item
    return found


def _moved(old: list[str], new: list[str]) -> list[Rewritten]:
    """The rules of both sets that stand before or behind others than they did: as few as say it."""
    both = {*old} & {*new}
    before, after = ([name for name in each if name in both] for each in (old, new))
    stay = {
        name
        for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        for name in before[block.a : block.a + block.size]
    }
    return [
        Rewritten(f"order of {name}", _place(before, name), _place(after, name))
        for name in after
        if name not in stay and _place(before, name) != _place(after, name)
    ]


def _place(names: list[str], name: str) -> str:
    at = names.index(name)
    return f"{name} # after {names[at - 1]}" if at else f"{name} # first"


def _statements(units: tuple[Unit, ...]) -> dict[str, str]:
    """The rules by name, and the other statements of the files."""
    found: dict[str, str] = {}
    for name, item in _rules(units).items():
        tools = ", ".join(each.text for each in item.block.names)
        found[name] = f"{print_statement(item.statement)} # {tools}{_document(item)}"
    for unit in all_units(units):
        for statement in unit.tree.statements:
            if statement.word.text not in ("tool", "test"):
                text = print_statement(statement)
                found[_free(text.partition("\n")[0], found)] = text
    return found


def _free(name: str, taken: Container[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


def _document(item: Written) -> str:
    """What a `schema` rule reads from its file: the statement names the file alone."""
    if not isinstance(item.spec.clauses.get("source"), str):
        return ""
    return " " + _json(item.spec.clauses["document"])


def decided(
    line: int, id: Json, tool: str, arguments: Json, old: Verdict | str, new: Verdict | str
) -> Decided | None:
    """How two verdicts on one call differ, or None where they come to the same. Text: why there is none."""
    if isinstance(old, str) or isinstance(new, str):
        what = " → ".join(
            "not judged" if isinstance(each, str) else each.outcome.value for each in (old, new)
        )
        return Decided(4, what, line, id, tool, arguments, old, new)
    before, after = _LET[old.outcome], _LET[new.outcome]
    what = f"{old.outcome.value} → {new.outcome.value}"
    if after > before:
        rank = 3 if old.outcome is Outcome.UNREPAIRABLE else 2 if before else 0 if after == 2 else 1
    elif after < before:
        rank = 5
    elif after and not _equal(old, new):
        rank, what = _OTHER, "other arguments"
    elif old.outcome is not new.outcome:
        rank = 7
    elif (old.reason, old.code, old.tool) != (new.reason, new.code, new.tool):
        rank, what = 8, "for another reason"
    else:
        return None
    return Decided(rank, what, line, id, new.tool, arguments, old, new)


def _equal(old: Verdict, new: Verdict) -> bool:
    from ..rules.strictjson import equal

    return old.tool == new.tool and equal(old.arguments, new.arguments)


_LONGEST = 160  # characters of a line of what is said; a schema may be longer
_NUMBERS = 5  # of lines that are named


def said_lines(found: Rewritten) -> Iterator[str]:
    """What is said otherwise, for a person. Of long lines only what differs."""
    old, new = found.old or "", found.new or ""
    differs = (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other)
    start = max(next(differs, min(len(old), len(new))) - _LONGEST // 4, 0)
    for mark, text in (("-", old), ("+", new)):
        for line in text.splitlines():
            if len(line) > _LONGEST and line == text:
                begin = f"{found.name}: …" if start else ""
                line = begin + line[start : start + _LONGEST] + "…"
            yield f"{mark} {line}"


def grouped(found: Iterable[Decided]) -> list[list[Decided]]:
    """Those that differ in the same way together, what is newly let through first."""
    groups: dict[tuple[str, ...], list[Decided]] = {}
    for each in sorted(found, key=lambda each: each.rank):
        groups.setdefault((each.what, each.tool, _short(each.old), _short(each.new)), []).append(each)
    return list(groups.values())


def lines(group: list[Decided]) -> Iterator[str]:
    """Differences of one kind, for a person: how many, on which lines, and the first of them."""
    first, count = group[0], len(group)
    at = ", ".join(str(each.line) for each in group[:_NUMBERS]) + (", …" if count > _NUMBERS else "")
    yield f"{first.what}: {first.tool}, " + (f"line {at}" if count == 1 else f"{count} calls: lines {at}")
    for label, verdict in (("was", first.old), ("is", first.new)):
        shown = f" {_example(verdict.arguments)}" if first.rank == _OTHER else ""  # type: ignore[union-attr]
        yield f"  {label + ':':<4} {_short(verdict)}{shown}"
    yield f"  for: {_example(first.arguments)}" + (f" ({first.id})" if first.id is not None else "")


def _example(arguments: Json) -> str:
    return text_of(arguments, _LONGEST).replace("\n", " ")


def _short(verdict: Verdict | str) -> str:
    if isinstance(verdict, str):
        return f"not judged: {verdict}"
    rules = ", ".join(by(verdict))
    said = verdict.reason or verdict.code or ""
    return " ".join(each for each in (verdict.outcome.value, said, f"by {rules}" if rules else "") if each)


def by(verdict: Verdict) -> tuple[str, ...]:
    """The rules that decided a call, or else those that changed it."""
    return verdict.decided_by or tuple(dict.fromkeys(each.rule for each in verdict.changes))
