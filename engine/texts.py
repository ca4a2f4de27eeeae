"""Texts of damaged JSON in the form that JSON has: what stands between other quotes, and its backslashes."""

from __future__ import annotations

import re
from collections.abc import Callable

from .domain import Refusal

BACKSLASH = Refusal(
    "not-json", "A backslash can be read in two ways. Write a backslash inside a text as two."
)
OPEN_END = Refusal(
    "not-json",
    "It is not certain where a text ends. Put texts in double quotes, and inside one write a double quote "
    'as `\\"` and a backslash as `\\\\`.',
)
_ESCAPE = re.compile(r'\\(?P<good>["\\/bfnrt]|u[0-9a-fA-F]{4})?')
_IN_SINGLE = re.compile(r'\\(.)|"', re.DOTALL)
# Escapes that other languages have and JSON has not: what they mean is a guess. Pairs are passed over.
_FOREIGN = re.compile(r"\\(?:\\|(?P<foreign>['xUNav0-9]|u(?:\{|[0-9a-fA-F]{1,3}(?![0-9a-fA-F]))))")
_FOREIGN_IN_SINGLE = re.compile(r"\\(?:\\|(?P<foreign>[xUNav0-9\n]|u(?![0-9a-fA-F]{4})))")
# In a text with a backslash that is no escape these may be none either: `\bfoo`, `src\new`.
_DOUBTFUL = re.compile(r"(?:\\[nrt]){2,}|(?P<doubtful>\\[bf]|\\[nrt](?=[A-Za-z]))|\\.", re.DOTALL)
# No backslash in it begins anything but itself, in any language.
_ALL_LITERAL = re.compile(r"[^\\]*+(?:\\[^\\\"/'bfnrtuxUNav0-9][^\\]*+)++")
_PATH_START = re.compile(r"[A-Za-z]:\\|\\\\(?:\\\\)?[^\\]")
_SEGMENT = r"[^\\/:*?\"<>|\s]++(?: [^\\/:*?\"<>|\s]++)*+(?<![.,;!])"
_WINDOWS_PATH = re.compile(rf"(?:[A-Za-z]:|\\\\[\w.$-]{{2,64}}(?=\\[\w.$-]{{2}}))(?:\\{_SEGMENT})++\\?")
_CONTROL = re.compile(r"[\x00-\x1f]")


class Refused(Exception):
    """The text is not mended."""

    def __init__(self, fault: Refusal) -> None:
        super().__init__(fault.message)
        self.fault = fault


def in_double_quotes(kind: str, inner: str, fix: Callable[[str], None]) -> str:
    """JSON's form of what stands in `loose` double quotes, in `single` or `curly` ones, or between `token`s.

    `fix` is told the kinds of the changes.

    Raises:
        Refused: it can be read in two ways.
    """
    if kind in ("token", "curly") and ('"' in inner or (kind == "token" and "\\" in inner)):
        raise Refused(OPEN_END)  # the quote may be the end, and an escape may be none
    escaped = False
    if kind == "single":
        if any(found["foreign"] for found in _FOREIGN_IN_SINGLE.finditer(inner)):
            raise Refused(BACKSLASH)
        escaped = "\\'" in inner
        inner = _IN_SINGLE.sub(_in_double, inner)
    if kind != "loose":
        fix("quotes")
    if _CONTROL.search(inner):
        fix("control-characters")
    if "\\" in inner:
        mended = _escapes(inner, escaped)
        if mended != inner:
            fix("escapes")
            inner = mended
    return f'"{inner}"'


def _escapes(inner: str, escaped: bool) -> str:
    """What is no escape of JSON is a literal backslash; in a Windows path with such a one, all are.

    `escaped`: a single quote was escaped in single quotes, so somebody did escape.
    """
    if _ALL_LITERAL.fullmatch(inner) and not escaped and not _PATH_START.match(inner):
        return inner.replace("\\", "\\\\")
    mended = _ESCAPE.sub(_literal, inner)
    if mended == inner:
        return inner
    if escaped:
        raise Refused(BACKSLASH)
    if _PATH_START.match(inner):
        if not _WINDOWS_PATH.fullmatch(inner):
            raise Refused(BACKSLASH)  # half escaped, or no path at all
        return inner.replace("\\", "\\\\")
    if any(found["foreign"] for found in _FOREIGN.finditer(inner)):
        raise Refused(BACKSLASH)
    if any(found["doubtful"] for found in _DOUBTFUL.finditer(inner)):
        raise Refused(BACKSLASH)
    return mended


def _literal(found: re.Match[str]) -> str:
    return found[0] if found["good"] else "\\\\"


def _in_double(found: re.Match[str]) -> str:
    """An escape, or a double quote, of single quotes as double quotes have it."""
    if found[0] == '"':
        return '\\"'
    return "'" if found[1] == "'" else found[0]
