"""Printing and parsing are each other's inverse, on trees of every shape."""

import json

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callgate.grammar.ast import (
    STAR,
    After,
    And,
    Day,
    File,
    Function,
    Item,
    Literal,
    Node,
    Not,
    Or,
    Paren,
    Pointer,
    Presence,
    Quantified,
    Range,
    Statement,
    Text,
    Truth,
    Word,
)
from callgate.grammar.ast import Test as Comparison
from callgate.grammar.mistakes import OPERATORS
from callgate.grammar.parser import parse, parse_condition
from callgate.grammar.pointer import pointer_text, read_pointer
from callgate.grammar.printer import print_condition, print_file, print_pointer, print_statement
from callgate.grammar.values import RESERVED

BEGIN = frozenset({"alias", "tool", "deny", "a", "b"})


def words(_block: str | None) -> frozenset[str]:
    return BEGIN


def plain(node: object) -> object:
    """A tree without spans and comments' places, in which `1`, `1.0` and `True` differ."""
    if isinstance(node, tuple):
        return [plain(part) for part in node]
    if isinstance(node, Literal | Range):
        return repr(msgspec.structs.replace(node, span=Pointer(()).span))
    if isinstance(node, Node):
        names = [name for name in node.__struct_fields__ if name not in ("span", "raw", "blanks")]
        return [type(node).__name__, *(plain(getattr(node, name)) for name in names)]
    return node


CHARS = st.characters(codec="utf-8")
TEXTS = st.text(CHARS, max_size=12) | st.text("ab'\"\\\n\t#{}\x00\x7f ", max_size=8)
NAMES = st.one_of(
    st.sampled_from(["a", "b", "tool", "matches", "fullmatches", "under", "turn", "context.role", "pack/x"]),
    st.from_regex(r"[A-Za-z_]([A-Za-z0-9_.-]{0,6}[A-Za-z0-9_])?", fullmatch=True),
).filter(lambda name: name not in RESERVED)
NUMBERS = st.integers() | st.integers(-(10**639), 10**639) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
SEGMENTS = st.lists(
    st.just(STAR) | st.from_regex(r"[\w$.@*~-]{0,6}", fullmatch=True) | TEXTS, min_size=1, max_size=4
)
POINTERS = st.builds(Pointer, SEGMENTS.map(tuple), st.booleans())
WORDS = st.builds(Word, NAMES)
QUOTED = st.builds(Text, TEXTS, st.booleans())
LITERALS = st.builds(Literal, JSON.filter(lambda value: not isinstance(value, str)))
DAYS = st.builds(lambda day: Day(day.isoformat()), st.dates())
RANGES = st.builds(Range, NUMBERS, NUMBERS)
ATOMS = st.one_of(WORDS, QUOTED, LITERALS, DAYS, RANGES, POINTERS, st.sampled_from([Word("=")]))
NAME_OR_TEXT = WORDS | QUOTED
ARGUMENTS = st.one_of(POINTERS, QUOTED, LITERALS, WORDS)
FUNCTIONS = st.builds(Function, WORDS, st.lists(ARGUMENTS, max_size=3).map(tuple))
TERMS = ARGUMENTS | FUNCTIONS


@st.composite
def comparisons(draw, left=TERMS):
    operator = draw(st.sampled_from(sorted(OPERATORS)))
    right = TERMS.filter(lambda term: not isinstance(term, Pointer)) if operator == "under" else TERMS
    return Comparison(draw(left), operator, draw(right), operator[0].isalpha() and draw(st.booleans()))


SIMPLE = st.one_of(
    comparisons(),
    st.builds(Presence, POINTERS, st.booleans()),
    st.builds(Quantified, POINTERS, st.booleans(), comparisons(left=st.just(Item()))),
    st.builds(After, NAME_OR_TEXT, st.booleans()),
    st.builds(Truth, TERMS),
)


