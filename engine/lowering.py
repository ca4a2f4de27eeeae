"""What a tool choice is on the wire: the request fields of each provider, filled from `rules/providers.yaml`.

Source: `docs/palettes.md`. A choice is never lowered through a bare name, and a list never widens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..grammar.ast import Json
from ..rules.providers import CANNOT, STATES, Provider, ProviderError, Providers, read_providers, shipped
from ..rules.regex import compile_regex
from .contract import Event, Verified, verify
from .definitions import Declared, check_unique, declared, form_of, narrowed
from .errors import ContractViolation, ForcedToolUnavailable, InputError

_MODES = ("auto", "none", "required")
_WORDS = ("$name", "$server", "$names", "$entries", "$offered")


class Lowered(Struct, frozen=True):
    """A choice as one provider takes it.

    `body`: the request fields, without the tools. `tools`: those to send, in the form and order in which
    they were given. `guarantee`: `exact` where the service constrains the model, `advisory` where only the
    list and the prompt do. `beside`: what the host has to see to beside the request.
    """

    provider: str
    body: dict[str, Json]
    tools: Any
    guarantee: str
    events: tuple[Event, ...] = ()
    beside: Mapping[str, Json] = {}
    offered: tuple[str, ...] = ()
    kind: str = "auto"
    forced: str | None = None
    parallel: bool | None = None
    tools_at: tuple[str, ...] = ("tools",)
    form: str | None = None  # that definitions must have

    def request(self) -> dict[str, Json]:
        """The body with the tools at their place: what is sent beside model and messages.

        Raises:
            InputError: the tools were given by name, which cannot be sent, or in another provider's form.
        """
        tools = self.tools
        if isinstance(tools, Mapping) and isinstance(tools.get("tools"), list):
            tools = tools["tools"]
        if isinstance(tools, Mapping) or any(isinstance(each, str) for each in tools):
            raise InputError("the tools were given by name; give their definitions, in the provider's form")
        for each in tools if self.form is not None else ():
            form = form_of(each)
            if form not in (None, self.form):
                raise InputError(
                    f"a tool is defined in the form `{form}`, and {self.provider} takes `{self.form}`: give"
                    " the definitions in the form of the provider that is asked"
                )
        request: dict[str, Any] = dict(self.body)
        if tools:
            here = request
            for key in self.tools_at[:-1]:
                here[key] = dict(here.get(key, {}))
                here = here[key]
            here[self.tools_at[-1]] = list(tools)
        return request

    def verify(self, calls: Iterable[Any]) -> Verified:
        """What an answer made of it; see `contract.verify`."""
        return verify(
            calls,
            self.offered,
            forced=self.forced,
            required=self.kind in ("required", "allowed-required"),
            none=self.kind == "none",
            parallel=self.parallel,
        )


class _Wanted(Struct, frozen=True):
    """A choice, read. `kind`: one of `CHOICES`. `names`: the tool, or those that are allowed."""

    kind: str
    names: tuple[str, ...] = ()
    server: str | None = None
    beside: tuple[_Wanted, ...] = ()  # tools of the provider in a list of allowed ones

    @property
    def tag(self) -> str:
        """How a tool of the provider is known, see `tools.hosted_tag`."""
        return f"mcp:{self.server}" if self.kind == "mcp" else self.names[0]

    @property
    def form(self) -> str:
        """What it is to a model that cannot be forced."""
        return "required" if self.kind in ("required", "allowed-required") else "tool"

    @property
    def forces(self) -> bool:
        return self.kind not in ("auto", "none", "allowed-auto")


def lower(
    provider: str,
    *,
    choice: str | Mapping[str, Any] = "auto",
    tools: Any = (),
    model: str | None = None,
    thinking: str | None = None,
    parallel: bool | None = None,
    mode: str = "hard",
    hosted: Sequence[str] = (),
    history_has_tool_blocks: bool = False,
    providers: Providers | None = None,
) -> Lowered:
    """A neutral choice as a provider takes it.

    Args:
        choice: `"auto"`, `"none"`, `"required"`, `{"tool": NAME}`, `{"custom": NAME}`, `{"hosted": TYPE}`,
            `{"mcp": {"server": LABEL, "tool": NAME}}`, or
            `{"allowed": [NAME, …], "mode": "auto"|"required"}`, whose list may hold `{"hosted": …}` and
            `{"mcp": {"server": LABEL}}` too.
        tools: the offered ones: names, or definitions in the provider's form.
        thinking: `off`, `enabled`, `adaptive`, or None for the model's default.
        parallel: may calls stand side by side; None says nothing.
        mode: `hard` refuses what cannot be forced; `soft` sends `auto` with the tools narrowed, advisory.
        hosted: tools that the provider runs, beside those in `tools`.
        providers: another table than the shipped one.

    Raises:
        ContractViolation: it cannot be honoured; `code` says why.
        InputError: an argument that is none of these.
        SchemaError: `tools` is no list of tools.
    """
    table = providers if providers is not None else shipped()
    if not isinstance(table, Providers):
        raise InputError(f"`providers` is a table that was read, not `{type(table).__name__}`")
    spec = find_provider(provider, table)
    state = _one_of("thinking", thinking if thinking is not None else "default", STATES)
    _one_of("mode", mode, ("hard", "soft"))
    if parallel is not None and type(parallel) is not bool:
        raise InputError(f"`parallel` is true, false or nothing, not `{type(parallel).__name__}`")
    if model is not None and type(model) is not str:
        raise InputError(f"the model id must be text, not `{type(model).__name__}`")
    if not isinstance(hosted, list | tuple) or any(type(each) is not str for each in hosted):
        raise InputError("`hosted` is a list of types")
    tools = tools if isinstance(tools, Mapping | list | tuple) else _listed(tools)
    have = declared(tools)
    wanted = _read(choice)
    _check_names(spec, have.names)
    return _Lowering(spec, table, have, tools, (*have.hosted, *hosted), history_has_tool_blocks).lower(
        wanted, model, state, parallel, soft=mode == "soft"
    )


class _Lowering(Struct, frozen=True):
    """One request: what the provider takes, and what is offered."""

    spec: Provider
    table: Providers
    have: Declared
    tools: Any
    hosted: tuple[str, ...]
    history: bool

    def lower(
        self, wanted: _Wanted, model: str | None, thinking: str, parallel: bool | None, *, soft: bool
    ) -> Lowered:
        if not self.have.names and not self.hosted:
            if wanted.forces:
                raise ContractViolation("no_tools_offered", "a call is required, and no tool is offered")
            nothing = self.spec.empty
            return self._made(nothing, _Wanted("none"), "exact", names=(), parallel=None)
        wanted, events = self._known(wanted)
        if wanted.kind == "none":
            return self._none(events, parallel)
        if wanted.forces:
            answer = self.table.answer(self.spec, model, thinking, wanted.form)
            if answer not in ("ok", "quiet"):
                return self._unforced(wanted, answer, model, events, parallel, soft=soft)
            if answer == "quiet":
                events.append(Event("no_thinking_this_request", "", "a forced call leaves no room to think"))
        way = self.spec.choices.get(wanted.kind)
        if wanted.kind == "hosted" and wanted.tag not in self.spec.hosted:
            way = None
        if wanted.kind in ("tool", "custom") and wanted.names[0] in self.have.deferred:
            way = None  # it is not loaded yet, and no choice can name it
        names: tuple[str, ...] | None = None
        if way in ("only", "filter"):
            names = wanted.names
            way = self.spec.choices.get("auto" if wanted.kind == "allowed-auto" else "required")
        if not isinstance(way, Mapping):
            return self._unforced(wanted, CANNOT, model, events, parallel, soft=soft)
        if self.spec.word and wanted.kind == "tool" and wanted.names[0] in self.table.reserved:
            message = f"{self.spec.title} names a tool by a bare word, and `{wanted.names[0]}` means another"
            raise ContractViolation("reserved_tool_name", message)
        return self._made(way, wanted, "exact", names=names, parallel=parallel, events=events)

    def _known(self, wanted: _Wanted) -> tuple[_Wanted, list[Event]]:
        """The choice with what is offered of it; refused where that is nothing."""
        events: list[Event] = []
        match wanted.kind:
            case "tool" | "custom":
                name = wanted.names[0]
                if name not in self.have.names:
                    raise _not_offered(name, self.have.names)
                custom = name in self.have.custom or (wanted.kind == "custom" and name in self.have.bare)
                return _Wanted("custom" if custom else "tool", wanted.names), events
            case "hosted" | "mcp":
                if wanted.tag not in self.hosted:
                    raise _not_offered(wanted.tag, (*self.have.names, *self.hosted))
            case "allowed-auto" | "allowed-required":
                known = frozenset(self.have.names)
                filtered = self.spec.choices.get(wanted.kind) == "filter"
                beside = tuple(
                    each
                    for each in wanted.beside
                    if each.tag in self.hosted and (filtered or each.kind in self.spec.choices)
                )
                late = frozenset() if filtered else self.have.deferred
                strange = [name for name in wanted.names if name not in known or name in late]
                strange += [each.tag for each in wanted.beside if each not in beside]
                events += [
                    Event("unknown_name", name, f"`{name[:64]}` is allowed and not offered")
                    for name in dict.fromkeys(strange)
                ]
                chosen = frozenset(wanted.names)
                chosen -= late
                left = tuple(name for name in self.have.names if name in chosen)
                if not (left or beside):
                    empty = "none of the allowed tools is offered"
                    if wanted.kind == "allowed-required":
                        raise ContractViolation("empty_allow_list", f"a call is required, and {empty}")
                    events.append(Event("empty_allow_list", "", empty))
                    return _Wanted("none"), events
                return _Wanted(wanted.kind, left, beside=beside), events
        return wanted, events

    def _none(self, events: list[Event], parallel: bool | None) -> Lowered:
        wanted, way = _Wanted("none"), self.spec.choices.get("none")
        if isinstance(way, Mapping):
            return self._made(way, wanted, "exact", events=events, parallel=parallel)
        if self.spec.keeps_tools and self.history:
            events.append(
                Event("none_not_supported", "", "the history needs the tools declared: refuse every call")
            )
            way = self.spec.choices["auto"]
            return self._made(way, wanted, "advisory", events=events, parallel=parallel)
        return self._made({}, wanted, "exact", names=(), events=events, parallel=parallel)

    def _unforced(
        self,
        wanted: _Wanted,
        code: str,
        model: str | None,
        events: list[Event],
        parallel: bool | None,
        *,
        soft: bool,
    ) -> Lowered:
        """What cannot be forced: refused, or with `soft` the tools alone, which is a hint."""
        if not soft:
            raise ContractViolation(code, _cannot(code, self.spec, model, self.table, wanted.form))
        events.append(Event("degraded_to_auto", "", _cannot(code, self.spec, model, self.table, wanted.form)))
        names = None if wanted.kind == "required" else wanted.names
        if wanted.kind in ("hosted", "mcp"):
            names, wanted = (), replace(wanted, beside=(wanted,))
        way = self.spec.choices["auto"]
        return self._made(
            way, wanted, "advisory", names=names, events=events, parallel=parallel, sent=_Wanted("auto")
        )

    def _made(
        self,
        way: Mapping[str, Any],
        wanted: _Wanted,
        guarantee: str,
        *,
        names: tuple[str, ...] | None = None,
        parallel: bool | None,
        events: Sequence[Event] = (),
        sent: _Wanted | None = None,
    ) -> Lowered:
        """The answer. `names`: the tools that are sent, None for all. `sent`: what is asked for instead."""
        said = list(events)
        tools = self.tools
        if names is not None:
            tools = narrowed(tools, frozenset((*names, *(each.tag for each in wanted.beside))))
        offered = (*self.have.names, *self.hosted)
        if names is not None:
            offered = (*names, *(each.tag for each in wanted.beside))
        filled = sent or wanted
        body = self._filled(way, filled, offered)
        if parallel is not None and wanted.kind != "none":
            body = self._parallel(body, filled.kind, parallel, said)
        return Lowered(
            self.spec.name,
            body,
            tools,
            guarantee,
            tuple(said),
            dict(self.spec.beside),
            (*wanted.names, *(each.tag for each in wanted.beside))
            if wanted.kind.startswith("allowed")
            else offered,
            wanted.kind,
            wanted.names[0]
            if wanted.kind in ("tool", "custom")
            else wanted.tag
            if wanted.kind in ("hosted", "mcp")
            else None,
            parallel,
            self.spec.tools_at,
            self.spec.form,
        )

    def _parallel(
        self, body: dict[str, Json], kind: str, parallel: bool, events: list[Event]
    ) -> dict[str, Json]:
        switch = self.spec.parallel
        if switch is None:
            if not parallel:
                events.append(
                    Event(
                        "parallel_not_supported",
                        "",
                        f"{self.spec.title} cannot be told to call one at a time",
                    )
                )
            return body
        if kind not in switch.get("choices", (kind,)):
            return body
        return _merged(body, switch["on" if parallel else "off"])

    def _filled(
        self, template: Mapping[str, Any], wanted: _Wanted, offered: tuple[str, ...]
    ) -> dict[str, Json]:
        values: dict[str, Json] = {"$offered": [name for name in offered if name in self.have.names]}
        if wanted.kind.startswith("allowed"):
            values["$names"] = list(wanted.names)
            entries = [*(_Wanted("tool", (name,)) for name in wanted.names), *wanted.beside]
            values["$entries"] = [self._entry(each) for each in entries]
        else:
            values |= _said(wanted)
        filled = _fill(dict(template), values)
        assert isinstance(filled, dict)
        return filled

    def _entry(self, wanted: _Wanted) -> Json:
        """What `tool_choice` would be for this tool alone."""
        custom = wanted.kind == "tool" and wanted.names[0] in self.have.custom
        way = self.spec.choices.get("custom" if custom else wanted.kind) or self.spec.choices.get("tool")
        template = way.get("tool_choice") if isinstance(way, Mapping) else None
        return _fill(template, _said(wanted))


def _said(wanted: _Wanted) -> dict[str, Json]:
    """The words of a template that a choice of one tool has a value for."""
    named: dict[str, Json] = {"$name": wanted.names[0]} if wanted.names else {}
    return named if wanted.server is None else {**named, "$server": wanted.server}


def _fill(template: Json, values: Mapping[str, Json]) -> Json:
    """A template of the table with values for its words. The table is ours: its depth is small."""
    if isinstance(template, dict):
        pairs = ((key, _fill(each, values)) for key, each in template.items() if not _unsaid(each, values))
        return dict(pairs)
    if isinstance(template, list):
        return [_fill(each, values) for each in template]
    return values[template] if isinstance(template, str) and template in values else template


def _unsaid(template: Json, values: Mapping[str, Json]) -> bool:
    return isinstance(template, str) and template in _WORDS and template not in values


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both, the second over the first; objects are joined."""
    both = dict(one)
    for key, value in other.items():
        mine = both.get(key)
        joined = isinstance(mine, dict) and isinstance(value, Mapping)
        both[key] = _merged(mine, value) if joined and isinstance(mine, dict) else value
    return both


