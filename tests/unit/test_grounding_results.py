"""Grounding: what results of real tools show, and what they only say around it."""

from __future__ import annotations

import json
import time
import tracemalloc
from typing import Any

import pytest

from ..turns import Turn

RULES = "ground { reads look, search; mutates edit; shell bash /command }"
EDIT = {"path": "a.cfg", "old_string": "timeout=10", "new_string": "timeout=30"}
UNKNOWN = {"command": "sed -i s/10/30/ a.cfg"}  # changes a.cfg, nobody knows how


def a_turn() -> Turn:
    return Turn(RULES, tools=None)


# Where a look looks


@pytest.mark.parametrize(
    "beside",
    [
        *({"sha": "abc123"}, {"version": 3}, {"revision_id": "r7"}, {"commitId": "abc"}, {"tag-name": "v1"}),
        *({"project_id": "group/project"}, {"workspace": "other"}, {"sandbox_id": "x"}, {"pod": "web-1"}),
        *({"snapshot": "s1"}, {"repoName": "x"}, {"branch_name": "main"}, {"git_ref": "HEAD~1"}),
        *(
            {"ssh_host": "web"},
            {"archivePath": "x.zip"},
            {"pull_number": 7},
            {"staged": True},
            {"owner": "x"},
        ),
        *({"chdir": "/other"}, {"subdir": "b"}, {"search_path": "b"}, {"at": "v2"}, {"hosts": ["a", "b"]}),
    ],
)
def test_a_look_at_another_state_or_place_reads_another_file(beside: Any) -> None:
    turn = a_turn()
    turn.call("bash", UNKNOWN)
    turn.call("look", {"path": "a.cfg", **beside}, "timeout=10")
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "key",
    [
        *(
            "exec_dir",
            "current_dir",
            "base_dir",
            "project_path",
            "workspaceFolder",
            "wd",
            "working-directory",
        ),
        *("root_dir", "repo_path", "projectRoot"),
    ],
)
def test_a_folder_of_a_command_by_any_of_its_names(key: str) -> None:
    for folder, owed in (("/other", ("a.cfg",)), ("/repo", ())):
        turn = a_turn()
        turn.call("edit", EDIT)
        turn.call("bash", {"command": "cat a.cfg", key: folder}, "timeout=30")
        assert turn.now.owed == owed


@pytest.mark.parametrize(
    "beside",
    [
        {"version": None, "tag": "", "ref": False},
        {"file_path": "/repo/a.cfg", "offset": 1, "limit": 2000, "description": "x", "tags": ["x"]},
        {"encoding": "utf-8", "start_line": 1, "explanation": "x", "mode": "slice"},
        {"sandbox_permissions": "use_default", "mcp_server": "files", "api_version": "2", "use_cached": True},
        {
            "context": "def f():",
            "include_date": "yes",
            "tree_depth": 2,
            "user_intent": "x",
            "expected_sha": "a",
        },
        {"before": 3, "context": 2, "commit_message": "x", "include_dir": True, "index": 1, "remote": False},
    ],
)
def test_what_names_no_other_place_beside_a_path(beside: Any) -> None:
    turn = a_turn()
    turn.call("edit", EDIT)
    turn.call("look", {"path": "a.cfg", **beside}, "timeout=30")
    assert turn.now.owed == ()


@pytest.mark.parametrize("tool", ["edit", "bash"])
def test_a_look_at_the_place_that_was_changed_shows_it(tool: str) -> None:
    there = {"owner": "o", "repo": "r"}
    turn = a_turn()
    if tool == "edit":
        turn.call("edit", {**EDIT, **there, "branch": "main", "commit_message": "faster"})
    else:
        turn.call("bash", {**UNKNOWN, **there, "branch": "main"})
    turn.call("look", {"path": "a.cfg"}, "timeout=30")
    turn.call("look", {"path": "a.cfg", **there, "branch": "other"}, "timeout=30")
    turn.call("look", {"path": "a.cfg", "owner": "r", "repo": "o", "branch": "main"}, "timeout=30")
    assert turn.now.owed == ("a.cfg",)
    turn.call("look", {"path": "./a.cfg", **there, "ref": "refs/heads/main"}, "timeout=30")
    assert turn.now.owed == ()
    assert turn.accepts("completion")


