"""What is wrong with a text: the code, the place and the fix of each mistake; and what is still read."""

import pytest

from callgate.grammar.codes import CODES
from callgate.grammar.diagnostics import Diagnostic, GrammarError, Severity
from callgate.grammar.mistakes import MOST
from callgate.grammar.parser import parse, parse_condition

BEGIN = frozenset({"tool", "alias", "deny", "let", "set", "call", "bound", "family", "structural"})


def words(_block: str | None) -> frozenset[str]:
    return BEGIN


def findings(text: str) -> tuple[Diagnostic, ...]:
    return parse(text, words=words).diagnostics


# The text, with the place of its only mistake between ⟦ and ⟧; the code; a part of the help.
ONE = [
    ("let x = ⟦@@⟧ 1", "G001", "quotes"),
    ("offer search_⟦*⟧", "G001", '"search_*"'),
    ("let x =⟦\u00a0⟧1", "G001", "plain blank"),
    ("alias /a⟦?⟧b", "G001", '/"a?…"'),
    ("let x = ⟦\x00⟧", "G002", "remove"),
    ("let x = 1 # a⟦\x07⟧b", "G002", "remove"),
    ("⟦\t⟧let x = 1", "G003", "two blanks"),
    ("tool t {\n  ⟦\t⟧alias /a\n}", "G003", "two blanks"),
    ('let x = ⟦"abc⟧', "G004", 'closing `"`'),
    ("let x = ⟦'abc⟧", "G004", "closing `'`"),
    ('alias /⟦"abc⟧', "G004", 'closing `"`'),
    ("tool t ⟦{⟧\n  alias /a", "G005", "`}`"),
    ("deny when ⟦(⟧a == 1", "G006", "`)`"),
    ("let x = ⟦[⟧1, 2", "G006", "`]`"),
    ('let x = ⟦{⟧"a": 1', "G006", "`}`"),
    ("let x = 1\n⟦}⟧", "G007", "remove"),
    ("deny when a⟦)⟧", "G007", "remove"),
    ("let x = [1, 2⟦)⟧", "G007", "`]`"),
    (r'let x = "a⟦\d⟧"', "G008", r"`\\`"),
    (r'let x = "⟦\udc00⟧"', "G008", "pairs"),
    (r'let x = ⟦"\ud800"⟧', "G008", "pairs"),
    (r'let x = ⟦"\ud800\u0041"⟧', "G008", "pairs"),
    ("set /a⟦:⟧b 1", "G001", '/"a:…"'),
    ('let x = "a⟦\x01⟧"', "G008", r"\u0001"),
    ('let x = "a⟦\t⟧b"', "G008", r"`\t`"),
    (r'family k matches ⟦"\d+"⟧', "G009", r"`'\d+'`"),
    (r'family k matches "a", ⟦"\\d+"⟧', "G009", r"`'\d+'`"),
    (r'deny when /a matches ⟦"\bx"⟧', "G009", r"`'\bx'`"),
    (r"""deny when /a not fullmatches ⟦"it's \d"⟧""", "G009", r"`'it\x27s \d'`"),
    ("let x = ⟦007⟧", "G010", "as in JSON"),
    ("let x = ⟦+1⟧", "G010", "as in JSON"),
    ("let x = ⟦.5⟧", "G010", "as in JSON"),
    ("tool ⟦7zip⟧", "G010", '"7zip"'),
    ("let x = ⟦1e999⟧", "G010", "1.8e308"),
    ("let x = ⟦0.1234567890123456789⟧", "G010", "0.12345678901234568"),
    ("let x = ⟦1e-999⟧", "G010", "0.0"),
    (f"let x = ⟦{'9' * 641}⟧", "G010", "640"),
    ("bound /a integer ⟦1..x⟧", "G010", ""),
    ("disable x until ⟦2026-02-30⟧", "G011", "YYYY-MM-DD"),
    ("set ⟦/⟧ 1", "G012", '`/""`'),
    ("set ⟦/a//b⟧ 1", "G012", '`/a/""/b`'),
    ("set ⟦/a/⟧ 1", "G012", '`/a/""`'),
    ("set ⟦../a⟧ 1", "G012", "`./`"),
    ("set /a/⟦b~2⟧ 1", "G012", "`b~02`"),
    ("alias /a from ⟦foo-⟧", "G013", '"foo-"'),
    ("alias /a from ⟦größe⟧", "G013", '"größe"'),
    ("alias /a from ⟦in⟧", "G014", '"in"'),
    ("alias /a from b, ⟦any⟧", "G014", '"any"'),
    ("alias /a from b, ⟦from⟧", "G014", '"from"'),
    ("alias /a named ⟦after⟧", "G014", '"after"'),
    ("deny when after ⟦true⟧", "G014", '"true"'),
    ('call {"a": 1, ⟦"a"⟧: 2}', "G015", "remove"),
    ('call {"b": {"a": 1, "c": 1, ⟦"c"⟧: 2}}', "G015", "remove"),
    ("call [⟦NaN⟧]", "G016", "finite"),
    ("call [⟦'a'⟧]", "G016", "double quotes"),
    ("call [1, ⟦]⟧", "G016", "comma"),
    ('call {"a": 1, ⟦}⟧', "G016", "comma"),
    ('call {"a" ⟦1⟧}', "G016", "`:`"),
    ('call {"a": ⟦True⟧}', "G016", "true"),
    ("deny when x in [⟦a⟧]", "G016", '"a"'),
    ('⟦"text"⟧', "G018", "begins with a word"),
    ("deny\n⟦when⟧ a", "G018", "deeper"),
    ("⟦/a⟧ b", "G018", "begins with a word"),
    ("let a = 1\n  ⟦deny⟧ when b", "G019", "same indentation"),
    ("tool t { alias /a } ⟦tool⟧ u", "G020", "`;`"),
    ("deny when a ⟦unless⟧ b", "G021", "one of them"),
    ("deny ⟦when⟧", "G022", "complete"),
    ("alias /a from b⟦,⟧", "G022", "complete"),
    ("deny when present ⟦5⟧", "G022", "selector"),
    ("deny for k ⟦foo⟧", "G022", "clauses stand before"),
    ("deny note ⟦foo⟧", "G022", '"foo"'),
    ("deny when after x in ⟦session⟧", "G022", "in turn"),
    ("deny when ⟦a and b or c⟧", "G031", "parentheses"),
    ('deny when /a ⟦startswith⟧ "x"', "G032", "`starts-with`"),
    ("deny when /a ⟦=>⟧ 1", "G032", "`>=`"),
    ("deny when /a ⟦=⟧ 1", "G032", "`==`"),
    ("deny when /a ⟦&&⟧ /b", "G032", "`and`"),
    ("deny when /a not ⟦==⟧ 1", "G032", "`!=`"),
    ("deny when /a ⟦resembles⟧ 1", "G032", "`in`"),
    ("deny when /path under ⟦/repo⟧", "G033", '"/repo"'),
    ("deny when any /a/* not under ⟦/repo⟧", "G033", '"/repo"'),
    ('deny when present ⟦"/a"⟧', "G034", "`/a`"),
    ('deny when any ⟦"/a"⟧ == 1', "G034", "`/a`"),
]


