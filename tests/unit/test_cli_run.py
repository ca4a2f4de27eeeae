"""`callgate run`: call lines in, verdict lines out."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.engine.cli import _lines
from callgate.engine.cli._judge import Judge
from callgate.engine.cli.main import main
from callgate.engine.loading import compile_rules

RULES = """
tool edit {
  alias /path from file_path
  deny "outside" unless /path under "/repo"
  ask "big" when count(/edits) > 1
}
tool pick {
  alias /n from number for 'kimi'
}
tool role {
  deny "not you" when context.role == "guest"
}
"""
Run = Callable[..., tuple[int, list[dict[str, Any]], str]]


@pytest.fixture
def rules(tmp_path: Path) -> str:
    path = tmp_path / "rules.gate"
    path.write_text(RULES)
    return str(path)


@pytest.fixture
def run(rules: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run on these bytes or calls: exit status, what each line of output holds, standard error."""

    def go(lines: bytes | list[Any], *options: str) -> tuple[int, list[dict[str, Any]], str]:
        data = (
            lines
            if isinstance(lines, bytes)
            else b"".join(json.dumps(each).encode() + b"\n" for each in lines)
        )
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        status = main(["run", rules, *options])
        out, err = capfdbinary.readouterr()
        assert out == b"" or out.endswith(b"\n")
        return status, [json.loads(line) for line in out.decode().split("\n")[:-1]], err.decode()

    return go


def edit(**arguments: Any) -> dict[str, Any]:
    return {"tool": "edit", "arguments": arguments}


# Verdict lines ------------------------------------------------------------------------------------


def test_a_verdict_line_has_the_id_and_then_the_fields_of_a_verdict_in_order(run: Run) -> None:
    status, lines, _ = run([{"id": "a", **edit(file_path="/repo/x")}])
    assert status == 0
    assert list(lines[0]) == [
        *("id", "outcome", "tool", "arguments", "changes", "observations", "issues", "reason"),
        *("decided_by", "retry_message", "code", "fingerprint", "engine", "packs"),
    ]
    assert (lines[0]["id"], lines[0]["outcome"], lines[0]["arguments"]) == (
        "a",
        "repaired",
        {"path": "/repo/x"},
    )
    assert [each["rule"] for each in lines[0]["changes"]] == ["edit:alias:/path"]


def test_an_id_may_be_text_or_a_number_or_missing(run: Run) -> None:
    ids = ["", "é", 7, 1.5, 12345678901234567890123456789, None]
    _, lines, _ = run([{"id": each, **edit(path="/repo/x")} for each in ids] + [edit(path="/repo/x")])
    assert [line["id"] for line in lines] == [*ids, None]


def test_arguments_are_left_out_exactly_where_the_callers_own_stand(run: Run) -> None:
    calls = [
        edit(path="/repo/x"),
        edit(path="/etc"),
        {"tool": "edit", "arguments": "no object"},
        edit(file_path="/repo/x"),
        edit(path="/repo/x", edits=[1, 2]),
    ]
    _, lines, _ = run(calls)
    assert [(line["outcome"], "arguments" in line) for line in lines] == [
        *(("valid", False), ("denied", False), ("unrepairable", False)),
        *(("repaired", True), ("asked", True)),
    ]


def test_argument_text_always_brings_arguments(run: Run) -> None:
    texts = ['{"path": "/repo/x"}', '{"path": "/etc"}', "no object", '{"a": 1, "a": 2}']
    _, lines, _ = run([{"tool": "edit", "arguments_text": text} for text in texts])
    assert [line["outcome"] for line in lines] == ["valid", "denied", "unrepairable", "unrepairable"]
    assert lines[0]["arguments"] == {"path": "/repo/x"}
    assert [line["arguments"] for line in lines[1:]] == texts[1:]
    assert lines[3]["code"] == "duplicate-key"


