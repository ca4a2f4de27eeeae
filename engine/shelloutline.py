"""Finds the simple commands of a text that is not wholly understood, as far as they stand there plainly.

Where `shellread` refuses, this reads on: here-documents, substitutions, background jobs, `case`, functions,
and what `sudo` or `sh -c` runs. So nothing may be called read-only by it: it says what is named, and where.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache

from msgspec import Struct

from .shellprograms import program_name
from .shellread import LONGEST, Command, Redirect, assigned
from .shellrough import DEEPEST, RoughReader
from .shellwords import Rest, Unclear, Word, value_of
from .shellwrappers import MOST, Words
from .whereabouts import within

_OPERATOR = re.compile(r"\n|;;&?|;&?|&&|\|\||\|&?|&(?!>)|\(\(?|\)")
_REDIRECT = re.compile(r"([0-9]*+|\{\w++\})(<<<|<<-?|<>|<&|<(?!\()|>>|>\||>&|>(?!\()|&>>?)")
_CLOSING = re.compile(r"\s\]\](?=[\s;&|)]|\Z)")
_NAME = re.compile(r"\w+")
# They give variables another value.
_SETTING = frozenset(
    (
        *("read", "mapfile", "readarray", "export", "declare", "local", "typeset", "readonly", "unset"),
        *("getopts", "let", "printf"),
    )
)
_CONDITION = re.compile(r"\[\[(?=\s)")
_IN = re.compile(r"in(?=\s)")
_BRACE = re.compile(r"\{(?=\s)")
_KEYWORDS = frozenset(("if", "then", "elif", "else", "fi", "while", "until", "}", "!", "esac", "coproc"))
MOVES = frozenset(("cd", "pushd", "popd"))
# Programs that run the words behind their options, of which these letters take a value.
_RUNNERS = {
    **dict.fromkeys(("nohup", "setsid", "command", "builtin"), ""),
    "env": "u",
    "sudo": "ugprtTUhC",
    "doas": "u",
    "nice": "n",
    "ionice": "cnp",
    "timeout": "ks",
    "time": "fo",
    "stdbuf": "ioe",
    "exec": "a",
}
# With these they run it in another folder, or as a text of their own.
_ELSEWHERE = {
    "env": re.compile(r"-[A-Za-z]*[CS]|--(?:chdir|split-string)"),
    "sudo": re.compile(r"-[A-Za-z]*[DRi]|--(?:chdir|chroot|login)"),
}
# Programs that run what they are given as code, and the options behind which it stands.
_INTERPRETERS = re.compile(r"(?:python[0-9.]*|node|perl|ruby|php|deno|bun|osascript|Rscript)\Z")
_CODE = frozenset(("-c", "-e", "--eval", "-r", "-p", "-pe", "-ne"))
_NEVER = re.compile(r"(?!)")
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ash", "ksh"))


_NOTHING = Command((), (), (), ";", True)


class Found(Struct, frozen=True, gc=False):
    """A simple command, and the folder that it runs in: "" is where the text begins, None any. `code`: it is
    no more than the code that a program before it is given."""

    command: Command
    folder: str | None
    code: str = ""


@lru_cache(8)  # of one call several things are asked
def outline(text: str) -> tuple[Found, ...]:
    """The simple commands up to what cannot be read, in order; those in a loop once for each known value.

    Cost: linear in the length of the text, of which `LONGEST` steps are taken at most: a word, a part of one,
    a line of a here-document.
    """
    reader = _Outline(text)
    with suppress(Unclear):
        reader.script("", "")
    return tuple(reader.found)


class _Loop:
    """A loop whose body is read: where that begins, and which values are left for its variable."""

    def __init__(self, name: str, values: list[str], at: int) -> None:
        self.name = name
        self.values = values
        self.at = at


class _Outline(RoughReader):
    """Goes through the text; `again`: how much of it may be read once more, for the values of loops."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.again = LONGEST
        self.folder: str | None = ""
        # That begin in the next line: how each ends, whether behind tabs, who runs it, and where.
        self.documents: list[tuple[Word, bool, str, str | None]] = []
        self.found: list[Found] = []

    def script(self, end: str, link: str) -> None:
        """Commands up to an `end` that nothing in them opened, which is taken."""
        loops: list[_Loop] = []
        opened: list[str | None] = []  # the folders that subshells began in
        ahead = _Loop("", [], 0)
        start = self.folder
        fresh = True  # nothing stands between `link` and here
        while True:
            self.step()
            self.blanks()
            if self.at == len(self.text):
                if end:
                    raise Unclear
                return
            operator = _OPERATOR.match(self.text, self.at)
            if operator is not None:
                self.at = operator.end()
                match operator[0]:
                    case "\n":
                        self.bodies()
                        link = link if fresh else ";"
                        start = self.folder if link == ";" else start
                    case "(" | "((":
                        if operator[0] == "(" or not self.arithmetic():
                            opened.append(self.folder)
                            self.at = operator.start() + 1
                        continue
                    case ")":
                        if not opened:
                            if end == ")":
                                return
                            raise Unclear
                        start = self.folder = opened.pop()
                        fresh = False
                        continue
                    case "&":
                        link, self.folder = ";", start
                    case "&&" | "||" | "|" | "|&":
                        link = operator[0]
                    case _:
                        link, start = ";", self.folder
                        if operator[0] != ";":
                            self.pattern()
                fresh = True
                continue
            if _CONDITION.match(self.text, self.at):
                closing = _CLOSING.search(self.text, self.at)
                if closing is None:
                    raise Unclear
                self.at = closing.end()
                fresh = False
                continue
            if _BRACE.match(self.text, self.at):
                self.at += 1
                continue
            first = None if _REDIRECT.match(self.text, self.at) else self.word()
            keyword = first.keyword if first is not None else None
            if keyword in ("for", "select"):
                ahead = self.loop()
            elif keyword == "do":
                ahead.at = self.at
                self.enter(ahead)
                loops.append(ahead)
                ahead = _Loop("", [], 0)
            elif keyword == "done":
                if loops and not self.repeats(loops[-1]):
                    loops.pop()
                fresh = False
            elif keyword == "case":
                self.blanks()
                self.word()
                self.lines()
                if self.word().keyword != "in":
                    raise Unclear
                self.pattern()
            elif keyword == "function":
                self.blanks()
                self.word()
            elif keyword in _KEYWORDS:
                fresh = fresh and keyword not in ("fi", "}", "esac")
            else:
                self.simple(first, link, start)
                fresh = False

    def simple(self, first: Word | None, link: str, start: str | None) -> None:
        words = [] if first is None else [first]
        if first is not None and first.head.endswith("=") and self.text.startswith("(", self.at):
            self.array()
        redirects: list[Redirect] = []
        documents: list[tuple[Word, bool]] = []
        while True:
            self.blanks()
            into = _REDIRECT.match(self.text, self.at)
            if into is not None:
                self.at = into.end()
                self.blanks()
                word = self.word()
                if into[2][:2] != "<<":
                    redirects.append(Redirect(into[1], into[2], word))
                elif into[2] != "<<<":
                    documents.append((word, into[2] == "<<-"))
            elif self.at == len(self.text) or _OPERATOR.match(self.text, self.at):
                break
            else:
                words.append(self.word())
        assignments, rest = assigned(tuple(words))
        rest = _unwrapped(rest)
        # Behind a `||` it runs where what stands before it failed.
        folder = self.folder
        here = None if link == "||" and folder != start else folder
        self.found.append(Found(Command(rest, assignments, tuple(redirects), link, True), here))
        script, code = _script(rest), _code(rest)
        runs = "shell" if script == "" else "code" if code == "" else ""
        self.documents += [(*each, runs, here) for each in documents]
        if code:
            self.found.append(Found(_NOTHING, here, code))
        if script:
            self.folder = here
            self.inner(script)
            self.folder = folder
        if any(word.text in MOVES for word in rest):
            self.folder = _moved(folder, rest)
        if rest and rest[0].text in _SETTING:
            names = (_NAME.match(word.head) for word in rest[1:])
            self.known.update((found[0], None) for found in names if found is not None)
        elif rest and "+=" in rest[0].head:
            self.known[rest[0].head.partition("+=")[0]] = None
        for name, value in () if rest else assignments:
            text = value_of(value)
            self.known[name] = text if self.known.get(name, text) == text else None

    def array(self) -> None:
        """Past the words of an array, which are no command."""
        found = len(self.found)
        self.at += 1
        self.deeper(self.substitution)
        del self.found[found:]

    def inner(self, text: str) -> None:
        """The commands of a text that a shell is given."""
        if self.depth == DEEPEST:
            return
        kept = self.text, self.at, self.known, self.documents, self.folder, self.depth
        self.text, self.at, self.known, self.documents = text, 0, {}, []
        self.depth += 1
        with suppress(Unclear):
            self.script("", "")
        self.text, self.at, self.known, self.documents, self.folder, self.depth = kept

    def loop(self) -> _Loop:
        """What stands between `for` and `do`."""
        self.blanks()
        if self.text.startswith("((", self.at):
            return _Loop("", [], 0)
        name = self.word().keyword or ""
        self.lines()
        into = _IN.match(self.text, self.at)
        values: list[str] = []
        certain = into is not None
        self.at = into.end() if into is not None else self.at
        while into is not None:
            self.blanks()
            if self.at == len(self.text) or _OPERATOR.match(self.text, self.at):
                break
            word = self.word()
            certain = certain and value_of(word) is not None
            values.append(word.head)
        return _Loop(name, values[::-1] if certain else [], 0)

    def enter(self, loop: _Loop) -> None:
        self.known[loop.name] = loop.values.pop() if loop.values else None

    def repeats(self, loop: _Loop) -> bool:
        """Go back to the beginning of a loop, if a value is left for it."""
        self.again -= self.at - loop.at if loop.values else 0
        if not loop.values or self.again < 0:
            return False
        self.enter(loop)
        self.at = loop.at
        return True

    def pattern(self) -> None:
        """Past a pattern of a `case`, or the `esac` behind the last."""
        self.lines()
        if self.text.startswith("(", self.at):
            self.at += 1
        elif self.text.startswith("esac", self.at):
            return
        while not self.text.startswith(")", self.at):
            if self.text.startswith("|", self.at):
                self.at += 1
            else:
                self.word()
            self.blanks()
        self.at += 1

    def bodies(self) -> None:
        """Past the here-documents that begin here."""
        documents, self.documents = self.documents, []
        for word, tabs, runs, folder in documents:
            start = self.at
            self.body(word, tabs)
            if runs == "shell":
                self.inner(self.text[start : self.at])
            elif runs:
                self.found.append(Found(_NOTHING, folder, self.text[start : self.at]))

    def lines(self) -> None:
        """Past blanks and ends of lines."""
        self.blanks()
        while self.text.startswith("\n", self.at):
            self.step()
            self.at += 1
            self.bodies()
            self.blanks()

    def substitution(self) -> None:
        folder = self.folder
        self.script(")", "")
        self.folder = folder


