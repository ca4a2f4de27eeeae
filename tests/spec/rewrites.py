"""Stage 4 in the plainest way: each kind makes of a value a new value and the paths of its changes.

A value is never changed: every step copies the whole of it.
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import isfinite
from typing import Any

from callgate.grammar.ast import STAR, Pointer, Text, Word
from callgate.rules.kind import Spec

from .places import Path, Place, types_of
from .text import Broken, Cut, Reader, Refused, exact

GONE = object()
Result = tuple[Any, list[Path]]  # the new value, and where it changed


class Impossible(Exception):
    """A step that cannot be applied."""


def fresh(value: Any) -> Any:
    """A copy in which no two places share an object, as `deepcopy` would let them."""
    if isinstance(value, dict):
        return {key: fresh(item) for key, item in value.items()}
    return [fresh(item) for item in value] if isinstance(value, list) else value


def index(segment: Any) -> int | None:
    if isinstance(segment, int):
        return segment
    return int(segment) if isinstance(segment, str) and re.fullmatch("0|[1-9][0-9]{0,8}", segment) else None


def step(value: Any, segment: Any) -> Any:
    if isinstance(value, dict) and isinstance(segment, str):
        return value.get(segment, GONE)
    number = index(segment)
    if isinstance(value, list) and number is not None and number < len(value):
        return value[number]
    return GONE


def get(value: Any, path: tuple[Any, ...]) -> Any:
    for segment in path:
        value = step(value, segment) if value is not GONE else GONE
    return value


def places(value: Any, segments: tuple[Any, ...]) -> list[Path]:
    """Where a selector leads."""
    found: list[Path] = [()]
    for segment in segments:
        below: list[Path] = []
        for path in found:
            here = get(value, path)
            if segment is STAR or segment == "*":
                below += [(*path, at) for at in range(len(here))] if isinstance(here, list) else []
            elif step(here, segment) is not GONE:
                number = index(segment)
                part = number if isinstance(here, list) and number is not None else segment
                below.append((*path, part))
        found = below
    return found


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value at a place whose parent is there."""
    if not path:
        return new
    result = fresh(value)
    parent = get(result, path[:-1])
    number = index(path[-1])
    parent[number if isinstance(parent, list) else path[-1]] = new
    return result


def drop(value: Any, path: tuple[Any, ...]) -> Any:
    result = fresh(value)
    parent = get(result, path[:-1])
    del parent[index(path[-1]) if isinstance(parent, list) else path[-1]]
    return result


def alias(spec: Spec, parent: Any, place: Place | None) -> Result:
    """`parent` is the object that holds the key."""
    key = str(spec.selectors[0].segments[-1])
    declared = place.declares() if place is not None else set()
    if not isinstance(parent, dict) or (spec.in_glob and key not in declared):
        return parent, []
    names = [each for each in spec.clauses["from"] if each not in declared and each in parent]
    accepted = set(spec.clauses.get("accepting") or ()) or None
    held = parent.get(key)
    missing = held is None or (held == "" and "empty-is-missing" in spec.clauses)
    changed: list[Path] = []
    result = dict(parent)
    if missing:
        for name in names:
            value = parent[name]
            if value != "" and (accepted is None or types_of(value) & accepted):
                result[key] = value
                del result[name]
                changed.append((key,))
                break
        else:
            return parent, []
    for name in names:
        if name in result and exact(result[name]) == exact(result[key]):
            del result[name]
            changed.append((name,))
    return (result, changed) if changed else (parent, [])


def unlink(text: str) -> str:
    """Every markdown link whose text is its address becomes the text, from left to right."""
    at = 0
    while True:
        found = link_from(text, at)
        if found is None:
            return text
        start, end, inner = found
        text = text[:start] + inner + text[end:]
        at = start + len(inner)


def link_from(text: str, at: int) -> tuple[int, int, str] | None:
    """The link that closes first at or after `at`: its start, its end, its text."""
    for close in range(at, len(text)):
        if text[close] != "]":
            continue
        depth, start = 1, close - 1
        while start >= at:
            depth += {"]": 1, "[": -1}.get(text[start], 0)
            if depth == 0 or text[start] == "\n":
                break
            start -= 1
        if depth or start < at:
            continue
        inner = text[start + 1 : close]
        for scheme in ("http://", "https://"):
            whole = f"[{inner}]({scheme}{inner})"
            if inner and text.startswith(whole, start):
                return start, start + len(whole), inner
    return None


def filesystem_path(_spec: Spec, value: Any, _place: Place | None) -> Result:
    if isinstance(value, str) and (found := unlink(value)) != value:
        return found, [()]
    return value, []


def filesystem_path_array(_spec: Spec, value: Any, _place: Place | None) -> Result:
    if not isinstance(value, list):
        return value, []
    result = [unlink(each) if isinstance(each, str) else each for each in value]
    changed: list[Path] = [(at,) for at in range(len(value)) if exact(result[at]) != exact(value[at])]
    return (result, changed) if changed else (value, [])


