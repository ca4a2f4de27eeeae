"""Commands that print nothing but lines of their files, and searches with a file's name before each line."""

from __future__ import annotations

import re

from .shellprograms import Known, program_name
from .shellread import Command
from .shellwords import Word
from .shellwrappers import peel

SEARCHES = ("grep", "rg")
_SEARCH = (
    " -F -P -i -w -x -n -H -s -A -B -C -m -e -v --line-number --with-filename --no-filename --ignore-case"
    " --fixed-strings --word-regexp --line-regexp --invert-match --no-messages --after-context"
    " --before-context --context --max-count --regexp --color"
)
# With these options, and a number or a way to number, they print whole lines as they are, in order.
_PLAIN = {
    "cat": "-b -n -s -u --number --number-nonblank --squeeze-blank",
    "nl": "-b --body-numbering",
    "head": "-n -q --lines --quiet --silent",
    "tail": "-n -q --lines --quiet --silent",
    "grep": "-E -G -h -a -I -r -R --extended-regexp --basic-regexp --perl-regexp --text --recursive"
    " --dereference-recursive --include --exclude --exclude-dir" + _SEARCH,
    "rg": "-N -I -S -g --smart-case --case-sensitive --no-line-number --hidden --no-ignore --no-heading"
    " --glob --sort" + _SEARCH,
    "sed": "-n -E -r -e --quiet --silent --regexp-extended --expression",
    "awk": "-F",
}
_HEADED = ("head", "tail")  # with several files they print the names too
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}\Z")
_STYLE = re.compile(r"[atn]\Z")  # of numbering
_GLOB = re.compile(r"[\w./*-]+\Z")
# The values of options; what no program could take would be told in its error.
_VALUES = {
    **dict.fromkeys(("-e", "--regexp", "--expression", "-F"), re.compile(r"")),
    **dict.fromkeys(("--include", "--exclude", "--exclude-dir", "-g", "--glob"), _GLOB),
    "--color": re.compile(r"(?:never|auto)\Z"),
    **dict.fromkeys(("-b", "--body-numbering"), _STYLE),
    "--sort": re.compile(r"(?:path|none)\Z"),
}
_REGEX = r"/(?:[^/\\\n\[\]]|\\[^\n]|\[\^?+\]?+[^\[\]/\\\n]*+\])++/"
_SED = rf"(?:[0-9]++|\$|{_REGEX})"
_RANGE = rf"(?:{_SED}(?:,[ ]*+(?:\+[0-9]++|{_SED}))?+)?+[ ]*+[pd]"
_STEP = rf"(?:{_RANGE}|(?:{_SED}[ ]*+)?+q)[ ]*+(?=[;\n]|\Z)"  # it ends at one line, never at several
_LINES = re.compile(rf"(?:[ ;\n]*+{_STEP})++[ ;\n]*+\Z")
_AWK = rf"(?:F?NR[ ]*+(?:%[ ]*+[1-9][0-9]*+[ ]*+==|[<>!=]=|[<>])[ ]*+[0-9]++|{_REGEX}|1)[ ]*+"
_RECORDS = re.compile(rf"[ ]*+{_AWK}(?:(?:&&|\|\||[,;])[ ]*+{_AWK})*+\Z")
_RECURSIVE = ("-r", "-R", "--recursive", "--dereference-recursive")
_CERTAIN = ("cat", "nl", "head", "tail")  # they print something of every file that is not empty
CUTTING = ("head", "tail")
_MATCHERS = (
    "-E",
    "-F",
    "-G",
    "-P",
    "--extended-regexp",
    "--fixed-strings",
    "--basic-regexp",
    "--perl-regexp",
)
_COUNTS = ("-n", "--lines")
# What no program calls an error in a pattern, in whatever language it takes it to be.
_SAFE = re.compile(r"(?:(?:[^*+?()\[\]{}\\|^$]|\\[sSwWdD.|$*+?^-])[*+?]?+|[|^$]|\\[bB])++\Z")
_SPEAKING = frozenset(("time", "nohup", "-v", "--verbose"))  # wrappers that say something themselves
# A line may then begin with something else than a name: its own text, or a name and a `-`.
_NAMELESS = (
    *("-h", "-N", "--no-filename", "--no-line-number", "-A", "-B", "-C"),
    *("--after-context", "--before-context", "--context"),
)


