"""A statement laid into its form: its items by label, and everything that does not fit."""

from __future__ import annotations

from collections.abc import Iterator

from ..grammar.ast import Atom, Literal, Statement, Text, Word
from ..grammar.diagnostics import Diagnostic
from . import faults
from .forms import FORMS, Form
from .shapes import Fields, Group, fit
from .toolnames import LONGEST_NAME, ToolName


def read_form(statement: Statement, form: Form, file: str) -> tuple[Fields | None, list[Diagnostic]]:
    """The items of a statement by its form; None with an error where they do not fit."""
    found = check_suffixes(statement, form.suffixes, file)
    items, block = items_and_block(statement, form.block is not None)
    if form.block is None and block is not None:
        found.append(faults.unwanted_block(statement, file))
    if form.block is not None and form.needs_block and block is None:
        found.append(faults.missing_block(statement, form.usage, file))
    fields = fit(form.shape, items)
    if not isinstance(fields, Fields):
        found.append(faults.wrong_shape(statement, form, fields, file))
        return None, found
    return (None if found else fields), found


def statements_of(
    statement: Statement, block: str, file: str, found: list[Diagnostic]
) -> Iterator[tuple[Statement, Fields]]:
    """The statements in a block with their items by label; what is wrong with them is added to `found`."""
    forms = FORMS[block]
    for inner in items_and_block(statement, True)[1] or ():
        form = forms.get(inner.word.text)
        if form is None:
            found.append(faults.unknown_statement(inner, block, forms, file))
            continue
        fields, wrong = read_form(inner, form, file)
        found += wrong
        if fields is not None:
            yield inner, fields


def items_and_block(
    statement: Statement, opens: bool
) -> tuple[tuple[Group, ...], tuple[Statement, ...] | None]:
    """The items and the block; for a statement that `opens` one a last `{}` is an empty block."""
    items = statement.items
    if opens and statement.block is None and items and len(items[-1]) == 1:
        last = items[-1][0]
        if isinstance(last, Literal) and last.value == {}:
            return items[:-1], ()
    return items, statement.block


def check_suffixes(statement: Statement, allowed: frozenset[str], file: str) -> list[Diagnostic]:
    """An error for each suffix that is not allowed, and for each quoted family that does not compile."""
    written = {
        "shadow": statement.word if statement.shadow else None,
        "for": statement.families[0] if statement.families else None,
        "when": statement.condition,
        "note": statement.note,
        "named": statement.name,
    }
    found = []
    for suffix, node in written.items():
        if node is not None and suffix not in allowed:
            shown = "unless" if suffix == "when" and statement.unless else suffix
            found.append(faults.wrong_suffix(statement, shown, node.span, file))
    if "for" in allowed:
        found += faults.check_families(statement.families, file)
    return found


def read_tool_names(atoms: tuple[Atom, ...], file: str) -> tuple[tuple[ToolName, ...], list[Diagnostic]]:
    """The names of a list, each once, and what is wrong with them."""
    names: dict[str, ToolName] = {}
    found: list[Diagnostic] = []
    for atom in atoms:
        text = atom.value if isinstance(atom, Text) else atom.text if isinstance(atom, Word) else ""
        if not text:
            found.append(Diagnostic("G103", "a tool's name is not empty", atom.span, file=file))
        elif len(text) > LONGEST_NAME:
            message = f"a tool's name has at most {LONGEST_NAME} characters"
            found.append(Diagnostic("G103", message, atom.span, help="shorten it", file=file))
        elif text in names:
            found.append(Diagnostic("G103", f"`{text[:64]}` is named twice", atom.span, file=file))
        glob = isinstance(atom, Text) and ("*" in text or "?" in text)
        names[text] = ToolName(text, glob, atom.span)
    return tuple(names.values()), found
