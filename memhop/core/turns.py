"""Several processes on one file: keeping up with what they write, and writing in turns with them.

mode         the side lock is held       before a write              before a read
exclusive    while the file is open      -                           -
shared       for each turn (`writing`)   catches up, cuts what a     `catch_up`
                                         killed writer left behind
read         never                       refuses                     `catch_up`
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from memhop.common.errors import MemhopError, StorageError
from memhop.core.disk import Disk, DiskFile, Lock, reason
from memhop.core.format import HEAD
from memhop.core.frame import Window
from memhop.core.gate import Gate
from memhop.core.header import newest
from memhop.core.log_state import LogState, follow, load, load_calmly, read_headers
from memhop.core.reading import Reading
from memhop.core.recovery import RecoveryReport, recover, remove_leftovers
from memhop.core.replay import last_byte
from memhop.core.writer import LogWriter

EXCLUSIVE, SHARED, READ = "exclusive", "shared", "read"
MODES = (EXCLUSIVE, SHARED, READ)
SHARED_WAIT_S = 10.0  # how long a shared handle waits for its turn unless told otherwise
_ALWAYS = nullcontext(False)  # the turn of a handle that is always in its turn
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


class Turns(Reading):
    """The part of `MehFile` that knows of other processes.

    Args:
        lock: Of the side file; an exclusive handle has taken it.
        wait: Seconds a shared handle waits for its turn.
        frozen: The handle shows the past, in which nothing is new.

    Attributes:
        mode: As it was opened.
        recovery: What opening found and did; in a shared handle, what its first turn to write found and did.
    """

    def __init__(
        self,
        path: Path,
        writer: LogWriter,
        recovery: RecoveryReport,
        *,
        disk: Disk,
        lock: Lock,
        mode: str,
        wait: float,
        now_ms: Callable[[], int],
        frozen: bool,
    ) -> None:
        super().__init__(path, writer)
        self.mode = mode
        self.recovery = recovery
        self._disk = disk
        self._now_ms = now_ms
        self._gate = Gate(lock, path, wait=wait) if mode == SHARED else None
        self._arrived = False
        self._frozen = frozen

    def catch_up(self) -> bool:
        """Take in what other processes have written since. True if there was anything.

        An exclusive handle, or one opened `at` a moment, has nothing to take in. A file that was deleted is read on as
        it was.

        Raises:
            StorageError: another memory stands at the path now, or the disk failed.

        Cost: about 5 us when there is nothing new, else as replaying what is.
        """
        self.check()
        if self.mode == EXCLUSIVE or self._frozen:
            return False
        with self.lock, self._writer.lock:
            self.check()
            try:
                return self._take_in()
            except MemhopError:
                raise
            except OSError as error:
                raise StorageError(f"cannot read {self.path}: {reason(error)}") from error

    def _take_in(self) -> bool:
        writer = self._writer
        there = self._disk.identity(self.path)
        if there is not None and there != writer.state.file.identity():
            return self._move_over()
        grown = follow(writer.state)
        if grown is None:
            return False
        if grown is not writer.state:
            self._check_uuid(grown)  # another memory may have been copied into the file
            writer.adopt(grown, on_disk=False)
        elif grown.header is not None:
            writer.floor = max(writer.floor, min(grown.header.published, grown.end))
        return True

    def _move_over(self) -> bool:
        """Go on with the file that stands at the path now: compacted, restored, or put there by mistake."""
        try:
            file, refused = open_file(self._disk, self.path, self.mode)
        except FileNotFoundError:
            return False
        fresh = load_calmly(file)
        self._check_uuid(fresh)
        self._writer.refused = self._writer.refused or refused
        self._writer.adopt(fresh, on_disk=False)
        return True

    def _check_uuid(self, found: LogState) -> None:
        if found.identity.uuid != self._writer.state.identity.uuid:
            raise StorageError(f"{self.path} is another memory now", hint="open it again")

    def writing(self, *, wait: float | None = None) -> AbstractContextManager[bool]:
        """A turn to write: other processes are kept out, and this handle knows all that they have written.

        Exclusive handles are always in their turn, so nothing happens there. What is appended in a shared handle's turn
        is made durable before it ends.

        Args:
            wait: Seconds to wait for the turn. None: as the handle was opened.

        Returns:
            A context; what it yields says whether a turn begins there: False inside another one of the same thread.

        Raises:
            Locked: others did not finish in time; names the holder.
            WriteRefused, StorageError: as `append`.
        """
        self.check()
        if self.mode == READ:
            self._writer.check()
        if self._gate is None:
            return _ALWAYS
        self._writer.check()
        return self._turn(self._gate, wait)

    @contextmanager
    def _turn(self, gate: Gate, wait: float | None) -> Iterator[bool]:
        with gate.turn(wait) as begins:
            if begins:
                with self.lock:
                    self._arrive()
            try:
                yield begins
            finally:
                if begins:
                    with self._writer.lock:
                        self._writer.end_turn()

    def _arrive(self) -> None:
        """At the begin of a turn: catch up, and cut what a killed writer has left. Needs `lock`."""
        writer = self._writer
        with writer.sync.leader, writer.lock:
            self._state()
            try:
                self._take_in()
                removed = () if self._arrived else remove_leftovers(self._disk, self.path)
                state = writer.state
                if self._residue(state):
                    state = load(state.file)
                    self.recovery = recover(self._disk, self.path, state, now_ms=self._now_ms(), removed=removed)
                    writer.adopt(state, on_disk=False)
                    writer.refused = self.recovery.refused
                    writer.check()
                headers = read_headers(state.file)
                if (live := newest(headers)) is not None:
                    state.headers, state.slot = headers, headers.index(live)
            except MemhopError:
                raise
            except OSError as error:
                raise StorageError(f"cannot read {self.path}: {reason(error)}") from error
            self._arrived = True
            writer.begin_turn()

    def _residue(self, state: LogState) -> bool:
        """Whether something stands behind the published end. After the first look, only a killed writer's batch can."""
        size = state.file.size()
        if size <= state.end:
            return False
        if self._arrived:
            return any(state.file.pread(HEAD.size, state.end))
        return last_byte(Window(state.file, size), state.end) > state.end


def open_file(disk: Disk, path: Path, mode: str) -> tuple[DiskFile, str]:
    """The file, and why it cannot be written to: a shared handle reads what it is not allowed to write."""
    if mode == READ:
        return disk.open(path, write=False), 'it was opened with mode="read"'
    try:
        return disk.open(path), ""
    except OSError as error:
        if mode != SHARED or error.errno not in _READ_ONLY:
            raise
        return disk.open(path, write=False), f"it may only be read ({reason(error)})"
