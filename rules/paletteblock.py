"""`palette` blocks, read: one frozen value each, and what is wrong with it."""

from __future__ import annotations

from ..grammar.ast import Statement, Word
from ..grammar.diagnostics import Diagnostic, Severity
from .fitting import read_tool_names, statements_of
from .palettes import MOST_FORCED, Always, Filter, Force, PaletteBlock, PaletteStatement
from .shapes import Fields

_LIMIT = 100  # the largest number that makes sense after `at most`


def read_palette(statement: Statement, name: str, file: str) -> tuple[PaletteBlock | None, list[Diagnostic]]:
    """Read the block of a `palette`; None with the errors of all its statements."""
    found: list[Diagnostic] = []
    statements: list[PaletteStatement] = []
    offers: list[Statement] = []
    for inner, fields in statements_of(statement, "palette", file, found):
        word = inner.word.text
        if word == "force":
            force, wrong = _force(inner, fields, file)
            found += wrong
            statements.append(force)
            continue
        names, wrong = read_tool_names(fields.groups["tool"], file)
        found += wrong + _misplaced(inner, fields, file)
        if word == "always":
            statements.append(Always(names, inner.span))
            continue
        if word == "offer":
            offers.append(inner)
        statements.append(Filter(names, word == "exclude", "hard" in fields, inner.span))
    if len(offers) > 1:
        message = f"`palette {name[:64]}` has two `offer`, so only what both name is offered"
        help_ = "join them with a comma, if each was to add tools"
        found.append(Diagnostic("G602", message, offers[1].span, Severity.WARNING, help_, file))
    if any(fault.severity is Severity.ERROR for fault in found):
        return None, found
    block = PaletteBlock(
        name,
        tuple(statements),
        statement.families,
        statement.condition,
        statement.unless,
        statement.span,
    )
    return block, found


def _misplaced(statement: Statement, fields: Fields, file: str) -> list[Diagnostic]:
    """`exclude a, hard`: a tool called `hard`, and probably not meant."""
    return [
        Diagnostic(
            "G604",
            f"here `{atom.text}` is the name of a tool",
            atom.span,
            Severity.WARNING,
            f"write `{statement.word.text} TOOL hard` without the comma, or quote the tool's name",
            file,
        )
        for atom in fields.groups["tool"]
        if isinstance(atom, Word) and atom.text in ("hard", "soft", "once")
    ]


def _force(statement: Statement, fields: Fields, file: str) -> tuple[Force, list[Diagnostic]]:
    names, found = read_tool_names(fields.groups["tool"], file)
    name = names[0]
    if name.glob:
        message = f"`force` names one tool, and `{name.text[:64]}` stands for several"
        found.append(Diagnostic("G603", message, name.span, help="write the tool's whole name", file=file))
    if "once" in fields and "until" in fields:
        message = "`once` and `until success` say two things"
        found.append(Diagnostic("G603", message, statement.span, help="keep one of them", file=file))
    most = fields.json("times") if "times" in fields else MOST_FORCED
    if type(most) is not int or not 1 <= most <= _LIMIT:
        message = f"`at most` takes a whole number from 1 to {_LIMIT}"
        found.append(Diagnostic("G603", message, fields.atom("times").span, file=file))
        most = MOST_FORCED
    return (
        Force(
            name.text,
            "until" in fields,
            most,
            "soft" in fields,
            statement.condition,
            statement.unless,
            statement.span,
        ),
        found,
    )
