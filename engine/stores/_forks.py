"""What a store does when its process forks."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from functools import cache
from threading import Condition, get_ident
from typing import Protocol
from weakref import ref


class Forks(Protocol):
    """What a store is told. In the child nothing else has run by then, and no other thread came along."""

    def before_fork(self) -> None: ...

    def after_fork(self, in_child: bool) -> None: ...


def watch_forks(store: Forks) -> None:
    """Tell a store of each fork. Keeps nothing alive; does nothing where there are no forks."""
    _told().add(store)


class _Told:
    """Who is told of forks. The system takes back no handler that it was given, so it is given them once."""

    def __init__(self) -> None:
        self._known: dict[int, ref[Forks]] = {}  # in the order in which they came
        self._forking: dict[int, list[Forks]] = {}  # by thread: who was told before is told after

    def add(self, store: Forks) -> None:
        key = id(store)
        self._known[key] = ref(store, lambda _: self._known.pop(key, None))

    def before(self) -> None:
        told = [living for each in list(self._known.values()) if (living := each()) is not None]
        self._forking[get_ident()] = told
        with ExitStack() as last_first:  # what one raises keeps none of the others from being told
            for each in told:
                last_first.callback(each.before_fork)

    def after(self, in_child: bool) -> None:
        told = self._forking.pop(get_ident(), [])
        if in_child:
            self._forking.clear()  # no other thread came along
        with ExitStack() as last_first:
            for each in reversed(told):
                last_first.callback(each.after_fork, in_child)


@cache
def _told() -> _Told:
    told = _Told()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=told.before,
            after_in_parent=lambda: told.after(False),
            after_in_child=lambda: told.after(True),
        )
    return told


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
