"""The lock of a .meh file: `<name>.meh.lock`, held by the operating system for as long as the holder lives.

The side file says in JSON who holds it. It is never removed: a name that comes and goes lets two processes lock
two different files. Whether it is held is decided by the lock alone, never by what the file says, so that one
left behind by a killed process means nothing.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from memhop.common.errors import Locked, StorageError
from memhop.core.disk import FILE_MODE

_MOST_BYTES = 4096  # of a side file that is read; ours have about 150
_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.1


class SideLock:
    """An exclusive lock, taken on construction.

    Args:
        path: The side file; created with mode 0600 if missing.
        wait: Seconds to wait for another holder; 0 fails at once.
        purpose: What for, shown to whoever is kept waiting.

    Raises:
        Locked: another handle has it, in this process or another; names the holder where known.
        StorageError: the side file cannot be created or the file system has no locks.
    """

    def __init__(self, path: Path, *, wait: float, purpose: str) -> None:
        import portalocker  # some 40 ms, so only where a lock is taken

        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), FILE_MODE)
        except OSError as error:
            raise StorageError(
                f"cannot open the lock file {path}: {error.strerror}",
                hint="create the directory first, and make it writable",
            ) from error
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        deadline = time.monotonic() + wait
        pause = _FIRST_PAUSE_S
        while True:
            try:
                portalocker.lock(self._file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
                break
            except portalocker.AlreadyLocked:
                left = deadline - time.monotonic()
                if left <= 0:
                    holder = self._file.read(_MOST_BYTES) or b""
                    self._file.close()
                    raise _locked(path, holder) from None
                time.sleep(min(pause, left))
                pause = min(pause * 2, _LONGEST_PAUSE_S)
            except portalocker.LockException as error:
                self._file.close()
                raise StorageError(
                    f"cannot lock {path}: {error}", hint="keep the file on a local file system"
                ) from error
        us = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "purpose": purpose[:200],
        }
        with suppress(OSError):  # a full disk must not keep anybody from reading
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(us).encode() + b"\n", 0)

    def release(self) -> None:
        """Unlock, then close. Explicitly, because a forked child that lives on would keep it held."""
        if not self._file.closed:
            import portalocker

            with suppress(OSError):
                os.ftruncate(self._file.fileno(), 0)
            portalocker.unlock(self._file)
            self._file.close()


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
    return Locked(name, pid=pid if isinstance(pid, int) else None, host=host, since=since, purpose=purpose)
