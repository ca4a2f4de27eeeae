"""The forms in which hosts hold tools: names, a mapping, OpenAI, Anthropic, Gemini, Bedrock, MCP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from .errors import DuplicateToolName, SchemaError

Tools: TypeAlias = "Mapping[str, Any] | Iterable[Mapping[str, Any]]"

_NESTED = ("function", "toolSpec", "custom")  # where OpenAI Chat and Bedrock put the name
_SCHEMA_KEYS = ("input_schema", "inputSchema", "parameters", "parametersJsonSchema", "parameters_json_schema")
_FUNCTIONS = ("functionDeclarations", "function_declarations")  # of Gemini, several in one entry
# What stands in an entry of Gemini or Bedrock in place of functions; else such a tool has a `type`.
_HOSTED = frozenset(
    {
        *("retrieval", "computerUse", "fileSearch", "googleSearch", "googleMaps", "codeExecution"),
        *("enterpriseWebSearch", "googleSearchRetrieval", "parallelAiSearch", "urlContext", "mcpServers"),
        *("exaAiSearch", "computer_use", "file_search", "google_search", "google_maps", "code_execution"),
        *("enterprise_web_search", "google_search_retrieval", "parallel_ai_search", "url_context"),
        *("mcp_servers", "exa_ai_search", "cachePoint", "systemTool"),
    }
)

_DEEPEST = 100
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS = frozenset({"items", "additionalProperties", "not"})
_CAPITALS = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})


class Declared(Struct, frozen=True):
    """What a list of tools declares, in order.

    `names`: the functions that a model can call. `hosted`: tools that the provider runs, by their type, or as
    `mcp:SERVER`, and namespaces by their name. `offered`: both, in the order of the list. `custom`: functions
    whose input is free text. `bare`: those that were given by name alone. `deferred`: those that are loaded
    later, which no choice can name.
    """

    names: tuple[str, ...]
    hosted: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    custom: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()
    deferred: frozenset[str] = frozenset()


def declared(tools: Any) -> Declared:
    """What a list declares; its entries may be names too.

    Raises:
        SchemaError: it is no list of tools, or an entry is none.
    """
    names: list[str] = []
    hosted: dict[str, None] = {}
    offered: dict[str, None] = {}
    custom: set[str] = set()
    bare: set[str] = set()
    deferred: set[str] = set()
    for entry in _entries(tools):
        named = isinstance(entry, str)
        functions, tags = ([{"name": entry}], []) if named else _parts(entry)
        for function in functions:
            name = function["name"]
            if type(name) is not str:
                raise SchemaError("a tool's name must be a text that is not empty")
            names.append(name)
            offered[name] = None
            if named:
                bare.add(name)
            elif entry.get("type") == "custom":
                custom.add(name)
            if not named and entry.get("defer_loading") is True:
                deferred.add(name)
        for tag in tags:
            hosted[tag] = offered[tag] = None
    functions_ = frozenset(names)
    twice = next((tag for tag in hosted if tag in functions_), None)
    if twice is not None:
        raise DuplicateToolName(twice)  # which of the two a rule means is open
    return Declared(
        tuple(names), tuple(hosted), tuple(offered), frozenset(custom), frozenset(bare), frozenset(deferred)
    )


def definitions(tools: Any) -> Iterator[tuple[Any, Any, bool, bool]]:
    """The functions of a mapping or a list: name, schema, and whether it is said to change things, to look.

    Raises:
        SchemaError: a definition in no known form.
    """
    if isinstance(tools, Mapping) and not isinstance(tools.get("tools"), list):
        for name, schema in tools.items():
            yield name, schema, False, False
        return
    for entry in _entries(tools):
        if isinstance(entry, str):
            raise SchemaError("a tool definition must be an object, not `str`")
        hints = entry.get("annotations")
        mutates = isinstance(hints, Mapping) and hints.get("destructiveHint") is True
        reads = isinstance(hints, Mapping) and hints.get("readOnlyHint") is True and not mutates
        for function in _parts(entry)[0]:
            schema = next((function[key] for key in _SCHEMA_KEYS if function.get(key) is not None), None)
            if function is entry.get("toolSpec") and isinstance(schema, Mapping):
                schema = schema.get("json")
            yield function["name"], _plain(schema), mutates, reads


def narrowed(tools: Any, names: Container[str]) -> Any:
    """The same tools in the same form and order, without those that are not among the names and tags."""
    if isinstance(tools, Mapping):
        if isinstance(tools.get("tools"), list):
            return {**tools, "tools": narrowed(tools["tools"], names)}
        return {name: schema for name, schema in tools.items() if name in names}
    kept: list[Any] = []
    for entry in _entries(tools):
        if isinstance(entry, str):
            kept += [entry] if entry in names else []
            continue
        if not any(isinstance(entry.get(key), list) for key in _FUNCTIONS):
            functions, tags = _parts(entry)
            kept += [entry] if any(each in names for each in (*(f["name"] for f in functions), *tags)) else []
            continue
        left: dict[str, Any] = {}
        for key, value in entry.items():
            if key in _FUNCTIONS and isinstance(value, list):
                inside = [each for each in value if _body(each).get("name") in names]
                left |= {key: inside} if inside else {}
            elif key in names:
                left[key] = value
        kept += [left] if left else []
    return kept


def form_of(entry: Any) -> str | None:
    """In whose form a definition is, where it can be told: one of `FORMS`."""
    if not isinstance(entry, Mapping):
        return None
    if any(isinstance(entry.get(key), list) for key in _FUNCTIONS):
        return "gemini"
    if isinstance(entry.get("toolSpec"), Mapping):
        return "bedrock"
    if isinstance(entry.get("function"), Mapping) or isinstance(entry.get("custom"), Mapping):
        return "openai-chat"
    if "input_schema" in entry:
        return "anthropic"
    if "inputSchema" in entry:
        return "mcp"
    return "openai-responses" if entry.get("type") in ("function", "custom") and "name" in entry else None


def check_unique(names: tuple[str, ...]) -> None:
    """Raise DuplicateToolName where a name stands twice: no provider takes that."""
    if len(set(names)) != len(names):
        raise DuplicateToolName(next(name for name, often in Counter(names).items() if often > 1))


def _parts(entry: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The functions of one entry, each with a name, and the tags of the provider's own tools in it."""
    keys = [key for key in _FUNCTIONS if isinstance(entry.get(key), list)]
    if keys:
        functions = [_named(each) for key in keys for each in entry[key]]
        return functions, [name for name, value in entry.items() if name in _HOSTED and value is not None]
    if entry.get("type") == "namespace" and type(entry.get("name")) is str:
        return [], [entry["name"]]  # what is in it has names of its own there
    if "name" in _body(entry):
        return [_body(entry)], []
    kind, label = entry.get("type"), entry.get("server_label")
    if type(kind) is str and kind not in ("function", "custom"):
        return [], [f"mcp:{label}" if kind == "mcp" and type(label) is str else kind]
    tags = [name for name, value in entry.items() if name in _HOSTED and value is not None]
    if not tags:
        raise SchemaError("a tool definition has no `name`")
    return [], tags


