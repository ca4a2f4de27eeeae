"""Where a value does not fit a schema, found lazily: the work ends with the issues that are wanted.

The validator makes every error of a value before it gives the first one, which on a large broken value
is most of a call's cost. Objects and arrays with plain keywords are walked here; every other value goes
to the validator, which alone says what is wrong with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..grammar.ast import Json
from .selector import Path

if TYPE_CHECKING:
    from .schema import Fault, Schema

_ASIDE = frozenset(
    {"title", "description", "default", "examples", "$comment", "$schema", "$defs", "definitions"}
)
_SAME = frozenset({"$ref", "allOf"})  # more schemas for the same value
_OBJECT = _ASIDE | _SAME | {"type", "properties", "required", "additionalProperties"}
_ARRAY = _ASIDE | _SAME | {"type", "items", "minItems", "maxItems"}


def collect(schema: Schema, value: Json, most: int) -> list[Fault]:
    """At most `most` faults, in the order of the value. Iterative."""
    found: list[Fault] = []
    seen: set[tuple[str, Path]] = set()  # by references and `allOf`, which may go in a circle
    stack: list[tuple[Json, str, Path]] = [(value, "", ())]
    while stack and len(found) < most:
        here, pointer, path = stack.pop()
        spot = schema.at(pointer)
        if isinstance(spot, dict):
            more = schema.same_value(pointer, spot)
            if isinstance(here, dict) and more is not None and _walks_object(spot):
                stack += [(here, each, path) for each in more if (each, path) not in seen]
                seen.update((each, path) for each in more)
                _object(schema, here, spot, pointer, path, stack, found)
                continue
            if isinstance(here, list) and more is not None and _walks_array(spot, here):
                stack += [(here, each, path) for each in more if (each, path) not in seen]
                seen.update((each, path) for each in more)
                items = f"{pointer}/items"
                if "items" in spot:
                    stack.extend((here[n], items, (*path, n)) for n in range(len(here) - 1, -1, -1))
                continue
        elif spot is True:
            continue
        validator = schema.validator_at(pointer)
        if not validator.is_valid(here):
            found += schema.native_faults(validator, here, most - len(found), path)
    return found[:most]


def _walks_object(spot: dict[str, Any]) -> bool:
    """Are the keywords such that an object is judged by its keys, one by one?"""
    return not spot.keys() - _OBJECT and _allows(spot, "object")


def _walks_array(spot: dict[str, Any], value: list[Json]) -> bool:
    """Are the keywords such that this array is right but for its items?"""
    if spot.keys() - _ARRAY or not _allows(spot, "array") or isinstance(spot.get("items"), list):
        return False
    low, high = spot.get("minItems", 0), spot.get("maxItems", len(value))
    return type(low) is int and type(high) is int and low <= len(value) <= high


def _allows(spot: dict[str, Any], kind: str) -> bool:
    named = spot.get("type", kind)
    return bool(named == kind or (isinstance(named, list) and kind in named))


def _object(
    schema: Schema,
    here: dict[str, Json],
    spot: dict[str, Any],
    pointer: str,
    path: Path,
    stack: list[tuple[Json, str, Path]],
    found: list[Fault],
) -> None:
    named = spot.get("properties", {})
    rest = spot.get("additionalProperties", True)
    unexpected = [key for key in here if key not in named] if rest is False else []
    if unexpected:
        found.append(schema.fault(path, "additionalProperties", {"unexpected": unexpected}))
    missing = [key for key in spot.get("required", ()) if key not in here]
    found += [schema.fault(path, "required", {"property": key}) for key in missing]
    for key in reversed(here):
        if key in named:
            escaped = key.replace("~", "~0").replace("/", "~1")
            stack.append((here[key], f"{pointer}/properties/{escaped}", (*path, key)))
        elif isinstance(rest, dict):
            stack.append((here[key], f"{pointer}/additionalProperties", (*path, key)))
