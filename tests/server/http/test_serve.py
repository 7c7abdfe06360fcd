"""`memhop serve` as a process: what it takes to start it, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from memhop import DB
from tests.cli.running import memhop
from tests.support.processes import Starter, until
from tests.support.serving import HANG_S, Server, serving


def note(client: httpx.Client, text: str) -> httpx.Response:
    return client.post("/api/v1/notes", json={"text": text})


def texts(path: Path) -> set[str]:
    with DB.open(path, create=False) as db:
        return {one.text for one in db.notes.list(limit=1000).items}


def holding(link: Any, path: Path) -> None:
    """A process that keeps a memory to itself until it is told to let go."""
    with DB.open(path):
        link.send("held")
        link.recv()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests that neither end it nor need settings."""
    with serving(tmp_path_factory.mktemp("running"), settings={"metrics_by_tenant": True}) as server:
        yield server


def test_it_serves_and_stops(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        alice = server.client("alice")
        assert note(alice, "green tea").status_code == 200
        state = json.loads((server.root / "server.json").read_text())
        health = alice.get("/healthz").json()
        assert health == {"status": "ok", "nonce": state["nonce"]}
        found = memhop("status", "--root", str(server.root), "--json").json()
        assert (found["state"], found["pid"], found["port"]) == ("running", server.process.pid, state["port"])
        stopped = memhop("stop", "--root", str(server.root))
        assert stopped.code == 0, stopped.err
        assert server.process.wait(HANG_S) == 0
        assert not (server.root / "server.json").exists()
        assert (tmp_path / "stderr").read_text() == ""
        again = memhop("stop", "--root", str(server.root))
        assert again.code == 1
        assert "no server runs" in again.err
        assert memhop("status", "--root", str(server.root)).code == 1
    assert texts(server.path("alice")) == {"green tea"}
    acts = [json.loads(line) for line in (server.root / "audit.jsonl").read_text().splitlines()]
    assert [(one["act"], one["outcome"]) for one in acts] == [("server.start", "done"), ("server.stop", "done")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_at_any_time(tmp_path: Path, number: int) -> None:
    """Also the very moment it says where it listens."""
    with serving(tmp_path) as server:
        server.process.send_signal(number)
        assert server.process.wait(HANG_S) == 0
    assert not (server.root / "server.json").exists()
    assert (tmp_path / "stderr").read_text() == ""


def test_stopping_finishes_what_runs_and_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        kept: set[str] = set()
        going = threading.Event()

        def write(number: int) -> None:
            client = server.client("alice")
            for step in range(10_000):
                try:
                    answer = note(client, f"client {number}, step {step}")
                except httpx.TransportError:
                    return  # it stopped
                if answer.status_code == 200:
                    kept.add(f"client {number}, step {step}")
                    going.set()
                else:
                    assert answer.status_code == 503

        with ThreadPoolExecutor(4) as pool:
            writing = [pool.submit(write, number) for number in range(4)]
            assert going.wait(HANG_S)
            assert server.stop() == 0
            for one in writing:
                one.result(HANG_S)
        assert (tmp_path / "stderr").read_text() == ""
    assert kept <= texts(server.path("alice"))
    with DB.open(server.path("alice")) as db:
        assert db.recovery.clean


def test_streams_without_an_end_do_not_keep_it_from_stopping(tmp_path: Path) -> None:
    """Listeners to events, and sessions of older clients."""
    with serving(tmp_path) as server, ExitStack() as streams:
        headers = {"Authorization": f"Bearer {server.token('alice')}"}
        for path in ("/sse/alice", "/api/v1/events"):
            stream = httpx.stream("GET", f"{server.url}{path}", headers=headers, timeout=HANG_S)
            assert next(streams.enter_context(stream).iter_lines())
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 9, "it did not wait for them to end by themselves"
    assert (tmp_path / "stderr").read_text() == ""


def test_a_request_that_hangs_does_not_keep_it_from_stopping(tmp_path: Path, start: Starter) -> None:
    """Another process holds the file for ever; who waits to write is let go when the time is over."""
    with serving(tmp_path, settings={"stop_seconds": 0.5}) as server:
        alice = server.client("alice")
        note(alice, "before")
        holder = start(holding, server.path("alice"))
        assert holder.hear() == "held"
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(note, alice, "during")
            metrics = server.client("*")
            until(lambda: "memhop_calls_running 1" in metrics.get("/metrics").text, "it waits")
            assert server.stop() == 1
            assert waiting.result(HANG_S).status_code == 504
        assert server.process.stdout is not None
        assert "still in use" in server.process.stdout.read()
        assert (tmp_path / "stderr").read_text() == ""
        holder.tell("enough")
        holder.finish()


def test_a_kill_loses_nothing_that_was_acknowledged_and_the_next_one_starts(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        alice, bob = server.client("alice"), server.client("bob")
        for number in range(20):
            assert note(alice if number % 2 else bob, f"note {number}").status_code == 200
        server.process.kill()
        server.process.wait(HANG_S)
        assert (server.root / "server.json").exists()
        said = memhop("status", "--root", str(server.root))
        assert (said.code, said.out.splitlines()) == (1, ["no server runs; the last one was killed"])
    with serving(tmp_path) as server:
        items = server.client("alice").get("/api/v1/notes", params={"limit": 50}).json()["items"]
        assert {one["text"] for one in items} == {f"note {number}" for number in range(1, 20, 2)}
        assert server.stop() == 0
    assert texts(server.path("bob")) == {f"note {number}" for number in range(0, 20, 2)}


def test_files_of_nobody_are_told(tmp_path: Path) -> None:
    """Tenants are lower case: whoever put Alice.meh there wondered where her memory was."""
    (tmp_path / "root").mkdir(mode=0o700)
    for name in ("Alice.meh", "con.meh", "bob.meh"):
        (tmp_path / "root" / name).touch()
    with serving(tmp_path) as server:
        assert server.process.stdout is not None
        assert "2 files there are not named as tenants are" in server.process.stdout.readline()


def test_a_second_one_on_the_same_folder_names_the_first(running: Server) -> None:
    second = memhop("serve", "--root", str(running.root), "--port", "0")
    assert second.code == 3
    assert str(running.process.pid) in second.err
    assert "memhop stop" in second.err
    assert httpx.get(f"{running.url}/healthz").status_code == 200
    state = json.loads((running.root / "server.json").read_text())
    assert state["pid"] == running.process.pid


def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = memhop("serve", "--root", str(tmp_path / "root"), "--port", str(taken.getsockname()[1]))
    assert found.code == 1
    assert len(found.err.splitlines()) == 1
    assert "--port" in found.err
    assert not (tmp_path / "root" / "server.json").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--host", "0.0.0.0"), "--allow-host"),
        (("--host", "0.0.0.0", "--no-auth"), "--no-auth"),
        (("--host", "::", "--no-auth", "--allow-host", "x.example"), "--no-auth"),
        (("--port", "65536"), "--port"),
        (("--tools", "many"), "--tools"),
        (("--host", "no such host"), "host"),
    ],
)
def test_what_would_not_be_safe_or_does_not_do_is_refused(tmp_path: Path, options: tuple[str, ...], named: str) -> None:
    found = memhop("serve", "--root", str(tmp_path / "root"), "--port", "0", *options)
    assert found.code == 2
    assert named in found.err
    assert len(found.err.splitlines()) == 1


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    program = "import sys\nsys.modules['uvicorn'] = None\nfrom memhop.cli.main import main\nmain()\n"
    command = [sys.executable, "-c", program, "serve", "--root", str(tmp_path / "root")]
    found = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert "pip install 'memhop[mcp]'" in found.stderr


def test_without_tokens_nobody_gets_in_and_it_says_how_to_make_one(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert server.process.stdout is not None
        assert "memhop token add" in server.process.stdout.readline()
        assert httpx.get(f"{server.url}/api/v1/notes").status_code == 401
        made = memhop("token", "add", "alice", "--root", str(server.root))
        client = server.client("alice", token=made.out.strip())
        assert note(client, "tea").status_code == 200, "a token works at once"


def test_no_auth_lets_everybody_of_this_machine_in(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-auth") as server:
        headers = {"Memhop-Tenant": "alice"}
        answer = httpx.post(f"{server.url}/api/v1/notes", json={"text": "tea"}, headers=headers)
        assert answer.status_code == 200
        assert httpx.get(f"{server.url}/healthz", headers={"Host": "evil.example"}).status_code == 421


def test_metrics_are_for_those_who_administer_every_tenant(running: Server) -> None:
    """Tenants are named in them because this server was told to; see the settings, and `test_calls.py`."""
    clara = running.client("clara")
    note(clara, "tea")
    assert clara.get("/metrics").status_code == 403
    assert running.client("*", ("read", "write")).get("/metrics").status_code == 403
    assert httpx.get(f"{running.url}/metrics").status_code == 401
    assert clara.get("/api/v1/notes", headers={"Memhop-Tenant": "dora"}).status_code == 403
    answer = running.client("*").get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert int(values['memhop_calls_total{operation="memhop_remember",outcome="ok"}']) >= 1
    assert int(values['memhop_http_answers_total{status="403"}']) >= 3
    assert int(values["memhop_resident_bytes"]) > 1_000_000
    assert values['memhop_tenant_calls_total{tenant="clara"}'] == "1"
    assert "dora" not in answer.text
    names = {line.split()[2] for line in answer.text.splitlines() if line.startswith("# TYPE")}
    assert {re.sub(r"_(bucket|sum|count)$", "", one.partition("{")[0]) for one in values} == names


def test_one_that_is_locked_keeps_no_other_one_waiting(tmp_path: Path, start: Starter) -> None:
    """Another process has alice's file to itself: she cannot write, and can read; bob does not notice."""
    with serving(tmp_path, settings={"request_seconds": 0.5}) as server:
        alice, bob = server.client("alice"), server.client("bob")
        note(alice, "before")
        holder = start(holding, server.path("alice"))
        assert holder.hear() == "held"
        with ThreadPoolExecutor(8) as pool:
            writes = [pool.submit(note, server.client("alice"), f"during {number}") for number in range(8)]
            for number in range(10):
                assert note(bob, f"bob's {number}").status_code == 200
            found = alice.get("/api/v1/notes").json()["items"]
            assert [one["text"] for one in found] == ["before"]
            assert {one.result(HANG_S).status_code for one in writes} <= {503, 504}
        holder.tell("enough")
        holder.finish()
        until(lambda: note(alice, "after").status_code == 200, "she can write again")
        assert server.stop() == 0


def test_one_that_is_damaged_answers_errors_and_works_when_it_is_mended(running: Server) -> None:
    eve, bob = running.client("eve"), running.client("bob")
    running.path("eve").write_bytes(b"\xa5" * 20_000)
    for _ in range(20):
        answer = eve.get("/api/v1/notes")
        assert answer.status_code == 500
        assert answer.json()["error"] == "BadFormat"
        assert str(running.root) not in answer.text
    assert note(bob, "tea").status_code == 200
    running.path("eve").unlink()
    until(lambda: note(eve, "fresh").status_code == 200, "it begins anew")


def test_the_command_line_works_on_a_file_beside_it(running: Server) -> None:
    fred = running.client("fred")
    note(fred, "from the server")
    path = str(running.path("fred"))
    assert memhop("remember", "from the command line", "--file", path).code == 0
    items = fred.get("/api/v1/notes").json()["items"]
    assert {one["text"] for one in items} == {"from the server", "from the command line"}
    assert "from the server" in memhop("list", "--file", path).out


def test_few_places_for_many_tenants(tmp_path: Path) -> None:
    """More tenants at once than files may be open: all get their turn, each in its own memory."""
    with serving(tmp_path, settings={"most_open": 2, "idle_seconds": 0.2}) as server:
        names = [f"t{number}" for number in range(6)]
        clients = {name: server.client(name) for name in names}

        def work(name: str) -> None:
            for step in range(5):
                assert note(clients[name], f"{name}, step {step}").status_code == 200

        with ThreadPoolExecutor(6) as pool:
            for done in [pool.submit(work, name) for name in names]:
                done.result(HANG_S)
        for name in names:
            items = clients[name].get("/api/v1/notes").json()["items"]
            assert {one["text"] for one in items} == {f"{name}, step {step}" for step in range(5)}
        operator = server.client("*")
        until(lambda: "memhop_tenants_open 0" in operator.get("/metrics").text, "idle files are closed")
        assert server.stop() == 0


def test_stop_leaves_a_process_alone_that_does_not_answer(running: Server) -> None:
    os.kill(running.process.pid, signal.SIGSTOP)
    try:
        found = memhop("stop", "--root", str(running.root))
    finally:
        os.kill(running.process.pid, signal.SIGCONT)
    assert found.code == 1
    assert "left alone" in found.err
    assert running.process.poll() is None
