"""What the checker knows of the terms of a condition: their names, types, and how they are written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ..grammar.ast import Function, Json, Literal, Pointer, Term, Text, Word
from ..grammar.pointer import pointer_text
from ..rules.values import TYPES

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


def needs_session(term: Term) -> bool:
    """Is it one of the terms that look at the session or the result, and are unknown without them?"""
    if isinstance(term, Function):
        return term.name.text in ("runs", "turn.calls")
    return isinstance(term, Word) and term.text in WORDS and term.text.startswith(("turn.", "result."))


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
