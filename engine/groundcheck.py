"""What is wrong with `ground` blocks, as their author can see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..grammar.ast import Json
from ..grammar.diagnostics import Diagnostic, Severity, nearest
from ..rules.grounds import GroundBlock, Listed, Require, Shell, Signal
from ..rules.toolnames import ToolName
from .conditioncheck import check_condition
from .grounds import looks_at_call, looks_at_result, parts_of
from .palettecheck import no_call


def check_ground(ground: GroundBlock, lets: Mapping[str, Json], file: str) -> list[Diagnostic]:
    """What is wrong with the statements of one block."""
    found: list[Diagnostic] = []
    signals = [each.name for each in ground.statements if isinstance(each, Signal)]
    for each in ground.statements:
        if isinstance(each, Signal) and each.condition is not None:
            found += _signal(each, lets, file)
        elif isinstance(each, Require):
            if each.condition is not None:
                found += no_call(each.condition, lets, file)
            for name in each.signals:
                if name not in signals:
                    near = nearest(name, signals)
                    help_ = f"did you mean `{near}`?" if near else "add `signal NAME from TOOL when …`"
                    message = f"no `signal` of this block is called `{name[:64]}`"
                    found.append(Diagnostic("G606", message, each.span, Severity.WARNING, help_, file))
    return found + list(_twice(ground, file))


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


def _twice(ground: GroundBlock, file: str) -> Iterator[Diagnostic]:
    """A tool that reads and changes: it counts as changing."""
    reads = {name.text for each in ground.statements if isinstance(each, Listed) and each.word == "reads"
             for name in each.names}  # fmt: skip
    for each in ground.statements:
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
