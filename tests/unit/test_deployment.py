"""Deployments: loading, loading anew with the last good set kept, other tools, sessions over several sets."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import callgate
from callgate import Deployment, DeploymentError
from callgate.engine.cli.main import main
from callgate.engine.files import Files
from callgate.engine.logfile import FileSink

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
GOOD = "tool read { alias /path from file_path }"
CALLS = """tool read {
  structural "shout" "" call fn when present /path
  test "t" {
    call {"path": "/a"}
    expect valid
  }
}
"""  # and each load of it calls the function


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder / "deployment.yaml"


def deployment(folder: Path, *, head: str = "default: allow", **files: str) -> Path:
    named = {f"rules/{name}.gate": text for name, text in files.items()}
    settings = head + "\nrules: ['./rules/*.gate']\ntools: ./tools.json\nreload: {quiet-ms: 10}\n"
    return write(folder, {"deployment.yaml": settings, "tools.json": json.dumps({"read": SCHEMA}), **named})


def within(seconds: float, holds: Callable[[], object]) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.01)
    return False


def refused(path: Path, **options: Any) -> DeploymentError:
    with pytest.raises(DeploymentError) as caught:
        callgate.load(path, **options)
    return caught.value


# Loading


def test_a_deployment_is_an_engine(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        verdict = engine.check("read", {"file_path": "/a"})
        assert (verdict.arguments, verdict.engine) == ({"path": "/a"}, engine.digest)
        assert engine.check_text("read", '{"file_path": "/a"}').arguments == {"path": "/a"}
        assert engine.status.files == (
            str(tmp_path / "deployment.yaml"),
            str(tmp_path / "rules/a.gate"),
            str(tmp_path / "tools.json"),
        )
        assert (engine.status.loads, engine.status.failures, engine.status.error) == (1, 0, None)


def test_what_decides_is_in_the_digest(tmp_path: Path) -> None:
    digests = set()
    for number, head in enumerate(
        (
            "default: allow",
            "default: deny",
            "default: deny\nwhy: x",
            "default: allow\npolicy: recover",
            "default: allow\nmodels: {a: b}",
            "default: allow\nlimits: {depth: 9}",
            "default: allow\ncwd: /x",
        )
    ):
        with callgate.load(deployment(tmp_path / str(number), head=head, a=GOOD)) as engine:
            digests.add(engine.digest)
    assert len(digests) == 7
    with callgate.load(deployment(tmp_path / "again", a=GOOD)) as engine:
        assert engine.digest in digests  # whatever its folder is called


@pytest.mark.parametrize(
    ("default", "outcome", "why"),
    [
        ("default: allow", "valid", ""),
        ("default: deny", "denied", "the deployment denies such calls"),
        ("default: ask\nwhy: who knows", "asked", "who knows"),
    ],
)
def test_the_default_of_the_deployment_wins(tmp_path: Path, default: str, outcome: str, why: str) -> None:
    other = 'default deny "the file"' if outcome == "valid" else "default allow"
    with callgate.load(deployment(tmp_path, head=default, a=f"{other}\n{GOOD}")) as engine:
        verdict = engine.check("read", {"path": "/a"})
        assert verdict.outcome.value == outcome
        assert why in (verdict.reason or "")


def test_the_settings_reach_the_rules(tmp_path: Path) -> None:
    head = "default: allow\nlet: {top: /srv}\nmodels: {acme/fast: kimi-k2}\nlimits: {depth: 3}"
    rules = 'let top = "/"\ntool read { alias /path from fp for "kimi"; deny "out" unless /path under top }'
    with callgate.load(deployment(tmp_path, head=head, a=rules)) as engine:
        assert engine.check("read", {"fp": "/srv/a"}, model="acme/fast").arguments == {"path": "/srv/a"}
        assert engine.check("read", {"fp": "/srv/a"}).outcome.value == "unrepairable"
        assert engine.check("read", {"path": "/etc/a"}).outcome.value == "denied"
        assert engine.check("read", {"path": [[[["x"]]]]}).code == "limit"


def test_rule_files_come_once_in_the_order_of_the_patterns(tmp_path: Path) -> None:
    path = deployment(tmp_path, b='tool read { deny "b" }', a='tool read { deny "a" }')
    text = path.read_text().replace(
        "['./rules/*.gate']", "[./rules/b.gate, './rules/*.gate', rules/../rules/a.gate]"
    )
    path.write_text(text)
    with callgate.load(path) as engine:
        assert engine.check("read", {"path": "x"}).reason == "b"
        assert len(engine.engine.rules.rules) == 2


def test_tools_and_hooks_of_the_host(tmp_path: Path) -> None:
    tools = {"read": {**SCHEMA, "properties": {"where": {"type": "string"}}, "required": ["where"]}}
    path = deployment(tmp_path, a="tool read { alias /where from file_path }")
    prepare = {"read": lambda sent: {"where": sent["elsewhere"]} if "elsewhere" in sent else sent}
    with callgate.load(path, tools=tools, prepare=prepare) as engine:
        assert engine.check("read", {"file_path": "/a"}).arguments == {"where": "/a"}
        assert engine.check("read", {"elsewhere": "/b"}).arguments == {"where": "/b"}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"deployment.yaml": "rules: []"}, "`default` must be stated"),
        ({"deployment.yaml": "default: allow\nrules: [./no.gate]"}, "no.gate: cannot be read"),
        ({"deployment.yaml": "default: allow\nrules: ['./no/*.gate']"}, "no file fits `./no/*.gate`"),
        ({"deployment.yaml": "default: allow\ntools: ./no.json"}, "no.json: cannot be read"),
        ({"deployment.yaml": "default: allow\ntools: ./t.json", "t.json": "{"}, "t.json: is no JSON"),
        (
            {"deployment.yaml": "default: allow\ntools: ./t.json", "t.json": "3"},
            "names with schemas, or a list",
        ),
        (
            {"deployment.yaml": "default: allow\ntools: ./t.json", "t.json": '{"a": {"type": 3}}'},
            "tools cannot be",
        ),
        ({"deployment.yaml": "default: allow\npacks: [nowhere]"}, "there is no pack `nowhere`"),
        ({"deployment.yaml": "default: allow\npacks: [nowhere]"}, "write its path (`./nowhere.gate`), or"),
        ({"deployment.yaml": "default: allow\nrules: [rules]", "rules/a.gate": ""}, "write `rules/*.gate`"),
        ({"deployment.yaml": "default: allow\ncwd: /a\nlet: {cwd: /b}"}, "`let.cwd` is said by `cwd`, too"),
        ({"deployment.yaml": "default: allow\npacks: [./nowhere.gate]"}, "nowhere.gate"),
        ({"deployment.yaml": "default: allow\nlet: {nobody: 3}"}, "no file has a `let` of this name"),
        ({"deployment.yaml": "default: allow\nstate: mysql://x"}, "`state` cannot be used"),
        ({"deployment.yaml": "default: allow\nrules: [./b.gate]", "b.gate": "tool t {"}, "b.gate:1"),
        (
            {
                "deployment.yaml": "default: allow\nrules: [./b.gate]",
                "b.gate": 'test "x" { call t {}\nexpect denied }',
            },
            "fails",
        ),
    ],
)
def test_what_cannot_be_loaded_is_said_with_its_place(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    error = refused(write(tmp_path, files))
    assert said in str(error)
    assert str(tmp_path) in str(error)


def test_everything_that_is_wrong_with_the_files_is_said_at_once(tmp_path: Path) -> None:
    files = {
        "deployment.yaml": "default: allow\nrules: [./no.gate, ./a.gate]\ntools: ./t.json",
        "a.gate": "\xff",
        "t.json": "[",
    }
    (tmp_path / "a.gate").write_bytes(b"\xff")
    del files["a.gate"]
    found = refused(write(tmp_path, files)).diagnostics
    assert [(each.code, each.span.line) for each in found] == [("G706", 2), ("G706", 2), ("G706", 3)]


def test_what_is_wrong_with_settings_rules_tools_and_store_is_said_in_one_run(tmp_path: Path) -> None:
    files = {
        "deployment.yaml": "default: maybe\nrules: [./a.gate]\ntools: ./t.json\nstate: foo://x\nlet: {zz: 1}",
        "a.gate": "tool read { alow }",
        "t.json": '{"read": {"type": 3}}',
    }
    found = refused(write(tmp_path, files)).diagnostics
    assert [each.code for each in found] == ["G704", "G704", "G704", "G114", "G101"]
    assert [each.file == str(tmp_path / "a.gate") for each in found] == [False] * 4 + [True]
    files["deployment.yaml"] = files["deployment.yaml"].replace("[./a.gate]", "[./a.gate, ./no.gate]")
    found = refused(write(tmp_path, files)).diagnostics  # which may have the `let`
    assert sorted(each.code for each in found) == ["G101", "G704", "G704", "G704", "G706"]


@pytest.mark.parametrize(
    ("packs", "code"), [("./gone.gate", "G505"), ("gone", "G509"), ("./gone", "G509"), ("gone@x", "G502")]
)
def test_what_follows_from_a_pack_that_is_missing_is_not_said_beside_it(
    tmp_path: Path, packs: str, code: str
) -> None:
    rules = """
