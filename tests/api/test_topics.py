"""`db.topics`: fusing and taking apart by hand, keywords, deleting with all that hangs on a topic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memhop import DB, ChatError, InvalidRequest, NotFound, OpenAIChat
from memhop.common.ids import from_hex, to_hex
from memhop.repo.dreams import Spending
from memhop.repo.l2_context import Topic, statements
from tests.api.test_erasure import dangling
from tests.api.test_scenes import SUBJECTS, scene_of, texts, topics
from tests.support.memories import NOW, every, memory
from tests.support.model_server import model_server


@pytest.fixture
def db(tmp_path: Path) -> Iterator[DB]:
    with memory(tmp_path / "a.meh") as db:
        yield db
        assert dangling(db) == []
        assert db.verify(deep=True).ok


@pytest.fixture
def scene(db: DB) -> str:
    return scene_of(db, SUBJECTS[0], 0)


def depths(db: DB, scene: str) -> dict[str, int]:
    return {topic.id: topic.depth for topic in every(lambda **page: db.topics.list(scene, **page))}


class TestMerge:
    def test_members_sink_and_are_kept(self, db: DB, scene: str) -> None:
        one, two, three, four = topics(db, scene)
        fused = db.topics.merge([two, one])
        assert (fused.depth, fused.parent, fused.children, fused.edited) == (1, None, (one, two), True)
        assert (fused.scene_id, fused.message_ids) == (scene, ())
        assert db.topics.get(one).parent == fused.id
        assert depths(db, scene) == {fused.id: 1, one: 2, two: 2, three: 1, four: 1}
        assert [message.id for message in db.topics.messages(fused.id)] == [
            message.id for id_ in (one, two) for message in db.topics.messages(id_)
        ]
        assert (fused.user_at, fused.agent_at) == (db.topics.get(one).user_at, db.topics.get(two).agent_at)
        assert db.topics.get(one).message_ids

    def test_the_summary_is_taken_from_the_messages_word_for_word(self, db: DB, scene: str) -> None:
        for text in ("Mara bought blue epoxy in Porto", "Jonas sold the old trailer", "the harbour opens in April"):
            db.search(text, NOW, directed_l2_id=scene)
        fused = db.topics.merge(topics(db, scene)[3:])
        assert len(fused.statements) >= 3
        for statement in fused.statements:
            (cited,) = statement.message_ids
            assert statement.text in db.archive.get(cited).text
        assert fused.summary == "\n".join(statement.text for statement in fused.statements)
        assert [hit.id for hit in db.recall("blue epoxy", layers=["topics"]).hits] == [fused.id]
        assert "kayak hull" in fused.user_keywords

    def test_look_alikes_are_not_summed_up_in_one_of_them(self, db: DB, scene: str) -> None:
        fused = db.topics.merge(topics(db, scene))
        assert fused.summary is None
        assert len(db.topics.messages(fused.id)) == 8

    def test_a_summary_of_the_hosts(self, db: DB, scene: str) -> None:
        fused = db.topics.merge(topics(db, scene)[:2], "They fixed it.")
        assert [(one.text, one.message_ids) for one in fused.statements] == [("They fixed it.", ())]
        assert [hit.id for hit in db.recall("fixed", layers=["topics"]).hits] == [fused.id]

    def test_four_depths(self, db: DB, scene: str) -> None:
        one, two, three, four = topics(db, scene)
        more = db.search("one more", NOW, directed_l2_id=scene).new_topic_id
        first = db.topics.merge([one, two]).id
        second = db.topics.merge([first, three]).id
        third = db.topics.merge([second, four]).id
        last = db.topics.merge([third, more]).id
        assert depths(db, scene) == {last: 1, third: 2, more: 2, second: 3, four: 3, first: 4, three: 4, one: 4, two: 4}
        assert {topic.id for topic in every(lambda **page: db.topics.list(scene, depth=3, **page))} == {second, four}
        db.topics.unmerge(last)
        assert depths(db, scene) == {third: 1, more: 1, second: 2, four: 2, first: 3, three: 3, one: 4, two: 4}
        db.topics.unmerge(second)  # in the middle
        assert depths(db, scene) == {third: 1, more: 1, first: 2, three: 2, four: 2, one: 3, two: 3}
        assert db.topics.get(third).children == (first, three, four)
        assert db.topics.get(first).parent == third

    def test_what_cannot_be_fused(self, db: DB, scene: str) -> None:
        one, two, three, _ = topics(db, scene)
        fused = db.topics.merge([one, two]).id
        other = topics(db, scene_of(db, SUBJECTS[1], 1))[0]
        before = db.stats().commit
        for wrong in ([three], [one, three], [three, other], [three, three], [fused, one], [], three, [three, 5]):
            with pytest.raises(InvalidRequest) as raised:
                db.topics.merge(wrong)  # type: ignore[arg-type]
            assert str(raised.value.field).startswith("topic_ids")
        with pytest.raises(NotFound):
            db.topics.merge([three, scene])
        with pytest.raises(InvalidRequest):
            db.topics.merge([three, fused], " ")
        assert db.stats().commit == before

    def test_the_same_topics_can_be_fused_again(self, db: DB, scene: str) -> None:
        ids = topics(db, scene)
        fused = db.topics.merge(ids)
        db.topics.unmerge(fused.id)
        assert db.topics.merge(ids) == fused
        assert db.topics.get(ids[0]).depth == 2


class TestUnmerge:
    def test_members_are_as_they_were(self, db: DB, scene: str) -> None:
        before = every(lambda **page: db.topics.list(scene, **page))
        freed = db.topics.unmerge(db.topics.merge(topics(db, scene)).id)
        assert [replace(topic, edited=False) for topic in freed] == before
        assert all(topic.edited for topic in freed), "no dream fuses them again"
        assert every(lambda **page: db.topics.list(scene, **page)) == list(freed)
        assert db.recall("kayak", layers=["topics"]).hits == ()

    def test_a_turn_cannot_be_taken_apart(self, db: DB, scene: str) -> None:
        with pytest.raises(InvalidRequest):
            db.topics.unmerge(topics(db, scene)[0])

    def test_what_was_said_in_a_fused_topic_stays(self, db: DB, scene: str) -> None:
        fused = db.topics.merge(topics(db, scene)[:2]).id
        db.update(fused, "said in the fused one")
        assert all("said in the fused one" in texts(db, scene, depth) for depth in (1, 2, 3, 4))
        assert all(len(texts(db, scene, depth)) == 9 for depth in (1, 2, 3, 4))
        note = db.remember("see there", links=[fused])
        db.topics.unmerge(fused)
        left = db.topics.get(fused)
        assert (left.children, left.summary, left.depth) == ((), None, 1)
        assert [message.text for message in db.topics.messages(fused)] == ["said in the fused one"]
        assert db.notes.get(note.id).links == (fused,)

    def test_links_to_the_fused_topic_are_taken_out(self, db: DB, scene: str) -> None:
        fused = db.topics.merge(topics(db, scene)[:2]).id
        note = db.remember("see there", links=[fused])
        db.topics.unmerge(fused)
        assert db.notes.get(note.id).links == ()


class TestRefine:
    def test_the_hosts_keywords(self, db: DB, scene: str) -> None:
        id_ = topics(db, scene)[0]
        refined = db.topics.refine(id_, ["epoxy", "hull", "epoxy"])
        assert (refined.user_keywords, refined.agent_keywords, refined.edited) == (("epoxy", "hull"), (), True)
        assert refined == db.topics.get(id_)
        assert db.topics.refine(id_, []).user_keywords == ()

    def test_worked_out_anew_from_all_messages(self, db: DB, scene: str) -> None:
        """Once a second reply replaced the keywords of the first, and the order of messages was that of hashes."""
        id_ = topics(db, scene)[0]
        before = db.topics.get(id_)
        db.update(id_, "the varnish from Lisbon")
        db.topics.refine(id_, ["nothing of that"])
        refined = db.topics.refine(id_)
        assert (refined.user_keywords, refined.edited, refined.refined_by) == (before.user_keywords, False, None)
        assert {"Lisbon", "varnish"} <= {word for keyword in refined.agent_keywords for word in keyword.split()}
        assert any("kayak hull" in keyword for keyword in refined.agent_keywords)

    def test_by_a_model_over_the_wire(self, tmp_path: Path) -> None:
        answers: list[Any] = [
            {"items": [{"id": "m1", "keywords": ["epoxy", "invented"]}, {"id": "m2", "keywords": ["two coats"]}]},
            "no idea",
        ]
        with model_server(answers) as server:
            model = OpenAIChat("stub", base_url=server.url)
            with memory(tmp_path / "b.meh", llm=model) as db:
                turn = db.search("which epoxy for the hull?", NOW)
                db.update(turn.new_topic_id, "any, in two coats", NOW)
                assert server.calls == 0
                refined = db.topics.refine(turn.new_topic_id)
                assert (refined.user_keywords, refined.agent_keywords) == (("epoxy",), ("two coats",))
                assert (refined.refined_by, refined.edited) == (model.name, False)
                assert "which epoxy" in server.asked[0].user
                assert [spent.calls for spent in db._store.scan(Spending)] == [1]
                with pytest.raises(ChatError):
                    db.topics.refine(turn.new_topic_id)
                assert db.topics.get(turn.new_topic_id) == refined

    def test_what_was_erased_while_the_model_was_asked_does_not_come_back(self, tmp_path: Path) -> None:
        answer = {"items": [{"id": "m1", "keywords": ["epoxy"]}, {"id": "m2", "keywords": ["qxzzy"]}]}
        waiting: list[str] = []

        def erase(asked: object) -> dict[str, Any]:
            if waiting:
                here.forget(waiting.pop(), hard=True)
            return answer

        with (
            model_server(erase) as server,
            memory(tmp_path / "b.meh", llm=OpenAIChat("stub", base_url=server.url)) as here,
        ):
            turn = here.search("which epoxy for the hull?", NOW)
            waiting.append(here.update(turn.new_topic_id, "qxzzy epoxy", NOW).id)
            assert here.topics.refine(turn.new_topic_id).agent_keywords == ()
            assert server.calls == 2

    def test_of_a_fused_topic(self, db: DB, scene: str) -> None:
        fused = db.topics.merge(topics(db, scene)).id
        db.topics.refine(fused, ["x"])
        assert any("kayak" in keyword for keyword in db.topics.refine(fused).user_keywords)

    @pytest.mark.parametrize("wrong", ["abc", 5, [5], [""], ["x" * 101], ["x"] * 0 + [f"k{n}" for n in range(65)]])
    def test_bad_keywords(self, db: DB, scene: str, wrong: object) -> None:
        with pytest.raises(InvalidRequest) as raised:
            db.topics.refine(topics(db, scene)[0], wrong)  # type: ignore[arg-type]
        assert raised.value.field == "keywords"


class TestDelete:
    def test_a_member_goes_and_its_parent_forgets_it(self, db: DB, scene: str) -> None:
        one, two, three, _ = topics(db, scene)
        inner = db.topics.merge([one, two]).id
        outer = db.topics.merge([inner, three]).id
        foreseen = db.topics.delete(inner, dry_run=True)
        assert db.topics.get(outer).summary
        done = db.topics.delete(inner)
        assert done.erased == foreseen.erased == {"message": 4, "topic": 3}
        left = db.topics.get(outer)
        assert left.children == (three,)
        assert {id_ for one in left.statements for id_ in one.message_ids} <= set(db.topics.get(three).message_ids)
        assert left.summary == "kayak hull says user 2\nkayak hull says agent 2"
        assert texts(db, scene) == [f"kayak hull says {who} {turn}" for turn in (2, 3) for who in ("user", "agent")]
        with pytest.raises(NotFound):
            db.topics.get(one)

    def test_the_last_topic_takes_its_scene_along(self, db: DB, scene: str) -> None:
        fused = db.topics.merge(topics(db, scene)).id
        assert db.topics.delete(fused).erased["scene"] == 1
        assert every(db.scenes.list) == []

    def test_forged_circles_end(self, db: DB, scene: str) -> None:
        """A group without replies was once made its own parent, and deleting it never ended."""
        with db._store.writing() as batch:
            for id_, parent, children in ((71, 71, (71,)), (72, 73, (73,)), (73, 72, (72,)), (74, 72, ())):
                batch.put(Topic(scene=from_hex(scene), parent=parent, children=children, depth=4), id_)
        for depth in (1, 4):
            assert len(texts(db, scene, depth)) == 8
        assert db.topics.messages(to_hex(72)) == ()
        assert db.topics.delete(to_hex(72)).erased == {"topic": 3}
        assert db.topics.delete(to_hex(71)).erased == {"topic": 1}
        assert len(topics(db, scene)) == 4

    def test_children_that_only_name_their_parent_go_too(self, db: DB, scene: str) -> None:
        one, two = topics(db, scene)[:2]
        fused = db.topics.merge([one, two]).id
        with db._store.writing() as batch:
            batch.put(Topic(scene=from_hex(scene), children=(from_hex(one),)), from_hex(fused))
        assert db.topics.delete(fused).erased["topic"] == 3


class TestPin:
    def test_pin(self, db: DB, scene: str) -> None:
        id_ = topics(db, scene)[0]
        assert db.topics.pin(id_).pinned
        assert not db.topics.pin(id_, False).pinned


class TestStatements:
    def test_one_statement_of_several_messages(self) -> None:
        topic = Topic(scene=1, summary="one\ntwo\nthree", ends=(3, 3, 7, 13), sources=(1, 2, 3, 4))
        assert list(statements(topic)) == [("one", (1, 2)), ("two", (3,)), ("three", (4,))]

    @pytest.mark.parametrize(
        ("ends", "sources"), [((2**62, 1), (1, 2)), ((5, 3, 9), (1, 2, 3)), ((0, 0), (1, 2)), ((3,), ()), ((), (7,))]
    )
    def test_ends_that_make_no_sense(self, ends: tuple[int, ...], sources: tuple[int, ...]) -> None:
        topic = Topic(scene=1, summary="some words", ends=ends, sources=sources)
        assert all(isinstance(text, str) for text, _ in statements(topic))
