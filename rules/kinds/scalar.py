"""scalar: convert one scalar to the type that the schema wants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import ClassVar, Final

from ...grammar.ast import Json
from ..kind import Action, Example, Finding, Kind, Log, Phase, Place, Selecting, Spec, takes_none
from ..strictjson import DIGITS, JsonError, integer, number

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WHITE: Final = " \t\n\r\v\f"
_LARGEST: Final = 10**DIGITS

_N: Final[Json] = {"properties": {"n": {"type": "number"}}}
_I: Final[Json] = {"properties": {"n": {"type": "integer"}}}
_B: Final[Json] = {"properties": {"b": {"type": "boolean"}}}
_S: Final[Json] = {"properties": {"s": {"type": "string"}}}


class Scalar(Kind):
    """Convert one scalar to the declared type, losing nothing.

    `as number`: text that is exactly a JSON number, white space around it aside; the digits are kept, so
    what is not finite or would not print back as the same decimal is left alone. `as boolean`: `true` or
    `false` in any case, nothing around it. `as string`: the JSON text of a number or a boolean.

    Only where the schema does not take what is there and takes the result. Null is never converted;
    `yes`, `on`, `1` are no booleans, `5.7` is no integer, `30s` is no number. Without a schema the kind
    does nothing, and a place under a `bound` is left to it.
    """

    keyword = "scalar"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    needs_schema = True
    casts = True
    clauses: ClassVar = {
        "as": {"type": "string", "required": True, "allowed": ["string", "number", "boolean"]}
    }
    note = "The value had the wrong type. Send it as the schema says."
    cost = "nothing where the type is right; else one or two looks at the schema"
    examples = (
        Example("scalar /n as number", {"n": " 12.5 "}, {"n": 12.5}, schema=_N),
        Example("scalar /n as number", {"n": "7"}, {"n": 7}, schema=_I),
        Example("scalar /n as number", {"n": "5.7"}, schema=_I, why="no integer"),
        Example("scalar /n as number", {"n": "1e999"}, schema=_N, why="not finite"),
        Example(
            "scalar /n as number", {"n": "0.12345678901234567891"}, schema=_N, why="digits would be lost"
        ),
        Example("scalar /b as boolean", {"b": "False"}, {"b": False}, schema=_B),
        Example("scalar /b as boolean", {"b": "yes"}, schema=_B, why="not the word"),
        Example("scalar /s as string", {"s": 1.0}, {"s": "1.0"}, schema=_S),
        Example("scalar /s as string", {"s": True}, {"s": "true"}, schema=_S),
        Example("scalar /s as string", {"s": None}, schema=_S, why="null is never converted"),
    )

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        wanted = spec.clauses["as"]
        if takes_none(place, *_WANTED[wanted]):
            message = f"the schema takes no {wanted} here, so the rule never applies"
            yield Finding("G226", message, "take it away, or name the type of the schema", warning=True)

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        wanted = spec.clauses["as"]
        if not place.known or not _WANTED[wanted] & place.types:
            return None
        convert = _CONVERSIONS[wanted]
        note = f"The field takes a {wanted}. Send it as a JSON {wanted}."

        def apply(value: Json, log: Log) -> Json:
            found = convert(value)
            if found is None or place.accepts(value) or not place.accepts(found):
                return value
            log.change(note=note)
            return found

        return Action(apply, _GUARDS[wanted])


def to_number(value: Json) -> Json:
    """The number that a text is, else None."""
    if not isinstance(value, str):
        return None
    found = _NUMBER.fullmatch(text := value.strip(_WHITE))
    if found is None:
        return None
    try:
        return integer(text) if found[1] is None and found[2] is None else number(text)
    except JsonError:
        return None


def to_boolean(value: Json) -> Json:
    """The boolean that a text is, else None."""
    if not isinstance(value, str) or len(value) > 5 or not value.isascii():
        return None
    return {"true": True, "false": False}.get(value.lower())


def to_string(value: Json) -> Json:
    """The JSON text of a number or boolean, else None."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # Python may be told to print no longer ones.
        return str(value) if -_LARGEST < value < _LARGEST else None
    if isinstance(value, float):
        return repr(value) if value - value == 0.0 else None
    return None


_WANTED: Final = {
    "number": frozenset({"number", "integer"}),
    "boolean": frozenset({"boolean"}),
    "string": frozenset({"string"}),
}
_CONVERSIONS: Final[dict[str, Callable[[Json], Json]]] = {
    "number": to_number,
    "boolean": to_boolean,
    "string": to_string,
}
_GUARDS: Final = {
    "number": "type(v) is str",
    "boolean": "type(v) is str",
    "string": "type(v) is int or type(v) is float or type(v) is bool",
}

KIND = Scalar
