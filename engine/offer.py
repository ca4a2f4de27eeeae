"""Which tools a request offers, and which one it must call: palette blocks and host stages, composed.

Source: `docs/palettes.md`. Nothing here depends on the order of stages but what is reported; a hard filter
excludes by its own predicate alone. A refusal is raised before the model is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from ..grammar.ast import Json
from ..rules.palettes import Always, Filter, Force
from ..rules.providers import Providers
from ..rules.toolnames import ToolName
from .condition import Closure, Env, Names, compile_condition
from .contract import Event
from .definitions import check_unique
from .errors import ContractViolation, ForcedToolUnavailable, InputError
from .ir import RuleSet
from .palette import Source, ToolPalette
from .plan import glob_matches, is_named, matches_model
from .state import short


class Asked(Struct, frozen=True):
    """What a host stage may look at. `text`: what the user said, `step`: the number of this request."""

    model: str | None
    context: Mapping[str, Json] | None
    text: str | None
    step: int


class Stage(Struct, frozen=True):
    """A filter of the host. `choose` gets the names and gives those to keep, or None for no opinion.

    A soft one that raises is passed over and reported, and gets what is left so far; a `hard` one that
    raises refuses the request, and gets every registered name. Names outside its input are never added.
    """

    name: str
    choose: Callable[[tuple[str, ...], Asked], Iterable[str] | None]
    hard: bool = False


class Forced(Struct, frozen=True):
    """What a turn knows of forced tools: requests that forced them, and results, good or not, by short name.

    `full`: there were more requests than are counted.
    """

    asked: Mapping[str, int] = {}
    answered: Mapping[str, bool] = {}
    full: bool = False


class Served(Struct, frozen=True):
    """Who answers the request, where the host says so: then what it cannot be asked for is found here."""

    provider: str
    thinking: str | None = None
    providers: Providers | None = None


class _Rule(Struct, frozen=True):
    """One palette block for one model. `certain` False: for some models, and this one is not known."""

    name: str
    certain: bool
    condition: Closure | None
    filters: tuple[Filter, ...]
    always: tuple[Always, ...]
    forces: tuple[tuple[Force, Closure | None], ...]

    def holds(self, env: Env) -> bool | None:
        found = True if self.condition is None else self.condition(None, None, env)
        return None if found is True and not self.certain else found


class Offering:
    """The palette blocks that may apply to a model, compiled. Immutable; serves every thread."""

    def __init__(self, rules: RuleSet, model: str | None) -> None:
        self._rules: list[_Rule] = []
        for palette in rules.palettes:
            families, block = palette.families, palette.block
            if families is not None and model is not None and not matches_model(families, model):
                continue
            names = Names("", model, palette.lets, None)
            conditions = {
                id(each): None
                if each.condition is None
                else compile_condition(each.condition, names, unless=each.unless)
                for each in (block, *block.statements)
                if not isinstance(each, Filter | Always)
            }
            self._rules.append(
                _Rule(
                    palette.name,
                    families is None or model is not None,
                    conditions[id(block)],
                    tuple(each for each in block.statements if isinstance(each, Filter)),
                    tuple(each for each in block.statements if isinstance(each, Always)),
                    tuple(
                        (each, conditions[id(each)]) for each in block.statements if isinstance(each, Force)
                    ),
                )
            )

    def __bool__(self) -> bool:
        return bool(self._rules)

    def offer(
        self,
        registered: tuple[str, ...],
        env: Env,
        asked: Asked,
        *,
        forced: Forced | None = None,
        stages: Sequence[Stage] = (),
        served: Served | None = None,
        source: Source | None = None,
    ) -> ToolPalette:
        """The palette of one request over the registered names, in their order.

        `source`: the definitions of the registered tools, which the palette hands on.

        Raises:
            ContractViolation: it cannot be honoured; `code` says why.
        """
        check_unique(registered)
        run = _Run(registered, asked)
        holding = [(rule, rule.holds(env)) for rule in self._rules]
        force = self._force(holding, env, forced or Forced(), run)
        for rule, holds in holding:
            if holds:
                for always in rule.always:
                    run.spare(rule.name, always)
        for rule, holds in holding:
            for each in rule.filters:
                # What is unknown takes effect where it only takes tools away for good.
                if holds or (holds is None and each.hard and each.drops):
                    run.filter(rule.name, each)
        for stage in stages:
            run.stage(stage)
        return self._settled(run, force, served, source)

    def _force(
        self,
        holding: list[tuple[_Rule, bool | None]],
        env: Env,
        known: Forced,
        run: _Run,
    ) -> _Standing | None:
        """The force in effect: those that fit, without those released in this turn; None, or a refusal."""
        standing: list[_Standing] = []
        for rule, holds in holding:
            for force, condition in rule.forces:
                if not holds or (condition is not None and condition(None, None, env) is not True):
                    continue
                released = _released(force, known)
                if released is None:
                    standing.append(_Standing(force.tool, force.soft, rule.name))
                else:
                    said = f"`{force.tool[:64]}` is not forced any more in this turn"
                    run.say(Event("released", released, said))
        for each in standing:
            if each.tool not in run.known:
                raise _not_registered(each, run.registered)
        if not standing:
            return None
        tools = list(dict.fromkeys(each.tool for each in standing))
        if len(tools) == 1:
            rules = ", ".join(dict.fromkeys(each.rule for each in standing))
            return _Standing(tools[0], all(each.soft for each in standing), rules)
        listed = ", ".join(f"`{each.tool[:64]}` by {each.rule}" for each in standing)
        if not all(each.soft for each in standing):
            raise ContractViolation("force_conflict", f"two tools are forced at once: {listed}")
        run.say(Event("force_conflict", "", f"none is forced, since two were: {listed}"))
        return None

    def _settled(
        self, run: _Run, force: _Standing | None, served: Served | None, source: Source | None
    ) -> ToolPalette:
        """The palette that the stages left, with the forced tool in it."""
        names = run.names
        if force is not None:
            if force.tool in run.excluded:
                rule = run.excluded[force.tool]
                raise ForcedToolUnavailable(
                    "forced_excluded_by_hard_filter",
                    f"`{force.tool[:64]}` is forced by {force.rule} and excluded by the hard filter {rule}",
                    force.tool,
                    run.registered,
                    (force.rule, rule),
                )
            if force.tool not in names:
                kept = {*names, force.tool}
                names = tuple(each for each in run.registered if each in kept)
                run.say(
                    Event("reinstated", force.tool, f"`{force.tool[:64]}` is forced, so it is offered again")
                )

        def made(forced: _Standing | None) -> ToolPalette:
            return ToolPalette(
                names if run.narrowed else None,
                None if forced is None else forced.tool,
                forced is not None and forced.soft,
                tuple(run.events),
                run.registered,
                source,
                run.asked.model,
                None if served is None else served.thinking,
            )

        palette = made(force)
        if served is None or source is None:
            return palette
        # What the provider cannot be asked for is refused as when the request is made.
        lowered = palette.to(served.provider, thinking=served.thinking, providers=served.providers)
        degraded = next((each for each in lowered.events if each.code == "degraded_to_auto"), None)
        if degraded is None:
            return palette
        run.say(degraded)
        return made(None)


class _Standing(Struct, frozen=True):
    """A force in effect, and the palette that says so."""

    tool: str
    soft: bool
    rule: str


class _Run:
    """One composition: what is left, and what hard filters excluded, by the filter that did."""

    def __init__(self, registered: tuple[str, ...], asked: Asked) -> None:
        self.registered = registered
        self.known = frozenset(registered)
        self.asked = asked
        self.names = registered
        self.narrowed = False
        self.excluded: dict[str, str] = {}
        self._events: dict[Event, None] = {}
        self._spared: frozenset[str] = frozenset()  # from what is not hard

    @property
    def events(self) -> list[Event]:
        """What is to be reported, each once, in order."""
        return list(self._events)

    def say(self, event: Event) -> None:
        self._events[event] = None

    def spare(self, rule: str, always: Always) -> None:
        """These survive every filter that is not hard."""
        self._spared |= self._named(rule, always.names)

    def filter(self, rule: str, each: Filter) -> None:
        """A filter of a palette block."""
        named = self._named(rule, each.names)
        self._keep(self.known - named if each.drops else named, rule, each.hard)

    def _named(self, rule: str, names: tuple[ToolName, ...]) -> frozenset[str]:
        """The registered tools that a list names; the others are reported."""
        exact = frozenset(each.text for each in names if not each.glob)
        for each in names:
            if not each.glob and each.text not in self.known:
                self._unknown(each.text, rule)
        found = exact & self.known
        for glob in (each.text for each in names if each.glob):
            fitting = frozenset(name for name in self.registered if glob_matches(glob, name))
            if not fitting:
                self._unknown(glob, rule)
            found |= fitting
        return found

    def stage(self, stage: Stage) -> None:
        """A filter of the host."""
        given = self.registered if stage.hard else self.names
        try:
            chosen = stage.choose(given, self.asked)
            kept = None if chosen is None else _texts(chosen)
        except Exception as error:
            said = (
                f"{type(error).__name__}: {error}" if isinstance(error, InputError) else type(error).__name__
            )
            what = f"the stage `{stage.name}` failed: {said}"
            if stage.hard:
                raise ContractViolation("hard_filter_failed", what) from error
            self.say(Event("stage_failed", stage.name, what))
            return
        if kept is None:
            return
        allowed = frozenset(given)
        for name in kept:
            if name not in allowed:
                self._unknown(name, stage.name)
        self._keep(frozenset(kept) & allowed, stage.name, stage.hard)

    def _keep(self, kept: frozenset[str], rule: str, hard: bool) -> None:
        self.narrowed = True
        if hard:
            for name in self.registered:
                if name not in kept:
                    self.excluded.setdefault(name, rule)
        else:
            kept |= self._spared
        self.names = tuple(name for name in self.names if name in kept)

    def _unknown(self, name: str, rule: str) -> None:
        self.say(Event("unknown_name", name, f"{rule} names `{name[:64]}`, which it cannot offer"))


def passes(statement: Filter, tool: str) -> bool:
    """Does a filter, by its own predicate, let a tool through?"""
    return any(is_named(each, tool) for each in statement.names) is not statement.drops


def _released(force: Force, known: Forced) -> str | None:
    """Why a force holds no more in this turn, or None where it does."""
    tool = short(force.tool)
    good = known.answered.get(tool)
    if good if force.until_success else good is not None:
        return "called"
    asked = known.asked.get(tool, force.most if known.full else 0)
    return "budget" if asked >= force.most else None


def _texts(chosen: Iterable[str]) -> tuple[str, ...]:
    if isinstance(chosen, str | bytes):
        raise InputError("a stage gives a list of names, not one text")
    names = tuple(chosen)
    for name in names:
        if type(name) is not str:
            raise InputError("a stage gives names of tools")
    return tuple(dict.fromkeys(names))


def _not_registered(force: _Standing, registered: tuple[str, ...]) -> ForcedToolUnavailable:
    listed = ", ".join(f"`{each[:64]}`" for each in registered[:20]) or "none"
    return ForcedToolUnavailable(
        "forced_not_registered",
        f"`{force.tool[:64]}` is forced by {force.rule} and not registered; registered: {listed}",
        force.tool,
        registered,
        (force.rule,),
    )
