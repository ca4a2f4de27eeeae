"""From what the parser reduces to the nodes of the tree: one function per production."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from . import mistakes
from .ast import (
    After,
    And,
    Atom,
    Condition,
    Function,
    Item,
    Json,
    Literal,
    Not,
    Or,
    Paren,
    Pointer,
    Presence,
    Quantified,
    Term,
    Test,
    Text,
    Truth,
    Word,
)
from .diagnostics import Diagnostic
from .mistakes import Mistakes
from .span import Span
from .tokens import Token

# What the parser holds: tokens, and what these functions made of them.
Children: TypeAlias = "list[Any]"


class Mistake(Exception):
    """A statement that the grammar takes and the language does not."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Suffix(Struct, frozen=True):
    """`word` is `for`, `when`, `note`, `named` or `block`; `unless` counts as `when`."""

    word: str
    value: Any
    span: Span
    unless: bool = False

    @property
    def title(self) -> str:
        """What a message calls it."""
        return {"when": "`when` or `unless`", "block": "block"}.get(self.word, f"`{self.word}`")


class Head(Struct, frozen=True):
    """A statement as written."""

    word: Word
    items: tuple[tuple[Atom, ...], ...]
    shadow: bool
    suffixes: tuple[Suffix, ...]


def _span(first: Any, last: Any) -> Span:
    begin: Span = first.span
    return replace(begin, end=last.span.end)


def _node(child: Any) -> Any:
    return child.value if isinstance(child, Token) else child


class Builder:
    """Called by the parser, bottom up. Keeps nothing between calls."""

    def statement(self, children: Children) -> Head:
        shadow = children[0].type == "SHADOW"
        rest = children[1:] if shadow else children
        suffixes: tuple[Suffix, ...] = ()
        if rest and isinstance(rest[-1], list):
            suffixes = tuple(rest.pop())
        return Head(rest[0].value, tuple(rest[1:]), shadow, suffixes)

    def group(self, children: Children) -> tuple[Atom, ...]:
        return tuple(_node(child) for child in children[::2])

    def tail(self, children: Children) -> list[Suffix]:
        return children

    def families(self, children: Children) -> Suffix:
        return Suffix("for", tuple(child.value for child in children[1::2]), children[0].span)

    def when(self, children: Children) -> Suffix:
        return Suffix("when", children[1], children[0].span)

    def unless(self, children: Children) -> Suffix:
        return Suffix("when", children[1], children[0].span, unless=True)

    def note(self, children: Children) -> Suffix:
        return Suffix("note", children[1].value, children[0].span)

    def named(self, children: Children) -> Suffix:
        return Suffix("named", children[1].value, children[0].span)

    def block(self, children: Children) -> Suffix:
        return Suffix("block", children[0].value, children[0].part(0, 1))

    def empty(self, children: Children) -> Suffix:
        return Suffix("block", children[0].value, children[0].span)

    # Conditions

    def or_(self, children: Children) -> Or:
        return Or(tuple(children[::2]), _span(children[0], children[-1]))

    def and_(self, children: Children) -> And:
        return And(tuple(children[::2]), _span(children[0], children[-1]))

    def not_(self, children: Children) -> Not:
        return Not(children[1], _span(children[0], children[1]))

    def paren(self, children: Children) -> Paren:
        return Paren(children[1], _span(children[0], children[2]))

    def comparison(self, children: Children) -> Test:
        left = _node(children[0])
        return _test(left, children[1:], _span(children[0], children[-1]))

    def presence(self, children: Children) -> Presence:
        word, pointer = children
        return Presence(pointer.value, word.type == "MISSING", _span(word, pointer))

    def quantified_tail(self, children: Children) -> Quantified:
        word, pointer, *tail = children
        body = _test(Item(pointer.span), tail, _span(tail[0], tail[-1]))
        return Quantified(pointer.value, word.type == "EVERY", body, _span(word, tail[-1]))

    def quantified(self, children: Children) -> Quantified:
        word, pointer, _, body, closing = children
        return Quantified(pointer.value, word.type == "EVERY", body, _span(word, closing))

    def after(self, children: Children) -> After:
        if len(children) == 4 and children[3].text != "turn":
            word = children[3]
            raise Mistake(mistakes.unexpected(word.text, "`turn`", word.span, "write `in turn`"))
        return After(children[1].value, len(children) == 4, _span(children[0], children[-1]))

    def truth(self, children: Children) -> Truth:
        return Truth(_node(children[0]), children[0].span)

    def operator(self, children: Children) -> Token:
        token: Token = children[0]
        return token

    def function(self, children: Children) -> Function:
        arguments = tuple(_node(child) for child in children[2:-1:2])
        return Function(children[0].value, arguments, _span(children[0], children[-1]))

    # JSON

    def object(self, children: Children) -> Literal:
        if len(children) == 1:
            literal: Literal = children[0].value
            return literal
        found: dict[str, Json] = {}
        first: dict[str, Span] = {}
        for key, value in children[1:-1:2]:
            if key.value in found:
                raise Mistake(mistakes.duplicate_key(key.value, key.span, first[key.value]))
            found[key.value] = value
            first[key.value] = key.span
        return Literal(found, _span(children[0], children[-1]))

    def member(self, children: Children) -> tuple[Text, Json]:
        return children[0].value, _json(children[2])

    def array(self, children: Children) -> Literal:
        return Literal([_json(child) for child in children[1:-1:2]], _span(children[0], children[-1]))


def _json(child: Any) -> Json:
    value: Json = _node(child).value
    return value


def _test(left: Term | Item, tail: Children, span: Span) -> Test:
    """`tail`: perhaps `not`, the operator, the right side."""
    operator: Token = tail[-2]
    right: Term = _node(tail[-1])
    negated = len(tail) == 3
    if operator.text not in mistakes.OPERATORS:
        raise Mistake(mistakes.unknown_operator(operator.text, operator.span))
    if negated and not operator.text[0].isalpha():
        raise Mistake(mistakes.negated_symbol(operator.text, operator.span))
    if operator.text == "under" and isinstance(right, Pointer):
        raise Mistake(mistakes.pointer_after_under(tail[-1].text, tail[-1].span))
    return Test(left, operator.text, right, negated, span)


def review(condition: Condition, log: Mistakes) -> bool:
    """Report nesting past the limit (then the answer is False), and `and` mixed with `or`."""
    todo: list[tuple[Condition, int]] = [(condition, 0)]
    while todo:
        node, depth = todo.pop()
        if depth > mistakes.DEEPEST:
            log.add(mistakes.too_deep("conditions", node.span))
            return False
        if isinstance(node, Or | And):
            if isinstance(node, Or) and any(isinstance(part, And) for part in node.parts):
                log.add(mistakes.mixed_and_or(node.span))
            todo.extend((part, depth) for part in node.parts)
        elif isinstance(node, Not | Paren):
            todo.append((node.part, depth + 1))
        elif isinstance(node, Quantified):
            todo.append((node.body, depth + 1))
    return True
