"""Reads the words of a shell command: quotes, escapes, and where what is known of a word ends.

What a shell, or one shell of several, may read in another way is unclear and not read: substitutions, `${x…}`
with an operator, arithmetic, extended globs, history expansion, control characters, blanks beyond ASCII. The
shells are bash, dash, zsh and BusyBox.
"""

from __future__ import annotations

import re
from enum import IntEnum

from msgspec import Struct

# Not a tab, at which a prompt completes names.
_BLANKS = re.compile(r"(?: |(?<=[ \n])\\\n)*+")
# A line goes on in one that is no command by itself: it is one where a shell calls what stands before it an
# error, and reads on. (Behind a `-` zsh takes a command.)
_CAREFUL_BLANKS = re.compile(r"(?: |(?<=[ \n])\\\n(?=[ ]*+(?:[|&]|-[\w-])))*")
_PLAIN = re.compile(r"[^ \t\n\\'\"$`*?\[{}!&|;<>()]+")
_SINGLE = re.compile(r"'([^']*)'")
# dash reads a `$` and a plain quoted text, which would end at a `\'`.
_ANSI = re.compile(r"\$'((?:[^'\\\n]|\\[abefnrtv\\\"])*)'")
_DOUBLE = re.compile(r'[^"\\$`!]+')
_NAMED = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
# What zsh may take for a part of the parameter before it: a subscript or modifier.
_JOINED = re.compile(r"\[|:[a-zA-Z&]")
_LETTER = re.compile(r"[^\x00-\x7f]")  # what old bash may take for a part of a name
_COUNTED = re.compile(r"[\w$*@!?#{-]")
_BRACKETS = re.compile(r"\[\[?(?=[ \t\n]|\Z)")
_BRACES = re.compile(r"\{\}?(?=[ \t\n;&|)<>]|\Z)")
_CLOSE = re.compile(r"\}(?=[ \t\n;&|)<>]|\Z)")
HISTORY = re.compile(r"![^ \t\n=]")
_POSITION = re.compile(r"\$(?:[@*-]|[0-9]+|\{[@*0-9]\})")
# An interactive zsh knows no comments: they are read only if their words are plain, whoever gets them.
_COMMENT = re.compile(r"#[\w#./:,+@%=-]*+(?:[ ]++(?:[\w#./:,%][\w#./:,+@%=-]*+)?+)*+\Z")
_SAID = r"[\w #./:,+@%=?*~^\[\]-]|[^\x00-\x7f]"
_PLAIN_REMARK = re.compile(rf"#(?:{_SAID})*+\Z")
# Parentheses may be an error there, or a glob; not `*(…)`, which can run something, and no function's `()`.
_REMARK = re.compile(
    rf"#(?:{_SAID}|['\"]|(?<= )\((?=\w)[\w ./:,+@%=-]*+\)(?=[ .,:]|\Z)|(?<=[0-9])\)(?= ))*+\Z"
)
_SHEBANG = re.compile(r"#![\w/. -]++\Z")
# `<1-9>` is a glob for zsh.
REDIRECT = re.compile(r"([0-9]?)(?!<[0-9]*-[0-9]*>)(>>|>\||>&|<&|<<<|>|<)(?![<>(&|])|()(&>>?)(?![<>(&|])")
ASSIGNS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
UNSPLIT = re.compile(r"[\w./:@%+=,-]+\Z")
_LONGEST_VALUE = 256


class Rest(IntEnum):
    """What follows the known head of a word. The greater, the less is known."""

    NOTHING = 0
    ONE = 1  # an expansion in quotes: unknown text, but one word
    WILD = 2  # a glob or braces: one word or several, each beginning with the head
    LOOSE = 3  # an expansion that the shell splits: anything


class Word(Struct, frozen=True, gc=False):
    """A word of a command. `head`: its text up to what is not known, all of it where `rest` is NOTHING.

    `quoted`: some of it was, so it is no keyword. `safe`: though its head is not known, it does not begin
    with `-` or `/inet` and is not empty. `assigns`: it begins like an assignment, without quotes.
    `counted`: a 0 in it stands for a number that is not known (`$?`).
    """

    head: str
    rest: Rest = Rest.NOTHING
    quoted: bool = False
    safe: bool = False
    assigns: bool = False
    counted: bool = False

    @property
    def text(self) -> str | None:
        """The whole word, None where it is not known."""
        return self.head if self.rest is Rest.NOTHING else None

    @property
    def keyword(self) -> str | None:
        return None if self.quoted else self.text


class Unclear(Exception):
    """Something that is not read."""


