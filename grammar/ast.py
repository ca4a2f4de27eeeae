"""The tree of a rule file: what was written, nothing inferred.

A file is a list of statements of one shape: a word, groups of atoms, suffixes, a block. What a
word means is decided elsewhere (`rules`, `engine`), so that a new kind needs no new grammar.
Spans and comments take no part in equality: two trees are equal when they say the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from .span import NOWHERE, Span

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Star(Enum):
    """The segment `*` of a selector: every item of an array."""

    STAR = "*"


STAR = Star.STAR
Segment: TypeAlias = "str | Star"


@dataclass(frozen=True, slots=True)
class Word:
    """A bare name (`alias`, `file_path`, `context.role`, `from`, `=`)."""

    text: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted text; `raw` when written with single quotes."""

    value: str
    raw: bool = field(default=False, compare=False)
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, `true`, `false`, `null`, an array or an object. `{}` may also be an empty block."""

    value: Json
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Range:
    """`low..high`, both ends included."""

    low: int | float
    high: int | float
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Day:
    """A date, `YYYY-MM-DD`, as written; checked to be a real day."""

    text: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Pointer:
    """A selector: unescaped segments. `relative` for `./x`. The root value has no segments."""

    segments: tuple[Segment, ...]
    relative: bool = False
    span: Span = field(default=NOWHERE, compare=False)


Atom: TypeAlias = "Word | Text | Literal | Range | Day | Pointer"


# Conditions -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Function:
    """A term or test with arguments: `count(/edits)`, `turn.calls(bash)`, `runs(/command, "pytest")`."""

    name: Word
    arguments: tuple[Atom, ...]
    span: Span = field(default=NOWHERE, compare=False)


# A Word is `tool`, `model`, `context.role`, `turn.step`, `result.ok` or the name of a `let`.
Term: TypeAlias = "Pointer | Text | Literal | Word | Function"


@dataclass(frozen=True, slots=True)
class Item:
    """The value that a test after `any SEL` or `every SEL` is about; never written."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Condition, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Condition, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    part: Condition
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Paren:
    """A condition in parentheses, kept so that printing is faithful."""

    part: Condition
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Test:
    """`left OPERATOR right`.

    `operator`: `==` `!=` `<` `<=` `>` `>=` `in` `matches` `fullmatches` `under` `starts-with`
    `ends-with` `contains` `is`, or another word, which the checker refuses. `negated` for
    `not in`, `not under` and so on: exactly `not (left OPERATOR right)`.
    """

    left: Term | Item
    operator: str
    right: Term
    negated: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Presence:
    """`present SEL`, or with `missing` `missing SEL`."""

    pointer: Pointer
    missing: bool
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Quantified:
    """`any SEL …` or with `every` `every SEL …`; a short tail is a `Test` whose left side is `Item`."""

    pointer: Pointer
    every: bool
    body: Condition
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class After:
    """`after TOOL`, or with `in_turn` `after TOOL in turn`."""

    tool: Word | Text
    in_turn: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Truth:
    """A bare term as a test: true where its value is `true`."""

    term: Term
    span: Span = field(default=NOWHERE, compare=False)


Condition: TypeAlias = "Or | And | Not | Paren | Test | Presence | Quantified | After | Truth"


# Statements -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement:
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
    span: Span = field(default=NOWHERE, compare=False)  # from its first to its last character
    comments: tuple[str, ...] = ()  # the comment lines above it, each without `#` and one blank
    trailing: str | None = None  # the comment on its (first) line
    closing: tuple[str, ...] = ()  # the comment lines before the `}` of its block
    # Where empty lines stand: an index of `comments`, or their number for the statement itself.
    blanks: frozenset[int] = field(default=frozenset(), compare=False)


@dataclass(frozen=True, slots=True)
class File:
    """One rule file. `comments` stand after the last statement."""

    statements: tuple[Statement, ...]
    comments: tuple[str, ...] = ()
