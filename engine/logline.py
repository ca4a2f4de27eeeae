"""The lines of the decision log: one decision is one line of JSON, whatever is in it."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from marshal import dumps, loads
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ..grammar.ast import Json
from .decided import PLACES, Decided, fingerprint, shown, shown_name
from .domain import TOO_LARGE, Limits, value_fault
from .errors import InputError
from .masks import Masks
from .messages import sendable
from .verdict import Outcome, Verdict

TEXT = 1 << 24  # code points of the text of a refused call that is taken
_BOUND = Limits(depth=512)  # of the value of one: it takes no longer than the check does by default
_DIGEST = 16  # bytes
_NAMES = 1000  # of tools, kept as they are shown


class Taken(msgspec.Struct, frozen=True, gc=False):
    """A decision with its own copy of the arguments, which the caller may change from now on.

    `before`, `after`: UNSET where there is none; bytes are what `marshal` reads. `plain`: both are JSON
    values. `size`: bytes of both, about.
    """

    decided: Decided
    before: Any
    after: Any
    plain: bool
    size: int


def take(seen: Decided) -> Taken:
    """Copy the arguments of a decision, on the caller's thread and therefore quickly."""
    verdict, before = seen.verdict, seen.before
    if verdict.code is not None:
        return _take_refused(seen, verdict)
    copy, size = _copied(before)
    if not verdict.changes or verdict.arguments is before:
        return Taken(seen, copy, UNSET, True, size)
    after, more = _copied(verdict.arguments)
    return Taken(seen, copy, after, True, size + more)


def _copied(value: Any) -> tuple[Any, int]:
    """A copy and its size. Texts cannot change and are shared; what is nested is copied in one pass in C."""
    if type(value) is dict:
        size = 64
        for item in value.values():
            kind = type(item)
            if kind is str:
                size += len(item)
            elif kind is dict or kind is list:
                break
        else:
            return value.copy(), size
    elif type(value) is str:
        return value, len(value)
    data = dumps(value)
    return data, len(data)


