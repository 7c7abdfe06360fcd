"""A model service on loopback: speaks OpenAI's and Ollama's HTTP, says what a script tells it, misbehaves on demand.

    with model_server("a reply") as server:                              # the same text each time
    with model_server(["first", {"a": 1}, status(429), closed]) as server:   # one after another, then it is an error
    with model_server(lambda asked: {"echo": asked.user}) as server:     # worked out from the request

        OpenAIChat("stub", base_url=server.url)     # /v1 may be in the URL or not
        OllamaChat(server.url, "stub")
        server.asked[0].user, server.calls, server.prompt_tokens

What a script gives: a str is the text of the reply; a dict is sent as JSON text; `Said` also sets why it ended and what
is counted; a Fault goes wrong on the wire. A script that raises, or ends too early, answers 500 and fails the test when
the server is closed. Embeddings are a function of text and model.
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

JUNK_BYTES = 10 * 1024 * 1024
LONGEST_PAUSE_S = 10.0


@dataclass(frozen=True)
class Asked:
    """A request as it arrived. The properties are for requests to chat."""

    path: str
    body: Any
    headers: dict[str, str]

    @property
    def system(self) -> str:
        return self._said_by("system")

    @property
    def user(self) -> str:
        return self._said_by("user")

    @property
    def schema(self) -> Any:
        """The JSON schema that was sent along, in either API; None: there was none."""
        wanted = self.body.get("format") or self.body.get("response_format", {}).get("json_schema", {}).get("schema")
        return wanted if isinstance(wanted, dict) else None

    def _said_by(self, role: str) -> str:
        return "\n".join(message["content"] for message in self.body["messages"] if message["role"] == role)


@dataclass(frozen=True)
class Said:
    """A reply of the model.

    Attributes:
        text: None: a reply without content.
        finish: Why it ended, such as "stop", "length", "content_filter".
        usage: Whether tokens are counted in the reply.
        message: Further fields of the message.
    """

    text: str | None
    finish: str | None = "stop"
    usage: bool = True
    message: Mapping[str, Any] | None = None


class Wire:
    """One request being answered: what a fault works with."""

    def __init__(self, handler: _Handler, asked: Asked) -> None:
        self._handler = handler
        self.asked = asked
        self.server = handler.server.owner

    def json(self, code: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        self.send(code, "application/json", json.dumps(value).encode(), headers)

    def send(self, code: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.head(code, kind, len(body), headers)
        self.write(body)

    def head(self, code: int, kind: str, length: int, headers: Mapping[str, str] | None = None) -> None:
        self._handler.send_response(code)
        for name, value in {"content-type": kind, "content-length": str(length), **(headers or {})}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def write(self, body: bytes) -> None:
        self._handler.wfile.write(body)

    def pause(self, seconds: float) -> bool:
        """Whether the server is being closed."""
        return self.server.stopping.wait(seconds)

    def drop(self) -> None:
        self._handler.connection.shutdown(socket.SHUT_RDWR)
        self._handler.close_connection = True


@dataclass(frozen=True)
class Fault:
    """A way to answer that no sound service has."""

    does: Callable[[Wire], None]

    def __call__(self, wire: Wire) -> None:
        self.does(wire)


Answer = str | dict[str, Any] | Said | Fault
Script = Answer | Sequence[Answer] | Callable[[Asked], Answer]


def status(code: int, message: str = "so it is", **headers: str) -> Fault:
    """An error as both APIs write it. `retry_after="2"` is the header Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(lambda wire: wire.json(code, {"error": {"message": message, "type": "stub"}}, named))


def slow(seconds: float, then: str | dict[str, Any] | Said = "late") -> Fault:
    """Say nothing for a while, then answer."""

    def fault(wire: Wire) -> None:
        if wire.pause(seconds):
            wire.drop()
        else:
            wire.server.say(wire, then)

    return Fault(fault)


@Fault
def silent(wire: Wire) -> None:
    """No reply within any time a test would wait."""
    wire.pause(LONGEST_PAUSE_S)
    wire.drop()


@Fault
def closed(wire: Wire) -> None:
    wire.drop()


@Fault
def html(wire: Wire) -> None:
    wire.send(200, "text/html", b"<html><body>Welcome to the proxy</body></html>")


@Fault
def half_body(wire: Wire) -> None:
    """The connection breaks in the middle of a reply whose length was announced."""
    wire.head(200, "application/json", 1000)
    wire.write(b'{"choices": [{"mess')
    wire.drop()


@Fault
def half_json(wire: Wire) -> None:
    wire.send(200, "application/json", b'{"choices": [{"message": {"content": "{')


@Fault
def deep_json(wire: Wire) -> None:
    wire.send(200, "application/json", b"[" * 200_000)


@Fault
def no_fields(wire: Wire) -> None:
    wire.json(200, {"embedding": 7, "data": "none", "choices": [], "message": []})


