"""What a store does when its process forks."""

from __future__ import annotations

import os
import time
from functools import cache
from threading import Condition
from typing import Protocol
from weakref import ref


class Forks(Protocol):
    """What a store is told. In the child nothing else has run by then, and no other thread came along."""

    def before_fork(self) -> None: ...

    def after_fork(self, in_child: bool) -> None: ...


def watch_forks(store: Forks) -> None:
    """Tell a store of each fork. Keeps nothing alive; does nothing where there are no forks."""
    if not hasattr(os, "register_at_fork"):
        return
    known = ref(store)

    def before() -> None:
        if (living := known()) is not None:
            living.before_fork()

    def after(in_child: bool) -> None:
        if (living := known()) is not None:
            living.after_fork(in_child)

    os.register_at_fork(
        before=before, after_in_parent=lambda: after(False), after_in_child=lambda: after(True)
    )


@cache
def generation() -> list[int]:
    """One number: of how many forks this process is the child. Costs less than to ask for its id."""
    number = [0]

    def child() -> None:
        number[0] += 1

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=child)
    return number


class Gate:
    """Many may be inside at a time; while it is shut nobody comes in."""

    def __init__(self) -> None:
        self._inside = 0
        self._shut = False
        self._moved = Condition()

    def __enter__(self) -> None:
        with self._moved:
            while self._shut:
                self._moved.wait()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._moved:
            self._inside -= 1
            if self._shut:
                self._moved.notify_all()

    def shut(self, seconds: float) -> None:
        """Wait until everybody is out, so long at most."""
        until = time.monotonic() + seconds
        with self._moved:
            self._shut = True
            while self._inside and (left := until - time.monotonic()) > 0:
                self._moved.wait(left)

    def open(self) -> None:
        with self._moved:
            self._shut = False
            self._moved.notify_all()
