"""Random schemas, rules and calls that meet: valid calls, and valid calls damaged in the ways of models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from . import dice as st

Path = tuple[str | int, ...]

PLAIN_KEYS = ["path", "limit", "labels", "mode", "opts", "edits"]
ODD_KEYS = ["a/b", "~t", "", "0", "__proto__", "constructor", "é", "m~1n"]
ALIASES = ["file_path", "filePath", "max", "tags", "kind"]
TEXTS = [
    "",
    "a",
    "x y",
    "/repo/a.ts",
    "5",
    "5.5",
    "true",
    "null",
    "[1]",
    '{"a": 1}',
    "^x$",
    "a,b",
    "Fast",
    "é\n",
    "0.10",
]
TOOL = "edit"
MODEL = "kimi-k2"

keys = st.sampled_from(PLAIN_KEYS) | st.sampled_from(PLAIN_KEYS + ODD_KEYS)
plain_keys = st.sampled_from(PLAIN_KEYS)
texts = st.sampled_from(TEXTS) | st.text("ab^$<>& \n", max_size=4)
numbers = st.sampled_from([0, 1, -1, 5, 2**53 + 1, 10**30, 1.0, 0.5, -0.0, 1e300])
scalars = st.none() | st.booleans() | numbers | texts
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    depth=2,
)


# Schemas --------------------------------------------------------------------------------------


@st.composite
def subschemas(draw: st.DrawFn, depth: int, names: tuple[str, ...], key: st.Strategy[str] = keys) -> Any:
    """A schema for one place; `names` are what `$defs` will hold."""
    leaf = ["string", "string", "integer", "number", "boolean", "null", "enum", "any", "types"]
    inner = ["array", "array", "object", "object", "anyOf", "oneOf", "allOf"] if depth else []
    what = draw(st.sampled_from(leaf + inner + (["ref"] * 2 if names else [])))
    below = subschemas(max(0, depth - 1), names, key)
    match what:
        case "string":
            extra: st.Strategy[Any] = st.sampled_from(
                [{}, {}, {}, {"minLength": 1}, {"maxLength": 3}, {"pattern": "^[a-z/]"}]
            )
            return {"type": "string", **draw(extra)}
        case "integer" | "number":
            return {"type": what, **draw(st.sampled_from([{}, {}, {"minimum": 0}, {"maximum": 4}]))}
        case "boolean" | "null":
            return {"type": what}
        case "enum":
            members = ["fast", "Slow", "SLOW", "a", "null", "5", 5, None, True]
            return {"enum": draw(st.lists(st.sampled_from(members), min_size=1, max_size=3, unique_by=repr))}
        case "any":
            return draw(st.sampled_from([{}, True]))
        case "types":
            named = ["string", "integer", "number", "boolean", "null", "array", "object"]
            return {"type": draw(st.lists(st.sampled_from(named), min_size=1, max_size=3, unique=True))}
        case "array":
            size: st.Strategy[Any] = st.sampled_from(
                [{}, {}, {"minItems": 1}, {"maxItems": 2}, {"uniqueItems": True}]
            )
            return {"type": "array", "items": draw(below), **draw(size)}
        case "object":
            return draw(objects(max(0, depth - 1), names, key))
        case "ref":
            name = draw(st.sampled_from(names))
            return {"$ref": "#/$defs/" + name.replace("~", "~0").replace("/", "~1")}
        case _:
            return {what: draw(st.lists(below, min_size=1, max_size=3))}


@st.composite
def objects(draw: st.DrawFn, depth: int, names: tuple[str, ...], key: st.Strategy[str] = keys) -> Any:
    """A schema of an object."""
    properties = draw(st.dictionaries(key, subschemas(depth, names, key), min_size=1, max_size=4))
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True, max_size=2))
    if required:
        schema["required"] = required
    rest = draw(st.sampled_from([None, None, False, {"type": "string"}]))
    if rest is not None:
        schema["additionalProperties"] = rest
    return schema


@st.composite
def schemas(draw: st.DrawFn, key: st.Strategy[str] = keys) -> Any:
    """A whole schema: an object at the root, most often with `$defs`."""
    names = draw(st.sampled_from([(), ("node",), ("node", "a/b~c")]))
    schema = draw(objects(2, names, key))
    if names:
        schema["$defs"] = {name: draw(subschemas(1, names, key)) for name in names}
    if draw(st.integers(0, 5)) == 0:
        schema = {**schema, "allOf": [draw(objects(0, (), key))]}
    return schema


def validator(schema: Any) -> Any:
    """The judge that the tests trust."""
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=False)


# Valid values ---------------------------------------------------------------------------------


@st.composite
def values_of(draw: st.DrawFn, schema: Any, root: Any, depth: int = 6) -> Any:
    """A value that the schema probably takes."""
    if not isinstance(schema, dict) or depth <= 0:
        return draw(scalars)
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
        return draw(values_of(root["$defs"][name], root, depth - 1))
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema and "type" not in schema:
            return draw(values_of(draw(st.sampled_from(schema[word])), root, depth - 1))
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = draw(st.sampled_from(kind))
    match kind:
        case "string":
            if "pattern" in schema:
                return draw(st.sampled_from(["a", "/repo/[a.ts](http://a.ts)", "/x$"]))
            top = schema.get("maxLength", 99)
            return draw(texts.filter(lambda text: schema.get("minLength", 0) <= len(text) <= top))
        case "integer":
            return draw(st.sampled_from([0, 1, 4, 2.0]))
        case "number":
            return draw(st.sampled_from([0, 1, 4, 2.0, 0.5]))
        case "boolean":
            return draw(st.booleans())
        case "null":
            return None
        case "array":
            low, high = schema.get("minItems", 0), schema.get("maxItems", 3)
            return draw(
                st.lists(values_of(schema.get("items", True), root, depth - 1), min_size=low, max_size=high)
            )
        case "object":
            return draw(_object_of(schema, root, depth))
    return draw(json_values)


@st.composite
def _object_of(draw: st.DrawFn, schema: Any, root: Any, depth: int) -> Any:
    found: dict[str, Any] = {}
    for part in (schema, *schema.get("allOf", ())):
        for name, inner in part.get("properties", {}).items():
            if name not in found and (name in part.get("required", ()) or draw(st.booleans())):
                found[name] = draw(values_of(inner, root, depth - 1))
    return found


# Rules ----------------------------------------------------------------------------------------


def pointer(path: tuple[Any, ...]) -> str:
    """A selector as it is written in a rule file: every segment quoted, but `*`."""
    return "".join("/*" if part == "*" else "/" + json.dumps(str(part)) for part in path) or '""'


def places_in(schema: Any, root: Any, depth: int = 3) -> list[Path]:
    """Selectors that the schema knows."""
    if not isinstance(schema, dict) or depth == 0:
        return [()]
    found: list[Path] = [()]
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
        found += places_in(root["$defs"][name], root, depth - 1)
    for word in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(word, ()):
            found += places_in(each, root, depth - 1)
    for name, inner in schema.get("properties", {}).items():
        found += [(name, *rest) for rest in places_in(inner, root, depth - 1)]
    if "items" in schema:
        found += [("*", *rest) for rest in places_in(schema["items"], root, depth - 1)]
    return list(dict.fromkeys(found))


REWRITES = [
    "alias", "alias", "alias", "filesystem-path", "filesystem-path-array", "string-or-array", "scalar",
    "anchor-bleed", "grammar-tokens", "closing-tags", "html-entities", "structural",
]  # fmt: skip
SETTINGS = ["root", "droppable", "policy", "ground", "disable", "default"]
PERMITS = ["deny", "ask", "allow"]
BUILT_IN = [
    "repair.alias", "repair.drop-null", "repair.parse-json", "repair.parse-scalar", "repair.wrap-array",
    "repair.unwrap-array", "repair.enum-case", "repair.scalar-to-text", "envelope.decode-json",
    "envelope.unwrap-object", "envelope.empty", "envelope.complete", "repair.*",
]  # fmt: skip


@st.composite
def conditions(draw: st.DrawFn, places: list[Path]) -> str:
    """A condition over places without `*`, now and then with one in `any` or `every`."""
    plain = [each for each in places if "*" not in each and each] or [("path",)]
    sent = [(name,) for name in ALIASES]  # only in what the model sent
    one = pointer(draw(st.sampled_from(plain) | st.sampled_from(plain + sent)))
    starred = [each for each in places if "*" in each]
    tests = [
        f"present {one}",
        f"missing {one}",
        f"{one} == {json.dumps(draw(scalars))}",
        f"{one} != {json.dumps(draw(scalars))}",
        f"{one} is {draw(st.sampled_from(['string', 'array', 'object', 'integer', 'null']))}",
        f"{one} < 3",
        f"{one} in [1, 1.5, \"a\", null, true]",
        f"{one} not in [1, \"a\"]",
        f"{one} contains \"a\"",
        f"{one} matches '^a'",
        f"count({one}) > 1",
        f"length({one}) >= 2",
        "context.role == \"admin\"",
        f"{one}",
    ]  # fmt: skip
    if starred:
        star = pointer(draw(st.sampled_from(starred)))
        tests += [f'any {star} == "a"', f"every {star} is string", f"any {star} (present ./path)"]
    test: str = draw(st.sampled_from(tests))
    how = draw(st.integers(0, 5))
    if how == 0:
        return f"not ({test})"
    if how == 1:
        return f"({test}) {draw(st.sampled_from(['and', 'or']))} ({draw(st.sampled_from(tests))})"
    return test


@dataclass(frozen=True)
class Written:
    """One rule: its text, and what a call must hold for it to have something to do."""

    text: str
    word: str
    place: Path
    names: tuple[str, ...] = ()


@st.composite
def rules(draw: st.DrawFn, schema: Any, words: list[str], key: st.Strategy[str] = keys) -> Written:
    """One rule of a tool block, most often about a place that the schema knows."""
    places = places_in(schema, schema)
    place: Path = draw(st.sampled_from(places))
    if draw(st.integers(0, 5)) == 0:
        place = (*place, draw(key))
    named = place if place and place[-1] != "*" else (*place, draw(key))
    word = draw(st.sampled_from(words))
    when = ""
    if draw(st.integers(0, 3)) == 0:
        when = f" {draw(st.sampled_from(['when', 'unless']))} {draw(conditions(places))}"
    family = draw(st.sampled_from(['for "kimi"', 'for "kimi"', 'for "glm", "k2"', 'for "glm"']))
    maybe = draw(st.sampled_from(["", "", "", " " + family]))
    shadow = draw(st.sampled_from([""] * 9 + ["shadow "]))
    match word:
        case "alias":
            names = draw(
                st.lists(st.sampled_from(ALIASES) | key, min_size=1, max_size=3, unique=True).map(
                    lambda found: [name for name in found if name and name != named[-1]] or ["zz"]
                )
            )
            accepting = draw(
                st.sampled_from(["", "", " accepting string", " accepting string, null, integer"])
            )
            empty = draw(st.sampled_from(["", "", " empty-is-missing"]))
            text = (
                f"{shadow}alias {pointer(named)} from {', '.join(map(json.dumps, names))}{accepting}{empty}"
                f"{maybe}{when}"
            )
            return Written(text, word, named, tuple(names))
        case "scalar":
            wanted = draw(st.sampled_from(["number", "string", "boolean"]))
            return Written(f"{shadow}scalar {pointer(place)} as {wanted}{maybe}{when}", word, place)
        case "filesystem-path" | "filesystem-path-array" | "string-or-array":
            return Written(f"{shadow}{word} {pointer(place)}{maybe}{when}", word, place)
        case "anchor-bleed" | "grammar-tokens" | "closing-tags" | "html-entities":
            return Written(f"{shadow}{word} {pointer(place)} {family}{when}", word, place)
        case "structural":
            steps = draw(st.lists(_steps(key), min_size=1, max_size=2))
            return Written(
                f'{shadow}structural "s" {pointer(place)}{maybe} {{ {"; ".join(steps)} }}', word, place
            )
        case "root":
            plain = tuple(part for part in named if part != "*")
            return Written(f"root {pointer(plain)}{draw(st.sampled_from(['', ' in-array']))}", word, place)
        case "droppable":
            return Written(f"droppable {pointer(named)}", word, place)
        case "disable":
            return Written(f'disable "{draw(st.sampled_from(BUILT_IN))}" because "of this test"', word, place)
        case "deny" | "ask":
            return Written(f'{shadow}{word} "why"{maybe}{when}', word, place)
        case _:
            return Written(f"{shadow}allow{maybe}{when}", word, place)


@st.composite
def _steps(draw: st.DrawFn, key: st.Strategy[str]) -> str:
    one, other = pointer((draw(key),)), pointer((draw(key | st.sampled_from(ALIASES)),))
    target = draw(st.sampled_from([other, other + "/0", other + "/x"]))
    steps = [
        f"move {one} to {target}",
        f"copy {one} to {target}",
        f"remove {one}",
        f"wrap {one}",
        f"unwrap {one}",
        f"parse {one}",
        f'join {one} with ","',
        f'split {one} on ","',
        f"set {one} 5",
        f'set {one} {{"x": [1]}} over',
    ]
    step = draw(st.sampled_from(steps))
    return step if not step.startswith("move") or one != other else f"remove {one}"


@st.composite
def rule_texts(
    draw: st.DrawFn, schema: Any, words: list[str] | None = None, key: st.Strategy[str] = keys
) -> tuple[str, list[Written]]:
    """A whole rule text for the one tool, and its rules."""
    words = [*REWRITES * 2, *PERMITS, "root", "droppable", "disable"] if words is None else words
    written: list[Written] = []
    if words:
        written = draw(st.lists(rules(schema, words, key), max_size=5, unique=True))
    block = "\n".join("  " + each.text for each in written if each.word != "disable")
    head = "".join(each.text + "\n" for each in written if each.word == "disable")
    if "allow" in words:
        default = ["", "", "", "default allow\n", 'default ask "d"\n', 'default deny "d"\n']
        head += draw(st.sampled_from(default))
    head += draw(st.sampled_from(["", "", "", "policy conservative\n", "policy recover\n"]))
    head += draw(st.sampled_from(["", "", f"ground {{ mutates {TOOL} }}\n"]))
    return f"{head}tool {TOOL} {{\n{block}\n}}\n", written


# Damage ---------------------------------------------------------------------------------------


def paths_in(value: Any) -> list[Path]:
    """Every place in a value but the root."""
    found: list[Path] = []
    if isinstance(value, dict):
        for name, inner in value.items():
            found += [(name, *rest) for rest in [(), *paths_in(inner)]]
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += [(index, *rest) for rest in [(), *paths_in(inner)]]
    return found


def at(value: Any, path: Path) -> Any:
    """What stands at a place."""
    for part in path:
        value = value[part]
    return value


def put(value: Any, path: Path, new: Any) -> Any:
    """A copy with `new` at a place."""
    result = deepcopy(value)
    if not path:
        return new
    at(result, path[:-1])[path[-1]] = new
    return result


ONE_VALUE: list[Callable[[Any], Any]] = [
    json.dumps,
    json.dumps,
    lambda here: json.dumps(json.dumps(here)),
    lambda _: None,
    lambda _: "null",
    lambda _: "",
    lambda _: {},
    lambda _: [],
    lambda here: [here],
    lambda here: {"item": here},
    lambda here: here[0] if isinstance(here, list) and here else here,
    lambda here: str(here),
    lambda here: f" {here} ",
    lambda here: here.swapcase() if isinstance(here, str) else here,
    lambda here: f" {here}" if isinstance(here, str) else here,
    lambda here: f"^{here}$" if isinstance(here, str) else here,
    lambda here: f"<arg_value>{here}</arg_value>" if isinstance(here, str) else here,
    lambda here: f"{here}</arg_value>" if isinstance(here, str) else here,
    lambda here: f"{here}</path>\n</invoke>" if isinstance(here, str) else here,
    lambda here: f"{here}</path>\n<parameter name=\"limit\">5</parameter>" if isinstance(here, str) else here,
    lambda here: f"[{here}](http://{here})" if isinstance(here, str) else here,
    lambda here: here.replace("<", "&lt;") + "&amp;&#39;" if isinstance(here, str) else here,
    lambda here: float(here) if type(here) is int and here < 10**9 else here,
    lambda here: json.dumps(here)[:-1],
]  # fmt: skip


def fits(place: Path, path: Path) -> bool:
    """Does a selector reach this concrete place?"""
    return len(place) == len(path) and all(
        isinstance(part, int) if each == "*" else each == part for each, part in zip(place, path, strict=True)
    )


MENDED: dict[str, list[Callable[[Any], Any]]] = {
    "filesystem-path": [
        lambda here: f"[{here}](http://{here})",
        lambda here: f"/x/[{here}](https://{here})/y",
    ],
    "filesystem-path-array": [lambda here: ["a", f"[{here}](http://{here})"], lambda _: ["[a](http://a)"]],
    "string-or-array": [lambda here: here[0] if isinstance(here, list) and here else "a", json.dumps],
    "scalar": [
        lambda here: f" {here} ",
        str,
        json.dumps,
        lambda here: str(here).lower(),
        lambda _: 5,
        lambda _: 1.0,
    ],
    "anchor-bleed": [lambda here: f"^{here}$", lambda here: f"^^{here}", lambda _: "^$"],
    "grammar-tokens": [
        lambda here: f"<arg_value>{here}</arg_value>" if isinstance(here, str) else here,
        lambda here: (
            {f"<arg_key>{key}</arg_key>": item for key, item in here.items()}
            if isinstance(here, dict)
            else "</arg_key>x <arg_value> </arg_value>"
        ),
        lambda here: (
            {key: f"{item}</arg_value>" for key, item in here.items()}
            if isinstance(here, dict)
            else "x</arg_value>"
        ),
    ],
    "closing-tags": [
        lambda here: f"<invoke>{here}</invoke>" if isinstance(here, str) else {"path": "<path>x</path>"},
        lambda here: f"<param a='1'>{here}</param></invoke>" if isinstance(here, str) else here,
        lambda here: f"{here}</parameter>\n</invoke>" if isinstance(here, str) else here,
        lambda here: (
            {key: f"{item}</{key}>" for key, item in here.items()} if isinstance(here, dict) else "a</param>"
        ),
    ],
    "html-entities": [
        lambda here: f"{here}&amp;",
        lambda here: f"&amp;amp;{here}",
        lambda _: "&#39;&lt;&#0;",
    ],
}


@st.composite
def aimed(draw: st.DrawFn, value: Any, rule: Written) -> Any:
    """The value with the damage that a rule is there for, where the value has the rule's place."""
    if rule.word == "alias":
        parents = [path for path in [(), *paths_in(value)] if fits(rule.place[:-1], path)]
        parents = [path for path in parents if isinstance(at(value, path), dict)]
        if not parents:
            return value
        path = draw(st.sampled_from(parents))
        inner = dict(at(value, path))
        canonical = str(rule.place[-1])
        held = inner.get(canonical, draw(scalars))
        how = draw(st.integers(0, 5))
        if how <= 3:
            inner.pop(canonical, None)
        elif how == 4:
            inner[canonical] = draw(st.sampled_from([None, ""]))
        for name in draw(st.lists(st.sampled_from(rule.names), min_size=1, max_size=2)):
            inner[name] = held
        return put(value, path, inner)
    if rule.word not in MENDED:
        return value
    found = [path for path in [(), *paths_in(value)] if fits(rule.place, path)]
    if not found:
        return value
    path = draw(st.sampled_from(found))
    return put(value, path, draw(st.sampled_from(MENDED[rule.word]))(at(value, path)))


