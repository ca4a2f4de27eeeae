"""What a start costs: whole processes, against a hello-world of typer and of click.

    python benchmarks/start.py [--rounds N] [--python PATH]

CPU time (user and system) of the children, each command in turn in every round, medians, and ratios of
the medians. `typer` and `click` are not needed by callgate; one that is not installed is skipped.
`--python` measures callgate in an environment of its own, as a user has it: other packages beside it cost a
start something too.
`first`: the rules are compiled, their tests run, and the result is kept. `again`: it is kept already.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

TYPER = """
import typer

app = typer.Typer()


@app.command()
def hello(name: str = "world") -> None:
    print(f"hello {name}")


app()
"""
CLICK = """
import click


@click.command()
@click.option("--name", default="world")
def hello(name: str) -> None:
    print(f"hello {name}")


hello()
"""
FIRST, AGAIN = "callgate run, first", "callgate run, again"
OTHERS = {"typer": TYPER, "click": CLICK}
RULES = "tool read {\n  alias /path from file_path\n}\n"
CALL = b'{"id": "1", "tool": "read", "arguments": {"file_path": "/repo/a.py"}}\n'


def cpu(command: list[str], text: bytes, kept: Path) -> float:
    """CPU seconds of one process from its start to its end, with compiled rules kept in a folder.

    Raises:
        SystemExit: it failed, and what it cost means nothing.
    """
    before = _children()
    environment = {**os.environ, "XDG_CACHE_HOME": str(kept)}
    # Without these a start is another one than what a user has: no bytecode, nothing kept.
    for name in ("PYTHONDONTWRITEBYTECODE", "CALLGATE_CACHE"):
        environment.pop(name, None)
    done = subprocess.run(command, input=text, capture_output=True, check=False, env=environment)
    spent = _children() - before
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr.decode()}")
    return spent


def _children() -> float:
    """CPU seconds of all children that have ended; finer than the ticks of `os.times`."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def commands(folder: Path, python: str) -> dict[str, tuple[list[str], bytes]]:
    """What is measured, by its name: the command and its standard input. `python`: what has callgate."""
    rules = folder / "read.gate"
    rules.write_text(RULES, "utf-8")
    run = ([python, "-m", "callgate", "run", str(rules)], CALL)
    found = {
        "python -c pass": ([python, "-c", "pass"], b""),
        "callgate --help": ([python, "-m", "callgate", "--help"], b""),
        FIRST: run,
        AGAIN: run,
    }
    for name, text in OTHERS.items():
        if find_spec(name) is None:
            print(f"{name} is not installed, so it is left out: `pip install {name}` to compare with it")
            continue
        script = folder / f"hello_{name}.py"
        script.write_text(text, "utf-8")
        found[f"{name} --help"] = ([sys.executable, str(script), "--help"], b"")
        found[f"{name} hello"] = ([sys.executable, str(script)], b"")
    return found


def main() -> int:
    """Measure and print. Exit status 0."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--rounds", type=int, default=15, help="starts of each, in turn")
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter that has callgate, if not this one"
    )
    options = parser.parse_args()
    rounds = max(1, options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        measured = commands(Path(folder), options.python)
        times: dict[str, list[float]] = {name: [] for name in measured}
        for round_ in range(rounds + 1):
            for name, (command, text) in measured.items():
                kept = Path(folder) / "kept"
                if name == FIRST:
                    shutil.rmtree(kept, ignore_errors=True)
                spent = cpu(command, text, kept)
                if name == AGAIN and not list(kept.glob("callgate/*.rules")):
                    sys.exit("no rules were kept, so this measures something else")
                if round_:  # the first one fills caches and writes bytecode
                    times[name].append(spent)
    median = {name: statistics.median(found) for name, found in times.items()}
    for name, seconds in median.items():
        print(f"{name:20} {seconds * 1000:7.1f} ms of CPU, median of {rounds}")
    for ours, theirs in (("callgate --help", "--help"), (FIRST, "hello"), (AGAIN, "hello")):
        for other in OTHERS:
            if f"{other} {theirs}" in median:
                print(f"{ours} / {other} {theirs}: {median[ours] / median[f'{other} {theirs}']:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
