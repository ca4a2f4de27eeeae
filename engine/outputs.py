"""What of a result is what was looked at, and not what the tool says around it.

Source: `docs/grounding.md`, "What a call earns" and "What a change owes". Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from ..rules.strictjson import JsonError, decode
from .failures import CODES, MORE_CODES, says_how, says_nothing
from .shown import LEAVES, block_texts, blocks, result_text
from .talk import OF_CALLS, OF_FILES, is_about_file, is_talk, tells_nothing
from .whereabouts import plain_key

# Fields that hold what was read; those that do where there is none of these.
_HOLDS = frozenset(
    {
        *("content", "contents", "text", "lines", "stdout", "body", "aggregated_output", "formatted_output"),
        *("file_text", "fileText", "file_content", "fileContent", "page_content", "llmContent", "snippet"),
    }
)
_MAY_HOLD = frozenset({"output", "result", "data", "line", "response"})
_FILES = ("file", "structuredContent")
_CELLS = frozenset({"cell_type", "cellType"})  # beside them it is `source`, too
# What the JSON of a command begins with; where others begin like that, too, it tells its output and its end.
_JSON = re.compile(
    r'\s*+\{\s*+"(?:(output|stdout|metadata|exit_code)|exitCode|return_?code|command|status|success|stderr)"\s*+:'
)
_OUTPUTS = frozenset({"stdout", "stderr", "output"})
_ENDS = frozenset({*CODES, *MORE_CODES, "success"})
_VALUE = re.compile(r"\s*+[{\[\"]")
_LARGEST = 1_000_000  # characters of a result that is read as JSON
_REMINDER = re.compile(r"^[ \t]*+<system-reminder>.*?(?:</system-reminder>|\Z)", re.MULTILINE | re.DOTALL)
# What tools that read files write around them, each on a line of its own; tags only where the text begins.
_NOTES = re.compile(
    r"^[ \t]*+(?:here's the (?:result|content|output)s?\b[^\n]*:|--- file content \(truncated\) ---"
    r"|important: the file content has been truncated\.|status: showing lines [^\n]*"
    r"|action: to read more [^\n]*|\[[^\]\n]{1,255}\] result:|file: [^\n]* lines? [0-9]+ to [0-9]+[^\n]*"
    r"|[\[(](?:(?:reading|showing|read) (?:lines? )?[0-9]|file: |end of file|file has more lines"
    r"|[0-9]+ more lines)[^\n]*[\])]|[. ]*\[[0-9]+ lines? (?:truncated|omitted)\][. ]*)$",
    re.MULTILINE | re.IGNORECASE,
)
_TAGS = re.compile(r"\s*+(?:(?:<(?:files?|content)(?: [^>\n]*)?>|<(path|type)>[^<\n]*</\1>)[ \t]*\n?)++")
# What tools that run commands write around their output, each on a line of its own.
_AROUND = re.compile(
    r"^[ \t]*\[?(?:(?:exit(?: code| status)?|wall time|command|directory|signal|background pids|chunk id"
    r"|process group pgid|total output lines|original token count|current working directory|cwd"
    r"|python interpreter|error)\b ?:|the command completed\b|command finished\b|process exited\b"
    r"|command exited\b)[^\n]*$",
    re.MULTILINE | re.IGNORECASE,
)
_LABEL = re.compile(
    r"^[ \t]*(?:output|stdout|stderr):[ \t]*(?:\((?:empty|none)\))?", re.MULTILINE | re.IGNORECASE
)


def opened(value: Any) -> Any:
    """A result that is the text of a JSON object with an output, as that object; any other as it is."""
    text, inside = value, blocks(value)
    if inside and len(inside) == 1 and not (type(value) is dict and value.get("isError")):
        text = result_text(value)
    begins = _JSON.match(text) if type(text) is str else None
    found = None if begins is None else _decoded(text)
    if begins is None or type(found) is not dict:
        return value
    known = begins[1] is not None or not (_OUTPUTS.isdisjoint(found) or _ENDS.isdisjoint(found))
    return found if known else value


def tells_end(value: Any) -> bool:
    """Is it an object of a tool that ran a command, with its output and how it ended?"""
    if type(value) is not dict or _OUTPUTS.isdisjoint(value):
        return False
    return not _ENDS.isdisjoint(value) or type(value.get("metadata")) is dict


def printed(value: Any) -> str:
    """What a command printed, of what its tool gave back."""
    # Notices of tools that read are no matter here: what a command printed is the file.
    own = _unreminded(value) if type(value) is str else _fields(value, _printed, _same)
    text = own if own is not None else "" if _holds_no_text(value) else result_text(value)
    if type(value) is not str and blocks(value) is None:
        return text
    return _LABEL.sub("", _AROUND.sub("", text))


def plain(value: Any) -> str:
    """What a tool gave as text, as it gave it: in JSON or a field, a line's head is part of a file's line."""
    return _bare(value if type(value) is str else "\n".join(block_texts(value)))


def held(value: Any, *, asked: bool = False) -> str | None:
    """What a tool read, of what it gave back; None where no field says that it holds it.

    `asked`: it answers a question, and gives back no file.
    """
    read = _answered if asked else _unwrapped
    if type(value) is str:
        return read(value)
    return _fields(value, read, _bare)


def tells_no_more(value: Any, names: Collection[str], *, file: bool = True) -> bool:
    """Is it an object that only tells how a call went, or what is known of a file beside what is in it?"""
    return (type(value) is dict or _are_objects(value)) and _only_tells(value, names, file)


def _only_tells(value: Any, names: Collection[str], file: bool) -> bool:
    if file and _holds_no_text(value):
        return True
    return tells_nothing(value, names, file=file, held=_HOLDS | _MAY_HOLD, most=LEAVES)


def _holds_no_text(value: Any) -> bool:
    """Is there a field for what was read, and no text in it? Then no other text is of what was read."""
    if type(value) is not dict or blocks(value) is not None:
        return False
    inside = any(type(each) in (dict, list) for key, each in value.items() if key in _HOLDS | _MAY_HOLD)
    return inside and _fields(value, _same, _same) is None


def shows_nothing(value: Any, own: str | None, names: Collection[str], *, file: bool, command: bool) -> bool:
    """Where nothing tells what has to be seen: does a result show nothing but what tools say of themselves?

    `own`: what was read of it, if anything tells that. `file`: a file was looked at, and `names` are its
    own; else they are of what claims are about.
    """
    if own is not None and (says_nothing(own) or (not file and says_how(own))):
        return True
    if own is not None and _says_whose(value, command):
        return False
    texts = block_texts(value)
    if command or type(value) is str or texts:
        inside = None if command else _decoded(value if type(value) is str else "\n".join(texts))
        if type(inside) in (dict, list) and (not file or is_about_file(inside)):
            return _only_tells(inside, names, file)
        if command and tells_no_more(value, names):
            return True
    elif type(value) in (dict, list) and _only_tells(value, names, file):
        return True
    elif not file:
        return value is None or (type(value) is str and is_talk(value, names, file=False))
    if own is None:
        return value is None
    return is_talk(own, names, file=file)


def _says_whose(value: Any, command: bool) -> bool:
    """Does a field say that a text is of the program or the file, where no tool can speak?"""
    if type(value) is not dict:
        return False
    inside = value.get("file")
    return type(value.get("stdout")) is str if command else type(inside) is dict and "content" in inside


def _fields(value: Any, read: Callable[[str], str], own: Callable[[str], str]) -> str | None:
    """The texts of the fields that hold something, at any depth, each once. `read`, `own`: what the text of
    a block is, and that of a field."""
    found: list[str] = []
    perhaps: list[str] = []
    # With what its field is (2: it holds, 1: it may), and what a text in it is.
    todo: list[tuple[Any, int, Callable[[str], str]]] = [(value, 0, own)]
    left = LEAVES
    while todo and left:
        here, holds, own = todo.pop()
        left -= 1
        if type(here) is str and holds == 2:
            found.append(own(here))
        elif type(here) is str and holds and not says_how(here):
            perhaps.append(own(here))
        elif type(here) is list:
            todo.extend((each, holds, own) for each in reversed(here))
        elif type(here) is dict and here.get("type") == "text" and type(here.get("text")) is str:
            found.append(read(here["text"]))
        elif type(here) is dict:
            names = _HOLDS if _CELLS.isdisjoint(here) else {*_HOLDS, "source"}
            below = min(holds, 1)
            for key, each in reversed(here.items()):
                inside = 2 if key in names else 1 if key in _MAY_HOLD else below
                if inside == 1 and ((bare := plain_key(key)) in OF_CALLS or bare in OF_FILES):
                    inside = 0
                todo.append((each, inside, _noticed if key == "structuredContent" else own))
    if any(found) or not (found or perhaps):
        return "\n".join(dict.fromkeys(found)) if found else None
    return "\n".join(dict.fromkeys(perhaps))


def _answered(text: str) -> str:
    return _unwrapped(text, itself=False)


def _printed(text: str) -> str:
    """What a block of a command holds: a field of the JSON that it is, or all that was printed."""
    text = _unreminded(text)
    value = _decoded(text)
    own = _fields(value, _same, _same) if _is_wrapper(value) else None
    return text if own is None else own


def _same(text: str) -> str:
    return text


def _noticed(text: str) -> str:
    """A text of a structured result: lines that look like notices are the file's, unless it is no more."""
    return text if _bare(text).strip() else ""


