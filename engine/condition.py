"""Conditions, compiled to closures: true, false, or unknown (None), as in SQL. Total on every JSON value.

A condition becomes a tree of closures over `(arguments, item, env)`. A term becomes a getter, or its
value where that is fixed; a test with a fixed right side becomes a check of one value (`operators`).

In the *positive* reading, of what the model sent before any repair, only what is there counts: a
negation, a test on a missing place and one on another type are unknown. What does not look at the
arguments at all reads the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..grammar.ast import (
    STAR,
    After,
    And,
    Condition,
    Function,
    Item,
    Json,
    Literal,
    Not,
    Or,
    Paren,
    Pointer,
    Presence,
    Quantified,
    Segment,
    Term,
    Test,
    Truth,
    Word,
)
from .operators import PATTERNS, Check, check, has_type_named, truth
from .selector import MISSING, get
from .terms import (
    UNKNOWN,
    Env,
    Fixed,
    Getter,
    Names,
    ResultView,
    TurnView,
    getter,
    name_of,
    place_of,
    term_of,
)

__all__ = ["Closure", "Env", "Names", "ResultView", "TurnView", "compile_condition", "looks_at_turn"]

Closure: TypeAlias = Callable[[Json, Json, Env | None], bool | None]


def compile_condition(
    condition: Condition, names: Names, *, unless: bool = False, positive: bool = False
) -> Closure:
    """`condition` as a closure over (arguments, the item that `./x` is relative to, env).

    Outside `any` and `every` the item is the arguments. `unless` compiles `not condition`. True in the
    `positive` reading implies true in the other one. The closure never raises on JSON values; what the
    checker refuses (an unknown name, a pattern that does not compile) is unknown.

    Cost of a call: the sum of its tests, each linear in what it looks at; the body of `any` or `every`
    once for each item.
    """
    whole = Not(condition) if unless else condition
    return _compile(whole, names, positive)


def _compile(condition: Condition, names: Names, positive: bool) -> Closure:
    if positive and not _reads_arguments(condition):
        positive = False
    absent = None if positive else False
    match condition:
        case Paren(part):
            return _compile(part, names, positive)
        case Not(part):
            return _always(None) if positive else _not(_compile(part, names, False))
        case And(parts):
            return _all([_compile(part, names, positive) for part in parts])
        case Or(parts):
            return _some([_compile(part, names, positive) for part in parts])
        case Presence(pointer, missing):
            return _presence(pointer, missing, positive)
        case Quantified(pointer, every, body):
            if STAR not in pointer.segments:
                return _always(None)
            inner = _compile(body, names, positive)
            return _quantified(pointer.segments, pointer.relative, every, inner, absent)
        case After(tool, in_turn):
            return _after(name_of(tool), in_turn)
        case Truth(term):
            return _checkterm_of(term_of(term, names), truth, absent)
        case Test():
            return _test(condition, names, positive, absent)


def looks_at_turn(part: Condition | Term | Item) -> bool:
    """Does it look at what happened before the call, so that the same call may fit it otherwise later?"""
    match part:
        case After():
            return True
        case Paren(inner) | Not(inner) | Truth(inner):
            return looks_at_turn(inner)
        case Quantified(_, _, body):
            return looks_at_turn(body)
        case And(parts) | Or(parts):
            return any(looks_at_turn(each) for each in parts)
        case Test(left, _, right):
            return looks_at_turn(left) or looks_at_turn(right)
        case Word(text) | Function(Word(text), _):
            return text.startswith("turn.")
    return False


def _reads_arguments(part: Condition | Term | Item) -> bool:
    match part:
        case Pointer() | Item() | Presence() | Quantified():
            return True
        case Paren(inner) | Not(inner) | Truth(inner):
            return _reads_arguments(inner)
        case And(parts) | Or(parts):
            return any(_reads_arguments(each) for each in parts)
        case Test(left, _, right):
            return _reads_arguments(left) or _reads_arguments(right)
        case Function(_, arguments):
            return any(isinstance(each, Pointer) for each in arguments)
    return False


# Three-valued logic ---------------------------------------------------------------------------


def _always(answer: bool | None) -> Closure:
    return lambda _arguments, _item, _env: answer


def _not(part: Closure) -> Closure:
    def test(arguments: Json, item: Json, env: Env | None) -> bool | None:
        answer = part(arguments, item, env)
        return None if answer is None else not answer

    return test


def _all(parts: list[Closure]) -> Closure:
    def test(arguments: Json, item: Json, env: Env | None) -> bool | None:
        answer: bool | None = True
        for part in parts:
            found = part(arguments, item, env)
            if found is False:
                return False
            if found is None:
                answer = None
        return answer

    return test


def _some(parts: list[Closure]) -> Closure:
    def test(arguments: Json, item: Json, env: Env | None) -> bool | None:
        answer: bool | None = False
        for part in parts:
            found = part(arguments, item, env)
            if found:
                return True
            if found is None:
                answer = None
        return answer

    return test


def _presence(pointer: Pointer, missing: bool, positive: bool) -> Closure:
    if STAR in pointer.segments:
        return _always(None)
    place = place_of(pointer.segments, pointer.relative)
    absent = None if positive else missing

    def test(arguments: Json, item: Json, env: Env | None) -> bool | None:
        return absent if place(arguments, item, env) is MISSING else not missing

    return test


def _quantified(
    segments: tuple[Segment, ...], relative: bool, every: bool, body: Closure, absent: bool | None
) -> Closure:
    """`any` or `every` over the first `*`; further ones are nested: over each item's own array."""
    at = segments.index(STAR)
    array, below = place_of(segments[:at], relative), segments[at + 1 :]
    if STAR in below:
        each = _quantified(below, True, every, body, absent)
    elif below:
        place = place_of(below, True)

        def each(arguments: Json, item: Json, env: Env | None) -> bool | None:
            return body(arguments, place(arguments, item, env), env)
    else:
        each = body

    def test(arguments: Json, item: Json, env: Env | None) -> bool | None:
        items = array(arguments, item, env)
        if items is MISSING:
            return absent
        if type(items) is not list:
            return None
        answer: bool | None = every
        for one in items:
            found = each(arguments, one, env)
            if found is (not every):
                return found
            if found is None:
                answer = None
        return answer

    return test


