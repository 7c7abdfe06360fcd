"""The only place where a request reaches a memory: who may, in which turn, for how long."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from memhop import DB
from memhop.common.errors import Busy, Forbidden, InvalidRequest, NotFound, TimedOut
from memhop.server.http.access import Access
from memhop.server.http.audit import NAME, Audit
from memhop.server.http.calls import Calls
from memhop.server.http.tenants import Tenants
from memhop.server.operation import ADMIN, READ, SCOPES, WRITE, Operation
from memhop.server.operations import OPERATIONS
from tests.support.processes import HANG_S

ALICE = Access("alice", frozenset(SCOPES), "a11ce")
EVERYBODY = Access("*", frozenset(SCOPES), "0")
REMEMBER, RECALL = OPERATIONS["memhop_remember"], OPERATIONS["memhop_recall"]


def running(root: Path, test: Callable[[Calls], Awaitable[object]], **more: Any) -> None:
    """Run a test on an event loop, with calls on a folder."""

    async def run() -> None:
        def opening(path: Path, create: bool) -> DB:
            return DB.open(path, mode="shared", create=create, durability="none")

        tenants = Tenants(root, opening, wait_s=HANG_S, failure_s=0.0)
        calls = Calls(tenants, audit=Audit(root / NAME), **{"seconds": HANG_S, **more})
        try:
            await test(calls)
            async with asyncio.timeout(HANG_S):
                while calls.now()["calls_running"]:
                    await asyncio.sleep(0.005)
            assert not calls._lines, "a line that is empty is forgotten"
        finally:
            assert calls.close(HANG_S) == 0

    asyncio.run(run())


class Hold:
    """Work that goes on until it is released."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.enough = threading.Event()

    def __call__(self, db: DB) -> str:
        self.begun.release()
        assert self.enough.wait(HANG_S)
        return db.remember("held and let go").id

    async def begins(self, times: int = 1) -> None:
        for _ in range(times):
            assert await asyncio.to_thread(self.begun.acquire, timeout=HANG_S)


async def settled(calls: Calls, waiting: int) -> None:
    """So many wait."""
    async with asyncio.timeout(HANG_S):
        while calls.now()["calls_waiting"] != waiting:
            await asyncio.sleep(0.002)


def test_what_the_token_does_not_allow(tmp_path: Path) -> None:
    async def test(calls: Calls) -> None:
        reading = Access("alice", frozenset((READ,)), "1")
        for access, tenant, operation in (
            (reading, "alice", REMEMBER),
            (ALICE, "bob", REMEMBER),
            (ALICE, "bob", RECALL),
            (Access("alice", frozenset((READ, WRITE)), "2"), "alice", OPERATIONS["memhop_compact"]),
            (Access("alice", frozenset((WRITE,)), "3"), "alice", RECALL),
        ):
            reply = await calls.call(access, tenant, operation, {"text": "t", "query": "q"})
            assert reply.failed
            assert reply.data["error"] == "Forbidden", (access, tenant, operation.name)
        for tenant in ("../alice", "", "nul", "alice/../bob", "alice\0"):
            reply = await calls.call(EVERYBODY, tenant, RECALL, {"query": "q"})
            assert reply.data["error"] == "InvalidRequest"
        with pytest.raises(Forbidden):
            await calls.ask(ALICE, "bob", "x", READ, lambda db: db.stats())

    running(tmp_path, test)
    assert not list(tmp_path.glob("*.meh"))


def test_a_memory_begins_with_the_first_thing_that_is_stored(tmp_path: Path) -> None:
    async def test(calls: Calls) -> None:
        reply = await calls.call(ALICE, "alice", RECALL, {"query": "tea"})
        assert not reply.failed
        assert not list(tmp_path.glob("*.meh"))
        reply = await calls.call(EVERYBODY, "alice", RECALL, {"query": "tea"})
        assert reply.data["error"] == "NotFound"
        assert not (await calls.call(ALICE, "ALICE", REMEMBER, {"text": "green tea"})).failed
        assert [path.name for path in tmp_path.glob("*.meh")] == ["alice.meh"]
        found = await calls.call(EVERYBODY, "alice", RECALL, {"query": "tea"})
        assert "green tea" in found.text

    running(tmp_path, test)


def test_replies_that_fail_name_no_paths(tmp_path: Path) -> None:
    async def test(calls: Calls) -> None:
        reply = await calls.call(ALICE, "alice", RECALL, {"query": "tea"})
        assert reply.data["error"] == "BadFormat"
        assert str(tmp_path) not in json.dumps(reply.data)

    (tmp_path / "alice.meh").write_bytes(b"\xa5" * 10_000)
    running(tmp_path, test)


