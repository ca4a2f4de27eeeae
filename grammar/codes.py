"""Every diagnostic code: its severity, its title, and the page that `callgate explain CODE` shows.

G0 text and shape, G1 names, G2 clauses and values, G3 conditions, G4 tests, G5 packs and files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .diagnostics import Severity


@dataclass(frozen=True, slots=True)
class Code:
    """`explanation`: what it means, an example that gives it, and the fix; a few sentences of Markdown."""

    title: str
    explanation: str
    severity: Severity = Severity.ERROR


CODES: Mapping[str, Code] = MappingProxyType(
    {
        "G104": Code(
            "unknown field",
            "A selector names a field that the tool's schema does not have. Write the field as the schema "
            "spells it; the nearest one is proposed. Where the schema is open on purpose, declare the field.",
        ),
    }
)
