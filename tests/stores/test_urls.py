"""URLs of stores: what is known, what is refused, what is shown of them, and what they load."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.stores import open_store
from callgate.engine.stores._redisurl import read_url

ROOT = Path(__file__).parents[2]
SECRET = "hunter2"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "Memory",
        "memory:",
        "memory://",
        "postgres://h/d",
        "redis:h",
        "file:///a",
        "://",
        "x" * 5000,
        None,
        5,
        b"memory",
    ],
)
def test_an_unknown_kind_is_refused_and_the_known_ones_are_named(url: Any) -> None:
    with pytest.raises(callgate.InputError) as caught:
        open_store(url)
    if type(url) is str:
        assert "known are `memory`, `sqlite:///`, `redis://`, `rediss://`, `unix://`" in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "url",
    [
        *("sqlite:", "sqlite://", "sqlite:///", "sqlite://gate.db", "sqlite:///:memory:", "sqlite:gate.db"),
        *(
            "sqlite:///a.db?ttl=500",
            "sqlite:///a.db?timeout=",
            "sqlite:///a.db?timeout=0",
            "sqlite:///a.db?timeout=x",
        ),
        *(
            "sqlite:///a.db?timeout=61",
            "sqlite:///a.db?timeout=1&timeout=2",
            "sqlite:///a%00.db",
            "sqlite:///%ff",
        ),
        *("sqlite:///a.db?timeout=١", "sqlite:///a.db?timeout=nan", "sqlite:///a.db?timeout=1e1"),
    ],
)
def test_a_wrong_url_of_a_file_is_refused(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(callgate.InputError):
        open_store(url)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "url",
    [
        *(
            "redis://h:1/x",
            "redis://h:1/0/1",
            "redis://h:port",
            "redis://h:99999",
            "redis://[::1",
            "redis://h/0#a",
        ),
        *(
            "redis://h?ttl=0",
            "redis://h?ttl=119",
            "redis://h?ttl=1.5",
            "redis://h?ttl=-500",
            "redis://h?ttl=1e9",
        ),
        *("redis://h?db=x", "redis://h?socket_timeout=100", "redis://h?decode_responses=True", "redis://h?a"),
        *(
            "redis://h?ssl_ca_certs=/a",
            "rediss://h?ssl_cert_reqs=maybe",
            "unix://",
            "unix:///",
            "unix://host/path",
        ),
        *("redis://h\n", "redis://h /0", "redis://%ff", "redis://h?timeout=1&timeout=1"),
    ],
)
def test_a_wrong_url_of_a_redis_is_refused(url: str) -> None:
    with pytest.raises(callgate.InputError):
        open_store(url)


@pytest.mark.parametrize(
    "url",
    [
        *(f"redis://:{SECRET}/x@h:1/0", f"redis://u:{SECRET}?x@h", f"redis://u:{SECRET}#x@h"),
        *(f"redis://u:[{SECRET}@h"),
        *(
            f"redis://u:12/{SECRET}@h",
            f"redis://u:12?{SECRET}@h",
            f"redis://u:12#{SECRET}@h",
            f"{SECRET}:x@h",
        ),
        *(f"redis://h?{SECRET}", f"redis://h?{SECRET}=1", f"redis://h/{SECRET}", f"rediss//u:{SECRET}@h"),
        *(
            f"redis://u:{SECRET}@h?ttl=1",
            f"redis://u:{SECRET}@h:port",
            f"redis:u:{SECRET}@h",
            f"redis://u:{SECRET}℀@h",
        ),
        *(f"postgres://u:{SECRET}@h/d", f"unix://u:{SECRET}@h/s", f"redis://u:{SECRET}@h?password={SECRET}@"),
    ],
)
def test_no_refusal_shows_a_password(url: str) -> None:
    with pytest.raises(callgate.InputError) as caught:
        open_store(url)
    assert SECRET not in "".join(traceback.format_exception(caught.value)).partition("open_store(url)")[2]


@pytest.mark.parametrize(
    ("url", "where", "settings"),
    [
        ("redis://", "redis://localhost:6379/0", {"host": "localhost", "port": 6379, "db": 0}),
        ("redis://h:1/2", "redis://h:1/2", {"host": "h", "port": 1, "db": 2}),
        ("redis://[::1]:1/", "redis://[::1]:1/0", {"host": "::1", "port": 1, "db": 0}),
        (
            "redis://u%40:p%2Fq%3A@h/1",
            "redis://h:6379/1",
            {"host": "h", "port": 6379, "db": 1, "username": "u@", "password": "p/q:"},
        ),
        (
            "redis://h/1?db=3&password=a%40b",
            "redis://h:6379/3",
            {"host": "h", "port": 6379, "db": 3, "password": "a@b"},
        ),
        (
            "unix://:p@/run/a%20b.sock?db=1",
            "unix:///run/a b.sock",
            {"path": "/run/a b.sock", "db": 1, "password": "p"},
        ),
        (
            "rediss://h?ssl_ca_certs=/ca.pem",
            "rediss://h:6379/0",
            {
                "host": "h",
                "port": 6379,
                "db": 0,
                "ssl_ca_certs": "/ca.pem",
                "ssl_cert_reqs": "required",
                "ssl_check_hostname": True,
            },
        ),
    ],
)
def test_a_url_of_a_redis_is_read(url: str, where: str, settings: dict[str, Any]) -> None:
    found = read_url(url)
    assert (found.where, found.settings) == (where, settings)
    assert (found.timeout, found.ttl) == (5.0, 0)
    assert "password" not in repr(found)


@pytest.mark.parametrize("url", ["redis://h", "rediss://h?ssl_cert_reqs=none", "unix:///run/none.sock"])
def test_opening_a_redis_asks_it_for_nothing(url: str) -> None:
    pytest.importorskip("redis")
    open_store(url).close()


def test_a_missing_driver_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(callgate.StoreError, match=r"pip install 'callgate\[redis\]'") as caught:
        open_store(f"redis://u:{SECRET}@h")
    assert SECRET not in str(caught.value)


def loaded(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}\nprint('\\n', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "program",
    [
        "import callgate",
        "import callgate.engine.stores",
        "from callgate.engine.stores import open_store as o; o('memory').update('a', lambda _: (b'1', 2))",
        "from callgate.engine.cli.main import main as m; m(['run', 'examples/rules.gate'])",
    ],
)
def test_no_driver_is_loaded_before_its_store_is_opened(program: str) -> None:
    assert not {"sqlite3", "_sqlite3", "redis", "callgate.engine.stores.sqlite"} & loaded(program)


def test_opening_a_file_does_not_load_the_driver_of_redis(tmp_path: Path) -> None:
    found = loaded(f"from callgate.engine.stores import open_store; open_store('sqlite:///{tmp_path}/a.db')")
    assert "sqlite3" in found
    assert "redis" not in found
