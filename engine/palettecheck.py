"""What is wrong with `palette` blocks, as their author can see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..grammar.ast import (
    After,
    And,
    Condition,
    Function,
    Item,
    Json,
    Not,
    Or,
    Paren,
    Pointer,
    Presence,
    Quantified,
    Term,
    Test,
    Truth,
    Word,
)
from ..grammar.diagnostics import Diagnostic, Severity, nearest
from ..rules.palettes import Filter, Force, PaletteBlock, PaletteStatement
from ..rules.toolnames import ToolName
from .conditioncheck import check_condition
from .conditionterms import FUNCTIONS, shown
from .offer import passes
from .plan import glob_matches

_NO_CALL = ("tool", "turn.repeats", "result.ok", "result.text", "result.exit_code")


def check_palette(palette: PaletteBlock, lets: Mapping[str, Json], file: str) -> list[Diagnostic]:
    """What is wrong with the conditions of a palette: there is no call that they could look at."""
    forces = [each for each in palette.statements if isinstance(each, Force)]
    conditions = (palette.condition, *(each.condition for each in forces))
    return [fault for each in conditions if each is not None for fault in no_call(each, lets, file)]


def no_call(condition: Condition, lets: Mapping[str, Json], file: str) -> list[Diagnostic]:
    """What is wrong with a condition that is asked while there is no call."""
    looks = [
        Diagnostic(
            "G315",
            f"there is no call here, so there is no `{shown(term)}`",
            term.span,
            help="it can ask for `context.…`, `model`, `turn.step`, `turn.calls(TOOL)`, `after TOOL`",
            file=file,
        )
        for term in _of_a_call(condition)
    ]
    return looks or check_condition(
        condition, lets=lets, place_types=None, declares=None, effect=None, file=file
    )


def check_palette_tools(palette: PaletteBlock, tools: tuple[str, ...], file: str) -> Iterator[Diagnostic]:
    """Names that no tool has which a palette may offer; a session may register others."""
    for statement in palette.statements:
        if isinstance(statement, Force):
            names: tuple[ToolName, ...] = (ToolName(statement.tool, span=statement.span),)
            what = "every request that forces it is refused"
        else:
            names, what = statement.names, "this part of the list says nothing"
        for name in names:
            there = any(glob_matches(name.text, tool) for tool in tools) if name.glob else name.text in tools
            if not there:
                near = nearest(name.text, tools)
                yield Diagnostic(
                    "G111",
                    f"there is no tool `{name.text[:64]}`, so {what}",
                    name.span,
                    Severity.WARNING,
                    f"did you mean `{near}`?" if near else "",
                    file,
                )


def contradictions(palettes: Iterable[tuple[str, PaletteBlock]]) -> list[Diagnostic]:
    """Forces and hard filters that hold together and cannot be honoured together; each at the later force.

    Those of one block hold together, and those of all blocks without a condition and families.
    """
    found: dict[Diagnostic, None] = {}
    together: list[tuple[str, PaletteStatement]] = []
    for file, palette in palettes:
        own = [(file, each) for each in palette.statements]
        found.update(dict.fromkeys(_clashes(own)))
        if palette.families is None and palette.condition is None:
            together += own
    found.update(dict.fromkeys(_clashes(together)))
    return list(found)


def _clashes(statements: list[tuple[str, PaletteStatement]]) -> Iterator[Diagnostic]:
    forces = [(file, each) for file, each in statements if isinstance(each, Force) and each.condition is None]
    filters = [each for _, each in statements if isinstance(each, Filter) and each.hard]
    help_ = "give one of them a `when`, or take it away"
    for at, (file, force) in enumerate(forces):
        for _, other in forces[:at]:
            if other.tool != force.tool and not (other.soft and force.soft):
                message = f"`{other.tool[:64]}` and `{force.tool[:64]}` are forced at once"
                yield Diagnostic("G601", message, force.span, help=help_, file=file)
                break
        if not all(passes(each, force.tool) for each in filters):
            message = f"`{force.tool[:64]}` is forced, and a hard filter never offers it"
            yield Diagnostic("G601", message, force.span, help=help_, file=file)


def _of_a_call(condition: Condition) -> Iterator[Term]:
    """The terms that look at a call, in the order in which they are written. Iterative."""
    todo: list[Condition] = [condition]
    while todo:
        match todo.pop():
            case Paren(part) | Not(part):
                todo.append(part)
            case And(parts) | Or(parts):
                todo.extend(reversed(parts))
            case Presence(pointer) | Quantified(pointer):
                yield pointer
            case After():
                pass
            case Truth(term):
                yield from _looks(term)
            case Test(left, _, right):
                yield from _looks(left)
                yield from _looks(right)


def _looks(term: Term | Item) -> Iterator[Term]:
    of_call = isinstance(term, Word) and term.text in _NO_CALL
    if isinstance(term, Function):
        of_call = term.name.text in FUNCTIONS and term.name.text != "turn.calls"
    if isinstance(term, Pointer) or (of_call and not isinstance(term, Item)):
        yield term
