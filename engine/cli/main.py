"""`callgate COMMAND …`: finds the command, and turns what goes wrong into a line and an exit status.

A command is a module of this folder with `NAME`, `HELP` (one line), `add_arguments(parser)` and
`run(namespace) -> int`. Names are those of the files, so that listing them imports nothing; a module
imports what is heavy inside `run`.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from ..version import VERSION
from ._terminal import INTERRUPTED, Unusable, complain, let_go, out, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, HelpFormatter, Namespace

_WHAT = "One rule language, and its engine, for everything between a language model and its tools."


class Command(Protocol):
    """What a module of this folder offers."""

    NAME: str  # its file's name, with `-` for `_`
    HELP: str  # one line

    def add_arguments(self, parser: ArgumentParser) -> None: ...

    def run(self, namespace: Namespace) -> int: ...


def main(argv: list[str]) -> int:
    """Run one command and return its exit status: 0, 1, 2 (could not be done), or 130 (interrupted).

    An output that nobody reads any more ends the command in silence, with 1.
    """
    try:
        return _command(argv)
    except Unusable as error:
        complain(f"callgate: {visible(str(error))}")
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        let_go()
        return 1
    except OSError as error:
        name = f"{error.filename}: " if error.filename is not None else ""
        complain(f"callgate: {visible(name)}{error.strerror or error}")
        return 2
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        return _failed(error)


def names() -> list[str]:
    """The commands there are, sorted."""
    files = (os.path.splitext(entry) for entry in os.listdir(os.path.dirname(__file__)))
    stems = {stem for stem, ending in files if ending == ".py" and not stem.startswith("_")}
    return sorted(stem.replace("_", "-") for stem in stems - {"main"})


def load(name: str) -> Command:
    """The module of one command."""
    module: Command = import_module("." + name.replace("-", "_"), __package__)
    return module


def _command(argv: list[str]) -> int:
    first = argv[0] if argv else None
    if first == "help" and len(argv) > 1:
        return _command([*argv[1:2], "--help"])
    if first is None or first in ("-h", "--help", "help"):
        out(_help())
        return 2 if first is None else 0
    if first == "--version":
        out(f"callgate {VERSION}\n")
        return 0
    if first not in names():
        raise Unusable(_unknown(first))
    return _run(load(first), argv[1:])


def _run(command: Command, arguments: list[str]) -> int:
    from argparse import ArgumentParser

    parser = ArgumentParser(
        f"callgate {command.NAME}", description=command.HELP, allow_abbrev=False, formatter_class=_formatter
    )
    command.add_arguments(parser)
    try:
        # Options may stand between files, but argparse cannot do that and also stop at `--`; it is slow too.
        mixed = "--" not in arguments and any(each.startswith("-") for each in arguments)
        namespace = parser.parse_intermixed_args(arguments) if mixed else parser.parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    return command.run(namespace)


def _formatter(prog: str) -> HelpFormatter:
    """Help as wide as the terminal is; argparse would load `shutil` for this at every start."""
    from argparse import HelpFormatter

    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isascii() and columns.isdigit() else 0
    if not width:
        try:
            width = os.get_terminal_size(1).columns
        except OSError:
            width = 80
    return HelpFormatter(prog, width=max(width - 2, 20))


def _help() -> str:
    rows = [(name, load(name).HELP) for name in names()]
    width = max(len(name) for name, _ in rows)
    lines = [f"  {name:<{width}}  {help_}" for name, help_ in rows]
    head = f"usage: callgate COMMAND [ARGUMENT …]\n       callgate --version\n\n{_WHAT}\n\ncommands:\n"
    return head + "\n".join(lines) + "\n\n`callgate COMMAND --help` says more.\n"


def _unknown(name: str) -> str:
    from ...grammar.diagnostics import nearest

    what = "option" if name.startswith("-") else "command"
    near = nearest(name, names() if what == "command" else ["--help", "--version"])
    hint = f"did you mean `{near}`?" if near is not None else "`callgate --help` lists them"
    return f"unknown {what} `{name[:64]}`: {hint}"


def _failed(error: Exception) -> int:
    """Say what a command did not foresee: a message made for people as it is, a fault of ours by its name."""
    from ...rules.catalog import CatalogError
    from ..errors import CallgateError

    if isinstance(error, CatalogError):
        complain(f"callgate: {visible(' '.join(str(error).split()))}")  # it may quote another error's lines
    elif isinstance(error, CallgateError):
        complain(f"callgate: {visible(str(error))}")
    else:
        complain(
            f"callgate: internal error: {type(error).__name__}: {visible(str(error))}\n"
            "callgate: please report it; `python -X dev -m callgate …` shows where it happened"
        )
    return 2
