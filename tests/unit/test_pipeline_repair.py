"""Stages 6 to 8 of the pipeline: the strict schema, and repairs at the places that it reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

import callgate
from callgate import Limits, Outcome, Verdict

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "s": {"type": "string"},
        "i": {"type": "integer"},
        "n": {"type": "number"},
        "b": {"type": "boolean"},
        "nil": {"type": "null"},
        "a": {"type": "array", "items": {"type": "string"}},
        "ai": {"type": "array", "items": {"type": "integer"}},
        "o": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "e": {"enum": ["Fast", "slow", "none-at-all"]},
        "ee": {"enum": ["Fast", "FAST"]},
        "sa": {"type": ["string", "array"]},
        "en": {"enum": ["a", "null"]},
        "u": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]},
        "two": {
            "anyOf": [
                {"type": "integer"},
                {"type": "boolean"},
                {"type": "array", "items": {"type": "integer"}},
            ]
        },
    },
}


def check(arguments: Any, rules: str = "", *, schema: Any = SCHEMA, **options: Any) -> Verdict:
    return callgate.compile(rules, tools={"t": schema}, **options).check("t", arguments)


def kinds(verdict: Verdict) -> list[str]:
    return [change.kind for change in verdict.changes]


def exact(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


# Validation ---------------------------------------------------------------------------------------


def test_validation_is_strict_and_converts_nothing() -> None:
    sent = {"i": 1.0, "n": 1, "s": "1"}
    verdict = check(sent)
    assert verdict.arguments is sent
    assert exact(verdict.arguments) == exact({"i": 1.0, "n": 1, "s": "1"})


def test_a_boolean_is_no_number() -> None:
    assert check({"i": True}).outcome is Outcome.UNREPAIRABLE


def test_format_is_not_asserted() -> None:
    sent = {"d": "no date"}
    assert check(sent, schema={"properties": {"d": {"type": "string", "format": "date"}}}).arguments is sent


def test_schemas_are_draft_2020_12_unless_they_say_7() -> None:
    new = {"properties": {"a": {"prefixItems": [{"type": "integer"}]}}}
    assert check({"a": ["x"]}, schema=new).outcome is Outcome.UNREPAIRABLE
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"a": {"items": [{"type": "integer"}]}},
    }
    assert check({"a": ["x"]}, schema=old).outcome is Outcome.UNREPAIRABLE
    ignored = {**new, "$schema": "http://json-schema.org/draft-07/schema#"}
    assert check({"a": ["x"]}, schema=ignored).outcome is Outcome.VALID


@pytest.mark.parametrize("reference", ["https://example.com/s.json", "file:///etc/hosts", "other.json"])
def test_a_reference_outside_the_schema_is_an_error_that_names_it(reference: str) -> None:
    with pytest.raises(callgate.SchemaError, match=r"example\.com|etc/hosts|other\.json"):
        callgate.compile("", tools={"t": {"$ref": reference}})


def test_issues_name_the_place_the_keyword_and_what_is_wanted_and_quote_no_value() -> None:
    verdict = check({"e": "s3cret-value", "i": "s3cret-value"})
    assert {(issue.path, issue.keyword) for issue in verdict.issues} == {("/e", "enum"), ("/i", "type")}
    assert "s3cret" not in "".join(issue.message for issue in verdict.issues)
    assert any("slow" in issue.message for issue in verdict.issues)


def test_a_repaired_call_keeps_the_issues_of_the_original() -> None:
    verdict = check({"i": "5"})
    assert [(issue.path, issue.keyword) for issue in verdict.issues] == [("/i", "type")]


def test_unknown_fields_are_never_deleted() -> None:
    closed = {"type": "object", "properties": {"s": {"type": "string"}}, "additionalProperties": False}
    sent = {"s": "x", "extra": 1}
    verdict = check(sent, schema=closed)
    assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "schema")
    assert "extra" in verdict.issues[0].message


def test_no_default_is_ever_invented() -> None:
    schema = {"properties": {"s": {"type": "string", "default": "x"}}, "required": ["s"]}
    assert check({}, schema=schema).outcome is Outcome.UNREPAIRABLE


# One row of the table each ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "result", "kind"),
    [
        ({"s": None}, {}, "repair.drop-null"),
        ({"i": "null"}, {}, "repair.drop-null"),
        ({"i": "None"}, {}, "repair.drop-null"),
        ({"i": ""}, {}, "repair.drop-null"),
        ({"a": {}}, {}, "repair.drop-empty-object"),
        ({"ai": "[1, 2]"}, {"ai": [1, 2]}, "repair.parse-json"),
        ({"o": '{"x": 1}'}, {"o": {"x": 1}}, "repair.parse-json"),
        ({"i": "5"}, {"i": 5}, "repair.parse-scalar"),
        ({"n": "5.5"}, {"n": 5.5}, "repair.parse-scalar"),
        ({"b": "true"}, {"b": True}, "repair.parse-scalar"),
        ({"b": "False"}, {"b": False}, "repair.parse-scalar"),
        ({"s": 5}, {"s": "5"}, "repair.scalar-to-text"),
        ({"s": True}, {"s": "true"}, "repair.scalar-to-text"),
        ({"a": "x"}, {"a": ["x"]}, "repair.wrap-array"),
        ({"s": ["x"]}, {"s": "x"}, "repair.unwrap-array"),
        ({"a": {"item": ["x", "y"]}}, {"a": ["x", "y"]}, "repair.unwrap-array"),
        ({"a": {"item": "x"}}, {"a": ["x"]}, "repair.unwrap-array"),
        ({"e": " FAST"}, {"e": "Fast"}, "repair.enum-case"),
        ({"u": "5"}, {"u": 5}, "repair.parse-scalar"),
        ({"u": "x"}, {"u": ["x"]}, "repair.wrap-array"),
        ({"u": '["x"]'}, {"u": ["x"]}, "repair.parse-json"),
    ],
)
def test_each_repair_does_what_its_row_says(sent: Any, result: Any, kind: str) -> None:
    verdict = check(sent)
    assert (verdict.outcome, exact(verdict.arguments), kinds(verdict)) == (
        Outcome.REPAIRED,
        exact(result),
        [kind],
    )
    change = verdict.changes[0]
    assert (change.stage, change.rule) == ("repair", kind)
    assert change.note


@pytest.mark.parametrize(
    "sent",
    [
        {"i": "5.7"},  # no integer
        {"i": "5.0"},
        {"i": "05"},
        {"i": " 5"},
        {"i": "1e3"},
        {"n": "0.12345678901234567890"},  # a digit would be lost
        {"n": "5.50"},  # not as the number would be printed
        {"n": "1e999"},
        {"b": "yes"},
        {"b": 1},
        {"s": 5.5},  # its text is not the model's
        {"a": "x\ny"},  # more than one line
        {"a": '["x"'},
        {"a": "{x}"},
        {"s": ["x", "y"]},
        {"e": "fas"},
        {"ee": "fast"},  # two members equal it but for case
        {"sa": 5},  # not only text is wanted
        {"e": 5},
        {"ai": ["x"]},
        {"o": []},
        {"two": "x"},
    ],
)
def test_what_would_be_a_guess_is_not_repaired(sent: Any) -> None:
    verdict = check(sent)
    assert (verdict.outcome, verdict.code, verdict.changes) == (Outcome.UNREPAIRABLE, "schema", ())
    assert verdict.arguments is sent


def test_a_required_key_comes_from_the_tools_alias_rules() -> None:
    schema = {
        "type": "object",
        "properties": {"edits": {"type": "array", "items": {"required": ["old"], "properties": {"old": {}}}}},
    }
    rules = "tool t { alias /edits/*/old from search }"
    verdict = check({"edits": '[{"search": "x"}]'}, rules, schema=schema)
    assert verdict.arguments == {"edits": [{"old": "x"}]}
    assert kinds(verdict)[0] == "repair.parse-json"
    assert kinds(verdict)[1] in ("alias", "repair.alias")


def test_an_alias_whose_condition_is_false_does_not_repair() -> None:
    schema: dict[str, Any] = {"properties": {"path": {}, "mode": {}}, "required": ["path"]}
    rules = "tool t { alias /path from file when /mode == 1 }"
    assert check({"file": "a"}, rules, schema=schema).code == "schema"
    verdict = check({"file": "a", "mode": 1}, rules, schema=schema)
    assert verdict.arguments == {"path": "a", "mode": 1}


def test_a_required_null_is_not_dropped() -> None:
    schema = {"properties": {"s": {"type": "string"}}, "required": ["s"]}
    assert check({"s": None}, schema=schema).outcome is Outcome.UNREPAIRABLE


def test_a_null_that_the_schema_takes_stays() -> None:
    sent = {"nil": None}
    assert check(sent).arguments is sent


def test_a_word_for_nothing_stays_where_the_schema_takes_text_or_an_enum_has_one_like_it() -> None:
    sent = {"s": "null"}
    assert check(sent).arguments is sent
    assert "repair.drop-null" not in kinds(check({"en": "None"}))
    assert check({"en": "None"}).outcome is Outcome.UNREPAIRABLE


@pytest.mark.parametrize("ground", ["ground { mutates t }", "ground { shell t /s }"])
def test_text_is_not_dropped_on_a_tool_that_is_known_to_change_things(ground: str) -> None:
    given: tuple[Any, ...] = ({"i": "null"}, {"i": ""}, {"a": {}})
    for sent in given:
        assert check(sent, ground).outcome is Outcome.UNREPAIRABLE, sent
    assert check({"i": None}, ground).arguments == {}


def test_text_is_not_dropped_on_a_tool_whose_hints_call_it_destructive() -> None:
    tools = [{"name": "t", "inputSchema": SCHEMA, "annotations": {"destructiveHint": True}}]
    engine = callgate.compile("", tools=tools)
    assert engine.check("t", {"i": ""}).outcome is Outcome.UNREPAIRABLE
    assert engine.check("t", {"i": None}).arguments == {}


def test_a_droppable_field_is_dropped_there_too() -> None:
    rules = "ground { mutates t }\ntool t { droppable /i, /a }"
    assert check({"i": ""}, rules).arguments == {}
    assert check({"n": ""}, rules).outcome is Outcome.UNREPAIRABLE


def test_bare_text_goes_to_the_root_field() -> None:
    rules = "tool t { root /s }"
    verdict = check("ls -l", rules)
    assert (verdict.arguments, kinds(verdict)) == ({"s": "ls -l"}, ["repair.wrap-root"])
    assert check("ls", "tool t { root /a in-array }").arguments == {"a": ["ls"]}


@pytest.mark.parametrize("sent", ["5", "true", "{oops", "[1", "<a>", "NaN", "'x'", 'say {"a": 1}'])
def test_text_that_looks_like_json_or_markup_is_not_wrapped(sent: str) -> None:
    assert check(sent, "tool t { root /s }").outcome is Outcome.UNREPAIRABLE


def test_nothing_is_wrapped_without_a_root() -> None:
    assert check("ls -l").code == "not-json"


def test_a_union_is_repaired_only_where_exactly_one_branch_passes() -> None:
    one = {"properties": {"v": {"oneOf": [{"type": "integer"}, {"type": "string", "const": "x"}]}}}
    assert check({"v": "5"}, schema=one).arguments == {"v": 5}
    both = {"properties": {"v": {"oneOf": [{"type": "integer"}, {"type": "number"}]}}}
    assert check({"v": "5"}, schema=both).outcome is Outcome.UNREPAIRABLE


def test_a_branch_of_a_union_is_repaired_inside() -> None:
    schema = {
        "properties": {
            "v": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {"k": {"const": "a"}, "i": {"type": "integer"}},
                        "required": ["k", "i"],
                    },
                    {
                        "type": "object",
                        "properties": {"k": {"const": "b"}, "b": {"type": "boolean"}},
                        "required": ["k", "b"],
                    },
                ]
            }
        }
    }
    assert check({"v": {"k": "a", "i": "5"}}, schema=schema).arguments == {"v": {"k": "a", "i": 5}}


def test_two_branches_that_could_both_be_repaired_are_left_alone() -> None:
    def branches(*types: tuple[str, str]) -> Any:
        fields = [{"i": {"type": i}, "b": {"type": b}} for i, b in types]
        options = [{"type": "object", "properties": each, "required": ["i", "b"]} for each in fields]
        return {"properties": {"v": {"anyOf": options}}}

    sent = {"v": {"i": "5", "b": "true"}}
    one = check(sent, schema=branches(("integer", "string"), ("null", "boolean")))
    assert one.arguments == {"v": {"i": 5, "b": "true"}}
    both = check(sent, schema=branches(("integer", "string"), ("string", "boolean")))
    assert (both.outcome, both.arguments is sent) == (Outcome.UNREPAIRABLE, True)


def test_a_root_field_with_a_slash_in_its_name_is_named_by_a_json_pointer() -> None:
    schema = {"type": "object", "properties": {"a/b": {"type": "string"}}, "required": ["a/b"]}
    verdict = check("ls", 'tool t { root "/a~1b" }', schema=schema)
    assert verdict.arguments == {"a/b": "ls"}
    assert [change.path for change in verdict.changes] == ["/a~1b"]


def test_several_places_are_repaired_in_one_call() -> None:
    verdict = check({"i": "5", "b": "true", "o": '{"x": "7"}', "s": None})
    assert verdict.arguments == {"i": 5, "b": True, "o": {"x": 7}}
    assert sorted(kinds(verdict)) == sorted(
        [
            "repair.parse-scalar",
            "repair.parse-scalar",
            "repair.parse-json",
            "repair.parse-scalar",
            "repair.drop-null",
        ]
    )


def test_the_repair_makes_at_most_as_many_passes_as_the_limit_says() -> None:
    sent = {"o": '{"x": "7"}'}
    assert check(sent, limits=Limits(passes=1)).outcome is Outcome.UNREPAIRABLE
    assert check(sent, limits=Limits(passes=2)).outcome is Outcome.REPAIRED


def test_stage_4_runs_again_after_a_repair() -> None:
    schema = {
        "properties": {"edits": {"type": "array", "items": {"properties": {"path": {"type": "string"}}}}}
    }
    rules = "tool t { filesystem-path /edits/*/path }"
    verdict = check({"edits": '[{"path": "[a](http://a)"}]'}, rules, schema=schema)
    assert (verdict.arguments, kinds(verdict)) == (
        {"edits": [{"path": "a"}]},
        ["repair.parse-json", "filesystem-path"],
    )


def test_nothing_is_unwrapped_inside_a_field() -> None:
    assert check({"o": '[{"x": 1}]'}).outcome is Outcome.UNREPAIRABLE


@pytest.mark.parametrize(
    ("sent", "rule"),
    [
        ({"s": None}, "repair.drop-null"),
        ({"a": {}}, "repair.drop-empty-object"),
        ({"ai": "[1, 2]"}, "repair.parse-json"),
        ({"i": "5"}, "repair.parse-scalar"),
        ({"s": 5}, "repair.scalar-to-text"),
        ({"a": "x"}, "repair.wrap-array"),
        ({"s": ["x"]}, "repair.unwrap-array"),
        ({"e": "FAST"}, "repair.enum-case"),
        ("ls -l", "repair.wrap-root"),
    ],
)
def test_each_repair_can_be_switched_off(sent: Any, rule: str) -> None:
    root = "tool t { root /s }\n"
    assert kinds(check(sent, root)) == [rule]
    off = check(sent, f'{root}disable {rule} because "not here"')
    assert (off.outcome, off.changes) == (Outcome.UNREPAIRABLE, ())


def test_a_repair_can_be_switched_off_for_one_tool() -> None:
    engine = callgate.compile(
        'tool t { disable repair.parse-scalar because "not here" }', tools={"t": SCHEMA, "u": SCHEMA}
    )
    assert engine.check("t", {"i": "5"}).outcome is Outcome.UNREPAIRABLE
    assert engine.check("u", {"i": "5"}).arguments == {"i": 5}


def test_conservative_neither_makes_text_nor_mends_the_case_of_an_enum() -> None:
    assert check({"s": 5}, "policy conservative").outcome is Outcome.UNREPAIRABLE
    assert check({"e": "FAST"}, "policy conservative").outcome is Outcome.UNREPAIRABLE
    assert check({"i": "5"}, "policy conservative").arguments == {"i": 5}
    assert check({"s": 5}, "policy recover").arguments == {"s": "5"}


def test_a_text_with_commas_is_not_taken_for_one_item() -> None:
    schema = {"properties": {"labels": {"type": "array", "items": {"type": "string"}}}}
    engine = callgate.compile("", tools={"t": schema})
    for text in ("bug, urgent", "a,b", "a; b"):
        assert engine.check("t", {"labels": text}).outcome is Outcome.UNREPAIRABLE
    assert engine.check("t", {"labels": "bug"}).arguments == {"labels": ["bug"]}


def test_a_repair_never_takes_a_value_past_the_depth_limit() -> None:
    schema = {"properties": {"a": {"type": "array"}}}
    engine = callgate.compile("", tools={"t": schema})
    deep = '{"a": "' + "[" * 64 + "]" * 64 + '"}'
    verdict = engine.check_text("t", deep)
    assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "not-settled")
