"""Is a simple shell command known to change nothing?"""

from __future__ import annotations

import re

from msgspec import structs

from .shellprograms import Known, known
from .shellread import Command, Redirect
from .shellwords import Rest
from .shellwrappers import is_locale, peel

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