def _take_refused(seen: Decided, verdict: Verdict) -> Taken:
    """What the engine did not look through may have no end: it is copied within a bound, or not at all."""
    before = seen.before
    if type(before) is str and verdict.code != "limit" and len(before) <= TEXT:
        return Taken(seen, before, UNSET, True, len(before))
    try:
        fault = TOO_LARGE if verdict.code == "limit" or type(before) is str else value_fault(before, _BOUND)
    except InputError:
        fault = TOO_LARGE
    if fault is not None and fault.code == "limit":
        return Taken(seen, UNSET, UNSET, True, 0)
    copy, size = _copied(before)
    return Taken(seen, copy, UNSET, fault is None, size)


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line, in this order. What is UNSET is left out; see `docs/decision-log.md`."""

    time: str
    session: str | None
    call: str | None
    tool: str
    name: str | UnsetType = UNSET
    model: str | None
    model_id: str | UnsetType = UNSET
    outcome: str
    code: str | UnsetType = UNSET
    rules: tuple[str, ...]
    paths: tuple[str, ...]
    more: int | UnsetType = UNSET
    fingerprint: str | None
    digest: str
    packs: tuple[str, ...] | UnsetType = UNSET
    micros: float
    text: bool | UnsetType = UNSET
    stop_reason: str | UnsetType = UNSET
    before: Raw | UnsetType = UNSET
    before_json: str | UnsetType = UNSET
    before_digest: str | UnsetType = UNSET
    before_bytes: int | UnsetType = UNSET
    after: Raw | UnsetType = UNSET
    after_digest: str | UnsetType = UNSET
    after_bytes: int | UnsetType = UNSET


class Lost(msgspec.Struct):
    """The line that says how many are missing above it."""

    log: str
    time: str
    count: int
    since: str
    error: str


class LineWriter:
    """Makes lines. For one thread: it keeps the last second's text."""

    def __init__(self, *, values: bool, mask: tuple[str, ...], value_bytes: int) -> None:
        self._values = values
        self._masks = Masks(mask) if mask else None
        self._most = value_bytes
        self._encode = msgspec.json.Encoder().encode
        self._sorted = msgspec.json.Encoder(order="sorted").encode
        self._names: dict[str, str] = {}
        self._second = -1
        self._prefix = ""

    def line(self, taken: Taken) -> bytes:
        """The line of a decision, with its line end."""
        seen = taken.decided
        verdict = seen.verdict
        before: Any = loads(taken.before) if type(taken.before) is bytes else taken.before
        after: Any = loads(taken.after) if type(taken.after) is bytes else taken.after
        paths, mark = seen.paths, verdict.fingerprint
        if self._masks is not None:
            before, after, cut = self._masks.apply(before, after, paths)
            if cut != paths:
                paths, mark = cut, fingerprint(seen, cut)
        if mark is None and verdict.outcome is not Outcome.VALID:
            mark = fingerprint(seen)
        rules = seen.rules
        paths = tuple([_short(path) or "" for path in paths]) if paths else ()
        line = Line(
            time=self.stamp(seen.time),
            session=_short(seen.session),
            call=_short(seen.call),
            tool=self._name(seen.sent),
            model=_short(seen.model),
            outcome=verdict.outcome._value_,
            rules=rules,
            paths=paths,
            fingerprint=mark,
            digest=verdict.source.engine,
            micros=round(seen.micros, 1),
        )
        if seen.model_id != seen.model and seen.model_id is not None:
            line.model_id = shown(seen.model_id) or UNSET
        if verdict.tool != seen.sent:
            line.name = self._name(verdict.tool)
        if verdict.code is not None:
            line.code = verdict.code
        if len(rules) > PLACES or len(paths) > PLACES:
            line.more = max(len(rules) - PLACES, 0) + max(len(paths) - PLACES, 0)
            line.rules, line.paths = rules[:PLACES], paths[:PLACES]
        if verdict.source.packs:
            line.packs = verdict.source.packs
        if seen.text:
            line.text = True
        if seen.stop_reason is not None:
            line.stop_reason = shown(seen.stop_reason) or UNSET
        self._show(line, before, after, taken.plain)
        return self._written(line)

    def lost(self, count: int, since: int, error: str) -> bytes:
        """The line that says that so many decisions are missing; `since` in nanoseconds since 1970."""
        lost = Lost("lost", self.stamp(time.time_ns()), count, self.stamp(since), sendable(error))
        return _one_line(self._encode(lost))

    def stamp(self, nanoseconds: int) -> str:
        """The time as `2026-11-30T06:05:30.123456Z`."""
        second, rest = divmod(nanoseconds, 1_000_000_000)
        if second != self._second:
            self._prefix = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            self._second = second
        return f"{self._prefix}.{rest // 1000:06d}Z"

    def _show(self, line: Line, before: Any, after: Any, plain: bool) -> None:
        """Put the arguments into the line: as they are where that is wanted and there is room, or digests."""
        room = self._most
        if before is not UNSET:
            if not self._values:
                line.before_digest = self._digest(before, plain)
            elif (found := self._dump(before, plain)) is None or len(found[0]) > room:
                line.before_digest = self._digest(before, plain)
                line.before_bytes = UNSET if found is None else len(found[0])
            else:
                data, exact = found
                room -= len(data)
                if exact:
                    line.before = Raw(data)
                else:
                    line.before_json = data.decode()
        if after is not UNSET:
            if not self._values:
                line.after_digest = self._digest(after, True)
            elif len(data := self._encode(after)) > room:
                line.after_digest, line.after_bytes = self._digest(after, True), len(data)
            else:
                line.after = Raw(data)

    def _dump(self, value: Json, plain: bool, *, ordered: bool = False) -> tuple[bytes, bool] | None:
        """A value's JSON and true; or false and what only Python's `json` reads; None where that has none."""
        if plain:
            with suppress(UnicodeEncodeError):
                return (self._sorted if ordered else self._encode)(value), True
        try:
            return json.dumps(value, sort_keys=ordered).encode(), False
        except ValueError:  # an integer of more digits than Python writes
            return None

    def _digest(self, value: Json, plain: bool) -> str | UnsetType:
        """Digest of the JSON with sorted keys and no blanks, equal across processes."""
        try:
            data = self._sorted(value) if plain else None
        except UnicodeEncodeError:
            data = None
        if data is None:
            found = self._dump(value, False, ordered=True)
            if found is None:
                return UNSET
            data = found[0]
        return blake2b(data, digest_size=_DIGEST).hexdigest()

    def _name(self, name: str) -> str:
        """A tool's name as it is shown; those that were shown before are known."""
        found = self._names.get(name)
        if found is None:
            found = shown_name(name)
            if len(self._names) < _NAMES and len(name) <= 128:
                self._names[name] = found
        return found

    def _written(self, line: Line) -> bytes:
        try:
            return _one_line(self._encode(line))
        except UnicodeEncodeError:
            for name in line.__struct_fields__:
                value = getattr(line, name)
                if type(value) is str:
                    setattr(line, name, sendable(value))
                elif type(value) is tuple:
                    setattr(line, name, tuple(sendable(each) for each in value))
            return _one_line(self._encode(line))


def _short(text: str | None) -> str | None:
    return text if text is None or (len(text) < 256 and text.isascii()) else shown(text)


def _one_line(data: bytes) -> bytes:
    """JSON with a line end, and with no other line break that some reader knows."""
    if not data.isascii():
        for text in ("\x85", "\u2028", "\u2029"):  # they stand in JSON strings only
            data = data.replace(text.encode(), b"\\u%04x" % ord(text))
    return data + b"\n"
