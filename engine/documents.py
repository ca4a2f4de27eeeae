"""Documents beside rule files, in JSON or YAML, as values of the JSON domain."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..grammar.ast import Json
from .domain import DEEPEST, Limits, value_fault
from .errors import CallgateError, InputError
from .ruletext import LARGEST

_NO_JSON = MappingProxyType(
    {
        "limit": "is too large or nested too deep, once its aliases are followed",
        "number": "holds a number that is not finite or cannot be kept exactly",
        "surrogate": "holds half of a surrogate pair",
    }
)


class DocumentError(CallgateError):
    """A document that cannot be read exactly; the message says why, and goes on after the file's name."""


def decode_document(data: bytes, name: str) -> Json:
    """A JSON document, or a YAML document where the name says so.

    Raises:
        DocumentError: it cannot be read exactly.
    """
    if len(data) > LARGEST:
        raise DocumentError(f"is larger than {LARGEST} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"is no UTF-8 text, at byte {error.start + 1}") from None
    return _yaml(text) if name.endswith((".yaml", ".yml")) else _json(text)


def _json(text: str) -> Json:
    from ..rules.strictjson import JsonError, decode

    try:
        return decode(text, depth=DEEPEST)
    except JsonError as error:
        line = f" in line {text.count(chr(10), 0, error.position) + 1}" if error.code == "syntax" else ""
        raise DocumentError(f"is no JSON: {error}{line}") from None


def _yaml(text: str) -> Json:
    import yaml

    class Loader(yaml.CSafeLoader):
        """Refuses a key that stands twice, of which YAML would keep the last."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                    if (key.tag, key.value) in seen:
                        raise yaml.MarkedYAMLError(
                            problem=f"the key `{key.value[:64]}` stands twice", problem_mark=key.start_mark
                        )
                    seen.add((key.tag, key.value))
            return super().construct_mapping(node, deep)

    try:
        document: Json = yaml.load(text, Loader)
        # Aliases make small files large values, and YAML has types that JSON lacks.
        fault = value_fault(document, Limits(input_bytes=LARGEST, depth=DEEPEST))
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise DocumentError(f"is no YAML: {error.problem or error.context}{line}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DocumentError(f"is no YAML: {' '.join(str(error).split())}") from None
    except InputError as error:
        raise DocumentError(str(error)) from None
    if fault is not None:
        raise DocumentError(_NO_JSON[fault.code])
    return document
