"""Does a line say that something did not happen, as tools tell it, and as no file does?

Source: `docs/grounding.md`, "What a call earns". Linear in the line.
"""

from __future__ import annotations

import re
from collections.abc import Set

_WORDS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_QUOTED = re.compile(r"\"[^\"\n]*\"|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)")
_TICKED = re.compile(r"`[^`\n]+`")
_ENDING = re.compile(r"[.!?]\)? ")
# Beside another word one of these says that something did not happen, or has to happen first.
REFUSALS = frozenset(
    """
    abort aborted approval approve approved await awaiting backgrounded blocked busy can't canceled
    cancelled cannot cleared closed confirm confirmation declined denied deny disabled disallowed
    disconnected error errors exceed exceeded exceeds excluded expired fail failed fails failure
    forbidden hidden ignored inaccessible incompatible interrupted invalid locked missing must not
    omitted outside pending prohibited redacted refused rejected removed require required requires
    restricted retry shortened skipped sorry stopped suppressed timed unable unauthorized unavailable
    unchanged unknown unloaded unreachable unreadable unrecognized unsupported wait waiting
    """.split()  # noqa: SIM905
)
# Words with which people say why.
_WHY = frozenset(
    """
    access after allow allowed because before being change connected connection context device displayed
    group host larger project prompt remote request server set up user window workspace
    """.split()  # noqa: SIM905
)
# Words that a line of a file of its own kind begins with, and those of a statement.
_LINES = frozenset("ADD CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK RUN Require WORKDIR".split())  # noqa: SIM905
_HEADS = frozenset(
    """
    assert async await case catch class const def del die do echo elif else esac except export fi finally
    fn for from func function if import include let local package printf pub raise return static struct
    sudo then throw try unset var void while with yield ALTER CREATE DELETE DROP INSERT JOIN SELECT UPDATE
    WHERE
    """.split()  # noqa: SIM905
)
# One of these stands in a statement that begins so.
_MARKS = re.compile(r"[()\[\]{}=<>$\"'`/_]|->|[:,;]\Z|\A\S+\Z")
# No sentence begins, or ends, with one of these.
_CUT = frozenset(
    """
    a an and are as at be been but by from if in is it its not of on or so that the they this to was were
    when which with
    """.split()  # noqa: SIM905
)
_MIDWAY = _CUT - {"a", "an", "if", "its", "not", "the", "they", "this"}
_LONG = 9  # words of a sentence


def refuses(line: str, words: Set[str], talk: Set[str], *, alone: bool) -> bool:
    """Does a line say that something did not happen, as people write, and not as a setting or code does?

    `words`: of the line, without names. `talk`: those with which tools speak. `alone`: no other is there.
    """
    return _says_so(line) and not _is_written(line.strip(), words, talk, alone)


def words_of(text: str) -> set[str]:
    """The words of a text, in small letters."""
    return {each.replace("\u2019", "'").lower() for each in _WORDS.findall(text)}


def _says_so(line: str) -> bool:
    words = words_of(_unquoted(line))
    if words.isdisjoint(REFUSALS) and not any(each.endswith("n't") for each in words):
        return False
    begins = line.lstrip()[:1]
    prose = begins.isupper() or begins.isdigit() or begins in ("(", "[", "<") or line.rstrip().endswith(".")
    return len(words) > (1 if prose else 3)


def _unquoted(line: str) -> str:
    """A line without what stands in quotes; one that is quoted as a whole is what it is."""
    bare = _QUOTED.sub(" ", line)
    return bare if any(map(str.isalnum, bare)) else line


def _is_written(here: str, words: Set[str], talk: Set[str], alone: bool) -> bool:
    """Does such a line look like code, or like a piece of a longer text?"""
    first, last = here.split(None, 1)[0], here[here.rfind(" ") + 1 :]
    others, ticked = len(words - talk - REFUSALS - _WHY), len(_TICKED.findall(here))
    if first in _LINES or (first in _HEADS and _MARKS.search(here) is not None):
        return True
    if others and ("\t" in here or here[0] in "|#>$"):
        return True
    if first.endswith(":"):  # a program that speaks
        return False
    if ticked > (1 if len(words) > _LONG else 2) or (others > 3 and others > 0.4 * len(words)):
        return True
    if not alone:
        return False
    if here[-1] == "," or last in _CUT or (last.isalpha() and _ENDING.search(here) is not None):
        return True
    begun = first in _MIDWAY or (first.isalpha() and first.islower() and first not in REFUSALS | talk)
    return begun and (here[-1] == "." or len(words) > _LONG)
