"""Where packs are found: what the caller named, the rule file's folder, installed ones, shipped ones."""

from __future__ import annotations

import os
import posixpath
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from ..grammar.ast import Json
from ..grammar.diagnostics import Diagnostic
from ..rules.strictjson import JsonError, decode
from .files import Files
from .lock import Lock, admit, key_of
from .naming import Named, Packs, named_packs
from .offered import Offer, distributions, installed_offers, places, shipped_file, shipped_names
from .ruletext import Origin, PackError, RuleText, digest, rule_text

__all__ = ["Library", "Named", "Packs", "shipped_names"]

Folder: TypeAlias = "str | PathLike[str] | None"


class Library:
    """The packs that `use` can reach, and the JSON files beside rule files, each read when first asked for.

    Args:
        named: `"shipped"`, names (`kimi` or `kimi@^1.2`), paths of files or of folders, or texts by name.
        lock: nothing is read that it does not hold, and nothing is used that has changed since.
        folder: what relative paths in `named` are relative to; None: the current folder.
        files: what everything is read through.

    `first`: the packs that come before the rule texts, in order. `wrong`: what is wrong with `named`.
    `read`: where everything came from that was read, or refused because of the lock (without a hash).

    Raises:
        PackError: `named` is of another type.
    """

    def __init__(
        self,
        named: Packs | None = None,
        *,
        lock: Lock | None = None,
        folder: Folder = None,
        files: Files | None = None,
    ) -> None:
        self.files = files or Files()
        self._named = named_packs(named, folder, self.files)
        self.first: list[Named] = self._named.first
        self.wrong: list[Diagnostic] = self._named.wrong
        self.lock = lock
        self.read: dict[tuple[str, str], Origin] = {}
        self._locked = lock.by_key() if lock is not None else {}
        self._homes: dict[str, Origin] = {}  # folders that are somebody's, by their path
        self._offers: dict[str, list[Offer]] | None = None

    def find(self, name: str, folder: Folder) -> RuleText | None:
        """The text of a pack, or None where there is none of this name.

        Raises:
            PackError: it is there and cannot be read, the lock refuses it, or it is two packs.
        """
        if name in self._named.texts:
            return self._given(name)
        if name in self._named.paths:
            return self._one(name, [self._at(path) for path in self._named.paths[name]])
        if "/" in name or "\\" in name:  # a name is no path
            return None
        if folder is not None:
            path = str(Path(folder, f"{name}.gate"))
            if self.files.ask(os.path.lexists, path):  # a link that leads nowhere is no other pack
                return self.offered(self._at(path))
        offers = self.installed().get(name)
        return self._one(name, offers) if offers else self.shipped(name)

    def offered(self, offer: Offer) -> RuleText:
        """The text of a pack that is at this place. Raises PackError: see `find`."""
        origin, path = offer.origin, offer.path
        if path is None:
            raise PackError(f"the installed pack `{offer.name}` cannot be read: {offer.why}")
        if origin.source == "installed":
            self._homes.setdefault(
                os.path.dirname(path),
                Origin("installed", posixpath.dirname(origin.path), distribution=origin.distribution),
            )
        data = self._data(path, origin, origin.path)
        return rule_text(data, origin.path, path, origin, shipped=origin.source == "shipped")

    def shipped(self, name: str) -> RuleText | None:
        """The text of a pack that ships, or None. Raises PackError: see `find`."""
        from importlib.resources import as_file

        entry = shipped_file(name)
        if entry is None:
            return None
        with as_file(entry) as path:
            self._homes.setdefault(os.path.dirname(path), Origin("shipped", ""))
            return self.offered(Offer(name, str(path), Origin("shipped", entry.name)))

    def installed(self) -> dict[str, list[Offer]]:
        """The packs of installed distributions, by name. Raises PackError: see `installed_offers`."""
        if self._offers is None:
            for place in places():  # before: what is installed meanwhile is seen later
                self.files.ask(distributions, place)
            self._offers = installed_offers()
        return self._offers

    def rule_file(self, path: str | PathLike[str]) -> RuleText:
        """Read a rule file that is no pack to look up.

        Raises:
            PackError: see `read_rule_file`; or the lock refuses it.
        """
        return self.offered(self._at(os.fspath(path)))

    def admit_text(self, text: RuleText) -> None:
        """Note a rule text that comes from elsewhere.

        Raises:
            PackError: it is not what the lock holds.
        """
        data = text.data if text.data is not None else text.text.encode("utf-8", "surrogatepass")
        self._note(text.origin or Origin("given", text.file), data)

    def admit_file(self, path: str | PathLike[str], data: bytes) -> None:
        """Note a file that somebody else read, such as one of tools, by the bytes that are used of it.

        Raises:
            PackError: it is not what the lock holds.
        """
        self._note(Origin("file", os.fspath(path), document=True), data)

    def document(self, folder: Folder, name: str) -> Json:
        """A JSON file beside a rule file, never outside its folder.

        Raises:
            PackError: it is not there, lies outside, is no JSON, or the lock refuses it.
        """
        if folder is None:
            raise PackError(f"`{name}` cannot be looked up: the rules are a text without a folder")
        try:
            root = Path(folder).resolve()
            path = (root / name).resolve()
        except (OSError, ValueError, RuntimeError) as error:  # a loop of links, a NUL
            raise PackError(f"`{name}` cannot be looked up: {error}") from None
        if not path.is_relative_to(root):
            raise PackError(f"`{name}` lies outside the folder of the rule file")
        written = str(Path(folder, name))
        data = self._data(written, replace(self._origin(written), document=True), f"`{name}`")
        try:
            return decode(data.decode())
        except (JsonError, UnicodeDecodeError) as error:
            raise PackError(f"`{name}` is no JSON: {error}") from None

    def known(self, folder: Folder) -> set[str]:
        """The names that `find` would find, for a help. Raises PackError: see `installed`."""
        here = Path(folder) if folder is not None else None
        near = {path.stem for path in here.glob("*.gate")} if here is not None and here.is_dir() else set()
        return {*self._named.texts, *self._named.paths, *near, *self.installed(), *shipped_names()}

    # What is read -----------------------------------------------------------------------------

    def _given(self, name: str) -> RuleText:
        file = f"{name}.gate"
        text = RuleText(self._named.texts[name], file, origin=Origin("given", file))
        self.admit_text(text)
        return text

    def _at(self, path: str) -> Offer:
        return Offer(Path(path).stem, path, self._origin(path))

    def _origin(self, path: str) -> Origin:
        """Where a file comes from: one in the folder of a pack that is installed or ships comes with it."""
        above, rest = os.path.split(path)
        while above not in self._homes and os.path.basename(above):
            above, last = os.path.split(above)
            rest = f"{last}/{rest}"
        home = self._homes.get(above)
        if home is None:
            return Origin("file", path)
        return Origin(home.source, posixpath.normpath(f"{home.path}/{rest}"), distribution=home.distribution)

    def _one(self, name: str, offers: list[Offer]) -> RuleText:
        """The text that all of these are; with a lock, the first of those that it holds."""
        if self.lock is not None and len(offers) > 1:
            root = self.lock.folder
            offers = [each for each in offers if key_of(each.origin, root) in self._locked][:1] or offers[:1]
        first, *others = [self.offered(each) for each in offers]
        for other in others:
            if other.text != first.text:
                raise two_packs(name, first, other)
            if other.origin is not None and other.origin != first.origin:
                self.read.pop((other.origin.source, other.origin.path), None)  # only looked at
        return first

    def _data(self, path: str, origin: Origin, shown: str) -> bytes:
        """The bytes of a file, the same each time, and those of the lock."""
        self._note(origin)  # before it is opened
        try:
            data = self.files.read(path)
        except OSError as error:
            raise PackError(f"{shown}: cannot be read: {error.strerror}") from None
        self._note(origin, data)
        return data

    def _note(self, origin: Origin, data: bytes | None = None) -> None:
        """Keep in mind what is read, or is to be read. Raises PackError: the lock refuses it."""
        if data is not None:
            origin = replace(origin, sha256=digest(data))
        known = (origin.source, origin.path)
        if self.lock is not None:
            self.read[known] = replace(origin, sha256="")
            admit(self._locked.get(key_of(origin, self.lock.folder)), origin, self.lock)
        if origin.sha256:
            self.read[known] = origin


def two_packs(name: str, one: RuleText, other: RuleText) -> PackError:
    """One name for two texts."""
    message = f"`{name[:64]}` is two packs: {one.place} and {other.place}"
    return PackError(message, "G511", "keep one, rename one, or name the one that is meant by its path")


def where_looked(library: Library, name: str, folder: Folder) -> str:
    """Where a pack was looked for, for the help of a diagnostic."""
    here = f"`{os.fspath(folder) or '.'}`, " if folder is not None else ""
    named = "the named ones, " if library.first else ""
    path = f"\na path is written with a slash: `./{name}`" if folder is None and os.path.isdir(name) else ""
    return f"looked for it among {named}{here}the installed ones and those that ship{path}"
