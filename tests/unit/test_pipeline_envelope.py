"""Stage 2 of the pipeline: an argument value is made out of what the model sent, or refused with a code."""

from __future__ import annotations

import json
from typing import Any

import pytest

import callgate
from callgate import Limits, Outcome, Verdict

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "n": {"type": "integer"},
        "ok": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["path"],
}
OPEN: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}


def check(arguments: Any, rules: str = "", *, schema: Any = SCHEMA, **options: Any) -> Verdict:
    tools = None if schema is None else {"t": schema}
    return callgate.compile(rules, tools=tools).check("t", arguments, **options)


def text(arguments: str, rules: str = "", *, schema: Any = SCHEMA, **options: Any) -> Verdict:
    tools = None if schema is None else {"t": schema}
    return callgate.compile(rules, tools=tools).check_text("t", arguments, **options)


def kinds(verdict: Verdict) -> list[str]:
    return [change.kind for change in verdict.changes]


# Step 1: plain JSON -------------------------------------------------------------------------------


def test_plain_json_text_over_the_wire_is_valid_and_carries_the_decoded_value() -> None:
    verdict = text('{"path": "/a", "n": 1}')
    assert (verdict.outcome, verdict.arguments, verdict.changes) == (
        Outcome.VALID,
        {"path": "/a", "n": 1},
        (),
    )


def test_text_given_to_check_is_json_in_json() -> None:
    verdict = check('{"path": "/a"}')
    assert (verdict.outcome, verdict.arguments) == (Outcome.REPAIRED, {"path": "/a"})
    assert kinds(verdict) == ["envelope.decode-json"]


@pytest.mark.parametrize("blank", ["", "  \n", "null"])
def test_blank_text_or_null_is_an_empty_object_where_that_passes(blank: str) -> None:
    verdict = text(blank, schema=OPEN)
    assert (verdict.outcome, verdict.arguments, kinds(verdict)) == (Outcome.REPAIRED, {}, ["envelope.empty"])


@pytest.mark.parametrize("blank", [None, ""])
def test_a_null_or_blank_given_to_check_is_an_empty_object_and_nothing_else_changes(blank: Any) -> None:
    verdict = check(blank, schema=OPEN)
    assert (verdict.arguments, kinds(verdict)) == ({}, ["envelope.empty"])


@pytest.mark.parametrize("blank", [None, "", "null"])
def test_blank_text_or_null_is_no_object_where_an_empty_one_does_not_pass(blank: Any) -> None:
    verdict = check(blank)
    assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "schema")
    assert verdict.arguments is blank


@pytest.mark.parametrize("blank", [None, "", "null", {}])
def test_empty_arguments_are_called_empty_and_the_required_fields_are_named(blank: Any) -> None:
    message = check(blank).retry_message
    assert message is not None
    assert "The arguments are empty." in message
    assert "the field `path` is required" in message


def test_null_stays_null_where_the_schema_wants_it() -> None:
    verdict = check(None, schema={"type": ["object", "null"]})
    assert (verdict.outcome, verdict.arguments) == (Outcome.VALID, None)


def test_equal_duplicate_keys_merge() -> None:
    verdict = text('{"path": "/a", "path": "/a"}')
    assert (verdict.arguments, kinds(verdict)) == ({"path": "/a"}, ["envelope.duplicate-key"])


def test_numbers_are_read_exactly() -> None:
    verdict = text('{"path": "/a", "n": 123456789012345678901234567890}')
    assert verdict.arguments["n"] == 123456789012345678901234567890
    assert text('{"x": 0.1}', schema=None).arguments == {"x": 0.1}


# Step 2: wrapped ----------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_json_in_json_is_one_change_for_each_reading(layers: int) -> None:
    sent: Any = {"path": "/a"}
    for _ in range(layers):
        sent = json.dumps(sent)
    verdict = check(sent)
    assert (verdict.arguments, kinds(verdict)) == ({"path": "/a"}, ["envelope.decode-json"] * layers)
    over_the_wire = text(sent)
    assert kinds(over_the_wire) == ["envelope.decode-json"] * (layers - 1)


