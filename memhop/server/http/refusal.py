"""`Refusal`: a request that is answered before any memory is asked, with a body like that of every other error."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

from memhop.common.errors import Busy, Forbidden, MemhopError

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_CODES = {
    403: Forbidden.code,
    500: MemhopError.code,
    503: Busy.code,
}  # of others: 4000 and the last digits of the status


class Refusal(NamedTuple):
    """Why a request is not let in.

    Attributes:
        status: Of HTTP.
        error: One word for programs, such as "Unauthorized".
        message: One line for people, without anything of the request in it.
        headers: Besides those of every answer.
    """

    status: int
    error: str
    message: str
    hint: str | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As `MemhopError.to_dict`."""
        return {
            "error": self.error,
            "code": _CODES.get(self.status, 4000 + self.status % 100),
            "message": self.message,
            "field": None,
            "allowed": None,
            "hint": self.hint,
        }


def bad_request(message: str, hint: str | None = None) -> Refusal:
    """400: it is not well formed."""
    return Refusal(400, "BadRequest", message, hint)


def unauthorized(message: str) -> Refusal:
    """401: no token, or none that is known."""
    hint = "send a token of `memhop token add` as Authorization: Bearer"
    return Refusal(401, "Unauthorized", message, hint, ((b"www-authenticate", b'Bearer realm="memhop"'),))


def forbidden(message: str, hint: str | None = None) -> Refusal:
    """403: the token does not allow it, or the page it comes from is a stranger."""
    return Refusal(403, "Forbidden", message, hint)


def too_large(message: str) -> Refusal:
    """413."""
    return Refusal(413, "TooLarge", message, "send less at once")


def too_many(message: str, wait_s: float) -> Refusal:
    """429, with how long to wait."""
    seconds = max(1, math.ceil(wait_s))
    return Refusal(429, "TooManyRequests", message, f"wait {seconds} s", (retry_after(seconds),))


def busy(message: str, wait_s: float = 1.0) -> Refusal:
    """503: it may be asked again."""
    return Refusal(503, "Busy", message, "try again in a moment", (retry_after(wait_s),))


def retry_after(wait_s: float) -> tuple[bytes, bytes]:
    """The header that says so, in whole seconds."""
    return b"retry-after", str(max(1, math.ceil(wait_s))).encode()


async def answer(send: Send, refusal: Refusal, *, close: bool = False) -> None:
    """Send it.

    Args:
        close: End the connection behind it: of the request something is still on its way.
    """
    body = json.dumps(refusal.to_dict(), ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *refusal.headers]
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
