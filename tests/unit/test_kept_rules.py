"""Compiled rules that `callgate run` keeps on disk: what a run says is the same with them and without."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
from binascii import crc32
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.cli import _kept, _pickled, _ready
from callgate.engine.cli.main import main
from callgate.rules import catalog
from callgate.rules.kind import Kind

ROOT = Path(__file__).resolve().parents[2]
RULES = "tool edit {\n  alias /path from file_path\n}\n"
CALLS = [
    {"tool": "edit", "arguments": {"file_path": "/repo/x"}},
    {"tool": "edit", "arguments": {"path": "/etc", "edits": "[1]", "a": "1"}, "model": "moonshotai/kimi-k2"},
    {"tool": "bash", "arguments_text": '{"command": "rm -rf /repo/bui'},
    {"tool": "nope", "arguments": {}},
]
INPUT = b"".join(json.dumps(each).encode() + b"\n" for each in CALLS)
Said = tuple[int, bytes, bytes]
Run = Callable[..., tuple[Said, bool]]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the entries, not made yet."""
    above = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(above))
    monkeypatch.delenv("CALLGATE_CACHE")
    return above / "callgate"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run with these arguments: exit status, output and error, and were rules compiled for it?"""
    compiled: list[None] = []
    really = _ready._compiled

    def count(*arguments: Any) -> Any:
        compiled.append(None)
        return really(*arguments)

    def go(*arguments: object) -> tuple[Said, bool]:
        compiled.clear()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(INPUT)))
        status = main(["run", *map(str, arguments)])
        return (status, *capfdbinary.readouterr()), bool(compiled)

    monkeypatch.setattr(_ready, "_compiled", count)
    return go


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.gate"
    path.write_text(RULES)
    return path


def entry(cache: Path) -> Path:
    (path,) = cache.iterdir()
    return path


EXAMPLES = sorted((ROOT / "examples").glob("*.gate"))
OPTIONS = [
    [],
    ["--packs", "shipped"],
    ["--packs", "common", "--tools", ROOT / "examples/tools.json"],
    ["--policy", "conservative", "--model", "kimi"],
    ["--policy", "recover", "--format", "text"],
]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.stem)
def test_a_run_says_the_same_with_kept_rules_and_without(
    file: Path, cache: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for options in OPTIONS:
        monkeypatch.setenv("CALLGATE_CACHE", "off")
        without, compiled = run(file, *options)
        assert compiled
        monkeypatch.delenv("CALLGATE_CACHE")
        first, _ = run(file, *options)
        again, compiled = run(file, *options)
        assert without == first == again
        assert compiled is (without[0] == 2)  # rules that have errors with these tools


def test_warnings_are_said_again(cache: Path, run: Run, rules: Path) -> None:
    rules.write_text('tool edit { later-kind /x }\ntool bash { structural "own" "" call reshape }\n')
    (first, _), (again, compiled) = run(rules), run(rules)
    assert not compiled
    assert first == again
    assert b"later-kind" in again[2]
    assert b"no function `reshape` is registered" in again[2]


def test_two_sets_of_rules_have_an_entry_each(cache: Path, run: Run, rules: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gate"
    other.write_text("tool edit { alias /path from file }\n")
    for given in ([rules], [other], [rules, other], [other, rules]):
        run(*given)
    for given in ([rules], [other], [rules, other], [other, rules]):
        assert not run(*given)[1]
    assert len(list(cache.iterdir())) == 4


# What an entry follows from -----------------------------------------------------------------------


def test_every_file_that_was_read_is_looked_at_again(
    cache: Path, run: Run, rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "near.gate").write_text('pack near "1.0.0"\nuse deep\n')
    (tmp_path / "deep.gate").write_text('pack deep "1.0.0"\ntool edit { alias /path from a }\n')
    (tmp_path / "given.gate").write_text('pack given "1.0.0"\n')
    (tmp_path / "edit.json").write_text('{"type": "object"}')
    (tmp_path / "test.json").write_text('{"edit": {"type": "object"}}')
    (tmp_path / "tools.json").write_text('{"edit": {"type": "object"}}')
    rules.write_text(
        "use near\nuse common\n"
        'tool edit {\n  schema "edit.json"\n  alias /path from file_path\n'
        '  test "t" {\n    tools "test.json"\n    call {"path": "/a"}\n    expect valid\n  }\n}\n'
    )
    arguments = (rules, "--packs", tmp_path / "given.gate", "--tools", tmp_path / "tools.json")
    assert run(*arguments)[0][0] == 0
    assert not run(*arguments)[1]
    for name, more in {
        "rules.gate": "# more\n",
        "near.gate": "# more\n",
        "deep.gate": "tool edit { alias /path from b }\n",
        "given.gate": "# more\n",
        "edit.json": " ",
        "test.json": " ",
    }.items():
        path = tmp_path / name
        path.write_text(path.read_text() + more)
        changed, compiled = run(*arguments)
        assert compiled, name
        again, compiled = run(*arguments)
        assert not compiled, name
        assert changed == again
    (tmp_path / "tools.json").write_text('{"edit": {"type": "object"}, "bash": {"type": "object"}}')
    assert run(*arguments)[1]
    # A pack beside the rules comes before one that ships, from the moment that it is there.
    (tmp_path / "common.gate").write_text('pack common "9.0.0"\n')
    changed, compiled = run(*arguments)
    assert compiled
    assert b"common@9.0.0" in changed[1]
    (tmp_path / "common.gate").unlink()
    assert b"common@9.0.0" not in run(*arguments)[0][1]


def test_options_are_part_of_what_an_entry_follows_from(cache: Path, run: Run, rules: Path) -> None:
    assert run(rules)[1]
    assert run(rules, "--packs", "common")[1]
    assert run(rules, "--tools", ROOT / "examples/tools.json")[1]
    assert not run(rules)[1]
    # These say what is done with the rules, not what they are.
    assert run(rules, "--policy", "conservative")[0] != run(rules)[0]
    assert not run(rules, "--model", "kimi", "--format", "text")[1]


def test_a_new_distribution_another_day_and_an_edited_module_count(
    cache: Path, run: Run, rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def misses() -> bool:
        first, again = run(rules)[1], run(rules)[1]
        assert not again
        return first

    assert misses()
    assert not misses()
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert misses()
    (info / "entry_points.txt").write_text("[callgate.packs]\nacme = acme_rules\n")
    assert misses()
    module = tmp_path / "module.py"
    module.write_text("")
    monkeypatch.setattr(_ready, "_modules", lambda: [("module.py", module.stat().st_mtime_ns, 0)])
    assert misses()
    os.utime(module, ns=(1, 1))
    assert misses()

    class Tomorrow(_ready.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz) + _ready.datetime(2, 1, 2).__sub__(_ready.datetime(2, 1, 1))

    monkeypatch.setattr(_ready, "datetime", Tomorrow)
    assert misses()


def test_the_modules_that_count_are_all_files_of_the_package() -> None:
    paths = {Path(path) for path, _, _ in _ready._modules()}
    package = Path(callgate.__file__).parent
    for name in ("engine/compiler.py", "grammar/callgate.lark", "rules/packs/common.gate", "__init__.py"):
        assert package / name in paths
    assert not any("__pycache__" in path.parts for path in paths)


# What is never kept -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'tool edit {\n  test "t" {\n    call {"a": 1}\n    expect denied\n  }\n}\n',
        "tool edit { alias /path form file_path }\n",
        "use nowhere\n",
    ],
)
def test_rules_with_errors_and_failing_tests_are_not_kept(
    text: str, cache: Path, run: Run, rules: Path
) -> None:
    rules.write_text(text)
    (first, _), (again, compiled) = run(rules), run(rules)
    assert first == again
    assert first[0] == 2
    assert compiled
    assert not cache.exists()


def test_nothing_is_kept_where_another_package_offers_kinds(
    cache: Path, run: Run, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stranger(Kind):
        keyword = "stranger"

    found = {**catalog.kinds(), "stranger": Stranger}
    monkeypatch.setattr(catalog, "kinds", lambda: found)
    run(rules)
    assert run(rules)[1]
    assert not cache.exists()


@pytest.mark.parametrize("setting", ["", "off"])
def test_it_can_be_switched_off(
    setting: str, cache: Path, run: Run, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLGATE_CACHE", setting)
    run(rules)
    assert run(rules)[1]
    assert not cache.exists()


def test_the_library_and_other_commands_write_nothing(cache: Path, rules: Path) -> None:
    callgate.compile(RULES, packs="shipped")
    assert main(["check", str(rules)]) == 0
    assert main(["test", str(rules)]) == 0
    assert not cache.parent.exists()


# What is not trusted ------------------------------------------------------------------------------


def test_a_damaged_entry_counts_for_nothing_and_is_written_again(cache: Path, run: Run, rules: Path) -> None:
    wanted, _ = run(rules)
    good = entry(cache).read_bytes()
    flipped = [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in range(0, len(good), 997)]
    cut = [good[:at] for at in (*range(0, len(good), 997), len(good) - 1)]
    for data in [*flipped, *cut, good + b"\0", os.urandom(500)]:
        entry(cache).write_bytes(data)
        assert run(rules) == (wanted, True)
        assert entry(cache).read_bytes() == good


def test_only_values_of_rules_are_read(cache: Path, run: Run, rules: Path, tmp_path: Path) -> None:
    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "was here"),)

    run(rules)
    good = entry(cache).read_bytes()
    head = good[: good.rindex(b"\n\x80\x05") + 1]
    payloads = [pickle.dumps(each) for each in (Hostile(), (None, "", {}, Hostile()), 5, (1, 2, 3), None)]
    for payload in payloads:
        data = head + payload
        entry(cache).write_bytes(data + crc32(data).to_bytes(4))
        assert run(rules)[1]
    assert not (tmp_path / "was here").exists()
    assert all(_pickled.load(payload) is None for payload in payloads)


@pytest.mark.parametrize("mode", [0o602, 0o620, 0o604, 0o666, 0o644])
def test_an_entry_that_others_can_reach_is_not_read(mode: int, cache: Path, run: Run, rules: Path) -> None:
    run(rules)
    entry(cache).chmod(mode)
    assert run(rules)[1]
    assert entry(cache).stat().st_mode & 0o777 == 0o600
    assert not run(rules)[1]


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o702])
def test_a_folder_that_others_can_reach_is_not_used(mode: int, cache: Path, run: Run, rules: Path) -> None:
    run(rules)
    kept = entry(cache)
    cache.chmod(mode)
    assert run(rules)[1]
    kept.unlink()
    assert run(rules)[1]
    assert list(cache.iterdir()) == []
    assert cache.stat().st_mode & 0o777 == mode


def test_what_belongs_to_somebody_else_is_not_used(
    cache: Path, run: Run, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(rules)
    before = entry(cache).stat()
    if os.geteuid() == 0:
        os.chown(entry(cache), 12345, 12345)
        assert run(rules)[1]
        assert entry(cache).stat().st_uid == 0
        before = entry(cache).stat()
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert run(rules)[1]
    assert run(rules)[1]
    assert entry(cache).stat() == before


def test_links_and_pipes_are_not_followed(cache: Path, run: Run, rules: Path, tmp_path: Path) -> None:
    run(rules)
    path = entry(cache)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert run(rules)[1]
    assert not path.is_symlink()
    path.unlink()
    os.mkfifo(path, 0o600)
    assert run(rules)[1]
    assert path.is_file()
    cache.rename(tmp_path / "real")
    cache.symlink_to(tmp_path / "real")
    assert run(rules)[1]


# Where it cannot work -----------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_is_no_matter(cache: Path, run: Run, rules: Path) -> None:
    wanted, _ = run(rules)
    entry(cache).unlink()
    cache.rmdir()
    cache.write_text("a file")
    assert run(rules) == (wanted, True)
    cache.unlink()
    cache.parent.rmdir()
    cache.parent.write_text("a file")
    assert run(rules) == (wanted, True)


def test_a_full_disk_leaves_nothing_behind(
    cache: Path, run: Run, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert run(rules)[0][2].startswith(b"4 calls")
    assert list(cache.iterdir()) == []


def test_a_relative_cache_home_counts_as_not_set(
    run: Run, rules: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    run(rules)
    assert len(list((tmp_path / "home/.cache/callgate").iterdir())) == 1
    assert not (tmp_path / "here").exists()


def test_the_oldest_entries_make_room(cache: Path, run: Run, rules: Path) -> None:
    run(rules)
    kept = entry(cache)
    for number in range(_kept._ENTRIES + 5):
        path = cache / f"{number}.rules"
        path.write_bytes(b"")
        os.utime(path, (number, number))
    kept.unlink()
    run(rules)
    assert len(list(cache.iterdir())) == _kept._ENTRIES
    assert not (cache / "0.rules").exists()
    assert not run(rules)[1]


def process(rules: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "callgate", "run", str(rules)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)


def test_processes_at_once_all_say_the_same(cache: Path, rules: Path) -> None:
    rules.write_text("use common\n" + RULES)
    started = [process(rules) for _ in range(4)]
    (wanted, *others) = [each.communicate(INPUT, 60) for each in started]
    assert all(each == wanted for each in others)
    assert entry(cache).stat().st_mode & 0o777 == 0o600
    again = process(rules)
    assert again.communicate(INPUT, 60) == wanted


def test_a_start_with_kept_rules_loads_no_parser_and_no_checker(cache: Path, run: Run, rules: Path) -> None:
    run(rules)
    run(rules)
    script = (
        "import sys; sys.argv[:] = ['callgate', 'run', sys.argv[1]]\n"
        "from callgate.__main__ import main; main(); print(*sys.modules, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", script, str(rules)]
    call = INPUT.splitlines()[0]
    done = subprocess.run(command, input=call, capture_output=True, timeout=60, check=True)
    modules = set(done.stderr.decode().splitlines()[-1].split())
    heavy = {"lark", "cerberus", "semantic_version", "yaml", "re2", "jsonschema_rs", "rich", "hashlib"}
    heavy |= {"importlib.metadata", "dataclasses", "difflib"}
    assert not modules & heavy
    ours = {name for name in modules if name.startswith("callgate.")}
    assert not ours & {"callgate.grammar.parser", "callgate.engine.compiler", "callgate.rules.catalog"}
    kinds = {name for name in ours if name.startswith("callgate.rules.kinds.")}
    assert kinds == {"callgate.rules.kinds.alias"}
