"""Grounding: what results of real tools show, and what they only say around it."""

from __future__ import annotations

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
        *({"snapshot": "s1"}, {"repoName": "x"}, {"branch_name": "main"}),
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
    ],
)
def test_what_names_no_other_place_beside_a_path(beside: Any) -> None:
    turn = a_turn()
    turn.call("edit", EDIT)
    turn.call("look", {"path": "a.cfg", **beside}, "timeout=30")
    assert turn.now.owed == ()


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
