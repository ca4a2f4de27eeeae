"""deny: refuse a call."""

from __future__ import annotations

from ..kind import Effect, Example, Kind, Phase, Title


class Deny(Kind):
    """Refuse the calls of a tool, or with `when` those that a condition fits.

    The text says why, to the model and in every report. It wins over everything else, is judged also on
    what the model sent before any repair, and takes effect where its condition is true or unknown; with
    `for` also where no model is known.

    Not for a wrong value that the schema can refuse: the model learns more from a schema issue.
    """

    keyword = "deny"
    phase = Phase.PERMIT
    effect = Effect.DENY
    title = Title.OPTIONAL
    note = "The call was refused. Do not send it again; do something else."
    cost = "its condition, once more on the arguments as they came"
    examples = (
        Example(
            'deny "only the workspace" unless /path under "/repo"', {"path": "/repo/a"}, why="it is under it"
        ),
    )


KIND = Deny
