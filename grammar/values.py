"""What a token stands for: texts, numbers, days, selectors, names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal, InvalidOperation

from . import mistakes
from .ast import Day, Literal, Pointer, Range, Segment, Text, Word
from .diagnostics import Diagnostic
from .mistakes import MOST_DIGITS, Mistakes
from .pointer import MOST_SEGMENTS, read_pointer
from .tokens import Token

NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?(?:/[A-Za-z_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?)?")
BARE_SEGMENT = re.compile(r"[\w$.@*~-]+")
RESERVED = frozenset(
    {"for", "when", "unless", "note", "named", "from", "and", "or", "not", "in"}
    | {"any", "every", "present", "missing", "after", "true", "false", "null"}
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NEVER_RAW = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_NOT_IN_TEXT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_SEGMENTS = re.compile(r'/("[^"\\]*(?:\\.[^"\\]*)*"|[^/"]*)')
_CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None}


def can_be_raw(text: str) -> bool:
    """Can the text stand between single quotes?"""
    return "'" not in text and not _NEVER_RAW.search(text)


def read(tokens: Iterable[Token], log: Mistakes) -> list[Token] | None:
    """Give every token its value and final type. None if one is wrong; each of them is reported."""
    return _Reader(log).read(tokens)


class _Reader:
    def __init__(self, log: Mistakes) -> None:
        self._log = log
        self._broken = False
        self._held: Diagnostic | None = None

    def read(self, tokens: Iterable[Token]) -> list[Token] | None:
        out: list[Token] = []
        pattern = 0
        held: Diagnostic | None = None  # about a selector, if no unclosed text is to blame
        for token in tokens:
            if held and not (token.type == "UNCLOSED" and token.start == out[-1].end):
                self._log.add(held)
            read = self._one(token, pattern == 1, out[-1] if out else None)
            held, self._held = self._held, None
            pattern = pattern_state(read.type, read.text, pattern)
            out.append(read)
        if held:
            self._log.add(held)
        return None if self._broken else out

    def _one(self, token: Token, pattern: bool, before: Token | None) -> Token:
        kind, text, span = token.type, token.text, token.span
        if kind == "NAME":
            if not NAME.fullmatch(text):
                self._wrong(mistakes.bad_name(text, span))
            return token._replace(value=Word(text, span))
        if kind == "STRING":
            return token._replace(value=Text(self._string(token, pattern), False, span))
        if kind == "RAW":
            if bad := _NEVER_RAW.search(text):
                self._wrong(mistakes.raw_control(bad[0], "'", token.part(bad.start(), bad.end())))
            return token._replace(value=Text(text[1:-1], True, span))
        if kind == "POINTER":
            return token._replace(value=Pointer(self._pointer(token), text.startswith("."), span))
        if kind == "NUMBER":
            return self._number(token)
        if kind in _CONSTANTS:
            return token._replace(type="LITERAL", value=Literal(_CONSTANTS[kind], span))
        if kind == "EMPTY":
            return token._replace(value=Literal({}, span))
        if kind == "FROM":
            return token._replace(value=Word(text, span))
        if kind == "OPERATOR" and text == "=":
            return token._replace(type="EQUALS", value=Word(text, span))
        if kind == "UNCLOSED":
            self._wrong(mistakes.unclosed_text(text[0], span))
        elif kind == "JUNK":
            self._junk(token, before)
        return token

    def _wrong(self, diagnostic: Diagnostic) -> None:
        self._broken = True
        self._log.add(diagnostic)

    def _junk(self, token: Token, before: Token | None) -> None:
        if before and before.type == "POINTER" and before.end == token.start and token.text.isprintable():
            self._wrong(mistakes.unexpected_in_selector(before.text, token.text, token.span))
        else:
            self._wrong(mistakes.unexpected_character(token.text, token.span))

    def _string(self, token: Token, pattern: bool = False) -> str:
        """The text between double quotes."""
        body = token.text[1:-1]
        if bad := _NOT_IN_TEXT.search(body):
            self._wrong(mistakes.raw_control(bad[0], '"', token.part(bad.start() + 1, bad.end() + 1)))
            return body
        if "\\" not in body:
            return body
        if pattern and (wanted := _raw_pattern(body)) is not None:
            self._wrong(mistakes.backslash_in_pattern(wanted, token.span))
            return body
        return self._unescape(token, body)

    def _unescape(self, token: Token, body: str) -> str:
        out: list[str] = []
        done = 0
        high = ""  # the first half of a pair, waiting for the second
        for found in _ESCAPE.finditer(body):
            escape = found[0]
            if high and (found.start() > done or len(escape) < 6):
                break
            out.append(body[done : found.start()])
            done = found.end()
            if len(escape) == 6:
                char = chr(int(escape[2:], 16))
                if high:
                    if not "\udc00" <= char <= "\udfff":
                        break
                    out.append((high + char).encode("utf-16", "surrogatepass").decode("utf-16"))
                    high = ""
                elif "\ud800" <= char <= "\udbff":
                    high = char
                elif "\udc00" <= char <= "\udfff":
                    self._wrong(mistakes.surrogate_escape(escape, token.part(found.start() + 1, done + 1)))
                else:
                    out.append(char)
            elif escape[1] in _ESCAPED:
                out.append(_ESCAPED[escape[1]])
            else:
                self._wrong(mistakes.bad_escape(escape, token.part(found.start() + 1, done + 1)))
        if high:
            self._wrong(mistakes.surrogate_escape(f"\\u{ord(high):04x}", token.span))
        out.append(body[done:])
        return "".join(out)

    def _number(self, token: Token) -> Token:
        """A number, a range of two, or a day."""
        text = token.text
        low, dots, high = text.partition("..")
        if dots:
            a, b = self._value(token, low), self._value(token, high)
            return token._replace(type="RANGE", value=Range(a, b, token.span))
        if _DAY.fullmatch(text):
            try:
                date.fromisoformat(text)
            except ValueError:
                self._wrong(mistakes.no_such_day(text, token.span))
            return token._replace(type="DAY", value=Day(text, token.span))
        return token._replace(type="LITERAL", value=Literal(self._value(token, text), token.span))

    def _value(self, token: Token, text: str) -> int | float:
        span = token.span
        found = _NUMBER.fullmatch(text)
        if not found:
            self._wrong(mistakes.not_a_number(token.text, span))
            return 0
        if len(text) > MOST_DIGITS + 1:
            self._wrong(mistakes.number_too_long(sum(char.isdigit() for char in text), span))
            return 0
        if not found[1] and not found[2]:
            if len(text.lstrip("-")) > MOST_DIGITS:
                self._wrong(mistakes.number_too_long(len(text.lstrip("-")), span))
                return 0
            return int(text)
        value = float(text)
        if value in (float("inf"), float("-inf")):
            self._wrong(mistakes.inexact_number(text, None, span))
        elif not _same_decimal(text, value):
            self._wrong(mistakes.inexact_number(text, repr(value), span))
        return value

    def _pointer(self, token: Token) -> tuple[Segment, ...]:
        text = token.text
        dots = len(text) - len(text.lstrip("."))
        if dots > 1:
            help = "a selector begins with `/`, or with `./` for the item of `any` and `every`"
            self._wrong(mistakes.bad_selector(text, "there is no way up", help, token.span))
            return ()
        if text[dots:] == "/":
            self._broken = True
            self._held = mistakes.bare_slash(text, token.span)
            return ()
        segments: list[Segment] = []
        empty = False
        for found in _SEGMENTS.finditer(text, dots):
            segment = found[1]
            if segment.startswith('"'):
                part = token._replace(text=segment, start=token.start + found.start(1))
                part = part._replace(column=token.column + found.start(1))
                segments.append(self._string(part))
            elif not segment:
                empty = True
            else:
                try:
                    segments.extend(read_pointer("/" + segment))
                except ValueError as error:
                    fixed = re.sub("~(?![01])", "~0", segment)
                    span = token.part(found.start(1), found.end(1))
                    self._wrong(mistakes.bad_selector(text, str(error), f"write `{fixed}`", span))
        if empty:
            fixed = re.sub("/(?=/|$)", '/""', text)
            self._broken = True
            self._held = mistakes.empty_segment(text, fixed, token.span)
        if len(segments) > MOST_SEGMENTS:
            help = "values are not nested that deep"
            self._wrong(mistakes.bad_selector(text[:40], f"over {MOST_SEGMENTS} segments", help, token.span))
            return ()
        return tuple(segments)


def pattern_state(kind: str, text: str, state: int) -> int:
    """Is a text after this token a pattern? 1 says yes; `state` is the same before this token.

    In `matches "a", "b"` both are: 1 after `matches`, 2 after `"a"`, 1 after the comma.
    """
    if kind == "NAME":
        return int(text in ("matches", "fullmatches"))
    if kind in ("STRING", "RAW"):
        return 2 if state == 1 else 0
    return int(kind == "COMMA" and state == 2)


def _same_decimal(text: str, value: float) -> bool:
    try:
        return Decimal(text) == Decimal(repr(value))
    except InvalidOperation:  # an exponent beyond what even Decimal holds
        return False


def _raw_pattern(body: str) -> str | None:
    """What an author who wrote this body between double quotes would write raw.

    None where the double quotes are needed: the text has a `'` or a control character, and only
    `\\\\`, `\\"` and `\\u…` are used, which nobody writes by mistake for an operator of a pattern.
    """
    escapes = set(_ESCAPE.findall(body))
    if all(escape in (r"\\", r"\"") or len(escape) == 6 for escape in escapes):
        plain = _ESCAPE.sub(_plain, body)
        return plain if can_be_raw(plain) else None
    return body.replace(r"\"", '"').replace("'", r"\x27")


def _plain(escape: re.Match[str]) -> str:
    return chr(int(escape[0][2:], 16)) if len(escape[0]) == 6 else escape[0][1]
