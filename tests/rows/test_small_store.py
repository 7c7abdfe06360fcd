"""What a small store of notes promises, row by row: opening, backfill, what is pending, listing, counts, embedders."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from memhop import DB, BadFormat, ConfigError, HashEmbedder, StorageError
from memhop.core.format import VERSION
from tests.cli.test_future import NEWER, header_says
from tests.support.embedders import MISBEHAVIOURS, Scripted, refusing
from tests.support.memories import NOW, every, memory, texts


def test_n1_a_file_is_made_on_demand_and_a_missing_folder_is_named(tmp_path: Path) -> None:
    """The folder is not made: a mistyped path would start an empty memory somewhere else, and nobody would see it."""
    path = tmp_path / "notes.meh"
    with memory(path) as db:
        kept = db.remember("the gateway settles overnight")
    with memory(path) as db:
        assert db.notes.get(kept.id).text == "the gateway settles overnight"
    with pytest.raises(StorageError, match="absent"):
        memory(tmp_path / "absent" / "notes.meh")
    assert not (tmp_path / "absent").exists()


def test_n1_a_file_of_a_newer_format_is_refused_with_both_versions_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.meh"
    newer = header_says(8, NEWER)
    path.write_bytes(newer)
    with pytest.raises(BadFormat, match=rf"version {VERSION + 1}\b.*\b{VERSION}\b"):
        memory(path)
    assert path.read_bytes() == newer


def test_n8_a_backfill_embeds_in_batches_until_done_and_says_how_it_went(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember_many([f"note number {number}" for number in range(10)])
    embedder = Scripted(max_batch=4)
    with memory(path, embedder=embedder) as db:
        assert db.pending().without_vector == 10
        report = db.backfill()
        assert (report.embedded, report.failed, report.remaining, report.reason) == (10, 0, 0, None)
        assert [len(call) for call in embedder.calls] == [4, 4, 2]
        again = db.backfill()
        assert (again.embedded, again.remaining) == (0, 0)


def test_n8_c8_one_text_that_the_model_refuses_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """Its batch failed for ever, and everything behind it waited without a reason."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember_many([*(f"note number {number}" for number in range(9)), "a poisoned text"])
    with memory(path, embedder=Scripted(refusing("poisoned"), max_batch=4)) as db:
        report = db.backfill()
        assert (report.embedded, report.failed) == (9, 1)
        assert db.pending().failed == 1
        assert db.pending().last_reason


def test_n8_a_backfill_without_an_embedder_says_what_is_missing(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db, pytest.raises(ConfigError, match="embedder"):
        db.backfill()


def test_n9_c12_without_an_embedder_every_note_is_pending(tmp_path: Path) -> None:
    """One system said 1 in its guide and 0 in its code. What has no vector of any model waits for one."""
    with memory(tmp_path / "a.meh") as db:
        db.remember("the gateway settles overnight")
        pending = db.pending()
        assert (pending.space, pending.without_vector) == (None, 1)


def test_n9_pending_counts_for_the_model_of_today(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path, embedder=HashEmbedder(64)) as db:
        db.remember("the gateway settles overnight")
        assert db.backfill().embedded == 1
        assert db.pending().without_vector == 0
    with memory(path, embedder=Scripted(name="another")) as db:
        assert db.pending().without_vector == 1


def test_n10_a_listing_is_newest_first_and_knows_its_project(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        ids = [db.remember(f"note {number}", project="ab"[number % 2], at=NOW - 9 + number).id for number in range(8)]
        assert [note.id for note in every(db.notes.list, sort="at")] == ids[::-1]
        assert [note.id for note in every(db.notes.list, project="a", sort="at")] == ids[::2][::-1]
        assert db.notes.list(project="b").total == 4
        assert db.notes.get(ids[3]).text == "note 3"


def test_n11_stats_count_notes_vectors_spaces_and_projects(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path, embedder=HashEmbedder(64)) as db:
        db.remember_many([{"text": f"note {number}", "project": "ab"[number % 2]} for number in range(5)])
        db.backfill()
        stats = db.stats()
        assert stats.path == str(path)
        assert stats.records["note"] == 5
        assert len(stats.spaces) == 1
        assert db.pending().without_vector == 0
        assert {project.name: project.active for project in db.projects.list().items} == {"a": 3, "b": 2}


@pytest.mark.parametrize("name", MISBEHAVIOURS)
def test_n12_c10_nothing_that_an_embedder_does_reaches_who_writes(name: str, tmp_path: Path) -> None:
    """A custom embedder that raised, or gave a wrong number of vectors, raised after the row was saved."""
    with memory(tmp_path / "a.meh", embedder=Scripted(MISBEHAVIOURS[name])) as db:
        kept = db.remember("the gateway settles overnight")
        assert db.notes.get(kept.id).text == "the gateway settles overnight"
        assert texts(db.recall("gateway")) == ["the gateway settles overnight"]
        db.backfill()


def test_n12_no_embedder_is_the_default_and_opens_no_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with DB.open(tmp_path / "a.meh") as db:
        db.remember("the gateway settles overnight")
        assert len(db.recall("gateway").hits) == 1
        assert db.pending().space is None
