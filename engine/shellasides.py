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


_NONE = re.compile(r"(?!)")


class Asides(Struct, frozen=True):
    """Letters of a program: `plain` ones that others have for help, ones with a value, and `never`: for help,
    lists or a dry run; `words`: longer options for that.

    `first`: subcommands that do something else, `a/b` one of `a`, and `a/` that one alone. `only`: those that
    do its work, "" is none at all. `vague`: arguments by which it may do something else; a value stands
    behind the letter, or the `=`. `passes`: it reads options behind `--` too, or hands them on. `closed`:
    behind `--` it has operands only. `files`: `@file` holds more options.
    """

    plain: str = ""
    valued: str = ""
    never: str = ""
    words: frozenset[str] = frozenset()
    first: frozenset[str] = frozenset()
    passes: bool = False
    closed: bool = False
    vague: re.Pattern[str] = _NONE
    only: frozenset[str] = frozenset()
    files: bool = False


def _row(
    plain: str,
    valued: str,
    never: str,
    words: str = "",
    first: str = "",
    passes: bool = False,
    vague: str = "(?!)",
    only: str | None = None,
    files: bool = False,
) -> Asides:
    some = frozenset() if only is None else frozenset(only.split(" "))
    sets = frozenset(words.split()), frozenset(first.split())
    return Asides(plain, valued, never, *sets, passes, False, re.compile(vague), some, files)


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
    " --check-php-configuration --generate-configuration --migrate-configuration --warm-coverage-cache"
    " --atleast-version"
)
_TOX = "--listenvs --listenvs-all --showconfig --notest --hi --help-ini --devenv --sdistonly --pkg-only"
_JUST = (
    "--list --summary --show --evaluate --dump --choose --variables --groups --init --edit --fmt"
    " --completions --man --changelog"
)
_GO = "-c --c -n -list --list -test.list --test.list -h --help -V"
_SWIFT = "--list-tests -l --show-codecov-path --show-code-coverage-path --show-coverage-path --show-bin-path"
_CARGO = (
    "nextest/list nextest/show-config nextest/archive tree metadata search locate-project pkgid info"
    " read-manifest verify-project"
)
_PLAYWRIGHT = (
    "install install-deps uninstall codegen open show-report show-trace merge-reports clear-cache screenshot"
    " pdf"
)
_GRADLE = (
    "tasks projects properties dependencies components model buildEnvironment outgoingVariants init wrapper"
    " dependencyInsight javaToolchains resolvableConfigurations"
)
_BAZEL = (
    "info query cquery aquery clean shutdown dump license fetch sync mod vendor config canonicalize-flags"
)
# Scripts alone are listed.
_NPM = "run/ run-script/ task/ ls list ll la view show info outdated explain why root prefix bin search fund"
_SCRIPTS = _row("", "", "hv", "", _NPM, passes=True, vague="--(?:script-shell|no-scripts|node-options)")
_ROWS = {
    "pytest": _row("v", "kmcpnoWr", "hV", _PYTEST, passes=True, files=True),
    "unittest": _row("v", "kspt", "h"),
    "tox": _row(
        *(
            "v",
            "ecf",
            "hlanb",
            _TOX,
            "list l config c devenv d depends de exec e quickstart q schema man",
            True,
        ),
        vague="-x|--override",
        only=" run r run-parallel p legacy le",
    ),
    "nox": _row("v", "septfk", "hl", "--list --list-sessions --install-only", passes=True),
    "make": _row(
        *("", "CfIjlW", "hnqtvp", "--question --touch --print-data-base"),
        vague=r"-[oE]|--(?:eval|old-file|assume-old)|(?:(?:GNU)?MAKEFLAGS|\.?SHELL(?:FLAGS)?)[:+?!]*=",
    ),
    "ninja": _row("v", "CfjklwS", "hnt"),
    "just": _row("v", "fd", "hlnVse", _JUST, vague="-c|--(?:command|shell|set)"),
    "rake": _row("v", "fIjr", "DPTAWhHnV", "--tasks --describe --prereqs --where", vague="-[ep]|--execute"),
    "python": _row("v", "cmWX", "hV"),
    "ruff": _row(
        *("vn", "", "hV", "--show-files --show-settings"),
        first="rule config linter server clean analyze generate-shell-completion",
        files=True,
    ),
    "mypy": _row("v", "cmp", "hV", files=True),
    "black": _row("v", "ct", "hV"),
    "isort": _row("v", "", "hV", "--show-files --show-settings --show-config"),
    "flake8": _row("v", "j", "h", "--bug-report"),
    "pylint": _row("v", "defrj", "h", _PYLINT, vague="--init-hook"),
    "cargo": _row(
        *("v", "jpFZC", "hV", "--list --explain --build-plan --unit-graph", _CARGO),
        passes=True,
        vague="--config",
    ),
    "go": _row(
        *("v", "", "", _GO, "list env doc version help bug"),
        vague=r"--?(?:exec|toolexec|i)(?:=|\Z)|--?(?:test\.)?count=0",
    ),
    "ctest": _row(
        *("V", "jRELCAOI", "hNH", "--show-only --print-labels --help-full"),
        vague="-[DTSMU]|--(?:test-action|test-model|dashboard|script|build-and-test|build-generator)",
    ),
    "meson": _row("v", "C", "h", "--list", "introspect", vague="--wrap"),
    "swift": _row("v", "cj", "hl", _SWIFT, "test/list test/last", files=True),
    "dotnet": _row(
        *("", "", "", "--list-tests -t -lt --info --list-sdks --list-runtimes -h -? /? /h /help /version"),
        first="list help nuget",
        vague=r"(?i)[-/]{1,2}(?:t|target|getproperty|getitem|gettargetresult|pp|preprocess|ts|targets|listtests"
        r"|version)(?::|\Z)|[-/]{1,2}p(?:roperty)?:.*test",
        files=True,
    ),
    "gradle": _row(
        *("", "PDbcgpIM", "hm?v", "--status --stop --show-version --test-dry-run", _GRADLE),
        vague=r"(?i)-x|--exclude-task|-[PD].*(?:skip|no-?test)|:?(?:[\w-]+:)+(?:tasks|projects|properties"
        r"|dependencies|dependencyInsight)\Z|--(?:project|system)-prop=.*skip",
    ),
    "mvn": _row(
        *("Vn", "DPplfsTt", "hv", "-DskipTests -Dmaven.test.skip -DskipITs -Dmaven.test.skip.exec"),
        vague=r"(?i)(?:-D|-P|--define=|--activate-profiles=).*(?:skip|dry|no-?tests?)|help:",
    ),
    "jest": _row("", "t", "hv", _JEST, vague="--(?:runner|testRunner|test-runner)"),
    "vitest": _row(
        *("", "tcr", "hv", "--clearCache --clear-cache --listTags --list-tags", "list init"),
        vague="bench|--(?:standalone|merge-?[rR]eports)",
    ),
    "mocha": _row("", "fgrRtsun", "hV", "--list-files --list-reporters --list-interfaces", "init"),
    "ava": _row("v", "mcN", "h", "--reset-cache", "reset-cache debug"),
    "playwright": _row("", "cgjuG", "hV", "--list", _PLAYWRIGHT, vague="--ui", only="test test-ct"),
    "cypress": _row("", "", "hv", "", "verify info cache open install", only="run"),
    "phpunit": _row(
        *("v", "cd", "h", _PHPUNIT),
        vague="--(?:check|list|generate|migrate|warm|validate|show|prepend|manifest|dump|export)",
    ),
    "rspec": _row("", "eEfIOoPrt", "hv", "--init --bisect"),
    "behave": _row("v", "efinot", "hd", "--steps-catalog --lang-list --lang-help --tags-help"),
    "bats": _row("", "fFjo", "hvc", "--count"),
    "eslint": _row("", "cfo", "hv", "--print-config --env-info --init --inspect-config --mcp"),
    "prettier": _row("", "", "hv", "--find-config-path --file-info --support-info"),
    "tsc": _row(
        *("", "pt", "hv", "--showConfig --listFilesOnly --init --all --build-info --clean"),
        vague=r"(?i)--?(?:showconfig|listfilesonly|init|all|help|version|clean|dry|nocheck|d)\Z",
        files=True,
    ),
    "bazel": _row(
        *("", "jc", "h", "--nobuild", _BAZEL),
        vague="--(?:run_under|check_tests_up_to_date|runs_per_test=0)|--test_arg=--?(?:h|l|co|version)",
        only="test build run coverage mobile-install",
    ),
    "yarn": _row("v", "", "h", "", _NPM, passes=True, vague="--script-shell"),
    **dict.fromkeys(("npm", "pnpm", "bun", "npx", "composer", "deno"), _SCRIPTS),
    **dict.fromkeys(
        ("javac", "java", "gcc", "g++", "cc", "c++", "clang", "clang++", "rustc"),
        _row("", "", "", files=True),
    ),
}
# What is handed on goes to another program, which one is not known.
HANDED = _row("v", "", "", f"{_PYTEST} {_JEST} --list --list-files", passes=True)


def is_known(program: str) -> bool:
    """Is anything known of a program?"""
    return program in _ROWS or program in programs() or f"{program} status" in programs()


def asides_of(program: str) -> Asides:
    """What is known of a program: its own row, or its letters from the table of those that only read."""
    found = _ROWS.get(program)
    row = None if found is not None else programs().get(program)
    if row is not None and not row.runner:
        return Asides("".join(row.flags), "".join(row.values | row.attached), closed=True)
    return found or Asides()
