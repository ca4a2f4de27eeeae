"""What a call names, what it writes, and what its result shows of it.

Source: `docs/grounding.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from ..grammar.ast import Json
from .paths import Folded
from .relevance import LONGEST_PATH, composed, short_key
from .talk import names_only, tail

PATHS = frozenset(
    {
        *("path", "paths", "file", "files", "file_path", "filePath", "filepath", "filename", "file_name"),
        *("fileName", "target", "targets", "target_file", "targetFile", "target_path", "notebook_path"),
        *("destination", "dest", "dst", "to", "to_path", "new_path", "newPath", "old_path", "source", "src"),
        *("directory", "dir", "folder", "uri", "AbsolutePath", "TargetFile", "absolute_path", "absolutePath"),
        *("relative_path", "relativePath", "output_path", "outputPath", "output_file", "outputFile"),
    }
)
_WHOLE = frozenset({"content", "contents", "file_text", "fileText", "CodeContent"})
_PARTLY = frozenset({"mode", "append", "operation", "action", "position"})  # beside them it may be a part
_PARTS = frozenset(
    {
        *("new_string", "newString", "new_str", "newText", "new_text", "insert_text", "replacement"),
        *("new_source", "text"),
    }
)
_EVERY = ("replace_all", "replaceAll", "allow_multiple")
_GONE = frozenset({"old_string", "oldString", "old_str", "oldText", "old_text"})
_TEXTS = _WHOLE | _PARTS | _GONE
# What holds what is written, also as an object.
HELD = _TEXTS | {
    *("data", "document", "value", "values", "vars", "variables", "fields", "properties"),
    *("set", "changes", "update", "updates", "patch"),
}
LINES = 16  # pieces of what was written that are kept of a target
PIECE = 48  # bytes of a piece, as JSON
_WRITABLE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*+")
_DEEPEST = 64
LEAVES = 4096
_HIT = re.compile(r"^((?:[A-Za-z]:)?[^:\s][^:\n]{0,4095}+):([0-9]+:[^\n]*)$", re.MULTILINE)
# What a search says without a line: how much was found, or how it counted.
_COUNTED = re.compile(
    r"(?:found|showing|total|results?|match(?:es)?|occurrences?|count)\b[ :]*+(?:no|[0-9]+)\b.*"
    r"|no\b.*\bfound\b.*|(?:[0-9]+ ?)?(?:match(?:es)?|results?|files?|occurrences?|lines?)?[.:]?"
    r"|files_with_matches|</?workspace_result\b[^>]*+>|\[showing results with pagination\b.*"
    r"|matching files:|\W+",
    re.IGNORECASE,
)
# A name as a search gives it, with how often something was found there.
_NAMED = re.compile(
    r"(?:(?:file|path): |[#*-]+ )?[`\"']?(.+?)[`\"']?(?:(?::| \() ?[0-9]+(?: match(?:es)?)?\)?)?:?",
    re.IGNORECASE,
)
_LEAST = 4  # characters
_ADDRESS = re.compile(r"[@\s]")
_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.*\S)\s*$")


class Written(Struct, frozen=True):
    """One target of a call: its name, the pieces that it writes there, as far as it says so, and those that
    it takes away; `whole`: what was there before is replaced. `lines`: what is taken away are whole lines,
    `every`: wherever it stands. `place`: on which machine, or in which state of its files; "" is here.
    `left`: it is only `made` or marked, so its text stays, or it is `gone`; "" is another text."""

    name: str
    pieces: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    whole: bool = False
    lines: bool = False
    every: bool = False
    place: str = ""
    left: str = ""

    def key(self, cwd: Folded) -> str:
        """The same for all spellings of the name at one place."""
        return short_key(self.name, cwd, self.place)


def scalars(value: Any, *, keys: bool = False) -> Iterator[Any]:
    """What is no array and no object in a value, in order, some thousand at most. `keys`: of objects, too."""
    todo: list[Any] = [value]
    left = LEAVES
    while todo and left:
        here = todo.pop()
        left -= 1
        if type(here) is dict:
            if keys:
                yield from here
            todo.extend(reversed(here.values()))
        elif type(here) is list:
            todo.extend(reversed(here))
        else:
            yield here


def spelled(scalar: Any) -> str | None:
    """A text or a number as text; None for what is neither, or too long a number."""
    if type(scalar) is str:
        return scalar
    if type(scalar) is float or (type(scalar) is int and scalar.bit_length() < 128):
        return str(scalar)
    return None


def leaves(value: Any) -> Iterator[str]:
    """The texts and numbers in a value, in order; at most some thousand."""
    return (text for each in scalars(value) if (text := spelled(each)) is not None)


def targets(arguments: Json) -> tuple[str, ...]:
    """What a call names as its objects: the text itself, the items of a list, or the path-like fields."""
    return tuple(dict.fromkeys(each.name for each in written(arguments)))


def written(arguments: Json) -> tuple[Written, ...]:
    """The targets of a call, each with what the call writes there. Iterative, linear."""
    if type(arguments) is str:
        return (Written(composed(arguments)),) if arguments.strip() else ()
    if type(arguments) is list:
        return tuple(Written(composed(each)) for each in arguments if type(each) is str and each.strip())
    found: dict[str, _Found] = {}
    if type(arguments) is dict:
        todo: list[tuple[dict[str, Any], int]] = [(arguments, 0)]
        while todo:
            here, depth = todo.pop()
            named = dict.fromkeys(composed(each) for each in _names(here) if each.strip())
            for name, texts in _patched(here):
                known = found.setdefault(composed(name), _Found())
                known.add(*_pieces(texts))
            texts, below = _texts(here)
            pieces, gone = _pieces(texts) if named else ((), ())
            for name in named:
                known = found.setdefault(name, _Found())
                known.add(pieces, gone)
                known.whole = known.whole or (bool(pieces) and not gone and _is_whole(here))
                known.lines = known.lines or any(key in _GONE and "\n" in text.strip() for key, text in texts)
                known.every = known.every or any(here.get(key) is True for key in _EVERY)
            if depth < _DEEPEST:
                todo.extend((each, depth + 1) for each in reversed(below))
    return tuple(
        Written(name, sample(each.pieces, LINES), tuple(each.gone), each.whole, each.lines, each.every)
        for name, each in found.items()
    )


class _Found:
    """What is gathered of a target."""

    __slots__ = ("every", "gone", "lines", "pieces", "whole")

    def __init__(self) -> None:
        self.pieces: dict[str, None] = {}
        self.gone: dict[str, None] = {}
        self.whole = self.lines = self.every = False

    def add(self, pieces: Iterable[str], gone: Iterable[str]) -> None:
        self.pieces.update(dict.fromkeys(pieces))
        self.gone.update(dict.fromkeys(gone))


def _patched(node: dict[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The files of a patch between `*** Begin Patch` and `*** End Patch`, with the lines of each."""
    for key, value in node.items():
        if type(value) is not str or key in _TEXTS or _PATCH not in value:
            continue
        name, texts = "", list[tuple[str, str]]()
        for line in value[value.index(_PATCH) :].splitlines():
            found = _PATCHED.match(line)
            if found is not None:
                if name:
                    yield name, texts
                name, texts = found.group(1), []
            elif line[:1] in ("+", "-"):
                texts.append(("new_text" if line[0] == "+" else "old_text", line[1:]))
        if name:
            yield name, texts


