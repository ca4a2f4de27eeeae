"""What a schema says about one place: its types, its properties, what it takes there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..grammar.ast import STAR, Json, Segment
from ..rules.regex import compile_regex
from .misfits import collect
from .native import Misfit, misfit, order
from .selector import MISSING, array_index

if TYPE_CHECKING:
    from .schema import Schema

ROOT = "urn:callgate:root"  # what a reference into the whole document begins with
TYPES = frozenset({"string", "number", "boolean", "array", "object", "null"})  # number includes integer
_CHILDREN = 256  # kept for one place
_UNFOLLOWED = frozenset(
    {"$dynamicRef", "$recursiveRef", "if", "then", "else", "dependentSchemas", "dependencies", "not", "$id"}
)
_LEVELS = 4  # of unions inside each other
_FOLLOWED = 64  # how many subschemas are followed at one place


class View(Struct, frozen=True, dict=True):
    """What a schema says about one place: all subschemas at `every`, and one option of each of `groups`.

    It is exact for `properties`, `patternProperties`, `additionalProperties`, `prefixItems`, `items`,
    `$ref`, `allOf`, `anyOf`, `oneOf`; other applicators count as open, so that a rule may act there
    and the whole schema still judges the result.
    """

    schema: Schema
    every: tuple[str, ...]  # pointers into the document
    groups: tuple[tuple[View, ...], ...] = ()
    level: int = 0  # how many unions inside each other led here; past the last one none is opened

    known = True

    def child(self, segment: Segment) -> View:
        """The place one segment below."""
        known = self._children.get(segment)
        if known is None:
            known = self._child(segment)
            if len(self._children) < _CHILDREN:
                self._children[segment] = known
        return known

    @cached_property
    def _children(self) -> dict[Segment, View]:
        return {}

    def _child(self, segment: Segment) -> View:
        spots, options = self._open
        every: list[str] = []
        groups: list[tuple[View, ...]] = []
        for pointer, spot in spots:
            _below(pointer, spot, segment, every, groups, self.schema)
        for group in options:
            below = tuple(dict.fromkeys(option.child(segment) for option in group))
            if all(option.every or option.groups for option in below):
                groups.append(below)
        return self.schema.shared(View(self.schema, tuple(dict.fromkeys(every)), tuple(groups)))

    def under(self, path: tuple[Segment | int, ...]) -> View:
        """The place that a concrete path or a selector leads to."""
        here = self
        for segment in path:
            here = here.child(str(segment) if type(segment) is int else segment)  # type: ignore[arg-type]
        return here

    def accepts(self, value: Json) -> bool:
        """Would the schema take this value here?"""
        return self.validator is None or bool(self.validator.is_valid(value))

    def faults(self, value: Json, most: int) -> list[Misfit]:
        """Where a value for this place does not fit; paths are relative to the place."""
        schema = self.schema
        found = schema.guarded(lambda: collect(schema, value, most, reversed(self.every)))
        for group in self.groups:
            if not any(option.accepts(value) for option in group):
                found.append(misfit((), "anyOf", {}))
        found.sort(key=lambda each: (order(each.path), each.keyword))
        return found[:most]

    @cached_property
    def validator(self) -> Any:
        """Its validator, or None where everything may stand here."""
        document = self._document()
        return None if document is True else self.schema.part(document)

    def _document(self) -> Any:
        from urllib.parse import quote

        parts: list[Any] = [{"$ref": f"{ROOT}#{quote(each, safe='/~')}"} for each in self.every]
        for group in self.groups:
            options = [option._document() for option in group]
            if True not in options:
                parts.append({"anyOf": options})
        return {"allOf": parts} if parts else True

    @cached_property
    def branches(self) -> tuple[tuple[View, ...], ...]:
        """The options of every union at this place."""
        return self._open[1]

    def declares(self, name: str) -> bool:
        """Is `name` a property that the schema names for the object here?

        Where the schema says things here that are not followed, so is each name that it has anywhere.
        """
        if name in self.properties:
            return True
        for spot in self._keywords():
            if isinstance(spot.get("required"), list) and name in spot["required"]:
                return True
            patterns = spot.get("patternProperties")
            if isinstance(patterns, dict) and any(_matches(pattern, name) for pattern in patterns):
                return True
        if any(option.declares(name) for group in self.branches for option in group):
            return True
        return not self.followed and name in self.schema.mentioned

    @property
    def is_map(self) -> bool:
        """Does the schema say what the values of unnamed keys are, so that keys are the caller's own?"""
        if any(
            isinstance(spot.get("additionalProperties"), dict) and spot["additionalProperties"]
            for spot in self._keywords()
        ):
            return True
        return any(option.is_map for group in self.branches for option in group)

    @cached_property
    def followed(self) -> bool:
        """Is all that the schema says here of names of properties found by this view?"""
        spots = self._open[0]
        if len(spots) >= _FOLLOWED:
            return False
        for _, spot in spots:
            if isinstance(spot, dict):
                if not spot.keys().isdisjoint(_UNFOLLOWED):
                    return False
                if self.level >= _LEVELS and ("anyOf" in spot or "oneOf" in spot):
                    return False
                if "$ref" in spot and not self._reaches(spot["$ref"]):
                    return False
        return all(option.followed for group in self.branches for option in group)

    def _reaches(self, reference: Any) -> bool:
        target = target_of(reference)
        return target is not None and self.schema.at(target) is not MISSING

    @cached_property
    def properties(self) -> frozenset[str]:
        """The properties that the schema names for the object here, in whichever branch."""
        found: set[str] = set()
        for spot in self._keywords():
            if isinstance(spot.get("properties"), dict):
                found.update(spot["properties"])
        for group in self.branches:
            for option in group:
                found |= option.properties
        return frozenset(found)

    def requires(self, name: str) -> bool:
        """Must the object here have this key, in every branch?"""
        for spot in self._keywords():
            if isinstance(spot.get("required"), list) and name in spot["required"]:
                return True
        return any(all(option.requires(name) for option in group) for group in self.branches)

    @cached_property
    def types(self) -> frozenset[str]:
        """The JSON types that may stand here (`integer` only where `number` may not)."""
        types: frozenset[str] = TYPES
        for _, spot in self._open[0]:
            if spot is False:
                return frozenset()
            if isinstance(spot, dict):
                types = _both(types, _types(spot))
        for group in self.branches:
            union: frozenset[str] = frozenset().union(*(option.types for option in group))
            types = _both(types, union - {"integer"} if "number" in union else union)
        return types

    @cached_property
    def enum(self) -> tuple[Json, ...] | None:
        """The values that the schema lists for this place, or None where it lists none."""
        for spot in self._keywords():
            if isinstance(spot.get("enum"), list):
                return tuple(spot["enum"])
            if "const" in spot:
                return (spot["const"],)
        for group in self.branches:
            lists = [option.enum for option in group]
            if lists and None not in lists:
                return tuple(value for each in lists for value in each or ())
        return None

    @cached_property
    def words(self) -> frozenset[str]:
        """The texts that the schema lists for this place, where it takes no others."""
        if self.enum is not None:
            return frozenset(each for each in self.enum if isinstance(each, str))
        if "string" not in self.types:
            return frozenset()
        for group in self.branches:
            lists = [option.words for option in group if "string" in option.types]
            if all(lists):
                return frozenset().union(*lists)
        return frozenset()

    @cached_property
    def is_pattern(self) -> bool:
        """Is the text here a regular expression (`format: regex`), or under an anchored `pattern`?"""
        for spot in self._keywords():
            pattern = spot.get("pattern")
            if spot.get("format") == "regex":
                return True
            if isinstance(pattern, str) and (pattern.startswith("^") or pattern.endswith("$")):
                return True
        return any(option.is_pattern for group in self.branches for option in group)

    def _keywords(self) -> Iterator[dict[str, Any]]:
        return (spot for _, spot in self._open[0] if isinstance(spot, dict))

    @cached_property
    def _open(self) -> tuple[tuple[tuple[str, Any], ...], tuple[tuple[View, ...], ...]]:
        """Its subschemas with `$ref` and `allOf` followed, and its groups with those found on the way.

        Views of branches are shared by pointer and level, so that a graph of unions is no tree of paths.
        """
        found: dict[str, Any] = {}
        groups = list(self.groups)
        queue = list(self.every)
        while queue and len(found) < _FOLLOWED:
            pointer = queue.pop(0)
            if pointer in found:
                continue
            spot = self.schema.at(pointer)
            if spot is MISSING:
                continue
            found[pointer] = spot
            if not isinstance(spot, dict):
                continue
            target = target_of(spot.get("$ref"))
            if target is not None:
                queue.append(target)
                if self.schema.draft7:
                    found[pointer] = {}  # in draft 7 what stands beside `$ref` does not count
                    continue
            if isinstance(spot.get("allOf"), list):
                queue.extend(f"{pointer}/allOf/{index}" for index in range(len(spot["allOf"])))
        if self.level < _LEVELS:
            shared, level = self.schema.shared, self.level + 1
            for pointer, spot in found.items():
                for word in ("anyOf", "oneOf"):
                    if isinstance(spot, dict) and isinstance(spot.get(word), list):
                        branches = [f"{pointer}/{word}/{n}" for n in range(len(spot[word]))]
                        views = [shared(View(self.schema, (each,), (), level)) for each in branches]
                        groups.append(tuple(views))
        return tuple(found.items()), tuple(groups)


