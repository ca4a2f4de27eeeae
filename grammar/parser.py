"""Text to tree. The only module that loads Lark, and not before the first text is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from . import mistakes, values
from .ast import Condition, File, Literal, Statement
from .brackets import match
from .build import Builder, Head, Mistake, Suffix, review
from .diagnostics import Diagnostic, GrammarError
from .layout import Block, Layout, Segment, Words, divide, sort_out
from .mistakes import Mistakes
from .span import Span
from .tokens import Token
from .unexpected import end_after, explain

if TYPE_CHECKING:
    from lark import Lark

__all__ = ["Parsed", "Words", "parse", "parse_condition"]

_TAB = re.compile(r"^ *+\t[ \t]*+(?=[^\s])", re.MULTILINE)


class Parsed(Struct, frozen=True):
    """The statements that could be read, and everything that is wrong with the text, in its order."""

    file: File
    diagnostics: tuple[Diagnostic, ...]


def parse(text: str, *, words: Words, file: str = "<text>") -> Parsed:
    """Read a rule file. Raises on no text; a bad statement costs only itself.

    Args:
        words: from the word of the enclosing statement (None: the top of the file) to the words
            that begin a statement in its block.
        file: what diagnostics call the text.

    Cost: linear in the text. At most `mistakes.MOST` diagnostics and one that counts the rest.
    """
    body = text.removeprefix("\ufeff")
    log = Mistakes(file, shift=len(text) - len(body))
    _refuse_tabs(body, log)
    block = divide(_tokens(body), words, log)
    statements = _statements(block, log)
    return Parsed(File(statements, tuple(block.closing)), log.all())


def parse_condition(text: str) -> Condition:
    """Read one condition, as it stands after `when`.

    Raises:
        GrammarError: with the diagnostics, if there is an error.
    """
    log = Mistakes("<text>")
    tokens, _ = sort_out(_tokens(text), log)
    broken = match(tokens, log).broken
    read = values.read(tokens, log)
    condition: Condition | None = None
    if not broken and read is not None:
        condition = _feed(read, "condition", log)
    if condition is None or not review(condition, log):
        raise GrammarError(log.all())
    return condition


@cache
def _grammar() -> Lark:
    from lark import Lark

    text = files(__package__).joinpath("callgate.lark").read_text("utf-8")
    return Lark(
        text,
        parser="lalr",
        lexer="basic",
        start=["statement", "condition"],
        postlex=Layout(),
        transformer=cast(Any, Builder()),
        keep_all_tokens=True,
        maybe_placeholders=False,
    )


def _tokens(text: str) -> Iterator[Token]:
    lexer: Any = _grammar().parse_interactive(text, start="statement").lexer_thread
    tokens: Iterator[Token] = lexer.lex(None)  # as the post-lexer gives them
    return tokens


def _refuse_tabs(text: str, log: Mistakes) -> None:
    line, counted = 1, 0
    for found in _TAB.finditer(text):
        tab = found[0].index("\t")
        line += text.count("\n", counted, found.start())
        counted = found.start()
        begin = found.start() + tab
        log.add(mistakes.tab_in_indentation(Span(begin, found.end(), line, tab + 1)))


def _statements(block: Block, log: Mistakes) -> tuple[Statement, ...]:
    read = (_statement(segment, log) for segment in block.segments)
    return tuple(statement for statement in read if statement is not None)


def _statement(segment: Segment, log: Mistakes) -> Statement | None:
    """Read one statement with its block, or report what is wrong with it. Recursion: one level per block."""
    tokens = [
        token._replace(value=(_statements(token.value, log), tuple(token.value.closing)))
        if token.type == "BLOCK"
        else token
        for token in segment.tokens
    ]
    read = values.read(tokens, log)
    if read is None or segment.broken:
        return None
    first = read[0]
    if first.type != "NAME":
        say = mistakes.hanging_suffix if first.text in values.RESERVED else mistakes.no_word
        log.add(say(first.text, first.span))
        return None
    if first.text == "shadow":
        read[0] = first._replace(type="SHADOW")
    head: Head | None = _feed(read, "statement", log)
    if head is None:
        return None
    suffixes = _suffixes(head, log)
    if suffixes is None:
        return None
    span = Span(first.start, read[-1].end, first.line, first.column)
    return _put_together(head, suffixes, segment, span)


def _feed(tokens: Iterable[Token], start: str, log: Mistakes) -> Any:
    """Parse tokens. None if they are not what `start` names; that is reported."""
    from lark.exceptions import UnexpectedToken

    parser = _grammar().parse_interactive(start=start)
    before: Token | None = None
    try:
        for token in tokens:
            parser.feed_token(cast(Any, token))
            before = token
        return parser.feed_token(cast(Any, end_after(before)))
    except Mistake as mistake:
        log.add(mistake.diagnostic)
    except UnexpectedToken as error:
        log.add(explain(cast(Any, error.token), error.expected, before))
    return None


def _suffixes(head: Head, log: Mistakes) -> dict[str, Suffix] | None:
    """The suffixes by word. None if one stands twice, or a condition is too deep; that is reported."""
    found: dict[str, Suffix] = {}
    good = True
    for suffix in head.suffixes:
        if suffix.word in found:
            log.add(mistakes.second_suffix(suffix.title, suffix.span, found[suffix.word].span))
            good = False
        found.setdefault(suffix.word, suffix)
        if suffix.word == "when":
            good = review(suffix.value, log) and good
    return found if good else None


def _put_together(head: Head, suffixes: dict[str, Suffix], segment: Segment, span: Span) -> Statement:
    items = head.items
    block: tuple[Statement, ...] | None = None
    closing: tuple[str, ...] = ()
    if "block" in suffixes:
        value = suffixes["block"].value
        if isinstance(value, Literal):
            items = (*items, (value,))
        else:
            block, closing = value
    values = {word: suffix.value for word, suffix in suffixes.items()}
    return Statement(
        head.word,
        items,
        shadow=head.shadow,
        families=values.get("for"),
        condition=values.get("when"),
        unless="when" in suffixes and suffixes["when"].unless,
        note=values.get("note"),
        name=values.get("named"),
        block=block,
        span=span,
        comments=tuple(segment.comments),
        trailing=segment.trailing,
        closing=closing,
        blanks=segment.blanks,
    )