def _is_whole(node: dict[str, Any]) -> bool:
    """Does it replace what was there? Not where it says at which line, or how."""
    if "file_text" in node:
        return True
    return not _WHOLE.isdisjoint(node) and not any(
        type(value) is int or key in _PARTLY for key, value in node.items()
    )


def _names(node: dict[str, Any]) -> Iterator[str]:
    for key, value in node.items():
        if key in PATHS and type(value) is str:
            if key != "to" or _ADDRESS.search(value) is None:
                yield unquote(value[7:]) if value.startswith("file:///") else value
        elif key in PATHS and type(value) is list:
            yield from (each for each in value if type(each) is str)


def _texts(node: dict[str, Any]) -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
    """The texts that a node writes or takes away, with what lies in it without names of its own; and the
    nodes in it that have names."""
    texts: list[tuple[str, str]] = []
    below: list[dict[str, Any]] = []
    todo: list[Any] = [node]
    while todo:
        here = todo.pop()
        for key, value in here.items():
            if type(value) is str and key in _TEXTS:
                texts.append((key, value))
            elif type(value) is list and key in _TEXTS and all(type(each) is str for each in value):
                texts.append((key, "\n".join(value)))
            inside = value if type(value) is list else [value]
            for each in inside:
                if type(each) is dict:
                    (below if any(True for _ in _names(each)) else todo).append(each)
    return texts, below


