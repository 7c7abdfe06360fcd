"""The gate, over real sockets: what does not get in, with which answer, and that the server lives on."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from memhop.server.http.audit import Audit
from memhop.server.http.connection import guarded
from memhop.server.http.gate import Gate
from memhop.server.http.limits import Limits
from memhop.server.http.tokens import Tokens
from tests.support.echo_app import Echo
from tests.support.http_server import Answered, answer_of, ask, connected, request, serving

LIMITS = Limits(
    body_bytes=100_000,
    buffered_bytes=300_000,
    body_seconds=1.0,
    head_bytes=8192,
    head_seconds=1.0,
    write_seconds=1.0,
    connections=20,
    failure_burst=1000,
)


class Server(NamedTuple):
    """A server behind a gate."""

    port: int
    token: str
    tokens: Tokens
    app: Echo
    root: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("gate")
    with _server(root, LIMITS) as made:
        yield made


class _server:
    def __init__(self, root: Path, limits: Limits, **options: object) -> None:
        self._tokens, self._app, self._root = Tokens(root / "tokens.json"), Echo(), root
        gate = Gate(
            self._app,
            tokens=self._tokens,
            hosts=("memory.example",),
            origins=("https://app.example",),
            limits=limits,
            audit=Audit(root / "audit.jsonl"),
        )
        self._serving = serving(gate, http=guarded(limits), h11_max_incomplete_event_size=limits.head_bytes)

    def __enter__(self) -> Server:
        port = self._serving.__enter__()
        token = self._tokens.add("alice", ["read", "write"])[1]
        return Server(port, token, self._tokens, self._app, self._root)

    def __exit__(self, *error: object) -> None:
        self._serving.__exit__(None, None, None)


def post(path: str, body: bytes, token: str, *lines: str) -> bytes:
    return request("POST", path, *lines, token=token, body=body)


def test_who_has_a_token_gets_in(server: Server) -> None:
    answered = ask(server.port, post("/x", b'{"a": 1}', server.token))
    assert answered.status == 200
    assert answered.json() == {"path": "/x", "bytes": 8, "token": server.tokens.list()[0].id}


def test_every_answer_tells_browsers_to_make_nothing_of_it(server: Server) -> None:
    for sent in (request(path="/healthz"), request(token=server.token), request(), request(path="//"), b"no\r\n\r\n"):
        headers = ask(server.port, sent).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert not [name for name in headers if name.startswith("access-control")]
        assert "server" not in headers or headers["server"] == "uvicorn"


FORM = "Content-Type: application/x-www-form-urlencoded"
JSON = "Content-Type: application/json"
# What is sent (TOKEN stands for a good one), and the status it gets.
TABLE: list[tuple[str, bytes, int]] = [
    ("open path", request(path="/healthz"), 200),
    ("open path, by a stranger's name", request(path="/healthz", host="evil.example"), 421),
    ("open path, written to", request("POST", "/healthz", body=b"{}"), 400),
    ("a path like the open one", request(path="/healthz/"), 401),
    ("no token", request(), 401),
    ("an empty token", request(token=""), 401),
    ("a wrong token", request(token="mh_000000000000_" + "A" * 43), 401),
    ("a token of nonsense", request(token="\xff\xfe"), 401),
    ("another scheme", request("GET", "/", "Authorization: Basic TOKEN"), 401),
    ("the token without its scheme", request("GET", "/", "Authorization: TOKEN"), 401),
    ("two tokens", request("GET", "/", "Authorization: Bearer x", token="TOKEN"), 400),
    ("a token in the query", request(path="/?access_token=TOKEN"), 400),
    ("a token in the query and the header", request(path="/?t=TOKEN", token="TOKEN"), 400),
    ("a cookie", request("GET", "/", "Cookie: token=TOKEN"), 401),
    # where it was sent
    ("by our name", request(host="memory.example:8377", token="TOKEN"), 200),
    ("by our name in capitals", request(host="MEMORY.example", token="TOKEN"), 200),
    ("by IPv6 loopback", request(host="[::1]:80", token="TOKEN"), 200),
    ("a stranger's name", request(host="evil.example", token="TOKEN"), 421),
    ("a name that begins like ours", request(host="localhost.evil.example", token="TOKEN"), 421),
    ("a name that ends like ours", request(host="evil-memory.example", token="TOKEN"), 421),
    ("user information before it", request(host="localhost@evil.example", token="TOKEN"), 400),
    ("half a bracket", request(host="[", token="TOKEN"), 400),
    ("half an address", request(host="[::1", token="TOKEN"), 400),
    ("no name", request(host="", token="TOKEN"), 400),
    ("a port that is none", request(host="localhost:99999", token="TOKEN"), 400),
    ("a port of letters", request(host="localhost:x", token="TOKEN"), 400),
    ("no Host", request(host=None, token="TOKEN"), 400),
    ("two Hosts", request("GET", "/", "Host: evil.example", token="TOKEN"), 400),
    ("no Host, as of old", b"GET / HTTP/1.0\r\nAuthorization: Bearer TOKEN\r\n\r\n", 400),
    ("a name forwarded", request("GET", "/", "X-Forwarded-Host: localhost", host="evil.example", token="TOKEN"), 421),
    # where it comes from
    ("our own page", request("GET", "/", "Origin: http://localhost", token="TOKEN"), 200),
    ("a page that may", request("GET", "/", "Origin: https://app.example", token="TOKEN"), 200),
    ("a strange page", request("GET", "/", "Origin: https://evil.example", token="TOKEN"), 403),
    ("no page in particular", request("GET", "/", "Origin: null", token="TOKEN"), 403),
    ("an empty origin", request("GET", "/", "Origin:", token="TOKEN"), 403),
    ("another port of this machine", request("GET", "/", "Origin: http://localhost:3000", token="TOKEN"), 403),
    ("a page that begins like ours", request("GET", "/", "Origin: https://app.example.evil", token="TOKEN"), 403),
    ("two origins", request("GET", "/", "Origin: https://app.example", "Origin: https://evil.example"), 400),
    ("a strange page reads what is open", request("GET", "/healthz", "Origin: https://evil.example"), 403),
    # paths
    ("two slashes", request(path="//", token="TOKEN"), 400),
    ("two slashes within", request(path="/mcp//alice", token="TOKEN"), 400),
    ("an absolute address", request(path="http://evil.example/", token="TOKEN"), 400),
    ("a star", request("OPTIONS", "*", token="TOKEN"), 400),
    ("an escaped slash", request(path="/mcp/a%2Fb", token="TOKEN"), 400),
    ("an escaped backslash", request(path="/mcp/a%5cb", token="TOKEN"), 400),
    ("a backslash", request(path="/mcp\\alice", token="TOKEN"), 400),
    ("dots", request(path="/mcp/../etc", token="TOKEN"), 400),
    ("dots at the end", request(path="/mcp/..", token="TOKEN"), 400),
    ("escaped dots", request(path="/mcp/%2e%2e/etc", token="TOKEN"), 400),
    ("NUL", request(path="/mcp/a%00", token="TOKEN"), 400),
    ("a line end", request(path="/mcp/a%0d%0aX-Evil:1", token="TOKEN"), 400),
    ("half an escape", request(path="/mcp/%", token="TOKEN"), 400),
    ("not UTF-8", request(path="/mcp/%ff", token="TOKEN"), 400),
    ("a long path", request(path="/" + "a" * 3000, token="TOKEN"), 414),
    ("letters of all scripts", request(path="/notes/%E9%BC%93", token="TOKEN"), 200),
    # bodies
    ("a form", request("POST", "/x", FORM, token="TOKEN", body=b"a=1", json_type=False), 415),
    ("text", request("POST", "/x", "Content-Type: text/plain", token="TOKEN", body=b"{}", json_type=False), 415),
    ("no type", request("POST", "/x", token="TOKEN", body=b"{}", json_type=False), 415),
    ("no type and no body", request("POST", "/x", token="TOKEN"), 415),
    ("DELETE without a body", request("DELETE", "/x", token="TOKEN"), 200),
    ("DELETE with a form", request("DELETE", "/x", FORM, token="TOKEN", body=b"a=1", json_type=False), 415),
    ("two types", request("POST", "/x", FORM, token="TOKEN", body=b"{}"), 400),
    ("JSON of another alphabet", request("POST", "/x", JSON + "; charset=utf-16", token="TOKEN"), 415),
    ("JSON that says UTF-8", request("POST", "/x", JSON + "; charset=UTF-8", token="TOKEN"), 200),
    ("packed", request("POST", "/x", "Content-Encoding: gzip", token="TOKEN", body=b"\x1f\x8b"), 415),
    ("a length that is none", request("POST", "/x", JSON, "Content-Length: x", token="TOKEN"), 400),
    ("a length below nothing", request("POST", "/x", JSON, "Content-Length: -1", token="TOKEN"), 400),
    ("two lengths", request("POST", "/x", "Content-Length: 1", token="TOKEN", body=b"{}"), 400),
    ("two kinds of length", request("POST", "/x", "Transfer-Encoding: chunked", token="TOKEN", body=b"0\r\n\r\n"), 400),
    ("a length of a petabyte", request("POST", "/x", JSON, f"Content-Length: {10**15}", token="TOKEN"), 413),
    ("a length of a thousand digits", request("POST", "/x", JSON, "Content-Length: " + "9" * 1000, token="TOKEN"), 400),
    ("too large", request("POST", "/x", token="TOKEN", body=b"x" * 100_001), 413),
    ("too large by far", request("POST", "/x", token="TOKEN", body=b"x" * 390_000), 413),
    ("as large as may be", request("POST", "/x", token="TOKEN", body=b"x" * 100_000), 200),
    ("a body that asks first", request("POST", "/x", JSON, "Expect: 100-continue", "Content-Length: 999999"), 401),
    # what is no request of ours
    ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    ("blanks", b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("a header without a name", b"GET / HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n", 400),
    ("TRACE", request("TRACE", "/", token="TOKEN"), 405),
    ("CONNECT", request("CONNECT", "localhost:22", token="TOKEN"), 405),
    ("a method of nobody", request("PURGE", "/", token="TOKEN"), 405),
    ("many headers", request("GET", "/", *(f"X-{number}: 1" for number in range(150)), token="TOKEN"), 431),
    ("large headers", request("GET", "/", *(f"X-{n}: {'x' * 200}" for n in range(36)), token="TOKEN"), 200),
    ("larger headers", request("GET", "/", *(f"X-{n}: {'x' * 400}" for n in range(40)), token="TOKEN"), 431),
    ("a web socket", request("GET", "/", "Connection: Upgrade", "Upgrade: websocket"), 401),
]


@pytest.mark.parametrize(("sent", "status"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_is_sent_and_what_is_answered(server: Server, sent: bytes, status: int) -> None:
    before = len(server.app.seen)
    answered = ask(server.port, sent.replace(b"TOKEN", server.token.encode()))
    assert answered.status == status, answered
    assert (len(server.app.seen) > before) == (status == 200)
    if status != 200:
        _is_an_error(answered)
    assert ask(server.port, request(path="/healthz")).status == 200, "the server lives on"


def _is_an_error(answered: Answered) -> None:
    """The one shape, with nothing of the request in it."""
    error = answered.json()
    assert set(error) == {"error", "code", "message", "field", "allowed", "hint"}
    assert error["code"] == {500: 1000, 503: 6001}.get(answered.status, 4000 + answered.status % 100)
    assert answered.headers["content-type"] == "application/json"
    assert "evil" not in answered.body.decode()
    assert (answered.status == 401) == ("www-authenticate" in answered.headers)


def test_strangers_do_not_fill_the_log(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Each request that was no HTTP, and each that asked for a web socket, was a line."""
    with caplog.at_level(logging.DEBUG):
        for sent in [row[1] for row in TABLE if row[2] == 400]:
            ask(server.port, sent)
        ask(server.port, request("GET", "/", "Connection: Upgrade", "Upgrade: websocket"))
    apart = ("asyncio", "uvicorn.access")  # the latter is off, and pytest turns it on
    assert [record.name for record in caplog.records if record.name not in apart] == []