def read_plain(text: str) -> Any:
    """The JSON value that a text is, without any mending; `GONE` if it is none."""
    reader = Reader(text)
    try:
        value = reader.whole()
    except (Broken, Cut, Refused):
        return GONE
    return GONE if reader.refused or reader.controls or reader.merged else value


def string_or_array(_spec: Spec, value: Any, place: Place | None) -> Result:
    if place is None or not isinstance(value, str) or place.accepts(value) or "array" not in place.types():
        return value, []
    found = read_plain(value) if value.lstrip().startswith("[") else [value]
    if isinstance(found, list) and place.accepts(found):
        return found, [()]
    return value, []


def scalar(spec: Spec, value: Any, place: Place | None) -> Result:
    if place is None or place.accepts(value):
        return value, []
    wanted, found = spec.clauses["as"], GONE
    if wanted == "number" and isinstance(value, str):
        text = value.strip(" \t\n\r\v\f")
        if re.fullmatch(r"-?(0|[1-9][0-9]*)", text):
            found = int(text)
        elif re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
            number = float(text)
            if isfinite(number) and Decimal(repr(number)) == Decimal(text):
                found = number
    if wanted == "boolean" and isinstance(value, str) and value.lower() in ("true", "false"):
        found = value.lower() == "true"
    if wanted == "string" and isinstance(value, bool):
        found = "true" if value else "false"
    elif wanted == "string" and isinstance(value, int | float):
        found = repr(value)
    wants = {"number", "integer"} if wanted == "number" else {wanted}
    if found is GONE or not wants & place.types() or not place.accepts(found):
        return value, []
    return found, [()]


def anchor_bleed(_spec: Spec, value: Any, place: Place | None) -> Result:
    if not isinstance(value, str) or (place is not None and place.is_pattern()):
        return value, []
    bare = value
    while bare.startswith("^"):
        bare = bare[1:]
    while bare.endswith("$"):
        bare = bare[:-1]
    return (bare, [()]) if bare and bare != value else (value, [])


TOKENS = ("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")


def untoken(text: str, key: bool = False) -> str:
    """Without the tokens at both ends; for a key also without the white space that was around it then."""
    bare = text
    while True:
        before = bare
        for token in TOKENS:
            bare = bare.removeprefix(token).removesuffix(token)
        if key and bare != text:
            bare = bare.strip()
        if bare == before:
            if not key and bare != text and bare[:1].isspace() and text.endswith(bare):
                return text  # a sentence about the token, or a command
            if not key and bare != text and bare[-1:].isspace() and text.startswith(bare):
                return text
            return text if not bare or any(token in bare for token in TOKENS) else bare


def grammar_tokens(_spec: Spec, value: Any, _place: Place | None) -> Result:
    if isinstance(value, str):
        bare = untoken(value)
        return (bare, [()]) if bare != value else (value, [])
    if not isinstance(value, dict):
        return value, []
    names = {key: untoken(key, key=True) for key in value}
    result: dict[str, Any] = {}
    changed: list[Path] = []
    for key, item in value.items():
        name = names[key]
        if name != key and list(names.values()).count(name) > 1:
            result[key] = item
            continue
        result[name] = untoken(item) if isinstance(item, str) else item
        if name != key or exact(result[name]) != exact(item):
            changed.append((name,))
    return (result, changed) if changed else (value, [])


CLOSING = {"parameter", "param", "arg_key", "arg_value", "argument", "arguments", "invoke", "function",
           "function_call", "function_calls", "tool_call", "tool_calls", "tool_use"}  # fmt: skip


def untag(text: str, field: str) -> str:
    """Without the run of closing tags at its end, and the white space between them only."""
    cut = at = len(text)
    while True:
        found = re.search(r"</([^<>]*)>\Z", text[:at])
        if found is not None and found[1] == field and field in PAGE and cut == len(text):
            break
        if found is None or not closes(found[1], field) or re.search(rf"<{re.escape(found[1])}[\s>/=]", text):
            break
        cut = found.start()
        at = len(text[:cut].rstrip())
    kept = text[:cut]
    if not kept.strip() or kept[-1] in " \t" or kept.count("```") % 2:
        return text
    return kept


PAGE = [
    "html",
    "head",
    "body",
    "title",
    "style",
    "script",
    "template",
    "svg",
    "math",
    "form",
    "table",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "nav",
    "code",
    "pre",
    "label",
    "summary",
    "details",
    "button",
    "div",
    "span",
    "p",
    "a",
    "b",
    "i",
    "ul",
    "ol",
    "li",
    "td",
    "tr",
    "th",
    "select",
    "option",
    "textarea",
]


