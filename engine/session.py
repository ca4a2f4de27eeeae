"""A session: one conversation with one agent, and what its requests offer and its calls come to.

Source: `docs/sessions.md`. Each verb is atomic; two threads may use one session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import RLock
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import msgspec

from ..grammar.ast import Json
from ..rules.providers import STATES, Providers
from . import grounding, remembered
from . import state as memory
from .condition import Env
from .definitions import Tools
from .domain import Limits, value_fault
from .engine import Engine
from .errors import ContractViolation, InputError, StoreError
from .gatevalues import Room
from .gating import came_back, is_whole_name, went_out
from .grounding import THRESHOLD, Decision, Verifier
from .grounds import Grounds
from .offer import Asked, Forced, Served, Stage
from .palette import ToolPalette
from .paths import Folded
from .relevance import home
from .remembered import Answer, TurnSoFar
from .state import Call, State, Turn
from .stores._forks import generation
from .tools import own_copy
from .verdict import Verdict

if TYPE_CHECKING:
    from .stores import Store

T = TypeVar("T")
Told: TypeAlias = "Callable[..., None]"  # see `Deployment.session`
# The engine in force, or of rules with this digest, over the session's own tools; what its model is there;
# who is told. None: what was given last is of this digest, and still counts.
Follow: TypeAlias = "Callable[[str | None, Tools | None], tuple[Engine, str | None, Told] | None]"


class Progress(msgspec.Struct, frozen=True):
    """A snapshot of a session.

    `turn`: user messages so far; `step`: requests of this turn. `budget` and its `cap`; `halted`: a claim was
    refused, and nothing was looked at since. `grounded`: something that was looked at shows an assertion;
    `verified`: everything changed was looked at since. `owed`: what a completion still needs to have read, by
    name; `missing_signals`: what it still needs to be shown.
    """

    turn: int
    step: int
    budget: int
    cap: int
    halted: bool
    grounded: bool
    verified: bool
    owed: tuple[str, ...]
    missing_signals: tuple[str, ...]


class Session:
    """One conversation. Made by `Engine.session`.

    `state`: what it remembers, see `dump`; everything else is given anew when it is restored.
    """

    def __init__(
        self,
        engine: Engine,
        id: str | None = None,
        *,
        model: str | None = None,
        tools: Tools | None = None,
        context: Mapping[str, Json] | None = None,
        stages: Sequence[Stage] = (),
        state: bytes | str | None = None,
        claim_surface: Iterable[str] = (),
        verifier: Verifier | None = None,
        threshold: float = THRESHOLD,
        store: Store | None = None,
        follow: Follow | None = None,
        told: Told | None = None,
    ) -> None:
        if store is not None and not callable(getattr(store, "update", None)):
            raise InputError(f"a store is made by `open_store(URL)`; `{type(store).__name__}` is none")
        if store is not None and (id is None or state is not None):
            raise InputError("a session in a store has an id, and its state from there")
        if verifier is not None and not callable(verifier):
            raise InputError("a verifier is a function of a claim and its text")
        if type(threshold) not in (int, float) or not 0 <= threshold <= 1:
            raise InputError("the verifier's threshold is a number from 0 to 1")
        self.id = id
        self.model = model
        self._engine = engine if tools is None else engine.over(tools)
        self._own = None if tools is None else self._engine.tools  # in the place of the registered ones
        self._follow = follow
        self._told = told
        self._context = _context(context)
        self._stages = _stages(stages)
        self._text: str | None = None
        self._verifier = verifier
        self._threshold = threshold
        self._surface = _names(claim_surface)
        self._state = State(turn=self._turn()) if state is None else memory.decode(state)
        self._stay()
        self._store = store
        self._key = id or ""
        self._locks: dict[int, RLock] = {}  # of each process: that of a parent stays as it was at the fork
        self._busy = -1  # the process that is in a verb
        self._generation = generation()

    @property
    def engine(self) -> Engine:
        """The rules and tools in force."""
        return self._engine

    def dump(self) -> bytes:
        """The session's memory as JSON, for `Engine.session(state=…)`."""
        with self._lock(self._generation[0]):
            kept = None if self._store is None else self._store.read(self._key)
            return memory.encode(self._state) if kept is None else kept

    def user(
        self,
        text: str | None = None,
        *,
        context: Mapping[str, Json] | None = None,
        claim_surface: Iterable[str] | None = None,
    ) -> None:
        """A turn begins: the user spoke.

        `context`: replaces what conditions read as `context.NAME`. `claim_surface`: replaces what claims are
        about, names and paths.
        """
        if text is not None and type(text) is not str:
            raise InputError(f"what the user said is text, not `{type(text).__name__}`")
        given = self._context if context is None else _context(context)
        surface = self._surface if claim_surface is None else _names(claim_surface)

        def begins() -> None:
            self._take(None)
            self._text, self._context, self._surface = text, given, surface
            self._state.turn = self._turn()
            self._state.turns += 1

        self._verb(begins, anew=True)

    def offer(
        self,
        tools: Tools | None = None,
        *,
        provider: str | None = None,
        thinking: str | None = None,
        providers: Providers | None = None,
    ) -> ToolPalette:
        """What the next request offers and forces; call it before each. It holds until the next offer.

        `tools`: the registered ones from now on, where they changed. `provider` and `thinking`: who answers;
        then what it cannot be asked for is found here, and else by `palette.to`.

        Raises:
            ContractViolation: it cannot be honoured; nothing is changed, and the model is not to be asked.
            SchemaError: the tools cannot be used.
        """
        if thinking is not None and thinking not in STATES:
            raise InputError(f"`thinking` is one of {', '.join(STATES)}, not `{str(thinking)[:64]}`")
        served = None if provider is None else Served(provider, thinking, providers)

        def offers() -> ToolPalette:
            engine = self._engine if tools is None else self._engine.over(tools)
            palette = self._compose(engine, served)
            turn = self._state.turn
            if tools is not None:
                self._engine, self._own = engine, engine.tools
            turn.step += 1
            remembered.keep_offer(turn, engine.registry, palette.names)
            if palette.forced is not None:
                remembered.count(
                    turn, "asked", turn.asked, memory.short(palette.forced), self._room().lasting
                )
            return palette

        return self._verb(offers)

    def call(self, tool: str, arguments: object, *, call_id: str, stop_reason: str | None = None) -> Verdict:
        """The verdict on one call of the answer, within the palette that was offered.

        A tool that was not offered is `denied`, with the code `not_offered`. The same call with the same id
        again is the same call.

        Raises:
            InputError: the id belongs to another call, or something is outside the JSON domain.
        """
        return self._call(tool, arguments, call_id, stop_reason, text=False)

    def call_text(self, tool: str, text: str, *, call_id: str, stop_reason: str | None = None) -> Verdict:
        """`call` for arguments that are text as it came over the wire."""
        if type(text) is not str:
            raise InputError(f"argument text must be text, not `{type(text).__name__}`")
        return self._call(tool, text, call_id, stop_reason, text=True)

    def result(self, call_id: str, value: Json = None, *, ok: bool = True) -> None:
        """What came back from a call. An MCP result with `isError` is no good one, whatever `ok` says.

        Raises:
            InputError: no call of this turn has the id, or the result is no JSON value; nothing is changed.
        """
        key = _id(call_id)
        if type(ok) is not bool:
            raise InputError(f"`ok` is true or false, not `{type(ok).__name__}`")
        if value is not None and type(value) is not str:
            _check_result(key, value)
        told_good = ok and not (type(value) is dict and bool(value.get("isError")))

        def came() -> None:
            turn = self._state.turn
            call = turn.calls.get(key)
            if call is None:
                raise InputError(
                    f"no call of this turn has the id `{call_id[:64]}`: it was made in an earlier turn, or"
                    f" never, or is not among the last {memory.CALLS}, which are kept"
                )
            if call.answered:
                return  # told again
            call.answered = True
            good = told_good and call.admitted
            if call.admitted:
                came_back(
                    self._engine.grounds(self.model), turn.ground, self._home, call, value, good, self._seen
                )
            if turn.answered.get(call.tool) is not True:
                remembered.answer(turn, call.tool, good)
            if call.sent:
                remembered.answer(turn, call.sent, good)
            if good:
                if call.tool not in turn.after:
                    remembered.latch(turn, call.tool)
                if call.tool not in self._state.after:
                    if len(self._state.after) < memory.COUNTED:
                        self._state.after.append(call.tool)
                    else:
                        self._state.full = True

        return self._verb(came)

    def reason(self) -> bool:
        """The model thinks, which takes one from its budget. False: it is halted, and has to look first."""
        return self._verb(lambda: grounding.reason(self._state.turn.ground))

    def finish(self, claim: str, text: str = "") -> Decision:
        """Is a claim let out: `completion`, `assertion`, `none`, or `unverified`, which always is?

        Raises:
            InputError: it is no claim; nothing is let out.
        """
        if type(text) is not str:
            raise InputError(f"the text of a claim is text, not `{type(text).__name__}`")

        def claims() -> Decision:
            turn = self._state.turn
            return grounding.finish(
                turn.ground,
                claim,
                text,
                self._grounds().required(self._seen()),
                self._verifier,
                self._threshold,
                ruled=not self._engine.rules.default.passing,
            )

        return self._verb(claims)

    def progress(self) -> Progress:
        """What is there and what is owed, without changing anything."""

        def looks() -> Progress:
            turn = self._state.turn
            ground = turn.ground
            needed = self._grounds().required(self._seen())
            return Progress(
                self._state.turns,
                turn.step,
                ground.budget,
                ground.cap,
                ground.halted,
                ground.grounded,
                ground.verified,
                grounding.debts(ground),
                tuple(name for name in needed if not ground.signals.get(name)),
            )

        return self._verb(looks)

    # Inside -----------------------------------------------------------------------------------

    def _lock(self, process: int) -> RLock:
        return self._locks.get(process) or self._locks.setdefault(process, RLock())

    def _verb(self, work: Callable[[], T], *, anew: bool = False) -> T:
        """One verb at a time, as one update of the store where there is one; it may be done again.

        What runs inside of one, a stage or a hook of the host, cannot use another. `anew`: it needs nothing
        of what was before.
        """
        process = self._generation[0]
        with self._locks.get(process) or self._lock(process):
            if self._busy == process:
                raise InputError("a session cannot be used by what runs inside of its own verbs")
            self._busy = process
            try:
                if self._store is None:
                    if self._follow is not None:
                        self._stay()
                    return work()
                return self._store.update(self._key, self._update(work, anew))
            finally:
                self._busy = -1

    def _update(self, work: Callable[[], T], anew: bool) -> Callable[[bytes | None], tuple[bytes | None, T]]:
        def change(data: bytes | None) -> tuple[bytes | None, T]:
            if data is None and not anew:
                where = f"session `{self._key[:64]}`"
                raise StoreError(where, "the store does not have it, or has lost it; `user` begins it")
            self._state = State(turn=self._turn()) if data is None else memory.decode(data)
            self._stay()
            answer = work()
            return memory.encode(self._state), answer

        return change

    def _grounds(self) -> Grounds:
        return self._engine.grounds(self.model)

    def _room(self) -> Room:
        registry = self._engine.registry
        after = self._state.after
        tools = 0 if registry is None else registry.size - sum(map(len, after)) - 3 * len(after)
        return memory.room(self._state, max(0, tools) + self._grounds().room(self._state.turn.ground.signals))

    def _turn(self) -> Turn:
        """What a turn begins with."""
        ground = grounding.begin(self._grounds().preset, self._surface)
        return Turn(ground=ground, rules="" if self._follow is None else self._engine.digest)

    def _stay(self) -> None:
        """A turn stays on its rules, also one that was begun elsewhere, where they still count."""
        turn = self._state.turn
        if self._follow is not None and turn.rules:
            self._take(turn.rules)
            turn.rules = self._engine.digest

    def _take(self, rules: str | None) -> None:
        """Go on with these rules, or with those that are in force."""
        found = self._follow(rules, self._own) if self._follow is not None else None
        if found is not None:
            self._engine, self.model, self._told = found

    def _seen(self, answer: Answer | None = None) -> Env:
        """What conditions see after a call; of its result, too."""
        return Env(self._context, TurnSoFar(self._state, None, self._state.turn.step), answer)

    def _home(self) -> Folded:
        cwd = self._grounds().cwd
        if cwd is None and self._context is not None:
            given = self._context.get("cwd")
            cwd = given if isinstance(given, str) else None
        return home(cwd)

    def _compose(self, engine: Engine, served: Served | None) -> ToolPalette:
        offering, registry, turn = engine.offering(self.model), engine.registry, self._state.turn
        if engine.rules.default.passing:
            return ToolPalette(
                (),
                registered=None if registry is None else registry.names,
                source=None if registry is None else registry.source,
                model=self.model,
                thinking=None if served is None else served.thinking,
            )
        if registry is None:
            if offering or self._stages:
                raise InputError("a palette needs the tools: give them to the engine, the session or `offer`")
            return ToolPalette(model=self.model)
        if (offering or self._stages) and len(registry.names) > memory.TOOLS:
            raise InputError(f"a palette is made of at most {memory.TOOLS:,} tools")
        step = turn.step + 1
        return offering.offer(
            registry.names,
            Env(self._context, TurnSoFar(self._state, None, step)),
            Asked(self.model, self._context, self._text, step),
            forced=Forced(turn.asked, turn.answered, full="asked" in turn.full),
            stages=self._stages,
            served=served,
            source=registry.source,
        )

    def _offers(self) -> Callable[[str], bool] | None:
        """Whether a tool may be called now; None for every one."""
        turn, registry = self._state.turn, self._engine.registry
        if self._engine.rules.default.passing:
            return None  # the rules deny all, and say why
        if registry is None:
            self._compose(self._engine, None)  # which says so, where there are palettes
            return None
        if turn.step and turn.registry == registry.digest:
            if turn.offered is None:
                return None
            bits, places = int(turn.offered, 16), registry.places
            return lambda name: name in places and bool(bits >> places[name] & 1)
        if not (self._engine.offering(self.model) or self._stages):
            return None
        # Nothing of these tools was offered in this turn: there can be no more than the rules let through.
        try:
            names = self._compose(self._engine, None).names
        except ContractViolation:
            return lambda _name: False
        return None if names is None else frozenset(names).__contains__

    def _call(
        self, tool: str, arguments: object, call_id: str, stop_reason: str | None, *, text: bool
    ) -> Verdict:
        key = _id(call_id)
        if type(tool) is not str:
            raise InputError(f"the tool's name must be text, not `{type(tool).__name__}`")

        def calls() -> tuple[Verdict, Told | None]:
            turn = self._state.turn
            digest = memory.digest_of(tool, arguments)
            known = turn.calls.get(key)
            if known is not None and (digest is None or known.digest != digest):
                raise InputError(f"the id `{call_id[:64]}` belongs to another call of this turn")
            repeats = (
                known.repeats
                if known is not None
                else remembered.times(turn, "repeats", turn.repeats, digest)
            )
            view = TurnSoFar(self._state, repeats, turn.step, known)
            verdict = self._engine.check_in(
                tool,
                arguments,
                Env(self._context, view),
                model=self.model,
                stop_reason=stop_reason,
                offers=self._offers(),
                text=text,
            )
            self._remember(key, tool, digest, verdict, known, repeats)
            return verdict, self._told

        began = perf_counter_ns()
        verdict, told = self._verb(calls)
        if told is not None:
            told(verdict, tool, arguments, began, self.model, self.id, call_id, stop_reason, text=text)
        return verdict

    def _remember(
        self,
        key: str,
        tool: str,
        digest: str | None,
        verdict: Verdict,
        known: Call | None,
        repeats: int | None,
    ) -> None:
        turn, name = self._state.turn, memory.short(verdict.tool)
        admitted = verdict.allowed or verdict.outcome == "asked"
        if known is None:
            known = Call(name, digest, repeats=repeats)
            known.count = remembered.times(turn, "counts", turn.counts, name)
            turn.calls[key] = known
            remembered.count(turn, "repeats", turn.repeats, digest, 0)  # room is left for it
        room = self._room()
        memory.make_room(turn.calls, room.passing)
        if admitted and not known.admitted:  # told again, it may be let through now
            known.admitted, known.tool = True, name
            remembered.count(turn, "counts", turn.counts, name, room.lasting)
            view = TurnSoFar(self._state, repeats, turn.step, known)
            env = Env(self._context, view)
            went_out(self._engine, self._grounds(), turn.ground, self._home(), known, verdict, env, room)
        sent = memory.short(tool)
        known.sent = "" if sent == known.tool else sent


