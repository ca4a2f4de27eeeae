"""Stages 2 to 10 of the pipeline, written a second time from the design pages, slowly and obviously.

Everything is copied, looked up again and recursed into; nothing is compiled, remembered or shared with
the engine but the tree of a rule file and the reader of its rules. Notes and messages are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from callgate.grammar.ast import STAR, Literal, Not, Pointer, Statement, Text, Word
from callgate.grammar.parser import parse
from callgate.rules.catalog import kinds
from callgate.rules.kind import Spec
from callgate.rules.reader import read_rule
from callgate.rules.statements import words

from .condition import evaluate
from .damage import led_in, mend
from .places import Judge, Path, Place, equal, types_of
from .rewrites import GONE, KINDS, alias, fresh, get, places, put
from .rewrites import drop as without
from .text import SPACE, Broken, Cut, Reader, Refused, exact, several

FOR_ONE_MODEL = ("anchor-bleed", "grammar-tokens", "closing-tags", "html-entities")
CAREFUL = ("anchor-bleed", "grammar-tokens")
PERMITS = ("deny", "ask", "allow")


class OutOfBounds(Exception):
    """A `bound` refuses a place."""


class OutOfScope(Exception):
    """Damage that this implementation does not know."""


@dataclass
class Rules:
    """What a rule text says about one tool."""

    specs: list[Spec] = field(default_factory=list)
    policy: str = "adaptive"
    default: str = "allow"
    mutates: bool = False
    off: list[str] = field(default_factory=list)
    tokens: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()


def read_rules(text: str, tool: str) -> Rules:
    """The rules of the block of one tool, and the statements of the file that the pipeline asks for."""
    rules = Rules()
    for statement in parse(text, words=words).file.statements:
        named = [each for group in statement.items for each in group]
        texts = [each.text if isinstance(each, Word) else getattr(each, "value", None) for each in named]
        match statement.word.text:
            case "policy":
                rules.policy = str(texts[0])
            case "default":
                rules.default = str(texts[0])
            case "disable":
                rules.off += [each for each in map(str, texts) if "." in each and " " not in each]
            case "quote-token":
                rules.tokens += tuple(str(each) for each in texts)
            case "surroundings":
                rules.phrases += tuple(str(each) for each in texts)
            case "ground":
                rules.mutates = any(tool in names(inner) for inner in statement.block or ())
            case "tool" if tool in texts:
                read = [read_rule(inner, kinds())[0] for inner in statement.block or ()]
                rules.specs += [spec for spec in read if spec is not None]
    return rules


def names(statement: Statement) -> list[str]:
    atoms = [each for group in statement.items for each in group]
    return [each.text for each in atoms if isinstance(each, Word)]


@dataclass
class Environment:
    """What conditions may ask beside the arguments."""

    context: dict[str, Any] | None
    turn: Any = None
    result: Any = None


@dataclass
class Names:
    tool: str
    model: str | None
    lets: dict[str, Any] = field(default_factory=dict)
    cwd: str | None = None
    runs: Any = None


@dataclass
class Answer:
    """The outcome, the arguments, what changed (kind, path), and the code."""

    outcome: str
    arguments: Any
    changes: set[tuple[str, str]] = field(default_factory=set)
    code: str | None = None


def pointer(path: Path) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def admitted(spec: Spec, value: Any) -> Any:
    """What a bound makes of a value: itself, or the one that its text is. Raises OutOfBounds."""
    limits = spec.clauses.get("integer")
    if limits is None:
        words = {"true": True, "false": False} if spec.clauses.get("lowercase") else {}
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in words:
            return words[value]
    elif not isinstance(value, bool) and isinstance(value, int) and limits.low <= value <= limits.high:
        return value
    elif isinstance(value, str) and re.fullmatch("0|-?[1-9][0-9]*", value) and len(value) <= 600:
        if limits.low <= int(value) <= limits.high:
            return int(value)
    raise OutOfBounds


class Pipeline:
    """One tool, one model, one call."""

    def __init__(
        self, rules: str, tool: str, schema: Any, model: str | None, context: dict[str, Any] | None
    ) -> None:
        self.tool, self.schema, self.model = tool, schema, model
        self.rules = read_rules(rules, tool)
        self.judge = Judge(schema)
        self.root = None if schema is None else Place(self.judge, [schema])
        self.names = Names(tool, model)
        self.env = Environment(context)
        self.changes: set[tuple[str, str]] = set()
        self.stopped = False
        self.inner_fault = False  # what a wrapper holds is refused: its code, or that of the wrapper

    def valid(self, value: Any) -> bool:
        return isinstance(value, dict) if self.schema is None else self.judge.valid(self.schema, value)

    def off(self, rule: str) -> bool:
        if self.rules.policy == "conservative":
            if rule in ("envelope.complete", "repair.scalar-to-text", "repair.enum-case"):
                return True
        return any(each == rule or (each == "repair.*" and rule[:7] == "repair.") for each in self.rules.off)

    def change(self, kind: str, path: Path = ()) -> None:
        self.changes.add((kind, pointer(path)))

    # The whole ---------------------------------------------------------------------------------

    def answer(self, arguments: Any, *, text: bool, stop: str | None) -> Answer:
        """Stages 2 to 10."""
        self.changes = set()
        self.stopped = stop == "length"
        try:
            original, bare = self.envelope(arguments, text, stop)
            try:
                self.swallowed(original)
            except Refused as refused:
                raise Refused("any" if bare and self.stopped else refused.code) from None  # two faults
            final = self.middle(original, bare)
            effect = self.permission(final, original)
            if effect == "deny":
                return Answer("denied", arguments)
            changes = self.changes
            if changes:
                self.changes = set()
                try:
                    again_from, bare = self.envelope(final, False, None)
                    self.swallowed(again_from)
                    again = self.middle(again_from, bare)
                except Refused:
                    raise Refused("not-settled") from None
                if self.changes or exact(again) != exact(final):
                    raise Refused("not-settled")
        except Refused as refused:
            return Answer("unrepairable", arguments, code=refused.code)
        except OutOfBounds:
            return Answer("denied", arguments)
        if effect == "ask":
            return Answer("asked", final, changes)
        return Answer("repaired" if changes else "valid", final, changes)

    def middle(self, value: Any, bare: bool) -> Any:
        """Stages 4 to 8."""
        if not bare:
            value = self.preprocess(value)
        if not self.valid(value) and bare:
            if self.stopped:
                raise Refused("any")  # bare text has no end that could be seen
            value = self.wrap_root(value)
        if not self.valid(value) and self.schema is not None:
            value = self.repair(value)
        if not self.valid(value):
            raise Refused("any" if bare or self.inner_fault else "schema")
        return value

    # Stage 2 -----------------------------------------------------------------------------------

    def envelope(self, arguments: Any, text: bool, stop: str | None) -> tuple[Any, bool]:
        """The value to judge, and whether it is bare text."""
        readings = 0
        value = arguments
        if isinstance(value, str):
            well_encoded(value)
            if not text and self.schema is not None and self.valid(value):
                return value, False
            if not value.strip():
                return self.empty(blank=True), False
            found = self.read(value, stop, readings)
            if found is GONE:
                return value, True
            if not text:
                self.change("envelope.decode-json")
            readings, value = 1, found
            while isinstance(value, str) and value.lstrip(SPACE)[:1] in ("{", "[", '"'):
                if readings == 3:
                    raise Refused("limit")
                value = self.read(value, "length", readings)
                self.change("envelope.decode-json")
                readings += 1
            if isinstance(value, str):
                well_encoded(value)
                self.check_off()
                return value, True
        domain(value)
        if value is None:
            self.changes = set()
            return self.empty(blank=False), False
        value = self.unwrap(value, readings)
        self.check_off()
        if ("envelope.complete", "") in self.changes and (
            not self.passes(value) or (self.root is not None and misplaced(value, self.root))
        ):
            raise Refused("truncated")
        return value, False

    def check_off(self) -> None:
        if any(self.off(kind) for kind, _ in self.changes):
            raise Refused("schema")

    def read(self, text: str, stop: str | None, readings: int, field: Place | None = None) -> Any:
        """One reading of JSON text; `GONE` where the first one is bare text. `field`: where it stands."""
        reader = Reader(text)
        try:
            value = reader.whole()
        except Cut as cut:
            objects = several(text)
            alone = objects is None or len(objects) < 2
            if alone and cut.closers is not None and text.lstrip()[:1] == "{" and not reader.refused:
                reader, value = self.completed(text, cut, stop)
            else:
                return self.damaged(text, stop, readings, field, bool(reader.refused))
        except Broken:
            return self.damaged(text, stop, readings, field, bool(reader.refused))
        if reader.refused:
            raise Refused(reader.refused.pop() if len(reader.refused) == 1 else "any")
        if reader.controls:
            if isinstance(value, str) and "\\" in text:
                raise OutOfScope  # whose escapes are these? The page takes it, to refuse it is as safe
            self.change("envelope.control-characters")
        if reader.merged:
            self.change("envelope.duplicate-key")
        return value

    def completed(self, text: str, cut: Cut, stop: str | None) -> tuple[Reader, Any]:
        """The text with the brackets that it lacks."""
        if stop == "length" or self.off("envelope.complete"):
            raise Refused("truncated")
        reader = Reader(text.rstrip(SPACE) + str(cut.closers))
        value = reader.whole()
        self.change("envelope.complete")
        return reader, value

    def damaged(self, text: str, stop: str | None, readings: int, field: Place | None, faulty: bool) -> Any:
        """Step 3, and step 4 for what it mends."""
        place = field or self.root
        tokens, phrases = self.rules.tokens, self.rules.phrases
        plain_cut = cut_in(text) and not faulty
        try:
            try:
                value, fixes = mend(text, place, tokens, phrases)
                if "xml" in fixes and stop == "length" and readings == 0:
                    raise Refused("truncated")  # elements may be cut off at the end
            except Cut as cut:
                if readings == 0 and not looks_like_json(text) and not led_in(text, place, phrases):
                    return GONE
                if cut.closers is None or stop == "length" or self.off("envelope.complete"):
                    raise Refused("truncated" if plain_cut else "any") from None
                value, fixes = mend(text.rstrip(SPACE) + cut.closers, place, tokens, phrases)
                fixes.add("complete")
        except Broken:
            if readings == 0 and not looks_like_json(text) and not led_in(text, place, phrases):
                return GONE
            raise Refused("any") from None
        for each in fixes:
            self.change("envelope." + each)
        return value

    def empty(self, *, blank: bool) -> Any:
        if not blank and self.schema is not None and self.valid(None):
            return None
        if self.passes({}) and not self.off("envelope.empty"):
            self.change("envelope.empty")
            return {}
        if self.schema is None:
            raise Refused("schema")
        return None

    def passes(self, value: Any) -> bool:
        """After stages 3 to 5, tried on a copy."""
        before = set(self.changes)
        try:
            tried = self.preprocess(fresh(value))
        except OutOfBounds:
            return False
        finally:
            self.changes = before
        return self.valid(tried)

    def unwrap(self, value: Any, readings: int) -> Any:
        if self.root is None or "object" not in self.root.types():
            return value
        if isinstance(value, list):
            if len(value) == 1 and isinstance(value[0], dict) and "array" not in self.root.types():
                self.change("envelope.unwrap-array")
                return value[0]
            return value
        if not isinstance(value, dict) or self.passes(value):
            return value
        declared = self.root.declares()
        inner, certain = GONE, False
        wrappers = ("arguments", "parameters", "input", "args", "params", "result")
        if len(value) == 1 and next(iter(value)) in wrappers and next(iter(value)) not in declared:
            inner = next(iter(value.values()))
        else:
            aside = {"id", "type", "index", "call_id", "tool_call_id"}
            call = value
            for shell in ("function", "functionCall", "function_call", "tool_call", "tool_use"):
                if (
                    isinstance(value.get(shell), dict)
                    and set(value) <= {shell, *aside}
                    and shell not in declared
                ):
                    call = value[shell]
            named = [
                key
                for key in ("name", "tool", "tool_name", "toolName", "function", "function_name")
                if exact(call.get(key)) == exact(self.tool)
            ]
            held = [key for key in wrappers[:5] if isinstance(call.get(key), dict | str)]
            if len(named) == 1 and len(held) == 1 and set(call) <= {named[0], held[0], *aside}:
                if not {named[0], held[0]} & declared:
                    inner, certain = call[held[0]], True
        before = set(self.changes)
        if isinstance(inner, str) and readings < 3:
            try:
                inner = self.read(inner, "length", 1)
            except Refused:
                self.inner_fault = True
                inner = GONE
            self.change("envelope.decode-json")
            if isinstance(inner, dict):
                domain(inner)
        if not isinstance(inner, dict) or not (certain or self.passes(inner)):
            self.changes = before
            return value
        self.change("envelope.unwrap-object")
        return inner

    def swallowed(self, value: Any) -> None:
        """Markup of the call itself in a value."""
        declared = self.root.declares() if self.root is not None else set()
        lacking = declared - set(value) if isinstance(value, dict) else declared
        faults = [fault for name, text in texts_in(value) if (fault := markup(text, name, lacking))]
        if faults:
            raise Refused(min(faults) if len(set(faults)) == 1 else "swallowed-parameter")

    # Stage 4 -----------------------------------------------------------------------------------

    def applies(self, spec: Spec) -> bool:
        if spec.families is None:
            return spec.keyword not in FOR_ONE_MODEL
        if self.model is None:
            return spec.keyword in ("deny", "ask", "bound")
        patterns = [each.value for each in spec.families if isinstance(each, Text)]
        return any(re.search(each, self.model) for each in patterns)

    def holds(self, spec: Spec, value: Any, item: Any = GONE, positive: bool = False) -> bool | None:
        if spec.condition is None:
            return True
        condition = Not(spec.condition) if spec.unless else spec.condition
        items = None if item is GONE else [item]
        found: bool | None = evaluate(condition, self.names, value, self.env, positive=positive, item=items)  # type: ignore[no-untyped-call]
        return found

    def preprocess(self, value: Any) -> Any:
        for spec in self.rules.specs:
            if spec.keyword not in KINDS or not self.applies(spec) or spec.shadow:
                continue
            if spec.keyword in CAREFUL and self.rules.policy == "conservative":
                continue
            at_place = spec.keyword == "structural"
            if not at_place and self.holds(spec, value) is not True:
                continue
            segments = spec.selectors[0].segments
            if spec.keyword == "alias":
                segments = segments[:-1]
            place = None if self.root is None else self.root.under(tuple(star(each) for each in segments))
            for path in places(value, segments):
                here = get(value, path)
                if spec.keyword == "scalar" and self.bounded(path):
                    continue
                if at_place and self.holds(spec, here, here) is not True:
                    continue
                new, changed = KINDS[spec.keyword](spec, fresh(here), place)
                if changed:
                    value = put(value, path, new)
                    for below in changed:
                        self.change(spec.keyword, path + below)
        return self.bound(value)

    # Stage 5 -----------------------------------------------------------------------------------

    def bounds(self) -> list[Spec]:
        return [
            each
            for each in self.rules.specs
            if each.keyword == "bound" and self.applies(each) and not each.shadow
        ]

    def bounded(self, path: Path) -> bool:
        return any(fits(each.segments, path) for each in self.bounds())

    def bound(self, value: Any) -> Any:
        for spec in self.bounds():
            if self.holds(spec, value) is False:
                continue
            for path in places(value, spec.segments):
                here = get(value, path)
                new = admitted(spec, here)
                if exact(new) != exact(here):
                    value = put(value, path, new)
                    self.change("bound", path)
        return value

    # Stage 7 -----------------------------------------------------------------------------------

    def wrap_root(self, text: Any) -> Any:
        root = next((each for each in self.rules.specs if each.keyword == "root"), None)
        if not isinstance(text, str) or looks_like_json(text) or root is None or self.off("repair.wrap-root"):
            return text
        if not text.strip() or led_in(text, self.root, self.rules.phrases):
            return text
        value: Any = [text] if root.clauses.get("in-array") else text
        segments = root.selectors[0].segments
        for segment in reversed(segments):
            value = {str(segment): value}
        self.change("repair.wrap-root", tuple(str(each) for each in segments))
        return self.preprocess(value)

    def repair(self, value: Any) -> Any:
        done: set[tuple[str, Path]] = set()
        for _ in range(4):
            faults = sorted(
                self.judge.faults(self.schema, value),
                key=lambda fault: [(isinstance(part, str), part) for part in fault[0]],
            )
            if not faults:
                break
            new, touched = value, list[Path]()
            for path, keyword, lacking in faults:
                if any(path[: len(each)] == each for each in touched) or get(new, path) is GONE:
                    continue
                if keyword == "union":
                    raise OutOfScope  # branch by branch: compared by tests of its own
                for rule, where, candidate in self.candidates(new, path, keyword, lacking):
                    if not self.off(rule) and (rule, where) not in done:
                        done.add((rule, where))
                        touched.append(where)
                        self.change(rule, where)
                        new = candidate
                        break
            if exact(new) == exact(value):
                break
            value = self.preprocess(new)
        return value

    def candidates(self, value: Any, path: Path, keyword: str, lacking: Any) -> list[tuple[str, Path, Any]]:
        """What each rule of the table would do about one reported place, in the table's order."""
        assert self.root is not None
        found: list[tuple[str, Path, Any]] = []
        here = get(value, path)
        if keyword == "required":
            for spec in self.rules.specs:
                if spec.keyword != "alias" or spec.shadow or not self.applies(spec):
                    continue
                if self.holds(spec, value) is not True:
                    continue  # the page is silent; a rule with a condition stays one
                *above, last = spec.selectors[0].segments
                if last == lacking and fits(tuple(above), path):
                    place = self.root.under(tuple(star(each) for each in above))
                    new, changed = alias(spec, here, place)
                    if changed:
                        found.append(("repair.alias", (*path, str(last)), put(value, path, new)))
            return found
        place = self.root.under(path)
        types = place.types()
        if any(len(group) > 1 for group in place.any):
            raise OutOfScope  # unions are compared by tests of their own
        if path and isinstance(path[-1], str):
            parent = self.root.under(path[:-1])
            # No unknown field is deleted (invariant 7), so the schema has to name it.
            optional = path[-1] in parent.declares() and not parent.requires(path[-1])
            droppable = any(
                fits(each.segments, path)
                for spec in self.rules.specs
                if spec.keyword == "droppable"
                for each in spec.selectors
            )
            careful = self.rules.mutates and not droppable
            nothing = [None, "null", "None", ""]
            is_nothing = here is None or (isinstance(here, str) and here in nothing[1:] and not careful)
            like = any(exact(each) in [exact(word) for word in nothing] for each in place.members())
            if optional and is_nothing and not like and not place.accepts(here) and not place.accepts(None):
                found.append(("repair.drop-null", path, without(value, path)))
            if optional and here == {} and "array" in types and "object" not in types and not careful:
                found.append(("repair.drop-empty-object", path, without(value, path)))
        casts = [] if self.bounded(path) else self.casts(here, place, types)
        return found + [(rule, path, put(value, path, new)) for rule, new in casts]

    def casts(self, here: Any, place: Place, types: set[str]) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        if isinstance(here, str):
            if {"array", "object"} & types:
                parsed = self.parse_field(here, place)
                if parsed is not GONE and types_of(parsed) & {"array", "object"} & types:
                    found.append(("repair.parse-json", parsed))
            fitting = [new for new in one_scalar(here, types) if place.accepts(new)]
            found += [("repair.parse-scalar", new) for new in fitting]
        if types == {"string"} and type(here) in (bool, int):
            new = str(here).lower()
            if place.accepts(new):
                found.append(("repair.scalar-to-text", new))
        item = isinstance(here, dict) and list(here) == ["item"]
        one_line = isinstance(here, str) and len(here.splitlines()) == 1 and not left_over(here.strip())
        one_line = one_line and not set(here) & {",", ";"}
        one_line = one_line and not led_in(here, None, self.rules.phrases)
        # `{"0": …}` and `{"edit": […]}` are lists in another form.
        listlike = isinstance(here, dict) and (
            (here != {} and all(key.isdigit() for key in here))
            or (len(here) == 1 and isinstance(next(iter(here.values())), list))
        )
        wrappable = one_line or (isinstance(here, dict) and not item and not listlike)
        if wrappable and "array" in types and place.accepts([here]):
            found.append(("repair.wrap-array", [here]))
        if isinstance(here, list) and len(here) == 1 and place.accepts(here[0]):
            found.append(("repair.unwrap-array", here[0]))
        if item and "array" in types and "object" not in types:
            listed = here["item"] if isinstance(here["item"], list) else [here["item"]]
            if place.accepts(listed):
                found.append(("repair.unwrap-array", listed))
        if isinstance(here, str):
            folded = here.strip().casefold()
            texts = [each for each in place.members() if isinstance(each, str)]
            like = [each for each in texts if each.strip().casefold() == folded]
            if len(like) == 1 and folded and place.accepts(like[0]):
                found.append(("repair.enum-case", like[0]))
        return found

    def parse_field(self, text: str, place: Place) -> Any:
        """The array or object that a field's text is, with stage 2's mending; nothing is unwrapped."""
        before, value = self.changes, text
        self.changes = set()
        try:
            for layer in range(3):
                if not isinstance(value, str):
                    break
                plain = is_plain(value)
                if ((plain or layer) and value.lstrip(SPACE)[:1] not in ("{", "[", '"')) or (
                    not plain and "string" in place.types()
                ):
                    break
                value = self.read(value, "length", 1, place)
            self.check_off()
        except Refused:
            value = GONE  # type: ignore[assignment]
        self.changes = before
        return GONE if isinstance(value, str) else value

    # Stage 9 -----------------------------------------------------------------------------------

    def permission(self, final: Any, original: Any) -> str:
        """`deny`, `ask` or `allow`."""
        fitting: set[str] = set()
        for spec in self.rules.specs:
            if spec.keyword not in PERMITS or spec.shadow or not self.applies(spec):
                continue
            on_final = self.holds(spec, final)
            if spec.keyword == "allow":
                fits_here = on_final is True
            else:
                fits_here = on_final is not False or self.holds(spec, original, positive=True) is True
            if fits_here:
                fitting.add(spec.keyword)
        return next((each for each in PERMITS if each in fitting), self.rules.default)


