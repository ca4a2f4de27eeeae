"""Is a simple shell command known to change nothing?"""

from __future__ import annotations

import re

from msgspec import structs

from .shelllooks import recurses
from .shellprograms import Known, known
from .shellread import Command, Redirect
from .shellwords import Rest, Word
from .shellwrappers import is_locale, peel

# These read their input too, though they do not show it.
_COUNTING = re.compile(r"(?:wc|join|comm|cmp|diff|file|\w*sum|\w*z\w*cat)\Z")
_PATTERNS = ("-e", "-f", "--regexp", "--file", "--expression")
_BEGIN = re.compile(r"\s*BEGIN\s*\{[^{}]*\}\s*\Z")
_OWN = re.compile(r"(?:.*/)?(?:-|stdin|tty\w*|[0-9:]+)\Z")  # `/dev/stdin`, `/dev/fd/0`, `/dev/pts/3`
_DUPLICATE = re.compile(r"(?:[0-9]+|-)\Z")  # `1-` is a file for zsh and BusyBox


def is_read_only(part: Command) -> bool:
    """Is every piece of it known to change nothing: assignments, redirections, program, arguments?"""
    if not all(map(is_locale, part.assignments)) or not all(map(is_harmless, part.redirects)):
        return False
    if not part.words:
        return not part.assignments  # alone they would change the shell's own variables
    if part.noted and known_command(structs.replace(part, words=part.words + part.noted)) is None:
        return False
    return known_command(part) is not None


def known_command(part: Command) -> Known | None:
    """The program behind the wrappers where it is known to be read-only, else None."""
    peeled = peel(part.words)
    if peeled is None:
        return None
    words, fed = peeled
    found = known(words)
    # What `xargs` adds may be any option.
    return None if found is None or (fed and not found.program.free) else found


def is_fed(part: Command) -> bool:
    """Does `xargs` add to its words? Then it looks into files that are named elsewhere."""
    peeled = peel(part.words)
    return peeled is not None and peeled[1]


def takes_input(part: Command) -> bool:
    """May it read the lines that a shell would read next, and stop anywhere in them?"""
    if not part.words or part.link in ("|", "|&"):
        return False
    given = [each for each in part.redirects if each.operator in ("<", "<<<") and each.fd in ("", "0")]
    if given:
        return any(each.operator == "<" and _is_own(each.word) for each in given)
    command = known_command(part)
    if command is None or is_fed(part):
        return True
    program, operands, has = command.program, command.arguments.operands, command.arguments.has
    if not program.filter and not _COUNTING.match(command.name):
        return False
    at = 0 if program.code in ("pattern", "sed") and has(*_PATTERNS) else max(program.reads, 0)
    files = [word for word in operands[at:] if program.code != "awk" or "=" not in word.head]
    if files and command.name != "tr":
        return any(map(_is_own, files))
    if program.code == "awk":
        return bool(operands) and not _BEGIN.match(operands[0].head)
    unread = has("--help", "--version", "--null-input") or (command.name in ("jq", "yq") and has("-n"))
    return not (unread or recurses(command))


def _is_own(word: Word) -> bool:
    """Does it name what the shell itself reads, wherever a `cd` went?"""
    return word.text is not None and _OWN.match(word.text) is not None


def is_harmless(redirect: Redirect) -> bool:
    """A redirection that writes no file and opens no connection."""
    text = redirect.word.text
    match redirect.operator:
        case "<<<":
            return redirect.word.rest <= Rest.ONE
        case "<":
            # bash connects to a host where a name begins with /dev/tcp, also what `~+` stands for.
            if text is None or (text.startswith("~") and not text.startswith("~/")):
                return False
            return text == "/dev/null" or "/dev/" not in text
        case "<&":
            return text is not None and _DUPLICATE.match(text) is not None
        case ">&":
            return text is not None and (_DUPLICATE.match(text) is not None or text == "/dev/null")
        case _:
            return text == "/dev/null"
