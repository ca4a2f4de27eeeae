"""Programs that run the words after their own: `env`, `timeout` and the like are seen through."""

from __future__ import annotations

import re

from .shellprograms import program_name
from .shellwords import Rest, Word

Words = tuple[Word, ...]

_LOCALE = re.compile(r"(?:LANG|LC_[A-Z]+|TZ|NO_COLOR|COLUMNS)\Z")
# In the charset of another locale a `\` may be part of a letter; zsh calculates `COLUMNS`.
_LOCALE_VALUES = {
    "COLUMNS": re.compile(r"[0-9]*\Z"),
    "TZ": re.compile(r"[A-Za-z0-9_.@:+-]*(?:/[A-Za-z0-9_+-]+)?\Z"),
    "NO_COLOR": re.compile(r"[A-Za-z0-9_.-]*\Z"),
}
_CHARSET = re.compile(r"(?:(?:C|POSIX|(?:[a-z]{2,3}_[A-Z]{2}|C)\.(?:UTF-?8|utf-?8)))?\Z")
_DURATION = re.compile(r"[0-9]+(?:\.[0-9]*)?[smhd]?\Z")
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_COUNT = re.compile(r"[0-9]+\Z")
_PLACE = re.compile(r"(?:\{\}|%|@)\Z")
_MODE = re.compile(r"-[ioe](?:[0L]|[0-9]+[KMG]?)\Z")
MOST = 16  # wrappers in one another
_SIGNAL = re.compile(r"[A-Za-z0-9+-]+\Z")


def peel(words: Words) -> tuple[Words, bool] | None:
    """The words behind the wrappers, and whether `xargs` adds to them; None where they are not certain.

    A wrapper that then has nothing to run only prints: it is `true`.
    """
    fed = False
    for _ in range(MOST):
        if not words:
            return None
        name = program_name(words[0])
        if name == "xargs":
            rest, fed = _xargs(words[1:]), True
        elif name not in WRAPPERS:
            return words, fed
        elif name == "command" and len(words) > 1 and words[1].text in ("-v", "-V"):
            return (Word("type"), *words[2:]), fed
        else:
            rest = WRAPPERS[name](words[1:])
            if rest == () and name in ("env", "nice", "time") and not fed:
                return (Word("true"),), False
        if not rest:
            return None
        words = rest
    return None


def is_locale(assignment: tuple[str, Word]) -> bool:
    """An assignment that only says how texts, times and widths are shown."""
    name, value = assignment
    if value.text is None or not _LOCALE.match(name):
        return False
    return _LOCALE_VALUES.get(name, _CHARSET).match(value.text) is not None


def _after_options(words: Words, flags: frozenset[str], values: dict[str, re.Pattern[str]]) -> Words | None:
    """The words after a wrapper's options. `values`: options with a value, which must look so."""
    at = 0
    while at < len(words):
        text = words[at].text
        if text is None:
            return None
        name, _, given = text.partition("=") if text[:2] == "--" else (text[:2], "", text[2:])
        if text == "--":
            return words[at + 1 :]
        if text in flags or (given and name in values and values[name].match(given)):
            at += 1
        elif text in values:
            value = words[at + 1].text if at + 1 < len(words) else None
            if value is None or not values[text].match(value):
                return None
            at += 2
        elif text.startswith("-"):
            return None
        else:
            break
    return words[at:]


def _env(words: Words) -> Words | None:
    rest = _after_options(words, frozenset(("-i", "-0")), {})
    at = 0
    while rest and at < len(rest) and "=" in rest[at].head:
        name, _, value = rest[at].head.partition("=")
        if rest[at].rest is not Rest.NOTHING or not is_locale((name, Word(value))):
            return None
        at += 1
    return None if rest is None else rest[at:]


def _nice(words: Words) -> Words | None:
    if words and re.match(r"--?[0-9]+\Z", words[0].text or ""):
        return words[1:]
    return _after_options(words, frozenset(), {"-n": _INTEGER, "--adjustment": _INTEGER})


def _timeout(words: Words) -> Words | None:
    values = {"-k": _DURATION, "--kill-after": _DURATION, "-s": _SIGNAL, "--signal": _SIGNAL}
    flags = frozenset(("--preserve-status", "--foreground", "-v", "--verbose"))
    rest = _after_options(words, flags, values)
    return rest[1:] if rest and _DURATION.match(rest[0].text or "") else None


def _stdbuf(words: Words) -> Words | None:
    at = 0
    while at < len(words) and _MODE.match(words[at].text or ""):
        at += 1
    return words[at:] if at and words[at:] and not words[at].head.startswith("-") else None


def _time(words: Words) -> Words | None:
    return _after_options(words, frozenset(("-p",)), {})


def _alone(words: Words) -> Words | None:
    return _after_options(words, frozenset(), {})


WRAPPERS = {
    "env": _env,
    "nice": _nice,
    "timeout": _timeout,
    "time": _time,
    "nohup": _alone,
    "stdbuf": _stdbuf,
    "command": _alone,
}


def _xargs(words: Words) -> Words | None:
    flags = frozenset(("-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "-0r", "-r0"))
    # Behind `--max-lines` the next word is the program: its value may only be a part of it.
    counts = dict.fromkeys(("-n", "-L", "-P", "-s", "--max-args", "--max-procs"), _COUNT)
    return _after_options(words, flags, {**counts, "-I": _PLACE})
