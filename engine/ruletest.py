"""Runs the tests that stand in rule files: calls, and whole turns, through the file's own rules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from ..grammar.ast import Json
from ..grammar.diagnostics import Diagnostic, Severity
from ..rules.kind import Phase, Title
from ..rules.palettes import Force
from ..rules.statements import ToolBlock
from ..rules.strictjson import equal
from ..rules.testblock import CallStep, Expectation, FinishStep, OfferStep, ReasonStep, TestCase
from . import messages
from .absent import Absent
from .compiler import Compiler
from .engine import Engine
from .errors import CallgateError
from .ir import PolicyRule, RuleSet
from .packs import Library
from .plan import glob_matches
from .rulenames import fits
from .selector import MISSING, pointer
from .units import Unit, Written, all_units
from .verdict import Outcome, Verdict

if TYPE_CHECKING:
    from .session import Session

Titles: TypeAlias = Mapping[str, str | None]  # structural IDs by the names of their rules
_DIFFERENCES = 10  # shown for one test


def run_tests(compiler: Compiler, unit: Unit) -> list[Diagnostic]:
    """Run a file's tests against that file and what it uses; one diagnostic for each that fails."""
    if not unit.tests:
        return []
    units = all_units((unit,))
    documents = [_document(compiler.library, *each) for each in _documents(units)]
    trees = [each.tree for each in units]
    files = [each.file for each in units]
    key = ("tests", *map(id, trees), *files, *documents, compiler.named, compiler.today)

    def make() -> list[Diagnostic]:
        rules = compiler.link((replace_top(unit),), own_values=True).rules
        bench = _Bench(unit, rules, compiler.library)
        return [each for case, block in unit.tests for each in bench.run(case, block)]

    return list(compiler.readings.get(key, (trees, compiler.functions), make))


def _documents(units: list[Unit]) -> Iterator[tuple[Any, str]]:
    """The JSON files that the rules, and the last one's tests, look up, with the folders of their files."""
    for case, _ in units[-1].tests:
        if case.tools is not None:
            yield units[-1].source.folder, case.tools
    for unit in units:
        for item in unit.items:
            if isinstance(item, Written) and isinstance(item.spec.clauses.get("source"), str):
                yield unit.source.folder, item.spec.clauses["source"]


def _document(library: Library, folder: Any, name: str) -> str:
    try:
        return json.dumps(library.document(folder, name), sort_keys=True)
    except CallgateError as error:
        return str(error)


def replace_top(unit: Unit) -> Unit:
    """The unit as the top of a set of its own, so that its own policy and default count."""
    return replace(unit, top=True)


def count_tests(units: tuple[Unit, ...]) -> int:
    """How many tests stand in these files and what they use."""
    return sum(len(unit.tests) for unit in all_units(units))


class _Bench:
    """Runs the tests of one file, with one engine for all that run over the same tools."""

    def __init__(self, unit: Unit, rules: RuleSet, library: Library) -> None:
        self._unit = unit
        self._rules = rules
        self._library = library
        self._engines: dict[tuple[str | None, str | None], Engine] = {}
        self._titles = {
            each.name: each.spec.title for each in rules.rules if each.kind.title is Title.REQUIRED
        }

    def run(self, case: TestCase, block: ToolBlock | None) -> list[Diagnostic]:
        try:
            engine = self._engine(case)
            session = engine.session(model=case.model, context=_context(case)) if case.in_session else None
        except CallgateError as error:
            return [Diagnostic("G403", f"test `{case.title}`: {error}", case.span, file=self._unit.file)]
        found = _run(case, block, self._unit, engine, session, self._titles)
        functions = self._rules.functions
        needed = functions.taken() if isinstance(functions, Absent) else ()
        if found and needed:
            message = f"test `{case.title}` is not run: the host gives `{needed[0]}`, and is not here"
            return [Diagnostic("G223", message, case.span, Severity.WARNING, file=self._unit.file)]
        return found

    def _engine(self, case: TestCase) -> Engine:
        named = case.in_session and case.tools is None
        key = (case.policy, case.tools)
        if key in self._engines and not named:
            return self._engines[key]
        rules, tools = self._rules, None
        if case.policy is not None:
            rules = replace(rules, policies=(PolicyRule(case.policy, None),))
        if case.tools is not None:
            tools = self._library.document(self._unit.source.folder, case.tools)
        elif named:
            tools = _named_tools(case, self._unit)
        engine = Engine(rules, tools)  # type: ignore[arg-type]
        if not named:
            self._engines[key] = engine
        return engine


