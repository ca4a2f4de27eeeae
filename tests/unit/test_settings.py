"""deployment.yaml: what it may say, where each fault stands, and what is expanded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.engine.settings import SCHEMA, Settings, read_settings
from callgate.grammar.codes import CODES
from callgate.grammar.diagnostics import Diagnostic

PATH = Path("/srv/deployment.yaml")
FULL = """
packs: [common, kimi@^1.2, ./own.gate]
rules: [./rules/*.gate]
tools: ./tools.json
models: {"acme/fast": moonshotai/kimi-k2}
policy: adaptive
default: deny
why: ask the owner
cwd: /srv/project
let: {workspace: /srv/project, depth: [1, 2.5, null, true, "3"]}
limits: {input-bytes: 1000, depth: 8}
state: sqlite:///gate.db
log: {to: ./decisions.jsonl, values: true, mask: [/password], max-bytes: 4096, keep: 2, queue: 10}
reload: {watch: true, keep-last-good: false, quiet-ms: 50, poll: true}
"""


def read(text: str, **environment: str) -> Settings:
    settings, found = read_settings(text, PATH, environment)
    assert settings is not None
    assert not found
    return settings


def wrong(text: str, **environment: str) -> list[Diagnostic]:
    _, found = read_settings(text, PATH, environment)
    assert found
    return found


def test_what_is_wrong_is_left_out_so_that_the_rest_can_be_looked_at() -> None:
    text = "default: maybe\nrules: [./a.gate]\ntools: ${NOWHERE}\nlog: {to: x, mask: [a]}\nlet: {a: 1}"
    settings, found = read_settings(text, PATH, {})
    assert settings is not None
    assert len(found) == 3
    assert (settings.default, settings.tools, settings.log) == ("deny", None, None)
    assert (settings.rules, settings.let, settings.whole) == (("./a.gate",), {"a": 1}, True)
    for each in ("rulez: []", "packs: 3"):
        settings, _ = read_settings(f"default: deny\n{each}", PATH, {})
        assert settings is not None
        assert not settings.whole
    assert read_settings("default: [", PATH, {})[0] is None


def test_every_setting() -> None:
    found = read(FULL)
    assert (found.file, found.folder) == ("/srv/deployment.yaml", Path("/srv"))
    assert found.packs == ("common", "kimi@^1.2", "./own.gate")
    assert (found.rules, found.tools) == (("./rules/*.gate",), "./tools.json")
    assert found.models == {"acme/fast": "moonshotai/kimi-k2"}
    assert (found.policy, found.default, found.why) == ("adaptive", "deny", "ask the owner")
    assert (found.cwd, found.state) == ("/srv/project", "sqlite:////srv/gate.db")
    assert found.let == {"workspace": "/srv/project", "depth": [1, 2.5, None, True, "3"]}
    assert (found.limits.input_bytes, found.limits.depth) == (1000, 8)
    assert found.log is not None
    assert (found.log.to, found.log.values, found.log.mask) == ("/srv/decisions.jsonl", True, ("/password",))
    assert (found.log.max_bytes, found.log.keep, found.log.queue) == (4096, 2, 10)
    assert (found.watch, found.keep_last_good, found.quiet, found.poll) == (True, False, 0.05, True)


def test_the_default_alone_is_enough_and_is_needed() -> None:
    found = read("default: allow")
    assert (found.rules, found.state, found.log, found.watch) == ((), "memory", None, False)
    (one,) = wrong("rules: []")
    assert (one.code, one.message, one.help) == (
        "G703",
        "`default` must be stated",
        "write `default: allow`, `ask` or `deny`",
    )


@pytest.mark.parametrize(
    ("text", "code", "line", "message", "help"),
    [
        ("default: deny\nrulez: []", "G702", 2, "no setting `rulez`", "did you mean `rules`?"),
        ("default: deny\nlimits: {depht: 3}", "G702", 2, "no setting `limits.depht`", "`depth`"),
        ("default: deny\nxyz: 1", "G702", 2, "no setting `xyz`", "there are `packs`, `rules`"),
        ("default: maybe", "G704", 1, "must be one of `allow`, `ask`, `deny`", ""),
        ("default: deny\non-store-error: accept", "G704", 2, "`on-store-error` must be `refuse`", ""),
        ("default: deny\npolicy: adaptiv", "G704", 2, "must be one of", "did you mean `adaptive`?"),
        ("default: deny\npacks: common", "G704", 2, "must be a list of names, `name@range` or paths", ""),
        ("default: deny\npacks: [common, 1]", "G704", 2, "`packs.1` must be text", ""),
        ("default: deny\nmodels: {a: 1}", "G704", 2, "`models.a` must be text", ""),
        ("default: deny\nlimits: {depth: 513}", "G704", 2, "must be at most 512", ""),
        ("default: deny\nlimits: {depth: 0}", "G704", 2, "must be at least 1", ""),
        ("default: deny\nlimits: {depth: x}", "G704", 2, "must be a whole number", ""),
        ("default: deny\nlog: {to: x, mask: [a]}", "G704", 2, "no JSON Pointer", ""),
        (
            "default: deny\nlog:\n  to: x\n  mask: [/a, b]",
            "G704",
            4,
            "`log.mask.1` is no JSON Pointer",
            "/password",
        ),
        (
            "default: deny\nlog:\n  to: x\n  max-bytes: 9999999999999999",
            "G704",
            4,
            "`log.max-bytes` must be at",
            "",
        ),
        ('default: deny\nlog:\n  to: "a\\0"', "G704", 3, "`log.to` holds a NUL", "take it out"),
        ('default: deny\nrules: [a,\n "b\\0.gate"]', "G704", 3, "`rules.1` holds a NUL", "take it out"),
        ('default: deny\npacks: ["./b\\0"]', "G704", 2, "`packs.0` holds a NUL", "take it out"),
        ('default: deny\ntools: "b\\0"', "G704", 2, "`tools` holds a NUL", "take it out"),
        ('default: deny\ncwd: "/b\\0"', "G704", 2, "`cwd` holds a NUL", "take it out"),
        ("default: deny\nlet:\n  a: [1, 1e999]", "G704", 3, "this number is not finite", "in quotes"),
        ("default: deny\nlet:\n  a: ${HALF}", "G704", 3, "no Unicode", ""),
        ("default: deny\nlock: no", "G704", 2, "`lock` must be `required`", ""),
        ("default: deny\nwhy: 3", "G704", 2, "`why` must be a text that says why", ""),
        (
            "default: deny\nstate: mysql://x",
            "G704",
            2,
            "`state` cannot be used: `mysql` is no kind",
            "`memory`",
        ),
        ("default: deny\nlog: {}", "G703", 2, "`log.to` must be stated", "add `to: …`"),
        ("default: deny\nlog: {to: x, values: yes}", "G704", 2, "must be `true` or `false`", ""),
        ('default: deny\nreload: {watch: "true"}', "G704", 2, "must be `true` or `false`", ""),
        ("default: deny\npacks: {type: x}", "G704", 2, "must be a list", "write `packs: [shipped]`"),
        ("default: deny\npacks: shipped", "G704", 2, "must be a list", "write `packs: [shipped]`"),
        ("default: deny\nrules: ['']", "G704", 2, "must be some text", "write `rules: [./rules/*.gate]`"),
        ("default: deny\nlock: 3", "G704", 2, "must be `required`", ""),
        ("default: deny\nrules: [3]", "G704", 2, "must be text", "put it in quotes"),
        ("default: deny\nrules: [[3]]", "G704", 2, "must be text", "write `rules: [./rules/*.gate]`"),
        ("default: deny\nlog: x.jsonl", "G704", 2, "must be a map", "write `log: {to: ./decisions.jsonl}`"),
        ("default: deny\nreload: true", "G704", 2, "must be a map", "write `reload: {watch: true}`"),
        ("default: deny\nmodels: {a: }", "G704", 2, "`models.a` must be text", "write `models: {"),
        ("default: deny\nlet: {'': 1}", "G704", 2, "a name in `let` must be text", "write `let: {"),
        ("default: deny\nstate: gate.db", "G704", 2, "no kind of store", "`sqlite:///gate.db`"),
        ("default: deny\nlimits: {depth: ${D:-12}}", "G701", 2, "no YAML", 'in quotes: `"${NAME}"`'),
        ("default: deny\nlimits: {depth: '${D:-x}'}", "G704", 2, "from `${D}` must be a whole number", ""),
        ("default: deny\nwhy: ${D:-12}", "G704", 2, "`why` from `${D}` must be", "put it in quotes"),
        ("default: deny\ntools: ''", "G704", 2, "`tools` must be the path of", ""),
        ("default: deny\nlet: 3", "G704", 2, "`let` must be a mapping of names to values", ""),
        ("default: deny\ndefault: allow", "G701", 2, "`default` stands twice", "keep one"),
        ("default: deny\n? [a]\n: 1", "G701", 2, "the name of a setting is text", ""),
        ("default: {", "G701", 2, "this is no YAML", "write each setting as `name: value`"),
        ("[1]", "G701", 1, "a deployment is a mapping", "begin with `default: deny`"),
        ("", "G701", 1, "a deployment is a mapping", ""),
        ("\x00", "G701", 1, "this is no YAML", ""),
        ("default: deny\ntools: ${TOOLS}", "G705", 2, "the environment has no `TOOLS`", "${TOOLS:-default}"),
        ("default: deny\ntools: a${X:?no}", "G705", 2, "nothing else is expanded", "${NAME:-default}"),
        ("default: deny\ntools: ${1X}", "G705", 2, "nothing else is expanded", ""),
        ("default: deny\ntools: ${", "G705", 2, "nothing else is expanded", ""),
        ('default: deny\nmodels:\n  "${MODEL}": a/b', "G705", 3, "names are not expanded", "write the name"),
        ("default: deny\nlet:\n  a:\n    x${B:-c}: 1", "G705", 4, "names are not expanded", "write the name"),
        ("default: deny\n${A}: 1", "G705", 2, "names are not expanded", "write the name"),
    ],
)
def test_what_is_wrong_and_where(text: str, code: str, line: int, message: str, help: str) -> None:
    found = [each for each in wrong(text, HALF="\udc80") if each.code == code]
    assert found, wrong(text)
    assert found[0].span.line == line
    assert message in found[0].message
    assert help in found[0].help
    assert found[0].file == str(PATH)
    assert code in CODES


def test_a_name_with_a_variable_is_said_once_and_its_setting_is_left_out() -> None:
    text = 'default: deny\nmodels: {"${M}": 3, b: 4}\nlet: {"${M}": "${NOWHERE}"}\n${A}: 1'
    settings, found = read_settings(text, PATH, {"M": "x"})
    assert [each.code for each in found] == ["G705", "G704", "G705", "G705", "G705"]
    assert settings is not None
    assert (settings.models, settings.let) == ({}, {})


def test_everything_that_is_wrong_is_said_at_once_in_order() -> None:
    text = "rulez: []\ndefault: no\nlimits: {depth: 0, depht: 1}\ntools: ${NOWHERE}\nlog: {values: 3}\n"
    assert [each.code for each in wrong(text)] == ["G702", "G704", "G704", "G702", "G705", "G703", "G704"]


@pytest.mark.parametrize("twice", ["default: deny\ndefault: deny", "default: deny\n? [a]\n: 1"])
def test_beside_a_name_that_cannot_be_used_the_rest_is_said_too(twice: str) -> None:
    text = f"{twice}\nrulez: []\nlimits: {{depth: x, input-bytes: 1, input-bytes: 0}}\npacks: [a]\n"
    settings, found = read_settings(text, PATH, {})
    assert [each.code for each in found] == ["G701", "G702", "G704", "G701"]
    assert settings is not None
    assert (settings.packs, settings.limits.depth) == (("a",), 64)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("packs: {name: kimi, type: git}", "`packs` must be a list of names"),
        ("rules: {type: folder}", "`rules` must be a list of files"),
        ("log: {to: x, mask: {type: string}}", "`log.mask` must be a list of JSON Pointers"),
        ("state: null", "`state` must be `memory`, or the URL"),
        ("limits: [{min: 1}]", "`limits` must be a mapping"),
    ],
)
def test_a_value_that_looks_like_a_schema_is_a_value(text: str, message: str) -> None:
    (one,) = wrong(f"default: deny\n{text}")
    assert message in one.message


@pytest.mark.parametrize(
    ("written", "environment", "value"),
    [
        ("${A}", {"A": "x"}, "x"),
        ("${A}", {"A": "7"}, 7),
        ('"${A}"', {"A": "7"}, "7"),
        ("12345678901234567890", {}, 12345678901234567890),
        ("'${A}'", {"A": "7"}, "7"),
        ('"a${A}b"', {"A": "7"}, "a7b"),
        ("${A:-8}", {}, 8),
        ("${A:-}", {}, None),
        ("${A:-8}", {"A": ""}, 8),
        ("${A}", {"A": ""}, None),
        ("x${A:-y}z${B}", {"B": "1"}, "xyz1"),
        ("$A $(A) `A` ~A", {"A": "1"}, "$A $(A) `A` ~A"),
        ("${A}", {"A": "${B}"}, "${B}"),
        ("${A}", {"A": "[1, 2]"}, "[1, 2]"),
        ("yes", {}, "yes"),
        ("2026-11-30", {}, "2026-11-30"),
        ("12:30:00", {}, "12:30:00"),
        ("1e3", {}, 1000.0),
        ("0x1f", {}, "0x1f"),
        ("~", {}, None),
    ],
)
def test_what_is_expanded_and_what_type_it_has(written: str, environment: dict[str, str], value: Any) -> None:
    found = read(f"default: deny\nlet:\n  x: {written}", **environment).let["x"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("sqlite:///gate.db?timeout=3", "sqlite:////srv/a%20b%3F/gate.db?timeout=3"),
        ("sqlite:///../x%20y.db", "sqlite:////srv/a%20b%3F/../x%20y.db"),
        ("sqlite:////var/gate.db", "sqlite:////var/gate.db"),
        ("memory", "memory"),
        ("redis://h/0", "redis://h/0"),
    ],
)
def test_a_file_of_a_store_is_relative_to_the_folder_of_the_deployment(written: str, url: str) -> None:
    settings, _ = read_settings(f"default: deny\nstate: {written}", Path("/srv/a b?/deployment.yaml"), {})
    assert settings is not None
    assert settings.state == url


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_variable_in_quotes_is_text_but_for_a_setting_that_wants_a_number(quote: str) -> None:
    quoted = f"{quote}${{SEVEN}}{quote}"
    assert read(f"default: deny\nlimits: {{depth: {quoted}}}", SEVEN="7").limits.depth == 7
    found = read(f"default: deny\nwhy: {quoted}\nmodels: {{a: {quoted}}}\nrules: [{quoted}]", SEVEN="7")
    assert (found.why, found.models, found.rules) == ("7", {"a": "7"}, ("7",))
    assert read(f"default: deny\nreload: {{watch: {quoted}}}", SEVEN="true").watch is True


@pytest.mark.parametrize(
    ("written", "cwd"),
    [
        ("/srv/../x", "/srv/../x"),
        ("project", "/srv/project"),
        ("..", "/"),
        ("~/x", "/home/me/x"),
        ("C:\\x", "C:\\x"),
        ("\\\\host\\share", "\\\\host\\share"),
    ],
)
def test_a_relative_cwd_is_of_the_folder_of_the_deployment(
    monkeypatch: pytest.MonkeyPatch, written: str, cwd: str
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert read(f"default: deny\ncwd: {written}").cwd == cwd


@pytest.mark.parametrize(
    "text", ["let: &x {a: *x}", "rules: &x [*x]", "limits: {input-bytes: 99999999999999}"]
)
def test_what_has_no_end_or_is_too_large_is_refused(text: str) -> None:
    assert wrong(f"default: deny\n{text}")[0].code in ("G701", "G704")


def test_aliases_that_grow_are_refused() -> None:
    lines = ["default: deny", "let:", "  a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (one,) = wrong("\n".join(lines))
    message = "this holds more than 100000 values or is nested too deep, once aliases are followed"
    assert (one.code, one.message) == ("G701", message)


@given(st.text(max_size=60) | st.text(alphabet="adeflopt:{}[]$-&*!'\"\n #>|%@`,?1", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    settings, found = read_settings(text, PATH, {})
    assert settings is not None or found
    assert all(each.code in CODES and each.span.line >= 1 for each in found)


WORDS = ["type", "schema", "minlength", "allowed", "meta", "check_with", "required", "to", "mask", "depth"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from([*WORDS, "/a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*WORDS, *SCHEMA, ""]), inner, max_size=4)
    ),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(st.sampled_from(WORDS), VALUES, min_size=1, max_size=3)


@given(st.dictionaries(st.sampled_from([*SCHEMA, "rulez"]), MAPPINGS | VALUES, max_size=9))
def test_any_document_is_read_or_refused(document: Any) -> None:
    settings, found = read_settings(json.dumps(document), PATH, {})
    assert found or settings is not None
    assert all(each.code in CODES and each.span.line == 1 for each in found)
