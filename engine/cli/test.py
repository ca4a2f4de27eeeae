"""callgate test: the tests in rule files, one by one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ._inputs import add_rules, checked_rules, rule_texts
from ._terminal import Unusable, colour, complain, out, several, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ...grammar.diagnostics import Diagnostic
    from ...rules.testblock import TestCase
    from ..units import Unit

NAME = "test"
HELP = "run the tests in rule files and list each one"

_PAINT = {"ok": "32", "FAILED": "1;31", "not run": "33"}


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = "Exit status: 0 all hold, 1 one fails, 2 the rules cannot be read or have errors."
    add_rules(parser)
    parser.set_defaults(tools=None)


def run(namespace: Namespace) -> int:
    """Exit status: 0 all hold, 1 one fails, 2 the rules cannot be read or have errors."""
    from ...grammar.diagnostics import render_text
    from ..units import all_units

    if not namespace.rules and not namespace.packs:
        raise Unusable("RULES: name a rule file or a folder, or packs with `--packs`")
    texts, wrong = rule_texts(namespace.rules)
    for each in wrong:
        complain(f"callgate: {visible(each)}")
    checked = checked_rules(texts, namespace, strict=False)
    if checked.compiled.failed:
        errors = [each for each in checked.compiled.diagnostics if each.severity.value == "error"]
        complain(render_text(errors, checked.compiled.texts, colour=colour(sys.stderr)))
        complain("callgate: the rules have errors, so no test was run")
        return 2
    count = {"ok": 0, "FAILED": 0, "not run": 0}
    failures = [each for each in checked.diagnostics if each not in set(checked.compiled.diagnostics)]
    for unit in all_units(checked.compiled.units):
        if unit.tests and not unit.source.shipped:
            out(_list(unit, [each for each in failures if each.file == unit.file], count))
    total = sum(count.values())
    states = ", ".join(f"{number} {state.lower()}" for state, number in count.items() if number)
    complain(several(total, "test") + (f": {states}" if states else ""))
    return 2 if wrong else 1 if count["FAILED"] else 0


def _list(unit: Unit, failures: list[Diagnostic], count: dict[str, int]) -> str:
    """One file's tests, each with what differs."""
    lines = [visible(unit.file)]
    for case, _ in unit.tests:
        found = [each for each in failures if _is_about(each, case)]
        state = "FAILED" if found else "ok"
        count[state] += 1
        mark = f"\x1b[{_PAINT[state]}m{state:<7}\x1b[0m" if colour(sys.stdout) else f"{state:<7}"
        lines.append(f"  {mark}  {visible(case.title)}")
        for each in found:
            message = each.message.removeprefix(f"test `{case.title}`").removeprefix(" fails")
            said = f"{message.removeprefix(': ')} (line {each.span.line})\n{each.help}".rstrip("\n")
            lines += [f"           {visible(line)}" for line in said.split("\n")]
    return "\n".join(lines) + "\n"


def _is_about(failure: Diagnostic, case: TestCase) -> bool:
    return case.span.start <= failure.span.start < case.span.end
