"""What an attacker, a careless host or an odd schema tried, and what the engine says to it."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine import loading
from callgate.engine.loading import check_rules
from callgate.engine.ruletest import count_tests
from callgate.engine.ruletext import RuleText

S = {"type": "string"}
I = {"type": "integer"}  # noqa: E741


def obj(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def check(arguments: Any, schema: Any, rules: str = "", **options: Any) -> callgate.Verdict:
    return callgate.compile(rules, tools={"t": schema}).check("t", arguments, **options)


@pytest.mark.parametrize("text", ["garbage", "5", '["a"]', '"a"', "true"])
def test_arguments_are_an_object_unless_the_schema_names_other_types(text: str) -> None:
    engine = callgate.compile("", tools={"t": {"properties": {"path": S}}, "list": {"type": "array"}})
    assert engine.check_text("t", text).outcome == "unrepairable"
    assert engine.check_text("list", '["a"]').outcome == "valid"


def test_an_open_schema_is_no_way_past_a_deny() -> None:
    rules = 'tool t { deny "no" when /path under "/etc" }'
    assert check('{"path": "/etc/x"}', {"properties": {"path": S}}, rules).outcome == "denied"
    assert check([{"path": "/etc/x"}], {"properties": {"path": S}}, rules).outcome == "denied"


def test_bare_text_that_may_be_cut_is_not_taken() -> None:
    rules = "tool t { root /command }"
    assert check("rm -rf /home/u", obj("command", command=S), rules).outcome == "repaired"
    for stop in ("length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "content_filter"):
        found = check("rm -rf /home/u", obj("command", command=S), rules, stop_reason=stop)
        assert (found.outcome, found.code) == ("unrepairable", "truncated"), stop


@pytest.mark.parametrize("stop", [None, "stop", "tool_calls", "end_turn", "FinishReason.STOP", "tool-use"])
def test_cut_text_is_closed_after_a_normal_end(stop: str | None) -> None:
    assert check('{"a": "x"', obj("a", a=S), stop_reason=stop).arguments == {"a": "x"}


@pytest.mark.parametrize(
    "text", ['ls -la", "timeout": 5}', 'command": "ls"}', "command: ls -la", "command=ls", "undefined"]
)
def test_the_rest_of_a_damaged_object_is_no_bare_text(text: str) -> None:
    assert check(text, obj("command", command=S), "tool t { root /command }").outcome == "unrepairable"


def test_the_note_of_a_root_rule_reaches_the_model() -> None:
    found = check("ls", obj("command", command=S), 'tool t { root /command note "Send an object." }')
    assert [each.note for each in found.changes] == ["Send an object."]


def test_a_whole_call_is_not_taken_apart_where_a_field_of_the_tool_would_be_lost() -> None:
    sent = {"tool": "t", "id": "42", "args": {"reason": "x"}}
    assert check(sent, obj("reason", reason=S)).arguments == {"reason": "x"}
    assert check(sent, obj("reason", reason=S, id=S)).outcome == "unrepairable"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#m", "$defs": {"m": {"$anchor": "m", **obj(path=S, file_path=S)}}},
        {**obj(path=S), "dependentSchemas": {"mode": {"properties": {"file_path": S}}}},
        {**obj(path=S), "if": {"required": ["x"]}, "then": {"properties": {"file_path": S}}},
        {**obj(path=S), "patternProperties": {"^file_": S}},
        {"properties": {"path": S}, "required": ["file_path"]},
    ],
)
def test_an_alias_never_moves_a_name_that_the_schema_mentions(schema: Any) -> None:
    sent = {"file_path": "/b"}
    found = check(sent, schema, "tool t { alias /path from file_path }")
    assert found.outcome == "valid"
    assert found.arguments is sent


@pytest.mark.parametrize(
    "value", ["null", "None", "true", "undefined", '"a", "b"', "('a','b')", "<item>a</item>"]
)
def test_words_for_nothing_and_damaged_lists_are_not_wrapped(value: str) -> None:
    assert check({"p": value}, obj("p", p={"type": "array", "items": S})).outcome == "unrepairable"


@pytest.mark.parametrize("value", [{"edit": [{"a": 1}]}, {"0": {"a": 1}, "1": {"a": 2}}])
def test_a_list_in_another_form_is_not_wrapped_as_one_item(value: Any) -> None:
    schema = obj("p", p={"type": "array", "items": {"type": "object"}})
    assert check({"p": value}, schema).outcome == "unrepairable"


def test_an_entry_of_a_free_map_is_not_dropped() -> None:
    schema = obj("m", m={"type": "object", "additionalProperties": I})
    assert check({"m": {"alice": None, "bob": 5}}, schema).outcome == "unrepairable"
    assert check({"n": None}, obj(n=I)).arguments == {}


def test_a_member_that_is_white_space_is_not_matched_by_case() -> None:
    for value in ("\t", "\n", ""):
        assert check({"d": value}, obj("d", d={"enum": [",", " "]})).outcome == "unrepairable"


def test_a_recursive_union_takes_linear_time() -> None:
    branches = [
        obj("op", "left", op={"const": op}, left={"$ref": "#/$defs/e"}) for op in ("or", "and", "not")
    ]
    last = {**obj("field", field=S), "additionalProperties": False}
    schema = {"$defs": {"e": {"anyOf": [*branches, last]}}, **obj("w", w={"$ref": "#/$defs/e"})}
    broken: Any = {"field": 5}
    for _ in range(40):
        broken = {"op": "or", "left": broken}
    begun = time.process_time()
    assert check({"w": broken}, schema).outcome == "unrepairable"
    assert time.process_time() - begun < 5


def test_unions_that_name_each_other_take_no_tree_of_paths() -> None:
    defs = {
        f"a{n}": {"anyOf": [*({"$ref": f"#/$defs/a{m}"} for m in range(10) if m != n), obj("x", x=I)]}
        for n in range(10)
    }
    begun = time.process_time()
    callgate.compile("tool t { alias /x from z }", tools={"t": {"$defs": defs, "$ref": "#/$defs/a0"}})
    assert time.process_time() - begun < 5


def test_a_relative_id_is_refused_when_the_tools_are_read() -> None:
    schema = {"$id": "root.json", **obj(y={"$ref": "root.json#/$defs/i"}), "$defs": {"i": I}}
    with pytest.raises(callgate.SchemaError, match=r"root\.json"):
        callgate.compile("", tools={"t": schema})


def test_tools_are_the_engine_s_own() -> None:
    tools = {"t": obj("a", a=I)}
    engine = callgate.compile("", tools=tools)
    tools["t"]["required"].clear()
    for each in (engine, pickle.loads(pickle.dumps(engine))):
        assert each.check("t", {}).outcome == "unrepairable"
        assert each.digest == engine.digest


def test_tools_may_come_from_an_iterator() -> None:
    engine = callgate.compile("", tools=iter([{"name": "t", "input_schema": obj("a", a=I)}]))
    assert engine.check("t", {"a": 1}).outcome == "valid"


def test_a_schema_outside_the_json_domain_is_refused_whatever_was_given_before() -> None:
    engine = callgate.compile("")
    engine.check("t", {}, schema={"type": "object", "required": ["a"]})
    for bad in ({"type": "object", "required": ("a",)}, {"const": float("nan")}, {1: 2}):
        with pytest.raises(callgate.SchemaError):
            engine.check("t", {}, schema=bad)  # type: ignore[arg-type]


def test_the_error_of_a_rule_file_can_be_pickled() -> None:
    with pytest.raises(callgate.RuleFileError) as caught:
        callgate.compile("tool t { dney }")
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.diagnostics == caught.value.diagnostics
    assert str(again) == str(caught.value)


def test_a_retry_message_has_a_bounded_length() -> None:
    schema = {"type": "object", "additionalProperties": I}
    found = check({"k" * 100_000 + str(n): "a" for n in range(5)}, schema)
    assert len(found.retry_message or "") < 4_000


@pytest.mark.parametrize(
    "options", [{"lets": 5}, {"prepare": 5}, {"functions": 5}, {"limits": 5}, {"packs": 5}]
)
def test_an_option_of_another_type_is_a_documented_error(options: dict[str, Any]) -> None:
    with pytest.raises(callgate.CallgateError):
        callgate.compile("", **options)
    with pytest.raises(callgate.InputError):
        callgate.compile(None)  # type: ignore[arg-type]


def test_a_value_for_a_let_that_no_file_has_is_an_error() -> None:
    with pytest.raises(callgate.RuleFileError, match="G114"):
        callgate.compile('let ws = "/r"', lets={"workspace": "/x"})


PACK = 'pack a "1.0.0"\ntool t { alias /x from y }\n'
USER = """use a
test "uses a" {
  call t {"y": 1}
  expect repaired {"x": 1} by alias
}
"""


def test_each_file_s_tests_run_with_the_packs_that_it_uses() -> None:
    texts = [RuleText(USER, "one.gate"), RuleText(USER, "two.gate")]
    found = check_rules(texts, packs={"a": PACK})
    assert not found.failed, found.text()
    assert len(found.rules.rules) == 1


def test_a_pack_that_two_files_use_is_run_and_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tested = PACK + 'test "moves" { call t {"y": 1}; expect repaired {"x": 1} }\n'
    ran: list[str] = []
    true_run = loading.run_tests
    monkeypatch.setattr(
        loading, "run_tests", lambda with_, unit: ran.append(unit.file) or true_run(with_, unit)
    )
    texts = [RuleText(USER, "one.gate"), RuleText(USER, "two.gate")]
    found = check_rules(texts, packs={"a": tested})
    assert not found.failed, found.text()
    assert sorted(ran) == ["a.gate", "one.gate", "two.gate"]
    assert count_tests(found.compiled.units) == 3


def test_a_pack_that_is_given_as_a_file_and_used_counts_once(tmp_path: Path) -> None:
    (tmp_path / "a.gate").write_text(PACK)
    for order in ((PACK, USER), (USER, PACK)):
        texts = [RuleText(text, f"{n}.gate", tmp_path) for n, text in enumerate(order)]
        found = check_rules(texts)
        assert not found.failed, found.text()
        assert len(found.rules.rules) == 1


def test_a_glob_under_mutates_keeps_text() -> None:
    tools = {"edit_file": obj(n=I)}
    for name in ("edit_file", '"edit_*"'):
        engine = callgate.compile(f"ground {{ mutates {name} }}", tools=tools)
        assert engine.check("edit_file", {"n": "null"}).outcome == "unrepairable", name
    assert callgate.compile("", tools=tools).check("edit_file", {"n": "null"}).outcome == "repaired"


def test_a_rename_that_leaves_its_tool_open_is_an_error() -> None:
    with pytest.raises(callgate.RuleFileError, match="G227"):
        callgate.compile('tool "t*" { rename from a }')


def test_a_path_that_ends_in_a_blank_is_not_settled() -> None:
    rules = 'tool t { deny "secret" when /p under "/repo/.env" }'
    for path in ("/repo/.env", "/repo/.env ", "/repo/.env\n", "/repo/.env\u200b"):
        assert check({"p": path}, obj(p=S), rules).outcome == "denied", path


def test_a_schema_in_the_file_is_checked_like_the_host_s() -> None:
    text = 'tool t { schema {"type": "object", "properties": {"path": {}}}; deny "x" when /pth == "a" }'
    assert "G104" in {each.code for each in check_rules([RuleText(text, "t.gate")]).diagnostics}
