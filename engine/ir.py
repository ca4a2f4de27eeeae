"""The rules in force, ready to be selected for a tool and a model: immutable, and free of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..grammar.ast import Json
from ..rules.kind import Effect, Kind, Spec
from .verdict import Source

POLICIES = ("conservative", "adaptive", "recover")


@dataclass(frozen=True, slots=True)
class Rule:
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


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A policy, for every model or for some."""

    profile: str
    families: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Disabled:
    """Built-in rules switched off, for some tools or for all (`tools` and `globs` empty)."""

    rules: tuple[str, ...]  # names or globs
    tools: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spoken:
    """What models print beside their arguments. `word`: `surroundings`, `quote-token` or `closing-form`."""

    word: str
    texts: tuple[str, ...]
    families: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Default:
    """What happens to a call that no `allow` or `ask` fits."""

    effect: Effect = Effect.ALLOW
    why: str = ""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Everything that a deployment's rule files say, in the order in which it applies."""

    rules: tuple[Rule, ...] = ()
    policies: tuple[PolicyRule, ...] = ()
    default: Default = Default()
    spoken: tuple[Spoken, ...] = ()
    disabled: tuple[Disabled, ...] = ()
    mutating: tuple[frozenset[str], tuple[str, ...]] = (frozenset(), ())  # tools known to change things
    source: Source = field(default_factory=lambda: Source("", ()))
    functions: Mapping[str, Callable[[Json], Json]] = field(default_factory=dict)
