"""What a session remembers: small, bounded, JSON, and versioned.

Source: `docs/sessions.md`. Nothing else of a conversation is kept anywhere.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from typing import Annotated

import msgspec

from .errors import InputError
from .gatevalues import DIGESTS, MARK, SMALLEST, TARGETS, Count, Grounding, Pending, Room
from .shown import size_of

VERSION = 1
BYTES = 60 * 1024  # of a session; what comes when they are used up is kept smaller, or not
CALLS = 128  # calls of a turn that wait for a result
_ANSWERED, _CROWDED = 64, 32  # calls, from which on answered ones go; that are kept where no room is left
COUNTED = 256  # different calls of a turn that are told apart, and tools that are counted
REPEATS = 64  # where counting the same call ends
MOST = 2**31  # where other counts end
SURFACE = 64  # names that a claim is about
TOOLS = 16_384  # that a palette can be made of
NAMED = 64  # targets of one call
LONGEST_ID = 256  # characters of a call's id
_SHORT = 64  # bytes of a name that is kept as it is
_CALL, _REPEAT = 120, 18  # bytes of an answered call, and of the count of one
_TOOL = _SHORT + 9  # of a tool that has an answer
_HASHED = "#"


class Call(msgspec.Struct, omit_defaults=True):
    """One call of the turn. `sent`: the name that the model wrote, where it is another than that of the
    `tool`. `admitted`: it may have run.

    `repeats` and `count`: what conditions saw of it when it was first told. `pending`: what its result is
    for, until it comes; None where it has nothing to show.
    """

    tool: str
    digest: str | None = None
    sent: str = ""
    admitted: bool = False
    answered: bool = False
    repeats: Count | None = 0
    count: Count | None = 0
    pending: Pending | None = None


class Turn(msgspec.Struct, omit_defaults=True):
    """What happened since the user spoke.

    `step`: requests so far. `registry` and `offered`: what the last one offered, as the digest of the tools
    and their places among them (bits, in hexadecimal), None for every tool. `asked`: forced requests by tool;
    `answered`: tools that a result came for, true where one was good. `counts`: admitted calls by tool,
    `after`: tools with a good result. `repeats`: calls so far by digest. `full`: which of these had to leave
    something out. `rules`: the digest of those that the turn began with, where they can change. Names are as
    `short` gives them.
    """

    step: Count = 0
    registry: str | None = None
    offered: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{1,4096}$")] | None = None
    asked: dict[str, Count] = {}
    answered: dict[str, bool] = {}
    counts: dict[str, Count] = {}
    after: list[str] = []
    calls: dict[str, Call] = {}
    repeats: dict[str, Count] = {}
    full: list[str] = []
    rules: str = ""
    ground: Grounding = msgspec.field(default_factory=Grounding)


class State(msgspec.Struct):
    """A session's memory. `after`: tools with a good result in the whole session."""

    version: Annotated[int, msgspec.Meta(ge=1)] = VERSION
    turns: Count = 0
    turn: Turn = msgspec.field(default_factory=Turn)
    after: list[str] = []
    full: bool = False  # there were more of them than are kept


def encode(state: State) -> bytes:
    """The state as JSON."""
    return msgspec.json.encode(state)


def names_size(names: Iterable[str]) -> int:
    """Bytes that as many of the names as are kept take at most."""
    sizes = sorted((min(len(each.encode("utf-8", "replace")), _SHORT) + 3 for each in names), reverse=True)
    return sum(sizes[:COUNTED])


def room(state: State, names: int) -> Room:
    """What is left of `BYTES`. `names`: bytes of the names of tools and signals that are still to come."""
    turn = state.turn
    ground = turn.ground
    passing = BYTES - len(encode(state)) - (DIGESTS * MARK - len(ground.digests)) - names
    needed = (
        (TARGETS - len(ground.targets)) * SMALLEST
        + (COUNTED - len(turn.repeats)) * _REPEAT
        + max(0, _ANSWERED - len(turn.calls)) * _CALL
        + sum(_TOOL for each in turn.asked if each not in turn.answered)
    )
    return Room(passing - needed, passing)


def make_room(calls: dict[str, Call], left: int) -> None:
    """Let go of calls where there are too many: of answered ones, the oldest first, else of the oldest."""
    while len(calls) > (_ANSWERED if left > 0 else _CROWDED):
        done = next((each for each, call in calls.items() if call.answered), None)
        if done is None and len(calls) <= (CALLS if left > 0 else _CROWDED):
            return
        del calls[done if done is not None else next(iter(calls))]


def decode(data: object) -> State:
    """The state that `encode` wrote.

    Raises:
        InputError: it is none, or a newer version wrote it.
    """
    if not isinstance(data, bytes | str):
        raise InputError(f"the state of a session is JSON text, not `{type(data).__name__}`")
    try:
        version = msgspec.json.decode(data, type=_Versioned).version
        if version > VERSION:
            raise InputError(
                f"the session's state has version {version}; this callgate knows up to {VERSION}: update it"
            )
        return msgspec.json.decode(data, type=State)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(f"this is no state of a session: {str(error)[:200]}") from None


class _Versioned(msgspec.Struct):
    version: int


def short(name: str) -> str:
    """A name as it is kept: itself, or a digest where it is long or no text that could be written."""
    if len(name) <= _SHORT and name.isprintable() and name[:1] != _HASHED:
        if name.isascii() and '"' not in name and "\\" not in name:
            return name
        if size_of(name) <= _SHORT:
            return name
    return _HASHED + blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def is_whole(name: str) -> bool:
    """Is a name that is kept the name itself?"""
    return name[:1] != _HASHED


def digest_of(tool: str, arguments: object) -> str | None:
    """A digest of a call as it was sent, equal across processes; None where it has no JSON text.

    Objects are equal in any order of their keys; numbers are told apart as they are written.
    """
    if type(arguments) is str:
        # Text that is no JSON stands for itself.
        with suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
            arguments = msgspec.json.decode(arguments)
    try:
        text = json.dumps([tool, arguments], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    except Exception:  # what is no JSON value is refused where it is judged
        return None
    return b64encode(blake2b(text.encode(), digest_size=9, key=b"callgate.repeats").digest()).decode()
