"""`palette` blocks: what they say, what is wrong with them, and what a request then offers and forces."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import pytest

import callgate
from callgate import ContractViolation, ForcedToolUnavailable, InputError, SchemaError, Stage, ToolPalette
from callgate.engine.loading import check_rules
from callgate.engine.palette import Source
from callgate.engine.ruletext import RuleText
from callgate.grammar.diagnostics import Severity

TOOLS: dict[str, Any] = dict.fromkeys(("act", "pre", "search_web", "search_docs", "shell"))


def session(rules: str, **options: Any) -> callgate.Session:
    return callgate.compile(rules, tools=TOOLS).session(**options)


def offered(rules: str, **options: Any) -> tuple[str, ...] | None:
    return session(rules, **options).offer().names


def codes(rules: str, *, tools: Any = None) -> list[str]:
    return [each.code for each in check_rules([RuleText(rules, "x.gate")], tools=tools).diagnostics]


# What is wrong with a block


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ("palette p { offer a, b hard; exclude c; always d; force a at most 3 soft }", []),
        ("palette p { offer }", ["G103"]),
        ("palette p", ["G211"]),
        ("palette p { alias /a from b }", ["G102"]),
        ("palette p { offer a }\npalette p { offer b }", ["G105"]),
        ("palette p { offer a; offer b }", ["G602"]),
        ("palette p { exclude a; exclude b }", []),
        ('palette p { force "a*" }', ["G603"]),
        ("palette p { force a once until success }", ["G603"]),
        ("palette p { force a at most 0 }", ["G603"]),
        ("palette p { force a at most 1.0 }", ["G603"]),
        ("palette p { force a at most 101 }", ["G603"]),
        ("palette p { offer a, a }", ["G103"]),
        ('palette p { offer "" }', ["G103"]),
        ("palette p for nobody { offer a }", ["G106"]),
        ("palette p when contxt.x == 1 { offer a }", ["G304"]),
        ("palette p when /path == 1 { offer a }", ["G315"]),
        ('palette p when present /a or (not tool == "x") { offer a }', ["G315", "G315"]),
        ("palette p { force a when count(/x) > 1 and turn.repeats > 2 and result.ok }", ["G315"] * 3),
        ('palette p when any /a/* (./b == 1) or runs(/c, "x") { offer a }', ["G315", "G315"]),
        ("palette p when turn.calls(a) > 1 and turn.step == 2 and after a in turn { offer a }", []),
        ('palette p when model matches "^x" and context.y { offer a }', []),
        ("palette p { force a; force b }", ["G601"]),
        ("palette p { force a soft; force b soft }", []),
        ("palette p { force a; force a until success }", []),
        ("palette p { force a; exclude a hard }", ["G601"]),
        ('palette p { force a }\npalette q { offer "b*" hard }', ["G601"]),
        ("palette p { force a; exclude a }", []),
        ("palette p { force a when context.x; force b; exclude a hard }", []),
        ("palette p when context.x == 1 { force a; exclude a hard }", ["G601"]),
        ('family k matches "k"\npalette p for k { force a; force b }', ["G601"]),
        ("palette p { exclude a, hard }", ["G604"]),
        ('palette p { exclude a, "hard" }', []),
        ("tool t { palette p { offer a } }", ["G102"]),
    ],
)
def test_what_is_wrong_with_a_block(rules: str, found: list[str]) -> None:
    assert codes(rules) == found


def test_a_misspelt_tool_is_a_warning_with_the_nearest() -> None:
    rules = 'palette p { offer actt; exclude shel; always pree; force act; exclude "zz*" }'
    found = check_rules([RuleText(rules, "x.gate")], tools=TOOLS).diagnostics
    assert {each.severity for each in found} == {Severity.WARNING}
    assert [(each.code, each.help) for each in found] == [
        ("G111", "did you mean `act`?"),
        ("G111", "did you mean `shell`?"),
        ("G111", "did you mean `pre`?"),
        ("G111", ""),
    ]


# What a request offers


def test_without_palettes_every_tool_is_offered() -> None:
    palette = session("").offer()
    assert (palette.names, palette.forced, palette.events) == (None, None, ())


def test_offers_intersect_and_keep_the_order_of_the_registry() -> None:
    rules = 'palette a { offer shell, pre, act }\npalette b { offer "s*", act }'
    assert offered(rules) == ("act", "shell")


def test_exclude_drops() -> None:
    assert offered('palette a { exclude "search_*", act }') == ("pre", "shell")


def test_always_survives_every_soft_filter_and_no_hard_one() -> None:
    assert offered("palette a { always shell; offer act }") == ("act", "shell")
    assert offered("palette a { offer act }\npalette b { always shell }") == ("act", "shell")
    assert offered("palette a { always shell; offer act hard }") == ("act",)
    assert offered("palette a { always shell; exclude shell hard; offer act }") == ("act",)


@pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")
def test_an_empty_palette_never_turns_into_all() -> None:
    palette = session('palette a { offer "x*" }').offer()
    assert palette.names == ()
    assert "act" not in palette
    assert palette.to("openai.chat").body == {}
    assert not palette.verify(["act"]).honoured


@pytest.mark.parametrize(
    ("context", "names"),
    [
        ({"role": "support"}, ("act", "pre")),
        ({"role": "admin"}, None),
        (None, ("act", "pre", "search_web", "search_docs")),  # unknown: what is hard takes effect
    ],
)
def test_a_condition_that_is_unknown_excludes_where_it_is_hard(context: Any, names: Any) -> None:
    rules = 'palette p when context.role == "support" { offer act, pre; exclude shell hard; force act }'
    palette = session(rules, context=context).offer()
    assert palette.names == names
    assert palette.forced == ("act" if context == {"role": "support"} else None)


def test_an_offer_that_is_hard_takes_effect_on_true_alone() -> None:
    rules = 'palette p when context.role == "support" { offer act hard }'
    assert offered(rules) is None
    assert offered(rules, context={"role": "support"}) == ("act",)


def test_families_choose_and_without_a_model_only_hard_exclusions_hold() -> None:
    rules = 'family kimi matches "kimi"\npalette p for kimi { offer act; exclude shell hard }'
    assert offered(rules, model="moonshotai/kimi-k2") == ("act",)
    assert offered(rules, model="gpt-5") is None
    assert offered(rules) == ("act", "pre", "search_web", "search_docs")


@pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")
def test_names_that_nobody_registered_are_reported_and_not_added() -> None:
    palette = session("palette p { offer act, ghost; exclude spook hard }").offer()
    assert palette.names == ("act",)
    assert [str(each) for each in palette.events] == ["unknown_name:ghost", "unknown_name:spook"]


# Forces


def test_a_force_under_a_condition_of_its_own() -> None:
    rules = "palette p { force pre when turn.calls(act) > 0 }"
    here = session(rules)
    assert here.offer().forced is None
    here.call("act", {}, call_id="1")
    assert here.offer().forced == "pre"


def test_once_is_released_by_any_result_and_comes_back_in_the_next_turn() -> None:
    here = session("palette p { force pre once }")
    assert here.offer().forced == "pre"
    here.call("pre", {}, call_id="1")
    assert here.offer().forced == "pre"  # it waits for its result
    here.result("1", ok=False)
    palette = here.offer()
    assert palette.forced is None
    assert [str(each) for each in palette.events] == ["released:called"]
    here.user()
    assert here.offer().forced == "pre"


def test_until_success_is_released_by_a_good_result_alone() -> None:
    here = session("palette p { force pre until success at most 5 }")
    for number, ok in enumerate((False, False, True)):
        assert here.offer().forced == "pre"
        here.call("pre", {}, call_id=str(number))
        here.result(str(number), ok=ok)
    assert here.offer().forced is None


def test_the_budget_ends_a_force_that_is_ignored() -> None:
    here = session("palette p { force pre at most 3 }")
    assert [here.offer().forced for _ in range(4)] == ["pre", "pre", "pre", None]
    assert [str(each) for each in here.offer().events] == ["released:budget"]


def test_the_default_budget_is_two() -> None:
    here = session("palette p { force pre }")
    assert [here.offer().forced for _ in range(3)] == ["pre", "pre", None]


def test_a_call_that_was_refused_and_answered_releases_too() -> None:
    here = session('palette p { force pre }\ntool pre { deny "never" }')
    here.offer()
    assert here.call("pre", {}, call_id="1").outcome == "denied"
    here.result("1", "refused", ok=True)
    assert here.offer().forced is None


def test_a_result_of_a_refused_call_is_no_success() -> None:
    here = session('palette p { force pre until success at most 9 }\ntool pre { deny "never" }')
    here.offer()
    here.call("pre", {}, call_id="1")
    here.result("1", "refused", ok=True)
    assert here.offer().forced == "pre"


def test_a_forced_tool_counts_under_the_name_that_the_model_wrote() -> None:
    here = session('palette p { force pre }\ntool pre { rename from "prepare" }')
    here.offer()
    assert here.call("prepare", {}, call_id="1").tool == "pre"
    here.result("1")
    assert here.offer().forced is None


def test_a_released_force_conflicts_no_more() -> None:
    here = session("palette p { force pre }\npalette q { force act when turn.calls(pre) > 0 }")
    here.offer()
    here.call("pre", {}, call_id="1")
    with pytest.raises(ContractViolation, match="two tools are forced"):
        here.offer()
    here.result("1")
    assert here.offer().forced == "act"


def test_a_refused_offer_counts_nothing() -> None:
    here = session("palette p { force pre }", context={"x": 1})
    before = here.dump()
    with pytest.raises(ContractViolation):
        here.offer(provider="ollama")
    assert here.dump() == before


def test_reinstated_at_its_place_and_gone_after_its_release() -> None:
    here = session("palette p { offer act, shell; force pre }")
    palette = here.offer()
    assert palette.names == ("act", "pre", "shell")
    assert [str(each) for each in palette.events] == ["reinstated:pre"]
    here.call("pre", {}, call_id="1")
    here.result("1")
    assert here.offer().names == ("act", "shell")


def test_a_hard_filter_that_excludes_the_forced_tool_names_both_rules() -> None:
    rules = 'pack own "1.0.0"\npalette p { force shell when turn.step > 0 }\npalette q { exclude "s*" hard }'
    with pytest.raises(ForcedToolUnavailable) as caught:
        session(rules).offer()
    assert caught.value.code == "forced_excluded_by_hard_filter"
    assert caught.value.rules == ("own/p", "own/q")
    assert "own/p" in str(caught.value)
    assert "own/q" in str(caught.value)


def test_a_forced_tool_that_is_not_registered_is_named_with_those_that_are() -> None:
    with pytest.warns(callgate.CallgateWarning, match="ghost"):
        engine = callgate.compile("palette p { force ghost; exclude ghost }", tools=TOOLS)
    with pytest.raises(ForcedToolUnavailable) as caught:
        engine.session().offer()
    assert (caught.value.code, caught.value.tool) == ("forced_not_registered", "ghost")
    assert caught.value.registered == tuple(TOOLS)
    assert "`search_web`" in str(caught.value)


@pytest.mark.parametrize(
    ("model", "thinking", "forced", "event"),
    [
        ("claude-sonnet-4-5", None, "pre", None),
        ("claude-sonnet-4-5", "enabled", None, "degraded_to_auto"),
        ("claude-opus-5-5", None, None, "degraded_to_auto"),
    ],
)
def test_a_soft_force_is_let_go_where_the_provider_cannot(
    model: str, thinking: str | None, forced: str | None, event: str | None
) -> None:
    here = session("palette p { force pre soft }", model=model)
    palette = here.offer(provider="anthropic", thinking=thinking)
    assert palette.forced == forced
    assert [str(each) for each in palette.events] == ([event] if event else [])
    hard = session("palette p { force pre }", model=model)
    if forced is None:
        with pytest.raises(ContractViolation) as caught:
            hard.offer(provider="anthropic", thinking=thinking)
        wanted = "forced_with_extended_thinking" if thinking else "provider_cannot_force"
        assert caught.value.code == wanted
    else:
        assert hard.offer(provider="anthropic", thinking=thinking).forced == "pre"


def test_a_force_is_soft_only_where_every_rule_says_so() -> None:
    palette = session("palette p { force pre soft }\npalette q { force pre }").offer()
    assert (palette.forced, palette.soft) == ("pre", False)


# Stages of the host


def stage(name: str, answer: Any, *, hard: bool = False) -> Stage:
    def choose(names: tuple[str, ...], asked: Any) -> Iterable[str] | None:
        if isinstance(answer, Exception):
            raise answer
        found: Iterable[str] | None = answer(names, asked) if callable(answer) else answer
        return found

    return Stage(name, choose, hard)


def test_a_host_stage_narrows_what_is_left_and_sees_what_was_asked() -> None:
    seen: list[Any] = []

    def look(names: tuple[str, ...], asked: Any) -> list[str]:
        seen.append((names, asked.model, asked.context, asked.text, asked.step))
        return [*names[:1], "shell"]

    here = session("palette p { offer act, pre }", stages=[stage("r", look)], model="m", context={"a": 1})
    here.user("hello")
    palette = here.offer()
    assert palette.names == ("act",)
    assert [str(each) for each in palette.events] == ["unknown_name:shell"]
    assert seen == [(("act", "pre"), "m", {"a": 1}, "hello", 1)]


def test_a_hard_host_stage_sees_every_tool_and_excludes_the_forced_one() -> None:
    seen: list[tuple[str, ...]] = []

    def allow(names: tuple[str, ...], _asked: Any) -> list[str]:
        seen.append(names)
        return ["act", "shell"]

    here = session("palette p { offer act; force pre }", stages=[stage("acl", allow, hard=True)])
    with pytest.raises(
        ForcedToolUnavailable, match="`pre` is forced by p and excluded by the hard filter acl"
    ):
        here.offer()
    assert seen == [tuple(TOOLS)]


@pytest.mark.parametrize("answer", [RuntimeError("away"), "act", [1], 7, [["act"]]])
def test_a_stage_that_fails_is_passed_over_or_refuses(answer: Any) -> None:
    palette = session("", stages=[stage("r", answer)]).offer()
    assert (palette.names, [str(each) for each in palette.events]) == (None, ["stage_failed:r"])
    with pytest.raises(ContractViolation) as caught:
        session("", stages=[stage("acl", answer, hard=True)]).offer()
    assert caught.value.code == "hard_filter_failed"
    assert "away" not in str(caught.value)


@pytest.mark.parametrize("stages", ["x", [1], [("r", len)], [Stage("r", None)], [Stage(1, len)]])  # type: ignore[arg-type]
def test_stages_of_another_type_are_refused(stages: Any) -> None:
    with pytest.raises(InputError):
        session("", stages=stages)


# The value


def test_a_palette_of_ones_own_is_held_against_the_registry() -> None:
    palette = ToolPalette({"b", "a"}, "a").check(["c", "a", "b"])
    assert (palette.names, palette.forced, palette.tools) == (("a", "b"), "a", ["a", "b"])
    assert ToolPalette(["ghost", "a"]).check(["a"]).events[0].code == "unknown_name"
    assert ToolPalette().check(["a"]).names is None


@pytest.mark.parametrize(
    ("names", "forced", "registered", "code"),
    [
        (None, "x", ["a"], "forced_not_registered"),
        ((), "a", ["a"], "forced_not_offered"),
        (["b"], "a", ["a", "b"], "forced_not_offered"),
        (None, None, ["a", "a"], "duplicate_tool_name"),
    ],
)
def test_what_check_refuses(names: Any, forced: str | None, registered: list[str], code: str) -> None:
    with pytest.raises(ContractViolation) as caught:
        ToolPalette(names, forced).check(registered)
    assert caught.value.code == code
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.code, str(again)) == (type(caught.value), code, str(caught.value))


@pytest.mark.parametrize("forced", ["", "  ", 1, ["a"]])
def test_a_forced_tool_has_a_name(forced: Any) -> None:
    with pytest.raises(ContractViolation) as caught:
        ToolPalette(None, forced)
    assert caught.value.code == "force_name_invalid"


@pytest.mark.parametrize("names", ["act", [1], 7, {"a": 1}])
def test_names_are_a_list_of_texts(names: Any) -> None:
    with pytest.raises(InputError):
        ToolPalette(names)


def test_duplicate_tools_are_a_contract_violation_and_a_schema_error() -> None:
    with pytest.raises(ContractViolation) as caught:
        callgate.compile("", tools=[{"name": "a"}, {"name": "a"}])
    assert caught.value.code == "duplicate_tool_name"
    assert isinstance(caught.value, SchemaError)


OPENAI = [{"type": "function", "function": {"name": name}} for name in ("a", "b", "c")]
ANTHROPIC = [{"name": name, "input_schema": {"type": "object"}} for name in ("a", "b", "c")]
GEMINI = [
    {"functionDeclarations": [{"name": "a"}, {"name": "b"}]},
    {"function_declarations": [{"name": "c"}]},
]
MCP = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("a", "b", "c")], "next": None}
BEDROCK = [
    {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in ("a", "b", "c")
]


@pytest.mark.parametrize(
    ("tools", "narrowed"),
    [
        (OPENAI, [OPENAI[0], OPENAI[2]]),
        (ANTHROPIC, [ANTHROPIC[0], ANTHROPIC[2]]),
        (GEMINI, [{"functionDeclarations": [{"name": "a"}]}, {"function_declarations": [{"name": "c"}]}]),
        (MCP, {"tools": [MCP["tools"][0], MCP["tools"][2]], "next": None}),  # type: ignore[index]
        (BEDROCK, [BEDROCK[0], BEDROCK[2]]),
        ({"a": None, "b": None, "c": {}}, {"a": None, "c": {}}),
    ],
)
def test_tools_come_back_in_their_own_form_and_order(tools: Any, narrowed: Any) -> None:
    before = pickle.dumps(tools)
    palette = callgate.compile("palette p { offer c, a }", tools=tools).session().offer()
    assert palette.tools == narrowed
    everything = callgate.compile("", tools=tools).session().offer()
    assert everything.tools == tools
    if isinstance(palette.tools, list):
        palette.tools[0].clear()  # a copy
    assert palette.tools == narrowed
    assert pickle.dumps(tools) == before


def test_a_palette_of_a_session_goes_to_a_provider() -> None:
    here = callgate.compile("palette p { offer a, b; force b }", tools=OPENAI).session()
    lowered = here.offer().to("openai.chat", parallel=False)
    assert lowered.request() == {
        "tool_choice": {"type": "function", "function": {"name": "b"}},
        "parallel_tool_calls": False,
        "tools": OPENAI[:2],
    }
    assert lowered.verify(["b"]).honoured
    assert not lowered.verify(["a"]).honoured


def test_a_soft_force_goes_out_as_a_hint_where_it_cannot_be_forced() -> None:
    palette = session("palette p { force pre soft }").offer()
    lowered = palette.to("anthropic", model="claude-opus-5-5")
    assert (lowered.body, lowered.guarantee) == ({"tool_choice": {"type": "auto"}}, "advisory")
    with pytest.raises(ContractViolation):
        session("palette p { force pre }").offer().to("anthropic", model="claude-opus-5-5")


@pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")
def test_an_empty_palette_with_calls_in_the_history() -> None:
    palette = callgate.compile('palette p { offer "x*" }', tools=BEDROCK).session().offer()
    fresh = palette.to("bedrock")
    assert (fresh.request(), fresh.guarantee) == ({}, "exact")
    later = palette.to("bedrock", history_has_tool_blocks=True)
    assert later.request() == {"toolConfig": {"tools": BEDROCK, "toolChoice": {"auto": {}}}}
    assert later.guarantee == "advisory"
    assert later.verify(["a"]).execute == ()


def test_a_palette_without_tools_says_what_to_do() -> None:
    with pytest.raises(InputError, match="check"):
        ToolPalette(["a"], "a").to("openai.chat")


def test_a_force_outside_the_names_is_never_dropped_in_silence() -> None:
    palette = ToolPalette((), "a", source=Source(["a"]))
    with pytest.raises(ContractViolation):
        palette.to("openai.chat")
    assert not palette.verify([]).honoured


@pytest.mark.parametrize(
    ("tools", "rules", "narrowed"),
    [
        (
            [{"type": "web_search"}, *ANTHROPIC, {"type": "mcp", "server_label": "wiki"}],
            'palette p { exclude web_search, b }',
            [ANTHROPIC[0], ANTHROPIC[2], {"type": "mcp", "server_label": "wiki"}],
        ),
        ([{"type": "web_search"}, *ANTHROPIC], "palette p { offer a }", [ANTHROPIC[0]]),
        (
            [{"type": "mcp", "server_label": "wiki"}, *ANTHROPIC],
            'palette p { offer "mcp:*", c }',
            [{"type": "mcp", "server_label": "wiki"}, ANTHROPIC[2]],
        ),
        (
            [{"googleSearch": {}, "functionDeclarations": [{"name": "a"}, {"name": "b"}]},
             {"codeExecution": {}}],
            "palette p { offer googleSearch, b }",
            [{"googleSearch": {}, "functionDeclarations": [{"name": "b"}]}],
        ),
        (
            [{"functionDeclarations": [{"name": "a"}], "googleSearch": {}}],
            "palette p { exclude a }",
            [{"googleSearch": {}}],
        ),
        ([*BEDROCK, {"cachePoint": {"type": "default"}}], "palette p { exclude a }",
         [*BEDROCK[1:], {"cachePoint": {"type": "default"}}]),
    ],
)  # fmt: skip
def test_tools_that_the_provider_runs_are_offered_under_their_type(
    tools: Any, rules: str, narrowed: Any
) -> None:
    palette = callgate.compile(rules, tools=tools).session().offer()
    assert palette.tools == narrowed
    assert palette.events == ()


def test_a_tool_that_the_provider_runs_can_be_forced_and_leaves_an_item_to_see() -> None:
    tools = [{"type": "file_search"}, {"type": "function", "name": "a", "parameters": {}}]
    palette = callgate.compile("palette p { force file_search }", tools=tools).session().offer()
    assert palette.to("openai.responses").body == {"tool_choice": {"type": "file_search"}}
    assert not palette.verify([]).honoured
    assert palette.verify([{"type": "file_search_call", "id": "1"}]).honoured
    with pytest.raises(ContractViolation) as caught:
        palette.to("openai.chat")
    assert caught.value.code == "provider_cannot_force"
    tools[0] = {"type": "mcp", "server_label": "wiki"}
    palette = callgate.compile('palette p { force "mcp:wiki" }', tools=tools).session().offer()
    assert palette.to("openai.responses").body == {"tool_choice": {"type": "mcp", "server_label": "wiki"}}


def test_a_name_that_is_a_function_and_a_tool_of_the_provider_is_refused() -> None:
    tools = [{"type": "web_search"}, {"name": "web_search", "input_schema": {}}]
    with pytest.raises(ContractViolation):
        callgate.compile("", tools=tools)


@pytest.mark.filterwarnings("ignore::callgate.CallgateWarning")
def test_a_glob_that_fits_nothing_is_reported() -> None:
    palette = session('palette p { exclude "lgo_*" hard }').offer()
    assert [str(each) for each in palette.events] == ["unknown_name:lgo_*"]


def test_names_as_models_write_them_are_settled_before_they_are_verified() -> None:
    palette = session("palette p { offer act, pre; force pre }").offer()
    for name in ("functions.pre", "Pre", "pre:0", " pre "):
        found = palette.verify([name])
        assert (found.honoured, found.execute) == (True, (name,))
    assert not palette.verify(["prepare"]).honoured
    assert session("").offer().to("openai.chat").verify(["functions.act"]).honoured


class Call:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class Odd:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_calls_may_be_objects_of_a_client() -> None:
    palette = session("palette p { force pre }").offer()
    assert palette.verify([Call(type="function", function=Call(name="pre", arguments="{}"))]).honoured
    assert palette.verify([Call(type="tool_use", name="pre")]).honoured
    assert not palette.verify([Call(name="act")]).honoured
    for odd in (Odd(), Call(), Call(name=1), object(), None):
        with pytest.raises(InputError):
            palette.verify([odd])


def test_definitions_in_the_form_of_another_provider_are_not_sent() -> None:
    forms = {"openai.chat": OPENAI, "anthropic": ANTHROPIC, "gemini": GEMINI, "bedrock": BEDROCK}
    for provider in (*forms, "openai.responses", "mistral", "groq", "cohere", "ollama"):
        for form, tools in (*forms.items(), ("mcp", MCP)):
            lowered = ToolPalette().check(tools).to(provider)
            fits = form == provider or (
                form == "openai.chat" and provider in ("mistral", "groq", "cohere", "ollama")
            )
            if fits:
                assert lowered.request()["tools" if provider != "bedrock" else "toolConfig"]
            else:
                with pytest.raises(InputError, match="in the form"):
                    lowered.request()


def test_what_a_refusal_says_to_do() -> None:
    palette = session("palette p { force pre }").offer()
    for provider, options, said in (
        ("moonshot", {}, 'ask with thinking="off"'),
        ("bedrock", {}, "say which model is asked"),
        ("ollama", {}, "do not force, or let it be soft"),
        ("deepseek", {"thinking": "enabled"}, 'ask with thinking="off"'),
    ):
        with pytest.raises(ContractViolation, match=said):
            palette.to(provider, **options)  # type: ignore[arg-type]


def test_a_palette_hands_on_how_the_model_thinks() -> None:
    palette = session("palette p { force pre }").offer(provider="moonshot", thinking="off")
    assert palette.to("moonshot").guarantee == "exact"
