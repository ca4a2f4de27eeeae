"""The palette: what one request offers and what it must call, as one immutable value.

Source: `docs/palettes.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from ..rules.providers import Providers
from .contract import Event, Verified, verify
from .definitions import check_unique, declared, narrowed
from .errors import ContractViolation, ForcedToolUnavailable, InputError
from .lowering import Lowered, lower, read_table
from .tools import own_copy

__all__ = ["Lowered", "ToolPalette", "lower", "read_table"]


class Source:
    """The definitions that a palette was made over: shared, not to be changed, and no part of its value."""

    __slots__ = ("tools",)

    def __init__(self, tools: Any) -> None:
        self.tools = tools

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Source)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "Source()"


class ToolPalette(Struct, frozen=True):
    """The offered tools and the forced one.

    `names`: in the order of the registry; None: every tool, as if there were no palette; empty: no tool.
    `forced`: the tool that must be called. `soft`: it may be let go where the provider cannot force it.
    `events`: what happened on the way. `registered`: the names that it was made over, where they are known,
    and `source` their definitions. `model` and `thinking`: who is asked, where it is known.
    """

    names: tuple[str, ...] | None = None
    forced: str | None = None
    soft: bool = False
    events: tuple[Event, ...] = ()
    registered: tuple[str, ...] | None = None
    source: Source | None = None
    model: str | None = None
    thinking: str | None = None

    def __post_init__(self) -> None:
        names: Any = self.names  # typed for those who read it; anybody may give another iterable
        if names is not None:
            force_setattr(self, "names", _names(names))
        if self.forced is not None and (type(self.forced) is not str or not self.forced.strip()):
            what = "an empty one" if type(self.forced) is str else f"`{type(self.forced).__name__}`"
            raise ContractViolation("force_name_invalid", f"a forced tool has a name, not {what}")

    def __contains__(self, name: object) -> bool:
        """Is a tool offered?"""
        return self.names is None or name in self.names

    def check(self, registered: Any) -> ToolPalette:
        """The palette over the registered tools, in their order. `registered`: names or definitions.

        Raises:
            ContractViolation: two tools have one name.
            ForcedToolUnavailable: the forced tool is not registered, or not offered.
            SchemaError: `registered` is no list of tools.
        """
        tools = own_copy(registered)
        have = declared(tools)
        check_unique(have.names)
        known = have.offered
        registry = frozenset(known)
        if self.forced is not None:
            if self.forced not in registry:
                raise _unavailable("forced_not_registered", self.forced, "registered", known)
            if self.names is not None and self.forced not in self.names:
                raise _unavailable("forced_not_offered", self.forced, "offered", self.names)
        names, events = self.names, self.events
        if names is not None:
            offered = frozenset(names)
            events += tuple(
                Event("unknown_name", name, f"`{name[:64]}` is not registered")
                for name in names
                if name not in registry
            )
            names = tuple(name for name in known if name in offered)
        return replace(self, names=names, events=events, registered=known, source=Source(tools))

    @property
    def tools(self) -> Any:
        """The offered definitions, in the form and order in which they were registered: copies.

        Raises:
            InputError: no tools are known; `check` takes them.
        """
        if self.source is None:
            raise InputError("the palette knows no tools: give them to `check`")
        tools = self.source.tools
        return own_copy(tools if self.names is None else narrowed(tools, frozenset(self.names)))

    def to(
        self,
        provider: str,
        *,
        model: str | None = None,
        thinking: str | None = None,
        parallel: bool | None = None,
        history_has_tool_blocks: bool = False,
        providers: Providers | None = None,
    ) -> Lowered:
        """The request fields, the tools to send and the guarantee, for a provider; see `lower`.

        Raises:
            ContractViolation: the provider cannot be asked for this.
            InputError: an argument that is none, or no tools are known.
        """
        if self.source is None:
            raise InputError("the palette knows no tools: give them to `check`")
        # An empty palette offers nothing; only a history with calls may need the tools declared all the same.
        nothing = self.names == () and self.forced is None
        keep = nothing and history_has_tool_blocks
        choice: Any = "none" if nothing else "auto"
        if self.forced is not None:
            choice = _named(self.forced, declared(self.source.tools).hosted)
        return lower(
            provider,
            choice=choice,
            tools=own_copy(self.source.tools) if keep else self.tools,
            model=model if model is not None else self.model,
            thinking=thinking if thinking is not None else self.thinking,
            parallel=parallel,
            mode="soft" if self.soft else "hard",
            history_has_tool_blocks=history_has_tool_blocks,
            providers=providers,
        )

    def verify(self, calls: Iterable[Any], *, parallel: bool | None = None) -> Verified:
        """What an answer made of the palette, by its calls alone: names, or calls as a provider writes them.

        A tool that the provider runs leaves no call: where it is forced, give its items too (`mcp_call`).

        Raises:
            InputError: an entry names no tool.
        """
        offered = self.registered if self.names is None else self.names
        none = self.names == () and self.forced is None
        return verify(calls, offered, forced=self.forced, none=none, parallel=parallel)


def _names(names: Any) -> tuple[str, ...]:
    if isinstance(names, str | bytes | Mapping) or not isinstance(names, Iterable):
        raise InputError("the names of a palette are a list of texts")
    try:
        given = tuple(names)
    except Exception as error:
        raise InputError(f"the names of a palette cannot be read: {type(error).__name__}") from error
    if any(type(name) is not str for name in given):
        raise InputError("the names of a palette are a list of texts")
    # A set has no order that would be the same in every process.
    return tuple(dict.fromkeys(sorted(given) if isinstance(names, set | frozenset) else given))


def _named(forced: str, hosted: tuple[str, ...]) -> dict[str, Any]:
    """The choice of one tool, which may be one of the provider's."""
    if forced not in hosted:
        return {"tool": forced}
    kind, _, server = forced.partition(":")
    return {"mcp": {"server": server}} if kind == "mcp" and server else {"hosted": forced}


def _unavailable(code: str, tool: str, what: str, names: tuple[str, ...]) -> ForcedToolUnavailable:
    listed = ", ".join(f"`{each[:64]}`" for each in names[:20]) or "none"
    message = f"`{tool[:64]}` is forced and not {what}; {what}: {listed}"
    return ForcedToolUnavailable(code, message, tool, names)
