"""What each kind does to a call, and what it leaves alone."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cerberus import Validator

from callgate.engine.cli.main import main
from callgate.engine.places import Open, View
from callgate.engine.schema import Schema
from callgate.engine.selector import places, replace
from callgate.grammar.ast import Json, Text
from callgate.grammar.parser import parse
from callgate.rules import kinds as folder
from callgate.rules.catalog import CatalogError, gather, kinds, own
from callgate.rules.forms import FORMS
from callgate.rules.kind import Action, Example, Kind, NotApplicable, Phase, Place, Spec
from callgate.rules.reader import check_rule, read_rule
from callgate.rules.regex import compile_regex
from callgate.rules.statements import words
from callgate.rules.strictjson import equal


@dataclass
class Recorder:
    """A log that keeps what it is told, with paths from the arguments down."""

    here: tuple[str | int, ...] = ()
    changes: list[tuple[str | int, ...]] = field(default_factory=list)
    notes: list[str | None] = field(default_factory=list)
    observations: list[tuple[str | int, ...]] = field(default_factory=list)

    def change(self, path: tuple[str | int, ...] = (), note: str | None = None) -> None:
        self.changes.append(self.here + path)
        self.notes.append(note)

    def observe(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        self.observations.append(self.here + path)


def spec_of(rule: str, **more: object) -> Spec:
    parsed = parse(f"tool t {{\n{rule}\n}}", words=words)
    assert parsed.diagnostics == ()
    (tool,) = parsed.file.statements
    (statement,) = tool.block or ()
    spec, found = read_rule(statement, kinds(), **more)  # type: ignore[arg-type]
    assert spec is not None, found
    return spec


def place_of(schema: Json | None, spec: Spec) -> Place:
    kind = kinds()[spec.keyword]
    segments = spec.segments if spec.selectors else ()
    view: Open | View = Open() if schema is None else Schema(schema).root
    return view.under(segments[:-1] if kind.acts_on_parent else segments)


def passes(action: Action, value: Json) -> bool:
    """Would the engine run the action on this value?"""
    if action.keys and not (isinstance(value, dict) and value.keys() & action.keys):
        return False
    return bool(eval((action.guard or "True").replace("$", ""), {"v": value, **action.names}))


def run(rule: str, arguments: Json, schema: Json | None = None, **more: object) -> tuple[Json, Recorder]:
    """The arguments after one rule, as the pipeline's stage for it would leave them."""
    functions: Any = more.pop("functions", {})
    forms: Any = more.pop("closing_forms", ())
    spec = spec_of(rule, **more)
    spec = msgspec.structs.replace(spec, functions=functions, closing_forms=forms)
    kind = kinds()[spec.keyword]
    action = kind.build(spec, place_of(schema, spec))
    log = Recorder()
    if action is None:
        return arguments, log
    segments = spec.segments[:-1] if kind.acts_on_parent else spec.segments
    for path, value in list(places(arguments, segments)):
        log.here = path
        told = len(log.changes), len(log.observations)
        try:
            result = action.apply(value, log)
        except NotApplicable:
            continue
        if not passes(action, value):
            assert result is value
            assert told == (len(log.changes), len(log.observations))
        if result is not value:
            if len(log.changes) == told[0]:
                log.change()
            arguments = replace(arguments, path, result)
    return arguments, log


def after(rule: str, arguments: Json, schema: Json | None = None, **more: object) -> Json:
    return run(rule, arguments, schema, **more)[0]


def findings(rule: str, schema: Json | None = None, **more: object) -> list[tuple[str, str]]:
    spec = spec_of(rule, **more)
    place = None if schema is None else place_of(schema, spec)
    return [(fault.code, fault.severity.value) for fault in check_rule(kinds()[spec.keyword], spec, place)]


EXAMPLES = [(kind, example) for kind in kinds().values() for example in kind.examples]


@pytest.mark.parametrize(("kind", "example"), EXAMPLES, ids=[example.rule for _, example in EXAMPLES])
def test_every_example_does_what_it_says(kind: type[Kind], example: Example) -> None:
    spec = spec_of(example.rule)
    assert spec.keyword == kind.keyword
    before = copy.deepcopy(example.before)
    fits = spec.families is None or any(
        isinstance(family, Text) and compile_regex(family.value).search(example.model or "")
        for family in spec.families
    )
    if kind.phase is Phase.PREPROCESS and fits:
        got, log = run(example.rule, example.before, example.schema)
        if example.after is None:
            assert got is example.before
            assert log.changes == []
        else:
            assert equal(got, example.after)
            assert log.changes != []
    elif example.after is not None and kind.phase is not Phase.BOUND:
        pytest.fail("an example that another part of the engine must run cannot promise a change")
    assert equal(example.before, before)


def test_the_catalogue_has_the_kinds_of_the_language() -> None:
    assert set(own()) >= {
        *("alias", "filesystem-path", "filesystem-path-array", "string-or-array", "scalar", "anchor-bleed"),
        *("grammar-tokens", "closing-tags", "html-entities", "structural", "bound", "allow", "ask", "deny"),
        *("root", "rename", "droppable", "schema"),
    }


