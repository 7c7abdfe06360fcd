"""A real embedding service on loopback, which can be told to misbehave.

Speaks Ollama (/api/embed, /api/tags) and OpenAI (/v1/embeddings, float and base64). Vectors are a function of the
text and the model, so that tests can say what to expect.

    with EmbeddingServer(dim=4) as server:
        server.faults = ["http_500", "http_429"]    # for the next two requests; afterwards it behaves
        OllamaEmbedder(server.url, "m").embed(["text"])
        server.requests[0].body["input"]
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import struct
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

JUNK_BYTES = 10 * 1024 * 1024
_LONGEST_PAUSE_S = 10.0
FAULTS = (
    "slow",
    "drip",
    "http_401",
    "http_404",
    "http_429",
    "http_500",
    "html",
    "half_json",
    "deep_json",
    "no_vectors",
    "too_few",
    "too_many",
    "wrong_dim",
    "nan",
    "zeros",
    "empty_vectors",
    "strings",
    "huge",
    "gzip",
    "redirect",
    "closed",
)


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    path: str
    body: Any
    headers: dict[str, str]


class EmbeddingServer:
    """Listens from construction until `close`.

    Attributes:
        url: http://127.0.0.1:port
        faults: Names out of FAULTS, one taken off for each embedding request. Empty: behave.
        bad_texts: Texts which give a vector of NaN.
        refused_texts: A request with one of these is answered with status 400.
        retry_after: Value of that header in a 429. None: no header.
        requests: Embedding requests so far.
    """

    def __init__(self, dim: int = 4) -> None:
        self.dim = dim
        self.faults: list[str] = []
        self.bad_texts: set[str] = set()
        self.refused_texts: set[str] = set()
        self.retry_after: str | None = "0"
        self.requests: list[Received] = []
        self.connections = 0
        self.stopping = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def __enter__(self) -> EmbeddingServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and end every connection."""
        self.stopping.set()
        self._http.shutdown()
        self._http.close_connections()
        self._http.server_close()
        self._thread.join()

    def vector(self, text: str, model: str = "m") -> list[float]:
        """The vector this service gives, exact in float32."""
        raw = hashlib.shake_256(f"{model}\0{text}".encode()).digest(self.dim)
        return [(byte - 127.5) / 128 for byte in raw]


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    owner: EmbeddingServer

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        self.owner.connections += 1
        super().process_request(request, client_address)

    def close_connections(self) -> None:
        """Kept-alive connections would hold their threads, and `server_close` waits for those."""
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client was first

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle is what half of the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""

    def do_GET(self) -> None:
        if self.path == "/api/tags":
            self._json(200, {"models": [{"name": "m", "digest": "0" * 64}]})
        else:
            self._json(404, {"error": "not found"})

    def do_POST(self) -> None:
        owner = self.server.owner
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        owner.requests.append(Received(self.path, body, {k.lower(): v for k, v in self.headers.items()}))
        fault = owner.faults.pop(0) if owner.faults else ""
        if owner.refused_texts.intersection(body["input"]):
            self._json(400, {"error": "the input length exceeds the context length"})
        elif not fault or not self._misbehave(fault, body):
            self._vectors(body, self._rows(fault, body))

    def _rows(self, fault: str, body: Any) -> list[Any]:
        owner = self.server.owner
        rows: list[Any] = [
            [float("nan")] * owner.dim if text in owner.bad_texts else owner.vector(text, body["model"])
            for text in body["input"]
        ]
        changed: dict[str, list[Any]] = {
            "too_few": rows[:-1],
            "too_many": rows + rows[:1],
            "wrong_dim": [[*row, 0.5] for row in rows],
            "nan": [[float("nan"), *row[1:]] for row in rows],
            "zeros": [[0.0] * owner.dim for _ in rows],
            "empty_vectors": [[] for _ in rows],
            "strings": [["0.5"] * owner.dim for _ in rows],
        }
        return changed.get(fault, rows)

    def _vectors(self, body: Any, rows: list[Any]) -> None:
        if self.path == "/api/embed":
            self._json(200, {"model": body["model"], "embeddings": rows})
            return
        if body.get("encoding_format") == "base64":
            rows = [
                row
                if any(isinstance(value, str) for value in row)
                else base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode()
                for row in rows
            ]
        data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
        data.reverse()  # the order is in `index`, and only there
        self._json(200, {"object": "list", "model": body["model"], "data": data})

    def _misbehave(self, fault: str, body: Any) -> bool:
        """Whether the request has been dealt with."""
        owner = self.server.owner
        if fault == "slow":
            owner.stopping.wait(_LONGEST_PAUSE_S)
            self.close_connection = True
        elif fault == "drip":
            self._head(200, "application/json", 100_000)
            while not owner.stopping.wait(0.02):
                self.wfile.write(b" ")
        elif fault == "closed":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif fault == "http_401":
            key = self.headers.get("authorization", "")
            self._json(401, {"error": {"message": f"Incorrect API key provided: {key[-8:]}, that is {key}"}})
        elif fault == "http_404":
            self._json(404, {"error": f"model {body['model']!r} not found\nauth: {self.headers['authorization']}"})
        elif fault == "http_429":
            extra = {} if owner.retry_after is None else {"retry-after": owner.retry_after}
            self._json(429, {"error": {"message": "rate limit"}}, extra)
        elif fault == "http_500":
            self._json(500, {"error": "json: unsupported value: NaN"})
        elif fault == "html":
            self._send(200, "text/html", b"<html><body>Welcome to the proxy</body></html>")
        elif fault == "half_json":
            self._send(200, "application/json", b'{"embeddings": [[0.1, 0.')
        elif fault == "deep_json":
            self._send(200, "application/json", b"[" * 200_000)
        elif fault == "no_vectors":
            self._json(200, {"embedding": 7, "data": "none"})
        elif fault == "huge":
            self._head(200, "application/json", JUNK_BYTES)
            for _ in range(JUNK_BYTES // 65_536):
                self.wfile.write(b"9" * 65_536)
        elif fault == "gzip":
            self._send(200, "application/json", b"\x1f\x8b not looked at", {"content-encoding": "gzip"})
        elif fault == "redirect":
            self._send(307, "text/plain", b"", {"location": f"{owner.url}/elsewhere"})
        else:
            return False
        return True

    def _json(self, status: int, value: Any, extra: dict[str, str] | None = None) -> None:
        self._send(status, "application/json", json.dumps(value).encode(), extra)

    def _send(self, status: int, kind: str, body: bytes, extra: dict[str, str] | None = None) -> None:
        self._head(status, kind, len(body), extra)
        self.wfile.write(body)

    def _head(self, status: int, kind: str, length: int, extra: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(length))
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.end_headers()