def test_more_readings_than_the_limit_are_refused() -> None:
    sent: Any = {"path": "/a"}
    for _ in range(4):
        sent = json.dumps(sent)
    assert (check(sent).outcome, check(sent).code) == (Outcome.UNREPAIRABLE, "limit")


def test_a_one_object_array_is_unwrapped_where_an_object_is_wanted() -> None:
    verdict = check([{"path": "/a"}])
    assert (verdict.arguments, kinds(verdict)) == ({"path": "/a"}, ["envelope.unwrap-array"])


def test_an_array_of_two_objects_is_not_unwrapped() -> None:
    verdict = check([{"path": "/a"}, {"path": "/b"}])
    assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "several-calls")


def test_an_array_is_not_unwrapped_where_the_schema_takes_arrays_or_there_is_none() -> None:
    sent = [{"path": "/a"}]
    assert check(sent, schema={"type": ["object", "array"]}).arguments is sent
    assert check(sent, schema=None).outcome is Outcome.UNREPAIRABLE


@pytest.mark.parametrize("key", ["arguments", "parameters", "input", "args", "params", "result"])
@pytest.mark.parametrize("encoded", [False, True])
def test_an_object_whose_single_key_is_a_wrapper_is_unwrapped(key: str, encoded: bool) -> None:
    inner = {"path": "/a"}
    verdict = check({key: json.dumps(inner) if encoded else inner})
    assert verdict.arguments == inner
    assert kinds(verdict) == ["envelope.unwrap-object", *(["envelope.decode-json"] if encoded else [])]


def test_a_wrapper_that_is_a_property_of_the_schema_is_not_unwrapped() -> None:
    schema = {
        "type": "object",
        "properties": {"input": {"type": "object"}, "z": {"type": "string"}},
        "required": ["z"],
    }
    assert check({"input": {"z": "a"}}, schema=schema).outcome is Outcome.UNREPAIRABLE


def test_a_wrapper_whose_inner_value_does_not_pass_is_not_unwrapped() -> None:
    verdict = check({"input": {"other": 1}})
    assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "schema")


def test_a_wrapper_whose_inner_value_would_need_a_repair_is_not_unwrapped() -> None:
    assert check({"input": {"path": "/a", "n": "5"}}).outcome is Outcome.UNREPAIRABLE
    assert check({"input": {"path": "/a", "n": 5}}).arguments == {"path": "/a", "n": 5}


def test_the_inner_value_is_tried_with_the_context_of_the_call() -> None:
    rules = 'tool t { alias /path from file when context.role == "x" }'
    sent = {"input": {"file": "/a"}}
    assert check(sent, rules, context={"role": "x"}).arguments == {"path": "/a"}
    assert check(sent, rules, context={"role": "y"}).outcome is Outcome.UNREPAIRABLE


def test_the_inner_value_passes_after_the_rules_of_the_tool() -> None:
    verdict = check({"input": {"file": "/a"}}, "tool t { alias /path from file }")
    assert (verdict.arguments, kinds(verdict)) == ({"path": "/a"}, ["envelope.unwrap-object", "alias"])


def test_a_wrapper_with_a_second_key_is_not_unwrapped() -> None:
    assert check({"input": {"path": "/a"}, "x": 1}).outcome is Outcome.UNREPAIRABLE


@pytest.mark.parametrize(
    "sent",
    [
        {"name": "t", "arguments": {"path": "/a"}},
        {"name": "t", "arguments": '{"path": "/a"}'},
        {"id": "call_1", "type": "function", "function": {"name": "t", "arguments": '{"path": "/a"}'}},
        {"type": "tool_use", "id": "toolu_1", "name": "t", "input": {"path": "/a"}},
    ],
)
def test_a_whole_call_envelope_with_this_tools_name_is_unwrapped(sent: Any) -> None:
    verdict = check(sent)
    assert (verdict.outcome, verdict.arguments) == (Outcome.REPAIRED, {"path": "/a"})
    assert kinds(verdict)[0] == "envelope.unwrap-object"


def test_a_call_envelope_with_another_tools_name_is_not_unwrapped() -> None:
    assert check({"name": "other", "arguments": {"path": "/a"}}).outcome is Outcome.UNREPAIRABLE


def test_what_passes_is_never_unwrapped() -> None:
    sent = {"input": {"n": 1}}
    assert check(sent, schema=OPEN).arguments is sent


