"""The seam to the disk. `FileDisk` is the real one; tests swap in one that loses, tears and refuses.

Everything core does to the outside goes through these two protocols, so that a test which counts the calls has
counted every place where a machine can die.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

FILE_MODE = 0o600  # a memory is private: no one but its owner reads it
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)  # of a file system without hard links


class Lock(Protocol):
    """A lock between handles. One handle takes and releases it as often as it likes, one thread at a time."""

    def acquire(self, wait: float) -> None:
        """Take it. Raises Locked after `wait` seconds."""
        ...

    def release(self) -> None:
        """Give it up. A second call does nothing."""
        ...


class DiskFile(Protocol):
    """An open file. Every method may raise OSError."""

    def pread(self, length: int, offset: int) -> bytes:
        """Bytes at an offset; short at the end of the file, and only there."""
        ...

    def pwrite(self, data: bytes | memoryview, offset: int) -> int:
        """Write at an offset and return how many bytes were taken, perhaps fewer than given."""
        ...

    def fsync(self) -> None:
        """Return once everything written, and the size, is on the disk."""
        ...

    def truncate(self, size: int) -> None:
        """Set the size; new bytes read as zeros."""
        ...

    def allocate(self, offset: int, length: int) -> None:
        """Reserve space that reads as zeros until written, growing the file."""
        ...

    def size(self) -> int:
        """Bytes."""
        ...

    def map(self, length: int) -> memoryview:
        """The first `length` bytes, read-only and in place. `length` is at least 1 and at most the size."""
        ...

    def identity(self) -> tuple[int, int]:
        """Device and inode."""
        ...

    def duplicate(self) -> DiskFile:
        """Another handle of the same file, which outlives this one and whatever its name becomes."""
        ...

    def claim(self) -> bool:
        """Have the file for oneself until it is closed or the process dies; False if someone else has it."""
        ...

    def close(self) -> None:
        """Close. Memory maps stay valid for those who hold them. A second call does nothing."""
        ...


class Disk(Protocol):
    """A file system. Paths are absolute. Every method may raise OSError."""

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> DiskFile:
        """Open a file; with `create` it must not exist yet."""
        ...

    def identity(self, path: Path) -> tuple[int, int] | None:
        """Device and inode of a regular file, None if there is nothing at the path."""
        ...

    def rename(self, old: Path, new: Path, *, replace: bool) -> None:
        """Give a file another name; without `replace`, FileExistsError if that is taken."""
        ...

    def link(self, old: Path, new: Path) -> bool:
        """Give a file a second name, FileExistsError if that is taken. False: this file system has no such thing."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file; FileNotFoundError if there is none."""
        ...

    def sync_directory(self, directory: Path) -> None:
        """Return once created, renamed and removed names in the directory are on the disk."""
        ...

    def lock(self, path: Path, *, purpose: str) -> Lock:
        """The lock whose side file is `path`, not yet taken. `purpose` is told to those who wait for it."""
        ...

    def entropy(self, length: int) -> bytes:
        """Random bytes, for UUIDs and salts."""
        ...


class _OsFile:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._identity: tuple[int, int] | None = None  # what it is does not change while it is open

    def pread(self, length: int, offset: int) -> bytes:
        first = os.pread(self._descriptor, length, offset)
        if not first or len(first) == length:
            return first
        parts = [first]  # a signal or a huge request may cut a read short before the end of the file
        got = len(first)
        while got < length and (more := os.pread(self._descriptor, length - got, offset + got)):
            parts.append(more)
            got += len(more)
        return b"".join(parts)

    def pwrite(self, data: bytes | memoryview, offset: int) -> int:
        return os.pwrite(self._descriptor, data, offset)

    def fsync(self) -> None:
        if sys.platform == "darwin":  # fsync there does not flush the drive
            fcntl.fcntl(self._descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(self._descriptor)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def allocate(self, offset: int, length: int) -> None:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._descriptor, offset, length)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def map(self, length: int) -> memoryview:
        return memoryview(mmap.mmap(self._descriptor, length, access=mmap.ACCESS_READ))

    def identity(self) -> tuple[int, int]:
        if self._identity is None:
            status = os.fstat(self._descriptor)
            self._identity = status.st_dev, status.st_ino
        return self._identity

    def duplicate(self) -> DiskFile:
        return _OsFile(fcntl.fcntl(self._descriptor, fcntl.F_DUPFD_CLOEXEC, 0))

    def claim(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()


class FileDisk:
    """The operating system's files."""

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> DiskFile:
        flags = os.O_CLOEXEC | (os.O_RDWR if write else os.O_RDONLY)
        if create:
            flags |= os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        return _OsFile(os.open(path, flags, FILE_MODE))

    def identity(self, path: Path) -> tuple[int, int] | None:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a regular file")
        return status.st_dev, status.st_ino

    def rename(self, old: Path, new: Path, *, replace: bool) -> None:
        if replace:
            os.replace(old, new)
            return
        try:
            os.link(old, new)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links; the caller holds the lock, so the check is enough
            if os.path.lexists(new):
                raise FileExistsError(f"{new} exists") from None
            os.rename(old, new)
        else:
            os.unlink(old)

    def link(self, old: Path, new: Path) -> bool:
        try:
            os.link(old, new)
        except OSError as error:
            if error.errno in _NO_LINKS:
                return False
            raise
        return True

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def sync_directory(self, directory: Path) -> None:
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: Path, *, purpose: str) -> Lock:
        from memhop.core.lock import SideLock

        return SideLock(path, purpose=purpose)

    def entropy(self, length: int) -> bytes:
        return os.urandom(length)


def write_all(file: DiskFile, data: bytes | bytearray | memoryview, offset: int) -> None:
    """Write all of `data`, going on after short writes.

    Raises:
        OSError: as the disk does, or when it takes no byte at all.
    """
    rest = memoryview(data)
    while rest:
        taken = file.pwrite(rest, offset)
        if taken <= 0:
            raise OSError("the disk took no bytes")
        offset += taken
        rest = rest[taken:]


def quietly(action: Callable[[], object]) -> None:
    """Do what is worth trying while another error is already on its way to the caller."""
    with suppress(OSError):
        action()


def reason(error: OSError) -> str:
    """What the operating system says, for a message."""
    return error.strerror or str(error)


def hint_of(error: OSError) -> str | None:
    """What to do about an error of the disk. None: nothing that is known."""
    return {
        errno.ENOSPC: "free some space",
        errno.EDQUOT: "free some space",
        errno.ENOENT: "check the path, and create the directory first",
        errno.EACCES: "check its permissions",
        errno.EPERM: "check its permissions",
        errno.EROFS: "choose a directory that can be written to",
        errno.ENAMETOOLONG: "choose a shorter name",
    }.get(error.errno or 0)