def _names(given: object) -> tuple[str, ...]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InputError("a claim surface is a list of names, not one text")
    try:
        names = list(given)
    except Exception as error:
        raise InputError(f"the claim surface cannot be read: {type(error).__name__}") from error
    if len(names) > memory.SURFACE or not all(type(each) is str and is_whole_name(each) for each in names):
        raise InputError(
            f"a claim surface is a list of at most {memory.SURFACE} names, each of at most"
            f" {memory.LONGEST_ID} characters that can be printed"
        )
    return tuple(dict.fromkeys(sorted(names) if isinstance(given, set | frozenset) else names))


def _id(call_id: object) -> str:
    if type(call_id) is not str or not call_id or len(call_id) > memory.LONGEST_ID:
        raise InputError(f"a call's id is a text of 1 to {memory.LONGEST_ID} characters")
    if not call_id.isascii():
        try:
            call_id.encode()
        except UnicodeEncodeError:
            raise InputError("a call's id holds half of a surrogate pair") from None
    return memory.short(call_id)


def _check_result(call_id: str, value: object) -> None:
    """Raise InputError for what is no JSON value: its text could not be looked at."""
    try:
        value_fault(value, Limits())
    except InputError as error:
        message = f"the result of call `{call_id}` is no JSON value: {error}; give its text, or plain data"
        raise InputError(message) from None


def _context(context: object) -> Mapping[str, Json] | None:
    if context is None:
        return None
    if type(context) is not dict:
        raise InputError(f"the context must be an object, not `{type(context).__name__}`")
    fault = value_fault(context, Limits())
    if fault is not None:
        raise InputError(f"the context cannot be used: {fault.message}")
    return cast("Mapping[str, Json]", own_copy(context))  # nobody changes it in the middle of a turn


def _stages(stages: object) -> tuple[Stage, ...]:
    if not isinstance(stages, list | tuple):
        raise InputError(f"`stages` is a list of stages, not `{type(stages).__name__}`")
    for each in stages:
        if not isinstance(each, Stage) or type(each.name) is not str or not callable(each.choose):
            raise InputError("a stage is a `Stage` with a name and a function")
    return tuple(stages)