def closes(name: str, field: str) -> bool:
    """Is it the field's own tag, or a parameter's or an invocation's, with or without a prefix?"""
    prefix = re.fullmatch(r"(?:[A-Za-z_][\w.-]*:|[|｜‖]{1,2}[\w.-]+[|｜‖]{1,2})?([^\s/:|｜‖]+)", name)
    own = name == field and re.fullmatch(r"[^\s<>/=]+", field) is not None
    return own or (prefix is not None and prefix[1] in CLOSING)


def closing_tags(spec: Spec, value: Any, _place: Place | None) -> Result:
    named = [each for each in spec.selectors[0].segments if isinstance(each, str)]
    if isinstance(value, str):
        bare = untag(value, named[-1] if named else "")
        return (bare, [()]) if bare != value else (value, [])
    if not isinstance(value, dict):
        return value, []
    result = {key: untag(item, key) if isinstance(item, str) else item for key, item in value.items()}
    changed: list[Path] = [(key,) for key in value if exact(result[key]) != exact(value[key])]
    return (result, changed) if changed else (value, [])


def html_entities(_spec: Spec, value: Any, _place: Place | None) -> Result:
    if not isinstance(value, str):
        return value, []
    named = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}

    def decoded(found: re.Match[str]) -> str:
        if found[0] in named:
            return named[found[0]]
        code = int(found[1]) if found[1] else int(found[2], 16)
        return found[0] if code == 0 or code > 0x10FFFF or 0xD800 <= code < 0xE000 else chr(code)

    result = re.sub("&(?:amp|lt|gt|quot|apos|#([0-9]{1,10})|#[xX]([0-9a-fA-F]{1,8}));", decoded, value)
    return (result, [()]) if result != value else (value, [])


def structural(spec: Spec, value: Any, place: Place | None) -> Result:
    result = value
    try:
        for statement in spec.block or ():
            atoms = [atom for group in statement.items for atom in group]
            selectors = [each.segments for each in atoms if isinstance(each, Pointer)]
            selectors += [()] * sum(isinstance(each, Text) and each.value == "" for each in atoms[:1])
            result = one_step(statement.word.text, selectors, atoms, result, place)
    except Impossible:
        return value, []
    return (result, [()]) if exact(result) != exact(value) else (value, [])


def one_step(word: str, selectors: list[Any], atoms: list[Any], value: Any, place: Place | None) -> Any:
    source = selectors[0]
    found = get(value, source)
    if word == "set":
        over = any(isinstance(each, Word) and each.text == "over" for each in atoms)
        literal = next(each.value for each in atoms if not isinstance(each, Pointer | Word))
        if found is not GONE:
            if not over:
                raise Impossible
            return put(value, source, fresh(literal))
        return make(value, source, fresh(literal), place)
    if found is GONE:
        raise Impossible
    if word == "remove":
        return drop(value, source)
    if word in ("move", "copy"):
        rest = drop(value, source) if word == "move" else value
        if get(rest, selectors[1]) is not GONE:
            raise Impossible
        return make(rest, selectors[1], fresh(found), place)
    separator = next((each.value for each in atoms if isinstance(each, Text)), "")
    if word == "wrap":
        new: Any = [found]
    elif word == "unwrap" and isinstance(found, list) and len(found) == 1:
        new = found[0]
    elif word == "parse" and isinstance(found, str) and read_plain(found) is not GONE:
        new = read_plain(found)
    elif word == "join" and isinstance(found, list) and all(isinstance(each, str) for each in found):
        new = separator.join(found)
    elif word == "split" and isinstance(found, str):
        new = found.split(separator)
    else:
        raise Impossible
    return put(value, source, new)


def make(value: Any, path: tuple[Any, ...], new: Any, place: Place | None) -> Any:
    """The value with `new` at a place that is missing, and with the parents that it needs."""
    if not path:
        return new
    here = get(value, path[:1])
    if here is not GONE:
        return put(value, path[:1], make(here, path[1:], new, place and place.child(path[0])))
    inner = make_missing(path[1:], new, place and place.child(path[0]))
    if isinstance(value, dict):
        return {**value, path[0]: inner}
    if isinstance(value, list) and index(path[0]) == len(value):
        return [*value, inner]
    raise Impossible


def make_missing(path: tuple[Any, ...], new: Any, place: Place | None) -> Any:
    """`new` inside containers that are not there: what the schema says, else an array before `0`."""
    if not path:
        return new
    types = place.types() & {"array", "object"} if place is not None else set()
    inner = make_missing(path[1:], new, place and place.child(path[0]))
    if types == {"array"} or (path[0] == "0" and types != {"object"}):
        if path[0] != "0":
            raise Impossible
        return [inner]
    return {path[0]: inner}


KINDS = {
    "alias": alias,
    "filesystem-path": filesystem_path,
    "filesystem-path-array": filesystem_path_array,
    "string-or-array": string_or_array,
    "scalar": scalar,
    "anchor-bleed": anchor_bleed,
    "grammar-tokens": grammar_tokens,
    "closing-tags": closing_tags,
    "html-entities": html_entities,
    "structural": structural,
}
