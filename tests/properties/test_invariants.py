"""The invariants of `docs/pipeline.md` on random rules, schemas and calls.

`Kills:` names changes of the engine that make the test fail. Hostile values and the world outside have
files of their own.
"""

from __future__ import annotations

import ast
import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as hs

import callgate
from callgate import Engine, Outcome, Verdict

from .dice import seeded
from .strategies import (
    MODEL,
    ODD_KEYS,
    PLAIN_KEYS,
    REWRITES,
    TOOL,
    Call,
    calls,
    plain_keys,
    schemas,
    validator,
    values_of,
)

pytestmark = pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")


@cache
def compiled(rules: str) -> Engine:
    return callgate.compile(rules)


def engine_of(call: Call) -> Engine:
    return compiled(call.rules).with_tools({TOOL: call.schema})


def run(call: Call, arguments: Any = None, engine: Engine | None = None) -> Verdict:
    """The verdict on a generated call, or on other arguments in its place."""
    engine = engine or engine_of(call)
    arguments = call.arguments if arguments is None else arguments
    check = engine.check_text if call.text and isinstance(arguments, str) else engine.check
    return check(TOOL, arguments, model=call.model, context=call.context, stop_reason=call.stop)


def exact(value: Any) -> Any:
    """Two values are the same JSON, with the same types and order of keys, exactly when these are equal."""
    if isinstance(value, dict):
        return ("dict", [(key, exact(item)) for key, item in value.items()])
    if isinstance(value, list):
        return ("list", [exact(item) for item in value])
    return (type(value).__name__, repr(value))


def identities(value: Any) -> list[int]:
    """Which objects a value is made of."""
    found = [id(value)]
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += identities(inner)
    return found


CASES = seeded(calls())


@given(seeded(calls([], damage=False, open_tools=False)))
def test_a_valid_call_comes_back_as_the_same_object_where_no_rule_fires(call: Call) -> None:
    # Kills: a pipeline that returns a copy; a gate that is always shut and a judge that copies.
    if not validator(call.schema).is_valid(call.arguments) or "default" in call.rules:
        return
    verdict = run(call)
    note(repr(call))
    assert verdict.outcome is Outcome.VALID
    assert verdict.arguments is call.arguments
    assert verdict.changes == ()
    assert verdict.observations == ()
    assert verdict.issues == ()


@given(CASES)
def test_the_callers_objects_are_never_changed(call: Call) -> None:
    # Kills: `_Edit.put` and `replace` without their copies; an alias that pops from the object that it got.
    before, parts, schema = exact(call.arguments), identities(call.arguments), deepcopy(call.schema)
    note(repr(call))
    verdict = run(call)
    assert exact(call.arguments) == before
    assert identities(call.arguments) == parts
    assert call.schema == schema
    if verdict.outcome in (Outcome.UNREPAIRABLE, Outcome.DENIED):
        assert verdict.arguments is call.arguments
    if verdict.outcome is Outcome.VALID and not call.text:
        assert verdict.arguments is call.arguments


@given(CASES)
def test_a_repaired_call_fits_the_schema_says_why_and_stays_as_it_is(call: Call) -> None:
    # Kills: no validation after the repair; no stage 10; changes without notes or not told.
    note(repr(call))
    engine = engine_of(call)
    verdict = run(call, engine=engine)
    if not verdict.changes:
        assert verdict.outcome is not Outcome.REPAIRED
        return
    assert verdict.outcome in (Outcome.REPAIRED, Outcome.ASKED)
    if call.schema is not None:
        assert validator(call.schema).is_valid(verdict.arguments)
    else:
        assert type(verdict.arguments) is dict
    for change in verdict.changes:
        assert change.rule
        assert change.kind
        assert change.note
        assert change.stage in ("envelope", "preprocess", "repair")
    again = engine.check(
        TOOL, verdict.arguments, model=call.model, context=call.context, stop_reason=call.stop
    )
    assert again.changes == ()
    assert again.outcome is (Outcome.ASKED if verdict.outcome is Outcome.ASKED else Outcome.VALID)
    assert again.arguments is verdict.arguments


UNSETTLED = ["html-entities", "html-entities", "anchor-bleed", "closing-tags", "structural", "alias"]


@given(seeded(calls(UNSETTLED, open_tools=False)))
def test_what_a_second_run_would_change_again_is_refused(call: Call) -> None:
    # Kills: no stage 10. (Most calls settle, so here the rules that may not are many.)
    note(repr(call))
    engine = engine_of(call)
    verdict = run(call, engine=engine)
    if verdict.allowed:
        again = engine.check(TOOL, verdict.arguments, model=call.model, context=call.context)
        assert again.changes == ()
        assert again.outcome is Outcome.VALID


def test_text_that_was_encoded_twice_is_not_settled() -> None:
    # Kills: no stage 10.
    engine = callgate.compile('tool edit { html-entities /path for "kimi" }')
    verdict = engine.check(TOOL, {"path": "a &amp;amp; b"}, model=MODEL)
    assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "not-settled")
    assert engine.check(TOOL, {"path": "a &amp; b"}, model=MODEL).arguments == {"path": "a & b"}


