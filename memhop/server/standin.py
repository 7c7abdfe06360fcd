"""`StandIn`: an empty memory that answers for one that is not there yet, so that its answers have the usual shapes."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from memhop.common.errors import Closed

if TYPE_CHECKING:
    from memhop.api.db import DB


class StandIn:
    """Made in a temporary folder when it is first needed; to be read only. Safe from many threads.

    Args:
        open_db: Opens a file, and makes it if the second argument says so.
    """

    def __init__(self, open_db: Callable[[Path, bool], DB]) -> None:
        self._open_db = open_db
        self._making = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._db: DB | None = None
        self._closed = False

    def get(self) -> DB:
        """The memory. Raises Closed after `close`, and what `open_db` raises; it is tried anew then."""
        with self._making:
            if self._closed:
                raise Closed("the server is being stopped")
            if self._db is None:
                self._folder = self._folder or tempfile.TemporaryDirectory(prefix="memhop-")
                self._db = self._open_db(Path(self._folder.name, "empty.meh"), True)
            return self._db

    def is_(self, db: DB) -> bool:
        """Whether a memory is this one."""
        return self._db is db

    def close(self) -> None:
        """Close it, and take its folder away. Nobody may use it any more."""
        with self._making:
            self._closed = True
            if self._db is not None:
                self._db.close()
                self._db = None
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None
