"""Grounding, slow and obvious: every question is answered from the whole history of the turn.

An event is a tuple: `("read", path, result, ok)`, `("change", path or None, written or None, ok)`,
`("reason",)`, `("finish", claim)`. Calls have their results at once. Source: `docs/grounding.md`.
"""

from __future__ import annotations

from typing import Any

CAP, REFILL = 6, 2
Event = tuple[Any, ...]


class Slow:
    """The history so far, and the answers that the gate has to give."""

    def __init__(self, surface: set[str]) -> None:
        self.surface = surface
        self.history: list[Event] = []
        self.budget = CAP
        self.halted = False
        self.refused = False

    def changes(self) -> list[int]:
        return [at for at, each in enumerate(self.history) if each[0] == "change"]

    def about(self, upto: int) -> set[str]:
        return self.surface | {each[1] for each in self.history[:upto] if each[0] == "change" and each[1]}

    def grounds(self, at: int) -> bool:
        """Does the read at this place ground a claim?"""
        kind, path, result, ok = self.history[at]
        names = self.about(at)
        if kind != "read" or not ok or result.startswith("Error"):
            return False
        if path not in names and not any(name in result.split() for name in names):
            return False
        changed = [each for each in self.changes() if each < at]
        since = changed[-1] if changed else -1
        earlier = [each for each in range(since + 1, at) if self.history[each][0] == "read"]
        # A result that says nothing by itself is another one where the path is.
        same = [each for each in earlier if result.strip() or self.history[each][1] == path]
        return not any(self.history[each][2] == result and self.grounds(each) for each in same)

    def owed(self) -> set[str]:
        owed = set()
        last = {self.history[at][1]: at for at in self.changes()}
        for path, at in last.items():
            reads = [each for each in range(at + 1, len(self.history)) if self.grounds_at(each)]
            if path is None:
                if not reads:
                    owed.add("a change that named nothing")
                continue
            lines = set((self.history[at][2] or "").split("\n")) - {""}
            seen = False
            for each in reads:
                _, read, result, _ = self.history[each]
                shown = set(result.split("\n"))
                named = read == path or (bool(lines) and lines <= shown and path in result.split())
                if named and not (lines and not result.strip()):
                    lines -= shown
                    seen = seen or not lines
            if not seen:
                owed.add(path)
        return owed

    def grounds_at(self, at: int) -> bool:
        return self.history[at][0] == "read" and self.grounds(at)

    def step(self, event: Event) -> bool | None:
        """Add an event; for a thought whether it may go on, for a claim whether it is let out."""
        if event[0] == "reason":
            self.budget = max(0, self.budget - 1)
            return not self.halted
        if event[0] != "finish":
            self.history.append(event)
            if self.grounds_at(len(self.history) - 1):
                self.halted = False
                self.budget = min(CAP, self.budget + REFILL)
            return None
        accepted = self.claim(event[1])
        self.halted = self.refused = not accepted
        return accepted

    def claim(self, claim: str) -> bool:
        changed = self.changes()
        if claim == "unverified":
            return True
        if claim == "none" and not changed and not self.refused and not self.halted:
            return True
        if self.budget <= 0:
            return False
        if claim == "assertion" and not changed:
            return any(self.grounds_at(at) for at in range(len(self.history)))
        return bool(changed) and not self.owed()
