"""Stage 7: repairs guided by the schema, at the places that validation reported.

At each place the first rule that applies makes one change; no rule acts twice at one place. Nothing
is invented: a repair drops what is empty, or says the same value in the type that the schema wants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import Struct, field

from ..grammar.ast import Json, Segment
from ..rules.kind import Action, NotApplicable
from ..rules.strictjson import JsonError, integer, number
from .condition import Closure, Env
from .domain import Limits, Refusal
from .envelope import Reading, after_words, read_text
from .native import Misfit
from .places import View
from .selector import MISSING, Path, get, pointer, remove, replace
from .speech import Speech
from .verdict import Change

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+\Z")
_WORDS: dict[str, Json] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
_EMPTY_WORDS = ("null", "None", "")
_UNION_DEPTH = 6
_UNION_TRIES = 64  # branches looked into for one call

RULES = (
    "repair.alias",
    "repair.drop-null",
    "repair.drop-empty-object",
    "repair.parse-json",
    "repair.parse-scalar",
    "repair.scalar-to-text",
    "repair.wrap-array",
    "repair.unwrap-array",
    "repair.enum-case",
    "repair.wrap-root",
)


class AliasStep(Struct, frozen=True):
    """An `alias` rule made ready: `parent` is where its object stands, `field` the canonical key."""

    rule: str
    parent: tuple[Segment, ...]
    field: str
    action: Action
    condition: Closure | None  # of its `when`, over all arguments
    note: str | None
    usual_note: str


class Repairs(Struct, frozen=True):
    """What the repair of one tool may do.

    `speech`: what the model prints beside JSON text. `off`: rules switched off by `disable` or by the
    policy. `mutates`: the tool is known to change things, so text is not dropped, but at `droppable`
    places. `bounded`: places of `bound` rules, where nothing is cast.
    """

    schema: View
    aliases: tuple[AliasStep, ...]
    limits: Limits
    speech: Speech
    off: frozenset[str] = frozenset()
    mutates: bool = False
    droppable: tuple[tuple[Segment, ...], ...] = ()
    bounded: tuple[tuple[Segment, ...], ...] = ()


class Run(Struct):
    """One call's repair: which rule acted where, what was changed, how many branches were tried."""

    acted: set[tuple[str, Path]] = field(default_factory=set)
    changes: list[Change] = field(default_factory=list)
    tries: int = _UNION_TRIES
    whole: Json = None  # the arguments as the pass found them
    env: Env | None = None
    text_too: bool = False  # a branch of a union is tried, beside which plain text may stand


# A candidate: rule, the new root value, the path of the change, its note.
Candidate: TypeAlias = tuple[str, Json, Path, str, str]


def one_pass(value: Json, faults: list[Misfit], repairs: Repairs, run: Run) -> Json:
    """Repair what one validation reported; the same object where nothing applied."""
    run.whole = value
    return _pass(value, repairs.schema, faults, (), repairs, run, _UNION_DEPTH)


def _pass(
    value: Json, view: View, faults: list[Misfit], base: Path, repairs: Repairs, run: Run, depth: int
) -> Json:
    touched: set[Path] = set()
    for fault in faults:
        if touched and any(fault.path[: len(each)] == each for each in touched):
            continue  # reported for a value that is no longer there
        for rule, new, path, note, name in _candidates(value, view, fault, base, repairs, run):
            mark = (rule, base + path)
            if rule in repairs.off or mark in run.acted:
                continue
            run.acted.add(mark)
            run.changes.append(Change(name, rule, "repair", pointer(base + path), note))
            touched.add(path)
            value = new
            break
        else:
            new = _branch(value, view, fault, base, repairs, run, depth)
            if new is not value:
                touched.add(fault.path)
                value = new
    return value


def _candidates(
    value: Json, view: View, fault: Misfit, base: Path, repairs: Repairs, run: Run
) -> Iterator[Candidate]:
    """What each rule, in order, would do about one fault."""
    here: Any = get(value, fault.path)
    if here is MISSING:
        return
    if fault.keyword == "required":
        yield from _alias(value, here, fault, base, repairs, run)
        return
    place = view.under(fault.path)
    key = fault.path[-1] if fault.path else None
    if isinstance(key, str):
        yield from _drops(value, here, key, place, view, fault.path, base, repairs)
    label = f"`{pointer(base + fault.path) or 'the arguments'}`"
    if not selected(base + fault.path, repairs.bounded):
        text_too = "string" in place.types or (run.text_too and not fault.path)
        for rule, new, note in _casts(here, place, repairs, text_too):
            fits = place.accepts(new) if rule != "repair.parse-json" else True
            if fits and _one_branch(place, new, strict=rule != "repair.parse-json"):
                yield rule, replace(value, fault.path, new), fault.path, note.format(place=label), rule