class WordReader:
    """Goes once through the text.

    `plain`: what some shell may call an error is unclear, so no line is run without those before it; a loop
    over known words is read once for each of them. `values`: the variables of such loops.
    `loops`: the variables of the loops around, where their bodies begin, and what they may be.
    """

    def __init__(self, text: str, plain: bool) -> None:
        self.text = text
        self.plain = plain
        self.history = HISTORY.search(text) is not None
        self.at = 0
        self.loops: dict[str, tuple[int, Items]] = {}
        self.values: dict[str, str] = {}
        self.ahead: Word | None = None  # the word that was looked at and not taken
        self.noted: list[Word] = []  # the words of the last comment

    def blanks(self) -> None:
        """Skip blanks, continued lines and a comment. It is only called where a word may begin."""
        if self.ahead is not None:
            return
        found = (_BLANKS if self.plain else _CAREFUL_BLANKS).match(self.text, self.at)
        start = self.at
        self.at = found.end() if found is not None else self.at
        if self.text.startswith("#", self.at):
            if start == self.at and self.at and self.text[self.at - 1] not in " \t\n;&|()":
                raise Unclear
            end = self.text.find("\n", self.at)
            comment = self.text[self.at : end if end >= 0 else len(self.text)]
            if not (
                self.is_remark(comment) if self.is_alone() else _COMMENT.match(comment) and not self.plain
            ):
                raise Unclear
            self.noted = [Word(each) for each in comment.split()]
            self.at += len(comment)

    def is_alone(self) -> bool:
        """Is a line of its own here, for whoever reads the comment as a command?"""
        start = self.text.rfind("\n", 0, self.at) + 1
        return not self.text[start : self.at].strip(" ") and self.text[start - 2 : start] != "\\\n"

    def is_remark(self, comment: str) -> bool:
        """Is a comment in a line of its own no more to zsh than a command `#` and its words, or an error?"""
        if self.at == 0 and _SHEBANG.match(comment):
            return True
        if self.plain or not _REMARK.match(comment):
            return _PLAIN_REMARK.match(comment) is not None
        single, double = comment.count("'"), comment.count('"')
        if single % 2 and "'" in self.text[self.at + len(comment) :]:
            return False  # for zsh the quotes go on up to there
        return double % 2 == 0 and not (single and double)

    def odd(self) -> None:
        """Something that some shell may call an error."""
        if self.plain:
            raise Unclear

    def peek(self) -> Word | None:
        """The word where a command may begin, kept for who takes it; None for an operator or redirection."""
        if self.ahead is None:
            if self.at == len(self.text) or self.text[self.at] in "\n;&|<>()":
                return None
            if REDIRECT.match(self.text, self.at):
                return None
            if _CLOSE.match(self.text, self.at):
                self.ahead = Word("}")
                self.at += 1
            else:
                self.ahead = self.word()
        return self.ahead

    def word(self) -> Word:
        if self.ahead is not None:
            word, self.ahead = self.ahead, None
            return word
        made = Making()
        text, start = self.text, self.at
        opened = 0
        while self.at < len(text):
            letter = text[self.at]
            if letter in " \t\n&|;<>()":
                break
            if (found := _PLAIN.match(text, self.at)) is not None:
                made.add(found[0])
                self.at = found.end()
            elif letter == "'":
                found = _SINGLE.match(text, self.at)
                if found is None or text[self.at - 1 : self.at] == "$":
                    raise Unclear  # the history of bash takes it for `$'…'`, which may go on behind a `\'`
                self.lines(found[1])
                made.quoted = True
                made.add(found[1])
                self.at = found.end()
            elif letter == '"':
                self.at += 1
                self.double(made)
            elif letter == "\\":
                if text[self.at + 1 : self.at + 2] in ("", "\n"):
                    raise Unclear
                made.quoted = True
                made.add(text[self.at + 1])
                self.at += 2
            elif letter == "$":
                self.dollar(made, False)
            elif letter in "*?[{":
                opened += letter == "{"
                self.wild(made, start)
            elif letter == "}" and opened:  # zsh closes a group at any other: `{ ls a} always { rm a; }`
                opened -= 1
                made.add("}")
                self.at += 1
            elif letter == "!" and self.tame():
                made.add("!")
                self.at += 1
            else:
                raise Unclear
        if self.at == start:
            raise Unclear
        return made.word(ASSIGNS.match(text, start) is not None)

    def double(self, made: Making) -> None:
        made.quoted = True
        while True:
            found = _DOUBLE.match(self.text, self.at)
            if found is not None:
                self.lines(found[0])
                made.add(found[0])
                self.at = found.end()
            letter = self.text[self.at : self.at + 1]
            if letter == '"':
                self.at += 1
                return
            if letter == "$":
                self.dollar(made, True)
            elif letter == "!" and self.tame():
                made.add("!")
                self.at += 1
            elif letter == "\\" and (after := self.text[self.at + 1 : self.at + 2]) not in ("", "\n", "!"):
                made.add(after if after in '$`"\\' else letter + after)
                self.at += 2
            else:
                raise Unclear

    def lines(self, quoted: str) -> None:
        """A text in quotes that goes on in another line: there the history of bash may not know of them."""
        if "\n" in quoted and (not self.plain or self.history):
            raise Unclear

    def tame(self) -> bool:
        """An `!` that an interactive shell does not take for its history."""
        return self.text[self.at + 1 : self.at + 2] in ("", " ", "\t", "\n", "=")

    def wild(self, made: Making, start: int) -> None:
        """A glob or braces; but `{`, `{}`, `[` and `[[` are words like any other."""
        found = _BRACES.match(self.text, self.at)
        if found is None and self.at == start:
            found = _BRACKETS.match(self.text, self.at)
        if found is not None:
            if found[0] not in ("{}", "["):
                self.odd()
            made.add(found[0])
            self.at = found.end()
        else:
            if self.text[self.at] in "{[":
                self.odd()
            made.unknown(Rest.WILD)
            self.at += 1

    def dollar(self, made: Making, quoted: bool) -> None:
        after = self.text[self.at + 1 : self.at + 2]
        if not quoted and (found := _ANSI.match(self.text, self.at)) is not None:
            made.quoted = True  # one text in dash, another in the others
            made.unknown(Rest.ONE, safe=is_safe(found[1]))
            self.at = found.end()
            return
        if after in ("?", "#", "$") and after:
            if after == "#" and _COUNTED.match(self.text, self.at + 2):
                raise Unclear  # zsh gives the length of what follows
            made.add("0")  # a number, as harmless as this one
            made.counted = True
            self.at += 2
        elif after == "!":
            self.at += 1
            if quoted or not self.tame():
                raise Unclear  # a prompt takes it for its history: zsh leaves out the `!"` of `"$!"`
            self.at -= 1
            # Without a background job it is empty, and an empty one without quotes is no word at all.
            made.unknown(Rest.ONE if quoted else Rest.WILD, safe=True)
            self.at += 2
        elif (named := _NAMED.match(self.text, self.at)) is not None:
            if _LETTER.match(self.text, named.end()):
                raise Unclear
            self.variable(made, named[1] or named[2], quoted)
            self.at = named.end()
        elif (found := _POSITION.match(self.text, self.at)) is not None:
            made.unknown(Rest.ONE if quoted and "@" not in found[0] else Rest.LOOSE)
            self.at = found.end()
        elif after in ("", " ", "\t", "\n", "/", ".", ",", "|", ")", "%") or (quoted and after == '"'):
            made.add("$")
            self.at += 1
        else:
            raise Unclear
        if _JOINED.match(self.text, self.at):
            raise Unclear

    def variable(self, made: Making, name: str, quoted: bool) -> None:
        value = self.values.get(name)
        if value is not None and (quoted or UNSPLIT.match(value)):
            made.quoted = True
            made.add(value)
            return
        found = self.loops.get(name)
        if found is None:
            made.unknown(Rest.ONE if quoted else Rest.LOOSE)
            return
        begun, items = found
        if not self.plain and self.text.find("\n", begun, self.at) >= 0:
            items = _OLD
        made.unknown(items.quoted if quoted else items.bare, items.safe)