@pytest.mark.parametrize(
    "look",
    [
        *({"sha": "abc", "ref": "main"}, {"ref": "main", "sha": "abc"}, {"branch": "main", "version": "v1"}),
        *({"branch": "main", "tag": "v1"}, {"branch": "other"}, {"tag": "main"}, {"hostname": "main"}, {}),
        {"branch": "main", "options": {"ref": "v1"}},
    ],
)
def test_each_word_of_a_state_is_its_own(look: Any) -> None:
    turn = a_turn()
    # What a change builds on is no place.
    turn.call("edit", {**EDIT, "branch": "main", "sha": "abc", "last_commit_id": "x", "start_branch": "dev"})
    turn.call("look", {"path": "a.cfg", **look}, "timeout=30")
    assert turn.now.owed == ("a.cfg",)
    turn.call("look", {"path": "a.cfg", "ref": "main"}, "timeout=30")
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "beside",
    [
        {
            "content": {
                "openapi": "3.1.0",
                "servers": [{"url": "https://a"}],
                "metadata": {"namespace": "prod"},
            }
        },
        {"changes": {"repository": "acme/app", "project": {"name": "app"}, "root": {"path_prefix": "x"}}},
        {"data": {"services": {"web": {"container_name": "web", "environment": {"DEBUG": "0"}}}}},
        *({"vars": {"region": "eu-west-1"}}, {"values": {"remote": {"autoForward": False}}}),
        {"content": [{"cells": [{"host": "h"}]}] * 20_000},
        {"edits": [{"old_string": "a", "new_string": "timeout", "replace_all": False}] * 2_000},
        *({"_meta": {"instance": "r1"}}, {"region": {"start": 1, "end": 3}}, {"region": [1, 3]}),
        *({"pull_first": True}, {"push_to_remote": True}, {"sandbox_mode": "workspace-write"}),
        *({"symbol": "run", "namespace": "App\\Http"}, {"symbol_name": "run", "containerName": "Job"}),
    ],
)
def test_what_a_change_writes_or_says_of_itself_is_no_place(beside: Any) -> None:
    turn = a_turn()
    turn.call("edit", {"path": "a.cfg", **beside})
    turn.call("look", {"path": "a.cfg", "_meta": {"instance": "r2"}}, "timeout=30")
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "beside",
    [
        *({"region": "1-20"}, {"region": {"startLine": 1}}, {"syntax_tree": True}, {"pull": "yes"}),
        *({"user": "alice", "port": 80}, {"profile": "stage", "time": "now", "tags": ["x"], "url": "u"}),
        *({"api_version": "2"}, {"schema_version": "1"}, {"use_branch": True}, {"snapshot_format": "md"}),
    ],
)
def test_what_is_a_place_only_beside_one_is_none_alone(beside: Any) -> None:
    turn = a_turn()
    turn.call("edit", EDIT)
    turn.call("look", {"path": "a.cfg", **beside}, "timeout=30")
    assert turn.now.owed == ()


@pytest.mark.parametrize("there", [{"data": {"host": "h1", "path": "a.cfg"}}, {"options": {"host": "h1"}}])
def test_a_place_beside_the_name_of_a_file_is_one_wherever_it_stands(there: Any) -> None:
    turn = a_turn()
    turn.call("edit", {"path": "a.cfg", **there})
    turn.call("look", {"path": "a.cfg"}, "timeout=30")
    assert turn.now.owed == ("a.cfg",)
    turn.call("look", {"path": "a.cfg", "host": "h1"}, "timeout=30")
    assert turn.now.owed == ()


def named(call: dict[str, Any]) -> dict[str, Any]:
    return call if call.keys() & {"files", "paths"} else {"path": "a.cfg", **call}