@pytest.mark.parametrize("kind", own().values(), ids=own().keys())
def test_every_kind_is_documented_and_its_clauses_are_a_cerberus_schema(kind: type[Kind]) -> None:
    assert len((kind.__doc__ or "").split("\n\n")) >= 2
    assert kind.cost
    assert kind.note or kind.phase in (Phase.SETTING, Phase.PERMIT)
    if kind.phase is Phase.PREPROCESS:
        assert any(example.after is None for example in kind.examples)
        assert any(example.after is not None for example in kind.examples)
    Validator(kind.clauses)


def test_no_clause_word_begins_a_statement_where_rules_stand() -> None:
    statements = words() | words("tool")
    for kind in kinds().values():
        assert not set(kind.clauses) & statements
        assert not set(kind.clauses) & words(kind.keyword)


def test_every_block_has_its_words() -> None:
    assert words("structural") == {
        "move",
        "copy",
        "set",
        "remove",
        "wrap",
        "unwrap",
        "parse",
        "join",
        "split",
    }
    assert {"alias", "deny", "test", "disable", "shadow"} <= words("tool")
    assert words() == frozenset(FORMS[None])
    assert words("no such block") == frozenset()


class Outsider(Kind):
    """A kind from another package."""

    keyword = "outsider"
    phase = Phase.SETTING


def offer(value: object) -> EntryPoint:
    class Offered(EntryPoint):
        def load(self) -> object:
            if isinstance(value, Exception):
                raise value
            return value

    return Offered("mine", "offered:thing", "callgate.kinds")


def test_an_installed_package_can_add_a_kind() -> None:
    assert gather(own(), [offer(Outsider)])["outsider"] is Outsider


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (ImportError("no module"), "does not load"),
        (object, "no class derived"),
        (5, "no class derived"),
        (type("A", (Kind,), {"__doc__": "A.", "keyword": "alias", "phase": Phase.SETTING}), "exists already"),
        (type("B", (Kind,), {"keyword": "tool", "phase": Phase.SETTING}), "word of the language"),
        (type("C", (Kind,), {"keyword": "two words", "phase": Phase.SETTING}), "no name"),
        (type("D", (Kind,), {"keyword": "fine"}), "no `phase`"),
        (
            type("E", (Kind,), {"keyword": "fine", "phase": Phase.SETTING, "clauses": {"test": {}}}),
            "`test` is a word",
        ),
        (
            type(
                "F",
                (Kind,),
                {"keyword": "fine", "phase": Phase.SETTING, "clauses": {"x": {"type": "nonsense"}}},
            ),
            "no Cerberus schema",
        ),
        (
            type("K", (Kind,), {"keyword": "fine", "phase": Phase.SETTING, "clauses": {"x": None}}),
            "no Cerberus schema",
        ),
        (type("G", (Kind,), {"keyword": "fine", "phase": "preprocess"}), "its `phase` is no `Phase`"),
        (
            type("H", (Kind,), {"keyword": "fine", "phase": Phase.SETTING, "examples": ("fine /a",)}),
            "its example 1 is no `Example`",
        ),
        (
            type("I", (Kind,), {"keyword": "fine", "phase": Phase.SETTING, "examples": Example("x", {})}),
            "its `examples` are no tuple",
        ),
        (
            type(
                "J",
                (Kind,),
                {
                    "keyword": "fine",
                    "phase": Phase.PREPROCESS,
                    "build": lambda spec, place: Action(lambda value, log: value, "v is"),
                },
            ),
            "its guard `v is` is no Python expression",
        ),
    ],
)
def test_an_entry_point_that_cannot_be_used_is_named(value: object, why: str) -> None:
    with pytest.raises(CatalogError, match="mine = offered:thing") as raised:
        gather(own(), [offer(value)])
    assert why in str(raised.value)


