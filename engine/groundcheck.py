"""What is wrong with `ground` blocks, as their author can see it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ..grammar.ast import Json
from ..grammar.diagnostics import Diagnostic, Severity, nearest
from ..rules.grounds import GroundBlock, GroundStatement, Listed, Normalize, Require, Shell, Signal
from ..rules.toolnames import ToolName
from .conditioncheck import check_condition
from .grounds import looks_at_call, looks_at_result, parts_of
from .palettecheck import no_call

_SIGNALS, _LONGEST = 64, 64  # statements, and letters of a name, that a session has room for


def check_ground(ground: GroundBlock, lets: Mapping[str, Json], file: str) -> list[Diagnostic]:
    """What is wrong with the conditions of one block."""
    found: list[Diagnostic] = []
    for each in ground.statements:
        if isinstance(each, Signal) and each.condition is not None:
            found += _signal(each, lets, file)
        elif isinstance(each, Require) and each.condition is not None:
            found += no_call(each.condition, lets, file)
    return found


def check_together(
    grounds: Sequence[GroundBlock], signals: Collection[str], file: str
) -> Iterator[Diagnostic]:
    """What is wrong between the statements of all blocks of a file. `signals`: those of all files."""
    yield from _twice(grounds, file)
    for each in _statements(grounds):
        for name in each.signals if isinstance(each, Require) else ():
            if name not in signals:
                near = nearest(name, signals)
                help_ = f"did you mean `{near}`?" if near else "add `signal NAME from TOOL when …`"
                message = f"no `signal` is called `{name[:64]}`, so no completion is ever accepted"
                yield Diagnostic("G606", message, each.span, Severity.WARNING, help_, file)
    own = [each for each in _statements(grounds) if isinstance(each, Signal)]
    for each in own:
        if len(each.name) > _LONGEST:
            message = f"`{each.name[:_LONGEST]}…` is too long for the name of a signal"
            yield Diagnostic("G608", message, each.span, help=f"at most {_LONGEST} letters", file=file)
    if own and len(signals) > _SIGNALS:
        message = f"there are {len(signals)} `signal` statements in all files and packs"
        yield Diagnostic("G608", message, own[-1].span, help=f"at most {_SIGNALS} can be kept", file=file)


def signals_of(grounds: Iterable[GroundBlock]) -> list[str]:
    """The names that the blocks give signals."""
    return [each.name for each in _statements(grounds) if isinstance(each, Signal)]


def tools_of(ground: GroundBlock) -> Iterator[ToolName]:
    """Every tool that a block names."""
    for each in ground.statements:
        match each:
            case Listed() | Normalize():
                yield from each.names
            case Shell() | Signal():
                yield each.tool
            case _:
                pass


def _statements(grounds: Iterable[GroundBlock]) -> Iterator[GroundStatement]:
    for ground in grounds:
        yield from ground.statements


def _signal(signal: Signal, lets: Mapping[str, Json], file: str) -> Iterator[Diagnostic]:
    assert signal.condition is not None
    yield from check_condition(
        signal.condition, lets=lets, place_types=None, declares=None, effect=None, file=file, results=True
    )
    for part in parts_of(signal.condition, unless=signal.unless):
        if looks_at_call(part) and looks_at_result(part):
            yield Diagnostic(
                "G607",
                "this looks at the call and at its result at once",
                signal.span,
                help="join what looks at the call and what looks at the result with `and`",
                file=file,
            )


def _twice(grounds: Sequence[GroundBlock], file: str) -> Iterator[Diagnostic]:
    """A tool that reads and changes: it counts as changing."""
    reads = {name.text for each in _statements(grounds) if isinstance(each, Listed) and each.word == "reads"
             for name in each.names}  # fmt: skip
    for each in _statements(grounds):
        names: tuple[ToolName, ...] = ()
        if isinstance(each, Listed) and each.word == "mutates":
            names = each.names
        elif isinstance(each, Shell):
            names = (each.tool,)
        for name in names:
            if name.text in reads:
                message = f"`{name.text[:64]}` stands under `reads` too; it counts as changing things"
                if isinstance(each, Shell):
                    message = f"`{name.text[:64]}` stands under `reads` too; its command decides"
                yield Diagnostic("G105", message, name.span, Severity.WARNING, "keep one", file)
