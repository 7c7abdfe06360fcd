"""A server in a thread, on a port of its own, and a client that sends exactly the bytes it is told to."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvicorn

HANG_S = 60.0  # nothing takes nearly as long


class Answered(NamedTuple):
    """What came back. `closed`: the server hung up behind it."""

    status: int
    headers: dict[str, str]
    body: bytes
    closed: bool = False

    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


@contextmanager
def serving(app: Any, **options: Any) -> Iterator[int]:
    """Serve an ASGI app at 127.0.0.1. Yields the port. `options` are those of `uvicorn.Config`."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    settings = {"lifespan": "off", "log_config": None, "access_log": False, "ws": "none", "proxy_headers": False}
    server = uvicorn.Server(uvicorn.Config(app, **settings | options, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(HANG_S)
        listener.close()
        assert not thread.is_alive()


def connected(port: int) -> socket.socket:
    """A connection to such a server."""
    return socket.create_connection(("127.0.0.1", port), timeout=HANG_S)


def answer_of(link: socket.socket) -> Answered:
    """The next answer on a connection."""
    with link.makefile("rb") as file:
        line = file.readline()
        assert line, "the server hung up without an answer"
        headers: dict[str, str] = {}
        while (header := file.readline().strip()) != b"":
            name, _, value = header.decode("latin-1").partition(":")
            assert name.lower() not in headers, f"{name} is there twice"
            headers[name.lower()] = value.strip()
        body = file.read(int(headers.get("content-length", 0)))
        closed = headers.get("connection") == "close"
        if closed:
            try:
                closed = file.read(1) == b""
            except ConnectionResetError:  # what we had sent meanwhile was not read any more
                closed = True
    return Answered(int(line.split()[1]), headers, body, closed)


def ask(port: int, sent: bytes) -> Answered:
    """Send bytes on a new connection, and read the answer."""
    with connected(port) as link:
        link.sendall(sent)
        return answer_of(link)


def request(
    method: str = "GET",
    path: str = "/",
    *lines: str,
    host: str | None = "localhost",
    token: str | None = None,
    body: bytes | None = None,
    json_type: bool = True,
) -> bytes:
    """The bytes of a request. `lines` are further headers as they go over the wire."""
    head = [f"{method} {path} HTTP/1.1"]
    head += [f"Host: {host}"] if host is not None else []
    head += [f"Authorization: Bearer {token}"] if token is not None else []
    if body is not None:
        head += [f"Content-Length: {len(body)}"] + (["Content-Type: application/json"] if json_type else [])
    return "\r\n".join([*head, *lines, "", ""]).encode("latin-1") + (body or b"")
