"""A disk in memory that behaves as badly as real ones may: the second implementation of `memhop.core.disk.Disk`.

What it models
    un-synced loss     writes and truncates are pending until fsync; changes of names until the directory is synced
    torn writes        of a pending write, any prefix or any set of its 512-byte sectors may survive; a write that is
                       struck keeps the bytes it is told to keep
    reordering         pending operations survive independently of each other, and so do changes of names
    failing calls      EIO or ENOSPC at the n-th call, with part of the data written; a failed fsync drops what was
                       pending, or all but some of it, although it can still be read, and later ones do not bring
                       it back
    short writes       pwrite takes fewer bytes than given
    a locked folder    from the n-th call on, names can no longer be created, changed or removed
    power cut          from the n-th call on, nothing happens any more: every call raises PowerCut
    locks              one holder each, whichever handle that is; gone when the machine starts again

Every call that changes something is a boundary; `calls` names those made so far, so a test can first count them
and then make each of them fail. With `pause` set to that of a scheduler (tests/support/scheduler.py), every call is
also a place where another thread may go on, and a lock that is taken can be waited for.
"""

from __future__ import annotations

import copy
import errno
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeVar

from memhop.common.errors import Locked
from memhop.core.disk import DiskFile, Lock

SECTOR = 512
Fault = Literal["stop", "torn", "short", "eio", "enospc", "fsync", "names", "broken"]
Survival = Literal["everything", "nothing", "prefix", "sectors", "renamed", "unnamed"]
NAME_CALLS = ("create", "rename", "link", "remove")
ERRNOS = {"enospc": errno.ENOSPC, "names": errno.EACCES}
T = TypeVar("T")


class Pause(Protocol):
    """`Scheduler.pause`."""

    def __call__(self, until: Callable[[], bool] | None = None, *, timed: bool = False) -> bool: ...


class PowerCut(BaseException):
    """The machine is off. Not an Exception: no handler of the code under test may go on."""


class Outcome(NamedTuple):
    """What a boundary lets happen: how many bytes of a write are taken, and what is raised then."""

    taken: int
    error: BaseException | None

    def finish(self) -> None:
        if self.error is not None:
            raise self.error


@dataclass
class Operation:
    """A pending write, or a truncate where `data` is None."""

    offset: int
    data: bytes | None

    def apply(self, content: bytearray) -> None:
        if self.data is None:
            del content[self.offset :]
            content.extend(bytes(self.offset - len(content)))
        else:
            content.extend(bytes(max(0, self.offset + len(self.data) - len(content))))
            content[self.offset : self.offset + len(self.data)] = self.data

    def survivors(self, rng: random.Random) -> list[Operation]:
        """The sectors of a write that reached the disk; a truncate does or does not."""
        if self.data is None:
            return some([self], rng)
        first = -self.offset % SECTOR
        cuts = [0, *range(first or SECTOR, len(self.data), SECTOR), len(self.data)]
        parts = [Operation(self.offset + a, self.data[a:b]) for a, b in pairwise(cuts)]
        return some(parts, rng)


def some(items: Sequence[T], rng: random.Random) -> list[T]:
    """Any subset, in order."""
    return [item for item in items if rng.random() < 0.5]


@dataclass
class Inode:
    """`content` is what the operating system shows, `durable` what the platter holds."""

    number: int
    content: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Operation] = field(default_factory=list)
    claimed_by: SimulatedFile | None = None

    def do(self, operation: Operation) -> None:
        operation.apply(self.content)
        self.pending.append(operation)

    def sync(self) -> None:
        for operation in self.pending:
            operation.apply(self.durable)
        self.pending.clear()

    def after_crash(self, survival: Survival, rng: random.Random) -> bytearray:
        if survival in ("everything", "unnamed"):
            return bytearray(self.content)
        content = bytearray(self.durable)
        if survival == "prefix" and self.pending:
            count = rng.randrange(len(self.pending) + 1)
            for operation in self.pending[:count]:
                operation.apply(content)
            if count < len(self.pending) and (torn := self.pending[count]).data:
                Operation(torn.offset, torn.data[: rng.randrange(len(torn.data))]).apply(content)
        elif survival == "sectors":
            for operation in self.pending:
                for part in operation.survivors(rng):
                    part.apply(content)
        return content


class SimulatedFile:
    def __init__(self, disk: SimulatedDisk, inode: Inode) -> None:
        self._disk = disk
        self._inode = inode

    def pread(self, length: int, offset: int) -> bytes:
        self._disk.alive()
        return bytes(self._inode.content[offset : offset + length])

    def pwrite(self, data: bytes | memoryview, offset: int) -> int:
        outcome = self._disk.boundary("write", len(data))
        if outcome.taken:
            self._inode.do(Operation(offset, bytes(data[: outcome.taken])))
        outcome.finish()
        return outcome.taken

    def fsync(self) -> None:
        outcome = self._disk.boundary("fsync")
        if isinstance(outcome.error, OSError):
            if self._disk.fault == "fsync":
                self._inode.pending = some(self._inode.pending, self._disk.rng)
                self._inode.sync()
            self._inode.pending.clear()
        outcome.finish()
        self._disk.fsyncs += 1
        self._inode.sync()

    def truncate(self, size: int) -> None:
        self._disk.boundary("truncate").finish()
        self._inode.do(Operation(size, None))

    def allocate(self, offset: int, length: int) -> None:
        self._disk.boundary("allocate").finish()
        if offset + length > len(self._inode.content):
            self._inode.do(Operation(offset + length, None))

    def size(self) -> int:
        return len(self._inode.content)

    def map(self, length: int) -> memoryview:
        assert 0 < length <= len(self._inode.content), "a map beyond the end of the file kills the reader"
        return memoryview(bytes(self._inode.content[:length]))

    def identity(self) -> tuple[int, int]:
        return 1, self._inode.number

    def duplicate(self) -> DiskFile:
        self._disk.alive()
        return SimulatedFile(self._disk, self._inode)

    def claim(self) -> bool:
        self._disk.alive()
        self._inode.claimed_by = self._inode.claimed_by or self
        return self._inode.claimed_by is self

    def close(self) -> None:
        if self._inode.claimed_by is self:
            self._inode.claimed_by = None


class SimulatedLock:
    """The lock of one handle. Two of them on one path exclude each other, whatever thread they are used from."""

    def __init__(self, disk: SimulatedDisk, path: Path) -> None:
        self._disk = disk
        self._path = path

    def acquire(self, wait: float) -> None:
        self._disk.alive()
        if self._taken():
            pause = self._disk.pause
            if wait <= 0 or pause is None or not pause(lambda: not self._taken(), timed=True):
                raise Locked(str(self._path))
            if self._disk.off:
                raise PowerCut
        self._disk.locks[self._path] = self

    def release(self) -> None:
        if self._disk.locks.get(self._path) is self:
            del self._disk.locks[self._path]

    def _taken(self) -> bool:
        return self._disk.locks.get(self._path, self) is not self


class SimulatedDisk:
    """One directory of files.

    Args:
        seed: Of what is random: entropy, and which part of a failed fsync was written.
        fault: Strikes at boundary number `fault_at`, counted from 0: "broken" and "names" from there on, "fsync" at
            the first fsync from there on, the others once.
        keep: Of a write that is struck, the end of the slice that reaches the file: 1 is its first byte, -1 all but
            its last. None: half of it.
        pause: Called at every call, and with the condition to wait for where a lock is taken. None: one thread.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        fault: Fault | None = None,
        fault_at: int = -1,
        keep: int | None = None,
        pause: Pause | None = None,
    ) -> None:
        self.names: dict[Path, Inode] = {}
        self.locks: dict[Path, SimulatedLock] = {}
        self.calls: list[str] = []
        self.fsyncs = 0
        self.fault = fault
        self.fault_at = fault_at
        self.keep = keep
        self.pause = pause
        self.struck = False
        self.off = False
        self.rng = random.Random(seed)
        self._entropy = random.Random(seed)
        self._durable_names: dict[Path, Inode] = {}
        self._name_changes: list[dict[Path, Inode | None]] = []  # each happens as a whole or not at all
        self._inodes = 0

    def alive(self) -> None:
        if self.pause is not None:
            self.pause()
        if self.off:
            raise PowerCut

    def boundary(self, name: str, size: int = 0) -> Outcome:
        """Count a call and let the fault strike."""
        self.alive()
        here = len(self.calls)
        self.calls.append(name)
        if not self._strikes(name, here):
            return Outcome(size, None)
        self.struck = True
        part = len(range(size)[: size // 2 if self.keep is None else self.keep])
        if self.fault == "short":
            return Outcome(max(part, 1) if size else size, None)
        if self.fault in ("stop", "torn"):
            self.off = True
            return Outcome(0 if self.fault == "stop" else part, PowerCut())
        number = ERRNOS.get(str(self.fault), errno.EIO)
        return Outcome(part, OSError(number, os.strerror(number)))

    def _strikes(self, name: str, here: int) -> bool:
        if self.fault is None or here < self.fault_at:
            return False
        if self.fault == "names":
            return name in NAME_CALLS
        if self.fault == "fsync":
            return name == "fsync" and not self.struck
        return here == self.fault_at or self.fault == "broken"

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> DiskFile:
        self.alive()
        if not create:
            if path not in self.names:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            return SimulatedFile(self, self.names[path])
        self.boundary("create").finish()
        if path in self.names:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        self._inodes += 1
        self._change_names({path: Inode(self._inodes)})
        return SimulatedFile(self, self.names[path])

    def identity(self, path: Path) -> tuple[int, int] | None:
        self.alive()
        inode = self.names.get(path)
        return None if inode is None else (1, inode.number)

    def rename(self, old: Path, new: Path, *, replace: bool) -> None:
        self.boundary("rename").finish()
        if replace:
            self._change_names({new: self.names[old], old: None})
            return
        if new in self.names:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
        self._change_names({new: self.names[old]})  # a link, then an unlink: a crash may keep either
        self._change_names({old: None})

    def link(self, old: Path, new: Path) -> bool:
        self.boundary("link").finish()
        if new in self.names:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
        self._change_names({new: self.names[old]})
        return True

    def remove(self, path: Path) -> None:
        if path not in self.names:
            self.alive()
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        self.boundary("remove").finish()
        self._change_names({path: None})

    def sync_directory(self, directory: Path) -> None:
        self.boundary("sync_directory").finish()
        self._durable_names = dict(self.names)
        self._name_changes.clear()

    def lock(self, path: Path, *, purpose: str) -> Lock:
        return SimulatedLock(self, path)

    def entropy(self, length: int) -> bytes:
        return self._entropy.randbytes(length)

    def _change_names(self, change: dict[Path, Inode | None]) -> None:
        self.names = renamed(self.names, [change])
        self._name_changes.append(change)

    def after_crash(self, survival: Survival, seed: int = 0) -> SimulatedDisk:
        """The disk as it is found when the machine starts again. This one is left as it is.

        Args:
            survival: Of what was not synced. "everything": all of it (the process died, the machine lives);
                "nothing"; "prefix": up to some byte of some write, and up to some change of names; "sectors": any
                sectors of any writes, and any changes of names; "renamed": all names, no contents; "unnamed": all
                contents, any changes of names.
            seed: Of the choice.
        """
        rng = random.Random(seed)
        changes = self._name_changes
        if survival == "nothing":
            changes = []
        elif survival == "prefix":
            changes = changes[: rng.randrange(len(changes) + 1)]
        elif survival in ("sectors", "unnamed"):
            changes = some(changes, rng)
        found = SimulatedDisk(seed=seed + 1)
        found._inodes = self._inodes
        for path, inode in renamed(self._durable_names, changes).items():
            content = inode.after_crash(survival, rng)
            found._found(path, Inode(inode.number, bytearray(content), bytearray(content)))
        return found

    def copy(self) -> SimulatedDisk:
        """This disk as it is, what is pending included."""
        return copy.deepcopy(self)

    def _found(self, path: Path, inode: Inode) -> None:
        self.names[path] = self._durable_names[path] = inode
        self._inodes = max(self._inodes, inode.number)

    @classmethod
    def holding(cls, path: Path, content: bytes) -> SimulatedDisk:
        """A disk with one file, durably there."""
        disk = cls()
        disk._found(path, Inode(1, bytearray(content), bytearray(content)))
        return disk

    def image(self) -> tuple[tuple[Path, bytes], ...]:
        """What the operating system shows of every file, by name."""
        return tuple((path, self.bytes_of(path)) for path in sorted(self.names))

    def bytes_of(self, path: Path) -> bytes:
        """What the operating system shows of a file."""
        return bytes(self.names[path].content)


def renamed(names: dict[Path, Inode], changes: Sequence[dict[Path, Inode | None]]) -> dict[Path, Inode]:
    """The names after some changes."""
    now: dict[Path, Inode | None] = dict(names)
    for change in changes:
        now.update(change)
    return {path: inode for path, inode in now.items() if inode is not None}
