"""Whatever text is compiled, it becomes an engine or a `RuleFileError` with diagnostics, in linear time."""

from __future__ import annotations

import time
import warnings
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import callgate
from callgate import CallgateError, Engine, RuleFileError, Verdict

SAMPLE = """\
pack demo "1.0.0" "what"
family kimi matches "(?i)kimi"
let workspace = "/repo"
policy adaptive
default ask "why"
tool edit, "x_*" {
  alias /path from file_path, 'a b' accepting string empty-is-missing
  filesystem-path /path
  scalar /limit as number
  shadow anchor-bleed /path for kimi, "glm" note "n" named my-rule
  structural "flat" /edits/* when missing /a and (present ./b or not count(/c) > 1) {
    move /old to /edits/0/old
    set /x {"a": [1, null, "}"]}
  }
  bound /n integer 0..100
  deny "no" unless /path under workspace
  ask "many" when any /edits/*/x matches '^a.*$'
  schema {"type": "object"}
  test "t" {
    call edit {"file_path": "/repo/a"}
    expect repaired {"path": "/repo/a"} by alias
  }
}
ground { mutates edit; shell bash /command }
"""
TOKENS = st.sampled_from(
    [
        *sorted(set(SAMPLE.split())),
        '{', '}', '(', ')', '[', ']', ',', ';', '\n', '\n  ', '"', "'", '\\', '#', '/', '/*', '~', '""',
        '..', '0..1', '1e999', 'not', 'and', 'or', 'in', 'is', 'every', 'any', 'tool', 'rename',
        'droppable', 'root', 'disable', 'use', 'closing-tags', 'null', 'NaN', '\t', '\r\n', '\x00',
        '\ud800', 'é', '*', '!=', '==', 'runs(/c, "x")', 'after edit in turn', 'until 2020-13-99',
    ]
)  # fmt: skip
SOUP = st.lists(TOKENS, max_size=40).map(" ".join)
CUT = st.integers(0, len(SAMPLE)).map(lambda at: SAMPLE[:at])


@st.composite
def edited(draw: st.DrawFn) -> str:
    """The sample with some pieces taken away, doubled or put in."""
    text = SAMPLE
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(TOKENS | st.just("") | st.text(max_size=2)) + text[end:]
    return text


