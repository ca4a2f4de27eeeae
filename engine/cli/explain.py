"""callgate explain: the page of a diagnostic, a rule, a statement, a word, or the code of a refused call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._pages import BUILT_IN, CODES_OF_CALLS, WORDS
from ._terminal import Unusable, out

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ...rules.forms import Form
    from ...rules.kind import Kind

NAME = "explain"
HELP = "explain a diagnostic code, a rule, a statement, a word or the code of a refused call"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name",
        nargs="?",
        metavar="CODE|RULE",
        help="such as `G104`, `alias`, `edit:alias:/path`, `repair.parse-scalar`; without it, the list",
    )


def run(namespace: Namespace) -> int:
    from ...grammar.codes import CODES

    name: str | None = namespace.name
    if name is not None and name.upper() in CODES:
        out(_code(name.upper()))
        return 0
    # Kinds load what their clauses are checked with, which a code does not need.
    from ...rules.catalog import kinds

    if name is None:
        out(_list())
        return 0
    # One word may be several things: `schema` is a kind of rule, and the code of a call that does not fit.
    pages = [_kind(kinds()[name])] if name in kinds() else []
    pages += [_form(place, form) for place, form in _forms().get(name, ())]
    if name in BUILT_IN:
        pages.append(f"{name} (a built-in rule)\n\n{_wrapped(BUILT_IN[name])}\n")
    if name in CODES_OF_CALLS:
        pages.append(f"{name} (the code of a refused call)\n\n{_wrapped(CODES_OF_CALLS[name])}\n")
    if name in WORDS:
        pages.append(f"{name} (a word of rules)\n\n{_wrapped(WORDS[name])}\n")
    pages = pages or _rule_of_a_file(name)
    if not pages:
        raise Unusable(_unknown(name))
    out("\n".join(pages))
    return 0


def _code(code: str) -> str:
    from ...grammar.codes import CODES

    page = CODES[code]
    return f"{code}: {page.title} ({page.severity.value})\n\n{_wrapped(page.explanation)}\n"


def _kind(kind: type[Kind]) -> str:
    from inspect import cleandoc

    facts = _choices(kind) | {
        "works in": kind.phase.value
        if kind.in_force
        else f"{kind.phase.value} (not in force in this version)",
        "costs": kind.cost,
        "tells the model": kind.note,
    }
    lines = [_usage(kind), "", cleandoc(kind.__doc__ or ""), ""]
    lines += [f"{what + ':':<18} {said}" for what, said in facts.items() if said]
    if kind.examples:
        lines += ["", "Examples", ""]
    for each in kind.examples:
        after = "stays as it is" if each.after is None else _json(each.after)
        conditions = [f"with the schema {_json(each.schema)}"] if each.schema is not None else []
        conditions += [f"from {each.model}"] if each.model is not None else []
        conditions += [each.why] if each.why else []
        lines.append(f"  {each.rule}")
        lines.append(
            f"    {_json(each.before)}  ->  {after}" + (f"  ({'; '.join(conditions)})" if conditions else "")
        )
    return "\n".join(lines) + "\n"


def _usage(kind: type[Kind]) -> str:
    """How a rule of the kind is written, as the checker says it, with the suffixes."""
    from ...rules.reader import usage

    block = " { … }" if kind.block is not None else ""
    suffixes = " [for FAMILY, …] [when CONDITION | unless CONDITION]"
    return usage(kind).removesuffix(block) + suffixes + block


def _choices(kind: type[Kind]) -> dict[str, str]:
    """What the clauses that list words take."""
    found = {}
    for name, schema in kind.clauses.items():
        allowed = schema.get("schema", {}).get("allowed") or schema.get("allowed")
        if allowed:
            found[f"`{name}` takes"] = ", ".join(map(str, allowed))
    return found


def _rule_of_a_file(name: str) -> list[str]:
    """The name of a rule as verdicts print it, `[PACK:]TOOL,…:KIND[:…]`, and the page of its kind."""
    from ...rules.catalog import kinds

    parts = [each.partition("#")[0] for each in name.split(":")]
    at = next((at for at, each in enumerate(parts) if at and each in kinds()), None)
    if at is None:
        return []
    pack = f" of the pack `{':'.join(parts[: at - 1])}`" if at > 1 else " of yours"
    tools = ", ".join(parts[at - 1].split(","))
    lead = f"{name}\n\nThis is the name of a rule{pack}: kind `{parts[at]}` on {tools}.\n"
    return [lead, _kind(kinds()[parts[at]])]


def _forms() -> dict[str, list[tuple[str, Form]]]:
    """The statements that are no rules, each with the blocks in which it stands."""
    from ...rules.forms import FORMS

    found: dict[str, list[tuple[str, Form]]] = {}
    for block, forms in FORMS.items():
        for word, form in forms.items():
            found.setdefault(word, []).append(("a file" if block is None else f"a `{block}` block", form))
    return found


def _form(place: str, form: Form) -> str:
    return f"{form.usage}\n\nIn {place}: {form.what}.\n"


def _list() -> str:
    from inspect import cleandoc

    from ...grammar.codes import CODES
    from ...rules.catalog import kinds

    lines = ["kinds of rules"]
    lines += [
        f"  {name:<22} {cleandoc(kind.__doc__ or '').splitlines()[0]}" for name, kind in kinds().items()
    ]
    lines += ["", "statements"]
    lines += [f"  {word:<22} {places[0][1].what}" for word, places in sorted(_forms().items())]
    lines += ["", "words of rules and conditions"]
    lines += [f"  {word:<22} {_first_sentence(text)}" for word, text in WORDS.items()]
    lines += ["", "built-in rules"]
    lines += [f"  {name:<30} {_first_sentence(text)}" for name, text in BUILT_IN.items()]
    lines += ["", "codes of refused calls"]
    lines += [f"  {name:<22} {_first_sentence(text)}" for name, text in CODES_OF_CALLS.items()]
    lines += ["", "diagnostics"]
    lines += [f"  {code:<6} {page.severity.value:<8} {page.title}" for code, page in CODES.items()]
    return "\n".join(lines) + "\n"


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].removesuffix(".")


def _unknown(name: str) -> str:
    from ...grammar.codes import CODES
    from ...grammar.diagnostics import nearest
    from ...rules.catalog import kinds

    near = nearest(name, {*CODES, *kinds(), *_forms(), *BUILT_IN, *CODES_OF_CALLS, *WORDS}) or nearest(
        name.upper(), CODES
    )
    hint = f"did you mean `{near}`?" if near is not None else "`callgate explain` lists them"
    return f"explain {name[:64]}: there is no such code, rule, statement or word; {hint}"


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def _wrapped(text: str) -> str:
    from textwrap import fill

    return "\n".join(
        fill(line, 100, break_long_words=False, break_on_hyphens=False) for line in text.split("\n")
    )
