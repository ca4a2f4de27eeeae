"""What applies to one tool and model, selected and compiled once."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import lru_cache
from string import Template
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from ..grammar.ast import Condition, Json, Segment
from ..rules.kind import Action, Effect, Phase, Place, Setting
from ..rules.regex import compile_regex
from ..rules.toolnames import ToolName
from .condition import Closure, Env, Names, compile_condition, looks_at_turn
from .domain import Limits
from .envelope import FIXES
from .ir import Default, Rule, RuleSet
from .places import Open, View, root_types, type_name
from .repair import RULES, AliasStep, Repairs
from .selector import MISSING
from .speech import Speech
from .verdict import Observation, Source

if TYPE_CHECKING:
    from .admission import Policy
    from .schema import Schema

Hook: TypeAlias = Callable[[Json], Json]
_CAUTIOUS_OFF = frozenset({"repair.scalar-to-text", "repair.enum-case"})
_OPEN = Open()
SHORT = 256
ROOM = 32 * (SHORT + SHORT + 2) + 1  # what `domain.is_simple` lets pass at most


class Step(Struct, frozen=True):
    """A rule of stage 4 made ready. `segments` lead to the places on which its action works."""

    rule: str
    kind: str
    segments: tuple[Segment, ...]
    action: Action
    condition: Closure | None
    at_place: bool  # the condition looks at the place, not at the arguments
    quiet: bool  # it only says what it would do: `shadow`, or a careful kind under `conservative`
    note: str | None  # the rule's own, which replaces all others
    usual_note: str  # where neither the rule nor the action says more
    field: str | None  # for a kind that works on the object around the selected key: that key
    left: tuple[tuple[Segment, ...], ...] = ()  # places that it leaves to the `bound` rules there
    unknown: bool = False  # it takes effect also where its condition is unknown: a `bound`


class Permit(Struct, frozen=True):
    """A rule of stage 9. `present` reads the decoded original, where only what is there counts."""

    rule: str
    effect: Effect
    fits: Closure
    present: Closure
    why: str
    note: str | None  # to the model
    shadow: bool
    condition: Condition | None  # what `fits` was compiled from, and the names in it
    unless: bool
    names: Names
    passing: bool = False  # it may be otherwise later, without another rule
    turning: bool = False  # it looks at the turn, so it may be otherwise later in it


class Root(Struct, frozen=True):
    """Where bare text goes when the model sent no object."""

    rule: str
    segments: tuple[Segment, ...]
    in_array: bool
    note: str | None  # the rule's own


class Plan(Struct, frozen=True):
    """The compiled rules for one tool and model; immutable, one for all threads."""

    tool: str
    model: str | None
    schema: Schema | None
    place: View | Open
    declared: frozenset[str]  # the properties that the schema names at the root
    known: frozenset[str]  # those of them that are short plain text
    prepare: Hook | None
    steps: tuple[Step, ...]
    preprocess: Callable[..., Json]  # stage 4: (arguments, work, env, what applies one step)
    bounds: tuple[Step, ...]  # stage 5
    repairs: Repairs | None
    root: Root | None
    permits: tuple[Permit, ...]
    default: Permit | None  # for calls that no `allow` or `ask` fits; None lets them pass
    policy: str
    off: frozenset[str]  # built-in rules switched off
    limits: Limits
    source: Source
    standing: tuple[Observation, ...]  # what every verdict says
    types: frozenset[str]  # that the arguments may have
    roomy: bool  # its limits let every small object pass
    speech: Speech  # what the model prints beside its arguments
    policies: tuple[Policy, ...] = ()  # the host's, which may have a state of their own


class Index:
    """The rules of a set by the tools that they name, so that choosing for one tool does not look at all."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._rules = rules
        self._exact: dict[str, list[int]] = {}
        self._globs = [place for place, rule in enumerate(rules) if rule.globs]
        for place, rule in enumerate(rules):
            for name in rule.tools:
                self._exact.setdefault(name, []).append(place)

    def rules_for(self, tool: str) -> list[Rule]:
        """The rules of the blocks that name this tool, in order, without those disabled for it."""
        places = {place for place in self._globs if _for_tool((), self._rules[place].globs, tool)}
        places.update(self._exact.get(tool, ()))
        chosen = (self._rules[place] for place in sorted(places))
        return [rule for rule in chosen if not any(_for_tool(*off, tool) for off in rule.off)]


