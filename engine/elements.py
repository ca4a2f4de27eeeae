"""Arguments that are XML elements, one for each property of the schema."""

from __future__ import annotations

import re
from collections.abc import Set

from ..grammar.ast import Json

_OPEN = re.compile(r"\s*+<([A-Za-z_][\w.-]{0,255})>")
_TAG = re.compile(r"</?(?:[A-Za-z]{1,16}:)?([A-Za-z_][\w.-]{0,255})")
_ENTITY = re.compile(r"&(?:[A-Za-z]{1,32}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});|<[!?]")
_DOCUMENTS = frozenset({"html", "head", "body", "svg", "xml"})
# What belongs to the markup of a call, and may end or begin a parameter.
_CALL = frozenset({"parameter", "param", "invoke", "arg_key", "arg_value", "tool_call", "function_calls"})


def elements(text: str, names: Set[str]) -> dict[str, Json] | None:
    """The texts of the elements that the text is, each under its name; None where it is anything else.

    `names`: the properties of the schema. Texts are taken as they are. What makes it anything else: an
    element inside another that has one of these names; an entity, a comment and the like, of which nobody
    knows whether they are to be read; white space right inside the tags, which may be layout or text; an
    element that begins a document of its own. Cost: linear.
    """
    found: dict[str, Json] = {}
    at, end = 0, len(text.rstrip())
    while at < end:
        opening = _OPEN.match(text, at)
        if opening is None or opening[1] not in names or opening[1] in found:
            return None
        close = text.find(f"</{opening[1]}>", opening.end())
        if close < 0:
            return None
        inner = text[opening.end() : close]
        if inner != inner.strip() or opening[1] in _DOCUMENTS:
            return None
        if _ENTITY.search(inner) or any(tag[1] in names or tag[1] in _CALL for tag in _TAG.finditer(inner)):
            return None
        found[opening[1]] = inner
        at = close + len(opening[1]) + 3
    return found or None
