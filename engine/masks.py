"""Masks: what the decision log must not show, wherever it turns up in a call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ..grammar.ast import STAR, Json, Segment
from ..grammar.pointer import read_pointer
from .selector import Path, places, pointer

MASK = "***"
_SHORT = 4  # characters, or digits: what has fewer of them is looked for as a whole value only


class Masks:
    """Compiled mask selectors.

    A masked place is shown as `***`. So is a key of the same name at any depth (the model may have wrapped
    the arguments), a masked value at another place (it may have moved it), text that holds either, and the
    item of a list that comes after `--key`.
    """

    def __init__(self, selectors: tuple[str, ...]) -> None:
        self._selectors = tuple(read_pointer(each) for each in selectors)
        self._all = () in self._selectors
        self._keys = frozenset(each[-1] for each in self._selectors if each and type(each[-1]) is str)
        # As an option, `api_key` is written `--api-key`.
        words = (map(re.escape, re.split("[-_]", str(key))) for key in sorted(self._keys, key=str) if key)
        name = f"(?:{'|'.join(map('[-_]'.join, words)) or '(?!)'})"
        option = rf"--?{name}"
        self._key, self._option = re.compile(name, re.IGNORECASE), re.compile(option, re.IGNORECASE)
        # A key inside text: quoted, as a tag, as a parameter of one, as an option, or before a `:` or `=`.
        inside = rf"""(?:["'<>=]\s*{name}|(?<!\w){option})(?!\w)|(?<!\w){name}[\s"'`*\])]*[:=]"""
        self._inside = re.compile(inside, re.IGNORECASE)

    def apply(
        self, before: Json | UnsetType, after: Json | UnsetType, paths: tuple[str, ...]
    ) -> tuple[Json | UnsetType, Json | UnsetType, tuple[str, ...]]:
        """The two values and the places with everything masked. The values are ours, and changed in place."""
        if self._all:
            shown: Json | UnsetType = UNSET if before is UNSET else MASK
            return shown, UNSET if after is UNSET else MASK, ("",) if paths else ()
        value = _read(before) if type(before) is str else before
        secrets = _Secrets()
        for each in (value, after):
            for holder, key in self._places(each):
                secrets.add(holder[key])
        shown = self._masked(value, secrets)
        if type(before) is str:
            # In text that is no JSON nobody can tell where a masked value is.
            shown = MASK if value is None else msgspec.json.encode(shown).decode()
        cut = dict.fromkeys(self._cut(path, secrets) for path in paths)
        return shown, self._masked(after, secrets), tuple(cut)

    def _places(self, value: Any) -> Iterator[tuple[Any, Any]]:
        """Each masked place as its holder and the key or index there."""
        for selector in self._selectors:
            for path, _ in places(value, selector):
                holder = value
                for part in path[:-1]:
                    holder = holder[part]
                yield holder, path[-1]
        stack = [value]
        while stack:
            here = stack.pop()
            if type(here) is dict:
                yield from ((here, key) for key in here if self._is_key(key))
                stack.extend(here.values())
            elif type(here) is list:
                yield from ((here, n) for n, each in enumerate(here[:-1], 1) if self._is_option(each))
                stack.extend(here)

    def _is_key(self, key: object) -> bool:
        return key in self._keys or (type(key) is str and self._key.fullmatch(key) is not None)

    def _is_option(self, item: object) -> bool:
        return type(item) is str and self._option.fullmatch(item) is not None

    def _masked(self, value: Any, secrets: _Secrets) -> Any:
        for holder, key in list(self._places(value)):
            holder[key] = MASK
        top = [value]
        stack: list[Any] = [top]
        while stack:
            here = stack.pop()
            for key, item in list(here.items() if type(here) is dict else enumerate(here)):
                if type(item) is dict or type(item) is list:
                    stack.append(item)
                elif self._hides(item, secrets):
                    here[key] = MASK
                if type(key) is str and self._hides(key, secrets):
                    del here[key]
                    here[MASK] = MASK
        return top[0]

    def _hides(self, item: object, secrets: _Secrets) -> bool:
        if type(item) is int or type(item) is float:
            return any(map(secrets.within, _forms(item)))
        if type(item) is not str:
            return False
        return secrets.within(item) or self._inside.search(item) is not None

    def _cut(self, path: str, secrets: _Secrets) -> str:
        """A place as far as it is not below a masked one."""
        parts: Path = tuple(str(part) for part in read_path(path))
        for n, part in enumerate(parts):
            if self._hides(part, secrets):
                parts = (*parts[:n], MASK, *parts[n + 1 :])
            if self._is_key(part) or any(_fits(parts[: n + 1], each) for each in self._selectors):
                return pointer(parts[: n + 1])
        return pointer(parts)


class _Secrets:
    """The texts and numbers at masked places. True, false, null and empty text hide nothing."""

    def __init__(self) -> None:
        self._whole: set[str] = set()
        self._parts: set[str] = set()

    def add(self, value: Any) -> None:
        stack = [value]
        while stack:
            here = stack.pop()
            if type(here) is dict:
                stack.extend(here.values())
            elif type(here) is list:
                stack.extend(here)
            elif type(here) is str and here.strip():
                self._whole.add(here)
                if len(here) >= _SHORT:
                    # As it is, and as it stands in JSON text.
                    self._parts |= {here, _escaped(here)}
            elif type(here) is int or type(here) is float:
                forms = _forms(here)
                self._whole |= forms
                self._parts |= {each.lstrip("-") for each in forms if sum(map(str.isdigit, each)) >= _SHORT}

    def within(self, text: str) -> bool:
        return text in self._whole or any(part in text for part in self._parts)


def read_path(path: str) -> list[str]:
    """The unescaped parts of a pointer that the engine wrote."""
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _fits(parts: Path, selector: tuple[Segment, ...]) -> bool:
    return len(parts) == len(selector) and all(
        str(part).isdigit() if want is STAR else part == want
        for part, want in zip(parts, selector, strict=True)
    )


def _read(text: str) -> Any:
    """The object or array that a text is, or None."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return value if type(value) is dict or type(value) is list else None


def _forms(number: int | float) -> set[str]:
    """How a number may stand in text; 7 and 7.0 are one."""
    try:
        found = {str(number)}
    except ValueError:  # more digits than Python writes
        return {hex(int(number))}
    if type(number) is float and number.is_integer():
        found.add(str(int(number)))
    return found


def _escaped(text: str) -> str:
    try:
        return msgspec.json.encode(text).decode()[1:-1]
    except UnicodeError:
        return text
