"""Tree to canonical text: two blanks for each level, one blank between words, suffixes in one order.

`parse(print_file(tree))` is the tree again. No recursion over the tree: what is nested however deep
is printed from a list of what is still to print.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from .ast import (
    STAR,
    After,
    And,
    Atom,
    Condition,
    Day,
    File,
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
    Range,
    Segment,
    Statement,
    Test,
    Text,
    Truth,
    Word,
)
from .values import BARE_SEGMENT, can_be_raw, pattern_state

WIDTH = 110
_HANG = 4  # how much deeper the further lines of a statement are
_DEEPEST_SPREAD = 16  # levels of a long JSON value that get lines of their own
_TO_ESCAPE = re.compile('["\\\\\x00-\x1f\x7f\ud800-\udfff]')

_SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class _Break:
    """A place where a line may end: a blank, if it does not."""


_BREAK = _Break()
# A statement's head while it is put together: texts, places to break, JSON values that may be spread.
_Piece: TypeAlias = "str | _Break | Literal"
# A line, or a statement and its indentation.
_Entry: TypeAlias = "str | tuple[Statement, int]"


def print_file(file: File) -> str:
    """The canonical text of a file, with its comments; "" for an empty one."""
    lines = list(_lines(file.statements, comments=True))
    if file.comments and lines:
        lines.append("")
    lines.extend(_comment(comment) for comment in file.comments)
    return "".join(line + "\n" for line in lines)


def print_statement(statement: Statement) -> str:
    """One statement with its block, without any comment and without a line end after it."""
    return "\n".join(_lines((statement,), comments=False))


def print_condition(condition: Condition) -> str:
    """A condition on one line, as it stands after `when`."""
    return "".join(" " if isinstance(piece, _Break) else str(piece) for piece in _condition(condition))


def print_pointer(pointer: Pointer) -> str:
    """A selector as it stands in a rule: `/edits/*/text`, `./"my key"`; `""` for the root."""
    start = "." if pointer.relative else ""
    return start + "".join("/" + _segment(segment) for segment in pointer.segments) or '""'


# Lines --------------------------------------------------------------------------------------------


def _lines(statements: tuple[Statement, ...], comments: bool) -> Iterator[str]:
    """The lines of statements and of all that is in them."""
    todo: list[_Entry] = [*reversed(_siblings(statements, 0, comments))]
    while todo:
        entry = todo.pop()
        if isinstance(entry, str):
            yield entry
            continue
        statement, indent = entry
        margin = " " * indent
        if comments:
            for index, comment in enumerate(statement.comments):
                if index and index in statement.blanks:
                    yield ""
                yield margin + _comment(comment)
            if statement.comments and len(statement.comments) in statement.blanks:
                yield ""
        head, *rest = _head(statement, indent)
        yield head + (
            "  " + _comment(statement.trailing) if comments and statement.trailing is not None else ""
        )
        yield from rest
        if statement.block is not None:
            todo.append(margin + "}" + _after_block(statement))
            if comments:
                todo.extend(margin + "  " + _comment(comment) for comment in reversed(statement.closing))
            todo.extend(reversed(_siblings(statement.block, indent + 2, comments)))


def _siblings(statements: tuple[Statement, ...], indent: int, comments: bool) -> list[_Entry]:
    """The statements of one block with the empty lines between them."""
    out: list[_Entry] = []
    before: Statement | None = None
    for statement in statements:
        if before is not None and comments and _apart(before, statement, indent == 0):
            out.append("")
        out.append((statement, indent))
        before = statement
    return out


def _apart(one: Statement, two: Statement, top: bool) -> bool:
    """Is there an empty line between two statements? Where there was one, and around blocks at the top."""
    if 0 in two.blanks:
        return True
    return top and (one.block is not None or two.block is not None or bool(two.comments))


def _comment(text: str) -> str:
    return f"# {text}" if text else "#"


def _head(statement: Statement, indent: int) -> list[str]:
    """The lines of a statement, up to the `{` of its block or to its end."""
    pieces = list(_pieces(statement))
    if statement.block is not None:
        pieces.append(" {")
    line = " " * indent + "".join(_flat(piece) for piece in pieces)
    return [line] if len(line) <= WIDTH else _broken(pieces, indent)


def _flat(piece: _Piece) -> str:
    if isinstance(piece, str):
        return piece
    return " " if isinstance(piece, _Break) else _json(piece.value)


def _broken(pieces: list[_Piece], indent: int) -> list[str]:
    """A long head: as much on each line as fits, broken at the places for it."""
    lines: list[str] = []
    line = " " * indent
    at = 0
    while at < len(pieces):
        end = at + 1
        while end < len(pieces) and not isinstance(pieces[end], _Break):
            end += 1
        chunk = pieces[at:end]
        if isinstance(chunk[0], _Break):
            chunk = chunk[1:]
            width = sum(len(_flat(piece)) for piece in chunk)
            if len(line) + 1 + width > WIDTH:
                lines.append(line)
                line = " " * (indent + _HANG)
            else:
                line += " "
        for piece in chunk:
            if isinstance(piece, Literal):
                spread = _spread(piece.value, indent, len(line))
                lines.extend([line + spread[0], *spread[1:-1]] if len(spread) > 1 else [])
                line = spread[-1] if len(spread) > 1 else line + spread[0]
            else:
                line += _flat(piece)
        at = end
    return [*lines, line]


def _spread(value: Json, indent: int, column: int, level: int = 0) -> list[str]:
    """The lines of a JSON value that begins at `column` (from 0); one, where it fits."""
    flat = _json(value)
    if (
        not value
        or not isinstance(value, list | dict)
        or column + len(flat) <= WIDTH
        or level == _DEEPEST_SPREAD
    ):
        return [flat]
    margin = " " * (indent + 2)
    members: Iterable[tuple[str, Json]]
    if isinstance(value, dict):
        members = [(f"{_quoted(key)}: ", member) for key, member in value.items()]
    else:
        members = [("", member) for member in value]
    lines = [flat[0]]
    for prefix, member in members:
        first, *rest = _spread(member, indent + 2, len(margin) + len(prefix) + 1, level + 1)
        lines += [margin + prefix + first, *rest]
        lines[-1] += ","
    lines[-1] = lines[-1][:-1]
    return [*lines, " " * indent + flat[-1]]


# Parts of a statement -----------------------------------------------------------------------------


def _pieces(statement: Statement) -> Iterator[_Piece]:
    if statement.shadow:
        yield "shadow "
    yield statement.word.text
    state = pattern_state("NAME", statement.word.text, 0)
    for group in statement.items:
        yield " "
        for index, atom in enumerate(group):
            if index:
                yield ","
                yield _BREAK
                state = pattern_state("COMMA", ",", state)
            yield atom if isinstance(atom, Literal) else _atom(atom, state == 1)
            kind = {Word: "NAME", Text: "STRING"}.get(type(atom), "")
            state = pattern_state(kind, atom.text if isinstance(atom, Word) else "", state)
    if statement.families is not None:
        for index, family in enumerate(statement.families):
            yield "," if index else ""
            yield _BREAK
            yield ("" if index else "for ") + _atom(family)
    if statement.condition is not None:
        yield _BREAK
        yield "unless " if statement.unless else "when "
        yield from _condition(statement.condition)
    if statement.block is None:
        for suffix in _last_suffixes(statement):
            yield _BREAK
            yield suffix


def _last_suffixes(statement: Statement) -> Iterator[str]:
    if statement.note is not None:
        yield f"note {_text(statement.note)}"
    if statement.name is not None:
        yield f"named {_atom(statement.name)}"


def _after_block(statement: Statement) -> str:
    return "".join(" " + suffix for suffix in _last_suffixes(statement))


def _condition(condition: Condition) -> Iterator[str | _Break]:
    todo: list[str | _Break | Condition] = [condition]
    while todo:
        node = todo.pop()
        if isinstance(node, str | _Break):
            yield node
        else:
            todo.extend(reversed(_parts(node)))


def _parts(node: Condition) -> list[str | _Break | Condition]:
    """What a condition is printed as, its own parts not yet printed."""
    match node:
        case Or(parts) | And(parts):
            word = "or " if isinstance(node, Or) else "and "
            out: list[str | _Break | Condition] = []
            for index, part in enumerate(parts):
                out += [_BREAK, word, part] if index else [part]
            return out
        case Not(part):
            return ["not ", part]
        case Paren(part):
            return ["(", part, ")"]
        case Quantified(pointer, every, body):
            start = f"{'every' if every else 'any'} {print_pointer(pointer)} "
            if isinstance(body, Test) and isinstance(body.left, Item):
                return [start, _tail(body)]
            return [start, "(", body, ")"]
        case Test(left):
            return ["." if isinstance(left, Item) else _term(left), " ", _tail(node)]
        case Presence(pointer, missing):
            return [f"{'missing' if missing else 'present'} {print_pointer(pointer)}"]
        case After(tool, in_turn):
            return [f"after {_atom(tool)}{' in turn' if in_turn else ''}"]
        case Truth(term):
            return [_term(term)]


def _tail(test: Test) -> str:
    pattern = pattern_state("NAME", test.operator, 0) == 1
    negation = "not " if test.negated else ""
    return f"{negation}{test.operator} {_term(test.right, pattern)}"


def _term(term: Atom | Function, pattern: bool = False) -> str:
    if isinstance(term, Function):
        return f"{term.name.text}({', '.join(_atom(argument) for argument in term.arguments)})"
    return _atom(term, pattern)


def _atom(atom: Atom, pattern: bool = False) -> str:
    match atom:
        case Word(text) | Day(text):
            return text
        case Text():
            return _text(atom, pattern)
        case Literal(value):
            return _json(value)
        case Range(low, high):
            return f"{_json(low)}..{_json(high)}"
        case Pointer():
            return print_pointer(atom)


def _segment(segment: Segment) -> str:
    if segment is STAR:
        return "*"
    escaped = segment.replace("~", "~0").replace("/", "~1")
    return escaped if BARE_SEGMENT.fullmatch(escaped) and segment != "*" else _quoted(segment)


def _text(text: Text, pattern: bool = False) -> str:
    """Quoted as it was written, where that can be; a pattern with a backslash in single quotes."""
    value = text.value
    quoted = _quoted(value)
    if can_be_raw(value) and (text.raw or (pattern and "\\" in quoted)):
        return f"'{value}'"
    return _quoted(value, in_pattern=True) if pattern else quoted


def _quoted(value: str, in_pattern: bool = False) -> str:
    """In double quotes. After `matches` the short escapes are left out: `\\b` there is a mistake."""

    def escape(found: re.Match[str]) -> str:
        char = found[0]
        if char in '"\\':
            return "\\" + char
        return f"\\u{ord(char):04x}" if in_pattern or char not in _SHORT else _SHORT[char]

    return '"' + _TO_ESCAPE.sub(escape, value) + '"'


def _json(value: Json) -> str:
    """JSON on one line, a blank after each comma and colon."""
    out: list[str] = []
    todo: list[tuple[bool, Json]] = [(False, value)]  # is it a piece of text ready to print?
    while todo:
        ready, node = todo.pop()
        if ready:
            out.append(str(node))
        elif isinstance(node, str):
            out.append(_quoted(node))
        elif isinstance(node, dict):
            todo.append((True, "}"))
            for index, (key, member) in enumerate(reversed(node.items())):
                todo.append((False, member))
                comma = ", " if index < len(node) - 1 else ""
                todo.append((True, f"{comma}{_quoted(key)}: "))
            out.append("{")
        elif isinstance(node, list):
            todo.append((True, "]"))
            for index, member in enumerate(reversed(node)):
                todo.append((False, member))
                if index < len(node) - 1:
                    todo.append((True, ", "))
            out.append("[")
        else:
            out.append(json.dumps(node))
    return "".join(out)
