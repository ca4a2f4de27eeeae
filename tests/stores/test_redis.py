"""The store in Redis: what it keeps there, lost replies, lost servers, faults that say what to change."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.stores import open_store
from callgate.engine.stores._redisurl import read_url
from callgate.engine.stores.redis import PREFIX, TRAIL, RedisStore

from .servers import Proxy, Server, free_port

pytest.importorskip("redis", reason="the package `redis` is not installed")
import redis


def keep(state: bytes | None) -> Any:
    return lambda before: (state, before)


class Counter:
    """A change that adds one, and counts how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, before: bytes | None) -> tuple[bytes, int]:
        self.calls += 1
        count = int(before or b"0") + 1
        return str(count).encode(), count


def opened(url: str) -> RedisStore:
    store = open_store(url)
    assert isinstance(store, RedisStore)
    return store


@pytest.fixture
def client(redis_url: str) -> Any:
    return redis.Redis.from_url(redis_url)


# What is kept ---------------------------------------------------------------------------------


def test_a_session_is_a_hash_with_a_version_a_trail_and_the_state(redis_url: str, client: Any) -> None:
    store = opened(redis_url)
    store.update("é\0", keep(b"1"))
    store.update("é\0", keep(b"2"))
    name = f"{PREFIX}é\0".encode()
    assert client.keys() == [name]
    kept = client.hgetall(name)
    assert (kept[b"version"], kept[b"state"], len(kept[b"trail"])) == (b"1", b"2", 32)
    assert client.ttl(name) == -1


def test_the_trail_is_bounded(redis_url: str, client: Any) -> None:
    store = opened(redis_url)
    for number in range(TRAIL + 9):
        store.update("a", keep(b"%d" % number))
    assert len(client.hget(f"{PREFIX}a", "trail")) == TRAIL * 16


def test_a_session_lives_as_long_as_its_url_says(redis_url: str, client: Any) -> None:
    store = opened(f"{redis_url}?ttl=3600")
    store.update("a", keep(b"1"))
    assert 3590 < client.ttl(f"{PREFIX}a") <= 3600
    client.expire(f"{PREFIX}a", 500)
    store.update("a", keep(b"1"))
    assert client.ttl(f"{PREFIX}a") <= 500, "an update that writes nothing prolongs nothing"
    store.update("a", keep(b"2"))
    assert client.ttl(f"{PREFIX}a") > 3590
    opened(redis_url).update("a", keep(b"3"))
    assert client.ttl(f"{PREFIX}a") == -1


def test_of_a_deleted_session_only_the_trail_stays_for_a_while(redis_url: str, client: Any) -> None:
    store = opened(redis_url)
    store.update("a", keep(b"1"))
    store.update("a", keep(None))
    assert set(client.hgetall(f"{PREFIX}a")) == {b"version", b"trail"}
    assert 110 < client.ttl(f"{PREFIX}a") <= 120
    store.update("a", keep(b"2"))
    assert client.ttl(f"{PREFIX}a") == -1


def test_what_is_kept_twice_is_not_written_twice(proxy: Proxy, redis_url: str) -> None:
    store = opened(proxy.url)
    store.update("a", keep(b"1"))
    writes = proxy.writes
    store.update("a", keep(b"1"))
    store.update("b", keep(None))
    assert proxy.writes == writes


def test_something_else_at_the_key_is_named_and_left_alone(redis_url: str, client: Any) -> None:
    store = opened(redis_url)
    client.set(f"{PREFIX}a", "mine")
    for use in (lambda: store.read("a"), lambda: store.update("a", keep(b"1"))):
        with pytest.raises(
            callgate.StoreError, match=r"at the key `callgate:session:a`: delete it.*WRONGTYPE"
        ):
            use()
    assert client.get(f"{PREFIX}a") == b"mine"


@pytest.mark.parametrize(
    "kept", [{"state": "1"}, {"version": "one", "trail": ""}, {"version": "1", "state": "1"}]
)
def test_a_hash_that_is_no_session_is_refused(redis_url: str, client: Any, kept: dict[str, str]) -> None:
    client.hset(f"{PREFIX}a", mapping=kept)
    with pytest.raises(callgate.StoreError, match="is no session: delete it"):
        opened(redis_url).update("a", keep(b"1"))
    assert len(client.hgetall(f"{PREFIX}a")) == len(kept)


def test_a_newer_layout_is_refused_with_both_numbers(redis_url: str, client: Any) -> None:
    client.hset(f"{PREFIX}a", mapping={"version": "2", "trail": "", "other": "x"})
    with pytest.raises(callgate.StoreError, match=r"\(layout 2, this one knows 1\): update this callgate"):
        opened(redis_url).update("a", keep(b"1"))


