"""One look at a disk: each file is read once, and later it can be seen whether all is still the same."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from .patterns import Fitting, fitting, real
from .ruletext import LARGEST

T = TypeVar("T")
_TICK = 1.0  # seconds; clocks of file systems are coarser than ours
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


class Files:
    """What was read and asked. What is read or asked twice is the same both times, whatever happens."""

    def __init__(self) -> None:
        self._read: dict[str, _Read] = {}
        self._asked: dict[tuple[Callable[[str], object], str], object] = {}
        self._patterns: dict[tuple[str, str], Fitting] = {}
        self._signs: dict[str, _Sign] = {}  # of those that would show it if they changed

    def read(self, path: str | os.PathLike[str], largest: int = LARGEST) -> bytes:
        """The bytes of a regular file; nothing else is waited for. Raises OSError."""
        name = os.fspath(path)
        if name not in self._read:
            sign = _sign(name)
            self._read[name] = _Read(_content(name, largest), sign, largest)
            self._note(name, sign)
        found = self._read[name].content
        if isinstance(found, _Fault):
            raise OSError(*found)
        return found

    def ask(self, question: Callable[[str], T], path: str) -> T:
        """What a function such as `os.path.isfile` says of a path."""
        if (question, path) not in self._asked:
            self._asked[question, path] = question(path)
        answer: T = self._asked[question, path]  # type: ignore[assignment]  # of this question
        return answer

    def matching(self, folder: str, pattern: str) -> Fitting:
        """What fits a pattern in a folder."""
        if (folder, pattern) not in self._patterns:
            self._patterns[folder, pattern] = fitting(folder, pattern)
        return self._patterns[folder, pattern]

    @property
    def there(self) -> tuple[str, ...]:
        """The paths of the files that were read, in the order in which they were looked for."""
        return tuple(path for path, each in self._read.items() if isinstance(each.content, bytes))

    @property
    def seen(self) -> dict[str, bytes | None]:
        """What was looked up, by its path: its bytes, or None where there was none."""
        missing: dict[str, bytes | None] = {
            path: None for (_, path), answer in self._asked.items() if not answer
        }
        read = {
            path: each.content if isinstance(each.content, bytes) else None
            for path, each in self._read.items()
        }
        return missing | read

    @property
    def folders(self) -> set[str]:
        """The folders in which a change can be one of this; where one is gone, the nearest above it."""
        known: dict[str, str] = {}
        links: set[str] = set()
        paths = [*self._read, *(path for _, path in self._asked)]
        found = {os.path.dirname(path) for path in paths}
        found |= {os.path.dirname(real(path, known, links)) for path in paths}
        found |= {path for _, path in self._asked if os.path.isdir(path)}
        found = found.union(*(each.folders for each in self._patterns.values()))
        for each in found:
            real(each, known, links)
        return {_standing(each) for each in found | links if each}

    def settled(self) -> bool:
        """Has nobody touched any of the files since they were read, not even to write the same again?"""
        return all(_sign(path) == each.sign for path, each in self._read.items()) and self.unchanged()

    def unchanged(self) -> bool:
        """Are the files, the answers and the lists of files what they were?"""
        for asked, before in self._patterns.items():
            now = fitting(*asked)
            # A new folder is watched before there is a file in it.
            self._patterns[asked] = before._replace(folders=now.folders)
            if now._replace(folders=before.folders) != before:
                return False
        if any(question(path) != answer for (question, path), answer in self._asked.items()):
            return False
        return all(self._same(path, each) for path, each in self._read.items())

    def _same(self, path: str, before: _Read) -> bool:
        """Is a file what it was? It is read again, unless its times say that nobody can have changed it."""
        now = _sign(path)
        if now is not None and now == self._signs.get(path):
            return True
        if _content(path, before.largest) != before.content:
            return False
        self._note(path, now)
        return True

    def _note(self, path: str, sign: _Sign | None) -> None:
        """Keep what a file looked like before it was read, if the next change of it will look otherwise."""
        if sign is not None and sign.changed < time.time() - _TICK:
            self._signs[path] = sign

    def until_quiet(self, quiet: float) -> float:
        """Seconds until nothing of this has changed for so long, as far as the files say when they did."""
        newest = 0.0
        for path in (*self._read, *self.folders):
            try:
                found = os.stat(path)
            except (OSError, ValueError):
                continue
            newest = max(newest, found.st_mtime, found.st_ctime)
        return min(max(newest + quiet - time.time(), 0.0), quiet)


class _Fault(NamedTuple):
    """Why there is no content: what an OSError is made of."""

    number: int
    why: str


class _Sign(NamedTuple):
    """What changes with a file's content. `changed`: seconds, as the system keeps them; none can set them."""

    device: int
    inode: int
    size: int
    modified: int
    changed: float


class _Read(NamedTuple):
    """One file. `sign`: before it was read. `largest`: the bytes that it may have."""

    content: bytes | _Fault
    sign: _Sign | None
    largest: int


def _content(path: str, largest: int) -> bytes | _Fault:
    """What is in a regular file; whoever opens a pipe to read would wait for a writer."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _AT_ONCE)) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return _Fault(errno.EINVAL, "it is no regular file")
            data = stream.read(largest + 1)
    except OSError as error:
        return _Fault(error.errno or errno.EIO, error.strerror or str(error))
    except ValueError as error:  # a name with NUL in it
        return _Fault(errno.EINVAL, str(error))
    return data if len(data) <= largest else _Fault(errno.EFBIG, f"it is larger than {largest} bytes")


def _sign(path: str) -> _Sign | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return _Sign(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime)


def _standing(folder: str) -> str:
    """The folder, or the nearest above it that is there."""
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder
