"""A store of each kind; one Redis for all the tests of a process that do not harm it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from callgate.engine.stores import Store, open_store

from .servers import Proxy, Server


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """One that a test may kill."""
    server = Server(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def proxy(shared: Server) -> Iterator[Proxy]:
    proxy = Proxy(shared.port)
    yield proxy
    proxy.close()


@pytest.fixture
def redis_url(shared: Server) -> str:
    import redis

    redis.Redis.from_url(shared.url).flushall()
    return shared.url


@pytest.fixture(params=["sqlite", "redis"])
def kept_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store that processes can share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/gate.db"
    return str(request.getfixturevalue("redis_url"))


@pytest.fixture(params=["memory", "sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return "memory"
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/gate.db"
    return str(request.getfixturevalue("redis_url"))


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = open_store(url)
    yield store
    store.close()
