"""callgate packs: which packs there are, what each is for, and which are in force."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ._inputs import add_rules, checked_rules, deployed, is_deployment, pack_names, rule_texts
from ._terminal import Unusable, colour, complain, out, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ..packlist import Listed
    from ..packs import Library
    from ..units import Unit

NAME = "packs"
HELP = "list the packs that are named, installed or ship, and which are in force"

_HEAD = ("name", "version", "from", "in force", "for", "rules", "tests", "what")


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "With RULES or `--packs` it says which packs these put in force. Exit status: 0 good, 1 a pack or "
        "the rules have errors, 2 something could not be read."
    )
    add_rules(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(tools=None)


def run(namespace: Namespace) -> int:
    """Exit status: see `add_arguments`."""
    from ...grammar.diagnostics import render_text
    from ..packlist import list_packs
    from ..packs import Library
    from ..ruletext import PackError

    units: tuple[Unit, ...] | None
    if is_deployment(namespace.rules):
        library, units = _deployed(namespace.rules[0])
    else:
        texts, wrong = rule_texts(namespace.rules)
        if wrong:
            raise Unusable("\ncallgate: ".join(wrong))
        library = Library(pack_names(namespace))
        checked = checked_rules(texts, namespace, strict=False, library=library, tests=False)
        if checked.diagnostics:
            complain(render_text(checked.diagnostics, checked.compiled.texts, colour=colour(sys.stderr)))
        units = None if checked.failed else checked.compiled.units
    if units is None:
        complain("callgate: the rules have errors, so no pack is in force")
    try:
        found = list_packs(library, units or ())
    except PackError as error:
        raise Unusable(f"{error}: {error.help}" if error.help else str(error)) from None
    out(_json(found) if namespace.format == "json" else _table(found))
    for each in found:
        if each.wrong:
            complain(f"callgate: {visible(each.name)}: {visible(each.wrong)}: {visible(each.origin.place)}")
    return 1 if units is None or any(each.wrong for each in found) else 0


def _deployed(path: str) -> tuple[Library, tuple[Unit, ...] | None]:
    """The packs of a deployment, and its files, or None with everything that is wrong with it told."""
    from ..errors import DeploymentError
    from ..packs import Library

    try:
        found = deployed(path)
        return Library(list(found.settings.packs), folder=found.settings.folder), found.units
    except DeploymentError as error:
        complain(error.text.rstrip("\n"))
        return Library(), None


def _table(found: list[Listed]) -> str:
    """One line for each pack, the columns as wide as they must be."""
    rows = [_HEAD, *(_row(each) for each in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(line.rstrip() + "\n" for line in lines)


def _row(each: Listed) -> tuple[str, ...]:
    where = each.origin.source
    shown = {"shipped": "callgate", "installed": each.origin.distribution or "?"}.get(where, each.origin.path)
    cells = (
        *(each.name, each.version or "-", shown, "yes" if each.in_force else "-"),
        *(", ".join(each.families) or "-", str(each.rules), str(each.tests), each.what),
    )
    return tuple(visible(" ".join(cell.split())) for cell in cells)


def _json(found: list[Listed]) -> str:
    import json

    rows = [
        {
            "name": each.name,
            "version": each.version or None,
            "from": each.origin.source,
            "path": each.origin.path,
            "distribution": each.origin.distribution or None,
            "in_force": each.in_force,
            "what": each.what,
            "families": {name: list(patterns) for name, patterns in each.families.items()},
            "rules": each.rules,
            "tests": each.tests,
            "requires": each.requires,
            "wrong": each.wrong or None,
        }
        for each in found
    ]
    return json.dumps(rows, ensure_ascii=False, indent=2) + "\n"
