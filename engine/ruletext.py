"""The text of a rule file: how it is read, where it came from, and where it may look things up."""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

from msgspec import Struct

from .errors import CallgateError

LARGEST = 8_000_000  # bytes of one rule file, or of a document beside it

Source: TypeAlias = Literal["file", "installed", "shipped", "given"]


class Origin(Struct, frozen=True):
    """Where something was read, and what: `sha256` is that of the very bytes that are used, in hex, if known.

    `path`: of a `file` as it was opened; of what is `installed` as `PACKAGE/FILE`; of what ships with
    callgate its name in the folder of packs; of a text that the host `given` what it is called.
    `distribution`: the installed distribution and its version, `acme-rules 1.0`. `document`: it is no rule
    file, but one beside them.
    """

    source: Source
    path: str
    sha256: str = ""
    distribution: str = ""
    document: bool = False

    @property
    def place(self) -> str:
        """For a person: the path between backticks, and whose file it is."""
        if self.source == "shipped":
            return f"`{self.path}` (ships with callgate)"
        if self.source == "installed":
            return f"`{self.path}` (installed by {self.distribution or 'an unnamed distribution'})"
        return f"`{self.path}`"


class RuleText(Struct, frozen=True):
    """The text of a rule file, what diagnostics call it, and the folder in which it may look things up.

    `shipped`: it comes with this release, which has run its tests. `origin`: None for a text that was
    never read from a file, and otherwise without a hash; `data`: the bytes that were read.
    """

    text: str
    file: str
    folder: str | os.PathLike[str] | None = None
    shipped: bool = False
    origin: Origin | None = None
    data: bytes | None = None

    @property
    def place(self) -> str:
        """Where it was read, for a person."""
        return self.origin.place if self.origin is not None else f"`{self.file}`"


class PackError(CallgateError):
    """A pack or file that cannot be found, read or used; the message names it and where was looked.

    `code`: that of the diagnostic which says so. `help`: what to do, or nothing.
    """

    def __init__(self, message: str, code: str = "G505", help: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.help = help

    def __reduce__(self) -> tuple[type[PackError], tuple[str, str, str]]:
        return (type(self), (str(self), self.code, self.help))


def read_rule_file(
    path: str | os.PathLike[str], shown: str | None = None, *, shipped: bool = False
) -> RuleText:
    """Read one `.gate` file, which may be a pipe that a person names.

    Raises:
        PackError: it is not there, is no UTF-8 text, or is too large.
    """
    name = shown or os.fspath(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # a ValueError is a name with NUL in it
        raise PackError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > LARGEST:
        raise PackError(f"{name}: is larger than {LARGEST} bytes")
    return rule_text(data, name, path, Origin("file", os.fspath(path)), shipped=shipped)


def rule_text(
    data: bytes, shown: str, path: str | os.PathLike[str], origin: Origin, *, shipped: bool = False
) -> RuleText:
    """The bytes of a rule file as its text.

    Raises:
        PackError: it is no UTF-8 text.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PackError(f"{shown}: is no UTF-8 text, at byte {error.start}") from None
    if "\0" in text:  # a file whose room is there before what is in it
        raise PackError(f"{shown}: is no text, byte {data.index(0)} is zero")
    return RuleText(text, shown, os.path.dirname(path), shipped, origin, data)


def digest(data: bytes) -> str:
    """The SHA-256 of bytes, 64 hex digits."""
    from hashlib import sha256  # a start with kept rules does without

    return sha256(data).hexdigest()