def star(segment: Any) -> Any:
    return "*" if segment is STAR else segment


def fits(segments: tuple[Any, ...], path: Path) -> bool:
    """Does a selector reach this concrete place?"""
    return len(segments) == len(path) and all(
        isinstance(part, int) if segment is STAR else segment == str(part)
        for segment, part in zip(segments, path, strict=True)
    )


def left_over(text: str) -> bool:
    """Is the text a word for nothing or what is left of a damaged list? Stricter than the page: no guess."""
    if not text.replace("\\n", "").strip():
        return True  # blank, with line ends written as two characters
    if text in ("", "undefined", "true", "false", "null", "True", "False", "None"):
        return True
    return text.startswith(("[", "{", '"', "'", "('", '("')) or (text[0] == "<" and text[-1] == ">")


def one_scalar(text: str, types: set[str]) -> list[Any]:
    """The scalar that canonical JSON text is, if its type is wanted."""
    if "string" in types or len(types & {"integer", "number", "boolean"}) > 1:
        return []  # not the one scalar type that is wanted
    words_ = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
    if text in words_:
        value = words_[text]
        return [value] if types_of(value) & types else []
    if re.fullmatch("0|-?[1-9][0-9]*", text) and {"integer", "number"} & types:
        return [int(text)]
    if re.fullmatch(r"-?(0|[1-9][0-9]*)\.[0-9]+", text) and "number" in types:
        return [float(text)] if repr(float(text)) == text else []
    return []


