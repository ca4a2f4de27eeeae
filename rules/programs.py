"""What callgate knows of the programs that only read: `programs.yaml`, checked and read.

Source: `docs/shell.md`. The file is data; `engine/shellprograms.py` holds commands against it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import msgspec
import yaml
from msgspec import Struct

_ENDS = re.compile(r"(.*?)(==|=~|=|)\Z")


class _Row(Struct, frozen=True, forbid_unknown_fields=True):
    """A row as it is written; see the head of the file."""

    names: str = ""
    flags: str = ""
    values: str = ""
    attached: str = ""
    long: str = ""
    words: str = ""
    need: str = ""
    number: bool = False
    free: bool = False
    most: int = -1
    code: str = ""
    reads: int = -1
    filter: bool = False
    alone: str = ""
    changes: str = ""
    leaves: str = ""
    into: str = ""
    edits: str = ""
    more: bool = False
    runner: bool = False


class Program(Struct, frozen=True):
    """A program that only reads with these options, and with no other; it may have several names.

    `flags`, `values`, `attached`: letters of options without a value, with one, with one that is part of the
    word. `long`: long options and what follows them: "", "=" or "=~". `words`: exact words taken as options;
    with "=" a value follows. `need`: one of these must be there. `number`: `-20` is an option. `free`:
    whatever stands among its arguments, it writes nothing. `most`: how many operands it may have, -1 is any.
    `code`: which check its arguments need beside this. `reads`: at which operand its files begin, -1 where it
    has none. `filter`: without files it shows what it got from its input. `alone`: words that, with nothing
    beside them, print its version. `into`, `edits`: options whose values name what it writes to, and by which
    it changes its files. `changes`: where it changes files, which of its operands these are, and `leaves`
    what becomes of them: they are `made` or marked and their text stays, or they are `gone`. `runner`: it
    runs what it is given. `more`: it may change more than it names.
    """

    flags: frozenset[str]
    values: frozenset[str]
    attached: frozenset[str]
    long: Mapping[str, str]
    words: Mapping[str, str]
    need: frozenset[str]
    number: bool
    free: bool
    most: int
    code: str
    reads: int
    filter: bool
    alone: frozenset[str]
    changes: str
    leaves: str
    into: frozenset[str]
    edits: frozenset[str]
    more: bool
    runner: bool

    @property
    def reads_only(self) -> bool:
        """May it only read, and not just where it prints its version?"""
        return not (self.changes or self.runner or (self.alone and not self.need))


@cache
def programs() -> Mapping[str, Program]:
    """The table, by name; `git diff` and the like are names of their own."""
    text = files(__package__).joinpath("programs.yaml").read_text("utf-8")
    rows = msgspec.convert(yaml.load(text, yaml.CSafeLoader), dict[str, _Row])
    found: dict[str, Program] = {}
    for name, row in rows.items():
        program = Program(
            frozenset(row.flags),
            frozenset(row.values),
            frozenset(row.attached),
            _options(row.long),
            _options(row.words),
            frozenset(row.need.split()),
            row.number,
            row.free,
            row.most,
            row.code,
            row.reads,
            row.filter,
            frozenset(row.alone.split()),
            row.changes,
            row.leaves,
            frozenset(row.into.split()),
            frozenset(row.edits.split()),
            row.more,
            row.runner,
        )
        for each in (name, *row.names.split()):
            if each in found:
                raise ValueError(f"`{each}` stands twice in programs.yaml")
            found[each] = program
    return MappingProxyType(found)


def _options(written: str) -> Mapping[str, str]:
    """`all color=? width=` as names with what follows them."""
    cut = (_ENDS.match(each) for each in written.split())
    return MappingProxyType({found[1]: found[2] for found in cut if found is not None})
