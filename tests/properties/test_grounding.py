"""Grounding agrees with the slow answers, in one process and in pieces, and never traps."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import callgate
from callgate.engine.normalizing import normalize
from callgate.engine.relevance import home, touches

from ..spec.grounding import Event, Slow

RULES = "ground { reads read; mutates edit, touch }"
ENGINE = callgate.compile(RULES, tools=dict.fromkeys(["read", "edit", "touch"]))
PATHS = st.sampled_from(["a.cfg", "b.cfg", "c.cfg"])
LINES = st.sampled_from(["x=1", "y=22", "see a.cfg here", "see b.cfg here", "z", ""])
TEXTS = st.lists(LINES, max_size=3).map("\n".join)
EVENTS = st.one_of(
    st.tuples(st.just("read"), PATHS, TEXTS | st.just("Error: none"), st.sampled_from([True] * 5 + [False])),
    st.tuples(st.just("change"), PATHS | st.none(), TEXTS | st.none(), st.booleans()),
    st.tuples(st.just("reason")),
    st.tuples(st.just("finish"), st.sampled_from(["none", "assertion", "completion", "unverified"])),
)
SCRIPTS = st.lists(EVENTS, max_size=24)


def play(session: callgate.Session, event: Event, call_id: str) -> bool | None:
    match event:
        case ("reason",):
            return session.reason()
        case ("finish", claim):
            return session.finish(claim).accepted
        case ("read", path, result, ok):
            session.call("read", {"path": path}, call_id=call_id)
            session.result(call_id, result, ok=ok)
        case ("change", path, text, ok):
            arguments: dict[str, Any] = {} if text is None else {"content": text}
            tool = "edit" if path is not None else "touch"
            session.call(tool, arguments | ({"path": path} if path else {"n": call_id}), call_id=call_id)
            session.result(call_id, "done", ok=ok)
    return None


@given(SCRIPTS, st.sets(PATHS, max_size=2))
def test_sessions_agree_with_the_slow_answers(script: list[Event], surface: set[str]) -> None:
    session, slow = ENGINE.session(claim_surface=surface), Slow(surface)
    for number, event in enumerate(script):
        assert play(session, event, str(number)) == slow.step(event), event
        now = session.progress()
        assert (now.budget, now.halted) == (slow.budget, slow.halted)


@given(SCRIPTS, st.sets(PATHS, max_size=2))
def test_a_session_in_pieces_is_the_same_session(script: list[Event], surface: set[str]) -> None:
    whole = ENGINE.session(claim_surface=surface)
    pieces = ENGINE.session(claim_surface=surface)
    for number, event in enumerate(script):
        pieces = ENGINE.session(claim_surface=surface, state=pieces.dump())
        assert play(pieces, event, str(number)) == play(whole, event, str(number))
    assert pieces.dump() == whole.dump()


@given(SCRIPTS)
def test_the_gate_never_traps(script: list[Event]) -> None:
    session = ENGINE.session()
    for number, event in enumerate(script):
        play(session, event, str(number))
    assert session.finish("unverified").accepted
    assert not session.progress().halted


VARYING = [
    *("2026-07-10", "2026/07/10", "10/07/2026", "10-Jul-2026", "20260710", "Jul", "10,", "Fri", "Friday,"),
    *(
        "20:47:03",
        "20:47",
        "PM",
        "Z",
        "12",
        "1,234",
        "0.5",
        "1m23s",
        "ms",
        "m",
        "h",
        "s",
        "ago",
        "an",
        "hour",
    ),
    *("deadbeef01", "12345678", "0x7f3a2b1c", "e-3", "550e8400-e29b-41d4-a716-446655440000"),
    *(
        "pid",
        "ppid",
        "process",
        "ID",
        "412",
        "[412]:",
        "sshd",
        "/tmp/x",
        "/var/folders",
        "C:\\Temp",
        "\\",
        "/",
    ),
    *("=", ":", ".", "..", "_", "-", "(", '"', "\n", "x", "foo", " ", " ", " ", " "),
]
PIECES = st.lists(st.sampled_from(VARYING), max_size=9).map("".join)


@given(st.text(max_size=60) | st.text("0123456789abcdef:-./TZ Julpid\n", max_size=60) | PIECES)
def test_normalizing_is_total_and_settles(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once or "\0" in text
    assert (once == "") == (text == "")


@given(st.text(max_size=40), st.text(min_size=1, max_size=12).filter(lambda name: name.strip() == name))
def test_a_name_touches_itself_alone_and_between_blanks(text: str, name: str) -> None:
    here = home("/repo")
    touches(text, [name], here)
    if name.isalnum():
        assert touches(f"{text} {name} {text}", [name], here)
        assert not touches(f"x{name}", [name], here)
        assert not touches(f"{name}x", [name], here)
