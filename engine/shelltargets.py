"""The files that a read-only shell command plainly shows.

They are given as written, behind the folder of a `cd` at the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from .shelllooks import (
    CUTTING,
    SEARCHES,
    has_names,
    is_certain,
    is_plain,
    is_plainly_named,
    is_quiet,
    is_safe,
    recurses,
)
from .shelloutline import MOVES
from .shellparts import is_fed, is_read_only, known_command
from .shellprograms import Known
from .shellread import Command, Redirect
from .whereabouts import within

# Options of `ls` that hide nothing.
_LISTING = frozenset(("-1", "-a", "-A", "-l", "-h", "-t", "-r", "-S", "-F", "-p", "--all", "--almost-all"))
_PATTERNS = ("-e", "-f", "--regexp", "--file", "--files", "--expression")
_SILENT = ("-c", "-q", "--count", "--quiet")


def shown(parts: tuple[Command, ...]) -> tuple[str, ...]:
    """The files that are shown when all goes well: by commands joined with `&&`, and pipes of filters."""
    return _shown(parts, ("", "&&", "|", "|&")) or displayed(parts)


def listed(parts: tuple[Command, ...]) -> tuple[str, ...]:
    """The folders that one plain `ls` lists, all but what begins with a dot; `.` where it names none."""
    command = known_command(parts[0]) if len(parts) == 1 else None
    if command is None or command.name != "ls" or parts[0].redirects or parts[0].nested or is_fed(parts[0]):
        return ()
    if not {name for name, _ in command.arguments.options} <= _LISTING:
        return ()
    places = command.arguments.operands
    if any(not word.text or word.counted for word in places):
        return ()
    return tuple(word.head for word in places) or (".",)


def _shown(parts: tuple[Command, ...], joints: tuple[str, ...]) -> tuple[str, ...]:
    found: list[str] = []
    for part in parts:
        if part.nested or part.link not in joints or not is_read_only(part):
            return ()
        command = known_command(part)
        if command is None or command.name in MOVES or any(map(_is_hidden, part.redirects)):
            return ()
        if is_fed(part):
            return ()
        files = list(_files(command, part))
        if part.link in ("|", "|&"):
            if files or not _passes_on(command):
                return ()
        found += files
    return tuple(dict.fromkeys(found))


def displayed(parts: tuple[Command, ...]) -> tuple[str, ...]:
    """Those of `shown` where nothing but lines of these files can come out; after `cd /folder &&`, too."""
    folder = folder_of(parts, ("&&",))
    if folder is not None and not is_fixed(folder):
        return ()
    looks = parts if folder is None else (structs.replace(parts[1], link=""), *parts[2:])
    quiet = silent = False
    for part in looks:
        command = known_command(part)
        if command is None or not is_plain(command) or not is_plainly_named(command, part):
            return ()
        if part.link == ";" and silent:
            return ()  # that it found nothing is told by its exit code alone, which the `;` loses
        silent = silent or command.name in SEARCHES
        quiet = quiet or is_quiet(command) or any(map(_is_thrown, part.redirects))
    names = _shown(looks, ("", "&&", ";", "|", "|&"))
    if quiet and len(names) > 1:
        return ()  # which of them could not be read is not told
    if folder is not None and any(map(goes_up, names)):
        return ()  # the folder may be a link
    return names if folder is None else within(folder, names)


def is_sure(parts: tuple[Command, ...], several: bool) -> bool:
    """Does what `displayed` names show something of itself, and no complaint that passes for it?

    Of `several` files a search may find nothing in one; a pipe or `;` loses that a pattern was wrong.
    """
    for part, after in zip(parts, (*parts, None)[1:], strict=True):
        command = known_command(part)
        if command is None or command.name in MOVES:
            continue
        if several and (not is_certain(command) or (part.link in ("|", "|&") and command.name in CUTTING)):
            return False
        if after is not None and after.link in ("|", "|&", ";") and not is_safe(command):
            return False
    return True


def searches(parts: tuple[Command, ...]) -> bool:
    """Is it one plain `grep` or `rg` below the working directory, with a file's name before each line?"""
    command = known_command(parts[0]) if len(parts) == 1 else None
    if command is None or any(each.operator == "<" for each in parts[0].redirects):
        return False
    return bool(displayed(parts)) and has_names(command)


