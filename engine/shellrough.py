"""Reads the words of a text that is not wholly understood: nothing in it is refused but what has no end.

What is not known of a word is all that a substitution or an operator in `${…}` makes.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

from .shellread import LONGEST
from .shellwords import ASSIGNS, UNSPLIT, Making, Rest, Unclear, Word

_BLANKS = re.compile(r"(?:[ \t]|\\\n)*+(?:#[^\n]*+)?+")
_PLAIN = re.compile(r"[^ \t\n\\'\"$`*?\[{;&|<>()]++")
_DOUBLE = re.compile(r'[^"\\$`]++')
_SINGLE = re.compile(r"'([^']*+)'")
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*+)'", re.DOTALL)
_BACK = re.compile(r"`(?:[^`\\]|\\.)*+`", re.DOTALL)
_NAMED = re.compile(r"\$(?:(\w++)|\{(\w++)\})", re.ASCII)
_SPECIAL = re.compile(r"\$[@*#?$!-]")
_PARENTHESIS = re.compile(r"[()]")
DEEPEST = 32


class RoughReader(ABC):
    """Goes through the text, with `left` steps: a word, a part of one, a line of a here-document.

    `known`: variables, None where their values are not certain.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.left = LONGEST
        self.depth = 0
        self.known: dict[str, str | None] = {}

    @abstractmethod
    def substitution(self) -> None:
        """Past the commands of a substitution and its `)`."""

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Unclear

    def blanks(self) -> None:
        found = _BLANKS.match(self.text, self.at)
        self.at = found.end() if found is not None else self.at

    def word(self) -> Word:
        made, text, start = Making(), self.text, self.at
        while self.at < len(text):
            self.step()
            letter = text[self.at]
            if (found := _PLAIN.match(text, self.at)) is not None:
                made.add(found[0])
                self.at = found.end()
            elif letter in "<>" and text[self.at + 1 : self.at + 2] == "(":
                self.at += 2
                self.deeper(self.substitution)
                made.unknown(Rest.LOOSE)
            elif letter in " \t\n;&|<>()":
                break
            elif letter == "'":
                found = self.taken(_SINGLE)
                made.quoted = True
                made.add(found[1])
            elif letter == '"':
                self.at += 1
                self.double(made)
            elif letter == "\\":
                after = text[self.at + 1 : self.at + 2]
                self.at += 1 + len(after)
                if after != "\n":
                    made.quoted = True
                    made.add(after)
            elif letter == "$":
                self.dollar(made, False)
            elif letter == "`":
                self.taken(_BACK)
                made.unknown(Rest.LOOSE)
            else:
                made.unknown(Rest.WILD)
                self.at += 1
        if self.at == start:
            raise Unclear
        return made.word(ASSIGNS.match(text, start) is not None)

    def taken(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise Unclear
        self.at = found.end()
        return found

    def double(self, made: Making) -> None:
        made.quoted = True
        while True:
            self.step()
            found = _DOUBLE.match(self.text, self.at)
            if found is not None:
                made.add(found[0])
                self.at = found.end()
            letter, after = self.text[self.at : self.at + 1], self.text[self.at + 1 : self.at + 2]
            if letter == '"':
                self.at += 1
                return
            if letter == "$":
                self.dollar(made, True)
            elif letter == "`":
                self.taken(_BACK)
                made.unknown(Rest.ONE)
            elif letter == "\\" and after:
                made.add("" if after == "\n" else after if after in '$`"\\' else letter + after)
                self.at += 2
            else:
                raise Unclear

    def dollar(self, made: Making, quoted: bool) -> None:
        rest = Rest.ONE if quoted else Rest.LOOSE
        if self.text.startswith("$(", self.at):
            start = self.at + 2
            self.at = start + 1
            if not self.text.startswith("(", start) or not self.arithmetic():
                self.at = start
                self.deeper(self.substitution)
            made.unknown(rest)
        elif (found := _NAMED.match(self.text, self.at)) is not None:
            self.at = found.end()
            value = self.known.get(found[1] or found[2])
            if value is not None and (quoted or UNSPLIT.match(value)):
                made.add(value)
            else:
                made.unknown(rest)
        elif self.text.startswith("${", self.at):
            self.at += 2
            self.deeper(self.braced)
            made.unknown(rest)
        elif (found := _SPECIAL.match(self.text, self.at)) is not None:
            self.at = found.end()
            made.unknown(rest)
        elif not quoted and self.text.startswith("$'", self.at):
            found = self.taken(_ANSI)
            made.quoted = True
            if "\\" in found[1]:
                made.unknown(Rest.ONE)
            made.add(found[1])
        elif not quoted and self.text.startswith('$"', self.at):
            self.at += 1
        else:
            made.add("$")
            self.at += 1

    def braced(self) -> None:
        """Past the `}` of a `${`."""
        aside = Making()
        while not self.text.startswith("}", self.at):
            self.step()
            letter = self.text[self.at : self.at + 1]
            if letter == '"':
                self.at += 1
                self.double(aside)
            elif letter == "$":
                self.dollar(aside, True)
            elif letter:
                self.at += 2 if letter == "\\" else 1
            else:
                raise Unclear
        self.at += 1

    def arithmetic(self) -> bool:
        """Past the `))` to the `((` behind which it stands; False where these are two of their own."""
        at, opened = self.at, 1
        while opened:
            self.step()
            found = _PARENTHESIS.search(self.text, at)
            if found is None:
                return False
            opened += 1 if found[0] == "(" else -1
            at = found.end()
        if not self.text.startswith(")", at):
            return False
        self.at = at + 1
        return True

    def deeper(self, read: Callable[[], None]) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unclear
        read()
        self.depth -= 1

    def body(self, word: Word, tabs: bool) -> None:
        """Past a here-document that ends with this word, `tabs`: also behind tabs."""
        going_on = False
        while self.at < len(self.text):
            self.step()
            end = self.text.find("\n", self.at)
            line = self.text[self.at : end if end >= 0 else len(self.text)]
            self.at = min(self.at + len(line) + 1, len(self.text))
            if not going_on and (line.lstrip("\t") if tabs else line) == word.head:
                return
            slashes = len(line) - len(line.rstrip("\\"))
            going_on = not word.quoted and slashes % 2 == 1
