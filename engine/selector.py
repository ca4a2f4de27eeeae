"""Selectors at run time: the places that one reaches, and a copy with another value at a place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ..grammar.ast import STAR, Json, Segment

Path: TypeAlias = tuple[str | int, ...]


class _Missing:
    """The one value that stands for a place that is not there."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()


def pointer(path: Path) -> str:
    """The JSON Pointer of a path (RFC 6901)."""
    if len(path) == 1 and type(path[0]) is str and "/" not in path[0] and "~" not in path[0]:
        return "/" + path[0]
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def step(value: Json, segment: Segment | int) -> Json | _Missing:
    """One segment down: an item of an array by its index, a value of an object by its key."""
    if type(value) is dict:
        return value.get(segment, MISSING) if type(segment) is str else MISSING
    if type(value) is list:
        index = segment if type(segment) is int else array_index(segment)
        return value[index] if index is not None and index < len(value) else MISSING
    return MISSING


def array_index(segment: Segment | int) -> int | None:
    """The index that a segment is on an array: `0`, or digits without a leading zero (RFC 6901)."""
    if type(segment) is not str or not segment.isascii() or not segment.isdigit() or len(segment) > 9:
        return None
    return int(segment) if segment == "0" or segment[0] != "0" else None


def get(value: Json, path: tuple[Segment | int, ...]) -> Json | _Missing:
    """The value at a place without `*`, or `MISSING`."""
    for segment in path:
        found = step(value, segment)
        if isinstance(found, _Missing):
            return MISSING
        value = found
    return value


def places(value: Json, segments: tuple[Segment, ...]) -> Iterator[tuple[Path, Json]]:
    """Every place that a selector reaches, in order, with its concrete path. Iterative."""
    stack: list[tuple[Path, Json, int]] = [((), value, 0)]
    while stack:
        path, here, depth = stack.pop()
        if depth == len(segments):
            yield path, here
            continue
        segment = segments[depth]
        if segment is STAR:
            if type(here) is list:
                for index in range(len(here) - 1, -1, -1):
                    stack.append(((*path, index), here[index], depth + 1))
            continue
        found = step(here, segment)
        if not isinstance(found, _Missing):
            name = array_index(segment) if type(here) is list else segment
            stack.append(((*path, name), found, depth + 1))  # type: ignore[arg-type]


def replace(value: Json, path: Path, new: Json) -> Json:
    """A copy in which `new` stands at `path`; only the containers along the path are copied.

    Every place above it must exist; the last one may be a new key of an object.
    """
    if not path:
        return new
    top: list[Json] | dict[str, Json]
    top = here = value.copy()  # type: ignore[union-attr]
    for part in path[:-1]:
        child = here[part].copy()  # type: ignore[index,call-overload,union-attr]
        here[part] = child  # type: ignore[index,call-overload]
        here = child
    here[path[-1]] = new  # type: ignore[index,call-overload]
    return top


def remove(value: Json, path: Path) -> Json:
    """A copy without the key or item at `path`, which must exist and not be the root."""
    parent = get(value, path[:-1])
    copy = parent.copy()  # type: ignore[union-attr]
    del copy[path[-1]]  # type: ignore[arg-type]
    return replace(value, path[:-1], copy)


def same(one: Json, other: Json) -> bool:
    """Equal as JSON, exactly: `1`, `true`, `1.0` and `"1"` are four values. Iterative."""
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if left is right:
            continue
        kind = type(left)
        if kind is not type(right):
            return False
        if kind is dict:
            if len(left) != len(right):  # type: ignore[arg-type]
                return False
            for key, item in left.items():  # type: ignore[union-attr]
                found = right.get(key, MISSING)  # type: ignore[union-attr]
                if found is MISSING:
                    return False
                pairs.append((item, found))
        elif kind is list:
            if len(left) != len(right):  # type: ignore[arg-type]
                return False
            pairs.extend(zip(left, right, strict=True))  # type: ignore[arg-type]
        elif kind is float:
            if left != right or str(left) != str(right):  # 0.0 and -0.0
                return False
        elif left != right:
            return False
    return True
