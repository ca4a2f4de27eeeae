"""Recorded calls, line by line: call lines as for `run`, or the lines of a decision log."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ...grammar.ast import Json
from ...rules.strictjson import JsonError, decode
from ..decided import PLACES, Decided
from ..domain import DEEPEST
from ..masks import MASK
from ..verdict import Verdict
from ._lines import BadLine, Call, read_call, read_lines
from ._terminal import Unusable


class Said(Struct, frozen=True):
    """What a decision log says that a call came to."""

    outcome: str
    code: str | None
    rules: tuple[str, ...]


class Recorded(Struct, frozen=True):
    """One recorded call. `said`: None where no log says what it came to. `masked`: a part of it is hidden."""

    line: int
    call: Call
    said: Said | None = None
    masked: bool = False

    def otherwise(self, verdict: Verdict) -> bool:
        """Does the log say that the call came to something else than this?"""
        rules = Decided(verdict, self.call.tool, None, 0, 0.0).rules[:PLACES]
        return self.said not in (None, Said(verdict.outcome.value, verdict.code, rules))


def recorded(name: str, skipped: Counter[str]) -> Iterator[Recorded]:
    """The calls of a file. `skipped` counts the other lines, by why they are none.

    Raises:
        Unusable: it cannot be read.
    """
    try:
        with open(name, "rb") as stream:
            for number, _, data in read_lines(stream):
                try:
                    line = _log_line(data)
                    yield Recorded(number, read_call(data)) if line is None else _logged(number, line)
                except BadLine as bad:
                    skipped[str(bad) if bad.code == "values" else f"no call ({bad.code})"] += 1
    except OSError as error:
        raise Unusable(f"--calls {name}: cannot be read: {error.strerror or error}") from None


def _log_line(data: bytes | None) -> dict[str, Any] | None:
    """A line of a decision log; None: it is none.

    Raises:
        BadLine: it is one, and about no call.
    """
    if data is None or not (b'"outcome"' in data or b'"log"' in data):
        return None
    try:
        line: Any = decode(data.decode(), depth=DEEPEST)
    except (JsonError, UnicodeDecodeError):
        return None
    if type(line) is dict and "log" in line and "tool" not in line:
        raise BadLine("values", "a note of the log itself")
    return line if type(line) is dict and "outcome" in line else None


def _logged(number: int, line: dict[str, Any]) -> Recorded:
    if "before" not in line:
        raise BadLine("values", "the log holds no values of it")
    before, rules = line["before"], line.get("rules")
    call = {"id": line.get("call"), "tool": line.get("tool"), "model": line.get("model")}
    call["stop_reason"] = line.get("stop_reason")
    call["arguments_text" if line.get("text") else "arguments"] = before
    data = json.dumps(call, ensure_ascii=False).encode("utf-8", "surrogatepass")
    said = Said(line["outcome"], line.get("code"), tuple(rules) if type(rules) is list else ())
    return Recorded(number, read_call(data), said, _hides(before))


def _hides(value: Json) -> bool:
    """Does a mask stand in logged arguments? In text they are JSON again."""
    if type(value) is dict:
        return MASK in value or any(map(_hides, value.values()))
    if type(value) is list:
        return any(map(_hides, value))
    return type(value) is str and (value == MASK or f'"{MASK}"' in value)
