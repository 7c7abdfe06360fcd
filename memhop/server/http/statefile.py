"""`<root>/server.json`: which process serves this folder, so that it, and no other, can be asked and stopped.

    {"version": 1, "pid": 4711, "started": "…", "host": "127.0.0.1", "port": 7077, "nonce": "…", "since": 1770000000000}

A process id alone names whoever has it now. So the file also says when the process was started, as the operating system
counts it, and a random word that the process answers at /healthz. A signal is sent only where all three agree, and on
Linux through a descriptor of the process, so that it cannot end and its number be given away in between.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from memhop.common.clock import LAST_MS, Clock, SystemClock
from memhop.common.errors import ConfigError, MemhopError, NotFound, ProviderError
from memhop.core.lock import SideLock
from memhop.server.http import privatefile

NAME = "server.json"
_VERSION = 1
_MOST_BYTES = 4096
_ASK_S = 3.0
_PAUSE_S = 0.05


class State(NamedTuple):
    """What the file says.

    Attributes:
        started: When the operating system started the process, in its own words.
        since: When the server began, Unix milliseconds.
    """

    pid: int
    started: str
    host: str
    port: int
    nonce: str
    since: int


class Standing(NamedTuple):
    """How it stands with the server of a folder.

    Attributes:
        state: What the file says; None: there is no file.
        word: "absent": no file. "stale": the process is gone, and its number may be another's by now. "silent": the
            process is there and does not answer as ours. "running".
    """

    state: State | None
    word: str


@contextmanager
def claimed(path: Path, *, clock: Clock | None = None) -> Iterator[Claim]:
    """Be the server of a folder, until the block ends.

    Args:
        path: The file. A lock beside it is held all the time, which ends with the process, however that ends.

    Raises:
        Locked: another process is, by its number. StorageError: the disk failed.
    """
    lock = SideLock(path.with_name(f"{path.name}.lock"), purpose="memhop serve")
    lock.acquire(0)
    try:
        yield Claim(path, clock or SystemClock())
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        lock.release()


class Claim:
    """Attributes:
    nonce: What the server answers at /healthz, as {"nonce": …}, to whoever asks from this machine.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self.nonce = secrets.token_urlsafe(24)

    def publish(self, host: str, port: int) -> State:
        """Say in the file where the server listens; call it once it does. Raises StorageError."""
        pid = os.getpid()
        state = State(pid, started_of(pid) or "", host, port, self.nonce, self._clock.now_ms())
        privatefile.replace(self._path, json.dumps({"version": _VERSION, **state._asdict()}).encode() + b"\n")
        return state


def look(path: Path) -> Standing:
    """How it stands. Asks the process over HTTP, which takes 3 s where it does not answer.

    Raises:
        ConfigError: the file cannot be believed. StorageError: the disk failed.
    """
    state = _read(path)
    if state is None:
        return Standing(None, "absent")
    if not _is_same(state):
        return Standing(state, "stale")
    return Standing(state, "running" if _answers(state) else "silent")


def stop(path: Path, *, wait_s: float = 30.0) -> State:
    """Ask the server of a folder to end (SIGTERM), and wait until it has. A file that is left over is removed.

    Returns:
        What it was.

    Raises:
        NotFound: none is running. ProviderError: a process has its number and does not answer as ours, and was left
        alone; or it was told, and has not ended in time. ConfigError: the file cannot be believed.
    """
    state = _read(path)
    if state is None:
        raise NotFound("no server runs on this folder")
    with _handle(state.pid) as process:  # before it is looked at, or it could end and its number be given away
        if process is None or not _is_same(state):
            _remove(path, state)
            raise NotFound("no server runs on this folder; what the last one left behind was removed")
        if not _answers(state):
            raise ProviderError(
                f"process {state.pid} does not answer as the server of this folder, and was left alone",
                hint=f"look at it with `ps -p {state.pid}`",
            )
        process.terminate()
        if not process.ends_within(wait_s):
            raise ProviderError(f"process {state.pid} was told to stop, and still runs after {wait_s:g} s")
    _remove(path, state)
    return state


def started_of(pid: int) -> str | None:
    """When a process was started, in the words of the operating system. None: there is no such process.

    On Linux the ticks since boot, and which boot; elsewhere what `ps` says, to the second.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
        done = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, check=False)
        return done.stdout.decode("ascii", "replace").strip() or None
    fields = stat.rpartition(b")")[2].split()  # the name before it may have blanks and parentheses
    if fields[0] in (b"Z", b"X"):  # it has ended, and its parent has not looked
        return None
    return f"{boot} {int(fields[19])}"


class _Process:
    """A process that is held on to by a descriptor where the system has them."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self._pid, self._descriptor = pid, descriptor

    def terminate(self) -> None:
        if self._descriptor >= 0:
            signal.pidfd_send_signal(self._descriptor, signal.SIGTERM)
        else:
            os.kill(self._pid, signal.SIGTERM)

    def ends_within(self, seconds: float) -> bool:
        if self._descriptor >= 0:
            return bool(select.select([self._descriptor], [], [], seconds)[0])
        deadline = time.monotonic() + seconds
        while started_of(self._pid) is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_S)
        return True


@contextmanager
def _handle(pid: int) -> Iterator[_Process | None]:
    """None: there is no such process."""
    try:
        descriptor = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except ProcessLookupError:
        yield None
        return
    except OSError:  # a kernel without them
        descriptor = -1
    try:
        yield _Process(pid, descriptor)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _is_same(state: State) -> bool:
    return bool(state.started) and started_of(state.pid) == state.started


def _answers(state: State) -> bool:
    """Whether what listens there knows the nonce."""
    import http.client  # brings email and ssl along

    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(state.host, state.host)
    connection = http.client.HTTPConnection(host, state.port, timeout=_ASK_S)
    try:
        connection.request("GET", "/healthz")
        found = json.loads(connection.getresponse().read(_MOST_BYTES))
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
    nonce = found.get("nonce") if isinstance(found, dict) else None
    return isinstance(nonce, str) and secrets.compare_digest(nonce.encode(), state.nonce.encode())


def _remove(path: Path, state: State) -> None:
    """Remove the file if it still says this: a server that was started meanwhile has written its own."""
    with suppress(OSError, MemhopError):
        if _read(path) == state:
            path.unlink(missing_ok=True)


def _read(path: Path) -> State | None:
    found = privatefile.read(path, most=_MOST_BYTES)
    if found is None:
        return None
    try:
        document: Any = json.loads(found[0])
        state = State(**{name: document[name] for name in State._fields})
    except (ValueError, RecursionError, KeyError, TypeError):
        raise _unbelievable(path) from None
    numbers = {"pid": (state.pid, 1 << 31), "port": (state.port, 65535), "since": (state.since, LAST_MS)}
    whole = all(type(value) is int and 0 < value <= high for value, high in numbers.values())
    words = all(isinstance(word, str) and len(word) <= 200 for word in (state.started, state.host, state.nonce))
    if document.get("version") != _VERSION or not whole or not words or not state.nonce:
        raise _unbelievable(path)
    return state


def _unbelievable(path: Path) -> ConfigError:
    return ConfigError(f"{path} is not what a server wrote", hint="end that server by hand, then remove the file")
