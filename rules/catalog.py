"""Where kinds are found: the folder `kinds`, and the entry points of installed packages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from types import MappingProxyType

from cerberus import Validator
from cerberus.schema import SchemaError

from . import kinds as _folder
from .forms import FORMS
from .kind import Kind

GROUP = "callgate.kinds"
_WORD = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")
# Suffixes and the words of conditions, which no kind may take for itself.
RESERVED = frozenset(
    {"for", "when", "unless", "note", "named", "from", "and", "or", "not", "in", "any", "every", "present"}
    | {"missing", "after", "true", "false", "null", "shadow"}
)


class CatalogError(Exception):
    """A kind cannot be part of the language. The message names it, or the entry point that offers it."""


@cache
def kinds() -> Mapping[str, type[Kind]]:
    """Every kind by its keyword, in the order of the keywords.

    Raises:
        CatalogError: a clause of a kind could never be written; or an entry point of the group
            `callgate.kinds` does not load, is no kind, or clashes.
    """
    return gather(own(), entry_points(group=GROUP))


def own() -> Mapping[str, type[Kind]]:
    """The kinds of this package: each module in `kinds` names its own with `KIND`.

    Raises:
        CatalogError: a clause of one could never be written.
    """
    found: dict[str, type[Kind]] = {}
    for module in iter_modules(_folder.__path__):
        kind: type[Kind] = import_module(f"{_folder.__name__}.{module.name}").KIND
        fault = _clause_fault(kind)
        if fault is not None:
            raise CatalogError(f"the kind `{kind.keyword}` of `rules/kinds/{module.name}.py`: {fault}")
        found[kind.keyword] = kind
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
            raise CatalogError(f"{where} does not load: {type(error).__name__}: {error}") from error
        if not (isinstance(kind, type) and issubclass(kind, Kind)):
            raise CatalogError(f"{where} is no class derived from `callgate.rules.kind.Kind`")
        fault = _fault(kind)
        if fault is None and kind.keyword in found:
            fault = f"the kind `{kind.keyword}` exists already"
        if fault is not None:
            raise CatalogError(f"{where}: {fault}")
        found[kind.keyword] = kind
    return MappingProxyType(dict(sorted(found.items())))


def _fault(kind: type[Kind]) -> str | None:
    """Why a kind from outside cannot be part of the language, or None."""
    keyword = getattr(kind, "keyword", None)
    if not isinstance(keyword, str) or not _WORD.fullmatch(keyword):
        return "its `keyword` is no name"
    if getattr(kind, "phase", None) is None:
        return "it has no `phase`"
    if keyword in _taken():
        return f"`{keyword}` is a word of the language"
    fault = _clause_fault(kind)
    if fault is not None:
        return fault
    try:
        Validator(kind.clauses)
    except SchemaError as error:
        return f"its clauses are no Cerberus schema: {error}"
    return None


def _clause_fault(kind: type[Kind]) -> str | None:
    """Why a rule of the kind could never be written with one of its clauses, or None."""
    for name in sorted(kind.clauses, key=str):
        if not isinstance(name, str) or not _WORD.fullmatch(name):
            return f"its clause `{name}` is no word, so no rule could be written with it"
        # `from` is the one reserved word that begins no suffix and no test, and so may be a clause.
        if name != "from" and name in _taken():
            return f"its clause `{name}` is a word of the language"
    return None


def _taken() -> frozenset[str]:
    return RESERVED.union(FORMS[None], FORMS["tool"])
