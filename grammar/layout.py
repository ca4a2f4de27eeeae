"""The post-lexer: where each statement ends, and what a `{` opens.

A statement ends at the end of its line, at `;` or before the `}` of its block. It goes on after a
comma, inside brackets, and on following lines indented deeper than its first one, unless such a
line begins with a statement word of its block. `{` opens a JSON value where a string or `}` follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

from msgspec import Struct, field

from . import mistakes
from .brackets import Brackets, match
from .mistakes import DEEPEST, Mistakes
from .tokens import Token

_HIDDEN = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")  # in a comment
Words = Callable[[str | None], frozenset[str]]

# What may follow the block of a statement.
_AFTER_BLOCK = frozenset({"FOR", "WHEN", "UNLESS", "NOTE", "NAMED", "LBRACE", "EMPTY"})


class _LexerToken(Protocol):
    """What is needed of a token as the lexer makes it."""

    type: str
    value: Any
    start_pos: int | None
    line: int | None
    column: int | None


class Layout:
    """What the lexer hands its tokens to: gives each its place among the lines."""

    # Terminals that no production names.
    always_accept: ClassVar[tuple[str, ...]] = (
        "NUMBER",
        "TRUE",
        "FALSE",
        "NULL",
        "UNCLOSED",
        "SEMICOLON",
        "COMMENT",
        "JUNK",
    )

    def process(self, stream: Iterable[_LexerToken]) -> Iterator[Token]:
        last = indent = 0
        for token in stream:
            text, start, line, column = token.value, token.start_pos or 0, token.line or 1, token.column or 1
            if line > last:
                indent = column
            yield Token(token.type, str(text), start, start + len(text), line, column, line - last, indent)
            last = line


class Comment(NamedTuple):
    """A comment; `before` is the index of the token that follows it."""

    text: str
    before: int
    line: int
    beside: bool  # a token stands before it on its line
    blank: bool  # an empty line stands above it


class Block(Struct):
    """What stands between braces: its statements, and the comments after the last of them."""

    segments: list[Segment] = field(default_factory=list)
    closing: list[str] = field(default_factory=list)


class Segment(Struct):
    """The tokens of one statement; its block is one token `BLOCK`, whose value is a `Block`."""

    tokens: list[Token]
    comments: list[str]  # above it, then those from inside it
    blanks: frozenset[int]  # as in `Statement`
    trailing: str | None = None
    broken: bool = False  # something in it was reported already


def sort_out(tokens: Iterable[Token], log: Mistakes) -> tuple[list[Token], list[Comment]]:
    """Part tokens from comments, and make of `{` and `}` with nothing between them one token `EMPTY`."""
    out: list[Token] = []
    comments: list[Comment] = []
    for token in tokens:
        if token.type == "COMMENT":
            _check_comment(token, log)
            text = _comment_text(token.text)
            comments.append(Comment(text, len(out), token.line, not token.gap, token.gap > 1))
        elif token.type == "RBRACE" and out and out[-1].type == "LBRACE":
            out[-1] = out[-1]._replace(type="EMPTY", text="{}", end=token.end)
            at = len(comments) - 1
            while at >= 0 and comments[at].before == len(out):
                comments[at] = comments[at]._replace(before=len(out) - 1)
                at -= 1
        else:
            out.append(token)
    return out, comments


def _check_comment(token: Token, log: Mistakes) -> None:
    text = token.text.removesuffix("\r")
    if bad := _HIDDEN.search(text):
        log.add(mistakes.control_character(bad[0], token.part(bad.start(), bad.end())))


def divide(tokens: Iterable[Token], words: Words, log: Mistakes) -> Block:
    """Cut a text into its statements, nested as their blocks are. Linear in the number of tokens."""
    return _Divider(tokens, words, log).file()


class _Divider:
    def __init__(self, tokens: Iterable[Token], words: Words, log: Mistakes) -> None:
        self._log = log
        self._ask = words
        self._words: dict[str | None, frozenset[str]] = {}
        self._tokens, self._comments = sort_out(tokens, log)
        self._brackets: Brackets = match(self._tokens, log)
        self._next = 0  # the first comment not yet given to a statement

    def file(self) -> Block:
        return self._block(0, len(self._tokens), None, 0)

    def _begins(self, at: int, block: str | None) -> bool:
        """Does a statement word of the block stand at this token, or `shadow` before one?"""
        if block not in self._words:
            self._words[block] = self._ask(block)
        words, tokens = self._words[block], self._tokens
        if tokens[at].text == "shadow" and at + 1 < len(tokens) and tokens[at + 1].gap == 0:
            at += 1
        return tokens[at].type == "NAME" and tokens[at].text in words

    def _block(self, at: int, end: int, word: str | None, depth: int) -> Block:
        block = Block()
        while at < end:
            if self._tokens[at].type == "SEMICOLON" or at in self._brackets.stray:
                at += 1
            else:
                segment, at = self._segment(at, end, word, depth)
                block.segments.append(segment)
        block.closing = self._comments_up_to(end)
        return block

    def _comments_up_to(self, at: int) -> list[str]:
        """The comments before a token that were given to no statement yet."""
        begin = self._next
        while self._next < len(self._comments) and self._comments[self._next].before <= at:
            self._next += 1
        return [comment.text for comment in self._comments[begin : self._next]]

    def _segment(self, at: int, end: int, word: str | None, depth: int) -> tuple[Segment, int]:
        """The statement that begins at a token, and where the next one may begin."""
        tokens = self._tokens
        first = tokens[at]
        begin = self._next
        comments = self._comments_up_to(at)
        blanks = {i for i in range(len(comments)) if self._comments[begin + i].blank}
        if first.gap > 1:
            blanks.add(len(comments))
        segment = Segment([], comments, frozenset(blanks))
        own = ""  # the word of this statement, once known
        after_block = False
        start = at
        while at < end:
            token = tokens[at]
            if token.type == "SEMICOLON":
                at += 1
                break
            if at in self._brackets.stray and token.type == "RBRACE":
                break
            if at > start:
                # After a bracket that is never closed a comma is no promise any more.
                if token.gap and (tokens[at - 1].type != "COMMA" or segment.broken):
                    if token.indent <= first.indent:
                        break
                    if self._begins(at, word):
                        self._log.add(mistakes.indented_statement(token.text, token.span, first.span))
                        break
                if after_block and token.type not in _AFTER_BLOCK:
                    self._log.add(mistakes.after_block(token.text, token.span))
                    break
            after_block = False
            self._take_comments(segment, at, first.line)
            if not own and token.type == "NAME" and token.text != "shadow":
                own = token.text
            if at in self._brackets.blocks:
                opening, at = at, self._nested(segment, at, own, depth, first.line)
                after_block = True
                if opening in self._brackets.broken:
                    break
            else:
                at = self._plain(segment, at, first.line)
        self._last_comment(segment, at, first.line)
        return segment, at

    def _plain(self, segment: Segment, at: int, line: int) -> int:
        """Take one token, or all from an opening bracket to its closing one."""
        last = self._brackets.partners.get(at, at)
        for index in range(at, last + 1):
            if index > at:
                self._take_comments(segment, index, line)
            if index in self._brackets.broken:
                segment.broken = True
            segment.tokens.append(self._tokens[index])
        return last + 1

    def _nested(self, segment: Segment, at: int, own: str, depth: int, line: int) -> int:
        """Take a block as one token."""
        opening = self._tokens[at]
        end = self._brackets.blocks[at]
        closed = at not in self._brackets.broken
        # A comment beside the `{` belongs to the line, not to what is in the block.
        if self._next < len(self._comments):
            comment = self._comments[self._next]
            if comment.before == at + 1 and comment.beside:
                self._keep(segment, comment, line)
        if depth < DEEPEST:
            block = self._block(at + 1, end, own, depth + 1)
        else:
            self._log.add(mistakes.too_deep("blocks", opening.span))
            segment.broken = True
            block = Block(closing=self._comments_up_to(end))
        last = self._tokens[end] if closed else self._tokens[max(at, end - 1)]
        segment.tokens.append(opening._replace(type="BLOCK", end=last.end, value=block))
        segment.broken = segment.broken or not closed
        return end + 1 if closed else end

    def _keep(self, segment: Segment, comment: Comment, line: int) -> None:
        """A comment inside a statement: beside its first line, or moved above it."""
        self._next += 1
        if comment.line == line and segment.trailing is None:
            segment.trailing = comment.text
        else:
            segment.comments.append(comment.text)

    def _take_comments(self, segment: Segment, at: int, line: int) -> None:
        while self._next < len(self._comments) and self._comments[self._next].before <= at:
            self._keep(segment, self._comments[self._next], line)

    def _last_comment(self, segment: Segment, at: int, line: int) -> None:
        """The comment beside the end of a statement."""
        if self._next < len(self._comments):
            comment = self._comments[self._next]
            if comment.before == at and comment.beside:
                self._keep(segment, comment, line)


def _comment_text(text: str) -> str:
    """A comment without `#`, one blank, and what cannot be seen at its end."""
    body = text[1:].rstrip(" \t\r")
    return body[1:] if body.startswith(" ") else body
