"""Simple tests of a condition as Python source, for the gate: no call, and no more work than they need.

A condition is true, false or unknown. `may_hold` writes an expression that is false only where the
condition is false; `may_fail` one that is false only where it is true. What is not simple calls the
condition's closure.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ..grammar.ast import And, Condition, Literal, Not, Or, Paren, Pointer, Presence, Test, Text
from .condition import Names, compile_condition


class Scope(Struct, frozen=True):
    """Where the source stands: `bind` keeps an object and gives its name, `read` the source of a root key."""

    names: Names
    bind: Callable[[object], str]
    read: Callable[[str], str]


def may_hold(condition: Condition, scope: Scope) -> str:
    """Source over `a`, an object, and `env`: false only where the condition is false."""
    return _source(condition, scope, True)


def may_fail(condition: Condition, scope: Scope) -> str:
    """Source over `a`, an object, and `env`: false only where the condition is true."""
    return _source(condition, scope, False)


def _source(condition: Condition, scope: Scope, holds: bool) -> str:
    match condition:
        case Paren(part):
            return _source(part, scope, holds)
        case Not(part):
            return _source(part, scope, not holds)
        case And(parts) | Or(parts):
            word = " and " if isinstance(condition, And) is holds else " or "
            return "(" + word.join(_source(part, scope, holds) for part in parts) + ")"
        case Presence(Pointer((str(key),), False), missing):
            return f"({key!r} {'in' if holds is not missing else 'not in'} a)"
        case Test(Pointer((str(key),), False), "starts-with", Text(text), negated) if text:
            return _text_test(scope.read(key), f"v[:{len(text)}] == {text!r}", holds is not negated)
        case Test(Pointer((str(key),), False), "ends-with", Text(text), negated) if text:
            return _text_test(scope.read(key), f"v[-{len(text)}:] == {text!r}", holds is not negated)
        case Test(Pointer((str(key),), False), "==", Text(text), negated):
            return _equality(scope.read(key), text, holds is not negated)
        case Test(Pointer((str(key),), False), "!=", Text(text), negated):
            return _equality(scope.read(key), text, holds is negated)
        case Test(Pointer((str(key),), False), "==", Literal(bool() | None as value), negated):
            return f"({scope.read(key)} {'is' if holds is not negated else 'is not'} {value!r})"
    closure = scope.bind(compile_condition(condition, scope.names))
    return f"({closure}(a, a, env) is not {not holds})"


def _text_test(read: str, test: str, wanted: bool) -> str:
    """On a missing place the test is false, on another type unknown."""
    if wanted:
        return f"((v := {read}) is not MISSING and (type(v) is not str or {test}))"
    return f"((v := {read}) is MISSING or type(v) is not str or not {test})"


def _equality(read: str, text: str, wanted: bool) -> str:
    """Equality is never unknown: false on a missing place and on another type."""
    if wanted:
        return f"(type(v := {read}) is str and v == {text!r})"
    return f"(type(v := {read}) is not str or v != {text!r})"
