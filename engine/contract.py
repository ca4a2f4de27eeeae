"""What is said of a palette beside its names: events, and what an answer made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from .domain import Refusal
from .errors import InputError
from .names import Registered, settle


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

    `honoured`: what had to be called was called; where nothing had to be, nothing was called that was not
    offered. `execute`: the calls that may run, as they were given, in order; the others never do.
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

    `calls`: names, or calls in the form of a provider; with them the items of what the provider ran itself
    (`file_search_call`, `mcp_call`), where such a tool was to be called. `offered`: None for every tool.
    `none`: no call was wanted. `parallel` False: one call at most.

    Raises:
        InputError: an entry names no tool.
    """
    if isinstance(calls, str | bytes | Mapping) or not isinstance(calls, Iterable):
        raise InputError("calls are a list of names or of calls")
    known = None if offered is None else tuple(offered)
    exact = None if known is None else frozenset(known)
    meant = _spellings(known)
    given = [(meant(_tool(call, known, forced)), call) for call in calls]
    strange = list(dict.fromkeys(name for name, _ in given if exact is not None and name not in exact))
    events = [
        Event("call_not_offered", name, f"`{name[:64]}` was called and not offered") for name in strange
    ]
    legal = [(name, call) for name, call in given if exact is None or name in exact]
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
    honoured = not strange or forced is not None or required
    return Verified(honoured, tuple(call for _, call in legal), tuple(events))


_NESTED = ("function", "functionCall", "function_call", "toolUse", "custom")
_RAN = "_call"  # what the type of an item ends in that the provider ran: `file_search_call`


def _tool(call: Any, offered: tuple[str, ...] | None, forced: str | None) -> str:
    """The tool that a call is for: a name, a call as a provider writes it, or what the provider ran."""
    if type(call) is str:
        return call
    if not isinstance(call, Mapping):
        call = _fields(call)
    if isinstance(call, Mapping):
        kind, label = call.get("type"), call.get("server_label")
        if kind == "mcp_call" and type(label) is str:
            return f"mcp:{label}"
        here = next((call[key] for key in _NESTED if isinstance(call.get(key), Mapping)), call)
        name = here.get("name")
        if type(name) is str:
            return name
        if type(kind) is str and kind.endswith(_RAN):
            tag = kind.removesuffix(_RAN)
            # `web_search_call` is what `web_search_preview` leaves.
            tags = (*([forced] if forced is not None else ()), *(offered or ()))
            return next((each for each in tags if each == tag or each.startswith(f"{tag}_")), tag)
    raise InputError("a call is a name, or a call as a provider or its client writes it, with one")


def _fields(call: object) -> Mapping[str, Any] | None:
    """A call as an object of a client library, as far as it is looked at here; None where it is none."""
    found: dict[str, Any] = {}
    for key in ("name", "type", "server_label", *_NESTED):
        with suppress(Exception):  # whatever an object does when it is looked at
            value = getattr(call, key, None)
            if type(value) is str:
                found[key] = value
            elif value is not None and type(getattr(value, "name", None)) is str:
                found[key] = {"name": value.name}
    return found or None


def _spellings(offered: tuple[str, ...] | None) -> Callable[[str], str]:
    """The offered name that a name means, as `session.call` settles it but for `rename` rules."""
    if offered is None:
        return lambda name: name
    names = Registered.of(dict.fromkeys(offered))

    def meant(name: str) -> str:
        if name in names.registered:
            return name
        found = settle(name, names, ())
        return name if isinstance(found, Refusal) else found[0]

    return meant
