"""The writing half of a handle: append, fsync, checkpoint, and taking back what failed.

The rules for failures:
    a write fails          the file is cut back to the published end; the handle goes on. If cutting back fails
                           too, it refuses further writes.
    an fsync fails         what was not synced may be gone although it can still be read. It is taken back: in the
                           file, in memory, and, told by `epoch`, in whatever was derived. Writes are refused.
                           Not so behind the back of other processes: what they may have built on is never cut.
    a header write fails   the old header is in use; the new views stay where they are, as dead space.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from memhop.common.errors import MemhopError, StorageError, WriteRefused
from memhop.core.batch import Encoder, Write, check_kinds
from memhop.core.disk import Disk, hint_of, quietly, write_all
from memhop.core.format import COMMIT_FRAME_SIZE, DELETED, Point
from memhop.core.header import Header
from memhop.core.log_state import LogState, load, locate_healing
from memhop.core.reader import LogReader
from memhop.core.records import Entry, RecordIndex
from memhop.core.sync import GroupSync
from memhop.core.views import write_header

_STEP_LEAST = 64 * 1024
_STEP_MOST = 4 * 1024 * 1024


class LogWriter:
    """Owns the state of a handle.

    Attributes:
        state: What is known of the log; replaced as a whole by compaction, rollback, and what other processes do.
        epoch: Counts those replacements: what was derived from an older state is void.
        lock: Held for every change of `state` and every write; after `sync.leader` where both are needed.
        alone: No other process writes to the file now.
        refused: Why no more writes are taken; "" while they are.
        broken: Why not even reads are; "" while they are.
        floor: What is published below here is never taken back, so it may be mapped.
        wrote: Something was written, so closing has something to do.
    """

    def __init__(
        self,
        disk: Disk,
        path: Path,
        state: LogState,
        *,
        durability: str,
        now_ms: Callable[[], int],
        max_bytes: int | None = None,
    ) -> None:
        self.state = state
        self.epoch = 0
        self.lock = threading.RLock()
        self.alone = False
        self.refused = ""
        self.broken = ""
        self.wrote = False
        self._disk = disk
        self._path = path
        self._now_ms = now_ms
        self._max_bytes = max_bytes
        self._directory_synced = False
        self.sync = GroupSync(durability, state.covered, self.sync_all)
        self.adopt(state, on_disk=False)

    def adopt(self, state: LogState, *, on_disk: bool) -> None:
        """Go on with a state that was just loaded.

        Args:
            on_disk: All of it is there, or others build on it: it is never taken back. Else only what the header says.
        """
        if state.file is not self.state.file:
            self._directory_synced = False  # the rename that put it there may be known to the memory of another alone
        self.state = state
        self.epoch += 1
        self.allocated = state.file.size()
        if on_disk:
            self.floor, self._durable, self.sync.reached = state.end, state.head.number, state.head
        else:
            published = state.header.published if state.header else 0
            self.floor = min(published, state.end)
            self._durable, self.sync.reached = state.replay.durable, state.covered
        state.reader.remap(min(self.floor, self.allocated))

    def begin_turn(self) -> None:
        """From now on nobody else writes, and what there is was published by others: it is never taken back."""
        self.alone = True
        self.allocated = self.state.file.size()
        self.floor = self.state.end
        self._durable = max(self._durable, self.state.replay.durable)

    def end_turn(self) -> None:
        """From now on others may build on what was written."""
        self.floor = self.state.end
        self.alone = False

    def check(self) -> None:
        """Raises WriteRefused where this handle takes no writes."""
        if self.refused:
            raise WriteRefused(f"{self._path}: {self.refused}", hint="close and open the file again")

    def append(self, writes: Sequence[Write]) -> tuple[Point, tuple[Entry, ...]]:
        """Write a batch and take it into the state. Needs the lock; raises as `MehFile.append`."""
        self.check()
        state = self.state
        self._check_place()
        check_kinds(writes, lambda id_: locate_healing(state, id_))
        encoder = Encoder(state.identity.salt, state.head, state.end)
        refs = [encoder.add(write) for write in writes]
        time_ms = max(self._now_ms(), state.head.time_ms)
        point = encoder.close(state.head.number + 1, time_ms, self._durable)
        self._check_quota(point.end, writes)
        self._reserve(point.end)
        self.wrote = True
        data = encoder.take()
        try:
            write_all(state.file, data, state.end)
        except OSError as error:
            raise self._taken_back(error) from error
        entries = state.records.apply(refs)
        state.tail += entries
        state.head = point
        state.end = point.end
        state.mark = bytes(data[-COMMIT_FRAME_SIZE:])
        self.allocated = max(self.allocated, point.end)
        return point, entries

    def _check_place(self) -> None:
        """What goes into a file without a name is gone at close."""
        try:
            there = self._disk.identity(self._path)
        except OSError as error:
            raise StorageError(f"cannot look at {self._path}: {error}") from error
        if there != self.state.file.identity():
            raise StorageError(
                f"{self._path} was deleted or replaced while it was open; nothing was written",
                hint="put the file back, or open it again",
            )

    def _check_quota(self, end: int, writes: Sequence[Write]) -> None:
        if self._max_bytes is None or end <= self._max_bytes or any(write.flags & DELETED for write in writes):
            return  # what erases is always taken, or nothing could be done about a full file
        raise StorageError(
            f"{self._path} would grow to {end:,} bytes; nothing was written",
            hint=f"erase and compact, or allow more than max_bytes={self._max_bytes:,}",
        )

    def _reserve(self, end: int) -> None:
        """Grow the file ahead of the log. Only saves time, so failing is nothing: the write itself will tell."""
        if end <= self.allocated:
            return
        step = min(_STEP_MOST, max(_STEP_LEAST, self.allocated))
        target = -(-end // step) * step
        try:
            self.state.file.allocate(self.allocated, target - self.allocated)
            self.allocated = target
        except OSError:
            pass

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Around a write behind the published end: cut the file back if it fails. Needs the lock."""
        try:
            yield
        except OSError as error:
            raise self._taken_back(error) from error

    def _taken_back(self, error: OSError) -> OSError:
        """Cut the file back to the published end after a failed write; what to raise."""
        try:
            self.state.file.truncate(self.state.end)
            self.allocated = self.state.end
        except OSError:
            self.refused = f"a write failed ({error}) and could not be taken back"
        if isinstance(error, MemhopError):
            return error
        return StorageError(f"cannot write {self._path}: {error}", hint=hint_of(error))

    def sync_all(self) -> None:
        """Put on the disk what is written, or roll back and refuse. Needs the leader lock."""
        with self.lock:
            self.check()
            state = self.state
            target, end = state.head, state.end
        try:
            state.file.fsync()
            if not self._directory_synced:  # a rename of an earlier process may be known to its memory alone
                self._disk.sync_directory(self._path.parent)
                self._directory_synced = True
        except OSError as error:
            with self.lock:
                self._roll_back(error)
            raise StorageError(f"cannot sync {self._path}: {error}", hint="close and open it again") from error
        with self.lock:
            self.sync.reached = target
            self.floor = end
            self._durable = target.number

    def _roll_back(self, error: OSError) -> None:
        self.refused = f"an fsync failed ({error})"
        if not self.alone:
            return
        file = self.state.file
        quietly(lambda: file.truncate(self.floor))
        quietly(file.fsync)  # else a crash might bring back what the caller is told has failed
        try:
            self.adopt(load(file, end=self.floor), on_disk=True)
        except OSError as second:
            self.broken = f"an fsync failed ({error}), then reading the file ({second})"

    def write_header(self, header: Header) -> None:
        """Overwrite the older header and sync it. What it names must be synced. Needs leader and lock."""
        slot = 1 - self.state.slot
        try:
            write_header(self.state.file, slot, header)
        except OSError as error:
            raise StorageError(f"cannot write the header of {self._path}: {error}", hint=hint_of(error)) from error
        self.sync_all()
        headers = [*self.state.headers]
        headers[slot] = header
        self.state.headers = (headers[0], headers[1])
        self.state.slot = slot

    def moved(self) -> None:
        """After a rename: go on only once the directory is on the disk. Needs leader and lock."""
        self.sync.reached = self.state.head
        self.wrote = True
        self._directory_synced = False
        try:
            self._disk.sync_directory(self._path.parent)
        except OSError as error:
            self.refused = f"the directory could not be synced after compaction ({error})"
            hint = "close and open it again"
            raise StorageError(f"cannot sync the directory of {self._path}: {error}", hint=hint) from error
        self._directory_synced = True

    def settle(self) -> None:
        """Before closing: sync, let the header say so, give reserved space back. Needs leader and lock.

        Does nothing if nothing was written, and only syncs where other processes may be writing.
        """
        if not self.wrote or self.refused:
            return
        state = self.state
        header = state.header
        if self.sync.reached != state.head:
            self.sync_all()
        if not self.alone:
            return
        if header is None or header.durable != state.head or header.published != state.end:
            manifest = state.manifest_offset
            self.write_header(next_header(state, covered=state.covered, manifest=manifest))
        if state.file.size() > state.end:
            state.file.truncate(state.end)
        self.wrote = False

    def let_go(self) -> None:
        """Close the file and forget its memory map, which goes when the last view of it does. Needs the lock."""
        state = self.state
        state.file.close()
        reader = LogReader(state.file, state.identity.salt)
        self.state = replace(state, reader=reader, records=RecordIndex((), reader.size_of), tail=[])


def next_header(state: LogState, *, covered: Point, manifest: int) -> Header:
    """The header that follows the live one, for a log that is synced up to `state.end`."""
    identity = state.identity
    return Header(
        identity.uuid,
        identity.salt,
        identity.generation,
        identity.created_ms,
        state.header.sequence + 1 if state.header else 1,
        covered,
        manifest,
        state.head,
        state.end,
    )
