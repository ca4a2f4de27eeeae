"""The commands about deployments: status, run over one, diff."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.cli.main import main

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
    ],
)
def test_no_line_that_is_quoted_shows_the_store(command: Command, tmp_path: Path, state: str) -> None:
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
    assert command("lock")[0] == 2
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
    assert (status, err.startswith(said)) == (1, True)
    first, second = (json.loads(line) for line in out.splitlines())
    assert (first["error"]["code"], second["outcome"]) == ("hook", "unrepairable")
    assert "`upper`" in first["error"]["message"]
    (tmp_path / "calls.jsonl").write_text(calls)
    status, out, err = command("diff", path, other, "--calls", tmp_path / "calls.jsonl")
    assert "not judged → denied: read (1)\n  was: not judged: the host gives `upper`" in out
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


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system has no SIGHUP")
def test_a_hangup_loads_anew_while_calls_come(tmp_path: Path) -> None:
    path = deployment(tmp_path, a="")
    call = b'{"tool": "read", "arguments": {"path": "/a"}}\n'
    command = [sys.executable, "-m", "callgate", "run", str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdin is not None

        def asks() -> dict[str, Any]:
            process.stdin.write(call)
            process.stdin.flush()
            answer: dict[str, Any] = json.loads(process.stdout.readline())
            return answer

        assert asks()["outcome"] == "valid"
        write(tmp_path, {"rules/a.gate": 'tool read { deny "no" }'})
        process.send_signal(signal.SIGHUP)
        assert process.stderr.readline().startswith(b"callgate: loaded anew, ")
        assert asks()["outcome"] == "denied"
        write(tmp_path, {"rules/a.gate": "tool {"})
        process.send_signal(signal.SIGHUP)
        said = b""
        while b"the last good rules stay in force" not in said:
            said += process.stderr.readline()
        assert b"a.gate:1" in said
        assert asks()["outcome"] == "denied"
        process.stdin.close()
        assert process.wait(20) == 0


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
        assert process.stderr.readline().startswith(b"callgate: loaded anew, ")
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
        "denied → valid: read (newly let through)",
        "  was: denied no by read:deny",
        "  is:  valid",
        "for another reason: read (other reason)",
        "  was: denied no by read:deny",
        "  is:  denied no etc by read:deny",
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
    heads = [line for line in out.splitlines() if line.endswith(": read")]
    assert heads == [
        "denied → valid: read",
        "denied → asked: read",
        "asked → valid: read",
        "valid → denied: read",
        "asked → denied: read",
        "repaired → unrepairable: read",
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
    assert "repaired → denied: read (2)" in out
    assert "1 line skipped: no call (syntax)" in err
    assert "1 line skipped: the log holds no values of it" in err
    assert "1 line skipped: a note of the log itself" in err


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
