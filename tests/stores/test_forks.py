"""Who is told of a fork, and that nothing is kept of who is gone."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from callgate.engine.stores import _forks

Handlers = list[dict[str, Callable[[], None]]]


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Handlers]:
    """What the system is given to call at each fork."""
    given: Handlers = []
    with monkeypatch.context() as patched:
        patched.setattr(os, "register_at_fork", lambda **each: given.append(each), raising=False)
        _forks._told.cache_clear()
        yield given
    _forks._told.cache_clear()  # who comes later is told by the system itself


class Store:
    def __init__(self, name: str, said: list[Any]) -> None:
        self.name, self.said = name, said
        _forks.watch_forks(self)

    def before_fork(self) -> None:
        self.said.append(self.name)
        if self.name == "b":
            raise BlockingIOError

    def after_fork(self, in_child: bool) -> None:
        self.said.append((self.name, in_child))


def test_many_that_come_and_go_leave_one_handler_and_nothing_else(handlers: Handlers) -> None:
    said: list[Any] = []
    for number in range(100):
        Store(str(number), said)
    gc.collect()
    assert len(handlers) == 1
    assert not _forks._told()._known
    handlers[0]["before"]()
    handlers[0]["after_in_child"]()
    assert said == []


@pytest.mark.parametrize("side", ["after_in_parent", "after_in_child"])
def test_the_last_is_told_first_before_a_fork_and_last_after_it(handlers: Handlers, side: str) -> None:
    said: list[Any] = []
    kept = [Store(name, said) for name in "abc"]
    with pytest.raises(BlockingIOError):  # which the system passes over; the others are told all the same
        handlers[0]["before"]()
    kept.append(Store("d", said))  # in another thread, meanwhile: it was not told before
    handlers[0][side]()
    child = side == "after_in_child"
    assert said == ["c", "b", "a", ("a", child), ("b", child), ("c", child)]
