"""What was read of rule texts before, by their content: so that an edit costs the file that was edited.

Source: `docs/deployments.md`, "Reload". A deployment keeps one: what the last good load asked for, and the
last of all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from ..grammar.ast import File, Statement
from ..grammar.diagnostics import Diagnostic
from ..grammar.parser import Parsed, parse
from ..grammar.printer import print_statement
from ..rules.statements import words

T = TypeVar("T")


class Readings:
    """Not for several threads at once.

    Keys hold the identity of what they are about, and values the thing itself: no identity is given again.
    """

    def __init__(self) -> None:
        self._good: dict[Hashable, tuple[Any, Any]] = {}
        self._last: dict[Hashable, tuple[Any, Any]] = {}
        self._used: dict[Hashable, tuple[Any, Any]] = {}

    def begin(self) -> None:
        """A load begins."""
        self._last, self._used = self._used, {}

    def keep(self) -> None:
        """The load was good: what it did not ask for is forgotten."""
        self._good = self._used

    def get(self, key: Hashable, about: Any, make: Callable[[], T]) -> T:
        """What was made before for this key, else made now. `about`: what the key holds the identity of."""
        found = self._used.get(key) or self._last.get(key) or self._good.get(key)
        if found is None:
            found = (make(), about)
        self._used[key] = found
        value: T = found[0]
        return value

    def parsed(self, text: str, file: str) -> Parsed:
        """A text, parsed. Equal texts of one name give the same tree."""
        return self.get(("parsed", file, text), None, lambda: parse(text, words=words, file=file))

    def printed(self, tree: File) -> bytes:
        """The canonical text of a file's statements, for digests."""

        def make() -> bytes:
            texts = (print_statement(each) + "\n" for each in tree.statements)
            return "".join(texts).encode("utf-8", "surrogatepass")

        return self.get(("printed", id(tree)), tree, make)

    def of_statement(
        self,
        what: str,
        statement: Statement,
        beside: Hashable,
        make: Callable[[], tuple[T, list[Diagnostic]]],
    ) -> tuple[T, list[Diagnostic]]:
        """What a statement was read as."""
        value, found = self.get((what, id(statement), beside), statement, make)
        return value, list(found)