def fits(plan: Plan, value: Any) -> bool:
    """Does the value fit the tool's schema? An object is wanted, unless the schema names other types."""
    if plan.schema is None:
        return type(value) is dict
    if type(value) is not dict:
        kind = type_name(value)
        if kind not in plan.types and not (kind == "integer" and "number" in plan.types):
            return False
    return bool(plan.schema.is_valid(value))


def make_plan(
    rules: RuleSet,
    chosen: list[Rule],
    tool: str,
    model: str | None,
    schema: Schema | None,
    limits: Limits,
    *,
    prepare: Hook | None = None,
    mutates: bool = False,
    policies: tuple[Policy, ...] = (),
) -> Plan:
    """Compile what applies to this tool and model. `chosen`: the set's rules for the tool, see `Index`.

    `policies`: what the host adds to the admission of bounded places.
    """
    if schema is None:
        schema = _own_schema(chosen, tool, model)
    place: View | Open = schema.root if schema is not None else _OPEN
    policy = _policy(rules, model)
    off = frozenset(
        name
        for disabled in rules.disabled
        if not (disabled.tools or disabled.globs) or _for_tool(disabled.tools, disabled.globs, tool)
        for name in _BUILT_IN
        if any(glob_matches(pattern, name) for pattern in disabled.rules)
    )
    closing = _spoken(rules, "closing-form", model)
    speech = Speech(_spoken(rules, "surroundings", model), _spoken(rules, "quote-token", model))
    steps: list[Step] = []
    aliases: list[AliasStep] = []
    permits: list[Permit] = []
    silent: list[str] = []
    root: Root | None = None
    droppable: list[tuple[Segment, ...]] = []
    bounds = [
        step
        for rule in chosen
        if rule.kind.phase is Phase.BOUND and applies_to_model(rule, model)
        for step in _bound(rule, tool, model, policies)
    ]
    bounded = tuple(step.segments for step in bounds if not step.quiet)
    for rule in chosen:
        kind, spec = rule.kind, rule.spec
        if not applies_to_model(rule, model):
            continue
        if kind.phase is Phase.PERMIT and kind.effect is not None:
            permits.append(_permit(rule, tool, model))
        elif kind.phase is Phase.PREPROCESS:
            if kind.needs_families and rule.families is None:
                continue
            if kind.needs_schema and not place.known:
                silent.append(rule.name)
                continue
            step = _step(rule, tool, model, place, policy, rules.functions, closing)
            if step is None and spec.in_glob and not place.known:
                silent.append(rule.name)
            if step is not None and kind.casts and bounded:
                from .bounds import overlap

                step = replace(step, left=tuple(each for each in bounded if overlap(each, step.segments)))
            if step is not None:
                steps.append(step)
                if kind.mends_missing and not step.quiet and step.field is not None:
                    aliases.append(
                        AliasStep(
                            step.rule,
                            step.segments,
                            step.field,
                            step.action,
                            step.condition,
                            step.note,
                            step.usual_note,
                        )
                    )
        elif kind.setting is Setting.ROOT and root is None:
            if spec.in_glob and not place.declares(str(spec.segments[0])):
                continue
            root = Root(rule.name, spec.segments, bool(spec.clauses.get("in-array")), spec.note)
        elif kind.setting is Setting.DROPPABLE:
            droppable.extend(each.segments for each in spec.selectors)
    if policy == "conservative":
        off_repairs = off | _CAUTIOUS_OFF
    else:
        off_repairs = off
    repairs = None
    if schema is not None:
        repairs = Repairs(
            schema.root,
            tuple(aliases),
            limits,
            speech,
            off_repairs,
            mutates or _for_tool(*rules.mutating, tool),
            tuple(droppable),
            bounded,
        )
    standing = tuple(
        Observation(name, "schema", "", "the tool has no schema, so this rule does nothing")
        for name in silent
    )
    return Plan(
        tool,
        model,
        schema,
        place,
        place.properties,
        frozenset(each for each in place.properties if each.isascii() and len(each) <= SHORT),
        prepare,
        tuple(steps),
        _preprocessor(tuple(steps)),
        tuple(bounds),
        repairs,
        root,
        tuple(permits),
        _default(rules.default, tool, model),
        policy,
        off,
        limits,
        rules.source,
        standing,
        root_types(place),
        limits.input_bytes >= ROOM,
        speech,
        policies if bounds else (),
    )


