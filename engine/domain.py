"""The JSON domain: exact built-in types, finite exact numbers, text that UTF-8 can carry; and its limits."""

from __future__ import annotations

from math import isfinite
from typing import Any

from msgspec import Struct

from .errors import InputError

# No integer of more digits is read or let through: Python can be told to print no longer ones.
INTEGER_DIGITS = 640
_LARGEST = 10**INTEGER_DIGITS
DEEPEST = 512  # the validator is native and recursive: deeper values could end the process


class Limits(Struct, frozen=True):
    """What bounds the work on one call. Over one of them: `unrepairable`, code `limit`.

    `input_bytes`: text as UTF-8, or for a Python value its texts and one for each value in it.
    `depth`: arrays and objects inside each other, at most 512. `decode_layers`: readings of JSON in
    JSON. `issues`: schema issues looked at in one pass. `passes`: of the repair.
    """

    input_bytes: int = 1_048_576
    depth: int = 64
    decode_layers: int = 3
    issues: int = 64
    passes: int = 4

    def __post_init__(self) -> None:
        for name, most in (
            ("input_bytes", 1 << 40),
            ("depth", DEEPEST),
            ("decode_layers", 16),
            ("issues", 4096),
            ("passes", 64),
        ):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= most:
                raise ValueError(f"limit `{name}` must be a whole number from 1 to {most}")


class Refusal(Struct, frozen=True):
    """Why a value cannot be judged: a verdict code, and a sentence for the model."""

    code: str
    message: str


TOO_LARGE = Refusal("limit", "The arguments are larger than this tool takes. Send less at once.")
TOO_DEEP = Refusal("limit", "The arguments are nested too deeply. Send a flatter value.")
BAD_NUMBER = Refusal(
    "number",
    "A number in the arguments is not finite or cannot be kept exactly. Send a plain JSON number, or text.",
)
BAD_TEXT = Refusal(
    "surrogate", "The arguments hold half of a surrogate pair, which is no text. Send the whole character."
)


TRUNCATED = Refusal("truncated", "The arguments were cut off before their end. Send the whole call again.")
NOT_JSON = Refusal("not-json", "The arguments are no JSON. Send one JSON object.")
# No value begins anywhere: bare text, for all that this pass knows.
NO_VALUE = Refusal("not-json", "The arguments are no JSON. Send one JSON object.")
OTHER_WORDS = Refusal(
    "not-json", "There is more than the arguments, and it may mean something. Send one JSON object alone."
)


def is_simple(value: object, known: frozenset[str]) -> bool:
    """Is it a small object of scalars, in short plain text without markup, and so without any fault?

    What `value_fault` and `swallowed.fault_in` would find nothing in, for the price of one look. `known`:
    keys that need none.
    """
    if type(value) is not dict or len(value) > _FEW:
        return False
    for key, item in value.items():
        if type(key) is not str or (key not in known and (len(key) > _SHORT or not key.isascii())):
            return False
        kind = type(item)
        if kind is str:
            if len(item) > _SHORT or not item.isascii() or "<" in item:
                return False
        elif kind is int:
            if not -_EXACT < item < _EXACT:
                return False
        elif kind is not bool and item is not None:
            return False
    return True


_FEW, _SHORT, _EXACT = 32, 256, 1 << 63


def text_fault(text: str, limits: Limits) -> Refusal | None:
    """Why this text cannot be read at all, or None."""
    if len(text) > limits.input_bytes:
        return TOO_LARGE
    if not text.isascii():
        try:
            if len(text.encode()) > limits.input_bytes:
                return TOO_LARGE
        except UnicodeEncodeError:
            return BAD_TEXT
    return None


def value_fault(value: object, limits: Limits) -> Refusal | None:
    """Why this value cannot be judged, or None.

    Iterative, and linear up to `limits.input_bytes`: shared and cyclic containers end at a limit.

    Raises:
        InputError: another type than None, bool, int, float, str, list, dict, or a subclass of one.
    """
    left = limits.input_bytes
    level: list[Any] = [value]
    fault: Refusal | None = None
    for _ in range(limits.depth):
        below: list[Any] = []
        for container in level:
            items: list[Any] = [container]
            if type(container) is dict:
                items = []
                for key, item in container.items():
                    if type(key) is not str:
                        raise InputError(f"a key of an object is no plain text but `{type(key).__name__}`")
                    items += (key, item)
                left -= 1 + len(items)
            elif type(container) is list:
                items = container
                left -= 1 + len(items)
            for item in items:
                kind = type(item)
                if kind is str:
                    left -= len(item)
                    if not item.isascii():
                        try:
                            left -= len(item.encode()) - len(item)
                        except UnicodeEncodeError:
                            fault = fault or BAD_TEXT
                elif kind is int:
                    if not -_LARGEST < item < _LARGEST:
                        fault = fault or BAD_NUMBER
                elif kind is float:
                    if not isfinite(item):
                        fault = fault or BAD_NUMBER
                elif kind is dict or kind is list:
                    below.append(item)
                elif item is not None and kind is not bool:
                    raise InputError(f"`{kind.__name__}` is no JSON type")
            if left < 0:
                return TOO_LARGE
        if not below:
            return fault
        level = below
    return TOO_DEEP


class NotAdmitted(Exception):
    """A bound refuses the value at a place. `reason` names its class, not the value."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class OutOfBounds(Exception):
    """The call is denied by a `bound` rule."""

    def __init__(self, rule: str, reason: str, note: str | None) -> None:
        super().__init__(reason)
        self.rule = rule
        self.reason = reason
        self.note = note
