"""What stands in a rule file: its names, its families and packs, what it disables, its own tests."""

from __future__ import annotations

import json
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate import Outcome, RuleFileError
from callgate.engine.loading import Checked, check_rules, compile_rules
from callgate.engine.ruletext import RuleText
from callgate.grammar.diagnostics import Severity

ALIAS = "tool t { alias /path from file }"


def check(text: str, *, strict: bool = True, folder: Path | None = None, **options: Any) -> Checked:
    return check_rules([RuleText(text, "rules.gate", folder)], strict=strict, **options)


def codes(text: str, **options: Any) -> list[str]:
    return [found.code for found in check(text, **options).diagnostics]


def names(text: str, **options: Any) -> list[str]:
    return [rule.name for rule in check(text, **options).rules.rules]


def kinds(engine: callgate.Engine, arguments: Any, tool: str = "t", **options: Any) -> list[str]:
    return [change.kind for change in engine.check(tool, arguments, **options).changes]


# Names of rules -----------------------------------------------------------------------------------


def test_a_rules_name_is_made_of_pack_tool_kind_and_selector() -> None:
    assert names('pack p "1.0.0"\ntool t { alias /a/*/b from c; deny "no" }') == [
        "p:t:alias:/a/*/b",
        "p:t:deny",
    ]
    assert names('tool t, u { structural "flat" "" { remove /a } }') == ["t,u:structural:flat"]


def test_where_that_is_not_unique_six_hex_digits_follow() -> None:
    found = names('tool t { deny "a" when /x == 1; deny "b" when /x == 2; allow }')
    assert [name.partition("#")[0] for name in found] == ["t:deny", "t:deny", "t:allow"]
    assert all(len(name.partition("#")[2]) == 6 for name in found[:2])
    assert len(set(found)) == 3


def test_names_are_stable_under_reordering_and_formatting_and_other_notes_and_reasons() -> None:
    one = names('tool t { deny "a" when /x == 1; deny "b" when /x == 2 }')
    two = names('tool t {\n  deny "other"   when /x==2 note "n"\n\n  # why\n  deny "words" when /x == 1\n}')
    assert one == two[::-1]


def test_named_gives_a_rule_its_name() -> None:
    assert names("tool t { alias /a from b named mine }") == ["mine"]
    assert names('tool t { alias /a from b named "any text" }') == ["any text"]


def test_a_name_given_to_two_rules_is_an_error() -> None:
    assert codes("tool t { alias /a from b named x; alias /c from d named x }") == ["G105"]


def test_rules_of_two_files_never_share_a_name() -> None:
    texts = [
        RuleText('tool t { deny "a" when /x == 1 }', "one"),
        RuleText('tool t { deny "b" when /x == 2 }', "two"),
    ]
    found = [rule.name for rule in check_rules(texts).rules.rules]
    assert len(set(found)) == 2


# use, let, family ---------------------------------------------------------------------------------


def test_use_puts_the_rules_of_a_pack_at_its_place_in_the_order() -> None:
    packs = {"p": 'pack p "1.0.0"\ntool t { alias /b from a }'}
    folder_rules = "tool t { alias /a from z }\nuse p\ntool t { alias /c from b }"
    found = check(folder_rules, packs=None, folder=None)
    assert [each.code for each in found.diagnostics] == ["G509"]
    assert names(folder_rules, packs=packs)[0] == "p:t:alias:/b"  # a named pack counts at its first place


def test_a_pack_is_looked_up_in_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "p.gate").write_text('pack p "1.1.0"\ntool t { alias /b from a }')
    text = "tool t { alias /a from z }\nuse p\nuse p\ntool t { alias /c from b }"
    assert names(text, folder=tmp_path) == ["t:alias:/a", "p:t:alias:/b", "t:alias:/c"]


def test_a_pack_counts_once_at_its_first_place(tmp_path: Path) -> None:
    (tmp_path / "base.gate").write_text("tool t { alias /b from a }")
    (tmp_path / "left.gate").write_text("use base\ntool t { alias /l from a }")
    (tmp_path / "right.gate").write_text("use base\ntool t { alias /r from a }")
    assert names("use right\nuse left", folder=tmp_path) == ["t:alias:/b", "t:alias:/r", "t:alias:/l"]


def test_packs_can_be_named_by_path_and_come_before_the_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.gate"
    path.write_text('pack mine "1.0.0"\ntool t { alias /b from a }')
    for packs in (path, str(path), [path]):
        assert names("tool t { alias /c from b }", packs=packs) == ["mine:t:alias:/b", "t:alias:/c"]


