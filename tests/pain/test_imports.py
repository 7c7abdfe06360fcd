"""Rows 28, 53, 87 and 88: what is brought in twice, taken back, carried over, or gone for a while."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memhop import InvalidRequest, StorageError
from tests.api.test_import import counts
from tests.support.every_kind import every_kind
from tests.support.memories import NOW, every, memory
from tests.support.sources import hinterland, transcript

CHAT = ["does the kayak leak?", "at the seam", "which one?", "the left one"]


def test_row_53_one_chat_under_three_names_and_then_a_longer_one(tmp_path: Path) -> None:
    """The same conversation under another file name was stored twice, and could not be taken back; a newline at its end
    was enough to defeat the check."""
    with memory(tmp_path / "a.meh") as db:
        assert counts(db.import_(transcript(tmp_path / "one.jsonl", CHAT))) == {"created": 4}
        for name, turns in (("two.jsonl", CHAT), ("three.jsonl", [*CHAT[:3], CHAT[3] + "\n"])):
            report = db.import_(transcript(tmp_path / name, turns))
            assert counts(report) == {"unchanged": 4}
            assert report.number is None
        longer = db.import_(transcript(tmp_path / "longer.jsonl", [*CHAT, "thank you"]))
        assert counts(longer) == {"unchanged": 4, "created": 1}
        assert [message.text for message in every(db.archive.list)] == [*CHAT, "thank you"]
        assert longer.number is not None
        db.imports.undo(longer.number)
        assert [message.text for message in every(db.archive.list)] == CHAT, "only what that one brought"
        db.imports.undo(1)
        assert every(db.archive.list) == []
        with pytest.raises(InvalidRequest, match="undone before"):
            db.imports.undo(1)
        assert counts(db.import_(tmp_path / "one.jsonl")) == {"created": 4}


def test_row_87_there_and_back_from_a_handle_that_only_reads(tmp_path: Path) -> None:
    """Export failed on a file opened for reading; import dropped metadata, archived rows and when something expired."""
    every_kind(tmp_path / "a.meh")
    with memory(tmp_path / "a.meh") as db:
        db.facts.assert_("kayak", "is in", "the lake", valid_from=NOW - 5)
        db.facts.assert_("kayak", "is in", "the sea", valid_from=NOW)
        note = db.remember("a note with tags", tags=["a", "b"], metadata={"deep": [1, {"a": None}]})
        gone = db.remember("a note for the trash")
        db.forget(gone.id)
        db.scenes.pin(db.scenes.list().items[0].id)
    with memory(tmp_path / "a.meh", mode="read") as db:
        db.export(tmp_path / "e.jsonl")
    with memory(tmp_path / "b.meh") as db:
        assert set(counts(db.import_(tmp_path / "e.jsonl"))) == {"created"}
        assert db.notes.get(note.id).metadata == {"deep": [1, {"a": None}]}
        assert db.notes.get(gone.id).tier == "trashed"
        closed = [fact.value for fact in db.facts.history("kayak", "is in").items if fact.valid_to is not None]
        assert "the lake" in closed
    with memory(tmp_path / "b.meh", mode="read") as db:
        db.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "e.jsonl").read_bytes()


def test_row_88_a_folder_that_is_away_for_a_while_deletes_nothing(tmp_path: Path) -> None:
    """The source was briefly not there, and all pages and the user's own notes were deleted."""
    folder = tmp_path / "pages"
    folder.mkdir()
    for name in ("kayak", "canoe"):
        (folder / f"{name}.md").write_text(f"---\ntitle: {name}\n---\nThe {name} leaks.\n")
    with memory(tmp_path / "a.meh") as db:
        db.remember("my own note")
        db.import_(folder)
        there = db.export().digest
        folder.rename(tmp_path / "away")
        with pytest.raises(StorageError):
            db.import_(folder)
        folder.mkdir()
        with pytest.raises(InvalidRequest):
            db.import_(folder)
        assert db.export().digest == there
        folder.rmdir()
        (tmp_path / "away").rename(folder)
        (folder / "canoe.md").unlink()
        assert set(counts(db.import_(folder))) == {"unchanged"}
        assert db.export().digest == there, "what the source no longer has stays as well"
        shutil.rmtree(folder)


def test_row_28_one_prompt_a_hundred_times(tmp_path: Path) -> None:
    """The same 1 MB prompt, a hundred times in an import: stored once."""
    prompt = "".join(f"line {n} of a long prompt. " for n in range(40_000))[: 1024 * 1024]
    source = hinterland(tmp_path / "in.jsonl", {"content": "short"}, *[{"content": prompt}] * 100)
    with memory(tmp_path / "a.meh", durability="none") as db:
        assert counts(db.import_(source)) == {"created": 2, "unchanged": 99}
        stats = db.stats()
        assert stats.records == {"note": 2, "import": 1, "import_step": 1}
        shown = {use.name: use.bytes for use in stats.space}
        assert 1024 * 1024 < shown["note"] < 1025 * 1024
        assert stats.file_bytes < 3 * 1024 * 1024
