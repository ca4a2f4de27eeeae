"""Lowering a choice beyond the cases: what stands in the table, and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from callgate import ContractViolation, ForcedToolUnavailable, InputError, SchemaError
from callgate.engine.lowering import Lowered
from callgate.engine.palette import ToolPalette, lower, read_table
from callgate.rules.providers import ProviderError, read_providers, shipped

TOOLS = ["get_weather", "search"]
PROVIDERS = sorted({each.name for each in shipped().named.values()})
NAMED = {"choice": {"tool": "search"}, "tools": TOOLS}


def code(provider: str, **options: Any) -> str:
    with pytest.raises(ContractViolation) as caught:
        lower(provider, **options)
    return caught.value.code


@pytest.mark.parametrize("provider", sorted({*PROVIDERS} - {"ai-sdk"}))
@pytest.mark.parametrize("choice", ["auto", "none", {"allowed": ["x"], "mode": "auto"}])
def test_without_tools_no_field_is_sent(provider: str, choice: Any) -> None:
    lowered = lower(provider, choice=choice, parallel=False)
    assert (lowered.body, list(lowered.tools), lowered.guarantee) == ({}, [], "exact")
    assert lowered.request() == {}


def test_the_ai_sdk_is_told_that_there_is_none_for_else_it_takes_all() -> None:
    body = {"toolChoice": "none", "activeTools": []}
    assert lower("ai-sdk").body == body
    assert ToolPalette([]).check(TOOLS).to("ai-sdk").body == body


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("choice", ["required", {"tool": "a"}, {"allowed": [], "mode": "required"}])
def test_a_call_cannot_be_required_without_tools(provider: str, choice: Any) -> None:
    assert code(provider, choice=choice) == "no_tools_offered"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_stands_in_the_table_is_never_handed_out(provider: str) -> None:
    options: dict[str, Any] = {"tools": TOOLS, "parallel": False}
    before = lower(provider, **options)
    copy = deepcopy(before.body)
    for value in before.body.values():
        if isinstance(value, dict):
            value.clear()
    assert lower(provider, **options).body == copy


@pytest.mark.parametrize("provider", PROVIDERS)
def test_auto_is_the_same_for_every_state_of_thinking(provider: str) -> None:
    bodies = [lower(provider, tools=TOOLS, thinking=each).body for each in (None, "off", "enabled")]
    assert bodies[0] == bodies[1] == bodies[2]


@pytest.mark.parametrize(
    ("provider", "model", "thinking", "choice", "wanted"),
    [
        # Who cannot be forced: docs/providers.md.
        ("anthropic", None, "enabled", NAMED["choice"], "forced_with_extended_thinking"),
        ("anthropic", None, "adaptive", NAMED["choice"], "provider_cannot_force"),
        ("anthropic", "claude-3-5-sonnet-latest", "enabled", "required", "forced_with_extended_thinking"),
        ("anthropic", "claude-sonnet-5-5", None, "required", "provider_cannot_force"),
        ("anthropic", "claude-fable-5.1", "off", NAMED["choice"], "provider_cannot_force"),
        ("anthropic", "claude-mythos-5-2", "adaptive", NAMED["choice"], "provider_cannot_force"),
        ("langchain.anthropic", "claude-opus-5-5", None, "required", "provider_cannot_force"),
        ("bedrock", None, None, "required", "provider_cannot_force"),
        ("bedrock", "meta.llama3-3-70b-instruct-v1:0", None, "required", "provider_cannot_force"),
        ("bedrock", "mistral.mistral-large-2407-v1:0", None, NAMED["choice"], "provider_cannot_force"),
        ("bedrock", "us.anthropic.claude-opus-5-5-v1:0", None, "required", "provider_cannot_force"),
        ("bedrock", "anthropic.claude-sonnet-4-v1:0", "enabled", "required", "forced_with_extended_thinking"),
        ("cohere", "command-r-plus-08-2024", None, "required", "provider_cannot_force"),
        ("deepseek", "deepseek-reasoner", "off", "required", "provider_cannot_force"),
        ("deepseek", "deepseek-chat", "enabled", NAMED["choice"], "forced_with_thinking"),
        ("kimi", "kimi-k2.5", None, NAMED["choice"], "provider_cannot_force"),
        ("kimi", "kimi-k2.5", "off", "required", "provider_cannot_force"),
        ("kimi", "kimi-k2.5", "enabled", NAMED["choice"], "forced_with_thinking"),
        ("kimi", "kimi-k2-thinking", "off", NAMED["choice"], "provider_cannot_force"),
        ("qwen", "qwen-plus", "enabled", "required", "forced_with_thinking"),
        ("qwen", "qwen3-8b", None, "required", "provider_cannot_force"),
        ("ollama", None, None, "required", "provider_cannot_force"),
        ("ollama", None, None, {"allowed": ["search"], "mode": "required"}, "provider_cannot_force"),
        ("ollama.openai", None, None, NAMED["choice"], "provider_cannot_force"),
        ("anthropic", None, None, {"hosted": "bash"}, "provider_cannot_force"),
    ],
)
def test_who_cannot_be_forced(
    provider: str, model: str | None, thinking: str | None, choice: Any, wanted: str
) -> None:
    options: dict[str, Any] = {"choice": choice, "tools": TOOLS, "model": model, "thinking": thinking}
    options["hosted"] = ["bash"]
    assert code(provider, **options) == wanted
    soft = lower(provider, mode="soft", **options)
    assert soft.guarantee == "advisory"
    assert [str(each) for each in soft.events] == ["degraded_to_auto"]
    hosted = ["bash"] if isinstance(choice, dict) and "hosted" in choice else []
    assert soft.body == lower(provider, tools=list(soft.tools), hosted=hosted).body
    assert not soft.verify([]).honoured or isinstance(choice, dict)


@pytest.mark.parametrize(
    ("provider", "model", "thinking", "choice"),
    [
        ("anthropic", "claude-opus-4-6", None, NAMED["choice"]),
        ("anthropic", "claude-opus-6", "off", "required"),
        ("bedrock", "amazon.nova-pro-v1:0", None, NAMED["choice"]),
        ("bedrock", "mistral.mistral-large-2407-v1:0", None, "required"),
        ("bedrock", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", None, NAMED["choice"]),
        ("cohere", "command-r7b-12-2024", None, "required"),
        ("cohere", "command-a-03-2025", None, NAMED["choice"]),
        ("kimi", "kimi-k2.5", "off", NAMED["choice"]),
        ("kimi", "kimi-k2-0905-preview", None, NAMED["choice"]),
        ("qwen", "qwen-plus", None, "required"),
        ("qwen", "qwen3-8b", "off", "required"),
        ("vllm", "anything", "enabled", "required"),
    ],
)
def test_who_can(provider: str, model: str, thinking: str | None, choice: Any) -> None:
    lowered = lower(provider, choice=choice, tools=TOOLS, model=model, thinking=thinking)
    assert (lowered.guarantee, lowered.events) == ("exact", ())


def test_adaptive_thinking_is_silent_in_a_forced_request() -> None:
    model = "anthropic.claude-opus-5-v1:0"
    lowered = lower("bedrock", choice="required", tools=TOOLS, model=model, thinking="adaptive")
    assert [str(each) for each in lowered.events] == ["no_thinking_this_request"]


@pytest.mark.parametrize(
    ("tools", "wanted"),
    [
        (["a", "a"], "duplicate_tool_name"),
        (["a b"], "tool_name_syntax"),
        (["ä"], "tool_name_syntax"),
        ([""], "tool_name_syntax"),
        (["a\n"], "tool_name_syntax"),
        (["\ud800"], "tool_name_syntax"),
        (["a" * 65], "tool_name_length"),
    ],
)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_names_that_no_provider_takes(provider: str, tools: list[str], wanted: str) -> None:
    assert code(provider, tools=tools) == wanted


def test_names_that_begin_with_a_digit() -> None:
    assert lower("openai.chat", tools=["7zip"]).guarantee == "exact"
    assert code("gemini", tools=["7zip"]) == "tool_name_syntax"
    assert code("openai.chat", tools=["a.b"]) == "tool_name_syntax"
    assert lower("gemini", tools=["a.b"]).guarantee == "exact"


@pytest.mark.parametrize("word", sorted(shipped().reserved - {"any"}))
def test_a_bare_word_never_stands_for_a_tool_that_is_called_like_a_mode(word: str) -> None:
    assert code("openai-agents", choice={"tool": word}, tools=[word]) == "reserved_tool_name"
    assert lower("openai-agents", choice="required", tools=[word]).body == {"tool_choice": "required"}


@pytest.mark.parametrize(
    "choice",
    [
        *("search", "any", "", None, 1, [], {}, {"tool": 1}, {"tool": "a", "mode": "auto"}, {"allowed": "a"}),
        *({"allowed": ["a"], "mode": "any"}, {"allowed": [1]}, {"allowed": [{"tool": "a"}]}, {"mcp": "x"}),
        *({"mcp": {"tool": "x"}}, {"mcp": {"server": "x", "tool": 1}}, {"name": "search"}),
    ],
)
def test_a_choice_in_another_form_is_an_input_error(choice: Any) -> None:
    with pytest.raises(InputError, match="a choice is"):
        lower("openai.responses", choice=choice, tools=TOOLS)


def test_a_deep_choice_is_no_trouble() -> None:
    deep: Any = {"tool": "search"}
    for _ in range(100_000):
        deep = {"allowed": [deep]}
    with pytest.raises(InputError):
        lower("openai.chat", choice=deep, tools=TOOLS)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"thinking": "hard"}, InputError),
        ({"thinking": True}, InputError),
        ({"mode": "loose"}, InputError),
        ({"parallel": 1}, InputError),
        ({"model": 1}, InputError),
        ({"tools": "search"}, InputError),
        ({"tools": 7}, InputError),
        ({"tools": [7]}, SchemaError),
        ({"tools": [{"parameters": {}}]}, SchemaError),
        ({"tools": [{"name": 7}]}, SchemaError),
    ],
)
def test_arguments_of_another_type(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        lower("openai.chat", **options)


@pytest.mark.parametrize("provider", ["opnai", "", None, 1, ["openai"]])
def test_an_unknown_provider_is_an_input_error_with_the_nearest(provider: Any) -> None:
    with pytest.raises(InputError, match="did you mean `openai`" if provider == "opnai" else "there are"):
        lower(provider, tools=TOOLS)


def test_an_iterator_of_tools_is_read_once() -> None:
    def tools() -> Iterator[dict[str, Any]]:
        yield {"name": "a"}
        yield {"name": "b"}

    lowered = lower("anthropic", choice={"allowed": ["b"], "mode": "auto"}, tools=tools())
    assert lowered.request() == {"tool_choice": {"type": "auto"}, "tools": [{"name": "b"}]}


RESPONSES = [
    {"type": "function", "name": "get", "parameters": {}},
    {"type": "custom", "name": "sql"},
    {"type": "image_generation"},
    {"type": "web_search"},
    {"type": "mcp", "server_label": "wiki", "server_url": "https://example.org"},
]


@pytest.mark.parametrize(
    ("choice", "body"),
    [
        ({"tool": "sql"}, {"type": "custom", "name": "sql"}),
        ({"custom": "sql"}, {"type": "custom", "name": "sql"}),
        ({"hosted": "image_generation"}, {"type": "image_generation"}),
        ({"mcp": {"server": "wiki", "tool": "ask"}}, {"type": "mcp", "server_label": "wiki", "name": "ask"}),
        ({"mcp": {"server": "wiki"}}, {"type": "mcp", "server_label": "wiki"}),
        (
            {
                "allowed": ["sql", "get", {"hosted": "web_search"}, {"mcp": {"server": "wiki"}}],
                "mode": "auto",
            },
            {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [
                    {"type": "function", "name": "get"},
                    {"type": "custom", "name": "sql"},
                    {"type": "web_search"},
                    {"type": "mcp", "server_label": "wiki"},
                ],
            },
        ),
    ],
)
def test_tools_of_the_provider_and_custom_tools(choice: Any, body: Any) -> None:
    lowered = lower("openai.responses", choice=choice, tools=RESPONSES)
    assert lowered.body == {"tool_choice": body}
    assert lowered.tools == RESPONSES


def test_tools_of_the_provider_that_are_not_there() -> None:
    for choice in ({"hosted": "file_search"}, {"mcp": {"server": "other"}}):
        with pytest.raises(ForcedToolUnavailable):
            lower("openai.responses", choice=choice, tools=RESPONSES)
    allowed: Any = {"allowed": ["get", {"hosted": "file_search"}, {"mcp": {"server": "o"}}], "mode": "auto"}
    lowered = lower("openai.responses", choice=allowed, tools=RESPONSES)
    assert [str(each) for each in lowered.events] == ["unknown_name:file_search", "unknown_name:mcp:o"]
    chat = lower("groq", choice=allowed, tools=["get", "b", {"type": "browser_search"}])
    assert [str(each) for each in chat.events] == ["unknown_name:file_search", "unknown_name:mcp:o"]
    assert chat.tools == ["get"]


def test_a_tool_of_the_provider_that_its_types_do_not_let_one_choose() -> None:
    assert (
        code("openai.responses", choice={"hosted": "web_search"}, tools=RESPONSES) == "provider_cannot_force"
    )
    assert code("groq", choice={"hosted": "browser_search"}, tools=[{"type": "browser_search"}]) == (
        "provider_cannot_force"
    )


def test_a_list_of_allowed_tools_keeps_those_of_the_provider_that_it_names() -> None:
    tools = ["get", "b", {"type": "browser_search"}, {"type": "code_interpreter"}]
    choice: Any = {"allowed": ["get", {"hosted": "browser_search"}], "mode": "auto"}
    assert lower("groq", choice=choice, tools=tools).tools == ["get", {"type": "browser_search"}]


def test_a_custom_tool_of_the_chat_endpoint() -> None:
    tools = [{"type": "custom", "custom": {"name": "sql"}}, {"type": "function", "function": {"name": "get"}}]
    lowered = lower("openai.chat", choice={"tool": "sql"}, tools=tools)
    assert lowered.body == {"tool_choice": {"type": "custom", "custom": {"name": "sql"}}}


def test_an_allow_list_keeps_the_order_of_the_registry_and_each_name_once() -> None:
    choice: Any = {"allowed": ["search", "get_weather", "search"], "mode": "required"}
    lowered = lower("gemini", choice=choice, tools=TOOLS)
    config: Any = lowered.body["toolConfig"]
    assert config["functionCallingConfig"]["allowedFunctionNames"] == TOOLS


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_empty_allow_list_is_none_and_never_all(provider: str) -> None:
    options: dict[str, Any] = {"tools": TOOLS, "model": "claude-opus-5"}
    lowered = lower(provider, choice={"allowed": ["ghost"], "mode": "auto"}, **options)
    assert lowered.body == lower(provider, choice="none", **options).body
    assert [str(each) for each in lowered.events] == ["unknown_name:ghost", "empty_allow_list"]
    assert code(provider, choice={"allowed": [], "mode": "required"}, **options) == "empty_allow_list"


def test_tools_by_name_cannot_be_sent() -> None:
    with pytest.raises(InputError, match="definitions"):
        lower("openai.chat", tools=TOOLS).request()
    with pytest.raises(InputError, match="definitions"):
        lower("openai.chat", tools={"a": {}}).request()


def test_calls_as_providers_write_them() -> None:
    lowered = lower("openai.chat", choice={"tool": "search"}, tools=TOOLS)
    calls = [
        {"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}},
        {"type": "tool_use", "name": "search"},
        {"functionCall": {"name": "search"}},
        {"toolUse": {"name": "search", "toolUseId": "1"}},
    ]
    found = lowered.verify(calls)
    assert (found.honoured, found.execute) == (True, tuple(calls))
    for calls_ in ("search", 1, [1], [{}], [{"function": {}}], {"name": "search"}):
        with pytest.raises(InputError):
            lowered.verify(calls_)  # type: ignore[arg-type]


def test_more_than_one_call_where_one_was_asked_for() -> None:
    named = lower("openai.chat", choice={"tool": "search"}, tools=TOOLS, parallel=False)
    found = named.verify(["get_weather", "search"])
    assert (found.honoured, found.execute, [str(each) for each in found.events]) == (
        False,
        ("search",),
        ["extra_calls"],
    )
    free = lower("openai.chat", tools=TOOLS, parallel=False).verify(["get_weather", "search"])
    assert (free.honoured, free.execute) == (False, ("get_weather",))


def test_strange_calls_do_not_run_and_are_no_answer_to_auto() -> None:
    found = lower("openai.chat", tools=TOOLS).verify(["ghost", "search"])
    assert (found.honoured, found.execute) == (False, ("search",))
    assert [str(each) for each in found.events] == ["call_not_offered:ghost"]


def test_a_lowered_choice_is_a_value() -> None:
    lowered = lower("moonshot", **NAMED, thinking="off")  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(lowered)) == lowered
    assert isinstance(lowered, Lowered)
    assert "thinking" in lowered.beside


def test_what_the_provider_ran_is_seen_in_its_items() -> None:
    tools: list[Any] = [{"type": "mcp", "server_label": "srv"}, {"type": "web_search_preview"}, RESPONSES[0]]
    mcp = lower("openai.responses", choice={"mcp": {"server": "srv", "tool": "t"}}, tools=tools)
    ran = {"type": "mcp_call", "name": "t", "server_label": "srv"}
    assert mcp.verify([ran]).honoured
    assert not mcp.verify([]).honoured
    assert not mcp.verify(["get"]).honoured
    hosted = lower("openai.responses", choice={"hosted": "web_search_preview"}, tools=tools)
    assert hosted.verify([{"type": "web_search_call", "id": "1"}]).honoured
    assert not hosted.verify([]).honoured
    allowed: Any = {"allowed": [{"mcp": {"server": "srv"}}], "mode": "required"}
    assert lower("openai.responses", choice=allowed, tools=tools).verify([ran]).honoured
    assert lower("openai.responses", choice="required", tools=tools[:2]).verify([ran]).honoured
    strange = lower("openai.responses", tools=tools[1:]).verify([ran])
    assert [str(each) for each in strange.events] == ["call_not_offered:mcp:srv"]


def test_tags_of_our_own_never_reach_the_wire() -> None:
    tools: list[Any] = [{"type": "mcp", "server_label": "srv"}]
    assert code("openai.responses", choice={"hosted": "mcp:srv"}, tools=tools) == "provider_cannot_force"
    assert code("openai.responses", choice={"hosted": "evil"}, hosted=["evil"]) == "provider_cannot_force"
    for hosted in ("file_search", 5, [1], None):
        with pytest.raises(InputError):
            lower("openai.responses", hosted=hosted)  # type: ignore[arg-type]


def test_namespaces_and_deferred_tools_cannot_be_named() -> None:
    tools: list[Any] = [
        {"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "delete"}]},
        {"type": "function", "name": "late", "defer_loading": True},
        RESPONSES[0],
    ]
    with pytest.raises(ForcedToolUnavailable):
        lower("openai.responses", choice={"tool": "crm"}, tools=tools)
    assert code("openai.responses", choice={"tool": "late"}, tools=tools) == "provider_cannot_force"
    allowed: Any = {"allowed": ["late", "crm", "get"], "mode": "auto"}
    lowered = lower("openai.responses", choice=allowed, tools=tools)
    sent: Any = lowered.body["tool_choice"]
    assert sent["tools"] == [{"type": "function", "name": "get"}]
    assert [str(each) for each in lowered.events] == ["unknown_name:late", "unknown_name:crm"]
    palette = ToolPalette(["get"]).check(tools)
    assert palette.tools == [RESPONSES[0]]


def test_a_function_is_no_custom_tool_and_the_other_way_round() -> None:
    tools: list[Any] = [
        {"type": "function", "function": {"name": "f"}},
        {"type": "custom", "custom": {"name": "c"}},
    ]
    lowered = lower("openai.chat", choice={"custom": "f"}, tools=tools)
    assert lowered.body["tool_choice"] == {"type": "function", "function": {"name": "f"}}
    assert code("groq", choice={"tool": "c"}, tools=tools) == "provider_cannot_force"
    assert lower("openai.chat", tools=tools).verify([{"type": "custom", "custom": {"name": "c"}}]).honoured


def test_a_definition_without_a_name_is_none() -> None:
    with pytest.raises(SchemaError):
        lower("openai.chat", choice="required", tools=[{"type": "function", "function": {}}])


def test_a_soft_choice_of_a_tool_of_the_provider_is_narrowed_to_it() -> None:
    tools: list[Any] = [{"type": "function", "function": {"name": "f"}}, {"type": "web_search"}]
    lowered = lower("openai.chat", choice={"hosted": "web_search"}, tools=tools, mode="soft")
    assert (lowered.tools, lowered.guarantee) == ([{"type": "web_search"}], "advisory")


def test_both_spellings_of_geminis_functions_in_one_entry() -> None:
    tools: list[Any] = [{"functionDeclarations": [{"name": "a"}], "function_declarations": [{"name": "b"}]}]
    palette = ToolPalette(["a"]).check(tools)
    assert palette.registered == ("a", "b")
    assert palette.tools == [{"functionDeclarations": [{"name": "a"}]}]


@pytest.mark.parametrize(
    ("provider", "model", "forced"),
    [
        ("deepseek", "deepseek/deepseek-r1", False),
        ("deepseek", "deepseek-chat", True),
        ("cohere", "CohereForAI/c4ai-command-r-plus", False),
        ("cohere", "CohereLabs/c4ai-command-r-v01", False),
        ("cohere", "cohere.command-r-v1:0", False),
        ("cohere", "c4ai-command-r7b-12-2024", True),
        ("cohere", "command-a-vision-07-2025", True),
        ("qwen", "qvq-max", False),
        ("qwen", "Qwen/Qwen3-8B-FP8", False),
        ("qwen", "qwen3-30b-a3b:free", False),
        ("qwen", "qwen3-vl-8b", False),
        ("qwen", "Qwen3-Next-80B-A3B-Thinking", False),
        ("qwen", "Qwen3-Next-80B-A3B-Instruct", True),
        ("qwen", "qwen3-coder-plus", True),
        ("anthropic", "claude_opus_5_5", False),
        ("anthropic", "claude-5.5-opus", False),
        ("anthropic", "anthropic/claude-opus-5-5:beta", False),
        ("anthropic", "claude-opus-5-50", True),
        ("anthropic", "claude-fable-5-20", True),
        ("anthropic", "claude-3-7-sonnet", True),
        ("anthropic", "claude-opus-4-10", True),
        ("kimi", "kimi-thinking-preview", False),
        ("kimi", "moonshotai/Kimi-K2-Instruct-0905", True),
        ("bedrock", "myclaudefan.llama", False),
        ("bedrock", "anthropic.claude-v2:1", True),
        ("bedrock", "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-v1:0", True),
    ],
)
def test_model_ids_as_they_are_written(provider: str, model: str, forced: bool) -> None:
    options: dict[str, Any] = {**NAMED, "model": model}
    if forced:
        assert lower(provider, **options).guarantee == "exact"
    else:
        assert code(provider, **options) == "provider_cannot_force"


# The table


OWN: dict[str, Any] = {
    "providers": {
        "acme": {
            "title": "Acme",
            "like": "openai.chat",
            "choice": {"auto": {}, "tool": "only", "required": {"go": 1}},
        }
    },
    "models": [
        {"providers": ["acme"], "matches": "small", "force": {}},
        {"providers": ["anthropic"], "matches": "claude-opus-5-5", "force": {"default": "ok"}},
    ],
}


def test_a_table_of_ones_own_adds_to_the_shipped_one_and_wins() -> None:
    table = read_providers(OWN, shipped())
    lowered = lower("acme", **NAMED, providers=table)  # type: ignore[arg-type]
    assert (lowered.body, lowered.tools) == ({"go": 1}, ["search"])
    assert code("acme", **NAMED, model="small-1", providers=table) == "provider_cannot_force"
    assert lower("anthropic", **NAMED, model="claude-opus-5-5", providers=table).guarantee == "exact"  # type: ignore[arg-type]
    assert code("anthropic", **NAMED, model="claude-opus-5-5") == "provider_cannot_force"


def like(**choice: Any) -> Any:
    """A provider like one that ships, with other choices."""
    return {"providers": {"acme": {"title": "Acme", "like": "groq", "choice": BASE | choice}}}


BASE: dict[str, Any] = {"auto": {}, "required": {"tool_choice": {"type": "any"}}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"providers": {"a": {}}}, "providers.a.title: required field"),
        ({"providers": {"a": {"title": "A"}}}, "providers.a: `names` and `choice` must be said"),
        ({"providers": {"a": {"title": "A", "like": "b"}}}, "no provider `b` that it could be like"),
        ({"providers": {"a": {"title": "A", "like": "a"}}}, "`like` leads back to `a`"),
        (
            {"providers": {"a": {"title": "A", "like": "groq", "choice": {"maybe": {}}}}},
            "providers.a.choice.maybe: unallowed value maybe",
        ),
        (
            {"providers": {"a": {"title": "A", "like": "groq", "choice": {"tool": "magic"}}}},
            "providers.a.choice",
        ),
        ({"providers": {"a": {"title": "A", "like": "groq", "tols": 1}}}, "providers.a.tols: unknown field"),
        (
            {"providers": {"a": {"title": "A", "like": "groq", "names": {"pattern": "(", "longest": 1}}}},
            "providers.a.names.pattern",
        ),
        ({"models": [{"providers": ["nobody"], "force": {}}]}, "models[0].providers: there is no provider"),
        ({"models": [{"providers": ["groq"], "matches": "(?=a)", "force": {}}]}, "models[0].matches"),
        ({"models": [{"providers": ["groq"], "force": {"sometimes": "ok"}}]}, "sometimes"),
        ({"surprise": 1}, "surprise: unknown field"),
        (like(tool={"tool_choice": "$name"}), "a bare name may be read as a mode"),
        (like(tool={"tool_choice": {"name": "it"}}), "it says nowhere which: $name"),
        (like(tool={"tool_choice": {"name": "$nam"}}), "`$nam` stands for nothing"),
        (like(auto="filter"), "acme.choice.auto: its fields must be said"),
        (like(auto="no-tools"), "acme.choice.auto"),
        (like(required="only"), "`only` is no way to make this choice"),
        (like(hosted="only"), "`only` is no way to make this choice"),
        ({"providers": {"acme": {"title": "A", "like": "groq", "choice": {"auto": {}, "tool": "only"}}}},
         "it needs the fields of `required`"),
        (like(**{"allowed-auto": {"tool_choice": "auto"}}), "it says nowhere which: $names or $entries"),
        (like(tool="only", **{"allowed-auto": {"tool_choice": {"x": "$entries"}}}), "`$entries` needs"),
        ({"providers": {"acme": {"title": "A", "like": "openai-agents", "word": False}}}, "a bare name"),
        ({"providers": {"acme": {"title": "A", "like": "groq", "also": ["anthropic"]}}}, "another"),
        ({"providers": {name: {"title": "A", "like": "groq", "also": ["x"]} for name in ("a", "b")}},
         "another provider's name"),
        ({"providers": {"a": {"title": "A", "like": "groq", "names": {"pattern": "a", "longest": True}}}},
         "longest: must be of integer type"),
        ({"providers": {"a": {"title": "A", "like": "groq",
                              "parallel": {"off": {"tool_choice": 1}, "on": {"x": 1}}}}},
         "`tool_choice` is a field of"),
        ({"models": [{"providers": ["groq"], "force": {"off": "okay"}}]}, "unallowed value okay"),
        ({"models": [{"providers": ["groq"], "force": {"off": "ok\n"}}]}, "unallowed value"),
        ({"models": [{"providers": [], "force": {}}]}, "min length is 1"),
        ({"models": [{"providers": ["groq"], "force": {False: "ok"}}]}, "no JSON value"),
        ({"models": [{"providers": ["groq"], "force": {"off": object()}}]}, "no JSON value"),
        ([], "the providers are a table"),
    ],
)  # fmt: skip
def test_a_table_with_faults_names_them(change: Any, said: str) -> None:
    with pytest.raises(ProviderError) as caught:
        read_providers(change, shipped())
    assert said in str(caught.value)
    with pytest.raises(InputError) as refused:
        read_table(change)
    assert said in str(refused.value)


def test_all_faults_of_a_table_are_named_at_once() -> None:
    with pytest.raises(ProviderError) as caught:
        read_providers({"surprise": 1, "providers": {"a": {"tols": 1}}})
    assert str(caught.value).count(";") == 2


def test_a_provider_that_is_like_another_has_its_models_too() -> None:
    table = read_table({"providers": {"mine": {"title": "Mine", "like": "anthropic"}}})
    options: dict[str, Any] = {"tools": TOOLS, "model": "claude-opus-5-5", "providers": table}
    assert code("mine", choice="required", **options) == "provider_cannot_force"


def test_a_table_is_read_once_and_kept_apart_from_what_was_given() -> None:
    document: Any = like(tool={"pick": {"name": "$name"}})
    table = read_table(document)
    document["providers"]["acme"]["choice"]["tool"]["pick"]["name"] = "other"
    lowered = lower("acme", choice={"tool": "search"}, tools=TOOLS, providers=table)
    assert lowered.body == {"pick": {"name": "search"}}


def test_a_table_that_is_none() -> None:
    cyclic: Any = {}
    cyclic["providers"] = cyclic
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for document in (cyclic, {"providers": deep}):
        with pytest.raises(InputError):
            read_table(document)
    with pytest.raises(InputError):
        lower("groq", providers=5)  # type: ignore[arg-type]
