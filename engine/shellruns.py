"""Which program one simple shell command runs, for `runs(SEL, "PROGRAM")`."""

from __future__ import annotations

import re

from msgspec import Struct

from ..rules.programs import programs
from .shellread import Command
from .shellwords import Rest
from .shellwrappers import MOST, WRAPPERS, Words, is_locale

_BIN = re.compile(r"(?:/usr/local/bin|/usr/bin|/bin|(?:\./)?\.?venv/bin)/([^/]+)\Z")
_PYTHON = re.compile(r"python(?:[23](?:\.[0-9]+)?)?\Z")
_PYTHON_FLAGS = frozenset(("-B", "-E", "-I", "-O", "-OO", "-P", "-s", "-S", "-u", "-b", "-bb"))
_SEEN_THROUGH = frozenset(
    (("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run"))
)

# Also shortened, as many programs allow.
_ASIDE = ("--help", "--version", "--dry-run", "--dryrun", "--usage", "--just-print", "--recon", "--no-run")
_ASIDE_WORDS = frozenset(("help", "version", "-help", "-version", "-list", "-dry-run"))
# Help, version or a dry run with some programs, something else with others.
_DOUBTFUL = frozenset("hHVn?")
_DOUBTFUL_WORDS = frozenset(("--list", "--list-tests", "--listTests", "--simulate", "--check-only", "--noop"))
_DASHED = frozenset(("go", "java", "javac", "terraform", "find", "dotnet"))  # their long options have one `-`


class _Letters(Struct, frozen=True):
    """A program's letters: `plain` ones, with a value, for help or a dry run; `words` for that too."""

    plain: str
    valued: str
    never: str
    words: tuple[str, ...] = ()


_LETTERS = {
    "pytest": _Letters(
        "qvxsl",
        "kmcpnoWr",
        "hV",
        (
            *("--collect-only", "--collectonly", "--co", "--fixtures", "--fixtures-per-test", "--funcargs"),
            *("--markers", "--setup-plan", "--setup-only", "--cache-show"),
        ),
    ),
    "make": _Letters("BbdekLmRrsSw", "CfIjloEW", "hnqtvp", ("--question", "--touch", "--print-data-base")),
    "python": _Letters("BdEiIOPqsSuvxb", "cmWX", "hV"),
}


def runs_program(parts: tuple[Command, ...], program: str) -> bool | None:
    """Are these one simple command that runs `program`, for more than its help? None: not certain."""
    if len(parts) != 1 or parts[0].nested or not parts[0].words:
        return False
    found = _program(parts[0].words, program)
    if found is True and not all(map(is_locale, parts[0].assignments)):
        return None  # a variable can hold options too
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
    """None of the options for help, version or a dry run is among the arguments."""
    letters = _letters(program)
    aside = (*_ASIDE, *letters.words)
    doubt = False
    for at, word in enumerate(words):
        text = word.text
        # pytest takes options from a file, and from within an option.
        doubt = doubt or "addopts" in word.head or (program == "pytest" and word.head[:1] == "@")
        if text is None:
            doubt = doubt or word.rest is Rest.LOOSE or not (word.safe or word.head) or word.head[:1] == "-"
        elif text == "--":
            break
        elif text in _ASIDE_WORDS:
            if text.startswith("-"):
                return False
            doubt = doubt or at == 0
        elif text in letters.words or (
            text.startswith("--") and any(each.startswith(text) for each in aside)
        ):
            return False
        elif text.startswith("--"):
            doubt = doubt or text in _DOUBTFUL_WORDS
        elif program in _DASHED:
            doubt = doubt or text in ("-h", "-n", "-V", "-?")
        elif text.startswith("-") and len(text) > 1:
            answer = _cluster(text[1:], letters)
            if answer is False:
                return False
            doubt = doubt or answer is None or (text == "-v" and len(words) == 1 and "v" not in letters.plain)
    return None if doubt else True


def _cluster(text: str, letters: _Letters) -> bool | None:
    for letter in text:
        if letter in letters.valued:
            return True
        if letter in letters.never:
            return False
        if letter in _DOUBTFUL and letter not in letters.plain:
            return None
    return True


def _letters(program: str) -> _Letters:
    found = _LETTERS.get(program)
    row = None if found is not None else programs().get(program)
    if row is not None:
        return _Letters("".join(row.flags), "".join(row.values | row.attached), "")
    return found or _Letters("", "", "")
