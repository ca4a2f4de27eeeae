"""Sessions in the memory of one process.

There is no bound on their number: a state is some tens of kilobytes at most, and which session may be
forgotten is the host's to say (a change that gives None).
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TypeVar

from ..errors import InputError, StoreError
from ._forks import watch_forks
from ._inputs import changed, checked_key

T = TypeVar("T")


class _Slot:
    """One session. `busy`: a change of it runs."""

    __slots__ = ("busy", "lock", "state")

    def __init__(self) -> None:
        self.state: bytes | None = None
        self.busy = False
        self.lock = RLock()  # one for each session: a slow change keeps no other session waiting


class MemoryStore:
    """A `Store` that ends with its process; a process that comes out of a fork goes on with a copy."""

    def __init__(self) -> None:
        self._slots: dict[str, _Slot] = {}
        self._closed = False
        watch_forks(self)

    def update(self, key: str, change: Callable[[bytes | None], tuple[bytes | None, T]]) -> T:
        key = self._checked(key)
        while True:
            slot = self._slots.get(key) or self._slots.setdefault(key, _Slot())
            with slot.lock:
                if self._slots.get(key) is not slot:
                    continue  # the session was deleted while this waited
                if slot.busy:
                    raise InputError("a change may not update the session that it changes")
                slot.busy = True
                try:
                    slot.state, answer = changed(change, slot.state)
                    return answer
                finally:
                    slot.busy = False
                    if slot.state is None:
                        self._slots.pop(key, None)

    def read(self, key: str) -> bytes | None:
        slot = self._slots.get(self._checked(key))
        return None if slot is None else slot.state

    def close(self) -> None:
        self._closed = True
        self._slots.clear()

    def _checked(self, key: str) -> str:
        if self._closed:
            raise StoreError("memory", "the store is closed")
        return checked_key(key)

    def before_fork(self) -> None:
        """Nothing has to be done before."""

    def after_fork(self, in_child: bool) -> None:
        if not in_child:
            return
        for key, slot in tuple(self._slots.items()):
            # A thread that held the lock is not here to give it back, nor to finish its change.
            slot.lock, slot.busy = RLock(), False
            if slot.state is None:
                del self._slots[key]
