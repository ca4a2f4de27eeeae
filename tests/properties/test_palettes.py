"""Palettes: nothing is widened, no order matters, nothing is both excluded for good and forced."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import callgate
from callgate import ContractViolation, Stage, ToolPalette
from callgate.engine.lowering import lower
from callgate.rules.providers import shipped

NAMES = ("act", "pre", "read", "read_all", "shell", "web", "any", "auto", "none", "required")
PATTERNS = (*NAMES, "read*", "*e*", "???", "zzz")
PROVIDERS = sorted({each.name for each in shipped().named.values()})


@dataclass(frozen=True)
class Filter:
    patterns: tuple[str, ...]
    drops: bool
    hard: bool
    hosted: bool

    def lets(self, name: str) -> bool:
        return any(fnmatchcase(name, each) for each in self.patterns) is not self.drops

    def text(self, number: int) -> str:
        names = ", ".join(f'"{each}"' for each in self.patterns)
        word = "exclude" if self.drops else "offer"
        return f"palette f{number} {{ {word} {names}{' hard' if self.hard else ''} }}"

    def stage(self, number: int) -> Stage:
        return Stage(f"f{number}", lambda names, _: [each for each in names if self.lets(each)], self.hard)


FILTERS = st.builds(
    Filter,
    st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=3, unique=True).map(tuple),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
CASES = st.tuples(
    st.lists(st.sampled_from(NAMES), unique=True),
    st.lists(FILTERS, max_size=5),
    st.lists(st.sampled_from(PATTERNS), max_size=2, unique=True),
    st.none() | st.sampled_from(NAMES),
)


def session(
    registered: list[str], filters: list[Filter], always: list[str], forced: str | None
) -> callgate.Session:
    lines = [each.text(number) for number, each in enumerate(filters) if not each.hosted]
    lines += [f"palette a {{ always {', '.join(f'{each!r}' for each in always)} }}"] if always else []
    lines += [f'palette z {{ force "{forced}" when turn.step > 0 }}'] if forced else []
    stages = [each.stage(number) for number, each in enumerate(filters) if each.hosted]
    engine = callgate.compile("\n".join(lines)).with_tools(dict.fromkeys(registered))
    return engine.session(stages=stages)


def decided(*case: Any) -> tuple[Any, ...]:
    try:
        palette = session(*case).offer()
    except ContractViolation as refused:
        return ("refused", refused.code)
    return (palette.names, palette.forced)


def wanted(
    registered: list[str], filters: list[Filter], always: list[str], forced: str | None
) -> tuple[Any, ...]:
    """The slow, obvious answer: each name by itself."""
    if forced is not None and forced not in registered:
        return ("refused", "forced_not_registered")
    hard = [each for each in filters if each.hard]
    soft = [each for each in filters if not each.hard]
    if forced is not None and not all(each.lets(forced) for each in hard):
        return ("refused", "forced_excluded_by_hard_filter")
    names = []
    for name in registered:
        spared = any(fnmatchcase(name, each) for each in always)
        # What a host's stage drops is spared too: it is given no say over `always`.
        stays = all(each.lets(name) for each in hard)
        if (stays and (spared or all(each.lets(name) for each in soft))) or name == forced:
            names.append(name)
    return (tuple(names) if filters else None, forced)


@given(CASES)
def test_a_palette_is_what_each_filter_says_of_each_name(case: Any) -> None:
    assert decided(*case) == wanted(*case)


@given(CASES, st.integers(0, 2**32))
def test_no_order_of_filters_changes_what_is_offered(case: Any, seed: int) -> None:
    registered, filters, always, forced = case
    shuffled = list(filters)
    Random(seed).shuffle(shuffled)
    assert decided(registered, shuffled, always, forced) == decided(*case)


@given(CASES, st.sampled_from(PROVIDERS), st.sampled_from([None, "off", "enabled", "adaptive"]))
def test_what_is_sent_never_widens_the_palette(case: Any, provider: str, thinking: Any) -> None:
    registered, _, _, forced = case
    try:
        palette = session(*case).offer()
        lowered = palette.to(provider, thinking=thinking, model="claude-opus-5")
    except ContractViolation:
        return
    offered = registered if palette.names is None else list(palette.names)
    sent = list(lowered.tools)
    assert sent == [each for each in registered if each in sent]
    assert set(sent) <= set(offered)
    assert set(lowered.offered) <= set(offered)
    if forced is not None and lowered.guarantee == "exact":
        assert forced in sent
        assert not lowered.verify([each for each in registered if each != forced]).honoured
    if not offered:
        assert sent == []
        assert not lowered.verify(registered or ["x"]).honoured
    assert set(lowered.verify(registered).execute) <= set(offered)


MODES = ("any", "auto", "none", "required")


def texts(value: Any, key: str = "") -> list[tuple[str, str]]:
    """Every text of a body with the key that it stands under."""
    if isinstance(value, dict):
        return [found for name, each in value.items() for found in texts(each, name)]
    if isinstance(value, list):
        return [found for each in value for found in texts(each, key)]
    return [(key, value)] if isinstance(value, str) else []


@given(st.sampled_from(PROVIDERS), st.sampled_from(MODES), st.sampled_from(["hard", "soft"]))
def test_a_tool_named_like_a_mode_is_refused_or_sent_in_object_form(
    provider: str, name: str, mode: str
) -> None:
    tools = [name, "other"]
    try:
        lowered = lower(provider, choice={"tool": name}, tools=tools, mode=mode, model="claude-opus-5")
    except ContractViolation:
        return
    named = {"name", "toolName", "allowedFunctionNames", "activeTools"}
    plain = lower(provider, choice={"tool": "other"}, tools=["other"], mode=mode, model="claude-opus-5")
    # Outside the places of names the body is the same for every tool.
    assert [each for each in texts(lowered.body) if each[0] not in named] == [
        each for each in texts(plain.body) if each[0] not in named
    ]
    assert name in lowered.tools


@given(
    st.lists(st.sampled_from(NAMES), unique=True, min_size=1),
    st.lists(st.sampled_from(NAMES)),
    st.sampled_from(["auto", "required"]),
    st.sampled_from(PROVIDERS),
)
def test_an_allow_list_never_becomes_all(
    offered: list[str], allowed: list[str], mode: str, provider: str
) -> None:
    try:
        lowered = lower(
            provider, choice={"allowed": allowed, "mode": mode}, tools=offered, model="claude-opus-5"
        )
    except ContractViolation:
        return
    known = [each for each in offered if each in allowed]
    outside = [each for each in offered if each not in allowed]
    assert not set(lowered.verify(outside).execute)
    named = ("name", "allowedFunctionNames", "activeTools")
    listed = [value for key, value in texts(lowered.body) if key in named]
    assert lowered.kind == "none" or listed in ([], known)
    assert listed == known or set(lowered.tools) <= set(known) or lowered.kind == "none"


@given(
    st.none() | st.lists(st.sampled_from(NAMES), unique=True),
    st.none() | st.sampled_from(NAMES),
    st.lists(st.sampled_from((*NAMES, "ghost")), max_size=4),
    st.none() | st.booleans(),
)
def test_only_offered_calls_run_and_a_force_is_honoured_by_its_call_alone(
    names: list[str] | None, forced: str | None, calls: list[str], parallel: bool | None
) -> None:
    palette = ToolPalette(names, forced, registered=NAMES)  # type: ignore[arg-type]
    found = palette.verify(calls, parallel=parallel)
    offered = NAMES if names is None else names
    assert set(found.execute) <= set(offered)
    assert parallel is not False or len(found.execute) <= 1
    if forced is not None and (forced not in calls or forced not in offered):
        assert not found.honoured
        assert found.execute == ()
    if found.honoured:
        assert list(found.execute) == [each for each in calls if each in offered]