def said(parts: tuple[Command, ...]) -> Iterator[str]:
    """Every text that the commands are given: words, values of options and of assignments, redirections."""
    for part in parts:
        yield from words_of(part)
        command = known_command(part)
        if command is not None:
            yield from (value.head for _, value in command.arguments.options if value is not None)


def words_of(part: Command) -> Iterator[str]:
    """What one command is given, as far as it is known."""
    yield from (word.head for word in (*part.words, *part.noted))
    yield from (value.head for _, value in part.assignments)
    yield from (each.word.head for each in part.redirects)


def folder_of(parts: tuple[Command, ...], links: tuple[str, ...]) -> str | None:
    """Where a `cd` goes that stands before all else, as written; None where none does."""
    first = parts[0] if len(parts) > 1 and parts[1].link in links else None
    if first is None or first.nested or first.redirects or first.assignments or len(first.words) != 2:
        return None
    where = None if first.words[1].counted else first.words[1].text
    return where if first.words[0].text == "cd" and where and where[0] not in "-+" else None


def is_fixed(folder: str) -> bool:
    """Is it known without the folder that `cd` starts in?"""
    return folder[0] == "/" and not goes_up(folder)


def goes_up(name: str) -> bool:
    return ".." in name.split("/")


def _is_hidden(redirect: Redirect) -> bool:
    """A redirection after which the output is not seen."""
    return redirect.operator[0] in ">&" and redirect.fd in ("", "1")


def _is_thrown(redirect: Redirect) -> bool:
    """It throws away what the program says of faults."""
    return redirect.operator[0] == ">" and redirect.fd == "2" and redirect.word.text == "/dev/null"


def _passes_on(command: Known) -> bool:
    """A filter that shows lines as they come in; not one that only counts them."""
    return command.program.filter and not command.arguments.has(*_SILENT)


def _files(command: Known, part: Command) -> Iterator[str]:
    """The files that a command shows."""
    operands, has = command.arguments.operands, command.arguments.has
    at = command.program.reads
    if command.name == "git diff":
        # One operand, or those after `--` beside no more than HEAD: else they may be versions.
        words = [word.text for word in part.words]
        before, dashes, _ = " ".join(word or "-" for word in words).partition(" -- ")
        at = len([word for word in operands if word.text == "HEAD"]) if dashes else 0
        named = operands[at:]
        if (
            has("--cached", "--staged", "--no-index")
            or before.count("..")
            or (not dashes and len(named) != 1)
        ):
            return
        if not dashes and (named[0].text or "HEAD").startswith("HEAD"):
            return
    elif (
        (command.name == "git blame" and len(operands) != 1)
        or at < 0
        or (has("-n", "--null-input", "--args", "--jsonargs") and command.name in ("jq", "yq"))
    ):
        return
    elif has(*_PATTERNS) and command.program.code in ("pattern", "sed"):
        at = 0
    files = operands[at:]
    if not files and command.program.filter:
        into = [each for each in part.redirects if each.operator[0] == "<"]
        sought = bool(operands) or has("-e", "--regexp")
        if not into and sought and recurses(command) and part.link not in ("|", "|&"):
            yield "."
        # zsh reads all of several, the other shells the last one.
        if len(into) == 1 and into[0].operator == "<" and into[0].fd in ("", "0") and into[0].word.text:
            yield into[0].word.text
    for word in files:
        if (
            word.text
            and word.text != "-"
            and not word.counted
            and not (command.program.code == "awk" and "=" in word.text)
        ):
            yield word.text
