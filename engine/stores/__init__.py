"""Where the states of sessions are kept: in memory, in a SQLite file, or in Redis.

Source: `docs/stores.md`. A driver is loaded when a store of its kind is opened, and not before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Protocol, TypeVar
from urllib.parse import quote

from ..errors import InputError

T = TypeVar("T")

KNOWN = ("memory", "sqlite:///", "redis://", "rediss://", "unix://")


class Store(Protocol):
    """States by the key of their session: a text of at most 1,024 characters; a state has at most 1 MiB.

    Threads, and processes that came out of a fork, may share one. Every method raises `StoreError` where
    the store cannot be used, and `InputError` for a key or a state that is none.
    """

    def update(self, key: str, change: Callable[[bytes | None], tuple[bytes | None, T]]) -> T:
        """One atomic update: no other update of this key is seen in between, or lost.

        `change`: is given the state (None: there is none), and gives what to keep (None: nothing) and the
        answer. It is pure, quick, updates no store itself, and may be called again. What it raises comes
        through, and nothing is changed; the same bytes again are not written.
        """

    def read(self, key: str) -> bytes | None:
        """The state as the last update left it; inside `change`, as it was before."""

    def close(self) -> None:
        """Let go of files and connections. What is kept stays, but for a store in memory."""


def open_store(url: str) -> Store:
    """The store at `memory`, `sqlite:///relative.db`, `sqlite:////absolute.db` or `redis://host:port/db`.

    Raises:
        InputError: the URL is none of them.
        StoreError: the file cannot be used, or the driver is not installed. Redis is asked for nothing yet.
    """
    kind = _kind(url)
    if kind == "memory":
        from .memory import MemoryStore

        return MemoryStore()
    if kind == "sqlite":
        from .sqlite import open_sqlite

        return open_sqlite(url)
    from .redis import open_redis

    return open_redis(url)


def store_name(url: str) -> str:
    """What errors call the store at a URL: `memory`, its file, or its URL without a password. Opens nothing.

    Raises:
        InputError: the URL is none.
    """
    kind = _kind(url)
    if kind == "memory":
        return url
    if kind == "sqlite":
        from .sqlite import file_of

        return file_of(url)[0]
    from ._redisurl import read_url

    return read_url(url).where


def url_from(url: str, folder: str | os.PathLike[str]) -> str:
    """The URL of a store, where a relative file of SQLite is one in this folder."""
    path = url.removeprefix("sqlite:///")
    if path == url or path.startswith((":memory:", "?")) or not path or os.path.isabs(path):
        return url
    return f"sqlite:///{quote(os.path.join(os.path.abspath(folder), ''))}{path}"


def _kind(url: object) -> str:
    """`memory`, `sqlite` or `redis`. Raises InputError: the URL is of none."""
    if type(url) is not str:
        raise InputError(f"a store is named by a text, not by `{type(url).__name__}`")
    scheme = url.partition(":")[0]
    if url == "memory" or scheme == "sqlite":
        return scheme
    if scheme in ("redis", "rediss", "unix") and url.startswith(f"{scheme}://"):
        return "redis"
    # Only the scheme is shown, and only if it is one: the rest may hold a password.
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]{0,19})://", url)
    named = f"`{found[1]}`" if found else "this"
    raise InputError(f"{named} is no kind of store; known are {', '.join(f'`{each}`' for each in KNOWN)}")
