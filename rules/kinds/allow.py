"""allow: let calls pass that nothing denies and nothing asks about."""

from __future__ import annotations

from ..kind import Effect, Example, Kind, Phase


class Allow(Kind):
    """Admit the calls of a tool, or with `when` those that a condition fits.

    Every `deny` that fits wins over it, and every `ask`; it wins over `default ask` and `default deny`.
    It takes effect only where its condition is true; an unknown condition allows nothing. With `for`, and
    no model known, it does not apply.

    It is no check of arguments: the schema judges a call before any permission does.
    """

    keyword = "allow"
    phase = Phase.PERMIT
    effect = Effect.ALLOW
    cost = "its condition"
    examples = (
        Example("allow", {"path": "/a"}),
        Example('allow when /path under "/repo"', {"path": "/repo/a"}),
    )


KIND = Allow
