"""What a check costs, as ratios of CPU time measured in turn in one run. Exit status 1: a goal is missed.

    python benchmarks/check.py [--rounds N]

The goals: a valid small call (4 fields, 5 rules) at most 6 times a bare `is_valid` of jsonschema-rs;
rules for 1,002 tools at most 1.10 times rules for one; one alias repair at most 8 times a valid call;
a valid call with a text of 200 kB that no rule reads at most 1.5 times a small one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import jsonschema_rs

import callgate

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "content": {"type": "string"},
        "mode": {"enum": ["create", "append", "replace"]},
        "limit": {"type": "integer", "minimum": 0},
    },
    "required": ["path", "content"],
}
RULES = """
tool %s {
  alias /path from file_path, filePath, filename accepting string
  alias /content from text, body accepting string
  filesystem-path /path
  scalar /limit as number
  deny "not under /etc" when /path starts-with "/etc"
}
"""
CALL = {"path": "/repo/src/a.py", "content": "print('hello')\n", "mode": "create", "limit": 10}
ALIASED = {"file_path": "/repo/src/a.py", "content": "print('hello')\n", "mode": "create", "limit": 10}
LARGE = {**CALL, "content": ("print('hello')\n" * 14_000)[:200_000]}
LOOPS = 2_000


def engine(tools: int) -> callgate.Engine:
    """An engine with the five rules for each of so many tools, every one of them compiled."""
    names = ["write", *(f"tool_{n}" for n in range(tools - 1))]
    made = callgate.compile("".join(RULES % name for name in names), tools=dict.fromkeys(names, SCHEMA))
    for name in names:
        made.check(name, CALL)
    return made


def cpu(run: Callable[[], object]) -> float:
    """CPU seconds of one batch."""
    start = time.process_time()
    for _ in range(LOOPS):
        run()
    return time.process_time() - start


def main() -> int:
    """Measure, print a line per goal, say whether all are met."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--rounds", type=int, default=60, help="batches of each, in turn")
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore")
    one, many = engine(1), engine(1002)
    is_valid = jsonschema_rs.Draft202012Validator(SCHEMA).is_valid
    assert one.check("write", CALL).outcome == "valid"
    assert one.check("write", LARGE).outcome == "valid"
    assert one.check("write", ALIASED).outcome == "repaired"
    batches: dict[str, Callable[[], object]] = {
        "is_valid": lambda: is_valid(CALL),
        "small": lambda: one.check("write", CALL),
        "many tools": lambda: many.check("write", CALL),
        "alias": lambda: one.check("write", ALIASED),
        "200 kB": lambda: one.check("write", LARGE),
    }
    for run in batches.values():
        cpu(run)
    times: dict[str, list[float]] = {name: [] for name in batches}
    for _ in range(rounds):
        for name, run in batches.items():
            times[name].append(cpu(run))
    goals = (
        ("a valid small call / bare is_valid", "small", "is_valid", 6.0),
        ("rules for 1,002 tools / rules for one", "many tools", "small", 1.10),
        ("one alias repair / a valid call", "alias", "small", 8.0),
        ("a valid call with 200 kB / a small one", "200 kB", "small", 1.5),
    )
    met = True
    for text, above, below, goal in goals:
        ratio = statistics.median(a / b for a, b in zip(times[above], times[below], strict=True))
        met = met and ratio <= goal
        print(f"{text:42} {ratio:6.2f}   goal {goal:5.2f}   {'met' if ratio <= goal else 'MISSED'}")
    for name, found in times.items():
        print(f"  {name:12} {statistics.median(found) / LOOPS * 1e6:8.2f} microseconds, median of {rounds}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
