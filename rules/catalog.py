"""Where kinds are found: the folder `kinds`, and the entry points of installed packages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import PurePath
from pkgutil import iter_modules
from string import Template
from traceback import walk_tb
from types import MappingProxyType
from typing import Any

from cerberus import Validator
from cerberus.schema import SchemaError

from ..grammar.ast import Json, Pointer, Segment
from . import kinds as _folder
from .forms import FORMS
from .kind import Action, Example, Kind, Phase, Place, Selecting, Spec, Title

GROUP = "callgate.kinds"
_WORD = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")
# Suffixes and the words of conditions, which no kind may take for itself.
RESERVED = frozenset(
    {"for", "when", "unless", "note", "named", "from", "and", "or", "not", "in", "any", "every", "present"}
    | {"missing", "after", "true", "false", "null", "shadow"}
)


class CatalogError(Exception):
    """A kind cannot be part of the language. The message names its file or entry point."""


@cache
def kinds() -> Mapping[str, type[Kind]]:
    """Every kind by its keyword, in the order of the keywords.

    Raises:
        CatalogError: a file in `kinds`, or an entry point of the group `callgate.kinds`, does not load,
            offers no kind, one that could not work, or one whose keyword is taken.
    """
    return gather(own(), entry_points(group=GROUP))


def own() -> Mapping[str, type[Kind]]:
    """The kinds of this package: each module in `kinds` names its own with `KIND`.

    Raises:
        CatalogError: see `kinds`.
    """
    found: dict[str, type[Kind]] = {}
    files: dict[str, str] = {}
    for module in iter_modules(_folder.__path__):
        file = f"rules/kinds/{module.name}.py"
        try:
            kind = getattr(import_module(f"{_folder.__name__}.{module.name}"), "KIND", None)
        except Exception as error:
            raise CatalogError(f"`{file}` does not load: {_said(error, module.name)}") from error
        if kind is None:
            raise CatalogError(f"`{file}` has no kind: it ends in `KIND = ` and its class")
        fault = _fault(kind)
        if fault is None and kind.keyword in files:
            fault = f"`{files[kind.keyword]}` has this keyword too"
        if fault is not None:
            keyword = getattr(kind, "keyword", None)
            named = f"the kind `{keyword}` of " if isinstance(keyword, str) else ""
            raise CatalogError(f"{named}`{file}`: {fault}")
        found[kind.keyword], files[kind.keyword] = kind, file
    return found


def gather(known: Mapping[str, type[Kind]], offered: Iterable[EntryPoint]) -> Mapping[str, type[Kind]]:
    """The known kinds and those that entry points offer.

    Raises:
        CatalogError: see `kinds`.
    """
    found = dict(known)
    for point in sorted(offered, key=lambda point: (point.name, point.value)):
        where = f"entry point `{point.name} = {point.value}` of `{GROUP}`"
        try:
            kind = point.load()
        except Exception as error:
            raise CatalogError(f"{where} does not load: {_said(error)}") from error
        fault = _fault(kind)
        if fault is None and kind.keyword in found:
            fault = f"the kind `{kind.keyword}` exists already"
        if fault is not None:
            raise CatalogError(f"{where}: {fault}")
        found[kind.keyword] = kind
    return MappingProxyType(dict(sorted(found.items())))


def _said(error: Exception, module: str | None = None) -> str:
    """An error that was raised while something loaded, with the last line of the module that led to it."""
    lines = [
        line
        for frame, line in walk_tb(error.__traceback__)
        if module is not None and PurePath(frame.f_code.co_filename).stem == module
    ]
    return f"{type(error).__name__}: {error}" + (f" (line {lines[-1]})" if lines else "")


def _fault(kind: object) -> str | None:
    """Why something that is offered as a kind cannot be part of the language, or None."""
    if not (isinstance(kind, type) and issubclass(kind, Kind)):
        return "what it offers is no class derived from `callgate.rules.kind.Kind`"
    fault = _fact_fault(kind) or _clause_fault(kind) or _example_fault(kind) or _guard_fault(kind)
    if fault is None and not (kind.__doc__ or "").strip():
        return "it has no docstring, which is its page in the docs"
    return fault


def _fact_fault(kind: type[Kind]) -> str | None:
    keyword = getattr(kind, "keyword", None)
    if not isinstance(keyword, str) or not _WORD.fullmatch(keyword):
        return "its `keyword` is no name"
    if keyword in _taken():
        return f"`{keyword}` is a word of the language"
    if getattr(kind, "phase", None) is None:
        return "it has no `phase`"
    for name, wanted in (("phase", Phase), ("selecting", Selecting), ("title", Title), ("clauses", Mapping)):
        if not isinstance(getattr(kind, name), wanted):
            return f"its `{name}` is no `{wanted.__name__}`"
    return None


def _clause_fault(kind: type[Kind]) -> str | None:
    """Why a rule of the kind could never be written with one of its clauses, or None."""
    for name in sorted(kind.clauses, key=str):
        if not isinstance(name, str) or not _WORD.fullmatch(name):
            return f"its clause `{name}` is no word, so no rule could be written with it"
        # `from` is the one reserved word that begins no suffix and no test, and so may be a clause.
        if name != "from" and name in _taken():
            return f"its clause `{name}` is a word of the language"
    try:
        Validator(kind.clauses)
    except (SchemaError, TypeError) as error:  # the second where a clause is no mapping at all
        return f"its clauses are no Cerberus schema: {error}"
    return None


def _example_fault(kind: type[Kind]) -> str | None:
    if not isinstance(kind.examples, tuple):
        return "its `examples` are no tuple"
    for number, example in enumerate(kind.examples, 1):
        if not isinstance(example, Example):
            return f"its example {number} is no `Example`"
    return None


def _guard_fault(kind: type[Kind]) -> str | None:
    """What is wrong with the action of a plain rule of the kind, or None.

    The rule is made up here, since to parse one would load the parser; a kind that cannot be built
    from it is left to the tests of its examples.
    """
    if kind.phase is not Phase.PREPROCESS:
        return None
    selectors = () if kind.selecting is Selecting.NONE else (Pointer(("x",)),)
    block = None if kind.block is None else ()
    try:
        clauses = {
            name: _sample(rules)
            for name, rules in kind.clauses.items()
            if rules.get("required") or "default" in rules
        }
        action = kind.build(Spec(kind.keyword, "x", selectors, clauses, block), _Anywhere())
    except Exception:  # a rule of its own making may be none that the kind can do anything with
        return None
    if action is None:
        return None
    if not isinstance(action, Action):
        return "its `build` gives no `Action`"
    if action.guard is None:
        return None
    try:
        compile(Template(action.guard).safe_substitute(dict.fromkeys(action.names, "v")), "guard", "eval")
    except (SyntaxError, ValueError) as error:
        return f"its guard `{action.guard}` is no Python expression: {error.args[0]}"
    return None


def _sample(rules: Mapping[str, Any]) -> Any:
    """A value that a clause may have, as far as its own type and words say."""
    if "default" in rules:
        return rules["default"]
    word = next(iter(rules.get("allowed", ())), "x")
    return {"boolean": True, "number": 1, "dict": {}, "list": [word]}.get(rules.get("type", ""), word)


class _Anywhere:
    """A place whose schema takes every value."""

    known = True
    is_pattern = False
    is_map = False
    types = frozenset({"null", "boolean", "number", "string", "array", "object"})

    def accepts(self, value: Json) -> bool:
        return True

    def declares(self, name: str) -> bool:
        return False

    def requires(self, name: str) -> bool:
        return False

    def child(self, segment: Segment) -> Place:
        return self


def _taken() -> frozenset[str]:
    return RESERVED.union(FORMS[None], FORMS["tool"])