@pytest.mark.parametrize(("marked", "code", "fix"), ONE)
def test_a_mistake_has_its_code_its_place_and_its_fix(marked, code, fix):
    begin, end = marked.index("⟦"), marked.index("⟧") - 1
    text = marked.replace("⟦", "").replace("⟧", "")
    (finding,) = findings(text)
    assert finding.code == code
    assert text[finding.span.start : finding.span.end] == text[begin:end]
    assert fix in finding.help


def test_every_mistake_of_the_table_is_explained():
    assert {code for _, code, _ in ONE} <= set(CODES)


def test_every_finding_of_one_file_is_reported_in_one_run_and_the_rest_is_read():
    text = """\
tool t {
  alias /a//b from x
  alias /ok from y
  deny when /a startswith "x"
  structural "s" {
    set / 1
    set /b 2
  }
}
let y = "
let z = 1
"""
    parsed = parse(text, words=words)
    assert [(finding.code, finding.span.line) for finding in parsed.diagnostics] == [
        ("G012", 2),
        ("G032", 4),
        ("G012", 6),
        ("G004", 10),
    ]
    tool, let = parsed.file.statements
    assert tool.block is not None
    assert [statement.word.text for statement in tool.block] == ["alias", "structural"]
    assert tool.block[1].block is not None
    assert len(tool.block[1].block) == 1
    assert let.items[0][0].text == "z"


def test_mistakes_in_the_block_of_a_bad_statement_are_reported_too():
    assert [finding.code for finding in findings("tool @ {\n  alias /a/\n}")] == ["G001", "G012"]


