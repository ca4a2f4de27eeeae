"""Rule files as they were read: the rules that each writes, with the packs that it uses at their places."""

from __future__ import annotations

from msgspec import Struct, field

from ..grammar.ast import File, Json, Statement, Text, Word
from ..rules.grounds import GroundBlock, PresetBlock
from ..rules.kind import Kind, Spec, Title
from ..rules.palettes import PaletteBlock
from ..rules.statements import Default, Disable, Pack, Policy, Spoken, ToolBlock
from ..rules.testblock import TestCase
from .ruletext import RuleText


class Written(Struct):
    """One rule of a file with the block that it stands in."""

    kind: type[Kind]
    spec: Spec
    block: ToolBlock
    statement: Statement
    name: str = ""

    @property
    def structural_id(self) -> str | None:
        """The ID that stands before its selector, of a kind that wants one."""
        return self.spec.title if self.kind.title is Title.REQUIRED else None


class Unit(Struct):
    """One rule file, read."""

    source: RuleText
    tree: File
    top: bool
    pack: Pack | None = None
    families: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lets: dict[str, Json] = field(default_factory=dict)
    items: list[Written | Unit] = field(default_factory=list)  # in the order of the file, `use` at its place
    policies: list[Policy] = field(default_factory=list)
    default: Default | None = None
    spoken: list[Spoken] = field(default_factory=list)
    palettes: list[PaletteBlock] = field(default_factory=list)
    grounds: list[GroundBlock] = field(default_factory=list)
    presets: list[PresetBlock] = field(default_factory=list)
    disables: list[tuple[Disable, ToolBlock | None]] = field(default_factory=list)
    tests: list[tuple[TestCase, ToolBlock | None]] = field(default_factory=list)
    uses: list[Unit] = field(default_factory=list)  # wherever they count
    named_families: list[Word | Text] = field(default_factory=list)  # after `for`, at file level
    newer: bool = False  # written for versions after this one too
    requires: str | None = None  # the versions of callgate that it was written for

    @property
    def file(self) -> str:
        return self.source.file

    def rules(self, seen: set[int]) -> list[tuple[Unit, Written]]:
        """Every rule of the file and of what it uses, in order; a pack in `seen` counted already."""
        found: list[tuple[Unit, Written]] = []
        if id(self) not in seen:
            seen.add(id(self))
            for item in self.items:
                found += item.rules(seen) if isinstance(item, Unit) else [(self, item)]
        return found

    def reach(self) -> set[int]:
        """The identities of the file and of all that it uses, directly or not."""
        found: set[int] = set()
        queue = [self]
        while queue:
            unit = queue.pop()
            if id(unit) not in found:
                found.add(id(unit))
                queue += unit.uses
        return found

    def units(self) -> list[Unit]:
        """The file and what it uses, each once, in the order in which they count."""
        found: dict[int, Unit] = {}
        for item in self.items:
            if isinstance(item, Unit):
                found.update((id(unit), unit) for unit in item.units())
        found[id(self)] = self
        return list(found.values())


def all_units(tops: tuple[Unit, ...]) -> list[Unit]:
    """These files and all that they use, each once, in the order in which they count."""
    return list({id(unit): unit for top in tops for unit in top.units()}.values())


def changing_tools(unit: Unit) -> list[Word | Text]:
    """The tools that the `ground` blocks of a file list as changing things, as they are written."""
    found: list[Word | Text] = []
    for statement in unit.tree.statements:
        for inner in (statement.block or ()) if statement.word.text == "ground" else ():
            listed = [atom for group in inner.items for atom in group if isinstance(atom, Word | Text)]
            if inner.word.text == "mutates":
                found += listed
            elif inner.word.text == "shell":
                found += listed[:1]  # what follows is where its command stands
    return found


def is_glob(atom: Word | Text) -> bool:
    """Does a written tool name stand for several?"""
    return isinstance(atom, Text) and ("*" in atom.value or "?" in atom.value)


def name_text(atom: Word | Text) -> str:
    """The text of a written name."""
    return atom.text if isinstance(atom, Word) else atom.value


def rules_in_order(tops: tuple[Unit, ...]) -> list[tuple[Unit, Written]]:
    seen: set[int] = set()
    return [each for top in tops for each in top.rules(seen)]