def test_a_newer_layout_that_comes_in_between_is_not_written_over(redis_url: str, client: Any) -> None:
    def change(before: bytes | None) -> tuple[bytes, None]:
        client.hset(f"{PREFIX}a", mapping={"version": "2", "other": "x"})
        return b"1", None

    with pytest.raises(callgate.StoreError):
        opened(redis_url).update("a", change)
    assert client.hgetall(f"{PREFIX}a") == {b"version": b"2", b"other": b"x"}


# Others at the same time ----------------------------------------------------------------------


def test_a_change_is_called_again_when_another_was_quicker(redis_url: str) -> None:
    store, other, seen = opened(redis_url), opened(redis_url), []

    def change(before: bytes | None) -> tuple[bytes, int]:
        seen.append(before)
        if len(seen) < 4:
            other.update("a", keep(b"%d" % len(seen)))
        return b"mine", len(seen)

    assert store.update("a", change) == 4
    assert seen == [None, b"1", b"2", b"3"]
    assert store.read("a") == b"mine"


def test_what_a_change_raises_the_second_time_comes_through(redis_url: str) -> None:
    store, other = opened(redis_url), opened(redis_url)

    def change(before: bytes | None) -> tuple[bytes, None]:
        if before is not None:
            raise ZeroDivisionError
        other.update("a", keep(b"1"))
        return b"2", None

    with pytest.raises(ZeroDivisionError):
        store.update("a", change)
    assert store.read("a") == b"1"


def test_an_update_that_others_always_forestall_ends_in_bounded_time(redis_url: str) -> None:
    store, other = opened(f"{redis_url}?timeout=0.3"), opened(redis_url)

    def change(before: bytes | None) -> tuple[bytes, None]:
        other.update("a", Counter())
        return b"0", None

    began = time.monotonic()
    with pytest.raises(callgate.StoreError, match="others update this session all the time") as caught:
        store.update("a", change)
    assert time.monotonic() - began < 2
    assert not caught.value.unsure


# Lost connections -----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["before", "after", "late"])
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("first", [None, b"5"])
def test_a_lost_connection_makes_an_update_happen_once(
    proxy: Proxy, redis_url: str, fault: str, times: int, first: bytes | None
) -> None:
    store, change = opened(proxy.url), Counter()
    if first is not None:
        store.update("a", keep(first))
    proxy.faults = [fault] * times
    wanted = int(first or b"0") + 1
    assert store.update("a", change) == wanted
    assert change.calls == 1
    time.sleep(0.2 if fault == "late" else 0)
    assert store.read("a") == b"%d" % wanted
    assert not proxy.faults


@pytest.mark.parametrize("fault", ["before", "after", "late"])
def test_a_lost_connection_deletes_a_session_once(proxy: Proxy, redis_url: str, fault: str) -> None:
    store = opened(proxy.url)
    store.update("a", keep(b"1"))
    proxy.faults = [fault]
    assert store.update("a", keep(None)) == b"1"
    assert store.read("a") is None


@pytest.mark.parametrize("first", [None, b"1000"])
@pytest.mark.parametrize("fault", ["before", "after"])
@pytest.mark.parametrize(("others", "known"), [(1, True), (TRAIL - 2, True), (TRAIL + 5, False)])
def test_after_a_lost_reply_the_writes_of_others_are_told_from_ones_own(
    proxy: Proxy,
    redis_url: str,
    monkeypatch: pytest.MonkeyPatch,
    first: bytes | None,
    fault: str,
    others: int,
    known: bool,
) -> None:
    store, other, change = opened(proxy.url), opened(redis_url), Counter()
    if first is not None:
        other.update("a", keep(first))
    send = store._send
    start = int(first or b"0")

    def loses(command: tuple[object, ...]) -> Any:
        try:
            return send(command)
        except redis.ConnectionError:
            monkeypatch.setattr(store, "_send", send)
            for _ in range(others):
                other.update("a", Counter())
            raise

    monkeypatch.setattr(store, "_send", loses)
    proxy.faults = [fault]
    made = fault == "after"
    if known:
        assert store.update("a", change) == (start + 1 if made else start + others + 1)
        assert store.read("a") == b"%d" % (start + others + 1)
        assert change.calls == (1 if made else 2)
    else:
        with pytest.raises(callgate.StoreError, match="whether the update was made cannot be told") as caught:
            store.update("a", change)
        assert caught.value.unsure
        assert store.read("a") == b"%d" % (start + others + made)


