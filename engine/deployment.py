"""A deployment: packs, rule files, tools and settings as one engine, which is loaded anew while calls run.

Source: `docs/deployments.md`. A call takes the set in force once, and a turn keeps the one it began with.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import ref

from msgspec import Struct
from msgspec.structs import replace

from ..grammar.ast import Json
from ..grammar.diagnostics import Diagnostic, render_text
from .blame import is_of_the_host
from .definitions import Tools, declared
from .deploying import Owner, Set, build, nothing, whole_path
from .engine import Engine
from .errors import DeploymentError, InputError, StoreError
from .files import Files
from .loading import check_host
from .log import DecisionLog, LogCounts
from .readings import Readings
from .settings import Settings
from .stores._forks import watch_forks
from .telling import Telling, say
from .tools import own_copy, read_tools
from .units import Unit
from .verdict import Verdict

if TYPE_CHECKING:
    from .admission import Policy
    from .grounding import Verifier
    from .offer import Stage
    from .otel import Telemetry
    from .plan import Hook
    from .reload import Watch, Watched
    from .session import Session, Told
    from .stores import Store

Stale: TypeAlias = "tuple[datetime, str]"  # since when, and why; an error would hold what it was raised in
_TRIES = 20  # readings of files that keep changing, before a load fails
_QUIET = 0.1  # seconds, before there are settings
_FIRST, _LONGEST = 1.0, 30.0  # seconds until a watch tries again what cannot be loaded
_SETS = 8  # sets that turns may still be on


class Status(Struct, frozen=True):
    """What is in force, and whether it is what the files say.

    `since`: when it was put in force. `stale_since`: since when the files say something else, which could not
    be loaded; `error` says what is wrong and where. `expired`: `disable` statements past their day, which
    hold all the same. `loads` and `failures` count from the start. `locked`: by a `callgate.lock`, without
    which nothing else is loaded any more. `warnings`: what is no error and yet to be said of what is in
    force, a line each. Times are UTC.
    """

    digest: str
    since: datetime
    stale_since: datetime | None
    error: str | None
    packs: tuple[str, ...]
    files: tuple[str, ...]
    expired: tuple[str, ...]
    loads: int
    failures: int
    locked: bool
    warnings: tuple[str, ...]


def load(
    path: str | os.PathLike[str],
    *,
    tools: Tools | None = None,
    prepare: Mapping[str, Hook] | None = None,
    functions: Mapping[str, Callable[[Json], Json]] | None = None,
    policies: Sequence[Policy] = (),
    log: Callable[[dict[str, Any]], object] | None = None,
    telemetry: Telemetry | None = None,
    watch: bool = True,
) -> Deployment:
    """Load a deployment.

    Args:
        path: `deployment.yaml`.
        tools: the registered tools, in the place of the file that `tools` names.
        prepare: hooks of the tools' owners. `functions`: what `call NAME` may name. `policies`: what the host
            adds to the admission of places under a `bound`.
        log: is given each line of the decision log, in the place of the file that `log` names.
        telemetry: is told of each decision; see `engine.otel`.
        watch: False: not even where the deployment says `watch: true`.

    Raises:
        DeploymentError: something is wrong with the file, or with what it names; it holds every diagnostic.
        SchemaError: `tools` are none. InputError: an argument is of another type.
    """
    if not isinstance(path, str | os.PathLike) or type(os.fspath(path)) is not str:
        raise InputError(f"a deployment is named by its path, not by `{type(path).__name__}`")
    if "\0" in os.fspath(path):
        raise InputError("the path of a deployment holds a NUL, which no path can")
    check_host(prepare, functions, policies)
    _check_rest(path, log, telemetry, watch)
    owner = Owner(dict(prepare or {}), dict(functions or {}), tuple(policies))
    return Deployment(Path(path), owner, own_copy(tools), log, telemetry, watch=watch)


def _check_rest(path: str | os.PathLike[str], log: object, telemetry: object, watch: object) -> None:
    try:
        os.fsencode(path)
    except UnicodeError:
        raise InputError("the path of a deployment holds what no path can") from None
    if log is not None and not callable(log):
        raise InputError(
            f"`log` is a function, not `{type(log).__name__}`; a file is named in the deployment"
        )
    if telemetry is not None and not callable(getattr(telemetry, "decided", None)):
        raise InputError(f"`telemetry` has `decided`, and `{type(telemetry).__name__}` has not")
    if type(watch) is not bool:
        raise InputError(f"`watch` is true or false, not `{type(watch).__name__}`")


class Deployment:
    """An engine over the files of a deployment. Serves every thread; made by `load`."""

    def __init__(
        self,
        path: Path,
        owner: Owner,
        tools: Tools | None,
        log: Callable[[dict[str, Any]], object] | None,
        telemetry: Telemetry | None,
        *,
        watch: bool,
    ) -> None:
        self.path = whole_path(path)
        self._owner = owner
        self._tools = tools  # the host's, or None
        self._readings = Readings()
        self._lock = threading.RLock()  # one load at a time
        self._busy = False  # in a load
        self._wanted = False  # what runs inside of a load, such as a handler of a signal, asked for another
        self._cut = False  # a load has not come to its end: it goes on, or something cut it off
        self._ending = threading.Event()  # somebody waits to close this: a load gives up
        self._watching = threading.RLock()
        self._blind = ""  # why the files are not watched, though they should be
        self._forked = False
        self._pause = self._again = 0.0  # until what cannot be loaded is tried again, and when that is
        self._loads, self._failures = 1, 0
        self._files = Files()  # of the last load, whether it was good or not
        self._quiet: Files | None = None  # the last that stayed as they were for long enough
        self._closed = False
        first = self._read(_QUIET, locked=None)
        self._store = self._opened(first.settings)
        # Weak, so that a deployment that nobody holds goes at once, and its watch with it.
        me = ref(self)
        self._telling = telling = Telling(
            self.path, log, telemetry, lambda: 0.0 if (here := me()) is None else here._stale_seconds()
        )
        self._sets: dict[str, Set] = {}
        self._voided = 0  # how often sets that turns were on ceased to count
        self._put(replace(first, log=telling.logs.of(first.settings.log)), None)
        self._watch: Watch | None = None
        self._asked = not watch  # the host settles itself whether there is one
        watch_forks(self)
        self._warn(first, None)
        self._obey()

    @property
    def _set(self) -> Set:
        return self._state[0]

    # What is in force -------------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """The engine in force. It never changes; a load puts another one in its place."""
        return self._set.engine

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._set.settings

    @property
    def digest(self) -> str:
        """Digest of the rules in force, as verdicts carry it."""
        return self._set.engine.digest

    @property
    def packs(self) -> tuple[str, ...]:
        """The packs in force, as `name@version`."""
        return self._set.engine.packs

    @property
    def status(self) -> Status:
        """What is in force, and whether it is what the files say."""
        now, stale = self._state
        return Status(
            now.engine.digest,
            now.since,
            stale[0] if stale is not None else None,
            stale[1] if stale is not None else None,
            now.engine.packs,
            now.files,
            now.expired(),
            self._loads,
            self._failures,
            now.locked,
            (*now.said, self._blind) if self._blind else now.said,
        )

    @property
    def units(self) -> tuple[Unit, ...]:
        """The rule files in force, as they were read."""
        return self._set.units

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is to be said of the set in force, though it is no error."""
        return self._set.warnings

    # Calls ------------------------------------------------------------------------------------

    def check(
        self,
        tool: str,
        arguments: object,
        *,
        model: str | None = None,
        schema: Json = None,
        tools: Tools | None = None,
        context: Mapping[str, Json] | None = None,
        stop_reason: str | None = None,
        call_id: str | None = None,
    ) -> Verdict:
        """`Engine.check` through the set in force. `tools`: in the place of the registered ones, for this
        call; `call_id`: for the log."""
        return self._judge(tool, arguments, model, schema, tools, context, stop_reason, call_id, text=False)

    def check_text(
        self,
        tool: str,
        text: str,
        *,
        model: str | None = None,
        schema: Json = None,
        tools: Tools | None = None,
        context: Mapping[str, Json] | None = None,
        stop_reason: str | None = None,
        call_id: str | None = None,
    ) -> Verdict:
        """`Engine.check_text` through the set in force; `tools` and `call_id` as in `check`."""
        return self._judge(tool, text, model, schema, tools, context, stop_reason, call_id, text=True)

    def session(
        self,
        id: str | None = None,
        *,
        model: str | None = None,
        tools: Tools | None = None,
        context: Mapping[str, Json] | None = None,
        stages: Sequence[Stage] = (),
        state: bytes | str | None = None,
        claim_surface: Iterable[str] = (),
        verifier: Verifier | None = None,
        threshold: float = 0.5,
        store: Store | None = None,
    ) -> Session:
        """`Engine.session`. Each turn is on the set that was in force when it began.

        `store`: the one of `state` in the deployment, where the session has an id and none is given.
        """
        if store is None and id is not None and state is None:
            store = self._store

        def told(log: DecisionLog | None, *seen: Any, text: bool) -> None:
            verdict, sent, before, began, *rest = seen
            self._telling.tell(log, verdict, sent, before, began, model, *rest, text=text)

        voided, on = self._voided, self._set

        def follow(digest: str | None, own: Tools | None) -> tuple[Engine, str | None, Told] | None:
            nonlocal voided, on
            if digest == on.engine.digest and voided == self._voided:
                return None
            voided, now = self._voided, self._set  # in this order: what comes between is seen next time
            on = now if digest is None else self._sets.get(digest, now)
            engine = on.engine if own is None else on.engine.over(own)
            return engine, on.settings.model(model), partial(told, on.log)

        return on.engine.session(
            id,
            model=on.settings.model(model),
            tools=tools,
            context=context,
            stages=stages,
            state=state,
            claim_surface=claim_surface,
            verifier=verifier,
            threshold=threshold,
            store=store,
            follow=follow,
            told=partial(told, on.log),
        )

    def metrics(self) -> str:
        """The counters, in Prometheus' text format: decisions, rules, the log, loads."""
        return self._telling.metrics.text()

    def _judge(
        self,
        tool: str,
        sent: Any,
        model: str | None,
        schema: Json,
        tools: Tools | None,
        context: Mapping[str, Json] | None,
        stop_reason: str | None,
        call_id: str | None,
        *,
        text: bool,
    ) -> Verdict:
        began = perf_counter_ns()
        now = self._set  # once: a load may put another in its place meanwhile
        engine = now.engine if tools is None else now.engine.over(tools)
        known = now.settings.model(model)
        judge = engine.check_text if text else engine.check
        verdict = judge(tool, sent, model=known, schema=schema, context=context, stop_reason=stop_reason)
        tell = self._telling.tell
        tell(now.log, verdict, tool, sent, began, model, known, None, call_id, stop_reason, text=text)
        return verdict

    @property
    def log_counts(self) -> LogCounts:
        """What became of the decisions that were logged: written, dropped, failed, and why."""
        return self._telling.logs.counts

    def _stale_seconds(self) -> float:
        stale = self._state[1]
        return 0.0 if stale is None else max((datetime.now(UTC) - stale[0]).total_seconds(), 0.0)

    # Loading ----------------------------------------------------------------------------------

    def reload(self) -> Status:
        """Read everything again; what is on disk is in force afterwards, or the last good set still is.

        Does not raise for what is wrong with the files: `status.error` says it. Inside of a load, as in a
        handler of a signal, it does not wait for it: the load looks again when it is done.
        """
        with self._lock:
            self._load()
            return self.status

    def refresh(self) -> Status:
        """`reload`, where anything is not as it was read last."""
        with self._lock:
            # What is wrong may lie in something that was never read: a pack, a variable, the store's folder.
            if self._cut or self._state[1] is not None or self._changed():
                self._load()
            elif self._blind:
                self._obey()
            return self.status

    def notice(self, happened: bool) -> None:
        """What a watch does again and again: `refresh`, where something may have happened.

        What is wrong, and is as it was read, is tried again ever more seldom.
        """
        with self._lock:
            again = self._cut or (self._state[1] is not None and time.monotonic() >= self._again)
            if again or (happened and self._changed()):
                self._load()

    @property
    def watched(self) -> Watched:
        """What `watch` looks at."""
        from .reload import Watched

        settings = self._set.settings
        own = {*settings.store_files, *(settings.log.files if settings.log is not None else ())}
        folders = tuple(sorted(self._files.folders))
        places = tuple(_place(each) for each in folders)
        # In a forked child the watcher's own thread was seen to sleep through what it was asked.
        return Watched(folders, frozenset(own), True if self._forked else settings.poll, places)

    def set_tools(self, tools: Tools | None) -> Status:
        """Other registered tools: everything is checked against them as in `reload`, with the same outcome.

        Where something is wrong with the files, they are in force with the next load that works. None: the
        file that `tools` names.

        Raises:
            SchemaError: they are no tools; nothing changes.
        """
        given = own_copy(tools)
        read_tools(given)
        if given is not None:
            declared(given)
        with self._lock:
            if self._busy:
                raise InputError("a deployment is given no other tools by what runs inside of its own loads")
            self._tools = given  # before: what loads anew meanwhile takes these
            self._load()
            return self.status

    def watch(self) -> Watch:
        """Load anew whenever the files change, in a thread of its own. Give it back with `close`.

        Raises:
            DeploymentError: the system has no thread left, or it is closed.
        """
        with self._watching:
            if self._closed:
                raise DeploymentError((), f"{self.path}: it is closed, so it is not watched; load it anew")
            try:
                watch = self._begin()
            except RuntimeError as error:
                raise DeploymentError((), f"{self.path}: its files cannot be watched: {error}") from None
            self._asked = True
            return watch

    def _begin(self) -> Watch:
        from .reload import Watch

        if self._watch is None or self._watch.ended:
            self._watch = Watch(self)
        elif not self._watch.alive:
            self._watch.resume()
        self._blind = ""
        return self._watch

    def _obey(self) -> None:
        """Watch, or do so no longer, as the settings say, where the host did not say so itself."""
        with self._watching:
            if self._closed:
                return
            watch = self._watch
            if self.settings.watch if not self._asked else watch is not None and not watch.ended:
                self._try_to_watch()
            elif watch is not None and not self._asked:
                watch.stop()
                self._watch, self._blind = None, ""

    def _try_to_watch(self) -> None:
        try:
            self._begin()
        except RuntimeError as error:  # the system has no thread left
            said = f"its files are not watched: {error}"
            if said != self._blind:
                say(logging.WARNING, "%s: %s", self.path, said)
            self._blind = said

    def close(self) -> None:
        """Stop watching, and let go of the store and the log. Calls still get verdicts."""
        with self._watching:
            self._closed = True
            self._ending.set()
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()
        with self._lock:  # a load that goes on ends first
            self._ending.clear()
            self._store.close()
            self._telling.logs.close()

    def before_fork(self) -> None:
        """Nothing has to be done before."""

    def after_fork(self, in_child: bool) -> None:
        """In a child no other thread goes on: neither with a load that it was at, nor with watching."""
        if in_child:
            self._lock, self._watching = threading.RLock(), threading.RLock()
            self._ending, self._busy, self._forked = threading.Event(), False, True
            if self._watch is not None and not self._watch.ended:
                self._try_to_watch()

    def __enter__(self) -> Deployment:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self) -> None:
        """Put in force what is on disk, where that is good. Held by one thread."""
        self._wanted = self._busy
        if self._busy:
            return
        self._renew()
        while self._wanted:
            self._wanted = False
            if self._changed():
                self._renew()
        self._obey()

    def _renew(self) -> None:
        before, stale = self._state
        self._busy = self._cut = True
        try:
            try:
                # Once locked, always: else whoever takes the lock away could put anything in force.
                new = self._read(before.settings.quiet, locked=before.locked or None)
                if new.settings.state != before.settings.state and not self._closed:
                    self._store = self._opened(new.settings)
                new = replace(new, log=self._telling.logs.of(new.settings.log))
            except _Closed:
                return
            except BaseException as error:  # a fault of ours must not end a watch, nor be silent
                if is_of_the_host(error):
                    raise
                self._failed(before, stale, error)
                return
            self._loads += 1
            lapsed = stale is not None and not before.settings.keep_last_good
            if new.engine.digest == before.engine.digest:
                new = replace(new, since=before.since)
            self._put(new, None, alone=lapsed)
            self._cut = False
            self._telling.metrics.reloaded(True)
        finally:
            self._busy = False
        # Who was told of a failure is told that it is over.
        level = logging.INFO if stale is None else logging.WARNING
        say(level, "%s: loaded, %s", self.path, new.engine.digest)
        self._warn(new, before)

    def _warn(self, new: Set, before: Set | None) -> None:
        """Its warnings, to the program's log, once for a set."""
        known = None if before is None else (before.engine.digest, before.said)
        if new.said and known != (new.engine.digest, new.said):
            say(logging.WARNING, "%s: loaded, with warnings:\n%s", self.path, "\n".join(new.said))

    def _failed(self, before: Set, stale: Stale | None, fault: BaseException) -> None:
        """A load failed: what was in force stays, or nothing is allowed."""
        text = f"{self.path}: {type(fault).__name__}: {fault}"
        error = fault if isinstance(fault, DeploymentError) else DeploymentError((), text)
        self._failures += 1
        known = stale is not None and stale[1] == error.text
        self._pause = min(self._pause * 2, _LONGEST) if known else _FIRST
        self._again = time.monotonic() + self._pause
        kept = before if before.settings.keep_last_good else nothing(before, error)
        since = stale[0] if stale is not None else datetime.now(UTC)
        self._put(kept, (since, error.text), alone=kept is not before)
        self._cut = self._busy = False  # a handler of the program's log may want another load
        self._telling.metrics.reloaded(False)
        if not known:
            say(logging.WARNING, "%s: cannot be loaded, %s: %s", self.path, _instead(before), error.text)

    def _changed(self) -> bool:
        """Is anything not as it was read? Where that cannot be told, the next load says why."""
        try:
            return not self._files.unchanged()
        except Exception as error:
            if is_of_the_host(error):
                raise
            return True

    def _put(self, new: Set, stale: Stale | None, *, alone: bool = False) -> None:
        """Put a set in force. `alone`: turns that are on another one go on with it, too."""
        kept = {} if alone else self._sets
        sets = {name: each for name, each in kept.items() if name != new.engine.digest}
        sets[new.engine.digest] = new
        self._sets = {digest: sets[digest] for digest in list(sets)[-_SETS:]}
        self._state: tuple[Set, Stale | None] = (new, stale)
        self._voided += alone

    def _read(self, quiet: float, *, locked: bool | None) -> Set:
        """What is on disk, where what is new or changed stays as it is from its first reading for so long."""
        for _ in range(_TRIES):
            files = Files()
            self._readings.begin()
            found: Set | BaseException
            try:
                found = build(self.path, files, self._owner, self._tools, self._readings, locked)
            except BaseException as error:
                if is_of_the_host(error):
                    raise
                found = error
            if self._ending.wait(files.until_quiet(quiet, self._quiet)):
                raise _Closed
            settled = files.settled()
            self._files = files  # not before: other threads look at it
            if settled:
                self._quiet = files
                if isinstance(found, BaseException):
                    raise found
                self._readings.keep()
                return found
        raise DeploymentError((), f"{self.path}: the files keep changing while they are read; try again")

    def _opened(self, settings: Settings) -> Store:
        from .stores import open_store

        try:
            return open_store(settings.state)
        except (InputError, StoreError) as error:
            span = settings.at("state")
            found = Diagnostic("G704", f"`state` cannot be used: {error}", span, file=settings.file)
            raise DeploymentError((found,), render_text((found,), {})) from None


class _Closed(Exception):
    """The deployment is being closed: a load has no outcome."""


def _instead(before: Set) -> str:
    """What is in force where a load failed."""
    return "the last good rules stay in force" if before.settings.keep_last_good else "every call is denied"


def _place(folder: str) -> tuple[int, int]:
    try:
        found = os.stat(folder)
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)