def test_a_pack_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "bytes.gate").write_bytes(b"\xff\xfe")
    (found,) = check("use bytes", folder=tmp_path).diagnostics
    assert found.code == "G505"
    assert "UTF-8" in found.message
    (missing,) = check("", packs=[tmp_path / "no.gate"]).diagnostics
    assert missing.code == "G505"
    assert "no.gate" in missing.message


def test_an_installed_pack_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, info = tmp_path / "acme_rules", tmp_path / "acme_rules-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text("")
    (package / "acme.gate").write_text('pack acme "2.0.0"\ntool t { alias /b from a }')
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rules\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[callgate.packs]\nacme = acme_rules\n")
    assert codes("use acme") == ["G509"]
    monkeypatch.syspath_prepend(str(tmp_path))
    assert names('use acme "^2"') == ["acme:t:alias:/b"]


def test_a_pack_in_the_folder_is_found_before_one_that_ships(tmp_path: Path) -> None:
    (tmp_path / "common.gate").write_text('pack common "9.0.0"')
    assert codes('use common "^9"', folder=tmp_path) == []
    assert codes('use common "^9"') == ["G510"]
    assert codes('use common "^8"', folder=tmp_path, packs={"common": 'pack common "8.0.0"'}) == []


def test_packs_that_use_each_other_are_an_error_that_shows_the_loop(tmp_path: Path) -> None:
    (tmp_path / "a.gate").write_text("use b")
    (tmp_path / "b.gate").write_text("use c")
    (tmp_path / "c.gate").write_text("use a")
    found = check("use a", folder=tmp_path).diagnostics
    assert [each.code for each in found] == ["G508"]
    assert "a -> b -> c -> a" in found[0].message


def test_a_pack_that_is_not_there_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "kimi.gate").write_text("")
    (found,) = check("use kimmi", folder=tmp_path).diagnostics
    assert (found.code, found.span.line) == ("G509", 1)
    assert "`kimi`" in found.help


def test_the_version_of_a_used_pack_must_fit() -> None:
    packs = {"p": 'pack p "1.2.0"'}
    assert codes('use p ">=1.0"', packs=packs) == []
    assert codes('use p "^1.2"', packs=packs) == []
    assert codes('use p ">=2"', packs=packs) == ["G510"]


def test_pack_stands_first_and_once() -> None:
    assert codes('let x = 1\npack p "1.0.0"') == ["G503"]
    assert codes('pack p "1.0.0"\npack q "1.0.0"') == ["G503"]
    assert codes('pack p "1.0"') == ["G501"]


def test_requires_callgate_must_admit_this_version() -> None:
    assert codes('requires callgate ">=0.1"') == []
    assert codes('requires callgate ">=99"') == ["G507"]
    assert codes('requires callgate "what"') == ["G502"]


def test_let_names_a_value_for_conditions() -> None:
    engine = callgate.compile(
        'let root = "/repo"\nlet many = [1, 2]\n'
        'tool t { deny "a" unless /path under root; deny "b" when /n in many }'
    )
    assert engine.check("t", {"path": "/repo/a", "n": 3}).outcome is Outcome.VALID
    assert engine.check("t", {"path": "/etc/a", "n": 3}).reason == "a"
    assert engine.check("t", {"path": "/repo/a", "n": 2}).reason == "b"


def test_a_deployment_may_set_a_let() -> None:
    text = 'let root = "/repo"\ntool t { deny "a" unless /path under root }'
    engine = compile_rules(text, lets={"root": "/srv"})
    assert engine.check("t", {"path": "/srv/a"}).outcome is Outcome.VALID
    assert engine.check("t", {"path": "/repo/a"}).outcome is Outcome.DENIED


def test_let_cwd_is_what_relative_paths_are_joined_to() -> None:
    text = 'let cwd = "/repo/sub"\ntool t { deny "a" unless /path under "/repo" }'
    assert callgate.compile(text).check("t", {"path": "../a"}).outcome is Outcome.VALID
    assert callgate.compile(text).check("t", {"path": "../../a"}).outcome is Outcome.DENIED


def test_a_name_that_stands_twice_is_an_error() -> None:
    assert codes("let x = 1\nlet x = 2") == ["G105"]
    assert codes('family f matches "a"\nfamily f matches "b"') == ["G105"]
    assert codes("default allow\ndefault allow") == ["G105"]


def test_a_family_is_found_anywhere_in_the_model_id() -> None:
    engine = callgate.compile('family kimi matches "(?i)kimi-k2"\ntool t { alias /path from file for kimi }')
    assert kinds(engine, {"file": "a"}, model="moonshotai/Kimi-K2-Instruct") == ["alias"]
    assert kinds(engine, {"file": "a"}, model="gpt-5") == []


def test_the_family_of_a_pack_is_reached_by_pack_slash_name(tmp_path: Path) -> None:
    (tmp_path / "fam.gate").write_text('pack fam "1.0.0"\nfamily kimi matches "kimi"')
    engine = compile_rules("use fam\ntool t { alias /path from file for fam/kimi }", folder=tmp_path)
    assert kinds(engine, {"file": "a"}, model="kimi") == ["alias"]


def test_an_unknown_family_is_an_error_with_the_nearest_name() -> None:
    (found,) = check('family kimi matches "k"\ntool t { alias /a from b for kim }').diagnostics
    assert (found.code, found.help) == ("G106", "did you mean `kimi`?")


def test_the_let_of_a_pack_is_reached_by_pack_slash_name() -> None:
    packs = {"team": 'pack team "1.0.0"\nlet root = "/repo"'}
    engine = callgate.compile('use team\ntool t { deny "out" unless /path under team/root }', packs=packs)
    assert engine.check("t", {"path": "/repo/a"}).outcome is Outcome.VALID
    assert engine.check("t", {"path": "/etc/a"}).outcome is Outcome.DENIED


# policy, default ----------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["policy recover", 'default deny "x"', "default allow"])
def test_policy_and_default_are_errors_in_a_used_pack(statement: str) -> None:
    assert codes("use p", packs={"p": statement}) == ["G504"]


def test_a_policy_for_an_unknown_family_is_an_error() -> None:
    assert codes('family kimi matches "kimi"\npolicy conservative for kimmi') == ["G106"]
    assert codes('family kimi matches "kimi"\npolicy conservative for kimi, "glm"') == []


def test_there_is_one_policy_for_all_models() -> None:
    assert codes("policy conservative\npolicy recover") == ["G105"]
    assert codes('policy conservative\npolicy recover for "kimi"') == []


def test_default_ask_and_deny_say_why_and_allow_does_not() -> None:
    assert codes("default deny") == ["G206"]
    assert codes("default ask") == ["G206"]
    assert codes('default allow "x"') == ["G206"]


# disable ------------------------------------------------------------------------------------------


def test_disable_at_file_level_is_for_used_packs(tmp_path: Path) -> None:
    (tmp_path / "p.gate").write_text('pack p "1.0.0"\ntool t { alias /path from file; alias /b from c }')
    for name in ('"p:t:alias:/path"', "alias", '"p:*:/path"'):
        engine = compile_rules(f'use p\ndisable {name} because "not here"', folder=tmp_path)
        assert kinds(engine, {"file": "a"}) == [], name
    one = compile_rules('use p\ndisable "p:t:alias:/path" because "x"', folder=tmp_path)
    assert kinds(one, {"c": "a"}) == ["alias"]


def test_disable_takes_a_structural_id(tmp_path: Path) -> None:
    (tmp_path / "p.gate").write_text('tool t { structural "flat" "" { move /a to /b } }')
    engine = compile_rules('use p\ndisable flat because "x"', folder=tmp_path)
    assert kinds(engine, {"a": 1}) == []


def test_disable_reaches_a_pack_that_the_caller_named_and_the_file_uses() -> None:
    packs = {"p": 'pack p "1.0.0"\ntool t { alias /path from file }'}
    engine = callgate.compile('use p\ndisable alias because "x"', packs=packs)
    assert kinds(engine, {"file": "a"}) == []


def test_disable_in_a_tool_block_is_for_this_tool() -> None:
    rules = 'tool "*" { filesystem-path /p }\ntool t { disable filesystem-path because "x" }'
    engine = callgate.compile(rules)
    sent = {"p": "[a](http://a)"}
    assert kinds(engine, sent) == []
    assert kinds(engine, sent, tool="u") == ["filesystem-path"]


