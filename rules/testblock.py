"""The tests in rule files, read: calls, requests and results, and what must become of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeAlias

from msgspec import Struct

from ..grammar.ast import Json, Statement, Text
from ..grammar.diagnostics import Diagnostic, Severity
from ..grammar.span import NOWHERE, Span
from . import faults
from .fitting import items_and_block, read_form
from .forms import FORMS
from .shapes import Fields

SETTINGS = frozenset({"model", "policy", "context", "tools", "stop"})


class Expectation(Struct, frozen=True):
    """What must become of a call.

    `arguments`: of `repaired` alone, the arguments by value and type. `by`: entries that the changes must
    fit, exactly as a set; None where not said. `part`: a part of the message to the model, or of the reason.
    """

    outcome: str
    arguments: Json = None
    by: tuple[str, ...] | None = None
    part: str | None = None
    span: Span = NOWHERE


class CallStep(Struct, frozen=True):
    """One call. Where it was written as text, `raw`, `arguments` is that text, to be read as it came.

    `answered`: a result came, with `result`, or with `error` where it failed. `expectation` None: the call
    may run.
    """

    arguments: Json
    expectation: Expectation | None
    raw: bool = False
    tool: str | None = None
    answered: bool = False
    result: Json = None
    error: str | None = None
    span: Span = NOWHERE


class UserStep(Struct, frozen=True):
    """A turn begins."""

    text: str | None = None
    span: Span = NOWHERE


class OfferStep(Struct, frozen=True):
    """A request: exactly these tools are offered, and this one is forced, or none."""

    names: tuple[str, ...]
    forced: str | None = None
    span: Span = NOWHERE


class ReasonStep(Struct, frozen=True):
    """The model thinks."""

    span: Span = NOWHERE


class FinishStep(Struct, frozen=True):
    """A claim, and whether it is let out."""

    claim: str
    accepted: bool
    span: Span = NOWHERE


Step: TypeAlias = "CallStep | UserStep | OfferStep | ReasonStep | FinishStep"


class TestCase(Struct, frozen=True):
    """A test in a rule file."""

    __test__: ClassVar[bool] = False  # pytest need not look at it

    title: str
    steps: tuple[Step, ...] = ()
    model: str | None = None
    policy: str | None = None
    context: Mapping[str, Json] | None = None
    tools: str | None = None
    stop: str | None = None
    span: Span = NOWHERE

    @property
    def in_session(self) -> bool:
        """Does it take more than calls, each by itself?"""
        return any(not isinstance(step, CallStep) or step.answered for step in self.steps)


def read_test(statement: Statement, title: str, file: str) -> tuple[TestCase | None, list[Diagnostic]]:
    """Read the block of a `test`; None with the errors of all its steps."""
    found: list[Diagnostic] = []
    settings: dict[str, Fields] = {}
    steps: list[Step] = []
    waiting: tuple[Statement, Fields] | None = None  # a call whose expectation is still to come
    complete = True
    for step in items_and_block(statement, True)[1] or ():
        word = step.word.text
        form = FORMS["test"].get(word)
        if form is None:
            found.append(faults.unknown_statement(step, "test", FORMS["test"], file))
            continue
        fields, wrong = read_form(step, form, file)
        found += wrong
        if fields is None:
            complete = False
        elif word in SETTINGS:
            if word in settings:
                found.append(Diagnostic("G401", f"`{word}` stands twice in the test", step.span, file=file))
            settings[word] = fields
        elif word == "expect":
            if waiting is None:
                message = "`expect` follows the `call` that it is about"
                found.append(Diagnostic("G401", message, step.span, file=file))
                continue
            expectation, wrong = _expectation(step, fields, file)
            found += wrong
            steps.append(_call(waiting, expectation))
            waiting = None
        else:
            found += _ended(waiting, steps, file)
            waiting = None
            if word == "call":
                waiting = step, fields
                if "result" in fields and "error" in fields:
                    message = "a call either `returns` or `fails`"
                    found.append(Diagnostic("G401", message, step.span, help="keep one", file=file))
            elif word == "user":
                steps.append(UserStep(fields.text("text"), step.span))
            elif word == "reason":
                steps.append(ReasonStep(step.span))
            elif word == "finish":
                accepted = fields.name("answer") == "accepted"
                steps.append(FinishStep(fields.name("claim"), accepted, step.span))
            else:
                steps.append(OfferStep(fields.names("tool"), fields.text("forced"), step.span))
    if complete:
        found += _ended(waiting, steps, file)
    if not steps and complete and not found:
        message = f"the test `{title[:64]}` has no `call` and no `offer`"
        found.append(Diagnostic("G401", message, statement.span, help=_SHAPE, file=file))
    if any(fault.severity is Severity.ERROR for fault in found):
        return None, found
    context = settings["context"].json("values") if "context" in settings else None
    case = TestCase(
        title,
        tuple(steps),
        settings["model"].name("id") if "model" in settings else None,
        settings["policy"].name("profile") if "policy" in settings else None,
        context if isinstance(context, dict) else None,
        settings["tools"].name("file") if "tools" in settings else None,
        settings["stop"].name("reason") if "stop" in settings else None,
        statement.span,
    )
    return case, found


_SHAPE = "write `call JSON` and below it `expect …`, or `call TOOL JSON returns JSON`"


def _ended(waiting: tuple[Statement, Fields] | None, steps: list[Step], file: str) -> list[Diagnostic]:
    """The next step begins: a call without an expectation is complete where a result says that it ran."""
    if waiting is None:
        return []
    statement, fields = waiting
    if "result" in fields or "error" in fields:
        steps.append(_call(waiting, None))
        return []
    return [Diagnostic("G401", "no `expect` follows this `call`", statement.span, help=_SHAPE, file=file)]


def _call(step: tuple[Statement, Fields], expectation: Expectation | None) -> CallStep:
    statement, fields = step
    return CallStep(
        fields.json("arguments"),
        expectation,
        isinstance(fields.atom("arguments"), Text),
        fields.text("tool"),
        "result" in fields or "error" in fields,
        fields.json("result") if "result" in fields else None,
        fields.text("error"),
        statement.span,
    )


def _expectation(step: Statement, fields: Fields, file: str) -> tuple[Expectation, list[Diagnostic]]:
    outcome = fields.name("outcome")
    atom = fields.atom("value") if "value" in fields else None
    message = None
    if outcome == "repaired":
        if atom is None:
            message = "`expect repaired` says what the arguments become"
    elif "rule" in fields:
        message = f"`expect {outcome}` takes no `by`: only a repaired call has changes"
    elif outcome == "valid" and atom is not None:
        message = "`expect valid` takes nothing more: the arguments stay as they are"
    elif atom is not None and not isinstance(atom, Text):
        message = f"`expect {outcome}` takes a quoted part of the message"
    found = [] if message is None else [Diagnostic("G402", message, step.span, file=file)]
    repaired = outcome == "repaired" and atom is not None
    expectation = Expectation(
        outcome,
        fields.json("value") if repaired else None,
        fields.names("rule") if "rule" in fields else None,
        atom.value if isinstance(atom, Text) and not repaired else None,
        step.span,
    )
    return expectation, found
