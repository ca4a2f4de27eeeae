"""What holds for every store."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import callgate
from callgate.engine.stores import Store, open_store

KEYS = [
    "",
    "a",
    "A",
    "a:b c*?",
    "é",
    "e\u0301",
    "\u4f1a\u8bdd",
    "\U0001f600",
    "\0",
    "a\0b",
    "a\n",
    "'; --",
    "k" * 1024,
]


def keep(state: bytes | None) -> Any:
    return lambda before: (state, before)


def add(before: bytes | None) -> tuple[bytes, int]:
    count = int(before or b"0") + 1
    return str(count).encode(), count


def test_there_is_nothing_before_the_first_update(store: Store) -> None:
    assert store.read("a") is None
    assert store.update("a", keep(None)) is None
    assert store.read("a") is None


def test_an_update_is_given_what_the_last_one_kept(store: Store) -> None:
    assert store.update("a", keep(b"1")) is None
    assert store.update("a", keep(b"2")) == b"1"
    assert store.read("a") == b"2"
    assert store.read("b") is None


def test_the_answer_comes_through_as_it_is(store: Store) -> None:
    answer = object()
    assert store.update("a", lambda _: (b"", answer)) is answer
    assert store.read("a") == b""


def test_none_deletes_a_state_and_it_can_come_again(store: Store) -> None:
    store.update("a", keep(b"1"))
    assert store.update("a", keep(None)) == b"1"
    assert store.read("a") is None
    assert store.update("a", keep(b"2")) is None
    assert store.read("a") == b"2"


def test_keys_are_told_apart_by_each_character(store: Store) -> None:
    for number, key in enumerate(KEYS):
        store.update(key, keep(b"%d" % number))
    assert [store.read(key) for key in KEYS] == [b"%d" % number for number in range(len(KEYS))]


@pytest.mark.parametrize("key", ["k" * 1025, "\ud800", "a\udfff", b"a", None, 1, type("S", (str,), {})("a")])
def test_a_key_that_is_none_is_refused(store: Store, key: Any) -> None:
    with pytest.raises(callgate.InputError, match="the key of a session"):
        store.update(key, keep(b"1"))
    with pytest.raises(callgate.InputError, match="the key of a session"):
        store.read(key)


@pytest.mark.parametrize("size", [1, 65_536, 1_000_000, 1 << 20])
def test_a_state_may_have_a_megabyte(store: Store, size: int) -> None:
    state = bytes(range(256)) * (size // 256) + b"\xff" * (size % 256)
    store.update("a", keep(state))
    assert store.read("a") == state
    assert store.update("a", keep(b"1")) == state


@pytest.mark.parametrize("kept", [b"x" * ((1 << 20) + 1), "text", bytearray(b"a"), 1])
def test_a_state_that_is_none_is_refused_and_changes_nothing(store: Store, kept: Any) -> None:
    store.update("a", keep(b"1"))
    with pytest.raises(callgate.InputError, match="the state of a session"):
        store.update("a", keep(kept))
    assert store.update("a", keep(b"2")) == b"1"


@pytest.mark.parametrize("given", [None, b"1", (b"1",), (b"1", 2, 3), [b"1", 2]])
def test_a_change_that_gives_something_else_is_refused(store: Store, given: Any) -> None:
    with pytest.raises(callgate.InputError, match="a change gives two things"):
        store.update("a", lambda _: given)
    assert store.read("a") is None


def faults() -> list[BaseException]:
    import sqlite3

    found: list[BaseException] = [ValueError("mine"), KeyboardInterrupt(), callgate.StoreError("x", "mine")]
    found += [sqlite3.OperationalError("mine"), ConnectionError("mine"), callgate.InputError("mine")]
    try:
        import redis
    except ModuleNotFoundError:
        return found
    return [*found, redis.ConnectionError("mine"), redis.TimeoutError("mine"), redis.ResponseError("mine")]


@pytest.mark.parametrize("fault", faults(), ids=lambda each: f"{type(each).__module__}.{type(each).__name__}")
def test_what_a_change_raises_comes_through_and_changes_nothing(store: Store, fault: BaseException) -> None:
    store.update("a", keep(b"1"))

    def change(before: bytes | None) -> tuple[bytes, None]:
        raise fault

    for key in ("a", "new"):
        with pytest.raises(type(fault)) as caught:
            store.update(key, change)
        assert caught.value is fault
    assert store.read("new") is None
    assert store.update("a", keep(b"2")) == b"1"


def test_a_change_may_read_what_was_there_before(store: Store) -> None:
    store.update("a", keep(b"1"))
    assert store.update("a", lambda _: (b"2", store.read("a"))) == b"1"
    assert store.update("a", lambda _: (b"3", store.read("b"))) is None
    assert store.read("a") == b"3"


def test_what_an_update_keeps_is_never_seen_before_it_is_whole(store: Store) -> None:
    seen: list[bytes | None] = []
    inside, go_on = threading.Event(), threading.Event()

    def change(before: bytes | None) -> tuple[bytes, None]:
        inside.set()
        go_on.wait(0.2)
        return b"2", None

    store.update("a", keep(b"1"))
    thread = threading.Thread(target=store.update, args=("a", change))
    thread.start()
    inside.wait()
    reader = threading.Thread(target=lambda: seen.append(store.read("a")))
    reader.start()
    reader.join(0.1)
    go_on.set()
    thread.join()
    reader.join()
    assert seen in ([b"1"], [b"2"])
    assert store.read("a") == b"2"


def test_threads_lose_no_step(store: Store) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: store.update("a", add), range(400)))
    assert sorted(answers) == list(range(1, 401))
    assert store.read("a") == b"400"


def test_threads_that_delete_and_make_a_session_lose_no_step(store: Store) -> None:
    def step(number: int) -> tuple[int, bool]:
        def change(before: bytes | None) -> tuple[bytes | None, tuple[int, bool]]:
            count = int(before or b"0") + 1
            return (None, (count, True)) if number % 5 == 0 else (str(count).encode(), (count, False))

        return store.update("a", change)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(step, range(300)))
    left = int(store.read("a") or b"0")
    assert sum(count for count, deleted in answers if deleted) + left == 300


def test_an_update_that_waits_for_a_deletion_is_kept(store: Store) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def delete(before: bytes | None) -> tuple[None, None]:
        inside.set()
        go_on.wait(5)
        return None, None

    store.update("a", keep(b"1"))
    first = threading.Thread(target=store.update, args=("a", delete))
    first.start()
    inside.wait(5)
    second = threading.Thread(target=store.update, args=("a", add))
    second.start()
    second.join(0.1)
    go_on.set()
    first.join()
    second.join()
    # In Redis nobody waits: the addition may come first, and is then deleted.
    assert store.read("a") in ([None, b"1"] if type(store).__name__ == "RedisStore" else [b"1"])


def test_a_closed_store_says_so(store: Store) -> None:
    store.update("a", keep(b"1"))
    store.close()
    store.close()
    for use in (lambda: store.read("a"), lambda: store.update("a", keep(b"2"))):
        with pytest.raises(callgate.StoreError, match="the store is closed"):
            use()


def test_what_is_kept_outlives_the_store_that_wrote_it(kept_url: str) -> None:
    first = open_store(kept_url)
    first.update("a", keep(b"1"))
    first.close()
    second = open_store(kept_url)
    assert second.read("a") == b"1"
    second.close()


def test_two_stores_of_one_url_share_the_sessions_unless_in_memory() -> None:
    first, second = open_store("memory"), open_store("memory")
    first.update("a", keep(b"1"))
    assert second.read("a") is None


STEPS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "\0"]), st.none() | st.binary(max_size=6) | st.just("raise")),
    max_size=12,
)


@given(steps=STEPS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_store_is_a_dictionary_that_forgets_what_raised(store: Store, steps: list[Any]) -> None:
    model: dict[str, bytes] = {}
    for key in ("a", "b", "\0"):
        store.update(key, keep(None))
    for key, kept in steps:
        if kept == "raise":
            with pytest.raises(ZeroDivisionError):
                store.update(key, lambda _: 1 // 0)  # type: ignore[arg-type,return-value]
        else:
            assert store.update(key, keep(kept)) == model.get(key)
            model.pop(key, None)
            if kept is not None:
                model[key] = kept
        assert {each: store.read(each) for each in ("a", "b", "\0") if store.read(each) is not None} == model


def test_an_update_inside_a_change_is_refused() -> None:
    store = open_store("memory")
    with pytest.raises(callgate.InputError, match="may not update"):
        store.update("a", lambda _: (b"1", store.update("a", keep(b"2"))))
    assert store.read("a") is None


def test_a_slow_change_in_memory_keeps_no_other_session_waiting() -> None:
    store = open_store("memory")
    assert store.update("a", lambda _: (b"1", _elsewhere(store))) == 1
    assert store.read("b") == b"1"


def _elsewhere(store: Store) -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(store.update("b", add)))
    thread.start()
    thread.join(5)
    return found[0]


def test_an_error_of_a_store_can_be_pickled() -> None:
    import pickle

    error = callgate.StoreError("/a.db", "it is full", True)
    again = pickle.loads(pickle.dumps(error))
    assert (again.where, again.message, again.unsure, str(again)) == (
        "/a.db",
        "it is full",
        True,
        "/a.db: it is full",
    )
    assert isinstance(error, callgate.CallgateError)
