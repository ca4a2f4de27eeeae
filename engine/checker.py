"""Rule files against the schemas of their tools: what can never apply, and what is misspelt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ..grammar.ast import STAR, Json, Pointer
from ..grammar.diagnostics import Diagnostic, Severity, nearest
from ..grammar.pointer import pointer_text
from ..grammar.span import Span
from ..rules.grounds import Shell, Signal, Surface
from ..rules.kind import Phase
from ..rules.reader import check_rule
from .conditioncheck import check_condition
from .groundcheck import tools_of
from .palettecheck import check_palette_tools
from .places import View
from .schema import Schema
from .selector import pointer
from .tools import Tool
from .units import Unit, Written


def check_tools(
    unit: Unit,
    registered: Mapping[str, Tool] | None,
    lets: Mapping[str, Json],
    offers: tuple[str, ...] = (),
) -> list[Diagnostic]:
    """Every finding of one file against the tools, each once.

    `registered`: the host's; where it gives none for a tool, the `schema` rule of the file counts.
    `lets`: the values that the file can name. `offers`: what a palette may offer.
    """
    found: list[Diagnostic] = []
    tools = {**_own_tools(unit), **(registered or {})}
    for item in unit.items:
        if isinstance(item, Written):
            found += _slow_patterns(item, tools, unit.file)
            found += _idle_renames(item, registered or {}, unit.file)
            if registered is not None:
                found += _unknown_tools(item, registered, unit.file)
            for name in item.block.names:
                tool = tools.get(name.text)
                if tool is not None and tool.schema is not None:
                    found += _check(item, tool.name, tool.schema.root, unit, lets)
    if registered is not None:
        found += _check_grounds(unit, registered, lets)
        for palette in unit.palettes:
            found += check_palette_tools(palette, offers, unit.file)
    return list(dict.fromkeys(found))


def _own_tools(unit: Unit) -> dict[str, Tool]:
    """The tools whose schema the file itself gives."""
    return {
        name.text: Tool(name.text, Schema(item.spec.clauses["document"], f"the schema of `{name.text[:64]}`"))
        for item in unit.items
        if isinstance(item, Written) and "document" in item.spec.clauses
        for name in item.block.names
        if not name.glob
    }


def _check_grounds(unit: Unit, tools: Mapping[str, Tool], lets: Mapping[str, Json]) -> Iterator[Diagnostic]:
    """The tools that `ground` blocks name, and the places of their arguments."""
    for ground in unit.grounds:
        for name in tools_of(ground):
            if not name.glob and name.text not in tools:
                yield _unknown_tool(name.text, name.span, tools, unit.file)
        for each in ground.statements:
            if isinstance(each, Surface):
                yield from _unknown_anywhere(each, tools, unit.file)
            elif isinstance(each, Shell | Signal) and not each.tool.glob:
                schema = tools[each.tool.text].schema if each.tool.text in tools else None
                if schema is not None:
                    yield from _ground_places(each, schema.root, lets, unit.file)


def _ground_places(
    statement: Shell | Signal, root: View, lets: Mapping[str, Json], file: str
) -> Iterator[Diagnostic]:
    if isinstance(statement, Shell):
        for found in _unknown_field(statement.command, statement.tool.text, root, file):
            yield replace(found, severity=Severity.WARNING)  # then each call counts as a change
    elif statement.condition is not None:
        wrong = check_condition(
            statement.condition,
            lets=lets,
            place_types=None,
            declares=lambda selector: declared(selector, root),
            effect=None,
            file=file,
            results=True,
        )
        yield from (each for each in wrong if each.code == "G104")


def _unknown_anywhere(surface: Surface, tools: Mapping[str, Tool], file: str) -> Iterator[Diagnostic]:
    """A place that no tool has; a tool without a schema may have any."""
    schemas = [tool.schema for tool in tools.values()]
    for selector in surface.selectors:
        if not any(schema is None or declared(selector, schema.root) is True for schema in schemas):
            message = f"no tool has the field `{pointer_text(selector.segments)}`"
            proposals = {
                found
                for schema in schemas
                if schema is not None and isinstance(found := declared(selector, schema.root), str)
            }
            help_ = f"did you mean `{min(proposals)}`?" if proposals else ""
            yield Diagnostic("G104", message, selector.span, Severity.WARNING, help_, file)


def _unknown_tools(item: Written, tools: Mapping[str, Tool], file: str) -> Iterator[Diagnostic]:
    for name in item.block.names:
        if not name.glob and name.text not in tools:
            yield _unknown_tool(name.text, name.span, tools, file)


def _unknown_tool(name: str, span: Span, tools: Mapping[str, Tool], file: str) -> Diagnostic:
    near = nearest(name, tools)
    return Diagnostic(
        "G111",
        f"there is no tool `{name[:64]}`, so what is said of it never applies",
        span,
        Severity.WARNING,
        f"did you mean `{near}`?" if near else "",
        file,
    )


def _slow_pattern(tool: str, span: Span, file: str) -> Diagnostic:
    """A `pattern` of the schema needs look-around or back-references."""
    return Diagnostic(
        "G112",
        f"a `pattern` in the schema of `{tool[:64]}` does not run in linear time",
        span,
        Severity.WARNING,
        "a text on which it takes too many steps counts as invalid; write it without look-around",
        file,
    )


def _slow_patterns(item: Written, tools: Mapping[str, Tool], file: str) -> Iterator[Diagnostic]:
    for name in item.block.names:
        tool = tools.get(name.text)
        if tool is not None and tool.schema is not None and not tool.schema.linear:
            yield _slow_pattern(name.text, name.span, file)


def _idle_renames(item: Written, tools: Mapping[str, Tool], file: str) -> Iterator[Diagnostic]:
    """A registered name always means itself, so a rule that renames it never applies."""
    for name in item.spec.clauses.get("from", ()) if item.kind.phase is Phase.NAME else ():
        if name in tools:
            message = f"`{name[:64]}` is a registered tool, so it is never renamed"
            yield Diagnostic("G113", message, item.spec.span, Severity.WARNING, "leave it out", file)


def _check(
    item: Written, tool: str, root: View, unit: Unit, lets: Mapping[str, Json]
) -> Iterator[Diagnostic]:
    spec, kind = item.spec, item.kind
    for selector in spec.selectors:
        if not item.block.in_glob:
            yield from _unknown_field(selector, tool, root, unit.file)
    place = root.under(spec.selectors[0].segments) if spec.selectors else root
    if kind.acts_on_parent and spec.selectors:
        place = root.under(spec.segments[:-1])
    yield from check_rule(kind, spec, place, unit.file)
    if spec.condition is None:
        return
    sent = frozenset(
        name
        for other in unit.items
        if isinstance(other, Written) and other.kind.mends_missing and other.block is item.block
        for name in other.spec.clauses.get("from", ())
    )
    base = root.under(spec.segments) if kind.condition_at_place and spec.selectors else root
    yield from check_condition(
        spec.condition,
        lets=lets,
        place_types=lambda selector: base.under(selector.segments).types or None,
        declares=lambda selector: _may_be_sent(selector, base, sent),
        place_enum=lambda selector: base.under(selector.segments).enum,
        effect=kind.effect.value if kind.phase is Phase.PERMIT and kind.effect is not None else None,
        file=unit.file,
    )


def _unknown_field(selector: Pointer, tool: str, root: View, file: str) -> Iterator[Diagnostic]:
    found = declared(selector, root)
    if found is True:
        return
    help_ = f"did you mean `{found}`?" if isinstance(found, str) else "write a field of the schema"
    span: Span = selector.span
    field = _first_unknown(selector, root)
    yield Diagnostic("G104", f"no field `{field}` in the schema of `{tool}`", span, help=help_, file=file)


def _may_be_sent(selector: Pointer, root: View, sent: frozenset[str]) -> bool | str:
    """Like `declared`; but what models send, or an open schema takes, may stand in a condition."""
    found = declared(selector, root)
    last = selector.segments[-1] if selector.segments else None
    if last in sent or (found is False and not _is_closed(selector, root)):
        return True
    return found


def _is_closed(selector: Pointer, root: View) -> bool:
    """Does the schema take no key here but those that it names?"""
    return not root.under(selector.segments).types


def declared(selector: Pointer, root: View) -> bool | str:
    """True where the schema has the place or does not say; else the selector to propose, or False."""
    here = root
    for index, segment in enumerate(selector.segments):
        below = here.child(segment)
        if isinstance(segment, str) and _closed(here, segment, below):
            near = nearest(segment, here.properties)
            if near is None:
                return False
            parts = (*selector.segments[:index], near, *selector.segments[index + 1 :])
            return pointer(tuple("*" if each is STAR else str(each) for each in parts))
        here = below
    return True


def _first_unknown(selector: Pointer, root: View) -> str:
    here = root
    for segment in selector.segments:
        below = here.child(segment)
        if isinstance(segment, str) and _closed(here, segment, below):
            return segment
        here = below
    return ""


def _closed(here: View, segment: str, below: View) -> bool:
    """Does the schema name fields here, and not this one, and say nothing of others?"""
    return (
        bool(here.properties)
        and segment not in here.properties
        and ((not below.every and not below.groups) or not below.types)
    )
