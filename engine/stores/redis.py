"""Sessions in Redis, for the processes of many machines.

A session is a hash: `version` of this layout, `state`, and `trail`: the names of its last writes, newest
first. An update reads the hash, and a script writes it if its newest write is still the one that was read;
else `change` is called again. Where a reply is lost the same write is sent again: the trail tells whether it
took effect, so that no update is made twice, and none is answered that is not there.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha1
from secrets import token_hex
from typing import Any, TypeVar

from ..errors import StoreError
from ._forks import Gate, watch_forks
from ._inputs import changed, checked_key
from ._redisurl import TOMBSTONE, Address, read_url

T = TypeVar("T")

VERSION = 1
PREFIX = "callgate:session:"
TRAIL = 64  # writes that a session remembers
NAME = 16  # characters of a write's name
SLICES = 5  # tries that each take as long as they may, within the time of an update
PAUSES = (0.001, 0.1)  # seconds before the next try: the first pause, doubled up to the second

# KEYS: the session. ARGV: the write that was seen, this write, version, length of the trail, seconds until
# it expires (0: never), whether there is a state, the state. Gives 1 if this write took effect, else what
# there is instead.
SWAP = """
local found = redis.call('HMGET', KEYS[1], 'version', 'trail', 'state')
local trail = found[2] or ''
if string.find(trail, ARGV[2], 1, true) then return 1 end
if (found[1] and found[1] ~= ARGV[3]) or string.sub(trail, 1, #ARGV[2]) ~= ARGV[1] then return found end
trail = string.sub(ARGV[2] .. trail, 1, tonumber(ARGV[4]))
redis.call('HSET', KEYS[1], 'version', ARGV[3], 'trail', trail)
if ARGV[6] == '1' then redis.call('HSET', KEYS[1], 'state', ARGV[7])
else redis.call('HDEL', KEYS[1], 'state') end
if ARGV[5] == '0' then redis.call('PERSIST', KEYS[1]) else redis.call('EXPIRE', KEYS[1], ARGV[5]) end
return 1
"""

UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"

# A part of what the server or the driver says, what is wrong, and what to change.
FAULTS = (
    (UNTRUSTED, "its certificate is not trusted for this host: name its authority in `?ssl_ca_certs=`"),
    ("WRONGTYPE", "something else is kept at the key `{key}`: delete it, or choose another database (`/1`)"),
    ("Authentication", "it does not take the user's name or password: change them in the URL"),
    (
        "Authorization",
        "the user may not do this: give it the commands HMGET, HSET, EVAL and those of the script",
    ),
    (
        "NoPermission",
        "the user may not do this: give it the commands HMGET, HSET, EVAL and those of the script",
    ),
    ("OutOfMemory", "its memory is full: set its `maxmemory` higher, or `?ttl=` in the URL"),
    ("OOM", "its memory is full: set its `maxmemory` higher, or `?ttl=` in the URL"),
    ("ReadOnly", "it is a replica, which cannot be written: name the primary in the URL"),
    ("MISCONF", "it cannot write to its disk and takes nothing: look at its log"),
    ("Moved", "it is a cluster: name a single server, or a proxy, in the URL"),
    ("invalid DB index", "it has no such database: name another one in the URL"),
    ("DB index is out of range", "it has no such database: name another one in the URL"),
)


def open_redis(url: str) -> RedisStore:
    """The store at `redis://user:password@host:6379/0`, `rediss://…` (TLS) or `unix:///path/to/socket`.

    Settings: `?timeout=SECONDS`, `ttl=SECONDS` since the last write, `db`, `username`, `password`,
    `client_name`, and for TLS `ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile`, `ssl_cert_reqs`.
    """
    address = read_url(url)
    try:
        import redis
    except ModuleNotFoundError as error:
        message = "the package `redis` is not installed: pip install 'callgate[redis]'"
        raise StoreError(address.where, message) from error
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    kinds: dict[str, type[Any]] = {
        "redis": redis.Connection,
        "rediss": redis.SSLConnection,
        "unix": redis.UnixDomainSocketConnection,
    }

    def connect() -> Any:
        # Tries are counted here: those of the driver would not end with the time of an update.
        pool: Any = redis.ConnectionPool(
            connection_class=kinds[address.scheme],
            socket_timeout=address.timeout / SLICES,
            socket_connect_timeout=address.timeout / SLICES,
            retry=Retry(NoBackoff(), 0),
            **address.settings,
        )
        return redis.Redis(connection_pool=pool)

    return RedisStore(connect, redis.exceptions, address)


class RedisStore:
    """A `Store` in Redis 6 or later, or what speaks as it does. Connections are made when they are needed.

    `connect`: makes a client of the driver, `errors`: its errors; no types of them hold for all its versions.
    """

    def __init__(self, connect: Callable[[], Any], errors: Any, address: Address) -> None:
        self._connect = connect
        self._client = connect()
        self._gate = Gate()
        self._errors = errors
        self._where = address.where
        self._timeout = address.timeout
        self._ttl = address.ttl
        self._closed = False
        self._digest = sha1(SWAP.encode(), usedforsecurity=False).hexdigest()
        watch_forks(self)

    def update(self, key: str, change: Callable[[bytes | None], tuple[bytes | None, T]]) -> T:
        tries = _Tries(self._timeout)
        seen = self._fetch(key, tries)
        while True:
            kept, answer = changed(change, seen.state)
            if kept == seen.state:
                return answer
            newer = self._swap(key, seen, kept, tries)
            if newer is None:
                return answer
            seen = newer
            if not tries.at_once():  # a pause would only let the others be quicker again
                raise self._error("others update this session all the time: set `?timeout=` higher")

    def read(self, key: str) -> bytes | None:
        return self._fetch(key, _Tries(self._timeout)).state

    def close(self) -> None:
        self._closed = True
        self._client.connection_pool.disconnect()

    def before_fork(self) -> None:
        # A child would wait for ever for what another thread held: locks of the driver, or of an import.
        self._gate.shut(self._timeout)

    def after_fork(self, in_child: bool) -> None:
        if in_child:
            self._gate, self._client = Gate(), self._connect()
        else:
            self._gate.open()

    def _fetch(self, key: str, tries: _Tries) -> _Seen:
        name = PREFIX + checked_key(key)
        found, _ = self._ask(key, tries, ("HMGET", name, "version", "trail", "state"), False)
        return self._seen(key, found)

    def _swap(self, key: str, seen: _Seen, kept: bytes | None, tries: _Tries) -> _Seen | None:
        """Write what is kept if nobody wrote since; else what there is now."""
        write = token_hex(NAME // 2)  # which write it is; nothing is decided by its value
        lives = TOMBSTONE if kept is None else self._ttl
        arguments = (seen.write, write, VERSION, TRAIL * NAME, lives, int(kept is not None), kept or b"")
        found, lost = self._ask(key, tries, ("EVALSHA", self._digest, 1, PREFIX + key, *arguments), True)
        if found == 1:
            return None
        newer = self._seen(key, found)
        if lost and not newer.follows(seen):
            # It may have been made, and so many others after it that the trail does not reach back to it.
            raise self._error("a reply was lost, and whether the update was made cannot be told", unsure=True)
        return newer

    def _ask(self, key: str, tries: _Tries, command: tuple[object, ...], writes: bool) -> tuple[Any, bool]:
        """The reply to a command that may be sent twice, and whether one was lost before it."""
        if self._closed:
            raise self._error("the store is closed")
        errors, lost = self._errors, False
        while True:
            try:
                return self._send(command), lost
            except (errors.ConnectionError, errors.TimeoutError) as error:
                if isinstance(
                    error, errors.AuthenticationError | errors.AuthorizationError
                ) or UNTRUSTED in str(error):
                    raise self._fault(
                        key, error, unsure=writes and lost
                    ) from error  # time mends none of them
                lost = True
                if not tries.later(self._timeout / SLICES):
                    raise self._error(
                        f"it does not answer, for {self._timeout:g} s ({type(error).__name__}): "
                        "see that it runs and that the URL names it, or set `?timeout=` higher",
                        unsure=writes,
                    ) from error
            except (errors.RedisError, OSError, ValueError) as error:
                raise self._fault(key, error, unsure=writes and lost) from error

    def _send(self, command: tuple[object, ...]) -> Any:
        with self._gate:
            try:
                return self._client.execute_command(*command)
            except self._errors.NoScriptError:
                # The server was started anew, or never saw the script.
                return self._client.execute_command("EVAL", SWAP, *command[2:])

    def _seen(self, key: str, found: list[bytes | None]) -> _Seen:
        version, trail, state = found
        if version is None and trail is None and state is None:
            return _Seen("", None)
        if version is None or not re.fullmatch(rb"[0-9]{1,9}", version) or trail is None:
            name = (PREFIX + key)[:64]
            raise self._error(f"what is kept at the key `{name}` is no session: delete it")
        if int(version) > VERSION:
            raise self._error(
                f"a newer callgate wrote this session (layout {int(version)}, this one knows {VERSION}): "
                "update this callgate"
            )
        return _Seen(trail.decode("ascii", "replace"), state)

    def _fault(self, key: str, error: Exception, unsure: bool) -> StoreError:
        text = f"{type(error).__name__} {error}"
        known = next(
            (hint for sign, hint in FAULTS if sign in text), "it refuses the command: look at its log"
        )
        # The rest of what it says is left out: it may quote what was sent.
        said = re.match(r"[A-Za-z]+( [A-Z]+\b)?", text)
        named = known.format(key=(PREFIX + key)[:64])
        return self._error(f"{named} ({said[0] if said else 'Error'})", unsure=unsure)

    def _error(self, message: str, *, unsure: bool = False) -> StoreError:
        return StoreError(self._where, message, unsure)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A session as it was read. `trail`: the names of its last writes, newest first."""

    trail: str
    state: bytes | None

    @property
    def write(self) -> str:
        return self.trail[:NAME]

    def follows(self, before: _Seen) -> bool:
        """Whether every write since then is in the trail."""
        if not before.trail:
            return 0 < len(self.trail) < TRAIL * NAME
        return before.write in self.trail


class _Tries:
    """The tries of one update, within its time."""

    def __init__(self, timeout: float) -> None:
        self._until = time.monotonic() + timeout
        self._pause = PAUSES[0]

    def at_once(self) -> bool:
        """Whether there is time for another try."""
        return time.monotonic() < self._until

    def later(self, needs: float) -> bool:
        """Wait for the next try, each time longer; false where there are no `needs` seconds left for it."""
        if time.monotonic() + self._pause + needs > self._until:
            return False
        time.sleep(self._pause)
        self._pause = min(self._pause * 2, PAUSES[1])
        return True
