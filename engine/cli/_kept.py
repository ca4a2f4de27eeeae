"""Compiled rules kept on disk between runs, in a folder that only the user can read and write.

An entry stands for one set of rule files and holds all that it was made from: it counts only where all
of that is the same, byte for byte. Whatever goes wrong here, the rules are compiled as usual.
"""

from __future__ import annotations

import os
from binascii import crc32
from collections.abc import Callable, Mapping
from contextlib import suppress
from stat import S_ISDIR, S_ISREG

from ._pickled import Ready, dump, load

_FORM = b"callgate rules 2\n"
_SUM = 4  # bytes at the end, against damage
_ENTRIES = 256  # in the folder; the oldest make room
_LARGEST = 1 << 26  # bytes of an entry


class Kept:
    """The entry of one set of rule files.

    `name` tells it from other sets. `facts`: all that the rules follow from, but for the files that
    were looked up on the way, which the entry lists itself. Both are values that `repr` tells apart.
    """

    def __init__(self, name: object, facts: object) -> None:
        self._folder = _folder()
        self._path = os.path.join(self._folder or "", f"{crc32(repr(name).encode()):08x}.rules")
        self._head = _FORM + repr(facts).encode() + b"\n"

    def find(self) -> Ready | None:
        """What was kept, if it was made from the very same."""
        try:
            data = _read(self._path) if _is_own(self._folder) else b""
        except OSError:
            return None
        if not data.startswith(self._head) or _sum(data[:-_SUM]) != data[-_SUM:]:
            return None
        found = load(data[len(self._head) : -_SUM])
        if found is None or not all(_is_still(path, known) for path, known in found[1].items()):
            return None
        return found[0]

    def keep(self, ready: Ready, seen: Mapping[str, bytes | None]) -> None:
        """Write the entry, if that can be done. `seen`: the files that were looked up, see `Files`."""
        payload = dump(ready, seen) if self._folder is not None else None
        if self._folder is None or payload is None:
            return
        data = self._head + payload
        with suppress(OSError):
            os.makedirs(self._folder, 0o700, exist_ok=True)
            if _is_own(self._folder):
                _make_room(self._folder)
                _write(self._path, data + _sum(data))


def _folder() -> str | None:
    """Where entries are kept; None where the user wants none, or the system cannot say who owns a file."""
    if os.environ.get("CALLGATE_CACHE", "on") in ("", "off") or not hasattr(os, "geteuid"):
        return None
    above = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(above):  # then it counts as not set, says the XDG Base Directory Specification
        above = os.path.expanduser("~/.cache")
    return os.path.join(above, "callgate") if os.path.isabs(above) else None


def _is_own(folder: str | None) -> bool:
    return folder is not None and _is_private(os.lstat(folder), S_ISDIR)


def _is_private(status: os.stat_result, kind: Callable[[int], bool]) -> bool:
    """Is it of this kind, the user's, and closed to everybody else?"""
    return kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _read(path: str) -> bytes:
    """The bytes of an entry; none if others could have written it."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(number, "rb") as stream:
        return stream.read(_LARGEST) if _is_private(os.fstat(number), S_ISREG) else b""


def _write(path: str, data: bytes) -> None:
    """Put an entry in its place in one step: who reads it sees all of the old or all of the new."""
    import tempfile

    number, beside = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with open(number, "wb") as stream:
            stream.write(data)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def _make_room(folder: str) -> None:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda each: each.stat(follow_symlinks=False).st_mtime)
    for entry in entries[: max(0, len(entries) + 1 - _ENTRIES)]:
        os.unlink(entry.path)


def _sum(data: bytes) -> bytes:
    return crc32(data).to_bytes(_SUM)


def _is_still(path: str, known: bytes | None) -> bool:
    """Is what was looked up the same now? `known` None: there was no file."""
    try:
        with open(path, "rb") as stream:
            return known is not None and stream.read(len(known) + 1) == known
    except FileNotFoundError:
        return known is None
    except (OSError, ValueError):
        return False
