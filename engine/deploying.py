"""From the files of a deployment to the set that is put in force: read, compiled, checked, tested.

Source: `docs/deployments.md`. Everything that is wrong is found in one run.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ..grammar.ast import Json
from ..grammar.diagnostics import Diagnostic, Severity, in_a_line, render_text
from ..grammar.mistakes import MOST
from ..rules.kind import Effect
from .compiler import given_let
from .definitions import Tools
from .documents import DocumentError, decode_document
from .engine import Engine
from .errors import DeploymentError, InputError, SchemaError
from .files import Files
from .ir import Default, PolicyRule, RuleSet
from .loading import Checked, check_rules
from .lock import COMMAND, FileRead, Lock, read_lock
from .lock import NAME as LOCK
from .packs import Library
from .passwords import without_passwords
from .patterns import absolute, fits
from .readings import Readings
from .ruletext import PackError, RuleText
from .settings import LARGEST, Place, Settings, read_settings
from .units import Unit, all_units
from .verdict import Source

if TYPE_CHECKING:
    from .admission import Policy
    from .log import DecisionLog
    from .plan import Hook

_WHY = {
    "ask": "no rule allows this call, and the deployment asks for such calls",
    "deny": "no rule allows this call, and the deployment denies such calls",
}


class Owner(Struct, frozen=True):
    """What the program brings that owns the tools: it is in no file."""

    prepare: Mapping[str, Hook] = {}
    functions: Mapping[str, Callable[[Json], Json]] = {}
    policies: Sequence[Policy] = ()


class Set(Struct, frozen=True):
    """One set of rules. `files`: the paths of what was read for it; `read`: the same, for a lock.

    `locked`: nothing is in it that a lock did not hold. `log`: for the decisions that are made under it.
    """

    settings: Settings
    engine: Engine
    files: tuple[str, ...]
    since: datetime
    locked: bool
    warnings: tuple[Diagnostic, ...]
    units: tuple[Unit, ...] = ()
    read: tuple[FileRead, ...] = ()
    log: DecisionLog | None = None

    @property
    def said(self) -> tuple[str, ...]:
        """The warnings, a line each."""
        return tuple(map(in_a_line, self.warnings))

    def expired(self) -> tuple[str, ...]:
        """Where each `disable` stands whose day is past, in UTC."""
        today = datetime.now(UTC).date().isoformat()
        return tuple(
            f"{unit.file}:{disable.span.line}"
            for unit in all_units(self.units)
            for disable, _ in unit.disables
            if disable.until is not None and disable.until < today
        )


def whole_path(path: str | os.PathLike[str]) -> Path:
    """The path of a deployment, from the root.

    Raises:
        DeploymentError: there is no such path: the current folder is gone.
    """
    try:
        return Path(absolute(path))
    except OSError as error:
        why = f"cannot be found from the current folder: {error.strerror or error}"
        raise _unreadable(os.fspath(path), why) from None


def build(
    path: Path,
    files: Files,
    owner: Owner,
    tools: Tools | None,
    readings: Readings,
    locked: bool | None = None,
) -> Set:
    """The set that the files make. `locked`: by the `callgate.lock` beside the deployment; None: where it is
    there, or the settings want it.

    Raises:
        DeploymentError: something is wrong; it holds every diagnostic.
        SchemaError: what the host gives as `tools` are none.
    """
    file = str(path)
    try:
        text = files.read(file, LARGEST).decode("utf-8-sig")
    except OSError as error:
        raise _unreadable(file, f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise _unreadable(file, f"is no UTF-8 text, at byte {error.start}") from None
    settings, found = read_settings(text, path)
    if settings is None:
        raise _error(found, {file: without_passwords(text)})
    building = _Building(files, settings, text, found)
    return building.set(owner, tools, readings, locked=locked)


def nothing(old: Set, error: DeploymentError) -> Set:
    """What denies every call, for a deployment that does not keep its last good set: of the old rules it has
    what says which results count, since calls that went out before may still come back."""
    why = "the rules of this deployment could not be loaded"
    default = Default(Effect.DENY, why, passing=True)
    source = Source(blake2b(error.text.encode(), digest_size=16).hexdigest(), ())
    before = old.engine.rules
    rules = RuleSet(default=default, source=source, grounds=before.grounds, presets=before.presets)
    engine = Engine(rules, old.engine.tools)
    return replace(old, engine=engine, since=datetime.now(UTC), units=(), warnings=())


class _Building:
    """One load, with everything that was found wrong."""

    def __init__(self, files: Files, settings: Settings, text: str, found: list[Diagnostic]) -> None:
        self.files = files
        self.settings = settings
        self.found = found
        self.whole = settings.whole  # every rule file and pack that is meant is there
        self.texts = {settings.file: without_passwords(text)}
        # Where findings about given values stand, by what they name; of equal ones the first.
        lets: list[Place] = [*(("let", name) for name in settings.let), ("cwd",)]
        self.given = {given_let(str(each[-1])): each for each in reversed(lets)}
        self.entries = {each: ("packs", at) for at, each in reversed([*enumerate(settings.packs)])}

    def set(self, owner: Owner, given: Tools | None, readings: Readings, *, locked: bool | None) -> Set:
        lock = None if locked is False else self._lock(needed=bool(locked))
        library = Library(list(self.settings.packs), lock=lock, folder=self.settings.folder, files=self.files)
        texts = list(self._rules(library))
        tools = given if given is not None or self.settings.tools is None else self._tools(library)
        lets = dict(self.settings.let)
        if self.settings.cwd and "cwd" in lets:
            help_ = "keep `cwd`, and take this away"
            self._wrong("G704", "`let.cwd` is said by `cwd`, too", "let", "cwd", help=help_)
        if self.settings.cwd:
            lets["cwd"] = self.settings.cwd

        def check(tools: Tools | None) -> Checked:
            return check_rules(
                texts,
                tools=tools,
                packs=library,
                strict=True,
                loading=True,
                lets=lets,
                functions=owner.functions,
                readings=readings,
            )

        try:
            checked = check(tools)
        except (SchemaError, InputError) as error:
            if given is not None:
                raise
            self._wrong("G704", f"the tools cannot be used: {error}", "tools")
            checked = check(None)  # the rest that is wrong is said all the same
        self.texts |= checked.compiled.texts
        said = checked.diagnostics if self.whole else filter(_is_own, checked.diagnostics)
        self.found += map(self._placed, said)
        self._check_written()
        if any(each.severity is Severity.ERROR for each in self.found):
            raise _error(self.found, self.texts)
        engine = Engine(
            self._settled(checked.rules, tools),
            tools,
            limits=self.settings.limits,
            prepare=owner.prepare,
            policies=owner.policies,
        )
        return Set(
            self.settings,
            engine,
            self.files.there,
            datetime.now(UTC),
            lock is not None,
            tuple(self.found),
            checked.compiled.units,
            checked.files,
        )

    def _lock(self, needed: bool) -> Lock | None:
        """The lock beside the deployment; None where there is none, and none is needed."""
        path = os.path.join(self.settings.folder, LOCK)
        command = f"{COMMAND} {self.settings.file}"
        if not self.files.ask(os.path.lexists, path):
            if not needed and self.settings.lock != "required":
                return None
            help_ = f"put it back, or run `{command}`"
            self._wrong(
                "G517", f"{path}: there is no such file, and nothing is loaded without it", "lock", help=help_
            )
            raise _error(self.found, self.texts)
        try:
            return read_lock(path, self.files, command=command)
        except PackError as error:
            self._refused(error, "lock")
            raise _error(self.found, self.texts) from None

    def _rules(self, library: Library) -> Iterator[RuleText]:
        """The rule files, each once, in the order of the patterns."""
        seen: set[str] = set()
        for number, pattern in enumerate(self.settings.rules):
            names = [self._path(pattern)]
            if glob.has_magic(pattern):
                fitting = self.files.matching(str(self.settings.folder), os.path.expanduser(pattern))
                names = list(fitting.files)
                missing = () if names else (f"no file fits `{pattern[:128]}`",)
                for fault in fitting.faults or missing:
                    self.whole = False
                    self._wrong("G706", fault, "rules", number)
            for name in names:
                place = self.files.ask(os.path.realpath, name)
                if place in seen:
                    continue
                seen.add(place)
                try:
                    yield library.rule_file(name)
                except PackError as error:
                    self.whole = False
                    folder = self.files.ask(os.path.isdir, name)
                    self._refused(error, "rules", number, help=f"write `{pattern}/*.gate`" if folder else "")

    def _tools(self, library: Library) -> Any:
        assert self.settings.tools is not None
        path = self._path(self.settings.tools)
        try:
            data = self.files.read(path)
            library.admit_file(path, data)
            found = decode_document(data, path)
        except PackError as error:
            self._refused(error, "tools")
            return None
        except OSError as error:
            self._wrong("G706", f"{path}: cannot be read: {error.strerror or error}", "tools")
            return None
        except DocumentError as error:
            self._wrong("G706", f"{path}: {error}", "tools")
            return None
        if not isinstance(found, dict | list):
            self._wrong("G706", f"{path}: tools are names with schemas, or a list of definitions", "tools")
            return None
        return found

    def _check_written(self) -> None:
        """What is written, the log and the file of the store, is nothing that the deployment is made of."""
        settings = self.settings
        log = settings.log.files if settings.log is not None else ()
        files = [*self.files.there, os.path.join(settings.folder, LOCK), *settings.store_files]
        if settings.tools is not None:  # the host may have given others
            files.append(self._path(settings.tools))
        mine = {_identity(each): each for each in files}
        hit = next((each for each in log if _identity(each) in mine), None)
        if hit is not None:
            how = "names" if hit == log[0] else "is rotated to"
            what = f"`{mine[_identity(hit)]}`, which is a file of this deployment"
            message = f"`log.to` {how} {what}: a decision would destroy it"
            self._wrong("G704", message, "log", "to", help="name another file, such as `./decisions.jsonl`")
        else:
            self._check_fits(log, "log", "to")
        self._check_fits(settings.store_files, "state")

    def _check_fits(self, written: Sequence[str], *place: str) -> None:
        """What is written fits no pattern of `rules`, whether it is there yet or not."""
        for pattern in filter(glob.has_magic, self.settings.rules):
            inside = os.path.expanduser(pattern)
            if any(fits(str(self.settings.folder), inside, each) for each in written):
                what = f"`{pattern[:128]}`, a pattern of `rules`: it would be read as rules"
                help_ = "name a file in another folder, or end the pattern with `*.gate`"
                self._wrong("G704", f"a file of `{'.'.join(place)}` fits {what}", *place, help=help_)
                return

    def _refused(self, error: PackError, *place: str | int, help: str = "") -> None:
        code = "G706" if error.code == "G505" else error.code
        self._wrong(code, str(error), *place, help=error.help or help)

    def _path(self, name: str) -> str:
        """A path from the folder of the deployment."""
        return self.files.ask(absolute, os.path.join(self.settings.folder, os.path.expanduser(name)))

    def _settled(self, rules: RuleSet, tools: Any) -> RuleSet:
        """The rules under the deployment's policy and default, with a digest of all that decides."""
        settings = self.settings
        why = settings.why or _WHY.get(settings.default, "")
        default = Default(Effect(settings.default), why)
        policies = (PolicyRule(settings.policy, None),) if settings.policy is not None else rules.policies
        known = json.dumps(tools, sort_keys=True)
        models = sorted(settings.models.items())
        parts = (rules.source.engine, default, policies, models, settings.limits, known)
        digest = blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return replace(rules, default=default, policies=policies, source=Source(digest, rules.source.packs))

    def _placed(self, found: Diagnostic) -> Diagnostic:
        """A finding about a given value, at its setting."""
        settings = self.settings
        if found.file == "<packs>":
            place: Place | None = self.entries.get(found.about, ("packs",))
        else:
            place = self.given.get(found.file)
        return found if place is None else replace(found, file=settings.file, span=settings.at(*place))

    def _wrong(self, code: str, message: str, *place: str | int, help: str = "") -> None:
        span = self.settings.at(*place)
        self.found.append(Diagnostic(code, message, span, help=help, file=self.settings.file))


def _unreadable(file: str, why: str) -> DeploymentError:
    help_ = "name the deployment file, and let this process read it"
    return _error([Diagnostic("G706", f"{file}: {why}", help=help_, file=file)], {})


def _identity(path: str) -> object:
    """Equal for paths that lead to one file, be it there or not."""
    try:
        found = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return (found.st_dev, found.st_ino)


def _is_own(each: Diagnostic) -> bool:
    """Would this be said also if no rule file or pack were missing: no `let` of a name, not read?"""
    return each.code not in ("G114", "G515")


def _error(found: list[Diagnostic], texts: Mapping[str, str]) -> DeploymentError:
    """Everything that was found, with the errors, which are why it does not load, before the warnings."""
    found = sorted(found, key=lambda each: each.severity is not Severity.ERROR)
    text = render_text(found[:MOST], texts)
    if len(found) > MOST:  # a log gets it as one line
        text += f"\nand {len(found) - MOST} more"
    return DeploymentError(tuple(found), text)
