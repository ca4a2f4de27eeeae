"""Stage 2, step 3: damage is mended where nothing is lost, and refused where two things could be meant."""

from __future__ import annotations

import json
from typing import Any

import pytest

import callgate
from callgate import Outcome, Verdict

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "text": {"type": "string"},
        "n": {"type": "number"},
        "ok": {"type": ["boolean", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "mode": {"type": "string", "enum": ["fast", "slow-and-sure", "a.b"]},
        "modes": {"type": "array", "items": {"enum": ["fast", "slow"]}},
        "inner": {"type": "object"},
    },
}


def sent(text: str, rules: str = "", **options: Any) -> Verdict:
    return callgate.compile(rules, tools={"t": SCHEMA}).check_text("t", text, **options)


def kinds(verdict: Verdict) -> list[str]:
    return [change.kind.removeprefix("envelope.") for change in verdict.changes]


MENDED: list[tuple[str, Any, list[str]]] = [
    # control characters
    ('{"text": "a\nb\tc"}', {"text": "a\nb\tc"}, ["control-characters"]),
    (r'{\n"path": "a",\n\t"n": 1\n}', {"path": "a", "n": 1}, ["control-characters"]),
    ('\ufeff{"path": "a"}', {"path": "a"}, ["control-characters"]),
    ('{"path":\u00a0"a"}', {"path": "a"}, ["control-characters"]),
    # fence
    ('```json\n{"path": "a"}\n```', {"path": "a"}, ["fence"]),
    ('```\n{"path": "a"}\n```\n', {"path": "a"}, ["fence"]),
    ('~~~ JSON\n{"path": "a"}\n~~~', {"path": "a"}, ["fence"]),
    ('`{"path": "a"}`', {"path": "a"}, ["fence"]),
    ('json\n{"path": "a"}', {"path": "a"}, ["fence"]),
    ('{"path": "a"}\n```', {"path": "a"}, ["fence"]),
    # surroundings
    ('{"path": "a"} done', {"path": "a"}, ["surroundings"]),
    ('{"path": "a"}\nDone.', {"path": "a"}, ["surroundings"]),
    ('Here is the call: {"path": "a"}', {"path": "a"}, ["surroundings"]),
    ('OK, here\'s the tool call:\n{"path": "a"}', {"path": "a"}, ["surroundings"]),
    ('{"path": "a"}\n</tool_call>', {"path": "a"}, ["surroundings"]),
    ('<tool_call>\n{"path": "a"}\n</tool_call>', {"path": "a"}, ["surroundings"]),
    ('{"path": "a"}<|call|>', {"path": "a"}, ["surroundings"]),
    ('<|python_tag|>{"path": "a"}<|eom_id|>', {"path": "a"}, ["surroundings"]),
    ('{"path": "a"}<｜tool▁call▁end｜>', {"path": "a"}, ["surroundings"]),
    ('[ARGS]{"path": "a"}', {"path": "a"}, ["surroundings"]),
    ('{"path": "a"}</｜DSML｜parameter>', {"path": "a"}, ["surroundings"]),
    ('Sure!\n```json\n{"path": "a"}\n```', {"path": "a"}, ["surroundings", "fence"]),
    # commas
    ('{"path": "a",}', {"path": "a"}, ["commas"]),
    ('{"tags": ["a", "b",],\n}', {"tags": ["a", "b"]}, ["commas"]),
    ('{"path": "a",, "n": 1}', {"path": "a", "n": 1}, ["commas"]),
    # literals
    ('{"ok": True}', {"ok": True}, ["literals"]),
    ('{"ok": None, "n": 1}', {"ok": None, "n": 1}, ["literals"]),
    ('{"ok": False,}', {"ok": False}, ["literals", "commas"]),
    # quotes
    ("{'path': 'a', 'n': 1}", {"path": "a", "n": 1}, ["quotes"]),
    ("{'text': \"what's up\"}", {"text": "what's up"}, ["quotes"]),
    ("{'text': 'say \"hi\"'}", {"text": 'say "hi"'}, ["quotes"]),
    (r"{'text': 'it\'s\nso \"q\" \\ \u00e9'}", {"text": 'it\'s\nso "q" \\ é'}, ["quotes"]),
    ("{“path”: “a”}", {"path": "a"}, ["quotes"]),
    ("{‘path’: ‘a’}", {"path": "a"}, ["quotes"]),
    ('{"path": “a”}', {"path": "a"}, ["quotes"]),
    ("{„path“: ”a”}", {"path": "a"}, ["quotes"]),
    # keys
    ('{path: "a", n: 1}', {"path": "a", "n": 1}, ["keys"]),
    ('{"path": "a", n": 1}', {"path": "a", "n": 1}, ["keys"]),
    ('{"tags: ["a", "b"]}', {"tags": ["a", "b"]}, ["keys"]),
    ('{"path: "a", "n": 1}', {"path": "a", "n": 1}, ["keys"]),
    ('{"n: 5}', {"n": 5}, ["keys"]),
    ('{"path": "a", "n: 5}', {"path": "a", "n": 5}, ["keys"]),
    ('{"inner": {a: {b: 1}}}', {"inner": {"a": {"b": 1}}}, ["keys"]),
    # bare values
    ('{"mode": fast}', {"mode": "fast"}, ["bare-value"]),
    ('{"mode": slow-and-sure, "n": 1}', {"mode": "slow-and-sure", "n": 1}, ["bare-value"]),
    ('{"modes": [fast, slow]}', {"modes": ["fast", "slow"]}, ["bare-value"]),
    ("{mode: a.b}", {"mode": "a.b"}, ["keys", "bare-value"]),
    # braces
    ('{{"path": "a"}}', {"path": "a"}, ["braces"]),
    ('{ {"path": "a"} }', {"path": "a"}, ["braces"]),
    ('{"path": "a"}}', {"path": "a"}, ["braces"]),
    # comments
    ('{"path": "a", // the file\n "n": 1 # how many\n}', {"path": "a", "n": 1}, ["comments"]),
    ('{"n": // seven\n 7}', {"n": 7}, ["comments"]),
    ('{ // "path" is "a"\n"path": "a"}', {"path": "a"}, ["comments"]),
    ('{/* all */"path": "a"}', {"path": "a"}, ["comments"]),
    # repeated
    ('{"path": "a"}{"path": "a"}', {"path": "a"}, ["repeated"]),
    ('{"path": "a", "n": 1}\n{"n": 1, "path": "a"}', {"path": "a", "n": 1}, ["repeated"]),
    ("{'path': 'a'},{'path': 'a'}", {"path": "a"}, ["quotes", "repeated"]),
    # escapes
    (r'{"text": "a \d+ b"}', {"text": r"a \d+ b"}, ["escapes"]),
    (r'{"text": "\d \\d \user \n"}', {"text": "\\d \\d \\user \n"}, ["escapes"]),
    (r'{"text": "x = re.compile(\"\d+\")\n\ty"}', {"text": 'x = re.compile("\\d+")\n\ty'}, ["escapes"]),
    (
        r'{"path": "C:\Program Files\nodejs\node.exe"}',
        {"path": r"C:\Program Files\nodejs\node.exe"},
        ["escapes"],
    ),
    (r'{"path": "C:\Dev\new\table"}', {"path": r"C:\Dev\new\table"}, ["escapes"]),
    (r'{"path": "\\server\share\new"}', {"path": r"\\server\share\new"}, ["escapes"]),
    (r'{"text": "dir C:\Dev"}', {"text": r"dir C:\Dev"}, ["escapes"]),
    # xml
    ("<path>a</path>", {"path": "a"}, ["xml"]),
    ("<path>a</path>\n<text>x\n<b>y</b></text>", {"path": "a", "text": "x\n<b>y</b>"}, ["xml"]),
    # a cut text may be damaged too
    ("{'path': \"a\"", {"path": "a"}, ["quotes", "complete"]),
    ('{"inner": {a: [1, true', {"inner": {"a": [1, True]}}, ["keys", "complete"]),
    # Python's way to write a path
    (r"{'path': 'C:\\Users\\me'}", {"path": r"C:\Users\me"}, ["quotes"]),
    ('```tool_code\n{"path": "a"}\n```', {"path": "a"}, ["fence"]),
    ('{"path"\\n: "a"}', {"path": "a"}, ["control-characters"]),
    # a key that stands twice
    ("{'path': 'a', 'path': 'a'}", {"path": "a"}, ["quotes", "duplicate-key"]),
    # several layers
    ('\'{"path": "a"}\'', {"path": "a"}, ["quotes", "decode-json"]),
    ("\"{'path': 'a'}\"", {"path": "a"}, ["decode-json", "quotes"]),
]


