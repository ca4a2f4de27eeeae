"""The tests of conditions on one value that is there: true, false, or unknown (None).

A *check* is an operator with its right side. `other` is what `==` says between different types:
false, or unknown where only what is positively there counts. Every check is total on JSON values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from ..rules.regex import compile_regex
from ..rules.values import TYPES, has_type

Check: TypeAlias = Callable[[Any], bool | None]

ORDERS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)
TEXTUAL = frozenset({"starts-with", "ends-with", "matches", "fullmatches"})
# Those whose right side is fixed when the rule is loaded.
PATTERNS = frozenset({"matches", "fullmatches"})


def check(name: str, right: Any, other: bool | None) -> Check:
    """The check of the operator `name` with this right side; `never` where the operator is not for it.

    `!=`, `is` and `under` are not among them: the first is `not ==`, the others have no value at the right.
    """
    if name == "==":
        return equals(right, other)
    if name in ORDERS:
        return _orders(ORDERS[name], right)
    if name == "in":
        return _one_of(right, other) if type(right) is list else never
    if name == "contains":
        return _contains(right)
    if name in TEXTUAL and type(right) is str:
        return _text(name, right)
    return never


def never(_value: object) -> bool | None:
    """Unknown, whatever the value."""
    return None


def truth(value: object) -> bool | None:
    """What a bare term says."""
    return value if type(value) is bool else None


def has_type_named(name: str) -> Check:
    """`is NAME`. `1.0` is an integer, as in JSON Schema; `true` is no number."""
    if name not in TYPES:
        return never
    names = frozenset({name})
    return lambda value: has_type(value, names)


def equal(one: Any, two: Any) -> bool:
    """Equal as JSON: numbers by exact value, a boolean is no number. Iterative.

    Cost: linear in the smaller of the two.
    """
    pairs = [(one, two)]
    while pairs:
        left, right = pairs.pop()
        kind = type(left)
        if kind is int or kind is float:
            if (type(right) is not int and type(right) is not float) or left != right:
                return False
        elif kind is not type(right):
            return False
        elif kind is dict:
            if len(left) != len(right) or any(key not in right for key in left):
                return False
            pairs.extend((item, right[key]) for key, item in left.items())
        elif kind is list:
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif left != right:
            return False
    return True


def equals(right: Any, other: bool | None) -> Check:
    """`== right`."""
    kind = type(right)
    if kind is int or kind is float:
        return lambda value: value == right if type(value) is int or type(value) is float else other
    if kind is dict or kind is list:
        return lambda value: equal(value, right) if type(value) is kind else other
    return lambda value: value == right if type(value) is kind else other


def _orders(compare: Callable[[Any, Any], bool], right: Any) -> Check:
    kind = type(right)
    if kind is int or kind is float:
        return lambda value: compare(value, right) if type(value) is int or type(value) is float else None
    if kind is str:
        return lambda value: compare(value, right) if type(value) is str else None
    return never


def _one_of(items: list[Any], other: bool | None) -> Check:
    """`in items`: `==` to one of them."""
    if items and all(type(item) is str for item in items):
        texts = frozenset(items)
        return lambda value: value in texts if type(value) is str else other
    checks = [equals(item, other) for item in items]

    def test(value: Any) -> bool | None:
        answer: bool | None = False
        for each in checks:
            found = each(value)
            if found:
                return True
            if found is None:
                answer = None
        return answer

    return test


def _contains(right: Any) -> Check:
    def test(value: Any) -> bool | None:
        if type(value) is list:
            return any(equal(item, right) for item in value)
        return right in value if type(value) is str and type(right) is str else None

    return test


def _text(name: str, right: str) -> Check:
    if name == "starts-with":
        return lambda value: value.startswith(right) if type(value) is str else None
    if name == "ends-with":
        return lambda value: value.endswith(right) if type(value) is str else None
    try:
        regex = compile_regex(right)
    except ValueError:
        return never
    find = regex.search if name == "matches" else regex.fullmatch
    return lambda value: find(value) is not None if type(value) is str else None
