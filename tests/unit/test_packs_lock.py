"""The lock: what it holds, that nothing else is read with it, that it is always whole, and wrong locks."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from callgate.engine import files as files_module
from callgate.engine.loading import Checked, check_rules
from callgate.engine.lock import Lock, Locked, lock_of, lock_text, read_lock, verify, write_lock
from callgate.engine.packs import Library
from callgate.engine.ruletext import PackError, digest, read_rule_file
from callgate.engine.wholefile import write_whole
from callgate.grammar.diagnostics import Severity

RULES = """use team "^1"
use common
tool edit {
  schema "edit.json"
  alias /path from file
  test "an alias" {
    tools "tools.json"
    call {"file": "/a"}
    expect repaired {"path": "/a"}
  }
}
"""
SCHEMA = '{"type": "object", "properties": {"path": {"type": "string"}}}'


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A rule file that uses a pack beside it and one that ships, with a schema and tools for its test."""
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "top.gate").write_text(RULES)
    (folder / "team.gate").write_text('pack team "1.0.0"\ntool t { alias /b from a }\n')
    (folder / "edit.json").write_text(SCHEMA)
    (folder / "tools.json").write_text(f'{{"edit": {SCHEMA}}}')
    return folder


def compiled(rules: Path, lock: Lock | None = None, *, tests: bool = True) -> Checked:
    return check_rules([read_rule_file(rules / "top.gate")], packs=Library(lock=lock), tests=tests)


def locked(rules: Path) -> Lock:
    checked = compiled(rules)
    assert not checked.failed, checked.text()
    return lock_of(checked.files, rules.parent)


def faults(checked: Checked) -> list[str]:
    return [each.code for each in checked.diagnostics if each.severity is Severity.ERROR]


# What it holds ------------------------------------------------------------------------------------


def test_a_lock_holds_every_file_that_was_read_with_the_hash_of_its_bytes(rules: Path) -> None:
    lock = locked(rules)
    assert [(each.source, each.path, each.name, each.version) for each in lock.entries] == [
        ("file", "rules/edit.json", "", ""),
        ("file", "rules/team.gate", "team", "1.0.0"),
        ("file", "rules/tools.json", "", ""),
        ("file", "rules/top.gate", "", ""),
        ("shipped", "common.gate", "common", "1.0.0"),
    ]
    for each in lock.entries[:4]:
        assert each.sha256 == digest((rules.parent / each.path).read_bytes())


def test_a_lock_is_json_with_an_entry_on_a_line_and_the_same_bytes_each_time(rules: Path) -> None:
    lock = locked(rules)
    text = lock_text(lock)
    document = json.loads(text)
    assert document["version"] == 1
    assert len(text.splitlines()) == len(document["files"]) + 5
    assert [each["path"] for each in document["files"]] == [each.path for each in lock.entries]
    assert lock_text(Lock(lock.entries[::-1], lock.folder)) == text


def test_a_lock_is_read_as_it_was_written(rules: Path, tmp_path: Path) -> None:
    lock = locked(rules)
    write_lock(tmp_path / "callgate.lock", lock)
    read = read_lock(tmp_path / "callgate.lock")
    assert (read.entries, read.folder) == (lock.entries, str(tmp_path))
    assert faults(compiled(rules, read)) == []


def test_what_nobody_asked_for_in_a_lock_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "callgate.lock"
    entry = {"from": "file", "path": "a.gate", "sha256": "0" * 64, "later": [1]}
    path.write_text(json.dumps({"version": 1, "files": [entry], "more": {"deep": None}}))
    assert read_lock(path).entries == (Locked(source="file", path="a.gate", sha256="0" * 64),)