@pytest.mark.parametrize(
    "text",
    [
        'disable nope because "x"',
        f'{ALIAS}\ndisable alias because "own rules are taken away, not disabled"',
        f'{ALIAS}\ntool u {{ disable alias because "there is none for this tool" }}',
        'disable "repair.nope*" because "x"',
    ],
)
def test_disabling_nothing_is_an_error(text: str) -> None:
    assert codes(text) == ["G107"]


def test_built_in_rules_are_disabled_at_file_level() -> None:
    tools = {"t": {"properties": {"n": {"type": "integer"}}}}
    for name in ("repair.parse-scalar", '"repair.*"'):
        engine = callgate.compile(f'disable {name} because "x"', tools=tools)
        assert engine.check("t", {"n": "5"}).outcome is Outcome.UNREPAIRABLE


def day(days: int) -> str:
    return (datetime.now(UTC).date() + timedelta(days=days)).isoformat()


def test_past_its_day_a_disable_is_an_error_in_check_and_stays_in_force_in_load() -> None:
    text = f'disable repair.parse-scalar because "x" until {day(-1)}'
    assert codes(text) == ["G108"]
    tools = {"t": {"properties": {"n": {"type": "integer"}}}}
    with pytest.warns(callgate.CallgateWarning, match="expired"):
        engine = callgate.compile(text, tools=tools)
    assert engine.check("t", {"n": "5"}).outcome is Outcome.UNREPAIRABLE


@pytest.mark.parametrize(("days", "found"), [(0, ["G109"]), (14, ["G109"]), (16, [])])
def test_fourteen_days_before_its_end_a_disable_warns(days: int, found: list[str]) -> None:
    checked = check(f'disable repair.parse-scalar because "x" until {day(days)}')
    assert [each.code for each in checked.diagnostics] == found
    assert not checked.failed


def test_a_disable_says_why() -> None:
    assert codes("disable repair.parse-scalar") == ["G103"]


# Kinds and globs ----------------------------------------------------------------------------------


def test_an_unknown_kind_is_inert_and_the_arguments_are_still_validated() -> None:
    with pytest.warns(callgate.CallgateWarning, match="frobnicate"):
        engine = callgate.compile(
            "tool t { frobnicate /x }", tools={"t": {"properties": {"x": {"type": "integer"}}}}
        )
    sent = {"x": 1}
    assert engine.check("t", sent).arguments is sent
    assert engine.check("t", {"x": 0.5}).outcome is Outcome.UNREPAIRABLE


def test_an_unknown_kind_is_an_error_in_check_unless_the_file_admits_a_newer_version() -> None:
    assert check("tool t { frobnicate /x }").failed
    assert not check('requires callgate ">=0.1"\ntool t { frobnicate /x }').failed
    assert check('requires callgate "==0.1.0"\ntool t { frobnicate /x }').failed


MISSPELT = ["dney", "alow", "aks", "bund", "roots", "renam"]
FOREIGN = ["forbid", "block", "reject", "permit", "confirm", "require"]


@pytest.mark.parametrize("word", MISSPELT + FOREIGN)
def test_a_kind_that_may_be_a_misspelt_permission_is_an_error_everywhere(word: str) -> None:
    assert check(f'requires callgate ">=0.1"\ntool t {{ {word} "x" }}', strict=False).failed


def test_a_glob_stands_for_the_tools_that_it_fits() -> None:
    engine = callgate.compile('tool "search_*", "r?ad" { filesystem-path /p }')
    for tool, found in (
        ("search_web", 1),
        ("search_", 1),
        ("read", 1),
        ("search", 0),
        ("reead", 0),
        ("Read", 0),
    ):
        assert len(kinds(engine, {"p": "[a](http://a)"}, tool=tool)) == found, tool


def test_a_block_of_several_tools_is_for_each() -> None:
    engine = callgate.compile("tool t, u { alias /path from file }")
    assert kinds(engine, {"file": "a"}, tool="t") == kinds(engine, {"file": "a"}, tool="u") == ["alias"]


