"""What is wrong with a rule file: a code, a span, a message, a fix; and how that is shown.

Severities: an `error` keeps a file from being put in force, a `warning` does not, a `note` tells
what a reader may want to know (such as a statement that has no meaning yet).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any
from unicodedata import combining, east_asian_width

from msgspec import Struct

from .span import NOWHERE, Span

_WIDTH = 110  # columns within which a help stands beside its carets
_CONTEXT = 60  # characters shown on either side of a place in a very long line
_LONG = 200


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Diagnostic(Struct, frozen=True):
    """One finding. `code` is a key of `grammar.codes.CODES`; messages are lower case, no full stop.

    `help` is what to write instead, or what to do. `file` names the text that the span is in.
    `related` are further places that explain it, each with a word of its own. `about` is the name, or the
    entry of the caller's packs, that it is about: not shown, for who places it.
    """

    code: str
    message: str
    span: Span = NOWHERE
    severity: Severity = Severity.ERROR
    help: str = ""
    file: str = "<text>"
    related: tuple[tuple[Span, str], ...] = ()
    about: str = ""


class GrammarError(Exception):
    """A text that cannot be read at all, with what is wrong with it."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(diagnostic.message for diagnostic in diagnostics))
        self.diagnostics = diagnostics


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, or None when none is close. Names over 64 characters have none."""
    if len(name) > 64:
        return None
    from difflib import get_close_matches

    found = get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return found[0] if found else None


# For people ---------------------------------------------------------------------------------------

_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}


def render_text(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str], *, colour: bool = False) -> str:
    """What is shown on a terminal: head, place, line, carets with the help, related places.

    Args:
        texts: the text of each file, by the name that diagnostics have in `file`. Without its
            text a diagnostic shows its place alone.
        colour: with ANSI escapes. No other escape gets through: control characters are shown as pictures.
    """
    lines = {name: text.removeprefix("\ufeff").split("\n") for name, text in texts.items()}
    return "\n".join(_one(diagnostic, lines.get(diagnostic.file), colour) for diagnostic in diagnostics)


def _one(diagnostic: Diagnostic, lines: list[str] | None, colour: bool) -> str:
    paint = _COLOURS[diagnostic.severity] if colour else ""
    head = f"{diagnostic.severity.value}[{diagnostic.code}]"
    out = [f"{_painted(head, paint)}: {_visible(diagnostic.message)}"]
    spans = [diagnostic.span, *(span for span, _ in diagnostic.related)]
    gutter = max(len(str(span.line)) for span in spans)
    help, *more = (_visible(line) for line in diagnostic.help.split("\n"))
    place = _visible(diagnostic.file)
    out.append(f"{' ' * gutter}--> {place}:{diagnostic.span.line}:{diagnostic.span.column}")
    excerpt = _excerpt(lines, diagnostic.span, gutter, "^", paint)
    if excerpt and help and not more and len(excerpt[-1]) + 1 + len(help) <= _WIDTH + len(paint) * 2:
        excerpt[-1] += " " + help
        help = ""
    out += excerpt
    for span, word in diagnostic.related:
        excerpt = _excerpt(lines, span, gutter, "-", "")
        if excerpt:
            out += [*excerpt[:-1], f"{excerpt[-1]} {_visible(word)}"]
        else:
            out.append(f"{' ' * gutter} = {_visible(word)}: {place}:{span.line}:{span.column}")
    if help:
        out.append(f"{' ' * gutter} = help: {help}")
        out += [f"{' ' * gutter}         {line}" for line in more]
    return "\n".join(out) + "\n"


def _excerpt(lines: list[str] | None, span: Span, gutter: int, mark: str, paint: str) -> list[str]:
    """An empty line, the line of the span, and marks under the span."""
    if lines is None or not 1 <= span.line <= len(lines):
        return []
    line = lines[span.line - 1].removesuffix("\r")
    begin = min(span.column - 1, len(line))
    end = max(begin, min(begin + span.end - span.start, len(line)))
    before, marked, after = line[:begin], line[begin:end], line[end:]
    if len(line) > _LONG:
        before = before if len(before) <= _CONTEXT else "…" + before[-_CONTEXT:]
        marked = marked if len(marked) <= _LONG // 2 else marked[: _LONG // 2] + "…"
        after = after if len(after) <= _CONTEXT else after[:_CONTEXT] + "…"
    # A tab is as wide under the line as in it.
    indent = "".join("\t" if char == "\t" else " " * _columns(char) for char in _visible(before))
    marks = mark * max(1, sum(map(_columns, _visible(marked))))
    return [
        f"{' ' * gutter} |",
        f"{span.line:>{gutter}} | {_visible(before + marked + after)}".rstrip(),
        f"{' ' * gutter} | {indent}{_painted(marks, paint)}",
    ]


def _visible(text: str) -> str:
    """Control characters as their pictures, so that no text commands a terminal or reorders a line."""
    if text.isprintable():
        return text
    return "".join(char if char == "\t" or char.isprintable() else _picture(char) for char in text)


def _picture(char: str) -> str:
    return chr(0x2400 + ord(char)) if char < " " else "�"


def _columns(char: str) -> int:
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _painted(text: str, paint: str) -> str:
    return f"\x1b[{paint}m{text}\x1b[0m" if paint else text


def in_a_line(diagnostic: Diagnostic) -> str:
    """The place, the message and the help of a finding, for logs and lists."""
    help = f" ({diagnostic.help})" if diagnostic.help else ""
    text = f"{diagnostic.file}:{diagnostic.span.line}: {diagnostic.message}{help}"
    return _visible(text.replace("\n", "; "))


# For machines -------------------------------------------------------------------------------------


def to_json(diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """One plain dictionary for each diagnostic; spans have `start`, `end`, `line` and `column`."""
    return [
        {
            "code": diagnostic.code,
            "severity": diagnostic.severity.value,
            "message": diagnostic.message,
            "help": diagnostic.help,
            "file": diagnostic.file,
            "span": _span(diagnostic.span),
            "related": [{"span": _span(span), "message": word} for span, word in diagnostic.related],
        }
        for diagnostic in diagnostics
    ]


def _span(span: Span) -> dict[str, int]:
    return {"start": span.start, "end": span.end, "line": span.line, "column": span.column}


def to_sarif(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """A SARIF 2.1.0 log with one run. Columns count code points."""
    from .codes import CODES  # the codes are made of what this module defines

    found = list(diagnostics)
    codes = sorted({diagnostic.code for diagnostic in found})
    rules = []
    for code in codes:
        rule: dict[str, Any] = {"id": code}
        if code in CODES:
            rule["shortDescription"] = {"text": CODES[code].title}
            rule["fullDescription"] = {"text": CODES[code].explanation}
            rule["defaultConfiguration"] = {"level": CODES[code].severity.value}
        rules.append(rule)
    index = {code: at for at, code in enumerate(codes)}
    driver = {"name": "callgate", "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(diagnostic, index[diagnostic.code]) for diagnostic in found],
            }
        ],
    }


def _result(diagnostic: Diagnostic, rule: int) -> dict[str, Any]:
    help = f" ({diagnostic.help})" if diagnostic.help else ""
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": diagnostic.severity.value,
        "message": {"text": diagnostic.message + help},
        "locations": [_location(diagnostic.file, diagnostic.span)],
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            {**_location(diagnostic.file, span), "message": {"text": word}}
            for span, word in diagnostic.related
        ]
    return result


def _location(file: str, span: Span) -> dict[str, Any]:
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "charOffset": span.start,
        "charLength": span.end - span.start,
    }
    from urllib.parse import quote

    uri = quote(file.encode("utf-8", "replace"), safe="/:")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def to_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Workflow commands, one line each, that annotate a pull request."""
    out = []
    for diagnostic in diagnostics:
        level = "notice" if diagnostic.severity is Severity.NOTE else diagnostic.severity.value
        span = diagnostic.span
        place = f"file={_property(diagnostic.file)},line={span.line},col={span.column}"
        message = diagnostic.message + (f" ({diagnostic.help})" if diagnostic.help else "")
        out.append(f"::{level} {place},title={_property(diagnostic.code)}::{_data(message)}\n")
    return "".join(out)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
