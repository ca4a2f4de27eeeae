"""A session under a small `ground` block, whose calls have their results at once."""

from __future__ import annotations

from itertools import count
from typing import Any

import callgate

RULES = """
ground {
  reads   read, grep, ls
  mutates edit, write
  shell   bash /command
  exempt  poll
  reads   poll
  normalize read 'build [0-9]+' to "build"
  signal  passed from bash when runs(/command, "pytest") and result.exit_code == 0
  require passed before completion when context.tests
  surface /about
}
"""
TOOLS: list[dict[str, Any]] = [
    {
        "name": name,
        "input_schema": {
            "type": "object",
            "properties": {"path": {}, "about": {}, "command": {}, "pattern": {}},
        },
    }
    for name in ("read", "grep", "ls", "edit", "write", "bash", "poll", "other")
] + [{"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]


class Turn:
    """A session whose calls have their results at once."""

    def __init__(self, rules: str = RULES, *, tools: Any = TOOLS, **options: Any) -> None:
        options.setdefault("claim_surface", ["a.cfg"])
        options.setdefault("context", {"cwd": "/repo", "tests": False})
        self.session = callgate.compile(rules, tools=tools).session(**options)
        self.session.user()
        self.ids = count()

    def call(self, tool: str, arguments: Any, result: Any = "text", *, ok: bool = True) -> None:
        call_id = str(next(self.ids))
        assert self.session.call(tool, arguments, call_id=call_id).allowed
        self.session.result(call_id, result, ok=ok)

    def read(self, path: str = "a.cfg", result: Any = "timeout=10", *, ok: bool = True) -> None:
        self.call("read", {"path": path}, result, ok=ok)

    def accepts(self, claim: str) -> bool:
        return self.session.finish(claim, "done").accepted

    @property
    def now(self) -> Any:
        return self.session.progress()
