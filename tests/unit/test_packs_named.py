"""How packs are named: by name and range, file, folder; one name is one pack; what is wrong says where."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.engine.loading import Checked, check_rules
from callgate.engine.packs import Library
from callgate.engine.ruletext import PackError, RuleText, read_rule_file
from callgate.grammar.diagnostics import Diagnostic


def pack(name: str, version: str = "1.0.0", rules: str = "") -> str:
    return f'pack {name} "{version}"\n{rules}'


def rule(place: str) -> str:
    return f"tool t {{ alias /{place} from z }}\n"


def check(packs: Any, *texts: RuleText) -> Checked:
    return check_rules(texts, packs=packs)


def only(checked: Checked) -> Diagnostic:
    (found,) = checked.diagnostics
    return found


def rules(checked: Checked) -> list[str]:
    assert not checked.failed, checked.text()
    return [each.name for each in checked.rules.rules]


def install(
    folder: Path, name: str, text: str, *, distribution: str, package: str = "", version: str = "1.0"
) -> None:
    """A distribution with one pack, as an installer would leave it."""
    package = package or distribution.replace("-", "_")
    (folder / package).mkdir(parents=True, exist_ok=True)
    (folder / package / "__init__.py").write_text("raise SystemExit('a pack is data, and was imported')\n")
    (folder / package / f"{name}.gate").write_text(text)
    info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[callgate.packs]\n{name} = {package}\n")


# By name and range --------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["^1.0", ">=1.0,<2", "==1.0.0", "1.0", "~1.0.0", "!=1.1.0", "*"])
def test_a_named_pack_may_have_a_range(spec: str) -> None:
    assert "kimi@1.0.0" in callgate.compile("", packs=[f"kimi@{spec}"]).packs


def test_a_version_out_of_the_range_says_what_is_there_what_was_wanted_and_where_it_is() -> None:
    found = only(check(["kimi@^9"]))
    assert found.code == "G510"
    assert "`kimi` is 1.0.0 and ^9 is wanted" in found.message
    assert "kimi.gate` (ships with callgate)" in found.help


def test_use_says_the_same_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "team.gate").write_text(pack("team", "1.2.0"))
    found = only(check(None, RuleText('\nuse team ">=2"', "top.gate", tmp_path)))
    assert (found.code, found.file, found.span.line) == ("G510", "top.gate", 2)
    assert "1.2.0" in found.message
    assert str(tmp_path / "team.gate") in found.help


def test_a_pack_without_a_version_fits_no_range(tmp_path: Path) -> None:
    (tmp_path / "bare.gate").write_text(rule("a"))
    assert only(check(None, RuleText('use bare "*"', "top.gate", tmp_path))).code == "G510"
    assert rules(check(None, RuleText("use bare", "top.gate", tmp_path)))


@pytest.mark.parametrize("entry", ["kimi@", "kimi@latest", "kimi@^1@^2", "kimi@1.0 - 2.0"])
def test_a_range_that_is_none_is_an_error(entry: str) -> None:
    found = only(check([entry]))
    assert found.code == "G502"
    assert "kimi" in found.message


def test_a_pack_whose_version_is_none_fits_no_range_either(tmp_path: Path) -> None:
    (tmp_path / "team.gate").write_text(pack("team", "1.0"))
    found = check(None, RuleText('use team "^1"', "x", tmp_path)).diagnostics
    assert [each.code for each in found] == ["G501", "G510"]


def test_a_missing_pack_names_the_nearest_and_where_it_was_looked_for(tmp_path: Path) -> None:
    found = only(check(["kimmi@^1"]))
    assert (found.code, found.message) == ("G509", "there is no pack `kimmi`")
    assert "did you mean `kimi`?" in found.help
    assert "the installed ones and those that ship" in found.help
    found = only(check(None, RuleText("use zzz", "top.gate", tmp_path)))
    assert str(tmp_path) in found.help


def test_a_folder_that_is_named_without_a_slash_is_told_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ours").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "./ours" in only(check(["ours"])).help


def test_everything_that_is_wrong_with_the_names_is_told_in_one_run(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = check(["nope", "kimi@^9", "glm@x", str(tmp_path / "empty"), str(tmp_path / "no.gate")])
    assert sorted(each.code for each in found.diagnostics) == ["G502", "G505", "G509", "G509", "G510"]


@pytest.mark.parametrize("named", [5, b"kimi", [5], [None], {"a": 5}, {5: "a"}, [b"kimi"], [["kimi"]]])
def test_packs_of_a_wrong_type_are_refused(named: Any) -> None:
    with pytest.raises(PackError, match="pack"):
        Library(named)


@pytest.mark.parametrize(
    "name", ["../secret", "a/../secret", "/etc/passwd", "..\\secret", "a\0b", "x" * 5000]
)
def test_a_name_is_no_path(name: str, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret.gate").write_text(pack("secret"))
    assert Library().find(name, tmp_path / "inner") is None


# By path and folder -------------------------------------------------------------------------------


def test_a_folder_puts_every_pack_in_it_in_force_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.gate").write_text(pack(name, rules=rule(name)))
    (tmp_path / ".hidden.gate").write_text("nonsense")
    (tmp_path / "readme.md").write_text("nonsense")
    (tmp_path / "folder.gate").mkdir()
    for named in (tmp_path, str(tmp_path), [tmp_path], [f"{tmp_path}{os.sep}"]):
        assert rules(check(named)) == ["a:t:alias:/a", "b:t:alias:/b", "c:t:alias:/c"]


def test_what_is_named_first_comes_first(tmp_path: Path) -> None:
    (tmp_path / "a.gate").write_text(pack("a", rules=rule("a")))
    (tmp_path / "b.gate").write_text(pack("b", rules=rule("b")))
    assert rules(check([tmp_path / "b.gate", tmp_path])) == ["b:t:alias:/b", "a:t:alias:/a"]


def test_a_pack_of_a_named_folder_is_reached_by_use_and_by_name(tmp_path: Path) -> None:
    (tmp_path / "team.gate").write_text(pack("team", "1.4.0", rule("a")))
    assert rules(check([tmp_path], RuleText('use team "^1.4"', "top.gate")))
    assert rules(check([tmp_path, "team@^1"]))
    assert only(check([tmp_path, "team@^2"])).code == "G510"


def test_relative_paths_are_relative_to_the_folder_that_the_caller_says(tmp_path: Path) -> None:
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "team.gate").write_text(pack("team", rules=rule("a")))
    library = Library(["./packs"], folder=tmp_path)
    assert rules(check_rules([], packs=library)) == ["team:t:alias:/a"]
    assert only(check(["./packs"])).code == "G505"


def test_a_folder_without_packs_is_an_error(tmp_path: Path) -> None:
    found = only(check([tmp_path]))
    assert found.code == "G509"
    assert str(tmp_path) in found.message


def test_a_file_of_a_folder_that_is_no_pack_is_an_error(tmp_path: Path) -> None:
    # Else its rules would be in force, or not, without anybody's knowing.
    (tmp_path / "team.gate").write_text(pack("team"))
    (tmp_path / "notes.gate").write_text(rule("a"))
    found = only(check([tmp_path]))
    assert (found.code, found.file) == ("G503", str(tmp_path / "notes.gate"))
    assert 'pack notes "1.0.0"' in found.help


def test_what_cannot_be_read_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.gate").write_text(pack("a"))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Root, which tests may run as, is refused nothing.
    for name in ("builtins.open", "os.listdir"):
        library = Library([tmp_path]) if name == "builtins.open" else None
        with monkeypatch.context() as patch:
            patch.setattr(name, refuse)
            found = only(check_rules([], packs=library or Library([tmp_path])))
        assert (found.code, "Permission denied" in found.message) == ("G505", True)
        assert str(tmp_path) in found.message


def test_a_broken_link_and_garbage_are_errors_that_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "loop.gate").symlink_to(tmp_path / "loop.gate")
    (tmp_path / "gone.gate").symlink_to(tmp_path / "nowhere")
    (tmp_path / "bytes.gate").write_bytes(os.urandom(64) + b"\xff")
    found = check([tmp_path])
    assert {each.code for each in found.diagnostics} == {"G505"}
    assert len(found.diagnostics) == 3
    for name in ("loop", "gone", "bytes"):
        assert any(f"{name}.gate" in each.message for each in found.diagnostics), name


# One name, one pack -------------------------------------------------------------------------------


def two(tmp_path: Path, one: str, other: str) -> tuple[Path, Path]:
    left, right = tmp_path / "left", tmp_path / "right"
    left.mkdir()
    right.mkdir()
    (left / "team.gate").write_text(one)
    (right / "team.gate").write_text(other)
    return left, right


def test_two_files_of_one_name_in_named_folders_are_an_error_that_names_both(tmp_path: Path) -> None:
    left, right = two(tmp_path, pack("team", "1.0.0"), pack("team", "1.0.1"))
    for named in ([left, right], [right, left], [left / "team.gate", right / "team.gate"]):
        found = check(named)
        assert {each.code for each in found.diagnostics} == {"G511"}
        for folder in (left, right):
            assert str(folder / "team.gate") in found.diagnostics[0].message


def test_two_files_with_the_same_text_are_one_pack(tmp_path: Path) -> None:
    left, right = two(tmp_path, pack("team", rules=rule("a")), pack("team", rules=rule("a")))
    assert rules(check([left, right])) == ["team:t:alias:/a"]


@pytest.mark.parametrize("turned", [False, True])
def test_rule_files_in_two_folders_that_use_one_name_must_mean_one_pack(tmp_path: Path, turned: bool) -> None:
    folders = two(tmp_path, pack("team", rules=rule("a")), pack("team", rules=rule("b")))
    for folder in folders:
        (folder / "top.gate").write_text("use team\n")
    texts = [read_rule_file(folder / "top.gate") for folder in (reversed(folders) if turned else folders)]
    found = only(check(None, *texts))
    assert (found.code, found.file) == ("G511", texts[1].file)
    for folder in folders:
        assert str(folder / "team.gate") in found.message
    # What is named comes before what stands beside a file.
    assert rules(check([folders[0] / "team.gate"], *texts)) == ["team:t:alias:/a"]


def test_a_rule_file_that_is_a_pack_and_another_pack_of_its_name_are_two(tmp_path: Path) -> None:
    left, right = two(tmp_path, pack("team", rules=rule("a")), pack("team", rules=rule("b")))
    texts = [read_rule_file(folder / "team.gate") for folder in (left, right)]
    assert only(check(None, *texts)).code == "G511"
    assert only(check([left], texts[1])).code == "G511"
    assert rules(check([left], texts[0])) == ["team:t:alias:/a"]


def test_a_pack_is_called_what_its_file_is_called(tmp_path: Path) -> None:
    (tmp_path / "kimi.gate").write_text(pack("kimi-k2"))
    for checked in (check([tmp_path]), check(None, RuleText("use kimi", "x", tmp_path))):
        found = only(checked)
        assert found.code == "G512"
        assert "`kimi-k2`" in found.message
        assert str(tmp_path / "kimi.gate") in found.message
        assert "kimi-k2.gate" in found.help


# Installed ----------------------------------------------------------------------------------------


def test_an_installed_pack_is_found_without_importing_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "acme", pack("acme", "2.1.0", rule("a")), distribution="acme-rules")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert rules(check(["acme@^2"])) == ["acme:t:alias:/a"]
    found = only(check(["acme@^3"]))
    assert "`acme_rules/acme.gate` (installed by acme-rules 1.0)" in found.help


def test_the_package_of_an_installed_pack_may_lie_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "acme", pack("acme"), distribution="deep-rules", package="outer_rules/inner")
    (tmp_path / "outer_rules" / "__init__.py").write_text("raise SystemExit('imported')\n")
    points = tmp_path / "deep_rules-1.0.dist-info" / "entry_points.txt"
    points.write_text("[callgate.packs]\nacme = outer_rules.inner\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not check(["acme"]).failed


def test_two_distributions_that_offer_one_name_are_an_error_that_names_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "acme", pack("acme", "2.0.0"), distribution="acme-rules")
    install(tmp_path, "acme", pack("acme", "2.0.1"), distribution="other-rules", version="7")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = only(check(["acme"]))
    assert found.code == "G511"
    assert "acme_rules/acme.gate` (installed by acme-rules 1.0)" in found.message
    assert "other_rules/acme.gate` (installed by other-rules 7)" in found.message
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "acme.gate").write_text(pack("acme", "3.0.0"))
    assert not check([tmp_path / "mine", "acme@^3"]).failed  # as the help says
    (tmp_path / "other_rules" / "acme.gate").write_text(pack("acme", "2.0.0"))
    assert not check(["acme"]).failed  # the same text


@pytest.mark.parametrize(
    "points",
    ["acme = no_such_package", "acme = acme_rules.sub", "acme = ..x", "acme = sys", "acme = 5 6", "acme = ."],
)
def test_an_entry_point_that_leads_nowhere_is_an_error_of_that_pack_alone(
    points: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "acme", pack("acme"), distribution="acme-rules")
    (tmp_path / "acme_rules-1.0.dist-info" / "entry_points.txt").write_text(f"[callgate.packs]\n{points}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = only(check(["acme"]))
    assert found.code == "G505"
    assert "`acme`" in found.message
    assert not check(["kimi"]).failed


@pytest.mark.parametrize("damage", [b"[callgate.packs]\nacme\n", b"\xff\xfe[", b"[callgate.packs]\n = \n"])
def test_damaged_metadata_gives_an_error_that_says_so(
    damage: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "acme", pack("acme"), distribution="acme-rules")
    (tmp_path / "acme_rules-1.0.dist-info" / "entry_points.txt").write_bytes(damage)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert {each.code for each in check(["acme"]).diagnostics} <= {"G505", "G509"}
    assert check(["acme"]).failed


def test_what_a_shipped_pack_uses_ships_too_and_its_tests_are_not_run_again() -> None:
    checked = check(None, RuleText("use claude-code", "x"))
    from callgate.engine.units import all_units

    packs = [unit for unit in all_units(checked.compiled.units) if unit.pack is not None]
    assert packs
    assert all(unit.source.shipped for unit in packs)
    assert {each.origin.source for each in checked.files} == {"given", "shipped"}