def likely(here: Any) -> list[Any]:
    """What models send in place of a value of this type."""
    if isinstance(here, bool):
        return [str(here), str(here).lower(), [here], "yes"]
    if isinstance(here, int | float):
        return [str(here), json.dumps(str(here)), f" {here}", [here], f"{here}0"]
    if isinstance(here, str):
        return [
            here.swapcase(),
            f" {here} ",
            here.upper(),
            [here],
            json.dumps(here),
            {"item": here},
            5,
            True,
            None,
        ]
    if isinstance(here, list):
        one = here[0] if here else "a"
        return [
            one,
            "a",
            "a\nb",
            " ",
            "[a",
            json.dumps(here),
            f" {json.dumps(here)}\n",
            {},
            {"item": here},
            {"item": one},
        ]
    if isinstance(here, dict):
        return [json.dumps(here), json.dumps(json.dumps(here)), [here], json.dumps([here]), "x"]
    return ["null", "None", "", {}]


@st.composite
def damaged(draw: st.DrawFn, value: Any, key: st.Strategy[str] = keys) -> Any:
    """The value with some damage of the kinds that models do; still a Python value."""
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2, 3]))):
        places = paths_in(value)
        how = draw(st.integers(0, 9))
        if how <= 5 and places:
            path = draw(st.sampled_from(places))
            here = at(value, path)
            new = draw(st.sampled_from(likely(here))) if how <= 3 else draw(st.sampled_from(ONE_VALUE))(here)
            value = put(value, path, new)
        elif how <= 7 and places:
            path = draw(st.sampled_from(places))
            if isinstance(path[-1], str):
                inner = deepcopy(at(value, path[:-1]))
                held = inner[path[-1]] if how == 6 else inner.pop(path[-1])
                other = draw(st.sampled_from(ALIASES) | key | st.just(f"<arg_key>{path[-1]}</arg_key>"))
                inner[other] = held
                value = put(value, path[:-1], inner)
        elif how == 8 and places:
            path = draw(st.sampled_from(places))
            inner = deepcopy(at(value, path[:-1]))
            del inner[path[-1]]
            value = put(value, path[:-1], inner)
        elif isinstance(value, dict):
            value = {**value, draw(key): draw(json_values)}
    return value


