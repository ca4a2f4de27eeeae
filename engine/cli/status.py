"""callgate status: what a deployment would put in force now, or everything that keeps it from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._inputs import deployed
from ._terminal import complain, out, several, visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ..deploying import Set

NAME = "status"
_LONGEST = 120  # characters of a value of `let` that are shown
HELP = "load a deployment and say what it puts in force, or what is wrong with it"


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = "Exit status: 0 it loads, 1 it does not."
    parser.add_argument("deployment", nargs="?", default="deployment.yaml", metavar="DEPLOYMENT")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(namespace: Namespace) -> int:
    """Exit status: 0 it loads, 1 it does not."""
    import json

    from ...grammar.diagnostics import to_json
    from ..errors import DeploymentError

    try:
        facts = _facts(deployed(namespace.deployment))
    except DeploymentError as error:
        if namespace.format == "json":
            found = to_json(error.diagnostics)
            out(
                json.dumps({"loads": False, "error": error.text, "diagnostics": found}, ensure_ascii=False)
                + "\n"
            )
        else:
            complain(error.text.rstrip("\n"))
            complain(f"callgate: {visible(namespace.deployment)} does not load")
        return 1
    out(json.dumps(facts, ensure_ascii=False) + "\n" if namespace.format == "json" else _text(facts))
    return 0


def _facts(now: Set) -> dict[str, Any]:
    from ..stores import store_name

    engine, settings, tools = now.engine, now.settings, now.engine.tools
    return {
        "loads": True,
        "deployment": settings.file,
        "digest": engine.digest,
        "locked": now.locked,
        "default": settings.default,
        "why": settings.why or None,
        "policy": settings.policy,
        "cwd": settings.cwd,
        "let": dict(settings.let),
        "limits": {"input-bytes": settings.limits.input_bytes, "depth": settings.limits.depth},
        "packs": list(engine.packs),
        "files": list(now.files),
        "rules": len(engine.rules.rules),
        "tools": len(tools) if tools is not None else None,
        "models": dict(settings.models),
        "functions": list(engine.rules.functions),
        "state": store_name(settings.state),
        "log": settings.log.to if settings.log is not None else None,
        "watch": settings.watch,
        "expired": list(now.expired()),
        "warnings": list(now.said),
    }


def _text(facts: dict[str, Any]) -> str:
    limits = ", ".join(f"{name} {value}" for name, value in facts["limits"].items())
    tools = "every name" if facts["tools"] is None else several(facts["tools"], "tool")
    rows = [
        ("digest", facts["digest"]),
        ("lock", "nothing is in force that callgate.lock does not hold" if facts["locked"] else "none"),
        ("default", facts["default"]),
        ("why", facts["why"] or "none stated"),
        ("policy", facts["policy"] or "as the rules say"),
        ("cwd", facts["cwd"] or "none"),
        ("limits", limits),
        ("packs", ", ".join(facts["packs"]) or "none"),
        ("rules", f"{several(facts['rules'], 'rule')} over {tools}"),
        (
            "models",
            ", ".join(f"{name} is {what}" for name, what in facts["models"].items()) or "as they are named",
        ),
        ("state", facts["state"]),
        ("log", facts["log"] or "none"),
        ("reload", "watched" if facts["watch"] else "when asked"),
    ]
    rows += [("let", f"{name} = {_cut(value)}") for name, value in facts["let"].items()]
    rows += [("file", name) for name in facts["files"]]
    rows += [("expired", place) for place in facts["expired"]]
    rows += [("warning", text) for text in facts["warnings"]]
    return "".join(f"{name:<8} {visible(str(value))}\n" for name, value in rows)


def _cut(value: Any) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
