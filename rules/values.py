"""JSON values as Python holds them: copies, types, the JSON domain. All iterative."""

from __future__ import annotations

from math import isfinite
from typing import Any

from ..grammar.ast import Json

TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")

# Of a value that an owner's function returns.
MAX_VALUES = 1_000_000
MAX_DEPTH = 512


def copy(value: Json) -> Json:
    """A copy that shares no array and no object with `value`."""
    if not isinstance(value, dict | list):
        return value
    top: list[Json] = [value]
    todo: list[tuple[Any, Any]] = [(top, 0)]
    while todo:
        holder, at = todo.pop()
        item = holder[at]
        if isinstance(item, dict):
            holder[at] = fresh = dict(item)
            todo.extend((fresh, key) for key, inner in fresh.items() if isinstance(inner, dict | list))
        else:
            holder[at] = array = list(item)
            todo.extend((array, i) for i, inner in enumerate(array) if isinstance(inner, dict | list))
    return top[0]


def has_type(value: Json, names: frozenset[str]) -> bool:
    """Is the value of one of these JSON types? `1` and `1.0` are integers, `true` is no number."""
    match value:
        case None:
            return "null" in names
        case bool():
            return "boolean" in names
        case str():
            return "string" in names
        case dict():
            return "object" in names
        case list():
            return "array" in names
        case int():
            return "number" in names or "integer" in names
        case float():
            return "number" in names or ("integer" in names and value.is_integer())
    return False


def require_json(value: object) -> Json:
    """A copy of `value`, which is to be in the JSON domain: exact built-in types, text keys, finite numbers.

    Raises:
        TypeError: something else is in it.
        ValueError: a number that is not finite, a lone surrogate, over 1,000,000 values, or one that is
            nested over 512 deep (a loop is).
    """
    top: list[Any] = [value]
    todo: list[tuple[Any, Any, int]] = [(top, 0, 0)]
    seen = 0
    while todo:
        holder, at, depth = todo.pop()
        item = holder[at]
        kind = type(item)
        seen += 1
        if seen > MAX_VALUES:
            raise ValueError(f"over {MAX_VALUES} values")
        if depth > MAX_DEPTH:
            raise ValueError(f"nested over {MAX_DEPTH} deep, or a loop")
        if kind is dict:
            for key in item:
                if type(key) is not str:
                    raise TypeError(f"an object key of type {type(key).__name__}")
                _require_text(key)
            holder[at] = fresh = dict(item)
            todo.extend((fresh, key, depth + 1) for key in fresh)
        elif kind is list:
            holder[at] = array = list(item)
            todo.extend((array, i, depth + 1) for i in range(len(array)))
        elif kind is str:
            _require_text(item)
        elif kind is float:
            if not isfinite(item):
                raise ValueError("a number that is not finite")
        elif item is not None and kind is not bool and kind is not int:
            raise TypeError(f"a value of type {kind.__name__}")
    result: Json = top[0]
    return result


def _require_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("text with a lone surrogate") from None
