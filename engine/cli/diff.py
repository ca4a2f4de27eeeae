"""callgate diff: what two rule sets say, and decide on recorded calls, differently."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ._inputs import deployed, is_deployment, read_tools_file, rule_texts
from ._terminal import Unusable, complain, out, several, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from ..differences import Decided, Rewritten, Side
    from ..verdict import Verdict
    from ._lines import BadLine, Call

NAME = "diff"
HELP = "say what two rule sets say and decide differently, what is newly let through first"
_SHOWN = 200  # differences of calls


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
    skipped: Counter[str] = Counter()
    total, differing = 0, list[Any]()
    if namespace.calls is not None:
        for call in _calls(namespace.calls, skipped):
            total += 1
            found = _judged(call, old, new, skipped)
            if found is not None:
                differing.append(found)
        differing.sort(key=lambda each: each.rank)
    show = _json if namespace.format == "json" else _text
    out(show(said, differing))
    if namespace.calls is not None:
        complain(f"{several(total, 'call')}: {len(differing)} decided differently")
    for why, number in sorted(skipped.items()):
        complain(f"{several(number, 'line')} skipped: {why}")
    return 1 if said or differing else 0


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
            found = deployed(name, tools)
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


def _calls(name: str, skipped: Counter[str]) -> Iterator[Call]:
    """The calls of a file, line by line: call lines, or lines of a decision log."""
    from ._lines import BadLine, read_call, read_lines

    try:
        with open(name, "rb") as stream:
            for _, _, data in read_lines(stream):
                try:
                    yield read_call(_as_call(data))
                except BadLine as bad:
                    skipped[str(bad) if bad.code == "values" else f"no call ({bad.code})"] += 1
    except OSError as error:
        raise Unusable(f"--calls {name}: cannot be read: {error.strerror or error}") from None


def _as_call(data: bytes | None) -> bytes | None:
    """A line of a decision log as the call that it was about; any other line as it is."""
    import json

    from ...rules.strictjson import JsonError, decode
    from ._lines import BadLine

    if data is None or not (b'"outcome"' in data or b'"log"' in data):
        return data
    try:
        line: Any = decode(data.decode())
    except (JsonError, UnicodeDecodeError):
        return data
    if type(line) is dict and "log" in line and "tool" not in line:
        raise BadLine("values", "a note of the log itself")
    if type(line) is not dict or "outcome" not in line:
        return data
    if "before" not in line:
        raise BadLine("values", "the log holds no values of it")
    call = {"id": line.get("call"), "tool": line.get("tool"), "model": line.get("model")}
    call["stop_reason"] = line.get("stop_reason")
    call["arguments_text" if line.get("text") else "arguments"] = line["before"]
    return json.dumps(call, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _judged(call: Call, old: Side, new: Side, skipped: Counter[str]) -> Decided | None:
    from ..differences import decided
    from ._lines import BadLine

    before, after = _verdict(call, old), _verdict(call, new)
    if isinstance(before, BadLine) and isinstance(after, BadLine):
        skipped[f"not judged ({after.code})"] += 1
        return None
    verdicts = (str(each) if isinstance(each, BadLine) else each for each in (before, after))
    return decided("" if call.id is None else str(call.id), call.tool, *verdicts)


def _verdict(call: Call, side: Side) -> Verdict | BadLine:
    """The verdict of one set, or why it gives none."""
    from msgspec.structs import replace

    from ._judge import Judge
    from ._lines import BadLine

    models = side.settings.models if side.settings is not None else {}
    model = None if call.model is None else models.get(call.model, call.model)
    try:
        return Judge(side.engine, None, None).verdict(replace(call, model=model))
    except BadLine as bad:
        return bad


def _text(said: list[Rewritten], differing: list[Decided]) -> str:
    from ..differences import lines, said_lines

    shown: list[str] = []
    for each in said:
        shown += said_lines(each)
    if said and differing:
        shown.append("")
    for found in differing[:_SHOWN]:
        shown += lines(found)
    if len(differing) > _SHOWN:
        shown.append(f"… and {len(differing) - _SHOWN} more")
    return "".join(visible(line) + "\n" for line in shown)


def _json(said: list[Rewritten], differing: list[Decided]) -> str:
    import json

    import msgspec

    document = {
        "rules": [msgspec.to_builtins(each) for each in said],
        "calls": [
            {
                "id": each.id,
                "tool": each.tool,
                "what": each.what,
                "old": _verdict_facts(each.old),
                "new": _verdict_facts(each.new),
            }
            for each in differing
        ],
    }
    return json.dumps(document, ensure_ascii=False) + "\n"


def _verdict_facts(verdict: Verdict | str) -> dict[str, str | None]:
    if isinstance(verdict, str):
        return {"outcome": None, "reason": verdict, "code": None}
    return {"outcome": verdict.outcome.value, "reason": verdict.reason, "code": verdict.code}
