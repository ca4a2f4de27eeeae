"""How statements are read, and what is said about the ones that are wrong."""

from __future__ import annotations

import re
import time
from typing import ClassVar

import pytest

from callgate.grammar.ast import Json, Literal, Pointer, Range, Statement, Text, Word
from callgate.grammar.codes import CODES
from callgate.grammar.diagnostics import Diagnostic, Severity
from callgate.grammar.parser import parse
from callgate.rules.catalog import kinds
from callgate.rules.faults import edits
from callgate.rules.forms import FORMS
from callgate.rules.grounds import GroundBlock, PresetBlock
from callgate.rules.kind import Effect, Kind, Phase, Spec
from callgate.rules.reader import read_rule, usage
from callgate.rules.regex import compile_regex
from callgate.rules.shapes import Fields, Misfit, fit, shape
from callgate.rules.statements import (
    Declaration,
    Default,
    Disable,
    Family,
    Let,
    Pack,
    Policy,
    Requires,
    ToolBlock,
    ToolName,
    Use,
    read,
    words,
)
from callgate.rules.testblock import (
    CallStep,
    Expectation,
    FinishStep,
    OfferStep,
    ReasonStep,
    TestCase,
    UserStep,
)
from callgate.rules.values import copy, has_type, require_json
from callgate.rules.versions import admits, admits_newer


def statement(text: str) -> Statement:
    parsed = parse(text, words=words)
    assert parsed.diagnostics == ()
    (found,) = parsed.file.statements
    return found


def rule(text: str) -> tuple[Spec | None, list[Diagnostic]]:
    (inner,) = statement(f"tool t {{\n{text}\n}}").block or ()
    return read_rule(inner, kinds())


def codes(found: list[Diagnostic]) -> list[str]:
    assert all(fault.code in CODES for fault in found)
    return [fault.code for fault in found]


def said(text: str) -> list[tuple[str, str]]:
    """The code of each fault of a rule, and the text that its span is over."""
    whole = f"tool t {{\n{text}\n}}"
    return [(fault.code, whole[fault.span.start : fault.span.end]) for fault in rule(text)[1]]


# rules ----------------------------------------------------------------------------------------


def test_a_rule_is_read_by_what_its_kind_declares() -> None:
    spec, found = rule(
        'shadow alias /a from b, "c d" accepting string empty-is-missing for "x" note "n" named r'
    )
    assert found == []
    assert spec is not None
    assert spec.segments == ("a",)
    assert spec.clauses == {"from": ["b", "c d"], "accepting": ["string"], "empty-is-missing": True}
    assert (spec.shadow, spec.note, spec.name, spec.families) == (True, "n", "r", (Text("x"),))


def test_a_whole_pointer_may_be_quoted_and_empty_text_is_the_root() -> None:
    spec, _ = rule('filesystem-path "/my key/a~1b/*"')
    assert spec is not None
    assert spec.selectors == (Pointer(("my key", "a/b", spec.segments[2])),)
    spec, _ = rule('grammar-tokens "" for glm')
    assert spec is not None
    assert spec.segments == ()


def test_clauses_come_in_any_order_and_ranges_are_read() -> None:
    spec, found = rule("bound /n lowercase integer 0..5")
    assert spec is not None
    assert spec.clauses == {"lowercase": True, "integer": Range(0, 5)}
    assert found == []


def test_a_title_comes_before_the_selector() -> None:
    spec, _ = rule('structural "id" "/a b" { wrap /x }')
    assert spec is not None
    assert (spec.title, spec.segments) == ("id", ("a b",))
    spec, _ = rule('deny "why" when /a == 1')
    assert spec is not None
    assert spec.title == "why"
    assert rule("deny")[1] == []


