"""What can be wrong with a statement: one function per mistake, named after it."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from ..grammar.ast import Statement, Text, Word
from ..grammar.diagnostics import Diagnostic, Severity, nearest
from ..grammar.span import Span
from .forms import FORMS, Form
from .regex import compile_regex
from .shapes import Misfit

# A word that near to one of these is a rule that an author counts on: it is never passed over.
GUARDED = ("allow", "ask", "deny", "bound", "root", "rename")
FOREIGN = frozenset({"forbid", "block", "reject", "permit", "confirm", "require"})


def edits(left: str, right: str, most: int) -> int:
    """Damerau–Levenshtein distance (adjacent letters swapped count one), or some number over `most`."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1]


def unknown_kind(statement: Statement, known: Iterable[str], file: str) -> Diagnostic:
    """No kind has this name. An error where it may be a misspelt permission, else a warning: it is inert."""
    word = statement.word.text
    if word in FORMS[None]:
        return unknown_statement(statement, "tool", (), file)
    guarded = next((name for name in GUARDED if edits(word.lower(), name, 2) <= 2), None)
    dangerous = guarded is not None or word.lower() in FOREIGN
    near = guarded or nearest(word, known)
    return Diagnostic(
        "G101",
        f"unknown kind `{word[:64]}`",
        statement.word.span,
        Severity.ERROR if dangerous else Severity.WARNING,
        f"did you mean `{near}`?" if near else _foreign_help(word),
        file,
    )


def _foreign_help(word: str) -> str:
    if word.lower() in FOREIGN:
        return "permissions are `allow`, `ask` and `deny`"
    return "the rule does nothing; if it is of a newer version, say so with `requires callgate`"


def unknown_statement(statement: Statement, block: str | None, known: Iterable[str], file: str) -> Diagnostic:
    """The word begins no statement here; perhaps it does elsewhere."""
    word = statement.word.text
    near = nearest(word, known)
    home = next((place for place, forms in FORMS.items() if word in forms), "")
    if home != "" and home != block:
        help_ = f"it stands {_where(home)}"
    else:
        help_ = f"did you mean `{near}`?" if near else "here may stand: " + ", ".join(sorted(known))
    return Diagnostic(
        "G102",
        f"`{word[:64]}` begins no statement {_where(block)}",
        statement.word.span,
        help=help_,
        file=file,
    )


def rule_outside(statement: Statement, block: str | None, file: str) -> Diagnostic:
    """A rule stands where no tool is named."""
    word = statement.word.text
    help_ = f'write it inside `tool NAME {{ … }}`; `tool "*" {{ {word} … }}` is for every tool'
    return Diagnostic(
        "G102", f"the rule `{word}` cannot stand {_where(block)}", statement.word.span, help=help_, file=file
    )


def _where(block: str | None) -> str:
    return "at file level" if block is None else f"in a `{block}` block"


# What stands for a name that does not say it by itself.
_MEANT = MappingProxyType(
    {
        "COMMAND": "a selector like `/command`",
        "SELECTOR": "a selector like `/path`",
        "SELECTOR, …": "a selector like `/path`",
        "RESULT": 'JSON like `"done"`',
        "ARGUMENTS": 'JSON like `{"path": "a"}`',
    }
)


def wrong_shape(statement: Statement, form: Form, misfit: Misfit, file: str) -> Diagnostic:
    """The items of the statement are not what its word wants."""
    word = statement.word.text
    wanted = " or ".join(misfit.wanted)
    meant = next((f"; {name} is {_MEANT[name]}" for name in misfit.wanted if name in _MEANT), "")
    if misfit.span is None:
        message = f"`{word}` ends where {wanted} must follow"
    else:
        message = f"`{word}` wants {wanted} here" if wanted else f"`{word}` takes nothing more here"
    return Diagnostic(
        "G103",
        message,
        misfit.span or statement.word.span,
        help=f"it is written `{form.usage}`{meant}",
        file=file,
    )


def wrong_suffix(statement: Statement, suffix: str, span: Span, file: str) -> Diagnostic:
    """A suffix that has no meaning on this statement."""
    return Diagnostic(
        "G210", f"`{statement.word.text}` takes no `{suffix}`", span, help="leave it out", file=file
    )


def unwanted_block(statement: Statement, file: str) -> Diagnostic:
    return Diagnostic("G211", f"`{statement.word.text}` has no block", statement.span, file=file)


def missing_block(statement: Statement, usage: str, file: str) -> Diagnostic:
    return Diagnostic(
        "G211",
        f"`{statement.word.text}` needs a block",
        statement.word.span,
        help=f"it is written `{usage}`",
        file=file,
    )


def bad_regex(atom: Text, why: str, file: str) -> Diagnostic:
    return Diagnostic("G209", why, atom.span, file=file)


def not_in_force(statement: Statement, file: str) -> Diagnostic:
    """Read and checked, and without meaning in this version."""
    word = statement.word.text
    return Diagnostic(
        "G110",
        f"`{word}` is not in force yet",
        statement.word.span,
        Severity.NOTE,
        "its form is checked; it has no effect in this version",
        file,
    )


def check_families(families: tuple[Word | Text, ...] | None, file: str) -> list[Diagnostic]:
    """Quoted families are regular expressions; names are resolved where all packs are known."""
    return [found for family in families or () if (found := check_regex(family, file)) is not None]


def check_regex(atom: Word | Text, file: str) -> Diagnostic | None:
    """A diagnostic where a quoted regular expression does not compile."""
    if isinstance(atom, Text):
        try:
            compile_regex(atom.value)
        except ValueError as error:
            return bad_regex(atom, str(error), file)
    return None
