"""A private copy of a memory, to try something out on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memhop.common.errors import MemhopError, StorageError
from memhop.core.backup import claimed, write_copy
from memhop.core.disk import FileDisk, hint_of, quietly, reason
from memhop.core.meh_file import MehFile
from memhop.core.side_files import beside
from memhop.repo.store import Store

SUFFIX = ".preview"
_WAIT_S = 600.0  # for another preview of the same memory


@contextmanager
def private_copy(store: Store) -> Iterator[Store]:
    """The newest commit of a memory as a memory of its own, mode 0600, beside it. It is gone when the block ends.

    One that a killed process has left is removed by the next.

    Raises:
        Locked: another copy has been in use for ten minutes. Corrupt: the memory is damaged.
        StorageError: the folder cannot be written to, the disk is full, …

    Cost: as a backup.
    """
    disk, path = FileDisk(), beside(store.file.path, SUFFIX)
    try:
        with store.file.original() as original, claimed(disk, path, wait=_WAIT_S) as file:
            try:
                write_copy(original, file)
                now_ms = store.clock.now_ms
                with MehFile.open(
                    path, durability="none", create=False, purpose="memhop preview", now_ms=now_ms
                ) as own:
                    copy = Store(own, store.clock)
                    copy.compacts = False  # under another name it would outlive the block
                    yield copy
            finally:
                quietly(lambda: disk.remove(beside(path, ".lock")))
    except MemhopError:
        raise
    except OSError as error:
        raise StorageError(f"cannot copy {store.file.path}: {reason(error)}", hint=hint_of(error)) from error
