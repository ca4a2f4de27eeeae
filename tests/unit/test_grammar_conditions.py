"""The trees of conditions."""

import pytest

from callgate.grammar.ast import (
    After,
    And,
    Function,
    Item,
    Literal,
    Not,
    Or,
    Paren,
    Pointer,
    Presence,
    Quantified,
    Text,
    Truth,
    Word,
)
from callgate.grammar.ast import Test as Comparison
from callgate.grammar.parser import parse_condition

A, B, C = (Truth(Word(name)) for name in "abc")
X = Pointer(("x",))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("a and b", And((A, B))),
        ("a or b or c", Or((A, B, C))),
        ("a and b or c", Or((And((A, B)), C))),
        ("a or b and c", Or((A, And((B, C))))),
        ("not a and b", And((Not(A), B))),
        ("not not a", Not(Not(A))),
        ("not (a or b)", Not(Paren(Or((A, B))))),
        ("/x == 1", Comparison(X, "==", Literal(1))),
        ("not /x == 1", Not(Comparison(X, "==", Literal(1)))),
        ("/x not in [1, 2]", Comparison(X, "in", Literal([1, 2]), negated=True)),
        ('/x not under "/a"', Comparison(X, "under", Text("/a"), negated=True)),
        ('"a" contains /x', Comparison(Text("a"), "contains", X)),
        ("/x is null", Comparison(X, "is", Literal(None))),
        ("/x not is string", Comparison(X, "is", Word("string"), negated=True)),
        ("/x == {}", Comparison(X, "==", Literal({}))),
        ("tool == model", Comparison(Word("tool"), "==", Word("model"))),
        ("present /x", Presence(X, missing=False)),
        ("missing ./x", Presence(Pointer(("x",), relative=True), missing=True)),
        ("any /x == 1", Quantified(X, False, Comparison(Item(), "==", Literal(1)))),
        ("every /x not in [1]", Quantified(X, True, Comparison(Item(), "in", Literal([1]), negated=True))),
        ("any /x (a or b)", Quantified(X, False, Or((A, B)))),
        ("any /x ((a))", Quantified(X, False, Paren(A))),
        ("after bash", After(Word("bash"))),
        ('after "b*" in turn', After(Text("b*"), in_turn=True)),
        ('runs(/x, "pytest")', Truth(Function(Word("runs"), (X, Text("pytest"))))),
        ("count( /x )>2", Comparison(Function(Word("count"), (X,)), ">", Literal(2))),
        ("turn.calls(bash) < 3", Comparison(Function(Word("turn.calls"), (Word("bash"),)), "<", Literal(3))),
        ("f()", Truth(Function(Word("f"), ()))),
        ("matches matches 'x'", Comparison(Word("matches"), "matches", Text("x"))),
    ],
)
def test_a_condition_has_the_tree_that_it_says(text, tree):
    assert parse_condition(text) == tree


def test_line_ends_and_comments_do_not_matter_in_a_condition():
    assert parse_condition("a # one\n  and\nb") == And((A, B))


def test_spans_cover_what_was_written():
    text = "a and not count(/x) > 1 and any /x (./y == 2)"
    tree = parse_condition(text)
    assert isinstance(tree, And)
    covered = [text[part.span.start : part.span.end] for part in tree.parts]
    assert covered == ["a", "not count(/x) > 1", "any /x (./y == 2)"]
    assert text[tree.span.start : tree.span.end] == text
