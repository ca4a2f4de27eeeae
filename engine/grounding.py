"""The gate between what a model claims and what it has seen: structural, without a token or a clock.

Source: `docs/grounding.md`. The state is a plain value; each function takes it and changes it in place, and
whoever keeps it decides where. `GateState`, `classify_observation`, `boundary_check` and `turn_loop` are the
names of an earlier gate, on the same core (`gatestate.py`).
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

import msgspec

from .echoes import ALL, without_echoes
from .errors import InputError
from .failures import says_nothing
from .gatevalues import DIGESTS, MARK, NAME, PLENTY, TARGETS, Grounding, Pending, Preset, Room, Target
from .gatewords import NO_RULES, OR_SAY, refusal
from .normalizing import normalize as normalize
from .outputs import shows_nothing, tells_no_more
from .paths import Folded
from .relevance import LONGEST_PATH, composed, has_ending, key_of, occurs_in, short_key, touches
from .shown import LINES, PIECE, Written, fit, hitting, joined, lines_by_name, sample, shows_line

# Bytes that have to be left for all pieces of what is written at a target, for one, and for its whole name.
_FULL, _ONE, _WHOLE = 6_144, 4_096, 2_048
_CUT = 24  # bytes of a name that is not kept whole then
_KEYED = blake2b(digest_size=MARK * 3 // 4, key=b"callgate.novelty")  # to be copied
_FOLDERS = 24  # above a path whose name is not kept whole
_LISTABLE = re.compile(r"(?:.*/)?[\w@%+=:,-][\w.@%+=:, -]*\Z", re.ASCII)  # as `ls` prints it
_LISTED = 4_096  # characters of a listing that nobody cut
_SHORT = 64  # characters of what may say nothing by itself
CLAIMS = ("none", "unverified", "assertion", "completion")
LEGAL_NEXT = ("qualifying_tool_call", "unverified_terminal")
THRESHOLD = 0.5

_SAYS_NOTHING = re.compile(
    r"[\s.!\"']*+(?:\Z|(?=[odstfnODSTFN{[(])"
    r"(?i:ok|okay|done|success|successful|true|false|null|none|\{\}|\[\]|\(?no output\)?)[\s.!\"']*+\Z)"
)
Verifier: TypeAlias = Callable[[str, str], Any]


class Decision(msgspec.Struct, frozen=True):
    """What becomes of a claim. `owed`: targets and signals that are missing; `message` is for the model.

    `confidence`: the verifier's, where it turned an accept into a reject (`downgraded`).
    """

    accepted: bool
    claim: str
    owed: tuple[str, ...] = ()
    legal_next: tuple[str, ...] = ()
    message: str | None = None
    downgraded: bool = False
    confidence: float | None = None


def begin(preset: Preset, surface: tuple[str, ...] = ()) -> Grounding:
    """A turn begins: a full budget, no latch, no debt, nothing seen."""
    return Grounding(
        preset.cap, preset.cap, preset.refill, preset.strict, surface=[composed(each) for each in surface]
    )


def started(state: Grounding) -> int:
    """A call starts; the tick at which it does."""
    state.tick += 1
    return state.tick


def change_started(
    state: Grounding,
    tool: str,
    named: Sequence[tuple[str, Written]],
    cwd: Folded,
    *,
    unnamed: bool,
    perhaps: Iterable[tuple[str, str]] = (),
    room: Room = PLENTY,
) -> None:
    """A call that may change something was let through: what it touches is owed from now on.

    `named`: keys of the targets, with what is written there. `unnamed`: it may change something else, too.
    `perhaps`: keys and names of what that may be. With less `room`, less is kept.
    """
    state.mutations += 1
    state.moves += 1
    state.active += 1
    state.grounded = state.verified = False
    state.signals = dict.fromkeys(state.signals, False)
    if unnamed:
        state.anything = -1
        state.running += 1
        state.unnamed = _shown_name(tool)
    lasting, passing = room.lasting, room.passing
    begun = set[str]()  # it may name one in several spellings
    for key, one in named:
        known = state.targets.get(key)
        if known is None and (len(state.targets) >= TARGETS or lasting < 0):
            state.others = True
            continue
        now = _target(one.name, cwd, lasting) if known is None else known
        # What takes the place of something takes its room, too.
        swapped = len(hitting(one.gone, now.pieces)) if one.gone and now.pieces else 0
        most = max(LINES if lasting > _FULL else int(lasting > _ONE), swapped)
        new, gone = sample(one.pieces, most), sample(_gone(now, one), LINES)
        size = (len(new) + len(gone)) * (PIECE + 3)
        if size > passing:
            new = gone = ()
        state.targets[key] = here = Target(
            now.name,
            None,
            now.running + (key not in begun),
            False,
            now.pieces,
            sample((*now.coming, *new), LINES),
            sample((*now.going, *gone), LINES),
            now.whole or one.whole,
            now.lines or one.lines,
            now.every or one.every,
            now.landed,
            now.told,
            now.above,
            now.cut,
            left=one.left if one.left != "made" or known is None or known.seen else known.left,
        )
        begun.add(key)
        name = 0 if known is not None or here.cut else NAME + len(here.above)
        lasting -= len(new) * (PIECE + 3) + name
        passing -= size + name
    for key, text in perhaps:
        if key not in state.targets and lasting > _WHOLE:
            state.targets[key] = Target(_shown_name(text), running=1, perhaps=True)
            lasting -= NAME


def _target(name: str, cwd: Folded, room: int) -> Target:
    above = _above(name, cwd) if room > _WHOLE else None
    if above is not None:
        return Target(_shown_name(name), above=above)
    lost = ".." in name  # what such a name begins with does not say where it lies
    return Target(fit(_shown_name(name), _CUT) + "?" * lost, cut=True)


def _gone(target: Target, one: Written) -> tuple[str, ...]:
    """What a change takes away of what has to be shown; what one line becomes in any case."""
    if len(one.gone) == len(one.pieces) == 1:
        return one.gone
    return hitting(one.gone, (*target.pieces, *target.coming))


def change_ended(state: Grounding, keys: Iterable[str], *, unnamed: bool, ok: bool) -> None:
    """Its result came: what starts from now on can show its effect. `keys`: of the targets.

    What changes that failed would have written is not to be seen; that it was read still is.
    """
    state.tick += 1
    state.moves += 1
    state.active = max(0, state.active - 1)
    if unnamed:
        state.running = max(0, state.running - 1)
        state.anything = -1 if state.running else state.tick
    for key in keys:
        target = state.targets.get(key)
        if target is None:
            continue
        target.running = max(0, target.running - 1)
        target.landed = target.landed or ok
        if target.running:
            continue
        target.since = state.tick
        if target.landed:
            one = Written(target.name, target.coming, target.going, target.whole, target.lines, target.every)
            target.pieces = joined(target.pieces, one, LINES)
        target.coming = target.going = ()
        target.whole = target.lines = target.every = target.landed = False


def _above(name: str, cwd: Folded) -> str | None:
    """Digests of the folders that a path lies in, where its name is not kept whole; None: too many."""
    if _shown_name(name) == name and Target(name).names:
        return ""
    folder, found = key_of(name, cwd), list[str]()
    while "/" in folder:
        if len(found) == _FOLDERS:
            return None
        folder = folder.rpartition("/")[0]
        found.append(_folder_mark(folder))
    return "".join(found)


def _folder_mark(folder: str) -> str:
    digest = blake2b(folder.encode("utf-8", "surrogatepass"), digest_size=3).digest()
    return b2a_base64(digest, newline=False).decode()


def _shown_name(name: str) -> str:
    """A name as it is kept: short, and of characters that can be written."""
    return fit("".join(each if each.isprintable() else "?" for each in name[:NAME]), NAME)


def about(state: Grounding) -> list[str]:
    """What claims are about: the surface, and what this turn changed."""
    return [*state.surface, *_names_of(state.targets.values())]


def _names_of(targets: Iterable[Target]) -> list[str]:
    return [name for each in targets for name in each.names]


def touched(state: Grounding, texts: Iterable[str], cwd: Folded) -> bool:
    """Do some texts touch anything that a claim is about?"""
    kept = tuple(texts)
    whole = "\n".join(map(composed, kept))
    keys = {key_of(composed(text).strip(), cwd) for text in kept if len(text) <= LONGEST_PATH}
    near = [name for name in about(state) if occurs_in(whole, (name,)) or key_of(name, cwd) in keys]
    return bool(near) and any(touches(text, near, cwd) for text in kept)


def mentioned(
    state: Grounding, named: Sequence[tuple[str, Written]], words: Iterable[str], cwd: Folded
) -> list[tuple[str, Written]]:
    """The files among what claims are about that a command names where not all of it is known: it may have
    changed them. Not those that are `named` anyway."""
    known = (each for each in state.targets.values() if not each.perhaps)
    files = {key_of(name, cwd): name for name in (*filter(has_ending, state.surface), *_names_of(known))}
    keys = {key for key, _ in named}
    found: dict[str, Written] = {}
    for word in words if files else ():
        name = files.get(key_of(composed(word), cwd))
        if name is not None:
            found[short_key(name, cwd)] = Written(name)
    return [(key, one) for key, one in found.items() if key not in keys]


def listed(state: Grounding, texts: Iterable[str], cwd: Folded) -> list[str]:
    """Keys of what was only made or marked and is listed by a look that says these texts, or holds what it
    looks at."""
    made = {key_of(each.name, cwd): key for key, each in _owed(state, ("made",), cwd)}
    found: list[str] = []
    for text in texts if made else ():
        path = key_of(composed(text), cwd) if len(text) <= LONGEST_PATH else ""
        for _ in range(_FOLDERS):
            if path in made:
                found.append(made[path])
            path = path.rpartition("/")[0]
    return found


def missed(state: Grounding, folders: Iterable[str], cwd: Folded) -> list[str]:
    """Keys of what is said to be gone from one of the folders, which a look lists."""
    places = {key_of(composed(each), cwd) for each in folders}
    return [
        key
        for key, each in _owed(state, ("gone", "moved"), cwd)
        if places and _LISTABLE.match(each.name) and key_of(f"{each.name}/..", cwd) in places
    ]


def _owed(state: Grounding, left: tuple[str, ...], cwd: Folded) -> Iterator[tuple[str, Target]]:
    """Those of which no more is left, and that lie here and at no other place."""
    for key, each in state.targets.items():
        if each.left in left and not each.seen and key == short_key(each.name, cwd):
            yield key, each


def is_about_nothing(state: Grounding) -> bool:
    """Is nothing known that a claim could be about?"""
    return not state.surface and all(each.perhaps for each in state.targets.values())


def under(state: Grounding, named: Sequence[tuple[str, Written]], cwd: Folded) -> list[tuple[str, Written]]:
    """The targets that lie in folders that a call changes: it may have changed them."""
    keys = {key for key, _ in named}
    folders = [key_of(one.name, cwd).rstrip("/") for _, one in named] if state.targets else []
    inside = tuple(f"{each}/" for each in folders)
    marks = {_folder_mark(each) for each in folders}

    def lies(each: Target) -> bool:
        if each.cut:
            begins = key_of(each.name, cwd)
            return "?" in each.name or any(
                begins.startswith(f"{folder}/") or folder.startswith(begins) for folder in folders
            )
        if each.above:
            return any(each.above[at : at + 4] in marks for at in range(0, len(each.above), 4))
        return key_of(each.name, cwd).startswith(inside)

    return [
        (key, Written(each.name))
        for key, each in state.targets.items()
        if folders and key not in keys and lies(each)
    ]


def observed(
    state: Grounding,
    tool: str,
    look: Pending,
    value: Any,
    result: str,
    own: str | None,
    cleaned: str | None,
    cwd: Callable[[], Folded],
    heads: str = "",
) -> bool:
    """A good result of a read: does it ground a claim? It pays, clears a halt, and settles what it shows.

    `result`: its `value` as text; `own`: what of it was read, and not said by the tool; None where nothing
    tells that.
    `cleaned`: what tells the result from others, without what varies; None where it has no text.
    `heads`: what of it has lines of a search, which begin with names.
    """
    if cleaned is None:
        return False
    targets = state.targets
    mine = {key: targets[key] for key in look.named if key in targets} if targets else {}
    if not (look.relevant or mine):
        if not look.trusted or not touches(result, about(state), cwd()):
            return False
    shown = result if own is None else own
    nothing = bool(state.mutations) and _shows_nothing(state, look, value, own, list(mine.values()))
    if nothing and not any(each.pieces for each in mine.values()):
        return False
    if look.gone and says_nothing(shown):
        return False
    if mine and (says_nothing(shown) or (own is None and tells_no_more(value, _names_of(mine.values())))):
        return False
    if not look.exempt:
        settles = [key for key, each in mine.items() if _can_settle(each, look.since)] if mine else ()
        if not _is_new(state, tool, cleaned, look.known, " ".join(sorted(settles)) if settles else ""):
            return False
    state.grounded = True
    state.halted = False
    state.budget = min(state.cap, state.budget + state.refill)
    if state.mutations:
        _settle(state, look, shown, heads, cwd, nothing=nothing)
    return True


def _shows_nothing(state: Grounding, look: Pending, value: Any, own: str | None, mine: list[Target]) -> bool:
    """Where something is owed of which nothing tells how it looks: does a result show nothing? `mine`: what
    it looked at of what was changed."""
    bare = [each for each in mine if not (each.pieces or each.seen or each.left == "made")]
    if not bare and state.anything is None:
        return False
    names = _names_of(bare) if bare else about(state)
    return shows_nothing(value, own, names, file=bool(bare), command=look.command)


def _is_new(state: Grounding, tool: str, result: str, known: str, settles: str) -> bool:
    """Was the result not seen before, since the last change? What settles a debt is another result."""
    said = known if len(result) < _SHORT and _SAYS_NOTHING.match(result) is not None else ""
    data = f"{tool}\0{state.moves}\0{said}\0{settles}\0{result}".encode("utf-8", "surrogatepass")
    keyed = _KEYED.copy()
    keyed.update(data)
    digest = b2a_base64(keyed.digest(), newline=False).decode()
    digests = state.digests
    at = digests.find(digest)
    while at >= 0 and at % MARK:
        at = digests.find(digest, at + 1)
    if at >= 0:
        return False
    if len(digests) >= DIGESTS * MARK:
        state.others = True
        return False
    state.digests = digests + digest
    return True


def _can_settle(target: Target, since: int) -> bool:
    """May a read that started then show a target that is still owed?"""
    return not target.seen and target.since is not None and target.since < since


def _settle(
    state: Grounding, look: Pending, result: str, heads: str, cwd: Callable[[], Folded], *, nothing: bool
) -> None:
    """What a grounding read shows of the changed targets: those that it names, and those that a search
    shows by name with what was written. `nothing`: only what is known can be seen in it."""
    since, keys, said = look.since, frozenset(look.named), frozenset(look.said)
    if look.asks and keys:  # names and counts alone are no look into a file
        mine = [state.targets[key] for key in keys if key in state.targets]
        if not shows_line(result, _names_of(mine), known=any(each.pieces for each in mine)):
            keys = frozenset()
    open_ones = {key: each for key, each in state.targets.items() if _can_settle(each, since)}
    # Beside what was written a name at the head of a line shows only what the search was told to look into.
    found = [key for key in open_ones if bool(open_ones[key].pieces) != (key in keys)] if look.search else []
    hits: dict[str, list[str]] = {}
    if found and occurs_in(heads, (name for key in found for name in open_ones[key].names)):
        for name, lines in lines_by_name(heads).items():
            hits.setdefault(short_key(name, cwd()), []).extend(lines)
    for key, target in open_ones.items():
        if key in keys and ((look.sure and not nothing) or target.pieces or target.left == "made"):
            target.pieces = without_echoes(target.pieces, result, said)
            target.seen = not target.pieces
        elif (
            key in hits and not target.told and not without_echoes(target.pieces, "\n".join(hits[key]), said)
        ):
            target.seen, target.pieces = True, ()
    for key in look.gone:
        here = open_ones.get(key)
        if here is not None and here.left == "moved" and here.pieces:
            continue  # what was written there went with it
        if here is not None and len(result) <= _LISTED and here.name.rpartition("/")[2] not in result:
            here.seen, here.pieces = True, ()
    shown = any(target.seen for key, target in open_ones.items() if key in keys or key in look.gone)
    if state.anything is not None and 0 <= state.anything < since and (shown or not nothing):
        state.anything = None
    state.verified = not debts(state)


def told(state: Grounding, pieces: Sequence[str]) -> None:
    """A look says what was written: whoever keeps such texts could give them back as a search's lines."""
    for each in state.targets.values():
        if each.pieces and not each.told and any(piece == ALL or piece in each.pieces for piece in pieces):
            each.told = True


