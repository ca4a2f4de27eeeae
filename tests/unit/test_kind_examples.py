"""Every example in the documentation of a kind, run through an engine with its schema and model."""

from __future__ import annotations

import copy
import json
import warnings
from typing import Any

import pytest

import callgate
from callgate import Outcome
from callgate.rules.catalog import kinds
from callgate.rules.kind import Example, Kind

# The examples are about the kind alone, so what the schema-guided repair would do is switched off.
ALONE = 'disable "repair.*" because "the examples are about the kind alone"\n'
EXAMPLES = [
    pytest.param(kind, example, id=f"{keyword}-{number}")
    for keyword, kind in kinds().items()
    for number, example in enumerate(kind.examples)
]


def exact(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def run(example: Example, sent: Any) -> callgate.Verdict:
    tools: Any = None if example.schema is None else {"t": example.schema}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", callgate.CallgateWarning)  # some examples show what never applies
        engine = callgate.compile(f"{ALONE}tool t {{ {example.rule} }}", tools=tools)
    return engine.check("t", sent, model=example.model)


@pytest.mark.parametrize(("kind", "example"), EXAMPLES)
def test_an_example_of_a_kind_is_what_the_engine_does(kind: type[Kind], example: Example) -> None:
    sent: Any = copy.deepcopy(example.before)
    verdict = run(example, sent)
    assert exact(sent) == exact(example.before)
    if example.after is None:
        assert verdict.changes == ()
        assert verdict.arguments is sent
        assert verdict.outcome in (Outcome.VALID, Outcome.UNREPAIRABLE)
    else:
        assert verdict.outcome is Outcome.REPAIRED
        assert exact(verdict.arguments) == exact(example.after)
        assert {change.kind for change in verdict.changes} == {kind.keyword}
        assert run(example, verdict.arguments).outcome is Outcome.VALID


def test_every_kind_that_changes_values_shows_what_it_does_and_what_it_leaves_alone() -> None:
    for keyword, kind in kinds().items():
        if kind.phase.value == "preprocess":
            assert any(example.after is not None for example in kind.examples), keyword
            assert any(example.after is None for example in kind.examples), keyword
