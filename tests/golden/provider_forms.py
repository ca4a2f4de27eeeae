"""Tools in each provider's own form, the choices that each provider takes, and what is to be sent for them.

Written by hand and not taken from `rules/providers.yaml`: the two are held against each other.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from callgate.engine.lowering import Lowered, lower

Fields = dict[str, Any]

_PLACE = {"type": "string", "description": "A town, as people write it."}
TOOLS: Mapping[str, Fields] = {
    "get_weather": {
        "description": "What the weather is like in a town.",
        "schema": {
            "type": "object",
            "properties": {"city": _PLACE, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
            "required": ["city"],
        },
    },
    "search": {
        "description": "Finds pages.",
        "schema": {
            "type": "object",
            "properties": {
                "words": {"type": "array", "items": {"type": "string"}},
                "limit": {"type": "integer"},
            },
            "required": ["words"],
        },
    },
    "ping": {"description": "Answers.", "schema": {"type": "object", "properties": {}}},
    "book": {
        "description": "Books a journey with its stages.",
        "schema": {
            "type": "object",
            "properties": {
                "traveller": {"type": "object", "properties": {"name": {"type": "string"}}},
                "stages": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"from": _PLACE, "to": _PLACE}},
                },
            },
        },
    },
}
CUSTOM = ("query", "note")  # tools of OpenAI whose input is free text
HOSTED: Mapping[str, Fields] = {  # tools that OpenAI runs, by what stands for them in a palette
    "file_search": {"type": "file_search", "vector_store_ids": ["vs_1"]},
    "web_search_preview": {"type": "web_search_preview"},
    "code_interpreter": {"type": "code_interpreter", "container": {"type": "auto"}},
    "image_generation": {"type": "image_generation"},
    "computer_use_preview": {
        "type": "computer_use_preview",
        "display_width": 800,
        "display_height": 600,
        "environment": "browser",
    },
    "shell": {"type": "shell"},
    "apply_patch": {"type": "apply_patch"},
    "mcp:deepwiki": {
        "type": "mcp",
        "server_label": "deepwiki",
        "server_url": "https://mcp.deepwiki.example/mcp",
        "require_approval": "never",
    },
}
WORDS = ("any", "auto", "none", "required")  # names of tools that are modes in some request

# Providers that take one form of definition and, beside their models, one form of choice.
SHAPES: Mapping[str, str] = {
    "openai.chat": "chat",
    "openai.responses": "responses",
    "groq": "chat",
    "deepseek": "chat",
    "moonshot": "chat",
    "qwen": "chat",
    "vllm": "chat",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "bedrock.converse": "bedrock",
    "mistral": "chat",
    "cohere": "chat",
    "ollama.native": "chat",
    "ollama.openai": "chat",
}


def definitions(provider: str, names: Sequence[str]) -> list[Fields]:
    """The tools of these names in the provider's form; a name that is not in `TOOLS` is a plain one."""
    shape = SHAPES[provider]
    listed = [_definition(shape, name) for name in names]
    return [{"functionDeclarations": listed}] if shape == "gemini" and listed else listed


def _definition(shape: str, name: str) -> Fields:
    if name in HOSTED:
        return copy.deepcopy(HOSTED[name])
    if name in CUSTOM:
        about = {"name": name, "description": "Free text."}
        return {"type": "custom", "custom": about} if shape == "chat" else {"type": "custom", **about}
    tool = copy.deepcopy(TOOLS.get(name, {**TOOLS["ping"], "description": f"A tool called {name}."}))
    about, schema = {"name": name, "description": tool["description"]}, tool["schema"]
    match shape:
        case "chat":
            return {"type": "function", "function": {**about, "parameters": schema}}
        case "responses":
            return {"type": "function", **about, "parameters": schema, "strict": False}
        case "anthropic":
            return {**about, "input_schema": schema}
        case "gemini":
            return {**about, "parametersJsonSchema": schema}
        case "bedrock":
            return {"toolSpec": {**about, "inputSchema": {"json": schema}}}
    raise AssertionError(shape)


