"""The text of a rule file: how it is read, and where it may look things up."""

from __future__ import annotations

import os

from msgspec import Struct

from .errors import CallgateError

LARGEST = 8_000_000  # bytes of one rule file


class RuleText(Struct, frozen=True):
    """The text of a rule file, what diagnostics call it, and the folder in which it may look things up.

    `shipped`: it comes with this release, which has run its tests.
    """

    text: str
    file: str
    folder: str | os.PathLike[str] | None = None
    shipped: bool = False


class PackError(CallgateError):
    """A pack or rule file that cannot be found or read; the message names it and where was looked."""


def read_rule_file(
    path: str | os.PathLike[str], shown: str | None = None, *, shipped: bool = False
) -> RuleText:
    """Read one `.gate` file.

    Raises:
        PackError: it is not there, is no UTF-8 text, or is too large.
    """
    name = shown or os.fspath(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        raise PackError(f"{name}: cannot be read: {error.strerror or error}") from None
    return rule_text(data, name, os.path.dirname(path), shipped=shipped)


def rule_text(
    data: bytes, name: str, folder: str | os.PathLike[str] | None, *, shipped: bool = False
) -> RuleText:
    """The text of a rule file.

    Raises:
        PackError: it is no UTF-8 text, or too large.
    """
    if len(data) > LARGEST:
        raise PackError(f"{name}: is larger than {LARGEST} bytes")
    try:
        return RuleText(data.decode("utf-8-sig"), name, folder, shipped)
    except UnicodeDecodeError as error:
        raise PackError(f"{name}: is no UTF-8 text, at byte {error.start}") from None
