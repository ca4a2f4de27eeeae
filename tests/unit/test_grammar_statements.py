"""Statements: their shape, where they end, their blocks, their comments."""

import pytest

from callgate.grammar.ast import STAR, Day, Literal, Pointer, Range, Statement, Text, Word
from callgate.grammar.parser import parse

BLOCKS = {
    None: frozenset({"pack", "tool", "family", "deny", "policy", "let", "preset"}),
    "tool": frozenset({"alias", "scalar", "deny", "structural", "bound", "test", "schema"}),
    "structural": frozenset({"move", "set"}),
    "test": frozenset({"call", "expect"}),
}


def words(block: str | None) -> frozenset[str]:
    return BLOCKS.get(block, frozenset())


def read(text: str) -> tuple[Statement, ...]:
    parsed = parse(text, words=words)
    assert parsed.diagnostics == ()
    return parsed.file.statements


def one(text: str) -> Statement:
    (statement,) = read(text)
    return statement


def codes(text: str) -> list[str]:
    return [finding.code for finding in parse(text, words=words).diagnostics]


def test_groups_are_atoms_joined_by_commas():
    assert one("alias /path from a, b accepting string").items == (
        (Pointer(("path",)),),
        (Word("from"),),
        (Word("a"), Word("b")),
        (Word("accepting"),),
        (Word("string"),),
    )


def test_every_sort_of_atom_is_read():
    text = """x name pack/name "text" 'raw' 5 -1.5 true null 0..100 2026-12-31 /a/*/b ./c
        [1, "a"] {"a": {}} ="""
    assert [group[0] for group in one(text).items] == [
        Word("name"),
        Word("pack/name"),
        Text("text"),
        Text("raw"),
        Literal(5),
        Literal(-1.5),
        Literal(True),
        Literal(None),
        Range(0, 100),
        Day("2026-12-31"),
        Pointer(("a", STAR, "b")),
        Pointer(("c",), relative=True),
        Literal([1, "a"]),
        Literal({"a": {}}),
        Word("="),
    ]


def test_suffixes_are_read_in_any_order_and_around_the_block():
    suffixes = ["for kimi, '(?i)glm'", 'when tool == "a"', 'note "n"', "named x", "{ move /a to /b }"]
    for turn in range(len(suffixes)):
        turned = suffixes[turn:] + suffixes[:turn]
        statement = one('structural "id" ""\n  ' + " ".join(turned))
        assert statement.families == (Word("kimi"), Text("(?i)glm"))
        assert statement.condition is not None
        assert not statement.unless
        assert statement.note == Text("n")
        assert statement.name == Word("x")
        assert statement.block is not None
        assert statement.block[0].word == Word("move")


def test_unless_is_marked():
    assert one("deny unless /a == 1").unless


def test_shadow_before_a_kind_is_marked_and_elsewhere_is_a_name():
    statement = one('shadow deny "x"')
    assert statement.shadow
    assert statement.word == Word("deny")
    assert one("tool shadow").items == ((Word("shadow"),),)
    assert not one("tool shadow").shadow


def test_shadow_alone_is_an_error():
    assert codes("shadow") == ["G022"]


@pytest.mark.parametrize(
    "text",
    [
        'deny "x" for a for b',
        "deny when a unless b",
        'deny note "a" note "b"',
        "deny named a named b",
        "deny when a {} {}",
    ],
)
def test_a_suffix_written_twice_is_an_error_that_shows_the_first(text):
    (finding,) = parse(text, words=words).diagnostics
    assert finding.code == "G021"
    ((first, _),) = finding.related
    assert first.start < finding.span.start


def test_a_statement_ends_at_its_line_at_a_semicolon_and_at_the_brace():
    statements = read("let a = 1; let b = 2\nlet c = 3\ntool t { alias /a; alias /b }")
    assert [statement.word.text for statement in statements] == ["let", "let", "let", "tool"]
    assert statements[3].block is not None
    assert len(statements[3].block) == 2


def test_a_statement_goes_on_after_a_comma_inside_brackets_and_on_deeper_lines():
    assert len(read("alias /a from b,\nc")) == 1
    assert len(read("deny when (\n/a == 1\nor /b == 2\n)")) == 1
    assert len(read('let x = [\n1,\n2\n]\nlet y = {\n"a": 1\n}')) == 2
    assert len(read("deny\n  when /a == 1\n\n  # why\n  note 'x'")) == 1