def test_who_comes_when_too_many_wait_is_refused(tmp_path: Path) -> None:
    async def test(calls: Calls) -> None:
        hold = Hold()
        asked = [asyncio.create_task(calls.ask(ALICE, "alice", "x", ADMIN, hold)) for _ in range(3)]
        await hold.begins()
        await settled(calls, 2)
        with pytest.raises(Busy):
            await calls.ask(ALICE, "alice", "x", ADMIN, hold)
        bob = Access("bob", frozenset(SCOPES), "b0b")
        await calls.ask(bob, "bob", "x", WRITE, lambda db: db.remember("meanwhile"))
        await calls.ask(ALICE, "alice", "x", READ, lambda db: db.stats())
        hold.enough.set()
        assert len(set(await asyncio.gather(*asked))) == 1

    running(tmp_path, test, queue=2)


def test_those_who_write_leave_the_readers_their_turns(tmp_path: Path) -> None:
    """A file that another process holds lets nobody write for some seconds, and everybody read."""

    async def test(calls: Calls) -> None:
        hold = Hold()
        asked = [asyncio.create_task(calls.ask(ALICE, "alice", "x", WRITE, hold)) for _ in range(6)]
        await hold.begins(2)
        assert not (await calls.call(ALICE, "alice", RECALL, {"query": "tea"})).failed
        hold.enough.set()
        await asyncio.gather(*asked)

    running(tmp_path, test)


def test_however_many_are_slow_another_one_finds_a_thread(tmp_path: Path) -> None:
    async def test(calls: Calls) -> None:
        hold = Hold()
        several = (WRITE, WRITE, ADMIN, READ, READ, READ, READ)  # as many as run at a time
        those = [Access(f"t{number}", frozenset(SCOPES), str(number)) for number in range(40)]
        asked = [
            asyncio.create_task(calls.ask(one, one.tenant, "x", scope, hold)) for one in those for scope in several
        ]
        await hold.begins(len(asked))
        assert not (await calls.call(ALICE, "alice", REMEMBER, {"text": "tea"})).failed
        hold.enough.set()
        await asyncio.gather(*asked)

    running(tmp_path, test)


def test_who_waits_too_long_is_told_so_and_what_was_begun_goes_on(tmp_path: Path) -> None:
    """Nothing can end a thread, so it keeps its place: a memory that hangs has no more of them than places."""

    async def test(calls: Calls) -> None:
        hold = Hold()
        with pytest.raises(TimedOut):
            await calls.ask(ALICE, "alice", "x", ADMIN, hold)
        assert calls.now()["calls_running"] == 1
        with pytest.raises(Busy):  # its turn did not come
            await calls.ask(ALICE, "alice", "x", ADMIN, hold)
        hold.enough.set()
        async with asyncio.timeout(HANG_S):
            while calls.now()["calls_running"]:
                await asyncio.sleep(0.005)
        assert await calls.ask(ALICE, "alice", "x", READ, lambda db: db.notes.list().total) == 1

    running(tmp_path, test, seconds=0.1)


def test_a_client_that_goes_away_takes_nothing_along(tmp_path: Path) -> None:
    """A write that was begun is finished; one that waited is never begun, and its place goes to the next one."""

    async def test(calls: Calls) -> None:
        hold, later = Hold(), Hold()
        later.enough.set()
        first = asyncio.create_task(calls.ask(ALICE, "alice", "x", ADMIN, hold))
        await hold.begins()
        second = asyncio.create_task(calls.ask(ALICE, "alice", "x", ADMIN, Hold()))
        await settled(calls, 1)
        third = asyncio.create_task(calls.ask(ALICE, "alice", "x", ADMIN, later))
        await settled(calls, 2)
        for gone in (first, second):
            gone.cancel()
            with pytest.raises(asyncio.CancelledError):
                await gone
        hold.enough.set()
        await third
        assert await calls.ask(ALICE, "alice", "x", READ, lambda db: db.notes.list().total) == 1

    running(tmp_path, test)


