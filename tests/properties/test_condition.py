"""The compiled conditions against the plain meaning in `tests/spec/condition.py`."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from callgate.engine.condition import Env, Names, compile_condition
from callgate.grammar.ast import (
    STAR,
    After,
    And,
    Function,
    Item,
    Literal,
    Not,
    Or,
    Paren,
    Pointer,
    Presence,
    Quantified,
    Text,
    Truth,
    Word,
)
from callgate.grammar.ast import (
    Test as Compare,
)

_SPEC = importlib.util.spec_from_file_location(
    "condition_spec", Path(__file__).parents[1] / "spec" / "condition.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
spec = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(spec)


@dataclass(frozen=True)
class Turn:
    step: int
    repeats: int

    def calls(self, tool: str) -> int:
        return len(tool)

    def after(self, tool: str, in_turn: bool) -> bool:
        return in_turn or tool == "read"


@dataclass(frozen=True)
class Result:
    ok: bool
    text: str
    exit_code: int | None


def runs(command: str, program: str) -> bool | None:
    return None if "~" in command else command.startswith(program)


# Few names and values, so that they meet.
KEYS = st.sampled_from(["a", "b", "0", "1"])
PATHS = st.lists(
    st.sampled_from(["/", "//", "/a", "/repo", "/repo/", "..", "/..", "/../", ".", "~", "%2e", "-evil", "b"]),
    max_size=5,
).map("".join)
TEXTS = st.sampled_from(["", "a", "b", "ab", "ba", "é", "\U0001f600", "\ufffd", "true", "/repo"]) | PATHS
NUMBERS = st.sampled_from([0, 1, -1, 2, 1.0, 0.0, -0.0, 1.5, 2**53, 2**53 + 1, float(2**53), 1e308, 10**400])
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(KEYS, VALUES, max_size=4) | VALUES

SEGMENTS = KEYS | KEYS | KEYS | st.just(STAR)
POINTERS = st.builds(Pointer, st.lists(SEGMENTS, max_size=3).map(tuple), st.booleans())
STARRED = st.builds(
    lambda before, after, relative: Pointer((*before, STAR, *after), relative),
    st.lists(KEYS, max_size=1),
    st.lists(SEGMENTS, max_size=2),
    st.booleans(),
)
TOOLS = st.sampled_from([Word("read"), Text("edit")])
WORDS = st.sampled_from(
    [
        "tool",
        "model",
        "context.role",
        "context.a.b",
        "context.cwd",
        "turn.step",
        "turn.repeats",
        "result.ok",
        "result.text",
        "result.exit_code",
        "workspace",
        "words",
        "nothing",
        "turn.calls",
        "context",
    ]
).map(Word)
FUNCTIONS = (
    st.builds(lambda p: Function(Word("count"), (p,)), POINTERS)
    | st.builds(lambda p: Function(Word("length"), (p,)), POINTERS)
    | st.builds(lambda t: Function(Word("turn.calls"), (t,)), TOOLS)
    | st.builds(lambda p: Function(Word("runs"), (p, Text("a"))), POINTERS)
)
CONSTANTS = st.builds(Text, TEXTS) | st.builds(Literal, VALUES)
TERMS = POINTERS | CONSTANTS | WORDS | FUNCTIONS
LEFT = POINTERS | POINTERS | st.just(Item()) | TERMS
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "array", "object"]).map(Word) | st.just(
    Literal(None)
)
TESTS = (
    st.builds(
        Compare,
        LEFT,
        st.sampled_from(
            ["==", "!=", "<", "<=", ">", ">=", "in", "contains", "starts-with", "ends-with", "nonsense"]
        ),
        TERMS,
        st.booleans(),
    )
    | st.builds(
        Compare, LEFT, st.just("in"), st.builds(Literal, st.lists(SCALARS, max_size=3)), st.booleans()
    )
    | st.builds(Compare, LEFT, st.just("is"), TYPES, st.booleans())
    | st.builds(
        Compare, LEFT, st.just("under"), st.builds(Text, PATHS) | st.just(Word("workspace")), st.booleans()
    )
    | st.builds(
        Compare,
        LEFT,
        st.sampled_from(["matches", "fullmatches"]),
        st.sampled_from(["a", "^a", "b$", "a|ab", "", "é+"]).map(Text),
        st.booleans(),
    )
)
CONDITIONS = st.recursive(
    TESTS
    | st.builds(Truth, TERMS)
    | st.builds(Presence, POINTERS, st.booleans())
    | st.builds(After, TOOLS, st.booleans())
    | st.builds(Quantified, STARRED, st.booleans(), TESTS),
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(Paren, inner)
        | st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple))
        | st.builds(Quantified, STARRED | POINTERS, st.booleans(), inner)
    ),
    max_leaves=5,
)
CONTEXTS = st.none() | st.fixed_dictionaries(
    {},
    optional={"role": SCALARS, "a": VALUES, "cwd": st.sampled_from(["/repo", "/", "a", 5, None, "/repo/b"])},
)
ENVS = st.none() | st.builds(
    Env,
    CONTEXTS,
    st.none() | st.builds(Turn, st.integers(0, 2), st.integers(0, 2)),
    st.none() | st.builds(Result, st.booleans(), TEXTS, st.none() | st.integers(0, 1)),
)
NAMES = st.builds(
    Names,
    tool=st.just("edit"),
    model=st.none() | st.just("ab"),
    lets=st.fixed_dictionaries(
        {"workspace": st.sampled_from(["/repo", "/", "b", 5]), "words": st.just(["a", 1])}
    ),
    cwd=st.none() | st.sampled_from(["/repo", "a"]),
    runs=st.none() | st.just(runs),
)


@given(CONDITIONS, NAMES, ARGUMENTS, ENVS, st.booleans())
def test_a_compiled_condition_answers_as_its_plain_meaning_does(condition, names, arguments, env, positive):
    answer = compile_condition(condition, names, positive=positive)(arguments, arguments, env)
    assert answer is spec.evaluate(condition, names, arguments, env, positive=positive)


@given(CONDITIONS, NAMES, ARGUMENTS, ENVS)
def test_unless_is_when_not(condition, names, arguments, env):
    answer = compile_condition(condition, names, unless=True)(arguments, arguments, env)
    assert answer is spec.evaluate(Not(condition), names, arguments, env)


@given(CONDITIONS, NAMES, ARGUMENTS, ENVS)
def test_what_is_true_positively_is_true(condition, names, arguments, env):
    if compile_condition(condition, names, positive=True)(arguments, arguments, env) is True:
        assert compile_condition(condition, names)(arguments, arguments, env) is True


@given(CONDITIONS, NAMES, ARGUMENTS, st.sampled_from(["a", "b"]))
def test_a_key_that_the_call_lacks_never_makes_the_positive_reading_true(condition, names, arguments, key):
    """Adding a place only adds what is positively there, unless the condition counts or compares wholes."""
    if type(arguments) is not dict or spec_counts(condition):
        return
    less = {name: value for name, value in arguments.items() if name != key}
    if compile_condition(condition, names, positive=True)(less, less, None) is True:
        assert compile_condition(condition, names, positive=True)(arguments, arguments, None) is True


def spec_counts(part: object) -> bool:
    """Does it look at the root value as a whole?"""
    if isinstance(part, Pointer):
        return part.segments == ()
    if isinstance(part, Item):
        return True
    fields = getattr(part, "__dataclass_fields__", {})
    children = [getattr(part, name) for name in fields]
    flat = [one for child in children for one in (child if isinstance(child, tuple) else (child,))]
    return any(spec_counts(one) for one in flat if hasattr(one, "__dataclass_fields__"))
