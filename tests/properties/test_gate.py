"""The gate lets pass only what the pipeline would call valid, unchanged and unobserved."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, note

import callgate
from callgate import InputError, Outcome
from callgate.engine.condition import Env
from callgate.engine.gate import make_gate
from callgate.engine.pipeline import judge

from .dice import seeded
from .strategies import TOOL, Call, calls
from .test_hostile import PLACES, RULES, SCHEMA
from .test_invariants import engine_of

pytestmark = pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")


@given(seeded(calls()))
def test_what_the_gate_lets_pass_is_valid_unchanged_and_unobserved(call: Call) -> None:
    # Kills: a guard that is always false; a gate without the schema, the markup test, `deny`, or the default.
    if call.text:
        return
    note(repr(call))
    plan = engine_of(call).plan(TOOL, call.model)
    gate = make_gate(plan)
    env = None if call.context is None else Env(context=call.context)
    if not gate(call.arguments, env):
        return
    verdict = judge(plan, lambda *_: None, call.arguments, env, call.stop, text=False)
    assert verdict.outcome is Outcome.VALID
    assert verdict.arguments is call.arguments
    assert verdict.changes == ()
    assert verdict.observations == plan.standing
    assert verdict.issues == ()


@given(seeded(calls([], damage=False, open_tools=False)))
def test_the_gate_lets_valid_calls_pass_where_there_are_no_rules(call: Call) -> None:
    # Kills: a gate that is always shut, which is right and slow. (A whole float goes the long way.)
    if "default" in call.rules or "<" in repr(call.arguments) or not repr(call.arguments).isascii():
        return
    plan = engine_of(call).plan(TOOL, call.model)
    assert plan.schema is not None
    if plan.schema.is_valid(call.arguments) and not re.search(r"\d\.\d|100000", repr(call.arguments)):
        assert make_gate(plan)(call.arguments, None)


@pytest.mark.parametrize("place", PLACES)
def test_the_gate_lets_no_other_type_pass(place: str) -> None:
    # Kills: a gate that looks at known fields only.
    each: Any
    for each in (b"x", ("x",), 1j, float("nan"), "\ud800", type("Text", (str,), {})("x"), 10**700):
        for schema in (SCHEMA, None):
            plan = callgate.compile(RULES).with_tools({TOOL: schema}).plan(TOOL)
            with suppress(InputError):  # it may say so itself
                assert not make_gate(plan)(PLACES[place](each), None)