def read_table(document: object, base: Providers | None = None) -> Providers:
    """A table of providers as `rules/providers.yaml` has it; it adds to `base`, the shipped one where None.

    Raises:
        InputError: it has faults; all of them are named.
    """
    try:
        return read_providers(document, base if base is not None else shipped())
    except ProviderError as error:
        raise InputError(f"the table of providers: {error}") from error


def find_provider(name: object, table: Providers) -> Provider:
    spec = table.find(name) if type(name) is str else None
    if spec is None:
        near = table.nearest(name) if type(name) is str else None
        known = ", ".join(sorted({each.name for each in table.named.values()}))
        help_ = f"did you mean `{near}`?" if near else f"there are {known}"
        raise InputError(f"there is no provider `{str(name)[:64]}`: {help_}")
    return spec


def _one_of(what: str, value: object, allowed: tuple[str, ...]) -> str:
    if type(value) is not str or value not in allowed:
        raise InputError(f"`{what}` is one of {', '.join(allowed)}, not `{str(value)[:64]}`")
    return value


def _listed(tools: object) -> list[Any]:
    if isinstance(tools, str | bytes) or not isinstance(tools, Iterable):
        raise InputError("`tools` is a list of names or definitions")
    try:
        return list(tools)
    except Exception as error:
        raise InputError(f"the tools cannot be read: {type(error).__name__}") from error


