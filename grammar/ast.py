"""The tree of a rule file: what was written, nothing inferred.

A file is a list of statements of one shape: a word, groups of atoms, suffixes, a block. What a
word means is decided elsewhere (`rules`, `engine`), so that a new kind needs no new grammar.
Spans and comments take no part in equality: two trees are equal when they say the same.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from .span import NOWHERE, Span

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Star(Enum):
    """The segment `*` of a selector: every item of an array."""

    STAR = "*"


STAR = Star.STAR
Segment: TypeAlias = "str | Star"
_ASIDE = frozenset({"span", "raw", "blanks"})  # how and where it was written, not what it says


class Node(Struct, frozen=True):
    """Base of what a tree is made of: equal where it says the same."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._said() == other._said()

    def __hash__(self) -> int:
        return hash((type(self), *self._said()))

    def _said(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name not in _ASIDE)


class Word(Node, frozen=True):
    """A bare name (`alias`, `file_path`, `context.role`, `from`, `=`)."""

    text: str
    span: Span = NOWHERE


class Text(Node, frozen=True):
    """A quoted text; `raw` when written with single quotes."""

    value: str
    raw: bool = False
    span: Span = NOWHERE


class Literal(Node, frozen=True):
    """A number, `true`, `false`, `null`, an array or an object. `{}` may also be an empty block."""

    value: Json
    span: Span = NOWHERE


class Range(Node, frozen=True):
    """`low..high`, both ends included."""

    low: int | float
    high: int | float
    span: Span = NOWHERE


class Day(Node, frozen=True):
    """A date, `YYYY-MM-DD`, as written; checked to be a real day."""

    text: str
    span: Span = NOWHERE


class Pointer(Node, frozen=True):
    """A selector: unescaped segments. `relative` for `./x`. The root value has no segments."""

    segments: tuple[Segment, ...]
    relative: bool = False
    span: Span = NOWHERE


Atom: TypeAlias = "Word | Text | Literal | Range | Day | Pointer"


# Conditions -----------------------------------------------------------------------------------


class Function(Node, frozen=True):
    """A term or test with arguments: `count(/edits)`, `turn.calls(bash)`, `runs(/command, "pytest")`."""

    name: Word
    arguments: tuple[Atom, ...]
    span: Span = NOWHERE


# A Word is `tool`, `model`, `context.role`, `turn.step`, `result.ok` or the name of a `let`.
Term: TypeAlias = "Pointer | Text | Literal | Word | Function"


class Item(Node, frozen=True):
    """The value that a test after `any SEL` or `every SEL` is about; never written."""

    span: Span = NOWHERE


class Or(Node, frozen=True):
    parts: tuple[Condition, ...]
    span: Span = NOWHERE


class And(Node, frozen=True):
    parts: tuple[Condition, ...]
    span: Span = NOWHERE


class Not(Node, frozen=True):
    part: Condition
    span: Span = NOWHERE


class Paren(Node, frozen=True):
    """A condition in parentheses, kept so that printing is faithful."""

    part: Condition
    span: Span = NOWHERE


class Test(Node, frozen=True):
    """`left OPERATOR right`.

    `operator`: `==` `!=` `<` `<=` `>` `>=` `in` `matches` `fullmatches` `under` `starts-with`
    `ends-with` `contains` `is`, or another word, which the checker refuses. `negated` for
    `not in`, `not under` and so on: exactly `not (left OPERATOR right)`.
    """

    left: Term | Item
    operator: str
    right: Term
    negated: bool = False
    span: Span = NOWHERE


class Presence(Node, frozen=True):
    """`present SEL`, or with `missing` `missing SEL`."""

    pointer: Pointer
    missing: bool
    span: Span = NOWHERE


class Quantified(Node, frozen=True):
    """`any SEL …` or with `every` `every SEL …`; a short tail is a `Test` whose left side is `Item`."""

    pointer: Pointer
    every: bool
    body: Condition
    span: Span = NOWHERE


class After(Node, frozen=True):
    """`after TOOL`, or with `in_turn` `after TOOL in turn`."""

    tool: Word | Text
    in_turn: bool = False
    span: Span = NOWHERE


class Truth(Node, frozen=True):
    """A bare term as a test: true where its value is `true`."""

    term: Term
    span: Span = NOWHERE


Condition: TypeAlias = "Or | And | Not | Paren | Test | Presence | Quantified | After | Truth"


# Statements -----------------------------------------------------------------------------------


class Statement(Node, frozen=True):
    """One statement. `items` are its groups in order; a group is atoms joined by commas.

    `alias /path from a, b accepting string` has the word `alias` and the groups
    `(/path)`, `(from)`, `(a, b)`, `(accepting)`, `(string)`.
    `block` is None without a block. A trailing group `(Literal({}),)` may stand for an empty one.
    """

    word: Word
    items: tuple[tuple[Atom, ...], ...] = ()
    shadow: bool = False
    families: tuple[Word | Text, ...] | None = None
    condition: Condition | None = None
    unless: bool = False
    note: Text | None = None
    name: Word | Text | None = None
    block: tuple[Statement, ...] | None = None
    span: Span = NOWHERE  # from its first to its last character
    comments: tuple[str, ...] = ()  # the comment lines above it, each without `#` and one blank
    trailing: str | None = None  # the comment on its (first) line
    closing: tuple[str, ...] = ()  # the comment lines before the `}` of its block
    # Where empty lines stand: an index of `comments`, or their number for the statement itself.
    blanks: frozenset[int] = frozenset()


class File(Node, frozen=True):
    """One rule file. `comments` stand after the last statement."""

    statements: tuple[Statement, ...]
    comments: tuple[str, ...] = ()
