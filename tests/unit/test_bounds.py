"""Stage 5: `bound` rules admit one primitive, repair two spellings, and deny the rest."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
import pytest

import callgate
from callgate import Outcome, Verdict
from callgate.engine.admission import Attempt, Proposal

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "b": {"type": "boolean"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "path": {"type": "string"},
    },
}


def check(rules: str, arguments: Any, *, schema: Any = SCHEMA, **options: Any) -> Verdict:
    tools = None if schema is None else {"t": schema}
    engine = callgate.compile(f"tool t {{\n{rules}\n}}", tools=tools, **options.pop("compile", {}))
    return engine.check("t", arguments, **options)


def test_a_value_inside_its_bound_passes_as_it_is() -> None:
    for sent in ({"n": 0}, {"n": 100}, {"b": True}, {"b": False}, {}, {"path": "x"}):
        verdict = check("bound /n integer 0..100\nbound /b boolean", sent)
        assert (verdict.outcome, verdict.arguments) == (Outcome.VALID, sent)
        assert verdict.arguments is sent


def test_a_canonical_text_is_repaired_as_a_bound() -> None:
    verdict = check("bound /n integer -5..100\nbound /b boolean lowercase", {"n": "-5", "b": "true"})
    assert (verdict.outcome, verdict.arguments) == (Outcome.REPAIRED, {"n": -5, "b": True})
    assert [(each.kind, each.stage, each.path) for each in verdict.changes] == [
        ("bound", "bound", "/n"),
        ("bound", "bound", "/b"),
    ]
    assert "an integer from -5 to 100" in verdict.changes[0].note


@pytest.mark.parametrize(
    "value",
    [
        "101",
        "-1",
        "+7",
        "-0",
        "007",
        " 7",
        "7\n",
        "7.0",
        "1e3",
        "1_000",
        "٧",
        "７",
        "",
        101,
        -1,
        True,
        False,
        None,
        7.0,
        7.5,
        [],
        [7],
        {},
        {"n": 7},
        "9" * 2000,
    ],
)
def test_everything_else_is_denied_without_its_value(value: Any) -> None:
    sent = {"n": value}
    verdict = check("bound /n integer 0..100", sent)
    assert verdict.outcome is Outcome.DENIED
    assert verdict.arguments is sent
    assert verdict.decided_by == ("t:bound:/n",)
    assert verdict.reason is not None
    assert verdict.reason.startswith("at `/n` an integer from 0 to 100 is wanted, and ")
    assert "999" not in verdict.reason
    assert verdict.retry_message is not None
    assert verdict.fingerprint


def test_a_boolean_takes_its_text_only_where_it_is_asked_for() -> None:
    assert check("bound /b boolean", {"b": "true"}).outcome is Outcome.DENIED
    for value in ("True", "TRUE", " true", "1", 1, 0, None, "yes"):
        assert check("bound /b boolean lowercase", {"b": value}).outcome is Outcome.DENIED, value


def test_each_item_of_a_selector_is_admitted() -> None:
    rule = "bound /items/*/n integer 0..9"
    sent = {"items": [{"n": 1}, {"n": "2"}, {}, {"n": 3}]}
    verdict = check(rule, sent)
    assert verdict.arguments == {"items": [{"n": 1}, {"n": 2}, {}, {"n": 3}]}
    assert [each.path for each in verdict.changes] == ["/items/1/n"]
    assert sent == {"items": [{"n": 1}, {"n": "2"}, {}, {"n": 3}]}
    refused = check(rule, {"items": [{"n": 1}, {"n": 10}]})
    assert (refused.outcome, refused.reason) == (
        Outcome.DENIED,
        "at `/items/1/n` an integer from 0 to 9 is wanted, and another integer was sent",
    )


def test_no_rule_and_no_repair_casts_a_bounded_place() -> None:
    for rules in (
        "scalar /n as number\nbound /n integer 0..9",
        "bound /n integer 0..9",
        "scalar /items/*/n as number\nbound /items/0/n integer 0..9",
    ):
        for value in ("07", " 7", "7.0"):
            sent = {"n": value} if "items" not in rules else {"items": [{"n": value}]}
            assert check(rules, sent).outcome is Outcome.DENIED
    beside = check(
        "scalar /items/*/n as number\nbound /items/0/n integer 0..9", {"items": [{"n": 1}, {"n": " 7"}]}
    )
    assert beside.arguments == {"items": [{"n": 1}, {"n": 7}]}


def test_a_bound_takes_effect_where_its_condition_is_true_or_unknown() -> None:
    rule = 'bound /n integer 0..9 when /path starts-with "/a"'
    assert check(rule, {"n": 50, "path": "/a"}).outcome is Outcome.DENIED
    assert check(rule, {"n": 50, "path": "/b"}).outcome is Outcome.VALID
    assert check('bound /n integer 0..9 when context.role == "x"', {"n": 50}).outcome is Outcome.DENIED
    known = check('bound /n integer 0..9 when context.role == "x"', {"n": 50}, context={"role": "y"})
    assert known.outcome is Outcome.VALID


def test_a_bound_for_some_models_holds_where_no_model_is_known() -> None:
    rule = "bound /n integer 0..9 for 'kimi'"
    assert check(rule, {"n": 50}).outcome is Outcome.DENIED
    assert check(rule, {"n": 50}, model="kimi-k2").outcome is Outcome.DENIED
    assert check(rule, {"n": 50}, model="glm").outcome is Outcome.VALID


def test_a_bound_in_shadow_only_says_what_it_would_do() -> None:
    verdict = check("shadow bound /n integer 0..9", {"n": 50})
    assert verdict.outcome is Outcome.VALID
    assert [each.message for each in verdict.observations] == ["would have refused this place"]
    repaired = check("shadow bound /n integer 0..9", {"n": "5"})
    assert [each.kind for each in repaired.changes] == ["repair.parse-scalar"]
    assert [each.message for each in repaired.observations] == ["would have changed this place"]


def test_a_bound_works_on_what_the_rules_before_it_made() -> None:
    verdict = check("alias /n from count\nbound /n integer 0..9", {"count": "5"})
    assert (verdict.arguments, [each.kind for each in verdict.changes]) == ({"n": 5}, ["alias", "bound"])
    assert check("alias /n from count\nbound /n integer 0..9", {"count": 50}).outcome is Outcome.DENIED


def test_a_bound_also_sees_what_a_repair_puts_at_its_place() -> None:
    schema = {"properties": {"items": {"type": "array", "items": {"properties": {"n": {"type": "integer"}}}}}}
    rule = "bound /items/*/n integer 0..9"
    assert check(rule, {"items": '[{"n": "5"}]'}, schema=schema).arguments == {"items": [{"n": 5}]}
    assert check(rule, {"items": '[{"n": 50}]'}, schema=schema).outcome is Outcome.DENIED


def test_a_bound_holds_without_a_schema_and_for_text() -> None:
    engine = callgate.compile("tool t { bound /n integer 0..9 }")
    assert engine.check("t", {"n": "5"}).arguments == {"n": 5}
    assert engine.check_text("t", '{"n": 50}').outcome is Outcome.DENIED
    assert engine.check_text("t", '{"n": 50}').arguments == '{"n": 50}'
    assert engine.check_text("t", "{'n': '5'}").arguments == {"n": 5}


def test_bare_text_under_a_bound_is_judged_by_it() -> None:
    schema = {"type": ["string", "integer"]}
    engine = callgate.compile('tool t { bound "" integer 0..9 }', tools={"t": schema})
    assert engine.check_text("t", "hello").outcome is Outcome.DENIED
    assert engine.check_text("t", '"5"').arguments == 5
    assert engine.check("t", "hello").outcome is Outcome.DENIED


def test_an_empty_model_id_is_no_model() -> None:
    engine = callgate.compile("tool t { bound /n integer 0..9 for 'kimi' }", tools={"t": SCHEMA})
    engine.tool_schemas("")
    engine.plan("t", "")
    assert engine.check("t", {"n": 50}, model="").outcome is Outcome.DENIED


def test_a_wrapper_is_not_taken_off_for_what_its_bound_refuses() -> None:
    verdict = check(
        "bound /n integer 0..9", {"arguments": {"n": 50}}, schema={**SCHEMA, "additionalProperties": False}
    )
    assert verdict.outcome is Outcome.UNREPAIRABLE


def test_a_denial_of_a_bound_comes_before_the_schema_and_the_permissions() -> None:
    verdict = check('bound /n integer 0..9\ndeny "never"\n', {"n": 50, "path": 5})
    assert verdict.decided_by == ("t:bound:/n",)
    assert verdict.outcome is Outcome.DENIED


def test_the_process_wide_digit_limit_changes_nothing() -> None:
    before = sys.get_int_max_str_digits()
    wide = "tool t { bound /n integer 0.." + "9" * 600 + " }"
    engine = callgate.compile(wide)
    try:
        for limit in (640, 0):
            sys.set_int_max_str_digits(limit)
            assert engine.check("t", {"n": "8" * 600}).outcome is Outcome.REPAIRED
            assert engine.check("t", {"n": "9" * 601}).outcome is Outcome.DENIED
            assert engine.check("t", {"n": 10**5000}).outcome is not Outcome.VALID
    finally:
        sys.set_int_max_str_digits(before)


# For the model, and after a failure ---------------------------------------------------------------


def test_the_schemas_for_the_model_say_what_the_bounds_say() -> None:
    rules = """