def _pieces(texts: list[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is written and was not there, and what was there and is not written again."""
    new = dict.fromkeys(line for key, text in texts if key not in _GONE for line in _lines(text))
    old = dict.fromkeys(line for key, text in texts if key in _GONE for line in _lines(text))
    pieces = [each for each in new if each not in old] or list(new)
    return sample(pieces, LINES), tuple(each for each in old if each not in new)


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        found = _WRITABLE.match(line.strip()[:PIECE])
        piece = fit(found.group() if found is not None else "", PIECE)
        if piece.strip():
            yield piece


def fit(text: str, most: int) -> str:
    """The beginning of a text that takes at most so many bytes as JSON."""
    while size_of(text) > most:
        text = text[: -max(1, (size_of(text) - most) // 4)]
    return text


def size_of(text: str) -> int:
    """The bytes that a text without control characters takes as JSON, without its quotes."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size + text.count('"') + text.count("\\") + text.count("\t")


def sample(pieces: Iterable[str], most: int) -> tuple[str, ...]:
    """Some of the pieces, evenly chosen, the first and the last among them."""
    different = list(dict.fromkeys(pieces))
    if len(different) <= most:
        return tuple(different)
    if most < 2:
        return tuple(different[-1:] if most else ())
    last = len(different) - 1
    return tuple(different[round(at * last / (most - 1))] for at in range(most))


def joined(known: tuple[str, ...], one: Written, most: int) -> tuple[str, ...]:
    """What has to be shown after another change: what it writes, and what was there and still is.

    A piece of which a part was replaced is another one now, where it is known which.
    """
    kept: list[str] = []
    if not one.whole and len(one.gone) == len(one.pieces) == 1:
        kept = _swapped(known, one)
    elif not one.whole:
        kept = [each for each in known if not any(_takes(gone, each, one.lines) for gone in one.gone)]
    new = sample(one.pieces, most - min(len(kept), most // 2))
    return (*sample([each for each in kept if each not in new], most - len(new)), *new)


def _takes(gone: str, piece: str, lines: bool) -> bool:
    """Is a piece no more what it was where this was taken away? A brace alone stands in too many."""
    return gone == piece or (not lines and len(gone) >= _LEAST and _stands(gone, piece))


def _swapped(known: tuple[str, ...], one: Written) -> list[str]:
    """The pieces after one text became another: it was where it is one, or where it stands in one alone."""
    old, new = one.gone[0], one.pieces[0]
    if not one.every and old in known:
        return [new if each == old else each for each in known]
    places = sum(each.count(old) for each in known)
    if one.every or (places == 1 and not one.lines):
        return [fit(each.replace(old, new)[: 2 * PIECE], PIECE) for each in known]
    return list(known)


def hitting(gone: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """What of it was taken away from what is known."""
    kept = tuple(known)
    return tuple(each for each in gone if any(_stands(each, piece) for piece in kept))


def lines_by_name(text: str) -> dict[str, list[str]]:
    """What a search shows, with the numbers of lines, by the name at the head of each (`name:7:`)."""
    found: dict[str, list[str]] = {}
    for match in _HIT.finditer(text):
        found.setdefault(match.group(1), []).append(match.group(2))
    return found


def shows_line(text: str, names: Iterable[str], *, known: bool) -> bool:
    """Does the answer of a search show a line, and not only counts, and names of what it looked through?

    `known`: it is known what has to be seen, so that words that searches use are none of theirs alone. Beside
    them a count says what was searched for.
    """
    tails = {tail(name) for name in names}
    for line in text.splitlines():
        here = line.strip()
        if len(here) > LONGEST_PATH:
            return True
        if _COUNTED.fullmatch(here) is None and (known or not names_only(here)):
            found = _NAMED.fullmatch(here)
            if found is None or tail(found.group(1)) not in tails:
                return True
    return False


def unseen(wanted: Iterable[str], text: str) -> tuple[str, ...]:
    """Those of the pieces that do not stand in the text, each at boundaries of words."""
    return tuple(each for each in wanted if not _stands(each, text))


def _stands(piece: str, text: str) -> bool:
    return next(places(piece, text), None) is not None


def places(piece: str, text: str) -> Iterator[int]:
    """Where a piece stands in a text at boundaries of words, the first thousand times that it is there."""
    at = text.find(piece)
    if at < 0:
        return
    cut = is_cut(piece)
    tries = 0
    while at >= 0 and tries < 1_000:
        end = at + len(piece)
        before, after = text[at - 1 : at], text[end : end + 1]
        left = not (_is_word(piece[0]) and before and _is_word(before))
        right = cut or not (_is_word(piece[-1]) and after and _is_word(after))
        if left and right:
            yield at
        at = text.find(piece, at + 1)
        tries += 1


def is_cut(piece: str) -> bool:
    """May more of the line follow?"""
    return size_of(piece) > PIECE - 4


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def blocks(value: Any) -> list[Any] | None:
    """The blocks of an MCP result, or of a result that is a list of them."""
    found = value.get("content") if type(value) is dict else value
    return found if type(found) is list else None


def block_texts(value: Any) -> list[str]:
    """The texts of the blocks of an MCP result."""
    return [
        each["text"]
        for each in blocks(value) or ()
        if type(each) is dict and each.get("type") == "text" and type(each.get("text")) is str
    ]


def result_text(value: Any) -> str:
    """A result as text: the texts of an MCP result, a text itself, else all texts in it, a line for each."""
    if type(value) is str:
        return value
    texts = block_texts(value)
    if texts:
        return "\n".join(texts)
    # Without its numbers: a tool's own counts and codes show nothing.
    return "\n".join(each for each in scalars(value) if type(each) is str)


def result_key(value: Any) -> str | None:
    """What tells one result from another: its text, or its JSON with sorted keys; None where it has none."""
    if type(value) is str:
        return value
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    except Exception:  # no JSON value: nothing that could be told apart
        return None
