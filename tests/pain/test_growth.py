"""Rows of section 1 of what users of such memories suffer from: space that never comes back, prompts stored twice."""

from __future__ import annotations

from pathlib import Path

from memhop import HashEmbedder
from tests.support.memories import memory

KIB = 1024


def test_row_27_deleting_gives_the_space_back(tmp_path: Path) -> None:
    """10,000 notes with vectors of 384 dimensions, deleted and compacted: the file is back near its empty size."""
    path = tmp_path / "a.meh"
    with memory(path, embedder=HashEmbedder(384), durability="none") as db:
        db.compact()
        empty = path.stat().st_size
        notes = db.remember_many([f"note {n}" for n in range(10_000)])
        assert db.backfill().embedded == 10_000
        db.checkpoint()
        assert path.stat().st_size > 10_000 * 384 * 4
        for note in notes:
            db.forget(note.id)
        assert db.purge().count == 10_000
        db.compact()
        assert path.stat().st_size < empty + 64 * KIB
        stats = db.stats()
        assert (stats.units, stats.terms) == (0, 0)
        assert set(stats.records) == {"space"}
    with memory(path, embedder=HashEmbedder(384)) as db:
        assert db.verify(deep=True).ok
        assert db.remember("as good as new").created


def test_row_28_the_same_prompt_is_stored_once(tmp_path: Path) -> None:
    """The same 1 MB prompt, 100 times: stored once, and the size is shown."""
    prompt = "".join(f"line {n} of a long prompt. " for n in range(40_000))[: 1024 * KIB]
    path = tmp_path / "a.meh"
    with memory(path, durability="none") as db:
        for _ in range(100):
            note = db.remember(prompt)
        assert note.copies == db.notes.get(note.id).copies == 100
        stats = db.stats()
        assert stats.records == {"note": 1, "usage": 1}
        shown = {use.name: use for use in stats.space}
        assert (shown["note"].count, shown["note"].layer) == (1, "L4")
        assert 1024 * KIB < shown["note"].bytes < 1025 * KIB
        assert stats.file_bytes == path.stat().st_size == sum(use.bytes for use in stats.space)
        assert stats.file_bytes < 3 * 1024 * KIB
