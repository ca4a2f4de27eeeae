"""Everything that can be wrong with the text of a rule file: one function per mistake."""

from __future__ import annotations

from heapq import heappush, heappushpop
from unicodedata import category, name

from msgspec.structs import replace

from .diagnostics import Diagnostic, Severity, nearest
from .span import Span

MOST = 100  # diagnostics that one file gets
DEEPEST = 64  # levels of blocks, of JSON values, of conditions
MOST_DIGITS = 640  # of an integer: what every Python prints whatever its process limit

OPERATORS = frozenset(
    {"==", "!=", "<", "<=", ">", ">=", "in", "is", "matches", "fullmatches"}
    | {"under", "starts-with", "ends-with", "contains"}
)
_SYMBOLS = {"=": "==", "===": "==", "!==": "!=", "<>": "!=", "=<": "<=", "=>": ">=", "~": "matches"} | {
    "=~": "matches",
    "&&": "and",
    "&": "and",
    "||": "or",
    "|": "or",
    "!": "not",
}
_KNOWN = "`==` `!=` `<` `<=` `>` `>=` `in` `is` `matches` `fullmatches` `under` `starts-with` `contains` …"


class Mistakes:
    """Collects diagnostics of one file: keeps the first `MOST` by place, counts the rest."""

    def __init__(self, file: str, shift: int = 0) -> None:
        self._file = file
        self._shift = shift  # code points before the text proper (a byte order mark)
        self._kept: list[tuple[int, int, Diagnostic]] = []  # a heap, the last place on top
        self._count = 0
        self._worst = Severity.NOTE  # of what was not kept

    def add(self, diagnostic: Diagnostic) -> None:
        self._count += 1
        entry = (-diagnostic.span.start, -self._count, diagnostic)
        if len(self._kept) < MOST:
            heappush(self._kept, entry)
            return
        severity = heappushpop(self._kept, entry)[2].severity
        if severity is Severity.ERROR or self._worst is Severity.NOTE:
            self._worst = severity

    def all(self) -> tuple[Diagnostic, ...]:
        """In the order of the text; past `MOST` a last one says how many more there are."""
        found = [
            replace(
                diagnostic,
                file=self._file,
                span=self.moved(diagnostic.span),
                related=tuple((self.moved(span), word) for span, word in diagnostic.related),
            )
            for _, _, diagnostic in sorted(self._kept, reverse=True, key=lambda entry: entry[:2])
        ]
        if self._count > len(found):
            found.append(_too_many(self._count - len(found), found[-1].span, self._worst, self._file))
        return tuple(found)

    def moved(self, span: Span) -> Span:
        if not self._shift:
            return span
        return replace(span, start=span.start + self._shift, end=span.end + self._shift)


def _too_many(more: int, span: Span, worst: Severity, file: str) -> Diagnostic:
    return Diagnostic("G029", f"{more} more findings are not shown", span, worst, "mend the first ones", file)


# Characters and tokens ----------------------------------------------------------------------------


