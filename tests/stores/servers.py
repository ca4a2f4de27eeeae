"""A real Redis for the tests, and a way to it that loses what the tests say."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PROGRAM = shutil.which("redis-server")


def need_redis() -> str:
    """The server's program; the test is skipped where it or the driver is not installed."""
    pytest.importorskip("redis", reason="the package `redis` is not installed")
    if PROGRAM is None:
        pytest.skip("the program `redis-server` is not installed")
    return PROGRAM


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A `redis-server` that keeps nothing on disk, on a port and in a folder of its own."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.program, self.folder, self.more = need_redis(), folder, more
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        for _ in range(5):  # another program may take the port in between
            port = self.port or free_port()
            options = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
            self.process = subprocess.Popen(
                [self.program, *options, "--dir", str(self.folder), *self.more],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            until = time.monotonic() + 10
            while self.process.poll() is None and time.monotonic() < until:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as known:
                    known.sendall(b"PING\r\n")
                    if known.recv(64)[:1] in b"+-":
                        self.port = port
                        return
                time.sleep(0.01)
            self.stop()
        raise RuntimeError("redis-server does not start")

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    stop = kill  # it has nothing to save

    @contextmanager
    def frozen(self) -> Iterator[None]:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)


class Proxy:
    """Stands before a server, and does to the next writes what `faults` says, one each.

    `before`: the connection is lost before the server has the write; `after`: the server has it, and its
    reply is lost; `late`: the connection is lost, and the server has the write some time later; `pass`.
    """

    def __init__(self, port: int) -> None:
        self.faults: list[str] = []
        self.writes = 0
        self._to = port
        self._listens = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listens.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def close(self) -> None:
        self._listens.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listens.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self._to))
        with client, server, suppress(OSError):
            while asked := client.recv(1 << 20):
                fault = "pass"
                if b"EVAL" in asked:
                    self.writes += 1
                    fault = self.faults.pop(0) if self.faults else "pass"
                if fault == "before":
                    return
                if fault == "late":
                    client.close()
                    time.sleep(0.1)
                server.sendall(asked)
                reply = server.recv(1 << 20)
                if fault in ("after", "late"):
                    return
                client.sendall(reply)