def test_large_heads_are_refused_before_they_are_read_whole(server: Server) -> None:
    with connected(server.port) as link:
        link.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000)
        assert answer_of(link).status == 400


def test_a_page_that_was_named_may_ask_and_others_may_not(server: Server) -> None:
    asked = "Access-Control-Request-Method: POST"
    allowed = ask(server.port, request("OPTIONS", "/x", "Origin: https://app.example", asked))
    assert allowed.status == 204
    assert allowed.headers["access-control-allow-origin"] == "https://app.example"
    assert "authorization" in allowed.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in allowed.headers
    refused = ask(server.port, request("OPTIONS", "/x", "Origin: https://evil.example", asked))
    assert refused.status == 403
    assert "access-control-allow-origin" not in refused.headers
    answered = ask(server.port, request("GET", "/x", "Origin: https://app.example", token=server.token))
    assert answered.headers["access-control-allow-origin"] == "https://app.example"
    assert answered.headers["vary"] == "origin"


def test_a_chunked_body_is_counted_as_it_comes(server: Server) -> None:
    head = request("POST", "/x", JSON, "Transfer-Encoding: chunked", token=server.token)
    good = ask(server.port, head + b"5\r\n[1,2]\r\n0\r\n\r\n")
    assert (good.status, good.json()["bytes"]) == (200, 5)
    with connected(server.port) as link:
        link.sendall(head)
        for _ in range(12):
            link.sendall(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
        answered = answer_of(link)
    assert (answered.status, answered.closed) == (413, True)
    assert ask(server.port, head + b"zz\r\n").status in (400, 408)


def test_a_body_that_does_not_arrive_is_not_waited_for(server: Server) -> None:
    before = len(server.app.seen)
    with connected(server.port) as link:
        link.sendall(request("POST", "/x", JSON, "Content-Length: 1000", token=server.token))
        began = time.monotonic()
        stopped = threading.Event()
        drip = threading.Thread(target=_drip, args=(link, stopped))
        drip.start()
        answered = answer_of(link)
        stopped.set()
        drip.join()
    assert (answered.status, answered.closed) == (408, True)
    assert time.monotonic() - began < 30
    assert len(server.app.seen) == before, "it never reached the app"


def _drip(link: object, stopped: threading.Event) -> None:
    """A byte now and then, which is what keeps other servers waiting."""
    while not stopped.wait(0.2):
        try:
            link.sendall(b"x")  # type: ignore[attr-defined]
        except OSError:
            return


def test_a_stranger_who_sends_a_body_is_not_listened_to(server: Server) -> None:
    with connected(server.port) as link:
        link.sendall(request("POST", "/x", JSON, "Content-Length: 90000", token="wrong"))
        answered = answer_of(link)
    assert (answered.status, answered.closed) == (401, True)


@pytest.mark.parametrize(
    "begun", [b"", b"GET", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b"POST /x HTTP/1.1\r\n"]
)
def test_a_head_that_does_not_end_is_not_waited_for(server: Server, begun: bytes) -> None:
    """Slowloris: a few hundred such connections filled the server."""
    with connected(server.port) as link:
        link.sendall(begun)
        stopped = threading.Event()
        drip = threading.Thread(target=_drip, args=(link, stopped))
        if begun:
            drip.start()
        answered = answer_of(link)
        stopped.set()
        if begun:
            drip.join()
    assert (answered.status, answered.closed) == (408, True)


def test_a_second_request_has_its_own_time(server: Server) -> None:
    """Connections are used again; only a head has to be quick, not the pause before it."""
    with connected(server.port) as link:
        for _ in range(3):
            link.sendall(request(token=server.token))
            assert answer_of(link).status == 200
            time.sleep(0.5)
        link.sendall(b"GET / HTTP/1.1\r\n")
        assert answer_of(link).status == 408


def test_one_peer_has_so_many_connections(server: Server) -> None:
    links = [connected(server.port) for _ in range(LIMITS.connections)]
    try:
        links[0].sendall(request(token=server.token))
        assert answer_of(links[0]).status == 200
        with connected(server.port) as one_more:
            answered = answer_of(one_more)
        assert (answered.status, answered.closed) == (503, True)
        assert "retry-after" in answered.headers
    finally:
        for link in links:
            link.close()
    _until(lambda: ask(server.port, request(token=server.token)).status == 200)


def test_all_peers_together_have_so_many_connections(tmp_path: Path) -> None:
    with _server(tmp_path, Limits(all_connections=3)) as server:
        links = [connected(server.port) for _ in range(3)]
        with connected(server.port) as one_more:
            assert answer_of(one_more).status == 503
        for link in links:
            link.close()
        _until(lambda: ask(server.port, request(token=server.token)).status == 200)


def test_who_takes_nothing_of_an_answer_is_cut_off(server: Server) -> None:
    with connected(server.port) as link:
        link.sendall(request(path="/flood", token=server.token))
        time.sleep(2.5)  # longer than the server waits for us
        got = 0
        while part := link.recv(1 << 20):
            got += len(part)
        assert 0 < got < 100_000_000, "a tenth of the answer, at most"


def _until(holds: object) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            if holds():  # type: ignore[operator]
                return
        except (OSError, AssertionError):
            pass
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_faults_of_the_app_are_logged_and_not_told(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "memhop.server"):
        answered = ask(server.port, request(path="/boom", token=server.token))
    assert answered.status == 500
    _is_an_error(answered)
    assert "secret" not in answered.body.decode()
    assert "Traceback" not in answered.body.decode()
    number = answered.json()["message"].split()[-1]
    assert number in caplog.text


def test_a_token_file_that_cannot_be_believed_lets_nobody_in(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with _server(tmp_path, LIMITS) as server:
        assert ask(server.port, request(token=server.token)).status == 200
        (tmp_path / "tokens.json").chmod(0o644)
        with caplog.at_level(logging.ERROR, "memhop.server"):
            for _ in range(5):
                answered = ask(server.port, request(token=server.token))
                assert answered.status == 503
        assert str(tmp_path) not in answered.body.decode()
        assert len(caplog.records) == 1, "strangers do not fill the log"
        assert "chmod 600" in caplog.text
        (tmp_path / "tokens.json").chmod(0o600)
        assert ask(server.port, request(token=server.token)).status == 200


def test_guessing_tokens_is_slowed_and_does_not_lock_out_who_has_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also with a new X-Forwarded-For each time, which is not believed."""
    limits = Limits(failure_burst=5, failure_rate=0.001)
    with _server(tmp_path, limits) as server:
        assert ask(server.port, request(token=server.token)).status == 200
        late = server.tokens.add("bob", ["read"])[1]
        answers = [
            ask(server.port, request("GET", "/", f"X-Forwarded-For: 10.0.0.{n}", token=f"mh_{n:012x}_{'A' * 43}"))
            for n in range(12)
        ]
        assert [answered.status for answered in answers] == [401] * 5 + [429] * 7
        assert int(answers[-1].headers["retry-after"]) > 100
        assert ask(server.port, request(token=late)).status == 429, "a right guess is not told from a wrong one"
        assert ask(server.port, request(token=server.token)).status == 200, "who was in before stays in"
        lines = (tmp_path / "audit.jsonl").read_text("utf-8").splitlines()
        assert [json.loads(line)["act"] for line in lines] == ["token.guess"], "one line, not one for each guess"
        assert len([record for record in caplog.records if record.name == "memhop.server"]) == 1


def test_a_token_has_its_rate(tmp_path: Path) -> None:
    with _server(tmp_path, Limits(rate=0.01, burst=3)) as server:
        other = server.tokens.add("bob", ["read"])[1]
        statuses = [ask(server.port, request(token=server.token)).status for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        assert ask(server.port, request(token=other)).status == 200, "others have their own"


def test_a_peer_has_its_rate_whatever_it_says_of_itself(tmp_path: Path) -> None:
    with _server(tmp_path, Limits(peer_rate=0.01, peer_burst=3)) as server:
        answers = [ask(server.port, request("GET", "/healthz", f"X-Forwarded-For: 10.0.0.{n}")) for n in range(5)]
        assert [answered.status for answered in answers] == [200, 200, 200, 429, 429]


def test_what_is_received_at_once_is_bounded(server: Server) -> None:
    links = [connected(server.port) for _ in range(4)]
    statuses = []
    try:
        for link in links:
            link.sendall(request("POST", "/x", JSON, "Content-Length: 100000", token=server.token) + b"x" * 90_000)
        statuses = [answer_of(link).status for link in links]
    finally:
        for link in links:
            link.close()
    assert sorted(statuses) == [408, 408, 408, 503]
    assert ask(server.port, post("/x", b"x" * 100_000, server.token)).status == 200, "nothing is still counted"
