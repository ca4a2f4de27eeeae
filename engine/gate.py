"""The gate: one generated function that lets a call pass which no rule concerns.

It is a conjunction of tests that are false only where the pipeline would do or say something; so
what passes is exactly what the pipeline would call `valid`, unchanged and unobserved. What does not
pass goes through the pipeline, which alone decides. A property test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable
from string import Template
from typing import Any, TypeAlias

from msgspec import Struct, field

from ..grammar.ast import STAR, Json, Segment
from ..rules.kind import Effect, Log, NotApplicable
from .condition import Env
from .domain import Limits, value_fault
from .inline import Scope, may_fail, may_hold
from .plain import PlainField, field_tests, plain_fields
from .plan import Plan, Step
from .selector import MISSING, Path, array_index, places
from .swallowed import LONG, fault_in, may_be_swallowed
from .verdict import Outcome, Verdict

# The verdict `valid` on the caller's own object, or None: the pipeline decides.
# The third argument: the value was read from plain text within the limits, and needs no look at its domain.
Gate: TypeAlias = Callable[..., Verdict | None]

_FIELDS = 64  # an object with more goes through the pipeline
_HUGE = 1 << 63
_NESTED = 6  # segments that become nested blocks; Python takes 20 loops inside each other


class _Node(Struct):
    """One place that rules look at, and the places below it."""

    guards: list[Step] = field(default_factory=list)
    below: dict[Segment, _Node] = field(default_factory=dict)


def make_gate(plan: Plan) -> Gate:
    """Generate the gate of a plan."""
    if plan.prepare is not None or plan.policies:
        return _closed
    writer = _Writer(plan)
    return writer.write()


def _closed(_arguments: Json, _env: Env | None, _plain: bool = False) -> Verdict | None:
    return None


class _Writer:
    """Writes the source of one gate and keeps the objects that it names."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.lines: list[str] = []
        self.places: dict[str, str] = {}  # root keys that are looked at, and their variables
        # Under a small limit the texts that are not looked at one by one might exceed it together.
        self.small = plan.limits.input_bytes < 2 * _FIELDS * (LONG + 2)
        self.names: dict[str, Any] = {
            "MISSING": MISSING,
            "Verdict": Verdict,
            "VALID": Outcome.VALID,
            "TOOL": plan.tool,
            "SOURCE": plan.source,
            "NONE": (),
            "STANDING": plan.standing,
            "thorough": _thorough(plan.limits, plan.declared),
        }

    def name(self, prefix: str, value: object) -> str:
        text = f"{prefix}{len(self.names)}"
        self.names[text] = value
        return text

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def write(self) -> Gate:
        root = _Node()
        steps = (*self.plan.steps, *self.plan.bounds)
        deep = [step for step in steps if len(step.segments) > _NESTED]
        for step in steps:
            if step in deep:
                continue
            node = root
            for segment in step.segments:
                node = node.below.setdefault(segment, _Node())
            node.guards.append(step)
        watched = frozenset[str]().union(*(step.action.keys for step in root.guards))
        known = self.plan.known
        self.names["known"] = known - watched
        self.names["watched"] = watched
        schema = self.plan.schema
        fields = plain_fields(schema.document) if schema is not None and not watched & known else None
        keys = [each.key for each in fields or ()]
        keys += [each for each in root.below if isinstance(each, str) and each not in keys]
        self.places = {key: f"p{index}" for index, key in enumerate(keys)}
        self.line(0, "def gate(a, env, read=False):")
        self.line(1, "if type(a) is not dict:")
        self.line(2, "return None")
        if fields is None or not all(each.key in known for each in fields):
            self._values(1)
        else:
            self._plain(fields)
        self._node(root, "a", 1, top=True)
        for step in deep:
            self.line(1, f"if {self.name('reaches', _reaches(step.segments))}(a):")
            self.line(2, "return None")
        self._permits()
        self.line(1, "return Verdict(VALID, TOOL, a, SOURCE, NONE, STANDING)")
        exec("\n".join(self.lines), self.names)
        gate: Gate = self.names["gate"]
        return gate

    def _plain(self, fields: tuple[PlainField, ...]) -> None:
        """A call that has only plain fields of a plain schema is judged here; others as all calls are."""
        self.line(1, "for k in a:")
        self.line(2, "if type(k) is not str or k not in known:")
        self.line(3, "plain = False")
        self.line(3, "break")
        self.line(1, "else:")
        others = [each.key for each in fields if each.schema is None]
        test = f"{self.name('others', frozenset(others))}.isdisjoint(a)" if others else "True"
        self.line(2, f"plain = {test}")
        self.line(1, "if plain:")
        self.line(2, f"clean = {not self.small}")
        texts = sum(1 for each in fields if (each.schema or {}).get("type") == "string")
        self.names["quick"] = _quick(self.plan.limits.input_bytes // (texts + 1))
        for each in fields:
            self._plain_field(each, f"len(a) == {len(fields)}")
        for key, place in self.places.items():
            if not any(each.key == key for each in fields):
                self.line(2, f"{place} = MISSING")
        self.line(2, "if not (clean or read) and not thorough(a):")
        self.line(3, "return None")
        self.line(1, "else:")
        self._values(2)

    def _plain_field(self, field: PlainField, complete: str) -> None:
        place = self.places[field.key]
        if field.schema is None:
            self.line(2, f"{place} = MISSING")
            return
        valid, clean = field_tests(field, place, lambda value: self.name("c", value), LONG)
        depth = 2
        if field.required:  # one that is not there raises, which is slow and rare
            self.line(2, "try:")
            self.line(3, f"{place} = a[{field.key!r}]")
            self.line(2, "except KeyError:")
            self.line(3, "return None")
        else:
            self.line(2, f"{place} = a.get({field.key!r}, MISSING)")
            self.line(2, f"if {place} is not MISSING:")
            depth = 3
        self.line(depth, f"if not ({valid}):")
        self.line(depth + 1, "return None")
        if clean:
            self.line(depth, f"if not ({clean}) and not quick({place}, {complete}):")
            self.line(depth + 1, "clean = False")

    def _values(self, depth: int) -> None:
        """Every value is of the JSON domain, within the limits, without markup of a call, and valid.

        A key that the schema names needs no further look; one that a rule at the root watches for ends it.
        """
        watch = "k in watched or " if self.names["watched"] else ""
        for inner, text in (
            (0, f"if len(a) > {_FIELDS}:"),
            (1, "return None"),
            (0, f"clean = {not self.small}"),
            (0, "for k, v in a.items():"),
            (1, "if type(k) is not str:"),
            (2, "return None"),
            (1, f"if k not in known and ({watch}len(k) > {LONG} or not k.isascii()):"),
            (2, "return None"),
            (1, "t = type(v)"),
            (1, "if t is str:"),
            (2, f"if len(v) > {LONG} or not v.isascii() or '<' in v:"),
            (3, "clean = False"),
            (1, "elif t is int:"),
            (2, f"if not {-_HUGE} < v < {_HUGE}:"),
            (3, "return None"),
            (1, "elif t is not bool and v is not None:"),
            (2, "clean = False"),
            (0, "if not (clean or read) and not thorough(a):"),
            (1, "return None"),
        ):
            self.line(depth + inner, text)
        if self.plan.schema is not None:
            self.line(depth, f"if not {self.name('is_valid', self.plan.schema.is_valid)}(a):")
            self.line(depth + 1, "return None")
        for key, place in self.places.items():
            self.line(depth, f"{place} = a.get({key!r}, MISSING)")

    def _node(self, node: _Node, here: str, depth: int, *, top: bool = False) -> None:
        """The guards of one place, held by the variable `here`, and of those below it."""
        keyed = [step for step in node.guards if step.action.keys and not top]
        if keyed:
            keys = self.name("keys", frozenset[str]().union(*(step.action.keys for step in keyed)))
            self.line(depth, f"if type({here}) is dict and not {keys}.isdisjoint({here}):")
            for step in keyed:
                self._guard(step, here, depth + 1)
        for step in node.guards:
            if not step.action.keys:
                self._guard(step, here, depth)
        for segment, child in node.below.items():
            self._below(segment, child, here, depth, top)

    def _below(self, segment: Segment, child: _Node, here: str, depth: int, top: bool) -> None:
        below = self.name("v", None)
        if segment is STAR:
            if not top:
                self.line(depth, f"if type({here}) is list:")
                self.line(depth + 1, f"for {below} in {here}:")
                self._node(child, below, depth + 2)
            return
        if top:
            below = self.places[segment]
        else:
            found = f"{below} = {here}.get({segment!r}, MISSING)"
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
        """Leave by the pipeline where the step would do or say something at this place."""
        tests = []
        if step.action.guard is not None:
            names = {key: self.name("x", value) for key, value in step.action.names.items()}
            tests.append(f"({Template(step.action.guard).safe_substitute(names)})")
        if step.condition is not None:
            place = "v" if step.at_place else "a"
            holds = "is not False" if step.unknown else "is True"
            tests.append(f"{self.name('when', step.condition)}({place}, {place}, env) {holds}")
        tests.append(f"{self.name('probe', _probe(step.action.apply))}(v)")
        self.line(depth, f"v = {here}")
        self.line(depth, f"if {' and '.join(tests)}:")
        self.line(depth + 1, "return None")

    def _permits(self) -> None:
        allows = []
        for permit in self.plan.permits:
            if permit.effect is not Effect.ALLOW:
                test = "True"
                if permit.condition is not None:
                    scope = Scope(permit.names, lambda value: self.name("c", value), self._read)
                    test = (may_fail if permit.unless else may_hold)(permit.condition, scope)
                self.line(1, f"if {test}:")
                self.line(2, "return None")
            elif permit.shadow:
                self.line(1, f"if {self.name('fits', permit.fits)}(a, a, env) is True:")
                self.line(2, "return None")
            else:
                allows.append(f"{self.name('fits', permit.fits)}(a, a, env) is True")
        if self.plan.default is not None:
            self.line(1, f"if not ({' or '.join(allows) or 'False'}):")
            self.line(2, "return None")

    def _read(self, key: str) -> str:
        return self.places.get(key) or f"a.get({key!r}, MISSING)"


def _reaches(segments: tuple[Segment, ...]) -> Callable[[Json], bool]:
    """Does the selector reach any place?"""
    return lambda arguments: next(places(arguments, segments), None) is not None


class _Heard:
    """A log that only remembers that something was said."""

    __slots__ = ("said",)

    def __init__(self) -> None:
        self.said = False

    def change(self, path: Path = (), note: str | None = None) -> None:
        self.said = True

    def observe(self, message: str, path: Path = ()) -> None:
        self.said = True


def _probe(apply: Callable[[Json, Log], Json]) -> Callable[[Json], bool]:
    """Would the action change or say anything here? Kinds are pure, so trying is asking."""

    def probe(value: Json) -> bool:
        log = _Heard()
        try:
            return apply(value, log) is not value or log.said
        except NotApplicable:
            return False
        except Exception:  # an owner's function may raise anything; the pipeline says so
            return True

    return probe


def _quick(most: int) -> Callable[[str, bool], bool]:
    """A test of one long text: plain, not too large, and no `<` where it can matter; false is not final."""

    def quick(text: str, complete: bool) -> bool:
        return text.isascii() and len(text) <= most and text.find("<", -LONG if complete else 0) < 0

    return quick


def _thorough(limits: Limits, declared: frozenset[str]) -> Callable[[dict[str, Json]], bool]:
    """The full test of an object's domain, limits and markup. A long text is not read without need."""
    most = limits.input_bytes

    def thorough(arguments: dict[str, Json]) -> bool:
        total = 2 * len(arguments) + 1
        end = -LONG if declared <= arguments.keys() else 0
        for key, value in arguments.items():
            kind = type(value)
            if kind is str:
                total += len(key) + len(value)  # type: ignore[arg-type]
                if not value.isascii():  # type: ignore[union-attr]
                    break
                if value.find("<", end) >= 0 and may_be_swallowed(value, key):  # type: ignore[union-attr,arg-type]
                    break
            elif kind is not int and kind is not bool and value is not None:
                break
        else:
            return total <= most
        return value_fault(arguments, limits) is None and fault_in(arguments, declared) is None

    return thorough
