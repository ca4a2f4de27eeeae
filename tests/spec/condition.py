"""The meaning of conditions, in the plainest words: a walk over the tree, once per question.

It shares nothing with the engine but the tree: no closures, no fast paths, no cost to mind. Values are
compared through their canonical form, places are looked up by hand. `unknown` is the text "unknown".
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from callgate.grammar.ast import (
    STAR,
    After,
    And,
    Function,
    Item,
    Literal,
    Not,
    Or,
    Paren,
    Pointer,
    Presence,
    Quantified,
    Test,
    Text,
    Truth,
    Word,
)

GONE = ("a place that is not there",)
UNKNOWN = ("no answer",)


def evaluate(condition, names, arguments, env, *, positive=False, item=None):
    """True, False, or None for unknown. `item` is a one-item list inside any/every, else None."""
    return Spec(names, arguments, env).ask(condition, item or [arguments], positive)


def kind_of(value):
    if value is None:
        return "null"
    return {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}[
        type(value)
    ]


def canonical(value):
    """Two values are equal exactly when these are."""
    kind = kind_of(value)
    if kind == "number":
        return (kind, Fraction(value))
    if kind == "array":
        return (kind, tuple(canonical(each) for each in value))
    if kind == "object":
        return (kind, tuple(sorted((key, canonical(each)) for key, each in value.items())))
    return (kind, value)


def kleene_or(answers):
    answers = list(answers)
    if True in answers:
        return True
    return None if None in answers else False


def kleene_not(answer):
    return {True: False, False: True, None: None}[answer]


def kleene_and(answers):
    return kleene_not(kleene_or(kleene_not(each) for each in answers))


def looks_at_arguments(part):
    if isinstance(part, Pointer | Item | Presence | Quantified):
        return True
    if isinstance(part, Paren | Not):
        return looks_at_arguments(part.part)
    if isinstance(part, And | Or):
        return any(looks_at_arguments(each) for each in part.parts)
    if isinstance(part, Truth):
        return looks_at_arguments(part.term)
    if isinstance(part, Test):
        return looks_at_arguments(part.left) or looks_at_arguments(part.right)
    if isinstance(part, Function):
        return any(looks_at_arguments(each) for each in part.arguments)
    return False


class Spec:
    def __init__(self, names, arguments, env):
        self.names, self.arguments, self.env = names, arguments, env

    def ask(self, condition, item, positive):
        if not looks_at_arguments(condition):
            positive = False
        if isinstance(condition, Paren):
            return self.ask(condition.part, item, positive)
        if isinstance(condition, Or):
            return kleene_or(self.ask(part, item, positive) for part in condition.parts)
        if isinstance(condition, And):
            return kleene_and(self.ask(part, item, positive) for part in condition.parts)
        if isinstance(condition, Not):
            return None if positive else kleene_not(self.ask(condition.part, item, False))
        if isinstance(condition, After):
            return self.after(condition)
        if isinstance(condition, Presence):
            if STAR in condition.pointer.segments:
                return None
            gone = self.at(condition.pointer, item) is GONE
            if gone and positive:
                return None
            return gone == condition.missing
        if isinstance(condition, Quantified):
            if STAR not in condition.pointer.segments:
                return None
            base = item[0] if condition.pointer.relative else self.arguments
            return self.quantified(condition, list(condition.pointer.segments), base, positive)
        if isinstance(condition, Truth):
            return self.one(
                self.term(condition.term, item), positive, lambda v: v if kind_of(v) == "boolean" else None
            )
        return self.test(condition, item, positive)

    def after(self, condition):
        if self.env is None or self.env.turn is None:
            return None
        tool = condition.tool.text if isinstance(condition.tool, Word) else condition.tool.value
        return self.env.turn.after(tool, condition.in_turn)

    def quantified(self, condition, segments, base, positive):
        """The first `*` is a loop; what is left of the selector is looked at below each item."""
        if STAR not in segments:
            place = self.walk(base, segments)
            return self.ask(condition.body, [place], positive)
        at = segments.index(STAR)
        array = self.walk(base, segments[:at])
        if array is GONE:
            return None if positive else False
        if kind_of(array) != "array":
            return None
        answers = [self.quantified(condition, segments[at + 1 :], each, positive) for each in array]
        return kleene_and(answers) if condition.every else kleene_or(answers)

    def walk(self, value, segments):
        for segment in segments:
            if value is GONE or segment is STAR:
                return GONE
            if kind_of(value) == "object" and segment in value:
                value = value[segment]
            elif (
                kind_of(value) == "array"
                and re.fullmatch("0|[1-9][0-9]{0,8}", segment)
                and int(segment) < len(value)
            ):
                value = value[int(segment)]
            else:
                return GONE
        return value

    def at(self, pointer, item):
        return self.walk(item[0] if pointer.relative else self.arguments, pointer.segments)

    def term(self, term, item):
        if isinstance(term, Item):
            return item[0]
        if isinstance(term, Text | Literal):
            return term.value
        if isinstance(term, Pointer):
            return UNKNOWN if STAR in term.segments else self.at(term, item)
        if isinstance(term, Word):
            return self.word(term.text)
        return self.function(term, item)

    def word(self, word):
        env = self.env
        if word == "tool":
            return self.names.tool
        if word == "model":
            return UNKNOWN if self.names.model is None else self.names.model
        if word.startswith("context."):
            if env is None or env.context is None:
                return UNKNOWN
            found = self.walk(dict(env.context), word.split(".")[1:])
            return UNKNOWN if found is GONE else found
        if word in ("turn.step", "turn.repeats"):
            if env is None or env.turn is None:
                return UNKNOWN
            return env.turn.step if word == "turn.step" else env.turn.repeats
        if word in ("result.ok", "result.text", "result.exit_code"):
            if env is None or env.result is None:
                return UNKNOWN
            found = {"ok": env.result.ok, "text": env.result.text, "exit_code": env.result.exit_code}[
                word[7:]
            ]
            return UNKNOWN if found is None else found
        return self.names.lets.get(word, UNKNOWN)

    def function(self, term, item):
        name = term.name.text
        if name == "turn.calls":
            if self.env is None or self.env.turn is None:
                return UNKNOWN
            tool = term.arguments[0]
            return self.env.turn.calls(tool.text if isinstance(tool, Word) else tool.value)
        value = self.term(term.arguments[0], item)
        if name == "runs" and self.names.runs is None:
            return UNKNOWN
        if value is GONE or value is UNKNOWN:
            return value
        if name == "count":
            return len(value) if kind_of(value) in ("array", "object") else UNKNOWN
        if kind_of(value) != "string":
            return UNKNOWN
        if name == "length":
            return len(list(value))
        answer = self.names.runs(value, term.arguments[1].value)
        return UNKNOWN if answer is None else answer

    def one(self, value, positive, question):
        """A question about one value: unknown asks nothing, and what is not there is false."""
        if value is UNKNOWN:
            return None
        if value is GONE:
            return None if positive else False
        return question(value)

    def test(self, test, item, positive):
        if test.negated:
            plain = Test(test.left, test.operator, test.right)
            return None if positive else kleene_not(self.test(plain, item, False))
        if test.operator == "!=":
            return None if positive else kleene_not(self.test(Test(test.left, "==", test.right), item, False))
        left = self.term(test.left, item)
        if test.operator == "is":
            name = test.right.text if isinstance(test.right, Word) else "null"
            return self.one(left, positive, lambda value: self.has_type(value, name))
        right = self.term(test.right, item)
        if test.operator == "under":
            return self.one(left, positive, lambda value: self.under(value, right))
        if right is UNKNOWN:
            return None
        return self.one(
            left,
            positive,
            lambda value: self.one(
                right, positive, lambda other: self.binary(test.operator, value, other, positive)
            ),
        )

    def has_type(self, value, name):
        if name == "integer":
            return kind_of(value) == "number" and Fraction(value).denominator == 1
        return kind_of(value) == name

    def equal(self, value, other, positive):
        if kind_of(value) != kind_of(other):
            return None if positive else False
        return canonical(value) == canonical(other)

    def binary(self, operator, value, other, positive):
        kinds = kind_of(value), kind_of(other)
        if operator == "==":
            return self.equal(value, other, positive)
        if operator in ("<", "<=", ">", ">="):
            if kinds == ("number", "number"):
                value, other = Fraction(value), Fraction(other)
            elif kinds == ("string", "string"):
                value, other = [ord(c) for c in value], [ord(c) for c in other]
            else:
                return None
            return {"<": value < other, "<=": value <= other, ">": value > other, ">=": value >= other}[
                operator
            ]
        if operator == "in":
            return (
                kleene_or(self.equal(value, each, positive) for each in other)
                if kinds[1] == "array"
                else None
            )
        if operator == "contains":
            if kinds[0] == "array":
                return any(canonical(each) == canonical(other) for each in value)
            if kinds != ("string", "string"):
                return None
            return any(value[at : at + len(other)] == other for at in range(len(value) + 1))
        if kinds != ("string", "string"):
            return None
        if operator == "starts-with":
            return value[: len(other)] == other
        if operator == "ends-with":
            return other == "" or value[-len(other) :] == other
        search = re.search if operator == "matches" else re.fullmatch
        return search(other, value) is not None

    def under(self, value, prefix):
        """Only for POSIX paths made of plain names, dots, slashes, `~` and `%2e`."""
        if kind_of(value) != "string" or prefix is UNKNOWN or prefix is GONE or kind_of(prefix) != "string":
            return None
        here, top = self.names_of(value), self.names_of(prefix)
        if here is None or top is None:
            return None
        return here[: len(top)] == top

    def names_of(self, path) -> list[Any] | None:
        if path == "" or "\0" in path or "%2e" in path.lower() or path.startswith("~"):
            return None
        if not path.startswith("/"):
            cwd = self.names.cwd
            if cwd is None and self.env is not None and self.env.context is not None:
                cwd = self.env.context.get("cwd")
            if type(cwd) is not str or not cwd.startswith("/"):
                return None
            path = cwd + "/" + path
        kept: list[Any] = []
        for name in path.split("/"):
            if name == "..":
                kept = kept[:-1]
            elif name not in ("", "."):
                kept = [*kept, name]
        return kept
