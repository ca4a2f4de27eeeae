"""Damaged text: the engine and the second implementation in `tests/spec/damage.py` give the same answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note

from ..unit.test_pipeline_damage import MENDED, REFUSED, SCHEMA
from . import dice as st
from .dice import seeded
from .strategies import Call, plain_keys, schemas, values_of
from .test_damage_keeps import Token, text_of, tokens_of
from .test_spec_agrees import agree

pytestmark = pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")

TOKEN = '<|">'
RULES = [
    "",
    "",
    "",
    f"quote-token '{TOKEN}'",
    'surroundings "voila", "calling  the tool"',
    "tool edit { root /path }",
    'disable envelope.quotes, envelope.keys because "a test"',
    "policy conservative",
]
TEXTS = [
    "", "a", "x y", "it's", 'say "hi"', "C:\\dir\\new", "\\\\srv\\x", "\\d+ b", "a\nb", "a, b", "{a}", "// x",
    "# x", "null", "True", "5", "é“”", "a: b", "</path>", "```",
]  # fmt: skip


def retold(draw: st.DrawFn, value: Any) -> Any:
    """The value with other texts in some places."""
    if isinstance(value, dict):
        return {key: retold(draw, item) for key, item in value.items()}
    if isinstance(value, list):
        return [retold(draw, item) for item in value]
    return draw(st.sampled_from(TEXTS)) if isinstance(value, str) and draw(st.booleans()) else value


# A backslash and `n`, `r` or `t` beside one that is no escape: a line end and a tab, or names of files.
DOUBTFUL = [
    r'{"path": "..\new\Dev"}',
    r'{"path": ".\tests\Data"}',
    r'{"path": "\temp\Data"}',
    r'{"text": "cd \temp\Data"}',
    r'{"text": "cd C:\Program Files (x86)\nodejs"}',
    r'{"text": "\"C:\Program Files (x86)\nodejs\" -v"}',
    r'{"path": "\\\\srv\D$\new"}',
    r'{"path": "\\\\srv\Dev"}',
    r"{'path': 'C:\it\'s'}",
]


# Other calls in which the two differ: the schema of `a`, the call.
ITEMS = {"type": "array", "items": {"type": "string"}}
DIFFER: list[tuple[Any, Any]] = [
    # Several lines, or what stands between tags, are no item of a list.
    (ITEMS, {"a": "ok\nrm -rf x"}),
    (ITEMS, {"a": "\nfoo"}),
    (ITEMS, {"a": "<invoke>a, b</invoke>"}),
    # A word that is text in one language and a value in another.
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, '{"a": True}'),
    # Words before a damaged object make it no bare text, in JSON text neither.
    ({}, '"Here is the call: {a: x y}"'),
]


# Damage of single tokens: the kinds of token, and what it may be written as ------------------------


def inner(raw: str) -> str:
    return json.dumps(raw, ensure_ascii=False)[1:-1]


def single(token: Token) -> str:
    return "'" + inner(token.raw).replace('\\"', '"').replace("'", "\\'") + "'"


WAYS: list[tuple[str, Callable[[Token], str]]] = [
    ("key string", single),
    ("key string", lambda token: "'" + token.raw + "'"),
    ("key string", lambda token: "“" + inner(token.raw) + "”"),
    ("key string", lambda token: "‘" + token.raw + "’"),
    ("key string", lambda token: TOKEN + token.raw + TOKEN),
    ("key string", lambda token: '"' + token.raw + '"'),
    ("string", lambda token: '"' + token.raw + '"'),
    ("string", lambda token: '"' + token.raw.replace('"', '\\"') + '"'),
    ("string", lambda token: token.raw),
    ("key", lambda token: token.raw),
    ("key", lambda token: token.raw + '"'),
    ("key", lambda token: '"' + token.raw),
    ("word", lambda token: {"true": "True", "false": "False", "null": "None"}.get(token.text, token.text)),
    ("number", lambda token: token.text + ".0"),
    ("number", lambda token: "0" + token.text),
    ("number", lambda token: "NaN"),
    ("number", lambda token: "1e999"),
]
# Without quotes: where a text may go on in a comment is a matter of care, not of the page.
COMMENTS = ["// a note\n", "# 1\n", "/* a */", "#a\n", "//a\n", "/**/", "// a\\n", "# a"]
BETWEEN = [",", ",", ",", ",", "\\n", "\\n", "\\n  ", "\u00a0", "\n", *COMMENTS]
AROUND: list[Callable[[str], str]] = [
    lambda text: f"```json\n{text}\n```",
    lambda text: f"```\n{text}```",
    lambda text: f"`{text}`",
    lambda text: f"json\n{text}",
    lambda text: text + "\n```",
    lambda text: f"Here is the call: {text}",
    lambda text: f"OK, here's the tool call:\n{text}",
    lambda text: f"voila {text}",
    lambda text: text + " Calling the\ntool.",
    lambda text: text + "\nDone.",
    lambda text: text + " and more",
    lambda text: text + "</tool_call>",
    lambda text: f"<tool_call>{text}</tool_call>",
    lambda text: text + "<|im_end|>",
    lambda text: f"[ARGS]{text}",
    lambda text: "{" + text + "}",
    lambda text: text + "}",
    lambda text: text + "]",
    lambda text: text + ",",
    lambda text: text + text,
    lambda text: f"{text}\n{text}",
    lambda text: f"{text}, {text}",
    lambda text: text + '{"path": "z"}',
    lambda text: text + "</tool_call>\n" + text,
    lambda text: "'" + text + "'",
    lambda text: json.dumps(text),
    lambda text: json.dumps(text, ensure_ascii=False),
]
PIECES = [
    '"',
    "'",
    "}",
    "{",
    "]",
    "[",
    ",",
    ":",
    "\\",
    "\n",
    " ",
    "a",
    "5",
    "“",
    "//",
    "#",
    "é",
    "True",
    "```",
]


@st.composite
def damages(draw: st.DrawFn, value: Any) -> str:
    """The text of a value, damaged in one to three ways."""
    tokens = tokens_of(value)
    count = draw(st.integers(1, 3))
    places = [draw(st.sampled_from(["token", "token", "gap", "around", "lossy"])) for _ in range(count)]
    for place in places:
        if place == "token":
            kinds, way = draw(st.sampled_from(WAYS))
            every = draw(st.booleans())
            for at, token in enumerate(tokens):
                if token.kind in kinds.split() and (every or draw(st.booleans())):
                    tokens[at] = Token(token.kind, way(token), token.raw)
        if place == "gap":
            # Not before a colon: whether a comment may stand there is open.
            gaps = [at for at in range(len(tokens) + 1) if at == len(tokens) or tokens[at].text != ":"]
            glue = draw(st.sampled_from(["", " "])) + draw(st.sampled_from(BETWEEN))
            tokens.insert(draw(st.sampled_from(gaps)), Token("glue", glue))
    text = text_of(tokens, draw(st.sampled_from([" ", "", "\n"])))
    for place in places:
        if place == "around":
            text = draw(st.sampled_from(AROUND))(text)
        if place == "lossy":
            at = draw(st.integers(0, len(text)))
            rest = draw(st.sampled_from(["", text[at + draw(st.integers(1, 3)) :], text[at:], text[at:]]))
            text = text[:at] + (draw(st.sampled_from(PIECES)) if rest == text[at:] else "") + rest
    return text


def elements(value: dict[str, Any]) -> str:
    """The value as XML."""
    parts = [
        f"<{key}>{item if isinstance(item, str) else json.dumps(item)}</{key}>" for key, item in value.items()
    ]
    return "".join(parts)


@st.composite
def damaged_calls(draw: st.DrawFn) -> Call:
    """A call whose text, or the text in a field or a wrapper, is damaged."""
    schema = draw(schemas(plain_keys))
    value = retold(draw, draw(values_of(schema, schema)))
    model = draw(st.sampled_from(["kimi-k2", None]))
    stop = draw(st.sampled_from([None, None, "stop", "length"]))
    rules = draw(st.sampled_from(RULES))
    how = draw(st.integers(0, 11))
    inside = [key for key, item in value.items() if isinstance(item, dict | list)]
    if how <= 2 and inside:
        key = draw(st.sampled_from(inside))
        sent: Any = {**value, key: draw(damages(value[key]))}
        if how == 0:
            sent = json.dumps(sent)
    elif how == 3:
        sent = {draw(st.sampled_from(["arguments", "input"])): draw(damages(value))}
    elif how == 4:
        sent = elements(value)
    else:
        sent = draw(damages(value))
    return Call(rules, schema, sent, isinstance(sent, str) and draw(st.booleans()), model, stop)


# Kills: an escape that is none taken in half of a path; one object kept of two; a word that another field
# lists; a cut text closed after a comma; commas doubled in a list; a fix that `disable` names.
@given(seeded(damaged_calls()))
def test_damaged_text_is_what_the_second_reading_says(call: Call) -> None:
    note(repr(call))
    agree(call)


@pytest.mark.parametrize("text", [text for text, *_ in [*MENDED, *REFUSED]])
def test_what_the_unit_tests_send_is_read_alike(text: str) -> None:
    agree(Call("", SCHEMA, text, True))


@pytest.mark.parametrize("text", DOUBTFUL)
def test_an_escape_that_may_begin_a_name_is_refused(text: str) -> None:
    agree(Call("", SCHEMA, text, True))


@pytest.mark.parametrize(("schema", "sent"), DIFFER)
def test_what_the_pages_leave_alone_is_refused(schema: Any, sent: Any) -> None:
    whole = {"type": "object", "properties": {"a": schema}}
    agree(Call("tool edit { root /a }" if schema == {} else "", whole, sent, isinstance(sent, str)))
