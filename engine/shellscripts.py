"""Texts that programs take as code: can a `sed` or `awk` script, an expression of `find`, a format write?

Each answers True only where it is certain that nothing is written or run; in doubt False.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from .shellwords import Rest, Word

_ADDRESS = r"(?:[0-9]+(?:~[0-9]+)?|\$|/(?:[^/\\\n\[]|\\[^\n]|{brackets})++/[IM]*)"
# A bracket expression; one that holds the delimiter is read in two ways, so it may not hold a `/`.
_BRACKETS = r"\[\^?\]?+(?:[^\[\]\\/\n]|\[:[a-z]+:\])*+\]"
_ADDRESSES = re.compile(
    r"(?:{a}(?:[ ]*,[ ]*(?:{a}|[+~][0-9]+))?[ ]*)?!?[ ]*".replace(
        "{a}", _ADDRESS.replace("{brackets}", _BRACKETS)
    )
)
_SIMPLE = re.compile(r"(?:[dDgGhHnNpPxz=F]|[qQlL] *[0-9]*)[ \t]*(?=[;}\n]|\Z)")
_JUMP = re.compile(r"(?::[ ]*[A-Za-z0-9_]+|[btT][ ]*[A-Za-z0-9_]*)[ \t]*(?=[;}\n]|\Z)")
_FLAGS = re.compile(r"[gpiI0-9]*[ \t]*(?:(?=[;}\n]|\Z)|w[ \t]*([^ \t\n][^\n]*))")
_INTO = re.compile(r"w[ \t]*([^ \t\n][^\n]*)")
_DELIMITERS = frozenset("/|#,:@%+~_")
_PARTS = {
    each: re.compile(rf"((?:[^{re.escape(each)}\\\n]|\\[^\n])*+){re.escape(each)}") for each in _DELIMITERS
}
_CLOSED = re.compile(rf"(?:[^\[\\]|\\.|{_BRACKETS.replace('/', '')})*+\Z")


def sed_reads(script: str) -> bool:
    """Does a `sed` script only print?"""
    return sed_writes(script) == []


def sed_writes(script: str) -> list[str] | None:
    """The files that a `sed` script writes, beside what it prints; None where it may do more, or is not read.

    Not read are commands that run, read files or take text.
    """
    at, depth = 0, 0
    files: list[str] = []
    while at < len(script):
        if script[at] in " \t\n;":
            at += 1
            continue
        if script[at] == "}":
            depth -= 1
            at += 1
            continue
        found = _ADDRESSES.match(script, at)
        at = found.end() if found is not None else at
        letter = script[at : at + 1]
        if letter == "{":
            depth += 1
            at += 1
        else:
            if letter in ("s", "y"):
                found = _substitution(script, at)
            elif letter == "w":
                found = _INTO.match(script, at)
            else:
                found = _SIMPLE.match(script, at) or _JUMP.match(script, at)
            if found is None:
                return None
            at = found.end()
            files += filter(None, found.groups())
        if depth < 0:
            return None
    return files if depth == 0 else None


def _substitution(script: str, at: int) -> re.Match[str] | None:
    """The flags of the `s/a/b/flags` or `y/a/b/` at `at`; None where they are not certain."""
    part = _PARTS.get(script[at + 1 : at + 2])
    first = part.match(script, at + 2) if part is not None else None
    if part is None or first is None or not _CLOSED.match(first[1]):
        return None
    second = part.match(script, first.end())
    return _FLAGS.match(script, second.end()) if second is not None else None


# Within parentheses a `>` compares. Nothing in them could be the end of a text that began before.
# Where a `;` is among them, they may be those of a `for`, with a `print` in it.
_GROUP = re.compile(r"""\((?:[^()"'/\\#\n;]|\([^()"'/\\#\n;]*\))*+\)""")
_PRINTED = re.compile(r'"(?:[^"\\]|\\.)*+"|>>?[ \t]*"([^"\\]+)"[ \t]*(?=[;}\n]|\Z)')


def awk_reads(script: str) -> bool:
    """Does an `awk` script only print? After its first `print` it has no pipe, and `>` in parentheses alone.

    `ARGV` may name a host to connect to.
    """
    if any(each in script for each in ("system", "getline", "@", "ARGV", "SYMTAB", "\\\n", "\\\r")):
        return False
    _, _, printed = script.partition("print")
    return ">" not in _GROUP.sub("", printed) and "|" not in printed.replace("||", "")


def awk_writes(script: str) -> list[str]:
    """The files that an `awk` script prints to by a plain name; it may do more."""
    _, _, printed = script.partition("print")
    return [each[1] for each in _PRINTED.finditer(printed) if each[1]]


_NEWER = re.compile(r"-newer[aBcm][aBcmt]\Z")
_SIGNED = re.compile(r"-(?:[0-9]+[a-zA-Z]?|[0-7ugoarwxst+=,-]+)\Z")


def find_reads(
    tests: Mapping[str, str], words: Sequence[Word], shows_any_file: Callable[[Sequence[Word]], bool]
) -> bool:
    """Does `find` with these words only list? `tests`: those, and the ways to print, that are known.

    `shows_any_file` says what `-exec` may run, with the name of a file for its last word.
    """
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        text = word.text
        if text is None:
            if word.rest is Rest.LOOSE or not (word.safe or word.head) or word.head.startswith("-"):
                return False
        elif tests.get(text) == "=" or _NEWER.match(text):
            if at == len(words) or not is_value(words[at], _SIGNED):
                return False
            at += 1
        elif text == "-exec":
            start = at
            while at < len(words) and words[at].text not in (";", "{}"):
                at += 1
            if any(word.text is None or "+" in word.head for word in words[start:at]):
                return False  # BusyBox ends what it runs at any `+`
            end = [word.text for word in words[at : at + 2]]
            if end not in (["{}", ";"], ["{}", "+"]) or not shows_any_file(words[start : at + 1]):
                return False
            at += 2
        elif text.startswith("-") and text not in tests:
            return False
    return True


def is_value(word: Word, signed: re.Pattern[str]) -> bool:
    """One word that is no option: it begins with something else than `-`, or is `signed`."""
    if word.rest > Rest.ONE:
        return False
    if word.text is None:
        return word.safe or (word.head != "" and word.head[0] != "-")
    return not word.head.startswith("-") or word.head == "-" or signed.match(word.head) is not None


_CODED = re.compile(r"\\[xuU0-7]")  # may be a `%` for some
_CONVERSION = re.compile(r"%(?:%|([-+ #0'0-9.]*)([a-zA-Z])|)")
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?\Z")


def printf_reads(words: Sequence[Word]) -> bool:
    """Does `printf` set no variable? `%n` and `-v` do; zsh runs what it finds in the number for a `%d`."""
    if words and words[0].text == "--":
        words = words[1:]
    if not words or words[0].text is None or _CODED.search(words[0].head):
        return False
    if words[0].head.startswith("-") and not words[0].head.startswith("---"):  # an error for bash, no option
        return False
    found = list(_CONVERSION.finditer(words[0].head))
    letters = {each[2] for each in found if each[0] != "%%"}
    if not letters <= set("sbqcdiouxXeEfFgG"):
        return False
    numbers = letters & set("diouxXeEfFgG")
    return not numbers or all(word.text is not None and _NUMBER.match(word.text) for word in words[1:])


_ARITHMETIC = frozenset(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])
_BETWEEN = _ARITHMETIC | {"=", "==", "!=", "=~", "-nt", "-ot", "-ef"}
_BEFORE = re.compile(r"-[bcdefghknprsuwxzGLNOS]\Z")
# Any other is an error for some shell, which then may run the next line by itself.
_CONDITION = re.compile(r"!*(?:w|-w|w=w)\Z")


def _role(word: Word) -> str:
    """What a word of a `[[` is: `!`, an operator before a word, one between words, a word, or in doubt."""
    text = word.keyword or "w"
    if text in _BETWEEN:
        return "="
    return "-" if _BEFORE.match(text) else text if text == "!" else "?" if text[0] == "-" else "w"


def test_reads(name: str, words: Sequence[Word]) -> bool:
    """Does `test`, `[` or `[[` run nothing? Shells run what stands in a subscript (`-v`, `-eq`)."""
    if name != "test":
        end, keywords = "]" if name == "[" else "]]", [word.keyword for word in words]
        # Behind a first `]]` bash and zsh take a keyword: `if ls; then [[ a ]] else rm a ]]; fi`.
        if end not in keywords or keywords.index(end) < len(words) - 1:
            return False
        words = words[:-1]
        if name == "[[" and not _CONDITION.match("".join(map(_role, words))):
            return False
    for at, word in enumerate(words):
        if word.text is None:
            if word.rest is Rest.LOOSE or not (word.safe or word.head) or word.head.startswith("-"):
                return False
        elif word.text in ("-v", "-R", "-t"):
            return False
        elif word.text in _ARITHMETIC:
            beside = (*words[max(at - 1, 0) : at], *words[at + 1 : at + 2])
            if not all(each.text is not None and _NUMBER.match(each.text) for each in beside):
                return False
    return True
