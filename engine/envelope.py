"""Stage 2: makes an argument value out of what the model sent.

Text becomes a value by plain JSON, by JSON in JSON, by mending damage that loses nothing
(`damage.py`), or by closing what was cut right after a complete value. Every difference is a step of
its own; what could mean two things is refused with a code. Nothing is ever invented
(`docs/pipeline.md`, stage 2).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType

import msgspec

from ..grammar.ast import Json
from ..rules.strictjson import JsonError, equal, read
from .domain import BAD_NUMBER, BAD_TEXT, NO_VALUE, NOT_JSON, OTHER_WORDS, TOO_DEEP, Limits, Refusal
from .places import Open, View, root_types
from .speech import AROUND, Speech

WRAPPERS = ("arguments", "parameters", "input", "args", "params", "result")
_NAMES = ("name", "tool", "tool_name", "toolName", "function", "function_name")
_INNER = ("arguments", "parameters", "input", "args", "params")
_SHELLS = ("function", "functionCall", "function_call", "tool_call", "tool_use")
_ASIDE = frozenset({"id", "type", "index", "call_id", "tool_call_id"})
_MARKS = frozenset({*_NAMES, *_SHELLS})
# How providers say that an answer ended by itself; without case, `-`, `_` and what stands before a dot.
_NORMAL_STOPS = frozenset(
    {
        "stop",
        "toolcall",
        "toolcalls",
        "tooluse",
        "functioncall",
        "functioncalls",
        "endturn",
        "eos",
        "stopsequence",
    }
    | {"complete", "completed", "finished", "done", "ok", "success"}
)
_OBJECT_START = re.compile(r'\{\s*"')
_SCALAR = re.compile(
    r"(?:-?[0-9.]+(?:[eE][+-]?[0-9]+)?|-?Infinity|NaN|true|false|null|undefined|True|False|None)\Z"
)
# The rest of an object that lost its beginning.
_DAMAGED = re.compile(r"\"[ \t]{0,8}:|\"[ \t\r\n]{0,8}[}\]][ \t\r\n}\]]{0,64}\Z")


class Fix(msgspec.Struct, frozen=True):
    """One change of the envelope: its kind without `envelope.`, and the note for the model."""

    kind: str
    note: str


class Reading(msgspec.Struct, frozen=True):
    """A value and how it was read. `bare`: the value is text that is no JSON."""

    value: Json
    steps: tuple[Fix, ...] = ()
    bare: bool = False
    readings: int = 0  # how many times JSON text was decoded
    plain: bool = False  # read from text without markup and escapes, so that nothing in it can be at fault


EMPTY = Fix("empty", "You sent no arguments; an empty object was taken. Send `{}`.")
_DECODE = Fix("decode-json", "You sent the arguments as JSON text; send a JSON object, not text in quotes.")
_DUPLICATE = Fix("duplicate-key", "A key stood twice with the same value; send each key once.")
_UNWRAP_ARRAY = Fix("unwrap-array", "You sent an array with one object in it; send the object alone.")

FIXES = MappingProxyType(
    {
        kind: Fix(kind, note)
        for kind, note in (
            (
                "control-characters",
                "The JSON text held control characters where JSON has none; inside a text write \\n and \\t, "
                "and between two entries nothing but plain white space.",
            ),
            ("fence", "You put the arguments into a code fence; send the JSON object alone."),
            ("surroundings", "There was more than the arguments; send the JSON object alone."),
            ("commas", "There was a comma too many; put one comma between two entries and none at the end."),
            ("literals", "You wrote `True`, `False` or `None`; JSON has `true`, `false` and `null`."),
            ("quotes", "You used other quotes than JSON has; put texts and keys in double quotes."),
            ("keys", "A key was not in double quotes; put each key in double quotes."),
            ("bare-value", "A text was not in quotes; put each text in double quotes."),
            ("braces", "There was a brace too many; send one object with one pair of braces around it."),
            ("comments", "There were comments in the JSON text; JSON has none."),
            ("repeated", "You sent the same object more than once; send it once."),
            ("escapes", "A backslash stood alone in a text; write each as two."),
            ("xml", "You sent the arguments as XML elements; send a JSON object."),
            ("complete", "The JSON text ended before its last bracket; send the whole object."),
        )
    }
)

SEVERAL = Refusal("several-calls", "The text holds several objects. Send one call for each.")
LAYERS = Refusal("limit", "The arguments are JSON text inside JSON text, too many times. Send a JSON object.")


def ended_by_itself(stop_reason: str | None) -> bool:
    """Did the answer end by itself, as far as the host says? An unknown word is no such end."""
    if stop_reason is None:
        return True
    word = stop_reason.rpartition(".")[2].lower()
    return word.replace("_", "").replace("-", "").replace(" ", "") in _NORMAL_STOPS


def read_text(
    text: str, limits: Limits, place: View | Open, speech: Speech, *, free: bool, complete: bool
) -> Reading | Refusal:
    """Read argument text, decoding JSON in JSON up to the limit.

    `free`: the first reading is no change (`check_text`). `complete`: cut text may be closed.
    Blank text is `Reading(None)` without steps.
    """
    steps: list[Fix] = []
    value: Json = text
    plain = False
    for layer in range(limits.decode_layers + 1):
        if not isinstance(value, str):
            break
        if layer == 0 and not value.strip():
            return Reading(None)
        if layer and not _may_be_layer(value):
            return Reading(value, tuple(steps), bare=True, readings=layer)
        if layer == limits.decode_layers:
            return LAYERS
        found = _layer(value, limits.depth, place, speech, complete=complete and layer == 0)
        if isinstance(found, Refusal):
            if layer == 0 and found is NO_VALUE and not looks_like_json(after_words(value, speech)):
                return Reading(value, (), bare=True)
            return found
        value, fixes, now_plain = found
        plain = plain or now_plain
        if layer or not free:
            steps.append(_DECODE)
        steps.extend(fixes)
    else:
        layer += 1
    return Reading(value, tuple(steps), readings=layer, plain=plain)


def is_plain(text: str) -> bool:
    """Can no value that is read from this text hold markup, or half of a surrogate pair?"""
    return "<" not in text and "&" not in text and "\\u" not in text


def _may_be_layer(text: str) -> bool:
    """Text inside JSON is another layer only when it begins as an object, an array or a JSON text."""
    return text.lstrip(" \t\r\n")[:1] in ("{", "[", '"')


def _layer(
    text: str, depth: int, place: View | Open, speech: Speech, *, complete: bool
) -> tuple[Json, tuple[Fix, ...], bool] | Refusal:
    """One reading of JSON text, with the fixes that it needed, and whether it was read from plain text."""
    try:
        value, merged = read(text, depth=depth)
        return value, (_DUPLICATE,) if merged else (), is_plain(text)
    except JsonError as error:
        if error.code != "syntax":
            return _fault(error)
        sound = error.more
    # Only damaged text needs these, and their expressions take time to make.
    from .damage import mend
    from .elements import elements

    found = elements(text, place.properties)
    if found is not None:
        return found, (FIXES["xml"],), False
    mended = mend(text, depth, place, speech, complete=complete, sound=sound)
    if isinstance(mended, Refusal):
        return mended
    try:
        values, merged_in = zip(
            *(read(each, depth=depth, raw_controls=True) for each in dict.fromkeys(mended.texts)), strict=True
        )
    except JsonError as error:
        return NOT_JSON if error.code == "syntax" else _fault(error)
    if any(not equal(values[0], each) for each in values):
        return SEVERAL
    # What stands between two objects may belong to either.
    if len(mended.texts) > 1 and "surroundings" in mended.kinds:
        return SEVERAL
    if "surroundings" in mended.kinds and not _one_object(values[0]):
        return OTHER_WORDS
    if isinstance(values[0], str) and not _may_be_layer(values[0]):
        return NOT_JSON
    fixes = tuple(FIXES[kind] for kind in mended.kinds)
    # What was around it is gone, and no value has markup of it.
    return values[0], (*fixes, _DUPLICATE) if any(merged_in) else fixes, is_plain(mended.texts[0])


def _one_object(value: Json) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)
    )


def _fault(error: JsonError) -> Refusal:
    if error.code == "number":
        return BAD_NUMBER
    if error.code == "surrogate":
        return BAD_TEXT
    if error.code == "limit":
        return TOO_DEEP
    return Refusal("duplicate-key", f"In the arguments {error}. Send each key once.")


def after_words(text: str, speech: Speech) -> str:
    """Bare text without the fence marks and the words that stand around arguments, at its beginning."""
    from .lexicon import lexicon

    around = lexicon(speech).around
    at = 0
    for _ in range(AROUND):
        found = around.match(text, at)
        if found is None or found.end() == len(text):
            break
        at = found.end()
    return text[at:]


def misplaced(value: Json, place: View | Open) -> bool:
    """May a brace that the text lacked have been lost earlier, so that a key stands one object too deep?

    Looked at are the objects that were open at the end: a key in one of them, after its first, that an
    object around it has as a property and lacks.
    """
    around: list[tuple[dict[str, Json], View | Open]] = []
    while isinstance(value, dict | list) and value:
        if isinstance(value, dict):
            for key in list(value)[1:]:
                if any(key in outer_place.properties and key not in outer for outer, outer_place in around):
                    return True
            around.append((value, place))
            last = next(reversed(value))
            value, place = value[last], place.child(last)
        else:
            place, value = place.under((len(value) - 1,)), value[-1]
    return False


def looks_like_json(text: str) -> bool:
    """Does bare text look like JSON or markup, so that taking it as one field's value would be a guess?"""
    start = text.lstrip()
    if start[:1] in ("{", "[", '"', "<", "'", "“", "`") or _SCALAR.match(start.rstrip()):
        return True
    return _OBJECT_START.search(text) is not None or _DAMAGED.search(text) is not None


