"""droppable: optional fields that may be left out where they are empty."""

from __future__ import annotations

from collections.abc import Iterator

from ..kind import Finding, Kind, Phase, Place, Selecting, Setting, Spec


class Droppable(Kind):
    """Let `repair.drop-null` leave out empty text and the word `null` also on a tool that changes things.

    Null itself, and every tool that only looks, need no such rule. The field must be optional and its
    schema must refuse what is there.

    Not for a field whose absence means something dangerous: left out, the tool takes its default.
    """

    keyword = "droppable"
    phase = Phase.SETTING
    setting = Setting.DROPPABLE
    selecting = Selecting.MANY
    acts_on_parent = True
    note = "The field was empty and was left out."
    cost = "nothing on calls that pass the schema"

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        for pointer in spec.selectors:
            if not pointer.segments:
                yield Finding("G225", "the whole value cannot be left out", "name a field", pointer.span)
                continue
            # The place is the object of the first selector, and says nothing of other ones.
            *above, last = pointer.segments
            beside = above == list(spec.selectors[0].segments[:-1])
            if place is not None and beside and isinstance(last, str) and place.requires(last):
                message = f"`{last}` is required in the schema, so it is never left out"
                yield Finding("G226", message, "take it away", pointer.span, warning=True)


KIND = Droppable
