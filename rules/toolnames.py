"""A tool's name as rule files write it: exact, or a quoted glob in which `*` and `?` stand for others."""

from __future__ import annotations

from msgspec import Struct

from ..grammar.span import NOWHERE, Span

LONGEST_NAME = 256


class ToolName(Struct, frozen=True):
    """A tool's name; with `glob` a pattern in which `*` and `?` stand for others."""

    text: str
    glob: bool = False
    span: Span = NOWHERE
