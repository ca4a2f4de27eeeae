"""Which options make programs tell of themselves, list or plan what they would do, instead of doing it."""

from __future__ import annotations

import re

from msgspec import Struct

from ..rules.programs import programs

# Also shortened, as many programs allow.
ASIDE = ("--help", "--version", "--dry-run", "--dryrun", "--usage", "--just-print", "--recon", "--no-run")
ASIDE_WORDS = frozenset(("help", "version", "-help", "-version", "-list", "-dry-run"))
# Help, version or a dry run with some programs, something else with others.
DOUBTFUL = frozenset("hHVn?")
DOUBTFUL_LONG = re.compile(
    r"--(?:list|show-?(?:config|settings|files|only|targets)|print-?(?:config|data)|dump|collect|explain|pretend"
    r"|plan|simulate|noop|what-?if|check-?only|no-?(?:exec|tests?)\Z|skip-?tests?\Z|info\Z|init\Z)",
    re.IGNORECASE,
)


class Asides(Struct, frozen=True):
    """Letters of a program: `plain` ones that others have for help, ones with a value, and `never`: for help,
    lists or a dry run; `words`: longer options for that, and `first`: subcommands.

    `passes`: it reads options behind `--` too, or hands them on. `closed`: behind `--` it has operands only.
    """

    plain: str = ""
    valued: str = ""
    never: str = ""
    words: frozenset[str] = frozenset()
    first: frozenset[str] = frozenset()
    passes: bool = False
    closed: bool = False


def _row(
    plain: str, valued: str, never: str, words: str = "", first: str = "", passes: bool = False
) -> Asides:
    return Asides(plain, valued, never, frozenset(words.split()), frozenset(first.split()), passes)


_PYTEST = (
    "--collect-only --collectonly --co --fixtures --fixtures-per-test --funcargs --markers --setup-plan"
    " --setupplan --setup-only --setuponly --cache-show"
)
_JEST = "--showConfig --show-config --listTests --list-tests --init --clearCache --clear-cache"
_PYLINT = (
    "--list-msgs --list-msgs-enabled --list-conf-levels --list-extensions --list-groups --help-msg"
    " --long-help --generate-rcfile --generate-toml-config"
)
_PHPUNIT = (
    "--list-tests --list-tests-xml --list-suites --list-groups --list-test-files --check-version"
    " --generate-configuration --migrate-configuration"
)
_TOX = "--listenvs --listenvs-all --showconfig --notest --hi --help-ini"
_JUST = "--list --summary --show --evaluate --dump --choose --variables --groups"
_SCRIPTS = _row("", "", "hv", passes=True)
_ROWS = {
    "pytest": _row("v", "kmcpnoWr", "hV", _PYTEST, passes=True),
    "unittest": _row("v", "kspt", "h"),
    "tox": _row("v", "ecfx", "hlan", _TOX, "list l config c", passes=True),
    "nox": _row("v", "septfk", "hl", "--list --list-sessions", passes=True),
    "make": _row("", "CfIjloEW", "hnqtvp", "--question --touch --print-data-base"),
    "ninja": _row("v", "CfjklwS", "hnt"),
    "just": _row("v", "fd", "hlnVs", _JUST),
    "rake": _row("v", "fIjpr", "DPTAWhHnV", "--tasks --describe --prereqs --where"),
    "python": _row("v", "cmWX", "hV"),
    "ruff": _row("vn", "", "hV", "--show-files --show-settings", "rule config linter server"),
    "mypy": _row("v", "cmp", "hV"),
    "black": _row("v", "ct", "hV"),
    "isort": _row("v", "", "hV", "--show-files --show-settings --show-config"),
    "flake8": _row("v", "j", "h", "--bug-report"),
    "pylint": _row("v", "defrj", "h", _PYLINT),
    "cargo": _row("v", "jpFZC", "hV", "--list --explain", passes=True),
    "go": _row("v", "", "", "-c --c -n -list --list -h --help -V"),
    "ctest": _row("V", "jRELCDMATOIUS", "hNH", "--show-only --print-labels --help-full"),
    "meson": _row("v", "C", "h", "--list", "introspect"),
    "swift": _row("v", "cj", "hl", "--list-tests -l"),
    "dotnet": _row("", "", "", "--list-tests -t --info --list-sdks --list-runtimes -h -?"),
    "gradle": _row(
        "", "PDxbcgpIM", "hm?v", "--status --stop --show-version", "tasks projects properties dependencies"
    ),
    "mvn": _row("Vn", "DPplfsTt", "hv", "-DskipTests -Dmaven.test.skip -DskipITs"),
    "jest": _row("", "t", "hv", _JEST),
    "vitest": _row("", "tcr", "hv", "--clearCache --clear-cache --listTags --list-tags", "list init"),
    "mocha": _row("", "fgrRtsun", "hV", "--list-files --list-reporters --list-interfaces"),
    "ava": _row("v", "mcN", "h"),
    "playwright": _row("", "cgjuG", "hV", "--list", "install codegen open show-report show-trace"),
    "cypress": _row("", "", "hv", "", "verify info cache open"),
    "phpunit": _row("v", "cd", "h", _PHPUNIT),
    "rspec": _row("", "eEfIOoPrt", "hvn", "--init --bisect"),
    "behave": _row("v", "efinot", "hd", "--steps-catalog --lang-list --tags-help"),
    "bats": _row("", "fFjo", "hvc", "--count"),
    "eslint": _row("", "cfo", "hv", "--print-config --env-info --init --inspect-config"),
    "prettier": _row("", "", "hv", "--find-config-path --file-info --support-info"),
    "tsc": _row("", "pt", "hv", "--showConfig --listFilesOnly --init --all --build-info"),
    "bazel": _row("", "jc", "h", "--nobuild", "info query cquery aquery"),
    "yarn": _row("v", "", "h", passes=True),
    **dict.fromkeys(("npm", "pnpm", "bun", "npx", "composer", "deno"), _SCRIPTS),
}
# What is handed on goes to another program, which one is not known.
HANDED = _row("v", "", "", f"{_PYTEST} {_JEST} --list --list-files", passes=True)


def asides_of(program: str) -> Asides:
    """What is known of a program: its own row, or its letters from the table of those that only read."""
    found = _ROWS.get(program)
    row = None if found is not None else programs().get(program)
    if row is not None and not row.runner:
        return Asides("".join(row.flags), "".join(row.values | row.attached), closed=True)
    return found or Asides()
