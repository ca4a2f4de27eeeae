"""What is said of a palette beside its names: events, and what an answer made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from .errors import InputError


class Event(Struct, frozen=True):
    """Something that happened to a palette; it is written `code`, or `code:detail`.

    `detail`: the tool, the stage, or why. `message`: a sentence for the host's log.
    """

    code: str
    detail: str = ""
    message: str = ""

    def __str__(self) -> str:
        return f"{self.code}:{self.detail}" if self.detail else self.code


class Verified(Struct, frozen=True):
    """What an answer made of a palette.

    `honoured`: what had to be called was called, and nothing that may not be. `execute`: the calls that may
    run, as they were given, in order; the others never do.
    """

    honoured: bool
    execute: tuple[Any, ...]
    events: tuple[Event, ...] = ()


def verify(
    calls: Iterable[Any],
    offered: Iterable[str] | None,
    *,
    forced: str | None = None,
    required: bool = False,
    none: bool = False,
    parallel: bool | None = None,
) -> Verified:
    """Hold the calls of one answer against what was asked for. The finish reason plays no part.

    `calls`: names, or calls in the form of a provider. `offered`: None for every tool. `none`: no call was
    wanted. `parallel` False: one call at most.

    Raises:
        InputError: an entry names no tool.
    """
    if isinstance(calls, str | bytes | Mapping) or not isinstance(calls, Iterable):
        raise InputError("calls are a list of names or of calls")
    given = [(call_name(call), call) for call in calls]
    known = None if offered is None else frozenset(offered)
    strange = list(dict.fromkeys(name for name, _ in given if known is not None and name not in known))
    events = [
        Event("call_not_offered", name, f"`{name[:64]}` was called and not offered") for name in strange
    ]
    legal = [(name, call) for name, call in given if known is None or name in known]
    if none:
        if given:
            events.append(Event("none_ignored", "", "a tool was called where none was to be"))
        return Verified(not given, (), tuple(events))
    if (forced is not None and not any(name == forced for name, _ in legal)) or (required and not legal):
        wanted = f"`{forced[:64]}`" if forced is not None else "a tool"
        events.append(Event("force_ignored", forced or "", f"{wanted} had to be called and was not"))
        return Verified(False, (), tuple(events))
    if forced is not None and len(legal) > 1 and any(name != forced for name, _ in legal):
        events.append(Event("extra_calls", "", "other tools were called beside the forced one"))
    if parallel is False and len(legal) > 1:
        if not any(each.code == "extra_calls" for each in events):
            events.append(Event("extra_calls", "", "more than one call came, and one was asked for"))
        first = next(at for at, (name, _) in enumerate(legal) if forced is None or name == forced)
        return Verified(False, (legal[first][1],), tuple(events))
    return Verified(
        not strange or forced is not None or required, tuple(call for _, call in legal), tuple(events)
    )


def call_name(call: Any) -> str:
    """The tool that a call is for: a name, or a call as a provider writes it."""
    if type(call) is str:
        return call
    here = call
    for key in ("function", "functionCall", "function_call", "toolUse"):
        if isinstance(call, Mapping) and isinstance(call.get(key), Mapping):
            here = call[key]
    name = here.get("name") if isinstance(here, Mapping) else None
    if type(name) is not str:
        raise InputError(f"a call is a name or an object with one, not `{type(call).__name__}`")
    return name
