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
_SECONDS = ":[0-5][0-9](?:[.,][0-9]{1,9}(?![0-9A-Za-z=]))?"
_ZONE = "(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}))?"
_UNIT = "(?:ns|us|µs|μs|ms|s|secs?|seconds?|milliseconds?|minutes?|mins?|hours?|hrs?|h|m)"
_AGO = "(?:seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w|months?|years?|y)"
_HEX = "[0-9a-fA-F]"


def _rest(words: str) -> str:
    """The months without their first letter, which is looked at behind."""
    found = []
    for each in words.split():
        short, _, long = each.partition(":")
        found.append(f"(?<={short[0]}){short[1:]}" + (f"(?:{long})?" if long else ""))
    return f"(?:{'|'.join(found)})(?:t(?=\\.? ))?"


_MONTH = "(?:" + "|".join(w.replace(":", "(?:") + ")?" for w in _MONTHS.split()) + ")(?:t(?=[.]? ))?"
_LATER_DAY = "(?:(?<=0)[1-9]|(?<=[12])[0-9]|(?<=3)[01]|(?<=[1-9]))"
_LATER_CLOCK = "(?:(?:(?<=[01])[0-9]|(?<=2)[0-3])?:[0-5][0-9])"
_DATE = "-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"

# The first character is taken before, and looked at behind: so that the search skips to it, in C.
_AFTER_DIGIT = (
    # Time stamps, the longest first.
    rf"(?<=[12])[0-9]{{3}}{_DATE}(?:[T ]{_CLOCK}(?:{_SECONDS})?{_ZONE})?",
    r"(?<=[12])[0-9]{3}[01][0-9][0-3][0-9]T[0-2][0-9][0-5][0-9][0-5][0-9]Z?",
    rf"{_LATER_DAY}/{_MONTH}/{_YEAR}:{_CLOCK}:[0-5][0-9](?: [+-][0-9]{{4}})?",
    rf"{_LATER_DAY} {_MONTH}(?: {_YEAR})?(?: {_CLOCK}(?:{_SECONDS})?{_ZONE})?",
    rf"{_LATER_DAY}\.(?:0?[1-9]|1[0-2])\.{_YEAR}",
    rf"{_LATER_CLOCK}{_SECONDS}{_ZONE}",
    # Durations.
    rf"[0-9]{{0,32}}(?:\.[0-9]{{1,32}})?(?: {_AGO} ago| ?{_UNIT})",
)
_AFTER_HEX = (
    rf"{_HEX}{{7}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}",
    rf"(?:(?<=[a-fA-F])|(?=[0-9]{{0,64}}[a-fA-F])){_HEX}{{7,}}+",
)
_CLOCK_AFTER = f"(?: {_CLOCK}(?:{_SECONDS})?)?"
_NAMED = rf" {{1,2}}{_DAY},?{_CLOCK_AFTER}(?: (?:UTC|GMT|[A-Z]{{3,4}}))?(?: {_YEAR})?"
_AFTER_LETTER = (
    rf"{_rest(_MONTHS)}{_NAMED}",
    rf"(?:(?<=M)on|(?<=T)(?:ue|hu)|(?<=W)ed|(?<=F)ri|(?<=S)(?:at|un)),? (?:{_MONTH}{_NAMED}"
    rf"|{_DAY} {_MONTH}(?: {_YEAR})?(?: {_CLOCK}(?:{_SECONDS})?{_ZONE})?)",
)
_HEX_BYTES = bytes.maketrans(b"0123456789abcdefABCDEF", b"h" * 22)
_RUN = b"h" * 8
_PROCESS = r"(?<=[pP])(?:id|ID)[ =:]{1,3}[0-9]++"
_TEMPORARY = r"(?<=/)(?:private/)?(?:tmp|var/tmp|var/folders)/[\w./+-]{1,255}"
_MARK = "\0"
_NOTHING = re.compile(r"[\s\0]*+\Z")


@lru_cache
def _varying(hexadecimal: bool, process: bool, temporary: bool) -> re.Pattern[str]:
    """What varies by itself, as far as a text can hold it at all: so the search stops at fewer places."""
    first = "0-9FMASONDJTW" + ("A-Fa-f" if hexadecimal else "") + ("pP" if process else "")
    ways = [f"(?<=[0-9])(?:{'|'.join(_AFTER_DIGIT)})"]
    ways += [f"(?<=[0-9A-Fa-f])(?:{'|'.join(_AFTER_HEX)})"] if hexadecimal else []
    ways += [f"(?<=[A-Z])(?:{'|'.join(_AFTER_LETTER)})"]
    ways += [_PROCESS] if process else []
    ways += [_TEMPORARY] if temporary else []
    first += "/" if temporary else ""
    return re.compile(rf"[{first}](?<![\w.-].)(?:{'|'.join(ways)})(?![\w-])", re.ASCII)


def normalize(text: str) -> str:
    """The text with a mark for each value that varies by itself; as it is where nothing else is in it."""
    varying = _varying(
        _RUN in text.encode("utf-8", "surrogatepass").translate(_HEX_BYTES),
        "pid" in text or "PID" in text or "Pid" in text,
        "/tmp/" in text or "/var/" in text,
    )
    replaced = varying.sub(_MARK, text)
    return text if replaced is text or _NOTHING.match(replaced) else replaced
