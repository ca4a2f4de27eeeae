"""Sessions in one SQLite file, for the threads and processes of one machine.

An update is one transaction that begins by taking the file's write lock, so that `change` runs once and
nothing can come in between. After a crash of the process nothing that was answered is lost; after a crash
of the machine the last answers may be (`synchronous=NORMAL`: a sync for each one costs too much).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import TypeVar
from weakref import finalize

import msgspec

from ..errors import InputError, StoreError
from ._forks import watch_forks
from ._inputs import changed, checked_key, options, path_of, seconds_of

T = TypeVar("T")

SCHEMA = 1  # the file's `user_version`
PROGRAM = 0x63676174  # "cgat": the file's `application_id`
TABLE = """
CREATE TABLE sessions (
  key TEXT PRIMARY KEY NOT NULL,
  state BLOB NOT NULL,
  changed INTEGER NOT NULL  -- seconds since 1970, to clean up by
)
"""
WRITE = """
INSERT INTO sessions (key, state, changed) VALUES (?, ?, CAST(strftime('%s', 'now') AS INTEGER))
ON CONFLICT (key) DO UPDATE SET state = excluded.state, changed = excluded.changed
"""
# SQLite asks ever more seldom whether a file is free, at last every 100 ms: a process would starve beside
# busy ones. It gives up after so many seconds, and is asked again.
POLL = 0.005

# What SQLite calls a fault (the beginning of its name), what it is, and what to change.
FAULTS = (
    (
        "SQLITE_BUSY",
        "it was locked for longer than {timeout:g} s: see who holds it, or set `?timeout=` higher",
    ),
    ("SQLITE_LOCKED", "it is locked: see who holds it"),
    ("SQLITE_FULL", "the disk is full: make room, or choose another file"),
    ("SQLITE_READONLY", "it cannot be written: give this process the right to write it and its folder"),
    (
        "SQLITE_CANTOPEN",
        "it cannot be opened: give this process the right to read and write it and its folder",
    ),
    ("SQLITE_PERM", "it cannot be opened: give this process the right to read and write it and its folder"),
    ("SQLITE_NOTADB", "it is no SQLite database: name another file, or move this one away"),
    ("SQLITE_CORRUPT", "it is damaged: move it away together with its `-wal` and `-shm` files"),
    ("SQLITE_TOOBIG", "the state is larger than this SQLite takes"),
    ("SQLITE_IOERR", "the disk does not read or write it: look at the disk, or choose another file"),
)


def open_sqlite(url: str) -> SqliteStore:
    """The store at `sqlite:///relative.db` or `sqlite:////absolute.db`, with `?timeout=SECONDS`."""
    return SqliteStore(*file_of(url))


def file_of(url: str) -> tuple[str, float]:
    """The file that a URL names, and the seconds that an update may wait."""
    rest, _, query = url.partition("?")
    if not rest.startswith("sqlite:///"):
        raise InputError("a SQLite store is `sqlite:///relative.db` or `sqlite:////absolute.db`")
    given = options(query, ("timeout",))
    path = path_of(rest.removeprefix("sqlite:///"))
    if not path or path == ":memory:":
        raise InputError("a SQLite store needs a file; for sessions in memory write `memory`")
    try:
        path = os.path.abspath(path)  # now: the process may change its folder later
    except OSError as error:
        raise StoreError(path, f"the current folder cannot be used ({error.strerror})") from error
    return path, seconds_of(given)


class SqliteStore:
    """A `Store` in the file `path`, which is made where it is missing; its folder is not.

    One connection with a lock: the file takes one writer at a time anyway, and threads that wait for a
    lock take turns, where connections would poll for the file.
    """

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._lock = RLock()
        self._held: _Held | None = None
        self._unusable = ""  # why, once it is
        self._quiet = False
        watch_forks(self)
        with self._connected():
            pass  # a file that cannot be used is found now

    def update(self, key: str, change: Callable[[bytes | None], tuple[bytes | None, T]]) -> T:
        checked_key(key)
        with self._connected() as held:
            if held.connection.in_transaction:
                raise InputError("a change may not update the store")
            with self._faults():
                self._patiently(lambda: held.connection.execute("BEGIN IMMEDIATE"))
            try:
                with self._faults():
                    state = _state(held.connection, key)
                kept, answer = changed(change, state)
                if self._held is not held:
                    raise StoreError(self._path, "`change` forked the process, or closed the store")
                if kept == state:
                    return answer  # nothing is written, not even the time
                with self._faults():
                    if kept is None:
                        held.connection.execute("DELETE FROM sessions WHERE key = ?", (key,))
                    else:
                        held.connection.execute(WRITE, (key, kept))
                with self._faults(committing=True):
                    held.connection.execute("COMMIT")
                return answer
            finally:
                if self._held is held and held.connection.in_transaction:
                    with suppress(sqlite3.Error):
                        held.connection.execute("ROLLBACK")
                    if held.connection.in_transaction:
                        self._drop()  # what it still holds would keep every other writer out

    def read(self, key: str) -> bytes | None:
        checked_key(key)
        with self._connected() as held, self._faults():
            return self._patiently(lambda: _state(held.connection, key))

    def close(self) -> None:
        with self._lock:
            self._unusable = "the store is closed"
            self._drop()

    def before_fork(self) -> None:
        # SQLite counts its locks for the whole process: a child that inherits an open file believes that it
        # has them, so that neither side could trust the file again.
        self._quiet = self._lock.acquire(timeout=self._timeout)
        if self._quiet:
            self._drop()

    def after_fork(self, in_child: bool) -> None:
        if not in_child:
            if self._quiet:
                self._lock.release()
            return
        self._lock = RLock()
        if not self._quiet:
            self._unusable = "the process was forked in a long update; fork before the store is opened"
            if self._held is not None:
                self._held.abandon()
                self._held = None

    @contextmanager
    def _connected(self) -> Iterator[_Held]:
        """The connection, for this thread alone; inside `change` the one that it runs in."""
        lock = self._lock
        if not lock.acquire(timeout=self._timeout):
            raise StoreError(
                self._path,
                f"another thread held it for longer than {self._timeout:g} s: "
                "make its changes quicker, or set `?timeout=` higher",
            )
        try:
            if self._unusable:
                raise StoreError(self._path, self._unusable)
            if self._held is not None and not self._held.connection.in_transaction:
                if _identity(self._path) != self._held.identity:
                    self._drop()  # the file was moved or deleted: what is written to it would be lost
            if self._held is None:
                self._held = self._open()
            yield self._held
        finally:
            lock.release()

    def _drop(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def _open(self) -> _Held:
        folder = os.path.dirname(self._path)
        if not os.path.isdir(folder):
            raise StoreError(self._path, f"there is no folder `{folder}`: make it, or name another file")
        try:
            # SQLite gives its other files the mode of this one: nobody else is to read what agents did.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
        except OSError as error:
            raise StoreError(
                self._path,
                f"it cannot be opened ({error.strerror}): "
                "give this process the right to read and write it and its folder",
            ) from error
        with self._faults():
            connection = sqlite3.connect(
                self._path, timeout=POLL, isolation_level=None, check_same_thread=False
            )
        held = _Held(connection, _identity(self._path))
        try:
            with self._faults():
                self._patiently(lambda: self._prepare(connection))
        except BaseException:
            held.close()
            raise
        return held

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Find out whether the file is ours, and make it so where it is new."""
        connection.execute("PRAGMA synchronous = NORMAL")
        with _transaction(connection, "BEGIN"):
            ours = self._is_ours(connection)
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreError(self._path, "its file system cannot do WAL: choose a file on a local disk")
        if ours:
            return
        with _transaction(connection, "BEGIN IMMEDIATE"):
            if not self._is_ours(connection):  # another process may have been quicker
                connection.execute(TABLE)
                connection.execute(f"PRAGMA application_id = {PROGRAM}")
                connection.execute(f"PRAGMA user_version = {SCHEMA}")

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        """True for a file of ours, false for an empty one."""
        (program,) = connection.execute("PRAGMA application_id").fetchone()
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        if program == PROGRAM and schema > SCHEMA:
            raise StoreError(
                self._path,
                f"a newer callgate made it (schema {schema}, this one knows {SCHEMA}): update this callgate",
            )
        if program == PROGRAM and schema == SCHEMA:
            return True
        if program or schema or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise StoreError(self._path, "it is the database of another program: name another file")
        return False

    def _patiently(self, act: Callable[[], T]) -> T:
        """Do it again for as long as the file is locked, within the time of an update."""
        until = time.monotonic() + self._timeout
        while True:
            try:
                return act()
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                    raise
            time.sleep(POLL / 5)  # some of its faults come at once

    @contextmanager
    def _faults(self, *, committing: bool = False) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or type(error).__name__
            known = next((text for start, text in FAULTS if name.startswith(start)), f"{error}")
            # An input or output error of a commit: it may be found to be there after a crash.
            unsure = committing and name.startswith("SQLITE_IOERR")
            raise StoreError(self._path, f"{known.format(timeout=self._timeout)} ({name})", unsure) from error


class _Held:
    """An open connection, closed with its store, but never in a process that did not open it."""

    def __init__(self, connection: sqlite3.Connection, identity: tuple[int, int] | None) -> None:
        self.connection = connection
        self.identity = identity
        self._close = finalize(self, connection.close)

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._close()

    def abandon(self) -> None:
        self._close.detach()
        kept = _Immortal(self.connection)
        kept.itself = kept


class _Immortal(msgspec.Struct, gc=False):
    """Keeps something from ever being freed: a cycle that the garbage collector does not look into."""

    kept: object
    itself: _Immortal | None = None


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _state(connection: sqlite3.Connection, key: str) -> bytes | None:
    row = connection.execute("SELECT state FROM sessions WHERE key = ?", (key,)).fetchone()
    return None if row is None else bytes(row[0])


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