@Fault
def huge(wire: Wire) -> None:
    wire.head(200, "application/json", JUNK_BYTES)
    for _ in range(JUNK_BYTES // 65_536):
        wire.write(b"9" * 65_536)


@Fault
def drip(wire: Wire) -> None:
    """A body that comes byte by byte and does not end."""
    wire.head(200, "application/json", 100_000)
    while not wire.pause(0.02):
        wire.write(b" ")


@Fault
def drip_headers(wire: Wire) -> None:
    """A head that comes byte by byte and does not end."""
    wire.write(b"HTTP/1.1 200 OK\r\nx-more: ")
    while not wire.pause(0.02):
        wire.write(b"x")


@Fault
def packed(wire: Wire) -> None:
    wire.send(200, "application/json", b"\x1f\x8b not looked at", {"content-encoding": "gzip"})


@Fault
def redirect(wire: Wire) -> None:
    wire.send(307, "text/plain", b"", {"location": f"{wire.server.url}/elsewhere"})


@Fault
def tells_the_key(wire: Wire) -> None:
    """Some services repeat the key they refuse, or a part of it."""
    key = wire.asked.headers.get("authorization", "")
    wire.json(401, {"error": {"message": f"Incorrect API key provided: {key[-8:]}, that is {key}"}})


FAULTS: dict[str, Fault] = {
    "silent": silent,
    "closed": closed,
    "html": html,
    "half_body": half_body,
    "half_json": half_json,
    "deep_json": deep_json,
    "no_fields": no_fields,
    "huge": huge,
    "drip": drip,
    "drip_headers": drip_headers,
    "packed": packed,
    "redirect": redirect,
    "tells_the_key": tells_the_key,
    "http_400": status(400),
    "http_404": status(404, "model 'stub' not found"),
    "http_429": status(429, "rate limit", retry_after="0"),
    "http_500": status(500),
    "http_503": status(503),
}


class ModelServer:
    """Listens from construction until `close`.

    Attributes:
        url: http://127.0.0.1:port
        asked: Requests so far, of chat and of embeddings.
        calls, prompt_tokens, completion_tokens: What chat would be billed for: requests that got a reply of the model.
        connections: How often somebody connected.
        stopping: Set when the server is being closed.
        script: What it will say, see above.
        errors: What went wrong in the script, or in this server.
    """

    models = ("stub",)

    def __init__(self, script: Script = "", *, dim: int = 8) -> None:
        self.dim = dim
        self.asked: list[Asked] = []
        self.connections = 0
        self.calls = self.prompt_tokens = self.completion_tokens = 0
        self.stopping = threading.Event()
        self.script = script
        self._next = 0
        self.errors: list[Exception] = []
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(quietly=error is not None)

    def close(self, *, quietly: bool = False) -> None:
        """Stop listening and end every connection. Raises the first of `errors`, unless `quietly`."""
        self.stopping.set()
        self._http.shutdown()
        self._http.close_connections()
        self._http.server_close()
        self._thread.join()
        if self.errors and not quietly:
            raise self.errors[0]

    def vector(self, text: str, model: str = "stub") -> list[float]:
        """The vector this service gives, exact in float32."""
        raw = hashlib.shake_256(f"{model}\0{text}".encode()).digest(self.dim)
        return [(byte - 127.5) / 128 for byte in raw]

    def get(self, wire: Wire) -> None:
        path = wire.asked.path.removeprefix("/v1")
        if path == "/models":
            data = [{"id": name, "object": "model", "created": 0, "owned_by": "stub"} for name in self.models]
            wire.json(200, {"object": "list", "data": data})
        elif path == "/api/version":
            wire.json(200, {"version": "0.12.0"})
        elif path == "/api/tags":
            wire.json(200, {"models": [{"name": name, "model": name, "digest": "0" * 64} for name in self.models]})
        else:
            wire.json(404, {"error": "not found"})

    def post(self, wire: Wire) -> None:
        path = wire.asked.path.removeprefix("/v1")
        if path in ("/chat/completions", "/api/chat"):
            with self._lock:
                self.asked.append(wire.asked)
            try:
                answer = self._answer(wire.asked)
            except Exception as error:
                self.errors.append(error)
                wire.json(500, {"error": f"the script of the test failed: {error!r}"})
                return
            if isinstance(answer, Fault):
                answer(wire)
            else:
                self.say(wire, answer)
        elif path in ("/embeddings", "/api/embed", "/api/embeddings"):
            with self._lock:
                self.asked.append(wire.asked)
            self.embed(wire)
        elif path == "/api/show":
            wire.json(200, {"details": {"family": "stub"}, "model_info": {"stub.context_length": 4096}})
        else:
            wire.json(404, {"error": "not found"})

    def say(self, wire: Wire, answer: str | dict[str, Any] | Said) -> None:
        """Answer a request to chat."""
        said = answer if isinstance(answer, Said) else Said(answer if isinstance(answer, str) else json.dumps(answer))
        prompt = sum(tokens_of(message["content"]) for message in wire.asked.body["messages"])
        written = tokens_of(said.text or "")
        with self._lock:
            self.calls += 1
            self.prompt_tokens += prompt
            self.completion_tokens += written
        openai = wire.asked.path != "/api/chat"
        (_say_openai if openai else _say_ollama)(wire, said, prompt, written)

    def embed(self, wire: Wire) -> None:
        """Answer a request for vectors."""
        body = wire.asked.body
        texts = body["prompt"] if wire.asked.path == "/api/embeddings" else body["input"]
        send_vectors(
            wire, [self.vector(text, body["model"]) for text in ([texts] if isinstance(texts, str) else texts)]
        )

    def _answer(self, asked: Asked) -> Answer:
        script = self.script
        if isinstance(script, str | dict | Said | Fault):
            return script
        if callable(script):
            return script(asked)
        with self._lock:
            at, self._next = self._next, self._next + 1
        if at >= len(script):
            raise AssertionError(f"request {at + 1}, and the script has {len(script)} replies")
        return script[at]


@contextmanager
def model_server(script: Script = "") -> Iterator[ModelServer]:
    with ModelServer(script) as server:
        yield server


def tokens_of(text: str) -> int:
    """What this service counts for a text: four bytes of UTF-8 to a token."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


def send_vectors(wire: Wire, rows: list[Any]) -> None:
    """Rows as the API that was asked writes them."""
    body = wire.asked.body
    if wire.asked.path == "/api/embeddings":
        wire.json(200, {"embedding": rows[0]})
    elif wire.asked.path == "/api/embed":
        wire.json(200, {"model": body["model"], "embeddings": rows})
    else:
        if body.get("encoding_format") == "base64":
            rows = [
                row
                if any(isinstance(value, str) for value in row)
                else base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode()
                for row in rows
            ]
        data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
        data.reverse()  # the order is in `index`, and only there
        usage = {"prompt_tokens": len(rows), "total_tokens": len(rows)}
        wire.json(200, {"object": "list", "model": body["model"], "data": data, "usage": usage})


def _pieces(text: str | None) -> list[str]:
    """A text as it is streamed."""
    return [(text or "")[at : at + 20] for at in range(0, len(text or ""), 20)]


def _say_openai(wire: Wire, said: Said, prompt: int, written: int) -> None:
    usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    head = {"id": "stub-1", "created": int(time.time()), "model": wire.asked.body["model"]}
    if not wire.asked.body.get("stream"):
        message = {"role": "assistant", "content": said.text, **(said.message or {})}
        choice = {"index": 0, "message": message, "finish_reason": said.finish, "logprobs": None}
        whole = {**head, "object": "chat.completion", "choices": [choice]}
        wire.json(200, {**whole, "usage": usage} if said.usage else whole)
        return
    deltas: list[tuple[dict[str, Any], str | None]] = [({"content": piece}, None) for piece in _pieces(said.text)]
    events = [
        {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
        for delta, end in [*deltas, ({}, said.finish)]
    ]
    lines = [*(json.dumps(event) for event in events), "[DONE]"]
    wire.send(200, "text/event-stream", "".join(f"data: {line}\n\n" for line in lines).encode())


def _say_ollama(wire: Wire, said: Said, prompt: int, written: int) -> None:
    head = {"model": wire.asked.body["model"], "created_at": "2026-01-01T00:00:00.000000Z"}
    counts = {"prompt_eval_count": prompt, "eval_count": written, "total_duration": 1, "load_duration": 1}
    last = {"done": True, "done_reason": said.finish, **(counts if said.usage else {})}
    whole = {"role": "assistant", "content": said.text, **(said.message or {})}
    if wire.asked.body.get("stream") is False:
        wire.json(200, {**head, "message": whole, **last})
        return
    parts: list[dict[str, Any]] = [
        {**head, "message": {"role": "assistant", "content": piece}, "done": False} for piece in _pieces(said.text)
    ]
    parts.append({**head, "message": {"role": "assistant", "content": ""}, **last})
    wire.send(200, "application/x-ndjson", "".join(f"{json.dumps(part)}\n" for part in parts).encode())


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    owner: ModelServer

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
        """A client that hangs up in the middle is what half of the tests are about; anything else is a fault here."""
        error = sys.exc_info()[1]
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self.owner.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""

    def do_GET(self) -> None:
        self.server.owner.get(Wire(self, self._asked(None)))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.owner.post(Wire(self, self._asked(body)))

    def _asked(self, body: Any) -> Asked:
        return Asked(self.path, body, {name.lower(): value for name, value in self.headers.items()})
