"""What a `palette` block says: which tools a request offers, and which one it must call.

Source: `docs/palettes.md`. `paletteblock.py` reads it.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ..grammar.ast import Condition, Text, Word
from ..grammar.span import NOWHERE, Span
from .toolnames import ToolName

MOST_FORCED = 2  # requests, where a `force` does not say


class Filter(Struct, frozen=True):
    """`offer` keeps these tools alone, `exclude` drops them. `hard`: no force may override it."""

    names: tuple[ToolName, ...]
    drops: bool
    hard: bool
    span: Span = NOWHERE


class Always(Struct, frozen=True):
    """Tools that survive every filter that is not hard."""

    names: tuple[ToolName, ...]
    span: Span = NOWHERE


class Force(Struct, frozen=True):
    """One tool that must be called. `most`: forced requests in a turn, until it is dropped.

    `until_success`: only a good result releases; else any result does. `soft`: dropped where it cannot be.
    """

    tool: str
    until_success: bool = False
    most: int = MOST_FORCED
    soft: bool = False
    condition: Condition | None = None
    unless: bool = False
    span: Span = NOWHERE


PaletteStatement: TypeAlias = "Filter | Always | Force"


class PaletteBlock(Struct, frozen=True):
    """One `palette`. `families` None: for every model."""

    name: str
    statements: tuple[PaletteStatement, ...]
    families: tuple[Word | Text, ...] | None = None
    condition: Condition | None = None
    unless: bool = False
    span: Span = NOWHERE
