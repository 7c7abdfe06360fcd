"""Reading does not write: what recall counts is kept in memory and written along with the next commit, once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memhop import InvalidRequest, NotFound
from memhop.common.clock import ManualClock
from memhop.common.ids import from_hex
from memhop.core.meh_file import Write
from memhop.repo.l2_context import Topic
from memhop.repo.l6_usage import usage_id
from memhop.repo.record import Kind
from tests.support.memories import HOUR, NO_ID, NOW, distract, memory


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


def test_a_scene_counts_once_for_each_recall(tmp_path: Path) -> None:
    """It counted once for each of its messages among the first hits, so that wordy scenes decayed more slowly."""
    with memory(tmp_path / "a.meh") as db:
        found = db.search("the kayak leaks at the stern", NOW - HOUR)
        db.update(found.new_topic_id, "then laminate the stern of the kayak")
        db.update(found.new_topic_id, "and let the kayak's stern dry")
        assert len(db.recall("kayak stern").hits) == 3
        assert db.usage(found.scene_id).hits == 1


def test_fused_topics_count_for_their_scene(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        found = db.search("the kayak leaks", NOW - HOUR)
        topic = db._store.get(Topic, from_hex(found.new_topic_id))
        with db._store.writing() as batch:
            batch.new(Topic(scene=topic.scene, depth=1, children=(topic.id,), summary="varnish on the hull"), "fused")
        assert db.recall("varnish", layers=["topics"]).hits[0].layer == "topics"
        assert db.usage(found.scene_id).hits == 1


def test_usage_can_be_read(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        note = db.remember("the kayak leaks")
        unused = db.usage(note.id)
        assert (unused.id, unused.hits, unused.last_at, unused.copies) == (note.id, 0, None, 0)
        clock.advance(HOUR)
        db.recall("kayak")
        db.remember("the kayak leaks")
        used = db.usage(note.id)
        assert (used.hits, used.last_at, used.copies) == (1, NOW + HOUR, 1)
        (message,) = db.archive.append_many([{"text": "hello"}])
        for wrong in (NO_ID, message):
            with pytest.raises(NotFound):
                db.usage(wrong)
        with pytest.raises(InvalidRequest):
            db.usage("5")


def test_a_kill_loses_counters_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        distract(db)
        note = db.recall("bicycle").hits[0].id
    code = (
        f"import os, signal, memhop\ndb = memhop.DB.open({str(path)!r})\ndb.remember('written before the kill')\n"
        f"db.recall('bicycle')\nassert db.usage({note!r}).hits == 2\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == -signal.SIGKILL
    with memory(path) as db:
        assert db.recovery.clean
        assert db.usage(note).hits == 1
        assert db.recall("written before the kill").hits
        assert db.verify(deep=True).ok


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
