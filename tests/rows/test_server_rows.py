"""What ended, opened or misled servers of others, asked of ours over real sockets: rows B5, B6, B8, B40."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from memhop.server.http.statefile import NAME, look, started_of, stop
from tests.support.http_server import Answered, ask, request
from tests.support.processes import Starter
from tests.support.serving import Server, serving
from tests.support.state_process import innocent, stay_connected


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served"), settings={"rate": 5000.0}) as running:
        client = running.client("alice")
        for number in range(31):
            assert client.post("/api/v1/notes", json={"text": f"note {number}", "project": "x"}).is_success
        yield running


def sent(server: Server, data: bytes) -> Answered:
    return ask(urlsplit(server.url).port or 0, data)


def alive(server: Server) -> bool:
    return server.process.poll() is None and sent(server, request(path="/healthz")).status == 200


B5 = [
    request(path="//"),
    request(path="//", host="["),
    request(host="["),
    request(host="[::"),
    request(host="]"),
    request(host="localhost:999999999999"),
    request(path="http://[/"),
    request(path="http://localhost:x/"),
    request(path="/%"),
    request(path="/%00"),
    request(path="/api/v1/notes?limit=%"),
    request(path="/mcp/%E0%A4%A"),
    request(path="/" + "../" * 50 + "etc/passwd"),
    request("GET", "/healthz", "Last-Event-ID: x", "Content-Length: 99999999999999999999"),
    b"\r\n\r\n",
    b"\0\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
]


@pytest.mark.parametrize("data", B5, ids=range(len(B5)))
def test_b5_an_address_that_is_none_is_refused_and_ends_nothing(server: Server, data: bytes) -> None:
    """`GET //` or `Host: [` ended the process: an error where the address was read was caught by nobody."""
    token = server.token("alice").encode()
    for with_token in (data, data.replace(b"\r\n", b"\r\nAuthorization: Bearer " + token + b"\r\n", 1)):
        assert 400 <= sent(server, with_token).status < 500
    assert alive(server)


def test_b6_a_page_of_a_stranger_changes_nothing(server: Server) -> None:
    """Any web page could trash a project: with its own Origin, with a name that leads here, and without a token."""
    path, body = "/api/v1/projects/trash", b'{"name": "x", "project": "x"}'
    token = server.token("alice")
    tries = {
        "a form": request("POST", path + "?project=x", "Origin: https://evil.example", body=b"", json_type=False),
        "a strange page with a token": request("POST", path, "Origin: https://evil.example", token=token, body=body),
        "no page": request("POST", path, "Origin: null", token=token, body=body),
        "a strange name": request("POST", path, host="evil.example", token=token, body=body),
        "its page at its name": request("POST", path, "Origin: http://evil.example", host="evil.example", token=token),
        "no token": request("POST", path, body=body),
        "a token in the address": request("POST", f"{path}?token={token}", body=body),
        "asked before": request("OPTIONS", path, "Origin: https://evil.example", "Access-Control-Request-Method: POST"),
    }
    answers = {name: sent(server, data) for name, data in tries.items()}
    assert {name: answered.status for name, answered in answers.items()} == {
        "a form": 403,
        "a strange page with a token": 403,
        "no page": 403,
        "a strange name": 421,
        "its page at its name": 421,
        "no token": 401,
        "a token in the address": 400,
        "asked before": 403,
    }
    for answered in answers.values():
        assert not [name for name in answered.headers if name.startswith("access-control")]
    assert server.client("alice", token=token).get("/api/v1/notes").json()["total"] == 31


def test_b6_it_listens_to_this_machine_alone(server: Server) -> None:
    address = urlsplit(server.url)
    assert address.hostname == "127.0.0.1"
    others = {one[4][0] for one in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for other in sorted(others):
        with socket.socket() as link:
            link.settimeout(10)
            assert link.connect_ex((str(other), address.port or 0)) != 0, f"it can be reached at {other}"


def test_b6_to_others_it_listens_only_with_names_and_tokens(tmp_path: Path) -> None:
    for options in (["--host", "0.0.0.0"], ["--host", "0.0.0.0", "--no-auth", "--allow-host", "memory.example"]):
        done = subprocess.run(
            [sys.executable, "-m", "memhop.cli.main", "serve", "--root", str(tmp_path / "r"), "--port", "0", *options],
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 2, done
        assert b"--allow-host" in done.stderr or b"--no-auth" in done.stderr


def test_b8_stop_ends_the_server_and_neither_its_clients_nor_anybody_else(tmp_path: Path, start: Starter) -> None:
    """Whatever had a connection to the port was killed: the clients, and a process that had nothing to do with it."""
    with serving(tmp_path) as server:
        path = server.root / NAME
        client = start(stay_connected, urlsplit(server.url).port)
        bystander = start(innocent)
        assert client.hear() == "connected"
        assert bystander.hear() == "here"
        assert look(path).word == "running"
        assert stop(path, wait_s=60).pid == server.process.pid
        assert server.process.wait(60) == 0
        for other in (client, bystander):
            other.tell("are you there?")
            assert other.hear() == "alive"
        assert not path.exists()


def test_b8_a_number_that_another_process_has_by_now_is_left_alone(tmp_path: Path, start: Starter) -> None:
    with serving(tmp_path) as server:
        path = server.root / NAME
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(60)
        bystander = start(innocent)
        bystander.hear()
        left = path.read_text("utf-8")
        assert str(server.process.pid) in left
        path.write_text(left.replace(str(server.process.pid), str(bystander.pid), 1), "utf-8")
        assert look(path).word == "stale"
        with pytest.raises(LookupError):
            stop(path)
        bystander.tell("are you there?")
        assert bystander.hear() == "alive"
        assert started_of(bystander.pid) != started_of(os.getpid())


def test_b40_who_says_to_be_somebody_else_each_time_is_counted_as_one(tmp_path: Path) -> None:
    """A new X-Forwarded-For with each request had a new allowance each time; here it guesses tokens."""
    with serving(tmp_path) as server:
        server.token("alice")
        names = ("X-Forwarded-For", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "True-Client-IP")
        statuses = [
            sent(
                server,
                request(
                    "GET",
                    "/api/v1/notes",
                    *(f"{name}: 10.{n >> 8}.{n & 255}.1" for name in names),
                    token=f"mh_{n:012x}_{'A' * 43}",
                ),
            ).status
            for n in range(120)
        ]
        assert statuses[:10] == [401] * 10
        assert statuses.count(401) < 60
        assert statuses[-1] == 429
        assert set(statuses) == {401, 429}