def test_a_file_is_the_same_however_its_path_is_spelled(
    rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = locked(rules)
    (tmp_path / "link").symlink_to(rules)
    monkeypatch.chdir(tmp_path)
    for spelled in ("rules/top.gate", "./rules/../rules/top.gate", "link/top.gate"):
        checked = check_rules([read_rule_file(spelled)], packs=Library(lock=lock))
        assert faults(checked) == [], spelled
    # A pack that is read under two spellings is one entry, and keeps its name.
    texts = [read_rule_file("rules/top.gate"), read_rule_file(rules / "team.gate")]
    assert lock_of(check_rules(texts).files, tmp_path) == lock


def test_a_file_outside_the_folder_of_the_lock_is_locked_by_the_way_to_it(
    rules: Path, tmp_path: Path
) -> None:
    (tmp_path / "deploy").mkdir()
    lock = lock_of(compiled(rules).files, tmp_path / "deploy")
    assert "../rules/team.gate" in {each.path for each in lock.entries}
    assert faults(compiled(rules, lock)) == []


def test_a_path_that_is_no_text_cannot_be_locked(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.gate")).write_text('tool t { deny "x" }')
    files = check_rules([read_rule_file(tmp_path / os.fsdecode(b"\xff.gate"))]).files
    with pytest.raises(PackError, match="no UTF-8") as caught:
        write_lock(tmp_path / "callgate.lock", lock_of(files, tmp_path))
    assert caught.value.code == "G517"


# Nothing else is read -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["top.gate", "team.gate", "edit.json", "tools.json"])
def test_a_file_that_has_changed_is_refused(rules: Path, name: str) -> None:
    lock = locked(rules)
    before = digest((rules / name).read_bytes())
    (rules / name).write_text((rules / name).read_text() + "\n")
    found = compiled(rules, lock).diagnostics
    assert len(found) == 1  # that what it uses was not read, is no news
    assert name in found[0].message
    assert found[0].code == ("G403" if name == "tools.json" else "G513")
    assert before[:12] in found[0].message
    assert digest((rules / name).read_bytes())[:12] in found[0].message
    if name != "tools.json":  # which a test names, and its fault is told as the test's
        assert "callgate lock" in found[0].help


def test_all_that_has_changed_is_told_in_one_run(rules: Path) -> None:
    lock = locked(rules)
    (rules / "team.gate").write_text('pack team "1.0.1"\n')
    (rules / "edit.json").write_text("{}")
    (rules / "new.gate").write_text('pack new "1.0.0"\n')
    texts = [read_rule_file(rules / name) for name in ("top.gate", "new.gate")]
    assert sorted(faults(check_rules(texts, packs=Library(lock=lock)))) == ["G513", "G513", "G514"]


def test_a_pack_that_is_not_in_the_lock_is_not_even_opened(
    rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = locked(rules)
    lock = Lock(tuple(each for each in lock.entries if each.name != "team"), lock.folder)
    opened: list[str] = []
    really = files_module._content

    def read(path: Any, largest: int) -> Any:
        opened.append(os.fspath(path))
        return really(path, largest)

    monkeypatch.setattr(files_module, "_content", read)
    checked = compiled(rules, lock)
    (found,) = [each for each in checked.diagnostics if each.severity is Severity.ERROR]
    assert (found.code, found.span.line) == ("G514", 1)
    assert "team.gate" in found.message
    assert opened
    assert not any("team" in path for path in opened)


def test_a_pack_that_now_comes_before_the_locked_one_is_refused(rules: Path) -> None:
    lock = locked(rules)
    (rules / "common.gate").write_text('pack common "1.0.0"\n')
    assert faults(compiled(rules, lock)) == ["G514", "G515"]


def test_a_shipped_pack_that_is_not_locked_is_refused(rules: Path) -> None:
    lock = locked(rules)
    checked = check_rules([read_rule_file(rules / "top.gate")], packs=Library(["grok"], lock=lock))
    assert faults(checked) == ["G514"]


def test_a_text_of_the_callers_own_counts_only_if_it_was_locked(rules: Path) -> None:
    lock = locked(rules)
    given = {"mine": 'pack mine "1.0.0"\n'}
    texts = [read_rule_file(rules / "top.gate")]
    assert faults(check_rules(texts, packs=Library(given, lock=lock))) == ["G514"]
    lock = lock_of(check_rules(texts, packs=given).files, rules.parent)
    assert faults(check_rules(texts, packs=Library(given, lock=lock))) == []
    given["mine"] += "# more\n"
    assert faults(check_rules(texts, packs=Library(given, lock=lock))) == ["G513"]


def test_a_rule_file_of_the_lock_that_nothing_reads_any_more_is_an_error(rules: Path) -> None:
    (rules / "deny.gate").write_text('tool t { deny "no" }\n')
    names = ["top.gate", "deny.gate"]
    files = check_rules([read_rule_file(rules / name) for name in names]).files
    lock = lock_of(files, rules.parent)
    found = compiled(rules, lock).diagnostics
    assert [each.code for each in found] == ["G515"]
    assert "was not read" in found[0].message
    (rules / "deny.gate").unlink()
    found = compiled(rules, lock).diagnostics
    assert [each.code for each in found] == ["G515"]
    assert "is not there" in found[0].message
    (rules / "team.gate").write_text('pack team "1.0.1"\n')  # a change hides what is gone no more
    assert sorted(faults(compiled(rules, lock))) == ["G513", "G515"]


def test_documents_that_only_tests_read_are_not_missed_where_no_test_runs(rules: Path) -> None:
    assert faults(compiled(rules, locked(rules), tests=False)) == []


def test_the_bytes_that_are_used_are_those_that_were_hashed(
    rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever changes a file between two reads finds that there is one read.
    (rules / "other.gate").write_text("use team\n")
    paths = [rules / "top.gate", rules / "other.gate"]
    lock = lock_of(check_rules([read_rule_file(path) for path in paths]).files, rules.parent)
    times: dict[str, int] = {}
    really = files_module._content

    def read(path: Any, largest: int) -> Any:
        data = really(path, largest)
        times[os.fspath(path)] = times.get(os.fspath(path), 0) + 1
        if str(path).startswith(str(rules)):
            Path(path).write_text('pack team "6.6.6"\ntool t { allow }\n')
        return data

    texts = [read_rule_file(path) for path in paths]
    monkeypatch.setattr(files_module, "_content", read)
    checked = check_rules(texts, packs=Library(lock=lock))
    assert faults(checked) == []
    assert checked.rules.source.packs[0] == "team@1.0.0"
    assert set(times.values()) == {1}


def test_with_a_lock_two_distributions_of_one_name_are_the_locked_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(distribution: str, text: str) -> None:
        package = tmp_path / distribution
        package.mkdir()
        (package / "acme.gate").write_text(text)
        info = tmp_path / f"{distribution}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[callgate.packs]\nacme = {distribution}\n")

    install("honest", 'pack acme "1.0.0"\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    lock = lock_of(check_rules([], packs=["acme"]).files, tmp_path)
    (entry,) = lock.entries
    assert (entry.source, entry.path, entry.distribution) == ("installed", "honest/acme.gate", "honest 1.0")
    install("another", 'pack acme "1.0.0"\ntool t { allow }\n')
    assert faults(check_rules([], packs=["acme"])) == ["G511"]
    checked = check_rules([], packs=Library(["acme"], lock=lock))
    assert faults(checked) == []
    assert checked.rules.rules == ()
    (tmp_path / "honest" / "acme.gate").write_text('pack acme "1.0.0"\ntool t { deny "x" }\n')
    assert faults(check_rules([], packs=Library(["acme"], lock=lock))) == ["G513"]


# Comparing ----------------------------------------------------------------------------------------


def test_verify_tells_a_change_a_new_file_a_missing_one_and_another_version(rules: Path) -> None:
    lock = locked(rules)
    assert verify(lock, compiled(rules).files) == []
    (rules / "team.gate").write_text('pack team "1.1.0"\n')
    (rules / "edit.json").write_text("{}")
    (rules / "top.gate").write_text('use team\nuse kimi\ntool edit { schema "edit.json" }\n')
    found = {(each.code, each.file): each for each in verify(lock, compiled(rules).files)}
    assert set(found) == {
        ("G516", str(rules / "team.gate")),
        ("G513", str(rules / "edit.json")),
        ("G513", str(rules / "top.gate")),
        ("G514", "kimi.gate"),
        ("G515", "callgate.lock"),
    }
    version = found["G516", str(rules / "team.gate")].message
    assert "`team` 1.1.0, and `team` 1.0.0 was locked" in version
    assert next(each.sha256 for each in lock.entries if each.name == "team")[:12] in version
    assert all("callgate lock" in each.help for each in found.values())


def test_a_lock_that_says_another_version_of_the_same_bytes_is_wrong(rules: Path) -> None:
    lock = locked(rules)
    entries = tuple(
        Locked(source=each.source, path=each.path, name=each.name, version="9.0.0", sha256=each.sha256)
        if each.name == "team"
        else each
        for each in lock.entries
    )
    assert faults(compiled(rules, Lock(entries, lock.folder))) == ["G516"]


# Wrong locks --------------------------------------------------------------------------------------

HASH = "0" * 64
ENTRY = {"from": "file", "path": "a.gate", "sha256": HASH}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\1\2\xff\xfe" * 100,
        bytes(range(256)),
        b"null",
        b"[]",
        b"{}",
        b'"lock"',
        b'{"version": 1}',
        b'{"version": "1", "files": []}',
        b'{"version": 1.5, "files": []}',
        b'{"version": true, "files": []}',
        b'{"version": 0, "files": []}',
        b'{"version": -1, "files": []}',
        b'{"version": 99999999999999999999999999, "files": []}',
        b'{"version": 1, "files": {}}',
        b'{"version": 1, "files": [null]}',
        b'{"version": 1, "files": [["file", "a"]]}',
        b'{"version": 1, "files": []} trailing',
        b'{"version": 1, "files": [' + b"[" * 200_000,
        b'{"x": ' + b"[" * 200_000 + b"]" * 200_000 + b', "version": 1, "files": []}',
        b'{"version": 1, "files": [{"from": "file", "path": "\xff", "sha256": "' + HASH.encode() + b'"}]}',
        *(
            json.dumps({"version": 1, "files": [{**ENTRY, **change}]}).encode()
            for change in (
                {"from": "web"},
                {"from": 1},
                {"path": None},
                {"path": ["a"]},
                {"sha256": "abc"},
                {"sha256": HASH.upper().replace("0", "A")},
                {"sha256": HASH + "0"},
                {"sha256": f"{HASH}\n"},
                {"sha256": 0},
                {"name": 5},
                {"version": 1},
                {"path": "\ud800"},
            )
        ),
        json.dumps({"version": 1, "files": [{"from": "file", "path": "a"}]}).encode(),
        json.dumps({"version": 1, "files": [ENTRY, ENTRY]}).encode(),
    ],
    ids=lambda data: repr(data[:60]),
)
def test_what_is_no_lock_is_refused_with_its_name_and_what_is_wrong(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "callgate.lock"
    path.write_bytes(data)
    with pytest.raises(PackError) as caught:
        read_lock(path)
    assert caught.value.code == "G517"
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 1000
    assert "callgate lock" in caught.value.help


def test_a_lock_of_a_newer_callgate_is_refused_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "callgate.lock"
    path.write_text('{"version": 2, "packs": "in another form"}')
    with pytest.raises(PackError, match="newer callgate") as caught:
        read_lock(path)
    assert "upgrade" in caught.value.help


def test_a_lock_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("missing", "folder", "loop", "nul\0"):
        with pytest.raises(PackError) as caught:
            read_lock(f"{tmp_path}/{name}")
        assert caught.value.code == "G517", name


def test_a_lock_of_a_hundred_thousand_entries_is_read_written_and_compared_in_seconds(
    rules: Path, tmp_path: Path
) -> None:
    entries = tuple(
        Locked(source="file", path=f"packs/{number:06}.gate", name=f"p{number}", version="1.0.0", sha256=HASH)
        for number in range(100_000)
    )
    start = time.monotonic()
    write_lock(tmp_path / "callgate.lock", Lock((*entries, *locked(rules).entries), str(tmp_path)))
    lock = read_lock(tmp_path / "callgate.lock")
    found = compiled(rules, lock).diagnostics
    assert time.monotonic() - start < 60
    assert len(found) == 100_000
    assert {each.code for each in found} == {"G515"}


@pytest.mark.parametrize(
    "path", ["../../../etc/passwd", "/etc/passwd", "a/../../b", "", ".", "a\0b", "\n" * 50]
)
def test_a_path_in_a_lock_leads_nowhere(rules: Path, path: str) -> None:
    # Entries are compared with what is read; nothing is read because an entry says so.
    lock = locked(rules)
    extra = Locked(source="file", path=path, sha256=HASH, name="x" * 10_000)
    (found,) = verify(Lock((*lock.entries, extra), lock.folder), compiled(rules).files)
    assert found.code == "G515"
    assert len(found.message) < 500


def test_a_link_in_the_place_of_a_locked_file_counts_by_what_it_leads_to(rules: Path, tmp_path: Path) -> None:
    lock = locked(rules)
    (tmp_path / "elsewhere.gate").write_text((rules / "team.gate").read_text())
    (rules / "team.gate").unlink()
    (rules / "team.gate").symlink_to(tmp_path / "elsewhere.gate")
    assert faults(compiled(rules, lock)) == []
    (tmp_path / "elsewhere.gate").write_text('pack team "1.0.0"\ntool t { allow }\n')
    assert faults(compiled(rules, lock)) == ["G513"]


# Writing ------------------------------------------------------------------------------------------


def test_a_written_file_has_the_mode_that_the_umask_says_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    for umask in (0o022, 0o077, 0o002):
        before = os.umask(umask)
        try:
            write_whole(tmp_path / "callgate.lock", b"x")
        finally:
            os.umask(before)
        mode = stat.S_IMODE((tmp_path / "callgate.lock").stat().st_mode)
        assert mode == 0o666 & ~umask
        assert os.listdir(tmp_path) == ["callgate.lock"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "callgate.lock"
    write_whole(path, b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="No space"):
                write_whole(path, b"new")
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["callgate.lock"]


def test_a_link_to_a_lock_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.lock").symlink_to(tmp_path / "real" / "callgate.lock")
    write_whole(tmp_path / "link.lock", b"x")
    assert (tmp_path / "link.lock").is_symlink()
    assert (tmp_path / "real" / "callgate.lock").read_bytes() == b"x"


WRITER = """
import sys
from callgate.engine.lock import Lock, Locked, write_lock
path, folder = sys.argv[1:]
locks = [
    Lock(tuple(Locked(source="file", path=f"{turn}/{n}.gate", sha256=turn * 64) for n in range(3000)), folder)
    for turn in "ab"
]
write_lock(path, locks[0])
print("ready", flush=True)
while True:
    for lock in locks:
        write_lock(path, lock)
"""


def test_a_writer_that_is_killed_leaves_the_old_lock_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "callgate.lock"
    seen = set()
    import callgate

    source = str(Path(callgate.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, *sys.path])}
    for turn in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(tmp_path)], stdout=subprocess.PIPE, env=environment
        ) as writer:
            try:
                assert writer.stdout is not None
                assert writer.stdout.readline() == b"ready\n"
                for _ in range(5):  # somebody who reads meanwhile sees a whole one too
                    seen.add(len({each.sha256 for each in read_lock(path).entries}))
                time.sleep(0.003 * turn)
            finally:
                writer.send_signal(signal.SIGKILL)
            writer.wait(60)
        lock = read_lock(path)
        assert len(lock.entries) == 3000
        seen.add(len({each.sha256 for each in lock.entries}))
    assert seen == {1}
