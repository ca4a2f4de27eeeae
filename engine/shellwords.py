"""Reads the part of the shell's language whose meaning does not depend on the shell; the rest is unclear.

Words and quotes, pipelines, `&&`, `||`, `;`, redirections, groups, subshells, `if`, `while`, `until` and
`for … in …`. Unclear, so never read: substitutions, here-documents, background jobs, functions, `case`,
arithmetic, arrays, extended globs, `${x…}` with an operator, history expansion, control characters, blanks
that are not ASCII. bash, dash and zsh read what is read here in one way (or call it an error).

Why not a library: `tree-sitter-bash` is quadratic (40 kB of `a|` takes it 17 s, 100 kB of here-documents
7 s), mends errors, and reads `a\\⏎b` as two words where bash reads one; `bashlex` is under the GPL.
"""

from __future__ import annotations

import re
from enum import IntEnum

from msgspec import Struct

LONGEST = 32_768  # code points; some tenths of a second at worst
_DEEPEST = 32

# Control characters, blanks and joiners that are not ASCII, lone surrogates.
_ODD = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\xa0\\xad\\u1680\\u180e\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u2064"
    "\\u3000\\ufeff\\ud800-\\udfff]"
)
_BLANKS = re.compile(r"(?:[ \t]|(?<=[ \t\n])\\\n)*")
_PLAIN = re.compile(r"[^ \t\n\\'\"$`*?\[{!&|;<>()]+")
_SINGLE = re.compile(r"'([^']*)'")
_ANSI = re.compile(r"\$'((?:[^'\\]|\\[abefnrtv\\'\"])*)'")
_ESCAPED = re.compile(r"\\(.)")
_DOUBLE = re.compile(r'[^"\\$`!]+')
_NAMED = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
# What a shell may take for a part of the variable before it: zsh a subscript or modifier, old bash a letter.
_JOINED = re.compile(r"\[|:[a-zA-Z&]|[^\x00-\x7f]")
_BRACKETS = re.compile(r"\[\[?(?=[ \t\n]|\Z)")
_BRACES = re.compile(r"\{\}?(?=[ \t\n;&|)<>]|\Z)")
_POSITION = re.compile(r"\$(?:[@*0-9-]|\{[@*0-9]\})")
_REDIRECT = re.compile(r"([0-9]*)(>>|>\||>&|<&|<<<|>|<)(?![<>(&|])|()(&>>?)(?![<>(&|])")
_OPERATOR = re.compile(r"&&|\|\||\|&?|;|\n|[()]")
_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_LOOP = re.compile(r"[a-z][a-z0-9_]*\Z")
_UNSPLIT = re.compile(r"[\w./:@%+=,-]+\Z")
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CLOSING = frozenset(("then", "elif", "else", "fi", "do", "done", "}"))
_UNREAD = frozenset(("case", "esac", "select", "function", "coproc", "in"))
# Small names that zsh ties to its own state.
_TIED = frozenset(
    (
        *(
            "path",
            "cdpath",
            "fpath",
            "manpath",
            "mailpath",
            "module_path",
            "psvar",
            "prompt",
            "argv",
            "status",
        ),
        *("fignore", "histchars", "watch", "options", "commands", "functions", "aliases", "parameters"),
        *("signals", "widgets", "keymaps"),
    )
)


class Rest(IntEnum):
    """What follows the known head of a word. The greater, the less is known."""

    NOTHING = 0
    ONE = 1  # an expansion in quotes: unknown text, but one word
    WILD = 2  # a glob or braces: one word or several, each beginning with the head
    LOOSE = 3  # an expansion that the shell splits: anything


class Word(Struct, frozen=True):
    """A word of a command. `head`: its text up to what is not known, all of it where `rest` is NOTHING.

    `quoted`: some of it was, so it is no keyword. `safe`: though its head is not known, it does not begin
    with `-` and is not empty. `assigns`: it begins like an assignment, without quotes.
    """

    head: str
    rest: Rest = Rest.NOTHING
    quoted: bool = False
    safe: bool = False
    assigns: bool = False

    @property
    def text(self) -> str | None:
        """The whole word, None where it is not known."""
        return self.head if self.rest is Rest.NOTHING else None

    @property
    def keyword(self) -> str | None:
        return None if self.quoted else self.text


