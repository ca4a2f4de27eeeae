"""The file of the decision log: crashes, faults of the disk, rotation, several processes."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.decided import Decided, decided
from callgate.engine.log import DecisionLog, LogSettings, read_log
from callgate.engine.logfile import Fault, FileSink, OutputSink

ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX")


def seen(call: str | None = None, arguments: Any = None) -> Decided:
    arguments = {"a": 1} if arguments is None else arguments
    verdict = callgate.compile("").check("t", arguments)
    return decided(verdict, sent="t", before=arguments, micros=1.0, call_id=call)


def calls(*paths: Path) -> list[str]:
    """The call ids in these files."""
    return [line["call"] for path in paths if path.exists() for _, line in read_log(str(path))]


def program(text: str, *arguments: object) -> subprocess.Popen[str]:
    """A process with `log` at the first argument, `seen(id)` and `put` at hand."""
    head = """
        import os, sys, time
        import callgate
        from callgate.engine.decided import decided
        from callgate.engine.log import DecisionLog, LogSettings

        engine = callgate.compile("")

        def seen(call):
            return decided(engine.check("t", {"a": 1}), sent="t", before={"a": 1}, micros=1.0, call_id=call)
    """
    source = textwrap.dedent(head) + textwrap.dedent(text)
    return subprocess.Popen(
        [sys.executable, "-c", source, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    return out


def test_lines_are_appended_to_a_file_that_only_its_owner_may_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for n in ("1", "2"):
        log = DecisionLog(LogSettings(str(path)))
        log.put(seen(n))
        assert log.close()
    assert calls(path) == ["1", "2"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 or sys.platform == "win32"


@posix
def test_kill_9_in_the_middle_of_writing_leaves_a_file_whose_lines_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    whole = 0
    for wait in (0.3, 0.45, 0.6):
        process = program(
            """
            log = DecisionLog(LogSettings(sys.argv[1], values=True))
            call = seen("x" * 200)
            while True:
                log.put(call)
            """,
            path,
        )
        until = time.monotonic() + 30
        size = path.stat().st_size if path.exists() else 0
        while (not path.exists() or path.stat().st_size == size) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        reader = read_log(str(path))
        found = len(list(reader))
        assert found > whole
        assert reader.skipped <= 1
        whole = found
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[: -reader.skipped or None]))


def test_a_torn_last_line_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = DecisionLog(LogSettings(str(path)))
    for n in ("1", "2"):
        log.put(seen(n))
    assert log.close()
    path.write_bytes(path.read_bytes()[:-30])
    log = DecisionLog(LogSettings(str(path)))
    log.put(seen("3"))
    assert log.close()
    reader = read_log(str(path))
    assert [(number, line["call"]) for number, line in reader] == [(1, "1"), (3, "3")]
    assert (reader.skipped, reader.skipped_lines) == (1, (2,))


def test_a_reader_skips_and_counts_what_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        b'{"outcome": "valid"}\n\n[1]\n\xff\xfe\n{"outcome": \n'
        b'{"log": "lost", "count": 7}\n{"outcome": "valid", "x": "\\ud800"}\n{"outcome": "denied"}'
    )
    reader = read_log(str(path))
    for _ in range(2):
        assert [number for number, _ in reader] == [1, 7, 8]
        assert (reader.skipped, reader.skipped_lines, reader.lost) == (3, (3, 4, 5), 7)
    with pytest.raises(FileNotFoundError):
        list(read_log(str(tmp_path / "none")))


def unwritable(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A path that cannot be written, for a reason."""
    path = folder / "log.jsonl"
    match kind:
        case "no folder":
            return folder / "none" / "log.jsonl"
        case "folder":
            path.mkdir()
        case "link":
            (folder / "target").touch()
            path.symlink_to(folder / "target")
        case "pipe":
            os.mkfifo(path)
        case "read-only":
            if os.geteuid() == 0:
                refuse(monkeypatch, errno.EACCES)
            folder.chmod(0o500)
    return path


