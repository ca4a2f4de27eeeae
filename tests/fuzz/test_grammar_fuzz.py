"""No text breaks the parser, and what it accepts is printed faithfully."""

import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callgate.grammar.diagnostics import (
    Diagnostic,
    GrammarError,
    Severity,
    render_text,
    to_github,
    to_json,
    to_sarif,
)
from callgate.grammar.mistakes import MOST
from callgate.grammar.parser import parse, parse_condition
from callgate.grammar.printer import print_condition, print_file

MARKS = '( ) [ ] { } , ; : # = == != < <= > >= / // /a /a/*/b ./x ../x /"k y"/z /a~1b /~ @ * $ \\ ` ? !'
RESERVED = "for when unless note named from and or not in any every present missing after true false null"
NAMES = "tool alias deny shadow a b-c foo- x.y matches fullmatches under is contains starts-with turn"
NUMBERS = "0 1 -1 007 1e5 1e999 0..5 5..x 2026-12-31 2026-02-30 .5 +1 1.0"
TEXTS = r"""
"a" 'a' " ' "\d" '\d' "\\d" "\ud800" "" "a\tb" {"a":1} {} {"
"""
BLANKS = (
    "\n",
    "\n",
    "\n  ",
    "\n    ",
    "\n\t",
    "\r\n",
    "\r",
    "\n\n",
    "# c\n",
    " ",
    "\x00",
    "\xa0",
    "é",
    "\ufeff",
)
PIECES = (*" ".join((MARKS, RESERVED, NAMES, NUMBERS, TEXTS)).split(), *BLANKS)
BEGIN = frozenset({"tool", "alias", "deny", "a"})
SOUP = st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join)
TIGHT = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
ANY = st.text(max_size=60)  # lone surrogates too
LAX = settings(deadline=None, suppress_health_check=list(HealthCheck))


def words(_block: str | None) -> frozenset[str]:
    return BEGIN


def errors(diagnostics: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    return [finding for finding in diagnostics if finding.severity is Severity.ERROR]


def look(text: str) -> None:
    """Everything that must hold of the reading of any text."""
    parsed = parse(text, words=words, file="f")
    for finding in parsed.diagnostics:
        assert 0 <= finding.span.start <= finding.span.end <= len(text)
        body = text.removeprefix("\ufeff")
        shift = len(text) - len(body)
        begin = finding.span.start - shift
        assert finding.span.line == body.count("\n", 0, begin) + 1
        assert finding.span.column == begin - (body.rfind("\n", 0, begin) + 1) + 1
        assert finding.message[0] not in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        assert not finding.message.endswith(".")
        assert finding.help
    assert list(parsed.diagnostics) == sorted(parsed.diagnostics, key=lambda finding: finding.span.start)
    assert render_text(parsed.diagnostics, {"f": text}).count("-->") == len(parsed.diagnostics)
    assert len(to_json(parsed.diagnostics)) == len(parsed.diagnostics)
    assert to_github(parsed.diagnostics).count("\n") == len(parsed.diagnostics)
    assert len(to_sarif(parsed.diagnostics)["runs"][0]["results"]) == len(parsed.diagnostics)
    printed = print_file(parsed.file)
    if errors(parsed.diagnostics):
        return
    again = parse(printed, words=words, file="f")
    assert not errors(again.diagnostics), printed
    assert again.file == parsed.file
    assert print_file(again.file) == printed


@LAX
@given(SOUP)
def test_a_soup_of_words_is_read_and_what_stands_is_printed_faithfully(text):
    look(text)


@LAX
@given(TIGHT)
def test_a_soup_without_blanks_is_read_and_what_stands_is_printed_faithfully(text):
    look(text)


@LAX
@given(ANY)
def test_any_text_is_read(text):
    look(text)


@LAX
@given(SOUP)
def test_any_condition_is_read_or_refused_with_diagnostics(text):
    try:
        condition = parse_condition(text)
    except GrammarError as error:
        found = error.diagnostics
    else:
        found = ()
        assert parse_condition(print_condition(condition)) == condition
    assert all(finding.help for finding in found)


GOOD = """\
tool edit {
  alias /path from file_path, filePath accepting string # why
  deny "no" unless /path under "/repo" and (not any /a/* == 1 or after x in turn) note "n"
  # closing
}
"""


@LAX
@given(st.lists(st.tuples(st.integers(0, len(GOOD)), st.sampled_from(PIECES)), max_size=3))
def test_a_good_file_with_a_few_edits_is_read(edits):
    text = GOOD
    for at, piece in edits:
        text = text[:at] + piece + text[at + 1 :]
    look(text)


def test_no_piece_of_the_language_repeated_many_times_breaks_anything():
    for piece in PIECES:
        for between in ("", " ", "\n"):
            look((piece + between) * 300)


GARBAGE = ('"', "{", "(", "[", "/", "\t", "a when ", "not ", "a {\n", '{"a":', "\ta\n", "a;", "}", "'x", "\\")


@pytest.mark.parametrize("piece", GARBAGE)
def test_the_time_for_garbage_grows_linearly(piece):
    def seconds(size: int) -> float:
        text = "x when " + piece * (size // len(piece))
        begin = time.process_time()
        parsed = parse(text, words=words)
        assert len(parsed.diagnostics) <= MOST + 1
        return time.process_time() - begin

    small = max(seconds(5_000), 0.01)
    # Ten times the text; quadratic would be a hundred times. On a busy machine one look may be slow.
    assert any(seconds(50_000) < 40 * small for _ in range(3))


def test_random_bytes_read_as_latin_1_are_read():
    dice = random.Random(7)
    for _ in range(200):
        look(dice.randbytes(80).decode("latin-1"))
