"""`ground` blocks for one model, compiled: what a call is, what its result shows, what a completion needs.

Source: `docs/grounding.md`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..grammar.ast import (
    And,
    Condition,
    Function,
    Item,
    Json,
    Not,
    Or,
    Paren,
    Pointer,
    Presence,
    Quantified,
    Segment,
    Term,
    Test,
    Truth,
    Word,
)
from ..rules.grounds import Listed, Normalize, Require, Shell, Signal, Surface
from ..rules.regex import compile_regex
from ..rules.toolnames import ToolName
from .condition import Closure, Env, Names, compile_condition
from .gatevalues import SHIPPED, Preset
from .ir import RuleSet
from .normalizing import normalize
from .paths import Folded
from .plan import is_named, matches_model
from .relevance import composed, key_of
from .selector import MISSING, get
from .shellcall import beside, is_plain, runs_later
from .shown import HELD, PATHS, Written, leaves, written
from .tools import Tool
from .whereabouts import Where, inside, where, within

_SIGNAL = 9  # bytes of a signal in the state beside its name
_QUESTIONS = ("pattern", "query", "regex", "search", "q", "text", "keyword", "search_term", "searchTerm")


class Seen(Struct, frozen=True):
    """What a call is: it looks, or it `changes` something.

    `named`: what it reads or changes, as far as it says so. `texts`: what of a look may touch a claim.
    `trusted`: what comes back is of the tool, and not what the call itself said. `search`: its lines may
    begin with the names of files of the working directory. `said`: texts that a command says in other words;
    of one that may change something, those that are not understood. `unnamed`: it may change something that
    it does not name. `asks`: its answer may be no line of a file. `sure`: a good answer shows something of
    each of the files. `lists`: folders of which it shows all entries.
    """

    changes: bool
    named: tuple[Written, ...]
    texts: tuple[str, ...]
    trusted: bool = True
    search: bool = False
    said: tuple[str, ...] = ()
    unnamed: bool = False
    asks: bool = False
    sure: bool = True
    lists: tuple[str, ...] = ()


class _Signal(Struct, frozen=True):
    name: str
    tool: ToolName
    call: Closure | None
    result: Closure | None


class _Require(Struct, frozen=True):
    signals: tuple[str, ...]
    condition: Closure | None


class Grounds:
    """The blocks that apply to a model. Immutable; serves every thread."""

    def __init__(self, rules: RuleSet, model: str | None) -> None:
        self.preset = _preset(rules, model)
        self.digest = rules.source.engine[:8]
        self.cwd: str | None = None
        self._listed: dict[str, list[ToolName]] = {"reads": [], "mutates": [], "exempt": []}
        self._shells: list[tuple[ToolName, tuple[Segment, ...]]] = []
        self._normalize: list[tuple[tuple[ToolName, ...], Any, str]] = []
        self._signals: list[_Signal] = []
        self._requires: list[_Require] = []
        self._surface: list[tuple[Segment, ...]] = []
        self._givers: dict[str, str] = {}  # the first tool of each signal
        for ground in rules.grounds:
            names = Names("", model, ground.lets, None, _runs)
            cwd = ground.lets.get("cwd")
            self.cwd = cwd if self.cwd is None and isinstance(cwd, str) else self.cwd
            for each in ground.block.statements:
                match each:
                    case Listed():
                        self._listed[each.word] += each.names
                    case Shell():
                        self._shells.append((each.tool, each.command.segments))
                    case Normalize():
                        self._normalize.append((each.names, compile_regex(each.pattern), each.text))
                    case Signal():
                        self._signals.append(_signal(each, names))
                        self._givers.setdefault(each.name, each.tool.text)
                    case Require():
                        needed = None
                        if each.condition is not None:
                            needed = compile_condition(each.condition, names, unless=each.unless)
                        self._requires.append(_Require(each.signals, needed))
                    case Surface():
                        self._surface += [pointer.segments for pointer in each.selectors]

    def see(self, tool: str, arguments: Json, known: Tool | None, part: Json, cwd: Folded) -> Seen:
        """What a call is. A tool that nothing is said of changes things. `part`: what its schema knows."""
        for name, segments in self._shells:
            if is_named(name, tool):
                return command_seen(arguments, segments, cwd)
        reading = (known is not None and known.reads) or self._is_listed("reads", tool)
        return seen(arguments, part, cwd, changes=not reading or self._is_listed("mutates", tool))

    def is_shell(self, tool: str) -> bool:
        return any(is_named(name, tool) for name, _ in self._shells)

    def is_exempt(self, tool: str) -> bool:
        return self._is_listed("exempt", tool)

    def _is_listed(self, word: str, tool: str) -> bool:
        return any(is_named(each, tool) for each in self._listed[word])

    def cleaners(self, tool: str) -> list[int]:
        """The numbers of the `normalize` statements for a tool."""
        return [
            number
            for number, (names, _, _) in enumerate(self._normalize)
            if any(is_named(each, tool) for each in names)
        ]

    def clean(self, cleaners: Iterable[int], text: str) -> str:
        """A result without what varies by itself."""
        for number in cleaners:
            _, pattern, instead = self._normalize[number]
            text = pattern.replaced(text, instead)
        return normalize(text)

    def surface(self, arguments: Json) -> tuple[str, ...]:
        """What the call adds to what a claim is about."""
        found: dict[str, None] = {}
        for segments in self._surface:
            for place in _places(arguments, segments):
                found.update(dict.fromkeys(leaves(place)))
        return tuple(each for each in found if each.strip())

    def shows(self, tool: str, arguments: Json, env: Env) -> list[int]:
        """The numbers of the `signal` statements that the call fits."""
        for name, at in self._shells:
            if is_named(name, tool) and (not is_plain(arguments, at) or runs_later(arguments, at)):
                return []  # what ran is not known, or what became of it
        return [
            number
            for number, each in enumerate(self._signals)
            if is_named(each.tool, tool)
            and (each.call is None or each.call(arguments, arguments, env) is True)
        ]

    def shown(self, numbers: Iterable[int], env: Env) -> list[str]:
        """The signals of those of these statements that the result fits too."""
        fitting = (self._signals[number] for number in numbers if number < len(self._signals))
        return [each.name for each in fitting if each.result is None or each.result(None, None, env) is True]

    def room(self, known: Collection[str]) -> int:
        """Bytes that the names of the signals take that are not known yet."""
        return sum(len(name.encode()) + _SIGNAL for name in self._givers if name not in known)

    def required(self, env: Env) -> dict[str, str]:
        """The signals that a completion needs, with the tools that give them; where that is not known, it
        needs them."""
        found: dict[str, str] = {}
        for each in self._requires:
            if each.condition is None or each.condition(None, None, env) is not False:
                found.update((name, self._givers.get(name, "")) for name in each.signals)
        return found


def parts_of(condition: Condition, *, unless: bool = False) -> list[Condition]:
    """What is joined by `and` at the top of a condition."""
    if unless:
        return [Not(condition)]
    todo: list[Condition] = [condition]
    found: list[Condition] = []
    while todo:
        here = todo.pop(0)
        if isinstance(here, Paren):
            todo.insert(0, here.part)
        elif isinstance(here, And):
            todo[:0] = here.parts
        else:
            found.append(here)
    return found


def looks_at_result(condition: Condition) -> bool:
    return any(isinstance(each, Word) and each.text.startswith("result.") for each in _terms(condition))


def looks_at_call(condition: Condition) -> bool:
    """Does it look at the arguments?"""
    return any(
        isinstance(each, Pointer | Function)
        and not (isinstance(each, Function) and each.name.text == "turn.calls")
        for each in _terms(condition)
    )


def _terms(condition: Condition) -> list[Term]:
    todo: list[Condition] = [condition]
    found: list[Term] = []
    while todo:
        match todo.pop():
            case Paren(part) | Not(part):
                todo.append(part)
            case And(parts) | Or(parts):
                todo.extend(parts)
            case Presence(pointer):
                found.append(pointer)
            case Quantified(pointer, _, body):
                found.append(pointer)
                todo.append(body)
            case Truth(term):
                found.append(term)
            case Test(left, _, right):
                found += [each for each in (left, right) if not isinstance(each, Item)]
            case _:
                pass
    return found


def _signal(signal: Signal, names: Names) -> _Signal:
    """A signal with its condition split into what looks at the call and what looks at the result."""
    if signal.condition is None:
        return _Signal(signal.name, signal.tool, None, None)
    parts = parts_of(signal.condition, unless=signal.unless)
    later = [each for each in parts if looks_at_result(each)]
    now = [each for each in parts if each not in later]
    return _Signal(signal.name, signal.tool, _joined(now, names), _joined(later, names))


def _joined(parts: list[Condition], names: Names) -> Closure | None:
    if not parts:
        return None
    return compile_condition(parts[0] if len(parts) == 1 else And(tuple(parts)), names)


def _preset(rules: RuleSet, model: str | None) -> Preset:
    """The first preset for this very model, else the first one for all, else `default`."""
    for each in rules.presets:
        if each.families is not None and model is not None and matches_model(each.families, model):
            return Preset(each.cap, each.refill, each.strict)
    for each in rules.presets:
        if each.families is None:
            return Preset(each.cap, each.refill, each.strict)
    return SHIPPED["default"]


def _places(arguments: Json, segments: tuple[Segment, ...]) -> list[Json]:
    """The values at a selector, with `*` for every item."""
    here: list[Any] = [arguments]
    for segment in segments:
        below: list[Any] = []
        for value in here:
            if isinstance(segment, str):
                found = get(value, (segment,))
                below += [] if found is MISSING else [found]
            elif type(value) is list:
                below += value
        here = below
    return here


def seen(arguments: Json, part: Json, cwd: Folded, *, changes: bool) -> Seen:
    """What a call is that has no command. `part`: what the tool's schema knows of the arguments."""
    facts = arguments if type(arguments) is dict else {}
    if changes:
        place = where(facts.items(), files=PATHS, written=HELD)
        named = _placed(written(arguments), place)
        return Seen(True, named, (), unnamed=not named)
    place = where(facts.items(), files=PATHS)
    # What the tool does not know it does not look at.
    named = _placed(written(part), place)
    here = {key_of(".", cwd), "."}
    asks = _asks(part)
    search = asks and all(key_of(each.name, cwd) in here for each in named)
    if place.unknown or place.apart:
        search = False
    if place.folder is not None and key_of(place.folder, cwd) not in here:
        search = False
    named = () if place.unknown else named
    return Seen(False, named, tuple(leaves(part)), True, search, asks=asks)


