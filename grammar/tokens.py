"""A token of a rule file and its place among the lines."""

from __future__ import annotations

from typing import Any, NamedTuple

from .span import Span


class Token(NamedTuple):
    """A piece of text.

    `gap`: line ends between the token before it and this one. `indent`: the column at which its
    line begins. `value`: what the text stands for, once it was read.
    """

    type: str
    text: str
    start: int
    end: int
    line: int
    column: int
    gap: int
    indent: int
    value: Any = None

    @property
    def span(self) -> Span:
        return Span(self.start, self.end, self.line, self.column)

    def part(self, begin: int, end: int) -> Span:
        """The span of a stretch of its text."""
        return Span(self.start + begin, self.start + end, self.line, self.column + begin)
