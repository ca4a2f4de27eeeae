"""What a kind of rule declares: its word, its clauses, its documentation, its cost and its code.

A kind is one file under `rules/kinds/` that ends in `KIND = ItsClass`. Nothing else names it: the
checker, the docs page, `callgate explain` and the unit tests of its examples are derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from msgspec import Struct, field

from ..grammar.ast import Condition, Json, Pointer, Segment, Statement, Text, Word
from ..grammar.span import NOWHERE, Span

if TYPE_CHECKING:
    from .primitive import PrimitiveSchema


class Phase(Enum):
    """Where in the pipeline the rules of a kind work (`docs/pipeline.md`)."""

    NAME = "name"  # stage 1: the tool's name
    PREPROCESS = "preprocess"  # stage 4: one value at a place, in file order
    BOUND = "bound"  # stage 5
    PERMIT = "permit"  # stage 9: `effect` says which way
    SETTING = "setting"  # tells the engine something about the tool; runs nothing


class Selecting(Enum):
    """How many selectors a rule of the kind has."""

    NONE = 0
    ONE = 1
    MANY = 2


class Title(Enum):
    """The quoted text before the selector: a reason, or where it is required an ID that `by` may name."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class Setting(Enum):
    """What a rule of the phase SETTING tells the engine about its tool."""

    SCHEMA = "schema"  # its argument schema: `clauses["source"]`
    ROOT = "root"  # where bare text goes
    DROPPABLE = "droppable"  # fields whose empty text may be left out


class Effect(Enum):
    """What a rule of the phase PERMIT says about a call that it fits."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Place(Protocol):
    """What the tool's schema says about one selected place, through `$ref`, `allOf`, `anyOf`, `oneOf`.

    Without a schema `known` is false, and each question has the answer of an open schema.
    """

    @property
    def known(self) -> bool: ...

    def accepts(self, value: Json) -> bool:
        """Would the schema take this value here?"""

    def declares(self, name: str) -> bool:
        """Is `name` a property that the schema names for the object here?"""

    def requires(self, name: str) -> bool:
        """Must the object here have this key, whatever else it has?"""

    @property
    def types(self) -> frozenset[str]:
        """The JSON types that may stand here (`integer` only where `number` may not)."""

    def child(self, segment: Segment) -> Place:
        """The place one segment below."""

    @property
    def is_map(self) -> bool:
        """Are unnamed keys of the object here the caller's own? The schema says what their values are."""

    @property
    def is_pattern(self) -> bool:
        """Is the text here a regular expression (`format: regex`), or under an anchored `pattern`?"""


def takes_none(place: Place | None, *types: str) -> bool:
    """Does the schema certainly take none of these types at the place? False where it does not say."""
    return place is not None and place.known and bool(place.types) and place.types.isdisjoint(types)