def test_a_title_that_looks_like_a_selector_is_missing() -> None:
    assert said('structural "/a" { wrap /x }') == [("G206", '"/a"')]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("alias /a form b, c accepting string", [("G201", "form")]),
        ("alias /a from b from c", [("G202", "from")]),
        ("alias /a", [("G204", "alias")]),
        ("alias /a from", [("G205", "from")]),
        ("alias from b", [("G203", "from")]),
        ("alias /a, /b from c", [("G203", "/b")]),
        ("alias /a from b accepting text", [("G205", "text")]),
        ("alias /a from 5", [("G205", "5")]),
        ("alias ./a from b", [("G203", "./a")]),
        ('alias "a" from b', [("G203", '"a"')]),
        ("scalar /a as date", [("G205", "date")]),
        ("scalar /a as string, number", [("G205", "number")]),
        ("bound /n integer 5", [("G205", "5")]),
        ("root /a in-aray", [("G201", "in-aray")]),
        ("filesystem-path /a frob", [("G201", "frob")]),
        ('filesystem-path /a "frob"', [("G207", '"frob"')]),
        ("allow /a", [("G203", "/a")]),
        ('allow "why"', [("G207", '"why"')]),
        ("deny a", [("G201", "a")]),
        ("structural /a { wrap /x }", [("G206", "/a")]),
        ("filesystem-path /a { wrap /x }", [("G211", "filesystem-path /a { wrap /x }")]),
        ('root /a for "("', [("G209", '"("')]),
        ("root /a when /b", [("G210", "/b")]),
        ("schema x", [("G205", "x")]),
        ("anchor-bleed /a", [("G208", "anchor-bleed /a")]),
        ("alias frm b accepting text", [("G203", "frm"), ("G201", "frm"), ("G205", "text")]),
    ],
)
def test_every_mistake_is_shown_where_it_is(text: str, wanted: list[tuple[str, str]]) -> None:
    assert said(text) == wanted


def test_a_rule_with_an_error_gives_nothing_and_one_with_a_warning_does() -> None:
    assert rule("alias /a")[0] is None
    assert rule("anchor-bleed /a")[0] is not None


def test_a_misspelt_clause_proposes_the_right_one() -> None:
    assert rule("alias /a form b")[1][0].help == "did you mean `from`?"


def test_a_quoted_text_is_never_a_clause_word() -> None:
    assert said('alias /a "from" b') == [("G207", '"from"'), ("G201", "b"), ("G204", "alias")]


@pytest.mark.parametrize(
    ("word", "severity"),
    [
        ("alow", Severity.ERROR),
        ("aks", Severity.ERROR),
        ("dney", Severity.ERROR),
        ("Deny", Severity.ERROR),
        ("bond", Severity.ERROR),
        ("renmae", Severity.ERROR),
        ("forbid", Severity.ERROR),
        ("confirm", Severity.ERROR),
        ("require", Severity.ERROR),
        ("aliass", Severity.WARNING),
        ("future-kind", Severity.WARNING),
    ],
)
def test_an_unknown_kind_near_a_permission_is_an_error(word: str, severity: Severity) -> None:
    spec, (fault,) = read_rule(Statement(Word(word)), kinds())
    assert spec is None
    assert (fault.code, fault.severity) == ("G101", severity)


def test_an_unknown_kind_proposes_the_nearest() -> None:
    assert read_rule(Statement(Word("aliass")), kinds())[1][0].help == "did you mean `alias`?"
    assert read_rule(Statement(Word("x" * 100_000)), kinds())[1][0].message == f"unknown kind `{'x' * 64}`"


def test_edits_count_swapped_letters_once() -> None:
    assert [edits(a, "deny", 2) for a in ("deny", "dney", "dny", "deyn", "xenx")] == [0, 1, 1, 1, 2]
    assert edits("completely", "ask", 2) > 2


def test_a_foreign_kind_is_read_by_its_own_clauses() -> None:
    class Weigh(Kind):
        keyword = "weigh"
        phase = Phase.SETTING
        clauses: ClassVar = {
            "unit": {"meta": {"positional": True}, "type": "string"},
            "most": {"type": "number", "min": 1},
            "table": {"type": "dict"},
        }

    items = ((Word("kg"),), (Word("most"),), (Literal(5),), (Word("table"),), (Literal({"a": 1}),))
    spec, found = read_rule(Statement(Word("weigh"), items), {"weigh": Weigh})
    assert found == []
    assert spec is not None
    assert spec.clauses == {"unit": "kg", "most": 5, "table": {"a": 1}}
    spec, found = read_rule(Statement(Word("weigh"), (*items[:2], (Literal(0),))), {"weigh": Weigh})
    assert spec is None
    assert codes(found) == ["G205"]
    assert usage(Weigh) == "weigh [VALUE] [most VALUE] [table VALUE]"


# statements -----------------------------------------------------------------------------------