class Redirect(Struct, frozen=True):
    fd: str
    operator: str
    word: Word


class Command(Struct, frozen=True):
    """A simple command; without words it is what was redirected around a group, or a bare redirection.

    `link`: what stands between it and the one before. `nested`: it is in a group, a loop, or after `!`.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    redirects: tuple[Redirect, ...]
    link: str
    nested: bool


def read(text: str) -> tuple[Command, ...] | None:
    """Every simple command of the text, in order; None where something in it is unclear.

    Cost: linear in the length of the text; longer than `LONGEST` is unclear.
    """
    if len(text) > LONGEST or _ODD.search(text):
        return None
    reader = _Reader(text)
    try:
        reader.script(frozenset(), "")
        if reader.at < len(text):
            return None
    except _Unclear:
        return None
    return tuple(reader.commands)


class _Unclear(Exception):
    """Something that is not read."""


class _Reader:
    """Goes once through the text. `loops`: the variables of the loops around, and what they may be."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.commands: list[Command] = []
        self.loops: dict[str, _Items] = {}
        self.ahead: Word | None = None  # the keyword that was looked at and not taken

    # Commands

    def script(self, until: frozenset[str], link: str) -> str:
        """Commands up to a keyword or `)` of `until`, which is taken and given back; "" is the end."""
        first = True
        while True:
            self.newlines()
            closing = self.closing(until)
            if closing is not None:
                if first and closing:
                    raise _Unclear
                return closing
            self.chain(link if first else ";")
            first = False
            operator = self.operator()
            if operator not in (";", "\n"):
                if operator == ")" and ")" in until:
                    return ")"
                if operator:
                    raise _Unclear
                if self.at < len(self.text):
                    raise _Unclear

    def closing(self, until: frozenset[str]) -> str | None:
        self.blanks()
        if self.at == len(self.text):
            if until:
                raise _Unclear
            return ""
        if self.text[self.at] == ")":
            if ")" not in until:
                raise _Unclear
            self.at += 1
            return ")"
        word = self.peek()
        if word is not None and word.keyword in _CLOSING:
            if word.keyword not in until:
                raise _Unclear
            self.ahead = None
            return word.keyword
        return None

    def chain(self, link: str) -> None:
        """Pipelines joined by `&&` and `||`."""
        while True:
            self.pipeline(link)
            start = self.at
            link = self.operator()
            if link not in ("&&", "||"):
                self.at = start
                return
            self.newlines()

    def pipeline(self, link: str) -> None:
        self.blanks()
        negated = 0
        while (word := self.peek()) is not None and word.keyword == "!":
            self.ahead = None
            negated = 1
            self.blanks()
        self.depth += negated
        while True:
            self.command(link)
            start = self.at
            link = self.operator()
            if link not in ("|", "|&"):
                self.at = start
                break
            self.newlines()
        self.depth -= negated

    def command(self, link: str) -> None:
        self.blanks()
        if self.text.startswith("(", self.at) and self.ahead is None:
            self.inner(("(", ")"), link)
            return
        word = self.peek()
        keyword = word.keyword if word is not None else None
        if keyword in _CLOSING or keyword in _UNREAD:
            raise _Unclear
        if keyword in ("{", "if", "while", "until", "for"):
            self.inner((keyword, ""), link)
            return
        self.simple(link)

    def inner(self, kind: tuple[str, str], link: str) -> None:
        """A group, a subshell, a loop or an `if`, with the redirections after it."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _Unclear
        self.ahead = None
        match kind[0]:
            case "(":
                self.at += 1
                if self.text.startswith("(", self.at):
                    raise _Unclear  # arithmetic
                self.script(frozenset((")",)), link)
            case "{":
                self.script(frozenset(("}",)), link)
            case "if":
                self.script(frozenset(("then",)), link)
                while (found := self.script(frozenset(("elif", "else", "fi")), ";")) == "elif":
                    self.script(frozenset(("then",)), ";")
                if found == "else":
                    self.script(frozenset(("fi",)), ";")
            case "for":
                self.loop(link)
            case _:
                self.script(frozenset(("do",)), link)
                self.script(frozenset(("done",)), ";")
        _, redirects = self.words()
        if redirects:
            self.commands.append(Command((), (), redirects, ";", True))
        self.depth -= 1

    def loop(self, link: str) -> None:
        self.blanks()
        name = self.word().keyword or ""
        self.blanks()
        if not _LOOP.match(name) or name in _TIED or name in self.loops or self.word().keyword != "in":
            raise _Unclear  # an inner loop over the same name changes the outer one's
        items, redirects = self.words(True)
        if redirects or self.operator() not in (";", "\n"):
            raise _Unclear
        self.newlines()
        if self.word().keyword != "do":
            raise _Unclear
        self.loops[name] = _Items.of(items)
        self.script(frozenset(("done",)), link)
        del self.loops[name]

    def simple(self, link: str) -> None:
        words, redirects = self.words(True)
        assignments: list[tuple[str, Word]] = []
        while len(assignments) < len(words):
            word = words[len(assignments)]
            if not word.assigns:
                break
            name, _, value = word.head.partition("=")
            assignments.append((name, Word(value, word.rest, word.quoted)))
        rest = words[len(assignments) :]
        if not words and not redirects:
            raise _Unclear
        self.commands.append(Command(rest, tuple(assignments), redirects, link, self.depth > 0))

    def words(self, any_word: bool = False) -> tuple[tuple[Word, ...], tuple[Redirect, ...]]:
        """The words and redirections up to an operator; without `any_word` only redirections may come."""
        words: list[Word] = []
        redirects: list[Redirect] = []
        if self.ahead is not None:
            words.append(self.ahead)
            self.ahead = None
            self.unjoined(words[-1])
        while True:
            self.blanks()
            if self.at == len(self.text) or self.text[self.at] in "\n;)|":
                return tuple(words), tuple(redirects)
            found = _REDIRECT.match(self.text, self.at)
            if found is not None:
                self.at = found.end()
                self.blanks()
                fd, operator = (found[1], found[2]) if found[2] else ("", found[4])
                redirects.append(Redirect(fd, operator, self.word()))
            elif self.text[self.at] == "&":
                return tuple(words), tuple(redirects)
            elif any_word:
                words.append(self.word())
                self.unjoined(words[-1])
            else:
                raise _Unclear

    def unjoined(self, word: Word) -> None:
        """`{fd}>f` opens a file and sets a variable."""
        if word.head[-1:] == "}" or word.rest is not Rest.NOTHING:
            if self.text[self.at : self.at + 1] in ("<", ">"):
                raise _Unclear

    def operator(self) -> str:
        """The operator here, "" at the end or where there is none."""
        self.blanks()
        if self.ahead is not None:
            raise _Unclear
        found = _OPERATOR.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        if found[0] == ";" and self.text[self.at : self.at + 1] in (";", "&"):
            raise _Unclear
        return found[0]

    def newlines(self) -> None:
        self.blanks()
        while self.ahead is None and self.text.startswith("\n", self.at):
            self.at += 1
            self.blanks()

    def blanks(self) -> None:
        """Skip blanks, continued lines and a comment. It is only called where a word may begin."""
        if self.ahead is not None:
            return
        found = _BLANKS.match(self.text, self.at)
        start = self.at
        self.at = found.end() if found is not None else self.at
        if self.text.startswith("#", self.at):
            if start == self.at and self.at and self.text[self.at - 1] not in " \t\n;&|()":
                raise _Unclear
            end = self.text.find("\n", self.at)
            comment = self.text[self.at : end if end >= 0 else len(self.text)]
            if "!" in comment:
                raise _Unclear  # an interactive shell looks for its history in it
            self.at += len(comment)

    # Words

    def peek(self) -> Word | None:
        """The next word, kept for who takes it; None where an operator or redirection comes."""
        if self.ahead is None:
            if self.at == len(self.text) or self.text[self.at] in "\n;&|<>()":
                return None
            if _REDIRECT.match(self.text, self.at):
                return None
            self.ahead = self.word()
        return self.ahead

    def word(self) -> Word:
        if self.ahead is not None:
            word, self.ahead = self.ahead, None
            return word
        made = _Making()
        text, start = self.text, self.at
        while self.at < len(text):
            letter = text[self.at]
            if letter in " \t\n&|;<>()":
                break
            if (found := _PLAIN.match(text, self.at)) is not None:
                made.add(found[0])
                self.at = found.end()
            elif letter == "'":
                self.quoted(made, _SINGLE)
            elif letter == '"':
                self.at += 1
                self.double(made)
            elif letter == "\\":
                if text[self.at + 1 : self.at + 2] in ("", "\n"):
                    raise _Unclear
                made.quoted = True
                made.add(text[self.at + 1])
                self.at += 2
            elif letter == "$":
                self.dollar(made, False)
            elif letter in "*?[{":
                self.wild(made, start)
            elif letter == "!" and self.tame():
                made.add("!")
                self.at += 1
            else:
                raise _Unclear
        if self.at == start:
            raise _Unclear
        return made.word(_NAME.match(text, start) is not None)

    def quoted(self, made: _Making, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _Unclear
        inside = found[1]
        if pattern is _ANSI:
            inside = _ESCAPED.sub(lambda each: _LETTERS.get(each[1], each[1]), inside)
        made.quoted = True
        made.add(inside)
        self.at = found.end()

    def double(self, made: _Making) -> None:
        made.quoted = True
        while True:
            found = _DOUBLE.match(self.text, self.at)
            if found is not None:
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
                raise _Unclear

    def tame(self) -> bool:
        """An `!` that an interactive shell does not take for its history."""
        return self.text[self.at + 1 : self.at + 2] in ("", " ", "\t", "\n", "=")

    def wild(self, made: _Making, start: int) -> None:
        """A glob or braces; but `{`, `{}`, `[` and `[[` are words like any other."""
        found = _BRACES.match(self.text, self.at)
        if found is None and self.at == start:
            found = _BRACKETS.match(self.text, self.at)
        if found is not None:
            made.add(found[0])
            self.at = found.end()
        else:
            made.unknown(Rest.WILD)
            self.at += 1

    def dollar(self, made: _Making, quoted: bool) -> None:
        after = self.text[self.at + 1 : self.at + 2]
        if after in ("?", "#", "$") and after:
            made.add("0")  # a number
            self.at += 2
        elif after == "!":
            # Without a background job it is empty, and an empty one without quotes is no word at all.
            made.unknown(Rest.ONE if quoted else Rest.WILD, safe=True)
            self.at += 2
        elif (named := _NAMED.match(self.text, self.at)) is not None:
            if _JOINED.match(self.text, named.end()):
                raise _Unclear
            self.variable(made, named[1] or named[2], quoted)
            self.at = named.end()
        elif (found := _POSITION.match(self.text, self.at)) is not None:
            made.unknown(Rest.ONE if quoted and "@" not in found[0] else Rest.LOOSE)
            self.at = found.end()
        elif not quoted and after == "'":
            self.quoted(made, _ANSI)
        elif after in ("", " ", "\t", "\n", "/", ".", ",", "|", ")", "%") or (quoted and after == '"'):
            made.add("$")
            self.at += 1
        else:
            raise _Unclear

    def variable(self, made: _Making, name: str, quoted: bool) -> None:
        items = self.loops.get(name)
        if items is None:
            made.unknown(Rest.ONE if quoted else Rest.LOOSE)
        else:
            made.unknown(items.quoted if quoted else items.bare, items.safe)


class _Items(Struct, frozen=True):
    """What a loop goes through: how its variable reads in quotes and without, and is it a safe word?"""

    quoted: Rest
    bare: Rest
    safe: bool

    @staticmethod
    def of(items: tuple[Word, ...]) -> _Items:
        safe = all(item.head and item.head[0] != "-" for item in items)
        most = max((item.rest for item in items), default=Rest.NOTHING)
        if most in (Rest.ONE, Rest.LOOSE):
            return _Items(Rest.ONE, Rest.LOOSE, False)
        if most is Rest.WILD:
            return _Items(Rest.WILD, Rest.LOOSE, safe)
        one = safe and all(_UNSPLIT.match(item.head) for item in items)
        return _Items(Rest.ONE, Rest.ONE if one else Rest.LOOSE, safe)


class _Making:
    """A word while it is read."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.rest = Rest.NOTHING
        self.quoted = False
        self.safe = False

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
        return Word("".join(self.parts), self.rest, self.quoted, self.safe, assigns)
