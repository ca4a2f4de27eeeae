"""The command line as a process: pipes, closed and full streams, signals, and what a start loads."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import callgate

COMMAND = [sys.executable, "-m", "callgate"]
CALL = b'{"id":"a","tool":"edit","arguments":{"file_path":"/repo/x"}}\n'


@pytest.fixture
def rules(tmp_path: Path) -> str:
    path = tmp_path / "rules.gate"
    path.write_text("tool edit {\n  alias /path from file_path\n}\n")
    return str(path)


def shell(script: str, *arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a script in which `callgate` is the command and `$1`, `$2` … are the arguments."""
    head = 'callgate() { "$PYTHON" -m callgate "$@"; }\n'
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.run(
        ["bash", "-c", head + script, "bash", *arguments],
        capture_output=True,
        env=environment,
        timeout=60,
        **more,
    )


def test_run_writes_verdicts_to_output_and_the_summary_to_error(rules: str) -> None:
    done = subprocess.run([*COMMAND, "run", rules], input=CALL * 2, capture_output=True, timeout=60)
    assert done.returncode == 0
    assert [json.loads(line)["outcome"] for line in done.stdout.splitlines()] == ["repaired"] * 2
    assert done.stderr.startswith(b"2 calls: 2 repaired\n")


def test_a_reader_on_a_pipe_has_each_verdict_before_the_next_call(rules: str) -> None:
    with subprocess.Popen([*COMMAND, "run", rules], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(CALL)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == "a"
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_reader_that_goes_ends_the_run_in_silence(rules: str, tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    calls.write_bytes(CALL * 5000)
    done = shell('callgate run "$1" < "$2" | head -n 1; echo "${PIPESTATUS[0]}"', rules, str(calls))
    assert done.stderr == b""
    first, status = done.stdout.splitlines()
    assert json.loads(first)["outcome"] == "repaired"
    assert status == b"1"
    for command in ("--help", "explain"):
        done = shell(f"callgate {command} | true")
        assert done.stderr == b""


def test_closed_and_full_streams_are_named(rules: str) -> None:
    done = shell('callgate run "$1" <&-', rules)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"callgate: standard input is closed, and calls are read from it\n"
    done = shell('echo "$2" | callgate run "$1" >&-', rules, CALL.decode())
    assert (done.returncode, done.stderr) == (2, b"callgate: standard output is closed\n")
    done = shell('echo "$2" | callgate run "$1" > /dev/full', rules, CALL.decode())
    assert done.returncode == 2
    assert done.stderr == b"callgate: standard output: No space left on device\n"
    done = shell("callgate --help > /dev/full")
    assert (done.returncode, done.stderr) == (2, b"callgate: standard output: No space left on device\n")


def test_what_is_said_on_a_closed_error_stream_does_not_land_among_the_verdicts(rules: str) -> None:
    done = shell('echo "$2" | callgate run "$1" 2>&-', rules, CALL.decode())
    assert done.returncode == 0
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["a"]


def test_an_interrupt_ends_with_130_and_what_was_judged_stands(rules: str) -> None:
    with subprocess.Popen(
        [*COMMAND, "run", rules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # it may be ignored here
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(CALL)
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == "a"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stdout.read() == b""
        said = process.stderr.read()
        assert said.startswith(b"1 call: 1 repaired\n")
        assert b"Traceback" not in said


def test_a_bar_is_drawn_on_a_terminal_and_leaves_the_verdicts_alone(rules: str, tmp_path: Path) -> None:
    calls, verdicts = tmp_path / "calls.jsonl", tmp_path / "verdicts.jsonl"
    calls.write_bytes(CALL * 50)
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    with calls.open("rb") as source, verdicts.open("wb") as target:
        done = subprocess.run(
            [*COMMAND, "run", rules], stdin=source, stdout=target, stderr=theirs, env=environment, timeout=60
        )
    os.close(theirs)
    shown = os.read(ours, 100_000)
    os.close(ours)
    assert done.returncode == 0
    assert b"\x1b[" in shown
    assert b" calls" in shown
    assert b"50 calls: 50 repaired" in shown
    assert len([json.loads(line) for line in verdicts.read_bytes().splitlines()]) == 50


@pytest.mark.parametrize(("colour", "escapes"), [({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)])
def test_diagnostics_have_colour_on_a_terminal_that_wants_it(
    tmp_path: Path, colour: dict[str, str], escapes: bool
) -> None:
    (tmp_path / "a.gate").write_text("famly x\n")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **colour}
    done = subprocess.run(
        [*COMMAND, "check", str(tmp_path / "a.gate")],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment,
        timeout=60,
    )
    os.close(theirs)
    shown = os.read(ours, 100_000)
    os.close(ours)
    assert done.returncode == 1
    assert b"error" in shown
    assert (b"\x1b[" in shown) is escapes


def loaded(*argv: str, stdin: bytes = b"") -> set[str]:
    """The modules that a command loads, beyond those of the package's facade."""
    script = (
        "import sys; import callgate; before = set(sys.modules)\n"
        "from callgate.engine.cli.main import main\n"
        "main(sys.argv[1:])\n"
        "print(*(set(sys.modules) - before), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *argv], input=stdin, capture_output=True, timeout=60, check=True
    )
    return set(done.stderr.decode().splitlines()[-1].split())


def test_a_start_loads_nothing_that_the_command_does_not_need(rules: str) -> None:
    heavy = {"rich", "lark", "cerberus", "yaml", "argparse"}
    assert not loaded("--help") & heavy
    assert not loaded("--version") & heavy
    assert loaded("explain", "G104") & heavy == {"argparse"}
    assert not loaded("run", rules, stdin=CALL) & {"rich", "yaml"}


def test_help_loads_no_more_than_the_commands_themselves() -> None:
    ours = {name for name in loaded("--help") if name.startswith("callgate.")}
    light = {"callgate.engine", "callgate.engine.version"}
    assert all(name in light or name.startswith("callgate.engine.cli") for name in ours)


def test_a_command_is_one_new_file(tmp_path: Path) -> None:
    package = tmp_path / "callgate"
    shutil.copytree(Path(callgate.__file__).parent, package)  # follows the links
    (package / "engine" / "cli" / "say_hello.py").write_text(
        'NAME = "say-hello"\nHELP = "greet"\n'
        "def add_arguments(parser): parser.add_argument('whom')\n"
        "def run(namespace): print('hello', namespace.whom); return 0\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = [sys.executable, "-m", "callgate"]
    done = subprocess.run(
        [*run, "say-hello", "you"], capture_output=True, env=environment, cwd=tmp_path, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, b"hello you\n")
    done = subprocess.run([*run, "--help"], capture_output=True, env=environment, cwd=tmp_path, timeout=60)
    assert b"  say-hello  greet\n" in done.stdout
