"""The invariants of `docs/pipeline.md` on random rules, schemas and calls.

`Kills:` names changes of the engine that were made to see the test fail.
"""

from __future__ import annotations

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
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as hs

import callgate
from callgate import Engine, InputError, Outcome, SchemaError, Verdict

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

MANY = settings(max_examples=1500)  # they are cheap
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


@MANY
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


@MANY
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


@MANY
@given(CASES)
def test_a_repaired_call_fits_the_schema_says_why_and_stays_as_it_is(call: Call) -> None:
    # Kills: no validation after the repair; no stage 10; changes without notes; a repair that forgets its change.
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


@MANY
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
        command = [sys.executable, "-W", "ignore", "-c", _CHILD, root, "600"]
        children.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, cwd=root))
    first, *others = [child.communicate()[0] for child in children]
    assert first.count(b"\n") == 600
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
                try:
                    inner = json.loads(text, strict=False)
                except ValueError:
                    continue
                yield from layers(inner)
                break


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


@MANY
@given(seeded(calls([*[each for each in REWRITES if each != "structural"], "root", "droppable"])))
def test_every_scalar_of_the_result_was_sent(call: Call) -> None:
    # Kills: a repair that puts a default, `""` for null, a clamped number, the first enum member, rounded digits.
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


ODD = dict(zip(PLAIN_KEYS, ["__proto__", "a/b", "~t", "", "constructor", "m~1n"], strict=True))
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


@pytest.mark.parametrize("names", [ODD, DIGITS], ids=["odd", "digits"])
@settings(max_examples=800)
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
    other = Call(
        in_rules(call.rules, names), renamed(call.schema, names), renamed(call.arguments, names), model=call.model,
        stop=call.stop, context=call.context,
    )  # fmt: skip
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
    # Kills: `==` in place of `equal` in alias, in duplicate keys, in `several`; `json.loads` of `1.0` as an int.
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


@MANY
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


# What is outside the JSON domain ------------------------------------------------------------------


class Touched(BaseException):
    """A method of a hostile object ran."""


def hostile(base: type, value: Any) -> Any:
    """An instance of a subclass whose every method raises."""

    def raises(*_: Any, **__: Any) -> Any:
        raise Touched

    skipped = {
        "__new__",
        "__init__",
        "__class__",
        "__getattribute__",
        "__del__",
        "__init_subclass__",
        "__subclasshook__",
    }
    methods = {name: raises for name in dir(base) if name not in skipped and callable(getattr(base, name))}
    made = type("Hostile", (base,), {})(value)
    for name, method in {**methods, "__bool__": raises, "__len__": raises, "__index__": raises}.items():
        setattr(type(made), name, method)
    return made


class Silent:
    """An object of no JSON type."""


HOSTILE = {
    "str": hostile(str, "path"),
    "int": hostile(int, 1),
    "float": hostile(float, 1.5),
    "dict": hostile(dict, {"path": "x"}),
    "list": hostile(list, ["path"]),
    "bytes": b"path",
    "bytearray": bytearray(b"x"),
    "Decimal": Decimal("1.5"),
    "tuple": ("path",),
    "set": {"path"},
    "complex": 1j,
    "object": Silent(),
    "type": str,
    "function": len,
    "generator": (each for each in ()),
    "range": range(2),
    "ellipsis": ...,
}
PLACES = {
    "as the arguments": lambda each: each,
    "as a value": lambda each: {"path": each},
    "as an unknown value": lambda each: {"path": "x", "zz": each},
    "as an item": lambda each: {"path": "x", "edits": [1, each]},
    "deep inside": lambda each: {"path": "x", "opts": {"a": [[{"b": each}]]}},
    "behind a surrogate": lambda each: {"path": "\ud800", "zz": each},
    "behind a number that is not finite": lambda each: {"path": float("nan"), "zz": [each]},
    "after an alias": lambda each: {"file_path": "x", "zz": each},
    "in a wrapper": lambda each: {"arguments": {"path": each}},
    "in an array": lambda each: [{"path": each}],
}
RULES = """
tool edit, "g*" {
  alias /path from file_path
  filesystem-path /path
  anchor-bleed /path for "kimi"
  grammar-tokens "" for "kimi"
  scalar /limit as number
  structural "s" "" { move /a to /b }
  deny "no" when /path == "secret" or any /edits/* contains "x"
}
"""
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["path"],
}


@cache
def hostile_engines() -> tuple[Engine, ...]:
    rules = callgate.compile(RULES)
    return (rules, rules.with_tools({TOOL: SCHEMA}), rules.with_tools({TOOL: None}), rules.with_tools({}))


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("place", PLACES)
def test_another_type_is_an_input_error_before_any_of_its_methods_runs(name: str, place: str) -> None:
    # Kills: `isinstance` in place of `type(...) is` in `value_fault`; a gate that does not look inside.
    arguments = PLACES[place](HOSTILE[name])
    for engine in hostile_engines():
        for tool in (TOOL, "gg"):
            with pytest.raises(InputError):
                engine.check(tool, arguments, model=MODEL)