def test_a_rule_that_needs_families_warns_without_for_and_never_fires() -> None:
    assert codes("tool t { anchor-bleed /p }") == ["G208"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = callgate.compile("tool t { anchor-bleed /p }")
    assert kinds(engine, {"p": "^a$"}, model="kimi") == []


# schema -------------------------------------------------------------------------------------------


def test_schema_gives_a_tool_its_schema_where_the_host_gives_none(tmp_path: Path) -> None:
    document = {"properties": {"n": {"type": "integer"}}}
    (tmp_path / "n.json").write_text(json.dumps(document))
    for rule in (f"schema {json.dumps(document)}", 'schema "n.json"'):
        engine = compile_rules(f"tool t {{ {rule} }}", folder=tmp_path)
        assert engine.check("t", {"n": "5"}).arguments == {"n": 5}


def test_the_schema_of_the_host_wins() -> None:
    rules = 'tool t { schema {"properties": {"n": {"type": "integer"}}} }'
    engine = callgate.compile(rules, tools={"t": {"properties": {"n": {"type": "string"}}}})
    sent = {"n": "5"}
    assert engine.check("t", sent).arguments is sent


def test_a_tool_has_one_schema() -> None:
    assert codes("tool t { schema {}; schema {} }") == ["G105"]


def test_a_schema_file_is_never_looked_up_outside_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "pack"
    inside.mkdir()
    (tmp_path / "out.json").write_text("{}")
    (inside / "link.json").symlink_to(tmp_path / "out.json")
    for name in ("../out.json", "link.json", "/etc/hosts", "missing.json"):
        found = codes(f'tool t {{ schema "{name}" }}', folder=inside)
        assert found, name
        assert set(found) <= {"G228", "G505"}, name


def test_a_schema_that_is_none_is_an_error_at_its_place() -> None:
    (found,) = check('tool t {\n  schema {"type": "strin"}\n}').diagnostics
    assert (found.code, found.span.line) == ("G506", 2)


# Tests in rule files ------------------------------------------------------------------------------


def with_test(expect: str, call: str = 'call {"file": "a"}', settings: str = "", rule: str = "") -> str:
    return (
        f'tool t {{\n  alias /path from file\n  {rule}\n  test "case" {{\n    {settings}\n    {call}\n'
        f"    expect {expect}\n  }}\n}}"
    )


@pytest.mark.parametrize(
    "text",
    [
        with_test('repaired {"path": "a"}'),
        with_test('repaired {"path": "a"} by alias'),
        with_test('repaired {"path": "a"} by "t:alias:/path"'),
        with_test('repaired {"path": "a"} by "t:*"'),
        with_test("valid", 'call {"path": "a"}'),
        with_test('repaired {"path": "a"} by alias', """call '{"file": "a"}'"""),
        with_test("unrepairable", """call '{"file": '"""),
        with_test('unrepairable "cut off"', """call '{"file": '"""),
        with_test('denied "no"', rule='deny "no entry"'),
        with_test('asked "sure"', rule='ask "sure?"'),
        with_test("valid", 'call {"path": "a"}', 'model "kimi-k2"'),
        with_test("valid", 'call {"p": "^a"}', 'model "x"; policy conservative', 'anchor-bleed /p for "x"'),
        with_test(
            "valid",
            'call {"path": "a"}',
            'context {"role": "admin"}',
            'deny "x" when context.role != "admin"',
        ),
        with_test("unrepairable", """call '{"path": "a"'""", 'stop "length"'),
    ],
)
def test_a_test_in_a_rule_file_that_holds_says_nothing(text: str) -> None:
    assert codes(text) == []


def test_a_test_with_the_wrong_arguments_shows_wanted_got_and_the_difference() -> None:
    text = with_test('repaired {"path": "b", "n": [1]}', 'call {"file": "a", "n": [2]}')
    (found,) = check(text).diagnostics
    assert found.code == "G402"
    assert "`case`" in found.message
    assert '/path: wanted "b", got "a"' in found.help
    assert "/n/0: wanted 1, got 2" in found.help
    assert found.span.line == text.split("\n").index('    expect repaired {"path": "b", "n": [1]}') + 1


def test_arguments_are_compared_by_value_and_type() -> None:
    schema = 'schema {"properties": {"path": {}, "n": {"type": "number"}}}'
    assert codes(with_test('repaired {"path": "a", "n": 1}', 'call {"file": "a", "n": 1}', rule=schema)) == []
    for other in ("1.0", "true", '"1"'):
        text = with_test(f'repaired {{"path": "a", "n": {other}}}', 'call {"file": "a", "n": 1}', rule=schema)
        assert codes(text) == ["G402"], other


def test_a_test_with_the_wrong_outcome_says_which_and_what_was_said() -> None:
    (found,) = check(with_test("valid")).diagnostics
    assert "wanted valid, got repaired" in found.message
    assert "t:alias:/path" in found.help
    (denied,) = check(with_test("valid", rule='deny "no entry"')).diagnostics
    assert "wanted valid, got denied" in denied.message
    assert "no entry" in denied.help


@pytest.mark.parametrize(
    ("by", "missing"),
    [
        ("scalar", ["alias", "scalar"]),  # the change has no entry, and the entry no change
        ("alias, scalar", ["scalar"]),
        ('"t:scalar:*"', ["alias"]),
    ],
)
def test_by_is_exact_as_a_set(by: str, missing: list[str]) -> None:
    (found,) = check(with_test(f'repaired {{"path": "a"}} by {by}')).diagnostics
    assert found.code == "G402"
    assert all(word in found.help for word in missing)


def test_by_takes_the_name_of_a_built_in_rule_and_a_structural_id() -> None:
    text = """tool t {
  schema {"properties": {"n": {"type": "integer"}, "b": {}}}
  structural "flat" "" when present /a { move /a to /b }
  test "both" {
    call {"n": "5", "a": 1}
    expect repaired {"n": 5, "b": 1} by flat, repair.parse-scalar
  }
}"""
    assert codes(text) == []


def test_a_part_of_the_message_that_is_not_there_fails_the_test() -> None:
    (found,) = check(with_test('denied "other words"', rule='deny "no entry"')).diagnostics
    assert "other words" in found.message
    assert "no entry" in found.help


def test_a_file_whose_tests_fail_does_not_load() -> None:
    with pytest.raises(RuleFileError) as caught:
        callgate.compile(with_test("valid"))
    assert [each.code for each in caught.value.diagnostics] == ["G402"]
    assert "wanted valid, got repaired" in caught.value.text


def test_a_pack_whose_tests_fail_keeps_what_uses_it_from_loading() -> None:
    with pytest.raises(RuleFileError, match="case"):
        callgate.compile("use p", packs={"p": with_test("valid")})


def test_the_lines_of_a_difference_are_lines_of_the_shown_text() -> None:
    shown = check(with_test("repaired {} by scalar")).text()
    assert "␊" not in shown


def test_a_files_tests_run_against_that_file_and_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "p.gate").write_text("tool t { alias /path from file }")
    text = 'use p\ntest "used" {\n  call t {"file": "a"}\n  expect repaired {"path": "a"} by alias\n}'
    assert codes(text, folder=tmp_path) == []


