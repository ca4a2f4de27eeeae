"""The statements of the language that are no rules: where each may stand and what it looks like."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from .shapes import Shape, shape

FOR = frozenset({"for"})
WHEN = frozenset({"when"})


class Form(Struct, frozen=True):
    """One statement word in one block.

    `suffixes`: which of `for` and `when` it takes. `block`: the word of the block that it opens, None
    for none. `needs_block` False where the block may be left out.
    """

    word: str
    items: str  # see `shapes`
    what: str  # one line for the docs
    suffixes: frozenset[str] = frozenset()
    block: str | None = None
    needs_block: bool = True

    @property
    def shape(self) -> Shape:
        return shape(self.items)

    @property
    def usage(self) -> str:
        """How it is written, for diagnostics and the docs."""
        parts = [self.word, str(self.shape)]
        if "for" in self.suffixes:
            parts.append("[for FAMILY, …]")
        if "when" in self.suffixes:
            parts.append("[when CONDITION]")
        if self.block is not None:
            parts.append("{ … }" if self.needs_block else "[{ … }]")
        return " ".join(part for part in parts if part)


_DISABLE = Form(
    "disable", "rule:NAME, because why:TEXT [until date:DATE]", "switches rules off, and says why"
)
_TEST = Form("test", "title:TEXT", "a call and what must become of it", block="test")

_FILE = (
    Form("pack", "name:NAME version:TEXT [what:TEXT]", "names the file"),
    Form("requires", "callgate spec:TEXT", "the versions that the pack was written for"),
    Form("use", "name:NAME [spec:TEXT]", "the rules of another pack, at this place in the order"),
    Form("family", "name:NAME matches pattern:TEXT,", "a name for models, by their ids"),
    Form("let", "name:NAME = value:JSON", "a name for a value"),
    Form("policy", "profile:conservative|adaptive|recover", "the repair profile", FOR),
    Form(
        "default", "effect:allow|ask|deny [why:TEXT]", "what becomes of calls that no `allow` or `ask` fits"
    ),
    Form("tool", "name:NAME,", "rules for these tools", block="tool"),
    _DISABLE,
    _TEST,
    Form("preset", "name:NAME", "how patient the gate is", FOR, "preset", False),
    Form("surroundings", "text:TEXT,", "words that a model puts around its arguments", FOR),
    Form("quote-token", "text:TEXT", "a token that a model prints for a quote", FOR),
    Form("closing-form", "text:TEXT", "a closing tag that a model leaks", FOR),
    Form("ground", "", "which calls ground a claim", block="ground"),
    Form("palette", "name:NAME", "which tools are offered", FOR | WHEN, "palette"),
)

_TOOL = (_DISABLE, _TEST)

_TEST_BLOCK = (
    Form("model", "id:TEXT", "the model that sends the call"),
    Form("policy", "profile:conservative|adaptive|recover", "the repair profile"),
    Form("context", "values:OBJECT", "what the host knows about the call"),
    Form("tools", "file:TEXT", "a file of tool definitions"),
    Form("stop", "reason:TEXT", "why the model's answer stopped"),
    Form(
        "call",
        "[tool:NAME] arguments:JSON [returns result:JSON] [fails error:TEXT]",
        "the call: its arguments, or their raw text",
    ),
    Form(
        "expect",
        "outcome:valid|repaired|unrepairable|denied|asked [value:JSON] [by rule:NAME,]",
        "what must become of the call above",
    ),
    Form("user", "[text:TEXT]", "a turn begins"),
    Form("offer", "expect tool:NAME, [forcing forced:NAME]", "the tools that must be offered"),
    Form("reason", "", "the model thinks"),
    Form(
        "finish",
        "claim:completion|assertion|unverified|none expect answer:accepted|rejected",
        "the model claims to be done",
    ),
)

_GROUND = (
    Form("reads", "tool:NAME,", "tools that only look"),
    Form("mutates", "tool:NAME,", "tools that change things"),
    Form("shell", "tool:NAME command:SELECTOR", "a tool whose command decides"),
    Form("exempt", "tool:NAME,", "tools whose results count as new each time"),
    Form("normalize", "tool:NAME, pattern:TEXT to text:TEXT", "what varies by itself"),
    Form("signal", "name:NAME from tool:NAME", "a fact that a result shows", WHEN),
    Form("require", "signal:NAME, before completion", "facts that a completion needs", WHEN),
    Form("surface", "selector:SELECTOR,", "where the identifiers of a claim stand"),
)

_PALETTE = (
    Form("offer", "tool:NAME, [hard:hard]", "narrows to these tools"),
    Form("exclude", "tool:NAME, [hard:hard]", "drops these tools"),
    Form("always", "tool:NAME,", "tools that survive every soft filter"),
    Form(
        "force",
        "tool:NAME [once:once] [until:until success] [at most times:NUMBER] [soft:soft]",
        "a tool that the model must call",
        WHEN,
    ),
)

_PRESET = (
    Form("cap", "cap:NUMBER [refill refill:NUMBER] [strict:strict]", "how many steps without grounding"),
    Form("refill", "refill:NUMBER [cap cap:NUMBER] [strict:strict]", "how many a grounding call gives"),
    Form("strict", "", "an assertion needs a read after a change"),
)


def _by_word(forms: tuple[Form, ...]) -> Mapping[str, Form]:
    return MappingProxyType({form.word: form for form in forms})


# By the word of the block; None is the file itself.
FORMS: Mapping[str | None, Mapping[str, Form]] = MappingProxyType(
    {
        None: _by_word(_FILE),
        "tool": _by_word(_TOOL),
        "test": _by_word(_TEST_BLOCK),
        "ground": _by_word(_GROUND),
        "palette": _by_word(_PALETTE),
        "preset": _by_word(_PRESET),
    }
)