_BUILT_IN = RULES + tuple(
    f"envelope.{kind}"
    for kind in ("empty", "decode-json", "duplicate-key", "unwrap-array", "unwrap-object", *FIXES)
)


def built_in_rules() -> tuple[str, ...]:
    """The names of the rules that no file writes: what `disable` may name beside written ones."""
    return _BUILT_IN


def _for_tool(names: Container[str], globs: tuple[str, ...], tool: str) -> bool:
    return tool in names or any(glob_matches(glob, tool) for glob in globs)


def glob_matches(glob: str, name: str) -> bool:
    """Does a glob (`*`, `?`) fit the whole name? Linear."""
    return glob == "*" or compile_glob(glob).fullmatch(name) is not None


def is_named(name: ToolName, tool: str) -> bool:
    """Is it the tool that a rule file names?"""
    return glob_matches(name.text, tool) if name.glob else name.text == tool


@lru_cache(1024)
def compile_glob(glob: str) -> Any:
    """A glob of a rule file as a linear regular expression."""
    text = "".join(".*" if each == "*" else "." if each == "?" else _literal(each) for each in glob)
    return compile_regex(f"(?s:{text})")


def _literal(character: str) -> str:
    return character if character.isalnum() or character == "_" else f"\\x{{{ord(character):x}}}"


def applies_to_model(rule: Rule, model: str | None) -> bool:
    """Without a model id, rewrites and `allow` with `for` do not apply; `deny`, `ask` and `bound` do."""
    if rule.families is None:
        return True
    if model is None:
        return rule.kind.effect in (Effect.DENY, Effect.ASK) or rule.kind.phase is Phase.BOUND
    return matches_model(rule.families, model)


def matches_model(patterns: tuple[str, ...], model: str) -> bool:
    """Is one of the regular expressions found in the model id?"""
    return any(compile_regex(pattern).search(model) is not None for pattern in patterns)


def _policy(rules: RuleSet, model: str | None) -> str:
    """The first policy for this very model, else the first one for all, else `adaptive`."""
    for policy in rules.policies:
        if policy.families is not None and model is not None and matches_model(policy.families, model):
            return policy.profile
    return next((each.profile for each in rules.policies if each.families is None), "adaptive")


def _spoken(rules: RuleSet, word: str, model: str | None) -> tuple[str, ...]:
    """What the statements with this word name for the model."""
    said = (each for each in rules.spoken if each.word == word)
    mine = (each for each in said if each.families is None or (model and matches_model(each.families, model)))
    return tuple(dict.fromkeys(text for each in mine for text in each.texts))


def _own_schema(rules: list[Rule], tool: str, model: str | None) -> Schema | None:
    """The schema that a `schema` rule gives, where the host gave none."""
    for rule in rules:
        if "document" in rule.spec.clauses and applies_to_model(rule, model):
            from .schema import Schema

            return Schema(rule.spec.clauses["document"], f"the schema of `{tool}`")
    return None


def _names(rule: Rule, tool: str, model: str | None) -> Names:
    cwd = rule.lets.get("cwd")
    return Names(tool, model, rule.lets, cwd if isinstance(cwd, str) else None, _runs)


def _runs(command: str, program: str) -> bool | None:
    from .shell import runs  # which most rules never need

    return runs(command, program)


def _permit(rule: Rule, tool: str, model: str | None) -> Permit:
    spec = rule.spec
    names = _names(rule, tool, model)
    effect = rule.kind.effect
    assert effect is not None
    fits: Closure = _always
    present: Closure = _always
    if spec.condition is not None:
        fits = compile_condition(spec.condition, names, unless=spec.unless)
        present = compile_condition(spec.condition, names, unless=spec.unless, positive=True)
    why = spec.title or f"the rule `{rule.name}` fits"
    turning = spec.condition is not None and looks_at_turn(spec.condition)
    return Permit(
        rule.name,
        effect,
        fits,
        present,
        why,
        spec.note,
        spec.shadow,
        spec.condition,
        spec.unless,
        names,
        turning=turning,
    )


