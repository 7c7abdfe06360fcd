"""Backup: one commit of an open file, copied into a whole .meh file of its own while others write.

Published bytes never change, so copying them needs no lock: which ones is settled beforehand, and later commits
lie behind them. The copy keeps UUID, salt and generation; frames stay at their offsets and verify there. Only the
header is written anew, with sequence 1, so that two copies of one commit are equal byte by byte.

A copy grows under a temporary name, is synced, then checked from its first byte to its last, and only then gets its
own name. Whoever writes a temporary has claimed it. One that nobody has claimed was left by a process that died,
and the next copy to that place removes it. Neither its age nor the pid of its writer would do as a sign: a process
can be stopped for hours, and one in another container has pids of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from memhop.common.errors import BadFormat, Corrupt, InvalidRequest, Locked, MemhopError, StorageError
from memhop.core.disk import Disk, DiskFile, FileDisk, hint_of, quietly, reason, write_all
from memhop.core.format import HEADER_OFFSETS, HEADER_SIZE, LOG_START, Point
from memhop.core.frame import Window
from memhop.core.header import Header, Identity
from memhop.core.log_state import LogState, load, read_identity
from memhop.core.recovery import LEFTOVERS
from memhop.core.side_files import beside
from memhop.core.verify import VerifyReport, verify
from memhop.core.views import write_header

TEMPORARY = ".copying"  # suffix of a copy that is being written
FOLDER_MODE = 0o700
_CHUNK = 1024 * 1024
_PAUSE_S = 0.05
_REPAIR = "see `memhop verify`, and save what can be read with `memhop repair`"


@dataclass(frozen=True, slots=True)
class Original:
    """One commit of a file that is on the disk: all that a copy of it needs. Leaving it as a context closes `file`.

    Attributes:
        path: Of the file.
        file: A handle of its own, which outlives the close, the compaction and the removal of the file.
        covered: What the checkpoint covers whose manifest stands at offset `manifest`; 0: there is none.
        head: The commit.
        end: Just past the last byte to copy.
    """

    disk: Disk
    path: Path
    file: DiskFile
    identity: Identity
    covered: Point
    manifest: int
    head: Point
    end: int

    @classmethod
    def of(cls, disk: Disk, path: Path, state: LogState, head: Point, end: int) -> Original:
        """The commit `head` of a log, up to `end`. A checkpoint that lies beyond is left out: it can be rebuilt."""
        covered, manifest = state.covered, state.manifest_offset
        if manifest >= end:
            covered, manifest = state.identity.base, 0
        return cls(disk, path, state.file.duplicate(), state.identity, covered, manifest, head, end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


@dataclass(frozen=True, slots=True)
class CopyReport:
    """A copy that was made, `size` bytes long; `commit`, `time_ms` and `head_digest` name the commit it ends with."""

    path: Path
    size: int
    commit: int
    time_ms: int
    head_digest: bytes


@contextmanager
def claimed(disk: Disk, temporary: Path, *, wait: float) -> Iterator[DiskFile]:
    """A new, empty file that nobody else writes or removes. Unless renamed it is gone when the block ends.

    Args:
        wait: Seconds to wait for another copy that has the name.

    Raises:
        Locked: it still has. OSError: as the disk does.
    """
    deadline = time.monotonic() + wait
    while (file := _create(disk, temporary)) is None:
        if _sweep(disk, temporary):
            continue
        if time.monotonic() >= deadline:
            raise Locked(str(temporary), purpose="memhop backup")
        time.sleep(_PAUSE_S)
    try:
        yield file
    finally:
        quietly(lambda: remove_if(disk, temporary, file))
        file.close()


def _create(disk: Disk, temporary: Path) -> DiskFile | None:
    """A claimed new file; None if the name is taken."""
    try:
        file = disk.open(temporary, create=True)
    except FileExistsError:
        return None
    claimed = True  # also where the file system has no locks: then nobody sweeps there either
    with suppress(OSError):
        claimed = file.claim()
    if claimed and disk.identity(temporary) == file.identity():
        return file
    file.close()  # someone took it for left behind in the moment between
    return None


def _sweep(disk: Disk, temporary: Path) -> bool:
    """Remove what nobody has claimed. False: somebody has."""
    try:
        file = disk.open(temporary)
    except FileNotFoundError:
        return True
    try:
        return file.claim() and remove_if(disk, temporary, file)
    finally:
        file.close()


def remove_if(disk: Disk, path: Path, file: DiskFile) -> bool:
    """Remove the name of a file unless it has become another's by now. Returns True. Raises OSError."""
    if disk.identity(path) == file.identity():
        disk.remove(path)
    return True


def write_copy(source: Original, file: DiskFile) -> None:
    """Fill an empty file; synced and verified when this returns.

    Raises:
        Corrupt: the source is damaged; says where. OSError: as the disk does.

    Cost: reads the source once and the copy twice; 3 us per frame.
    """
    for offset in range(LOG_START, source.end, _CHUNK):
        length = min(_CHUNK, source.end - offset)
        data = source.file.pread(length, offset)
        if len(data) < length:
            raise Corrupt(f"{source.path} ends early", offset=offset + len(data), hint=_REPAIR)
        write_all(file, data, offset)
    identity = source.identity
    write_all(file, bytes(HEADER_SIZE), HEADER_OFFSETS[1])
    write_header(
        file,
        0,
        Header(
            identity.uuid,
            identity.salt,
            identity.generation,
            identity.created_ms,
            1,
            source.covered,
            source.manifest,
            source.head,
            source.end,
        ),
    )
    file.fsync()
    copy, report = examine(file, source.path)
    if not report.ok:
        raise damaged(source.path, report)
    if copy.head != source.head or copy.identity != identity:
        raise Corrupt(f"the copy of {source.path} holds another commit", offset=copy.head.end)


