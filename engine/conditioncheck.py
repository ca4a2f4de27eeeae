"""What is wrong with a condition, as its author can see it: every finding of one run, each with a fix."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from ..grammar.ast import (
    STAR,
    After,
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
from .conditionterms import (
    FUNCTIONS,
    NEEDS,
    NUMERIC,
    WORDS,
    Scope,
    is_context,
    kinds,
    needs_result,
    scalar_keys,
    shown,
    types_of,
    when_unknown,
)
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
    place_enum: Callable[[Pointer], tuple[Json, ...] | None] | None = None,
    results: bool = False,
) -> list[Diagnostic]:
    """Every finding about one condition, in the order in which it is written.

    `lets`: the names that `let` gives, with their values. `place_types`: the JSON types that the schema
    admits at a place, None where it does not say; `declares`: True where the schema has the place or
    does not say, False where it has not, or the text of the selector to propose; `place_enum`: the
    values that the schema lists for a place, None where it lists none. They get selectors from the
    root of the arguments, `./x` made absolute, and are None without a schema. `effect` is
    that of a permission rule (`allow`, `ask`, `deny`), else None: other rules look at arguments before
    they are mended, so there an unknown field is a warning, and a type that the schema refuses is fine.
    `present` and `missing` may ask for any field. `results`: there is a result to look at.
    """
    finder = _Finder(lets, place_types, declares, place_enum, effect, None, results)
    return [replace(found, file=file) for found in finder.condition(condition)]


def _error(code: str, message: str, span: Span, help: str = "") -> Diagnostic:
    return Diagnostic(code, message, span, Severity.ERROR, help)


def _warning(code: str, message: str, span: Span, help: str = "") -> Diagnostic:
    return Diagnostic(code, message, span, Severity.WARNING, help)


class _Finder(Scope, frozen=True):
    """Finds what is wrong, part by part."""

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
            case After():
                pass
            case Truth(term):
                yield from self.truth(term, condition.span)
            case Test():
                yield from self.test(condition)

    def quantified(self, part: Quantified) -> Iterator[Diagnostic]:
        pointer, word = part.pointer, "every" if part.every else "any"
        wrong = list(self.place(pointer, lambda many: f"write `{word} {shown(many)}`", must_exist=True))
        yield from wrong
        if STAR not in pointer.segments:
            if self.misfit(self.absolute(pointer) or ()) is not None:
                return
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
                message, help = self.misfitting(
                    right, "list", "`in` takes a list", _list_help(test.left, right)
                )
                yield _error("G307", message, right.span, help)
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
            wanted = f"`{name}` takes a text, or a name that `let` gives to one"
            message, help = self.misfitting(right, "text", wanted, f'write `{name} "..."`')
            yield _error(code, message, right.span, help)
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

    def misfitting(self, right: Term, wanted: str, message: str, help: str) -> tuple[str, str]:
        """What to say of a right side of another form, message and help: of a name, what it stands for."""
        if isinstance(right, Word) and right.text in self.lets:
            return f"`{right.text}` is no {wanted}", f"let it be a {wanted}"
        return message, help

    def contradiction(self, test: Test) -> Iterator[Diagnostic]:
        """A test that types decide, whatever the call is."""
        if self.effect is None and any(isinstance(side, Pointer | Item) for side in (test.left, test.right)):
            return
        left, name = self.types(test.left), test.operator
        if left is None:
            return
        subject = "the item" if isinstance(test.left, Item) else f"`{shown(test.left)}`"
        right = self.types(test.right)
        help = ""
        if name == "is":
            word = test.right.text if isinstance(test.right, Word) else "null"
            fits = bool(left & (NUMERIC if word == "number" else {word}))
            message = "" if fits else f"{subject} is {kinds(left)}, never {word}"
        elif name in TEXTUAL or name == "contains":
            fit = left & ({"string", "array"} if name == "contains" else {"string"})
            needs = "text or an array" if name == "contains" else "text"
            message = "" if fit else f"`{name}` needs {needs}, and {subject} is {kinds(left)}"
        elif name == "in":
            items = self.value(test.right)
            fits = isinstance(items, list) and any(left & types_of(item) for item in items)
            message = (
                "" if fits else f"nothing in this list is ever equal to {subject}, which is {kinds(left)}"
            )
            if fits and isinstance(items, list):
                message, help = self.unlisted(test.left, items)
        elif right is None:
            return
        elif name in ORDERS:
            fits = bool(left & NUMERIC and right & NUMERIC) or "string" in left & right
            message = "" if fits else f"`{name}` has no answer between {kinds(left)} and {kinds(right)}"
        else:
            message = "" if left & right else f"{subject} is {kinds(left)}, never {kinds(right)}"
            for place, other in ((test.left, test.right), (test.right, test.left)):
                value = None if isinstance(other, Item) else self.value(other)
                if not message and value is not None:
                    message, help = self.unlisted(place, [value])
        if message:
            yield _warning("G310", message, test.span, help)

    def unlisted(self, place: Term | Item, values: list[Json]) -> tuple[str, str]:
        """What to say where the schema lists the values of a place, and none of these: message and help."""
        segments = self.segments(place)
        if segments is None or self.place_enum is None:
            return "", ""
        listed = self.place_enum(Pointer(segments))
        known, wanted = (None if listed is None else scalar_keys(listed)), scalar_keys(values)
        if not listed or known is None or wanted is None or known & wanted:
            return "", ""
        subject = "the item" if isinstance(place, Item) else f"`{shown(place)}`"
        near = None
        if len(values) == 1:
            what = f"`{shown(Literal(values[0]))}` is not among the values"
            texts = [each for each in listed[:64] if isinstance(each, str)]
            near = nearest(values[0], texts) if isinstance(values[0], str) else None
        else:
            what = "none of these is among the values"
        shortened = [shown(Literal(each))[:40] for each in listed[:8]]
        every = ", ".join(f"`{each}`" for each in shortened) + (", ..." if len(listed) > 8 else "")
        help = f"did you mean `{shown(Literal(near))}`?" if near else f"it lists {every}"
        return f"{what} that the tool's schema lists for {subject}", help

    # Terms ------------------------------------------------------------------------------------

    def term(self, term: Term, tail: str = "...") -> Iterator[Diagnostic]:
        match term:
            case Pointer():
                yield from self.single(term, None, tail, must_exist=True)
            case Word(text):
                if self.unnamed(term):
                    yield self.unknown(text, term.span)
                elif needs_result(term) and not self.results:
                    yield self.no_result(text, term.span)
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
                yield from self.looks_at(term, place, lambda below: f"({name}({below}) {tail})")
            case "runs", (Pointer() as place, Text() as program):
                written = shown(program)
                yield from self.looks_at(term, place, lambda below: f"({name}({below}, {written}))")
            case "turn.calls", (Word() | Text(),):
                pass
            case _:
                help = f"write `{FUNCTIONS[name]}`"
                yield _error("G305", f"`{name}` takes other arguments", term.span, help)
                return

    def looks_at(self, term: Function, place: Pointer, body: Callable[[str], str]) -> Iterator[Diagnostic]:
        """The place that a function looks at, and whether there can be something for it."""
        wrong = list(self.single(place, body, must_exist=True))
        yield from wrong
        types, (fit, needs) = self.types(place), NEEDS[term.name.text]
        if not wrong and self.effect is not None and types is not None and not types & fit:
            message = f"`{term.name.text}` needs {needs}, and `{shown(place)}` is {kinds(types)}"
            yield _warning("G310", message, term.span)

    def no_result(self, what: str, span: Span) -> Diagnostic:
        return _warning(
            "G314",
            f"`{what}` is known in a `signal` alone, so it is always unknown here",
            span,
            when_unknown(self.effect),
        )

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
        return Diagnostic("G304", f"unknown name `{name}`", span, help=help, about=name)

    # Places -----------------------------------------------------------------------------------

    def single(
        self, pointer: Pointer, body: Callable[[str], str] | None, tail: str = "", *, must_exist: bool = False
    ) -> Iterator[Diagnostic]:
        """A selector where one place is meant. `body` or `tail` spells the test for the proposals."""

        def proposals(many: Pointer) -> str:
            test = tail
            if body is not None:
                last = max(at for at, segment in enumerate(many.segments) if segment is STAR)
                below = many.segments[last + 1 :]
                many = replace(many, segments=many.segments[: last + 1])
                test = body(shown(Pointer(below, True))) if below else "(...)"
            return "write " + " or ".join(f"`{word} {shown(many)} {test}`" for word in ("any", "every"))

        yield from self.place(pointer, proposals, must_exist=must_exist)
        if STAR in pointer.segments:
            message = f"`{shown(pointer)}` is many places"
            yield _error("G301", message, pointer.span, proposals(pointer))

    def place(
        self, pointer: Pointer, proposals: Callable[[Pointer], str], *, must_exist: bool
    ) -> Iterator[Diagnostic]:
        """A selector must have something to be relative to, and where one is known fit the schema.

        `proposals`: what to write where a `*` was forgotten, from the selector with it.
        """
        segments = self.absolute(pointer)
        if segments is None:
            message = f"`{shown(pointer)}` is relative to an item, and no `any` or `every` is around it"
            yield _error("G302", message, pointer.span, f"write `{shown(replace(pointer, relative=False))}`")
            return
        if self.declares is None or not must_exist:
            return
        misfit = self.misfit(segments)
        for end in range(1, len(segments) + 1):
            if misfit == end - 1:
                yield from self.below(pointer, segments, misfit, proposals)
                return
            known = True if segments[end - 1] is STAR else self.declares(Pointer(segments[:end]))
            if known is True:
                continue
            help = f"did you mean `{known}`?" if known else ""
            kind = _warning if self.effect is None else _error
            yield kind("G104", f"no field `{segments[end - 1]}` in the tool's schema", pointer.span, help)
            return

    def below(
        self,
        pointer: Pointer,
        segments: tuple[Segment, ...],
        end: int,
        proposals: Callable[[Pointer], str],
    ) -> Iterator[Diagnostic]:
        """Of a selector that leads below a place without such places, the first `end` of its segments."""
        own = len(segments) - len(pointer.segments)
        if end < own or self.place_types is None:
            return  # said of the `any` or `every` around it
        types = self.place_types(Pointer(segments[:end])) or frozenset()
        upper = replace(pointer, segments=pointer.segments[: end - own])
        help = ""
        if "array" in types and self.misfit((*segments[:end], STAR, *segments[end:])) is None:
            starred = (*upper.segments, STAR, *pointer.segments[end - own :])
            help = proposals(replace(pointer, segments=starred))
        message = (
            f"`{shown(upper)}` is {kinds(types)} in the tool's schema and has no field `{segments[end]}`"
        )
        yield _error("G104", message, pointer.span, help)


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
