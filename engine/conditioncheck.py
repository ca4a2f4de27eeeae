"""What is wrong with a condition, as its author can see it: every finding of one run, each with a fix."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..grammar.ast import (
    STAR,
    And,
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
    Segment,
    Term,
    Test,
    Text,
    Truth,
    Word,
)
from ..grammar.diagnostics import Diagnostic, Severity, nearest
from ..grammar.span import Span
from ..rules.regex import compile_regex
from ..rules.values import TYPES
from .anchors import is_anchored
from .conditionterms import FUNCTIONS, NUMERIC, WORDS, is_context, kinds, shown, type_of_word, types_of
from .operators import ORDERS, PATTERNS
from .paths import Folded, fold

TEXTUAL = ("starts-with", "ends-with", "matches", "fullmatches", "under")
OPERATORS = ("==", "!=", *ORDERS, "in", "contains", "is", *TEXTUAL)


def check_condition(
    condition: Condition,
    *,
    lets: Mapping[str, Json],
    place_types: Callable[[Pointer], frozenset[str] | None] | None,
    declares: Callable[[Pointer], str | bool] | None,
    effect: str | None,
    file: str,
) -> list[Diagnostic]:
    """Every finding about one condition, in the order in which it is written.

    `lets`: the names that `let` gives, with their values. `place_types`: the JSON types that the schema
    admits at a place, None where it does not say; `declares`: True where the schema has the place or
    does not say, False where it has not, or the text of the selector to propose. Both get selectors
    from the root of the arguments, `./x` made absolute, and are None without a schema. `effect` is
    that of a permission rule (`allow`, `ask`, `deny`), else None: other rules look at arguments before
    they are mended, so there an unknown field is a warning, and a type that the schema refuses is fine.
    `present` and `missing` may ask for any field.
    """
    scope = _Scope(lets, place_types, declares, effect, None)
    return [replace(found, file=file) for found in scope.condition(condition)]


def _error(code: str, message: str, span: Span, help: str = "") -> Diagnostic:
    return Diagnostic(code, message, span, Severity.ERROR, help)


def _warning(code: str, message: str, span: Span, help: str = "") -> Diagnostic:
    return Diagnostic(code, message, span, Severity.WARNING, help)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a part of a condition may refer to. `base`: what `./` is, None outside `any` and `every`."""

    lets: Mapping[str, Json]
    place_types: Callable[[Pointer], frozenset[str] | None] | None
    declares: Callable[[Pointer], str | bool] | None
    effect: str | None
    base: tuple[Segment, ...] | None

    def condition(self, condition: Condition) -> Iterator[Diagnostic]:
        match condition:
            case Paren(part) | Not(part):
                yield from self.condition(part)
            case And(parts) | Or(parts):
                for part in parts:
                    yield from self.condition(part)
            case Presence(pointer, missing):
                word = "missing" if missing else "present"
                yield from self.single(pointer, lambda place: f"({word} {place})")
            case Quantified():
                yield from self.quantified(condition)
            case Truth(term):
                yield from self.truth(term, condition.span)
            case Test():
                yield from self.test(condition)

    def quantified(self, part: Quantified) -> Iterator[Diagnostic]:
        pointer, word = part.pointer, "every" if part.every else "any"
        wrong = list(self.place(pointer, must_exist=True))
        yield from wrong
        if STAR not in pointer.segments:
            fixed = shown(replace(pointer, segments=(*pointer.segments, STAR)))
            yield _error(
                "G303", f"`{word} {shown(pointer)}` has no `*`", pointer.span, f"write `{word} {fixed}`"
            )
        elif not wrong:
            array = replace(pointer, segments=pointer.segments[: pointer.segments.index(STAR)])
            types = self.types(array)
            if types is not None and "array" not in types:
                yield _warning("G310", f"`{shown(array)}` is no array in the tool's schema", pointer.span)
        yield from replace(self, base=self.absolute(pointer) or ()).condition(part.body)

    def truth(self, term: Term, span: Span) -> Iterator[Diagnostic]:
        if isinstance(term, Pointer):
            yield from self.single(term, None, "== true", must_exist=True)
        else:
            yield from self.term(term)
        types = self.types(term)
        if (
            types is not None
            and "boolean" not in types
            and not (isinstance(term, Pointer) and self.effect is None)
        ):
            message = f"`{shown(term)}` is {kinds(types)}, which is neither true nor false"
            yield _warning("G310", message, span, "compare it with something")

    # Tests ------------------------------------------------------------------------------------

    def test(self, test: Test) -> Iterator[Diagnostic]:
        word = "not " + test.operator if test.negated else test.operator
        tail = f"{word} {shown(test.right)}"
        if isinstance(test.left, Pointer):
            yield from self.single(test.left, None, tail, must_exist=True)
        elif not isinstance(test.left, Item):
            yield from self.term(test.left, tail)
        right = list(self.right(test))
        yield from right
        if not right:
            yield from self.contradiction(test)

    def right(self, test: Test) -> Iterator[Diagnostic]:
        name, right = test.operator, test.right
        if name not in OPERATORS:
            near = nearest(name, OPERATORS)
            help = (
                f"did you mean `{near}`?"
                if near
                else f"there are {', '.join(f'`{each}`' for each in OPERATORS)}"
            )
            yield _error("G312", f"unknown test `{name}`", test.span, help)
        elif name == "is":
            yield from _type_name(right)
        elif isinstance(right, Pointer) and (
            name in TEXTUAL or (name == "contains" and not isinstance(test.left, Word))
        ):
            yield _error(
                "G309" if name == "under" else "G313",
                f"a selector after `{name}`, which takes a text",
                right.span,
                f"write `{name} {json.dumps(shown(right), ensure_ascii=False)}`",
            )
        elif name == "in":
            yield from self.term(right)
            if type(self.value(right)) is not list and not self.unnamed(right):
                yield _error("G307", "`in` takes a list", right.span, _list_help(test.left, right))
        elif name in TEXTUAL:
            yield from self.term(right)
            if not self.unnamed(right):
                yield from self.textual(test)
        else:
            yield from self.term(right)

    def textual(self, test: Test) -> Iterator[Diagnostic]:
        """Of a test whose right side is a text, and for all but two one that is known by now."""
        name, right, value = test.operator, test.right, self.value(test.right)
        if type(value) is not str:
            if value is None and is_context(right) and name in ("starts-with", "ends-with"):
                return
            code = "G309" if name == "under" else "G313"
            what = f"`{right.text}` is no text" if isinstance(right, Word) and right.text in self.lets else ""
            message = what or f"`{name}` takes a text, or a name that `let` gives to one"
            yield _error(code, message, right.span, f'write `{name} "..."`')
        elif name == "under":
            yield from _prefix(value, right.span)
        elif name in PATTERNS:
            try:
                compile_regex(value)
            except ValueError as error:
                yield _error("G308", str(error), right.span, "patterns are RE2, which runs in linear time")
                return
            if name == "matches" and self.effect == "allow" and not is_anchored(value):
                message = (
                    "this pattern is not anchored at both ends, so it allows every text that contains a match"
                )
                yield _warning("G311", message, right.span, f"write `fullmatches {shown(right)}`")

    def contradiction(self, test: Test) -> Iterator[Diagnostic]:
        """A test that types decide, whatever the call is."""
        if self.effect is None and any(isinstance(side, Pointer | Item) for side in (test.left, test.right)):
            return
        left, name = self.types(test.left), test.operator
        if left is None or name == "is":
            return
        subject = "the item" if isinstance(test.left, Item) else f"`{shown(test.left)}`"
        right = self.types(test.right)
        if name in TEXTUAL or name == "contains":
            fit = left & ({"string", "array"} if name == "contains" else {"string"})
            needs = "text or an array" if name == "contains" else "text"
            message = "" if fit else f"`{name}` needs {needs}, and {subject} is {kinds(left)}"
        elif name == "in":
            items = self.value(test.right)
            fits = isinstance(items, list) and any(left & types_of(item) for item in items)
            message = (
                "" if fits else f"nothing in this list is ever equal to {subject}, which is {kinds(left)}"
            )
        elif right is None:
            return
        elif name in ORDERS:
            fits = bool(left & NUMERIC and right & NUMERIC) or "string" in left & right
            message = "" if fits else f"`{name}` has no answer between {kinds(left)} and {kinds(right)}"
        else:
            message = "" if left & right else f"{subject} is {kinds(left)}, never {kinds(right)}"
        if message:
            yield _warning("G310", message, test.span)

    # Terms ------------------------------------------------------------------------------------

    def term(self, term: Term, tail: str = "...") -> Iterator[Diagnostic]:
        match term:
            case Pointer():
                yield from self.single(term, None, tail, must_exist=True)
            case Word(text):
                if self.unnamed(term):
                    yield self.unknown(text, term.span)
            case Function():
                yield from self.function(term, tail)

    def function(self, term: Function, tail: str) -> Iterator[Diagnostic]:
        name = term.name.text
        if name not in FUNCTIONS:
            near = nearest(name, FUNCTIONS)
            every = ", ".join(f"`{each}`" for each in FUNCTIONS)
            help = f"did you mean `{FUNCTIONS[near]}`?" if near else f"there are {every}"
            yield _error("G305", f"unknown function `{name}`", term.name.span, help)
            return
        match name, term.arguments:
            case "count" | "length", (Pointer() as place,):
                yield from self.single(place, lambda below: f"({name}({below}) {tail})", must_exist=True)
            case "runs", (Pointer() as place, Text() as program):
                form = f"{name}({{}}, {shown(program)})"
                yield from self.single(place, lambda below: f"({form.format(below)})", must_exist=True)
            case "turn.calls", (Word() | Text(),):
                pass
            case _:
                yield _error(
                    "G305", f"`{name}` takes other arguments", term.span, f"write `{FUNCTIONS[name]}`"
                )

    def unnamed(self, term: Term) -> bool:
        if not isinstance(term, Word) or term.text in WORDS or term.text in self.lets:
            return False
        return not is_context(term)

    def unknown(self, name: str, span: Span) -> Diagnostic:
        if name in FUNCTIONS:
            return _error("G305", f"`{name}` takes arguments", span, f"write `{FUNCTIONS[name]}`")
        if name in ("context", "turn", "result"):
            wanted = (
                "context.role" if name == "context" else " or ".join(w for w in WORDS if w.startswith(name))
            )
            return _error("G304", f"`{name}` alone is no value", span, f"write `{wanted}`")
        near = nearest(name, [*WORDS, *self.lets])
        help = (
            f"did you mean `{near}`?"
            if near
            else f'a text is `"{name}"`, what the host gives `context.{name}`'
        )
        return _error("G304", f"unknown name `{name}`", span, help)

    # Places -----------------------------------------------------------------------------------

    def single(
        self, pointer: Pointer, body: Callable[[str], str] | None, tail: str = "", *, must_exist: bool = False
    ) -> Iterator[Diagnostic]:
        """A selector where one place is meant. `body` or `tail` spells the test for the proposals."""
        yield from self.place(pointer, must_exist=must_exist)
        if STAR not in pointer.segments:
            return
        many, test = pointer, tail
        if body is not None:
            last = max(at for at, segment in enumerate(pointer.segments) if segment is STAR)
            below = pointer.segments[last + 1 :]
            many = replace(pointer, segments=pointer.segments[: last + 1])
            test = body(shown(Pointer(below, True))) if below else "(...)"
        help = " or ".join(f"`{word} {shown(many)} {test}`" for word in ("any", "every"))
        yield _error("G301", f"`{shown(pointer)}` is many places", pointer.span, f"write {help}")

    def place(self, pointer: Pointer, *, must_exist: bool) -> Iterator[Diagnostic]:
        """A selector must have something to be relative to, and where one is known fit the schema."""
        segments = self.absolute(pointer)
        if segments is None:
            message = f"`{shown(pointer)}` is relative to an item, and no `any` or `every` is around it"
            yield _error("G302", message, pointer.span, f"write `{shown(replace(pointer, relative=False))}`")
            return
        if self.declares is None or not must_exist:
            return
        for end in range(1, len(segments) + 1):
            known = True if segments[end - 1] is STAR else self.declares(Pointer(segments[:end]))
            if known is True:
                continue
            help = f"did you mean `{known}`?" if known else ""
            kind = _warning if self.effect is None else _error
            yield kind("G104", f"no field `{segments[end - 1]}` in the tool's schema", pointer.span, help)
            return

    def absolute(self, pointer: Pointer) -> tuple[Segment, ...] | None:
        if not pointer.relative:
            return pointer.segments
        return None if self.base is None else (*self.base, *pointer.segments)

    # Types ------------------------------------------------------------------------------------

    def types(self, term: Term | Item) -> frozenset[str] | None:
        """The JSON types that a term can have, with `integer` beside each `number`; None: any."""
        match term:
            case Pointer() | Item():
                segments = self.absolute(term) if isinstance(term, Pointer) else self.base
                if segments is None or self.place_types is None:
                    return None
                types = self.place_types(Pointer(segments))
                return types | {"integer"} if types is not None and "number" in types else types
            case Function(name):
                return {"count": frozenset({"integer"}), "length": frozenset({"integer"})}.get(name.text)
            case Word(text):
                if text in WORDS:
                    return type_of_word(text)
                return types_of(self.lets[text]) if text in self.lets else None
            case Text() | Literal():
                return types_of(term.value)

    def value(self, term: Term) -> Json:
        """What is known of a term before any call, else None."""
        if isinstance(term, Word):
            return None if term.text in WORDS or is_context(term) else self.lets.get(term.text)
        return term.value if isinstance(term, Text | Literal) else None


