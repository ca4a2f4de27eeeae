"""The canonical text of trees."""

import pytest

from callgate.grammar.ast import STAR, And, File, Literal, Not, Paren, Pointer, Statement, Text, Truth, Word
from callgate.grammar.parser import parse, parse_condition
from callgate.grammar.printer import print_condition, print_file, print_pointer, print_statement

BEGIN = frozenset({"tool", "alias", "deny", "let", "set", "call", "preset", "structural"})


def words(_block: str | None) -> frozenset[str]:
    return BEGIN


def formatted(text: str) -> str:
    """The canonical text, after a look that it is canonical and says the same."""
    parsed = parse(text, words=words)
    assert parsed.diagnostics == ()
    printed = print_file(parsed.file)
    again = parse(printed, words=words)
    assert again.diagnostics == ()
    assert again.file == parsed.file
    assert print_file(again.file) == printed
    return printed


def test_blocks_are_indented_by_two_and_suffixes_stand_in_one_order():
    text = 'structural "a" "" note "n" { set /a 1; set /b 2 }   when   x named y for k'
    assert formatted(text) == 'structural "a" "" for k when x {\n  set /a 1\n  set /b 2\n} note "n" named y\n'


def test_one_blank_stands_between_words_and_none_inside_functions():
    assert formatted('deny   "x"  when count( /a )>1 and runs(/b ,"c")') == (
        'deny "x" when count(/a) > 1 and runs(/b, "c")\n'
    )


def test_an_empty_line_is_kept_once_and_blocks_at_the_top_stand_apart():
    text = (
        "\n\nlet a = 1\nlet b = 2\n\n\n\nlet c = 3\ntool t { alias /a; alias /b\n\n\nalias /c }\nlet d = 4\n"
    )
    assert formatted(text) == (
        "let a = 1\nlet b = 2\n\nlet c = 3\n\n"
        "tool t {\n  alias /a\n  alias /b\n\n  alias /c\n}\n\nlet d = 4\n"
    )


def test_comments_are_kept():
    text = "# licence\n\n# about\ntool t { # beside\n  # one\n  alias /a # there\n  # closing\n}\n\n# last\n"
    assert formatted(text) == text.replace("{ # beside", "{  # beside").replace("/a # there", "/a  # there")


def test_comments_inside_a_statement_are_printed_above_it():
    assert formatted("alias /a from b,\n  # why\n  c # end\n") == "# why\n# end\nalias /a from b, c\n"


def test_a_long_statement_is_broken_after_commas_and_before_suffixes():
    names = ", ".join(f"some_longer_name_{number}" for number in range(8))
    text = formatted(
        f'tool t {{\n  alias /path from {names} accepting string when tool == "edit" note "why"  # c\n}}'
    )
    lines = text.splitlines()
    assert len(lines) > 3
    assert all(len(line) <= 110 for line in lines)
    assert lines[1].endswith(",  # c")
    assert all(line.startswith("      ") for line in lines[2:-1])


def test_a_long_condition_is_broken_before_and_and_or():
    tests = " and ".join(f'/some/longer/place/{number} == "value"' for number in range(6))
    lines = formatted(f"deny when {tests}").splitlines()
    assert all(len(line) <= 110 for line in lines)
    assert lines[1].startswith("    and ")


def test_a_long_json_value_gets_a_line_for_each_member():
    members = ", ".join(f'"some_longer_key_{number}": {{"type": "string"}}' for number in range(4))
    text = formatted(f"tool t {{\n  call {{{members}}} # c\n}}")
    assert text.splitlines()[1:4] == [
        "  call {  # c",
        '    "some_longer_key_0": {"type": "string"},',
        '    "some_longer_key_1": {"type": "string"},',
    ]
    assert text.splitlines()[-2] == "  }"


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("'raw'", "'raw'"),
        (r"'\d'", r"'\d'"),
        ('"it\'s"', '"it\'s"'),
        (r'"\u0041\n\u0007"', r'"A\n\u0007"'),
        ('"é\u2028"', '"é\u2028"'),
        ("1e2", "100.0"),
        ("-0", "0"),
        ("1E400", None),
        ('{"a":[1,{}],"b":{}}', '{"a": [1, {}], "b": {}}'),
        ('/"a"/"b c"', '/a/"b c"'),
        ('/"a/b"/"*"', '/a~1b/"*"'),
    ],
)
def test_values_are_printed_in_one_way(written, printed):
    if printed is None:
        assert parse(f"x {written}", words=words).diagnostics
        return
    assert formatted(f"x {written}") == f"x {printed}\n"


def test_a_pattern_with_a_backslash_is_printed_raw_where_it_can_be():
    def pattern(text: str) -> str:
        return print_statement(Statement(Word("family"), ((Word("k"),), (Word("matches"),), (Text(text),))))

    assert pattern(r"\d") == r"family k matches '\d'"
    assert pattern("a") == 'family k matches "a"'
    assert pattern('say "x"') == "family k matches 'say \"x\"'"
    assert pattern(r"it's \d") == r'''family k matches "it's \\d"'''
    assert pattern("a\nb") == r'family k matches "a\u000ab"'
    assert print_condition(parse_condition(r"/a matches '\d'")) == r"/a matches '\d'"


def test_a_statement_alone_is_printed_with_its_block_and_without_comments():
    statement = parse("# c\ntool t { # d\n  alias /a # e\n\n  # f\n}", words=words).file.statements[0]
    assert print_statement(statement) == "tool t {\n  alias /a\n}"


def test_an_empty_file_is_printed_as_nothing_and_comments_alone_as_themselves():
    assert print_file(File(())) == ""
    assert formatted("# only\n") == "# only\n"


def test_the_root_is_printed_as_an_empty_text():
    assert print_pointer(Pointer(())) == '""'
    assert print_pointer(Pointer(("a", STAR, "*", ""))) == '/a/*/"*"/""'
    assert print_pointer(Pointer(("a b",), relative=True)) == './"a b"'


def test_trees_nested_100_000_deep_are_printed_without_recursion():
    value: object = 1
    condition = Truth(Word("a"))
    for _ in range(50_000):
        value = [{"k": value}]
        condition = Not(Paren(condition))
    statement = Statement(Word("let"), ((Literal(value),),), condition=And((condition, condition)))
    text = print_statement(statement)
    assert text.count("[") == 50_000
    assert text.count("not (") == 100_000
    nested = Statement(Word("a"))
    for _ in range(2_000):
        nested = Statement(Word("a"), block=(nested,))
    assert print_statement(nested).count("{") == 2_000
