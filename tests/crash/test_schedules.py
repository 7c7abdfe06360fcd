"""Threads on one handle or on two, in many interleavings, with a disk that works, fails one fsync, or loses power.

Three threads make public calls on one file; a seed says who goes on at each call on the disk and at each lock
(tests/support/scheduler.py), and where the fault strikes. What was acknowledged to any of them is there afterwards, and
no half of a call that was not. A failure prints its seed and the command that replays it. MEMHOP_NIGHTLY=1 runs more.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import pytest

from memhop import DB
from memhop.common.errors import StorageError
from tests.support.examination import Examiner
from tests.support.memories import MINUTE, NOW
from tests.support.memory_workload import Promises, facts, message, note, open_memory, turn
from tests.support.scheduler import Deadlock, Scheduler
from tests.support.seeds import ONLY, seeds
from tests.support.simulated_disk import Fault, PowerCut, SimulatedDisk, Survival
from tests.support.strikes import record

SEEDS, NIGHTLY_SEEDS = 50, 1500
REPLAY = "MEMHOP_SEED={} python -m pytest -s '{}'"
WINDOW = 70  # boundaries after the start among which a fault strikes; the threads make about as many
SHARED = "all of them say this"
AFTERWARDS: tuple[Survival, ...] = ("everything", "nothing", "sectors")


def talk(db: DB, promises: Promises) -> None:
    """The agent loop, and a note that is edited."""
    say_the_same(db, promises)
    with promises.call("search", turn("is the kayak dry?")):
        found = db.search("is the kayak dry?", NOW - 3 * MINUTE, session="one")
    with promises.call("update", turn("not quite")):
        db.update(found.new_topic_id, "not quite", NOW - 2 * MINUTE)
    with promises.call("remember", note("version 1")):
        db.remember("version 1", external_id="edited")
    with promises.call("edit", note("version 2"), note("version 1")):
        db.remember("version 2", external_id="edited")


def write(db: DB, promises: Promises) -> None:
    """Many at once, and erasing."""
    say_the_same(db, promises)
    pair = ["a red lantern", "a green lantern"]
    with promises.call("remember_many", note(*pair)):
        notes = db.remember_many(pair)
    with promises.call("append_many", message("the lantern is lit", "it smokes")):
        db.archive.append_many(
            {"text": text, "session": "two", "at": NOW} for text in ("the lantern is lit", "it smokes")
        )
    with promises.call("forget", ["trash: a green lantern"], note("a green lantern")):
        db.forget(notes[1].id)
    with promises.call("forget for good", takes=note("a red lantern")):
        db.forget(notes[0].id, hard=True)


def tidy(db: DB, promises: Promises) -> None:
    """Upkeep, between reading."""
    say_the_same(db, promises)
    with promises.call("recall"):
        db.recall("kayak lantern")
    with promises.call("backfill"):
        db.backfill()
    with promises.call("checkpoint"):
        db.checkpoint()
    with promises.call("compact"):
        db.compact(keep_history=True)
    with promises.call("stats"):
        db.stats()


def say_the_same(db: DB, promises: Promises) -> None:
    """A call that finds, in two threads of three, that there is nothing left to write."""
    with promises.call("remember once", note(SHARED)):
        db.remember(SHARED, idempotency_key="once")


THREADS = (talk, write, tidy)


class Played(NamedTuple):
    """An interleaving after its end: how each thread ended, and what is promised."""

    disk: SimulatedDisk
    handles: list[DB]
    promises: Promises
    ended: list[object]


def played(seed: int, fault: Fault | None, handles: int) -> Played:
    """Run the threads: on one handle, or by turns on several that share the file."""
    scheduler = Scheduler(seed)
    disk, promises = SimulatedDisk(seed=seed, pause=scheduler.pause), Promises()
    with scheduler.locks():
        mode = "exclusive" if handles == 1 else "shared"
        dbs = [open_memory(disk, mode=mode) for _ in range(handles)]
        with promises.call("remember", note("a kayak leaks")):
            dbs[0].remember("a kayak leaks")
        disk.fault, disk.fault_at = fault, len(disk.calls) + random.Random(seed).randrange(WINDOW)

        def thread(number: int) -> Callable[[], None]:
            return lambda: THREADS[number](dbs[number % handles], promises)

        ended = scheduler.run(*map(thread, range(len(THREADS))))
    disk.fault = None  # where the threads made fewer calls than that
    return Played(disk, dbs, promises, ended)


def check(run: Played, seed: int, fault: Fault | None, examiner: Examiner) -> None:
    """Raises AssertionError, or whatever a thread should not have raised."""
    disk, promises = run.disk, run.promises
    allowed = {None: (), "fsync": (StorageError,), "torn": (PowerCut,)}[fault]
    for error in run.ended:
        if error is not None and not isinstance(error, allowed):
            assert isinstance(error, BaseException)
            raise error
    if not disk.off:
        for db in run.handles:
            seen = facts(db)
            promises.check(seen)
            for call in promises.open:
                assert call.brings <= promises.kept or not call.happened(seen), f"{call.name} failed, and is seen"
    for survival in AFTERWARDS:
        promises.check(examiner.examine(disk.after_crash(survival, seed)))
    if not disk.off:
        for db in run.handles:
            db.close()
        promises.check(examiner.examine(disk.after_crash("nothing", seed)))


@pytest.mark.parametrize("handles", [1, 2], ids=["one handle", "two handles"])
@pytest.mark.parametrize("fault", [None, "fsync", "torn"], ids=["a good disk", "an fsync fails", "the power is cut"])
def test_interleavings(fault: Fault | None, handles: int, request: pytest.FixtureRequest) -> None:
    chosen = seeds(SEEDS, nightly=NIGHTLY_SEEDS)
    examiner = Examiner()
    violations = []
    for seed in chosen:
        try:
            check(played(seed, fault, handles), seed, fault, examiner)
        except (Exception, PowerCut, Deadlock) as error:
            violations.append(f"seed {seed}: {error!r}\n  replay: {REPLAY.format(seed, request.node.nodeid)}")
            if ONLY:
                raise
    record(
        "schedules",
        request.node.name,
        schedules=len(chosen),
        images=examiner.images,
        second_crashes=examiner.second_crashes,
        violations=len(violations),
    )
    assert not violations, "\n".join([f"{len(violations)} violations", *violations[:20]])


def test_the_same_seed_is_the_same_run() -> None:
    def told(seed: int, fault: Fault) -> tuple[list[str], frozenset[str], list[str]]:
        run = played(seed, fault, 2)
        return run.disk.calls, run.promises.kept, [repr(error) for error in run.ended]

    runs = [told(seed, fault) for seed in range(6) for fault in ("fsync", "torn")]
    assert runs == [told(seed, fault) for seed in range(6) for fault in ("fsync", "torn")]
    assert len({tuple(calls) for calls, _, _ in runs}) > 6


def test_what_is_there_already_is_durable_when_that_is_said() -> None:
    """A thread that finds its note written by another one, whose fsync still runs, must wait for that fsync.

    It returned at once, for it had nothing to write: after a power cut the note was gone of which it had said that
    it is there.
    """
    for seed in range(40):
        scheduler = Scheduler(seed)
        disk, promises = SimulatedDisk(pause=scheduler.pause), Promises()
        with scheduler.locks():
            db = open_memory(disk)
            disk.fault, disk.fault_at = "stop", len(disk.calls) + 2  # the fsync behind the first write
            work = [lambda db=db, promises=promises: say_the_same(db, promises)] * 2
            ended = scheduler.run(*work)
        assert disk.calls[-2:] == ["write", "fsync"]
        assert any(isinstance(error, PowerCut) for error in ended)
        promises.check(facts(open_memory(disk.after_crash("nothing"))))
