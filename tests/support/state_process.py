"""Processes for tests of the state file: a server that answers /healthz, a client of it, and an innocent one."""

from __future__ import annotations

import http.client
import json
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from memhop.common.errors import MemhopError
from memhop.server.http.statefile import claimed


def answering(nonce: str) -> ThreadingHTTPServer:
    """A server that answers any GET with a nonce, in a thread."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = json.dumps({"nonce": nonce}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def serve(link: Any, path: Path, deaf: bool = False) -> None:
    """The server of a folder, until it gets SIGTERM; a deaf one does not end then."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: None if deaf else ended.set())
    try:
        with claimed(path) as claim:
            server = answering(claim.nonce)
            link.send(claim.publish("127.0.0.1", server.server_address[1])._asdict())
            while not ended.wait(0.05):
                pass
            server.shutdown()
            server.server_close()
    except MemhopError as error:
        link.send(error.to_dict())


def stay_connected(link: Any, port: int) -> None:
    """A client that keeps its connection open, and asks again when it is told to."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    link.send("connected")
    link.recv()
    link.send("alive")
    connection.close()


def innocent(link: Any) -> None:
    """A process that has nothing to do with any of it."""
    link.send("here")
    link.recv()
    link.send("alive")
