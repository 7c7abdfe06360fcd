"""Erasing for good: what goes with a note or message, what stays without it, and which bytes leave the file."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from memhop import DB, HashEmbedder, InvalidRequest, NotFound
from memhop.common.clock import ManualClock
from memhop.common.ids import from_hex
from memhop.core.meh_file import DELETED
from memhop.models.embed import Embedder
from memhop.repo import contexts, gathering
from memhop.repo.l1_engram import Engram, Hyperedge
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l4_note import Note
from memhop.repo.l6_usage import Usage
from memhop.repo.l7_trajectory import Event
from memhop.repo.record import Kind
from memhop.repo.references import REFERENCES, may_name, references
from memhop.repo.vectors import EmbedFailure
from tests.support.embedders import Scripted, ScriptedContexts, ScriptedTokens, refusing
from tests.support.memories import DAY, HOUR, NOW, distract, memory

SECRET = "the safe behind the painting opens with qxzzy 4711"
RARE = b"qxzzy"


def dangling(db: DB) -> list[tuple[int, str, int]]:
    """(id, field, target) of references to what is not there, or of another kind than the field may name."""
    store = db._store
    found = []
    for record_type in REFERENCES:
        for record in store.scan(record_type):
            for field, target in references(record):
                located = store.file.locate(target)
                if located is None or not may_name(record_type, field, located[0]):
                    found.append((record.id, field, target))
    return found


def rot(path: Path, offset: int) -> None:
    """Flip a bit of the payload of the frame at `offset`."""
    with path.open("r+b") as file:
        file.seek(offset + 30)
        byte = file.read(1)[0]
        file.seek(offset + 30)
        file.write(bytes([byte ^ 1]))


def offset_of(db: DB, id_: str | int) -> int:
    located = db._store.file.locate(id_ if isinstance(id_, int) else from_hex(id_))
    assert located is not None
    return located[1]


class TestWhatGoesWithIt:
    def test_other_notes_lose_their_links(self, tmp_path: Path) -> None:
        """A hard erased note left its id in the links of others: a reference to nothing, which no verify named."""
        path = tmp_path / "a.meh"
        with memory(path) as db:
            gone, kept = db.remember(SECRET), db.remember("the painting is a copy")
            both = db.remember("about both", links=[kept.id, gone.id, gone.id], tags=["t"])
            db.remember("first about one", links=[gone.id], external_id="x")
            one = db.remember("about one", external_id="x")
            assert one.links == (gone.id,)
            commit = db.stats().commit
            assert db.forget(gone.id, hard=True).reason == "erased; compact() removes the bytes"
            assert db.stats().commit == commit + 1
            for _ in range(2):
                assert db.notes.get(both.id).links == (kept.id,)
                assert db.notes.get(one.id).links == ()
                assert db.notes.get(both.id).tags == ("t",)
                assert db.recall("about both").hits[0].id == both.id
                assert dangling(db) == []
                db.compact(keep_history=True)
            raw = path.read_bytes()
            assert from_hex(kept.id).to_bytes(8, "big") in raw, "how a link is written"
            assert from_hex(gone.id).to_bytes(8, "big") not in raw, "an older version kept the link"

    def test_links_are_found_in_a_file_of_an_older_layout(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            gone = db.remember(SECRET)
            one = db.remember("about it", links=[gone.id])
            store, views = db._store, db._store.views
            victims = store.file.plan_checkpoint()
            store.file.checkpoint(views.seal(len(victims)), meta={**views.meta(), "layout": 1})
        with memory(path) as db:
            assert db.stats().views_rebuilt
            db.forget(gone.id, hard=True)
            assert db.notes.get(one.id).links == ()

    @pytest.mark.parametrize("stored", [True, False], ids=["stored", "buffered"])
    def test_its_usage_counter(self, tmp_path: Path, stored: bool) -> None:
        """The buffered counter was written with the very commit that erased the note."""
        with memory(tmp_path / "a.meh") as db:
            distract(db)
            gone = db.remember(SECRET)
            assert db.recall("what opens the safe?").hits[0].id == gone.id
            if stored:
                db.remember("written with this one")
                db.recall("what opens the safe?")
            db.forget(gone.id, hard=True)
            db.checkpoint()
            assert from_hex(gone.id) not in {usage.target for usage in db._store.scan(Usage)}
            assert dangling(db) == []

    def test_its_embedding_failures(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", embedder=Scripted(refusing("qxzzy"))) as db:
            distract(db)
            gone = db.remember(SECRET)
            assert db.backfill().failed == 1
            db.forget(gone.id, hard=True)
            assert list(db._store.scan(EmbedFailure)) == []
            assert db.pending().failed == 0

    def test_steps_that_name_a_message(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            (gone,) = db.archive.append_many([{"text": SECRET}])
            step = db.trajectory.append("s", "tool", "payload")
            store = db._store
            with store.writing() as batch:
                batch.put(msgspec.structs.replace(store.get(Event, from_hex(step.id)), message=from_hex(gone)))
            assert db.trajectory.read("s").items[0].message_id == gone
            db.forget(gone, hard=True)
            assert db.trajectory.read("s").items[0].message_id is None

    def test_the_last_topic_takes_scene_engram_and_associations_along(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            others = [db.search(text, NOW - DAY + HOUR * n, session="s", auto_create=True) for n, text in enumerate(
                ["where do we sail?", "the boat is in the shed", SECRET, "did the boat shed leak?"])]  # fmt: skip
            gone = others.pop(2)
            assert len(list(db._store.scan(Hyperedge))) >= 3
            db.recall("the boat and the safe")
            db.forget(gone.message_id, hard=True)
            db.checkpoint()
            scene = from_hex(gone.scene_id)
            assert scene not in {engram.scene for engram in db._store.scan(Engram)}
            assert all(scene not in edge.scenes for edge in db._store.scan(Hyperedge))
            assert list(db._store.scan(Hyperedge)), "edges between the others stay"
            assert {found.id for found in db.scenes.list().items} == {other.scene_id for other in others}
            assert dangling(db) == []

    def test_a_fused_topic_loses_what_it_said(self, tmp_path: Path) -> None:
        """Its summary was drawn from words that are erased; so was that of a topic fused from it in turn."""
        path = tmp_path / "a.meh"
        with memory(path) as db:
            first = db.search(SECRET, NOW - HOUR, session="s")
            second = db.search("where is the painting?", NOW - HOUR + 1, session="s", directed_l2_id=first.scene_id)
            store = db._store
            with store.writing() as batch:
                ids = (from_hex(first.new_topic_id), from_hex(second.new_topic_id))
                scene = from_hex(first.scene_id)
                upper = batch.new(Topic(scene=scene, summary="upper qxzzy summary", user_at=NOW), "upper")
                fused = batch.new(
                    Topic(scene=scene, children=ids, parent=upper.id, summary="a qxzzy summary", user_at=NOW), "fused"
                )
                batch.put(msgspec.structs.replace(upper, children=(fused.id,)))
                for id_ in ids:
                    batch.put(msgspec.structs.replace(store.get(Topic, id_), parent=fused.id))
            db.forget(first.message_id, hard=True)
            for topic in (fused, upper):
                left = store.get(Topic, topic.id)
                assert left.summary == ""
            assert store.get(Topic, fused.id).children == ids[1:]
            assert dangling(db) == []
            db.forget(second.message_id, hard=True)
            assert list(store.scan(Topic)) == [], "nothing is left that they could hold together"
            assert list(store.scan(Scene)) == []
            db.compact(keep_history=True)
            assert RARE not in path.read_bytes()

    def test_many_links_to_one_note(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from memhop.repo import store as records

        monkeypatch.setattr(records, "_PAGE", 7)
        with memory(tmp_path / "a.meh", durability="none") as db:
            gone = db.remember(SECRET)
            db.remember_many([{"text": f"note {n}", "links": [gone.id]} for n in range(50)])
            db.forget(gone.id, hard=True)
            assert dangling(db) == []


class TestDamaged:
    def test_a_damaged_note_can_be_erased(self, tmp_path: Path) -> None:
        """`forget` answered Corrupt, and since compaction refuses a damaged record, nothing got rid of it."""
        path = tmp_path / "a.meh"
        with memory(path, embedder=HashEmbedder(32)) as db:
            distract(db)
            gone = db.remember(SECRET)
            one = db.remember("about it", links=[gone.id])
            db.backfill()
            offset = offset_of(db, gone.id)
        rot(path, offset)
        with memory(path, embedder=HashEmbedder(32)) as db:
            assert db.forget(gone.id, hard=True).changed
            assert db.notes.get(one.id).links == ()
            assert db.stats().units == 5
            db.compact()
            assert RARE not in path.read_bytes()
            assert db.verify(deep=True).ok
            assert dangling(db) == []
            with pytest.raises(NotFound):
                db.forget(gone.id, hard=True)

    @pytest.mark.parametrize("reply", [True, False], ids=["with a reply", "alone"])
    def test_a_damaged_message_can_be_erased(self, tmp_path: Path, reply: bool) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            db.search("something else entirely", NOW - DAY, session="t", auto_create=True)
            found = db.search(SECRET, NOW - HOUR, session="s", auto_create=True)
            if reply:
                db.update(found.new_topic_id, "I will keep it", NOW - HOUR + 1)
            offset = offset_of(db, found.message_id)
        rot(path, offset)
        with memory(path) as db:
            assert db.forget(found.message_id, hard=True).changed
            if reply:
                assert db.topics.get(found.new_topic_id).user_keywords == ()
                assert db.scenes.get(found.scene_id).name == "28 May 2026"
            else:
                assert found.scene_id not in {scene.id for scene in db.scenes.list().items}
            assert dangling(db) == []
            db.compact()
            assert RARE not in path.read_bytes()

    def test_a_damaged_referrer_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            gone = db.remember(SECRET)
            one = db.remember("about it", links=[gone.id])
            found = db.search(SECRET, NOW - HOUR)
            offsets = [offset_of(db, one.id), offset_of(db, found.new_topic_id)]
            db.checkpoint()
        for offset in offsets:
            rot(path, offset)
        with memory(path) as db:
            reason = db.forget(gone.id, hard=True).reason
            assert one.id in reason
            assert "repair" in reason
            assert found.new_topic_id in db.forget(found.message_id, hard=True).reason


EMBEDDERS: list[Embedder | None] = [None, HashEmbedder(64), ScriptedTokens(), ScriptedContexts()]


@pytest.mark.parametrize("checkpoint", ["no checkpoint", "sealed", "many segments"])
@pytest.mark.parametrize("keep_history", [False, True], ids=["alone", "history"])
@pytest.mark.parametrize("embedder", EMBEDDERS, ids=["no vectors", "vectors", "tokens", "contexts"])
def test_no_byte_of_it_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: Embedder | None, keep_history: bool, checkpoint: str
) -> None:
    """Text, escaped text, rare words, tags, metadata, vectors and token ids of notes and messages, all versions."""
    monkeypatch.setattr(gathering, "GATHER_SLABS", 3)
    monkeypatch.setattr(contexts, "FIT_UNITS", 12)  # some rows are as the model gave them, some on a basis
    path = tmp_path / "a.meh"
    clock = ManualClock(NOW)
    with memory(path, embedder=embedder, clock=clock, durability="none") as db:
        for round_ in range(4):
            db.remember_many([f"round {round_} speaks of a harmless thing number {n}" for n in range(3)])
            words = f"äußerst “geheim”\nround {round_} qxzzy{round_} 密码"
            note = db.remember(
                words, external_id="qxzzy-external-id", tags=[f"qxzzy-tag-{round_}"], metadata={"qxzzy-key": "qxzzy-v"}
            )
            turn = db.search(f"my number is qxzzy{round_} and no one else's", NOW - HOUR + round_, session="s")
            reply = db.update(turn.new_topic_id, f"I keep qxzzy{round_} to myself", NOW - HOUR + round_)
            erased = [turn.message_id, reply.id]
            if embedder is not None:
                db.backfill()
            if checkpoint != "no checkpoint":
                db.checkpoint()
            if checkpoint == "many segments":
                db.remember_many([f"filler {round_} {n}" for n in range(40 >> round_)])
                db.checkpoint()
            for id_ in erased[: 2 if round_ < 3 else 0]:
                db.forget(id_, hard=True)
        rows = [] if embedder is None else own_rows(db, [note.id, *erased])
        for id_ in (note.id, *erased):
            db.forget(id_, hard=True)
        assert RARE in path.read_bytes().lower(), "nothing is gone before the compaction"
        db.compact(keep_history=keep_history)
        raw = path.read_bytes()
        for needle in (RARE, b"geheim", "密码".encode(), b"\\u5bc6", b"\\u00e4u\\u00dferst"):
            assert needle not in raw.lower()
        assert len(rows) >= (3 if embedder is not None else 0)
        assert not [row for row in rows if row in raw]
        assert db.verify(deep=True).ok
        assert dangling(db) == []
        assert sum("harmless" in hit.text for hit in db.recall("a harmless thing", limit=100).hits) == 12


def own_rows(db: DB, ids: list[str]) -> list[bytes]:
    """The vector and token bytes of records, read through the index."""
    from memhop.repo.traces import traces

    found = traces(db._store, {from_hex(id_) for id_ in ids})
    rows = [row for slab in found.slabs for row in slab.rows]
    units = db._store.views.units
    owners = [int(units.column("owner")[units.ordinal(from_hex(id_))]) for id_ in ids]
    assert set(owners) <= found.owners
    raw = Path(db.path).read_bytes()
    assert all(row in raw for row in rows)
    return rows


def test_a_kept_history_does_not_keep_joined_slabs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint joins small slabs into one; a compaction that keeps history carried the small ones along, with the
    vectors of a note that had been erased since."""
    monkeypatch.setattr(gathering, "GATHER_SLABS", 3)
    path = tmp_path / "a.meh"
    with memory(path, embedder=HashEmbedder(64)) as db:
        notes = []
        for n in range(4):
            notes.append(db.remember(f"{SECRET} {n}"))
            db.backfill()
        db.checkpoint()
        rows = [own_rows(db, [note.id]) for note in notes]
        db.forget(notes[1].id, hard=True)
        db.compact(keep_history=True)
        raw = path.read_bytes()
        assert not any(row in raw for row in rows[1])
        assert all(row in raw for row in rows[0])
        commit = db.stats().commit
        db.compact(keep_history=True)
        assert db.stats().commit == commit, "what was struck out is not struck out again"
        assert db.pending().without_vector == 0
        assert np.isfinite(db.recall("safe painting").hits[0].score)


