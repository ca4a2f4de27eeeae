"""The names of an earlier grounding gate, on the same core, for people who come from it.

`GateState`, `PRESETS`, `classify_observation`, `boundary_check` and `turn_loop`, as
`callgate.engine.grounding` offers them. Source: `docs/grounding.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from .errors import InputError
from .failures import has_failed
from .gatevalues import SHIPPED, Grounding, Pending, Preset
from .grounding import (
    LEGAL_NEXT,
    THRESHOLD,
    Decision,
    change_ended,
    change_started,
    finish,
    observed,
    reason,
    started,
    touched,
)
from .grounding import begin as begin_turn
from .normalizing import normalize
from .outputs import held
from .relevance import composed, home, key_of, short_key, touches
from .shown import leaves, result_key, result_text, targets, written

ACCEPT, REJECT = "ACCEPT", "REJECT"
PRESETS: Mapping[str, Mapping[str, Any]] = {
    name: {"CAP": each.cap, "REFILL": each.refill, "strict_g": each.strict} for name, each in SHIPPED.items()
}


class GateState(msgspec.Struct):
    """What the gate knows, in the fields of the earlier one. `cwd`: what relative paths are joined to.

    Raises:
        InputError: no preset of this name, or not 1 <= refill < cap; a surface that is one text.
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
        if isinstance(self.claim_surface, str | bytes) or not isinstance(self.claim_surface, Iterable):
            raise InputError("a claim surface is a list of names, not one text")
        names = list(self.claim_surface)
        if any(type(each) is not str for each in names):
            raise InputError("a claim surface is a list of names")
        self.claim_surface = set(names)
        for name in ("recent_result_hashes", "novelty_exempt", "verified_signals"):
            setattr(self, name, set(getattr(self, name)))

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


def classify_observation(
    tool_name: str, args: Any, result: Any, state: GateState, read_only: bool
) -> dict[str, bool]:
    """Does one result ground an assertion, a completion? What it earns is kept in the state."""
    text = result_text(result)
    grounds = False
    if read_only and not has_failed(result, text) and _is_relevant(tool_name, args, result, text, state):
        clean = state.normalizers.get(tool_name, normalize)
        key = f"{state.last_mutation_step}\0{tool_name}\0{clean(text)}"
        grounds = tool_name in state.novelty_exempt or key not in state.recent_result_hashes
        if tool_name not in state.novelty_exempt:
            state.recent_result_hashes.add(key)
    verifies = grounds and 0 < state.last_mutation_step < state.current_step
    if grounds:
        state.grounded_this_turn = True
        state.verified_this_turn = state.verified_this_turn or verifies
        if verifies:
            state.last_verification_step = state.current_step
    return {"grounds_assertion": grounds, "grounds_completion": verifies}


def _is_relevant(tool: str, args: Any, result: Any, text: str, state: GateState) -> bool:
    cwd = home(state.cwd)
    names = sorted(composed(each) for each in state.claim_surface)
    extract = state.extractors.get(tool)
    if extract is None:
        return any(touches(each, names, cwd) for each in (*leaves(args), text))
    found = extract(args, result)
    listed = [found] if isinstance(found, str) else list(found or ())
    keys = {key_of(name, cwd) for name in names}
    return any(type(each) is str and key_of(composed(each), cwd) in keys for each in listed)


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
    """Run the steps of a turn, to the first claim that is accepted: its text, and what each step came to."""
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


def _tool_call(core: Grounding, step: Mapping[str, Any], state: GateState, cwd: Any) -> dict[str, bool]:
    state.current_step += 1
    tool, args = step.get("tool", ""), step.get("args")
    text = result_text(step.get("result"))
    ok = step.get("exit_ok", True) is not False
    since = started(core)
    grounds = False
    if step.get("mutating"):
        named = [(short_key(each.name, cwd), each) for each in written(args)]
        change_started(core, tool if type(tool) is str else "", named, cwd, unnamed=not named)
        change_ended(core, [key for key, _ in named], unnamed=not named, ok=ok)
        state.last_mutation_step = state.current_step
    else:
        texts = tuple(leaves(args))
        key = result_key(step.get("result"))
        cleaned = None if key is None else state.normalizers.get(tool, normalize)(key)
        look = Pending(
            since,
            named=[short_key(name, cwd) for name in targets(args)],
            relevant=touched(core, texts, cwd),
            exempt=tool in state.novelty_exempt,
            known="\0".join(texts),
        )
        good = ok and not has_failed(step.get("result"), text)
        result = step.get("result")
        grounds = good and observed(core, tool, look, result, text, held(result), cleaned, lambda: cwd)
    if ok:
        core.signals.update(dict.fromkeys(step.get("signals", ()), True))
    return {"grounds_assertion": grounds, "grounds_completion": grounds and core.verified}


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
