"""The commands about deployments: status, run over one, diff."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.cli.main import main
from callgate.engine.passwords import without_passwords

from .test_deployment import GOOD, deployment, write

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        status = main([str(each) for each in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_status_of_what_loads(command: Command, tmp_path: Path) -> None:
    head = "default: deny\npolicy: recover\nmodels: {fast: kimi-k2}\npacks: [common]"
    path = deployment(tmp_path, head=head, a=GOOD + '\ndisable repair.enum-case because "x" until 2020-01-01')
    status, out, err = command("status", path)
    assert (status, err) == (0, "")
    rows = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert rows["default"], rows["policy"] == ("deny", "recover")
    assert rows["models"] == "fast is kimi-k2"
    assert "over 1 tool" in rows["rules"]
    assert rows["packs"].startswith("common@")
    assert rows["expired"] == f"{tmp_path / 'rules/a.gate'}:1" or rows["expired"].endswith("a.gate:2")
    status, out, _ = command("status", path, "--format", "json")
    facts = json.loads(out)
    assert (status, facts["loads"], facts["default"]) == (0, True, "deny")
    assert facts["digest"] == rows["digest"]


def test_warnings_are_shown_with_their_help(command: Command, tmp_path: Path) -> None:
    path = deployment(tmp_path, a="tool raed { allow }")
    status, out, _ = command("status", path)
    said = "there is no tool `raed`, so what is said of it never applies (did you mean `read`?)"
    assert (status, f":1: {said}\n" in out) == (0, True)
    status, _, err = command("run", path)
    assert (status, err.count(said)) == (0, 1)
    assert f"callgate: {path}: loaded, with warnings:\n" in err


def test_status_says_what_the_environment_may_have_given(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHY", "ask ann")
    monkeypatch.setenv("HOME_OF", "/srv/x")
    monkeypatch.setenv("LONG", "y" * 1000)
    head = "default: deny\nwhy: ${WHY}\ncwd: ${HOME_OF}\nlimits: {depth: 9}"
    head += '\nlet: {w: "${HOME_OF}", long: "${LONG}"}'
    path = deployment(tmp_path, head=head, a='let w = "/"\nlet long = ""')
    status, out, _ = command("status", path)
    assert status == 0
    assert {
        *("why      ask ann", "cwd      /srv/x", 'let      w = "/srv/x"'),
        "limits   input-bytes 1048576, depth 9",
    } <= {*out.splitlines()}
    assert max(map(len, out.splitlines())) < 200
    facts = json.loads(command("status", path, "--format", "json")[1])
    assert (facts["why"], facts["cwd"], facts["let"]["w"]) == ("ask ann", "/srv/x", "/srv/x")
    assert (len(facts["let"]["long"]), facts["limits"]) == (1000, {"input-bytes": 1_048_576, "depth": 9})


def test_what_a_lock_refuses_names_the_command_that_takes_it(command: Command, tmp_path: Path) -> None:
    path = deployment(tmp_path, a=GOOD)
    assert command("lock", path)[0] == 0
    write(tmp_path, {"rules/a.gate": GOOD + "\n", "rules/b.gate": ""})
    err = command("status", path)[2]
    assert ("error[G513]" in err, "error[G514]" in err) == (True, True)
    assert err.count(f"if the change is meant, run `callgate lock {path}`") == 2
    out = command("lock", path, "--check")[1]
    assert out.count(f"if the change is meant, run `callgate lock {path}`") == 2


def test_status_of_what_does_not_load(command: Command, tmp_path: Path) -> None:
    path = write(tmp_path, {"deployment.yaml": "default: maybe\nrulz: []"})
    status, out, err = command("status", path)
    assert (status, out) == (1, "")
    assert f"{path}:1:1" in err
    assert f"{path}:2:1" in err
    assert "does not load" in err
    status, out, _ = command("status", path, "--format", "json")
    found = json.loads(out)
    assert (status, found["loads"], len(found["diagnostics"])) == (1, False, 2)


def test_a_password_of_the_store_is_not_shown(command: Command, tmp_path: Path) -> None:
    path = deployment(
        tmp_path, head="default: deny\nstate: redis://me:secret@127.0.0.1:1/0?password=secret", a=""
    )
    for form in ("text", "json"):
        status, out, err = command("status", path, "--format", form)
        assert (status, "secret" in out + err) == (0, False)


@pytest.mark.parametrize(
    "url",
    [
        "redis://:hunter2@h:bad/0",
        "redis://u:x@hunter2@h/0",
        "redis://u:hun/hunter2@h",
        "foo://u:hunter2@x",
        "redis://h/x?db=1&password=hunter2",
    ],
)
def test_no_password_is_quoted_in_an_error(command: Command, tmp_path: Path, url: str) -> None:
    path = write(tmp_path, {"deployment.yaml": f"{{default: deny, polcy: x, state: '{url}'}}"})
    status, out, err = command("status", path)
    assert (status, "G702" in err, "hunter2" in out + err) == (1, True, False)


@pytest.mark.parametrize(
    "state",
    [
        "state: redis:/u:hunter2@h/0",
        "state: redis//u:hunter2@h/0",
        "state: redis:u:hunter2@h",
        "state: redis://u:hunter2",
        "state: redis://u:hun hunter2@h",
        """state: 'redis://u:hun"hunter2@h:bad'""",
        "state: redis://h/0?Password=hunter2",
        "state: redis://u:p%40hunter2@h/0?x=hunter2",
        f"state: redis://u:{'hunter2' * 40}@h:bad",
        "state: sqlite:hunter2@x",
        "State: redis:u:hunter2@h",
        "stat: redis://u:x@hunter2",
        '"state" : |\n  redis:u:hunter2@h',
        'state: "redis:u:\nhunter2\\q@h"',
        "state: {redis:u:hunter2@h}",
        "state: [hunter2, hunter2",
        "state = hunter2",
        '"st\\x61te": redis:/u:hunter2@h',
        '? "st\\x61te"\n: hunter2',
        '"st\\x61te": >-\n  redis:/u:\n  hunter2@h',
        '"st\\x61te": "redis:/u:hunter2@h"\nrules: [',
        '"st\\x61te": "redis:/u:hunter2@h\nrules: []',
        '"st\\x61te": "redis:/u:hun hunter2@h"\nrules: [',
        'let: {x: &a "redis:/u:hunter2@h"}\nstate: *a',
        "let: {x: &a hunter2}\nstate: *a",
        "states: redis:/u:hunter2@h",
        "STATE: hunter2",
        "store: redis:u:hunter2@h",
        "store: redis//u:hunter2@h",
        "state:redis:/u:hunter2@h: x",
        "state:redis:/u:hunter2@h: x\nstate:redis:/u:hunter2@h: x",
        "models: {redis:/u:hunter2@h: [x]}",
        "let: &x {redis:/u:hunter2@h: *x}",
    ],
)
def test_no_line_that_is_quoted_shows_the_store(command: Command, tmp_path: Path, state: str) -> None:
    assert "hunter2" not in without_passwords(f"default: deny\n{state}\nwhy: x")
    path = write(tmp_path, {"deployment.yaml": f"default: deny\n{state}\npolcy: x\n"})
    status, out, err = command("status", path)
    assert (status, "hunter2" in out + err) == (1, False)
    assert "deployment.yaml" in err


def test_what_only_reads_a_deployment_writes_nothing(command: Command, tmp_path: Path) -> None:
    head = "default: deny\nstate: sqlite:///gate.db\nlog: {to: ./decisions.jsonl}"
    path = deployment(tmp_path, head=head, a=GOOD)
    (tmp_path / "calls.jsonl").write_text('{"tool": "read", "arguments": {"path": "/a"}}\n')
    before = sorted(tmp_path.rglob("*"))
    for arguments in (
        ("status", path),
        ("packs", path),
        ("diff", path, path, "--calls", tmp_path / "calls.jsonl"),
    ):
        assert command(*arguments)[0] == 0
    assert sorted(tmp_path.rglob("*")) == before
    _, out, _ = command("status", path)
    assert dict(line.split(maxsplit=1) for line in out.splitlines())["state"] == str(tmp_path / "gate.db")


def test_status_says_whether_the_set_is_locked(command: Command, tmp_path: Path) -> None:
    path = deployment(tmp_path, a=GOOD)
    assert "lock     none\n" in command("status", path)[1]
    assert command("lock", path)[0] == 0
    assert "lock     nothing is in force that callgate.lock does not hold\n" in command("status", path)[1]
    assert json.loads(command("status", path, "--format", "json")[1])["locked"] is True


def test_lock_takes_the_deployment_that_is_here(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = command("lock")
    assert (status, "here is no deployment.yaml" in err) == (2, True)
    deployment(tmp_path, a=GOOD)
    assert command("lock") == (0, "", "callgate.lock: no packs, 1 rule file, 1 other file; written\n")
    assert command("lock", "--check")[0] == 0


HOSTED = """
tool read {
  structural "upper" "" call upper when /path == "a"
  allow
  test "the host is needed" { call {"path": "a"}
    expect repaired {"path": "A"} by structural }
  test "nobody is needed" { call {"path": "b"}
    expect valid }
}
"""


def test_commands_say_what_the_host_must_give_and_judge_the_rest(command: Command, tmp_path: Path) -> None:
    path = deployment(tmp_path, a=HOSTED)
    other = deployment(tmp_path / "other", a='tool read { deny "no" }')
    said = "callgate: the host gives `upper`: what needs it is not judged here\n"
    status, out, err = command("status", path)
    assert (status, err) == (0, said)
    assert "test `the host is needed` is not run: the host gives `upper`" in out
    assert json.loads(command("status", path, "--format", "json")[1])["functions"] == ["upper"]
    assert command("lock", path)[0] == 0
    assert command("packs", path)[0] == 0
    calls = '{"id": 1, "tool": "read", "arguments": {"path": "a"}}\n{"id": 2, "tool": "x", "arguments": {}}\n'
    status, out, err = command("run", path, stdin=calls)
    assert (status, said in err) == (1, True)
    first, second = (json.loads(line) for line in out.splitlines())
    assert (first["error"]["code"], second["outcome"]) == ("hook", "unrepairable")
    assert "`upper`" in first["error"]["message"]
    (tmp_path / "calls.jsonl").write_text(calls)
    status, out, err = command("diff", path, other, "--calls", tmp_path / "calls.jsonl")
    assert "not judged → denied: read, line 1\n  was: not judged: the host gives `upper`" in out
    status, out, err = command("diff", path, path, "--calls", tmp_path / "calls.jsonl")
    assert "1 line skipped: not judged (hook)" in err


def test_a_test_that_fails_without_the_host_too_fails(command: Command, tmp_path: Path) -> None:
    path = deployment(tmp_path, a=HOSTED.replace("expect valid", "expect denied"))
    status, _, err = command("status", path)
    assert (status, "test `nobody is needed` fails" in err) == (1, True)


@pytest.mark.parametrize("name", ["check", "test"])
def test_commands_about_rules_name_the_one_about_deployments(
    command: Command, tmp_path: Path, name: str
) -> None:
    path = deployment(tmp_path, a="")
    status, _, err = command(name, path)
    assert (status, f"`callgate status {path}` checks a deployment" in err) == (2, True)


@pytest.mark.parametrize("name", ["run", "lock", "status", "packs"])
def test_a_deployment_that_is_not_there(command: Command, tmp_path: Path, name: str) -> None:
    status, _, err = command(name, tmp_path / "deployment.yaml")
    assert status in (1, 2)
    assert "deployment.yaml: cannot be read: No such file" in err
    assert ".gate" not in err


def test_run_over_a_deployment(command: Command, tmp_path: Path) -> None:
    path = deployment(
        tmp_path,
        head="default: allow\nmodels: {fast: kimi-k2}",
        a='tool read { alias /path from fp for "kimi" }',
    )
    lines = [
        {"id": 1, "tool": "read", "arguments": {"fp": "/a"}, "model": "fast"},
        {"id": 2, "tool": "other", "arguments": {"x": 1}, "tools": {"other": None}},
    ]
    status, out, _ = command("run", path, stdin="".join(json.dumps(each) + "\n" for each in lines))
    found = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [each["outcome"] for each in found] == ["repaired", "valid"]
    assert len({each["engine"] for each in found}) == 1


@pytest.mark.parametrize("option", [("--packs", "common"), ("--policy", "recover")])
def test_run_takes_no_option_that_the_deployment_states(
    command: Command, tmp_path: Path, option: tuple[str, str]
) -> None:
    status, _, err = command("run", deployment(tmp_path, a=""), *option)
    assert (status, "a deployment states its own" in err) == (2, True)


def test_run_over_a_deployment_that_does_not_load(command: Command, tmp_path: Path) -> None:
    status, out, err = command("run", deployment(tmp_path, a="tool {"))
    assert (status, out) == (2, "")
    assert "a.gate:1" in err


CALL = b'{"tool": "read", "arguments": {"path": "/a"}}\n'


@contextmanager
def running(path: Path) -> Iterator[tuple[Any, Callable[[], str], Callable[[str], str]]]:
    """`callgate run`: the process, what asks it for the outcome of a call, and what waits for words of it."""
    command = [sys.executable, "-m", "callgate", "run", str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        timer = threading.Timer(30, process.kill)  # else words that never come would be waited for
        timer.start()

        def asks() -> str:
            process.stdin.write(CALL)
            process.stdin.flush()
            return str(json.loads(process.stdout.readline())["outcome"])

        def says(words: str) -> str:
            said = ""
            while words not in said:
                line = process.stderr.readline().decode()
                assert line, said
                said += line
            return said

        try:
            yield process, asks, says
        finally:
            process.stdin.close()
            assert process.wait(20) == 0
            timer.cancel()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system has no SIGHUP")
def test_a_hangup_loads_anew_while_calls_come(tmp_path: Path) -> None:
    path = deployment(tmp_path, a="")
    with running(path) as (process, asks, says):
        assert asks() == "valid"
        write(tmp_path, {"rules/a.gate": 'tool read { deny "no" }'})
        process.send_signal(signal.SIGHUP)
        assert says("\n").startswith(f"callgate: {path}: loaded, ")
        assert asks() == "denied"
        write(tmp_path, {"rules/a.gate": "tool {"})
        process.send_signal(signal.SIGHUP)
        assert "the last good rules stay in force" in says("a.gate:1")
        process.send_signal(signal.SIGHUP)
        assert "deployment.yaml still cannot be loaded" in says("a.gate:1")
        assert asks() == "denied"


def test_run_says_what_it_loads_when_it_watches(tmp_path: Path) -> None:
    path = deployment(tmp_path, a="")
    path.write_text(path.read_text().replace("reload: {", "reload: {watch: true, poll: true, "))
    with running(path) as (process, asks, says):
        assert asks() == "valid"
        write(tmp_path, {"rules/a.gate": "tool {"})
        assert "cannot be loaded, the last good rules stay in force" in says("a.gate:1")
        write(tmp_path, {"rules/a.gate": 'tool read { deny "no" }'})
        said = says(f"{path}: loaded, ")
        assert "cannot be loaded" not in said
        assert asks() == "denied"
        process.stdin.close()
        assert process.stderr.read().startswith(b"2 calls: ")


def test_run_says_that_the_log_cannot_be_written(command: Command, tmp_path: Path) -> None:
    path = deployment(tmp_path, head="default: allow\nlog: {to: ./nowhere/log.jsonl}", a="")
    _, out, err = command("run", path, stdin=CALL.decode())
    assert json.loads(out)["outcome"] == "valid"
    assert "callgate: the decision log cannot be written: " in err


@pytest.mark.parametrize("to", ["stdout", "'-'"])
def test_run_does_not_mix_the_log_with_its_verdicts(command: Command, tmp_path: Path, to: str) -> None:
    path = deployment(tmp_path, head=f"default: allow\nlog: {{to: {to}}}", a="")
    status, out, err = command("run", path, stdin=CALL.decode())
    assert (status, out) == (2, "")
    assert err.startswith(f"callgate: {path}:2: `log.to`: ")
    status, out, _ = command("run", path, "--no-log", stdin=CALL.decode())
    assert (status, len(out.splitlines())) == (0, 1)


def test_run_writes_to_the_log_of_the_deployment_unless_told_not_to(command: Command, tmp_path: Path) -> None:
    path = deployment(tmp_path, head="default: allow\nlog: {to: ./log.jsonl}", a="")
    assert command("run", path, "--no-log", stdin=CALL.decode())[0] == 0
    assert not (tmp_path / "log.jsonl").exists()
    assert command("run", path, stdin=CALL.decode())[0] == 0
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 1
    status, _, err = command("run", "--no-log", stdin=CALL.decode())
    assert (status, err) == (2, "callgate: --no-log: only a deployment has a log\n")


def test_run_takes_other_tools_than_the_deployment_states(command: Command, tmp_path: Path) -> None:
    path = deployment(tmp_path, a="")
    (tmp_path / "other.json").write_text('{"other": {}}')
    _, out, _ = command("run", path, "--tools", tmp_path / "other.json", stdin=CALL.decode())
    assert json.loads(out)["code"] == "unknown-tool"


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system has no SIGHUP")
def test_a_hangup_during_the_first_load_loads_once_more(tmp_path: Path) -> None:
    path = deployment(tmp_path, a="")
    code = (
        "import os, signal, sys\n"
        "from callgate.engine import deploying\n"
        "from callgate.engine.cli.main import main\n"
        "build = deploying.build\n"
        "def hung_up(*given):\n"
        "    from callgate.engine import deployment\n"
        "    deployment.build = build\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    return build(*given)\n"
        "deploying.build = hung_up\n"
        "sys.exit(main(['run', sys.argv[1]]))\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, str(path)], **pipes) as process:  # type: ignore[call-overload]
        assert b": loaded, " in process.stderr.readline()
        out, _ = process.communicate(b'{"tool": "read", "arguments": {"path": "/a"}}\n', 20)
    assert (process.returncode, json.loads(out)["outcome"]) == (0, "valid")


# diff


OLD = 'tool read { alias /path from fp; deny "no" when /path under "/etc" }\n'
NEW = 'tool read { alias /path from fp; deny "no etc" when /path under "/etc/x" }\n'
CALLS = [
    {"id": "valid both", "tool": "read", "arguments": {"path": "/b"}},
    {"id": "newly let through", "tool": "read", "arguments": {"path": "/etc/a"}},
    {"id": "other reason", "tool": "read", "arguments": {"path": "/etc/x/a"}},
    {"id": "mended both", "tool": "read", "arguments": {"fp": "/b"}},
]


def sides(folder: Path, old: str = OLD, new: str = NEW) -> tuple[str, str, str]:
    write(folder, {"old.gate": old, "new.gate": new})
    (folder / "calls.jsonl").write_text("".join(json.dumps(each) + "\n" for each in CALLS))
    return tuple(str(folder / name) for name in ("old.gate", "new.gate", "calls.jsonl"))  # type: ignore[return-value]


def test_diff_shows_statements_and_what_is_newly_let_through_first(command: Command, tmp_path: Path) -> None:
    old, new, calls = sides(tmp_path)
    status, out, err = command("diff", old, new, "--calls", calls)
    assert status == 1
    assert out.splitlines() == [
        '- deny "no" when /path under "/etc" # read',
        '+ deny "no etc" when /path under "/etc/x" # read',
        "",
        "denied → valid: read, line 2",
        "  was: denied no by read:deny",
        "  is:  valid",
        '  for: {"path": "/etc/a"} (newly let through)',
        "for another reason: read, line 3",
        "  was: denied no by read:deny",
        "  is:  denied no etc by read:deny",
        '  for: {"path": "/etc/x/a"} (other reason)',
    ]
    assert err == "4 calls: 2 decided differently\n"


def test_diff_the_other_way_and_other_arguments(command: Command, tmp_path: Path) -> None:
    old, new, calls = sides(tmp_path, new=OLD.replace("alias /path from fp", "alias /path from fp, other"))
    new_text = Path(new).read_text().replace('"/etc"', '"/"')
    Path(new).write_text(new_text)
    _, out, _ = command("diff", old, new, "--calls", calls, "--format", "json")
    found = json.loads(out)
    assert [(each["what"], each["id"]) for each in found["calls"]] == [
        ("valid → denied", "valid both"),
        ("repaired → denied", "mended both"),
    ]
    assert [each["name"] for each in found["rules"]] == ["read:alias:/path", "read:deny"]


def test_diff_puts_what_is_let_through_first_and_then_what_is_asked(command: Command, tmp_path: Path) -> None:
    old = """tool read {
      deny "no" when /path == "da"; deny "no" when /path == "dq"; ask "?" when /path == "qa"
      ask "?" when /path == "qd"; alias /path from fp
    }"""
    new = """tool read {
      ask "?" when /path == "dq"; deny "no" when /path == "qd"; deny "no" when /path == "ad"
    }"""
    path, other, calls = sides(tmp_path, old, new)
    (tmp_path / "tools.json").write_text(json.dumps({"read": {"type": "object", "required": ["path"]}}))
    sent = [{"path": each} for each in ("ad", "qd", "qa", "dq", "da", "same")] + [{"fp": "x"}]
    lines = [json.dumps({"tool": "read", "arguments": each}) for each in sent]
    Path(calls).write_text("\n".join(lines))
    _, out, _ = command("diff", path, other, "--calls", calls, "--tools", tmp_path / "tools.json")
    heads = [line for line in out.splitlines() if ": read, line" in line]
    assert heads == [
        "denied → valid: read, line 5",
        "denied → asked: read, line 4",
        "asked → valid: read, line 3",
        "valid → denied: read, line 1",
        "asked → denied: read, line 2",
        "repaired → unrepairable: read, line 7",
    ]


def test_diff_says_all_that_decides(command: Command, tmp_path: Path) -> None:
    rules = 'let w = "/"\ntool read { schema "s.json"; alias /path from a named one'
    rules += "; alias /path from b named two }"
    more = {"s.json": '{"type": "object"}'}
    old = deployment(tmp_path / "old", head="default: deny\nlet: {w: /a}\nmodels: {a: kimi}", a=rules)
    write(tmp_path / "old/rules", more)
    long = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(40)}}
    write(tmp_path / "old", {"tools.json": json.dumps({"read": None, "long": long})})
    moved = rules.replace("from a named one", "from b named two", 1).replace(
        "; alias /path from b named two }", "; alias /path from a named one }"
    )
    head = "default: allow\nwhy: x\npolicy: recover\nlet: {w: /b}\nlimits: {depth: 3}\ncwd: /c"
    new = deployment(tmp_path / "new", head=head, a=moved)
    write(tmp_path / "new/rules", {"s.json": '{"type": "object", "required": ["q"]}'})
    long["properties"] = {**long["properties"], "p30": {"type": "integer"}}  # type: ignore[dict-item]
    write(tmp_path / "new", {"tools.json": json.dumps({"read": None, "long": long, "more": None})})
    status, out, _ = command("diff", old, new)
    assert status == 1
    assert out.splitlines() == [
        '- default: "deny"',
        '+ default: "allow"',
        '- let.w: "/a"',
        '+ let.w: "/b"',
        '- models.a: "kimi"',
        '+ why: "x"',
        '+ policy: "recover"',
        '+ cwd: "/c"',
        "+ limits.depth: 3",
        *(line for line in out.splitlines() if "tools.long" in line),
        "+ tools.more: null",
        '- schema "s.json" # read {"type": "object"}',
        '+ schema "s.json" # read {"required": ["q"], "type": "object"}',
        "- two # after one",
        "+ two # after read:schema",
    ]
    one, other = (line for line in out.splitlines() if "tools.long" in line)
    assert '"p30": {"type": "string"}' in one
    assert '"p30": {"type": "integer"}' in other
    assert len(one) < 200
    assert command("diff", old, old) == (0, "", "")


def test_diff_says_which_rules_moved_and_that_tools_went(command: Command, tmp_path: Path) -> None:
    rules = [f"alias /path from {name} named {name}" for name in "abcd"]
    old = deployment(tmp_path / "old", a=f"tool read {{ {'; '.join(rules)} }}")
    new = deployment(tmp_path / "new", a=f"tool read {{ {'; '.join(rules[2:] + rules[:2])} }}")
    new.write_text(new.read_text().replace("tools: ./tools.json", ""))
    _, out, _ = command("diff", old, new)
    assert out.splitlines()[1:] == ["+ tools: every name", "- c # after b", "+ c # first"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            ['tool read, "w*" {\n deny "no" named d\n}'],
            ['tool read, "w*" {\n deny "no" named d\n disable d because "q"\n}'],
            ['+ disable d because "q" # read, "w*"'],
        ),
        (
            ['tool read { allow; disable repair.enum-case because "q" until 2999-01-01 }'],
            ['tool read { allow; disable repair.enum-case because "q" until 2999-01-02 }'],
            [
                '- disable repair.enum-case because "q" until 2999-01-01 # read',
                '+ disable repair.enum-case because "q" until 2999-01-02 # read',
            ],
        ),
        (
            [
                'family f matches "m1"\ntool read { allow for f }',
                'family f matches "m2"\ntool read { ask "n" for f }',
            ],
            [
                'family f matches "m2"\ntool read { allow for f }',
                'family f matches "m1"\ntool read { ask "n" for f }',
            ],
            ['- family f matches "m2" # after', '+ family f matches "m2" # '],
        ),
        (
            [
                'let w = "/b"\ntool read { allow when /path under w }',
                'let w = "/a"\ntool read { ask "n" when /path under w }',
            ],
            [
                'let w = "/a"\ntool read { allow when /path under w }',
                'let w = "/b"\ntool read { ask "n" when /path under w }',
            ],
            ['- let w = "/a" # after', '+ let w = "/a" # '],
        ),
        (
            ["palette a { offer read }\npalette b { exclude write }"],
            ["palette b { exclude write }\npalette a { offer read }"],
            ["- palette b # after palette a", "+ palette b # "],
        ),
        (
            ["tool read { allow }"],
            ['tool read { allow\n test "t" { call {"path": "/"}; expect valid }\n}'],
            ["- digest: ", "+ digest: "],
        ),
    ],
)
def test_whatever_has_another_digest_is_a_difference(
    command: Command, tmp_path: Path, old: list[str], new: list[str], said: list[str]
) -> None:
    head = "default: deny\nrules: ['./*.gate']"
    paths = []
    for name, texts in (("old", old), ("new", new)):
        files = {f"{number}.gate": text for number, text in enumerate(texts)}
        paths.append(write(tmp_path / name, {"deployment.yaml": head, **files}))
    status, out, err = command("diff", *paths)
    lines = out.splitlines()
    assert (status, err) == (1, "")
    for line, start in zip(lines, said, strict=False):
        assert line.startswith(start), out
    assert len(lines) in (len(said), 2 * len(said))  # who changes places may be said of both
    assert command("diff", paths[0], paths[0])[:2] == (0, "")


def test_diff_of_the_same(command: Command, tmp_path: Path) -> None:
    old, new, calls = sides(tmp_path, new="# a comment\n" + OLD.replace("; ", "\n"))
    assert command("diff", old, new, "--calls", calls) == (0, "", "4 calls: 0 decided differently\n")


def test_diff_reads_deployments_and_decision_logs(command: Command, tmp_path: Path) -> None:
    old = deployment(tmp_path / "old", a=OLD)
    new = deployment(tmp_path / "new", head="default: deny", a=NEW)
    log = [
        {"time": "x", "outcome": "denied", "call": "1", "tool": "read", "before": {"path": "/etc/a"}},
        {
            "time": "x",
            "outcome": "repaired",
            "call": "2",
            "tool": "read",
            "text": True,
            "before": '{"fp": "/b"}',
        },
        {"time": "x", "outcome": "valid", "call": "3", "tool": "read", "before_digest": "abc"},
        {"log": "lost", "count": 3},
    ]
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in log) + '{"time": "torn')
    status, out, err = command("diff", old, new, "--calls", file)
    assert status == 1
    assert "repaired → denied: read, line 2\n" in out
    assert '  for: {"fp": "/b"} (2)\n' in out
    assert "1 line skipped: no call (syntax)" in err
    assert "1 line skipped: the log holds no values of it" in err
    assert "1 line skipped: a note of the log itself" in err


def test_diff_groups_what_differs_alike_and_hides_no_group(command: Command, tmp_path: Path) -> None:
    old, new, calls = sides(tmp_path)
    many = [{"tool": "read", "arguments": {"path": f"/etc/{n}"}} for n in range(1000)]
    other = {"id": 7, "tool": "read", "arguments": {"path": "/etc/x/a"}}
    Path(calls).write_text("".join(json.dumps(each) + "\n" for each in [*many, other]))
    _, out, err = command("diff", old, new, "--calls", calls)
    assert out.splitlines()[3:] == [
        "denied → valid: read, 1000 calls: lines 1, 2, 3, 4, 5, …",
        "  was: denied no by read:deny",
        "  is:  valid",
        '  for: {"path": "/etc/0"}',
        "for another reason: read, line 1001",
        "  was: denied no by read:deny",
        "  is:  denied no etc by read:deny",
        '  for: {"path": "/etc/x/a"} (7)',
    ]
    assert err == "1001 calls: 1001 decided differently\n"
    found = json.loads(command("diff", old, new, "--calls", calls, "--format", "json")[1])
    assert [each["line"] for each in found["calls"]] == list(range(1, 1002))
    assert (found["calls"][0]["id"], found["calls"][-1]["id"]) == (None, 7)
    assert found["calls"][0]["old"]["by"] == ["read:deny"]
    assert (found["judged"], found["skipped"]) == (1001, {})


def test_diff_shows_the_arguments_that_are_let_through_otherwise(command: Command, tmp_path: Path) -> None:
    old, new, calls = sides(tmp_path, "tool read { alias /path from fp }", "tool read { alias /p from fp }")
    _, out, _ = command("diff", old, new, "--calls", calls)
    assert "other arguments: read, line 4\n" in out
    assert '  was: repaired by read:alias:/path {"path": "/b"}\n' in out
    assert '  is:  repaired by read:alias:/p {"p": "/b"}\n' in out


STATEFUL = """tool login {
  deny "no root" when /password == "toor"
  deny "guests" when context.role == "guest"
  deny "wait" when not after read
}
tool read { deny "no" when /path == "/etc" }"""


def test_diff_says_what_a_log_cannot_replay(command: Command, tmp_path: Path) -> None:
    head = "default: allow\nlog: {to: ./log.jsonl, values: true, mask: [/password]}"
    path = deployment(tmp_path, head=head, a=STATEFUL)
    (tmp_path / "tools.json").write_text('{"login": {}, "read": {}}')
    with callgate.load(path) as engine:
        session = engine.session(context={"role": "owner"})
        assert session.call("read", {"path": "/"}, call_id="1").outcome.value == "valid"
        assert session.result("1", "x") is None
        assert session.call("login", {"password": "ok"}, call_id="2").outcome.value == "valid"
        assert session.call("login", {"password": "toor"}, call_id="3").reason == "no root"
        assert engine.check_text("login", '{"a": {"password": "ok"}}').outcome.value == "denied"
    file = tmp_path / "log.jsonl"
    status, out, err = command("diff", path, path, "--calls", file)
    assert (status, out) == (0, "")
    assert err.splitlines() == [
        "4 calls: 0 decided differently",
        "2 calls: OLD decides otherwise than the log says (masks, session, context, or other rules then)",
        "3 calls: a mask hides values, and what rules decide by them is not seen",
    ]
    found = json.loads(command("diff", path, path, "--calls", file, "--format", "json")[1])
    assert (found["judged"], found["otherwise_than_logged"], found["masked"]) == (4, 2, 3)


def test_diff_counts_what_it_skips(command: Command, tmp_path: Path) -> None:
    old, new, calls = sides(tmp_path)
    Path(calls).write_text('{"outcome": "valid", "tool": "read"}\n[]\n')
    found = json.loads(command("diff", old, new, "--calls", calls, "--format", "json")[1])
    assert found["skipped"] == {"the log holds no values of it": 1, "no call (fields)": 1}


def test_diff_reads_past_a_lock_and_says_so(command: Command, tmp_path: Path) -> None:
    old = deployment(tmp_path / "old", head="default: allow\nlock: required", a=OLD)
    new = deployment(tmp_path / "new", head="default: allow\nlock: required", a=OLD)
    assert command("lock", old)[0] == command("lock", new)[0] == 0
    assert command("diff", old, new) == (0, "", "")
    write(tmp_path, {"new/rules/a.gate": NEW, "new/rules/b.gate": "tool x { allow }"})
    status, out, err = command("diff", old, new)
    assert (status, "+ deny " in out, "+ allow # x" in out) == (1, True, True)
    said = f"callgate: {new} is kept from loading by its lock, and is read all the same\n"
    assert err == said
    assert command("diff", new, old)[2] == said
    assert command("status", new)[0] == 1
    (new.parent / "callgate.lock").unlink()
    assert command("diff", old, new) == (status, out, said)
    write(tmp_path, {"new/rules/a.gate": "tool {"})
    status, _, err = command("diff", old, new)
    assert (status, "a.gate:1" in err) == (2, True)


def test_a_folder_with_a_deployment_and_no_rules_names_it(command: Command, tmp_path: Path) -> None:
    old = deployment(tmp_path / "old", a=OLD)
    status, _, err = command("diff", old.parent, old)
    assert status == 2
    assert err == f"callgate: {old.parent}: the folder holds no *.gate file; did you mean `{old}`?\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.gate", "nowhere.gate"], "nowhere.gate"),
        (["{old}", "{broken}"], "broken.gate:1"),
        (["{old}", "{old}", "--calls", "nowhere.jsonl"], "--calls nowhere.jsonl: cannot be read"),
    ],
)
def test_what_diff_cannot_use(command: Command, tmp_path: Path, arguments: list[str], said: str) -> None:
    old, _, _ = sides(tmp_path)
    write(tmp_path, {"broken.gate": "tool {"})
    filled = [each.format(old=old, broken=tmp_path / "broken.gate") for each in arguments]
    status, _, err = command("diff", *filled)
    assert (status, said in err) == (2, True)


def test_a_log_replays_under_models_that_name_each_other(command: Command, tmp_path: Path) -> None:
    head = "default: allow\nmodels: {fast: kimi-k2, kimi-k2: gpt-5}\nlog: {to: ./log.jsonl, values: true}"
    path = deployment(tmp_path, head=head, a='tool read { alias /path from fp for "kimi" }')
    with callgate.load(path) as engine:
        assert engine.check("read", {"fp": "/a"}, model="fast").outcome.value == "repaired"
    plain = write(tmp_path / "plain", {"deployment.yaml": "default: allow"})
    _, out, _ = command("diff", path, plain, "--calls", tmp_path / "log.jsonl")
    assert "  was: repaired by read:alias:/path" in out


def test_diff_replays_values_that_strict_json_cannot_hold(command: Command, tmp_path: Path) -> None:
    head = "default: allow\nlog: {to: ../log.jsonl, values: true}"
    paths = [deployment(tmp_path / name, head=head, a="") for name in ("old", "new")]
    for name, tools in (("old", '{"a": {}, "b": {}}'), ("new", '{"a": {}}')):
        (tmp_path / name / "tools.json").write_text(tools)
    with callgate.load(paths[0]) as engine:
        for value in ({"n": float("nan")}, {"half": "\ud800"}):
            engine.check("a", value)
            engine.check("b", value)
        engine.check_text("a", "\ud800")
    file = tmp_path / "log.jsonl"
    assert file.read_text().count("before_json") == 5
    line = {"time": "x", "outcome": "unrepairable", "code": "limit", "tool": "a"}
    with file.open("a") as more:
        for data in ("{", 3, "[" * 900 + "]" * 900):
            more.write(json.dumps({**line, "before_json": data}) + "\n")
    _, out, err = command("diff", paths[0], paths[1], "--calls", file)
    assert ("b, line 2" in out, "6 calls: 2 decided differently" in err, "OLD decides" in err) == (
        True,
        True,
        False,
    )
    assert "2 lines skipped: what the log holds of its values cannot be read" in err
