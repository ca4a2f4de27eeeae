"""callgate fmt: rule files in their one layout."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from ._inputs import rule_paths
from ._terminal import Unusable, colour, complain, out, several, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

NAME = "fmt"
HELP = "lay out rule files, comments kept"

_BOM = b"\xef\xbb\xbf"


class _Left(Exception):
    """A file that is left as it is. The message says why, for people."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "Exit status: 0 done, 1 a file has syntax errors (and is left alone) or, with `--check`, would "
        "change, 2 a file could not be read or written."
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a rule file, a folder, or `-`: from input to output"
    )
    parser.add_argument("--check", action="store_true", help="change nothing, and name what would change")


def run(namespace: Namespace) -> int:
    """Exit status: see `add_arguments`. All files are looked at, and the worst status wins."""
    if "-" in namespace.files:
        if len(namespace.files) > 1:
            raise Unusable("FILE: `-` stands alone")
        return _standard(namespace.check)
    paths, wrong = rule_paths(namespace.files)
    for each in wrong:
        complain(f"callgate: {visible(each)}")
    changed = same = status = 0
    for name in paths:
        try:
            with open(name, "rb") as stream:
                before = stream.read()
            after = formatted(before, name)
            if after == before:
                same += 1
                continue
            changed += 1
            if namespace.check:
                status = max(status, 1)
                out(f"{name}\n")
            else:
                _replace(os.path.realpath(name), after)
        except _Left as error:
            complain(str(error))
            status = max(status, 1)
        except OSError as error:
            complain(f"callgate: {visible(name)}: {error.strerror or error}")
            status = 2
    what = "would change" if namespace.check else "formatted"
    complain(f"{several(changed, 'file')} {what}, {same} unchanged")
    return 2 if wrong else status


def formatted(data: bytes, name: str) -> bytes:
    """The canonical form of a rule file: UTF-8 without a mark before it, with the line ends that it had.

    Raises:
        _Left: no UTF-8, or syntax errors.
    """
    from ...grammar.diagnostics import Severity, render_text
    from ...grammar.parser import parse
    from ...grammar.printer import print_file
    from ...rules.statements import words

    try:
        text = data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise _Left(f"callgate: {visible(name)}: is no UTF-8 text, at byte {error.start + 1}") from None
    first = text.find("\n")
    windows = first > 0 and text[first - 1] == "\r"
    text = text.replace("\r\n", "\n")
    parsed = parse(text, words=words, file=name)
    errors = [each for each in parsed.diagnostics if each.severity is Severity.ERROR]
    if errors:
        shown = render_text(errors, {name: text}, colour=colour(sys.stderr))
        raise _Left(f"{shown}callgate: {visible(name)}: left as it is")
    after = print_file(parsed.file)
    # Whatever is wrong with the printer, it is not the author's file that pays for it.
    if parse(after, words=words).file != parsed.file:
        raise _Left(f"callgate: {visible(name)}: left as it is: the layout would change its meaning")
    return (after.replace("\n", "\r\n") if windows else after).encode()


def _standard(check: bool) -> int:
    if sys.stdin is None:
        raise Unusable("standard input is closed")
    before = sys.stdin.buffer.read()
    try:
        after = formatted(before, "<stdin>")
    except _Left as error:
        complain(str(error))
        return 1
    if check:
        return int(after != before)
    out(after.decode())
    return 0


def _replace(path: str, data: bytes) -> None:
    """Put the bytes in the place of a file in one step: a reader sees all of the old or all of the new."""
    import tempfile

    mode = stat.S_IMODE(os.stat(path).st_mode)
    folder, name = os.path.split(path)
    number, beside = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with open(number, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(number)
        os.chmod(beside, mode)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
