"""quote-tokens: take away the tokens that a model printed for quotes, inside the quotes of JSON."""

from __future__ import annotations

from typing import ClassVar, Final

from ...grammar.ast import Json
from ..kind import Action, Example, Kind, Log, Phase, Place, Selecting, Spec

DEPTH: Final = 64
_FOR: Final = "gemma-4-27b"
_RULE: Final = """quote-tokens "" from '<|"|>' for "gemma\""""


class QuoteTokens(Kind):
    """Strip one listed token that stands at both ends of a text: `"<|\\"|>a<|\\"|>"` is `"a"`.

    Of the text at the place, or of every text and key below it, in objects and arrays. Only for the models
    of `for`. Where a token stands at one end alone, or inside too, the text was cut or is about the token,
    and stays. Where a key would become one that is there already, the whole value stays as it is.

    Outside of JSON's quotes a token is a quote by a `quote-token` statement.
    """

    keyword = "quote-tokens"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    needs_families = True
    clauses: ClassVar = {
        "from": {
            "type": "list",
            "required": True,
            "minlength": 1,
            "schema": {"type": "string", "minlength": 2},
        }
    }
    note = "A token stood for the quotes inside a text. Send the text alone in double quotes."
    cost = "a look at both ends of every text"
    examples = (
        Example(_RULE, {"c": '<|"|>a<|"|>'}, {"c": "a"}, model=_FOR),
        Example(_RULE, {'<|"|>c<|"|>': ['<|"|>a<|"|>', 1]}, {"c": ["a", 1]}, model=_FOR),
        Example(_RULE, {"c": '<|"|>a'}, model=_FOR, why="a token at one end alone"),
        Example(_RULE, {"c": '<|"|>a<|"|>, <|"|>b<|"|>'}, model=_FOR, why="there are tokens inside too"),
    )

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        tokens = tuple(spec.clauses["from"])

        def apply(value: Json, log: Log) -> Json:
            result, paths = _strip(value, tokens, ())
            if result is None:
                log.observe("a key in quote tokens is there without them too; left as it is")
                return value
            for path in paths:
                log.change(path)
            return result[0] if paths else value

        return Action(
            apply,
            "type(v) is dict or type(v) is list or type(v) is str and v.startswith($tokens)",
            {"tokens": tokens},
        )


def _bare(text: str, tokens: tuple[str, ...]) -> str:
    """The text without a token at both ends; the same object where that is not so."""
    for token in tokens:
        if text.startswith(token) and text.endswith(token) and len(text) >= 2 * len(token):
            inner = text[len(token) : -len(token)]
            return text if any(each in inner for each in tokens) else inner
    return text


def _strip(
    value: Json, tokens: tuple[str, ...], path: tuple[str | int, ...]
) -> tuple[tuple[Json] | None, list[tuple[str | int, ...]]]:
    """The value without tokens, and the paths of what changed; None where two keys would be one.

    What is nested more than 64 deep is not entered.
    """
    if len(path) > DEPTH:
        return (value,), []
    if isinstance(value, str):
        bare = _bare(value, tokens)
        return (bare,), [] if bare is value else [path]
    changed: list[tuple[str | int, ...]] = []
    if isinstance(value, list):
        items: list[Json] = []
        for index, item in enumerate(value):
            found, below = _strip(item, tokens, (*path, index))
            if found is None:
                return None, []
            items.append(found[0])
            changed += below
        return (items if changed else value,), changed
    if not isinstance(value, dict):
        return (value,), []
    result: dict[str, Json] = {}
    for key, item in value.items():
        name = _bare(key, tokens)
        found, below = _strip(item, tokens, (*path, name))
        if found is None or name in result or (name is not key and name in value):
            return None, []
        result[name] = found[0]
        changed += [(*path, name)] if name is not key else []
        changed += below
    return (result if changed else value,), changed


KIND = QuoteTokens
