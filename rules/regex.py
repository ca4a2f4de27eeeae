"""The one place that compiles the regular expressions of rule files: RE2, in linear time."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

MAX_CHARACTERS = 16_384  # of one expression
MAX_MEMORY = 8 << 20  # bytes for one compiled expression, RE2's own default


class Regex(Struct, frozen=True):
    """A compiled expression. Both sides are matched as UTF-8, so `.` is one code point, a lone surrogate
    in the text too: it raises nothing."""

    pattern: str
    compiled: Any

    def search(self, text: str) -> object | None:
        """Something that is true if the expression is found anywhere, else None. Cost: linear in the text."""
        found: object | None = self.compiled.search(text.encode("utf-8", "surrogatepass"))
        return found

    def fullmatch(self, text: str) -> object | None:
        """Something that is true if the expression takes the whole text, else None. Cost: likewise."""
        found: object | None = self.compiled.fullmatch(text.encode("utf-8", "surrogatepass"))
        return found

    def replaced(self, text: str, instead: str) -> str:
        """The text with `instead`, as it is written, in place of each match. Cost: linear in the text."""
        data = text.encode("utf-8", "surrogatepass")
        pieces: list[bytes] = []
        at = 0
        for found in self.compiled.finditer(data):
            if found.end() > found.start():  # what is empty stands for nothing
                pieces += (data[at : found.start()], instead.encode("utf-8", "surrogatepass"))
                at = found.end()
        return (b"".join(pieces) + data[at:]).decode("utf-8", "surrogatepass") if at else text

    def captures(self, text: str) -> tuple[str, ...] | None:
        """What each group took when the expression takes the whole text, "" for none; else None."""
        found = self.compiled.fullmatch(text.encode("utf-8", "surrogatepass"))
        if found is None:
            return None
        return tuple(part.decode("utf-8", "surrogatepass") for part in found.groups(b""))


def compile_regex(text: str) -> Regex:
    """Compile one expression.

    Raises:
        ValueError: it is no regular expression of the linear engine (look-around and back-references are
            not), it has over 16,384 characters, or its compiled form would need over 8 MiB. The message
            is for the author, lower case, no full stop.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"the regular expression has over {MAX_CHARACTERS} characters")
    import re2  # most calls meet no regular expression

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    try:
        compiled = re2.compile(text.encode("utf-8"), options)
    except UnicodeEncodeError:
        raise ValueError("the regular expression holds a lone surrogate") from None
    except re2.error as error:
        raise ValueError(_explain(error)) from None
    return Regex(text, compiled)


def _explain(error: Exception) -> str:
    raw = error.args[0] if error.args else b""
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    text = text if len(text) <= 100 else text[:100] + "…"
    operator = text.removeprefix("invalid perl operator: ")
    if operator in ("(?=", "(?!", "(?<", "(?<=", "(?<!"):
        return "look-around such as `(?=…)` has no linear-time form; write the test as a condition"
    escape = text.removeprefix("invalid escape sequence: ")
    if operator == "(?P" or (escape != text and (escape[1:2].isdigit() or escape[1:2] in ("k", "g"))):
        return "a back-reference has no linear-time form"
    if escape == r"\Z":
        return r"the end of the text is written `\z`, not `\Z`"
    if "too large" in text:
        return "the regular expression needs over 8 MiB; shorten its repetitions"
    return f"not a regular expression: {text}"
