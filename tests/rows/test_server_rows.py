"""What ended, opened or misled servers of others, asked of ours over real sockets: rows B5, B6, B8, B26, B40."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from memhop import DB
from memhop.server.http.statefile import NAME, look, started_of, stop
from tests.cli.running import here
from tests.support.http_server import Answered, ask, request
from tests.support.mcp_server import ENVELOPE, command
from tests.support.processes import HANG_S, Starter
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
        ran = here("stop", "--root", server.root, "--json")
        assert ran.json() == {"stopped": True, "pid": server.process.pid}
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


BIG = "9" * 5000
B5_ASKED: list[tuple[str, bytes, set[int]]] = [
    ("a strange page", request("GET", "/api/v1/notes", "Origin: https://evil.example", token="TOKEN"), {403}),
    ("a strange name", request(path="/api/v1/notes", host="evil.example", token="TOKEN"), {421}),
    ("no token", request(path="/api/v1/notes"), {401}),
    ("two slashes", request(path="//", token="TOKEN"), {400}),
    ("half a name", request(path="/api/v1/notes", host="[", token="TOKEN"), {400}),
    ("too large", request("POST", "/api/v1/notes", token="TOKEN", body=b'"' + b"x" * 5_000_000 + b'"'), {413}),
    *(
        (f"a limit of {number}", request(path=f"/api/v1/notes?limit={number}", token="TOKEN"), {422})
        for number in (
            "abc",
            "-1",
            "0",
            "2.5",
            "1e999",
            "nan",
            "inf",
            "%C2%B2",
            "true",
            "[]",
            "{}",
            "1,2",
            "0x10",
        )
    ),
    ("an empty limit", request(path="/api/v1/notes?limit=", token="TOKEN"), {200, 422}),
    ("a limit that is lowered", request(path="/api/v1/notes?limit=1000000000", token="TOKEN"), {200}),
    ("a limit of 5000 digits", request(path=f"/api/v1/notes?limit={BIG}", token="TOKEN"), {200, 422}),
    ("two limits", request(path="/api/v1/notes?limit=5&limit=6", token="TOKEN"), {400, 422}),
    ("a cursor of nobody", request(path="/api/v1/notes?cursor=x", token="TOKEN"), {422}),
    ("an id that is none", request(path="/api/v1/notes/../../etc", token="TOKEN"), {400}),
    ("an id of letters", request(path="/api/v1/notes/nonsense", token="TOKEN"), {422}),
    ("an id of nobody", request(path=f"/api/v1/notes/{'1' * 16}", token="TOKEN"), {404}),
    ("no such path", request(path="/api/v1/nothing", token="TOKEN"), {404}),
    ("another method", request("PUT", "/api/v1/notes", token="TOKEN", body=b"{}"), {405}),
    ("a parameter nobody knows", request(path="/api/v1/notes?projct=x", token="TOKEN"), {422}),
]
B5_BODIES = [
    b"", b"{", b"nul", b"\xff\xfe", b'{"text": "\xff"}', b"[" * 100_000, b'{"a":' * 100_000, b'{"text": NaN}',
    b'{"text": 1e999}',
    b'{"text": Infinity}', b'{"text": ' + BIG.encode() + b"}", b"[]", b'"text"', b"5", b"null", b'{"text": null}',
    b'{"text": ""}',
    b'{"text": 5}', b'{"text": ["a"]}', b'{"text": "a", "text": "\\ud800"}', b'{"text": "a", "kind": "x\\u0000y"}',
    b'{"text": "a", "at": "+999999-01-01T00:00:00Z"}', b'{"text": "a", "at": 1e308}',
    b'{"text": "a", "tags": {"a": 1}}',
    b'{"text": "a", "nonsense": 1}', b'{"text": "a", "metadata": ' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}",
]  # fmt: skip


def test_b5_a_bad_request_is_told_so_and_ends_nothing(server: Server) -> None:
    token = server.token("alice").encode()
    wrong = {}
    for name, data, statuses in B5_ASKED:
        answered = sent(server, data.replace(b"TOKEN", token))
        if answered.status not in statuses or not answered.json():
            wrong[name] = answered
    assert {name: answered.status for name, answered in wrong.items()} == {}
    assert alive(server)


def test_b5_a_body_of_nonsense_is_told_so_and_ends_nothing(server: Server) -> None:
    token = server.token("alice")
    wrong = {}
    for body in B5_BODIES:
        for path in ("/api/v1/notes", "/mcp/alice"):
            accept = "Accept: application/json, text/event-stream"
            answered = sent(server, request("POST", path, accept, token=token, body=body))
            if not 400 <= answered.status < 500 or not answered.json():
                wrong[path, body[:60]] = answered
            assert b"Traceback" not in answered.body
            assert str(server.root).encode() not in answered.body
    assert {name: answered.status for name, answered in wrong.items()} == {}
    assert alive(server)


def test_b8_a_file_that_names_the_server_of_another_folder_ends_nothing(tmp_path: Path, start: Starter) -> None:
    """Somebody copied a folder with the state file in it: `stop` there is not about the server here."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with serving(tmp_path / "a") as one, serving(tmp_path / "b") as other:
        bystander = start(innocent)
        bystander.hear()
        assert here("stop", "--root", one.root).code == 0
        assert one.process.wait(60) == 0
        again = here("stop", "--root", one.root)
        assert (again.code, "no server runs" in again.err) == (1, True)
        assert here("status", "--root", one.root).code == 1
        (one.root / NAME).write_bytes((other.root / NAME).read_bytes().replace(b'"nonce": "', b'"nonce": "x'))
        (one.root / NAME).chmod(0o600)
        assert here("stop", "--root", one.root).code == 1
        assert here("status", "--root", other.root, "--json").json()["pid"] == other.process.pid
        bystander.tell("are you there?")
        assert bystander.hear() == "alive"


def test_b26_limits_that_are_set_are_kept_over_mcp(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        db.remember_many([f"walnut tree {number}" for number in range(9)])
    asked: tuple[tuple[str, dict[str, object]], ...] = (
        ("memhop_recall", {"query": "walnut"}),
        ("memhop_note_list", {}),
        ("memhop_note_list", {"limit": 3}),
    )
    lines = [
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments, "_meta": ENVELOPE},
            }
        )
        for number, (name, arguments) in enumerate(asked)
    ]
    ran = subprocess.run(
        command(path),
        input="\n".join(lines).encode(),
        env=os.environ | {"MEMHOP_RECALL_LIMIT": "2", "MEMHOP_RECALL_PAGE": "1"},
        capture_output=True,
        timeout=HANG_S,
        check=True,
    )
    answers = {one["id"]: one["result"]["structuredContent"] for one in map(json.loads, ran.stdout.splitlines())}
    assert len(answers[0]["hits"]) == 2
    assert [len(answers[number]["items"]) for number in (1, 2)] == [1, 3]
