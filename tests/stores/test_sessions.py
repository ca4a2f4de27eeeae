"""Sessions in stores: two processes work on the same ones, and nothing that was answered is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.stores import open_store

from .session_worker import RULES

WORKER = Path(__file__).with_name("session_worker.py")
SESSIONS, VERBS = 16, 6  # sessions, and verbs of a round


def start(url: str, name: str, rounds: int, answered: Path) -> subprocess.Popen[bytes]:
    arguments = [url, name, str(SESSIONS), str(rounds), str(answered)]
    paths = os.pathsep.join(sys.path)
    return subprocess.Popen(
        [sys.executable, str(WORKER), *arguments],
        env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": name[-1]},
    )


def turns(url: str) -> list[dict[str, Any]]:
    store = open_store(url)
    found = [json.loads(store.read(f"s{number}") or b"{}") for number in range(SESSIONS)]
    store.close()
    return [each["turn"] for each in found]


def test_two_processes_lose_no_step_and_no_refill(kept_url: str, tmp_path: Path) -> None:
    rounds = 10_000 // VERBS // 2 // SESSIONS * SESSIONS  # of each process
    engine = callgate.compile(RULES, tools={"read": None})
    store = open_store(kept_url)
    for number in range(SESSIONS):
        here = engine.session(f"s{number}", claim_surface=["a"], store=store)
        here.user()
        for _ in range(200):
            here.reason()
    store.close()
    workers = [start(kept_url, f"w{each}", rounds, tmp_path / f"w{each}") for each in (1, 2)]
    assert [each.wait(120) for each in workers] == [0, 0]
    each_session = 2 * rounds // SESSIONS
    for turn in turns(kept_url):
        assert turn["step"] == each_session
        assert turn["counts"] == {"read": each_session}
        assert turn["ground"]["tick"] == each_session
        # Each round takes one from the budget and gives one back, and never reaches an end of it.
        assert turn["ground"]["budget"] == 800


def test_a_killed_process_loses_nothing_that_it_answered(kept_url: str, tmp_path: Path) -> None:
    answered = tmp_path / "answered"
    store = open_store(kept_url)
    for number in range(SESSIONS):
        callgate.compile(RULES).session(f"s{number}", claim_surface=["a"], store=store).user()
    store.close()
    worker = start(kept_url, "w1", 100_000, answered)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (
        not answered.exists() or answered.read_text().count("\n") < 10 * SESSIONS
    ):
        time.sleep(0.01)
    worker.send_signal(signal.SIGKILL)
    worker.wait(10)
    told = [line.split() for line in answered.read_text().splitlines() if line.count("-") == 1]
    kept = turns(kept_url)
    for number, turn in enumerate(kept):
        mine = [call for name, call in told if name == f"s{number}"]
        assert turn["counts"]["read"] >= len(mine)
        assert turn["step"] - turn["counts"]["read"] in (0, 1)
        assert all(turn["calls"][call]["answered"] for call in mine if call in turn["calls"])


def test_a_session_goes_on_where_another_process_left_it(url: str) -> None:
    engine = callgate.compile(RULES, tools={"read": None})
    store = open_store(url)
    one = engine.session("s", claim_surface=["a"], store=store)
    two = engine.session("s", claim_surface=["a"], store=store)
    one.user()
    one.call("read", {"path": "a"}, call_id="1")
    two.result("1", "text")
    assert one.finish("assertion").accepted
    assert one.dump() == two.dump() == store.read("s")
    assert one.progress() == two.progress()
    store.close()


def test_what_raises_changes_nothing(url: str) -> None:
    engine = callgate.compile(RULES, tools={"read": None})
    store = open_store(url)
    here = engine.session("s", store=store)
    here.user()
    here.call("read", {"path": "a"}, call_id="1")
    before = here.dump()
    for use in (
        lambda: here.finish("done"),
        lambda: here.call("read", {"path": "b"}, call_id="1"),
        lambda: here.result("2"),
    ):
        with pytest.raises(callgate.InputError):
            use()
    assert here.dump() == before
    store.close()


def test_a_state_of_a_newer_version_is_refused(url: str) -> None:
    store = open_store(url)
    store.update("s", lambda _: (b'{"version": 99}', None))
    here = callgate.compile(RULES).session("s", store=store)
    with pytest.raises(callgate.InputError, match="version 99"):
        here.reason()
    assert store.read("s") == b'{"version": 99}'
    store.close()


def test_a_store_that_is_away_is_an_error_of_the_verb(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/gate.db")
    here = callgate.compile(RULES).session("s", store=store)
    here.user()
    store.close()
    (tmp_path / "gate.db").write_bytes(b"no database" * 1000)
    for name in ("gate.db-wal", "gate.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    for use in (here.reason, lambda: here.finish("unverified"), lambda: here.call("a", {}, call_id="1")):
        with pytest.raises(callgate.CallgateError):
            use()


def test_a_session_in_a_store_has_an_id(url: str) -> None:
    store = open_store(url)
    with pytest.raises(callgate.InputError, match="has an id"):
        callgate.compile(RULES).session(store=store)
    store.close()
