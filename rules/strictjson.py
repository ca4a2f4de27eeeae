"""JSON text read exactly: every key seen, every number kept, or refused with a word for why.

The decoder is the standard library's C scanner with hooks, so that a duplicate key, a number that
would not print back as the same decimal, `NaN`, and half a surrogate pair are never lost in silence.
Source: RFC 8259; RFC 7493 (I-JSON).
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, NoReturn

from ..grammar.ast import Json

DIGITS = 640  # of an integer: Python may be told to read and print no longer ones
DEPTH = 64

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_WHITE = " \t\n\r"


class JsonError(ValueError):
    """Text that is not read. `code`: `syntax`, `duplicate-key`, `number`, `surrogate` or `limit`.

    `position` is the offset in code points at which reading stopped, of `syntax` only; `more`: a whole
    value stands before it.
    """

    def __init__(self, code: str, message: str, position: int = 0, more: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.position = position
        self.more = more


def decode(text: str, *, depth: int = DEPTH) -> Json:
    """The one JSON value that the text is; a key that stands twice is refused even with equal values.

    Raises:
        JsonError: no JSON, or JSON that cannot be kept exactly.
    """
    value, merged = read(text, depth=depth)
    if merged:
        raise JsonError("duplicate-key", f"the key `{merged[0][:64]}` stands twice")
    return value


def read(text: str, *, depth: int = DEPTH, raw_controls: bool = False) -> tuple[Json, tuple[str, ...]]:
    """Like `decode`, but keys that stand twice with equal values are merged, and named in the result.

    `raw_controls`: control characters may stand in strings as they are. Cost: linear in the text.
    """
    merged: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(found)
        if len(result) != len(found):
            seen: dict[str, Any] = {}
            for key, value in found:
                if key in seen:
                    if not equal(seen[key], value):
                        raise JsonError(
                            "duplicate-key", f"the key `{key[:64]}` stands twice, with two values"
                        )
                    merged.append(key)
                seen[key] = value
        return result

    try:
        value = json.loads(
            text,
            object_pairs_hook=pairs,
            parse_float=number,
            parse_int=integer if _may_be_long(text) else None,
            parse_constant=_constant,
            strict=not raw_controls,
        )
    except json.JSONDecodeError as error:
        raise JsonError("syntax", error.msg, error.pos, error.msg == "Extra data") from None
    except RecursionError:
        raise _too_deep(depth) from None
    if text.count("[") + text.count("{") > depth and _is_deeper(value, depth):
        raise _too_deep(depth)
    if "\\u" in text and _half_pair(text):
        raise JsonError("surrogate", "an escape is half of a surrogate pair")
    return value, tuple(merged)


def _may_be_long(text: str) -> bool:
    """Is there a run of more digits than an integer may have? It would lie on a place that is looked at."""
    digits = "0123456789"
    for at in range(DIGITS, len(text), DIGITS):
        if text[at] in digits:
            start = at
            while start and text[start - 1] in digits and at - start <= DIGITS:
                start -= 1
            end = at
            while end < len(text) and text[end] in digits and end - start <= DIGITS:
                end += 1
            if end - start > DIGITS:
                return True
    return False


def _too_deep(depth: int) -> JsonError:
    return JsonError("limit", f"arrays and objects are nested more than {depth} deep")


def _is_deeper(value: Any, depth: int) -> bool:
    """Are containers nested deeper? Level by level, as many levels as are allowed."""
    level = [value] if type(value) is dict or type(value) is list else []
    for _ in range(depth):
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return False
    return bool(level)


def integer(text: str) -> int:
    """An integer, exactly; over 640 digits it is refused, whatever the process allows."""
    if len(text) > DIGITS + (text[0] == "-"):
        raise JsonError("number", f"a number has more than {DIGITS} digits")
    return int(text)


def number(text: str) -> float:
    """A number with a fraction or exponent, if it prints back as the same decimal."""
    value = float(text)
    if value - value != 0.0:
        raise JsonError("number", "a number is not finite once read")
    # Short decimals are exact by construction of repr: 15 digits survive the round trip.
    if len(text) <= 15 and "e" not in text and "E" not in text:
        return value
    if len(text) > DIGITS or not _same_decimal(text, value):
        raise JsonError("number", "a number cannot be kept exactly")
    return value


def _same_decimal(text: str, value: float) -> bool:
    try:
        return Decimal(repr(value)) == Decimal(text)
    except ArithmeticError:  # an exponent beyond what decimals hold
        return False


def equal(one: Any, other: Any) -> bool:
    """Equal as JSON, exactly: `1`, `true`, `1.0` and `"1"` are four values. Iterative."""
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if left is right:
            continue
        kind = type(left)
        if kind is not type(right):
            return False
        if kind is dict:
            if len(left) != len(right) or left.keys() != right.keys():
                return False
            pairs.extend((item, right[key]) for key, item in left.items())
        elif kind is list:
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif left != right or (kind is float and repr(left) != repr(right)):
            return False
    return True


def _constant(text: str) -> NoReturn:
    raise JsonError("number", f"`{text}` is no JSON number")


def _half_pair(text: str) -> bool:
    """Is there an escape for half of a surrogate pair without the other half right after it?"""
    open_at = -1  # where a high half ended
    for match in _ESCAPE.finditer(text):
        code = int(match[1], 16) if match[1] else 0
        low = 0xDC00 <= code <= 0xDFFF
        if open_at >= 0 and not (low and match.start() == open_at):
            return True
        if low and open_at < 0:
            return True
        open_at = match.end() if 0xD800 <= code <= 0xDBFF else -1
    return open_at >= 0
