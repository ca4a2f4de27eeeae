"""The files that a shell command plainly changes, as written, behind the folder of a `cd`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .relevance import files_in
from .shellasides import is_known
from .shelllooks import is_name
from .shelloutline import MOVES, outline
from .shellparts import is_harmless, is_read_only, known_command
from .shellprograms import program_name
from .shellread import Command, Redirect
from .shelltargets import folder_of, goes_up, is_fixed
from .shellwords import Rest, Word
from .shellwrappers import is_locale, peel
from .shellwrites import changed_by, left_by
from .whereabouts import within

_SCRATCH = re.compile(r"/(?:var/)?tmp/[^/]+\Z|/dev/")
_MORE = Word("", Rest.LOOSE)
# They run a file, and what that changes nobody knows.
_KNOWN = re.compile(r"(?:python[0-9.]*|php|lua|java|swift|Rscript|julia|gh|glab|hg|svn)\Z")


def changed(parts: tuple[Command, ...]) -> dict[str, str] | None:
    """The files that the commands change, and what is left of each: it is only `made` or marked, or `gone`,
    or `moved`, or "" has another text; None where they may change more than they name."""
    folder = folder_of(parts, ("&&", ";"))
    found: dict[str, str] = {}
    lost = loose = False  # lost: in a folder that is not known; loose: it may run without the `cd`
    for part in parts[folder is not None :]:
        lost = lost or any(word.text in MOVES for word in part.words)
        loose = loose or part.link in (";", "||")
        if is_read_only(part):
            continue
        words = _changed(part)
        names = [word.text for word in words if word.text and is_name(word)]
        if lost or len(names) < len(words) or any(name.startswith("/dev/") for name in names):
            return None
        if folder is not None and any(each.operator[:2] == "&>" for each in part.redirects):
            return None  # for dash the `cd` is one of the background
        if folder is not None and (loose or not is_fixed(folder) or any(map(goes_up, names))):
            return None
        left = _left(part)
        for at, name in enumerate(names if folder is None else within(folder, names)):
            kind = "" if left == "moved" and at >= len(names) // 2 else left
            found[name] = kind if kind != "made" else found.get(name, kind)
    return found


def named(text: str) -> tuple[str, ...]:
    """The files whose text a command changes, as far as it names them plainly; it may change more.

    None right below `/tmp`, and no device: what is gone, new and empty, or thrown away cannot be looked at,
    and some look is owed in any case.
    """
    names: dict[str, None] = {}
    for part, folder in ((each.command, each.folder) for each in outline(text) if not each.code):
        left = "made" if is_read_only(part) else _left(part)
        if left == "made":
            continue
        for name in _placed(_changed(part), folder):
            if left == "gone":
                names.pop(name, None)
            elif not _SCRATCH.match(name):
                names[name] = None
    return tuple(names)


def unclear(text: str) -> tuple[str, ...]:
    """What is given to programs of which nothing is known, word by word; values of options, too. Of code what
    looks like a file."""
    found: dict[str, None] = {}
    for part, folder, code in ((each.command, each.folder, each.code) for each in outline(text)):
        if code:
            found.update(dict.fromkeys(_placed([*map(Word, files_in(code))], folder)))
        name = program_name(part.words[0]) if part.words else ""
        if not name or _KNOWN.match(name) or is_known(name):
            continue
        for word in part.words[1:]:
            head, equals, value = word.head.partition("=")
            given = Word(value, word.rest) if equals and head[:1] == "-" else word
            found.update(dict.fromkeys(_placed([given], folder)))
    return tuple(found)


def folder_of_patch(text: str) -> str | None:
    """Where the commands of a text stand when the last one of them begins; None where that is not known."""
    places = [each.folder for each in outline(text)]
    return places[-1] if places else ""


def _placed(words: list[Word], folder: str | None) -> Iterator[str]:
    """The names that are known for certain, seen from where the text begins."""
    for word in words:
        name = word.text
        if name and is_name(word) and (folder is not None or name[0] in "/~"):
            yield within(folder, (name,))[0] if folder else name


def _left(part: Command) -> str:
    """What is left of what it names: see `left_by`. What it prints into a file is a text."""
    peeled = peel(part.words) if all(map(is_harmless, part.redirects)) else None
    return left_by(peeled[0]) if peeled is not None and peeled[0] else ""


def _changed(part: Command) -> list[Word]:
    """The words that name what it changes; an unknown one where it may change more."""
    found = [
        each.word if each.operator[0] in ">&" and (each.operator != ">&" or _is_file(each)) else _MORE
        for each in part.redirects
        if not is_harmless(each)
    ]
    if not all(map(is_locale, part.assignments)):
        found.append(_MORE)
    if not part.words:
        return found or [_MORE]
    if known_command(part) is not None:
        return [*found, _MORE] if part.noted else found
    peeled = peel(part.words)
    if peeled is None or peeled[1]:
        return [*found, _MORE]
    words = tuple(map(_as_operand, peeled[0]))
    return [*found, *changed_by(words), *([_MORE] if words != peeled[0] else [])]


def _as_operand(word: Word) -> Word:
    """An expansion that may be an option hides no file that stands beside it."""
    hidden = word.rest is Rest.LOOSE or (word.rest is Rest.ONE and not word.head)
    return Word(word.head, Rest.ONE, safe=True) if hidden else word


def _is_file(redirect: Redirect) -> bool:
    """Does a `>&` write to a file, and not to what is open?"""
    return redirect.fd == "" and not redirect.word.head[:1].isdecimal()
