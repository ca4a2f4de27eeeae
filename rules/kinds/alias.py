"""alias: move a key that models use to the key that the schema names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ...grammar.ast import STAR, Json
from ..kind import Action, Example, Finding, Kind, Log, Phase, Place, Selecting, Spec, takes_none
from ..strictjson import equal
from ..values import TYPES, has_type


class Alias(Kind):
    """Move a key that a model made up to its canonical place.

    Where the canonical key is missing or null (with `empty-is-missing` also where it is `""`), the first
    name of `from`, in the order of the list, that stands beside it with a value of an accepted type and
    not `""`, moves. Listed keys with the same value as the canonical one go in the same pass; others
    stay and are observed, and a canonical value always stays.

    Not when a listed name is a property of its own in the schema: it means something else there. In a
    block with a glob it works only where the schema declares the canonical key, and not in a map of the
    caller's own keys (typed `additionalProperties`). Nothing is guessed: a
    name that is not listed, or differs in case, is no alias.
    """

    keyword = "alias"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    acts_on_parent = True
    mends_missing = True
    clauses: ClassVar = {
        "from": {"type": "list", "required": True, "schema": {"type": "string"}},
        # A bare `null` is the value; here it names the type.
        "accepting": {
            "type": "list",
            "allowed": list(TYPES),
            "schema": {"coerce": lambda word: "null" if word is None else word},
        },
        "empty-is-missing": {"type": "boolean"},
    }
    note = "A field was sent under another name. Use the field names of the schema."
    cost = "one look at the object's keys where none is listed"
    examples = (
        Example("alias /path from file_path, filePath", {"filePath": "/a"}, {"path": "/a"}),
        Example(
            "alias /path from file_path", {"path": "/a", "file_path": "/b"}, why="the canonical value stays"
        ),
        Example("alias /path from file_path", {"path": "/a", "file_path": "/a"}, {"path": "/a"}),
        Example(
            "alias /path from file_path accepting string", {"file_path": 5}, why="not of an accepted type"
        ),
        Example("alias /path from file_path", {"path": "", "file_path": "/a"}, why="empty text is a value"),
        Example(
            "alias /path from file_path empty-is-missing", {"path": "", "file_path": "/a"}, {"path": "/a"}
        ),
        Example(
            "alias /path from file",
            {"file": "/a"},
            schema={"properties": {"path": {}, "file": {}}},
            why="`file` is a field of its own",
        ),
    )

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        names = spec.clauses["from"]
        if not spec.segments or spec.segments[-1] is STAR:
            yield Finding("G225", "`alias` needs the selector of one key", "end it with the name of a field")
            return
        canonical = spec.segments[-1]
        if canonical in names:
            yield Finding("G220", f"`{canonical}` is an alias of itself", "leave it out of `from`")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            yield Finding("G220", f"`{twice[0]}` is listed twice", "leave one out")
        for name in dict.fromkeys(names):
            if place is not None and name != canonical and place.declares(name):
                message = f"`{name}` is a field of its own in the schema, so it is never moved"
                yield Finding("G221", message, "leave it out of `from`", warning=True)
        # Text can be read as every type, and into an array another rule may wrap what was moved.
        accepted = frozenset(spec.clauses.get("accepting") or TYPES)
        if place is None or "string" in accepted:
            return
        numbers = {"number", "integer"} if accepted & {"number", "integer"} else set()
        if takes_none(place.child(canonical), "array", *accepted, *numbers):
            message = f"the schema takes none of the types of `accepting` for `{canonical}`"
            yield Finding("G226", message, "name a type that it takes", warning=True)

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        if not spec.segments or not isinstance(spec.segments[-1], str):
            return None
        canonical = spec.segments[-1]
        if spec.in_glob and (place.is_map or not place.declares(canonical)):
            return None
        listed = [name for name in spec.clauses["from"] if name != canonical and not place.declares(name)]
        if not listed:
            return None
        accepted = frozenset(spec.clauses.get("accepting") or TYPES)
        mover = _Mover(canonical, tuple(dict.fromkeys(listed)), accepted, "empty-is-missing" in spec.clauses)
        return Action(mover.apply, keys=frozenset(listed))


class _Mover:
    def __init__(
        self, canonical: str, listed: tuple[str, ...], accepted: frozenset[str], empty_is_missing: bool
    ) -> None:
        self.canonical = canonical
        self.listed = listed
        self.accepted = accepted
        self.empty_is_missing = empty_is_missing
        self.names = frozenset(listed)
        self.notes = {name: f"The field is called `{canonical}`; you sent it as `{name}`." for name in listed}

    def apply(self, value: Json, log: Log) -> Json:
        if not isinstance(value, dict):
            return value
        found = self.names.intersection(value)
        if not found:
            return value
        if len(found) > 1:
            return self.several(value, [name for name in self.listed if name in found], log)
        (source,) = found
        if self.missing(value) and self.moves(value[source]):
            log.change((self.canonical,), self.notes[source])
            moved = value.copy()
            moved[self.canonical] = moved.pop(source)
            return moved
        return self.several(value, [source], log)

    def several(self, value: dict[str, Json], here: list[str], log: Log) -> Json:
        """More than one of the names, or one that does not move."""
        canonical = self.canonical
        gone: set[str] = set()
        if self.missing(value):
            source = next((name for name in here if self.moves(value[name])), None)
            if source is not None:
                gone.add(source)
                kept = value[source]
                log.change((canonical,), self.notes[source])
        else:
            source, kept = canonical, value[canonical]
        for name in here:
            if name == source:
                continue
            if source is not None and equal(value[name], kept):
                gone.add(name)
                log.change((name,), f"`{name}` only repeats `{canonical}`; send `{canonical}` alone.")
            else:
                log.observe(f"`{name}` looks like `{canonical}` and was left as it is", (name,))
        if not gone:
            return value
        result: dict[str, Any] = {key: item for key, item in value.items() if key not in gone}
        result[canonical] = kept
        return result

    def missing(self, value: dict[str, Json]) -> bool:
        held = value.get(self.canonical)
        return held is None or (self.empty_is_missing and held == "")

    def moves(self, value: Json) -> bool:
        if type(value) is str:
            return value != "" and "string" in self.accepted
        return has_type(value, self.accepted)


KIND = Alias
