"""Check calls inside a program: one engine, one verdict for each call.

Run it in this folder: `python embed.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import callgate

HERE = Path(__file__).parent


def main() -> None:
    tools = json.loads((HERE / "tools.json").read_text("utf-8"))
    engine = callgate.compile((HERE / "rules.gate").read_text("utf-8"), tools=tools, folder=HERE)
    verdict = engine.check("edit", {"file_path": "/repo/a.py", "old_string": "x", "new_string": "y"})
    print(verdict.outcome.value, json.dumps(verdict.arguments))
    for change in verdict.changes:
        print("-", change.note)

    try:
        engine.check("read", {"path": "/etc/passwd"}).raise_for_outcome()
    except callgate.Denied as error:
        print(error)


if __name__ == "__main__":
    main()
