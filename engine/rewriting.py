"""Stages 4 and 5 of the pipeline: each rule of the tool's blocks, and each bound, at its places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct, field

from ..grammar.ast import Json
from ..rules.kind import NotApplicable
from .condition import Env
from .domain import NotAdmitted, OutOfBounds, Refusal
from .native import Misfit
from .plan import Plan, Step
from .repair import selected
from .selector import Path, places, pointer
from .verdict import Change, Observation

HOOK = Refusal("hook", "A hook of this tool's owner failed, so nothing was changed. Tell the user.")


class Refused(Exception):
    """The call ends here as `unrepairable`. `misfits`: what is wrong, where it is known here."""

    def __init__(self, fault: Refusal, misfits: list[Misfit] | None = None) -> None:
        self.fault = fault
        self.misfits = misfits


class Work(Struct):
    """What one run over a call has done so far."""

    changes: list[Change] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    misfits: list[Misfit] | None = None  # of the value that stage 2 gave, once known


class _Log:
    """What one action says about one place. Most say nothing or one thing, so its lists come late."""

    changes: Sequence[tuple[Path, str | None]] = ()
    observations: Sequence[tuple[str, Path]] = ()

    def change(self, path: Path = (), note: str | None = None) -> None:
        if not self.changes:
            self.changes = []
        self.changes.append((path, note))  # type: ignore[attr-defined]

    def observe(self, message: str, path: Path = ()) -> None:
        if not self.observations:
            self.observations = []
        self.observations.append((message, path))  # type: ignore[attr-defined]


def apply_step(step: Step, value: Json, work: Work, env: Env | None) -> Json:
    """One rule, at every place that it selects."""
    edit: _Edit | None = None
    for path, here in places(value, step.segments) if step.segments else (((), value),):
        if step.at_place and step.condition is not None and step.condition(here, here, env) is not True:
            continue
        if step.left and selected(path, step.left):
            continue
        log = _Log()
        try:
            new = step.action.apply(here, log)
        except NotApplicable:
            continue
        except Exception:  # an owner's function may raise anything
            raise Refused(HOOK) from None
        default = () if step.field is None else (step.field,)
        for message, below in log.observations:
            work.observations.append(Observation(step.rule, step.kind, pointer(path + below), message))
        if new is here:
            continue
        if step.quiet:
            message = "would have changed this place"
            work.observations.append(Observation(step.rule, step.kind, pointer(path + default), message))
            continue
        for below, note in log.changes or [(default, None)]:
            where = pointer(path + below)
            work.changes.append(
                Change(step.rule, step.kind, "preprocess", where, step.note or note or step.usual_note)
            )
        if not path:
            return new
        edit = edit or _Edit(value)
        edit.put(path, new)
    return value if edit is None else edit.value


def apply_bounds(plan: Plan, value: Json, work: Work, env: Env | None) -> Json:
    """Stage 5: each bounded place is admitted, repaired or refused.

    Raises:
        OutOfBounds: a place is refused.
    """
    for step in plan.bounds:
        if step.condition is not None and step.condition(value, value, env) is False:
            continue
        edit: _Edit | None = None
        for path, here in places(value, step.segments):
            try:
                new = step.action.apply(here, _Log())
            except NotAdmitted as refused:
                reason = f"at `{pointer(path) or 'the root'}` {refused.reason}"
                if not step.quiet:
                    raise OutOfBounds(step.rule, reason, step.note) from None
                message = "would have refused this place"
                work.observations.append(Observation(step.rule, step.kind, pointer(path), message))
                continue
            if new is here:
                continue
            if step.quiet:
                message = "would have changed this place"
                work.observations.append(Observation(step.rule, step.kind, pointer(path), message))
                continue
            note = step.note or step.usual_note
            work.changes.append(Change(step.rule, step.kind, "bound", pointer(path), note))
            if not path:
                value = new
                break
            edit = edit or _Edit(value)
            edit.put(path, new)
        if edit is not None:
            value = edit.value
    return value


def repairable(plan: Plan, arguments: Json, env: Env | None) -> Iterator[tuple[str, str]]:
    """The rules and places, as pointers, whose values a bound in force would have repaired."""
    for step in plan.bounds:
        if step.quiet or (step.condition is not None and step.condition(arguments, arguments, env) is False):
            continue
        for path, here in places(arguments, step.segments):
            with suppress(NotAdmitted):
                if step.action.apply(here, _Log()) is not here:
                    yield step.rule, pointer(path)


class _Edit:
    """A value under change: containers are copied once, the first time that something below them changes."""

    __slots__ = ("_own", "value")

    def __init__(self, value: Json) -> None:
        self.value: Any = value
        self._own: dict[int, Any] = {}

    def put(self, path: Path, new: Json) -> None:
        if not path:
            self.value = new
            return
        self.value = here = self._mine(self.value)
        for part in path[:-1]:
            here[part] = self._mine(here[part])
            here = here[part]
        here[path[-1]] = new

    def _mine(self, container: Any) -> Any:
        if id(container) in self._own:
            return container
        copy = container.copy()
        self._own[id(copy)] = copy
        return copy
