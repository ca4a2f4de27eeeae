"""What `callgate explain` and `callgate help` say of everything that a verdict or a listing may name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from callgate.engine.cli._pages import BUILT_IN, CODES_OF_CALLS, WORDS
from callgate.engine.cli.main import main, names
from callgate.engine.conditioncheck import TEXTUAL
from callgate.engine.conditionterms import FUNCTIONS
from callgate.engine.conditionterms import WORDS as TERMS
from callgate.engine.names import _FORMS
from callgate.engine.plan import built_in_rules
from callgate.rules.catalog import RESERVED, kinds
from callgate.rules.reader import clause_usage

ENGINE = Path(__file__).parents[2] / "engine"


def shown(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capfd.readouterr().out


def test_every_rule_that_no_file_writes_has_a_page(capfd: pytest.CaptureFixture[str]) -> None:
    wanted = {*built_in_rules(), *(f"name.{form}" for form, _ in _FORMS), "prepare"}
    assert set(BUILT_IN) == wanted
    for name, text in BUILT_IN.items():
        out = shown(capfd, "explain", name)
        assert out.startswith(f"{name} (a built-in rule)\n\n")
        assert " ".join(text.split()) in " ".join(out.split())


def test_every_code_of_a_refused_call_has_a_page(capfd: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(path.read_text("utf-8") for path in ENGINE.glob("*.py"))
    codes = set(re.findall(r'\bRefusal\(\s*"([a-z-]+)",\s', text))
    assert codes | {"not_offered"} == set(CODES_OF_CALLS)
    for code, page in CODES_OF_CALLS.items():
        out = shown(capfd, "explain", code)
        assert f"{code} (the code of a refused call)\n\n" in out
        assert " ".join(page.split()) in " ".join(out.split())


def test_every_word_of_rules_and_conditions_has_a_page(capfd: pytest.CaptureFixture[str]) -> None:
    wanted = {*RESERVED, *TERMS, *FUNCTIONS, *TEXTUAL, "contains", "is", "context"}
    assert set(WORDS) == wanted
    for word, text in WORDS.items():
        out = shown(capfd, "explain", word)
        assert f"{word} (a word of rules)\n\n" in out
        assert " ".join(text.split()) in " ".join(out.split())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("read,edit:deny", "This is the name of a rule of yours: kind `deny` on read, edit."),
        ("edit:alias:/path#1a2b3c", "This is the name of a rule of yours: kind `alias` on edit."),
        ("*:deny#1a2b3c", "This is the name of a rule of yours: kind `deny` on *."),
        ("kimi:edit:alias:/path", "This is the name of a rule of the pack `kimi`: kind `alias` on edit."),
    ],
)
def test_the_name_of_a_rule_is_explained(name: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    out = shown(capfd, "explain", name)
    assert said in out
    kind = "deny" if "deny" in name else "alias"
    assert out.endswith(shown(capfd, "explain", kind))


def test_what_is_no_name_of_a_rule_is_not_taken_for_one(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("a:b", "deny:x", ":", "read:dney"):
        assert main(["explain", name]) == 2
    assert "there is no such code, rule, statement or word" in capfd.readouterr().err


def test_a_word_that_is_a_kind_and_a_code_has_both_pages(capfd: pytest.CaptureFixture[str]) -> None:
    out = shown(capfd, "explain", "schema")
    assert out.startswith("schema ")
    assert CODES_OF_CALLS["schema"].partition(".")[0] in out


def test_a_misspelt_built_in_rule_is_answered_with_the_nearest_one(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "repair.parse-scaler"]) == 2
    assert "did you mean `repair.parse-scalar`?" in capfd.readouterr().err


def test_the_list_holds_the_built_in_rules_and_the_codes(capfd: pytest.CaptureFixture[str]) -> None:
    out = shown(capfd, "explain")
    assert all(f"\n  {name} " in out for name in (*BUILT_IN, *CODES_OF_CALLS))


def test_a_page_of_a_kind_writes_its_clauses_as_the_checker_does(capfd: pytest.CaptureFixture[str]) -> None:
    for word, kind in kinds().items():
        usage = shown(capfd, "explain", word).partition("\n")[0]
        for name, schema in kind.clauses.items():
            assert clause_usage(name, schema) in usage, word
    assert "from NAME, …" in shown(capfd, "explain", "alias").partition("\n")[0]
    assert "`accepting` takes: string, number" in shown(capfd, "explain", "alias")


def test_help_is_a_command_too(capfd: pytest.CaptureFixture[str]) -> None:
    assert shown(capfd, "help") == shown(capfd, "--help")
    for name in names():
        assert shown(capfd, "help", name) == shown(capfd, name, "--help")
    assert main(["help", "chek"]) == 2
    assert "did you mean `check`?" in capfd.readouterr().err


def test_check_of_files_that_cannot_be_read_claims_nothing_about_rules(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = str(tmp_path / "nope.gate")
    assert main(["check", missing]) == 2
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == (
        "",
        f"callgate: {missing}: cannot be read: No such file or directory\n",
    )
    good = tmp_path / "a.gate"
    good.write_text("tool t { alias /a from b }\n", "utf-8")
    assert main(["check", missing, str(good)]) == 2
    err = capfd.readouterr().err
    assert err.endswith("1 file, 1 rule, no tests: no errors, no warnings; 1 argument could not be used\n")
