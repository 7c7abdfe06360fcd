"""What chat models behind HTTP have in common: redaction, retries, falling back to what a service takes, distrust.

The services themselves are in `chat_openai` and `chat_ollama`; this module only asks them for a reply and judges it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from memhop.common.config import check_choice, check_int
from memhop.common.errors import ChatError, InvalidRequest
from memhop.models import http
from memhop.models.chat import Reply, count_of
from memhop.models.http import Failure

LIMIT_BYTES = 4 * 1024 * 1024  # of a reply: more than any sensible number of tokens written out in JSON
MAX_TOKENS = 1_000_000
_CUT = frozenset({"length", "max_tokens"})
_FILTERED = frozenset({"content_filter", "safety"})

Redact = Callable[[str], str]
Messages = Sequence[Mapping[str, str]]


class Dialect(NamedTuple):
    """What of a request a service takes. Starts with the most, and becomes less where a service objects.

    Attributes:
        form: How the shape of the reply is asked for: "schema", "object" (some JSON object), "none".
        limit: The name of the parameter for the most tokens of the reply.
        tempered: Whether the temperature is sent.
    """

    form: str
    limit: str
    tempered: bool = True


class RemoteChat:
    """Base of the chat models behind HTTP. A subclass knows one API: `_send`, `_parse` and `close`."""

    def __init__(
        self,
        model: str,
        host: str,
        *,
        timeout: float,
        retries: int,
        temperature: float,
        structured: str,
        redact: Redact | None,
        limit: str = "max_tokens",
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise InvalidRequest("blank or no str", field="model", allowed="the name of a model")
        http.check_limits(timeout, retries)
        number = isinstance(temperature, int | float) and not isinstance(temperature, bool)
        if not number or not 0 <= temperature <= 2:
            raise InvalidRequest(f"{temperature!r} is no temperature", field="temperature", allowed="0..2")
        check_choice(structured, field="structured", choices=("auto", "schema", "object", "none"))
        if redact is not None and not callable(redact):
            raise InvalidRequest(f"a {type(redact).__name__} cannot be called", field="redact", allowed="str -> str")
        self.name = model
        self._host = host
        self._retries = retries
        self._temperature = float(temperature)
        self._redact = redact
        self._yielding = structured == "auto"
        self._dialect = Dialect("schema" if self._yielding else structured, limit)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.name!r}, host={self._host!r})"

    def complete(self, system: str, user: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        """See `ChatModel.complete`. A call ends: each request within about three times `timeout`, at most `retries` of
        them more, pauses of at most 5 s. A service that says it does not know the schema, the name of the token limit
        or the temperature is asked again without, and from then on so.

        Raises:
            ChatError: no reply, one that was cut off at `max_tokens` or withheld, or `redact` failed; then nothing was
                sent.
        """
        check_int(max_tokens, field="max_tokens", low=1, high=MAX_TOKENS)
        messages = [
            {"role": "system", "content": self._outgoing(system)},
            {"role": "user", "content": self._outgoing(user)},
        ]
        try:
            return http.retrying(
                lambda: self._asked(messages, max_tokens, schema), retries=self._retries, waiting=False
            )
        except Failure as failure:
            # `from None`: the clients' own exceptions hold requests, and requests hold keys.
            raise ChatError(
                failure.reason,
                retryable=failure.retryable,
                retry_after_s=failure.retry_after_s,
                # A service that fails within is broken more often than it dislikes one prompt.
                about_content=failure.about_content and failure.status != 500,
            ) from None

    def close(self) -> None:
        """Close the connections. The next `complete` opens new ones."""
        raise NotImplementedError

    def _outgoing(self, text: str) -> str:
        if not isinstance(text, str):
            raise InvalidRequest("no text", field="system, user", allowed="a str")
        if self._redact is None:
            return http.sendable(text)
        try:
            redacted: object = self._redact(text)
        except Exception as error:
            # Neither its message nor the exception: both may hold what was to be kept back.
            kind = type(error).__name__
            raise ChatError(f"redact failed with {kind}; nothing was sent", retryable=False) from None
        if not isinstance(redacted, str):
            kind = type(redacted).__name__
            raise ChatError(f"redact gave a {kind} and no str; nothing was sent", retryable=False)
        return http.sendable(redacted)

    def _asked(self, messages: Messages, max_tokens: int, schema: Mapping[str, Any] | None) -> Reply:
        dialect = self._dialect
        while True:
            try:
                answer = self._send(messages, max_tokens, schema, dialect)
            except Failure as failure:
                simpler = self._simpler(dialect, failure)
                if simpler is None:
                    raise
                dialect = simpler
                continue
            self._dialect = dialect
            return self._parse(answer, max_tokens)

    def _simpler(self, dialect: Dialect, failure: Failure) -> Dialect | None:
        """The dialect without what the service objects to. None: it objects to something else. At most four steps."""
        if failure.status not in (400, 422):
            return None
        said = failure.said.lower()
        if self._yielding and dialect.form != "none" and any(word in said for word in ("format", "schema", "grammar")):
            return dialect._replace(form="object" if dialect.form == "schema" else "none")
        if dialect.limit == "max_tokens" and any(word in said for word in ("max_tokens", "max_completion_tokens")):
            return dialect._replace(limit="max_completion_tokens")
        if dialect.tempered and "temperature" in said:
            return dialect._replace(tempered=False)
        return None

    def _send(self, messages: Messages, max_tokens: int, schema: Mapping[str, Any] | None, dialect: Dialect) -> object:
        """One request: the JSON of the answer. Raises Failure."""
        raise NotImplementedError

    def _parse(self, answer: object, max_tokens: int) -> Reply:
        """The reply within the answer, through `_judged`. Raises Failure or ChatError."""
        raise NotImplementedError

    def _judged(self, text: object, finish: object, prompt: object, completion: object, max_tokens: int) -> Reply:
        """The reply, if it is one and whole.

        Raises:
            ChatError: cut off, withheld, or without text; says how many tokens that took.
        """
        counts = (count_of(prompt), count_of(completion))
        finish = finish if isinstance(finish, str) else ""
        if finish in _CUT:
            self._useless(f"the reply of {self.name} was cut off at {max_tokens} tokens", counts)
        if finish in _FILTERED:
            self._useless(f"{self._host} withheld the reply of {self.name}: {finish}", counts)
        if not isinstance(text, str) or not text.strip():
            self._useless(f"{self.name} replied without text{finish and f' ({finish})'}", counts)
        return Reply(http.sendable(text), *counts)

    def _useless(self, reason: str, counts: tuple[int, int]) -> NoReturn:
        raise ChatError(http.plain(reason), retryable=False, about_content=True, tokens=sum(counts))