def test_other_packs_and_the_deployments_values_play_no_part_in_a_files_tests(tmp_path: Path) -> None:
    (tmp_path / "p.gate").write_text(
        'let root = "/repo"\ntool t {\n  deny "out" unless /path under root\n'
        '  test "inside" { call {"path": "/repo/a"}; expect valid }\n}'
    )
    text = 'use p\ntool t { deny "everything" }'
    assert codes(text, folder=tmp_path, lets={"root": "/srv"}) == []


def test_a_test_can_name_a_file_of_tools(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps({"t": {"properties": {"n": {"type": "integer"}}}}))
    text = 'test "n" {\n  tools "tools.json"\n  call t {"n": "5"}\n  expect repaired {"n": 5}\n}'
    assert codes(text, folder=tmp_path) == []


def test_outside_the_block_of_one_tool_a_call_names_its_tool() -> None:
    text = 'tool t, u {\n  alias /a from b\n  test "which" {\n    call {"b": 1}\n    expect valid\n  }\n}'
    assert codes(text) == ["G403"]


def test_a_test_has_calls_and_each_call_an_expectation() -> None:
    assert codes('tool t { test "x" { } }') == ["G401"]
    assert codes('tool t { test "x" { call {"a": 1} } }') == ["G401"]
    assert codes('tool t { test "x" { expect valid } }') == ["G401"]


