"""Stage 9 of the pipeline: `deny`, `ask`, `allow`, the default, on final and on original arguments."""

from __future__ import annotations

from typing import Any

import pytest

import callgate
from callgate import Outcome, Verdict

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "n": {"type": "integer"}},
}


def check(rules: str, arguments: Any = None, *, top: str = "", schema: Any = None, **options: Any) -> Verdict:
    tools = None if schema is None else {"t": schema}
    engine = callgate.compile(f"{top}\ntool t {{\n{rules}\n}}", tools=tools)
    return engine.check("t", {} if arguments is None else arguments, **options)


# Who wins -----------------------------------------------------------------------------------------


def test_without_rules_every_call_passes() -> None:
    assert check("").outcome is Outcome.VALID


def test_every_deny_wins_over_every_ask_and_that_over_every_allow() -> None:
    assert check('allow\nask "sure?"\ndeny "no"').outcome is Outcome.DENIED
    assert check('deny "no"\nask "sure?"\nallow').outcome is Outcome.DENIED
    assert check('allow\nask "sure?"').outcome is Outcome.ASKED
    assert check("allow").outcome is Outcome.VALID


def test_all_rules_that_fit_are_listed_the_deciding_one_first() -> None:
    verdict = check(
        'allow named a\nask "sure?" named b\ndeny "no" named c\ndeny "never" when /n == 1 named d'
    )
    assert (verdict.reason, verdict.decided_by) == ("no", ("c", "b", "a"))


def test_the_first_deny_of_the_file_decides() -> None:
    assert check('deny "one"\ndeny "two"').reason == "one"
    assert check('ask "one"\nask "two"').reason == "one"


# True, false, unknown -----------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "outcome"), [("deny", Outcome.DENIED), ("ask", Outcome.ASKED)])
def test_deny_and_ask_take_effect_on_true_and_on_unknown(word: str, outcome: Outcome) -> None:
    rule = f'{word} "x" when context.role == "guest"'
    assert check(rule).outcome is outcome
    assert check(rule, context={"role": "guest"}).outcome is outcome
    assert check(rule, context={"role": "admin"}).outcome is Outcome.VALID


def test_allow_takes_effect_on_true_only() -> None:
    rule, top = 'allow when context.role == "admin"', 'default deny "closed"'
    assert check(rule, top=top).outcome is Outcome.DENIED
    assert check(rule, top=top, context={"role": "admin"}).outcome is Outcome.VALID


def test_a_deny_unless_a_place_is_under_a_path_also_denies_a_call_without_it() -> None:
    rule = 'deny "only the workspace" unless /path under "/repo"'
    assert check(rule, {}).outcome is Outcome.DENIED
    assert check(rule, {"path": "/repo/../etc"}).outcome is Outcome.DENIED
    assert check(rule, {"path": "/repo-evil/a"}).outcome is Outcome.DENIED
    assert check(rule, {"path": "/repo/a"}).outcome is Outcome.VALID


def test_a_test_on_a_value_of_another_type_is_unknown_and_denies() -> None:
    assert check('deny "big" when /n > 5', {"n": "9"}).outcome is Outcome.DENIED
    assert check('deny "big" when /n > 5', {"n": 3}).outcome is Outcome.VALID


# Families -----------------------------------------------------------------------------------------


def test_deny_and_ask_with_for_apply_where_no_model_is_known() -> None:
    assert check('deny "x" for "kimi"').outcome is Outcome.DENIED
    assert check('deny "x" for "kimi"', model="gpt-5").outcome is Outcome.VALID
    assert check('ask "x" for "kimi"').outcome is Outcome.ASKED


def test_allow_with_for_does_not_apply_where_no_model_is_known() -> None:
    top = 'default deny "closed"'
    assert check('allow for "kimi"', top=top).outcome is Outcome.DENIED
    assert check('allow for "kimi"', top=top, model="kimi-k2").outcome is Outcome.VALID


# The original -------------------------------------------------------------------------------------


def test_no_repair_lifts_a_denial_that_something_present_earned() -> None:
    rules = 'alias /path from file\ndeny "etc" when /file starts-with "/etc"'
    assert check(rules, {"file": "/etc/passwd"}).outcome is Outcome.DENIED
    assert check(rules, {"path": "x", "file": "/etc/passwd"}).outcome is Outcome.DENIED


def test_no_alias_rule_is_denied_for_what_it_mends() -> None:
    rules = 'alias /path from file\ndeny "a path is needed" when missing /path'
    verdict = check(rules, {"file": "/a"})
    assert (verdict.outcome, verdict.arguments) == (Outcome.REPAIRED, {"path": "/a"})
    under = 'alias /path from file\ndeny "outside" unless /path under "/repo"'
    assert check(under, {"file": "/repo/a"}).outcome is Outcome.REPAIRED
    assert check(under, {"file": "/etc/a"}).outcome is Outcome.DENIED


def test_on_the_original_a_value_of_another_type_is_no_reason() -> None:
    verdict = check('deny "big" when /n > 5', {"n": "3"}, schema=SCHEMA)
    assert (verdict.outcome, verdict.arguments) == (Outcome.REPAIRED, {"n": 3})
    assert check('deny "big" when /n > 5', {"n": "9"}, schema=SCHEMA).outcome is Outcome.DENIED


