"""Entries of an array that differ in nothing but their scalars are mended as the first of them was.

The text of an entry is split into its scalars and what stands between them, its gaps. Where an entry fits
`_ENTRY`, all that `damage.py` does with it follows from its gaps and from what each scalar is, so the next
entries with the same of both need no look of their own. Source: `docs/pipeline.md`, stage 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from .lexicon import BLANK, COLON, LOOSE, NAME, NUMBER, PLAIN_WORDS, SCALAR, SIMPLE, TEXT, WORD
from .places import Open, View
from .texts import in_double_quotes

# A text or number of JSON, or something odd that stands for a text: in other quotes, with one quote lost, or
# with a backslash or control character in it. What does not end is odd too, so that it is passed over once.
_SPLIT = re.compile(
    rf"(?=[\"0-9'“”„‟‘’‚‛-]|(?<![\w$])[A-Za-z_$])"
    rf"(?:({TEXT}(?={BLANK}[:,}}\]/#\\\ufeff\u00a0\u200b]))|(?<![\w.+$-])({NUMBER})"
    rf"|((?!{LOOSE}{COLON})\"[A-Za-z_$][\w$.-]*+(?=[ \t]*+:)|{LOOSE}|{SIMPLE}"
    rf"|[“”„‟][^“”„‟]*+[“”„‟]|[‘’‚‛][^‘’‚‛]*+[‘’‚‛]|(?<![\w$]){NAME}\"(?={BLANK}:)"
    rf"|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\Z))",
    re.DOTALL,
)
_STEP = 4  # pieces that it gives for one scalar: a gap, and three of which two are None
# What stands for a scalar where the gaps are looked at: its kind.
_TEXT, _NUMBER, _LOOSE, _SINGLE, _CURLY, _OPENING, _CLOSING = "\1\2\3\4\5\6\7"
_COMMENT = r"(?:(?://|\#)[ \t][^\n\"'\x01-\x07]*+\n|/\*\*?[ \t\r\n](?:[^*\"'\x01-\x07]|\*(?!/))*+\*/)"
_GLUE = rf"(?:[ \t\r\n\ufeff\u00a0\u200b]|\\[nrt]|{_COMMENT})*+"
_PAIR = (
    rf"{_GLUE}(?:[\x01\x04-\x06]{BLANK}|\x07[ \t]*+|{WORD}{BLANK}):{_GLUE}(?:[\x01-\x05]|{WORD}){_GLUE}"
)
_COMMAS = rf",(?:{_GLUE},)*+"
_ENTRY = re.compile(
    rf"{_GLUE}\{{{_PAIR}(?:{_COMMAS}{_PAIR})*+(?:{_COMMAS}{_GLUE})?\}}{_GLUE},", re.DOTALL
)
_PARTS = re.compile(rf"\\[nrt]|{_COMMENT}|(?P<kind>[\x01-\x07])|(?P<word>{WORD})", re.DOTALL)
_WRITTEN = re.compile(rf"({LOOSE}){BLANK}:{BLANK}({LOOSE}|{SCALAR})", re.DOTALL)
_MOST = 64  # scalars of an entry
AHEAD = 4  # entries that are looked for at first
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
    """What the entries have in common.

    `first`: what stands before the first scalar. `gaps`: what stands after each, the last with what stands
    before the first scalar of the next entry. `tail`: how much of it belongs to the entry and its comma.
    `kinds`: of the scalars. `same`: scalars that may not differ, since a word was looked up in the schema
    under them; `looked_up`: one was. `template`: the JSON.
    """

    first: str
    gaps: list[str]
    tail: int
    kinds: str
    same: tuple[tuple[int, str], ...]
    looked_up: bool
    template: str
    length: int  # of the entry that it was learnt from

    def take(self, text: str, at: int, ahead: int, most: int, fix: Fix) -> Taken | None:
        """The entries of this shape, `most` at most, from right after a comma on, within `ahead` characters.

        Another scalar stands after them. `fix` is told what was put right in a scalar.

        Raises:
            Refused: a scalar can be read in two ways.
        """
        if not text.startswith(self.first, at):
            return None
        parts = _SPLIT.split(text[at : at + ahead])
        width = len(self.kinds)
        gaps = parts[_STEP::_STEP]
        count = there = min((len(gaps) - 1) // width, most)
        if count < 1 or parts[0] != self.first:
            return None
        if gaps[: width * count] != self.gaps * count:
            starts = range(0, width * count, width)
            count = next(n for n, start in enumerate(starts) if gaps[start : start + width] != self.gaps)
        count = min(count, *(self._alike(parts, column, count) for column in range(width)))
        if not count:
            return None
        scalars: list[str] = [""] * (width * count)
        for column, kind in enumerate(self.kinds):
            scalars[column::width] = self._column(parts, column, kind, count)
        length = len(self.first) + count * sum(map(len, self.gaps)) - len(self.gaps[-1]) + self.tail
        end = at + length + sum(map(len, scalars))
        odd = [column for column, kind in enumerate(self.kinds) if kind > _NUMBER]
        if odd:
            known: dict[tuple[str, str], str] = {}
            for start in range(0, len(scalars), width):
                for column in odd:
                    each = self.kinds[column], scalars[start + column]
                    if each not in known:
                        known[each] = _mended(*each, fix)
                    scalars[start + column] = known[each]
        return Taken(count, self.template * count % tuple(scalars), end, count == there)

    def _column(self, parts: list[str], column: int, kind: str, count: int) -> list[str]:
        """The scalars at one place in so many entries; None where one is of another kind."""
        start = column * _STEP + min(ord(kind), 3)
        step = _STEP * len(self.kinds)
        return parts[start : start + step * count : step]

    def _alike(self, parts: list[str], column: int, count: int) -> int:
        """In how many entries in a row is this scalar what it was in the first?"""
        kind = self.kinds[column]
        found = self._column(parts, column, kind, count)
        if not all(found):
            found = found[: found.index(None)]  # type: ignore[arg-type]
        if kind > _NUMBER:
            found = found[: _first(_kind(each) != kind for each in found)]
        for place, scalar in self.same:
            if place == column and found.count(scalar) != len(found):
                found = found[: _first(each != scalar for each in found)]
        return len(found)


def _first(wrong: Iterator[bool]) -> int | None:
    return next((at for at, each in enumerate(wrong) if each), None)


def shape_of(entry: str, written: str) -> Shape | None:
    """The shape of an entry with the comma after it, and its JSON; None where others may be read otherwise."""
    parts = _SPLIT.split(entry)
    scalars = [next(filter(None, parts[at : at + 3])) for at in range(1, len(parts), _STEP)]
    if not 0 < len(scalars) <= _MOST:
        return None
    kinds = "".join(
        _TEXT if parts[at] else _NUMBER if parts[at + 1] else _kind(parts[at + 2])
        for at in range(1, len(parts), _STEP)
    )
    gaps = parts[::_STEP]
    shown = "".join(map("".join, zip(gaps, [*kinds, ""], strict=True)))
    if _ENTRY.fullmatch(shown) is None:
        return None
    found = [each for each in _PARTS.finditer(shown) if each.lastgroup]
    json = [piece for pair in _WRITTEN.findall(written) for piece in pair]
    if len(found) != len(json):
        return None
    pieces: list[str] = []
    same: list[tuple[int, str]] = []
    looked_up = False
    column = -1
    for number, (each, piece) in enumerate(zip(found, json, strict=True)):
        if each["kind"] is not None:
            column += 1
            # A mark that stands in the text itself is no scalar.
            if column == len(kinds) or each["kind"] != kinds[column]:
                return None
            if _mended(kinds[column], scalars[column], _unsaid) != piece:
                return None
            pieces.append("%s")
            continue
        pieces.append(piece.replace("%", "%%"))
        if number % 2 and each["word"] not in PLAIN_WORDS:
            looked_up = True
            if found[number - 1]["kind"] is not None:
                same.append((column, scalars[column]))
    if column + 1 != len(kinds):
        return None
    pairs = ",".join(f"{key}:{value}" for key, value in zip(pieces[::2], pieces[1::2], strict=True))
    last = gaps[-1] + gaps[0]
    return Shape(
        gaps[0],
        [*gaps[1:-1], last],
        len(gaps[-1]),
        kinds,
        tuple(same),
        looked_up,
        f",{{{pairs}}}",
        len(entry),
    )


def _unsaid(kind: str) -> None:
    """What was put right is known."""


def _kind(odd: str) -> str:
    """What is odd about it."""
    match odd[0]:
        case '"':
            return _LOOSE if odd[-1] == '"' else _CLOSING
        case "'":
            return _SINGLE
        case first:
            return _CURLY if first in "“”„‟‘’‚‛" else _OPENING


def _mended(kind: str, scalar: str, fix: Fix) -> str:
    """JSON's form of one scalar."""
    match kind:
        case "\1" | "\2":
            return scalar
        case "\6":
            return f'"{scalar}'
        case "\7":
            return f'{scalar}"'
    named = "loose" if kind == _LOOSE else "single" if kind == _SINGLE else "curly"
    return in_double_quotes(named, scalar[1:-1], fix)


class Entries:
    """What is known of the entries of the array that is read."""

    __slots__ = ("array", "missed", "place", "shape", "start", "wait", "written")

    def __init__(self) -> None:
        self.array: object = None
        self.shape: Shape | None = None
        self.place: View | Open | None = None  # of the entry that it was learnt from
        self.start = self.written = -1  # of the last entry: in the text, and in what is written
        # Where shapes are not met, they are looked for ever more seldom, as in `damage.py`.
        self.missed = self.wait = 0
