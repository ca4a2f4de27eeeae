"""callgate: one rule language, and its engine, for everything between a language model and its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .engine.domain import Limits
from .engine.engine import Engine
from .engine.errors import (
    ApprovalRequired,
    CallgateError,
    CallgateWarning,
    Denied,
    InputError,
    NotAllowed,
    RuleFileError,
    SchemaError,
    Unrepairable,
)
from .engine.verdict import Change, Issue, Observation, Outcome, Verdict
from .engine.version import VERSION as __version__

if TYPE_CHECKING:
    from .engine.packs import Packs
    from .engine.tools import Tools

UnrepairableToolInputError = Unrepairable


def compile(text: str, *, tools: Tools | None = None, packs: Packs | None = None, **options: Any) -> Engine:
    """Compile one rule text into an engine; see `callgate.engine.loading.compile_rules` for all options."""
    from .engine.loading import compile_rules  # loads the parser, which a running engine does not need

    return compile_rules(text, tools=tools, packs=packs, **options)


__all__ = [
    "ApprovalRequired", "CallgateError", "CallgateWarning", "Change", "Denied", "Engine", "InputError", "Issue",
    "Limits", "NotAllowed", "Observation", "Outcome", "RuleFileError", "SchemaError", "Unrepairable",
    "UnrepairableToolInputError", "Verdict", "__version__", "compile",
]  # fmt: skip
