"""The statements that are no rules, read: one frozen value each, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from ..grammar.ast import Json, Statement, Text, Word
from ..grammar.diagnostics import Diagnostic, Severity
from ..grammar.span import NOWHERE, Span
from . import faults
from .catalog import kinds
from .fitting import items_and_block, read_form, read_tool_names
from .forms import FORMS
from .groundblock import read_ground, read_preset
from .grounds import GroundBlock, PresetBlock
from .kind import Effect
from .paletteblock import read_palette
from .palettes import PaletteBlock
from .shapes import Fields
from .testblock import TestCase, read_test
from .toolnames import LONGEST_NAME, ToolName
from .versions import check_spec, check_version


class Pack(Struct, frozen=True):
    name: str
    version: str
    what: str = ""
    span: Span = NOWHERE


class Requires(Struct, frozen=True):
    """The versions of callgate that the file was written for, a `semantic_version.SimpleSpec`."""

    spec: str
    span: Span = NOWHERE


class Use(Struct, frozen=True):
    name: str
    spec: str | None = None
    span: Span = NOWHERE


class Family(Struct, frozen=True):
    """Models by name: those whose id one of the regular expressions is found in."""

    name: str
    patterns: tuple[str, ...]
    span: Span = NOWHERE


class Let(Struct, frozen=True):
    name: str
    value: Json
    span: Span = NOWHERE


class Policy(Struct, frozen=True):
    """`profile`: `conservative`, `adaptive` or `recover`. `families` None: for every model."""

    profile: str
    families: tuple[Word | Text, ...] | None = None
    span: Span = NOWHERE


class Spoken(Struct, frozen=True):
    """What models print beside their arguments. `word`: `surroundings`, `quote-token` or `closing-form`."""

    word: str
    texts: tuple[str, ...]
    families: tuple[Word | Text, ...] | None = None
    span: Span = NOWHERE


class Default(Struct, frozen=True):
    effect: Effect
    why: str = ""
    span: Span = NOWHERE


class ToolBlock(Struct, frozen=True):
    """Rules for some tools. `in_glob`: one of its names is a glob."""

    names: tuple[ToolName, ...]
    block: tuple[Statement, ...]
    span: Span = NOWHERE

    @property
    def in_glob(self) -> bool:
        return any(name.glob for name in self.names)


class Disable(Struct, frozen=True):
    """Rules by name, structural ID, kind or glob; off through the UTC day `until` (`YYYY-MM-DD`)."""

    rules: tuple[str, ...]
    why: str
    until: str | None = None
    span: Span = NOWHERE


Declaration: TypeAlias = (
    "Pack | Requires | Use | Family | Let | Policy | Spoken | Default | ToolBlock | Disable"
    " | PaletteBlock | GroundBlock | PresetBlock | TestCase"
)


def words(block: str | None = None) -> frozenset[str]:
    """The words that begin a statement: of the file (None), or of the block that this word opens."""
    if block is None:
        return frozenset(FORMS[None])
    if block == "tool":
        return frozenset(FORMS["tool"]) | frozenset(kinds()) | {"shadow"}
    if block in FORMS:
        return frozenset(FORMS[block])
    kind = kinds().get(block)
    return frozenset() if kind is None or kind.block is None else kind.block


def read(
    statement: Statement, block: str | None = None, file: str = "<text>"
) -> tuple[Declaration | None, list[Diagnostic]]:
    """Read a statement that is no rule, standing in `block` (None: the file, or `tool`).

    Nothing is returned for a statement that has errors. Rules of a tool block are `reader.read_rule`'s.
    """
    form = FORMS[block].get(statement.word.text)
    if form is None:
        if block is None and statement.word.text in kinds():
            return None, [faults.rule_outside(statement, block, file)]
        return None, [faults.unknown_statement(statement, block, words(block), file)]
    fields, found = read_form(statement, form, file)
    if fields is None:
        return None, found
    declaration, more = _READERS[form.word](statement, fields, file)
    wrong = any(fault.severity is Severity.ERROR for fault in more)
    return (None if wrong else declaration), found + more


Read: TypeAlias = "tuple[Declaration | None, list[Diagnostic]]"


def _pack(statement: Statement, fields: Fields, file: str) -> Read:
    version = fields.name("version")
    found = _checked(check_version, version, fields, "version", "G501", file)
    return Pack(fields.name("name"), version, fields.text("what") or "", statement.span), found


def _requires(statement: Statement, fields: Fields, file: str) -> Read:
    spec = fields.name("spec")
    return Requires(spec, statement.span), _checked(check_spec, spec, fields, "spec", "G502", file)


def _use(statement: Statement, fields: Fields, file: str) -> Read:
    spec = fields.text("spec")
    found = [] if spec is None else _checked(check_spec, spec, fields, "spec", "G502", file)
    return Use(fields.name("name"), spec, statement.span), found


def _family(statement: Statement, fields: Fields, file: str) -> Read:
    atoms = [atom for atom in fields.groups["pattern"] if isinstance(atom, Text)]
    found = [bad for atom in atoms if (bad := faults.check_regex(atom, file)) is not None]
    return Family(fields.name("name"), fields.names("pattern"), statement.span), found


def _let(statement: Statement, fields: Fields, _file: str) -> Read:
    return Let(fields.name("name"), fields.json("value"), statement.span), []


def _policy(statement: Statement, fields: Fields, _file: str) -> Read:
    return Policy(fields.name("profile"), statement.families, statement.span), []


def _spoken(statement: Statement, fields: Fields, file: str) -> Read:
    texts = fields.names("text")
    found = [
        Diagnostic("G103", message, atom.span, help="write what the model prints", file=file)
        for atom, text in zip(fields.groups["text"], texts, strict=True)
        if (message := _unspeakable(statement.word.text, text)) is not None
    ]
    return Spoken(statement.word.text, texts, statement.families, statement.span), found


def _unspeakable(word: str, text: str) -> str | None:
    """Why a text cannot be what a model prints beside its arguments, or None."""
    if not text.strip():
        return "the text is empty"
    if len(text) > LONGEST_NAME:
        return f"the text has more than {LONGEST_NAME} characters"
    if word == "surroundings" and any(mark in text for mark in '{}"'):
        return "words around arguments hold no braces and no quotes"
    if word == "quote-token" and len(text.strip()) < 2:
        return "a quote token has at least two characters"
    return None


def _default(statement: Statement, fields: Fields, file: str) -> Read:
    effect, why = Effect(fields.name("effect")), fields.text("why")
    found = []
    if why is None and effect is not Effect.ALLOW:
        message = f"`default {effect.value}` must say why"
        help_ = f'write `default {effect.value} "WHY"`'
        found.append(Diagnostic("G206", message, statement.span, help=help_, file=file))
    if why is not None and effect is Effect.ALLOW:
        message = "`default allow` takes no reason"
        found.append(Diagnostic("G206", message, fields.atom("why").span, help="leave it out", file=file))
    return Default(effect, why or "", statement.span), found


def _tool(statement: Statement, fields: Fields, file: str) -> Read:
    names, found = read_tool_names(fields.groups["name"], file)
    return ToolBlock(names, items_and_block(statement, True)[1] or (), statement.span), found


def _disable(statement: Statement, fields: Fields, _file: str) -> Read:
    return Disable(fields.names("rule"), fields.name("why"), fields.text("date"), statement.span), []


def _test(statement: Statement, fields: Fields, file: str) -> Read:
    return read_test(statement, fields.name("title"), file)


def _palette(statement: Statement, fields: Fields, file: str) -> Read:
    return read_palette(statement, fields.name("name"), file)


def _ground(statement: Statement, _fields: Fields, file: str) -> Read:
    return read_ground(statement, file)


def _preset(statement: Statement, fields: Fields, file: str) -> Read:
    return read_preset(statement, fields.name("name"), file)


_READERS: Mapping[str, Callable[[Statement, Fields, str], Read]] = MappingProxyType(
    {
        "pack": _pack,
        "requires": _requires,
        "use": _use,
        "family": _family,
        "let": _let,
        "policy": _policy,
        "surroundings": _spoken,
        "quote-token": _spoken,
        "closing-form": _spoken,
        "default": _default,
        "tool": _tool,
        "disable": _disable,
        "ground": _ground,
        "palette": _palette,
        "preset": _preset,
        "test": _test,
    }
)


def _checked(
    check: Callable[[str], None], text: str, fields: Fields, label: str, code: str, file: str
) -> list[Diagnostic]:
    try:
        check(text)
    except ValueError as error:
        return [Diagnostic(code, str(error), fields.atom(label).span, file=file)]
    return []
