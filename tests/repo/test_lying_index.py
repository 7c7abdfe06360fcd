"""A record index whose checksums are right and which names other records than stand where it says."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from memhop import DB
from memhop.repo.record import Kind
from tests.fuzz.layout import manifest_of, put_manifest
from tests.support.memories import memory


def test_a_record_is_never_answered_under_another_id(tmp_path: Path) -> None:
    """The offsets of two notes were exchanged in the segment; each was then answered under the other's id."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        notes = db.remember_many(["a kayak", "a shed"])
        db.checkpoint()
        ids = list(db._store.file.segments()[0].index()[0])
        rows = [ids.index(id_) for id_ in db._store.file.ids(int(Kind.NOTE))]
    data = bytearray(path.read_bytes())
    manifest = manifest_of(data)
    assert manifest is not None
    section = next(found for found in manifest["segments"][0]["sections"] if found[0] == "core.offsets")
    first, second = (slice(section[2] + 8 * row, section[2] + 8 * row + 8) for row in rows)
    data[first], data[second] = data[second], data[first]
    section[4] = zlib.crc32(data[section[2] : section[2] + 8 * section[3]])
    put_manifest(data, json.dumps(manifest).encode())
    path.write_bytes(data)
    said = {note.id: note.text for note in notes}
    with memory(path) as db:
        for hit in db.recall("a kayak in a shed").hits:
            assert hit.text == said[hit.id]
        for note in db.notes.list().items:
            assert note.text == said[note.id]


@pytest.mark.parametrize("close", [False, True])
@pytest.mark.parametrize("act", [DB.checkpoint, DB.compact])
def test_parts_that_contradict_each_other_are_built_anew(
    tmp_path: Path, act: Callable[[DB], object], close: bool
) -> None:
    """A part of the groups takes an entry away that none had added. Each by itself is in order, so that it shows when
    they are merged: each checkpoint raised Corrupt then, and so did each close."""
    path = tmp_path / "a.meh"
    texts = [f"a kayak, {number}" for number in range(200)]
    with memory(path) as db:
        db.remember_many(texts)
        db.checkpoint()
        gone = db.remember("a shed")
        db.checkpoint()
        db.forget(db.notes.list(limit=1).items[0].id, hard=True)
        db.checkpoint()
        assert db.stats().segments > 1
        left = {note.text for note in db.notes.list(limit=300).items}
        assert gone.text
    data = bytearray(path.read_bytes())
    manifest = manifest_of(data)
    assert manifest is not None
    sections = {found[0]: found for found in manifest["segments"][-1]["sections"]}
    removed, codes, ids = (sections[f"groups.{name}"] for name in ("removed", "ids", "ids.values"))
    row = list(data[removed[2] : removed[2] + removed[3]]).index(1)
    assert codes[1] == "B"
    data[ids[2] + 8 * data[codes[2] + row]] ^= 1
    ids[4] = zlib.crc32(data[ids[2] : ids[2] + 8 * ids[3]])
    put_manifest(data, json.dumps(manifest).encode())
    path.write_bytes(data)
    with memory(path) as db:
        assert not db.stats().views_rebuilt
        db.remember_many([f"{text} again" for text in texts])
        if not close:
            act(db)
    with memory(path) as db:
        assert {note.text for note in db.notes.list(limit=500).items} >= left
        db.compact()
        assert db.verify(deep=True).ok