def test_without_a_schema_no_object_is_ever_unwrapped() -> None:
    sent = {"arguments": {"a": 1}}
    assert check(sent, schema=None).arguments is sent


# Raw control characters, of step 3 ----------------------------------------------------------------


def test_raw_control_characters_in_strings_are_read_and_named() -> None:
    verdict = text('{"path": "a\nb\tc"}')
    assert (verdict.arguments, kinds(verdict)) == ({"path": "a\nb\tc"}, ["envelope.control-characters"])


# Step 4: truncated --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cut", "arguments"),
    [
        ('{"path": "/a"', {"path": "/a"}),
        ('{"path": "/a", "ok": true', {"path": "/a", "ok": True}),
        ('{"path": "/a", "tags": ["x"', {"path": "/a", "tags": ["x"]}),
        ('{"path": "/a", "tags": ["x"]', {"path": "/a", "tags": ["x"]}),
    ],
)
def test_text_cut_right_after_a_complete_value_is_closed(cut: str, arguments: Any) -> None:
    verdict = text(cut)
    assert (verdict.outcome, verdict.arguments, kinds(verdict)) == (
        Outcome.REPAIRED,
        arguments,
        ["envelope.complete"],
    )


@pytest.mark.parametrize(
    "cut",
    [
        '{"path": "/a',  # inside a string
        '{"path": "/a", "n": 1',  # inside a number, for all that is known
        '{"path": "/a", "ok": tru',  # inside a word
        '{"path": "/a",',  # after a comma
        '{"path": "/a", "n":',  # after a colon
        '{"path": "/a", "tags": [',  # before any value
        "{",
    ],
)
def test_every_other_cut_is_never_completed(cut: str) -> None:
    verdict = text(cut)
    assert (verdict.outcome, verdict.code, verdict.changes) == (Outcome.UNREPAIRABLE, "truncated", ())
    assert verdict.arguments is cut


def test_nothing_is_completed_that_does_not_pass_the_schema_whole() -> None:
    assert text('{"ok": true').code == "truncated"
    assert text('{"path": "/a", "n": "5"').code == "truncated"


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_nothing_is_completed_when_the_answer_stopped_at_its_length(reason: str) -> None:
    assert text('{"path": "/a"', stop_reason=reason).code == "truncated"
    assert text('{"path": "/a"', stop_reason="tool_calls").outcome is Outcome.REPAIRED


def test_conservative_completes_nothing() -> None:
    assert text('{"path": "/a"', "policy conservative").code == "truncated"


# Refused before any repair ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ('{"path": "/a"}{"path": "/b"}', "several-calls"),
        ('{"path": "/a"}\n{"path": "/b"}', "several-calls"),
        ('{"path": "/a", "path": "/b"}', "duplicate-key"),
        ('{"path": "/a", "n": NaN}', "number"),
        ('{"path": "/a", "n": -Infinity}', "number"),
        ('{"path": "/a", "n": 1e999}', "number"),
        ('{"path": "/a", "n": 0.12345678901234567890}', "number"),
        ('{"path": "\\ud800"}', "surrogate"),
        ('{"path": "\ud800"}', "surrogate"),
    ],
)
def test_what_cannot_be_one_exact_call_is_refused_in_check_and_in_check_text(sent: str, code: str) -> None:
    for verdict in (text(sent), check(sent)):
        assert (verdict.outcome, verdict.code, verdict.changes) == (Outcome.UNREPAIRABLE, code, ())
        assert verdict.arguments is sent


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"path": "/a", "n": float("nan")}, "number"),
        ({"path": "/a", "n": float("inf")}, "number"),
        ({"path": "/a\ud800"}, "surrogate"),
        ({"path": "/a", "\udfff": 1}, "surrogate"),
    ],
)
def test_the_same_is_refused_in_python_values(sent: Any, code: str) -> None:
    verdict = check(sent)
    assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, code)
    assert verdict.arguments is sent


def test_the_message_to_the_model_can_always_be_sent() -> None:
    for sent in ({"path": "/a\ud800"}, {"\udfff": 1, "path": "a"}, '{"path": "\ud800"}'):
        message = check(sent).retry_message
        assert message is not None
        assert message.encode("utf-8", "replace").decode() == message