def _default(default: Default, tool: str, model: str | None) -> Permit | None:
    if default.effect is Effect.ALLOW:
        return None
    why = default.why or "no rule allows this call"
    names = Names(tool, model, {}, None)
    return Permit(
        "default", default.effect, _always, _always, why, None, False, None, False, names, default.passing
    )


def _always(_arguments: Json, _item: Json, _env: Env | None) -> bool | None:
    return True


def _step(
    rule: Rule,
    tool: str,
    model: str | None,
    place: View | Open,
    policy: str,
    functions: Mapping[str, Hook],
    closing: tuple[str, ...],
) -> Step | None:
    kind, spec = rule.kind, rule.spec
    segments = spec.segments if spec.selectors else ()
    field = None
    if kind.acts_on_parent:
        last = segments[-1] if segments else None
        if not isinstance(last, str):
            return None
        segments, field = segments[:-1], last
    here: Place = place.under(segments)
    if functions or closing:
        spec = replace(spec, functions=functions, closing_forms=closing)
    action = kind.build(spec, here)
    if action is None:
        return None
    condition = None
    if spec.condition is not None:
        condition = compile_condition(spec.condition, _names(rule, tool, model), unless=spec.unless)
    return Step(
        rule.name,
        kind.keyword,
        segments,
        action,
        condition,
        kind.condition_at_place,
        spec.shadow or (kind.cautious and policy == "conservative"),
        spec.note,
        kind.note or f"The rule `{rule.name}` changed this place.",
        field,
    )


def _bound(rule: Rule, tool: str, model: str | None, policies: tuple[Policy, ...]) -> list[Step]:
    """What one `bound` rule does: one step, or none where it is written wrong."""
    from .bounds import admission  # which most engines never need

    kind, spec = rule.kind, rule.spec
    schema = kind.primitive(spec)
    if schema is None:
        return []
    condition = None
    if spec.condition is not None:
        condition = compile_condition(spec.condition, _names(rule, tool, model), unless=spec.unless)
    action = admission(schema, tool, policies)
    return [
        Step(
            rule.name,
            kind.keyword,
            spec.segments,
            action,
            condition,
            at_place=False,
            quiet=spec.shadow,
            note=spec.note,
            usual_note=f"Send {schema.wanted} as a plain JSON value.",
            field=None,
            unknown=True,
        )
    ]


def _preprocessor(steps: tuple[Step, ...]) -> Callable[..., Json]:
    """Stage 4 as one function of (arguments, work, env, apply): each step applied, where it may act.

    The two selectors that nearly all rules have, the root and one key, are looked at in place.
    """
    names: dict[str, Any] = {"MISSING": MISSING}

    def bind(value: object) -> str:
        names[f"x{len(names)}"] = value
        return f"x{len(names) - 1}"

    lines = ["def preprocess(a, work, env, apply):"]
    for step in steps:
        tests = _may_act(step, bind)
        if step.condition is not None and not step.at_place:
            tests.append(f"{bind(step.condition)}(a, a, env) is True")
        lines += [
            f"    if {' and '.join(tests) or 'True'}:",
            f"        a = apply({bind(step)}, a, work, env)",
        ]
    lines.append("    return a")
    exec("\n".join(lines), names)
    return cast("Callable[..., Json]", names["preprocess"])


def _may_act(step: Step, bind: Callable[[object], str]) -> list[str]:
    """Tests in source over `a` that are false only where the step does and says nothing."""
    action, segments = step.action, step.segments
    if len(segments) > 1 or (segments and not isinstance(segments[0], str)):
        return []
    tests = [f"type(v) is dict and not {bind(action.keys)}.isdisjoint(v)"] if action.keys else []
    if action.guard is not None:
        bound = {name: bind(value) for name, value in action.names.items()}
        tests.append(f"({Template(action.guard).safe_substitute(bound)})")
    if not tests:
        return []
    if segments:
        found = f"(v := a.get({segments[0]!r}, MISSING)) is not MISSING"
        return [f"(type(a) is not dict or ({' and '.join([found, *tests])}))"]
    return ["((v := a) is a)", *tests]
