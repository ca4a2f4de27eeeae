"""Texts, numbers, days, names and selectors, as written and as they are."""

import pytest

from callgate.grammar.ast import STAR, Day, Literal, Pointer, Range, Text, Word
from callgate.grammar.parser import parse
from callgate.grammar.pointer import pointer_text, read_pointer


def words(_block: str | None) -> frozenset[str]:
    return frozenset()


def value(text: str) -> object:
    """The one atom of a statement."""
    parsed = parse(f"x {text}", words=words)
    assert parsed.diagnostics == ()
    ((atom,),) = parsed.file.statements[0].items
    return atom


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('""', ""),
        (r'"\"\\\/\b\f\n\r\t"', '"\\/\b\f\n\r\t'),
        (r'"\u00e9\u0000"', "é\x00"),
        (r'"\ud83d\ude00x"', "😀x"),
        ('"# no comment { } ; \'"', "# no comment { } ; '"),
        ("'\\d\\'", "\\d\\"),
        ("'a\tb'", "a\tb"),
        ("''", ""),
        ('"\u2028\u0085"', "\u2028\u0085"),
    ],
)
def test_a_text_is_what_its_quotes_say(written, meant):
    atom = value(written)
    assert atom == Text(meant)
    assert isinstance(atom, Text)
    assert atom.raw == written.startswith("'")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0", 0),
        ("-0", 0),
        ("-17", -17),
        ("12345678901234567890123", 12345678901234567890123),
        ("9" * 640, int("9" * 640)),
        ("1.0", 1.0),
        ("-1.5e3", -1500.0),
        ("1E+2", 100.0),
        ("0.1", 0.1),
        ("5e-324", 5e-324),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("true", True),
        ("false", False),
        ("null", None),
    ],
)
def test_a_number_or_word_of_json_keeps_its_value_and_type(written, meant):
    atom = value(written)
    assert isinstance(atom, Literal)
    assert (atom.value, type(atom.value)) == (meant, type(meant))


def test_json_values_keep_their_order_and_types():
    atom = value('{"b": [1, 1.0, true, null, "x"], "a": {"": {}}, "__proto__": -0.0}')
    assert isinstance(atom, Literal)
    assert repr(atom.value) == "{'b': [1, 1.0, True, None, 'x'], 'a': {'': {}}, '__proto__': -0.0}"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("0..100", (0, 100)), ("-3..-1", (-3, -1)), ("0.5..1.5", (0.5, 1.5)), ("1..1", (1, 1))],
)
def test_a_range_has_two_ends(written, meant):
    assert value(written) == Range(*meant)


def test_a_day_is_kept_as_written():
    assert value("2028-02-29") == Day("2028-02-29")


@pytest.mark.parametrize(
    "name", ["a", "_", "a-b", "context.role", "x1", "in-array", "common/kimi", "forty", "nota"]
)
def test_a_bare_name_is_a_word(name):
    assert value(name) == Word(name)


@pytest.mark.parametrize("name", ["for", "not", "true", "named", "after"])
def test_a_quoted_name_is_never_a_word_of_the_language(name):
    assert value(f'"{name}"') == Text(name)


@pytest.mark.parametrize(
    ("written", "segments"),
    [
        ("/a", ("a",)),
        ("/edits/*/oldText", ("edits", STAR, "oldText")),
        ("/*", (STAR,)),
        ('/"*"', ("*",)),
        ("/a*b", ("a*b",)),
        ("/0/00", ("0", "00")),
        ("/a~1b/~0/~01", ("a/b", "~", "~1")),
        ('/"my key"/x', ("my key", "x")),
        ('/"a/b"/"~1"/""', ("a/b", "~1", "")),
        (r'/"\"\u00e9"', ('"é',)),
        ("/größe/$ref/@id/a.b/-", ("größe", "$ref", "@id", "a.b", "-")),
    ],
)
def test_a_selector_has_unescaped_segments(written, segments):
    assert value(written) == Pointer(segments)
    assert value("." + written) == Pointer(segments, relative=True)


def test_a_quoted_selector_of_a_rule_stays_a_text():
    assert value('"/my key/x"') == Text("/my key/x")


@pytest.mark.parametrize(
    ("text", "segments"),
    [("", ()), ("/", ("",)), ("/a//b", ("a", "", "b")), ("/a~1b/~0", ("a/b", "~")), ("/*/x", (STAR, "x"))],
)
def test_pointers_are_read_and_written_as_rfc_6901_says(text, segments):
    assert read_pointer(text) == segments
    assert pointer_text(segments) == text


def test_an_index_is_written_into_a_pointer():
    assert pointer_text(("a", 0, STAR)) == "/a/0/*"


@pytest.mark.parametrize(
    ("text", "reason"), [("a", "begin with `/`"), ("/~", "`~0`"), ("/a~2", "`~0`"), ("#/a", "`/`")]
)
def test_what_is_no_pointer_is_refused_with_the_reason(text, reason):
    with pytest.raises(ValueError, match=reason):
        read_pointer(text)


def test_patterns_may_be_in_double_quotes_without_a_backslash_or_where_they_must():
    for written, meant in [
        ('"(?i)kimi"', "(?i)kimi"),
        (r"'\d'", r"\d"),
        (r'''"it's \\d"''', r"it's \d"),
        (r'"a\u000ab"', "a\nb"),
    ]:
        parsed = parse(f"family k matches {written}", words=words)
        assert parsed.diagnostics == ()
        assert parsed.file.statements[0].items[-1] == (Text(meant),)


def test_a_backslash_is_fine_in_a_text_that_is_no_pattern():
    assert parse(r'x matches /a, "\\d"', words=words).diagnostics == ()
    assert parse(r'deny "\\d" when /a == "\\d"', words=words).diagnostics == ()