def refuse(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fails(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("callgate.engine.logfile.os.open", fails)


@posix
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("no folder", "there is no folder"),
        ("folder", "it is a folder"),
        ("link", "it is a symbolic link"),
        ("pipe", "it is no regular file"),
        ("read-only", "give this process the right to write it"),
    ],
)
def test_a_file_that_cannot_be_written_stops_nothing_and_is_counted_and_reported(
    kind: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    path = unwritable(kind, folder, monkeypatch)
    log = DecisionLog(LogSettings(str(path)))
    for n in range(1000):
        log.put(seen(str(n)))
    assert log.flush()
    counts = log.counts
    assert (counts.written, counts.dropped, counts.failed) == (0, 0, 1000)
    assert counts.error is not None
    assert counts.error.startswith(f"{path}: ")
    assert words in counts.error
    assert counts.since is not None
    assert log.close()
    assert len(caplog.records) == 1
    folder.chmod(0o700)


def test_when_it_can_be_written_again_the_log_says_what_it_lacks(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    log = DecisionLog(LogSettings(str(folder / "log.jsonl")))
    for n in range(5):
        log.put(seen(str(n)))
    assert log.flush()
    folder.mkdir()
    until = time.monotonic() + 10  # it is tried again, though nothing more is put
    while log.counts.since is not None and time.monotonic() < until:
        time.sleep(0.02)
    log.put(seen("6"))
    assert log.close()
    first, second = (json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines())
    assert (first["log"], first["count"], second["call"]) == ("lost", 5, "6")
    assert "there is no folder" in first["error"]
    assert first["since"] <= first["time"] <= second["time"]
    reader = read_log(str(folder / "log.jsonl"))
    assert (len(list(reader)), reader.lost, reader.skipped) == (1, 5, 0)
    assert (log.counts.written, log.counts.failed) == (1, 5)


@posix
def test_a_full_disk_stops_no_call_and_what_it_took_can_be_read(tmp_path: Path) -> None:
    out = ended(
        program(
            """
            import resource, logging
            logging.getLogger("callgate").setLevel("ERROR")
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, -1))
            log = DecisionLog(LogSettings(sys.argv[1]))
            for n in range(1000):
                log.put(seen(str(n)))
            assert log.flush()
            counts = log.counts
            print(counts.written, counts.failed, counts.dropped, counts.error)
            resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
            log.put(seen("last"))
            assert log.close()
            """,
            tmp_path / "log.jsonl",
        )
    )
    written, failed, dropped, error = out.split(" ", 3)
    assert int(written) > 20
    assert (int(written) + int(failed), int(dropped)) == (1000, 0)
    assert "it may not grow larger" in error
    reader = read_log(str(tmp_path / "log.jsonl"))
    found = [line["call"] for _, line in reader]
    assert found == [*map(str, range(int(written))), "last"]
    assert (reader.skipped, reader.lost) == (1, int(failed))  # the line that the limit cut


def test_a_disk_that_takes_half_a_line_and_then_the_rest_has_every_line_once_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, turns = os.write, []

    def stutters(file: int, data: Any) -> int:
        turns.append(len(data))
        if len(turns) == 2:
            raise OSError(errno.ENOSPC, "full")
        return write(file, data[:70]) if len(turns) == 1 else write(file, data)

    monkeypatch.setattr("callgate.engine.logfile.os.write", stutters)
    sink = FileSink(str(tmp_path / "log.jsonl"), None, 0)
    lines = [b'{"outcome":"valid","call":"%d"}\n' % n for n in range(5)]
    assert sink.write(lines) is None
    sink.close()
    reader = read_log(str(tmp_path / "log.jsonl"))
    assert [line["call"] for _, line in reader] == list("01234")
    assert reader.skipped == 1


def test_a_file_that_is_moved_away_is_followed_by_a_new_one(tmp_path: Path) -> None:
    path, old = tmp_path / "log.jsonl", tmp_path / "old"
    log = DecisionLog(LogSettings(str(path)))
    log.put(seen("1"))
    assert log.flush()
    path.rename(old)
    log.put(seen("2"))
    assert log.flush()
    path.unlink()
    log.put(seen("3"))
    assert log.close()
    assert (calls(old), calls(path)) == (["1"], ["3"])


def test_a_file_that_is_large_enough_is_followed_by_a_new_one_and_so_many_old_ones_are_kept(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.jsonl"
    log = DecisionLog(LogSettings(str(path), max_bytes=1024, keep=2))
    for n in range(40):
        log.put(seen(str(n)))
        assert log.flush()
    assert log.close()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["log.jsonl", "log.jsonl.1", "log.jsonl.2"]
    assert all(each.stat().st_size <= 1024 for each in tmp_path.iterdir())
    found = calls(tmp_path / "log.jsonl.2", tmp_path / "log.jsonl.1", path)
    assert found == [str(n) for n in range(40 - len(found), 40)]
    assert len(found) > 6


def test_a_log_that_cannot_be_rotated_grows_on_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("callgate.engine.logfile.os.replace", fails)
    log = DecisionLog(LogSettings(str(tmp_path / "log.jsonl"), max_bytes=1024))
    for n in range(20):
        log.put(seen(str(n)))
        assert log.flush()
    assert log.counts.written == 20
    assert "cannot be rotated" in (log.counts.error or "")
    assert log.counts.since is None
    assert log.close()
    assert len(calls(tmp_path / "log.jsonl")) == 20


def test_two_processes_that_rotate_one_file_lose_and_tear_no_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    text = """
        log = DecisionLog(LogSettings(sys.argv[1], max_bytes=20_000, keep=1000))
        for n in range(3000):
            log.put(seen(f"{sys.argv[2]}-{n}"))
            if n % 20 == 0:
                assert log.flush()
        assert log.close()
        assert log.counts.written == 3000, log.counts
    """
    both = [program(text, path, name) for name in ("one", "two")]
    for each in both:
        ended(each)
    files = list(tmp_path.iterdir())
    assert len(files) > 20
    assert sorted(calls(*files)) == sorted(f"{name}-{n}" for name in ("one", "two") for n in range(3000))
    assert all(each.stat().st_size <= 20_000 for each in files)


@posix
def test_a_process_that_is_stopped_with_the_file_in_its_hands_stops_no_other(tmp_path: Path) -> None:
    import fcntl

    path = tmp_path / "log.jsonl"
    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        log = DecisionLog(LogSettings(str(path)))
        log.put(seen("1"))
        assert log.flush(10)
        assert calls(path) == ["1"]
        assert log.close()


@posix
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_both_sides_of_a_fork_go_on_and_every_line_is_there_once(tmp_path: Path) -> None:
    out = ended(
        program(
            """
            log = DecisionLog(LogSettings(sys.argv[1]))
            log.put(seen("before"))
            log.flush()
            for n in range(200):
                log.put(seen(f"waits-{n}"))
            child = os.fork()
            for n in range(200):
                log.put(seen(f"{'parent' if child else 'child'}-{n}"))
            if child:
                assert os.waitpid(child, 0)[1] == 0
                assert log.flush()
                assert log.counts.written == 401, log.counts
            """,
            tmp_path / "log.jsonl",
        )
    )
    assert out == ""
    wanted = ["before", *(f"{who}-{n}" for who in ("waits", "parent", "child") for n in range(200))]
    assert sorted(calls(tmp_path / "log.jsonl")) == sorted(wanted)


def test_what_waits_is_written_when_the_process_ends(tmp_path: Path) -> None:
    ended(
        program(
            """
            log = DecisionLog(LogSettings(sys.argv[1]))
            for n in range(2000):
                log.put(seen(str(n)))
            """,
            tmp_path / "log.jsonl",
        )
    )
    assert calls(tmp_path / "log.jsonl") == [str(n) for n in range(2000)]


WORKER = """
import multiprocessing, sys
import callgate
from callgate.engine.decided import decided
from callgate.engine.log import DecisionLog, LogSettings

def work(path, log):
    verdict = callgate.compile("").check("t", {})
    log = log or DecisionLog(LogSettings(path))
    for n in range(500):
        log.put(decided(verdict, sent="t", before={}, micros=1.0, call_id=str(n)))

if __name__ == "__main__":
    path, method = sys.argv[1:]
    log = DecisionLog(LogSettings(path)) if method == "fork" else None
    process = multiprocessing.get_context(method).Process(target=work, args=(path, log))
    process.start()
    process.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_waits_is_written_when_a_worker_process_ends(tmp_path: Path, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method}")
    script, path = tmp_path / "worker.py", tmp_path / "log.jsonl"
    script.write_text(WORKER, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, script, path, method], env=environment, check=True, timeout=60)
    assert calls(path) == [str(n) for n in range(500)]


def test_standard_output_has_the_lines() -> None:
    text = """
        import io
        log = DecisionLog(LogSettings("-"))
        for n in range(300):
            log.put(seen(str(n)))
        log.flush()
        sys.stdout, kept = io.StringIO(), sys.stdout
        log.put(seen("replaced"))
        log.flush()
        sys.stdout, text = kept, sys.stdout.getvalue()
        assert "replaced" in text
    """
    lines = ended(program(text)).splitlines()
    assert [json.loads(line)["call"] for line in lines] == [str(n) for n in range(300)]


def test_standard_output_that_takes_half_a_line_gets_a_line_end_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, turns = os.write, []

    def stutters(file: int, data: Any) -> int:
        turns.append(len(data))
        if len(turns) == 2:
            raise BlockingIOError(errno.EAGAIN, "later")
        if len(turns) == 4:
            raise OSError(errno.EIO, "gone")
        return write(file, data[:40]) if len(turns) in (1, 3) else write(file, data)

    monkeypatch.setattr("callgate.engine.logfile.os.write", stutters)
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr("sys.stdout", out)
        sink = OutputSink()
        lines = [b'{"outcome":"valid","call":"%d"}\n' % n for n in range(3)]
        assert sink.write(lines) == Fault(1, "standard output: [Errno 5] gone")
        assert sink.write(lines) is None
    reader = read_log(str(tmp_path / "out"))
    assert [line["call"] for _, line in reader] == list("01012")
    assert reader.skipped == 1


@posix
def test_a_reader_that_went_away_stops_no_call() -> None:
    process = program(
        """
        import logging
        logging.getLogger("callgate").setLevel("CRITICAL")
        log = DecisionLog(LogSettings("stdout"))
        time.sleep(0.5)
        log.put(seen("1"))
        log.flush()
        assert log.counts.failed == 1, log.counts
        assert "Broken pipe" in log.counts.error
        os._exit(7)
        """
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(30) == 7


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = DecisionLog(LogSettings("log.jsonl"))
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    log.put(seen("1"))
    assert log.close()
    assert calls(tmp_path / "log.jsonl") == ["1"]