HALFWAY = """
from callgate.rules.kind import Action, Example, Kind, Phase, Selecting

class Halfway(Kind):
    '''Strip white space.'''

    keyword = "halfway"
    phase = Phase.PREPROCESS
    selecting = Selecting.ONE
    clauses = {"at": {"type": "string", "allowed": ["start", "end"], "required": True}}
    examples = (Example("halfway /a at end", {"a": 5}),)

    @classmethod
    def build(cls, spec, place):
        known = {"start": "v[:1].isspace()", "end": "v[-1:].isspace()"}[spec.clauses["at"]]
        return Action(lambda value, log: value, f"type(v) is str and {known}")

KIND = Halfway
""".lstrip()
UNFINISHED = [
    ("KIND = Halfway", "", "`rules/kinds/halfway.py` has no kind: it ends in `KIND = ` and its class"),
    ("KIND = Halfway", "KIND = 5", "`rules/kinds/halfway.py`: what it offers is no class derived"),
    ("PREPROCESS", "PREPROCES", "`rules/kinds/halfway.py` does not load: AttributeError: "),
    ("PREPROCESS", "PREPROCES", "(line 7)"),
    ("class Halfway(Kind):", "class Halfway(Kind:", "`rules/kinds/halfway.py` does not load: SyntaxError: "),
    ("class Halfway(Kind):", "class Halfway(Kind:", "(halfway.py, line 3)"),
    ("phase =", "fase =", "the kind `halfway` of `rules/kinds/halfway.py`: it has no `phase`"),
    (
        "= Selecting.ONE",
        "= 1",
        "the kind `halfway` of `rules/kinds/halfway.py`: its `selecting` is no `Selecting`",
    ),
    ("keyword =", "key =", "`rules/kinds/halfway.py`: its `keyword` is no name"),
    (
        '"halfway"',
        '"alias"',
        "the kind `alias` of `rules/kinds/halfway.py`: `rules/kinds/alias.py` has this keyword",
    ),
    ('"halfway"', '"tool"', "the kind `tool` of `rules/kinds/halfway.py`: `tool` is a word of the language"),
    ('"halfway"', '"when"', "the kind `when` of `rules/kinds/halfway.py`: `when` is a word of the language"),
    ("'''Strip white space.'''", "", "the kind `halfway` of `rules/kinds/halfway.py`: it has no docstring"),
    (
        "is str and",
        "is str und",
        "the kind `halfway` of `rules/kinds/halfway.py`: its guard `type(v) is str und v[",
    ),
    ("is str and", "is $str and", "is no Python expression"),
    (
        "return Action(",
        "return (",
        "the kind `halfway` of `rules/kinds/halfway.py`: its `build` gives no `Action`",
    ),
    (
        'Example("halfway /a at end", {"a": 5})',
        '"halfway /a"',
        "`rules/kinds/halfway.py`: its example 1 is no `Example`",
    ),
    ("}),)", "}))", "the kind `halfway` of `rules/kinds/halfway.py`: its `examples` are no tuple"),
    (
        '"string"',
        '"strnig"',
        "the kind `halfway` of `rules/kinds/halfway.py`: its clauses are no Cerberus schema",
    ),
]