def test_integers_of_any_size_and_every_character_come_out_as_they_went_in(
    rules: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    digits = "1234567890" * 64
    text = "é\u2028\U0001f600"
    line = f'{{"tool":"edit","arguments":{{"file_path":"/repo/x","n":-{digits},"t":"{text}\\u0000"}}}}'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line.encode())))
    assert main(["run", rules]) == 0
    out = capfdbinary.readouterr().out
    assert f'"n":-{digits},'.encode() in out
    assert f'"t":"{text}\\u0000"'.encode() in out
    assert out.count(b"\n") == 1


def test_text_format_says_in_one_line_what_became_of_a_call(
    rules: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    lines = b'{"id":"a","tool":"edit","arguments":{"path":"/x"}}\n{"tool":"e\\u001b[2J","arguments":{}}\n[]\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert main(["run", rules, "--format", "text"]) == 1
    first, second, third = capfdbinary.readouterr().out.decode().splitlines()
    assert first == "a  denied  edit  outside (edit:deny)"
    assert second == "line 2  valid  e�[2J"
    assert third.startswith("line 3: no verdict: a call is a JSON object")


# Lines that are no calls --------------------------------------------------------------------------

GOOD = b'{"id":"good","tool":"edit","arguments":{"path":"/repo/x"}}'


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (b"[]", "fields", "JSON object"),
        (b'"x"', "fields", "JSON object"),
        (b"{}", "fields", "`tool` is missing"),
        (b'{"tool": 5, "arguments": {}}', "fields", "`tool` must be text"),
        (b'{"tool": "t"}', "fields", "neither of them"),
        (b'{"tool": "t", "arguments": {}, "arguments_text": "{}"}', "fields", "both of them"),
        (b'{"tool": "t", "arguments": null, "arguments_text": "{}"}', "fields", "both of them"),
        (b'{"tool": "t", "arguments_text": {}}', "fields", "`arguments_text` must be text"),
        (b'{"tool": "t", "argument": {}}', "fields", "did you mean `arguments`?"),
        (b'{"tool": "t", "arguments": {}, "model": 5}', "fields", "`model` must be text"),
        (b'{"tool": "t", "arguments": {}, "context": []}', "fields", "`context` must be an object"),
        (b'{"tool": "t", "arguments": {}, "session": 1}', "fields", "`session` must be text"),
        (b'{"tool": "t", "arguments": {}, "id": []}', "fields", "`id` is text or a number"),
        (b'{"tool": "t", "arguments": {}, "id": true}', "fields", "`id` is text or a number"),
        (
            b'{"tool": "t", "arguments": {}, "schema": {}, "tools": {}}',
            "fields",
            "one of `schema` and `tools`",
        ),
        (b'{"tool": "t", "arguments": {}, "schema": "x"}', "fields", "a JSON Schema"),
        (b'{"tool": "t", "arguments": {}, "schema": {"type": 5}}', "schema", "the schema of `t`"),
        (b'{"tool": "t", "arguments": {}, "tools": {"t": {"type": 5}}}', "schema", "the schema of `t`"),
        (b'{"tool": "t", "arguments": {}, "tools": [5]}', "schema", "must be an object"),
        (b'{"tool": "t", "arguments": {}} x', "syntax", "Extra data"),
        (b'{"tool": "t", "arguments": {}', "syntax", "at character "),
        (b'{"tool": "t",\x00 "arguments": {}}', "syntax", "no JSON"),
        (b'{"tool": "t", "arguments": {"a": "\x00"}}', "syntax", "control character"),
        (b"{'tool': 't'}", "syntax", "no JSON"),
        (b"\xff\xfe", "encoding", "at byte 1"),
        (b'{"tool": "\xed\xa0\x80", "arguments": {}}', "encoding", "at byte 11"),
        (b'{"tool": "t", "arguments": {"a": "\\ud800"}}', "surrogate", "surrogate"),
        (b'{"tool": "t", "arguments": {"a": 1, "a": 1}}', "duplicate-key", "`a` stands twice"),
        (b'{"tool": "t", "tool": "u", "arguments": {}}', "duplicate-key", "`tool` stands twice"),
        (b'{"tool": "t", "arguments": {"a": NaN}}', "number", "NaN"),
        (b'{"tool": "t", "arguments": {"a": 1e999}}', "number", "finite"),
        (b'{"tool": "t", "arguments": {"a": 0.12345678901234567890123}}', "number", "exactly"),
        (b'{"tool": "t", "arguments": {"a": ' + b"9" * 641 + b"}}", "number", "640 digits"),
        (b"[" * 100_000, "limit", "nested"),
        (b'{"tool": "t", "arguments": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001, "limit", "nested"),
    ],
)
def test_a_bad_line_gets_an_error_and_the_rest_goes_on(run: Run, line: bytes, code: str, said: str) -> None:
    status, (error, verdict), summary = run(line + b"\n" + GOOD)
    assert status == 1
    assert list(error) == ["id", "error"]
    assert list(error["error"]) == ["code", "message", "line"]
    assert (error["error"]["code"], error["error"]["line"]) == (code, 1)
    assert said in error["error"]["message"]
    assert (verdict["id"], verdict["outcome"]) == ("good", "valid")
    assert f"1 bad line: 1 {code}" in summary


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        (b'{"id": "x", "tool": 5}', "x"),
        (b'{"id": 7, "tool": "t", "arguments": {"id": "no", "a": 1, "a": 2}}', 7),
        (b'{"id": "x", "tool": "t", "arguments": {"a": 1e999}}', "x"),
        (b'{"id": "x", "id": "y", "tool": "t", "arguments": {}}', None),
        (b'{"id": "\\ud800", "tool": "t", "arguments": {}}', None),
        (b'{"id": 0.12345678901234567890123, "tool": "t", "arguments": {}}', None),
        (b'[{"id": "x", "a": 1, "a": 2}]', None),
        (b'{"id": "x", "tool": "t"', None),
    ],
)
def test_an_error_names_its_call_where_the_id_can_be_told(run: Run, line: bytes, id_: object) -> None:
    _, (error,), _ = run(line)
    assert error["id"] == id_


