"""Is a command of words known to be read-only? Its arguments are held against `rules/programs.yaml`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from ..rules.programs import Program, programs
from .shellarguments import SIGNED, Arguments, arguments_of
from .shellscripts import awk_reads, find_reads, is_value, printf_reads, sed_reads, test_reads
from .shellwords import Rest, Word, is_safe

_PYTHON = re.compile(r"python3?(?:\.[0-9]+)?\Z")
_STATUS = re.compile(r"[0-9]+\Z")
# `tree` takes the next words for these letters, and reads on behind them; but `-L2`, as new ones have it.
_TREE = re.compile(r"-[A-Za-z0-9]*?(?:[IP].|L(?![0-9]*\Z))")
_FOLDERS = ("/usr/bin/", "/bin/")
_KEY = re.compile(r"[A-Za-z0-9-]+\.(?:.*\.)?[A-Za-z][A-Za-z0-9-]*\Z")
# What git asks gpg for: the signature of a commit (`%G?`, `% GK`, `%+GS`), or of a tag.
_SIGNATURE = re.compile(r"%[^A-Za-z(%]*+G|signature")


class Known(Struct, frozen=True, gc=False):
    """A command that is known to be read-only: its row of the table, and its arguments."""

    name: str
    program: Program
    arguments: Arguments


def program_name(word: Word) -> str:
    """What a word in the program's place names, "" where that is not known.

    A path is the program of that name only in the folders of the system itself.
    """
    text = word.text or ""
    folder = next((each for each in _FOLDERS if text.startswith(each)), "")
    text = text[len(folder) :]
    if "/" in text or " " in text or (word.quoted and text == "[["):
        return ""  # with a blank it would name a row for a part of a program
    return "python" if _PYTHON.match(text) else text


def known(words: Sequence[Word]) -> Known | None:
    """The command where it is known to be read-only, else None. Wrappers were taken off before."""
    name, rest = program_name(words[0]), tuple(words[1:])
    if name == "git":
        name, rest = _git(rest)
    program = programs().get(name)
    if program is None:
        return None
    if len(rest) == 1 and rest[0].text in program.alone:
        return Known(name, program, Arguments(((rest[0].head, None),), ()))
    if not program.reads_only or _is_misread(program, rest):
        return None
    match program.code:
        case "echo":
            arguments = _plain(rest)
        case "printf":
            arguments = Arguments((), rest) if printf_reads(rest) else None
        case "test":
            arguments = Arguments((), rest) if test_reads(name, rest) else None
        case "find":
            arguments = Arguments((), rest) if find_reads(program.words, rest, _shows_any_file) else None
        case "tar":
            arguments = arguments_of(program, _dashed(rest))
        case "awk":
            arguments = _awk(rest)
        case "python" if rest and rest[0].text == "-m":
            arguments = _json_tool(rest[1:])
        case _:
            arguments = arguments_of(program, rest)
    if arguments is None or not _fits(program, arguments):
        return None
    return Known(name, program, arguments)


def _shows_any_file(words: Sequence[Word]) -> bool:
    """Does a command only read a file, its last word, whatever the name?"""
    file = Word("", Rest.WILD)
    command = known((*words[:-1], file)) if len(words) > 1 else None
    if command is None or not command.program.free or command.arguments.operands[-1:] != (file,):
        return False
    at = 0 if command.arguments.has("-e", "--regexp") else command.program.reads
    # Else it may read what the shell itself reads.
    return len(command.arguments.operands) > at and not (at < 0 and command.program.filter)


def _dashed(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """`tar tfv a` as `tar -tvf a`."""
    text = words[0].text if words else None
    if text is None or not text.isalpha() or text.count("f") != 1:
        return words
    return (Word("-" + text.replace("f", "") + "f"), *words[1:])


def _is_misread(program: Program, words: Sequence[Word]) -> bool:
    """Do some programs of this name read these words in another way than `arguments_of`?"""
    texts = [word.text or "" for word in words]
    match program.code:
        case "tree":
            return any(map(_TREE.match, texts))
        case "yq":
            return "--" in texts  # one takes options behind it, too
        case "sort":  # NetBSD's `-R` takes the next word
            return "--" in texts[1:] and texts[texts.index("--") - 1][-1:] == "R"
    return False


def _fits(program: Program, arguments: Arguments) -> bool:
    operands = arguments.operands
    if arguments.has(*program.into, *program.edits):
        return False
    count = sum(2 if word.rest > Rest.ONE else 1 for word in operands)
    if 0 <= program.most < count or (program.need and not arguments.has(*program.need)):
        return False
    first = operands[0].text if operands else None
    match program.code:
        case "literal":
            return not operands or first is not None
        case "yq":
            return not operands or (
                first is not None
                and not any("system" in each.head or each.rest > Rest.ONE for each in operands)
            )
        case "sed":
            scripts = [value for name, value in arguments.options if name in ("-e", "--expression")]
            scripts = scripts or list(operands[:1])
            return bool(scripts) and all(
                each is not None and each.text is not None and sed_reads(each.text) for each in scripts
            )
        case "date":
            return all(word.head.startswith("+") and word.rest <= Rest.ONE for word in operands)
        case "status":
            return count <= 1 and all(_STATUS.match(word.text or "") for word in operands)
        case "python":
            return not operands or arguments.has("-m")
        case "tar":
            archives = [value for name, value in arguments.options if name in ("-f", "--file")]
            return bool(archives) and all(each is not None and _is_archive(each) for each in archives)
        case "binary":  # `@a` holds options
            return bool(operands) and all(word.head[:1] not in ("", "@") for word in operands)
        case "zgrep":  # a script, which was wrong about names of several lines
            return all(word.text is not None and "\n" not in word.head for word in operands)
        case "git config":
            key = count == 1 and first is not None and _KEY.match(first)
            return bool(key) or arguments.has("--get", "--get-all", "--get-regexp", "--list", "-l")
        case "git":
            return _formats(arguments)
        case "git reflog":
            return _formats(arguments) and (not operands or first in ("show", "HEAD"))
        case "git list":
            listing = (
                "--list",
                "-l",
                "--contains",
                "--no-contains",
                "--merged",
                "--no-merged",
                "--points-at",
            )
            return _formats(arguments) and (not operands or arguments.has(*listing))
    return True


def _is_archive(word: Word) -> bool:
    """Not what the shell itself reads, whose name has no dot within; nor `host:a.tar`, on another machine."""
    text = word.text or ""
    return text == "-" or (":" not in text and "." in text.rpartition("/")[2].strip("."))


def _formats(arguments: Arguments) -> bool:
    """Signatures in a format let git run another program."""
    for name, value in arguments.options:
        if value is not None and name in ("--format", "--pretty", "--sort", "--group"):
            if value.text is None or _SIGNATURE.search(value.text):
                return False
    return True


def _git(words: tuple[Word, ...]) -> tuple[str, tuple[Word, ...]]:
    """The row for a git command, and its arguments. Options before it that are not known end it."""
    at = 0
    while at < len(words):
        text = words[at].text
        if text == "-C" and at + 1 < len(words) and is_value(words[at + 1], SIGNED):
            at += 2
        elif text in ("--no-pager", "-P", "--no-optional-locks"):
            at += 1
        else:
            break
    names = [word.text or "" for word in words[at : at + 2]]
    if names[:1] == ["annotate"]:
        names[0] = "blame"
    if not names or names[0].startswith("-"):
        return ("git" if at == 0 else ""), words
    if len(names) == 2 and (both := f"git {names[0]} {names[1]}") in programs():
        return both, words[at + 2 :]
    return f"git {names[0]}", words[at + 1 :]


def _plain(words: tuple[Word, ...]) -> Arguments | None:
    """The words of `echo`: an unknown one where an option could stand is in doubt, by the design."""
    doubtful = (
        word.rest is Rest.LOOSE
        or (word.rest is Rest.ONE and not word.safe and (not word.head or word.head[0] == "-"))
        for word in words
    )
    return None if any(doubtful) else Arguments((), words)


def _awk(words: tuple[Word, ...]) -> Arguments | None:
    """`awk` reads options up to its script, and files and assignments after it."""
    options: list[tuple[str, Word | None]] = []
    at = 0
    while at < len(words):
        text = words[at].text or ""
        if text in ("-F", "-v"):
            if at + 1 == len(words) or not is_value(words[at + 1], SIGNED):
                return None
            options.append((text, words[at + 1]))
            at += 2
        elif text[:2] in ("-F", "-v"):
            options.append((text[:2], Word(text[2:])))
            at += 1
        else:
            break
    if at < len(words) and words[at].text == "--":
        at += 1
    elif at < len(words) and words[at].head.startswith("-"):
        return Arguments((), ()) if [word.text for word in words] in (["--version"], ["--help"]) else None
    if at == len(words) or words[at].text is None or not awk_reads(words[at].head):
        return None
    if not all(is_value(word, SIGNED) or (word.head and word.head[0] != "-") for word in words[at + 1 :]):
        return None
    # `/inet/tcp/…` is a connection for gawk: no word may become one.
    if any(word.rest is Rest.LOOSE or "/inet" in word.head for word in words):
        return None
    doubtful = [word for word in words[at:] if word.text is None or word.head.startswith("~")]
    if not all(word.safe or is_safe(word.head) for word in doubtful):
        return None
    return Arguments(tuple(options), words[at:])


def _json_tool(words: tuple[Word, ...]) -> Arguments | None:
    """`python -m json.tool`: its second operand is what it writes to."""
    program = programs()["python -m json.tool"]
    if not words or words[0].text != "json.tool":
        return None
    arguments = arguments_of(program, words[1:])
    if arguments is None or not _fits(program, arguments):
        return None
    return Arguments((*arguments.options, ("-m", words[0])), arguments.operands)
