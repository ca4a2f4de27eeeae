"""What a store does in a process that came out of a fork."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import ref


class Forked(Protocol):
    def forked(self) -> None:
        """Runs in the child, before anything else does there; no other thread came along."""


def watch_forks(store: Forked) -> None:
    """Have `forked` called in each child. Keeps nothing alive; does nothing where there are no forks."""
    if not hasattr(os, "register_at_fork"):
        return
    known = ref(store)

    def tell() -> None:
        if (living := known()) is not None:
            living.forked()

    os.register_at_fork(after_in_child=tell)
