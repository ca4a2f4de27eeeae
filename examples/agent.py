"""An agent's loop with a gate in front of its claims: nobody says "done" without having looked.

Run it in this folder: `python agent.py`. The model and the tools are played; the session is kept in a file.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import callgate
from callgate.engine.stores import open_store

HERE = Path(__file__).parent
FILES = {"a.cfg": "timeout=10\n"}
# What the model answers, one after the other: calls, or a claim.
ANSWERS: list[tuple[str, Any]] = [
    ("edit", {"path": "a.cfg", "old_string": "timeout=10", "new_string": "timeout=30"}),
    ("claim", "The timeout is 30 now, and the tests pass."),
    ("bash", {"command": "pytest -q"}),
    ("read", {"path": "a.cfg"}),
    ("claim", "The timeout is 30 now, and the tests pass."),
]


def run(tool: str, arguments: dict[str, Any]) -> Any:
    """The tools of the agent."""
    if tool == "read":
        return FILES[arguments["path"]]
    if tool == "edit":
        text = FILES[arguments["path"]]
        FILES[arguments["path"]] = text.replace(arguments["old_string"], arguments["new_string"])
        return "ok"
    return {"exit_code": 0, "stdout": "3 passed"}


def main() -> None:
    engine = callgate.compile((HERE / "agent.gate").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/sessions.db")
        session = engine.session("chat-1", store=store)
        session.user("make the timeout 30")
        for number, (what, given) in enumerate(ANSWERS):
            if what == "claim":
                decision = session.finish("completion", given)
                print(
                    "let out:" if decision.accepted else "kept in:",
                    given if decision.accepted else decision.message,
                )
                continue
            verdict = session.call(what, given, call_id=str(number))
            if verdict.allowed:
                result = run(verdict.tool, verdict.arguments)
                session.result(str(number), result)
            print("called:", verdict.tool, "- still owed:", ", ".join(session.progress().owed) or "nothing")
        store.close()


if __name__ == "__main__":
    main()
