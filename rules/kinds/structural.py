"""structural: reshape a value, by steps or by a function of the tool's owner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Final

from msgspec import Struct

from ...grammar.ast import STAR, Json, Pointer, Segment, Statement
from ...grammar.span import Span
from .. import edit
from ..fitting import read_form
from ..forms import Form
from ..kind import Action, Example, Finding, Kind, Log, NotApplicable, Phase, Place, Selecting, Spec, Title
from ..strictjson import JsonError, decode, equal
from ..values import copy, require_json

_FORMS: Final[Mapping[str, Form]] = {
    form.word: form
    for form in (
        Form("move", "from:SELECTOR to to:SELECTOR", "takes a value to another place"),
        Form("copy", "from:SELECTOR to to:SELECTOR", "puts the same value at a second place"),
        Form(
            "set", "to:SELECTOR value:JSON [over:over]", "puts a value there, with `over` in place of another"
        ),
        Form("remove", "from:SELECTOR", "takes a value away"),
        Form("wrap", "from:SELECTOR", "makes an array of one item"),
        Form("unwrap", "from:SELECTOR", "makes an item of an array of one"),
        Form("parse", "from:SELECTOR", "reads JSON text"),
        Form("join", "from:SELECTOR with separator:TEXT", "makes one text of an array of texts"),
        Form("split", "from:SELECTOR on separator:TEXT", "makes an array of texts of one"),
    )
}


class Step(Struct, frozen=True):
    """One step. `source` is the place that it reads, `target` the one that it fills."""

    word: str
    source: edit.Steps | None = None
    target: edit.Steps | None = None
    value: Json = None
    over: bool = False
    separator: str = ""


class Structural(Kind):
    """Reshape the value at each selected place: flatten, nest, rename keys, read JSON text.

    The steps of the block are applied in order to a copy, relative to the place; if one cannot be applied,
    the whole rule does nothing. `move A to B`, `copy A to B`, `set A JSON`, `remove A`, `wrap A`,
    `unwrap A` (an array of one item), `parse A` (exact JSON text), `join A with ","` (texts alone),
    `split A on ","`. A step cannot be applied where its source is missing or of another type, or its
    target exists; `set A JSON over` replaces. A missing parent is what the schema says, else an array
    when the next segment is `0`, else an object. There is no `*` in steps: select with `*` in front.

    Instead of a block `call NAME` gives a copy of the value to a function that the owner registered. It
    returns what shall stand there, of JSON types alone; a function that raises makes the call unrepairable.

    In a block with a glob the rule acts only where the schema has the fields that the steps fill (those that
    a later step moves on aside), and not where they move or remove a field that is the schema's own.

    Say with `when` which shape the rule is for. A rule that invents a value (`set`) answers for it.
    """

    keyword = "structural"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    condition_at_place = True
    title = Title.REQUIRED
    clauses: ClassVar = {"call": {"type": "string", "empty": False}}
    block = frozenset(_FORMS)
    note = "The arguments had another shape. Send them as the schema says."
    cost = "one look where the first step's source is missing; else a copy along each path"
    examples = (
        Example(
            'structural "flat" "" { move /old to /edits/0/old; move /new to /edits/0/new }',
            {"old": "a", "new": "b"},
            {"edits": [{"old": "a", "new": "b"}]},
        ),
        Example(
            'structural "flat" "" { move /old to /edits/0/old; move /new to /edits/0/new }',
            {"old": "a"},
            why="a step cannot be applied, so nothing is",
        ),
        Example('structural "text" "" { parse /a }', {"a": '{"b": 1.50}'}, {"a": {"b": 1.5}}),
        Example('structural "list" "" { split /a on ", " }', {"a": "x, y"}, {"a": ["x", "y"]}),
        Example(
            'structural "each" /rows/* { remove /id }',
            {"rows": [{"id": 1}, {"a": 2}]},
            {"rows": [{}, {"a": 2}]},
        ),
        Example('structural "set" "" { set /mode "fast" }', {"mode": "slow"}, why="the target exists"),
    )

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        name = spec.clauses.get("call")
        if (name is None) == (spec.block is None):
            yield Finding("G222", "`structural` has a block of steps or `call NAME`", "write one of them")
        elif name is not None:
            if name not in spec.functions:
                message = f"no function `{name}` is registered here, so the rule does nothing"
                yield Finding("G223", message, "register it, or correct the name", warning=True)
        else:
            yield from read_steps(spec.block or ())[1]

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        name = spec.clauses.get("call")
        if (name is None) == (spec.block is None):
            return None
        if name is not None:
            function = spec.functions.get(name)
            return None if function is None else Action(_caller(function))
        steps, wrong = read_steps(spec.block or ())
        if wrong or (spec.in_glob and not _fits(steps, place)):
            return None

        def apply(value: Json, _log: Log) -> Json:
            result = value
            for step in steps:
                result = _apply(step, result, place)
            return value if equal(value, result) else result

        first = steps[0].source
        if not first:
            return Action(apply)
        # An index may be a place of an array; every other name is a place of an object alone.
        return Action(apply) if first[0].isdigit() else Action(apply, keys=frozenset(first[:1]))


def _fits(steps: tuple[Step, ...], place: Place) -> bool:
    """Does the schema have every field that the steps fill, and none that they take away?"""
    for number, step in enumerate(steps):
        moved_on = {later.source[0] for later in steps[number + 1 :] if later.source}
        if step.target and step.target[0] not in moved_on and not place.declares(step.target[0]):
            return False
        if step.word in ("move", "remove") and step.source and len(step.source) == 1:
            filled = {earlier.target[0] for earlier in steps[:number] if earlier.target}
            if step.source[0] not in filled and place.declares(step.source[0]):
                return False
    return True


def read_steps(block: tuple[Statement, ...]) -> tuple[tuple[Step, ...], list[Finding]]:
    """The steps of a block, and everything that is wrong with them."""
    steps: list[Step] = []
    wrong: list[Finding] = []
    if not block:
        wrong.append(Finding("G222", "`structural` has no steps", "write steps such as `move /a to /b`"))
    for statement in block:
        word = statement.word.text
        form = _FORMS.get(word)
        if form is None:
            known = ", ".join(f"`{name}`" for name in _FORMS)
            wrong.append(
                Finding("G222", f"`{word[:64]}` is no step", f"steps are {known}", statement.word.span)
            )
            continue
        fields, found = read_form(statement, form, "")
        wrong += [Finding("G222", fault.message, fault.help, fault.span) for fault in found]
        if fields is None:
            continue
        source = fields.selector("from") if "from" in fields else None
        target = fields.selector("to") if "to" in fields else None
        separator = fields.text("separator") or ""
        value = fields.json("value") if "value" in fields else None
        before = len(wrong)
        wrong += _misused(word, source, target, "over" in fields, statement.span)
        if word == "split" and not separator:
            wrong.append(
                Finding("G222", "a text is split on something", 'write `split /a on ","`', statement.span)
            )
        if len(wrong) == before:
            steps.append(Step(word, _steps(source), _steps(target), value, "over" in fields, separator))
    return tuple(steps), wrong


def _misused(
    word: str, source: Pointer | None, target: Pointer | None, over: bool, span: Span
) -> Iterator[Finding]:
    """Steps that are well written and could never be applied."""
    for pointer in (source, target):
        if pointer is not None and STAR in pointer.segments:
            help_ = 'select the items in front: `structural "ID" /items/*`'
            yield Finding("G222", "a step has no `*`", help_, pointer.span)
            return
    if target is not None and not target.segments and not (word == "set" and over):
        help_ = 'write `set "" JSON over`' if word == "set" else "name a place inside the value"
        yield Finding("G222", f"`{word}` to the whole value: it is always there", help_, target.span)
    elif word == "remove" and source is not None and not source.segments:
        yield Finding("G222", "the whole value cannot be removed", "name a place inside it", source.span)
    elif word == "move" and source is not None and target is not None:
        if target.segments[: len(source.segments)] == source.segments:
            yield Finding("G222", "a value cannot move into itself", "`copy` it, or name another place", span)


def _steps(pointer: Pointer | None) -> edit.Steps | None:
    return None if pointer is None else tuple(_key(segment) for segment in pointer.segments)


def _key(segment: Segment) -> str:
    return segment if isinstance(segment, str) else "*"


def _apply(step: Step, value: Json, place: Place) -> Json:
    """The value after one step. Raises NotApplicable."""
    if step.word == "set":
        # A copy each time: the caller may change what it was given, and the rule must not follow.
        return edit.put(value, step.target or (), copy(step.value), place, step.over)
    source = step.source or ()
    found = edit.get(value, source)
    match step.word:
        case "move":
            return edit.put(edit.delete(value, source), step.target or (), found, place)
        case "copy":
            return edit.put(value, step.target or (), copy(found), place)
        case "remove":
            return edit.delete(value, source)
        case _:
            return edit.put(value, source, _CONVERSIONS[step.word](found, step.separator), place, over=True)


def _wrap(value: Json, _separator: str) -> Json:
    return [value]


def _unwrap(value: Json, _separator: str) -> Json:
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    raise NotApplicable("no array of one item")


def _parse(value: Json, _separator: str) -> Json:
    if isinstance(value, str):
        try:
            return decode(value)
        except JsonError:
            pass
    raise NotApplicable("no JSON text")


def _join(value: Json, separator: str) -> Json:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return separator.join(item for item in value if isinstance(item, str))
    raise NotApplicable("no array of texts")


def _split(value: Json, separator: str) -> Json:
    if isinstance(value, str):
        return list(value.split(separator))
    raise NotApplicable("no text")


_CONVERSIONS: Final[Mapping[str, Callable[[Json, str], Json]]] = {
    "wrap": _wrap,
    "unwrap": _unwrap,
    "parse": _parse,
    "join": _join,
    "split": _split,
}


def _caller(function: Callable[[Json], Json]) -> Callable[[Json, Log], Json]:
    def apply(value: Json, _log: Log) -> Json:
        result = require_json(function(copy(value)))
        return value if equal(value, result) else result

    return apply


KIND = Structural
