"""rename: a tool's name as models misspell it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import ClassVar, Final

from ..kind import Finding, Kind, Phase, Place, Spec
from ..regex import Regex, compile_regex

LONGEST: Final = 256  # characters of a name that is looked at


class Rename(Kind):
    """Give a call to this tool the tool's own name where a model sends another.

    The names of `from` are tried in order. In a quoted name `*` stands for any text and `?` for any one
    character. In the block of a glob, what each `*` of the name took is put in place of the `*`s of the
    block's name, in order: `tool "fs_*" { rename from "mcp__fs__*" }` makes `mcp__fs__read` `fs_read`.

    Never for a registered name, which always means itself. It stands in a block of one name.
    """

    keyword = "rename"
    phase = Phase.NAME
    clauses: ClassVar = {
        "from": {"type": "list", "required": True, "schema": {"type": "string", "empty": False}}
    }
    note = "The tool has another name. Use the names that you were given."
    cost = "nothing on calls by a registered name"

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        names = spec.clauses["from"]
        for name in names:
            if len(name) > LONGEST:
                yield Finding("G227", f"a tool's name has at most {LONGEST} characters", "shorten it")
            elif not name.strip("*"):
                yield Finding("G227", f"`{name}` fits every name", "write more than `*`")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            yield Finding("G227", f"`{twice[0]}` is listed twice", "leave one out")

    @classmethod
    def rename(cls, spec: Spec) -> Callable[[str, str], str | None] | None:
        patterns = tuple(_pattern(name) for name in spec.clauses["from"])

        def renamed(sent: str, tool: str) -> str | None:
            if len(sent) > LONGEST:
                return None
            for pattern in patterns:
                taken = pattern.captures(sent)
                if taken is not None:
                    return _fill(tool, taken)
            return None

        return renamed


def _pattern(name: str) -> Regex:
    shown = re.escape(name).replace(r"\*", "(.*?)").replace(r"\?", ".")
    return compile_regex(f"(?s){shown}")


def _fill(tool: str, taken: tuple[str, ...]) -> str | None:
    """The tool's name with what was taken in place of its `*`s; None where that gives no name."""
    parts = tool.split("*")
    if len(parts) == 1:
        return None if "?" in tool else tool
    if "?" in tool or len(parts) - 1 != len(taken):
        return None
    return parts[0] + "".join(text + part for text, part in zip(taken, parts[1:], strict=True))


KIND = Rename
