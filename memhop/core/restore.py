"""Restore: a copy that verifies takes the place of a file, and the file is kept beside it.

    1  the copy is verified, before anything is touched
    2  the lock of the file is taken
    3  the copy is written to `<name>.restore`, synced and verified once more
    4  the file gets a second name, `<name>.replaced-<UTC time>`
    5  `<name>.restore` is renamed over the first one

There is no moment without a file at the path, and until step 5 it is the old one. If any step fails, what steps 3 to
5 have made is undone. A crash before step 5 leaves the old file, perhaps with its second name; a temporary is
removed by the next opening or restore.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memhop.common.clock import stamp
from memhop.common.errors import InvalidRequest, MemhopError, StorageError
from memhop.core.backup import Original, damaged, examine, remove_if, uuid_of, write_copy
from memhop.core.disk import Disk, DiskFile, FileDisk, hint_of, quietly, reason, write_all
from memhop.core.side_files import beside

TEMPORARY = ".restore"
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """A restore that was done. `commit`, `time_ms` and `head_digest` name the newest commit of the file now at `path`.

    `size` is in bytes; `replaced` is where the file that was there is kept, None if there was none.
    """

    path: Path
    size: int
    commit: int
    time_ms: int
    head_digest: bytes
    replaced: Path | None


def restore(
    copy: Path,
    target: Path,
    *,
    wait: float = 0.0,
    another: bool = False,
    disk: Disk | None = None,
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> RestoreReport:
    """Put the memory in `copy` at `target`.

    Args:
        copy, target: Absolute, symbolic links resolved.
        wait: Seconds to wait for whoever has `target` open; 0 fails at once.
        another: Also replace a file of another memory, or one of which it cannot be told whose it is.

    Raises:
        InvalidRequest: both are the same file, `target` is no regular file, or holds another memory.
        BadFormat, Corrupt: `copy` is no .meh file, is cut short or damaged.
        Locked: another handle has `target`.
        StorageError: the disk failed. Whatever is raised, `target` is as it was.

    Cost: reads `copy` twice and writes it once.
    """
    disk = disk or FileDisk()
    try:
        with _verified(disk, copy, target) as source:
            lock = disk.lock(beside(target, ".lock"), purpose="memhop restore")
            lock.acquire(wait)
            try:
                _check_target(source, target, another=another)
                replaced = _put(source, target, now_ms())
            finally:
                lock.release()
            head = source.head
            return RestoreReport(target, source.end, head.number, head.time_ms, head.digest, replaced)
    except MemhopError:
        raise
    except OSError as error:
        raise StorageError(f"cannot restore {copy} to {target}: {reason(error)}", hint=hint_of(error)) from error


def _verified(disk: Disk, copy: Path, target: Path) -> Original:
    """What `copy` holds, if all of it is in order."""
    if copy == beside(target, TEMPORARY):
        raise InvalidRequest(f"{copy} is what a restore did not finish", field="backup", allowed="a whole copy")
    file = disk.open(copy, write=False)
    try:
        if _identity(disk, target) == file.identity():
            raise InvalidRequest(f"{copy} is the file to be replaced", field="backup", allowed="a copy of it")
        state, report = examine(file, copy)
        if not report.ok:
            raise damaged(copy, report)
        return Original.of(disk, copy, state, state.head, state.end)
    finally:
        file.close()


def _check_target(source: Original, target: Path, *, another: bool) -> None:
    if another or _identity(source.disk, target) is None:
        return
    uuid = uuid_of(source.disk, target)
    if uuid != source.identity.uuid:
        whose = "holds another memory" if uuid else "cannot be told to be the same memory"
        raise InvalidRequest(f"{target} {whose}", field="to", allowed="the same memory, or any with another=True")


def _identity(disk: Disk, target: Path) -> tuple[int, int] | None:
    try:
        return disk.identity(target)
    except OSError as error:
        raise InvalidRequest(f"{target}: {reason(error)}", field="to", allowed="the path of a file") from None


def _put(source: Original, target: Path, now_ms: int) -> Path | None:
    """Steps 3 to 5. Needs the lock of `target`. Returns where the old file is kept."""
    disk = source.disk
    temporary = beside(target, TEMPORARY)
    if disk.identity(temporary) is not None:
        disk.remove(temporary)
    file = disk.open(temporary, create=True)
    kept = None
    try:
        write_copy(source, file)
        if disk.identity(target) is not None:
            kept = _keep(disk, target, now_ms)
            disk.sync_directory(target.parent)  # the old file has its second name before it loses the first
        disk.rename(temporary, target, replace=kept is not None)
        disk.sync_directory(target.parent)
    except BaseException:
        quietly(lambda: _undo(disk, target, kept, file))
        quietly(lambda: remove_if(disk, temporary, file))
        raise
    finally:
        file.close()
    return kept


def _undo(disk: Disk, target: Path, kept: Path | None, file: DiskFile) -> None:
    """Put the old file back. Looks at what is there: a rename that fails may have been done all the same."""
    if disk.identity(target) != file.identity():
        if kept is not None:
            disk.remove(kept)
    elif kept is not None:
        disk.rename(kept, target, replace=True)
    else:
        disk.remove(target)


def _keep(disk: Disk, target: Path, now_ms: int) -> Path:
    """Give the file at `target` a second name; a copy, byte by byte, where the file system has no links."""
    name = f".replaced-{stamp(now_ms)}"
    kept = beside(target, name)
    attempt = 0
    while disk.identity(kept) is not None:
        attempt += 1
        kept = beside(target, f"{name}-{attempt}")
    if disk.link(target, kept):
        return kept
    source, file = disk.open(target, write=False), disk.open(kept, create=True)
    try:
        offset = 0
        while data := source.pread(_CHUNK, offset):
            write_all(file, data, offset)
            offset += len(data)
        file.fsync()
    except BaseException:
        quietly(lambda: disk.remove(kept))
        raise
    finally:
        source.close()
        file.close()
    return kept
