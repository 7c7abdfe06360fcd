"""Group commit: threads that wait for durability share one fsync.

Whoever gets the leader lock first syncs for all that has been written; those who queued behind find the work done.
Lock order, everywhere in core: leader, then the lock of the handle.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from memhop.common.errors import InvalidRequest
from memhop.core.format import Point

FULL, RELAXED, NONE = "full", "relaxed", "none"
LEVELS = (FULL, RELAXED, NONE)
RELAXED_MS = 200  # at most this long is a commit in memory of the operating system alone


class GroupSync:
    """The durability of one handle.

    Args:
        level: "full", "relaxed" or "none".
        reached: What counts as safe from the start.
        sync: Syncs all that is written; raises after having dealt with a failure. Called with `leader` held.

    Attributes:
        leader: Held by whoever syncs.
        reached: The newest commit that is on the disk.
    """

    def __init__(self, level: str, reached: Point, sync: Callable[[], None]) -> None:
        if level not in LEVELS:
            raise InvalidRequest(f"{level!r}", field="durability", allowed=", ".join(LEVELS))
        self.level = level
        self.leader = threading.Lock()
        self.reached = reached
        self._sync = sync
        self._timer: threading.Timer | None = None
        self._cancelled = False
        self._timer_guard = threading.Lock()

    def after_write(self, number: int) -> None:
        """Return when commit `number` has what the level promises: on disk, within 200 ms, or nothing."""
        late = self.level == RELAXED and self.reached.number < number
        if self.level == FULL or (late and not self._timer_runs()):
            self.force(number)

    def force(self, number: int) -> None:
        """Return when commit `number` is on disk."""
        if self.reached.number < number:
            with self.leader:
                if self.reached.number < number:
                    self._sync()

    def _timer_runs(self) -> bool:
        """Start the timer unless it runs. False where no thread can be started, as while the interpreter ends."""
        with self._timer_guard:
            if self._timer is None:
                timer = threading.Timer(RELAXED_MS / 1000, self._on_timer)
                timer.daemon = True
                try:
                    timer.start()
                except RuntimeError:
                    return False
                self._timer = timer
            return True

    def cancel(self) -> None:
        """No timer syncs after this, except one that is at it."""
        with self._timer_guard:
            self._cancelled = True
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _on_timer(self) -> None:
        with self._timer_guard:
            self._timer = None
        with suppress(OSError), self.leader:  # a failed handle refuses writes; the next append tells its caller
            if not self._cancelled:
                self._sync()
