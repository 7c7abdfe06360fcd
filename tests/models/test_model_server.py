"""The stand-in service itself, judged by the official clients' own parsers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import httpx
import ollama
import openai
import pytest

from tests.support.model_server import (
    Fault,
    ModelServer,
    Said,
    Script,
    Wire,
    html,
    model_server,
    slow,
    status,
    tokens_of,
)

SAID = "Seven words are said here, 三 of them twice."
MESSAGES: list[openai.types.chat.ChatCompletionMessageParam] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "what?"},
]


@pytest.fixture(params=["", "/v1"])
def openai_client(request: pytest.FixtureRequest, server: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}{request.param}", api_key="x", max_retries=0) as client:
        yield client


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(SAID) as running:
        yield running


def test_openai_understands_what_it_says(server: ModelServer, openai_client: openai.OpenAI) -> None:
    reply = openai_client.chat.completions.create(model="stub", messages=MESSAGES)
    assert reply.choices[0].message.content == SAID
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert reply.usage.prompt_tokens == tokens_of("be brief") + tokens_of("what?") == server.prompt_tokens == 4
    assert reply.usage.completion_tokens == tokens_of(SAID) == server.completion_tokens
    assert [model.id for model in openai_client.models.list()] == ["stub"]
    assert (server.asked[0].system, server.asked[0].user, server.calls) == ("be brief", "what?", 1)


def test_openai_understands_its_stream(openai_client: openai.OpenAI) -> None:
    chunks = list(openai_client.chat.completions.create(model="stub", messages=MESSAGES, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == SAID
    assert [chunk.choices[0].finish_reason for chunk in chunks][-2:] == [None, "stop"]


def test_openai_understands_its_vectors(server: ModelServer, openai_client: openai.OpenAI) -> None:
    reply = openai_client.embeddings.create(input=["one", "two"], model="stub")
    by_index = {item.index: item.embedding for item in reply.data}
    assert by_index == {0: server.vector("one"), 1: server.vector("two")}


def test_openai_understands_its_errors(openai_client: openai.OpenAI, server: ModelServer) -> None:
    server.script = [status(429, "too fast", retry_after="7"), html, Said(None, "content_filter")]
    with pytest.raises(openai.RateLimitError, match="too fast") as caught:
        openai_client.chat.completions.create(model="stub", messages=MESSAGES)
    assert caught.value.response.headers["retry-after"] == "7"
    assert isinstance(openai_client.chat.completions.create(model="stub", messages=MESSAGES), str)
    assert openai_client.chat.completions.create(model="stub", messages=MESSAGES).choices[0].message.content is None


@pytest.fixture
def ollama_client(server: ModelServer) -> Iterator[ollama.Client]:
    with ollama.Client(server.url) as client:
        yield client


def test_ollama_understands_what_it_says(server: ModelServer, ollama_client: ollama.Client) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    reply = ollama_client.chat("stub", MESSAGES, format=schema)
    assert reply.message.content == SAID
    assert (reply.done, reply.done_reason) == (True, "stop")
    assert (reply.prompt_eval_count, reply.eval_count) == (4, tokens_of(SAID))
    assert server.asked[0].schema == schema
    assert [model.model for model in ollama_client.list().models] == ["stub"]
    assert ollama_client.show("stub").modelinfo == {"stub.context_length": 4096}


def test_ollama_understands_its_stream(ollama_client: ollama.Client) -> None:
    parts = list(ollama_client.chat("stub", MESSAGES, stream=True))
    assert "".join(part.message.content or "" for part in parts) == SAID
    assert [part.done for part in parts][-2:] == [False, True]
    assert parts[-1].eval_count == tokens_of(SAID)


def test_ollama_understands_its_vectors_and_errors(server: ModelServer, ollama_client: ollama.Client) -> None:
    assert [*ollama_client.embed("stub", ["one"]).embeddings[0]] == server.vector("one")
    assert [*ollama_client.embeddings("stub", "one").embedding] == server.vector("one")
    server.script = status(404, "model 'stub' not found")
    with pytest.raises(ollama.ResponseError, match="not found") as caught:
        ollama_client.chat("stub", MESSAGES)
    assert caught.value.status_code == 404


def test_a_script_may_be_worked_out_from_the_request() -> None:
    with model_server(lambda asked: {"heard": asked.user}) as server:
        body = {"model": "stub", "messages": [{"role": "user", "content": "hello"}]}
        said = httpx.post(f"{server.url}/chat/completions", json=body).json()
        assert said["choices"][0]["message"]["content"] == '{"heard": "hello"}'
        assert httpx.get(f"{server.url}/api/version").json().keys() == {"version"}
        assert httpx.get(f"{server.url}/elsewhere").status_code == 404
        assert httpx.post(f"{server.url}/elsewhere", json={}).status_code == 404


def test_a_slow_reply_comes_late() -> None:
    with model_server(slow(0.1, "at last")) as server:
        body = {"model": "stub", "messages": [], "stream": False}
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}/api/chat", json=body, timeout=0.05)
        assert httpx.post(f"{server.url}/api/chat", json=body, timeout=9).json()["message"]["content"] == "at last"


def broken(wire: Wire) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("script", [["only one"], lambda asked: asked.body["nothing"], Fault(broken)])
def test_a_script_that_goes_wrong_fails_the_test(script: Script) -> None:
    """Otherwise the client under test would swallow it as one more failure of the service."""
    server = ModelServer(script)
    for _ in range(2):
        with suppress(httpx.HTTPError):
            httpx.post(f"{server.url}/api/chat", json={"model": "stub", "messages": [], "stream": False})
    with pytest.raises((AssertionError, KeyError, ZeroDivisionError)):
        server.close()
