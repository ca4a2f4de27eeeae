"""callgate diff: what two rule sets say, and decide on recorded calls, differently."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ._inputs import deployed, is_deployment, read_tools_file, rule_texts
from ._terminal import Unusable, complain, out, several, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ..deploying import Set
    from ..differences import Decided, Rewritten, Side
    from ..verdict import Verdict
    from ._lines import BadLine, Call
    from ._recorded import Recorded

NAME = "diff"
HELP = "say what two rule sets say and decide differently, what is newly let through first"
_LOCK = frozenset({"G513", "G514", "G515", "G516", "G517"})  # what a lock has against files


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = "Exit status: 0 no difference, 1 differences, 2 something could not be read."
    parser.add_argument("old", metavar="OLD", help="a deployment, a rule file, or a folder of them")
    parser.add_argument("new", metavar="NEW", help="the same")
    parser.add_argument(
        "--calls", metavar="FILE", help="calls as for `run`, or a decision log that holds their values"
    )
    parser.add_argument("--tools", metavar="FILE", help="tool definitions for both, JSON or YAML")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(namespace: Namespace) -> int:
    """Exit status: 0 no difference, 1 differences, 2 something could not be read."""
    from ..differences import rewritten

    tools = read_tools_file(namespace.tools)
    old, new = (_side(name, tools) for name in (namespace.old, namespace.new))
    said = rewritten(old, new)
    replay = _Replay()
    if namespace.calls is not None:
        replay.run(namespace.calls, old, new)
    out(_json(said, replay) if namespace.format == "json" else _text(said, replay.differing))
    if namespace.calls is not None:
        complain(replay.summary())
    return 1 if said or replay.differing else 0


class _Replay:
    """Recorded calls put through both sets. `otherwise`, `masked`: calls that are not seen as they were."""

    def __init__(self) -> None:
        self.total = self.otherwise = self.masked = 0
        self.differing: list[Decided] = []
        self.skipped: Counter[str] = Counter()

    def run(self, name: str, old: Side, new: Side) -> None:
        from ._recorded import recorded

        for each in recorded(name, self.skipped):
            self.total += 1
            self._judge(each, _verdict(each.call, old), _verdict(each.call, new))

    def _judge(self, found: Recorded, before: Verdict | BadLine, after: Verdict | BadLine) -> None:
        from ..differences import decided
        from ._lines import BadLine

        if isinstance(before, BadLine) and isinstance(after, BadLine):
            self.skipped[f"not judged ({after.code})"] += 1
            return
        self.masked += found.masked
        self.otherwise += not isinstance(before, BadLine) and found.otherwise(before)
        verdicts = (str(each) if isinstance(each, BadLine) else each for each in (before, after))
        call = found.call
        differs = decided(found.line, call.id, call.tool, call.arguments, *verdicts)
        if differs is not None:
            self.differing.append(differs)

    def summary(self) -> str:
        """How many calls differ, and of how many it cannot be told from a replay."""
        said = [f"{several(self.total, 'call')}: {len(self.differing)} decided differently"]
        if self.otherwise:
            why = "OLD decides otherwise than the log says (masks, session, context, or other rules then)"
            said.append(f"{several(self.otherwise, 'call')}: {why}")
        if self.masked:
            why = "a mask hides values, and what rules decide by them is not seen"
            said.append(f"{several(self.masked, 'call')}: {why}")
        said += [f"{several(number, 'line')} skipped: {why}" for why, number in sorted(self.skipped.items())]
        return "\n".join(said)


def _side(name: str, tools: Any) -> Side:
    """One of the two, compiled.

    Raises:
        Unusable: it cannot be.
    """
    from ..differences import Side
    from ..engine import Engine
    from ..errors import DeploymentError, SchemaError
    from ..loading import check_rules

    try:
        if is_deployment([name]):
            found = _deployed(name, tools)
            return Side(found.engine, found.units, found.settings)
        texts, wrong = rule_texts([name])
        if wrong:
            raise Unusable("\ncallgate: ".join(wrong))
        checked = check_rules(texts, tools=tools, strict=False, tests=False)
        if checked.failed:
            raise Unusable(checked.text().rstrip("\n"))
        return Side(Engine(checked.rules, tools), checked.compiled.units)
    except DeploymentError as error:
        raise Unusable(error.text.rstrip("\n")) from None
    except SchemaError as error:
        raise Unusable(f"--tools: {error}") from None


def _deployed(name: str, tools: Any) -> Set:
    """A deployment, also one that its lock does not fit: an edit is looked at before it is locked."""
    from ..errors import DeploymentError

    try:
        return deployed(name, tools)
    except DeploymentError as error:
        if not any(each.code in _LOCK for each in error.diagnostics):
            raise
    found = deployed(name, tools, locked=False)
    complain(f"callgate: {visible(name)} is kept from loading by its lock, and is read all the same")
    return found


def _verdict(call: Call, side: Side) -> Verdict | BadLine:
    """The verdict of one set, or why it gives none."""
    from msgspec.structs import replace

    from ._judge import Judge
    from ._lines import BadLine

    model = call.model if side.settings is None else side.settings.model(call.model)
    try:
        return Judge(side.engine, None, None).verdict(replace(call, model=model))
    except BadLine as bad:
        return bad


def _text(said: list[Rewritten], differing: list[Decided]) -> str:
    from ..differences import grouped, lines, said_lines

    shown: list[str] = []
    for each in said:
        shown += said_lines(each)
    if said and differing:
        shown.append("")
    for group in grouped(differing):
        shown += lines(group)
    return "".join(visible(line) + "\n" for line in shown)


def _json(said: list[Rewritten], replay: _Replay) -> str:
    import json

    import msgspec

    from ..differences import grouped

    document = {
        "rules": [msgspec.to_builtins(each) for each in said],
        "calls": [
            {
                "line": each.line,
                "id": each.id,
                "tool": each.tool,
                "what": each.what,
                "old": _verdict_facts(each.old),
                "new": _verdict_facts(each.new),
            }
            for group in grouped(replay.differing)
            for each in group
        ],
        "judged": replay.total,
        "otherwise_than_logged": replay.otherwise,
        "masked": replay.masked,
        "skipped": dict(replay.skipped),
    }
    return json.dumps(document, ensure_ascii=False) + "\n"


def _verdict_facts(verdict: Verdict | str) -> dict[str, Any]:
    from ..differences import by

    if isinstance(verdict, str):
        return {"outcome": None, "reason": verdict, "code": None, "by": []}
    return {
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "code": verdict.code,
        "by": list(by(verdict)),
    }
