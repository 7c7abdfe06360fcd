"""Real processes for tests: started warm, spoken to over a pipe, stopped, killed, and never left behind.

    worker = Worker(function, argument, ...)        function(link, argument, ...) runs in the process
    link.send(value) / link.recv()                  there
    worker.hear() / worker.tell(value)              here

They are forked by a server that has imported everything and holds nothing open, so that one costs some 10 ms. That is
no fork of an open memory: each opens its own.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

HANG_S = 120.0  # nothing takes nearly as long; a process that does is stuck

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.support.warm"])


class Worker:
    """A process that runs `function(link, *arguments)`, a function of a module.

    Attributes:
        pid: Of the process.
    """

    def __init__(self, function: Callable[..., object], *arguments: Any) -> None:
        self._link, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_run, args=(function, theirs, arguments))
        self._process.start()
        theirs.close()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self._name = function.__name__

    def tell(self, value: object) -> None:
        """Send a value. One that has ended is not told: why it did is heard."""
        with suppress(BrokenPipeError):
            self._link.send(value)

    def hear(self, seconds: float = HANG_S) -> Any:
        """The next value it sent. AssertionError: it failed (says how), ended, or is silent for `seconds`."""
        assert self._link.poll(seconds), f"{self._name} said nothing for {seconds:g} s"
        try:
            value = self._link.recv()
        except (EOFError, ConnectionResetError):  # the latter if it never looked at what it was told
            self._process.join(HANG_S)
            raise AssertionError(f"{self._name} ended with {self._process.exitcode}") from None
        if isinstance(value, _Failure):
            raise AssertionError(f"{self._name} failed:\n{value.trace}")
        return value

    def rest(self) -> Iterator[Any]:
        """All it sends until it ends."""
        while True:
            try:
                yield self.hear()
            except AssertionError as error:
                if f"{self._name} ended" not in str(error):
                    raise
                return

    def has_said(self) -> bool:
        """Whether `hear` would return at once."""
        return self._link.poll(0)

    def stop(self) -> None:
        """SIGSTOP; returns once it stands still."""
        os.kill(self.pid, signal.SIGSTOP)
        until(lambda: self._stands_still(), "a stopped process stands still")

    def go_on(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL; returns once it is gone. What it had sent can still be heard."""
        os.kill(self.pid, signal.SIGKILL)
        self._process.join(HANG_S)
        assert self._process.exitcode == -signal.SIGKILL

    def finish(self, code: int = 0) -> list[Any]:
        """Wait until it ends by itself, with this exit code. Returns what it had still to say."""
        said = list(self.rest())
        self._process.join(HANG_S)
        assert self._process.exitcode == code, f"{self._name} ended with {self._process.exitcode}"
        return said

    def discard(self) -> None:
        """End it whatever it does. A second call does nothing."""
        if self._link.closed:
            return
        if self._process.is_alive():
            os.kill(self.pid, signal.SIGKILL)
        self._process.join(HANG_S)
        self._link.close()
        self._process.close()

    def _stands_still(self) -> bool:
        state = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        return state in (b"T", b"t")


Starter = Callable[..., Worker]


class _Failure:
    def __init__(self, trace: str) -> None:
        self.trace = trace


@contextmanager
def workers() -> Iterator[Starter]:
    """Starts workers; none outlives the block."""
    started: list[Worker] = []

    def start(function: Callable[..., object], *arguments: Any) -> Worker:
        started.append(Worker(function, *arguments))
        return started[-1]

    try:
        yield start
    finally:
        for worker in started:
            worker.discard()


def until(condition: Callable[[], bool], what: str, seconds: float = HANG_S) -> None:
    """Poll until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.002)


def _run(function: Callable[..., object], link: Connection, arguments: tuple[Any, ...]) -> None:
    warnings.simplefilter("error")
    try:
        function(link, *arguments)
    except BaseException:
        link.send(_Failure(traceback.format_exc()))
        raise SystemExit(1) from None
