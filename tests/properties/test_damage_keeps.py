"""Damaged text that is let through holds nothing but what the text says.

`written_in` says what is written in a text, without a parser: a number as a run of digits with the same
decimal value, a text between two marks, character for character with escapes resolved. Where the damage
is such that a reader can still tell what was meant, the result is that, or the call is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import pytest
from hypothesis import assume, event, given, note, settings
from hypothesis import strategies as st

import callgate
from callgate import Outcome

RULES = "quote-token '<|\"|>'\n"
TOKEN = '<|"|>'
BASE = callgate.compile(RULES)

# ------------------------------------------------------------------ what is written in a text

_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[\"'\\/bfnrt]"
)
_QUOTES = "\"'“”‘’"
_RUN = re.compile(r"[-+.\w]+", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}


def resolved(escape: str) -> str:
    """The character that an escape stands for."""
    return "'" if escape == "\\'" else str(json.loads(f'"{escape}"'))


def layers(text: str) -> list[str]:
    """The text, and what is left of it when its escapes are resolved once, twice and three times."""
    found = [text]
    while len(found) < 4 and _ESCAPE.search(found[-1]):
        found.append(_ESCAPE.sub(lambda match: resolved(match[0]), found[-1]))
    return found


def ends_of(wanted: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the wanted text is written: its characters side by side, each as it is or as an escape."""
    for start in range(len(text) + 1):
        places = {start}
        for character in wanted:
            after = set()
            for place in places:
                if text[place : place + 1] == character:
                    after.add(place + 1)
                escape = _ESCAPE.match(text, place)
                if escape is not None and resolved(escape[0]) == character:
                    after.add(escape.end())
            places = after
            if not places:
                break
        for end in places:
            yield start, end


def bounded(text: str, start: int, end: int) -> bool:
    """Does it begin and end at a mark: a quote or a tag; or is it one bare word?"""
    before, after = text[start - 1 : start], text[end : end + 1]
    if before in (*_QUOTES, ">") and after in (*_QUOTES, "<") and before and after:
        return True
    bare = re.fullmatch(r"[-+.\w$]+", text[start:end]) is not None
    return bare and not re.match(r"[-+.\w$]", before) and not re.match(r"[-+.\w$]", after)


def text_in(wanted: str, text: str) -> bool:
    return any(
        bounded(layer, start, end) for layer in layers(text) for start, end in ends_of(wanted, layer)
    )  # fmt: skip


def numbers_in(text: str) -> set[Decimal]:
    """The numbers that stand in the text, each as far as its characters go."""
    found = set()
    for layer in layers(text):
        for shown in (layer, re.sub(r"\\[nrt]", " ", layer)):
            for run in _RUN.findall(shown):
                if _NUMBER.fullmatch(run):
                    found.add(Decimal(run))
    return found


def written_in(value: Any, text: str) -> bool:
    """Is every key, text, number, boolean and null of the value written in the text?"""
    if isinstance(value, dict):
        return all(text_in(key, text) and written_in(item, text) for key, item in value.items())
    if isinstance(value, list):
        return all(written_in(item, text) for item in value)
    if isinstance(value, str):
        return text_in(value, text)
    if value is None or isinstance(value, bool):
        return any(word in text for word, meant in _WORDS.items() if meant is value)
    try:
        return Decimal(repr(value)) in numbers_in(text)
    except InvalidOperation:
        return False


def exact(value: Any) -> str:
    """Equal for the same value in the same types and order."""
    return json.dumps(value)


# ------------------------------------------------------------------ values and their text


@dataclass(frozen=True)
class Token:
    """A piece of JSON text. `kind`: mark, key, string, number, word or glue; `raw`: what a string says."""

    kind: str
    text: str
    raw: str = ""


