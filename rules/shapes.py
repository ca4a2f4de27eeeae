"""What the items of a statement look like: one line of text per statement, checked slot by slot.

A shape is a row of slots. `LABEL:TYPE` is one value, `LABEL:TYPE,` one or more joined by commas, a bare
lower-case word stands for itself, and `[…]` may be left out. A type is one of the names in `_FITS`, or
lower-case words; `|` between them means any of them. `name:NAME version:TEXT [what:TEXT]` is `pack`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from msgspec import Struct

from ..grammar.ast import Atom, Day, Json, Literal, Pointer, Text, Word
from ..grammar.pointer import read_pointer
from ..grammar.span import Span

Group = tuple[Atom, ...]


def selector(atom: Atom) -> Pointer | None:
    """The selector that an atom in selector place means, or None when it means none."""
    if isinstance(atom, Pointer):
        return atom
    if isinstance(atom, Text):
        try:
            return Pointer(read_pointer(atom.value), span=atom.span)
        except ValueError:
            return None
    return None


def _is_number(atom: Atom) -> bool:
    return (
        isinstance(atom, Literal) and isinstance(atom.value, int | float) and not isinstance(atom.value, bool)
    )


_FITS: Mapping[str, Callable[[Atom], bool]] = MappingProxyType(
    {
        "NAME": lambda atom: isinstance(atom, Word | Text),
        "TEXT": lambda atom: isinstance(atom, Text),
        "JSON": lambda atom: isinstance(atom, Text | Literal),
        "OBJECT": lambda atom: isinstance(atom, Literal) and isinstance(atom.value, dict),
        "NUMBER": _is_number,
        "DATE": lambda atom: isinstance(atom, Day),
        "SELECTOR": lambda atom: selector(atom) is not None,
    }
)


class Slot(Struct, frozen=True):
    """One group of a statement. A slot without a label is a bare word that stands for itself."""

    label: str
    types: tuple[str, ...]  # names in `_FITS`
    words: tuple[str, ...]
    many: bool

    def fits(self, group: Group) -> bool:
        return (self.many or len(group) == 1) and all(self._fits(atom) for atom in group)

    def _fits(self, atom: Atom) -> bool:
        if isinstance(atom, Word) and atom.text in self.words:
            return True
        return any(_FITS[name](atom) for name in self.types)

    def __str__(self) -> str:
        shown = [
            f'"{self.label.upper()}"' if name == "TEXT" else self.label.upper() for name in self.types[:1]
        ]
        return "|".join([*self.words, *shown]) + (", …" if self.many else "")


class Optional(Struct, frozen=True):
    """Slots that stand together or not at all."""

    slots: tuple[Slot, ...]

    def __str__(self) -> str:
        return f"[{' '.join(map(str, self.slots))}]"


class Shape(Struct, frozen=True):
    parts: tuple[Slot | Optional, ...]

    def __str__(self) -> str:
        return " ".join(map(str, self.parts))


class Fields(Struct, frozen=True):
    """What stood in the slots of a shape, by label."""

    groups: Mapping[str, Group]

    def __contains__(self, label: str) -> bool:
        return label in self.groups

    def atom(self, label: str) -> Atom:
        """The one atom of a slot. Raises KeyError where an optional slot was left out."""
        return self.groups[label][0]

    def names(self, label: str) -> tuple[str, ...]:
        """The words and texts of a slot; none where it was left out."""
        return tuple(_text(atom) for atom in self.groups.get(label, ()))

    def name(self, label: str) -> str:
        return _text(self.groups[label][0])

    def text(self, label: str) -> str | None:
        """The word or text of an optional slot."""
        return _text(self.groups[label][0]) if label in self.groups else None

    def json(self, label: str) -> Json:
        atom = self.groups[label][0]
        if isinstance(atom, Literal):
            return atom.value
        return _text(atom)

    def selector(self, label: str) -> Pointer:
        found = selector(self.groups[label][0])
        if found is None:
            raise KeyError(label)
        return found


def _text(atom: Atom) -> str:
    if isinstance(atom, Text):
        return atom.value
    if isinstance(atom, Word | Day):
        return atom.text
    raise KeyError(atom)


class Misfit(Struct, frozen=True):
    """Where a statement leaves its shape: the span, or None after its last item; what was wanted there."""

    span: Span | None
    wanted: tuple[str, ...]


@cache
def shape(text: str) -> Shape:
    """Read a shape from its line. Raises KeyError on an unknown type: shapes are written in this package."""
    parts: list[Slot | Optional] = []
    inside: list[Slot] | None = None
    for token in text.replace("[", " [ ").replace("]", " ] ").split():
        if token == "[":
            inside = []
        elif token == "]":
            parts.append(Optional(tuple(inside or ())))
            inside = None
        elif inside is not None:
            inside.append(_slot(token))
        else:
            parts.append(_slot(token))
    return Shape(tuple(parts))


def _slot(token: str) -> Slot:
    many = token.endswith(",")
    label, colon, names = token.rstrip(",").partition(":")
    if not colon:
        return Slot("", (), (label,), False)
    split = names.split("|")
    types = tuple(name for name in split if name.isupper())
    for name in types:
        _FITS[name]
    return Slot(label, types, tuple(name for name in split if not name.isupper()), many)


def fit(wanted: Shape, items: tuple[Group, ...]) -> Fields | Misfit:
    """Lay the items of a statement into the slots of a shape. Tries at most two ways per optional part."""
    furthest = -1
    missed: list[str] = []

    def miss(at: int, what: str) -> None:
        nonlocal furthest
        if at > furthest:
            furthest = at
            missed.clear()
        if at == furthest and what not in missed:
            missed.append(what)

    def lay(parts: tuple[Slot | Optional, ...], at: int) -> dict[str, Group] | None:
        if not parts:
            if at < len(items):
                miss(at, "")
                return None
            return {}
        head, rest = parts[0], parts[1:]
        if isinstance(head, Optional):
            taken = lay(head.slots + rest, at)
            return taken if taken is not None else lay(rest, at)
        if at >= len(items) or not head.fits(items[at]):
            miss(at, str(head))
            return None
        found = lay(rest, at + 1)
        if found is not None and head.label:
            found[head.label] = items[at]
        return found

    groups = lay(wanted.parts, 0)
    if groups is not None:
        return Fields(groups)
    span = items[furthest][0].span if furthest < len(items) else None
    return Misfit(span, tuple(what for what in missed if what))
