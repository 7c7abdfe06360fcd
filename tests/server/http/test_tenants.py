"""The memories of a root folder: opened when they are needed, closed when they are not, never while they are in use."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memhop import DB
from memhop.common.errors import BadFormat, Busy, Closed, InvalidRequest, NotFound, StorageError
from memhop.server.http.tenants import CREATED, EMPTY, Tenants
from tests.support.processes import HANG_S, until

Make = Callable[..., Tenants]


class Opener:
    """Opens files, and keeps back the tenants that are to be slow."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.slow: dict[str, threading.Event] = {}

    def __call__(self, path: Path, create: bool) -> DB:
        if path.stem in self.slow:
            assert self.slow[path.stem].wait(HANG_S)
        db = DB.open(path, mode="shared", create=create, durability="none")
        self.opened.append(path.stem)
        return db


@pytest.fixture
def opener() -> Opener:
    return Opener()


@pytest.fixture
def make(tmp_path: Path, opener: Opener) -> Iterator[Make]:
    with ExitStack() as closing:

        def made(**more: Any) -> Tenants:
            tenants = Tenants(tmp_path, opener, **{"wait_s": HANG_S, **more})
            closing.callback(tenants.close, 0.0)
            return tenants

        yield made


def begun(tenants: Tenants, *names: str) -> None:
    """Tenants that have a memory."""
    for name in names:
        with tenants.use(name, missing=CREATED) as db:
            db.remember(f"this is {name}'s")


@contextmanager
def held(tenants: Tenants, name: str) -> Iterator[threading.Event]:
    """Somebody uses a tenant's memory until the event is set."""
    going, enough = threading.Event(), threading.Event()

    def use() -> None:
        with tenants.use(name, missing=CREATED):
            going.set()
            assert enough.wait(HANG_S)

    thread = threading.Thread(target=use)
    thread.start()
    assert going.wait(HANG_S)
    try:
        yield enough
    finally:
        enough.set()
        thread.join(HANG_S)


def test_a_file_is_opened_once_and_stays_open(make: Make, opener: Opener) -> None:
    tenants = make()
    begun(tenants, "alice", "alice", "ALICE")
    with tenants.use("alice") as one, tenants.use("alice") as other:
        assert one is other
    assert opener.opened == ["alice"]
    assert tenants.open_names() == ["alice"]
    assert tenants.counts() == (1, 0, 1, 0, 0, 0)


def test_a_memory_that_is_missing(make: Make, tmp_path: Path) -> None:
    tenants = make()
    with pytest.raises(NotFound):
        tenants.use("alice").__enter__()
    with tenants.use("alice", missing=EMPTY) as db:
        assert db.notes.list().total == 0
    assert not list(tmp_path.iterdir())
    assert tenants.names() == []
    begun(tenants, "alice")
    with tenants.use("alice", missing=EMPTY) as db:
        assert [note.text for note in db.notes.list().items] == ["this is alice's"]
    assert tenants.names() == ["alice"]


@pytest.mark.parametrize("name", ["../alice", "", "nul", "a/b", ".", "a" * 65])
def test_a_name_that_is_none_opens_nothing(make: Make, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest):
        make().use(name, missing=CREATED).__enter__()
    assert not list(tmp_path.iterdir())


def test_the_least_recently_used_file_makes_room(make: Make) -> None:
    tenants = make(most_open=2)
    begun(tenants, "a", "b", "a", "c")
    assert tenants.open_names() == ["a", "c"]
    with tenants.use("b") as db:
        assert db.notes.list().total == 1
    assert tenants.open_names() == ["b", "c"]
    assert tenants.counts().closes == 2


def test_a_file_in_use_is_not_closed_and_others_wait_for_a_place(make: Make) -> None:
    tenants = make(most_open=1)
    begun(tenants, "b")
    with held(tenants, "a") as enough, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(begun, tenants, "b")
        until(lambda: tenants.counts().waiting == 1, "somebody waits for the place")
        assert tenants.close_idle() == 0
        assert tenants.open_names() == ["a"]
        enough.set()
        waiting.result(HANG_S)
    assert tenants.open_names() == ["b"]


def test_too_many_who_wait_are_refused(make: Make) -> None:
    tenants = make(most_open=1, queue=0)
    with held(tenants, "a"), pytest.raises(Busy):
        tenants.use("b", missing=CREATED).__enter__()
    begun(tenants, "b")


def test_who_waits_too_long_is_told_so(make: Make) -> None:
    tenants = make(most_open=1, wait_s=0.05)
    with held(tenants, "a"), pytest.raises(Busy):
        tenants.use("b", missing=CREATED).__enter__()
    assert tenants.counts().waiting == 0


