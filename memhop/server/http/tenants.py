"""The memories of a root folder, each open as long as it is needed.

    with tenants.use("alice") as db:
        ...

A tenant's file is opened by the first request that needs it, stays open between requests, and is closed when nobody
asked for a while or when its place is needed for another one. A file that is in use is never closed. A tenant without
a file gets one with the first thing that is stored; until then, reading it is reading an empty memory.

    opening -> open -> closing         in the table
            -> failed                  not in the table; for a moment the next ones get the same error at once

One lock guards the table. It is held to look and to enter, never while a file is opened, used or closed, so that a
slow disk keeps only those waiting who want that file.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memhop.common.errors import Busy, Closed, MemhopError, NotFound
from memhop.server.http.names import SUFFIX, check_tenant, tenant_of, tenant_path
from memhop.server.standin import StandIn

if TYPE_CHECKING:
    from memhop.api.db import DB

log = logging.getLogger("memhop.server")
CREATED, EMPTY, REFUSED = "created", "empty", "refused"  # what becomes of a memory that is missing
_OPENING, _OPEN, _CLOSING = range(3)
_MOST_REMEMBERED = 1_000  # failures
_SHARE, _LONGEST_PAUSE_S = 20, 60.0  # a file that fails slowly is tried for a twentieth of the time at most


class Counts(NamedTuple):
    """What happened since the start, and what is now.

    Attributes:
        open: Files that are open now, those that are being opened or closed too.
        used: Of them, those somebody works with.
        opens, closes: Since the start.
        failures: Attempts to open that failed, since the start.
        waiting: Requests that wait for a place.
    """

    open: int
    used: int
    opens: int
    closes: int
    failures: int
    waiting: int


class _Slot:
    """The place of one tenant in the table."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = _OPENING
        self.users = 0
        self.since = self.used = 0.0  # when it was opened, and used last
        self.worn = False  # to be closed when nobody uses it, and opened anew
        self.db: DB | None = None