def command_seen(arguments: Json, segments: tuple[Segment, ...], cwd: Folded) -> Seen:
    """What a call of a shell is."""
    from .shell import is_search, is_sure, left, lists, mutates, reads, said, shows, targets, unknown

    command = get(arguments, segments)
    if type(command) is not str:
        return Seen(True, (), (), unnamed=True)
    place = where(beside(arguments, segments))
    plain = is_plain(arguments, segments)
    at_home = not place.apart and (place.folder is None or key_of(place.folder, cwd) == key_of(".", cwd))
    if mutates(command) or not plain:
        changed, more = targets(command)
        files = inside(place, changed)
        kinds = left(command)
        kept = dict(zip(inside(place, kinds), kinds.values(), strict=True))
        patch = _patch(command, place)
        named = (*_named(files, place, kept), *(patch or ()))
        more = more or patch is None
        if not more or place.unknown or not at_home:
            return Seen(True, named, files, unnamed=more or place.unknown or not plain)
        return Seen(True, named, files, said=unknown(command), unnamed=True)
    # What lies above a folder may be seen through a link.
    looked = () if place.unknown or runs_later(arguments, segments) else shows(command)
    files = inside(place, (each for each in looked if place.folder is None or ".." not in each.split("/")))
    # What else a command prints may be what it was told to print.
    named = _named(files, place)
    search = bool(looked) and at_home and is_search(command)
    sure = bool(named) and is_sure(command, len(looked) > 1)
    listed = inside(place, lists(command)) if plain and not (place.unknown or place.apart) else ()
    return Seen(False, named, reads(command), bool(files), search, said(command), sure=sure, lists=listed)


