"""JSON lines: bytes to calls, verdicts to bytes. One a line, nothing lost and nothing rounded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from ...grammar.ast import Json
from ...rules.strictjson import JsonError, decode, integer
from ..domain import DEEPEST
from ..verdict import Change, Issue, Observation, Outcome, Verdict

LARGEST = 8_388_608  # bytes of one line: an argument text at its limit, and the definitions of many tools
_SKIP = 65_536
_BOM = b"\xef\xbb\xbf"

# What a field may hold; null in one that may be left out is the same as leaving it out.
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = MappingProxyType(
    {
        "model": ((str,), "text"),
        "schema": ((dict, bool), "a JSON Schema"),
        "tools": ((dict, list), "a mapping of names to schemas, or a list of definitions"),
        "context": ((dict,), "an object"),
        "session": ((str,), "text"),
        "stop_reason": ((str,), "text"),
        "arguments_text": ((str,), "text"),
    }
)
_FIELDS = frozenset(_TYPES) | {"id", "tool", "arguments"}
_THEIR_OWN = frozenset({Outcome.VALID, Outcome.UNREPAIRABLE, Outcome.DENIED})


class BadLine(Exception):
    """A line that gets no verdict. `code` is a stable word, `id` the call's own, if it could be read.

    Codes: `limit`, `encoding`, `syntax`, `duplicate-key`, `number`, `surrogate`, `fields`, `input`, `schema`,
    `hook`, `internal`.
    """

    def __init__(self, code: str, message: str, id: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.id = id


class Call(Struct, frozen=True):
    """One call line. `is_text`: `arguments` is what came as `arguments_text`."""

    id: Json
    tool: str
    arguments: Json
    is_text: bool
    model: str | None
    schema: Json
    tools: Any
    context: dict[str, Json] | None
    stop_reason: str | None


class _Line(msgspec.Struct, gc=False):
    """A verdict line: the fields of a verdict, in the order of `docs/verdict.md`, after the call's id."""

    id: Any
    outcome: Outcome
    tool: str
    arguments: Any
    changes: tuple[Change, ...]
    observations: tuple[Observation, ...]
    issues: tuple[Issue, ...]
    reason: str | None
    decided_by: tuple[str, ...]
    retry_message: str | None
    code: str | None
    fingerprint: str | None
    engine: str
    packs: tuple[str, ...]


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, int, bytes | None]]:
    """Every line that is not blank: its number, its size with its end, and its bytes (None: too large).

    Holds one line at a time, and of one that is too large a part.
    """
    number = 0
    while data := stream.readline(LARGEST + 1):
        number += 1
        size = len(data)
        if size > LARGEST and not data.endswith(b"\n"):
            while not data.endswith(b"\n") and (data := stream.readline(_SKIP)):
                size += len(data)
            yield number, size, None
            continue
        if number == 1:
            data = data.removeprefix(_BOM)
        if not data.isspace() and data:
            yield number, size, data


def read_call(data: bytes | None) -> Call:
    """The call that a line is.

    Raises:
        BadLine: it is none.
    """
    if data is None:
        raise BadLine("limit", f"the line is larger than {LARGEST} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise BadLine("encoding", f"the line is no UTF-8, at byte {error.start + 1}") from None
    try:
        line = decode(text, depth=DEEPEST)
    except JsonError as error:
        if error.code == "syntax":
            raise BadLine("syntax", f"no JSON: {error}, at character {error.position + 1}") from None
        raise BadLine(error.code, str(error), None if error.code == "limit" else _id_in(text)) from None
    if type(line) is not dict:
        raise BadLine("fields", "a call is a JSON object with `tool` and `arguments`")
    return call_of(line)


def call_of(line: dict[str, Any]) -> Call:
    """The call that such an object is.

    Raises:
        BadLine: it is none.
    """
    id_ = line.get("id")
    if not _is_id(id_):
        raise BadLine("fields", "`id` is text or a number")
    try:
        return _call(id_, line)
    except BadLine as bad:
        bad.id = id_
        raise


def _call(id_: Json, line: dict[str, Any]) -> Call:
    if not line.keys() <= _FIELDS:
        from ...grammar.diagnostics import nearest

        name = min(line.keys() - _FIELDS)
        near = nearest(name, _FIELDS)
        raise BadLine(
            "fields", f"unknown field `{name[:64]}`" + (f": did you mean `{near}`?" if near else "")
        )
    if type(line.get("tool")) is not str:
        raise BadLine("fields", "`tool` must be text" if "tool" in line else "`tool` is missing")
    for name, value in line.items():
        if value is not None and name in _TYPES and type(value) not in _TYPES[name][0]:
            raise BadLine("fields", f"`{name}` must be {_TYPES[name][1]}")
    text = line.get("arguments_text")
    if ("arguments" in line) is (text is not None):
        wrong = "both of" if text is not None else "neither of"
        raise BadLine(
            "fields", f"a call has one of `arguments` and `arguments_text`, and this has {wrong} them"
        )
    if line.get("schema") is not None and line.get("tools") is not None:
        raise BadLine("fields", "a call has one of `schema` and `tools`, and this has both of them")
    return Call(
        id_,
        line["tool"],
        line["arguments"] if text is None else text,
        text is not None,
        line.get("model"),
        line.get("schema"),
        line.get("tools"),
        line.get("context"),
        line.get("stop_reason"),
    )


def _is_id(value: object) -> bool:
    return value is None or type(value) in (str, int, float)


def _id_in(text: str) -> Json:
    """The id in a line that is JSON and yet cannot be kept exactly; None if that cannot be told."""
    outermost: list[tuple[str, Any]] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        outermost[:] = found  # it is read last
        return {}

    try:
        line = json.loads(text, object_pairs_hook=pairs, parse_int=integer, parse_float=lambda _: False)
        ids = [value for key, value in outermost if key == "id"] if type(line) is dict else []
        if len(ids) == 1 and _is_id(ids[0]):
            str(ids[0]).encode()  # half a surrogate pair is no id
            return ids[0]  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        pass
    return None


def verdict_line(call: Call, verdict: Verdict) -> bytes:
    """The verdict as one line of JSON with its end; `arguments` only where they are not the caller's own."""
    keep = call.is_text or verdict.outcome not in _THEIR_OWN
    source = verdict.source
    line = _Line(
        call.id,
        verdict.outcome,
        verdict.tool,
        verdict.arguments if keep else msgspec.UNSET,
        verdict.changes,
        verdict.observations,
        verdict.issues,
        verdict.reason,
        verdict.decided_by,
        verdict.retry_message,
        verdict.code,
        verdict.fingerprint,
        source.engine,
        source.packs,
    )
    return msgspec.json.encode(line) + b"\n"


def error_line(bad: BadLine, number: int) -> bytes:
    """What stands where a verdict cannot: the line's number, from 1, and what is wrong with it."""
    error = {"code": bad.code, "message": str(bad), "line": number}
    return msgspec.json.encode({"id": bad.id, "error": error}) + b"\n"
