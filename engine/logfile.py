"""Where the decision log goes: a file, standard output, or a function of the host."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any, Protocol

import msgspec

if sys.platform != "win32":
    import fcntl

LOCKED = 1.0  # seconds that others may hold the file, or move it away; then it is written all the same
POLL = 0.0005

FAULTS = {
    errno.ENOENT: "there is no folder `{folder}`: make it, or name another file",
    errno.ENOTDIR: "`{folder}` is no folder: name another file",
    errno.EACCES: "it cannot be written: give this process the right to write it and its folder",
    errno.EPERM: "it cannot be written: give this process the right to write it and its folder",
    errno.EISDIR: "it is a folder: name a file in it",
    errno.ELOOP: "it is a symbolic link: name the file that it leads to",
    errno.EROFS: "its disk can only be read: name another file",
    errno.ENOSPC: "the disk is full: make room, or name another file",
    errno.EDQUOT: "the user's part of the disk is full: make room, or name another file",
    errno.EFBIG: "it may not grow larger: let it rotate (`max-bytes`), or raise the limit",
}


class Fault(msgspec.Struct, frozen=True):
    """Lines that could not be written: how many of a batch, and why."""

    lines: int
    error: str


class Sink(Protocol):
    """Takes batches of whole lines, each with its line end. Never raises.

    `tells_again`: what it lacks is told until that is written. `warning`: a trouble that costs no lines.
    """

    tells_again: bool
    warning: str | None

    def write(self, lines: list[bytes]) -> Fault | None: ...

    def close(self) -> None: ...


class FunctionSink:
    """Gives a function of the host each line as an object."""

    tells_again = False  # it may know decisions only
    warning: str | None = None

    def __init__(self, function: Callable[[dict[str, Any]], object]) -> None:
        self._function = function

    def write(self, lines: list[bytes]) -> Fault | None:
        lost, error = 0, ""
        for line in lines:
            try:
                self._function(msgspec.json.decode(line))
            except BaseException as fault:  # even SystemExit must not end the log
                lost, error = lost + 1, f"the log's function: {type(fault).__name__}: {str(fault)[:200]}"
        return Fault(lost, error) if lost else None

    def close(self) -> None:
        pass


class OutputSink:
    """Writes to standard output, as it is at that time."""

    tells_again = True
    warning: str | None = None

    def __init__(self) -> None:
        self._torn = b""  # the line end that a line needs which was not written to its end

    def write(self, lines: list[bytes]) -> Fault | None:
        data, sent = self._torn + b"".join(lines), 0
        try:
            out = sys.stdout
            try:
                file = out.fileno()
            except (OSError, AttributeError, ValueError):  # no file: Python's own, in its place
                out.write(data.decode())
                out.flush()
                return None
            until = time.monotonic() + LOCKED
            while sent < len(data):
                try:
                    sent += os.write(file, data[sent:])
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(POLL)
        except Exception as fault:
            written = data[len(self._torn) : max(sent, len(self._torn))].count(b"\n")
            self._torn = b"\n" if sent and data[sent - 1 : sent] != b"\n" else b""
            return Fault(len(lines) - written, f"standard output: {str(fault)[:200] or type(fault).__name__}")
        self._torn = b""
        return None

    def close(self) -> None:
        pass


class FileSink:
    """Appends to a file, and rotates it: `log` to `log.1`, that to `log.2`, up to `keep`.

    Processes may share the file. Whoever writes holds its lock, so that nobody moves it away meanwhile and
    the end can be looked at; a batch is one `write` on a descriptor that appends. Nothing is synced.
    """

    def __init__(self, path: str, max_bytes: int | None, keep: int) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._file: int | None = None
        self.tells_again = True
        self.warning: str | None = None

    def write(self, lines: list[bytes]) -> Fault | None:
        data, done = b"".join(lines), 0
        for attempt in (1, 2):
            sent, torn = 0, b""
            try:
                file, torn = self._ready(len(data))
                left = memoryview(torn + data)
                while sent < len(left):
                    sent += os.write(file, left[sent:])
                return None
            except OSError as fault:
                written = data[: max(sent - len(torn), 0)].count(b"\n")
                done += written
                data = data[_after(data, written) :]
                self.close()  # a file that was pulled away is opened afresh, once
                if attempt == 2:
                    return Fault(len(lines) - done, self._said(fault))
            finally:
                self._unlock()
        return None

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None

    def _ready(self, coming: int) -> tuple[int, bytes]:
        """The file, open, locked and with room, and the line end that a torn last line needs."""
        until = time.monotonic() + LOCKED
        while True:
            if self._file is None:
                self._file = self._open()
            locked = _lock(self._file, until)
            found = os.fstat(self._file)
            late = time.monotonic() > until
            if not self._is_here(found) and not (late and found.st_nlink):
                self.close()  # rotated by another process, or by logrotate
                continue
            size = found.st_size
            if self._max_bytes is not None and size > 0 and size + coming > self._max_bytes:
                if locked and not late and self._rotate():
                    self.close()
                    continue
            torn = size > 0 and _last(self._file, size) != b"\n"
            return self._file, b"\n" if torn else b""

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
            flags |= getattr(os, name, 0)
        if os.path.islink(self.path):  # where the system has no O_NOFOLLOW
            raise OSError(errno.ELOOP, "symbolic link")
        file = os.open(self.path, flags, 0o600)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise OSError(errno.EINVAL, "it is no regular file")
        return file

    def _is_here(self, found: os.stat_result) -> bool:
        try:
            here = os.lstat(self.path)
        except FileNotFoundError:
            return False
        return (here.st_dev, here.st_ino) == (found.st_dev, found.st_ino)

    def _rotate(self) -> bool:
        """Move the files on by one, under the lock of the newest. False: it cannot be done, and grows on."""
        names = [self.path, *(f"{self.path}.{n}" for n in range(1, self._keep + 1))]
        try:
            if len(names) == 1:
                os.unlink(self.path)
            for old, new in reversed(list(pairwise(names))):
                with suppress(FileNotFoundError):
                    os.replace(old, new)
        except OSError as fault:
            self.warning = f"{self.path}: it cannot be rotated ({fault.strerror}), and grows on"
            return False
        self.warning = None
        return True

    def _unlock(self) -> None:
        if self._file is not None and sys.platform != "win32":
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _said(self, fault: OSError) -> str:
        text = FAULTS.get(fault.errno or 0, fault.strerror or str(fault))
        return f"{self.path}: {text.format(folder=os.path.dirname(self.path))}"


def _lock(file: int, until: float) -> bool:
    """Wait for the file's lock, until then at most; false where there is none to have."""
    if sys.platform == "win32":
        return True
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False  # its holder was stopped: what is appended stays whole all the same
        except OSError:
            return False  # a file system without locks
        time.sleep(POLL)


def _last(file: int, size: int) -> bytes:
    """The last byte. Where it cannot be looked at, a line end: then a torn line costs the next one."""
    read = getattr(os, "pread", None)
    return read(file, 1, size - 1) if read is not None else b"\n"


def _after(data: bytes, lines: int) -> int:
    """Where so many lines end."""
    at = 0
    for _ in range(lines):
        at = data.index(b"\n", at) + 1
    return at
