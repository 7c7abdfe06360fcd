"""Chat with a server of Ollama's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memhop.common.config import check_int
from memhop.models import http
from memhop.models.chat import Reply
from memhop.models.chat_remote import LIMIT_BYTES, Dialect, Messages, Redact, RemoteChat
from memhop.models.connections import JsonConnection
from memhop.models.http import Failure


class OllamaChat(RemoteChat):
    """POST /api/chat. Constructing opens no socket and imports no client.

    Args:
        url: Where the server listens.
        model: As `ollama list` names it.
        context: Tokens of prompt and reply together that the server makes room for (`num_ctx`), 512..1,000,000; its
            memory grows with it. The server shortens a longer prompt without a word, hence this is not left to its own
            default, and is no smaller than what a `Budget` allows a call.
        timeout, retries, temperature, structured, redact: As for `OpenAIChat`. A model on the own machine is slow,
            hence the longer time.

    Raises:
        InvalidRequest: an argument out of range.
        ConfigError: httpx is not installed.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        context: int = 16_384,
        timeout: float = 300.0,
        retries: int = 2,
        temperature: float = 0.0,
        structured: str = "auto",
        redact: Redact | None = None,
    ) -> None:
        url = http.check_url(url, field="url")
        super().__init__(
            model,
            http.host_of(url),
            timeout=timeout,
            retries=retries,
            temperature=temperature,
            structured=structured,
            redact=redact,
            limit="num_predict",
        )
        self._context = check_int(context, field="context", low=512, high=1_000_000)
        self._connection = JsonConnection(url, timeout=timeout, limit_bytes=LIMIT_BYTES)

    def close(self) -> None:
        """Close the connections. The next `complete` opens new ones."""
        self._connection.close()

    def _send(self, messages: Messages, max_tokens: int, schema: Mapping[str, Any] | None, dialect: Dialect) -> object:
        options: dict[str, float] = {dialect.limit: max_tokens, "num_ctx": self._context}
        if dialect.tempered:
            options["temperature"] = self._temperature
        body: dict[str, Any] = {"model": self.name, "messages": messages, "stream": False, "options": options}
        if schema is not None and dialect.form != "none":
            body["format"] = schema if dialect.form == "schema" else "json"
        return self._connection.post("/api/chat", body)

    def _parse(self, answer: object, max_tokens: int) -> Reply:
        message = answer.get("message") if isinstance(answer, dict) else None
        if not isinstance(answer, dict) or not isinstance(message, dict):
            raise Failure(f"{self._host} answered without a `message`", retryable=False)
        return self._judged(
            message.get("content"),
            answer.get("done_reason"),
            answer.get("prompt_eval_count"),
            answer.get("eval_count"),
            max_tokens,
        )
