"""The thread that looks after retention while a memory is open: at once if that is overdue, then from time to time."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Final

from memhop.api.maintenance import Policy, due_at, maintain
from memhop.common.errors import Closed, Locked

if TYPE_CHECKING:
    from memhop.api.calls.handle import Handle

_LONGEST_S: Final = 900.0  # between two looks at the clock, which may be set, and at what other processes did
_SHORTEST_S: Final = 0.05
_PAUSE_S: Final = 60.0  # after a failure
_PATIENCE_S: Final = 5.0  # of `close`


class Keeper:
    """Maintenance by itself, for one handle.

    Attributes:
        last_error: Why it did not come to its end the last time, None if it did. One line.
    """

    def __init__(self, db: Handle, refused: str) -> None:
        """
        Args:
            refused: Why the handle takes no writes; then nothing is begun. "": it does.

        Raises:
            ConfigError: the retention of the config does not do.
        """
        self.last_error: str | None = None
        self._policy = Policy(db._config.retention)
        self._db = weakref.ref(db)  # a handle that nobody holds any more is not kept open by this
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if not refused and self._policy.every_ms:
            self._thread = threading.Thread(target=self._run, name="memhop maintenance", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:  # no more threads
                self._thread, self.last_error = None, str(error)

    def close(self) -> None:
        """None begins after this. Waits for one that is under way, up to 5 s."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            try:
                pause = self._once()
            except Closed:
                return
            except Locked:  # another process is at it
                pause = _PAUSE_S
            except Exception as error:  # nobody waits for this, so that nobody could catch it
                self.last_error = " ".join(str(error).split()) or type(error).__name__
                pause = _PAUSE_S

    def _once(self) -> float:
        """Look after it if it is due. Returns the seconds until the next look."""
        db = self._db()
        if db is None:
            raise Closed("nobody holds the memory any more")
        store = db._store
        if due_at(store, self._policy) <= store.clock.now_ms():
            maintain(store, self._policy, db._schemas, overdue=True)
        self.last_error = None
        left = (due_at(store, self._policy) - store.clock.now_ms()) / 1000
        return min(max(left, _SHORTEST_S), _LONGEST_S)
