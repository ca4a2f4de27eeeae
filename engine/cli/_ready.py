"""The rules of a run, compiled: kept from an earlier run where nothing changed, else compiled now."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..offered import distributions, places
from ._inputs import checked_rules, pack_names
from ._kept import Kept
from ._pickled import Ready
from ._terminal import colour

if TYPE_CHECKING:
    from argparse import Namespace

    from ..definitions import Tools
    from ..ruletext import RuleText


def ready_rules(texts: list[RuleText], namespace: Namespace, tools: Tools | None) -> Ready:
    """The rules for `run`, with their tests run and everything that is to be said of them.

    Raises:
        Unusable: the tools cannot be used.
    """
    try:
        kept = _kept(texts, namespace, tools)
    except OSError:  # the current folder is gone, or callgate runs from an archive
        return _compiled(texts, namespace, tools, None)
    return kept.find() or _compiled(texts, namespace, tools, kept)


def _compiled(texts: list[RuleText], namespace: Namespace, tools: Tools | None, kept: Kept | None) -> Ready:
    from ...grammar.diagnostics import render_text

    checked = checked_rules(texts, namespace, strict=False, tools=tools)
    said = ""
    if checked.diagnostics:
        said = render_text(checked.diagnostics, checked.compiled.texts, colour=colour(sys.stderr))
    ready = Ready(None if checked.failed else checked.rules, said)
    if kept is not None and not checked.failed:
        kept.keep(ready, checked.seen)
    return ready


def _kept(texts: list[RuleText], namespace: Namespace, tools: Tools | None) -> Kept:
    packs, coloured = pack_names(namespace), colour(sys.stderr)
    name = [sys.prefix, os.getcwd(), packs, [each.file for each in texts], namespace.tools, coloured]
    today = datetime.now(UTC).date()  # a `disable … until` ends on a day
    installed = [(place, each) for place in places() for each in distributions(place)]
    program = [sys.version, list(_modules()), installed]
    given = [[each.text, each.file, str(each.folder)] for each in texts]
    inside = [sorted(os.listdir(each)) for each in packs if os.path.isdir(each)]  # a file may have come
    return Kept(name, [program, str(today), packs, inside, given, tools, coloured])


def _modules() -> Iterator[tuple[str, int, int]]:
    """Every file of callgate as it is now: also one that was edited in place."""
    folders = [os.path.dirname(os.path.dirname(os.path.dirname(__file__)))]
    for folder in folders:
        with os.scandir(folder) as found:
            for entry in sorted(found, key=lambda each: each.name):
                if entry.is_dir():
                    folders += [entry.path] if entry.name != "__pycache__" else []
                else:
                    status = entry.stat()
                    yield entry.path, status.st_mtime_ns, status.st_size
