"""One look at a disk: each file is read once, and later it can be seen whether all is still the same.

The times of files are compared with each other alone: the clock of who serves them may be another than ours.
"""

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
_TICK = 2.0  # seconds; no file system keeps times more coarsely
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


class Files:
    """What was read and asked. What is read or asked twice is the same both times, whatever happens."""

    def __init__(self) -> None:
        self._read: dict[str, _Read] = {}
        self._asked: dict[tuple[Callable[[str], object], str], object] = {}
        self._patterns: dict[tuple[str, str], Fitting] = {}
        self._seen: dict[str, _Seen] = {}
        self._last = time.monotonic()  # when something was looked at that had not been looked at before

    def read(self, path: str | os.PathLike[str], largest: int = LARGEST) -> bytes:
        """The bytes of a regular file; nothing else is waited for. Raises OSError."""
        name = os.fspath(path)
        if name not in self._read:
            before = sign(name)
            at = time.monotonic()
            self._read[name] = _Read(_content(name, largest), before, largest)
            self._note(name, before, at)
            self._last = time.monotonic()
        found = self._read[name].content
        if isinstance(found, _Fault):
            raise OSError(*found)
        return found

    def ask(self, question: Callable[[str], T], path: str) -> T:
        """What a function such as `os.path.isfile` says of a path."""
        if (question, path) not in self._asked:
            self._asked[question, path] = question(path)
            self._last = time.monotonic()
        answer: T = self._asked[question, path]  # type: ignore[assignment]  # of this question
        return answer

    def matching(self, folder: str, pattern: str) -> Fitting:
        """What fits a pattern in a folder."""
        if (folder, pattern) not in self._patterns:
            self._patterns[folder, pattern] = fitting(folder, pattern)
            self._last = time.monotonic()
        return self._patterns[folder, pattern]

    @property
    def there(self) -> tuple[str, ...]:
        """The paths of the files that were read, in the order in which they were looked for."""
        return tuple(path for path, each in self._read.items() if isinstance(each.content, bytes))

    @property
    def seen(self) -> dict[str, bytes | None]:
        """What was looked up, by its path: its bytes, or None where there was none."""
        missing: dict[str, bytes | None] = {
            path: None for (_, path), answer in self._asked.items() if answer is False
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
        return all(sign(path) == each.sign for path, each in self._read.items()) and self.unchanged()

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
        at = time.monotonic()
        now, seen = sign(path), self._seen.get(path)
        if now is not None and seen is not None and seen.sure and seen.sign == now:
            return True
        if _content(path, before.largest) != before.content:
            return False
        self._note(path, now, at)
        return True

    def _note(self, path: str, sign: Sign | None, at: float) -> None:
        """Keep what a file looked like before it was read, and since when it looks like that."""
        seen = self._seen.get(path)
        if seen is None or seen.sign != sign:
            self._seen[path] = _Seen(sign, at)
        else:
            self._seen[path] = seen._replace(sure=at - seen.since > _TICK)

    def until_quiet(self, quiet: float, before: Files | None) -> float:
        """Seconds for which all of this has to stay as it is. What is as it was in a look `before`, which
        did stay so, has been quiet."""
        if before is not None and self._is_in(before):
            return 0.0
        return max(self._last + quiet - time.monotonic(), 0.0)

    def _is_in(self, before: Files) -> bool:
        return (
            self._read.items() <= before._read.items()
            and self._asked.items() <= before._asked.items()
            and self._patterns.items() <= before._patterns.items()
        )


class _Fault(NamedTuple):
    """Why there is no content: what an OSError is made of."""

    number: int
    why: str


class Sign(NamedTuple):
    """What changes with a file's content. Nobody can set `changed`."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


class _Seen(NamedTuple):
    """What a file looks like, and since when. `sure`: its next change makes it look otherwise."""

    sign: Sign | None
    since: float
    sure: bool = False


class _Read(NamedTuple):
    """One file. `sign`: before it was read. `largest`: the bytes that it may have."""

    content: bytes | _Fault
    sign: Sign | None
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


def sign(path: str) -> Sign | None:
    """What a path is in the file system now, or None where nothing is there."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return Sign(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _standing(folder: str) -> str:
    """The folder, or the nearest above it that is there."""
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder
