"""Replies as responses of HTTP: every body is JSON, every error has the one shape; and paths that answer so."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from memhop.common.errors import MemhopError
from memhop.server.faults import told
from memhop.server.http.refusal import Refusal
from memhop.server.reply import Reply

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

JSON = "application/json"
_LATER = {"Retry-After": "1"}  # seconds
_STATUS: Mapping[str, int] = {  # what is not here is a fault of ours, or of the disk: 500
    "Forbidden": 403, "NotFound": 404, "Conflict": 409, "ConfigError": 409, "VectorSpaceMismatch": 409,
    "InvalidRequest": 422,
    "ProviderError": 502, "EmbedderError": 502, "ChatError": 502,
    "Busy": 503, "Locked": 503, "Closed": 503, "TimedOut": 504,
}  # fmt: skip


class Refused(Exception):
    """Raised where a request is not looked at any further."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Endpoint:
    """A path, as an application: Starlette hands all methods to one, but only some to a function.

    Args:
        methods: Method -> what answers it. It may raise Refused and MemhopError.
    """

    def __init__(self, methods: Mapping[str, Callable[[Request], Awaitable[Response]]]) -> None:
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        answer = self._methods.get(request.method)
        try:
            response = await answer(request) if answer else refusal_of(Refused(wrong_method(*self._methods)))
        except (Refused, MemhopError) as error:
            response = refusal_of(error)
        await response(scope, receive, send)


def wrong_method(*allowed: str) -> Refusal:
    """405."""
    listed = ", ".join(allowed)
    return Refusal(405, "MethodNotAllowed", "this path takes others", listed, ((b"allow", listed.encode()),))


def response_of(reply: Reply) -> Response:
    """A reply, with the status that its error stands for."""
    status = _STATUS.get(reply.data["error"], 500) if reply.failed else 200
    return Response(encoded(reply.data), status, _LATER if status == 503 else None, JSON)


def refusal_of(error: Refused | MemhopError) -> Response:
    """What went wrong before an operation was asked."""
    if isinstance(error, MemhopError):
        return response_of(told(error, local=False))
    refusal = error.refusal
    headers = {name.decode("ascii"): value.decode("ascii") for name, value in refusal.headers}
    return Response(encoded(refusal.to_dict()), refusal.status, headers, JSON)


def encoded(data: Any) -> bytes:
    """JSON in UTF-8. Halves of surrogate pairs, which UTF-8 cannot say, stand as escapes."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