WRAPS: list[Callable[[Any], Any]] = [
    lambda value: {"arguments": value},
    lambda value: {"input": json.dumps(value)},
    lambda value: {"params": value},
    lambda value: {"name": TOOL, "arguments": value},
    lambda value: {"tool": TOOL, "parameters": json.dumps(value)},
    lambda value: {"name": "other", "arguments": value},
    lambda value: {"type": "function", "function": {"name": TOOL, "arguments": json.dumps(value)}, "id": "1"},
    lambda value: [value],
    lambda value: [value, value],
    json.dumps,
    json.dumps,
    lambda value: json.dumps(json.dumps(value)),
    lambda value: json.dumps(json.dumps(json.dumps(value))),
    lambda value: json.dumps(json.dumps(json.dumps(json.dumps(value)))),
    lambda value: json.dumps({"arguments": value}),
    lambda value: json.dumps([value]),
    lambda _: None,
    lambda _: "",
    lambda _: " \n",
    lambda _: "null",
    lambda _: "ls -l",
    lambda _: "5",
    lambda _: "a {b}",
    lambda value: '{"arguments": ' + json.dumps(value),
    lambda value: json.dumps(value) + json.dumps(value),
    lambda value: json.dumps(value) + "\n" + json.dumps([value, "z"]),
    lambda value: json.dumps(value) + json.dumps({"path": value}),
]  # fmt: skip