KIMI = (Word("kimi"),)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('pack kimi "1.2.0" "what"', Pack("kimi", "1.2.0", "what")),
        ('pack "my pack" "1.2.0"', Pack("my pack", "1.2.0")),
        ('requires callgate ">=0.1,<2"', Requires(">=0.1,<2")),
        ("use common", Use("common")),
        ('use common "^1.0"', Use("common", "^1.0")),
        ("family glm matches '(?i)\\bglm', \"x\"", Family("glm", (r"(?i)\bglm", "x"))),
        ('let a = "/repo"', Let("a", "/repo")),
        ("let a = [1, {}]", Let("a", [1, {}])),
        ("let a = {}", Let("a", {})),
        ("let a = null", Let("a", None)),
        ("policy recover for kimi", Policy("recover", KIMI)),
        ("default allow", Default(Effect.ALLOW)),
        ('default deny "why"', Default(Effect.DENY, "why")),
        ('disable repair.alias, "envelope.*" because "w"', Disable(("repair.alias", "envelope.*"), "w")),
        ('disable x because "w" until 2027-01-31', Disable(("x",), "w", "2027-01-31")),
        ('tool a, "b_*" {}', ToolBlock((ToolName("a"), ToolName("b_*", True)), ())),
    ],
)
def test_a_statement_becomes_a_value(text: str, wanted: Declaration) -> None:
    got, found = read(statement(text))
    assert found == []
    assert without_spans(got) == without_spans(wanted)


def without_spans(value: object) -> str:
    return re.sub(r", span=Span\([^)]*\)", "", repr(value))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("pack kimi", ["G103"]),
        ('pack kimi "1.2"', ["G501"]),
        ('pack kimi "1.2.0" "a" "b"', ["G103"]),
        ('requires python ">=3"', ["G103"]),
        ('requires callgate "new"', ["G502"]),
        ('use a "new"', ["G502"]),
        ("use a, b", ["G103"]),
        ('family a matches "("', ["G209"]),
        ("family a matches b", ["G103"]),
        ("let a 1", ["G103"]),
        ("let a = b", ["G103"]),
        ("policy brave", ["G103"]),
        ('policy recover for "("', ["G209"]),
        ("default ask", ["G206"]),
        ('default allow "why"', ["G206"]),
        ("disable because", ["G103"]),
        ("disable x", ["G103"]),
        ("tool a", ["G211"]),
        ("tool a, a {}", ["G103"]),
        ('tool "" {}', ["G103"]),
        ("alias /a from b", ["G102"]),
        ("frobnicate 1", ["G102"]),
        ("reads a", ["G102"]),
        ("let a = 1 for kimi", ["G210"]),
        ('use a when /x note "n"', ["G210", "G210"]),
        ("use a { wrap /x }", ["G211"]),
    ],
)
def test_a_wrong_statement_says_why(text: str, wanted: list[str]) -> None:
    got, found = read(statement(text))
    assert got is None
    assert codes(found) == wanted


def test_a_word_that_stands_elsewhere_says_where() -> None:
    assert read(statement("reads a"))[1][0].help == "it stands in a `ground` block"
    assert read(statement("polcy adaptive"))[1][0].help == "did you mean `policy`?"


def test_presets_and_ground_blocks_are_read_whole() -> None:
    got, found = read(statement("preset p for kimi { refill 2; strict; cap 5 }"))
    wanted = PresetBlock("p", 5, 2, True, (Word("kimi"),))
    assert (without_spans(got), found) == (without_spans(wanted), [])
    got, found = read(statement("preset p for kimi"))
    wanted = PresetBlock("p", families=(Word("kimi"),))
    assert (without_spans(got), found) == (without_spans(wanted), [])
    got, found = read(
        statement(
            'ground { reads a, "b*"; mutates c; shell bash /command; exempt d; normalize a "x" to "y"\n'
            "signal s from a when result.ok; require s before completion unless context.x\n"
            'surface /a, "/b c" }'
        )
    )
    assert found == []
    assert isinstance(got, GroundBlock)
    assert [type(each).__name__ for each in got.statements] == [
        *("Listed", "Listed", "Shell", "Listed", "Normalize", "Signal", "Require", "Surface")
    ]
    assert got.statements[6].unless  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("preset p { cap 5 }", ["G605"]),
        ("preset p { cap 2 refill 2 }", ["G605"]),
        ("preset p { cap 5 refill 0 }", ["G605"]),
        ("preset p { cap 5.5 refill 1 }", ["G605"]),
        ("preset p { cap 5 refill 1; cap 6 }", ["G605"]),
        ("preset p { cap 5 refill 1 maybe }", ["G103"]),
        ("preset p { frob }", ["G102"]),
        ("ground { reads; frob x; reads a for kimi }", ["G103", "G102", "G210"]),
        ('ground { normalize a "(" to "y" }', ["G209"]),
        ("ground { shell bash /a/*/b }", ["G203"]),
        ("ground { signal s }", ["G103"]),
        ("ground { require s }", ["G103"]),
    ],
)
def test_a_wrong_block_says_why(text: str, wanted: list[str]) -> None:
    got, found = read(statement(text))
    assert got is None
    assert codes(found) == wanted


