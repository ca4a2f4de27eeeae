"""The markup of a call inside one of its values: what it makes of the value."""

from __future__ import annotations

import re

from .domain import Refusal
from .swallowed import LONG

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
_TAG = 300  # code points that a closing tag may have
_DOCUMENTED = 2000  # code points that the documentation of a parameter may have
_TAGS = 8  # closing tags looked at before a parameter tag


def fault_of(text: str, field: str, lacking: frozenset[str]) -> Refusal | None:
    """Why markup in the text of a field makes the call unusable, or None. `lacking`: see `fault_in`."""
    if len(text) <= LONG:
        rest = text.replace(f"</{field}>", "")
        if not rest.strip() or _TAGS_ONLY.match(rest):
            return ONLY_TAGS
    opened: dict[str, int] = {}
    for match in _PARAMETER.finditer(text):
        name = match["name"] or match["key"]
        if name in lacking and not _is_documentation(text, match):
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


def _is_documentation(text: str, match: re.Match[str]) -> bool:
    """Is it `<param name="x">…</param>`, as comments of programs have it, not after a field's end?"""
    closing = text.find("</param>", match.end(), match.end() + _DOCUMENTED)
    return (
        text.startswith("<param ", match.start()) and closing >= 0 and not _closed_before(text, match.start())
    )


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
