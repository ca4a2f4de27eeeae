"""Stage 1 of the pipeline: the tool's name is settled among the registered ones."""

from __future__ import annotations

from typing import Any

import pytest

import callgate
from callgate import Outcome, Verdict

TOOLS: dict[str, Any] = {
    "read_file": {},
    "run": {},
    "mcp__fs__list": {},
    "mcp__a__get": {},
    "mcp__b__get": {},
}


def call(name: str, rules: str = "", tools: dict[str, Any] | None = None) -> Verdict:
    return callgate.compile(rules, tools=TOOLS if tools is None else tools).check(name, {"a": 1})


def kinds(verdict: Verdict) -> list[str]:
    return [change.kind for change in verdict.changes]


def test_a_registered_name_is_taken_as_it_is() -> None:
    arguments = {"a": 1}
    verdict = callgate.compile("", tools=TOOLS).check("read_file", arguments)
    assert verdict.outcome is Outcome.VALID
    assert verdict.arguments is arguments


def test_without_tools_every_name_is_registered() -> None:
    verdict = callgate.compile("").check("<weird name>", {"a": 1})
    assert (verdict.outcome, verdict.tool) == (Outcome.VALID, "<weird name>")


@pytest.mark.parametrize("tools", [None, TOOLS])
def test_an_empty_name_is_an_unknown_tool(tools: dict[str, Any] | None) -> None:
    verdict = callgate.compile("", tools=tools).check("", {"a": 1})
    assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "unknown-tool")


@pytest.mark.parametrize(
    "name", ["read_file<arg_key>path", "<arg_value>read_file", "read_file</arg_key><arg_"]
)
def test_a_name_that_holds_an_argument_tag_has_lost_arguments(name: str) -> None:
    verdict = call(name)
    assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "lost-arguments")
    assert verdict.changes == ()


@pytest.mark.parametrize(
    ("sent", "tool", "expected"),
    [
        (" read_file\n", "read_file", ["name.trim"]),
        ('"read_file"', "read_file", ["name.trim"]),
        ("`read_file`", "read_file", ["name.trim"]),
        ("read_file<|channel|>json", "read_file", ["name.cut"]),
        ("read_file</tool_call>", "read_file", ["name.cut"]),
        ("read_file[ARGS]{}", "read_file", ["name.cut"]),
        ("read_file[TOOL_CALLS]", "read_file", ["name.cut"]),
        ("functions.read_file", "read_file", ["name.prefix"]),
        ("tools.read_file", "read_file", ["name.prefix"]),
        ("default_api.read_file", "read_file", ["name.prefix"]),
        ("read_file:0", "read_file", ["name.index"]),
        ("runrun", "run", ["name.twice"]),
        ("list", "mcp__fs__list", ["name.server"]),
        ("mcp__disk__read_file", "read_file", ["name.server"]),
        ("ReadFile", "read_file", ["name.spelling"]),
        ("read-file", "read_file", ["name.spelling"]),
        ("RUN", "run", ["name.spelling"]),
    ],
)
def test_each_form_in_which_models_write_a_name_is_settled(sent: str, tool: str, expected: list[str]) -> None:
    verdict = call(sent)
    assert (verdict.outcome, verdict.tool, kinds(verdict)) == (Outcome.REPAIRED, tool, expected)
    assert all(change.stage == "name" and change.path == "" and change.note for change in verdict.changes)


def test_the_forms_apply_in_order_each_to_what_the_one_before_gave() -> None:
    verdict = call(' functions.read_file:3</invoke>"')
    assert verdict.tool == "read_file"
    assert kinds(verdict) == ["name.trim", "name.cut", "name.prefix", "name.index"]


def test_the_first_registered_result_is_taken() -> None:
    verdict = call("run:2", tools={"run": {}, "Run": {}})
    assert (verdict.tool, kinds(verdict)) == ("run", ["name.index"])


def test_a_server_prefix_that_fits_two_tools_fits_none() -> None:
    assert call("get").code == "unknown-tool"
    assert call("mcp__c__get").code == "unknown-tool"


def test_a_spelling_that_fits_two_tools_fits_none() -> None:
    assert call("readfile", tools={"read_file": {}, "ReadFile": {}}).code == "unknown-tool"


def test_edit_distance_is_never_used_and_the_nearest_name_is_proposed() -> None:
    verdict = call("read_fil")
    assert (verdict.outcome, verdict.code, verdict.tool) == (Outcome.UNREPAIRABLE, "unknown-tool", "read_fil")
    assert "read_file" in (verdict.retry_message or "")
    assert "`read_file`" in (verdict.retry_message or "")


def test_a_rename_rule_gives_the_tools_name() -> None:
    verdict = call("cat", 'tool read_file { rename from cat, "open*" }')
    assert (verdict.tool, kinds(verdict), verdict.changes[0].rule) == (
        "read_file",
        ["rename"],
        "read_file:rename",
    )
    assert call("openFile", 'tool read_file { rename from cat, "open*" }').tool == "read_file"


def test_a_rename_never_takes_a_registered_name() -> None:
    with pytest.warns(callgate.CallgateWarning, match="`run` is a registered tool"):
        verdict = call("run", "tool read_file { rename from run }")
    assert (verdict.outcome, verdict.tool) == (Outcome.VALID, "run")


def test_a_rename_keeps_what_its_star_matched() -> None:
    rules = 'tool "fs_*" { rename from "mcp__disk__*" }'
    tools: dict[str, Any] = {"fs_read": {}, "fs_write": {}}
    assert call("mcp__disk__write", rules, tools).tool == "fs_write"
    assert call("mcp__disk__delete", rules, tools).code == "unknown-tool"


def test_a_rename_is_tried_before_every_other_form() -> None:
    verdict = call("Run", "tool read_file { rename from Run }")
    assert (verdict.tool, kinds(verdict)) == ("read_file", ["rename"])


def test_a_rename_for_a_family_needs_the_model() -> None:
    engine = callgate.compile('tool read_file { rename from cat for "kimi" }', tools=TOOLS)
    assert engine.check("cat", {}).code == "unknown-tool"
    assert engine.check("cat", {}, model="kimi-k2").tool == "read_file"


def test_a_changed_name_and_changed_arguments_are_listed_in_order() -> None:
    engine = callgate.compile("tool read_file { alias /path from file }", tools=TOOLS)
    verdict = engine.check("ReadFile", {"file": "/a"})
    assert kinds(verdict) == ["name.spelling", "alias"]
    assert verdict.arguments == {"path": "/a"}


def test_a_changed_name_makes_a_call_repaired_with_the_callers_arguments() -> None:
    arguments = {"a": 1}
    verdict = callgate.compile("", tools=TOOLS).check("ReadFile", arguments)
    assert verdict.outcome is Outcome.REPAIRED
    assert verdict.arguments == {"a": 1}


def test_a_name_with_half_a_surrogate_pair_is_refused() -> None:
    assert call("read\ud800").code == "surrogate"


@pytest.mark.parametrize(
    "name", ["mcp__other__list", 'read_file[ARGS]{"path": "/a"}', 'list</name><arguments>{"a": 1}']
)
def test_another_server_and_a_name_that_holds_arguments_mean_no_tool(name: str) -> None:
    engine = callgate.compile("", tools={"mcp__fs__list": {}, "read_file": {}})
    verdict = engine.check(name, {})
    assert verdict.outcome == "unrepairable"
    assert verdict.code in ("unknown-tool", "lost-arguments")
