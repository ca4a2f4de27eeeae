"""The language at a glance, every shape that its page names, and the rules of all cases."""

import json
from pathlib import Path

import pytest

from callgate.grammar.parser import parse, parse_condition
from callgate.grammar.printer import print_condition, print_file

GLANCE = r"""
# What Kimi K2 gets wrong, and how we put it right.
pack kimi "1.2.0" "Repairs seen from the Kimi K2 family"

use common ">=1.0"

family kimi matches "(?i)kimi-k2"
family glm  matches '(?i)\bglm-?[45]'

let workspace = "/repo"

tool edit {
  alias /path from file_path, filePath, target_file accepting string
  alias /oldText from old_string, search
  alias /edits/*/oldText from old_string, search
  filesystem-path /path
  string-or-array /labels
  scalar /limit as number
  anchor-bleed /path for kimi, glm
  grammar-tokens "" for glm

  structural "flat-edit" "" when missing /edits and present /oldText {
    move /oldText to /edits/0/oldText
    move /newText to /edits/0/newText
  } note "Send an `edits` array; the flat form is not accepted."

  bound /count integer 0..100
  bound /dry_run boolean lowercase

  deny "only files under the workspace may be edited" unless /path under workspace
  ask  "more than ten edits at once" when count(/edits) > 10

  test "a flat edit with Claude's field names" {
    model "moonshotai/kimi-k2-instruct"
    call {"file_path": "/repo/a.py", "old_string": "x", "newText": "y"}
    expect repaired {"path": "/repo/a.py", "edits": [{"oldText": "x", "newText": "y"}]}
      by alias, flat-edit
  }
}

preset skipper  { cap 5 refill 2 strict }
preset diverger { cap 4 refill 1 }
preset skipper for kimi

ground {
  reads   read, grep, ls
  mutates edit, write
  shell   bash /command
  signal  tests_passed from bash when runs(/command, "pytest") and result.exit_code == 0
  require tests_passed before completion
}

palette triage when context.role == "support" {
  offer   get_status, "search_*"
  exclude shell hard
  force   get_status once
}
"""

STATEMENTS = r"""
pack kimi "1.2.0" "What"
requires callgate ">=0.1"
use common
family kimi matches "(?i)kimi", '\bk2'
let cwd = "/srv"
preset skipper for kimi, glm
preset x { cap 5 refill 2 strict }
policy recover for kimi
surroundings "Sure:", "Here:" for kimi
quote-token "<|q|>" for kimi
closing-form "</x>"
default deny "not listed"
tool "*" { allow }
tool a, "b_*", c { allow; deny "no" when x }
alias /path from file_path, "old name" accepting string, number empty-is-missing
scalar /limit as number
anchor-bleed /path for kimi, "(?i)glm"
grammar-tokens "" for glm
structural "ID" "/my key/x" call my_function
structural "ID" "" when missing /edits { move /a to /b; copy /a to /b; set /a {"b": 1} over }
structural "ID" /x { remove /c; wrap /d; unwrap /a; parse /b; join /c with ", " }
structural "ID" /x { split /d on ","; set /e []; set /f {} over }
bound /count integer -3..100
bound /dry boolean lowercase
allow when /command matches '^ls$'
ask "why" when count(/edits) > 10
shadow deny "why" unless /path under workspace
root /path in-array
rename from bash_tool, "run_*"
droppable /a, /b/*/c
disable repair.enum-case, "envelope.*" because "we need them" until 2026-12-31
schema {"type": "object"}
schema "FILE.json"
palette p for kimi when tool == "x" { offer a, b hard; exclude c }
palette p { always d; force e until success at most 2 soft when y; force f once }
ground { normalize a, b 're\d' to "X"; exempt c }
ground { shell bash /command; signal s from bash when result.ok; surface /a, /b }
ground { require s, t before completion when context.role == "x" }
test "n" { model "m"; policy conservative; context {"role": "support"}; tools "FILE"; stop "length" }
test "n" { call "raw {"; expect unrepairable "part"; expect denied; expect asked "why"; expect valid }
test "n" { expect repaired {"a": 1} by alias, "envelope.*" }
test "n" { user; offer expect read, grep forcing bash; reason; call r {} returns {"a": 1} }
test "n" { call read {"a": {}} fails "no" }
test "n" { finish completion expect accepted; finish none expect rejected }
""".strip().splitlines()

CONDITIONS = r"""
tool == "edit"
model != "x"
context.role == "support"
turn.step >= 3
turn.calls(bash) > 2
turn.repeats < 2
result.ok
result.text contains "passed"
result.exit_code == 0
count(/edits) <= length(/name)
/a in ["x", 1, null, {"b": []}]
/a not in [1]
/a matches '\d+'
/a not matches "x"
/a fullmatches '\d+'
/path under "/repo"
/path not under workspace
/path under common/workspace
/a starts-with "x"
/a not starts-with "x"
/a ends-with "y"
/a contains {"x": 1}
/a is string
/a is null
present /a
missing /a/"my key"/0
any /edits/* contains "x"
every /edits/* not under "/tmp"
any /edits/* (./text == "" or missing ./path)
every /a/* (any ./b/* == 1)
after bash
after "mcp__x" in turn
runs(/command, "pytest")
not runs(/command, "pytest") and not /dry
(/a == 1 or /b == 2) and /c == 3
not not (/a == 1)
/dry_run
true
/a == -1.5
/a/b~1c/~0x/~1y == "z"
""".strip().splitlines()

BEGIN = {
    None: "pack requires use family let policy surroundings quote-token closing-form default tool ground "
    "palette preset test",
    "tool": "alias filesystem-path string-or-array scalar anchor-bleed grammar-tokens structural bound allow "
    "ask deny root rename droppable disable schema test",
    "structural": "move copy set remove wrap unwrap parse join split",
    "test": "model policy context tools stop call expect user offer reason finish",
    "palette": "offer exclude always force",
    "ground": "reads mutates shell exempt normalize signal require surface",
    "preset": "cap refill strict",
}


def words(block: str | None) -> frozenset[str]:
    return frozenset(BEGIN.get(block, "").split())


def check(text: str) -> int:
    """The text is read without a diagnostic and printed faithfully. How many statements it has."""
    parsed = parse(text, words=words)
    assert parsed.diagnostics == ()
    printed = print_file(parsed.file)
    again = parse(printed, words=words)
    assert again.diagnostics == ()
    assert again.file == parsed.file
    assert print_file(again.file) == printed
    return len(parsed.file.statements)


def test_the_file_at_a_glance_is_read_without_a_diagnostic():
    assert check(GLANCE) == 11


def test_the_formatted_glance_differs_in_blanks_and_line_ends_only():
    printed = print_file(parse(GLANCE, words=words).file)
    assert "".join(printed.split()) == "".join(GLANCE.split())


@pytest.mark.parametrize("text", STATEMENTS)
def test_every_statement_of_the_page_is_read(text):
    assert check(text) == 1


@pytest.mark.parametrize("text", CONDITIONS)
def test_every_condition_of_the_page_is_read_and_is_written_as_it_is_printed(text):
    assert print_condition(parse_condition(text)) == text
    assert check(f"deny when {text}") == 1


def test_the_rules_of_all_cases_are_read():
    rules = set()
    for path in sorted((Path(__file__).parents[1] / "cases").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            rules.add(json.loads(line).get("rules"))
    texts = [text for text in rules if isinstance(text, str)]
    assert len(texts) > 20
    for text in texts:
        check(text)
