"""A `.meh` file in use: open, read, append, checkpoint, compact, verify, close.

One handle has one lock; what is known of the log is one `LogState`. Reading takes the lock for as long as it
takes to look something up; appending for one pwrite; waiting for fsync happens outside (core/sync.py).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from memhop.common.errors import BadFormat, Corrupt, InvalidRequest, MemhopError, StorageError
from memhop.core.batch import Write, check_writes
from memhop.core.create import create as create_file
from memhop.core.disk import Disk, FileDisk, Lock, reason
from memhop.core.format import DELETED, PURGED
from memhop.core.frame import Window
from memhop.core.log_state import load, read_identity, rebuild_base
from memhop.core.manifest import check_meta
from memhop.core.reading import Reading
from memhop.core.records import Entry
from memhop.core.recovery import RecoveryReport, beside, recover, remove_leftovers
from memhop.core.segment import Segment, check_sections
from memhop.core.sync import FULL
from memhop.core.writer import LogWriter

if TYPE_CHECKING:
    from memhop.core.backup import Snapshot
    from memhop.core.compaction import CompactReport
    from memhop.core.segment import SectionData
    from memhop.core.verify import VerifyReport

__all__ = ["DELETED", "PURGED", "Commit", "Entry", "MehFile", "RecoveryReport", "Segment", "Write"]

EXCLUSIVE = "exclusive"
MODES = (EXCLUSIVE,)


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


class MehFile(Reading):
    """An open file. Safe from several threads; made by `open`, ended by `close` or a `with` block.

    Attributes:
        path: Of the file, symbolic links resolved.
        recovery: What opening found and did.
        on_rollback: Called, without any lock held, after a failed fsync has taken back commits that were
            visible: drop what was derived from the log and start again from `segments()` and `tail()`.
    """

    recovery: RecoveryReport
    on_rollback: list[Callable[[], None]]

    def __init__(self, path: Path, disk: Disk, lock: Lock, durability: str, now_ms: Callable[[], int]) -> None:
        """Not for callers: use `open`."""
        self.on_rollback = []
        self._disk = disk
        self._side_lock = lock
        self._now_ms = now_ms
        self._plan: _Plan | None = None
        removed = remove_leftovers(disk, path)
        file = disk.open(path)
        if file.identity() != disk.identity(path):
            raise StorageError(f"{path} was replaced while it was being opened", hint="open it again")
        state = load(file)
        self.recovery = recover(disk, path, state, now_ms=now_ms(), removed=removed)
        refused = self.recovery.refused
        super().__init__(path, LogWriter(disk, path, state, durability=durability, now_ms=now_ms, refused=refused))
        self._writer.wrote = self.recovery.cut_bytes > 0
        self._writer.sync.after_failure = self._tell_rollback

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        mode: str = EXCLUSIVE,
        durability: str = FULL,
        wait: float = 0.0,
        create: bool = True,
        purpose: str = "memhop",
        disk: Disk | None = None,
        now_ms: Callable[[], int] = _system_now_ms,
    ) -> MehFile:
        """Open a file, or make a new one.

        Args:
            path: Of the file; its directory must exist. Symbolic links are followed.
            mode: "exclusive": no other handle can open the file until this one is closed.
            durability: "full" (on disk when a call returns), "relaxed" (within 200 ms), "none" (at checkpoint and
                close).
            wait: Seconds to wait for another holder; 0 fails at once.
            create: Make the file if there is none.
            purpose: Told to whoever finds the file locked.
            disk: Where files live. None: the operating system's.
            now_ms: The clock, Unix milliseconds; commit times never go backwards even if it does.

        Raises:
            Locked: another handle holds it.
            BadFormat: not a .meh file, or a newer version; nothing is changed.
            StorageError: no such file or directory, no permission, or the disk failed.
            InvalidRequest: mode or durability unknown.

        Cost: O(segments + frames behind the newest checkpoint), then O(1) per call.
        """
        if mode not in MODES:
            raise InvalidRequest(f"{mode!r}", field="mode", allowed=", ".join(MODES))
        if sys.byteorder != "little":
            raise StorageError("a .meh file is used in place and needs a little-endian machine")
        real = Path(os.path.realpath(path))
        disk = disk or FileDisk()
        lock: Lock | None = None
        try:
            _look_first(disk, real, create)
            lock = disk.lock(beside(real, ".lock"), wait=wait, purpose=purpose)
            if create and disk.identity(real) is None:
                remove_leftovers(disk, real)
                create_file(disk, real, now_ms=now_ms())
            return cls(real, disk, lock, durability, now_ms)
        except BaseException as error:
            if lock is not None:
                lock.release()
            if isinstance(error, BadFormat):
                raise BadFormat(f"{real}: {error.message}", hint=error.hint) from None
            if isinstance(error, OSError) and not isinstance(error, MemhopError):
                raise StorageError(f"cannot open {real}: {reason(error)}", hint=_hint(error)) from error
            raise

    def append(self, writes: Sequence[Write], *, wait: bool = True) -> Commit:
        """Write a batch: one commit, all or nothing, visible at once, durable when the call returns.

        Args:
            writes: At least one. An id may occur more than once; the last one counts.
            wait: False returns once the batch is written; call `sync(commit.number)` before telling anyone.

        Raises:
            InvalidRequest: a field is out of range, or a live id would change its kind. Nothing was written.
            StorageError: the disk failed. The batch is not in the file, or (a failed fsync) was taken back.
            WriteRefused: an earlier failure needs a reopen.

        Cost: one pwrite and, shared with other threads, one fsync.
        """
        check_writes(writes)
        with self._writer.lock:
            self._state()
            point, entries = self._writer.append(writes)
        if wait:
            self.sync(point.number)
        return Commit(point.number, point.time_ms, entries, point.end)

    def sync(self, commit_number: int) -> None:
        """Return when a commit has the durability this handle promises. Raises as `append` does."""
        self._state()
        try:
            self._writer.sync.after_write(commit_number)
        finally:
            self._tell_rollback()

    def flush(self) -> None:
        """Put everything on the disk now, whatever the durability level. Raises as `append` does."""
        number = self._state().head.number
        try:
            self._writer.sync.force(number)
        finally:
            self._tell_rollback()

    def plan_checkpoint(self, *, everything: bool = False) -> Sequence[Segment]:
        """The newest segments which the next `checkpoint` will merge with what is new.

        The caller merges its own sections of them. Nothing may be appended between this call and `checkpoint`.

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
        try:
            with self._writer.sync.leader, self._writer.lock:
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
        finally:
            self._tell_rollback()

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
        try:
            with self._writer.sync.leader, self._writer.lock:
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
        finally:
            self._tell_rollback()

    def verify(self, *, deep: bool = False) -> VerifyReport:
        """Check every byte that means something. See core/verify.py.

        Args:
            deep: Also check the sections of older manifests, and the record index against the log.
        """
        from memhop.core.verify import verify

        with self._writer.lock:
            try:
                return verify(self._state(), deep=deep)
            except MemhopError:
                raise
            except OSError as error:
                raise StorageError(f"cannot read {self.path}: {reason(error)}") from error

    def snapshot(self) -> Snapshot:
        """The newest commit, put on the disk, to be copied without a lock; see core/backup.py. Close it afterwards.

        Raises as `flush`.
        """
        from memhop.core.backup import Snapshot

        self.flush()
        with self._writer.lock:
            state, writer = self._state(), self._writer
            reached, end = writer.sync.reached, writer.floor  # another thread may have appended since
            file = state.file.duplicate()
            return Snapshot(
                self._disk, self.path, file, state.identity, state.covered, state.manifest_offset, reached, end
            )

    def close(self) -> None:
        """Sync what was written, give the lock and reserved space back. A second call does nothing.

        Views of the file stay valid. A forked child's close leaves everything to the parent.

        Raises:
            StorageError: the last sync failed; the handle is closed all the same.
        """
        if self._closed or os.getpid() != self._pid:
            return
        writer = self._writer
        writer.sync.cancel()
        try:
            with writer.sync.leader, writer.lock:
                if not self._closed:
                    self._closed = True
                    try:
                        if not writer.broken:
                            writer.settle()
                    finally:
                        writer.state.file.close()
                        self._side_lock.release()
        except MemhopError:
            raise
        except OSError as error:
            raise StorageError(f"cannot close {self.path}: {reason(error)}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _tell_rollback(self) -> None:
        """Without any lock held: the callbacks take the caller's locks."""
        with self._writer.lock:
            tell, self._writer.rolled_back = self._writer.rolled_back, False
        if tell:
            for callback in list(self.on_rollback):
                callback()


def _look_first(disk: Disk, path: Path, create: bool) -> None:
    """Refuse what is no .meh file before a side file is left beside it. Raises OSError, BadFormat."""
    if disk.identity(path) is None:
        if not create:
            raise StorageError(f"there is no file {path}", hint="check the path, or open with create=True")
        return
    file = disk.open(path, write=False)
    try:
        read_identity(file, Window(file, file.size()))
    finally:
        file.close()


def _hint(error: OSError) -> str | None:
    if isinstance(error, FileNotFoundError):
        return "create the directory first"
    return "check its permissions" if isinstance(error, PermissionError) else None
