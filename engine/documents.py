"""Documents beside rule files, in JSON or YAML, as values of the JSON domain."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any, ClassVar

from ..grammar.ast import Json
from .domain import DEEPEST, Limits, value_fault
from .errors import CallgateError
from .ruletext import LARGEST

_NO_JSON = MappingProxyType(
    {
        "limit": "is too large or nested too deep, once its aliases are followed",
        "number": "holds a number that is not finite or cannot be kept exactly",
        "surrogate": "holds half of a surrogate pair",
    }
)
_MERGE = "tag:yaml.org,2002:merge"
_STRING = "tag:yaml.org,2002:str"
_TAGS = (_STRING, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


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


def plain_value(text: str) -> Json:
    """What text without quotes stands for: as in JSON, and `~` for null."""
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?(?:0|[1-9][0-9]{0,639})", text):
        return int(text)
    if re.fullmatch(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", text):
        return float(text)
    return text


def _json(text: str) -> Json:
    from ..rules.strictjson import JsonError, decode

    try:
        return decode(text, depth=DEEPEST)
    except JsonError as error:
        line = f" in line {text.count(chr(10), 0, error.position) + 1}" if error.code == "syntax" else ""
        raise DocumentError(f"is no JSON: {error}{line}") from None


def _yaml(text: str) -> Json:
    import yaml

    flat: set[int] = set()  # the mappings that are looked through

    class Loader(yaml.CSafeLoader):
        """Words without quotes are what they are in JSON, and keys are texts; none may stand twice."""

        yaml_implicit_resolvers = {  # noqa: RUF012
            None: [(_MERGE, re.compile("<<$")), ("word", re.compile(""))]
        }
        # Those of other tags make what JSON has not, and raise what they like.
        yaml_constructors: ClassVar[Any] = {
            **{tag: yaml.SafeLoader.yaml_constructors[tag] for tag in (None, *_TAGS)},
            "word": lambda loader, node: plain_value(loader.construct_scalar(node)),
        }

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            # Once, and first of all: what is merged into it stands in it afterwards, before its own keys.
            if id(node) not in flat:
                flat.add(id(node))
                self._check(node)
            super().flatten_mapping(node)
            for key, _ in node.value:
                if key.tag == "word":
                    key.tag = _STRING

        def _check(self, node: yaml.MappingNode) -> None:
            seen = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                    if key.value in seen:
                        raise yaml.MarkedYAMLError(
                            problem=f"the key `{key.value[:64]}` stands twice", problem_mark=key.start_mark
                        )
                    seen.add(key.value)

    try:
        document: Json = yaml.load(text, Loader)
        # Aliases make small files large values.
        fault = value_fault(document, Limits(input_bytes=LARGEST, depth=DEEPEST))
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise DocumentError(f"is no YAML: {error.problem or error.context}{line}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DocumentError(f"is no YAML: {' '.join(str(error).split())}") from None
    if fault is not None:
        raise DocumentError(_NO_JSON[fault.code])
    return document