def _alias(
    value: Json, here: Json, fault: Misfit, base: Path, repairs: Repairs, run: Run
) -> Iterator[Candidate]:
    path = base + fault.path
    for step in repairs.aliases:
        if step.condition is not None and step.condition(run.whole, run.whole, run.env) is not True:
            continue
        if step.field == fault.facts.get("property") and _selects(step.parent, path):
            log = _Notes()
            try:
                new = step.action.apply(here, log)
            except NotApplicable:
                continue
            if new is not here:
                target = (*fault.path, step.field)
                note = step.note or log.note or step.usual_note
                yield "repair.alias", replace(value, fault.path, new), target, note, step.rule


class _Notes:
    """The log of an alias that the repair runs: only its note counts."""

    __slots__ = ("note",)

    def __init__(self) -> None:
        self.note: str | None = None

    def change(self, path: tuple[str | int, ...] = (), note: str | None = None) -> None:
        self.note = self.note or note

    def observe(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        return None


def _drops(
    value: Json, here: Json, key: str, place: View, view: View, path: Path, base: Path, repairs: Repairs
) -> Iterator[Candidate]:
    parent = view.under(path[:-1])
    # A key of a free map is the caller's own, and no optional field.
    if key not in parent.properties or parent.requires(key) or not isinstance(get(value, path[:-1]), dict):
        return
    full = base + path
    may_drop_text = not repairs.mutates or selected(full, repairs.droppable)
    listed = place.enum or ()
    if here is None or (isinstance(here, str) and here in _EMPTY_WORDS and may_drop_text):
        like = any(each is None or (isinstance(each, str) and each in _EMPTY_WORDS) for each in listed)
        if not like and not place.accepts(None) and not place.accepts(here):
            sent = "null" if here is None else "a word for nothing"
            note = f"`{pointer(full)}` is optional and takes no null; you sent {sent}. Leave the field out."
            yield "repair.drop-null", remove(value, path), path, note, "repair.drop-null"
    elif here == {} and "array" in place.types and "object" not in place.types and may_drop_text:
        note = f"`{pointer(full)}` takes an array; you sent an empty object. Leave the field out."
        yield "repair.drop-empty-object", remove(value, path), path, note, "repair.drop-empty-object"


def _casts(here: Json, place: View, repairs: Repairs, text_too: bool) -> Iterator[tuple[str, Json, str]]:
    """What each rule makes of one value: rule, new value, note with `{place}` for the place.

    `text_too`: plain text may be meant there.
    """
    types = place.types
    if isinstance(here, str):
        yield from _from_text(here, place, repairs, text_too)
    elif type(here) is bool or type(here) is int:
        if types == {"string"}:
            text = ("true" if here else "false") if type(here) is bool else str(here)
            yield "repair.scalar-to-text", text, "{place} takes text; put the value in quotes."
    if "array" in types and (
        isinstance(here, dict)
        or (isinstance(here, str) and _one_line(here) and _one_line(after_words(here, repairs.speech)))
    ):
        if not (isinstance(here, dict) and _is_list(here)):
            yield "repair.wrap-array", [here], "{place} takes an array; send a list, also for one item."
    if isinstance(here, list) and len(here) == 1:
        yield "repair.unwrap-array", here[0], "{place} takes one value; send it without the list around it."
    if (
        isinstance(here, dict)
        and len(here) == 1
        and "item" in here
        and "array" in types
        and "object" not in types
    ):
        item = here["item"]
        listed: Json = item if isinstance(item, list) else [item]
        yield (
            "repair.unwrap-array",
            listed,
            "{place} takes an array; send the list without an object around it.",
        )
    if isinstance(here, str) and place.enum:
        folded = here.strip().casefold()
        members = [each for each in place.enum if isinstance(each, str) and each.strip().casefold() == folded]
        if len(members) == 1 and folded:
            yield "repair.enum-case", members[0], "{place} takes its allowed values in their exact spelling."


def _from_text(here: str, place: View, repairs: Repairs, text_too: bool) -> Iterator[tuple[str, Json, str]]:
    types = place.types
    if "array" in types or "object" in types:
        found = read_text(here, repairs.limits, place, repairs.speech, free=True, complete=False)
        if not isinstance(found, Refusal) and not found.bare and _may_parse(found, text_too, repairs.off):
            parsed = found.value
            if (isinstance(parsed, list) and "array" in types) or (
                isinstance(parsed, dict) and "object" in types
            ):
                notes = ["{place} takes JSON; send it as it is, not as text in quotes."]
                yield "repair.parse-json", parsed, " ".join([*notes, *(each.note for each in found.steps)])
    scalar = _scalar(here, types)
    if scalar is not MISSING:
        yield "repair.parse-scalar", scalar, "{place} takes a plain JSON value; send it without quotes."


def _may_parse(found: Reading, text_too: bool, off: frozenset[str]) -> bool:
    """Is each fix in force, and is the text no damaged JSON where plain text may be meant?"""
    damaged = any(each.kind != "decode-json" for each in found.steps)
    return not (damaged and text_too) and not any(f"envelope.{each.kind}" in off for each in found.steps)


def _scalar(text: str, types: frozenset[str]) -> Any:
    """The scalar that canonical JSON text is, if its type is the one scalar type wanted; else `MISSING`."""
    scalars = types & {"integer", "number", "boolean"}
    if "string" in types or len(scalars) > 1:
        return MISSING
    if text in _WORDS:
        value = _WORDS[text]
        return value if ("null" if value is None else "boolean") in types else MISSING
    if len(text) > 700:
        return MISSING
    try:
        if _INTEGER.match(text) and ("integer" in types or "number" in types):
            whole = integer(text)
            return whole if text != "-0" else MISSING
        if _NUMBER.match(text) and "number" in types:
            real = number(text)
            return real if repr(real) == text else MISSING
    except JsonError:
        return MISSING
    return MISSING


def _is_list(value: dict[str, Json]) -> bool:
    """Is an object rather a list that was put in another form: `{"edit": [...]}`, `{"0": …, "1": …}`?"""
    if len(value) == 1 and ("item" in value or isinstance(next(iter(value.values())), list)):
        return True
    return bool(value) and all(key.isdigit() for key in value)


def _one_line(text: str) -> bool:
    """One line of text that is one item: no word for nothing, no commas, no rest of a damaged list."""
    bare = text.strip()
    if "," in bare or ";" in bare:
        return False
    if bare in ("", "undefined") or bare in _WORDS or bare[0] in "[{\"'" or bare[:2] in ("('", '("'):
        return False
    return len(text.splitlines()) == 1 and not (bare[0] == "<" and bare[-1] == ">")


def _one_branch(place: View, new: Json, *, strict: bool) -> bool:
    """In a union, does the new value make exactly one branch pass? Not `strict`: is it of its type?"""
    for group in place.branches:
        if strict:
            count = sum(1 for option in group if option.accepts(new))
        else:
            wanted = "array" if isinstance(new, list) else "object"
            count = sum(1 for option in group if wanted in option.types)
        if count != 1:
            return False
    return True


def _branch(
    value: Json, view: View, fault: Misfit, base: Path, repairs: Repairs, run: Run, depth: int
) -> Json:
    """Repair inside a union, branch by branch, if that makes exactly one branch pass."""
    if fault.keyword not in ("anyOf", "oneOf") or depth == 0:
        return value
    here: Any = get(value, fault.path)
    place = view.under(fault.path)
    found: list[tuple[Json, Run]] = []
    for group in place.branches:
        for option in group:
            run.tries -= 1
            if run.tries < 0:
                return value
            trial = Run(set(run.acted), [], run.tries, run.whole, run.env, "string" in place.types)
            new = _mend(here, option, base + fault.path, repairs, trial, depth - 1)
            run.tries = trial.tries
            if new is not here and option.accepts(new) and _one_branch(place, new, strict=True):
                found.append((new, trial))
    if len(found) != 1:
        return value
    new, trial = found[0]
    run.acted |= trial.acted
    run.changes.extend(trial.changes)
    return replace(value, fault.path, new)


def _mend(here: Json, option: View, base: Path, repairs: Repairs, run: Run, depth: int) -> Json:
    """Repair one value for one branch, with passes of its own."""
    for _ in range(repairs.limits.passes):
        faults = option.faults(here, repairs.limits.issues)
        if not faults:
            break
        new = _pass(here, option, faults, base, repairs, run, depth)
        if new is here:
            break
        here = new
    return here


def _selects(segments: tuple[Segment, ...], path: Path) -> bool:
    """Does a selector reach this concrete path?"""
    if len(segments) != len(path):
        return False
    for segment, part in zip(segments, path, strict=True):
        if isinstance(segment, str):
            if segment != str(part):
                return False
        elif not isinstance(part, int):
            return False
    return True


def selected(path: Path, selectors: tuple[tuple[Segment, ...], ...]) -> bool:
    return any(_selects(each, path) for each in selectors)
