"""What damaged argument text costs: how CPU time grows with the text, and beside it `json_repair`.

    python benchmarks/damage.py [--rounds N] [--only KIND]

Each kind of damage, and each text that is written to cost much, goes through `check_text` at 5 kB, 50 kB,
500 kB and 5 MB, in turn in one run; medians. Exit status 1: a goal is missed. The goals:

* a text 100 times as large takes at most 120 times as long (5 kB to 500 kB, 50 kB to 5 MB), or 1.2 times
  the factor by which `json.loads` slows down on well-formed entries, whose caches and memory are ours too;
* at 50 kB at least 5 times faster than `json_repair.loads`, where that is installed; where it leaves the text
  to `json.loads` (plain JSON, a value with something around it) there is no goal, and the factor is shown;
* damage that is to be mended comes out `repaired`.

A call over its cap (20 CPU seconds for callgate, 2 for json_repair) is stopped and said to be over it.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import signal
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import callgate

SIZES = (5_000, 50_000, 500_000, 5_000_000)
GROWTH, BESIDE, FASTER = 120.0, 1.2, 5.0
CAP, OTHER_CAP = 20.0, 2.0  # CPU seconds
BATCH = 0.03  # CPU seconds that one measurement takes at least
LIMITS = callgate.Limits(input_bytes=64_000_000, depth=64)
RULES = """
surroundings "Running it now:"
quote-token '<|"|>'
"""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string"},
        "mode": {"enum": ["create", "append", "replace"]},
        **{f"f{number}": {"type": "string"} for number in range(20)},
    },
}
LINE = "    print('it is <b>', x, {1: 2})  # a \\\"line\\\" & more\\n"  # as it stands in JSON


Entry = Callable[[int], str]


def entry(number: int) -> str:
    return f'{{"path": "src/a_{number}.py", "text": "some text {number}", "line": {number}}}'


def mixed(number: int) -> str:
    """An entry with several kinds of damage."""
    return f'{{path: \'a{number}\', /* x */ "re": "\\d+", ok: True,}}'


def entries(size: int, write: Entry = entry, between: str = ", ") -> str:
    """Many entries of few fields; `write` gives the one with this number.

    They share their keys: many different keys alone make `json.loads` take 200 to 350 times as long for
    100 times the text, by what they do to the caches.
    """
    count = max(1, size // (len(write(10_000)) + len(between)))
    return '{"edits": [' + between.join(map(write, range(count))) + "]}"


def big(size: int, line: str = LINE) -> str:
    """One large field."""
    return '{"path": "/repo/a.py", "content": "' + line * (size // len(line)) + '"}'


def each(old: str, new: str) -> Callable[[int], str]:
    """Entries that are all damaged: `new` in place of `old`."""
    return lambda size: entries(size, lambda number: entry(number).replace(old, new))


def quoted(open_: str, close: str, text: str) -> str:
    """The text with other quotes; it holds no quote inside a string."""
    return re.sub(r'"([^"]*)"', lambda match: open_ + match[1] + close, text)


@dataclass(frozen=True)
class Kind:
    """A text of about a size.

    `mended`: it must come out `repaired`. `compared`: json_repair does more with it than `json.loads`.
    """

    make: Callable[[int], str]
    mended: bool = True
    compared: bool = True


DRIVE = "C:\\Users\\me\\new\\temp"
PLAIN = "some text without a quote, {1: [2]}\\n"

DAMAGE: dict[str, Kind] = {
    "valid/entries": Kind(entries, mended=False, compared=False),
    "valid/big": Kind(big, mended=False, compared=False),
    "fence/entries": Kind(lambda n: f"```json\n{entries(n)}\n```", compared=False),
    "fence/big": Kind(lambda n: f"```json\n{big(n)}\n```", compared=False),
    "surroundings/entries": Kind(lambda n: f"Here is the call:\n{entries(n)}\n</tool_call>", compared=False),
    "surroundings/big": Kind(lambda n: f"Running it now: {big(n)}<|im_end|>", compared=False),
    "surroundings/tags": Kind(lambda n: '{"path": "a"}' + "</tool_call>\n" * (n // 13), mended=False),
    "surroundings/prose": Kind(lambda n: '{"path": "a"}' + " and so on" * (n // 10), mended=False),
    "commas/trailing": Kind(lambda n: entries(n)[:-1] + ",}"),
    "commas/trailing-each": Kind(each("}", ",}")),
    "commas/doubled-each": Kind(each(", ", ",, ")),
    "commas/big": Kind(lambda n: big(n)[:-1] + ",}"),
    "literals/each": Kind(each("}", ', "a": True, "b": None}')),
    "literals/big": Kind(lambda n: big(n)[:-1] + ', "replace_all": False}'),
    "quotes/single-each": Kind(lambda n: quoted("'", "'", entries(n))),
    "quotes/single-big": Kind(lambda n: quoted("'", "'", big(n, PLAIN))),
    "quotes/typographic-each": Kind(lambda n: quoted("“", "”", entries(n))),
    "quotes/typographic-big": Kind(lambda n: quoted("“", "”", big(n, PLAIN))),
    "quotes/token-each": Kind(lambda n: quoted('<|"|>', '<|"|>', entries(n))),
    "quotes/token-big": Kind(lambda n: quoted('<|"|>', '<|"|>', big(n, "some text, {1: [2]} "))),
    "keys/unquoted-each": Kind(each('"text"', "text")),
    "keys/unquoted-big": Kind(lambda n: big(n).replace('"path"', "path").replace('"content"', "content")),
    "keys/lost-opening-each": Kind(each('"text":', 'text":')),
    "keys/lost-opening-big": Kind(lambda n: big(n).replace('"content"', 'content"')),
    "keys/lost-closing-each": Kind(each('"text":', '"text:')),
    "keys/lost-closing-big": Kind(lambda n: big(n).replace('"content"', '"content')),
    "bare-value/big": Kind(lambda n: big(n)[:-1] + ', "mode": create}'),
    "braces/outer-entries": Kind(lambda n: "{" + entries(n) + "}"),
    "braces/outer-big": Kind(lambda n: "{" + big(n) + "}"),
    "braces/surplus-entries": Kind(lambda n: entries(n) + "}", compared=False),
    "braces/surplus-big": Kind(lambda n: big(n) + "}", compared=False),
    "comments/line-each": Kind(each('"text"', '// note\n"text"')),
    "comments/block-each": Kind(each('"text"', '/* note */ "text"')),
    "comments/one-big": Kind(lambda n: '{"path": "a" /* ' + "why so " * (n // 7) + '*/, "content": ""}'),
    "repeated/entries": Kind(lambda n: (entries(n // 2) + "\n") * 2),
    "repeated/big": Kind(lambda n: big(n // 2) * 2),
    "repeated/often": Kind(lambda n: '{"path": "a"}\n' * (n // 14)),
    "escapes/each": Kind(each("some text", "a\\d+\\.py")),
    "escapes/big": Kind(lambda n: big(n, "a\\d+\\.py and so on ")),
    "windows/each": Kind(each("src/", DRIVE + "\\")),
    "windows/big": Kind(lambda n: '{"path": "' + DRIVE + "\\dir" * (n // 4) + '"}'),
    "control/newlines-each": Kind(each("some text", "some\n\ttext")),
    "control/newlines-big": Kind(lambda n: big(n, LINE.replace("\\n", "\n"))),
    "control/literal-between": Kind(each(", ", ",\\n  ")),
    "xml/several": Kind(lambda n: "\n".join(f"<f{i}>{'a text,' * (n // 140)}</f{i}>" for i in range(20))),
    "xml/big": Kind(lambda n: f"<path>a</path>\n<content>{'if a < b: f(x)' * (n // 14)}</content>"),
    "complete/entries": Kind(lambda n: entries(n)[:-1]),
    "complete/big": Kind(lambda n: big(n)[:-1]),
    "json-in-json/entries": Kind(lambda n: json.dumps(entries(n)), compared=False),
    "json-in-json/big": Kind(lambda n: json.dumps(big(n)), compared=False),
    "json-in-json/damaged": Kind(lambda n: json.dumps(entries(n)[:-1] + ",}"), compared=False),
    "duplicate-key/equal": Kind(each('"text"', '"k": 1, "k": 1, "text"'), compared=False),
    "all/each": Kind(lambda n: f"```json\n{entries(n, mixed)}\n```"),
}  # fmt: skip


def repeated(piece: str, start: str = "", end: str = "") -> Kind:
    return Kind(lambda n: start + piece * (n // len(piece)) + end, mended=False)


HOSTILE: dict[str, Kind] = {
    "hostile/brace-quote": repeated("{'"),
    "hostile/double-quotes": repeated('"'),
    "hostile/double-quotes-inside": repeated('"', '{"a": "', '"}'),
    "hostile/single-quotes": repeated("'"),
    "hostile/single-quotes-inside": repeated("'", "{'a': '", "'}"),
    "hostile/arrays": repeated("["),
    "hostile/arrays-inside": repeated("[", '{"a": '),
    "hostile/objects": repeated('{"a":'),
    "hostile/closing": repeated("}", '{"a": 1'),
    "hostile/backslashes": repeated("\\"),
    "hostile/backslashes-inside": repeated("\\", '{"a": "', '"}'),
    "hostile/backslashes-cut": repeated("\\", '{"a": "'),
    "hostile/commas": repeated(","),
    "hostile/commas-inside": repeated(",", '{"a": 1', "}"),
    "hostile/colons": repeated(":", '{"a"', "}"),
    "hostile/key-cut": repeated('{"a:'),
    "hostile/key-cut-inside": repeated('"a: ', "{", "}"),
    "hostile/key-lost-quote": repeated('a": ', "{", "}"),
    "hostile/words": repeated("'a' "),
    "hostile/words-inside": repeated("'a' ", "{", "}"),
    "hostile/bare-words": repeated("a ", "{", "}"),
    "hostile/comment-open": repeated("/*"),
    "hostile/comment-open-inside": repeated("/* ", '{"a": 1, ', "}"),
    "hostile/comment-line": repeated("//", '{"a": 1, ', "}"),
    "hostile/hash": repeated("#\n", '{"a": 1, ', "}"),
    "hostile/tags-open": repeated("<a>"),
    "hostile/tags-close": repeated("</a>"),
    "hostile/tags-close-after": repeated("</a>", '{"a": 1}'),
    "hostile/tags-declared": repeated("<path>"),
    "hostile/angle": repeated("<"),
    "hostile/token-cut": repeated("<|"),
    "hostile/token-cut-after": repeated("<|", '{"a": 1}'),
    "hostile/quote-token": repeated('<|"|>', "{"),
    "hostile/backticks": repeated("`"),
    "hostile/backticks-after": repeated("`", '{"a": 1}'),
    "hostile/fences": repeated("```json\n"),
    "hostile/fences-around": repeated("```json\n{}\n```\n"),
    "hostile/double-braces": Kind(lambda n: "{{" * (n // 4) + "}}" * (n // 4), mended=False),
    "hostile/double-braces-flat": repeated("{{}}"),
    "hostile/literal-newlines": repeated("\\n"),
    "hostile/literal-newlines-inside": repeated("\\n", '{"a": 1,', "}"),
    "hostile/entities": repeated("&amp;"),
    "hostile/entities-inside": repeated("&quot;", "{", "}"),
    "hostile/typographic": repeated("“"),
    "hostile/typographic-inside": repeated("“a”", "{“k”: “", "”}"),
    "hostile/escaped-quotes": repeated('\\"', "{", "}"),
    "hostile/quote-comma": repeated('", "', '{"a": "', '"}'),
    "hostile/quote-colon": repeated('": "', '{"a": "', '"}'),
    "hostile/apostrophes": repeated("it's, 'so': ", "{'a': '", "'}"),
    "hostile/brackets-mixed": repeated("[}", '{"a": '),
    "hostile/spaces": repeated(" ", "{", ","),
    "hostile/newlines": repeated("\n", '{"a": 1}', "x"),
    "hostile/digits": repeated("9", '{"a": ', ",}"),
    "hostile/letters": repeated("a", "{", ": 1}"),
    "hostile/literals": repeated("True ", "{", "}"),
    "hostile/objects-differ": repeated('{"a": 2}\n', '{"a": 1}\n' * 9),
    "hostile/drive": repeated("C:\\", '{"a": "C:\\', '"}'),
}  # fmt: skip
KINDS = DAMAGE | HOSTILE


class OverCap(BaseException):
    """A call took more CPU time than it may; no engine catches this."""


def _stop(*_: object) -> None:
    raise OverCap


def timed(run: Callable[[], object], loops: int, cap: float) -> float | None:
    """CPU seconds of one call, or None where it is over the cap."""
    gc.collect()
    try:
        signal.setitimer(signal.ITIMER_PROF, cap * loops)
        start = time.process_time()
        for _ in range(loops):
            run()
        spent = time.process_time() - start
        signal.setitimer(signal.ITIMER_PROF, 0)
    except OverCap:
        return None
    return spent / loops


def loops_for(run: Callable[[], object], cap: float) -> int:
    """How often to call for a time that can be measured; 0 where one call is over the cap."""
    loops = 1
    while True:
        each = timed(run, loops, cap)
        if each is None:
            return 0
        # The clock may be coarse: a short call is measured in many.
        if each * loops >= BATCH / 2 or loops >= 1_000:
            return max(1, min(1_000, round(BATCH / max(each, 1e-6))))
        loops *= 4


@dataclass(frozen=True)
class Found:
    """The medians of one kind, in CPU seconds: one for each size, None over the cap; and json_repair's."""

    kind: Kind
    outcome: str
    times: tuple[float | None, ...]
    other: float | None  # infinite: over its cap

    def growth(self, small: int) -> float | None:
        """How many times as long a text takes that is 100 times as large as that of this size's number."""
        below, above = self.times[small], self.times[small + 2]
        return above / max(below, 1e-9) if below is not None and above is not None else None

    def faster(self) -> float | None:
        here = self.times[1]
        return self.other / here if self.other is not None and here is not None else None

    def missed(self, plain: Found) -> list[str]:
        """The goals that are missed; `plain` is what `json.loads` takes."""
        found = []
        for small in (0, 1):
            here, beside = self.growth(small), plain.growth(small) or 0.0
            if here is None or here > max(GROWTH, BESIDE * beside):
                found.append("growth")
                break
        faster = self.faster()
        compared = self.kind.compared and self.outcome != "valid"
        if compared and faster is not None and faster < FASTER:
            found.append("slow")
        if self.kind.mended and self.outcome != "repaired":
            found.append("not repaired")
        return found


