"""SIGKILL at random moments under the public calls: all that a call acknowledged is there, once, and nothing waits.

100 kills together with those of tests/crash/test_sigkill.py in `make test`, and more than 1,000 with MEMHOP_NIGHTLY=1.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from memhop import DB
from tests.support.memories import every
from tests.support.processes import Starter, Worker
from tests.support.seeds import NIGHTLY, replayable, seeds

ROUNDS = 300 if NIGHTLY else 14  # for each case; the shared ones kill two processes a round


def write_for_ever(link: Connection, path: Path, mode: str, first: int, seed: int) -> None:
    """Every kind of write. Sends the texts of each call once it has returned."""
    rng = random.Random(seed)
    with DB.open(path, mode=mode, purpose=f"writer {first}") as db:
        number = first
        while True:
            number += 1
            text = f"word{number} " + "filler " * rng.randrange(1, 200)
            act = rng.randrange(12)
            if act < 4:
                db.remember(text, tags=[f"t{number % 5}"])
                link.send([text])
            elif act < 6:
                texts = [f"{text} part {part}" for part in range(3)]
                db.remember_many(texts)
                link.send(texts)
            elif act < 8:
                found = db.search(text, session=f"s{number % 3}")
                link.send([text])
                reply = f"reply to word{number}"
                db.update(found.new_topic_id, reply)
                link.send([reply])
            elif act == 8:
                note = db.remember(f"for a moment only {number}")
                db.forget(note.id, hard=True)
            elif act == 9:
                db.checkpoint()
            elif act == 10:
                db.compact(keep_history=rng.random() < 0.5)
            else:
                db.recall(f"word{number - 1}")


@pytest.mark.parametrize(("mode", "writers"), [("exclusive", 1), ("shared", 2)])
@pytest.mark.parametrize("seed", seeds(2))
def test_killed_writers_lose_nothing(
    tmp_path: Path, start: Starter, request: pytest.FixtureRequest, mode: str, writers: int, seed: int
) -> None:
    with replayable(seed, request.node.nodeid):
        kill_over_and_over(tmp_path / "a.meh", start, mode, writers, seed)


def kill_over_and_over(path: Path, start: Starter, mode: str, writers: int, seed: int) -> None:
    rng = random.Random(f"{mode} {seed}")
    acknowledged: Counter[str] = Counter()
    for turn in range(ROUNDS):
        if turn % 25 == 24:  # a long life makes a long check
            path.unlink()
            acknowledged.clear()
        running = [
            start(write_for_ever, path, mode, 1_000_000 * seed + 10_000 * turn + 5_000 * which, rng.randrange(1 << 30))
            for which in range(writers)
        ]
        for worker in running:
            for _ in range(rng.randrange(8)):
                acknowledged.update(worker.hear())
            time.sleep(rng.random() * 0.004)  # so that it is not always found sending
        for worker in running:
            worker.kill()
        for worker in running:
            for texts in worker.rest():
                acknowledged.update(texts)
            worker.discard()
        check(path, acknowledged)


def check(path: Path, acknowledged: Counter[str]) -> None:
    if not path.exists():
        assert not acknowledged
        return
    assert not acknowledged or max(acknowledged.values()) == 1
    with DB.open(path) as db:  # the lock went with its holder: there is nothing to wait for
        assert db.recovery.damaged == 0
        assert not db.recovery.shortened
        assert db.recovery.refused is None
        stored = Counter(note.text for note in every(db.notes.list))
        stored.update(message.text for message in every(db.archive.list))
        missing = acknowledged.keys() - stored.keys()
        assert not missing, f"acknowledged and gone: {sorted(missing)[:3]}"
        twice = [text for text, count in stored.items() if count > 1]
        assert not twice, f"there more than once: {twice[:3]}"
        for text in list(acknowledged)[-3:]:
            assert text in [hit.text for hit in db.recall(text, limit=20).hits]
        report = db.verify(deep=True)
        assert report.ok, report.problems
    assert not list(path.parent.glob("*.compact"))
    assert not list(path.parent.glob("*.new"))


def hold(link: Connection, path: Path, mode: str) -> None:
    with DB.open(path, mode=mode) as db:
        db.remember("held")
        with db._file.writing():
            link.send("holding")
            link.recv()


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
def test_the_lock_dies_with_its_holder(tmp_path: Path, start: Starter, mode: str) -> None:
    """Also in the middle of a turn."""
    path = tmp_path / "a.meh"
    holder: Worker = start(hold, path, mode)
    assert holder.hear() == "holding"
    holder.kill()
    for mine in ("shared", "exclusive"):
        with DB.open(path, mode=mine, wait=0.0) as db:
            db.remember(f"written {mine}")
            assert every(db.notes.list)[-1].text == "held"
