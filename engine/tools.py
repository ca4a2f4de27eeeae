"""The registered tools: own copies of what the host gave, each with its schema compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..grammar.ast import Json
from .definitions import Tools, definitions
from .errors import DuplicateToolName, InputError, SchemaError

if TYPE_CHECKING:
    from .schema import Schema


class Tool(Struct, frozen=True):
    """A registered tool. `schema` None: it takes any object. `mutates`, `reads`: so its annotations say."""

    name: str
    schema: Schema | None
    mutates: bool = False
    reads: bool = False


def own_copy(tools: Tools | None) -> Any:
    """The tools as plain values of our own, so that nobody changes them later; an iterator is read once.

    Raises:
        InputError: it raises.
    """
    if isinstance(tools, str | bytes) or not isinstance(tools, Mapping | Iterable):
        return tools  # refused where it is read
    try:
        top: Any = dict(tools) if isinstance(tools, Mapping) else list(tools)
    except Exception as error:  # of the host's own iterator
        raise InputError(
            f"what is given cannot be read: {type(error).__name__}: {str(error)[:200]}"
        ) from error
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
    for name, schema, mutates, reads in definitions(tools):
        if type(name) is not str or not name:
            raise SchemaError("a tool's name must be a text that is not empty")
        if name in found:
            raise DuplicateToolName(name)
        found[name] = Tool(name, None if schema is None else _compiled(schema, name), mutates, reads)
    return found


def _compiled(schema: Json, name: str) -> Schema:
    from .schema import Schema  # and with it the validator, which calls without a schema never need

    return Schema(schema, f"the schema of `{name[:64]}`")
