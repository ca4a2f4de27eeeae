"""The tokens of damaged JSON text, and what models print around it, as regular expressions.

Every alternative is possessive or bounded, so that matching is linear in the text.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from .speech import Speech

_HERE = ("here is the", "here's the", "this is the", "here are the", "these are the")
_WHAT = ("call", "tool call", "function call", "json", "json object", "arguments", "parameters")
_WORDS = (
    *("done", "ok", "okay", "sure", "certainly", "here you go", "tool call", "function call", "arguments"),
    *(f"{here} {what}" for here in _HERE for what in _WHAT),
)
_LANGUAGES = "json5?|jsonc|javascript|js|python|py|tool_code|tool_call"
_TAGS = "tool_calls?|function_calls?|tool_use|tool_code|invoke|arguments|parameters"
_UNSEEN = r"(?:(?:\\[nrt])++|[\ufeff\u00a0\u200b]++)++"  # a line end written as two characters; odd blanks
BLANK = r"[ \t\r\n]*+"
_PLAIN = r'[^"\\\x00-\x1f]*+'
TEXT = rf'"{_PLAIN}(?:(?:\\["\\/bfnrt]{_PLAIN})++|\\u[0-9a-fA-F]{{4}}{_PLAIN})*+"'
NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.+-])"
SCALAR = rf"(?:{TEXT}|{NUMBER}|(?:true|false|null)(?![\w.-]))"
_PAIR = rf"{BLANK}{TEXT}{BLANK}:{BLANK}{SCALAR}{BLANK}"
# An object or array of scalars with nothing wrong in it.
_ARRAY = rf"\[(?:{BLANK}{SCALAR}{BLANK}(?:,{BLANK}{SCALAR}{BLANK})*+|{BLANK})\]"
_FLAT = rf"(?:\{{(?:{_PAIR}(?:,{_PAIR})*+|{BLANK})\}}|{_ARRAY})"
_ITEM = rf"{BLANK}(?:{SCALAR}|{_FLAT}){BLANK}"
# Runs of entries with nothing wrong in them, each with its comma, before what begins like another.
_PAIRS = rf"(?:{_PAIR},(?={BLANK}\"))++"
_ITEMS = rf"(?:{_ITEM},(?={BLANK}[\"{{\[0-9tfn-]))++"
# A key and its scalar, of which one or both stand in other quotes or in none, with the comma after them.
LOOSE = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
SIMPLE = r"'[^'\"\\\x00-\x1f]*+'"
NAME = r"(?!(?:[Tt]rue|[Ff]alse|None|null|NaN|Infinity)\b)[A-Za-z_$][\w$]*+"
_LOOSE_KEY = (
    rf"(?P<key>{TEXT})|(?P<name>{NAME})\"?|(?P<single>{SIMPLE})"
    rf"|(?!{LOOSE}{BLANK}:)\"(?P<opened>[A-Za-z_$][\w$.-]*+)"  # its closing quote was lost
)
_LOOSE_PAIR = (
    rf"{BLANK}(?:{_LOOSE_KEY}){BLANK}:{BLANK}"
    rf"(?:(?P<scalar>{SCALAR})|(?P<text>{SIMPLE})|(?P<word>True|False|None)\b|(?P<loose>{LOOSE}))"
    rf"{BLANK}(?:(?P<comma>,)|(?=\}}))"
)
WORD = r"[A-Za-z_$][\w$]*+(?:[.-][\w$]++)*+"
COLON = r"(?:[ \t\r\n\ufeff\u00a0\u200b]|\\[nrt])*+:"  # after a key
PLAIN_WORDS = ("true", "false", "null")
_TOKENS = (
    # The same, with a comma too many at the end of an object; only where it pays to look for it.
    rf"(?P<flat>\{{(?:{_PAIR}(?:,{_PAIR})*+(?P<spare>,{BLANK})?|{BLANK})\}}|{_ARRAY})",
    rf"(?P<commas>,(?:{BLANK},)++)",
    r"(?P<mark>[{}\[\],:])",
    rf"(?P<text>{TEXT})",
    rf"(?P<number>{NUMBER})",
    r"(?P<infinite>-?Infinity\b|NaN\b)",
    rf"(?P<word>{WORD})",
    rf"(?P<loose>{LOOSE})",
    r"(?P<single>'[^'\\]*+(?:\\.[^'\\]*+)*+')",
    r"(?P<curly>[“”„‟][^“”„‟]*+[“”„‟]|[‘’‚‛][^‘’‚‛]*+[‘’‚‛])",
    rf"(?P<control>{_UNSEEN})",
    r"(?P<comments>(?://|\#)[ \t][^\n]*+|/\*\*?[ \t\r\n].*?\*/)",
    r"(?P<end>\Z)",
)
_SURROUNDINGS = (
    r"<\|[^<>|\s][^<>|\n]{0,63}\|>",
    r"<｜[^<>｜\s][^<>｜\n]{0,63}｜>",
    r"\[/?(?:TOOL_CALLS|ARGS)\]",
    r"</[A-Za-z_｜|][\w:.｜|-]{0,63}>",
    rf"<(?:[a-z]{{1,16}}:)?(?:{_TAGS})>",
)
_FENCE = (
    rf"(?:`{{3,}}|~{{3,}}|`)[ \t]{{0,8}}(?:(?i:{_LANGUAGES})\b)?",
    rf"(?i:{_LANGUAGES})(?=[ \t]{{0,8}}\n?[ \t]{{0,8}}[{{\[`])",
)


class Lexicon(msgspec.Struct, frozen=True):
    """`token`: one token inside the arguments, with the blanks before it; its last group is its kind.
    `part`: the same, but no whole object and array is one.
    `pairs`, `items`: runs of whole entries of an object and of an array, and one `item` of such a run.
    `pair`: one entry of an object whose key or text stands in other quotes or in none.
    `around`: what may stand around the arguments; its last group is the fix, or `blank`."""

    token: re.Pattern[str]
    part: re.Pattern[str]
    pairs: re.Pattern[str]
    pair: re.Pattern[str]
    items: re.Pattern[str]
    item: re.Pattern[str]
    around: re.Pattern[str]


@lru_cache(64)
def lexicon(speech: Speech) -> Lexicon:
    """The expressions for what a model prints."""
    quotes = "|".join(map(re.escape, sorted(speech.quotes, key=len, reverse=True)))
    tokens = (f"(?P<token>{quotes})", *_TOKENS) if quotes else _TOKENS
    parts = [each for each in tokens if not each.startswith("(?P<flat>")]
    words = sorted({*_WORDS, *speech.words}, key=lambda each: (-len(each), each))
    phrases = [_phrase(each) for each in words if each.strip()]
    around = (
        r"(?P<blank>[ \t\r\n]++)",
        f"(?P<fence>{'|'.join(_FENCE)})",
        f"(?P<surroundings>{'|'.join((*_SURROUNDINGS, *phrases))})",
        f"(?P<control>{_UNSEEN})",
    )
    return Lexicon(
        re.compile(f"{BLANK}(?:{'|'.join(tokens)})", re.DOTALL),
        re.compile(f"{BLANK}(?:{'|'.join(parts)})", re.DOTALL),
        re.compile(_PAIRS),
        # A token that begins like a quote is looked at before quotes are.
        re.compile(
            f"(?!){_LOOSE_PAIR}" if any(each[0] in "'\"" for each in speech.quotes) else _LOOSE_PAIR,
            re.DOTALL,
        ),
        re.compile(_ITEMS),
        re.compile(f"{_ITEM},"),
        re.compile("|".join(around)),
    )


def _phrase(words: str) -> str:
    """Words in any case with blanks between them, not within a longer word, and what ends a sentence."""
    text = r"\s{1,8}".join(map(re.escape, words.split()))
    edge = r"(?!\w)" if words.rstrip()[-1].isalnum() else ""
    return rf"(?i:{text}){edge}[ \t]{{0,8}}[.:!,…]{{0,3}}"
