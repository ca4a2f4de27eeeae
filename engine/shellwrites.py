"""Which files a program changes, as far as its words plainly name them, by `rules/programs.yaml`."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ..rules.programs import Program, programs
from .shellarguments import Arguments, arguments_of
from .shellprograms import program_name
from .shellscripts import awk_writes, sed_writes
from .shellwords import Rest, Word
from .shellwrappers import Words

_MORE = Word("", Rest.LOOSE)
# What stands before a program of a project; it may do more than run it.
_STARTERS = frozenset(
    (
        *("npx", "bunx", "uvx", "python -m", "pnpm exec", "yarn exec"),
        *("uv run", "poetry run", "pipenv run", "pdm run", "hatch run", "rye run"),
    )
)
_VERSION = re.compile(r"(?:HEAD|@)(?:[~^][0-9]*)*\Z")
# No folder, and no pattern.
_FILE = re.compile(r"[^*?\[{!]*\.[^*?\[{/.]+\Z")
_BESIDE = {"rmdir": ("-p", "--parents"), "install": ("-b",)}
_EVALUATE = ("e", "eval", "ea", "eval-all")


def changed_by(words: Words) -> list[Word]:
    """The words that name what a program changes; an unknown one where it may change more."""
    found: list[Word] = []
    while words:
        name = program_name(words[0])
        both = f"{name} {words[1].text}" if len(words) > 1 else ""
        if name not in _STARTERS and both not in _STARTERS:
            names = map(_place, _named(name, both, words))
            return [*found, *(map(_path, names) if name == "git" else names)]
        found = [_MORE]
        words = words[1 if name in _STARTERS else 2 :]
    return [_MORE]


def left_by(words: Words) -> str:
    """What a program leaves of the files that it changes: `made`, `gone`, `moved`; "" is another text."""
    name = program_name(words[0])
    both = f"{name} {words[1].text}" if len(words) > 1 else ""
    program = programs().get(both) or programs().get(name)
    if program is None:
        return ""
    return "moved" if program.changes == "move" else program.leaves


def _place(word: Word) -> Word:
    """What goes to the output, or to a device, is no file."""
    return _MORE if word.text == "-" or word.head.startswith("/dev/") else word


def _path(word: Word) -> Word:
    """What git takes for a pattern of its own, quoted or not, is no file."""
    return _MORE if word.text is not None and re.search(r"[*?\[\\]|\A:", word.text) else word


def _named(name: str, both: str, words: Words) -> list[Word]:
    rest = words[1:]
    if name == "dd":
        into = [word for word in rest if word.text is None or word.head.startswith("of=")]
        return [replace(word, head=word.head[3:], quoted=True) for word in into] or [_MORE]
    if both in programs():
        name, rest = both, rest[1:]
    program = programs().get(name)
    arguments = arguments_of(program, rest, anywhere=True) if program is not None else None
    if program is None or arguments is None:
        return [_MORE]
    found = [value for option, value in arguments.options if option in program.into and value is not None]
    if arguments.has(*program.edits):
        found += _edited(program, arguments)
    elif not program.need or arguments.has(*program.need):
        found += _operands(program, arguments, rest)
    if program.code in ("sed", "awk"):
        found += _printed(program, arguments)
    # Folders above it, or what was there before, under another name.
    beside = arguments.has(*_BESIDE.get(name, ()))
    return [*found, _MORE] if program.more or beside or not found else found


def _operands(program: Program, arguments: Arguments, words: Words) -> list[Word]:
    operands = list(arguments.operands)
    match program.changes:
        case "" | "into":
            return []
        case "first":
            return operands[:1]
        case "last":
            return _into(arguments) if len(operands) > 1 else []
        case "move":  # as many of what is gone as of what is there
            return [*operands[:-1], *_into(arguments)] if len(operands) > 1 else []
        case "after":  # `git checkout -- f`, or behind a version: one word without the dashes may be a branch
            at = next((at for at, word in enumerate(words) if word.text == "--"), None)
            if at is not None:
                return list(words[at + 1 :])
            certain = bool(operands) and _VERSION.match(operands[0].text or "") is not None
            return operands[1:] if certain else [*operands[1:], _MORE]
        case "files":
            return [word if _FILE.match(word.text or "") else _MORE for word in operands]
        case first:
            return operands[int(first) :]


def _into(arguments: Arguments) -> list[Word]:
    """Where the files come to lie: in a folder, if there are several of them, or it is written as one."""
    *sources, into = arguments.operands
    folder = len(sources) > 1 or into.text is None or into.text.endswith(("/", "."))
    if not folder or arguments.has("-T", "--no-target-directory"):
        return [into]
    if not into.text or into.counted or not all(each.text and not each.counted for each in sources):
        return [_MORE]
    ends = [(each.text or "").rpartition("/")[2] for each in sources]
    if not all(each.strip(".") for each in ends):
        return [into] * len(sources)  # all that lies in a folder
    return [Word(f"{into.text.rstrip('/')}/{end}") for end in ends]


def _scripted(program: Program, arguments: Arguments) -> tuple[list[Word], list[Word]]:
    """Its scripts, and its files. On BSD a suffix follows as a word of its own: an empty one is no file."""
    operands = [word for word in arguments.operands if word != Word("", quoted=True)]
    if program.code == "yq" and operands and operands[0].text in _EVALUATE:
        operands = operands[1:]
    given = (value for name, value in arguments.options if name in ("-e", "-E", "--expression"))
    scripts = [value for value in given if value is not None]
    if program.code == "yq" or not scripts:
        return operands[: program.reads], operands[program.reads :]
    return scripts, operands


def _edited(program: Program, arguments: Arguments) -> list[Word]:
    """What it changes in place."""
    _, files = _scripted(program, arguments)
    kept = [value for name, value in arguments.options if name in program.edits and value is not None]
    if any(value.text != "" for value in kept):
        return [*files, _MORE]  # what was there before goes to a file of another name
    return files or [_MORE]


def _printed(program: Program, arguments: Arguments) -> list[Word]:
    """What its scripts write to by name."""
    scripts, _ = _scripted(program, arguments)
    found: list[Word] = []
    for text in (script.text for script in scripts):
        files = None if text is None else awk_writes(text) if program.code == "awk" else sed_writes(text)
        found += [_MORE] if files is None else (Word(each, quoted=True) for each in files)
    return found if scripts and program.code == "sed" else [*found, _MORE]
