"""What the engine says about one call: one immutable value (`docs/verdict.md`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from ..grammar.ast import Json
from .errors import ApprovalRequired, Denied, NotAllowed, Unrepairable


class Outcome(StrEnum):
    """`valid` and `repaired` may run; the others may not, as they are."""

    VALID = "valid"
    REPAIRED = "repaired"
    UNREPAIRABLE = "unrepairable"
    DENIED = "denied"
    ASKED = "asked"


class Change(msgspec.Struct, frozen=True):
    """One mutation. `rule` is the rule's name.

    `stage` is one of name, envelope, prepare, preprocess, bound, repair. `path` is a JSON Pointer into
    the arguments; `note` is for the model.
    """

    rule: str
    kind: str
    stage: str
    path: str
    note: str


class Observation(msgspec.Struct, frozen=True):
    """Something that a rule saw and did not change; the message quotes no value."""

    rule: str
    kind: str
    path: str
    message: str


class Issue(msgspec.Struct, frozen=True):
    """One place where the original does not fit the schema; the message quotes no value."""

    path: str
    keyword: str
    message: str


class Failure(msgspec.Struct, frozen=True):
    """What `observe_failure` saw in a call that a tool refused: no replacement, and no second call."""

    tool: str
    observations: tuple[Observation, ...]
    retry: str = "never"
    replacement: None = None


class Source(msgspec.Struct, frozen=True):
    """The rules in force: `engine` is their digest, `packs` the packs as `name@version`."""

    engine: str
    packs: tuple[str, ...]


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The outcome, what to execute, and the cause of every difference.

    `arguments`: on `valid` the caller's own object (for text, the decoded value); on `repaired` and
    `asked` the final arguments; on `unrepairable` and `denied` the caller's own object or text.
    """

    # INVARIANT: outcome is REPAIRED only with changes; UNREPAIRABLE and DENIED carry none.
    outcome: Outcome
    tool: str
    arguments: Any
    source: Source
    changes: tuple[Change, ...] = ()
    observations: tuple[Observation, ...] = ()
    issues: tuple[Issue, ...] = ()
    reason: str | None = None
    decided_by: tuple[str, ...] = ()
    retry_message: str | None = None
    code: str | None = None
    fingerprint: str | None = None

    @property
    def engine(self) -> str:
        """Digest of the rules in force."""
        return self.source.engine

    @property
    def packs(self) -> tuple[str, ...]:
        """The packs in force, as `name@version`."""
        return self.source.packs

    @property
    def allowed(self) -> bool:
        """True for `valid` and `repaired`."""
        return self.outcome is Outcome.VALID or self.outcome is Outcome.REPAIRED

    def raise_for_outcome(self) -> None:
        """Raise `Unrepairable`, `Denied` or `ApprovalRequired`, each with this verdict, unless it may run."""
        if self.outcome is Outcome.VALID or self.outcome is Outcome.REPAIRED:
            return
        errors: dict[Outcome, type[NotAllowed]] = {
            Outcome.UNREPAIRABLE: Unrepairable,
            Outcome.DENIED: Denied,
            Outcome.ASKED: ApprovalRequired,
        }
        raise errors[self.outcome](self)

    def approve(self) -> Verdict:
        """The verdict after a person's yes, for exactly these arguments.

        Raises:
            ValueError: the outcome is not `asked`.
        """
        if self.outcome is not Outcome.ASKED:
            raise ValueError(f"only an asked call can be approved, and this one is {self.outcome.value}")
        outcome = Outcome.REPAIRED if self.changes else Outcome.VALID
        return msgspec.structs.replace(self, outcome=outcome, reason=None, decided_by=(), retry_message=None)

    def as_dict(self) -> dict[str, Json]:
        """The fields in the order of a verdict line, as JSON values."""
        return {
            "outcome": self.outcome.value,
            "tool": self.tool,
            "arguments": self.arguments,
            "changes": [msgspec.structs.asdict(each) for each in self.changes],
            "observations": [msgspec.structs.asdict(each) for each in self.observations],
            "issues": [msgspec.structs.asdict(each) for each in self.issues],
            "reason": self.reason,
            "decided_by": list(self.decided_by),
            "retry_message": self.retry_message,
            "code": self.code,
            "fingerprint": self.fingerprint,
            "engine": self.engine,
            "packs": list(self.packs),
        }
