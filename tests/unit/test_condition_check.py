"""What the checker says about a condition, and that it says nothing about a good one."""

from __future__ import annotations

from typing import Any

import pytest

from callgate.engine.anchors import is_anchored
from callgate.engine.conditioncheck import check_condition
from callgate.grammar.ast import STAR, Pointer, Text, Word
from callgate.grammar.ast import Test as Compare
from callgate.grammar.codes import CODES
from callgate.grammar.diagnostics import Severity
from callgate.grammar.parser import parse_condition

LETS: dict[str, Any] = {
    "workspace": "/repo",
    "limit": 5,
    "modes": ["a"],
    "on": True,
    "mode": "b",
    "others": ["z"],
}
TYPES = {
    "path": frozenset({"string"}),
    "n": frozenset({"integer"}),
    "x": frozenset({"number", "null"}),
    "edits": frozenset({"array"}),
    "flag": frozenset({"boolean"}),
    "e": frozenset({"string"}),
    "tags": frozenset({"array"}),
}
ENUMS: dict[str, tuple[Any, ...]] = {"e": ("a", "b"), "tags": ("a", "b"), "n": (1, 2.0)}


def types(pointer: Pointer) -> frozenset[str] | None:
    if pointer.segments == ("tags", STAR):
        return frozenset({"string"})
    return TYPES.get(str(pointer.segments[0])) if len(pointer.segments) == 1 else None


def declares(pointer: Pointer) -> str | bool:
    first, last = str(pointer.segments[0]), str(pointer.segments[-1])
    if len(pointer.segments) == 1:
        return True if first in TYPES else "/path" if first == "pth" else False
    return last in ("path", "oldText")


def enum(pointer: Pointer) -> tuple[Any, ...] | None:
    below = "tags" if len(pointer.segments) == 2 else str(pointer.segments[0])
    return ENUMS.get(below) if (below == "tags") == (len(pointer.segments) == 2) else None


def check(text, *, schema=False, effect="deny"):
    found = check_condition(
        parse_condition(text),
        lets=LETS,
        place_types=types if schema else None,
        declares=declares if schema else None,
        place_enum=enum if schema else None,
        effect=effect,
        file="a.gate",
    )
    assert all(each.file == "a.gate" and each.code in CODES for each in found)
    return [(each.code, each.severity is Severity.ERROR, each.help) for each in found]


@pytest.mark.parametrize("schema", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "/path under workspace",
        '/path under "src"',
        "/path under 'C:\\repo'",
        "/path under '\\\\server\\share'",
        'any /edits/*/path under "/etc"',
        "any /edits/* (./path == /path and present ./oldText)",
        "every /edits/* (any ./path/* == 1)",
        "count(/edits) > 10 and length(/path) < limit",
        '/path in ["a"] or /path in modes',
        "/n is integer or /n is number or /x is null or /x is integer",
        '/e == "a" or /e in ["c", "b"] or /e != mode or any /tags/* == "b"',
        "/flag or not on",
        "/x == null and /x < 1.5 and /n == 1.0",
        'context.groups contains /path and /path starts-with context.prefix and context.a.b == "x"',
        "tool == \"edit\" and model matches 'kimi'",
        "missing /edits and present /oldText",
    ],
)
def test_nothing_is_said_about_a_good_condition(text, schema):
    assert check(text, schema=schema) == []