def _read(choice: object) -> _Wanted:
    """The neutral choice. A bare name is refused: it could be a mode."""
    if type(choice) is str and choice in _MODES:
        return _Wanted(choice)
    if isinstance(choice, Mapping):
        one = _one(choice)
        if one is not None:
            return one
        allowed, mode = choice.get("allowed"), choice.get("mode", "auto")
        if isinstance(allowed, list | tuple) and set(choice) <= {"allowed", "mode"}:
            names = tuple(each for each in allowed if type(each) is str)
            beside = [_one(each) for each in allowed if type(each) is not str]
            known = tuple(each for each in beside if each is not None and each.kind in ("hosted", "mcp"))
            if mode in ("auto", "required") and len(known) == len(beside):
                return _Wanted(f"allowed-{mode}", names, beside=known)
    raise InputError(
        'a choice is "auto", "none", "required", or an object with `tool`, `custom`, `hosted`, `mcp` or'
        " `allowed`"
    )


def _one(choice: object) -> _Wanted | None:
    """The choice of one tool, or None where it is another."""
    if not isinstance(choice, Mapping) or len(choice) != 1:
        return None
    ((kind, value),) = choice.items()
    if kind in ("tool", "custom", "hosted") and type(value) is str:
        return _Wanted(kind, (value,))
    if kind == "mcp" and isinstance(value, Mapping):
        server, tool = value.get("server"), value.get("tool")
        if type(server) is str and (tool is None or type(tool) is str):
            return _Wanted("mcp", () if tool is None else (tool,), server)
    return None