def is_plain(command: Known) -> bool:
    """Does it print nothing but whole lines of its files, with their numbers and names at most?"""
    name, options, operands = command.name, command.arguments.options, command.arguments.operands
    allowed = _PLAIN.get(name, "").split()
    for option, value in options:
        if option not in allowed and not (option[1:].isdecimal() and option != "-0"):
            return False
        if value is not None and (value.text is None or not _VALUES.get(option, _NUMBER).match(value.text)):
            return False
    if name not in _PLAIN or any(not word.text or word.text == "-" for word in operands):
        return False
    if name in _HEADED:
        if len(options) > 1 and any(option[1:].isdecimal() for option, _ in options):
            return False  # `-5` stands alone
        return len(operands) < 2 or command.arguments.has("-q", "--quiet", "--silent")
    if name == "sed":
        scripts = [value for option, value in options if option in ("-e", "--expression")] or operands[:1]
        single = len(_places(command)) < 2  # else they are one text, of which it may show the first
        return single and all(each is not None and _LINES.match(each.head) for each in scripts)
    if name == "awk":
        if not operands or not _RECORDS.match(operands[0].head):
            return False
        return len(operands) < 3 and "=" not in "".join(
            word.head for word in operands[1:]
        )  # `RS=x` is no file
    # A name that is found below a folder is no line of the other files.
    return not (name in SEARCHES and recurses(command)) or len(_places(command)) < 2


def is_certain(command: Known) -> bool:
    """Does it print something of every file of its that is not empty? A search may find nothing there."""
    if command.name not in _CERTAIN:
        return False
    counts = [
        value.head if value is not None else ""
        for name, value in command.arguments.options
        if name in _COUNTS
    ]
    counts += [name[1:] for name, _ in command.arguments.options if name[1:].isdecimal()]
    # `tail -n +9` begins at a line that there may not be.
    return all(each.lstrip("-").strip("0") and each[:1] not in ("+", "-") for each in counts)


def is_safe(command: Known) -> bool:
    """Can nothing be wrong with what it is told to look for, so that it only complains of its files?"""
    if command.name in _CERTAIN:
        return True
    arguments = command.arguments
    told = [value for name, value in arguments.options if name in ("-e", "--regexp", "--expression")]
    told = told or list(arguments.operands[:1])
    if len([each for each in _MATCHERS if arguments.has(each)]) > 1 or (
        len(told) > 1 and arguments.has("-P")
    ):
        return False
    if command.name in SEARCHES and arguments.has("-F", "--fixed-strings"):
        return True
    if command.name in ("sed", "awk"):
        told = [Word(re.sub(r"[/ ;,0-9$pdq]|F?NR|[<>=]=?", "", each.head) or "x") for each in told if each]
    return all(each is not None and _SAFE.match(each.head) for each in told)


def is_plainly_named(command: Known, part: Command) -> bool:
    """Are its files those that the names say, in every shell, and does nothing come in from elsewhere?"""
    if part.assignments or part.noted:
        return False
    peeled = peel(part.words)
    around = part.words[: len(part.words) - len(peeled[0])] if peeled is not None else ()
    if any(program_name(word) in _SPEAKING for word in around):
        return False
    for each in part.redirects:
        into = (each.operator, each.fd, each.word.text)
        if each.operator != "<" and into not in ((">&", "2", "1"), (">", "2", "/dev/null")):
            return False
    given = [each.word for each in part.redirects if each.operator == "<"]
    fed = bool(given) or part.link in ("|", "|&")
    if fed and command.name == "grep" and recurses(command) and not _places(command):
        return False  # GNU's looks into the folder, others at what comes in
    return all(map(is_name, (*_places(command), *given)))


def is_name(word: Word) -> bool:
    """Not `v$?`; not `link/../a`, which goes where a link leads; not a quoted `~`, or zsh's `=program`; not
    `~+`, which another folder than that of the session may be."""
    text = word.text or ""
    if word.counted:
        return False
    parts = text.split("/")
    named = next((at for at, part in enumerate(parts) if part not in ("", ".", "..")), len(parts))
    if text[:1] == "~" and (word.quoted or text[1:2] in ("+", "-")):
        return False
    return ".." not in parts[named:] and text[:1] != "="


def _places(command: Known) -> tuple[Word, ...]:
    """The operands that name files."""
    has = command.arguments.has
    given = has("-e", "--regexp", "--expression")
    at = 0 if given else command.program.reads
    return command.arguments.operands[at:]


def recurses(command: Known) -> bool:
    """Does it search all files below a folder?"""
    return command.name == "rg" or (command.name == "grep" and command.arguments.has(*_RECURSIVE))


def is_quiet(command: Known) -> bool:
    """Does it keep to itself which files it could not read?"""
    return command.name in SEARCHES and command.arguments.has("-s", "--no-messages")


def has_names(command: Known) -> bool:
    """Does this plain search print the name of a file of the working directory before each line, for sure?"""
    has, places = command.arguments.has, [word.head for word in _places(command)]
    if command.name not in SEARCHES or has(*_NAMELESS) or (command.name == "rg" and has("-I")):
        return False
    if any(option[1:].isdecimal() for option, _ in command.arguments.options):
        return False  # lines around
    if any(place[:1] in ("/", "~") or ".." in place.split("/") for place in places):
        return False
    if has("-H", "--with-filename") or len(places) > 1:
        return True
    # What else stands there may be a file, whose lines have no name before them.
    return recurses(command) and all(place == "." or place.endswith("/") for place in places)
