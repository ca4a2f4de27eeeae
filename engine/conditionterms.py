"""What the checker knows of the terms of a condition: their names, types, and how they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
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


def is_context(term: Term) -> bool:
    """`context.NAME…`: what the host gives, known at the call."""
    return isinstance(term, Word) and term.text.startswith("context.")


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
