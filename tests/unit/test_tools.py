"""Tool definitions are read in the forms in which hosts hold them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

import callgate
from callgate import Outcome, SchemaError
from callgate.engine.documents import DocumentError, decode_document
from callgate.engine.tools import read_tools

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
GEMINI: dict[str, Any] = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}, "required": ["n"]}

FORMS: dict[str, Any] = {
    "a mapping": {"t": SCHEMA},
    "openai chat": [
        {"type": "function", "function": {"name": "t", "description": "d", "parameters": SCHEMA}}
    ],
    "openai responses": [{"type": "function", "name": "t", "parameters": SCHEMA, "strict": True}],
    "anthropic": [{"name": "t", "description": "d", "input_schema": SCHEMA}],
    "gemini": [{"functionDeclarations": [{"name": "t", "parameters": GEMINI}]}],
    "gemini in snake case": [{"function_declarations": [{"name": "t", "parameters": GEMINI}]}],
    "gemini with a json schema": [{"functionDeclarations": [{"name": "t", "parametersJsonSchema": SCHEMA}]}],
    "mcp": [{"name": "t", "title": "T", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}],
    "an answer of an mcp server": {"tools": [{"name": "t", "inputSchema": SCHEMA}]},
    "a page of an mcp server": {"tools": [{"name": "t", "inputSchema": SCHEMA}], "nextCursor": "2"},
    "a generator": ({"name": "t", "inputSchema": each} for each in [SCHEMA]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_tool_its_schema(form: str) -> None:
    tools = list(FORMS[form]) if form == "a generator" else FORMS[form]
    engine = callgate.compile("", tools=tools)
    assert engine.check("t", {"n": "5"}).arguments == {"n": 5}
    assert engine.check("t", {}).code == "schema"
    assert engine.check("other", {}).code == "unknown-tool"


def test_several_declarations_of_one_gemini_tool_are_several_tools() -> None:
    tools = read_tools([{"functionDeclarations": [{"name": "a", "parameters": GEMINI}, {"name": "b"}]}])
    assert tools is not None
    assert list(tools) == ["a", "b"]
    assert tools["b"].schema is None


def test_the_capital_types_of_gemini_are_read_at_every_depth() -> None:
    nested = {
        "type": "OBJECT",
        "properties": {
            "list": {"type": "ARRAY", "items": {"type": "OBJECT", "properties": {"x": {"type": "NUMBER"}}}},
            "one": {"anyOf": [{"type": "STRING"}, {"type": "BOOLEAN"}]},
        },
    }
    engine = callgate.compile("", tools=[{"functionDeclarations": [{"name": "t", "parameters": nested}]}])
    assert engine.check("t", {"list": [{"x": "a"}]}).outcome is Outcome.UNREPAIRABLE
    assert engine.check("t", {"list": [{"x": 1}], "one": True}).outcome is Outcome.VALID
    assert engine.check("t", {"one": 5.5}).outcome is Outcome.UNREPAIRABLE


def test_a_tool_without_a_schema_takes_any_object() -> None:
    for tools in ({"t": None}, [{"name": "t"}], [{"type": "function", "function": {"name": "t"}}]):
        sent = {"anything": [1]}
        assert callgate.compile("", tools=tools).check("t", sent).arguments is sent


def test_true_and_false_are_schemas() -> None:
    engine = callgate.compile("", tools={"all": True, "none": False})
    assert engine.check("all", {"x": 1}).outcome is Outcome.VALID
    assert engine.check("none", {"x": 1}).outcome is Outcome.UNREPAIRABLE


def test_no_tools_is_not_the_same_as_none() -> None:
    assert callgate.compile("", tools={}).check("t", {}).code == "unknown-tool"
    assert callgate.compile("", tools=None).check("t", {}).outcome is Outcome.VALID


def test_a_destructive_hint_says_that_a_tool_changes_things() -> None:
    def tool(hints: Any) -> bool:
        found = read_tools([{"name": "t", "inputSchema": SCHEMA, "annotations": hints}])
        assert found is not None
        return found["t"].mutates

    assert tool({"destructiveHint": True})
    assert not tool({"destructiveHint": False})
    assert not tool({"destructiveHint": "yes"})
    assert not tool(None)


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ("tools", "mapping of names"),
        (5, "mapping of names"),
        ([5], "must be an object"),
        ([{}], "no `name`"),
        ([{"name": ""}], "not empty"),
        ([{"name": 5}], "not empty"),
        ({"": {}}, "not empty"),
        ([{"name": "t"}, {"name": "t"}], "two tools are called `t`"),
        ({"t": {"type": "strin"}}, "`t`"),
        ({"t": {"properties": []}}, "`t`"),
        ({"t": 5}, "`t`"),
        ({"t": {"$ref": "https://example.com/x.json"}}, "example.com"),
        ({"t": {"$ref": "#/$defs/nope"}}, "nope"),
    ],
)
def test_what_is_no_tool_is_an_error_that_says_what_is_wrong(wrong: Any, part: str) -> None:
    with pytest.raises(SchemaError, match=part.replace("$", r"\$")):
        read_tools(wrong)


def test_the_given_definitions_are_never_changed() -> None:
    given = [{"functionDeclarations": [{"name": "t", "parameters": {"type": "OBJECT", "properties": {}}}]}]
    callgate.compile("", tools=given)
    assert given == [
        {"functionDeclarations": [{"name": "t", "parameters": {"type": "OBJECT", "properties": {}}}]}
    ]


def test_what_yaml_merges_may_be_merged_again_at_any_depth() -> None:
    text = """
base: &base {type: object, properties: {}}
deep: {a: {b: {c: &mid {<<: *base, type: string}}}}
top: {<<: *mid, type: object}
next: {<<: [*mid, *base], title: x}
"""
    found: Any = decode_document(text.encode(), "t.yaml")
    assert found == yaml.safe_load(text)
    for twice in ("{a: 1, a: 2}", "{<<: *base, type: x, type: y}", "{x: {y: &z {a: 1, a: 1}}}\nw: {<<: *z}"):
        with pytest.raises(DocumentError, match="stands twice in line 6"):
            decode_document(f"{text}last: {twice}\n".encode(), "t.yaml")
