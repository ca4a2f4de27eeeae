"""string-or-array: make a list of a text where a list is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...grammar.ast import Json
from ..kind import Action, Example, Finding, Kind, Log, Phase, Place, Selecting, Spec, takes_none
from ..strictjson import JsonError, decode
from ..values import TYPES

_LIST: Final[Json] = {"properties": {"f": {"type": "array", "items": {"type": "string"}}}}
_ANY: Final = frozenset(TYPES) - {"integer"}  # what a place takes of which the schema says nothing
# A place that takes all of these takes every text, but for one that its length forbids.
_TEXTS: Final = ("", "a", "Some words, 3 of them.", "/a/b-c_d.e", '["a"]')


class StringOrArray(Kind):
    """Wrap one text as a list of one item, where the schema wants a list and not the text.

    JSON array text is read, if the list fits the schema; every other text is wrapped, if the schema takes
    the list of it. The array text is read exactly: a key that stands twice or a number that cannot be
    kept leaves it alone.

    Text that starts like an array and does not read as one is left alone: wrapping it would hide the
    damage. A list of texts with commas in it is one text. Without a schema the kind does nothing.
    """

    keyword = "string-or-array"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    needs_schema = True
    note = "The field takes a list and you sent text. Send a JSON array."
    cost = "nothing where there is no text; else one or two looks at the schema"
    examples = (
        Example("string-or-array /f", {"f": "a"}, {"f": ["a"]}, schema=_LIST),
        Example("string-or-array /f", {"f": ' ["a", "b"]'}, {"f": ["a", "b"]}, schema=_LIST),
        Example("string-or-array /f", {"f": "a,b"}, {"f": ["a,b"]}, schema=_LIST, why="one text"),
        Example("string-or-array /f", {"f": "[1"}, schema=_LIST, why="starts like an array, is none"),
        Example(
            "string-or-array /f", {"f": "a"}, schema={"properties": {"f": {}}}, why="text is taken as it is"
        ),
    )

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        if takes_none(place, "array"):
            message = "the schema takes no array here, so the rule never applies"
            yield Finding("G226", message, "take it away", warning=True)
        elif place is None or not place.known or place.types >= _ANY:
            return
        elif all(place.accepts(text) for text in _TEXTS):
            message = "the schema takes a text here as it is, so the rule never applies"
            yield Finding("G226", message, "take it away", warning=True)

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        if not place.known or "array" not in place.types:
            return None

        def apply(value: Json, _log: Log) -> Json:
            if not isinstance(value, str) or place.accepts(value):
                return value
            if not value.lstrip().startswith("["):
                return [value] if place.accepts([value]) else value
            try:
                found = decode(value)
            except JsonError:
                return value
            return found if isinstance(found, list) and place.accepts(found) else value

        return Action(apply, "type(v) is str")


KIND = StringOrArray