def test_every_form_says_how_it_is_written() -> None:
    for forms in FORMS.values():
        for word, form in forms.items():
            assert form.usage.startswith(word)
            assert form.what


# tests in rule files --------------------------------------------------------------------------


def case(text: str) -> tuple[Declaration | None, list[Diagnostic]]:
    return read(statement(f'test "name" {{\n{text}\n}}'))


def test_a_test_of_a_call_is_read_whole() -> None:
    got, found = case(
        'model "m"; policy conservative; context {"a": 1}; tools "t.json"; stop "length"\n'
        'call edit {"a": 1}\nexpect repaired {"b": 1} by alias, "repair.*"\n'
        'call "raw"\nexpect unrepairable "part"\ncall {}; expect valid'
    )
    assert found == []
    wanted = TestCase(
        "name",
        (
            CallStep({"a": 1}, Expectation("repaired", {"b": 1}, ("alias", "repair.*")), False, "edit"),
            CallStep("raw", Expectation("unrepairable", part="part"), True),
            CallStep({}, Expectation("valid")),
        ),
        "m",
        "conservative",
        {"a": 1},
        "t.json",
        "length",
    )
    assert without_spans(got) == without_spans(wanted)


def test_repaired_text_is_the_argument_and_not_a_part_of_a_message() -> None:
    got, _ = case('call "x"; expect repaired "y"')
    assert isinstance(got, TestCase)
    (step,) = got.steps
    assert isinstance(step, CallStep)
    assert step.expectation == Expectation("repaired", "y", span=step.expectation.span)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ["G401"]),
        ("call {}", ["G401"]),
        ("expect valid", ["G401"]),
        ("call {}; call {}; expect valid", ["G401"]),
        ('model "a"; model "b"; call {}; expect valid', ["G401"]),
        ("call {}; expect repaired", ["G402"]),
        ("call {}; expect valid {}", ["G402"]),
        ("call {}; expect denied {}", ["G402"]),
        ('call {}; expect denied "x" by a', ["G402"]),
        ("call {}; expect fine", ["G103"]),
        ("context 1; call {}; expect valid", ["G103"]),
        ("frob; call {}; expect valid", ["G102"]),
        ("call; expect valid", ["G103", "G401"]),
    ],
)
def test_a_wrong_test_says_why(text: str, wanted: list[str]) -> None:
    got, found = case(text)
    assert got is None
    assert codes(found) == wanted


def test_a_test_of_turns_is_read_whole() -> None:
    got, found = case(
        'user "hi"; offer expect a, "b" forcing a; call a {} returns {"ok": 1}; call a "{}" fails "no"\n'
        "call a {} returns 1; expect valid; user"
    )
    assert found == []
    wanted = TestCase(
        "name",
        (
            UserStep("hi"),
            OfferStep(("a", "b"), "a"),
            CallStep({}, None, False, "a", True, {"ok": 1}),
            CallStep("{}", None, True, "a", True, None, "no"),
            CallStep({}, Expectation("valid"), False, "a", True, 1),
            UserStep(None),
        ),
    )
    assert without_spans(got) == without_spans(wanted)
    assert isinstance(got, TestCase)
    assert got.in_session


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('call a {} returns 1 fails "x"', ["G401"]),
        ("call a {}; offer expect a", ["G401"]),
        ("call a {}; user", ["G401"]),
        ("offer expect", ["G103"]),
        ("offer a", ["G103"]),
    ],
)
def test_a_wrong_test_of_turns_says_why(text: str, wanted: list[str]) -> None:
    got, found = case(text)
    assert got is None
    assert codes(found) == wanted


