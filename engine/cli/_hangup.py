"""SIGHUP makes a command that runs long load its deployment anew, as servers do."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from ._terminal import complain

if TYPE_CHECKING:
    from ..deployment import Deployment


class Hangup:
    """From now on SIGHUP loads a deployment anew, or once it is there, where the system has that signal."""

    def __init__(self) -> None:
        self._deployment: Deployment | None = None
        self._missed = False
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda *_: self._came())

    def reloads(self, deployment: Deployment) -> None:
        """It is there."""
        from logging import NullHandler, getLogger

        getLogger("callgate").addHandler(NullHandler())  # it is said here
        self._deployment = deployment
        if self._missed:
            self._came()

    def _came(self) -> None:
        self._missed = self._deployment is None
        if not self._missed:
            from threading import Thread  # not in the handler: it interrupts whatever holds the lock

            Thread(target=self._load, daemon=True).start()

    def _load(self) -> None:
        assert self._deployment is not None
        status = self._deployment.reload()
        if status.error is not None:
            complain(status.error.rstrip("\n"))
            complain("callgate: the files do not load; the last good rules stay in force")
        else:
            complain(f"callgate: loaded anew, {status.digest}")
