"""How diagnostics are shown to people and to machines."""

import json

from callgate.grammar.codes import CODES
from callgate.grammar.diagnostics import (
    Diagnostic,
    Severity,
    nearest,
    render_text,
    to_github,
    to_json,
    to_sarif,
)
from callgate.grammar.span import Span

TEXT = "\n" * 11 + "  alias /pth from file_path\n"
PAGE = Diagnostic(
    "G104",
    "no field `pth` in the schema of `edit`",
    Span(19, 23, 12, 9),
    help="did you mean `/path`?",
    file="rules/edit.gate",
)


def test_a_diagnostic_is_shown_as_the_page_of_the_language_shows_it():
    assert render_text([PAGE], {"rules/edit.gate": TEXT}) == (
        "error[G104]: no field `pth` in the schema of `edit`\n"
        "  --> rules/edit.gate:12:9\n"
        "   |\n"
        "12 |   alias /pth from file_path\n"
        "   |         ^^^^ did you mean `/path`?\n"
    )


def test_diagnostics_stand_apart():
    assert render_text([PAGE, PAGE], {"rules/edit.gate": TEXT}).count("\n\nerror") == 1
    assert render_text([], {}) == ""


def test_a_long_help_stands_on_a_line_of_its_own():
    long = Diagnostic("G104", "no", PAGE.span, help="x" * 100, file="f")
    assert render_text([long], {"f": TEXT}).endswith("^^^^\n   = help: " + "x" * 100 + "\n")


def test_related_places_are_shown_below():
    related = Diagnostic("G021", "twice", Span(2, 3, 1, 3), file="f", related=((Span(0, 1, 1, 1), "first"),))
    assert render_text([related], {"f": "a b"}) == (
        "error[G021]: twice\n --> f:1:3\n  |\n1 | a b\n  |   ^\n  |\n1 | a b\n  | - first\n"
    )


def test_without_the_text_the_place_is_shown_alone():
    assert render_text([PAGE], {}) == (
        "error[G104]: no field `pth` in the schema of `edit`\n"
        "  --> rules/edit.gate:12:9\n"
        "   = help: did you mean `/path`?\n"
    )


def test_marks_stand_under_wide_characters_and_tabs():
    wide = Diagnostic("G001", "m", Span(4, 5, 1, 5), file="f")
    assert render_text([wide], {"f": "\t日 éx"}).splitlines()[-1] == "  | \t    ^"


def test_nothing_in_a_text_commands_the_terminal():
    evil = Diagnostic("G001", "m \x1b[2J", Span(0, 1, 1, 1), file="f\x1b", help="\u202e")
    shown = render_text([evil], {"f\x1b": "\x1b[31m\x07\u202ex"})
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_colour_changes_nothing_but_colour():
    plain = render_text([PAGE], {"rules/edit.gate": TEXT})
    coloured = render_text([PAGE], {"rules/edit.gate": TEXT}, colour=True)
    assert coloured != plain
    assert coloured.replace("\x1b[1;31m", "").replace("\x1b[0m", "") == plain


def test_a_very_long_line_is_cut_around_the_place():
    text = "a" * 50_000 + "@" + "b" * 50_000
    shown = render_text([Diagnostic("G001", "m", Span(50_000, 50_001, 1, 50_001), file="f")], {"f": text})
    assert len(shown) < 600
    line, marks = shown.splitlines()[3:5]
    assert line[marks.index("^")] == "@"


def test_a_span_at_the_end_of_the_text_is_shown():
    assert render_text([Diagnostic("G022", "m", Span(3, 3, 1, 4), file="f")], {"f": "abc"}).endswith("   ^\n")
    assert "-->" in render_text([Diagnostic("G022", "m", Span(9, 9, 7, 1), file="f")], {"f": "abc"})


def test_json_has_every_field():
    assert json.loads(json.dumps(to_json([PAGE]))) == [
        {
            "code": "G104",
            "severity": "error",
            "message": "no field `pth` in the schema of `edit`",
            "help": "did you mean `/path`?",
            "file": "rules/edit.gate",
            "span": {"start": 19, "end": 23, "line": 12, "column": 9},
            "related": [],
        }
    ]


def test_sarif_has_rules_results_and_places():
    related = Diagnostic(
        "G021",
        "twice",
        Span(2, 3, 1, 3),
        Severity.WARNING,
        file="a b.gate",
        related=((Span(0, 1, 1, 1), "first"),),
    )
    log = json.loads(json.dumps(to_sarif([PAGE, related, PAGE])))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["G021", "G104"]
    assert [result["ruleIndex"] for result in run["results"]] == [1, 0, 1]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "error"]
    place = run["results"][1]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b.gate"
    assert place["region"] == {"startLine": 1, "startColumn": 3, "charOffset": 2, "charLength": 1}
    assert run["results"][1]["relatedLocations"][0]["message"]["text"] == "first"


def test_workflow_commands_are_escaped():
    evil = Diagnostic("G001", "100%\n::error::x", Span(0, 1, 3, 2), Severity.NOTE, file="a,b:c.gate")
    assert to_github([evil]) == "::notice file=a%2Cb%3Ac.gate,line=3,col=2,title=G001::100%25%0A::error::x\n"


def test_the_nearest_name_is_close_or_none():
    assert nearest("fro", ["from", "for"]) in ("from", "for")
    assert nearest("xyz", ["from"]) is None
    assert nearest("f" * 65, ["f" * 66]) is None


def test_every_code_is_explained_in_sentences():
    for code, page in CODES.items():
        assert len(code) == 4
        assert page.title[0].islower() or not page.title[0].isalpha()
        assert page.explanation.endswith(".")
