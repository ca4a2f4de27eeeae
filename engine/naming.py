"""How packs are named by a caller: `shipped`, `kimi`, `kimi@^1.2`, a file, a folder, or texts by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, field

from ..grammar.diagnostics import Diagnostic
from ..rules.versions import check_spec
from .files import Files
from .offered import shipped_names
from .ruletext import PackError

SHIPPED = "shipped"
Packs: TypeAlias = "str | PathLike[str] | Iterable[str | PathLike[str]] | Mapping[str, str]"


class Named(Struct, frozen=True):
    """A pack that comes before the rules. `spec`: the versions that are wanted. `part`: one of a folder.
    `entry`: what the caller named it by."""

    name: str
    spec: str | None = None
    part: bool = False
    entry: str = ""


class NamedPacks(Struct, frozen=True):
    """What a caller named: the order, texts and paths by name (several where folders hold one name twice)."""

    first: list[Named] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    paths: dict[str, list[str]] = field(default_factory=dict)
    wrong: list[Diagnostic] = field(default_factory=list)


def named_packs(given: Packs | None, folder: str | PathLike[str] | None, files: Files) -> NamedPacks:
    """Read what a caller named. Relative paths are relative to `folder`, or to the current one.

    Raises:
        PackError: it is of another type. What is wrong with single names is in `wrong`.
    """
    found = NamedPacks()
    if isinstance(given, Mapping):
        for name, text in given.items():
            if not isinstance(name, str) or not isinstance(text, str):
                raise PackError("packs by name are a mapping of texts to texts")
            found.texts[name] = text
            found.first.append(Named(name, entry=name))
        return found
    entries = [given] if isinstance(given, str | PathLike) else () if given is None else given
    if not isinstance(entries, Iterable) or isinstance(entries, bytes | bytearray):
        raise PackError(f"packs are names, paths or texts by name, not `{type(given).__name__}`")
    for entry in entries:
        if isinstance(entry, PathLike) and isinstance(entry.__fspath__(), str):
            _path(found, os.fspath(entry), folder, files)
        elif not isinstance(entry, str):
            raise PackError(f"a pack is a name or a path, not `{type(entry).__name__}`")
        elif entry == SHIPPED:
            found.first.extend(Named(name, entry=entry) for name in shipped_names())
        elif is_path(entry):
            _path(found, entry, folder, files)
        else:
            _name(found, entry)
    return found


def is_path(entry: str) -> bool:
    """Is a pack named by a path, and not by its name?"""
    return "/" in entry or "\\" in entry or entry.endswith(".gate") or entry in (".", "..")


def _name(found: NamedPacks, entry: str) -> None:
    name, at, spec = entry.partition("@")
    if at:
        try:
            check_spec(spec)
        except ValueError as error:
            help_ = "write it as in `kimi@^1.2`"
            message = f"`{entry[:64]}`: {error}"
            found.wrong.append(Diagnostic("G502", message, help=help_, file="<packs>", about=entry))
            return
    found.first.append(Named(name, spec if at else None, entry=entry))


def _path(found: NamedPacks, entry: str, folder: str | PathLike[str] | None, files: Files) -> None:
    path = str(Path(entry) if folder is None else Path(folder, entry))
    if not files.ask(os.path.isdir, path):
        _file(found, path, entry, part=False)
        return
    inside, why = files.ask(_inside, path)
    if why:
        message = f"the folder `{path}` cannot be read: {why}"
        found.wrong.append(Diagnostic("G505", message, file="<packs>", about=entry))
    elif not inside:
        message = f"the folder `{path}` holds no *.gate file"
        help_ = "name a folder of packs"
        found.wrong.append(Diagnostic("G509", message, help=help_, file="<packs>", about=entry))
    for each in inside:
        _file(found, each, entry, part=True)


def _inside(folder: str) -> tuple[list[str], str]:
    """The rule files in a folder, sorted; and why it cannot be read, or nothing."""
    try:
        names = sorted(each for each in os.listdir(folder) if each.endswith(".gate") and each[0] != ".")
    except OSError as error:
        return [], error.strerror or str(error)
    paths = [os.path.join(folder, name) for name in names]
    return [each for each in paths if not os.path.isdir(each)], ""


def _file(found: NamedPacks, path: str, entry: str, *, part: bool) -> None:
    name = Path(path).stem
    paths = found.paths.setdefault(name, [])
    if path not in paths:
        paths.append(path)
    found.first.append(Named(name, None, part, entry))
