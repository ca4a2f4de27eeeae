"""What fits a pattern of files: one walk gives the files, the folders, and what could not be looked at."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from fnmatch import fnmatch
from glob import has_magic
from pathlib import PurePath
from typing import NamedTuple

_MOST = 20_000  # looks into folders, of which each below `**` takes two
_DEEPEST = 64  # folders inside each other: the system walks a path anew for each look
_LINKS = 40  # that lead to one another, as many as Linux follows


class Fitting(NamedTuple):
    """`files`: what fits and is no folder, sorted; not all need to be files that can be read.

    `folders`: those in which something new can come to fit. `faults`: why there may be more that fits.
    """

    files: tuple[str, ...]
    folders: frozenset[str]
    faults: tuple[str, ...]


def fitting(folder: str, pattern: str) -> Fitting:
    """What fits a pattern in a folder, as `glob` understands one.

    Below `**`, links are followed as well; a folder that is reached twice counts once, by its shortest path.
    """
    base, parts = _divided(folder, pattern)
    files: set[str] = set()
    folders = {base}
    faults = []
    seen: set[tuple[int, int, int]] = set()
    waiting = deque([(base, 0)])
    while waiting:
        here, at = waiting.popleft()
        try:
            found = os.stat(here)
            look = (found.st_dev, found.st_ino, at)
            if look in seen or not stat.S_ISDIR(found.st_mode):
                continue
            if here.count(os.sep) - base.count(os.sep) > _DEEPEST:
                faults.append(f"the folders in `{base}` lie deeper inside each other than {_DEEPEST} levels")
                break
            if len(seen) == _MOST:
                faults.append(f"`{base}` holds more folders than are looked at; name those that are meant")
                break
            seen.add(look)
            folders.add(here)
            if parts[at] == "**":
                waiting.append((here, at + 1))
            for path in _inside(here, parts[at], last=at == len(parts) - 1):
                if at == len(parts) - 1:
                    files.add(path)
                else:
                    waiting.append((path, at + (parts[at] != "**")))
        except (FileNotFoundError, NotADirectoryError):
            if os.path.islink(here) and not os.path.exists(here):
                faults.append(f"the link `{here}` leads nowhere")
        except OSError as error:
            faults.append(f"the folder `{here}` cannot be read: {error.strerror or error}")
    return Fitting(tuple(sorted(files)), frozenset(folders), tuple(faults))


def fits(folder: str, pattern: str, path: str) -> bool:
    """Does a path from the root fit a pattern in a folder, whether there is a file or not yet?"""
    base, parts = _divided(folder, pattern)
    above, name = os.path.split(path)
    resolved = os.path.join(os.path.realpath(above), name)
    pairs = ((base, path), (os.path.realpath(base), resolved))
    return any(
        each.startswith(os.path.join(root, "")) and _all_fit(os.path.relpath(each, root).split(os.sep), parts)
        for root, each in pairs
    )


def _all_fit(names: list[str], parts: list[str]) -> bool:
    """Do the names on a path fit the parts of a pattern? Its last part is never `**`."""
    places = {0}  # where in the parts the next name may be
    for name in names:
        places |= {at + 1 for at in places if parts[at : at + 1] == ["**"]}
        places = {at + (parts[at] != "**") for at in places if at < len(parts) and _fits(name, parts[at])}
    return len(parts) in places


def _fits(name: str, part: str) -> bool:
    """Does a name fit one part of a pattern? One that begins with a dot fits only what begins with one."""
    return fnmatch(name, part) and (not name.startswith(".") or part.startswith("."))


def _divided(folder: str, pattern: str) -> tuple[str, list[str]]:
    """The folder in which a pattern begins to be one, and what has to fit on each level below."""
    names = list(PurePath(pattern).parts)
    while not has_magic(names[0]):
        folder = os.path.join(folder, names.pop(0))
    parts = [each for at, each in enumerate(names) if each != "**" or names[at - 1 : at] != ["**"]]
    return absolute(folder), [*parts, "*"] if parts[-1] == "**" else parts


def _inside(folder: str, part: str, *, last: bool) -> Iterator[str]:
    """What in a folder fits one part of a pattern: no folders at its `last`, and before that nothing else.

    A link may be one to a folder. Raises OSError.
    """
    if not has_magic(part):
        path = os.path.join(folder, part)
        os.lstat(path)  # is there anything?
        if not last or not os.path.isdir(path):
            yield path
        return
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda each: each.name)
    for each in entries:
        if not _fits(each.name, part):
            continue
        if not os.path.isdir(each.path) if last else each.is_symlink() or each.is_dir():
            yield each.path


def absolute(path: str | os.PathLike[str]) -> str:
    """A path from the root, without `..` where the system means the same."""
    plain = os.path.abspath(path)
    if os.path.realpath(plain) == os.path.realpath(path):
        return plain
    # `..` behind a link is above what the link leads to.
    return os.fspath(path) if os.path.isabs(path) else os.path.join(os.getcwd(), path)


def real(path: str, known: dict[str, str], folders: set[str], links: int = 0) -> str:
    """Where a path leads to, `known` from one path to the next; adds the folders of the links on its way."""
    above = path
    names = []
    while above not in known and os.path.dirname(above) != above:
        above, name = os.path.split(above)
        names.append(name)
    found = known.get(above, above)
    for name in reversed(names):
        above = os.path.join(above, name)
        here = os.path.join(found, name) if name != ".." else os.path.dirname(found)
        try:
            target = os.readlink(here) if links < _LINKS else ""
        except (OSError, ValueError):  # most often it is no link
            target = ""
        if target:
            folders.add(found)
            here = real(os.path.join(found, target), known, folders, links + 1)
        known[above] = found = here
    return found
