"""`callgate.lock`: every file that some rules were made from, with the SHA-256 of its bytes.

JSON, one entry on a line, sorted. Paths of files are relative to the folder of the lock, with `/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from ..grammar.diagnostics import Diagnostic
from .files import Files
from .ruletext import Origin, PackError, Source
from .wholefile import write_whole

NAME = "callgate.lock"
VERSION = 1  # of the form of the file
LARGEST = 64_000_000  # bytes of a lock

COMMAND = "callgate lock"
_SHOWN = 12  # hex digits of a hash in a message

Key: TypeAlias = "tuple[str, str]"  # where from, and the path there


class Locked(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One file of a lock. `name` and `version` are those of a pack, `distribution` of what is installed.

    `document`: it is no rule file, and may be left unread: tools that the host gives, what a test names.
    """

    source: Source = field(name="from")
    path: str
    name: str = ""
    version: str = ""
    distribution: str = ""
    document: bool = False
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]

    @property
    def key(self) -> Key:
        return (self.source, self.path)


class FileRead(Struct, frozen=True):
    """A file that a compile read, or was refused (then without a hash). A pack has its name and version."""

    origin: Origin
    name: str = ""
    version: str = ""


class Lock(Struct, frozen=True):
    """The files that may be read, and no others. `folder`: what the paths of files are relative to.

    `shown` is what messages call the lock, `command` what writes it anew.
    """

    entries: tuple[Locked, ...]
    folder: str
    shown: str = NAME
    command: str = COMMAND

    @property
    def again(self) -> str:
        return f"if the change is meant, run `{self.command}`"

    def by_key(self) -> dict[Key, Locked]:
        return {each.key: each for each in self.entries}


class _Head(Struct):
    version: int


class _Form(Struct):
    files: list[Locked]


def key_of(origin: Origin, folder: str) -> Key:
    """What tells a file from all others, on every machine: see `Locked`.

    A link keeps its own name: what it leads to is a matter of the content.
    """
    if origin.source != "file":
        return (origin.source, origin.path)
    above, name = os.path.split(os.path.abspath(origin.path))
    path = os.path.join(os.path.realpath(above), name)
    try:
        path = os.path.relpath(path, os.path.realpath(folder))
    except ValueError:  # on another drive
        return (origin.source, path)
    return (origin.source, path.replace(os.sep, "/"))


def lock_of(files: Iterable[FileRead], folder: str | os.PathLike[str], shown: str = NAME) -> Lock:
    """The lock of what a compile read (`Checked.files`), for a lock file in this folder."""
    root = os.path.abspath(folder)
    found: dict[Key, Locked] = {}
    for key, each in _keyed(files, root):
        found[key] = Locked(
            source=each.origin.source,
            path=key[1],
            name=each.name,
            version=each.version,
            distribution=each.origin.distribution,
            document=each.origin.document,
            sha256=each.origin.sha256,
        )
    return Lock(tuple(found[key] for key in sorted(found)), root, shown)


def _keyed(files: Iterable[FileRead], folder: str) -> list[tuple[Key, FileRead]]:
    """The files with their keys. What was read under two spellings of its path is one pack under both."""
    found = [(key_of(each.origin, folder), each) for each in files]
    packs = {key: each for key, each in found if each.name}
    named = ((key, each, packs.get(key, each)) for key, each in found)
    return [(key, FileRead(each.origin, pack.name, pack.version)) for key, each, pack in named]


def read_lock(path: str | os.PathLike[str], files: Files | None = None, *, command: str = COMMAND) -> Lock:
    """Read a lock file; keys that this version does not know are passed over. `command`: what writes it.

    Raises:
        PackError: G517, it cannot be read or is no lock; the message names it and what is wrong.
    """
    shown = os.fspath(path)
    help_ = f"run `{command}` to write it anew"
    try:
        data = (files or Files()).read(path, LARGEST)
    except OSError as error:
        raise PackError(f"{shown}: cannot be read: {error.strerror}", "G517", help_) from None
    try:
        version = msgspec.json.decode(data, type=_Head).version
        if version > VERSION:
            message = f"{shown}: was written by a newer callgate (form {version}; this one reads {VERSION})"
            raise PackError(message, "G517", "upgrade callgate, or " + help_)
        if version < VERSION:
            raise PackError(f"{shown}: there is no form {version} of a lock", "G517", help_)
        entries = tuple(msgspec.json.decode(data, type=_Form).files)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise PackError(f"{shown}: is no lock: {error}", "G517", help_) from None
    seen: set[Key] = set()
    for each in entries:
        if each.key in seen:
            raise PackError(f"{shown}: is no lock: `{each.path[:200]}` stands twice", "G517", help_)
        seen.add(each.key)
    return Lock(entries, os.path.dirname(os.path.abspath(path)), shown, command)


