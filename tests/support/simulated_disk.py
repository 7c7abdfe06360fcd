"""A disk in memory that behaves as badly as real ones may: the second implementation of `memhop.core.disk.Disk`.

What it models
    un-synced loss     writes and truncates are pending until fsync; names until the directory is synced
    torn writes        of a pending write, any prefix or any set of its 512-byte sectors may survive
    reordering         pending operations survive independently of each other
    failing calls      EIO or ENOSPC at the n-th call, with part of the data written; a failed fsync drops what was
                       pending although it can still be read
    short writes       pwrite takes fewer bytes than given
    power cut          from the n-th call on, nothing happens any more: every call raises PowerCut

Every call that changes something is a boundary; `calls` names those made so far, so a test can first count them
and then make each of them fail.
"""

from __future__ import annotations

import errno
import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from memhop.common.errors import Locked
from memhop.core.disk import DiskFile, Lock

SECTOR = 512
Fault = Literal["stop", "torn", "eio", "enospc", "short", "broken"]
Survival = Literal["everything", "nothing", "prefix", "sectors"]
ERRNOS = {"eio": errno.EIO, "enospc": errno.ENOSPC, "broken": errno.EIO}


class PowerCut(BaseException):
    """The machine is off. Not an Exception: no handler of the code under test may go on."""


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
            return [self] if rng.random() < 0.5 else []
        kept = []
        position = self.offset
        while position < self.offset + len(self.data):
            following = min((position // SECTOR + 1) * SECTOR, self.offset + len(self.data))
            if rng.random() < 0.5:
                start, stop = position - self.offset, following - self.offset
                kept.append(Operation(position, self.data[start:stop]))
            position = following
        return kept


@dataclass
class Inode:
    """`content` is what the operating system shows, `durable` what the platter holds."""

    number: int
    content: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Operation] = field(default_factory=list)

    def do(self, operation: Operation) -> None:
        operation.apply(self.content)
        self.pending.append(operation)

    def sync(self) -> None:
        for operation in self.pending:
            operation.apply(self.durable)
        self.pending.clear()

    def after_crash(self, survival: Survival, rng: random.Random) -> bytearray:
        if survival == "everything":
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
        written = bytes(data)
        taken = self._disk.boundary(
            "write", lambda size: self._inode.do(Operation(offset, written[:size])), len(written)
        )
        self._inode.do(Operation(offset, written[:taken]))
        return taken

    def fsync(self) -> None:
        self._disk.boundary("fsync", lambda _: self._inode.pending.clear())
        self._disk.fsyncs += 1
        self._inode.sync()

    def truncate(self, size: int) -> None:
        self._disk.boundary("truncate")
        self._inode.do(Operation(size, None))

    def allocate(self, offset: int, length: int) -> None:
        self._disk.boundary("allocate")
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
        return True

    def close(self) -> None:
        pass


class SimulatedLock:
    def __init__(self, disk: SimulatedDisk, path: Path) -> None:
        self._disk = disk
        self._path = path

        self._held = False

    def acquire(self, wait: float) -> None:
        self._disk.alive()
        if self._path in self._disk.locks:
            raise Locked(str(self._path))
        self._disk.locks.add(self._path)
        self._held = True

    def release(self) -> None:
        if self._held:
            self._disk.locks.discard(self._path)
            self._held = False


class SimulatedDisk:
    """One directory of files. `fault` strikes at boundary number `fault_at`, counted from 0."""

    def __init__(self, *, seed: int = 0, fault: Fault | None = None, fault_at: int = -1) -> None:
        self.names: dict[Path, Inode] = {}
        self.name_history: list[dict[Path, Inode]] = [{}]  # the durable names, then each later state
        self.locks: set[Path] = set()
        self.calls: list[str] = []
        self.fsyncs = 0
        self.fault = fault
        self.fault_at = fault_at
        self.struck = False
        self.off = False
        self._rng = random.Random(seed)
        self._inodes = 0

    def alive(self) -> None:
        if self.off:
            raise PowerCut

    def boundary(self, name: str, partly: object = None, size: int = 0) -> int:
        """Count a call and let the fault strike. Returns how many bytes of a write of `size` to take."""
        self.alive()
        here = len(self.calls)
        self.calls.append(name)
        if self.fault is None or here < self.fault_at or (here > self.fault_at and self.fault != "broken"):
            return size
        self.struck = True
        part = size // 2
        if self.fault == "short":
            return max(part, 1) if size else size
        if name == "write" and self.fault != "stop" and callable(partly):
            partly(part)
        if self.fault in ("stop", "torn"):
            self.off = True
            raise PowerCut
        if name == "fsync" and callable(partly):
            partly(0)
        number = ERRNOS[self.fault]
        raise OSError(number, os.strerror(number))

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> DiskFile:
        self.alive()
        if not create:
            if path not in self.names:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            return SimulatedFile(self, self.names[path])
        self.boundary("create")
        if path in self.names:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        self._inodes += 1
        self._rename_to({**self.names, path: Inode(self._inodes)})
        return SimulatedFile(self, self.names[path])

    def identity(self, path: Path) -> tuple[int, int] | None:
        self.alive()
        inode = self.names.get(path)
        return None if inode is None else (1, inode.number)

    def rename(self, old: Path, new: Path, *, replace: bool) -> None:
        self.boundary("rename")
        if new in self.names and not replace:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
        names = dict(self.names)
        names[new] = names.pop(old)
        self._rename_to(names)

    def link(self, old: Path, new: Path) -> bool:
        self.boundary("link")
        if new in self.names:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
        self._rename_to({**self.names, new: self.names[old]})
        return True

    def remove(self, path: Path) -> None:
        if path not in self.names:
            self.alive()
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        self.boundary("remove")
        self._rename_to({name: inode for name, inode in self.names.items() if name != path})

    def sync_directory(self, directory: Path) -> None:
        self.boundary("sync_directory")
        self.name_history = [self.names]

    def lock(self, path: Path, *, purpose: str) -> Lock:
        return SimulatedLock(self, path)

    def entropy(self, length: int) -> bytes:
        return self._rng.randbytes(length)

    def _rename_to(self, names: dict[Path, Inode]) -> None:
        self.names = names
        self.name_history.append(names)

    def after_crash(self, survival: Survival, seed: int = 0) -> SimulatedDisk:
        """The disk as it is found when the machine starts again. This one is left as it is."""
        rng = random.Random(seed)
        if survival == "everything":
            names = self.names
        elif survival == "nothing":
            names = self.name_history[0]
        else:
            names = rng.choice(self.name_history)
        found = SimulatedDisk(seed=seed + 1)
        found._inodes = self._inodes
        found.names = {}
        for path, inode in names.items():
            content = inode.after_crash(survival, rng)
            found.names[path] = Inode(inode.number, bytearray(content), bytearray(content))
        found.name_history = [found.names]
        return found

    @classmethod
    def holding(cls, path: Path, content: bytes) -> SimulatedDisk:
        """A disk with one file, durably there."""
        disk = cls()
        disk._inodes = 1
        disk.names = {path: Inode(1, bytearray(content), bytearray(content))}
        disk.name_history = [disk.names]
        return disk

    def bytes_of(self, path: Path) -> bytes:
        """What the operating system shows of a file."""
        return bytes(self.names[path].content)
