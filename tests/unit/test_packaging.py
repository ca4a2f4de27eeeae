"""The wheel holds one top-level name, the packs and the grammar, and the import is light."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = "import sys\nfrom hatchling.build import build_wheel\nprint(build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of the files in a wheel that is built from this checkout."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(folder / done.stdout.strip().splitlines()[-1]) as archive:
        return archive.namelist()


def test_the_wheel_has_exactly_one_top_level_name(wheel: list[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"callgate"}
    assert len(tops) == 2


def test_the_wheel_holds_the_facade_and_the_three_folders_once(wheel: list[str]) -> None:
    for name in (
        "callgate/__init__.py",
        "callgate/__main__.py",
        "callgate/py.typed",
        "callgate/grammar/parser.py",
        "callgate/rules/kinds/alias.py",
        "callgate/engine/engine.py",
    ):
        assert wheel.count(name) == 1, name
    assert not [name for name in wheel if "/src/" in name or "tests/" in name or "__pycache__" in name]


def test_the_wheel_holds_the_grammar_and_every_pack_and_kind(wheel: list[str]) -> None:
    assert "callgate/grammar/callgate.lark" in wheel
    for folder in ("packs", "kinds"):
        here = ROOT / "rules" / folder
        files = {f"callgate/rules/{path.relative_to(ROOT / 'rules')}" for path in here.rglob("*.*")}
        files = {name for name in files if "__pycache__" not in name}
        assert {name for name in wheel if name.startswith(f"callgate/rules/{folder}/")} == files
    assert "callgate/rules/packs/common.gate" in wheel
    assert "callgate/rules/packs/tools/common.json" in wheel


def test_the_wheel_declares_the_command_and_the_licence(wheel: list[str]) -> None:
    assert any(name.endswith(".dist-info/entry_points.txt") for name in wheel)
    assert any(name.endswith("LICENSE") for name in wheel)


def imported(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("heavy", ["lark", "cerberus", "rich", "yaml", "callgate.grammar.parser"])
def test_importing_callgate_does_not_load_what_only_compiling_needs(heavy: str) -> None:
    assert heavy not in imported("import callgate")


def test_checking_with_a_pickled_engine_does_not_load_the_parser(tmp_path: Path) -> None:
    path = tmp_path / "engine.pickle"
    save = (
        "import callgate, pickle\n"
        "engine = callgate.compile('tool t { alias /a from b; deny \"x\" when /a == 1 }')\n"
        f"open({str(path)!r}, 'wb').write(pickle.dumps(engine))"
    )
    assert "lark" in imported(save)
    load = (
        f"import pickle\nengine = pickle.loads(open({str(path)!r}, 'rb').read())\n"
        "assert engine.check('t', {'b': 2}).arguments == {'a': 2}"
    )
    assert "lark" not in imported(load)
