"""Refuses a value that swallowed a parameter: markup of the call itself inside one field.

A model that writes its calls as tags sometimes closes a field too late: the next parameter then
stands inside this one's value, and storing it as text would lose it in silence.
"""

from __future__ import annotations

from ..grammar.ast import Json
from .domain import Refusal
from .selector import Path

LONG = 4096


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
            from .markup import fault_of

            found = fault_of(text, field, lacking)
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
