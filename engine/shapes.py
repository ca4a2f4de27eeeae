"""Entries of an array that differ in nothing but their scalars are mended as the first of them was.

The text of an entry is split into its scalars and what stands between them, its gaps. Where an entry fits
`_ENTRY`, all that `damage.py` does with it follows from its gaps and from what each scalar is, so the next
entries with the same of both need no look of their own. Source: `docs/pipeline.md`, stage 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from .lexicon import BLANK, LOOSE, PLAIN_WORDS, SCALAR, SIMPLE, TEXT, WORD
from .places import Open, View
from .texts import in_double_quotes

# What stands for a scalar where the gaps are looked at: what it is.
_NONE, _TEXT, _NUMBER, _LOOSE, _SINGLE, _CURLY, _OPENING, _CLOSING, _LITERAL = "\0\1\2\3\4\5\6\7\x08"
# A scalar begins with one of these characters; they are looked back at, so that a search can skip all others.
# What is no text and no number of JSON is odd: in other quotes, with a quote lost, or with a backslash or a
# control character in it; a literal; and what does not end, so that it is passed over once.
_END = rf"(?={BLANK}[:,}}\]/#\\\ufeff\u00a0\u200b])"
_SPLIT = re.compile(
    rf"([\"0-9'“”„‟‘’‚‛A-Za-z_$-](?:"
    rf"(?<=\")(?:{TEXT[1:]}{_END}(?P<text>)|{LOOSE[1:]}{_END}|[A-Za-z_$][\w$.-]*+(?=[ \t]*+:)|{LOOSE[1:]}"
    r"|[^\"\\]*+(?:\\.[^\"\\]*+)*+\\?\Z)"
    rf"|(?<=[A-Za-z_$])(?<![\w$][A-Za-z_$])(?:[\w$]*+\"(?={BLANK}:)"
    r"|(?:(?<=[Tt])rue|(?<=[Ff])alse|(?<=n)ull|(?<=N)one)(?![\w$.-]))"
    r"|(?<=[0-9-])(?<![\w.+$-][0-9-])(?:(?<=0)|(?<=[1-9])[0-9]*+|(?<=-)(?:0|[1-9][0-9]*+))"
    r"(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.+-])(?P<number>)"
    rf"|(?<='){SIMPLE[1:]}|(?<=[“”„‟])[^“”„‟]*+[“”„‟]|(?<=[‘’‚‛])[^‘’‚‛]*+[‘’‚‛]))",
    re.DOTALL,
)
_STEP = 4  # it gives a gap, a scalar, and two marks: an empty text where it is a text, or a number
_COMMENT = r"(?:(?://|\#)[ \t][^\n\"'\0-\x08]*+\n|/\*\*?[ \t\r\n](?:[^*\"'\0-\x08]|\*(?!/))*+\*/)"
_GLUE = rf"(?:[ \t\r\n\ufeff\u00a0\u200b]|\\[nrt]|{_COMMENT})*+"
_PAIR = rf"{_GLUE}(?:[\x01\x04-\x07]|{WORD}){BLANK}:{_GLUE}(?:[\x01-\x05\x08]|{WORD}){_GLUE}"
_COMMAS = rf",(?:{_GLUE},)*+"
_ENTRY = re.compile(rf"{_GLUE}\{{{_PAIR}(?:{_COMMAS}{_PAIR})*+(?:{_COMMAS}{_GLUE})?\}}{_GLUE},")
_PARTS = re.compile(rf"\\[nrt]|{_COMMENT}|(?P<kind>[\x01-\x08])|(?P<word>{WORD})")
_WRITTEN = re.compile(rf"({LOOSE}){BLANK}:{BLANK}({LOOSE}|{SCALAR})", re.DOTALL)
_NO_NAMES = frozenset({"True", "False", "None", "true", "false", "null", "NaN", "Infinity"})
_MOST = 64  # scalars of an entry
AHEAD = 4  # how many times the last entry is looked at after it at first
WORTH = 8  # entries: where fewer are taken at once, each might as well be looked at
SELDOM = 4  # at most 255 entries
CHUNK = 65_536  # characters that are split at once, at most; an entry may have more

Fix = Callable[[str], None]


class Taken(msgspec.Struct, frozen=True):
    """Entries that were read: how many, their JSON with a comma before each, where the text goes on after
    the comma that follows them, and whether all were like the first as far as was looked."""

    count: int
    written: str
    end: int
    all: bool


class Shape(msgspec.Struct, frozen=True):
    """What entries have in common, and the JSON of one with `%s` for each scalar, a comma before it.

    `first`: what stands before the first scalar. `gaps`: what stands after each, the last with what stands
    before the first scalar of the next entry; `tail` characters of it belong to the entry and its comma.
    `kinds`: of the scalars. `same`: keys that may not differ, since a word under them was looked up in the
    schema; `looked_up`: one was. `literals`: the JSON of those that were met, for each place of one.
    """

    first: str
    gaps: list[str]
    tail: int
    kinds: str
    same: tuple[tuple[int, str], ...]
    looked_up: bool
    literals: dict[int, dict[str, str]]
    template: str

    def learn(self, other: Shape) -> None:
        """Add the literals of another shape that differs in nothing else."""
        if self.first == other.first and self.gaps == other.gaps and self.kinds == other.kinds:
            if self.same == other.same:
                for column, found in self.literals.items():
                    found.update(other.literals[column])

    def take(self, text: str, at: int, ahead: int, most: int, fix: Fix) -> Taken | None:
        """The entries of this shape, `most` at most, from right after a comma on, within `ahead` characters.

        After them stands the beginning of another. `fix` is told what was put right in a scalar.

        Raises:
            Refused: a scalar can be read in two ways.
        """
        if not text.startswith(self.first, at):
            return None
        parts = _SPLIT.split(text[at : at + ahead])
        width = len(self.kinds)
        # The last scalar may go on after what was split, and the gap before it is whole.
        there = min((len(parts) // _STEP - 1) // width, most)
        if there < 1 or parts[0] != self.first:
            return None
        count = there
        marks = ([*each] for each in zip(*map(_marks, self.kinds), strict=True))
        for start, wanted in zip((_STEP, 2, 3), (self.gaps, *marks), strict=True):
            found = parts[start : start + width * count * _STEP : _STEP]
            if found != wanted * count:
                starts = range(0, width * count, width)
                count = _first(found[each : each + width] != wanted for each in starts)
        scalars = parts[1 : width * count * _STEP : _STEP]
        for column, scalar in self.same:
            if scalars[column::width].count(scalar) != count:
                count = _first(each != scalar for each in scalars[column::width])
                del scalars[width * count :]
        odd = [(column, kind) for column, kind in enumerate(self.kinds) if kind > _NUMBER]
        for column, kind in odd:
            if kind == _LITERAL:
                right = [*map(self.literals[column].__contains__, scalars[column::width])]
            else:
                right = [_kind(each) == kind for each in scalars[column::width]]
            if not all(right):
                count = right.index(False)
                del scalars[width * count :]
        if not count:
            return None
        length = len(self.first) + count * sum(map(len, self.gaps)) - len(self.gaps[-1]) + self.tail
        end = at + length + sum(map(len, scalars))
        if odd:
            _mend(scalars, width, odd, self.literals, fix)
        return Taken(count, self.template * count % tuple(scalars), end, count == there)


def _marks(kind: str) -> tuple[str | None, str | None]:
    return "" if kind == _TEXT else None, "" if kind == _NUMBER else None


def _first(wrong: Iterable[bool]) -> int:
    return next(at for at, each in enumerate(wrong) if each)


def _mend(
    scalars: list[str], width: int, odd: list[tuple[int, str]], literals: dict[int, dict[str, str]], fix: Fix
) -> None:
    """Put JSON's form in place of the odd scalars."""
    hard = []
    for column, kind in odd:
        if kind in (_LOOSE, _CURLY):
            hard.append((column, "loose" if kind == _LOOSE else "curly"))
        elif kind == _LITERAL:
            scalars[column::width] = map(literals[column].__getitem__, scalars[column::width])
        else:
            scalars[column::width] = [_requoted(kind, each) for each in scalars[column::width]]
    known: dict[tuple[str, str], str] = {}
    # In the order of the text, in which `fix` is to be told.
    for start in range(0, len(scalars), width) if hard else ():
        for column, kind in hard:
            each = kind, scalars[start + column]
            written = known.get(each)
            if written is None:
                written = known[each] = in_double_quotes(kind, each[1][1:-1], fix)
            scalars[start + column] = written