def misplaced(value: Any, place: Place, around: tuple[tuple[Any, Place], ...] = ()) -> bool:
    """May the bracket that the text lacked have been lost earlier, so that a key stands one object too deep?

    Only what was open at the end can hold such a key, and its first key is not one.
    """
    if isinstance(value, list) and value:
        return misplaced(value[-1], place.child(len(value) - 1), around)
    if not isinstance(value, dict) or not value:
        return False
    for key in list(value)[1:]:
        if any(key in outer_place.declares() and key not in outer for outer, outer_place in around):
            return True
    last = list(value)[-1]
    return misplaced(value[last], place.child(last), (*around, (value, place)))


def cut_in(text: str) -> bool:
    """Is it an object that ends too early, and nothing else? Else which fault is told is open."""
    try:
        Reader(text).whole()
    except Cut:
        # In a number or a comment, or with its last bracket there, it may also be no JSON.
        other = (
            any(text.rstrip().endswith(each) for each in [*"0123456789.eE+-}]"]) or "/" in text or "#" in text
        )
        return text.lstrip(SPACE)[:1] == "{" and not other
    except (Broken, Refused):
        pass
    return False


def is_plain(text: str) -> bool:
    """Is it JSON without any damage but what the first step mends?"""
    try:
        Reader(text).whole()
    except (Broken, Cut, Refused):
        return False
    return True


