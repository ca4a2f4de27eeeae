"""Grounding: what a turn's calls show, what is owed, and which claims are let out; one test for each rule."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import count
from typing import Any

import pytest

import callgate
from callgate import InputError
from callgate.engine import grounding
from callgate.engine.grounding import GateState, boundary_check, turn_loop
from callgate.engine.normalizing import normalize
from callgate.engine.relevance import home, touches
from callgate.engine.shown import lines_by_name, sample, written

RULES = """
ground {
  reads   read, grep, ls
  mutates edit, write
  shell   bash /command
  exempt  poll
  reads   poll
  normalize read 'build [0-9]+' to "build"
  signal  passed from bash when runs(/command, "pytest") and result.exit_code == 0
  require passed before completion when context.tests
  surface /about
}
"""
TOOLS: list[dict[str, Any]] = [
    {"name": name, "input_schema": {"type": "object", "properties": {"path": {}, "about": {}, "command": {}}}}
    for name in ("read", "grep", "ls", "edit", "write", "bash", "poll", "other")
] + [{"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]


class Turn:
    """A session whose calls have their results at once."""

    def __init__(self, rules: str = RULES, **options: Any) -> None:
        options.setdefault("claim_surface", ["a.cfg"])
        options.setdefault("context", {"cwd": "/repo", "tests": False})
        self.session = callgate.compile(rules, tools=TOOLS).session(**options)
        self.session.user()
        self.ids = count()

    def call(self, tool: str, arguments: Any, result: Any = "text", *, ok: bool = True) -> None:
        call_id = str(next(self.ids))
        assert self.session.call(tool, arguments, call_id=call_id).allowed
        self.session.result(call_id, result, ok=ok)

    def read(self, path: str = "a.cfg", result: Any = "timeout=10", *, ok: bool = True) -> None:
        self.call("read", {"path": path}, result, ok=ok)

    def accepts(self, claim: str) -> bool:
        return self.session.finish(claim, "done").accepted

    @property
    def now(self) -> Any:
        return self.session.progress()


# What a read earns


def test_a_relevant_read_grounds_an_assertion_and_no_completion() -> None:
    turn = Turn()
    assert not turn.accepts("assertion")
    turn.read()
    assert turn.accepts("assertion")
    assert not turn.accepts("completion")


def test_the_same_result_again_earns_nothing() -> None:
    turn = Turn()
    turn.read()
    for _ in range(4):
        turn.session.reason()
    turn.read()
    assert turn.now.budget == 2
    turn.read(result="timeout=11")
    assert turn.now.budget == 4


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("at 2026-07-10T20:47:03Z ok=1", "at 2026-07-11T01:02:03Z ok=1"),
        ("v=1 req deadbeef01", "v=1 req cafebabe99"),
        ("build 12 is v=1", "build 13 is v=1"),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
    ],
)
def test_what_varies_by_itself_makes_nothing_new(first: Any, second: Any) -> None:
    turn = Turn()
    turn.read(result=first)
    for _ in range(3):
        turn.session.reason()
    turn.read(result=second)
    assert turn.now.budget == 3


def test_a_counter_in_the_arguments_makes_nothing_new_and_a_known_argument_does() -> None:
    turn = Turn()
    for _ in range(5):
        turn.session.reason()
    turn.call("ls", {"path": "a.cfg", "nonce": 1}, "ok")
    turn.call("ls", {"path": "a.cfg", "nonce": 2}, "ok")
    assert turn.now.budget == 3
    turn.call("ls", {"path": "./a.cfg"}, "ok")  # another argument, and a result that says nothing by itself
    assert turn.now.budget == 5


def test_an_exempt_tool_is_new_each_time() -> None:
    turn = Turn()
    for _ in range(5):
        turn.session.reason()
    for _ in range(2):
        turn.call("poll", {"path": "a.cfg"}, "up")
    assert turn.now.budget == 5


def test_a_change_makes_the_same_result_new() -> None:
    turn = Turn()
    turn.read()
    turn.call("edit", {"path": "a.cfg"}, "ok")
    turn.read()
    assert turn.accepts("completion")


@pytest.mark.parametrize(
    ("result", "ok"),
    [
        ("x", False),
        ("Error: permission denied: a.cfg", True),
        ("Traceback (most recent call last):\n a.cfg", True),
        ({"isError": True, "content": [{"type": "text", "text": "a.cfg"}]}, True),
    ],
)
def test_a_failed_read_earns_nothing(result: Any, ok: bool) -> None:
    turn = Turn()
    turn.read(result=result, ok=ok)
    assert not turn.accepts("assertion")


@pytest.mark.parametrize("path", ["b.cfg", "a.cfg.bak", "/etc/a.cfg", "xa.cfg", "sub/a.cfg"])
def test_a_read_of_something_else_earns_nothing(path: str) -> None:
    turn = Turn()
    turn.read(path, "nothing of it")
    assert not turn.accepts("assertion")


@pytest.mark.parametrize("path", ["./a.cfg", "/repo/a.cfg", "../repo/a.cfg", "x/../a.cfg", "see a.cfg."])
def test_a_path_may_be_spelt_in_other_ways(path: str) -> None:
    turn = Turn()
    turn.read(path)
    assert turn.accepts("assertion")


def test_relevance_is_seen_in_the_result_too() -> None:
    turn = Turn()
    turn.call("grep", {"pattern": "timeout"}, "a.cfg:3:timeout=10")
    assert turn.accepts("assertion")


def test_arguments_may_say_what_a_claim_is_about() -> None:
    turn = Turn(claim_surface=())
    turn.read("b.cfg", "x")
    assert not turn.accepts("assertion")
    turn.call("grep", {"about": "b.cfg"}, "y")
    assert turn.accepts("assertion")


def test_without_anything_that_a_claim_is_about_nothing_is_relevant() -> None:
    turn = Turn(claim_surface=())
    turn.read()
    assert not turn.accepts("assertion")


# What a change owes


def test_every_changed_target_is_read_after_its_last_change() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg"})
    turn.call("write", {"file_path": "./b.cfg"})
    turn.read("a.cfg")
    decision = turn.session.finish("completion")
    assert (decision.accepted, decision.owed) == (False, ("./b.cfg",))
    assert "./b.cfg" in (decision.message or "")
    assert decision.legal_next == ("qualifying_tool_call", "unverified_terminal")
    turn.read("/repo/b.cfg", "another text")
    assert turn.accepts("completion")
    turn.call("edit", {"path": "a.cfg"})
    assert not turn.accepts("completion")


def test_an_assertion_after_a_change_counts_as_a_completion() -> None:
    turn = Turn()
    turn.read()
    turn.call("edit", {"path": "b.cfg"})
    assert not turn.accepts("assertion")
    turn.read("b.cfg")
    assert turn.accepts("assertion")


@pytest.mark.parametrize(
    ("shown", "accepted"),
    [
        ("timeout=30\nretries=2\n", True),
        ("   1\ttimeout=30\n   2\tretries=2\n", True),
        ("1: timeout=30\n2: retries=2", True),
        ("timeout=10\nretries=2\n", False),
        ("", False),
    ],
)
def test_a_read_shows_what_was_written(shown: str, accepted: bool) -> None:
    turn = Turn()
    turn.call("write", {"path": "a.cfg", "content": "timeout=30\n\n  retries=2"})
    turn.read(result=shown)
    assert turn.accepts("completion") is accepted


def test_partial_reads_add_up() -> None:
    turn = Turn()
    turn.call("write", {"path": "a.cfg", "content": "first\nsecond"})
    turn.read(result="first")
    assert not turn.accepts("completion")
    turn.read(result="second")
    assert turn.accepts("completion")


def test_a_result_that_shows_what_was_written_where_shows_it_whatever_was_asked() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    for shown in ("b.cfg:1:timeout=30\na.cfg:2:other=1", "notes:1:a.cfg timeout=30", "timeout=30", "a.cfg"):
        turn.call("grep", {"pattern": "time"}, shown)
        assert not turn.accepts("completion")
    turn.call("grep", {"pattern": "time", "path": "."}, "b.cfg:1:x\n./a.cfg:7:timeout=30")
    assert turn.accepts("completion")
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=40"})
    turn.call("grep", {"pattern": "time", "path": "b.cfg"}, "timeout=40")
    assert not turn.accepts("completion")
    turn.call("grep", {"pattern": "time"}, "a.cfg:1:timeout=40")
    assert turn.accepts("completion")


def test_a_change_that_names_nothing_owes_some_relevant_read() -> None:
    turn = Turn()
    turn.call("other", {"x": 1})
    assert turn.session.finish("completion").owed == ("a change that named nothing",)
    turn.read("zzz", "zzz")
    assert not turn.accepts("completion")
    turn.read()
    assert turn.accepts("completion")


def test_what_nothing_is_said_of_changes_things_but_for_its_annotations() -> None:
    turn = Turn()
    turn.call("look", {"path": "a.cfg"})
    assert turn.accepts("assertion")
    turn.call("other", {"path": "a.cfg"})
    assert not turn.accepts("assertion")


def test_the_command_of_a_shell_decides() -> None:
    turn = Turn()
    turn.call("bash", {"command": "cat a.cfg"}, "timeout=10")
    assert turn.accepts("assertion")
    turn.call("bash", {"command": "echo 1 > b.cfg"}, "")
    assert turn.session.finish("completion").owed == ("b.cfg",)
    turn.call("bash", {"command": "cat b.cfg"}, "1")
    assert turn.accepts("completion")


def test_a_read_that_started_before_a_change_ended_shows_nothing_of_it() -> None:
    turn = Turn()
    session = turn.session
    session.call("edit", {"path": "a.cfg"}, call_id="e")
    session.call("read", {"path": "a.cfg"}, call_id="r")
    session.result("e", "ok")
    session.result("r", "timeout=10")
    assert not turn.accepts("completion")
    turn.read(result="timeout=11")
    assert turn.accepts("completion")


def test_two_changes_at_once_both_have_to_end() -> None:
    turn = Turn()
    session = turn.session
    for each in ("1", "2"):
        session.call("edit", {"path": "a.cfg", "n": each}, call_id=f"e{each}")
        session.call("other", {"n": each}, call_id=f"o{each}")
    session.result("e1")
    session.result("o1")
    turn.read()
    assert turn.session.progress().owed == ("a.cfg", "a change that named nothing")
    session.result("e2")
    session.result("o2")
    turn.read(result="again")
    assert turn.accepts("completion")


def test_a_change_whose_result_never_came_is_owed() -> None:
    turn = Turn()
    turn.session.call("edit", {"path": "a.cfg"}, call_id="e")
    turn.read()
    assert not turn.accepts("completion")


def test_a_failed_change_is_owed_all_the_same() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg"}, "disk full", ok=False)
    assert not turn.accepts("none")
    turn.read()
    assert turn.accepts("completion")


def test_a_call_that_was_refused_changes_nothing() -> None:
    turn = Turn(RULES + 'tool edit { deny "no" }')
    verdict = turn.session.call("edit", {"path": "a.cfg"}, call_id="e")
    turn.session.result("e", verdict.retry_message, ok=False)
    assert turn.accepts("none")


def test_more_targets_than_are_kept_leave_one_way_out() -> None:
    turn = Turn()
    for number in range(grounding.TARGETS + 1):
        turn.call("edit", {"path": f"f{number}"})
    for number in range(grounding.TARGETS + 1):
        turn.read(f"f{number}", f"text {number}")
    decision = turn.session.finish("completion")
    assert (decision.accepted, decision.owed) == (False, ("other targets",))
    assert turn.accepts("unverified")


def test_one_call_with_very_many_targets_leaves_one_way_out() -> None:
    turn = Turn()
    names = [f"f{number}" for number in range(65)]
    turn.call("edit", {"files": names})
    for name in names:
        turn.read(name, name)
    assert "other targets" in turn.session.finish("completion").owed


def test_more_results_than_are_told_apart_are_not_new() -> None:
    turn = Turn()
    for number in range(grounding.DIGESTS):
        turn.read(result=f"x{number}")
    for _ in range(5):
        turn.session.reason()
    turn.read(result="a new one")
    assert turn.now.budget == 1


# The budget and the halt


def test_thinking_takes_from_the_budget_and_looking_gives_back() -> None:
    turn = Turn()
    for _ in range(9):
        assert turn.session.reason()
    assert turn.now.budget == 0
    turn.read()
    assert turn.now.budget == 2
    assert turn.accepts("assertion")


def test_without_budget_a_grounded_claim_is_rejected_too() -> None:
    turn = Turn()
    turn.read()
    for _ in range(6):
        turn.session.reason()
    decision = turn.session.finish("assertion")
    assert not decision.accepted
    assert "too long" in (decision.message or "")


def test_a_rejected_claim_halts_until_something_is_seen() -> None:
    turn = Turn()
    assert not turn.accepts("assertion")
    assert turn.now.halted
    assert not turn.session.reason()
    assert turn.now.budget == 5
    turn.read("zzz", "nothing")
    assert turn.now.halted
    turn.read()
    assert not turn.now.halted
    assert turn.session.reason()


def test_after_a_rejected_claim_none_counts_as_a_completion() -> None:
    turn = Turn()
    assert turn.accepts("none")
    assert not turn.accepts("assertion")
    assert not turn.accepts("none")
    turn.read()
    assert not turn.accepts("none")
    assert turn.accepts("unverified")
    assert turn.accepts("none")


def test_a_new_message_begins_anew() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg"})
    assert not turn.accepts("completion")
    turn.session.user()
    assert turn.accepts("none")
    assert (turn.now.budget, turn.now.halted, turn.now.owed) == (6, False, ())
    turn.session.user(claim_surface=["b.cfg"])
    turn.read("a.cfg")
    assert not turn.accepts("assertion")
    turn.read("b.cfg", "x")
    assert turn.accepts("assertion")


@pytest.mark.parametrize("claim", ["complete", "Assertion", "", None, 1, ["none"]])
def test_what_is_no_claim_is_an_error_of_the_host(claim: Any) -> None:
    turn = Turn()
    before = turn.session.dump()
    with pytest.raises(InputError, match="a claim is one of"):
        turn.session.finish(claim)
    assert turn.session.dump() == before


# Signals


def test_a_required_signal_is_fresh_or_it_is_owed() -> None:
    turn = Turn(context={"cwd": "/repo", "tests": True})
    turn.call("edit", {"path": "a.cfg"})
    turn.call("bash", {"command": "pytest -q"}, {"exit_code": 1, "out": "1 failed"})
    turn.read()
    assert turn.session.finish("completion").owed == ("passed",)
    turn.call("bash", {"command": "pytest -q"}, {"exit_code": 0, "out": "3 passed"})
    turn.read(result="timeout=10 ")
    assert turn.now.missing_signals == ()
    assert turn.accepts("completion")
    turn.call("edit", {"path": "a.cfg"})
    turn.read(result="timeout=12")
    assert turn.now.missing_signals == ("passed",)


def test_only_the_rules_say_what_shows_a_signal() -> None:
    turn = Turn(context={"cwd": "/repo", "tests": True})
    turn.call("bash", {"command": "echo pytest"}, {"exit_code": 0})
    turn.call("read", {"path": "a.cfg", "signals": ["passed"]}, "passed")
    assert turn.now.missing_signals == ("passed",)


def test_a_requirement_that_is_unknown_holds() -> None:
    turn = Turn(context={"cwd": "/repo"})
    assert turn.now.missing_signals == ("passed",)


# What shows nothing


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("echo 'a.cfg: timeout=30'", "a.cfg: timeout=30"),
        ("printf 'a.cfg timeout=30'", "a.cfg timeout=30"),
        ("true # cat a.cfg", "a.cfg timeout=30"),
        ("cat b.cfg", "a.cfg timeout=30"),
    ],
)
def test_what_a_command_prints_that_does_not_read_the_file_shows_nothing(command: str, printed: str) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.call("bash", {"command": command}, printed)
    assert turn.now.owed == ("a.cfg",)
    assert not turn.accepts("completion")


def test_a_name_in_another_argument_is_no_read_of_it() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.call("read", {"path": "b.cfg", "about": "a.cfg"}, "timeout=30")
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result",
    [
        "cat: a.cfg: No such file or directory",
        "b.cfg is here\ncat: a.cfg: No such file or directory",
        {"exit_code": 1, "out": "timeout=30"},
        {"returncode": 1, "stdout": "timeout=30"},
        {"stderr": "timeout=30"},
        "(no output)",
    ],
)
def test_a_command_that_failed_shows_nothing(result: Any) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg"})
    turn.call("bash", {"command": "cat b.cfg a.cfg"}, result)
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    ("shown", "accepted"),
    [
        ("timeout=300", False),
        ("my_timeout=30", False),
        ("x = 1\nmy_timeout=301\ntimeout=30", True),
        ({"lines": [{"n": 1, "text": "timeout=30"}]}, True),
        ({"content": [{"type": "text", "text": "timeout=30"}]}, True),
    ],
)
def test_what_was_written_is_found_between_words_only(shown: Any, accepted: bool) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.read(result=shown)
    assert turn.accepts("completion") is accepted


def test_lines_that_an_edit_leaves_as_they_are_show_nothing_of_it() -> None:
    turn = Turn()
    edit = {"path": "a.cfg", "old_string": "[a]\ntimeout=10\n", "new_string": "[a]\ntimeout=30\n"}
    turn.call("edit", edit)
    turn.read(result="[a]\ntimeout=10\n")
    assert turn.now.owed == ("a.cfg",)
    turn.read(result="[a]\ntimeout=30\n")
    assert turn.accepts("completion")


def test_a_later_edit_takes_back_what_an_earlier_one_wrote() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "old_string": "t=1", "new_string": "t=2"})
    turn.call("edit", {"path": "a.cfg", "old_string": "t=2", "new_string": "t=3"})
    turn.read(result="t=3")
    assert turn.accepts("completion")


def test_a_long_text_is_not_shown_by_its_head() -> None:
    lines = [f"line {number} of the file" for number in range(200)]
    turn = Turn()
    turn.call("write", {"path": "a.cfg", "content": "\n".join(lines)})
    turn.read(result="\n".join(lines[:100]))
    assert turn.now.owed == ("a.cfg",)
    turn.read(result="\n".join(lines[100:]))
    assert turn.accepts("completion")


def test_two_changed_files_with_one_content_are_both_read() -> None:
    turn = Turn()
    for path in ("a.cfg", "b.cfg"):
        turn.call("write", {"path": path, "content": "timeout=30"})
    turn.read("a.cfg", "timeout=30")
    assert turn.now.owed == ("b.cfg",)
    turn.read("b.cfg", "timeout=30")
    assert turn.accepts("completion")


def test_a_read_that_runs_beside_a_change_is_not_what_makes_the_next_one_old() -> None:
    turn = Turn()
    session = turn.session
    session.call("read", {"path": "a.cfg"}, call_id="r")
    session.call("edit", {"path": "a.cfg"}, call_id="e")
    session.result("e", "ok")
    session.result("r", "timeout=10")
    assert turn.now.owed == ("a.cfg",)
    turn.read()
    assert turn.accepts("completion")


def test_of_a_change_that_failed_a_look_is_owed_but_not_its_lines() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"}, "disk full", ok=False)
    assert turn.now.owed == ("a.cfg",)
    turn.read(result="timeout=10")
    assert turn.accepts("completion")


@pytest.mark.parametrize(
    "command",
    [
        "head -c0 a.cfg && echo timeout=30",
        "cat a.cfg && date +timeout=30",
        "cat - a.cfg <<< timeout=30",
        "sed s/10/30/ a.cfg",
        "sed -n 's/.*/timeout=30/p' a.cfg",
        "cat a.cfg | tr 1 3",
        "awk '{print \"timeout=30\"}' a.cfg",
        "rg -r timeout=30 . a.cfg",
        "stat -c timeout=30 a.cfg",
        "git diff a.cfg",
        "git diff HEAD~1 HEAD -- a.cfg",
        "nl -s timeout=30 a.cfg",
        "grep --label timeout=30 -H x a.cfg",
    ],
)
def test_what_a_command_may_print_of_its_own_shows_nothing(command: str) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.call("bash", {"command": command}, "timeout=30")
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize("command", ["wc -l a.cfg", "stat a.cfg", "ls a.cfg", "grep -c x a.cfg"])
def test_what_is_told_of_a_file_is_no_look_into_it(command: str) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg"})
    turn.call("bash", {"command": command}, "12 a.cfg")
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    ("arguments", "owed"),
    [
        ({"command": "cd /repo && cat a.cfg"}, ()),
        ({"command": "cd /repo && grep -n timeout=30 a.cfg | head -3"}, ()),
        ({"command": "sed -n 1,20p a.cfg"}, ()),
        ({"command": "cat a.cfg", "workdir": "/repo"}, ()),
        ({"command": "cd /other && cat a.cfg"}, ("a.cfg",)),
        ({"command": "cd sub && cat a.cfg"}, ("a.cfg",)),
        ({"command": "cat a.cfg", "workdir": "/other"}, ("a.cfg",)),
        ({"command": "cat a.cfg", "cwd": 1}, ("a.cfg",)),
    ],
)
def test_a_command_reads_where_it_runs(arguments: Any, owed: tuple[str, ...]) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.call("bash", arguments, "timeout=30")
    assert turn.now.owed == owed


def test_an_argument_that_the_tool_does_not_know_names_nothing() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.call("read", {"path": "b.cfg", "target": "a.cfg"}, "timeout=30")
    assert turn.now.owed == ("a.cfg",)


def test_what_a_read_was_told_it_may_only_repeat() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.call("grep", {"about": "timeout=30", "path": "a.cfg"}, "No matches for timeout=30 in a.cfg")
    assert turn.now.owed == ("a.cfg",)
    turn.call("grep", {"about": "timeout", "path": "a.cfg"}, "3:timeout=30")
    assert turn.now.owed == ()


def test_a_later_change_that_failed_leaves_what_earlier_ones_wrote() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "new_string": "timeout=30"})
    failed = {"path": "a.cfg", "old_string": "timeout=30", "new_string": "z"}
    turn.call("edit", failed, "Error: old_string not found")
    turn.read(result="timeout=10")
    assert turn.now.owed == ("a.cfg",)
    turn.read(result="timeout=30")
    assert turn.accepts("completion")


def test_a_later_change_is_looked_for_after_a_long_one_too() -> None:
    text = "\n".join(f"line {number} abc" for number in range(40))
    turn = Turn()
    turn.call("write", {"path": "a.cfg", "content": text})
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.read(result=f"{text}\ntimeout=10")
    assert turn.now.owed == ("a.cfg",)
    turn.read(result=f"{text}\ntimeout=30")
    assert turn.accepts("completion")


def test_an_edit_inside_of_a_line_takes_it_back() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "old_string": "x", "new_string": "timeout = 10  # s"})
    turn.call("edit", {"path": "a.cfg", "old_string": "10", "new_string": "20"})
    turn.read(result="timeout = 20  # s")
    assert turn.accepts("completion")


@pytest.mark.parametrize(
    "second",
    [
        {"path": "a.cfg", "insert_line": 1, "content": "z=1"},
        {"path": "a.cfg", "mode": "append", "content": "z=1"},
        {"path": "a.cfg", "text": "z=1"},
    ],
)
def test_what_adds_to_a_file_does_not_replace_it(second: Any) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.call("edit", second)
    turn.read(result="timeout=10\nz=1")
    assert turn.now.owed == ("a.cfg",)
    turn.call("write", {"path": "a.cfg", "content": "y=1"})
    turn.read(result="y=1")
    assert turn.accepts("completion")


def test_a_status_of_two_hundred_is_no_exit_code() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "new_string": "timeout=30"}, {"status": 200})
    turn.read(result={"status": 200, "body": "timeout=10"})
    assert turn.now.owed == ("a.cfg",)
    turn.read(result={"status": 200, "body": "timeout=30"})
    assert turn.accepts("completion")


@pytest.mark.parametrize(
    "result",
    [
        "sed: can't read a.cfg: No such file or directory",
        "head: cannot open 'a.cfg' for reading: No such file or directory",
        "cat: timeout=30: No such file or directory",
        "FileNotFoundError: [Errno 2] a.cfg",
        "The file a.cfg does not exist.",
        "Could not read a.cfg",
        "Access denied - path outside allowed directories",
        "Command timed out",
    ],
)
def test_a_text_shaped_like_an_error_is_one(result: str) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg"})
    turn.read(result=result)
    assert turn.now.owed == ("a.cfg",)


def test_a_call_with_very_many_lines_and_targets_costs_linear_time() -> None:
    def cost(size: int) -> float:
        many = {"paths": [f"p{at}" for at in range(size)], "content": "abc def\n" * size}
        edits = {"edits": [{"path": "a.cfg", "content": f"l{at}"} for at in range(size)]}
        begun = time.process_time()
        written(many)
        written(edits)
        return time.process_time() - begun

    assert min(cost(16_000) for _ in range(3)) < 40 * max(min(cost(2_000) for _ in range(3)), 1e-3)


def test_the_pieces_that_are_kept_do_not_depend_on_the_hash_seed() -> None:
    arguments = {"path": "a", "old_string": "\n".join(f"old {at}" for at in range(60)), "new_string": "x"}
    (one,) = written(arguments)
    assert one.gone == sample((f"old {at}" for at in range(60)), len(one.gone))


def test_a_patch_names_its_files_and_what_it_writes_into_each() -> None:
    patch = """*** Begin Patch
