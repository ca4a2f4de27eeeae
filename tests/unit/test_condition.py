"""What each part of a condition answers: true, false, or unknown (None)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import pytest

from callgate.engine.condition import Env, Names, compile_condition
from callgate.grammar.ast import Literal, Pointer, Text, Word
from callgate.grammar.ast import Test as Compare
from callgate.grammar.parser import parse_condition

LETS: dict[str, Any] = {"workspace": "/repo", "limit": 3, "modes": ["fast", 1, None]}


@dataclass(frozen=True)
class Turn:
    step: int = 4
    repeats: int = 1

    def calls(self, tool: str) -> int:
        return {"bash": 2}.get(tool, 0)

    def after(self, tool: str, in_turn: bool) -> bool:
        return tool == "read" and not in_turn


@dataclass(frozen=True)
class Result:
    ok: bool = True
    text: str = "3 passed"
    exit_code: int | None = 0


def ask(text, arguments, env=None, *, unless=False, positive=False, model=None, cwd=None, runs=None):
    names = Names("edit", model, LETS, cwd, runs)
    closure = compile_condition(parse_condition(text), names, unless=unless, positive=positive)
    return closure(arguments, arguments, env)


@pytest.mark.parametrize(
    ("text", "arguments", "answer"),
    [
        ("/a == 1", {"a": 1}, True),
        ("/a == 1", {"a": 1.0}, True),
        ("/a == 1.0", {"a": 1}, True),
        ("/a == 1", {"a": True}, False),
        ("/a == true", {"a": 1}, False),
        ("/a == 0", {"a": False}, False),
        ("/a == 0", {"a": -0.0}, True),
        ('/a == "1"', {"a": 1}, False),
        ("/a == null", {"a": None}, True),
        ("/a == null", {}, False),
        ("/a == [1, true]", {"a": [1.0, True]}, True),
        ("/a == [1, true]", {"a": [True, 1]}, False),
        ('/a == {"x": {"y": []}}', {"a": {"x": {"y": []}}}, True),
        ('/a == {"x": 1}', {"a": {"x": 1, "y": 1}}, False),
        ("/a == 9007199254740993", {"a": 9007199254740992.0}, False),
        ("/a == /b", {"a": [1], "b": [1.0]}, True),
        ("/a == /b", {"a": 1}, False),
        ("/a == /b", {}, False),
        ('/a != "x"', {"a": 1}, True),
        ('/a != "x"', {"a": "x"}, False),
        ('/a != "x"', {}, True),
        ("/a != /b", {}, True),
        ('not /a == "x"', {}, True),
    ],
)
def test_equality_is_exact_and_knows_no_conversion(text, arguments, answer):
    assert ask(text, arguments) is answer


@pytest.mark.parametrize(
    ("text", "arguments", "answer"),
    [
        ("/a > 10", {"a": 11}, True),
        ("/a > 10", {"a": 10}, False),
        ("/a >= 10", {"a": 10.0}, True),
        ("/a < 9007199254740993", {"a": 9007199254740992.0}, True),
        ("/a > 1e308", {"a": 10**5000}, True),
        ("/a <= 1", {"a": True}, None),
        ("/a < 1", {"a": "0"}, None),
        ("/a < 1", {"a": None}, None),
        ("/a < 1", {"a": [0]}, None),
        ("/a < 1", {}, False),
        ("/a < true", {"a": 0}, None),
        ("/a < null", {"a": None}, None),
        ('/a < "b"', {"a": "a"}, True),
        ('/a < "a"', {"a": "B"}, True),
        ('/a > "\uffff"', {"a": "\U0001f600"}, True),
        ("/a < /b", {"a": 1, "b": 2}, True),
        ("/a < /b", {"a": 1, "b": "2"}, None),
        ("1 < /a", {"a": 2}, True),
        ("not /a < 1", {"a": "0"}, None),
        ("not /a < 1", {}, True),
    ],
)
def test_order_is_between_numbers_or_between_texts(text, arguments, answer):
    assert ask(text, arguments) is answer


@pytest.mark.parametrize(
    ("text", "arguments", "answer"),
    [
        ('/a in ["x", "y"]', {"a": "y"}, True),
        ('/a in ["x", "y"]', {"a": "z"}, False),
        ('/a in ["x", "y"]', {"a": 1}, False),
        ('/a in ["x", "y"]', {"a": ["x"]}, False),
        ("/a in [1, null]", {"a": True}, False),
        ("/a in [1, null]", {"a": None}, True),
        ("/a in [1, null]", {"a": 1.0}, True),
        ("/a in [[1]]", {"a": [1]}, True),
        ("/a in []", {"a": 1}, False),
        ("/a in modes", {"a": "fast"}, True),
        ("/a in limit", {"a": 3}, None),
        ('/a in ["x"]', {}, False),
        ('/a not in ["x"]', {}, True),
        ('/a not in ["x"]', {"a": "x"}, False),
        ("/a contains 1", {"a": [2, 1.0]}, True),
        ("/a contains 1", {"a": [True]}, False),
        ('/a contains "b"', {"a": "abc"}, True),
        ('/a contains "b"', {"a": ["abc"]}, False),
        ('/a contains ""', {"a": ""}, True),
        ("/a contains 1", {"a": "1"}, None),
        ('/a contains "b"', {"a": {"b": 1}}, None),
        ('/a contains "b"', {}, False),
        ('/a not contains "b"', {}, True),
        ('/a starts-with "/etc"', {"a": "/etc/x"}, True),
        ('/a starts-with "/etc"', {"a": ["/etc"]}, None),
        ('/a ends-with ".py"', {"a": "a.py"}, True),
        ('/a ends-with ".py"', {"a": "a.pyc"}, False),
        ("/a starts-with workspace", {"a": "/repo/x"}, True),
        ("/a starts-with limit", {"a": "3"}, None),
        ("/a matches 'b+'", {"a": "abbc"}, True),
        ("/a fullmatches 'b+'", {"a": "abbc"}, False),
        ("/a fullmatches '.'", {"a": "\U0001f600"}, True),
        ("/a fullmatches 'b+'", {"a": "bb\n"}, False),
        ("/a matches 'b+'", {"a": 5}, None),
        ("/a matches 'b+'", {}, False),
        ("/a not matches 'b+'", {}, True),
    ],
)
def test_membership_and_text(text, arguments, answer):
    assert ask(text, arguments) is answer


@pytest.mark.parametrize(
    ("value", "types"),
    [
        ("", {"string"}),
        (1, {"number", "integer"}),
        (10**400, {"number", "integer"}),
        (1.0, {"number", "integer"}),
        (1.5, {"number"}),
        (True, {"boolean"}),
        ([], {"array"}),
        ({}, {"object"}),
        (None, {"null"}),
    ],
)
def test_is_tells_the_json_types_of_a_value(value, types):
    for name in ("string", "number", "integer", "boolean", "array", "object", "null"):
        assert ask(f"/a is {name}", {"a": value}) is (name in types)
        assert ask(f"/a not is {name}", {"a": value}) is (name not in types)
        assert ask(f"/a is {name}", {}) is False


@pytest.mark.parametrize(
    ("text", "arguments", "answer"),
    [
        ("count(/a) > 1", {"a": [1, 2]}, True),
        ("count(/a) == 1", {"a": {"k": 0}}, True),
        ("count(/a) == 0", {}, False),
        ("count(/a) != 0", {}, True),
        ("count(/a) == 1", {"a": "x"}, None),
        ("count(/a) != 1", {"a": "x"}, None),
        ("length(/a) == 2", {"a": "e\u0301"}, True),
        ("length(/a) == 1", {"a": "\U0001f600"}, True),
        ("length(/a) == 1", {"a": ["x"]}, None),
        ("count(/a/*) == 1", {"a": [[1]]}, None),
        ("present /a", {"a": None}, True),
        ("present /a/b", {"a": "b"}, False),
        ("missing /a/0", {"a": [0]}, False),
        ("missing /a/1", {"a": [0]}, True),
        ("missing /a/00", {"a": [0]}, True),
        ("present /a/00", {"a": {"00": 0}}, True),
        ("present /a/-", {"a": [0]}, False),
        ('present /a/"*"', {"a": {"*": 1}}, True),
        ("present /a/__proto__", {"a": {}}, False),
        ("/a", {"a": True}, True),
        ("/a", {"a": False}, False),
        ("/a", {}, False),
        ("not /a", {}, True),
        ("/a", {"a": 1}, None),
        ("/a", {"a": None}, None),
        ("not /a", {"a": "false"}, None),
        ("true", {}, True),
        ("count(/a)", {"a": []}, None),
    ],
)
def test_counting_presence_and_bare_terms(text, arguments, answer):
    assert ask(text, arguments) is answer


@pytest.mark.parametrize("text", ["true", "false", "turn.step > 1"])
@pytest.mark.parametrize("other", ["true", "false", "turn.step > 1"])
def test_and_or_and_not_are_those_of_sql(text, other):
    value = {"true": 1.0, "false": 0.0, "turn.step > 1": 0.5}
    answer = {1.0: True, 0.0: False, 0.5: None}
    one, two = value[text], value[other]
    assert ask(f"{text} and {other}", {}) is answer[min(one, two)]
    assert ask(f"{text} or {other}", {}) is answer[max(one, two)]
    assert ask(f"not ({text})", {}) is answer[1 - one]
    assert ask(text, {}, unless=True) is answer[1 - one]


@pytest.mark.parametrize(
    ("text", "edits", "answer"),
    [
        ("any /e/* == 1", [2, 1], True),
        ("any /e/* == 1", [], False),
        ("every /e/* == 1", [], True),
        ("any /e/* == 1", None, None),
        ("every /e/* == 1", {"0": 1}, None),
        ("any /e/* > 1", ["a", 2], True),
        ("any /e/* > 1", ["a", 1], None),
        ("every /e/* > 1", ["a", 2], None),
        ("every /e/* > 1", ["a", 1], False),
        ('any /e/*/path under "/etc"', [{"path": "/repo"}, {"path": "/etc/x"}], True),
        ('any /e/*/path under "/etc"', [{}, 5], False),
        ('every /e/*/path under "/etc"', [{"path": "/etc"}, {}], False),
        ('any /e/*/path != "x"', [{}], True),
        ("any /e/* (missing ./path)", [{"path": 1}, {}], True),
        ("any /e/* (./a == 1 and ./b == 2)", [{"a": 1}, {"b": 2}], False),
        ("any /e/* (./a == 1 and ./b == 2)", [{"a": 1, "b": 2}], True),
        ("any /e/* (./a == /want)", [{"a": 7}], True),
        ("any /e/* (any ./l/* == 1)", [{"l": [0]}, {"l": [1]}], True),
        ("any /e/*/l/* == 1", [{"l": [0]}, {"l": [1]}], True),
        ("every /e/*/l/* == 1", [{"l": [1]}, {}], False),
        ("every /e/*/l/* == 1", [{"l": [1]}, {"l": []}], True),
        ("every /e/*/l/* == 1", [{"l": [1]}, {"l": 1}], None),
        ("any /e/*/* == 1", [[0], [1]], True),
        ("any /e/0/* == 1", [[0], [1]], False),
        ("any /e == 1", [1], None),
    ],
)
def test_any_and_every_visit_the_items_of_an_array(text, edits, answer):
    assert ask(text, {"e": edits, "want": 7}) is answer


def test_any_and_every_are_false_over_a_missing_array():
    assert ask("any /e/* == 1", {}) is False
    assert ask("every /e/* == 1", {}) is False
    assert ask("every /e/*/l/* != 1", {"f": []}) is False
    assert ask("any /* == 1", [1]) is True


@pytest.mark.parametrize("env", [None, Env(), Env(context={}, turn=None, result=None)])
@pytest.mark.parametrize(
    "test",
    [
        'context.role == "x"',
        'context.role != "x"',
        'context.role in ["x"]',
        "context.role is null",
        "context.role",
        "context.role == context.other",
        "/missing == context.role",
        'model == "x"',
        "model matches 'x'",
        "turn.step > 1",
        "turn.repeats == 0",
        "turn.calls(bash) > 1",
        "after read",
        "after read in turn",
        "result.ok",
        'result.text contains "x"',
        "result.exit_code != 0",
        'runs(/a, "pytest")',
        "nobody == 1",
    ],
)
def test_what_was_not_given_is_unknown_and_so_is_every_test_on_it(test, env):
    assert ask(test, {"a": "pytest"}, env) is None
    assert ask(f"not ({test})", {"a": "pytest"}, env) is None


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ('context.role == "support"', True),
        ("context.user.admin", False),
        ("context.user.nobody", None),
        ("context.user.name.first", None),
        ("context.nothing is null", True),
        ("context.groups contains /a", True),
        ("context.groups.0 == /a", True),
        ('tool == "edit"', True),
        ("model matches '(?i)KIMI'", True),
        ("turn.step == 4 and turn.repeats == 1", True),
        ('turn.calls(bash) == 2 and turn.calls("bash") == 2 and turn.calls(edit) == 0', True),
        ("after read", True),
        ("after read in turn", False),
        ('result.ok and result.exit_code == 0 and result.text ends-with "passed"', True),
    ],
)
def test_what_comes_beside_the_arguments_can_be_asked(test, answer):
    context = {"role": "support", "user": {"admin": False, "name": "x"}, "nothing": None, "groups": ["dev"]}
    env = Env(context, Turn(), Result())
    assert ask(test, {"a": "dev"}, env, model="moonshotai/kimi-k2") is answer


def test_a_result_without_an_exit_code_leaves_tests_on_it_unknown():
    assert ask("result.exit_code == 0", {}, Env(result=Result(exit_code=None))) is None


def test_runs_asks_the_function_that_it_is_given():
    def runs(command: str, program: str) -> bool | None:
        return None if "$" in command else command == program

    assert ask('runs(/c, "pytest")', {"c": "pytest"}, runs=runs) is True
    assert ask('runs(/c, "pytest")', {"c": "ls"}, runs=runs) is False
    assert ask('runs(/c, "pytest")', {"c": "$X"}, runs=runs) is None
    assert ask('runs(/c, "pytest")', {"c": ["pytest"]}, runs=runs) is None
    assert ask('runs(/c, "pytest")', {}, runs=runs) is False


@pytest.mark.parametrize(
    ("arguments", "denied"),
    [
        ({"path": "/repo/a.py"}, False),
        ({"path": "/repo"}, False),
        ({"path": "/repo/../etc/passwd"}, True),
        ({"path": "/repo-evil/x"}, True),
        ({"path": "src/a.py"}, None),
        ({"path": "~/.ssh/id"}, None),
        ({"path": ["/repo/a"]}, None),
        ({"path": None}, None),
        ({}, True),
        ([], True),
        ("text", True),
    ],
)
def test_unless_under_lets_pass_only_what_is_surely_there(arguments, denied):
    assert ask("/path under workspace", arguments, unless=True) is denied
    assert ask("/path not under workspace", arguments) is denied


def test_a_relative_path_is_under_what_its_working_directory_is_under():
    assert ask("/path under workspace", {"path": "a"}, cwd="/repo") is True
    assert ask("/path under workspace", {"path": "a"}, Env(context={"cwd": "/repo/b"})) is True
    assert ask("/path under workspace", {"path": "a"}, Env(context={"cwd": "/repo"}), cwd="/etc") is False
    assert ask("/path under limit", {"path": "/3"}) is None


# The positive reading --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('/a == "x"', True),
        ('/a == "y"', False),
        ("/a == 1", None),
        ('/gone == "x"', None),
        ('/a != "y"', None),
        ('/gone != "y"', None),
        ('not /a == "y"', None),
        ('not (not /a == "x")', None),
        ('/a not in ["y"]', None),
        ('/a in ["y", "x"]', True),
        ('/a in ["y", 1]', None),
        ('/a in ["y"]', False),
        ('/yes in ["y"]', None),
        ("missing /gone", None),
        ("missing /a", False),
        ("present /gone", None),
        ("present /a", True),
        ("/gone", None),
        ("/yes", True),
        ('/gone == "x" or /a == "x"', True),
        ('/a == "x" and not /gone', None),
        ("any /list/* == 1", True),
        ("any /gone/* == 1", None),
        ("every /gone/* == 1", None),
        ("every /list/* > 0", True),
        ("every /list/* != 5", None),
        ("count(/list) > 1", True),
        ("count(/gone) == 0", None),
        # These do not look at the arguments, so there is nothing that a repair could have put there.
        ('context.role != "admin"', True),
        ('/a == "x" and context.role != "admin"', True),
        ('not tool == "read"', True),
        ("not after read in turn", True),
    ],
)
def test_positively_only_what_is_there_counts(text, answer):
    arguments = {"a": "x", "yes": True, "list": [1, 2]}
    env = Env({"role": "guest"}, Turn())
    assert ask(text, arguments, env, positive=True) is answer


def test_a_negated_rule_never_fires_positively():
    assert ask("/path under workspace", {"path": "/etc"}, unless=True) is True
    assert ask("/path under workspace", {"path": "/etc"}, unless=True, positive=True) is None


# Total and linear ------------------------------------------------------------------------------


def nest(depth: int, leaf: Any) -> Any:
    value = leaf
    for at in range(depth):
        value = [value] if at % 2 else {"k": value}
    return value


def test_values_nested_a_hundred_thousand_deep_are_compared():
    arguments = {
        "a": nest(100_000, 1),
        "b": nest(100_000, 1.0),
        "c": nest(100_000, True),
        "l": [nest(100_000, 1)],
    }
    assert sys.getrecursionlimit() < 100_000
    assert ask("/a == /b", arguments) is True
    assert ask("/a == /c", arguments) is False
    assert ask("/a in [1]", arguments) is False
    assert ask("/l contains /b", arguments) is True
    assert ask("count(/a) == 1", arguments) is True
    assert ask("any /l/* == /a", arguments) is True


@pytest.mark.parametrize("wrap", [lambda n: n, lambda n: -n, lambda n: [n], lambda n: {"k": n}])
def test_integers_too_long_to_print_are_compared(wrap):
    arguments = {"a": wrap(10**5000), "b": wrap(10**5000)}
    assert ask("/a == /b", arguments) is True
    assert ask("/a == 1.5", arguments) is False
    for test in (
        "/a < 1.5",
        "/a contains 1",
        "/a starts-with 'x'",
        "/a under '/x'",
        "/a matches 'x'",
        "/a is integer",
    ):
        assert ask(test, arguments) in (True, False, None)


@pytest.mark.parametrize(
    "test",
    [
        Compare(Pointer(("a",)), "matches", Text("(?=x)")),
        Compare(Pointer(("a",)), "matches", Pointer(("a",))),
        Compare(Pointer(("a",)), "under", Pointer(("a",))),
        Compare(Pointer(("a",)), "under", Literal(5)),
        Compare(Pointer(("a",)), "is", Word("text")),
        Compare(Pointer(("a",)), "resembles", Text("x")),
        Compare(Pointer(("a",)), "in", Text("x")),
    ],
)
def test_what_the_checker_refuses_is_unknown_when_it_is_run_all_the_same(test):
    closure = compile_condition(test, Names("edit", None, {}, None))
    assert closure({"a": "x"}, {"a": "x"}, None) is None


def test_a_closure_does_not_change_what_it_is_given():
    arguments = {"e": [{"path": "/etc/x"}], "l": [3, 1, 2]}
    before = {"e": [{"path": "/etc/x"}], "l": [3, 1, 2]}
    ask('any /e/*/path under "/etc" and /l contains 1 and /e == [1] or count(/l) > 2', arguments)
    assert arguments == before
