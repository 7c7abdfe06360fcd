"""`memhop mcp` as a real process, spoken to line by line.

    with Served(start, path) as server:           started warm, from a server that has imported everything
        server.handshake()
        server.call("memhop_remember", text="tea")

Beside the tools of the set it has those of `extra_tools`, which print, hang and wait. Every line on its output is kept
and must be JSON; nothing it starts is left behind.
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import sys
import termios
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.processes import HANG_S, Starter

HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
ENVELOPE = {  # what stands in for the handshake in each message of the newer protocol
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Served:
    """A server and its client's end.

    Attributes:
        pid: Of the server.
        lines: Every line it wrote so far.
    """

    def __init__(
        self, start: Starter, path: Path, *options: str, reads: bool = True, errors: Path | None = None
    ) -> None:
        self._errors = errors or path.parent / f"stderr-{time.monotonic_ns()}"
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        theirs = Connection(theirs_in, writable=False), Connection(theirs_out, readable=False)
        argv = ["memhop", "mcp", "--file", str(path), "--tools", "full", *options]
        self._worker = start(_serve, *theirs, argv, str(self._errors))
        for end in theirs:
            end.close()
        self.pid = self._worker.pid
        self._input = os.fdopen(ours_in, "wb", buffering=0)
        self._output = os.fdopen(ours_out, "rb")
        self._reads = reads
        self.lines: list[bytes] = []
        self._answers: dict[Any, dict[str, Any]] = {}
        self._others: queue.Queue[dict[str, Any]] = queue.Queue()
        self._news = threading.Condition()
        self._ended = False
        self._next = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        if reads:
            self._reader.start()

    def _read(self) -> None:
        for line in self._output:
            if not line.endswith(b"\n"):
                break
            message = json.loads(line)
            with self._news:
                self.lines.append(line)
                if message.get("id") is not None:
                    assert message["id"] not in self._answers, "a second answer"
                    self._answers[message["id"]] = message
                else:
                    self._others.put(message)
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def send(self, message: Mapping[str, Any] | bytes) -> None:
        """Write a message, or a line as it is."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        view = memoryview(data + b"\n")
        while view:
            view = view[self._input.write(view) :]

    def ask(self, method: str, params: Mapping[str, Any] | None = None, *, id: Any = None) -> Any:
        """Send a request and do not wait. Returns its id."""
        self._next += 1
        id = self._next if id is None else id
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": dict(params or {})})
        return id

    def answer(self, id: Any, seconds: float = HANG_S) -> dict[str, Any]:
        """The answer to a request: `result` or `error` and what is in it. AssertionError: the server ended first."""
        with self._news:
            assert self._news.wait_for(lambda: id in self._answers or self._ended, seconds), f"no answer to {id}"
            if id in self._answers:
                return self._answers[id]
        self._worker.finish()  # tells why, if it failed
        raise AssertionError(f"the server ended before it answered {id}; {self.errors()}")

    def answered(self, id: Any) -> bool:
        """Whether there is an answer yet."""
        with self._news:
            return id in self._answers

    def nameless(self) -> dict[str, Any]:
        """The next message without an id."""
        return self._others.get(timeout=HANG_S)

    def handshake(self) -> dict[str, Any]:
        """`initialize`, and what follows it. Returns its result."""
        result: dict[str, Any] = self.answer(self.ask("initialize", HANDSHAKE))["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def start_call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and do not wait. Returns the id of the request."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool. Returns the result of the protocol, with isError."""
        answer = self.answer(self.start_call(tool, **arguments))
        assert "result" in answer, answer
        found: dict[str, Any] = answer["result"]
        return found

    def data(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must not fail. Returns its structured content."""
        result = self.call(tool, **arguments)
        assert not result.get("isError"), result
        found: dict[str, Any] = result["structuredContent"]
        return found

    def unread_bytes(self) -> int:
        """How much it wrote that is not read."""
        return int.from_bytes(fcntl.ioctl(self._output.fileno(), termios.FIONREAD, bytes(4)), sys.byteorder)

    def close_input(self) -> None:
        """What a client does when it ends."""
        self._input.close()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._worker.kill()

    def drain(self) -> None:
        """Read what a server that is gone had still written. A line that the kill cut in two is no answer."""
        self._reader.join(HANG_S)

    def finish(self) -> str:
        """Wait until it has ended by itself, with 0. Returns what it said on standard error."""
        self._worker.finish()
        if self._reads:
            self._reader.join(HANG_S)
        return self.errors()

    def errors(self) -> str:
        """What it said on standard error so far."""
        return self._errors.read_text("utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._input.close()
        self._worker.discard()
        if self._reads:
            self._reader.join(HANG_S)
        self._output.close()


def _serve(link: Connection, theirs_in: Connection, theirs_out: Connection, argv: list[str], errors: str) -> None:
    """What runs in the process: `memhop mcp`, with pipes in place of the standard streams."""
    descriptor = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for standard, given in enumerate((theirs_in.fileno(), theirs_out.fileno(), descriptor)):
        os.dup2(given, standard)
    theirs_in.close()
    theirs_out.close()
    os.close(descriptor)
    sys.stdin = os.fdopen(0, "r", closefd=False)  # those of the process this one is forked from are files
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    main(argv)


def main(argv: list[str]) -> None:
    """The command line with the extra tools."""
    from memhop.cli.main import main as command_line
    from tests.support import extra_tools

    extra_tools.add()
    sys.argv = argv
    command_line()


def command(path: Path, *options: str) -> list[str]:
    """What starts a server cold, for clients that start it themselves."""
    return [sys.executable, "-m", "memhop.cli.main", "mcp", "--file", str(path), "--tools", "full", *options]


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that nobody waited for yet does not count."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state not in (b"Z", b"X")
