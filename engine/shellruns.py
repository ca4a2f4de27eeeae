"""Which program one simple shell command runs, for `runs(SEL, "PROGRAM")`."""

from __future__ import annotations

import re

from ..rules.programs import programs
from .shellasides import ASIDE, ASIDE_WORDS, DOUBTFUL, DOUBTFUL_LONG, HANDED, Asides, asides_of
from .shellread import Command
from .shellwords import Rest, Word
from .shellwrappers import MOST, WRAPPERS, Words, is_locale

_BIN = re.compile(r"(?:/usr/local/bin|/usr/bin|/bin|(?:\./)?\.?venv/bin)/([^/]+)\Z")
_PYTHON = re.compile(r"python(?:[23](?:\.[0-9]+)?)?\Z")
_PYTHON_FLAGS = frozenset(("-B", "-E", "-I", "-O", "-OO", "-P", "-s", "-S", "-u", "-b", "-bb"))
_SEEN_THROUGH = frozenset(
    (("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run"))
)
_NEXT = "//"  # behind a program's subcommands
_DASHED = frozenset(("go", "java", "javac", "terraform", "find", "dotnet"))  # their long options have one `-`


def runs_program(parts: tuple[Command, ...], program: str) -> bool | None:
    """Are these one simple command that runs `program`, for more than its help? None: not certain."""
    if len(parts) != 1 or parts[0].nested or not parts[0].words:
        return False
    found = _program(parts[0].words, program)
    if found is True and not all(map(is_locale, parts[0].assignments)):
        return None  # a variable can hold options too
    if found is True and any(each.operator[0] == "&" for each in parts[0].redirects):
        return None  # for dash it is a background job
    return found


def _program(words: Words, program: str) -> bool | None:
    """Do these words run the program? Wrappers are seen through."""
    for _ in range(MOST):
        if not words:
            return False
        word = words[0]
        text = word.text
        if text is None:
            return None
        if text == program:
            return _is_for_real(words[1:], program)
        found = _BIN.match(text)
        name = found[1] if found is not None else text
        if name == program:
            return _is_for_real(words[1:], program)
        if name.casefold().removesuffix(".exe") == program.casefold().removesuffix(".exe"):
            return None  # on some systems it is the same
        if "/" in name:
            return None if name.rpartition("/")[2] == program or name.endswith("/") else False
        rest: Words | None
        if name in WRAPPERS:
            if name == "command" and len(words) > 1 and words[1].text in ("-v", "-V"):
                return False
            rest = WRAPPERS[name](words[1:])
        elif _PYTHON.match(name):
            return _module(words[1:], program)
        elif len(words) > 2 and (name, words[1].text) in _SEEN_THROUGH and not words[2].head.startswith("-"):
            rest = words[2:]
        else:
            row = programs().get(name)
            return None if row is not None and row.runner else False
        if rest is None:
            return None
        words = rest
    return None


def _module(words: Words, program: str) -> bool | None:
    """`python -m MODULE`; a script of another name is another program."""
    at = 0
    while at < len(words) and words[at].text in _PYTHON_FLAGS:
        at += 1
    if at == len(words):
        return False
    text = words[at].text
    if text == "-m" and at + 1 < len(words):
        name = words[at + 1].text
        if name is None or (name == "coverage" and program != name):
            return None
        if name != program and name.split(".")[0] in ("pip", "runpy", "timeit", "trace", "cProfile", "pdb"):
            return None if name.split(".")[0] != "pip" else False
        return _is_for_real(words[at + 2 :], program) if name == program else False
    return (
        None
        if text is None or (text.startswith("-") and text not in ("-c", "-", "-V", "--version"))
        else False
    )


def _is_for_real(words: Words, program: str) -> bool | None:
    """None of the options for help, version, a list or a dry run is among the arguments."""
    own = known = asides_of(program)
    # Alone it may be the version.
    doubt = words == (Word("-v"),) and "v" not in known.plain
    path = before = ""
    ended = valued = unsure = False
    for word in words:
        text = word.text
        # pytest takes options from a file, and from within an option.
        doubt = doubt or "addopts" in word.head or (own.files and word.head[:1] == "@")
        if (
            text is not None
            and not ended
            and (own.vague.match(text) or (before and own.vague.match(before + text)))
        ):
            doubt = True
        bare = word.head[:1] != "-"
        if text is None:
            doubt = doubt or word.rest is Rest.LOOSE or not (word.safe or word.head) or not bare
            answer: bool | None = True
            path = path if not bare or valued else _NEXT
        elif text == "--":
            if known.closed:
                break
            # What a program hands on, another one reads.
            known = HANDED if known.passes and program != "pytest" else known
            ended, answer = True, True
        elif valued and bare:
            answer = True
        elif bare and not (ended and path):
            unsure = unsure or ended or before[-1:] == "="  # it may be a value, or handed on
            answer = _is_command(text, own, path, unsure)
            path = path if before[-1:] == "=" else _NEXT if path else f"{text}/"
        else:
            answer = _is_meant(text, program, known)
        if answer is False and (known.passes or not ended):
            return False
        doubt = doubt or answer is not True
        before = "" if bare or "=" in word.head else word.head + "=" * (word.head[:2] == "--")
        valued = not bare and _takes_next(word.head, own)
    if path in own.first or (path == "" and own.only and "" not in own.only):
        return None if unsure else False
    return None if doubt else True


def _is_command(text: str, known: Asides, path: str, unsure: bool) -> bool | None:
    """Does this subcommand, or operand, leave it to its work? `path`: the one before it, and a `/`."""
    if path + text in known.first:
        return None if unsure else False
    if path:
        return True
    other = bool(known.only) and text not in known.only and not unsure
    return None if other or text in ASIDE_WORDS else True


def _is_meant(text: str, program: str, known: Asides) -> bool | None:
    """Does this option leave the program to its work?"""
    name = text.partition("=")[0]
    if name in known.words or (name in ASIDE_WORDS and name[0] == "-"):
        return False
    if name.startswith("--"):
        if any(each.startswith(name) for each in (*ASIDE, *known.words)) and len(name) > 2:
            return False
        return None if DOUBTFUL_LONG.match(name) else True
    if program in _DASHED:
        return None if name in ("-h", "-n", "-V", "-?") else True
    return _cluster(name[1:], known) if name[:1] == "-" else True


def _takes_next(text: str, known: Asides) -> bool:
    """Is the next word the value of this option?"""
    at = next((at for at, letter in enumerate(text) if letter in known.valued), -1)
    return text[1:2] != "-" and at == len(text) - 1


def _cluster(text: str, known: Asides) -> bool | None:
    for letter in text:
        if letter in known.valued:
            return True
        if letter in known.never:
            return False
        if letter in DOUBTFUL and letter not in known.plain:
            return None
    return True
