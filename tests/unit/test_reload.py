"""Watching: edits in place, files put in the place of others, links that are turned, folders that go away."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from asyncio import CancelledError
from collections.abc import Iterator
from pathlib import Path

import pytest

import callgate
from callgate import Deployment, DeploymentError
from callgate.engine import readings
from callgate.engine.cli.main import main
from callgate.engine.files import Files
from callgate.engine.reload import needs_polling
from callgate.grammar.ast import Statement

from .test_deployment import CALLS, GOOD, deployment, within
from .test_packs_named import install


@pytest.fixture(params=["told", "polled"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Deployment]:
    path = deployment(tmp_path / "live", a=rule("first"))
    text = path.read_text().replace(
        "quiet-ms: 10", f"quiet-ms: 50, poll: {str(request.param == 'polled').lower()}"
    )
    path.write_text(text)
    with callgate.load(path) as found:
        found.watch()
        yield found


def rule(reason: str) -> str:
    return f'tool read {{ deny "{reason}" }}\n'


def says(engine: Deployment, reason: str) -> bool:
    return engine.check("read", {"path": "/a"}).reason == reason


def put(path: Path, text: str) -> None:
    """As editors and deployment tools do: a new file in the place of the old one."""
    other = path.with_name(path.name + ".new")
    other.write_text(text)
    os.replace(other, path)


def test_edits_in_place_and_files_put_in_the_place_of_others(engine: Deployment) -> None:
    file = engine.path.parent / "rules/a.gate"
    for number in range(3):
        put(file, rule(f"put {number}"))
        assert within(10, lambda number=number: says(engine, f"put {number}"))
        file.write_text(rule(f"edit {number}"))
        assert within(10, lambda number=number: says(engine, f"edit {number}"))


def test_a_broken_edit_and_its_mending(engine: Deployment) -> None:
    file = engine.path.parent / "rules/a.gate"
    put(file, "tool read {")
    assert within(10, lambda: engine.status.error)
    assert f"{file}:1" in (engine.status.error or "")
    assert says(engine, "first")
    put(file, rule("mended"))
    assert within(10, lambda: engine.status.error is None and says(engine, "mended"))


def test_files_that_come_and_go(engine: Deployment) -> None:
    rules = engine.path.parent / "rules"
    put(rules / "0.gate", rule("earlier"))
    assert within(10, lambda: says(engine, "earlier"))
    (rules / "0.gate").unlink()
    assert within(10, lambda: says(engine, "first"))


def test_the_settings_themselves(engine: Deployment) -> None:
    put(engine.path, engine.path.read_text().replace("default: allow", "default: deny\nwhy: because"))
    put(engine.path.parent / "rules/a.gate", "\n")
    assert within(10, lambda: says(engine, "because"))


def test_folders_that_are_new_in_the_settings_are_watched(engine: Deployment, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    put(tmp_path / "other/b.gate", rule("there"))
    put(engine.path, engine.path.read_text().replace("./rules/*.gate", f"{tmp_path}/other/*.gate"))
    assert within(10, lambda: says(engine, "there"))
    for number in range(2):
        put(tmp_path / "other/b.gate", rule(f"there {number}"))
        assert within(10, lambda number=number: says(engine, f"there {number}"))


@pytest.mark.parametrize("pattern", ["./rules/**/*.gate", "./rules/*/b.gate"])
def test_folders_that_come_below_a_pattern_are_watched(engine: Deployment, pattern: str) -> None:
    rules = engine.path.parent / "rules"
    (rules / "sub").mkdir()
    put(rules / "sub/b.gate", rule("sub"))
    put(engine.path, engine.path.read_text().replace("./rules/*.gate", pattern))
    (rules / "a.gate").unlink()
    assert within(10, lambda: says(engine, "sub"))
    time.sleep(1.5)  # what came before the watch began is seen anyway
    (rules / "0").mkdir()
    time.sleep(0.3)
    put(rules / "0/b.gate", rule("new"))
    assert within(10, lambda: says(engine, "new"))
    put(rules / "0/b.gate", rule("again"))
    assert within(10, lambda: says(engine, "again"))


def test_a_folder_that_goes_away_and_comes_back(engine: Deployment) -> None:
    rules = engine.path.parent / "rules"
    away = rules.with_name("away")
    rules.rename(away)
    assert within(10, lambda: engine.status.error)
    assert says(engine, "first")
    put(away / "a.gate", rule("back"))
    away.rename(rules)
    assert within(10, lambda: engine.status.error is None and says(engine, "back"))
    put(rules / "a.gate", rule("again"))
    assert within(10, lambda: says(engine, "again"))


def test_another_folder_of_the_same_name_is_watched_too(engine: Deployment) -> None:
    rules = engine.path.parent / "rules"
    for number in range(2):
        other = rules.with_name("other")
        other.mkdir()
        put(other / "a.gate", rule(f"other {number}"))
        rules.rename(rules.with_name(f"old {number}"))
        other.rename(rules)
        assert within(10, lambda number=number: says(engine, f"other {number}"))
        for again in range(2):
            time.sleep(1)  # what came before the watch began is seen anyway
            put(rules / "a.gate", rule(f"edit {number} {again}"))
            assert within(10, lambda text=f"edit {number} {again}": says(engine, text))


def test_a_folder_that_is_made_anew_is_watched_too(engine: Deployment) -> None:
    rules = engine.path.parent / "rules"
    for number in range(2):
        (rules / "a.gate").unlink()
        rules.rmdir()
        rules.mkdir()  # which may have the inode of the one that was there
        put(rules / "a.gate", rule(f"anew {number}"))
        assert within(10, lambda number=number: says(engine, f"anew {number}"))
        time.sleep(1)
        put(rules / "a.gate", rule(f"edit {number}"))
        assert within(10, lambda number=number: says(engine, f"edit {number}"))


def test_a_link_above_the_folder_that_is_turned(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        deployment(tmp_path / name / "app", a=rule(name))
    (tmp_path / "now").symlink_to("one")
    path = tmp_path / "now/app/deployment.yaml"
    with callgate.load(path) as engine:
        engine.watch()
        for name in ("two", "three"):
            time.sleep(1)
            (tmp_path / "next").symlink_to(name)
            (tmp_path / "next").replace(tmp_path / "now")
            assert within(10, lambda name=name: says(engine, name))
            put(tmp_path / name / "app/rules/a.gate", rule(f"edit {name}"))
            assert within(10, lambda name=name: says(engine, f"edit {name}"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_child_that_forks_during_a_load_loads_and_watches_itself(tmp_path: Path) -> None:
    program = f"""