def test_white_lines_are_skipped_and_counted_for_line_numbers(run: Run) -> None:
    status, lines, _ = run(b"\n  \r\n\t\n" + GOOD + b"\r\n\n[]\n" + GOOD)
    assert status == 1
    assert [line.get("outcome") for line in lines] == ["valid", None, "valid"]
    assert lines[1]["error"]["line"] == 6


def test_a_byte_order_mark_before_the_first_line_is_no_part_of_it(run: Run) -> None:
    status, lines, _ = run(b"\xef\xbb\xbf" + GOOD)
    assert (status, len(lines)) == (0, 1)
    assert run(GOOD + b"\n\xef\xbb\xbf" + GOOD)[0] == 1


def test_no_input_is_no_fault(run: Run) -> None:
    assert run(b"") == (0, [], "no calls\n")


def test_a_line_over_the_limit_is_refused_and_its_rest_is_no_line(run: Run) -> None:
    huge = b'{"tool":"edit","arguments":{"a":"' + b"x" * 20_000_000 + b'"}}\n'
    status, (error, verdict), _ = run(huge + GOOD)
    assert status == 1
    assert error["error"] == {
        "code": "limit",
        "message": f"the line is larger than {_lines.LARGEST} bytes",
        "line": 1,
    }
    assert verdict["outcome"] == "valid"