def test_a_session_that_is_gone_after_a_lost_reply_is_not_made_again(
    proxy: Proxy, redis_url: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(proxy.url)
    store.update("a", keep(b"1"))
    send = store._send

    def loses(command: tuple[object, ...]) -> Any:
        try:
            return send(command)
        except redis.ConnectionError:
            client.flushall()
            raise

    monkeypatch.setattr(store, "_send", loses)
    proxy.faults = ["after"]
    with pytest.raises(callgate.StoreError, match="cannot be told") as caught:
        store.update("a", Counter())
    assert caught.value.unsure


def test_threads_over_a_line_that_loses_much_lose_no_step(proxy: Proxy, redis_url: str) -> None:
    dice = random.Random(7)
    proxy.faults = dice.choices(["pass", "before", "after", "late"], [6, 2, 2, 1], k=150)
    store = opened(proxy.url)

    def step(number: int) -> int:
        return store.update(f"{number % 5}", Counter())

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(step, range(240)))
    time.sleep(0.2)
    assert not proxy.faults
    for session in range(5):  # with fewer writes each than a trail is long, so that all can be told
        assert sorted(answers[session::5]) == list(range(1, 49))
        assert store.read(f"{session}") == b"48"


def test_a_lost_connection_before_the_state_is_read_costs_another_try(server: Server) -> None:
    store = opened(server.url)
    store.update("a", Counter())
    killer = redis.Redis.from_url(server.url)
    for _ in range(3):
        killer.client_kill_filter(_type="normal", skipme=True)
        store.update("a", Counter())
    assert store.read("a") == b"4"


def test_a_script_that_the_server_forgot_is_sent_again(redis_url: str, client: Any) -> None:
    store = opened(redis_url)
    store.update("a", Counter())
    client.script_flush()
    assert store.update("a", Counter()) == 2


# Servers that are not there -------------------------------------------------------------------


def in_time(act: Callable[[], Any], least: float, most: float) -> callgate.StoreError:
    began = time.monotonic()
    with pytest.raises(callgate.StoreError) as caught:
        act()
    assert least <= time.monotonic() - began <= most
    return caught.value


@pytest.mark.parametrize("query", ["", "?timeout=0.5"])
def test_a_refused_connection_is_a_fault_in_bounded_time(query: str) -> None:
    port = free_port()
    store = opened(f"redis://u:hunter2@127.0.0.1:{port}/3{query}")
    high = 0.5 if query else 5.0
    error = in_time(lambda: store.update("a", Counter()), high * 0.6, high * 1.2 + 0.3)
    assert f"redis://127.0.0.1:{port}/3: it does not answer, for {high:g} s (ConnectionError)" in str(error)
    assert "?timeout=" in str(error)
    assert "hunter2" not in str(error)
    assert not error.unsure


def test_a_server_that_hangs_is_a_fault_in_bounded_time_and_its_write_is_unsure(server: Server) -> None:
    store = opened(f"{server.url}?timeout=0.5")
    store.update("a", Counter())
    with server.frozen():
        error = in_time(lambda: store.read("a"), 0.2, 1)
        assert not error.unsure
    assert store.read("a") == b"1"

    def change(before: bytes | None) -> tuple[bytes, None]:
        frozen.__enter__()
        return b"2", None

    frozen = server.frozen()
    try:
        error = in_time(lambda: store.update("a", change), 0.2, 1)
    finally:
        frozen.__exit__(None, None, None)
    assert error.unsure
    assert store.read("a") in (b"1", b"2")


def test_a_server_that_hangs_for_a_moment_makes_an_update_happen_once(server: Server) -> None:
    store = opened(f"{server.url}?timeout=2")
    for round in range(3):
        with server.frozen():
            thread = threading.Timer(0.6, lambda: None)
            thread.start()
            worker = threading.Thread(target=store.update, args=("a", Counter()))
            worker.start()
            thread.join()
        worker.join()
        assert store.read("a") == b"%d" % (round + 1)


def test_after_a_crash_and_a_new_start_a_store_works_on(server: Server) -> None:
    store = opened(f"{server.url}?timeout=0.5")
    assert store.update("a", Counter()) == 1
    server.kill()
    in_time(lambda: store.update("a", Counter()), 0.2, 1)
    in_time(lambda: store.read("a"), 0.2, 1)
    server.start()
    assert store.update("a", Counter()) == 1, "the server of this test keeps nothing on disk"