*** Update File: a.cfg
@@ [main]
-timeout=10
+timeout=30
*** Add File: sub/b.cfg
+x=1
*** End Patch"""
    turn = Turn()
    turn.call("edit", {"input": patch})
    assert turn.now.owed == ("a.cfg", "sub/b.cfg")
    turn.read("sub/b.cfg", "x=1")
    turn.read("a.cfg", "[main]\ntimeout=10")
    assert turn.now.owed == ("a.cfg",)
    turn.read("a.cfg", "[main]\ntimeout=30")
    assert turn.accepts("completion")


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("bash", {"command": "cat CHANGES"}, "a.cfg:1:timeout=30"),
        ("bash", {"command": "cd /other && grep -n timeout a.cfg b.cfg"}, "a.cfg:1:timeout=30"),
        ("bash", {"command": "grep -rn timeout .", "workdir": "/other"}, "a.cfg:1:timeout=30"),
        ("grep", {"path": "/other"}, "a.cfg:1:timeout=30"),
        ("read", {"path": "notes.md"}, "a.cfg:1:timeout=30"),
        ("grep", {}, "a.cfg: timeout=30"),
        ("bash", {"command": "head -n timeout=30 a.cfg 2>&1 | cat"}, "head: invalid number: 'timeout=30'"),
        ("bash", {"command": "grep -A timeout=30 x a.cfg"}, "grep: timeout=30: invalid"),
        (
            "bash",
            {"command": "cat a.cfg 'x{timeout=30'"},
            "t\ncat: 'x{timeout=30': No such file or directory",
        ),
        ("bash", {"command": "cat a.cfg timeout=30*"}, "cat: 'timeout=30*': No such file or directory"),
        ("bash", {"command": "cat a.cfg - < b.cfg"}, "timeout=30"),
        ("bash", {"command": "LC_ALL=de_DE.UTF-8 cat a.cfg timeout=30"}, "timeout=30"),
    ],
)
def test_names_in_a_text_that_is_no_search_of_the_folder_show_nothing(
    tool: str, arguments: Any, result: str
) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.call(tool, arguments, result)
    assert turn.now.owed == ("a.cfg",)


def test_a_grep_over_the_folder_shows_lines_by_name() -> None:
    turn = Turn()
    turn.call("edit", {"path": "sub/a.cfg", "newText": "timeout=30"})
    turn.call("bash", {"command": "grep -rn timeout ."}, "./b.cfg:1:timeout=1\n./sub/a.cfg:7:timeout=30")
    assert turn.accepts("completion")


def test_what_a_short_edit_makes_of_a_line_has_to_be_shown() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.call("edit", {"path": "a.cfg", "old_string": "=", "new_string": ":="})
    turn.read(result="timeout:=10")
    assert turn.now.owed == ("a.cfg",)
    turn.read(result="timeout:=30")
    assert turn.accepts("completion")


def test_an_empty_text_takes_no_debt_away() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    turn.call("write", {"path": "a.cfg", "content": "\n"})
    turn.read(result="timeout=10")
    assert turn.now.owed == ("a.cfg",)


def test_a_long_part_that_was_replaced_is_not_looked_for() -> None:
    lines = [f"line{number}x" for number in range(40)]
    turn = Turn()
    turn.call("write", {"path": "a.cfg", "content": "\n".join(lines)})
    turn.call("edit", {"path": "a.cfg", "old_string": "\n".join(lines[1:39]), "new_string": "new"})
    turn.read(result="line0x\nnew\nline39x")
    assert turn.accepts("completion")


def test_a_call_that_says_very_much_shows_nothing_of_it() -> None:
    lines = [f"la{number}" for number in range(16)]
    turn = Turn()
    turn.call("write", {"path": "b.cfg", "content": "\n".join(lines)})
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    asked = "|".join([*lines, "timeout=30"])
    turn.call("grep", {"path": "a.cfg", "about": asked}, f"No matches found for {asked} in a.cfg")
    assert turn.now.owed == ("b.cfg", "a.cfg")


def test_a_patch_in_a_text_that_is_written_names_nothing() -> None:
    turn = Turn()
    turn.call("write", {"path": "a.md", "content": "*** Begin Patch\n*** Update File: foo.py\n"})
    assert turn.now.owed == ("a.md",)


@pytest.mark.parametrize("arguments", [{"command": "cat < ''"}, {"command": "cat < ''", "workdir": "/repo"}])
def test_a_file_without_a_name_is_none(arguments: Any) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg"})
    turn.call("bash", arguments, "text")
    turn.call("bash", {"command": "cd /repo && cat < ''"}, "text")
    assert turn.now.owed == ("a.cfg",)


def test_lines_of_blanks_are_looked_through_in_linear_time() -> None:
    begun = time.process_time()
    assert lines_by_name("a.cfg\n" + " " * 1_000_000) == {}
    assert lines_by_name("x" * 1_000_000) == {}
    assert time.process_time() - begun < 5


def test_a_signal_of_a_run_beside_which_something_changed_is_stale() -> None:
    turn = Turn(context={"cwd": "/repo", "tests": True})
    session = turn.session
    session.call("bash", {"command": "pytest -q"}, call_id="t")
    turn.call("edit", {"path": "a.cfg"})
    session.result("t", {"exit_code": 0})
    assert turn.now.missing_signals == ("passed",)


def test_two_checks_that_may_change_things_are_one_signal() -> None:
    rules = """ground {
      shell   bash /command
      signal  tested from bash when runs(/command, "pytest") and result.exit_code == 0
      signal  linted from bash when runs(/command, "ruff") and result.exit_code == 0
      signal  checked from bash when /command == "ruff check . && pytest -q" and result.exit_code == 0
      require tested, linted before completion when context.apart
      require checked before completion when not context.apart
    }"""
    for apart, missing in ((True, ("linted",)), (False, ("checked",))):
        turn = Turn(rules, context={"apart": apart})
        for command in ("ruff check .", "pytest -q"):
            turn.call("bash", {"command": command}, {"exit_code": 0})
        assert turn.now.missing_signals == missing
    turn.call("bash", {"command": "ruff check . && pytest -q"}, {"exit_code": 0})
    assert turn.now.missing_signals == ()


@pytest.mark.parametrize("code", ["0", True, 0.0, None, [0]])
def test_an_exit_code_is_a_whole_number(code: Any) -> None:
    turn = Turn(context={"cwd": "/repo", "tests": True})
    turn.call("bash", {"command": "pytest -q"}, {"exit_code": code})
    assert turn.now.missing_signals == ("passed",)


def test_texts_that_cannot_be_written_are_refused_or_shortened_and_never_raise() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a\n`b`\x00" + "é" * 200})
    (owed,) = turn.now.owed
    assert owed.isprintable()
    assert len(owed.encode()) <= 80
    turn.session.finish("completion")
    assert callgate.compile(RULES, tools=TOOLS).session(state=turn.session.dump()).progress().owed == (owed,)


# Presets and verifiers


def test_presets_by_model() -> None:
    rules = RULES + 'preset mine { cap 9 refill 4 }\npreset mine for "kimi"\npreset skipper for "haste"\n'
    for model, wanted in (("kimi-k2", 9), ("haste-1", 5), ("other", 6), (None, 6)):
        assert Turn(rules, model=model).now.cap == wanted
    assert Turn(RULES + "preset diverger").now.cap == 4


def test_a_strict_preset_wants_a_read_after_a_change_for_an_assertion_too() -> None:
    turn = Turn(RULES + "preset skipper")
    turn.read()
    assert not turn.accepts("assertion")
    turn.call("edit", {"path": "a.cfg"})
    turn.read(result="timeout=11")
    assert turn.accepts("assertion")


@pytest.mark.parametrize(
    ("answer", "accepted", "confidence"),
    [
        (0.9, True, None),
        (0.5, True, None),
        (0.49, False, 0.49),
        (None, True, None),
        ({}, True, None),
        ({"a": 0.9, "b": 0.1}, False, 0.1),
        (float("nan"), False, None),
        (2, False, None),
        (10**400, False, None),
        (True, False, None),
        ("0.9", False, None),
        (RuntimeError("away"), False, None),
    ],
)
def test_a_verifier_may_only_turn_an_accept_into_a_reject(
    answer: Any, accepted: bool, confidence: float | None
) -> None:
    asked: list[Any] = []

    def verifier(claim: str, text: str) -> Any:
        asked.append((claim, text))
        if isinstance(answer, Exception):
            raise answer
        return answer

    turn = Turn(verifier=verifier)
    assert not turn.accepts("assertion")
    assert asked == []
    turn.read()
    decision = turn.session.finish("assertion", "it is 10")
    assert (decision.accepted, decision.downgraded, decision.confidence) == (
        accepted,
        not accepted,
        confidence,
    )
    assert asked == [("assertion", "it is 10")]
    assert turn.accepts("unverified")


@pytest.mark.parametrize(
    "options",
    [
        {"claim_surface": "a.cfg"},
        {"claim_surface": [1]},
        {"claim_surface": [" "]},
        {"claim_surface": 7},
        {"claim_surface": ["x"] * 65},
        {"verifier": 1},
        {"threshold": 2},
        {"threshold": "0.5"},
    ],
)
def test_options_of_another_type(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        callgate.compile(RULES, tools=TOOLS).session(**options)


# The state


def test_progress_changes_nothing() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg"})
    before = turn.session.dump()
    assert turn.now == turn.now
    assert turn.now.owed == ("a.cfg",)
    assert turn.session.dump() == before


def test_in_a_new_process_with_another_hash_seed_the_same_read_is_not_new() -> None:
    turn = Turn()
    turn.read(result="timeout=10 ü")
    for _ in range(4):
        turn.session.reason()
    script = f"""
