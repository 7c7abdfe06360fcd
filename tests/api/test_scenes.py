"""`db.scenes`: what a host does with scenes by hand, and that nothing is lost or left behind by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memhop import DB, InvalidRequest, NotFound, WriteRefused
from memhop.common.ids import from_hex
from memhop.repo.l1_engram import Engram, Hyperedge, edge_id, edges_of, engram_id
from memhop.repo.l2_context import Scene, Topic, scene_name
from memhop.repo.l3_facts import Fact
from memhop.repo.l4_archive import Message
from memhop.repo.l6_usage import Usage, usage_id
from memhop.repo.record import Kind
from tests.api.test_erasure import dangling, offset_of, rot
from tests.support.memories import DAY, MINUTE, NO_ID, NOW, conversation, every, memory

SUBJECTS = ("kayak hull", "tax return", "lettuce slugs")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[DB]:
    with memory(tmp_path / "a.meh") as db:
        yield db
        assert dangling(db) == []
        assert db.verify(deep=True).ok


@pytest.fixture
def scenes(db: DB) -> list[str]:
    """Three scenes of four turns each, in order of time."""
    return [scene_of(db, subject, number) for number, subject in enumerate(SUBJECTS)]


def scene_of(db: DB, subject: str, number: int, **options: str) -> str:
    start = NOW - 5 * DAY + number * DAY
    scene = ""
    for turn in range(4):
        where = {"directed_l2_id": scene} if scene else {"auto_create": True}
        said = f"{subject} says user {turn}"
        found = db.search(said, start + turn * MINUTE, session=f"s{number}", **where, **options)  # type: ignore[arg-type]
        db.update(found.new_topic_id, f"{subject} says agent {turn}", start + turn * MINUTE + 1)
        scene = found.scene_id
    return scene


def topics(db: DB, scene: str) -> list[str]:
    return [topic.id for topic in every(lambda **page: db.topics.list(scene, **page))]


def texts(db: DB, scene: str, depth: int = 1) -> list[str]:
    """All that was said in a scene, page by page."""
    found, cursor = [], None
    while True:
        page = db.scenes.context(scene, depth=depth, limit=3, cursor=cursor)
        found += [message.text for topic in page.topics for message in topic.messages]
        cursor = page.next
        if cursor is None:
            return found


def said(subject: str) -> list[str]:
    return [f"{subject} says {who} {turn}" for turn in range(4) for who in ("user", "agent")]


class TestNames:
    def test_a_name_is_made_of_telling_words_and_a_day(self) -> None:
        assert scene_name(["walnuts", "Mara", "mara", "cake", "x"], "", NOW) == "walnuts, Mara, cake (28 May 2026)"
        assert scene_name([], "  hello\n there", NOW) == "hello there (28 May 2026)"
        assert scene_name([], "", NOW) == "28 May 2026"
        assert len(scene_name(["x" * 500], "", NOW)) < 150
        assert scene_name(["a", "b", "A", " "], "", NOW).startswith("a, b (")


class TestListing:
    def test_by_project_and_freshness(self, db: DB, scenes: list[str]) -> None:
        other = scene_of(db, "violin strings", 3, project="music")
        assert [scene.id for scene in every(db.scenes.list)] == [other, *reversed(scenes)]
        assert [scene.id for scene in every(db.scenes.list, project="music")] == [other]
        assert [scene.id for scene in every(db.scenes.list, project="default")] == scenes[::-1]
        with db._store.writing() as batch:
            looked_at = db._store.get(Scene, from_hex(scenes[0]))
            batch.put(Scene(id=looked_at.id, name="n", created_at=1, last_at=looked_at.last_at))
        fresh = every(db.scenes.list, fresh=True)
        assert [(scene.id, scene.fresh) for scene in fresh] == [(other, 8), (scenes[2], 8), (scenes[1], 8)]
        assert [scene.id for scene in every(db.scenes.list, fresh=True, project="music")] == [other]
        assert every(db.scenes.list, fresh=True, project="nobody's") == []


class TestContext:
    def test_messages_come_in_order_of_time_and_not_of_ids(self, db: DB, scenes: list[str]) -> None:
        """A conversation was once read to the model in the order of hashes."""
        for subject, scene in zip(SUBJECTS, scenes, strict=True):
            for depth in (1, 2, 3, 4):
                assert texts(db, scene, depth) == said(subject)
        newest = db.scenes.context(scenes[0], limit=1, newest_first=True)
        assert [message.text for message in newest.topics[0].messages] == said("kayak hull")[-2:]
        assert newest.next is not None
        assert newest.scene == db.scenes.get(scenes[0])

    def test_a_reply_that_was_brought_in_late_stands_where_it_was_said(self, db: DB, scenes: list[str]) -> None:
        first = topics(db, scenes[0])[0]
        at = db.topics.get(first).user_at
        db.update(first, "after", at + 9)
        db.update(first, "before", at - 9)
        assert [message.text for message in db.topics.messages(first)][:1] == ["before"]
        assert [message.text for message in db.scenes.context(scenes[0]).topics[0].messages][-1] == "after"

    def test_fused_topics_are_shown_at_the_depth_asked_for(self, db: DB, scenes: list[str]) -> None:
        one, two, three, four = topics(db, scenes[0])
        pair = db.topics.merge([one, two]).id
        whole = db.topics.merge([pair, three]).id
        shown = {
            depth: [topic.topic.id for topic in db.scenes.context(scenes[0], depth=depth).topics]
            for depth in (1, 2, 3, 4)
        }
        assert {depth: set(ids) for depth, ids in shown.items()} == {
            1: {whole, four},
            2: {pair, three, four},
            3: {one, two, three, four},
            4: {one, two, three, four},
        }
        assert all(texts(db, scenes[0], depth) == said("kayak hull") for depth in (1, 2, 3, 4))

    def test_what_bears_on_a_question_comes_first(self, db: DB, scenes: list[str]) -> None:
        wanted = topics(db, scenes[1])[2]
        found = db.scenes.context(scenes[1], query="tax return says user 2", limit=2)
        assert found.topics[0].topic.id == wanted
        assert len(found.topics) == 2
        assert found.next is None
        fused = db.topics.merge(topics(db, scenes[1])[1:]).id
        assert db.scenes.context(scenes[1], query="user 2").topics[0].topic.id == fused
        assert db.scenes.context(scenes[1], query="user 2", depth=2).topics[0].topic.id == wanted
        assert db.scenes.context(scenes[1], query="volcano").topics == ()

    def test_it_is_bounded_and_says_what_it_left_out(self, db: DB) -> None:
        turn = db.search("many replies", NOW - DAY)
        for number in range(255):
            db.update(turn.new_topic_id, f"reply {number}", NOW - DAY + number)
        other = db.search("few replies", NOW - DAY + MINUTE, directed_l2_id=turn.scene_id)
        db.topics.merge([turn.new_topic_id, other.new_topic_id])
        (shown,) = db.scenes.context(turn.scene_id).topics
        assert (len(shown.messages), shown.left_out) == (256, 1)
        assert len(db.topics.messages(shown.topic.id)) == 257


class TestRenameAndPin:
    def test_a_name_that_the_host_gave_is_kept(self, db: DB, scenes: list[str]) -> None:
        assert db.scenes.get(scenes[0]).edited is False
        renamed = db.scenes.rename(scenes[0], "The kayak")
        assert (renamed.name, renamed.edited) == ("The kayak", True)
        db.search("kayak hull once more", NOW, directed_l2_id=scenes[0])
        assert db.scenes.get(scenes[0]).name == "The kayak"
        db.forget(db.scenes.context(scenes[0]).topics[0].messages[0].id, hard=True)
        assert db.scenes.get(scenes[0]).name == "The kayak"

    def test_pinning(self, db: DB, scenes: list[str]) -> None:
        assert db.scenes.pin(scenes[0]).pinned
        before = db.stats().commit
        assert db.scenes.pin(scenes[0]).pinned
        assert db.stats().commit == before
        assert not db.scenes.pin(scenes[0], False).pinned


class TestMerge:
    def test_all_that_belongs_to_a_scene_moves(self, db: DB, scenes: list[str]) -> None:
        into, other, third = scenes
        db.topics.merge(topics(db, other)[:2])
        before = {id_ for scene in scenes for id_ in topics(db, scene)}
        note = db.remember("see there", links=[other, into, third])
        with db._store.writing() as batch:
            batch.new(Fact(subject="s", predicate="p", value="v", sources=(from_hex(other),)), "f")
        db.recall("tax")
        merged = db.scenes.merge(into, [other, third])
        assert merged == db.scenes.get(into)
        assert (merged.topics, merged.fresh) == (13, 24)
        assert merged.name.startswith(db.scenes.get(into).name)
        assert (merged.created_at, merged.last_at) == (NOW - 5 * DAY, NOW - 3 * DAY + 3 * MINUTE + 1)
        assert set(topics(db, into)) == before
        assert texts(db, into) == [text for subject in SUBJECTS for text in said(subject)]
        assert [scene.id for scene in every(db.scenes.list)] == [into]
        assert db.notes.get(note.id).links == (into,)
        assert {message.scene_id for message in every(db.archive.list)} == {into}
        assert db.recall("tax", scene=into).hits
        assert [engram.scene for engram in db._store.scan(Engram)] == [from_hex(into)]
        for gone in (other, third):
            with pytest.raises(NotFound):
                db.scenes.get(gone)

    def test_associations_are_joined_and_none_leads_back_to_itself(self, db: DB, scenes: list[str]) -> None:
        far = from_hex(scene_of(db, "violin strings", 3))
        one, two, three = map(from_hex, scenes)
        with db._store.writing() as batch:
            for edge in list(db._store.scan(Hyperedge)):
                batch.delete(Kind.HYPEREDGE, edge.id)
            for ids, weight in (((one, two), 0.5), ((one, far), 0.5), ((two, far), 0.5), ((two, three, far), 0.25)):
                ordered = tuple(sorted(ids))
                batch.put(Hyperedge(relation="semantic", scenes=ordered, weight=weight), edge_id("semantic", ordered))
        db.scenes.merge(scenes[0], [scenes[1]])
        pair, triple = tuple(sorted((one, far))), tuple(sorted((one, three, far)))
        left = {edge.scenes: edge for edge in db._store.scan(Hyperedge)}
        assert {ids: edge.weight for ids, edge in left.items()} == {pair: 0.75, triple: 0.25}
        assert all(edge.id == edge_id("semantic", ids) for ids, edge in left.items())
        assert {edge.id for edge in db._store.walk(Hyperedge, edges_of(two))} == set()

    def test_counters_are_added_up(self, db: DB, scenes: list[str]) -> None:
        one, two = from_hex(scenes[0]), from_hex(scenes[1])
        with db._store.writing() as batch:
            batch.put(Usage(target=one, hits=2, last_at=5, copies=1), usage_id(one))
            batch.put(Usage(target=two, hits=3, last_at=9), usage_id(two))
        db._store.count_use(two)  # not written yet
        db._store.count_use(one)
        db.scenes.merge(scenes[0], [scenes[1]])
        counter = db._store.get(Usage, usage_id(one))
        assert (counter.hits, counter.last_at, counter.copies) == (7, NOW, 1)
        assert db._store.find(Usage, usage_id(two)) is None

    def test_a_primary_without_an_engram_gets_one(self, db: DB, scenes: list[str]) -> None:
        with db._store.writing() as batch:
            batch.delete(Kind.ENGRAM, engram_id(from_hex(scenes[0])))
        db.scenes.merge(scenes[0], [scenes[1]])
        assert db._store.get(Engram, engram_id(from_hex(scenes[0]))).scene == from_hex(scenes[0])

    def test_a_message_that_lost_its_topic_moves_too(self, db: DB, scenes: list[str]) -> None:
        message = next(one for one in db._store.scan(Message) if one.scene == from_hex(scenes[1]))
        with db._store.writing() as batch:
            topic = db._store.get(Topic, message.topic)
            batch.put(Topic(id=topic.id, scene=topic.scene, user_at=topic.user_at, messages=topic.messages[1:]))
            batch.put(Message(text=message.text, at=message.at, scene=message.scene), message.id)
        db.scenes.merge(scenes[0], [scenes[1]])
        assert db._store.get(Message, message.id).scene == from_hex(scenes[0])

    @pytest.mark.parametrize("wrong", ["itself", "topic", "message", "nothing"])
    def test_ids_are_checked_before_anything_happens(self, db: DB, scenes: list[str], wrong: str) -> None:
        """Any id was taken once, so that merging a topic id away deleted the memory behind it, and said ok."""
        ids = {
            "itself": scenes[0],
            "topic": topics(db, scenes[1])[0],
            "message": db.archive.list().items[0].id,
            "nothing": NO_ID,
        }
        before = db.stats().commit
        with pytest.raises((InvalidRequest, NotFound)):
            db.scenes.merge(scenes[0], [scenes[1], ids[wrong]])
        with pytest.raises((InvalidRequest, NotFound)):
            db.scenes.merge(ids[wrong], [scenes[0]])
        assert db.stats().commit == before

    def test_projects_are_kept_apart(self, db: DB, scenes: list[str]) -> None:
        other = scene_of(db, "violin strings", 3, project="music")
        with pytest.raises(InvalidRequest) as raised:
            db.scenes.merge(scenes[0], [other])
        assert raised.value.field == "secondaries"


class TestSplit:
    def test_topics_move_with_their_messages(self, db: DB, scenes: list[str]) -> None:
        scene, (one, two, three, four) = scenes[0], topics(db, scenes[0])
        fused = db.topics.merge([two, three]).id
        old = db.scenes.get(scene)
        new = db.scenes.split(scene, [fused])
        assert set(topics(db, new.id)) == {fused, two, three}
        assert set(topics(db, scene)) == {one, four}
        assert texts(db, new.id) == said("kayak hull")[2:6]
        assert {message.scene_id for id_ in (two, three) for message in db.topics.messages(id_)} == {new.id}
        assert (new.project, new.session, new.fresh, new.edited) == (old.project, old.session, 4, False)
        assert (new.created_at, new.last_at) == (old.created_at + MINUTE, old.created_at + 2 * MINUTE + 1)
        assert "kayak" in new.name
        assert "kayak" in db.scenes.get(scene).name
        assert db._store.get(Engram, engram_id(from_hex(new.id)))

    def test_names(self, db: DB, scenes: list[str]) -> None:
        db.scenes.rename(scenes[0], "mine")
        new = db.scenes.split(scenes[0], topics(db, scenes[0])[:1], "yours")
        assert (new.name, new.edited, db.scenes.get(scenes[0]).name) == ("yours", True, "mine")

    def test_neither_all_nor_a_part_of_a_group(self, db: DB, scenes: list[str]) -> None:
        ids = topics(db, scenes[0])
        fused = db.topics.merge(ids[:2]).id
        for wrong in ([fused, *ids[2:]], [ids[0]], [ids[2], topics(db, scenes[1])[0]]):
            with pytest.raises(InvalidRequest) as raised:
                db.scenes.split(scenes[0], wrong)
            assert raised.value.field == "topic_ids"
        with pytest.raises(NotFound):
            db.scenes.split(scenes[0], [scenes[0]])

    def test_it_can_be_taken_back_by_merging(self, db: DB, scenes: list[str]) -> None:
        new = db.scenes.split(scenes[0], topics(db, scenes[0])[1:3])
        db.scenes.merge(scenes[0], [new.id])
        assert texts(db, scenes[0]) == said("kayak hull")


class TestDelete:
    def test_everything_goes_and_nothing_else(self, db: DB, scenes: list[str]) -> None:
        db.topics.merge(topics(db, scenes[1])[:3])
        note = db.remember("see there", links=[scenes[1], scenes[0]])
        db._store.count_use(from_hex(scenes[1]))
        db.remember("writes the counter")
        before = db.stats().commit
        foreseen = db.scenes.delete(scenes[1], dry_run=True)
        assert db.stats().commit == before
        done = db.scenes.delete(scenes[1])
        assert foreseen.erased == done.erased
        assert foreseen.changed == done.changed
        assert done.erased | {"hyperedge": 0} == {
            "message": 8, "topic": 5, "scene": 1, "engram": 1, "usage": 1, "hyperedge": 0
        }  # fmt: skip
        assert len(done.message_ids) == 8
        assert {hit.scene_id for hit in db.recall("tax return").hits} & {scenes[1]} == set()
        assert [scene.id for scene in every(db.scenes.list)] == [scenes[2], scenes[0]]
        assert db.notes.get(note.id).links == (scenes[0],)
        assert texts(db, scenes[0]) == said("kayak hull")
        with pytest.raises(NotFound):
            db.scenes.delete(scenes[1])

    @pytest.mark.parametrize("keep_history", [True, False])
    def test_not_a_word_is_left_after_compaction(self, tmp_path: Path, keep_history: bool) -> None:
        """Also of a scene that was merged, renamed by hand and split before, and of what was fused and taken apart."""
        path = tmp_path / "b.meh"
        with memory(path) as db:
            scenes = [scene_of(db, subject, number) for number, subject in enumerate(("qxzzy boat", "vwkkj tree"))]
            db.topics.unmerge(db.topics.merge(topics(db, scenes[0])).id)
            third = db.scenes.split(scenes[0], topics(db, scenes[0])[:2])
            db.scenes.merge(scenes[1], [third.id])
            db.scenes.rename(scenes[1], "mine")
            for id_ in topics(db, scenes[1]):
                if "qxzzy" in db.topics.messages(id_)[0].text:
                    db.topics.delete(id_)
            assert len(db.scenes.delete(scenes[0]).message_ids) == 4
            db.compact(keep_history=keep_history)
            assert db.recall("vwkkj").hits
        data = path.read_bytes()
        assert b"qxzzy" not in data
        assert b"vwkkj" in data

    def test_an_earlier_name_of_a_scene_goes_with_the_words_it_was_made_of(self, tmp_path: Path) -> None:
        """The host had renamed the scene, so that its name of now holds no word of the message."""
        path = tmp_path / "b.meh"
        with memory(path) as db:
            first = db.search("the qxzzy boat leaks", NOW - DAY)
            db.search("varnish helps", NOW - DAY + MINUTE, directed_l2_id=first.scene_id)
            assert "qxzzy" in db.scenes.get(first.scene_id).name
            db.scenes.rename(first.scene_id, "mine")
            db.topics.delete(first.new_topic_id)
            assert db.scenes.get(first.scene_id).name == "mine"
            db.compact(keep_history=True)
        assert b"qxzzy" not in path.read_bytes()

    @pytest.mark.parametrize("which", ["first", "later"])
    def test_a_name_made_of_a_message_goes_with_it_wherever_it_stood(self, tmp_path: Path, which: str) -> None:
        path = tmp_path / "b.meh"
        with memory(path) as db:
            turns = [db.search("the kayak hull leaks", NOW - DAY, auto_create=True)]
            scene = turns[0].scene_id
            turns.append(db.search("qxzzy varnish helps", NOW - DAY + MINUTE, directed_l2_id=scene))
            turns.append(db.search("qxzzying it", NOW - DAY + 2 * MINUTE, directed_l2_id=scene))
            new = db.scenes.split(scene, [turns[1].new_topic_id, turns[2].new_topic_id])
            assert "qxzzy" in new.name
            for turn in turns[1:] if which == "later" else turns[2:0:-1]:
                db.forget(turn.message_id, hard=True)
            db.compact(keep_history=True)
        assert b"qxzzy" not in path.read_bytes()

    @pytest.mark.parametrize(("name", "left"), [("kayaking, Ann (1 May 2026)", False), ("hull, Bo (1 May 2026)", True)])
    def test_a_name_may_hold_another_form_of_a_word(self, tmp_path: Path, name: str, left: bool) -> None:
        with memory(tmp_path / "b.meh") as db:
            turn = db.search("the kayaks leak", NOW - DAY)
            db.search("varnish helps", NOW - DAY, directed_l2_id=turn.scene_id)
            with db._store.writing() as batch:
                batch.put(Scene(name=name, created_at=NOW), from_hex(turn.scene_id))
            db.forget(turn.message_id, hard=True)
            assert (db.scenes.get(turn.scene_id).name == name) is left

    def test_a_scene_of_forged_records(self, db: DB, scenes: list[str]) -> None:
        """A topic of no message that is its own parent and child once made deleting walk in a circle for ever."""
        with db._store.writing() as batch:
            batch.put(Topic(scene=from_hex(scenes[0]), parent=77, children=(77, 78), user_at=1), 77)
            batch.put(Topic(scene=from_hex(scenes[0]), parent=77, children=(77,), user_at=1), 78)
        assert db.scenes.delete(scenes[0]).erased["topic"] == 6


@pytest.mark.parametrize("which", ["scene", "topic", "message"])
def test_a_damaged_record_can_be_deleted_with_what_belongs_to_it(tmp_path: Path, which: str) -> None:
    path = tmp_path / "b.meh"
    with memory(path) as db:
        scenes = [scene_of(db, subject, number) for number, subject in enumerate(SUBJECTS[:2])]
        topic = topics(db, scenes[0])[0]
        wanted = {"scene": scenes[0], "topic": topic, "message": db.topics.messages(topic)[0].id}[which]
        offset = offset_of(db, wanted)
        db.checkpoint()
    rot(path, offset)
    with memory(path) as db:
        if which == "topic":
            assert db.topics.delete(topic).erased == {"message": 2, "topic": 1}
        assert db.scenes.delete(scenes[0]).erased["message"] == (6 if which == "topic" else 8)
        assert [scene.id for scene in every(db.scenes.list)] == [scenes[1]]
        assert texts(db, scenes[1]) == said(SUBJECTS[1])
        assert {one.scene_id for one in every(db.archive.list)} == {scenes[1]}
        assert dangling(db) == []


def test_a_handle_that_only_reads_can_look_and_foresee(tmp_path: Path) -> None:
    path = tmp_path / "b.meh"
    with memory(path) as db:
        scene = scene_of(db, SUBJECTS[0], 0)
        commit = db.stats().commit
        db.topics.merge(topics(db, scene)[:2])
    before = path.read_bytes()
    with memory(path, mode="read") as db:
        assert texts(db, scene) == said(SUBJECTS[0])
        assert db.scenes.delete(scene, dry_run=True).erased["message"] == 8
        assert db.topics.delete(topics(db, scene)[0], dry_run=True).erased["topic"] >= 1
        for call in (lambda: db.scenes.delete(scene), lambda: db.scenes.rename(scene, "x"), lambda: db.profile.erase()):
            with pytest.raises(WriteRefused):
                call()
        with db.at(commit) as then:
            assert len(then.scenes.context(scene).topics) == 4
    assert path.read_bytes() == before


def test_a_conversation_of_two_scenes_is_told_apart_again(db: DB) -> None:
    conversation(db, [("the kayak hull leaks", "patch it"), ("my tax return is due", "in May")], session="s")
    (scene,) = {topic.scene_id for found in every(db.scenes.list) for topic in db.topics.list(found.id).items}
    assert scene is not None
    new = db.scenes.split(scene, topics(db, scene)[1:])
    assert "tax" in new.name
    assert "kayak" in db.scenes.get(scene).name
