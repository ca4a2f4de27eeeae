"""The names of an earlier grounding gate, on the same core, for people who come from it.

`GateState`, `PRESETS`, `classify_observation`, `boundary_check` and `turn_loop`, as
`callgate.engine.grounding` offers them. Source: `docs/grounding.md`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from .errors import InputError
from .gatevalues import PLENTY, SHIPPED, Grounding, Preset
from .gating import noted, settled
from .grounding import LEGAL_NEXT, THRESHOLD, Decision, about, finish, reason
from .grounding import begin as begin_turn
from .grounds import Seen, command_seen, seen
from .normalizing import normalize
from .paths import Folded
from .relevance import composed, home, key_of
from .shellcall import command_of
from .shown import leaves
from .state import digest_of

ACCEPT, REJECT = "ACCEPT", "REJECT"
PRESETS: Mapping[str, Mapping[str, Any]] = {
    name: {"CAP": each.cap, "REFILL": each.refill, "strict_g": each.strict} for name, each in SHIPPED.items()
}


class GateState(msgspec.Struct):
    """What the gate knows, in the fields of the earlier one. `cwd`: what relative paths are joined to.

    Raises:
        InputError: no preset of this name, or not 1 <= refill < cap; names that are one text; a number that
            cannot be.
    """

    budget: int = 6
    cap: int = 6
    refill: int = 2
    strict_g: bool = False
    recent_result_hashes: set[str] = set()
    novelty_exempt: set[str] = set()
    normalizers: dict[str, Callable[[str], str]] = {}
    extractors: dict[str, Callable[[Any, Any], Any]] = {}
    claim_surface: Any = msgspec.field(default_factory=set)
    last_mutation_step: int = 0
    current_step: int = 0
    last_verification_step: int = 0
    rejection_count: int = 0
    grounded_this_turn: bool = False
    verified_this_turn: bool = False
    turn_observations: list[Any] = []
    verified_signals: set[str] = set()
    goal_predicates: list[str] = []
    halted: bool = False
    verify_threshold: float = THRESHOLD
    cwd: str | None = None

    def __post_init__(self) -> None:
        Preset(self.cap, self.refill, self.strict_g)
        if type(self.budget) is not int or self.budget < 0:
            raise InputError("a budget is a whole number from 0 on")
        self.budget = min(self.budget, self.cap)
        if type(self.verify_threshold) not in (int, float) or not 0 <= self.verify_threshold <= 1:
            raise InputError("the verifier's threshold is a number from 0 to 1")
        if type(self.current_step) is not int or type(self.last_mutation_step) is not int:
            raise InputError("steps are whole numbers")
        if self.cwd is not None and type(self.cwd) is not str:
            raise InputError("the working directory is text")
        for name in ("claim_surface", "recent_result_hashes", "novelty_exempt", "verified_signals"):
            setattr(self, name, set(_names(getattr(self, name), name)))
        self.goal_predicates = _names(self.goal_predicates, "goal_predicates")

    @classmethod
    def for_model_class(
        cls,
        model_class: str = "default",
        cap: int | None = None,
        refill: int | None = None,
        strict_g: bool | None = None,
        **fields: Any,
    ) -> GateState:
        """A state with a preset's numbers, some of them replaced."""
        preset = SHIPPED.get(model_class)
        if preset is None:
            raise InputError(f"there is no preset `{str(model_class)[:64]}`; there are {', '.join(SHIPPED)}")
        strict = preset.strict if strict_g is None else strict_g
        made = Preset(preset.cap if cap is None else cap, preset.refill if refill is None else refill, strict)
        fields.setdefault("budget", made.cap)
        return cls(cap=made.cap, refill=made.refill, strict_g=made.strict, **fields)

    def progress(self) -> dict[str, Any]:
        """A snapshot: what is there, and what is missing."""
        missing = [each for each in self.goal_predicates if each not in self.verified_signals]
        return {
            "budget": self.budget,
            "cap": self.cap,
            "halted": self.halted,
            "grounded": self.grounded_this_turn,
            "verified": self.verified_this_turn,
            "missing_signals": missing,
        }


def _names(given: object, what: str) -> list[str]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"`{what}` is a list of names, not one text")
    names = list(given)
    if any(type(each) is not str for each in names):
        raise InputError(f"`{what}` is a list of names")
    return names


def classify_observation(
    tool_name: str, args: Any, result: Any, state: GateState, read_only: bool
) -> dict[str, bool]:
    """Does one result ground an assertion, a completion? What it earns is kept in the state.

    Raises:
        InputError: the arguments or the result are no JSON value.
    """
    core = _core(state)
    core.mutations = core.moves = state.last_mutation_step
    core.anything = state.last_mutation_step or None  # what was changed is not known here
    grounds = read_only and _came(core, tool_name, args, result, state, home(state.cwd))
    if grounds and core.digests:  # of this result, where its tool is not exempt
        grounds = core.digests not in state.recent_result_hashes
        state.recent_result_hashes.add(core.digests)
    verifies = grounds and 0 < state.last_mutation_step < state.current_step
    if grounds:
        state.grounded_this_turn = True
        state.verified_this_turn = state.verified_this_turn or verifies
        if verifies:
            state.last_verification_step = state.current_step
    return {"grounds_assertion": grounds, "grounds_completion": verifies}


def boundary_check(
    terminal_attempt: Mapping[str, Any], state: GateState, verifier: Callable[..., Any] | None = None
) -> dict[str, Any]:
    """Is a claim let out, `{"claim_type", "content"}`? The state is halted where it is not.

    Raises:
        InputError: it is no claim.
    """
    core = _core(state)
    decision = _finish(core, terminal_attempt, state, verifier)
    _back(core, state)
    return _answer(decision, state)


