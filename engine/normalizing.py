"""What varies by itself in a tool's result, replaced, so that the same answer twice is seen to be the same.

Source: `docs/grounding.md`. A result that is nothing but such a value keeps it: there it is the answer.
Cost: linear, one pass.
"""

from __future__ import annotations

import re
from functools import lru_cache

_MONTHS = "Jan:uary Feb:ruary Mar:ch Apr:il May: Jun:e Jul:y Aug:ust Sep:tember Oct:ober Nov:ember Dec:ember"
_WEEKDAYS = "Mon:day Tue:sday Wed:nesday Thu:rsday Fri:day Sat:urday Sun:day"
_YEAR = "(?:19|20)[0-9]{2}"
_DAY = "(?:0?[1-9]|[12][0-9]|3[01])"
_MONTH_DAY = "{0}(?:0[1-9]|1[0-2]){0}(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK = "(?:[01]?[0-9]|2[0-3]):[0-5][0-9]"
_WORD = "0-9A-Za-z_"  # as ranges, which are looked up in one table
_END = f"(?![{_WORD}-])"
_EDGE = "(?![0-9A-Za-z])"  # within a longer name
_SECONDS = ":[0-5][0-9](?:[.,][0-9]{1,9}(?![0-9A-Za-z=])|)"
_OFFSET = "Z|UTC|GMT|[AaPp][Mm]|[+-][0-9]{2}:?[0-9]{2}"
_ZONE = f"(?:(?:{_OFFSET}| (?:{_OFFSET})){_END}|{_END})"  # or none
_TIME = f"{_CLOCK}(?:{_SECONDS}{_ZONE}|{_ZONE})"
_AT = f"(?:(?:,| at)? {_TIME})?+"
_UNIT = (
    "s(?:ec(?:ond)?s?)?(?: ago)?|m(?:s|illiseconds?|in(?:ute)?s?)?(?: ago)?|h(?:(?:ou)?rs?)?(?: ago)?"
    "|mo(?:nths?)? ago|d(?:ays?)? ago|w(?:eeks?)? ago|y(?:ears?)? ago|ns|us|µs|μs"
)
_UNITS = rf"[dhm][0-9]{{1,3}}(?:[hm][0-9]{{1,2}}){{0,2}}(?:\.[0-9]{{1,9}})?[hms]|{_UNIT}"  # also 1h2m3s
_FRACTION = r"\.[0-9]{1,32}+(?:e-?[0-9]{1,3})?"
_THOUSANDS = r",[0-9]{3}(?:,[0-9]{3}){0,3}(?:\.[0-9]{1,9})?"
_HEX = "[0-9a-fA-F]"


def _one_of(words: str) -> str:
    """The words, whose first three letters were taken before."""
    return "|".join(f"(?<={each.replace(':', ')(?:')})?" for each in words.split())


_MAY_END_IN_T = r"(?:t(?=\.? ))?"
_MONTH = "(?:" + "|".join(w.replace(":", "(?:") + ")?" for w in _MONTHS.split()) + ")" + _MAY_END_IN_T


def _behind(*wrong: str, then: str) -> str:
    """What must not stand before what was taken since."""
    return "".join(f"(?<!{each}{then})" for each in wrong)


_NO_DAY = ("[4-9][0-9]", "3[2-9]", "00", r"\b0")
_NO_HOUR = ("[3-9][0-9]", "2[4-9]")

# The first character is taken before, and looked at behind: so that the search skips to it, in C. A way that
# begins with a character costs next to nothing where another stands there; one that looks behind first does.
_AFTER_YEAR = (
    f"{_MONTH_DAY.format('-')}(?:[T _](?:{_TIME}|[0-2][0-9]-[0-5][0-9]-[0-5][0-9]Z?{_EDGE})"
    f"|(?<![_-].{{10}}){_END})",
    f"{_MONTH_DAY.format('/')} {_TIME}",
    f"[01][0-9][0-3][0-9][T_-][0-2][0-9][0-5][0-9][0-5][0-9]Z?{_EDGE}",
)
# After one or two digits the next character says which of the ways there are.
_AFTER_DIGITS = (
    f"/{_behind(*_NO_DAY, then='.')}(?:{_MONTH}/{_YEAR}:{_CLOCK}:[0-5][0-9](?: [+-][0-9]{{4}})?"
    f"|{_DAY}/{_YEAR},? {_TIME})",
    f"-{_behind(*_NO_DAY, then='.')}{_MONTH}-{_YEAR}(?: {_TIME})?+",
    rf"\.{_behind(*_NO_DAY, then='.')}(?:0?[1-9]|1[0-2])\.{_YEAR}",
    f" (?:{_UNIT}|(?=[A-Z]){_behind(*_NO_DAY, then='.')}{_MONTH}(?: {_YEAR})?{_AT})",
    f":[0-5][0-9]{_behind(*_NO_HOUR, then='...')}{_SECONDS}{_ZONE}",
    # Durations.
    _UNITS,
    rf"[0-9][0-9]{{0,30}}+(?: (?:{_UNIT})|{_UNITS}|(?:{_FRACTION}|{_THOUSANDS}) ?(?:{_UNITS}))",
    rf"{_FRACTION} ?(?:{_UNITS})",
    rf"{_THOUSANDS} ?(?:{_UNITS})",
)
_LETTER = rf"(?:(?<![0-9]{{8}})|(?=[0-9]{{0,57}}[a-fA-F])){_HEX}*+"
_DIGIT = "(?:(?<![a-fA-F]{8})|(?=[a-fA-F]{0,57}[0-9]))"
_AFTER_HEX = (
    f"-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}{_EDGE}",
    rf"(?<![_-].{{8}}){_LETTER}(?:\.{{2,3}}{_HEX}{{7,64}}+)?{_END}",  # also of two commits
    # In a longer name no word of these letters, and no number like 12345678e-05.
    f"(?!(?<=[0-9]{{7}}[0-9eE])[0-9]*+[eE]?[+-][0-9]{{1,3}}{_EDGE}){_DIGIT}{_LETTER}{_EDGE}",
)
_NAMED = (
    rf" {{1,2}}{_DAY},?(?: {_CLOCK}(?:{_SECONDS})?)?(?: (?:UTC|GMT|[AaPp][Mm]|[A-Z]{{3,4}}(?= {_YEAR})))?"
    rf"(?: {_YEAR}{_AT})?"
)


