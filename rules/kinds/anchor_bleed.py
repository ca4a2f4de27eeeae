"""anchor-bleed: take away the regular-expression anchors that leaked around a text."""

from __future__ import annotations

from collections.abc import Iterator

from ...grammar.ast import Json
from ..kind import Action, Example, Finding, Kind, Log, Phase, Place, Selecting, Spec, takes_none

_FOR = "kimi-k2"


class AnchorBleed(Kind):
    """Strip every leading `^` and trailing `$` from one text, for models whose grammar leaks them.

    Only for the models of `for`; under the policy `conservative` it observes.

    Never where the schema says that the text is a regular expression (`format: regex`) or gives it an
    anchored `pattern`, never to an empty text, and never inside: `$HOME/^a$b` stays.
    """

    keyword = "anchor-bleed"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    needs_families = True
    cautious = True
    note = "The text had `^` or `$` around it. Send the bare text."
    cost = "a look at the first and the last character"
    examples = (
        Example('anchor-bleed /path for "kimi"', {"path": "^/src$"}, {"path": "/src"}, model=_FOR),
        Example('anchor-bleed /path for "kimi"', {"path": "^^a$$"}, {"path": "a"}, model=_FOR),
        Example('anchor-bleed /path for "kimi"', {"path": "$HOME/^a$b"}, model=_FOR, why="nothing leaked"),
        Example('anchor-bleed /path for "kimi"', {"path": "^$"}, model=_FOR, why="nothing would be left"),
        Example(
            'anchor-bleed /path for "kimi"',
            {"path": "^a$"},
            schema={"properties": {"path": {"type": "string", "format": "regex"}}},
            model=_FOR,
            why="a regular expression",
        ),
        Example('anchor-bleed /path for "kimi"', {"path": "^a$"}, model="gpt-5", why="another model"),
    )

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        if place is not None and place.is_pattern:
            message = "the text here is a regular expression, so the rule never applies"
            yield Finding("G226", message, "take it away", warning=True)
        # A text that is sent where an array or an object belongs can still be read as one.
        elif takes_none(place, "string", "array", "object"):
            yield Finding("G226", "the schema takes no text here", "take the rule away", warning=True)

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        if place.is_pattern:
            return None
        # By name, since a `$` in a guard begins one.
        return Action(_apply, 'type(v) is str and (v[:1] == "^" or v[-1:] == $end)', {"end": "$"})


def _apply(value: Json, log: Log) -> Json:
    if not isinstance(value, str):
        return value
    bare = value.lstrip("^").rstrip("$")
    if not bare and value:
        log.observe("nothing but anchors; left as it is")
        return value
    return value if len(bare) == len(value) else bare


KIND = AnchorBleed
