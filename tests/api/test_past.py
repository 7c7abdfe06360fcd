"""`db.at(when)`: the memory as it was, to the last bit of a score."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memhop import DB, Closed, HashEmbedder, InvalidRequest
from memhop.common.clock import ManualClock, to_datetime
from memhop.common.errors import WriteRefused
from memhop.repo import store
from tests.support.memories import HOUR, NOW, memory

WORDS = "kayak leaks shed lettuce slugs piano oven heart walnut 猫 北京 café main.py Mara Jonas May".split()
QUESTIONS = (
    "where do the slugs eat lettuce?",
    "what did Mara say of the kayak last week",
    "猫 在 北京",
    "walnutt oven",
)


def answers(db: DB) -> list[dict[str, Any]]:
    """All of what recall says, scores unrounded."""
    return [
        db.recall(question, limit=30, explain=True, fusion=fusion).to_dict()
        for question, fusion in zip(QUESTIONS, ("zscore", "rrf", "rrf", "zscore"), strict=True)
    ]


def live(db: DB, clock: ManualClock, rng: random.Random) -> None:
    """One public call, of whatever kind."""
    clock.advance(rng.randrange(1, 30 * HOUR))
    text = " ".join(rng.choices(WORDS, k=rng.randrange(2, 7)))
    act = rng.randrange(9)
    if act < 3:
        db.remember(text, tags=rng.sample(WORDS, 1), external_id=rng.choice([None, "one", "two"]))
    elif act < 5:
        speakers = [{"text": f"{text} {n}", "session": "s", "speaker": rng.choice(["Mara", "Jonas"])} for n in range(4)]
        db.archive.append_many(speakers)
    elif act < 7:
        db.update(db.search(text, session="s").new_topic_id, text[::-1])
    elif act == 7:
        notes = db.notes.list().items
        if notes:
            db.forget(rng.choice(notes).id)
    else:
        db.backfill()


@pytest.mark.parametrize("seed", range(4))
def test_recall_through_the_past_is_what_recall_was(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has happened since: edits, erasures in the trash, checkpoints, other handles."""
    monkeypatch.setattr(store, "CHECKPOINT_ENTRIES", 60)
    rng, clock = random.Random(seed), ManualClock(NOW)
    seen: dict[int, tuple[int, list[dict[str, Any]]]] = {}
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(32), clock=clock, durability="none") as db:
        for _ in range(30):
            live(db, clock, rng)
            commit = db.stats().commit
            seen[commit] = (clock.now_ms(), answers(db))
            clock.advance(1)  # a checkpoint may write commits too: usage counters, joined slabs
            if rng.random() < 0.15:
                db.checkpoint()
        assert len(seen) > 15
        for commit, (now, said) in seen.items():
            with db.at(commit) as then:
                then._clock = ManualClock(now)  # the question was asked a while after the commit
                then._open_store().clock = then._clock
                assert answers(then) == said, f"seed {seed}, commit {commit}"
            if commit % 3 == 0:
                with db.at(to_datetime(now)) as then:
                    assert answers(then) == said, f"seed {seed}, time of commit {commit}"
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(32), clock=clock, mode="read") as db:
        for commit in (min(seen), max(seen)):
            with db.at(to_datetime(seen[commit][0])) as then:
                assert answers(then) == seen[commit][1]


def test_the_past_is_read_only_and_does_not_move(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("the kayak leaks")
        commit = db.stats().commit
        then = db.at(commit)
        db.forget(note.id, hard=True)
        db.remember("the piano is out of tune")
        assert then.notes.get(note.id).text == "the kayak leaks"
        assert not then.refresh()
        assert not then.recall("piano").hits
        for write in (lambda: then.remember("no"), lambda: then.forget(note.id), then.compact, then.checkpoint):
            with pytest.raises(WriteRefused, match="read"):
                write()
        with pytest.raises(InvalidRequest, match="no file of its own"):
            then.verify()
        db.compact()
        assert then.notes.get(note.id).text == "the kayak leaks", "an open handle keeps what it sees"
        then.close()
        with pytest.raises(Closed):
            then.recall("kayak")


def test_moments_there_are_not(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        for number in range(5):
            db.remember(f"kayak {number}")
            clock.advance(HOUR)
        commit = db.stats().commit
        with db.at(0) as then:
            assert then.recall("kayak").reason == "nothing is stored yet"
        with db.at(to_datetime(NOW - HOUR)) as then:
            assert then.stats().units == 0
        with db.at(to_datetime(NOW) + timedelta(days=900)) as then:
            assert then.stats().commit == commit
        for wrong in (commit + 1, -1, True, 1.5, "1", None):
            with pytest.raises(InvalidRequest) as caught:
                db.at(wrong)  # type: ignore[arg-type]
            assert caught.value.field == "when"
        db.compact(keep_history=True)
        with db.at(2) as then:
            assert then.stats().units == 2, "kept history is the past as it was"
        db.compact()
        for gone in (2, commit, to_datetime(NOW)):
            with pytest.raises(InvalidRequest, match="compaction has left nothing") as caught:
                db.at(gone)
            assert f"commit {commit + 1} of " in str(caught.value.allowed)
        db.remember("after")
        with db.at(commit + 1) as then:
            assert then.stats().units == 5


def test_a_past_without_any_manifest_is_replayed(tmp_path: Path) -> None:
    """The chain of manifests is broken: damaged, or from a time when they did not name each other."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        for number in range(6):
            db.remember(f"kayak {number}")
            db.checkpoint()
        expected = []
        for commit in range(7):
            with db.at(commit) as then:
                expected.append(then.recall("kayak", limit=20).to_dict())
    data = bytearray(path.read_bytes())
    data = data.replace(b'"previous":', b'"prevIous":')
    path.write_bytes(data)  # checksums fail now, for all of them
    with memory(path) as db:
        assert db.recovery.checkpoint_lost
        for commit in range(7):
            with db.at(commit) as then:
                assert then.recall("kayak", limit=20).to_dict() == expected[commit]