preset gone/p for gone/f
disable alias because "x"
let own = "/y"
palette x for gone/fam { offer read }
tool read {
  deny "x" when /path under gone/root
  alias /path from fp for gone/fam
}
"""
    (tmp_path / "gone").mkdir()
    head = f"default: deny\npacks: ['{packs}']\nlet: {{root: /x}}"
    path = deployment(tmp_path, head=head, a=rules)
    assert [each.code for each in refused(path).diagnostics] == [code]
    path.write_text(path.read_text().replace(f"packs: ['{packs}']", ""))
    codes = {each.code for each in refused(path).diagnostics}
    assert codes == {"G106", "G107", "G114", "G304"}  # without it they are wrong


GIVEN = """let v = %s
tool read {
  deny "no" %s
}
"""


@pytest.mark.parametrize(
    ("own", "test", "value", "code", "message"),
    [
        ('"/"', "unless /path under v", "${NOBODY:-}", "G309", "`v` is no text"),
        ('"/"', "unless /path under v", "5", "G309", "`v` is no text"),
        ('"/"', "unless /path under v", "~/x", "G309", "nothing is certain to be under `~/x`"),
        ('"x"', "when /path matches v", "'(unclosed'", "G308", "not a regular expression"),
        ('["a"]', "when /path in v", "5", "G307", "`v` is no list"),
        ('["a"]', "when /path in v", "[1, 2]", "G310", "nothing in this list is ever equal to `/path`"),
    ],
)
def test_a_given_value_is_checked_as_the_let_that_it_replaces(
    tmp_path: Path, own: str, test: str, value: str, code: str, message: str
) -> None:
    rules = GIVEN % (own, test)
    path = deployment(tmp_path, head=f"default: deny\nlet:\n  x: 1\n  v: {value}", a="let x = 1", b=rules)
    if code == "G310":
        with callgate.load(path) as engine:
            (found,) = engine.warnings
    else:
        (found,) = refused(path).diagnostics
    assert (found.code, found.file, found.span.line) == (code, str(path), 4)
    assert message in found.message
    assert f"{tmp_path / 'rules/b.gate'}:3 uses it" in found.help


@pytest.mark.parametrize("path", [3, None, b"x", "\ud800"])
def test_a_path_that_is_none(path: Any) -> None:
    with pytest.raises(callgate.InputError, match=r"named by its path|no path can"):
        callgate.load(path)


def broken_tools() -> Any:
    yield {"name": "read", "parameters": {}}
    raise ValueError("of the host")


@pytest.mark.parametrize(
    "given",
    [
        {"prepare": 5},
        {"prepare": {"read": 5}},
        {"prepare": {5: print}},
        {"functions": 5},
        {"functions": {"f": 5}},
        {"policies": 5},
        {"policies": [5]},
        {"tools": broken_tools},
        {"log": "x.jsonl"},
        {"telemetry": 5},
        {"watch": "no"},
    ],
)
def test_arguments_of_another_type_are_refused_at_once(tmp_path: Path, given: dict[str, Any]) -> None:
    path = deployment(tmp_path, a="")
    ((name, value),) = given.items()
    given = {name: value()} if callable(value) else given
    with pytest.raises(callgate.InputError, match="given" if name == "tools" else f"`{name}`|policy"):
        callgate.load(path, **given)
    if name in ("prepare", "functions", "policies"):
        with pytest.raises(callgate.InputError, match=f"`{name}`|policy"):
            callgate.compile("", **given)


def test_a_pack_that_is_a_link_that_leads_nowhere_is_no_other_pack(tmp_path: Path) -> None:
    path = deployment(tmp_path, a="use common")
    assert callgate.load(path).packs[0].startswith("common@")
    (tmp_path / "rules/common.gate").symlink_to("gone")
    assert "rules/common.gate: cannot be read: No such file" in str(refused(path))


def test_a_rule_file_of_zeros_is_one_error(tmp_path: Path) -> None:
    path = deployment(tmp_path, a=GOOD + "\0" * 200_000)
    began = time.monotonic()
    (one,) = refused(path).diagnostics
    assert (one.code, one.message) == (
        "G706",
        f"{tmp_path}/rules/a.gate: is no text, byte {len(GOOD)} is zero",
    )
    assert time.monotonic() - began < 3


def test_of_very_many_errors_the_first_are_said_and_the_rest_is_counted(tmp_path: Path) -> None:
    path = deployment(tmp_path, **{f"r{number}": "bad x\n" * 40 for number in range(4)})
    (tmp_path / "rules/r0.gate").write_text("bad x\n" * 40 + 'disable "x" until 2020-01-01\n')
    error = refused(path)
    assert len(error.diagnostics) > 160
    assert error.text.endswith(f"\nand {len(error.diagnostics) - 100} more")
    assert error.text.count("error[") == 100


@pytest.mark.parametrize("where", ["{}", "limits: {{{}}}", "packs: [{}]"])
def test_a_deployment_of_nothing_but_errors_is_refused_soon(tmp_path: Path, where: str) -> None:
    each = "1" if where.startswith("packs") else "zz{}: 1"
    between = "\n" if where == "{}" else ", "
    text = where.format(between.join(each.format(number) for number in range(4000)))
    path = write(tmp_path, {"deployment.yaml": f"default: deny\n{text}\nrules: 3\n"})
    began = time.monotonic()
    error = refused(path)
    assert time.monotonic() - began < 5
    assert "at least 100 settings are wrong" in error.text
    assert len(error.diagnostics) < 110


@pytest.mark.parametrize(
    ("settings", "each", "rules"),
    [("packs: [{}]", '"p{}@zz"', ""), ("let: {{{}}}", "a{}: 1", "bad x\n" * 6000)],
)
def test_what_an_error_costs_does_not_grow_with_the_others(
    tmp_path: Path, settings: str, each: str, rules: str
) -> None:
    text = settings.format(", ".join(each.format(number) for number in range(6000)))
    files = {"deployment.yaml": f"default: deny\nrules: [a.gate]\n{text}\n", "a.gate": rules}
    path = write(tmp_path, files)
    began = time.process_time()
    error = refused(path)
    assert time.process_time() - began < 3
    assert len(error.diagnostics) >= 6000
    assert all(found.span.line == 3 for found in error.diagnostics if found.file == str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "deployment.yaml: cannot be read: No such file" in str(refused(tmp_path / "deployment.yaml"))


def test_a_deployment_file_that_cannot_be_read_is_told_with_its_name_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "binary.yaml").write_bytes(b"\xff\x00")
    for name, why in (("no", "No such file"), ("folder", "Is a directory"), ("binary", "no UTF-8 text")):
        (found,) = refused(tmp_path / f"{name}.yaml").diagnostics
        assert (found.code, found.file) == ("G706", str(tmp_path / f"{name}.yaml"))
        assert why in found.message
        assert "let this process read it" in found.help
    with pytest.raises(callgate.InputError, match="holds a NUL"):
        callgate.load("a\0.yaml")


def test_tools_in_yaml_are_read_as_the_deployment_is(tmp_path: Path) -> None:
    schema = """switch:
  type: object
  properties: &shared
    state: {type: string, enum: [on, off]}
    mode: {enum: [0755, 12:30, 2026-11-30, "5"]}
    on: {const: 5}
  required: [state]