def backup(
    source: Original, target: Path, *, temporary: Path | None = None, overwrite: bool = False, wait: float = 60.0
) -> CopyReport:
    """Copy a commit of an open file to `target`.

    Args:
        target: Absolute, symbolic links resolved.
        temporary: Where the copy grows, in the same directory. None: `<target>.copying`.
        overwrite: Replace an earlier copy of the same file; never anything else.
        wait: Seconds to wait for another copy that grows there.

    Raises:
        InvalidRequest: `target` is the file itself or one of its side files, or exists and may not be replaced.
        Corrupt: the source is damaged. Locked: what would be replaced is in use, or another copy grows there.
        StorageError: the disk failed. Whatever is raised, `target` is as it was; only where the very last step fails,
            putting the name on the disk, may an earlier copy have been replaced already.

    Cost: as `write_copy`, and two fsyncs.
    """
    disk = source.disk
    temporary = temporary or beside(target, TEMPORARY)
    try:
        check_target(source, target, overwrite=overwrite)
        with claimed(disk, temporary, wait=wait) as file:
            write_copy(source, file)
            return publish(source, temporary, target, overwrite=overwrite)
    except MemhopError:
        raise
    except FileExistsError:
        raise _exists(target) from None
    except OSError as error:
        raise StorageError(f"cannot copy {source.path} to {target}: {reason(error)}", hint=hint_of(error)) from error


def publish(source: Original, temporary: Path, target: Path, *, overwrite: bool = False) -> CopyReport:
    """Give a finished copy its name. What it replaces is looked at once more, under its own lock if it has one."""
    disk = source.disk
    side = beside(target, ".lock")
    lock = None
    if overwrite and disk.identity(target) is not None and disk.identity(side) is not None:
        lock = disk.lock(side, purpose="memhop backup")
        lock.acquire(0)
    try:
        new = check_target(source, target, overwrite=overwrite)
        disk.rename(temporary, target, replace=overwrite)
    finally:
        if lock is not None:
            lock.release()
    try:
        disk.sync_directory(target.parent)
    except OSError:
        if new:
            quietly(lambda: disk.remove(target))
        raise
    return CopyReport(target, source.end, source.head.number, source.head.time_ms, source.head.digest)


def check_target(source: Original, target: Path, *, overwrite: bool) -> bool:
    """Whether the name is free. Raises InvalidRequest unless a copy of `source` may be put there."""
    own = [source.path, *(beside(source.path, suffix) for suffix in (*LEFTOVERS, ".lock"))]
    there = source.disk.identity(target)
    if target in own or there == source.file.identity():
        raise InvalidRequest(f"{target} is the memory itself", field="path", allowed="another file")
    if there is None:
        return True
    if not overwrite:
        raise _exists(target)
    if uuid_of(source.disk, target) != source.identity.uuid:
        raise InvalidRequest(
            f"{target} is no copy of this memory", field="path", allowed="a new name, or an earlier copy"
        )
    return False


def _exists(target: Path) -> InvalidRequest:
    return InvalidRequest(f"{target} exists", field="path", allowed="a new name, or an earlier copy with overwrite")


def examine(file: DiskFile, path: Path) -> tuple[LogState, VerifyReport]:
    """What a file at rest holds, and what is wrong with it; changes nothing.

    Raises:
        BadFormat: not a .meh file, named `path`, or one of a newer version. OSError: as the disk does.
    """
    try:
        state = load(file)
    except BadFormat as error:
        raise BadFormat(f"{path}: {error.message}", hint=error.hint) from None
    return state, verify(state, deep=False)


def verify_file(path: Path, *, disk: Disk | None = None) -> VerifyReport:
    """Check a file that nobody writes, without a lock and without changing anything. Raises as `opened`, `examine`."""
    disk = disk or FileDisk()
    try:
        file = disk.open(path, write=False)
        try:
            return examine(file, path)[1]
        finally:
            file.close()
    except MemhopError:
        raise
    except OSError as error:
        raise StorageError(f"cannot read {path}: {reason(error)}", hint=hint_of(error)) from error


def damaged(path: Path, report: VerifyReport) -> Corrupt:
    """The error for a file that does not verify."""
    first = report.problems[0]
    more = f" (and {report.problem_count - 1} more places)" if report.problem_count > 1 else ""
    return Corrupt(f"{path} is damaged{more}: {first.what}", offset=first.offset, hint=_REPAIR)


def uuid_of(disk: Disk, path: Path) -> bytes | None:
    """Whose file this is, None if that cannot be told. Raises OSError."""
    file = disk.open(path, write=False)
    try:
        return read_identity(file, Window(file, file.size()))[2].uuid
    except BadFormat:
        return None
    finally:
        file.close()


def make_folder(folder: Path) -> Path:
    """A folder for copies, created with mode 0700 unless it is there. Raises StorageError."""
    try:
        if not folder.is_dir():
            folder.mkdir(FOLDER_MODE, exist_ok=True)
            FileDisk().sync_directory(folder.parent)
    except OSError as error:
        raise StorageError(f"cannot create {folder}: {reason(error)}", hint=hint_of(error)) from error
    return folder
