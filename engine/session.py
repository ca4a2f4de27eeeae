"""A session: one conversation with one agent, and what its requests offer and its calls come to.

Source: `docs/sessions.md`. Each verb is atomic; two threads may use one session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import cast

from ..grammar.ast import Json
from ..rules.providers import STATES, Providers
from . import state as memory
from .condition import Env
from .definitions import Tools
from .domain import Limits, value_fault
from .engine import Engine, Registry
from .errors import ContractViolation, InputError
from .offer import Asked, Forced, Served, Stage
from .palette import ToolPalette
from .plan import glob_matches
from .state import Call, State, Turn
from .tools import own_copy
from .verdict import Verdict


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
        context: Mapping[str, Json] | None = None,
        stages: Sequence[Stage] = (),
        state: bytes | str | None = None,
    ) -> None:
        self.id = id
        self.model = model
        self._engine = engine
        self._context = _context(context)
        self._stages = _stages(stages)
        self._text: str | None = None
        self._state = State() if state is None else memory.decode(state)
        self._lock = RLock()
        self._busy = False

    @property
    def engine(self) -> Engine:
        """The rules and tools in force."""
        return self._engine

    def dump(self) -> bytes:
        """The session's memory as JSON, for `Engine.session(state=…)`."""
        with self._lock:
            return memory.encode(self._state)

    def user(self, text: str | None = None, *, context: Mapping[str, Json] | None = None) -> None:
        """A turn begins: the user spoke. `context`: replaces what conditions read as `context.NAME`."""
        if text is not None and type(text) is not str:
            raise InputError(f"what the user said is text, not `{type(text).__name__}`")
        given = self._context if context is None else _context(context)
        with self._using():
            self._text = text
            self._context = given
            self._state.turn = Turn()
            self._state.turns += 1

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
        with self._using():
            engine = self._engine if tools is None else self._engine.over(tools)
            palette = self._compose(engine, served)
            turn = self._state.turn
            self._engine = engine
            turn.step += 1
            _keep_offer(turn, engine.registry, palette.names)
            if palette.forced is not None:
                _count(turn, "asked", turn.asked, memory.short(palette.forced))
            return palette

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
            InputError: no call of this turn has the id.
        """
        key = _id(call_id)
        if type(ok) is not bool:
            raise InputError(f"`ok` is true or false, not `{type(ok).__name__}`")
        good = ok and not (isinstance(value, Mapping) and value.get("isError") is True)
        with self._using():
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
            good = good and call.admitted
            for name in dict.fromkeys((call.sent, call.tool)):
                if name in turn.answered or len(turn.answered) < memory.DIGESTS:
                    turn.answered[name] = turn.answered.get(name, False) or good
            if good:
                _latch(turn.after, call.tool, turn.full)
                if call.tool not in self._state.after:
                    if len(self._state.after) < memory.DIGESTS:
                        self._state.after.append(call.tool)
                    else:
                        self._state.full = True

    # Inside -----------------------------------------------------------------------------------

    @contextmanager
    def _using(self) -> Iterator[None]:
        """One verb at a time; what runs inside of one, a stage or a hook of the host, cannot use another."""
        with self._lock:
            if self._busy:
                raise InputError("a session cannot be used by what runs inside of its own verbs")
            self._busy = True
            try:
                yield
            finally:
                self._busy = False

    def _compose(self, engine: Engine, served: Served | None) -> ToolPalette:
        offering, registry, turn = engine.offering(self.model), engine.registry, self._state.turn
        if registry is None:
            if offering or self._stages:
                raise InputError("a palette needs the tools: give them to the engine, the session or `offer`")
            return ToolPalette(model=self.model)
        step = turn.step + 1
        return offering.offer(
            registry.names,
            Env(self._context, _View(self._state, None, step)),
            Asked(self.model, self._context, self._text, step),
            forced=Forced(turn.asked, turn.answered, full="asked" in turn.full),
            stages=self._stages,
            served=served,
            source=registry.source,
        )

    def _offers(self) -> Callable[[str], bool] | None:
        """Whether a tool may be called now; None for every one."""
        turn, registry = self._state.turn, self._engine.registry
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
        with self._using():
            turn = self._state.turn
            digest = memory.digest_of(tool, arguments)
            known = turn.calls.get(key)
            if known is not None and (
                known.sent != memory.short(tool) or digest is None or known.digest != digest
            ):
                raise InputError(f"the id `{call_id[:64]}` belongs to another call of this turn")
            repeats = known.repeats if known is not None else _known(turn, "repeats", turn.repeats, digest)
            view = _View(self._state, repeats, turn.step, known)
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
            known = Call(memory.short(tool), name, digest, False, False, repeats)
            known.count = _known(turn, "counts", turn.counts, name)
            turn.calls[key] = known
            if len(turn.calls) > memory.CALLS:
                done = next((each for each, call in turn.calls.items() if call.answered), None)
                del turn.calls[done if done is not None else next(iter(turn.calls))]
            _count(turn, "repeats", turn.repeats, digest)
        if admitted and not known.admitted:  # told again, it may be let through now
            known.admitted, known.tool = True, name
            _count(turn, "counts", turn.counts, name)


def _keep_offer(turn: Turn, registry: Registry | None, names: tuple[str, ...] | None) -> None:
    """What a request offers, as bits over the registry."""
    turn.registry = None if registry is None else registry.digest
    turn.offered = None
    if registry is not None and names is not None:
        offered = frozenset(names)
        marks = ("1" if name in offered else "0" for name in reversed(registry.names))
        turn.offered = f"{int(''.join(marks) or '0', 2):x}"


def _count(turn: Turn, what: str, counts: dict[str, int], name: str | None) -> None:
    """One more of a name; where there is no room for it, that is kept instead."""
    if name is None:
        return
    if name in counts or len(counts) < memory.DIGESTS:
        counts[name] = min(counts.get(name, 0) + 1, memory.REPEATS if what == "repeats" else memory.MOST)
    elif what not in turn.full:
        turn.full.append(what)


def _known(turn: Turn, what: str, counts: dict[str, int], name: str | None) -> int | None:
    """How often a name was counted; None where that is not known."""
    if name is None or (what in turn.full and name not in counts):
        return None
    return counts.get(name, 0)


def _latch(after: list[str], name: str, full: list[str]) -> None:
    if name in after:
        return
    if len(after) < memory.DIGESTS:
        after.append(name)
    elif "after" not in full:
        full.append("after")


class _View:
    """What conditions see of a session; None where that is not known. `known`: the call, told before."""

    __slots__ = ("_known", "_state", "repeats", "step")

    def __init__(self, state: State, repeats: int | None, step: int, known: Call | None = None) -> None:
        self._state = state
        self._known = known
        self.repeats = repeats
        self.step = step

    def calls(self, tool: str) -> int | None:
        turn, known = self._state.turn, self._known
        name = memory.short(tool)
        if known is not None and known.tool == name:
            return known.count
        if _is_glob(tool):
            if "counts" in turn.full:
                return None
            return sum(often for each, often in turn.counts.items() if glob_matches(tool, each))
        return _known(turn, "counts", turn.counts, name)

    def after(self, tool: str, in_turn: bool) -> bool | None:
        state = self._state
        names = state.turn.after if in_turn else state.after
        full = "after" in state.turn.full if in_turn else state.full
        if _is_glob(tool):
            found = any(glob_matches(tool, each) for each in names)
        else:
            found = memory.short(tool) in names
        return True if found else None if full else False


def _is_glob(tool: str) -> bool:
    return "*" in tool or "?" in tool


def _id(call_id: object) -> str:
    if type(call_id) is not str or not call_id or len(call_id) > memory.LONGEST_ID:
        raise InputError(f"a call's id is a text of 1 to {memory.LONGEST_ID} characters")
    try:
        call_id.encode()
    except UnicodeEncodeError:
        raise InputError("a call's id holds half of a surrogate pair") from None
    return memory.short(call_id)


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