@pytest.mark.parametrize(
    ("change", "look"),
    [
        # a name is what its last word says, and a text is no switch
        *(({}, each) for each in ({"use_branch": "old"}, {"include_branch": "old"}, {"text_ref": "v1"})),
        *(({}, each) for each in ({"line_sha": "a"}, {"detail_commit": "a"}, {"format_version": "1"})),
        ({"api_host": "gitlab.com"}, {"api_host": "gitlab.corp"}),
        # several of a thing are of its kind
        *(({}, each) for each in ({"branches": "old"}, {"commits_back": 3}, {"repositories": "x"})),
        *(({}, each) for each in ({"pods": "x"}, {"tags": "v1"}, {"refs": "old"}, {"versions": "2"})),
        # what says more of a place
        *(({"port": 22}, each) for each in ({"port": 2222}, {})),
        *(({"user": "alice"}, each) for each in ({"user": "root"}, {"username": "root"}, {})),
        ({"endpoint_url": "https://a"}, {"endpoint_url": "https://b"}),
        ({"context": "kind"}, {"context": "prod"}),
        *(
            ({}, each)
            for each in ({"time": "2 weeks ago"}, {"until": "2025"}, {"previous": True}, {"oid": "a"})
        ),
        *(({}, each) for each in ({"fork": "bob"}, {"organisation": "x"}, {"ref_type": "tag"})),
        # which is which
        ({"host": "a", "hostname": "b"}, {"host": "b", "hostname": "a"}),
        ({"branch": "a", "ref": "b"}, {"branch": "b", "ref": "a"}),
        ({"from_side": {"host": "a"}, "x": {"host": "b"}}, {"from_side": {"host": "b"}, "x": {"host": "a"}}),
        (
            {"files": [{"path": "a.cfg", "host": "a"}, {"path": "b.cfg", "host": "b"}]},
            {"files": [{"path": "a.cfg", "host": "b"}, {"path": "b.cfg", "host": "a"}]},
        ),
        (
            {"files": [{"path": "a.cfg", "host": "a"}, {"path": "b.cfg"}]},
            {"files": [{"path": "a.cfg"}, {"path": "b.cfg", "host": "a"}]},
        ),
        (
            {"files": [{"path": "a.cfg", "host": "a"}, {"path": "b.cfg", "host": "b"}]},
            {"files": [{"path": "b.cfg", "host": "a"}, {"path": "a.cfg", "host": "b"}]},
        ),
        *(
            ({"paths": ["a.cfg", "b"], "hosts": ["a", "b"]}, {"paths": each, "hosts": ["a", "b"]})
            for each in (["b", "a.cfg"], ["a.cfg"])
        ),
        # what a change builds on, also as a part of a place
        ({"server": {"name": "s", "snapshot": "1"}}, {"server": {"name": "s", "snapshot": "1"}}),
        *(({}, each) for each in ({"nameSpace": "x"}, {"work_space": "x"}, {"sand_boxId": "x"})),
    ],
)
def test_a_look_at_what_only_has_the_same_project_shows_nothing(change: Any, look: Any) -> None:
    for there in ({"project_id": "7"}, {"project_id": "7", "branch": "main"}):
        turn = a_turn()
        turn.call("edit", named({**there, **change}))
        turn.call("look", named({**there, **look}), "timeout=30")
        assert "a.cfg" in turn.now.owed


@pytest.mark.parametrize(
    ("change", "look"),
    [
        ({"branch": "main", "ref": "main"}, {"ref": "refs/heads/main"}),
        ({"host": "h", "user": "alice", "before": 3}, {"hostname": "h", "login": "alice", "context": 2}),
        ({"project_id": 7, "branches": "a"}, {"project_id": "7", "branch": "a"}),
        ({"edits": [{"host": "h"}, {"host": "h"}]}, {"host": "h"}),
        ({"host": {"name": "h", "port": 1}}, {"host": {"port": 1, "name": "h"}}),
    ],
)
def test_a_look_at_the_same_place_in_other_words_shows_it(change: Any, look: Any) -> None:
    turn = a_turn()
    turn.call("edit", {"path": "a.cfg", **change})
    turn.call("look", {"path": "a.cfg", **look}, "timeout=30")
    assert turn.now.owed == ()


def test_of_too_many_places_none_is_known() -> None:
    turn = a_turn()
    turn.call("edit", {"path": "a.cfg", "hosts": ["h"] * 20_000})
    turn.call("look", {"path": "a.cfg", "hosts": ["h"] * 20_000}, "timeout=30")
    assert turn.now.owed == ("a.cfg",)


def test_a_place_in_places_is_looked_at_once() -> None:
    place: Any = "\U0001f600" * 250_000
    for _ in range(60):
        place = {"host": place}
    tracemalloc.start()
    a_turn().call("look", {"path": "a.cfg", **place}, "timeout=30")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 30_000_000


def test_a_change_in_a_folder_that_is_not_known_is_not_seen_here() -> None:
    turn = a_turn()
    turn.call("edit", {**EDIT, "cwd": ["/srv", "/repo"]})
    turn.call("look", {"path": "a.cfg"}, "timeout=30")
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize("depth", [20, 26, 400])
def test_a_file_in_very_many_folders_is_changed_with_each_of_them(depth: int) -> None:
    turn = a_turn()
    path = "top/" + "/".join(f"d{each}" for each in range(depth)) + "/a.cfg"
    turn.call("edit", {**EDIT, "path": path})
    turn.call("look", {"path": path}, "timeout=30")
    assert turn.now.owed == ()
    turn.call("bash", {"command": "rm -rf top"})
    turn.call("look", {"path": "top"}, "files")
    assert len(turn.now.owed) == 1


# What a tool says around a file

REMINDER = """
<system-reminder>
Whenever you read a file, think of the code and what it does: file, text, 0.
</system-reminder>
"""


