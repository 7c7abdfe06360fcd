"""The four tasks with real clients and a service on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from memhop import OllamaChat, OpenAIChat
from memhop.common.errors import ChatError
from tests.models.test_tasks import GOOD, TASKS
from tests.support import model_server as wire
from tests.support.model_server import ModelServer, model_server
from tests.support.scripted_chat import ScriptedChat

pytest.importorskip("openai", reason="the extra `llm` is not installed")
CLIENTS: dict[str, Callable[[ModelServer], OpenAIChat | OllamaChat]] = {
    "openai": lambda server: OpenAIChat("stub", base_url=server.url, timeout=5, retries=0),
    "ollama": lambda server: OllamaChat(server.url, "stub", timeout=5, retries=0),
}
every_client = pytest.mark.parametrize("client", CLIENTS)
every_task = pytest.mark.parametrize("task", TASKS)


@contextmanager
def chatting(client: str, script: wire.Script) -> Iterator[OpenAIChat | OllamaChat]:
    with model_server(script) as server:
        chat = CLIENTS[client](server)
        try:
            yield chat
        finally:
            chat.close()


@every_client
@every_task
def test_an_answer_arrives(client: str, task: str) -> None:
    answer = GOOD[task]
    assert isinstance(answer, dict)
    with chatting(client, answer) as chat:
        found = TASKS[task](chat)
    assert found.value
    assert found == TASKS[task](ScriptedChat(answer))


@every_client
@every_task
def test_an_answer_that_was_cut_off_is_counted(client: str, task: str) -> None:
    with chatting(client, wire.Said('{"items": [{"id": "m1"', finish="length")) as chat:
        assert TASKS[task](chat).refused == {"unusable reply": 1}


@every_client
@every_task
@pytest.mark.parametrize(
    "fault", [wire.status(500), wire.status(429), wire.closed, wire.html], ids=["500", "429", "closed", "HTML"]
)
def test_a_service_that_fails_is_an_error(client: str, task: str, fault: wire.Fault) -> None:
    with chatting(client, fault) as chat, pytest.raises(ChatError):
        TASKS[task](chat)
