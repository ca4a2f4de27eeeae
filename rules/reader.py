"""The second pass: a statement of a tool block becomes a rule, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cerberus import Validator
from cerberus.errors import REQUIRED_FIELD

from ..grammar.ast import Atom, Literal, Pointer, Range, Statement, Text, Word
from ..grammar.diagnostics import Diagnostic, Severity, nearest
from ..grammar.span import Span
from . import faults
from .fitting import check_suffixes, items_and_block
from .kind import Kind, Phase, Place, Selecting, Spec, Title
from .shapes import Group, selector

_ALL = frozenset({"shadow", "for", "when", "note", "named"})
# Before there are arguments, or where nothing runs, a condition would be passed over in silence.
_UNCONDITIONAL = (Phase.NAME, Phase.SETTING)


def read_rule(
    statement: Statement, kinds: Mapping[str, type[Kind]], *, in_glob: bool = False, file: str = "<text>"
) -> tuple[Spec | None, list[Diagnostic]]:
    """Read one rule by what its kind declares; None where it has errors, or no known kind.

    `in_glob`: it stands in a block with a glob. An unknown kind is a warning, which the caller may
    raise to an error; near to a permission it is an error here.
    """
    kind = kinds.get(statement.word.text)
    if kind is None:
        return None, [faults.unknown_kind(statement, kinds, file)]
    reading = _Reading(statement, kind, file)
    spec = reading.spec(in_glob)
    found = reading.found
    if kind.needs_families and not statement.families:
        help_ = "name the models that do this: `for FAMILY, …`"
        message = f"without `for` this `{kind.keyword}` never fires"
        found.append(Diagnostic("G208", message, statement.span, Severity.WARNING, help_, file))
    if not kind.in_force:
        found.append(faults.not_in_force(statement, file))
    failed = any(fault.severity is Severity.ERROR for fault in found)
    return (None if failed else spec), found


def check_rule(kind: type[Kind], spec: Spec, place: Place | None, file: str = "<text>") -> list[Diagnostic]:
    """What the kind itself finds wrong with a rule, at the place that its schema gives (None: unknown)."""
    return [
        Diagnostic(
            finding.code,
            finding.message,
            finding.span or spec.span,
            Severity.WARNING if finding.warning else Severity.ERROR,
            finding.help,
            file,
        )
        for finding in kind.check(spec, place)
    ]


def usage(kind: type[Kind]) -> str:
    """How a rule of the kind is written, without its suffixes."""
    parts = [kind.keyword]
    if kind.title is not Title.NONE:
        parts.append('"TITLE"' if kind.title is Title.REQUIRED else '["WHY"]')
    if kind.selecting is not Selecting.NONE:
        parts.append("SELECTOR" if kind.selecting is Selecting.ONE else "SELECTOR, …")
    for name, rules in kind.clauses.items():
        shown = clause_usage(name, rules)
        parts.append(shown if rules.get("required") else f"[{shown}]")
    if kind.block is not None:
        parts.append("{ … }")
    return " ".join(parts)


def clause_usage(name: str, rules: Mapping[str, Any]) -> str:
    """How one clause is written."""
    if rules.get("type") == "boolean":
        return name
    allowed = rules.get("allowed")
    value = "|".join(allowed) if allowed else "VALUE"
    if _reads_range(rules):
        value = "LOW..HIGH"
    if rules.get("type") == "list":
        value = "NAME, …"
    return value if _positional(rules) else f"{name} {value}"


def _positional(rules: Mapping[str, Any]) -> bool:
    return bool(rules.get("meta", {}).get("positional"))


def _reads_range(rules: Mapping[str, Any]) -> bool:
    return bool(rules.get("meta", {}).get("reads") == "range")


class _Reading:
    """One rule while it is read: where the reader stands, and what it found."""

    def __init__(self, statement: Statement, kind: type[Kind], file: str) -> None:
        self.statement = statement
        self.kind = kind
        self.file = file
        self.items, self.block = items_and_block(statement, kind.block is not None)
        self.at = 0
        self.found: list[Diagnostic] = []

    def fault(self, code: str, message: str, span: Span, help_: str = "") -> None:
        self.found.append(Diagnostic(code, message, span, help=help_, file=self.file))

    def peek(self) -> Group | None:
        return self.items[self.at] if self.at < len(self.items) else None

    def spec(self, in_glob: bool) -> Spec:
        statement, kind = self.statement, self.kind
        title = self.title()
        selectors = self.selectors()
        clauses = self.clauses()
        allowed = _ALL - {"when", "shadow"} if kind.phase in _UNCONDITIONAL else _ALL
        self.found += check_suffixes(statement, allowed, self.file)
        if kind.block is None and self.block is not None:
            self.found.append(faults.unwanted_block(statement, self.file))
        name = statement.name
        return Spec(
            keyword=kind.keyword,
            title=title,
            selectors=selectors,
            clauses=clauses,
            block=self.block,
            families=statement.families,
            condition=statement.condition,
            unless=statement.unless,
            note=None if statement.note is None else statement.note.value,
            name=None if name is None else name.value if isinstance(name, Text) else name.text,
            shadow=statement.shadow,
            span=statement.span,
            in_glob=in_glob,
        )

    def title(self) -> str | None:
        group = self.peek()
        if self.kind.title is Title.NONE:
            return None
        if group is not None and len(group) == 1 and isinstance(group[0], Text) and not self.is_selector():
            self.at += 1
            if not group[0].value and self.kind.title is Title.REQUIRED:
                self.fault("G206", f"the title of `{self.kind.keyword}` is empty", group[0].span)
            return group[0].value
        if self.kind.title is Title.REQUIRED:
            span = group[0].span if group else self.statement.word.span
            self.fault(
                "G206",
                f"`{self.kind.keyword}` needs a quoted title first",
                span,
                f"it is written `{usage(self.kind)}`",
            )
        return None

    def is_selector(self) -> bool:
        """Is the one text in front the selector, and the title that must stand before it missing?"""
        if self.kind.title is not Title.REQUIRED or self.kind.selecting is Selecting.NONE:
            return False
        after = self.items[self.at + 1 : self.at + 2]
        followed = bool(after) and isinstance(after[0][0], Pointer | Text)
        return not followed and selector(self.items[self.at][0]) is not None

    def selectors(self) -> tuple[Pointer, ...]:
        keyword, selecting = self.kind.keyword, self.kind.selecting
        group = self.peek()
        if selecting is Selecting.NONE:
            if group is not None and isinstance(group[0], Pointer):
                self.at += 1
                self.fault("G203", f"`{keyword}` takes no selector", group[0].span, "test it with `when`")
            return ()
        if group is None or not isinstance(group[0], Pointer | Text):
            span = group[0].span if group else self.statement.word.span
            self.fault(
                "G203", f"`{keyword}` needs a selector", span, 'write `/field`, or `""` for the whole value'
            )
            return ()
        self.at += 1
        if selecting is Selecting.ONE and len(group) > 1:
            self.fault("G203", f"`{keyword}` takes one selector", group[1].span, "write one rule for each")
        found = []
        for atom in group:
            pointer = selector(atom)
            if pointer is None:
                help_ = 'a quoted selector is "" or begins with `/`; in it `~` is `~0`'
                self.fault("G203", f"`{keyword}` needs a selector here", atom.span, help_)
            elif pointer.relative:
                self.fault("G203", "`./` has no meaning outside `any` and `every`", atom.span, "write `/`")
            else:
                found.append(pointer)
        return tuple(found)

    def clauses(self) -> Mapping[str, Any]:
        schemas = self.kind.clauses
        by_position = {name: rules for name, rules in schemas.items() if _positional(rules)}
        waiting = list(by_position)
        by_word = {name: rules for name, rules in schemas.items() if not _positional(rules)}
        values: dict[str, Any] = {}
        spans: dict[str, Span] = {}
        guessed: set[str] = set()  # clauses that a misspelt word or a missing value stands for
        while (group := self.peek()) is not None:
            self.at += 1
            head = group[0]
            word = head.text if isinstance(head, Word) and len(group) == 1 else None
            if word is not None and word in by_word:
                value = self.clause_value(word, by_word[word], head.span)
                if word in values or word in guessed:
                    self.fault("G202", f"`{word}` stands twice", head.span, "join them, or leave one out")
                elif value is _NOTHING:
                    guessed.add(word)
                else:
                    values[word] = value
                    spans[word] = head.span if value is True else self.items[self.at - 1][0].span
            elif waiting:
                name = waiting.pop(0)
                if len(group) > 1:
                    self.fault(
                        "G207", f"`{self.kind.keyword}` takes one value", group[1].span, "leave it out"
                    )
                if by_position[name].get("meta", {}).get("reads") == "json" and word is not None:
                    self.fault("G205", f"`{word[:64]}` is no JSON value", head.span, "put a text in quotes")
                    guessed.add(name)
                else:
                    values[name] = _value(head)
                    spans[name] = head.span
            elif word is None:
                help_ = f"it is written `{usage(self.kind)}`"
                self.fault("G207", f"`{self.kind.keyword}` takes nothing more here", head.span, help_)
            else:
                guessed |= self.unknown_clause(word, by_word, head.span)
        self.validate(values, spans, guessed)
        return values

    def unknown_clause(self, word: str, known: Mapping[str, Any], span: Span) -> set[str]:
        """Say so, and pass over what may be its value; the clause that was probably meant."""
        near = nearest(word, known)
        if near is not None:
            help_ = f"did you mean `{near}`?"
        elif known:
            help_ = "its clauses are " + ", ".join(f"`{name}`" for name in known)
        else:
            help_ = f"`{self.kind.keyword}` has no clauses"
        self.fault("G201", f"`{self.kind.keyword}` has no clause `{word[:64]}`", span, help_)
        # The next group is probably its value: one mistake is one diagnostic.
        group = self.peek()
        flag = near is not None and known[near].get("type") == "boolean"
        if group is not None and not flag and not (isinstance(group[0], Word) and group[0].text in known):
            self.at += 1
        return {near} if near is not None else set()

    def clause_value(self, name: str, rules: Mapping[str, Any], span: Span) -> Any:
        if rules.get("type") == "boolean":
            return True
        group = self.peek()
        if group is None:
            self.fault(
                "G205", f"`{name}` needs a value", span, f"it is written `{clause_usage(name, rules)}`"
            )
            return _NOTHING
        self.at += 1
        if rules.get("type") == "list":
            return [_value(atom) for atom in group]
        if len(group) > 1:
            self.fault("G205", f"`{name}` takes one value", group[1].span, "leave the others out")
        if _reads_range(rules) and not isinstance(group[0], Range):
            self.fault(
                "G205", f"`{name}` takes a range", group[0].span, "write `LOW..HIGH`, both ends included"
            )
            return _NOTHING
        return _value(group[0])

    def validate(self, values: dict[str, Any], spans: Mapping[str, Span], guessed: set[str]) -> None:
        """Let Cerberus judge and normalise the values, and put each of its errors where it belongs."""
        schemas = self.kind.clauses
        if not schemas:
            return
        validator = Validator(schemas)
        if validator.validate(values):
            values.update(validator.document)
            return
        for name, messages in validator.errors.items():
            rules = schemas.get(name, {})
            if REQUIRED_FIELD in (validator.document_error_tree[name] or ()):
                if name not in guessed:
                    message = f"`{self.kind.keyword}` needs `{clause_usage(name, rules)}`"
                    self.fault(
                        "G204", message, self.statement.word.span, f"it is written `{usage(self.kind)}`"
                    )
                continue
            allowed = rules.get("allowed") or rules.get("schema", {}).get("allowed")
            help_ = f"it takes {', '.join(f'`{word}`' for word in allowed)}" if allowed else ""
            text = "; ".join(_flat(messages))[:200]
            self.fault("G205", f"`{name}`: {text}", spans.get(name, self.statement.span), help_)


class _Nothing:
    """No value could be read."""


_NOTHING = _Nothing()


def _value(atom: Atom) -> Any:
    """What a clause gets for one atom: text for a word, a text, a date; the value of JSON; else the node."""
    if isinstance(atom, Word):
        return atom.text
    if isinstance(atom, Text | Literal):
        return atom.value
    return atom if isinstance(atom, Range | Pointer) else atom.text


def _flat(messages: list[Any]) -> list[str]:
    """Cerberus nests the errors of list items: all of their texts."""
    found: list[str] = []
    for message in messages:
        if isinstance(message, dict):
            for inner in message.values():
                found += _flat(inner)
        else:
            found.append(str(message))
    return found