@pytest.mark.parametrize(
    ("text", "code", "help"),
    [
        (
            "/edits/*/path under workspace",
            "G301",
            "write `any /edits/*/path under workspace` or `every /edits/*/path under workspace`",
        ),
        (
            "/edits/*/path not in [1]",
            "G301",
            "write `any /edits/*/path not in [1]` or `every /edits/*/path not in [1]`",
        ),
        ("/edits/*/ok", "G301", "write `any /edits/*/ok == true` or `every /edits/*/ok == true`"),
        (
            "present /edits/*/a",
            "G301",
            "write `any /edits/* (present ./a)` or `every /edits/* (present ./a)`",
        ),
        (
            "count(/e/*/l) > 3",
            "G301",
            "write `any /e/* (count(./l) > 3)` or `every /e/* (count(./l) > 3)`",
        ),
        ("./x == 1", "G302", "write `/x`"),
        ("any ./x/* == 1", "G302", "write `/x/*`"),
        ("any /edits == 1", "G303", "write `any /edits/*`"),
        ('role == "x"', "G304", 'a text is `"role"`, what the host gives `context.role`'),
        ("/path under workspce", "G304", "did you mean `workspace`?"),
        ("turn.steps > 2", "G304", "did you mean `turn.step`?"),
        ("context == 1", "G304", "write `context.role`"),
        ("turn.calls > 1", "G305", "write `turn.calls(bash)`"),
        ("cuont(/a) > 1", "G305", "did you mean `count(/edits)`?"),
        ('count("a") > 1', "G305", "write `count(/edits)`"),
        ("count(/a, /b) > 1", "G305", "write `count(/edits)`"),
        ("runs(/a, pytest)", "G305", 'write `runs(/command, "pytest")`'),
        ("/x is text", "G306", "write `is string`"),
        ("/x is bool", "G306", "write `is boolean`"),
        ('/x is "string"', "G306", "write `is string`"),
        ('/x in "a"', "G307", 'write `in ["a"]`'),
        ("/x in workspace", "G307", "let it be a list"),
        ("/x in context.modes", "G307", "write `context.modes contains /x`"),
        ('"a" in /tags', "G307", 'write `/tags contains "a"`'),
        ("/x matches 'a(?=b)'", "G308", "patterns are RE2, which runs in linear time"),
        ("/x fullmatches '('", "G308", "patterns are RE2, which runs in linear time"),
        ("/x under limit", "G309", "let it be a text"),
        ('/x under "file:///repo"', "G309", "write a plain path, best a whole one"),
        ("/x starts-with /etc", "G313", 'write `starts-with "/etc"`'),
        ("/x contains /etc", "G313", 'write `contains "/etc"`'),
        ("/x ends-with 5", "G313", 'write `ends-with "..."`'),
    ],
)
def test_a_mistake_is_an_error_with_what_to_write_instead(text, code, help):
    assert check(text) == [(code, True, help)]


def test_trees_that_no_text_gives_are_refused_too():
    def codes(test):
        return [
            each.code
            for each in check_condition(test, lets={}, place_types=None, declares=None, effect=None, file="x")
        ]

    assert codes(Compare(Pointer(("a",)), "resembles", Text("x"))) == ["G312"]
    assert codes(Compare(Pointer(("a",)), "under", Pointer(("etc",)))) == ["G309"]
    assert codes(Compare(Pointer(("a",)), "is", Word("strng"))) == ["G306"]


def test_every_mistake_of_a_condition_is_reported_in_order():
    text = "/a/*/b == 1 and (role == 2 or not any /c (./d/* == nobody))"
    assert [code for code, _, _ in check(text)] == ["G301", "G304", "G303", "G301", "G304"]


@pytest.mark.parametrize(
    "text",
    [
        "/path < 3",
        "/path == 3",
        "/path != null",
        "/n == 1.5",
        "/path == /n",
        "/n starts-with 'a'",
        "/n under workspace",
        "/n contains 1",
        '/n in ["a", null]',
        "/path",
        "/flag == 'true'",
        "any /path/* == 1",
        "/n is null",
        "/path is integer",
        "not (/x is boolean)",
        "count(/n) > 1",
        "length(/n) > 1",
        "length(/edits) == 2",
        "any /edits/* (count(/flag) > 1)",
        '/e == "c"',
        '"c" != /e',
        '/e in ["c", "A", 1]',
        "/e not in others",
        "/n == 3",
        'any /tags/* == "c"',
        'every /tags/* in ["c"]',
        "/flag < 2",
        "any /edits/* (/path == 3)",
    ],
)
def test_a_test_that_the_schema_decides_is_a_warning_in_a_permission_rule_only(text):
    assert [each[:2] for each in check(text, schema=True)] == [("G310", False)]
    assert [code for code, _, _ in check(text)] == []
    if "any /path" not in text:
        assert check(text, schema=True, effect=None) == []


@pytest.mark.parametrize(
    "text", ["tool < 3", 'count(/a) == "1"', "count(/a)", '"a"', "/a < true and turn.step == 'x'"]
)
def test_a_test_that_decides_itself_is_a_warning_in_every_rule(text):
    assert [each[:2] for each in check(text, effect=None)][-1:] == [("G310", False)]


UNANSWERED = 'result.ok and result.exit_code == 0 and result.text == "x"'
SESSION = 'after read in turn and turn.step > 1 and turn.calls(bash) < turn.repeats and runs(/path, "pytest")'