import os, sys, threading, time
import callgate
from callgate.engine import deployment

def says(reason):
    end = time.monotonic() + 20
    while time.monotonic() < end and engine.check("read", {{"path": "/a"}}).reason != reason:
        time.sleep(0.01)
    return engine.check("read", {{"path": "/a"}}).reason == reason

def put(reason):
    path = {str(tmp_path / "rules/a.gate")!r}
    with open(path + ".new", "w") as file:
        file.write('tool read {{ deny "%s" }}' % reason)
    os.replace(path + ".new", path)

engine = callgate.load({str(tmp_path / "deployment.yaml")!r})
engine.watch()
inside, go = threading.Event(), threading.Event()

def build(*given):  # a load that takes long, while a decision is being counted
    found = really(*given)
    with engine._telling.metrics._lock:
        inside.set()
        go.wait()
    return found

really, deployment.build = deployment.build, build
put("edit")
inside.wait()
child = os.fork()
if not child:
    go.set()
    good = says("edit")  # which it was about to load
    put("child")
    good = good and engine.reload().error is None and says("child")
    put("again")
    good = good and says("again") and engine.watch().alive
    engine.close()
    os._exit(0 if good else 1)
status = os.waitpid(child, 0)[1]
go.set()
good = says("again")
engine.close()
sys.exit(0 if good and status == 0 else 1)
"""
    deployment(tmp_path, a=rule("first"))
    done = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
@pytest.mark.parametrize("host", [True, False])
def test_a_child_without_a_thread_for_its_watch_says_so_and_tries_again(tmp_path: Path, host: bool) -> None:
    program = f"""
import os, sys, threading, time
import callgate

def start(thread):
    if thread.name == "callgate-watch":
        raise RuntimeError("can't start new thread")
    begin(thread)

