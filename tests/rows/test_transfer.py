"""What note systems do when a memory is carried from one place to another, row by row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memhop import HashEmbedder
from memhop.common.clock import to_iso
from tests.api.test_import import counts
from tests.support.every_kind import every_kind
from tests.support.memories import DAY, HOUR, NOW, every, memory
from tests.support.sources import hemisphere, hinterland


def test_n18_export_is_json_lines_with_everything_and_no_vectors(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(16)) as db:
        note = db.remember("a kayak in the shed", tags=["boat"], metadata={"wet": True}, external_id="x")
        db.remember("a kayak in the lake", external_id="x")
        trashed = db.remember("a note for the trash")
        db.forget(trashed.id)
        db.recall("kayak")
        db.remember("another commit, so that counters are written")
        db.backfill()
        done = db.export(tmp_path / "e.jsonl")
        head, *lines = map(json.loads, (tmp_path / "e.jsonl").read_text("utf-8").splitlines())
        assert head["version"] == 1
        assert len(lines) == done.records
        by_id = {line["id"]: line["record"] for line in lines}
        assert by_id[note.id]["tags"] == ["boat"]
        assert by_id[trashed.id]["tier"] == 2
        assert {line["kind"] for line in lines} == {"note", "note_revision", "usage"}
        (usage,) = (line["record"] for line in lines if line["kind"] == "usage" and line["record"]["target"] == note.id)
        assert usage["hits"] == 1


def test_n19_the_same_file_twice_updates_nothing_and_keeps_ids_times_and_counters(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("a kayak in the shed", at=NOW - DAY)
        db.recall("kayak")
        db.checkpoint()
        db.export(tmp_path / "e.jsonl")
    with memory(tmp_path / "b.meh") as db:
        assert counts(db.import_(tmp_path / "e.jsonl")) == {"created": 2}
        assert counts(db.import_(tmp_path / "e.jsonl")) == {"unchanged": 2}
        there = db.notes.get(note.id)
        assert (there.at, there.created_at, there.updated_at) == (note.at, note.created_at, note.updated_at)
        usage = db.usage(note.id)
        assert usage is not None
        assert (usage.hits, usage.last_at) == (1, NOW)


def test_n19_lines_without_an_id_are_not_doubled(tmp_path: Path) -> None:
    said = {"content": "no id", "scope": "default", "createdAt": to_iso(NOW - DAY), "updatedAt": to_iso(NOW - DAY)}
    (tmp_path / "in.jsonl").write_text(json.dumps(said | {"recalled": 0}) + "\nunreadable\n")
    with memory(tmp_path / "a.meh") as db:
        assert counts(db.import_(tmp_path / "in.jsonl")) == {"created": 1, "rejected": 1}
        assert counts(db.import_(tmp_path / "in.jsonl")) == {"unchanged": 1, "rejected": 1}
        assert len(every(db.notes.list)) == 1


def test_c3_importing_an_unchanged_file_drops_no_vector_and_makes_one_commit_of_many_lines(tmp_path: Path) -> None:
    source = hinterland(tmp_path / "in.jsonl", *[{"content": f"note number {n}"} for n in range(500)])
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(16)) as db:
        db.import_(source)
        assert db.stats().commit <= 3
        db.backfill()
        assert db.pending().without_vector == 0
        commit = db.stats().commit
        assert counts(db.import_(source)) == {"unchanged": 500}
        assert db.pending().without_vector == 0
        assert db.stats().commit == commit
        db.export(tmp_path / "e.jsonl")
        db.import_(tmp_path / "e.jsonl")
        assert (db.pending().without_vector, db.stats().commit) == (0, commit)


def test_c4_an_older_file_overwrites_nothing_newer(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.import_(hinterland(tmp_path / "old.jsonl", {"content": "old", "updatedAt": to_iso(NOW - DAY)}))
        db.import_(hinterland(tmp_path / "new.jsonl", {"content": "new", "updatedAt": to_iso(NOW - HOUR)}))
        report = db.import_(tmp_path / "old.jsonl")
        assert counts(report) == {"skipped": 1}
        assert [note.text for note in every(db.notes.list)] == ["new"]


def test_section_9_item_14_there_and_back_is_identical(tmp_path: Path) -> None:
    """All layers; twice: no change and no vector lost. Cut, corrupt, older, missing ids: counted, nothing lost."""
    every_kind(tmp_path / "a.meh")
    with memory(tmp_path / "a.meh") as db:
        digest = db.export(tmp_path / "e.jsonl").digest
    lines = (tmp_path / "e.jsonl").read_bytes().splitlines(keepends=True)
    with memory(tmp_path / "b.meh", embedder=HashEmbedder(16)) as db:
        db.import_(tmp_path / "e.jsonl")
        assert db.export().digest == digest
        db.backfill()
        pending = db.pending()
        assert set(counts(db.import_(tmp_path / "e.jsonl"))) == {"unchanged"}
        assert (db.export().digest, db.pending()) == (digest, pending)
        lines[3] = lines[3][:20] + b"\n"
        lines[5] = lines[5].replace(b'"id":"', b'"no":"', 1)
        (tmp_path / "worn.jsonl").write_bytes(b"".join(lines)[:-30])
        report = db.import_(tmp_path / "worn.jsonl")
        assert counts(report) == {"unchanged": len(lines) - 4, "rejected": 3}
        assert [problem.place for problem in report.problems] == ["line 4", "line 6", f"line {len(lines)}"]
        assert db.export().digest == digest


@pytest.mark.parametrize("broken", [False, True])
def test_section_9_item_15_a_database_with_a_broken_text_index(tmp_path: Path, broken: bool) -> None:
    """Rows only: what its indexes hold does not matter."""
    import sqlite3
    from contextlib import closing

    rows = [(n, "note", "", f"settled thing {n}", "", None, None) for n in range(1, 21)]
    path = hemisphere(tmp_path / "memories.db", rows)
    with closing(sqlite3.connect(path)) as file:
        file.execute("create virtual table memories_fts using fts5(content, content='memories', content_rowid='id')")
        if broken:
            file.execute("insert into memories_fts(rowid, content) values(7, 'words of nobody')")
            file.execute("delete from memories_fts_data where id > 10")
        file.commit()
    with memory(tmp_path / "a.meh") as db:
        assert counts(db.import_(path)) == {"created": 20}
        assert db.recall("settled thing 7").hits[0].text == "settled thing 7"
        assert not db.recall("words of nobody").hits
