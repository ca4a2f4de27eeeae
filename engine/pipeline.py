"""What happens to a call: stages 2 to 10 of `docs/pipeline.md`, on one compiled plan."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from ..grammar.ast import Json
from ..rules.kind import Effect
from ..rules.strictjson import equal
from . import messages
from .condition import Env
from .domain import NOT_JSON, TRUNCATED, OutOfBounds, Refusal, is_simple, text_fault, value_fault
from .envelope import (
    EMPTY,
    SEVERAL,
    Reading,
    after_words,
    ended_by_itself,
    looks_like_json,
    may_be_wrapped,
    misplaced,
    read_text,
    several_calls,
    unwrap,
)
from .plan import Permit, Plan, fits
from .repair import Run, one_pass
from .rewriting import HOOK, Refused, Work, apply_bounds, apply_step
from .selector import MISSING, pointer
from .swallowed import fault_in
from .verdict import Change, Issue, Observation, Outcome, Verdict

_READ = ("name", "envelope", "repair")  # stages that put nothing into a value but what was read
_DEEPER = ("repair.parse-json", "repair.wrap-array", "repair.wrap-root")  # but these put it deeper


def judge(
    plan: Plan,
    gate: Callable[..., Verdict | None],
    arguments: Any,
    env: Env | None,
    stop_reason: str | None,
    *,
    text: bool,
    renamed: tuple[Change, ...] = (),
) -> Verdict:
    """The verdict on one call that the gate did not let pass.

    `text`: the arguments came as text over the wire, so its first reading is no change. `renamed`:
    what stage 1 changed.

    Raises:
        InputError: the arguments hold something outside the JSON domain.
    """
    work = Work([*renamed], [*plan.standing])
    original: Any = MISSING
    plain = False
    try:
        # Below its smallest limit a simple object needs no further look at its domain and its texts.
        if plan.roomy and is_simple(arguments, plan.known) and not may_be_wrapped(arguments):
            original, bare = arguments, False
        else:
            reading = _envelope(plan, arguments, stop_reason, env, text)
            original, bare, plain = reading.value, reading.bare, reading.plain
            if text and not reading.steps and not renamed and type(original) is dict:
                passed = gate(original, env, plain)
                if passed is not None:
                    return passed
            for each in reading.steps:
                name = f"envelope.{each.kind}"
                work.changes.append(Change(name, name, "envelope", "", each.note))
            fault = None if plain else fault_in(original, plan.declared)
            if fault is not None:
                raise Refused(fault)
        final = _stages(plan, original, bare, work, env)
    except Refused as refused:
        work.misfits = work.misfits or refused.misfits
        return _unrepairable(plan, arguments, original, refused.fault, work)
    except OutOfBounds as refused:
        return _denied(plan, arguments, refused.reason, refused.note, (refused.rule,), work)
    plain = plain and all(change.stage in _READ and change.kind not in _DEEPER for change in work.changes)
    settled = gate(final, env, plain) if work.changes else None
    # What the gate lets pass is settled, and no rule of stage 9 fits it; there is the original still.
    decided, fitting = _permission(plan, final, original, work, env, passed=settled is not None)
    if decided is not None and decided.effect is Effect.DENY:
        names = _names(decided, fitting)
        again = messages.LATER if decided.passing else messages.TURNING if decided.turning else messages.AGAIN
        return _denied(plan, arguments, decided.why, decided.note, names, work, again)
    if work.changes and settled is None:
        try:
            unsettled = _unsettled(plan, final, work.changes[-1].rule, env)
        except OutOfBounds as refused:
            return _denied(plan, arguments, refused.reason, refused.note, (refused.rule,), work)
        if unsettled is not None:
            return _unrepairable(plan, arguments, original, unsettled, work)
    if work.changes and work.misfits is None and plan.schema is not None:
        work.misfits = plan.schema.faults(original, plan.limits.issues)
    outcome = Outcome.REPAIRED if work.changes else Outcome.VALID
    if decided is not None:
        outcome = Outcome.ASKED
    return Verdict(
        outcome,
        plan.tool,
        final if work.changes or text else arguments,
        plan.source,
        tuple(work.changes),
        tuple(work.observations),
        _issues(work),
        None if decided is None else decided.why,
        () if decided is None else _names(decided, fitting),
    )


def _names(decided: Permit, fitting: tuple[Permit, ...]) -> tuple[str, ...]:
    return tuple(permit.rule for permit in fitting) or (decided.rule,)


def _envelope(plan: Plan, arguments: Any, stop_reason: str | None, env: Env | None, text: bool) -> Reading:
    """Stage 2: one value to judge, or `Refused`."""
    limits = plan.limits
    if type(arguments) is str:
        fault = text_fault(arguments, limits)
        if fault is not None:
            raise Refused(fault)
        if not text and plan.schema is not None and fits(plan, arguments):
            return Reading(arguments)
        ended = ended_by_itself(stop_reason)
        complete = plan.policy != "conservative" and ended
        complete = complete and "envelope.complete" not in plan.off
        found = read_text(arguments, limits, plan.place, plan.speech, free=text, complete=complete)
        if isinstance(found, Refusal):
            raise Refused(found)
        reading = found
        if reading.bare and not ended:
            raise Refused(TRUNCATED)  # bare text has no end that could be seen
    else:
        reading = Reading(arguments)
    if type(arguments) is not str or (reading.readings and not reading.plain):
        fault = value_fault(reading.value, limits)
        if fault is not None:
            raise Refused(fault)
    if reading.value is None:
        return _empty(plan, reading, env, blank=type(arguments) is str and not arguments.strip())
    if several_calls(reading.value, plan.place):
        raise Refused(SEVERAL)
    if not reading.bare:
        unwrapped = unwrap(
            reading, plan.tool, plan.place, plan.speech, limits, lambda value: _passes(plan, value, env)
        )
        if isinstance(unwrapped, Refusal):
            raise Refused(unwrapped)
        reading = unwrapped
    kinds = [each.kind for each in reading.steps]
    for each in reading.steps:
        if f"envelope.{each.kind}" in plan.off:
            raise Refused(Refusal("schema", each.note))
    if "complete" in kinds and not (
        _passes(plan, reading.value, env) and not misplaced(reading.value, plan.place)
    ):
        raise Refused(TRUNCATED)
    if "xml" in kinds and not ended_by_itself(stop_reason):
        raise Refused(TRUNCATED)  # another element may have followed
    return reading


def _empty(plan: Plan, reading: Reading, env: Env | None, *, blank: bool) -> Reading:
    """Blank text, or a null: `{}` if that passes, and null itself where the schema wants it."""
    if plan.schema is not None and not blank and fits(plan, None):
        return reading
    if "envelope.empty" not in plan.off and _passes(plan, {}, env):
        return Reading({}, (EMPTY,))
    message = "The arguments are empty. Send a JSON object."
    if not blank and "object" not in plan.types:
        return Reading(None, readings=reading.readings)
    raise Refused(
        Refusal("schema", message), plan.schema.faults({}, plan.limits.issues) if plan.schema else None
    )


def _passes(plan: Plan, value: Json, env: Env | None) -> bool:
    """Does the value pass the schema after stages 3 to 5, tried without saying so?"""
    if plan.schema is None:
        return type(value) is dict
    work = Work()
    try:
        return fits(plan, _prepare_and_preprocess(plan, value, work, env))
    except (Refused, OutOfBounds):
        return False


def _stages(plan: Plan, value: Json, bare: bool, work: Work, env: Env | None) -> Json:
    """Stages 3 to 8: the final arguments, or `Refused`."""
    through = apply_bounds if bare else _prepare_and_preprocess
    final = through(plan, value, work, env)
    schema = plan.schema
    if schema is None:
        if type(final) is str and bare:
            final = _wrap_root(plan, final, work, env)
        if type(final) is not dict:
            raise Refused(NOT_JSON if bare else Refusal("schema", "The arguments must be a JSON object."))
        return final
    if fits(plan, final):
        return final
    work.misfits = schema.faults(value, plan.limits.issues)
    if type(final) is str and bare:
        final = _wrap_root(plan, final, work, env)
    final = _repair(plan, final, work, env)
    if not fits(plan, final):
        # A rule may have broken what was right; then its result says what is wanted.
        work.misfits = work.misfits or schema.faults(final, plan.limits.issues)
        empty = "The arguments are empty." if value == {} else ""
        raise Refused(NOT_JSON if bare else Refusal("schema", empty))
    return final


def _prepare_and_preprocess(plan: Plan, value: Json, work: Work, env: Env | None) -> Json:
    """Stages 3 to 5."""
    if plan.prepare is not None:
        try:
            prepared = plan.prepare(deepcopy(value))
            fault = value_fault(prepared, plan.limits)
        except Exception:  # the owner's code may raise anything
            raise Refused(HOOK) from None
        if fault is not None:
            raise Refused(HOOK)
        if not equal(prepared, value):
            note = "The tool's owner adjusted the arguments before they were checked."
            work.changes.append(Change("prepare", "prepare", "prepare", "", note))
            value = prepared
    return _preprocess(plan, value, work, env)


def _preprocess(plan: Plan, value: Json, work: Work, env: Env | None) -> Json:
    """Stage 4, the rules of the tool block in file order, and stage 5, its bounds."""
    return apply_bounds(plan, plan.preprocess(value, work, env, apply_step), work, env)


def _repair(plan: Plan, value: Json, work: Work, env: Env | None) -> Json:
    """Stage 7: passes of schema-guided repair, with stage 4 again after each that changed something."""
    if plan.repairs is None or plan.schema is None:
        return value
    run = Run(env=env)
    for _ in range(plan.limits.passes):
        faults = plan.schema.faults(value, plan.limits.issues)
        if not faults:
            break
        new = one_pass(value, faults, plan.repairs, run)
        work.changes += run.changes
        run.changes = []
        if new is value:
            break
        value = _preprocess(plan, new, work, env)
    return value


_NAMED = re.compile(r"[ \t\r\n]{0,64}[\"']?([A-Za-z0-9_-]{1,64})[\"']?[ \t]{0,8}[:=]")


def _wrap_root(plan: Plan, text: str, work: Work, env: Env | None) -> Json:
    """`repair.wrap-root`: bare text that does not look like JSON becomes the field that `root` names."""
    root = plan.root
    if root is None or "repair.wrap-root" in plan.off or not text.strip():
        return text
    rest = after_words(text, plan.speech)
    named = _NAMED.match(rest)
    if looks_like_json(rest) or (named is not None and named[1] in plan.declared):
        return text  # `command: ls` is a damaged object, not a command
    value: Json = [text] if root.in_array else text
    for segment in reversed(root.segments):
        value = {str(segment): value}
    where = pointer(tuple(map(str, root.segments)))
    note = root.note or f"You sent bare text; it was taken as `{where}`. Send a JSON object."
    work.changes.append(Change("repair.wrap-root", "repair.wrap-root", "repair", where, note))
    return _preprocess(plan, value, work, env)


def _permission(
    plan: Plan, final: Json, original: Json, work: Work, env: Env | None, *, passed: bool
) -> tuple[Permit | None, tuple[Permit, ...]]:
    """Stage 9: the rule that refuses or asks, or None to let the call pass; and all rules that fit.

    `passed`: no `deny` or `ask` fits the final arguments, and the default lets them pass.
    """
    fitting: list[Permit] = []
    for permit in plan.permits:
        if permit.effect is Effect.ALLOW:
            fits = not passed and permit.fits(final, final, env) is True
        else:
            fits = (not passed and permit.fits(final, final, env) is not False) or (
                final is not original and permit.present(original, original, env) is True
            )
        if fits and permit.shadow:
            message = f"would have said {permit.effect.value}"
            work.observations.append(Observation(permit.rule, permit.effect.value, "", message))
        elif fits:
            fitting.append(permit)
    if fitting:
        # The deciding one first: every `deny` wins over every `ask`, that over every `allow`.
        fitting.sort(key=lambda permit: _ORDER.index(permit.effect))
        return None if fitting[0].effect is Effect.ALLOW else fitting[0], tuple(fitting)
    return None if passed else plan.default, ()


_ORDER = (Effect.DENY, Effect.ASK, Effect.ALLOW)


def _unsettled(plan: Plan, final: Json, last: str, env: Env | None) -> Refusal | None:
    """Stage 10: why a changed call does not come out of a second run unchanged, or None.

    `last`: the last rule that changed it.
    """
    work = Work()
    try:
        reading = _envelope(plan, final, None, env, False)
        fault = fault_in(reading.value, plan.declared)
        if fault is not None:
            raise Refused(fault)
        again = _stages(plan, reading.value, reading.bare, work, env)
    except Refused:
        message = f"What the rule `{last}` made of the arguments cannot be used. Send them as they are meant."
        return Refusal("not-settled", message)
    if not work.changes and again is final:
        return None
    rule = work.changes[0].rule if work.changes else reading.steps[0].kind
    return Refusal(
        "not-settled", f"The rule `{rule}` would change the repaired arguments again, so they were not used."
    )


def _issues(work: Work) -> tuple[Issue, ...]:
    return tuple(map(messages.issue, work.misfits)) if work.misfits else ()


def _unrepairable(plan: Plan, arguments: Any, original: Any, fault: Refusal, work: Work) -> Verdict:
    misfits = work.misfits or []
    issues = _issues(work)
    lead = f"The arguments of `{plan.tool[:64]}` were not used. {fault.message}" if fault.message else None
    received = arguments if original is MISSING else original
    return Verdict(
        Outcome.UNREPAIRABLE,
        plan.tool,
        arguments,
        plan.source,
        observations=tuple(work.observations),
        issues=issues,
        retry_message=messages.retry_message(plan.tool, issues, received, lead),
        code=fault.code,
        fingerprint=messages.fingerprint(plan.tool, fault.code, misfits),
    )


def _denied(
    plan: Plan,
    arguments: Any,
    why: str,
    note: str | None,
    rules: tuple[str, ...],
    work: Work,
    again: str = messages.AGAIN,
) -> Verdict:
    """Denied by a rule of stage 9, or by a `bound`. `again`: what becomes of the same call."""
    return Verdict(
        Outcome.DENIED,
        plan.tool,
        arguments,
        plan.source,
        observations=tuple(work.observations),
        issues=_issues(work),
        reason=why,
        decided_by=rules,
        retry_message=messages.denied_message(plan.tool, why, note, again),
        fingerprint=messages.fingerprint(plan.tool, "denied", [], rules),
    )
