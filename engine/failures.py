"""Is a result an error, or as good as nothing? By its fields, and by the shape of its text.

Source: `docs/grounding.md`, "What a call earns". Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

# What the system says of a file that cannot be read.
_ERRNO = (
    r"(?:no such file or directory|is a directory|permission denied|operation not permitted"
    r"|input/output error|stale file handle|resource temporarily unavailable|device or resource busy"
    r"|bad file descriptor|too many levels of symbolic links|file name too long)$"
)
_FAILED = re.compile(
    r"\s*+(?:[^:\n\"{]{1,255}+: ){0,4}(?:(?=[abcdefimnoprstuABCDEFIMNOPRSTU[<{])"
    r"(?i:error\b(?![./(-]|\s*=)|traceback \(most recent call last\)|fatal:|exception:"
    r"|command (?:not found|timed out|failed)|permission denied|access denied|no such file or directory"
    r"|is a directory|not a directory|\[error\]|<error>|<tool_use_error>|<system-reminder>|enoent\b|eacces\b"
    rf"|<persisted-output>|{_ERRNO}|binary file (?:[^\n]{{1,255}} )?matches$|cannot execute binary file\b"
    r"|(?:th(?:e|is) )?(?:file|path) [^\n]{0,255}?(?:does not exist|not found|exceeds|is too large)"
    r"|invalid arguments?\b|unsupported call:|exec_command failed\b|(?:failed in sandbox|sandbox error):"
    r"|(?:tool result missing|\[the command has no new output)\b|pretooluse:\w|eisdir:"
    r"|(?:\w{1,32} )?(?:request|operation|command|call|access|permission to)\b[^\n:]{0,255} (?:is|was|been)"
    r" (?:not allowed|denied|blocked|rejected|refused)(?:[.!:]|$| by\b)"
    r"|(?:command )?(?:denied|blocked|rejected|refused) by (?:the )?(?:user|hook|policy|sandbox)\b"
    r"|(?:process )?exit(?:ed with)?(?: code| status)?:? {0,8}-?[1-9]"
    r"|can(?:not|'t) (?:read|open|access|find|stat)\b|(?:could not|failed to|unable to) \w"
    r"|file path must be\b|this file has not changed\b|file unchanged since last read\b"
    r"|the tool execution failed\b|claude requested permissions? to\b"
    r"|\[request interrupted\b|(?:the )?user doesn't want\b"
    r"|mcp error\b|(?:request|operation|tool) (?:timed out|failed|aborted|cancelled|canceled)\b"
    r"|(?:the )?user (?:rejected|denied|declined|cancelled|canceled|aborted|interrupted|chose not to)\b"
    r"|(?:(?:found (?:0|no)|no(?: [\w-]{1,32}){0,3}) (?:match(?:es)?|results?|definitions|symbols"
    r"|references)|no files)\b(?:[^\n:]{0,64}\Z| found\b)"
    r"|not found$"
    r"|\{\s*\"(?:error|is_?error)\"\s*:\s*(?!null|false|\"\"|0\b|\{\}|\[\])"
    r"|\{\s*\"(?:(?:success|ok)\"\s*:\s*false\b|status\"\s*:\s*\"(?:error|failed|denied)\"|type\"\s*:\s*\"file_unchanged\")"
    r")|(?:\w{1,64}+\.){0,8}[A-Z]\w{0,63}?(?:Error|Exception)\b(?![./(\w-]))",
    re.MULTILINE,
)
_BROKEN = re.compile(rf": (?i:{_ERRNO})", re.MULTILINE)
# What a tool that runs commands says of their end, at the head of a line, or that there was none.
_ENDED = re.compile(
    r"^[\s\[(<]{0,8}+(?:(?:the )?(?:command |process |task )?(?:completed |finished |failed |ended )?"
    r"(?:(?:exited |exit )(?:with )?(?:non-zero )?(?:exit )?(?:status )?(?:code|status)?|with (?:exit )?code)"
    r":? {0,8}+-?[1-9]|exit_code>-?[1-9]"
    r"|(?:the )?(?:command|process|task) (?:is )?(?:still )?running\b|(?:command |process )?(?:was )?"
    r"(?:aborted|cancelled|canceled|interrupted|killed|timed out)\b(?: by | after |$))",
    re.MULTILINE | re.IGNORECASE,
)
_HEADING = re.compile(r"\s*+\[[^\]\n]{1,255}\][^\n]{0,32}:[ \t]*\n?")
_NOTHING = re.compile(
    r"(?i:[\s.]*+[(<\[]?(?:no output|no content|empty(?: file)?|null|none|undefined|\{\}|\[\]"
    r"|(?:warning: )?the file (?:is|`[^`\n]{1,4096}` exists, but is|exists but the contents are) empty"
    r"|image(?: content)?|skipped|refused|denied|blocked"
    r"|size: [0-9]+(?:\n(?:created|modified|accessed|isDirectory|isFile|permissions): [^\n]{0,255})++"
    r"|(?:old )?(?:tool )?(?:output|result)(?: content)? (?:cleared|omitted|truncated)"
    r"|(?:tool |command |bash )?(?:ran|executed|completed) (?:successfully )?with(?:out| no)(?: any)? output"
    r"|command executed successfully with no output"
    r"|your command ran successfully and did not produce any output)?[)>\]]?[\s.]*+)\Z"
)
_HOW = re.compile(
    r"(?i:\s*+(?:ok(?:ay)?|success(?:ful)?|done|0 (?:results?|match(?:es)?|files?|lines?)(?: found)?"
    r"|nothing (?:was )?found)[.!]?\s*+)\Z"
)
CODES = ("exit_code", "exitCode", "returncode", "return_code")
MORE_CODES = ("exit_status", "exitStatus", "status", "rc", "code")  # of commands
_FINE = range(200, 300)  # of HTTP
_STOPPED = ("interrupted", "timed_out", "timedOut", "cancelled", "canceled", "aborted", "killed")
_INSIDE = ("metadata", "structuredContent", "structured_content", "result", "output")  # where codes are, too
_ANSWERS = (
    *_INSIDE,
    "data",
    "content",
    "response",
    "results",
    "outcome",
)  # where an answer may be, or several
_ITEMS = 64  # of a list that are looked at
_DEPTH = 4
_BAD_STATES = frozenset({"error", "failed", "failure", "timeout", "timed_out", "denied"})
_CANCELLED = frozenset({"cancelled", "canceled"})  # as an order may be, too
# Keys of what a thing is called, and not a call.
_NAMING = re.compile(
    r"(?!(?i:request|approval|tool|call|task|session|trace|run|job))(?:id|number|key|name|\w{1,64}(?:_id|Id|_number|Number))"
)
_SAID = frozenset({"status", "message", "reason", "detail", "code", "hint", "tool"})  # of a call, too
_FAULTS = frozenset({"error", "errors", "data", "message", "code", "error_code"})
_KIND = frozenset({"type", "message", "code", "reason", "tool_use_id", "content"})


def says_nothing(text: str) -> bool:
    """Is a result empty, or as good as that?"""
    return _NOTHING.match(text) is not None


def says_how(text: str) -> bool:
    """Does it only say how a call went, or that it found nothing?"""
    return _HOW.match(text) is not None


def has_failed(
    value: Any, text: str, *, many: bool = False, command: bool = False, thing: bool = False
) -> bool:
    """Is a result an error, by its fields or by the shape of its text?

    `many`: one line of it is enough. `command`: a command ran, whose end the text may tell. `thing`: what was
    looked at is no file, and may itself be cancelled.
    """
    told = False
    if type(value) is dict:
        if any(_tells_failure(each, command) for each in _objects(value)):
            return True
        if any(_is_cancelled(each) and not (thing and _is_thing(each)) for each in _objects(value)):
            return True
        told = any(exit_code(each) is not None for each in _objects(value))
    if type(value) in (dict, list) and any(_is_refused(each, command) for each in _answers(value)):
        return True
    if _FAILED.match(text) is not None or (text[:1] == "[" and _fails_below_heading(text)):
        return True
    if command and not told and _ENDED.search(text) is not None:
        return True
    if not many:
        return False
    return _BROKEN.search(text) is not None or any(map(_FAILED.match, text.splitlines()))


def _fails_below_heading(text: str) -> bool:
    heading = _HEADING.match(text)
    return heading is not None and _FAILED.match(text, heading.end()) is not None


def _objects(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield value
    for key in _INSIDE:
        inside = value.get(key)
        if type(inside) is dict:
            yield inside


def _answers(value: Any) -> Iterator[dict[str, Any]]:
    """The objects below a result that may be an answer of their own; of what was found, only how it went."""
    todo: list[tuple[Any, int]] = [(value, 0)]
    while todo:
        here, depth = todo.pop()
        below: list[Any] = []
        if type(here) is list:
            below = here[:_ITEMS]
        elif type(here) is dict:
            yield here
            below = [here[key] for key in _ANSWERS if key in here]
        if depth < _DEPTH:
            todo.extend((each, depth + 1) for each in below if type(each) in (dict, list))


def _is_refused(value: dict[str, Any], command: bool) -> bool:
    if value.get("isError") is True or value.get("is_error") is True:
        return True
    kind = value.get("type")
    if type(kind) is str and kind.endswith("_error"):
        return True
    if kind in ("error", "timeout") and value.keys() <= _KIND:
        return True
    if value.get("errors") and "data" in value and not value["data"]:
        return True
    if value.keys() <= _FAULTS and (value.get("error") or value.get("error_code")):
        return True
    return command and any(_is_bad_code(value[key]) for key in CODES if key in value)


def _tells_failure(value: dict[str, Any], command: bool) -> bool:
    if value.get("isError") or value.get("is_error") or value.get("error"):
        return True
    if value.get("success") is False or value.get("ok") is False or value.get("type") == "file_unchanged":
        return True
    state = value.get("status")
    if type(state) is str and state.lower() in _BAD_STATES:
        return True
    if any(value.get(key) for key in _STOPPED):
        return True
    if any(_is_bad_code(value[key]) for key in CODES if key in value):
        return True
    codes = (value.get(key) for key in MORE_CODES) if command else ()
    if (command and value.get("signal")) or any(_is_bad_code(each) and each not in _FINE for each in codes):
        return True
    return bool(value.get("stderr")) and not value.get("stdout")


def _is_cancelled(value: dict[str, Any]) -> bool:
    return str(value.get("status")).lower() in _CANCELLED


def _is_thing(value: dict[str, Any]) -> bool:
    """Does an object hold more than what a tool says of a call?"""
    return any(map(_NAMING.fullmatch, value)) or len(value.keys() - _SAID) > 3


def _is_bad_code(code: Any) -> bool:
    if type(code) is str:
        return code.strip().lstrip("-").isdigit() and code.strip() != "0"
    return type(code) in (int, float) and code != 0


def exit_code(value: Any) -> int | None:
    """The exit code that a result tells: the first of its usual names counts, and only a whole number."""
    for key in CODES:
        if type(value) is dict and key in value:
            found = value[key]
            return found if type(found) is int else None
    return None
