"""Stage 1: settles the name of the tool that a call is for, among the registered ones.

Source: `docs/pipeline.md`, stage 1. Each step works on what the one before gave; the first registered
result is taken. Nothing here guesses: no edit distance, and a form that fits two tools fits none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct, field

from .domain import Refusal
from .verdict import Change

LONGEST = 1024  # code points of a name that is looked at
_CUT = re.compile(r"<\||</|\[(?:ARGS|TOOL_CALLS)\]")
_ARGUMENTS = re.compile(r"\{\s{0,64}[^}\s]")  # an object that is not empty
_INDEX = re.compile(r":[0-9]{1,9}\Z")
_PREFIXES = ("functions.", "tools.", "default_api.")
_QUOTES = " \t\r\n\"'`“”‘’"


class Rename(Struct, frozen=True):
    """A `rename` rule of a block: `apply(name sent)` gives the tool's name or None."""

    rule: str
    apply: Callable[[str], str | None]
    note: str | None


class Registered(Struct, frozen=True):
    """The registered names, indexed for the forms in which models write them."""

    registered: frozenset[str]
    folded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bare: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # without mcp__SERVER__

    @staticmethod
    def of(tools: Mapping[str, object]) -> Registered:
        folded: dict[str, list[str]] = {}
        bare: dict[str, list[str]] = {}
        for name in tools:
            folded.setdefault(_fold(name), []).append(name)
            rest = _without_server(name)
            bare.setdefault(rest if rest is not None else name, []).append(name)
        return Registered(
            frozenset(tools),
            {key: tuple(found) for key, found in folded.items()},
            {key: tuple(found) for key, found in bare.items()},
        )


def settle(
    name: str,
    names: Registered,
    renames: tuple[Rename, ...],
    offers: Callable[[str], bool] | None = None,
) -> tuple[str, tuple[Change, ...]] | Refusal:
    """The registered name that a call's name means, with what was changed; or why there is none.

    `offers`: which of them the model may be told of; None for all.
    """
    cut = _CUT.search(name)
    if "<arg_" in name or (cut is not None and _ARGUMENTS.search(name, cut.start())):
        return Refusal(
            "lost-arguments",
            "The tool's name held argument markup, so arguments were lost. Send the call again.",
        )
    if len(name) <= LONGEST:
        steps: list[tuple[str, str, str | None]] = []
        here = name
        for rule, kind, new, note in _steps(name, names, renames):
            if new == here or not new:
                continue
            steps.append((rule, kind, note))
            here = new
            if here in names.registered:
                usual = f"The tool is called `{here}`; you wrote `{name[:64]}`."
                return here, tuple(
                    Change(rule, kind, "name", "", note or usual) for rule, kind, note in steps
                )
    from ..grammar.diagnostics import nearest

    told = [each for each in sorted(names.registered) if offers is None or offers(each)]
    near = nearest(name, told)
    listed = ", ".join(f"`{each[:64]}`" for each in told[:20])
    help_text = (
        f"Did you mean `{near}`?"
        if near
        else f"The tools are: {listed}."
        if listed
        else "There are no tools."
    )
    return Refusal("unknown-tool", f"There is no tool `{name[:64]}`. {help_text}")


def _steps(
    name: str, names: Registered, renames: tuple[Rename, ...]
) -> Iterator[tuple[str, str, str, str | None]]:
    """The steps in order: rule, kind, the new name, its own note."""
    here = name
    for rename in renames:
        new = rename.apply(here)
        if new is not None and new in names.registered:
            yield rename.rule, "rename", new, rename.note
            return
    for kind, apply in _FORMS:
        new = apply(here, names)
        if new is not None and new != here:
            yield f"name.{kind}", f"name.{kind}", new, None
            here = new


def _trim(name: str, _names: Registered) -> str | None:
    return name.strip(_QUOTES)


def _cut(name: str, _names: Registered) -> str | None:
    found = _CUT.search(name)
    return name[: found.start()].rstrip(_QUOTES) if found else None


def _prefix(name: str, _names: Registered) -> str | None:
    return next((name[len(prefix) :] for prefix in _PREFIXES if name.startswith(prefix)), None)


def _index(name: str, _names: Registered) -> str | None:
    return _INDEX.sub("", name)


def _twice(name: str, _names: Registered) -> str | None:
    half = len(name) // 2
    return name[:half] if len(name) % 2 == 0 and name[:half] == name[half:] else None


def _server(name: str, names: Registered) -> str | None:
    rest = _without_server(name)
    if rest is not None:  # another server's tool is another tool
        return rest if rest in names.registered else None
    found = names.bare.get(name, ())
    return found[0] if len(found) == 1 else None


def _spelling(name: str, names: Registered) -> str | None:
    found = names.folded.get(_fold(name), ())
    return found[0] if len(found) == 1 else None


_FORMS: tuple[tuple[str, Callable[[str, Registered], str | None]], ...] = (
    ("trim", _trim),
    ("cut", _cut),
    ("prefix", _prefix),
    ("index", _index),
    ("twice", _twice),
    ("server", _server),
    ("spelling", _spelling),
)


def _without_server(name: str) -> str | None:
    """What follows `mcp__SERVER__`, or None where the name does not begin so."""
    if not name.startswith("mcp__"):
        return None
    _, separator, rest = name[5:].partition("__")
    return rest if separator and rest else None


def _fold(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()
