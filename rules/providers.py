"""What providers take for a tool choice, and which models can be forced: `providers.yaml`, checked and read.

Source: `docs/palettes.md`. The file is data; `engine/lowering.py` fills its templates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import msgspec
from cerberus import Validator
from msgspec import Struct

from ..grammar.ast import Json
from ..grammar.diagnostics import nearest
from .regex import compile_regex

CHOICES = (
    *("auto", "none", "required", "tool", "custom", "hosted", "mcp"),
    *("allowed-auto", "allowed-required"),
)
WAYS = ("no-tools", "only", "filter")
FORMS = ("openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "mcp")  # of definitions
STATES = ("off", "enabled", "adaptive", "default")
FORCED = ("required", "tool")  # what `forms` can name


class ProviderError(ValueError):
    """A provider table that cannot be used; the message names every fault with its place."""


class Provider(Struct, frozen=True):
    """How one provider wants a choice. `choices`: request fields, or one of `WAYS`. See the file's head."""

    name: str
    title: str
    pattern: str
    longest: int
    choices: Mapping[str, Any]
    word: bool = False
    parallel: Mapping[str, Any] | None = None
    tools_at: tuple[str, ...] = ("tools",)
    keeps_tools: bool = False
    beside: Mapping[str, Json] = MappingProxyType({})
    hosted: frozenset[str] = frozenset()
    empty: Mapping[str, Json] = MappingProxyType({})
    kin: frozenset[str] = frozenset()  # itself, and those that it is like
    form: str | None = None  # of definitions


class Model(Struct, frozen=True):
    """Which calls the models that a pattern is found in can be forced to make, by thinking state."""

    providers: frozenset[str]
    matches: str | None
    force: Mapping[str, str]
    forms: frozenset[str]


class Providers(Struct, frozen=True):
    """The table: providers by every name that they go by, the rows for models, and the reserved words."""

    named: Mapping[str, Provider]
    models: tuple[Model, ...]
    reserved: frozenset[str]

    def find(self, name: str) -> Provider | None:
        return self.named.get(name)

    def nearest(self, name: str) -> str | None:
        """The name of a provider that may have been meant."""
        return nearest(name, self.named)

    def answer(self, provider: Provider, model: str | None, thinking: str, form: str) -> str:
        """Can the model be forced with this form? `ok`, `quiet`, or the code of the refusal."""
        for row in self.models:
            if not row.providers & provider.kin:
                continue
            if row.matches is None or (model is not None and compile_regex(row.matches).search(model)):
                if form not in row.forms:
                    return CANNOT
                return row.force.get(thinking, CANNOT)
        return "ok"


CANNOT = "provider_cannot_force"
ANSWERS = ("ok", "quiet", CANNOT, "forced_with_thinking", "forced_with_extended_thinking")
# How each choice may be made: by fields, or in one of these ways.
_WAYS_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "none": ("no-tools",),
        "tool": ("only",),
        "allowed-auto": ("filter",),
        "allowed-required": ("filter",),
    }
)
# What the fields of a choice must say, one of them.
_WORDS_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "tool": ("$name",),
        "custom": ("$name",),
        "hosted": ("$name",),
        "mcp": ("$server",),
        "allowed-auto": ("$names", "$entries"),
        "allowed-required": ("$names", "$entries"),
    }
)
_WORDS = ("$name", "$server", "$names", "$entries", "$offered")