def well_encoded(text: str) -> None:
    if any(0xD800 <= ord(each) < 0xE000 for each in text):
        raise Refused("surrogate")


def domain(value: Any, depth: int = 0) -> None:
    """Refuses what JSON cannot say."""
    if depth > 64:
        raise Refused("limit")
    if isinstance(value, str):
        well_encoded(value)
    if isinstance(value, float) and not isfinite(value):
        raise Refused("number")
    if isinstance(value, dict | list):
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            domain(inner, depth + 1)


def looks_like_json(text: str) -> bool:
    start = text.strip()
    if start[:1] in ("{", "[", '"', "'", "<", "`", "“") or re.search(r'\{\s*"', text):
        return True
    for part in start.split('"')[1:]:
        if part.lstrip(SPACE)[:1] == ":" or (part.strip(SPACE) and not part.strip(SPACE + "]}")):
            return True  # the rest of an object that lost its beginning
    named = {"true", "false", "null", "True", "False", "None", "NaN", "Infinity", "-Infinity", "undefined"}
    return start in named or re.fullmatch(r"-?[0-9.]+([eE][+-]?[0-9]+)?", start) is not None


def texts_in(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Every text with the key that it stands at, or that its array stands at."""
    if isinstance(value, str):
        return [(name, value)]
    if isinstance(value, dict):
        return [each for key, item in value.items() for each in texts_in(item, key)]
    return [each for item in value for each in texts_in(item, name)] if isinstance(value, list) else []


def markup(text: str, name: str, lacking: set[str]) -> str | None:
    """The code for a value that holds the call's own markup, or None."""
    tag = r"</?(?:param(?:eter)?(?:[ =][^<>]*)?|arg_key|arg_value|invoke|tool_call|function_calls?)>"
    if re.fullmatch(rf"\s*(?:(?:{tag}|</{re.escape(name)}>)\s*)+", text):
        return "lost-arguments"
    begins = r"<param(?:eter)?(?: name)?=[\"']?([^\"'<>\s]+)|<arg_key>\s*([^<>]+?)\s*</arg_key>"
    for found in re.finditer(begins, text):
        if (found[1] or found[2]) in lacking:
            return "swallowed-parameter"
        before = text[: found.start()].rstrip(" \t\r\n")
        while (closed := re.search(r"</([^<>]*)>\Z", before)) is not None:
            if (
                closed[1] in (name, "parameter", "param", "arg_value")
                and f"<{closed[1]}" not in text[: found.start()]
            ):
                return "swallowed-parameter"
            before = before[: closed.start()].rstrip(" \t\r\n")
    return None


__all__ = ["Answer", "Literal", "OutOfScope", "Pipeline", "Pointer", "equal"]