@pytest.mark.parametrize(("text", "arguments", "wanted"), MENDED)
def test_lossless_damage_is_mended_and_each_fix_is_a_change(
    text: str, arguments: Any, wanted: list[str]
) -> None:
    verdict = sent(text)
    assert verdict.outcome is Outcome.REPAIRED, verdict.retry_message
    assert json.dumps(verdict.arguments) == json.dumps(arguments)
    assert kinds(verdict) == wanted
    assert all(change.note and change.path == "" for change in verdict.changes)


REFUSED: list[tuple[str, str]] = [
    # several objects, and what stands between them
    ('{"path": "a"}{"path": "b"}', "several-calls"),
    ("{'path': 'a'}, {'path': 'b'}", "several-calls"),
    ('{"path": "a"}</tool_call><tool_call>{"path": "b"}', "several-calls"),
    ('{"path": "a"}</tool_call><tool_call>{"path": "a"}', "several-calls"),
    ('{"path": "a"} and {"path": "a"}', "not-json"),
    ('{"path": "a"},', "not-json"),
    ('{"path": "a"}{"path": "a"', "truncated"),
    # other words
    ('{"path": "a"} and R2 too', "not-json"),
    ('{"path": "a"} // and R2 too', "not-json"),
    ('Please run {"path": "a"}', "not-json"),
    ('{"path": "a"} done with b', "not-json"),
    ('done ["a"]', "not-json"),
    # keys with two values, numbers, half pairs
    ("{'path': 'a', 'path': 'b'}", "duplicate-key"),
    ('{"path": "a", path: "b"}', "duplicate-key"),
    ('{"n": NaN,}', "number"),
    ('{"n": -Infinity}', "number"),
    ("{'n': 1e999}", "number"),
    ("{'n': 0.12345678901234567890}", "number"),
    ("{'text': '\\ud800'}", "surrogate"),
    # where a text ends is not certain
    ("{'text': 'what's up'}", "not-json"),
    ('{"text": "say "hi" now"}', "not-json"),
    ("{“text”: “say “hi” now”}", "not-json"),
    ('{“text”: “a", "n": 1}', "not-json"),
    ("{'text': 'a\\x41'}", "not-json"),
    ("{'text': 'a\\0'}", "not-json"),
    # what is meant is not certain
    ('{"mode": quick}', "not-json"),
    ('{"path": fast}', "not-json"),
    ('{"mode": fast slow}', "not-json"),
    ('{"n": 007}', "not-json"),
    ('{"n": +7}', "not-json"),
    ('{"n": 0x1F}', "not-json"),
    ('{"n": 1_000}', "not-json"),
    ('{"path": "a" "n": 1}', "not-json"),
    ('{"path" "a"}', "not-json"),
    ('{"tags": ["a" "b"]}', "not-json"),
    ('{"tags": [, "a"]}', "not-json"),
    ('{, "path": "a"}', "not-json"),
    ('{"path": , "n": 1}', "not-json"),
    ('{"path":}', "not-json"),
    ('{"path"}', "not-json"),
    ('{1: "a"}', "not-json"),
    ('{"tags": ["a"}', "not-json"),
    ('{"path": "a"}]', "not-json"),
    ('{"path": "a"}}}', "not-json"),
    ('{{{"path": "a"}}}', "not-json"),
    ('{{"path": "a"}', "truncated"),
    ('{{"path": "a"}, "n": 1}', "not-json"),
    ("{'path': b'a'}", "not-json"),
    ("{'path': ('a')}", "not-json"),
    ('{"path": "a" /* open }', "not-json"),
    # cut: never closed inside a text, a number, a word, after a comma or a colon
    ('{"path": "a', "truncated"),
    ("{'path': 'a", "truncated"),
    ("{'path': 'a', 'n': 1", "truncated"),
    ("{'path': 'a', 'ok': Tru", "truncated"),
    ("{'path': 'a', 'ok': True", "truncated"),
    ("{'path': 'a', 'mode': fast", "truncated"),
    ("{'path': 'a',", "truncated"),
    ("{'path':", "truncated"),
    ("{'path'", "truncated"),
    ('{"path": "a", "n', "truncated"),
    ("['a'", "truncated"),
    # xml
    ("<path>a</path><path>b</path>", "not-json"),
    ("<path>a</path><other>b</other>", "not-json"),
    ("<path>a", "not-json"),
    ("<path>a &amp; b</path>", "not-json"),
    ("<path>a<text>b</text></path>", "not-json"),
    ("<path>a</parameter></path>", "not-json"),
    ("<path>a</path> done", "not-json"),
    ("<path>\na\n</path>", "not-json"),
    # escapes of other languages, and paths that are half escaped
    (r'{"text": "it\'s"}', "not-json"),
    (r'{"path": "C:\\Users\Dev"}', "not-json"),
    (r'{"path": "C:\Dev\"", "n": 1}', "not-json"),
    # words in brackets may say something
    ('[CANCEL] {"path": "a"}', "not-json"),
    # a tag or a comment
    ('{"tags": ["a", #b\n]}', "not-json"),
    ('{"path": "a" // and', "truncated"),
    # a comment that may be the rest of a text, or data
    ('{"text": "fetch("//host/x")\n}', "not-json"),
    ('{"text": "echo "# hi" >> f"\n}', "not-json"),
    ('{"text": "echo " # hi" >> f"\n}', "not-json"),
    ('{"text": "x"//host/y", "path": "z"\n}', "not-json"),
    ('{"tags": [\n//srv/share\n]}', "not-json"),
    ('{"tags": ["a", /*.ts, "src/*/b"]}', "not-json"),
    ('{"n": 7 // 2\n}', "not-json"),
    ('{"path": "a", // first\\n "n": 1\n}', "not-json"),
    ("{'text': 'it' # isn't\n}", "not-json"),
    # escapes beside what is no escape
    (r'{"text": "\bfoo\w+\b"}', "not-json"),
    (r'{"text": "\frac{\alpha}{2}"}', "not-json"),
    (r'{"text": "src\new\Dev"}', "not-json"),
    (r'{"text": "a\x41 \u{1F600}"}', "not-json"),
    (r'{"text": "Q:\nWhat is \d?\nA:\nA digit"}', "not-json"),
    (r'{"text": "C:\Dev is the folder.\nRun it."}', "not-json"),
    (r'{"text": "\\frac{1}{2}\alpha"}', "not-json"),
    # JSON text in other quotes: whose escapes are these
    ('\'{"path": "C:\\\\new"}\'', "not-json"),
    # an item may be lost
    ('{"tags": ["a",, "b"]}', "not-json"),
    # a word that is text in one language and a value in another
    ('{"path": True}', "not-json"),
    ('{True: "a"}', "not-json"),
    ('{null: "a"}', "not-json"),
    # a key that lost its quote, and a cut: as JSON reads it the cut is inside a text
    ('{"ok: true', "truncated"),
    # escapes that may begin names
    (r'{"path": "..\new\Dev"}', "not-json"),
    (r'{"path": "\\\\srv\Dev"}', "not-json"),
    (r"{'path': 'C:\it\'s'}", "not-json"),
    # xml that may be more, or something else
    ("<path> a </path>", "not-json"),
    ("<text><![CDATA[a]]></text>", "not-json"),
    ("<text>a&nbsp;b</text>", "not-json"),
    # the quote may be one inside the text
    ("{'path': 'a'", "truncated"),
    ("{'path': 'don'", "truncated"),
    # the quote that ends the text is escaped
    (r'{"path": "C:\Users\"}', "not-json"),
    # more around the arguments than any model says
    ("ok " * 65 + '{"path": "a"}', "not-json"),
    ('{"k\n": x}', "not-json"),
    # nested without end
    ("{'a':" * 100, "limit"),
]


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_what_could_be_read_in_two_ways_is_refused_with_a_code(text: str, code: str) -> None:
    verdict = sent(text)
    assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, code)
    assert verdict.arguments == text
    assert verdict.retry_message


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"path": "a"} and R2 too', "There is more than the arguments"),
        ('{"text": "say "hi" now"}', "inside one write a double quote as"),
        ("{'text': 'what's up'}", "It is not certain where a text ends"),
        ('{"path": a}', "Put each text in double quotes"),
        (r'{"text": "it\'s"}', "Write a backslash inside a text as two"),
        ('{"path": "a', "cut off before their end"),
        ('{"path": "a"}{"path": "b"}', "Send one call for each"),
        ('{"n": NaN}', "number"),
        ("{'path': 'a', 'path': 'b'}", "Send each key once"),
    ],
)
def test_a_refusal_says_what_to_send_instead(text: str, wanted: str) -> None:
    assert wanted in (sent(text).retry_message or "")


