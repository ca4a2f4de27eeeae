"""One primitive admitted: its schema, and the two canonical casts that an admission owns.

Pure functions over exact built-in types. No library parser is called on text, so no setting of the
process changes an answer. Source: `docs/bounds.md`.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

BUDGET = 1024  # bytes of UTF-8 text that are looked at
_PRINTED = 2000  # bits of an integer that is printed
_ZERO, _NINE = ord("0"), ord("9")


class PrimitiveKind(StrEnum):
    """What a bounded place holds."""

    INTEGER = "integer"
    BOOLEAN = "boolean"


class BoundError(ValueError):
    """A schema of one primitive that says too little or too much. `reason` is a stable word."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class PrimitiveSchema(Struct, frozen=True):
    """What one primitive may be. Make it with `create`, which checks it.

    An integer has `minimum` and `maximum`, both included; a boolean may take its lower-case text.
    """

    schema_id: str
    version: str
    expected: PrimitiveKind
    minimum: int | None = None
    maximum: int | None = None
    lowercase: bool = False

    @classmethod
    def create(
        cls,
        *,
        schema_id: str,
        version: str,
        expected: PrimitiveKind | str,
        minimum: int | None = None,
        maximum: int | None = None,
        lowercase: bool = False,
    ) -> PrimitiveSchema:
        """The schema, checked.

        Raises:
            BoundError: an empty or inexact name, a bound that is missing, no exact `int`, or out of
                order, a bound on a boolean, or `lowercase` on an integer.
        """
        for name, text in (("schema_id", schema_id), ("version", version)):
            if type(text) is not str or not text:
                raise BoundError(f"{name}_missing", f"`{name}` is text that is not empty")
        if type(expected) is str and expected in ("integer", "boolean"):
            expected = PrimitiveKind(expected)
        if type(expected) is not PrimitiveKind:
            raise BoundError("expected", "`expected` is `integer` or `boolean`")
        if type(lowercase) is not bool:
            raise BoundError("lowercase_type", "`lowercase` is true or false")
        if expected is PrimitiveKind.BOOLEAN:
            if minimum is not None or maximum is not None:
                raise BoundError("schema_bound_on_boolean", "a boolean has no bounds")
            return cls(schema_id, version, expected, lowercase=lowercase)
        if lowercase:
            raise BoundError("lowercase_on_integer", "`lowercase` is for a boolean")
        if minimum is None or maximum is None:
            raise BoundError("schema_bound_missing", "an integer has `minimum` and `maximum`")
        if type(minimum) is not int or type(maximum) is not int:
            raise BoundError("schema_bound_type", "the bounds of an integer are exact integers")
        if minimum > maximum:
            raise BoundError("schema_bound_order", "`minimum` is above `maximum`")
        return cls(schema_id, version, expected, minimum, maximum)

    @property
    def wanted(self) -> str:
        """What is admitted, in words."""
        if self.expected is PrimitiveKind.INTEGER:
            assert self.minimum is not None
            assert self.maximum is not None
            if max(self.minimum.bit_length(), self.maximum.bit_length()) > _PRINTED:
                return "an integer inside the bounds"  # Python may be told to print no longer ones
            return f"an integer from {self.minimum} to {self.maximum}"
        return "true or false"


class Answer(StrEnum):
    """What becomes of one value."""

    ACCEPT = "accept"
    REPAIR = "repair"
    DENY = "deny"


def admit(schema: PrimitiveSchema, value: object) -> tuple[Answer, str, int | bool | None]:
    """What becomes of a value: the answer, a stable word for why, and what a repair makes of it.

    Only exact types are looked at, and no method of the value is called before its type is known.
    Cost: constant in the length of a text over the budget, else linear in it.
    """
    if schema.expected is PrimitiveKind.BOOLEAN:
        return _boolean(schema, value)
    assert schema.minimum is not None
    assert schema.maximum is not None
    if type(value) is int:
        reason = _outside(value, schema.minimum, schema.maximum)
        return (Answer.DENY, reason, None) if reason else (Answer.ACCEPT, "exact", None)
    if type(value) is not str:
        return Answer.DENY, f"{_type_word(value)}_for_integer", None
    if over_budget(value):
        return Answer.DENY, "over_budget", None
    fault = _spelling(value)
    if fault:
        return Answer.DENY, fault, None
    number = _read(value, max(abs(schema.minimum), abs(schema.maximum)))
    if number is None:
        return Answer.DENY, "below_minimum" if value[0] == "-" else "above_maximum", None
    reason = _outside(number, schema.minimum, schema.maximum)
    return (Answer.DENY, reason, None) if reason else (Answer.REPAIR, "canonical_integer", number)


def over_budget(text: str) -> bool:
    """Has the text more than 1,024 bytes of UTF-8?"""
    return len(text) > BUDGET or len(text.encode("utf-8", "surrogatepass")) > BUDGET


def _boolean(schema: PrimitiveSchema, value: object) -> tuple[Answer, str, int | bool | None]:
    if value is True or value is False:
        return Answer.ACCEPT, "exact", None
    if type(value) is int or type(value) is float:
        return Answer.DENY, "numeric_alias", None
    if type(value) is not str:
        return Answer.DENY, f"{_type_word(value)}_for_boolean", None
    if over_budget(value):
        return Answer.DENY, "over_budget", None
    if value != "true" and value != "false":
        return Answer.DENY, "boolean_spelling", None
    if not schema.lowercase:
        return Answer.DENY, "cast_not_enabled", None
    return Answer.REPAIR, "canonical_boolean", value == "true"


def _type_word(value: object) -> str:
    """A word for the type of what is no text; no method of the value runs."""
    kind = type(value)
    if value is None:
        return "none"
    return "boolean" if kind is bool else "float" if kind is float else "other"


def _outside(value: int, minimum: int, maximum: int) -> str:
    if value < minimum:
        return "below_minimum"
    return "above_maximum" if value > maximum else ""


def _spelling(text: str) -> str:
    """Why a text is no canonical integer, or "": ASCII `0`, or an optional `-`, then 1 to 9, then digits."""
    if not text:
        return "empty"
    if not text.isascii():
        return "non_ascii"
    if any(character.isspace() for character in text):
        return "whitespace"
    digits = text[1:] if text[0] == "-" else text
    if text[0] == "+":
        return "sign"
    if not digits or not all(_ZERO <= ord(character) <= _NINE for character in digits):
        return "syntax"
    if digits == "0":
        return "negative_zero" if text[0] == "-" else ""
    return "leading_zero" if digits[0] == "0" else ""


def _read(text: str, most: int) -> int | None:
    """The integer, digit by digit; None as soon as its magnitude is over `most`."""
    negative = text[0] == "-"
    magnitude = 0
    for character in text[1:] if negative else text:
        magnitude = magnitude * 10 + (ord(character) - _ZERO)
        if magnitude > most:
            return None
    return -magnitude if negative else magnitude