@pytest.fixture
def halfway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of one more kind of this package, to be written."""
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    kinds.cache_clear()
    yield tmp_path / "halfway.py"
    sys.modules.pop(f"{folder.__name__}.halfway", None)
    vars(folder).pop("halfway", None)
    kinds.cache_clear()


def test_a_file_is_all_that_a_new_kind_needs(halfway: Path) -> None:
    halfway.write_text(HALFWAY, "utf-8")
    assert kinds()["halfway"].keyword == "halfway"


@pytest.mark.parametrize(("right", "wrong", "why"), UNFINISHED)
def test_an_unfinished_kind_is_one_line_that_names_its_file(
    halfway: Path, capsys: pytest.CaptureFixture[str], right: str, wrong: str, why: str
) -> None:
    assert right in HALFWAY
    halfway.write_text(HALFWAY.replace(right, wrong), "utf-8")
    with pytest.raises(CatalogError) as raised:
        own()
    assert why in str(raised.value)
    rules = halfway.with_name("a.gate")
    rules.write_text("tool t { alias /a from b }\n", "utf-8")
    for arguments in (["check", str(rules)], ["test", str(rules)], ["run", str(rules)], ["explain", "alias"]):
        assert main(arguments) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err == f"callgate: {raised.value}\n"


def test_an_error_of_many_lines_in_the_file_of_a_kind_is_shown_as_one_line(
    halfway: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    halfway.write_text('raise ValueError("one\\n  two")\n', "utf-8")
    assert main(["explain", "alias"]) == 2
    wanted = "callgate: `rules/kinds/halfway.py` does not load: ValueError: one two (line 1)\n"
    assert capsys.readouterr().err == wanted


# alias ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clauses", "before", "wanted"),
    [
        ("from b, c", {"c": 1, "b": 2}, {"c": 1, "a": 2}),
        ("from b, c", {"c": 1, "b": 1}, {"a": 1}),
        ("from b, c", {"b": 1, "c": True}, {"c": True, "a": 1}),
        ("from b, c", {"b": "", "c": "x"}, {"b": "", "a": "x"}),
        ("from b", {"a": None, "b": 1}, {"a": 1}),
        ("from b", {"b": None}, {"a": None}),
        ("from b accepting string", {"b": None}, None),
        ("from b accepting null", {"b": None}, {"a": None}),
        ("from b accepting number", {"b": True}, None),
        ("from b accepting number", {"b": 5}, {"a": 5}),
        ("from b accepting integer", {"b": 5.5}, None),
        ("from b accepting integer", {"b": 5.0}, {"a": 5.0}),
        ("from b accepting object", {"b": [1]}, None),
        ("from b accepting array", {"b": []}, {"a": []}),
        ("from b", {"a": 1, "b": 1.0}, None),
        ("from b", {"a": 1, "b": 1}, {"a": 1}),
        ("from b", {"a": False, "b": 0}, None),
        ("from b empty-is-missing", {"a": " ", "b": "x"}, None),
        ("from b empty-is-missing", {"a": [], "b": [1]}, None),
        ("from b", {"B": 1}, None),
    ],
)
def test_an_alias_moves_only_what_it_may(clauses: str, before: Json, wanted: Json | None) -> None:
    got, log = run(f"alias /a {clauses}", before)
    if wanted is None:
        assert got is before
        assert log.changes == []
    else:
        assert equal(got, wanted)


def test_an_alias_says_what_it_saw_and_left() -> None:
    _, log = run("alias /a from b, c", {"b": 1, "c": 2})
    assert log.changes == [("a",)]
    assert log.notes == ["The field is called `a`; you sent it as `b`."]
    assert log.observations == [("c",)]
    _, log = run("alias /a from b", {"a": 1, "b": 2})
    assert (log.changes, log.observations) == ([], [("b",)])


def test_an_alias_keeps_the_order_of_the_other_keys() -> None:
    assert list(after("alias /a from b", {"b": 1, "c": 2})) == ["c", "a"]  # type: ignore[arg-type]
    assert list(after("alias /a from b", {"a": None, "b": 1, "c": 2})) == ["a", "c"]  # type: ignore[arg-type]


def test_an_alias_works_below_the_root_and_in_every_item() -> None:
    assert after("alias /t/path from file", {"t": {"file": "/a"}}) == {"t": {"path": "/a"}}
    before: Json = {"e": [{"x": 1}, {"old": 1}, 5]}
    assert after("alias /e/*/old from x", before) == {"e": [{"old": 1}, {"old": 1}, 5]}
    assert after('alias "/my key" from "your key"', {"your key": 1}) == {"my key": 1}


def test_an_alias_in_a_glob_block_needs_the_schema_to_declare_the_canonical_key() -> None:
    schema: Json = {"properties": {"path": {}}}
    assert after("alias /path from f", {"f": 1}, schema, in_glob=True) == {"path": 1}
    assert after("alias /path from f", {"f": 1}, {}, in_glob=True) == {"f": 1}
    assert after("alias /path from f", {"f": 1}, None, in_glob=True) == {"f": 1}


def test_an_alias_that_the_schema_declares_anywhere_is_not_moved() -> None:
    schema: Json = {"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"properties": {"f": {}}}}}
    assert after("alias /path from f", {"f": 1}, schema) == {"f": 1}
    assert findings("alias /path from f", schema) == [("G221", "warning")]


@pytest.mark.parametrize(
    "rule", ['alias "" from a', "alias /a/* from b", "alias /a from a", "alias /a from b, b"]
)
def test_an_alias_that_cannot_work_is_a_finding(rule: str) -> None:
    assert [severity for _, severity in findings(rule)] == ["error"]


# filesystem-path ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("[a.ts](http://a.ts)", "a.ts"),
        ("[a.ts](https://a.ts)", "a.ts"),
        ("x/[a.b](http://a.b)/[c.d](http://c.d)", "x/a.b/c.d"),
        ("[a(1).ts](http://a(1).ts)", "a(1).ts"),
        ("[[id].ts](http://[id].ts)", "[id].ts"),
        ("[[a.ts](http://a.ts)", "[a.ts"),
        ("[a.ts](http://a.ts)]", "a.ts]"),
        # Of links in links the inner one goes; settling then refuses the call.
        ("[[a.ts](http://a.ts)](http://a.ts)", "[a.ts](http://a.ts)"),
        ("[[4](http://4)](http://[4](http://4))", "[4](http://4)"),
        ("[A.ts](http://a.ts)", None),
        ("[a.ts](a.ts)", None),
        ("[](http://)", None),
        ("[a\nb](http://a\nb)", None),
        ("[a.ts](http://a.ts", None),
        ("[http://a.ts](http://a.ts)", None),
        ("[a.ts] (http://a.ts)", None),
        ('[a.ts](http://a.ts "a")', None),
        ("é[ü.ts](http://ü.ts)", "éü.ts"),
    ],
)
def test_only_auto_links_are_unwrapped(before: str, wanted: str | None) -> None:
    assert after("filesystem-path /p", {"p": before}) == {"p": before if wanted is None else wanted}


def test_each_path_of_an_array_is_a_change_of_its_own() -> None:
    links: Json = {"p": ["[a.b](http://a.b)", 1, "c", "[d.e](http://d.e)"]}
    got, log = run("filesystem-path-array /p", links)
    assert got == {"p": ["a.b", 1, "c", "d.e"]}
    assert log.changes == [("p", 0), ("p", 3)]


# string-or-array and scalar -------------------------------------------------------------------

TEXTS: Json = {"properties": {"f": {"type": "array", "items": {"type": "string"}}}}
NUMBERS: Json = {"properties": {"f": {"type": "array", "items": {"type": "number"}}}}


@pytest.mark.parametrize(
    ("schema", "before", "wanted"),
    [
        (TEXTS, '["a"]', ["a"]),
        (TEXTS, "[]", []),
        (TEXTS, "\n[1]", None),
        (TEXTS, "[a]", None),
        (TEXTS, '["a"] x', None),
        (TEXTS, "", [""]),
        (NUMBERS, "[1, 2.5]", [1, 2.5]),
        (NUMBERS, "[1e999]", None),
        (NUMBERS, "[NaN]", None),
        (NUMBERS, "[0.1000000000000000000001]", None),
        (NUMBERS, "7", None),
        ({"properties": {"f": {"type": ["array", "string"]}}}, "a", None),
        ({"properties": {"f": {"type": "array", "minItems": 2}}}, "a", None),
        (None, "a", None),
    ],
)
def test_text_becomes_a_list_only_where_the_schema_wants_it(
    schema: Json | None, before: str, wanted: Json | None
) -> None:
    got = after("string-or-array /f", {"f": before}, schema)
    assert equal(got, {"f": before if wanted is None else wanted})


def test_an_array_text_with_a_key_twice_is_left_alone() -> None:
    schema: Json = {"properties": {"f": {"type": "array"}}}
    assert after("string-or-array /f", {"f": '[{"a": 1, "a": 1}]'}, schema) == {"f": '[{"a": 1, "a": 1}]'}


@pytest.mark.parametrize(
    ("as_", "wants", "before", "wanted"),
    [
        ("number", "number", "\t-12.5e1\n", -125.0),
        ("number", "integer", "123456789012345678901234567890", 123456789012345678901234567890),
        ("number", "integer", "5.0", 5.0),
        ("number", "number", "1" * 641, None),
        ("number", "number", "1e-400", None),
        ("number", "number", "+1", None),
        ("number", "number", "01", None),
        ("number", "number", "1_000", None),
        ("number", "number", "٧", None),
        ("number", "number", "Infinity", None),
        ("number", "number", "30s", None),
        ("number", ["string", "number"], "5", None),
        ("boolean", "boolean", "TRUE", True),
        ("boolean", "boolean", " true", None),
        ("boolean", "boolean", "1", None),
        ("boolean", "boolean", 1, None),
        ("string", "string", 10**30, "1" + "0" * 30),
        ("string", "string", 1e22, "1e+22"),
        ("string", "string", False, "false"),
        ("string", "string", None, None),
        ("string", "string", [1], None),
        ("string", ["string", "integer"], 5, None),
    ],
)
def test_a_scalar_is_converted_exactly_or_not_at_all(
    as_: str, wants: Json, before: Json, wanted: Json
) -> None:
    schema: Json = {"properties": {"p": {"type": wants}}}
    got = after(f"scalar /p as {as_}", {"p": before}, schema)
    assert equal(got, {"p": before if wanted is None else wanted})


def test_an_integer_too_long_to_print_is_left_alone() -> None:
    huge: Json = {"p": 10**5000}
    assert after("scalar /p as string", huge, {"properties": {"p": {"type": "string"}}}) is huge


def test_a_kind_that_the_schema_has_no_use_for_is_a_finding() -> None:
    text: Json = {"properties": {"p": {"type": "string"}, "r": {"type": "string", "format": "regex"}}}
    assert findings("scalar /p as number", text) == [("G226", "warning")]
    assert findings("string-or-array /p", text) == [("G226", "warning")]
    assert findings('anchor-bleed /r for "x"', text) == [("G226", "warning")]
    assert findings("bound /p integer 0..1", text) == [("G226", "error")]
    assert findings("scalar /p as string", text) == []


FIELDS: Json = {
    "type": "object",
    "required": ["s"],
    "properties": {
        "n": {"type": "integer"},
        "s": {"type": "string"},
        "l": {"type": "array", "items": {"type": "string"}},
        "i": {"type": "array", "items": {"type": "integer"}},
        "o": {"type": "object", "required": ["k"], "properties": {"k": {}, "m": {}}},
        "either": {"anyOf": [{"type": "string"}, {"type": "array"}]},
        "word": {"anyOf": [{"enum": ["all"]}, {"type": "array", "items": {"type": "string"}}]},
        "any": {},
        "never": False,
    },
}


@pytest.mark.parametrize(
    "rule",
    [
        "filesystem-path /n",
        "filesystem-path /o",
        'html-entities /n for "x"',
        'anchor-bleed /n for "x"',
        "filesystem-path-array /s",
        "string-or-array /s",
        "string-or-array /either",
        "alias /s from zz accepting number",
        "alias /n from zz accepting boolean, null",
        "droppable /s",
        "droppable /n, /s",
        "droppable /o/k",
        "root /n",
        "root /l",
        "root /s in-array",
        "root /i in-array",
    ],
)
def test_a_rule_for_what_the_schema_does_not_take_is_a_warning(rule: str) -> None:
    assert findings(rule, FIELDS) == [("G226", "warning")]
    assert findings(rule) == []


@pytest.mark.parametrize(
    "rule",
    [
        "filesystem-path /s",
        "filesystem-path /l",
        'html-entities /l for "x"',
        'html-entities /o for "x"',
        'anchor-bleed /s for "x"',
        'closing-tags /n for "x"',  # `10</n>` then reads as a number
        "filesystem-path-array /l",
        "filesystem-path-array /either",
        "string-or-array /l",
        "string-or-array /word",
        "alias /s from zz accepting string, number",
        "alias /n from zz accepting number",
        "alias /n from zz accepting string",
        "alias /l from zz accepting object",
        "droppable /n",
        "droppable /o/m, /n",
        "root /s",
        "root /l in-array",
        "root /either",
    ],
)
def test_a_rule_that_can_do_its_work_has_no_finding(rule: str) -> None:
    assert findings(rule, FIELDS) == []


@pytest.mark.parametrize("field", ["any", "never"])
@pytest.mark.parametrize(
    "rule",
    [
        "filesystem-path /F",
        'html-entities /F for "x"',
        'anchor-bleed /F for "x"',
        "filesystem-path-array /F",
        "string-or-array /F",
        "scalar /F as number",
        "bound /F boolean",
        "alias /F from zz accepting number",
        "droppable /F",
        "root /F",
        "root /F in-array",
    ],
)
def test_nothing_is_said_of_a_place_whose_types_are_not_known(rule: str, field: str) -> None:
    assert findings(rule.replace("/F", f"/{field}"), FIELDS) == []


# leaked text ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "wanted"),
    [("^^/x$$", "/x"), ("a$", "a"), ("^$", "^$"), ("$a^", "$a^"), ("", ""), ("^*.ts$", "*.ts"), (5, 5)],
)
def test_anchors_go_from_both_ends(before: Json, wanted: Json) -> None:
    assert after('anchor-bleed /p for "x"', {"p": before}) == {"p": wanted}


def test_anchors_stay_under_an_anchored_pattern() -> None:
    schema: Json = {"properties": {"p": {"type": "string", "pattern": "^a"}}}
    assert after('anchor-bleed /p for "x"', {"p": "^a"}, schema) == {"p": "^a"}


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ({"<arg_key> a </arg_key>": "<arg_value> x </arg_value>"}, {"a": " x "}),
        ({"a</arg_key></arg_key>": "<arg_value><arg_value>x"}, {"a": "x"}),
        ({"<arg_key><arg_key> <arg_key>a": 1}, {"a": 1}),
        ({"a": "<arg_value></arg_value>", "</arg_key>": 1}, None),
        ({"a": "<arg_value>\n<arg_value>x"}, None),
        ({"a": "<arg_key>p</arg_key><arg_value>/a</arg_value>"}, None),
        ({"a": "grep -rn <arg_key>", "b": "<arg_value> leaks"}, None),
        ({"a": ["<arg_value>x"], "b": {"c": "<arg_value>x"}}, None),
        ({"<arg_key>a": "<arg_value>x", "a": 2}, None),
        ({"<arg_key>a": 1, "a</arg_key>": 2}, None),
        ({"<b>x</b>": "<i>"}, None),
    ],
)
def test_argument_tokens_go_from_keys_and_direct_texts(before: Json, wanted: Json | None) -> None:
    got, _ = run('grammar-tokens "" for "x"', before)
    assert equal(got, before if wanted is None else wanted)
    if wanted is None:
        assert got is before


def test_a_key_that_would_collide_is_observed() -> None:
    _, log = run('grammar-tokens "" for "x"', {"a": 2, "<arg_key>a": 1, "b": "<arg_value>x"})
    assert (log.changes, log.observations) == ([("b",)], [("<arg_key>a",)])


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("x</c>", "x"),
        ("x\n</c> \n</parameter>\n</invoke>", "x\n"),
        ("x</ns:invoke>", "x"),
        ("x</｜DSML｜parameter>", "x"),
        ("x</arg_value></tool_call>", "x"),
        ("x</c>\n", None),
        ("<c>x</c>", None),
        ('<c id="1">x</c></invoke>', '<c id="1">x</c>'),
        ("<invoke >x</invoke>", None),
        ("<cat>x</c>", "<cat>x"),
        ("x</div>", None),
        ("x</other>", None),
        ("end it with </c>", None),
        ("see ```\n<c>\n</invoke>", None),
        ("x</c></invoke>", "x"),
        ("</c>", None),
        (" \n</c></invoke>", None),
        ("x</c", None),
        ("a > b", None),
    ],
)
def test_closing_tags_of_the_call_go_from_the_end(before: str, wanted: str | None) -> None:
    for rule in ('closing-tags /c for "x"', 'closing-tags "" for "x"'):
        assert after(rule, {"c": before}) == {"c": before if wanted is None else wanted}


def test_the_own_tag_of_a_field_named_as_a_part_of_a_page_is_no_proof() -> None:
    rule = 'closing-tags "" for "x"'
    assert after(rule, {"html": "<p>x</p></body></html>"}) == {"html": "<p>x</p></body></html>"}
    assert after(rule, {"body": "x</body>\n</invoke>"}) == {"body": "x"}


def test_a_closing_form_is_a_closing_tag_too() -> None:
    rule = 'closing-tags /c for "x"'
    assert after(rule, {"c": "x<|end|>\n</c>"}, closing_forms=("<|end|>",)) == {"c": "x"}
    assert after(rule, {"c": "x<|end|>"}) == {"c": "x<|end|>"}


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("&lt;a href=&quot;x&quot;&gt; &amp;&apos;", '<a href="x"> &\''),
        ("&#65;&#x42;&#X43;", "ABC"),
        ("&amp;lt;", "&lt;"),
        ("&#0;&#xD800;&#x110000;&#99999999999;&nbsp;&amp", "&#0;&#xD800;&#x110000;&#99999999999;&nbsp;&amp"),
        ("&#128512;", "😀"),
    ],
)
def test_entities_are_decoded_once(before: str, wanted: str) -> None:
    assert after('html-entities /c for "x"', {"c": before}) == {"c": wanted}


def test_an_alias_in_a_block_with_a_glob_takes_no_key_of_a_map() -> None:
    schema = {"properties": {"path": {"type": "string"}}, "additionalProperties": {"type": "string"}}
    sent = {"file_path": "/a"}
    assert after("alias /path from file_path", sent, schema, in_glob=True) == sent
    assert after("alias /path from file_path", sent, schema) == {"path": "/a"}
    for more in ({}, {"additionalProperties": True}, {"additionalProperties": {}}):
        open_: Any = {"properties": {"path": {"type": "string"}}, **more}
        assert after("alias /path from file_path", sent, open_, in_glob=True) == {"path": "/a"}


# structural -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "before", "wanted"),
    [
        ("move /a to /b/0/c", {"a": 1}, {"b": [{"c": 1}]}),
        ("move /a to /b/1", {"a": 1}, {"b": {"1": 1}}),
        ("move /a to /b/c/d", {"a": 1, "b": {"x": 2}}, {"b": {"x": 2, "c": {"d": 1}}}),
        ("move /a to /b/1", {"a": 1, "b": [0]}, {"b": [0, 1]}),
        ("move /a to /b/2", {"a": 1, "b": [0]}, None),
        ("move /a to /b", {"a": 1, "b": 2}, None),
        ("move /a to /b/c", {"a": 1, "b": 2}, None),
        ("move /a to /b", {"b": 2}, None),
        ("move /a/0 to /b", {"a": [1, 2]}, {"a": [2], "b": 1}),
        ('copy "" to /b', {"a": 1}, {"a": 1, "b": {"a": 1}}),
        ("set /a 1", {}, {"a": 1}),
        ("set /a 1", {"a": 0}, None),
        ("set /a 1 over", {"a": True}, {"a": 1}),
        ("set /a {} over", {"a": True}, {"a": {}}),
        ('set "" [1] over', {"a": True}, [1]),
        ("remove /a/b", {"a": {"b": 1}}, {"a": {}}),
        ("wrap /a", {"a": 1}, {"a": [1]}),
        ("unwrap /a", {"a": [1]}, {"a": 1}),
        ("unwrap /a", {"a": [1, 2]}, None),
        ("parse /a", {"a": '{"b": [1]}'}, {"a": {"b": [1]}}),
        ("parse /a", {"a": "{b}"}, None),
        ("parse /a", {"a": {"b": 1}}, None),
        ('join /a with "-"', {"a": ["x", "y"]}, {"a": "x-y"}),
        ('join /a with "-"', {"a": ["x", 1]}, None),
        ('split /a on "-"', {"a": "x-y"}, {"a": ["x", "y"]}),
        ("wrap /a; unwrap /a", {"a": 1}, None),
        ("wrap /a; move /zz to /y", {"a": 1}, None),
        ("remove /a/01", {"a": [1]}, None),
        ("set /a/-/b 1", {"a": [1]}, None),
        ("move ./a to ./b", {"a": 1}, {"b": 1}),
    ],
)
def test_steps_apply_all_or_not_at_all(steps: str, before: Json, wanted: Json | None) -> None:
    kept = copy.deepcopy(before)
    got = after(f'structural "s" "" {{ {steps} }}', before)
    assert equal(before, kept)
    if wanted is None:
        assert got is before
    else:
        assert equal(got, wanted)


def test_a_missing_parent_is_what_the_schema_says() -> None:
    array: Json = {"properties": {"b": {"type": "array", "items": {"type": "object"}}}}
    record: Json = {"properties": {"b": {"type": "object"}}}
    rule = 'structural "s" "" { move /a to /b/0/c }'
    assert after(rule, {"a": 1}, array) == {"b": [{"c": 1}]}
    assert after(rule, {"a": 1}, record) == {"b": {"0": {"c": 1}}}
    assert after('structural "s" "" { move /a to /b/c }', {"a": 1}, array) == {"a": 1}


def test_a_value_that_a_rule_sets_is_new_in_each_call() -> None:
    rule = 'structural "s" "" { set /a {"x": []} }'
    action = kinds()["structural"].build(spec_of(rule), Open())
    assert action is not None
    one = action.apply({}, Recorder())
    one["a"]["x"].append(1)  # type: ignore[index,call-overload,union-attr]
    assert action.apply({}, Recorder()) == {"a": {"x": []}}


def test_a_copied_value_shares_nothing_with_its_source() -> None:
    got = after('structural "s" "" { copy /a to /b }', {"a": [1]})
    assert got["a"] is not got["b"]  # type: ignore[index,call-overload]


def test_a_rule_for_each_item_moves_inside_the_item() -> None:
    rule = 'structural "s" /rows/* { move /x to /y }'
    assert after(rule, {"rows": [{"x": 1}, {"y": 2}, 3]}) == {"rows": [{"y": 1}, {"y": 2}, 3]}


def test_an_owners_function_gets_a_copy_and_gives_json() -> None:
    def grow(value: Json) -> Json:
        value["n"].append(1)  # type: ignore[index,call-overload,union-attr]
        return value

    before: Json = {"n": [0]}
    rule = 'structural "s" "" call grow'
    assert after(rule, before, functions={"grow": grow}) == {"n": [0, 1]}
    assert before == {"n": [0]}
    assert after(rule, before) is before
    assert after(rule, before, functions={"grow": lambda value: dict(value)}) is before
    for wrong in ((1, 2), {1: 2}, float("nan"), "\ud800", [{"a": {1}}]):
        with pytest.raises((TypeError, ValueError)):
            after(rule, before, functions={"grow": lambda _, wrong=wrong: wrong})
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="loop"):
        after(rule, before, functions={"grow": lambda _: loop})


@pytest.mark.parametrize(
    "rule",
    [
        'structural "s" ""',
        'structural "s" "" {}',
        'structural "s" "" call f { wrap /a }',
        'structural "s" "" { move /a/* to /b }',
        'structural "s" "" { move /a to /a/b }',
        'structural "s" "" { move /a to "" }',
        'structural "s" "" { set "" 1 }',
        'structural "s" "" { remove "" }',
        'structural "s" "" { split /a on "" }',
        'structural "s" "" { move /a /b }',
        'structural "s" "" { move /a to /b when present /a }',
        'structural "s" "" { frob /a }',
    ],
)
def test_a_step_that_cannot_be_applied_is_a_finding(rule: str) -> None:
    assert findings(rule) == [("G222", "error")]


def test_a_function_that_nobody_registered_is_a_warning() -> None:
    assert findings('structural "s" "" call f') == [("G223", "warning")]


# settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "sent", "tool", "wanted"),
    [
        ("rename from reed, raed", "raed", "read", "read"),
        ("rename from reed", "Reed", "read", None),
        ('rename from "mcp_*_read"', "mcp_fs_read", "read", "read"),
        ('rename from "fs/*"', "fs/read", "fs_*", "fs_read"),
        ('rename from "fs/?ead"', "fs/read", "read", "read"),
        ('rename from "*:*"', "a:b", "x_*_*", "x_a_b"),
        ('rename from "*:*"', "a:b", "x_*", None),
        ('rename from "a.c"', "abc", "read", None),
        ('rename from "x*"', "x" * 300, "read", None),
        ('rename from "é*"', "é\n", "t_*", "t_\n"),
    ],
)
def test_a_rename_gives_the_name_of_its_block(rule: str, sent: str, tool: str, wanted: str | None) -> None:
    renamed = kinds()["rename"].rename(spec_of(rule))
    assert renamed is not None
    assert renamed(sent, tool) == wanted


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ('root ""', "G225"),
        ("root /a/*", "G225"),
        ('droppable /a, ""', "G225"),
        ('schema "../x.json"', "G228"),
        ('schema "/etc/x.json"', "G228"),
        ('schema "C:\\\\x.json"', "G228"),
        ('rename from "*"', "G227"),
        ("rename from a, a", "G227"),
        ("bound /n integer 5..1", "G224"),
        ("bound /n integer 0.5..1", "G224"),
        ("bound /n integer 0..1 boolean", "G224"),
        ("bound /n integer 0..1 lowercase", "G224"),
        ("bound /n", "G224"),
    ],
)
def test_a_setting_that_cannot_work_is_a_finding(rule: str, code: str) -> None:
    assert findings(rule) == [(code, "error")]


@pytest.mark.parametrize("rule", ["root /a in-array", "droppable /a, /b", "schema {}", 'schema "a/b.json"'])
def test_a_setting_that_is_in_order_has_no_finding(rule: str) -> None:
    assert findings(rule) == []