tool t {
  bound /n integer 0..100
  bound /b boolean lowercase
  bound /items/*/n integer 1..9
  bound /any integer 1..2
  bound /m integer 1..2 when present /b
  shadow bound /m integer 5..6
}
"""
    schema: dict[str, Any] = {
        **SCHEMA,
        "properties": {
            **SCHEMA["properties"],
            "n": {"type": "number", "minimum": 5},
            "m": {"type": "integer"},
            "any": {},
        },
    }
    engine = callgate.compile(rules, tools={"t": schema, "u": {"type": "object"}})
    found: Any = engine.tool_schemas()
    properties = found["t"]["properties"]
    assert properties["n"] == {"type": "integer", "minimum": 5, "maximum": 100}
    assert properties["b"] == {"type": "boolean"}
    assert properties["items"]["items"]["properties"]["n"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert properties["m"] == {"type": "integer"}
    assert properties["any"] == {"type": "integer", "minimum": 1, "maximum": 2}
    assert found["u"] == {"type": "object"}
    assert schema["properties"]["n"] == {"type": "number", "minimum": 5}, "the host's schema was changed"
    # What they say is what the engine does.
    narrowed = callgate.compile("", tools={"t": found["t"]})
    assert narrowed.check("t", {"n": 101}).outcome is Outcome.UNREPAIRABLE
    assert narrowed.check("t", {"any": 3}).outcome is Outcome.UNREPAIRABLE


def test_a_bound_behind_a_reference_stands_beside_it() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"properties": {"n": {"type": "integer"}}}},
    }
    engine = callgate.compile("tool t { bound /a/n integer 0..9 }", tools={"t": schema})
    found: Any = engine.tool_schemas()["t"]
    assert found["$defs"] == schema["$defs"]
    narrowed = callgate.compile("", tools={"t": found})
    assert narrowed.check("t", {"a": {"n": 10}}).outcome is Outcome.UNREPAIRABLE
    assert narrowed.check("t", {"a": {"n": 9}}).outcome is Outcome.VALID


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"n": {"type": "integer"}, "children": {"items": {"$ref": "#"}}}},
        {"properties": {"n": {"$id": "urn:x", "type": "integer"}, "b": {"$ref": "urn:x"}}},
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$ref": "#/definitions/a",
            "definitions": {"a": {}},
        },
        {"anyOf": [{"properties": {"n": {}}}, {"required": ["z"]}], "unevaluatedProperties": False},
    ],
)
def test_a_bound_that_cannot_be_said_alone_is_not_said(schema: Any) -> None:
    engine = callgate.compile("tool t { bound /n integer 0..9 }", tools={"t": schema})
    assert engine.tool_schemas() == {"t": schema}
    assert engine.check("t", {"n": 50}).outcome is Outcome.DENIED


def test_a_reference_to_a_bounded_place_is_not_tightened_with_it() -> None:
    schema = {"properties": {"a": {"type": "integer"}, "b": {"$ref": "#/properties/a"}}}
    engine = callgate.compile("tool t { bound /a integer 0..9 }", tools={"t": schema})
    narrowed = callgate.compile("", tools=engine.tool_schemas())
    for sent, wanted in (({"b": 50}, True), ({"a": 50}, False)):
        assert narrowed.check("t", sent).allowed is wanted
        assert engine.check("t", sent).allowed is wanted


def test_a_schema_whose_parts_are_one_python_object_is_tightened_in_one_place() -> None:
    part = {"type": "integer"}
    engine = callgate.compile(
        "tool t { bound /a integer 0..9 }", tools={"t": {"properties": {"a": part, "b": part}}}
    )
    found: Any = engine.tool_schemas()["t"]
    assert found["properties"]["b"] == {"type": "integer"}


def test_the_schema_of_a_rule_is_tightened_too() -> None:
    document = '{"properties": {"n": {"type": "integer"}}, "required": ["m"]}'
    rules = f"tool t {{ schema {document}\n bound /n integer 0..9 }}"
    engine = callgate.compile(rules, tools=[{"name": "t"}])
    assert engine.tool_schemas()["t"] == {
        "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 9}},
        "required": ["m"],
    }
    for model in (5, [], b"x"):
        with pytest.raises(callgate.InputError):
            engine.tool_schemas(model)  # type: ignore[arg-type]


def test_after_a_failure_each_place_is_looked_at_for_itself() -> None:
    rules = "tool t { bound /n integer 0..9; bound /m integer 0..9 }"
    engine = callgate.compile(rules, policies=[Broken()])
    failure = engine.observe_failure("t", {"n": "5", "m": 50}, "no")
    assert [(each.path, each.kind) for each in failure.observations] == [("/n", "bound")]


def test_after_a_failure_a_repair_is_an_observation() -> None:
    engine = callgate.compile("tool t { bound /n integer 0..9 }", tools={"t": SCHEMA})
    failure = engine.observe_failure("t", {"n": "5"}, "TypeError: n must be an integer")
    assert [(each.rule, each.path) for each in failure.observations] == [("t:bound:/n", "/n")]
    assert (failure.retry, failure.replacement) == ("never", None)
    for sent in ({"n": 5}, {"n": "50"}, {"n": "+5"}, {"n": None}):
        assert engine.observe_failure("t", sent, "no").observations == ()
    with pytest.raises(callgate.InputError):
        engine.observe_failure("t", {}, error=5)  # type: ignore[arg-type]


# The host's policies ------------------------------------------------------------------------------


class Even:
    """Denies odd integers."""

    owns = frozenset({"argument"})

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    def propose(self, attempt: Attempt) -> Proposal:
        value = attempt.candidate.get("argument")
        self.seen.append((attempt.target, value))
        return Proposal.deny("odd") if type(value) is int and value % 2 else Proposal.abstain()


class Broken:
    owns = frozenset({"argument"})

    def propose(self, attempt: Attempt) -> Proposal:
        raise RuntimeError("broken")


def test_a_policy_of_the_host_is_asked_at_every_bounded_place() -> None:
    even = Even()
    engine = callgate.compile("tool t { bound /n integer 0..9 }", tools={"t": SCHEMA}, policies=[even])
    assert engine.check("t", {"n": 4}).outcome is Outcome.VALID
    assert engine.check("t", {"n": 5}).outcome is Outcome.DENIED
    assert engine.check("t", {"n": "4"}).arguments == {"n": 4}
    assert engine.check("t", {"n": "5"}).outcome is Outcome.DENIED, "the successor is shown to it too"
    assert engine.with_tools(None).check("t", {"n": 5}).outcome is Outcome.DENIED
    assert {target for target, _ in even.seen} == {"t"}


def test_a_policy_that_raises_denies() -> None:
    engine = callgate.compile("tool t { bound /n integer 0..9 }", policies=[Broken()])
    assert engine.check("t", {"n": 4}).outcome is Outcome.DENIED
    assert engine.check("t", {"path": "x"}).outcome is Outcome.VALID


class Once:
    """Denies the first time that it is asked, and changes what it is given."""

    owns = frozenset({"argument"})

    def __init__(self) -> None:
        self.asked = 0

    def propose(self, attempt: Attempt) -> Proposal:
        self.asked += 1
        if attempt.schema is not None:
            msgspec.structs.force_setattr(attempt.schema, "maximum", 10**9)
        msgspec.structs.force_setattr(attempt.candidate, "fields", ())
        msgspec.structs.force_setattr(attempt.adapter, "deny", False)
        return Proposal.deny("once") if self.asked == 1 else Proposal.abstain()


def test_a_policy_cannot_change_what_the_others_and_the_engine_see() -> None:
    engine = callgate.compile("tool t { bound /n integer 0..9 }", policies=[Once()])
    first = engine.check("t", {"n": 5})
    assert (first.outcome, first.reason) == (
        Outcome.DENIED,
        "at `/n` the value was refused by a policy of the host (`once`)",
    )
    assert engine.check("t", {"n": 500}).outcome is Outcome.DENIED
    assert engine.check("t", {"n": "5"}).arguments == {"n": 5}


@pytest.mark.parametrize("policies", [None, 5, "ab", [None], {"a": 1}, Even()])
def test_what_is_no_list_of_policies_is_the_hosts_error(policies: Any) -> None:
    with pytest.raises(callgate.InputError):
        callgate.compile("", policies=policies)
