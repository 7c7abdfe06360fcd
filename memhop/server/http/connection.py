"""Sockets: what a client can do before there is a request, and what it cannot hold up behind one.

A server that waits for the end of a head as long as a client likes is full after a few hundred clients that never end
one. So a head has a time, counted from connecting or from its first byte; so has a client that takes no bytes of its
answer; and one peer has so many connections and no more, and all peers together leave half of the file descriptors of
the process to memories. (A body has a time, too: `gate.py`.)

    uvicorn.Config(app, http=guarded(limits), h11_max_incomplete_event_size=limits.head_bytes, ws="none",
                   proxy_headers=False, server_header=False, timeout_keep_alive=5)

`proxy_headers=False` is needed: otherwise uvicorn believes X-Forwarded-For of anybody on this machine.
"""

from __future__ import annotations

import asyncio
import json
import logging
import resource
from collections import Counter
from collections.abc import Callable

from uvicorn.protocols.http.h11_impl import H11Protocol

from memhop.server.http.limits import Limits, counted
from memhop.server.http.refusal import Refusal, busy

_log = logging.getLogger("memhop.server.http")
_log.setLevel(logging.ERROR)  # or every line of nonsense from strangers would be one in the log


def guarded(limits: Limits) -> type[H11Protocol]:
    """The protocol of one server, for `uvicorn.Config(http=…)`."""
    open_of: Counter[str] = Counter()
    most = min(limits.all_connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)

    class Guarded(_Connection):
        _limits = limits
        _open_of = open_of
        _most = most

    return Guarded


class _Connection(H11Protocol):
    _limits: Limits
    _open_of: Counter[str]
    _most: int
    _peer: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.logger = _log
        super().connection_made(transport)
        self._head_timer, self._write_timer = _Timer(self.loop), _Timer(self.loop)
        peer = counted(self.client[0]) if self.client else "-"
        if self._open_of[peer] >= self._limits.connections:
            self._end(busy("too many connections from this address"))
            return
        if self._open_of.total() >= self._most:
            self._end(busy("too many connections"))
            return
        self._peer = peer
        self._open_of[peer] += 1
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._peer is not None:
            self._open_of[self._peer] -= 1
            if self._open_of[self._peer] <= 0:
                del self._open_of[self._peer]
            self._peer = None
        self._head_timer.stop()
        self._write_timer.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._peer is None:  # it has been turned away
            return
        if not self._asked():
            self._expect_head()
        super().data_received(data)

    def on_response_complete(self) -> None:
        self._head_timer.stop()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer.start(self._limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._write_timer.stop()
        super().resume_writing()

    def _asked(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_head(self) -> None:
        self._head_timer.start(self._limits.head_seconds, self._late)

    def _late(self) -> None:
        if not self._asked() and not self.transport.is_closing():
            self._end(Refusal(408, "TooSlow", f"no request within {self._limits.head_seconds:g} s"))

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP, or has a head that is too large: answered in the shape of every other error."""
        self._end(Refusal(400, "BadRequest", "that is no HTTP request, or its head is too large"))

    def _end(self, refusal: Refusal) -> None:
        """Answer without a request, and hang up. Written by hand: h11 answers nothing that it has not read."""
        self._unset_keepalive_if_required()
        body = json.dumps(refusal.to_dict()).encode()
        lines = [
            b"HTTP/1.1 %d %s" % (refusal.status, refusal.error.encode()),
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            *(b"%s: %s" % header for header in refusal.headers),
            b"x-content-type-options: nosniff",
            b"cache-control: no-store",
            b"connection: close",
        ]
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        self.transport.close()


class _Timer:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._running: asyncio.TimerHandle | None = None

    def start(self, seconds: float, action: Callable[[], None]) -> None:
        """Once; one that runs already runs on."""
        if self._running is None:
            self._running = self._loop.call_later(seconds, self._over, action)

    def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            self._running = None

    def _over(self, action: Callable[[], None]) -> None:
        self._running = None
        action()
