"""What is wrong with a rule file: a code, a span, a message, a fix; and how that is shown.

Severities: an `error` keeps a file from being put in force, a `warning` does not, a `note` tells
what a reader may want to know (such as a statement that has no meaning yet).
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING

from .span import NOWHERE, Span

if TYPE_CHECKING:
    from collections.abc import Iterable


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `code` is a key of `grammar.codes.CODES`; messages are lower case, no full stop.

    `help` is what to write instead, or what to do. `file` names the text that the span is in.
    `related` are further places that explain it, each with a word of its own.
    """

    code: str
    message: str
    span: Span = NOWHERE
    severity: Severity = Severity.ERROR
    help: str = ""
    file: str = "<text>"
    related: tuple[tuple[Span, str], ...] = ()


class GrammarError(Exception):
    """A text that cannot be read at all, with what is wrong with it."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(diagnostic.message for diagnostic in diagnostics))
        self.diagnostics = diagnostics


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, or None when none is close. Names over 64 characters have none."""
    if len(name) > 64:
        return None
    found = get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return found[0] if found else None