def test_a_test_of_claims_is_read_whole() -> None:
    got, found = case(
        "user; call a {} returns 1\nreason; finish completion expect rejected; finish none expect accepted"
    )
    assert found == []
    assert isinstance(got, TestCase)
    assert isinstance(got.steps[2], ReasonStep)
    claims = [each for each in got.steps if isinstance(each, FinishStep)]
    assert [(each.claim, each.accepted) for each in claims] == [("completion", False), ("none", True)]
    assert got.in_session


# shapes, expressions, versions, values --------------------------------------------------------


def test_an_optional_slot_gives_way_to_one_that_is_needed() -> None:
    wanted = shape("[tool:NAME] arguments:JSON [returns result:JSON]")
    one = fit(wanted, ((Text("raw"),), (Word("returns"),), (Literal(1),)))
    assert isinstance(one, Fields)
    assert ("tool" in one, one.json("arguments"), one.json("result")) == (False, "raw", 1)
    assert isinstance(fit(wanted, ((Word("a"),),)), Misfit)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(?=a)", "look-around"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "back-reference"),
        ("(?P<x>a)(?P=x)", "back-reference"),
        (r"a\Z", r"\\z"),
        ("[", "missing ]"),
        ("a{1001}", "repetition"),
        ("(((a{30}){30}){30}){30}", "repetition"),
        ("a" * 20_000, "over 16384"),
        ("(" * 10_000, "not a regular expression"),
        (r"\pL{1000}" * 8, "8 MiB"),
        ("\ud800", "surrogate"),
    ],
)
def test_an_expression_that_does_not_run_in_linear_time_says_why(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        compile_regex(pattern)


def test_expressions_match_code_points_and_lone_surrogates_raise_nothing() -> None:
    assert compile_regex("^.$").search("é")
    assert compile_regex("(?i)KIMI").search("a kimi-k2")
    assert compile_regex("a.c").fullmatch("xabc") is None
    assert compile_regex("(?s)a(.*)(b)?").captures("aü\n") == ("ü\n", "")
    assert compile_regex("^.$").search("\ud800")
    assert compile_regex("a").search("\ud800") is None
    assert compile_regex("x").search("\ud800x")


def test_expressions_run_in_linear_time() -> None:
    begun = time.process_time()
    assert compile_regex(r"(a+)+\s+$").search("a" * 500_000 + " " * 500_000 + "x") is None
    assert time.process_time() - begun < 5


def test_version_ranges_admit_what_they_say() -> None:
    assert admits(">=1.0,<2", "1.5.0")
    assert not admits("^1.2", "1.1.0")
    assert [
        admits_newer(spec, "0.1.0") for spec in (">=0.1", "==0.1.0", "^0.1", "<=0.1.0", "==0.2.0", "<0.0.5")
    ] == [*(True, False, True, False, True, False)]


def test_values_are_copied_however_deep_they_are() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    again = copy(deep)  # type: ignore[arg-type]
    assert again is not deep
    while deep:
        assert isinstance(again, list)
        deep, again = deep[0], again[0]  # type: ignore[assignment]
        assert again is not deep
    value = {"a": [1, {"b": True}], "c": 1.0}
    got = require_json(value)
    assert repr(got) == repr(value)
    assert got is not value


def test_types_are_those_of_json() -> None:
    assert has_type(1.0, frozenset({"integer"}))
    assert not has_type(True, frozenset({"integer", "number"}))
    values: list[Json] = [None, [], {}, ""]
    assert [has_type(value, frozenset({"null", "array"})) for value in values] == [True, True, False, False]


def test_a_statement_of_a_hundred_thousand_items_is_read_in_linear_time() -> None:
    names = ", ".join(f"n{i}" for i in range(20_000))
    begun = time.process_time()
    spec, found = rule(f"alias /a from {names}")
    assert found == []
    assert spec is not None
    assert len(spec.clauses["from"]) == 20_000
    many = Statement(Word("alias"), ((Pointer(("a",)),), *(((Word("zz"),),) * 100_000)))
    assert len(read_rule(many, kinds())[1]) > 1
    assert time.process_time() - begun < 20
