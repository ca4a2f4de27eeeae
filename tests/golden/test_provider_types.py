"""What is sent for a choice fits the request types that the providers' own packages declare.

The packages are imported by the tests and not with this file, so that collecting stays fast.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from types import GenericAlias
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import callgate
from callgate.rules.providers import shipped

from .provider_forms import ROWS, SHAPES, WORD_ROWS, Fields, Row, labels

# A check returns what is wrong with a request, or an empty text.
Check = Callable[[Fields], str]


def _typed(fields: Mapping[str, Any]) -> Check:
    """Hold the fields of a request against annotations, strictly; TypedDicts take no keys beside theirs."""
    pydantic = pytest.importorskip("pydantic")
    config = pydantic.ConfigDict(extra="forbid", strict=True)
    adapters = {
        name: pydantic.TypeAdapter(GenericAlias(dict, (str, fields[name])), config=config)
        for name in ("tools", "tool_choice", "parallel_tool_calls")
        if name in fields
    }

    def check(request: Fields) -> str:
        for name, value in request.items():
            if name not in adapters:
                return f"there is no field `{name}`"
            try:
                _read(adapters[name].validate_python({name: value}))
            except pydantic.ValidationError as error:
                return f"{name}: {error}"
        for entry in _entries(request.get("tool_choice")):
            try:
                _read(adapters["tool_choice"].validate_python({"tool_choice": entry}))
            except pydantic.ValidationError as error:
                return f"an allowed tool: {error}"
        return ""

    return check


def _read(value: Any) -> None:
    """Go through all of it: pydantic checks what is declared as an iterable only when it is read."""
    if isinstance(value, Mapping):
        for each in value.values():
            _read(each)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for each in value:
            _read(each)


def _entries(choice: Any) -> list[Any]:
    """The entries of a list of allowed tools, which the types leave open: each is a choice of one tool."""
    if not isinstance(choice, Mapping):
        return []
    return list(choice.get("tools") or choice.get("allowed_tools", {}).get("tools", ()))


def _openai_chat() -> Check:
    module = pytest.importorskip("openai.types.chat.completion_create_params")
    return _typed(get_type_hints(module.CompletionCreateParamsBase))


def _openai_responses() -> Check:
    module = pytest.importorskip("openai.types.responses.response_create_params")
    return _typed(get_type_hints(module.ResponseCreateParamsBase))


def _anthropic() -> Check:
    module = pytest.importorskip("anthropic.types.message_create_params")
    return _typed(get_type_hints(module.MessageCreateParamsBase))


def _groq() -> Check:
    module = pytest.importorskip("groq.types.chat.completion_create_params")
    return _typed(get_type_hints(module.CompletionCreateParams))


def _gemini() -> Check:
    types = pytest.importorskip("google.genai.types")
    pydantic = pytest.importorskip("pydantic")

    def check(request: Fields) -> str:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)  # a word that is no mode is a warning there
                types.GenerateContentConfig.model_validate(request)
                types.ToolConfig.model_validate(request.get("toolConfig", {}))
        except (pydantic.ValidationError, UserWarning) as error:
            return str(error)
        return ""

    return check


def _bedrock() -> Check:
    loader = pytest.importorskip("botocore.loaders").Loader()
    model = pytest.importorskip("botocore.model").ServiceModel
    validate = pytest.importorskip("botocore.validate")
    service = model(loader.load_service_model("bedrock-runtime", "service-2"))
    shape = service.operation_model("Converse").input_shape

    def check(request: Fields) -> str:
        found = validate.ParamValidator().validate({"modelId": "a-model", "messages": [], **request}, shape)
        return str(found.generate_report())

    return check


def _mistral() -> Check:
    models = pytest.importorskip("mistralai.client.models")
    pydantic = pytest.importorskip("pydantic")
    words = _words(models.ToolChoiceEnum)

    def check(request: Fields) -> str:
        whole = {"model": "a-model", "messages": [{"role": "user", "content": "Hello"}], **request}
        try:
            read = models.ChatCompletionRequest.model_validate(whole)
        except pydantic.ValidationError as error:
            return str(error)
        choice = request.get("tool_choice", "auto")
        if isinstance(choice, str) and choice not in words:
            return f"`{choice}` is none of {', '.join(sorted(words))}"  # the client lets any word pass
        if isinstance(choice, Mapping) and choice.get("type") != "function":
            return f"`{choice.get('type')}` is no type of a choice"
        return _dropped(whole, read.model_dump(mode="json", by_alias=True, exclude_unset=True))

    return check


def _cohere() -> Check:
    chat = pytest.importorskip("cohere").ClientV2.chat
    tool = pytest.importorskip("cohere.types.tool_v2").ToolV2
    pydantic = pytest.importorskip("pydantic")
    parameters = inspect.signature(chat).parameters
    words = _words(get_type_hints(chat)["tool_choice"])

    def check(request: Fields) -> str:
        strange = request.keys() - parameters.keys()
        if strange:
            return f"`chat` has no parameter {', '.join(strange)}"
        choice = request.get("tool_choice")
        if choice is not None and choice not in words:
            return f"`{choice}` is none of {', '.join(sorted(words))}"
        for each in request.get("tools", ()):
            try:
                read = tool.model_validate(each)
            except pydantic.ValidationError as error:
                return str(error)
            if read.model_extra or read.function is None or read.function.model_extra:
                return f"a tool with more than it has: {each}"
        return ""

    return check


def _ollama() -> Check:
    ollama = pytest.importorskip("ollama")
    pydantic = pytest.importorskip("pydantic")
    parameters = inspect.signature(ollama.Client.chat).parameters
    assert "tool_choice" not in parameters, "the client has learnt it: the table has to follow"

    def check(request: Fields) -> str:
        strange = request.keys() - parameters.keys()
        if strange:
            return f"`chat` has no parameter {', '.join(strange)}"
        for each in request.get("tools", ()):
            try:
                read = ollama.Tool.model_validate(each)
            except pydantic.ValidationError as error:
                return str(error)
            if read.function is None or not read.function.name:
                return f"a tool without a function: {each}"
        return ""

    return check


def _words(annotation: Any) -> frozenset[str]:
    """The words that an annotation lists, however deep; the types let others pass beside them."""
    if get_origin(annotation) is Literal:
        return frozenset(get_args(annotation))
    return frozenset().union(*map(_words, get_args(annotation)))


def _dropped(given: Any, read: Any, where: str = "request") -> str:
    """What a model left out of what it was given, or changed: it ignores keys that it does not know."""
    if isinstance(given, Mapping) and isinstance(read, Mapping):
        faults = (_dropped(value, read.get(key), f"{where}.{key}") for key, value in given.items())
        return next(filter(None, faults), "")
    if isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        return next(filter(None, (_dropped(*both, where) for both in zip(given, read, strict=True))), "")
    return "" if given == read else f"{where}: {given!r} was read as {read!r}"


_MAKERS: Mapping[str, Callable[[], Check]] = {
    "openai.responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock.converse": _bedrock,
    "mistral": _mistral,
    "cohere": _cohere,
    "groq": _groq,
    "ollama.native": _ollama,
}  # the others have no package of their own and take the types of OpenAI Chat Completions


# Frameworks over the clients; none is a dependency of ours.
_NO_CLIENT = {"langchain.openai", "langchain.anthropic", "langchain.cohere", "openai-agents", "ai-sdk"}


@cache
def check_of(provider: str) -> Check:
    """The check of a provider; skips where its package is missing."""
    return _openai_chat() if provider not in _MAKERS else _MAKERS[provider]()


@pytest.mark.parametrize("row", [*ROWS, *WORD_ROWS], ids=str)
def test_fits_the_types(row: Row) -> None:
    check = check_of(row.provider)
    lowered = row.lower()
    request = copy.deepcopy(lowered.request())
    assert check(request) == ""
    assert lowered.body == row.fields
    assert labels(lowered.tools) == row.sent
    assert lowered.guarantee == ("exact" if _certain(row) else "advisory")


def _certain(row: Row) -> bool:
    """Does the service see to it? Not where it was only asked softly, and Converse knows no `none`."""
    return row.refused is None and not row.options.get("history_has_tool_blocks")


@pytest.mark.parametrize("row", [row for row in ROWS if row.refused is not None], ids=str)
def test_refused_unless_soft(row: Row) -> None:
    with pytest.raises(callgate.ContractViolation) as caught:
        row.lower(mode="hard")
    assert caught.value.code == row.refused


_CHAT_TOOL = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
_CHAT_WRONG: tuple[Fields, ...] = (
    {"tool_choice": "any"},
    {"tool_choice": "search"},
    {"tool_choice": {"type": "auto"}},
    {"tool_choice": {"type": "tool", "name": "search"}},
    {"tool_choice": {"type": "function", "name": "search"}},
    {"tool_choice": {"type": "function", "function": {"name": "search", "strict": True}}},
    {"tool_choice": {"type": "function", "function": {"name": "search"}, "mode": "auto"}},
    {"parallel_tool_calls": "no"},
    {"tools": [{"name": "search", "input_schema": {"type": "object"}}]},
    {"tools": [{**_CHAT_TOOL, "name": "search"}]},
    {"toolChoice": "auto"},
)
_CHAT_ENTRIES: tuple[list[Any], ...] = (["search"], [{"type": "function", "name": "search"}], [{"name": "q"}])
_FLAT_ENTRIES: tuple[list[Any], ...] = (["search"], [{"type": "function", "function": {"name": "search"}}])
_CONVERSE_WRONG: tuple[Fields, ...] = (
    {"toolChoice": "auto"},
    {"toolChoice": {}},
    {"toolChoice": {"none": {}}},
    {"toolChoice": {"auto": {}, "any": {}}},
    {"toolChoice": {"tool": {}}},
    {"toolChoice": {"tool": {"name": ""}}},
    {"tool_choice": {"auto": {}}},
)
_WRONG: Mapping[str, tuple[Fields, ...]] = {
    "openai.chat": (
        *_CHAT_WRONG,
        {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}},
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "any", "tools": []}}},
        *(
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": entries}}}
            for entries in _CHAT_ENTRIES
        ),
    ),
    "groq": (
        *_CHAT_WRONG,
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
    ),
    "openai.responses": (
        {"tool_choice": "any"},
        {"tool_choice": "search"},
        {"tool_choice": {"type": "tool", "name": "search"}},
        {"tool_choice": {"type": "function", "function": {"name": "search"}}},
        {"tool_choice": {"type": "function", "name": "search", "strict": True}},
        {"tool_choice": {"type": "mcp"}},
        {"tool_choice": {"type": "search"}},
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
        *(
            {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": entries}}
            for entries in _FLAT_ENTRIES
        ),
        {"tools": [_CHAT_TOOL]},
        {"parallel_tool_calls": 0},
    ),
    "anthropic": (
        {"tool_choice": "auto"},
        {"tool_choice": "any"},
        {"tool_choice": "search"},
        {"tool_choice": {"type": "required"}},
        {"tool_choice": {"type": "function", "function": {"name": "search"}}},
        {"tool_choice": {"type": "tool"}},
        {"tool_choice": {"type": "any", "name": "search"}},
        {"tool_choice": {"type": "none", "disable_parallel_tool_use": True}},
        {"parallel_tool_calls": False},
        {"tools": [_CHAT_TOOL]},
    ),
    "gemini": (
        {"toolConfig": {"functionCallingConfig": {"mode": "REQUIRED"}}},
        {"toolConfig": {"functionCallingConfig": {"mode": "search"}}},
        {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "names": ["search"]}}},
        {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": "search"}}},
        {"toolConfig": {"mode": "ANY"}},
        {"tool_choice": "any"},
        {"tools": [_CHAT_TOOL]},
    ),
    "bedrock.converse": (
        {"toolConfig": {"toolChoice": {"auto": {}}}},
        {"toolConfig": {"tools": []}},
        {"toolConfig": {"tools": [{"name": "search"}]}},
        *(
            {
                "toolConfig": {
                    "tools": [{"toolSpec": {"name": "search", "inputSchema": {"json": {}}}}],
                    **wrong,
                }
            }
            for wrong in _CONVERSE_WRONG
        ),
        {"tool_choice": "auto"},
    ),
    "mistral": (
        {"tool_choice": "search"},
        {"tool_choice": "REQUIRED"},
        {"tool_choice": {"type": "tool", "name": "search"}},
        {"tool_choice": {"type": "tool", "function": {"name": "search"}}},
        {"tool_choice": {"type": "function", "name": "search"}},
        {"tool_choice": {"type": "function", "function": {"name": "search"}, "mode": "any"}},
        {"toolChoice": "auto"},
        {"tools": [{"name": "search", "input_schema": {"type": "object"}}]},
    ),
    "cohere": (
        {"tool_choice": "auto"},
        {"tool_choice": "required"},
        {"tool_choice": "ANY"},
        {"tool_choice": "search"},
        {"parallel_tool_calls": False},
        {"tools": [{"name": "search", "input_schema": {"type": "object"}}]},
        {"tools": [{**_CHAT_TOOL, "name": "search"}]},
    ),
    "ollama.native": (
        {"tool_choice": "auto"},
        {"parallel_tool_calls": False},
        {"tools": [{"name": "search", "input_schema": {"type": "object"}}]},
    ),
}


@pytest.mark.parametrize(
    ("provider", "wrong"),
    [(provider, wrong) for provider, each in _WRONG.items() for wrong in each],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
def test_a_wrong_request_is_found(provider: str, wrong: Fields) -> None:
    """The checks above can fail."""
    assert check_of(provider)(wrong) != ""


def test_every_provider_and_every_choice_of_the_table_has_a_row() -> None:
    table = {provider.name: set(provider.choices) for provider in shipped().named.values()}
    lowered = [(row.provider, row.lower().kind) for row in ROWS]
    tried = {name: {kind for provider, kind in lowered if provider == name} for name in SHAPES}
    assert {name: table[name] - tried[name] for name in SHAPES} == {name: set() for name in SHAPES}
    assert table.keys() - tried.keys() == _NO_CLIENT
    assert set(_WRONG) == {*_MAKERS, "openai.chat"}


def test_ollama_is_never_sent_a_choice() -> None:
    rows = [row for row in ROWS if row.provider.startswith("ollama.")]
    assert rows
    for row in rows:
        assert row.lower().body == {}, str(row)
