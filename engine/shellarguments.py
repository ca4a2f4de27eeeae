"""What a program is given: its words as options with their values, and operands, by its row of the table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..rules.programs import Program
from .shellscripts import is_value
from .shellwords import Rest, Word

SIGNED = re.compile(r"-[0-9]+(?:[.,][0-9]+)?\Z")
_COUNT = re.compile(r"-[0-9]+\Z")


class Arguments(Struct, frozen=True, gc=False):
    """What a program is given: options by name with their values, and the rest."""

    options: tuple[tuple[str, Word | None], ...]
    operands: tuple[Word, ...]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)


def arguments_of(program: Program, words: Sequence[Word], anywhere: bool = False) -> Arguments | None:
    """Options and operands as the program reads them; None where one is not known.

    `anywhere`: an option behind an operand is one, whatever the program.
    """
    options: list[tuple[str, Word | None]] = []
    operands: list[Word] = []
    at, ended = 0, False
    # Where the place of an operand matters, an option after one counts as an operand with some programs.
    ordered = not anywhere and (program.most >= 0 or bool(program.need) or program.code == "git list")

    def value(count: int) -> Word | None:
        """The next word or words, where nobody takes one of them for an option."""
        nonlocal at
        taken = words[at : at + count]
        at += count
        if len(taken) < count or not all(_is_value(program, each) for each in taken):
            return None
        return taken[0]

    while at < len(words):
        word = words[at]
        at += 1
        text = word.text
        if ended or text == "-" or (text is not None and not text.startswith("-")):
            operands.append(word)
        elif text is None:
            if not _is_operand(program, word):
                return None
            operands.append(word)
        elif (ordered or (program.code == "sed" and not anywhere)) and operands:
            return None  # without an option before it the first operand of `sed` is its script for some
        elif text == "--":
            ended = True
        elif (kind := _exact(program, text)) is not None:
            taken = value(kind.count("=")) if kind else None
            if kind and taken is None:
                return None
            options.append((text, taken))
        elif text.startswith("--"):
            name, equals, given = text[2:].partition("=")
            long = program.long.get(name)
            if long is None or (equals and not long):
                return None
            separate = long == "=" and not ordered  # else the next word may be an operand all the same
            taken = replace(word, head=given, quoted=True) if equals else value(1) if separate else None
            if long == "=" and taken is None:
                return None
            options.append(("--" + name, taken))
        else:
            for place, letter in enumerate(text[1:], 2):
                if letter in program.flags:
                    options.append(("-" + letter, None))
                elif letter in program.values or letter in program.attached:
                    inside = text[place:] or letter in program.attached
                    taken = replace(word, head=text[place:], quoted=True) if inside else value(1)
                    if taken is None:
                        return None
                    options.append(("-" + letter, taken))
                    break
                else:
                    return None
    return Arguments(tuple(options), tuple(operands))


def _exact(program: Program, text: str) -> str | None:
    """What follows a word that is an option as it stands, None where it is none."""
    return "" if program.number and _COUNT.match(text) else program.words.get(text)


def _is_value(program: Program, word: Word) -> bool:
    # Where programs of one name differ in which options take a value, it must not be an option of another.
    return is_value(word, SIGNED) or (program.free and word.rest is Rest.NOTHING)


def _is_operand(program: Program, word: Word) -> bool:
    """An unknown word where an option could stand: is it certainly no option, or none that matters?"""
    if word.rest is Rest.LOOSE:
        return False
    if word.head:
        return word.head[0] != "-"
    return word.safe or (word.rest is Rest.WILD and program.free)
