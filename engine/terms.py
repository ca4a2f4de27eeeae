"""The terms of conditions: what a selector, a name or a function stands for, as a getter or a fixed value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from ..grammar.ast import STAR, Function, Item, Json, Literal, Pointer, Segment, Term, Text, Word
from .selector import MISSING, get


class TurnView(Protocol):
    """What a session knows about the turn; None where that is not known. `calls`: of a tool, in this turn."""

    @property
    def step(self) -> int: ...

    @property
    def repeats(self) -> int | None: ...

    def calls(self, tool: str) -> int | None: ...

    def after(self, tool: str, in_turn: bool) -> bool | None: ...


class ResultView(Protocol):
    """What came back from the call. `exit_code` is None where there is none: then it is unknown."""

    @property
    def ok(self) -> bool: ...

    @property
    def text(self) -> str: ...

    @property
    def exit_code(self) -> int | None: ...


class Env(Struct, frozen=True):
    """What a call brings beside its arguments; None where nothing was given."""

    context: Mapping[str, Json] | None = None
    turn: TurnView | None = None
    result: ResultView | None = None


class Names(Struct, frozen=True):
    """What is known when a rule is compiled for one tool and model.

    `cwd`: the value of `let cwd`; without it `context.cwd` of the call counts. `runs(command, program)`
    answers `runs(SEL, "PROGRAM")`, which is unknown without it.
    """

    tool: str
    model: str | None
    lets: Mapping[str, Json]
    cwd: str | None
    runs: Callable[[str, str], bool | None] | None = None


class _Unknown:
    """The one value that stands for what was not given, or has no answer."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
# From (arguments, item, env): a JSON value, MISSING or UNKNOWN.
Getter: TypeAlias = Callable[[Any, Any, Env | None], Any]


class Fixed(Struct, frozen=True):
    """A term whose value does not depend on the call; or UNKNOWN."""

    value: Any


def term_of(term: Term | Item, names: Names) -> Fixed | Getter:
    match term:
        case Pointer(segments, relative):
            return Fixed(UNKNOWN) if STAR in segments else place_of(segments, relative)
        case Item():
            return place_of((), True)
        case Text(value) | Literal(value):
            return Fixed(value)
        case Word(text):
            return _word(text, names)
        case Function():
            return _function(term, names)


def _word(word: str, names: Names) -> Fixed | Getter:
    match word.split("."):
        case ["tool"]:
            return Fixed(names.tool)
        case ["model"]:
            return Fixed(UNKNOWN if names.model is None else names.model)
        case ["context", first, *rest]:
            return _context(first, tuple(rest))
        case ["turn", "step"]:
            return lambda _arguments, _item, env: (
                UNKNOWN if env is None or env.turn is None else env.turn.step
            )
        case ["turn", "repeats"]:
            return lambda _arguments, _item, env: (
                UNKNOWN if env is None or env.turn is None else _or_unknown(env.turn.repeats)
            )
        case ["result", ("ok" | "text" | "exit_code") as field]:
            return _result(field)
    return Fixed(names.lets.get(word, UNKNOWN))


def _context(first: str, rest: tuple[str, ...]) -> Getter:
    def value(_arguments: Any, _item: Any, env: Env | None) -> Any:
        if env is None or env.context is None or first not in env.context:
            return UNKNOWN
        found = get(env.context[first], rest)
        return UNKNOWN if found is MISSING else found

    return value


def _result(field: str) -> Getter:
    def value(_arguments: Any, _item: Any, env: Env | None) -> Any:
        found = None if env is None or env.result is None else getattr(env.result, field)
        return UNKNOWN if found is None else found

    return value


def _function(function: Function, names: Names) -> Fixed | Getter:
    match function.name.text, function.arguments:
        case "count", (Pointer() as pointer,):
            return _measure(term_of(pointer, names), (list, dict))
        case "length", (Pointer() as pointer,):
            return _measure(term_of(pointer, names), (str,))
        case "turn.calls", ((Word() | Text()) as tool,):
            name = name_of(tool)
            return lambda _arguments, _item, env: (
                UNKNOWN if env is None or env.turn is None else _or_unknown(env.turn.calls(name))
            )
        case "runs", (Pointer() as pointer, Text(program)):
            return _runs(term_of(pointer, names), program, names.runs)
    return Fixed(UNKNOWN)


def _or_unknown(count: int | None) -> Any:
    return UNKNOWN if count is None else count


def _measure(place: Fixed | Getter, kinds: tuple[type, ...]) -> Fixed | Getter:
    if isinstance(place, Fixed):
        return place

    def value(arguments: Any, item: Any, env: Env | None) -> Any:
        found = place(arguments, item, env)
        return len(found) if type(found) in kinds else found if found is MISSING else UNKNOWN

    return value


def _runs(
    place: Fixed | Getter, program: str, runs: Callable[[str, str], bool | None] | None
) -> Fixed | Getter:
    if isinstance(place, Fixed) or runs is None:
        return Fixed(UNKNOWN)

    def value(arguments: Any, item: Any, env: Env | None) -> Any:
        found = place(arguments, item, env)
        if type(found) is not str:
            return found if found is MISSING else UNKNOWN
        answer = runs(found, program)
        return UNKNOWN if answer is None else answer

    return value


def getter(term: Fixed | Getter) -> Getter:
    if not isinstance(term, Fixed):
        return term
    value = term.value
    return lambda _arguments, _item, _env: value


def place_of(segments: tuple[Segment, ...], relative: bool) -> Getter:
    """The value at a place without `*`, or MISSING."""
    if not segments:
        return (
            (lambda _arguments, item, _env: item) if relative else (lambda arguments, _item, _env: arguments)
        )
    if relative:
        return lambda _arguments, item, _env: get(item, segments)
    return lambda arguments, _item, _env: get(arguments, segments)


def name_of(word: Word | Text) -> str:
    return word.text if isinstance(word, Word) else word.value
