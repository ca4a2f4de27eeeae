"""What a command that runs long says of its deployment's loads; SIGHUP asks for one, as in servers."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ._terminal import complain, visible

if TYPE_CHECKING:
    from ..deployment import Deployment

_log = logging.getLogger("callgate")


class _Told(logging.Handler):
    """Says on standard error what the library tells the program's log: loads, and a log that fails."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(f"callgate: {visible(record.getMessage()).rstrip()}")


@contextmanager
def told() -> Iterator[None]:
    """Say every load, asked for or watched, until this ends."""
    handler, level = _Told(), _log.level
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)
    try:
        yield
    finally:
        _log.setLevel(level)
        _log.removeHandler(handler)


def reload_on_hangup(deployment: Deployment) -> None:
    """From now on SIGHUP loads it anew, where the system has that signal."""
    if not hasattr(signal, "SIGHUP"):
        return

    def load() -> None:
        known = deployment.status.error
        error = deployment.reload().error
        if error is not None and error == known:  # which the library tells once; here somebody asked
            complain(f"callgate: {visible(str(deployment.path))} still cannot be loaded:")
            complain(visible(error))

    # Not in the handler: it interrupts whatever holds the lock.
    signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=load, daemon=True).start())