class Tenants:
    """See the module. Safe from many threads; every call may take as long as a file takes to be opened.

    Args:
        root: The folder. It must exist.
        open_db: Opens a file; its second argument says whether a missing one is made.
        most_open: Files open at a time.
        idle_s: Seconds after which a file nobody asked for is closed by `close_idle`.
        queue: Most requests that wait for a place while all are in use.
        wait_s: Longest they wait.
        failure_s: Least seconds a failure is remembered, so that a damaged file is not tried by every request.

    Attributes:
        most_at_once: Tenants of whom somebody can be in `use`, or wait there.
    """

    def __init__(
        self,
        root: Path,
        open_db: Callable[[Path, bool], DB],
        *,
        most_open: int = 50,
        idle_s: float = 300.0,
        queue: int = 64,
        wait_s: float = 30.0,
        failure_s: float = 1.0,
    ) -> None:
        self.root = root
        self._open_db = open_db
        self._most_open, self._idle_s, self._queue = most_open, idle_s, queue
        self._wait_s, self._failure_s = wait_s, failure_s
        self.most_at_once = most_open + queue
        self._changed = threading.Condition(threading.Lock())
        self._slots: OrderedDict[str, _Slot] = OrderedDict()  # the least recently used first
        self._failed: OrderedDict[str, tuple[MemhopError, float]] = OrderedDict()  # name -> error, until when
        self._closed = False
        self._opens = self._closes = self._failures = self._waiting = 0
        self._standin = StandIn(open_db)

    @contextmanager
    def use(self, name: str, *, missing: str = REFUSED) -> Iterator[DB]:
        """The memory of a tenant, open for as long as the block runs.

        Args:
            missing: What happens where it has none: CREATED makes one, EMPTY lends one that is empty and is to be read
                only, REFUSED raises.

        Raises:
            InvalidRequest: no name of a tenant.
            NotFound: it has no memory.
            Busy: all places are in use, and too many wait already or it took too long.
            Closed: the server is being stopped.
            StorageError: as `DB.open`; the same error again for a moment.
        """
        name = check_tenant(name)
        if missing != CREATED and not self._is_there(name):
            if missing == REFUSED:
                raise NotFound("there is no such memory yet", hint="it begins with the first thing that is stored")
            yield self._standin.get()
            return
        slot = self._enter(name, missing == CREATED)
        assert slot.db is not None
        try:
            yield slot.db
        finally:
            self._leave(slot)

    def renew(self, name: str) -> None:
        """Close a file once nobody uses it, since its handle does not work any more; the next request opens it anew.

        A file that was opened just now stays, so that what fails at every request is not opened by each of them.
        """
        with self._changed:
            slot = self._slots.get(name)
            if slot is not None and slot.state == _OPEN and time.monotonic() - slot.since >= self._failure_s:
                slot.worn = True

    def close_idle(self) -> int:
        """Close what nobody asked for. Returns how many."""
        closed = 0
        while True:
            with self._changed:
                ripe = time.monotonic() - self._idle_s
                slot = next(
                    (one for one in self._slots.values() if _free(one) and (one.worn or one.used <= ripe)), None
                )
                if slot is None:
                    return closed
                slot.state = _CLOSING
            self._close(slot)
            closed += 1

    def close(self, wait_s: float = 5.0) -> int:
        """Close all files, each when nobody uses it any more. New requests are refused from now on.

        Returns:
            How many were still in use after `wait_s` seconds, and stay open.
        """
        until = time.monotonic() + wait_s
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._standin.close()
        while True:
            with self._changed:
                slot = next(filter(_free, self._slots.values()), None)
                if slot is None:
                    if not self._slots or not self._changed.wait(max(0.0, until - time.monotonic())):
                        return len(self._slots)
                    continue
                slot.state = _CLOSING
            self._close(slot)

    def open_names(self) -> list[str]:
        """The tenants whose files are open, sorted."""
        with self._changed:
            return sorted(slot.name for slot in self._slots.values() if slot.state == _OPEN)

    def names(self) -> list[str]:
        """The tenants that have a memory, sorted. Reads the folder."""
        files = (path for path in self.root.glob(f"*{SUFFIX}") if path.is_file() and not path.is_symlink())
        return sorted(name for name in map(tenant_of, files) if name is not None)

    def counts(self) -> Counts:
        """For metrics."""
        with self._changed:
            used = sum(slot.users > 0 for slot in self._slots.values())
            return Counts(len(self._slots), used, self._opens, self._closes, self._failures, self._waiting)

    def _is_there(self, name: str) -> bool:
        with self._changed:
            known = name in self._slots
        return known or tenant_path(self.root, name).exists()

    # -- the table -----------------------------------------------------------------------------------------------

    def _enter(self, name: str, create: bool) -> _Slot:
        """A slot that is open and counts the caller as its user."""
        until = time.monotonic() + self._wait_s
        while True:
            with self._changed:
                slot, victim = self._look(name, until)
                if slot is not None and slot.state == _OPEN:
                    return slot
            if slot is not None:
                return self._open(slot, create)
            assert victim is not None
            self._close(victim)

    def _look(self, name: str, until: float) -> tuple[_Slot | None, _Slot | None]:
        """What to do next, under the lock: use the slot, open it if it is new, or else first close the other one."""
        while True:
            if self._closed:
                raise Closed("the server is being stopped")
            slot = self._slots.get(name)
            if slot is None:
                error, forgotten = self._failed.get(name, (None, 0.0))
                if error is not None and time.monotonic() < forgotten:
                    raise error.with_traceback(None)
                if len(self._slots) < self._most_open:
                    slot = self._slots[name] = _Slot(name)
                    return slot, None
                victim = next(filter(_free, self._slots.values()), None)
                if victim is not None:
                    victim.state = _CLOSING
                    return None, victim
                self._wait_for_place(until)
            elif slot.state == _OPEN and not slot.worn:
                slot.users += 1
                self._slots.move_to_end(name)
                return slot, None
            elif _free(slot):
                slot.state = _CLOSING
                return None, slot
            elif not self._changed.wait(until - time.monotonic()):
                raise Busy("the memory is still being opened", hint="try again in a moment")

    def _wait_for_place(self, until: float) -> None:
        if self._waiting >= self._queue:
            raise Busy("too many memories are in use", hint="try again in a moment")
        self._waiting += 1
        try:
            if not self._changed.wait(until - time.monotonic()):
                raise Busy("too many memories are in use", hint="try again in a moment")
        finally:
            self._waiting -= 1

    def _open(self, slot: _Slot, create: bool) -> _Slot:
        began = time.monotonic()
        try:
            path = tenant_path(self.root, slot.name)
            slot.db = self._open_db(path, create)
        except BaseException as error:
            with self._changed:
                del self._slots[slot.name]
                if isinstance(error, MemhopError):
                    self._failures += 1
                    if slot.name not in self._failed:
                        log.warning("the memory of %s cannot be opened: %s", slot.name, error)
                    now = time.monotonic()
                    pause = max(self._failure_s, min(_SHARE * (now - began), _LONGEST_PAUSE_S))
                    self._failed[slot.name] = error, now + pause
                    if len(self._failed) > _MOST_REMEMBERED:
                        self._failed.popitem(last=False)
                self._changed.notify_all()
            raise
        with self._changed:
            self._opens += 1
            self._failed.pop(slot.name, None)
            slot.state, slot.users = _OPEN, 1
            slot.since = slot.used = time.monotonic()
            self._changed.notify_all()
        return slot

    def _leave(self, slot: _Slot) -> None:
        with self._changed:
            slot.users -= 1
            slot.used = time.monotonic()
            if not slot.users:
                self._changed.notify_all()

    def _close(self, slot: _Slot) -> None:
        """Close a slot whose state says so, and give its place away."""
        assert slot.db is not None
        try:
            slot.db.close()
        except Exception as error:  # it is over with this file, whatever it says
            log.warning("the memory of %s was not closed cleanly: %s", slot.name, error)
        finally:
            with self._changed:
                self._closes += 1
                del self._slots[slot.name]
                self._changed.notify_all()


def _free(slot: _Slot) -> bool:
    return slot.state == _OPEN and not slot.users