TURNS = """
palette p when context.role == "support" {
  offer get, "search_*"
  exclude shell hard
  force get
}
tool search_docs { deny "too often" when turn.calls(search_docs) >= 2 }
"""


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("offer expect search_docs, get forcing get\ncall get {} returns 1\n"
         "offer expect get, search_docs", []),
        ("user\ncall shell {}\nexpect denied 'not offered'", []),
        ("offer expect get, search_docs forcing get\ncall get {} fails 'x'\nuser\n"
         "offer expect get, search_docs forcing get", []),
        ("call search_docs {} returns 1\n" * 2 + "call search_docs {}\nexpect denied 'too often'", []),
        ("offer expect get, shell forcing get", ["wanted get, shell, got search_docs, get"]),
        ("offer expect get, search_docs", ["forces something else\nwanted none to be forced, got get"]),
        ("call shell {} returns 1", ["the call did not run: `shell` is not offered in this request"]),
        ("call search_docs {} returns 1\n" * 3, ["the call did not run: too often"]),
    ],
)  # fmt: skip
def test_a_test_of_turns_is_run_in_a_session(steps: str, said: list[str]) -> None:
    text = f'{TURNS}\ntest "x" {{\ncontext {{"role": "support"}}\n{steps}\n}}'
    found = check(text).diagnostics
    assert [each.code for each in found] == ["G402"] * len(said)
    for each, wanted in zip(found, said, strict=True):
        assert wanted in f"{each.message}\n{each.help}"


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("offer expect get forcing get", "wanted get, got search_docs, get"),
        ("offer expect get, search_docs, other forcing get", "wanted get, search_docs, other, got"),
        ("user\ncall search_docs {}\nexpect denied", "wanted denied, got valid"),
        ("user\ncall shell {}\nexpect denied 'too often'", "the message lacks 'too often'"),
        ("user\ncall late {} returns 1", "the call did not run: first"),
        ("call get {} fails 'x'\ncall late {} returns 1", "the call did not run: first"),
        ("call get {} returns 1\ncall late {}\nexpect denied", "wanted denied, got valid"),
        ("user\ncall get '{\\\"a\\\": 1}'\nexpect repaired {'a': 1}", "wanted repaired, got valid"),
        (
            "user\nstop 'length'\ncall get '{\\\"a\\\": \\\"x\\\"'\nexpect repaired {'a': 'x'}",
            "got unrepairable",
        ),
        ("model 'kimi-k2'\noffer expect get, search_docs forcing get", "wanted get, search_docs, got get"),
    ],
)  # fmt: skip
def test_each_step_of_a_test_of_turns_can_fail(steps: str, said: str) -> None:
    rules = (
        TURNS + 'tool late { deny "first" unless after get }\npalette q for "kimi" { exclude search_docs }\n'
    )
    rules = rules.replace('"search_*"', '"search_*", late') if "late" in steps else rules
    steps = steps.replace("'", '"')
    (only,) = check(f'{rules}\ntest "x" {{\ncontext {{"role": "support"}}\n{steps}\n}}').diagnostics
    assert only.code == "G402"
    assert said in f"{only.message}\n{only.help}"


def test_a_test_of_single_calls_says_that_palettes_need_a_session() -> None:
    text = 'palette p { exclude t }\ntool t { test "x" { call {}; expect denied } }'
    (only,) = check(text).diagnostics
    assert "begin the test with `user`" in only.help


def test_a_test_of_turns_takes_the_tools_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "a"}, {"name": "b"}]', "utf-8")
    text = 'palette p { exclude c }\ntest "x" { tools "tools.json"; offer expect a, b }'
    assert check_rules([RuleText(text, "x.gate", tmp_path)]).diagnostics == ()
    refused = 'palette p { force c }\ntest "x" { tools "tools.json"; offer expect a, b }'
    (only,) = check_rules([RuleText(refused, "x.gate", tmp_path)]).diagnostics
    assert "the request is refused: `c` is forced by p and not registered" in only.message


def test_a_test_of_turns_registers_no_misspelt_name_and_the_tools_of_used_files(tmp_path: Path) -> None:
    rules = 'tool a { rename from aa; deny "no" when /x == 1 }\n'
    assert check(rules + 'test "x" { user; call aa {"x": 1}; expect denied "no" }').diagnostics == ()
    base = 'pack base "1.0.0"\npalette p { force status }\ntool a { deny "b" when /b == 1 }'
    (tmp_path / "base.gate").write_text(base)
    text = 'use base\ntest "x" { offer expect a, status forcing status; call a {} returns 1 }'
    assert check_rules([RuleText(text, "x.gate", tmp_path)]).diagnostics == ()


def test_a_value_of_the_deployment_reaches_every_name_of_it(tmp_path: Path) -> None:
    (tmp_path / "base.gate").write_text('pack base "1.0.0"\nlet who = "support"')
    text = "use base\npalette p when context.role == base/who { offer a }"
    engine = compile_rules(text, folder=tmp_path, tools={"a": None, "b": None}, lets={"who": "boss"})
    assert engine.session(context={"role": "boss"}).offer().names == ("a",)
    assert engine.session(context={"role": "support"}).offer().names is None