def test_a_client_that_goes_away_the_very_moment_its_turn_comes_gives_it_on(tmp_path: Path) -> None:
    async def test(calls: Calls) -> None:
        hold, later = Hold(), Hold()
        later.enough.set()
        first = asyncio.create_task(calls.ask(ALICE, "alice", "x", ADMIN, hold))
        await hold.begins()
        second = asyncio.create_task(calls.ask(ALICE, "alice", "x", ADMIN, later))
        await settled(calls, 1)
        turn = calls._lines["alice", ADMIN].waiting[0]
        turn.add_done_callback(lambda _: second.cancel())
        hold.enough.set()
        await first
        with pytest.raises(asyncio.CancelledError):
            await second
        async with asyncio.timeout(HANG_S / 4):
            await calls.ask(ALICE, "alice", "x", ADMIN, later)

    running(tmp_path, test)


def test_a_handle_that_fails_is_opened_anew(tmp_path: Path) -> None:
    """The file was deleted under the server: the first write finds that out, the next one begins a new memory."""

    async def test(calls: Calls) -> None:
        await calls.call(ALICE, "alice", REMEMBER, {"text": "one"})
        (tmp_path / "alice.meh").unlink()
        reply = await calls.call(ALICE, "alice", REMEMBER, {"text": "two"})
        assert reply.failed
        assert not (await calls.call(ALICE, "alice", REMEMBER, {"text": "three"})).failed
        texts = await calls.ask(ALICE, "alice", "x", READ, lambda db: [one.text for one in db.notes.list().items])
        assert texts == ["three"]

    running(tmp_path, test)


def test_administrative_acts_are_written_down_refused_ones_too(tmp_path: Path) -> None:
    async def test(calls: Calls) -> None:
        compact = OPERATIONS["memhop_compact"]
        await calls.call(ALICE, "alice", REMEMBER, {"text": "a secret of alice's"})
        assert not (await calls.call(ALICE, "alice", compact, {})).failed
        await calls.call(Access("alice", frozenset((READ,)), "5ma11"), "alice", compact, {})
        await calls.call(ALICE, "../../etc", compact, {})

    running(tmp_path, test)
    lines = [json.loads(line) for line in (tmp_path / NAME).read_text().splitlines()]
    told = [(line["act"], line["outcome"], line["token"], line["tenant"]) for line in lines]
    assert told == [
        ("memhop_compact", "done", "a11ce", "alice"),
        ("memhop_compact", "Forbidden", "5ma11", "alice"),
        ("memhop_compact", "InvalidRequest", "a11ce", None),
    ]
    assert "secret" not in (tmp_path / NAME).read_text()


def test_each_tenant_imports_from_a_folder_of_its_own(tmp_path: Path) -> None:
    seen: list[Path | None] = []

    def run(host: Any, db: DB) -> dict[str, Any]:
        seen.append(host.imports)
        assert not host.local
        return {}

    operation = Operation("x", "X", "", run, scope=WRITE)

    async def test(calls: Calls) -> None:
        await calls.call(ALICE, "Alice", operation, {})

    running(tmp_path, test, imports=Path("/imports"))
    running(tmp_path, test)
    assert seen == [Path("/imports/alice"), None]


def test_metrics_count_calls_by_outcome_and_name_no_tenants(tmp_path: Path) -> None:
    async def test(calls: Calls) -> None:
        await calls.call(ALICE, "alice", REMEMBER, {"text": "tea"})
        await calls.call(ALICE, "alice", REMEMBER, {"text": ""})
        await calls.call(ALICE, "bob", REMEMBER, {"text": "tea"})
        with pytest.raises(NotFound):
            await calls.ask(EVERYBODY, "nobody", "x", READ, lambda db: db.stats())
        with pytest.raises(InvalidRequest):
            await calls.ask(EVERYBODY, "../x", "x", READ, lambda db: db.stats())
        calls.metrics.answered(200)
        text = calls.metrics.text(calls.now())
        assert 'memhop_calls_total{operation="memhop_remember",outcome="ok"} 1\n' in text
        assert 'memhop_calls_total{operation="memhop_remember",outcome="InvalidRequest"} 1\n' in text
        assert 'memhop_calls_total{operation="memhop_remember",outcome="Forbidden"} 1\n' in text
        assert 'memhop_calls_total{operation="x",outcome="NotFound"} 1\n' in text
        assert 'memhop_call_seconds_count{scope="write"} 3\n' in text
        assert 'memhop_call_seconds_bucket{scope="write",le="+Inf"} 3\n' in text
        assert 'memhop_http_answers_total{status="200"} 1\n' in text
        assert "\nmemhop_tenants_open 1\n" in text
        assert "\n# TYPE memhop_tenant_opens_total counter\n" in text
        assert "alice" not in text

    running(tmp_path, test)