other: {properties: {<<: *shared, on: {const: true}}}
"""
    path = write(tmp_path, {"deployment.yaml": "default: allow\ntools: ./t.yaml", "t.yaml": schema})
    with callgate.load(path) as engine:
        for mode in ("0755", "12:30", "2026-11-30", "5"):
            assert engine.check("switch", {"state": "on", "mode": mode, "on": 5}).allowed
        assert engine.check("other", {"on": True}).allowed
        assert not engine.check("other", {"on": 5}).allowed
    for text in ("a: !!bool x", "a: !!timestamp x", "a: !<word> [x]", "a: 1\n'a': 2"):
        (tmp_path / "t.yaml").write_text(text)
        with pytest.raises(DeploymentError, match=r"t\.yaml: is no YAML"):
            callgate.load(path)


def test_a_disable_past_its_day_holds_and_is_told(tmp_path: Path) -> None:
    rules = 'disable repair.enum-case because "x" until 2020-01-01'
    with callgate.load(deployment(tmp_path, a=rules)) as engine:
        assert engine.status.expired == (f"{tmp_path / 'rules/a.gate'}:1",)


def test_a_disable_that_ends_while_nothing_is_loaded_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Later:
            return cls(2999, 1, 2, tzinfo=tz)

    rules = '\ndisable repair.enum-case because "x" until 2999-01-01'
    with callgate.load(deployment(tmp_path, a=rules)) as engine:
        assert engine.status.expired == ()
        monkeypatch.setattr("callgate.engine.deploying.datetime", Later)
        assert engine.status.expired == (f"{tmp_path / 'rules/a.gate'}:2",)


# Loading anew


def test_an_edit_is_in_force_after_a_reload(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        before = engine.digest
        write(tmp_path, {"rules/b.gate": "tool read { alias /path from fp }"})
        status = engine.reload()
        assert (status.loads, status.failures, status.error) == (2, 0, None)
        assert status.digest == engine.digest != before
        assert engine.check("read", {"fp": "/a"}).engine == engine.digest


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"rules/a.gate": "tool read { alias /path form x }"}, "a.gate:1:25"),
        ({"rules/a.gate": "tool read {"}, "a.gate:1"),
        ({"rules/a.gate": GOOD + '\ntest "x" { call read {}\nexpect denied }'}, "test `x` fails"),
        ({"deployment.yaml": "default: deny\nrulz: []"}, "deployment.yaml:2"),
        ({"tools.json": "{"}, "tools.json: is no JSON"),
        (
            {"tools.json": '{"read": {"properties": {"other": {}}, "additionalProperties": false}}'},
            "no field `path`",
        ),
    ],
)
def test_after_a_broken_edit_the_last_good_set_stays_and_says_so(
    tmp_path: Path, broken: dict[str, str], said: str
) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        good, since = engine.digest, engine.status.since
        kept = {name: (tmp_path / name).read_text() for name in broken}
        write(tmp_path, broken)
        status = engine.reload()
        assert (status.digest, status.since, status.loads, status.failures) == (good, since, 1, 1)
        assert status.stale_since is not None
        assert said in (status.error or "")
        assert engine.check("read", {"file_path": "/a"}).arguments == {"path": "/a"}
        first = status.stale_since
        assert engine.reload().stale_since == first  # since the first failure
        write(tmp_path, kept)
        status = engine.reload()
        assert (status.digest, status.stale_since, status.error) == (good, None, None)


def test_a_file_that_is_gone_keeps_the_last_good_set(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        (tmp_path / "deployment.yaml").unlink()
        assert "deployment.yaml: cannot be read" in (engine.reload().error or "")
        assert engine.check("read", {"file_path": "/a"}).allowed


def test_without_keep_last_good_nothing_is_allowed_until_it_is_mended(tmp_path: Path) -> None:
    path = deployment(tmp_path, a=GOOD)
    path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 10, keep-last-good: false"))
    with callgate.load(path) as engine:
        good = engine.digest
        write(tmp_path, {"rules/a.gate": "tool"})
        assert engine.reload().digest != good
        verdict = engine.check("read", {"path": "/a"})
        assert (verdict.outcome.value, verdict.engine) == ("denied", engine.digest)
        assert "could not be loaded" in (verdict.reason or "")
        assert "again" not in (verdict.retry_message or "")
        assert "it may pass then" in (verdict.retry_message or "")
        write(tmp_path, {"rules/a.gate": GOOD})
        assert engine.reload().digest == good
        assert engine.check("read", {"path": "/a"}).allowed


def test_refresh_reads_only_where_something_changed(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        assert engine.refresh().loads == 1
        os.utime(tmp_path / "rules/a.gate")
        assert engine.refresh().loads == 1
        write(tmp_path, {"rules/b.gate": ""})
        assert engine.refresh().loads == 2
        (tmp_path / "rules/b.gate").unlink()
        assert engine.refresh().loads == 3
        write(tmp_path, {"rules/a.gate": "tool"})
        assert engine.refresh().failures == 1
        write(tmp_path, {"rules/a.gate": GOOD})
        assert engine.refresh().error is None


def test_whatever_was_wrong_is_looked_at_again_until_it_is_mended(tmp_path: Path) -> None:
    own = 'pack own "1.0.0"\ntool read { alias /path from zzz }'
    write(tmp_path, {"own.gate": own})
    path = deployment(tmp_path, head="default: allow\npacks: [./own.gate]", a="")
    with callgate.load(path) as engine:
        (tmp_path / "own.gate").unlink()
        assert engine.refresh().error
        write(tmp_path, {"own.gate": own})
        assert engine.refresh().error is None


def test_a_fault_that_nobody_foresaw_is_a_failed_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        with monkeypatch.context() as patched:
            patched.setattr("callgate.engine.deployment.build", lambda *_: 1 / 0)
            assert "ZeroDivisionError" in (engine.reload().error or "")
        assert engine.check("read", {"file_path": "/a"}).allowed
        assert engine.reload().error is None


def test_what_runs_inside_of_a_load_asks_for_another_look_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        puts = Deployment._put

        def put(*given: Any, **more: Any) -> None:
            if engine.status.loads == 2:  # as a handler of a signal does, when all is read
                write(tmp_path, {"rules/a.gate": 'tool read { deny "later" }'})
            assert engine.reload().error is None
            puts(*given, **more)

        monkeypatch.setattr(Deployment, "_put", put)
        write(tmp_path, {"rules/a.gate": 'tool read { deny "sooner" }'})
        assert engine.reload().loads == 3
        assert engine.check("read", {"path": "/a"}).reason == "later"


def test_what_runs_inside_of_a_load_gives_no_other_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        monkeypatch.setattr("callgate.engine.deployment.build", lambda *_: engine.set_tools(None))
        assert "inside of its own loads" in (engine.reload().error or "")


@pytest.fixture
def alarm() -> Iterator[Callable[[Any], None]]:
    """Sets what handles a signal that comes in a tenth of a second."""
    before = signal.getsignal(signal.SIGALRM)

    def comes(handler: Any) -> None:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)

    yield comes
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such signal")
@pytest.mark.parametrize("keep", ["true", "false"])
def test_a_handler_of_a_signal_that_loads_does_no_harm_to_the_load_that_it_came_into(
    tmp_path: Path, alarm: Callable[[Any], None], keep: str
) -> None:
    path = deployment(tmp_path, a=GOOD)
    path.write_text(path.read_text().replace("quiet-ms: 10", f"quiet-ms: 300, keep-last-good: {keep}"))
    with callgate.load(path) as engine:
        write(tmp_path, {"rules/a.gate": 'tool read { deny "new" }'})
        said = []
        alarm(lambda *_: said.append(engine.reload()))
        status = engine.reload()
        assert (status.error, status.failures, len(said)) == (None, 0, 1)
        assert engine.check("read", {"path": "/a"}).reason == "new"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such signal")
@pytest.mark.parametrize("place", ["waits", "builds"])
@pytest.mark.parametrize("named", [True, False])
def test_what_a_handler_of_a_signal_raises_goes_on_to_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alarm: Callable[[Any], None], place: str, named: bool
) -> None:
    path = deployment(tmp_path, a=GOOD)
    path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 1000"))

    def over() -> None:
        raise TimeoutError("of the host")

    def late(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        over()

    with callgate.load(path) as engine:
        write(tmp_path, {"rules/a.gate": 'tool read { deny "new" }'})
        with monkeypatch.context() as patched:
            if place == "builds":
                patched.setattr("callgate.engine.deployment.build", lambda *_: time.sleep(5))
            alarm(late if named else lambda *_: over())
            began = time.monotonic()
            with pytest.raises(TimeoutError, match="of the host"):
                engine.reload()
            assert time.monotonic() - began < 0.9
        assert (engine.status.error, engine.status.failures) == (None, 0)
        assert engine.refresh().error is None
        assert engine.check("read", {"path": "/a"}).reason == "new"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such signal")
def test_what_a_handler_raises_while_it_is_seen_what_changed_goes_on_to_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alarm: Callable[[Any], None]
) -> None:
    def late(_number: int, _frame: object) -> None:
        raise TimeoutError("of the host")

    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        with monkeypatch.context() as patched:
            patched.setattr(Files, "unchanged", lambda _: time.sleep(1))
            alarm(late)
            with pytest.raises(TimeoutError, match="of the host"):
                engine.refresh()
        assert (engine.refresh().loads, engine.status.failures) == (1, 0)


def test_a_function_that_looks_at_its_caller_is_no_handler_of_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_: object) -> None:
        caller = sys._getframe(1)
        raise LookupError(caller.f_lineno)

    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        monkeypatch.setattr("callgate.engine.deployment.build", build)
        assert "LookupError" in (engine.reload().error or "")


@pytest.mark.parametrize("ends", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_is_no_failed_load(tmp_path: Path, ends: type[BaseException]) -> None:
    def fn(_value: object) -> None:
        raise ends

    with callgate.load(deployment(tmp_path, a=GOOD), functions={"fn": fn}) as engine:
        write(tmp_path, {"rules/a.gate": CALLS})
        with pytest.raises(ends):
            engine.reload()
        assert (engine.status.error, engine.status.failures) == (None, 0)


def test_where_the_current_folder_is_gone_the_path_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = deployment(tmp_path / "there", a=GOOD)
    (tmp_path / "link").symlink_to("there/rules")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    (found,) = refused(Path("deployment.yaml")).diagnostics
    assert found.code == "G706"
    assert "deployment.yaml: cannot be found from the current folder" in found.message
    for path in (whole, tmp_path / "link/../deployment.yaml"):
        with callgate.load(path) as engine:
            assert engine.check("read", {"file_path": "/a"}).allowed


def test_the_tools_are_in_the_digest(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        before = engine.digest
        write(tmp_path, {"tools.json": json.dumps({"read": {**SCHEMA, "required": []}})})
        assert engine.reload().digest != before


def test_a_folder_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path / "proj[1]", a=GOOD)) as engine:
        assert engine.check("read", {"file_path": "/a"}).arguments == {"path": "/a"}
        assert str(tmp_path / "proj[1]") in engine.watched.folders


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
@pytest.mark.parametrize(
    "name",
    ["deployment.yaml", "tools.json", "a.gate", "own.gate", "packs/inner.gate", "s.json", "callgate.lock"],
)
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    files = {
        "deployment.yaml": "default: allow\nrules: [a.gate]\ntools: tools.json\npacks: [./own.gate, ./packs]",
        "tools.json": json.dumps({"read": SCHEMA}),
        "a.gate": 'tool read { schema "s.json" }',
        "own.gate": 'pack own "1.0.0"',
        "packs/inner.gate": 'pack inner "1.0.0"',
        "s.json": json.dumps(SCHEMA),
    }
    path = write(tmp_path, files)
    with callgate.load(path) as engine:
        (tmp_path / name).unlink(missing_ok=True)
        os.mkfifo(tmp_path / name)
        assert "no regular file" in (engine.refresh().error or "")
    assert "no regular file" in str(refused(path))


def test_each_file_is_read_once_in_a_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"own.gate": 'pack own "1.0.0"', "rules/s.json": json.dumps(SCHEMA)})
    path = deployment(tmp_path, head="default: allow\npacks: [./own.gate]", a='tool read { schema "s.json" }')
    lock(path)
    read: list[str] = []
    really = open

    def opened(name: Any, *given: Any, **more: Any) -> Any:
        read.append(os.fspath(name))
        return really(name, *given, **more)

    monkeypatch.setattr(Files, "settled", lambda _: True)  # which reads all of it again
    monkeypatch.setattr("builtins.open", opened)
    with callgate.load(path):
        mine = [name for name in read if name.startswith(str(tmp_path))]
    assert len(mine) == len(set(mine)) == 6


def test_a_deployment_file_that_is_too_large_is_not_looked_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = deployment(tmp_path, a=GOOD)
    path.write_text(path.read_text() + "# x\n" * 250_000 + "policy: nonsense\n")
    monkeypatch.setattr("yaml.compose", lambda *_: 1 / 0)
    assert f"{path}: cannot be read: it is larger than 1000000 bytes" in str(refused(path))


def test_files_that_are_used_by_rules_are_read_again_too(tmp_path: Path) -> None:
    files = {
        "rules/s.json": json.dumps(SCHEMA),
        "rules/own.gate": 'pack own "1.0.0"\ntool read { alias /path from zzz }',
    }
    write(tmp_path, files)
    path = deployment(tmp_path, a='use own\ntool read { schema "s.json" }')
    path.write_text(path.read_text().replace("./rules/*.gate", "./rules/a.gate"))
    with callgate.load(path) as engine:
        write(tmp_path, {"rules/s.json": json.dumps({**SCHEMA, "title": "x"})})
        assert engine.refresh().loads == 2
        write(tmp_path, {"rules/own.gate": files["rules/own.gate"] + "\n# x"})
        assert engine.refresh().loads == 3


@pytest.mark.parametrize(
    ("before", "after", "rules"),
    [
        ('let root = "/srv"', 'let root = "/etc"', 'tool read { deny "out" unless /path under team/root'),
        ("family f matches 'a'", "family f matches 'b'", 'tool read { deny "out" for team/f'),
    ],
)
def test_tests_are_run_again_where_another_pack_that_they_name_changed(
    tmp_path: Path, before: str, after: str, rules: str
) -> None:
    test = ' test "x" { model "b"\ncall {"path": "/srv/a"}\nexpect valid } }'
    write(tmp_path, {"team.gate": f'pack team "1.0.0"\n{before}'})
    path = deployment(tmp_path, head="default: allow\npacks: [./team.gate]", a=rules + "\n" + test)
    with callgate.load(path) as engine:
        write(tmp_path, {"team.gate": f'pack team "1.0.0"\n{after}'})
        assert "test `x` fails" in (engine.reload().error or "")
    assert "test `x` fails" in str(refused(path))


def test_what_comes_into_a_folder_of_packs_or_leaves_it_is_a_change(tmp_path: Path) -> None:
    write(tmp_path, {"packs/own.gate": 'pack own "1.0.0"'})
    path = deployment(tmp_path, head="default: allow\npacks: [./packs]", a=GOOD)
    with callgate.load(path) as engine:
        write(tmp_path, {"packs/more.gate": 'pack more "1.0.0"\ntool read { deny "more" }'})
        assert engine.refresh().packs == ("more@1.0.0", "own@1.0.0")
        assert engine.check("read", {"path": "/a"}).reason == "more"
        (tmp_path / "packs/more.gate").unlink()
        assert engine.refresh().packs == ("own@1.0.0",)
        assert str(tmp_path / "packs") in engine.watched.folders


def test_files_that_keep_changing_are_not_put_in_force(tmp_path: Path) -> None:
    path = deployment(tmp_path, a=GOOD)
    path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 200"))
    with callgate.load(path) as engine:
        good, begun, stop = engine.digest, threading.Event(), threading.Event()

        def writes() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                write(tmp_path, {"rules/a.gate": f'tool read {{ deny "{number}" }}'})
                begun.set()
                time.sleep(0.002)

        thread = threading.Thread(target=writes)
        thread.start()
        begun.wait()
        try:
            status = engine.reload()
        finally:
            stop.set()
            thread.join()
        assert status.digest == good
        assert "keep changing" in (status.error or "")


@pytest.fixture(params=["behind", "coarse", "both"])
def times(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files whose times are those of a clock that is behind ours, or are kept in whole seconds."""
    ours = time.time

    def stat(path: str) -> Any:
        found = os.stat(path)
        seconds = {name: float(int(getattr(found, name))) for name in ("st_mtime", "st_ctime")}
        whole = {f"{name}_ns": int(each) * 10**9 for name, each in seconds.items()}
        same = {name: getattr(found, name) for name in ("st_dev", "st_ino", "st_size", "st_mode")}
        return SimpleNamespace(**same, **seconds, **whole)

    if request.param != "coarse":
        monkeypatch.setattr(time, "time", lambda: ours() + 5)
    if request.param != "behind":
        monkeypatch.setattr("callgate.engine.files.os", SimpleNamespace(**{**vars(os), "stat": stat}))