def test_cut_text_is_not_closed_where_the_answer_stopped_at_its_length() -> None:
    assert sent("{'path': 'a'", stop_reason="length").code == "truncated"
    assert sent("{'path': 'a'}", stop_reason="length").outcome is Outcome.REPAIRED
    assert sent("{'path': 'a'", "policy conservative").code == "truncated"


@pytest.mark.parametrize("text", [each for each, _, fixes in MENDED if fixes])
def test_a_fix_that_is_switched_off_refuses_the_call(text: str) -> None:
    for change in sent(text).changes:
        verdict = sent(text, f'disable {change.kind} because "a test"')
        assert verdict.outcome is Outcome.UNREPAIRABLE, change.kind


def test_text_in_a_field_is_mended_by_the_same_pass() -> None:
    for text, wanted in (
        ("['python', 'tutorial']", {"tags": ["python", "tutorial"]}),
        (r'["dir C:\Dev"]', {"tags": [r"dir C:\Dev"]}),
        ('```json\n["a"]\n```', {"tags": ["a"]}),
        ("['a',]", {"tags": ["a"]}),
    ):
        verdict = sent(json.dumps({"tags": text}))
        assert (verdict.arguments, kinds(verdict)) == (wanted, ["repair.parse-json"])
    assert sent(json.dumps({"inner": "{'a': True}"})).arguments == {"inner": {"a": True}}
    assert sent(json.dumps({"modes": "[fast]"})).arguments == {"modes": ["fast"]}
    for text in ("[a, b]", "['a'", "['it's']"):
        assert sent(json.dumps({"tags": text})).outcome is Outcome.UNREPAIRABLE, text


