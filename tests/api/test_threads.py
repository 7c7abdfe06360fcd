"""One handle, many threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memhop import Closed, HashEmbedder, NotFound
from tests.support.memories import HOUR, NOW, every, memory

THREADS = 8


def run(work: Callable[[int], object]) -> list[object]:
    """`work(number)` in all threads at once, started together; the first error is raised."""
    barrier = threading.Barrier(THREADS)

    def begin(number: int) -> object:
        barrier.wait(10)
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return [future.result(60) for future in [pool.submit(begin, number) for number in range(THREADS)]]


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_all_that_was_acknowledged_is_there(tmp_path: Path, durability: str) -> None:
    path = tmp_path / "a.meh"
    kept: dict[str, str] = {}
    gone: list[str] = []
    said: dict[str, str] = {}
    with memory(path, embedder=HashEmbedder(16), durability=durability) as db:

        def work(number: int) -> None:
            for step in range(12):
                text = f"thread {number} wrote step {step}"
                note = db.remember(text, tags=[f"t{number}"])
                kept[note.id] = text
                assert note.id in [hit.id for hit in db.recall(text, limit=50).hits]
                if step % 4 == 1:
                    db.forget(note.id, hard=True)
                    del kept[note.id]
                    gone.append(note.id)
                if step % 4 == 2:
                    found = db.search(f"question {step} of {number}", NOW - HOUR + step, session=f"s{number}")
                    reply = db.update(found.new_topic_id, f"answer {step} to {number}")
                    said[found.message_id] = f"question {step} of {number}"
                    said[reply.id] = f"answer {step} to {number}"
                if step == 6 and number % 3 == 0:
                    db.checkpoint()
                if step == 8 and number == 1:
                    db.compact()
                if step == 9 and number == 2:
                    assert db.backfill().reason is None
                if step == 10:
                    db.stats()
                    every(db.notes.list)

        run(work)
        assert len(kept) == THREADS * 9
    with memory(path) as db:
        assert db.recovery.clean
        assert {note.id: note.text for note in every(db.notes.list)} == kept
        assert {message.id: message.text for message in every(db.archive.list)} == said
        for id_ in gone:
            with pytest.raises(NotFound):
                db.notes.get(id_)
        assert db.verify(deep=True).ok


def test_the_same_note_from_all_threads_is_one(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        notes = run(lambda number: db.remember("the same words"))
        assert len({note.id for note in notes}) == 1  # type: ignore[attr-defined]
        assert [note.created for note in notes].count(True) == 1  # type: ignore[attr-defined]
        (note,) = db.notes.list().items
        assert note.copies == THREADS


def test_steps_of_one_session_are_numbered_without_gaps(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", durability="none") as db:
        run(lambda number: [db.trajectory.append("s", "tool", f"{number}.{step}") for step in range(5)])
        assert [event.seq for event in every(lambda **page: db.trajectory.read("s", **page))] == list(range(1, 41))


def test_a_first_use_from_all_threads_at_once(tmp_path: Path) -> None:
    """Indexes are loaded at the first call that needs them, whichever thread makes it."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember_many([f"note {number} on kayaks" for number in range(100)])
        db.checkpoint()
    with memory(path) as db:
        found = run(lambda number: [hit.id for hit in db.recall("kayaks").hits])
        assert all(ids == found[0] for ids in found)
        assert len(found[0]) == 10  # type: ignore[arg-type]


@pytest.mark.parametrize("attempt", range(6))
def test_close_while_others_work(tmp_path: Path, attempt: int) -> None:
    """The others see Closed, and whatever returned before is in the file."""
    path = tmp_path / "a.meh"
    kept: dict[str, str] = {}
    busy = threading.Event()
    with memory(path, embedder=HashEmbedder(16), durability="full" if attempt % 2 else "none") as db:
        db.remember_many([f"note {number}" for number in range(70)])
        db.backfill()

        def work(number: int) -> str:
            if number == 0:
                busy.wait(10)
                db.close()
                return "closed"
            try:
                for step in range(2_000):
                    text = f"thread {number} wrote step {step}"
                    kept[db.remember(text).id] = text
                    if step == 3 + attempt:
                        busy.set()
                    db.recall("wrote step")
                    found = db.search(f"question {step}", session=f"s{number}")
                    db.update(found.new_topic_id, "answer")
                    db.notes.list(limit=5)
                    db.scenes.list(limit=2)
                    db.stats()
                    db.pending()
            except Closed:
                return "told"
            return "never told"

        outcomes = run(work)
    assert outcomes == ["closed", *["told"] * (THREADS - 1)]
    with memory(path) as db:
        assert db.recovery.clean
        for id_, text in kept.items():
            assert db.notes.get(id_).text == text
        assert db.verify(deep=True).ok


def test_closed_is_closed(tmp_path: Path) -> None:
    db = memory(tmp_path / "a.meh", embedder=HashEmbedder(16))
    note = db.remember("a note")
    notes, archive = db.notes, db.archive
    db.close()
    db.close()
    assert db.closed
    assert "closed" in repr(db)
    calls: list[Callable[[], object]] = [
        lambda: db.remember("x"),
        lambda: db.recall("note"),
        lambda: db.search("x"),
        lambda: db.forget(note.id),
        lambda: db.why_not(note.id, "x"),
        lambda: db.stats(),
        lambda: db.pending(),
        lambda: db.backfill(),
        lambda: db.checkpoint(),
        lambda: db.compact(),
        lambda: db.verify(),
        lambda: db.notes,
        lambda: db.profile,
        lambda: notes.get(note.id),
        lambda: notes.list(),
        lambda: archive.append_many([{"text": "x"}]),
        lambda: archive.list(),
    ]
    for call in calls:
        with pytest.raises(Closed):
            call()