def _check_names(spec: Provider, names: tuple[str, ...]) -> None:
    """Step 1: names that the provider takes, each once."""
    check_unique(names)
    pattern = compile_regex(spec.pattern)
    for name in names:
        if len(name) > spec.longest:
            message = f"{spec.title} takes names of at most {spec.longest} characters, not `{name[:64]}…`"
            raise ContractViolation("tool_name_length", message)
        if not _encodable(name) or pattern.fullmatch(name) is None:
            message = f"{spec.title} takes no tool called {name[:64]!r}: a name matches `{spec.pattern}`"
            raise ContractViolation("tool_name_syntax", message)


def _encodable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_offered(name: str, names: tuple[str, ...]) -> ForcedToolUnavailable:
    shown = ", ".join(f"`{each[:64]}`" for each in names[:20]) or "no tool"
    message = f"`{name[:64]}` must be called and is not offered; offered: {shown}"
    return ForcedToolUnavailable("forced_not_offered", message, name, names)


def _cannot(code: str, spec: Provider, model: str | None, table: Providers, form: str) -> str:
    who = f"`{model[:64]}`" if model else "a model that is not named"
    what = f"{spec.title}: {who} cannot be forced"
    if code != CANNOT:
        return f'{what} while it thinks; ask with thinking="off", or do not force'
    if form in spec.choices and table.answer(spec, model, "off", form) in ("ok", "quiet"):
        return f'{what} in this state; ask with thinking="off", or do not force'
    if model is None and form in spec.choices:
        return f"{what}; say which model is asked, or do not force"
    return f"{what} to do this; do not force, or let it be soft"