def _named(declaration: Any) -> Mapping[str, Any]:
    if not isinstance(declaration, Mapping):
        raise SchemaError(f"a tool definition must be an object, not `{type(declaration).__name__}`")
    body = _body(declaration)
    if "name" not in body:
        raise SchemaError("a tool definition has no `name`")
    return body


def _body(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a definition that holds the name."""
    nested = (definition.get(key) for key in _NESTED)
    return next((each for each in nested if isinstance(each, Mapping)), definition)


def _entries(tools: Any) -> Iterator[Any]:
    if isinstance(tools, Mapping) and isinstance(tools.get("tools"), list):
        tools = tools["tools"]  # the answer of an MCP server, as it is
    if isinstance(tools, str | bytes) or not isinstance(tools, Iterable):
        raise SchemaError("tools are a mapping of names to JSON Schemas, or a list of tool definitions")
    for entry in tools:
        if not isinstance(entry, str | Mapping):
            raise SchemaError(f"a tool definition must be an object, not `{type(entry).__name__}`")
        yield entry


def _plain(schema: Any, depth: int = 0) -> Any:
    """Gemini writes types in capitals and `nullable`; JSON Schema knows small letters and the type `null`."""
    if depth > _DEEPEST or not isinstance(schema, Mapping):
        return schema
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, Mapping):
            plain[key] = {name: _plain(each, depth + 1) for name, each in value.items()}
        elif key in _LISTS and isinstance(value, list):
            plain[key] = [_plain(each, depth + 1) for each in value]
        elif key in _SCHEMAS:
            plain[key] = _plain(value, depth + 1)
        else:
            plain[key] = value
    kind = plain.get("type")
    if isinstance(kind, str) and kind in _CAPITALS:
        plain["type"] = kind.lower()
        if plain.get("nullable") is True:
            plain["type"] = [kind.lower(), "null"]
            if isinstance(plain.get("enum"), list):
                plain["enum"] = [*plain["enum"], None]
    return plain