def lock_text(lock: Lock) -> bytes:
    """The bytes of a lock file, the same for the same lock.

    Raises:
        PackError: G517, a path is no text that can be written.
    """
    entries = sorted(lock.entries, key=lambda each: each.key)
    try:
        lines = b",\n".join(msgspec.json.encode(each) for each in entries)
    except UnicodeEncodeError as error:
        message = f"a path that is no UTF-8 cannot be locked: {error.object!r}"
        raise PackError(message, "G517", "rename the file") from None
    body = b"\n" + lines + b"\n" if lines else b""
    return b'{\n"version": %d,\n"files": [%s]\n}\n' % (VERSION, body)


def write_lock(path: str | os.PathLike[str], lock: Lock) -> None:
    """Write a lock file in one step: see `write_whole`.

    Raises:
        PackError: see `lock_text`. OSError: it cannot be written, and what was there is as it was.
    """
    write_whole(path, lock_text(lock))


def admit(locked: Locked | None, origin: Origin, lock: Lock) -> None:
    """Say whether bytes that were read, or (without a hash) a file that is to be read, are those of a lock.

    Raises:
        PackError: G514, the file is not in the lock; G513, it is another one than was locked.
    """
    if locked is None:
        raise PackError(f"{origin.place} is not in {lock.shown}", "G514", lock.again)
    if origin.sha256 and origin.sha256 != locked.sha256:
        raise PackError(_changed(origin, locked), "G513", lock.again)


def verify(
    lock: Lock, files: Iterable[FileRead], *, whole: bool = True, documents: bool = True
) -> list[Diagnostic]:
    """All that differs between a lock and what a compile read (`Checked.files`).

    Args:
        whole: all was read that the rules name; else only those files count as missing that are gone.
        documents: say also which files other than rules were not read, or are not said to be such.
    A file that a locked library refused was told of already, and is passed over.
    """
    known = lock.by_key()
    read = _keyed(files, lock.folder)
    found: list[Diagnostic] = []
    for key, each in read:
        locked = known.get(key)
        if not each.origin.sha256:
            continue
        if locked is not None and (each.name, each.version) != (locked.name, locked.version):
            found.append(_other(each, locked, lock))
            continue
        try:
            admit(locked, each.origin, lock)
        except PackError as error:
            found.append(Diagnostic(error.code, str(error), help=error.help, file=each.origin.path))
    both = [(each, known.pop(key)) for key, each in read if key in known]
    unlike = [each for each, locked in both if each.origin.document != locked.document]
    if documents and unlike:
        found.append(_older(unlike[0], lock))
    left = [each for each in known.values() if documents or not each.document]
    return found + [_missing(lock, each) for each in left if whole or _is_gone(lock, each)]


def _is_gone(lock: Lock, locked: Locked) -> bool:
    return locked.source == "file" and not os.path.lexists(os.path.join(lock.folder, locked.path))


def _changed(origin: Origin, locked: Locked) -> str:
    what = _titled(locked.name, locked.version) if locked.name else "it"
    here, there = origin.sha256[:_SHOWN], locked.sha256[:_SHOWN]
    return f"{origin.place} has changed since {what} was locked: SHA-256 {here}…, {there}… expected"


def _other(each: FileRead, locked: Locked, lock: Lock) -> Diagnostic:
    here, there = _titled(each.name, each.version), _titled(locked.name, locked.version)
    message = f"{each.origin.place} is {here}, and {there} was locked"
    if each.origin.sha256 != locked.sha256:
        message += f": SHA-256 {each.origin.sha256[:_SHOWN]}…, {locked.sha256[:_SHOWN]}… expected"
    return Diagnostic("G516", message, help=lock.again, file=each.origin.path)


def _older(each: FileRead, lock: Lock) -> Diagnostic:
    kind = "no rule file" if each.origin.document else "a rule file"
    message = (
        f"{lock.shown} was written by an older callgate: it does not say that {each.origin.place} is {kind}"
    )
    return Diagnostic("G517", message, help=f"run `{lock.command}` to write it anew", file=lock.shown)


def _titled(name: str, version: str) -> str:
    return f"`{name[:64]}` {version[:64]}".rstrip() if name else "no pack"


def _missing(lock: Lock, locked: Locked) -> Diagnostic:
    what = f"`{locked.path[:200]}`" + (f" (the pack `{locked.name[:64]}`)" if locked.name else "")
    why = "is not there" if _is_gone(lock, locked) else "was not read"
    message = f"{what} is in {lock.shown} with SHA-256 {locked.sha256[:_SHOWN]}…, and {why}"
    help_ = f"put it back, or name it again; {lock.again}"
    return Diagnostic("G515", message, help=help_, file=lock.shown)
