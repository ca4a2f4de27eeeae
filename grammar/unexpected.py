"""What a parser's "unexpected token" means to an author."""

from __future__ import annotations

from collections.abc import Set

from . import mistakes
from .diagnostics import Diagnostic
from .tokens import Token
from .values import RESERVED

_SUFFIXES = frozenset({"FOR", "WHEN", "UNLESS", "NOTE", "NAMED"})
_ANYTHING = frozenset({"NAME", "STRING", "POINTER", "LITERAL"})
# What an author calls what the grammar wants, the most telling first.
_TITLES = {
    "OPERATOR": "an operator",
    "POINTER": "a selector",
    "LITERAL": "a value",
    "NAME": "a name",
    "STRING": "a quoted text",
    "COLON": "`:`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "RBRACE": "`}`",
    "LPAR": "`(`",
    "COMMA": "`,`",
}


def end_after(last: Token | None) -> Token:
    """The token that tells the parser that nothing follows."""
    if last is None:
        return Token("$END", "", 0, 0, 1, 1, 0, 1)
    column = last.column + last.end - last.start
    return Token("$END", "", last.end, last.end, last.line, column, 0, last.indent)


def explain(token: Token, expected: Set[str], before: Token | None) -> Diagnostic:
    """The mistake that a token is after the one before it, where any of `expected` could stand."""
    kind, text, span = token.type, token.text, token.span
    if kind == "$END":
        return mistakes.ends_early(_wanted(expected), before.span if before else span)
    if kind == "COLON" and before and before.type == "POINTER" and before.end == token.start:
        return mistakes.unexpected_in_selector(before.text, text, span)
    if "OPERATOR" in expected and kind not in ("STRING", "RAW", "POINTER", "LITERAL", "BLOCK"):
        return mistakes.unknown_operator(text, span)
    if kind == "OPERATOR" and "AND" in expected:
        return mistakes.unknown_operator(text, span)
    if text in RESERVED and "NAME" in expected:
        return mistakes.reserved_name(text, span)
    if "POINTER" in expected and kind in ("STRING", "RAW") and "NAME" not in expected:
        return mistakes.quoted_selector(token.value.value, span)
    if (
        expected == {"STRING"}
        or "COLON" in expected
        or ("NAME" not in expected and {"LITERAL", "RSQB", "RBRACE"} & expected)
    ):
        return _in_json(token, expected, before)
    if kind == "NAME" and expected >= _SUFFIXES:
        return mistakes.clause_after_suffix(text, span)
    help = f'put it in quotes: `"{mistakes.shown(text)}"`' if kind == "NAME" and "STRING" in expected else ""
    return mistakes.unexpected(text, _wanted(expected), span, help)


def _in_json(token: Token, expected: Set[str], before: Token | None) -> Diagnostic:
    kind, text = token.type, token.text
    help = f"expected {_wanted(expected)}"
    if kind in ("RSQB", "RBRACE") and before and before.type == "COMMA":
        help = "remove the comma before it"
    elif kind == "RAW":
        help = "JSON puts texts in double quotes"
    elif kind == "RANGE":
        help = "a range is no JSON value"
    elif text.lower().lstrip("-") in ("nan", "infinity", "inf"):
        help = "JSON has only finite numbers"
    elif text in ("True", "False", "None"):
        help = f"JSON writes `{ {'True': 'true', 'False': 'false', 'None': 'null'}[text] }`"
    elif kind == "NAME" or text in RESERVED or kind == "DAY":
        help = f'put it in quotes: `"{mistakes.shown(text)}"`'
    return mistakes.not_json(text, help, token.span)


def _wanted(expected: Set[str]) -> str:
    """The first things that may stand here, as words."""
    if expected >= _SUFFIXES and "NAME" not in expected:
        return "a suffix such as `when`, or the end of the statement"
    if expected >= _ANYTHING:
        return "a name, a value or a selector"
    titles = [title for kind, title in _TITLES.items() if kind in expected]
    if not titles:
        return "the end of the statement" if "$END" in expected else "something else"
    return " or ".join(titles[:3])