def root_types(place: View | Open) -> frozenset[str]:
    """The types that arguments may have: an object, unless the schema names others."""
    return frozenset({"object"}) if place.types == TYPES else place.types


class Open:
    """The place of a tool without a schema: everything may stand there."""

    known = False
    types = TYPES
    enum = None
    is_pattern = False
    is_map = False
    properties: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    branches: tuple[tuple[View, ...], ...] = ()

    def accepts(self, value: Json) -> bool:
        return True

    def declares(self, name: str) -> bool:
        return False

    def requires(self, name: str) -> bool:
        return False

    def child(self, segment: Segment) -> Open:
        return self

    def under(self, path: tuple[Segment | int, ...]) -> Open:
        return self


def _below(
    pointer: str,
    spot: Any,
    segment: Segment,
    every: list[str],
    groups: list[tuple[View, ...]],
    schema: Schema,
) -> None:
    """Add what one subschema says about the place one segment below."""
    if not isinstance(spot, dict):
        return
    prefix_word = "items" if schema.draft7 and isinstance(spot.get("items"), list) else "prefixItems"
    found = spot.get(prefix_word)
    prefix: list[Any] = found if isinstance(found, list) else []
    rest = "additionalItems" if prefix_word == "items" else "items"
    index = array_index(segment) if segment is not STAR else None
    if segment is STAR and prefix:
        options = [f"{pointer}/{prefix_word}/{n}" for n in range(len(prefix))]
        options += [f"{pointer}/{rest}"] if rest in spot else []
        groups.append(tuple(View(schema, (option,)) for option in options))
    elif index is not None and index < len(prefix):
        every.append(f"{pointer}/{prefix_word}/{index}")
    elif (segment is STAR or index is not None) and rest in spot:
        every.append(f"{pointer}/{rest}")
    if segment is STAR:
        return
    named = spot.get("properties")
    covered = isinstance(named, dict) and segment in named
    if covered:
        every.append(f"{pointer}/properties/{_escape(segment)}")
    for pattern in (
        spot.get("patternProperties") or {} if isinstance(spot.get("patternProperties"), dict) else {}
    ):
        if _matches(pattern, segment):
            covered = True
            every.append(f"{pointer}/patternProperties/{_escape(pattern)}")
    if not covered and "additionalProperties" in spot:
        every.append(f"{pointer}/additionalProperties")


