"""What the providers' own clients send when they are given what a choice was lowered to.

A server on the loopback interface keeps each request and answers with the least that the client takes. The
packages are imported by the tests and not with this file, so that collecting stays fast.
"""

from __future__ import annotations

import copy
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

import callgate
from callgate.engine.lowering import Lowered, lower

from .provider_forms import ROWS, SHAPES, TAKES, WORD_ROWS, WORDS, Fields, Row, definitions, labels

SECONDS = 5.0  # how long a client waits for the server; none tries again
KEY = "not-a-key"
HELLO = [{"role": "user", "content": "Hello"}]
Send = Callable[[Fields], object]

_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
_CHAT_ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "a-model",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}],
    "usage": _USAGE,
}
# By a part of the path that only this provider's requests have.
_ANSWERS: Mapping[str, Fields] = {
    "/chat/completions": _CHAT_ANSWER,
    "/responses": {
        "id": "1",
        "object": "response",
        "created_at": 1,
        "model": "a-model",
        "status": "completed",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    },
    "/v1/messages": {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "a-model",
        "content": [{"type": "text", "text": "Hello"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    ":generateContent": {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP", "index": 0}
        ]
    },
    "/converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "Hello"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    },
    "/v2/chat": {
        "id": "1",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
    },
    "/api/chat": {
        "model": "a-model",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": "Hello"},
        "done": True,
    },
}


class Server(ThreadingHTTPServer):
    """Keeps the bodies that were posted, in order."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[Fields] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def arrived(self, send: Send, request: Fields) -> Fields:
        """The one body that sending the request brought here."""
        self.bodies.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the clients think of model names
            send(copy.deepcopy(request))
        (body,) = self.bodies
        return body


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = SECONDS

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        answer = next((each for part, each in _ANSWERS.items() if part in self.path), None)
        content = json.dumps(answer if answer is not None else {"error": self.path}).encode()
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is written."""


_ENVIRONMENT = (
    "OPENAI",
    "ANTHROPIC",
    "GOOGLE",
    "GEMINI",
    "AWS",
    "MISTRAL",
    "CO_",
    "COHERE",
    "GROQ",
    "OLLAMA",
)


@pytest.fixture(scope="module", autouse=True)
def _own_environment() -> Iterator[None]:
    """Nothing of the user's: no keys, no proxies, no files of settings."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(_ENVIRONMENT) or name.upper().endswith("_PROXY"):
                patch.delenv(name)
        patch.setenv("NO_PROXY", "*")
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(SECONDS)


@pytest.fixture(scope="module")
def send_of(server: Server) -> Callable[[str], Send]:
    """How a provider is sent something; each client is made once, and skips where its package is missing."""
    made: dict[Callable[[str], Send], Send] = {}

    def send_of(provider: str) -> Send:
        make = _CLIENTS.get(provider, _openai_chat)
        if make not in made:
            made[make] = make(server.url)
        return made[make]

    return send_of


def _openai(url: str) -> Any:
    openai = pytest.importorskip("openai")
    return openai.OpenAI(api_key=KEY, base_url=f"{url}/v1", timeout=SECONDS, max_retries=0)


def _openai_chat(url: str) -> Send:
    create = _openai(url).chat.completions.create
    return lambda request: create(model="a-model", messages=HELLO, **request)


def _openai_responses(url: str) -> Send:
    create = _openai(url).responses.create
    return lambda request: create(model="a-model", input="Hello", **request)


def _anthropic(url: str) -> Send:
    anthropic = pytest.importorskip("anthropic")
    client = anthropic.Anthropic(api_key=KEY, base_url=url, timeout=SECONDS, max_retries=0)
    return lambda request: client.messages.create(model="a-model", max_tokens=9, messages=HELLO, **request)


def _gemini(url: str) -> Send:
    genai = pytest.importorskip("google.genai")
    once = {"attempts": 1}
    options = {"base_url": url, "timeout": int(SECONDS * 1000), "retry_options": once}
    client = genai.Client(api_key=KEY, vertexai=False, http_options=options)  # kept: it closes when it goes
    return lambda request: client.models.generate_content(model="a-model", contents="Hello", config=request)


def _bedrock(url: str) -> Send:
    session = pytest.importorskip("botocore.session")
    config = pytest.importorskip("botocore.config").Config(
        connect_timeout=SECONDS, read_timeout=SECONDS, retries={"total_max_attempts": 1}, proxies={}
    )
    client = session.Session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=KEY,
        endpoint_url=url,
        config=config,
    )
    hello = [{"role": "user", "content": [{"text": "Hello"}]}]
    return lambda request: client.converse(modelId="a-model", messages=hello, **request)


def _mistral(url: str) -> Send:
    mistralai = pytest.importorskip("mistralai.client")
    client = mistralai.Mistral(api_key=KEY, server_url=url, timeout_ms=int(SECONDS * 1000))
    return lambda request: client.chat.complete(model="a-model", messages=HELLO, retries=None, **request)


def _cohere(url: str) -> Send:
    cohere = pytest.importorskip("cohere")
    client = cohere.ClientV2(api_key=KEY, base_url=url, timeout=SECONDS)
    once = {"max_retries": 0}
    return lambda request: client.chat(model="a-model", messages=HELLO, request_options=once, **request)


def _groq(url: str) -> Send:
    groq = pytest.importorskip("groq")
    client = groq.Groq(api_key=KEY, base_url=url, timeout=SECONDS, max_retries=0)
    return lambda request: client.chat.completions.create(model="a-model", messages=HELLO, **request)


def _ollama(url: str) -> Send:
    client = pytest.importorskip("ollama").Client(host=url, timeout=SECONDS)
    return lambda request: client.chat(model="a-model", messages=HELLO, **request)


_CLIENTS: Mapping[str, Callable[[str], Send]] = {
    "openai.responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock.converse": _bedrock,
    "mistral": _mistral,
    "cohere": _cohere,
    "groq": _groq,
    "ollama.native": _ollama,
}  # the others are what the OpenAI client is pointed at

# What each client sends beside a choice and tools; the model stands in the path where it is not here.
_BASE: Mapping[str, frozenset[str]] = {
    "openai.responses": frozenset({"model", "input"}),
    "anthropic": frozenset({"model", "messages", "max_tokens"}),
    "gemini": frozenset({"contents"}),
    "bedrock.converse": frozenset({"messages"}),
    "mistral": frozenset({"model", "messages", "stream"}),
    "cohere": frozenset({"model", "messages", "stream"}),
    "ollama.native": frozenset({"model", "messages", "stream"}),
}
_BASE_CHAT = frozenset({"model", "messages"})
# What a client may send beside that, with nothing in it.
_EMPTY: Mapping[str, tuple[str, Any]] = {
    "gemini": ("generationConfig", {}),
    "ollama.native": ("tools", []),
}


def _beside(provider: str, body: Fields) -> Fields:
    """What arrived beside the conversation."""
    base = _BASE.get(provider, _BASE_CHAT)
    assert base <= body.keys()
    beside = {key: value for key, value in body.items() if key not in base}
    empty, nothing = _EMPTY.get(provider, ("", None))
    if beside.get(empty) == nothing:
        beside.pop(empty, None)
    return _camel(beside) if provider == "gemini" else beside


def _camel(value: Any) -> Any:
    """Google takes a field by both of its names, and its client sends both; a schema is left as it is."""
    if isinstance(value, list):
        return [_camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    pairs = ((re.sub("_([a-z])", lambda found: found[1].upper(), key), each) for key, each in value.items())
    return {key: each if key == "parametersJsonSchema" else _camel(each) for key, each in pairs}


def _split(provider: str, body: Fields, lowered: Lowered) -> tuple[Fields, list[Fields]]:
    """The fields of the choice that arrived, and the tools."""
    fields = _beside(provider, body)
    here = fields
    for key in lowered.tools_at[:-1]:
        here = here.get(key, {})
    return fields, here.pop(lowered.tools_at[-1], [])


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_arrives(row: Row, server: Server, send_of: Callable[[str], Send]) -> None:
    lowered = row.lower()
    body = server.arrived(send_of(row.provider), lowered.request())
    fields, tools = _split(row.provider, body, lowered)
    assert fields == row.fields, "these fields and no others"
    assert labels(tools) == row.sent
    if row.provider != "ollama.native":  # that client leaves out of a schema what it does not know
        assert tools == list(lowered.tools)


@pytest.mark.parametrize("row", WORD_ROWS, ids=str)
def test_a_tool_called_like_a_mode(row: Row, server: Server, send_of: Callable[[str], Send]) -> None:
    lowered = row.lower()
    body = server.arrived(send_of(row.provider), lowered.request())
    fields, tools = _split(row.provider, body, lowered)
    assert fields == row.fields
    assert labels(tools) == row.sent
    choice = fields.get("tool_choice")
    assert choice not in WORDS, "a word would mean the mode"
    if isinstance(choice, str):
        assert labels(tools) == (row.choice["tool"],), "a word is enough where nothing else can be called"


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("provider", sorted(set(SHAPES) - {row.provider for row in WORD_ROWS}))
def test_a_tool_called_like_a_mode_is_refused(provider: str, word: str) -> None:
    """There is no way to say it to these."""
    assert "one" not in TAKES[provider].fields
    with pytest.raises(callgate.ContractViolation) as caught:
        lower(provider, choice={"tool": word}, tools=definitions(provider, WORDS))
    assert caught.value.code == "provider_cannot_force"


@pytest.mark.parametrize("provider", sorted(SHAPES))
def test_the_base_is_what_the_client_sends_of_itself(
    provider: str, server: Server, send_of: Callable[[str], Send]
) -> None:
    """Without a choice and without tools nothing else is there, so that what is there is ours."""
    assert _beside(provider, server.arrived(send_of(provider), {})) == {}
