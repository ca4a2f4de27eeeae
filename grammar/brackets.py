"""Which bracket closes which, and which closes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from . import mistakes
from .mistakes import DEEPEST, Mistakes
from .tokens import Token

_OPENERS = frozenset({"LPAR", "LSQB", "LBRACE"})
_CLOSERS = frozenset({"RPAR", "RSQB", "RBRACE"})
_PAIRS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
_TEXTS = frozenset({"STRING", "RAW", "UNCLOSED"})


class Brackets(Struct):
    """Indexes of tokens."""

    partners: dict[int, int] = field(default_factory=dict)  # `(`, `[` and `{` of JSON -> what closes it
    blocks: dict[int, int] = field(default_factory=dict)  # `{` of a block -> its `}`, or what follows it
    broken: set[int] = field(default_factory=set)  # brackets that were reported
    stray: set[int] = field(default_factory=set)  # those of them that close nothing


def match(tokens: Sequence[Token], log: Mistakes) -> Brackets:
    """Pair all brackets. Where one is never closed, the indentation says which one it is."""
    matcher = _Matcher(tokens, by_indentation=False)
    matcher.run()
    if matcher.unclosed:
        matcher = _Matcher(tokens, by_indentation=True)
        matcher.run()
    matcher.report(log)
    return matcher.found


class _Matcher:
    def __init__(self, tokens: Sequence[Token], by_indentation: bool) -> None:
        self._tokens = tokens
        self._by_indentation = by_indentation
        self._open: list[tuple[int, bool]] = []  # index, is it a block; the innermost last
        self._levels = [0]  # brackets open inside the innermost block, one number for each open block
        self._braces = 0  # open `{` of both sorts
        self._wrong: list[tuple[int, int]] = []  # `(` or `[`, and what stands where it should close
        self._deep: list[int] = []
        self.found = Brackets()
        self.unclosed = False

    def run(self) -> None:
        for at, token in enumerate(self._tokens):
            if token.gap:
                self._new_line(at, token)
            if token.type in _OPENERS:
                self._enter(at, token)
            elif token.type in _CLOSERS:
                self._leave(at, token)
        while self._open:
            self._give_up(len(self._tokens))

    def report(self, log: Mistakes) -> None:
        tokens = self._tokens
        for opening, closing in self._wrong:
            log.add(
                mistakes.wrong_bracket(
                    tokens[opening].span, tokens[opening].text, tokens[closing].text, tokens[closing].span
                )
            )
        for at in self._deep:
            log.add(mistakes.too_deep("parentheses and JSON values", tokens[at].span))
        wrong = {at for pair in self._wrong for at in pair}
        for at in self.found.broken - wrong - set(self._deep):
            token = tokens[at]
            if at in self.found.stray:
                log.add(mistakes.stray_bracket(token.text, token.span))
            elif at in self.found.blocks:
                log.add(mistakes.unclosed_block(token.span))
            else:
                log.add(mistakes.unclosed_bracket(token.text, token.span))

    def _new_line(self, at: int, token: Token) -> None:
        """A line that cannot be inside what is open shows that it was never closed."""
        while self._open:
            opening, is_block = self._open[-1]
            indent = self._tokens[opening].indent
            if is_block:
                inside = token.indent > indent or (token.type == "RBRACE" and token.indent == indent)
                if inside or not self._by_indentation:
                    return
            else:
                may_go_on = self._tokens[opening].type == "LPAR" and not self._by_indentation
                if may_go_on or token.type != "NAME" or token.indent > indent:
                    return
            self._give_up(at)

    def _enter(self, at: int, token: Token) -> None:
        is_block = token.type == "LBRACE" and not self._levels[-1] and not self._opens_json(at)
        self._open.append((at, is_block))
        self._braces += token.type == "LBRACE"
        if is_block:
            self._levels.append(0)
            return
        self._levels[-1] += 1
        if self._levels[-1] == DEEPEST + 1:
            self._deep.append(at)
            self.found.broken.add(at)

    def _opens_json(self, at: int) -> bool:
        return at + 1 < len(self._tokens) and self._tokens[at + 1].type in _TEXTS

    def _leave(self, at: int, token: Token) -> None:
        if token.type == "RBRACE":
            while self._braces and self._tokens[self._open[-1][0]].type != "LBRACE":
                self._give_up(at)
            if not self._braces:
                self._stray(at)
                return
        elif not self._levels[-1] or self._tokens[self._open[-1][0]].type == "LBRACE":
            self._stray(at)
            return
        opening, is_block = self._open[-1]
        self._pop()
        if is_block:
            self.found.blocks[opening] = at
            return
        self.found.partners[opening] = at
        if _PAIRS[self._tokens[opening].type] != token.type:
            self._wrong.append((opening, at))
            self.found.broken.update((opening, at))

    def _stray(self, at: int) -> None:
        self.found.stray.add(at)
        self.found.broken.add(at)

    def _give_up(self, at: int) -> None:
        """Whatever is open innermost is not closed before this token."""
        opening, is_block = self._open[-1]
        self._pop()
        self.unclosed = True
        self.found.broken.add(opening)
        if is_block:
            self.found.blocks[opening] = at

    def _pop(self) -> None:
        opening, is_block = self._open.pop()
        self._braces -= self._tokens[opening].type == "LBRACE"
        if is_block:
            self._levels.pop()
        else:
            self._levels[-1] -= 1
