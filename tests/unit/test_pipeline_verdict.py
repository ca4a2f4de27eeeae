"""Stage 10, the fields of a verdict, what is refused with an error, and the digests."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any

import msgspec
import pytest

import callgate
from callgate import ApprovalRequired, Denied, InputError, NotAllowed, Outcome, Unrepairable, Verdict

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "mode": {"enum": ["fast", "safe"]}},
    "required": ["path"],
}
RULES = """
tool t {
  alias /path from file
  deny "no" when /path == "/no"
  ask "sure?" when /path == "/ask"
}
"""


def engine(rules: str = RULES, schema: Any = SCHEMA) -> callgate.Engine:
    return callgate.compile(rules, tools={"t": schema})


# Settle -------------------------------------------------------------------------------------------


def test_a_changed_call_must_come_out_of_a_second_run_unchanged() -> None:
    rules = 'tool t { structural "again" "" { wrap /path } }'
    sent = {"path": "a"}
    verdict = callgate.compile(rules).check("t", sent)
    assert (verdict.outcome, verdict.code, verdict.changes) == (Outcome.UNREPAIRABLE, "not-settled", ())
    assert verdict.arguments is sent


def test_not_settled_names_the_rule() -> None:
    verdict = callgate.compile('tool t { structural "again" "" { wrap /path } }').check("t", {"path": "a"})
    assert "t:structural:again" in (verdict.retry_message or "")


def test_a_repaired_call_run_again_is_valid_and_the_same_object() -> None:
    first = engine().check("t", {"file": "/a", "mode": "FAST"})
    assert first.outcome is Outcome.REPAIRED
    second = engine().check("t", first.arguments)
    assert (second.outcome, second.arguments is first.arguments, second.changes) == (Outcome.VALID, True, ())


# Fields -------------------------------------------------------------------------------------------


def verdicts() -> dict[str, Verdict]:
    given: dict[str, Any] = {
        "valid": {"path": "/a"},
        "repaired": {"file": "/a"},
        "unrepairable": {"path": 5.5},
        "denied": {"path": "/no"},
        "asked": {"file": "/ask"},
    }
    return {name: engine().check("t", arguments) for name, arguments in given.items()}


def test_there_are_five_outcomes_and_two_of_them_are_allowed() -> None:
    found = verdicts()
    assert {name: verdict.outcome.value for name, verdict in found.items()} == {name: name for name in found}
    assert {name for name, verdict in found.items() if verdict.allowed} == {"valid", "repaired"}


def test_a_verdict_is_immutable() -> None:
    verdict = verdicts()["repaired"]
    with pytest.raises(AttributeError):
        verdict.outcome = Outcome.VALID  # type: ignore[misc]
    with pytest.raises(AttributeError):
        verdict.changes[0].path = ""  # type: ignore[misc]


def test_a_change_says_rule_kind_stage_path_and_a_note() -> None:
    (change,) = verdicts()["repaired"].changes
    assert (change.rule, change.kind, change.stage, change.path) == (
        "t:alias:/path",
        "alias",
        "preprocess",
        "/path",
    )
    assert "`path`" in change.note


def test_the_fields_of_a_verdict_line_stand_in_the_order_of_the_design() -> None:
    assert list(verdicts()["asked"].as_dict()) == [
        "outcome",
        "tool",
        "arguments",
        "changes",
        "observations",
        "issues",
        "reason",
        "decided_by",
        "retry_message",
        "code",
        "fingerprint",
        "engine",
        "packs",
    ]
    for verdict in verdicts().values():
        json.dumps(verdict.as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("name", "error"), [("unrepairable", Unrepairable), ("denied", Denied), ("asked", ApprovalRequired)]
)
def test_raise_for_outcome_raises_what_the_outcome_is(name: str, error: type[NotAllowed]) -> None:
    verdict = verdicts()[name]
    with pytest.raises(error) as caught:
        verdict.raise_for_outcome()
    assert isinstance(caught.value, NotAllowed)
    assert caught.value.verdict is verdict
    assert str(caught.value)


def test_an_allowed_call_raises_nothing() -> None:
    for name in ("valid", "repaired"):
        verdicts()[name].raise_for_outcome()
    assert callgate.UnrepairableToolInputError is Unrepairable


def test_the_errors_and_the_verdicts_can_be_pickled() -> None:
    error = Denied(verdicts()["denied"])
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, Denied)
    assert copy.verdict == error.verdict


def test_the_retry_message_names_the_tool_the_issues_and_the_allowed_values() -> None:
    message = engine().check("t", {"path": "/a", "mode": "quick"}).retry_message or ""
    assert "`t`" in message
    assert "/mode" in message
    assert '"fast"' in message
    assert '"safe"' in message
    assert '"quick"' in message  # what was received


def test_the_retry_message_lists_at_most_eight_issues() -> None:
    schema = {"properties": {f"f{n}": {"type": "integer"} for n in range(20)}}
    verdict = engine("", schema).check("t", {f"f{n}": 0.5 for n in range(20)})
    message = verdict.retry_message or ""
    assert len(verdict.issues) == 20
    assert message.count("\n- /f") == 8
    assert "12 more" in message


def test_what_was_received_is_cut_at_300_characters() -> None:
    message = engine().check("t", {"path": 5.5, "x": "y" * 5000}).retry_message or ""
    received = message.partition("Received: ")[2]
    assert 300 <= len(received) <= 304


def test_only_so_many_issues_are_looked_at_as_the_limit_says() -> None:
    schema = {"properties": {f"f{n}": {"type": "integer"} for n in range(200)}}
    sent = {f"f{n}": 0.5 for n in range(200)}
    assert len(engine("", schema).check("t", sent).issues) == 64
    limited = callgate.compile("", tools={"t": schema}, limits=callgate.Limits(issues=3))
    assert len(limited.check("t", sent).issues) == 3


def test_the_fingerprint_tells_failures_apart_and_holds_no_values() -> None:
    one = engine().check("t", {"path": 5.5}).fingerprint
    assert one == engine().check("t", {"path": [1, 2]}).fingerprint
    assert one != engine().check("t", {"path": "/a", "mode": 5}).fingerprint
    assert one != callgate.compile("", tools={"u": SCHEMA}).check("u", {"path": 5.5}).fingerprint
    assert engine().check("t", {"path": "/a"}).fingerprint is None


def test_items_of_an_array_share_a_fingerprint() -> None:
    schema = {"properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
    one, two = engine("", schema).check("t", {"a": [1, 0.5]}), engine("", schema).check("t", {"a": [0.5]})
    assert one.fingerprint == two.fingerprint


def test_the_engine_digest_is_of_the_rules_and_not_of_their_layout() -> None:
    base = engine().digest
    assert base == engine(RULES.replace("  ", "    ") + "\n# a comment\n").digest
    assert base != engine(RULES.replace("/no", "/nope")).digest
    assert engine().check("t", {"path": "/a"}).engine == base


def test_the_packs_in_force_are_named_with_their_versions() -> None:
    packs = {"a": 'pack a "1.2.0"\ntool t { alias /path from file }'}
    verdict = callgate.compile("", packs=packs).check("t", {"file": "/a"})
    assert verdict.packs == ("a@1.2.0",)
    assert verdict.changes[0].rule == "a:t:alias:/path"


def test_verdicts_are_the_same_in_another_process_with_another_hash_seed() -> None:
    program = (
        "import callgate, json\n"
        f"e = callgate.compile({RULES!r}, tools={{'t': {SCHEMA!r}}})\n"
        "print(json.dumps([e.check('t', a).as_dict() for a in"
        " ({'file': '/a'}, {'path': 5.5}, {'path': '/no'}, {'zz': 1, 'mode': 2})]))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


# The JSON domain ----------------------------------------------------------------------------------


class Text(str):
    pass


class Mapping(dict):  # type: ignore[type-arg]
    pass


@pytest.mark.parametrize(
    "wrong",
    [
        {"a": b"x"},
        {"a": (1,)},
        {"a": {1, 2}},
        {1: 2},
        {"a": Text("x")},
        Mapping(a=1),
        {"a": object()},
        {"a": 1j},
    ],
)
def test_what_is_outside_the_json_domain_is_an_input_error(wrong: Any) -> None:
    for each in (engine(), callgate.compile("")):
        with pytest.raises(InputError):
            each.check("t", wrong)


def test_tool_model_context_and_stop_reason_have_their_types() -> None:
    each = callgate.compile("")
    bad: list[tuple[tuple[Any, Any], dict[str, Any]]] = [
        ((5, {}), {}),
        ((Text("t"), {}), {}),
        (("t", {}), {"model": 5}),
        (("t", {}), {"context": [1]}),
        (("t", {}), {"context": {"a": object()}}),
        (("t", {}), {"stop_reason": 5}),
    ]
    for given, options in bad:
        with pytest.raises(InputError):
            each.check(*given, **options)
    with pytest.raises(InputError):
        each.check_text("t", b"{}")  # type: ignore[arg-type]


def test_keys_that_other_languages_treat_specially_are_ordinary() -> None:
    sent = {"__proto__": 1, "constructor": 2, "0": 3, "a/b": 4, "m~n": 5, "": 6}
    assert engine("", {"type": "object"}).check("t", sent).arguments is sent
    verdict = callgate.compile('tool t { alias "/a~1b" from "m~n"; alias /"" from zero }').check(
        "t", {"m~n": 1, "zero": 2}
    )
    assert verdict.arguments == {"a/b": 1, "": 2}
    assert [change.path for change in verdict.changes] == ["/a~1b", "/"]


def test_one_true_and_one_point_zero_stay_distinct() -> None:
    sent = {"a": [1, True, 1.0, "1"]}
    verdict = engine("tool t { alias /b from c }", {"type": "object"}).check("t", {**sent, "c": 1})
    assert json.dumps(verdict.arguments["a"]) == '[1, true, 1.0, "1"]'


# Engines ------------------------------------------------------------------------------------------


def test_an_engine_pickles_with_its_rules_and_tools() -> None:
    copy = pickle.loads(pickle.dumps(engine()))
    assert copy.digest == engine().digest
    assert copy.check("t", {"file": "/a"}) == engine().check("t", {"file": "/a"})


def test_a_schema_given_with_the_call_is_used() -> None:
    each = callgate.compile("")
    assert each.check("t", {"path": 5.5}, schema=SCHEMA).outcome is Outcome.UNREPAIRABLE
    assert each.check("t", {"path": 5.5}).outcome is Outcome.VALID


def test_a_schema_that_is_none_is_a_schema_error() -> None:
    each = callgate.compile("")
    with pytest.raises(callgate.SchemaError, match="`t`"):
        each.check("t", {}, schema={"type": "strin"})
    with pytest.raises(callgate.SchemaError, match="`t`"):
        callgate.compile("", tools={"t": {"type": "strin"}})


def test_with_tools_gives_the_same_rules_over_other_tools() -> None:
    other = engine().with_tools({"u": {}})
    assert other.check("t", {}).code == "unknown-tool"
    assert other.digest == engine().digest


# Policies -----------------------------------------------------------------------------------------


def act(policy: str, rule: str, sent: Any) -> Verdict:
    return callgate.compile(f"{policy}\ntool t {{ {rule} }}").check("t", sent, model="glm-4.6")


def test_adaptive_is_the_policy_where_none_is_said() -> None:
    rule, sent = 'anchor-bleed /p for "glm"', {"p": "^a$"}
    assert act("", rule, sent).arguments == act("policy adaptive", rule, sent).arguments == {"p": "a"}


@pytest.mark.parametrize(
    ("rule", "sent"),
    [('anchor-bleed /p for "glm"', {"p": "^a$"}), ('grammar-tokens "" for "glm"', {"p": "a</arg_value>"})],
)
def test_conservative_observes_anchors_and_tokens_and_changes_nothing(rule: str, sent: Any) -> None:
    verdict = act("policy conservative", rule, sent)
    assert (verdict.outcome, verdict.arguments is sent) == (Outcome.VALID, True)
    assert [o.path for o in verdict.observations] == ["/p"] or len(verdict.observations) == 1
    for policy in ("policy adaptive", "policy recover"):
        assert act(policy, rule, sent).outcome is Outcome.REPAIRED


def test_the_other_preprocessors_act_under_conservative_too() -> None:
    assert act("policy conservative", "alias /p from q", {"q": 1}).arguments == {"p": 1}


def test_a_policy_for_a_family_wins_over_the_one_for_all() -> None:
    rules = 'policy conservative\npolicy adaptive for "glm"\ntool t { anchor-bleed /p for "glm", "kimi" }'
    each = callgate.compile(rules)
    assert each.check("t", {"p": "^a"}, model="glm-4.6").outcome is Outcome.REPAIRED
    assert each.check("t", {"p": "^a"}, model="kimi").outcome is Outcome.VALID


def test_verdict_values_have_no_dict_and_compare_by_value() -> None:
    assert isinstance(verdicts()["valid"], msgspec.Struct)
    assert verdicts()["repaired"] == verdicts()["repaired"]
