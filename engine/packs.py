"""Where packs are found: what the caller named, the rule file's folder, installed ones, shipped ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..grammar.ast import Json
from ..rules.strictjson import JsonError, decode
from .ruletext import PackError, RuleText, read_rule_file

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

GROUP = "callgate.packs"
SHIPPED = "shipped"
Packs: TypeAlias = "str | Path | Iterable[str | Path] | Mapping[str, str]"


class Library:
    """The packs that `use` can reach, and the JSON files beside rule files; each read when first asked for.

    `named`: `"shipped"`, names, paths, or texts by name, as the caller gave them. `seen`: the text of
    every file that was looked up, by its path, or None where there was no file.
    """

    def __init__(self, named: Packs | None = None) -> None:
        self._texts: dict[str, str] = dict(named) if isinstance(named, Mapping) else {}
        self._paths: dict[str, Path] = {}
        self.seen: dict[str, str | None] = {}
        self.first: list[str] = list(self._texts)  # what comes before the rule text, in order
        if named is not None and not isinstance(named, Path | Iterable):
            raise PackError(f"packs are names, paths or texts by name, not `{type(named).__name__}`")
        entries = (
            [named] if isinstance(named, str | Path) else [] if isinstance(named, Mapping) else named or []
        )
        for entry in entries:
            if entry == SHIPPED:
                self.first += shipped_names()
            elif isinstance(entry, Path) or "/" in entry or "\\" in entry or entry.endswith(".gate"):
                path = Path(entry)
                self._paths[path.stem] = path
                self.first.append(path.stem)
            else:
                self.first.append(entry)

    def find(self, name: str, folder: str | PathLike[str] | None) -> RuleText | None:
        """The text of a pack, or None where there is none of this name.

        Raises:
            PackError: it is there and cannot be read.
        """
        if name in self._texts:
            return RuleText(self._texts[name], f"{name}.gate")
        path = self._paths.get(name)
        if path is None and folder is not None:
            path = Path(folder, f"{name}.gate")
            if not path.is_file():
                self.seen[str(path)] = None
                path = None
        found = read_rule_file(path) if path is not None else _installed(name) or _shipped(name)
        if found is not None and found.folder is not None:
            self.seen[str(path or Path(found.folder, f"{name}.gate"))] = found.text
        return found

    def document(self, folder: str | PathLike[str] | None, name: str) -> Json:
        """A JSON file beside a rule file, never outside its folder.

        Raises:
            PackError: it is not there, lies outside, or is no JSON.
        """
        if folder is None:
            raise PackError(f"`{name}` cannot be looked up: the rules are a text without a folder")
        root = Path(folder).resolve()
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise PackError(f"`{name}` lies outside the folder of the rule file")
        try:
            text = path.read_bytes().decode()
            self.seen[str(Path(folder, name))] = text
            return decode(text)
        except OSError as error:
            raise PackError(f"`{name}` cannot be read: {error.strerror or error}") from None
        except (JsonError, UnicodeDecodeError) as error:
            raise PackError(f"`{name}` is no JSON: {error}") from None

    def known(self, folder: str | PathLike[str] | None) -> set[str]:
        """The names that `find` would find, for the help of a diagnostic."""
        here = Path(folder) if folder is not None else None
        near = {path.stem for path in here.glob("*.gate")} if here is not None and here.is_dir() else set()
        from importlib.metadata import entry_points

        installed = {point.name for point in entry_points(group=GROUP)}
        return {*self._texts, *self._paths, *near, *installed, *shipped_names()}


def shipped_names() -> list[str]:
    """The packs that ship, `common` first, which the others build on."""
    names = sorted(entry.name.removesuffix(".gate") for entry in _shipped_files())
    return sorted(names, key=lambda name: name != "common")


def _shipped_files() -> Iterator[Traversable]:
    from importlib.resources import files

    folder = files("callgate.rules") / "packs"
    return (entry for entry in folder.iterdir() if entry.name.endswith(".gate"))


def _shipped(name: str) -> RuleText | None:
    from importlib.resources import as_file, files

    entry = files("callgate.rules") / "packs" / f"{name}.gate"
    if "/" in name or not entry.is_file():
        return None
    with as_file(entry) as path:
        return read_rule_file(path, f"{name}.gate", shipped=True)


def _installed(name: str) -> RuleText | None:
    """A pack that an installed package offers: its entry point names a package that holds `NAME.gate`."""
    from importlib.metadata import entry_points
    from importlib.resources import as_file, files

    for point in entry_points(group=GROUP):
        if point.name == name:
            try:
                entry = files(point.value) / f"{name}.gate"
                with as_file(entry) as path:
                    return read_rule_file(path, f"{point.value}/{name}.gate")
            except (ModuleNotFoundError, TypeError, ValueError, OSError) as error:
                raise PackError(f"the installed pack `{name}` cannot be read: {error}") from None
    return None
