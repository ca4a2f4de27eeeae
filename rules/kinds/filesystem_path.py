"""filesystem-path: take the markdown link away that a chat client put around a path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...grammar.ast import Json
from ..kind import Action, Example, Finding, Kind, Log, Phase, Place, Selecting, Spec, takes_none

_SCHEMES: Final = ("](http://", "](https://")
LONGEST: Final = 4_096  # characters of a path; it also keeps the cost linear


class FilesystemPath(Kind):
    """Unwrap markdown auto-links in a path: `[a.ts](http://a.ts)` becomes `a.ts`.

    Every link whose text equals its address without `http://` or `https://` becomes its text, wherever
    it stands in the string. Brackets inside the text must be in pairs, as in markdown.

    Nothing else changes: a link to another address, an address in `<…>`, code marks, a text with a line
    break or over 4,096 characters, and everything that is not text stay as they are.
    """

    keyword = "filesystem-path"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    note = "The path was wrapped in a markdown link. Send the bare path."
    cost = "one search for `](http` in the text"
    examples = (
        Example("filesystem-path /path", {"path": "/repo/[a.ts](http://a.ts)"}, {"path": "/repo/a.ts"}),
        Example("filesystem-path /path", {"path": "[id].[ts](https://ts)"}, {"path": "[id].ts"}),
        Example("filesystem-path /path", {"path": "[click](https://x.com)"}, why="a real link"),
        Example("filesystem-path /path", {"path": "[a.com](http://a.com/)"}, why="text and address differ"),
        Example("filesystem-path /path", {"path": 5}, why="no text"),
    )

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        # One path that is sent where an array belongs can still be wrapped.
        if takes_none(place, "string", "array"):
            yield Finding("G226", "the schema takes no text here", "take the rule away", warning=True)

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        return Action(_apply, 'type(v) is str and "](http" in v')


def _apply(value: Json, _log: Log) -> Json:
    return unwrap(value) if isinstance(value, str) else value


def unwrap(text: str) -> str:
    """The text with its auto-links unwrapped; the same object where there are none. Cost: linear.

    Of links in links the inner ones go. What then is a link still is found when the call is settled,
    which refuses it: it cannot be told which of them the path is.
    """
    if "](http" not in text:
        return text
    pieces: list[str] = []
    kept = at = 0  # up to where the text is in `pieces`; where the scan stands
    opened: list[int] = []
    for mark in _marks(text):
        if mark < at:
            continue
        character = text[mark]
        if character == "[":
            opened.append(mark)
        elif character == "\n":
            opened.clear()
        elif opened:
            start = opened.pop()
            end = _link_end(text, start, mark)
            if end and start >= kept:  # else a link inside it went in this pass already
                pieces += (text[kept:start], text[start + 1 : mark])
                kept = at = end
    if not pieces:
        return text
    pieces.append(text[kept:])
    return "".join(pieces)


def _marks(text: str) -> list[int]:
    return [i for i, character in enumerate(text) if character in "[]\n"]


def _link_end(text: str, start: int, close: int) -> int:
    """Where the auto-link ends whose text stands between `start` and `close`, or 0."""
    if not 0 < close - start - 1 <= LONGEST:
        return 0
    for scheme in _SCHEMES:
        if text.startswith(scheme, close):
            address = close + len(scheme)
            end = address + close - start - 1
            if text.startswith(")", end) and text[start + 1 : close] == text[address:end]:
                return end + 1
    return 0


KIND = FilesystemPath