@st.composite
def damaged_text(draw: st.DrawFn, text: str) -> str:
    """JSON text with some damage of its own."""
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        position = draw(st.integers(0, len(text)))
        match draw(st.integers(0, 8)):
            case 0 | 1:
                text = text[:position]
            case 2:
                ends = [found.end() for found in re.finditer(r'["}\]]|true|null', text)]
                text = text[: draw(st.sampled_from(ends or [0]))]
            case 3:
                text = text.replace("\\n", "\n").replace(" ", "\n", 1)
            case 4:
                text = (
                    text[:position]
                    + draw(st.sampled_from(["\n", "\t", "\x00", '"', "}", ",", "\\", "é"]))
                    + text[position:]
                )
            case 5:
                text = text.replace(
                    "5", draw(st.sampled_from(["NaN", "1e999", "0.12345678901234567890", "5e0"])), 1
                )
            case 6 if text.startswith("{") and len(text) > 2:
                name = draw(st.sampled_from(PLAIN_KEYS))
                text = "{" + f'"{name}": {json.dumps(draw(scalars))}, ' + text[1:]
            case 7:
                text = text.replace('"a', '"\\ud800a', 1)
            case _:
                text = (
                    draw(st.sampled_from(["", " ", "\n"]))
                    + text
                    + draw(st.sampled_from(["", " ", "}", "{}"]))
                )
    return text  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One generated call; `text` when it is sent through `check_text`."""

    rules: str
    schema: Any
    arguments: Any
    text: bool = False
    model: str | None = MODEL
    stop: str | None = None
    context: dict[str, Any] | None = field(default=None)


@st.composite
def calls(
    draw: st.DrawFn,
    words: list[str] | None = None,
    *,
    damage: bool = True,
    key: st.Strategy[str] = keys,
    open_tools: bool = True,
) -> Call:
    """Rules, a schema, and a call that is valid for it or nearly so."""
    schema = draw(schemas(key))
    text, written = draw(rule_texts(schema, words, key))
    value = draw(values_of(schema, schema))
    as_text = False
    if damage:
        if written and draw(st.sampled_from([False, True, True, True])):
            chosen = st.lists(st.sampled_from(written), min_size=1, max_size=2)
            for rule in draw(chosen):
                value = draw(aimed(value, rule))
        if draw(st.booleans()):
            value = draw(damaged(value, key))
        how = draw(st.integers(0, 9))
        if how == 0:
            value = draw(st.sampled_from(WRAPS))(value)
        elif how <= 2:
            value = draw(damaged_text(json.dumps(value, ensure_ascii=draw(st.booleans()))))
        as_text = isinstance(value, str) and draw(st.booleans())
    known = None if open_tools and draw(st.integers(0, 11)) == 0 else schema
    model = draw(st.sampled_from([MODEL, MODEL, MODEL, "glm-4.6", "gpt-5", None]))
    stop = draw(st.sampled_from([None, None, None, "stop", "length"]))
    context = draw(st.sampled_from([None, None, {"role": "admin"}, {}]))
    return Call(text, known, value, as_text, model, stop, context)