engine = callgate.load({str(tmp_path / "deployment.yaml")!r})
watch = engine.watch() if {host} else None
begin, threading.Thread.start = threading.Thread.start, start
assert engine.watched.poll is None
child = os.fork()
if not child:
    good = engine.status.warnings == ("its files are not watched: can't start new thread",)
    good = good and engine.refresh().warnings == engine.status.warnings
    threading.Thread.start = begin
    good = good and engine.refresh().warnings == () and (watch is None or watch.alive)
    good = good and engine.watched.poll is True
    with open({str(tmp_path / "rules/a.gate")!r}, "w") as file:
        file.write('tool read {{ deny "edit" }}')
    end = time.monotonic() + 20
    while time.monotonic() < end and engine.check("read", {{"path": "/a"}}).reason != "edit":
        time.sleep(0.01)
    good = good and engine.check("read", {{"path": "/a"}}).reason == "edit"
    if watch is not None:
        watch.close()
    engine.close()
    os._exit(0 if good else 1)
status = os.waitpid(child, 0)[1]
engine.close()
sys.exit(0 if status == 0 else 1)
"""
    path = deployment(tmp_path, a=rule("first"))
    path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 10, watch: true"))
    done = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        0,
        f"{path}: its files are not watched: can't start new thread\n",
    )


def test_what_stays_wrong_is_tried_ever_more_seldom_and_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = time.monotonic()
    monkeypatch.setattr("callgate.engine.deployment.time.monotonic", lambda: now)
    with callgate.load(deployment(tmp_path, a=rule("first"))) as engine:
        put(tmp_path / "rules/a.gate", "tool")
        tries = []
        for _ in range(300):  # seconds
            engine.notice(True)
            tries.append(engine.status.failures)
            now += 1
        assert tries[0] == 1
        assert tries[60] <= 6
        assert 10 <= tries[-1] <= 20
        assert len([each for each in caplog.records if "cannot be loaded" in each.getMessage()]) == 1
        put(tmp_path / "rules/a.gate", "tool {")  # another fault is looked at, and said, at once
        engine.notice(True)
        assert engine.status.failures == tries[-1] + 1
        assert len([each for each in caplog.records if "cannot be loaded" in each.getMessage()]) == 2
        before = engine.status.failures
        engine.refresh()
        assert engine.status.failures == before + 1
        put(tmp_path / "rules/a.gate", rule("mended"))
        engine.notice(True)
        assert engine.status.error is None


def test_what_is_kept_of_bad_files_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    really = readings.parse
    monkeypatch.setattr(readings, "parse", lambda text, **more: made.append(text) or really(text, **more))
    with callgate.load(deployment(tmp_path, a=rule("first"), b=rule("second"))) as engine:
        sizes = []
        for number in range(6):
            put(tmp_path / "rules/a.gate", rule(f"{number}") + "tool")
            engine.reload()
            gc.collect()
            sizes.append(sum(isinstance(each, Statement) for each in gc.get_objects()))
        assert engine.status.failures == 6
        assert sizes[-1] == sizes[1]
        assert len(made) == 2 + 6
        put(tmp_path / "rules/a.gate", rule("first"))
        assert engine.reload().error is None
        assert len(made) == 2 + 6  # the last good ones are not read again


def test_what_was_never_read_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = deployment(tmp_path, head="default: allow\nwhy: ${WHY_NOBODY}", a=rule("first"))
    monkeypatch.setenv("WHY_NOBODY", "x")
    with callgate.load(path) as engine:
        monkeypatch.delenv("WHY_NOBODY")
        engine.watch()
        engine.reload()
        assert engine.status.error
        monkeypatch.setenv("WHY_NOBODY", "x")
        assert within(10, lambda: engine.status.error is None)


@pytest.mark.parametrize("poll", ["true", "false"])
def test_links_that_are_turned_as_a_config_map_does(tmp_path: Path, poll: str) -> None:
    """Kubernetes: `a.gate -> ..data/a.gate`, `..data -> ..1`; an update makes `..2` and turns `..data`."""
    mount = tmp_path / "mount"
    mount.mkdir()

    def version(number: int) -> None:
        folder = mount / f"..{number}"
        folder.mkdir()
        (folder / "a.gate").write_text(rule(f"version {number}"))
        (folder / "deployment.yaml").write_text(
            f"default: allow\nrules: [./a.gate]\nreload: {{quiet-ms: 50, poll: {poll}}}\n"
        )
        os.symlink(folder.name, mount / "..data_tmp")
        os.replace(mount / "..data_tmp", mount / "..data")

    version(1)
    for name in ("a.gate", "deployment.yaml"):
        os.symlink(f"..data/{name}", mount / name)
    with callgate.load(mount / "deployment.yaml") as engine:
        engine.watch()
        assert says(engine, "version 1")
        for number in (2, 3, 4):
            version(number)
            assert within(10, lambda number=number: says(engine, f"version {number}"))


def test_what_changed_between_the_load_and_the_watch_is_seen(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=rule("first"))) as engine:
        put(tmp_path / "rules/a.gate", rule("meanwhile"))
        engine.watch()
        assert within(10, lambda: says(engine, "meanwhile"))


def test_files_that_callgate_writes_are_no_change(tmp_path: Path) -> None:
    head = "default: allow\nstate: sqlite:///gate.db\nlog: {to: ./callgate, max-bytes: 4096, keep: 2}"
    with callgate.load(deployment(tmp_path, head=head, a=GOOD)) as engine:
        watched = engine.watched
    for name in ("callgate", "callgate.1", "callgate.2", "gate.db", "gate.db-wal"):
        assert not watched.counts(None, str(tmp_path / name))
    for name in ("callgate.3", "callgate.lock", "gate.db.gate", "gate.db.1", "rules.gate"):
        assert watched.counts(None, str(tmp_path / name))


def test_a_lock_is_seen_though_a_log_has_its_name(tmp_path: Path) -> None:
    path = deployment(tmp_path, head="default: allow\nlog: {to: ./callgate}", a=GOOD)
    path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 10, poll: false"))
    assert main(["lock", str(path)]) == 0
    lock = tmp_path / "callgate.lock"
    data = lock.read_bytes()
    lock.unlink()
    with callgate.load(path) as engine:
        engine.watch()
        time.sleep(1)  # what came before the watch began is seen anyway
        lock.write_bytes(data)
        assert within(10, lambda: engine.status.locked)


@pytest.mark.parametrize("poll", ["true", "false"])
def test_a_link_to_a_rule_file_that_counts_already_is_watched(tmp_path: Path, poll: str) -> None:
    path = deployment(tmp_path, a=rule("first").replace("read", "other"))
    path.write_text(path.read_text().replace("quiet-ms: 10", f"quiet-ms: 10, poll: {poll}"))
    for folder in ("links", "away"):
        (tmp_path / folder).mkdir()
    (tmp_path / "away/c.gate").write_text(rule("turned"))
    (tmp_path / "links/mid").symlink_to("../rules/a.gate")
    (tmp_path / "rules/b.gate").symlink_to("../links/mid")
    with callgate.load(path) as engine:
        assert engine.refresh().loads == 1
        engine.watch()
        time.sleep(1)
        (tmp_path / "links/new").symlink_to("../away/c.gate")
        os.replace(tmp_path / "links/new", tmp_path / "links/mid")
        assert within(10, lambda: says(engine, "turned"))


@pytest.mark.parametrize("poll", ["true", "false"])
def test_a_pack_that_is_installed_or_removed_is_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, poll: str
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    path = deployment(tmp_path / "app", head="default: allow\npacks: [phi]", a="")
    path.write_text(path.read_text().replace("quiet-ms: 10", f"quiet-ms: 10, poll: {poll}"))
    with callgate.load(path) as engine:
        shipped = engine.packs
        assert engine.refresh().loads == 1
        (site / "no distribution").mkdir()
        assert engine.refresh().loads == 1
        assert str(site) in engine.watched.folders
        assert str(tmp_path) not in engine.watched.folders
        engine.watch()
        time.sleep(1)  # what came before the watch began is seen anyway
        install(site, "phi", 'pack phi "9.0.0"\n', distribution="acme")
        assert within(10, lambda: engine.packs == ("phi@9.0.0",))
        install(site, "phi", 'pack phi "9.9.0"\n', distribution="other")
        assert within(10, lambda: "G511" in (engine.status.error or ""))
        for each in site.glob("*.dist-info"):
            shutil.rmtree(each)
        assert within(10, lambda: engine.packs == shipped and engine.status.error is None)


def test_a_distribution_that_is_replaced_by_one_of_the_same_time_is_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    install(site, "phi", 'pack phi "9.0.0"\n', distribution="acme")
    (points,) = site.glob("*.dist-info/entry_points.txt")
    os.utime(points, (1e9, 1e9))
    with callgate.load(deployment(tmp_path / "app", head="default: allow\npacks: [phi]", a="")) as engine:
        assert engine.packs == ("phi@9.0.0",)
        put(points, "[callgate.packs]\n")  # as `rsync -a` does
        os.utime(points, (1e9, 1e9))
        assert engine.refresh().packs != ("phi@9.0.0",)


@pytest.mark.parametrize("poll", ["true", "false"])
@pytest.mark.parametrize("there", [True, False])
def test_a_folder_for_packages_that_comes_or_comes_back_is_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, poll: str, there: bool
) -> None:
    site = tmp_path / "lib/site"
    if there:
        site.mkdir(parents=True)
        install(site, "phi", 'pack phi "9.0.0"\n', distribution="acme")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    path = deployment(tmp_path / "app", head="default: allow\npacks: [phi]", a="")
    path.write_text(path.read_text().replace("quiet-ms: 10", f"quiet-ms: 10, poll: {poll}"))
    with callgate.load(path) as engine:
        engine.watch()
        time.sleep(1)
        if there:
            assert engine.packs == ("phi@9.0.0",)
            os.rename(site, tmp_path / "old")
            assert within(10, lambda: engine.packs != ("phi@9.0.0",))
            os.rename(tmp_path / "old", site)
        else:
            site.mkdir(parents=True)
            install(site, "phi", 'pack phi "9.0.0"\n', distribution="acme")
        assert within(10, lambda: engine.packs == ("phi@9.0.0",) and engine.status.error is None)


def test_the_watch_ends_with_close_and_with_the_deployment(tmp_path: Path) -> None:
    def watching() -> int:
        return sum(each.name == "callgate-watch" for each in threading.enumerate())

    before = watching()
    engine = callgate.load(deployment(tmp_path, a=GOOD))
    watch = engine.watch()
    assert engine.watch() is watch
    assert watching() == before + 1
    engine.close()
    assert not watch.alive
    with pytest.raises(DeploymentError, match=r"deployment\.yaml: it is closed, .*load it anew"):
        engine.watch()
    assert watching() == before
    engine = callgate.load(engine.path)
    watch = engine.watch()
    assert watch.alive
    del engine
    gc.collect()
    assert within(10, lambda: not watch.alive)


def test_nothing_that_fails_ends_the_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = deployment(tmp_path, a=rule("first"))
    file = tmp_path / "rules/a.gate"
    with callgate.load(path) as engine:
        watch = engine.watch()

        def unchanged(_self: Files) -> bool:
            raise RecursionError("too deep")

        with monkeypatch.context() as patched:
            patched.setattr(Files, "unchanged", unchanged)
            put(file, rule("second"))
            assert within(10, lambda: "RecursionError: too deep" in (engine.status.error or ""))
        assert within(10, lambda: says(engine, "second") and engine.status.error is None)

        raised = list[BaseException]()

        def refuse(record: logging.LogRecord) -> bool:
            if len(raised) < 2:
                raised.append(SystemExit() if raised else RuntimeError("a filter of the host"))
                raise raised[-1]
            return True

        log = logging.getLogger("callgate")
        log.addFilter(refuse)
        try:
            put(file, "tool {")
            assert within(10, lambda: engine.status.error)
            assert "a filter" not in (engine.status.error or "")
            put(file, "tool { deny }")
            assert within(10, lambda: len(raised) == 2)
            put(file, rule("third"))
            assert within(10, lambda: says(engine, "third"))
        finally:
            log.removeFilter(refuse)
        assert watch.alive


@pytest.mark.parametrize("ends", [SystemExit, KeyboardInterrupt, CancelledError, BaseException])
def test_whatever_ends_a_load_under_a_watch_is_a_failure_and_tried_ever_more_seldom(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, ends: type[BaseException]
) -> None:
    ran = []

    def fn(_value: object) -> None:
        ran.append(time.monotonic())
        raise ends("by a function")

    with callgate.load(deployment(tmp_path, a=rule("first")), functions={"fn": fn}) as engine:
        engine.watch()
        put(tmp_path / "rules/a.gate", CALLS)
        assert within(10, lambda: len(ran) == 3)
        status = engine.status
        assert f"{ends.__name__}: by a function" in (status.error or "")
        assert status.stale_since is not None
        assert status.failures >= 2
        assert ran[2] - ran[1] > 1.5
        assert 'reloads_total{result="failure"}' in engine.metrics()
        assert len([each for each in caplog.records if "cannot be loaded" in each.getMessage()]) == 1
        put(tmp_path / "rules/a.gate", rule("mended"))
        assert within(10, lambda: says(engine, "mended") and engine.status.error is None)


def test_where_no_thread_can_be_begun_it_is_said_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = deployment(tmp_path, a=rule("first"))
    begin = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name == "callgate-watch":
            raise RuntimeError("can't start new thread")
        begin(thread)

    with callgate.load(path) as engine, monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(DeploymentError, match="cannot be watched: can't start new thread"):
            engine.watch()
        path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 10, watch: true"))
        for status in (engine.reload(), engine.reload()):
            assert status.error is None
            assert status.warnings == ("its files are not watched: can't start new thread",)
        assert len([each for each in caplog.records if "not watched" in each.getMessage()]) == 1
        with callgate.load(path) as other:
            assert other.status.warnings == status.warnings
        patched.undo()
        assert engine.refresh().warnings == ()
        put(tmp_path / "rules/a.gate", rule("second"))
        assert within(10, lambda: says(engine, "second"))


def test_a_watch_that_the_host_gave_back_is_not_begun_again(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=rule("first"))) as engine:
        with engine.watch() as watch:
            assert watch.alive
        engine.reload()
        put(tmp_path / "rules/a.gate", rule("second"))
        assert not within(1.5, lambda: says(engine, "second"))


def test_what_is_watched_can_be_asked_during_a_load(tmp_path: Path) -> None:
    path = deployment(tmp_path, **{f"r{number}": f"tool t{number} {{ allow }}" for number in range(50)})
    with callgate.load(path) as engine:
        before = engine.watched

        def reloads() -> None:
            while not stop.is_set():
                engine.reload()

        stop = threading.Event()
        thread = threading.Thread(target=reloads)
        thread.start()
        try:
            assert not within(3, lambda: engine.watched != before)
        finally:
            stop.set()
            thread.join()


def test_watch_true_watches(tmp_path: Path) -> None:
    path = deployment(tmp_path, a=rule("first"))
    path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 10, watch: true"))
    with callgate.load(path) as engine:
        put(tmp_path / "rules/a.gate", rule("second"))
        assert within(10, lambda: says(engine, "second"))


def test_the_settings_begin_and_end_a_watch_but_not_one_that_the_host_wants(tmp_path: Path) -> None:
    path = deployment(tmp_path, a=rule("first"))
    off = path.read_text()
    on = off.replace("quiet-ms: 10", "quiet-ms: 10, watch: true")

    def watching() -> int:
        return sum(each.name == "callgate-watch" for each in threading.enumerate())

    before = watching()
    path.write_text(on)
    with callgate.load(path) as engine:
        assert watching() == before + 1
        put(path, off)
        assert within(10, lambda: watching() == before)
        path.write_text(on)
        engine.reload()
        assert watching() == before + 1
        assert engine.watch().alive
        path.write_text(off)
        engine.reload()
        time.sleep(0.6)
        assert engine.watch().alive
    path.write_text(off)
    with callgate.load(path, watch=False) as engine:
        path.write_text(on)
        engine.reload()
        assert watching() == before


@pytest.mark.parametrize(
    ("folder", "polled"),
    [
        ("/srv/local", False),
        ("/srv/share/rules", True),
        ("/srv/share2/rules", False),
        ("/mnt/with blank/x", True),
        ("/box", True),
        ("/vm", True),
    ],
)
def test_network_and_overlay_mounts_are_polled(folder: str, polled: bool) -> None:
    mounts = (
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "40 22 0:35 / /srv/share rw - nfs4 host:/share rw\n"
        "41 22 0:36 / /mnt/with\\040blank rw - cifs //host/x rw\n"
        "42 22 0:37 / /box rw - overlay overlay rw\n"
        "43 22 0:38 / /vm rw - prl_fs none rw\n"
        "no mount at all\n"
    )
    assert needs_polling([folder], lambda: mounts) is polled
    assert needs_polling(["/srv/local", folder], lambda: mounts) is polled


def test_where_mounts_are_not_told_changes_are() -> None:
    def none() -> str:
        raise FileNotFoundError

    assert not needs_polling(["/srv"], none)
