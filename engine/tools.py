"""Tool definitions in the forms in which hosts hold them: a mapping, OpenAI, Anthropic, Gemini, MCP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from ..grammar.ast import Json
from .errors import DuplicateToolName, SchemaError

if TYPE_CHECKING:
    from .schema import Schema

Tools: TypeAlias = "Mapping[str, Any] | Iterable[Mapping[str, Any]]"
_SCHEMA_KEYS = ("input_schema", "inputSchema", "parameters", "parametersJsonSchema", "parameters_json_schema")


class Tool(Struct, frozen=True):
    """A registered tool. `schema` None: it takes any object. `mutates`: so its annotations say."""

    name: str
    schema: Schema | None
    mutates: bool = False


def own_copy(tools: Tools | None) -> Any:
    """The tools as plain values of our own, so that nobody changes them later; an iterator is read once."""
    if isinstance(tools, str | bytes) or not isinstance(tools, Mapping | Iterable):
        return tools  # refused where it is read
    top: Any = dict(tools) if isinstance(tools, Mapping) else list(tools)
    copies: dict[int, Any] = {}
    todo: list[Any] = [top]
    while todo:
        holder = todo.pop()
        for at in list(holder) if type(holder) is dict else range(len(holder)):
            item = holder[at]
            # Other types are not ours to copy; what cannot be used of them is refused where it is read.
            if type(item) is dict or type(item) is list:
                if id(item) not in copies:
                    copies[id(item)] = item.copy()
                    todo.append(copies[id(item)])
                holder[at] = copies[id(item)]
    return top


def read_tools(tools: Tools | None) -> dict[str, Tool] | None:
    """Every tool by its name, in order; None where no tools were given.

    Raises:
        SchemaError: a definition in no known form, a name that stands twice (`DuplicateToolName`), a
            schema that is none.
    """
    if tools is None:
        return None
    found: dict[str, Tool] = {}
    for name, schema, mutates in _definitions(tools):
        if type(name) is not str or not name:
            raise SchemaError("a tool's name must be a text that is not empty")
        if name in found:
            raise DuplicateToolName(name)
        found[name] = Tool(name, None if schema is None else _compiled(schema, name), mutates)
    return found


def _compiled(schema: Json, name: str) -> Schema:
    from .schema import Schema  # and with it the validator, which calls without a schema never need

    return Schema(schema, f"the schema of `{name[:64]}`")


def _definitions(tools: Any) -> Iterator[tuple[Any, Json, bool]]:
    if isinstance(tools, Mapping) and isinstance(tools.get("tools"), list):
        tools = tools["tools"]  # the answer of an MCP server, as it is
    if isinstance(tools, Mapping):
        for name, schema in tools.items():
            yield name, schema, False
        return
    if isinstance(tools, str | bytes) or not isinstance(tools, Iterable):
        raise SchemaError("tools are a mapping of names to JSON Schemas, or a list of tool definitions")
    for each in tools:
        yield from _definition(each)


def _definition(each: Any) -> Iterator[tuple[Any, Json, bool]]:
    if not isinstance(each, Mapping):
        raise SchemaError(f"a tool definition must be an object, not `{type(each).__name__}`")
    declarations = next((each[key] for key in _GEMINI if isinstance(each.get(key), list)), None)
    if declarations is not None:
        for declaration in declarations:
            yield from _definition(declaration)
        return
    body = _body(each)
    if "name" not in body:
        raise SchemaError("a tool definition has no `name`")
    schema = next((body[key] for key in _SCHEMA_KEYS if body.get(key) is not None), None)
    if body is each.get("toolSpec") and isinstance(schema, Mapping):
        schema = schema.get("json")
    hints = each.get("annotations")
    yield body["name"], _plain(schema), isinstance(hints, Mapping) and hints.get("destructiveHint") is True


def _body(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a definition that holds the name; Bedrock, OpenAI Chat and its custom tools nest it."""
    nested = (definition.get(key) for key in ("function", "toolSpec", "custom"))
    return next((each for each in nested if isinstance(each, Mapping)), definition)


class Declared(Struct, frozen=True):
    """What a list of tools declares: `names` of the functions in order, `hosted` tools of the provider by
    type or as `mcp:SERVER`, and which names are `custom` tools (OpenAI), whose input is free text."""

    names: tuple[str, ...]
    hosted: tuple[str, ...] = ()
    custom: frozenset[str] = frozenset()


def declared(tools: Any) -> Declared:
    """The names that a list of tools declares, whose entries may be names and hosted tools too.

    Raises:
        SchemaError: it is no list of tools, or an entry is none.
    """
    names: list[Any] = []
    hosted: list[str] = []
    custom: set[str] = set()
    for entry in _entries(tools):
        if isinstance(entry, str):
            names.append(entry)
            continue
        tag = hosted_tag(entry)
        if tag is not None:
            hosted.append(tag)
            continue
        found = [name for name, _, _ in _definition(entry)]
        names += found
        if entry.get("type") == "custom":
            custom.update(name for name in found if isinstance(name, str))
    for name in names:
        if type(name) is not str:
            raise SchemaError("a tool's name must be a text that is not empty")
    return Declared(tuple(names), tuple(hosted), frozenset(custom))


def check_unique(names: tuple[str, ...]) -> None:
    """Raise DuplicateToolName where a name stands twice: no provider takes that."""
    if len(set(names)) != len(names):
        raise DuplicateToolName(next(name for name, often in Counter(names).items() if often > 1))


def narrowed(tools: Any, names: Container[str], *, hosted: bool = False) -> Any:
    """The same tools in the same form and order, without those that are not among the names.

    `hosted`: keep the provider's own tools, which have no name.
    """
    if isinstance(tools, Mapping):
        if isinstance(tools.get("tools"), list):
            return {**tools, "tools": narrowed(tools["tools"], names, hosted=hosted)}
        return {name: schema for name, schema in tools.items() if name in names}
    kept: list[Any] = []
    for entry in _entries(tools):
        if isinstance(entry, str):
            kept += [entry] if entry in names else []
            continue
        key = next((key for key in _GEMINI if isinstance(entry.get(key), list)), None)
        if key is not None:
            inside = [each for each in entry[key] if _body(each).get("name") in names]
            rest = {other: value for other, value in entry.items() if other != key} if hosted else {}
            if inside or rest:
                kept.append({**rest, key: inside} if inside else rest)
        elif hosted_tag(entry) is not None:
            kept += [entry] if hosted else []
        elif _body(entry).get("name") in names:
            kept.append(entry)
    return kept


def hosted_tag(entry: Mapping[str, Any]) -> str | None:
    """What stands for a tool that the provider runs, such as `file_search` or `mcp:SERVER`; else None."""
    kind = entry.get("type")
    if type(kind) is not str or "name" in _body(entry) or any(key in entry for key in _GEMINI):
        return None
    label = entry.get("server_label")
    return f"mcp:{label}" if kind == "mcp" and type(label) is str else kind


def _entries(tools: Any) -> Iterator[Any]:
    if isinstance(tools, Mapping) and isinstance(tools.get("tools"), list):
        tools = tools["tools"]
    if isinstance(tools, str | bytes) or not isinstance(tools, Iterable):
        raise SchemaError("tools are a mapping of names to JSON Schemas, or a list of names or definitions")
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


_DEEPEST = 100
_GEMINI = ("functionDeclarations", "function_declarations")
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS = frozenset({"items", "additionalProperties", "not"})
_CAPITALS = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