def _run(
    case: TestCase,
    block: ToolBlock | None,
    unit: Unit,
    engine: Engine,
    session: Session | None,
    titles: Titles,
) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for number, step in enumerate(case.steps):
        span = step.span
        if isinstance(step, CallStep):
            tool = step.tool or _only_tool(block)
            if tool is None:
                help_ = "write `call TOOL {…}`"
                message = f"test `{case.title}`: which tool is called?"
                found.append(Diagnostic("G403", message, span, help=help_, file=unit.file))
                continue
            span = step.expectation.span if step.expectation is not None else span
            wrong = _judge(engine, session, case, step, tool, f"call-{number}", titles)
        elif session is None:
            continue  # a step without a call is one of a session
        elif isinstance(step, OfferStep):
            wrong = _offer(session, step)
        elif isinstance(step, FinishStep):
            wrong = _finish(session, step)
        else:
            session.reason() if isinstance(step, ReasonStep) else session.user(step.text)
            wrong = []
        if wrong and session is None and unit.palettes:
            wrong.append("palettes apply in a session: begin the test with `user` or `offer expect …`")
        if wrong:
            head, *rest = wrong
            message = f"test `{case.title}` fails: {head}"
            found.append(Diagnostic("G402", message, span, help="\n".join(rest), file=unit.file))
    return found


def _context(case: TestCase) -> dict[str, Json] | None:
    return dict(case.context) if case.context is not None else None


def _named_tools(case: TestCase, unit: Unit) -> dict[str, Json]:
    """The tools that a test of turns registers where it gives none: those that its files and it name."""
    names: dict[str, Json] = {}
    misspelt: list[str] = []  # what `rename` rules mend is no tool
    for each in all_units((unit,)):
        for item in each.items:
            if isinstance(item, Written):
                names.update((name.text, None) for name in item.block.names if not name.glob)
                misspelt += item.spec.clauses.get("from", ()) if item.kind.phase is Phase.NAME else ()
        for statement in (statement for palette in each.palettes for statement in palette.statements):
            if isinstance(statement, Force):
                names[statement.tool] = None
            else:
                names.update((name.text, None) for name in statement.names if not name.glob)
    for step in case.steps:
        if isinstance(step, OfferStep):
            names.update((name, None) for name in step.names)
        elif isinstance(step, CallStep) and step.tool is not None:
            if not any(glob_matches(each, step.tool) for each in misspelt):
                names.setdefault(step.tool, None)
    return names


def _offer(session: Session, step: OfferStep) -> list[str]:
    """What differs in what a request offers and forces."""
    try:
        palette = session.offer()
    except CallgateError as error:
        return [f"the request is refused: {error}"]
    got = palette.registered if palette.names is None else palette.names
    if set(got or ()) != set(step.names):
        return [
            "the request offers something else",
            f"wanted {_listed(step.names)}, got {_listed(got or ())}",
        ]
    if palette.forced != step.forced:
        wanted = f"wanted {step.forced or 'none'} to be forced, got {palette.forced or 'none'}"
        return ["the request forces something else", wanted]
    return []


def _finish(session: Session, step: FinishStep) -> list[str]:
    """What differs in whether a claim is let out."""
    decision = session.finish(step.claim)
    if decision.accepted is step.accepted:
        return []
    wanted = "accepted" if step.accepted else "rejected"
    owed = f"owed: {', '.join(decision.owed)}" if decision.owed else ""
    said = [each for each in (owed, decision.message or "") if each]
    return [f"wanted the {step.claim} {wanted}, and it was not", *said]


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "no tool"


def _only_tool(block: ToolBlock | None) -> str | None:
    names = block.names if block is not None else ()
    return names[0].text if len(names) == 1 and not names[0].glob else None