@pytest.mark.parametrize(
    ("old", "new", "result"),
    [
        ("doc", "file", f"     1→doc = x\n{REMINDER}"),
        ("doc", "file", f"{REMINDER}{REMINDER}     1→doc = x\n<system-reminder>\na file"),
        ("doc", "file", {"content": [{"type": "text", "text": f"doc = x\n{REMINDER}"}]}),
        ("binary", "text", [{"type": "text", "text": "*.svg binary"}]),
        ("binary", "text", {"type": "text", "file": {"filePath": "/repo/a.cfg", "content": "*.svg binary"}}),
        ("latin-1", "utf-8", {"content": "coding: latin-1", "encoding": "utf-8"}),
        ("latin-1", "utf-8", json.dumps({"content": "coding: latin-1", "encoding": "utf-8"})),
        ("net", "disk", {"content": "kept: net", "source": "disk", "lines": 1, "isError": False}),
        ("latin-1", "utf-8", {"result": {"data": "coding: latin-1\n"}, "encoding": "utf-8"}),
        ("html", "plain", {"contents": [{"uri": "file:///a.cfg", "mimeType": "text/plain", "text": "html"}]}),
        ("res", "result", "Here's the result of running `cat -n` on /repo/a.cfg:\n     1\tres = 1\n"),
        (
            "body",
            "content",
            "IMPORTANT: The file content has been truncated.\nStatus: Showing lines 1-2 of 3 total lines.\n"
            "Action: To read more of the content, use `offset`.\n\n--- FILE CONTENT (truncated) ---\nbody: 1",
        ),
        ("doc", "file", "<path>/repo/a.cfg</path>\n<type>file</type>\n<content>\n1: doc\n\n(End of file)"),
        ("doc", "file", "<file>\n00001| doc\n\n(End of file - total 1 lines)\n</file>"),
        ("doc", "file", "[File: /repo/a.cfg (1 lines total)]\n1:doc"),
        (
            "doc",
            "lines",
            "doc\n... [12 lines truncated] ...\n(Showing lines 1-2 of 14. Use offset=3 to go on.)",
        ),
        ("doc", "lines", "File: `/repo/a.cfg`. Lines 1 to 1 (1 lines total): \ndoc"),
        ("doc", "lines", "[Reading 1 lines from start (total: 1 lines, 0 remaining)]\n\ndoc"),
    ],
)
def test_what_a_tool_says_around_a_file_shows_nothing(old: str, new: str, result: Any) -> None:
    turn = a_turn()
    turn.call("edit", {"path": "a.cfg", "old_string": old, "new_string": new, "replace_all": True})
    turn.call("look", {"path": "a.cfg"}, result)
    assert turn.now.owed == ("a.cfg",)


FILE = 'a=1\nname = "b"\ntimeout=30\n'
WRAPPED = json.dumps({"content": FILE, "encoding": "utf-8"})


@pytest.mark.parametrize(
    "result",
    [
        FILE,
        f'     1→a=1\n     2→name = "b"\n     3→timeout=30\n{REMINDER}',
        [{"type": "text", "text": FILE}],
        {"content": [{"type": "text", "text": "a=1"}, {"type": "text", "text": FILE}], "isError": False},
        {"type": "text", "file": {"filePath": "/repo/a.cfg", "content": FILE, "numLines": 3, "startLine": 1}},
        {"contents": [{"uri": "file:///a.cfg", "mimeType": "text/plain", "text": FILE}]},
        {"content": [{"type": "resource", "resource": {"uri": "file:///a.cfg", "text": FILE}}]},
        {"content": [], "structuredContent": {"result": FILE}},
        {"title": "a.cfg", "output": FILE, "metadata": {"preview": "a=1"}},
        {"lines": FILE.splitlines(), "total": 3, "text": "3 lines"},
        {"type": "notebook", "cells": [{"cellType": "code", "source": FILE, "outputs": [{"text": "1"}]}]},
        {"documents": [{"page_content": FILE, "metadata": {"source": "a.cfg"}}]},
        {"lines": [{"number": each, "line": text} for each, text in enumerate(FILE.splitlines())]},
        {"result": "success", "files": {"a.cfg": FILE}},
        {"a.cfg": FILE},
        {"data": {"a.cfg": FILE}},
        FILE.splitlines(),
        WRAPPED,
        json.dumps({"content": FILE}, indent=2),
        json.dumps({"result": FILE, "path": "a.cfg"}),
        json.dumps({"file": {"content": FILE}}),
        f"{WRAPPED}\n{REMINDER}",
        json.dumps(FILE),
        json.dumps(FILE.splitlines()),
        json.dumps([{"type": "text", "text": FILE}]),
        {"content": [{"type": "text", "text": WRAPPED}]},
        [{"type": "text", "text": WRAPPED}],
        '<file>\n00001| a=1\n00002| name = "b"\n00003| timeout=30\n\n(End of file - total 3 lines)\n</file>',
        f'<files><file><path>a.cfg</path>\n<content lines="1-3">\n{FILE}</content>\n</file></files>',
        f"Here's the result of running `cat -n` on /repo/a.cfg:\n{FILE}",
    ],
)
def test_a_file_is_seen_however_a_tool_wraps_it(result: Any) -> None:
    turn = a_turn()
    turn.call("edit", {"path": "a.cfg", "new_string": FILE})
    turn.call("look", {"path": "a.cfg"}, result)
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    ("new", "result"),
    [
        ('"timeout": 30,', '{\n  "name": "b",\n  "timeout": 30,\n  "output": "dist"\n}\n'),
        ('"b"', '[\n  "a",\n  "b"\n]\n'),
        ('{"timeout": 30}', '{"timeout": 30}\n{"timeout": 40}\n'),
        ('"source": ["x = 1"]', '{"cells": [{"cell_type": "code", "source": ["x = 1"]}], "metadata": {}}'),
        ('"timeout": 30', '{"timeout": 30, "timeout": 31}'),
        ('"timeout": 30', '{\n  "content": ["./src/*.html"],\n  "timeout": 30\n}\n'),
        ('"prefix": "log"', '{\n  "Print": {\n    "prefix": "log",\n    "body": "console.log()"\n  }\n}\n'),
        ("{% raw %}", "{% raw %}\n"),
    ],
)
def test_a_file_of_json_is_no_answer_of_a_tool(new: str, result: str) -> None:
    for shown in (result, {"content": result}, {"content": [{"type": "text", "text": result}]}):
        turn = a_turn()
        turn.call("edit", {"path": "a.json", "new_string": new})
        turn.call("look", {"path": "a.json"}, shown)
        assert turn.now.owed == ()