def _list_help(left: Term | Item, right: Term) -> str:
    if isinstance(right, Text):
        return f"write `in [{shown(right)}]`"
    if not isinstance(left, Item) and (is_context(right) or isinstance(right, Pointer)):
        if not (isinstance(left, Pointer) and isinstance(right, Pointer)):
            return f"write `{shown(right)} contains {shown(left)}`"
    return "write `in [...]`"


def _type_name(right: Term) -> Iterator[Diagnostic]:
    if isinstance(right, Literal) and right.value is None:
        return
    if isinstance(right, Word) and right.text in TYPES:
        return
    name = right.value if isinstance(right, Text) else right.text if isinstance(right, Word) else ""
    near = nearest(
        {"bool": "boolean", "list": "array", "dict": "object", "text": "string"}.get(name, name), TYPES
    )
    help = f"write `is {near}`" if near else f"there are {', '.join(f'`{each}`' for each in TYPES)}"
    yield _error("G306", f"`{shown(right)}` is no type", right.span, help)


def _prefix(text: str, span: Span) -> Iterator[Diagnostic]:
    if text.startswith("//"):
        single = "/" + text.lstrip("/")
        message = f"`{text}` reads as `{single}`"
        yield _warning("G309", message, span, f"write `{single}`, or a share as `'\\\\server\\share'`")
    elif fold(text, Folded("", "/")) is None:
        yield _error(
            "G309", f"nothing is certain to be under `{text}`", span, "write a plain path, best a whole one"
        )
