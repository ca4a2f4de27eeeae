"""The names of the earlier gate tell what a call is as a session does, and refuse what is no state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from callgate import InputError
from callgate.engine.grounding import GateState, classify_observation, turn_loop

from ..turns import Turn

FILES = ["app.cfg", "web.cfg"]
SED = "sed -i s/retries=3/retries=5/ app.cfg"
EDIT = ("Edit", {"file_path": "app.cfg", "old_string": "retries=3", "new_string": "retries=5"})
PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: app.cfg\n@@\n-a=3\n+a=5\n*** End Patch\nEOF"


def gate(surface: Any = FILES, cwd: Any = "/repo", **fields: Any) -> GateState:
    return GateState(claim_surface=surface, cwd=cwd, **fields)


def step(tool: str, args: Any, result: Any = "", **more: Any) -> dict[str, Any]:
    return {"type": "tool_call", "tool": tool, "args": args, "result": result, **more}


def accepts(state: GateState, *script: Mapping[str, Any]) -> bool:
    terminal = {"type": "terminal", "attempt": {"claim_type": "completion", "content": "x"}}
    return turn_loop([*script, terminal], state)[0] == "x"


@pytest.mark.parametrize(
    ("tool", "args", "looks"),
    [
        ("Bash", {"command": SED}, {"web": False, "app": True}),
        ("exec", {"cmd": SED, "timeout": 9}, {"web": False, "app": True}),
        ("shell", {"command": ["bash", "-lc", SED]}, {"web": False, "app": True}),
        ("shell", {"command": SED.split()}, {"web": False, "app": True}),
        ("bash", SED, {"web": False, "app": True}),
        ("bash", SED.split(), {"web": False, "app": True}),
        ("bash", ["-lc", SED], {"web": False, "app": True}),
        ("sed", SED[4:], {"web": False, "app": True}),
        ("Bash", {"command": "sed -i s/3/5/ app.cfg", "workdir": "sub"}, {"web": False, "app": False}),
        ("Bash", {"command": PATCH}, {"web": False, "app": True}),
        ("shell", {"command": ["apply_patch", PATCH[20:-4]]}, {"web": False, "app": True}),
        ("pytest", "-q", {"web": True, "app": True}),
        ("pytest", ["-q"], {"web": True, "app": True}),
        ("Bash", {"command": "pytest"}, {"web": True, "app": True}),
        ("Bash", {"command": "cat app.cfg"}, {"web": True, "app": True}),  # the step says that it changes
        ("edit", {"command": "view all", "path": "app.cfg"}, {"web": False, "app": True}),
        ("edit", {"paths": ["app.cfg", "./app.cfg"]}, {"web": False, "app": True}),
        ("tool", {"command": ["sed -i", 3]}, {"web": True, "app": True}),
    ],
)
def test_what_a_changing_call_names(tool: str, args: Any, looks: dict[str, bool]) -> None:
    for name, accepted in looks.items():
        read = step("read", {"path": f"{name}.cfg"}, "a=5\nretries=5")
        assert accepts(gate(), step(tool, args, mutating=True), read) is accepted


@pytest.mark.parametrize(
    ("tool", "args", "result", "accepted"),
    [
        ("Bash", {"command": "cat app.cfg"}, "retries=5", True),
        ("Bash", {"command": "cat app.cfg"}, "retries=3", False),
        ("Bash", {"command": "cat app.cfg"}, "retries=5\nExit code: 1", False),
        ("Bash", {"command": "cat app.cfg", "run_in_background": True}, "retries=5", False),
        ("Bash", {"command": "cat app.cfg", "host": "far"}, "retries=5", False),
        ("Bash", {"command": "echo retries=5 app.cfg"}, "retries=5 app.cfg", False),
        ("Bash", {"command": "python3 show.py app.cfg"}, "retries=5", False),
        ("shell", {"command": ["bash", "-lc", "sed -n 1,20p app.cfg"]}, {"output": "retries=5"}, True),
        ("shell", {"command": ["tail", "app.cfg"]}, "retries=5", True),
        ("shell", {"command": ["bash", "-x", "app.cfg"]}, "retries=5", False),
        ("cat", "-n app.cfg", "1\tretries=5", True),
        ("read", {"path": "app.cfg"}, "retries=5", True),
        ("read", {"path": "app.cfg", "ref": "HEAD~1"}, "retries=5", False),
        ("read", {"path": "app.cfg", "host": "far"}, "retries=5", False),
        ("grep", {"pattern": "retries", "path": "."}, "app.cfg:1:retries=5", True),
        ("grep", {"pattern": "retries", "path": "."}, "app.cfg:1:retries=3", False),
        ("grep", {"pattern": "retries=5", "path": "app.cfg"}, "retries=5", False),
    ],
)
def test_what_a_look_shows(tool: str, args: Any, result: Any, *, accepted: bool) -> None:
    assert accepts(gate(), step(*EDIT, "ok", mutating=True), step(tool, args, result)) is accepted
    if type(args) is not dict or type(args.get("command")) is list:
        return
    rules = "ground { reads read, grep; mutates Edit; shell Bash /command }"
    session = Turn(rules, tools=None, claim_surface=FILES)
    session.call(*EDIT, "ok")
    session.call(tool, args, result)
    assert session.accepts("completion") is accepted


@pytest.mark.parametrize(("order", "accepted"), [("ORD-7", True), ("ORD-8", False)])
def test_what_became_of_a_thing_is_no_failure(order: str, *, accepted: bool) -> None:
    change = step("update_order", {"order_id": "ORD-7", "status": "cancelled"}, "done", mutating=True)
    look = step("get_order", {"order_id": order}, {"order_id": order, "status": "cancelled"})
    assert accepts(gate(["ORD-7"]), change, look) is accepted


def test_options_are_no_target_and_a_call_keeps_its_own_signal() -> None:
    script = [
        step("write", "app.cfg", "ok", mutating=True),
        step("pytest", "-q", "3 passed", mutating=True, signals=["tests"]),
        step("read", "app.cfg", "v=1"),
    ]
    assert accepts(gate(goal_predicates=["tests"]), *script)
    assert not accepts(gate(goal_predicates=["lint"]), *script)


def test_who_extracts_names_says_what_is_relevant_in_a_turn_too() -> None:
    for found, relevant in ((["app.cfg"], True), ("app.cfg", True), (["other"], False), (None, False)):
        state = gate(extractors={"stat": lambda _args, _result, found=found: found})
        _, trace = turn_loop([step("stat", "h7 app.cfg", "app.cfg: ino 8")], state)
        assert trace[0][1]["grounds_assertion"] is relevant


def classified(
    *calls: tuple[str, Any, Any], surface: Any = FILES, changed: int = 0, **fields: Any
) -> list[bool]:
    state = gate(surface, last_mutation_step=changed, **fields)
    found = []
    for number, (tool, args, result) in enumerate(calls, changed + 1):
        state.current_step = number
        found.append(classify_observation(tool, args, result, state, True)["grounds_assertion"])
    return found


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([{"timeout": 30}, {"timeout": 60}, {"timeout": 60}], [True, True, False]),
        ([1, 2, True], [True, True, True]),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], [True, False]),
        ([[1, 2], [2, 1]], [True, True]),
    ],
)
def test_structured_results_are_told_apart_by_all_in_them(calls: list[Any], found: list[bool]) -> None:
    assert classified(*(("get", "app.cfg", result) for result in calls)) == found
    script = [step("get", "app.cfg", result) for result in calls]
    assert [said["grounds_assertion"] for _, said in turn_loop(script, gate())[1]] == found


def test_of_a_result_that_says_nothing_the_arguments_tell_it_from_others() -> None:
    calls = [("check", name, "ok") for name in ("svc-a", "svc-b", "svc-a")]
    assert classified(*calls, surface=["svc-a", "svc-b"]) == [True, True, False]
    assert classified(*(("read", name, "retries=3") for name in FILES)) == [True, False]


def test_the_classifier_tells_what_a_call_is_as_a_session_does() -> None:
    assert classified(("Bash", {"command": "cat app.cfg"}, "v=1")) == [True]
    assert classified(("Bash", {"command": "echo app.cfg"}, "app.cfg")) == [False]
    assert classified(("Bash", {"command": "cat app.cfg"}, "Exit code: 1")) == [False]
    assert classified(("Bash", {"command": "show app.cfg"}, "v=1")) == [True]
    order = ("get_order", {"id": "ORD-7"}, {"id": "ORD-7", "status": "cancelled"})
    assert classified(order, surface=["ORD-7"]) == [True]
    assert classified(("read", "app.cfg", ""), ("read", "app.cfg", "v=1"), changed=1) == [False, True]


@pytest.mark.parametrize(
    "fields",
    [
        *({name: "poll"} for name in ("goal_predicates", "novelty_exempt", "verified_signals")),
        *({name: [1]} for name in ("goal_predicates", "novelty_exempt", "recent_result_hashes")),
        *({"verify_threshold": value} for value in (float("nan"), 2, -1, None, True)),
        {"cwd": 5},
        {"current_step": None},
        {"last_mutation_step": "1"},
        *({"budget": value} for value in (-1, None, 1.5, True)),
    ],
)
def test_what_is_no_state_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        gate(**fields)
    with pytest.raises(InputError):
        GateState.for_model_class(**fields)


@pytest.mark.parametrize(
    "wrong",
    [
        {"signals": "tests"},
        {"args": {"path": {1, 2}}},
        {"result": {"output": b"x"}},
        {"tool": None},
        {"args": {"n": 10**5000}},
    ],
)
def test_what_is_no_step_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        turn_loop([step("read", "app.cfg", "v=1") | wrong], gate())


def test_tuples_are_lists() -> None:
    script = [step("write", ("app.cfg",), "ok", mutating=True), step("read", {"path": ("web.cfg",)}, "v=1")]
    assert not accepts(gate(), *script)
    assert accepts(gate(), script[0], step("read", ("app.cfg",), "v=1"))


def test_a_budget_is_cut_to_the_cap_and_what_is_no_name_is_no_extracted_one() -> None:
    assert GateState(cap=5).budget == 5
    state = GateState(
        claim_surface={"a.cfg"}, extractors={"get": lambda _args, _result: [7, None, "notes of a.cfg"]}
    )
    assert classify_observation("get", {}, "x = 1", state, True)["grounds_assertion"] is False
    state.extractors["get"] = lambda _args, _result: [7, "./a.cfg"]
    assert classify_observation("get", {}, "x = 2", state, True)["grounds_assertion"] is True
