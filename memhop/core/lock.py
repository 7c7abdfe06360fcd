"""The lock of a .meh file: `<name>.meh.lock`, held by the operating system for as long as the holder lives.

The side file says in JSON who holds it. It is never removed: a name that comes and goes lets two processes lock
two different files. Whether it is held is decided by the lock alone, never by what the file says, so that one
left behind by a killed process means nothing.
"""

from __future__ import annotations

import json
import os
import random
import socket
import time
import weakref
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from memhop.common.errors import Locked, StorageError
from memhop.core.disk import FILE_MODE

_MOST_BYTES = 4096  # of a side file that is read; ours have about 150
_FIRST_PAUSE_S = 0.0005
_LONGEST_PAUSE_S = 0.05


class SideLock:
    """A lock on a side file. Between handles, also those of one process; a handle's threads settle it themselves.

    Args:
        path: The side file; created with mode 0600 when it is first locked.
        purpose: What for, shown to whoever is kept waiting.
    """

    def __init__(self, path: Path, *, purpose: str) -> None:
        self._path = path
        self._purpose = purpose[:200]
        self._descriptor = -1
        _ALL.add(self)

    def acquire(self, wait: float) -> None:
        """Take it.

        Args:
            wait: Seconds to wait for another holder; 0 fails at once.

        Raises:
            Locked: another handle has it, in this process or another; names the holder where known.
            StorageError: the side file cannot be created or the file system has no locks.

        Cost: about 30 us when nobody has it.
        """
        import portalocker  # some 40 ms, so only where a lock is taken

        deadline = time.monotonic() + wait
        pause = _FIRST_PAUSE_S
        # Known from the first moment on, also while waiting: a child that is forked then must let go of it.
        descriptor = self._descriptor = self._open()
        try:
            while True:
                try:
                    portalocker.lock(descriptor, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
                except portalocker.AlreadyLocked:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise _locked(self._path, os.pread(descriptor, _MOST_BYTES, 0)) from None
                    time.sleep(min(pause * random.uniform(0.5, 1.0), left))  # out of step with others who wait
                    pause = min(pause * 1.5, _LONGEST_PAUSE_S)
                    continue
                except portalocker.LockException as error:
                    raise StorageError(
                        f"cannot lock {self._path}: {error}", hint="keep the file on a local file system"
                    ) from error
                if _is_at(descriptor, self._path):
                    break
                # Somebody removed the side file: what was locked has no name any more.
                self._forget()
                descriptor = self._descriptor = self._open()
        except BaseException:
            self._forget()
            raise
        us = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "purpose": self._purpose,
        }
        with suppress(OSError):  # a full disk must not keep anybody from reading
            data = json.dumps(us).encode() + b"\n"
            os.pwrite(descriptor, data, 0)
            os.ftruncate(descriptor, len(data))

    def release(self) -> None:
        """Give it up; it may be taken again. A second call does nothing.

        Unlocks before it closes, because a forked child that lives on would keep it held.
        """
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            import portalocker

            with suppress(OSError):
                os.ftruncate(descriptor, 0)
            try:
                portalocker.unlock(descriptor)
            finally:
                os.close(descriptor)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
        try:
            return os.open(self._path, flags, FILE_MODE)
        except OSError as error:
            raise StorageError(
                f"cannot open the lock file {self._path}: {error.strerror}",
                hint="create the directory first, and make it writable",
            ) from error

    def _forget(self) -> None:
        """Close without unlocking. In a forked child: its copy would keep the lock held when the parent is gone."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def holder(path: Path) -> Locked | None:
    """Who holds a lock. None: nobody does.

    Writes nothing, and makes no side file. Where nobody holds the lock, it is shared for some microseconds by all who
    ask at once, so that they do not see each other.

    Args:
        path: The side file.

    Raises:
        OSError: the side file is there and cannot be opened, or the file system has no locks.
    """
    import portalocker

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return None
    try:
        portalocker.lock(descriptor, portalocker.LockFlags.SHARED | portalocker.LockFlags.NON_BLOCKING)
        portalocker.unlock(descriptor)
    except portalocker.AlreadyLocked:
        return _locked(path, os.pread(descriptor, _MOST_BYTES, 0))
    except portalocker.LockException as error:
        raise StorageError(f"cannot lock {path}: {error}", hint="keep the file on a local file system") from error
    finally:
        os.close(descriptor)
    return None


_ALL: weakref.WeakSet[SideLock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_ALL):
        lock._forget()


os.register_at_fork(after_in_child=_after_fork)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _locked(path: Path, data: bytes) -> Locked:
    """The error that names the holder; what the side file says is only believed where it has the right shape."""
    try:
        holder = json.loads(data)
    except (ValueError, RecursionError):
        holder = None
    if not isinstance(holder, dict):
        holder = {}
    pid = holder.get("pid")
    host, since, purpose = (
        value[:200] if isinstance(value := holder.get(key), str) and value.isprintable() else None
        for key in ("host", "started", "purpose")
    )
    name = str(path).removesuffix(".lock")
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        pid = None
    stopped = pid is not None and host == socket.gethostname() and _is_stopped(pid)
    return Locked(name, pid=pid, host=host, since=since, purpose=purpose, stopped=stopped)


def _is_stopped(pid: int) -> bool:
    """Whether a process of this machine was stopped (SIGSTOP, Ctrl-Z). False where that cannot be told."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read(_MOST_BYTES).rpartition(b")")[2].split()[0] in (b"T", b"t")
    except (OSError, IndexError):
        return False
