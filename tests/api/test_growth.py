"""A file grows with what it holds, not with how often it was opened, edited or asked; it says what uses its space."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop import DB, HashEmbedder
from memhop.repo import store
from tests.api.test_erasure import offset_of, rot
from tests.support.memories import HOUR, NOW, distract, memory

MIB = 1024 * 1024


def used(db: DB) -> dict[str, int]:
    """Bytes by "part/name"; they add up to the size of the file."""
    stats = db.stats()
    assert sum(use.bytes for use in stats.space) == stats.file_bytes
    assert stats.file_bytes == Path(db.path).stat().st_size
    assert all(use.bytes > 0 for use in stats.space)
    rows = {f"{use.part}/{use.name}": use.bytes for use in stats.space}
    assert len(rows) == len(stats.space)
    return rows


def fill(db: DB) -> None:
    """Something of each kind."""
    distract(db)
    note = db.remember("a kayak leaks", external_id="x")
    db.remember("a kayak leaks no more", external_id="x")
    db.search("where is the kayak?", NOW - HOUR, session="s", auto_create=True)
    found = db.search("the boat is in the shed", NOW - HOUR + 1, session="s", auto_create=True)
    db.update(found.new_topic_id, "so it is", NOW - HOUR + 2)
    db.profile.update(name="Ada")
    db.knowledge.put("boats", "kayak hull", "laminated epoxy")
    db.trajectory.append("s", "tool", "payload")
    db.recall("kayak")
    db.backfill()
    db.forget(note.id, hard=True)


class TestSpace:
    @pytest.mark.parametrize("steps", ["", "c", "cc", "k", "kc", "h", "hchc"])
    def test_the_parts_add_up_to_the_file(self, tmp_path: Path, steps: str) -> None:
        """After any sequence of checkpoints (c), compactions (k) and compactions with history (h)."""
        with memory(tmp_path / "a.meh", embedder=HashEmbedder(32)) as db:
            fill(db)
            used(db)
            for number, step in enumerate(steps):
                if step == "c":
                    db.remember(f"version {number}", external_id="x")
                    assert db.checkpoint()
                else:
                    db.compact(keep_history=step == "h")
                used(db)
            db.remember("the last one")
            rows = used(db)
            stats = db.stats()
        assert {use.name: use.count for use in stats.space if use.part == "records"} == stats.records
        live = sum(use.bytes for use in stats.space if use.part == "records")
        assert live == stats.live_bytes
        assert ("history/older versions" in rows) == (steps not in ("k", "kc")), (
            "what compact drops, and what it does not"
        )
        assert ("indexes/vocabulary" in rows) == bool(steps)
        assert ("history/old indexes" in rows) == (steps in ("cc", "kc", "hchc"))
        layers = {use.name: use.layer for use in stats.space}
        assert (layers["note"], layers["message"], layers["profile"], layers["event"]) == ("L4", "L4", "L0", "L7")
        assert (layers["vector_slab"], layers["commits"]) == ("vectors", None)

    def test_what_an_edit_adds_is_history(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.remember("x" * 10_000, external_id="x")
            before = used(db)
            assert "history/older versions" not in before
            db.remember("y" * 10_000, external_id="x")
            after = used(db)
            assert 10_000 < after["history/older versions"] < 10_200
            assert after["records/note"] == pytest.approx(before["records/note"], abs=16)

    def test_a_damaged_head_counts_as_unreadable(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            notes = db.remember_many([f"note number {n}" for n in range(5)])
            db.checkpoint()
            offsets = sorted(offset_of(db, note.id) for note in notes)
            before = used(db)
        with path.open("r+b") as file:
            file.seek(offsets[1] + 10)
            file.write(b"\xff" * 8)
        rot(path, offsets[3])
        with memory(path) as db:
            after = used(db)
        lost = offsets[2] - offsets[1]
        assert after["file/unreadable"] == lost
        assert after["records/note"] == before["records/note"] - lost, "of the other one only the payload is damaged"

    def test_an_empty_file(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            assert set(used(db)) <= {"file/headers", "file/reserved"}


def test_opening_and_closing_an_unchanged_file_adds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path, embedder=HashEmbedder(32)) as db:
        fill(db)
        db.checkpoint()
        db.remember("behind the checkpoint")
    before = path.read_bytes()
    for _ in range(100):
        with memory(path, embedder=HashEmbedder(32)) as db:
            assert db.stats().file_bytes == len(before)
    assert path.read_bytes() == before


def test_ten_thousand_updates_of_one_note_stay_bounded(tmp_path: Path) -> None:
    """7 KB each: 72 MB of dead versions, were it not for a compaction by itself; nothing is set down for the test."""
    path = tmp_path / "a.meh"
    most = 0
    with memory(path, durability="none") as db:
        for n in range(10_000):
            note = db.remember(f"version {n} " + "x" * 7_200, external_id="x")
            if not n % 100:
                most = max(most, path.stat().st_size)
        stats = db.stats()
        most = max(most, stats.file_bytes)
        assert stats.generation > 1, "a compaction must have happened"
        assert most < 3 * stats.live_bytes + store.COMPACT_MIN_BYTES + store.CHECKPOINT_BYTES
        assert stats.file_bytes < 3 * stats.live_bytes + 64 * MIB
        assert db.notes.get(note.id).text.startswith("version 9999 ")
        assert db.notes.get(note.id).rev == 10_000
        assert used(db)["records/note"] < 10_000
        db.compact()
        assert db.stats().file_bytes < 64 * 1024
