"""One polite, bounded conversation with a model service: time, size and number of tries all end somewhere.

Whatever goes wrong becomes a `Failure`, which the clients turn into the error of their own kind. Nothing here
opens a socket by being imported or constructed, and no key, password or header ever enters a message.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from memhop.common.errors import ConfigError, InvalidRequest

if TYPE_CHECKING:
    import httpx

MAX_WAIT_S = 5.0  # a service asking for a longer pause is left alone; the caller's queue comes back later
MAX_RETRY_AFTER_S = 3600.0
MAX_RETRIES = 5
_BACKOFF_S = 0.1  # 0.1, 0.4, 1.6 ... seconds between tries
CONNECT_S = 5.0
_CHUNK_BYTES = 65_536
_LONGEST_REASON = 200
_LONGEST_SAID = 4_000
_HOST = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?|[0-9A-Fa-f:.]+")
# Statuses that may be about one text of a batch rather than about the service.
_ABOUT_CONTENT = frozenset({400, 413, 422, 500})
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})

Reply = TypeVar("Reply")


class Failure(Exception):
    """Why a service gave no usable reply. Never leaves `models`.

    Attributes:
        reason: One line, printable, without secrets.
        retryable: Whether the same request may succeed later.
        retry_after_s: The pause the service asked for, 0..3600 seconds. None: it named none.
        dropped: The connection broke before a reply, as a kept-alive one does after a restart of the service.
        about_content: The service may have disliked one text rather than the whole request.
        status: The HTTP status it answered with, if it is the status that was wrong.
        said: The start of the body that came with the status, as it is: for reading, never for showing.
    """

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool,
        retry_after_s: float | None = None,
        dropped: bool = False,
        about_content: bool = False,
        status: int | None = None,
        said: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.dropped = dropped
        self.about_content = about_content
        self.status = status
        self.said = said


def check_url(url: str, *, field: str) -> str:
    """The URL without a trailing slash.

    Raises:
        InvalidRequest: no http(s) URL of an ASCII host; or one with a password, which would end up in logs.
    """
    allowed = "a URL such as http://127.0.0.1:11434, without user name and password"
    if not isinstance(url, str):
        raise InvalidRequest(f"a {type(url).__name__} is no URL", field=field, allowed=allowed)
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.port != 0 and "@" not in parts.netloc
        usable = usable and _HOST.fullmatch(parts.hostname or "") is not None and url.isprintable()
    except ValueError:
        usable = False
    if not usable:
        # The value is not shown: a mistyped URL may carry a password.
        raise InvalidRequest("this is no http or https URL", field=field, allowed=allowed)
    return url.rstrip("/")


def check_limits(timeout: float, retries: int) -> None:
    """Raise InvalidRequest unless 0 < timeout <= 3600 seconds and 0 <= retries <= 5."""
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not 0 < timeout <= 3600:
        raise InvalidRequest(f"{timeout!r} is no time limit", field="timeout", allowed="seconds, above 0, at most 3600")
    if not isinstance(retries, int) or isinstance(retries, bool) or not 0 <= retries <= MAX_RETRIES:
        raise InvalidRequest(f"{retries!r} is no number of retries", field="retries", allowed=f"0..{MAX_RETRIES}")


def need(package: str, extra: str) -> None:
    """Say early, without importing it, that an optional package is missing.

    Raises:
        ConfigError: `package` is not installed.
    """
    if find_spec(package) is None:
        raise ConfigError(f"{package} is not installed", hint=f"pip install 'memhop[{extra}]'")


def host_of(url: str) -> str:
    """Host and port, for messages."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else str(parts.hostname)
    return host if parts.port is None else f"{host}:{parts.port}"


