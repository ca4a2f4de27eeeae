"""`cases/palettes.jsonl`: what turns offer and force, through rule texts, host stages and sessions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.offer import Asked, Stage

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "palettes.jsonl").read_text("utf-8").splitlines()
]


def rules(given: dict[str, Any]) -> str:
    """The stages and forces of a case as palette blocks."""
    lines = []
    for stage in given["stages"]:
        if stage["op"] == "abstain" or stage.get("fails") or not stage["tools"]:
            continue
        word = "offer" if stage["op"] == "allow" else "exclude"
        names = ", ".join(json.dumps(name) for name in stage["tools"])
        hard = "" if stage["protects_forced"] else " hard"
        lines.append(f"palette {stage['name']} {{ {word} {names}{hard} }}")
    forced = given.get("force") or []
    for index, name in enumerate([forced] if isinstance(forced, str) else forced):
        until = " until success" if given.get("release_on") == "success" else ""
        most = f" at most {given['max_forced']}" if "max_forced" in given else ""
        soft = " soft" if given.get("mode") == "soft" else ""
        # With a condition, for what always contradicts itself is refused at load.
        lines.append(f"palette force{index} {{ force {name}{until}{most}{soft} when turn.step > 0 }}")
    return "\n".join(lines)


def stages(given: dict[str, Any]) -> list[Stage]:
    """The stages of a case that only a host can be: without an opinion, empty, or raising."""

    def stage(each: dict[str, Any]) -> Stage:
        def choose(_names: tuple[str, ...], _asked: Asked) -> Iterable[str] | None:
            if each.get("fails"):
                raise RuntimeError("the router is away")
            return None if each["op"] == "abstain" else each["tools"]

        return Stage(each["name"], choose, hard=not each["protects_forced"])

    hosted = (each for each in given["stages"] if not rules({"stages": [each]}))
    return [stage(each) for each in hosted]


def started(given: dict[str, Any], tools: list[dict[str, Any]]) -> callgate.Session:
    return callgate.compile(rules(given), tools=tools).session(stages=stages(given))


def replay(session: callgate.Session, history: list[dict[str, Any]]) -> None:
    for step in history:
        if step["role"] == "user":
            session.user()
        elif step["role"] == "assistant":
            with suppress(callgate.ContractViolation):  # the filters of a case came after its history
                session.offer()
            for call in step["calls"]:
                session.call(call.get("original", call["name"]), {}, call_id=call["id"])
        else:
            session.result(step["id"], "done", ok=step.get("status") != "error")


@pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    given, expect = case["input"], case["expect"]
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in given["registered"]]
    provider = "ollama.native" if given.get("provider_supports_forced") is False else None
    if "refuse" in expect:
        with pytest.raises(callgate.ContractViolation) as caught:
            started(given, tools).offer(provider=provider)
        assert caught.value.code == expect["refuse"]
        return
    session = started(given, tools)
    replay(session, given.get("history", []))
    palette = session.offer(provider=provider)
    names = None if palette.names is None else list(palette.names)
    assert (names, palette.forced) == (expect["names"], expect["forced"])
    events = [str(each) for each in palette.events]
    # A case without events has none, but that a name which nobody registered is always reported.
    assert events == expect.get("events", [each for each in events if each.startswith("unknown_name:")])
