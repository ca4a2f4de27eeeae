"""Where a call is at work: in which folder, and on which machine or in which state of its files.

Source: `docs/grounding.md`, "What a change owes".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from msgspec import Struct

# Names of arguments, without capitals and marks: `workingDir` and `working_dir` are one.
_FOLDER = re.compile(
    r"(?:remote|ssh|host|container|docker|pod|vm|sandbox)?(?:cwd|pwd|wd|chdir|(?:work|working|exec|current|base"
    r"|project|repo|repository|workspace|start|root|search|parent|sub|git)?(?:dir|directory|folder|root)(?:path|uri)?"
    r"|(?:work|working|exec|current|base|project|repo|repository|workspace|start|root|search|parent|sub)?path)"
)
_NAMES = ("path", "dir", "directory", "folder")  # what a tool without a command looks at
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Words in the name of an argument that says in which state of its files a look looks: by kind, the same for
# words that mean the same. A change is made at a branch; of the others it says what it builds on.
_STATES = {
    **dict.fromkeys(("ref", "branch"), "ref"),
    **dict.fromkeys(("revision", "rev"), "revision"),
    **dict.fromkeys(("commit", "commitish", "treeish", "tree"), "commit"),
    **{each: each for each in ("sha", "version", "tag", "snapshot", "checkpoint", "stash", "backup")},
    **{each: each for each in ("staged", "cached", "deleted", "original", "changeset")},
}
# And those that say on which machine it is, or whose files they are.
_PLACES = {
    **{each: each for each in ("host", "machine", "server", "remote", "ssh", "instance", "vm")},
    **{each: each for each in ("container", "docker", "pod", "kube", "cluster", "namespace", "sandbox")},
    **{each: each for each in ("volume", "mount", "bucket", "site", "region", "tenant")},
    **{each: each for each in ("owner", "connection", "archive", "iid", "reftype", "repotype")},
    **{each: each for each in ("project", "workspace", "worktree", "submodule", "gist", "pull", "issue")},
    **dict.fromkeys(("repo", "repository"), "repo"),
    **dict.fromkeys(("org", "organization", "organisation"), "org"),
    **dict.fromkeys(("env", "environment"), "environment"),
    **dict.fromkeys(("pr", "mr"), "pull"),
    "zip": "archive",
}
_KINDS = {
    plural: kind
    for each, kind in (_STATES | _PLACES).items()
    for plural in (each, f"{each}s", f"{each}es", f"{each[:-1]}ies" if each[-1] == "y" else each)
    if plural != "tags"  # most often labels
}
# What says more of a place, beside one: words of a name, and, of a look, whole names.
_MORE = {
    **dict.fromkeys(("user", "username", "login"), "user"),
    **{each: each for each in ("port", "profile", "account", "endpoint", "url", "context", "kubeconfig")},
    **{each: each for each in ("drive", "disk", "device", "daemon", "chroot", "jail", "database", "db")},
    **{each: each for each in ("jump", "proxy", "bastion", "gateway", "zone", "location", "image")},
    **{each: each for each in ("group", "fork", "enterprise")},
}
_WHEN = frozenset(
    {
        *("time", "date", "until", "before", "previous", "parent", "old", "base", "head", "side", "history"),
        *("generation", "oid", "object", "blob", "tags"),
    }
)
_COUNTS = frozenset(("before", "head", "context"))  # a number there is one of lines
_ONE = re.compile(rf"({'|'.join(sorted(_KINDS, key=len, reverse=True))})(?:id|name|sha|hash|url|slug)?")
_SIDES = frozenset(("source", "target", "from", "to", "dest", "destination"))  # one of two
_ALONE = frozenset(("at", "asof"))  # of a look, as one word
# Beside one of these words it is a text for people, a count, or how something is done.
_ASIDE = frozenset(
    {
        *("message", "title", "description", "body", "comment", "note", "summary", "reason", "explanation"),
        *("permission", "permissions", "intent", "expected", "mcp", "max", "min"),
    }
)
# So it is where the name ends with one of these, but for what only says how it is given.
_ENDS = frozenset(
    {
        *("string", "str", "text", "query", "prompt", "count", "limit", "lines", "line", "type", "rule"),
        *("depth", "format", "detail", "mode", "dir", "directory", "folder"),
    }
)
_GIVEN = frozenset(("id", "ids", "name", "names", "key", "number", "num"))
# Beside these a switch says what to do.
_SWITCHES = frozenset(
    {
        *("use", "include", "create", "auto", "disable", "dangerously", "approved", "confirmed", "detail"),
        *("format", "push", "api", "schema", "text", "line", "lines", "type"),
    }
)
_NAMED = frozenset(("pull", "pr", "mr", "issue", "tree"))  # a switch is no name and no number of these
_SPOKEN = frozenset(("api", "schema"))  # a version of these is how a tool is spoken to
_BUILT_ON = frozenset(("start", "last", "base", "previous", "old", "parent"))
_OF_SYMBOLS = ("namespace", "containername")  # beside a symbol, in code
_LINES = frozenset(("start", "end", "line", "lines"))
_NUMBERS = re.compile(r"[0-9]+[ :,.-]+[0-9]+")
# A machine, in the name of a folder there.
_FAR = frozenset(("remote", "ssh", "host", "container", "docker", "pod", "vm", "sandbox"))
_MOST = 16_384  # values of a call that are looked through for places


class Where(Struct, frozen=True):
    """Where a call is at work: a `folder` (None: none is named), or `unknown`, where it names more than one.

    `apart`: what else tells its files from others of these names, a text that is the same for the same place.
    """

    folder: str | None = None
    unknown: bool = False
    apart: str = ""


_UNKNOWN = Where(unknown=True, apart="?")


class _Part(Struct, frozen=True):
    """A value in a call. `at`: what holds it; `place`: what it says a part of, "" where that is no place.
    `held`: it is written. `times`: how many like it there are, if each in its list says the same."""

    at: str
    key: str
    value: Any
    place: str = ""
    held: bool = False
    times: int = 1


class _Said(Struct):
    """What is said under one name of a place, by where it stands; `times`: if all in a list say it."""

    texts: dict[str, str]
    times: int


def where(
    facts: Iterable[tuple[str, Any]],
    *,
    files: frozenset[str] = frozenset(),
    written: frozenset[str] | None = None,
) -> Where:
    """Where a call is at work, by what stands beside its command, or beside the names of its `files`, which
    are the arguments with these names. `written`: of a change, the arguments that hold what it writes; in
    them only what stands beside names of files is a place. What a change builds on is none."""
    folders: set[str] = set()
    said: dict[str, _Said] = {}
    names: list[str] = []
    todo = [_Part("", key, value) for key, value in facts if key != "_meta"]
    symbol = any("symbol" in _words_of(part.key) for part in todo)
    left = _MOST
    while todo:
        part = todo.pop()
        key, value, place = part.key, part.value, part.place
        left -= not part.held
        if left < 0:
            return _UNKNOWN  # there may be places in the rest
        if not value and (value is None or type(value) in (bool, str, list, dict)):
            continue
        at, plain = _mark(part.at, key), plain_key(key)
        if place:
            # What a change builds on is not where a look with the same words looks.
            base = written is not None and _place(key, plain, value, True) != _place(key, plain, value, False)
            place = f" {_mark(place, '' if base else key)}"
        elif key in files:
            here = value if type(value) is list else [value]
            names += [
                f"{at} {number} {_mark('', each)}" for number, each in enumerate(here) if type(each) is str
            ]
        elif not part.held:
            folder = _FOLDER.fullmatch(plain) is not None and type(value) is not bool
            if folder and part.at:
                place = f" {plain}"
            elif folder and not (files and plain in _NAMES):
                if type(value) is not str:
                    return _UNKNOWN
                folders.add(value.rstrip("/") if value.strip("/") else value[:1])
                place = "".join(f" {each}" for each in sorted(_FAR.intersection(_words_of(key))))
            elif value != "false" and not (symbol and plain in _OF_SYMBOLS):
                place = _place(key, plain, value, written is not None)
        if type(value) is dict or type(value) is list:
            todo += _parts(part, at, place, files, written or frozenset())
        elif place:
            one = said.setdefault(place, _Said({}, part.times))
            one.texts[at] = _mark("", _text(value))
            one.times = min(one.times, part.times)
    folders -= {"", "."}
    if len(folders) > 1:
        return _UNKNOWN
    return Where(folders.pop() if folders else None, apart=_apart(said, names))


def _parts(part: _Part, at: str, place: str, files: frozenset[str], written: frozenset[str]) -> list[_Part]:
    """What stands in an object or a list, as far as it may say something of a place."""
    value, times = part.value, part.times
    held = not place and (part.held or part.key in written)
    if type(value) is dict:
        inside = list(value.items())
        held = held and value.keys().isdisjoint(files)
    else:
        inside = [(str(number), each) for number, each in enumerate(value)]
    if held or not (place or type(value) is dict):
        inside = [each for each in inside if type(each[1]) in (dict, list)]
    times *= len(inside) if type(value) is list else 1
    return [_Part(at, key, each, place, held, times) for key, each in inside]


def _apart(said: dict[str, _Said], names: list[str]) -> str:
    """All that is said of places, short; with where it stands, and of which of several names of files, if it
    is not the same for all of the call."""
    if all(place[0] == "+" for place in said):
        return ""
    alike: list[str] = []
    apart: list[str] = []
    for place, each in said.items():
        if len(set(each.texts.values())) == 1 and len(each.texts) >= each.times:
            alike.append(f"{place} {min(each.texts.values())}")
        else:
            apart += [f"{place} {at} {text}" for at, text in each.texts.items()]
    if apart and len(names) > 1:
        apart += names
    return _mark("", "\n".join(sorted(alike + apart)))


def _place(key: str, plain: str, value: Any, changes: bool) -> str:
    """Which place an argument names, most often none; with `+`, what only says more of one."""
    words = _words_of(key)
    one = _ONE.fullmatch(plain)
    end = next((each for each in reversed(words) if each not in _GIVEN), "")
    if not _ASIDE.isdisjoint(words) or (end in _ENDS and one is None):
        return ""
    switch = value is True or value in ("true", "yes")
    if switch and not _SWITCHES.isdisjoint(words):
        return ""
    if plain in _ALONE and type(value) is str and not changes:
        return f" {plain}"
    names = {*words, one[1] if one else ""} - (_NAMED if switch else frozenset())
    kinds = {_KINDS[each] for each in names if each in _KINDS}
    if not _SPOKEN.isdisjoint(words) or (changes and not _BUILT_ON.isdisjoint(words)):
        kinds -= set(_STATES.values())
    elif changes:
        kinds -= set(_STATES.values()) - {"ref"}
    if kinds:
        if "region" in kinds and _is_lines(value):
            return ""
        return "".join(f" {each}" for each in (*sorted(_SIDES.intersection(words)), *sorted(kinds)))
    if type(value) in (dict, list) or (type(value) is not str and not _COUNTS.isdisjoint(words)):
        return ""
    more = {_MORE[each] for each in words if each in _MORE}
    if plain in _WHEN and not changes:
        more.add(plain)
    return f"+{' '.join(sorted(more))}" if more else ""


def _is_lines(value: Any) -> bool:
    """Is it a part of a file, by its lines? A region of a cloud has a name."""
    if type(value) is dict:
        return any(not _LINES.isdisjoint(_words_of(key)) for key in value)
    if type(value) is list:
        return all(type(each) is int for each in value)
    return type(value) is str and _NUMBERS.fullmatch(value) is not None


def _text(value: Any) -> str:
    """A scalar as text, the same for all spellings of it."""
    if type(value) is str:
        return value.removeprefix("refs/heads/")
    return hex(value) if type(value) is int and value.bit_length() > 64 else str(value)


def _mark(above: str, text: str) -> str:
    """A text below another one, short."""
    return blake2b(f"{above} {text}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _words_of(key: str) -> list[str]:
    return [each.lower() for each in _WORDS.findall(key)]


def plain_key(key: str) -> str:
    """A key without capitals and marks."""
    return key.replace("_", "").replace("-", "").lower()


def inside(place: Where, files: Iterable[str]) -> tuple[str, ...]:
    """The files, seen from where the session is."""
    return tuple(files) if place.folder is None else within(place.folder, files)


def within(folder: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names, seen from outside of a folder."""
    return tuple(name if name[0] in "/~" else f"{folder.rstrip('/')}/{name}" for name in names)
