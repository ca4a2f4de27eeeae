"""What a result costs: `session.result` beside `classify_observation` of grounding-gate.

    python benchmarks/grounding.py [--rounds N]

Both get the same reads of 200 bytes, 10 kB and 1 MB, each result another one, interleaved in one run; CPU
time, medians: of the times, and of the ratio in each round, where the machine is as fast for one as for the
other. The smallest size has eight times the rounds, which are short there. Exit status 1: a goal is missed.
The goals: at most a fifth of the time of grounding-gate at each size, and growth with the size that is linear
(from 10 kB to 1 MB at most 150 times). `log` is full of time stamps and identifiers, `code` has none, `json`
is the text of a value.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from operator import truediv
from typing import Any

import callgate

SIZES = (200, 10_000, 1_000_000)
TIMES, GROWTH = 0.2, 150.0
SHORT = 8  # times the rounds, at the smallest size
BATCH = 100  # results between two turns
RULES = "ground { reads read }"
UNITS = {
    "log": "2026-07-10T20:47:03Z INFO a.cfg retries=5 took 12 ms id deadbeef01\n",
    "code": "if x == 1:\n    print(foo.bar)\n",
    "json": '{"name": "a.cfg", "size": 12, "when": "2026-07-10"},',
}


def text_of(kind: str, size: int) -> str:
    unit = UNITS[kind]
    return (unit * (size // len(unit) + 1))[:size]


def ours(kind: str, size: int) -> Callable[[int], float]:
    """Gives the CPU seconds of so many results; the calls before them are not counted."""
    engine = callgate.compile(RULES, tools={"read": None})
    text = text_of(kind, size)
    session = engine.session(claim_surface=["a.cfg"], context={"cwd": "/repo"})
    seen = [0]

    def run(often: int) -> float:
        spent = 0.0
        for start in range(0, often, BATCH):
            session.user()
            results = []
            for _ in range(min(BATCH, often - start)):
                seen[0] += 1
                call_id = str(seen[0])
                session.call("read", {"path": "a.cfg"}, call_id=call_id)
                results.append((call_id, f"{seen[0]} {text}"))
            begun = time.process_time()
            for call_id, result in results:
                session.result(call_id, result)
            spent += time.process_time() - begun
        return spent

    return run


def theirs(kind: str, size: int) -> Callable[[int], float]:
    """The same for grounding-gate."""
    from grounding_gate import GateState, classify_observation

    text = text_of(kind, size)
    state: Any = GateState(budget=6, cap=6, refill=2, claim_surface={"a.cfg"})
    seen = [0]

    def run(often: int) -> float:
        results = []
        for _ in range(often):
            seen[0] += 1
            results.append(f"{seen[0]} {text}")
        begun = time.process_time()
        for result in results:
            state.current_step += 1
            classify_observation("read", {"path": "a.cfg"}, result, state, True)
        return time.process_time() - begun

    return run


def main() -> int:
    """Measure, print a line for each kind and size, say whether all goals are met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    peer = find_spec("grounding_gate") is not None
    if not peer:
        print("grounding_gate is not installed: not compared")
    missed = 0
    print(f"{'kind':6} {'size':>9} {'result':>12} {'of theirs':>10} {'growth':>8}")
    for kind in UNITS:
        before: float | None = None
        for size in SIZES:
            runs = [ours(kind, size)] + ([theirs(kind, size)] if peer else [])
            often = max(1, min(1_000, 2_000_000 // size))
            for run in runs:
                run(1)
            times: list[list[float]] = [[] for _ in runs]
            for _ in range(rounds * SHORT if size == SIZES[0] else rounds):
                for found, run in zip(times, runs, strict=True):
                    found.append(run(often) / often)
            medians = [statistics.median(found) for found in times]
            here = max(medians[0], 1e-9)
            share = statistics.median(map(truediv, *times)) if peer else None
            growth = here / before if before is not None and size == SIZES[2] else None
            wrong = (share is not None and share > TIMES) or (growth is not None and growth > GROWTH)
            missed += wrong
            print(
                f"{kind:6} {size:>9} {here * 1e6:>10.1f}us {'-' if share is None else f'{share:.3f}':>10}"
                f" {'-' if growth is None else f'{growth:.0f}':>8}   {'MISSED' if wrong else 'met'}"
            )
            before = here
    print(f"{missed} goals missed" if missed else "all goals met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