def _unwrapped(words: Words) -> Words:
    """The words that are run in the end, with whatever rights and variables; none where it is elsewhere."""
    for _ in range(MOST):
        name = program_name(words[0]) if words else ""
        if name not in _RUNNERS:
            return words
        at = 1
        while at < len(words) and (words[at].head[:1] == "-" or "=" in words[at].head):
            head = words[at].head
            if _ELSEWHERE.get(name, _NEVER).match(head):
                return ()
            at += 2 if head[:1] == "-" and head[1:2] != "-" and head[-1] in _RUNNERS[name] else 1
        words = words[at + (name == "timeout") :]
    return ()


def _script(words: Words) -> str | None:
    """The text that a shell is given, up to what is not known of it; "" where it reads its input."""
    if not words or program_name(words[0]) not in (*_SHELLS, "eval"):
        return None
    at, given = 1, words[0].text == "eval"
    while at < len(words) and words[at].head[:1] in ("-", "+"):
        letters = words[at].head if words[at].head[:2] != "--" else ""
        if "n" in letters:
            return None  # it only looks at the syntax
        given = given or "c" in letters
        at += 2 if letters[-1:] == "o" else 1
    if at == len(words):
        return None if given else ""
    if not given:
        return None  # a file
    return words[at].head + ("" if words[at].rest is Rest.NOTHING else "$_")


def _code(words: Words) -> str | None:
    """The code that an interpreter is given among its words; "" where it reads its input, None if neither."""
    if not words or not _INTERPRETERS.match(program_name(words[0])):
        return None
    for at, word in enumerate(words[1:], 1):
        if word.head in _CODE:
            return words[at + 1].head if at + 1 < len(words) else None
        if word.head[:1] != "-" or word.head == "-":
            return "" if word.head == "-" else None
    return ""


def _moved(folder: str | None, words: tuple[Word, ...]) -> str | None:
    """The folder behind a `cd`."""
    where = words[1].text if len(words) == 2 and words[0].text in ("cd", "pushd") else None
    if not where or where[0] in "-+" or words[1].counted:
        return None
    if folder is None and where[0] not in "/~":
        return None
    return within(folder, (where,))[0] if folder else where
