"""Grounding: each statement, bound and name of the earlier gate has an effect; found by breaking them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callgate.engine import grounding
from callgate.engine.grounding import GateState, boundary_check, turn_loop
from callgate.engine.relevance import home
from callgate.engine.shown import written

from ..turns import RULES, Turn


def test_what_stands_under_mutates_changes_things_whatever_its_annotations_say() -> None:
    turn = Turn(RULES + "ground { mutates look }")
    turn.call("look", {"path": "a.cfg"}, "timeout=10")
    assert turn.now.owed == ("a.cfg",)


def test_a_second_shell_has_its_command_at_a_place_of_its_own() -> None:
    turn = Turn(RULES + "ground { shell other /input/command }")
    turn.call("other", {"input": {"command": "cat a.cfg"}}, "timeout=10")
    assert turn.accepts("assertion")


def test_a_shell_without_a_command_changes_things() -> None:
    turn = Turn()
    turn.call("bash", {"script": "cat a.cfg"}, "a.cfg")
    assert turn.now.owed == ("a change that named nothing",)


def test_what_a_command_was_told_to_print_grounds_nothing() -> None:
    turn = Turn()
    turn.call("bash", {"command": "echo a.cfg"}, "a.cfg")
    assert not turn.accepts("assertion")


def test_what_a_command_tells_of_a_file_grounds_an_assertion() -> None:
    turn = Turn()
    turn.call("bash", {"command": "wc -l a.cfg"}, "12")
    assert turn.accepts("assertion")


def test_a_folder_that_is_null_is_none() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg"})
    turn.call("bash", {"command": "cat a.cfg", "cwd": None}, "timeout=30")
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    ("tool", "first", "second", "new"),
    [
        ("read", "build 1 of v1", "build 2 of v1", False),
        ("read", "build 1 of v1", " of v1", True),
        ("read", "v1 by worker 1", "v1 by worker 2", False),
        ("read", "v1 took 12 ms on host1", "v1 took 15 ms on host2", False),
        ("ls", "build 1 of v1", "build 2 of v1", True),
    ],
)
def test_normalize_holds_for_its_tools_each_in_its_turn(
    tool: str, first: str, second: str, new: bool
) -> None:
    more = """ground { normalize read 'worker [0-9]+' to "w"; normalize read '[0-9]+ ms on \\w+' to "t" }"""
    turn = Turn(RULES + more)
    for result in (first, *["thought"] * 4, second):
        turn.session.reason() if result == "thought" else turn.call(tool, {"path": "a.cfg"}, result)
    assert turn.now.budget == (4 if new else 2)


def test_a_signal_is_one_of_its_tool() -> None:
    turn = Turn(context={"cwd": "/repo", "tests": True})
    turn.call("grep", {"path": "a.cfg", "command": "pytest -q"}, {"exit_code": 0})
    assert turn.now.missing_signals == ("passed",)


def test_a_signal_of_a_call_that_is_not_certain_is_none() -> None:
    turn = Turn(context={"cwd": "/repo", "tests": True})
    turn.call("bash", {"command": "pytest $X"}, {"exit_code": 0})
    assert turn.now.missing_signals == ("passed",)


def test_signals_and_requirements_with_unless_and_without_a_condition() -> None:
    rules = """ground {
      reads   read
      signal  looked from read
      signal  real from read unless /about == "dry"
      require looked before completion
      require real before completion unless context.free
    }"""
    turn = Turn(rules, context={"free": False})
    assert turn.now.missing_signals == ("looked", "real")
    turn.read(result="text", ok=False)
    assert turn.now.missing_signals == ("looked", "real")
    turn.call("read", {"path": "a.cfg", "about": "dry"})
    assert turn.now.missing_signals == ("real",)
    turn.read()
    assert turn.now.missing_signals == ()
    assert Turn(rules, context={"free": True}).now.missing_signals == ("looked",)


@pytest.mark.parametrize("arguments", [{"about": "b.cfg"}, {"path": ["x", "b.cfg"]}, {"more": "b.cfg"}])
def test_what_a_claim_is_about_stands_at_each_of_the_places(arguments: Any) -> None:
    turn = Turn(RULES + "ground { surface /about, /path/*; surface /more }", claim_surface=())
    turn.call("ls", arguments)
    turn.read("b.cfg", "y")
    assert turn.accepts("assertion")


def test_relative_paths_are_joined_to_the_folder_that_the_rules_give() -> None:
    turn = Turn(RULES + 'let cwd = "/rules"')
    turn.read("/repo/a.cfg")
    assert not turn.accepts("assertion")
    turn.read("/rules/a.cfg")
    assert turn.accepts("assertion")


@pytest.mark.parametrize("strict", ["refill 4 strict", "refill 4; strict"])
@pytest.mark.parametrize("families", ["", ' for "kimi"'])
def test_a_preset_of_ones_own_has_all_its_numbers(strict: str, families: str) -> None:
    turn = Turn(f"{RULES}\npreset mine {{ cap 9 {strict} }}\npreset mine{families}", model="kimi-k2")
    for _ in range(7):
        turn.session.reason()
    turn.read()
    assert turn.now.budget == 6
    assert not turn.accepts("assertion")
    assert turn.accepts("unverified")


def test_the_threshold_is_that_of_the_session() -> None:
    for threshold, accepted in ((0.9, False), (0.8, True)):
        turn = Turn(verifier=lambda *_: 0.8, threshold=threshold)
        turn.read()
        assert turn.accepts("assertion") is accepted


def kept(turn: Turn) -> Any:
    return json.loads(turn.session.dump())["turn"]


def pieces(turn: Turn) -> list[list[str]]:
    return [each.get("pieces", []) for each in kept(turn)["ground"]["targets"].values()]


@pytest.mark.parametrize("letter", ["x", "é", '"'])
def test_of_each_target_sixteen_lines_of_48_bytes_are_kept(letter: str) -> None:
    turn = Turn()
    for number in range(3):
        lines = "\n".join(f"{number}-{at}{letter * 200}" for at in range(99))
        turn.call("edit", {"path": "a.cfg", "newText": lines})
    (found,) = pieces(turn)
    assert len(found) == 16
    assert max(len(json.dumps(each, ensure_ascii=False).encode()) - 2 for each in found) <= 48
    turn.call("edit", {"path": "a.cfg", "old_string": "-", "new_string": "yes" * 16})
    assert max(len(json.dumps(each, ensure_ascii=False).encode()) - 2 for each in pieces(turn)[0]) <= 48


def test_of_targets_that_came_late_fewer_lines_are_kept() -> None:
    turn = Turn()
    for number in range(250):
        path, lines = f"/repo/{number:050}", [f"x{at}={at:020}" for at in range(8)]
        turn.call("edit", {"path": path, "newText": "\n".join(lines)})
    kept = [len(each) for each in pieces(turn)]
    full, one, none = kept.count(8), kept.count(1), kept.count(0)
    assert kept == [8] * full + [1] * one + [0] * none
    assert full > 20
    assert one > 10
    assert none > 10
    assert len(turn.session.dump()) < 64 * 1024


def test_what_is_kept_of_a_target_stays_when_little_more_can_be() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30\nretries=5"})
    for number in range(255):
        path = f"/{number:050}"
        turn.call("edit", {"path": path, "newText": "\n".join(f"x{at}={at:040}" for at in range(16))})
        turn.read(path, f"something else {number}")
    turn.call("edit", {"path": "a.cfg", "old_string": "retries=5", "new_string": "retries=6"})
    assert pieces(turn)[0] == ["timeout=30", "retries=6"]
    turn.read("a.cfg", "retries=6")
    assert "a.cfg" in turn.now.owed
    turn.read("a.cfg", "timeout=30\nretries=6")
    assert "a.cfg" not in turn.now.owed


def test_of_a_name_that_is_not_kept_a_change_of_a_folder_that_it_may_lie_in_is_one_of_it() -> None:
    turn = Turn()
    paths = [f"/repo/{number:055}" for number in range(255)]
    for path in paths:
        turn.call("edit", {"path": path, "newText": "\n".join(f"x{at}={at:040}" for at in range(16))})
    for path in paths:
        turn.read(path, "\n".join(f"x{at}={at:040}" for at in range(16)))
    assert turn.now.owed == ()
    cut = turn.session.dump().count(b'"cut"')
    assert cut > 2
    turn.call("edit", {"path": "/elsewhere"})
    assert turn.now.owed == ("/elsewhere",)
    turn.call("edit", {"path": "/repo/"})
    assert len(turn.now.owed) == 257
    assert len([each for each in turn.now.owed if each == paths[0][: len(each)] and len(each) == 24]) >= 1


def test_where_a_name_that_is_not_kept_lies_is_not_known_with_two_dots() -> None:
    state = grounding.begin(grounding.Preset())
    none = grounding.Room(0, 1 << 20)
    for name in ("/repo/sub/a.cfg", "/repo/sub/../../srv/a.cfg", "/repo/long/" + "x" * 60):
        grounding.change_started(
            state, "edit", [(name, grounding.Written(name))], home(None), unnamed=False, room=none
        )

    def under(folder: str) -> list[str]:
        return [key for key, _ in grounding.under(state, [("", grounding.Written(folder))], home(None))]

    assert under("/repo/sub") == ["/repo/sub/a.cfg", "/repo/sub/../../srv/a.cfg"]
    assert under("/srv") == ["/repo/sub/../../srv/a.cfg"]
    assert under("/repo/long/" + "x" * 50) == ["/repo/sub/../../srv/a.cfg", "/repo/long/" + "x" * 60]


def test_while_changes_run_no_more_is_kept_of_them() -> None:
    turn = Turn()
    turn.call("write", {"path": "a.cfg", "content": "\n".join(f"w{at:02}" for at in range(16))})
    for part in range(3):
        old, new = ("\n".join(f"{each}{at:02}" for at in range(16)) for each in ("w", f"n{part}"))
        turn.session.call("edit", {"path": "a.cfg", "old_string": old, "new_string": new}, call_id=f"e{part}")
        turn.session.call(
            "edit", {"path": "a.cfg", "old_string": new, "new_string": "a\nb"}, call_id=f"f{part}"
        )
    (target,) = kept(turn)["ground"]["targets"].values()
    assert (len(target["coming"]), len(target["going"])) == (16, 16)


def test_no_call_keeps_many_names_or_lines_or_any_once_it_is_answered() -> None:
    lines = [f"la{number}" for number in range(16)]
    turn = Turn()
    for path in ("b.cfg", "c.cfg"):
        turn.call("write", {"path": path, "content": "\n".join(lines)})
        lines = [each.upper() for each in lines]
    names = [f"f{number}" for number in range(99)]
    turn.session.call(
        "read", {"path": names, "about": "\n".join(lines) + "\n".join(lines).lower()}, call_id="r"
    )
    waits = kept(turn)["calls"]["r"]["pending"]
    assert (len(waits["named"]), waits["said"]) == (64, [""])
    turn.session.result("r", "text")
    assert "pending" not in kept(turn)["calls"]["r"]


def test_what_calls_add_to_a_claim_has_bounds() -> None:
    turn = Turn()
    for about in ["a.cfg", "x" * 257, "x\ny", *(f"n{number}" for number in range(99))]:
        turn.call("ls", {"about": about})
    assert kept(turn)["ground"]["surface"] == ["a.cfg", *(f"n{number}" for number in range(63))]


def test_results_are_told_apart_in_bounded_space() -> None:
    turn = Turn()
    for number in range(9_000):
        turn.read(result=f"x{number}")
    assert len(turn.session.dump()) < 40 * 1024


def test_a_text_that_is_written_is_sampled() -> None:
    edits = [{"path": "a", "content": f"l{number}"} for number in range(99)]
    (one,) = written({"edits": edits})
    assert len(one.pieces) == 16


def test_the_earlier_classifier_asks_for_a_good_look_after_the_change() -> None:
    state = GateState(
        claim_surface={"a"}, last_mutation_step=1, current_step=1, normalizers={"rd": lambda _: "same"}
    )

    def looks(result: Any, tool: str = "read", *, read_only: bool = True) -> tuple[bool, bool]:
        found = grounding.classify_observation(tool, "a", result, state, read_only)
        return found["grounds_assertion"], found["grounds_completion"]

    assert looks("x", read_only=False) == (False, False)
    assert looks({"exit_code": 1}) == looks("Error: x") == (False, False)
    assert looks("x") == (True, False)
    state.current_step = 2
    assert (looks("y"), state.last_verification_step) == ((True, True), 2)
    state.current_step = 1
    assert (looks("z"), state.verified_this_turn) == ((True, False), True)
    assert looks("one", "rd") == (True, False)
    assert looks("two", "rd") == (False, False)


def test_the_earlier_progress_tells_what_there_is() -> None:
    state = GateState(goal_predicates=["tests", "lint"], verified_signals={"lint"})
    asked: list[Any] = []
    attempt = {"claim_type": "assertion", "content": "it is 10"}
    boundary_check(attempt, state, lambda *given: asked.append(given))
    assert (state.progress()["halted"], state.progress()["missing_signals"]) == (True, ["tests"])
    assert (state.rejection_count, asked) == (1, [])


def test_the_earlier_loop_keeps_what_it_was_told() -> None:
    read = {"type": "tool_call", "tool": "read", "args": "a"}
    state = GateState(claim_surface={"a"}, normalizers={"read": lambda _: "same"}, novelty_exempt={"poll"})
    script = [
        *(
            {"type": "tool_call", "tool": "edit", "args": each, "mutating": True, "result": "ok"}
            for each in "ab"
        ),
        read | {"result": "x", "signals": ["tests"]},
        *[read | {"result": each} for each in "yz"],
        *[read | {"tool": "poll", "result": "up"}] * 2,
        {"type": "terminal", "attempt": {"claim_type": "completion"}},
    ]
    _, trace = turn_loop(script, state)
    assert [(said["grounds_assertion"], said["grounds_completion"]) for _, said in trace[2:7]] == [
        (True, False),
        (True, False),
        (False, False),
        (True, False),
        (True, False),
    ]
    assert (state.rejection_count, state.verified_signals) == (1, {"tests"})
