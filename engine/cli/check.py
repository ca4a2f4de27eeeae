"""callgate check: everything that is wrong with rule files, and the tests in them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ._inputs import add_rules, checked_rules, read_tools_file, rule_texts
from ._terminal import Unusable, colour, complain, out, several, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ..loading import Checked

NAME = "check"
HELP = "report everything that is wrong with rule files, and run the tests in them"


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = "Exit status: 0 no errors, 1 errors, 2 something could not be read."
    add_rules(parser)
    parser.add_argument(
        "--tools", metavar="FILE", help="tool definitions or schemas to check against, JSON or YAML"
    )
    parser.add_argument("--format", choices=("text", "json", "sarif", "github"), default="text")


def run(namespace: Namespace) -> int:
    """Exit status: 0 no errors, 1 errors, 2 something could not be read. The worst one wins."""
    if not namespace.rules and not namespace.packs:
        raise Unusable("RULES: name a rule file or a folder, or packs with `--packs`")
    tools = read_tools_file(namespace.tools)
    texts, wrong = rule_texts(namespace.rules)
    for each in wrong:
        complain(f"callgate: {visible(each)}")
    checked = checked_rules(texts, namespace, strict=True, tools=tools)
    out(_shown(checked, namespace.format))
    if texts or not wrong:
        unused = f"; {several(len(wrong), 'argument')} could not be used" if wrong else ""
        complain(_summary(checked) + unused)
    return 2 if wrong else 1 if checked.failed else 0


def _shown(checked: Checked, form: str) -> str:
    import json

    from ...grammar.diagnostics import render_text, to_github, to_json, to_sarif

    found = checked.diagnostics
    if form == "json":
        return json.dumps(to_json(found), ensure_ascii=False, indent=2) + "\n"
    if form == "sarif":
        return json.dumps(to_sarif(found), ensure_ascii=False, indent=2) + "\n"
    if form == "github":
        return to_github(found)
    return render_text(found, checked.compiled.texts, colour=colour(sys.stdout))


def _summary(checked: Checked) -> str:
    """`3 files, 41 rules, 17 tests: no errors, 2 warnings`, of what does not ship with us."""
    from ...grammar.diagnostics import Severity
    from ..units import Written, all_units

    units = [unit for unit in all_units(checked.compiled.units) if not unit.source.shipped]
    rules = sum(isinstance(item, Written) for unit in units for item in unit.items)
    tests = sum(len(unit.tests) for unit in units)
    number = dict.fromkeys(Severity, 0)
    for each in checked.diagnostics:
        number[each.severity] += 1
    found = [several(number[Severity.ERROR], "error"), several(number[Severity.WARNING], "warning")]
    if number[Severity.NOTE]:
        found.append(several(number[Severity.NOTE], "note"))
    read = [several(len(units), "file"), several(rules, "rule"), several(tests, "test")]
    return f"{', '.join(read)}: {', '.join(found)}"
