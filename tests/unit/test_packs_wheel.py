"""A wheel of packs, installed into an environment of its own and used through its entry point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import callgate
from callgate.engine.wheel import build_wheel, read_folder

SOURCE = str(Path(callgate.__file__).parents[1])
USES = """
import json
import callgate
from callgate.engine.loading import check_rules
from callgate.engine.lock import lock_of, verify
from callgate.engine.packs import Library

engine = callgate.compile('use acme "^1"', tools={"read": {}})
verdict = engine.check("read", {"file_path": "/a", "n": "5"})
files = check_rules([], packs=["acme"]).files
lock = lock_of(files, ".")
again = check_rules([], packs=Library(["acme@^1"], lock=lock))
print(json.dumps({
    "packs": engine.packs,
    "kinds": sorted(change.kind for change in verdict.changes),
    "locked": [[each.source, each.path, each.distribution] for each in lock.entries],
    "failed": again.failed,
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of two packs, one of which uses the other and names a schema."""
    folder = tmp_path_factory.mktemp("build") / "acme-rules"
    (folder / "schemas").mkdir(parents=True)
    (folder / "acme.gate").write_text(
        'pack acme "1.2.0" "Acme\'s tools"\nuse acme-base "^1"\ntool read {\n  schema "schemas/read.json"\n'
        "  alias /path from file_path\n}\n"
    )
    (folder / "acme-base.gate").write_text('pack acme-base "1.2.0"\n')
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}}
    (folder / "schemas" / "read.json").write_text(json.dumps(schema))
    contents = read_folder(str(folder))
    assert not contents.checked.failed, contents.checked.text()
    built = build_wheel(contents, "acme-rules", None)
    path = folder.parent / built.name
    path.write_bytes(built.data)
    return path


def python(environment: Path) -> str:
    return str(environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def test_a_wheel_that_was_built_is_installed_and_used_in_an_empty_environment(
    wheel: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "empty", with_pip=True)
    pip = [python(tmp_path / "empty"), "-I", "-m", "pip", "--disable-pip-version-check"]
    install = [*pip, "install", "--no-index", "--no-deps", "--no-cache-dir", str(wheel)]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = subprocess.run([*pip, "list", "--format", "json"], capture_output=True, text=True, check=True)
    assert {"name": "acme-rules", "version": "1.2.0"} in json.loads(listed.stdout)
    # callgate itself and what it needs are those of the running tests.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, *filter(None, sys.path)])}
    done = subprocess.run(
        [python(tmp_path / "empty"), "-c", USES],
        capture_output=True, text=True, check=False, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    package = "callgate_pack_acme_rules"
    assert json.loads(done.stdout) == {
        "packs": ["acme-base@1.2.0", "acme@1.2.0"],
        "kinds": ["alias"],
        "locked": [
            ["installed", f"{package}/{name}", "acme-rules 1.2.0"]
            for name in ("acme-base.gate", "acme.gate", "schemas/read.json")
        ],
        "failed": False,
    }
    uninstall = subprocess.run([*pip, "uninstall", "--yes", "acme-rules"], capture_output=True, check=False)
    assert uninstall.returncode == 0
    assert not list((tmp_path / "empty").rglob(f"{package}/*.gate"))
