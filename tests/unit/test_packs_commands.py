"""`callgate lock`, `callgate packs`, `callgate pack build`, and `--packs` with ranges and folders."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from callgate.engine.cli import _ready
from callgate.engine.cli.main import main

Go = Callable[..., tuple[int, str, str]]

TEAM = """\
pack team "1.2.0" "What our tools share"

requires callgate ">=0.1"

family ours matches "ours-[0-9]"

tool read {
  schema "schemas/read.json"
  alias /path from file_path

  test "an alias" {
    call {"file_path": "/a"}
    expect repaired {"path": "/a"} by alias
  }
}
"""
SCHEMA = '{"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}\n'


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Go:
    """Run a command in the folder of the test: exit status, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = main(list(argv))
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return run


@pytest.fixture
def packs(tmp_path: Path) -> Path:
    """A folder with one pack and the schema that it names."""
    folder = tmp_path / "acme-rules"
    (folder / "schemas").mkdir(parents=True)
    (folder / "team.gate").write_text(TEAM)
    (folder / "schemas" / "read.json").write_text(SCHEMA)
    (folder / "notes.txt").write_text("stays at home")
    return folder


# --packs ------------------------------------------------------------------------------------------


def test_packs_may_have_ranges_with_commas(go: Go) -> None:
    assert go("check", "--packs", "common, kimi@>=1.0,<2 ,glm@^1")[0] == 0
    status, out, _ = go("check", "--packs", "kimi@>=1.0,<1,glm@^9")
    assert status == 1
    assert "`kimi` is 1.0.0 and >=1.0,<1 is wanted" in out
    assert "`glm` is 1.0.0 and ^9 is wanted" in out
    assert go("check", "--packs", "kimi,")[0] == 2


def test_packs_may_be_a_folder(go: Go, packs: Path) -> None:
    status, out, err = go("check", "--packs", "./acme-rules")
    assert (status, out) == (0, "")
    assert err.startswith("1 file, 2 rules, 1 test: no errors")