@given(CASES)
def test_a_call_that_may_not_run_carries_no_changes_and_the_callers_own_object(call: Call) -> None:
    # Kills: `_unrepairable` and `_denied` that pass `work.changes`, or `final` in place of `arguments`.
    note(repr(call))
    verdict = run(call)
    if verdict.outcome in (Outcome.UNREPAIRABLE, Outcome.DENIED):
        assert verdict.changes == ()
        assert verdict.arguments is call.arguments
        assert verdict.retry_message
        assert verdict.fingerprint
    assert (verdict.code is not None) == (verdict.outcome is Outcome.UNREPAIRABLE)
    assert (verdict.reason is not None) == (verdict.outcome in (Outcome.DENIED, Outcome.ASKED))
    if verdict.allowed and call.schema is not None:
        assert validator(call.schema).is_valid(verdict.arguments)


_CHILD = """
import json, sys
sys.path.insert(0, sys.argv[1])
from random import Random
from tests.properties.strategies import calls
from tests.properties.test_invariants import run
made = calls()
for seed in range(int(sys.argv[2])):
    verdict = run(made.draw(Random(seed)))
    print(json.dumps(verdict.as_dict()))
"""


def test_the_verdicts_are_the_same_in_processes_with_other_hashes() -> None:
    # Kills: names, faults or fitting rules taken from a set; `fingerprint` by `hash()`.
    root = str(Path(__file__).parents[2])
    children = []
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-W", "ignore", "-c", _CHILD, root, "300"]
        children.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, cwd=root))
    first, *others = [child.communicate()[0] for child in children]
    assert first.count(b"\n") == 300
    for other in others:
        assert other == first


def layers(value: Any) -> Iterator[Any]:
    """Every scalar and key of a value, and of JSON text inside its texts."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from layers(item)
    elif isinstance(value, list):
        for item in value:
            yield from layers(item)
    else:
        yield value
        if isinstance(value, str):
            for text in (value, value + "}", value + "]}", value + "}}", value + "]"):
                inner = written(text)
                if inner is not None:
                    yield from layers(inner)
                    break


def written(text: str) -> Any:
    """The value that JSON text, or text in Python's way, is; None where it is neither."""
    try:
        return json.loads(text, strict=False)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return None


def told(result: Any, sent: list[Any]) -> bool:
    """Is this scalar one that the model sent, or one of them in its exact other type?"""
    for each in sent:
        if exact(each) == exact(result):
            return True
        if isinstance(each, str):
            bare = unmarked(each)
            if isinstance(result, str) and bare == unmarked(result):
                return True  # less markup, other case
            if isinstance(result, bool) and bare == str(result).lower():
                return True
            if result is None and bare in ("null", "none"):
                return True
            if type(result) in (int, float) and is_number(bare) and Decimal(bare) == Decimal(str(result)):
                return True
        elif isinstance(result, str) and not isinstance(each, dict | list) and json.dumps(each) == result:
            return True
    return False


def is_number(text: str) -> bool:
    return re.fullmatch(r"\s*-?\d+(\.\d+)?([eE][+-]?\d+)?\s*", text) is not None


def unmarked(text: str) -> str:
    """A text without what the rules of stage 4 may take away, in one case."""
    text = re.sub(r"(?s)\[(.*?)\]\(https?://\1\)", r"\1", text)
    text = re.sub(r"</?[^<>]*>", "", html.unescape(text))
    return text.strip("^$ \n\t").casefold()


@given(seeded(calls([*[each for each in REWRITES if each != "structural"], "root", "droppable"])))
def test_every_scalar_of_the_result_was_sent(call: Call) -> None:
    # Kills: a repair that puts a default, `""` for null, a clamped number, an enum member, rounded digits.
    note(repr(call))
    verdict = run(call)
    if not verdict.allowed:
        return
    sent = list(layers(call.arguments))
    kinds = {change.kind for change in verdict.changes}
    for found in layers_of_values(verdict.arguments):
        assert told(found, sent)
    # Nor is anything there more often than it was sent: no copies, and no container from nothing.
    if kinds.isdisjoint({"envelope.empty", "repair.drop-null", "repair.drop-empty-object"}):
        empty: Any
        for empty in ({}, []):
            assert count_of(verdict.arguments, empty) <= count_of(call.arguments, empty)


