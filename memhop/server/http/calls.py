"""`Calls`: the only place where a request reaches a memory, whatever protocol it came by.

    whose token it is  ->  its turn in the line of the tenant  ->  a thread  ->  the file  ->  a reply

What a tenant may take up is bounded, so that a slow one keeps only itself waiting: each has three lines, one for what
reads, one for what writes and one for what administers. In each a few requests run and some wait; further ones are
refused as busy, which costs nothing. Threads are shared, and there are as many as all tenants whose files can be open,
or who can wait for that, may hold at once: however many are slow, another one finds a thread.

A client that waits too long is told so. Its thread goes on, since nothing can end it, and keeps its place in the line
until it is done: a tenant whose file hangs has a few threads that hang, and not one more for each request.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memhop.common.errors import Busy, Forbidden, Locked, MemhopError, StorageError, TimedOut
from memhop.server.faults import told
from memhop.server.http.access import EVERY, Access
from memhop.server.http.metrics import Metrics
from memhop.server.http.names import check_tenant
from memhop.server.http.tenants import CREATED, EMPTY, REFUSED
from memhop.server.operation import ADMIN, READ, WRITE, Host, Operation
from memhop.server.reply import ROOM, Reply

if TYPE_CHECKING:
    from memhop.api.db import DB
    from memhop.server.http.audit import Audit
    from memhop.server.http.tenants import Tenants

T = TypeVar("T")
log = logging.getLogger("memhop.server")
WRITERS = 2  # one may be a long one, such as an import; the file takes one write at a time in any case
_HANDLE_BROKEN = frozenset(  # codes after which a handle is opened anew
    {error.code for error in StorageError.__subclasses__()} - {Locked.code} | {StorageError.code}
)


class Calls:
    """See the module. To be used from one event loop.

    Args:
        audit: Told of every call of an operation that administers, refused ones included; None: nobody is.
        page: As for `Host`.
        imports: The folder with a folder for each tenant, from which that tenant may import; None: none may.
        readers: Reading requests of one tenant that run at a time.
        queue: Requests that may wait in each line of a tenant.
        seconds: Longest wait of a client.
    """

    def __init__(
        self,
        tenants: Tenants,
        *,
        audit: Audit | None = None,
        metrics: Metrics | None = None,
        page: int | None = None,
        imports: Path | None = None,
        readers: int = 4,
        queue: int = 64,
        seconds: float = 30.0,
    ) -> None:
        self.tenants = tenants
        self.metrics = metrics or Metrics()
        self._audit, self._imports, self._host = audit, imports, Host(page=page)
        self._queue, self._seconds = queue, seconds
        self._width = {READ: readers, WRITE: WRITERS, ADMIN: 1}
        self._lines: dict[tuple[str, str], _Line] = {}  # (tenant, scope) -> those that are not empty
        self._ended: asyncio.Future[None] | None = None
        self._threads = ThreadPoolExecutor(tenants.most_at_once * sum(self._width.values()), "memhop call")

    async def call(
        self,
        access: Access,
        tenant: str,
        operation: Operation,
        arguments: Mapping[str, Any] | None,
        room: int = ROOM,
    ) -> Reply:
        """Ask an operation of a tenant's memory.

        Args:
            access: What the token of this very request allows.
            tenant: As it came; its name is checked here.
            arguments: As they came; they are checked by the operation.
            room: As for `Operation.call`.

        Returns:
            A reply, also for everything that went wrong: Forbidden, Busy, TimedOut, and all that the operation raises.
        """

        def ask(db: DB) -> Reply:
            imports = self._imports / check_tenant(tenant) if self._imports else None
            return operation.call(self._host._replace(imports=imports), db, arguments, room=room)

        try:
            return await self.ask(access, tenant, operation.name, operation.scope, ask, reads=operation.reads)
        except MemhopError as error:
            return told(error, local=False)

    async def ask(
        self,
        access: Access,
        tenant: str,
        name: str,
        scope: str,
        work: Callable[[DB], T],
        *,
        reads: bool | None = None,
    ) -> T:
        """Do anything with a tenant's memory, on the same terms.

        Args:
            name: What it is called in the metrics. Not what a client chose.
            work: Runs in a thread; what it raises is raised here.
            reads: Whether it changes nothing, so that no memory is made for it. None: what needs the scope read does.

        Raises:
            InvalidRequest: no name of a tenant. Forbidden: the token does not allow it. Busy: too much is asked of this
                tenant. TimedOut: it took too long; it goes on all the same. And what opening the file raises.
        """
        began = time.perf_counter()
        outcome, whose, allowed = "ok", "", False
        try:
            whose = check_tenant(tenant)
            check_access(access, whose, scope)
            allowed = True
            missing = (
                CREATED
                if not (scope == READ if reads is None else reads)
                else REFUSED
                if access.tenant == EVERY
                else EMPTY
            )
            found = await self._in_line(whose, scope, lambda: self._work(whose, missing, work))
            if isinstance(found, Reply) and found.failed:
                outcome = str(found.data.get("error"))
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            known = whose if allowed else "-"  # a name that is refused may be anything
            self.metrics.called(name, scope, outcome, known, time.perf_counter() - began)
            if scope == ADMIN and self._audit is not None:
                self._audit.write(name, access=access, tenant=whose, outcome="done" if outcome == "ok" else outcome)
        return found

    def now(self) -> dict[str, float]:
        """Gauges and counters, for `Metrics.text`."""
        counts = self.tenants.counts()
        lines = self._lines.values()
        return {
            "tenants_open": counts.open,
            "tenants_used": counts.used,
            "tenant_opens_total": counts.opens,
            "tenant_closes_total": counts.closes,
            "tenant_open_failures_total": counts.failures,
            "calls_running": sum(line.running for line in lines),
            "calls_waiting": sum(len(line.waiting) for line in lines) + counts.waiting,
        }

    async def close_idle(self) -> None:
        """Close the files nobody asked for."""
        await self._start(self.tenants.close_idle)

    def stop(self, seconds: float) -> None:
        """From now on nobody waits longer than this: the server is being stopped."""
        asyncio.get_running_loop().call_later(seconds, self._patience().set_result, None)

    def close(self, wait_s: float) -> int:
        """Close all files, after what still runs. Blocks; for the end of the process.

        Returns:
            Files that were still in use after `wait_s` seconds; their threads keep the process alive.
        """
        left = self.tenants.close(wait_s)
        self._threads.shutdown(wait=False, cancel_futures=True)
        return left

    # -- in a thread ---------------------------------------------------------------------------------------------

    def _work(self, tenant: str, missing: str, work: Callable[[DB], T]) -> T:
        code: object = None
        with self.tenants.use(tenant, missing=missing) as db:
            try:
                found = work(db)
                if isinstance(found, Reply) and found.failed:
                    code = found.data.get("code")
            except StorageError as error:
                code = error.code
                raise
            finally:
                if code in _HANDLE_BROKEN:
                    self.tenants.renew(tenant)
            return found

    # -- turns ---------------------------------------------------------------------------------------------------

    async def _in_line(self, tenant: str, scope: str, job: Callable[[], T]) -> T:
        line = self._line(tenant, scope)
        await self._enter(tenant, scope, line)
        work = self._start(job)
        work.add_done_callback(lambda _: self._leave(tenant, scope, line))
        return await self._waited(work)

    def _line(self, tenant: str, scope: str) -> _Line:
        return self._lines.setdefault((tenant, scope), _Line(self._width[scope]))

    async def _enter(self, tenant: str, scope: str, line: _Line) -> None:
        """Take a place in a line. Whoever returns from this must `_leave`."""
        if line.running < line.width and not line.waiting:
            line.running += 1
            return
        if len(line.waiting) >= self._queue:
            raise Busy("too many requests of this memory wait already", hint="try again in a moment")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.append(turn)
        came = False
        try:
            came = await self._wait(turn)
        finally:
            if not came:
                if turn.done():
                    self._leave(tenant, scope, line)  # the turn had come, and nobody is there to take it
                else:
                    line.waiting.remove(turn)
        if not came:
            raise Busy("this memory had too much to do", hint="try again in a moment")

    def _leave(self, tenant: str, scope: str, line: _Line) -> None:
        """Give a place to the next one."""
        if line.waiting:
            line.waiting.popleft().set_result(None)
            return
        line.running -= 1
        if not line.running:
            self._lines.pop((tenant, scope), None)

    def _start(self, job: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, job)

    async def _waited(self, work: asyncio.Future[T]) -> T:
        """What work in a thread comes to. Neither a client that goes away nor one that waited enough ends it."""
        done = False
        try:
            done = await self._wait(work)
        finally:
            if not done:
                work.add_done_callback(_forget)
        if done:
            return work.result()
        raise TimedOut(
            "it is not done in time, and goes on without you", hint="look whether it was done, then ask again"
        )

    async def _wait(self, future: asyncio.Future[Any]) -> bool:
        """Whether it is done within the time of a request, and before the server stops."""
        ends = asyncio.FIRST_COMPLETED
        done, _ = await asyncio.wait((future, self._patience()), timeout=self._seconds, return_when=ends)
        return future in done

    def _patience(self) -> asyncio.Future[None]:
        """Done when there is none left; see `stop`."""
        if self._ended is None:
            self._ended = asyncio.get_running_loop().create_future()
        return self._ended


class _Line:
    """Requests of one tenant, of one kind."""

    __slots__ = ("running", "waiting", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        self.running = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


def check_access(access: Access, tenant: str, scope: str) -> str:
    """The name of the tenant, as it is kept, if the token allows this.

    Raises:
        InvalidRequest: no name. Forbidden: the token does not allow it.
    """
    whose = check_tenant(tenant)
    if not access.allows(whose, scope):
        raise Forbidden("the token does not allow this", hint=f"it needs the scope {scope} for this tenant")
    return whose


def _forget(work: asyncio.Future[Any]) -> None:
    """Nobody waits for this any more; whatever it raised is logged, so that it is not lost."""
    if not work.cancelled() and (error := work.exception()) is not None:
        log.warning("a request that nobody waited for any more failed: %s", error)