def test_nul_is_data() -> None:
    sent = {"path": "a\x00b"}
    assert check(sent).arguments is sent


@pytest.mark.parametrize(
    "value",
    [
        'src/a.py</path>\n<parameter name="tags">["x"]',
        'src/a.py</parameter>\n<parameter name="zzz">5',
        'src/a.py<parameter name="n">5</parameter>',
        'src/a.py</path><param name="n">5</param>',
        "src/a.py<parameter=n>5",
        "src/a.py<arg_key>n</arg_key><arg_value>5</arg_value>",
        "src/a.py<arg_key>n<arg_value>5</arg_value></tool_call>",
        "src/a.py</arg_value>n</arg_key><arg_value>5",
        "src/a.py</path><n>5</n></invoke>",
        "src/a.py</path>\n]<]minimax[>[<n>5]<]minimax[>[</n>",
        'src/a.py</‖DSML‖parameter>\n<‖DSML‖parameter name="zzz">5',
    ],
)
def test_a_parameter_swallowed_by_another_is_refused(value: str) -> None:
    for verdict in (check({"path": value}), text(json.dumps({"path": value}))):
        assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "swallowed-parameter")


def test_markup_is_data_where_the_call_lacks_no_such_property() -> None:
    sent = {"path": 'see <parameter name="n">5</parameter>', "n": 5}
    assert check(sent).arguments is sent
    other = {"path": 'see <parameter name="unknown">5</parameter>'}
    assert check(other).arguments is other
    for text in (
        "<div><p>text</p></div>",
        "<path>x</path><n>5</n>",
        "x</path><z>5</z>",
        "<arg_value>x</arg_value> y </arg_key>",
        '/// <param name="n">How many.</param>',
    ):
        html = {"path": text}
        assert check(html).arguments is html


@pytest.mark.parametrize("value", ["</path>", "</parameter>\n</invoke>", "<arg_value></arg_value>"])
def test_a_value_that_is_nothing_but_tags_has_lost_arguments(value: str) -> None:
    assert check({"path": value}).code == "lost-arguments"


def test_bare_text_is_no_json() -> None:
    verdict = text("list the files please")
    assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "not-json")


@pytest.mark.parametrize("sent", [[], 5, True, "5"])
def test_without_a_schema_only_objects_are_valid(sent: Any) -> None:
    assert check(sent, schema=None).outcome is Outcome.UNREPAIRABLE


# Limits -------------------------------------------------------------------------------------------


def limited(arguments: Any, limits: Limits) -> Verdict:
    return callgate.compile("", limits=limits).check("t", arguments)


def test_more_bytes_than_the_limit_are_refused() -> None:
    limits = Limits(input_bytes=50)
    assert limited({"a": "x" * 100}, limits).code == "limit"
    assert limited('{"a": "' + "x" * 100 + '"}', limits).code == "limit"
    assert limited({"a": "é" * 40}, limits).code == "limit"
    assert limited({"a": "x" * 20}, limits).outcome is Outcome.VALID


def test_deeper_values_than_the_limit_are_refused() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert limited({"a": deep}, Limits()).code == "limit"
    assert limited("[" * 100_000, Limits()).code in ("limit", "truncated")
    assert limited({"a": [[1]]}, Limits(depth=3)).outcome is Outcome.VALID
    assert limited({"a": [[[1]]]}, Limits(depth=3)).code == "limit"


@pytest.mark.parametrize("wrong", [{"depth": 0}, {"depth": 513}, {"issues": True}, {"passes": 1.5}])
def test_a_limit_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="limit"):
        Limits(**wrong)


# Switching off ------------------------------------------------------------------------------------


def test_each_envelope_fix_can_be_switched_off() -> None:
    assert check('{"path": "/a"}', 'disable envelope.decode-json because "x"').outcome is Outcome.UNREPAIRABLE
    assert (
        check([{"path": "/a"}], 'disable envelope.unwrap-array because "x"').outcome is Outcome.UNREPAIRABLE
    )
    assert text('{"path": "/a"', 'disable envelope.complete because "x"').code == "truncated"
    assert check(None, 'disable envelope.empty because "x"', schema=OPEN).outcome is Outcome.UNREPAIRABLE
