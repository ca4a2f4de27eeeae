"""SIGHUP makes a command that runs long load its deployment anew, as servers do."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

from ._inputs import tell_warnings
from ._terminal import complain

if TYPE_CHECKING:
    from ..deployment import Deployment


def reload_on_hangup(deployment: Deployment) -> None:
    """From now on SIGHUP loads it anew, where the system has that signal."""
    if not hasattr(signal, "SIGHUP"):
        return

    def load() -> None:
        status = deployment.reload()
        if status.error is not None:
            complain(status.error.rstrip("\n"))
            complain("callgate: the files do not load; the last good rules stay in force")
        else:
            tell_warnings(status.warnings)
            complain(f"callgate: loaded anew, {status.digest}")

    # Not in the handler: it interrupts whatever holds the lock.
    signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=load, daemon=True).start())
