"""Nothing touches a well-formed call: the control set, with every pack that ships, for every family."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import jsonschema_rs
import pytest

import callgate
from callgate import Outcome

from .control import TOOLS, calls

CALLS = calls()
# Some id of each family, as providers write them.
MODELS = (
    "moonshotai/kimi-k2-instruct", "zai-org/glm-5.1", "qwen/qwen3-coder-next", "deepseek-ai/deepseek-v3.2",
    "minimax/minimax-m2.5", "mistralai/mistral-large-3", "meta-llama/llama-4-maverick", "openai/gpt-oss-120b",
    "openai/gpt-5.2", "anthropic/claude-opus-4.7", "google/gemini-3-pro", "google/gemma-4-27b-it",
    "x-ai/grok-4.1-fast", "nvidia/nemotron-3-super", "ibm-granite/granite-4.1", "microsoft/phi-5",
)  # fmt: skip


def exact(value: Any) -> str:
    """A text that is equal for the same value in the same types, in the same order: `1` and `1.0` differ."""
    return json.dumps(value)


GIVEN = exact(CALLS)


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def each_character(match: re.Match[str]) -> str:
    """A JSON string with every character as an escape of four digits, those beyond as two."""
    units = json.loads(match[0]).encode("utf-16-be")
    return '"' + "".join(f"\\u{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2)) + '"'


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_FRACTION = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<float>-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)')


def exponents(sign: str) -> Callable[[Any], str]:
    """A writing with every fraction as digits and an exponent, of the same decimal value."""

    def form(match: re.Match[str]) -> str:
        if match["float"] is None or match["float"].lstrip("-").isdigit():
            return match[0]  # a string, or an integer
        return f"{Decimal(match['float']):E}".replace("E", sign)

    return lambda value: _FRACTION.sub(form, json.dumps(value))


# Ways to write one value as JSON text. A `/` in JSON text is always in a string.
WAYS: dict[str, Callable[[Any], str]] = {
    "compact": compact,
    "indented": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
    "escaped": json.dumps,
    "slashes": lambda value: compact(value).replace("/", "\\/"),
    "every character": lambda value: _STRING.sub(each_character, json.dumps(value)),
    "white space": lambda value: f"\r\n\t {json.dumps(value, indent=chr(9), separators=(' , ', ' : '))} \n\n",
    "exponents": exponents("E"),
    "small exponents": exponents("e"),
}


@cache
def engine(rules: str = "") -> callgate.Engine:
    return callgate.compile(rules, tools=TOOLS, packs="shipped")


# A text of nothing but encoded characters looks the same whether Grok encoded it or meant it, and its pack
# decodes it in some fields. These calls are well formed for a reader all the same.
ENCODED = {"markup.html-entities"}


def may_decode(model: str | None, name: str, call: Any) -> bool:
    return "grok" in (model or "") and (name in ENCODED or "/tmp/a&amp;b.html" in exact(call))


def touched(verdict: callgate.Verdict) -> str:
    """What happened to a call that should be left alone; empty where nothing did."""
    if verdict.outcome is Outcome.VALID and not verdict.changes and not verdict.issues:
        return ""
    changes = [f"{change.rule} at {change.path!r}" for change in verdict.changes]
    return f"{verdict.outcome.value} {verdict.code or ''} {changes} {list(verdict.issues)}"


def report(found: list[str]) -> None:
    shown = "\n".join(found[:20])
    assert not found, f"{len(found)} calls were touched\n{shown}"


def test_there_are_enough_calls_all_different_and_all_valid() -> None:
    assert len({(tool, exact(call)) for _, tool, call in CALLS}) >= 2_000
    validators = {name: jsonschema_rs.validator_for(schema) for name, schema in TOOLS.items()}
    assert [(tool, call) for _, tool, call in CALLS if not validators[tool].is_valid(call)] == []
    assert {tool for _, tool, _ in CALLS} == TOOLS.keys()


@pytest.mark.parametrize("model", [None, *MODELS], ids=str)
def test_a_well_formed_call_comes_back_as_the_callers_own_object(model: str | None) -> None:
    judge = engine()
    found = []
    for name, tool, call in CALLS:
        verdict = judge.check(tool, call, model=model)
        fault = touched(verdict)
        if not fault and verdict.arguments is not call:
            fault = "another object"
        if fault and not may_decode(model, name, call):
            found.append(f"{name} {tool} {compact(call)[:200]}: {fault}")
    report(found)
    assert exact(CALLS) == GIVEN, "a caller's object was changed"


def text_faults(judge: callgate.Engine, way: str, models: tuple[str | None, ...]) -> list[str]:
    """The calls that are touched when they come as text, each with the next of the models.

    There are 21 places for a text and 16 models, with no factor in common: each place meets each model.
    """
    found = []
    for number, (name, tool, call) in enumerate(CALLS):
        text = WAYS[way](call)
        model = models[number % len(models)]
        verdict = judge.check_text(tool, text, model=model)
        fault = touched(verdict)
        if not fault and exact(verdict.arguments) != exact(call):
            fault = f"another value: {exact(verdict.arguments)[:200]}"
        if fault and not may_decode(model, name, call):
            found.append(f"{name} {tool} {model} {text[:200]}: {fault}")
    return found


@pytest.mark.parametrize("way", WAYS)
def test_a_well_formed_call_as_text_is_read_as_it_stands(way: str) -> None:
    report(text_faults(engine(), way, MODELS))


@pytest.mark.parametrize("policy", ["conservative", "recover"])
def test_it_is_so_under_every_policy(policy: str) -> None:
    report(text_faults(engine(f"policy {policy}\n"), "compact", MODELS[::-1]))


def test_it_is_so_where_no_schema_is_known() -> None:
    open_engine = callgate.compile("", packs="shipped")
    found = []
    for number, (name, tool, call) in enumerate(CALLS):
        model = MODELS[number % len(MODELS)]
        verdict = open_engine.check(tool, call, model=model)
        as_text = open_engine.check_text(tool, compact(call), model=model)
        if may_decode(model, name, call):
            continue
        if touched(verdict) or verdict.arguments is not call or touched(as_text) or as_text.arguments != call:
            found.append(f"{name} {tool} {compact(call)[:200]}: {touched(verdict)} {touched(as_text)}")
    report(found)


def test_what_is_let_off_for_grok_is_still_decoded_by_its_pack() -> None:
    model = "x-ai/grok-4.1-fast"
    decoded = {name for name, tool, call in CALLS if touched(engine().check(tool, call, model=model))}
    assert decoded == ENCODED | {"shape"}


def test_the_ways_of_writing_are_json_of_the_same_value_and_differ() -> None:
    call = {"a/b": ['é\n"🔑', 1.0, 1000.0, 5, -0.0, 1e-7, True, None]}
    texts = [write(call) for write in WAYS.values()]
    assert len(set(texts)) == len(texts)
    assert {exact(json.loads(text)) for text in texts} == {exact(call)}


@pytest.mark.parametrize(
    "sent",
    [
        '{"path": "a", "content": "x",}',
        '{"path": "a", "content": "x\n"}',
        '{"arguments": {"path": "a", "content": "x"}}',
        '{"file_path": "a", "content": "x"}',
        '{"path": "[a.ts](http://a.ts)", "content": "x"}',
        '{"path": "a", "content": 5}',
    ],
)
def test_a_call_that_is_not_well_formed_would_be_seen(sent: str) -> None:
    assert touched(engine().check_text("write", sent))
