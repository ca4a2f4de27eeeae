"""What a call names and what it writes: the targets of a change, and the lines that a later read must show.

Source: `docs/grounding.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

from ..grammar.ast import Json
from .relevance import composed

_PATHS = frozenset(
    {
        *("path", "paths", "file", "files", "file_path", "filePath", "filepath", "filename", "file_name"),
        *("fileName", "target", "targets", "target_file", "targetFile", "target_path", "notebook_path"),
        *("destination", "dest", "dst", "to", "to_path", "new_path", "newPath", "old_path", "source", "src"),
        *("directory", "dir", "folder", "uri", "AbsolutePath", "TargetFile"),
    }
)
_WRITES = frozenset(
    {
        *("content", "contents", "text", "file_text", "fileText", "new_string", "newString", "new_str"),
        *("newText", "new_text", "insert_text", "replacement", "new_source", "CodeContent"),
    }
)
_LINES = 16  # of one text that are remembered
_DEEPEST = 64
_NUMBERED = re.compile(r"\s*(?:[^\s:]{1,255}:)?[0-9]{1,9}(?:\t|→|:|\||-| {2,})?\s?")
_LEAVES = 4096


def leaves(value: Json) -> Iterator[str]:
    """The texts in a value, in order; at most some thousand."""
    todo: list[Any] = [value]
    left = _LEAVES
    while todo and left:
        here = todo.pop()
        left -= 1
        if type(here) is str:
            yield here
        elif type(here) is dict:
            todo.extend(reversed(here.values()))
        elif type(here) is list:
            todo.extend(reversed(here))
        elif here is not None and type(here) is not bool:
            yield str(here)[:64]


def targets(arguments: Json) -> tuple[str, ...]:
    """What a call names as its objects: the text itself, the items of a list, or the path-like fields."""
    found: dict[str, None] = {}
    for each in _named(arguments):
        if each.strip():
            found[composed(each.strip())] = None
    return tuple(found)


def _named(arguments: Json) -> Iterator[str]:
    if type(arguments) is str:
        yield arguments
    elif type(arguments) is list:
        yield from (each for each in arguments if type(each) is str)
    elif type(arguments) is dict:
        todo: list[tuple[Any, int]] = [(arguments, 0)]
        while todo:
            here, depth = todo.pop()
            for key, value in here.items():
                if key in _PATHS and type(value) is str:
                    yield value
                elif key in _PATHS and type(value) is list:
                    yield from (each for each in value if type(each) is str)
                inside = value if type(value) is list else [value]
                if depth < _DEEPEST:
                    todo.extend((each, depth + 1) for each in inside if type(each) is dict)


def written(arguments: Json) -> tuple[str, ...]:
    """Digests of lines that the call writes, as far as it says so; a sample of long texts."""
    if type(arguments) is not dict:
        return ()
    lines: dict[str, None] = {}
    todo: list[Any] = [arguments]
    while todo:
        here = todo.pop()
        for key, value in here.items():
            if key in _WRITES and type(value) is str:
                lines.update(dict.fromkeys(_sample(value)))
            elif type(value) is dict:
                todo.append(value)
            elif type(value) is list:
                todo.extend(each for each in value if type(each) is dict)
    return tuple(lines)[:_LINES]


def _sample(text: str) -> list[str]:
    kept = [line.strip() for line in text.splitlines() if line.strip()]
    step = max(1, len(kept) // _LINES)
    return [_digest(line) for line in kept[::step]]


def unseen(wanted: Iterable[str], text: str) -> tuple[str, ...]:
    """Those of the lines that the text does not show, numbered or not, alone on a line or within one."""
    left = set(wanted)
    if not left:
        return ()
    for line in text.splitlines():
        left.discard(_digest(line.strip()))
        left.discard(_digest(_NUMBERED.sub("", line, count=1).strip()))
        if not left:
            return ()
    return tuple(each for each in wanted if each in left)


def _digest(line: str) -> str:
    return blake2b(line.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def result_text(value: Any) -> str:
    """A result as text: the texts of an MCP result, a text itself, else JSON with sorted keys."""
    if type(value) is str:
        return value
    if type(value) is dict and type(value.get("content")) is list:
        texts = [
            each["text"]
            for each in value["content"]
            if type(each) is dict and each.get("type") == "text" and type(each.get("text")) is str
        ]
        if texts:
            return "\n".join(texts)
    if value is None:
        return ""
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return repr(type(value))
