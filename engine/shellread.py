"""Reads the part of the shell's language whose meaning does not depend on the shell; the rest is unclear.

Pipelines, `&&`, `||`, `;`, redirections, groups, subshells, `if`, `while`, `until` and `for … in …`. Unclear,
so never read: here-documents, background jobs, functions, `case`, arithmetic, arrays. bash, dash and zsh read
what is read here in one way, or call it an error. A text that none of them calls one is `plain`, which is
tried first: else each line may be run without those before it.

Why not a library: `tree-sitter-bash` is quadratic (40 kB of `a|` takes it 17 s, 100 kB of here-documents
7 s), mends errors, and reads `a\\⏎b` as two words where bash reads one; `bashlex` is under the GPL.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache

from msgspec import Struct

from .shellwords import HISTORY, REDIRECT, Items, Rest, Unclear, Word, WordReader, value_of

LONGEST = 32_768  # code points; some tenths of a second at worst
LONGEST_LINE = (
    1_000  # bytes; BusyBox leaves out the rest from 1,023 on, a terminal without editing from 4,096
)
_DEEPEST = 32
# Control characters, blanks and joiners that are not ASCII, lone surrogates.
_ODD = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\xa0\\xad\\u1680\\u180e\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u2064"
    "\\u3000\\ufeff\\ud800-\\udfff]"
)
# A prompt takes a line that begins so for its history, whatever it continues.
_QUICK = re.compile(r"^[ \t]*\^", re.MULTILINE)
# Behind these the history of bash may be wrong about what stands in quotes, and expand a `!` there.
_ESCAPED = re.compile(r"\\[\\\"]")
_OPERATOR = re.compile(r"&&|\|\||\|&?|;|\n|[()]")
_LOOP = re.compile(r"[a-z][a-z0-9_]*\Z")
_CLOSING = frozenset(("then", "elif", "else", "fi", "do", "done", "}"))
_ODD_WORDS = frozenset(("{", "!", "[[", "time"))  # errors for some shell, with what may stand behind them
_UNREAD = frozenset(("case", "esac", "select", "function", "coproc", "in"))
# Small names to which a shell, mostly zsh with its modules, gives a meaning of its own.
_NAMED = (
    "aliases argv auto_resume builtins cdpath commands dirstack dis_aliases dis_builtins dis_functions"
    " dis_functions_source dis_galiases dis_patchars dis_reswords dis_saliases epochtime errnos fignore"
    " fpath funcfiletrace funcsourcetrace funcstack functions functions_source functrace galiases"
    " exarr exint exstr histchars history historywords ignoreeof jobdirs jobstates jobtexts keymaps"
    " langinfo mailpath manpath"
    " mapfile match mbegin mend module_path modules nameddirs options parameters patchars path"
    " pipestatus prompt psvar reswords saliases signals status sysparams termcap terminfo userdirs"
    " usergroups watch widgets zcurses_attrs zcurses_colors zcurses_keycodes zcurses_windows zgdbm_tied"
    " zle_bracketed_paste zsh_eval_context zsh_scheduled_events"
)
_TIED = frozenset(_NAMED.split())


class Redirect(Struct, frozen=True, gc=False):
    fd: str
    operator: str
    word: Word


class Command(Struct, frozen=True, gc=False):
    """A simple command; without words it is what was redirected around a `group`, or a bare redirection.

    `link`: what stands between it and the one before. `nested`: it is in a group, a loop, or after `!`.
    `noted`: the words of the comment behind it, which a shell without comments gives to the program.
    `line`: of which line of a plain text it is, whole loops counted as one; -1 where the text is none.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    redirects: tuple[Redirect, ...]
    link: str
    nested: bool
    noted: tuple[Word, ...] = ()
    line: int = -1
    group: bool = False


