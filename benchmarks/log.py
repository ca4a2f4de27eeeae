"""What the decision log adds to a check, measured in turn in one run. Exit status 1: a goal is missed.

    python benchmarks/log.py [--rounds N]

The goals, for a valid small call (4 fields, 5 rules) and a log to a file without values: at most 3
microseconds more on the thread that asks; with a text of 200 kB at most 30 more. Shown as well: what all
threads spend, and what the counters and a log with values add.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from check import CALL, LARGE
from check import engine as make

from callgate.engine.decided import decided
from callgate.engine.log import DecisionLog, LogSettings
from callgate.engine.metrics import Metrics

LOOPS = 1_000  # so many wait without waking the log's thread


def main() -> int:
    """Measure, print a line per goal, say whether all are met."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--rounds", type=int, default=40, help="batches of each, in turn")
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore")
    engine = make(1)
    assert engine.check("write", CALL).outcome == "valid"
    metrics = Metrics()
    clock = time.perf_counter_ns
    with tempfile.TemporaryDirectory() as folder:
        off = DecisionLog(LogSettings(str(Path(folder) / "off.jsonl"), max_bytes=1 << 24))
        values = DecisionLog(LogSettings(str(Path(folder) / "values.jsonl"), values=True, max_bytes=1 << 24))

        def told(tell: Callable[[Any], None], call: dict[str, Any]) -> Callable[[], object]:
            def run() -> None:
                start = clock()
                verdict = engine.check("write", call)
                micros = (clock() - start) / 1000
                tell(decided(verdict, sent="write", before=call, micros=micros, session="s", call_id="c"))

            return run

        batches: dict[str, tuple[Callable[[], object], int]] = {
            "no log": (lambda: engine.check("write", CALL), LOOPS),
            "log": (told(off.put, CALL), LOOPS),
            "log, values": (told(values.put, CALL), LOOPS),
            "counters": (told(metrics.decided, CALL), LOOPS),
            "no log, 200 kB": (lambda: engine.check("write", LARGE), 200),
            "log, 200 kB": (told(off.put, LARGE), 200),
        }
        own: dict[str, list[float]] = {name: [] for name in batches}
        whole: dict[str, list[float]] = {name: [] for name in batches}
        for _ in range(rounds + 1):  # the first only warms up
            for name, (run, loops) in batches.items():
                start, all_start = time.thread_time(), time.process_time()
                for _ in range(loops):
                    run()
                own[name].append((time.thread_time() - start) / loops * 1e6)
                assert off.flush(30)
                assert values.flush(30)
                whole[name].append((time.process_time() - all_start) / loops * 1e6)
        for log in (off, values):
            assert log.counts.dropped == log.counts.failed == 0, log.counts
            log.close()
    middle = {name: statistics.median(found[1:]) for name, found in own.items()}
    spent = {name: statistics.median(found[1:]) for name, found in whole.items()}
    goals = (
        ("a small call: more with a log, microseconds", "log", "no log", 3.0),
        ("200 kB: more with a log, microseconds", "log, 200 kB", "no log, 200 kB", 30.0),
    )
    met = True
    for text, above, below, goal in goals:
        more = middle[above] - middle[below]
        met = met and more <= goal
        print(f"{text:46} {more:6.2f}   goal {goal:5.2f}   {'met' if more <= goal else 'MISSED'}")
    print("  microseconds a call, median:  the asking thread   all threads   times a check without a log")
    for name, found in middle.items():
        bare = middle["no log, 200 kB" if "200" in name else "no log"]
        print(f"  {name:28} {found:18.2f} {spent[name]:13.2f} {found / bare:12.2f}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
