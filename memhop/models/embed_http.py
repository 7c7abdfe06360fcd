"""Embedders behind HTTP: Ollama's own API, and anything that speaks OpenAI's.

Constructing one opens no socket and imports no client. Each failure of a service (time-out, refusal, status,
HTML, half JSON, a wrong number of vectors, another dimension, a reply without end) is an EmbedderError whose one
line says why, with `retryable` and `retry_after_s` for the queue that will try again.

A call ends: each request within about three times `timeout`, at most `retries` of them more, pauses of at most 5 s.
With `query=True` somebody is waiting, so nothing is retried but one dropped connection.
"""

from __future__ import annotations

from typing import Any

from memhop.models import http
from memhop.models.connections import JsonConnection, OpenAIConnection
from memhop.models.embed_remote import RemoteEmbedder
from memhop.models.http import Failure

_BYTES_PER_TEXT = 256 * 1024  # a vector of 8,192 numbers written out in JSON
_BYTES_PER_REPLY = 64 * 1024


class OllamaEmbedder(RemoteEmbedder):
    """POST /api/embed of an Ollama server.

    Args:
        url: Where the server listens.
        model: As `ollama list` names it.
        timeout: Seconds for connecting, sending and each wait for bytes; and for the whole body.
        retries: Further tries of a request which failed for a passing reason, 0..5.
        query_prefix, passage_prefix: Put before each question or stored text, for models that want one.

    Raises:
        InvalidRequest: an argument out of range.
        ConfigError: httpx is not installed.
    """

    def __init__(
        self,
        url: str,
        model: str,
        timeout: float = 20.0,
        retries: int = 2,
        query_prefix: str = "",
        passage_prefix: str = "",
    ) -> None:
        url = http.check_url(url, field="url")
        super().__init__(
            "ollama",
            model,
            http.host_of(url),
            query_model=None,
            dimensions=None,
            timeout=timeout,
            retries=retries,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
        )
        self._connection = JsonConnection(url, timeout=timeout, limit_bytes=_limit_bytes(self.max_batch))

    def close(self) -> None:
        """Close the connections. The next `embed` opens new ones."""
        self._connection.close()

    def _ask(self, texts: list[str], model: str) -> list[object]:
        reply = self._connection.post("/api/embed", {"model": model, "input": texts, "truncate": True})
        vectors = reply.get("embeddings") if isinstance(reply, dict) else None
        if not isinstance(vectors, list):
            raise Failure(f"{self._host} answered without a list `embeddings`", retryable=False)
        return vectors


class OpenAIEmbedder(RemoteEmbedder):
    """POST /embeddings of OpenAI, or of a server that speaks its API, through the `openai` client.

    The environment is not read: without `base_url` the key has to be given, and a key meant for OpenAI is never
    sent elsewhere by accident.

    Args:
        model: Name of the model for stored texts, and for questions too unless `query_model` is given.
        base_url: Up to and with "/v1". None: OpenAI itself.
        api_key: None: for a server that wants none.
        dimensions: Ask for vectors of this size. None: what the model gives.
        timeout, retries, query_prefix, passage_prefix: As for `OllamaEmbedder`.
        query_model: For services which tell questions from stored texts by the name of the model.
        http_client: An httpx client of the caller's, for proxies or certificates; it stays the caller's to close,
            and its replies are checked for size only once they have been read.

    Raises:
        InvalidRequest: an argument out of range.
        ConfigError: openai is not installed, or no key for OpenAI itself.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        timeout: float = 20.0,
        retries: int = 2,
        query_prefix: str = "",
        passage_prefix: str = "",
        query_model: str | None = None,
        http_client: Any = None,
    ) -> None:
        self._connection = OpenAIConnection(
            base_url,
            api_key,
            timeout=timeout,
            limit_bytes=_limit_bytes(self.max_batch),
            http_client=http_client,
        )
        super().__init__(
            "openai",
            model,
            self._connection.host,
            query_model=query_model,
            dimensions=dimensions,
            timeout=timeout,
            retries=retries,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
        )
        self._requested = dimensions

    def close(self) -> None:
        """Close the connections, save those of a client that was given. The next `embed` opens new ones."""
        self._connection.close()

    def _ask(self, texts: list[str], model: str) -> list[object]:
        options: dict[str, Any] = {} if self._requested is None else {"dimensions": self._requested}
        reply = self._connection.exchange(
            lambda client: client.embeddings.with_raw_response.create(
                input=texts, model=model, encoding_format="base64", **options
            )
        )
        items = reply.get("data") if isinstance(reply, dict) else None
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise Failure(f"{self._host} answered without a list of objects `data`", retryable=False)
        return _in_order(self._host, items)


def _limit_bytes(texts: int) -> int:
    return _BYTES_PER_REPLY + texts * _BYTES_PER_TEXT


def _in_order(host: str, items: list[dict[str, object]]) -> list[object]:
    """The vectors by their `index`; in the order they came where no item has one."""
    if not any("index" in item for item in items):
        return [item.get("embedding") for item in items]
    placed = {index: item.get("embedding") for item in items if type(index := item.get("index")) is int}
    if sorted(placed) != list(range(len(items))):
        raise Failure(f"{host} answered with vectors that cannot be told apart", retryable=False)
    return [placed[at] for at in range(len(items))]
