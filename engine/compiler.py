"""Rule texts become one rule set: read, `use` followed, names settled, everything wrong reported at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import cached_property
from hashlib import blake2b
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..grammar.ast import Json, Statement, Text, Word
from ..grammar.diagnostics import Diagnostic, Severity, nearest
from ..grammar.span import NOWHERE
from ..rules.catalog import kinds
from ..rules.grounds import GroundBlock, PresetBlock
from ..rules.kind import Kind, Phase, Setting, Spec
from ..rules.palettes import PaletteBlock
from ..rules.reader import check_rule, read_rule
from ..rules.statements import (
    Default,
    Disable,
    Family,
    Let,
    Pack,
    Policy,
    Requires,
    Spoken,
    ToolBlock,
    Use,
    read,
)
from ..rules.testblock import TestCase
from ..rules.versions import admits, admits_newer
from . import ir
from .conditioncheck import check_condition
from .errors import SchemaError
from .gatevalues import SHIPPED, Preset
from .groundcheck import check_ground, check_together, signals_of
from .naming import Named
from .packs import Library, two_packs, where_looked
from .palettecheck import check_palette, contradictions
from .plan import built_in_rules, glob_matches
from .readings import Readings
from .rulenames import fits, name_rules, told_apart
from .ruletext import PackError, RuleText
from .schema import Schema
from .units import Unit, Written, all_units, changing_tools, is_glob, name_text, rules_in_order
from .verdict import Source
from .version import VERSION

WARN_DAYS = 14  # before a `disable … until` ends


class Compiled(Struct, frozen=True):
    """The rule set, every diagnostic, and the files as they were read."""

    rules: ir.RuleSet
    diagnostics: tuple[Diagnostic, ...]
    units: tuple[Unit, ...]

    @property
    def failed(self) -> bool:
        return any(each.severity is Severity.ERROR for each in self.diagnostics)

    @property
    def texts(self) -> dict[str, str]:
        """The texts that the diagnostics point into."""
        return {unit.file: unit.source.text for unit in all_units(self.units)}


class Compiler:
    """Reads rule texts into units.

    `strict`: an unknown kind is an error, unless the file admits a newer callgate (`load`, `check`).
    `loading`: what keeps a `disable` past its day in force, with a warning.
    `today`: the UTC day for `disable … until`. `lets`: values that replace those of the files.
    """

    def __init__(
        self,
        library: Library,
        *,
        strict: bool,
        today: date,
        lets: Mapping[str, Json] | None = None,
        functions: Mapping[str, Callable[[Json], Json]] | None = None,
        readings: Readings | None = None,
        loading: bool = False,
    ) -> None:
        self.loading = loading
        self.library = library
        self.readings = readings or Readings()
        self.strict = strict
        self.today = today
        self.lets = dict(lets or {})
        self.functions = {} if functions is None else functions
        self.found: list[Diagnostic] = []
        self._unfit: dict[tuple[str, str], Diagnostic] = {}  # what is wrong with `lets`: where it shows first
        self._units: dict[str, Unit] = {}  # packs by name
        self._missing: set[str] = set()  # those that cannot be had

    def compile(self, texts: Iterable[RuleText]) -> Compiled:
        """Compile the packs that the caller named and then these texts, in order."""
        self.found += self.library.wrong
        read = [self._named(each) for each in self.library.first]
        self._check_parts()
        read += [self._top(text) for text in texts]
        tops = [unit for unit in read if unit is not None]
        for name in self.lets:
            if name != "cwd" and not any(name in unit.lets for unit in all_units(tuple(tops))):
                message = f"a value is given for `{name[:64]}`, and no file has a `let` of this name"
                self.found.append(Diagnostic("G114", message, file=given_let(name)))
        return self.link(tuple(tops))

    def _named(self, named: Named) -> Unit | None:
        """A pack that the caller named; what is wrong with it is about this entry."""
        before = len(self.found)
        unit = self._pack(named.name, named.spec, None, ())
        for at in range(before, len(self.found)):
            if self.found[at].file == "<packs>":
                self.found[at] = replace(self.found[at], about=named.entry)
        return unit

    def _top(self, text: RuleText) -> Unit | None:
        """A top file; one that is a pack counts once, also where another uses it. None: it is refused."""
        try:
            self.library.admit_text(text)
        except PackError as error:
            self.found.append(Diagnostic(error.code, str(error), help=error.help, file=text.file))
            return None
        unit = self._unit(text, top=True, above=())
        if unit.pack is not None:
            known = self._units.setdefault(unit.pack.name, unit)
            if known.source.text == text.text:
                known.top = True
                return known
            self._fault(two_packs(unit.pack.name, known.source, text), unit, unit.tree.statements[0])
        return unit

    def _check_parts(self) -> None:
        """A folder of packs holds packs: a file that is none would be in force without anybody's knowing."""
        for named in self.library.first:
            unit = self._units.get(named.name) if named.part else None
            if unit is not None and unit.pack is None:
                message = 'in a folder of packs every file begins with `pack NAME "VERSION"`'
                help_ = f'write `pack {named.name} "1.0.0"`, or name the packs of the folder one by one'
                self.found.append(Diagnostic("G503", message, help=help_, file=unit.file))

    def link(self, tops: tuple[Unit, ...], *, own_values: bool = False) -> Compiled:
        """Make one rule set of units that were read. `own_values`: with the files' own `let`s alone."""
        units = all_units(tops)
        lets = {} if own_values else self.lets
        names = told_apart(tops)
        off: dict[int, list[ToolNames]] = {}
        disabled = self._disable(units, off)
        values = {id(unit): self._values(unit, lets) for unit in units}
        rules = tuple(
            self._rule(unit, item, names[id(item)], off.get(id(item), []), values[id(unit)])
            for unit, item in rules_in_order(tops)
        )
        policies, default = self._settings(tops)
        packs = tuple(f"{unit.pack.name}@{unit.pack.version}" for unit in units if unit.pack is not None)
        source = Source(self._digest(units, lets), packs)
        rule_set = ir.RuleSet(
            rules,
            policies,
            default,
            self._spoken(units),
            tuple(disabled),
            _mutating(units),
            source,
            self.functions,
            self._palettes(units, values),
            tuple(ir.Ground(each, values[id(unit)]) for unit in units for each in unit.grounds),
            self._presets(units),
        )
        signals = [name for unit in units for name in signals_of(unit.grounds)]
        for unit in units:
            self.found += check_together(unit.grounds, signals, unit.file)
        found = [each for each in self.found if not self.follows(each)]
        return Compiled(rule_set, tuple(_ordered(found, units)), tops)

    def follows(self, each: Diagnostic) -> bool:
        """Is this wrong only because a pack cannot be had, which is said: a name that may stand in it?"""
        if each.code in ("G107", "G114"):
            return bool(self._missing or self.library.wrong)
        pack, slash, _ = each.about.partition("/")
        return each.code in ("G106", "G304") and bool(slash and (pack in self._missing or self.library.wrong))

    def _digest(self, units: list[Unit], lets: Mapping[str, Json]) -> str:
        digest = blake2b(digest_size=16)
        for unit in units:
            digest.update(self.readings.printed(unit.tree))
            documents = [
                item.spec.clauses["document"]
                for item in unit.items
                if isinstance(item, Written) and "document" in item.spec.clauses
            ]
            digest.update(json.dumps(documents, sort_keys=True).encode())
            digest.update(b"\0")
        digest.update(json.dumps(dict(lets), sort_keys=True).encode())
        return digest.hexdigest()

    # One file ---------------------------------------------------------------------------------

    def _unit(self, source: RuleText, *, top: bool, above: tuple[str, ...]) -> Unit:
        parsed = self.readings.parsed(source.text, source.file)
        self.found += parsed.diagnostics
        unit = Unit(source, parsed.file, top)
        for index, statement in enumerate(parsed.file.statements):
            self._statement(unit, statement, index, above)
        self._check_families(unit, unit.named_families)
        for item in unit.items:
            if isinstance(item, Written):
                self._check_families(unit, item.spec.families or ())
        self.found += self.with_lets(unit, lambda lets: self._check_conditions(unit, lets))
        name_rules(unit)
        self._check_twice(unit)
        return unit

    def _check_twice(self, unit: Unit) -> None:
        """What one file may say once: a name that a rule was given, and the schema of a tool."""
        names: set[str] = set()
        schemas: set[str] = set()
        for item in unit.items:
            if not isinstance(item, Written):
                continue
            if item.spec.name is not None and item.spec.name in names:
                self._error(unit, "G105", f"two rules are named `{item.spec.name}`", item.statement)
            if item.spec.name is not None:
                names.add(item.spec.name)
            if item.kind.setting is Setting.SCHEMA:
                tools = {each.text for each in item.block.names}
                if tools & schemas:
                    message = f"`{min(tools & schemas)}` has two schemas"
                    self._error(unit, "G105", message, item.statement, "keep one")
                schemas |= tools

    def _statement(self, unit: Unit, statement: Statement, index: int, above: tuple[str, ...]) -> None:
        unit.named_families += statement.families or ()
        declared, found = self._read(unit, statement, None)
        self.found += found
        match declared:
            case Pack():
                if index or unit.pack is not None:
                    self._error(unit, "G503", "`pack` stands first, and once", statement)
                unit.pack = declared
            case Requires():
                self._requires(unit, declared, statement)
            case Use():
                used = self._pack(declared.name, declared.spec, (unit, statement), above)
                if used is not None:
                    unit.items.append(used)
            case Family():
                if declared.name in unit.families:
                    self._error(unit, "G105", f"the family `{declared.name}` is named twice", statement)
                unit.families[declared.name] = declared.patterns
            case Let():
                if declared.name in unit.lets:
                    self._error(unit, "G105", f"`let {declared.name}` stands twice", statement)
                unit.lets[declared.name] = declared.value
            case Policy():
                if any(_same_models(declared, other) for other in unit.policies):
                    self._error(unit, "G105", "`policy` stands twice for the same models", statement)
                unit.policies.append(declared)
                self._top_only(unit, statement)
            case Spoken():
                unit.spoken.append(declared)
            case Default():
                if unit.default is not None:
                    self._error(unit, "G105", "`default` stands twice", statement)
                unit.default = declared
                self._top_only(unit, statement)
            case Disable():
                unit.disables.append((declared, None))
            case PaletteBlock():
                if any(each.name == declared.name for each in unit.palettes):
                    self._error(unit, "G105", f"`palette {declared.name}` stands twice", statement)
                unit.palettes.append(declared)
            case GroundBlock():
                unit.grounds.append(declared)
            case PresetBlock():
                if declared.cap is not None and any(_defines(each, declared) for each in unit.presets):
                    self._error(unit, "G105", f"`preset {declared.name}` is defined twice", statement)
                unit.presets.append(declared)
            case TestCase():
                unit.tests.append((declared, None))
            case ToolBlock():
                for inner in declared.block:
                    self._inner(unit, declared, inner)
            case _:
                pass

    def _read(self, unit: Unit, statement: Statement, block: str | None) -> tuple[object, list[Diagnostic]]:
        beside = (block, unit.file)
        return self.readings.of_statement(
            "read", statement, beside, lambda: read(statement, block, unit.file)
        )

    def _top_only(self, unit: Unit, statement: Statement) -> None:
        if not unit.top:
            word = statement.word.text
            self._error(
                unit, "G504", f"`{word}` cannot stand in a pack that is used", statement, "leave it out"
            )

    def _inner(self, unit: Unit, block: ToolBlock, statement: Statement) -> None:
        if statement.word.text in ("disable", "test"):
            declared, found = self._read(unit, statement, "tool")
            self.found += found
            if isinstance(declared, Disable):
                unit.disables.append((declared, block))
            elif isinstance(declared, TestCase):
                unit.tests.append((declared, block))
            return
        spec, found = self.readings.of_statement(
            "rule",
            statement,
            (block.in_glob, unit.file),
            lambda: read_rule(statement, kinds(), in_glob=block.in_glob, file=unit.file),
        )
        if statement.word.text not in kinds() and self.strict and not unit.newer:
            found = [
                replace(each, severity=Severity.ERROR) if each.code == "G101" else each for each in found
            ]
        self.found += found
        if spec is None:
            return
        kind = kinds()[spec.keyword]
        spec = self._with_schema(unit, kind, spec)
        if spec is None:
            return
        self.found += check_rule(kind, replace(spec, functions=self.functions), None, unit.file)
        if kind.phase is Phase.NAME and len(block.names) != 1:
            self._error(unit, "G227", f"`{spec.keyword}` stands in a block of one tool", statement)
        elif kind.phase is Phase.NAME and block.in_glob:
            stars = block.names[0].text.count("*")
            for name in spec.clauses.get("from", ()):
                if name.count("*") != stars or "?" in block.names[0].text:
                    message = f"`{name[:64]}` leaves open which tool of `{block.names[0].text[:64]}` is meant"
                    self._error(unit, "G227", message, statement, "write a `*` for each `*` of the block")
        unit.items.append(Written(kind, spec, block, statement))

    def _with_schema(self, unit: Unit, kind: type[Kind], spec: Spec) -> Spec | None:
        """A `schema` rule with its document read."""
        if kind.setting is not Setting.SCHEMA:
            return spec
        source = spec.clauses["source"]
        if isinstance(source, str):
            try:
                source = self.library.document(unit.source.folder, source)
            except PackError as error:
                self.found.append(
                    Diagnostic(error.code, str(error), spec.span, help=error.help, file=unit.file)
                )
                return None
        try:
            Schema(source, "the schema")
        except SchemaError as error:
            self.found.append(Diagnostic("G506", str(error), spec.span, file=unit.file))
            return None
        return replace(spec, clauses={**spec.clauses, "document": source})

    def _check_conditions(self, unit: Unit, lets: Mapping[str, Json]) -> list[Diagnostic]:
        """What is wrong with the conditions of a file, where its names stand for these values."""
        found: list[Diagnostic] = []
        known = json.dumps(lets, sort_keys=True)
        for item in unit.items:
            if isinstance(item, Written):
                found += self._check_names(unit, item, lets, known)
        for palette in unit.palettes:
            found += check_palette(palette, lets, unit.file)
        for ground in unit.grounds:
            found += check_ground(ground, lets, unit.file)
        return found

    def with_lets(
        self, unit: Unit, check: Callable[[Mapping[str, Json]], list[Diagnostic]]
    ) -> list[Diagnostic]:
        """What a check finds with the values of the files, and what else with those that are given."""
        own, given = self.lets_of(unit), self._values(unit, self.lets)
        found = check(own)
        seen = set(found)
        new = [each for each in check(given) if each not in seen] if given != own else []
        if not new:
            return found
        alone = {name: check(self._values(unit, {name: value})) for name, value in self.lets.items()}
        for each in new:
            # At the value that is wrong by itself; where two are only together, at the first.
            name = next((name for name, wrong in alone.items() if each in wrong), next(iter(alone)))
            where = f"{each.file}:{each.span.line} uses it"
            help_ = f"{each.help}; {where}" if each.help else where
            message = f"the value that is given for `{name[:64]}`: {each.message}"
            fault = Diagnostic(each.code, message, NOWHERE, each.severity, help_, given_let(name))
            found.append(self._unfit.setdefault((name, message), fault))
        return found

    def _check_names(
        self, unit: Unit, item: Written, lets: Mapping[str, Json], known: str
    ) -> list[Diagnostic]:
        """What only the whole file can say about a condition: the names in it. `known`: the lets as text."""
        condition = item.spec.condition
        if condition is None:
            return []
        effect = item.kind.effect.value if item.kind.effect is not None else None

        def make() -> tuple[None, list[Diagnostic]]:
            found = check_condition(
                condition, lets=lets, place_types=None, declares=None, effect=effect, file=unit.file
            )
            return None, found

        return self.readings.of_statement("names", item.statement, (known, unit.file), make)[1]

    def _values(self, unit: Unit, given: Mapping[str, Json]) -> dict[str, Json]:
        """What the names of a file stand for, where `given` replaces its own values."""
        known = self.lets_of(unit)
        for name in known:
            own = name.rpartition("/")[2]
            if own in given:
                known[name] = given[own]
        return known | ({"cwd": given["cwd"]} if "cwd" in given else {})

    def lets_of(self, unit: Unit) -> dict[str, Json]:
        """The values that a file can name: its own, and those of other packs as `pack/name`."""
        others = {
            f"{pack}/{name}": value
            for pack, other in self._units.items()
            for name, value in other.lets.items()
        }
        return {**others, **unit.lets}

    @cached_property
    def named(self) -> str:
        """All that a file can name of packs that it does not use, as text. For when everything is read."""
        found = {name: [unit.lets, unit.families] for name, unit in self._units.items()}
        presets = [(name, each) for name, unit in self._units.items() for each in unit.presets]
        return json.dumps(found) + repr(presets)

    def _check_families(self, unit: Unit, families: Iterable[Word | Text]) -> None:
        for family in families:
            if isinstance(family, Word) and self._family(unit, family.text) is None:
                of_packs = {
                    f"{pack}/{name}" for pack, other in self._units.items() for name in other.families
                }
                of_pack = sorted(name for name in of_packs if name.endswith(f"/{family.text}"))
                near = _did_you_mean(family.text, of_pack[:1] or {*unit.families, *of_packs})
                help_ = near or "name it with `family NAME matches '…'`"
                message = f"unknown family `{family.text}`"
                self.found.append(
                    Diagnostic("G106", message, family.span, help=help_, file=unit.file, about=family.text)
                )

    def _requires(self, unit: Unit, declared: Requires, statement: Statement) -> None:
        if not admits(declared.spec, VERSION):
            self._error(
                unit, "G507", f"the file is for callgate {declared.spec}, and this is {VERSION}", statement
            )
        unit.newer = admits_newer(declared.spec, VERSION)
        unit.requires = declared.spec

    def _pack(
        self, name: str, spec: str | None, by: tuple[Unit, Statement] | None, above: tuple[str, ...]
    ) -> Unit | None:
        """A pack that is used, or None where it counts already or there is none."""
        unit, statement = by if by is not None else (None, None)
        if name in above:
            loop = " -> ".join([*above[above.index(name) :], name])
            self._report(
                "G508", f"packs use each other in a loop: {loop}", unit, statement, "take one `use` away"
            )
            return None
        folder = unit.source.folder if unit is not None else None
        try:
            source = self.library.find(name, folder)
        except PackError as error:
            self._missing.add(name)
            self._fault(error, unit, statement)
            return None
        known = self._units.get(name)
        if source is None and known is None:
            self._missing.add(name)
            near = _did_you_mean(name, self.library.known(folder))
            by_path = f"write its path (`./{name[:64]}.gate`), or install it"
            beside = "put its file beside this one, or name its path among the packs of the caller"
            help_ = near or (by_path if unit is None else beside)
            help_ += "\n" + where_looked(self.library, name, folder)
            self._report("G509", f"there is no pack `{name[:64]}`", unit, statement, help_)
            return None
        if known is None:
            assert source is not None
            known = self._units[name] = self._unit(source, top=False, above=(*above, name))
            self._check_name(known, name, unit, statement)
        elif source is not None and source.text != known.source.text:
            self._fault(two_packs(name, known.source, source), unit, statement)
        version = known.pack.version if known.pack is not None else None
        if spec is not None and (version is None or not admits(spec, version)):
            what = f"`{name}` is {version or 'without a version'} and {spec[:64]} is wanted"
            help_ = f"it is {known.source.place}; change the range, or install or name another version"
            self._report("G510", what, unit, statement, help_)
        if unit is not None:
            unit.uses.append(known)
        return known

    def _check_name(self, pack: Unit, name: str, unit: Unit | None, statement: Statement | None) -> None:
        """A pack is called what its file is called: else one name would lead to it here, another there."""
        own = pack.pack.name if pack.pack is not None else name
        if own != name:
            message = f"the pack `{name[:64]}` calls itself `{own[:64]}`: {pack.source.place}"
            help_ = f"call the file `{own[:64]}.gate`, or the pack `{name[:64]}`"
            self._report("G512", message, unit, statement, help_)

    # All files --------------------------------------------------------------------------------

    def _family(self, unit: Unit, name: str) -> tuple[str, ...] | None:
        """The patterns of a family: the file's own, or `pack/name`."""
        if name in unit.families:
            return unit.families[name]
        pack, slash, rest = name.partition("/")
        other = self._units.get(pack) if slash else None
        return other.families.get(rest) if other is not None else None

    def _patterns(self, unit: Unit, families: tuple[Word | Text, ...] | None) -> tuple[str, ...] | None:
        if families is None:
            return None
        found: list[str] = []
        for family in families:
            if isinstance(family, Text):
                found.append(family.value)
            else:
                found += self._family(unit, family.text) or ()
        return tuple(found)

    def _rule(
        self, unit: Unit, item: Written, name: str, off: list[ToolNames], lets: Mapping[str, Json]
    ) -> ir.Rule:
        names = tuple(each.text for each in item.block.names if not each.glob)
        globs = tuple(each.text for each in item.block.names if each.glob)
        return ir.Rule(
            name,
            item.kind,
            item.spec,
            names,
            globs,
            self._patterns(unit, item.spec.families),
            lets,
            unit.pack.name if unit.pack is not None else None,
            tuple(off),
        )

    def _disable(self, units: list[Unit], off: dict[int, list[ToolNames]]) -> list[ir.Disabled]:
        """Settle every `disable`: written rules lose tools (in `off`), built-in ones are listed."""
        built_in: list[ir.Disabled] = []
        written = [(unit, item) for unit in units for item in unit.items if isinstance(item, Written)]
        for unit in units:
            for declared, block in unit.disables:
                self._check_day(unit, declared)
                inside = unit.reach()
                own = {id(item) for item in unit.items if isinstance(item, Written)}
                names = tuple(each.text for each in block.names if not each.glob) if block else ()
                globs = tuple(each.text for each in block.names if each.glob) if block else ("*",)
                listed = []
                for pattern in declared.rules:
                    hits = 0
                    for other, item in written:
                        reached = id(other) in inside and (block is not None or id(item) not in own)
                        if block is not None and not _share(block, item.block):
                            continue
                        if reached and fits(pattern, item.name, item.structural_id, item.spec.keyword):
                            off.setdefault(id(item), []).append((names, globs))
                            hits += 1
                    if any(glob_matches(pattern, name) for name in built_in_rules()):
                        listed.append(pattern)
                    elif not hits:
                        known = [each.name for _, each in written if block or id(each) not in own]
                        known += built_in_rules()
                        self.found.append(
                            Diagnostic(
                                "G107",
                                f"`disable {pattern[:64]}` names no rule",
                                declared.span,
                                help=_did_you_mean(pattern, known)
                                or "name a rule of a used pack, or a built-in one",
                                file=unit.file,
                            )
                        )
                if listed:
                    built_in.append(ir.Disabled(tuple(listed), names, globs))
        return built_in

    def _check_day(self, unit: Unit, declared: Disable) -> None:
        """Past its day a `disable` is an error in `check` (`strict`); in `load` it holds, with a warning."""
        if declared.until is None:
            return
        left = (date.fromisoformat(declared.until) - self.today).days
        if left < 0:
            fails = self.strict and not self.loading
            severity = Severity.ERROR if fails else Severity.WARNING
            message = f"this `disable` expired on {declared.until}"
            help_ = "take it away, or give it a later day and a reason"
            self.found.append(Diagnostic("G108", message, declared.span, severity, help_, unit.file))
        elif left <= WARN_DAYS:
            message = f"this `disable` ends on {declared.until}, in {left} days"
            self.found.append(Diagnostic("G109", message, declared.span, Severity.WARNING, "", unit.file))

    def _settings(self, tops: tuple[Unit, ...]) -> tuple[tuple[ir.PolicyRule, ...], ir.Default]:
        policies: list[ir.PolicyRule] = []
        default = ir.Default()
        for unit in tops:
            if not unit.top:
                continue
            policies += [
                ir.PolicyRule(each.profile, self._patterns(unit, each.families)) for each in unit.policies
            ]
            if unit.default is not None:
                default = ir.Default(unit.default.effect, unit.default.why)
        return tuple(policies), default

    def _spoken(self, units: list[Unit]) -> tuple[ir.Spoken, ...]:
        return tuple(
            ir.Spoken(each.word, each.texts, self._patterns(unit, each.families))
            for unit in units
            for each in unit.spoken
        )

    def _palettes(
        self, units: list[Unit], values: Mapping[int, Mapping[str, Json]]
    ) -> tuple[ir.Palette, ...]:
        self.found += contradictions((unit.file, each) for unit in units for each in unit.palettes)
        return tuple(
            ir.Palette(
                f"{unit.pack.name}/{each.name}" if unit.pack is not None else each.name,
                each,
                self._patterns(unit, each.families),
                values[id(unit)],
            )
            for unit in units
            for each in unit.palettes
        )

    def _presets(self, units: list[Unit]) -> tuple[ir.PresetRule, ...]:
        """For which models which preset holds. A name is the file's own, `pack/name`, or a shipped one."""
        found: list[ir.PresetRule] = []
        for unit in units:
            for number, each in enumerate(unit.presets):
                if each.cap is not None and each.families is None:
                    continue  # a definition alone
                if any(_same_preset_models(each, other) for other in unit.presets[:number]):
                    message = "a preset for the same models stands above, and that one holds"
                    warning = Diagnostic("G105", message, each.span, Severity.WARNING, "keep one", unit.file)
                    self.found.append(warning)
                preset = self._preset(unit, each)
                if preset is None:
                    known = [*SHIPPED, *(other.name for other in unit.presets if other.cap is not None)]
                    message = f"there is no preset `{each.name[:64]}`"
                    help_ = (
                        _did_you_mean(each.name, known) or "define it with `preset NAME { cap 6 refill 2 }`"
                    )
                    self.found.append(
                        Diagnostic("G106", message, each.span, help=help_, file=unit.file, about=each.name)
                    )
                    continue
                found.append(
                    ir.PresetRule(
                        preset.cap, preset.refill, preset.strict, self._patterns(unit, each.families)
                    )
                )
        return tuple(found)

    def _preset(self, unit: Unit, named: PresetBlock) -> Preset | None:
        pack, slash, rest = named.name.partition("/")
        home = self._units.get(pack) if slash else unit
        name = rest if slash else named.name
        for each in home.presets if home is not None else ():
            if each.name == name and each.cap is not None and each.refill is not None:
                return Preset(each.cap, each.refill, each.strict)
        return SHIPPED.get(name) if not slash else None

    # Reports ----------------------------------------------------------------------------------

    def _error(
        self, unit: Unit, code: str, message: str, at: Statement | Word | Text, help_: str = ""
    ) -> None:
        self.found.append(Diagnostic(code, message, at.span, help=help_, file=unit.file))

    def _fault(self, error: PackError, unit: Unit | None, statement: Statement | None) -> None:
        self._report(error.code, str(error), unit, statement, error.help)

    def _report(
        self, code: str, message: str, unit: Unit | None, statement: Statement | None, help_: str = ""
    ) -> None:
        if unit is None or statement is None:
            self.found.append(Diagnostic(code, message, help=help_, file="<packs>"))
        else:
            self._error(unit, code, message, statement, help_)


