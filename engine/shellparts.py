"""Is a simple shell command known to change nothing?"""

from __future__ import annotations

import re

from msgspec import structs

from .shellprograms import Known, known
from .shellread import Command, Redirect
from .shellwords import Rest, Word
from .shellwrappers import is_locale, peel

# These read their input too, though they do not show it.
_COUNTING = re.compile(r"(?:python\S*|git shortlog|wc|join|comm|cmp|diff|file|\w*sum|\w*z\w*cat)\Z")
_PATTERNS = ("-e", "-f", "--regexp", "--file", "--expression")
_BEGIN = re.compile(r"\s*BEGIN\s*\{[^{}]*\}\s*\Z")
_OWN = re.compile(r"(?:.*/)?(?:std(?:in|out|err)|console|tty\w*|[0-9:]+)\Z")
_FILE = re.compile(r"(?!/(?:dev|proc)(?:/|\Z))(?!.*\.\.)[\w./][\w./ @%:,=+-]*\Z")
_DASH = re.compile(r"(?!--\Z)(?:--?[\w-]*=?)?-\Z")
_FILELESS = frozenset(("tr", "git shortlog"))
# What the shell reads is a file below these, by whatever path.
_DEVICE = re.compile(r"(?!/dev/null\Z)(?:.*[/=])?(?:dev|proc)(?:/|\Z)", re.DOTALL)
_DEREFERENCING = ("-R", "--dereference-recursive", "-D", "--devices", "-d", "--directories")
_CHECKS = re.compile(r"\w*sum\Z")
_INPUTS = ("-n", "--null-input", "--args", "--jsonargs", "--slurpfile", "--rawfile")  # `input` reads on
_PAGED = frozenset(
    f"git {each}"
    for each in (
        *("log", "diff", "show", "whatchanged", "blame", "grep", "shortlog", "branch", "tag", "reflog"),
        *("stash list", "stash show", "config"),
    )
)
_PAIRS = frozenset(("cmp", "diff", "comm", "join"))  # the second may be what comes in
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


def is_reader(part: Command) -> bool:
    """Does it read only, or write no more than where it is redirected, or what `dd` is told?"""
    return is_read_only(part) or known_command(part) is not None or _copies_input(part)


def _copies_input(part: Command) -> bool:
    peeled = peel(part.words)
    words = peeled[0] if peeled is not None else ()
    return bool(words) and words[0].text == "dd" and not any(each.head.startswith("if=") for each in words)


def is_fed(part: Command) -> bool:
    """Do `xargs`, or `find`, add to what it runs? Then it looks into files that are named elsewhere."""
    peeled = peel(part.words)
    return peeled is not None and (peeled[1] or any(word.text == "-exec" for word in peeled[0]))


def takes_input(part: Command, piped: bool) -> bool:
    """May it read the lines that a shell would read next, and stop anywhere in them?

    Of what can read its input every word has to be known. `piped`: what stands behind a `|` does stand
    behind it, whatever the shell.
    """
    into = [each for each in part.redirects if each.operator[0] == "<"]
    if part.group:
        return bool(into)
    if all(word.text in ("time", "-p") for word in part.words):
        return bool(part.redirects)  # alone they make zsh run a pager, or `cat`
    command = known_command(part)
    if command is None or is_fed(part):
        return True
    program, arguments = command.program, command.arguments
    values = [value for _, value in arguments.options if value is not None]
    if program.code not in ("echo", "printf"):
        if any(map(_is_dash, part.words)) or any(value.text is None for value in values):
            return True
        if any(_DEVICE.match(word.head) for word in (*part.words, *values)):
            return True
    if _finds_input(part, command, values):
        return True
    if not program.filter and not _COUNTING.match(command.name):
        return False
    if len(part.words) == 2 and part.words[1].text in ("--help", "--version"):
        return False
    given = [each.word for each in into if each.fd in ("", "0") and each.operator != "<<<"]
    spoken = any(each.operator == "<<<" and each.fd in ("", "0") for each in into)
    at = 0 if program.code in ("pattern", "sed") and arguments.has(*_PATTERNS) else max(program.reads, 0)
    files = arguments.operands[at:] if command.name not in _FILELESS else ()
    known = all(word.text is not None and not word.counted for word in part.words)
    if not known or not all(map(_is_file, (*files, *given))) or any(each.operator == "<&" for each in into):
        return True
    if (piped and (part.line >= 0 or not part.nested) and part.link in ("|", "|&")) or given or spoken:
        return False
    if program.code == "awk":
        files = tuple(word for word in files if "=" not in word.head)
        if arguments.operands and _BEGIN.match(arguments.operands[0].head):
            return False
    if command.name in ("jq", "yq") and arguments.has(*_INPUTS):
        return True
    return len(files) < (2 if command.name in _PAIRS else 1)


def _is_option_last(part: Command) -> bool:
    """Does an option stand behind an operand?"""
    options = [word.head[:1] == "-" for word in part.words[1:]]
    return sorted(options, reverse=True) != options


def _finds_input(part: Command, command: Known, values: list[Word]) -> bool:
    """May what it reads be found where it looks, though no word names it?"""
    has = command.arguments.has
    if command.program.code == "awk":
        return any("ARGC" in each.head for each in (*command.arguments.operands, *values))
    if command.name == "yq" and _is_option_last(part):
        return True  # one of two programs then gives the file to `jq`, and reads on itself
    if _CHECKS.match(command.name):
        return has("-c", "--check")
    if command.name in ("grep", "egrep", "fgrep"):
        return has(*_DEREFERENCING)
    return has("--files0-from") or (command.name == "diff" and has("-r", "--recursive"))


def is_paged(part: Command) -> bool:
    """Does it show what it prints with a pager, where a terminal is there, which takes lines for keys?"""
    command = known_command(part)
    if command is None or command.name not in _PAGED:
        return False
    return not any(word.text == "--no-pager" for word in part.words)


def _is_dash(word: Word) -> bool:
    """Is it, or ends it with, the name of what comes in?"""
    return word.text is not None and _DASH.match(word.text) is not None


def _is_file(word: Word) -> bool:
    """Is it plainly a file of its own, and nothing that the shell itself reads, wherever a `cd` went?"""
    return word.text is not None and _FILE.match(word.text) is not None and not _OWN.match(word.text)


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
            return text is not None and not redirect.word.quoted and _DUPLICATE.match(text) is not None
        case ">&":  # any other number is what the host has opened; in quotes BusyBox takes it for a file
            return not redirect.word.quoted and text in ("1", "2", "-", "/dev/null")
        case _:
            return text == "/dev/null"