def compiled(text: str, **options: Any) -> Engine | None:
    """The engine, or None where the text was refused as it should be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", callgate.CallgateWarning)
            engine = callgate.compile(text, **options)
    except RuleFileError as error:
        refused = error
    except CallgateError:
        return None
    else:
        assert isinstance(engine, Engine)
        return engine
    assert refused.diagnostics
    assert refused.text
    for each in refused.diagnostics:
        assert each.code.startswith("G")
        assert each.message
        assert 0 <= each.span.start <= each.span.end <= len(text) + 1
        assert each.span.line >= 1
        assert each.span.column >= 1
    return None


@given(st.text(st.characters(), max_size=60) | SOUP | CUT | edited())
@example(SAMPLE)
@example("\ud800")
@example('tool "\ud800" { deny }')
@example("tool t { deny when /a matches '(' }")
@example("tool t { deny when /a matches '(?P<a>.)(?P=a)' }")
@example("let a = 1e999")
@example('tool t { schema {"$ref": "file:///etc/passwd"} }')
@example('tool t { schema "../../etc/passwd" }')
@example("family f matches ''; tool t { deny for f }")
def test_any_text_compiles_or_is_refused_with_diagnostics(text: str) -> None:
    engine = compiled(text)
    if engine is not None:
        for tool in ("edit", "x_1", "t"):
            for model in (None, "kimi-k2"):
                assert isinstance(engine.check(tool, {"path": "/repo/x", "n": "5"}, model=model), Verdict)
                assert isinstance(engine.check(tool, "[}", model=model), Verdict)


DEPTH = 100_000
DEEP = {
    "parentheses": "tool t { deny when " + "(" * DEPTH,
    "closed parentheses": "tool t { deny when " + "(" * DEPTH + "present /a" + ")" * DEPTH + " }",
    "nots": "tool t { deny when " + "not " * DEPTH + "present /a }",
    "nots and parentheses": "tool t { deny when " + "not (" * DEPTH + "present /a" + ")" * DEPTH + " }",
    "ands": "tool t { deny when " + "present /a and " * (DEPTH // 10) + "present /a }",
    "ors": "tool t { deny when " + "present /a or " * (DEPTH // 10) + "present /a }",
    "quantifiers": "tool t { deny when " + "any /a/* (" * DEPTH + "present ./b" + ")" * DEPTH + " }",
    "functions": "tool t { deny when " + "count(" * DEPTH + "/a" + ")" * DEPTH + " > 1 }",
    "blocks": "tool t {" * DEPTH,
    "closed blocks": "tool t {" * DEPTH + "}" * DEPTH,
    "arrays": "let a = " + "[" * DEPTH + "]" * DEPTH,
    "objects": "let a = " + '{"a":' * DEPTH + "1" + "}" * DEPTH,
    "an array that does not end": "let a = " + "[" * DEPTH,
    "a schema": "tool t { schema " + '{"items":' * DEPTH + "{}" + "}" * DEPTH + " }",
    "a test's call": 'tool t { test "x" { call ' + "[" * DEPTH + "]" * DEPTH + "\n expect valid } }",
    "a selector": "tool t { deny when present " + "/a" * DEPTH + " }",
    "a selector of stars": "tool t { deny when any " + "/*" * DEPTH + " == 1 }",
    "a structural target": 'tool t { structural "x" "" { move /a to ' + "/a" * DEPTH + " } }",
    "a rule's selector": "tool t { filesystem-path " + "/a" * DEPTH + " }",
    "stars in a rule": "tool t { filesystem-path " + "/*" * DEPTH + " }",
    "a regular expression": "tool t { deny when /a matches '" + "(" * DEPTH + ")" * DEPTH + "' }",
    "repetition": "tool t { deny when /a matches '((((a{1,100}){1,100}){1,100}){1,100})' }",
    "a glob": 'tool "' + "*a" * DEPTH + '" { deny }',
    "closing brackets": ")" * DEPTH + "]" * DEPTH + "}" * DEPTH,
    "brackets without order": "([{)]}" * (DEPTH // 10),
}


@pytest.mark.parametrize("kind", DEEP)
def test_text_nested_a_hundred_thousand_deep_is_compiled_or_refused(kind: str) -> None:
    start = time.process_time()
    engine = compiled(DEEP[kind])
    if engine is not None:
        nested: Any = {"a": "a"}
        for _ in range(60):
            nested = {"a": nested}
        for arguments in ({}, nested, {"a": [1]}, {"a": "a" * 1000}):
            assert isinstance(engine.check("t", arguments), Verdict)
    assert time.process_time() - start < 20


UNITS = [
    '(', ')', '[', '{', '}', '"', "'", '\\', '#', ';', ',', '\n', '\n ', '\t', ' ', '/', '/a', '~', '*',
    '..', '1', '1.', '-', 'a', 'a ', 'a\n', 'é', '\x00', '😀', 'tool ', 'tool t {', 'tool t {}\n', 'deny\n',
    'tool t { deny }\n', 'not ', 'let a = ', 'let a = 1\n', 'family f matches ', 'use a\n', 'test ',
    'pack p ', '"a", ', 'alias /a from b\n', 'tool t { alias /a from b; bad /x }\n', 'x y z\n',
    'unknown-kind /a\n', '= ', '== ', 'tool t { allw }\n', 'tool t {\n  alias /a frm b\n}\n',
    'disable a because "x"\n', 'default allow\n', '/*', '{}', '[]', '{"a":1}', '\r\n', '\u2028',
]  # fmt: skip


def seconds(text: str) -> float:
    start = time.process_time()
    compiled(text)
    return time.process_time() - start


@pytest.mark.parametrize("segment", ["/a", "/*", "/0"])
@pytest.mark.parametrize(
    "rule", ["filesystem-path {}", "deny when any /x/*{} == 1", "alias {}/b from c", "root {}"]
)
def test_a_selector_of_any_length_compiles_to_rules_that_run_or_is_refused(segment: str, rule: str) -> None:
    for length in (1, 19, 20, 21, 49, 63, 64, 97, 101, 400, 2000):
        engine = compiled("tool t { " + rule.format(segment * length) + " }")
        if engine is not None:
            arguments: Any
            for arguments in ({}, {"a": 1}, {"x": []}, {"x": [[]]}, "bare text"):
                assert isinstance(engine.check("t", arguments), Verdict)


@pytest.mark.parametrize("prefix", ["", "tool t { deny when "])
def test_ten_times_the_text_compiles_in_about_ten_times_the_time(prefix: str) -> None:
    """600 B and 6 kB: at most 30 times as long, so that nothing quadratic hides."""
    slow = {}
    for unit in UNITS:
        for _ in range(3):
            large = seconds(prefix + unit * (6_000 // len(unit)))
            if large < 0.05:
                break
            small = max(seconds(prefix + unit * (600 // len(unit))), 0.003)
            if large <= 30 * small:
                break
        else:
            slow[unit] = (small, large)
    assert not slow