class TestPurge:
    def test_the_trash_goes_in_one_commit(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        clock = ManualClock(NOW)
        with memory(path, clock=clock) as db:
            notes = db.remember_many([{"text": f"qxzzy {n}", "project": "ab"[n % 2]} for n in range(8)])
            one = db.remember("about one", links=[notes[0].id, notes[7].id])
            for note in notes[:4]:
                db.forget(note.id)
            clock.advance(HOUR)
            for note in notes[4:6]:
                db.forget(note.id)
            before = db.stats().commit
            old = db.purge(trashed_before=NOW + HOUR, project="a")
            assert (old.count, set(old.ids)) == (2, {notes[0].id, notes[2].id})
            assert db.stats().commit == before + 1
            assert db.notes.get(one.id).links == (notes[7].id,)
            rest = db.purge()
            assert set(rest.ids) == {notes[1].id, notes[3].id, notes[4].id, notes[5].id}
            assert rest.damaged == 0
            nothing = db.purge()
            assert (nothing.count, nothing.ids) == (0, ())
            assert db.stats().commit == before + 2
            assert {note.id for note in db.notes.list().items} == {one.id, notes[6].id, notes[7].id}
            db.compact(keep_history=True)
            assert path.read_bytes().count(b"qxzzy 0") == 0
            assert b"qxzzy 6" in path.read_bytes()

    def test_many_are_counted_and_some_are_named(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", durability="none") as db:
            notes = db.remember_many([f"note {n}" for n in range(1_200)])
            with db._store.writing() as batch:
                for note in db._store.scan(Note):
                    batch.put(msgspec.structs.replace(note, tier=2))
            done = db.purge()
            assert (done.count, len(done.ids)) == (1_200, 1_000)
            assert db.notes.list().items == ()
            assert len(notes) == 1_200

    def test_damaged_notes_are_counted_and_stay(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            notes = db.remember_many(["one", "two", "three"])
            for note in notes:
                db.forget(note.id)
            db.checkpoint()
            offset = offset_of(db, notes[1].id)
        rot(path, offset)
        with memory(path) as db:
            done = db.purge()
            assert (done.count, done.damaged) == (2, 1)
            assert db.forget(notes[1].id, hard=True).changed
            assert db.stats().units == 0

    @pytest.mark.parametrize("values", [{"trashed_before": "yesterday"}, {"project": 5}, {"trashed_before": -1}])
    def test_bad_arguments_are_refused(self, tmp_path: Path, values: dict[str, object]) -> None:
        with memory(tmp_path / "a.meh") as db:
            note = db.remember("one")
            db.forget(note.id)
            with pytest.raises(InvalidRequest) as refused:
                db.purge(**values)  # type: ignore[arg-type]
            assert refused.value.field == next(iter(values))
            assert db.notes.get(note.id).tier == "trashed"


def test_a_counter_of_what_another_handle_erased_is_not_written(tmp_path: Path) -> None:
    """Counts are buffered; what they count may be gone when they are written."""
    with memory(tmp_path / "a.meh") as db:
        distract(db)
        gone = db.remember(SECRET)
        db.recall("what opens the safe?")
        store = db._store
        assert store.usage(from_hex(gone.id)) is not None
        with store.writing() as batch:
            batch.delete(Kind.NOTE, from_hex(gone.id))
        db.checkpoint()
        assert dangling(db) == []
        entries = [ref for ref in store.file.frames() if ref.kind == Kind.USAGE and not ref.flags & DELETED]
        assert from_hex(gone.id) not in {store.get(Usage, ref.id).target for ref in entries}