_NAMES = {"type": "list", "schema": {"type": "string", "empty": False}}
_TEXT = {"type": "string", "empty": False}
_FIELDS = {"type": "dict", "keysrules": {"type": "string"}}
_PROVIDER: Mapping[str, Any] = {
    "title": {**_TEXT, "required": True},
    "also": _NAMES,
    "like": _TEXT,
    "names": {
        "type": "dict",
        "schema": {
            "pattern": {**_TEXT, "required": True},
            "longest": {"type": "integer", "min": 1, "required": True},
        },
    },
    "choice": {
        "type": "dict",
        "keysrules": {"allowed": list(CHOICES)},
        "valuesrules": {"anyof": [{"type": "dict"}, {"type": "string", "allowed": list(WAYS)}]},
    },
    "word": {"type": "boolean"},
    "parallel": {
        "type": "dict",
        "schema": {
            "off": {**_FIELDS, "required": True},
            "on": {**_FIELDS, "required": True},
            "choices": {"type": "list", "allowed": list(CHOICES)},
        },
    },
    "tools-at": {**_NAMES, "minlength": 1},
    "history": {"type": "string", "allowed": ["keeps-tools"]},
    "beside": _FIELDS,
    "hosted": _NAMES,
    "empty": _FIELDS,
    "form": {"type": "string", "allowed": list(FORMS)},
}
_MODEL: Mapping[str, Any] = {
    "providers": {**_NAMES, "required": True, "minlength": 1},
    "matches": _TEXT,
    "force": {
        "type": "dict",
        "required": True,
        "keysrules": {"allowed": list(STATES)},
        "valuesrules": {"type": "string", "allowed": list(ANSWERS)},
    },
    "forms": {"type": "list", "allowed": list(FORCED)},
}
_TABLE: Mapping[str, Any] = {
    "reserved": _NAMES,
    "providers": {
        "type": "dict",
        "keysrules": _TEXT,
        "valuesrules": {"type": "dict", "schema": _PROVIDER},
    },
    "models": {"type": "list", "schema": {"type": "dict", "schema": _MODEL}},
}


@cache
def shipped() -> Providers:
    """The table that ships with callgate."""
    import yaml

    text = (files(__package__) / "providers.yaml").read_text("utf-8")
    return read_providers(yaml.load(text, yaml.CSafeLoader))


def read_providers(document: object, base: Providers | None = None) -> Providers:
    """Check a table and read it; with `base` it adds to that one, and its rows for models come first.

    Raises:
        ProviderError: it has faults; all of them are named.
    """
    if not isinstance(document, dict):
        raise ProviderError(f"the providers are a table, not `{type(document).__name__}`")
    try:
        table: Any = msgspec.json.decode(msgspec.json.encode(document))  # JSON, and ours alone
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise ProviderError(f"the table is no JSON value: {error}") from None
    validator = Validator(_TABLE)
    if not validator.validate(table):
        raise ProviderError("; ".join(_faults(validator.errors, "")))
    named = dict(base.named) if base is not None else {}
    written: Mapping[str, Any] = table.get("providers", {})
    wrong: list[str] = []
    for name, entry in written.items():
        provider = _provider(name, written, named, wrong)
        if provider is None:
            continue
        wrong += _wrong_templates(provider)
        for each in (name, *entry.get("also", ())):
            if each != name and (each in written or named.get(each, provider).name != name):
                wrong.append(f"providers.{name}: `{each}` is another provider's name")
            else:
                named[each] = provider
    rows = tuple(_model(index, each, named, wrong) for index, each in enumerate(table.get("models", ())))
    if wrong:
        raise ProviderError("; ".join(wrong))
    reserved = frozenset(table.get("reserved", ()))
    if base is not None:
        return Providers(named, (*rows, *base.models), reserved | base.reserved)
    return Providers(named, rows, reserved)


def _provider(
    name: str, written: Mapping[str, Any], named: Mapping[str, Provider], wrong: list[str]
) -> Provider | None:
    """One provider with what it takes from the one that it is like; None with what is wrong."""
    fields: dict[str, Any] = {}
    known: Provider | None = None
    seen = [name]
    entry = written[name]
    while True:
        fields = {**entry, **fields}
        like = entry.get("like")
        if like is None:
            break
        if like in seen:
            wrong.append(f"providers.{name}: `like` leads back to `{like}`")
            return None
        if like not in written:
            known = named.get(like)
            if known is None:
                wrong.append(f"providers.{name}: there is no provider `{like}` that it could be like")
                return None
            break
        seen.append(like)
        entry = written[like]
    if known is None and not {"names", "choice"} <= fields.keys():
        wrong.append(f"providers.{name}: `names` and `choice` must be said, or taken with `like`")
        return None
    pattern, longest = (known.pattern, known.longest) if known is not None else ("", 0)
    if "names" in fields:
        pattern, longest = fields["names"]["pattern"], fields["names"]["longest"]
        if type(longest) is not int:
            wrong.append(f"providers.{name}.names.longest: must be of integer type")
        _check_pattern(pattern, f"providers.{name}.names.pattern", wrong)
    choices = fields.get("choice", known.choices if known is not None else {})
    own = written[name]
    kin = frozenset(seen) | (known.kin if known is not None else frozenset())
    return Provider(
        name,
        fields["title"],
        pattern,
        longest,
        MappingProxyType(choices),
        own.get("word", fields.get("word", known.word if known is not None else False)),
        fields.get("parallel", known.parallel if known is not None else None),
        tuple(fields.get("tools-at", known.tools_at if known is not None else ("tools",))),
        "history" in fields or (known is not None and known.keeps_tools),
        MappingProxyType(own.get("beside", {})),
        frozenset(fields.get("hosted", known.hosted if known is not None else ())),
        MappingProxyType(fields.get("empty", known.empty if known is not None else {})),
        kin,
        fields.get("form", known.form if known is not None else None),
    )


