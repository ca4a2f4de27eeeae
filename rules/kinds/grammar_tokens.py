"""grammar-tokens: take away the argument tokens that leaked at keys and values."""

from __future__ import annotations

from collections import Counter
from typing import Final

from ...grammar.ast import Json
from ..kind import Action, Example, Kind, Log, Phase, Place, Selecting, Spec

TOKENS: Final = ("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
_FOR: Final = "glm-4.6"


class GrammarTokens(Kind):
    """Strip leading and trailing `<arg_key>`, `<arg_value>` and their closing forms, as often as they repeat.

    From the text at the place, or from the keys and the direct texts of the object there. White space is
    kept, but for a key from which a token went: it loses what is around it. Only for the models of `for`;
    under the policy `conservative` it observes.

    A text with tokens inside is about them and stays as it is; so does one with tokens at one end alone and
    a blank beside them; arrays are not entered, and a text or key that
    is nothing but tokens is left alone. Where a key would become one that is there already, that key and its
    value stay as they are.
    """

    keyword = "grammar-tokens"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    needs_families = True
    cautious = True
    note = "Argument tags such as `<arg_value>` were in the arguments. Send keys and values without them."
    cost = "a look at both ends of each key and each direct text"
    examples = (
        Example(
            'grammar-tokens "" for "glm"',
            {"<arg_key>path</arg_key>": "<arg_value>/x</arg_value>"},
            {"path": "/x"},
            model=_FOR,
        ),
        Example('grammar-tokens /p for "glm"', {"p": "x</arg_value>"}, {"p": "x"}, model=_FOR),
        Example('grammar-tokens /p for "glm"', {"p": "a<arg_value>b"}, model=_FOR, why="inside the text"),
        Example(
            'grammar-tokens /p for "glm"', {"p": ["<arg_value>x"]}, model=_FOR, why="arrays are not entered"
        ),
        Example(
            'grammar-tokens "" for "glm"',
            {"a": 1, "a</arg_key>": 2},
            model=_FOR,
            why="the key is there already",
        ),
    )

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        return Action(_apply, 'type(v) is dict or type(v) is str and (v[:1] == "<" or v[-1:] == ">")')


def strip_tokens(text: str, with_space: bool = False) -> str:
    """The text without the tokens at its ends; the same object where none is, or nothing else. Cost: linear.

    `with_space`: once a token went, white space at the ends goes too, and tokens behind it.
    """
    start, end = 0, len(text)
    while True:
        before = start, end
        while start < end and (token := _token_at(text, start, end)):
            start += len(token)
        while start < end and text.endswith(TOKENS, start, end):
            end = text.rindex("<", start, end)
        if (start, end) == before or not with_space:
            break
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
    bare = text[start:end]
    if not with_space and bare and (start == 0) != (end == len(text)):
        # A token at one end with a blank beside it belongs to a sentence, or to a command.
        if (bare[0] if start else bare[-1]).isspace():
            return text
    return text if not bare or any(token in bare for token in TOKENS) else bare


def _token_at(text: str, start: int, end: int) -> str:
    return next((token for token in TOKENS if text.startswith(token, start, end)), "")


def _is_bare(text: str) -> bool:
    return text[:1] != "<" and text[-1:] != ">"


def _apply(value: Json, log: Log) -> Json:
    if isinstance(value, str):
        return strip_tokens(value)
    if not isinstance(value, dict):
        return value
    if all(
        _is_bare(key) and not (isinstance(item, str) and not _is_bare(item)) for key, item in value.items()
    ):
        return value
    names = {key: key if _is_bare(key) else strip_tokens(key, True) for key in value}
    wanted = Counter(names.values())
    result: dict[str, Json] = {}
    changed = False
    for key, item in value.items():
        name = names[key]
        if name != key and wanted[name] > 1:
            log.observe("a key in argument tags is there without them too; left as it is", (key,))
            result[key] = item
            continue
        bare = item if not isinstance(item, str) or _is_bare(item) else strip_tokens(item)
        if name != key or bare is not item:
            changed = True
            log.change((name,))
        result[name] = bare
    return result if changed else value


KIND = GrammarTokens
