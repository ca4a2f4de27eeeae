"""Writes the pages that are made from the code: `docs/kinds.md` and `docs/diagnostics.md`.

`python docs/generate.py` rewrites them; with `--check` it only says which are out of date, and ends with 1.
"""

from __future__ import annotations

import json
import sys
from inspect import cleandoc
from pathlib import Path

from callgate.grammar.codes import CODES
from callgate.rules.catalog import kinds
from callgate.rules.kind import Example, Kind
from callgate.rules.reader import usage

HERE = Path(__file__).parent

STAGES = {
    "name": "stage 1, the tool's name",
    "preprocess": "stage 4, before the schema is checked, in file order",
    "bound": "stage 5",
    "permit": "stage 9, on the final arguments",
    "setting": "no stage of its own: it tells the engine something about the tool",
}
GROUPS = {
    "G0": "Text and shape",
    "G1": "Names",
    "G2": "Clauses and values",
    "G3": "Conditions",
    "G4": "Tests in rule files",
    "G5": "Packs and files",
    "G6": "Palettes",
}


def kinds_page() -> str:
    """The page of all kinds, from what each kind declares."""
    lines = [
        "# Kinds of rules",
        "",
        "This page is made by `docs/generate.py` from the kinds themselves. Each kind is one file in",
        "`rules/kinds/`. A rule of a kind stands in a `tool` block; [the language](language.md) says what",
        "may follow it (`for`, `when`, `note`, `named`). `callgate explain KIND` shows the same.",
        "",
    ]
    for keyword, kind in kinds().items():
        lines += [f"* [`{keyword}`](#{keyword}): {first_line(kind)}"]
    for keyword, kind in kinds().items():
        lines += ["", f"## {keyword}", "", f"`{usage(kind)}`", "", cleandoc(kind.__doc__ or ""), ""]
        lines += [f"* {fact}" for fact in facts(kind)]
        if kind.examples:
            lines += ["", "| rule | sent | becomes |", "| --- | --- | --- |"]
            lines += [row(example) for example in kind.examples]
    return "\n".join(lines) + "\n"


def first_line(kind: type[Kind]) -> str:
    return cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("\n", " ")


def facts(kind: type[Kind]) -> list[str]:
    found = [f"Works in {STAGES[kind.phase.value]}."]
    if kind.needs_schema:
        found.append("Needs the tool's schema; without one it does nothing, and every verdict says so.")
    if kind.needs_families:
        found.append("Needs `for`; without it the checker warns (G208) and the rule never fires.")
    if kind.cautious:
        found.append("Under `policy conservative` it observes and changes nothing.")
    if kind.condition_at_place:
        found.append("Selectors in its `when` are relative to the place.")
    if not kind.in_force:
        found.append("It is read and checked, and has no effect in this version (G110).")
    if kind.note:
        found.append(f"Tells the model: “{kind.note}”")
    if kind.cost:
        found.append(f"Cost: {kind.cost}.")
    return found


def row(example: Example) -> str:
    becomes = code(example.after) if example.after is not None else "stays as it is"
    if example.why:
        becomes += f" ({example.why})"
    model = f" from `{example.model}`" if example.model else ""
    sent = code(example.before) + model
    if example.schema is not None:
        sent += f", schema {code(example.schema)}"
    return f"| {span(example.rule)} | {sent} | {becomes} |"


def code(value: object) -> str:
    return span(json.dumps(value, ensure_ascii=False))


def span(text: str) -> str:
    """A code span inside a table."""
    marks = "``" if "`" in text else "`"
    return marks + text.replace("|", "\\|") + marks


def diagnostics_page() -> str:
    """The page of all diagnostics, from `grammar/codes.py`."""
    lines = [
        "# Diagnostics",
        "",
        "This page is made by `docs/generate.py`. Every diagnostic has a stable code, a place, and where it",
        "can, a fix. All of a file's diagnostics are reported in one run. An error keeps a file from being",
        "put in force; a warning and a note do not. `callgate explain CODE` shows one.",
        "",
        "```text it is the form of a diagnostic",
        "error[G104]: no field `pth` in the schema of `edit`",
        "  --> rules/edit.gate:12:9",
        "   |",
        "12 |   alias /pth from file_path",
        "   |         ^^^^ did you mean `/path`?",
        "```",
    ]
    for group, title in GROUPS.items():
        lines += ["", f"## {title}"]
        for name, page in sorted(CODES.items()):
            if name.startswith(group):
                kind = "" if page.severity.value == "error" else f" ({page.severity.value})"
                lines += ["", f"### {name}: {page.title}{kind}", "", page.explanation]
    return "\n".join(lines) + "\n"


PAGES = {"kinds.md": kinds_page, "diagnostics.md": diagnostics_page}


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` only compare them."""
    status = 0
    for name, make in PAGES.items():
        path, text = HERE / name, make()
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        if "--check" in arguments:
            print(f"{path}: out of date; run `python docs/generate.py`")
            status = 1
        else:
            path.write_text(text, "utf-8")
            print(f"{path}: written")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