def test_the_indentation_tells_which_block_is_not_closed():
    text = "tool a {\n  structural b {\n    set /a 1\n  alias /c\n}\ntool d {\n  alias /e\n}\n"
    (finding,) = findings(text)
    assert (finding.code, finding.span.line) == ("G005", 2)
    text = "tool a {\n  alias /c\n\ntool d {\n  alias /e\n}\n"
    parsed = parse(text, words=words)
    assert [(finding.code, finding.span.line) for finding in parsed.diagnostics] == [("G005", 1)]
    assert [statement.items[0][0].text for statement in parsed.file.statements] == ["d"]


def test_an_open_bracket_costs_only_its_statement():
    for bad in ("deny when (a == 1", "let x = [1,", 'call {"a": [1', 'call {"a": 1'):
        parsed = parse(f"{bad}\ntool t {{\n  alias /a\n}}\n", words=words)
        assert {finding.code for finding in parsed.diagnostics} == {"G006"}
        assert [statement.word.text for statement in parsed.file.statements] == ["tool"]


def test_a_wrong_bracket_shows_what_it_should_have_closed():
    (finding,) = findings("let x = [1)")
    ((opening, _),) = finding.related
    assert (opening.start, opening.end) == (8, 9)


def test_warnings_leave_the_statement_standing():
    parsed = parse("deny when a and b or c", words=words)
    assert [finding.severity for finding in parsed.diagnostics] == [Severity.WARNING]
    assert len(parsed.file.statements) == 1


def test_parentheses_silence_the_warning_about_and_and_or():
    assert findings("deny when (a and b) or c") == ()
    assert findings("deny when not a and b") == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("deny when " + "(" * 65 + "a" + ")" * 65, "G017"),
        ("deny when " + "not " * 65 + "a", "G017"),
        ("deny when " + "any /x (" * 65 + "a" + ")" * 65, "G017"),
        ("let x = " + "[" * 65 + "]" * 65, "G017"),
        ("let x = " + '{"a": ' * 65 + "1" + "}" * 65, "G017"),
        ("a { " * 65 + "b" + " }" * 65, "G017"),
    ],
)
def test_nesting_deeper_than_64_levels_is_an_error(text, code):
    assert [finding.code for finding in findings(text)] == [code]


@pytest.mark.parametrize(
    "text",
    [
        "deny when " + "(" * 64 + "a" + ")" * 64,
        "deny when " + "not " * 64 + "a",
        "let x = " + "[" * 64 + "]" * 64,
        "a { " * 64 + "b" + " }" * 64,
    ],
)
def test_nesting_of_64_levels_is_fine(text):
    assert findings(text) == ()


@pytest.mark.parametrize(
    ("piece", "levels"),
    [
        ("(", 100_000),
        ("[", 100_000),
        ("not ", 100_000),
        ('{"a":', 20_000),
        ("a {", 20_000),
        ("any /x (", 20_000),
    ],
)
def test_nesting_of_100_000_levels_is_refused_without_recursion(piece, levels):
    assert findings("deny when " + piece * levels)


def test_a_condition_by_itself_is_read_or_refused_with_its_diagnostics():
    with pytest.raises(GrammarError) as caught:
        parse_condition("/a startswith 1")
    assert [finding.code for finding in caught.value.diagnostics] == ["G032"]
    with pytest.raises(GrammarError):
        parse_condition("a; b")
    with pytest.raises(GrammarError):
        parse_condition("")
    with pytest.raises(GrammarError):
        parse_condition("not " * 100_000 + "a")


def test_at_most_100_findings_are_reported_and_the_last_one_counts_the_rest():
    found = findings("let x = @\n" * 250)
    assert len(found) == MOST + 1
    assert [finding.span.line for finding in found[:MOST]] == list(range(1, MOST + 1))
    assert found[-1].message == "150 more findings are not shown"
    assert found[-1].severity is Severity.ERROR


def test_what_is_not_shown_is_no_error_where_only_warnings_are_left():
    found = findings("deny when a and b or c\n" * 150)
    assert found[-1].severity is Severity.WARNING


def test_an_error_among_what_is_not_shown_makes_the_last_finding_an_error():
    found = findings("deny when a and b or c\n" * 150 + "let x = @\n")
    assert {finding.severity for finding in found[:-1]} == {Severity.WARNING}
    assert found[-1].severity is Severity.ERROR


def test_findings_name_the_file():
    (finding,) = parse("let x = @", words=words, file="rules/x.gate").diagnostics
    assert finding.file == "rules/x.gate"
