"""What `ground` and `preset` blocks say: which calls look, which change, and what a claim needs.

Source: `docs/grounding.md`. `groundblock.py` reads them.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ..grammar.ast import Condition, Pointer, Text, Word
from ..grammar.span import NOWHERE, Span
from .toolnames import ToolName


class Listed(Struct, frozen=True):
    """Tools that look (`reads`), change something (`mutates`), or are always new (`exempt`)."""

    word: str
    names: tuple[ToolName, ...]
    span: Span = NOWHERE


class Shell(Struct, frozen=True):
    """A tool whose command, at a place of its arguments, decides."""

    tool: ToolName
    command: Pointer
    span: Span = NOWHERE


class Normalize(Struct, frozen=True):
    """What varies by itself in the results of some tools: a regular expression and what stands for it."""

    names: tuple[ToolName, ...]
    pattern: str
    text: str
    span: Span = NOWHERE


class Signal(Struct, frozen=True):
    """A fact that a good result of a tool shows."""

    name: str
    tool: ToolName
    condition: Condition | None = None
    unless: bool = False
    span: Span = NOWHERE


class Require(Struct, frozen=True):
    """Facts that a completion needs."""

    signals: tuple[str, ...]
    condition: Condition | None = None
    unless: bool = False
    span: Span = NOWHERE


class Surface(Struct, frozen=True):
    """Places of arguments whose texts a claim is about."""

    selectors: tuple[Pointer, ...]
    span: Span = NOWHERE


GroundStatement: TypeAlias = "Listed | Shell | Normalize | Signal | Require | Surface"


class GroundBlock(Struct, frozen=True):
    statements: tuple[GroundStatement, ...]
    span: Span = NOWHERE


class PresetBlock(Struct, frozen=True):
    """How patient the gate is. `cap` None: the statement only says for which models a preset holds."""

    name: str
    cap: int | None = None
    refill: int | None = None
    strict: bool = False
    families: tuple[Word | Text, ...] | None = None
    span: Span = NOWHERE
