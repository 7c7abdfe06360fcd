"""Files that earlier builds have written open in this one, and say the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from memhop import HashEmbedder, NotFound
from memhop.core.meh_file import MehFile, Write
from memhop.repo.l4_revision import NoteRevision
from memhop.repo.record import Kind
from memhop.repo.upkeep import Maintenance
from memhop.repo.vectors import TokenBasis
from tests.support.lives import CARD, TOKEN_SPACE, kinds_of
from tests.support.make_fixture import (
    BATCHES,
    CHECKPOINT_AFTER,
    CONTEXTS,
    DREAMS,
    FIXTURE,
    FIXTURES,
    FULL,
    META,
    NOTES,
    RECORDS,
    SECTION,
    build,
)  # fmt: skip
from tests.support.memories import every, memory, texts
from tests.support.workload import NOTE, records_of

HEAD_DIGEST = "b74b387c57da97b226eee6f4934e544b6a7875fa24864a2f34c0cca074574eba"


@pytest.mark.parametrize("name", ["v1.meh", "v1-chained.meh"])
def test_version_1_opens_and_goes_on(tmp_path: Path, name: str) -> None:
    fixture, path = FIXTURES / name, tmp_path / "v1.meh"
    shutil.copy(fixture, path)
    with MehFile.open(path) as file:
        assert file.recovery.clean
        assert records_of(file) == RECORDS
        assert file.commit_number == len(BATCHES)
        assert file.covers == CHECKPOINT_AFTER
        assert file.meta == META
        assert list(file.segments()[0].view("thirds")) == SECTION
        assert file.head_digest.hex() == HEAD_DIGEST
        assert file.verify(deep=True).ok
        assert path.read_bytes() == fixture.read_bytes(), "reading changes nothing"
        file.append([Write(NOTE, 9, b"goes on")])
        file.checkpoint({}, meta={})
        file.compact(dict, meta={}, keep_history=True)
    with MehFile.open(path) as file:
        assert records_of(file) == {**RECORDS, 9: (NOTE, b"goes on")}
        assert file.verify(deep=True).ok


def test_this_build_still_writes_version_1_byte_for_byte() -> None:
    """A change of the bytes is a change of the format: it needs a new fixture, and where older builds would be misled
    a new version."""
    assert build() == FIXTURE.read_bytes()
    assert FIXTURE.stat().st_size < 64 * 1024


FULL_DIGEST = "24bc78d76e7107bd7b6686ca902ce5f0753b8945395676935b2492eb7c5c1d9e"
FULL_NOTES = {
    "a kayak in the shed": "active",
    "slugs in the lettuce": "active",
    "second wording": "active",
    "a note for the trash": "trashed",
    "written last": "active",
    "in the tail": "active",
}

LATER = {
    Kind.PROFILE_LINE, Kind.PROFILE_CHANGE, Kind.KNOWLEDGE_EDGE, Kind.FACT, Kind.DREAM, Kind.DREAM_STEP, Kind.SPENDING,
}  # fmt: skip
LATEST = {Kind.NOTE_REVISION, Kind.MAINTENANCE, Kind.IMPORT, Kind.IMPORT_STEP}


def test_a_version_1_memory_of_every_kind_says_what_it_said(tmp_path: Path) -> None:
    path = tmp_path / "v1-full.meh"
    shutil.copy(FULL, path)
    with memory(path, embedder=HashEmbedder(16)) as db:
        assert db.recovery.clean
        assert db.verify(deep=True).ok
        stats = db.stats()
        assert (stats.head_digest, stats.commit, stats.checkpoint_commit, stats.segments) == (FULL_DIGEST, 24, 22, 2)
        assert stats.unreadable == 0
        assert kinds_of(db) == set(Kind) - LATER - LATEST - {Kind.TOKEN_BASIS, Kind.CONTEXT_SLAB}, (
            "kinds that came later"
        )
        assert {note.text: note.tier for note in every(db.notes.list, tier="all")} == FULL_NOTES
        assert len(every(db.archive.list, session="music")) == 4
        assert [len(every(db.topics.list, scene_id=scene.id)) for scene in every(db.scenes.list)] == [1, 1, 1, 1]
        assert db.profile.get().preferences == {"tea": "green"}
        (graph,) = every(db.knowledge.graphs)
        assert [node.content for node in every(db.knowledge.nodes, graph_id=graph.id)] == ["laminated epoxy"]
        assert db.capabilities.get(CARD.name).summary == CARD.summary
        assert [event.type for event in every(db.trajectory.read, session="music")] == ["tool"]
        for text in ("slugs in the lettuce", "in the tail", "家に小さな猫がいる", "a turn in the tail"):
            assert text in texts(db.recall(text)), text
        semantic = {channel.name: channel.ran for channel in db.recall("kayak shed", layers=["notes"]).channels}
        assert semantic["pooled"], "its vectors are not used"
        assert "a note for the trash" in texts(db.recall("trash", tier="trashed"))
        assert "first wording" not in texts(db.recall("first wording"))
        assert path.read_bytes() == FULL.read_bytes(), "reading changes nothing"


def test_a_memory_that_has_dreamt_says_what_it_said(tmp_path: Path) -> None:
    path = tmp_path / "v1-dreams.meh"
    shutil.copy(DREAMS, path)
    with memory(path) as db:
        assert kinds_of(db) >= LATER
        assert db.verify(deep=True).ok
        fused = [
            topic for scene in every(db.scenes.list) for topic in every(db.topics.list, scene_id=scene.id, depth=1)
        ]
        cited = [statement for topic in fused for statement in topic.statements]
        assert cited
        for statement in cited:
            assert all(db.archive.get(id_).text in statement.text for id_ in statement.message_ids)
        assert [fact.value for fact in db.facts.history("kayak", "lies in").items] == ["the shed", "the garden"]
        assert [fact.value for fact in db.facts.list("kayak").items] == ["the garden"]
        assert db.profile.get().derived
        assert db.dreams.show(1).undoable
        db.dreams.undo(1)
        assert not [
            topic for scene in every(db.scenes.list) for topic in every(db.topics.list, scene_id=scene.id, depth=2)
        ]


def test_notes_with_a_life_say_what_they_said(tmp_path: Path) -> None:
    path = tmp_path / "v1-notes.meh"
    shutil.copy(NOTES, path)
    with memory(path) as db:
        assert kinds_of(db) >= LATEST
        assert db.verify(deep=True).ok
        (entry,) = db.imports.list().items
        assert (entry.number, entry.format, entry.source, entry.state) == (1, "memhop", "other.jsonl", "done")
        shed, loft = (db.recall(word, layers=["notes"]).hits[0] for word in ("kayak", "canoe"))
        assert db.notes.get(shed.id).rev == 2
        (revision,) = db._store.scan(NoteRevision)
        assert revision.before["text"] == "a kayak in the garage"
        assert [upkeep.trashed for upkeep in db._store.scan(Maintenance)] == [1]
        db.imports.undo(1)
        with pytest.raises(NotFound):
            db.notes.get(loft.id)
        assert db.notes.get(shed.id).text == "a kayak in the shed"


def test_vectors_of_tokens_are_what_they_were(tmp_path: Path) -> None:
    path = tmp_path / "v1-contexts.meh"
    shutil.copy(CONTEXTS, path)
    with memory(path, embedder=HashEmbedder(16)) as db:
        assert kinds_of(db) == set(Kind) - LATER - LATEST, "a kind of which this fixture holds no record"
        assert db.verify(deep=True).ok
        rows = dict(db._store.views.contexts(TOKEN_SPACE).contents())
        ids = np.array([3, 5, 8], "<u4").tobytes()
        assert rows[1] == ids + np.array([3, 127, 127, 5, 1, 127], np.int8).tobytes()
        (basis,) = db._store.scan(TokenBasis)
        assert np.array_equal(basis.rows(), np.eye(2, 8))


@pytest.mark.parametrize("fixture", [FULL, CONTEXTS], ids=lambda path: path.stem)
def test_a_version_1_memory_goes_on(tmp_path: Path, fixture: Path) -> None:
    path = tmp_path / "goes-on.meh"
    shutil.copy(fixture, path)
    with memory(path, embedder=HashEmbedder(16)) as db:
        db.remember("goes on")
        db.backfill()
        assert db.checkpoint()
        db.compact(keep_history=True)
    with memory(path, embedder=HashEmbedder(16)) as db:
        assert {note.text for note in every(db.notes.list, tier="all")} == {*FULL_NOTES, "goes on"}
        assert db.verify(deep=True).ok
        assert "goes on" in texts(db.recall("goes on"))
