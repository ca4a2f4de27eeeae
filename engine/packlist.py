"""What packs there are, and what each holds: for `callgate packs`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from ..grammar.ast import File
from ..grammar.diagnostics import Severity
from ..grammar.parser import parse
from ..rules.statements import Family, Pack, Requires, read, words
from .offered import shipped_names
from .packs import Library
from .ruletext import Origin, PackError, RuleText
from .units import Unit, all_units

_NO_RULE = frozenset({"disable", "test"})  # of what stands in the block of a tool


class Listed(Struct, frozen=True):
    """One pack. `families`: their patterns by name. `requires`: the versions of callgate that it is for.

    `wrong`: why it cannot be used; then what stands before it may be empty.
    """

    name: str
    version: str
    origin: Origin
    in_force: bool
    what: str = ""
    families: Mapping[str, tuple[str, ...]] = {}
    rules: int = 0
    tests: int = 0
    requires: str | None = None
    wrong: str = ""


def list_packs(library: Library, units: Iterable[Unit]) -> list[Listed]:
    """Every pack that is named, installed or ships, and those that the compiled `units` use, each place once.

    In force are those of `units`.

    Raises:
        PackError: what is installed cannot be listed.
    """
    used = {_key(unit.source): unit for unit in all_units(tuple(units)) if unit.pack is not None}
    found: dict[tuple[str, str], Listed] = {}
    for name, text in _texts(library, used.values()):
        if isinstance(text, Listed):
            found.setdefault((text.origin.source, text.origin.path), text)
        else:
            found.setdefault(_key(text), _listed(name, text, _key(text) in used))
    return list(found.values())


def _key(text: RuleText) -> tuple[str, str]:
    return (text.origin.source, text.origin.path) if text.origin is not None else ("given", text.file)


def _texts(library: Library, used: Iterable[Unit]) -> Iterator[tuple[str, RuleText | Listed]]:
    """Every pack by the name that leads to it: as text, or already listed where it cannot be read."""
    for named in library.first:
        try:
            text = library.find(named.name, None)
        except PackError as error:
            origin = Origin("given", named.name)
            yield named.name, Listed(named.name, "", origin, False, wrong=str(error))
        else:
            if text is not None:
                yield named.name, text
    for unit in used:
        yield unit.pack.name if unit.pack is not None else "", unit.source
    for name, offers in sorted(library.installed().items()):
        for offer in offers:
            try:
                yield name, library.offered(offer)
            except PackError as error:
                yield name, Listed(name, "", offer.origin, False, wrong=str(error))
    for name in shipped_names():
        text = library.shipped(name)
        if text is not None:
            yield name, text


def _listed(name: str, text: RuleText, in_force: bool) -> Listed:
    """What a pack says of itself, and how much it holds; the rules of what it uses do not count."""
    parsed = parse(text.text, words=words, file=text.file)
    pack, requires, families = _said(parsed.file, text.file)
    inner = [
        each.word.text
        for statement in parsed.file.statements
        if statement.word.text == "tool"
        for each in statement.block or ()
    ]
    tests = sum(statement.word.text == "test" for statement in parsed.file.statements) + inner.count("test")
    failed = any(each.severity is Severity.ERROR for each in parsed.diagnostics)
    wrong = f"it has errors, which `callgate check --packs {name}` shows" if failed else ""
    if pack is not None and pack.name != name:
        wrong = f"it calls itself `{pack.name}`"
    return Listed(
        name,
        pack.version if pack is not None else "",
        text.origin or Origin("given", text.file),
        in_force,
        pack.what if pack is not None else "",
        families,
        sum(word not in _NO_RULE for word in inner),
        tests,
        requires,
        wrong,
    )


def _said(tree: File, file: str) -> tuple[Pack | None, str | None, dict[str, tuple[str, ...]]]:
    pack, requires, families = None, None, {}
    for statement in tree.statements:
        if statement.word.text not in ("pack", "requires", "family"):
            continue
        match read(statement, None, file)[0]:
            case Pack() as found:
                pack = pack or found
            case Requires(spec=spec):
                requires = spec
            case Family(name=name, patterns=patterns):
                families[name] = patterns
            case _:
                pass
    return pack, requires, families
