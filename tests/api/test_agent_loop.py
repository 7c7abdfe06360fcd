"""The agent loop: search recalls and stores the turn in one commit, update appends, scenes hold together."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from memhop import InvalidRequest
from memhop.common.clock import ManualClock
from tests.support.memories import DAY, HOUR, MINUTE, NOW, conversation, distract, every, memory, texts

SUBJECTS = {
    "kayak": ["the kayak leaks at the stern", "which glue holds on a kayak hull?", "the kayak hull needs a day to dry"],
    "taxes": ["my tax return is due in July", "can I deduct the home office?", "the tax office wants the receipts"],
    "garden": ["slugs are eating the lettuce", "does copper tape keep slugs away?", "the lettuce bed needs straw"],
    "piano": ["the piano is out of tune", "how often is a piano tuned?", "the tuner charges ninety euros"],
    "trip": ["we fly to Lisbon in October", "which quarter of Lisbon is quiet?", "the Lisbon hotel wants a deposit"],
}  # fmt: skip


class TestSearch:
    def test_it_stores_the_turn_in_one_commit(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            distract(db)
            for text in ("the kayak leaks at the stern", "and what about its bow?"):
                before = db.stats().commit
                found = db.search(text, NOW - HOUR, session="s", speaker="Mara")
                assert db.stats().commit == before + 1
                message = db.archive.get(found.message_id)
                assert (message.text, message.role, message.speaker, message.session) == (text, "user", "Mara", "s")
                assert (message.scene_id, message.topic_id) == (found.scene_id, found.new_topic_id)
                topic = db.topics.get(found.new_topic_id)
                assert (topic.scene_id, topic.message_ids, topic.depth) == (found.scene_id, (found.message_id,), 1)

    def test_it_answers_with_what_was_there_before_the_turn(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            first = db.search("the kayak leaks at the stern")
            assert first.hits == ()
            assert first.recall.reason == "nothing is stored yet"
            second = db.search("where does the kayak leak?")
            assert [hit.id for hit in second.hits] == [first.message_id]
            assert "kayak leaks" in second.context

    def test_the_profile_comes_along(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            assert db.search("hello there").profile_brief == ""
            db.profile.update(name="Ada", preferences={"tone": "dry"})
            found = db.search("hello again")
            assert found.profile.name == "Ada"
            assert found.profile_brief == "name: Ada\npreferences: tone=dry"

    def test_a_refused_turn_leaves_no_trace(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.search("the kayak leaks")
            before = db.stats().records
            with pytest.raises(ValueError, match="limit"):
                db.search("the kayak sinks", limit=0)
            assert db.stats().records == before
            assert texts(db.recall("kayak")) == ["the kayak leaks"]

    def test_turns_of_the_same_moment_and_words_are_all_kept(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            found = [db.search("yes", NOW, session="s") for _ in range(3)]
            assert len({one.message_id for one in found}) == 3
            assert len({one.new_topic_id for one in found}) == 3

    def test_cards_for_a_question_about_the_loop(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            found = db.search("how do I use the memory loop?")
            assert found.capabilities
            assert all(card.origin == "builtin" for card in found.capabilities)
            assert any("memory" in f"{card.summary} {card.trigger}".lower() for card in found.capabilities)
            assert len(found.capabilities) <= 3
            assert db.search("slugs ate my lettuce").capabilities == ()


class TestUpdate:
    def test_several_replies_are_kept_in_order_and_found(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            found = db.search("the kayak leaks", NOW - HOUR, session="s")
            replies = [
                db.update(found.new_topic_id, "use marine epoxy", NOW - HOUR + 1, speaker="Helper"),
                db.update(found.new_topic_id, "sand it first", NOW - HOUR + 2),
                db.update(found.new_topic_id, "checked the shop: sold out", NOW - HOUR + 3, role="tool"),
            ]
            said = db.topics.messages(found.new_topic_id)
            assert [message.id for message in said] == [found.message_id, *(reply.id for reply in replies)]
            assert [message.role for message in said] == ["user", "agent", "agent", "tool"]
            assert {message.session for message in said} == {"s"}
            for reply in replies:
                assert reply.id in [hit.id for hit in db.recall(reply.text).hits][:1]
            topic = db.topics.get(found.new_topic_id)
            assert (topic.user_at, topic.agent_at) == (NOW - HOUR, NOW - HOUR + 3)
            assert db.scenes.get(found.scene_id).last_at == NOW - HOUR + 3

    def test_one_commit_each(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            found = db.search("the kayak leaks")
            before = db.stats().commit
            db.update(found.new_topic_id, "use epoxy")
            assert db.stats().commit == before + 1

    def test_a_topic_has_a_last_place(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", durability="none") as db:
            found = db.search("count")
            for number in range(255):
                db.update(found.new_topic_id, f"reply {number}")
            with pytest.raises(ValueError, match="full"):
                db.update(found.new_topic_id, "one too many")
            assert len(db.topics.messages(found.new_topic_id)) == 256


class TestRoutes:
    def test_directed_scene(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            kayak = db.search("the kayak leaks at the stern", NOW - DAY, session="s1")
            other = db.search("slugs ate the lettuce", NOW - HOUR, session="s2", directed_l2_id=kayak.scene_id)
            assert (other.scene_id, other.new_scene) == (kayak.scene_id, False)
            assert [topic.id for topic in other.contexts] == [kayak.new_topic_id]
            assert db.scenes.get(kayak.scene_id).topics == 2

    def test_directed_graph(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            boats = db.knowledge.put("boats", "kayak", "a kayak hull is laminated")
            db.knowledge.put("garden", "kayak planter", "a kayak can hold lettuce")
            db.remember("the kayak is in the shed")
            found = db.search("what is a kayak made of?", directed_l3_id=boats.graph_id)
            assert [hit.id for hit in found.hits] == [boats.id]
            assert db.topics.get(found.new_topic_id).knowledge == (boats.graph_id,)

    def test_auto_create_never_joins(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            text = "the kayak leaks at the stern"
            scenes = [db.search(text, NOW - HOUR + n, session="s", auto_create=True).scene_id for n in range(3)]
            assert len(set(scenes)) == 3


class TestScenes:
    def test_a_session_stays_in_its_scene_without_a_shared_word(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            said = [("the kayak leaks", "at the stern?"), ("yes", "how fast?"), ("a cup an hour", "that is much")]
            assert len(set(conversation(db, said, session="s"))) == 1

    def test_a_new_session_with_a_new_subject_is_a_new_scene(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            scenes = set()
            for number, turns in enumerate(SUBJECTS.values()):
                found = conversation(
                    db, [(turn, "") for turn in turns], session=f"s{number}", start=NOW - 9 * DAY + number * DAY
                )
                assert len(set(found)) == 1, turns
                scenes |= set(found)
            assert len(scenes) == len(SUBJECTS)

    def test_clear_evidence_leads_back_after_days(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            for number, turns in enumerate(SUBJECTS.values()):
                conversation(
                    db, [(turn, "") for turn in turns], session=f"s{number}", start=NOW - 20 * DAY + number * DAY
                )
            first = {hit.scene_id for hit in db.recall("kayak hull", limit=3).hits}
            back = db.search("the kayak hull", NOW - DAY, session="later")
            assert back.scene_id in first
            assert back.new_scene is False

    def test_hours_of_silence_end_a_scene(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            one = db.search("the kayak leaks at the stern", NOW - DAY, session="s")
            two = db.search("slugs are eating the lettuce", NOW - DAY + 5 * HOUR, session="s")
            assert two.scene_id != one.scene_id

    def test_no_scene_swallows_a_long_life(self, tmp_path: Path) -> None:
        """Scenes were once chosen by the sum over their topics: the largest one won every turn and grew."""
        with memory(tmp_path / "a.meh", durability="none") as db:
            sizes: Counter[str] = Counter()
            for day in range(20):
                for number, (subject, turns) in enumerate(SUBJECTS.items()):
                    start = NOW - 40 * DAY + day * DAY + number * 3 * HOUR
                    said = [(f"{turn} {subject}{day}", "I see") for turn in turns]
                    sizes.update(conversation(db, said, session=f"{subject}-{day}", start=start))
            assert max(sizes.values()) < 0.35 * sum(sizes.values()), sizes.most_common(3)
            assert len(sizes) >= len(SUBJECTS)
            assert sum(scene.topics for scene in every(db.scenes.list)) == sum(sizes.values())

    def test_another_project_is_another_scene(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            one = db.search("the kayak leaks at the stern", NOW, session="s", project="boats")
            two = db.search("the kayak leaks at the stern", NOW, session="s", project="garden")
            assert one.scene_id != two.scene_id
            assert db.scenes.get(two.scene_id).project == "garden"

    def test_contexts_are_bounded_and_hits_come_first(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            conversation(
                db, [(f"turn {number} of the talk", "") for number in range(30)], session="s", start=NOW - HOUR
            )
            wanted = db.recall("turn 3 of the talk").hits[0].topic_id
            found = db.search("turn 3 of the talk", NOW - HOUR + 31 * MINUTE, session="s")
            assert len(found.contexts) == 20
            assert found.contexts[0].id == wanted
            assert found.new_topic_id not in [topic.id for topic in found.contexts]


class TestAssociation:
    def test_scenes_recalled_together_bring_each_other_up(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            epoxy = db.search("marine epoxy hardens overnight", NOW - 9 * DAY, session="s1")
            varnish = db.search("yacht varnish yellows in sunlight", NOW - 5 * DAY, session="s2")
            both = db.search("epoxy or varnish for the kayak?", NOW - DAY, session="s3")
            assert len({epoxy.scene_id, varnish.scene_id, both.scene_id}) == 3
            for again in range(3):
                db.search("epoxy or varnish, once more?", NOW - DAY + again * MINUTE, session="s3")
            found = db.recall("does epoxy harden overnight?", limit=1)
            assert found.hits[0].scene_id == epoxy.scene_id
            up = [scene.id for scene in found.associated]
            assert both.scene_id in up
            assert all(0 < scene.activation <= 1 for scene in found.associated)
            assert epoxy.scene_id not in up
        with memory(tmp_path / "a.meh", clock=clock) as db:
            assert [scene.id for scene in db.recall("does epoxy harden overnight?", limit=1).associated] == up

    def test_nothing_shared_brings_up_nothing(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.search("marine epoxy hardens overnight", NOW - 9 * DAY, session="s1")
            db.search("slugs are eating the lettuce", NOW - 5 * DAY, session="s2")
            assert db.recall("epoxy").associated == ()


class TestTurnsWithANameOfTheHost:
    """A host that crashed between a call and its answer repeats the call."""

    def test_a_repeated_turn_is_stored_once(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            first = db.search("the kayak is in the shed", NOW, session="s", external_id="m1")
            reply = db.update(first.new_topic_id, "noted", NOW + 1, external_id="r1")
            before = db.stats().records
            again = db.search("the kayak is in the shed", NOW + 5, session="s", external_id="m1")
            assert (again.new_topic_id, again.message_id) == (first.new_topic_id, first.message_id)
            assert not again.new_scene
            assert db.update(first.new_topic_id, "noted", NOW + 6, external_id="r1").id == reply.id
            after = db.stats().records
            assert {kind: after[kind] for kind in ("message", "topic", "scene")} == {
                kind: before[kind] for kind in ("message", "topic", "scene")
            }
            assert [one.text for one in db.topics.messages(first.new_topic_id)] == ["the kayak is in the shed", "noted"]

    def test_the_same_name_in_another_session_is_another_turn(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            one = db.search("the kayak is in the shed", NOW, session="s", external_id="m1")
            other = db.search("the kayak is in the shed", NOW, session="t", external_id="m1")
            assert one.message_id != other.message_id

    def test_other_words_under_a_known_name_are_refused(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            turn = db.search("the kayak is in the shed", NOW, session="s", external_id="m1")
            db.update(turn.new_topic_id, "noted", NOW, external_id="r1")
            commit = db.stats().commit
            with pytest.raises(InvalidRequest, match="something else"):
                db.search("the canoe is in the shed", NOW, session="s", external_id="m1")
            with pytest.raises(InvalidRequest, match="something else"):
                db.update(turn.new_topic_id, "forgotten", NOW, external_id="r1")
            assert db.stats().commit == commit

    def test_a_name_of_a_message_without_a_turn_is_refused(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.archive.append_many([{"text": "from an import", "session": "s", "external_id": "m1", "at": NOW}])
            with pytest.raises(InvalidRequest, match="without a turn"):
                db.search("from an import", NOW, session="s", external_id="m1")
