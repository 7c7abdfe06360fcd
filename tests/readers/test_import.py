"""Every format through `DB.import_`: what was read adds up, and the same source again changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop.readers import READERS
from memhop.readers.item import EdgeItem, MessageItem, NodeItem, NoteItem
from tests.readers.samples import every_source
from tests.support.memories import memory

NAMES = [reader.NAME for reader in READERS]


@pytest.mark.parametrize("reader", READERS, ids=NAMES)
def test_a_source_is_kept_and_known_again(reader: object, tmp_path: Path) -> None:
    path = every_source(tmp_path / "all")[reader.NAME]  # type: ignore[attr-defined]
    items = list(reader.read(path))  # type: ignore[attr-defined]
    kept = sum(isinstance(item, NoteItem | MessageItem | NodeItem | EdgeItem) for item in items)
    with memory(tmp_path / "a.meh", durability="none") as db:
        first = db.import_(path)
        assert (first.format, first.read, first.created, first.rejected) == (reader.NAME, len(items), kept, 0)  # type: ignore[attr-defined]
        assert first.skipped == len(items) - kept
        digest = db.export(None).digest
        again = db.import_(path)
        assert (again.read, again.created, again.updated, again.unchanged) == (len(items), 0, 0, kept)
        assert db.export(None).digest == digest
        told = {note.text for note in db.notes.list(tier="all", limit=100).items}
        assert {item.text for item in items if isinstance(item, NoteItem)} <= told
