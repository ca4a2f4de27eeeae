"""What commands are given: rule files and folders, packs, and documents in JSON or YAML."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ._terminal import Unusable, complain, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ...grammar.ast import Json
    from ..definitions import Tools
    from ..deploying import Owner, Set
    from ..engine import Engine
    from ..loading import Checked
    from ..packs import Library
    from ..ruletext import RuleText

DEPLOYMENT = "deployment.yaml"
_OPERATORS = ("<", ">", "=", "!", "^", "~")  # which a part of a range may begin with


def add_rules(parser: ArgumentParser) -> None:
    """Declare RULES and `--packs`."""
    parser.add_argument(
        "rules", nargs="*", metavar="RULES", help="a rule file, or a folder: every *.gate in it"
    )
    parser.add_argument(
        "--packs",
        action="append",
        default=[],
        metavar="NAME,…",
        help="packs that come before the rules: names (`kimi`, `kimi@^1.2`), files, folders, or `shipped`",
    )


def pack_names(namespace: Namespace) -> list[str]:
    """The packs of `--packs`, in order."""
    names: list[str] = []
    for given in namespace.packs:
        for number, part in enumerate(given.split(",")):
            if number and "@" in names[-1] and part.lstrip()[:1] in _OPERATORS:  # `kimi@>=1.2,<2` is one
                names[-1] += f",{part.strip()}"
            else:
                names.append(part.strip())
    if "" in names:
        raise Unusable("--packs: a name is empty")
    return names


def is_deployment(given: list[str]) -> bool:
    """Is a deployment file given in the place of rules?"""
    return len(given) == 1 and given[0].endswith((".yaml", ".yml"))


def host() -> Owner:
    """The program that owns the tools, as far as a command can be it: its functions are named, and fail."""
    from ..absent import Absent
    from ..deploying import Owner

    return Owner(functions=Absent())


def deployed(path: str, tools: Tools | None = None, *, locked: bool | None = None) -> Set:
    """What a deployment would put in force, read once; neither its store nor its log is opened.

    Raises:
        DeploymentError: see `build`.
    """
    from ..deploying import build, whole_path
    from ..files import Files
    from ..readings import Readings

    found = build(whole_path(path), Files(), host(), tools, Readings(), locked)
    tell_functions(found.engine)
    return found


def tell_functions(engine: Engine) -> None:
    """Say which functions of the host the rules need, and that they are not here."""
    names = ", ".join(f"`{each}`" for each in engine.rules.functions)
    if names:
        complain(f"callgate: the host gives {visible(names)}: what needs it is not judged here")


def rule_paths(given: Iterable[str]) -> tuple[list[str], list[str]]:
    """The rule files that are meant, each once, and what is wrong with the others."""
    found: dict[str, str] = {}
    wrong: list[str] = []
    for name in given:
        path = _spelled(name)
        if os.path.isdir(path):
            inside = _inside(path)
            if not inside:
                inner = os.path.join(path, DEPLOYMENT)
                hint = f"; did you mean `{inner}`?" if os.path.isfile(inner) else ""
                wrong.append(f"{name}: the folder holds no *.gate file{hint}")
        elif os.path.splitext(path)[1] in (".json", ".yaml", ".yml"):
            checks = f"; `callgate status {name}` checks a deployment" if is_deployment([name]) else ""
            wrong.append(f"{name}: is no rule file; they end in `.gate`{checks}")
            inside = []
        else:
            inside = [path]
        for each in inside:
            found.setdefault(os.path.realpath(each), each)
    return list(found.values()), wrong


def _inside(folder: str) -> list[str]:
    from pathlib import Path

    return [str(each) for each in sorted(Path(folder).glob("*.gate")) if not each.is_dir()]


def _spelled(name: str) -> str:
    """As `pathlib` spells it, which is loaded only where that might be in another way."""
    if os.path.normpath(name) == name:
        return name
    from pathlib import Path

    return str(Path(name))


def rule_texts(given: Iterable[str]) -> tuple[list[RuleText], list[str]]:
    """The texts of the rule files that can be read, and what is wrong with the others."""
    from ..ruletext import PackError, read_rule_file

    paths, wrong = rule_paths(given)
    texts = []
    for path in paths:
        try:
            texts.append(read_rule_file(path))
        except PackError as error:
            wrong.append(str(error))
    return texts, wrong


def checked_rules(
    texts: list[RuleText],
    namespace: Namespace,
    *,
    strict: bool,
    tools: Tools | None = None,
    library: Library | None = None,
    tests: bool = True,
) -> Checked:
    """Compile the rules, over `--packs` or a library that was made of them, and run their tests.

    Raises:
        Unusable: the tools of `--tools` cannot be used.
    """
    from ..errors import SchemaError
    from ..loading import check_rules

    try:
        packs = library or pack_names(namespace)
        return check_rules(texts, tools=tools, packs=packs, strict=strict, tests=tests)
    except SchemaError as error:
        raise Unusable(f"--tools {namespace.tools}: {error}") from None


def read_tools_file(name: str | None, note: Callable[[str, bytes], None] | None = None) -> Tools | None:
    """The document of `--tools`, not yet compiled. `note` is told its path and its bytes.

    Raises:
        Unusable: it cannot be read, or is neither a mapping nor a list.
    """
    if name is None:
        return None
    document = read_document(name, "--tools", note)
    if not isinstance(document, dict | list):
        raise Unusable(f"--tools {name}: tools are a mapping of names to schemas, or a list of definitions")
    return document  # type: ignore[return-value]


def read_document(name: str, setting: str, note: Callable[[str, bytes], None] | None = None) -> Json:
    """A JSON file, or a YAML file where the name says so, as a value of the JSON domain.

    Raises:
        Unusable: it cannot be read exactly; the message begins with the setting and the file.
    """
    from ..documents import DocumentError, decode_document
    from ..ruletext import LARGEST

    try:
        with open(name, "rb") as stream:
            data = stream.read(LARGEST + 1)
        if note is not None and len(data) <= LARGEST:
            note(name, data)
        return decode_document(data, name)
    except OSError as error:
        raise Unusable(f"{setting} {name}: cannot be read: {error.strerror or error}") from None
    except DocumentError as error:
        raise Unusable(f"{setting} {name}: {error}") from None