def _after(tool: str, in_turn: bool) -> Closure:
    return lambda _arguments, _item, env: (
        None if env is None or env.turn is None else env.turn.after(tool, in_turn)
    )


# Tests ----------------------------------------------------------------------------------------


def _test(test: Test, names: Names, positive: bool, absent: bool | None) -> Closure:
    if test.negated or test.operator == "!=":
        if positive:
            return _always(None)
        affirmed = Test(test.left, "==" if test.operator == "!=" else test.operator, test.right)
        negation = _not(_test(affirmed, names, False, absent))
        return _not(negation) if test.negated and test.operator == "!=" else negation
    left = term_of(test.left, names)
    if test.operator == "is":
        return _checkterm_of(left, has_type_named(_type_name(test.right)), absent)
    right = term_of(test.right, names)
    if test.operator == "under":
        return _under(left, right, names.cwd, absent)
    if isinstance(right, Fixed):
        if right.value is UNKNOWN:
            return _always(None)
        pointer = test.left
        if isinstance(pointer, Pointer) and not pointer.relative and len(pointer.segments) == 1:
            if isinstance(name := pointer.segments[0], str):
                return _field(name, check(test.operator, right.value, absent), absent)
        return _checkterm_of(left, check(test.operator, right.value, absent), absent)
    if test.operator in PATTERNS:
        return _always(None)
    return _between(getter(left), test.operator, right, absent)


def _type_name(right: Term) -> str:
    """`null` is written like the value."""
    if isinstance(right, Word):
        return right.text
    return "null" if isinstance(right, Literal) and right.value is None else ""


def _field(name: str, test: Check, absent: bool | None) -> Closure:
    """A check of a field of the arguments: the commonest test, in one closure."""
    path = (name,)

    def field(arguments: Any, _item: Json, _env: Env | None) -> bool | None:
        value = arguments.get(name, MISSING) if type(arguments) is dict else get(arguments, path)
        return absent if value is MISSING else test(value)

    return field


def _checkterm_of(term: Fixed | Getter, test: Check, absent: bool | None) -> Closure:
    if isinstance(term, Fixed):
        return _always(None if term.value is UNKNOWN else test(term.value))

    def checked(arguments: Json, item: Json, env: Env | None) -> bool | None:
        value = term(arguments, item, env)
        if value is MISSING:
            return absent
        return None if value is UNKNOWN else test(value)

    return checked


def _between(left: Getter, name: str, right: Getter, absent: bool | None) -> Closure:
    """A test between two terms of which the right one comes with the call."""

    def test(arguments: Json, item: Json, env: Env | None) -> bool | None:
        one, two = left(arguments, item, env), right(arguments, item, env)
        if one is UNKNOWN or two is UNKNOWN:
            return None
        if one is MISSING or two is MISSING:
            return absent
        return check(name, two, absent)(one)

    return test


def _under(left: Fixed | Getter, right: Fixed | Getter, cwd: str | None, absent: bool | None) -> Closure:
    if not isinstance(right, Fixed) or type(right.value) is not str:
        return _always(None)
    from .paths import under  # what folds paths is a load of its own

    path, is_under = getter(left), under(right.value, cwd)

    def test(arguments: Json, item: Json, env: Env | None) -> bool | None:
        value = path(arguments, item, env)
        if type(value) is not str:
            return absent if value is MISSING else None
        return is_under(value, None if env is None else env.context)

    return test
