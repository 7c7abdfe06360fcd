"""Subscribers, over real sockets: told in order, or counted as missed; and no write waits for any of them."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

from memhop import DB, Config, InvalidRequest
from memhop.api.notify import QUEUE
from memhop.api.post import Refused, Unreachable, is_loopback, post
from memhop.api.results import Subscriber
from memhop.common.settings import NotifySection
from tests.support.memories import memory
from tests.support.subscriber import OK, listener, manifest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def told_to(*names: str, **options: object) -> Config:
    return Config(notify=NotifySection(subscribers=names, **options))  # type: ignore[arg-type]


def settled(db: DB, index: int = 0, seconds: float = 15.0) -> Subscriber:
    """How a subscriber fares, once nothing waits for it and it has been told of something."""
    until = time.monotonic() + seconds
    while True:
        found = db.subscribers[index]
        if (not found.waiting and found.sent + found.missed) or time.monotonic() > until:
            return found
        time.sleep(0.005)


def test_events_come_in_order_and_to_all(home: Path) -> None:
    with listener() as one, listener() as other, memory(home / "a.meh", config=told_to("one", "other")) as db:
        manifest(home, "one", one.url)
        manifest(home, "other", other.url)
        for number in range(50):
            db.remember(f"note {number}", project="P")
        for heard in (one, other):
            heard.wait(50)
            numbers = [int(event["number"]) for event in heard.told]
            assert numbers == sorted(numbers)
            assert {event["event"] for event in heard.told} == {"memory_new"}
            assert [event["id"] for event in heard.told] == [event.id for event in db.events().events]
        assert settled(db) == Subscriber("one", 50, 0, 0, None)
        assert settled(db, 1) == Subscriber("other", 50, 0, 0, None)
        assert set(one.told[0]) >= {"event", "type", "id", "project", "at"}


def test_what_was_there_before_is_not_told(home: Path) -> None:
    with memory(home / "a.meh") as db:
        db.remember("before anybody listened")
    with listener() as heard, memory(home / "a.meh", config=told_to("page")) as db:
        manifest(home, "page", heard.url)
        note = db.remember("now somebody listens")
        heard.wait(1)
        assert [event["id"] for event in heard.told] == [note.id]


def test_nothing_new_is_no_event(home: Path) -> None:
    with listener() as heard, memory(home / "a.meh", config=told_to("page")) as db:
        manifest(home, "page", heard.url)
        db.remember("said once")
        db.remember("said once")
        db.recall("said once")
        note = db.remember("and something else")
        heard.wait(2)
        assert [event["type"] for event in heard.told] == ["note_new", "note_new"]
        assert heard.told[-1]["id"] == note.id


def test_a_slow_subscriber_holds_up_neither_writes_nor_others(home: Path) -> None:
    free = threading.Event()

    def slowly(_: int) -> bytes:
        free.wait(20)
        return OK

    with listener(slowly) as slow, listener() as quick, memory(home / "a.meh", config=told_to("slow", "quick")) as db:
        manifest(home, "slow", slow.url)
        manifest(home, "quick", quick.url)
        for number in range(20):
            db.remember(f"note {number}")
        quick.wait(20)
        assert not slow.told
        assert db.subscribers[0].waiting >= 1
        free.set()


def test_a_full_queue_drops_the_oldest_and_counts_them(home: Path) -> None:
    free = threading.Event()

    def slowly(_: int) -> bytes:
        free.wait(20)
        return OK

    with listener(slowly) as heard, memory(home / "a.meh", config=told_to("page", timeout=30.0)) as db:
        manifest(home, "page", heard.url)
        db.remember("the first is under way")
        while not heard.requests:
            time.sleep(0.005)
        db.remember_many([f"note {number}" for number in range(QUEUE + 50)])
        until = time.monotonic() + 10
        while db.subscribers[0].missed < 50 and time.monotonic() < until:
            time.sleep(0.01)
        waiting = db.subscribers[0]
        assert (waiting.missed, waiting.waiting, waiting.sent) == (50, QUEUE + 1, 0)
        assert waiting.last_error == "more than 1,000 events waited"
        free.set()
        heard.wait(QUEUE + 1)
        numbers = [int(event["number"]) for event in heard.told]
        assert numbers == sorted(numbers)
        assert settled(db).sent == QUEUE + 1


def test_a_failure_that_passes_is_tried_again_in_order(home: Path) -> None:
    def at_first_busy(count: int) -> bytes | None:
        return None if count == 1 else b"HTTP/1.1 503 Busy\r\n\r\n" if count == 2 else OK

    with listener(at_first_busy) as heard, memory(home / "a.meh", config=told_to("page")) as db:
        manifest(home, "page", heard.url)
        first, second = db.remember("one"), db.remember("two")
        heard.wait(3)
        assert [event["id"] for event in heard.told[-2:]] == [first.id, second.id]
        assert settled(db).missed == 0


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "127.0.0.1 answered 404"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", "redirects are not followed"),
        (b"220 mail.example ESMTP\r\n", "not HTTP"),
        (b"x" * 100_000, "not HTTP"),
    ],
)
def test_who_refuses_has_missed_it_and_is_not_asked_again(home: Path, answer: bytes, says: str) -> None:
    with listener(lambda _: answer) as heard, memory(home / "a.meh", config=told_to("page")) as db:
        manifest(home, "page", heard.url)
        db.remember("one")
        found = settled(db)
        assert (found.sent, found.missed, heard.requests) == (0, 1, 1)
        assert says in str(found.last_error)


@pytest.mark.parametrize(
    "endpoint",
    [
        None, 7, "", "nonsense", "ftp://127.0.0.1/", "http://u:p@127.0.0.1/", "http://127.0.0.1:99999/", "file:///etc/passwd",
        "http://127.0.0.1/a b", "http://[::1/", "http://127.0.0.1/\r\nX: y",
    ],
)  # fmt: skip
def test_an_endpoint_that_is_none_is_said_so(home: Path, endpoint: object) -> None:
    manifest(home, "page", endpoint)
    with memory(home / "a.meh", config=told_to("page")) as db:
        db.remember("one")
        found = settled(db)
        assert (found.sent, found.missed) == (0, 1)
        assert found.last_error


def test_who_is_absent_has_missed_it(home: Path) -> None:
    with memory(home / "a.meh", config=told_to("nobody")) as db:
        db.remember("one")
        assert "FileNotFoundError" in str(settled(db).last_error)
        folder = home / ".nobody"
        folder.mkdir()
        for data in (b"{", b"[]", b"x" * 70_000, b"\xff\xfe", b"[" * 60_000):
            missed = db.subscribers[0].missed
            (folder / "manifest.json").write_bytes(data)
            db.remember(f"{len(data)} bytes of {data[:1]!r}")
            until = time.monotonic() + 10
            while db.subscribers[0].missed == missed and time.monotonic() < until:
                time.sleep(0.005)
            assert db.subscribers[0].missed == missed + 1


@pytest.mark.parametrize(
    "address", ["0.0.0.0", "192.168.1.4", "8.8.8.8", "::", "::ffff:10.0.0.1", "fe80::1", "2001:db8::1", "127.0.0.1.5.5"]
)
def test_what_is_not_this_machine_is_not_asked(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    with pytest.raises((Refused, Unreachable)) as caught:
        post(f"http://{host}:9/", b"{}", timeout=2.0, remote=False)
    assert isinstance(caught.value, Refused) or address == "127.0.0.1.5.5"


def test_loopback_in_all_its_forms() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "::ffff:0.0.0.0", "10.0.0.1", "fe80::1%lo")))


def test_other_machines_where_that_is_allowed() -> None:
    """0.0.0.0 leads to this machine, and stands here for an address that is another one's."""
    with listener() as heard:
        url = heard.url.replace("127.0.0.1", "0.0.0.0")
        with pytest.raises(Refused, match="allow_remote"):
            post(url, b"{}", timeout=2.0, remote=False)
        post(url, b"{}", timeout=2.0, remote=True)
        assert heard.told == [{}]


