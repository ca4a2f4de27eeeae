"""What a session remembers: small, bounded, JSON, and versioned.

Source: `docs/sessions.md`. Nothing else of a conversation is kept anywhere.
"""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import blake2b

import msgspec

from .errors import InputError

VERSION = 1
CALLS = 128  # calls of a turn that wait for a result, or had one
DIGESTS = 256  # different calls of a turn that are told apart, and tools that are counted
REPEATS = 64  # where counting the same call ends
LONGEST_ID = 256  # characters of a call's id


class Call(msgspec.Struct):
    """One call of the turn. `sent`: the name that the model wrote. `admitted`: it may have run."""

    sent: str
    tool: str
    digest: str | None
    admitted: bool
    answered: bool = False


class Turn(msgspec.Struct):
    """What happened since the user spoke.

    `step`: requests so far. `offered`: what the last one offered, None for every tool; `asked`: forced
    requests by tool; `answered`: tools that a result came for, true where one was good. `counts`: admitted
    calls by tool, `after`: tools with a good result. `repeats`: calls so far by digest; `full`: there were
    more than are kept.
    """

    step: int = 0
    offered: tuple[str, ...] | None = None
    asked: dict[str, int] = {}
    answered: dict[str, bool] = {}
    counts: dict[str, int] = {}
    after: list[str] = []
    calls: dict[str, Call] = {}
    repeats: dict[str, int] = {}
    full: bool = False


class State(msgspec.Struct):
    """A session's memory. `after`: tools with a good result in the whole session."""

    version: int = VERSION
    turns: int = 0
    turn: Turn = msgspec.field(default_factory=Turn)
    after: list[str] = []


def encode(state: State) -> bytes:
    """The state as JSON."""
    return msgspec.json.encode(state)


def decode(data: bytes | str) -> State:
    """The state that `encode` wrote.

    Raises:
        InputError: it is none, or a newer version wrote it.
    """
    try:
        version = msgspec.json.decode(data, type=_Versioned).version
        if version > VERSION:
            raise InputError(
                f"the session's state has version {version}; this callgate knows up to {VERSION}: update it"
            )
        return msgspec.json.decode(data, type=State)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InputError(f"this is no state of a session: {error}") from None


class _Versioned(msgspec.Struct):
    version: int


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
    except (TypeError, ValueError, RecursionError):
        return None
    return blake2b(text.encode(), digest_size=12, key=b"callgate.repeats").hexdigest()
