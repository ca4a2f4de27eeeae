"""One decision, as the log, the counters and the telemetry are told of it (`docs/decision-log.md`)."""

from __future__ import annotations

import re
from time import time_ns
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ..grammar.ast import Json
from .messages import sendable
from .verdict import Outcome, Verdict

PLACES = 64  # rules, and places, of one decision that are shown
_NAME = 128  # code points of a tool's name that are shown
_LONGEST = 256  # code points of an id, a model's name, a path
# What begins like a tool's name; what follows may be arguments.
_BEGINS = re.compile(r"""["'`\s]{0,8}[^<>{}\[\]()"'`=\s]*""")
_PLAIN = re.compile(r"[\w.:/@-]{1,128}")
_INDEX = re.compile(r"/\d+(?=/|$)")


class Decided(msgspec.Struct, frozen=True, gc=False):
    """One decision. `sent`: the tool's name as it came. `before`: the arguments as they came. `model`: as the
    host named it; `model_id`: what that is by the deployment.

    `time`: nanoseconds since 1970, when it was decided. `micros`: microseconds that it took. `text`: `before`
    is argument text that came over the wire (`check_text`).
    """

    verdict: Verdict
    sent: str
    before: Any
    time: int
    micros: float
    model: str | None = None
    session: str | None = None
    call: str | None = None
    text: bool = False
    stop_reason: str | None = None
    model_id: str | None = None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that changed the call, in order, and then those that decided it; each once."""
        verdict = self.verdict
        if not verdict.changes:
            return verdict.decided_by
        return tuple(dict.fromkeys([*(each.rule for each in verdict.changes), *verdict.decided_by]))

    @property
    def paths(self) -> tuple[str, ...]:
        """The places that were changed, in order, and then those that do not fit the schema; each once."""
        verdict = self.verdict
        if not verdict.changes and not verdict.issues:
            return ()
        changed = [each.path for each in verdict.changes]
        return tuple(dict.fromkeys([*changed, *(each.path for each in verdict.issues)]))

    @property
    def after(self) -> Json | UnsetType:
        """What is to run instead of what came; `UNSET` where that is what came, or nothing may run."""
        verdict = self.verdict
        if not verdict.changes or verdict.arguments is self.before:
            return UNSET
        after: Json = verdict.arguments
        return after

    @property
    def tool(self) -> str:
        """The settled name for counters; `unknown` for what names no tool: models could fill them with it."""
        name = self.verdict.tool
        if self.verdict.code == "unknown-tool" or _PLAIN.fullmatch(name) is None:
            return "unknown"
        return name


def decided(
    verdict: Verdict,
    *,
    sent: str,
    before: object,
    micros: float,
    model: str | None = None,
    session: str | None = None,
    call_id: str | None = None,
    text: bool = False,
    stop_reason: str | None = None,
    model_id: str | None = None,
) -> Decided:
    """The record of a verdict that was just given; it holds what it is given, and copies nothing.

    Args:
        sent: the tool's name as the model wrote it.
        before: the arguments as they came; with `text`, their text.
        micros: microseconds that the decision took.
    """
    return Decided(
        verdict, sent, before, time_ns(), micros, model, session, call_id, text, stop_reason, model_id
    )  # by place: keywords cost twice as much


def shown_name(name: str) -> str:
    """A tool's name to be shown: without what follows it, which may be arguments; at most 128 code points."""
    begins = _BEGINS.match(name)
    most = min(_NAME, begins.end() if begins else 0)
    return name if len(name) <= most else name[:most] + "…"


def shown(text: str | None) -> str | None:
    """An id or a name to be shown: text that UTF-8 can carry, of at most 256 code points."""
    if text is None:
        return None
    text = sendable(text)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def fingerprint(seen: Decided, paths: tuple[str, ...] | None = None) -> str | None:
    """One digest for equal faults of different calls; None where nothing was at fault.

    That of the verdict where it has one; else of the tool, the outcome, the rules and the places with each
    index as `*`. `paths`: the places to tell, where they are not all of them.
    """
    verdict = seen.verdict
    if paths is None:
        if verdict.fingerprint is not None:
            return verdict.fingerprint
        paths = seen.paths
    if verdict.outcome is Outcome.VALID:
        return None
    from hashlib import blake2b

    shape = sorted({_INDEX.sub("/*", path) for path in paths})
    text = msgspec.json.encode(
        [sendable(shown_name(verdict.tool)), verdict.outcome._value_, verdict.code, seen.rules, shape]
    )
    return blake2b(text, digest_size=12).hexdigest()