def tokens_of(value: Any) -> list[Token]:
    if isinstance(value, dict):
        found = [Token("mark", "{")]
        for number, (key, item) in enumerate(value.items()):
            found += [Token("mark", ",")] * bool(number)
            found += [
                Token("key", json.dumps(key, ensure_ascii=False), key),
                Token("mark", ":"),
                *tokens_of(item),
            ]
        return [*found, Token("mark", "}")]
    if isinstance(value, list):
        found = [Token("mark", "[")]
        for number, item in enumerate(value):
            found += [*[Token("mark", ",")] * bool(number), *tokens_of(item)]
        return [*found, Token("mark", "]")]
    if isinstance(value, str):
        return [Token("string", json.dumps(value, ensure_ascii=False), value)]
    kind = "word" if value is None or isinstance(value, bool) else "number"
    return [Token(kind, json.dumps(value))]


def text_of(tokens: list[Token], space: str = " ") -> str:
    return "".join(token.text + space * (token.text in (",", ":")) for token in tokens)


def schema_of(value: Any) -> dict[str, Any]:
    """A schema that declares just what the value has."""
    if isinstance(value, dict):
        properties = {key: schema_of(item) for key, item in value.items()}
        return {
            "type": "object",
            "properties": properties,
            "required": list(value),
            "additionalProperties": False,
        }
    if isinstance(value, list):
        return {"type": "array"}
    if value is None:
        return {"type": "null"}
    return {"type": {bool: "boolean", str: "string", int: "integer", float: "number"}[type(value)]}


PIECES = [
    *"ab 01.,:;{}[]()<>/\\\"'`“”‘’#*&|=-_\n\té😀\x00\u200f",
    "\\n", "\\d", "C:\\dir\\new", "\\\\srv\\x", "it's", '", "', "': '", "</a>", "<a>", "/*", "*/", "//", "# ",
    '{"a": 1}', "True", "null", "```", "<|", "|>", TOKEN, "&amp;", "a: ", '": "', "',", "^x$", "1e5",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
keys = st.sampled_from(["a", "b", "path", "key_1", "content", "n", "arguments"]) | texts
numbers = st.sampled_from(
    [
        0,
        -1,
        5,
        10,
        2**53 + 1,
        -(2**63),
        10**30,
        1234567890123456789,
        0.5,
        -0.0,
        1.0,
        1e300,
        5e-324,
        2.5e-7,
        1e16,
    ]
)
scalars = st.one_of(texts, numbers, st.sampled_from([True, False, None]), texts)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)


values = st.recursive(scalars, nested, max_leaves=6)
objects = st.dictionaries(keys, values, max_size=4)

# ------------------------------------------------------------------ damage that loses nothing

Draw = Callable[[Any], Any]
Tokens = Callable[[Draw, list[Token]], list[Token]]
Text = Callable[[Draw, str], str]


def rewritten(kinds: str, how: Callable[[Token], str | None]) -> Tokens:
    """Writes some tokens, or all, of these kinds another way; None leaves one as it is."""

    def damage(draw: Draw, tokens: list[Token]) -> list[Token]:
        every, found = draw(st.booleans()), []
        for token in tokens:
            new = how(token) if token.kind in kinds.split() and (every or draw(st.booleans())) else None
            found.append(token if new is None else replace(token, text=new))
        return found

    return damage


def inserted(pieces: list[str], fits: Callable[[Token, Token], bool]) -> Tokens:
    """Puts a piece between two tokens where it fits."""

    def damage(draw: Draw, tokens: list[Token]) -> list[Token]:
        gaps = [at for at in range(1, len(tokens)) if fits(tokens[at - 1], tokens[at])]
        if not gaps:
            return tokens
        found = list(tokens)
        for at in sorted(draw(st.sets(st.sampled_from(gaps), min_size=1, max_size=3)), reverse=True):
            found.insert(at, Token("glue", draw(st.sampled_from(pieces))))
        return found

    return damage


def inside(raw: str) -> str:
    """The text as it stands between JSON quotes."""
    return json.dumps(raw, ensure_ascii=False)[1:-1]


def single_quoted(token: Token) -> str:
    return "'" + inside(token.raw).replace('\\"', '"').replace("'", "\\'") + "'"


def typographic(token: Token) -> str | None:
    return None if any(each in token.raw for each in '“”"') else f"“{inside(token.raw)}”"


def token_quoted_escaped(token: Token) -> str | None:
    return None if any(each in token.raw for each in '<|>"') else TOKEN + inside(token.raw) + TOKEN


