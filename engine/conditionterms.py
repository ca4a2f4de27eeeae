"""What the checker knows of the terms of a condition: their names, types, and how they are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from ..grammar.ast import STAR, Function, Item, Json, Literal, Pointer, Segment, Term, Text, Word
from ..grammar.pointer import pointer_text
from ..rules.values import TYPES
from .selector import array_index

WORDS = ("tool", "model", "turn.step", "turn.repeats", "result.ok", "result.text", "result.exit_code")
# The functions, and how each is called.
FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "count": "count(/edits)",
        "length": "length(/text)",
        "turn.calls": "turn.calls(bash)",
        "runs": 'runs(/command, "pytest")',
    }
)
NUMERIC = frozenset({"number", "integer"})
_DEEPEST = 64  # segments of a selector that are held against the types above them
# What the functions look at, and the words for it.
NEEDS: Mapping[str, tuple[frozenset[str], str]] = MappingProxyType(
    {
        "count": (frozenset({"array", "object"}), "an array or an object"),
        "length": (frozenset({"string"}), "a text"),
        "runs": (frozenset({"string"}), "a text"),
    }
)
# What a test that is unknown in every call means for a rule, by its effect.
_UNKNOWN: Mapping[str | None, str] = MappingProxyType(
    {
        "deny": "unknown is enough for a `deny`: where this decides, every call is denied",
        "ask": "unknown is enough for an `ask`: where this decides, every call is asked about",
        "allow": "unknown is not enough for an `allow`: where this decides, no call is allowed",
        None: "unknown is not enough for the rule: where this decides, it does nothing",
    }
)


def is_context(term: Term) -> bool:
    """`context.NAME…`: what the host gives, known at the call."""
    return isinstance(term, Word) and term.text.startswith("context.")


def needs_result(term: Term) -> bool:
    """Is it one of the terms that look at a result, which is there in a `signal` alone?"""
    return isinstance(term, Word) and term.text in WORDS and term.text.startswith("result.")


def when_unknown(effect: str | None) -> str:
    """What it means that a test is unknown in every call, for a rule with this effect, or None."""
    return _UNKNOWN[effect]


def scalar_keys(values: Iterable[Json]) -> frozenset[tuple[bool, Json]] | None:
    """A key for each value, the same for those that compare as equal; None where one is no scalar."""
    keys: set[tuple[bool, Json]] = set()
    for value in values:
        if isinstance(value, list | dict):
            return None
        keys.add((isinstance(value, bool), value))
    return frozenset(keys)


def type_of_word(word: str) -> frozenset[str] | None:
    """The type of one of `WORDS`, None for another name."""
    if word in ("tool", "model", "result.text"):
        return frozenset({"string"})
    if word == "result.ok":
        return frozenset({"boolean"})
    return frozenset({"integer"}) if word in WORDS else None


def types_of(value: Json) -> frozenset[str]:
    """The JSON types that a value has: a whole number is an integer too."""
    match value:
        case None:
            return frozenset({"null"})
        case bool():
            return frozenset({"boolean"})
        case int():
            return NUMERIC
        case float():
            return NUMERIC if value.is_integer() else frozenset({"number"})
        case str():
            return frozenset({"string"})
    return frozenset({"array" if isinstance(value, list) else "object"})


def kinds(types: frozenset[str]) -> str:
    """`string or null`, in the order of `TYPES`."""
    kept = types - {"integer"} if "number" in types else types
    return " or ".join(each for each in TYPES if each in kept)


def shown(term: Term) -> str:
    """The term as it is written in a rule."""
    match term:
        case Pointer(segments, relative):
            return ("." if relative else "") + pointer_text(segments) or '""'
        case Text(value, raw):
            return f"'{value}'" if raw else json.dumps(value, ensure_ascii=False)
        case Literal(value):
            return json.dumps(value, ensure_ascii=False)
        case Word(text):
            return text
        case Function(name, arguments):
            parts = (shown(each) for each in arguments if isinstance(each, Pointer | Text | Literal | Word))
            return f"{name.text}({', '.join(parts)})"


class Scope(Struct, frozen=True):
    """What a part of a condition may refer to. `base`: what `./` is, None outside `any` and `every`.

    The others are the arguments of `check_condition`.
    """

    lets: Mapping[str, Json]
    place_types: Callable[[Pointer], frozenset[str] | None] | None
    declares: Callable[[Pointer], str | bool] | None
    place_enum: Callable[[Pointer], tuple[Json, ...] | None] | None
    effect: str | None
    base: tuple[Segment, ...] | None
    results: bool = False  # there is a result to look at

    def absolute(self, pointer: Pointer) -> tuple[Segment, ...] | None:
        if not pointer.relative:
            return pointer.segments
        return None if self.base is None else (*self.base, *pointer.segments)

    def segments(self, term: Term | Item) -> tuple[Segment, ...] | None:
        """The place that a term is the value of, if it is one."""
        if isinstance(term, Item):
            return self.base
        return self.absolute(term) if isinstance(term, Pointer) else None

    def types(self, term: Term | Item) -> frozenset[str] | None:
        """The JSON types that a term can have, with `integer` beside each `number`; None: any."""
        match term:
            case Pointer() | Item():
                segments = self.segments(term)
                if segments is None or self.place_types is None:
                    return None
                types = self.place_types(Pointer(segments))
                return types | {"integer"} if types is not None and "number" in types else types
            case Function(name):
                return {"count": frozenset({"integer"}), "length": frozenset({"integer"})}.get(name.text)
            case Word(text):
                if text in WORDS:
                    return type_of_word(text)
                return types_of(self.lets[text]) if text in self.lets else None
            case Text() | Literal():
                return types_of(term.value)

    def value(self, term: Term) -> Json:
        """What is known of a term before any call, else None."""
        if isinstance(term, Word):
            return None if term.text in WORDS or is_context(term) else self.lets.get(term.text)
        return term.value if isinstance(term, Text | Literal) else None

    def unnamed(self, term: Term) -> bool:
        if not isinstance(term, Word) or term.text in WORDS or term.text in self.lets:
            return False
        return not is_context(term)

    def misfit(self, segments: tuple[Segment, ...]) -> int | None:
        """How many segments lead to a place of types that have no place like the next segment, if any do."""
        if self.place_types is None or self.effect is None:
            return None
        for end, segment in enumerate(segments[:_DEEPEST]):
            types = None if segment is STAR else self.place_types(Pointer(segments[:end]))
            if types is None or "object" in types or ("array" in types and array_index(segment) is not None):
                continue
            return end
        return None
