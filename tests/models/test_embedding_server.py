"""The stand-in service itself, judged by the official client's own parser and by the shapes of Ollama's API."""

from __future__ import annotations

import httpx
import openai
import pytest

from tests.support.embedding_server import EmbeddingServer


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_the_official_client_understands_it(encoding: str) -> None:
    with EmbeddingServer(dim=3) as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key="x") as client:
        reply = (
            client.embeddings.create(input=["one", "two"], model="m")  # asks for base64 by itself
            if encoding == "base64"
            else client.embeddings.create(input=["one", "two"], model="m", encoding_format="float")
        )
        by_index = {item.index: item.embedding for item in reply.data}
        assert by_index == {0: server.vector("one"), 1: server.vector("two")}


def test_it_lists_its_models() -> None:
    with EmbeddingServer() as server:
        assert [m["name"] for m in httpx.get(f"{server.url}/api/tags").json()["models"]] == ["m"]
        assert httpx.get(f"{server.url}/api/chat").status_code == 404
