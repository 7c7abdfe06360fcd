"""Messages that were only appended get scenes and topics, and nothing else of them changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memhop import DB
from memhop.common.ids import from_hex
from memhop.dream.placing import PAUSE_MS, SCENE_TOPICS, TOPIC_MESSAGES, Placing
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l4_archive import LOOSE, Message
from tests.support.dreaming import dream_of
from tests.support.memories import DAY, HOUR, MINUTE, NOW, memory

TALK = (
    ("user", "the kayak leaks at the stern seam"),
    ("agent", "sand the seam and seal it with marine epoxy"),
    ("user", "which epoxy cures in the cold"),
    ("agent", "one with a fast hardener"),
    ("tool", "epoxy catalogue, page 4"),
)


def said(session: str = "", start: int = NOW - DAY, turns: Any = TALK, **more: str) -> list[dict[str, Any]]:
    return [
        {"text": text, "role": role, "at": start + number * MINUTE, "session": session, **more}
        for number, (role, text) in enumerate(turns)
    ]


def shape(db: DB) -> list[list[list[str]]]:
    """Scenes of topics of texts, in the order of time."""
    found = []
    for scene in sorted(db._store.scan(Scene), key=lambda scene: (scene.created_at, scene.project)):
        topics = sorted(
            (topic for topic in db._store.scan(Topic) if topic.scene == scene.id), key=lambda topic: topic.user_at
        )
        found.append([[db._store.get(Message, id_).text for id_ in topic.messages] for topic in topics])
    return found


def test_a_turn_is_a_message_of_the_user_and_what_follows(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.archive.append_many(said("one"))
        dream_of(db, Placing())
        assert shape(db) == [[[text for _, text in TALK[:2]], [text for _, text in TALK[2:]]]]
        (scene,) = db._store.scan(Scene)
        assert (scene.session, scene.fresh) == ("one", len(TALK))
        assert (scene.created_at, scene.last_at) == (NOW - DAY, NOW - DAY + 4 * MINUTE)
        assert scene.name.endswith("(27 May 2026)")
        assert "epoxy" in scene.name
        (hit,) = db.recall("kayak stern seam", limit=1, scene=f"{scene.id:016x}").hits
        assert hit.text == TALK[0][1]
        assert db.verify(deep=True).ok


@pytest.mark.parametrize("sealed", [False, True])
def test_what_was_said_at_one_time_stays_in_the_order_it_came(tmp_path: Path, sealed: bool) -> None:
    """An import that knows only the day of a conversation got turns made of its lines in the order of their ids: each
    question with the answer to another one."""
    lines = [(role, f"{role} {number}") for number in range(9) for role in ("user", "agent")]
    with memory(tmp_path / "a.meh") as db:
        for start in (0, 6, 12):
            turns = lines[start : start + 6]
            db.archive.append_many({**one, "at": NOW - DAY} for one in said("one", turns=turns))
            if sealed:
                db.checkpoint()
        dream_of(db, Placing())
        (topics,) = shape(db)
        assert sorted(topics) == [[f"user {number}", f"agent {number}"] for number in range(9)]


def test_only_scene_and_topic_of_a_message_are_filled_in(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        ids = db.archive.append_many(said("one", speaker="Ann", project="boats"))
        before = [db._store.get(Message, from_hex(id_)) for id_ in ids]
        dream_of(db, Placing())
        after = [db._store.get(Message, from_hex(id_)) for id_ in ids]
        assert all(message.scene and message.topic for message in after)
        assert [msgspec.structs.replace(message, scene=0, topic=0) for message in after] == before
        assert db._store.places(LOOSE, limit=10) == []


def test_two_who_both_speak_as_users_take_turns(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        lines = [("Ann", "a"), ("Ben", "b"), ("Ben", "c"), ("Ann", "d"), ("Ann", "e"), ("Ben", "f")]
        db.archive.append_many(
            [
                {"text": text, "speaker": who, "session": "one", "at": NOW - DAY + number}
                for number, (who, text) in enumerate(lines)
            ]
        )
        dream_of(db, Placing())
        assert shape(db) == [[["a", "b", "c"], ["d"], ["e", "f"]]]


def test_scenes_end_at_pauses_sessions_projects_and_when_they_are_full(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        start = NOW - 5 * DAY
        db.archive.append_many(said("one", start, [("user", "a1")]))
        db.archive.append_many(said("one", start + PAUSE_MS, [("user", "a2")]))  # not over it
        db.archive.append_many(said("one", start + 2 * PAUSE_MS + 1, [("user", "a3")]))
        db.archive.append_many(said("two", start + 1, [("user", "b1")]))
        db.archive.append_many(said("one", start + 2, [("user", "c1")], project="boats"))
        nameless = NOW - 3 * DAY
        db.archive.append_many(said("", nameless, [("user", "d1")]))
        db.archive.append_many(said("", nameless + 30 * MINUTE, [("agent", "d2")]))
        db.archive.append_many(said("", nameless + 61 * MINUTE, [("user", "e1")]))
        many = [("user", f"f{number}") for number in range(SCENE_TOPICS + 1)]
        db.archive.append_many(said("three", NOW - 2 * DAY, many))
        long = [("user", "g0")] + [("agent", f"g{number}") for number in range(1, TOPIC_MESSAGES + 1)]
        db.archive.append_many(said("four", NOW - DAY, long))
        dream_of(db, Placing())
        found = shape(db)
        assert sorted(found[:4]) == [[["a1"], ["a2"]], [["a3"]], [["b1"]], [["c1"]]]
        assert found[4:6] == [[["d1", "d2"]], [["e1"]]]
        assert [len(scene) for scene in found[6:8]] == [SCENE_TOPICS, 1]
        assert [len(topic) for topic in found[8]] == [TOPIC_MESSAGES, 1]


def test_what_comes_later_goes_on_with_the_scene(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.archive.append_many(said("one", NOW - DAY, [("user", "first"), ("agent", "yes")]))
        dream_of(db, Placing())
        db.archive.append_many(said("one", NOW - DAY + 2 * HOUR, [("user", "second")]))
        db.archive.append_many(said("one", NOW - DAY + 9 * HOUR, [("user", "third")]))
        dream_of(db, Placing())
        assert shape(db) == [[["first", "yes"], ["second"]], [["third"]]]
        first = min(db._store.scan(Scene), key=lambda scene: scene.created_at)
        assert (first.fresh, first.last_at) == (3, NOW - DAY + 2 * HOUR)


def test_a_scene_that_is_pinned_does_not_go_on(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.archive.append_many(said("one", NOW - DAY, [("user", "first")]))
        dream_of(db, Placing())
        (scene,) = db._store.scan(Scene)
        with db._store.writing() as batch:
            batch.put(msgspec.structs.replace(scene, pinned=True))
        db.archive.append_many(said("one", NOW - DAY + HOUR, [("user", "second")]))
        dream_of(db, Placing())
        assert shape(db) == [[["first"]], [["second"]]]


def test_a_dream_for_one_scene_places_nothing(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        found = db.search("the kayak leaks", NOW - DAY, session="one")
        db.archive.append_many(said("two"))
        db._dreamer.stages = lambda *, model: (Placing(),)
        assert db.dream(scene=found.scene_id).changed == 0
        assert db.dream().changed > 0


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["user", "agent", "tool"]),
            st.sampled_from(["", "Ann", "Ben"]),
            st.sampled_from(["", "one", "two"]),
            st.integers(0, 3 * DAY // HOUR).map(lambda hours: NOW - 4 * DAY + hours * HOUR),
        ),
        min_size=1,
        max_size=60,
    ),
    st.integers(1, 60),
)
def test_every_message_is_placed_once_whatever_came_before(tmp_path_factory: Any, lines: Any, first: int) -> None:
    """Also in two dreams, with messages in between that lie before those which were placed already."""
    items = [
        {"text": f"message {number}", "role": role, "speaker": who, "session": session, "at": at}
        for number, (role, who, session, at) in enumerate(lines)
    ]
    with memory(tmp_path_factory.mktemp("placing") / "a.meh") as db:
        for part in (items[:first], items[first:]):
            if part:
                db.archive.append_many(part)
                dream_of(db, Placing())
        assert dream_of(db, Placing()).changed == 0
        topics = {topic.id: topic for topic in db._store.scan(Topic)}
        listed = [id_ for topic in topics.values() for id_ in topic.messages]
        assert sorted(listed) == sorted(message.id for message in db._store.scan(Message))
        for message in db._store.scan(Message):
            topic = topics[message.topic]
            assert message.id in topic.messages
            scene = db._store.get(Scene, topic.scene)
            assert (message.scene, message.session, message.project) == (scene.id, scene.session, scene.project)
            assert message.at <= scene.last_at
        assert db.verify(deep=True).ok
