"""A dream whose process is killed leaves whole commits, and the next one ends where an undisturbed one would have."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from memhop import DB
from memhop.dream import pipeline
from memhop.dream.stage import Change, Desk
from memhop.dream.stages import stages_of
from tests.dream.test_pipeline import dreams_with, exported, talk
from tests.support.memories import DAY, NOW, copied, memory
from tests.support.processes import Starter
from tests.support.seeds import replayable, seeds
from tests.support.stages import Stage, fuse, rename


def dreamer(link: Connection, path: str, mode: str, at_stage: int, after: int) -> None:
    """Dreams until `after` changes of a stage were proposed, says so, and waits for its end."""

    plans: tuple[tuple[int, Callable[[Desk], Iterator[Change]]], ...] = ((0, rename), (1, fuse))

    def halting(plan: Callable[[Desk], Iterator[Change]], number: int, desk: Desk) -> Iterator[Change]:
        for count, change in enumerate(plan(desk)):
            if (number, count) == (at_stage, after):
                link.send("here")
                link.recv()
            yield change

    pipeline.BATCH_RECORDS = 4  # many small commits
    with memory(Path(path), mode=mode) as db:
        stages = [Stage(partial(halting, plan, number), plan.__name__, by_scene=number == 1) for number, plan in plans]
        dreams_with(db, *stages)
        link.send(db.dream().state)


def fill(path: Path) -> None:
    with memory(path) as db:
        for session in range(3):
            talk(db, f"session {session}", turns=8, start=NOW - (session + 1) * DAY)


@pytest.mark.parametrize(("at_stage", "after"), [(0, 0), (0, 2), (1, 0), (1, 3), (1, 6), (1, 11)])
def test_a_killed_dream_is_gone_on_with(tmp_path: Path, start: Starter, at_stage: int, after: int) -> None:
    path = tmp_path / "a.meh"
    fill(path)
    with memory(copied(path, tmp_path / "b.meh")) as db:
        dreams_with(db, Stage(rename), Stage(fuse, by_scene=True)).dream()
        wanted = exported(db, tmp_path / "e")
    worker = start(dreamer, str(path), "exclusive", at_stage, after)
    assert worker.hear() == "here"
    worker.kill()
    with memory(path) as db:
        dreams_with(db, Stage(rename), Stage(fuse, by_scene=True))
        assert db.verify(deep=True).ok
        left = db.dreams.list().items
        assert not left or (left[0].state, left[0].undoable) == ("running", True)
        before = exported(db, tmp_path / "before")
        report = db.dream()
        assert report.state == "done"
        assert exported(db, tmp_path / "e") == wanted
        assert [one.state for one in db.dreams.list().items] == ["done"] + ["stopped"] * len(left)
        assert db.verify(deep=True).ok
        db.dreams.undo(report.number or 0)
        assert exported(db, tmp_path / "e") == before


def test_a_killed_dream_can_be_undone_at_once(tmp_path: Path, start: Starter) -> None:
    path = tmp_path / "a.meh"
    fill(path)
    with memory(path) as db:
        before = exported(db, tmp_path / "e")
    worker = start(dreamer, str(path), "exclusive", 1, 6)
    assert worker.hear() == "here"
    worker.kill()
    with memory(path) as db:
        assert db.dreams.undo(1).changes > 0
        assert exported(db, tmp_path / "e") == before


def other_dreamer(link: Connection, path: str, number: int) -> None:
    """Dreams again and again, beside others, until nothing is fresh."""
    pipeline.BATCH_RECORDS = 4
    with memory(Path(path), mode="shared") as db:
        dreams_with(db, Stage(rename), Stage(fuse, by_scene=True))
        link.send("ready")
        link.recv()
        for _ in range(4):
            db.dream()
            db.search(f"meanwhile {number}", NOW + number, session=f"meanwhile {number}")
        link.send("done")
        link.recv()


def test_two_processes_dream_at_once(tmp_path: Path, start: Starter) -> None:
    """Each change is made once, on what it was planned on; the texts are all there, and the file is sound."""
    path = tmp_path / "a.meh"
    fill(path)
    with memory(path) as db:
        words = {message.id: message.text for message in db.archive.list(limit=1000).items}
    workers = [start(other_dreamer, str(path), number) for number in range(2)]
    for worker in workers:
        assert worker.hear() == "ready"
    for worker in workers:
        worker.tell("go")
    for worker in workers:
        assert worker.hear() == "done"
    for worker in workers:
        worker.tell("end")
        worker.finish()
    with memory(path) as db:
        dreams_with(db, Stage(rename), Stage(fuse, by_scene=True)).dream()
        after = {message.id: message.text for message in db.archive.list(limit=1000).items}
        assert words.items() <= after.items()
        assert all_fused_once(db)
        assert not [report for report in db.dreams.list(limit=100).items if report.state == "running"]
        assert db.verify(deep=True).ok


def all_fused_once(db: DB) -> bool:
    """Every raw topic with a parent stands among the children of that one, and of no other."""
    parents: dict[str, str] = {}
    for scene in db.scenes.list(limit=100).items:
        for topic in db.topics.list(scene.id, limit=1000).items:
            for child in topic.children:
                assert child not in parents
                parents[child] = topic.id
    return all(db.topics.get(child).parent == parent for child, parent in parents.items()) and len(parents) >= 24


def life(path: Path, sessions: int = 3, **options: Any) -> DB:
    """A memory that gives each stage something to do, open."""
    db = memory(path, **options)
    for session in range(sessions):
        talk(db, f"session {session}", turns=14, start=NOW - (session + 1) * DAY)
    subjects = ("slugs eat the lettuce", "the piano is out of tune", "walnuts make Mara ill", "rent is due in May")
    db.archive.append_many(
        {"text": f"{subjects[n // 6 % 4]}, {n}", "session": "x", "at": NOW - 9 * DAY + n * 1000, "role": role}
        for n, role in enumerate(("user", "agent") * 36)
    )
    return db


def test_the_real_stages_end_where_an_undisturbed_dream_would_have(tmp_path: Path) -> None:
    """Half of a scene that was fused and committed was fused once more by the next dream, on top of itself; and a scene
    whose node was written before its edges lost these for ever."""
    stages = stages_of(model=False)
    with life(tmp_path / "a.meh", durability="none") as db:
        pipeline.run(db._store, stages, now_ms=NOW)
        wanted = exported(db, tmp_path / "e")
    with life(tmp_path / "b.meh", durability="none") as db:
        dreams, state = 0, ""
        while state != "done" and dreams < 400:
            dreams += 1
            asked = iter(range(dreams))  # each goes on a little longer
            outcome = pipeline.run(
                db._store,
                stages,
                now_ms=NOW,
                stopping=lambda asked=asked: next(asked, None) is None,  # type: ignore[misc]
            )
            assert outcome.error is None
            state = outcome.dream.state
        assert dreams > 3
        assert exported(db, tmp_path / "e") == wanted
        assert pipeline.run(db._store, stages, now_ms=NOW).dream.number == 0


SMALL_COMMITS = 1  # records
KILLS = 8


def dreamer_struck(link: Connection, path: str, at_write: int) -> None:
    """Dreams with the stages as they are; SIGKILL in the middle of a write, counted from the beginning of the dream."""
    pipeline.BATCH_RECORDS = SMALL_COMMITS
    write, writes = os.pwrite, 0

    def counted(descriptor: int, data: Any, offset: int) -> int:
        nonlocal writes
        writes += 1
        if writes == at_write:
            write(descriptor, memoryview(data)[: len(data) // 2], offset)
            os.kill(os.getpid(), signal.SIGKILL)
        return write(descriptor, data, offset)

    with memory(Path(path)) as db:
        os.pwrite = counted
        state, at_end = db.dream().state, writes
    link.send((state, at_end))


@pytest.mark.parametrize("seed", seeds(1, nightly=10))
def test_a_killed_process_is_gone_on_with_by_the_real_stages(
    tmp_path: Path, start: Starter, request: pytest.FixtureRequest, seed: int
) -> None:
    """Wherever it is killed, and killed again, the dream ends with what one that was never killed ends with."""
    path = tmp_path / "a.meh"
    life(path, sessions=8).close()
    whole = copied(path, tmp_path / "whole.meh")
    state, writes = start(dreamer_struck, str(whole), 0).hear()
    assert state == "done"
    assert writes > 2 * KILLS
    with memory(whole) as db:
        wanted = exported(db, tmp_path / "e")
    with replayable(seed, request.node.nodeid):
        rng = random.Random(seed)
        for at_write in rng.sample(range(1, writes + 1), KILLS):
            struck = copied(path, tmp_path / f"{at_write}.meh")
            with pytest.raises(AssertionError, match="ended with -9"):
                start(dreamer_struck, str(struck), at_write).hear()
            for state, _ in start(dreamer_struck, str(struck), rng.randint(1, writes)).rest():
                assert state == "done"  # what was left took fewer writes
            with memory(struck) as db:
                assert db.verify(deep=True).ok
                pipeline.run(db._store, stages_of(model=False), now_ms=NOW)
                assert exported(db, tmp_path / "e") == wanted, f"killed in write {at_write} of {writes}"
                assert db.dream().number is None
