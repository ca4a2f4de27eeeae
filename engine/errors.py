"""Every error that callgate raises on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..grammar.diagnostics import Diagnostic
    from .verdict import Verdict


class CallgateError(Exception):
    """Base of all of them."""


class CallgateWarning(UserWarning):
    """Something about a rule file that its author should know and that does not keep it from being used."""


class InputError(CallgateError):
    """The host gave something outside the JSON domain: another type, a subclass, a key that is no text."""


class SchemaError(CallgateError):
    """A tool's schema cannot be used; the message says which tool, and what is wrong."""


class StoreError(CallgateError):
    """The store of sessions cannot be used; the message says what to change.

    `where`: its file or URL, without a password. `unsure`: the update may have happened all the same.
    """

    def __init__(self, where: str, message: str, unsure: bool = False) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message
        self.unsure = unsure

    def __reduce__(self) -> tuple[type[StoreError], tuple[str, str, bool]]:
        return (type(self), (self.where, self.message, self.unsure))


class RuleFileError(CallgateError):
    """Rule files with errors, or whose tests fail. `diagnostics` holds every one; `text` shows them."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], text: str) -> None:
        super().__init__(text)
        self.diagnostics = diagnostics
        self.text = text

    def __reduce__(self) -> tuple[type[RuleFileError], tuple[tuple[Diagnostic, ...], str]]:
        return (type(self), (self.diagnostics, self.text))


class DeploymentError(RuleFileError):
    """A deployment that cannot be loaded: its settings, what they name, or the rules."""


class ContractViolation(CallgateError):
    """What a turn must offer or force cannot be honoured; raised before the model is asked, each time.

    `code` says why: see `docs/palettes.md`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type[ContractViolation], tuple[object, ...]]:
        return (type(self), (self.code, self.message))


class DuplicateToolName(ContractViolation, SchemaError):
    """Two registered tools have one name, which no provider takes. Its code is `duplicate_tool_name`."""

    def __init__(self, name: str) -> None:
        super().__init__("duplicate_tool_name", f"two tools are called `{name[:64]}`")
        self.name = name

    def __reduce__(self) -> tuple[type[ContractViolation], tuple[object, ...]]:
        return (type(self), (self.name,))


class ForcedToolUnavailable(ContractViolation):
    """The forced `tool` cannot be called: it is not registered, or not offered.

    `registered`: the names that are. `rules`: those that force it and that exclude it.
    """

    def __init__(
        self,
        code: str,
        message: str,
        tool: str = "",
        registered: tuple[str, ...] = (),
        rules: tuple[str, ...] = (),
    ) -> None:
        super().__init__(code, message)
        self.tool = tool
        self.registered = registered
        self.rules = rules

    def __reduce__(self) -> tuple[type[ContractViolation], tuple[object, ...]]:
        return (type(self), (self.code, self.message, self.tool, self.registered, self.rules))


class NotAllowed(CallgateError):
    """A call that may not run as it is. `verdict` says why; the message is what the model should read."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.retry_message or verdict.reason or verdict.outcome.value)
        self.verdict = verdict

    def __reduce__(self) -> tuple[type[NotAllowed], tuple[Verdict]]:
        return (type(self), (self.verdict,))


class Unrepairable(NotAllowed):
    """The arguments do not fit the tool, and no rule could make them fit."""


class Denied(NotAllowed):
    """A rule forbids the call."""


class ApprovalRequired(NotAllowed):
    """A rule asks for a person's approval first."""
