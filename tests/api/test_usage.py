"""Reading does not write: what recall counts is kept in memory and written along with the next commit, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop.common.clock import ManualClock
from memhop.common.ids import from_hex
from memhop.core.meh_file import Write
from memhop.repo.l6_usage import usage_id
from memhop.repo.record import Kind
from tests.support.memories import HOUR, NOW, distract, memory


def test_reading_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        distract(db)
        found = db.search("where is the bicycle?", NOW - HOUR)
        before, raw = db.stats().head_digest, path.read_bytes()
        for _ in range(3):
            db.recall("bicycle garage", explain=True)
            db.why_not(found.message_id, "bicycle")
            db.notes.list()
            db.archive.list()
            db.topics.list(found.scene_id)
            db.profile.get()
            db.capabilities.list()
            db.pending()
            db.verify(deep=True)
        assert db.stats().head_digest == before
        assert path.read_bytes() == raw


def test_counters_are_written_once_with_the_next_commit(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        distract(db)
        note = from_hex(db.recall("bicycle").hits[0].id)
        db.recall("bicycle")
        assert "usage" not in db.stats().records
        before = db.stats().commit
        db.remember("a commit of its own")
        assert db.stats().commit == before + 1
        assert db.stats().records["usage"] == 1
        usage = db._store.usage(note)
        assert usage is not None
        assert (usage.hits, usage.last_at) == (2, NOW)
        db.remember("another commit")
        written = [entry for entry in db._store.file.tail() if entry.kind == Kind.USAGE]
        assert len(written) == 1, "the counter was written again"


@pytest.mark.parametrize("end", ["close", "checkpoint", "compact"])
def test_counters_are_written_at_the_end(tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.meh"
    clock = ManualClock(NOW)
    with memory(path, clock=clock) as db:
        distract(db)
        note = from_hex(db.recall("bicycle").hits[0].id)
        getattr(db, end)()
    clock.advance(HOUR)
    with memory(path, clock=clock) as db:
        db.recall("bicycle")
        usage = db._store.usage(note)
        assert usage is not None
        assert (usage.hits, usage.last_at) == (2, NOW + HOUR)


def test_an_unchanged_memory_is_not_written_at_close(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        distract(db)
    raw = path.read_bytes()
    with memory(path) as db:
        assert db.recall("zeppelin").hits == ()
        db.notes.list()
    assert path.read_bytes() == raw


def test_messages_count_for_their_scene(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        found = db.search("the kayak leaks at the stern", NOW - HOUR)
        db.recall("kayak stern")
        usage = db._store.usage(from_hex(found.scene_id))
        assert usage is not None
        assert usage.hits == 1


def test_what_is_used_rises_among_equals(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.remember_many(
            [{"text": f"kayak {place} {'x' * 3}", "at": NOW} for place in ("north", "south", "east", "west")]
        )
        order = [hit.id for hit in db.recall("kayak").hits]
        last = db.notes.get(order[-1])
        for _ in range(20):
            db.recall(last.text.split()[1], limit=1)
        db.checkpoint()
        used = db.recall("kayak").hits
        assert used[0].id == last.id
        assert used[0].parts["usage"] > 0


def test_counts_of_two_handles_add_up(tmp_path: Path) -> None:
    """Each buffers what it counted; the one that wrote last took the other's recalls back."""
    path = tmp_path / "a.meh"
    with memory(path, mode="shared") as one, memory(path, mode="shared") as two:
        note = from_hex(one.remember("the kayak leaks").id)
        for db, times in ((one, 2), (two, 3)):
            for _ in range(times):
                db.recall("kayak")
        one.remember("one")
        two.remember("two")
        one.refresh()
        usage = one._store.usage(note)
        assert usage is not None
        assert usage.hits == 5


def test_a_counter_whose_id_is_taken_is_left_out(tmp_path: Path) -> None:
    """Only a forged file, or two equal hashes in 2**64, can have that; no call may fail for a counter."""
    with memory(tmp_path / "a.meh") as db:
        note = from_hex(db.remember("the kayak leaks").id)
        db._store.file.append([Write(0x70, usage_id(note), b"")])
        db.recall("kayak")
        db.remember("one more")
        db.compact()
        assert db.recall("kayak").hits[0].text == "the kayak leaks"
        assert db.verify(deep=True).ok
