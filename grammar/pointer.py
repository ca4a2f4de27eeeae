"""JSON Pointers (RFC 6901), in which a whole segment `*` is every item of an array."""

from __future__ import annotations

from collections.abc import Iterable

from jsonpointer import JsonPointer, JsonPointerException, escape

from .ast import STAR, Segment, Star

MOST_SEGMENTS = 64  # values are not nested deeper


def read_pointer(text: str) -> tuple[Segment, ...]:
    """The unescaped segments of a pointer; "" is the root and has none.

    Raises:
        ValueError: `text` does not begin with `/`, has a `~` that is not `~0` or `~1`, or over 64 segments;
            with the reason.
    """
    try:
        parts: list[str] = JsonPointer(text).parts
    except JsonPointerException:
        if text and not text.startswith("/"):
            raise ValueError("it does not begin with `/`") from None
        raise ValueError("`~` is written `~0`, and `/` in a key `~1`") from None
    if len(parts) > MOST_SEGMENTS:
        raise ValueError(f"over {MOST_SEGMENTS} segments")
    return tuple(STAR if part == "*" else part for part in parts)


def pointer_text(segments: Iterable[str | int | Star]) -> str:
    """RFC 6901 text of keys, indexes and stars; a key `*` looks like a star there."""
    return "".join("/*" if part is STAR else "/" + escape(str(part)) for part in segments)
