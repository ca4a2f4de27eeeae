"""Does a text touch one of the things that a claim is about? Names at boundaries, paths after folding.

Source: `docs/grounding.md`. Linear in the text for each name; nothing is looked up on a disk.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from unicodedata import is_normalized
from unicodedata import normalize as compose

from .paths import Folded, fold

_PIECE = 255  # characters between blanks that are composed; sorting the marks of one letter is quadratic
LONGEST_PATH = 4096  # characters of a path
_SPELLING = 256  # characters by which another spelling of it may be longer
_NAME = re.compile(r"[\w./\\~@#%+-]")
_ENDINGS = frozenset(
    """
    bat c cc cfg cjs clj cmake conf cpp cs css csv cxx dart diff ejs env erl ex exs fish go gql gradle
    graphql h hbs hpp hs html ini ipynb java jl js json json5 jsonl jsx kt less lock log lua m md mdx mjs
    ml mm nix php pl plist proto ps1 py pyi r rb rs rst sass scala scss sh sql svelte svg swift tex tf toml
    ts tsv tsx txt vue xml yaml yml zig zsh
    """.split()  # noqa: SIM905
)
_PLAIN = re.compile(r"[\w.@+~/-]++")
_STOPS = frozenset(" \t\r\n\"'`<>|;,()[]{}=*?")
# What relative paths are joined to where no working directory is known; `..` does not lead out of it.
_NOWHERE = Folded("", "/" + "/".join(["\1"] * 64))


@lru_cache(256)
def home(cwd: str | None) -> Folded:
    """What relative paths are joined to."""
    return (fold(cwd) if cwd is not None else None) or _NOWHERE


def composed(text: str) -> str:
    """The text in NFC, but for words of more than 255 characters."""
    if text.isascii() or is_normalized("NFC", text):
        return text
    pieces = re.split(r"(\s+)", text)
    return "".join(compose("NFC", each) if len(each) <= _PIECE else each for each in pieces)


@lru_cache(4096)
def key_of(name: str, cwd: Folded) -> str:
    """What two spellings of one path have in common; other names are their own."""
    if len(name) <= LONGEST_PATH:
        folded = fold(name, cwd)
        if folded is not None:
            return f"{folded.root}\0{folded.text}"
    return name


def short_key(name: str, cwd: Folded, place: str = "") -> str:
    """`key_of`, short enough to be kept; another one at each `place`."""
    key = key_of(composed(name), cwd)
    data = (f"{place}\0\0{key}" if place else key).encode("utf-8", "surrogatepass")
    return b64encode(blake2b(data, digest_size=9).digest()).decode()


def has_ending(name: str) -> bool:
    """Is it surely a file's name, by a usual ending?"""
    return name.rpartition(".")[2].lower() in _ENDINGS and not name.endswith(".")


def is_file(word: str) -> bool:
    """Does a word of a command look like a file?"""
    return word[:1] != "-" and len(word) <= _PIECE and ("/" in word[1:-1] or has_ending(word))


def files_in(text: str) -> Iterator[str]:
    """The words of code that look like files."""
    return (each[0] for each in _PLAIN.finditer(text) if is_file(each[0]))


def touches(text: str, names: Iterable[str], cwd: Folded) -> bool:
    """Does the text touch one of the names? They are in NFC; those with one last part are found at once."""
    text = composed(text)
    whole = key_of(text.strip(), cwd) if len(text) <= LONGEST_PATH else None
    by_tail: dict[str, list[str]] = {}
    for name in names:
        if whole is not None and whole == key_of(name, cwd):
            return True
        by_tail.setdefault(_tail(name), []).append(name)
    return any(tail in text and _occurs(text, alike, tail, cwd) for tail, alike in by_tail.items() if tail)


def occurs_in(text: str, names: Iterable[str]) -> bool:
    """May the text touch one of the names? A quick look, which says yes too often."""
    return any(_tail(name) in text for name in names)


@lru_cache(4096)
def _tail(name: str) -> str:
    """The last part of a path, with which every spelling of it ends."""
    return re.split(r"[/\\]", name.rstrip("/\\"))[-1] or name


def _occurs(text: str, names: Sequence[str], tail: str, cwd: Folded) -> bool:
    """Stands one of the names in the text, as itself or as the end of another spelling of its path?"""
    wanted = {key_of(name, cwd) for name in names}
    written = frozenset(names)
    sizes = sorted({len(name) for name in names})
    at = text.find(tail)
    first = end = 0
    while at >= 0:
        here = _first(text, at, end)
        first = here if here > end else first  # within the path of the occurrence before
        end = at + len(tail)
        if _ends(text, end):
            for size in sizes:
                if size <= end and text[end - size : end] in written and _begins(text, end - size):
                    return True
            if end - first <= sizes[-1] + _SPELLING and key_of(text[first:end], cwd) in wanted:
                return True
        at = text.find(tail, end)
    return False


def _ends(text: str, end: int) -> bool:
    """Does no longer name go on here? Marks that end a sentence are none of a name."""
    here = text[end : end + 1]
    if not here or _NAME.match(here) is None:
        return True
    if here != ".":
        return False
    rest = text[end : end + 8].lstrip(".")
    return not rest or _NAME.match(rest) is None


def _begins(text: str, start: int) -> bool:
    return start == 0 or _NAME.match(text[start - 1]) is None


def _first(text: str, at: int, least: int) -> int:
    """Where the path begins that ends with what stands here; nothing before `least` is looked at."""
    first = at
    while first > least:
        before = text[first - 1]
        if before in _STOPS:
            break
        drive = first >= 2 and text[first - 2].isalpha() and text[first : first + 1] in "/\\"
        if before == ":" and not drive:
            break
        first -= 1
    return first
