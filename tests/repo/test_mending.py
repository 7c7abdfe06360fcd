"""Mending takes out references into nothing, and what then means nothing, until every reference resolves."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from memhop import HashEmbedder
from memhop.core.batch import Write
from memhop.repo import vectors
from memhop.repo.checking import check
from memhop.repo.codec import encode
from memhop.repo.l1_engram import Engram, Hyperedge
from memhop.repo.l2_context import Scene
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l6_usage import Usage
from memhop.repo.mending import mend
from memhop.repo.record import Kind
from tests.support.memories import memory

GONE = 0xABCDEF


def test_what_was_dropped_is_taken_out_of_what_refers_to_it(tmp_path: Path) -> None:
    """Whatever the order in which records are looked at: a chain of notes, each linking to what goes before it."""
    with memory(tmp_path / "a.meh") as db, db._store.writing() as batch:
        for first in (10, 50):
            step = 1 if first == 10 else -1
            batch.put(Usage(target=GONE), first)
            batch.put(Note(text="a", links=(first, first + 2 * step)), first + step)
            batch.put(Note(text="b", links=()), first + 2 * step)
    with memory(tmp_path / "a.meh") as db:
        store = db._store
        before = store.file.commit_number
        mended = {record.id: record for record in mend(store)}
        assert {id_: record.kept for id_, record in mended.items()} == {10: False, 11: True, 49: True, 50: False}
        assert mended[11].gone == (("links", 10),)
        assert store.get(Note, 11).links == (12,)
        assert store.get(Note, 49).links == (48,)
        assert check(store).problems == ()
        assert store.file.commit_number == before + 1, "one commit"
        assert mend(store) == ()
        assert store.file.commit_number == before + 1, "nothing to do, nothing written"


def test_a_reference_to_a_record_of_the_wrong_kind_is_taken_out(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        store = db._store
        with store.writing() as batch:
            batch.put(Scene(name="s"), 1)
            batch.put(Note(text="n"), 2)
            batch.put(Message(text="m", scene=2, topic=1), 3)
            batch.put(Hyperedge(relation="temporal", scenes=(1, 2), weight=0.5), 4)
            batch.put(Engram(scene=1), 5)
        assert {(record.id, record.gone, record.kept) for record in mend(store)} == {
            (3, (("scene", 2), ("topic", 1)), True),
            (4, (("scenes", 2),), False),
        }
        assert store.get(Message, 3) == Message(id=3, text="m")
        assert check(store).problems == ()


def test_a_slab_goes_with_its_space_and_its_texts_wait_again(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path, embedder=HashEmbedder(16)) as db:
        db.remember("a kayak")
        db.backfill()
        store = db._store
        (slab,) = store.file.ids(Kind.VECTOR_SLAB)
        (space,) = store.file.ids(Kind.SPACE)
        payload = vectors.encode_vectors(space, [5], np.eye(1, 8, dtype=np.float32))
        with store.writing() as batch:
            wide = batch.put_payload(Kind.VECTOR_SLAB, payload, "of eight dimensions")
        assert [(record.id, record.kept) for record in mend(store)] == [(wide, False)]
        assert db.pending().without_vector == 0
        with store.writing() as batch:
            batch.delete(Kind.SPACE, space)
        assert [(record.id, record.kept) for record in mend(store)] == [(slab, False)]
        assert check(store).problems == ()
    with memory(path, embedder=HashEmbedder(16)) as db:
        assert db.pending().without_vector == 1
        assert db.backfill().embedded == 1
        assert db.verify(deep=True).ok


def test_fields_and_kinds_of_a_newer_build_stay(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        store = db._store
        note = encode(Note(text="a", links=(GONE, 7)), {"mood": "calm"})
        store.file.append([Write(int(Kind.NOTE), 6, note), Write(0x77, 7, b"?")])
        assert [record.gone for record in mend(store)] == [(("links", GONE),)]
        located = store.file.locate(6)
        assert located is not None
        kept = msgspec.msgpack.decode(store.file.read(located[1])[2])
        assert (kept["mood"], kept["links"]) == ("calm", [7])
