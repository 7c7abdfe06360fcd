"""Two ways to a model service: JSON posted with httpx, and the official `openai` client.

Neither opens a socket or imports a client before the first exchange. An exchange ends, whatever the other side does:
each wait for bytes after `timeout` seconds, the body after as many, and all of it after twice that and the time to
connect. What goes wrong is a Failure. Safe to use from several threads.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from memhop.common.errors import InvalidRequest
from memhop.models import http
from memhop.models.http import Failure

if TYPE_CHECKING:
    import httpx
    import openai

OPENAI_URL = "https://api.openai.com/v1"


class JsonConnection:
    """Posts JSON and takes JSON.

    Args:
        url: Where the service listens; it has been checked.
        timeout: Seconds, see above.
        limit_bytes: Longest body of a reply.
    """

    def __init__(self, url: str, *, timeout: float, limit_bytes: int) -> None:
        http.need("httpx", "llm")
        self.host = http.host_of(url)
        self._url = url
        self._timeout = timeout
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._own: httpx.Client | None = None

    def post(self, path: str, body: Any) -> object:
        """The JSON that the service answers with.

        Raises:
            Failure: any other outcome.
        """
        import httpx

        client = self._opened()
        with _Deadline(self._timeout, self.close) as deadline:
            try:
                response = client.post(self._url + path, json=body)
            except httpx.TimeoutException:
                raise self._timed_out() from None
            except (httpx.HTTPError, RuntimeError, ValueError) as error:  # the last two: closed by another thread
                raise self._timed_out() if deadline.passed else self._unreachable(error) from None
        if response.status_code != 200:
            raise http.status_failure(self.host, response.status_code, response.headers, response.content)
        return http.load_json(self.host, response.content)

    def close(self) -> None:
        """Close the connections. The next exchange opens new ones."""
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            own.close()

    def _opened(self) -> httpx.Client:
        with self._lock:
            if self._own is None:
                self._own = http.open_client(self._url, timeout=self._timeout, limit_bytes=self._limit_bytes)
                weakref.finalize(self, self._own.close)
            return self._own

    def _timed_out(self) -> Failure:
        return Failure(f"{self.host} did not answer within {self._timeout:g} s", retryable=True)

    def _unreachable(self, error: BaseException) -> Failure:
        return Failure(f"{self.host} cannot be reached: {type(error).__name__}", retryable=True, dropped=True)


class OpenAIConnection(JsonConnection):
    """The `openai` client, its own retries off. The environment is not read for keys.

    Args:
        base_url: Up to and with "/v1", where the service has it. None: OpenAI itself.
        api_key: None: for a service that wants none.
        timeout, limit_bytes: As for `JsonConnection`.
        http_client: An httpx client of the caller's, for proxies or certificates; it stays the caller's to close, its
            replies are checked for size only once they have been read, and only its own time limits hold for all of an
            exchange.

    Raises:
        InvalidRequest: an argument does not do, or OpenAI itself is asked without a key.
        ConfigError: openai is not installed.
    """

    def __init__(
        self, base_url: str | None, api_key: str | None, *, timeout: float, limit_bytes: int, http_client: Any = None
    ) -> None:
        sound = isinstance(api_key, str) and api_key.strip() and api_key.isascii() and api_key.isprintable()
        if api_key is not None and not sound:
            raise InvalidRequest("this is no key", field="api_key", allowed="printable ASCII, or None")
        if base_url is None and api_key is None:
            raise InvalidRequest(
                "OpenAI wants a key", field="api_key", allowed="a key, or None together with `base_url`"
            )
        url = http.check_url(OPENAI_URL if base_url is None else base_url, field="base_url")
        super().__init__(url, timeout=timeout, limit_bytes=limit_bytes)
        http.need("openai", "llm")
        self._api_key = api_key
        self._given = http_client

    def exchange(self, send: Callable[[openai.OpenAI], Any]) -> object:
        """The JSON that the service answers with.

        Args:
            send: Sends one request and returns the raw response (`with_raw_response`).

        Raises:
            Failure: any other outcome.
        """
        import openai

        client: Any = self._given if self._given is not None else self._opened()
        service = openai.OpenAI(
            api_key=self._api_key or "none",
            base_url=self._url,
            timeout=self._timeout,
            max_retries=0,
            http_client=client,
        )
        with _Deadline(self._timeout, self.close) as deadline:
            try:
                response = send(service).http_response
                status, headers, body = response.status_code, response.headers, response.content
            except openai.APITimeoutError:
                raise self._timed_out() from None
            except openai.APIStatusError as error:
                status, headers, body = error.status_code, error.response.headers, error.response.content
            except (openai.OpenAIError, RuntimeError, ValueError) as error:  # as above
                cause = error.__cause__
                if isinstance(cause, Failure):
                    raise cause from None
                raise self._timed_out() if deadline.passed else self._unreachable(cause or error) from None
        if status != 200:
            raise http.status_failure(self.host, status, headers, body, secret=self._api_key)
        if len(body) > self._limit_bytes:
            raise Failure(f"the reply is longer than {self._limit_bytes} bytes", retryable=False)
        return http.load_json(self.host, body)


class _Deadline:
    """Hangs up on a service that keeps an exchange going, such as by headers that come byte by byte.

    The time limits of httpx hold for each wait for bytes; nothing in it limits their number. Closing the client breaks
    the exchanges of other threads, too; they are tried again like any dropped connection.
    """

    def __init__(self, timeout: float, close: Callable[[], None]) -> None:
        self.passed = False
        self._close = close
        self._timer = threading.Timer(2 * timeout + min(timeout, http.CONNECT_S), self._hang_up)
        self._timer.daemon = True

    def _hang_up(self) -> None:
        self.passed = True
        self._close()

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
