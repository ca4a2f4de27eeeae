"""What a model prints beside its arguments."""

from __future__ import annotations

from msgspec import Struct

AROUND = 64  # words and tags around the arguments; more are no longer what a model says by habit


class Speech(Struct, frozen=True):
    """What the statements `surroundings` and `quote-token` name for a model."""

    words: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
