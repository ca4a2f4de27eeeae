"""The documentation: every example in it is run, every link leads somewhere, made pages are up to date.

The info string of a fenced block says what becomes of it; each page has a folder of its own:

* `gate`: a rule file without errors whose tests hold. `gate error=G104,…`: these errors and no others.
  `gate rules`: rules of a tool block. `file=NAME`: it is also kept as a file of the page.
* `python`: executed, with the names of the page's blocks before it. `json`: is JSON; `file=NAME` as above.
* `output`: what the python block above it printed.
* `console`: each line `$ COMMAND` is run and prints the lines below it; a line `…` stands for any.
* `text WHY`: not run, and why.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from argparse import ArgumentParser
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

import callgate
from callgate.engine.cli.main import load, names
from callgate.engine.deployment import Deployment
from callgate.engine.loading import check_rules
from callgate.engine.ruletext import RuleText
from callgate.grammar.diagnostics import Severity
from callgate.rules.catalog import kinds
from callgate.rules.forms import FORMS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
BLOCK = re.compile(r"^(`{3,4})([^\n`]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\!)\[[^\]\n]+\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the rest of its info string, its text, its line."""

    language: str
    rest: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        found = re.search(r"\bfile=(\S+)", self.rest)
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    found = []
    for match in BLOCK.finditer(text):
        language, _, rest = match[2].strip().partition(" ")
        found.append(Block(language, rest.strip(), match[3], text.count("\n", 0, match.start()) + 1))
    return found


def run_gate(block: Block, folder: Path) -> None:
    text = f"tool t {{\n{block.text}\n}}" if block.rest.split(" ")[0] == "rules" else block.text
    checked = check_rules([RuleText(text, "page.gate", folder)])
    errors = {each.code for each in checked.diagnostics if each.severity is Severity.ERROR}
    wanted = re.search(r"\berror=(\S+)", block.rest)
    assert errors == (set(wanted[1].split(",")) if wanted else set()), checked.text()


def run_python(block: Block, names: dict[str, Any], where: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile("\n" * block.line + block.text, where, "exec"), names)
    return out.getvalue()


def run_console(block: Block, folder: Path) -> None:
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not parts[0].strip(), "a console block begins with a command"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    for part in parts[1:]:
        command, _, wanted = part.partition("\n")
        done = subprocess.run(
            ["bash", "-c", f"{command}"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        )
        assert agrees(done.stdout.splitlines(), wanted.splitlines()), f"$ {command}\n{done.stdout}"


def agrees(got: list[str], wanted: list[str]) -> bool:
    """Are the lines the wanted ones? A wanted line `…` stands for any number of lines."""
    pattern = "\n".join("\0" if line.strip() == "…" else re.escape(line.rstrip()) for line in wanted)
    pattern = pattern.strip("\n").replace("\n\0\n", "\n(?:.*\n)*?").replace("\0\n", "(?:.*\n)*?")
    pattern = pattern.replace("\n\0", "(?:\n.*)*").replace("\0", "(?:.*\n?)*")
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in got).strip("\n")) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_example_of_a_page_does_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    printed = ""
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        try:
            if block.file is not None:
                target = tmp_path / block.file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.text, "utf-8")
            match block.language:
                case "gate":
                    run_gate(block, tmp_path)
                case "python" if block.file is None:
                    printed = run_python(block, names, where)
                case "output":
                    assert agrees(printed.splitlines(), block.text.splitlines()), printed
                case "console":
                    run_console(block, tmp_path)
                case "json":
                    for line in [block.text] if "lines" not in block.rest else block.text.splitlines():
                        json.loads(line)
                case "python":
                    compile(block.text, where, "exec")
                case "yaml":
                    yaml.safe_load(block.text)
                case "text":
                    assert block.rest, "a block that is not run says why"
                case _:
                    raise AssertionError(f"no reader for a `{block.language}` block")
        except Exception as error:
            raise AssertionError(f"{where}: {error}") from error


@pytest.mark.parametrize(
    ("got", "wanted", "same"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", "b"], ["a"], False),
        (["a"], ["a", "b"], False),
        (["a", "x", "y", "b"], ["a", "…", "b"], True),
        (["a", "b"], ["a", "…", "b"], True),
        (["a", "x"], ["a", "…", "b"], False),
        (["x", "a"], ["…", "a"], True),
        (["a", "x"], ["a", "…"], True),
        (["b", "x"], ["a", "…"], False),
        ([], ["…"], True),
        (["a.b"], ["axb"], False),
    ],
)
def test_a_line_of_three_dots_stands_for_any_lines_and_nothing_else_does(
    got: list[str], wanted: list[str], same: bool
) -> None:
    assert agrees(got, wanted) is same


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text("utf-8"))
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_page_is_linked_from_the_index() -> None:
    linked = set(LINK.findall((DOCS / "index.md").read_text("utf-8")))
    assert {page.name for page in PAGES} - {"index.md"} <= {link.partition("#")[0] for link in linked}