def shown(text: str, most: int = 40) -> str:
    """User text as a message quotes it: cut, and without anything that a terminal obeys."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(char if char.isprintable() else f"U+{ord(char):04X}" for char in cut)


def unexpected_character(text: str, span: Span) -> Diagnostic:
    """A character that begins nothing: `@@`, a no-break space, NUL."""
    if category(text[0]) in ("Cc", "Cs"):
        return control_character(text[0], span)
    help = "text in quotes may hold any character"
    if text[0].isspace():
        help = "use a plain blank"
    elif not text.isprintable() or not text.isascii():
        help = f"it is {name(text[0], 'no character that has a name').lower()}; put text in quotes"
    elif text == "*":
        help = 'quote a name that holds `*`: `"search_*"`'
    return Diagnostic("G001", f"unexpected `{shown(text)}`", span, help=help)


def unexpected_in_selector(pointer: str, text: str, span: Span) -> Diagnostic:
    """`/a:b`: a segment with other characters is quoted."""
    head, _, last = pointer.rpartition("/")
    return Diagnostic(
        "G001",
        f"unexpected `{shown(text)}` in a selector",
        span,
        help=f'quote the segment: `{shown(head)}/"{shown(last + text)}…"`',
    )


def control_character(char: str, span: Span) -> Diagnostic:
    """NUL and its like, anywhere but as an escape in a quoted text."""
    what = "a lone surrogate" if category(char) == "Cs" else "a control character"
    return Diagnostic("G002", f"{what}, `U+{ord(char):04X}`", span, help="remove it")


def tab_in_indentation(span: Span) -> Diagnostic:
    return Diagnostic("G003", "a tab in the indentation", span, help="indent with two blanks for each level")


def unclosed_text(quote: str, span: Span) -> Diagnostic:
    help = f"add a closing `{quote}`"
    if quote == '"':
        help += r"; a line end inside a text is `\n`"
    return Diagnostic("G004", "this text is not closed on its line", span, help=help)


def unclosed_block(span: Span) -> Diagnostic:
    return Diagnostic("G005", "this block is not closed", span, help="add a `}` after its last statement")


def unclosed_bracket(opening: str, span: Span) -> Diagnostic:
    closing = {"(": ")", "[": "]", "{": "}"}[opening]
    return Diagnostic("G006", f"this `{opening}` is not closed", span, help=f"add a `{closing}`")


def stray_bracket(closing: str, span: Span) -> Diagnostic:
    return Diagnostic("G007", f"this `{closing}` closes nothing", span, help="remove it")


def wrong_bracket(opening: Span, open_text: str, closing: str, span: Span) -> Diagnostic:
    wanted = {"(": ")", "[": "]"}[open_text]
    return Diagnostic(
        "G007",
        f"`{closing}` cannot close `{open_text}`",
        span,
        help=f"write `{wanted}`",
        related=((opening, "opened here"),),
    )


# Values -------------------------------------------------------------------------------------------


def bad_escape(escape: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "G008",
        f"`{shown(escape)}` is not an escape of JSON",
        span,
        help=r"write `\\` for a backslash, or put the text in single quotes",
    )


def surrogate_escape(escape: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "G008",
        f"`{shown(escape)}` is half of a character",
        span,
        help=r"escapes from `\ud800` to `\udfff` come in pairs, high before low",
    )


def raw_control(char: str, quote: str, span: Span) -> Diagnostic:
    """A control character inside a quoted text."""
    help = f"write `\\u{ord(char):04x}`" if quote == '"' else f'write `"\\u{ord(char):04x}"` in double quotes'
    if char == "\t":
        help = r"write `\t`"
    if category(char) == "Cs":
        help = "remove it"
    return Diagnostic("G008", f"a raw `U+{ord(char):04X}` in a text", span, help=help)


def backslash_in_pattern(raw: str | None, span: Span) -> Diagnostic:
    """`matches "\\d"`: two readers unescape it, and few authors count backslashes."""
    help = f"write it raw: `'{shown(raw, 60)}'`" if raw is not None else "write it in single quotes"
    return Diagnostic("G009", "a backslash in a pattern in double quotes", span, help=help)


def not_a_number(text: str, span: Span) -> Diagnostic:
    help = f'to mean a name, write `"{shown(text)}"`'
    if text.lstrip("+-0123456789.") == "":
        help = "numbers are written as in JSON: `0`, `-1.5`, `2e3`; ranges `0..100`; days `2026-12-31`"
    return Diagnostic("G010", f"`{shown(text)}` is not a number", span, help=help)


def number_too_long(digits: int, span: Span) -> Diagnostic:
    return Diagnostic(
        "G010", f"a number of {digits} digits", span, help=f"at most {MOST_DIGITS} digits are read"
    )


def inexact_number(text: str, nearby: str | None, span: Span) -> Diagnostic:
    """`1e999`, or more digits than a double keeps."""
    if nearby is None:
        return Diagnostic(
            "G010", f"`{shown(text)}` is no finite number", span, help="numbers end near 1.8e308"
        )
    return Diagnostic(
        "G010",
        f"`{shown(text)}` would be read as another number",
        span,
        help=f"the nearest that is kept exactly is `{nearby}`",
    )


def no_such_day(text: str, span: Span) -> Diagnostic:
    return Diagnostic("G011", f"there is no day `{text}`", span, help="days are `YYYY-MM-DD`")


def bare_slash(text: str, span: Span) -> Diagnostic:
    """`/` alone: the root, or the field with the empty name?"""
    return Diagnostic(
        "G012",
        f"`{text}` alone is no selector",
        span,
        help=f'write `""` for the whole value, or `{text}""` for the field with the empty name',
    )


def empty_segment(text: str, fixed: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "G012",
        f"`{shown(text)}` has an empty segment",
        span,
        help=f'write `""` for the field with the empty name: `{shown(fixed, 80)}`',
    )


def bad_selector(text: str, reason: str, help: str, span: Span) -> Diagnostic:
    return Diagnostic("G012", f"`{shown(text)}` is no selector: {reason}", span, help=help)


def bad_name(text: str, span: Span) -> Diagnostic:
    """Ends in `-` or `.`, or has letters beyond `A-Z a-z`."""
    why = "does not end in a letter or digit"
    if not text.isascii():
        why = "has characters beyond `A-Z a-z 0-9 _ - .`"
    return Diagnostic("G013", f"the name `{shown(text)}` {why}", span, help=f'write `"{shown(text)}"`')


def reserved_name(text: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "G014",
        f"`{text}` is a word of the language, and a name or value is wanted here",
        span,
        help=f'to mean a name, write `"{text}"`',
    )


def duplicate_key(key: str, span: Span, first: Span) -> Diagnostic:
    return Diagnostic(
        "G015",
        f"the key `{shown(key)}` stands twice in one object",
        span,
        help="remove one of them",
        related=((first, "first here"),),
    )


def not_json(text: str, help: str, span: Span) -> Diagnostic:
    return Diagnostic("G016", f"`{shown(text)}` cannot stand here in a JSON value", span, help=help)


# Shape --------------------------------------------------------------------------------------------


def too_deep(what: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "G017", f"{what} are nested more than {DEEPEST} levels deep", span, help="make it flatter"
    )


def no_word(text: str, span: Span) -> Diagnostic:
    """A statement that begins with `"text"` or a selector."""
    return Diagnostic(
        "G018",
        f"a statement cannot begin with `{shown(text)}`",
        span,
        help="it begins with a word such as `alias`; a line that goes on is indented deeper",
    )


def hanging_suffix(text: str, span: Span) -> Diagnostic:
    """A line that begins with `when` at the level of its statement."""
    return Diagnostic(
        "G018",
        f"a statement cannot begin with `{shown(text)}`",
        span,
        help="indent the line deeper if it belongs to the statement above",
    )


def indented_statement(word: str, span: Span, above: Span) -> Diagnostic:
    return Diagnostic(
        "G019",
        f"`{shown(word)}` begins a statement, and its line is indented as if the one above went on",
        span,
        Severity.WARNING,
        "give both statements the same indentation",
        related=((above, "the statement above"),),
    )


def after_block(text: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "G020",
        f"`{shown(text)}` cannot follow the block of a statement",
        span,
        help="begin a new line that is not indented deeper, or write `;` after the `}`",
    )


def second_suffix(what: str, span: Span, first: Span) -> Diagnostic:
    return Diagnostic(
        "G021",
        f"a second {what} on one statement",
        span,
        help="keep one of them",
        related=((first, "the first one"),),
    )


def ends_early(wanted: str, span: Span) -> Diagnostic:
    return Diagnostic("G022", f"the statement ends too early, {wanted} is missing", span, help="complete it")


def unexpected(text: str, wanted: str, span: Span, help: str = "") -> Diagnostic:
    message = f"unexpected `{shown(text)}`"
    return Diagnostic("G022", f"{message}, expected {wanted}", span, help=help or f"write {wanted} instead")


def clause_after_suffix(text: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "G022",
        f"`{shown(text)}` cannot follow a suffix",
        span,
        help="clauses stand before `for`, `when`, `unless`, `note`, `named` and the block",
    )


# Conditions ---------------------------------------------------------------------------------------


def mixed_and_or(span: Span) -> Diagnostic:
    return Diagnostic(
        "G031",
        "`and` and `or` are mixed without parentheses",
        span,
        Severity.WARNING,
        "`and` binds tighter; put its parts in parentheses",
    )


def unknown_operator(text: str, span: Span) -> Diagnostic:
    near = _SYMBOLS.get(text) or nearest(text.lower().replace("_", "-"), OPERATORS)
    help = f"did you mean `{near}`?" if near else f"operators are {_KNOWN}"
    return Diagnostic("G032", f"unknown operator `{shown(text)}`", span, help=help)


def negated_symbol(operator: str, span: Span) -> Diagnostic:
    """`x not == 1`."""
    other = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}[operator]
    return Diagnostic("G032", f"`not` cannot stand before `{operator}`", span, help=f"write `{other}`")


def pointer_after_under(text: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "G033",
        f"the selector `{shown(text)}` after `under`",
        span,
        help=f'a path is quoted: `"{shown(text)}"`',
    )


def quoted_selector(text: str, span: Span) -> Diagnostic:
    """`present "/a"`: in a condition quoted text is a value."""
    help = "in a condition a selector stands without quotes around it"
    if text.startswith("/"):
        help = f"in a condition a selector stands without quotes: `{shown(text)}`"
    return Diagnostic("G034", "quoted text is no selector here", span, help=help)
