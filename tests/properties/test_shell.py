"""Properties of shell commands, and the read-only ones held against a real shell."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate.engine.shell import mutates, reads, runs, targets
from callgate.engine.shellchanges import changed, named
from callgate.engine.shellread import LONGEST, LONGEST_LINE, read

from . import shell_commands

BASH = "/bin/bash"
SEEDS = st.integers(0, 2**63).map(Random)
WRITES = ("rm b", "> f", "touch f", "cat a > f", "sort -o f a", "$X", "X=1", "./x", "f() { :; }", "cat 'a")
QUOTES = st.sampled_from(("", "'", '"', "\\"))
WORD_PARTS = (
    *(
        "a",
        "b c",
        " ",
        "'",
        "'",
        '"',
        '"',
        "\\",
        "$",
        "$'",
        "\\n",
        "\\'",
        "#",
        " #",
        "~",
        "=",
        "!",
        "! ",
        "]",
        "}",
    ),
    *("{}", "é", "\t", "\\\n", " \\\n", "-", "'a b'", '"c d"', '"$"', "\\$", '\\"', "%", "^", ":", ",", "[ "),
    *("$?", "$#", "\\ "),
)
HOSTILE = (
    *(
        "a|",
        "cat a;",
        "cat a\n",
        "cat a&&",
        "(",
        "((",
        "( ",
        "{ ",
        "{ cat a; ",
        "if cat a; then ",
        "$(",
        "`",
        "'",
        '"',
    ),
    *(
        '"$(',
        "<<a ",
        "${",
        "$((",
        "[[ ",
        "env ",
        "env LANG=C ",
        "LANG=C ",
        "\\\n",
        " \\\n",
        "\\",
        "#",
        "# a\n",
        "! ",
    ),
    *(
        "*",
        "{a,",
        "[",
        "[]][",
        "a ",
        "-a ",
        "$x ",
        "for f in a; do ",
        "sort -k 1 ",
        "x=",
        "2>&1 ",
        "<a ",
        "sed -e p ",
    ),
    *(
        "xargs ",
        "timeout 5 ",
        "$'",
        "$'\\n'",
        "\n",
        ";",
        "a\\ ",
        "''",
        "sed '[]]",
        "sed '/[]]",
        "awk '{print>",
        "é",
    ),
)
UNREAD = (
    *(
        "`a`",
        '"${a',
        "<<a\n",
        "cat <<a\nb\na\n",
        "bash <<a\nb\na\n",
        "a=bb;b=$a$a;",
        'a=b;sh -c "$a$a";',
        "eval ",
    ),
    *("sh -c 'eval ", "sudo ", "case a in a) ", "f() ", "<(", "for f in a b; do cat <<a\nb\na\n"),
)
PLAIN_PARTS = (
    *(
        "ls ",
        "cat a",
        "grep b ",
        "[ -f a ]",
        "for x in a b",
        "\nif ",
        "if ls",
        "; then ",
        "\nthen\n",
        "; fi",
        "\nfi",
        "; do ",
    ),
    *(
        "\ndo\n",
        "; done",
        "\ndone",
        "\n",
        "\n",
        " | ",
        " |\n",
        " && ",
        "; ",
        " \\\n",
        "'a\nb'",
        '"a\nb"',
        ' "$x"',
        " $x",
        " a",
    ),
    *(
        " 2>&1",
        " >/dev/null",
        " <a",
        " {}",
        " !",
        " =",
        " #",
        "\n# a\n",
        " *",
        "{a,b}",
        "`",
        " }",
        " in",
        "time ",
        " ]",
        " -n",
    ),
)


def long_profile() -> bool:
    return settings().max_examples > 1000


def everything(text: str) -> tuple[bool, bool | None, tuple[tuple[str, ...], bool], tuple[str, ...]]:
    return mutates(text), runs(text, "cat"), targets(text), reads(text)


@given(st.text() | st.text("ab -'\"\\$`();&|<>\n\t{}[]*?!#~=") | SEEDS.map(shell_commands.command))
def test_any_text_has_an_answer(text: str) -> None:
    mutating, _, (changed, more), shown = everything(text)
    assert type(mutating) is bool
    assert not ((changed or more) and not mutating)
    assert not (shown and mutating)


@given(st.lists(st.sampled_from(range(0xD800, 0xE000)).map(chr) | st.characters(), max_size=20).map("".join))
def test_lone_surrogates_have_an_answer_too(text: str) -> None:
    everything("cat " + text)


@given(
    SEEDS.map(shell_commands.command),
    st.sampled_from((";", "\n", "&&", "||", "|", "|&")),
    st.sampled_from(WRITES),
)
def test_a_writing_part_makes_the_whole_mutating(text: str, joint: str, write: str) -> None:
    whole = f"{text} {joint} {write}"
    assert mutates(whole) or "#" in text or text.rstrip(" \t").endswith("\\")


@given(SEEDS.map(shell_commands.command))
def test_a_redirection_to_a_file_makes_it_mutating(text: str) -> None:
    assert mutates(f"{{ {text}\n}} > f")


@given(st.sampled_from(shell_commands.SEEDS), st.data())
def test_quotes_that_change_no_word_change_no_answer(text: str, data: st.DataObject) -> None:
    words = text.split(" ")
    if not all(word.strip("-./=").replace("-", "").replace(".", "").isalnum() for word in words):
        return
    if words[0] in ("if", "eval", "f()"):
        return
    made = []
    for word in words:
        quote = data.draw(QUOTES)
        made.append(f"{quote}{word}{quote}" if quote != "\\" else "".join("\\" + each for each in word))
    assert mutates(" ".join(made)) is mutates(text)


@given(SEEDS.map(shell_commands.command))
def test_what_is_named_is_what_is_changed(text: str) -> None:
    """Two readers, of what is understood and of what is not, agree on what both read."""
    parts = read(text)
    certain = changed(parts) if parts is not None else None
    assert certain is None or set(named(text)) <= set(certain)


@pytest.mark.parametrize("ask", [mutates, named])
@pytest.mark.parametrize("unit", [*HOSTILE, *UNREAD])
def test_time_is_linear_and_bounded(unit: str, ask: Callable[[str], object]) -> None:
    def time(length: int) -> float:
        line = unit * (LONGEST_LINE // len(unit)) + "\n"
        text = line * (length // len(line))
        started = process_time()
        ask(text)
        return process_time() - started

    assert time(1_000_000) < (0.1 if ask is mutates else 2)  # longer than what is read
    # Eight times the text: 64 times the time, were it quadratic.
    assert min(time(LONGEST) for _ in range(3)) < 20 * max(min(time(LONGEST // 8) for _ in range(5)), 0.001)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> shell_commands.Folder:
    path = tmp_path_factory.mktemp("shell")
    for each in (path, *path.parents):
        if os.geteuid() == 0 and each.owner() == "root" and str(each).startswith("/tmp/"):
            each.chmod(each.stat().st_mode | 0o055)  # the commands run as nobody
    return shell_commands.Folder(path, BASH)


@pytest.mark.skipif(not os.access(BASH, os.X_OK), reason="there is no bash")
def test_what_is_called_read_only_writes_nothing(folder: shell_commands.Folder) -> None:
    """More of them: `pytest --hypothesis-profile long`. What is called mutating is never run."""
    random, most = (Random(), 20_000) if long_profile() else (Random(20), 200)
    ran = 0
    while ran < most:
        text = shell_commands.command(random)
        if mutates(text):
            continue
        folder.run(text)
        ran += 1
        assert folder.state() == folder.before, text


@pytest.mark.skipif(not os.access(BASH, os.X_OK), reason="there is no bash")
def test_words_are_read_as_bash_reads_them(folder: shell_commands.Folder) -> None:
    random = Random(21)
    assert sum(words_agree(random, folder) for _ in range(2_000 if long_profile() else 400)) > 50


def words_agree(random: Random, folder: shell_commands.Folder) -> bool:
    """Draw words that are wholly known and hold them against what the shell gives to a program."""
    text = "printf '%s\\f' " + "".join(random.choices(WORD_PARTS, k=random.randint(1, 9)))
    parts = read(text)
    if parts is None or len(parts) != 1 or mutates(text) or parts[0].redirects:
        return False
    words = [word.text for word in parts[0].words[2:]]
    if None in words or "$$" in text:
        return False
    assert folder.output(text) == "".join(f"{word}\f" for word in words or ("",)), text
    return True


@pytest.mark.skipif(not os.access(BASH, os.X_OK), reason="there is no bash")
def test_what_bash_writes_is_named(tmp_path: Path) -> None:
    random = Random(22)
    for number in range(2_000 if long_profile() else 60):
        script, folder = shell_commands.Script(random), tmp_path / str(number)
        folder.mkdir()
        subprocess.run(
            (BASH, "-c", script.text), cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=9
        )
        found = {name.removeprefix("./") for name in named(script.text)}
        assert found == set(os.listdir(folder)) == set(script.names), script.text


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "busybox sh"])
def test_plain_text_is_no_error_for_any_shell(shell: str) -> None:
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"there is no {shell}")
    random = Random(23)
    ran = 0
    while ran < (3_000 if long_profile() else 60):
        text = "".join(random.choices(PLAIN_PARTS, k=random.randint(3, 12)))
        parts = read(text)
        if not parts or parts[0].line < 0 or mutates(text) or "\n" not in text:
            continue
        done = subprocess.run((*shell.split(), "-n"), input=text.encode(), capture_output=True, timeout=9)
        assert b"rror" not in done.stderr, text
        ran += 1
