"""`ground` and `preset` blocks, read: one frozen value for each statement, and what is wrong with it."""

from __future__ import annotations

from ..grammar.ast import Pointer, Statement, Text
from ..grammar.diagnostics import Diagnostic, Severity
from . import faults
from .fitting import items_and_block, read_tool_names, statements_of
from .grounds import (
    GroundBlock,
    GroundStatement,
    Listed,
    Normalize,
    PresetBlock,
    Require,
    Shell,
    Signal,
    Surface,
)
from .shapes import Fields, selector

_LARGEST = 1_000


def read_ground(statement: Statement, file: str) -> tuple[GroundBlock | None, list[Diagnostic]]:
    """Read the block of a `ground`; None with the errors of all its statements."""
    found: list[Diagnostic] = []
    statements: list[GroundStatement] = []
    for inner, fields in statements_of(statement, "ground", file, found):
        one, wrong = _ground(inner, fields, file)
        found += wrong
        statements.append(one)
    if any(fault.severity is Severity.ERROR for fault in found):
        return None, found
    return GroundBlock(tuple(statements), statement.span), found


def _ground(statement: Statement, fields: Fields, file: str) -> tuple[GroundStatement, list[Diagnostic]]:
    word, span = statement.word.text, statement.span
    if word == "require":
        names = fields.names("signal")
        return Require(names, statement.condition, statement.unless, span), []
    if word == "surface":
        pointers = [selector(atom) for atom in fields.groups["selector"]]
        return Surface(tuple(each for each in pointers if each is not None), span), []
    tools, found = read_tool_names(fields.groups["tool"], file)
    if word == "shell":
        command: Pointer = fields.selector("command")
        if any(not isinstance(segment, str) for segment in command.segments):
            message = "the command of a shell stands at one place"
            found.append(Diagnostic("G203", message, command.span, help="write it without `*`", file=file))
        return Shell(tools[0], command, span), found
    if word == "signal":
        return Signal(fields.name("name"), tools[0], statement.condition, statement.unless, span), found
    if word == "normalize":
        atom = fields.atom("pattern")
        bad = faults.check_regex(atom, file) if isinstance(atom, Text) else None
        found += [bad] if bad is not None else []
        return Normalize(tools, fields.name("pattern"), fields.name("text"), span), found
    return Listed(word, tools, span), found


def read_preset(statement: Statement, name: str, file: str) -> tuple[PresetBlock | None, list[Diagnostic]]:
    """Read a `preset`: with a block a definition, without one, the models that it is for."""
    if items_and_block(statement, True)[1] is None:
        return PresetBlock(name, families=statement.families, span=statement.span), []
    found: list[Diagnostic] = []
    numbers: dict[str, int] = {}
    strict = False
    for inner, fields in statements_of(statement, "preset", file, found):
        strict = strict or inner.word.text == "strict" or "strict" in fields
        for label in ("cap", "refill"):
            if label not in fields:
                continue
            number = fields.json(label)
            if label in numbers:
                found.append(Diagnostic("G605", f"`{label}` stands twice", inner.span, file=file))
            elif type(number) is not int:
                message = f"`{label}` takes a whole number"
                found.append(Diagnostic("G605", message, fields.atom(label).span, file=file))
            else:
                numbers[label] = number
    if not found and not ({"cap", "refill"} <= numbers.keys()):
        message = f"`preset {name[:64]}` says neither or only one of `cap` and `refill`"
        found.append(Diagnostic("G605", message, statement.span, help="write `cap 6 refill 2`", file=file))
    elif not found and not 1 <= numbers["refill"] < numbers["cap"] <= _LARGEST:
        message = f"a preset has 1 <= refill < cap <= {_LARGEST}"
        found.append(Diagnostic("G605", message, statement.span, file=file))
    if any(fault.severity is Severity.ERROR for fault in found):
        return None, found
    made = PresetBlock(name, numbers["cap"], numbers["refill"], strict, statement.families, statement.span)
    return made, found