def turn_loop(
    script: Iterable[Mapping[str, Any]], state: GateState, verifier: Callable[..., Any] | None = None
) -> tuple[str | None, list[tuple[str, Any]]]:
    """Run the steps of a turn, to the first claim that is accepted: its text, and what each step came to.

    Raises:
        InputError: something in it is no step, no claim, or no JSON value.
    """
    core = _core(state)
    cwd = home(state.cwd)
    trace: list[tuple[str, Any]] = []
    for step in script:
        if not isinstance(step, Mapping):
            raise InputError(f"a step is an object with a `type`, not `{type(step).__name__}`")
        kind = step.get("type")
        if kind == "reasoning":
            trace.append(("reasoning" if reason(core) else "refused_reasoning", None))
        elif kind == "terminal":
            attempt = step.get("attempt")
            decision = _finish(core, attempt, state, verifier)
            trace.append(("terminal", ACCEPT if decision.accepted else REJECT))
            if decision.accepted:
                _back(core, state)
                return (attempt or {}).get("content"), trace
            state.rejection_count += 1
        elif kind == "tool_call":
            trace.append(("tool_call", _tool_call(core, step, state, cwd)))
        else:
            raise InputError(f"a step is a tool_call, reasoning or terminal, not `{str(kind)[:64]}`")
    _back(core, state)
    return None, trace


def _tool_call(core: Grounding, step: Mapping[str, Any], state: GateState, cwd: Folded) -> dict[str, bool]:
    state.current_step += 1
    changes, ok = bool(step.get("mutating")), step.get("exit_ok", True) is not False
    grounds = _came(
        core,
        step.get("tool", ""),
        step.get("args"),
        step.get("result"),
        state,
        cwd,
        changes=changes,
        ok=ok,
    )
    if changes:
        state.last_mutation_step = state.current_step
    if ok:
        core.signals.update(dict.fromkeys(_names(step.get("signals", ()), "signals"), True))
    return {"grounds_assertion": grounds, "grounds_completion": grounds and core.verified}


def _came(
    core: Grounding,
    tool: str,
    args: Any,
    result: Any,
    state: GateState,
    cwd: Folded,
    *,
    changes: bool = False,
    ok: bool = True,
) -> bool:
    """Does a call with its result ground a claim?"""
    if type(tool) is not str:
        raise InputError(f"the tool's name must be text, not `{type(tool).__name__}`")
    args, result = _plain(args), _plain(result)
    call, command = _see(tool, args, cwd, changes)
    pending = noted(core, tool, call, args, cwd, PLENTY)
    pending.command = command
    pending.exempt = tool in state.novelty_exempt
    pending.known = digest_of(tool, args) or ""
    extract = state.extractors.get(tool)
    if extract is not None and not changes:
        found = extract(args, result)
        listed = [found] if type(found) is str else list(found or ())
        names = {key_of(composed(each), cwd) for each in listed if type(each) is str}
        pending.relevant = any(key_of(each, cwd) in names for each in about(core))
        pending.trusted = False
    clean = state.normalizers.get(tool, normalize)
    return settled(core, tool, pending, result, ok, lambda _, text: clean(text), lambda: cwd)[0]


def _see(tool: str, args: Any, cwd: Folded, changes: bool) -> tuple[Seen, bool]:
    """What a call is, and whether it is a command. Whether it changes something, its step says."""
    command = command_of(tool, args)
    if command is None:
        return seen(args, args, cwd, changes=changes), False
    found = command_seen(*command, cwd)
    if found.changes == changes:
        return found, True
    # Nobody knows what is shown by what may change something, nor what is changed by what only looks.
    return Seen(True, (), (), unnamed=True) if changes else Seen(False, (), tuple(leaves(args))), True


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or type(value) is str:
        return value
    try:
        return json.loads(json.dumps(value))
    except Exception as error:
        why = type(error).__name__
        raise InputError(f"the arguments and the result of a call are JSON values or text: {why}") from None


def _core(state: GateState) -> Grounding:
    core = begin_turn(Preset(state.cap, state.refill, state.strict_g), tuple(sorted(state.claim_surface)))
    core.budget, core.halted = state.budget, state.halted
    core.grounded, core.verified = state.grounded_this_turn, state.verified_this_turn
    core.signals = dict.fromkeys(state.verified_signals, True)
    return core


def _back(core: Grounding, state: GateState) -> None:
    state.budget, state.halted = core.budget, core.halted
    state.grounded_this_turn, state.verified_this_turn = core.grounded, core.verified
    state.verified_signals = {name for name, fresh in core.signals.items() if fresh}


def _finish(core: Grounding, attempt: Any, state: GateState, verifier: Callable[..., Any] | None) -> Decision:
    if not isinstance(attempt, Mapping):
        raise InputError(
            "a claim, the `attempt` of a terminal step, is an object with `claim_type` and `content`"
        )
    asked = None if verifier is None else lambda _claim, _text: verifier(attempt, state)
    text = attempt.get("content")
    return finish(
        core,
        attempt.get("claim_type"),
        text if type(text) is str else "",
        dict.fromkeys(state.goal_predicates, ""),
        asked,
        state.verify_threshold,
    )


def _answer(decision: Decision, state: GateState) -> dict[str, Any]:
    if decision.accepted:
        return {"verdict": ACCEPT, "legal_next": []}
    state.rejection_count += 1
    answer: dict[str, Any] = {"verdict": REJECT, "legal_next": list(LEGAL_NEXT)}
    if decision.downgraded:
        answer |= {"downgraded_by_verifier": True, "confidence": decision.confidence}
    return answer
