"""Step 3 of stage 2: damaged JSON text, rewritten as plain JSON text where nothing is lost by it.

One pass over the text, token by token, iterative and linear: strings are matched whole, and a token
that fits nowhere ends the pass. What comes out is read by the exact decoder, so a value is never made
here; it is only put into the form in which JSON has it. Whatever could be read in two ways is refused.
Source: `docs/pipeline.md`, stage 2.
"""

from __future__ import annotations

import json
import re

import msgspec

from .domain import BAD_NUMBER, NO_VALUE, NOT_JSON, OTHER_WORDS, TOO_DEEP, TRUNCATED, Refusal
from .lexicon import COLON, PLAIN_WORDS, lexicon
from .places import Open, View
from .shapes import AHEAD, CHUNK, SELDOM, WORTH, Entries, shape_of
from .speech import AROUND, Speech
from .texts import BACKSLASH, OPEN_END, Refused, in_double_quotes

_UNQUOTED = Refusal("not-json", "A text stands without quotes. Put each text in double quotes.")

_COLON = re.compile(COLON)
_OPEN_KEY = re.compile(r'[ \t\r\n]*+"(?P<name>[A-Za-z_$][\w$.-]*+)[ \t]*+:')
_BEFORE_COMMENT = frozenset(" \t\r\n,:{[")
_LITERALS = {"True": "true", "False": "false", "None": "null"}
_TYPE_OF = {"True": "boolean", "False": "boolean", "None": "null"}
_TEXTS = ("text", "loose", "single", "curly", "token")
_DECODER = json.JSONDecoder()
_MARKS = {",": "after", "}": "after", "]": "after", ":": "colon"}
_CLOSER = {"{": "}", "[": "]"}
_NO_KEYS = frozenset({*_LITERALS, *PLAIN_WORDS})
_SELDOM = 5  # at most 31 turns
_PREFIX = 255  # past this index all items of an array are taken to be alike


class Mended(msgspec.Struct, frozen=True):
    """Plain JSON text, or several that are to be equal, and what was put right for it."""

    texts: tuple[str, ...]
    kinds: tuple[str, ...]  # without `envelope.`, in the order in which they were met


def mend(
    text: str, depth: int, place: View | Open, speech: Speech, *, complete: bool, sound: bool = False
) -> Mended | Refusal:
    """The plain JSON text that damaged text stands for, or why there is none.

    `place`: what the schema says about the value; a word without quotes must be listed there.
    `complete`: text cut right after a complete value may be closed. `sound`: it begins with a whole value.
    Cost: linear in the text.
    """
    for ahead in (True, False):
        mender = _Mender(text, depth, place, speech, complete, sound)
        mender.entries.off = not ahead
        try:
            return mender.run()
        except Refused as refused:
            fault = refused.fault
        if not mender.entries.taken:
            break
        # Why it is refused may hang on more than what entries have in common: each is looked at.
    return fault