def token_quoted(token: Token) -> str | None:
    return token_quoted_escaped(token) if inside(token.raw) == token.raw else None


def is_word(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) is not None and text not in _WORDS


def bare_key(shape: str) -> Callable[[Token], str | None]:
    return lambda token: shape.format(token.raw) if is_word(token.raw) else None


def is_path(raw: str) -> bool:
    return re.match(r"[A-Za-z]:\\|\\\\", raw) is not None


_VALID = '"\\/bfnrtu'


def bare_backslashes(token: Token) -> str | None:
    """Backslashes as they are, where each makes an invalid escape; all of a path that has one such."""
    raw = token.raw
    if not raw.isprintable() or raw.endswith("\\") or any(each in raw for each in "\"'“”"):
        return None
    rest = raw[2:] if raw.startswith("\\\\") else raw
    after = [rest[at + 1] for at in range(len(rest)) if rest[at] == "\\"]
    if "\\" in after or all(each in _VALID for each in after):
        return None
    if not is_path(raw) and any(each in _VALID for each in after):
        return None
    return f'"{raw}"'


def raw_controls(token: Token) -> str:
    return '"' + token.raw.replace("\\", "\\\\").replace('"', '\\"') + '"'


def other_exponent(token: Token) -> str | None:
    """A fraction written another way, with the same decimal value; no damage, but it stays what it is."""
    return f"{Decimal(token.text):E}" if re.search("[.e]", token.text) else None


def is_end(token: Token) -> bool:
    return token.text in ("}", "]")


COMMENTS = ["/* a note */", "// it's a note\n", "# a: 1,\n"]
ODD_COMMENTS = ['// a "note"\n', '/* {"x": 1} */', "/**/", "// a\\n", "# a, /* b\n"]
NEWLINES = ["\\n", "\\n  ", "\\n\\n"]

TOKEN_DAMAGE: dict[str, Tokens] = {
    "trailing comma": inserted([","], lambda before, after: is_end(after) and before.text not in "{["),
    "doubled comma": inserted([",", " , "], lambda before, after: before.text == "," and after.kind == "key"),
    "doubled comma in an array": inserted(
        [","], lambda before, after: before.text == "," and after.kind != "key"
    ),
    "literals": rewritten(
        "word", lambda token: {"true": "True", "false": "False", "null": "None"}.get(token.text)
    ),
    "single quotes": rewritten("key string", single_quoted),
    "typographic quotes": rewritten("key string", typographic),
    "quote tokens": rewritten("key string", token_quoted),
    "escapes in quote tokens": rewritten("key string", token_quoted_escaped),
    "unquoted key": rewritten("key", bare_key("{}")),
    "lost opening quote": rewritten("key", bare_key('{}"')),
    "lost closing quote": rewritten("key", bare_key('"{}')),
    "comment": inserted(COMMENTS, lambda before, after: before.text in "{[," and not is_end(after)),
    "comment anywhere": inserted([*COMMENTS, *ODD_COMMENTS], lambda *_: True),
    "literal newline": inserted(NEWLINES, lambda _, after: after.text != ":"),
    "literal newline before a colon": inserted(NEWLINES, lambda _, after: after.text == ":"),
    "invalid escape": rewritten("string", bare_backslashes),
    "other exponents": rewritten("number", other_exponent),
    "raw control characters": rewritten("key string", raw_controls),
}


def either(*ways: Callable[[str], str]) -> Text:
    return lambda draw, text: str(draw(st.sampled_from(ways))(text))


def without_ends(most: int) -> Callable[[str], str]:
    """The text without its last closing brackets, at most so many."""
    return lambda text: re.sub(rf"[}}\]]{{1,{most}}}\Z", "", text)