def open_client(url: str, *, timeout: float, limit_bytes: int) -> httpx.Client:
    """An httpx client whose replies end after `limit_bytes` or `timeout` seconds of body, whichever is first.

    Redirects are not followed. Proxies of the environment are used, save for this machine itself, where a proxy
    could only be in the way.
    """
    import httpx

    class BoundedBody(httpx.SyncByteStream):
        """Raises Failure in the middle of a body which is too long or too slow, so that it is never kept."""

        def __init__(self, body: httpx.SyncByteStream) -> None:
            self._body = body

        def __iter__(self) -> Iterator[bytes]:
            end = time.monotonic() + timeout
            size = 0
            for chunk in self._body:
                size += len(chunk)
                if size > limit_bytes:
                    raise Failure(f"the reply is longer than {limit_bytes} bytes", retryable=False)
                if time.monotonic() > end:
                    raise Failure(f"the reply took longer than {timeout:g} s", retryable=True)
                yield chunk

        def close(self) -> None:
            self._body.close()

    def bound(response: httpx.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            # A small compressed body may unpack into any size; it was asked not to be compressed.
            response.close()
            raise Failure("the reply is compressed, which was not asked for", retryable=False)
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = BoundedBody(response.stream)

    return httpx.Client(
        timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_S)),
        event_hooks={"response": [bound]},
        headers={"accept-encoding": "identity", "user-agent": "memhop"},
        trust_env=urlsplit(url).hostname not in ("localhost", "127.0.0.1", "::1"),
        follow_redirects=False,
    )


def retrying(attempt: Callable[[], Reply], *, retries: int, waiting: bool) -> Reply:
    """Run `attempt` until it succeeds, at most `retries` times more, pausing in between.

    Args:
        attempt: Raises Failure when it did not work out.
        retries: Further tries after the first.
        waiting: Somebody waits for the answer: no pauses, and only a dropped connection is tried again, once.

    Raises:
        Failure: the last one, or the first that is not worth another try.
    """
    for done in range(retries + 1):
        try:
            return attempt()
        except Failure as failure:
            pause = failure.retry_after_s if failure.retry_after_s is not None else _BACKOFF_S * 4.0**done
            impatient = waiting and (done > 0 or not failure.dropped)
            if not failure.retryable or impatient or done == retries or pause > MAX_WAIT_S:
                raise
        if not waiting:
            time.sleep(pause)
    raise AssertionError("unreachable: the last try returns or raises")


def status_failure(
    host: str, status: int, headers: Mapping[str, str], body: bytes, *, secret: str | None = None
) -> Failure:
    """The Failure for a reply whose status is not 200. `secret` is struck out should the service repeat it."""
    # What a service says about a refused key may contain parts of the key.
    said = "" if status in (401, 403) else _body_text(body)
    if secret:
        said = said.replace(secret, "***")
    return Failure(
        plain(f"{host} answered {status}{': ' if said else ''}{said}"),
        retryable=status in _PASSING,
        retry_after_s=_retry_after(headers),
        about_content=status in _ABOUT_CONTENT,
        status=status,
        said=body[:_LONGEST_SAID].decode("utf-8", "replace"),
    )


def load_json(host: str, body: bytes) -> object:
    """Parse a reply. NaN and Infinity come through as floats: whether a number is usable is judged per vector.

    Raises:
        Failure: not JSON; retryable, because half a reply is mostly a broken connection.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        start = plain(body[:40].decode("utf-8", "replace"))
        raise Failure(f"{host} answered with something that is not JSON: {start!r}", retryable=True) from None


def plain(text: str) -> str:
    """One printable line of at most 200 characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: _LONGEST_REASON * 4]).split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "..."


def sendable(text: str) -> str:
    """Half a surrogate pair is legal in a str and illegal in UTF-8; it goes out as a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def error_text(reply: object) -> str:
    """What a service says went wrong: {"error": "..."}, {"error": {"message": "..."}}, {"message": "..."}; else ""."""
    error = reply.get("error", reply) if isinstance(reply, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else ""


def _body_text(body: bytes) -> str:
    try:
        return error_text(json.loads(body))
    except (ValueError, RecursionError):
        return ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds asked for by Retry-After (a number or an HTTP date), held within 0..3600."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return None
    if seconds != seconds:
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)
