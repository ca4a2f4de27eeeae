"""What could be the URL of a store with a password in it: no error shows it.

It goes by what a value says, and not by how it is written: YAML has many ways to write one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

import yaml

from ..grammar.diagnostics import nearest

# The value of `state`, up to the next setting at the margin, and what stands behind the `://` of other URLs:
# in a comment, or where the file is no YAML.
_WRITTEN = re.compile(
    r"(?ims)(?<=\bstate)['\"]?\s*[:=].*?(?=^['\"]?[a-z-]+['\"]?[ \t]*:(?:\s|\Z)|\Z)|(?<=://)[^\s'\"]+"
)


def without_passwords(text: str) -> str:
    """A deployment file as errors quote it, with stars for what could be such a URL."""
    letters = list(text)
    for start, end in _places(text):
        letters[start:end] = _stars(text[start:end])
    return _WRITTEN.sub(lambda found: _stars(found[0]), "".join(letters))


def without_password(name: str) -> str:
    """A name that stands where that of a setting does, as errors say it."""
    return "***" if _could_be(name) else name


def _stars(text: str) -> str:
    return re.sub(r"\S", "*", text)


def _could_be(value: str) -> bool:
    """Is this such a URL, also one from which its scheme, its `//` or its host is missing?"""
    rest = value.partition(":")[2]
    return "//" in value or ":/" in value or "@" in rest or "?" in rest


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Where such values stand, and where the value of `state` does, by whatever name near that."""
    try:
        root = yaml.compose(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        yield from _places_in_part(text)
        return
    stack, seen = [(root, False)], set()
    if isinstance(root, yaml.MappingNode):
        keys = ((key.value, item) for key, item in root.value if isinstance(key, yaml.ScalarNode))
        stack += [(item, True) for name, item in keys if nearest(name.lower(), ("state",))]
    while stack:
        node, meant = stack.pop()
        if (id(node), meant) in seen:  # aliases may lead round and round
            continue
        seen.add((id(node), meant))
        if isinstance(node, yaml.MappingNode):
            stack += [(each, meant) for pair in node.value for each in pair]
        elif isinstance(node, yaml.SequenceNode):
            stack += [(each, meant) for each in node.value]
        elif isinstance(node, yaml.ScalarNode) and (meant or _could_be(node.value)):
            yield node.start_mark.index, node.end_mark.index


def _places_in_part(text: str) -> Iterator[tuple[int, int]]:
    """The same in what is no YAML: as far as it is some, and from such a word to the end of its line."""
    with suppress(yaml.YAMLError, ValueError, RecursionError):
        for token in yaml.scan(text, yaml.CSafeLoader):
            if isinstance(token, yaml.ScalarToken) and _could_be(token.value):
                yield token.start_mark.index, token.end_mark.index
    for line in re.finditer(r".+", text):
        for word in re.finditer(r"\S+", line[0]):
            if _could_be(word[0]):
                yield line.start() + word.start(), line.end()
                break
