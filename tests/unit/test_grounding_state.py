"""Grounding: the state of a turn, the names of the earlier gate, and how texts are compared."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

import callgate
from callgate import InputError
from callgate.engine import grounding
from callgate.engine import state as memory
from callgate.engine.grounding import GateState, boundary_check, turn_loop
from callgate.engine.normalizing import normalize
from callgate.engine.relevance import home, touches

from ..turns import RULES, TOOLS, Turn

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


@pytest.mark.parametrize(
    ("tools", "name", "call_id", "surface", "path", "files", "waiting"),
    [
        (1, 4, 5, (1, 5), 53, 1, False),
        (1, 4, 5, (64, 250), 53, 1, False),
        (1, 4, 48, (1, 5), 53, 1, True),
        (5, 48, 48, (64, 60), 230, 1, False),
        (256, 48, 5, (1, 60), 40, 64, False),
        (256, 20, 30, (0, 0), 100, 64, True),
        (400, 48, 48, (64, 250), 57, 4, True),
    ],
)
def test_the_state_of_a_turn_is_small_whatever_its_names_and_texts(
    tools: int, name: int, call_id: int, surface: tuple[int, int], path: int, files: int, waiting: bool
) -> None:
    reads = [f"read{number}".ljust(name, "x") for number in range(tools)]
    edits = [f"edit{number}".ljust(name, "x") for number in range(tools)]
    rules = f"ground {{ reads {', '.join(reads)}; mutates {', '.join(edits)}; surface /about }}"
    engine = callgate.compile(rules, tools=dict.fromkeys([*reads, *edits]))
    session = engine.session(claim_surface=[f"{number:0{surface[1]}}" for number in range(surface[0])])
    most = 0
    for number in range(1_200):
        lines = [f'    return "{number}" + other_{at}  # with a comment' for at in range(20)]
        changed = [
            {
                "path": f"/repo/{number}-{file}".ljust(path, "é"),
                "old_text": "b\n" + lines[0],
                "new_text": text,
            }
            for file in range(files)
            for text in ["\n".join(lines)]
        ]
        named = [f"{kind}{number:0{call_id - 1}}" for kind in "er"]
        session.call(edits[number % tools], {"edits": changed}, call_id=named[0])
        look = {"path": changed[0]["path"], "said": "\n".join(lines), "about": f"{number:0200}"}
        session.call(reads[number % tools], look, call_id=named[1])
        for each in () if waiting else named:
            session.result(each, f"text {number}")
        if number % 50 == 0:
            most = max(most, len(session.dump()))
    assert max(most, len(session.dump())) < 64 * 1024
    assert not session.finish("completion").accepted


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


# Rules that change, stores that forget, states that are none


def test_rules_that_changed_between_a_call_and_its_result_show_no_signal() -> None:
    same = "ground { reads read; mutates edit; shell bash /command }\n"
    before = same + "ground { normalize read 'x' to \"y\"; signal lint from bash }"
    after = same + "ground { signal t from bash; require t before completion }"
    one = callgate.compile(before).session(claim_surface=["a.cfg"])
    one.user()
    one.call("bash", {"command": "ruff check"}, call_id="1")
    one.call("read", {"path": "a.cfg"}, call_id="2")
    two = callgate.compile(after).session(claim_surface=["a.cfg"], state=one.dump())
    two.result("1", "fine")
    two.result("2", "x")
    assert two.progress().missing_signals == ("t",)
    two.call("bash", {"command": "pytest"}, call_id="3")
    two.result("3", "fine")
    assert two.progress().missing_signals == ()


def test_a_name_of_nothing_ends() -> None:
    state = GateState(claim_surface={"", "/", "//"})
    found = grounding.classify_observation("read", {"path": "a"}, "x / y", state, read_only=True)
    assert found == {"grounds_assertion": True, "grounds_completion": False}
    assert not touches("x", ("",), home(None))


@pytest.mark.parametrize(
    "turn",
    [
        {"offered": "zz"},
        {"offered": "-1"},
        {"ground": {"budget": -1}},
        {"ground": {"targets": {"a": {"name": "x", "pieces": [""]}}}},
    ],
)
def test_a_state_that_was_tampered_with_is_refused(turn: Any) -> None:
    with pytest.raises(InputError, match="no state of a session"):
        callgate.compile(RULES).session(state=json.dumps({"version": 1, "turn": turn}))


class Forgetful:
    """A store that can lose everything."""

    def __init__(self) -> None:
        self.kept: bytes | None = None

    def update(self, key: str, change: Any) -> Any:
        self.kept, answer = change(self.kept)
        return answer

    def read(self, key: str) -> bytes | None:
        return self.kept

    def close(self) -> None:
        pass


def test_a_session_that_the_store_lost_is_no_new_one() -> None:
    store = Forgetful()
    engine = callgate.compile(RULES, tools=TOOLS)
    session = engine.session("s", store=store)
    session.user()
    session.call("edit", {"path": "a.cfg"}, call_id="1")
    store.kept = None
    for one in (session, engine.session("s", store=store)):
        for verb in (lambda one=one: one.finish("none"), lambda one=one: one.result("1", "ok"), one.progress):
            with pytest.raises(callgate.StoreError, match="has lost it"):
                verb()
    session.user()
    assert session.finish("none").accepted


@pytest.mark.parametrize("store", ["sqlite:///x.db", 5, object()])
def test_a_store_that_is_none(store: Any) -> None:
    with pytest.raises(InputError, match="open_store"):
        callgate.compile(RULES).session("s", store=store)


@pytest.mark.parametrize("value", [b"x", {"a": b"x"}, (1,), {1}, object(), {1: 2}, [{"x": {"y": 1j}}]])
def test_a_result_that_is_no_json_value_is_refused_and_can_be_given_again(value: Any) -> None:
    turn = Turn()
    turn.session.call("read", {"path": "a.cfg"}, call_id="1")
    with pytest.raises(InputError, match="the result of call `1` is no JSON value"):
        turn.session.result("1", value)
    turn.session.result("1", "timeout=10")
    assert turn.accepts("assertion")


def test_many_targets_of_one_name_in_a_long_result_are_looked_for_at_once() -> None:
    turn = Turn(claim_surface=[])
    for number in range(200):
        turn.call("edit", {"path": f"d{number}/a.cfg"})
    began = time.process_time()
    turn.read("zz", "q/a.cfg " * 20_000)
    assert time.process_time() - began < 2


# Where the state has no room left


def _left(monkeypatch: pytest.MonkeyPatch, session: Any, *, lasting: int = 0, passing: int = 0) -> None:
    """So many bytes are left for the session from here on."""
    now = session._room()
    more = lasting - now.lasting if lasting else passing - now.passing
    monkeypatch.setattr(memory, "BYTES", memory.BYTES + more)


def test_a_target_for_which_no_room_is_left_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turn()
    turn.call("edit", {"path": "b.cfg"})
    _left(monkeypatch, turn.session, lasting=-500)
    turn.call("edit", {"path": "b.cfg"})
    assert turn.now.owed == ("b.cfg",)
    turn.call("edit", {"path": "a.cfg"})
    assert turn.now.owed == ("b.cfg", "other targets")
    assert turn.session.finish("unverified").accepted
    assert turn.now.owed == ("b.cfg",)


def test_targets_that_find_no_room_beside_the_call_are_other_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    for room, fit in ((5_000, True), (200, False)):
        turn = Turn()
        monkeypatch.setattr(turn.session, "_room", lambda left=room: memory.Room(1 << 20, left))
        turn.call("edit", {"paths": [f"f{number}" for number in range(20)]})
        assert ("other targets" not in turn.now.owed) is fit
        monkeypatch.undo()


def test_a_look_that_says_what_was_written_shows_nothing_where_no_room_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for room, shown in ((1 << 20, True), (100, False)):
        turn = Turn()
        turn.call("edit", {"path": "a.cfg", "newText": "timeout=30\nretries=5"})
        _left(monkeypatch, turn.session, passing=room)
        turn.call("read", {"path": "a.cfg", "pattern": "timeout=30"}, "7:timeout=30\n8:retries=5")
        assert (turn.now.owed == ()) is shown
        monkeypatch.undo()


def test_tools_that_are_first_called_where_no_room_is_left_are_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = """
    tool act { deny "again" when turn.calls(act) > 0; deny "after" when after read in turn }
    tool other { deny "again" when turn.calls(other) > 0 }
    """
    session = callgate.compile(rules, tools=dict.fromkeys(["act", "other", "read", "b"])).session()
    session.user()
    assert session.call("other", {}, call_id="0").outcome == "valid"
    _left(monkeypatch, session, lasting=-500)
    assert session.call("act", {}, call_id="1").outcome == "valid"
    assert session.call("act", {}, call_id="2").outcome == "denied"
    assert session.call("other", {"n": 1}, call_id="3").outcome == "denied"
    session.call("b", {}, call_id="4")
    session.result("4", "ok")
    turn = session._state.turn
    assert (turn.counts, turn.after, turn.answered, turn.full) == ({"other": 1}, [], {}, ["counts", "after"])
    assert session._state.after == ["b"]  # for good


def test_where_no_room_is_left_the_last_calls_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    session = callgate.compile("", tools={"read": None}).session()
    session.user()
    for number in range(130):
        session.call("read", {"n": number}, call_id=f"w{number}")
    assert list(session._state.turn.calls) == [f"w{number}" for number in range(2, 130)]
    session.result("w129", "x")
    session.call("read", {}, call_id="more")
    assert "w129" not in session._state.turn.calls
    _left(monkeypatch, session, passing=-500)
    session.call("read", {}, call_id="last")
    assert list(session._state.turn.calls) == [*(f"w{number}" for number in range(99, 129)), "more", "last"]


def test_of_calls_with_a_result_the_last_are_kept() -> None:
    session = callgate.compile("", tools={"read": None}).session()
    session.user()
    session.call("read", {}, call_id="waits")
    for number in range(100):
        session.call("read", {"n": number}, call_id=f"d{number}")
        session.result(f"d{number}", "x")
    assert list(session._state.turn.calls) == ["waits", *(f"d{number}" for number in range(37, 100))]


def test_what_claims_are_about_is_added_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    for room, known in ((500, True), (-500, False)):
        turn = Turn(claim_surface=())
        _left(monkeypatch, turn.session, lasting=room)
        turn.call("read", {"path": "b.cfg", "about": "b.cfg"}, "timeout=10")
        assert turn.accepts("assertion") is known
        monkeypatch.undo()


def test_room_is_left_for_the_names_of_all_tools() -> None:
    state = memory.State()
    free = memory.room(state, 0)
    assert memory.room(state, 1_000) == memory.Room(free.lasting - 1_000, free.passing - 1_000)
    tools = [f"tool-{number:05}" for number in range(20)]
    engine = callgate.compile("ground { signal a from x; signal b from y }", tools=dict.fromkeys(tools))
    session = engine.session()
    empty = callgate.compile("").session()
    here = session._room().passing
    assert empty._room().passing - here == 20 * 13 + 2 * 10
    session.user()
    session.call(tools[0], {}, call_id="1")
    session.result("1", "ok")
    session._state.turn = memory.Turn()
    assert session._room().passing == here + 1  # the name, which stands there now, without a comma
    assert memory.names_size(["ab", "x" * 100]) == 5 + 67
    assert memory.names_size(map(str, range(1_000))) == 256 * 6


def _lines(file: int, kind: str) -> str:
    return "\n".join(
        f"{kind} line {at:02} of file {file:03} and then some more to fill it up" for at in range(16)
    )


def test_the_state_is_small_while_all_that_was_written_is_edited_at_once() -> None:
    turn = Turn()
    for file in range(256):
        turn.call("write", {"path": f"f{file:03}.py", "content": _lines(file, "a")})
    for number in range(1_100):
        turn.read(result=f"text {number}")
    most = 0
    for file in range(256):
        arguments = {
            "path": f"f{file:03}.py",
            "old_string": _lines(file, "a"),
            "new_string": _lines(file, "b"),
        }
        turn.session.call("edit", arguments, call_id=f"e{file}")
        most = max(most, len(turn.session.dump()))
    assert most < 64 * 1024


@pytest.mark.parametrize(("files", "at_once"), [(14, 7), (20, 5), (40, 8)])
def test_edits_at_once_of_what_was_written_leave_nothing_owed(files: int, at_once: int) -> None:
    turn = Turn()
    for file in range(files):
        turn.call("write", {"path": f"f{file}.py", "content": _lines(file, "a")})
    for first in range(0, files, at_once):
        some = range(first, min(files, first + at_once))
        for file in some:
            arguments = {
                "path": f"f{file}.py",
                "old_string": _lines(file, "a"),
                "new_string": _lines(file, "b"),
            }
            turn.session.call("edit", arguments, call_id=f"e{file}")
        for file in some:
            turn.session.result(f"e{file}", "ok")
    for file in range(files):
        turn.read(f"f{file}.py", _lines(file, "a"))
    assert len(turn.now.owed) >= min(files, 20)
    for file in range(files):
        turn.read(f"f{file}.py", _lines(file, "b"))
    assert turn.now.owed == ()


def test_names_that_take_more_bytes_than_letters_make_no_state_large() -> None:
    session = callgate.compile(RULES).session(claim_surface=["a.cfg"])
    session.user()
    for letter in ("\x01", '"', "\\", "é", "\ud800", "x"):
        for number in range(150):
            name = f"{number:03}".ljust(48, letter)
            call_id = name.replace("\ud800", "x") + str(ord(letter))
            session.call(name, {}, call_id=call_id)
            session.result(call_id, "ok")
    assert len(session.dump()) < 64 * 1024


def test_forced_tools_make_no_state_large_and_each_is_let_go_of() -> None:
    names = [f"t{number:03}".ljust(64, "x") for number in range(256)]
    forces = "\n".join(f"force {name} at most 3 when turn.step == {at + 2}" for at, name in enumerate(names))
    session = callgate.compile(f"palette p {{\n{forces}\n}}", tools=dict.fromkeys([*names, "read"])).session()
    session.user()
    session.offer()
    for name in names:
        if session.offer().forced == name:
            session.call(name, {}, call_id=f"c{name}")
            session.result(f"c{name}", "ok")
    assert len(session.dump()) < 64 * 1024


def test_a_force_ends_with_a_result_however_many_tools_have_one() -> None:
    names = [f"t{number}" for number in range(300)]
    rules = "palette p { force review at most 50 when turn.step >= 2 }"
    session = callgate.compile(rules, tools=dict.fromkeys([*names, "review"])).session()
    session.user()
    session.offer()
    for name in names:
        session.call(name, {}, call_id=name)
        session.result(name, "ok")
    assert session.offer().forced == "review"
    session.call("review", {}, call_id="review")
    session.result("review", "fine")
    assert session.offer().forced is None


def test_what_matches_a_long_name_of_a_tool() -> None:
    rules = """
    tool edit { deny "no" when turn.calls("mcp__*") >= 1 }
    tool write { deny "look" unless after "mcp__*" }
    tool grep { deny "no" when after "mcp__*" in turn }
    """
    for size, write in ((64, "valid"), (65, "denied")):  # of the longer one it is not known: not let through
        session = callgate.compile(rules).session()
        session.user()
        name = "mcp__server__".ljust(size, "x")
        session.call(name, {}, call_id="1")
        session.result("1", "ok")
        found = [session.call(each, {}, call_id=each).outcome for each in ("edit", "write", "grep")]
        assert found == ["denied", write, "denied"]


def test_a_long_look_costs_little_whatever_is_owed() -> None:
    turn = Turn()
    for file in range(60):
        turn.call("write", {"path": f"f{file}.py", "content": _lines(file, "a")})
    said = "\n".join(_lines(file, "a") for file in range(60)) + "1 " * 200_000
    begun = time.process_time()
    turn.session.call("grep", {"path": "f1.py", "pattern": said}, call_id="long")
    assert time.process_time() - begun < 3  # it was 13


def test_more_tools_than_a_palette_can_be_made_of() -> None:
    tools = dict.fromkeys(f"t{number}" for number in range(16_385))
    session = callgate.compile('palette p { exclude "t1" }', tools=tools).session()
    session.user()
    with pytest.raises(InputError, match="at most 16,384 tools"):
        session.offer()
    tools.popitem()
    session.offer(tools)
    assert callgate.compile("").session(state=session.dump()).progress().step == 1


@pytest.mark.parametrize(
    ("count", "length", "message"),
    [(65, 5, "there are 65 `signal` statements"), (1, 65, "is too long for the name of a signal")],
)
def test_signals_for_which_there_is_no_room(count: int, length: int, message: str) -> None:
    def signals(count: int, length: int) -> str:
        names = (f"s{number}".ljust(length, "x") for number in range(count))
        return "ground {\n" + "\n".join(f"  signal {name} from read" for name in names) + "\n}"

    with pytest.raises(callgate.RuleFileError, match=message) as caught:
        callgate.compile(signals(count, length))
    assert [each.code for each in caught.value.diagnostics if each.severity.value == "error"] == ["G608"]
    callgate.compile(signals(64, 64))