@lru_cache(8)  # of one call several things are asked
def read(text: str) -> tuple[Command, ...] | None:
    """Every simple command of the text, in order; None where something in it is unclear.

    Cost: linear in the length of the text; longer than `LONGEST`, or `LONGEST_LINE` in one line, is unclear.
    """
    if len(text) > LONGEST or _ODD.search(text) or _QUICK.search(text):
        return None
    if any(len(line.encode()) > LONGEST_LINE for line in text.split("\n")):
        return None
    escaped = _ESCAPED.search(text)
    if escaped is not None and HISTORY.search(text, escaped.end()):
        return None
    for plain in (True, False):
        reader = _Reader(text, plain)
        with suppress(Unclear):
            reader.script(frozenset(), "")
            if reader.at == len(text):
                return tuple(reader.commands)
    return None


def assigned(words: tuple[Word, ...]) -> tuple[tuple[tuple[str, Word], ...], tuple[Word, ...]]:
    """The assignments before a command, and its words."""
    found: list[tuple[str, Word]] = []
    while len(found) < len(words) and words[len(found)].assigns:
        word = words[len(found)]
        name, _, value = word.head.partition("=")
        found.append((name, Word(value, word.rest, word.quoted)))
    return tuple(found), words[len(found) :]


def _is_plain(redirect: Redirect) -> bool:
    """A redirection that no shell calls an error."""
    if redirect.operator == ">&":
        return redirect.word.text in ("1", "2")
    return redirect.operator in ("<", ">", ">>") and redirect.word.head != ""


