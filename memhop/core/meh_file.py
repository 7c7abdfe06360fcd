"""A `.meh` file in use: open, read, append, checkpoint, compact, verify, close.

What a handle knows of the log is one `LogState`. Reading takes the lock of the handle for as long as it takes to look
something up; appending for one pwrite; waiting for fsync happens outside (core/sync.py). What has to do with other
processes is in core/turns.py.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from memhop.common.errors import BadFormat, Corrupt, InvalidRequest, MemhopError, StorageError
from memhop.core.batch import Write, check_writes
from memhop.core.create import create as create_file
from memhop.core.disk import Disk, FileDisk, Lock, hint_of, reason
from memhop.core.format import DELETED, PURGED
from memhop.core.frame import Window
from memhop.core.log_state import load, load_calmly, read_identity, rebuild_base
from memhop.core.manifest import check_meta
from memhop.core.records import Entry
from memhop.core.recovery import RecoveryReport, found, recover, remove_leftovers
from memhop.core.segment import Segment, check_sections
from memhop.core.side_files import beside
from memhop.core.sync import FULL
from memhop.core.turns import EXCLUSIVE, MODES, READ, SHARED, SHARED_WAIT_S, Turns, open_file
from memhop.core.writer import LogWriter

if TYPE_CHECKING:
    from memhop.core.backup import Original
    from memhop.core.compaction import CompactReport
    from memhop.core.merge import Merge
    from memhop.core.past import Moment
    from memhop.core.segment import SectionData
    from memhop.core.snapshot import Snapshot
    from memhop.core.verify import VerifyReport

__all__ = ["DELETED", "PURGED", "Commit", "Entry", "MehFile", "RecoveryReport", "Segment", "Write"]


class Commit(NamedTuple):
    """One append as it stands in the log; `end` is the published end just after it."""

    number: int
    time_ms: int
    entries: tuple[Entry, ...]
    end: int


class _Plan(NamedTuple):
    number: int
    suffix: tuple[Segment, ...]


def _system_now_ms() -> int:
    return time.time_ns() // 1_000_000


class MehFile(Turns):
    """An open file. Safe from several threads; made by `open`, ended by `close` or a `with` block.

    `path` is that of the file, symbolic links resolved.
    """

    def __init__(
        self,
        path: Path,
        disk: Disk,
        lock: Lock,
        *,
        mode: str,
        durability: str,
        wait: float,
        now_ms: Callable[[], int],
        max_bytes: int | None,
        at: Moment | None,
    ) -> None:
        """Not for callers: use `open`."""
        self._side_lock = lock
        self._plan: _Plan | None = None
        removed = remove_leftovers(disk, path) if mode == EXCLUSIVE else ()
        file, refused = open_file(disk, path, mode)
        if mode == EXCLUSIVE and file.identity() != disk.identity(path):
            raise StorageError(f"{path} was replaced while it was being opened", hint="open it again")
        state = load(file) if mode == EXCLUSIVE else load_calmly(file)
        if at is not None:
            from memhop.core.past import state_at

            state = state_at(state, at)
        writer = LogWriter(disk, path, state, durability=durability, now_ms=now_ms, max_bytes=max_bytes)
        if mode == EXCLUSIVE:
            recovery = recover(disk, path, state, now_ms=now_ms(), removed=removed)
            writer.refused = recovery.refused
            writer.adopt(state, on_disk=True)
            writer.wrote = recovery.cut_bytes > 0
            writer.alone = True
        else:
            recovery = found(state)
            writer.refused = refused
        frozen = at is not None
        super().__init__(
            path, writer, recovery, disk=disk, lock=lock, mode=mode, wait=wait, now_ms=now_ms, frozen=frozen
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        mode: str = EXCLUSIVE,
        durability: str = FULL,
        wait: float | None = None,
        create: bool = True,
        purpose: str = "memhop",
        max_bytes: int | None = None,
        at: Moment | None = None,
        disk: Disk | None = None,
        now_ms: Callable[[], int] = _system_now_ms,
    ) -> MehFile:
        """Open a file, or make a new one.

        Args:
            path: Of the file; its directory must exist. Symbolic links are followed.
            mode: "exclusive": no other handle can write to the file until this one is closed. "shared": handles of
                any number of processes write in turns. "read": never locks and never writes. See the module.
            durability: "full" (on disk when a call returns), "relaxed" (within 200 ms), "none" (at checkpoint and
                close).
            wait: Seconds to wait for another holder: exclusive handles once, at opening, shared ones for each turn.
                None: 0 and `SHARED_WAIT_S`.
            create: Make the file if there is none; mode "read" never does.
            purpose: Told to whoever finds the file locked.
            max_bytes: The file may not grow beyond by what is appended; what erases is always taken. None: no limit.
            at: Show the file as it was at this moment, for ever; mode "read" only. None: the newest commit.
            disk: Where files live. None: the operating system's.
            now_ms: The clock, Unix milliseconds; commit times never go backwards even if it does.

        Raises:
            Locked: another handle holds it.
            BadFormat: not a .meh file, or a newer version; nothing is changed.
            StorageError: no such file or directory, no permission, or the disk failed.
            InvalidRequest: mode or durability unknown, or nothing is left of the moment `at`.

        Cost: O(segments + frames behind the newest checkpoint), then O(1) per call.
        """
        if mode not in MODES or (at is not None and mode != READ):
            raise InvalidRequest(f"{mode!r:.40} does not do", field="mode", allowed=READ if at else ", ".join(MODES))
        if sys.byteorder != "little":
            raise StorageError("a .meh file is used in place and needs a little-endian machine")
        if wait is None:
            wait = SHARED_WAIT_S if mode == SHARED else 0.0
        real = _real(path)
        disk = disk or FileDisk()
        lock = disk.lock(beside(real, ".lock"), purpose=purpose)
        create = create and mode != READ
        try:
            missing = _look_first(disk, real, create, write=mode == EXCLUSIVE)
            if mode == EXCLUSIVE or missing:
                lock.acquire(wait)
                if create and disk.identity(real) is None:
                    remove_leftovers(disk, real)
                    create_file(disk, real, now_ms=now_ms())
                if mode != EXCLUSIVE:
                    lock.release()
            return cls(
                real,
                disk,
                lock,
                mode=mode,
                durability=durability,
                wait=wait,
                now_ms=now_ms,
                max_bytes=max_bytes,
                at=at,
            )
        except BaseException as error:
            lock.release()
            if isinstance(error, BadFormat):
                raise BadFormat(f"{real}: {error.message}", hint=error.hint) from None
            if isinstance(error, OSError) and not isinstance(error, MemhopError):
                raise StorageError(f"cannot open {real}: {reason(error)}", hint=hint_of(error)) from error
            raise

    def append(self, writes: Sequence[Write], *, wait: bool = True) -> Commit:
        """Write a batch: one commit, all or nothing, visible at once, durable when the call returns.

        Args:
            writes: At least one. An id may occur more than once; the last one counts.
            wait: False returns once the batch is written; call `sync(commit.number)` before telling anyone. A shared
                handle waits all the same, unless it is in a turn.

        Raises:
            InvalidRequest: a field is out of range, or a live id would change its kind. Nothing was written.
            Locked: another process did not finish its turn in time. Nothing was written.
            StorageError: the disk failed, the file is no longer at its path, or `max_bytes` is reached. The batch is
                not in the file, or (a failed fsync) was taken back.
            WriteRefused: an earlier failure needs a reopen, or the handle is for reading.

        Cost: one pwrite and, shared with other threads, one fsync.
        """
        check_writes(writes)
        with self.writing() as own_turn:
            with self._writer.lock:
                self._state()
                point, entries = self._writer.append(writes)
            if wait or own_turn:
                self.sync(point.number)
        return Commit(point.number, point.time_ms, entries, point.end)

    def sync(self, commit_number: int) -> None:
        """Return when a commit has the durability this handle promises. Raises as `append` does."""
        self._state()
        self._writer.sync.after_write(commit_number)

    def flush(self) -> None:
        """Put everything on the disk now, whatever the durability level. Raises as `append` does."""
        self._writer.sync.force(self._state().head.number)

    def plan_checkpoint(self, *, everything: bool = False) -> Sequence[Segment]:
        """The newest segments which the next `checkpoint` will merge with what is new.

        The caller merges its own sections of them. Nothing may be appended between this call and `checkpoint`: a shared
        handle makes both in one turn.

        Args:
            everything: All segments, so that views can be rebuilt from scratch.
        """
        with self._writer.lock:
            state = self._state()
            try:
                suffix = state.records.plan(everything=everything)
            except Corrupt:
                rebuild_base(state)
                suffix = state.records.plan(everything=True)
            self._plan = _Plan(state.head.number, suffix)
            return suffix

    def checkpoint(self, sections: Mapping[str, SectionData], *, meta: Mapping[str, Any]) -> None:
        """Write a segment that merges `plan_checkpoint()` and what is new, a manifest, and a header naming them.

        Does nothing if no commit lies behind the newest checkpoint, no segment was planned and `meta` is the same.

        Args:
            sections: Name -> (typecode, buffer), typecodes B H I Q i q f d. Stored as they are.
            meta: JSON values that `meta` returns while this is the newest checkpoint.

        Raises:
            InvalidRequest: a section or meta cannot be stored, or commits came after `plan_checkpoint`.
            StorageError, WriteRefused: as `append`. The old checkpoint stays in use.

        Cost: O(bytes of the sections), two fsyncs.
        """
        from memhop.core.checkpoint import checkpoint

        check_sections(sections)
        meta = check_meta(meta)
        with self.writing(), self._writer.sync.leader, self._writer.lock:
            state = self._state()
            if self._plan is None:
                self.plan_checkpoint()
            plan, self._plan = self._plan, None
            if plan is not None and plan.number != state.head.number:
                raise InvalidRequest(
                    f"planned at commit {plan.number}, now at {state.head.number}",
                    field="sections",
                    allowed="plan_checkpoint() and checkpoint() with no append between them",
                )
            fresh = state.head.number > state.covered.number or bool(plan and plan.suffix)
            if plan is not None and (fresh or meta != self.meta):
                checkpoint(self._writer, plan.suffix if fresh else None, sections, meta)

    def plan_merge(self) -> Merge | None:
        """Segments that make up a full one by now, to be merged beside the writing of commits; None: it is not time."""
        from memhop.core.merge import Merge

        with self._writer.lock:
            suffix = self._state().records.waiting()
            return Merge(self, self._writer, suffix) if suffix else None

    def compact(
        self,
        sections_of: Callable[[], Mapping[str, SectionData]],
        *,
        meta: Mapping[str, Any],
        keep_history: bool = False,
    ) -> CompactReport:
        """Rewrite the file without its dead bytes, under its own name. Offsets change; ids, uuid, numbers stay.

        Args:
            sections_of: Gives the caller's sections for one segment that covers everything. Called with the
                handle locked; must not keep offsets, and must not write.
            meta: As for `checkpoint`.
            keep_history: Keep superseded versions and every commit; only versions of purged ids go.

        Raises:
            Corrupt: a live record (with history: any frame) is damaged; `repair` first.
            StorageError, WriteRefused: as `append`. The file is as it was.

        Cost: reads and writes every live byte twice. Writers and `buffer` wait for it, other readers do not.
        """
        from memhop.core.compaction import compact

        meta = check_meta(meta)
        with self.writing(), self._writer.sync.leader, self._writer.lock:
            self._state()
            self._plan = None
            return compact(
                self._disk,
                self.path,
                self._writer,
                sections_of,
                meta,
                keep_history=keep_history,
                now_ms=self._now_ms,
            )

    def verify(self, *, deep: bool = False) -> VerifyReport:
        """Check every byte that means something, while others read and write. See core/verify.py.

        Args:
            deep: Also check the sections of older manifests, and the record index against the log.
        """
        from memhop.core.verify import verify

        if self._frozen:
            raise InvalidRequest("the past is no file of its own", field="at", allowed="a handle of the whole file")
        self.catch_up()
        try:
            return verify(self._state(), deep=deep, lock=self._writer.lock, alone=self.mode == EXCLUSIVE)
        except MemhopError:
            raise
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {reason(error)}") from error

    def snapshot(self) -> Snapshot:
        """The records of this moment, to be read without keeping writers waiting. See core/snapshot.py."""
        from memhop.core.snapshot import Snapshot

        self.check()
        with self._writer.lock:
            return Snapshot(self.path, self._state().frozen())

    def original(self) -> Original:
        """A commit that holds all that was acknowledged, to be copied without a lock; see core/backup.py.

        It is put on the disk first, unless the handle cannot write: that copies what it sees, one opened `at` a moment
        the file as it was then. Close it afterwards.

        Raises:
            Locked: others did not let a shared handle have its turn. StorageError: as `flush`.
        """
        from memhop.core.backup import Original

        with nullcontext() if self._writer.refused else self.writing():
            if self._writer.refused:
                self.catch_up()
            else:
                self.flush()
            with self._writer.lock:
                state, writer = self._state(), self._writer
                head, end = writer.sync.reached, writer.floor  # another thread may have appended since
                if writer.refused and self.mode != EXCLUSIVE:
                    head, end = state.head, state.end
                return Original.of(self._disk, self.path, state, head, end)

    def close(self) -> None:
        """Sync what was written, give the lock and reserved space back. A second call does nothing.

        Views of the file stay valid. A forked child's close leaves everything to the parent. A shared handle that finds
        another at work leaves the reserved space to that one.

        Raises:
            StorageError: the last sync failed; the handle is closed all the same.
        """
        if self._closed or self.inherited:
            return
        writer = self._writer
        writer.sync.cancel()
        try:
            with ExitStack() as turn:
                if writer.wrote and not writer.refused:
                    with suppress(StorageError):
                        turn.enter_context(self.writing(wait=0.0))
                with writer.sync.leader, writer.lock:
                    self._close()
        except MemhopError:
            raise
        except OSError as error:
            raise StorageError(f"cannot close {self.path}: {reason(error)}") from error

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            if not self._writer.broken:
                self._writer.settle()
        finally:
            self._writer.let_go()
            if self.mode == EXCLUSIVE:
                self._side_lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _real(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(os.path.realpath(path))
    except OSError as error:  # a relative path, and the current folder was removed
        raise StorageError(f"cannot open {path}: {reason(error)}", hint="give the whole path") from error


def _look_first(disk: Disk, path: Path, create: bool, *, write: bool) -> bool:
    """Refuse what is no .meh file, or may not be written to, before a side file is left beside it.

    Returns True if there is nothing, and it may be made.
    """
    if disk.identity(path) is None:
        if not create:
            raise StorageError(f"there is no file {path}", hint="check the path, or open with create=True")
        return True
    file = disk.open(path, write=write)
    try:
        read_identity(file, Window(file, file.size()))
    finally:
        file.close()
    return False