def labels(tools: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What a list of definitions declares, in order, whatever its form: names, or what stands in `HOSTED`."""
    found: list[str] = []
    for tool in tools:
        if "functionDeclarations" in tool:
            found += labels(tool["functionDeclarations"])
            continue
        nested = tool.get("function") or tool.get("custom") or tool.get("toolSpec") or tool
        server = f"mcp:{tool.get('server_label')}"
        found.append(nested.get("name") or (server if tool["type"] == "mcp" else tool["type"]))
    return tuple(found)


@dataclass(frozen=True)
class Row:
    """One request. `fields`: what is sent for the choice; `sent`: the tools that go with it, in order.

    `refused`: with what code it is refused, unless it may be soft.
    """

    provider: str
    choice: Any
    tools: tuple[str, ...]
    fields: Fields
    sent: tuple[str, ...]
    options: Fields = field(default_factory=dict)
    refused: str | None = None
    label: str = ""

    def lower(self, **options: Any) -> Lowered:
        tools = definitions(self.provider, self.tools)
        return lower(self.provider, choice=self.choice, tools=tools, **{**self.options, **options})

    def __str__(self) -> str:
        options = [f"{key}={value}" for key, value in self.options.items() if key != "model"]
        return "-".join([self.provider, self.label or str(self.choice), str(len(self.tools)), *options])


TWO = ("get_weather", "search")
FOUR = ("ping", "get_weather", "search", "book")
_ONE = {"tool": "get_weather"}
_ALLOWED = ["search", "get_weather"]  # in another order than they are offered in
CHOICES: Mapping[str, Any] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "one": _ONE,
    "some": {"allowed": _ALLOWED, "mode": "auto"},
    "some-required": {"allowed": _ALLOWED, "mode": "required"},
}


def _chat_one(name: str) -> Fields:
    return {"type": "function", "function": {"name": name}}


def _chat_some(mode: str, *entries: Fields) -> Fields:
    return {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [*entries]}}}


def _some(mode: str, *entries: Fields) -> Fields:
    return {"tool_choice": {"type": "allowed_tools", "mode": mode, "tools": [*entries]}}


def _gemini(mode: str, *names: str) -> Fields:
    named = {"allowedFunctionNames": list(names)} if names else {}
    return {"toolConfig": {"functionCallingConfig": {"mode": mode, **named}}}


_FILTERED = {"some": TWO, "some-required": TWO}
_CHAT: Mapping[str, Fields] = {"auto": {"tool_choice": "auto"}, "none": {"tool_choice": "none"}}
_FORCED_CHAT: Mapping[str, Fields] = {
    "required": {"tool_choice": "required"},
    "one": {"tool_choice": _chat_one("get_weather")},
}
_FILTERED_CHAT: Mapping[str, Fields] = {
    "some": {"tool_choice": "auto"},
    "some-required": {"tool_choice": "required"},
}
_PARALLEL: tuple[tuple[bool, Fields], ...] = (
    (False, {"parallel_tool_calls": False}),
    (True, {"parallel_tool_calls": True}),
)
_IN_CHOICE: tuple[tuple[bool, Fields], ...] = (
    (False, {"tool_choice": {"disable_parallel_tool_use": True}}),
    (True, {"tool_choice": {"disable_parallel_tool_use": False}}),
)
_NO_SWITCH: tuple[tuple[bool, Fields], ...] = ((False, {}), (True, {}))


@dataclass(frozen=True)
class Takes:
    """What one provider is sent: fields by choice, the tools where not all are, and for `parallel`.

    `options`: with which everything that the provider can be told is taken.
    """

    fields: Mapping[str, Fields]
    parallel: tuple[tuple[bool, Fields], ...]
    sent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    options: Fields = field(default_factory=dict)


TAKES: Mapping[str, Takes] = {
    "openai.chat": Takes(
        {
            **_CHAT,
            **_FORCED_CHAT,
            "some": _chat_some("auto", _chat_one("get_weather"), _chat_one("search")),
            "some-required": _chat_some("required", _chat_one("get_weather"), _chat_one("search")),
        },
        _PARALLEL,
    ),
    "openai.responses": Takes(
        {
            **_CHAT,
            "required": {"tool_choice": "required"},
            "one": {"tool_choice": {"type": "function", "name": "get_weather"}},
            **{
                key: _some(mode, *({"type": "function", "name": name} for name in TWO))
                for key, mode in (("some", "auto"), ("some-required", "required"))
            },
        },
        _PARALLEL,
    ),
    **{
        provider: Takes({**_CHAT, **_FORCED_CHAT, **_FILTERED_CHAT}, _PARALLEL, _FILTERED)
        for provider in ("groq", "deepseek", "qwen", "vllm")
    },
    "moonshot": Takes(
        {**_CHAT, "one": _FORCED_CHAT["one"], "some": _FILTERED_CHAT["some"]},
        _PARALLEL,
        _FILTERED,
        {"thinking": "off"},
    ),
    "anthropic": Takes(
        {
            "auto": {"tool_choice": {"type": "auto"}},
            "none": {"tool_choice": {"type": "none"}},
            "required": {"tool_choice": {"type": "any"}},
            "one": {"tool_choice": {"type": "tool", "name": "get_weather"}},
            "some": {"tool_choice": {"type": "auto"}},
            "some-required": {"tool_choice": {"type": "any"}},
        },
        _IN_CHOICE,
        _FILTERED,
    ),
    "gemini": Takes(
        {
            "auto": _gemini("AUTO"),
            "none": _gemini("NONE"),
            "required": _gemini("ANY"),
            "one": _gemini("ANY", "get_weather"),
            "some": _gemini("VALIDATED", *TWO),
            "some-required": _gemini("ANY", *TWO),
        },
        _NO_SWITCH,
    ),
    "bedrock.converse": Takes(
        {
            "auto": {"toolConfig": {"toolChoice": {"auto": {}}}},
            "none": {},
            "required": {"toolConfig": {"toolChoice": {"any": {}}}},
            "one": {"toolConfig": {"toolChoice": {"tool": {"name": "get_weather"}}}},
            "some": {"toolConfig": {"toolChoice": {"auto": {}}}},
            "some-required": {"toolConfig": {"toolChoice": {"any": {}}}},
        },
        _NO_SWITCH,
        {**_FILTERED, "none": ()},
        {"model": "anthropic.claude-sonnet-4-5-20250929-v1:0"},
    ),
    "mistral": Takes(
        {
            **_CHAT,
            "required": {"tool_choice": "any"},
            "one": _FORCED_CHAT["one"],
            "some": {"tool_choice": "auto"},
            "some-required": {"tool_choice": "any"},
        },
        _PARALLEL,
        _FILTERED,
    ),
    "cohere": Takes(
        {
            "auto": {},
            "none": {"tool_choice": "NONE"},
            "required": {"tool_choice": "REQUIRED"},
            "one": {"tool_choice": "REQUIRED"},
            "some": {},
            "some-required": {"tool_choice": "REQUIRED"},
        },
        _NO_SWITCH,
        {**_FILTERED, "one": ("get_weather",)},
        {"model": "command-a-03-2025"},
    ),
    **{
        provider: Takes({"auto": {}, "none": {}, "some": {}}, _NO_SWITCH, {**_FILTERED, "none": ()})
        for provider in ("ollama.native", "ollama.openai")
    },
}


def _joined(one: Fields, other: Fields) -> Fields:
    joined = {**one, **other}
    return joined | {key: {**one[key], **other[key]} for key in one.keys() & other.keys()}


def _common() -> list[Row]:
    """Every choice that a provider takes: with two tools, with four, and with both values of `parallel`."""
    rows: list[Row] = []
    for provider, takes in TAKES.items():
        for key, fields in takes.fields.items():
            for tools in (TWO, FOUR):
                sent = takes.sent.get(key, tools)
                rows.append(Row(provider, CHOICES[key], tools, fields, sent, takes.options, label=key))
            for parallel, switch in takes.parallel:
                options = {**takes.options, "parallel": parallel}
                both = fields if key == "none" else _joined(fields, switch)
                sent = takes.sent.get(key, TWO)
                rows.append(Row(provider, CHOICES[key], TWO, both, sent, options, label=key))
        rows += [
            Row(provider, "auto", (), {}, (), {**takes.options, "parallel": False}, label="nothing-offered"),
            Row(provider, "none", (), {}, (), takes.options, label="nothing-offered-none"),
        ]
    return rows


_MIXED = ("query", "get_weather", "note", "search")
_CUSTOM_ROWS = [
    Row(
        "openai.chat",
        {key: "query"},
        _MIXED,
        {"tool_choice": {"type": "custom", "custom": {"name": "query"}}},
        _MIXED,
        label=f"custom-as-{key}",
    )
    for key in ("custom", "tool")
] + [
    Row(
        "openai.responses",
        {key: "query"},
        _MIXED,
        {"tool_choice": {"type": "custom", "name": "query"}},
        _MIXED,
        label=f"custom-as-{key}",
    )
    for key in ("custom", "tool")
]
_CUSTOM_ROWS += [
    row
    for mode in ("auto", "required")
    for row in (
        Row(
            "openai.chat",
            {"allowed": ["search", "query"], "mode": mode},
            _MIXED,
            _chat_some(mode, {"type": "custom", "custom": {"name": "query"}}, _chat_one("search")),
            _MIXED,
            label=f"some-{mode}-custom",
        ),
        Row(
            "openai.responses",
            {
                "allowed": [
                    "search",
                    "query",
                    {"mcp": {"server": "deepwiki"}},
                    {"hosted": "image_generation"},
                ],
                "mode": mode,
            },
            (*_MIXED, "image_generation", "mcp:deepwiki"),
            _some(
                mode,
                {"type": "custom", "name": "query"},
                {"type": "function", "name": "search"},
                {"type": "mcp", "server_label": "deepwiki"},
                {"type": "image_generation"},
            ),
            (*_MIXED, "image_generation", "mcp:deepwiki"),
            label=f"some-{mode}-mixed",
        ),
    )
]
_HOSTED_ROWS = [
    Row(
        "openai.responses",
        {"hosted": kind},
        ("get_weather", kind),
        {"tool_choice": {"type": kind}},
        ("get_weather", kind),
        label=f"hosted-{kind}",
    )
    for kind in HOSTED
    if not kind.startswith("mcp:")
] + [
    Row(
        "openai.responses",
        {"mcp": {"server": "deepwiki", **tool}},
        ("mcp:deepwiki", "search"),
        {"tool_choice": {"type": "mcp", "server_label": "deepwiki", **named}},
        ("mcp:deepwiki", "search"),
        label=label,
    )
    for label, tool, named in (
        ("mcp-server", {}, {}),
        ("mcp-tool", {"tool": "ask"}, {"name": "ask"}),
    )
]

_AUTO_IN_CONFIG: Fields = {"toolConfig": {"toolChoice": {"auto": {}}}}
# (provider, model, thinking, choice, code, what is sent instead where it may be soft, the tools with it)
_ADVISED: tuple[tuple[str, str, str | None, str, str, Fields, tuple[str, ...]], ...] = (
    *(
        ("anthropic", model, thinking, choice, code, {"tool_choice": {"type": "auto"}}, sent)
        for model, thinking, code in (
            ("claude-sonnet-4-5", "enabled", "forced_with_extended_thinking"),
            ("claude-opus-4-6", "enabled", "forced_with_extended_thinking"),
            ("claude-opus-5-5", "off", "provider_cannot_force"),
        )
        for choice, sent in (("required", FOUR), ("one", ("get_weather",)), ("some-required", TWO))
    ),
    *(
        (
            "bedrock.converse",
            model,
            thinking,
            choice,
            code,
            _AUTO_IN_CONFIG,
            sent,
        )
        for model, thinking, code, choice, sent in (
            ("meta.llama3-70b-instruct-v1:0", None, "provider_cannot_force", "required", FOUR),
            ("mistral.mistral-large-2407-v1:0", None, "provider_cannot_force", "one", ("get_weather",)),
            (
                "anthropic.claude-sonnet-4-5-20250929-v1:0",
                "enabled",
                "forced_with_extended_thinking",
                "some-required",
                TWO,
            ),
        )
    ),
    *(
        (provider, model, thinking, "one", code, {"tool_choice": "auto"}, ("get_weather",))
        for provider, model, thinking, code in (
            ("deepseek", "deepseek-reasoner", None, "provider_cannot_force"),
            ("deepseek", "deepseek-chat", "enabled", "forced_with_thinking"),
            ("moonshot", "kimi-k2.5", None, "provider_cannot_force"),
            ("moonshot", "kimi-k2.5", "enabled", "forced_with_thinking"),
            ("qwen", "qwq-plus", None, "provider_cannot_force"),
            ("qwen", "qwen3-max", "enabled", "forced_with_thinking"),
        )
    ),
    ("moonshot", "kimi-k2.5", "off", "required", "provider_cannot_force", {"tool_choice": "auto"}, FOUR),
    ("moonshot", "kimi-k2.5", "off", "some-required", "provider_cannot_force", {"tool_choice": "auto"}, TWO),
    ("cohere", "command-r-08-2024", None, "required", "provider_cannot_force", {}, FOUR),
    ("cohere", "command-r-08-2024", None, "one", "provider_cannot_force", {}, ("get_weather",)),
    *(
        (provider, "llama3.2", None, choice, "provider_cannot_force", {}, sent)
        for provider in ("ollama.native", "ollama.openai")
        for choice, sent in (("required", FOUR), ("one", ("get_weather",)), ("some-required", TWO))
    ),
)
_ADVISED_ROWS = [
    Row(
        provider,
        CHOICES[choice],
        FOUR,
        fields,
        sent,
        {"model": model, "thinking": thinking, "mode": "soft"},
        code,
        f"{choice}-{model}",
    )
    for provider, model, thinking, choice, code, fields, sent in _ADVISED
]
_STATE_ROWS = [
    Row(
        "anthropic",
        CHOICES[choice],
        FOUR,
        TAKES["anthropic"].fields[choice],
        FOUR,
        {"model": "claude-opus-4-6", "thinking": thinking},
        label=choice,
    )
    for choice in ("auto", "none", "required", "one")
    for thinking in ("off", "adaptive")
] + [
    Row(
        "bedrock.converse",
        "none",
        FOUR,
        _AUTO_IN_CONFIG,
        FOUR,
        {"history_has_tool_blocks": True},
        label="none",
    )
]

ROWS = [*_common(), *_CUSTOM_ROWS, *_HOSTED_ROWS, *_STATE_ROWS, *_ADVISED_ROWS]


def _word_row(provider: str, word: str) -> Row:
    """One tool is to be called whose name is a mode, beside three more of that kind."""
    takes = TAKES[provider]
    tools = tuple(reversed(WORDS))
    fields = _renamed(takes.fields["one"], word)
    sent = (word,) if "one" in takes.sent else tools
    return Row(provider, {"tool": word}, tools, fields, sent, takes.options, label=f"called-{word}")


def _renamed(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each, name) for each in value]
    return name if value == "get_weather" else value


WORD_ROWS = [
    _word_row(provider, word) for provider, takes in TAKES.items() if "one" in takes.fields for word in WORDS
]
