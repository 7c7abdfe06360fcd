"""Turns: where several processes write to one file, one thread of one of them does so at a time.

Lock order, everywhere in core: the threads of the handle, the side file, `Reading.lock`, then those of core/sync.py.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memhop.common.errors import Locked
from memhop.core.disk import Lock


class Gate:
    """The turns of one shared handle.

    Args:
        lock: Between handles.
        wait: Seconds to wait for a turn by default.
    """

    def __init__(self, lock: Lock, path: Path, *, wait: float) -> None:
        self._lock = lock
        self._path = path
        self._wait = wait
        self._threads = threading.RLock()
        self._inside = False

    @contextmanager
    def turn(self, wait: float | None = None) -> Iterator[bool]:
        """Hold the lock. Yields False inside a turn that this thread has already.

        Args:
            wait: Seconds; None: as the handle was opened.

        Raises:
            Locked: others did not finish in time.
        """
        seconds = self._wait if wait is None else wait
        deadline = time.monotonic() + seconds
        if not self._threads.acquire(timeout=seconds):
            raise Locked(str(self._path), pid=os.getpid(), host="this host", purpose="another thread")
        try:
            if self._inside:
                yield False
                return
            self._lock.acquire(max(0.0, deadline - time.monotonic()))
            self._inside = True
            try:
                yield True
            finally:
                self._inside = False
                self._lock.release()
        finally:
            self._threads.release()
