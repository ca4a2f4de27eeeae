"""Grounding: what shows nothing of a change, however much it looks like it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import callgate
from callgate.engine.shown import lines_by_name, sample, written

from ..turns import RULES, TOOLS, Turn

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
    turn.call("bash", arguments, "7:timeout=30" if "-n" in arguments["command"] else "timeout=30")
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


def test_a_patch_in_a_command_names_its_files_and_what_it_writes() -> None:
    turn = Turn(claim_surface=["a.cfg", "b.cfg"])
    patch = "*** Begin Patch\n*** Update File: a.cfg\n@@\n-timeout=10\n+timeout=30\n*** End Patch"
    turn.call("bash", {"command": f"apply_patch <<'EOF'\n{patch}\nEOF", "cwd": "."})
    turn.read("b.cfg", "timeout=30")
    turn.read("a.cfg", "timeout=10")
    assert turn.now.owed == ("a.cfg",)
    turn.read("a.cfg", "timeout=30")
    assert turn.now.owed == ()


def test_a_file_that_one_call_names_twice_is_changed_once() -> None:
    turn = Turn()
    edits = [{"path": path, "newText": text} for path, text in (("a.cfg", "x=1"), ("./a.cfg", "y=2"))]
    turn.call("edit", {"edits": edits}, "edited\nError: none")
    turn.read(result="x=1")
    assert turn.now.owed == ("a.cfg",)
    turn.read(result="x=1\ny=2")
    assert turn.now.owed == ()


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


# A fourth attack


EDIT = {"path": "a.cfg", "old_string": "timeout=10", "new_string": "timeout=30"}
GREP = "grep -n timeout=30 a.cfg"
LONG = "timeout=30 " + "x" * 300


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ({"command": GREP}, f"Command: {GREP}\nDirectory: (root)\nOutput: (empty)"),
        ({"command": GREP}, {"command": GREP, "stdout": "", "exit_code": 0}),
        ({"command": GREP}, f"$ {GREP}\n$ "),
        ({"command": GREP}, "timeout=30"),
        ({"command": f"cat a.cfg '{LONG}'"}, f"timeout=10\ncat: '{LONG}': File name too long"),
        ({"command": r"grep 'timeout=30\(' a.cfg"}, r"grep: bad regex 'timeout=30\(': Unmatched ( or \("),
        (
            {"command": "cat a.cfg", "description": "timeout=30"},
            {"description": "timeout=30", "stdout": "timeout=10"},
        ),
        ({"command": "cat a.cfg", "x": "7:timeout=30"}, "7:timeout=30"),
        ({"command": "cat a.cfg", "x": "TIMEOUT = '30'"}, "warning: timeout=30 is no option\ntimeout=10"),
        ({"command": "cat a.cfg", "timeout=30": 1}, "unknown option timeout=30\ntimeout=10"),
        ({"command": "cat a.cfg", "x": "time", "y": "out=30"}, "timeout=30\ntimeout=10"),
    ],
)
def test_what_a_call_says_itself_is_no_evidence(arguments: Any, result: Any) -> None:
    turn = Turn()
    turn.call("edit", EDIT)
    turn.call("bash", arguments, result)
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result", ["7:timeout=30", "a.cfg:7:timeout=30", "     7\ttimeout=30", "7: timeout=30  "]
)
def test_what_a_call_says_is_shown_by_a_line_with_its_number(result: str) -> None:
    turn = Turn()
    turn.call("edit", EDIT)
    turn.call("bash", {"command": GREP}, result)
    assert turn.now.owed == ()


def test_short_text_in_a_path_is_not_taken_for_something_said() -> None:
    turn = Turn()
    turn.call("edit", {"path": "password.py", "new_string": "pass"})
    turn.read("password.py", "pass")
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bash", {"command": "git checkout -- src"}),
        ("bash", {"command": "cp -r bak/. src"}),
        ("bash", {"command": "cp -r bak/ src/"}),
        ("bash", {"command": "cp -rT bak src/"}),
        ("bash", {"command": "rm -rf /repo/src"}),
        ("bash", {"command": "cp -r bak/. ."}),
        ("other", {"path": "src"}),
    ],
)
def test_a_change_of_a_folder_is_one_of_all_in_it(tool: str, arguments: Any) -> None:
    turn = Turn()
    turn.call("edit", {"path": "src/a.cfg", "new_string": "timeout=30"})
    turn.call("edit", {"path": "../elsewhere/b.cfg", "new_string": "timeout=30"})
    turn.read("src/a.cfg", "timeout=30")
    turn.read("../elsewhere/b.cfg", "timeout=30")
    assert turn.now.owed == ()
    turn.call(tool, arguments)
    for folder in ("src", "."):
        turn.call("ls", {"path": folder}, "a.cfg")
    assert "src/a.cfg" in turn.now.owed
    assert "../elsewhere/b.cfg" not in turn.now.owed
    turn.read("src/a.cfg", "timeout=20")
    assert turn.accepts("completion") == ("src" not in turn.now.owed and not turn.now.owed)
    assert "src/a.cfg" not in turn.now.owed


def test_a_tool_that_asks_for_nothing_is_no_search() -> None:
    turn = Turn("ground { reads todo; mutates edit }", tools=None)
    turn.call("edit", EDIT)
    turn.call("todo", {"items": ["a.cfg:1:timeout=30"]}, "a.cfg:1:timeout=30")
    assert turn.now.owed == ("a.cfg",)
    turn.call("todo", {"query": "time"}, "a.cfg:2:timeout=30")
    assert turn.now.owed == ("a.cfg",)  # it could have kept what it was told
    turn = Turn("ground { reads todo; mutates edit }", tools=None)
    turn.call("edit", EDIT)
    turn.call("todo", {"query": "time"}, "a.cfg:2:timeout=30")
    assert turn.now.owed == ()


def test_a_search_of_the_working_directory_by_its_name() -> None:
    turn = Turn()
    turn.call("edit", EDIT)
    turn.call("grep", {"pattern": "time", "path": "/other"}, "a.cfg:1:timeout=30")
    assert turn.now.owed == ("a.cfg",)
    turn.call("grep", {"pattern": "time", "path": "/repo/"}, "a.cfg:2:timeout=30")
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "beside",
    [
        {"directory": "/other"},
        {"cwd": None, "workdir": "/other"},
        {"cwd": "/repo", "workdir": "/other"},
        {"dir_path": "sub"},
        {"path": 5},
    ],
)
def test_a_call_that_runs_elsewhere_reads_other_files(beside: Any) -> None:
    turn = Turn()
    turn.call("edit", EDIT)
    turn.call("bash", {"command": "cat a.cfg", **beside}, "timeout=30")
    assert turn.now.owed == ("a.cfg",)


def test_a_folder_beside_a_command_that_lies_deeper() -> None:
    rules = "ground { reads read; mutates edit; shell bash /action/command }"
    turn = Turn(rules, tools=None)
    turn.call("edit", EDIT)
    for folder, owed in (("/other", ("a.cfg",)), ("/repo", ())):
        turn.call("bash", {"action": {"command": "cat a.cfg", "workdir": folder}}, f"timeout=30\n# {folder}")
        assert turn.now.owed == owed


@pytest.mark.parametrize(
    "beside",
    [
        {"env": {"GIT_EXTERNAL_DIFF": "touch y"}},
        {"args": ["-delete"]},
        {"stdin": "rm x"},
        {"is_input": "true"},
        {"shell": "/usr/bin/fish"},
        {"options": {"x": 1}},
    ],
)
def test_a_command_that_is_not_all_that_runs_changes_things(beside: Any) -> None:
    turn = Turn()
    turn.call("bash", {"command": "git log -1", **beside})
    assert not turn.accepts("none")
    turn = Turn(context={"cwd": "/repo", "tests": True})
    turn.call("bash", {"command": "pytest -q", **beside}, {"exit_code": 0})
    assert turn.now.missing_signals == ("passed",)


@pytest.mark.parametrize(
    "beside",
    [
        {"env": {}, "stdin": "", "args": None},
        {"shell": "/bin/bash"},
        {"description": "look", "timeout": 1000, "run_in_background": False, "is_input": "false"},
    ],
)
def test_what_says_nothing_beside_a_command(beside: Any) -> None:
    turn = Turn()
    turn.call("bash", {"command": "git log -1", **beside})
    assert turn.accepts("none")


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        (["bash", "-lc", "COMMAND"], True),
        (["/bin/zsh", "-c", "COMMAND"], True),
        (["rm", "-rf", "COMMAND"], False),
        (["python3", "x.py", "COMMAND"], False),
        (["./bash", "-c", "COMMAND"], False),
        (["bash", "x", "COMMAND"], False),
        (["bash", "-c", "COMMAND", "x"], False),
        ([["bash"], "-c", "COMMAND"], False),
        ([{"x": 1}, {}, "COMMAND"], False),
    ],
)
def test_a_command_in_a_list_is_all_that_runs_behind_a_shell_alone(line: list[Any], plain: bool) -> None:
    rules = """ground {
      reads read; mutates edit; shell bash /command/2; require p before completion
      signal p from bash when runs(/command/2, "pytest")
    }"""

    def turn(command: str, result: Any) -> Turn:
        turn = Turn(rules, tools=None)
        turn.call("edit", EDIT)
        turn.call("bash", {"command": [command if each == "COMMAND" else each for each in line]}, result)
        return turn

    assert (turn("cat a.cfg", "timeout=30").now.owed == ()) is plain
    assert (turn("pytest -q", {"exit_code": 0}).now.missing_signals == ()) is plain


def test_a_command_behind_two_options_of_a_shell_in_a_list() -> None:
    rules = "ground { reads read; mutates edit; shell bash /command/3 }"
    for line in (["sh", "-l", "-c"], ["rm", "-l", "-c"], ["sh", "-c", "-l"], ["sh", "-c", "x"]):
        turn = Turn(rules, tools=None)
        turn.call("bash", {"command": [*line, "ls"]})
        assert turn.accepts("none") is (line == ["sh", "-l", "-c"])


@pytest.mark.parametrize(
    "result",
    [
        "Exit code: 1\nx",
        "Process exited with code 1\nx",
        "1 failed\n[The command completed with exit code 1.]",
        "Output: x\nExit Code: 1",
        {"output": "x", "metadata": {"exit_code": 1}},
        {"success": False, "output": "1 failed"},
        {"status": "failed", "output": "x"},
        {"exit_code": "1", "o": "x"},
        {"exit_code": 1.0, "o": "x"},
        {"exit_code": None, "returncode": 1},
        {"content": [{"type": "text", "text": "x"}], "structuredContent": {"exit_code": 1}},
    ],
)
def test_results_that_tell_a_failure_show_no_signal(result: Any) -> None:
    rules = """ground {
      reads read; mutates edit; shell bash /command; require p before completion
      signal p from bash when runs(/command, "pytest")
    }"""
    turn = Turn(rules)
    turn.call("bash", {"command": "pytest -q"}, result)
    assert turn.now.missing_signals == ("p",)
    turn.call("bash", {"command": "pytest -q"}, "3 passed in 1.2s")
    assert turn.now.missing_signals == ()


@pytest.mark.parametrize(
    "result",
    [
        *("No matches found", "(empty)", "Command executed successfully with no output", "User rejected"),
        *(
            "Request timed out",
            '{"error": "not found"}',
            "Path does not exist: a.cfg",
            "sh: 1: cat: not found",
        ),
        *("MCP error -32602: bad", "<no output>", "Tool ran without output", "error TS2304: x"),
    ],
)
def test_results_that_show_nothing_of_a_file(result: Any) -> None:
    turn = Turn()
    turn.call("bash", {"command": "sed -i s/10/30/ a.cfg"})
    turn.read(result=result)
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize("result", ["error.py: 1 replacement", "error = None", {"path": "FooException.java"}])
def test_names_of_errors_are_no_errors(result: Any) -> None:
    turn = Turn()
    turn.call("edit", EDIT, result)
    turn.read(result="timeout=10")
    assert turn.now.owed == ("a.cfg",)
    turn.read(result="timeout=30")
    assert turn.now.owed == ()


def test_a_text_is_taken_away_at_boundaries_of_words() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.py", "old_string": "x", "new_string": 'password = "new"'})
    turn.call("edit", {"path": "a.py", "old_string": "    pass", "new_string": "    a()\n    b()"})
    turn.read("a.py", 'password = "old"\na()\nb()')
    assert turn.now.owed == ("a.py",)
    turn = Turn()
    turn.call("write", {"path": "a.py", "content": "bypass = True\ndef f():\n    pass\n"})
    turn.call("edit", {"path": "a.py", "old_string": "    pass", "new_string": "    return 1"})
    turn.read("a.py", "bypass = True\ndef f():\n    return 1")
    assert turn.now.owed == ()


def test_lines_that_are_given_as_a_list_are_looked_for() -> None:
    turn = Turn()
    turn.call("write", {"path": "a.cfg", "content": ["timeout=30", "x=1"]})
    turn.read(result="timeout=10")
    assert turn.now.owed == ("a.cfg",)
    turn.read(result="timeout=30\nx=1")
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "look", [{"absolute_path": "/repo/a.cfg"}, {"relative_path": "a.cfg"}, {"uri": "file:///repo/a.cfg"}]
)
def test_other_names_for_a_path(look: Any) -> None:
    turn = Turn("ground { reads look; mutates edit }", tools=None)
    turn.call("edit", EDIT)
    turn.call("look", look, "timeout=30")
    assert turn.now.owed == ()


def test_an_address_is_no_target() -> None:
    turn = Turn("ground { reads read; mutates send, move }", tools=None)
    turn.call("send", {"to": "bob@example.com"})
    assert turn.now.owed == ("a change that named nothing",)
    turn.call("move", {"to": "b.cfg"})
    assert turn.now.owed == ("b.cfg", "a change that named nothing")


# A fifth attack


@pytest.mark.parametrize(
    ("command", "beside", "look"),
    [
        ("rm ../a.cfg b.cfg", {"cwd": "/repo/src"}, "src/b.cfg"),
        ("sed -i s/30/10/ a.cfg", {"workdir": "."}, "src/b.cfg"),
        ("sed -i s/30/10/ a.cfg", {"workdir": ""}, "src/b.cfg"),
        ("sed -i s/30/10/ a.cfg", {"cwd": "/repo", "path": "/repo/"}, "src/b.cfg"),
        ("cp new.cfg ../a.cfg", {"cwd": "/repo/src"}, "src/b.cfg"),
    ],
)
def test_what_a_command_changes_is_owed_wherever_it_runs(command: str, beside: Any, look: str) -> None:
    turn = Turn()
    turn.call("edit", EDIT)
    turn.read(result="timeout=30")
    turn.call("bash", {"command": command, **beside}, "ok")
    turn.read(look, "x")
    turn.call("ls", {"path": "."}, "a.cfg")
    assert not turn.accepts("completion")
    turn.read(result="timeout=10")
    turn.read("/repo/a.cfg", "timeout=10 again")
    assert not {"a.cfg", "../a.cfg"} & set(turn.now.owed)


def test_a_command_that_is_not_plain_may_change_more_than_it_names() -> None:
    turn = Turn()
    turn.call("bash", {"command": "rm b.cfg", "args": ["a.cfg"]})
    assert turn.now.owed == ("b.cfg", "a change that named nothing")


@pytest.mark.parametrize(
    "result",
    [
        {"stdout": "", "stderr": "", "exit_code": 0},
        "Exit code: 0\nWall time: 0.1 seconds\nOutput:\n",
        "Output: (empty)\nExit Code: 0",
        "\n[The command completed with exit code 0.]",
        '{"output":"","metadata":{"exit_code":0,"duration_seconds":0.1}}',
        "Command running in background with ID: bash_1",
    ],
)
def test_what_a_tool_says_around_nothing_is_no_look(result: Any) -> None:
    turn = Turn()
    turn.call("bash", {"command": "sed -i s/10/30/ a.cfg"})
    turn.call("bash", {"command": "tail -n +900 a.cfg"}, result)
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    ("old", "new", "result"),
    [
        ("1", "0", {"stdout": "debug=1", "exit_code": 0}),
        ("10", "30", {"stdout": "timeout=10", "exit_code": 0, "duration_ms": 30}),
        ("/srv", "/repo", "root=/srv\n[Current working directory: /repo]"),
    ],
)
def test_what_a_tool_says_around_a_look_shows_nothing(old: str, new: str, result: Any) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "old_string": old, "new_string": new})
    turn.call("bash", {"command": "cat a.cfg"}, result)
    assert turn.now.owed == ("a.cfg",)


def test_output_in_a_text_of_json_is_a_look() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "new_string": 'name = "x"\ntimeout=30'})
    result = json.dumps({"output": 'name = "x"\ntimeout=30\n', "metadata": {"exit_code": 0}})
    turn.call("bash", {"command": "cat a.cfg"}, result)
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    ("new", "arguments", "result"),
    [
        (
            "30",
            {"path": "a.cfg", "limit": 30},
            "[showing lines 1-30 of 90 lines]\ntimeout=10",
        ),
        ("true", {"path": "a.cfg", "case": True}, '{"case": true, "lines": ["debug=false"]}'),
        ("timeout=30", {"path": "a.cfg", "pattern": "timeout%3D30"}, "nothing for timeout=30"),
        ("a & b", {"path": "a.cfg", "pattern": "a &amp; b"}, "nothing for a & b"),
        ("timeout=30", {"path": "a.cfg", "name": "timeout", "value": "30"}, "Nothing for timeout=30"),
        ("true", {"path": "a.cfg", "pattern": "TRUE"}, "nothing for true"),
        ("caf\u00e9=1", {"path": "a.cfg", "pattern": "cafe\u0301=1"}, "nothing for caf\u00e9=1"),
    ],
)
def test_numbers_words_and_other_spellings_are_said_too(new: str, arguments: Any, result: str) -> None:
    turn = Turn("ground { reads look; mutates edit }", tools=None)
    turn.call("edit", {"path": "a.cfg", "new_string": new})
    turn.call("look", arguments, result)
    assert turn.now.owed == ("a.cfg",)


LONG_FOLDER = "/home/user/projects/company-monorepo/packages/frontend/app/source/components"


@pytest.mark.parametrize(
    ("tool", "arguments", "folder"),
    [
        ("bash", {"command": f"rm -rf {LONG_FOLDER}"}, LONG_FOLDER),
        ("bash", {"command": f"git checkout -- {LONG_FOLDER}"}, LONG_FOLDER),
        ("other", {"path": "/s\u200bx/src"}, "/s\u200bx/src"),
    ],
)
def test_a_folder_of_a_file_whose_name_is_not_kept_whole(tool: str, arguments: Any, folder: str) -> None:
    turn = Turn()
    for name in ("Button.tsx", "Link.tsx"):
        turn.call("edit", {"path": f"{folder}/{name}", "new_string": "x = 1"})
        turn.read(f"{folder}/{name}", f"x = 1 # {len(name)}")
    assert turn.now.owed == ()
    turn.call(tool, arguments)
    turn.call("ls", {"path": folder}, "files")
    assert len(turn.now.owed) >= 2


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ({"path": "a.cfg", "cwd": "/other"}, "timeout=30"),
        ({"path": "a.cfg", "ref": "feature"}, "timeout=30"),
        ({"path": "a.cfg", "container": "x"}, "timeout=30"),
        ({"pattern": "timeout", "cwd": "/other"}, "a.cfg:7:timeout=30"),
        ({"pattern": "timeout", "repo": "x"}, "a.cfg:7:timeout=30"),
        ({"pattern": "timeout", "root": "/other"}, "a.cfg:7:timeout=30"),
    ],
)
def test_a_read_somewhere_else_reads_another_file(arguments: Any, result: str) -> None:
    turn = Turn("ground { reads look; mutates edit }", tools=None)
    turn.call("edit", EDIT)
    turn.call("look", arguments, result)
    assert turn.now.owed == ("a.cfg",)


def test_a_change_somewhere_else_is_owed_there() -> None:
    turn = Turn("ground { reads look; mutates edit }", tools=None)
    turn.call("edit", {"path": "../a.cfg", "cwd": "/repo/src", "new_string": "timeout=30"})
    turn.call("look", {"path": "/repo/a.cfg"}, "timeout=30")
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    ("beside", "result"),
    [
        ({"run_in_background": True}, "Command running in background with ID: bash_1"),
        ({}, "Process running with session ID 1"),
        ({}, "aborted by user after 3.1s"),
        ({}, "Command was cancelled by user before it could complete."),
        ({}, "Command exited with non-zero status code: 1"),
        ({}, "1 failed\n[exit 1]"),
        ({}, "<exit_code>1</exit_code>"),
        ({}, {"stdout": "x", "interrupted": True}),
        ({}, {"stdout": "x", "timed_out": True}),
        ({}, {"stdout": "x", "status": 1}),
        ({}, {"stdout": "x", "exit_status": 1}),
        ({}, {"stdout": "x", "signal": "SIGKILL", "exit_code": None}),
        ({}, '{"output":"1 failed","metadata":{"exit_code":1,"duration_seconds":1.0}}'),
    ],
)
def test_what_did_not_end_well_shows_no_signal(beside: Any, result: Any) -> None:
    rules = """ground {
      shell bash /command
      signal p from bash when runs(/command, "pytest")
      require p before completion
    }"""
    turn = Turn(rules)
    turn.call("bash", {"command": "pytest -q", **beside}, result)
    assert turn.now.missing_signals == ("p",)


@pytest.mark.parametrize(
    "result",
    [
        "[read_file for 'a.cfg'] Result:\nThe tool execution failed with the following error:\nx",
        "[read_file for 'a.cfg'] Result:\nThe user denied this operation.",
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "[Request interrupted by user for tool use]",
        "File path must be absolute, but was relative: a.cfg",
        "This file has not changed since you last read it.",
    ],
)
def test_refusals_of_hosts_are_no_look(result: str) -> None:
    turn = Turn()
    turn.call("bash", {"command": "sed -i s/10/30/ a.cfg"})
    turn.read(result=result)
    assert turn.now.owed == ("a.cfg",)


def test_notes_that_are_searched_are_no_evidence() -> None:
    turn = Turn("ground { reads memo, search; mutates edit }", tools=None)
    turn.call("edit", EDIT)
    turn.call("memo", {"text": "a.cfg:1:timeout=30", "path": "b"})
    turn.call("search", {"query": "timeout"}, "a.cfg:1:timeout=30")
    assert turn.now.owed == ("a.cfg",)
    turn.call("search", {"path": "a.cfg"}, "timeout=30")
    assert turn.now.owed == ()


def test_where_an_output_goes_is_owed() -> None:
    turn = Turn()
    turn.call("other", {"path": "b.cfg", "output_path": "a.cfg"})
    assert set(turn.now.owed) == {"a.cfg", "b.cfg"}


@pytest.mark.parametrize(
    "result", ["timeout=30\n" + " " * 200_000 + "x", ("timeout=30" + " " * 800 + "\n") * 2_000]
)
def test_blanks_around_what_was_said_cost_nothing_much(result: str) -> None:
    turn = Turn()
    turn.call("edit", EDIT)
    began = time.process_time()
    turn.call("grep", {"path": "a.cfg", "pattern": "timeout=30"}, result)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("written", "old", "new", "more", "shown"),
    [
        ("foo(\n  a,\n  b\n)\nbar(a, b)", "  b\n)", "  b,\n)", {}, "foo(\n  a,\n  b,\n)\nbar(a, b)"),
        ("foo({a: 1})", "x\n}", "x\n};", {}, "foo({a: 1})\nx\n};"),
        (
            "return None if x else 1\nreturn None",
            "y\nreturn None",
            "y\nreturn 1",
            {},
            "return None if x else 1\ny\nreturn 1",
        ),
        ("foo_bar = foo(1)", "foo", "qux", {"replace_all": True}, "qux_bar = qux(1)"),
        ("timeout = 10", "10", "30", {}, "timeout = 30"),
    ],
)
def test_an_edit_changes_the_line_that_it_changes(
    written: str, old: str, new: str, more: Any, shown: str
) -> None:
    turn = Turn()
    turn.call("write", {"path": "a.py", "content": written})
    turn.call("edit", {"path": "a.py", "old_string": old, "new_string": new, **more})
    turn.read("a.py", shown)
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    ("new", "command", "result"),
    [
        ("timeout=30", "grep -nA2 timeout=30 a.cfg", "7:timeout=30"),
        ("timeout=30", "grep -n -m1 'timeout=30' a.cfg", "7:timeout=30"),
        ("timeout=30", "grep -n -C 3 timeout=30 a.cfg", "7:timeout=30"),
        ("8080", "grep -n 8080 a.cfg", "5:port = 8080"),
    ],
)
def test_a_numbered_line_shows_it_whatever_number_was_asked(new: str, command: str, result: str) -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "new_string": new})
    turn.call("bash", {"command": command}, result)
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "result",
    ["code: 404\nstatus: 200", {"stdout": "status: 200\n3 passed", "exit_code": 0}],
)
def test_files_that_speak_of_codes_are_read(result: Any) -> None:
    turn = Turn()
    turn.call("bash", {"command": "sed -i s/10/30/ a.cfg"})
    turn.call("bash", {"command": "cat a.cfg"}, result)
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "cat a.cfg", "workdir": "."},
        {"command": "cat a.cfg", "cwd": ""},
        {"command": "cat a.cfg", "prefix_rule": ["cat"]},
        {"command": "cat a.cfg", "session_id": "main"},
        {"command": "grep -rn timeout .", "workdir": "/repo"},
    ],
)
def test_folders_that_are_the_working_directory(arguments: Any) -> None:
    turn = Turn()
    turn.call("edit", EDIT)
    turn.call("bash", arguments, "./a.cfg:7:timeout=30" if "grep" in arguments["command"] else "timeout=30")
    assert turn.now.owed == ()


def test_a_relative_folder_of_a_command() -> None:
    turn = Turn()
    turn.call("edit", {"path": "src/a.py", "new_string": "x = 1"})
    turn.call("bash", {"command": "cat a.py", "workdir": "src"}, "x = 1")
    assert turn.now.owed == ()