def test_a_deeper_line_that_begins_with_a_statement_word_starts_a_statement_with_a_warning():
    parsed = parse("let a = 1\n  deny when b\n    foo", words=words)
    assert [statement.word.text for statement in parsed.file.statements] == ["let"]
    assert [finding.code for finding in parsed.diagnostics] == ["G019", "G022"]
    finding = parsed.diagnostics[0]
    assert finding.severity.value == "warning"
    assert (finding.span.line, finding.span.column) == (2, 3)


def test_a_deeper_line_with_shadow_before_a_statement_word_starts_a_statement():
    parsed = parse("let a = 1\n  shadow deny when b", words=words)
    assert [statement.shadow for statement in parsed.file.statements] == [False, True]


def test_the_words_of_the_enclosing_block_count():
    parsed = parse("tool t {\n  alias /a from b\n    call c\n}", words=words)
    assert parsed.diagnostics == ()  # `call` begins a statement in a test, not in a tool
    (tool,) = parsed.file.statements
    assert tool.block is not None
    assert tool.block[0].items[-2:] == ((Word("call"),), (Word("c"),))


def test_windows_line_ends_and_a_byte_order_mark_are_fine():
    statements = read("\ufefftool t {\r\n  alias /a # c\r\n}\r\n")
    assert statements == read("tool t {\n  alias /a # c\n}\n")


def test_spans_count_the_byte_order_mark_and_columns_do_not():
    (finding,) = parse("\ufefflet x = @", words=words).diagnostics
    assert (finding.span.start, finding.span.column) == (9, 9)


def test_an_empty_pair_of_braces_is_a_literal_in_the_last_group():
    for text in ("tool t {}", "tool t { }", "tool t {\n}", "tool t {\n  # nothing\n}"):
        statement = one(text)
        assert statement.items == ((Word("t"),), (Literal({}),))
        assert statement.block is None
    assert one("palette x when c {}").items == ((Word("x"),), (Literal({}),))


def test_braces_open_a_json_value_where_a_string_follows_and_else_a_block():
    assert one('call {"a": 1}').block is None
    assert one('call {\n  # c\n  "a": 1\n}').items == ((Literal({"a": 1}),),)
    assert one("preset x { cap 5 }").block is not None


def test_suffixes_may_follow_the_brace_of_the_block():
    statement = one('structural "x" "" {\n  move /a to /b\n} note "n" named y')
    assert (statement.note, statement.name) == (Text("n"), Word("y"))


def test_a_statement_after_a_block_on_its_line_is_an_error_and_is_read():
    parsed = parse("tool t { alias /a } tool u { alias /b }", words=words)
    assert [finding.code for finding in parsed.diagnostics] == ["G020"]
    assert len(parsed.file.statements) == 2


def test_the_span_of_a_statement_is_from_its_first_to_its_last_character():
    text = "let a = 1\ntool t {\n  alias /a\n} note 'x' # c\n"
    statement = read(text)[1]
    assert text[statement.span.start : statement.span.end] == "tool t {\n  alias /a\n} note 'x'"
    assert (statement.span.line, statement.span.column) == (2, 1)


# Comments


def test_comments_stand_above_beside_and_at_the_end():
    text = """\
# one

# two
tool t { # beside
  alias /a # there
  # closing
}
# last
"""
    file = parse(text, words=words).file
    (tool,) = file.statements
    assert tool.comments == ("one", "two")
    assert tool.blanks == {1}
    assert tool.trailing == "beside"
    assert tool.closing == ("closing",)
    assert tool.block is not None
    assert tool.block[0].trailing == "there"
    assert file.comments == ("last",)


def test_a_comment_loses_its_mark_and_one_blank():
    assert one("#a\n#  b\n#\n#c  \nlet x = 1").comments == ("a", " b", "", "c")


@pytest.mark.parametrize(
    "text",
    [
        "let x =\n  # why\n  1",
        'let x = {\n  "a": 1 # why\n}',
        "tool t {\n  alias /a\n} # why",
        "tool t {\n  alias /a\n}\n  # why\n  note 'x'",
        "deny when (a\n  # why\n  or b)",
        "tool t\n  for k { # why\n  alias /a\n}",
        "tool t {\n  # why\n}",
    ],
)
def test_a_comment_inside_a_statement_moves_above_it(text):
    assert one(text).comments == ("why",)


def test_the_comment_of_a_line_belongs_to_the_last_statement_that_ends_there():
    first, second = read("let a = 1; let b = 2 # c")
    assert (first.trailing, second.trailing) == (None, "c")
    assert one("tool t { alias /a } # c").trailing == "c"
    assert read("let a = 1; # c\nlet b = 2")[0].trailing == "c"
