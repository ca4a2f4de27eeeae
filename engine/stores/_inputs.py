"""What a host gives to a store, checked: keys, states, and the settings in a URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import parse_qsl, unquote

from ..errors import InputError

T = TypeVar("T")

LONGEST_KEY = 1024  # characters
LARGEST_STATE = 1 << 20  # bytes
TIMEOUT = 5.0  # seconds that an update may wait for the store
TIMEOUTS = (0.1, 60.0)


def checked_key(key: object) -> str:
    """The key of a session, if it is one."""
    if type(key) is not str:
        raise InputError(f"the key of a session is text, not `{type(key).__name__}`")
    if len(key) > LONGEST_KEY:
        raise InputError(f"the key of a session has at most {LONGEST_KEY:,} characters, not {len(key):,}")
    try:
        key.encode()
    except UnicodeEncodeError:
        raise InputError("the key of a session holds half of a surrogate pair") from None
    return key


def changed(
    change: Callable[[bytes | None], tuple[bytes | None, T]], state: bytes | None
) -> tuple[bytes | None, T]:
    """What `change` makes of a state, if it can be kept."""
    given: object = change(state)
    if type(given) is not tuple or len(given) != 2:
        raise InputError("a change gives two things: the state to keep, and its answer")
    kept, answer = given
    if kept is not None and type(kept) is not bytes:
        raise InputError(f"the state of a session is bytes or None, not `{type(kept).__name__}`")
    if kept is not None and len(kept) > LARGEST_STATE:
        raise InputError(f"the state of a session has at most {LARGEST_STATE:,} bytes, not {len(kept):,}")
    return kept, answer


def options(query: str, known: tuple[str, ...]) -> dict[str, str]:
    """The settings behind the `?` of a URL; an unknown one or one that is given twice is refused."""
    found: dict[str, str] = {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), errors="strict")
    except ValueError:
        # Not shown: it may be the rest of a password that was not written as it must be.
        raise InputError("what follows the `?` of a store's URL is no `name=value`") from None
    for name, value in pairs:
        if name not in known:
            shown = f"`{name}`" if re.fullmatch(r"[a-z_]{1,32}", name) else "this"
            known_ones = ", ".join(f"`{each}`" for each in known)
            raise InputError(f"{shown} is no setting of this store; known are {known_ones}")
        if name in found:
            raise InputError(f"`{name}` is given twice in a store's URL")
        found[name] = value
    return found


def seconds_of(given: Mapping[str, str]) -> float:
    """The setting `timeout`."""
    text = given.get("timeout")
    if text is None:
        return TIMEOUT
    low, high = TIMEOUTS
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3})?", text, re.ASCII) or not low <= float(text) <= high:
        raise InputError(f"`timeout` is a number of seconds from {low:g} to {high:g}")
    return float(text)


def path_of(text: str) -> str:
    """A path of a URL: `%20` is a blank."""
    try:
        path = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise InputError("the path in a store's URL is not UTF-8") from None
    if "\0" in path:
        raise InputError("the path in a store's URL holds a NUL")
    return path
