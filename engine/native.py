"""What the validator says is wrong with a value, in our own order and with true paths."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ..grammar.ast import Json
from .messages import describe
from .selector import Path


class Misfit(msgspec.Struct, frozen=True):
    """A place where a value does not fit; `facts` are the validator's own (`property`, `limit` …)."""

    path: Path
    keyword: str
    facts: dict[str, Any]
    message: str  # what is wanted; it quotes no value


def native_faults(validator: Any, value: Json, most: int) -> list[Misfit]:
    """The validator's errors, in an order of our own, so that it is the same in every process."""
    found = [(error, _true_path(value, error.instance_path)) for error in validator.iter_errors(value)]
    found.sort(key=lambda each: (order(each[1]), each[0].kind.name, str(each[0].schema_path)))
    faults = []
    for error, path in found[:most]:
        facts = error.kind.as_dict()
        facts.pop("context", None)
        faults.append(misfit(path, error.kind.name, facts))
    return faults


def _true_path(value: Any, parts: list[str | int]) -> Path:
    """The path that the validator means: it gives every key that reads as a number as that number.

    It also leaves the key `` out. Where a path could mean two places it ends above them.
    """
    path: list[str | int] = []
    for part in parts:
        while type(value) is dict:
            key = _key(value, part)
            inner = value.get("")
            if key is None and type(inner) in (dict, list):
                path.append("")
                value = inner
                continue
            if key is None or (type(inner) is dict and _key(inner, part) is not None):
                return tuple(path)
            part = key
            break
        path.append(part)
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return tuple(path[:-1])
    return tuple(path)


def _key(value: dict[str, Any], part: str | int) -> str | None:
    """The one key of an object that the validator calls by this part."""
    if type(part) is str:
        return part if part in value else None
    keys = [key for key in value if _NUMERIC.fullmatch(key) and int(key) == part]
    return keys[0] if len(keys) == 1 else None


# What the validator's language reads as an index; longer digits stay text.
_NUMERIC = re.compile(r"\+?[0-9]{1,24}", re.ASCII)


def misfit(path: Path, keyword: str, facts: dict[str, Any]) -> Misfit:
    return Misfit(path, keyword, facts, describe(keyword, facts))


def order(path: Path) -> list[tuple[int, int, str]]:
    return [(0, part, "") if isinstance(part, int) else (1, 0, part) for part in path]
