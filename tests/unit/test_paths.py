"""What `under` says about paths: the plain ones, and those that try to look like them."""

from __future__ import annotations

from time import process_time

import pytest

from callgate.engine.paths import Folded, fold, is_under, under

REPO = Folded("", "/repo")
DRIVE = Folded("c:", "/repo")
SHARE = Folded("//server/share", "/repo")


@pytest.mark.parametrize(
    ("path", "folded"),
    [
        ("/", Folded("", "/")),
        ("/a//b/./c/", Folded("", "/a/b/c")),
        ("//a", Folded("", "/a")),
        ("/a/../../../b", Folded("", "/b")),
        ("/..", Folded("", "/")),
        ("/A", Folded("", "/A")),
        ("/e\u0301", Folded("", "/\u00e9")),
        ("C:\\", Folded("c:", "/")),
        ("C:\\Repo\\a/B\\..", Folded("c:", "/repo/a")),
        ("c:/../..", Folded("c:", "/")),
        ("C:/STRASSE/\u00c9", Folded("c:", "/strasse/\u00e9")),
        ("\\\\Server\\Share", Folded("//server/share", "/")),
        ("\\\\Server\\Share\\a\\..\\..\\..", Folded("//server/share", "/")),
    ],
)
def test_a_whole_path_is_folded_without_the_disk(path, folded):
    assert fold(path) == folded


@pytest.mark.parametrize(
    ("path", "cwd", "folded"),
    [
        ("a", REPO, Folded("", "/repo/a")),
        (".", REPO, REPO),
        ("../x", REPO, Folded("", "/x")),
        ("a\\b", REPO, Folded("", "/repo/a\\b")),
        ("A\\..\\b", DRIVE, Folded("c:", "/repo/b")),
        ("\\x", DRIVE, Folded("c:", "/x")),
        ("/x", DRIVE, Folded("c:", "/x")),
        ("/\\server\\share\\x", DRIVE, Folded("//server/share", "/x")),
        ("..", SHARE, Folded("//server/share", "/")),
    ],
)
def test_a_relative_path_is_joined_to_the_working_directory_first(path, cwd, folded):
    assert fold(path, cwd) == folded


@pytest.mark.parametrize(
    "path",
    [
        "",
        None,
        5,
        ["/repo"],
        "/repo/a\0b",
        "/repo/%2e%2e/x",
        "/repo/%2E./x",
        "/repo%2fx",
        "/repo%5Cx",
        "/repo/%252e%252e/x",
        "/repo/%c0%ae/x",
        "/repo/%e0%80%ae/x",
        "/repo/%u002e/x",
        "/repo/a%00.txt",
        "~",
        "~/x",
        "~root/x",
        " /repo/x",
        "\n/repo/x",
        "\ufeff/repo/x",
        "\u200b/repo/x",
        "/repo/.. /x",
        "/repo/ ../x",
        "/repo/..\t/x",
        "file:///repo/x",
        "file:/repo/x",
        "HTTP://host/repo",
        "data:text,x",
        "C:",
        "C:repo",
        "c:..\\x",
        "\\\\?\\C:\\repo",
        "\\\\.\\C:\\repo",
        "\\\\server",
        "\\\\server\\..\\x",
        "\\\\localhost\\c$\\repo",
        "\\\\\\server\\share",
        "C:\\repo\\a.txt:stream",
        "C:\\repo\\a::$DATA",
        "C:\\repo\\...\\..\\x",
        "C:\\repo\\a.\\x",
        "C:\\repo\\a \\x",
        "C:\\repo\\.. \\x",
        "C:\\PROGRA~1\\x",
        "C:\\repo\\nul",
        "C:\\repo\\Com1.txt",
        "/repo/" + "\u0301" * 300,
    ],
)
@pytest.mark.parametrize("cwd", [None, REPO, DRIVE])
def test_a_path_that_may_mean_another_place_has_no_answer(path, cwd):
    assert fold(path, cwd) is None
    assert is_under(path, REPO, cwd) is None
    assert is_under(path, DRIVE, cwd) is None
    if type(path) is str:
        assert under("/repo", None)(path, None) is None


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/repo", True),
        ("/repo/", True),
        ("//repo///a", True),
        ("/repo/.git/config", True),
        ("/repo/a..b/..c/...", True),
        ("/x/../repo/a", True),
        ("/./repo/a", True),
        ("/../repo/a", True),
        ("/repo/a b", True),
        ("/repo/100%25", True),
        ("/repo/a~", True),
        ("/repo/a:b", True),
        ("/repo/x\\y", True),
        ("/repo/....//....//etc", True),
        ("/repo/\uff0e\uff0e/\uff0e\uff0e/etc", True),
        ("/repo/\u2025/etc", True),
        ("/repo-evil", False),
        ("/repository", False),
        ("/rep", False),
        ("/", False),
        ("/Repo/a", False),
        ("/repo/..", False),
        ("/repo/../repo-evil/x", False),
        ("/repo/a/../../etc/passwd", False),
        ("/etc\\repo", False),
        ("/\uff0frepo", False),
        # Each of these is under it on one kind of machine only.
        ("/repo/..\\..\\etc", None),
        ("/repo\\x", None),
        ("/repo/a\\..\\..\\etc", None),
    ],
)
def test_under_a_posix_directory(path, answer):
    assert is_under(path, REPO) is answer
    assert under("/repo", None)(path, None) is answer
    assert under("/repo/", None)(path, {"cwd": "/home"}) is answer


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("C:\\repo", True),
        ("c:/REPO/a", True),
        ("C:\\x\\..\\repo\\a", True),
        ("C:\\repo\\..\\x", False),
        ("C:\\repo-evil", False),
        ("D:\\repo", False),
        ("\\\\server\\share\\repo", False),
        ("C:\\repo\\nullable.txt", True),
        ("/etc", False),
        ("/repo/x", None),  # on the current drive, which may be this one
    ],
)
def test_under_a_directory_of_a_drive(path, answer):
    assert is_under(path, DRIVE) is answer
    assert under("C:\\Repo", None)(path, None) is answer


