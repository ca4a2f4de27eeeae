"""The commands about rule files: `check`, `test`, `fmt`, `explain`; and how commands are found."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from callgate.engine.cli.main import load, main, names
from callgate.grammar.codes import CODES
from callgate.rules.catalog import kinds

Go = Callable[..., tuple[int, str, str]]

GOOD = """\
tool edit {
  alias /path from file_path
  test "an alias" {
    call {"file_path": "/a"}
    expect repaired {"path": "/a"} by alias
  }
}
"""
FAILS = """\
tool edit {
  alias /path from file_path
  test "holds" {
    call {"path": "/a"}
    expect valid
  }
  test "has the wrong value" {
    call {"file_path": "/a"}
    expect repaired {"path": "/b"}
  }
  test "has the wrong outcome" {
    call {"path": "/a"}
    expect denied
  }
}
"""
BROKEN = "tool edit {\n  alias /path from\n  allias /x from y\n}\nfamly x\n"
PLAIN = "tool  edit{\n# kept\n    alias   /path from a,b # too\n}"
LAID_OUT = "tool edit {\n  # kept\n  alias /path from a, b  # too\n}\n"


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Go:
    """Run a command: exit status, standard output, standard error."""

    def run(*argv: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = main(list(argv))
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that relative names start from."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Commands -----------------------------------------------------------------------------------------


def test_without_a_command_the_help_is_shown_and_the_status_is_2(go: Go) -> None:
    status, out, err = go()
    assert (status, err) == (2, "")
    assert (0, out, "") == go("--help") == go("-h")
    assert all(f"\n  {name} " in out for name in names())


def test_every_command_is_named_like_its_file_and_helps_on_one_line(go: Go) -> None:
    assert {"run", "check", "test", "fmt", "explain"} <= set(names())
    for name in names():
        command = load(name)
        assert name == command.NAME
        assert command.HELP.isprintable()
        status, out, err = go(name, "--help")
        assert (status, err) == (0, "")
        assert f"usage: callgate {name}" in out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("chek", "unknown command `chek`: did you mean `check`?"),
        ("zzzz", "unknown command `zzzz`: `callgate --help` lists them"),
        ("--versoin", "unknown option `--versoin`: did you mean `--version`?"),
        ("_inputs", "unknown command `_inputs`"),
        ("main", "unknown command `main`"),
        ("a\x1b[2J", "unknown command `a�[2J`"),
    ],
)
def test_an_unknown_command_is_answered_with_the_nearest_one(go: Go, given: str, said: str) -> None:
    status, out, err = go(given)
    assert (status, out) == (2, "")
    assert said in err


def test_misuse_of_a_command_ends_with_2(go: Go) -> None:
    for argv in (
        ["check", "--nope"],
        ["check"],
        ["fmt"],
        ["run", "--format", "xml"],
        ["test"],
        ["fmt", "-", "a"],
    ):
        status, out, err = go(*argv)
        assert (status, out) == (2, "")
        assert err


def test_options_may_stand_between_files(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text(GOOD)
    (folder / "b.gate").write_text(GOOD)
    assert go("check", "a.gate", "--format", "json", "b.gate")[0] == 0


def test_what_stands_after_two_dashes_is_a_file(go: Go, folder: Path) -> None:
    (folder / "-a.gate").write_text(GOOD)
    assert go("check", "--", "-a.gate")[0] == 0
    assert go("check", "--format", "json", "--", "-a.gate", "--format")[0] == 2


def test_a_fault_of_callgate_itself_is_one_line_and_status_2(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise KeyError("no")

    monkeypatch.setattr("callgate.engine.cli.explain._list", broken)
    status, _, err = go("explain")
    assert status == 2
    assert err.startswith("callgate: internal error: KeyError: 'no'\n")


def test_an_interrupted_command_ends_with_130(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("callgate.engine.cli.explain._list", interrupted)
    assert go("explain") == (130, "", "")


# check --------------------------------------------------------------------------------------------


def test_check_of_sound_files_says_only_what_it_read(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text(GOOD)
    assert go("check", "a.gate") == (0, "", "1 file, 1 rule, 1 test: no errors, no warnings\n")


def test_check_reports_every_error_of_every_file_in_one_run(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text(BROKEN)
    (folder / "b.gate").write_text(BROKEN)
    status, out, err = go("check", ".")
    assert status == 1
    for place in ("a.gate:2", "a.gate:3", "a.gate:5", "b.gate:2", "b.gate:3", "b.gate:5"):
        assert f"--> {place}:" in out
    assert err.startswith("2 files, ")
    assert err.endswith(": 6 errors, no warnings\n")


def test_check_takes_the_gate_files_of_a_folder_sorted_and_each_once(go: Go, folder: Path) -> None:
    for name in ("rules/b.gate", "rules/a.gate", "rules/c.txt", "rules/deep/d.gate"):
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text("famly x\n")
    (folder / "rules/e.gate").mkdir()
    status, out, _ = go("check", "--format", "json", "rules", "rules/b.gate", "./rules")
    assert status == 1
    assert [each["file"] for each in json.loads(out)] == ["rules/a.gate", "rules/b.gate"]


def test_check_runs_the_tests(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text(FAILS)
    status, out, err = go("check", "a.gate")
    assert status == 1
    assert out.count("error[G402]") == 2
    assert err == "1 file, 1 rule, 3 tests: 2 errors, no warnings\n"


def test_warnings_are_no_errors(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text('tool bash {\n  allow when /command matches "ls"\n}\n')
    status, out, err = go("check", "a.gate")
    assert status == 0
    assert "warning[G311]" in out
    assert err == "1 file, 1 rule, no tests: no errors, 1 warning\n"


def test_check_against_tools_finds_fields_that_are_not_there(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text("tool edit {\n  alias /pth from file_path\n}\n")
    (folder / "tools.yaml").write_text(
        "edit:\n  {type: object, properties: {path: {}}, additionalProperties: false}\n"
    )
    assert go("check", "a.gate")[0] == 0
    status, out, _ = go("check", "a.gate", "--tools", "tools.yaml")
    assert status == 1
    assert "did you mean `/path`?" in out


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_machine_formats_have_standard_output_to_themselves(go: Go, folder: Path, form: str) -> None:
    (folder / "größe.gate").write_text(BROKEN)
    status, out, err = go("check", "größe.gate", "--format", form)
    assert status == 1
    assert err.endswith("3 errors, no warnings\n")
    if form == "json":
        assert [each["span"]["line"] for each in json.loads(out)] == [2, 3, 5]
    elif form == "sarif":
        log = json.loads(out)
        assert log["version"] == "2.1.0"
        assert len(log["runs"][0]["results"]) == 3
    else:
        assert [line[:24] for line in out.splitlines()] == ["::error file=größe.gate,l"[:24]] * 3
    (folder / "good.gate").write_text(GOOD)
    status, out, _ = go("check", "good.gate", "--format", form)
    assert status == 0
    assert out == "" if form == "github" else json.loads(out) is not None


def test_a_file_that_cannot_be_read_does_not_hide_the_others(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text(BROKEN)
    (folder / "latin.gate").write_bytes(b"# \xe9\n")
    status, out, err = go("check", "none.gate", "a.gate", "latin.gate", "tools.json")
    assert status == 2
    assert out.count("error[") == 3
    assert "callgate: none.gate: cannot be read: No such file or directory\n" in err
    assert "callgate: latin.gate: is no UTF-8 text, at byte 2\n" in err
    assert "callgate: tools.json: is no rule file" in err


def test_names_of_files_cannot_command_the_terminal(go: Go) -> None:
    status, _, err = go("check", "a\x1b[31m.gate")
    assert status == 2
    assert "\x1b" not in err


# test ---------------------------------------------------------------------------------------------


def test_test_lists_every_test_with_what_differs(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text(FAILS)
    (folder / "b.gate").write_text(GOOD)
    assert go("test", "a.gate", "b.gate") == (
        1,
        "a.gate\n"
        "  ok       holds\n"
        "  FAILED   has the wrong value\n"
        "           the arguments differ (line 9)\n"
        '           /path: wanted "/b", got "/a"\n'
        "  FAILED   has the wrong outcome\n"
        "           wanted denied, got valid (line 13)\n"
        "b.gate\n"
        "  ok       an alias\n",
        "4 tests: 2 ok, 2 failed\n",
    )


def test_test_says_nothing_about_the_rest_of_a_file(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text('tool bash {\n  allow when /command matches "ls"\n}\n')
    assert go("test", "a.gate") == (0, "", "no tests\n")


def test_tests_of_rules_with_errors_are_not_run(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text(FAILS + "famly x\n")
    status, out, err = go("test", "a.gate")
    assert (status, out) == (2, "")
    assert "a.gate:16:1" in err
    assert "no test was run" in err


def test_a_test_of_turns_is_listed_like_others(go: Go, folder: Path) -> None:
    turn = "user\n  finish completion expect"
    (folder / "a.gate").write_text(
        f'test "x" {{\n  {turn} rejected\n}}\ntest "y" {{\n  {turn} accepted\n}}\n'
    )
    status, out, err = go("test", "a.gate")
    assert status == 1
    assert out.startswith("a.gate\n  ok       x\n  FAILED   y\n")
    assert err == "2 tests: 1 ok, 1 failed\n"


# fmt ----------------------------------------------------------------------------------------------


def test_fmt_lays_a_file_out_and_keeps_comments_and_mode(go: Go, folder: Path) -> None:
    path = folder / "a.gate"
    path.write_text(PLAIN)
    path.chmod(0o640)
    assert go("fmt", "a.gate") == (0, "", "1 file formatted, 0 unchanged\n")
    assert path.read_text() == LAID_OUT
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(folder) == ["a.gate"]


def test_fmt_does_not_touch_a_file_that_is_laid_out(go: Go, folder: Path) -> None:
    path = folder / "a.gate"
    path.write_text(LAID_OUT)
    os.utime(path, (1, 1))
    assert go("fmt", "a.gate") == (0, "", "no files formatted, 1 unchanged\n")
    assert path.stat().st_mtime == 1


def test_fmt_check_names_what_would_change_and_changes_nothing(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text(PLAIN)
    (folder / "b.gate").write_text(LAID_OUT)
    assert go("fmt", "--check", ".") == (1, "a.gate\n", "1 file would change, 1 unchanged\n")
    assert (folder / "a.gate").read_text() == PLAIN
    assert go("fmt", "--check", "b.gate")[0] == 0


def test_fmt_of_standard_input_writes_to_standard_output(go: Go) -> None:
    assert go("fmt", "-", stdin=PLAIN.encode()) == (0, LAID_OUT, "")
    assert go("fmt", "-", "--check", stdin=PLAIN.encode()) == (1, "", "")
    assert go("fmt", "-", "--check", stdin=LAID_OUT.encode()) == (0, "", "")
    assert go("fmt", "-", stdin=b"") == (0, "", "")
    status, out, err = go("fmt", "-", stdin=BROKEN.encode() + b'note "x\n')
    assert (status, out) == (1, "")
    assert "<stdin>:" in err


def test_fmt_leaves_a_file_with_syntax_errors_alone_and_does_the_others(go: Go, folder: Path) -> None:
    (folder / "a.gate").write_text('tool  edit {\n  alias "x\n}\n')
    (folder / "b.gate").write_text(PLAIN)
    (folder / "latin.gate").write_bytes(b"# \xe9\n")
    status, out, err = go("fmt", ".")
    assert (status, out) == (1, "")
    assert "a.gate:2:" in err
    assert "callgate: a.gate: left as it is" in err
    assert "callgate: latin.gate: is no UTF-8 text, at byte 3" in err
    assert (folder / "a.gate").read_text() == 'tool  edit {\n  alias "x\n}\n'
    assert (folder / "b.gate").read_text() == LAID_OUT


def test_fmt_keeps_the_line_ends_of_a_file_and_drops_a_byte_order_mark(go: Go, folder: Path) -> None:
    path = folder / "a.gate"
    path.write_bytes(b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode())
    assert go("fmt", "a.gate")[0] == 0
    assert path.read_bytes() == LAID_OUT.replace("\n", "\r\n").encode()
    assert go("fmt", "--check", "a.gate")[0] == 0


def test_fmt_follows_a_symbolic_link(go: Go, folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "real" / "a.gate").write_text(PLAIN)
    (folder / "link.gate").symlink_to("real/a.gate")
    assert go("fmt", "link.gate")[0] == 0
    assert (folder / "link.gate").is_symlink()
    assert (folder / "real" / "a.gate").read_text() == LAID_OUT


def test_fmt_that_cannot_write_leaves_the_file_and_nothing_beside_it(
    go: Go, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.gate").write_text(PLAIN)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    status, _, err = go("fmt", "a.gate")
    assert status == 2
    assert "callgate: a.gate: No space left on device" in err
    assert (folder / "a.gate").read_text() == PLAIN
    assert os.listdir(folder) == ["a.gate"]


def test_fmt_never_writes_a_layout_that_means_something_else(
    go: Go, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.gate").write_text(PLAIN)
    monkeypatch.setattr("callgate.grammar.printer.print_file", lambda _: "tool other {\n}\n")
    status, _, err = go("fmt", "a.gate")
    assert status == 1
    assert "would change its meaning" in err
    assert (folder / "a.gate").read_text() == PLAIN


# explain ------------------------------------------------------------------------------------------


def test_explain_has_a_page_for_every_code(go: Go) -> None:
    for code, page in CODES.items():
        status, out, err = go("explain", code.lower())
        assert (status, err) == (0, "")
        assert out.startswith(f"{code}: {page.title} ({page.severity.value})\n")
        assert " ".join(page.explanation.split()) in " ".join(out.split())


def test_explain_has_a_page_for_every_kind_with_its_examples(go: Go) -> None:
    for word, kind in kinds().items():
        status, out, _ = go("explain", word)
        assert status == 0
        assert out.startswith(word)
        assert all(example.rule in out for example in kind.examples)
        assert kind.note in out


def test_explain_says_how_a_statement_is_written(go: Go) -> None:
    status, out, _ = go("explain", "use")
    assert status == 0
    assert out.startswith("use NAME")


def test_explain_lists_everything_that_it_can_explain(go: Go) -> None:
    status, out, _ = go("explain")
    assert status == 0
    assert all(f"  {name} " in out for name in (*CODES, *kinds(), "use", "test"))


@pytest.mark.parametrize(("given", "near"), [("allias", "alias"), ("G1044", "G104"), ("palete", "palette")])
def test_explain_proposes_the_nearest_name(go: Go, given: str, near: str) -> None:
    status, out, err = go("explain", given)
    assert (status, out) == (2, "")
    assert f"did you mean `{near}`?" in err
