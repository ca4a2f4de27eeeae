"""What fits a pattern of rule files, and what is said where that cannot be told."""

from __future__ import annotations

import os
import shutil
import subprocess
from glob import glob
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.patterns import _MOST, absolute, fits, fitting

from .test_deployment import deployment, refused, within, write

DENY = 'tool read { deny "no" }\n'


@pytest.mark.parametrize(
    "pattern",
    [
        *("*", "*.gate", "**/*.gate", "**", "*/*.gate", "**/b/*", "a/**/c/*.gate", "**/**/x.gate", ".*/*"),
        *("[ab]/*.gate", "*/x.gate", "a/b/../*.gate", "none/*.gate", "./a/?.gate", "*/b/*.gate"),
    ],
)
def test_what_fits_is_what_a_glob_gives(tmp_path: Path, pattern: str) -> None:
    names = [
        "x.gate",
        "a/x.gate",
        "a/b/x.gate",
        "a/b/c/y.gate",
        ".h/x.gate",
        "a/.x.gate",
        "a/b/z.txt",
        "b/x.gate",
    ]
    write(tmp_path, dict.fromkeys(names, ""))
    (tmp_path / "b/folder.gate").mkdir()
    found = fitting(str(tmp_path), pattern)
    wanted = {os.path.normpath(each) for each in glob(f"{tmp_path}/{pattern}", recursive=True)}
    assert {os.path.normpath(each) for each in found.files} == {
        each for each in wanted if os.path.isfile(each)
    }
    assert list(found.files) == sorted(found.files)
    assert found.faults == ()
    plain = {os.path.normpath(each) for each in found.files}
    shutil.rmtree(tmp_path)  # what is not there yet fits all the same
    for each in names:
        path = str(tmp_path / each)
        assert fits(str(tmp_path), pattern, path) == (path in plain), path


@pytest.mark.parametrize("how", ["dangling", "loop", "pipe"])
def test_what_fits_and_cannot_be_read_is_an_error(tmp_path: Path, how: str) -> None:
    path = deployment(tmp_path, a="tool write { allow }", d=DENY)
    (tmp_path / "rules/folder.gate").mkdir()
    with callgate.load(path) as engine:
        file = tmp_path / "rules/d.gate"
        file.unlink()
        if how == "pipe":
            os.mkfifo(file)
        else:
            file.symlink_to("d.gate" if how == "loop" else "gone.gate")
        status = engine.reload()
        assert (status.error or "").startswith(f"error[G706]: {file}: cannot be read: ")
        assert engine.check("read", {"path": "/a"}).reason == "no"


@pytest.mark.parametrize("pattern", ["./rules/*/*.gate", "./rules/**/*.gate", "./rules/*/d.gate"])
def test_a_folder_that_cannot_be_read_or_is_gone_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    path = write(
        tmp_path,
        {
            "deployment.yaml": f"default: allow\nrules: ['{pattern}', './rules/a/*.gate']\n",
            "rules/a/a.gate": "",
            "real/d.gate": DENY,
        },
    )
    (tmp_path / "rules/l").symlink_to(tmp_path / "real")
    with callgate.load(path) as engine:
        assert engine.check("read", {}).reason == "no"
        known: Any = os.scandir

        def scandir(folder: str) -> Any:
            if folder.endswith("/l"):
                raise PermissionError(13, "Permission denied")
            return known(folder)

        if not pattern.endswith("d.gate"):  # there is no need to list it
            monkeypatch.setattr(os, "scandir", scandir)
            assert f"the folder `{tmp_path}/rules/l` cannot be read: Permission" in str(engine.reload().error)
            monkeypatch.undo()
        assert engine.reload().error is None
        (tmp_path / "real").rename(tmp_path / "elsewhere")
        assert f"error[G706]: the link `{tmp_path}/rules/l` leads nowhere" in str(engine.reload().error)
        assert engine.check("read", {}).reason == "no"


def test_links_to_folders_are_followed_and_each_folder_counts_once(tmp_path: Path) -> None:
    write(tmp_path, {"rules/a.gate": "", "other/b.gate": ""})
    for name in ("l1", "l2", "l3"):
        (tmp_path / "rules" / name).symlink_to(".")
    (tmp_path / "rules/z").symlink_to("../other")
    found = fitting(str(tmp_path), "rules/**/*.gate")
    rules = f"{tmp_path}/rules"
    assert found == ((f"{rules}/a.gate", f"{rules}/z/b.gate"), {rules, f"{rules}/z"}, ())


def test_folders_that_are_too_deep_are_an_error_until_they_go(tmp_path: Path) -> None:
    path = deployment(tmp_path, a="")
    path.write_text(path.read_text().replace("*.gate", "**/*.gate"))
    with callgate.load(path) as engine:
        engine.watch()
        here = os.open(tmp_path / "rules", os.O_RDONLY)
        for _ in range(1100):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
        assert within(10, lambda: "deeper inside each other than 64 levels" in (engine.status.error or ""))
        subprocess.run(["rm", "-rf", tmp_path / "rules/d"], check=True)  # shutil removes by recursion
        (tmp_path / "rules/a.gate").write_text(DENY)
        assert within(10, lambda: engine.check("read", {"path": "/a"}).reason == "no")


def test_too_many_folders_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _MOST >= 10_000
    monkeypatch.setattr("callgate.engine.patterns._MOST", 5)
    path = deployment(tmp_path, a=DENY)
    path.write_text(path.read_text().replace("*.gate", "**/*.gate"))
    for number in range(9):
        (tmp_path / f"rules/{number}").mkdir()
    assert f"`{tmp_path}/rules` holds more folders than are looked at" in str(refused(path))


def test_a_link_that_leads_to_a_link_is_watched_at_each(tmp_path: Path) -> None:
    path = deployment(tmp_path / "live", a="")
    write(tmp_path, {"opt/v1.gate": "", "opt/v2.gate": DENY, "alternatives/none": ""})
    (tmp_path / "alternatives/r").symlink_to("../opt/v1.gate")
    (tmp_path / "live/rules/r.gate").symlink_to(tmp_path / "alternatives/r")
    with callgate.load(path) as engine:
        assert f"{tmp_path}/alternatives" in engine.watched.folders
        engine.watch()
        other = tmp_path / "alternatives/t"
        other.symlink_to("../opt/v2.gate")
        other.replace(tmp_path / "alternatives/r")
        assert within(10, lambda: engine.check("read", {"path": "/a"}).reason == "no")


def test_links_that_lead_in_a_circle_end(tmp_path: Path) -> None:
    path = deployment(tmp_path, a="")
    (tmp_path / "rules/b.gate").symlink_to("c")
    (tmp_path / "rules/c").symlink_to("b.gate")
    assert "rules/b.gate: cannot be read: " in str(refused(path))


def test_above_a_link_is_above_what_it_leads_to(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a/deployment.yaml": "default: allow",
            "b/deployment.yaml": "default: deny\nrules: [./l/../r.gate, './l/../*.gate']",
            "b/c/none": "",
            "d/r.gate": "tool read { allow }",
            "d/e/none": "",
        },
    )
    (tmp_path / "a/l").symlink_to("../b/c")
    (tmp_path / "b/l").symlink_to("../d/e")
    with callgate.load(tmp_path / "a/l/../deployment.yaml") as engine:
        assert engine.settings.default == "deny"
        assert [os.path.realpath(each) for each in engine.status.files[1:]] == [f"{tmp_path}/d/r.gate"]
    assert absolute(f"{tmp_path}/./a//../b") == f"{tmp_path}/b"