def _matches(pattern: str, text: str) -> bool:
    try:
        return compile_regex(pattern).search(text) is not None
    except ValueError:
        return False


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def target_of(reference: Any) -> str | None:
    """The pointer that a local `$ref` names; None for anchors and everything else."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    from urllib.parse import unquote

    pointer = unquote(reference[1:])
    return pointer if pointer == "" or pointer.startswith("/") else None


def _types(spot: dict[str, Any]) -> frozenset[str]:
    """The types that one subschema admits by `type`, `enum` or `const` of its own."""
    types = TYPES
    if "type" in spot:
        named = spot["type"] if isinstance(spot["type"], list) else [spot["type"]]
        types = frozenset(named)
        types -= {"integer"} if "number" in types else frozenset()
    values = (
        spot["enum"] if isinstance(spot.get("enum"), list) else [spot["const"]] if "const" in spot else None
    )
    if values is not None:
        listed = frozenset(type_name(value) for value in values)
        types = _both(types, listed - {"integer"} if "number" in listed else listed)
    return types


def _both(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    both = one & other
    if ("integer" in one and "number" in other) or ("number" in one and "integer" in other):
        both |= {"integer"}
    return both


def type_name(value: Json) -> str:
    """The JSON type of a value; a whole number is an `integer`, `1.0` too."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"
