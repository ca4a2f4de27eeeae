"""What a reload costs after one block was edited, beside a load of everything.

    python benchmarks/reload.py [--lines N] [--files N] [--rounds N]

A deployment of 10,000 lines of rules, with their tests, in 40 files. `cold`: it is loaded by an engine that
has read nothing; `warm`: one block is edited, and the engine that has it loaded is told to reload. CPU time
of the process, in turns, medians. Exit status 1: the goal is missed, a fifteenth of `cold`. An edit costs its
file, so in one file (`--files 1`) it costs nearly everything; that is shown too, without a goal.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import callgate

GOAL = 15.0
BLOCK = """tool t{file}_{block} {{
  alias /path from file_path, filename
  alias /limit from max, count
  deny "no secrets" when /path under "/etc"
  ask "much" when /limit > {limit}

  test "other names {block}" {{
    call {{"file_path": "/a", "max": 5}}
    expect repaired {{"path": "/a", "limit": 5}}
  }}
}}

"""


def write(folder: Path, lines: int, files: int) -> Path:
    """A deployment of so many lines in so many files."""
    blocks = lines // files // BLOCK.count("\n")
    for file in range(files):
        text = "".join(BLOCK.format(file=file, block=block, limit=100 + block) for block in range(blocks))
        (folder / f"{file:03}.gate").write_text(text)
    path = folder / "deployment.yaml"
    path.write_text("default: allow\nrules: ['./*.gate']\nreload: {quiet-ms: 10}\n")
    return path


def cost(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def measure(lines: int, files: int, rounds: int) -> tuple[float, float]:
    """Median seconds of a cold load and of a warm reload."""
    with tempfile.TemporaryDirectory() as name:
        path = write(Path(name), lines, files)
        edited = Path(name) / f"{files // 2:03}.gate"
        text = edited.read_text()
        cold, warm = list[float](), list[float]()
        callgate.load(path)
        with callgate.load(path) as engine:
            for number in range(rounds):
                cold.append(cost(lambda: callgate.load(path)))
                edited.write_text(text.replace("/limit > 100", f"/limit > {200 + number}", 1))
                warm.append(cost(engine.reload))
                if engine.status.error is not None:
                    raise SystemExit(engine.status.error)
        return statistics.median(cold), statistics.median(warm)


def main() -> int:
    """Measure, print a line for each shape, say whether the goal is met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    missed = False
    print(f"{'files':>6} {'cold':>10} {'warm':>10} {'cold/warm':>10}")
    for files in dict.fromkeys((given.files, 1)):
        cold, warm = measure(given.lines, files, given.rounds)
        wrong = files == given.files and cold / warm < GOAL
        missed = missed or wrong
        goal = "" if files != given.files else "MISSED" if wrong else "met"
        print(f"{files:>6} {cold * 1e3:>8.0f}ms {warm * 1e3:>8.0f}ms {cold / warm:>10.1f}   {goal}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
