"""Step 3 of stage 2: damaged JSON text, rewritten as plain JSON text where nothing is lost by it.

One pass over the text, token by token, iterative and linear: strings are matched whole, and a token
that fits nowhere ends the pass. What comes out is read by the exact decoder, so a value is never made
here; it is only put into the form in which JSON has it. Whatever could be read in two ways is refused.
Source: `docs/pipeline.md`, stage 2.
"""

from __future__ import annotations

import re

import msgspec

from .domain import BAD_NUMBER, TOO_DEEP, Refusal
from .lexicon import Speech, lexicon

TRUNCATED = Refusal("truncated", "The arguments were cut off before their end. Send the whole call again.")
NOT_JSON = Refusal("not-json", "The arguments are no JSON. Send one JSON object.")
_OTHER_WORDS = Refusal(
    "not-json", "There is more than the arguments, and it may mean something. Send one JSON object alone."
)
_OPEN_END = Refusal(
    "not-json",
    "It is not certain where a text ends. Put texts in double quotes, and write a double quote inside one "
    'as `\\"`.',
)
_BACKSLASH = Refusal(
    "not-json", "A backslash can be read in two ways. Write a backslash inside a text as two."
)

_BAD_ESCAPE = re.compile(r'\\(?P<good>["\\/bfnrt]|u[0-9a-fA-F]{4})?')
_IN_SINGLE = re.compile(r'\\(.)|"', re.DOTALL)
# Escapes that other languages have and JSON has not: what they mean in single quotes is a guess.
_FOREIGN = re.compile(r"\\(?:[xUNav0-9\n]|u(?![0-9a-fA-F]{4}))")
_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/])|\\\\")
_CONTROL = re.compile(r"[\x00-\x1f]")
_COLON = re.compile(r"[ \t\r\n]*+:")
_OPEN_KEY = re.compile(r'"(?P<name>[A-Za-z_$][\w$.-]*+)[ \t]*+:')
_LITERALS = {"True": "true", "False": "false", "None": "null"}
_TEXTS = ("text", "loose", "single", "curly", "token")
_PLAIN_WORDS = ("true", "false", "null")
_CLOSER = {"{": "}", "[": "]"}


class Mended(msgspec.Struct, frozen=True):
    """Plain JSON text, or several that are to be equal, and what was put right for it.

    `words`: bare words that were put in quotes, each with its path (keys as they stand in the text);
    each must be one enum member there.
    """

    texts: tuple[str, ...]
    kinds: tuple[str, ...]  # without `envelope.`, in the order in which they were met
    words: tuple[tuple[tuple[str | int, ...], str], ...] = ()


def mend(text: str, depth: int, speech: Speech, *, complete: bool) -> Mended | Refusal:
    """The plain JSON text that damaged text stands for, or why there is none.

    `complete`: text cut right after a complete value may be closed. Cost: linear in the text.
    """
    mender = _Mender(text, depth, speech, complete)
    try:
        return mender.run()
    except _Refused as refused:
        return refused.fault


class _Refused(Exception):
    def __init__(self, fault: Refusal) -> None:
        self.fault = fault


