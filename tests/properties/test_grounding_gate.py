"""The loop of the earlier gate and a session come to the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import callgate
from callgate.engine.grounding import GateState, turn_loop
from callgate.engine.shell import mutates

RULES = "ground { reads read, grep, get; mutates edit, write, update; shell bash /command }"
ENGINE = callgate.compile(RULES)
CHANGES = ("edit", "write", "update")
FILES = st.sampled_from(["a.cfg", "b.cfg", "sub/a.cfg", "./a.cfg", "/repo/a.cfg", "ORD-7"])
PLACES = st.sampled_from([{}] * 4 + [{"ref": "HEAD~1"}, {"cwd": "sub"}, {"host": "x"}, {"branch": "b"}])
COMMANDS = st.sampled_from(
    [
        *("cat {}", "head -n 1 {} b.cfg", "grep -n x {}", "grep -rn x .", "cd sub && cat {}", "wc -l {}"),
        *("echo {}", "sed -i s/x=1/x=2/ {}", "echo x=2 > {}", "cat b.cfg | tee {}", "rm {}", "pytest -q"),
    ]
)
EDITED = {"old_string": "x=1", "new_string": "x=2"}
CALLS = st.one_of(
    st.builds(lambda file, more: ("read", {"path": file, **more}), FILES, PLACES),
    st.builds(lambda file, more: ("edit", {"path": file, **EDITED, **more}), FILES, PLACES),
    st.builds(lambda file, other: ("write", {"paths": [file, other]}), FILES, FILES),
    st.builds(lambda file: ("grep", {"pattern": "x", "path": file}), FILES | st.just(".")),
    st.builds(
        lambda text, file, more: ("bash", {"command": text.format(file), **more}), COMMANDS, FILES, PLACES
    ),
    st.sampled_from(
        [("update", {"id": "ORD-7"}), ("get", {"id": "ORD-7"}), ("get", {"id": "ORD-7", "n": 1})]
    ),
)
TEXTS = st.sampled_from(["x=2", "x=1", "ok", "", "Error: x", "a.cfg:1:x=2", "1\tx=2", "Exit code: 1\nx=2"])
RESULTS = st.one_of(
    TEXTS,
    st.builds(lambda text: {"content": text}, TEXTS),
    st.builds(lambda text, code: {"output": text, "exit_code": code}, TEXTS, st.sampled_from([0, 0, 1])),
    st.sampled_from([{"id": "ORD-7", "status": "cancelled"}, {"id": "ORD-7", "status": "open"}]),
)
STEPS = st.lists(st.tuples(CALLS, RESULTS, st.sampled_from([True] * 5 + [False])), max_size=6)
CLAIMS = st.sampled_from(["completion", "assertion", "none"])


@given(STEPS, st.sets(FILES, max_size=2), CLAIMS)
def test_the_earlier_loop_agrees_with_a_session(steps: list[Any], surface: set[str], claim: str) -> None:
    session = ENGINE.session(claim_surface=surface, context={"cwd": "/repo"})
    session.user()
    script: list[dict[str, Any]] = []
    for (tool, args), result, ok in steps:
        session.call(tool, args, call_id=str(len(script)))
        session.result(str(len(script)), result, ok=ok)
        changes = mutates(args["command"]) if tool == "bash" else tool in CHANGES
        step = {"tool": tool, "args": args, "result": result, "exit_ok": ok, "mutating": changes}
        script.append({"type": "tool_call", **step})
    state = GateState(claim_surface=surface, cwd="/repo")
    terminal = {"type": "terminal", "attempt": {"claim_type": claim, "content": "done"}}
    accepted = turn_loop([*script, terminal], state)[0] is not None
    now = session.progress()
    assert (state.budget, state.grounded_this_turn, state.verified_this_turn) == (
        now.budget,
        now.grounded,
        now.verified,
    )
    assert accepted is session.finish(claim).accepted