@pytest.mark.parametrize(
    ("old", "new", "result"),
    [
        ("binary", "text", [{"type": "text", "text": "*.svg binary"}]),
        ("binary", "exit_code", [{"type": "text", "text": '{"stdout": "*.svg binary", "exit_code": 0}'}]),
        ("doc", "file", f"doc = x\n{REMINDER}"),
        *(
            ("binary", "text", json.dumps({**head, "stdout": "*.svg binary", "was": "*.svg text", "rc": 0}))
            for head in (
                *(
                    {"command": "x"},
                    {"success": True},
                    {"returncode": 0},
                    {"return_code": 0},
                    {"exitCode": 0},
                ),
                *({"status": "done"}, {"stderr": ""}),
            )
        ),
    ],
)
def test_what_a_tool_says_around_a_command_shows_nothing(old: str, new: str, result: Any) -> None:
    turn = a_turn()
    turn.call("edit", {"path": "a.cfg", "old_string": old, "new_string": new})
    turn.call("bash", {"command": "cat a.cfg"}, result)
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result",
    [
        [{"type": "text", "text": FILE}],
        [{"type": "text", "text": json.dumps({"stdout": FILE, "exit_code": 0})}],
        {"content": [{"type": "text", "text": json.dumps({"output": FILE})}], "isError": False},
        {"result": {"stdout": FILE, "exit_code": 0}},
        {"exit_code": 0, "out": FILE},
        json.dumps({"command": "cat a.cfg", "exit_code": 0, "stdout": FILE}),
        json.dumps({"success": True, "output": FILE, "command": "cat a.cfg"}),
        [{"type": "text", "text": json.dumps({"returncode": 0, "stderr": "", "stdout": FILE})}],
    ],
)
def test_what_a_command_printed_is_seen_however_its_tool_wraps_it(result: Any) -> None:
    turn = a_turn()
    turn.call("edit", {"path": "a.cfg", "new_string": FILE})
    turn.call("bash", {"command": "cat a.cfg"}, result)
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "text",
    [
        '{"status": "draft", "name": "b"}',
        '{"command": "node", "args": ["x"], "output": "b.log"}',
        '{"success": true, "exit_code": 1, "name": "b"}',
        '<files>\n  <file name="a.xml"/>\n  <file name="b.xml"/>\n</files>\n',
        "<content>\n  <p>Welcome</p>\n</content>\n",
        "# Tasks\n[build] result:\n- done\n",
        "# Format\nStatus: showing lines only\n(End of file)\n",
    ],
)
def test_lines_of_a_file_that_look_like_notices_are_printed_by_a_command(text: str) -> None:
    blocks = [{"type": "text", "text": text}]
    for tool, arguments, result in (
        *(
            ("bash", {"command": "cat a.cfg"}, each)
            for each in (text, blocks, {"stdout": text, "exit_code": 0})
        ),
        ("look", {"path": "a.cfg"}, {"content": blocks, "structuredContent": {"content": text}}),
    ):
        turn = a_turn()
        turn.call("edit", {"path": "a.cfg", "content": text})
        turn.call(tool, arguments, result)
        assert turn.now.owed == ()


