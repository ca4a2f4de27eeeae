"""Tool definitions in the forms in which hosts hold them: a mapping, OpenAI, Anthropic, Gemini, MCP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from ..grammar.ast import Json
from .errors import SchemaError

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
        SchemaError: a definition in no known form, a name that stands twice, a schema that is none.
    """
    if tools is None:
        return None
    found: dict[str, Tool] = {}
    for name, schema, mutates in _definitions(tools):
        if type(name) is not str or not name:
            raise SchemaError("a tool's name must be a text that is not empty")
        if name in found:
            raise SchemaError(f"two tools are called `{name[:64]}`")
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
    declarations = each.get("functionDeclarations", each.get("function_declarations"))
    if isinstance(declarations, list):  # Gemini
        for declaration in declarations:
            yield from _definition(declaration)
        return
    body = each.get("function") if isinstance(each.get("function"), Mapping) else each
    assert isinstance(body, Mapping)
    if "name" not in body:
        raise SchemaError("a tool definition has no `name`")
    schema = next((body[key] for key in _SCHEMA_KEYS if body.get(key) is not None), None)
    hints = each.get("annotations")
    yield body["name"], _plain(schema), isinstance(hints, Mapping) and hints.get("destructiveHint") is True


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
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS = frozenset({"items", "additionalProperties", "not"})
_CAPITALS = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