class Items(Struct, frozen=True, gc=False):
    """What a loop goes through: how its variable reads in quotes and without, and is it a safe word?"""

    quoted: Rest
    bare: Rest
    safe: bool

    @staticmethod
    def of(items: tuple[Word, ...]) -> Items:
        safe = all(is_safe(item.head) for item in items)
        most = max((item.rest for item in items), default=Rest.NOTHING)
        if most in (Rest.ONE, Rest.LOOSE):
            return Items(Rest.ONE, Rest.LOOSE, False)
        if most is Rest.WILD:
            return Items(Rest.ONE if safe else Rest.WILD, Rest.LOOSE, safe)
        one = safe and all(UNSPLIT.match(item.head) for item in items)
        return Items(Rest.ONE, Rest.ONE if one else Rest.LOOSE, safe)


# In a later line: where a shell calls one between an error, there is no loop, and the value is older.
_OLD = Items(Rest.WILD, Rest.LOOSE, False)


def value_of(word: Word) -> str | None:
    """What a variable is that is given this word, None where that is not known, or too long to be a name."""
    return None if word.counted or len(word.head) > _LONGEST_VALUE else word.text


def is_safe(head: str) -> bool:
    """Can what begins so be no option, and no `/inet`, which is a connection for gawk?

    For zsh `~x` is what a variable says; where the home is `/`, a `~` is nothing.
    """
    path = head.removeprefix("~")
    if path == "" or path[0] == "-" or "/inet".startswith(path[:5]):
        return False
    return path == head or path[0] == "/"


class Making:
    """A word while it is read."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.rest = Rest.NOTHING
        self.quoted = False
        self.safe = False
        self.counted = False

    def add(self, text: str) -> None:
        if self.rest is Rest.NOTHING:
            self.parts.append(text)

    def unknown(self, rest: Rest, safe: bool = False) -> None:
        if self.rest is Rest.NOTHING:
            self.safe = safe and not any(self.parts)
        elif {rest, self.rest} == {Rest.ONE, Rest.WILD}:
            rest = Rest.LOOSE  # more than a glob: what is not known may be anything
        self.rest = max(rest, self.rest)

    def word(self, assigns: bool) -> Word:
        return Word("".join(self.parts), self.rest, self.quoted, self.safe, assigns, self.counted)
