"""root: where bare text goes when the model sent no object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ...grammar.ast import STAR
from ..kind import Finding, Kind, Phase, Place, Selecting, Setting, Spec, takes_none


class Root(Kind):
    """Name the field that bare text is meant for: `ls -l` for a tool whose `root` is `/command`.

    Used by `repair.wrap-root`, where the arguments are text that does not look like JSON. With `in-array`
    the text becomes the one item of an array there. In a block with a glob it acts only where the schema
    has the field.

    Not for numbers, booleans, null or arrays at the root, and not for damaged JSON: none of them is bare
    text. The wrapped object must pass the schema.
    """

    keyword = "root"
    phase = Phase.SETTING
    setting = Setting.ROOT
    selecting = Selecting.ONE
    clauses: ClassVar = {"in-array": {"type": "boolean"}}
    note = "The arguments were bare text. Send a JSON object."
    cost = "nothing on calls that are objects"

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        if not spec.segments or STAR in spec.segments:
            yield Finding(
                "G225", "`root` needs the selector of one field", "write it without `*`, as `/field`"
            )
        elif "in-array" not in spec.clauses:
            if takes_none(place, "string"):
                array = place is not None and "array" in place.types
                help_ = "write `in-array`" if array else "name a field that takes text"
                yield Finding("G226", "the schema takes no text here", help_, warning=True)
        elif takes_none(place, "array"):
            yield Finding("G226", "the schema takes no array here", "leave `in-array` out", warning=True)
        elif place is not None and takes_none(place.child("0"), "string"):
            message = "the schema takes no text in this array"
            yield Finding("G226", message, "name a field that takes text", warning=True)


KIND = Root
