"""What a session remembers of its calls, as far as there is room, and what conditions see of it.

Source: `docs/sessions.md`.
"""

from __future__ import annotations

from ..grammar.ast import Json
from . import state as memory
from .engine import Registry
from .failures import exit_code
from .plan import glob_matches
from .state import Call, State, Turn


def keep_offer(turn: Turn, registry: Registry | None, names: tuple[str, ...] | None) -> None:
    """What a request offers, as bits over the registry."""
    turn.registry = None if registry is None else registry.digest
    turn.offered = None
    if registry is not None and names is not None:
        offered = frozenset(names)
        marks = ("1" if name in offered else "0" for name in reversed(registry.names))
        turn.offered = f"{int(''.join(marks) or '0', 2):x}"


def count(turn: Turn, what: str, counts: dict[str, int], name: str | None, room: int) -> None:
    """One more of a name; where there is no room for it, that is kept instead."""
    if name is None:
        return
    if name in counts or (len(counts) < memory.COUNTED and room >= 0):
        counts[name] = min(counts.get(name, 0) + 1, memory.REPEATS if what == "repeats" else memory.MOST)
    elif what not in turn.full:
        turn.full.append(what)


def times(turn: Turn, what: str, counts: dict[str, int], name: str | None) -> int | None:
    """How often a name was counted; None where that is not known."""
    if name is None or (what in turn.full and name not in counts):
        return None
    return counts.get(name, 0)


def answer(turn: Turn, name: str, good: bool) -> None:
    """Note that a result came, as far as there is room for the name."""
    known = turn.answered.get(name)
    asked = name in turn.asked  # what is forced has to be let go of
    if known is not None or asked or (len(turn.answered) < memory.COUNTED and _has_room(turn, name)):
        turn.answered[name] = known or good


def latch(turn: Turn, name: str) -> None:
    if len(turn.after) < memory.COUNTED and _has_room(turn, name):
        turn.after.append(name)
    elif "after" not in turn.full:
        turn.full.append("after")


def _has_room(turn: Turn, name: str) -> bool:
    """Was there room for more about a tool when it was called?"""
    return "counts" not in turn.full or name in turn.counts


class TurnSoFar:
    """What conditions see of a session; None where that is not known. `known`: the call, told before."""

    __slots__ = ("_known", "_state", "repeats", "step")

    def __init__(self, state: State, repeats: int | None, step: int, known: Call | None = None) -> None:
        self._state = state
        self._known = known
        self.repeats = repeats
        self.step = step

    def calls(self, tool: str) -> int | None:
        turn, known = self._state.turn, self._known
        name = memory.short(tool)
        if known is not None and known.tool == name:
            return known.count
        if _is_glob(tool):
            if "counts" in turn.full or not all(map(memory.is_whole, turn.counts)):
                return None
            return sum(often for each, often in turn.counts.items() if glob_matches(tool, each))
        return times(turn, "counts", turn.counts, name)

    def after(self, tool: str, in_turn: bool) -> bool | None:
        state = self._state
        names = state.turn.after if in_turn else state.after
        full = "after" in state.turn.full if in_turn else state.full
        if _is_glob(tool):
            found = any(glob_matches(tool, each) for each in names)
            full = full or not all(map(memory.is_whole, names))
        else:
            found = memory.short(tool) in names
        return True if found else None if full else False


class Answer:
    """What conditions see of a result."""

    __slots__ = ("exit_code", "ok", "text")

    def __init__(self, ok: bool, text: str, value: Json) -> None:
        self.ok = ok
        self.text = text
        self.exit_code = exit_code(value)


def _is_glob(tool: str) -> bool:
    return "*" in tool or "?" in tool
