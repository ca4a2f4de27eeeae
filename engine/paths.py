"""Paths as `under` compares them: folded lexically, the disk never touched; in doubt there is no answer.

What is folded: `.`, `..` (which stops at the root), doubled and trailing slashes, canonical
composition (NFC), and on drive and UNC paths `\\` and case. No answer (None) where the text could
mean another place than it says: NUL, an encoded dot, slash or NUL, a leading `~`, variable,
blank or invisible character, a URL scheme, ` .. `, and on drive paths what Windows reads in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from unicodedata import normalize

from msgspec import Struct

# A dot, slash or NUL that somebody may still decode, however often encoded, also in overlong UTF-8.
_ENCODED = re.compile(r"%(?:25)*(?:2[ef]|5c|00|u|c[01]|e0%(?:25)*[89]|f0%(?:25)*8)", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:[/\\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # also `C:x`, which is relative to a drive's own directory
_SHARE = re.compile(r"//([^/]+)/+([^/]+)(/.*)?\Z", re.DOTALL)
# What Windows takes for another name: streams, short names, trailing dots and blanks, devices.
_ODD = re.compile(
    r"[:?]|~[0-9]|[. ]\Z|\A(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?: *\.| *\Z)",
    re.IGNORECASE,
)
# What a shell puts a value in place of: `$HOME/x`, `${HOME}`, `$(pwd)`, `%TEMP%`. `$lib` is a name.
_VARIABLE = re.compile(r"\$[{(]|\$[A-Z_][A-Z0-9_]*(?:[/\\]|\Z)|%[A-Za-z_][A-Za-z0-9_]*%")
_LONGEST_NAME = 255  # no file system stores a longer one; it keeps normalising linear


class Folded(Struct, frozen=True):
    """An absolute path. `root` is `""` (POSIX), `c:` or `//server/share`; `text` is `/` or like `/a/b`.

    Both are in NFC, and with a root their case is folded.
    """

    root: str
    text: str


def fold(path: object, cwd: Folded | None = None) -> Folded | None:
    """The folded path, a relative one first joined to `cwd`; None where the text does not settle it.

    Cost: linear in the length of the text.
    """
    text = _plain(path)
    if text is None:
        return None
    if _DRIVE.match(text):
        return _windows(text[:2], text[2:])
    if text.startswith("\\\\"):
        return _share(text)
    on_windows = cwd is not None and cwd.root != ""
    if text[0] == "/" and not on_windows:
        return _posix(text)
    if cwd is None or _SCHEME.match(text):
        return None
    if not on_windows:
        return _posix(f"{cwd.text}/{text}")
    slashed = text.replace("\\", "/")
    if slashed.startswith("//"):
        return _share(slashed)
    return _windows(cwd.root, slashed if slashed[0] == "/" else f"{cwd.text}/{slashed}")


def is_under(path: object, prefix: Folded, cwd: Folded | None = None) -> bool | None:
    """Is the path `prefix` itself or below it? None: the text does not settle it.

    Where a text reads differently on POSIX and on Windows, and `cwd` and `prefix` do not say which,
    both readings must agree.
    """
    if type(path) is not str:
        return None
    if cwd is None and prefix.root and path.startswith("/"):
        # On Windows it is on the current drive, whichever that is.
        return None if _below(fold(path, prefix), prefix) is not False else False
    folded = fold(path, cwd)
    answer = _below(folded, prefix)
    if folded is None or answer is None:
        return None
    if folded.root:
        # On POSIX a drive path is a relative one, with a strange first directory.
        return None if cwd is not None and not cwd.root and not prefix.root else answer
    if "\\" in path and is_under(path.replace("\\", "/"), prefix, cwd) is not answer:
        return None
    return answer


def _below(folded: Folded | None, prefix: Folded) -> bool | None:
    if folded is None:
        return None
    text, top = folded.text, prefix.text
    if folded.root != prefix.root:
        if folded.root and prefix.root:
            return False
        # One of them names no drive: it may be the same one.
        text, top = text.casefold(), top.casefold()
        return None if _starts(text, top) else False
    return _starts(text, top)


def _starts(text: str, top: str) -> bool:
    return top == "/" or text == top or (text.startswith(top) and text[len(top)] == "/")


def _plain(path: object) -> str | None:
    """The text in NFC, or None where something in it may be read in two ways."""
    if type(path) is not str or path == "" or "\0" in path or ("%" in path and _ENCODED.search(path)):
        return None
    if not path.isascii():
        # Sorting the marks of one letter is quadratic, so names are bounded; a separator ends a letter.
        if max(map(len, re.split(r"[/\\]", path))) > _LONGEST_NAME:
            return None
        path = normalize("NFC", path)
    first = path[0]
    if path[-1].isspace() or not path[-1].isprintable():
        return None  # whether it belongs to the name, tools do not agree
    return None if first in "~ `" or not first.isprintable() or _VARIABLE.match(path) else path


def _posix(text: str) -> Folded | None:
    kept = _collapse(text)
    return None if kept is None else Folded("", kept)


def _windows(root: str, rest: str) -> Folded | None:
    rest = rest.replace("\\", "/")
    if any(_ODD.search(part) for part in rest.split("/") if part not in ("", ".", "..")):
        return None
    kept = _collapse(rest)
    return None if kept is None else Folded(_caseless(root), _caseless(kept))


def _share(text: str) -> Folded | None:
    found = _SHARE.match(text.replace("\\", "/"))
    if found is None:
        return None
    server, share, rest = found.groups()
    # `c$` is another name of a drive; `?` and `.` begin device paths.
    if _ODD.search(server) or _ODD.search(share) or share.endswith("$"):
        return None
    return _windows(f"//{server}/{share}", rest or "/")


def _collapse(text: str) -> str | None:
    kept: list[str] = []
    for part in text.split("/"):
        if part == "..":
            del kept[-1:]
        elif part.strip() == "..":
            return None  # a tool that trims names goes up here
        elif part and part != ".":
            kept.append(part)
    return "/" + "/".join(kept)


def _caseless(text: str) -> str:
    if text.isascii():
        return text.lower()
    return normalize("NFC", normalize("NFD", text).casefold())


def under(prefix: str, cwd: str | None) -> Callable[[str, Mapping[str, object] | None], bool | None]:
    """A test of (path, context): is it under `prefix`? What is relative is joined to `cwd`,
    else to `context["cwd"]`.

    `prefix` is folded here, unless what it is relative to comes with the call.
    """
    fixed = fold(cwd)
    constant = fold(prefix, fixed)
    bare = constant.text if constant is not None and not constant.root else None
    head = None if bare is None else bare if bare == "/" else bare + "/"

    def test(path: str, context: Mapping[str, object] | None) -> bool | None:
        clean = head is not None and _is_clean(path)
        if clean and (path.startswith(head) or path == bare):  # type: ignore[arg-type]
            return True
        given = None if cwd is not None or context is None else context.get("cwd")
        if clean and (given is None or (type(given) is str and given.startswith("/"))):
            return False
        home = fixed if given is None else fold(given)
        top = constant
        if given is not None and (top is None or (home is not None and home.root != "" and not top.root)):
            top = fold(prefix, home)
        return None if top is None else is_under(path, top, home)

    return test


def _is_clean(path: str) -> bool:
    """A POSIX path from the root that folding leaves as it is, but for a slash at the end."""
    return (
        path[:1] == "/"
        and "/." not in path
        and ".." not in path
        and "//" not in path
        and "\\" not in path
        and "%" not in path
        and "\0" not in path
        and path.isascii()
    )