import callgate
engine = callgate.compile({RULES!r}, tools={TOOLS!r})
here = engine.session(state={turn.session.dump()!r}, context={{"cwd": "/repo", "tests": False}})
here.call("read", {{"path": "a.cfg"}}, call_id="again")
here.result("again", "timeout=10 ü")
print(here.progress().budget)
here.call("read", {{"path": "a.cfg"}}, call_id="more")
here.result("more", "timeout=11")
print(here.progress().budget)
"""
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )
        assert done.stdout.split() == ["2", "4"]


def test_the_state_of_a_long_turn_is_small() -> None:
    turn = Turn()
    for number in range(3_000):
        turn.call(
            "edit", {"path": f"/very/long/folder/name/{number:0200}", "content": f"line {number}\n" * 50}
        )
        turn.read(f"/very/long/folder/name/{number:0200}", f"line {number}")
    assert len(turn.session.dump()) < 64 * 1024


def test_the_state_stays_small_over_a_hundred_thousand_verbs() -> None:
    session = callgate.compile(RULES, tools=TOOLS).session(claim_surface=["a.cfg"])
    for number in range(50_000):
        tool = "edit" if number % 50 == 0 else "read"
        session.call(tool, {"path": f"src/{number % 700}.py", "content": "x"}, call_id=f"call-{number}")
        session.result(f"call-{number}", f"text {number}")
    assert len(session.dump()) < 64 * 1024


def test_a_target_with_a_long_name_is_owed_and_read() -> None:
    turn = Turn()
    path = "/very/long/" + "x" * 200
    turn.call("edit", {"path": path})
    turn.read(path + "y")
    assert not turn.accepts("completion")
    turn.read("/very/./long/" + "x" * 200, "new")
    assert turn.accepts("completion")


# The names of the earlier gate


def test_the_earlier_names_are_there() -> None:
    assert grounding.PRESETS["skipper"] == {"CAP": 5, "REFILL": 2, "strict_g": True}
    state = GateState.for_model_class("diverger", claim_surface={"a"})
    assert state.progress()["budget"] == 4
    assert boundary_check({"claim_type": "unverified", "content": "x"}, state) == {
        "verdict": "ACCEPT",
        "legal_next": [],
    }
    assert turn_loop([{"type": "reasoning"}], state) == (None, [("reasoning", None)])
    with pytest.raises(AttributeError):
        grounding.nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    "make",
    [
        lambda: GateState.for_model_class("nobody"),
        lambda: GateState(claim_surface="a.cfg"),
        lambda: GateState(claim_surface=[1]),
        lambda: GateState(cap=2, refill=2),
        lambda: turn_loop([{"type": "dance"}], GateState()),
        lambda: boundary_check("done", GateState()),  # type: ignore[arg-type]
    ],
)
def test_the_earlier_gate_refuses_what_is_none(make: Any) -> None:
    with pytest.raises(InputError):
        make()


# Normalising and touching


@pytest.mark.parametrize(
    "text", ["", " ", "abc", "x=1", "12345678", "2026", "12:30", "1.5", "a-b", "😀", "\0"]
)
def test_what_holds_nothing_that_varies_stays(text: str) -> None:
    assert normalize(text) == text


@pytest.mark.parametrize("text", ["2026-07-10T20:47:03Z", " deadbeef01\n", "12 ms", "pid 12", "/tmp/x1"])
def test_a_result_that_is_only_such_a_value_keeps_it(text: str) -> None:
    assert normalize(text) == text


def test_names_are_compared_in_nfc_and_any_script() -> None:
    here = home(None)
    assert touches("cafe\u0301.txt", ["café.txt"], here)
    assert touches("цена №5", ["№5"], here)
    assert touches("siehe #42!", ["#42"], here)
    assert not touches("#421", ["#42"], here)
    assert touches("my file.txt", ["my file.txt"], here)
    assert not touches("amy file.txt", ["my file.txt"], here)


def test_long_texts_are_looked_through_in_linear_time() -> None:
    import time

    for text in ("x/a.cfg " * 120_000, "a.cfg.bak " * 100_000, "a.cfg" * 200_000, "é" * 1_000_000):
        start = time.process_time()
        touches(text, ["/repo/a.cfg"], home("/repo"))
        normalize(text)
        assert time.process_time() - start < 5


def test_the_state_is_json_of_one_version() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "content": "x"})
    state = json.loads(turn.session.dump())
    assert state["version"] == 1
    assert state["turn"]["ground"]["mutations"] == 1