def engine() -> callgate.Engine:
    made = callgate.compile(RULES, tools={"t": SCHEMA}, limits=LIMITS)
    made.check_text("t", "{}")
    return made


def plain(rounds: int) -> Found:
    """What `json.loads` takes for well-formed entries."""
    kind = KINDS["valid/entries"]
    texts = [kind.make(size) for size in SIZES]
    times = measure([partial(json.loads, text) for text in texts], [CAP] * len(SIZES), rounds)
    return Found(kind, "", tuple(times), None)


def found_for(kind: Kind, judge: callgate.Engine, rounds: int) -> Found:
    """Measure one kind at all sizes."""
    texts = [kind.make(size) for size in SIZES]
    runs: list[Callable[[], object]] = [partial(judge.check_text, "t", text) for text in texts]
    caps = [CAP] * len(SIZES)
    verdict = judge.check_text("t", texts[1])
    outcome = verdict.code if verdict.outcome == "unrepairable" else verdict.outcome.value
    if find_spec("json_repair") is not None:
        import json_repair

        try:
            timed(partial(json_repair.loads, texts[1]), 1, OTHER_CAP)
        except (RecursionError, ValueError):
            pass  # too deep for it: there is no answer to compare with
        else:
            runs.append(partial(json_repair.loads, texts[1]))
            caps.append(OTHER_CAP)
    times = measure(runs, caps, rounds)
    other = None
    if len(runs) > len(SIZES):
        other = float("inf") if times[-1] is None else times[-1]
    return Found(kind, outcome or "", tuple(times[: len(SIZES)]), other)


