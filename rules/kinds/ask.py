"""ask: have somebody approve a call first."""

from __future__ import annotations

from ..kind import Effect, Example, Kind, Phase, Title


class Ask(Kind):
    """Hold the calls of a tool for approval, or with `when` those that a condition fits.

    The text says why, to whoever approves. It wins over every `allow` and every default; a `deny` that
    fits wins over it. It takes effect where its condition is true or unknown, and with `for` also where
    no model is known: what cannot be judged is asked about.

    Not for what must never happen: that is `deny`.
    """

    keyword = "ask"
    phase = Phase.PERMIT
    effect = Effect.ASK
    title = Title.OPTIONAL
    note = "The call waits for approval."
    cost = "its condition"
    examples = (
        Example('ask "a long wait" when /seconds > 60', {"seconds": 5}, why="the condition is false"),
    )


KIND = Ask
