"""A rule file with many mistakes: each is reported in one run, at its place, with what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import callgate
from callgate.engine.errors import CallgateWarning
from callgate.engine.loading import Checked, check_rules
from callgate.engine.ruletext import RuleText
from callgate.grammar.codes import CODES
from callgate.grammar.diagnostics import Severity

ROOT = Path(__file__).parents[2]

# A text, and for each mistake its code, the text under the carets, and a part of the help.
MANY = """\
family kimi matches "(?i)kimi-k2"
family broken matches "(?i"
let workspace = "/repo"
polcy adaptive
tool edit {
  alias /path form file_path
  alais /path from file
  scalar /n as date
  anchor-bleed /path for kimmi
  dney "x" when /path == 1
  deny "x" unless /path under workspce
  deny "x" when /edits/*/old == 1
  deny "x" when /n startswith "a"
  structural "flat" "" { mvoe /a to /b }
  allow when after
}
disable nope because "gone"
"""
WANTED = [
    ("G209", '"(?i"', ""),
    ("G102", "polcy", "policy"),
    ("G201", "form", "`from`"),
    ("G101", "alais", "`alias`"),
    ("G205", "date", "`number`"),
    ("G106", "kimmi", "`kimi`"),
    ("G101", "dney", "`deny`"),
    ("G304", "workspce", "`workspace`"),
    ("G301", "/edits/*/old", "any"),
    ("G032", "startswith", "starts-with"),
    ("G222", "mvoe", "`move`"),
    ("G107", 'disable nope because "gone"', ""),
]


def check(text: str, **options: object) -> Checked:
    return check_rules([RuleText(text, "many.gate")], **options)  # type: ignore[arg-type]


def test_every_mistake_of_a_file_is_reported_in_one_run() -> None:
    found = {each.code for each in check(MANY).diagnostics}
    assert {code for code, _, _ in WANTED} <= found


@pytest.mark.parametrize(("code", "under", "help_"), WANTED)
def test_a_mistake_is_reported_at_its_place_with_what_to_write(code: str, under: str, help_: str) -> None:
    hits = [
        each
        for each in check(MANY).diagnostics
        if each.code == code and MANY[each.span.start : each.span.end] == under
    ]
    assert len(hits) == 1, [
        (each.code, MANY[each.span.start : each.span.end]) for each in check(MANY).diagnostics
    ]
    assert help_ in hits[0].help
    assert MANY.split("\n")[hits[0].span.line - 1][hits[0].span.column - 1 :].startswith(under)
    assert (hits[0].severity, hits[0].file) == (Severity.ERROR, "many.gate")


def test_the_text_shows_each_with_its_line_under_it() -> None:
    text = check(MANY).text()
    for code, under, _ in WANTED:
        assert f"[{code}]" in text
        line = next(line for line in MANY.split("\n") if under in line)
        assert f"| {line}" in text
    assert re.search(
        r"--> many\.gate:6:15\n +\|\n6 \|   alias /path form file_path\n +\| +\^\^\^\^ did you mean", text
    )


def test_messages_are_lower_case_without_a_full_stop() -> None:
    for each in check(MANY).diagnostics:
        assert each.message[:1] == each.message[:1].lower(), each.message
        assert not each.message.endswith("."), each.message


def test_the_exception_holds_every_diagnostic_and_its_text() -> None:
    with pytest.raises(callgate.RuleFileError) as caught:
        callgate.compile(MANY)
    assert len(caught.value.diagnostics) >= len(WANTED)
    assert str(caught.value) == caught.value.text


def test_a_field_that_the_schema_does_not_have_gets_the_nearest() -> None:
    tools = {
        "edit": {
            "type": "object",
            "properties": {"path": {}, "edits": {"items": {"properties": {"oldText": {}}}}},
        }
    }
    text = "tool edit {\n  alias /pth from file_path\n  alias /edits/*/oldTxt from old\n}\ntool edti { }\n"
    found = [(each.code, each.help) for each in check(text, tools=tools).diagnostics]
    assert ("G104", "did you mean `/path`?") in found
    assert ("G104", "did you mean `/edits/*/oldText`?") in found
    assert ("G111", "did you mean `edit`?") in found or not any(code == "G111" for code, _ in found)


FIELDS = {
    "t": {
        "type": "object",
        "required": ["s"],
        "properties": {
            "e": {"enum": ["a", "b"]},
            "n": {"type": "integer"},
            "s": {"type": "string"},
            "l": {"type": "array", "items": {"type": "string"}},
            "maybe": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
            "free": {},
            "edits": {
                "type": "array",
                "items": {"type": "object", "properties": {"path": {"type": "string"}}},
            },
        },
    }
}