def test_one_that_is_slow_to_open_keeps_nobody_else_waiting(make: Make, opener: Opener) -> None:
    """The table is not locked while a file is opened."""
    tenants = make()
    opener.slow["slow"] = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        slow = [pool.submit(begun, tenants, "slow") for _ in range(3)]
        until(lambda: tenants.counts().open == 1, "it is being opened")
        begun(tenants, "a", "b", "c")
        assert tenants.open_names() == ["a", "b", "c"]
        assert not any(one.done() for one in slow)
        opener.slow["slow"].set()
        for one in slow:
            one.result(HANG_S)
    assert opener.opened.count("slow") == 1


def test_many_threads_on_few_places(make: Make) -> None:
    """Whoever is in a block has an open memory; none is ever closed under somebody's hands, and every note is kept."""
    tenants = make(most_open=3, queue=100)
    names = [f"t{number}" for number in range(8)]

    def work(number: int) -> None:
        for step in range(25):
            with tenants.use(names[(number * 3 + step) % len(names)], missing=CREATED) as db:
                assert not db.closed
                db.remember(f"thread {number}, step {step}")
                assert not db.closed
            assert tenants.counts().open <= 3

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, number) for number in range(8)]:
            done.result(HANG_S)
    found = 0
    for name in names:
        with tenants.use(name) as db:
            found += len(db.notes.list(limit=100).items)
    assert found == 200
    counts = tenants.counts()
    assert counts.used == counts.waiting == 0
    assert counts.opens == counts.closes + counts.open


def test_idle_files_are_closed(make: Make) -> None:
    tenants = make(idle_s=0.0)
    with held(tenants, "used"):
        begun(tenants, "a", "b")
        assert tenants.close_idle() == 2
        assert tenants.open_names() == ["used"]
    assert make(idle_s=60.0).close_idle() == 0


def test_a_failure_is_remembered_for_a_moment(tmp_path: Path, opener: Opener, caplog: pytest.LogCaptureFixture) -> None:
    """A damaged file is not tried by each of many requests, and is told in one line; once it is mended, it is used."""
    tries: list[Path] = []

    def opening(path: Path, create: bool) -> DB:
        tries.append(path)
        return opener(path, create)

    tenants = Tenants(tmp_path, opening, failure_s=0.2)
    path = tmp_path / "a.meh"
    path.write_bytes(b"\xa5" * 10_000)
    for _ in range(20):
        with pytest.raises(BadFormat):
            tenants.use("a", missing=CREATED).__enter__()
    assert len(tries) == 1
    assert tenants.counts().failures == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(path) in caplog.text
    path.unlink()
    until(lambda: _works(tenants, "a"), "it works again")
    assert len(tries) == 2
    tenants.close()


def _works(tenants: Tenants, name: str) -> bool:
    try:
        begun(tenants, name)
    except StorageError:
        return False
    return True


def test_a_handle_that_broke_is_opened_anew(make: Make, opener: Opener) -> None:
    tenants = make(failure_s=0.0)
    begun(tenants, "a")
    with tenants.use("a") as db:
        tenants.renew("a")
        assert db.notes.list().items, "others may still use it"
    with tenants.use("a") as fresh:
        assert fresh is not db
    with pytest.raises(Closed):
        db.stats()
    assert opener.opened == ["a", "a"]


def test_what_breaks_at_every_request_is_not_opened_by_each_of_them(make: Make, opener: Opener) -> None:
    tenants = make(failure_s=60.0)
    for _ in range(5):
        begun(tenants, "a")
        tenants.renew("a")
    assert opener.opened == ["a"]


def test_closing_waits_for_those_who_are_at_work(make: Make) -> None:
    tenants = make()
    begun(tenants, "b")
    with held(tenants, "a") as enough, ThreadPoolExecutor(1) as pool:
        closing = pool.submit(tenants.close, HANG_S)
        until(lambda: tenants.open_names() == ["a"], "what is not in use is closed")
        with pytest.raises(Closed):
            tenants.use("b").__enter__()
        enough.set()
        assert closing.result(HANG_S) == 0


def test_closing_gives_up_on_those_who_never_end(make: Make) -> None:
    tenants = make()
    with held(tenants, "a"):
        began = time.monotonic()
        assert tenants.close(0.05) == 1
        assert time.monotonic() - began < HANG_S


def test_who_waits_for_a_place_is_told_that_the_server_stops(make: Make) -> None:
    tenants = make(most_open=1)
    begun(tenants, "b")
    with held(tenants, "a") as enough, ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(begun, tenants, "b")
        until(lambda: tenants.counts().waiting == 1, "somebody waits for the place")
        closing = pool.submit(tenants.close, HANG_S)
        with pytest.raises(Closed):
            waiting.result(HANG_S)
        enough.set()
        assert closing.result(HANG_S) == 0


def test_a_file_that_is_no_tenants_is_no_tenant(make: Make, tmp_path: Path) -> None:
    tenants = make()
    begun(tenants, "a")
    (tmp_path / "B.meh").write_bytes(b"")
    (tmp_path / "link.meh").symlink_to(tmp_path / "a.meh")
    (tmp_path / "folder.meh").mkdir()
    assert tenants.names() == ["a"]