def test_an_answer_that_drips_ends_in_time() -> None:
    """Each byte comes within the time limit for one, the whole never."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()

        def drip() -> None:
            channel, _ = listening.accept()
            with channel:
                while not ended.wait(0.05):
                    try:
                        channel.sendall(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        begun = time.monotonic()
        with pytest.raises((Unreachable, Refused)):
            post(f"http://127.0.0.1:{listening.getsockname()[1]}/", b"{}", timeout=0.5, remote=False)
        assert time.monotonic() - begun < 5
        ended.set()
        thread.join(5)


def test_closing_tells_what_waits_and_does_not_hang(home: Path) -> None:
    with listener() as heard:
        manifest(home, "page", heard.url)
        with memory(home / "a.meh", config=told_to("page")) as db:
            for number in range(10):
                db.remember(f"note {number}")
        assert len(heard.told) == 10
    held = threading.Event()
    with listener(lambda _: OK if held.wait(20) else None) as heard:
        manifest(home, "page", heard.url)
        db = memory(home / "a.meh", config=told_to("page", timeout=30.0))
        db.remember("nobody ever answers")
        begun = time.monotonic()
        db.close()
        assert time.monotonic() - begun < 5
        assert db.subscribers[0].missed == 1
        held.set()


def test_each_process_tells_of_what_it_wrote(home: Path) -> None:
    """Two shared handles with subscribers: an event is told once, by the handle that wrote it."""
    with listener() as heard:
        manifest(home, "page", heard.url)
        path, config = home / "a.meh", told_to("page")
        with memory(path, mode="shared", config=config) as one, memory(path, mode="shared", config=config) as other:
            ids = {db.remember(f"{name} {number}").id for number in range(5) for name, db in (("a", one), ("b", other))}
            heard.wait(10)
            assert {event["id"] for event in heard.told} == ids
            assert len(heard.told) == 10


def test_a_compaction_in_between_is_no_end(home: Path) -> None:
    with listener() as heard, memory(home / "a.meh", config=told_to("page")) as db:
        manifest(home, "page", heard.url)
        db.remember("before")
        heard.wait(1)
        db.compact()
        note = db.remember("after")
        heard.wait(2)
        assert [event["id"] for event in heard.told[1:]] == [note.id]


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "x" * 65, "ä", 7])
def test_names_that_lead_elsewhere_are_refused_at_open(tmp_path: Path, name: object) -> None:
    with pytest.raises(InvalidRequest, match=r"notify\.subscribers"):
        memory(tmp_path / "a.meh", config=told_to(name))  # type: ignore[arg-type]


def test_b34_no_subscribers_no_threads(tmp_path: Path) -> None:
    """A null in the place of the list: every store reported an error, after it had stored."""
    config = Config(notify=NotifySection(subscribers=None))  # type: ignore[arg-type]
    with memory(tmp_path / "a.meh", config=config) as db:
        db.remember("nobody is told")
        assert db.subscribers == ()
        assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("memhop")]
