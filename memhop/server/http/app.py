"""Which path leads where.

    POST /mcp/{tenant}                    MCP: each request stands alone, in both forms of the protocol
    GET  /sse/{tenant}                    MCP for older clients: a stream of answers, as long as the session lasts
    POST /messages/{tenant}/?session_id=  what such a session asks; only by the token and tenant that opened it
    GET  /healthz                         whether it runs; needs no token, tells nothing about tenants
    GET  /metrics                         for Prometheus; needs a token that administers every tenant
    /api/v1/...                           REST and events

Before any of this comes the gate, which says whose request it is. Here it is only looked at whether that one may ask
about this tenant at all; what it may do there is decided by `Calls`, for every single call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memhop.common.errors import Busy, Forbidden, MemhopError
from memhop.server.http.access import EVERY, Access
from memhop.server.http.calls import Calls
from memhop.server.http.limits import is_local
from memhop.server.http.metrics import CONTENT_TYPE
from memhop.server.http.names import check_tenant
from memhop.server.http.responses import Refused, refusal_of, wrong_method
from memhop.server.mcp.guidance import instructions
from memhop.server.mcp.protocol import build_server
from memhop.server.operation import ADMIN, SCOPES, Operation
from memhop.server.reply import Reply

log = logging.getLogger("memhop.server")
MOST_SESSIONS = 1_000  # of older clients at a time, in all
_LOOK_EVERY_S = 30.0  # at idle files, at most


def build_app(
    calls: Calls,
    tools: Mapping[str, Operation],
    *,
    gate: Callable[[ASGIApp], ASGIApp],
    routes: Iterable[BaseRoute],
    version: str,
    nonce: str = "",
    body_bytes: int = 4 << 20,
    idle_s: float = 300.0,
) -> ASGIApp:
    """The application, gate included.

    Args:
        tools: What is shown over MCP.
        gate: Puts the gate in front of an application.
        routes: More of them, below /api/v1.
        nonce: Told by /healthz to this machine, so that `memhop stop` knows whom it is about to end.
        idle_s: As for `Tenants`.
    """

    async def call(
        context: ServerRequestContext[Any, Any], operation: Operation, arguments: Mapping[str, Any] | None
    ) -> Reply:
        request: Request | None = context.request
        assert request is not None, "every message over HTTP carries its request"
        return await calls.call(access_of(request.scope), request.path_params["tenant"], operation, arguments)

    server = build_server(tools, call, instructions=instructions(tools), version=version)
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=body_bytes)
    sessions = _Sessions(server, body_bytes)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"} | ({"nonce": nonce} if nonce and is_local(request.scope) else {}))

    async def metrics(request: Request) -> Response:
        access = access_of(request.scope)
        if access.tenant != EVERY or ADMIN not in access.scopes:
            return refusal_of(
                Forbidden("metrics are of all tenants", hint="it needs a token for * with the scope admin")
            )
        return Response(calls.metrics.text(calls.now() | {"sse_sessions": sessions.count}), media_type=CONTENT_TYPE)

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            tidying = asyncio.create_task(_tidy(calls, min(_LOOK_EVERY_S, idle_s / 2)))
            try:
                yield
            finally:
                tidying.cancel()
                with suppress(asyncio.CancelledError):
                    await tidying

    inside = Starlette(
        routes=[
            Route("/mcp/{tenant}", _OfTenant(manager.handle_request, "POST")),
            Route("/sse/{tenant}", _OfTenant(sessions.open, "GET")),
            Route("/messages/{tenant}/", _OfTenant(sessions.post, "POST")),
            Route("/healthz", health),
            Route("/metrics", metrics),
            *routes,
        ],
        lifespan=running,
    )
    return _Counting(gate(inside), calls)


def access_of(scope: Mapping[str, Any]) -> Access:
    """What the token of a request allows, as the gate found."""
    found = scope["state"]["access"]
    assert isinstance(found, Access)
    return found


class _OfTenant:
    """An application for those whose token names the tenant of the path, and for nobody else.

    A class, since Starlette takes a function for a handler of requests.
    """

    def __init__(self, app: ASGIApp, method: str) -> None:
        self._app, self._method = app, method

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != self._method:
            return await refusal_of(Refused(wrong_method(self._method)))(scope, receive, send)
        try:
            access, tenant = access_of(scope), check_tenant(scope["path_params"]["tenant"])
            if not any(access.allows(tenant, one) for one in SCOPES):
                raise Forbidden("the token is not for this tenant")
        except MemhopError as error:
            return await refusal_of(error)(scope, receive, send)
        return await self._app(scope, receive, send)


class _Sessions:
    """MCP as older clients speak it: answers come on one long stream, questions as requests of their own.

    The library compares the user of each question with that of its session, and answers as if there were no such
    session where they differ. The user given to it is the token together with the tenant.
    """

    def __init__(self, server: Server[dict[str, Any]], body_bytes: int) -> None:
        self.count = 0
        self._server = server
        self._transport = SseServerTransport("/", max_request_body_size=body_bytes)

    async def open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The stream of a session."""
        if self.count >= MOST_SESSIONS:
            return await refusal_of(Busy("too many sessions are open", hint="try again in a moment"))(
                scope, receive, send
            )
        tenant = check_tenant(scope["path_params"]["tenant"])
        self.count += 1
        try:
            inner = self._known(scope) | {"root_path": f"/messages/{tenant}"}  # where it is told to send its questions
            async with self._transport.connect_sse(inner, receive, send) as (reading, writing):
                await self._server.run(reading, writing, self._server.create_initialization_options())
        finally:
            self.count -= 1

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A question of a session."""
        await self._transport.handle_post_message(self._known(scope), receive, send)

    @staticmethod
    def _known(scope: Scope) -> dict[str, Any]:
        access, tenant = access_of(scope), check_tenant(scope["path_params"]["tenant"])
        token = AccessToken(token=access.token, client_id=access.token, scopes=[], subject=tenant)
        return {**scope, "user": AuthenticatedUser(token)}


class _Counting:
    """Counts answers by status."""

    def __init__(self, app: ASGIApp, calls: Calls) -> None:
        self._app, self._metrics = app, calls.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.answered(message["status"])
            await send(message)

        await self._app(scope, receive, counted if scope["type"] == "http" else send)


async def _tidy(calls: Calls, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        try:
            await calls.close_idle()
        except Exception as error:  # it is tried again
            log.warning("idle memories were not closed: %s", error)