@pytest.mark.parametrize(
    "key", [1, None, True, 1.5, b"path", ("path",), hostile(str, "path")], ids=lambda k: type(k).__name__
)
def test_a_key_that_is_no_plain_text_is_an_input_error(key: Any) -> None:
    # Kills: a gate that only looks at values.
    if type(key).__name__ == "Hostile":
        plain = type("Key", (str,), {})
        key = plain("path")
    for arguments in (
        {key: 1},
        {"path": "x", "opts": {key: 1}},
        [{key: 1}],
        {"path": "x", "l": [[{key: 1}]]},
    ):
        for engine in hostile_engines():
            with pytest.raises(InputError):
                engine.check(TOOL, arguments, model=MODEL)


@pytest.mark.parametrize(
    "bad", [hostile(str, "edit"), 5, None, b"edit", ["edit"]], ids=["str", "int", "none", "bytes", "list"]
)
def test_a_name_a_model_a_context_or_a_text_of_another_type_is_an_input_error(bad: Any) -> None:
    # Kills: no type test of the name, the model id, the context or the stop reason.
    for engine in hostile_engines():
        with pytest.raises(InputError):
            engine.check(bad, {"path": "x"})
        with pytest.raises(InputError):
            engine.check_text(TOOL, bad)
        if bad is not None:
            with pytest.raises(InputError):
                engine.check(TOOL, {"path": "x"}, model=bad)
            with pytest.raises(InputError):
                engine.check(TOOL, {"path": "x"}, stop_reason=bad)
            with pytest.raises(InputError):
                engine.check(TOOL, {"path": "x"}, context=bad)
    with pytest.raises(InputError):
        hostile_engines()[0].check(
            TOOL, {"path": "x"}, context={"role": bad if bad is not None else (1,), "x": (1,)}
        )


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), float("-inf"), 10**5000, -(10**640)],
    ids=["nan", "inf", "-inf", "huge", "-huge"],
)
def test_a_number_that_cannot_be_kept_is_refused(value: Any) -> None:
    # Kills: no `isfinite`; no bound on the digits.
    for arguments in ({"path": "x", "limit": value}, {"path": "x", "opts": [{"a": value}]}, [value], value):
        for engine in hostile_engines()[:3]:
            verdict = engine.check(TOOL, arguments)
            assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "number")
            assert verdict.arguments is arguments


def loops() -> dict[str, Any]:
    """Values that never end, or that are very wide through sharing."""
    ring: dict[str, Any] = {"path": "x"}
    ring["opts"] = ring
    array: list[Any] = []
    array.append(array)
    crossed: dict[str, Any] = {"path": "x", "labels": array}
    array.append(crossed)
    wide: Any = "x"
    for _ in range(40):
        wide = [wide, wide]
    wide_object: Any = "x"
    for _ in range(40):
        wide_object = {"a": wide_object, "b": wide_object}
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    return {
        "a loop of objects": ring,
        "a loop of arrays": array,
        "a crossed loop": crossed,
        "2^40 items by sharing": {"path": "x", "labels": wide},
        "2^40 values by sharing": {"path": "x", "opts": wide_object},
        "100,000 deep": {"path": "x", "labels": deep},
    }


@pytest.mark.parametrize("name", loops())
def test_a_value_without_end_is_over_a_limit(name: str) -> None:
    # Kills: a `value_fault` without its count, or without its depth.
    arguments = loops()[name]
    for engine in hostile_engines():
        verdict = engine.check(TOOL, arguments, model=MODEL)
        assert verdict.outcome is Outcome.UNREPAIRABLE
        assert verdict.code == ("unknown-tool" if engine is hostile_engines()[3] else "limit")
        assert verdict.arguments is arguments


def test_one_object_at_many_places_is_an_ordinary_value() -> None:
    # Kills: an edit that remembers containers by identity and so changes every place of a shared one.
    shared = {"path": "^x$"}
    arguments = {"path": "^x$", "a": 1, "opts": shared, "labels": [shared, shared]}
    before = exact(arguments)
    engine = callgate.compile(
        'tool edit { anchor-bleed /opts/path for "kimi"\n anchor-bleed /labels/1/path for "kimi"\n'
        ' structural "s" "" { copy /opts to /more } }'
    )
    verdict = engine.check(TOOL, arguments, model=MODEL)
    assert exact(arguments) == before
    assert verdict.outcome in (Outcome.REPAIRED, Outcome.UNREPAIRABLE)
    engine = callgate.compile('tool edit { anchor-bleed /labels/0/path for "kimi" }')
    verdict = engine.check(TOOL, arguments, model=MODEL)
    assert verdict.arguments["labels"] == [{"path": "x"}, {"path": "^x$"}]
    assert verdict.arguments["opts"] == {"path": "^x$"}
    assert exact(arguments) == before