def unshown(state: Grounding) -> list[str]:
    """All pieces that have to be shown."""
    return [piece for each in state.targets.values() for piece in each.pieces]


def debts(state: Grounding) -> tuple[str, ...]:
    """What has to be read before a completion can be accepted, in the order in which it was changed."""
    owed = [each.name for each in state.targets.values() if not (each.seen or each.perhaps)]
    if state.anything is not None:
        owed.append("a change that named nothing")
    if state.others:
        owed.append("other targets")
    return tuple(owed)


def reason(state: Grounding) -> bool:
    """The model thinks; takes one from the budget. False where it is halted: it has to look at something."""
    state.budget = max(0, state.budget - 1)
    return not state.halted


def finish(
    state: Grounding,
    claim: object,
    text: str,
    required: Mapping[str, str],
    verifier: Verifier | None = None,
    threshold: float = THRESHOLD,
    *,
    ruled: bool = True,
) -> Decision:
    """Is a claim let out? A rejected one halts; `unverified` always works.

    `required`: the signals that a completion needs, with the tools that give them. `ruled`: there are rules;
    without them no claim can be judged, and nothing is changed.

    Raises:
        InputError: it is no claim; nothing is let out, and nothing is changed.
    """
    if type(claim) is not str or claim not in CLAIMS:
        raise InputError(f"a claim is one of {', '.join(CLAIMS)}, not {_shown(claim)}")
    if claim == "unverified":
        state.halted = state.others = False
        return Decision(True, claim)
    if not ruled:
        return Decision(False, claim, (), LEGAL_NEXT[1:], NO_RULES)
    if claim == "none" and not state.mutations and not state.refused and not state.halted:
        return Decision(True, claim)
    judged = claim
    if claim == "none" or (claim == "assertion" and state.mutations):
        judged = "completion"
    missing = {name: tool for name, tool in required.items() if not state.signals.get(name)}
    owed = (*debts(state), *missing)
    if judged == "assertion":
        good = state.verified if state.strict else state.grounded
    else:
        good = state.verified and not owed
    if state.budget <= 0 or not good:
        state.halted = state.refused = True
        return Decision(False, claim, owed, LEGAL_NEXT, refusal(state, claim, judged, owed, missing))
    if verifier is not None:
        doubt = _doubt(verifier, claim, text, threshold)
        if doubt is not None:
            score = doubt[0]
            state.halted = state.refused = True
            message = f"The claim could not be confirmed. Look again at what it is about, {OR_SAY}"
            return Decision(False, claim, owed, LEGAL_NEXT, message, True, score)
    state.halted = False
    return Decision(True, claim)


def _shown(claim: object) -> str:
    return f"`{claim[:64]}`" if type(claim) is str else f"`{type(claim).__name__}`"


def _doubt(verifier: Verifier, claim: str, text: str, threshold: float) -> tuple[float | None] | None:
    """Why a verifier turns an accept into a reject: its score, which may be none; None where it does not."""
    try:
        found = verifier(claim, text)
        scores = list(found.values()) if isinstance(found, Mapping) else [] if found is None else [found]
        if any(type(score) not in (int, float) or not 0 <= score <= 1 for score in scores):
            return (None,)  # NaN is between no two numbers
        weakest = float(min(scores, default=1.0))
    except Exception:  # whatever goes wrong in it, it has not confirmed anything
        return (None,)
    return (weakest,) if weakest < threshold else None


def __getattr__(name: str) -> Any:
    if name in ("GateState", "PRESETS", "classify_observation", "boundary_check", "turn_loop"):
        from . import gatestate

        return getattr(gatestate, name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
