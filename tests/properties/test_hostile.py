"""What is no JSON is refused before any of its methods runs, and in bounded time (invariant 8)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

import callgate
from callgate import Engine, InputError, Outcome, SchemaError

from .strategies import MODEL, TOOL
from .test_invariants import exact


class Touched(BaseException):
    """A method of a hostile object ran."""


def hostile(base: type, value: Any) -> Any:
    """An instance of a subclass whose every method raises."""

    def raises(*_: Any, **__: Any) -> Any:
        raise Touched

    skipped = {
        "__new__",
        "__init__",
        "__class__",
        "__getattribute__",
        "__del__",
        "__init_subclass__",
        "__subclasshook__",
    }
    methods = {name: raises for name in dir(base) if name not in skipped and callable(getattr(base, name))}
    made = type("Hostile", (base,), {})(value)
    for name, method in {**methods, "__bool__": raises, "__len__": raises, "__index__": raises}.items():
        setattr(type(made), name, method)
    return made


class Silent:
    """An object of no JSON type."""


HOSTILE: dict[str, Any] = {
    "str": hostile(str, "path"),
    "int": hostile(int, 1),
    "float": hostile(float, 1.5),
    "dict": hostile(dict, {"path": "x"}),
    "list": hostile(list, ["path"]),
    "bytes": b"path",
    "bytearray": bytearray(b"x"),
    "Decimal": Decimal("1.5"),
    "tuple": ("path",),
    "set": {"path"},
    "complex": 1j,
    "object": Silent(),
    "type": str,
    "function": len,
    "generator": iter(()),
    "range": range(2),
    "ellipsis": ...,
}
PLACES: dict[str, Callable[[Any], Any]] = {
    "as the arguments": lambda each: each,
    "as a value": lambda each: {"path": each},
    "as an unknown value": lambda each: {"path": "x", "zz": each},
    "as an item": lambda each: {"path": "x", "edits": [1, each]},
    "deep inside": lambda each: {"path": "x", "opts": {"a": [[{"b": each}]]}},
    "behind a surrogate": lambda each: {"path": "\ud800", "zz": each},
    "behind a number that is not finite": lambda each: {"path": float("nan"), "zz": [each]},
    "after an alias": lambda each: {"file_path": "x", "zz": each},
    "in a wrapper": lambda each: {"arguments": {"path": each}},
    "in an array": lambda each: [{"path": each}],
}
RULES = """
tool edit, "g*" {
  alias /path from file_path
  filesystem-path /path
  anchor-bleed /path for "kimi"
  grammar-tokens "" for "kimi"
  scalar /limit as number
  structural "s" "" { move /a to /b }
  deny "no" when /path == "secret" or any /edits/* contains "x"
}
"""
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["path"],
}


@cache
def hostile_engines() -> tuple[Engine, ...]:
    rules = callgate.compile(RULES)
    return (rules, rules.with_tools({TOOL: SCHEMA}), rules.with_tools({TOOL: None}), rules.with_tools({}))


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("place", PLACES)
def test_another_type_is_an_input_error_before_any_of_its_methods_runs(name: str, place: str) -> None:
    # Kills: `isinstance` in place of `type(...) is` in `value_fault`; a gate that does not look inside.
    arguments = PLACES[place](HOSTILE[name])
    for engine in hostile_engines():
        for tool in (TOOL, "gg"):
            with pytest.raises(InputError):
                engine.check(tool, arguments, model=MODEL)


@pytest.mark.parametrize(
    "key", [1, None, True, 1.5, b"path", ("path",), hostile(str, "path")], ids=lambda k: type(k).__name__
)
def test_a_key_that_is_no_plain_text_is_an_input_error(key: Any) -> None:
    # Kills: a gate that only looks at values.
    if type(key).__name__ == "Hostile":
        plain = type("Key", (str,), {})
        key = plain("path")
    for arguments in (
        {key: 1},
        {"path": "x", "opts": {key: 1}},
        [{key: 1}],
        {"path": "x", "l": [[{key: 1}]]},
    ):
        for engine in hostile_engines():
            with pytest.raises(InputError):
                engine.check(TOOL, arguments, model=MODEL)


@pytest.mark.parametrize(
    "bad", [hostile(str, "edit"), 5, None, b"edit", ["edit"]], ids=["str", "int", "none", "bytes", "list"]
)
def test_a_name_a_model_a_context_or_a_text_of_another_type_is_an_input_error(bad: Any) -> None:
    # Kills: no type test of the name, the model id, the context or the stop reason.
    for engine in hostile_engines():
        with pytest.raises(InputError):
            engine.check(bad, {"path": "x"})
        with pytest.raises(InputError):
            engine.check_text(TOOL, bad)
        if bad is not None:
            with pytest.raises(InputError):
                engine.check(TOOL, {"path": "x"}, model=bad)
            with pytest.raises(InputError):
                engine.check(TOOL, {"path": "x"}, stop_reason=bad)
            with pytest.raises(InputError):
                engine.check(TOOL, {"path": "x"}, context=bad)
    with pytest.raises(InputError):
        hostile_engines()[0].check(
            TOOL,
            {"path": "x"},
            context={"role": [bad], "x": (1,)},  # type: ignore[dict-item]
        )


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), float("-inf"), 10**5000, -(10**640)],
    ids=["nan", "inf", "-inf", "huge", "-huge"],
)
def test_a_number_that_cannot_be_kept_is_refused(value: Any) -> None:
    # Kills: no `isfinite`; no bound on the digits.
    for arguments in ({"path": "x", "limit": value}, {"path": "x", "opts": [{"a": value}]}, [value], value):
        for engine in hostile_engines()[:3]:
            verdict = engine.check(TOOL, arguments)
            assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "number")
            assert verdict.arguments is arguments


def loops() -> dict[str, Any]:
    """Values that never end, or that are very wide through sharing."""
    ring: dict[str, Any] = {"path": "x"}
    ring["opts"] = ring
    array: list[Any] = []
    array.append(array)
    crossed: dict[str, Any] = {"path": "x", "labels": array}
    array.append(crossed)
    wide: Any = "x"
    for _ in range(40):
        wide = [wide, wide]
    wide_object: Any = "x"
    for _ in range(40):
        wide_object = {"a": wide_object, "b": wide_object}
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    return {
        "a loop of objects": ring,
        "a loop of arrays": array,
        "a crossed loop": crossed,
        "2^40 items by sharing": {"path": "x", "labels": wide},
        "2^40 values by sharing": {"path": "x", "opts": wide_object},
        "100,000 deep": {"path": "x", "labels": deep},
    }


@pytest.mark.parametrize("name", loops())
def test_a_value_without_end_is_over_a_limit(name: str) -> None:
    # Kills: a `value_fault` without its count, or without its depth.
    arguments = loops()[name]
    for engine in hostile_engines():
        verdict = engine.check(TOOL, arguments, model=MODEL)
        assert verdict.outcome is Outcome.UNREPAIRABLE
        assert verdict.code == ("unknown-tool" if engine is hostile_engines()[3] else "limit")
        assert verdict.arguments is arguments


def test_one_object_at_many_places_is_an_ordinary_value() -> None:
    # Kills: an edit that remembers containers by identity and so changes every place of a shared one.
    shared = {"path": "^x$"}
    arguments = {"path": "^x$", "a": 1, "opts": shared, "labels": [shared, shared]}
    before = exact(arguments)
    engine = callgate.compile(
        'tool edit { anchor-bleed /opts/path for "kimi"; anchor-bleed /labels/1/path for "kimi";'
        ' structural "s" "" { copy /opts to /more } }'
    )
    verdict = engine.check(TOOL, arguments, model=MODEL)
    assert exact(arguments) == before
    assert verdict.outcome in (Outcome.REPAIRED, Outcome.UNREPAIRABLE)
    engine = callgate.compile('tool edit { anchor-bleed /labels/0/path for "kimi" }')
    verdict = engine.check(TOOL, arguments, model=MODEL)
    assert verdict.arguments["labels"] == [{"path": "x"}, {"path": "^x$"}]
    assert verdict.arguments["opts"] == {"path": "^x$"}
    assert exact(arguments) == before


def test_a_schema_of_another_type_is_a_schema_error() -> None:
    # Kills: a schema that is handed to the validator as it is.
    bad: Any
    for bad in (
        5,
        "x",
        [],
        hostile(dict, {}),
        {1: 2},
        {"type": b"x"},
        {"a": float("nan")},
        {"type": "nothing"},
    ):
        with pytest.raises((SchemaError, InputError)):
            callgate.compile("").check(TOOL, {}, schema=bad)
        with pytest.raises((SchemaError, InputError)):
            callgate.compile("").with_tools({TOOL: bad}).check(TOOL, {})
