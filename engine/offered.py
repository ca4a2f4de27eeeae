"""The packs that are there without being named: those of installed distributions, and those that ship.

Nothing that is installed is imported: a pack is data, and is found without running anybody's code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from .files import Sign, sign
from .ruletext import Origin, PackError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from importlib.resources.abc import Traversable

GROUP = "callgate.packs"


class Offer(Struct, frozen=True):
    """A pack that can be read: its name, the file to open, and where that comes from.

    `path` is None where the package that an entry point names cannot be found; `why` then says so.
    """

    name: str
    path: str | None
    origin: Origin
    why: str = ""


def places() -> Iterator[str]:
    """Where distributions are or may come to be installed: what `distributions` is asked about."""
    for each in sys.path:
        with suppress(OSError, ValueError, TypeError):  # the current folder is gone, or it is no path
            yield os.path.join(os.path.abspath(each), "*.dist-info")


def distributions(place: str) -> tuple[tuple[str, Sign | None], ...]:
    """What is installed at a place, and the file in which each says what it offers, as it is now."""
    folder = os.path.dirname(place)
    names: list[str] = []
    with suppress(OSError):
        names = [each for each in os.listdir(folder) if each.endswith((".dist-info", ".egg-info"))]
    return tuple((name, sign(os.path.join(folder, name, "entry_points.txt"))) for name in sorted(names))


def installed_offers() -> dict[str, list[Offer]]:
    """The packs of installed distributions by name, those of one name by their distribution.

    Raises:
        PackError: what is installed cannot be listed.
    """
    from importlib import invalidate_caches
    from importlib.metadata import entry_points

    found: dict[str, list[Offer]] = {}
    try:
        invalidate_caches()  # of folders that were not there, and of packages that came within one tick
        for point in entry_points(group=GROUP):
            found.setdefault(point.name, []).append(_offer(point))
    except Exception as error:  # the metadata of any distribution may be damaged, in any way
        what = f"{type(error).__name__}: {error}"
        raise PackError(
            f"what installed packages offer cannot be read: {what}",
            help="reinstall the package whose `entry_points.txt` is damaged; `pip check` may name it",
        ) from None
    for offers in found.values():
        offers.sort(key=lambda offer: (offer.origin.distribution, offer.origin.path))
    return found


def _offer(point: EntryPoint) -> Offer:
    """What one entry point offers: its value is the package that holds `NAME.gate`."""
    owner = ""
    if point.dist is not None:
        owner = f"{point.dist.metadata['Name'] or ''} {point.dist.metadata['Version'] or ''}".strip()
    origin = Origin("installed", f"{point.value.replace('.', '/')}/{point.name}.gate", distribution=owner)
    try:
        for folder in _folders(point.value):
            path = os.path.join(folder, f"{point.name}.gate")
            if os.path.isfile(path):
                return Offer(point.name, path, origin)
    except (ImportError, ValueError, TypeError, AttributeError, OSError) as error:
        return Offer(point.name, None, origin, str(error))
    return Offer(point.name, None, origin, f"the package `{point.value}` holds no `{point.name}.gate`")


def _folders(package: str) -> list[str]:
    """The folders of a package, which is not imported.

    Raises:
        ImportError: there is no such package. ValueError and others: the name is none.
    """
    from importlib.machinery import PathFinder
    from importlib.util import find_spec

    top, *rest = package.split(".")
    spec = find_spec(top)
    for number in range(1, len(rest) + 1):
        if spec is None or spec.submodule_search_locations is None:
            break
        name = ".".join([top, *rest[:number]])
        spec = PathFinder.find_spec(name, list(spec.submodule_search_locations))
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(f"there is no package `{package}`")
    return list(spec.submodule_search_locations)


def shipped_names() -> list[str]:
    """The packs that ship, `common` first, which the others build on."""
    names = sorted(entry.name.removesuffix(".gate") for entry in _shipped_files())
    return sorted(names, key=lambda name: name != "common")


def shipped_file(name: str) -> Traversable | None:
    """The file of a pack that ships, or None where none of this name does."""
    return next((entry for entry in _shipped_files() if entry.name == f"{name}.gate"), None)


def _shipped_files() -> Iterator[Traversable]:
    from importlib.resources import files

    folder = files("callgate.rules") / "packs"
    return (entry for entry in folder.iterdir() if entry.name.endswith(".gate"))