@pytest.mark.parametrize("schema", [False, True])
@pytest.mark.parametrize(
    ("effect", "meaning"),
    [
        ("deny", "unknown is enough for a `deny`: where this decides, every call is denied"),
        ("ask", "unknown is enough for an `ask`: where this decides, every call is asked about"),
        ("allow", "unknown is not enough for an `allow`: where this decides, no call is allowed"),
        (None, "unknown is not enough for the rule: where this decides, it does nothing"),
    ],
)
def test_a_result_where_there_is_none_is_a_warning_that_says_what_it_means(effect, meaning, schema):
    assert check(UNANSWERED, schema=schema, effect=effect) == [("G314", False, meaning)] * 3


@pytest.mark.parametrize("schema", [False, True])
@pytest.mark.parametrize("effect", ["deny", "ask", "allow", None])
def test_what_a_session_answers_is_in_force(effect, schema):
    assert check(SESSION, schema=schema, effect=effect) == []


@pytest.mark.parametrize(
    ("text", "code", "help"),
    [
        ('/e == "c"', "G310", 'it lists `"a"`, `"b"`'),
        ('/e in ["c", 1]', "G310", 'it lists `"a"`, `"b"`'),
        ("/n == 3", "G310", "it lists `1`, `2.0`"),
    ],
)
def test_a_value_that_the_schema_does_not_list_is_shown_those_that_it_does(text, code, help):
    assert check(text, schema=True) == [(code, False, help)]


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ('/edits/path == "x"', '`any /edits/*/path == "x"` or `every /edits/*/path == "x"`'),
        (
            "/edits/path not under workspace",
            "`any /edits/*/path not under workspace` or `every /edits/*/path ",
        ),
        ("/edits/path", "`any /edits/*/path == true`"),
        ("length(/edits/path) > 3", "`any /edits/* (length(./path) > 3)`"),
        ('any /edits/list/* == "x"', "write `any /edits/*/list/*`"),
        ("every /edits/list == 1", "write `every /edits/*/list`"),
        ("/path == /edits/path", "`any /edits/*/path"),
    ],
)
def test_a_field_of_an_array_gets_the_star_that_was_forgotten(text, help):
    ((code, error, got),) = check(text, schema=True)
    assert (code, error) == ("G104", True)
    assert help in got


@pytest.mark.parametrize("text", ["/path/x == 1", "/path/0", "/n/x/y in [1]", "/edits/0/list/x/y == 1"])
def test_a_place_below_a_value_that_has_none_is_an_error_where_permission_hangs_on_it(text):
    assert check(text, schema=True) == [("G104", True, "")]
    assert [code for code, error, _ in check(text, schema=True, effect=None) if error] == []


def test_a_place_below_an_item_is_found_and_said_once():
    assert check("any /edits/* (./path/x == 1)", schema=True) == [("G104", True, "")]
    assert check("any /path/x/* (./y == 1 and ./z == 2)", schema=True) == [("G104", True, "")]


def test_an_unknown_field_is_an_error_where_permission_hangs_on_it():
    assert check("/pth under workspace", schema=True) == [("G104", True, "did you mean `/path`?")]
    assert check("/pth under workspace", schema=True, effect=None) == [
        ("G104", False, "did you mean `/path`?")
    ]
    assert check("any /edits/* (./patth == 1)", schema=True) == [("G104", True, "")]
    assert check("missing /pth", schema=True) == []
    assert check("/pth under workspace") == []


def test_in_an_allow_a_pattern_must_be_anchored_at_both_ends():
    assert check("/path matches 'git status'", effect="allow") == [
        ("G311", False, "write `fullmatches 'git status'`")
    ]
    assert check("/path matches '^git status$'", effect="allow") == []
    assert check("/path fullmatches 'git status'", effect="allow") == []
    assert check("/path matches 'git status'", effect="deny") == []


def test_a_prefix_with_two_slashes_is_a_warning():
    assert check('/path under "//server/share"')[0][:2] == ("G309", False)


@pytest.mark.parametrize(
    "pattern",
    [
        "^a$",
        "(?i)^a$",
        r"\Aa\z",
        "^a$|^b$",
        "^(a|b)$",
        "^[|]$",
        r"^a\|b$",
        "(?m)\\Aa\\z",
        "^$",
        "^[]|]$",
        r"^\Qa|b\E$",
    ],
)
def test_a_pattern_with_an_anchor_at_each_end_of_each_side_is_anchored(pattern):
    assert is_anchored(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "a",
        "^a",
        "a$",
        "^a|b$",
        "^a$|b",
        r"^a\$",
        "(?m)^a$",
        "^*a$",
        "^?a$",
        "(?:^a$)",
        "^a[$]",
        "^a(?m)$",
        r"\^a$",
        "^",
    ],
)
def test_another_pattern_is_not(pattern):
    assert not is_anchored(pattern)
