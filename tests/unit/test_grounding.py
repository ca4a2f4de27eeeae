"""Grounding: what a turn's calls earn and owe, and which claims are let out; one test for each rule."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

import callgate
from callgate import InputError
from callgate.engine import grounding
from callgate.engine.relevance import home, touches

from ..turns import RULES, TOOLS, Turn

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


def test_the_same_result_of_another_tool_is_new() -> None:
    turn = Turn()
    turn.read()
    for _ in range(4):
        turn.session.reason()
    turn.call("grep", {"path": "a.cfg"}, "timeout=10")
    assert turn.now.budget == 4


def test_a_change_of_something_else_makes_the_same_result_new_when_it_starts_and_when_it_ends() -> None:
    turn = Turn()
    turn.read()
    for _ in range(5):
        turn.session.reason()
    turn.session.call("edit", {"path": "b.cfg"}, call_id="e")
    turn.read()
    assert turn.now.budget == 3
    turn.session.result("e", "ok")
    turn.read()
    assert turn.now.budget == 5
    turn.read()
    assert turn.now.budget == 5


@pytest.mark.parametrize(
    ("known", "new"), [("x{}yyyyyyy", True), ("x{0}yyyyyyyx{0}yyyyyyy", True), ("x{0}yyyyyyy{0}", False)]
)
def test_results_are_told_apart_by_whole_digests(known: str, new: bool) -> None:
    turn = Turn()
    turn.read()
    state = json.loads(turn.session.dump())
    state["turn"]["ground"] |= {"budget": 1, "digests": known.format(state["turn"]["ground"]["digests"])}
    turn.session = callgate.compile(RULES, tools=TOOLS).session(
        state=json.dumps(state), context={"cwd": "/repo"}
    )
    turn.ids = count(1)
    turn.read()
    assert turn.now.budget == (3 if new else 1)


def test_more_results_than_are_told_apart_leave_a_debt() -> None:
    turn = Turn()
    for number in range(grounding.DIGESTS):
        turn.read(result=f"x{number}")
    assert turn.now.owed == ()
    turn.read(result="a new one")
    assert turn.now.owed == ("other targets",)
    assert turn.accepts("unverified")
    assert turn.now.owed == ()


@pytest.mark.parametrize(
    ("result", "good"),
    [
        ({"is_error": True, "text": "timeout=10"}, False),
        ({"error": "busy", "text": "timeout=10"}, False),
        ({"exitCode": 1, "stdout": "timeout=10"}, False),
        ({"return_code": 1, "stdout": "timeout=10"}, False),
        ({"stderr": "careful", "stdout": "timeout=10"}, True),
        ("timeout=10\nError: a line of the file", True),
    ],
)
def test_what_a_failed_look_is(result: Any, good: bool) -> None:
    turn = Turn()
    turn.read(result=result)
    assert turn.accepts("assertion") is good


def test_names_in_a_result_are_compared_in_nfc() -> None:
    assert touches("see cafe\u0301.txt here", ["café.txt"], home(None))


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


@pytest.mark.parametrize(
    "command",
    [
        "tool --in a.cfg",
        "sudo tool a.cfg b.cfg",
        "x=1 tool /repo/./a.cfg",
        "tool 'a.cfg'; ls",
        'tool "$x" a.cfg',
        "tool --into=a.cfg $(date)",
        "cd /repo && tool a.cfg",
        "python - <<'EOF'\nopen('a.cfg', 'w').write('x')\nEOF",
        'python3 -c \'open("a.cfg", "w")\' 2>&1 | tail -1',
        "node -e \"fs.writeFileSync('./a.cfg', '')\"",
    ],
)
def test_what_an_unknown_command_names_of_what_claims_are_about_is_owed(command: str) -> None:
    turn = Turn(claim_surface=["a.cfg", "web.cfg"])
    turn.call("bash", {"command": command}, "")
    turn.read("web.cfg", "x = 1")
    assert turn.session.finish("completion").owed == ("a.cfg",)
    turn.read()
    assert turn.accepts("completion")


def test_an_unknown_command_may_change_anew_what_was_changed_before() -> None:
    turn = Turn(claim_surface=["web.cfg"])
    turn.call("bash", {"command": "sed -i s/3/5/ Makefile"}, "")
    turn.read("Makefile", "all: x")
    assert turn.accepts("completion")
    turn.call("bash", {"command": "tool Makefile"}, "")
    turn.read("web.cfg", "x = 1")
    assert turn.session.finish("completion").owed == ("Makefile",)


@pytest.mark.parametrize(
    ("surface", "command"),
    [
        (["src", "web.cfg"], "tool src"),  # no file: no look into it could settle it
        (["a.cfg", "web.cfg"], "tool; sed -i s/3/5/ b.cfg && rm a.cfg"),  # what is known is not guessed at
        (["a.cfg", "web.cfg"], "tool xa.cfg sub/a.cfg"),
        (["a.cfg", "web.cfg"], "cat a.cfg && tool"),
        # What is only said or written, and what programs that are known are given, they do not change.
        (["a.cfg", "web.cfg"], "git commit -am 'mend a.cfg'"),
        (["a.cfg", "web.cfg"], "git add a.cfg && gh pr create --body 'a.cfg'"),
        (["a.cfg", "web.cfg"], "cat > b.html <<EOF\n<script src='a.cfg'>\nEOF"),
        (["a.cfg", "web.cfg"], 'echo "$(date): a.cfg" >> log.md'),
        (["a.cfg", "web.cfg"], "diff <(git show HEAD:a.cfg) a.cfg"),
        (["a.cfg", "web.cfg"], "pytest a.cfg; kubectl apply -f a.cfg"),
        (["a.cfg", "web.cfg"], "rm -f a.cfg 2>/dev/null || true; tool &"),
        (["a.cfg", "web.cfg"], "cat > a.cfg <<EOF\nx\nEOF\ntool; rm a.cfg"),
        (["app.models.User", "a.com", "web.cfg"], "tool app.models.User a.com"),
    ],
)
def test_what_an_unknown_command_does_not_name_is_not_owed(surface: list[str], command: str) -> None:
    turn = Turn(claim_surface=surface)
    turn.call("bash", {"command": command}, "")
    assert not {"a.cfg", "src"} & set(turn.now.owed)


@pytest.mark.parametrize(
    ("command", "look", "result"),
    [
        ("mkdir -p src/x", "ls src/x", "a.py"),
        ("mkdir -p src/x", "ls -ld src/x/", "drwxr-xr-x 2 a a 64 src/x"),
        ("mkdir -p src/x", "cat ./src/x/y/a.py", "x = 1"),
        ("touch a.cfg", "ls a.cfg", "a.cfg"),
        ("chmod 600 a.cfg", "ls -l a.cfg", "-rw------- 1 a a 9 a.cfg"),
        ("chmod 600 a.cfg && mkdir b", "stat a.cfg b", "a.cfg 9 b 64"),
    ],
)
def test_what_is_only_made_or_marked_is_shown_where_it_is_listed(
    command: str, look: str, result: str
) -> None:
    turn = Turn(claim_surface=["a.cfg", "src"])
    turn.call("bash", {"command": command}, "")
    assert not turn.accepts("completion")
    turn.call("bash", {"command": look}, result)
    assert turn.accepts("completion")


@pytest.mark.parametrize(
    ("command", "look", "result"),
    [
        ("mkdir src", "ls", "src"),
        ("mkdir src", "ls src", ""),
        ("mkdir src", "cat srcs/a.py", "x = 1"),
        ("mkdir -p src/x", "ls src", "x"),
        ("mkdir src", "ls src", "ls: cannot access 'src': No such file or directory"),
        ("touch a.cfg && sed -i s/3/5/ a.cfg", "ls a.cfg", "a.cfg"),
        ("echo x > a.cfg && chmod 600 a.cfg", "ls a.cfg", "a.cfg"),
        ("touch a.cfg > b.cfg", "ls a.cfg b.cfg", "a.cfg b.cfg"),
        ("rm a.cfg", "ls a.cfg", "a.cfg"),
        ("rm a.cfg", "ls", "a.cfg\nb"),
        ("rm a.cfg", "ls -F", "a.cfg*\nb"),
        ("rm a.cfg", "ls", ""),
        ("rm a.cfg", "ls", "x\n" * 3_000),  # it may have been cut
        ("rm a.cfg", "ls src", "b"),
        ("rm a.cfg", "ls -I 'a*'", "b"),
        ("rm a.cfg", "ls -d .", "."),
        ("rm a.cfg", "ls | head -n 1", "b"),
        ("rm a.cfg", "ls *.py", "b.py"),
        ("rm .cfg", "ls", "b"),
        ("rm 'a b\"'", "ls", "b"),
        ("rm a.cfg > b.cfg", "ls", "b"),
        ("mv a.cfg b.cfg", "ls", "b.cfg"),
        ("rm a.cfg && echo x > a.cfg", "ls", "b"),
        ("echo x > a.cfg; rm src/a.cfg", "ls src", "b"),
    ],
)
def test_nothing_else_is_shown_where_it_is_listed(command: str, look: str, result: str) -> None:
    turn = Turn(claim_surface=["a.cfg", "src"])
    turn.call("bash", {"command": command}, "")
    turn.call("bash", {"command": look}, result)
    assert not turn.accepts("completion")


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("rm a.cfg", {"ls": "b\nsrc"}),
        ("rm -rf src/build src/dist", {"ls -la src": "total 4\n-rw-r--r-- 1 a a 9 z.py"}),
        ("git rm a.cfg", {"ls -A .": "b"}),
        ("mv a.cfg src/b.cfg", {"ls": "src", "cat src/b.cfg": "x = 1"}),
        ("git mv a.cfg b.cfg", {"cat b.cfg": "x = 1", "ls -1": "b.cfg"}),
        ("mv a.cfg b.cfg src/", {"ls": "src", "cat src/a.cfg src/b.cfg": "x = 1"}),
    ],
)
def test_what_is_gone_is_shown_by_a_listing_of_its_folder(command: str, looks: dict[str, str]) -> None:
    turn = Turn(claim_surface=["a.cfg", "src"])
    turn.call("bash", {"command": command}, "")
    for look, result in looks.items():
        assert not turn.accepts("completion")
        turn.call("bash", {"command": look}, result)
    assert turn.accepts("completion")


def test_what_was_written_and_is_moved_unseen_stays_owed() -> None:
    turn = Turn(claim_surface=[])
    turn.call("edit", {"path": "a.cfg", "new_string": "timeout=30"})
    turn.call("bash", {"command": "mv a.cfg b.cfg"}, "")
    turn.call("bash", {"command": "ls"}, "b.cfg")
    turn.read("b.cfg", "timeout=10")
    assert turn.now.owed == ("a.cfg",)
    turn = Turn(claim_surface=[])
    turn.call("edit", {"path": "a.cfg", "new_string": "timeout=30"})
    turn.read("a.cfg", "timeout=30")
    turn.call("bash", {"command": "mv a.cfg b.cfg"}, "")
    turn.call("bash", {"command": "ls"}, "b.cfg")
    turn.read("b.cfg", "timeout=30")
    assert turn.accepts("completion")


def test_what_was_written_and_is_gone_is_not_looked_for() -> None:
    turn = Turn(claim_surface=[])
    turn.call("write", {"path": "t.py", "content": "print(1)"}, "ok")
    turn.call("bash", {"command": "rm t.py"}, "")
    turn.call("bash", {"command": "ls"}, "a.py")
    assert turn.accepts("completion")
    # What lay in a folder is still owed: nobody lists it any more.
    turn.call("write", {"path": "t/a.py", "content": "print(1)"}, "ok")
    turn.read("t/a.py", "print(1)")
    turn.call("bash", {"command": "rm -r t"}, "")
    turn.call("bash", {"command": "ls"}, "a.py")
    assert turn.now.owed == ("t/a.py",)


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cp a.cfg src/", ("src/a.cfg",)),
        ("cp x/a.cfg .", ("./a.cfg",)),
        ("cp a.cfg b.cfg src", ("src/a.cfg", "src/b.cfg")),
        ("cp a.cfg src", ("src",)),
        ("mv a.cfg src/", ("a.cfg", "src/a.cfg")),
        ("ln -s x/a.cfg src/", ("src/a.cfg",)),
    ],
)
def test_what_goes_into_a_folder_is_named_there(command: str, files: tuple[str, ...]) -> None:
    turn = Turn()
    turn.call("bash", {"command": command}, "")
    assert turn.now.owed == files


def test_what_was_written_stays_owed_when_it_is_marked() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "new_string": "timeout=30"})
    turn.call("bash", {"command": "chmod 600 a.cfg"}, "")
    turn.call("bash", {"command": "ls -l a.cfg"}, "-rw------- 1 a a 9 a.cfg")
    assert turn.now.owed == ("a.cfg",)
    turn.read(result="timeout=30")
    turn.call("bash", {"command": "chmod 644 a.cfg"}, "")
    turn.call("bash", {"command": "ls -l a.cfg"}, "-rw-r--r-- 1 a a 9 a.cfg")
    assert turn.accepts("completion")


@pytest.mark.parametrize("command", ["mkdir src", "rm b.cfg"])
def test_what_is_made_or_gone_elsewhere_is_not_listed_here(command: str) -> None:
    turn = Turn()
    turn.call("bash", {"command": command, "host": "web"}, "")
    turn.call("bash", {"command": "ls src"}, "a.py")
    turn.call("bash", {"command": "ls"}, "src")
    assert not turn.accepts("completion")


def test_a_folder_that_is_made_changes_nothing_in_it() -> None:
    turn = Turn()
    turn.call("edit", {"path": "src/a.py", "new_string": "x = 1"})
    turn.read("src/a.py", "x = 1")
    turn.call("bash", {"command": "mkdir -p src"}, "")
    assert turn.now.owed == ("src",)
    turn.call("bash", {"command": "ls src"}, "a.py")
    assert turn.accepts("completion")


def test_where_nothing_is_known_a_look_at_what_a_command_names_is_relevant() -> None:
    turn = Turn(claim_surface=[])
    turn.call("bash", {"command": "tool -o out/x.json -v"}, "")
    assert turn.session.finish("completion").owed == ("a change that named nothing",)
    turn.read("other.json", "x = 1")
    assert not turn.accepts("completion")
    turn.read("out/x.json", "x = 2")
    assert turn.accepts("completion")
    # With something to claim about, only that counts.
    turn = Turn(claim_surface=["a.cfg"])
    turn.call("bash", {"command": "tool -o out/x.json"}, "")
    turn.read("out/x.json", "x = 2")
    assert turn.session.finish("completion").owed == ("a change that named nothing",)


def test_a_file_that_two_commands_may_change_is_one_that_a_third_may_still_change() -> None:
    session = Turn(claim_surface=[]).session
    for call_id, command in (("1", "tool a.cfg"), ("2", "tool a.cfg -x"), ("3", "sed -i s/3/5/ a.cfg")):
        session.call("bash", {"command": command}, call_id=call_id)
    session.result("1", "done it")
    session.result("2", "done it")
    session.call("read", {"path": "a.cfg"}, call_id="4")
    session.result("4", "x = 3")
    assert "a.cfg" in session.finish("completion").owed


@pytest.mark.parametrize(
    ("command", "read", "owed"),
    [
        ("cd sub && apply_patch <<'EOF'\n{}\nEOF", "sub/a.cfg", ()),
        ("cd sub && apply_patch <<'EOF'\n{}\nEOF", "a.cfg", ("sub/a.cfg",)),
        ("cd /repo/sub; git apply <<'EOF'\n{}\nEOF", "sub/a.cfg", ()),
        ("apply_patch <<'EOF'\n{}\nEOF", "a.cfg", ()),
    ],
)
def test_a_patch_lies_in_the_folder_where_it_is_applied(
    command: str, read: str, owed: tuple[str, ...]
) -> None:
    patch = "*** Begin Patch\n*** Update File: a.cfg\n@@\n-x = 1\n+x = 2\n*** End Patch"
    turn = Turn(claim_surface=["web.cfg"])
    turn.call("bash", {"command": command.format(patch)}, "Success. Updated the following files:\nM a.cfg")
    turn.read(read, "x = 2")
    assert tuple(each for each in turn.now.owed if each.endswith(".cfg")) == owed


def test_what_a_command_may_have_changed_is_not_owed_when_another_names_it() -> None:
    turn = Turn(claim_surface=[])
    turn.call("bash", {"command": "pytest t/test_a.py"}, "")
    turn.call("edit", {"path": "a.py", "new_string": "x = 1"})
    turn.call("bash", {"command": "pytest t/test_a.py"}, "")
    turn.read("a.py", "x = 1")
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


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/30/10/ a.cfg && pytest -q",
        "cp bak.cfg a.cfg && npm run build",
        "git checkout -- a.cfg; git add -A",
        "make > a.cfg",
        "cd /repo && sed -i s/30/10/ a.cfg && pytest -q",
    ],
)
def test_what_a_chain_names_is_owed_though_it_may_change_more(command: str) -> None:
    turn = Turn(claim_surface=["a.cfg", "b.cfg"])
    turn.call("bash", {"command": command}, "3 passed")
    turn.read("b.cfg", "x = 1")
    assert [each.removeprefix("/repo/") for each in turn.now.owed] == ["a.cfg"]
    turn.read("a.cfg", "timeout=10")
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


def test_a_target_that_was_read_is_owed_again_after_another_change() -> None:
    turn = Turn(claim_surface=["a.cfg", "b.cfg"])
    turn.call("edit", {"path": "a.cfg"})
    turn.read()
    assert turn.now.verified
    turn.call("edit", {"path": "a.cfg"})
    assert not turn.now.verified
    turn.read("b.cfg", "x")
    assert (turn.now.verified, turn.now.owed) == (False, ("a.cfg",))


def test_a_read_that_started_before_a_nameless_change_ended_shows_nothing_of_it() -> None:
    turn = Turn()
    session = turn.session
    session.call("other", {"x": 1}, call_id="o")
    session.call("read", {"path": "a.cfg"}, call_id="r")
    session.result("o", "ok")
    session.result("r", "timeout=10")
    assert turn.now.owed == ("a change that named nothing",)


def test_a_change_that_was_asked_for_is_owed() -> None:
    turn = Turn(RULES + 'tool edit { ask "sure?" }')
    assert turn.session.call("edit", {"path": "a.cfg"}, call_id="e").outcome == "asked"
    turn.session.result("e", "ok")
    assert turn.now.owed == ("a.cfg",)


def at_once(turn: Turn, *changes: tuple[str, dict[str, str], bool]) -> None:
    """Changes of `a.cfg` that all start before the first one ends."""
    for number, (tool, arguments, _) in enumerate(changes):
        turn.session.call(tool, {"path": "a.cfg"} | arguments, call_id=f"at-once-{number}")
    for number, (_, _, ok) in enumerate(changes):
        turn.session.result(f"at-once-{number}", "ok", ok=ok)


@pytest.mark.parametrize("ok", [True, False])
def test_of_changes_at_once_the_lines_of_each_have_to_be_shown(ok: bool) -> None:
    turn = Turn()
    at_once(turn, ("edit", {"newText": "t=30"}, True), ("edit", {"newText": "u=1"}, ok))
    turn.read(result="u=1")
    assert turn.now.owed == ("a.cfg",)


def test_changes_at_once_take_away_what_each_replaced() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "t=1\nq=1"})
    edits = [{"old_string": f"{each}=1", "new_string": f"{each}=2\n{each}=3"} for each in "tq"]
    at_once(turn, *(("edit", each, True) for each in edits))
    turn.read(result="t=2\nt=3\nq=2\nq=3")
    assert turn.accepts("completion")


def test_a_whole_file_replaces_what_was_there_beside_another_change_too() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "old=1"})
    at_once(turn, ("write", {"content": "x=1"}, True), ("edit", {"newText": "y=1"}, True))
    turn.read(result="x=1\ny=1")
    assert turn.accepts("completion")


def test_an_edit_after_a_whole_file_leaves_its_lines() -> None:
    turn = Turn()
    turn.call("write", {"path": "a.cfg", "content": "x=1"})
    turn.call("edit", {"path": "a.cfg", "newText": "y=1"})
    turn.read(result="y=1")
    assert turn.now.owed == ("a.cfg",)


def test_half_of_what_is_looked_for_stays_that_of_earlier_changes() -> None:
    turn = Turn()
    for name in "xy":
        turn.call("edit", {"path": "a.cfg", "newText": "\n".join(f"{name}{at:02}" for at in range(16))})
    turn.read(result="\n".join(f"y{at:02}" for at in range(16)))
    assert turn.now.owed == ("a.cfg",)


def test_lines_that_an_edit_leaves_as_they_are_need_not_be_shown() -> None:
    turn = Turn()
    edit = {"path": "a.cfg", "old_string": "[a]\ntimeout=10\n", "new_string": "[a]\ntimeout=30\n"}
    turn.call("edit", edit)
    turn.read(result="timeout=30")
    assert turn.accepts("completion")


def test_of_a_long_line_its_beginning_is_looked_for() -> None:
    turn = Turn()
    turn.call("edit", {"path": "a.cfg", "newText": "x" * 60})
    turn.read(result="x" * 60)
    assert turn.accepts("completion")


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
    assert not turn.accepts("none")
    turn.session.user()
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


def test_an_assertion_after_a_change_is_not_let_out_by_a_look_at_something_else() -> None:
    turn = Turn()
    turn.call("edit", {"path": "b.cfg"})
    turn.read()
    assert turn.now.grounded
    assert not turn.accepts("assertion")


def test_progress_tells_what_there_is() -> None:
    turn = Turn()
    assert (turn.now.turn, turn.now.step, turn.now.grounded, turn.now.verified) == (1, 0, False, False)
    turn.read()
    assert (turn.now.grounded, turn.now.verified) == (True, False)
    turn.session.user()
    assert turn.now.turn == 2


def test_a_signal_beside_a_change_that_runs_all_the_time_is_stale() -> None:
    turn = Turn(context={"cwd": "/repo", "tests": True})
    turn.session.call("edit", {"path": "a.cfg"}, call_id="e")
    turn.call("bash", {"command": "pytest -q"}, {"exit_code": 0})
    turn.session.result("e", "ok")
    assert turn.now.missing_signals == ("passed",)


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


# What a refusal says


def refused(turn: Turn, claim: str = "completion") -> str:
    message = turn.session.finish(claim).message
    assert message is not None
    return message


def test_a_refusal_says_what_has_to_be_read() -> None:
    turn = Turn()
    turn.session.call("edit", {"path": "b.cfg", "newText": "x=1"}, call_id="late")
    turn.call("edit", {"path": "a.cfg", "newText": "timeout=30"})
    assert refused(turn) == (
        "This is not shown yet: `b.cfg`, `a.cfg`. Wait for the result of what changes `b.cfg`; read `a.cfg`"
        " after the last change, so that what was written there is seen; or say that it is unverified."
    )


def test_a_refusal_names_the_tool_of_a_change_that_named_nothing() -> None:
    turn = Turn()
    turn.session.call("bash", {"command": "make"}, call_id="late")
    assert "Wait for the result of `bash`; or" in refused(turn)
    turn.session.result("late", "fine")
    assert "Look again at what the claim is about, since `bash` may have changed it; or" in refused(turn)


def test_a_refusal_names_a_missing_signal_and_its_tool() -> None:
    turn = Turn(context={"cwd": "/repo", "tests": True})
    turn.call("edit", {"path": "a.cfg"})
    turn.read()
    assert refused(turn) == (
        "This is not shown yet: `passed`. Make a good call of `bash` that shows `passed`; or say that it is"
        " unverified."
    )


def test_a_refusal_of_what_was_never_changed() -> None:
    turn = Turn()
    turn.read()
    assert refused(turn).startswith(
        "Nothing was changed in this turn, so nothing is complete. Claim an assertion"
    )


def test_a_refusal_where_nothing_says_what_claims_are_about() -> None:
    turn = Turn(claim_surface=[])
    turn.read()
    assert refused(turn, "assertion").startswith("Nobody said what claims of this turn are about")


def test_a_refusal_for_too_many_targets() -> None:
    turn = Turn()
    turn.call("edit", {"paths": [f"{number}.cfg" for number in range(20)]})
    assert " and 12 more. Read `0.cfg`" in refused(turn)
