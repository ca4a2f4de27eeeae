"""filesystem-path-array: `filesystem-path` for each text of one array."""

from __future__ import annotations

from collections.abc import Iterator

from ...grammar.ast import Json
from ..kind import Action, Example, Finding, Kind, Log, Phase, Place, Selecting, Spec, takes_none
from .filesystem_path import unwrap


class FilesystemPathArray(Kind):
    """Unwrap markdown auto-links in the paths of an array.

    What `filesystem-path` does, for each item that is text; one change for each that differs.

    Not for a single text, and not for arrays inside the array.
    """

    keyword = "filesystem-path-array"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    note = "A path was wrapped in a markdown link. Send bare paths."
    cost = "one search for `](http` in each text of the array"
    examples = (
        Example(
            "filesystem-path-array /files", {"files": ["[a.ts](http://a.ts)", "b"]}, {"files": ["a.ts", "b"]}
        ),
        Example("filesystem-path-array /files", {"files": "[a.ts](http://a.ts)"}, why="no array"),
        Example("filesystem-path-array /files", {"files": [["[a.ts](http://a.ts)"]]}, why="inside an item"),
    )

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        if takes_none(place, "array"):
            help_ = "write `filesystem-path`" if place and "string" in place.types else "take the rule away"
            yield Finding("G226", "the schema takes no array here", help_, warning=True)

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        return Action(_apply, "type(v) is list")


def _apply(value: Json, log: Log) -> Json:
    if not isinstance(value, list):
        return value
    result: list[Json] | None = None
    for i, item in enumerate(value):
        if isinstance(item, str) and "](http" in item:
            clean = unwrap(item)
            if clean is not item:
                result = list(value) if result is None else result
                result[i] = clean
                log.change((i,))
    return value if result is None else result


KIND = FilesystemPathArray
