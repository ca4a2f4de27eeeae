"""The values of the gate: how patient it is, what it knows of a turn, and of a call that has no result yet.

Source: `docs/grounding.md`. `grounding.py` changes them; they are kept with the session, as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import msgspec

from .errors import InputError
from .shown import size_of

DIGESTS = 1024  # results of a turn that are told apart
MARK = 8  # characters of the digest of one
TARGETS = 256  # changed targets of a turn
NAME = 64  # bytes of a target's name, as JSON; a longer one is known by its key alone
SMALLEST = 95  # bytes of a target of which no more is kept than has to be


class Room(msgspec.Struct, frozen=True):
    """Bytes that are left in a session's state, below 0 where there are too few: for what lasts as long as
    the turn, beside what a turn may need in any case; and for what is there until a result comes."""

    lasting: int
    passing: int


PLENTY = Room(1 << 20, 1 << 20)


class Preset(msgspec.Struct, frozen=True):
    """How patient the gate is. Raises InputError unless 1 <= refill < cap."""

    cap: int = 6
    refill: int = 2
    strict: bool = False

    def __post_init__(self) -> None:
        whole = type(self.cap) is int and type(self.refill) is int and type(self.strict) is bool
        if not whole or not 1 <= self.refill < self.cap:
            raise InputError("a preset has whole numbers with 1 <= refill < cap, and strict true or false")


SHIPPED: Mapping[str, Preset] = {
    "default": Preset(6, 2),
    "skipper": Preset(5, 2, True),
    "diverger": Preset(4, 1),
}


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Piece: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]


class Target(msgspec.Struct, omit_defaults=True):
    """Something that this turn changed.

    `since`: the tick at which its last change ended; None while one runs, `running` of them. `seen`: it was
    read after that. `pieces`: what was written and not shown yet. Of changes that run: what they write
    (`coming`), take away (`going`, as whole `lines`, or at `every` place), whether one replaces everything
    (`whole`), and whether one of them came back with a good result (`landed`). `above`: digests of the
    folders of a name that is not kept whole. `cut`: neither is. `told`: a look said what was written, so a
    search may only repeat it. `perhaps`: nobody knows whether it was changed: it is not owed, but a look at
    it is one at what a change may have changed that named nothing. `left`: by its last change it
    was only `made` or marked, which is shown by a look that lists it, and by one at something in it; or it is
    `gone` or `moved`, which a listing of its folder shows.
    """

    name: str
    since: Count | None = None
    running: Count = 0
    seen: bool = False
    pieces: tuple[Piece, ...] = ()
    coming: tuple[Piece, ...] = ()
    going: tuple[Piece, ...] = ()
    whole: bool = False
    lines: bool = False
    every: bool = False
    landed: bool = False
    told: bool = False
    above: str = ""
    cut: bool = False
    perhaps: bool = False
    left: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The name, where it is whole, to be looked for in texts."""
        whole = not self.cut and size_of(self.name) <= NAME - 4 and "?" not in self.name
        return (self.name,) if whole else ()


class Grounding(msgspec.Struct, omit_defaults=True):
    """What the gate knows of a turn. `tick` orders the starts and ends of calls.

    `moves`: starts and ends of changes, `active`: those that run. `anything`: a change that named nothing
    ended at this tick, and no relevant read came after it; -1 while one runs, `running` of them; `unnamed`:
    the tool of the last one. `others`: there were more targets than are kept. `signals`: by name, true
    where not stale.
    """

    budget: Count = 6
    cap: Count = 6
    refill: Count = 2
    strict: bool = False
    tick: Count = 0
    mutations: Count = 0
    moves: Count = 0
    active: Count = 0
    halted: bool = False
    refused: bool = False
    grounded: bool = False
    verified: bool = False
    anything: Annotated[int, msgspec.Meta(ge=-1)] | None = None
    running: Count = 0
    unnamed: str = ""
    others: bool = False
    targets: dict[str, Target] = {}
    digests: str = ""  # of eight characters each
    surface: list[str] = []
    signals: dict[str, bool] = {}


class Pending(msgspec.Struct, omit_defaults=True):
    """A call that was let through and has no result yet.

    `since`: the tick at which it started; `moves`: the starts and ends of changes until then, 0 where the
    state was not a certain one. `changes`: it may change something, and something `unnamed`. `named`: keys of
    what it touches.
    `relevant`: its arguments touch something of a claim; else its result may, where it is `trusted`: a
    tool's own, and not what a command printed that reads nothing. `search`: the lines of its result may begin
    with names. `asks`: its answer may be no line of a file. `sure`: it shows something of each
    of them. `exempt`: its result counts again and again.
    `command`: it is one of a shell. `known`: stands for the arguments that the schema knows, where the result
    says nothing by itself. `said`: what of the pieces the call itself said, which its result may only repeat.
    `gone`: keys of what its result shows to be gone where it does not name it.
    `cleaners`, `signals`: numbers of `normalize` and `signal` statements of these `rules`.
    """

    since: Count = 0
    moves: Count = 0
    changes: bool = False
    unnamed: bool = False
    named: list[str] = []
    relevant: bool = False
    trusted: bool = True
    search: bool = False
    asks: bool = False
    sure: bool = True
    exempt: bool = False
    command: bool = False
    known: str = ""
    said: list[str] = []
    gone: list[str] = []
    cleaners: list[Count] = []
    signals: list[Count] = []
    rules: str = ""
