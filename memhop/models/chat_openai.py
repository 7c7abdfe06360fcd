"""Chat with OpenAI, or with any service that speaks its API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memhop.models.chat import Reply
from memhop.models.chat_remote import LIMIT_BYTES, Dialect, Messages, Redact, RemoteChat
from memhop.models.connections import OpenAIConnection
from memhop.models.http import Failure, error_text, plain


class OpenAIChat(RemoteChat):
    """POST /chat/completions, through the `openai` client. Constructing opens no socket and imports no client.

    The environment is not read: without `base_url` the key has to be given, and a key meant for OpenAI is never sent
    elsewhere by accident.

    Args:
        model: Its name at the service.
        base_url: All of the URL before "/chat/completions", mostly ending in "/v1". None: OpenAI itself.
        api_key: None: for a server that wants none.
        timeout: Seconds for connecting, sending and each wait for bytes; and for the whole body. A service sends
            nothing before the reply is finished.
        retries: Further tries of a request which failed for a passing reason, 0..5.
        temperature: 0..2. Sent as it is, 0 too, unless the service says that the model takes none.
        structured: How the shape of the reply is asked for: "schema" (JSON schema), "object" (JSON mode), "none" (by
            the prompt alone). "auto": the first of these that the service takes.
        redact: Called with each message, returns what is sent instead. If it raises, nothing is sent.
        http_client: An httpx client of the caller's, for proxies or certificates; it stays the caller's to close, and
            its replies are checked for size only once they have been read.

    Raises:
        InvalidRequest: an argument out of range.
        ConfigError: openai is not installed.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 2,
        temperature: float = 0.0,
        structured: str = "auto",
        redact: Redact | None = None,
        http_client: Any = None,
    ) -> None:
        self._connection = OpenAIConnection(
            base_url, api_key, timeout=timeout, limit_bytes=LIMIT_BYTES, http_client=http_client
        )
        super().__init__(
            model,
            self._connection.host,
            timeout=timeout,
            retries=retries,
            temperature=temperature,
            structured=structured,
            redact=redact,
        )

    def close(self) -> None:
        """Close the connections, save those of a client that was given. The next `complete` opens new ones."""
        self._connection.close()

    def _send(self, messages: Messages, max_tokens: int, schema: Mapping[str, Any] | None, dialect: Dialect) -> object:
        options: dict[str, Any] = {dialect.limit: max_tokens}
        if dialect.tempered:
            options["temperature"] = self._temperature
        if schema is not None and dialect.form == "schema":
            named = {"name": "reply", "schema": schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema is not None and dialect.form == "object":
            options["response_format"] = {"type": "json_object"}
        sent: Any = messages
        return self._connection.exchange(
            lambda client: client.chat.completions.with_raw_response.create(model=self.name, messages=sent, **options)
        )

    def _parse(self, answer: object, max_tokens: int) -> Reply:
        choices = answer.get("choices") if isinstance(answer, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(answer, dict) or not isinstance(choice, dict) or not isinstance(message, dict):
            # Gateways answer 200 for what went wrong behind them.
            said = plain(error_text(answer))
            raise Failure(f"{self._host} answered {said or 'without a list `choices`'}", retryable=bool(said))
        finish = choice.get("finish_reason")
        if message.get("refusal"):
            finish = "content_filter"
        usage = answer.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        return self._judged(
            _text(message.get("content")),
            finish,
            counts.get("prompt_tokens"),
            counts.get("completion_tokens"),
            max_tokens,
        )


def _text(content: object) -> object:
    """Some services write the text in parts, the thoughts in parts of another type."""
    if not isinstance(content, list):
        return content
    parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(part for part in parts if isinstance(part, str))
