"""A session: one conversation with one agent, and what its requests offer and its calls come to.

Source: `docs/sessions.md`. Each verb is atomic; two threads may use one session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import RLock

from ..grammar.ast import Json
from ..rules.providers import STATES, Providers
from . import state as memory
from .condition import Env
from .definitions import Tools
from .domain import Limits, value_fault
from .engine import Engine
from .errors import ContractViolation, InputError
from .offer import Asked, Forced, Served, Stage
from .palette import ToolPalette
from .state import Call, State, Turn
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
        self._lock = RLock()  # a host stage may look at the session

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
        with self._lock:
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
        then what cannot be forced is found here, and else by `palette.to`.

        Raises:
            ContractViolation: it cannot be honoured; nothing is counted, and the model is not to be asked.
            SchemaError: the tools cannot be used.
        """
        if provider is not None and type(provider) is not str:
            raise InputError(f"the provider is a name, not `{type(provider).__name__}`")
        if thinking is not None and thinking not in STATES:
            raise InputError(f"`thinking` is one of {', '.join(STATES)}, not `{str(thinking)[:64]}`")
        served = None if provider is None else Served(provider, self.model, thinking, providers)
        with self._lock:
            if tools is not None:
                self._engine = self._engine.over(tools)
            turn = self._state.turn
            palette = self._compose(served, self._stages)
            turn.step += 1
            turn.offered = palette.names
            if palette.forced is not None:
                turn.asked[palette.forced] = turn.asked.get(palette.forced, 0) + 1
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
        with self._lock:
            turn = self._state.turn
            call = turn.calls.get(key)
            if call is None:
                raise InputError(f"no call of this turn has the id `{key[:64]}`")
            if call.answered:
                return  # told again
            call.answered = True
            for name in {call.sent, call.tool} & self._known():
                turn.answered[name] = turn.answered.get(name, False) or (good and call.admitted)
            if good and call.admitted:
                for tools in (turn.after, self._state.after):
                    if call.tool not in tools and call.tool in self._known():
                        tools.append(call.tool)

    # Inside -----------------------------------------------------------------------------------

    def _compose(self, served: Served | None, stages: Sequence[Stage]) -> ToolPalette:
        offering = self._engine.offering(self.model)
        names = self._engine.offers
        turn = self._state.turn
        if names is None:
            if offering or stages:
                raise InputError("a palette needs the tools: give them to the engine, the session or `offer`")
            return ToolPalette()
        step = turn.step + 1
        return offering.offer(
            names,
            Env(self._context, _View(self._state, None, step)),
            Asked(self.model, self._context, self._text, step),
            forced=Forced(turn.asked, turn.answered),
            stages=stages,
            served=served,
            source=self._engine.tools,
        )

    def _offered(self) -> frozenset[str] | None:
        """The names that calls may have now; None for every one."""
        turn = self._state.turn
        if turn.step:
            return None if turn.offered is None else frozenset(turn.offered)
        if self._engine.offers is None or not (self._engine.offering(self.model) or self._stages):
            return None
        # Nothing was offered in this turn: what the rules let through is all that there can be.
        try:
            names = self._compose(None, self._stages).names
        except ContractViolation:
            return frozenset()
        return None if names is None else frozenset(names)

    def _known(self) -> frozenset[str]:
        return frozenset(self._engine.offers or ())

    def _call(
        self, tool: str, arguments: object, call_id: str, stop_reason: str | None, *, text: bool
    ) -> Verdict:
        key = _id(call_id)
        if type(tool) is not str:
            raise InputError(f"the tool's name must be text, not `{type(tool).__name__}`")
        with self._lock:
            turn = self._state.turn
            digest = memory.digest_of(tool, arguments)
            known = turn.calls.get(key)
            if known is not None and (known.sent != tool[: memory.LONGEST_ID] or known.digest != digest):
                raise InputError(f"the id `{key[:64]}` belongs to another call of this turn")
            env = Env(self._context, _View(self._state, self._repeats(digest, known), turn.step, known))
            verdict = self._engine.check_in(
                tool,
                arguments,
                env,
                model=self.model,
                stop_reason=stop_reason,
                offered=self._offered(),
                text=text,
            )
            if known is None:
                self._remember(key, tool, digest, verdict)
            return verdict

    def _repeats(self, digest: str | None, known: Call | None) -> int | None:
        """How often this call was made before in this turn; None where that is not known."""
        turn = self._state.turn
        if digest is None or (turn.full and digest not in turn.repeats):
            return None
        before = turn.repeats.get(digest, 0)
        return before - 1 if known is not None and before else before

    def _remember(self, key: str, tool: str, digest: str | None, verdict: Verdict) -> None:
        turn = self._state.turn
        admitted = verdict.allowed or verdict.outcome == "asked"
        turn.calls[key] = Call(tool[: memory.LONGEST_ID], verdict.tool[: memory.LONGEST_ID], digest, admitted)
        if len(turn.calls) > memory.CALLS:
            done = next((each for each, call in turn.calls.items() if call.answered), None)
            del turn.calls[done if done is not None else next(iter(turn.calls))]
        known = self._known()
        if admitted and (verdict.tool in known or not known):
            if verdict.tool in turn.counts or len(turn.counts) < memory.DIGESTS:
                turn.counts[verdict.tool] = turn.counts.get(verdict.tool, 0) + 1
        if digest is None:
            return
        if digest in turn.repeats or len(turn.repeats) < memory.DIGESTS:
            turn.repeats[digest] = min(turn.repeats.get(digest, 0) + 1, memory.REPEATS)
        else:
            turn.full = True


class _View:
    """What conditions see of a session. `known`: the call itself, where it was counted before."""

    __slots__ = ("_known", "_state", "repeats", "step")

    def __init__(self, state: State, repeats: int | None, step: int, known: Call | None = None) -> None:
        self._state = state
        self._known = known
        self.repeats = repeats
        self.step = step

    def calls(self, tool: str) -> int:
        known = self._known
        again = known is not None and known.admitted and known.tool == tool
        return self._state.turn.counts.get(tool, 0) - again

    def after(self, tool: str, in_turn: bool) -> bool:
        return tool in (self._state.turn.after if in_turn else self._state.after)


def _id(call_id: object) -> str:
    if type(call_id) is not str or not call_id or len(call_id) > memory.LONGEST_ID:
        raise InputError(f"a call's id is a text of 1 to {memory.LONGEST_ID} characters")
    try:
        call_id.encode()
    except UnicodeEncodeError:
        raise InputError("a call's id holds half of a surrogate pair") from None
    return call_id


def _context(context: object) -> Mapping[str, Json] | None:
    if context is None:
        return None
    if type(context) is not dict:
        raise InputError(f"the context must be an object, not `{type(context).__name__}`")
    fault = value_fault(context, Limits())
    if fault is not None:
        raise InputError(f"the context cannot be used: {fault.message}")
    return context


def _stages(stages: object) -> tuple[Stage, ...]:
    if not isinstance(stages, list | tuple):
        raise InputError(f"`stages` is a list of stages, not `{type(stages).__name__}`")
    for each in stages:
        if not isinstance(each, Stage) or type(each.name) is not str or not callable(each.choose):
            raise InputError("a stage is a `Stage` with a name and a function")
    return tuple(stages)
