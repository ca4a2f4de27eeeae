"""callgate pack build: a folder of packs as a Python package that others install."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ._terminal import Unusable, colour, complain, out, several, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ..wheel import Built

NAME = "pack"
HELP = "make a wheel of a folder of packs: `pack build FOLDER`"


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "The path of the wheel is written to standard output. Exit status: 0 built, 1 the packs have "
        "errors or failing tests, 2 something could not be used."
    )
    parser.add_argument("action", choices=("build",), help="`build`: make a wheel, without a network")
    parser.add_argument(
        "folder", metavar="FOLDER", help="every *.gate in it, and the schema files that they name"
    )
    parser.add_argument("--out", metavar="DIR", default="dist", help="where the wheel goes (dist)")
    parser.add_argument("--name", metavar="DIST", help="the name of the distribution (that of the folder)")
    parser.add_argument("--version", metavar="V", help="its version (that of the packs, if they have one)")


def run(namespace: Namespace) -> int:
    """Exit status: see `add_arguments`."""
    from ...grammar.diagnostics import render_text
    from ..wheel import WheelError, build_wheel, read_folder

    folder: str = namespace.folder
    if not os.path.isdir(folder):
        raise Unusable(f"{folder}: is no folder; name the one that holds the *.gate files")
    contents = read_folder(folder)
    checked = contents.checked
    if checked.diagnostics:
        complain(render_text(checked.diagnostics, checked.compiled.texts, colour=colour(sys.stderr)))
    name = namespace.name if namespace.name is not None else os.path.basename(os.path.realpath(folder))
    try:
        built = build_wheel(contents, name, namespace.version)
    except WheelError as error:
        for each in error.faults:
            complain(f"callgate: {visible(each)}")
        return 1 if checked.failed else 2
    out(_written(built, namespace.out) + "\n")
    complain(f"{several(len(built.packs), 'pack')}, {several(built.documents, 'schema file')}")
    return 0


def _written(built: Built, folder: str) -> str:
    """Put the wheel into a folder, which is made where it is not there; the path of the wheel."""
    from ..wholefile import write_whole

    path = os.path.join(folder, built.name)
    try:
        os.makedirs(folder, exist_ok=True)
        write_whole(path, built.data)
    except OSError as error:
        raise Unusable(f"--out {folder}: cannot be written: {error.strerror or error}") from None
    return path