def _wrong_templates(provider: Provider) -> list[str]:
    """What would send something else than was chosen."""
    wrong: list[str] = []
    where = f"providers.{provider.name}.choice"
    choices = provider.choices
    if not isinstance(choices.get("auto"), dict):
        wrong.append(f"{where}.auto: its fields must be said, if only as {{}}")
    for choice, way in choices.items():
        if isinstance(way, str):
            if way not in _WAYS_OF.get(choice, ()):
                wrong.append(f"{where}.{choice}: `{way}` is no way to make this choice")
            continue
        words = list(_words(way))
        wrong += [f"{where}.{choice}: `{word}` stands for nothing" for word in words if word not in _WORDS]
        wanted = _WORDS_OF.get(choice, ())
        if wanted and not any(word in words for word in wanted):
            wrong.append(f"{where}.{choice}: it says nowhere which: {' or '.join(wanted)}")
        bare = [field for field, value in way.items() if value == "$name"]
        if bare and not provider.word:
            wrong.append(f"{where}.{choice}.{bare[0]}: a bare name may be read as a mode; say `word: true`")
        if "$entries" in words and not _names_one(choices.get("tool")):
            wrong.append(f"{where}.{choice}: `$entries` needs a `tool` with the field `tool_choice`")
    only = [
        choice for choice, way in choices.items() if way in ("only", "filter") and choice != "allowed-auto"
    ]
    if only and not isinstance(choices.get("required"), dict):
        wrong.append(f"{where}.{only[0]}: it needs the fields of `required`")
    switch = provider.parallel or {}
    for choice in switch.get("choices", choices):
        way = choices.get(choice)
        for state in ("off", "on"):
            for field, value in switch.get(state, {}).items():
                other = way.get(field) if isinstance(way, dict) else None
                if other is not None and not (isinstance(value, dict) and isinstance(other, dict)):
                    wrong.append(
                        f"providers.{provider.name}.parallel.{state}: `{field}` is a field of `{choice}`"
                    )
    return wrong


def _words(template: Any) -> Iterator[str]:
    """The texts of a template that begin with `$`. Iterative."""
    todo = [template]
    while todo:
        here = todo.pop()
        if isinstance(here, dict):
            todo += here.values()
        elif isinstance(here, list):
            todo += here
        elif isinstance(here, str) and here.startswith("$"):
            yield here


def _names_one(way: Any) -> bool:
    return isinstance(way, dict) and isinstance(way.get("tool_choice"), dict)


def _model(index: int, row: Mapping[str, Any], named: Mapping[str, Provider], wrong: list[str]) -> Model:
    wrong += [
        f"models[{index}].providers: there is no provider `{each}`"
        for each in row["providers"]
        if each not in named or named[each].name != each
    ]
    if "matches" in row:
        _check_pattern(row["matches"], f"models[{index}].matches", wrong)
    return Model(
        frozenset(row["providers"]), row.get("matches"), row["force"], frozenset(row.get("forms", FORCED))
    )


def _check_pattern(pattern: str, where: str, wrong: list[str]) -> None:
    try:
        compile_regex(pattern)
    except ValueError as error:
        wrong.append(f"{where}: {error}")


def _faults(errors: Mapping[Any, Any], place: str) -> Iterable[str]:
    """Cerberus nests what it finds: every fault with its place, `providers.x.choice: …`."""
    todo: list[tuple[str, Any]] = [(place, errors)]
    found: list[str] = []
    while todo:
        where, here = todo.pop()
        if isinstance(here, Mapping):
            todo += [(f"{where}.{key}" if where else str(key), value) for key, value in here.items()]
        elif isinstance(here, list):
            todo += [(where, value) for value in here]
        else:
            found.append(f"{where}: {here}")
    return sorted(found)