def test_a_schema_of_another_type_is_a_schema_error() -> None:
    # Kills: a schema that is handed to the validator as it is.
    bad: Any
    for bad in (
        5,
        "x",
        [],
        hostile(dict, {}),
        {1: 2},
        {"type": b"x"},
        {"a": float("nan")},
        {"type": "nothing"},
    ):
        with pytest.raises((SchemaError, InputError)):
            callgate.compile("").check(TOOL, {}, schema=bad)
        with pytest.raises((SchemaError, InputError)):
            callgate.compile("").with_tools({TOOL: bad}).check(TOOL, {})


# Nothing outside is touched -----------------------------------------------------------------------

_OUTSIDE = r"""
import json, os, socket, sys, tempfile, warnings
import callgate, jsonschema_rs
from callgate.engine.schema import Schema

server = socket.create_server(("127.0.0.1", 0))
server.setblocking(False)
port = server.getsockname()[1]
folder = tempfile.mkdtemp()
pipe = os.path.join(folder, "pipe.json")
os.mkfifo(pipe)  # whoever opens it to read waits for ever
beside = os.path.join(folder, "true.json")
with open(beside, "w") as out:
    out.write("true")
os.chdir(folder)
callgate.compile("").check("t", {})  # everything is loaded
touched = []
def hook(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "subprocess.Popen", "import") or event.startswith("socket."):
        touched.append((event, str(arguments)[:200]))
sys.addaudithook(hook)
targets = [
    f"http://127.0.0.1:{port}/a.json", f"https://127.0.0.1:{port}/a.json", f"http://127.0.0.1:{port}/a.json#/x",
    "http://example.invalid/schema", "file://" + pipe, "file://" + beside, "file:///etc/hostname", beside, "true.json",
    "./true.json", "//127.0.0.1:%d/a" % port, "urn:example:x", "ftp://127.0.0.1/a", "data:application/json,true",
]
shapes = [
    lambda ref: {"$ref": ref},
    lambda ref: {"properties": {"a": {"$ref": ref}}},
    lambda ref: {"$defs": {"x": {"$ref": ref}}, "properties": {"a": {"$ref": "#/$defs/x"}}},
    lambda ref: {"anyOf": [{"type": "string"}, {"$ref": ref}]},
    lambda ref: {"items": {"$dynamicRef": ref}},
    lambda ref: {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"x": {"$ref": ref}}, "$ref": "#/definitions/x"},
    lambda ref: {"$id": f"http://127.0.0.1:{port}/base/", "properties": {"a": {"$ref": "other.json"}, "b": {"$ref": ref}}},
    lambda ref: {"if": {"$ref": ref}},
]
wrong = []
for ref in targets:
    for number, shape in enumerate(shapes):
        for where in ("tools", "call"):
            try:
                if where == "tools":
                    callgate.compile("").with_tools({"t": shape(ref)}).check("t", {"a": 1, "b": 2})
                else:
                    callgate.compile("").check("t", {"a": 1}, schema=shape(ref))
            except callgate.SchemaError as error:
                tail = ref.split("#")[0].lstrip("./").split("/")[-1]
                if tail not in str(error) and "other.json" not in str(error):
                    wrong.append(("not named", ref, number, str(error)))
            else:
                wrong.append(("taken", ref, number))
for ref in (f"http://127.0.0.1:{port}/meta", "file://" + beside):
    try:
        callgate.compile("").check("t", {"a": 1}, schema={"$schema": ref, "type": "object"})
    except callgate.CallgateError:
        pass
# What is inside, and the drafts' own metaschemas, resolve.
for ref in ("#", "#/$defs/x", "https://json-schema.org/draft/2020-12/schema", "#x"):
    schema = {"properties": {"a": {"$ref": ref}}, "$defs": {"x": {"$anchor": "x", "type": "object"}}}
    assert callgate.compile("").check("t", {"a": {}}, schema=schema).outcome == "valid", ref
try:
    server.accept()
    wrong.append("somebody connected")
except BlockingIOError:
    pass
print(json.dumps({"wrong": wrong, "touched": touched}))
"""


def test_a_reference_to_the_outside_is_a_schema_error_that_names_it_and_nothing_is_touched() -> None:
    # Kills: no retriever, so that the validator's own fetches by HTTP and reads files.
    command = [sys.executable, "-c", _OUTSIDE]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found == {"wrong": [], "touched": []}


@settings(max_examples=400)
@given(seeded(schemas()), hs.integers(0, 2**32))
def test_generated_schemas_and_their_values_are_what_the_other_tests_take_them_for(
    schema: Any, seed: int
) -> None:
    from random import Random

    value = values_of(schema, schema).draw(Random(seed))
    engine = callgate.compile("").with_tools({TOOL: schema})
    valid = validator(schema).is_valid(value)
    verdict = engine.check(TOOL, value)
    assert (verdict.outcome is Outcome.VALID) == valid or verdict.code in (
        "swallowed-parameter",
        "lost-arguments",
    )
    assert set(ODD_KEYS).isdisjoint(PLAIN_KEYS)
