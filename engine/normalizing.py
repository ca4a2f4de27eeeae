"""What varies by itself in a tool's result, replaced, so that the same answer twice is seen to be the same.

Source: `docs/grounding.md`. A result that is nothing but such a value keeps it: there it is the answer.
Cost: linear, one pass.
"""

from __future__ import annotations

import re
from functools import lru_cache

_MONTHS = "Jan:uary Feb:ruary Mar:ch Apr:il May: Jun:e Jul:y Aug:ust Sep:tember Oct:ober Nov:ember Dec:ember"
_YEAR = "[12][0-9]{3}"
_DAY = "(?:0?[1-9]|[12][0-9]|3[01])"
_CLOCK = "(?:[01]?[0-9]|2[0-3]):[0-5][0-9]"
_WORD = "0-9A-Za-z_"  # as ranges, which are looked up in one table
_END = f"(?![{_WORD}-])"
_SECONDS = ":[0-5][0-9](?:[.,][0-9]{1,9}(?![0-9A-Za-z=])|)"
_OFFSET = "Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}"
_ZONE = f"(?:(?:{_OFFSET}| (?:{_OFFSET})){_END}|{_END})"  # or none
_TIME = f"{_CLOCK}(?:{_SECONDS}{_ZONE}|{_ZONE})"
_SECOND, _MINUTE, _HOUR = "s(?:ec(?:ond)?s?)?", "in(?:ute)?s?", "h(?:(?:ou)?rs?)?"
_UNIT = f"(?:{_SECOND}|m(?:s|illiseconds?|{_MINUTE}|)|{_HOUR}|[nuµμ]s)"
_AGO = f"(?:{_SECOND}|m(?:{_MINUTE}|onths?)?|{_HOUR}|d(?:ays?)?|w(?:eeks?)?|y(?:ears?)?) ago"
_HEX = "[0-9a-fA-F]"


def _rest(words: str) -> str:
    """The months without their first letter, which is looked at behind the second."""
    found = []
    for each in words.split():
        short, _, long = each.partition(":")
        found.append(f"{short[1]}(?<={short[:2]}){short[2:]}" + (f"(?:{long})?" if long else ""))
    return f"(?:{'|'.join(found)})(?:t(?=\\.? ))?"


_MONTH = "(?:" + "|".join(w.replace(":", "(?:") + ")?" for w in _MONTHS.split()) + ")(?:t(?=[.]? ))?"
_DATE = "-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"


def _behind(*wrong: str, then: str) -> str:
    """A character, and what must not stand before it."""
    return then + "".join(f"(?<!{each}{then})" for each in wrong)


_NO_DAY = ("[4-9][0-9]", "3[2-9]", "00", r"\b0")
_NO_HOUR = ("[3-9][0-9]", "2[4-9]")

# The first character is taken before, and looked at behind: so that the search skips to it, in C. After one
# or two digits the next character says which of the ways there are.
_AFTER_DIGITS = (
    # Time stamps, the longest first.
    rf"[0-9][0-9](?<={_YEAR})(?:{_DATE}(?:[T ]{_TIME})?+"
    r"|[01][0-9][0-3][0-9]T[0-2][0-9][0-5][0-9][0-5][0-9]Z?)",
    rf"{_behind(*_NO_DAY, then='/')}{_MONTH}/{_YEAR}:{_CLOCK}:[0-5][0-9](?: [+-][0-9]{{4}})?",
    rf" (?=[A-Z]){_behind(*_NO_DAY, then=' ')[1:]}{_MONTH}(?: {_YEAR})?(?: {_TIME})?+",
    rf"{_behind(*_NO_DAY, then='[.]')}(?:0?[1-9]|1[0-2])\.{_YEAR}",
    rf"{_behind(*_NO_HOUR, then=':')}[0-5][0-9]{_SECONDS}{_ZONE}",
    # Durations.
    rf"[0-9]{{0,31}}(?:\.[0-9]{{1,32}}|)(?: (?:{_AGO}|{_UNIT})|{_UNIT})",
)
_AFTER_HEX = (
    rf"-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}",
    rf"(?:(?<![0-9]{{8}})|(?=[0-9]{{0,57}}[a-fA-F])){_HEX}*+",  # with a letter
)
_CLOCK_AFTER = f"(?: {_CLOCK}(?:{_SECONDS})?)?"
_NAMED = rf" {{1,2}}{_DAY},?{_CLOCK_AFTER}(?: (?:UTC|GMT|[A-Z]{{3,4}}))?(?: {_YEAR})?"
_AFTER_LETTER = (
    rf"{_rest(_MONTHS)}{_NAMED}",
    rf"(?:on(?<=Mon)|ue(?<=Tue)|hu(?<=Thu)|ed(?<=Wed)|ri(?<=Fri)|at(?<=Sat)|un(?<=Sun)),? (?:{_MONTH}{_NAMED}"
    rf"|{_DAY} {_MONTH}(?: {_YEAR})?(?: {_TIME})?+)",
)
_PROCESS = (r"id(?<=[pP]id)[ =:]{1,3}[0-9]++", r"ID(?<=[pP]ID)[ =:]{1,3}[0-9]++")
_TEMPORARY = tuple(
    rf"{each}(?<=/{each})/[\w./+-]{{1,255}}"
    for where in ("", "private/")
    for each in (f"{where}tmp", f"{where}var/tmp", f"{where}var/folders")
)
_MARK = "\0"
_NOTHING = re.compile(r"[\s\0]*+\Z")


@lru_cache(1)
def _varying() -> re.Pattern[str]:
    """What varies by itself."""
    ways = (
        f"(?<=[0-9])[0-9]?+(?:{'|'.join(_AFTER_DIGITS)})",
        f"{_HEX}{_HEX}{{6}}(?<={_HEX}{{8}})(?:{'|'.join(_AFTER_HEX)})",
        *_AFTER_LETTER,
        *_PROCESS,
        *_TEMPORARY,
    )
    return re.compile(rf"[0-9A-FMSONJTWa-fpP/](?<![{_WORD}.-].)(?:{'|'.join(ways)}){_END}", re.ASCII)


def normalize(text: str) -> str:
    """The text with a mark for each value that varies by itself; as it is where nothing else is in it."""
    replaced = _varying().sub(_MARK, text)
    first = replaced[:1]
    if replaced is text or (first > " " and first.isprintable()):
        return replaced
    return text if _NOTHING.match(replaced) else replaced
