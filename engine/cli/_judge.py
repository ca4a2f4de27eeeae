"""One call line in, one verdict line out; and the count of what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ...grammar.ast import Json
from ..absent import Absent
from ..engine import Engine
from ..errors import InputError, SchemaError
from ..verdict import Outcome, Verdict
from ._lines import BadLine, Call, error_line, read_call, verdict_line
from ._terminal import several, visible

if TYPE_CHECKING:
    from ..deployment import Deployment


class Judge:
    """Answers call lines with the rules of one engine.

    `model` and `context` are for lines that have none; a line's own context wins key by key.
    `people`: answers are lines to read instead of JSON.
    """

    def __init__(
        self,
        engine: Engine | Deployment,
        model: str | None,
        context: dict[str, Json] | None,
        *,
        people: bool = False,
    ) -> None:
        self.summary = Summary()
        self._engine = engine
        self._model = model
        self._context = context
        self._people = people

    def answer(self, number: int, data: bytes | None) -> bytes:
        """The line for one line. Raises nothing: what gets no verdict gets an error."""
        try:
            call = read_call(data)
            verdict = self.verdict(call)
            line = _readable(call, verdict, number) if self._people else verdict_line(call, verdict)
        except BadLine as bad:
            self.summary.count_bad(bad)
            if self._people:
                return f"line {number}: no verdict: {visible(str(bad))} ({bad.code})\n".encode()
            return error_line(bad, number)
        self.summary.count(verdict)
        return line

    def verdict(self, call: Call) -> Verdict:
        context = call.context
        if self._context is not None:
            context = self._context if context is None else {**self._context, **context}
        try:
            judge = self._judge(call)
            verdict = judge(
                call.tool,
                call.arguments,
                model=call.model if call.model is not None else self._model,
                schema=call.schema,
                context=context,
                stop_reason=call.stop_reason,
            )
        except SchemaError as error:
            raise BadLine("schema", str(error), call.id) from None
        except InputError as error:
            raise BadLine("input", str(error), call.id) from None
        except Exception as error:
            # A fault of ours must neither admit this call nor keep the others from their verdicts.
            raise BadLine("internal", f"{type(error).__name__}: {error}", call.id) from error
        engine = self._engine if isinstance(self._engine, Engine) else self._engine.engine
        functions = engine.rules.functions
        needed = functions.taken() if isinstance(functions, Absent) else ()
        if needed:
            raise BadLine("hook", f"the host gives `{needed[0]}`, and is not here", call.id)
        return verdict

    def _judge(self, call: Call) -> Callable[..., Verdict]:
        """What judges a call: with the tools of its line, where that has some."""
        engine = self._engine
        if not isinstance(engine, Engine):
            judge = engine.check_text if call.is_text else engine.check
            call_id = call.id if type(call.id) is str else None if call.id is None else str(call.id)
            return partial(judge, tools=call.tools, call_id=call_id)
        over = engine if call.tools is None else engine.over(call.tools)
        return over.check_text if call.is_text else over.check


class Summary:
    """How many calls came to what, and which rules had a part in it."""

    def __init__(self) -> None:
        self.bad: Counter[str] = Counter()
        self._outcomes: Counter[Outcome] = Counter()
        self._codes: Counter[str] = Counter()
        self._changed: Counter[str] = Counter()
        self._decided: Counter[str] = Counter()
        self._observed: Counter[str] = Counter()

    def count(self, verdict: Verdict) -> None:
        """Count a verdict. A rule counts once for each call."""
        self._outcomes[verdict.outcome] += 1
        if verdict.code is not None:
            self._codes[verdict.code] += 1
        if verdict.changes:
            self._changed.update({each.rule for each in verdict.changes})
        if verdict.decided_by:
            self._decided.update(set(verdict.decided_by))
        if verdict.observations:
            self._observed.update({each.rule for each in verdict.observations})

    def count_bad(self, bad: BadLine) -> None:
        self.bad[bad.code] += 1

    def text(self) -> str:
        """For a person: outcomes, codes, bad lines, and a table of rules, the busiest first."""
        total = sum(self._outcomes.values())
        parts = [f"{self._outcomes[each]} {each.value}" for each in Outcome if self._outcomes[each]]
        lines = [several(total, "call") + (f": {', '.join(parts)}" if parts else "")]
        if self._codes:
            lines.append(f"unrepairable: {_counts(self._codes)}")
        if self.bad:
            lines.append(f"{several(self.bad.total(), 'bad line')}: {_counts(self.bad)}")
        return "\n".join(lines + self._table())

    def _table(self) -> list[str]:
        columns = (self._changed, self._decided, self._observed)
        rules = sum(columns, Counter())
        if not rules:
            return []
        rows = [("rule", "changed", "decided", "observed")]
        for rule, _ in sorted(rules.items(), key=lambda item: (-item[1], item[0])):
            rows.append((visible(rule), *(str(column[rule] or "-") for column in columns)))  # type: ignore[arg-type]
        width = max(len(row[0]) for row in rows)
        return [f"  {rule:<{width}} {a:>9} {b:>9} {c:>9}" for rule, a, b, c in rows]


def _counts(counter: Counter[str]) -> str:
    ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number} {what}" for what, number in ordered)


def _readable(call: Call, verdict: Verdict, number: int) -> bytes:
    """A verdict on one line: which call, what became of it, and why."""
    head = f"line {number}" if call.id is None else str(call.id)
    parts = [head, verdict.outcome.value, verdict.tool]
    if verdict.changes:
        parts.append("by " + ", ".join(dict.fromkeys(each.rule for each in verdict.changes)))
    if verdict.code is not None:
        parts.append(verdict.code)
    if verdict.reason is not None:
        parts.append(f"{verdict.reason} ({', '.join(verdict.decided_by)})")
    return (visible("  ".join(parts)).replace("\n", " ") + "\n").encode()
