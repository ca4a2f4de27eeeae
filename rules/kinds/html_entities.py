"""html-entities: decode the entities that a model wrote into a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...grammar.ast import Json
from ..kind import Action, Example, Finding, Kind, Log, Phase, Place, Selecting, Spec, takes_none

_ENTITY: Final = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,10})|#[xX]([0-9a-fA-F]{1,8}));")
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_FOR: Final = "grok-4.1-fast"


class HtmlEntities(Kind):
    """Decode `&amp;` `&lt;` `&gt;` `&quot;` `&apos;` and numeric entities in one text, once.

    Only for the models of `for`. Text that was encoded twice is decoded once, and then refused as not
    settled: it cannot be told which was meant.

    Other names (`&nbsp;`), entities without `;`, and the numbers of NUL, of surrogates and beyond U+10FFFF
    stay as they are. Not for a field that holds HTML.
    """

    keyword = "html-entities"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    needs_families = True
    note = "The text had HTML entities such as `&amp;`. Send plain characters."
    cost = "one search for `&`"
    examples = (
        Example('html-entities /c for "grok"', {"c": "a &amp;&amp; b"}, {"c": "a && b"}, model=_FOR),
        Example('html-entities /c for "grok"', {"c": "&#39;&#x27;"}, {"c": "''"}, model=_FOR),
        Example('html-entities /c for "grok"', {"c": "a & b &nbsp; &#0;"}, model=_FOR, why="no such entity"),
    )

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        # A text that is sent where an array or an object belongs can still be read as one.
        if takes_none(place, "string", "array", "object"):
            yield Finding("G226", "the schema takes no text here", "take the rule away", warning=True)

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        return Action(_apply, 'type(v) is str and "&" in v and ";" in v')


def _apply(value: Json, _log: Log) -> Json:
    if not isinstance(value, str):
        return value
    decoded = _ENTITY.sub(_character, value)
    return value if decoded == value else decoded


def _character(found: re.Match[str]) -> str:
    if found[1] is not None:
        return _NAMED[found[1]]
    code = int(found[2]) if found[2] is not None else int(found[3], 16)
    if code == 0 or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        return found[0]
    return chr(code)


KIND = HtmlEntities