def test_damaged_text_in_a_field_is_left_where_plain_text_may_be_meant() -> None:
    schema = {"properties": {"a": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "array"}]}}}
    engine = callgate.compile("", tools={"t": schema})
    assert engine.check("t", {"a": '["a", "b"]'}).arguments == {"a": ["a", "b"]}
    assert engine.check("t", {"a": "['a', 'b']"}).outcome is Outcome.UNREPAIRABLE


def test_true_where_text_and_no_boolean_is_wanted_is_refused() -> None:
    for kind in ("anyOf", "oneOf"):
        schema = {"properties": {"v": {kind: [{"type": "string"}, {"type": "null"}]}}}
        engine = callgate.compile("", tools={"t": schema})
        assert engine.check_text("t", '{"v": True}').outcome is Outcome.UNREPAIRABLE
        assert engine.check_text("t", '{"v": None}').arguments == {"v": None}


def test_several_lines_are_no_item_whatever_word_begins_them() -> None:
    for text in ("ok\nrm -rf x", "\nfoo", "Sure!\n- a", "<invoke>a</invoke>"):
        assert sent(json.dumps({"tags": text})).outcome is Outcome.UNREPAIRABLE, text


def test_a_fix_that_is_switched_off_is_off_in_fields_too() -> None:
    sent_field = json.dumps({"tags": "['a']"})
    assert sent(sent_field, 'disable envelope.quotes because "a test"').outcome is Outcome.UNREPAIRABLE
    (change,) = sent(sent_field).changes
    assert "double quotes" in change.note