def _unwrapped(text: str, *, itself: bool = True) -> str:
    """What a text holds: what the JSON holds that it is, else `itself`, since a file may be JSON, too."""
    text = _bare(text)
    value = _decoded(text)
    if value is None:
        return text
    own = _fields(value, _bare, _bare) if _is_wrapper(value) else None
    if own is not None:
        return own
    return f"{text}\n{result_text(value)}" if itself else result_text(value)


def _decoded(text: str) -> Any:
    """The array, object or text in JSON that a text is; None where it is none, or too long."""
    if _VALUE.match(text) is None or len(text) > _LARGEST:
        return None
    try:
        return decode(text)
    except JsonError:
        return None


def _is_wrapper(value: Any) -> bool:
    """Does it look like the answer of a tool, with what it read in a field at the top or just below?"""
    if type(value) is dict:
        below = (each for key, each in value.items() if key in _MAY_HOLD or key in _FILES)
        return _has_field(value) or any(type(each) is dict and _has_field(each) for each in below)
    return _are_objects(value) and all("type" in each and _has_field(each) for each in value)


def _has_field(value: dict[str, Any]) -> bool:
    return any(
        (key in _HOLDS and (type(each) is str or _are_objects(each)))
        or (key in _MAY_HOLD and type(each) is str and "\n" in each)
        for key, each in value.items()
    )


def _are_objects(value: Any) -> bool:
    return type(value) is list and bool(value) and all(type(each) is dict for each in value)


def _unreminded(text: str) -> str:
    return _REMINDER.sub("", text) if "<system-reminder>" in text else text


def _bare(text: str) -> str:
    """A text without what tools are known to write around a file."""
    text = _unreminded(text)
    tags = _TAGS.match(text)
    if tags is not None:
        text = text[tags.end() :].rstrip()
        for _ in range(3):
            if text.endswith(("</content>", "</file>", "</files>")):
                text = text[: text.rindex("<")].rstrip()
    return _NOTES.sub("", text)