GROUND = """
ground {
  reads read
  mutates edit
  shell bash /command
  signal passed from bash when runs(/command, "pytest") and result.exit_code == 0
  require passed before completion when context.strict
}
"""


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("call edit {'path': 'a', 'newText': 'x=1'} returns 'ok'\nfinish completion expect rejected", None),
        ("call edit {'path': 'a', 'newText': 'x=1'} returns 'ok'\ncall read {'path': 'a'} returns 'x=1'\n"
         "finish completion expect accepted", None),
        ("call edit {'path': 'a', 'newText': 'x=1'} returns 'ok'\ncall read {'path': 'a'} returns 'x=0'\n"
         "finish completion expect accepted", "owed: a"),
        ("reason\nfinish assertion expect rejected\nfinish unverified expect accepted", None),
        ("finish none expect rejected", "wanted the none rejected"),
        ("call read {'path': 'a'} returns 'x'\nuser\nfinish none expect accepted", None),
        ("call edit {'path': 'a'} returns 'ok'\ncall read {'path': 'a'} returns 'x'\n" + "reason\n" * 9
         + "finish completion expect accepted", "looked at for too long"),
    ],
)  # fmt: skip
def test_a_test_of_claims_is_run(steps: str, said: str | None) -> None:
    steps = steps.replace("'", '"')
    found = check(f'{GROUND}\ntest "x" {{\ncontext {{"strict": false}}\n{steps}\n}}').diagnostics
    assert [each.code for each in found] == (["G402"] if said else [])
    assert said is None or said in f"{found[0].message}\n{found[0].help}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ground { reads a; mutates a }", ["G105"]),
        ("ground { reads a }\nground { mutates a }", ["G105"]),
        ("ground { require s before completion }", ["G606"]),
        ("ground { require s before completion }\nground { signal s from a }", []),
        ("ground { signal s from a when /x == result.exit_code }", ["G607"]),
        ("ground { signal s from a when result.ok or /x }", ["G607"]),
        ("ground { signal s from a when result.ok and /x == 1 }", []),
        ("ground { signal s from a; require s before completion when /x == 1 }", ["G315"]),
        ('preset nobody for "kimi"', ["G106"]),
        ("preset a { cap 3 refill 1 }\npreset a { cap 4 refill 1 }", ["G105"]),
        ("preset a { cap 3 refill 1 }\npreset a", []),
        ("preset skipper", []),
        ("preset skipper\npreset diverger", ["G105"]),
        ('preset skipper for "a", "b"\npreset diverger for "b"', ["G105"]),
        ('preset skipper for "a"\npreset diverger for "b"\npreset skipper', []),
    ],
)
def test_what_is_wrong_with_grounding(text: str, found: list[str]) -> None:
    assert codes(text) == found


TOOLS = {
    "read": {"properties": {"path": {"type": "string"}}},
    "bash": {"properties": {"command": {"type": "string"}}},
}


@pytest.mark.parametrize(
    ("text", "found", "near"),
    [
        ("reads raed", "G111", "`read`"),
        ("mutates raed", "G111", "`read`"),
        ("signal s from bsh", "G111", "`bash`"),
        ("exempt raed", "G111", "`read`"),
        ('normalize raed "a" to "b"', "G111", "`read`"),
        ("shell bsh /command", "G111", "`bash`"),
        ("shell bash /comand", "G104", "`/command`"),
        ('signal s from bash when runs(/comand, "x")', "G104", "`/command`"),
        ("surface /pth", "G104", "`/path`"),
        ('reads "re*", read; shell bash /command; surface /path, /command', None, ""),
        ('signal s from bash when runs(/command, "x") and result.exit_code == 0', None, ""),
    ],
)
def test_grounding_against_the_tools(text: str, found: str | None, near: str) -> None:
    diagnostics = check(f"ground {{ {text} }}", tools=TOOLS).diagnostics
    assert [each.code for each in diagnostics] == ([found] if found else [])
    assert all(near in each.help and each.severity is Severity.WARNING for each in diagnostics)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ground { shell bash command }", "COMMAND is a selector like `/command`"),
        ("ground { surface issue }", "is a selector like `/path`"),
        ('test "x" { call edit {} returns ok }', 'RESULT is JSON like `"done"`'),
        ('test "x" { call edit {} }', "or `call TOOL JSON returns JSON`"),
    ],
)
def test_the_help_says_what_a_name_in_it_stands_for(text: str, said: str) -> None:
    assert [said in each.help for each in check(text).diagnostics] == [True]