TEXT_DAMAGE: dict[str, Text] = {
    "fence": either(
        lambda text: f"```json\n{text}\n```", lambda text: f"```\n{text}```", lambda text: f"```json\n{text}"
    ),
    "surroundings": either(
        lambda text: text + "</tool_call>",
        lambda text: text + "<|im_end|>",
        lambda text: f"Here is the call:\n{text}",
        lambda text: text + "\nDone.",
        lambda text: f"<tool_call>\n{text}\n</tool_call>",
    ),
    "outer braces": either(lambda text: "{" + text + "}", lambda text: "{\n" + text + "\n}"),
    "surplus brace": either(lambda text: text + "}", lambda text: text + "\n}"),
    "repeated": either(lambda text: text * 2, lambda text: f"{text}\n{text}", lambda text: f"{text}, {text}"),
    "JSON in JSON": either(json.dumps, lambda text: json.dumps(text, ensure_ascii=False)),
    "missing brackets": either(without_ends(1), without_ends(2), without_ends(9)),
}  # fmt: skip


# What a value needs so that a damage has something to do.
PARTS = ["C:\\", "\\\\srv", "\\d", "\\.", "\\new", "\\s", "dir", "x y", "\\u00e9"]
NEEDS: dict[str, st.SearchStrategy[Any]] = {
    "literals": st.sampled_from([True, False, None]),
    "other exponents": numbers,
    "invalid escape": st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("".join),
    "raw control characters": texts.map(lambda text: f"a\n{text}\t"),
    "single quotes": texts.map(lambda text: f'it\'s "{text}"'),
}


def lossless(draw: Draw, value: dict[str, Any], first: str, odd: bool = False) -> str:
    """The text of a value with this and up to three more kinds of damage; `odd`: odd numbers too."""
    more = draw(st.lists(st.sampled_from([*TOKEN_DAMAGE, *TEXT_DAMAGE]), max_size=3))
    names = [first, *more]
    note(f"{names} of {value!r}")
    # Both together can be another text: `{"a: [], b": 1}` is JSON.
    assume(not {"lost opening quote", "lost closing quote"} <= set(names))
    tokens = tokens_of(value)
    for name in names:
        if name in TOKEN_DAMAGE:
            tokens = TOKEN_DAMAGE[name](draw, tokens)
    if odd:
        tokens = rewritten("number", lambda _: draw(st.sampled_from(ODD_NUMBERS)))(draw, tokens)
    text = text_of(tokens, draw(st.sampled_from([" ", "", "\n"])))
    for name in names:
        if name in TEXT_DAMAGE:
            text = TEXT_DAMAGE[name](draw, text)
    return text


# ------------------------------------------------------------------ damage that may lose anything

ODD_NUMBERS = [
    "0.12345678901234567890", "1e999", "1e-999", "9007199254740993.5", "12345678901234567890123", "NaN",
    "-0", "01", "1.", ".5", "+1", "0x10", "1_000", "1e5.5", "1E2", "0.10",
]  # fmt: skip


def broken(draw: Draw, text: str) -> str:
    """The text with characters lost, added, changed or moved anywhere."""
    at = draw(st.integers(0, len(text)))
    to = min(len(text), at + draw(st.integers(0, 8)))
    match draw(st.integers(0, 6)):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + text[to:]
        case 2 | 3:
            return text[:at] + str(draw(st.sampled_from([*PIECES, *ODD_NUMBERS]))) + text[at:]
        case 4:
            return text[:at] + text[at:to] * 2 + text[to:]
        case 5:
            return text + str(draw(st.sampled_from(['{"z": 1}', "{}", " and more", '"z": 1}', "]"])))
        case _:
            numbers = [*re.finditer(r"[0-9]+", text)]
            if not numbers:
                return text
            found = draw(st.sampled_from(numbers))
            return text[: found.start()] + str(draw(st.sampled_from(ODD_NUMBERS))) + text[found.end() :]


# ------------------------------------------------------------------ the properties

