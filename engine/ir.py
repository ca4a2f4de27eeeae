"""The rules in force, ready to be selected for a tool and a model: immutable, and free of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from ..grammar.ast import Json
from ..rules.grounds import GroundBlock
from ..rules.kind import Effect, Kind, Spec
from ..rules.palettes import PaletteBlock
from .verdict import Source

POLICIES = ("conservative", "adaptive", "recover")


class Rule(Struct, frozen=True):
    """One rule of a tool block. `families` None: for every model; else regular expressions, one of which
    must be found in the model id."""

    name: str
    kind: type[Kind]
    spec: Spec
    tools: tuple[str, ...]  # exact names
    globs: tuple[str, ...]
    families: tuple[str, ...] | None
    lets: Mapping[str, Json]
    pack: str | None = None
    off: tuple[
        tuple[tuple[str, ...], tuple[str, ...]], ...
    ] = ()  # tools for which it is disabled: names, globs


class PolicyRule(Struct, frozen=True):
    """A policy, for every model or for some."""

    profile: str
    families: tuple[str, ...] | None


class Disabled(Struct, frozen=True):
    """Built-in rules switched off, for some tools or for all (`tools` and `globs` empty)."""

    rules: tuple[str, ...]  # names or globs
    tools: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()


class Spoken(Struct, frozen=True):
    """What models print beside their arguments. `word`: `surroundings`, `quote-token` or `closing-form`."""

    word: str
    texts: tuple[str, ...]
    families: tuple[str, ...] | None


class Default(Struct, frozen=True):
    """What happens to a call that no `allow` or `ask` fits. `passing`: until there are rules again."""

    effect: Effect = Effect.ALLOW
    why: str = ""
    passing: bool = False


class Palette(Struct, frozen=True):
    """One `palette` block, as `NAME` or `pack/NAME`. `families` None: for every model."""

    name: str
    block: PaletteBlock
    families: tuple[str, ...] | None
    lets: Mapping[str, Json]


class Ground(Struct, frozen=True):
    """One `ground` block, with what its names stand for."""

    block: GroundBlock
    lets: Mapping[str, Json]


class PresetRule(Struct, frozen=True):
    """For which models a preset holds: `families` None for all, else regular expressions."""

    cap: int
    refill: int
    strict: bool
    families: tuple[str, ...] | None


class RuleSet(Struct, frozen=True):
    """Everything that a deployment's rule files say, in the order in which it applies."""

    rules: tuple[Rule, ...] = ()
    policies: tuple[PolicyRule, ...] = ()
    default: Default = Default()
    spoken: tuple[Spoken, ...] = ()
    disabled: tuple[Disabled, ...] = ()
    mutating: tuple[frozenset[str], tuple[str, ...]] = (frozenset(), ())  # tools known to change things
    source: Source = field(default_factory=lambda: Source("", ()))
    functions: Mapping[str, Callable[[Json], Json]] = field(default_factory=dict)
    palettes: tuple[Palette, ...] = ()
    grounds: tuple[Ground, ...] = ()
    presets: tuple[PresetRule, ...] = ()