def test_reading_holds_no_more_than_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lines, "LARGEST", 10)
    asked: list[int] = []

    class Stream(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            asked.append(size)
            return super().readline(size)

    lines = list(_lines.read_lines(Stream(b"a" * 200_000 + b"\n" + b"b" * 10 + b"\nc")))
    assert lines == [(1, 200_001, None), (2, 11, b"b" * 10 + b"\n"), (3, 1, b"c")]
    assert min(asked) > 0
    assert max(asked) < 100_000


def test_arguments_nested_deeper_than_a_tool_takes_get_a_verdict(run: Run) -> None:
    status, (line,), _ = run(b'{"tool":"edit","arguments":' + b'{"a":' * 100 + b"1" + b"}" * 101)
    assert (status, line["outcome"], line["code"]) == (0, "unrepairable", "limit")


@pytest.mark.parametrize("field", ["arguments", "schema", "tools", "context"])
def test_no_depth_of_any_field_ends_the_run(run: Run, field: str) -> None:
    lines = []
    for depth in (64, 200, 509, 510, 511, 512, 513, 10_000):
        deep = '{"a":' * depth + "1" + "}" * depth
        rest = "" if field == "arguments" else '"arguments": {}, '
        lines.append(f'{{"id": {depth}, "tool": "a", {rest}"{field}": {deep}}}')
    _, answers, _ = run("\n".join(lines).encode())
    assert len(answers) == len(lines)
    assert {answer.get("code") for answer in answers} <= {None, "limit", "schema", "unknown-tool"}
    codes = [answer["error"]["code"] for answer in answers if "error" in answer]
    assert codes[-2:] == ["limit", "limit"]
    assert "internal" not in codes


@given(st.lists(st.binary() | st.from_regex(rb'\{"(tool|id|arguments|context)": ?["\[{a-z0-9\]}:,. -]*\}?')))
def test_every_line_that_is_not_white_has_one_answer(lines: list[bytes]) -> None:
    judge = Judge(compile_rules(RULES), None, None)
    whole = b"\n".join(lines)
    wanted = [line for line in whole.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    answers = [judge.answer(number, data) for number, _, data in _lines.read_lines(io.BytesIO(whole))]
    assert len(answers) == len(wanted)
    assert all(answer.count(b"\n") == 1 and next(iter(json.loads(answer))) == "id" for answer in answers)


def test_a_fault_inside_the_engine_costs_its_own_line_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from callgate.engine.engine import Engine

    check = Engine.check

    def broken(self: Engine, tool: str, *rest: Any, **more: Any) -> Any:
        return [][1] if tool == "broken" else check(self, tool, *rest, **more)

    monkeypatch.setattr(Engine, "check", broken)
    status, (error, verdict), _ = run(b'{"id":"b","tool":"broken","arguments":{}}\n' + GOOD)
    assert status == 1
    assert (error["id"], error["error"]["code"]) == ("b", "internal")
    assert verdict["outcome"] == "valid"


# Options ------------------------------------------------------------------------------------------


def test_model_is_for_lines_that_name_none(run: Run) -> None:
    calls = [
        {"tool": "pick", "arguments": {"number": 1}},
        {"tool": "pick", "arguments": {"number": 1}, "model": "glm"},
        {"tool": "pick", "arguments": {"number": 1}, "model": None},
    ]
    assert [line["outcome"] for line in run(calls)[1]] == ["valid"] * 3
    assert [line["outcome"] for line in run(calls, "--model", "kimi")[1]] == ["repaired", "valid", "repaired"]


@pytest.mark.parametrize(("ending", "text"), [("json", '{"role": "guest"}'), ("yaml", "role: guest\n")])
def test_a_lines_context_wins_key_by_key(run: Run, tmp_path: Path, ending: str, text: str) -> None:
    (tmp_path / f"c.{ending}").write_text(text)
    calls = [
        {"tool": "role", "arguments": {}},
        {"tool": "role", "arguments": {}, "context": {"other": 1}},
        {"tool": "role", "arguments": {}, "context": {"role": "owner"}},
    ]
    _, lines, _ = run(calls, "--context", str(tmp_path / f"c.{ending}"))
    assert [line["outcome"] for line in lines] == ["denied", "denied", "valid"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.json", '{"edit": {"properties": {"path": {}}}}'),
        ("t.json", '[{"name": "edit", "input_schema": {"properties": {"path": {}}}}]'),
        ("t.yml", "edit:\n  properties: {path: {}}\n"),
    ],
)
def test_tools_settle_which_names_there_are(run: Run, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "rules.gate").write_text("tool edit {\n  alias /path from file_path\n}\n")
    _, lines, _ = run(
        [edit(path="/repo/x"), {"tool": "other", "arguments": {}}], "--tools", str(tmp_path / name)
    )
    assert [(line["outcome"], line["code"]) for line in lines] == [
        ("valid", None),
        ("unrepairable", "unknown-tool"),
    ]


def test_a_line_may_bring_its_own_tools_or_schema(run: Run) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    calls = [
        {"tool": "t", "arguments": {"n": "5"}, "schema": schema},
        {"tool": "t", "arguments": {}, "schema": schema},
        {"tool": "T", "arguments": {"n": 5}, "tools": {"t": schema}},
        {"tool": "u", "arguments": {}, "tools": [{"name": "t", "input_schema": schema}]},
        {"tool": "u", "arguments": {}, "schema": None, "tools": None},
    ]
    _, lines, _ = run(calls)
    assert [line["outcome"] for line in lines] == [
        "repaired",
        "unrepairable",
        "repaired",
        "unrepairable",
        "valid",
    ]
    assert lines[0]["arguments"] == {"n": 5}
    assert lines[2]["tool"] == "t"


def test_equal_tools_are_compiled_once_and_only_some_are_kept(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from callgate.engine import engine
    from callgate.engine.engine import Engine

    made: list[Any] = []
    with_tools = Engine.with_tools

    def counted(self: Engine, tools: Any) -> Engine:
        made.append(tools)
        return with_tools(self, tools)

    monkeypatch.setattr(Engine, "with_tools", counted)
    monkeypatch.setattr(engine, "_OVERS", 2)
    sets: list[dict[str, Any]] = [{"a": {}}, {"b": {}}, {"a": {}}, {"c": {}}, {"a": {}}, {"b": {}}]
    run([{"tool": "a", "arguments": {}, "tools": each} for each in sets])
    assert made == [{"a": {}}, {"b": {}}, {"c": {}}, {"b": {}}]


def test_a_policy_on_the_command_line_wins_and_shows_in_the_digest(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rules.gate").write_text("policy adaptive\n")
    schema = {"type": "object", "properties": {"n": {"type": "string"}}}
    calls = [{"tool": "t", "arguments": {"n": 5}, "schema": schema}]
    _, (plain,), _ = run(calls)
    _, (careful,), _ = run(calls, "--policy", "conservative")
    assert (plain["outcome"], careful["outcome"]) == ("repaired", "unrepairable")
    assert plain["engine"] != careful["engine"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy", "adaptve"], "--policy adaptve: there is no such policy; did you mean `adaptive`?"),
        (["--tools", "{}/none.json"], "--tools {}/none.json: cannot be read: No such file"),
        (["--tools", "{}"], "--tools {}: cannot be read: Is a directory"),
        (["--tools", "{}/bad.json"], "--tools {}/bad.json: is no JSON: Expecting value in line 3"),
        (["--tools", "{}/twice.json"], "--tools {}/twice.json: is no JSON: the key `a` stands twice"),
        (
            ["--tools", "{}/twice.yaml"],
            "--tools {}/twice.yaml: is no YAML: the key `a` stands twice in line 2",
        ),
        (["--tools", "{}/bad.yaml"], "--tools {}/bad.yaml: is no YAML: "),
        (["--tools", "{}/deep.yaml"], "--tools {}/deep.yaml: is no YAML: exceeded maximum nesting depth"),
        (["--tools", "{}/deep.json"], "--tools {}/deep.json: is no JSON: arrays and objects are nested"),
        (["--tools", "{}/date.yaml"], "--tools {}/date.yaml: is no YAML: could not determine"),
        (["--tools", "{}/nan.yaml"], "--tools {}/nan.yaml: holds a number that"),
        (["--tools", "{}/bomb.yaml"], "--tools {}/bomb.yaml: is too large"),
        (["--tools", "{}/latin.json"], "--tools {}/latin.json: is no UTF-8 text, at byte 2"),
        (["--tools", "{}/text.json"], "--tools {}/text.json: tools are a mapping"),
        (["--tools", "{}/schema.json"], "--tools {}/schema.json: the schema of `t`"),
        (["--context", "{}/text.json"], "--context {}/text.json: a context is an object"),
        (["--context", "{}/none.yaml"], "--context {}/none.yaml: cannot be read: No such file"),
        (["{}/none.gate"], "{}/none.gate: cannot be read: No such file"),
        (["{}/loop.gate"], "{}/loop.gate: cannot be read: Too many levels"),
        (["{}/empty"], "{}/empty: the folder holds no *.gate file"),
        (["{}/text.json"], "{}/text.json: is no rule file"),
        (["--packs", "a,,b"], "--packs: a name is empty"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_setting(
    run: Run, tmp_path: Path, options: list[str], said: str
) -> None:
    for name, text in {
        "bad.json": "[\n\n}",
        "twice.json": '{"a": 1, "a": 1}',
        "twice.yaml": "a: 1\na: 1\n",
        "bad.yaml": "a: [",
        "deep.yaml": "[" * 100_000,
        "deep.json": "[" * 100_000,
        "date.yaml": "t: {default: !!timestamp 2020-01-01}\n",
        "nan.yaml": "t: {default: 1e999}\n",
        "bomb.yaml": "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 12)),
        "text.json": '"x"',
        "schema.json": '{"t": {"type": 5}}',
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.json").write_bytes(b'"\xe9"')
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop.gate").symlink_to("loop.gate")
    status, lines, err = run(GOOD, *(option.replace("{}", str(tmp_path)) for option in options))
    assert (status, lines) == (2, [])
    assert f"callgate: {said.replace('{}', str(tmp_path))}" in err
    assert "Traceback" not in err


def test_rules_with_errors_judge_nothing_and_show_what_is_wrong(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rules.gate").write_text("tool edit {\n  alias /path from\n}\nfamly x\n")
    status, lines, err = run(GOOD)
    assert (status, lines) == (2, [])
    assert err.count("error[") == 2
    assert "rules.gate:2:" in err
    assert "rules.gate:4:1" in err


def test_rules_whose_tests_fail_judge_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rules.gate").write_text('tool t {\n  test "no" {\n    call {}\n    expect denied\n  }\n}\n')
    status, lines, err = run(GOOD)
    assert (status, lines) == (2, [])
    assert "wanted denied, got valid" in err


def test_an_unknown_kind_is_warned_about_and_does_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rules.gate").write_text("tool edit {\n  sharpen /path\n}\n")
    status, lines, err = run(GOOD)
    assert (status, lines[0]["outcome"]) == (0, "valid")
    assert "warning[G101]" in err


def test_the_summary_counts_outcomes_codes_and_rules(run: Run) -> None:
    calls = (
        [edit(file_path="/repo/x")] * 3 + [edit(path="/etc")] * 2 + [{"tool": "edit", "arguments": "x"}, []]
    )
    _, _, err = run(calls)
    assert err.splitlines() == [
        "6 calls: 3 repaired, 1 unrepairable, 2 denied",
        "unrepairable: 1 not-json",
        "1 bad line: 1 fields",
        "  rule               changed   decided  observed",
        "  edit:alias:/path         3         -         -",
        "  edit:deny                -         2         -",
    ]
