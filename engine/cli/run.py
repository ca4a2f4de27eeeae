"""callgate run: every call of a stream through the rules."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ._inputs import (
    add_rules,
    host,
    is_deployment,
    read_document,
    read_tools_file,
    rule_texts,
    tell_functions,
)
from ._terminal import INTERRUPTED, Output, Unusable, complain, is_terminal, size_left

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ..deployment import Deployment
    from ..engine import Engine
    from ..ir import RuleSet
    from ._judge import Judge
    from ._progress import Progress

NAME = "run"
HELP = "put every call of a stream of JSON lines through the rules"

_EPILOG = (
    "Calls are read from standard input, one JSON object a line, and verdicts written to standard output."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = _EPILOG + " Exit status: 0 every line got a verdict, 1 bad lines, 2 unusable."
    add_rules(parser)
    parser.add_argument("--tools", metavar="FILE", help="tool definitions or schemas, JSON or YAML")
    parser.add_argument(
        "--policy", metavar="P", help="conservative, adaptive or recover, whatever the files say"
    )
    parser.add_argument("--model", metavar="M", help="the model of calls that name none")
    parser.add_argument(
        "--context", metavar="FILE", help="context of every call, JSON or YAML; a call's own wins"
    )
    parser.add_argument("--no-log", action="store_true", help="leave out the log of the deployment")
    parser.add_argument("--format", choices=("json", "text"), default="json", help="of the verdicts (json)")


def run(namespace: Namespace) -> int:
    """Exit status: 0 every line got a verdict, 1 bad lines."""
    if sys.stdin is None:
        raise Unusable("standard input is closed, and calls are read from it")
    if is_deployment(namespace.rules):
        from ._hangup import told

        with told(), _deployment(namespace) as deployment:
            return _judge(deployment, namespace)
    if namespace.no_log:
        raise Unusable("--no-log: only a deployment has a log")
    engine = _engine(namespace)
    return 2 if engine is None else _judge(engine, namespace)


def _judge(engine: Engine | Deployment, namespace: Namespace) -> int:
    from ._judge import Judge

    judge = Judge(engine, namespace.model, _context(namespace.context), people=namespace.format == "text")
    if is_terminal(sys.stdin):
        complain("callgate: reading calls from the terminal, one JSON object a line")
    status = _stream(judge)
    complain(judge.summary.text())
    return status


def _deployment(namespace: Namespace) -> Deployment:
    """The deployment, which SIGHUP loads anew.

    Raises:
        Unusable: it does not load, logs to where the verdicts go, or states itself what is given.
    """
    from pathlib import Path

    from ..deployment import Deployment
    from ..errors import DeploymentError, SchemaError
    from ._hangup import reload_on_hangup

    for option in ("packs", "policy"):
        if getattr(namespace, option):
            raise Unusable(f"--{option}: a deployment states its own")
    tools = read_tools_file(namespace.tools)
    try:
        log = _nowhere if namespace.no_log else None
        deployment = Deployment(Path(namespace.rules[0]), host(), tools, log, None, watch=True)
    except DeploymentError as error:
        raise Unusable(error.text.rstrip("\n")) from None
    except SchemaError as error:
        raise Unusable(f"--tools {namespace.tools}: {error}") from None
    settings = deployment.settings
    if log is None and settings.log is not None and settings.log.to in ("stdout", "-"):
        deployment.close()
        place = f"{settings.file}:{settings.at('log', 'to').line}"
        raise Unusable(
            f"{place}: `log.to`: the verdicts go to standard output; name a file, or give `--no-log`"
        )
    tell_functions(deployment.engine)
    reload_on_hangup(deployment)
    return deployment


def _nowhere(line: dict[str, Any]) -> None:
    """Takes the lines of a log that nobody wants."""


def _engine(namespace: Namespace) -> Engine | None:
    """The rules over the tools; None with everything that is wrong with the rules told."""
    from ..engine import Engine
    from ._ready import ready_rules

    texts, wrong = rule_texts(namespace.rules)
    if wrong:
        raise Unusable("\ncallgate: ".join(wrong))
    tools = read_tools_file(namespace.tools)
    ready = ready_rules(texts, namespace, tools)
    if ready.said:
        complain(ready.said)
    rules = ready.rules
    if rules is None:
        complain("callgate: the rules have errors, so no call was judged")
        return None
    if rules.palettes:
        complain("callgate: palettes apply to the requests of a session; here each call stands by itself")
    if namespace.policy is not None:
        rules = _with_policy(rules, namespace.policy)
    return Engine(rules, tools)


def _with_policy(rules: RuleSet, profile: str) -> RuleSet:
    """The rules under another policy, and with a digest of their own: they decide otherwise."""
    from hashlib import blake2b

    from msgspec.structs import replace

    from ...grammar.diagnostics import nearest
    from ..ir import POLICIES, PolicyRule
    from ..verdict import Source

    if profile not in POLICIES:
        near = nearest(profile, POLICIES)
        hint = f"did you mean `{near}`?" if near else f"it is one of {', '.join(POLICIES)}"
        raise Unusable(f"--policy {profile[:64]}: there is no such policy; {hint}")
    digest = blake2b(f"{rules.source.engine} policy {profile}".encode(), digest_size=16).hexdigest()
    return replace(rules, policies=(PolicyRule(profile, None),), source=Source(digest, rules.source.packs))


def _context(name: str | None) -> dict[str, Any] | None:
    if name is None:
        return None
    document = read_document(name, "--context")
    if not isinstance(document, dict):
        raise Unusable(f"--context {name}: a context is an object")
    return document


def _stream(judge: Judge) -> int:
    """Judge line after line, holding one at a time. Exit status: 0, 1 bad lines, 130 interrupted."""
    from ._lines import read_lines

    target = Output()
    progress = _progress()
    try:
        for number, size, data in read_lines(sys.stdin.buffer):
            target.write(judge.answer(number, data))
            if progress is not None:
                progress.advance(size)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unusable(f"standard input: {error.strerror or error}") from None
    finally:
        if progress is not None:
            progress.stop()
        target.flush()
    return 1 if judge.summary.bad else 0


def _progress() -> Progress | None:
    """Something to draw on, where a person watches and nothing else goes to the same screen."""
    if not is_terminal(sys.stderr) or is_terminal(sys.stdout) or is_terminal(sys.stdin):
        return None
    from ._progress import Progress

    return Progress(size_left(sys.stdin))
