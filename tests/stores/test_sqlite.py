"""The store in a SQLite file: its file, its faults, its neighbours."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.stores import open_store
from callgate.engine.stores.sqlite import SqliteStore


def keep(state: bytes | None) -> Any:
    return lambda before: (state, before)


def opened(path: Path, query: str = "") -> SqliteStore:
    store = open_store(f"sqlite:///{path}{query}")
    assert isinstance(store, SqliteStore)
    return store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gate.db"


@pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")
def test_nobody_else_can_read_the_files(path: Path) -> None:
    before = os.umask(0)
    try:
        store = opened(path)
        store.update("a", keep(b"1"))
        files = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert files == {"gate.db": 0o600, "gate.db-wal": 0o600, "gate.db-shm": 0o600}
    store.close()


def test_a_relative_path_is_that_of_the_folder_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///my%20sessions.db")
    monkeypatch.chdir(tmp_path / "other")
    store.update("a", keep(b"1"))
    store.close()
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["my sessions.db"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(callgate.StoreError, match=r"there is no folder `.*/none`: make it"):
        opened(tmp_path / "none" / "gate.db")
    assert not (tmp_path / "none").exists()


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(callgate.StoreError, match="it cannot be opened"):
        opened(tmp_path)


@pytest.mark.parametrize(
    "content", [b"no database, but some text" * 99, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(callgate.StoreError, match=r"gate\.db: it is (no SQLite database|damaged)"):
        opened(path)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    store = opened(path)
    store.update("a", keep(b"1"))
    assert store.read("a") == b"1"
    store.close()


def test_a_file_that_is_damaged_later_is_refused(path: Path) -> None:
    store = opened(path)
    for number in range(50):
        store.update(f"{number}", keep(os.urandom(5000)))
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    store = opened(path)
    for use in (lambda: store.read("7"), lambda: store.update("7", keep(b"1"))):
        with pytest.raises(callgate.StoreError, match="it is damaged: move it away"):
            use()
    store.close()


@pytest.mark.parametrize(
    "made", ["CREATE TABLE sessions (key, state)", "PRAGMA application_id = 5", "PRAGMA user_version = 1"]
)
def test_the_database_of_another_program_is_refused_and_left_alone(path: Path, made: str) -> None:
    other = sqlite3.connect(path)
    other.execute(made)
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(callgate.StoreError, match="the database of another program"):
        opened(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused_with_both_numbers(path: Path) -> None:
    store = opened(path)
    store.update("a", keep(b"1"))
    store.close()
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 2")
    other.close()
    with pytest.raises(callgate.StoreError, match=r"a newer callgate made it \(schema 2, this one knows 1\)"):
        opened(path)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_a_file_that_stays_locked_is_a_fault_in_bounded_time(path: Path) -> None:
    store = opened(path, "?timeout=0.2")
    store.update("a", keep(b"1"))
    with locked(path):
        began = time.monotonic()
        with pytest.raises(callgate.StoreError, match=r"locked for longer than 0.2 s: .*`\?timeout=`"):
            store.update("a", keep(b"2"))
        assert time.monotonic() - began < 2
        assert store.read("a") == b"1"
    assert store.update("a", keep(b"3")) == b"1"
    store.close()


def test_an_update_waits_for_a_lock_that_is_given_back(path: Path) -> None:
    store = opened(path)
    with locked(path):
        thread = threading.Thread(target=store.update, args=("a", keep(b"1")))
        thread.start()
        time.sleep(0.1)
    thread.join(5)
    assert store.read("a") == b"1"
    store.close()


def test_a_thread_that_takes_too_long_is_named(path: Path) -> None:
    store = opened(path, "?timeout=0.1")
    inside, go_on = threading.Event(), threading.Event()

    def slow(before: bytes | None) -> tuple[bytes, None]:
        inside.set()
        go_on.wait(5)
        return b"1", None

    thread = threading.Thread(target=store.update, args=("a", slow))
    thread.start()
    inside.wait(5)
    with pytest.raises(callgate.StoreError, match=r"another thread held it for longer than 0\.1 s"):
        store.read("a")
    go_on.set()
    thread.join(5)
    assert store.read("a") == b"1"
    store.close()


def test_a_full_disk_is_a_fault_that_goes_away_with_room(path: Path) -> None:
    store = opened(path)
    store.update("a", keep(b"1"))
    held = store._held
    assert held is not None
    (pages,) = held.connection.execute("PRAGMA page_count").fetchone()
    held.connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(callgate.StoreError, match=r"the disk is full: make room.*SQLITE_FULL") as caught:
        store.update("a", keep(b"2" * 100_000))
    assert not caught.value.unsure
    assert store.read("a") == b"1"
    held.connection.execute("PRAGMA max_page_count = 100000")
    store.update("a", keep(b"2" * 100_000))
    assert store.read("a") == b"2" * 100_000
    store.close()


def in_a_child(act: Callable[[], str]) -> str:
    """What a fork of this process answers."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, act().encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        said = answer.read()
    os.waitpid(pid, 0)
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_disk_that_takes_no_more_is_a_fault_and_loses_nothing(path: Path) -> None:
    import resource

    def act() -> str:
        store = opened(path)
        store.update("a", keep(b"1"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        try:
            store.update("a", keep(b"2" * 500_000))
        except callgate.StoreError as error:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            found = f"{error} {store.read('a')!r} {store.update('a', keep(b'3'))!r}"
            store.close()
            return found
        return "no error"

    said = in_a_child(act)
    assert "look at the disk" in said or "the disk is full" in said
    assert said.endswith("b'1' b'1'")
    assert opened(path).read("a") == b"3"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_file_that_may_not_be_written_is_refused() -> None:
    with tempfile.TemporaryDirectory() as name:  # others may look into it, unlike into those of pytest
        folder = Path(name)
        store = opened(folder / "gate.db")
        store.update("a", keep(b"1"))
        store.close()
        (folder / "gate.db").chmod(0o444)
        folder.chmod(0o555)

        def act() -> str:
            if os.getuid() == 0:
                os.setuid(65534)
            found = []
            for name in ("gate.db", "new.db"):
                try:
                    opened(folder / name)
                except callgate.StoreError as error:
                    found.append(str(error))
            return "\n".join(found)

        said = in_a_child(act).splitlines()
        folder.chmod(0o755)
    assert len(said) == 2
    assert all("give this process the right to read and write it and its folder" in each for each in said)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_no_open_file_goes_through_a_fork(path: Path) -> None:
    store = opened(path)
    store.update("a", keep(b"1"))

    def act() -> str:
        open_at_first = store._held is not None
        store.update("a", keep(b"2"))
        return f"{open_at_first}"

    assert in_a_child(act) == "False"
    assert store._held is None
    assert store.read("a") == b"2"
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_in_a_long_update_makes_the_store_unusable_in_the_child_alone(path: Path) -> None:
    store = opened(path, "?timeout=0.1")
    inside, go_on = threading.Event(), threading.Event()

    def slow(before: bytes | None) -> tuple[bytes, None]:
        inside.set()
        go_on.wait(10)
        return b"1", None

    thread = threading.Thread(target=store.update, args=("a", slow))
    thread.start()
    inside.wait(5)

    def act() -> str:
        try:
            store.read("a")
        except callgate.StoreError as error:
            return error.message
        return "no error"

    assert in_a_child(act) == "the process was forked in a long update; fork before the store is opened"
    go_on.set()
    thread.join(5)
    assert store.read("a") == b"1"
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_change_that_forks_keeps_nothing(path: Path) -> None:
    store = opened(path)
    with pytest.raises(callgate.StoreError, match="`change` forked the process"):
        store.update("a", lambda _: (b"1", in_a_child(lambda: "")))
    assert store.read("a") is None
    store.close()


def test_what_is_kept_twice_is_not_written_twice(path: Path) -> None:
    store = opened(path)
    store.update("a", keep(b"1"))
    written = Path(f"{path}-wal").stat()
    for _ in range(5):
        store.update("a", keep(b"1"))
        store.update("b", keep(None))
    after = Path(f"{path}-wal").stat()
    assert (after.st_size, after.st_mtime_ns) == (written.st_size, written.st_mtime_ns)
    store.close()


def test_a_file_that_is_moved_away_is_made_anew(path: Path) -> None:
    store = opened(path)
    store.update("a", keep(b"1"))
    for each in list(path.parent.iterdir()):
        each.rename(path.parent / f"old{each.name}")
    assert store.update("a", keep(b"2")) is None
    other = opened(path)
    assert other.read("a") == b"2"
    other.close()
    store.close()


def test_the_file_says_when_a_session_was_written(path: Path) -> None:
    store = opened(path)
    store.update("a", keep(b"1"))
    store.close()
    other = sqlite3.connect(path)
    ((key, state, changed),) = other.execute("SELECT key, state, changed FROM sessions").fetchall()
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    other.close()
    assert (key, state) == ("a", b"1")
    assert abs(changed - time.time()) < 100


def test_the_file_says_when_a_session_was_written_last(path: Path) -> None:
    store = opened(path)
    store.update("a", keep(b"1"))
    other = sqlite3.connect(path)
    other.execute("UPDATE sessions SET changed = 0")
    other.commit()
    store.update("a", keep(b"2"))
    ((changed,),) = other.execute("SELECT changed FROM sessions").fetchall()
    other.close()
    store.close()
    assert abs(changed - time.time()) < 100


def test_a_commit_is_in_order_on_the_disk(path: Path) -> None:
    store = opened(path)
    assert store._held is not None
    assert store._held.connection.execute("PRAGMA synchronous").fetchone() == (1,)
    store.close()


@pytest.mark.parametrize("committing", [True, False])
def test_a_commit_that_the_disk_failed_is_unsure(path: Path, committing: bool) -> None:
    store = opened(path)
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_FSYNC"
    with (
        pytest.raises(callgate.StoreError, match="look at the disk") as caught,
        store._faults(committing=committing),
    ):
        raise error
    assert caught.value.unsure is committing
    store.close()


def test_an_update_inside_a_change_is_refused(path: Path) -> None:
    store = opened(path)
    with pytest.raises(callgate.InputError, match="a change may not update the store"):
        store.update("a", lambda _: (b"1", store.update("b", keep(b"2"))))
    assert store.read("a") is None
    assert store.update("a", keep(b"1")) is None
    store.close()


def test_a_change_that_closes_the_store_keeps_nothing(path: Path) -> None:
    store = opened(path)
    with pytest.raises(callgate.StoreError, match="closed the store"):
        store.update("a", lambda _: (b"1", store.close()))
    again = opened(path)
    assert again.read("a") is None
    again.close()


def test_many_may_make_one_file_at_the_same_time(path: Path) -> None:
    found: list[Any] = []
    start = threading.Barrier(6)

    def make() -> None:
        start.wait()
        try:
            store = opened(path)
            found.append(store.update("a", lambda before: (b"%d" % (int(before or b"0") + 1), 1)))
            store.close()
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [1] * 6
    assert opened(path).read("a") == b"6"