class _Mender:
    """One pass. `state` is what is wanted: a `value`, a `key`, a `colon`, or what comes `after` a value."""

    __slots__ = (
        "at",
        "comma",
        "complete",
        "depth",
        "entries",
        "kinds",
        "last",
        "lexicon",
        "looked",
        "lost",
        "opened",
        "out",
        "outer",
        "place",
        "quoted",
        "quotes",
        "runs",
        "separated",
        "sound",
        "stack",
        "state",
        "text",
        "texts",
        "views",
        "where",
    )

    def __init__(
        self, text: str, depth: int, place: View | Open, speech: Speech, complete: bool, sound: bool
    ) -> None:
        self.text = text
        self.place = place
        self.depth = depth
        self.complete = complete
        self.sound = sound
        self.lexicon = lexicon(speech)
        self.quotes = speech.quotes
        self.entries = Entries()
        self.at = 0
        self.out: list[str] = []
        self.texts: list[str] = []
        self.kinds: dict[str, None] = {}  # in the order of insertion
        self.views: list[View | Open] = []  # of the open containers, as far as they were needed
        self.stack: list[str] = []
        self.where: list[str | int] = []  # the path: keys as they are written, and indices
        self.runs: list[list[str]] = []  # for each level the runs of items that its index does not count yet
        self.state = "value"
        self.comma = False  # one was read and not written yet
        self.last = ""  # the closing bracket, or the kind of token, that ended the last value
        self.opened = ""  # the bracket that the last top-level value began with
        self.outer = False  # a redundant outer brace is open
        self.separated = False  # a comma stands after a whole object
        self.lost = False  # the closing quote of a key
        self.quoted = False  # a text stands on this line, as far as was looked
        self.looked = 0

    def run(self) -> Mended:
        last = 0  # where the last value began
        while self._top():
            if self.texts:
                self._repeated(last)
            last = self.at
            if not ((self.sound or self.kinds or self.texts) and self._sound()):
                self._whole()
        if self.outer:
            raise Refused(TRUNCATED)
        if not self.texts:
            raise Refused(NO_VALUE)
        if self.separated:
            raise Refused(OTHER_WORDS)
        if len(self.texts) > 1:
            self._fix("repeated")
        return Mended(tuple(self.texts), tuple(self.kinds))

    def _fix(self, kind: str) -> None:
        self.kinds["control-characters" if kind == "control" else kind] = None

    # Around the arguments

    def _top(self) -> bool:
        """Skip what stands around a value; is there (another) one?"""
        around = 0
        while self.at < len(self.text):
            found = self.lexicon.around.match(self.text, self.at)
            if found is not None:
                self.at = found.end()
                if found.lastgroup != "blank":
                    self._fix(found.lastgroup or "")
                    around += 1
                    if around > AROUND:
                        raise Refused(OTHER_WORDS)
            elif self._begins():
                return True
        return False

    def _begins(self) -> bool:
        """Does a value begin here? A brace too many and a comma after an object are stepped over."""
        here = self.text[self.at]
        if not self.texts:
            if here not in "{[\"'“‘":
                raise Refused(NO_VALUE)
            return True
        if self.opened != "{" or (here == "}" and self.separated):
            raise Refused(OTHER_WORDS)
        if here == "}" and (self.outer or "braces" not in self.kinds):
            self._fix("braces")
            self.outer = False
        elif here in ",;" and not (self.separated or self.outer):
            self.separated = True
        elif here == "{" and not self.outer:
            self.separated = False
            return True
        else:
            raise Refused(OTHER_WORDS)
        self.at += 1
        return False

    def _repeated(self, start: int) -> None:
        """Pass over what stands from `start` to here, a value and what follows it, where it stands again.

        The last of them is read, from what the first left: reading it again and again leaves no more.
        """
        piece = self.text[start : self.at]
        count, more = 0, 1
        while more:
            if self.text.startswith(piece * more, self.at + count * len(piece)):
                count += more
                more *= 2
            else:
                more //= 2
        # What follows the last of them may make another sense of it.
        if count > 1:
            self.texts += [self.texts[-1]] * (count - 1)
            self.at += (count - 1) * len(piece)
            self.looked += (count - 1) * len(piece)

    # Inside them

    def _sound(self) -> bool:
        """Take a top-level value in which nothing is wrong; the decoder is quicker in finding its end."""
        self.opened = self.text[self.at]
        if self.opened not in "{[":
            return False
        if self.texts and self.text.startswith(self.texts[-1], self.at):
            self.at += len(self.texts[-1])  # the same again
            self.texts.append(self.texts[-1])
            return True
        try:
            _, end = _DECODER.raw_decode(self.text, self.at)
        except (ValueError, RecursionError):
            return False
        self.texts.append(self.text[self.at : end])
        self.at = end
        return True

    def _whole(self) -> None:
        """Read one top-level value and keep its text."""
        self.state, self.opened, self.out = "value", self.text[self.at], []
        text, token, part = self.text, self.lexicon.token, self.lexicon.part
        pairs, pair, items = self.lexicon.pairs, self.lexicon.pair, self.lexicon.items
        # Past this stands no pair with what ends it, and no whole object or array.
        whole = max(text.rfind(","), text.rfind("}"), text.rfind("]"))
        # Where runs and whole objects are not found, they are looked for ever more seldom: how often each was
        # missed in a row, and for how many turns it is not looked for.
        pairs_missed = pairs_wait = items_missed = items_wait = flat_missed = flat_wait = 0
        while True:
            state, run = self.state, None
            here = text[self.at : self.at + 1]
            if here in _MARKS and _MARKS[here] == state:
                # A mark where it belongs needs no look at what else might stand there.
                self.at += 1
                if here == ",":
                    self.comma = True
                    if self.stack[-1] == "{":
                        self.state = "key"
                    else:
                        self.state = "value"
                        self._like_the_last()
                    continue
                self._mark(here)
                if not self.stack and self.state == "after":
                    break
                continue
            if self.at > whole:
                pass
            elif state == "key":
                if pairs_wait:
                    pairs_wait -= 1
                else:
                    run = pairs.match(text, self.at)
                    pairs_missed = min(pairs_missed + 1, _SELDOM) if run is None else 0
                    pairs_wait = (1 << pairs_missed) - 1
                loose = pair.match(text, self.at) if run is None else None
                if loose is not None:
                    self._pair(loose)
                    continue
            elif state == "value" and self.stack and self.stack[-1] == "[" and len(self.stack) < self.depth:
                if items_wait:
                    items_wait -= 1
                else:
                    run = items.match(text, self.at)
                    items_missed = min(items_missed + 1, _SELDOM) if run is None else 0
                    items_wait = (1 << items_missed) - 1
            if run is not None:
                self._run(run)
            if flat_wait or state != "value" or self.at > whole:
                flat_wait -= flat_wait > 0
                found = part.match(text, self.at)
            else:
                found = token.match(text, self.at)
                missed = found is not None and found.lastgroup == "mark"
                flat_missed = min(flat_missed + 1, _SELDOM) if missed else 0
                flat_wait = (1 << flat_missed) - 1
            kind = None if found is None else found.lastgroup
            if found is None or kind is None:
                self._stray()
            elif kind == "mark":
                self.at = found.end()
                self._mark(found["mark"])
            elif kind == "commas":
                self.at = found.end()
                self._mark(",")
                self._mark(",")
            elif kind == "end":
                self._cut()
                break
            elif kind == "control":
                self.at = found.end()
                self._fix(kind)
            elif kind == "comments":
                self._comment(found)
            elif state == "value":
                self._value(kind, found)
            elif state == "key":
                self._key(kind, found)
            else:
                raise Refused(self._senseless())
            if not self.stack and self.state == "after":
                break
        self.texts.append("".join(self.out))

    def _run(self, found: re.Match[str]) -> None:
        """Take a run of entries in which nothing is wrong as it is; its last comma is still to be written."""
        if self.comma:
            self.out.append(",")
        if self.state == "value":
            self.runs[-1].append(found[0])
        self.out.append(found[0][:-1])
        self.comma = True
        self.at = found.end()
        self._quote(found)

    def _like_the_last(self) -> None:
        """After a comma in an array: take the entries that differ from the last one in scalars alone."""
        known = self.entries
        if known.off:
            return
        if known.array is not self.runs[-1]:
            # A token for a quote may hold anything, scalars too.
            known.off = known.array is None and any(each in self.text for each in self.quotes)
            known.array, known.shape = self.runs[-1], None
        elif known.wait:
            known.wait -= 1
        else:
            count = self._take()
            if not count:
                self._learn()
                count = self._take()
            known.taken = known.taken or count > 0
            known.missed = 0 if count >= WORTH else min(known.missed + 1, SELDOM)
            known.wait = (1 << 2 * known.missed) - 1
        known.start, known.written = self.at, len(self.out)

    def _learn(self) -> None:
        """Find the shape of the last entry; where only its literals are new, others stay known too."""
        known, before = self.entries, self.entries.shape
        known.shape = shape_of(self.text[known.start : self.at], "".join(self.out[known.written :]))
        if known.shape is not None and known.shape.looked_up:
            place, known.place = known.place, self._place()
            if before is not None and place is known.place:
                known.shape.learn(before)

    def _take(self) -> int:
        """Take the entries of the shape that is known; the comma after them is still to be written."""
        shape, count = self.entries.shape, 0
        if shape is None:
            return 0
        length = self.at - self.entries.start
        ahead = AHEAD * length  # so that looking costs no more than the last entry did
        while True:
            most = self._same_place(2 * ahead // length) if shape.looked_up else ahead
            found = shape.take(self.text, self.at, ahead, most, self._fix)
            if found is None:
                break
            self.out.append(found.written)
            self.where[-1] = int(self.where[-1]) + found.count
            count += found.count
            self.at = self.looked = found.end
            if not found.all:
                break
            ahead = max(ahead, min(2 * ahead, CHUNK))
        return count

    def _same_place(self, most: int) -> int:
        """For how many of the next items, at most, does the schema say what it said when a word was read?"""
        self._place()
        here, array = int(self.where[-1]), self.views[-1]
        for count in range(most):
            index = here + 1 + count
            if array.child(str(min(index, _PREFIX))) is not self.entries.place:
                return count
            if index >= _PREFIX:
                break
        return most

    def _pair(self, found: re.Match[str]) -> None:
        """Take one entry of an object with a scalar, whose key or text stands in other quotes or in none."""
        key, name, single, opened, scalar, text, word, loose, comma = found.groups()
        if self.comma:
            self.out.append(",")
        if key is None:
            self._fix("keys" if single is None else "quotes")
            key = f'"{single[1:-1] if single is not None else name or opened}"'
            if opened is not None:
                self.lost = True
                if self.entries.taken and _OPEN_KEY.match(self.text, found.start("opened") - 1) is None:
                    raise Refused(NOT_JSON)  # a line ends before the colon: see `mend`
        self.where[-1] = key
        self.comma, self.last = False, "text"
        self.at = found.end()
        self._quote(found)
        if text is not None:
            self._fix("quotes")
            scalar, self.last = f'"{text[1:-1]}"', "single"
        elif word is not None:
            scalar = self._word(word)
        elif loose is not None:
            scalar = self._string("loose", found)
        self.out += (key, ":", scalar)
        self.comma = comma is not None
        self.state = "key" if self.comma else "after"

    def _quote(self, found: re.Match[str]) -> None:
        """A text ended here, or may have."""
        self.quoted, self.looked = True, found.end()

    def _comment(self, found: re.Match[str]) -> None:
        """Skip a comment, unless it may be the rest of a text whose inner quote was not escaped, or data."""
        comment, start = found["comments"], found.start("comments")
        if self.entries.taken and ('"' in comment or "'" in comment):
            raise Refused(OPEN_END)  # whether a text stands before it on its line is not known: see `mend`
        if "\n" in self.text[self.looked : start]:
            self.quoted = False
        self.looked = found.end()
        to_line_end = comment[:2] != "/*"
        if self.text[start - 1] not in _BEFORE_COMMENT:
            raise Refused(self._senseless())
        if to_line_end and "\\n" in comment:
            raise Refused(NOT_JSON)  # where it ends is not certain
        if self.quoted and ('"' in comment or ("'" in comment and "quotes" in self.kinds)):
            raise Refused(OPEN_END)
        if self.last == "number" and self.state == "after" and comment.lstrip("/#* \t")[:1].isdigit():
            raise Refused(NOT_JSON)  # `7 // 2`
        self.at = found.end()
        self._fix("comments")

    def _mark(self, mark: str) -> None:
        if mark == ",":
            if self.comma:
                if self.stack[-1] == "[":
                    raise Refused(NOT_JSON)  # an item may be lost
                self._fix("commas")
            elif self.state != "after":
                raise Refused(NOT_JSON)
            else:
                self.comma = True
                self.state = "key" if self.stack[-1] == "{" else "value"
        elif mark == ":":
            if self.state != "colon":
                raise Refused(NOT_JSON)
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
            raise Refused(NOT_JSON)
        if len(self.stack) >= self.depth:
            raise Refused(TOO_DEEP)
        self._item()
        self.out.append(mark)
        self.stack.append(mark)
        self.where.append(-1 if mark == "[" else "")
        self.runs.append([])
        self.state = "key" if mark == "{" else "value"

    def _close(self, mark: str) -> None:
        if not self.stack or _CLOSER[self.stack[-1]] != mark:
            raise Refused(NOT_JSON)
        if self.comma:
            self._fix("commas")
            self.comma = False
        elif self.state != "after" and self.out[-1] != self.stack[-1]:
            raise Refused(NOT_JSON)
        self.stack.pop()
        self.where.pop()
        self.runs.pop()
        del self.views[len(self.stack) :]
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
        if kind == "flat" and len(self.stack) >= self.depth:
            raise Refused(TOO_DEEP)
        self._item()
        self.at = found.end()
        written = found[kind]
        if kind == "infinite":
            raise Refused(BAD_NUMBER)
        if kind == "flat":
            if found["spare"] is not None:
                self._fix("commas")
                written = written[: written.rindex(",")] + "}"
            self._quote(found)
        elif kind == "word":
            written = self._word(written)
        elif kind != "number":
            written = self._string(kind, found)
        self.out.append(written)
        self.state, self.last = "after", kind

    def _word(self, word: str) -> str:
        """JSON's form of a word without quotes: a literal, or a text that the schema lists for its place."""
        if word in PLAIN_WORDS:
            return word
        if self.at == len(self.text):
            raise Refused(TRUNCATED)
        if not self.stack:
            raise Refused(_UNQUOTED)
        place = self._place()
        if word in place.words:
            self._fix("bare-value")
            return f'"{word}"'
        if word not in _LITERALS or ("string" in place.types and _TYPE_OF[word] not in place.types):
            raise Refused(_UNQUOTED)  # Python's text of the value, or JSON's
        self._fix("literals")
        return _LITERALS[word]

    def _place(self) -> View | Open:
        """What the schema says about the value that is read. The views of the open containers are kept."""
        for level in range(len(self.views), len(self.stack)):
            self.views.append(self._below(level - 1) if level else self.place)
        return self._below(len(self.stack) - 1)

    def _below(self, level: int) -> View | Open:
        """The place below an open container at which reading is."""
        here = self.where[level]
        if isinstance(here, str):
            key = json.loads(here, strict=False) if "\\" in here else here[1:-1]
            return self.views[level].child(key)
        here += sum(len(self.lexicon.item.findall(run)) for run in self.runs[level])
        self.runs[level].clear()
        self.where[level] = here
        return self.views[level].child(str(min(here, _PREFIX)))

    def _key(self, kind: str, found: re.Match[str]) -> None:
        if kind == "flat":  # an object in place of a key
            self.at = found.start(kind) + 1
            self._mark(found[kind][0])
            return
        if kind in ("text", "loose") and _COLON.match(self.text, found.end()) is None:
            if not self._open_key():
                raise Refused(NOT_JSON if self.text[found.end() :].strip() else TRUNCATED)
            return
        if kind in ("number", "infinite") or (kind == "word" and found[kind] in _NO_KEYS):
            raise Refused(NOT_JSON)
        self._item()
        self.at = found.end()
        if kind == "word":  # `name:`, or `name":`, which lost its opening quote
            self._fix("keys")
            written = f'"{found[kind]}"'
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
        self.lost = True
        self.at = found.end()
        written = f'"{found["name"]}"'
        self.out += (written, ":")
        self.where[-1] = written
        self.state = "value"
        return True

    def _string(self, kind: str, found: re.Match[str]) -> str:
        """JSON's form of a string token."""
        raw = found[kind]
        self._quote(found)
        if kind == "text":
            return raw
        inner = raw[1:-1]
        if not self.stack and "\\" in inner:
            raise Refused(BACKSLASH)  # JSON text in other quotes: whose escapes these are is a guess
        if kind == "token":
            end = self.text.find(raw, self.at)
            if end < 0:
                raise Refused(TRUNCATED)
            inner, self.at = self.text[self.at : end], end + len(raw)
        return in_double_quotes(kind, inner, self._fix)

    # Where it ends

    def _stray(self) -> None:
        """What is no token: the last key without its closing quote, a string without end, or no sense."""
        if self.state == "key" and self._open_key():
            return
        begins = self.text[self.at :].lstrip(" \t\r\n")[0] in "\"'“‘"
        if self.state not in ("key", "value") or not begins:
            raise Refused(self._senseless())
        # With its last bracket there the text is whole, and the quote that would end the string is not.
        raise Refused(OPEN_END if self.text.rstrip()[-1] in "}]" else TRUNCATED)

    def _senseless(self) -> Refusal:
        """After a text there is no sense: most often a quote inside it was not escaped."""
        return OPEN_END if self.state in ("after", "colon") and self.last in _TEXTS else NOT_JSON

    def _cut(self) -> None:
        """The text ended inside a value: it is closed where that is certain."""
        if self.last == "word":
            certain = self.text.rstrip().endswith(PLAIN_WORDS)
        else:
            # The quote may be one inside a text, where others than JSON's stand around texts.
            certain = self.last not in ("number", "single", "curly", "token")
        if self.state != "after" or not (certain and self.complete and self.opened == "{"):
            raise Refused(TRUNCATED)
        if self.outer or self.texts or self.lost or "comments" in self.kinds:
            raise Refused(TRUNCATED)
        self._fix("complete")
        self.out += (_CLOSER[mark] for mark in reversed(self.stack))