def test_a_damaged_wrapper_is_refused_for_what_is_damaged() -> None:
    closed = {"properties": {"path": {"type": "string"}}, "required": ["path"]}
    engine = callgate.compile("", tools={"t": closed})
    for inner, code in (
        ('{"path": "x', "truncated"),
        ('{"path": "x"}{"path": "y"}', "several-calls"),
        ("x y", "schema"),
    ):
        assert engine.check("t", {"arguments": inner}).code == code, inner


def test_words_before_a_damaged_list_make_it_no_item() -> None:
    for text in ('ok ["a", "b"]', 'Here is the json: ["a"]'):
        assert sent(json.dumps({"tags": text})).outcome is Outcome.UNREPAIRABLE, text
    assert sent(json.dumps({"tags": "ok then"})).arguments == {"tags": ["ok then"]}


def test_words_before_a_damaged_object_make_it_no_bare_text() -> None:
    rules = "tool t { root /path }"
    for text in (
        "Here is the call: {path: ls -la}",
        "ok {path: x y}",
        "json {path: x y}",
        "Arguments: path=ls",
    ):
        assert sent(text, rules).outcome is Outcome.UNREPAIRABLE, text
    assert sent('"Here is the call: {path: ls}"', rules).outcome is Outcome.UNREPAIRABLE
    for text in ("ok", "Sure, I will", "done with it"):
        assert sent(text, rules).arguments == {"path": text}


