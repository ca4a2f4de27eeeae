"""The engine: one set of rules in force, and the verdicts that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from ..grammar.ast import Json
from ..rules.kind import Phase
from . import messages
from .condition import Env
from .definitions import Tools, declared
from .domain import Limits, Refusal, value_fault
from .errors import InputError
from .gate import Gate, make_gate
from .ir import Rule, RuleSet
from .names import Registered, Rename, settle
from .pipeline import judge
from .plan import Hook, Index, Plan, applies_to_model, make_plan
from .rewriting import repairable
from .tools import Tool, own_copy, read_tools
from .verdict import Change, Failure, Observation, Outcome, Verdict

if TYPE_CHECKING:
    from .admission import Policy
    from .grounding import Verifier
    from .grounds import Grounds
    from .offer import Offering, Stage
    from .palette import Source
    from .schema import Schema
    from .session import Follow, Session, Told
    from .stores import Store

_LONGEST = 1024  # code points of a name whose plan is kept
_PLANS = 4096  # kept: a model can call as many names as it likes
_SCHEMAS = 256
_OFFERINGS = 256  # models whose palette blocks are kept compiled
_OVERS = 64  # lists of tools whose engine is kept


class Registry(msgspec.Struct, frozen=True):
    """What a palette may offer: the registered tools, and those of the provider among them, in order.

    `places`: the place of each. `digest` tells registries apart, equal across processes. `size`: bytes that
    the names take in a session's state.
    """

    names: tuple[str, ...]
    places: Mapping[str, int]
    source: Source
    digest: str
    size: int

    @staticmethod
    def of(names: tuple[str, ...], tools: object) -> Registry:
        from hashlib import blake2b

        from .palette import Source
        from .state import names_size

        text = "\0".join(names).encode("utf-8", "surrogatepass")
        digest = blake2b(text, digest_size=8).hexdigest()
        places = {name: place for place, name in enumerate(names)}
        return Registry(names, places, Source(tools), digest, names_size(names))


# By (tool, model); a name alone stands for no model, which is found faster than a pair.
Plans: TypeAlias = dict[str | tuple[str, str], tuple[Gate, Plan]]


class Engine:
    """Rules and tools, compiled for each (tool, model) on first use. Serves every thread.

    `tools`: the registered tools, or None: every name is registered, with no schema of its own.
    `prepare`: the tool owner's hooks by tool name; each gets a deep copy of the arguments. `policies`: what
    the host adds to the admission of places under a `bound`; one that raises denies.
    """

    def __init__(
        self,
        rules: RuleSet,
        tools: Tools | None = None,
        *,
        limits: Limits | None = None,
        prepare: Mapping[str, Hook] | None = None,
        policies: Sequence[Policy] = (),
    ) -> None:
        self.rules = rules
        self._policies = tuple(policies)
        self.limits = limits or Limits()
        self._given = own_copy(tools)
        self._tools = read_tools(self._given)
        if self._tools is not None:
            declared(self._given)  # a name that stands for two things is refused here
        self._registry: Registry | None = None
        self._prepare = dict(prepare or {})
        self._names = Registered.of(self._tools) if self._tools is not None else None
        self._source = rules.source
        self._index = Index(rules.rules)
        self._renaming = tuple(rule for rule in rules.rules if rule.kind.phase is Phase.NAME)
        self._plans: Plans = {}
        self._schemas: dict[bytes, tuple[Schema, Plans]] = {}
        self._offerings: dict[str | None, Offering] = {}
        self._grounds: dict[str | None, Grounds] = {}
        self._overs: dict[bytes, Engine] = {}
        self._root: Engine | None = None  # the engine that this one is over other tools

    @property
    def digest(self) -> str:
        """Digest of the rules in force, equal across processes and machines."""
        return self._source.engine

    @property
    def packs(self) -> tuple[str, ...]:
        """The packs in force, as `name@version`."""
        return self._source.packs

    def __reduce__(self) -> tuple[Callable[..., Engine], tuple[Any, ...]]:
        return _rebuild, (self.rules, self._given, self.limits, self._prepare, self._policies)

    def with_tools(self, tools: Tools | None) -> Engine:
        """The same rules over other tools."""
        return Engine(self.rules, tools, limits=self.limits, prepare=self._prepare, policies=self._policies)

    def over(self, tools: Tools) -> Engine:
        """`with_tools`, compiled once for equal tools: sessions that bring the same ones share an engine."""
        from hashlib import blake2b

        root, given = self._root or self, own_copy(tools)
        try:
            if value_fault(given, root.limits) is not None:
                return self.with_tools(given)  # the key tells only JSON values apart
        except InputError:
            return self.with_tools(given)
        key = blake2b(msgspec.json.encode(given), digest_size=16).digest()
        found = root._overs.pop(key, None)
        if found is None:
            found = self.with_tools(given)
            found._root = root
            for oldest in list(root._overs)[: len(root._overs) - _OVERS + 1]:  # not asked for longest
                root._overs.pop(oldest, None)
        root._overs[key] = found
        return found

    @property
    def tools(self) -> Any:
        """The registered tools as they were given, not to be changed; None where none were."""
        return self._given

    @property
    def registry(self) -> Registry | None:
        """What a palette may offer; None where no tools are registered."""
        if self._tools is None:
            return None
        if self._registry is None:
            self._registry = Registry.of(declared(self._given).offered, self._given)
        return self._registry

    def counts(self, name: str) -> bool:
        """Is a name registered? Every name is, where no tools are."""
        return self._names is None or name in self._names.registered

    def session(
        self,
        id: str | None = None,
        *,
        model: str | None = None,
        tools: Tools | None = None,
        context: Mapping[str, Json] | None = None,
        stages: Sequence[Stage] = (),
        state: bytes | str | None = None,
        claim_surface: Iterable[str] = (),
        verifier: Verifier | None = None,
        threshold: float = 0.5,
        store: Store | None = None,
        follow: Follow | None = None,
        told: Told | None = None,
    ) -> Session:
        """A conversation with one agent: what it is offered, and what its calls come to.

        Args:
            id: the host's name for it.
            tools: the registered ones, where they are not the engine's.
            context: what conditions read as `context.NAME`.
            stages: filters of the host, after those of the rule files.
            state: what `Session.dump` gave, to go on with.
            claim_surface: what claims are about, names and paths, beside what the turn changes.
            verifier: a function of a claim and its text; a score below `threshold` turns an accept into a
                reject.
            store: where the session is kept, by its id, for several processes; see `docs/stores.md`.
            follow: gives the engine of each turn, where the rules can change. `told`: of each verdict.

        Raises:
            InputError: an argument that is none; a state that a newer callgate wrote.
            SchemaError: the tools cannot be used.
        """
        from .session import Session

        if id is not None:
            _text("the session's id", id)
        model_id = None if model is None else _text("the model id", model) or None
        return Session(
            self,
            id,
            model=model_id,
            tools=tools,
            context=context,
            stages=stages,
            state=state,
            claim_surface=claim_surface,
            verifier=verifier,
            threshold=threshold,
            store=store,
            follow=follow,
            told=told,
        )

    def offering(self, model: str | None) -> Offering:
        """The palette blocks for a model, compiled."""
        found = self._offerings.get(model)
        if found is None:
            from .offer import Offering

            found = Offering(self.rules, model)
            if len(self._offerings) >= _OFFERINGS:
                self._offerings.clear()
            self._offerings[model] = found
        return found

    def grounds(self, model: str | None) -> Grounds:
        """The `ground` blocks for a model, compiled."""
        found = self._grounds.get(model)
        if found is None:
            from .grounds import Grounds

            found = Grounds(self.rules, model)
            if len(self._grounds) >= _OFFERINGS:
                self._grounds.clear()
            self._grounds[model] = found
        return found

    def known(self, tool: str) -> Tool | None:
        """A registered tool."""
        return None if self._tools is None else self._tools.get(tool)

    def known_part(self, tool: str, arguments: Json) -> Json:
        """The arguments that the tool's schema names, or all where it has none."""
        known = self.known(tool)
        if known is None or known.schema is None or not isinstance(arguments, dict):
            return arguments
        names = known.schema.root.properties
        return {key: value for key, value in arguments.items() if key in names} if names else arguments

    def check_in(
        self,
        tool: str,
        arguments: object,
        env: Env,
        *,
        model: str | None,
        stop_reason: str | None = None,
        offers: Callable[[str], bool] | None = None,
        text: bool = False,
    ) -> Verdict:
        """`check` within a session: what it knows is in `env`, and only what it `offers` may be called."""
        return self._check(tool, arguments, model, None, env, stop_reason, text=text, offers=offers)

    def check(
        self,
        tool: str,
        arguments: object,
        *,
        model: str | None = None,
        schema: Json = None,
        context: Mapping[str, Json] | None = None,
        stop_reason: str | None = None,
    ) -> Verdict:
        """The verdict on one call.

        Args:
            tool: the tool's name, as the model wrote it.
            arguments: a value of the JSON domain, or the text that the model sent.
            model: the model's id, as the provider writes it.
            schema: this tool's argument schema, where the engine was given none.
            context: what conditions read as `context.NAME`.
            stop_reason: why the answer ended, as the provider says it.

        Raises:
            InputError: something given is outside the JSON domain.
            SchemaError: `schema` is no JSON Schema.
        """
        if type(tool) is str and schema is None and context is None and (model is None or type(model) is str):
            entry = self._plans.get(tool if model is None else (tool, model))
            if entry is not None:
                # It was settled before that the tool is registered and the model id is text.
                verdict = entry[0](arguments, None)
                if verdict is not None:
                    return verdict
                if stop_reason is None:
                    return judge(entry[1], entry[0], arguments, None, None, text=False)
        env = None if context is None else Env(context=_context(context))
        return self._check(tool, arguments, model, schema, env, stop_reason, text=False)

    def check_text(
        self,
        tool: str,
        text: str,
        *,
        model: str | None = None,
        schema: Json = None,
        context: Mapping[str, Json] | None = None,
        stop_reason: str | None = None,
    ) -> Verdict:
        """The verdict on a call whose arguments are text as it came; its first reading is no change."""
        if type(text) is not str:
            raise InputError(f"argument text must be text, not `{type(text).__name__}`")
        env = None if context is None else Env(context=_context(context))
        return self._check(tool, text, model, schema, env, stop_reason, text=True)

    def tool_schemas(self, model: str | None = None) -> dict[str, Json]:
        """The tools' schemas by name, tightened by the bounds in force, for hosts that send them to a model.

        A tool without a schema has `{"type": "object"}` and its bounds.
        """
        from .tightened import tightened

        return {name: tightened(self.plan(name, model)) for name in self._tools or {}}

    def observe_failure(
        self,
        tool: str,
        arguments: object,
        error: str = "",
        *,
        model: str | None = None,
        schema: Json = None,
        context: Mapping[str, Json] | None = None,
    ) -> Failure:
        """What would have been repaired in arguments that a tool refused; nothing is to be sent again.

        `error`: what the tool said; it is not looked into.
        """
        if type(error) is not str:
            raise InputError(f"the error must be text, not `{type(error).__name__}`")
        # No policy of the host is asked: there is no call that it could be asked about.
        quiet = self
        if self._policies:
            quiet = Engine(self.rules, self._given, limits=self.limits, prepare=self._prepare)
        verdict = quiet.check(tool, arguments, model=model, schema=schema, context=context)
        seen = {(each.rule, each.path): each.kind for each in verdict.changes}
        if not verdict.changes and type(arguments) is dict:
            # Another place may be at fault as well; what a bound would have repaired is seen all the same.
            _, plan = quiet._entry(verdict.tool, _text("the model id", model or "") or None, schema)
            env = None if context is None else Env(context=_context(context))
            seen = dict.fromkeys(repairable(plan, arguments, env), "bound")
        return Failure(
            verdict.tool,
            tuple(
                Observation(rule, kind, path, "would have been repaired")
                for (rule, path), kind in seen.items()
            ),
        )

    def plan(self, tool: str, model: str | None = None) -> Plan:
        """What applies to a registered tool and a model, compiled."""
        model_id = None if model is None else _text("the model id", model) or None
        return self._entry(_text("the tool's name", tool), model_id, None)[1]

    def _check(
        self,
        tool: object,
        arguments: object,
        model: object,
        schema: Json,
        env: Env | None,
        stop_reason: object,
        *,
        text: bool,
        offers: Callable[[str], bool] | None = None,
    ) -> Verdict:
        name = _text("the tool's name", tool)
        model_id = None if model is None else _text("the model id", model) or None
        stop = None if stop_reason is None else _text("the stop reason", stop_reason)
        renamed: tuple[Change, ...] = ()
        fault = _bad_name(name)
        if fault is None and self._names is not None and name not in self._names.registered:
            found = settle(name, self._names, self._renames(model_id), offers)
            if isinstance(found, Refusal):
                fault = found
            else:
                name, renamed = found
        if fault is not None:
            # What is outside the JSON domain is the host's error all the same.
            value_fault(arguments, self.limits)
            return self._unknown(name, arguments, fault)
        if offers is not None and not offers(name):
            value_fault(arguments, self.limits)
            return self._not_offered(name, arguments, offers)
        gate, plan = self._entry(name, model_id, schema)
        if not text and not renamed:
            verdict = gate(arguments, env)
            if verdict is not None:
                return verdict
        return judge(plan, gate, arguments, env, stop, text=text, renamed=renamed)

    def _entry(self, tool: str, model: str | None, schema: Json) -> tuple[Gate, Plan]:
        """The compiled rules for a tool and model, kept while there is room."""
        if schema is None:
            compiled, plans = None, self._plans
        else:
            compiled, plans = self._schema(schema, tool)
        key = tool if model is None else (tool, model)
        entry = plans.get(key)
        if entry is None:
            known = self._tools.get(tool) if self._tools is not None else None
            plan = make_plan(
                self.rules,
                self._index.rules_for(tool),
                tool,
                model,
                compiled or (known.schema if known is not None else None),
                self.limits,
                prepare=self._prepare.get(tool),
                mutates=known is not None and known.mutates,
                policies=self._policies,
            )
            entry = (make_gate(plan), plan)
            if len(plans) >= _PLANS:
                plans.clear()
            if len(tool) <= _LONGEST:  # nobody calls a tool with a longer name twice
                plans[key] = entry
        return entry

    def _schema(self, document: Json, tool: str) -> tuple[Schema, Plans]:
        """A schema given with a call, compiled once for equal documents."""
        from .schema import Schema, check_domain

        check_domain(document, f"the schema of `{tool[:64]}`")  # the key tells only JSON values apart
        try:
            key = msgspec.json.encode(document)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return Schema(document, f"the schema of `{tool[:64]}`"), {}
        found = self._schemas.get(key)
        if found is None:
            found = (Schema(document, f"the schema of `{tool[:64]}`"), {})
            if len(self._schemas) >= _SCHEMAS:
                self._schemas.clear()
            self._schemas[key] = found
        return found

    def _renames(self, model: str | None) -> tuple[Rename, ...]:
        """The `rename` rules in force for a model, in order."""
        rules = [rule for rule in self._renaming if applies_to_model(rule, model)]
        return tuple(rename for rule in rules for rename in _rename(rule))

    def _unknown(self, name: str, arguments: object, fault: Refusal) -> Verdict:
        received = messages.text_of(arguments, messages.RECEIVED)
        return Verdict(
            Outcome.UNREPAIRABLE,
            name,
            arguments,
            self._source,
            retry_message=messages.sendable(f"{fault.message}\nReceived: {received}"),
            code=fault.code,
            fingerprint=messages.fingerprint("", fault.code, []),
        )

    def _not_offered(self, name: str, arguments: object, offers: Callable[[str], bool]) -> Verdict:
        listed = list(islice(filter(offers, self._tools or ()), 20))
        if listed:
            note = f"Call one of those that are: {', '.join(f'`{each[:64]}`' for each in listed)}."
        else:
            note = "No tool is offered: answer without a call."
        reason = f"`{name[:64]}` is not offered in this request"
        return Verdict(
            Outcome.DENIED,
            name,
            arguments,
            self._source,
            reason=reason,
            decided_by=("palette",),
            retry_message=messages.sendable(f"The call was refused: {reason}. {note}"),
            code="not_offered",
            fingerprint=messages.fingerprint(name, "not_offered", []),
        )