def test_a_pack_that_comes_into_a_named_folder_is_seen_by_the_next_run(
    go: Go, packs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CALLGATE_CACHE")
    compiled: list[None] = []
    really = _ready._compiled
    monkeypatch.setattr(_ready, "_compiled", lambda *given: (compiled.append(None), really(*given))[1])
    call = b'{"tool": "read", "arguments": {"path": "/a"}}\n'

    def outcome() -> str:
        return str(json.loads(go("run", "--packs", "./acme-rules", stdin=call)[1])["outcome"])

    assert outcome() == outcome() == "valid"
    assert len(compiled) == 1
    (packs / "deny.gate").write_text('pack deny "1.0.0"\ntool read { deny "no" }\n')
    assert outcome() == "denied"
    assert len(compiled) == 2


# lock ---------------------------------------------------------------------------------------------


def test_lock_writes_what_was_read_and_says_how_much(go: Go, packs: Path, tmp_path: Path) -> None:
    (tmp_path / "top.gate").write_text("use kimi\n")
    (tmp_path / "tools.json").write_text(f'{{"read": {SCHEMA}}}')
    arguments = ("lock", "top.gate", "--packs", "./acme-rules", "--tools", "tools.json")
    status, out, err = go(*arguments)
    assert (status, out) == (0, "")
    assert err == "callgate.lock: 2 packs, 1 rule file, 2 other files; written\n"
    document = json.loads((tmp_path / "callgate.lock").read_text())
    assert {each["path"] for each in document["files"]} == {
        *("top.gate", "tools.json", "kimi.gate", "acme-rules/team.gate", "acme-rules/schemas/read.json")
    }
    before = (tmp_path / "callgate.lock").stat().st_ino
    assert go(*arguments)[2].endswith("as it was\n")
    assert (tmp_path / "callgate.lock").stat().st_ino == before
    assert go(*arguments, "--check") == (0, "", "callgate.lock: no differences\n")


def test_check_says_what_differs_and_writes_nothing(go: Go, packs: Path, tmp_path: Path) -> None:
    assert go("lock", "--packs", "./acme-rules")[0] == 0
    before = (tmp_path / "callgate.lock").read_bytes()
    (packs / "team.gate").write_text(TEAM.replace("1.2.0", "1.3.0"))
    (packs / "schemas" / "read.json").write_text(SCHEMA + " ")
    (packs / "more.gate").write_text('pack more "1.0.0"\n')
    status, out, err = go("lock", "--packs", "./acme-rules", "--check")
    assert status == 1
    assert err == "callgate.lock: 3 differences\n"
    for code, what in (("G516", "`team` 1.3.0"), ("G513", "read.json"), ("G514", "more.gate")):
        assert f"error[{code}]" in out
        assert what in out
    assert out.count("run `callgate lock --packs ./acme-rules`") == 3
    assert (tmp_path / "callgate.lock").read_bytes() == before
    assert go("lock", "--packs", "./acme-rules")[0] == 0
    assert go("lock", "--packs", "./acme-rules", "--check")[0] == 0


def test_a_lock_of_an_older_callgate_is_to_be_written_anew(go: Go, packs: Path, tmp_path: Path) -> None:
    (tmp_path / "top.rules").write_text('tool read { schema "more.json" }\n')
    (tmp_path / "more.json").write_text(SCHEMA)
    (tmp_path / "tools.json").write_text(f'{{"read": {SCHEMA}}}')
    lock, arguments = tmp_path / "callgate.lock", ("lock", "top.rules", "--tools", "tools.json")
    assert go(*arguments)[2] == "callgate.lock: no packs, 1 rule file, 2 other files; written\n"
    lock.write_text(lock.read_text().replace('"document":true,', ""))
    status, out, err = go(*arguments, "--check")
    assert (status, err) == (1, "callgate.lock: 1 difference\n")
    assert out.startswith(
        "error[G517]: callgate.lock was written by an older callgate: it does not say that `"
    )
    assert "run `callgate lock top.rules --tools tools.json` to write it anew" in out
    assert go(*arguments)[2].endswith("written\n")
    assert go(*arguments, "--check")[0] == 0


def test_the_lock_lies_where_file_says_and_its_paths_are_relative_to_it(
    go: Go, packs: Path, tmp_path: Path
) -> None:
    (tmp_path / "deploy").mkdir()
    assert go("lock", "--packs", "./acme-rules", "--file", "deploy/my.lock")[0] == 0
    document = json.loads((tmp_path / "deploy" / "my.lock").read_text())
    assert document["files"][0]["path"] == "../acme-rules/schemas/read.json"
    assert go("lock", "--packs", "./acme-rules", "--file", "deploy/my.lock", "--check")[0] == 0


def test_rules_with_errors_or_failing_tests_are_not_locked(go: Go, packs: Path, tmp_path: Path) -> None:
    for change in ("repaired {", "alias /path"):
        text = TEAM.replace("repaired {", "denied {") if change == "repaired {" else "pack team\n"
        (packs / "team.gate").write_text(text)
        status, out, err = go("lock", "--packs", "./acme-rules")
        assert (status, out) == (1, "")
        assert "error[G" in err
        assert "nothing to lock" in err
        assert not (tmp_path / "callgate.lock").exists()


def test_lock_says_what_it_cannot_use(go: Go, packs: Path, tmp_path: Path) -> None:
    assert go("lock")[0] == 2
    assert go("lock", "nope.gate")[0] == 2
    status, _, err = go("lock", "--packs", "./acme-rules", "--file", "no/such/folder.lock")
    assert status == 2
    assert err == "callgate: no/such/folder.lock: cannot be written: No such file or directory\n"
    status, _, err = go("lock", "--packs", "./acme-rules", "--file", "acme-rules")
    assert status == 2
    assert "acme-rules: cannot be read" in err
    status, _, err = go("lock", "--packs", "./acme-rules", "--check")
    assert status == 2
    assert "callgate.lock: cannot be read" in err
    (tmp_path / "callgate.lock").write_bytes(b"\0garbage")
    status, _, err = go("lock", "--packs", "./acme-rules", "--check")
    assert status == 2
    assert "callgate.lock: is no lock" in err
    assert "callgate lock" in err
    assert go("lock", "--packs", "./acme-rules")[0] == 0  # writes it anew, as that says


# packs --------------------------------------------------------------------------------------------


def test_packs_lists_what_there_is_what_it_holds_and_what_is_in_force(go: Go, packs: Path) -> None:
    (packs.parent / "top.gate").write_text("use kimi\n")
    status, out, err = go("packs", "top.gate", "--packs", "./acme-rules", "--format", "json")
    assert (status, err) == (0, "")
    found = {each["name"]: each for each in json.loads(out)}
    assert found["team"] == {
        "name": "team",
        "version": "1.2.0",
        "from": "file",
        "path": os.path.join("acme-rules", "team.gate"),
        "distribution": None,
        "in_force": True,
        "what": "What our tools share",
        "families": {"ours": ["ours-[0-9]"]},
        "rules": 2,
        "tests": 1,
        "requires": ">=0.1",
        "wrong": None,
    }
    assert {name for name, each in found.items() if each["in_force"]} == {"team", "kimi"}
    assert found["kimi"]["from"] == "shipped"
    assert found["common"]["rules"] > 10


def test_packs_is_a_table_for_people(go: Go, packs: Path) -> None:
    status, out, _ = go("packs", "--packs", "./acme-rules")
    assert status == 0
    head, team, *others = out.splitlines()
    assert head.split() == ["name", "version", "from", "in", "force", "for", "rules", "tests", "what"]
    assert team.split()[:8] == ["team", "1.2.0", "acme-rules/team.gate", "yes", "ours", "2", "1", "What"]
    assert "kimi" in {line.split()[0] for line in others}
    assert go("packs")[1].splitlines()[1].split()[:4] == ["common", "1.0.0", "callgate", "-"]


def test_packs_tells_of_a_pack_that_cannot_be_used_and_lists_the_others(
    go: Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    info = site / "acme-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[callgate.packs]\nacme = nowhere\nodd = odd_rules\n")
    (site / "odd_rules").mkdir()
    (site / "odd_rules" / "odd.gate").write_text('pack other "1.0.0" "a\u202eb"\n')
    monkeypatch.syspath_prepend(str(site))
    status, out, err = go("packs")
    assert status == 1
    assert "callgate: acme: the installed pack `acme` cannot be read: there is no package `nowhere`" in err
    assert "callgate: odd: it calls itself `other`" in err
    assert "\u202e" not in out + err
    assert "kimi" in out
    assert json.loads(go("packs", "--format", "json")[1])[0]["wrong"]


def test_packs_with_rules_that_have_errors_says_them_and_lists_all_the_same(go: Go, tmp_path: Path) -> None:
    (tmp_path / "top.gate").write_text("use nope\n")
    status, out, err = go("packs", "top.gate")
    assert status == 1
    assert "error[G509]" in err
    assert "kimi" in out
    assert go("packs", "nope.gate")[0] == 2


def test_packs_of_a_deployment_may_be_in_the_home(
    go: Go, packs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(packs))
    monkeypatch.setenv("USERPROFILE", str(packs))
    (tmp_path / "deployment.yaml").write_text("default: deny\npacks: ['~/team.gate']\n")
    status, out, err = go("packs", "deployment.yaml", "--format", "json")
    assert (status, err) == (0, "")
    assert [each["path"] for each in json.loads(out) if each["in_force"]] == [str(packs / "team.gate")]


# pack build ---------------------------------------------------------------------------------------


def test_build_makes_a_wheel_of_the_packs_and_what_they_name(go: Go, packs: Path, tmp_path: Path) -> None:
    status, out, err = go("pack", "build", "acme-rules")
    assert (status, out) == (0, f"{os.path.join('dist', 'acme_rules-1.2.0-py3-none-any.whl')}\n")
    assert err == "1 pack, 1 schema file\n"
    with zipfile.ZipFile(out.strip()) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [
            "callgate_pack_acme_rules/__init__.py",
            "callgate_pack_acme_rules/schemas/read.json",
            "callgate_pack_acme_rules/team.gate",
            "acme_rules-1.2.0.dist-info/METADATA",
            "acme_rules-1.2.0.dist-info/WHEEL",
            "acme_rules-1.2.0.dist-info/entry_points.txt",
            "acme_rules-1.2.0.dist-info/RECORD",
        ]
        points = archive.read("acme_rules-1.2.0.dist-info/entry_points.txt").decode()
        assert points == "[callgate.packs]\nteam = callgate_pack_acme_rules\n"
        assert archive.read("callgate_pack_acme_rules/team.gate").decode() == TEAM
        metadata = archive.read("acme_rules-1.2.0.dist-info/METADATA").decode()
        assert "Summary: What our tools share\n" in metadata


def test_the_same_folder_makes_the_same_bytes(go: Go, packs: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "acme-rules"
    shutil.copytree(packs, copy)
    for path in copy.rglob("*"):
        os.utime(path, (1, 1))
        path.chmod(0o700)
    one, two = go("pack", "build", str(packs))[1], go("pack", "build", str(copy), "--out", "other")[1]
    assert Path(one.strip()).read_bytes() == Path(two.strip()).read_bytes()
    with zipfile.ZipFile(one.strip()) as archive:
        assert {each.date_time for each in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {each.compress_type for each in archive.infolist()} == {zipfile.ZIP_STORED}


def test_name_and_version_may_be_given(go: Go, packs: Path) -> None:
    out = go("pack", "build", "acme-rules", "--name", "Our.Rules", "--version", "3.0rc1")[1]
    assert Path(out.strip()).name == "our_rules-3.0rc1-py3-none-any.whl"


@pytest.mark.parametrize(
    ("version", "written"),
    [
        ("1.0.0-rc.1", "1.0.0rc1"),
        ("1.0.0-alpha", "1.0.0a0"),
        ("1.0.0-beta.12+linux.5", "1.0.0b12+linux.5"),
        ("1.0.0-nightly", None),
        ("1.0.0-rc.1.2", None),
    ],
)
def test_a_semantic_version_becomes_one_of_python_packages(
    go: Go, packs: Path, version: str, written: str | None
) -> None:
    (packs / "team.gate").write_text(TEAM.replace("1.2.0", version))
    status, out, err = go("pack", "build", "acme-rules")
    if written is None:
        assert status == 2
        assert "--version" in err
    else:
        assert Path(out.strip()).name == f"acme_rules-{written}-py3-none-any.whl"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--name", "a b"), "no name of a distribution"),
        (("--name", ""), "no name of a distribution"),
        (("--name", "../x"), "no name of a distribution"),
        (("--name=-x",), "no name of a distribution"),
        (("--name", "ä"), "no name of a distribution"),
        (("--name", "Callgate"), "would replace"),
        (("--version", "1.0-x"), "no version of a Python package"),
        (("--version", "1/../2"), "no version of a Python package"),
        (("--version", ""), "no version of a Python package"),
        (("--version", "01"), "no version of a Python package"),
    ],
)
def test_names_and_versions_that_packages_cannot_have_are_refused(
    go: Go, packs: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    status, out, err = go("pack", "build", "acme-rules", *options)
    assert (status, out) == (2, "")
    assert said in err
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(
    "broken", [None, 'pack x "1.0.0"\ntool {', 'pack x "1.0.0"\ntool t { alias /a form b }']
)
def test_packs_with_errors_are_not_asked_for_a_version(go: Go, tmp_path: Path, broken: str | None) -> None:
    (tmp_path / "folder").mkdir()
    if broken is not None:
        (tmp_path / "folder/x.gate").write_text(broken)
    status, out, err = go("pack", "build", "folder")
    assert (status, out, "error[" in err, "--version" in err) == (1, "", True, False)
    assert err.endswith("callgate: the packs have errors, so no wheel was made\n")
    assert "distribution" in go("pack", "build", "folder", "--name", "a b")[2]


def test_packs_of_several_versions_need_one_for_the_wheel(go: Go, packs: Path) -> None:
    (packs / "more.gate").write_text('pack more "2.0.0"\n')
    status, _, err = go("pack", "build", "acme-rules")
    assert status == 2
    assert "--version" in err
    assert go("pack", "build", "acme-rules", "--version", "5")[0] == 0


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("team.gate", TEAM.replace("by alias", "by coerce"), "G402"),
        ("team.gate", TEAM.replace("alias /path", "alias /pa th"), "G201"),
        ("bare.gate", "tool t { allow }\n", "G503"),
        ("other.gate", TEAM, "G512"),
        ("top.gate", 'pack top "1.2.0"\ndefault deny "no"\n', "G504"),
        ("needs.gate", 'pack needs "1.2.0"\nuse nowhere\n', "G509"),
        ("out.gate", 'pack out "1.2.0"\ntool t { schema "../secret.json" }\n', "G505"),
        ("old.gate", 'pack old "1.2.0"\nrequires callgate ">=99"\n', "G507"),
    ],
)  # fmt: skip
def test_a_folder_with_errors_or_failing_tests_is_refused_with_them(
    go: Go, packs: Path, tmp_path: Path, name: str, text: str, code: str
) -> None:
    (tmp_path / "secret.json").write_text("{}")
    (packs / name).write_text(text)
    status, out, err = go("pack", "build", "acme-rules", "--version", "1.2.0")
    assert (status, out) == (1, "")
    assert f"error[{code}" in err
    assert not (tmp_path / "dist").exists()


