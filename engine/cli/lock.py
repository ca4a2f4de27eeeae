"""callgate lock: which files the rules are made from, with a hash of each."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ._inputs import (
    DEPLOYMENT,
    add_rules,
    checked_rules,
    deployed,
    is_deployment,
    pack_names,
    read_tools_file,
    rule_texts,
)
from ._terminal import Unusable, colour, complain, out, several, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from ..loading import Checked
    from ..lock import FileRead, Lock

NAME = "lock"
HELP = "write down every file that the rules are made from, with its SHA-256"


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 written or up to date, 1 the rules have errors or, with `--check`, something "
        "differs, 2 something could not be read or written."
    )
    add_rules(parser)
    parser.add_argument("--tools", metavar="FILE", help="tool definitions or schemas to lock too")
    parser.add_argument("--file", metavar="FILE", help="the lock (callgate.lock, beside a deployment)")
    parser.add_argument("--check", action="store_true", help="write nothing, and say what differs")


def run(namespace: Namespace) -> int:
    """Exit status: see `add_arguments`."""
    from ..lock import lock_of

    if not namespace.rules and not namespace.packs and os.path.isfile(DEPLOYMENT):
        namespace.rules = [DEPLOYMENT]
    if not namespace.rules and not namespace.packs:
        raise Unusable(
            f"RULES: here is no {DEPLOYMENT}: name one, a rule file or a folder, or packs with `--packs`"
        )
    path: str = namespace.file or "callgate.lock"
    if is_deployment(namespace.rules):
        files = _deployed(namespace)
        if namespace.file is None:
            path = os.path.join(os.path.dirname(namespace.rules[0]), path)
    else:
        checked = _checked(namespace)
        if checked.diagnostics:
            complain(_rendered(checked))
        files = None if checked.failed else checked.files
    if files is None:
        complain("callgate: the rules have errors, so there is nothing to lock")
        return 1
    if namespace.check:
        return _compare(path, files, _command(namespace))
    lock = lock_of(files, os.path.dirname(os.path.abspath(path)), path)
    complain(f"{visible(path)}: {_counts(lock)}; {'written' if _write(path, lock) else 'as it was'}")
    return 0


def _command(namespace: Namespace) -> str:
    """What writes the lock that `--check` looks at."""
    from ..lock import COMMAND

    packs = [f"--packs {each}" for each in namespace.packs]
    options = [
        f"--{each} {getattr(namespace, each)}" for each in ("tools", "file") if getattr(namespace, each)
    ]
    return " ".join([COMMAND, *namespace.rules, *packs, *options])


def _deployed(namespace: Namespace) -> Sequence[FileRead] | None:
    """What a deployment reads, whatever its lock says; None with everything that is wrong with it told."""
    from ..errors import DeploymentError

    for option in ("packs", "tools"):
        if getattr(namespace, option):
            raise Unusable(f"--{option}: a deployment states its own")
    try:
        return deployed(namespace.rules[0], locked=False).read
    except DeploymentError as error:
        complain(error.text.rstrip("\n"))
        return None


def _checked(namespace: Namespace) -> Checked:
    """The rules, compiled, and their tests run: only what can be put in force is locked."""
    from ..packs import Library

    texts, wrong = rule_texts(namespace.rules)
    if wrong:
        raise Unusable("\ncallgate: ".join(wrong))
    library = Library(pack_names(namespace))
    tools = read_tools_file(namespace.tools, library.admit_file)
    return checked_rules(texts, namespace, strict=False, tools=tools, library=library)


def _rendered(checked: Checked) -> str:
    from ...grammar.diagnostics import render_text

    return render_text(checked.diagnostics, checked.compiled.texts, colour=colour(sys.stderr))


def _compare(path: str, files: Sequence[FileRead], command: str) -> int:
    """Say on standard output what differs; `command` takes it. Exit status: 0 nothing, 1 something."""
    from ...grammar.diagnostics import render_text
    from ..lock import read_lock, verify
    from ..ruletext import PackError

    try:
        lock = read_lock(path, command=command)
    except PackError as error:
        raise Unusable(f"{error}: {error.help}") from None
    found = verify(lock, files)
    out(render_text(found, {}, colour=colour(sys.stdout)))
    complain(f"{visible(path)}: {several(len(found), 'difference')}")
    return 1 if found else 0


def _write(path: str, lock: Lock) -> bool:
    """Write the lock where it is another than before."""
    from ..lock import lock_text
    from ..wholefile import write_whole

    data = lock_text(lock)
    try:
        with open(path, "rb") as stream:
            if stream.read(len(data) + 1) == data:
                return False
    except FileNotFoundError:
        pass
    except OSError as error:
        raise Unusable(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        write_whole(path, data)
    except OSError as error:
        raise Unusable(f"{path}: cannot be written: {error.strerror or error}") from None
    return True


def _counts(lock: Lock) -> str:
    """`3 packs, 2 rule files, 1 other file`."""
    packs = sum(bool(each.name) for each in lock.entries)
    rules = sum(not each.name and not each.document for each in lock.entries)
    others = len(lock.entries) - packs - rules
    return f"{several(packs, 'pack')}, {several(rules, 'rule file')}, {several(others, 'other file')}"
