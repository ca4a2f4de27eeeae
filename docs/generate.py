"""Writes the pages that are made: `docs/kinds.md`, `docs/diagnostics.md` and `docs/providers.md`.

`python docs/generate.py` rewrites them; with `--check` it only says which are out of date, and ends with 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from inspect import cleandoc
from pathlib import Path

from callgate.grammar.codes import CODES
from callgate.rules.catalog import kinds
from callgate.rules.kind import Example, Kind
from callgate.rules.providers import CHOICES, shipped
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
    "G6": "Palettes and grounding",
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


def providers_page() -> str:
    """The page of all providers, from `rules/providers.yaml`."""
    table = shipped()
    providers = {each.name: each for each in table.named.values()}
    lines = PROVIDERS_HEAD.splitlines()
    for provider in providers.values():
        lines += ["", f"## {provider.name}", "", f"{provider.title}."]
        also = sorted(
            name for name, each in table.named.items() if each is provider and name != provider.name
        )
        if also:
            lines += [f"Also called {', '.join(f'`{name}`' for name in also)}."]
        lines += [f"Names: {span(provider.pattern)}, at most {provider.longest} characters.", ""]
        lines += ["| choice | what is sent |", "| --- | --- |"]
        lines += [f"| `{choice}` | {way(provider.choices.get(choice))} |" for choice in CHOICES]
        if provider.parallel is None:
            lines += [
                "",
                "Whether calls may stand side by side cannot be said; `parallel=False` is reported.",
            ]
        else:
            lines += ["", f"One call at a time: {code(provider.parallel['off'])}."]
        lines += [f"* Beside the request, `{what}`: {value}" for what, value in provider.beside.items()]
    lines += ["", "## Which models can be forced", ""]
    lines += ["The first row that fits decides. A state of thinking that is not named cannot be forced.", ""]
    lines += ["| provider | model | forms | states |", "| --- | --- | --- | --- |"]
    for row in table.models:
        states = ", ".join(f"{state}: `{answer}`" for state, answer in row.force.items()) or "never"
        model = span(row.matches) if row.matches is not None else "every other"
        lines += [
            f"| {', '.join(sorted(row.providers))} | {model} | {', '.join(sorted(row.forms))} | {states} |"
        ]
    lines += PROVIDERS_END.splitlines()
    return "\n".join(lines) + "\n"


PROVIDERS_HEAD = """\
# Providers

This page is made by `docs/generate.py` from `rules/providers.yaml`. It says what `palette.to(PROVIDER)` and
`lower(PROVIDER, …)` send; see [palettes](palettes.md). The facts come from the request types of the
providers' client packages, from what released clients send, and from what vendors write. No provider was
asked. `$name` is the tool, `$names` are the allowed ones, and `$entries` one entry for each of them.

```python
from callgate.engine.palette import lower

tools = [{"name": "search", "input_schema": {"type": "object"}}, {"name": "read", "input_schema": {}}]
lowered = lower("anthropic", choice={"tool": "search"}, tools=tools, parallel=False)
print(lowered.guarantee, lowered.body)
soft = lower("ollama", choice={"tool": "search"}, tools=tools, mode="soft")
print(soft.guarantee, soft.body, [tool["name"] for tool in soft.tools], *soft.events)
```

```output
exact {'tool_choice': {'type': 'tool', 'name': 'search', 'disable_parallel_tool_use': True}}
advisory {} ['search'] degraded_to_auto
```

A choice is `auto`, `none`, `required`, `{tool: NAME}`, `{custom: NAME}`, `{hosted: TYPE}`,
`{mcp: {server, tool}}` or `{allowed: [NAME, …], mode: auto or required}`. The guarantee is `exact` where the
service constrains the model, and `advisory` where only the list of tools does: then look at what came back
with `verify`. What a provider cannot do is refused, or with `mode="soft"` sent as `auto` with the tools
narrowed to those that were to be called. Tools are sent in the form in which they were given. A name must
match the provider's pattern as a whole.
"""

PROVIDERS_END = """
`quiet`: forced, and the request returns no thinking. A provider without a row, of its own or of one that
it is like, can be forced wherever it has the choice.

## Other tables

`read_table` checks a table and adds it to the shipped one; its rows for models come first. Every fault
of it is named in one `InputError`. The head of `rules/providers.yaml` says what stands in a table.

```python
from callgate.engine.palette import read_table

row = {"providers": ["anthropic"], "matches": "claude-opus-5-5", "force": {"default": "ok"}}
mine = read_table({"models": [row]})
options = {"choice": "required", "tools": tools, "model": "claude-opus-5-5"}
print(lower("anthropic", **options, providers=mine).body)
```

```output
{'tool_choice': {'type': 'any'}}
```
"""


def way(choice: object) -> str:
    """How a provider takes a choice, in the words of the page."""
    ways = {
        None: "cannot be asked for",
        "no-tools": "no tools",
        "only": "that tool alone, and `required`",
        "filter": "the allowed tools alone, and `auto` or `required`",
    }
    if isinstance(choice, Mapping):
        return code(dict(choice)) if choice else "nothing"
    return ways[choice if isinstance(choice, str) else None]


PAGES = {"kinds.md": kinds_page, "diagnostics.md": diagnostics_page, "providers.md": providers_page}


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
