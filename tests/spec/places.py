"""What a schema says about a value and about one place, by recursion; for the keywords that the tests use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .text import exact

Path = tuple[str | int, ...]
ALL = {"string", "number", "integer", "boolean", "array", "object", "null"}


def types_of(value: Any) -> set[str]:
    """The names by which `type` may call a value."""
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int):
        return {"integer", "number"}
    if isinstance(value, float):
        return {"number", "integer"} if value == int(value) else {"number"}
    return {"string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"}


def equal(one: Any, other: Any) -> bool:
    """As JSON Schema compares: numbers by value, a boolean is no number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


class Judge:
    """Validation against one document."""

    def __init__(self, document: Any) -> None:
        self.document = document

    def target(self, reference: str) -> Any:
        found = self.document
        for part in reference[1:].split("/")[1:]:
            found = found[part.replace("~1", "/").replace("~0", "~")]
        return found

    def valid(self, schema: Any, value: Any) -> bool:
        return not self.faults(schema, value)

    def faults(self, schema: Any, value: Any, path: Path = (), seen: int = 0) -> list[tuple[Path, str, Any]]:
        """Each fault: the place, the keyword, and for `required` the key that lacks."""
        return list(self._faults(schema, value, path, seen))

    def _faults(self, schema: Any, value: Any, path: Path, seen: int) -> Iterator[tuple[Path, str, Any]]:
        if isinstance(schema, bool):
            if not schema:
                yield path, "false", None
            return
        if seen > 12:
            raise RecursionError("a reference in a circle says nothing")
        if "$ref" in schema:
            yield from self._faults(self.target(schema["$ref"]), value, path, seen + 1)
        wanted = schema.get("type")
        if wanted is not None and not types_of(value) & set([wanted] if isinstance(wanted, str) else wanted):
            yield path, "type", None
        if "enum" in schema and not any(equal(value, each) for each in schema["enum"]):
            yield path, "enum", None
        if isinstance(value, str):
            wrong = [len(value) < schema.get("minLength", 0), len(value) > schema.get("maxLength", 10**9)]
            wrong.append("pattern" in schema and not re.search(schema["pattern"], value))
            if any(wrong):
                yield path, "text", None
        if "number" in types_of(value):
            if value < schema.get("minimum", value) or value > schema.get("maximum", value):
                yield path, "number", None
        if isinstance(value, list):
            if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**9):
                yield path, "items", None
            if schema.get("uniqueItems") and any(
                equal(value[a], value[b]) for a in range(len(value)) for b in range(a)
            ):
                yield path, "unique", None
            for index, item in enumerate(value):
                yield from self._faults(schema.get("items", True), item, (*path, index), 0)
        if isinstance(value, dict):
            for key in schema.get("required", ()):
                if key not in value:
                    yield path, "required", key
            named = schema.get("properties", {})
            for key, item in value.items():
                if key in named:
                    yield from self._faults(named[key], item, (*path, key), 0)
                elif schema.get("additionalProperties") is False:
                    yield path, "additional", key
                else:
                    yield from self._faults(schema.get("additionalProperties", True), item, (*path, key), 0)
        for each in schema.get("allOf", ()):
            yield from self._faults(each, value, path, seen + 1)
        fitting = {
            word: sum(not self.faults(each, value, path, seen + 1) for each in schema[word])
            for word in ("anyOf", "oneOf")
            if word in schema
        }
        if fitting.get("anyOf") == 0 or fitting.get("oneOf", 1) != 1:
            yield path, "union", None


class Place:
    """What stands at one place: every schema in `all` holds, and one place of each group in `any`."""

    def __init__(self, judge: Judge, all_: list[Any], any_: list[list[Place]] | None = None) -> None:
        self.judge = judge
        self.all: list[dict[str, Any]] = []
        self.any = list(any_ or [])
        self.impossible = False
        queue = list(all_)
        done: list[int] = []
        while queue:
            schema = queue.pop(0)
            if isinstance(schema, bool):
                self.impossible = self.impossible or not schema
                continue
            if id(schema) in done:
                continue
            done.append(id(schema))
            self.all.append(schema)
            if "$ref" in schema:
                queue.append(judge.target(schema["$ref"]))
            queue += schema.get("allOf", [])
        for schema in self.all:
            for word in ("anyOf", "oneOf"):
                if word in schema:
                    self.any.append([Place(judge, [each]) for each in schema[word]])

    def child(self, segment: Any) -> Place:
        """`*` or an index for an item; else a key."""
        below: list[Any] = []
        for schema in self.all:
            item = segment == "*" or isinstance(segment, int) or re.fullmatch("0|[1-9][0-9]{0,8}", segment)
            if item and "items" in schema:
                below.append(schema["items"])
            if segment != "*":
                if str(segment) in schema.get("properties", {}):
                    below.append(schema["properties"][str(segment)])
                elif "additionalProperties" in schema:
                    below.append(schema["additionalProperties"])
        groups = [[option.child(segment) for option in group] for group in self.any]
        groups = [group for group in groups if all(each.all or each.any or each.impossible for each in group)]
        return Place(self.judge, below, groups)

    def under(self, path: tuple[Any, ...]) -> Place:
        here = self
        for segment in path:
            here = here.child(segment)
        return here

    def accepts(self, value: Any) -> bool:
        if self.impossible or not all(self.judge.valid(schema, value) for schema in self.all):
            return False
        return all(any(option.accepts(value) for option in group) for group in self.any)

    def types(self) -> set[str]:
        """`integer` is only there where `number` is not."""
        found = ALL - {"integer"} if not self.impossible else set()
        for schema in self.all:
            if "type" in schema:
                named = schema["type"]
                found = both(found, set([named] if isinstance(named, str) else named))
            if "enum" in schema:
                listed: set[str] = set()
                for each in schema["enum"]:
                    listed |= {"integer"} if "integer" in types_of(each) else types_of(each)
                found = both(found, listed)
        for group in self.any:
            union: set[str] = set()
            for option in group:
                union |= option.types()
            found = both(found, union)
        return found

    def declares(self) -> set[str]:
        """The properties that are named here, in whichever branch."""
        found = {key for schema in self.all for key in schema.get("properties", {})}
        for group in self.any:
            for option in group:
                found |= option.declares()
        return found

    def requires(self, key: str) -> bool:
        if any(key in schema.get("required", ()) for schema in self.all):
            return True
        return any(all(option.requires(key) for option in group) for group in self.any)

    def members(self) -> list[Any]:
        """The values that are listed for this place."""
        for schema in self.all:
            if "enum" in schema:
                return list(schema["enum"])
        for group in self.any:
            lists = [option.members() for option in group]
            if all(lists):
                return [each for found in lists for each in found]
        return []

    def is_pattern(self) -> bool:
        for schema in self.all:
            pattern = schema.get("pattern", "")
            if schema.get("format") == "regex" or pattern.startswith("^") or pattern.endswith("$"):
                return True
        return any(option.is_pattern() for group in self.any for option in group)


def both(one: set[str], other: set[str]) -> set[str]:
    """The types of two sets; an integer is a number."""
    one = one - {"integer"} if "number" in one else one
    other = other - {"integer"} if "number" in other else other
    found = one & other
    if ("integer" in one and "number" in other) or ("number" in one and "integer" in other):
        found = found | {"integer"}
    return found


__all__ = ["Judge", "Path", "Place", "equal", "exact", "types_of"]
