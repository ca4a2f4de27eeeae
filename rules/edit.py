"""Edits of a JSON value that leave the value alone: each gives a new one, and copies only along the path."""

from __future__ import annotations

from ..grammar.ast import Json
from .kind import NotApplicable, Place

Steps = tuple[str, ...]


def get(value: Json, path: Steps) -> Json:
    """What stands at a path. Raises NotApplicable where nothing does."""
    for segment in path:
        if isinstance(value, dict) and segment in value:
            value = value[segment]
        elif isinstance(value, list) and (index := _index(segment)) is not None and index < len(value):
            value = value[index]
        else:
            raise NotApplicable("a place is missing")
    return value


def put(value: Json, path: Steps, new: Json, place: Place, over: bool = False) -> Json:
    """The value with `new` at a path where nothing stands, or with `over` also where something does.

    An item may be added at the end of an array. A missing parent is what the schema at `place` says, else
    an array when the next segment is `0`, else an object.

    Raises:
        NotApplicable: something stands there, or what is above is neither an object nor an array.
    """
    trail: list[tuple[Json, str]] = []
    here = value
    for depth, segment in enumerate(path):
        trail.append((here, segment))
        try:
            here = get(here, (segment,))
        except NotApplicable:
            new = _parents(path, depth + 1, new, place)
            break
    else:
        if not over:
            raise NotApplicable("the target exists")
    for container, segment in reversed(trail):
        new = _with(container, segment, new)
    return new


def delete(value: Json, path: Steps) -> Json:
    """The value without the key or item at a path. Raises NotApplicable where there is none."""
    if not path:
        raise NotApplicable("the root cannot be removed")
    get(value, path)
    trail: list[tuple[Json, str]] = []
    here = value
    for segment in path[:-1]:
        trail.append((here, segment))
        here = get(here, (segment,))
    result: Json
    if isinstance(here, dict):
        result = {key: item for key, item in here.items() if key != path[-1]}
    elif isinstance(here, list):
        index = int(path[-1])
        result = here[:index] + here[index + 1 :]
    for container, segment in reversed(trail):
        result = _with(container, segment, result)
    return result


def _index(segment: str) -> int | None:
    """The index that a segment is on an array (RFC 6901): digits without a leading zero."""
    if len(segment) > 9 or not (segment.isascii() and segment.isdigit()):
        return None
    return None if segment[0] == "0" and segment != "0" else int(segment)


def _with(container: Json, segment: str, new: Json) -> Json:
    if isinstance(container, dict):
        return {**container, segment: new}
    if isinstance(container, list):
        index = _index(segment)
        if index is not None and index < len(container):
            return [*container[:index], new, *container[index + 1 :]]
        if index == len(container):
            return [*container, new]
    raise NotApplicable("the place above holds no such place")


def _parents(path: Steps, first: int, new: Json, place: Place) -> Json:
    """`new` inside the containers that are missing from `path[:first]` on."""
    places = [place]
    for segment in path[:-1]:
        places.append(places[-1].child(segment))
    for depth in range(len(path) - 1, first - 1, -1):
        segment = path[depth]
        types = places[depth].types & {"array", "object"} if places[depth].known else frozenset()
        if types == {"array"} or (segment == "0" and types != {"object"}):
            if segment != "0":
                raise NotApplicable("a missing array begins with its first item")
            new = [new]
        else:
            new = {segment: new}
    return new
