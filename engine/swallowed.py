"""Refuses a value that swallowed a parameter: markup of the call itself inside one field.

A model that writes its calls as tags sometimes closes a field too late: the next parameter then
stands inside this one's value, and storing it as text would lose it in silence.
"""

from __future__ import annotations

import re

from ..grammar.ast import Json
from .domain import Refusal
from .selector import Path

SWALLOWED = Refusal(
    "swallowed-parameter",
    "A field's value holds the markup of another parameter. Send each parameter as a field of its own.",
)
ONLY_TAGS = Refusal("lost-arguments", "A field's value is nothing but call markup. Send the value itself.")

_PREFIX = r"(?:[A-Za-z]{1,16}:|[|｜‖]{1,2}DSML[|｜‖]{1,2})?"
# A tag that begins a parameter, with the name that it gives.
_PARAMETER = re.compile(
    rf"<{_PREFIX}param(?:eter)?(?:[ \t]{{1,8}}name[ \t]{{0,8}}=[ \t]{{0,8}}|[ \t]{{0,8}}=[ \t]{{0,8}})"
    r"[\"']?(?P<name>[^\"'<>\s]{1,256})"
    r"|<arg_key>[ \t\r\n]{0,8}(?P<key>[^<>]{1,256}?)[ \t\r\n]{0,8}(?:</arg_key>|<arg_value>)"
)
# The end of one argument and the key of the next, of which a tag was lost.
_NEXT_KEY = re.compile(r"</arg_value>[^<>]{0,256}</?arg_key>")
# What follows a field's own closing tag, and is the tag of another field.
_NEXT_FIELD = re.compile(r"[ \t\r\n]{0,64}(?:\]<\][a-z]{1,16}\[>\[)?<(?P<name>[A-Za-z_][\w.-]{0,255})>")
_TAGS_ONLY = re.compile(
    rf"\s*(?:</?{_PREFIX}(?:param(?:eter)?(?:[ =][^<>]{{0,256}})?"
    r"|arg_key|arg_value|invoke|tool_call|function_calls?)>\s*)+\Z"
)
LONG = 4096
_TAG = 300  # code points that a closing tag may have
_TAGS = 8  # closing tags looked at before a parameter tag


def may_be_swallowed(text: str, field: str) -> bool:
    """A cheap test that is false only where `fault_in` finds nothing in the text of a field."""
    return text[:64].lstrip()[:1] == "<" or "param" in text or "arg_key>" in text or f"</{field}>" in text


def fault_in(value: Json, declared: frozenset[str]) -> Refusal | None:
    """Why a call's own markup inside one of its values makes it unusable, or None.

    `declared`: the properties that the schema names for the root object. Where the call has all of
    them no parameter can be lost, and of a text over 4,096 code points only the end is looked at.
    Linear in the text.
    """
    lacking = declared.difference(value) if isinstance(value, dict) else declared
    for path, text in _texts(value):
        if not lacking and len(text) > LONG:
            text = text[-LONG:]
        field = str(path[-1]) if path else ""
        if "<" in text and may_be_swallowed(text, field):
            found = _fault(text, field, lacking)
            if found is not None:
                return found
    return None


def _texts(value: Json) -> list[tuple[Path, str]]:
    """Every text in a value, with its path. Iterative."""
    found: list[tuple[Path, str]] = []
    stack: list[tuple[Path, Json]] = [((), value)]
    while stack:
        path, here = stack.pop()
        if type(here) is str:
            found.append((path, here))
        elif type(here) is dict:
            stack.extend(((key,), item) for key, item in here.items())
        elif type(here) is list:
            stack.extend((path, item) for item in here)
    return found


def _fault(text: str, field: str, lacking: frozenset[str]) -> Refusal | None:
    if len(text) <= LONG:
        rest = text.replace(f"</{field}>", "")
        if not rest.strip() or _TAGS_ONLY.match(rest):
            return ONLY_TAGS
    opened: dict[str, int] = {}
    for match in _PARAMETER.finditer(text):
        name = match["name"] or match["key"]
        if name in lacking:
            return SWALLOWED
        for tag in _closed_before(text, match.start()):
            if tag == field or tag in ("parameter", "param", "arg_value"):
                if tag not in opened:
                    opened[tag] = text.find(f"<{tag}")
                if not 0 <= opened[tag] < match.start():
                    return SWALLOWED
    half = _NEXT_KEY.search(text)
    if half is not None and not 0 <= text.find("<arg_value>") < half.start():
        return SWALLOWED
    closed = text.find(f"</{field}>")
    if closed >= 0 and not 0 <= text.find(f"<{field}") < closed:
        following = _NEXT_FIELD.match(text, closed + len(field) + 3)
        if following is not None and following["name"] in lacking:
            return SWALLOWED
    return None


def _closed_before(text: str, end: int) -> list[str]:
    """The names of the run of closing tags that ends at `end`, nearest first, white space aside."""
    names: list[str] = []
    while len(names) < _TAGS:
        while end and text[end - 1] in " \t\r\n":
            end -= 1
        start = text.rfind("<", max(0, end - _TAG), end)
        if start < 0 or text[start : start + 2] != "</" or text[end - 1] != ">":
            break
        names.append(re.sub(_PREFIX, "", text[start + 2 : end - 1], count=1))
        end = start
    return names