@pytest.mark.parametrize(
    ("path", "prefix", "cwd", "answer"),
    [
        ("\\\\SERVER\\share\\repo\\a", SHARE, None, True),
        ("\\\\server\\other\\repo\\a", SHARE, None, False),
        ("//server/share/repo", SHARE, DRIVE, True),
        ("//server/share/repo", SHARE, None, None),
        ("/repo/x", DRIVE, DRIVE, True),
        ("/repo/x", DRIVE, Folded("d:", "/"), False),
        ("src\\a", DRIVE, DRIVE, True),
        ("..\\a", DRIVE, DRIVE, False),
        ("src/a", REPO, REPO, True),
        ("../etc", REPO, REPO, False),
        ("..\\etc", REPO, REPO, None),
        ("src\\a", REPO, REPO, True),
        ("src/a", REPO, Folded("", "/home"), False),
        ("src/a", REPO, None, None),
        # A drive path is never under a POSIX directory for sure.
        ("C:\\Users\\x", REPO, None, False),
        ("C:/../../repo/x", REPO, None, None),
        ("C:/x", REPO, REPO, None),
    ],
)
def test_the_working_directory_tells_what_a_path_means(path, prefix, cwd, answer):
    assert is_under(path, prefix, cwd) is answer


def test_everything_absolute_is_under_the_root():
    test = under("/", None)
    assert [test(path, None) for path in ("/", "/a", "//a/../..", "a", "C:\\x")] == [
        True,
        True,
        True,
        None,
        None,
    ]


def test_the_working_directory_of_the_rules_counts_before_that_of_the_call():
    assert under("/repo", "/repo")("a", {"cwd": "/etc"}) is True
    assert under("/repo", None)("a", {"cwd": "/repo/sub"}) is True
    assert under("/repo", None)("a", {"cwd": "/etc"}) is False


@pytest.mark.parametrize("cwd", [None, 5, "", "relative", "~", "/repo/%2e%2e"])
def test_without_a_plain_working_directory_a_relative_path_has_no_answer(cwd):
    assert under("/repo", None)("a", {"cwd": cwd}) is None
    assert under("/repo", None)("/repo/a", {"cwd": cwd}) is True
    assert under("/repo", None)("/etc/a", {"cwd": cwd}) in (False, None)


def test_a_prefix_may_be_relative_to_the_working_directory_of_the_call():
    test = under("src", None)
    assert test("/repo/src/a", {"cwd": "/repo"}) is True
    assert test("src/../../x", {"cwd": "/repo"}) is False
    assert test("/repo/src/a", None) is None
    assert under("src", "/repo")("/repo/src/a", None) is True


def test_on_a_call_from_windows_a_rooted_prefix_is_on_the_current_drive():
    test = under("/etc", None)
    assert test("C:\\ETC\\hosts", {"cwd": "C:\\"}) is True
    assert test("/ETC/hosts", {"cwd": "C:\\"}) is True
    assert test("D:\\etc", {"cwd": "C:\\"}) is False


@pytest.mark.parametrize("prefix", ["", "~/x", "file:///repo", "/repo/%2e%2e", "C:repo"])
def test_under_a_prefix_that_is_no_plain_path_nothing_has_an_answer(prefix):
    test = under(prefix, None)
    assert [test(path, None) for path in ("/repo", "/", "C:\\x")] == [None, None, None]


@pytest.mark.parametrize(
    "path",
    [
        "/repo/" + "../" * 100_000,
        "/repo/" + "a/" * 100_000 + "\u00e9",
        "/repo/" + "%25" * 100_000,
        "/" + "\u0f73" * 300_000,
        "/" + "/".join(["\u0301\u0323" * 127] * 1_000),
        "\\" * 300_000,
        "/repo" + "\\.." * 100_000,
        "/" + " " * 300_000 + "..",
        "C:/" + "a." * 100_000,
        "a:" * 100_000,
    ],
)
def test_long_paths_take_linear_time(path):
    before = process_time()
    for prefix in (REPO, DRIVE):
        assert is_under(path, prefix, REPO) in (True, False, None)
        assert is_under(path, prefix, DRIVE) in (True, False, None)
    assert process_time() - before < 5
