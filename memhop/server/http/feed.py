"""`Feed`: the newest changes of one memory, read once for all who listen to it.

Whether there is something new is seen from the times and the size of the file, whoever wrote it: this server, the
command line or another process. So a listener keeps no memory open, and no writer does anything for its sake. As a
file's time may stand still for some milliseconds, a file that was just written to is read once more.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memhop.api import results
from memhop.common.errors import MemhopError
from memhop.server.http.access import Access
from memhop.server.http.names import tenant_path
from memhop.server.http.responses import encoded
from memhop.server.operation import READ

if TYPE_CHECKING:
    from memhop.api.db import DB
    from memhop.server.http.calls import Calls

POLL_S = 0.25
RETRY_S = 2.0  # after a reading failed
KEPT = 1_000  # events
PAGE = 500  # events of one reading
NAME = "events"  # in the metrics
_SETTLED_NS = 1_000_000_000
log = logging.getLogger("memhop.server")


class Told(NamedTuple):
    """An event, its number, and how it is sent."""

    number: int
    event: results.LogEvent
    frame: bytes


class Page(NamedTuple):
    """Events behind a position.

    Attributes:
        next: The position to go on from. `more`: there are more already.
        gap: None, or the position at which they begin, since some before it may be gone.
    """

    events: list[Told]
    next: int
    more: bool
    gap: int | None = None


class Feed:
    """See the module. Runs while there are listeners; for one event loop.

    Attributes:
        listeners: How many there are; kept by whoever makes and ends them.
        newest: The position up to which all changes are known.
        news: Set, and replaced by a new one, when there are more.
    """

    def __init__(self, calls: Calls, tenant: str) -> None:
        self.listeners = 0
        self.newest = 0
        self.news = asyncio.Event()
        self._calls = calls
        self._tenant = tenant
        self._access = Access(tenant, frozenset((READ,)), "events")  # each listener's own is checked where it listens
        self._recent: deque[Told] = deque()
        self._from = 0  # all behind this position are in _recent
        self._seen: tuple[int, ...] | None = None
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Find out where the memory stands, and follow it from there. Raises what reading it raises.

        A memory that is not there yet is followed from its beginning.
        """
        async with self._starting:
            if self._task is not None:
                return
            path = tenant_path(self._calls.tenants.root, self._tenant)
            if _signature(path) is not None:
                page = await self._read(None, 1)
                self.newest = self._from = int(page.newest)
            self._task = asyncio.create_task(self._follow(path), name=f"memhop {NAME}")

    def stop(self) -> None:
        """Follow it no longer."""
        if self._task is not None:
            self._task.cancel()

    async def behind(self, position: int) -> Page:
        """The events behind a position, up to some hundreds. Raises what reading the memory raises."""
        if self._from <= position <= self.newest:
            return Page([told for told in self._recent if told.number > position], self.newest, False)
        page = await self._read(str(position), PAGE)
        begin = max(min(position, int(page.newest)), int(page.oldest))
        return Page(_told(page), int(page.next), page.next != page.newest, begin if page.gap else None)

    async def _follow(self, path: Path) -> None:
        while True:
            try:
                await self._look(path)
                await asyncio.sleep(POLL_S)
            except MemhopError as error:  # it is busy, locked or damaged: listeners wait
                log.info("changes of a memory could not be read: %s", error)
                await asyncio.sleep(RETRY_S)
            except Exception:  # who listens would never know that nobody reads any more
                log.exception("changes of a memory could not be read")
                await asyncio.sleep(RETRY_S)

    async def _look(self, path: Path) -> None:
        seen = _signature(path)
        if seen is None or seen == self._seen:
            return
        settled = time.time_ns() - seen[-1] > _SETTLED_NS
        while True:
            page = await self._read(str(self.newest), PAGE)
            if page.gap:  # listeners find out from the memory itself
                self._recent.clear()
                self.newest = self._from = int(page.newest)
            else:
                self._recent += _told(page)
                self.newest = int(page.next)
                while len(self._recent) > KEPT:
                    self._from = self._recent.popleft().number
            if page.gap or page.events:
                self.news.set()
                self.news = asyncio.Event()
            if page.gap or page.next == page.newest:
                break
        self._seen = seen if settled else None

    async def _read(self, since: str | None, limit: int) -> results.Events:
        def read(db: DB) -> results.Events:
            return db.events(since, limit=limit)

        return await self._calls.ask(self._access, self._tenant, NAME, READ, read)


def _told(page: results.Events) -> list[Told]:
    return [
        Told(
            int(event.number),
            event,
            b"id: %s\nevent: %s\ndata: %s\n\n" % (event.number.encode(), event.type.encode(), encoded(event.to_dict())),
        )
        for event in page.events
    ]


def _signature(path: Path) -> tuple[int, ...] | None:
    """Changes with the file; its last part is when it was written. None: there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
