"""callgate: one rule language, and its engine, for everything between a language model and its tools.

Names are loaded when they are first used: the command line and a running engine pay only for what they need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine.deployment import Deployment, load
    from .engine.domain import Limits
    from .engine.engine import Engine
    from .engine.errors import (
        ApprovalRequired,
        CallgateError,
        CallgateWarning,
        ContractViolation,
        Denied,
        DeploymentError,
        ForcedToolUnavailable,
        InputError,
        NotAllowed,
        RuleFileError,
        SchemaError,
        StoreError,
        Unrepairable,
    )  # fmt: skip
    from .engine.errors import Unrepairable as UnrepairableToolInputError
    from .engine.loading import compile_rules as compile
    from .engine.offer import Stage
    from .engine.palette import ToolPalette
    from .engine.session import Session
    from .engine.verdict import Change, Issue, Observation, Outcome, Verdict
    from .engine.version import VERSION as __version__

_HOMES = {
    "deployment": ("Deployment", "load"),
    "domain": ("Limits",),
    "engine": ("Engine",),
    "errors": (
        *("ApprovalRequired", "CallgateError", "CallgateWarning", "ContractViolation", "Denied"),
        *(
            "DeploymentError",
            "ForcedToolUnavailable",
            "InputError",
            "NotAllowed",
            "RuleFileError",
            "SchemaError",
            "StoreError",
            "Unrepairable",
        ),
    ),
    "offer": ("Stage",),
    "palette": ("ToolPalette",),
    "session": ("Session",),
    "verdict": ("Change", "Issue", "Observation", "Outcome", "Verdict"),
}
_PLACES = {name: (home, name) for home, names in _HOMES.items() for name in names} | {
    "UnrepairableToolInputError": ("errors", "Unrepairable"),
    "compile": ("loading", "compile_rules"),
    "__version__": ("version", "VERSION"),
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module `callgate` has no attribute `{name}`")
    home, original = _PLACES[name]
    value = getattr(import_module(f".engine.{home}", __name__), original)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})


__all__ = [
    "ApprovalRequired", "CallgateError", "CallgateWarning", "Change", "ContractViolation", "Denied",
    "Deployment", "DeploymentError", "Engine", "ForcedToolUnavailable", "InputError", "Issue", "Limits",
    "NotAllowed", "Observation", "Outcome",
    "RuleFileError", "SchemaError", "Session", "Stage", "StoreError", "ToolPalette", "Unrepairable",
    "UnrepairableToolInputError", "Verdict", "__version__", "compile", "load",
]  # fmt: skip
