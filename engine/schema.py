"""A tool's argument schema: strict validation, its issues, and what it says about one place.

Validation is `jsonschema-rs` with its linear regular expressions. Drafts 2020-12 and, where `$schema`
says so, 7. `$ref` resolves inside the document and the drafts' own metaschemas only.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cached_property
from typing import Any, NoReturn

import jsonschema_rs

from ..grammar.ast import Json
from .domain import Limits, value_fault
from .errors import InputError, SchemaError
from .misfits import collect
from .native import Misfit, misfit, native_faults, order
from .places import ROOT, View, target_of, type_name
from .plain import Lacking, lacking_test, plain_fields
from .selector import MISSING, Path, get, pointer

_SCHEMA_LIMITS = Limits(input_bytes=1 << 26, depth=100)
_BACKTRACKS = 100_000  # the bound of the engine for patterns that have no linear form
_VIEWS = 4096  # kept for one schema


class Schema:
    """A compiled schema. Immutable; serves every thread.

    Raises:
        SchemaError: no usable JSON Schema. `what` names it in the message.
    """

    def __init__(self, document: Json, what: str = "the schema") -> None:
        check_domain(document, what)
        if type(document) is not dict and type(document) is not bool:
            raise SchemaError(f"{what}: a JSON Schema is an object, `true` or `false`")
        # A copy, so that nobody can change it behind the compiled form.
        self.document: dict[str, Any] | bool = deepcopy(document)
        draft = self.document.get("$schema") if isinstance(self.document, dict) else None
        self.draft7 = isinstance(draft, str) and "draft-07" in draft
        self.linear = True
        try:
            self._validator = self._compile(self.document, None, jsonschema_rs.RegexOptions())
        except _FAILURES as first:
            try:
                options = jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS)
                self._validator = self._compile(self.document, None, options)
                self.linear = False
            except _FAILURES:
                raise SchemaError(f"{what}: {_reason(first)}") from None
        self.is_valid = self._validator.is_valid
        self._views: dict[View, View] = {}
        try:
            self.part({"$ref": f"{ROOT}#"})  # a relative `$id` would fail here, and not in a call
        except _FAILURES as error:
            raise SchemaError(f"{what}: {_reason(error)}") from None
        self._spots: dict[str, Any] = {}
        fields = plain_fields(self.document)
        self._lacking: Lacking | None = None
        if fields is not None and isinstance(self.document, dict):
            required = self.document.get("required", [])
            missing = {key: misfit((), "required", {"property": key}) for key in required}
            self._lacking = lacking_test(fields, missing, self.document.get("additionalProperties") is False)
        self.root = View(self, ("",))

    def _compile(self, document: Any, registry: Any, options: Any) -> Any:
        validator = jsonschema_rs.Draft7Validator if self.draft7 else jsonschema_rs.Draft202012Validator
        return validator(
            document,
            validate_formats=False,
            retriever=_refuse,
            registry=registry,
            pattern_options=options,
            mask="it",
        )

    @cached_property
    def _registry(self) -> Any:
        draft = jsonschema_rs.Draft7 if self.draft7 else jsonschema_rs.Draft202012
        return jsonschema_rs.Registry([(ROOT, self.document)], draft=draft, retriever=_refuse)

    def part(self, document: Any) -> Any:
        """A validator for a schema whose references into this one begin with `urn:callgate:root#`."""
        options = (
            jsonschema_rs.RegexOptions()
            if self.linear
            else jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS)
        )
        return self._compile(document, self._registry, options)

    def faults(self, value: Json, most: int) -> list[Misfit]:
        """Where the value does not fit, ordered by path, at most `most` of them."""
        lacking = self._lacking(value) if type(value) is dict and self._lacking is not None else None
        if lacking is not None:
            return lacking[:most]
        found = self.guarded(lambda: collect(self, value, most, ("",)))
        found.sort(key=lambda each: (order(each.path), each.keyword))
        return found

    def same_value(self, pointer: str, spot: dict[str, Any]) -> list[str] | None:
        """Where `$ref` and `allOf` say more of the same value; None where that cannot be followed by hand."""
        more: list[str] = []
        if "$ref" in spot:
            target = target_of(spot["$ref"])
            if target is None or self.at(target) is MISSING or (self.draft7 and len(spot) > 1):
                return None
            more.append(target)
        if "allOf" in spot:
            more += [f"{pointer}/allOf/{n}" for n in range(len(spot["allOf"]))]
        return more

    def guarded(self, find: Callable[[], list[Misfit]]) -> list[Misfit]:
        """Faults, or where the native part gives up (a value too deep for it), one that says so."""
        try:
            return find()
        except _FAILURES:
            return [misfit((), "depth", {})]

    def has_type(self, value: Json, names: list[str]) -> bool:
        """Is the value of one of the types that a schema names? `1.0` is an integer."""
        kind = type_name(value)
        return kind in names or (kind == "integer" and "number" in names)

    def validator_at(self, pointer: str) -> Any:
        """The validator for the subschema at a pointer, compiled once."""
        return self._validator if pointer == "" else self.shared(View(self, (pointer,))).validator

    def native_faults(self, validator: Any, value: Json, most: int, path: Path) -> list[Misfit]:
        """What a validator finds wrong with the value at `path`."""
        found = native_faults(validator, value, most)
        return [Misfit(path + each.path, each.keyword, each.facts, each.message) for each in found]

    def fault(self, path: Path, keyword: str, facts: dict[str, Any]) -> Misfit:
        """A fault found without the validator."""
        return misfit(path, keyword, facts)

    def shared(self, view: View) -> View:
        """The one view for what this one says, so that its validator is compiled once."""
        found = self._views.get(view)
        if found is not None:
            return found
        if len(self._views) < _VIEWS:
            self._views[view] = view
        return view

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """Every name of a property anywhere in the document. Iterative."""
        found: set[str] = set()
        stack: list[Any] = [self.document]
        while stack:
            here = stack.pop()
            if isinstance(here, dict):
                if isinstance(here.get("properties"), dict):
                    found.update(here["properties"])
                stack.extend(here.values())
            elif isinstance(here, list):
                stack.extend(here)
        return frozenset(found)

    def at(self, pointer: str) -> Any:
        """The subschema at a JSON Pointer of the document, or `MISSING`."""
        found = self._spots.get(pointer)
        if found is None:
            parts = tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
            found = get(self.document, parts)
            if len(self._spots) < _VIEWS:
                self._spots[pointer] = found
        return found


_ABOUT_SCHEMAS = {
    "limit": "it is too large, or nested too deeply",
    "number": "a number in it is not finite, or has too many digits",
    "surrogate": "a text in it holds half of a surrogate pair",
}


def check_domain(document: Json, what: str) -> None:
    """Raise SchemaError unless the document is a value of the JSON domain, within the limits of schemas."""
    try:
        fault = value_fault(document, _SCHEMA_LIMITS)
    except InputError as error:
        raise SchemaError(f"{what}: {error}") from None
    if fault is not None:
        raise SchemaError(f"{what}: {_ABOUT_SCHEMAS[fault.code]}")


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"`{uri}` is outside the schema, and nothing is fetched or read")


def _reason(error: BaseException) -> str:
    """What the validator says about a bad schema, and of which place, in one line of bounded length."""
    text = str(error)
    if isinstance(error, jsonschema_rs.ValidationError):
        place = pointer(tuple(error.instance_path))
        text = f"`{place}`: {error.message}" if error.instance_path else error.message
    return " ".join(text.split())[:300]


_FAILURES = (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError)
