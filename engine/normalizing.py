"""What varies by itself in a tool's result, replaced, so that the same answer twice is seen to be the same.

Source: `docs/grounding.md`. A result that is nothing but such a value keeps it: there it is the answer.
Cost: linear, one pass.
"""

from __future__ import annotations

import re

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
_VARYING = re.compile(
    rf"[0-9A-Fa-fJNOSTWpP/](?<![\w.-].)(?:(?<=[0-9])(?:{'|'.join(_AFTER_DIGIT)})|(?<=[0-9A-Fa-f])(?:"
    rf"{'|'.join(_AFTER_HEX)})|(?<=[A-Z])(?:{'|'.join(_AFTER_LETTER)})"
    r"|(?<=[pP])(?:id|ID)[ =:]{1,3}[0-9]++"
    r"|(?<=/)(?:private/)?(?:tmp|var/tmp|var/folders)/[\w./+-]{1,255})(?![\w-])",
    re.ASCII,
)
_MARK = "\0"
_NOTHING = re.compile(r"[\s\0]*+\Z")


def normalize(text: str) -> str:
    """The text with a mark for each value that varies by itself; as it is where nothing else is in it."""
    replaced = _VARYING.sub(_MARK, text)
    return text if _NOTHING.match(replaced) else replaced
