"""Where a value does not fit a schema, found lazily: the work ends with the issues that are wanted.

The validator makes every error of a value before it gives the first one, and for a union the errors
of all its branches, which on a recursive one is exponential. So objects, arrays and unions are walked
here; what has other keywords goes to the validator, which alone says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..grammar.ast import Json
from .selector import Path

if TYPE_CHECKING:
    from .native import Misfit
    from .schema import Schema

_UNIONS = ("anyOf", "oneOf")
_EVER = frozenset({"not", "if", "then", "else", "enum", "const", "$dynamicRef", "$recursiveRef"})
# Keywords that are not walked here, by what the value is.
_OBJECT = _EVER | {
    *("patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties"),
    *("dependentSchemas", "dependentRequired", "dependencies"),
}
_ARRAY = _EVER | {
    *("prefixItems", "additionalItems", "contains", "minContains", "maxContains", "uniqueItems"),
    *("unevaluatedItems", "minItems", "maxItems"),
}
_SCALAR = _EVER | {
    *("minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf",),
}
_COMPOSED = frozenset({"$ref", "allOf", *_UNIONS})


def collect(schema: Schema, value: Json, most: int, pointers: Iterable[str]) -> list[Misfit]:
    """At most `most` faults of the value under the subschemas at these pointers. Iterative."""
    found: list[Misfit] = []
    seen: set[tuple[str, Path]] = set()  # by references and `allOf`, which may go in a circle
    stack: list[tuple[Json, str, Path]] = [(value, pointer, ()) for pointer in pointers]
    while stack and len(found) < most:
        here, pointer, path = stack.pop()
        spot = schema.at(pointer)
        if spot is True:
            continue
        more = _walked(schema, here, spot, pointer)
        if more is None:
            validator = schema.validator_at(pointer)
            if not validator.is_valid(here):
                found += schema.native_faults(validator, here, most - len(found), path)
            continue
        stack += [(here, each, path) for each in more if (each, path) not in seen]
        seen.update((each, path) for each in more)
        found += _own_faults(schema, here, spot, pointer, path)
        _descend(here, spot, pointer, path, stack)
    return found[:most]


def _walked(schema: Schema, here: Json, spot: Any, pointer: str) -> list[str] | None:
    """More subschemas for the value, where all keywords that matter for it are walked here; else None."""
    if not isinstance(spot, dict):
        return None
    if isinstance(here, dict):
        hard = _OBJECT
    elif isinstance(here, list):
        hard = _ARRAY
        if isinstance(spot.get("items"), list):
            return None
    elif spot.keys().isdisjoint(_COMPOSED):
        return None  # the validator is quick with one scalar
    else:
        hard = _SCALAR
    return schema.same_value(pointer, spot) if spot.keys().isdisjoint(hard) else None


def _own_faults(schema: Schema, here: Json, spot: dict[str, Any], pointer: str, path: Path) -> list[Misfit]:
    """What the keywords of one subschema say of the value itself."""
    found: list[Misfit] = []
    if "type" in spot:
        named = spot["type"] if isinstance(spot["type"], list) else [spot["type"]]
        if not schema.has_type(here, named):
            found.append(schema.fault(path, "type", {"types": named}))
    for word in _UNIONS:
        if word in spot:
            fits = 0
            for index in range(len(spot[word])):
                fits += bool(schema.validator_at(f"{pointer}/{word}/{index}").is_valid(here))
                if fits and word == "anyOf":
                    break
            if fits != 1:
                found.append(schema.fault(path, word, {}))
    if isinstance(here, dict):
        if spot.get("additionalProperties") is False:
            unexpected = [key for key in here if key not in spot.get("properties", {})]
            if unexpected:
                found.append(schema.fault(path, "additionalProperties", {"unexpected": unexpected}))
        missing = [key for key in spot.get("required", ()) if key not in here]
        found += [schema.fault(path, "required", {"property": key}) for key in missing]
    return found


def _descend(
    here: Json, spot: dict[str, Any], pointer: str, path: Path, stack: list[tuple[Json, str, Path]]
) -> None:
    """Put what stands in an object or array on the stack, with the subschema that is for it."""
    if isinstance(here, list):
        if "items" in spot:
            items = f"{pointer}/items"
            stack.extend((here[n], items, (*path, n)) for n in range(len(here) - 1, -1, -1))
    elif isinstance(here, dict):
        named = spot.get("properties", {})
        rest = isinstance(spot.get("additionalProperties"), dict)
        for key in reversed(here):
            if key in named:
                escaped = key.replace("~", "~0").replace("/", "~1")
                stack.append((here[key], f"{pointer}/properties/{escaped}", (*path, key)))
            elif rest:
                stack.append((here[key], f"{pointer}/additionalProperties", (*path, key)))
