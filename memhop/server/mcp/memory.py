"""`Memory`: one memory, opened when it is first needed, for a server that must answer whatever state the file is in.

Nothing is opened at start-up. A file that is missing is made by the first call that writes; until then, what reads gets
the answers of an empty memory. A file that is locked or damaged makes each call fail with the reason; since every call
tries again, a server goes on by itself when the cause is gone. A handle that failed is not used again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memhop.common.errors import Locked, StorageError
from memhop.server.standin import StandIn

if TYPE_CHECKING:
    from memhop.api.db import DB

_STORAGE_CODES = range(StorageError.code, StorageError.code + 99)


class _Handle:
    """An open memory and how many calls use it. Whoever leaves last closes one that is to be used no more."""

    def __init__(self, db: DB) -> None:
        self.db = db
        self.users = 0
        self.spent = False


class Memory:
    """See the module. Safe from many threads.

    Args:
        path: Of the file.
        open_db: Opens a file, and makes it if the second argument says so. Called with the lock held.
    """

    def __init__(self, path: Path, open_db: Callable[[Path, bool], DB]) -> None:
        self.path = path
        self._open = open_db
        self._lock = threading.Condition()
        self._handle: _Handle | None = None
        self._empty: _Handle | None = None  # answers in place of a missing file
        self._standin = StandIn(open_db)

    @contextmanager
    def use(self, *, writes: bool) -> Iterator[DB]:
        """The memory, for one call.

        Args:
            writes: Whether a missing file is made.

        Raises:
            What `DB.open` raises.
        """
        with self._lock:
            handle = self._opened(writes)
            handle.users += 1
        try:
            yield handle.db
        finally:
            with self._lock:
                handle.users -= 1
                last = handle.spent and not handle.users
                self._lock.notify_all()
            if last:
                handle.db.close()

    def is_empty(self, db: DB) -> bool:
        """Whether a memory that `use` gave stands in for a file that is not there."""
        return self._standin.is_(db)

    def failed(self, db: DB, code: object) -> None:
        """Tell that a call failed with this code of an error. After a fault of the storage the file is opened anew."""
        if code not in _STORAGE_CODES or code == Locked.code:
            return
        with self._lock:
            handle = self._handle
            if handle is None or handle.db is not db:
                return
            self._handle = None
            handle.spent = True  # the caller still uses it, and will close it

    def close(self) -> None:
        """Wait for the calls under way, and close what is open, which writes what is buffered."""
        with self._lock:
            handle = self._handle
            handles = [one for one in (handle, self._empty) if one is not None]
            self._lock.wait_for(lambda: not any(one.users for one in handles))
            self._handle = self._empty = None
        if handle is not None:
            handle.db.close()
        self._standin.close()

    def _opened(self, writes: bool) -> _Handle:
        if self._handle is not None:
            return self._handle
        if not writes and not self.path.exists():
            if self._empty is None:
                self._empty = _Handle(self._standin.get())
            return self._empty
        self._handle = _Handle(self._open(self.path, writes))
        return self._handle
