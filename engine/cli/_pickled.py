"""Compiled rules as bytes and back. Only the values of rules can come out, and no other code is run."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from enum import Enum
from importlib import import_module
from io import BytesIO
from typing import Any

from msgspec import Struct

from ...grammar import ast, span
from ...rules import grounds, kind, kinds, palettes, toolnames
from .. import ir, verdict
from ..ir import RuleSet


class Ready(Struct, frozen=True):
    """Compiled rules, None where they have errors, and what is to be said of them on standard error."""

    rules: RuleSet | None
    said: str


def dump(ready: Ready, seen: Mapping[str, bytes | None]) -> bytes | None:
    """The bytes that `load` reads; None where it could not."""
    from ...rules.catalog import kinds as all_kinds

    # The code of other packages may change without a trace that could be looked at.
    if not all(_is_own_kind(each.__module__) for each in all_kinds().values()):
        return None
    target = BytesIO()
    try:
        _Writer(target, pickle.HIGHEST_PROTOCOL).dump((ready.rules, ready.said, dict(seen)))
    except (pickle.PicklingError, AttributeError, RecursionError, TypeError):
        return None
    data = target.getvalue()
    return data if load(data) == (ready, dict(seen)) else None


def load(data: bytes) -> tuple[Ready, dict[str, bytes | None]] | None:
    """What `dump` was given, or None for other bytes."""
    try:
        rules, said, seen = _Reader(BytesIO(data)).load()
    except Exception:  # which one other bytes lead to is open
        return None
    if not (isinstance(rules, RuleSet) and isinstance(said, str) and isinstance(seen, dict)):
        return None
    return Ready(rules, said), seen


class _Writer(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:
        # Else Python 3.11 writes a call of `getattr`, which is not for reading.
        return (type(value), (value.value,)) if isinstance(value, Enum) else NotImplemented


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module in _OF_VALUES or _is_own_kind(module):
            found = getattr(import_module(module), name)
            if isinstance(found, type) and issubclass(found, (Enum, Struct, kind.Kind)):
                return found
        raise pickle.UnpicklingError(f"`{module}.{name}` is no value of rules")


_OF_VALUES = frozenset(
    module.__name__ for module in (ast, span, kind, grounds, palettes, toolnames, ir, verdict)
)


def _is_own_kind(module: str) -> bool:
    return module.rpartition(".")[0] == kinds.__name__
