"""What the store does by itself: checkpoints, compaction, gathering of slabs."""

from __future__ import annotations

from pathlib import Path

import pytest

import memhop
from memhop.common.errors import StorageError
from memhop.repo import gathering, store
from memhop.repo.record import Kind, all_of
from tests.support.memory_workload import open_memory
from tests.support.simulated_disk import Fault, SimulatedDisk

TEXTS = [f"The spare key number {number} hangs behind the {word}" for number, word in enumerate(
    "clock mirror stove piano door calendar shelf coat map barometer guitar wreath lamp fridge boiler desk vase".split()
)]  # fmt: skip


def opened(path: Path, **options: object) -> memhop.DB:
    return memhop.DB.open(path, durability="none", **options)  # type: ignore[arg-type]


def test_checkpoints_happen_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHECKPOINT_ENTRIES", 10)
    with opened(tmp_path / "a.meh") as db:
        for text in TEXTS:
            db.remember(text)
        stats = db.stats()
        assert stats.segments >= 1
        assert stats.commit - stats.checkpoint_commit < 10
        assert db.recall("which key hangs behind the piano").hits[0].text == TEXTS[3]
    with opened(tmp_path / "a.meh") as db:
        assert db.recovery.replayed_commits < 10
        assert db.recall("which key hangs behind the piano").hits[0].text == TEXTS[3]
        assert not db.stats().views_rebuilt, "sealed parts must be used as they are"


def test_a_call_whose_upkeep_fails_has_done_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk at the checkpoint that a remember made due: the error looked as if nothing had been written."""
    monkeypatch.setattr(store, "CHECKPOINT_ENTRIES", 8)
    monkeypatch.setattr(store, "COMPACT_MIN_BYTES", 0)
    texts = [f"{text}, {number}" for number in range(2) for text in TEXTS[:8]]

    def live(disk: SimulatedDisk) -> tuple[int, int]:
        told = kept = 0
        db = open_memory(disk)
        for text in texts:
            try:
                db.remember(text)
            except StorageError:
                told += 1
                if db._store.file.refused:
                    db = open_memory(disk.after_crash("everything"))
                assert text not in texts_of(db)
            else:
                assert text in texts_of(db)
                kept += db.stats().upkeep_error is not None
        return told, kept

    calls = SimulatedDisk()
    live(calls)
    told = kept = 0
    for at in range(8, len(calls.calls)):
        faults: tuple[Fault, ...] = ("enospc", "eio")
        for fault in faults:
            found = live(SimulatedDisk(fault=fault, fault_at=at))
            told += found[0] > 0
            kept += found[1] > 0
    assert told > 20
    assert kept > 10


def texts_of(db: memhop.DB) -> set[str]:
    return {note.text for note in db.notes.list(limit=100).items}


def test_many_bytes_make_a_checkpoint_due_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHECKPOINT_BYTES", 20_000)
    with opened(tmp_path / "a.meh") as db:
        db.remember("needle " + "hay " * 4_000)
        db.remember("needle " + "straw " * 4_000)
        assert db.stats().segments >= 1


def test_a_small_tail_is_left_to_the_next_opening(tmp_path: Path) -> None:
    """A checkpoint at every close would make a file grow by its indexes each time a command line remembers a line."""
    path = tmp_path / "a.meh"
    for text in TEXTS[:5]:
        with opened(path) as db:
            db.remember(text)
    with opened(path) as db:
        assert db.stats().segments == 0
        for number in range(store.CLOSE_CHECKPOINT_ENTRIES):
            db.remember(f"entry {number}")
    with opened(path) as db:
        assert db.stats().segments == 1
        assert db.recovery.replayed_commits == 0


def test_opening_and_closing_an_unchanged_file_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with opened(path) as db:
        db.remember_many(TEXTS)
        db.checkpoint()
    before = path.read_bytes()
    for _ in range(20):
        with opened(path) as db:
            assert db.notes.list(limit=3).items
    assert path.read_bytes() == before


def test_a_file_that_is_mostly_dead_is_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "COMPACT_MIN_BYTES", 100_000)
    monkeypatch.setattr(store, "CHECKPOINT_BYTES", 40_000)
    path = tmp_path / "a.meh"
    with opened(path) as db:
        kept = db.remember("the one which stays", external_id="kept")
        for number in range(120):
            db.remember(f"version {number} " + "x" * 5_000, external_id="changing")
        stats = db.stats()
        assert stats.generation > 1, "600 KB of old versions must have been dropped at least once"
        assert stats.file_bytes < 300_000
        assert db.notes.get(kept.id).text == "the one which stays"
        assert db.recall("version 119").hits[0].text.startswith("version 119 ")
        assert db.verify(deep=True).ok


def test_slabs_of_single_vectors_are_gathered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "GATHER_SLABS", 8)
    path = tmp_path / "a.meh"
    with opened(path, embedder=memhop.HashEmbedder(64)) as db:
        for text in TEXTS:
            db.remember(text)
            db.backfill()
        before = db.recall("spare key behind the barometer")
        assert slab_count(db) == len(TEXTS)
        db.checkpoint()
        assert slab_count(db) == 1
        after = db.recall("spare key behind the barometer")
        assert [hit.id for hit in after.hits] == [hit.id for hit in before.hits]
        assert db.pending().without_vector == 0
    with opened(path, embedder=memhop.HashEmbedder(64)) as db:
        assert db.pending().without_vector == 0
        assert db.recall("spare key behind the barometer").hits[0].text == TEXTS[9]


def test_compaction_drops_rows_of_what_is_gone(tmp_path: Path) -> None:
    with opened(tmp_path / "a.meh", embedder=memhop.HashEmbedder(64)) as db:
        notes = db.remember_many(TEXTS)
        db.backfill()
        for note in notes[::2]:
            db.forget(note.id, hard=True)
        db.compact()
        views = db._store.views
        space = views.groups.page(all_of(Kind.SPACE), limit=1)[0][1]
        assert len(views.vectors(space, 64).owners()) == len(notes[1::2])
        assert db.pending().without_vector == 0


def slab_count(db: memhop.DB) -> int:
    return db.stats().records.get("vector_slab", 0)
