"""The engine and the second implementation in `tests/spec/pipeline.py` give the same answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note, settings

from ..spec.pipeline import Answer, OutOfScope, Pipeline
from .dice import seeded
from .strategies import TOOL, Call, calls
from .test_invariants import exact, run

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


# Kills: closing tags taken past one that the text opens, a list made of text of several lines, a required
# key dropped, text cut inside a string that is closed, enum members compared with their case, a default
# that beats `allow`, a `deny` that does not look at what the model sent.


@settings(max_examples=1000)
@given(seeded(calls()))
def test_the_engine_says_what_the_pages_say(call: Call) -> None:
    agree(call)


@settings(max_examples=1200)
@given(seeded(calls([], open_tools=False)))
def test_the_repairs_that_the_schema_guides_are_those_of_the_page(call: Call) -> None:
    agree(call)


@settings(max_examples=600)
@given(seeded(calls(["alias", "scalar", "structural", "deny", "ask", "allow"])))
def test_permissions_judge_the_final_arguments_and_what_was_sent(call: Call) -> None:
    agree(call)


@settings(max_examples=600)
@given(seeded(calls(["closing-tags", "grammar-tokens", "filesystem-path", "anchor-bleed", "html-entities"])))
def test_what_stage_4_takes_away_is_what_the_page_says(call: Call) -> None:
    agree(call)
