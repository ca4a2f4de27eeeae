"""schema: the argument schema of a tool, where the host gives none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..kind import Finding, Kind, Phase, Place, Setting, Spec


class Schema(Kind):
    """Give the tool a JSON Schema: written in place, or the name of a file beside the rule file.

    The schema that the host registers for the tool wins. Drafts 2020-12 and, where `$schema` says so, 7.
    A file is looked up relative to the rule file and never outside the folder of its pack.

    Not for a second schema: one tool has one.
    """

    keyword = "schema"
    phase = Phase.SETTING
    setting = Setting.SCHEMA
    clauses: ClassVar = {
        "source": {
            "meta": {"positional": True, "reads": "json"},
            "required": True,
            "type": ["dict", "string", "boolean"],
        }
    }
    cost = "compiled once"

    @classmethod
    def check(cls, spec: Spec, place: Place | None) -> Iterator[Finding]:
        source = spec.clauses["source"]
        if isinstance(source, str):
            parts = source.replace("\\", "/").split("/")
            if not source or parts[0] == "" or ".." in parts or ":" in parts[0] or "\0" in source:
                message = "a schema file is named relative to the rule file, inside its folder"
                yield Finding("G228", message, 'write `schema "schemas/tool.json"`')


KIND = Schema
