"""Taking dreams back: exactly, newest first, around what was built on them since, and never a word that was erased."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from memhop import InvalidRequest, NotFound
from memhop.dream.stage import Change, Desk
from memhop.repo.l0_profile import ProfileLine, line_id
from memhop.repo.l1_engram import Engram
from memhop.repo.l2_context import Topic
from memhop.repo.l4_archive import Message
from memhop.repo.record import Kind, all_of
from tests.dream.test_pipeline import dreams_with, exported, talk
from tests.support.memories import MINUTE, NOW, memory
from tests.support.stages import Stage, fuse, rename

SECRET = "xylophone"


def forget_engrams(desk: Desk) -> Iterator[Change]:
    """Deletes every engram."""
    for _, engram in desk.store.listed(Engram, all_of(Kind.ENGRAM), limit=1000):
        yield Change("engram", "faded", (), (), (engram,))


def quote(desk: Desk) -> Iterator[Change]:
    """Draws a line out of every message that nothing was drawn from, and quotes it in the explanation."""
    for message in desk.store.scan(Message):
        id_ = line_id(f"said.{message.id}")
        if desk.store.find(ProfileLine, id_) is None:
            line = ProfileLine(id=id_, name=f"said.{message.id}", value=message.text, evidence=(message.id,))
            yield Change("line", f"said: {message.text}", (message,), (line,))


def name_after_topics(desk: Desk) -> Iterator[Change]:
    """Puts the words of a turn into its keywords."""
    for topic in desk.store.scan(Topic):
        said = desk.store.find(Message, topic.messages[0]) if topic.messages else None
        if said is not None and topic.user_keywords != (said.text,):
            yield Change("topic", "words", (topic,), (msgspec.structs.replace(topic, user_keywords=(said.text,)),))


def test_the_newest_goes_first(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        dreams_with(db, Stage(rename), Stage(fuse, by_scene=True))
        states = []
        for number in range(3):
            talk(db, f"s{number}", start=NOW - number * 60 * MINUTE - 60 * MINUTE)
            states.append(exported(db, tmp_path / "e"))
            assert db.dream().number == number + 1
        with pytest.raises(InvalidRequest, match="dream 3 is newer") as refused:
            db.dreams.undo(1)
        assert refused.value.allowed == "3"
        with pytest.raises(InvalidRequest, match="no dream 9"):
            db.dreams.undo(9)
        assert not db.dreams.undo(3).stayed
        assert exported(db, tmp_path / "e") == states[2]
        with pytest.raises(InvalidRequest, match="it was undone"):
            db.dreams.undo(3)
        db.dreams.undo(2)
        db.dreams.undo(1)
        assert db.verify(deep=True).ok
        shown = db.dreams.list(limit=2)
        assert [report.state for report in shown.items] == ["undone", "undone"]
        assert [report.number for report in db.dreams.list(limit=2, cursor=shown.next).items] == [1]
        assert db.dreams.show(1).reason == "it was undone"
        with pytest.raises(NotFound):
            db.dreams.show(4)


def test_what_a_dream_deleted_comes_back(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        talk(db)
        before = exported(db, tmp_path / "e")
        dreams_with(db, Stage(forget_engrams)).dream()
        (change,) = db.dreams.diff(1).items
        assert (change.records[0].action, change.records[0].kind) == ("deleted", "engram")
        assert db.dreams.undo(1).returned == 1
        assert exported(db, tmp_path / "e") == before


def test_a_reply_that_came_meanwhile_stays(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        dreams_with(db, Stage(fuse, by_scene=True))
        (scene,) = set(talk(db, turns=2))
        topic = db.topics.list(scene).items[0]
        db.dream()
        reply = db.update(topic.id, "and it still leaks", NOW)
        undone = db.dreams.undo(1)
        assert undone.changes == 2
        assert [(one.kind, one.field) for one in undone.stayed] == [("scene", "fresh")]
        after = db.topics.get(topic.id)
        assert (after.depth, after.message_ids[-1]) == (1, reply.id)
        assert len(db.topics.list(scene).items) == 2
        assert db.verify(deep=True).ok


def test_what_something_refers_to_stays_whole(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        dreams_with(db, Stage(fuse, by_scene=True))
        (scene,) = set(talk(db, turns=4))
        db.dream()
        fused = [topic for topic in db.topics.list(scene).items if topic.children]
        db.remember("see there", links=[fused[0].id])
        undone = db.dreams.undo(1)
        assert (undone.changes, undone.changes_in_all) == (2, 3)
        assert [(one.id, one.reason) for one in undone.stayed] == [(fused[0].id, "something else refers to it by now")]
        assert db.topics.get(fused[0].id) == fused[0]
        assert db.topics.get(fused[0].children[0]).depth == 2
        assert db.topics.get(fused[1].children[0]).depth == 1
        assert db.verify(deep=True).ok


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("undo_first", [True, False])
def test_an_erased_word_never_comes_back(tmp_path: Path, keep: bool, undo_first: bool) -> None:
    """It is gone from the journal's explanations, from what a dream made of it, and from what undoing restores."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        dreams_with(db, Stage(quote), Stage(name_after_topics), Stage(fuse, by_scene=True))
        talk(db, turns=3)
        found = db.search(f"the {SECRET} is in the attic", NOW - MINUTE, session="one")
        db.update(found.new_topic_id, "noted", NOW - MINUTE)
        db.dream()
        assert SECRET.encode() in exported(db, tmp_path / "e")
        if undo_first:
            db.dreams.undo(1)
        db.forget(found.message_id, hard=True)
        if not undo_first:
            assert any(change.why is None for change in db.dreams.diff(1, limit=1000).items)
            undone = db.dreams.undo(1)
            assert any("erased" in one.reason for one in undone.stayed)
        assert SECRET.encode() not in exported(db, tmp_path / "e")
        assert db.verify(deep=True).ok
        db.compact(keep_history=keep)
        assert SECRET.encode() not in path.read_bytes()
        assert db.verify(deep=True).ok
        db.dream()
        assert SECRET.encode() not in exported(db, tmp_path / "e")


