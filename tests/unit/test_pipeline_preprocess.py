"""Stages 3 and 4 of the pipeline: the owner's hook, and the rules of the tool block, in file order."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import callgate
from callgate import Outcome, Verdict

LIST = {"type": "object", "properties": {"f": {"type": "array", "items": {"type": "string"}}}}


def check(
    rules: str, arguments: Any, *, schema: Any = None, model: str | None = None, **options: Any
) -> Verdict:
    tools = None if schema is None else {"t": schema}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", callgate.CallgateWarning)  # some rules here can never apply
        engine = callgate.compile(f"tool t {{\n{rules}\n}}", tools=tools, **options)
    return engine.check("t", arguments, model=model)


def kinds(verdict: Verdict) -> list[str]:
    return [change.kind for change in verdict.changes]


def notes(verdict: Verdict) -> str:
    return "\n".join(change.note for change in verdict.changes)


# Prepare ------------------------------------------------------------------------------------------


def test_the_owners_hook_gets_a_deep_copy_and_its_change_is_named_prepare() -> None:
    seen: list[Any] = []

    def hook(arguments: Any) -> Any:
        seen.append(arguments)
        arguments["a"].append(2)
        return {"a": [1, 2]}

    sent = {"a": [1]}
    verdict = callgate.compile("", prepare={"t": hook}).check("t", sent)
    assert sent == {"a": [1]}
    assert seen[0] is not sent
    assert (verdict.outcome, verdict.arguments, kinds(verdict)) == (
        Outcome.REPAIRED,
        {"a": [1, 2]},
        ["prepare"],
    )


def test_a_hook_that_changes_nothing_leaves_the_callers_object() -> None:
    sent = {"a": [1]}
    verdict = callgate.compile("", prepare={"t": lambda arguments: arguments}).check("t", sent)
    assert (verdict.outcome, verdict.arguments is sent) == (Outcome.VALID, True)


@pytest.mark.parametrize(
    "wrong", [lambda _: 1 / 0, lambda _: {1: 2}, lambda _: {"x": object()}, lambda _: float("nan")]
)
def test_a_hook_that_raises_or_gives_what_is_no_json_makes_the_call_unrepairable(wrong: Any) -> None:
    sent = {"a": [1]}
    verdict = callgate.compile("", prepare={"t": wrong}).check("t", sent)
    assert (verdict.outcome, verdict.code, verdict.changes) == (Outcome.UNREPAIRABLE, "hook", ())
    assert verdict.arguments is sent


def test_the_hook_runs_before_the_rules() -> None:
    def hook(arguments: Any) -> Any:
        return {"file": arguments["old"]} if "old" in arguments else arguments

    engine = callgate.compile("tool t { alias /path from file }", prepare={"t": hook})
    verdict = engine.check("t", {"old": "/a"})
    assert (verdict.arguments, kinds(verdict)) == ({"path": "/a"}, ["prepare", "alias"])


# Order --------------------------------------------------------------------------------------------


def test_rules_apply_in_file_order_each_seeing_the_result_of_the_one_before() -> None:
    rules = "alias /b from a\nalias /c from b"
    verdict = check(rules, {"a": 1})
    assert (verdict.arguments, kinds(verdict)) == ({"c": 1}, ["alias", "alias"])
    swapped = check("alias /c from b\nalias /b from a", {"a": 1})
    assert swapped.code == "not-settled"


def test_there_is_one_change_for_each_place_that_really_differs() -> None:
    verdict = check("filesystem-path /files/*", {"files": ["[a](http://a)", "b", "[c](https://c)"]})
    assert [change.path for change in verdict.changes] == ["/files/0", "/files/2"]
    assert verdict.arguments == {"files": ["a", "b", "c"]}


def test_a_change_carries_the_note_of_its_rule_or_of_its_kind() -> None:
    own = check('filesystem-path /path note "No links."', {"path": "[a](http://a)"})
    assert notes(own) == "No links."
    kind = check("filesystem-path /path", {"path": "[a](http://a)"})
    assert "markdown link" in notes(kind)
    alias = check("alias /path from file", {"file": "a"})
    assert "`path`" in notes(alias)
    assert "`file`" in notes(alias)


def test_a_rule_with_when_applies_on_true_only() -> None:
    rules = "alias /path from file when /mode == 1"
    assert kinds(check(rules, {"file": "a", "mode": 1})) == ["alias"]
    assert check(rules, {"file": "a", "mode": 2}).changes == ()
    assert check(rules, {"file": "a"}).changes == ()
    unknown = 'alias /path from file when context.role == "x"'
    assert check(unknown, {"file": "a"}).changes == ()


def test_unless_is_when_not() -> None:
    rules = "alias /path from file unless /mode == 1"
    assert check(rules, {"file": "a", "mode": 1}).changes == ()
    assert kinds(check(rules, {"file": "a", "mode": 2})) == ["alias"]


def test_without_a_model_id_a_rewrite_with_for_does_not_apply() -> None:
    rules = 'alias /path from file for "(?i)kimi"'
    assert check(rules, {"file": "a"}).changes == ()
    assert check(rules, {"file": "a"}, model="gpt-5").changes == ()
    assert kinds(check(rules, {"file": "a"}, model="moonshotai/Kimi-K2")) == ["alias"]


def test_the_callers_object_is_never_changed() -> None:
    inner = {"file": "[a](http://a)"}
    sent = {"edits": [inner, {"path": "b"}]}
    verdict = check("alias /edits/*/path from file\nfilesystem-path /edits/*/path", sent)
    assert verdict.arguments == {"edits": [{"path": "a"}, {"path": "b"}]}
    assert sent == {"edits": [{"file": "[a](http://a)"}, {"path": "b"}]}
    assert sent["edits"][0] is inner


# alias --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [{"file": "/a"}, {"path": None, "file": "/a"}])
def test_alias_moves_a_listed_key_where_the_canonical_one_is_missing_or_null(sent: Any) -> None:
    assert check("alias /path from file", sent).arguments == {"path": "/a"}


def test_alias_takes_empty_text_for_missing_only_with_empty_is_missing() -> None:
    sent = {"path": "", "file": "/a"}
    assert check("alias /path from file", sent).arguments is sent
    assert check("alias /path from file empty-is-missing", sent).arguments == {"path": "/a"}


def test_alias_takes_the_first_listed_name_in_list_order() -> None:
    verdict = check("alias /path from b, a", {"a": 1, "b": 2})
    assert verdict.arguments == {"a": 1, "path": 2}
    assert [o.path for o in verdict.observations] == ["/a"]


def test_alias_moves_no_empty_text_and_nothing_of_another_type() -> None:
    sent = {"file": "", "name": 5}
    assert check("alias /path from file, name accepting string", sent).arguments is sent


def test_alias_moves_no_name_that_is_itself_a_property() -> None:
    schemas: tuple[Any, ...] = (
        {"properties": {"path": {}, "file": {}}},
        {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"properties": {"path": {}, "file": {}}}}},
        {"anyOf": [{"properties": {"file": {}}}, {"properties": {"path": {}}}]},
        {"oneOf": [{"properties": {"file": {}}}, {"properties": {"path": {}}, "required": ["path"]}]},
    )
    for schema in schemas:
        sent = {"file": "/a"}
        assert check("alias /path from file", sent, schema=schema).changes == (), schema


def test_alias_drops_what_repeats_the_canonical_value_and_observes_the_rest() -> None:
    verdict = check("alias /path from a, b, c", {"path": 1, "a": 1, "b": 2, "c": 1.0})
    assert verdict.arguments == {"path": 1, "b": 2, "c": 1.0}
    assert [o.path for o in verdict.observations] == ["/b", "/c"]


def test_further_equal_keys_go_in_the_same_pass_as_a_move() -> None:
    verdict = check("alias /path from a, b, c", {"a": 1, "b": 1, "c": True})
    assert verdict.arguments == {"path": 1, "c": True}
    assert [change.path for change in verdict.changes] == ["/path", "/b"]


def test_in_a_block_with_a_glob_alias_applies_only_where_the_schema_declares_the_place() -> None:
    rules = 'tool "*" { alias /path from file }'
    declared = callgate.compile(rules, tools={"t": {"properties": {"path": {}}}})
    assert declared.check("t", {"file": "a"}).arguments == {"path": "a"}
    undeclared = callgate.compile(rules, tools={"t": {"properties": {"other": {}}}})
    assert undeclared.check("t", {"file": "a"}).changes == ()
    assert callgate.compile(rules).check("t", {"file": "a"}).changes == ()


# The other kinds ----------------------------------------------------------------------------------


def test_filesystem_path_unwraps_auto_links_and_nothing_else() -> None:
    assert check("filesystem-path /p", {"p": "x/[a.ts](http://a.ts)"}).arguments == {"p": "x/a.ts"}
    for other in ("[a](http://b)", "<http://a>", "`a`", "[a.ts](ftp://a.ts)"):
        sent = {"p": other}
        assert check("filesystem-path /p", sent).arguments is sent


def test_string_or_array_parses_array_text_and_wraps_other_text() -> None:
    assert check("string-or-array /f", {"f": '["a", "b"]'}, schema=LIST).arguments == {"f": ["a", "b"]}
    assert check("string-or-array /f", {"f": "a"}, schema=LIST).arguments == {"f": ["a"]}
    half = {"f": '["a'}
    assert kinds(check("string-or-array /f", half, schema=LIST)) == []


def test_string_or_array_acts_only_where_the_schema_takes_an_array_and_not_the_text() -> None:
    sent = {"f": "a"}
    both = {"properties": {"f": {"type": ["string", "array"]}}}
    assert check("string-or-array /f", sent, schema=both).arguments is sent
    assert check("string-or-array /f", sent).arguments is sent


@pytest.mark.parametrize(
    ("wanted", "sent", "result"),
    [("number", " 7\n", 7), ("number", "1.5", 1.5), ("boolean", "TRUE", True), ("string", 7, "7")],
)
def test_scalar_converts_what_the_schema_does_not_accept(wanted: str, sent: Any, result: Any) -> None:
    schema = {"properties": {"x": {"type": wanted}}}
    verdict = check(f"scalar /x as {wanted}", {"x": sent}, schema=schema)
    assert verdict.arguments == {"x": result}
    assert type(verdict.arguments["x"]) is type(result)
    assert kinds(verdict) == ["scalar"]


@pytest.mark.parametrize("sent", [" true", "yes", "1", "on"])
def test_scalar_takes_only_true_and_false_for_a_boolean_untrimmed(sent: str) -> None:
    verdict = check("scalar /x as boolean", {"x": sent}, schema={"properties": {"x": {"type": "boolean"}}})
    assert "scalar" not in kinds(verdict)


@pytest.mark.parametrize("sent", ["+7", "07", "1e999", "0x10", "1_000", "٧"])
def test_scalar_takes_only_json_number_text_for_a_number(sent: str) -> None:
    verdict = check("scalar /x as number", {"x": sent}, schema={"properties": {"x": {"type": "number"}}})
    assert (verdict.outcome, verdict.changes) == (Outcome.UNREPAIRABLE, ())


def test_anchor_bleed_strips_all_leading_and_trailing_anchors() -> None:
    verdict = check('anchor-bleed /p for "kimi"', {"p": "^^/a$$"}, model="kimi")
    assert verdict.arguments == {"p": "/a"}


@pytest.mark.parametrize(
    "place", [{"type": "string", "format": "regex"}, {"type": "string", "pattern": "^\\^.*"}]
)
def test_anchor_bleed_leaves_regular_expressions_alone(place: Any) -> None:
    sent = {"p": "^/a$"}
    verdict = check('anchor-bleed /p for "kimi"', sent, schema={"properties": {"p": place}}, model="kimi")
    assert verdict.arguments is sent


def test_anchor_bleed_never_leaves_an_empty_text() -> None:
    sent = {"p": "^$"}
    assert check('anchor-bleed /p for "kimi"', sent, model="kimi").arguments is sent


def test_grammar_tokens_go_from_keys_and_direct_texts_of_an_object() -> None:
    sent = {"<arg_key> path </arg_key>": "<arg_value> /x </arg_value>", "n": {"k": "<arg_value>y"}}
    verdict = check('grammar-tokens "" for "glm"', sent, model="glm-4.6")
    assert verdict.arguments == {"path": " /x ", "n": {"k": "<arg_value>y"}}


def test_grammar_tokens_that_would_collide_with_a_key_stay_and_are_observed() -> None:
    sent = {"a": 1, "a</arg_key>": 2}
    verdict = check('grammar-tokens "" for "glm"', sent, model="glm-4.6")
    assert verdict.arguments is sent
    assert [o.kind for o in verdict.observations] == ["grammar-tokens"]


def test_closing_tags_go_from_the_end_of_a_text_that_does_not_open_them() -> None:
    rules = 'closing-tags /c for "claude"'
    sent = {"c": "pwd</parameter>\n</invoke>"}
    assert check(rules, sent, model="claude").arguments == {"c": "pwd"}
    markup = {"c": "<c>pwd</c>"}
    assert check(rules, markup, model="claude").arguments is markup


def test_html_entities_are_decoded_once_and_text_encoded_twice_is_refused() -> None:
    rules = 'html-entities /c for "grok"'
    assert check(rules, {"c": "a &amp;&amp; b"}, model="grok").arguments == {"c": "a && b"}
    twice = check(rules, {"c": "&amp;lt;"}, model="grok")
    assert (twice.outcome, twice.code, twice.changes) == (Outcome.UNREPAIRABLE, "not-settled", ())
    assert "html-entities" in (twice.retry_message or "")


def test_structural_is_all_or_nothing() -> None:
    rules = 'structural "flat" "" { move /old to /edits/0/old; move /new to /edits/0/new }'
    sent = {"old": 1}
    assert check(rules, sent).arguments is sent
    assert check(rules, {"old": 1, "new": 2}).arguments == {"edits": [{"old": 1, "new": 2}]}


def test_structural_and_its_when_are_relative_to_each_place() -> None:
    rules = 'structural "each" /rows/* when present /x { move /x to /y }'
    assert check(rules, {"rows": [{"x": 1}, {"z": 2}], "x": 3}).arguments == {
        "rows": [{"y": 1}, {"z": 2}],
        "x": 3,
    }


def test_the_condition_of_structural_is_judged_at_each_place() -> None:
    rules = 'structural "each" /rows/* when missing /y { set /y 1 }'
    verdict = check(rules, {"rows": [{"z": 1}, {"y": 2}], "y": 3})
    assert verdict.arguments == {"rows": [{"z": 1, "y": 1}, {"y": 2}], "y": 3}
    assert [change.path for change in verdict.changes] == ["/rows/0"]


def test_structural_calls_a_function_that_the_owner_registered() -> None:
    def upper(arguments: Any) -> Any:
        return {"up": arguments["low"].upper()}

    engine = callgate.compile(
        'tool t { structural "up" "" call upper when present /low }', functions={"upper": upper}
    )
    verdict = engine.check("t", {"low": "x"})
    assert (verdict.arguments, verdict.changes[0].rule) == ({"up": "X"}, "t:structural:up")


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyError, RecursionError, AssertionError])
def test_an_owners_function_that_raises_makes_the_call_unrepairable(error: type[Exception]) -> None:
    def boom(_: Any) -> Any:
        raise error("secret")

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is wrong with the rule: the function is registered
        engine = callgate.compile('tool t { structural "up" "" call boom }', functions={"boom": boom})
    sent = {"low": "x"}
    verdict = engine.check("t", sent)
    assert (verdict.outcome, verdict.code, verdict.arguments is sent) == (Outcome.UNREPAIRABLE, "hook", True)
    assert "secret" not in (verdict.retry_message or "")


def test_a_shadow_rule_says_what_it_would_do_and_does_nothing() -> None:
    sent = {"file": "/a"}
    verdict = check("shadow alias /path from file", sent)
    assert (verdict.outcome, verdict.arguments is sent) == (Outcome.VALID, True)
    assert [(o.rule, o.path) for o in verdict.observations] == [("t:alias:/path", "/path")]


def test_a_rule_that_needs_a_schema_says_in_every_verdict_that_there_is_none() -> None:
    verdict = check("scalar /n as number", {"n": "5"})
    assert (verdict.outcome, len(verdict.observations)) == (Outcome.VALID, 1)
    assert "no schema" in verdict.observations[0].message
