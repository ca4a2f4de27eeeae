"""What the model and the host read: issues without values, the retry message, the fingerprint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..grammar.ast import Json
from .selector import pointer
from .verdict import Issue

if TYPE_CHECKING:
    from .native import Misfit

ISSUES = 8  # in a retry message
RECEIVED = 300  # code points of what was received
# What becomes of the same call: nothing changes that; something in the turn may; it waits for rules.
AGAIN = "The same call will be refused again."
TURNING = "The same call will be refused again as long as this is so."
LATER = "So is every call until they can be; it may pass then."
_WANTED = 120  # code points of one wanted value, pattern or key


def issue(fault: Misfit) -> Issue:
    """A fault as an issue; the message never quotes a value of the call."""
    return Issue(pointer(fault.path) if fault.path else "", fault.keyword, fault.message)


def describe(keyword: str, facts: dict[str, Any]) -> str:
    """What a schema keyword wants, with what the validator says of it."""
    if keyword == "required":
        return f"the field `{_short(facts['property'])}` is required"
    limit = facts.get("limit")
    match keyword:
        case "type":
            return f"must be {_either(facts.get('types', ()))}"
        case "enum":
            return f"must be one of {_either([_json(each) for each in facts.get('options', ())][:20])}"
        case "const":
            return f"must be {_json(facts.get('expected_value'))}"
        case "additionalProperties" | "unevaluatedProperties":
            unknown = ", ".join(f"`{_short(each)}`" for each in list(facts.get("unexpected", ()))[:5])
            return f"has unknown fields: {unknown}"
        case "minimum":
            return f"must be at least {limit}"
        case "maximum":
            return f"must be at most {limit}"
        case "exclusiveMinimum":
            return f"must be greater than {limit}"
        case "exclusiveMaximum":
            return f"must be less than {limit}"
        case "minLength":
            return f"must have at least {limit} characters"
        case "maxLength":
            return f"must have at most {limit} characters"
        case "minItems":
            return f"must have at least {limit} items"
        case "maxItems":
            return f"must have at most {limit} items"
        case "minProperties":
            return f"must have at least {limit} fields"
        case "maxProperties":
            return f"must have at most {limit} fields"
        case "pattern":
            return f"must match the pattern `{_short(facts.get('pattern'))}`"
        case "multipleOf":
            return f"must be a multiple of {facts.get('multiple_of', limit)}"
        case "depth":
            return "is nested too deeply for its schema"
        case "uniqueItems":
            return "must have no two equal items"
        case "anyOf":
            return "must fit one of the allowed forms"
        case "oneOf":
            return "must fit exactly one of the allowed forms"
        case _:
            return f"does not fit the schema's `{keyword}`"


def retry_message(tool: str, issues: tuple[Issue, ...], received: Json, lead: str | None = None) -> str:
    """For the model: what was wrong, what is wanted, and what was received, cut at 300 characters."""
    lines = [lead or f"The arguments of `{_short(tool)}` do not fit. Send the call again with:"]
    shown = dict.fromkeys(f"- {_short(each.path) or 'the arguments'}: {each.message}" for each in issues)
    lines += list(shown)[:ISSUES]
    if len(shown) > ISSUES:
        lines.append(f"- and {len(shown) - ISSUES} more")
    lines.append(f"Received: {text_of(received, RECEIVED)}")
    return sendable("\n".join(lines))


def denied_message(tool: str, reason: str, note: str | None, again: str) -> str:
    """For the model: why a call was refused, the author's note, and whether it will be refused again."""
    said = f" {note}" if note else ""
    why = reason.rstrip(".")
    return sendable(f"The call of `{_short(tool)}` was refused: {why}.{said} {again}")


def fingerprint(
    tool: str, code: str, faults: tuple[Misfit, ...] | list[Misfit], rules: tuple[str, ...] = ()
) -> str:
    """Digest of the tool and the failure's shape; no values, equal across processes and machines."""
    from hashlib import blake2b

    shape = sorted(
        {(each.keyword, pointer(tuple("*" if type(p) is int else p for p in each.path))) for each in faults}
    )
    text = json.dumps([tool, code, shape, list(rules)], ensure_ascii=True)
    return blake2b(text.encode(), digest_size=12).hexdigest()


def text_of(value: object, most: int) -> str:
    """A value as JSON text cut at `most` code points; stops early on large values, and never raises."""
    if isinstance(value, str):
        return value[:most] + ("…" if len(value) > most else "")
    parts: list[str] = []
    left = most
    stack: list[tuple[str, Any]] = [("value", value)]
    while stack and left > 0:
        what, here = stack.pop()
        if what == "text":
            piece = here
        elif type(here) is dict:
            piece = "{"
            stack.append(("text", "}"))
            for index, (key, item) in reversed(list(enumerate(here.items()))[:most]):
                stack.append(("value", item))
                stack.append(("text", (", " if index else "") + _json(key) + ": "))
        elif type(here) is list:
            piece = "["
            stack.append(("text", "]"))
            for index, item in reversed(list(enumerate(here[:most]))):
                stack.append(("value", item))
                if index:
                    stack.append(("text", ", "))
        else:
            piece = _json(here)
        parts.append(piece[:left])
        left -= len(piece)
    return "".join(parts) + ("…" if stack or left < 0 else "")


def sendable(text: str) -> str:
    """The text with a mark for what UTF-8 cannot carry."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _json(value: object) -> str:
    if type(value) is int and value.bit_length() > 2000:
        return "a number too long to show"
    if isinstance(value, str):
        value = value[: RECEIVED + 1]
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        return "?"
    return text if len(text) <= RECEIVED else text[:RECEIVED]


def _short(text: object) -> str:
    shown = str(text)
    return shown if len(shown) <= _WANTED else shown[:_WANTED] + "…"


def _either(options: Any) -> str:
    return " or ".join(_short(each) for each in options) or "something else"