def given_let(name: str) -> str:
    """What diagnostics name as their file that are about a value given in the place of a `let`."""
    return f"<let {name}>"


ToolNames: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...]]"  # exact names, globs


def _share(one: ToolBlock, other: ToolBlock) -> bool:
    """Is there a tool for which both blocks are?"""
    return any(
        (left.text == right.text)
        or (left.glob and glob_matches(left.text, right.text))
        or (right.glob and glob_matches(right.text, left.text))
        for left in one.names
        for right in other.names
    )


def _defines(one: PresetBlock, other: PresetBlock) -> bool:
    return one.name == other.name and one.cap is not None


def _same_preset_models(one: PresetBlock, other: PresetBlock) -> bool:
    """Do both say for which models a preset holds, and do so for the same ones?"""
    if one.families is None or other.families is None:
        return one.families is other.families and one.cap is None and other.cap is None
    return bool({name_text(each) for each in one.families} & {name_text(each) for each in other.families})


def _same_models(one: Policy, other: Policy) -> bool:
    """Are both for all models, or have they a family in common?"""
    if one.families is None or other.families is None:
        return one.families is other.families
    return any(family in other.families for family in one.families)


def _mutating(units: list[Unit]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The tools that `ground` blocks list as changing things: names, globs."""
    atoms = [atom for unit in units for atom in changing_tools(unit)]
    names = frozenset(name_text(atom) for atom in atoms if not is_glob(atom))
    return names, tuple(name_text(atom) for atom in atoms if is_glob(atom))


def _ordered(found: list[Diagnostic], units: list[Unit]) -> list[Diagnostic]:
    """By file, in the order in which the files were read, then by place; each once."""
    places = {unit.file: index for index, unit in enumerate(units)}
    unique = list(dict.fromkeys(found))
    return sorted(unique, key=lambda each: (places.get(each.file, -1), each.span.start))


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near is not None else ""
