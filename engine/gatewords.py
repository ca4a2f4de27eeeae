"""What the model is told where a claim is not let out: what is missing, and what would show it.

Source: `docs/grounding.md`, "Claims".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .gatevalues import Grounding

_MOST = 8  # names in one message
OR_SAY = "or say that it is unverified."
NO_RULES = "The rules could not be loaded, so nothing can be confirmed now. Say that it is unverified."


def refusal(
    state: Grounding, claim: str, judged: str, owed: Sequence[str], required: Mapping[str, str]
) -> str:
    """In two sentences. `judged`: what the claim counts as; `required`: missing signals, with their tools."""
    if owed and judged == "completion":
        steps = "; ".join(_steps(state, required))
        ways = f"{steps[0].upper()}{steps[1:]}; {OR_SAY}" if steps else f"{OR_SAY[3].upper()}{OR_SAY[4:]}"
        return f"This is not shown yet: {_listed(owed)}. {ways}"
    if state.budget <= 0:
        return f"Nothing new was looked at for too long. Look at what the claim is about, {OR_SAY}"
    if claim == "completion" and not state.mutations:
        return f"Nothing was changed in this turn, so nothing is complete. Claim an assertion, {OR_SAY}"
    if not state.surface and not state.targets:
        return "Nobody said what claims of this turn are about, so no look counts. Say that it is unverified."
    return f"Nothing that was looked at in this turn shows it. Look at what it is about, {OR_SAY}"


def _steps(state: Grounding, required: Mapping[str, str]) -> Iterator[str]:
    open_ones = [each for each in state.targets.values() if not each.seen]
    waiting = [each.name for each in open_ones if each.since is None]
    if waiting:
        yield f"wait for the result of what changes {_listed(waiting)}"
    # Before the reads: a call that is not known to only look makes another read necessary.
    for name, tool in required.items():
        yield f"make a good call{f' of `{tool}`' if tool else ''} that shows `{name}`"
    unread = [each for each in open_ones if each.since is not None]
    if unread:
        shown = ", so that what was written there is seen" if any(each.pieces for each in unread) else ""
        yield f"read {_listed([each.name for each in unread])} after the last change{shown}"
    if state.anything is not None:
        tool = f"`{state.unnamed}`" if state.unnamed else "a call"
        yield (
            f"wait for the result of {tool}"
            if state.anything < 0
            else f"look again at what the claim is about, since {tool} may have changed it"
        )


def _listed(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(f"`{each[:120]}`" for each in names[:_MOST]) + rest
