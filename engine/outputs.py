"""What of a result is what was looked at, and not what the tool says around it.

Source: `docs/grounding.md`, "What a call earns". Linear in the text.
"""

from __future__ import annotations

import re
from typing import Any

from ..rules.strictjson import JsonError, decode
from .shown import result_text

_OUTPUTS = ("stdout", "output", "aggregated_output", "formatted_output", "text", "content", "result")
_JSON = re.compile(r'\s*+\{\s*+"(?:output|stdout|metadata|exit_code)"\s*+:')
_LARGEST = 1_000_000  # characters of a result that is read as JSON
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
    if type(value) is not str or len(value) > _LARGEST or _JSON.match(value) is None:
        return value
    try:
        found = decode(value)
    except JsonError:
        return value
    return found if type(found) is dict else value


def printed(value: Any) -> str:
    """What a command printed, of what its tool gave back."""
    if type(value) is dict:
        found = [value[key] for key in _OUTPUTS if type(value.get(key)) is str]
        return "\n".join(found) if found else result_text(value)
    return _LABEL.sub("", _AROUND.sub("", result_text(value)))