@pytest.mark.parametrize("first", [True, False])
def test_what_is_written_in_pieces_is_not_put_in_force(tmp_path: Path, times: None, first: bool) -> None:
    path = deployment(tmp_path, a=GOOD)
    path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 400"))
    with callgate.load(path) as engine:
        begun = threading.Event()

        def writes() -> None:
            with open(tmp_path / "rules/a.gate", "w") as file:
                file.flush()
                begun.set()
                time.sleep(0.05)
                file.write('tool read { deny "no" }')

        thread = threading.Thread(target=writes)
        thread.start()
        begun.wait()
        if first:
            with callgate.load(path) as other:
                assert other.check("read", {"path": "/a"}).reason == "no"
        else:
            engine.reload()
            assert engine.check("read", {"path": "/a"}).reason == "no"
        thread.join()


def test_a_change_that_leaves_the_times_as_they_were_is_seen(tmp_path: Path, times: None) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        for number in range(9):
            write(tmp_path, {"rules/a.gate": f'tool read {{ deny "{number}" }}'})
            engine.refresh()
            assert engine.check("read", {"path": "/a"}).reason == str(number)


def test_for_what_nobody_touched_nothing_is_waited_for_nor_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = deployment(tmp_path, a=GOOD)
    path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 9000"))
    with callgate.load(path) as engine:
        began = time.monotonic()
        assert engine.reload().loads == 2
        assert time.monotonic() - began < 5
        monkeypatch.setattr("callgate.engine.files._TICK", 0.1)
        time.sleep(0.2)
        engine.refresh()  # from then on a change would show in the times
        monkeypatch.setattr("callgate.engine.files._content", lambda *_: 1 / 0)
        assert engine.refresh().loads == 2


# Other tools