@pytest.mark.parametrize(
    ("rule", "code", "severity", "help_"),
    [
        ('deny "x" when /e == "c"', "G310", Severity.WARNING, 'it lists `"a"`, `"b"`'),
        ('deny "x" when /e in ["c", "d"]', "G310", Severity.WARNING, 'it lists `"a"`, `"b"`'),
        ('deny "x" when /s is integer', "G310", Severity.WARNING, ""),
        ('deny "x" when count(/n) > 1', "G310", Severity.WARNING, ""),
        ('deny "x" when length(/maybe) > 1', "G310", Severity.WARNING, ""),
        ('deny "x" when /l/0/x == 1', "G104", Severity.ERROR, ""),
        ('deny "x" when /maybe/x == 1', "G104", Severity.ERROR, "any /maybe/*/x"),
        ('deny "x" when /edits/path == "x"', "G104", Severity.ERROR, 'any /edits/*/path == "x"'),
        ('ask "x" unless /edits/path under "/r"', "G104", Severity.ERROR, 'every /edits/*/path under "/r"'),
        ("droppable /n, /s", "G226", Severity.WARNING, "take it away"),
        ("root /n", "G226", Severity.WARNING, "takes text"),
        ("root /edits in-array", "G226", Severity.WARNING, "takes text"),
        ("filesystem-path-array /s", "G226", Severity.WARNING, "`filesystem-path`"),
        ("alias /s from zz accepting number", "G226", Severity.WARNING, "a type that it takes"),
    ],
)
def test_a_rule_that_contradicts_the_schema_is_reported_once(
    rule: str, code: str, severity: Severity, help_: str
) -> None:
    (found,) = check(f"tool t {{ {rule} }}", tools=FIELDS).diagnostics
    assert (found.code, found.severity) == (code, severity)
    assert help_ in found.help
    assert check(f"tool t {{ {rule} }}").diagnostics == ()


@pytest.mark.parametrize(
    "rule",
    [
        'deny "x" when /edits/0/path == "x" and /maybe is null',
        'deny "x" when any /edits/* (./path == "x")',
        'deny "x" when count(/maybe) > 1 and length(/l/0) > 1 and count(/free) > 1',
        'deny "x" when /free/x/y == 1 and /free is integer and present /edits/path',
        'structural "one" "" when /s/path == 1 { move /a to /b }',
        "droppable /n, /free",
        "root /l in-array",
    ],
)
def test_a_rule_that_the_schema_leaves_room_for_is_not(rule: str) -> None:
    assert check(f"tool t {{ {rule} }}", tools=FIELDS).diagnostics == ()


def test_a_result_where_there_is_none_is_reported_once_with_and_without_tools() -> None:
    text = 'tool t { deny "x" when result.exit_code == 1; allow when result.ok and turn.step > 1 }'
    for tools in (None, FIELDS):
        found = check(text, tools=tools).diagnostics
        assert [(each.code, each.severity) for each in found] == [("G314", Severity.WARNING)] * 2
        assert ["denied" in each.help for each in found] == [True, False]


def test_a_deny_that_looks_at_a_result_denies_every_call_as_its_warning_says() -> None:
    with pytest.warns(CallgateWarning, match="always unknown"):
        engine = callgate.compile('tool t { deny "x" when result.ok }')
    assert engine.check("t", {"s": "ls"}).outcome.value == "denied"


def test_a_deny_may_look_at_what_a_command_runs() -> None:
    engine = callgate.compile('tool t { deny "no tests" when runs(/s, "pytest") }')
    assert engine.check("t", {"s": "pytest -q"}).outcome.value == "denied"
    assert engine.check("t", {"s": "ls"}).outcome.value == "valid"


def test_mistakes_in_several_files_are_reported_together() -> None:
    texts = [RuleText("tool t { alias /a form b }", "one.gate"), RuleText("tool t { scalar /a }", "two.gate")]
    found = check_rules(texts).diagnostics
    assert [(each.file, each.code) for each in found] == [("one.gate", "G201"), ("two.gate", "G204")]


def test_the_diagnostics_stand_in_the_order_of_the_text() -> None:
    starts = [each.span.start for each in check(MANY).diagnostics]
    assert starts == sorted(starts)


def test_a_hundred_thousand_parentheses_are_one_mistake_and_no_crash() -> None:
    found = check('tool t { deny "x" when ' + "(" * 100_000 + "/a == 1 }").diagnostics
    assert found
    assert all(each.code.startswith("G0") for each in found)


def test_every_code_that_is_raised_has_a_page() -> None:
    raised: set[str] = set()
    for folder in ("grammar", "rules", "engine"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name != "codes.py":
                raised |= set(re.findall(r'"(G[0-9]{3})"', path.read_text("utf-8")))
    assert raised - set(CODES) == set()
    assert set(CODES) - raised == set()


def test_values_in_the_place_of_those_of_let_are_checked_as_they_are() -> None:
    text = 'let v = "/"\ntool read { deny "no" unless /path under v\ndeny "so" when /other under v }'
    assert callgate.compile(text, lets={"v": "/srv"})
    with pytest.raises(callgate.RuleFileError) as caught:
        callgate.compile(text, lets={"v": 5}, file="a.gate")
    (found,) = caught.value.diagnostics  # once, however many conditions use it
    assert (found.code, found.file) == ("G309", "<let v>")
    assert found.help == "let it be a text; a.gate:2 uses it"


def test_a_family_of_a_pack_is_named_with_the_pack() -> None:
    with pytest.raises(callgate.RuleFileError) as caught:
        callgate.compile("use kimi\ntool read { alias /n from m for kimi }")
    (found,) = [each for each in caught.value.diagnostics if "`kimi`" in each.message]
    assert (found.code, found.help) == ("G106", "did you mean `kimi/kimi`?")


def test_of_several_given_values_the_wrong_one_is_named() -> None:
    text = 'let a = "/"\nlet b = "/"\ntool read {\n  deny "no" unless /path under a or /path under b\n}'
    with pytest.raises(callgate.RuleFileError) as caught:
        callgate.compile(text, lets={"a": "/srv", "b": 5})
    assert [each.file for each in caught.value.diagnostics] == ["<let b>"]
