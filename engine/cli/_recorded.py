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
from ._lines import BadLine, Call, call_of, read_call, read_lines
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
    before, rules = _before(line), line.get("rules")
    call = {"id": line.get("call"), "tool": line.get("tool"), "model": line.get("model")}
    call["stop_reason"] = line.get("stop_reason")
    call["arguments_text" if line.get("text") else "arguments"] = before
    said = Said(line["outcome"], line.get("code"), tuple(rules) if type(rules) is list else ())
    return Recorded(number, call_of(call), said, _hides(before))


def _before(line: dict[str, Any]) -> Any:
    """The logged arguments, which may be what only Python's `json` reads.

    Raises:
        BadLine: there are none.
    """
    if "before" in line:
        return line["before"]
    if "before_json" not in line:
        raise BadLine("values", "the log holds no values of it")
    try:
        return json.loads(line["before_json"])
    except (TypeError, ValueError, RecursionError):
        raise BadLine("values", "what the log holds of its values cannot be read") from None


def _hides(value: Json) -> bool:
    """Does a mask stand in logged arguments? In text they are JSON again."""
    stack = [value]
    while stack:
        here = stack.pop()
        if type(here) is dict:
            stack += [*here, *here.values()]
        elif type(here) is list:
            stack += here
        elif type(here) is str and (here == MASK or f'"{MASK}"' in here):
            return True
    return False