def test_a_reminder_in_a_field_of_what_a_command_printed_is_the_file() -> None:
    turn, text = a_turn(), "# A\n<system-reminder>\nbe kind\n</system-reminder>\nbye\n"
    turn.call("edit", {"path": "a.cfg", "content": text})
    turn.call("bash", {"command": "cat a.cfg"}, {"stdout": text, "stderr": ""})
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    "result",
    [
        [{"type": "text", "text": "Error: no such file"}],
        [{"type": "text", "text": '{"stdout": "x", "exit_code": 1}'}],
        {"content": [{"type": "text", "text": '{"stdout": "x", "exit_code": 1}'}], "isError": False},
        '{"returncode": 1, "stdout": "x"}',
        '{"command": "cat a.cfg", "stdout": "x", "stderr": "", "exit_code": 1}',
        '{"success": false, "stdout": "x", "stderr": "denied"}',
        '{"status": "error", "stdout": "x"}',
        '{"stderr": "denied", "stdout": "", "returncode": 0}',
        '{"returncode": 0, "stdout": "", "stderr": ""}',
    ],
)
def test_an_error_in_a_block_is_one(result: Any) -> None:
    turn = a_turn()
    turn.call("bash", UNKNOWN)
    turn.call("bash", {"command": "cat a.cfg"}, result)
    assert turn.now.owed == ("a.cfg",)


def test_what_is_read_out_of_results_costs_linear_time() -> None:
    def spent(result: Any) -> float:
        turn = a_turn()
        turn.call("edit", EDIT)
        begun = time.process_time()
        turn.call("look", {"path": "a.cfg"}, result)
        return time.process_time() - begun

    deep: Any = "x"
    for _ in range(100_000):
        deep = {"content": deep}
    for each in (
        "<system-reminder>",
        "<file>",
        " ",
        "\n",
        "[File: ",
        '{"content":',
        "<path>x",
        "here's the result",
    ):
        assert spent(each * (500_000 // len(each))) < 1.0
    assert spent([{"type": "text", "text": "x"}] * 100_000) < 1.0
    assert spent(deep) < 1.0


# Looks that show nothing at all


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("look", {"path": "a.cfg"}, ""),
        ("look", {"path": "a.cfg"}, None),
        ("look", {"path": "a.cfg"}, {"content": "", "encoding": "utf-8", "lines": 0}),
        ("look", {"path": "a.cfg"}, {"files": []}),
        ("look", {"path": "a.cfg"}, [{"type": "text", "text": ""}]),
        ("look", {"path": "a.cfg"}, "<file>\n(End of file - total 0 lines)"),
        ("bash", {"command": "cat a.cfg"}, {"stdout": "", "stderr": "", "interrupted": False}),
        ("bash", {"command": "cat a.cfg"}, "Exit code: 0\nOutput:\n"),
        *(
            ("search", {"pattern": "x", "path": "a.cfg"}, each)
            for each in (
                *({"matches": [], "total": 0}, '{"matches": [], "total": 0}', {"results": []}, "0 results"),
                *({"status": "success"}, "ok", "Success.", {"output": "ok"}, "Nothing found"),
                *([{"type": "text", "text": "ok"}], {"files": [], "truncated": False, "next": None}),
            )
        ),
    ],
)
def test_an_empty_look_after_a_change_that_named_nothing(tool: str, arguments: Any, result: Any) -> None:
    turn = a_turn()
    turn.call("bash", {"command": "python gen.py"}, "ok")
    turn.call(tool, arguments, result)
    assert turn.now.owed == ("a change that named nothing",)


@pytest.mark.parametrize(
    "result",
    [
        30,
        False,
        {"on": False, "level": 0},
        {"on": True, "level": 30},
        {"status": "success", "level": 30},
        "timeout=30",
        {"content": "x"},
        "ok = 1",
    ],
)
def test_a_look_with_something_in_it_after_a_change_that_named_nothing(result: Any) -> None:
    turn = a_turn()
    turn.call("bash", {"command": "python gen.py"}, "ok")
    turn.call("look", {"path": "a.cfg"}, result)
    assert turn.now.owed == ()


STAT = "size: 12\ncreated: Mon\nisDirectory: false\nisFile: true\npermissions: 644"


@pytest.mark.parametrize("text", ["", "(empty)", "(no content)", "null", "[Tool result omitted]", STAT])
@pytest.mark.parametrize("change", [UNKNOWN, {"command": "python gen.py"}])
def test_nothing_said_twice_is_nothing(text: str, change: Any) -> None:
    block = {"type": "text", "text": text}
    for result in ({"content": [block], "structuredContent": {"content": text}}, [block, block]):
        turn = a_turn()
        turn.call("bash", change)
        turn.call("look", {"path": "a.cfg"}, result)
        assert len(turn.now.owed) == 1


def test_a_file_that_only_says_ok_is_read_after_a_change_that_named_nothing() -> None:
    turn = a_turn()
    turn.call("edit", {"path": "a.cfg", "content": "ok\n"})
    turn.call("bash", {"command": "python gen.py"}, "ok")
    turn.call("look", {"path": "a.cfg"}, "ok\n")
    assert turn.now.owed == ()