def test_the_original_is_what_stage_2_gave() -> None:
    verdict = check('deny "etc" when /path starts-with "/etc"', '{"path": "/etc/x"}', schema=SCHEMA)
    assert (verdict.outcome, verdict.arguments) == (Outcome.DENIED, '{"path": "/etc/x"}')


# The default --------------------------------------------------------------------------------------


def test_the_default_is_for_calls_that_no_allow_or_ask_fits() -> None:
    deny, ask = 'default deny "closed"', 'default ask "really?"'
    assert check("", top=deny).reason == "closed"
    assert check("", top=deny).decided_by == ("default",)
    assert check("", top=ask).outcome is Outcome.ASKED
    assert check("allow when /n == 1", {"n": 2}, top=deny).outcome is Outcome.DENIED
    assert check("allow when /n == 1", {"n": 1}, top=deny).outcome is Outcome.VALID


def test_a_fitting_allow_beats_default_ask() -> None:
    assert check("allow", top='default ask "really?"').outcome is Outcome.VALID


def test_a_fitting_ask_gives_asked_under_every_default() -> None:
    for top in ("default allow", 'default ask "really?"', 'default deny "closed"'):
        verdict = check('ask "sure?"', top=top)
        assert (verdict.outcome, verdict.reason) == (Outcome.ASKED, "sure?"), top


def test_the_default_holds_for_tools_without_a_block() -> None:
    engine = callgate.compile('default deny "closed"\ntool t { allow }')
    assert engine.check("t", {}).outcome is Outcome.VALID
    assert engine.check("other", {}).outcome is Outcome.DENIED


# Verdicts -----------------------------------------------------------------------------------------


def test_a_denied_call_keeps_the_callers_object_and_carries_no_changes() -> None:
    sent = {"file": "/etc/x"}
    verdict = check('alias /path from file\ndeny "no"', sent)
    assert (verdict.outcome, verdict.arguments is sent, verdict.changes) == (Outcome.DENIED, True, ())
    assert not verdict.allowed


def test_the_message_of_a_denial_gives_the_reason_and_says_that_the_same_call_is_refused_again() -> None:
    message = check('deny "only files of the workspace"').retry_message or ""
    assert "only files of the workspace" in message
    assert "same call will be refused again" in message


@pytest.mark.parametrize(
    "condition",
    [
        "unless after read",
        "when turn.step > 0",
        "when /x == 1 or not (turn.calls(read) < 1)",
        "when any /y/* > turn.step and turn.repeats >= 0",
    ],
)
def test_what_may_be_otherwise_later_is_refused_again_as_long_as_it_is_not(condition: str) -> None:
    engine = callgate.compile(f'tool t {{ deny "no" {condition} }}')
    session = engine.session()
    session.user()
    for step in ("0", "1"):
        session.offer({"t": None, "read": None})
        verdict = session.call("t", {"x": 1, "y": [9]}, call_id=step)
    assert (verdict.retry_message or "").endswith("refused again as long as this is so.")


def test_the_note_of_a_deny_is_what_the_model_reads() -> None:
    verdict = check('deny "secret reason" note "Use the search tool."')
    assert verdict.reason == "secret reason"
    assert "Use the search tool." in (verdict.retry_message or "")


def test_an_asked_call_carries_the_final_arguments_and_as_many_changes_as_there_were() -> None:
    verdict = check('alias /path from file\nask "sure?"', {"file": "/a"})
    assert (verdict.outcome, verdict.arguments, verdict.reason) == (Outcome.ASKED, {"path": "/a"}, "sure?")
    assert [change.kind for change in verdict.changes] == ["alias"]
    unchanged = {"path": "/a"}
    assert check('ask "sure?"', unchanged).arguments is unchanged
    assert check('ask "sure?"', unchanged).changes == ()


def test_approving_an_asked_call_gives_repaired_if_there_are_changes_else_valid() -> None:
    repaired = check('alias /path from file\nask "sure?"', {"file": "/a"}).approve()
    assert (repaired.outcome, repaired.arguments, repaired.allowed) == (
        Outcome.REPAIRED,
        {"path": "/a"},
        True,
    )
    assert len(repaired.changes) == 1
    valid = check('ask "sure?"', {"path": "/a"}).approve()
    assert (valid.outcome, valid.reason, valid.decided_by) == (Outcome.VALID, None, ())


def test_only_an_asked_call_can_be_approved() -> None:
    for rules in ("", 'deny "no"'):
        with pytest.raises(ValueError, match="asked"):
            check(rules).approve()


def test_a_shadowed_permission_says_what_it_would_have_said() -> None:
    sent = {"n": 1}
    verdict = check('shadow deny "no"\nshadow ask "sure?"', sent)
    assert (verdict.outcome, verdict.arguments is sent) == (Outcome.VALID, True)
    assert [(o.kind, o.message) for o in verdict.observations] == [
        ("deny", "would have said deny"),
        ("ask", "would have said ask"),
    ]


def test_a_shadowed_allow_lets_nothing_pass() -> None:
    assert check("shadow allow", top='default deny "closed"').outcome is Outcome.DENIED


def test_a_call_that_does_not_fit_its_schema_is_unrepairable_before_any_permission() -> None:
    assert check('deny "no"', {"n": "x"}, schema=SCHEMA).outcome is Outcome.UNREPAIRABLE
