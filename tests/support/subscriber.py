"""Somebody who is told of changes: an HTTP server over real sockets that is slow, refuses, redirects or breaks."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


class Listener:
    """Keeps what it was told. `answer` says what becomes of a request: the bytes to send back, None to hang up."""

    def __init__(self, answer: Callable[[int], bytes | None]) -> None:
        self.told: list[dict[str, Any]] = []
        self.requests = 0
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/notify"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                channel, _ = self._listening.accept()
            except OSError:
                return
            with channel, suppress(OSError):
                channel.settimeout(5.0)
                data = b""
                while b"\r\n\r\n" not in data and (part := channel.recv(65_536)):
                    data += part
                head, _, body = data.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                while len(body) < length and (part := channel.recv(65_536)):
                    body += part
                self.requests += 1
                answer = self._answer(self.requests)
                if answer is not None:
                    self.told.append(json.loads(body))
                    channel.sendall(answer)

    def wait(self, count: int, seconds: float = 10.0) -> None:
        """Return when so many requests were answered."""
        until = time.monotonic() + seconds
        while len(self.told) < count and time.monotonic() < until:
            time.sleep(0.005)
        assert len(self.told) >= count, f"{len(self.told)} of {count} came"

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(5.0)


OK = b"HTTP/1.1 204 No Content\r\n\r\n"


@contextmanager
def listener(answer: Callable[[int], bytes | None] = lambda _: OK) -> Iterator[Listener]:
    """A listener that runs inside the block."""
    running = Listener(answer)
    try:
        yield running
    finally:
        running.close()


def manifest(home: Path, name: str, endpoint: object) -> None:
    """Write `~/.NAME/manifest.json`."""
    folder = home / f".{name}"
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps({"notifyEndpoint": endpoint}), "utf-8")
