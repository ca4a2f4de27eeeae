"""Several processes on one store: no step is lost, whoever is killed or forked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from callgate.engine.stores import Store, open_store

from .worker import SESSIONS, work

WORKER = Path(__file__).with_name("worker.py")
VERBS = 10_000


def started(url: str, name: str, verbs: int, file: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(WORKER), url, name, str(verbs), str(file)])


def kept(store: Store) -> list[str]:
    """The ids in all sessions; each one counted them right."""
    found: list[str] = []
    for number in range(SESSIONS):
        state = json.loads(store.read(f"session {number}") or b'{"count": 0, "ids": []}')
        assert state["count"] == len(state["ids"])
        found += state["ids"]
    return found


def answered(*files: Path) -> list[str]:
    return [line for file in files if file.exists() for line in file.read_text().splitlines()]


def test_two_processes_lose_no_step(kept_url: str, tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    workers = [started(kept_url, file.name, VERBS // 2, file) for file in files]
    assert [each.wait() for each in workers] == [0, 0]
    store = open_store(kept_url)
    assert Counter(kept(store)) == Counter(answered(*files)) == Counter(dict.fromkeys(answered(*files), 1))
    assert len(answered(*files)) == VERBS
    store.close()


def test_two_threads_lose_no_step_in_memory(tmp_path: Path) -> None:
    store = open_store("memory")
    files = [tmp_path / "a", tmp_path / "b"]
    threads = [
        threading.Thread(target=work, args=(store, file.name, VERBS // 2, str(file))) for file in files
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert Counter(kept(store)) == Counter(answered(*files))
    assert len(set(answered(*files))) == VERBS


def test_a_worker_that_is_killed_loses_nothing_that_it_answered(kept_url: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}" for number in range(4)]
    survivor = started(kept_url, "survivor", 1500, tmp_path / "survivor")
    for file in files:
        victim = started(kept_url, f"victim-{file.name}", 1_000_000, file)
        until = time.monotonic() + 10
        while len(answered(file)) < 50 and time.monotonic() < until:
            time.sleep(0.005)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    assert survivor.wait() == 0
    store = open_store(kept_url)
    found, told = Counter(kept(store)), answered(*files, tmp_path / "survivor")
    assert max(found.values()) == 1
    assert not set(told) - set(found)
    assert len(told) >= 1500 + 4 * 50
    assert len(found) - len(told) <= len(files), "each victim had one update under way at most"
    store.close()


FORKS = """
import os, sys, threading
from callgate.engine.stores import open_store
url, ways = sys.argv[1], sys.argv[2]
store = open_store(url)
add = lambda before: (str(int(before or b"0") + 1).encode(), int(before or b"0") + 1)
stop = False
counts = [0, 0]
def hammer(number):
    while not stop:
        store.update("a", add)
        counts[number] += 1
threads = [threading.Thread(target=hammer, args=(number,)) for number in range(2)]
for each in threads: each.start()
children = []
for number in range(12):
    child = os.fork()
    if child == 0:
        if ways != "unused" or number % 2:
            for _ in range(10): store.update("b", add)
        if ways == "quick": os._exit(0)
        stop = True
        if ways == "closed": store.close()
        sys.exit(0)  # the interpreter frees what it inherited
    children.append(child)
    store.update("a", add)
statuses = [os.waitpid(child, 0)[1] for child in children]
stop = True
for each in threads: each.join()
print(sum(counts) + 12, int(store.read("a")), int(store.read("b") or b"0"), statuses == [0] * 12)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.parametrize("ways", ["quick", "slow", "closed", "unused"])
def test_a_fork_in_the_middle_harms_neither_side(url: str, ways: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, url, ways],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    made, first, second, fine = done.stdout.split()
    assert made == first
    assert int(second) == (0 if url == "memory" else 60 if ways == "unused" else 120)
    assert fine == "True"
    if url.startswith("sqlite"):
        import sqlite3

        file = sqlite3.connect(url.removeprefix("sqlite:///"))
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        file.close()
