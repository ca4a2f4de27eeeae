"""What a call says itself is no evidence in its result: tools repeat what they were asked.

Source: `docs/grounding.md`, "What a change owes". Linear in the texts for each piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from .shown import LINES, is_cut, unseen

ALL = ""  # in the place of pieces: every one
_LEAST, _WORD = (
    3,
    6,
)  # characters of a piece, of one word, that is looked for without regard to case and quotes
_DROPPED = re.compile(r"[\s\"'`\\]+")
_NUMBER = r"[0-9]{1,9} ?[:|→│\t-]"
_DEEPEST = 4096


def texts_of(arguments: Any) -> Iterator[str]:
    """Every text in a call's arguments, its keys among them; at most some thousand."""
    todo = [arguments]
    for _ in range(_DEEPEST):
        if not todo:
            return
        here = todo.pop()
        if type(here) is str:
            yield here
        elif type(here) is dict:
            yield from here
            todo.extend(reversed(here.values()))
        elif type(here) is list:
            todo.extend(reversed(here))


def echoed(pieces: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Those of the pieces that stand in what a call says; `ALL` where it says one with a line's number."""
    different = list(dict.fromkeys(pieces))
    if not different:
        return []
    said = list(texts)
    apart, together = "\n".join(said), _plain("".join(said))
    missing = frozenset(unseen(different, apart))
    found: list[str] = []
    for piece in different:
        plain = _plain(piece)
        if piece not in missing or (
            len(plain) >= (_WORD if plain.isalnum() else _LEAST) and plain in together
        ):
            found.append(piece)
            if re.search(rf"[0-9][:|→│-]?{re.escape(plain)}", together) is not None:
                return [ALL]
    return found if len(found) <= LINES else [ALL]


def without_echoes(pieces: Iterable[str], text: str, said: frozenset[str]) -> tuple[str, ...]:
    """The pieces that a result does not show; what the call itself said has to be a numbered line."""
    kept = tuple(pieces)
    if ALL in said:
        return kept
    missing = frozenset(unseen(kept, text))
    return tuple(each for each in kept if each in missing or (each in said and not _is_numbered(each, text)))


def _plain(text: str) -> str:
    return _DROPPED.sub("", text.casefold())


def _is_numbered(piece: str, text: str) -> bool:
    rest = "" if is_cut(piece) else r"\s*$"
    line = rf"^[ \t]*(?:[^\s:][^:\n]{{0,4095}}+:)?[ \t]*{_NUMBER}[ \t]*{re.escape(piece)}{rest}"
    return re.search(line, text, re.MULTILINE) is not None