def _rename(rule: Rule) -> list[Rename]:
    """What one `rename` rule does: the kind's function, with its block's tool bound."""
    apply = rule.kind.rename(rule.spec)
    if apply is None:
        return []
    targets = [*rule.tools, *rule.globs]
    return [Rename(rule.name, _bound(apply, target), rule.spec.note) for target in targets]


def _bound(apply: Callable[[str, str], str | None], tool: str) -> Callable[[str], str | None]:
    return lambda name: apply(name, tool)


def _text(what: str, value: object) -> str:
    if type(value) is not str:
        raise InputError(f"{what} must be text, not `{type(value).__name__}`")
    return value


def _bad_name(name: str) -> Refusal | None:
    if not name:
        return Refusal("unknown-tool", "The call names no tool. Send the name of one.")
    try:
        name.encode()
    except UnicodeEncodeError:
        return Refusal("surrogate", "The tool's name holds half of a surrogate pair. Send its exact name.")
    return None


def _context(context: object) -> Mapping[str, Json]:
    if type(context) is not dict:
        raise InputError(f"the context must be an object, not `{type(context).__name__}`")
    fault = value_fault(context, Limits())
    if fault is not None:
        raise InputError(f"the context cannot be used: {fault.message}")
    return context


def _rebuild(
    rules: RuleSet,
    tools: Tools | None,
    limits: Limits,
    prepare: Mapping[str, Hook],
    policies: tuple[Policy, ...],
) -> Engine:
    return Engine(rules, tools, limits=limits, prepare=prepare, policies=policies)
