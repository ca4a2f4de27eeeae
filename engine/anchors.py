"""Whether a regular expression is anchored at both ends, as far as its text says so plainly."""

from __future__ import annotations

import re

_FLAGS = re.compile(r"\(\?[a-zA-Z]+\)")
_LINES = re.compile(r"\(\?[a-zA-Z]*m")  # a flag that makes `^` and `$` the ends of lines, wherever it stands
# One piece: a quoted stretch, an escape, a class (a `]` right after its opening is a member), or a character.
_PIECE = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:[^\]]*:\]|\\.|[^\]\\])*\]|.", re.DOTALL)


def is_anchored(pattern: str) -> bool:
    """Must every match of the RE2 `pattern` begin where the text does and end where it does?

    False in doubt: `^(a|b)$` is anchored, and so is each side of `^a$|^b$`; `(?:^a$)` is not looked into.
    """
    lines = _LINES.search(pattern) is not None
    while found := _FLAGS.match(pattern):
        pattern = pattern[found.end() :]
    starts = {r"\A"} if lines else {r"\A", "^"}
    ends = {r"\z"} if lines else {r"\z", "$"}
    depth = 0
    branches: list[list[str]] = [[]]
    for piece in _PIECE.findall(pattern):
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and depth == 0:
            branches.append([])
        else:
            branches[-1].append(piece)
    # A repeated anchor (`^*`) may be left out.
    return all(
        len(branch) > 1 and branch[0] in starts and branch[1] not in ("*", "?", "{") and branch[-1] in ends
        for branch in branches
    )