def test_a_new_start_within_the_time_of_an_update_is_waited_for(server: Server) -> None:
    store = opened(server.url)
    store.update("a", Counter())
    server.kill()
    answers: list[int] = []
    worker = threading.Thread(target=lambda: answers.append(store.update("a", Counter())))
    worker.start()
    time.sleep(0.3)
    server.start()
    worker.join()
    assert answers == [1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_waits_until_no_thread_is_in_the_driver() -> None:
    asked, go_on, made = threading.Event(), threading.Event(), []

    class Client:
        def __init__(self) -> None:
            made.append(self)

        def execute_command(self, *command: object) -> Any:
            asked.set()
            go_on.wait(5)
            return [None, None, None]

    store = RedisStore(Client, redis.exceptions, read_url("redis://h"))
    reader = threading.Thread(target=store.read, args=("a",))
    reader.start()
    asked.wait(5)
    threading.Timer(0.2, go_on.set).start()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(0 if go_on.is_set() and store.read("a") is None and len(made) == 2 else 1)
    assert time.monotonic() - began > 0.15
    assert os.waitpid(child, 0)[1] == 0
    reader.join(5)
    assert store.read("a") is None
    assert len(made) == 1


# Faults that the server names -----------------------------------------------------------------


def test_a_wrong_password_is_a_fault_at_once_and_is_not_shown(tmp_path: Path) -> None:
    server = Server(tmp_path, "--requirepass", "right")
    try:
        for user in ("", ":hunter2@", "hunter2:hunter2@"):
            store = opened(f"redis://{user}127.0.0.1:{server.port}")
            error = in_time(lambda store=store: store.update("a", Counter()), 0, 0.5)  # type: ignore[misc]
            assert "user's name or password" in str(error)
            assert "hunter2" not in f"{error} {error.__cause__}"
        store = opened(f"redis://:right@127.0.0.1:{server.port}")
        assert store.update("a", Counter()) == 1
    finally:
        server.stop()


def test_a_certificate_must_be_trusted(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("the program `openssl` is not installed")
    made = (
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    )
    files = ("-keyout", "key.pem", "-out", "cert.pem", "-addext", "subjectAltName=DNS:localhost")
    subprocess.run([*made, *files], cwd=tmp_path, check=True, capture_output=True)
    port = free_port()
    tls = ("--tls-cert-file", "cert.pem", "--tls-key-file", "key.pem", "--tls-ca-cert-file", "cert.pem")
    try:
        server = Server(tmp_path, "--tls-port", str(port), "--tls-auth-clients", "no", *tls)
    except RuntimeError:
        pytest.skip("this `redis-server` has no TLS")
    try:
        known = f"?ssl_ca_certs={tmp_path}/cert.pem"
        assert opened(f"rediss://localhost:{port}/0{known}").update("a", Counter()) == 1
        assert opened(f"rediss://127.0.0.1:{port}/0?ssl_cert_reqs=none").update("a", Counter()) == 2
        for url in (f"rediss://localhost:{port}/0", f"rediss://127.0.0.1:{port}/0{known}"):
            store = opened(url)
            error = in_time(lambda store=store: store.read("a"), 0, 1)  # type: ignore[misc]
            assert "its certificate is not trusted" in str(error)
    finally:
        server.stop()


def test_a_full_memory_is_named_and_loses_nothing(tmp_path: Path) -> None:
    server = Server(tmp_path, "--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
    try:
        store = opened(server.url)
        store.update("a", keep(b"1"))
        with pytest.raises(callgate.StoreError, match="its memory is full: set its `maxmemory` higher"):
            _fill(store)
        assert store.read("a") == b"1"
    finally:
        server.stop()


def _fill(store: RedisStore) -> None:
    for number in range(9):
        store.update(f"{number}", keep(b"x" * 1_000_000))


def test_a_replica_is_named(server: Server, tmp_path: Path) -> None:
    other = Server(tmp_path, "--replicaof", "127.0.0.1", str(server.port))
    try:
        with pytest.raises(callgate.StoreError, match="it is a replica, which cannot be written"):
            opened(other.url).update("a", Counter())
    finally:
        other.stop()


def test_a_user_without_the_right_is_told_which_ones_are_needed(server: Server) -> None:
    admin = redis.Redis.from_url(server.url)
    admin.execute_command("ACL", "SETUSER", "weak", "on", ">pw", "~*", "+hmget")
    with pytest.raises(callgate.StoreError, match="give it the commands HMGET"):
        opened(f"redis://weak:pw@127.0.0.1:{server.port}").update("a", Counter())
    needed = ("+hmget", "+hset", "+hdel", "+expire", "+persist", "+eval", "+evalsha")
    admin.execute_command("ACL", "SETUSER", "fit", "on", ">pw", f"~{PREFIX}*", *needed)
    store = opened(f"redis://fit:pw@127.0.0.1:{server.port}")
    assert store.update("a", Counter()) == 1
    assert store.update("a", keep(None)) == b"1"


def test_a_database_that_is_not_there_is_named(redis_url: str) -> None:
    with pytest.raises(callgate.StoreError, match="it has no such database"):
        opened(redis_url.replace("/0", "/999")).read("a")


def test_a_socket_of_the_machine_works_as_well(tmp_path: Path) -> None:
    server = Server(tmp_path, "--unixsocket", "s")
    try:
        store = opened(f"unix://{tmp_path}/s?db=2")
        assert store.update("a", Counter()) == 1
        assert redis.Redis.from_url(server.url.replace("/0", "/2")).exists(f"{PREFIX}a")
    finally:
        server.stop()
