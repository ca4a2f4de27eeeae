"""The gate: one generated function that lets a call pass which no rule concerns.

It is a conjunction of tests that are false only where the pipeline would do or say something; so
what passes is exactly what the pipeline would call `valid`, unchanged and unobserved. What does not
pass goes through the pipeline, which alone decides. A property test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from string import Template
from typing import Any, TypeAlias

from ..grammar.ast import STAR, Json, Segment
from ..rules.kind import Effect
from .condition import Env
from .domain import Limits, value_fault
from .plan import Plan, Step
from .selector import MISSING, array_index
from .swallowed import LONG, fault_in, may_be_swallowed

Gate: TypeAlias = Callable[[Json, Env | None], bool]

_FIELDS = 64  # an object with more goes through the pipeline
_HUGE = 1 << 63


@dataclass(slots=True)
class _Node:
    """One place that rules look at, and the places below it."""

    guards: list[Step] = field(default_factory=list)
    below: dict[Segment, _Node] = field(default_factory=dict)


def make_gate(plan: Plan) -> Gate:
    """Generate the gate of a plan."""
    if plan.prepare is not None:
        return _closed
    writer = _Writer(plan)
    return writer.write()


def _closed(arguments: Json, env: Env | None) -> bool:
    return False


class _Writer:
    """Writes the source of one gate and keeps the objects that it names."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "MISSING": MISSING,
            "isfinite": isfinite,
            "marked": may_be_swallowed,
            "deep": _checker(plan.limits, plan.declared),
            "long": _long_checker(plan.limits, plan.declared),
        }

    def name(self, prefix: str, value: object) -> str:
        text = f"{prefix}{len(self.names)}"
        self.names[text] = value
        return text

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def write(self) -> Gate:
        self.line(0, "def gate(a, env):")
        self.line(1, f"if type(a) is not dict or len(a) > {_FIELDS}:")
        self.line(2, "return False")
        self._values()
        root = _Node()
        for step in self.plan.steps:
            node = root
            for segment in step.segments:
                node = node.below.setdefault(segment, _Node())
            node.guards.append(step)
        self._node(root, "a", 1, known_object=True)
        if self.plan.schema is not None:
            self.line(1, f"if not {self.name('is_valid', self.plan.schema.is_valid)}(a):")
            self.line(2, "return False")
        self._permits()
        self.line(1, "return True")
        exec("\n".join(self.lines), self.names)
        gate: Gate = self.names["gate"]
        return gate

    def _values(self) -> None:
        """Every value is of the JSON domain, within the limits, and holds no markup of a call."""
        known = frozenset(each for each in self.plan.declared if each.isascii() and len(each) <= LONG)
        self.names["known"] = known
        small = self.plan.limits.input_bytes < 2 * _FIELDS * (LONG + 2)
        for depth, text in (
            (1, "rest = 2" if small else "rest = 0"),
            (1, "for k, v in a.items():"),
            (2, f"if type(k) is not str or (k not in known and (len(k) > {LONG} or not k.isascii())):"),
            (3, "return False"),
            (2, "t = type(v)"),
            (2, "if t is str:"),
            (3, f"if len(v) > {LONG}:"),
            (4, "rest |= 1"),
            (3, "elif not v.isascii() or ('<' in v and marked(v)):"),
            (4, "rest |= 2"),
            (2, "elif t is int:"),
            (3, f"if not {-_HUGE} < v < {_HUGE}:"),
            (4, "return False"),
            (2, "elif t is not bool and v is not None:"),
            (3, "if t is float:"),
            (4, "if not isfinite(v):"),
            (5, "return False"),
            (3, "else:"),
            (4, "rest |= 2"),
            (1, "if rest and not (deep(a) if rest & 2 else long(a)):"),
            (2, "return False"),
        ):
            self.line(depth, text)

    def _node(self, node: _Node, here: str, depth: int, *, known_object: bool = False) -> None:
        keyed = [step for step in node.guards if step.action.keys]
        if keyed:
            keys = frozenset[str]().union(*(step.action.keys for step in keyed))
            test = f"not {self.name('keys', keys)}.isdisjoint({here})"
            self.line(depth, f"if {test}:" if known_object else f"if type({here}) is dict and {test}:")
            for step in keyed:
                self._guard(step, here, depth + 1)
        for step in node.guards:
            if not step.action.keys:
                self._guard(step, here, depth)
        for segment, child in node.below.items():
            self._below(segment, child, here, depth, known_object)

    def _below(self, segment: Segment, child: _Node, here: str, depth: int, known_object: bool) -> None:
        below = self.name("v", None)
        if segment is STAR:
            if not known_object:
                self.line(depth, f"if type({here}) is list:")
                self.line(depth + 1, f"for {below} in {here}:")
                self._node(child, below, depth + 2)
            return
        found = f"{below} = {here}.get({segment!r}, MISSING)"
        if known_object:
            self.line(depth, found)
        else:
            self.line(depth, f"{below} = MISSING")
            self.line(depth, f"if type({here}) is dict:")
            self.line(depth + 1, found)
            index = array_index(segment)
            if index is not None:
                self.line(depth, f"elif type({here}) is list and len({here}) > {index}:")
                self.line(depth + 1, f"{below} = {here}[{index}]")
        self.line(depth, f"if {below} is not MISSING:")
        self._node(child, below, depth + 1)

    def _guard(self, step: Step, here: str, depth: int) -> None:
        """Leave by the pipeline where the step may do something at this place."""
        test = "True"
        if step.action.guard is not None:
            names = {key: self.name("x", value) for key, value in step.action.names.items()}
            # The guard speaks of `v`; the place has a variable of its own.
            self.line(depth, f"v = {here}")
            test = Template(step.action.guard).safe_substitute(names)
        if step.condition is not None:
            place = here if step.at_place else "a"
            test = f"({test}) and {self.name('when', step.condition)}({place}, {place}, env) is True"
        self.line(depth, f"if {test}:")
        self.line(depth + 1, "return False")

    def _permits(self) -> None:
        allows = []
        for permit in self.plan.permits:
            fits = self.name("fits", permit.fits)
            if permit.effect is Effect.ALLOW and not permit.shadow:
                allows.append(f"{fits}(a, a, env) is True")
            elif permit.effect is Effect.ALLOW:
                continue
            else:
                self.line(1, f"if {fits}(a, a, env) is not False:")
                self.line(2, "return False")
        if self.plan.default.effect is not Effect.ALLOW:
            self.line(1, f"if not ({' or '.join(allows) or 'False'}):")
            self.line(2, "return False")


def _checker(limits: Limits, declared: frozenset[str]) -> Callable[[dict[str, Json]], bool]:
    """The full test of a value: domain, limits, markup."""

    def deep(arguments: dict[str, Json]) -> bool:
        return value_fault(arguments, limits) is None and fault_in(arguments, declared) is None

    return deep


def _long_checker(limits: Limits, declared: frozenset[str]) -> Callable[[dict[str, Json]], bool]:
    """The same test for an object of scalars with long texts, which it does not read without need."""
    most = limits.input_bytes

    def long(arguments: dict[str, Json]) -> bool:
        total = 2 * len(arguments) + 1
        complete = declared <= arguments.keys()
        marked = False
        for key, value in arguments.items():
            total += len(key)
            if type(value) is str:
                total += len(value)
                if len(value) > LONG:
                    if not value.isascii():
                        return (
                            value_fault(arguments, limits) is None and fault_in(arguments, declared) is None
                        )
                    marked = marked or "<" in (value[-LONG:] if complete else value)
        return total <= most and not (marked and fault_in(arguments, declared) is not None)

    return long