def shape_of(entry: str, written: str) -> Shape | None:
    """The shape of an entry and its comma, given its JSON too; None where another may be read otherwise."""
    parts: list[Any] = _SPLIT.split(entry)
    scalars, gaps = parts[1::_STEP], parts[::_STEP]
    if not 0 < len(scalars) <= _MOST:
        return None
    marks = zip(scalars, parts[2::_STEP], parts[3::_STEP], strict=True)
    kinds = "".join(
        _TEXT if text is not None else _NUMBER if number is not None else _kind(scalar)
        for scalar, text, number in marks
    )
    shown = "".join(map("".join, zip(gaps, [*kinds, ""], strict=True)))
    if _ENTRY.fullmatch(shown) is None:
        return None
    found = [each for each in _PARTS.finditer(shown) if each.lastgroup]
    pieces = [piece for pair in _WRITTEN.findall(written) for piece in pair]
    # A mark of ours may stand in the text itself.
    if len(found) != len(pieces) or sum(each["kind"] is not None for each in found) != len(kinds):
        return None
    same: list[tuple[int, str]] = []
    literals: dict[int, dict[str, str]] = {}
    looked_up = False
    column = -1
    for number, each in enumerate(found):
        kind, word = each["kind"], each["word"]
        key = column
        if kind is not None:
            column += 1
            one = [scalars[column]]
            if kind == _LITERAL:
                word = one[0]
                literals[column] = {word: pieces[number]}
            else:
                if kind > _NUMBER:
                    _mend(one, 1, [(0, kind)], {}, _unsaid)
                if one != [pieces[number]]:
                    return None
            pieces[number] = "%s"
        if word is not None and number % 2 and (kind is not None or word not in PLAIN_WORDS):
            # Another literal may be looked up where this one was not.
            looked_up = True
            if found[number - 1]["kind"] is not None:
                same.append((key, scalars[key]))
    pairs = ",".join(map(":".join, zip(pieces[::2], pieces[1::2], strict=True)))
    last = gaps[-1] + gaps[0]
    return Shape(
        gaps[0],
        [*gaps[1:-1], last],
        len(gaps[-1]),
        kinds,
        tuple(same),
        looked_up,
        literals,
        f",{{{pairs}}}",
    )