def several_calls(value: Json, place: View | Open) -> bool:
    """Is it an array of different objects where one object is wanted?"""
    if not isinstance(value, list) or len(value) < 2 or not place.known or "array" in root_types(place):
        return False
    return all(isinstance(each, dict) for each in value) and any(not equal(value[0], each) for each in value)


def unwrap(
    reading: Reading,
    tool: str,
    place: View | Open,
    speech: Speech,
    limits: Limits,
    passes: Callable[[Json], bool],
) -> Reading | Refusal:
    """Take one object out of what was put around it; the reading itself where there is nothing to take out.

    A wrapper around text that cannot be read is refused for what is wrong with that text.

    `passes`: does a value pass the schema after preprocessing? A value that passes is never unwrapped.
    """
    value = reading.value
    if isinstance(value, dict) and not may_be_wrapped(value):
        return reading
    types = root_types(place)
    if not place.known or "object" not in types:
        return reading
    if isinstance(value, list):
        if "array" in types or len(value) != 1 or not isinstance(value[0], dict):
            return reading
        value = value[0]
        reading = Reading(value, (*reading.steps, _UNWRAP_ARRAY), readings=reading.readings)
    found = _wrapped(value, tool, place) if isinstance(value, dict) else None
    if found is None or passes(value):
        return reading
    inner, label, certain = found
    steps = [
        *reading.steps,
        Fix("unwrap-object", f"You put the arguments inside `{label}`; send them directly."),
    ]
    readings = reading.readings
    if isinstance(inner, str):
        if readings >= limits.decode_layers:
            return reading
        layer = _layer(inner, limits.depth, place, speech, complete=False)
        if isinstance(layer, Refusal):
            return layer if _may_be_layer(inner) else reading
        inner, fixes, _ = layer
        readings += 1
        steps += [_DECODE, *fixes]
    if not isinstance(inner, dict) or not (certain or passes(inner)):
        return reading
    return Reading(inner, tuple(steps), readings=readings)


def may_be_wrapped(value: dict[str, Json]) -> bool:
    """A quick test that is false only where there is nothing to take out of an object."""
    return len(value) == 1 or not _MARKS.isdisjoint(value)


def _wrapped(value: dict[str, Json], tool: str, place: View | Open) -> tuple[Json, str, bool] | None:
    """What is inside a wrapper: the value, what to call the wrapper, and whether it names this very tool."""
    if any(place.declares(key) for key in value):
        return None
    if len(value) == 1:
        key = next(iter(value))
        if key in WRAPPERS:
            return value[key], key, False
    if _MARKS.isdisjoint(value):
        return None
    shell = next((key for key in _SHELLS if isinstance(value.get(key), dict)), None)
    if shell is not None and value.keys() <= {shell, *_ASIDE}:
        value = value[shell]  # type: ignore[assignment]
        if any(place.declares(key) for key in value):
            return None
    names = [key for key in _NAMES if value.get(key) == tool]
    inner = [key for key in _INNER if isinstance(value.get(key), dict | str)]
    if len(names) == 1 and len(inner) == 1 and value.keys() <= {names[0], inner[0], *_ASIDE}:
        return value[inner[0]], inner[0], True
    return None
