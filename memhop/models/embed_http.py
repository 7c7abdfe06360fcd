"""Embedders behind HTTP: Ollama's own API, and anything that speaks OpenAI's.

Constructing one opens no socket and imports no client. Each failure of a service (time-out, refusal, status,
HTML, half JSON, a wrong number of vectors, another dimension, a reply without end) is an EmbedderError whose one
line says why, with `retryable` and `retry_after_s` for the queue that will try again.

A call ends: each request within about twice `timeout`, at most `retries` of them more, pauses of at most 5 s.
With `query=True` somebody is waiting, so nothing is retried but one dropped connection.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from memhop.common.errors import InvalidRequest
from memhop.models import http
from memhop.models.embed_remote import RemoteEmbedder
from memhop.models.http import Failure

if TYPE_CHECKING:
    import httpx
    import openai

_BYTES_PER_TEXT = 256 * 1024  # a vector of 8,192 numbers written out in JSON
_BYTES_PER_REPLY = 64 * 1024
_OPENAI_URL = "https://api.openai.com/v1"


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
        super().__init__(
            "ollama",
            model,
            http.check_url(url, field="url"),
            query_model=None,
            dimensions=None,
            timeout=timeout,
            retries=retries,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
        )
        http.need("httpx", "llm")
        self._client: httpx.Client | None = None

    def close(self) -> None:
        """Close the connections. The next `embed` opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _ask(self, texts: list[str], model: str) -> list[object]:
        import httpx

        try:
            response = self._connected().post(
                f"{self._url}/api/embed", json={"model": model, "input": texts, "truncate": True}
            )
        except httpx.TimeoutException:
            raise _timed_out(self._host, self._timeout) from None
        except (httpx.HTTPError, RuntimeError) as error:  # RuntimeError: `close` came from another thread
            raise _unreachable(self._host, error) from None
        if response.status_code != 200:
            raise http.status_failure(self._host, response.status_code, response.headers, response.content)
        reply = http.load_json(self._host, response.content)
        vectors = reply.get("embeddings") if isinstance(reply, dict) else None
        if not isinstance(vectors, list):
            raise Failure(f"{self._host} answered without a list `embeddings`", retryable=False)
        return vectors

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = http.open_client(
                    self._url, timeout=self._timeout, limit_bytes=_limit_bytes(self.max_batch)
                )
                weakref.finalize(self, self._client.close)
            return self._client


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
        sound = isinstance(api_key, str) and api_key.strip() and api_key.isascii() and api_key.isprintable()
        if api_key is not None and not sound:
            raise InvalidRequest("this is no key", field="api_key", allowed="printable ASCII, or None")
        if base_url is None and api_key is None:
            raise InvalidRequest(
                "OpenAI wants a key", field="api_key", allowed="a key, or None together with `base_url`"
            )
        super().__init__(
            "openai",
            model,
            http.check_url(_OPENAI_URL if base_url is None else base_url, field="base_url"),
            query_model=query_model,
            dimensions=dimensions,
            timeout=timeout,
            retries=retries,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
        )
        http.need("openai", "llm")
        http.need("httpx", "llm")
        self._api_key = api_key
        self._requested = dimensions
        self._given_client = http_client
        self._client: openai.OpenAI | None = None
        self._own_client: httpx.Client | None = None

    def close(self) -> None:
        """Close the connections, save those of a client that was given. The next `embed` opens new ones."""
        with self._lock:
            own, self._own_client, self._client = self._own_client, None, None
        if own is not None:
            own.close()

    def _ask(self, texts: list[str], model: str) -> list[object]:
        import openai

        options: dict[str, Any] = {} if self._requested is None else {"dimensions": self._requested}
        try:
            response = self._connected().embeddings.with_raw_response.create(
                input=texts, model=model, encoding_format="base64", **options
            )
            body = response.http_response.content
        except openai.APITimeoutError:
            raise _timed_out(self._host, self._timeout) from None
        except openai.APIStatusError as error:
            raise http.status_failure(
                self._host,
                error.status_code,
                error.response.headers,
                error.response.content,
                secret=self._api_key,
            ) from None
        except (openai.OpenAIError, RuntimeError) as error:  # RuntimeError: `close` came from another thread
            cause = error.__cause__
            raise (cause if isinstance(cause, Failure) else _unreachable(self._host, cause or error)) from None
        if response.http_response.status_code != 200:
            raise http.status_failure(
                self._host, response.http_response.status_code, response.http_response.headers, b""
            )
        if len(body) > _limit_bytes(self.max_batch):
            raise Failure(f"the reply is longer than {_limit_bytes(self.max_batch)} bytes", retryable=False)
        reply = http.load_json(self._host, body)
        items = reply.get("data") if isinstance(reply, dict) else None
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise Failure(f"{self._host} answered without a list of objects `data`", retryable=False)
        return _in_order(self._host, items)

    def _connected(self) -> openai.OpenAI:
        import openai

        with self._lock:
            if self._client is None:
                client = self._given_client
                if client is None:
                    client = self._own_client = http.open_client(
                        self._url, timeout=self._timeout, limit_bytes=_limit_bytes(self.max_batch)
                    )
                    weakref.finalize(self, self._own_client.close)
                self._client = openai.OpenAI(
                    api_key=self._api_key or "none",
                    base_url=self._url,
                    timeout=self._timeout,
                    max_retries=0,
                    http_client=client,
                )
            return self._client


def _limit_bytes(texts: int) -> int:
    return _BYTES_PER_REPLY + texts * _BYTES_PER_TEXT


def _timed_out(host: str, timeout: float) -> Failure:
    return Failure(f"{host} did not answer within {timeout:g} s", retryable=True)


def _unreachable(host: str, error: BaseException) -> Failure:
    return Failure(f"{host} cannot be reached: {type(error).__name__}", retryable=True, dropped=True)


def _in_order(host: str, items: list[dict[str, object]]) -> list[object]:
    """The vectors by their `index`; in the order they came where no item has one."""
    if not any("index" in item for item in items):
        return [item.get("embedding") for item in items]
    placed = {index: item.get("embedding") for item in items if type(index := item.get("index")) is int}
    if sorted(placed) != list(range(len(items))):
        raise Failure(f"{host} answered with vectors that cannot be told apart", retryable=False)
    return [placed[at] for at in range(len(items))]
