"""deployment.yaml, read: the settings, where each of them stands, and everything that is wrong with them.

Source: `docs/deployments.md`. Text is expanded before it is given a type: `depth: ${DEPTH}` is a number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from msgspec import Struct
from msgspec.structs import replace

from ..grammar.ast import Json
from ..grammar.diagnostics import Diagnostic, nearest
from ..grammar.mistakes import MOST
from ..grammar.pointer import read_pointer
from ..grammar.span import NOWHERE, Span
from .documents import plain_value
from .domain import DEEPEST, Limits, value_fault
from .errors import InputError
from .ir import POLICIES
from .log import BOUNDS, LogSettings
from .passwords import without_password
from .patterns import absolute
from .stores import store_name, url_from

LARGEST = 1_000_000  # bytes of a deployment file
_DEEPEST = 64  # values inside each other in a deployment file
_MOST = 100_000  # values in one
_TOO_MUCH = f"this holds more than {_MOST} values or is nested too deep, once aliases are followed"
Place: TypeAlias = tuple[str | int, ...]
_VARIABLE = re.compile(r"\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\})?")


def _no_nul(field: str, value: Any, error: Callable[[str, str], None]) -> None:
    if type(value) is str and "\0" in value:
        error(field, "holds a NUL\ntake it out: no path has one")


def _store(field: str, value: Any, error: Callable[[str, str], None]) -> None:
    try:
        store_name(url_from(value if type(value) is str else "memory", os.sep))
    except InputError as fault:
        error(field, f"cannot be used: {fault}\nwrite `memory`, or a URL such as `sqlite:///gate.db`")


def _mask(field: str, value: Any, error: Callable[[str, str], None]) -> None:
    try:
        read_pointer(value if type(value) is str else "")
    except ValueError as fault:
        error(field, f"is no JSON Pointer: {fault}\nwrite it as in `/password` or `/rows/*/key`")


_TEXT = {"type": "string", "minlength": 1}
_PATH = {**_TEXT, "check_with": _no_nul}
_PATHS = {"type": "list", "schema": _PATH}
_COUNT = {"type": "integer", "min": 1, "max": 1 << 40}
# What may stand where: a Cerberus schema. `meant` says it in words, `example` is what to write.
SCHEMA: Mapping[str, Any] = {
    "packs": {**_PATHS, "meta": {"meant": "a list of names, `name@range` or paths", "example": "[shipped]"}},
    "rules": {**_PATHS, "meta": {"meant": "a list of files or patterns", "example": "[./rules/*.gate]"}},
    "tools": {**_PATH, "meta": {"meant": "the path of a JSON or YAML file", "example": "./tools.json"}},
    "models": {
        "type": "dict",
        "keysrules": _TEXT,
        "valuesrules": _TEXT,
        "meta": {"meant": "a mapping of names to model ids", "example": "{acme/fast: moonshotai/kimi-k2}"},
    },
    "policy": {"type": "string", "allowed": list(POLICIES)},
    "default": {"type": "string", "required": True, "allowed": ["allow", "ask", "deny"]},
    "why": {
        **_TEXT,
        "meta": {"meant": "a text that says why `default` denies or asks", "example": "ask the owner"},
    },
    "lock": {"type": "string", "allowed": ["required"]},
    "cwd": {**_PATH, "meta": {"meant": "the path of a folder", "example": "/srv/project"}},
    "let": {
        "type": "dict",
        "keysrules": _TEXT,
        "meta": {"meant": "a mapping of names to values", "example": "{workspace: /srv/project}"},
    },
    "limits": {
        "type": "dict",
        "schema": {"input-bytes": _COUNT, "depth": {"type": "integer", "min": 1, "max": DEEPEST}},
        "meta": {"example": "{depth: 64}"},
    },
    "state": {
        **_TEXT,
        "check_with": _store,
        "meta": {"meant": "`memory`, or the URL of a store", "example": "sqlite:///gate.db"},
    },
    # Said by those who want it in writing; there is nothing else that it could be.
    "on-store-error": {"type": "string", "allowed": ["refuse"]},
    "log": {
        "type": "dict",
        "schema": {
            "to": {**_PATH, "required": True, "meta": {"meant": "the path of a file, or `stdout`"}},
            "values": {"type": "boolean"},
            "mask": {
                "type": "list",
                "schema": {**_TEXT, "check_with": _mask},
                "meta": {"meant": "a list of JSON Pointers such as `/password`"},
            },
            **{
                name.replace("_", "-"): {"type": "integer", "min": least, "max": most}
                for name, (least, most) in BOUNDS.items()
            },
        },
        "meta": {"example": "{to: ./decisions.jsonl}"},
    },
    "reload": {
        "type": "dict",
        "schema": {
            "watch": {"type": "boolean"},
            "keep-last-good": {"type": "boolean"},
            "quiet-ms": {"type": "integer", "min": 10, "max": 10_000},
            "poll": {"type": "boolean"},
        },
        "meta": {"example": "{watch: true}"},
    },
}
_TYPES = {
    "string": "text",
    "boolean": "`true` or `false`",
    "integer": "a whole number",
    "list": "a list",
    "dict": "a mapping",
}


class Settings(Struct, frozen=True):
    """A deployment's settings. Paths are absolute; `spans` says where each setting stands.

    `whole`: nothing of `packs` and `rules` was wrong, and left out.
    """

    file: str
    folder: Path
    default: str
    why: str = ""
    packs: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    tools: str | None = None
    models: Mapping[str, str] = {}
    policy: str | None = None
    lock: str | None = None
    cwd: str | None = None
    let: Mapping[str, Json] = {}
    limits: Limits = Limits()
    state: str = "memory"
    log: LogSettings | None = None
    watch: bool = False
    keep_last_good: bool = True
    quiet: float = 0.1
    poll: bool | None = None
    spans: Mapping[Place, Span] = {}
    whole: bool = True

    @property
    def store_files(self) -> tuple[str, ...]:
        """The paths that a store which is a file writes to."""
        if not self.state.startswith("sqlite:"):
            return ()
        return tuple(store_name(self.state) + end for end in ("", "-wal", "-shm", "-journal"))

    def at(self, *place: str | int) -> Span:
        """Where a setting stands, or the nearest one above it that does."""
        return _at(self.spans, place)

    def model(self, name: str | None) -> str | None:
        """What a model is, by what the deployment calls it."""
        return self.models.get(name, name) if self.models and type(name) is str else name


def read_settings(
    text: str, path: Path, environment: Mapping[str, str] | None = None
) -> tuple[Settings | None, list[Diagnostic]]:
    """The settings of a deployment file, and everything that is wrong with them.

    Those that are wrong are left out, so that the rest can be looked at. None: nothing can be told of them.
    """
    file = str(path)
    reading = _Reading(file, os.environ if environment is None else environment)
    document = reading.document(text)
    found = list(reading.found)
    wrong = {place[:1] for place in reading.unknown}
    if document is None:
        return None, found
    # What could not be expanded has no value that could be wrong.
    for place, fault in _faults(document, reading, file):
        wrong.add(place[:1])
        found.append(fault)
    found.sort(key=lambda each: each.span.start)
    if () in wrong:
        return None, found
    sound = {name: value for name, value in document.items() if (name,) not in wrong}
    settings = _settings(sound, path, reading.spans)
    # A name that is none may have been meant for one of the two.
    whole = all(name in SCHEMA and name not in ("packs", "rules") for (name,) in wrong)
    return replace(settings, whole=whole), found


class _Reading:
    """YAML to values of the JSON domain, with the place of each; variables of the environment expanded."""

    def __init__(self, file: str, environment: Mapping[str, str]) -> None:
        self.file = file
        self.environment = environment
        self.spans: dict[Place, Span] = {}
        self.unknown: set[Place] = set()  # what has no value that is certain
        self.variables: dict[Place, str] = {}  # what was expanded, and the variables in it
        self.found: list[Diagnostic] = []
        self.too_much = False

    def document(self, text: str) -> Any:
        try:
            node = yaml.compose(text, yaml.CSafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            span = Span(mark.index, mark.index, mark.line + 1, mark.column + 1) if mark else NOWHERE
            help_ = "write each setting as `name: value`, and a text with special characters in quotes"
            if mark is not None and "${" in text[: mark.index + 1].rpartition("\n")[2]:
                help_ = 'inside `{ }` and `[ ]`, put what has a variable in quotes: `"${NAME}"`'
            self._wrong("G701", f"this is no YAML: {error.problem or error.context}", span, help_)
            return None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            self._wrong("G701", f"this is no YAML: {' '.join(str(error).split())[:200]}", NOWHERE)
            return None
        if not isinstance(node, yaml.MappingNode):
            help_ = "begin with `default: deny`"
            self._wrong("G701", "a deployment is a mapping of settings", NOWHERE, help_)
            return None
        return self._value(node, (), 0)

    def _value(self, node: yaml.Node, place: Place, depth: int) -> Any:
        if depth > _DEEPEST or len(self.spans) >= _MOST:
            if not self.too_much:  # said once: it may be so a million times
                self._wrong("G701", _TOO_MUCH, _span(node))
            self.too_much = True
            self.unknown.add(place)
            return None
        self.spans[place] = _span(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(each, (*place, at), depth + 1) for at, each in enumerate(node.value)]
        return self._scalar(node, place)

    def _mapping(self, node: yaml.MappingNode, place: Place, depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._wrong("G701", "the name of a setting is text", _span(key), "write `name: value`")
                self.unknown.add((*place, ""))
                continue
            name = key.value
            if name in value:
                self._wrong("G701", f"`{without_password(name)[:64]}` stands twice", _span(key), "keep one")
                self.unknown.add((*place, name))
            if "${" in name:
                self._wrong(
                    "G705",
                    "names are not expanded, and this one holds `${`",
                    _span(key),
                    "write the name as it is meant",
                )
                self.unknown.add((*place, name))
            value[name] = self._value(item, (*place, name), depth + 1)
            self.spans[(*place, name)] = _span(key)
        return value

    def _scalar(self, node: Any, place: Place) -> Json:
        text = _VARIABLE.sub(lambda found: self._variable(found, node, place), node.value)
        if text != node.value:
            self.variables[place] = ", ".join(
                f"`${{{found[1]}}}`" for found in _VARIABLE.finditer(node.value)
            )
        # In quotes it is text, but for a variable where only a number or a truth value can be meant:
        # inside of `{ }` it could not stand without them.
        whole = _VARIABLE.fullmatch(node.value) and _rules(place).get("type") in ("integer", "boolean")
        value = plain_value(text) if whole or node.style in (None, "") else text
        if value_fault(value, Limits(input_bytes=LARGEST)) is not None:
            self.unknown.add(place)
            what = (
                "number is not finite" if isinstance(value, float) else "text is too long, or is no Unicode"
            )
            self._wrong("G704", f"this {what}", _span(node), "give another value, or put a number in quotes")
            return None
        return value

    def _variable(self, found: re.Match[str], node: yaml.Node, place: Place) -> str:
        name, otherwise = found.group(1), found.group(2)
        if name is None:
            self.unknown.add(place)
            help_ = "write `${NAME}` or `${NAME:-default}`"
            self._wrong("G705", "nothing else is expanded after `${`", _span(node), help_)
            return ""
        value = self.environment.get(name, "")
        if value or (otherwise is None and name in self.environment):
            return value
        if otherwise is None:
            self.unknown.add(place)
            help_ = f"set it, or write `${{{name}:-default}}`"
            self._wrong("G705", f"the environment has no `{name}`", _span(node), help_)
            return ""
        return otherwise

    def _wrong(self, code: str, message: str, span: Span, help: str = "") -> None:
        self.found.append(Diagnostic(code, message, span, help=help, file=self.file))


def _span(node: yaml.Node) -> Span:
    start, end = node.start_mark, node.end_mark
    last = end.index if end.line == start.line else start.index + 1
    return Span(start.index, max(last, start.index), start.line + 1, start.column + 1)


@cache
def _validator() -> Any:
    """The class, made once: Cerberus keeps with it what it knows of a schema."""
    from cerberus import Validator

    class Few(Validator):  # type: ignore[misc]
        """Sorts its errors anew for each: it keeps the first ones alone."""

        def _error(self, *given: Any) -> None:
            if len(self._errors) < MOST:
                super()._error(*given)

    return Few


def _faults(document: Any, reading: _Reading, file: str) -> Iterator[tuple[Place, Diagnostic]]:
    validator = _validator()(SCHEMA, allow_unknown=False)
    validator.validate(document, normalize=False)  # which takes a mapping for a schema, whatever is wanted
    found = list(_flat(validator._errors))
    if len(found) >= MOST:  # what else is wrong was not kept
        message = f"at least {MOST} settings are wrong, and it is not said of all"
        yield (), Diagnostic("G704", message, _at(reading.spans, ()), help="mend the first ones", file=file)
    for error in found:
        place = tuple(error.document_path)
        if place not in reading.unknown:
            yield place, _fault(error, place, reading)
    if value_fault(document, Limits(input_bytes=LARGEST, depth=DEEPEST)) is not None:
        message = f"the values are larger than {LARGEST} bytes, once aliases are followed"
        yield (), Diagnostic("G704", message, _at(reading.spans, ()), help="say less in it", file=file)


def _flat(errors: Any) -> Iterator[Any]:
    for error in errors:
        if error.child_errors and (error.is_group_error or error.is_logic_error):
            yield from _flat(error.child_errors)
        else:
            yield error


def _at(spans: Mapping[Place, Span], place: Place) -> Span:
    while place and place not in spans:
        place = place[:-1]
    return spans.get(place, NOWHERE)


def _fault(error: Any, place: Place, reading: _Reading) -> Diagnostic:
    name = without_password(".".join(str(each) for each in place))
    span, file = _at(reading.spans, place), reading.file
    given = f"`{name}`" + (f" from {reading.variables[place]}" if place in reading.variables else "")
    if error.code == 0x00:  # one of the functions above
        message, _, help_ = error.info[0].partition("\n")
        return Diagnostic("G704", f"{given} {message}", span, help=help_, file=file)
    if error.rule is None or error.code == 0x03:
        known = list(_rules(place[:-1]).get("schema", ()))
        near = nearest(str(place[-1]), known)
        help_ = f"did you mean `{near}`?" if near else f"there are {', '.join(f'`{each}`' for each in known)}"
        return Diagnostic("G702", f"there is no setting `{name[:128]}`", span, help=help_, file=file)
    if error.rule == "required":
        help_ = "write `default: allow`, `ask` or `deny`" if name == "default" else f"add `{place[-1]}: …`"
        return Diagnostic("G703", f"`{name}` must be stated", span, help=help_, file=file)
    if "keysrules" in error.schema_path:
        message = f"a name in `{place[0]}` must be text that is not empty"
    else:
        message = f"{given} must be {_wanted(error, place)}"
    return Diagnostic("G704", message, span, help=_instead(error, place), file=file)


def _instead(error: Any, place: Place) -> str:
    """What to write in the place of a value."""
    rules = _rules(place)
    if "allowed" in rules:
        near = nearest(error.value, rules["allowed"]) if type(error.value) is str else None
        return f"did you mean `{near}`?" if near else ""
    if rules.get("type") == "string" and isinstance(error.value, int | float):
        return "put it in quotes"
    named = place
    while named and (type(named[-1]) is int or named[:-1] in (("models",), ("let",))):
        named = named[:-1]
    example = _rules(named).get("meta", {}).get("example", "")
    return f"write `{named[-1]}: {example}`" if example else ""


def _wanted(error: Any, place: Place) -> str:
    rules = _rules(place)
    if "allowed" in rules:
        names = ", ".join(f"`{each}`" for each in rules["allowed"])
        return names if len(rules["allowed"]) == 1 else f"one of {names}"
    if error.rule in ("min", "max"):
        return f"{'at least' if error.rule == 'min' else 'at most'} {error.constraint}"
    what = "some text" if error.rule == "minlength" else _TYPES[rules["type"]]
    return str(rules.get("meta", {}).get("meant", what))


def _rules(place: Place) -> Mapping[str, Any]:
    """What may stand at a place: that part of the schema."""
    here: Mapping[str, Any] = {"schema": SCHEMA}
    for step in place:
        below = here.get("schema", {})
        found = (below if type(step) is int else below.get(step)) or here.get("valuesrules", {})
        here = found if isinstance(found, Mapping) else {}
    return here


def _settings(document: dict[str, Any], path: Path, spans: Mapping[Place, Span]) -> Settings:
    limits, log, again = (document.get(name) or {} for name in ("limits", "log", "reload"))
    return Settings(
        str(path),
        path.parent,
        document.get("default", "deny"),
        document.get("why") or "",
        tuple(map(os.path.expanduser, document.get("packs") or ())),
        tuple(document.get("rules") or ()),
        document.get("tools"),
        document.get("models") or {},
        document.get("policy"),
        document.get("lock"),
        _cwd(document.get("cwd"), path.parent),
        document.get("let") or {},
        Limits(**{name.replace("-", "_"): value for name, value in limits.items()}),
        url_from(document.get("state") or "memory", path.parent),
        _log(log, path.parent) if log else None,
        again.get("watch", False),
        again.get("keep-last-good", True),
        again.get("quiet-ms", 100) / 1000,
        again.get("poll"),
        spans,
    )


def _cwd(given: str | None, folder: Path) -> str | None:
    """Where tools run, which may be on another system."""
    if given is None or re.match(r"[/\\]|[A-Za-z]:", given):
        return given
    return _path(given, folder)


def _path(given: str, folder: Path) -> str:
    return absolute(os.path.join(folder, os.path.expanduser(given)))


def _log(given: dict[str, Any], folder: Path) -> LogSettings:
    to = given["to"]
    more = {name.replace("-", "_"): value for name, value in given.items() if name not in ("to", "mask")}
    place = to if to in ("stdout", "-") else _path(to, folder)
    return LogSettings(place, mask=tuple(given.get("mask") or ()), **more)
