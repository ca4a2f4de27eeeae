"""JSON text in the plainest way: one character at a time, with everything that can be wrong with it."""

from __future__ import annotations

import re
from decimal import Decimal
from math import isfinite
from typing import Any

CLOSER = {"{": "}", "[": "]"}
SPACE = " \t\r\n"


class Refused(Exception):
    """The call ends as `unrepairable`, with a code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Broken(Exception):
    """The text is no JSON at some place before its end."""


class Cut(Exception):
    """The text ends too early. `closers` finish it where it ends right after a complete value, else None."""

    def __init__(self, closers: str | None) -> None:
        super().__init__(closers)
        self.closers = closers


class Reader:
    """Reads one value from `text`, and says what it met on the way."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open = ""  # the brackets around here
        self.controls = False  # raw control characters in strings
        self.merged = False  # keys that stood twice with equal values
        self.refused: set[str] = set()  # the codes of what cannot be kept

    def whole(self) -> Any:
        """The value that the whole text is."""
        value = self.value()
        self.blanks()
        if self.at < len(self.text):
            raise Broken
        return value

    def blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
            self.at += 1

    def next(self, after_value: bool = False) -> str:
        self.blanks()
        if self.at == len(self.text):
            last = self.text.rstrip(" \t\r\n")[-1:]
            complete = after_value and not last.isdigit()
            raise Cut("".join(CLOSER[each] for each in reversed(self.open)) if complete else None)
        return self.text[self.at]

    def value(self) -> Any:
        here = self.next()
        if here == "{":
            return self.object()
        if here == "[":
            return self.array()
        if here == '"':
            return self.string()
        return self.word()

    def object(self) -> Any:
        self.enter("{")
        pairs: list[tuple[str, Any]] = []
        if self.next() == "}":
            return self.leave({})
        while True:
            if self.next() != '"':
                raise Broken
            key = self.string()
            if self.next() != ":":
                raise Broken
            self.at += 1
            pairs.append((key, self.value()))
            here = self.next(after_value=True)
            self.at += 1
            if here == "}":
                break
            if here != ",":
                raise Broken
        self.at -= 1
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                if exact(found[key]) != exact(value):
                    self.refused.add("duplicate-key")
                self.merged = True
            found[key] = value
        return self.leave(found)

    def array(self) -> Any:
        self.enter("[")
        found: list[Any] = []
        if self.next() == "]":
            return self.leave(found)
        while True:
            found.append(self.value())
            here = self.next(after_value=True)
            self.at += 1
            if here == "]":
                self.at -= 1
                return self.leave(found)
            if here != ",":
                raise Broken

    def enter(self, bracket: str) -> None:
        self.open += bracket
        self.at += 1
        if len(self.open) > 64:
            raise Refused("limit")

    def leave(self, value: Any) -> Any:
        self.open = self.open[:-1]
        self.at += 1
        return value

    def string(self) -> str:
        self.at += 1
        found = ""
        while self.at < len(self.text):
            here = self.text[self.at]
            self.at += 1
            if here == '"':
                joined = found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
                if "�" in joined and "�" not in found:
                    self.refused.add("surrogate")
                return joined
            if here == "\\":
                escape = self.text[self.at : self.at + 1]
                if escape == "u":
                    digits = self.text[self.at + 1 : self.at + 5]
                    if not re.fullmatch("[0-9a-fA-F]{4}", digits):
                        if self.at + 1 + len(digits) == len(self.text):
                            raise Cut(None)
                        raise Broken
                    found += chr(int(digits, 16))
                    self.at += 5
                elif escape and escape in '"\\/bfnrt':
                    found += {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}.get(escape, escape)
                    self.at += 1
                elif escape:
                    raise Broken
            else:
                self.controls = self.controls or here < " "
                found += here
        raise Cut(None)

    def word(self) -> Any:
        found = re.match(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", self.text[self.at :])
        for name, value in (("true", True), ("false", False), ("null", None)):
            if self.text.startswith(name, self.at):
                self.at += len(name)
                return value
            if name.startswith(self.text[self.at :]):
                raise Cut(None)
        for name in ("NaN", "Infinity", "-Infinity"):
            if self.text.startswith(name, self.at):
                self.at += len(name)
                self.refused.add("number")
                return 0
        if found is None:
            if self.text[self.at :] == "-":
                raise Cut(None)
            raise Broken
        self.at += found.end()
        if re.fullmatch(r"\.?|\.?[0-9]*[eE][+-]?", self.text[self.at :]) and self.text[self.at :]:
            raise Cut(None)  # in the middle of a number
        if found[1] is None and found[2] is None:
            return int(found[0])
        number = float(found[0])
        if not isfinite(number) or Decimal(repr(number)) != Decimal(found[0]):
            self.refused.add("number")
        return number


def exact(value: Any) -> Any:
    """Equal exactly for the same JSON of the same types; the order of keys does not count."""
    if isinstance(value, dict):
        return ("object", tuple(sorted((key, exact(item)) for key, item in value.items())))
    if isinstance(value, list):
        return ("array", tuple(exact(item) for item in value))
    return (type(value).__name__, repr(value))


def several(text: str) -> list[Any] | None:
    """The objects of which the text is a row, or None."""
    found: list[Any] = []
    rest = text
    while rest.strip(" \t\r\n,;"):
        reader = Reader(rest.lstrip(" \t\r\n,;"))
        try:
            found.append(reader.value())
        except (Broken, Cut, Refused):
            return None
        if not isinstance(found[-1], dict):
            return None
        rest = reader.text[reader.at :]
    return found
