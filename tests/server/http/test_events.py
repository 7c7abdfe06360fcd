"""Events over HTTP: told as they happen, whoever wrote, told again to who comes back, and no burden to anybody."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from memhop import DB
from memhop.server.http.tokens import NAME, Tokens
from tests.support.serving import HANG_S, Server, not_listening, serving

BEAT_S = 0.5


class Event(NamedTuple):
    """As it was sent; `kind` is "beat" for a comment."""

    kind: str
    id: str
    data: Any


class Listener:
    """Reads what a stream says, block by block."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()

    def next(self, *, beats: bool = False) -> Event:
        """The next event; comments count with `beats`. StopIteration: the stream has ended."""
        until = time.monotonic() + HANG_S
        while True:
            assert time.monotonic() < until, "nothing is told"
            fields: dict[str, str] = {}
            while line := next(self._lines):
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
            if "data" in fields:
                return Event(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
            if beats and "" in fields:
                return Event("beat", "", None)

    def texts(self, count: int) -> list[str]:
        """The ids of the records of the next events."""
        return [self.next().data["id"] for _ in range(count)]

    def ended(self) -> bool:
        """Whether nothing but comments came before its end."""
        try:
            while True:
                assert self.next(beats=True).kind == "beat"
        except StopIteration:
            return True


@contextmanager
def listening(client: httpx.Client, last: str | None = None, **query: Any) -> Iterator[Listener]:
    headers = {"Last-Event-ID": last} if last is not None else {}
    with client.stream("GET", "/api/v1/events", params=query, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Listener(response)


def remember(client: httpx.Client, text: str, **more: Any) -> str:
    found = client.post("/api/v1/notes", json={"text": text, **more})
    assert found.status_code == 200, found.text
    return str(found.json()["id"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"heartbeat_seconds": BEAT_S, "listeners_of_one": 3, "listeners": 5}
    with serving(tmp_path_factory.mktemp("events"), settings=settings, wait_s=0.5) as one:
        yield one


def test_what_happens_is_told_in_order(server: Server) -> None:
    client = server.client("order")
    remember(client, "this was before anybody listened")
    with listening(client) as listener:
        ids = [remember(client, f"note number {number}") for number in range(5)]
        client.delete(f"/api/v1/notes/{ids[0]}")
        told = [listener.next() for _ in range(6)]
    assert [one.data["id"] for one in told] == [*ids, ids[0]]
    assert [one.kind for one in told] == ["note_new"] * 5 + ["note_trash"]
    assert told[5].data["compat"] == "memory_trash"
    numbers = [int(one.id) for one in told]
    assert numbers == sorted(set(numbers))
    assert all(one.id == one.data["number"] for one in told)


def test_an_act_that_changed_nothing_is_not_told(server: Server) -> None:
    """B29: an event followed from the call, whatever came of it."""
    client = server.client("nothing")
    id_ = remember(client, "thrown away once")
    with listening(client) as listener:
        for _ in range(3):
            client.delete(f"/api/v1/notes/{id_}")
        client.get("/api/v1/recall", params={"query": "thrown"})
        last = remember(client, "the last one")
        assert listener.texts(2) == [id_, last]


def test_who_comes_back_is_told_what_was_missed(server: Server) -> None:
    client = server.client("back")
    with listening(client) as listener:
        first = remember(client, "heard")
        heard = listener.next()
        assert heard.data["id"] == first
    missed = [remember(client, f"missed {number}") for number in range(3)]
    with listening(client, last=heard.id) as listener:
        assert listener.texts(3) == missed
        live = remember(client, "and on it goes")
        assert listener.texts(1) == [live]
    with listening(client, since=heard.id) as listener:
        assert listener.texts(4) == [*missed, live]
    with listening(client, since="0") as listener:
        assert listener.texts(5) == [first, *missed, live]


def test_filters(server: Server) -> None:
    client = server.client("filters")
    with (
        listening(client, project="boat") as of_boat,
        listening(client, types=["note_trash", "fact_*"]) as of_types,
    ):
        one = remember(client, "of the boat", project="boat")
        other = remember(client, "of the house", project="house")
        client.delete(f"/api/v1/notes/{other}")
        fact = client.post("/api/v1/facts", json={"subject": "boat", "predicate": "colour", "value": "red"}).json()[
            "id"
        ]
        client.delete(f"/api/v1/notes/{one}")
        assert of_boat.texts(2) == [one, one]
        assert of_types.texts(3) == [other, fact, one]
    for query in ({"types": "x" * 1000}, {"since": "-1"}, {"since": "abc"}, {"project": " "}, {"sinse": "1"}):
        found = not_listening(client, params=query)
        assert (found.status_code, found.json()["field"]) == (422, next(iter(query)))


def test_what_other_processes_write_is_told(server: Server) -> None:
    """The command line and `memhop mcp` work on a tenant's file beside the server."""
    client = server.client("beside")
    with listening(client) as listener:  # of a memory that is not there yet
        with DB.open(server.path("beside"), mode="shared", create=True) as db:
            first = db.remember("the file begins with this").id
            assert listener.texts(1) == [first]
            mine = remember(client, "between the two")
            second = db.remember("written by another process").id
        assert listener.texts(2) == [mine, second]


def test_a_comment_comes_when_nothing_happens(server: Server) -> None:
    client = server.client("beats")
    with listening(client) as listener:
        began = time.monotonic()
        assert [listener.next(beats=True).kind for _ in range(3)] == ["beat"] * 3
        assert time.monotonic() - began >= 2 * BEAT_S
        id_ = remember(client, "and then something does")
        assert listener.texts(1) == [id_]


def test_a_comment_comes_though_others_are_told_much(server: Server) -> None:
    """A listener of a quiet project was sent nothing at all as long as another project was busy."""
    client = server.client("busy")
    with listening(client, project="quiet") as listener:
        began = time.monotonic()
        beats = 0
        writing = threading.Event()

        def write() -> None:
            while not writing.wait(BEAT_S / 5):
                remember(client, f"something else at {time.monotonic()}", project="loud")

        busy = threading.Thread(target=write)
        busy.start()
        try:
            while beats < 2 and time.monotonic() - began < HANG_S:
                beats += listener.next(beats=True).kind == "beat"
        finally:
            writing.set()
            busy.join(HANG_S)
    assert beats == 2


def test_several_listen_and_too_many_are_refused(server: Server) -> None:
    client, other = server.client("several"), server.client("another")
    with listening(client) as one, listening(client) as two, listening(client, since="0") as three:
        refused = not_listening(client)
        assert (refused.status_code, refused.json()["error"]) == (503, "Busy")
        assert refused.headers["retry-after"]
        with listening(other), listening(other):
            assert not_listening(other).status_code == 503, "five are the most of all"
        id_ = remember(client, "for all of them")
        assert [listener.texts(1) for listener in (one, two, three)] == [[id_]] * 3
    until = time.monotonic() + HANG_S
    while True:  # the places of who went away are free again
        with client.stream("GET", "/api/v1/events") as response:
            if response.status_code == 200:
                break
        assert time.monotonic() < until


def test_tenants_hear_nothing_of_each_other(server: Server) -> None:
    one, two = server.client("left"), server.client("right")
    with listening(one) as of_one:
        remember(two, "the other one's secret")
        mine = remember(one, "my own")
        assert of_one.texts(1) == [mine]


def test_a_token_that_was_revoked_hears_no_more(server: Server) -> None:
    tokens = Tokens(server.root / NAME)
    info, secret = tokens.add("revoked", ("read",))
    writer = server.client("revoked")
    with listening(server.client("revoked", token=secret)) as listener:
        assert listener.next(beats=True).kind == "beat"
        assert tokens.revoke(info.id)
        remember(writer, "not for its ears")
        assert listener.ended()


def test_a_token_that_expired_hears_no_more(server: Server) -> None:
    until = int(time.time() * 1000) + 1_500
    secret = server.token("expired", ("read",), expires_at=until)
    with listening(server.client("expired", token=secret)) as listener:
        assert listener.ended()
        assert time.time() * 1000 >= until


def test_what_compaction_took_is_a_gap(server: Server) -> None:
    client = server.client("gaps")
    with listening(client, since="0") as listener:
        first = remember(client, "before")
        number = listener.next().id
    client.delete(f"/api/v1/notes/{first}")
    assert client.post("/api/v1/maintenance/compact", json={}).status_code == 200
    with listening(client, last=number) as listener:
        gap = listener.next()
        assert (gap.kind, gap.data["since"]) == ("gap", gap.id)
        later = remember(client, "after")
        assert listener.texts(1) == [later]
    with listening(client, last=gap.id) as listener:
        assert listener.texts(1) == [later], "once is enough"


def test_compaction_while_somebody_listens(server: Server) -> None:
    client = server.client("compacted")
    remember(client, "there is a memory")
    with listening(client) as listener:
        first = remember(client, "one")
        assert listener.texts(1) == [first]
        assert client.post("/api/v1/maintenance/compact", json={}).status_code == 200
        later = remember(client, "two")
        told = listener.next()
        assert (told.kind, told.data["id"]) == ("note_new", later), "nothing was missed, so that there is no gap"


def test_a_memory_that_is_damaged_is_an_error_and_no_stream(server: Server) -> None:
    server.path("damaged").write_bytes(b"no memory at all" * 1_000)
    client = server.client("damaged")
    for path in ("events", "export", "notes"):
        with client.stream("GET", f"/api/v1/{path}") as found:
            assert found.status_code == 500
            assert json.loads(found.read())["error"] == "BadFormat"
            assert str(server.root) not in found.text


def test_a_memory_that_somebody_else_writes_can_be_listened_to(server: Server) -> None:
    with DB.open(server.path("held"), create=True) as db:  # nobody else may write
        client = server.client("held")
        with listening(client) as listener:
            busy = client.post("/api/v1/notes", json={"text": "not now"})
            assert (busy.status_code, busy.json()["error"]) == (503, "Locked")
            assert busy.headers["retry-after"]
            assert str(server.root) not in busy.text
            id_ = db.remember("written by who holds it").id
            assert listener.texts(1) == [id_]


def test_listening_keeps_no_memory_open(tmp_path: Path) -> None:
    with serving(tmp_path, settings={"idle_seconds": 0.5, "heartbeat_seconds": BEAT_S}) as server:
        client, operator = server.client("idle"), server.client("*")
        remember(client, "opens it")
        with listening(client) as listener:
            until = time.monotonic() + HANG_S
            while "\nmemhop_tenants_open 0" not in operator.get("/metrics").text:
                assert time.monotonic() < until, operator.get("/metrics").text
                time.sleep(0.1)
            id_ = remember(client, "opens it again")
            assert listener.texts(1) == [id_]


def test_who_does_not_read_is_no_burden(server: Server) -> None:
    """Nothing is kept for it: writers go on, others hear, and memory does not grow with what it does not take."""
    client = server.client("slow")
    remember(client, "there is a memory")
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=HANG_S) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = f"GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {server.token('slow')}\r\n\r\n"
        deaf.sendall(request.encode())
        with listening(client) as listener:
            before = rss(server.process.pid)
            ids = []
            for batch in range(20):
                items = [{"text": f"note {batch} {number}"} for number in range(100)]
                found = client.post("/api/v1/notes", json={"items": items})
                assert found.status_code == 200, found.text
                ids += [one["id"] for one in found.json()["items"]]
            assert listener.texts(2_000) == ids
            assert rss(server.process.pid) - before < 100 * 1024 * 1024


def rss(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096


def test_stopping_the_server_ends_the_streams(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        client = server.client("stopping")
        with listening(client) as listener:
            id_ = remember(client, "before it stops")
            assert listener.texts(1) == [id_]
            stopping = threading.Thread(target=server.stop)
            stopping.start()
            assert listener.ended()
        stopping.join(HANG_S)
        assert server.process.returncode == 0
