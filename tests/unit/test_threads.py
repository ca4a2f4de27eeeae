"""One engine serves many threads: the verdicts are those that it gives alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import callgate
from callgate import Verdict

RULES = """
family kimi matches "(?i)kimi"
tool edit, "edit_*" {
  alias /path from file_path, filePath
  filesystem-path /path
  anchor-bleed /path for kimi
  scalar /limit as number
  deny "not there" when /path starts-with "/etc"
  ask "many" when /limit > 100
}
tool "*" { alias /a from b; deny "no" when /a == "secret" and tool matches '7$' }
"""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer"},
        "labels": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["path"],
}
ARGUMENTS: list[Any] = [
    {"path": "/a"},
    {"file_path": "^/a$"},
    {"filePath": "/etc/passwd", "limit": "5"},
    {"path": "/a", "limit": "500"},
    {"path": "/a", "labels": '["x"]'},
    {"path": "/a", "labels": None},
    {"path": 5},
    '{"path": "/a"',
    "null",
    {"a": "secret"},
    {"b": "secret"},
    {"path": "[a](http://a)", "limit": 1.5},
    [],
]
CALLS, THREADS = 20_000, 8


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def verdicts(engine: callgate.Engine, numbers: range) -> list[dict[str, Any]]:
    """The verdicts on these calls; every tenth is on a tool that was never called before."""
    found = []
    for number in numbers:
        tool = f"edit_{number}" if number % 10 == 0 else "edit"
        schema = SCHEMA if number % 3 else {**SCHEMA, "maxProperties": number % 5 + 1}
        model = (None, "kimi-k2", "gpt")[number % 7 % 3]
        verdict = engine.check(
            tool, ARGUMENTS[number % len(ARGUMENTS)], model=model, schema=schema, context={"n": number}
        )
        assert isinstance(verdict, Verdict)
        found.append(verdict.as_dict())
    return found


@pytest.mark.usefixtures("quick_switches")
def test_eight_threads_get_the_verdicts_that_one_gets() -> None:
    # Kills: work that is kept in the plan in place of the call; a memo that another thread clears.
    shared = callgate.compile(RULES)
    step = CALLS // THREADS
    parts = [range(at, at + step) for at in range(0, CALLS, step)]
    with ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(lambda part: verdicts(shared, part), parts))
    for part, found in zip(parts, together, strict=True):
        assert found == verdicts(callgate.compile(RULES), part)


@pytest.mark.usefixtures("quick_switches")
def test_threads_that_build_the_same_plans_at_once_get_the_same_verdicts() -> None:
    # Kills: a plan that is put in its place before it is complete.
    for _ in range(8):
        shared = callgate.compile(RULES).with_tools(
            {"edit": SCHEMA, **{f"edit_{n}": SCHEMA for n in range(20)}}
        )

        def run(_: int, engine: callgate.Engine = shared) -> list[str]:
            return [
                engine.check(f"edit_{n % 20}", ARGUMENTS[n % len(ARGUMENTS)], model="kimi-k2").outcome.value
                for n in range(60)
            ]

        with ThreadPoolExecutor(THREADS) as pool:
            first, *others = pool.map(run, range(THREADS))
        assert all(other == first for other in others)
        assert set(first) >= {"valid", "repaired", "denied", "asked", "unrepairable"}