def _judge(
    engine: Engine,
    session: Session | None,
    case: TestCase,
    step: CallStep,
    tool: str,
    call_id: str,
    titles: Titles,
) -> list[str]:
    """What differs: a head line and a line per difference; nothing where the test holds."""
    raw = step.raw and isinstance(step.arguments, str)
    try:
        if session is not None:
            call = session.call_text if raw else session.call
            verdict = call(tool, step.arguments, call_id=call_id, stop_reason=case.stop)  # type: ignore[arg-type]
            if step.answered:
                session.result(call_id, step.error or step.result, ok=step.error is None)
        else:
            check = engine.check_text if raw else engine.check
            verdict = check(
                tool,
                step.arguments,  # type: ignore[arg-type]
                model=case.model,
                context=_context(case),
                stop_reason=case.stop,
            )
    except CallgateError as error:
        return [f"the call cannot be judged: {error}"]
    if step.expectation is None:
        said = verdict.reason or verdict.retry_message or verdict.outcome.value
        return [] if verdict.allowed else [f"the call did not run: {said}"]
    return _compare(step.expectation, verdict, titles)


def _compare(wanted: Expectation, verdict: Verdict, titles: Titles) -> list[str]:
    outcome = verdict.outcome.value
    if outcome != wanted.outcome:
        lines = [f"wanted {wanted.outcome}, got {outcome}"]
        if verdict.changes:
            lines.append("arguments: " + messages.text_of(verdict.arguments, messages.RECEIVED))
            lines += [
                f"{each.path or 'the whole value'} was changed by {each.rule}" for each in verdict.changes
            ]
        said = verdict.reason or verdict.retry_message
        return [*lines, f"it said: {said}"] if said else lines
    if wanted.outcome == Outcome.REPAIRED and not equal(wanted.arguments, verdict.arguments):
        return ["the arguments differ", *difference(wanted.arguments, verdict.arguments)]
    if wanted.by is not None:
        return _by(wanted.by, verdict, titles)
    said = (verdict.reason if wanted.outcome in ("denied", "asked") else verdict.retry_message) or ""
    if wanted.part is not None and wanted.part not in said:
        return [f"the message lacks {messages.text_of(wanted.part, 100)!r}", f"it says: {said}"]
    return []


def _by(entries: tuple[str, ...], verdict: Verdict, titles: Titles) -> list[str]:
    """`by` is exact as a set: every change fits an entry, and every entry a change."""
    changes = {(each.rule, each.kind) for each in verdict.changes}
    lines = [
        f"no entry for the change by `{rule}` ({kind})"
        for rule, kind in sorted(changes)
        if not any(fits(entry, rule, titles.get(rule), kind) for entry in entries)
    ]
    lines += [
        f"nothing was changed by `{entry}`"
        for entry in entries
        if not any(fits(entry, rule, titles.get(rule), kind) for rule, kind in changes)
    ]
    return ["other rules changed the call than `by` says", *lines] if lines else []


def difference(wanted: Json, got: Json) -> list[str]:
    """A line per place that differs, at most ten. Iterative."""
    lines: list[str] = []
    stack: list[tuple[tuple[str | int, ...], object, object]] = [((), wanted, got)]
    while stack and len(lines) < _DIFFERENCES:
        path, left, right = stack.pop()
        if type(left) is dict and type(right) is dict:
            keys = sorted({*left, *right}, reverse=True)
            stack.extend(((*path, key), left.get(key, MISSING), right.get(key, MISSING)) for key in keys)
        elif type(left) is list and type(right) is list and len(left) == len(right):
            stack.extend(((*path, n), left[n], right[n]) for n in range(len(left) - 1, -1, -1))
        elif left is MISSING or right is MISSING or not equal(left, right):
            lines.append(f"{pointer(path) or 'the whole value'}: wanted {_show(left)}, got {_show(right)}")
    return lines


def _show(value: object) -> str:
    if value is MISSING:
        return "nothing"
    shown = messages.text_of(value, 80)
    return f'"{shown}"' if type(value) is str else shown