def test_other_tools_are_checked_like_an_edit(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        wider = {"read": {**SCHEMA, "properties": {"path": {}, "limit": {"type": "integer"}}}, "list": None}
        assert engine.set_tools(wider).error is None
        assert engine.check("read", {"file_path": "/a", "limit": "5"}).arguments == {"path": "/a", "limit": 5}
        other = {"read": {"properties": {"other": {}}, "additionalProperties": False}}
        status = engine.set_tools(other)
        assert "no field `path`" in (status.error or "")
        assert engine.check("read", {"file_path": "/a", "limit": "5"}).arguments == {"path": "/a", "limit": 5}
        assert "no field `path`" in (engine.reload().error or "")  # as after an edit that is no good
        write(tmp_path, {"rules/a.gate": "tool read { alias /other from file_path }"})
        assert engine.reload().error is None
        assert engine.check("read", {"file_path": "/a"}).arguments == {"other": "/a"}
        write(tmp_path, {"rules/a.gate": GOOD})
        assert engine.set_tools(None).error is None
        assert engine.check("read", {"path": "/a"}).outcome.value == "valid"


def test_tools_that_come_while_the_files_are_bad_are_used_once_they_are_good(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        write(tmp_path, {"rules/a.gate": "tool"})
        engine.reload()
        status = engine.set_tools({"read": SCHEMA, "list": None})
        assert status.stale_since is not None
        assert engine.check("list", {}).code == "unknown-tool"
        write(tmp_path, {"rules/a.gate": GOOD})
        assert engine.refresh().error is None
        assert engine.check("list", {}).allowed


def test_what_loads_anew_while_other_tools_are_put_in_force_takes_these(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Reloads(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logger.removeHandler(self)
            said.append(engine.reload())

    logger = logging.getLogger("callgate")
    caplog.set_level(logging.INFO, "callgate")
    said: list[callgate.Status] = []
    handler = Reloads()
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        try:
            logger.addHandler(handler)
            status = engine.set_tools({"read": SCHEMA, "list": None})
        finally:
            logger.removeHandler(handler)
        assert (status.error, len(said)) == (None, 1)
        assert engine.check("list", {}).allowed


def test_tools_whose_load_is_cut_off_are_in_force_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_: object) -> None:
        raise KeyboardInterrupt

    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        with monkeypatch.context() as patched:
            patched.setattr("callgate.engine.deployment.build", build)
            with pytest.raises(KeyboardInterrupt):
                engine.set_tools({"read": SCHEMA, "list": None})
        assert engine.check("list", {}).code == "unknown-tool"
        assert engine.refresh().error is None
        assert engine.check("list", {}).allowed


@pytest.mark.parametrize(
    "tools",
    [
        3,
        {"a": {"type": 3}},
        [{"x": 1}],
        [{"name": "a", "input_schema": {}}, {"type": "a"}],
    ],
)
def test_tools_that_are_none_change_nothing(tmp_path: Path, tools: Any) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        before = engine.engine
        with pytest.raises(callgate.SchemaError):
            engine.set_tools(tools)
        assert engine.engine is before
        assert engine.reload().error is None
        assert engine.engine.tools == before.tools
    with pytest.raises(callgate.SchemaError):
        callgate.load(tmp_path / "deployment.yaml", tools=tools)


def test_of_a_schema_that_is_none_the_tool_and_the_place_are_named(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine, pytest.raises(callgate.SchemaError) as caught:
        engine.set_tools({"read": SCHEMA, "list": {"properties": {"all": {"type": "bool"}}}})
    assert str(caught.value).startswith("the schema of `list`: `/properties/all/type`: ")


# Sessions


def test_a_turn_stays_on_the_set_that_it_began_with(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        session = engine.session("one")
        session.user()
        before = session.call("read", {"file_path": "/a"}, call_id="1").engine
        write(tmp_path, {"rules/a.gate": 'tool read { deny "no" }'})
        engine.reload()
        assert session.call("read", {"file_path": "/a"}, call_id="2").engine == before
        session.user()
        verdict = session.call("read", {"path": "/a"}, call_id="3")
        assert (verdict.engine, verdict.outcome.value) == (engine.digest, "denied")


@pytest.mark.parametrize("kept", [None, "one"])
@pytest.mark.parametrize("tools", [None, {"read": SCHEMA, "list": None}])
def test_without_keep_last_good_a_turn_that_goes_on_is_denied_too(
    tmp_path: Path, kept: str | None, tools: Any
) -> None:
    path = deployment(tmp_path, a=GOOD)
    path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 10, keep-last-good: false"))
    with callgate.load(path) as engine:
        session, other = engine.session(kept, tools=tools), engine.session("other", tools=tools)
        for each in (session, other):
            each.user()
            assert each.call("read", {"path": "/a"}, call_id="1").allowed
        write(tmp_path, {"rules/a.gate": "tool"})
        engine.reload()
        for call_id in ("1", "2"):
            verdict = session.call("read", {"path": "/a"}, call_id=call_id)
            assert "could not be loaded" in (verdict.reason or "")
        write(tmp_path, {"rules/a.gate": 'tool read { deny "mended" }'})
        engine.reload()
        assert session.call("read", {"path": "/a"}, call_id="3").reason == "mended"
        assert other.call("read", {"path": "/a"}, call_id="2").reason == "mended"


GROUND = """ground {
  reads read
  mutates edit
  signal passed from test when result.ok
  require passed before completion
}
palette p { exclude shell hard }
"""


@pytest.mark.parametrize("kept", [None, "x"])
def test_without_keep_last_good_nothing_is_offered_nor_confirmed_until_it_is_mended(
    tmp_path: Path, kept: str | None
) -> None:
    path = deployment(tmp_path, a=GROUND)
    path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 10, keep-last-good: false"))
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("read", "edit", "test", "shell")]
    with callgate.load(path, tools=tools) as engine:
        session = engine.session(kept, context={"cwd": "/r"}, claim_surface=["a.cfg"])
        session.user()
        assert session.offer().names == ("read", "edit", "test")
        for call_id, tool, arguments, value in (
            ("1", "edit", {"path": "a.cfg", "newText": "t=1"}, "ok"),
            ("2", "read", {"path": "a.cfg"}, "t=1"),
        ):
            assert session.call(tool, arguments, call_id=call_id).allowed
            session.result(call_id, value)
        assert session.progress().missing_signals == ("passed",)
        write(tmp_path, {"rules/a.gate": GROUND + "tool"})
        for _ in range(2):
            assert engine.reload().error
            assert "could not be loaded" in (session.call("test", {}, call_id="3").reason or "")
            palette = session.offer()
            assert (palette.names, palette.forced, palette.tools) == ((), None, [])
            assert "could not be loaded" in (session.call("test", {}, call_id="3").reason or "")
            for claim in ("completion", "assertion", "none"):
                decision = session.finish(claim)
                assert (decision.accepted, decision.legal_next) == (False, ("unverified_terminal",))
                assert "could not be loaded" in (decision.message or "")
            assert session.progress().missing_signals == ("passed",)
        new = engine.session()
        new.user()
        assert not new.finish("none").accepted
        assert session.finish("unverified").accepted
        write(tmp_path, {"rules/a.gate": GROUND})
        assert engine.reload().error is None
        assert session.offer().names == ("read", "edit", "test")
        assert not session.finish("completion").accepted
        assert session.call("test", {}, call_id="4").allowed
        session.result("4", "fine")
        assert session.call("read", {"path": "a.cfg"}, call_id="5").allowed
        session.result("5", "t=1")
        assert session.finish("completion").accepted


def test_without_tools_nothing_is_offered_either_while_there_are_no_rules(tmp_path: Path) -> None:
    path = write(
        tmp_path, {"deployment.yaml": "default: allow\nreload: {quiet-ms: 10, keep-last-good: false}"}
    )
    with callgate.load(path) as engine:
        session = engine.session()
        session.user()
        assert session.offer().names is None
        write(tmp_path, {"deployment.yaml": "default: nonsense"})
        assert engine.reload().error
        assert session.offer().names == ()
        assert session.call("read", {}, call_id="1").outcome.value == "denied"


def test_a_turn_stays_on_its_set_however_many_come(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        session = engine.session()
        session.user()
        before = engine.digest
        for number in range(10):
            write(tmp_path, {"rules/a.gate": f'tool read {{ deny "{number}" }}'})
            engine.reload()
        assert session.call("read", {"path": "/a"}, call_id="1").engine == before


def test_a_turn_that_another_session_object_goes_on_with_stays_too(tmp_path: Path) -> None:
    path = deployment(tmp_path, head="default: allow\nstate: memory", a=GOOD)
    with callgate.load(path) as engine:
        engine.session("one").user()
        before = engine.digest
        write(tmp_path, {"rules/a.gate": 'tool read { deny "no" }'})
        engine.reload()
        assert engine.session("one").call("read", {"file_path": "/a"}, call_id="2").engine == before
        other = engine.session("two")
        other.user()
        assert other.call("read", {"path": "/a"}, call_id="2").engine == engine.digest


def test_a_restored_turn_stays_on_its_set_where_that_is_held(tmp_path: Path) -> None:
    path = deployment(tmp_path, a=GOOD)
    with callgate.load(path) as engine:
        session = engine.session("one")
        session.user()
        before = engine.digest
        kept = session.dump()
        write(tmp_path, {"rules/a.gate": 'tool read { deny "no" }'})
        engine.reload()
        restored = engine.session("one", state=kept)
        assert restored.call("read", {"file_path": "/a"}, call_id="1").engine == before
        restored.user()
        assert restored.call("read", {"path": "/a"}, call_id="2").engine == engine.digest
    with callgate.load(path) as other:  # which never had the set that the turn began with
        restored = other.session("one", state=kept)
        verdict = restored.call("read", {"path": "/a"}, call_id="1")
        assert (verdict.outcome.value, verdict.engine) == ("denied", other.digest)
        assert json.loads(restored.dump())["turn"]["rules"] == other.digest


def test_a_restored_turn_stays_on_its_set_while_that_is_among_the_last_eight(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        session = engine.session()
        session.user()
        before, kept = engine.digest, session.dump()
        for number in range(8):
            restored = engine.session(state=kept)
            assert restored.call("read", {"file_path": "/a"}, call_id="1").engine == before
            write(tmp_path, {"rules/a.gate": f'tool read {{ deny "{number}" }}'})
            engine.reload()
            engine.reload()  # which changes nothing
        assert engine.session(state=kept).call("read", {}, call_id="1").engine == engine.digest


def test_offered_tools_hold_until_others_are_offered(tmp_path: Path) -> None:
    path = deployment(tmp_path, a="")
    tools = {"write": {"type": "object", "required": ["text"]}}
    plain = callgate.compile("", tools={"read": SCHEMA})
    with callgate.load(path) as engine:
        for session in (plain.session("one"), engine.session("one"), engine.session("two", tools={"x": {}})):
            session.user()
            session.offer(tools)
            for turn in range(2):
                assert session.call("write", {"text": "a"}, call_id=f"{turn}").allowed
                assert session.call("write", {}, call_id=f"{turn} wrong").outcome.value == "unrepairable"
                assert session.call("read", {"path": "/a"}, call_id=f"{turn} gone").code == "unknown-tool"
                session.user()
                session.offer()


def test_the_models_of_a_deployment_hold_in_sessions(tmp_path: Path) -> None:
    head = "default: allow\nmodels: {acme/fast: kimi-k2}"
    path = deployment(tmp_path, head=head, a='tool read { alias /path from fp for "kimi" }')
    with callgate.load(path) as engine:
        session = engine.session(model="acme/fast")
        session.user()
        assert session.call("read", {"fp": "/a"}, call_id="1").arguments == {"path": "/a"}


def test_sessions_are_kept_in_the_store_of_the_deployment(tmp_path: Path) -> None:
    head = f"default: allow\nstate: sqlite:///{tmp_path}/gate.db"
    path = deployment(tmp_path, head=head, a="ground { mutates read }")
    with callgate.load(path) as engine:
        one = engine.session("one")
        one.user()
        one.call("read", {"path": "/a"}, call_id="1")
    with callgate.load(path) as engine:
        assert engine.session("one").progress().owed == ("/a",)


# Under load


NAMES = ("a", "b", "c")
WRITER = """
import os, sys, time
folder, locked = sys.argv[1], sys.argv[2] == "locked"
number = 0
print("ready", flush=True)
while True:
    number += 1
    version = os.path.join(folder, f"good{number % 5}")
    broken = number % 3 == 0
    names = [f"rules/{name}.gate" for name in "abc"] + ["callgate.lock"] * locked
    for name in names:
        with open(os.path.join(version, name)) as stream:
            text = stream.read()
        if broken and name == "rules/b.gate":
            text = "tool read { alias /path form x }"
        with open(os.path.join(folder, "live", name), "w") as stream:
            half = len(text) // 2
            stream.write(text[:half])
            stream.flush()
            time.sleep(0.001)
            stream.write(text[half:])
    time.sleep(float(sys.argv[3]))
"""


@pytest.fixture
def swift(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where there is one: a busy disk holds up who empties a file for longer than
    `quiet-ms`, and the file is empty all that time."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def versions(folder: Path, *, locked: bool) -> tuple[Path, set[str]]:
    """Five good versions and one that is live; the digests of the good ones."""
    digests = set()
    for number in range(5):
        files = {name: f'tool read {{ deny "{name}{number}" when /path == "{name}" }}' for name in NAMES}
        path = deployment(folder / f"good{number}", **files)
        if locked:
            assert main(["lock", str(path)]) == 0
        with callgate.load(path) as engine:
            digests.add(engine.digest)
    shutil.copytree(folder / "good0", folder / "live")
    assert len(digests) == 5
    return folder / "live/deployment.yaml", digests


@pytest.mark.parametrize(
    ("locked", "reloads", "quiet", "pause"), [(True, 1000, 10, 0.03), (False, 300, 100, 0.25)]
)
def test_under_load_every_verdict_is_of_a_good_set(
    swift: Path,
    locked: bool,
    reloads: int,
    quiet: int,
    pause: float,
) -> None:
    """Two threads check without pause, files are written in pieces, a third of them broken."""
    path, digests = versions(swift, locked=locked)
    path.write_text(path.read_text().replace("quiet-ms: 10", f"quiet-ms: {quiet}"))
    stop, faults, seen, calls = threading.Event(), list[object](), set[str](), [0, 0]
    with callgate.load(path) as engine:

        def checks(thread: int) -> None:
            try:
                while not stop.is_set():
                    by_set: dict[str, set[str]] = {}
                    for name in NAMES:
                        verdict = engine.check("read", {"path": name})
                        by_set.setdefault(verdict.engine, set()).add((verdict.reason or "?")[1:])
                    seen.update(by_set)
                    calls[thread] += 1
                    if any(len(reasons) != 1 for reasons in by_set.values()):
                        faults.append(by_set)
            except Exception as error:
                faults.append(error)

        threads = [threading.Thread(target=checks, args=(number,)) for number in (0, 1)]
        arguments = [sys.executable, "-c", WRITER, str(swift), "locked" if locked else "free", str(pause)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            for thread in threads:
                thread.start()
            try:
                while engine.status.loads + engine.status.failures < reloads:
                    engine.reload()
            finally:
                stop.set()
                writer.kill()
                for thread in threads:
                    thread.join()
        assert faults == []
        assert seen <= digests
        assert len(seen) > 1
        assert engine.status.failures > reloads / 10
        assert engine.status.loads > reloads / 10
        assert min(calls) > 0
        for name in ("rules/a.gate", "rules/b.gate", "rules/c.gate", *(["callgate.lock"] if locked else [])):
            shutil.copy(swift / "good1" / name, swift / "live" / name)
        status = engine.reload()
        assert (status.error, status.stale_since) == (None, None)
        assert status.digest in digests


# A lock


def lock(path: Path) -> None:
    assert main(["lock", str(path)]) == 0


def test_with_a_lock_nothing_else_is_loaded(tmp_path: Path) -> None:
    head = "default: allow\npacks: [common]"
    path = deployment(tmp_path, head=head, a=GOOD)
    lock(path)
    with callgate.load(path) as engine:
        good = engine.digest
        write(tmp_path, {"rules/a.gate": GOOD + "\n# changed"})
        assert "G513" in (engine.reload().error or "")
        write(tmp_path, {"rules/a.gate": GOOD, "rules/b.gate": "tool read { allow }"})
        assert "G514" in (engine.reload().error or "")
        assert engine.digest == good
        (tmp_path / "rules/b.gate").unlink()
        assert engine.reload().error is None
        write(tmp_path, {"tools.json": json.dumps({"read": SCHEMA, "x": None})})
        assert "tools.json" in (engine.reload().error or "")
        lock(path)
        assert engine.refresh().error is None


@pytest.mark.parametrize("name", ["b.gate", "b.rules", "b.GATE", "deny"])
def test_a_locked_rule_file_cannot_be_taken_away_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = deployment(tmp_path, head="default: allow\nlock: required", a="")
    path.write_text(path.read_text().replace("*.gate", "*"))
    write(tmp_path, {f"rules/{name}": 'tool read { deny "no" }'})
    lock(path)
    tools = {"read": SCHEMA}  # of the host: the file of the deployment is not read then, which is no fault
    with callgate.load(path, tools=tools) as engine:
        (tmp_path / "rules" / name).unlink()
        assert "G515" in (engine.reload().error or "")
        assert engine.check("read", {"path": "/a"}).reason == "no"
        assert "G515" in str(refused(path, tools=tools))


def test_a_lock_that_comes_or_goes_is_a_change(tmp_path: Path) -> None:
    path = deployment(tmp_path, a=GOOD)
    with callgate.load(path) as engine:
        lock(path)
        assert engine.refresh().loads == 2
        write(tmp_path, {"rules/a.gate": GOOD + "\n"})
        assert engine.refresh().failures == 1


def test_what_was_locked_is_not_loaded_without_its_lock(tmp_path: Path) -> None:
    path = deployment(tmp_path, a=GOOD)
    with callgate.load(path) as engine:
        assert engine.status.locked is False
        lock(path)
        assert engine.refresh().locked is True
        good = engine.digest
        (tmp_path / "callgate.lock").unlink()
        write(tmp_path, {"rules/evil.gate": "tool rm { allow }"})
        for _ in range(2):  # it stays so
            status = engine.refresh()
            assert (status.digest, status.locked, status.stale_since is not None) == (good, True, True)
            for said in ("G517", f"{tmp_path}/callgate.lock", f"run `callgate lock {path}`"):
                assert said in (status.error or "")
        lock(path)
        assert (engine.refresh().error, engine.digest != good) == (None, True)


def test_a_lock_can_be_required_from_the_start(tmp_path: Path) -> None:
    path = deployment(tmp_path, head="default: allow\nlock: required", a=GOOD)
    (found,) = refused(path).diagnostics
    assert (found.code, found.span.line) == ("G517", 2)
    assert found.help == f"put it back, or run `callgate lock {path}`"
    lock(path)
    with callgate.load(path) as engine:
        assert engine.status.locked


def test_a_lock_that_is_none_is_an_error(tmp_path: Path) -> None:
    path = deployment(tmp_path, a=GOOD)
    (tmp_path / "callgate.lock").write_bytes(b"\xff")
    assert "G517" in str(refused(path))


@pytest.mark.parametrize(
    ("packs", "files", "code"),
    [
        ("[common@^9]", {}, "G510"),
        ("[nowhere]", {}, "G509"),
        (
            "[./one.gate, ./two/one.gate]",
            {"one.gate": 'pack one "1.0.0"', "two/one.gate": 'pack one "2.0.0"'},
            "G511",
        ),
        ("[./one.gate]", {"one.gate": 'pack other "1.0.0"'}, "G512"),
    ],
)
def test_packs_that_cannot_be_used_leave_the_last_good_set(
    tmp_path: Path, packs: str, files: dict[str, str], code: str
) -> None:
    path = deployment(tmp_path, a=GOOD)
    with callgate.load(path) as engine:
        good = engine.digest
        write(tmp_path, files)
        path.write_text(path.read_text() + f"packs: {packs}\n")
        status = engine.reload()
        assert code in (status.error or "")
        assert (status.digest, status.failures) == (good, 1)


@pytest.mark.parametrize("given", ["cwd: sub", "let: {cwd: sub}"])
def test_a_cwd_that_does_not_fit_is_marked_where_it_is_given(tmp_path: Path, given: str) -> None:
    rules = 'let cwd = ["/"]\ntool read { deny "x" when /path in cwd }'
    path = deployment(tmp_path, head=f"default: deny\n{given}", a=rules)
    (found,) = refused(path).diagnostics
    assert (found.code, found.file, found.span.line) == ("G307", str(path), 2)


def test_a_pack_that_cannot_be_used_is_marked_in_the_list(tmp_path: Path) -> None:
    path = deployment(tmp_path, head="default: allow\npacks: [common, ./a, ./a.gate, nowhere]", a=GOOD)
    (tmp_path / "a").mkdir()
    found = refused(path).diagnostics
    assert [(each.span.line, each.span.column) for each in found] == [(2, 17), (2, 22), (2, 32)]
    assert [each.code for each in found] == ["G509", "G505", "G509"]


def test_a_deployment_can_be_closed_twice_and_still_gives_verdicts(tmp_path: Path) -> None:
    engine: Deployment = callgate.load(deployment(tmp_path, a=GOOD))
    engine.close()
    engine.close()
    assert engine.check("read", {"path": "/a"}).allowed


# What is told of decisions


def logged(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "decisions.jsonl").read_text().splitlines()]


def test_decisions_are_logged(tmp_path: Path) -> None:
    head = (
        "default: allow\nmodels: {fast: kimi-k2}\nlog: {to: ./decisions.jsonl, values: true, mask: [/secret]}"
    )
    with callgate.load(deployment(tmp_path, head=head, a=GOOD)) as engine:
        engine.check("read", {"file_path": "/a", "secret": "s3cret"}, model="fast", call_id="c1")
        engine.check_text("read", '{"path": "/a"}')
        session = engine.session("one", model="fast")
        session.user()
        session.call("read", {"file_path": "/b"}, call_id="c3")
        digest = engine.digest
    first, second, third = logged(tmp_path)
    assert (first["call"], first["outcome"]) == ("c1", "repaired")
    assert (first["model"], first["model_id"], third["model"], third["model_id"]) == ("fast", "kimi-k2") * 2
    assert "model_id" not in second
    assert (first["before"]["file_path"], first["after"]["path"]) == ("/a", "/a")
    assert (first["digest"], first["rules"]) == (digest, ["read:alias:/path"])
    assert "s3cret" not in (tmp_path / "decisions.jsonl").read_text()
    assert (second["outcome"], json.loads(second["before"])) == ("valid", {"path": "/a"})
    assert (third["session"], third["call"]) == ("one", "c3")


def test_the_log_can_be_a_function_and_changes_with_the_settings(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    with callgate.load(deployment(tmp_path / "a", a=GOOD), log=seen.append) as engine:
        engine.check("read", {"path": "/a"})
    assert [each["outcome"] for each in seen] == ["valid"]
    path = deployment(tmp_path / "b", a=GOOD)
    with callgate.load(path) as engine:
        engine.check("read", {"path": "/a"})
        path.write_text(path.read_text() + "log: {to: ./decisions.jsonl}\n")
        assert engine.reload().error is None
        engine.check("read", {"file_path": "/a"})
        path.write_text(path.read_text().replace("decisions", "others"))
        assert engine.reload().error is None
        engine.check("read", {"path": "/a"})
    assert [each["outcome"] for each in logged(tmp_path / "b")] == ["repaired"]
    assert len((tmp_path / "b/others.jsonl").read_text().splitlines()) == 1


def test_a_decision_goes_to_the_log_of_the_set_that_it_was_made_under(tmp_path: Path) -> None:
    head = "default: allow\nlog: {to: ./masked.jsonl, values: true, mask: [/secret]}"
    path = deployment(tmp_path, head=head, a=GOOD)
    statuses: list[Any] = []

    def prepare(sent: Any) -> Any:
        if "reload" in sent:
            path.write_text(path.read_text().replace("masked", "open").replace("mask: [/secret]", "mask: []"))
            thread = threading.Thread(target=lambda: statuses.append(engine.reload()))
            thread.start()
            thread.join()
        return sent

    tools = {"read": {"type": "object"}}
    with callgate.load(path, tools=tools, prepare={"read": prepare}) as engine:
        session = engine.session()
        session.user()
        engine.check("read", {"secret": "s3cret-1", "reload": True})
        assert statuses[0].error is None
        session.call("read", {"secret": "s3cret-2"}, call_id="1")
        engine.check("read", {"secret": "s3cret-3"})
        session.user()
        session.call("read", {"secret": "s3cret-4"}, call_id="1")
    masked, unmasked = ((tmp_path / f"{name}.jsonl").read_text() for name in ("masked", "open"))
    assert masked.count("***") == 2
    assert "s3cret" not in masked
    assert [number for number in "1234" if f"s3cret-{number}" in unmasked] == ["3", "4"]
    assert engine.log_counts.written == 4  # of both


def test_the_counts_of_the_log_go_on_when_its_settings_change(tmp_path: Path) -> None:
    path = deployment(tmp_path, head="default: allow\nlog: {to: ./0.jsonl}", a=GOOD)
    with callgate.load(path) as engine:
        for number in range(10):
            engine.check("read", {"path": "/a"})
            path.write_text(path.read_text().replace(f"{number}.jsonl", f"{number + 1}.jsonl"))
            assert engine.reload().error is None
        assert engine.log_counts.written + engine.log_counts.waiting == 10
        path.write_text(path.read_text().replace("log: {to: ./10.jsonl}", ""))
        engine.reload()
        engine.check("read", {"path": "/a"})
        assert within(10, lambda: engine.log_counts.written == 10)
        assert sum(each.name == "callgate-log" for each in threading.enumerate()) <= 8
    assert engine.log_counts.dropped == 0


def relogged(engine: Deployment, path: Path, log: str) -> None:
    path.write_text(f"default: allow\nreload: {{quiet-ms: 10}}\nlog: {{{log}}}\n")
    assert engine.reload().error is None


def test_decisions_of_a_turn_whose_log_was_let_go_are_counted(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, head="default: allow\nlog: {to: ./0.jsonl}", a="")) as engine:
        session = engine.session()
        session.user()
        session.call("read", {"path": "/a"}, call_id="0")
        for number in range(1, 10):
            relogged(engine, engine.path, f"to: ./{number}.jsonl")
        assert within(10, lambda: engine.log_counts.written == 1)
        for number in range(5):
            session.call("read", {"path": "/a"}, call_id=f"x{number}")
        engine.check("read", {"path": "/a"})
    counts = engine.log_counts
    assert (counts.written, counts.dropped, counts.waiting) == (2, 5, 0)


def test_a_busy_log_holds_up_no_load_and_its_lines_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = threading.Event()
    write_batch = FileSink.write

    def slow(sink: FileSink, lines: list[bytes]) -> Any:
        assert free.wait(20)
        return write_batch(sink, lines)

    monkeypatch.setattr(FileSink, "write", slow)
    with callgate.load(deployment(tmp_path, head="default: allow\nlog: {to: ./0.jsonl}", a="")) as engine:
        began = time.monotonic()
        for number in range(1, 11):
            engine.check("read", {"path": "/a"})
            time.sleep(0.1)  # the thread is at it
            relogged(engine, engine.path, f"to: ./{number}.jsonl")
        assert time.monotonic() - began < 5
        free.set()
    counts = engine.log_counts
    assert (counts.written, counts.dropped, counts.waiting) == (10, 0, 0)


def test_a_log_that_was_mended_by_another_place_is_no_longer_failing(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, head="default: allow\nlog: {to: ./no/0.jsonl}", a="")) as engine:
        engine.check("read", {"path": "/a"})
        assert within(10, lambda: engine.log_counts.since is not None)
        relogged(engine, engine.path, "to: ./1.jsonl")
        assert (engine.log_counts.error, engine.log_counts.since) == (None, None)
        assert "callgate_log_failing 0" in engine.metrics()
        engine.check("read", {"path": "/a"})
        time.sleep(1)
        (tmp_path / "no").mkdir()
        time.sleep(1)
        assert not list((tmp_path / "no").iterdir())  # nobody tries it any more
        assert (engine.log_counts.written, engine.log_counts.failed) == (1, 1)


def test_a_function_is_given_lines_on_one_thread_whatever_becomes_of_the_settings(tmp_path: Path) -> None:
    seen: list[tuple[int, Any]] = []

    def log(line: dict[str, Any]) -> None:
        seen.append((threading.get_ident(), line.get("before")))

    path = deployment(tmp_path, head="default: allow\nlog: {to: x, values: true, mask: [/b]}", a="")
    with callgate.load(path, log=log) as engine:
        session = engine.session()
        session.user()
        for number in range(12):
            relogged(engine, path, f"to: x, values: true, keep: {number}")
            session.call("read", {"b": "s3cret"}, call_id=str(number))
            engine.check("read", {"b": 1})
        assert within(10, lambda: len(seen) == 24)
    assert len({thread for thread, _ in seen}) == 1
    assert [each for _, each in seen] == [{"b": "***"}, {"b": 1}] * 12


def test_close_while_files_are_read_leaves_nothing_open(tmp_path: Path) -> None:
    path = deployment(tmp_path, head="default: allow\nlog: {to: ./a.jsonl}", a=GOOD)
    path.write_text(path.read_text().replace("quiet-ms: 10", "quiet-ms: 500"))
    engine = callgate.load(path)
    path.write_text(
        path.read_text().replace("./a.jsonl", "./b.jsonl") + f"state: sqlite:///{tmp_path}/x.db\n"
    )
    thread = threading.Thread(target=engine.reload)
    thread.start()
    time.sleep(0.2)
    engine.close()
    thread.join()
    assert engine.check("read", {"path": "/a"}).allowed
    assert engine.log_counts.dropped == 1
    assert not (tmp_path / "b.jsonl").exists()
    assert not (tmp_path / "x.db").exists()
    assert not any(each.name == "callgate-log" for each in threading.enumerate())


@pytest.mark.parametrize("keep", ["true", "false"])
def test_close_does_not_wait_for_files_that_keep_changing(tmp_path: Path, keep: str) -> None:
    path = deployment(tmp_path, a=GOOD)
    engine = callgate.load(path)
    path.write_text(path.read_text().replace("quiet-ms: 10", f"quiet-ms: 5000, keep-last-good: {keep}"))
    engine.reload()
    write(tmp_path, {"rules/a.gate": GOOD + "\n"})
    thread = threading.Thread(target=engine.reload)
    thread.start()
    time.sleep(0.3)
    began = time.monotonic()
    engine.close()
    thread.join()
    assert time.monotonic() - began < 3
    assert engine.check("read", {"path": "/a"}).allowed
    assert engine.status.failures == 0


def test_a_load_that_is_cut_off_is_done_by_the_next_refresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:

        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        for place in ("deployment.build", "files.Files.settled", "deployment.Deployment._put"):
            write(tmp_path, {"rules/a.gate": f'tool read {{ deny "{place}" }}'})
            with monkeypatch.context() as patched:
                patched.setattr(f"callgate.engine.{place}", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    engine.reload()
            assert engine.refresh().error is None
            assert engine.check("read", {"path": "/a"}).reason == place


def test_since_is_when_the_rules_in_force_were_put_there(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        first = engine.status
        again = engine.reload()
        assert (again.since, again.loads) == (first.since, first.loads + 1)
        write(tmp_path, {"rules/a.gate": "tool read {"})
        assert engine.reload().since == first.since
        write(tmp_path, {"rules/a.gate": 'tool read { deny "no" }'})
        assert engine.reload().since > first.since


def test_a_log_that_cannot_be_written_stops_no_call_and_is_reported(tmp_path: Path) -> None:
    head = "default: allow\nlog: {to: ./nowhere/decisions.jsonl}"
    with callgate.load(deployment(tmp_path, head=head, a=GOOD)) as engine:
        for _ in range(20):
            assert engine.check("read", {"path": "/a"}).allowed
        deadline = time.monotonic() + 10
        while "nowhere" not in (engine.log_counts.error or "") and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "nowhere/decisions.jsonl" in (engine.log_counts.error or "")
        assert "callgate_log" in engine.metrics()


def test_metrics_count_decisions_and_loads(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        engine.check("read", {"file_path": "/a"})
        engine.check("read", {"path": "/a"})
        write(tmp_path, {"rules/b.gate": "tool"})
        engine.reload()
        text = engine.metrics()
    assert 'outcome="repaired"' in text
    assert 'outcome="valid"' in text
    assert 'rule="read:alias:/path"' in text
    assert any("stale" in line and not line.startswith("#") for line in text.splitlines())
    assert any(line.startswith("callgate_reload") and 'failure"} 1' in line for line in text.splitlines())


def test_telemetry_is_told(tmp_path: Path) -> None:
    seen: list[Any] = []

    class Telemetry:
        def decided(self, one: Any) -> None:
            seen.append(one)

    with callgate.load(deployment(tmp_path, a=GOOD), telemetry=Telemetry()) as engine:  # type: ignore[arg-type]
        engine.check("read", {"file_path": "/a"}, call_id="7")
    assert [(each.sent, each.call, each.verdict.outcome.value) for each in seen] == [
        ("read", "7", "repaired")
    ]


@pytest.mark.parametrize("raised", [RuntimeError("exporter"), SystemExit(3), GeneratorExit()])
def test_a_telemetry_that_raises_costs_no_verdict_and_is_counted_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, raised: BaseException
) -> None:
    fails = [True]

    class Telemetry:
        def decided(self, one: Any) -> None:
            if fails:
                raise raised

    with callgate.load(deployment(tmp_path, a=GOOD), telemetry=Telemetry()) as engine:  # type: ignore[arg-type]
        caplog.clear()
        session = engine.session()
        session.user("x")
        assert engine.check("read", {"path": "/a"}).outcome.value == "valid"
        assert session.call("read", {"path": "/a"}, call_id="1").outcome.value == "valid"
        assert engine.check_text("read", '{"path": "/a"}').outcome.value == "valid"
        assert "\ncallgate_telemetry_failures_total 3\n" in engine.metrics()
        (told,) = caplog.messages
        assert f"the telemetry takes no decision: {type(raised).__name__}: {raised}" in told
        fails.clear()
        engine.check("read", {"path": "/a"})
        fails.append(True)
        engine.check("read", {"path": "/a"})
    assert len(caplog.messages) == 2


def test_a_failed_load_is_a_line_of_the_programs_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        write(tmp_path, {"rules/a.gate": "tool"})
        engine.reload()
    assert any("the last good rules stay in force" in each.getMessage() for each in caplog.records)


@pytest.mark.parametrize(
    ("to", "what"),
    [
        ("./deployment.yaml", "deployment.yaml"),
        ("./callgate.lock", "callgate.lock"),
        ("./rules/a.gate", "a.gate"),
        ("./rules/../tools.json", "tools.json"),
        ("./own.gate", "own.gate"),
        ("./gate.db", "gate.db"),
        ("./gate.db-wal", "gate.db-wal"),
        ("./linked/a.gate", "a.gate"),
        ("./linked/../callgate.lock", "callgate.lock"),
        ("./hard.jsonl", "a.gate"),
        ("./soft.jsonl", "tools.json"),
    ],
)
def test_the_log_is_no_file_of_the_deployment(tmp_path: Path, to: str, what: str) -> None:
    head = f"default: deny\npacks: [./own.gate]\nstate: sqlite:///gate.db\nlog:\n  to: {to}"
    path = deployment(tmp_path, head=head, a=GOOD)
    (tmp_path / "own.gate").write_text('pack own "1.0.0"')
    (tmp_path / "linked").symlink_to(tmp_path / "rules")
    (tmp_path / "hard.jsonl").hardlink_to(tmp_path / "rules" / "a.gate")
    (tmp_path / "soft.jsonl").symlink_to(tmp_path / "tools.json")
    with pytest.raises(DeploymentError) as raised:
        callgate.load(path)
    (found,) = raised.value.diagnostics
    assert (found.code, found.span.line) == ("G704", 5)
    assert "`log.to` names `" in found.message
    assert f"{what}`, which" in found.message
    assert "./decisions.jsonl" in found.help


@pytest.mark.parametrize("what", ["rules/a.gate", "gate", "tools.json"])
@pytest.mark.parametrize("end", [".1", ".3", ".4"])
def test_the_log_is_rotated_to_no_file_of_the_deployment(tmp_path: Path, what: str, end: str) -> None:
    head = f"default: deny\nlog:\n  to: ./{what}\n  max-bytes: 1024\n  keep: 3\n"
    state, tools = f"state: sqlite:///gate{end}\n", f"tools: ./tools.json{end}\n"
    path = write(
        tmp_path,
        {
            "deployment.yaml": head + f"rules: [./rules/a.gate{end}]\n" + state + tools,
            f"rules/a.gate{end}": GOOD,
            f"tools.json{end}": json.dumps({"read": SCHEMA}),
        },
    )
    if end == ".4":
        callgate.load(path).close()
        return
    (found,) = refused(path).diagnostics
    assert (found.code, found.span.line) == ("G704", 3)
    assert f"`log.to` is rotated to `{tmp_path / what}{end}`, which" in found.message


@pytest.mark.parametrize(
    ("rules", "settings", "line", "what"),
    [
        ("./rules/*", "log:\n  to: ./rules/decisions.jsonl", 4, "log.to"),
        ("./rules/**/*", "log:\n  to: ./rules/new/decisions.jsonl", 4, "log.to"),
        ("./linked/*", "log:\n  to: ./rules/decisions.jsonl", 4, "log.to"),
        ("./rules/*[1]", "log:\n  to: ./rules/log\n  max-bytes: 1024", 4, "log.to"),
        ("./rules/*", "state: sqlite:///rules/gate.db", 3, "state"),
        ("./rules/*-wal", "state: sqlite:///rules/gate.db", 3, "state"),
        ("./rules/*.gate", "log: {to: ./rules/log}\nstate: sqlite:///rules/gate.db", 0, ""),
        ("./rules/*", "log: {to: ./rules/new/log}\nstate: sqlite:///gate.db", 0, ""),
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_what_is_written_fits_no_pattern_of_rules(
    tmp_path: Path, rules: str, settings: str, line: int, what: str, there: bool
) -> None:
    path = write(tmp_path, {"deployment.yaml": f"default: deny\nrules: [./a.gate, '{rules}']\n{settings}"})
    names = ("rules/decisions.jsonl", "rules/new/decisions.jsonl", "rules/log.1", "rules/gate.db")
    write(
        tmp_path, {"a.gate": "", "rules/1": "", "rules/b-wal": "", "rules/new/x.gate": "", "rules/x.gate": ""}
    )
    write(tmp_path, dict.fromkeys(names if there and line else (), ""))
    (tmp_path / "linked").symlink_to("rules")
    if not line:
        callgate.load(path).close()
        return
    (found,) = refused(path).diagnostics
    assert (found.code, found.span.line) == ("G704", line)
    assert what in found.message
    assert found.help


def test_the_file_of_a_store_lies_beside_the_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with callgate.load(
        deployment(tmp_path / "a b", head="default: allow\nstate: sqlite:///gate.db", a="")
    ) as engine:
        engine.session("one").user()
        assert str(tmp_path / "a b/gate.db") in engine.watched.own
    assert (tmp_path / "a b/gate.db").exists()
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_handler_of_the_programs_log_may_load_again(tmp_path: Path) -> None:
    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            statuses.append(engine.reload())

    statuses: list[Any] = []
    handler = Handler(logging.WARNING)
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        write(tmp_path, {"rules/a.gate": "tool"})
        logging.getLogger("callgate").addHandler(handler)
        try:
            assert engine.reload().failures == 2
        finally:
            logging.getLogger("callgate").removeHandler(handler)
        assert len(statuses) == 1


def test_warnings_are_told_once_for_a_set(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "callgate")

    def told() -> list[str]:
        return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]

    rules = tmp_path / "rules/a.gate"
    with callgate.load(deployment(tmp_path, a="tool raed { allow }")) as engine:
        said = (
            f"{rules}:1: there is no tool `raed`, so what is said of it never applies (did you mean `read`?)"
        )
        assert engine.status.warnings == (said,)
        assert len(told()) == 1
        assert said in told()[0]
        engine.reload()
        assert len(told()) == 1
        rules.write_text("tool raed { alias /path from x }")
        engine.reload()
        assert len(told()) == 2
        rules.write_text(GOOD)
        assert engine.reload().warnings == ()
        assert len(told()) == 2


def test_the_end_of_a_failure_is_told_as_loudly_as_the_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "callgate")
    path = deployment(tmp_path, a=GOOD)
    with callgate.load(path) as engine:
        for rules in (GOOD, "tool", GOOD, GOOD):
            (tmp_path / "rules/a.gate").write_text(rules)
            engine.reload()
    assert [each.levelname for each in caplog.records] == ["INFO", "WARNING", "WARNING", "INFO"]
    assert f"{path}: loaded, " in caplog.records[2].getMessage()


def test_an_error_comes_before_the_warnings(tmp_path: Path) -> None:
    with callgate.load(deployment(tmp_path, a=GOOD)) as engine:
        past = 'disable repair.enum-case because "x" until 2020-01-01'
        (tmp_path / "rules/a.gate").write_text(f"{past}\ntool read {{ alow }}")
        error = engine.reload().error or ""
    assert error.startswith("error[G101]")
    assert "warning[G108]" in error


def test_a_session_stays_on_the_store_that_it_began_with(tmp_path: Path) -> None:
    path = deployment(tmp_path, head="default: allow\nstate: sqlite:///one.db", a=GOOD)
    with callgate.load(path) as engine:
        session = engine.session("one")
        session.user()
        path.write_text(path.read_text().replace("one.db", "two.db"))
        assert engine.reload().error is None
        assert session.call("read", {"path": "/a"}, call_id="1").allowed
        with pytest.raises(callgate.StoreError):
            engine.session("one").call("read", {"path": "/a"}, call_id="2")


def test_another_store_after_a_reload(tmp_path: Path) -> None:
    path = deployment(tmp_path, head="default: allow\nstate: memory", a="ground { mutates read }")
    with callgate.load(path) as engine:
        good = engine.digest
        path.write_text(path.read_text().replace("memory", f"sqlite:///{tmp_path}/nowhere/gate.db"))
        assert "nowhere" in (engine.reload().error or "")
        assert engine.digest == good
        path.write_text(path.read_text().replace("/nowhere/", "/"))
        assert engine.reload().error is None
        engine.session("one").user()
        assert (tmp_path / "gate.db").exists()