def _unsaid(kind: str) -> None:
    """What was put right is known."""


def _kind(odd: str) -> str:
    """What is odd about it."""
    first = odd[0]
    if first == '"':
        return _LOOSE if odd[-1] == '"' else _CLOSING
    if first == "'":
        return _SINGLE
    if first in "“”„‟‘’‚‛":
        return _CURLY
    if odd[-1] != '"':
        return _LITERAL
    return _NONE if odd[:-1] in _NO_NAMES else _OPENING


def _requoted(kind: str, odd: str) -> str:
    """JSON's form of a simple text in single quotes, or of a key that lost a quote."""
    if kind == _SINGLE:
        return f'"{odd[1:-1]}"'
    return f'"{odd}' if kind == _OPENING else f'{odd}"'


class Entries:
    """What is known of the entries of the array that is read; `off`: each is looked at."""

    __slots__ = ("array", "missed", "off", "place", "shape", "start", "taken", "wait", "written")

    def __init__(self) -> None:
        self.off = False
        self.taken = False  # entries were read as the one before them was
        self.array: object = None
        self.shape: Shape | None = None
        self.place: View | Open | None = None  # of the entry that it was learnt from
        self.start = self.written = -1  # of the last entry: in the text, and in what is written
        # Where shapes are not met, they are looked for ever more seldom, as in `damage.py`.
        self.missed = self.wait = 0