def measure(runs: list[Callable[[], object]], caps: list[float], rounds: int) -> list[float | None]:
    """The median CPU seconds of each, measured in turn in every round; None where it is over its cap."""
    loops = []
    for number, (run, cap) in enumerate(zip(runs, caps, strict=True)):
        hopeless = number < len(SIZES) and 0 in loops  # a smaller text was over the cap
        loops.append(0 if hopeless else loops_for(run, cap))
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for found, run, often, cap in zip(times, runs, loops, caps, strict=True):
            spent = timed(run, often, cap) if often else None
            if spent is not None:
                found.append(spent)
    return [statistics.median(found) if found else None for found in times]


def shown(value: float | None, missing: str = "over") -> str:
    if value is None:
        return missing
    return "cap" if value == float("inf") else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def main() -> int:
    """Measure, print a line for each kind, say whether all goals are met."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each, in turn")
    parser.add_argument("--only", metavar="KIND", default="", help="kinds whose name begins with this")
    options = parser.parse_args()
    chosen = [kind for kind in KINDS if kind.startswith(options.only)]
    if not chosen:
        parser.error(f"no kind begins with `{options.only}`; there are {', '.join(KINDS)}")
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _stop)
    if find_spec("json_repair") is None:
        print("json_repair is not installed: not compared")
    judge, beside = engine(), plain(options.rounds)
    print(f"json.loads grows {shown(beside.growth(0))} and {shown(beside.growth(1))} times")
    print(f"{'kind':32} {'outcome':14} {'50 kB':>9} {'5k-500k':>8} {'50k-5M':>8} {'faster':>7}")
    missed = 0
    for name in chosen:
        found = found_for(KINDS[name], judge, options.rounds)
        goals = found.missed(beside)
        missed += bool(goals)
        at = found.times[1]
        print(
            f"{name:32} {found.outcome:14} {shown(at and at * 1e6):>7}us {shown(found.growth(0)):>8}"
            f" {shown(found.growth(1)):>8} {shown(found.faster(), '-'):>7}   "
            + (f"MISSED: {', '.join(goals)}" if goals else "met"),
            flush=True,
        )
    print(
        f"{len(chosen)} kinds, {missed} miss a goal (growth {GROWTH:.0f} at most, {FASTER:.0f} times faster)"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