@pytest.mark.parametrize(
    ("enum", "word", "wanted"),
    [
        (["True", "False"], "True", "True"),
        (["None", "auto"], "None", "None"),
        ([True, False], "True", True),
        ([1, "fast"], "fast", "fast"),
    ],
)
def test_a_word_that_is_listed_as_text_is_that_text(enum: list[Any], word: str, wanted: Any) -> None:
    engine = callgate.compile("", tools={"t": {"properties": {"v": {"enum": enum}}}})
    assert engine.check_text("t", f'{{"v": {word}}}').arguments == {"v": wanted}


def test_a_word_may_be_listed_in_a_union() -> None:
    listed = {"$ref": "#/$defs/mode"}
    schema = {
        "properties": {
            "v": {"anyOf": [listed, {"type": "null"}]},
            "w": {"anyOf": [listed, {"type": "string"}]},
        },
        "$defs": {"mode": {"type": "string", "enum": ["fast"]}},
    }
    engine = callgate.compile("", tools={"t": schema})
    assert engine.check_text("t", '{"v": fast}').arguments == {"v": "fast"}
    assert engine.check_text("t", '{"w": fast}').outcome is Outcome.UNREPAIRABLE


def test_a_brace_that_may_have_been_lost_earlier_is_not_put_at_the_end() -> None:
    schema = {
        "properties": {"filter": {"type": "object"}, "dry_run": {"type": "boolean"}},
        "required": ["filter"],
    }
    engine = callgate.compile("", tools={"t": schema})
    for text in (
        '{"filter": {"status": "old", "dry_run": true}',
        '{"filter": {"all": [{"x": 1, "dry_run": true}]}',
    ):
        verdict = engine.check_text("t", text)
        assert (verdict.outcome, verdict.code) == (Outcome.UNREPAIRABLE, "truncated"), text
    assert engine.check_text("t", '{"dry_run": true, "filter": {"status": "old"}').outcome is Outcome.REPAIRED
    assert engine.check_text("t", '{"filter": {"status": "old", "other": 1}').outcome is Outcome.REPAIRED


def test_elements_may_be_cut_off_where_the_answer_was() -> None:
    assert sent("<path>a</path>", stop_reason="length").code == "truncated"
    html = {"properties": {"html": {"type": "string"}}}
    engine = callgate.compile("", tools={"t": html})
    assert engine.check_text("t", "<html><p>x</p></html>").outcome is Outcome.UNREPAIRABLE


# Statements ---------------------------------------------------------------------------------------


def test_surroundings_add_to_the_words_for_their_models() -> None:
    rules = 'surroundings "commentary", "calling  the tool" for "gpt-oss"'
    for text in ('commentary {"path": "a"}', 'Calling the\ntool: {"path": "a"} Commentary.'):
        assert kinds(sent(text, rules, model="gpt-oss-20b")) == ["surroundings"]
        assert sent(text, rules, model="kimi").code == "not-json"
        assert sent(text, rules).code == "not-json"
    assert sent('commentaryx {"path": "a"}', rules, model="gpt-oss").code == "not-json"
    assert kinds(sent('voila {"path": "a"}', 'surroundings "voila"')) == ["surroundings"]


