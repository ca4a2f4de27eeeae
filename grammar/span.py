"""Where something stands in a rule file."""

from msgspec import Struct


class Span(Struct, frozen=True):
    """A stretch of text: `start` and `end` in code points, `line` and `column` of its start, from 1."""

    start: int
    end: int
    line: int
    column: int


NOWHERE = Span(0, 0, 1, 1)
