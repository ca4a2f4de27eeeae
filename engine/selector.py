"""Selectors at run time: the places that one reaches, and a copy with another value at a place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, cast

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
                last = len(here) - 1
                stack.extend(((*path, n), here[n], depth + 1) for n in range(last, -1, -1))
            continue
        found = step(here, segment)
        if not isinstance(found, _Missing):
            name = array_index(segment) if type(here) is list else segment
            stack.append(((*path, name), found, depth + 1))  # type: ignore[arg-type]


def replace(value: Any, path: Path, new: Json) -> Json:
    """A copy in which `new` stands at `path`; only the containers along the path are copied.

    Every place above it must exist; the last one may be a new key of an object.
    """
    if not path:
        return new
    top = here = value.copy()
    for part in path[:-1]:
        here[part] = here[part].copy()
        here = here[part]
    here[path[-1]] = new
    return cast("Json", top)


def remove(value: Json, path: Path) -> Json:
    """A copy without the key or item at `path`, which must exist and not be the root."""
    parent: Any = get(value, path[:-1])
    copy = parent.copy()
    del copy[path[-1]]
    return replace(value, path[:-1], copy)
