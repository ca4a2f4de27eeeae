"""Grounding: a tool that only says how it went has shown nothing, in whatever words."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.engine.talk import is_talk, names_only, tells_nothing

from ..turns import Turn

RULES = "ground { reads look, search; mutates edit; shell bash /command }"
UNKNOWN = {"command": "sed -i s/10/30/ a.cfg"}  # changes a.cfg, nobody knows how
REFUSALS = [
    *(
        "The file was not shown: a.cfg is hidden by policy",
        "Reading was denied",
        "Access to a.cfg is restricted.",
    ),
    *(
        "You haven't been allowed to read it yet",
        "Not connected",
        "This needs approval first",
        "Invalid path.",
    ),
    *(
        "Unknown tool, so nothing was read",
        "a.cfg is unchanged, see above",
        "Timed out, try again",
    ),
    *(
        "<file><path>a.cfg</path><error>It cannot be read</error></file>",
        "Waiting for a person",
        "(too large)",
    ),
]
HOW = [
    *(
        "Binary file a.cfg (12 KB)",
        "Image read: /repo/a.cfg",
        "Command executed.",
        "Done in 0.1 s",
        "Output:",
    ),
    *(
        "Process started with PID 123",
        "Session ID: 5",
        "$ cat a.cfg",
        "me@box:/repo# cat a.cfg",
        "[File is empty]",
    ),
    *(
        "<stdout></stdout>\n<exit_code>0</exit_code>",
        "```\n\n```",
        "Size: 12\nModified: Mon",
        "No output. OK.",
    ),
    *("Warning: the host is new to me", "[FILE] a.cfg", "-rw-r--r-- 1 me me 12 a.cfg", "Finished (3 lines)"),
]
SHOWN = [
    *(
        "timeout=30",
        "30",
        "data",
        "not_before = 5",
        "if not ready: {}",
        "name: web",
        "# Timeouts\n\nNot less than 30.",
    ),
    *(
        "     1\tThis is not allowed.",
        "a.cfg:3:Access denied",
        "src/a.py\nsrc/b.py",
        "v2",
        *("the waiter waits", "contents of a.cfg", "file content"),
        "contents of a.cfg",
        "file content",
    ),
    "No content was found here.\nThe reason: taxes.",
]


@pytest.mark.parametrize("result", [*REFUSALS, *HOW])
@pytest.mark.parametrize("boxed", [False, True])
def test_what_a_tool_only_says_is_no_look(result: str, boxed: bool) -> None:
    value: Any = {"content": [{"type": "text", "text": result}]} if boxed else result
    for tool, arguments in (("look", {"path": "a.cfg"}), ("bash", {"command": "cat a.cfg"})):
        turn = Turn(RULES, tools=None)
        turn.call("bash", UNKNOWN)
        turn.call(tool, arguments, value)
        assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize("result", SHOWN)
def test_what_stands_in_a_file_is_one(result: str) -> None:
    for tool, arguments in (("look", {"path": "a.cfg"}), ("bash", {"command": "cat a.cfg"})):
        turn = Turn(RULES, tools=None)
        turn.call("bash", UNKNOWN)
        turn.call(tool, arguments, result)
        assert turn.now.owed == ()


@pytest.mark.parametrize("result", REFUSALS)
def test_what_was_written_is_seen_in_whatever_words(result: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("edit", {"path": "b.txt", "content": "I was not there.\nOK so."})
    turn.call("look", {"path": "b.txt"}, "I was not there.\nOK so.\n")
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "result",
    [
        {"size": 12, "created": "2026-01-01", "isFile": True, "permissions": "644"},
        {"path": "a.cfg", "type": "file", "status": "ok"},
        {"success": True, "message": "a.cfg was not read"},
        {"results": [{"path": "a.cfg", "kind": 5}], "took": "3ms"},
        {"uri": "file:///repo/a.cfg", "diagnostics": []},
        {"content": [{"type": "resource_link", "uri": "file:///repo/a.cfg", "name": "a.cfg"}]},
        {"content": {"type": "read_result_error", "error_code": "locked"}},
        {"response": {"error": "locked"}},
        {"data": {"error": {"code": 5}}},
        {"errors": [{"message": "forbidden"}], "data": None},
        [{"type": "tool_result", "is_error": True, "content": "boom"}],
        [{"isError": True, "text": "boom"}],
    ],
)
def test_an_object_without_what_is_in_the_file_shows_nothing(result: Any) -> None:
    block = {"content": [{"type": "text", "text": json.dumps(result)}]}
    for value in (result, json.dumps(result), block):
        turn = Turn(RULES, tools=None)
        turn.call("bash", UNKNOWN)
        turn.call("look", {"path": "a.cfg"}, value)
        if value is result or "error" not in json.dumps(result).lower():
            assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result",
    [
        {"output": [{"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}]},
        {"output": [{"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
        {"output": [{"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}]},
        {"result": {"command": "cat a.cfg", "stdout": "", "stderr": "", "exitCode": 0}},
        {"response": {"output": "", "cwd": "/repo"}},
        {"stdout": None, "status": "ok", "cwd": "/repo"},
        *({key: {"exit_code": 1, "stdout": "x"}} for key in ("data", "content", "response", "outcome")),
        {"results": [{"exit_code": 1, "output": "x"}]},
    ],
)
def test_a_command_that_printed_nothing_shows_nothing(result: Any) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", UNKNOWN)
    turn.call("bash", {"command": "cat a.cfg"}, result)
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result",
    [
        {"timeout": 30},
        {"path": "a.cfg", "level": 3},
        {"jobs": [{"job": "x", "status": "failed"}], "next": None},
        {"results": [{"job": "x", "exit_code": 1}]},
    ],
)
def test_an_object_with_anything_else_shows_something(result: Any) -> None:
    for value in (result, json.dumps(result)):
        turn = Turn(RULES, tools=None)
        turn.call("edit", {"id": 7})
        turn.call("look", {"path": "a.cfg"}, value)
        assert turn.now.owed == ()


@pytest.mark.parametrize(
    "result",
    [
        *(
            "a.cfg\nb.cfg",
            "a.cfg  3",
            "3 a.cfg",
            "Files with matches:\n/repo/a.cfg",
            "1 matching file:\n- a.cfg",
        ),
        *("| file | matches |\n|---|---|\n| a.cfg | 3 |", "file:///repo/a.cfg", "<match>a.cfg</match>"),
        *("a.cfg (12 bytes)", "a.cfg\n[Showing results with limit: 1, offset: 0]", "Line counts:\na.cfg:3"),
    ],
)
def test_names_and_counts_are_no_line(result: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", UNKNOWN)
    turn.call("search", {"pattern": "x", "path": "a.cfg"}, result)
    assert turn.now.owed == ("a.cfg",)
    turn.call("search", {"pattern": "x", "path": "a.cfg"}, f"{result}\n7:max = 1")
    assert turn.now.owed == ()


@given(st.text(max_size=300))
def test_a_line_more_shows_something(text: str) -> None:
    assert not is_talk(f"{text}\ntimeout: thirty")
    assert is_talk(text) or not is_talk(f"{text}\nDone.")


@pytest.mark.parametrize(
    "piece", ["a", "no ", "a.", "/", "<a ", "\\", ".a/", "'", "x@", "a-b.c", "\u00e9.", "1:", "it's "]
)
def test_long_texts_are_judged_in_linear_time(piece: str) -> None:
    begun = time.process_time()
    for _ in range(20):
        is_talk(piece * (2_000 // len(piece)))
        names_only(piece * (4_000 // len(piece)))
    is_talk(piece * 1_000_000)
    tells_nothing([{"id": 1}] * 100_000, file=True, held=frozenset(), most=4_096)
    assert time.process_time() - begun < 1.0


@pytest.mark.parametrize(
    "printed", ['{"exit_code": 0, "failed": 3}', '{"metadata": {}, "exit_code": 0, "x": ["a"]}']
)
def test_what_a_program_prints_is_no_code_of_its_end(printed: str) -> None:
    rules = """ground {
      shell bash /command
      signal passed from bash when runs(/command, "pytest") and result.exit_code == 0
      require passed before completion
    }"""
    for value in (printed, {"content": [{"type": "text", "text": printed}]}):
        turn = Turn(rules, tools=None)
        turn.call("bash", {"command": "pytest -q"}, value)
        assert turn.now.missing_signals == ("passed",)


@pytest.mark.parametrize(
    "beside", [{"exit_code": 1}, {"structuredContent": {"exit_code": 1}}, {"status": "error"}]
)
def test_what_a_program_prints_is_no_better_than_what_its_tool_says(beside: Any) -> None:
    rules = """ground {
      shell bash /command
      signal passed from bash when runs(/command, "pytest") and result.exit_code == 0
      require passed before completion
    }"""
    turn = Turn(rules, tools=None)
    block = {"type": "text", "text": '{"output": "1 failed", "exit_code": 0}'}
    turn.call("bash", {"command": "pytest -q"}, {"content": [block], **beside})
    assert turn.now.missing_signals == ("passed",)


@pytest.mark.parametrize("line", ["1.4.3", "2026-11-30", "return None", "mode: read", "limit: 5", "30,40"])
def test_a_search_shows_what_was_written_in_whatever_words(line: str) -> None:
    for result in (line, f"1:{line}", f"/repo/a.cfg:1:{line}", {"mode": "content", "content": f"1:{line}"}):
        turn = Turn(RULES, tools=None)
        turn.call("edit", {"path": "a.cfg", "old_string": "x y", "new_string": line})
        turn.call("search", {"pattern": "x", "path": "a.cfg"}, result)
        assert turn.now.owed == ()


@pytest.mark.parametrize(
    "line", ["2026-11-30 backup failed", "10 retries not allowed", "404: page not found", "12"]
)
def test_a_numbered_line_may_begin_with_a_number(line: str) -> None:
    for result in (f"     1\t{line}", f"1:{line}", f"     1→{line}", f"a.cfg:1:{line}"):
        turn = Turn(RULES, tools=None)
        turn.call("bash", UNKNOWN)
        turn.call("look", {"path": "a.cfg"}, result)
        assert turn.now.owed == ()


@pytest.mark.parametrize("result", ["403: access is restricted", "guard.sh:3: Blocked by me, do not read"])
def test_a_number_at_the_head_makes_no_line(result: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", UNKNOWN)
    turn.call("look", {"path": "a.cfg"}, result)
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result",
    [
        {"number": 7, "title": "Bug", "body": "It is not working", "state": "open"},
        {"id": 7, "comments": [{"body": "Not yet, sorry."}]},
        *(
            "Order 7 is cancelled.",
            "Refund pending",
            "Not shipped yet",
            {"approved": False},
        ),
    ],
)
def test_what_became_of_a_thing_may_be_said_in_such_words(result: Any) -> None:
    for value in (
        result,
        {"content": [{"type": "text", "text": result if type(result) is str else json.dumps(result)}]},
    ):
        turn = Turn(RULES, tools=None, claim_surface=["7"])
        turn.call("edit", {"number": 7})
        turn.call("look", {"number": 7}, value)
        assert turn.now.owed == ()


@pytest.mark.parametrize(
    "result", ["[FILE] a.py", '{"entries": [{"name": "a.py", "type": "file"}]}', {"files": ["a.py"]}]
)
def test_a_folder_is_shown_by_what_is_in_it(result: Any) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("edit", {"path": "d"})
    turn.call("look", {"path": "d"}, result)
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "text", ['{"type": "module", "name": "x"}', '{"files": ["a.ts"]}', '{"role": "admin"}']
)
def test_a_small_file_of_json_is_read(text: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", UNKNOWN)
    turn.call("look", {"path": "a.cfg"}, text)
    assert turn.now.owed == ()


# Commands that may show nothing of one of their files, or only complain


@pytest.mark.parametrize(
    "command",
    [
        *(
            "head -n 0 a.cfg && cat b.cfg",
            "sed -n 9999p a.cfg; cat b.cfg",
            "tail -n +9999 a.cfg && cat b.cfg",
        ),
        *("awk 'NR>9999' a.cfg && cat b.cfg", "grep zzz a.cfg | cat && cat b.cfg", "grep zzz a.cfg b.cfg"),
        *("cat a.cfg | head -n 0; cat b.cfg", "head -q -n 0 a.cfg b.cfg", "head -0 a.cfg && cat b.cfg"),
        *(
            "rg 'x (' a.cfg 2>&1 | cat",
            "grep -n 'x\\(' a.cfg | cat",
            "awk '/x (/' a.cfg | cat",
            "grep -e '*' a.cfg; ls",
        ),
        *(
            "sed -n '/x\\(/p' a.cfg | cat",
            "time head -n 0 a.cfg",
            "nohup cat a.cfg",
            "timeout -v 1 cat a.cfg",
        ),
        *("head -n a a.cfg", "grep -A n x a.cfg", "head -n 5m a.cfg", "tail -n 99999999999 a.cfg"),
        *("/usr/bin/time head -n 0 a.cfg", "/bin/nohup cat a.cfg", "tail -5 -q a.cfg 2>&1 | cat"),
        *("rg '\\/' a.cfg | cat", "sed '1,2q' a.cfg | cat"),
    ],
)
def test_what_may_show_nothing_of_a_file_shows_no_unknown_change(command: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", UNKNOWN)
    turn.call("bash", {"command": command}, "b: 1\nc: 2")
    assert turn.now.owed == ("a.cfg",)


def test_a_name_with_a_number_that_is_not_known_is_none() -> None:
    turn = Turn(RULES, tools=None)
    turn.call("edit", {"path": "v0", "new_string": "timeout=30"})
    turn.call("bash", {"command": "cat v$$"}, "timeout=30")
    assert turn.now.owed == ("v0",)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "cat a.cfg && cat b.cfg",
            "head -n 9 a.cfg; tail -n 9 b.cfg",
            "nl -b a a.cfg",
        ),
        *(
            "grep -n 'max|min' a.cfg | head -n 3",
            "sed -n 1,9p a.cfg; ls",
            "nice cat a.cfg",
            "rg '^b: \\d+' a.cfg | cat",
        ),
        *("sed 9q a.cfg | cat", "sed -n '1,2p;9q' a.cfg | cat", "tail -5 a.cfg | cat"),
        *("awk '/b/' a.cfg | head", "timeout 9 cat a.cfg", "grep 'x (' a.cfg", "grep -F 'x (' a.cfg | cat"),
    ],
)
def test_what_shows_each_of_its_files_does(command: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", UNKNOWN)
    turn.call("bash", {"command": command}, "b: 1\nc: 2")
    assert turn.now.owed == (() if not command.endswith("; ls") else ("a.cfg",))


def test_a_search_shows_the_files_whose_names_stand_before_its_lines() -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", {"command": "sed -i s/10/30/ a.cfg b.cfg"})
    turn.call("bash", {"command": "grep -n 'timeout' a.cfg b.cfg"}, "b.cfg:7:timeout = 30")
    assert turn.now.owed == ("a.cfg",)
    turn.call("bash", {"command": "grep -n 'timeout' a.cfg c.cfg"}, "a.cfg:7:timeout = 30")
    assert turn.now.owed == ()


def test_a_known_change_is_shown_by_what_shows_it() -> None:
    turn = Turn(RULES, tools=None)
    for path in ("a.cfg", "b.cfg"):
        turn.call("edit", {"path": path, "new_string": f"{path} = 30"})
    turn.call("bash", {"command": "sed -n 1,9p a.cfg && sed -n 1,9p b.cfg"}, "a.cfg = 30")
    assert turn.now.owed == ("b.cfg",)


@pytest.mark.parametrize(
    "command",
    [
        *("echo x > a.cfg$$", "cp b a.cfg$?"),
        "echo x > link/../a.cfg",
        'echo x > "~/a.cfg"',
        "sed -i'g*' s/b/c/ a.cfg",
        "sed --in-place='x/*' s/b/c/ a.cfg",
    ],
)
def test_a_file_that_is_not_the_one_that_its_name_says(command: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", {"command": command})
    assert "a change that named nothing" in turn.now.owed


# What a later look at all this found


@pytest.mark.parametrize("key", ["backup_dir", "output_dir", "cache_folder", "tmp_dir", "sort_dir", "passwd"])
def test_not_every_folder_is_the_one_that_a_call_works_in(key: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("edit", {"path": "a.cfg", "new_string": "timeout=30", key: "/bak"})
    turn.call("look", {"path": "/bak/a.cfg"}, "timeout=30")
    assert turn.now.owed == ("a.cfg",)
    turn.call("bash", {"command": "cat a.cfg", key: "/other"}, "timeout=30")
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "result",
    [
        *(
            '{"exit_code": 1}',
            '{"output": ""}',
            '{"stdout": "x", "error": "killed"}',
            '{"output": "x", "interrupted": true}',
        ),
        *(
            '{"metadata": {"exit_code": 1}}',
            '{"stdout": "", "stderr": "boom"}',
            '{"exit_code": 137, "reason": "killed"}',
        ),
    ],
)
def test_what_a_tool_of_commands_tells_as_text(result: str) -> None:
    for value in (result, {"content": [{"type": "text", "text": result}]}):
        turn = Turn(RULES, tools=None)
        turn.call("bash", UNKNOWN)
        turn.call("bash", {"command": "cat a.cfg"}, value)
        assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result",
    [
        {"status": "denied", "path": "a.cfg", "policy": "no-secrets"},
        *({"answer": "no output"}, {"approval": "denied"}, {"toolResult": "(empty)"}, {"results": "denied"}),
        {"errors": [{"message": "forbidden"}], "data": None},
    ],
)
def test_one_word_under_any_key_is_no_look(result: Any) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", UNKNOWN)
    turn.call("look", {"path": "a.cfg"}, result)
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result", [{"role": "tool", "content": "done"}, {"path": "a.cfg", "content": "0 matches"}]
)
def test_how_it_went_is_no_answer_whatever_stands_beside_it(result: Any) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", {"command": "make"}, "built")
    turn.call("look", {"path": "a.cfg"}, result)
    assert turn.now.owed == ("a change that named nothing",)


@pytest.mark.parametrize("result", ["a.cfg:3", "[a.cfg](a.cfg)", "a.cfg: 3 matches"])
def test_names_are_no_line_at_another_place_either(result: str) -> None:
    there = {"owner": "o", "repo": "r"}
    for text in ({}, {"new_string": "matches"}):
        turn = Turn(RULES, tools=None)
        turn.call("edit", {"path": "a.cfg", **there, **text})
        turn.call("search", {"path": "a.cfg", "query": "x", **there}, result)
        assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "look",
    [
        {"files": [{"path": "a.cfg", "ref": "v1"}, *({"path": f"f{each}"} for each in range(63))]},
        *({"source": {"path": "a.cfg", "version": 3}}, {"path": "a.cfg", "options": {"cwd": "/srv"}}),
        {"path": "a.cfg", "sandbox": True},
    ],
)
def test_a_place_may_stand_anywhere_in_a_call(look: Any) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("edit", {"path": "a.cfg", "new_string": "timeout=30"})
    turn.call("look", look, "timeout=30")
    assert turn.now.owed == ("a.cfg",)
    turn.call("edit", {"path": "a.cfg", "new_string": "timeout=30", "context": {"repo": "r"}})
    turn.call("look", {"path": "a.cfg"}, "x\ntimeout=30")
    assert len(turn.now.owed) == 1
    turn.call("look", {"path": "a.cfg", "context": {"repo": "r"}}, "timeout=30")
    assert turn.now.owed == ()


def test_talk_beside_a_known_text_shows_nothing_of_the_other() -> None:
    turn = Turn(RULES, tools=None)
    turn.call("edit", {"path": "b.cfg", "new_string": "timeout=30"})
    turn.call("bash", UNKNOWN)
    turn.call("look", {"paths": ["a.cfg", "b.cfg"]}, "Reading was denied.")
    turn.call("look", {"path": "b.cfg"}, "timeout=30")
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result", [{"status": "open"}, "open", [{"code": "DE"}], {"status": "cancelled", "id": 7}]
)
def test_what_a_thing_is_now_is_an_answer(result: Any) -> None:
    turn = Turn(RULES, tools=None, claim_surface=["7"])
    turn.call("edit", {"id": "7"})
    turn.call("look", {"id": "7"}, result)
    assert turn.now.owed == ()


@pytest.mark.parametrize("command", ["cat a.cfg b.cfg | head -n 1", "grep -F -E x a.cfg | cat"])
def test_a_pipe_may_cut_a_file_off_or_lose_a_complaint(command: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", UNKNOWN)
    turn.call("bash", {"command": command}, "x: 1")
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result", [{"errors": [{"line": 3, "message": "unused"}]}, {"results": [{"type": "timeout", "n": 1}]}]
)
def test_what_was_found_may_be_called_an_error(result: Any) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("look", {"path": "a.cfg"}, result)
    assert turn.accepts("assertion")


@pytest.mark.parametrize(
    "result",
    [
        *("No timeout found", "Found 0 occurrences of timeout", 'Found 2 matches for "timeout"'),
        *('Found 1 file(s) matching "timeout"\na.cfg', "Count: 0 of timeout", "Matches: 3 (timeout)"),
        *("Found no timeout", "Found 12 references to timeout across 3 files"),
    ],
)
def test_a_search_that_counts_what_it_was_asked_for_shows_no_line(result: str) -> None:
    for value in (result, {"output": result}):
        turn = Turn(RULES, tools=None)
        turn.call("bash", UNKNOWN)
        turn.call("search", {"path": "a.cfg", "query": "timeout"}, value)
        assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result", [[], [[]], [None], ["ok"], ["done"], ["success"], ["ok", "done"], [["ok"]], '["ok"]', "[ ]"]
)
def test_a_list_is_judged_as_its_elements_are(result: Any) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", {"command": "make"}, "built")
    turn.call("look", {"id": "a.cfg"}, result)
    assert turn.now.owed == ("a change that named nothing",)
    turn.call("look", {"id": "a.cfg"}, ["ok", "timeout = 30"])
    assert turn.now.owed == ()


@pytest.mark.parametrize("key", ["pathInProject", "resource", "document", "id"])
@pytest.mark.parametrize(
    "result",
    [
        {"status": "denied"},
        {"status": "denied", "id": 7, "message": "The user denied reading a.cfg"},
        {"status": "cancelled", "message": "The user denied reading a.cfg"},
        {"status": "cancelled", "approval_id": 17, "requestId": "r1"},
        {"status": "Canceled", "path": "a.cfg", "reason": "no"},
    ],
)
def test_what_was_denied_is_no_look_under_whatever_key(key: str, result: Any) -> None:
    for value in (result, {"structuredContent": result}):
        turn = Turn(RULES, tools=None, claim_surface=["a.cfg"])
        turn.call("look", {key: "a.cfg"}, value)
        assert not turn.accepts("assertion")


@pytest.mark.parametrize(
    "result",
    [
        {"id": 7, "status": "cancelled"},
        {"order_id": "#W7", "status": "cancelled"},
        {"order_id": "7", "status": "cancelled", "items": [], "user": "u", "address": "x"},
    ],
)
def test_what_was_cancelled_may_be_the_thing_itself(result: Any) -> None:
    turn = Turn(RULES, tools=None, claim_surface=["7"])
    turn.call("look", {"id": "7"}, result)
    assert turn.accepts("assertion")


@pytest.mark.parametrize("key", ["data", "output", "result", "response", "content"])
@pytest.mark.parametrize("inside", [{"path": "a.cfg", "size": 12}, {}, {"metadata": {"mode": "r"}}])
def test_where_what_was_read_holds_no_text_the_others_are_none_of_it(key: str, inside: Any) -> None:
    for tool, arguments in (("look", {"path": "a.cfg"}), ("bash", {"command": "cat a.cfg"})):
        turn = Turn(RULES, tools=None)
        turn.call("edit", {"path": "a.cfg", "new_string": "timeout=30"})
        turn.call(tool, arguments, {key: inside, "message": "timeout=30 is not in it"})
        assert turn.now.owed == ("a.cfg",)
        turn.call(tool, arguments, {key: {**inside, "text": "timeout=30"}})
        assert turn.now.owed == ()


def test_a_failure_that_is_told_beside_an_output_without_text_is_one() -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", {"command": "cat a.cfg"}, {"msg": "No results", "output": []})
    assert not turn.accepts("assertion")


@pytest.mark.parametrize(
    "line",
    [
        *("    if user is not None:", "    if key not in seen:", "    except OSError as error:"),
        *("    name TEXT NOT NULL,", "\treturn nil, errors.New('not found')", "  - read"),
        *('return nil, errors.New("not found")', "RUN pip install retry and wait", "$ npm install retry"),
        *('CMD ["./wait-for-it.sh", "db:5432"]', "Require ip 10.1.2.3", "Require all denied"),
        *("def test_it_fails(path: Path) -> None:", 'die "it is not an absolute path"', "for text in ("),
        *(
            "password\trequired\tpam_permit.so",
            "| `denied` | the model must not run |",
            "### The bracket not closed",
        ),
        "before it counts; one of them may deny it, and another repair of it denies. A policy that raises",
        "Any denial wins. Repairs of several policies must be equal in type and value. A repair is shown",
        "A `deny` of one is an error of all: `allow` or `ask`",
        *(
            "schema must refuse what is there.",
            "the variable must be set, and is ignored where it is not, and",
        ),
    ],
)
def test_code_and_pieces_of_longer_texts_are_no_talk(line: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", UNKNOWN)
    turn.call("bash", {"command": "grep x a.cfg"}, line)
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "notice",
    [
        "The requested resource requires authentication.",
        "`a.cfg` cannot be opened: it is locked by `vim`",
        "approval required by policy, but AskForApproval is set to Never",
        "reading files is not allowed.",
        "Permission to use Read(a.cfg) has been denied.",
        "The workspace trust prompt is pending; open a.cfg after trusting the folder.",
        "Your request has been blocked by an administrator; contact support to get access.",
        "The file was not shown,\nsince it is restricted.",
        "### a.cfg: access denied",
        "| a.cfg | access denied |",
        "$ cd /repo\n$ cat a.cfg",
        "[[NOTE] This file read has been removed to save space in the context window.]",
    ],
)
def test_a_notice_may_be_long_or_say_why(notice: str) -> None:
    assert is_talk(notice, ("a.cfg",))


@pytest.mark.parametrize(
    "line",
    [
        *("# NOTE: keep in sync with b.py", "// NOTE: port 8080", "> **Note:** needs Python 3.12"),
        *("warning: '#ffaa00'", '"hint": "Enter your name",', "warning: 80", "  note: pays by card"),
    ],
)
def test_a_remark_of_a_file_and_a_key_are_no_aside(line: str) -> None:
    assert not is_talk(line, ("a.cfg",))
    assert is_talk("Note: this look found nothing", ("a.cfg",))


@pytest.mark.parametrize("line", ["412:  type: file", "404:     read all", "503:unavailable"])
def test_a_line_may_have_the_number_of_a_state(line: str) -> None:
    assert not is_talk(line, ("a.cfg",))
    assert is_talk("404: Not Found", ("a.cfg",))


@pytest.mark.parametrize(
    "listing",
    [
        *("       3 a.cfg", "   4 a.cfg", "  - a.cfg", "  path: a.cfg\n  size: 12\n  type: file"),
        *("  File: a.cfg\n  Size: 12", "  File unchanged"),
        *("for security reasons this file cannot be read", "with this mode reading is disabled"),
        *("try again later, file is locked", "sudo required to read this file"),
        "SELECT permission was denied on the object",
    ],
)
def test_an_indented_list_of_files_and_a_sentence_that_begins_like_code_are_talk(listing: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", UNKNOWN)
    turn.call("look", {"path": "a.cfg"}, listing)
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "notice",
    [
        *("[offset beyond end of file]", "Offset 100 is beyond the end of the file (12 lines).", "0 lines"),
        *("File too large to read (25000 tokens). Use offset and limit.", "Output saved to /tmp/x.txt"),
        *("429 Too Many Requests", "502 Bad Gateway", "Too many open files", "Killed", "Segmentation fault"),
    ],
)
def test_more_notices_of_well_known_tools(notice: str) -> None:
    turn = Turn(RULES, tools=None)
    turn.call("bash", UNKNOWN)
    turn.call("look", {"path": "a.cfg"}, notice)
    assert turn.now.owed == ("a.cfg",)