def layers_of_values(value: Any) -> Iterator[Any]:
    """Every scalar of a value; keys are names of the schema."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from layers_of_values(item)
    else:
        yield value


def count_of(value: Any, empty: Any) -> int:
    """How many empty containers of this kind a value holds, those in JSON text included."""
    if isinstance(value, str):
        return value.count("{" if isinstance(empty, dict) else "[")
    found = int(value == empty and isinstance(value, dict | list))
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += count_of(item, empty)
    return found


ODD = dict(zip(PLAIN_KEYS, ["__proto__", "a/b", "~t", "~", "constructor", "m~1n"], strict=True))
EMPTY = {"mode": ""}
DIGITS = dict(zip(PLAIN_KEYS, ["7", "12", "00", "1e5", "-1", "3"], strict=True))


def renamed(value: Any, names: dict[str, str]) -> Any:
    """The same with other keys; of texts only those that are a key, as in `required`."""
    if isinstance(value, dict):
        return {names.get(key, key): renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def in_rules(text: str, names: dict[str, str]) -> str:
    return re.sub(r'"(\w+)"', lambda found: json.dumps(names.get(found[1], found[1])), text)


def in_pointer(path: str, names: dict[str, str]) -> str:
    parts = [names.get(part, part).replace("~", "~0").replace("/", "~1") for part in path.split("/")]
    return "/".join(parts)


KINDS = [
    "scalar",
    "filesystem-path",
    "string-or-array",
    "anchor-bleed",
    "closing-tags",
    "droppable",
    "deny",
    "ask",
]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(ODD, id="odd"),
        pytest.param(DIGITS, id="digits"),
        pytest.param(EMPTY, id="empty"),
    ],
)
@given(seeded(calls(KINDS, key=plain_keys, open_tools=False)))
def test_a_call_with_odd_keys_gets_the_same_verdict_as_with_plain_ones(
    names: dict[str, str], call: Call
) -> None:
    # Kills: a pointer without escapes; digits taken as an index on an object; a key that is skipped by name.
    if (
        isinstance(call.arguments, str)
        or "<" in repr(call.arguments)
        or '"' in "".join(texts_in(call.arguments))
    ):
        return  # the keys would stand in text
    changed = (in_rules(call.rules, names), renamed(call.schema, names), renamed(call.arguments, names))
    other = Call(*changed, model=call.model, stop=call.stop, context=call.context)
    note(repr(call))
    plain, odd = run(call), run(other)
    assert odd.outcome is plain.outcome
    assert odd.code == plain.code
    assert exact(sorted_keys(odd.arguments)) == exact(sorted_keys(renamed(plain.arguments, names)))
    assert {(each.kind, each.path) for each in odd.changes} == {
        (each.kind, in_pointer(each.path, names)) for each in plain.changes
    }


def texts_in(value: Any) -> list[str]:
    return [each for each in layers_of_values(value) if isinstance(each, str)]


def sorted_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


FOUR = [1, True, 1.0, "1"]


@pytest.mark.parametrize("one", FOUR, ids=repr)
@pytest.mark.parametrize("other", FOUR, ids=repr)
def test_one_and_true_and_one_point_nought_and_the_text_stay_distinct(one: Any, other: Any) -> None:
    # Kills: `==` in place of `equal` in alias, in duplicate keys, in `several`; `1.0` read as an int.
    same = exact(one) == exact(other)
    rules = f"tool {TOOL} {{ alias /a from b }}"
    verdict = callgate.compile(rules).check(TOOL, {"a": one, "b": other})
    assert verdict.outcome is (Outcome.REPAIRED if same else Outcome.VALID)
    assert exact(verdict.arguments) == exact({"a": one} if same else {"a": one, "b": other})
    text = f'{{"a": {json.dumps(one)}, "a": {json.dumps(other)}}}'
    verdict = callgate.compile("").check_text(TOOL, text)
    assert (verdict.outcome, verdict.code) == (
        (Outcome.REPAIRED, None) if same else (Outcome.UNREPAIRABLE, "duplicate-key")
    )
    verdict = callgate.compile("").check_text(TOOL, json.dumps({"x": one, "y": [other]}))
    assert exact(verdict.arguments) == exact({"x": one, "y": [other]})
    twice = json.dumps({"a": one}) + json.dumps({"a": other})
    assert callgate.compile("").check_text(TOOL, twice).code != ("several-calls" if same else None)


@given(CASES)
def test_what_no_change_names_keeps_its_exact_type(call: Call) -> None:
    # Kills: a decoder that reads `1.0` as 1; a copy through another JSON library.
    verdict = run(call)
    note(repr(call))
    if (
        not verdict.allowed
        or not isinstance(call.arguments, dict)
        or any(c.path == "" for c in verdict.changes)
    ):
        return
    touched = {change.path.split("/")[1] for change in verdict.changes}
    for key, item in call.arguments.items():
        if key.replace("~", "~0").replace("/", "~1") not in touched and key in verdict.arguments:
            assert exact(verdict.arguments[key]) == exact(item)


@given(seeded(schemas()), hs.integers(0, 2**32))
def test_generated_schemas_and_their_values_are_what_the_other_tests_take_them_for(
    schema: Any, seed: int
) -> None:
    value = values_of(schema, schema).draw(Random(seed))
    engine = callgate.compile("").with_tools({TOOL: schema})
    valid = validator(schema).is_valid(value)
    verdict = engine.check(TOOL, value)
    assert (verdict.outcome is Outcome.VALID) == valid or verdict.code in (
        "swallowed-parameter",
        "lost-arguments",
    )
    assert set(ODD_KEYS).isdisjoint(PLAIN_KEYS)
