"""The URL of a Redis: where it is, as whom, and the settings behind the `?`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ..errors import InputError
from ._inputs import options, path_of, seconds_of

TOMBSTONE = 120  # seconds that something stays of a deleted session: longer than any update can take
TTLS = (TOMBSTONE, 10 * 366 * 86_400)  # no session expires while an update of it goes on
COMMON = ("timeout", "ttl", "db", "username", "password", "client_name")
TLS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")

Parts = tuple[str, tuple[str, int], str, str, str, str]


@dataclass(frozen=True, slots=True)
class Address:
    """A Redis. `where`: what errors call it. `settings`: what the driver is given.

    `timeout`: seconds that an update may wait. `ttl`: seconds after its last write that a session is kept,
    0 for ever.
    """

    scheme: str
    where: str
    settings: dict[str, Any] = field(repr=False)  # a password is among them
    timeout: float
    ttl: int


def read_url(url: str) -> Address:
    """Where a Redis is.

    Raises:
        InputError: the URL is not written as it must be; it is not shown, since it may hold a password.
    """
    # Raised outside of the handler and without the text: the parser's own errors quote passwords.
    parts = _split(url)
    if parts is None:
        raise InputError(
            "this is no URL of a Redis: write `redis://user:password@host:6379/0` or `unix:///path`, "
            "and each of `/ ? # @ :` in a name or password as `%2F %3F %23 %40 %3A`"
        )
    scheme, address, path, user, password, query = parts
    given = options(query, COMMON + (TLS if scheme == "rediss" else ()))
    timeout, ttl = seconds_of(given), _ttl(given.get("ttl"))
    settings: dict[str, Any] = {}
    for name in ("username", "password", "client_name", *TLS):
        if name in given:
            settings[name] = given[name]
    if user:
        settings["username"] = path_of(user)
    if password:
        settings["password"] = path_of(password)
    if scheme == "unix":
        settings["path"] = path_of(path)
        db, shown = given.get("db", "0"), f"unix://{settings['path']}"
    else:
        host, port = address
        settings["host"], settings["port"] = host, port
        db = given.get("db", path.strip("/") or "0")
        shown = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/{db}"
    if not re.fullmatch(r"[0-9]{1,5}", db):
        raise InputError("the database in the URL of a Redis is a number, such as `/0`")
    settings["db"] = int(db)
    if scheme == "rediss":
        needed = settings.setdefault("ssl_cert_reqs", "required")
        if needed not in ("none", "optional", "required"):
            raise InputError("`ssl_cert_reqs` is none, optional or required")
        settings["ssl_check_hostname"] = needed == "required"
    return Address(scheme, shown, settings, timeout, ttl)


def _split(url: str) -> Parts | None:
    try:
        parts = urlsplit(url)
        port = parts.port or 6379
        host = path_of(parts.hostname or "localhost")
    except (ValueError, InputError):
        return None
    if "@" in parts.path + parts.query or "#" in url or any(c.isspace() or not c.isprintable() for c in url):
        return None  # most likely the rest of a password
    if parts.scheme == "unix" and (not parts.path or parts.hostname or not parts.path.strip("/")):
        return None
    return parts.scheme, (host, port), parts.path, parts.username or "", parts.password or "", parts.query


def _ttl(text: str | None) -> int:
    if text is None:
        return 0
    low, high = TTLS
    if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
        raise InputError(f"`ttl` is a number of seconds from {low} to {high:,}")
    return int(text)