def _alone(first: str, head: str, then: str) -> str:
    """A way for what begins so, and is no part of a longer name."""
    return f"{head}(?<={first}{head})(?<![_-]{'.' * (1 + len(head))}){then}{_END}"


_IS = r"""["'\\ \t=:]{1,5}[0-9]++"""  # also of JSON, and of JSON in JSON
_PATH = r"/[\w./+-]{1,255}"
_WINDOWS = "|".join(
    rf"{by}(?i:Users{by}[^\\/:\n]{{1,64}}{by}AppData{by}Local{by}|Windows{by}|)(?i:te?mp)"
    rf"(?:{by}[\w./+~-]{{1,255}}+){{1,32}}"
    for by in (r"\\\\", r"\\", "/")
)
_AFTER_CAPITAL_OR_SIGN = (
    f"[acehopru][bcdegilnprtuvy](?<=[ADFJMNOSTW]..)(?<![_-]...)(?:(?:{_one_of(_MONTHS)}){_MAY_END_IN_T}{_NAMED}"
    f"|(?:{_one_of(_WEEKDAYS)}),? (?:{_MONTH}{_NAMED}|{_DAY} {_MONTH}(?: {_YEAR})?{_AT})){_END}",
    _alone("P", "ID", _IS),
    _alone("P", "PID", _IS),
    _alone("P", "Pid", _IS),
    r"[0-9](?<=[0-9A-Za-z)]\[.)[0-9]{2,6}+\](?=:)",  # sshd[1234]:
    _alone("/", "tmp", _PATH),
    _alone("/", "var/", f"(?:tmp|folders){_PATH}"),
    _alone("/", "private/", f"(?:tmp|var/(?:tmp|folders)){_PATH}"),
)
_AFTER_LETTER = (
    _alone("[pP]", "id", _IS),
    _alone("p", "pid", _IS),
    _alone("[pP]", "rocess", rf"(?:[ _]?[iI][dD]{_IS}| \[[0-9]++\])"),
    _alone("[A-Za-z]", ":", f"(?:{_WINDOWS})"),
    _alone("[aA]", " ", "(?:second|minute|day|week|month|year) ago"),
    _alone("[aA]", "n", " hour ago"),
)
_MARK = "\0"
_NOTHING = re.compile(r"[\s\0]*+\Z")


@lru_cache(1)
def _varying() -> re.Pattern[str]:
    """What varies by itself."""
    ways = (
        f"(?<=[0-9])(?:[09][0-9][0-9](?<={_YEAR})(?:{'|'.join(_AFTER_YEAR)})|x(?<=0x){_HEX}{{8}}{_LETTER}{_EDGE}"
        f"|(?<![_-].)[0-9]?+(?:{'|'.join(_AFTER_DIGITS)}){_END})",
        rf"{_HEX}{_HEX}{{6}}(?<={_HEX}.{{7}})(?:{'|'.join(_AFTER_HEX)})",
        f"(?<![0-9a-z])(?:{'|'.join(_AFTER_CAPITAL_OR_SIGN)})",
        *_AFTER_LETTER,
    )
    return re.compile(rf"[0-9A-FMSONJTWa-fpP/[](?<![0-9A-Za-z.\0][^[])(?:{'|'.join(ways)})", re.ASCII)


def normalize(text: str) -> str:
    """The text with a mark for each value that varies by itself; as it is where nothing else is in it."""
    replaced = _varying().sub(_MARK, text)
    first = replaced[:1]
    if replaced is text or (first > " " and first.isprintable()):
        return replaced
    return text if _NOTHING.match(replaced) else replaced
