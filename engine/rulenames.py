"""The names of rules: made of pack, tool, kind and selector, stable under reordering and formatting."""

from __future__ import annotations

from hashlib import blake2b

from msgspec.structs import replace

from ..grammar.ast import Statement, Text
from ..grammar.pointer import pointer_text
from ..grammar.printer import print_statement
from .plan import glob_matches
from .units import Unit, Written, rules_in_order


def fits(entry: str, name: str, title: str | None, kind: str) -> bool:
    """Does an entry of `by` or `disable` fit a rule: its name, structural ID (`title`), kind, or a glob?"""
    known = [name, kind] if title is None else [name, kind, title]
    if entry in known:
        return True
    return ("*" in entry or "?" in entry) and any(glob_matches(entry, each) for each in known)


def name_rules(unit: Unit) -> None:
    """Name every rule of a file: pack, tool, kind and selector, and a hash where that is not unique."""
    counts: dict[str, int] = {}
    written = [item for item in unit.items if isinstance(item, Written)]
    for item in written:
        item.name = item.spec.name or _plain_name(unit, item)
        counts[item.name] = counts.get(item.name, 0) + 1
    for item in written:
        if counts[item.name] > 1 and item.spec.name is None:
            item.name += "#" + _text_hash(item.statement)


def told_apart(tops: tuple[Unit, ...]) -> dict[int, str]:
    """The names of all rules; where files without a pack say the same name, with a hash of the text."""
    written = [item for _, item in rules_in_order(tops)]
    counts: dict[str, int] = {}
    for item in written:
        counts[item.name] = counts.get(item.name, 0) + 1
    return {
        id(item): f"{item.name}#{_text_hash(item.statement)}"
        if counts[item.name] > 1 and item.spec.name is None and "#" not in item.name
        else item.name
        for item in written
    }


def _plain_name(unit: Unit, item: Written) -> str:
    parts = [unit.pack.name] if unit.pack is not None else []
    parts.append(",".join(each.text for each in item.block.names))
    parts.append(item.spec.keyword)
    if item.structural_id is not None:
        parts.append(item.structural_id)
    selectors = ",".join(pointer_text(each.segments) for each in item.spec.selectors)
    return ":".join([*parts, selectors]) if selectors else ":".join(parts)


def _text_hash(statement: Statement) -> str:
    """Six hex digits of a rule's canonical text without note and reason."""
    bare = replace(statement, note=None)
    if statement.word.text in ("allow", "ask", "deny"):
        bare = replace(bare, items=tuple(group for group in bare.items if not isinstance(group[0], Text)))
    return blake2b(print_statement(bare).encode(), digest_size=3).hexdigest()
