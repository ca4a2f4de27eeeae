"""What a call says itself is no evidence in its result: tools repeat what they were asked.

Source: `docs/grounding.md`, "What a change owes". Linear in the texts for each piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from .relevance import composed
from .shown import LINES, places, scalars, spelled, unseen

ALL = ""  # in the place of pieces: every one
_LEAST = 3  # characters of a piece that is looked for without regard to case and quotes
_WORD = 6  # the same, of one word
_DROPPED = re.compile(r"[\s\"'`\\=,;]+")
_NUMBERED = re.compile(r"[ \t]{0,64}+(?:[^:\s][^:\n\t ]{0,4095}+:)?[ \t]{0,64}+[0-9]{1,9}+ ?[:|→│\t-]")
_WORDS = MappingProxyType({True: "true", False: "false", None: "null"})


def texts_of(arguments: Any) -> Iterator[str]:
    """Every text in a call's arguments, its keys, numbers and words among them; at most some thousand."""
    for each in scalars(arguments, keys=True):
        text = _WORDS[each] if each is None or type(each) is bool else spelled(each)
        if text is not None:
            yield text


def echoed(pieces: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Those of the pieces that stand in what a call says; `ALL` where it says one with a line's number."""
    different = list(dict.fromkeys(pieces))
    if not different:
        return []
    said = [each for text in texts for each in _spellings(text)]
    apart, together = "\n".join(said).casefold(), _plain("".join(said))
    found: list[str] = []
    for piece in different:
        folded, plain = piece.casefold(), _plain(piece)
        least = _WORD if plain.isalnum() else _LEAST
        if unseen((folded,), apart) and (len(plain) < least or plain not in together):
            continue
        found.append(piece)
        if len(found) > LINES:
            break
        if re.search(rf"[0-9] ?[:|→│\t-][ \t\"']*{re.escape(folded)}", apart) is not None:
            return [ALL]
        if plain and re.search(rf"[0-9][:|→│-]{re.escape(plain)}", together) is not None:
            return [ALL]
    return found if len(found) <= LINES else [ALL]


def _spellings(text: str) -> Iterator[str]:
    """A text, and what it is where somebody decodes it."""
    yield composed(text)
    if "%" in text:
        yield unquote(text)
    if "&" in text:
        yield unescape(text)


def without_echoes(pieces: Iterable[str], text: str, said: frozenset[str]) -> tuple[str, ...]:
    """The pieces that a result does not show; what the call itself said has to stand in a numbered line."""
    kept = tuple(pieces)
    if ALL in said:
        return kept
    missing = frozenset(unseen(kept, text))
    return tuple(each for each in kept if each in missing or (each in said and not _is_numbered(each, text)))


def _plain(text: str) -> str:
    return _DROPPED.sub("", text.casefold())


def _is_numbered(piece: str, text: str) -> bool:
    """Does it stand in a line that begins with a number, as `grep -n` and `cat -n` print them?"""
    return any(
        _NUMBERED.match(text, text.rfind("\n", 0, at) + 1, at) is not None for at in places(piece, text)
    )
