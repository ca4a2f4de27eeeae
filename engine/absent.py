"""The functions of a host that is not here: commands load the rules of a deployment with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from threading import get_ident

from ..grammar.ast import Json


class Absent(Mapping[str, Callable[[Json], Json]]):
    """Has every function that rules name, and each of them fails."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._called: dict[int, list[str]] = {}  # by thread: tests run in one, calls in another

    def taken(self) -> tuple[str, ...]:
        """The functions that this thread called since it asked last: what came of that is no judgement."""
        return tuple(self._called.pop(get_ident(), ()))

    def __getitem__(self, name: str) -> Callable[[Json], Json]:
        self._names[name] = None

        def fails(_: Json) -> Json:
            self._called.setdefault(get_ident(), []).append(name)
            raise LookupError(f"the host is not here, which gives `{name}`")

        return fails

    def __bool__(self) -> bool:
        return True  # also before a rule names one

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