def test_after_a_compaction_without_history_it_says_so(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        dreams_with(db, Stage(rename), Stage(fuse, by_scene=True))
        talk(db)
        db.dream()
        db.compact(keep_history=True)
        assert db.dreams.show(1).undoable
        before = db.dreams.diff(1).items
        db.compact()
        commit = db.stats().commit
        for call in (db.dreams.undo, db.dreams.diff):
            with pytest.raises(InvalidRequest, match=f"the past begins at commit {commit}"):
                call(1)
        assert not db.dreams.show(1).undoable
        assert before[0].records
        talk(db, "two")
        state = exported(db, tmp_path / "e")
        db.dream()
        db.dreams.undo(2)
        assert exported(db, tmp_path / "e") == state


def test_only_dreams_that_changed_something_are_in_the_way(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        dreams_with(db, Stage(rename))
        talk(db)
        db.dream()
        db.dream()
        assert db.dreams.undo(1).restored == 1


def test_diff_is_paged(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        dreams_with(db, Stage(rename), Stage(fuse, by_scene=True))
        talk(db, turns=12)
        db.dream()
        whole = db.dreams.diff(1, limit=1000).items
        found: list[object] = []
        cursor = None
        while True:
            page = db.dreams.diff(1, limit=2, cursor=cursor)
            found += page.items
            cursor = page.next
            if cursor is None:
                break
        assert tuple(found) == whole
        assert len(whole) == 8
        fields = {field.name: (field.before, field.after) for field in whole[1].records[0].fields}
        assert fields
        assert whole[0].to_dict()["records"][0]["kind"] == "scene"


def test_a_dream_undone_by_another_handle_ends(tmp_path: Path) -> None:
    """Two processes share a file; one takes back a dream that the other is still at."""
    path = tmp_path / "a.meh"
    with memory(path, mode="shared") as db, memory(path, mode="shared") as other:
        talk(db, turns=4)
        before = exported(db, tmp_path / "e")

        def undone_meanwhile(desk: Desk) -> Iterator[Change]:
            other.dreams.undo(1)
            yield from fuse(desk)

        dreams_with(db, Stage(rename), Stage(undone_meanwhile, by_scene=True), Stage(fuse, "more", by_scene=True))
        report = db.dream()
        assert (report.state, len(report.stages)) == ("undone", 2)
        assert report.stages[1].skipped == {"the dream was undone meanwhile": 3}
        assert exported(db, tmp_path / "e") == before