def generator() -> Any:
    spec = spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_made_pages_are_up_to_date() -> None:
    for name, make in generator().PAGES.items():
        assert (DOCS / name).read_text("utf-8") == make(), f"{name}: run `python docs/generate.py`"


def test_the_pages_name_every_statement_every_kind_and_every_outcome_code() -> None:
    language = (DOCS / "language.md").read_text("utf-8")
    for word in FORMS[None]:
        assert f"`{word}" in language, word
    kinds_page = (DOCS / "kinds.md").read_text("utf-8")
    for keyword in kinds():
        assert f"\n## {keyword}\n" in kinds_page, keyword
    verdict = (DOCS / "verdict.md").read_text("utf-8")
    for outcome in callgate.Outcome:
        assert f"`{outcome.value}`" in verdict
    for field in callgate.compile("").check("t", {}).as_dict():
        assert f"`{field}`" in verdict, field


def test_the_pages_name_every_code_that_a_refused_call_can_have() -> None:
    text = "\n".join((ROOT / "engine" / f"{name}.py").read_text("utf-8") for name in
                     ("domain", "envelope", "names", "pipeline", "engine", "swallowed"))  # fmt: skip
    codes = set(re.findall(r'\bRefusal\(\s*"([a-z-]+)"', text))
    assert len(codes) >= 10
    page = (DOCS / "verdict.md").read_text("utf-8")
    for code in codes:
        assert f"`{code}`" in page, code


def test_the_page_of_deployments_names_all_that_load_takes_and_gives() -> None:
    page = (DOCS / "deployments.md").read_text("utf-8")
    table = page.partition("\n## load\n")[2].partition("\n## ")[0]
    own = {"notice", "watched", "before_fork", "after_fork"}  # of the watch, and of what forks
    members = {name for name in dir(Deployment) if not name.startswith("_")} - own
    for name in (*signature(callgate.load).parameters, *members):
        assert re.search(rf"`{name}[`(]", table), name


def test_the_page_of_the_command_line_names_every_option() -> None:
    page = (DOCS / "command-line.md").read_text("utf-8")
    head = page.partition("\n## ")[0]
    for name in names():
        parser = ArgumentParser()
        load(name).add_arguments(parser)
        options = {each for action in parser._actions for each in action.option_strings} - {"-h", "--help"}
        assert "--format" not in options or f"`{name}`" in head, name
        for option in options:
            assert option in page, (name, option)


def test_the_pages_name_every_built_in_rule() -> None:
    from callgate.engine.plan import built_in_rules

    page = (DOCS / "pipeline.md").read_text("utf-8")
    for rule in built_in_rules():
        assert f"`{rule}`" in page, rule


def test_the_page_of_the_limits_says_what_they_are() -> None:
    page = (DOCS / "limits-and-refusals.md").read_text("utf-8")
    for field in msgspec.structs.fields(callgate.Limits):
        assert f"| `{field.name}` | {field.default:,} |" in page, field.name


def test_a_stranger_adds_a_kind_by_following_the_page(tmp_path: Path) -> None:
    copy = tmp_path / "callgate"
    kept = shutil.ignore_patterns("__pycache__", ".*", "examples", "benchmarks")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=kept)
    for block in blocks(DOCS / "adding-a-kind.md"):
        if block.file is not None:
            (copy / block.file).write_text(block.text, "utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    source = str(copy / "src")
    environment = {**os.environ, "PATH": path, "PYTHONPATH": source, "MYPYPATH": source, "NO_COLOR": "1"}

    def run(command: str, status: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, f"$ {command}\n{done.stdout}{done.stderr}"
        return done.stdout

    assert source in run('python -c "import callgate; print(callgate.__file__)"')
    (commands,) = [block for block in blocks(DOCS / "adding-a-kind.md") if block.language == "text"]
    generate, explain, tests, style = [line.partition("#")[0].strip() for line in commands.text.splitlines()]
    assert "kinds.md" in run(generate)
    assert "\n## trim\n" in (copy / "docs" / "kinds.md").read_text("utf-8")
    assert "Strip white space" in run(explain)
    assert re.search(r"\b4 passed\b", run(f"{tests} -p no:cacheprovider"))
    assert "Success" in run(style)
    kind = copy / "rules" / "kinds" / "trim.py"
    kind.write_text(kind.read_text("utf-8").replace("-> Json:", "-> int:"), "utf-8")
    assert "rules/kinds/trim.py" in run(style, status=1)  # so it is this copy that is looked at


def test_the_page_of_packs_names_every_pack_that_ships() -> None:
    shipped = {path.stem for path in (ROOT / "rules" / "packs").glob("*.gate")}
    listed = re.findall(r"^\| `([a-z-]+)` \|", (DOCS / "packs.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(shipped)