def deeper(inner):
    tests = SIMPLE | st.builds(Paren, inner) | st.builds(Quantified, POINTERS, st.booleans(), inner)
    negations = tests | st.builds(Not, tests) | st.builds(Not, st.builds(Not, tests))
    conjunctions = negations | st.builds(And, st.lists(negations, min_size=2, max_size=3).map(tuple))
    return conjunctions | st.builds(Or, st.lists(conjunctions, min_size=2, max_size=3).map(tuple))


CONDITIONS = st.recursive(SIMPLE, deeper, max_leaves=6)
COMMENTS = st.text(CHARS.filter(lambda char: char.isprintable()), max_size=10).map(str.rstrip) | st.just("")
NOTHING = st.none()
GROUP = st.lists(ATOMS, min_size=1, max_size=3).map(tuple) | st.just((Word("from"),))
GROUPS = st.lists(GROUP, max_size=4).map(tuple)


@st.composite
def statements(draw, block=NOTHING):
    condition = draw(st.none() | CONDITIONS)
    inner = draw(block)
    comments = tuple(draw(st.lists(COMMENTS, max_size=2)))
    return Statement(
        draw(WORDS.filter(lambda word: word.text != "shadow")),
        draw(GROUPS),
        shadow=draw(st.booleans()),
        families=draw(st.none() | st.lists(NAME_OR_TEXT, min_size=1, max_size=3).map(tuple)),
        condition=condition,
        unless=condition is not None and draw(st.booleans()),
        note=draw(st.none() | QUOTED),
        name=draw(st.none() | NAME_OR_TEXT),
        block=inner,
        comments=comments,
        trailing=draw(st.none() | COMMENTS),
        closing=() if inner is None else tuple(draw(st.lists(COMMENTS, max_size=2))),
        blanks=frozenset(draw(st.lists(st.integers(0, len(comments)), max_size=2))),
    )


STATEMENTS = st.recursive(
    statements(),
    lambda inner: statements(st.none() | st.lists(inner, min_size=1, max_size=3).map(tuple)),
    max_leaves=5,
)
FILES = st.builds(
    File, st.lists(STATEMENTS, max_size=4).map(tuple), st.lists(COMMENTS, max_size=2).map(tuple)
)
LAX = settings(deadline=None, suppress_health_check=list(HealthCheck))


@LAX
@given(FILES)
def test_printing_a_tree_and_parsing_it_gives_the_tree(file):
    text = print_file(file)
    parsed = parse(text, words=words)
    assert not [finding for finding in parsed.diagnostics if finding.severity.value == "error"], text
    assert plain(parsed.file) == plain(file)
    assert parsed.file == file


@LAX
@given(FILES)
def test_printing_what_was_printed_changes_nothing(file):
    text = print_file(file)
    assert print_file(parse(text, words=words).file) == text


@LAX
@given(CONDITIONS)
def test_printing_a_condition_and_parsing_it_gives_the_condition(condition):
    assert plain(parse_condition(print_condition(condition))) == plain(condition)


@LAX
@given(STATEMENTS)
def test_one_statement_is_printed_without_comments_and_parses_to_itself(statement):
    text = print_statement(statement)
    (read,) = parse(text, words=words).file.statements
    assert print_statement(read) == text
    assert not read.comments
    assert read.trailing is None


@LAX
@given(JSON)
def test_a_json_value_is_printed_as_json(value):
    text = print_statement(Statement(Word("let"), ((Literal(value),),)))
    assert json.loads(text.removeprefix("let ")) == value


@LAX
@given(POINTERS)
def test_a_selector_is_read_back_from_a_rule(pointer):
    read = parse_condition("present " + print_pointer(pointer))
    assert read == Presence(pointer, missing=False)


@given(st.lists(st.just(STAR) | TEXTS.filter(lambda text: text != "*"), max_size=5).map(tuple))
def test_pointer_text_is_read_back(segments):
    assert read_pointer(pointer_text(segments)) == segments
