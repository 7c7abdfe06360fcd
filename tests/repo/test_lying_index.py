"""A record index whose checksums are right and which names other records than stand where it says."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

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