class _Reader(WordReader):
    """Collects the simple commands of a text."""

    def __init__(self, text: str, plain: bool) -> None:
        super().__init__(text, plain)
        self.again = LONGEST  # how much may be read once more
        self.depth = 0
        self.line = 0 if plain else -1
        self.commands: list[Command] = []

    def script(self, until: frozenset[str], link: str) -> str:
        """Commands up to a keyword or `)` of `until`, which is taken and given back; "" is the end."""
        first = True
        while True:
            self.newlines()
            closing = self.closing(until)
            if closing is not None:
                if first and closing:
                    raise Unclear
                return closing
            self.chain(link if first else ";")
            first = False
            operator = self.operator()
            if operator == "\n" and self.plain and not until:
                self.line += 1
            if operator not in (";", "\n"):
                if operator == ")" and ")" in until:
                    return ")"
                if operator:
                    raise Unclear
                if self.at < len(self.text):
                    raise Unclear

    def closing(self, until: frozenset[str]) -> str | None:
        self.blanks()
        if self.at == len(self.text):
            if until:
                raise Unclear
            if self.text.rstrip(" ").endswith("\\\n"):
                self.odd()  # what comes next would belong to it
            return ""
        if self.text[self.at] == ")":
            if ")" not in until:
                raise Unclear
            self.at += 1
            return ")"
        word = self.peek()
        if word is not None and word.keyword in _CLOSING:
            if word.keyword not in until:
                raise Unclear
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
            self.goes_on()

    def pipeline(self, link: str) -> None:
        self.blanks()
        word = self.peek()
        negated = int(word is not None and word.keyword == "!")
        if negated:
            self.odd()
            self.ahead = None
        self.depth += negated
        while True:
            self.command(link)
            start = self.at
            link = self.operator()
            if link not in ("|", "|&"):
                self.at = start
                break
            if link == "|&":
                self.odd()  # for dash
            self.goes_on()
        self.depth -= negated

    def command(self, link: str) -> None:
        self.blanks()
        if self.text.startswith("(", self.at) and self.ahead is None:
            self.odd()
            self.inner(("(", ")"), link)
            return
        word = self.peek()
        keyword = word.keyword if word is not None else None
        if keyword in _CLOSING or keyword in _UNREAD:
            raise Unclear
        if keyword in _ODD_WORDS:
            self.odd()
        if keyword in ("{", "if", "while", "until", "for"):
            self.inner((keyword, ""), link)
            return
        self.simple(link)

    def inner(self, kind: tuple[str, str], link: str) -> None:
        """A group, a subshell, a loop or an `if`, with the redirections after it."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Unclear
        self.ahead = None
        match kind[0]:
            case "(":
                self.at += 1
                if self.text.startswith("(", self.at):
                    raise Unclear  # arithmetic
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
            self.commands.append(Command((), (), redirects, ";", True, (), self.line, True))
        self.depth -= 1

    def loop(self, link: str) -> None:
        self.blanks()
        name = self.word().keyword or ""
        self.blanks()
        if not _LOOP.match(name) or name in _TIED or name in self.loops or self.word().keyword != "in":
            raise Unclear  # an inner loop over the same name changes the outer one's
        items, redirects = self.words(True)
        if redirects or self.operator() not in (";", "\n"):
            raise Unclear
        self.goes_on()
        if self.word().keyword != "do":
            raise Unclear
        if not items:
            self.odd()
        start = self.at
        self.loops[name] = (start, Items.of((*items, *self.noted)))
        texts = [value_of(word) for word in items] if self.plain else []
        for text in texts if None not in texts else []:
            self.values[name] = text or ""
            self.at = start
            self.script(frozenset(("done",)), link)
            link = ";"
            self.again -= self.at - start
            if self.again < 0:
                raise Unclear
        if None in texts or not texts:
            self.script(frozenset(("done",)), link)
        self.values.pop(name, None)
        del self.loops[name]

    def simple(self, link: str) -> None:
        words, redirects = self.words(True)
        noted = tuple(self.noted)
        assignments, rest = assigned(words)
        if not words and not redirects:
            raise Unclear
        if assignments or not rest:
            self.odd()
        if redirects and any(word.keyword == "[[" for word in words):
            raise Unclear  # within the condition it is an error
        self.commands.append(Command(rest, assignments, redirects, link, self.depth > 0, noted, self.line))

    def words(self, any_word: bool = False) -> tuple[tuple[Word, ...], tuple[Redirect, ...]]:
        """The words and redirections up to an operator; without `any_word` only redirections may come."""
        words: list[Word] = []
        redirects: list[Redirect] = []
        split = False
        self.noted = []
        if self.ahead is not None:
            words.append(self.ahead)
            self.ahead = None
            self.unjoined(words[-1])
        while True:
            self.blanks()
            if self.at == len(self.text) or self.text[self.at] in "\n;)|":
                return tuple(words), tuple(redirects)
            found = REDIRECT.match(self.text, self.at)
            if found is not None:
                self.at = found.end()
                self.blanks()
                fd, operator = (found[1], found[2]) if found[2] else ("", found[4])
                redirects.append(Redirect(fd, operator, self.word()))
                split = split or operator[0] == "&"
                if not _is_plain(redirects[-1]) or self.text[self.at : self.at + 1] in ("<", ">", "&"):
                    self.odd()
            elif self.text[self.at] == "&":
                return tuple(words), tuple(redirects)
            elif any_word and not split:  # dash ends the command at the `&` of `&>`
                words.append(self.word())
                self.unjoined(words[-1])
            else:
                raise Unclear

    def unjoined(self, word: Word) -> None:
        """`{fd}>f` opens a file and sets a variable; `10>f` is a word and `>f` for dash and zsh."""
        if word.head[-1:] == "}" or word.rest is not Rest.NOTHING or word.head.isdecimal():
            if self.text[self.at : self.at + 1] in ("<", ">"):
                raise Unclear

    def operator(self) -> str:
        """The operator here, "" at the end or where there is none."""
        self.blanks()
        if self.ahead is not None:
            raise Unclear
        found = _OPERATOR.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        if found[0] == ";" and self.text[self.at : self.at + 1] in (";", "&"):
            raise Unclear
        return found[0]

    def goes_on(self) -> None:
        """The lines up to what belongs to the one before: a comment between them ends it for some."""
        start = self.at
        self.newlines()
        if "#" in self.text[start : self.at]:
            self.odd()

    def newlines(self) -> None:
        self.blanks()
        while self.ahead is None and self.text.startswith("\n", self.at):
            self.at += 1
            self.blanks()