def test_all_that_is_wrong_is_told_in_one_run(go: Go, packs: Path) -> None:
    (packs / "bare.gate").write_text("tool t { allow }\n")
    status, _, err = go("pack", "build", "acme-rules", "--name", "a b", "--version", "x")
    assert status == 1
    for said in ("G503", "no name of a distribution", "no version of a Python package"):
        assert said in err


def test_names_that_cannot_be_installed_are_refused(go: Go, packs: Path) -> None:
    for name in ("a b", "a=b", "[a]", "ü"):
        (packs / f"{name}.gate").write_text(f'pack "{name}" "1.2.0"\n')
    status, _, err = go("pack", "build", "acme-rules")
    assert status == 2
    assert err.count("cannot be installed") == 4


def test_names_that_differ_in_case_alone_are_one_on_some_systems(go: Go, packs: Path) -> None:
    (packs / "Team.gate").write_text('pack Team "1.2.0"\n')
    if len(list(packs.glob("*.gate"))) < 2:
        pytest.skip("this is one of those systems")
    status, _, err = go("pack", "build", "acme-rules")
    assert status == 2
    assert "another file" in err


def test_build_says_what_it_cannot_use(go: Go, packs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    assert go("pack")[0] == 2
    assert go("pack", "install", "acme-rules")[0] == 2
    for folder in ("nope", "file"):
        status, _, err = go("pack", "build", folder)
        assert status == 2
        assert "is no folder" in err
    status, _, err = go("pack", "build", "empty")
    assert status == 1
    assert "no *.gate file" in err
    status, _, err = go("pack", "build", "acme-rules", "--out", "file")
    assert status == 2
    assert err.startswith("callgate: --out file: cannot be written")


def test_a_link_out_of_the_folder_does_not_travel(go: Go, packs: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    (packs / "schemas" / "link.json").symlink_to(tmp_path / "secret.json")
    (packs / "team.gate").write_text(TEAM.replace("schemas/read.json", "schemas/link.json"))
    status, _, err = go("pack", "build", "acme-rules")
    assert status == 1
    assert "outside the folder" in err
