"""The engine and the second implementation in `tests/spec/pipeline.py` give the same answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note, settings

from ..spec.pipeline import Answer, OutOfScope, Pipeline
from .dice import seeded
from .strategies import TOOL, Call, calls
from .test_invariants import engine_of, exact, run

pytestmark = pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")


def spec_of(call: Call) -> Answer | None:
    """What the pages say, or None where the second implementation does not know."""
    pipeline = Pipeline(call.rules, TOOL, call.schema, call.model, call.context)
    try:
        return pipeline.answer(call.arguments, text=call.text, stop=call.stop)
    except (OutOfScope, RecursionError):  # the latter on a schema that only refers to itself
        return None


def engine_answer(call: Call) -> Answer:
    verdict = run(call)
    changes = {(each.kind, each.path) for each in verdict.changes}
    return Answer(verdict.outcome.value, verdict.arguments, changes, verdict.code)


def comparable(answer: Answer, code: str | None) -> tuple[Any, ...]:
    """`code` "any": the text has several faults, and which of them is told is open."""
    return (
        answer.outcome,
        None if code == "any" else answer.code,
        exact(sorted_keys(answer.arguments)),
        answer.changes,
    )


def sorted_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


def agree(call: Call) -> None:
    wanted = spec_of(call)
    if wanted is None:
        return
    note(repr(call))
    assert comparable(engine_answer(call), wanted.code) == comparable(wanted, wanted.code)


@settings(max_examples=2000)
@given(seeded(calls()))
def test_the_engine_says_what_the_pages_say(call: Call) -> None:
    agree(call)
    assert engine_of(call).rules.rules is not None
