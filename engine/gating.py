"""What a call and its result are to the gate: what is owed from now on, and what was seen.

Source: `docs/grounding.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from ..grammar.ast import Json
from . import grounding
from . import state as memory
from .condition import Env
from .echoes import ALL, echoed, texts_of
from .engine import Engine
from .failures import exit_code, has_failed
from .gatevalues import Grounding, Pending, Room
from .grounds import Grounds, Seen
from .outputs import held, opened, plain, printed, tells_end
from .paths import Folded
from .relevance import composed, is_file, short_key
from .remembered import Answer
from .shown import result_key, result_text
from .state import Call
from .verdict import Verdict

_PERHAPS = 8  # files that a command may have changed which says nothing else
_SAID = 2_048  # bytes that have to be left, so that it is kept which pieces a look said itself


def went_out(
    engine: Engine,
    grounds: Grounds,
    ground: Grounding,
    cwd: Folded,
    call: Call,
    verdict: Verdict,
    env: Env,
    room: Room,
) -> None:
    """A call was let through: what it changes is owed from now on, what it looks at is noted.

    `room`: with too little, what is noted makes it harder to claim.
    """
    arguments = verdict.arguments
    added = 0
    for name in grounds.surface(arguments):
        if len(ground.surface) < memory.SURFACE and name not in ground.surface and is_whole_name(name):
            added += len(name.encode()) + 3
            if added < room.lasting:
                ground.surface.append(name)
    part = engine.known_part(verdict.tool, arguments)
    seen = grounds.see(verdict.tool, arguments, engine.known(verdict.tool), part, cwd)
    call.pending = pending = noted(ground, call.tool, seen, arguments, cwd, room)
    pending.command = grounds.is_shell(verdict.tool)
    if not seen.changes:
        pending.exempt = grounds.is_exempt(verdict.tool)
        pending.cleaners = grounds.cleaners(verdict.tool)
        pending.known = memory.digest_of(verdict.tool, part) or ""
    pending.signals = grounds.shows(verdict.tool, arguments, env)
    pending.rules = grounds.digest if pending.signals or pending.cleaners else ""


def noted(ground: Grounding, tool: str, seen: Seen, arguments: Json, cwd: Folded, room: Room) -> Pending:
    """What is kept of a call until its result comes; what it changes is owed from now on."""
    since = grounding.started(ground)
    named = [(each.key(cwd), each) for each in seen.named[: memory.NAMED]]
    perhaps: dict[str, str] = {}
    if seen.changes:
        named += grounding.mentioned(ground, named, seen.said, cwd)
        named += grounding.under(ground, [each for each in named if each[1].left != "made"], cwd)
        if not named and grounding.is_about_nothing(ground):
            files = (each for each in seen.said if is_file(each))
            found = {short_key(each, cwd): composed(each) for each in islice(files, _PERHAPS)}
            perhaps = {key: name for key, name in found.items() if key not in ground.targets}
    fitting = max(4, room.passing // 32)
    ground.others = ground.others or (seen.changes and len(named) > fitting)
    named = named[:fitting]
    keys = list(dict.fromkeys(key for key, _ in (*named, *perhaps.items())))
    pending = Pending(since, changes=seen.changes, unnamed=seen.unnamed, named=keys)
    if seen.changes:
        grounding.change_started(
            ground, tool, named, cwd, unnamed=seen.unnamed, perhaps=perhaps.items(), room=room
        )
        ground.others = ground.others or len(seen.named) > memory.NAMED
    else:
        pending.named = list(dict.fromkeys((*keys, *grounding.listed(ground, seen.texts, cwd))))
        pending.gone = grounding.missed(ground, seen.lists, cwd)
        pending.relevant = bool(pending.gone) or grounding.touched(ground, seen.texts, cwd)
        pending.trusted, pending.search, pending.asks = seen.trusted, seen.search, seen.asks
        pending.sure = seen.sure
        pending.said = echoed(grounding.unshown(ground), (*texts_of(arguments), *seen.said))
        if room.passing < _SAID and pending.said:
            pending.said = [ALL]
        if not seen.search:
            grounding.told(ground, pending.said)
    # A signal that was asked for while something changed is of no certain state.
    pending.moves = ground.moves if ground.active == int(seen.changes) else 0
    return pending


def came_back(
    grounds: Grounds,
    ground: Grounding,
    cwd: Callable[[], Folded],
    call: Call,
    value: Json,
    good: bool,
    seen: Callable[[Answer], Env],
) -> None:
    """The result of a call that was let through. `seen`: what conditions see beside it."""
    pending, call.pending = call.pending, None
    if pending is None:
        return
    if pending.rules and pending.rules != grounds.digest:  # the numbers are those of other statements
        pending.cleaners, pending.signals = grounds.cleaners(call.tool), []
    unmoved = ground.moves == pending.moves
    _, good, text, inner = settled(ground, call.tool, pending, value, good, grounds.clean, cwd)
    if pending.signals and good and unmoved:
        env = seen(Answer(good, text, inner if exit_code(value) is None and tells_end(inner) else value))
        ground.signals.update(dict.fromkeys(grounds.shown(pending.signals, env), True))


def settled(
    ground: Grounding,
    tool: str,
    pending: Pending,
    value: Json,
    good: bool,
    clean: Callable[[list[int], str], str],
    cwd: Callable[[], Folded],
) -> tuple[bool, bool, str, Json]:
    """What the result of a call comes to: does it ground a claim, is it good, its text, and what it is where
    it was told as JSON. `clean`: a text without what varies by itself, by the numbers of statements."""
    own: str | None
    outer = value
    if pending.command:
        value = opened(value)
        text = own = printed(value)
    else:
        text = value if type(value) is str else result_text(value)
        # Where nothing was changed, nothing has to be shown.
        own = held(value, asked=pending.asks) if ground.mutations else text
    whole = value if type(value) is str else text or result_text(value)  # a failure may be told beside it
    thing = not (pending.named or pending.command)
    good = good and not has_failed(
        value, whole, many=len(pending.named) > 1, command=pending.command, thing=thing
    )
    # What a program prints is no better than what its tool says beside it.
    good = good and (value is outer or not has_failed(outer, "", command=True))
    earned = False
    if pending.changes:
        grounding.change_ended(ground, pending.named, unnamed=pending.unnamed, ok=good)
    elif good:
        key = text if type(value) is str else result_key(value)
        cleaned = None if key is None else clean(pending.cleaners, key)
        heads = text if pending.command else plain(value) if pending.search and ground.mutations else ""
        earned = grounding.observed(ground, tool, pending, value, text, own, cleaned, cwd, heads)
    return earned, good, text, value


def is_whole_name(name: str) -> bool:
    """Can a name be kept as what claims are about: short, and of characters that can be written?"""
    return (
        0 < len(name.strip()) <= len(name.encode("utf-8", "replace")) <= memory.LONGEST_ID
        and name.isprintable()
    )
