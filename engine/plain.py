"""Validity of plain schemas as generated tests: an object of scalars with types, enums, lengths and bounds.

Most tool schemas are no more than that, and for them these tests say `valid` exactly where the
validator does; a value that fails one, or is not covered, goes to the validator, which alone judges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from msgspec import Struct

from .selector import MISSING

_ASIDE = frozenset(
    {"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"}
)
_ROOT = _ASIDE | {"$schema", "type", "properties", "required", "additionalProperties", "$defs", "definitions"}
_PROPERTY = _ASIDE | {"type", "enum", "minLength", "maxLength", "minimum", "maximum", "format"}
_TYPES = frozenset({"string", "integer", "number", "boolean"})
MOST = 12  # properties: each that a call leaves out costs a look
_HUGE = 1 << 53


class PlainField(Struct, frozen=True):
    """One property. `schema` None: it is not plain, and a call that has it goes to the validator."""

    key: str
    required: bool
    schema: dict[str, Any] | None


def plain_fields(document: Any) -> tuple[PlainField, ...] | None:
    """The properties of a plain schema, or None where it says more than they do."""
    if not isinstance(document, dict) or document.keys() - _ROOT or document.get("type") != "object":
        return None
    properties, required = document.get("properties"), document.get("required", [])
    if not isinstance(properties, dict) or len(properties) > MOST:
        return None
    if (
        not isinstance(document.get("additionalProperties", True), bool)
        or not set(required) <= properties.keys()
    ):
        return None
    if any(key in required and not _is_plain(schema) for key, schema in properties.items()):
        return None
    return tuple(
        PlainField(key, key in required, schema if _is_plain(schema) else None)
        for key, schema in properties.items()
    )


def _is_plain(schema: Any) -> bool:
    if not isinstance(schema, dict) or schema.keys() - _PROPERTY:
        return False
    if "enum" in schema:
        members = schema["enum"]
        plain = all(type(each) is str and each.isascii() and "<" not in each for each in members)
        return (
            plain
            and schema.get("type", "string") == "string"
            and not schema.keys() & {"minLength", "maxLength"}
        )
    kind = schema.get("type")
    bounds = [schema[word] for word in ("minLength", "maxLength", "minimum", "maximum") if word in schema]
    return (
        isinstance(kind, str)
        and kind in _TYPES
        and all(type(each) is int and -_HUGE < each < _HUGE for each in bounds)
    )


Lacking: TypeAlias = Callable[[dict[str, Any]], "list[Any] | None"]


def lacking_test(fields: tuple[PlainField, ...], missing: dict[str, Any], closed: bool) -> Lacking:
    """Generate: what `missing` has for the required keys that an object lacks, if nothing else is wrong.

    Else None, which is not final: the validator says what is wrong. `closed`: the schema takes no other keys.
    """
    names: dict[str, Any] = {"MISSING": MISSING, "KEYS": frozenset(each.key for each in fields)}

    def bind(value: object) -> str:
        names[f"c{len(names)}"] = value
        return f"c{len(names) - 1}"

    lines = ["def lacking(a):", "    found = []"]
    if closed:
        lines += ["    if not KEYS.issuperset(a):", "        return None"]
    for field in fields:
        test = field_tests(field, "v", bind, 0)[0] if field.schema is not None else "False"
        lines.append(f"    v = a.get({field.key!r}, MISSING)")
        lines += [f"    if v is not MISSING and not ({test}):", "        return None"]
    for key, fault in missing.items():
        lines += [f"    if {key!r} not in a:", f"        found.append({bind(fault)})"]
    lines.append("    return found")
    exec("\n".join(lines), names)
    return cast("Lacking", names["lacking"])


def field_tests(field: PlainField, value: str, bind: Callable[[object], str], long: int) -> tuple[str, str]:
    """Two tests in source over the variable `value`, which is there: it is valid here; and its text is clean.

    The second is empty where the first says all; else it is false where the text is long, not ASCII,
    or has a `<`, and then needs a further look.
    """
    schema = field.schema
    assert schema is not None
    if "enum" in schema:
        return f"type({value}) is str and {value} in {bind(frozenset(schema['enum']))}", ""
    low, high = schema.get("minimum"), schema.get("maximum")
    match schema["type"]:
        case "boolean":
            return f"type({value}) is bool", ""
        case "integer":
            return f"type({value}) is int and {_within(value, low, high)}", ""
        case "number":
            kind = f"(type({value}) is int or type({value}) is float)"
            return f"{kind} and {_within(value, low, high)}", ""
    parts = [f"type({value}) is str"]
    low, high = schema.get("minLength", 0), schema.get("maxLength")
    if low == 1:
        parts.append(value)
    elif low > 1:
        parts.append(f"len({value}) >= {low}")
    if high is not None:
        parts.append(f"len({value}) <= {high}")
    return " and ".join(parts), f"len({value}) <= {long} and {value}.isascii() and '<' not in {value}"


def _within(value: str, low: int | None, high: int | None) -> str:
    """Inside the bounds, and of a size that is exact and finite; NaN is inside none."""
    return f"{-_HUGE if low is None else low} <= {value} <= {_HUGE if high is None else high}"