# Searches that show no line


@pytest.mark.parametrize(
    "result",
    [
        *("Found 1 file\na.cfg", "a.cfg", "/repo/a.cfg\n", "./a.cfg:1", "1", "3 matches", "Found 0 results."),
        *("a.cfg:1\n\nFound 1 total occurrence across 1 file.", "No definitions found.", "No matches found"),
        *(
            "Found 1 match:\n---\nFile: a.cfg\n---",
            "## a.cfg (2 matches)",
            "- `a.cfg`: 2 matches",
            "Total: 2",
        ),
        {"mode": "files_with_matches", "filenames": ["a.cfg"], "numFiles": 1},
        {"mode": "count", "numFiles": 1, "filenames": [], "content": "a.cfg:1", "numMatches": 1},
        '{"matches": ["a.cfg"]}',
        {"content": [{"type": "text", "text": "Found 1 file\na.cfg"}]},
        '<workspace_result workspace_path="/repo">\nFound 3 matches\na.cfg:3\n</workspace_result>',
        *("a.cfg\n[Showing results with pagination = limit: 1, offset: 0]", "Matching files:\na.cfg"),
    ],
)
def test_a_search_that_shows_no_line_is_no_look_into_the_file(result: Any) -> None:
    turn = a_turn()
    turn.call("bash", UNKNOWN)
    turn.call("search", {"pattern": "timeout", "path": "a.cfg"}, result)
    assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result",
    [
        *("timeout=30", "7:timeout=30", "a.cfg:7:timeout=30", "Found 1 result.\n\na.cfg\n│----\n│timeout=30"),
        'Found 1 match for pattern "timeout" in path "a.cfg":\n---\nFile: a.cfg\nL7: timeout=30\n---',
        {"mode": "content", "numFiles": 0, "filenames": [], "content": "7:timeout=30", "numLines": 1},
        {"matches": [{"file": "a.cfg", "line": 7, "text": "timeout=30"}]},
        {"content": [{"type": "text", "text": "a.cfg\n  7: timeout=30"}]},
    ],
)
def test_a_search_that_shows_a_line_is_a_look_into_the_file(result: Any) -> None:
    turn = a_turn()
    turn.call("bash", UNKNOWN)
    turn.call("search", {"pattern": "timeout", "path": "a.cfg"}, result)
    assert turn.now.owed == ()


LOG = "a.cfg:7:timeout=30"  # a line of notes.md


@pytest.mark.parametrize(
    "found",
    [
        [{"file": "notes.md", "line": 3, "text": LOG}],
        {"matches": [{"file": "notes.md", "line_number": 3, "line": LOG}], "total": 1},
        {"results": [{"path": "notes.md", "line": 3, "content": f"x\n{LOG}"}]},
    ],
)
def test_a_line_of_one_file_in_json_is_no_hit_in_another(found: Any) -> None:
    texts = (json.dumps(found), json.dumps(found, indent=0))
    for result in (found, {"content": [], "structuredContent": {"result": found}}, *texts):
        for shown in (
            result,
            {"content": [{"type": "text", "text": result}]},
            [{"type": "text", "text": result}],
        ):
            turn = a_turn()
            turn.call("edit", EDIT)
            turn.call("search", {"pattern": "timeout"}, shown)
            assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result", [LOG, [{"type": "text", "text": LOG}], {"content": [{"type": "text", "text": LOG}]}]
)
def test_a_line_of_a_search_as_text_is_a_hit_in_the_file_it_begins_with(result: Any) -> None:
    turn = a_turn()
    turn.call("edit", EDIT)
    turn.call("search", {"pattern": "timeout"}, result)
    assert turn.now.owed == ()


def test_a_file_of_one_name_is_read() -> None:
    turn = a_turn()
    turn.call("bash", UNKNOWN)
    turn.call("look", {"path": "a.cfg"}, "b.cfg")
    assert turn.now.owed == ()