def test_a_quote_token_is_a_quote_for_its_models() -> None:
    rules = "quote-token '<|\">' for kimi\nfamily kimi matches 'kimi'"
    verdict = sent('{"tags": [<|">discord<|">, "x"]}', rules, model="kimi-k2")
    assert (verdict.arguments, kinds(verdict)) == ({"tags": ["discord", "x"]}, ["quotes"])
    assert sent('{<|">path<|">: <|">it\'s a<|">}', rules, model="kimi-k2").arguments == {"path": "it's a"}
    assert sent('{"tags": [<|">discord<|">]}', rules, model="glm").code == "not-json"
    for text in ('{"tags": [<|">a", "b<|">]}', r'{"tags": [<|">a\n<|">]}', '{"path": "<|">a<|">"}'):
        assert sent(text, rules, model="kimi-k2").code == "not-json"
    assert sent('{"tags": [<|">a]}', rules, model="kimi-k2").code == "truncated"


def test_a_closing_form_is_stripped_by_closing_tags() -> None:
    rules = 'closing-form "<end>" for "m"\ntool t { closing-tags "" for "m" }'
    assert sent('{"path": "a<end>"}', rules, model="m").arguments == {"path": "a"}
    assert sent('{"path": "a<end>"}', rules, model="x").outcome is Outcome.VALID


def test_a_used_pack_speaks_for_the_file_that_uses_it() -> None:
    engine = callgate.compile(
        "use words", packs={"words": 'pack words "1.0.0"\nsurroundings "voila"'}, tools={"t": SCHEMA}
    )
    assert engine.check_text("t", 'voila {"path": "a"}').arguments == {"path": "a"}


@pytest.mark.parametrize(
    "rules",
    ['surroundings ""', 'surroundings "a {"', 'quote-token "x"', 'closing-form " "', 'quote-token ""'],
)
def test_a_statement_that_would_take_too_much_is_an_error(rules: str) -> None:
    with pytest.raises(callgate.RuleFileError, match="G103"):
        callgate.compile(rules)


def test_the_same_value_again_is_passed_over_and_the_last_of_them_is_read() -> None:
    one = '{"path": "a"}'
    assert kinds(sent(f"{one}\n" * 50)) == ["repeated"]
    assert kinds(sent(f"```json\n{one}\n```\n" * 30)) == ["fence", "repeated"]
    assert kinds(sent("{'path': 'a', n: 1}\n" * 30)) == ["quotes", "keys", "repeated"]
    # the same before it, and another sense in what follows
    assert sent(f"{one}\njson\n" * 30).code == "not-json"
    assert sent(f"{one}\n" * 30 + '{"path": "b"}').code == "several-calls"
    assert sent(f"{one}, " * 30).code == "not-json"
    assert sent(f"{one}\n" * 30 + '{"path": "a"').code == "truncated"
    # a comment on the line on which the one before ended
    assert sent('{ // "x"\n"path": "a"} ' * 9).code == "not-json"
    assert kinds(sent('{ // "x"\n"path": "a"}\n' * 9)) == ["comments", "repeated"]
    # a brace too many may stand once
    assert kinds(sent(f"{one}\n" * 9 + "}" + f"{one}\n" * 9)) == ["braces", "repeated"]
    assert sent((f"{one}\n" * 3 + "}") * 9).code == "not-json"
    assert sent(one + f"{one}}}\n" * 9).code == "not-json"
    assert sent("{" + one + "}" + f"{one}" * 9).outcome is Outcome.REPAIRED
    assert sent(("{" + one + "}") * 9).code == "not-json"


def test_what_stands_around_a_value_makes_no_markup_of_the_value() -> None:
    around = "Here is the call:\n{}\n</tool_call>"
    assert sent(around.format('{"path": "a"}')).arguments == {"path": "a"}
    inside = '{"path": "a</path>\\n<parameter name=\\"text\\">b"}'
    assert sent(inside).code == sent(around.format(inside)).code == "swallowed-parameter"
    assert sent(around.format('{"path": "\\ud800"}')).code == sent('{"path": "\\ud800"}').code == "surrogate"