def _patch(command: str, place: Where) -> tuple[Written, ...] | None:
    """The files of a patch in a command; None where nobody knows in which folder they lie."""
    from .shell import patched

    found = written({"command": command})
    folder = patched(command) if found else ""
    if folder is None:
        return None
    if folder:
        names = within(folder, [each.name for each in found])
        found = tuple(replace(each, name=name) for each, name in zip(found, names, strict=True))
    return _placed(found, place)


def _placed(named: tuple[Written, ...], place: Where) -> tuple[Written, ...]:
    """What is named, at the place that the call names."""
    if place.folder is None and not place.apart:
        return named
    names = inside(place, (each.name for each in named))
    return tuple(replace(each, name=name, place=place.apart) for each, name in zip(named, names, strict=True))


def _named(files: Iterable[str], place: Where, kinds: Mapping[str, str] | None = None) -> tuple[Written, ...]:
    kinds = kinds or {}
    return tuple(Written(composed(each), place=place.apart, left=kinds.get(each, "")) for each in files)


def _asks(arguments: Json) -> bool:
    """Does a call look for something, and not only read?"""
    return type(arguments) is dict and any(type(arguments.get(key)) is str for key in _QUESTIONS)


def _runs(command: str, program: str) -> bool | None:
    from .shell import runs

    return runs(command, program)
