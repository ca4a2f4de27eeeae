"""Grounding, slow and obvious, for calls that have their results at once and reads that name one file.

An event is a tuple: `("read", path, result, ok)`, `("change", path or None, written or None, ok)`,
`("reason",)`, `("finish", claim)`. Source: `docs/grounding.md`.
"""

from __future__ import annotations

from typing import Any

CAP, REFILL = 6, 2
NOTHING = "a change that named nothing"
Event = tuple[Any, ...]


class Slow:
    """The turn so far, and the answers that the gate has to give."""

    def __init__(self, surface: set[str]) -> None:
        self.surface = surface
        self.budget = CAP
        self.halted = self.refused = self.grounded = False
        self.changes = 0
        self.owed: dict[str, set[str]] = {}  # what has to be read, and the lines that have to be seen
        self.touched: set[str] = set()  # what this turn changed
        self.seen: set[tuple[Any, ...]] = set()  # results since the last change

    def step(self, event: Event) -> bool | None:
        """Add an event; for a thought whether it may go on, for a claim whether it is let out."""
        match event:
            case ("reason",):
                self.budget = max(0, self.budget - 1)
                return not self.halted
            case ("finish", claim):
                accepted = self.accepts(claim)
                self.halted = self.refused = not accepted
                return accepted
            case ("change", path, text, ok):
                self.changes += 1
                self.grounded = False
                self.seen.clear()
                lines = {line for line in (text or "").split("\n") if line} if ok else set()
                self.owed[path or NOTHING] = lines if path else set()
                self.touched |= {path} if path else set()
            case ("read", path, result, ok):
                self.read(path, result, ok)
        return None

    def read(self, path: str, result: str, ok: bool) -> None:
        about = self.surface | self.touched
        relevant = path in about or any(name in result.split() for name in about)
        blank = not result.strip()
        if not ok or result.startswith("Error") or not relevant:
            return
        if blank and (path in self.owed or NOTHING in self.owed):
            return
        # A result that says nothing is another one for another path; so is one that settles a debt.
        key = (result, path if blank else None, path if path in self.owed else None)
        if key in self.seen:
            return
        self.seen.add(key)
        self.grounded, self.halted = True, False
        self.budget = min(CAP, self.budget + REFILL)
        self.owed.pop(NOTHING, None)
        if path in self.owed:
            self.owed[path] = {line for line in self.owed[path] if line not in result}
            if not self.owed[path]:
                del self.owed[path]

    def accepts(self, claim: str) -> bool:
        if claim == "unverified":
            return True
        if claim == "none" and not self.changes and not self.refused and not self.halted:
            return True
        if self.budget <= 0:
            return False
        if claim == "assertion" and not self.changes:
            return self.grounded
        return self.changes > 0 and self.grounded and not self.owed
