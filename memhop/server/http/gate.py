"""`Gate`: every request passes it before it is known what it asks for.

    app = Gate(app, tokens=Tokens(root / "tokens.json"), hosts=("memory.example.org",))

In this order, the cheapest first, and nothing of a body is read for somebody who is not known:

    is it well formed          400, 405, 414, 431    head.py
    was it sent to us          421                   Host; loopback names always do
    by a page of a stranger    403                   Origin
    too many from this peer    429                   limits.py
    by whom                    401                   tokens.py; the access is put into scope["state"]["access"]
    too many with this token   429
    is it JSON, and how large  413, 415
    does it arrive             408, 413              the body is received whole, then handed on

The body waits here, so that a slow client holds no thread and no memory open. Every answer that passes the gate,
whoever made it, gets the headers that keep browsers from making more of it than it is.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from typing import Any

from memhop.common.errors import MemhopError
from memhop.server.faults import told
from memhop.server.http import head
from memhop.server.http.access import EVERY, Access
from memhop.server.http.audit import Audit
from memhop.server.http.limits import DEFAULTS, Buckets, Limits, peer_of
from memhop.server.http.refusal import Refusal, Send, answer, bad_request, busy, too_large, too_many, unauthorized
from memhop.server.http.tokens import Tokens
from memhop.server.operation import SCOPES

log = logging.getLogger("memhop.server")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

ANYBODY = Access(EVERY, frozenset(SCOPES), "-")  # where no tokens are asked for
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_EXPOSED = (b"access-control-expose-headers", b"mcp-session-id, retry-after")
_KNOWN = 10_000  # pairs of a peer and a token that was right
_REMARKS = 1 / 60  # lines of one sort per second in the log and the audit file, whatever strangers send
_LINGER_S, _LINGER_BYTES = 0.5, 1024 * 1024  # read of a refused body, so that the answer is not lost with it
_PATIENCE = 4  # times as long, and as many bodies, for somebody who is known and only sent too much


class Gate:
    """See the module.

    Args:
        app: What stands behind it.
        tokens: None: nobody is asked for one. Only for a server that nobody else can reach.
        hosts: Names the server goes by, besides those of loopback; "name" or "name:port".
        origins: Of pages that may ask it, such as "https://example.org". Others get no word out of it.
        open_paths: What anybody may read, without a token.
        audit: Told when somebody guesses tokens.
        now: Seconds that only grow.
    """

    def __init__(
        self,
        app: App,
        *,
        tokens: Tokens | None,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        limits: Limits = DEFAULTS,
        open_paths: Iterable[str] = ("/healthz",),
        audit: Audit | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._tokens, self._limits, self._audit = app, tokens, limits, audit
        self._hosts = head.LOOPBACK | {host.lower() for host in hosts}
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        self._open = frozenset(open_paths)
        self._by_token = Buckets(limits.rate, limits.burst, now=now)
        self._by_peer = Buckets(limits.peer_rate, limits.peer_burst, now=now)
        self._failures = Buckets(limits.failure_rate, limits.failure_burst, now=now)
        self._right: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._remarks = Buckets(_REMARKS, 1, now=now)
        self._buffered = 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, _Answer(send))
        else:  # web sockets: nothing here speaks them, and they know neither Origin nor tokens in headers
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: MutableMapping[str, Any], receive: Receive, send: _Answer) -> None:
        headers = dict(scope["headers"])
        refusal = (
            head.wrong_path(scope)
            or head.wrong_headers(scope, self._limits.head_bytes)
            or head.wrong_host(headers, self._hosts)
            or head.wrong_origin(headers, self._origins)
        )
        origin = headers.get(b"origin", b"").decode("ascii", "replace")
        if not refusal and origin.lower() in self._origins:
            send.add((b"access-control-allow-origin", origin.encode()), (b"vary", b"origin"), _EXPOSED)
            if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
                await _preflight(send)
                return
        refusal = refusal or self._who(scope, headers) or head.wrong_body(scope, headers, self._limits.body_bytes)
        if refusal:
            follows = head.has_body(headers)
            if follows and b"expect" not in headers:  # who expects an answer has sent none of it
                await self._linger(refusal, receive)
            await answer(send, refusal, close=follows)
        elif head.has_body(headers):
            await self._with_body(scope, receive, send)
        else:
            await self._pass(scope, receive, send)

    def _who(self, scope: MutableMapping[str, Any], headers: head.Headers) -> Refusal | None:
        """Find out whose request it is, and count it."""
        peer = peer_of(scope)
        if wait := self._by_peer.take(peer):
            return too_many("too many requests from this address", wait)
        if scope["path"] in self._open:
            only = scope["method"] in ("GET", "HEAD") and not head.has_body(headers)
            return None if only else bad_request("this can only be read")
        access = self._access(peer, headers)
        if isinstance(access, Refusal):
            return access
        if wait := self._by_token.take(access.token):
            return too_many("too many requests with this token", wait)
        scope.setdefault("state", {})["access"] = access
        return None

    def _access(self, peer: str, headers: head.Headers) -> Access | Refusal:
        """What the token of a request allows."""
        if self._tokens is None:
            return ANYBODY
        secret = head.bearer(headers)
        if secret is None:
            return unauthorized("there is no token")
        try:
            access = self._tokens.check(secret)
        except MemhopError as error:
            if not self._remarks.take("tokens"):
                log.error("the tokens cannot be read: %s", error)
            return Refusal(503, "NoTokens", "the tokens of this server cannot be read, so that nobody is let in")
        known = access is not None and (peer, access.token) in self._right
        if not known and (wait := self._failures.wait(peer)):  # whether it was right is not told
            self._remark(peer)
            return too_many("too many wrong tokens from this address", wait)
        if access is None:
            self._failures.take(peer)
            return unauthorized("the token is not known, was revoked, or has expired")
        self._remember(peer, access.token)
        return access

    def _remember(self, peer: str, token: str) -> None:
        """A token that was right goes on to be looked at while others from the same address are guessed."""
        self._right[peer, token] = None
        self._right.move_to_end((peer, token))
        if len(self._right) > _KNOWN:
            self._right.popitem(last=False)

    def _remark(self, peer: str) -> None:
        if not self._remarks.take("guess"):
            log.warning("somebody at %s sends wrong tokens", peer)
            if self._audit is not None:
                self._audit.write("token.guess", access=None, tenant="", outcome="refused", detail={"peer": peer})

    async def _with_body(self, scope: MutableMapping[str, Any], receive: Receive, send: _Answer) -> None:
        """Receive the body, then pass the request on."""
        body = bytearray()
        refusal: Refusal | None = None
        more = True
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while more and not refusal:
                    message = await receive()
                    if message["type"] != "http.request":
                        return  # it went away
                    part = message.get("body", b"")
                    more = message.get("more_body", False)
                    body += part
                    self._buffered += len(part)
                    if len(body) > self._limits.body_bytes:
                        refusal = too_large(f"the body is larger than {self._limits.body_bytes:,} bytes")
                    elif self._buffered > self._limits.buffered_bytes:
                        refusal = busy("too much is being received at once")
        except TimeoutError:
            refusal = Refusal(408, "TooSlow", f"the body did not arrive within {self._limits.body_seconds:g} s")
        finally:
            self._buffered -= len(body)
        if refusal:
            if more and refusal.status != 408:
                await self._linger(refusal, receive)
            await answer(send, refusal, close=more)
        else:
            await self._pass(scope, _Handed(bytes(body), receive), send)

    async def _linger(self, refusal: Refusal, receive: Receive) -> None:
        """Read some of a body that is on its way: a socket that is closed on unread bytes takes the answer along."""
        known = refusal.status == 413
        left = _PATIENCE * self._limits.body_bytes if known else _LINGER_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE * _LINGER_S if known else _LINGER_S):
                more = True
                while more and left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    more = bool(message.get("more_body", False))

    async def _pass(self, scope: MutableMapping[str, Any], receive: Receive, send: _Answer) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception as error:  # what leaves the app is a fault of ours: it is logged there, and nothing is shown
            failed = told(error, local=False)
            if send.started:
                raise
            shown = failed.data
            await answer(send, Refusal(500, "Internal", str(shown["message"]), str(shown["hint"])))


class _Answer:
    """`send`, with the headers that every answer has, and a note of whether one has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._more: tuple[tuple[bytes, bytes], ...] = ()
        self.started = False

    def add(self, *headers: tuple[bytes, bytes]) -> None:
        self._more += headers

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            given = [(name.lower(), value) for name, value in message.get("headers", ())]
            names = {name for name, _ in given}
            message = {**message, "headers": [*given, *(one for one in _SAFE if one[0] not in names), *self._more]}
        await self._send(message)


class _Handed:
    """`receive` for a body that is there already. Behind it the connection is listened to, so that its end is seen."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _preflight(send: Send) -> None:
    """What a browser asks before a page may send JSON and a token."""
    allowed = b"authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id, memhop-tenant"
    headers = [
        (b"access-control-allow-methods", ", ".join(head.METHODS).encode()),
        (b"access-control-allow-headers", allowed),
        (b"access-control-max-age", b"600"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
