"""From rule texts to an engine: compile, check against the tools, run the tests in the files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

from msgspec import Struct

from ..grammar.ast import Json
from ..grammar.diagnostics import Diagnostic, Severity, render_text
from .checker import check_tools
from .compiler import Compiled, Compiler
from .definitions import Tools, declared
from .domain import Limits, value_fault
from .engine import Engine
from .errors import CallgateWarning, InputError, RuleFileError
from .ir import RuleSet
from .lock import FileRead, verify
from .packs import Library, Packs
from .plan import Hook
from .readings import Readings
from .ruletest import run_tests
from .ruletext import RuleText, read_rule_file
from .tools import own_copy, read_tools
from .units import Unit, all_units

if TYPE_CHECKING:
    from .admission import Policy


class Checked(Struct, frozen=True):
    """What compiling some rule texts came to: the rules, and everything that is to be said about them."""

    rules: RuleSet
    compiled: Compiled
    diagnostics: tuple[Diagnostic, ...]
    seen: Mapping[str, bytes | None]  # the files that were looked up, see `Files`
    files: tuple[FileRead, ...] = ()  # those that were read, for a lock

    @property
    def failed(self) -> bool:
        return any(each.severity is Severity.ERROR for each in self.diagnostics)

    def text(self) -> str:
        """The diagnostics for a person."""
        return render_text(self.diagnostics, self.compiled.texts)


def check_rules(
    texts: Iterable[RuleText],
    *,
    tools: Tools | None = None,
    packs: Packs | Library | None = None,
    strict: bool = True,
    lets: Mapping[str, Json] | None = None,
    functions: Mapping[str, Callable[[Json], Json]] | None = None,
    tests: bool = True,
    readings: Readings | None = None,
    loading: bool = False,
) -> Checked:
    """Compile, check against the tools where given, and run the tests in the files that do not ship with us.

    `packs`: as in `compile_rules`, or a library of the caller's own. With a lock nothing else counts than
    what it holds, and a pack or rule file of it that nothing reads is an error (G515). `readings`: what was
    read of equal files before. `loading`: a `disable` past its day is no error.

    Raises:
        SchemaError: the tools cannot be used.
    """
    tools = own_copy(tools)
    known = read_tools(tools)
    today = datetime.now(UTC).date()
    library = packs if isinstance(packs, Library) else Library(packs)
    compiler = Compiler(
        library,
        strict=strict,
        today=today,
        lets=lets,
        functions=functions,
        readings=readings,
        loading=loading,
    )
    compiled = compiler.compile(texts)
    found = list(compiled.diagnostics)
    offers = () if tools is None else declared(tools).offered
    for unit in compiled.units:
        if unit.top:
            misfits = compiler.with_lets(unit, partial(check_tools, unit, known, offers=offers))
            found += [each for each in misfits if not compiler.follows(each)]
    if tests and not compiled.failed:
        for unit in all_units(compiled.units):
            if not unit.source.shipped:
                found += run_tests(compiler, unit)
    files = _files(library, compiled.units)
    if library.lock is not None:
        # What is wrong otherwise may be why a file was not read; one more file is no reason.
        whole = all(each.code == "G514" for each in found if each.severity is Severity.ERROR)
        found += verify(library.lock, files, whole=whole, documents=False)
    return Checked(compiled.rules, compiled, tuple(dict.fromkeys(found)), library.files.seen, files)


def _files(library: Library, units: tuple[Unit, ...]) -> tuple[FileRead, ...]:
    """What was read, the packs with their names and versions."""
    packs: dict[tuple[str, str], tuple[str, str]] = {
        (unit.source.origin.source, unit.source.origin.path): (unit.pack.name, unit.pack.version)
        for unit in all_units(units)
        if unit.pack is not None and unit.source.origin is not None
    }
    return tuple(FileRead(origin, *packs.get(key, ("", ""))) for key, origin in library.read.items())


def compile_rules(
    text: str | Iterable[RuleText],
    *,
    tools: Tools | None = None,
    packs: Packs | Library | None = None,
    file: str = "<text>",
    folder: str | PathLike[str] | None = None,
    lets: Mapping[str, Json] | None = None,
    limits: Limits | None = None,
    prepare: Mapping[str, Hook] | None = None,
    functions: Mapping[str, Callable[[Json], Json]] | None = None,
    policies: Sequence[Policy] = (),
    strict: bool = False,
) -> Engine:
    """Compile one rule text (or several) into an engine.

    Args:
        tools: the registered tools, by name or as definitions; None: every name is registered.
        packs: what comes before the text: `"shipped"`, names (`kimi`, `kimi@^1.2`), paths of files or
            folders, or texts by name.
        folder: what `schema "FILE"` and `use` are relative to.
        lets: values that replace those of `let`.
        prepare: hooks of the tools' owners by tool name. `functions`: what `call NAME` may name.
        policies: what the host adds to the admission of places under a `bound`.

    Raises:
        RuleFileError: the rules have errors, or their tests fail; it holds every diagnostic.
        SchemaError: a tool's schema cannot be used.
    """
    _check_options(text, lets, prepare, functions, limits)
    _check_policies(policies)
    tools = own_copy(tools)
    texts = [RuleText(text, file, folder)] if isinstance(text, str) else list(text)
    own = dict(functions or {})
    checked = check_rules(texts, tools=tools, packs=packs, strict=strict, lets=lets, functions=own)
    if checked.failed:
        raise RuleFileError(checked.diagnostics, checked.text())
    for each in checked.diagnostics:
        if each.severity is Severity.WARNING:
            warnings.warn(f"{each.file}: {each.message}", CallgateWarning, stacklevel=3)
    return Engine(checked.rules, tools, limits=limits, prepare=prepare, policies=policies)


def _check_policies(policies: object) -> None:
    """Raise InputError for what is no list of policies."""
    if not isinstance(policies, list | tuple):
        raise InputError(f"`policies` is a list of policies, not `{type(policies).__name__}`")
    for each in policies:
        if not callable(getattr(each, "propose", None)) or not hasattr(each, "owns"):
            raise InputError(f"a policy has `owns` and `propose`, and `{type(each).__name__}` has not")


def _check_options(text: object, lets: object, prepare: object, functions: object, limits: object) -> None:
    """Raise InputError for an option of a wrong type, before anything is done with it."""
    if not isinstance(text, str | Iterable) or isinstance(text, bytes):
        raise InputError(f"rules are text, not `{type(text).__name__}`")
    for name, given in (("lets", lets), ("prepare", prepare), ("functions", functions)):
        if given is not None and not isinstance(given, Mapping):
            raise InputError(f"`{name}` is a mapping, not `{type(given).__name__}`")
    if limits is not None and not isinstance(limits, Limits):
        raise InputError(f"`limits` are `Limits`, not `{type(limits).__name__}`")
    if isinstance(lets, Mapping) and value_fault(dict(lets), Limits()) is not None:
        raise InputError("a value of `lets` is no JSON value that can be used")


def read_files(paths: Iterable[PathLike[str]]) -> list[RuleText]:
    """Read rule files.

    Raises:
        PackError: one cannot be read.
    """
    return [read_rule_file(path) for path in paths]