FEW = settings(max_examples=max(1, settings().max_examples // 2))
MORE = settings(max_examples=settings().max_examples * 4)


def judged(text: str, schema: dict[str, Any]) -> callgate.Verdict:
    verdict = BASE.with_tools({"t": schema}).check_text("t", text)
    note(f"{text!r}\n{verdict.outcome.value} {verdict.code} {verdict.arguments!r}")
    note(f"{[change.rule for change in verdict.changes]}")
    event(f"{verdict.outcome.value} {verdict.code or ''}")
    return verdict


@pytest.mark.parametrize("name", [*TOKEN_DAMAGE, *TEXT_DAMAGE])
@FEW
@given(data=st.data(), value=objects, known=st.booleans())
def test_damage_that_loses_nothing_gives_the_very_value_or_a_refusal(
    name: str, data: st.DataObject, value: dict[str, Any], known: bool
) -> None:
    value = {**value, "needed": data.draw(NEEDS.get(name, scalars))}
    text = lossless(data.draw, value, name)
    verdict = judged(text, schema_of(value) if known else {"type": "object"})
    if verdict.allowed:
        assert exact(verdict.arguments) == exact(value)
        assert written_in(verdict.arguments, text)


@MORE
@given(st.data(), objects, st.sampled_from([*TOKEN_DAMAGE, *TEXT_DAMAGE]), st.booleans())
def test_whatever_the_damage_nothing_comes_out_that_is_not_in_the_text(
    data: st.DataObject, value: dict[str, Any], name: str, known: bool
) -> None:
    value = {**value, "n": data.draw(numbers), "needed": data.draw(NEEDS.get(name, scalars))}
    text = lossless(data.draw, value, name, odd=data.draw(st.booleans()))
    for _ in range(data.draw(st.sampled_from([0, 1, 1, 2, 3]))):
        text = broken(data.draw, text)
    verdict = judged(text, schema_of(value) if known else {"type": "object"})
    if verdict.allowed:
        assert written_in(verdict.arguments, text)


names = st.sampled_from(["a", "b", "path", "content", "n"])
flat = st.dictionaries(names, texts | numbers | st.booleans(), min_size=1, max_size=3)


@MORE
@given(flat, st.sampled_from(["", "\n"]))
def test_elements_give_the_very_value_or_a_refusal(value: dict[str, Any], between: str) -> None:
    shown = {key: item if isinstance(item, str) else json.dumps(item) for key, item in value.items()}
    assume(not any(f"</{key}" in item for key, item in shown.items()))
    text = between.join(f"<{key}>{item}</{key}>" for key, item in shown.items())
    verdict = judged(text, schema_of(value))
    if verdict.allowed:
        assert exact(verdict.arguments) == exact(value)


PLAIN: dict[str, Any] = {"path": "C:\\dir\\new", "content": "it\nis", "n": 5, "all": [True, {"x": None}, "z"]}


# What the engine may refuse: nobody writes it, or it could be read in two ways.
REFUSED = {
    *("doubled comma in an array", "comment anywhere", "literal newline before a colon"),
    "escapes in quote tokens",
}


@pytest.mark.parametrize("name", sorted({*TOKEN_DAMAGE, *TEXT_DAMAGE} - REFUSED))
@given(data=st.data())
def test_each_damage_alone_is_mended_in_a_plain_call(name: str, data: st.DataObject) -> None:
    # Without this the properties would hold for an engine that refuses everything.
    tokens = tokens_of(PLAIN)
    clean = text_of(tokens)
    if name in TOKEN_DAMAGE:
        text = text_of(TOKEN_DAMAGE[name](data.draw, tokens))
    else:
        text = TEXT_DAMAGE[name](data.draw, clean)
    verdict = judged(text, schema_of(PLAIN))
    assert verdict.outcome is (Outcome.VALID if text == clean else Outcome.REPAIRED)
    assert exact(verdict.arguments) == exact(PLAIN)


@pytest.mark.parametrize("comment", ["// a note", "# a note"])
def test_a_field_after_a_comment_and_a_literal_newline_is_not_lost(comment: str) -> None:
    verdict = BASE.check_text("t", '{"a": "x", ' + comment + '\\n "b": "y"\n}')
    assert not verdict.allowed or verdict.arguments == {"a": "x", "b": "y"}


@pytest.mark.parametrize("raw", ["\\bcat\\d", "\\d\\b", "\\frac{a}{b} \\alpha", "\\alpha\\beta"])
def test_backslashes_that_nobody_escaped_make_no_control_characters(raw: str) -> None:
    verdict = BASE.check_text("t", f'{{"pattern": "{raw}"}}')
    assert not verdict.allowed or verdict.arguments == {"pattern": raw}
