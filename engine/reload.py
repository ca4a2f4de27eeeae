"""Watching the files of a deployment: whatever happens in their folders, they are read again.

Source: `docs/deployments.md`, "Reload". The folders are watched, not the files: a file that is put in the
place of another one, or a link that is turned, is missed by who watches the file itself.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from .deployment import Deployment

_STEP_MS = 500  # between two looks at whether this should end
_POLL = 0.5  # seconds between two looks at files where the system tells nothing
_AGAIN = 1.0  # seconds, where the folders cannot be watched now
_REMOTE = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "fuse",
    "overlay",
    "vboxsf",
    "virtiofs",
    "afs",
    "ceph",
    "gluster",
    "lustre",
    "vmhgfs",
    "prl_fs",
    "beegfs",
    "gpfs",
    "gfs2",
    "ocfs2",
    "aufs",
)


class Watch:
    """A thread that loads a deployment anew when its files change. Ends with `close`, or with it."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = weakref.ref(deployment)
        self.resume()

    def resume(self) -> None:
        """Begin, also in a forked child, where the thread did not come along.

        Raises:
            RuntimeError: the system has no thread left.
        """
        # Not in the thread: a child that forked meanwhile would wait for the import for ever.
        import watchfiles  # noqa: F401

        self._stop = threading.Event()  # a thread that did not come along may hold the lock of another one
        thread = threading.Thread(target=self._run, name="callgate-watch", daemon=True)
        thread.start()
        self._thread = thread

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def ended(self) -> bool:
        """Was it told to end?"""
        return self._stop.is_set()

    def stop(self) -> None:
        """End watching, without waiting for it: for who holds what the thread may wait for."""
        self._stop.set()

    def close(self) -> None:
        """End watching; waits until the thread has ended."""
        self.stop()
        if self._thread is not threading.current_thread():
            self._thread.join(10)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if not self._look():
                    return
            except BaseException:  # a handler of the program's log may raise anything, in this thread, too
                self._stop.wait(_AGAIN)

    def _look(self) -> bool:
        """Watch until other folders are to be watched. False: there is nothing to watch any more."""
        deployment = self._deployment()
        if deployment is None:
            return False
        wanted = deployment.watched
        del deployment
        first = True
        for happened in _happenings(wanted, self._stop):
            deployment = self._deployment()
            if deployment is None or self._stop.is_set():
                return False
            deployment.notice(happened or first)  # what happened before the watch began is not told
            first = False
            other = deployment.watched != wanted
            del deployment
            if other:
                break
        return True


class Watched(Struct, frozen=True):
    """What is watched: folders, but for files in them that are callgate's `own`: it writes them itself.

    `places`: device and inode of each folder, which are others where another folder has its name.
    """

    folders: tuple[str, ...]
    own: frozenset[str]
    poll: bool | None
    places: tuple[tuple[int, int], ...] = ()

    def counts(self, _change: object, path: str) -> bool:
        """Is an event about something that callgate does not write?"""
        return path not in self.own


def _happenings(wanted: Watched, stop: threading.Event) -> Iterator[bool]:
    """True when something may have happened in the folders, False where nothing did for some time."""
    if needs_polling(wanted.folders) if wanted.poll is None else wanted.poll:
        # The watcher's own polling sees no second change within one second.
        while not stop.wait(_POLL):
            yield True
        return
    from watchfiles import watch

    try:
        for changes in watch(
            *wanted.folders,
            watch_filter=wanted.counts,
            debounce=200,
            step=50,
            stop_event=stop,
            rust_timeout=_STEP_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            force_polling=False,
            recursive=False,
            ignore_permission_denied=True,
        ):
            yield bool(changes)
            if any(path in wanted.folders for _, path in changes):
                return  # a folder came or went, and one with the same inode may be in its place
    except Exception:
        # A folder went away, or the system has no watch left: look again after a while.
        stop.wait(_AGAIN)
        yield True


def needs_polling(folders: Iterable[str], mounts: Callable[[], str] | None = None) -> bool:
    """Does one of the folders lie on a network or overlay mount, whose changes the system may not tell?

    `mounts`: gives the text of `/proc/self/mountinfo`; where there is none, changes are told.
    """
    try:
        text = (mounts or _mountinfo)()
    except OSError:
        return False
    kinds: dict[str, str] = {}
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) > 4 and right:
            kinds[fields[4].replace("\\040", " ")] = right.split(" ")[0]
    return any(_kind(os.path.realpath(each), kinds).startswith(_REMOTE) for each in folders)


def _mountinfo() -> str:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as stream:
        return stream.read()


def _kind(folder: str, kinds: dict[str, str]) -> str:
    """The kind of the mount that a folder lies on."""
    while folder not in kinds and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return kinds.get(folder, "")
