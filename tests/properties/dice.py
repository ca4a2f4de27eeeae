"""Strategies drawn by a seeded generator, named like those of Hypothesis; `seeded` makes one of its own.

Hypothesis mutates its examples by repeating choices, so of calls with hundreds of choices most would be
alike. Here Hypothesis only chooses the seed, and every call is drawn evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Generic, TypeVar

import hypothesis.strategies

T = TypeVar("T")
U = TypeVar("U")


class Strategy(Generic[T]):
    """A way to draw a value from a generator."""

    def __init__(self, draw: Callable[[Random], T]) -> None:
        self.draw = draw

    def map(self, change: Callable[[T], U]) -> Strategy[U]:
        return Strategy(lambda random: change(self.draw(random)))

    def filter(self, holds: Callable[[T], bool]) -> Strategy[T]:
        """Draws again until it holds; the last draw where it never does."""

        def draw(random: Random) -> T:
            for _ in range(100):
                found = self.draw(random)
                if holds(found):
                    break
            return found

        return Strategy(draw)

    def __or__(self, other: Strategy[Any]) -> Strategy[Any]:
        return Strategy(lambda random: random.choice([self, other]).draw(random))


class DrawFn:
    """What a composite draws with."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def __call__(self, strategy: Strategy[T]) -> T:
        return strategy.draw(self.random)


def sampled_from(values: Sequence[Any]) -> Strategy[Any]:
    return Strategy(lambda random: random.choice(values))


def just(value: T) -> Strategy[T]:
    return Strategy(lambda _: value)


def none() -> Strategy[None]:
    return just(None)


def booleans() -> Strategy[bool]:
    return sampled_from([False, True])


def integers(low: int, high: int) -> Strategy[int]:
    return Strategy(lambda random: random.randint(low, high))


def text(alphabet: str, *, max_size: int) -> Strategy[str]:
    return lists(sampled_from(alphabet), max_size=max_size).map("".join)


def lists(
    each: Strategy[T],
    *,
    min_size: int = 0,
    max_size: int = 3,
    unique: bool = False,
    unique_by: Callable[[T], Any] | None = None,
) -> Strategy[list[T]]:
    """With `unique` equal items are drawn once, so the list may be shorter."""

    def draw(random: Random) -> list[T]:
        found: list[T] = []
        seen: list[Any] = []
        for _ in range(random.randint(min_size, max(min_size, max_size))):
            item = each.draw(random)
            mark = unique_by(item) if unique_by is not None else item
            if not (unique or unique_by) or mark not in seen:
                seen.append(mark)
                found.append(item)
        return found

    return Strategy(draw)


def dictionaries(
    key: Strategy[str], each: Strategy[T], *, min_size: int = 0, max_size: int = 3
) -> Strategy[dict[str, T]]:
    names = lists(key, min_size=min_size, max_size=max_size, unique=True)
    return Strategy(lambda random: {name: each.draw(random) for name in names.draw(random)})


def recursive(
    leaf: Strategy[Any], extend: Callable[[Strategy[Any]], Strategy[Any]], depth: int
) -> Strategy[Any]:
    found = leaf
    for _ in range(depth):
        found = leaf | extend(found)
    return found


def composite(function: Callable[..., T]) -> Callable[..., Strategy[T]]:
    """The function's first argument draws."""
    return lambda *args, **named: Strategy(lambda random: function(DrawFn(random), *args, **named))


def seeded(strategy: Strategy[T]) -> hypothesis.strategies.SearchStrategy[T]:
    """The strategy for `@given`."""
    seeds = hypothesis.strategies.integers(0, 2**64 - 1)
    return seeds.map(lambda seed: strategy.draw(Random(seed)))
