"""closing-tags: take away the closing tags that leaked at the end of a text."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

from ...grammar.ast import Json
from ..kind import Action, Example, Kind, Log, Phase, Place, Selecting, Spec

# What models close a parameter and an invocation with, whatever stands before a `:` or between bars.
_WORDS: Final = frozenset(
    {"parameter", "param", "arg_key", "arg_value", "argument", "arguments", "invoke", "function"}
    | {"function_call", "function_calls", "tool_call", "tool_calls", "tool_use"}
)
_CLOSING: Final = re.compile(
    r"</(?:[A-Za-z_][\w.-]{0,31}:|[|｜‖]{1,2}[\w.-]{1,31}[|｜‖]{1,2})?([^\s<>/:|｜‖]{1,64})>\Z"
)
_OPENING: Final = re.compile(r"<([^\s<>/=]{1,130})(?=[\s>/=])")
_NAME: Final = re.compile(r"[^\s<>/=]{1,130}")
# A field of such a name may hold a page, or a part of one, that ends in this very tag.
_PAGE: Final = frozenset(
    {
        "html",
        "head",
        "body",
        "title",
        "style",
        "script",
        "template",
        "svg",
        "math",
        "form",
        "table",
        "section",
    }
    | {"article", "main", "header", "footer", "nav", "code", "pre", "label", "summary", "details", "button"}
    | {"div", "span", "p", "a", "b", "i", "ul", "ol", "li", "td", "tr", "th", "select", "option", "textarea"}
)
LONGEST: Final = 140  # characters of a tag
_FOR: Final = "claude-opus-4.7"


class ClosingTags(Kind):
    """Strip a run of closing tags at the very end of a text, with the white space between them only.

    Of the text at the place, or of each direct text of the object there. A tag is one that closes the
    field itself (`</path>` at `/path`), a parameter (`</parameter>`, `</arg_value>`), an invocation
    (`</invoke>`, `</tool_call>`, `</function_calls>`), each also with a prefix (`</x:invoke>`,
    `</｜DSML｜parameter>`), or one that a `closing-form` statement names. Only for the models of `for`.

    A tag that the text opens stays, and everything before it: it is markup. So does a run with a blank
    before it on the same line, or in a code fence that is open: it belongs to a text about tags. The own tag
    of a field that is called as an element of HTML goes only where a call's tag follows it. A text that is
    nothing but tags is left alone, arrays are not entered.
    """

    keyword = "closing-tags"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    needs_families = True
    note = "Closing tags were at the end of the text. Send the text without them."
    cost = "a look at the last character; where it may end a tag, one pass over the text"
    examples = (
        Example(
            'closing-tags /payload for "claude"',
            {"payload": "It is.</payload>\n</invoke>"},
            {"payload": "It is."},
            model=_FOR,
        ),
        Example(
            'closing-tags "" for "claude"',
            {"c": "pwd</｜DSML｜parameter>", "n": 1},
            {"c": "pwd", "n": 1},
            model=_FOR,
        ),
        Example('closing-tags /c for "claude"', {"c": "<c>x</c>"}, model=_FOR, why="the text opens it"),
        Example('closing-tags /c for "claude"', {"c": "x</div>"}, model=_FOR, why="no tag of a call"),
        Example(
            'closing-tags /c for "claude"',
            {"c": "end it with </c>"},
            model=_FOR,
            why="a sentence about the tag",
        ),
        Example('closing-tags /c for "claude"', {"c": "</c>"}, model=_FOR, why="nothing but tags"),
    )

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        field = next((name for name in reversed(spec.segments) if isinstance(name, str)), "")
        forms = tuple(form for form in spec.closing_forms if form)
        ends = tuple(sorted({">", *forms}))

        def apply(value: Json, log: Log) -> Json:
            if isinstance(value, str):
                return strip_tags(value, field, forms) if value.endswith(ends) else value
            if not isinstance(value, dict):
                return value
            result: dict[str, Json] | None = None
            for key, item in value.items():
                if isinstance(item, str) and item.endswith(ends):
                    bare = strip_tags(item, key, forms)
                    if bare is not item:
                        result = dict(value) if result is None else result
                        result[key] = bare
                        log.change((key,))
            return value if result is None else result

        return Action(apply, "type(v) is dict or type(v) is str and v.endswith($ends)", {"ends": ends})


def strip_tags(text: str, field: str, forms: tuple[str, ...]) -> str:
    """The text without its last closing tags; the same object where there are none. Cost: linear."""
    opened: Set[str] | None = None
    end = at = len(text)  # the end of what is kept; where the next tag must end
    while True:
        start = _closing_start(text, at, field, forms)
        if start < 0 or (end == len(text) and field in _PAGE and text[start:at] == f"</{field}>"):
            break
        if text.startswith("</", start) and text.endswith(">", 0, at):
            opened = frozenset(_OPENING.findall(text)) if opened is None else opened
            if text[start + 2 : at - 1] in opened:
                break
        end = at = start
        while at and text[at - 1].isspace():
            at -= 1
    if end == len(text) or not at or text[end - 1] in " \t" or text.count("```", 0, end) % 2:
        return text
    return text[:end]


def _closing_start(text: str, end: int, field: str, forms: tuple[str, ...]) -> int:
    """Where the closing tag starts that ends at `end`, or -1."""
    for form in forms:
        if text.endswith(form, 0, end):
            return end - len(form)
    start = text.rfind("</", max(0, end - LONGEST), end)
    if start < 0:
        return -1
    if text[start + 2 : end] == f"{field}>" and _NAME.fullmatch(field):
        return start
    found = _CLOSING.match(text[start:end])
    return start if found is not None and found[1] in _WORDS else -1


KIND = ClosingTags