def test_the_lines_of_a_search_are_looked_through_in_linear_time() -> None:
    turn = a_turn()
    turn.call("bash", UNKNOWN)
    begun = time.process_time()
    for each in ("a.cfg:1\n", "found 1 ", "- " * 500 + "\n", "x:1" * 900 + "\n", "no " * 1_000 + "\n", " \n"):
        turn.call("search", {"pattern": "x", "path": "a.cfg"}, each * (300_000 // len(each)))
    assert time.process_time() - begun < 3.0


# What went wrong


@pytest.mark.parametrize(
    "result",
    [
        "exec_command failed for `/bin/bash -lc 'cat a.cfg'`: CreateProcess",
        "[The command has no new output after 10 seconds. You may wait longer]",
        *("sandbox error: command was killed by a signal", "failed in sandbox: killed", "rejected by user"),
        *("command rejected by user", "unsupported call: shell", "Blocked by hook: no", "Request was denied"),
        "Tool result missing due to internal error",
        "<persisted-output>\nOutput too large (1MB). Full output saved to: /x\n</persisted-output>",
        *("cat: a.cfg: Input/output error", "cat: a.cfg: Stale file handle", "Operation not permitted"),
        "bash: fork: retry: Resource temporarily unavailable\ntimeout=10",
        *(
            "Binary file a.cfg matches",
            "grep: a.cfg: binary file matches",
            "cat: a.cfg: Operation not permitted",
        ),
        "-bash: /usr/bin/cat: cannot execute binary file",
        *(
            "[Old tool result content cleared]",
            "[Tool result omitted]",
            "(Output truncated)",
            "Skipped",
            "Refused.",
        ),
        *("[Image content]", "The file is empty.", "Warning: the file exists but the contents are empty."),
        *("This file is too large to read", "Access to path outside of the workspace is not allowed"),
        *("The user chose not to allow this", "PreToolUse:Read hook denied", "Read operation was blocked"),
        "size: 12\ncreated: Mon\nmodified: Mon\nisFile: true\npermissions: 644\n",
        "File unchanged since last read. The content from the earlier Read tool_result is still current",
        *('{"type":"file_unchanged","file":{"filePath":"a.cfg"}}', '{"success": false, "message": "nope"}'),
        *('{"status": "error", "message": "locked"}', '{\n  "ok": false,\n  "reason": "locked"\n}'),
        {"type": "file_unchanged", "file": {"filePath": "a.cfg"}},
        "Your command ran successfully and did not produce any output.",
        *("(Bash completed with no output)", "Permission to use Read has been denied."),
        "Permission to use Bash with command cat a.cfg has been denied.",
        "Claude requested permissions to read from a.cfg, but you haven't granted it yet.",
        *("EISDIR: illegal operation on a directory, read", "(The file `a.cfg` exists, but is empty)"),
        *("No source code definitions found.", "Found 0 results.", "Found no matches"),
    ],
)
def test_a_look_that_went_wrong_is_none(result: Any) -> None:
    for tool, arguments in (("look", {"path": "a.cfg"}), ("bash", {"command": "cat a.cfg"})):
        turn = a_turn()
        turn.call("bash", UNKNOWN)
        turn.call(tool, arguments, result)
        assert turn.now.owed == ("a.cfg",)


@pytest.mark.parametrize(
    "result",
    [
        "#!/bin/sh\n# exec_command failed for x\necho 'command rejected by user'\n",
        "# Errors\n\nInput/output error\nStale file handle\n[Old tool result content cleared]\n",
        *(
            "sandbox = error\nskipped\nrefused\n",
            "sandbox:\n  on: true",
            "The command is refused where it is long.",
        ),
        *("PreToolUse:\n  - hook", "No bugs found so far", "size: 12\ncolour: red"),
        *("Blocked by the release of 2.0", "request.was_denied = True", "Skipped tests are counted."),
        *("binary file formats\n", "Found 0 in the index: 3\n", "Operation not permitted is EPERM\n"),
        *(
            "image: nginx\n",
            "Access to the list is in `list.py`.\n",
            "operation: denied\n",
            "Image content here",
        ),
        *("The command line\n\nThe file was denied.", "no_match found"),
        *(
            "# Permission to read\n\nIt has been denied.\n",
            '{"status": "draft", "success": false, "level": 3}',
            "eisdir = 21",
        ),
        *(
            '{"ok": true, "status": "error", "level": 3}',
            "File unchanged: no",
            "your command ran successfully: yes",
        ),
    ],
)
def test_a_file_that_speaks_of_what_went_wrong_is_read(result: str) -> None:
    """Where it has a line more, or is read with the numbers of its lines."""
    numbered = "\n".join(f"{at:6}\t{line}" for at, line in enumerate(result.splitlines(), 1))
    for tool, arguments in (("look", {"path": "a.cfg"}), ("bash", {"command": "cat a.cfg"})):
        for text in (f"{result}\ntimeout: 30", numbered):
            turn = a_turn()
            turn.call("bash", UNKNOWN)
            turn.call(tool, arguments, text)
            assert turn.now.owed == ()


@pytest.mark.parametrize(
    "result",
    ["Success: no issues found in 198 source files", "Found 0 warnings and 0 errors.", "No problems found"],
)
def test_a_check_that_found_nothing_shows_its_signal(result: str) -> None:
    rules = """ground {
      shell bash /command
      signal p from bash when runs(/command, "mypy")
      require p before completion
    }"""
    turn = Turn(rules, tools=None)
    turn.call("bash", {"command": "mypy"}, result)
    assert turn.now.missing_signals == ()
