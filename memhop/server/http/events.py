"""`GET /events`: what has changed, as server-sent events, to be listened to for as long as one likes.

    id: 5242881
    event: note_new
    data: {"number":"5242881","type":"note_new","id":"…","project":"default",…}

`id` is the number of the event. A listener that comes back with it as `Last-Event-ID` (or ?since=) is told what it
missed, from the log, however long ago that was; one that names none is told what happens from now on. Where some of it
is gone, because the memory was compacted or restored, `event: gap` comes first, with where it begins now: what was made
of events had better be made anew. A comment comes when there was nothing else to say for a while, so that both sides
notice a dead line.

Nobody is waited for: nothing more is read for a listener until it took what it was sent, and one that takes nothing for
some time loses its connection (`connection.py`). Tokens are looked at again before anything is sent, so that one which
was revoked or has expired hears nothing more, and loses its stream within a heartbeat.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from starlette.requests import Request
from starlette.routing import Route as PathRoute

from memhop.api.events import filter_of, number_of
from memhop.common.errors import Busy, MemhopError
from memhop.server.http.calls import check_access
from memhop.server.http.feed import Feed, Page
from memhop.server.http.head import bearer
from memhop.server.http.responses import Refused, encoded, refusal_of, wrong_method
from memhop.server.http.rest import query_of, who
from memhop.server.http.routes import PREFIX
from memhop.server.operation import READ
from memhop.server.parameters import Kind, Listed, Text, check_fields

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from memhop.api.results import LogEvent
    from memhop.server.http.access import Access
    from memhop.server.http.calls import Calls

PATH = f"{PREFIX}/events"
PARAMETERS: dict[str, Kind] = {
    "since": Text("Only events behind this number. Without it, and without Last-Event-ID: those from now on."),
    "project": Text("Only of this project; what leaves it counts."),
    "types": Listed("Only of these types; note_* stands for all that begin so.", Text("")),
}
_RETRY = b"retry: 2000\n\n"  # ms after which a listener comes back
_BEAT = b": nothing new\n\n"
_AT_ONCE = 100  # events sent together
_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
log = logging.getLogger("memhop.server")


class Wish(NamedTuple):
    """What one listener wants. `since` None: what happens from now on; `allowed`: whether it may go on listening."""

    tenant: str
    since: int | None
    wanted: Callable[[LogEvent], bool]
    allowed: Callable[[], bool]


class Listening:
    """All who listen.

    Args:
        check: What a token allows now, or None; see `Tokens.check`. None: no tokens are asked for.
        heartbeat_s: Seconds after which a comment is sent if there was nothing else.
        most, most_per_tenant: Listeners at a time; more are refused as busy.
    """

    def __init__(
        self,
        calls: Calls,
        *,
        check: Callable[[str], Access | None] | None = None,
        heartbeat_s: float = 15.0,
        most: int = 200,
        most_per_tenant: int = 20,
    ) -> None:
        self._calls, self._check, self._beat_s = calls, check, heartbeat_s
        self._most, self._most_per_tenant = most, most_per_tenant
        self._feeds: dict[str, Feed] = {}
        self._stopped = asyncio.Event()

    def routes(self) -> list[PathRoute]:
        """Where to listen."""
        return [PathRoute(PATH, _Endpoint(self))]

    def stop(self) -> None:
        """End all streams, and take no more listeners: the server is being stopped."""
        self._stopped.set()

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One listener, from its request to its end. Raises Refused and MemhopError as long as nothing was sent."""
        request = Request(scope, receive)
        wish = self._wish(request)
        with self._feed(wish.tenant) as feed:
            await feed.start()
            position = feed.newest if wish.since is None else wish.since
            gone = asyncio.ensure_future(_gone(receive))
            try:
                await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
                try:
                    async for part in self._told(feed, position, wish, gone):
                        await send({"type": "http.response.body", "body": part, "more_body": True})
                except MemhopError as error:
                    log.info("a listener was left: %s", error)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                gone.cancel()

    def _wish(self, request: Request) -> Wish:
        if request.method != "GET":
            raise Refused(wrong_method("GET"))
        access, tenant = who(request)
        tenant = check_access(access, tenant, READ)
        values = check_fields(query_of(request, PARAMETERS), PARAMETERS, (), "", [])
        since = request.headers.get("last-event-id") or values.get("since")
        secret = bearer(dict(request.scope["headers"])) or ""

        def allowed() -> bool:
            if self._check is None:
                return True
            with suppress(MemhopError):
                now = self._check(secret)
                return now is not None and now.allows(tenant, READ)
            return False

        return Wish(
            tenant,
            None if since is None else number_of(since),
            filter_of(values.get("project"), values.get("types")),
            allowed,
        )

    @contextmanager
    def _feed(self, tenant: str) -> Iterator[Feed]:
        """That of a tenant, from its first listener to its last."""
        feed = self._feeds.get(tenant)
        if sum(one.listeners for one in self._feeds.values()) >= self._most:
            raise Busy("too many listen already", hint="try again later")
        if feed is not None and feed.listeners >= self._most_per_tenant:
            raise Busy("too many listen to this memory already", hint="try again later")
        if feed is None:
            feed = self._feeds[tenant] = Feed(self._calls, tenant)
        feed.listeners += 1
        try:
            yield feed
        finally:
            feed.listeners -= 1
            if not feed.listeners:
                del self._feeds[tenant]
                feed.stop()

    async def _told(self, feed: Feed, position: int, wish: Wish, gone: asyncio.Future[None]) -> AsyncIterator[bytes]:
        """What is sent to one listener, part by part, until it goes, may listen no longer, or the server stops."""
        yield _RETRY
        now = asyncio.get_running_loop().time
        sent = now()
        stopped = asyncio.ensure_future(self._stopped.wait())
        try:
            while not (gone.done() or stopped.done()):
                news = asyncio.ensure_future(feed.news.wait())
                try:
                    page = await feed.behind(position)
                    position = page.next
                    if not wish.allowed():
                        return
                    for part in _parts(page, wish):
                        yield part
                        sent = now()
                    if page.more:
                        continue
                    if now() - sent >= self._beat_s:  # also where all that happens is not for this one
                        yield _BEAT
                        sent = now()
                    rest = max(0.0, sent + self._beat_s - now())
                    await asyncio.wait((news, gone, stopped), timeout=rest, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    news.cancel()
        finally:
            stopped.cancel()


def _parts(page: Page, wish: Wish) -> Iterator[bytes]:
    """What a listener is sent of a page."""
    if page.gap is not None:
        yield b"id: %d\nevent: gap\ndata: %s\n\n" % (page.gap, encoded({"since": str(page.gap)}))
    frames = [told.frame for told in page.events if wish.wanted(told.event)]
    for at in range(0, len(frames), _AT_ONCE):
        yield b"".join(frames[at : at + _AT_ONCE])


class _Endpoint:
    """As `responses.Endpoint`, for an answer that is sent as it comes about."""

    def __init__(self, listening: Listening) -> None:
        self._listening = listening

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._listening.answer(scope, receive, send)
        except (Refused, MemhopError) as error:
            await refusal_of(error)(scope, receive, send)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