class Log(Protocol):
    """Where an action says what it did. `path` is relative to the place that it was given."""

    def change(self, path: tuple[str | int, ...] = (), note: str | None = None) -> None:
        """One mutation, with a note of its own for the model, or None for the kind's."""

    def observe(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        """Something seen and not changed; the message quotes no value."""


class Action(Struct, frozen=True):
    """A rule made ready for one tool and model.

    `apply(value, log)` gets the value at the place. It returns that very object where it changes
    nothing, else a new one: it never changes what it was given. A change that it does not log
    itself is logged at the place. It may raise `NotApplicable` to leave everything as it was.

    `guard` is a Python expression over `v`, the value at the place, that is false only where
    `apply` would neither change nor observe anything; `$name` in it stands for `names["name"]`.
    It is how a rule costs nothing on calls that it does not concern; without it `apply` always runs, to see
    what it would do. `keys` says more: `apply` does nothing unless `v` is an object with one of these keys.
    """

    apply: Callable[[Json, Log], Json]
    guard: str | None = None
    names: Mapping[str, object] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()


class Spec(Struct, frozen=True):
    """One written rule, read and found in order: what a kind builds its action from.

    `clauses` is what the kind's Cerberus schema normalised. A selector is taken relative to the
    tool's arguments.
    """

    keyword: str
    title: str | None = None
    selectors: tuple[Pointer, ...] = ()
    clauses: Mapping[str, Any] = field(default_factory=dict)
    block: tuple[Statement, ...] | None = None
    families: tuple[Word | Text, ...] | None = None
    condition: Condition | None = None  # of `when`; that of `unless` has `unless` set
    unless: bool = False
    note: str | None = None
    name: str | None = None
    shadow: bool = False
    span: Span = NOWHERE
    in_glob: bool = False  # stands in a block with a glob
    functions: Mapping[str, Callable[[Json], Json]] = field(default_factory=dict)  # the owner's, by name
    closing_forms: tuple[str, ...] = ()  # what `closing-form` statements name for the model at hand

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of its one selector."""
        return self.selectors[0].segments


class Finding(Struct, frozen=True):
    """Something wrong with a rule that only its kind can see. `help` is the fix."""

    code: str
    message: str
    help: str = ""
    span: Span | None = None  # the rule's own, if None
    warning: bool = False


class Example(Struct, frozen=True):
    """A rule on arguments, for the docs page and the tests. `after` None: the call stays as it is."""

    rule: str  # the text of the rule, as it stands in a tool block
    before: Json
    after: Json | None = None
    schema: Json | None = None
    model: str | None = None
    why: str = ""


class NotApplicable(Exception):
    """Raised by `Action.apply`: the rule cannot do its work here and leaves everything as it was."""


class Kind:
    """Base of all kinds. A subclass sets the facts below and, for PREPROCESS, overrides `build`.

    Its docstring is the kind's page in the docs: first line what for, then what exactly, and when not.
    """

    keyword: ClassVar[str]
    phase: ClassVar[Phase]
    selecting: ClassVar[Selecting] = Selecting.NONE
    title: ClassVar[Title] = Title.NONE
    # Name of the clause -> Cerberus schema. How a clause is written follows from its type:
    # `boolean` a bare word; `string`, `number`, `dict` and a `range` (meta: {"reads": "range"}) the word and
    # one atom; `list` the word and atoms joined by commas. `meta: {"positional": True}`: no word, taken
    # in order after the selector.
    clauses: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    # Words that begin a statement in the kind's block; None: the kind has no block.
    block: ClassVar[frozenset[str] | None] = None
    acts_on_parent: ClassVar[bool] = False  # the place is the object that holds the selected key
    condition_at_place: ClassVar[bool] = False  # selectors of its `when` are relative to the place
    needs_schema: ClassVar[bool] = False  # does nothing for a tool without one
    needs_families: ClassVar[bool] = False  # without `for` it never fires, and that is a warning
    cautious: ClassVar[bool] = False  # under the policy `conservative` it observes and does not act
    effect: ClassVar[Effect | None] = None  # of the phase PERMIT
    setting: ClassVar[Setting | None] = None  # of the phase SETTING
    casts: ClassVar[bool] = False  # it gives a value another type, so a bounded place is left out
    mends_missing: ClassVar[bool] = False  # the repair runs it again where its field is required and missing
    in_force: ClassVar[bool] = True  # False: it is read and checked, and has no meaning yet
    note: ClassVar[str] = ""  # to the model, when it fired: what was wrong, what to send instead
    cost: ClassVar[str] = ""  # one line for the docs
    examples: ClassVar[tuple[Example, ...]] = ()

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        """What is wrong with this rule. `place` is None where no schema is known."""
        return iter(())

    @classmethod
    def build(cls, spec: Spec, place: Place) -> Action | None:
        """Make the rule ready for one tool and model. None: it can never do anything there."""
        return None

    @classmethod
    def primitive(cls, spec: Spec) -> PrimitiveSchema | None:
        """For the phase BOUND: what one primitive at the place may be."""
        return None

    @classmethod
    def rename(cls, spec: Spec) -> Callable[[str, str], str | None] | None:
        """For the phase NAME: from (the name sent, the block's tool) to the tool's name, or None."""
        return None