class _Mender:
    """One pass. `state` is what is wanted: a `value`, a `key`, a `colon`, or what comes `after` a value."""

    __slots__ = (
        *("around", "at", "comma", "complete", "depth", "inside", "kinds", "last", "opened", "out", "outer"),
        *("separated", "stack", "state", "text", "texts", "where", "words"),
    )

    def __init__(self, text: str, depth: int, speech: Speech, complete: bool) -> None:
        self.text = text
        self.depth = depth
        self.complete = complete
        self.inside, self.around = lexicon(speech)
        self.at = 0
        self.out: list[str] = []
        self.texts: list[str] = []
        self.kinds: dict[str, None] = {}  # in the order of insertion
        self.words: list[tuple[tuple[str | int, ...], str]] = []
        self.stack: list[str] = []
        self.where: list[str | int] = []  # the path: keys as they are written, and indices
        self.state = "value"
        self.comma = False  # one was read and not written yet
        self.last = ""  # the closing bracket, or the kind of token, that ended the last value
        self.opened = ""  # the bracket that the last top-level value began with
        self.outer = False  # a redundant outer brace is open
        self.separated = False  # a comma stands after a whole object

    def run(self) -> Mended:
        while self._top():
            self._whole()
        if self.outer:
            raise _Refused(TRUNCATED)
        if not self.texts:
            raise _Refused(NOT_JSON)
        if self.separated or ("surroundings" in self.kinds and self.opened != "{"):
            raise _Refused(_OTHER_WORDS)
        if len(self.texts) > 1:
            self._fix("repeated")
        return Mended(tuple(self.texts), tuple(self.kinds), tuple(self.words))

    def _fix(self, kind: str) -> None:
        self.kinds["control-characters" if kind == "control" else kind] = None

    # Around the arguments

    def _top(self) -> bool:
        """Skip what stands around a value; is there (another) one?"""
        while self.at < len(self.text):
            found = self.around.match(self.text, self.at)
            if found is not None:
                self.at = found.end()
                if found.lastgroup != "blank":
                    self._fix(found.lastgroup or "")
            elif self._begins():
                return True
        return False

    def _begins(self) -> bool:
        """Does a value begin here? A brace too many and a comma after an object are stepped over."""
        here = self.text[self.at]
        if not self.texts:
            if here not in "{[\"'“‘":
                raise _Refused(NOT_JSON)
            return True
        if self.opened != "{" or (here == "}" and self.separated):
            raise _Refused(_OTHER_WORDS)
        if here == "}" and (self.outer or "braces" not in self.kinds):
            self._fix("braces")
            self.outer = False
        elif here in ",;" and not (self.separated or self.outer):
            self.separated = True
        elif here == "{" and not self.outer:
            self.separated = False
            return True
        else:
            raise _Refused(_OTHER_WORDS)
        self.at += 1
        return False

    # Inside them

    def _whole(self) -> None:
        """Read one top-level value and keep its text."""
        self.state, self.opened, self.out = "value", self.text[self.at], []
        text, length, inside = self.text, len(self.text), self.inside
        while True:
            if self.at >= length:
                self._cut()
                break
            found = inside.match(text, self.at)
            kind = None if found is None else found.lastgroup
            if found is None or kind is None:
                self._stray()
            elif kind == "blank":
                self.at = found.end()
            elif kind == "mark":
                self.at = found.end()
                self._mark(found[0])
            elif kind in ("comments", "control"):
                self.at = found.end()
                self._fix(kind)
            elif self.state == "value":
                self._value(kind, found)
            elif self.state == "key":
                self._key(kind, found)
            else:
                raise _Refused(self._senseless())
            if not self.stack and self.state == "after":
                break
        self.texts.append("".join(self.out))

    def _mark(self, mark: str) -> None:
        if mark == ",":
            if self.comma:
                self._fix("commas")
            elif self.state != "after":
                raise _Refused(NOT_JSON)
            else:
                self.comma = True
                self.state = "key" if self.stack[-1] == "{" else "value"
        elif mark == ":":
            if self.state != "colon":
                raise _Refused(NOT_JSON)
            self.out.append(":")
            self.state = "value"
        elif mark in "{[":
            self._open(mark)
        else:
            self._close(mark)

    def _open(self, mark: str) -> None:
        if self.state == "key" and mark == "{" and len(self.out) == 1 and not (self.outer or self.texts):
            self._fix("braces")  # right after the first brace: that one is one too many
            self.outer = True
            return
        if self.state != "value":
            raise _Refused(NOT_JSON)
        if len(self.stack) >= self.depth:
            raise _Refused(TOO_DEEP)
        self._item()
        self.out.append(mark)
        self.stack.append(mark)
        self.where.append(-1 if mark == "[" else "")
        self.state = "key" if mark == "{" else "value"

    def _close(self, mark: str) -> None:
        if not self.stack or _CLOSER[self.stack[-1]] != mark:
            raise _Refused(NOT_JSON)
        if self.comma:
            self._fix("commas")
            self.comma = False
        elif self.state != "after" and self.out[-1] != self.stack[-1]:
            raise _Refused(NOT_JSON)
        self.stack.pop()
        self.where.pop()
        self.out.append(mark)
        self.state, self.last = "after", mark

    def _item(self) -> None:
        """A value or a key begins: a comma before it is written now, and an item is counted."""
        if self.comma:
            self.out.append(",")
            self.comma = False
        if self.state == "value" and self.where and isinstance(self.where[-1], int):
            self.where[-1] += 1

    def _value(self, kind: str, found: re.Match[str]) -> None:
        self._item()
        self.at = found.end()
        written = found[0]
        if kind == "infinite":
            raise _Refused(BAD_NUMBER)
        if kind == "word" and written in _LITERALS:
            self._fix("literals")
            written = _LITERALS[written]
        elif kind == "word" and written not in _PLAIN_WORDS:
            if self.at == len(self.text):
                raise _Refused(TRUNCATED)
            self._fix("bare-value")
            self.words.append((tuple(self.where), written))
            written = f'"{written}"'
        elif kind not in ("word", "number"):
            written = self._string(kind, found)
        self.out.append(written)
        self.state, self.last = "after", kind

    def _key(self, kind: str, found: re.Match[str]) -> None:
        if kind in ("text", "loose") and _COLON.match(self.text, found.end()) is None:
            if not self._open_key():
                raise _Refused(NOT_JSON if self.text[found.end() :].strip() else TRUNCATED)
            return
        if kind in ("number", "infinite"):
            raise _Refused(NOT_JSON)
        self._item()
        self.at = found.end()
        if kind == "word":  # `name:`, or `name":`, which lost its opening quote
            self._fix("keys")
            written = f'"{found[0]}"'
            self.at += self.text.startswith('"', self.at)
        else:
            written = self._string(kind, found)
        self.out.append(written)
        self.where[-1] = written
        self.state = "colon"

    def _open_key(self) -> bool:
        """A key that lost its closing quote, `"name: value`."""
        found = _OPEN_KEY.match(self.text, self.at)
        if found is None:
            return False
        self._item()
        self._fix("keys")
        self.at = found.end()
        written = f'"{found["name"]}"'
        self.out += (written, ":")
        self.where[-1] = written
        self.state = "value"
        return True

    def _string(self, kind: str, found: re.Match[str]) -> str:
        """JSON's form of a string token."""
        raw = found[0]
        if kind == "text":
            return raw
        inner = raw[1:-1]
        if kind == "token":
            end = self.text.find(raw, self.at)
            if end < 0:
                raise _Refused(TRUNCATED)
            inner, self.at = self.text[self.at : end], end + len(raw)
        if kind in ("token", "curly") and ('"' in inner or (kind == "token" and "\\" in inner)):
            raise _Refused(_OPEN_END)  # the quote may be the end, and an escape may be none
        if kind == "single":
            if _FOREIGN.search(inner):
                raise _Refused(_BACKSLASH)
            inner = _IN_SINGLE.sub(_in_double, inner)
        if kind != "loose":
            self._fix("quotes")
        if _CONTROL.search(inner):
            self._fix("control-characters")
        if "\\" in inner:
            inner = self._escapes(inner)
        return f'"{inner}"'

    def _escapes(self, inner: str) -> str:
        """What is no escape of JSON is a literal backslash; in a Windows path with such a one, all are."""
        mended = _BAD_ESCAPE.sub(_literal, inner)
        if mended == inner:
            return inner
        if "\\'" in inner:
            raise _Refused(_BACKSLASH)  # it is one character in other languages, and two in a shell
        self._fix("escapes")
        drive = _DRIVE.match(inner)
        if drive is None:
            return mended
        if '\\"' in inner or "\\\\" in inner[drive.end() :]:
            raise _Refused(_BACKSLASH)  # some of its backslashes are escaped and others are not
        return inner.replace("\\", "\\\\")

    # Where it ends

    def _stray(self) -> None:
        """What is no token: the last key without its closing quote, a string without end, or no sense."""
        if self.state == "key" and self._open_key():
            return
        open_string = self.state in ("key", "value") and self.text[self.at] in "\"'“‘"
        raise _Refused(TRUNCATED if open_string else self._senseless())

    def _senseless(self) -> Refusal:
        """After a text there is no sense: most often a quote inside it was not escaped."""
        return _OPEN_END if self.state in ("after", "colon") and self.last in _TEXTS else NOT_JSON

    def _cut(self) -> None:
        """The text ended inside a value: it is closed where that is certain."""
        if self.last == "word":
            certain = self.text.rstrip().endswith(_PLAIN_WORDS)
        else:
            certain = self.last != "number"
        if self.state != "after" or not (certain and self.complete and self.opened == "{"):
            raise _Refused(TRUNCATED)
        if self.outer or self.texts or "comments" in self.kinds:
            raise _Refused(TRUNCATED)
        self._fix("complete")
        self.out += (_CLOSER[mark] for mark in reversed(self.stack))


def _literal(found: re.Match[str]) -> str:
    return found[0] if found["good"] else "\\\\"


def _in_double(found: re.Match[str]) -> str:
    """An escape, or a double quote, of single quotes as double quotes have it."""
    if found[0] == '"':
        return '\\"'
    return "'" if found[1] == "'" else found[0]
