"""Scenes and topics merged, split, fused, taken apart and deleted in whatever order, with dreams and their undoing in
between: each message that is left stands in one place, in its order, with everything that names it, and no reference
leads nowhere."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memhop.common.clock import ManualClock
from memhop.repo.l2_context import Topic
from tests.api.test_erasure import dangling
from tests.support.memories import MINUTE, NOW, every, memory

places = st.integers(0, 99)


class Regrouping(RuleBasedStateMachine):
    """Scenes and topics are chosen by their place in the listings, so that every example can be read."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memhop-"))
        self.db = memory(self.folder / "a.meh", clock=ManualClock(NOW), durability="none")
        self.words: dict[str, str] = {}  # message -> its text
        self.count = 0

    def teardown(self) -> None:
        try:
            report = self.db.verify(deep=True)
            assert report.ok, report.problems
        finally:
            self.db.close()
            shutil.rmtree(self.folder)

    @initialize()
    def begin(self) -> None:
        for turns in (10, 4, 3):  # enough for a dream to fuse some of the first
            for turn in range(turns):
                self.say(0, new=turn == 0)  # the scene of the newest turn

    def scenes(self) -> list[str]:
        return [scene.id for scene in every(self.db.scenes.list, page=50)]

    def topics(self, scene: str) -> list[str]:
        return [topic.id for topic in every(lambda **page: self.db.topics.list(scene, **page), page=50)]

    def roots(self, scene: str) -> list[str]:
        return [id_ for id_ in self.topics(scene) if self.db.topics.get(id_).parent is None]

    def chosen(self, place: int) -> str:
        known = self.scenes()
        return known[place % len(known)]

    @rule(place=places, new=st.booleans())
    def say(self, place: int, new: bool) -> None:
        self.count += 1
        known = self.scenes()
        where = {"auto_create": True} if new or not known else {"directed_l2_id": known[place % len(known)]}
        subject = ("boat hull varnish", "tax return office", "violin string bow")[self.count // 3 % 3]
        text = f"the {subject} and word{self.count}"
        found = self.db.search(text, NOW - 10_000 * MINUTE + self.count * MINUTE, **where)
        reply = self.db.update(found.new_topic_id, f"reply{self.count}", NOW)
        self.words |= {found.message_id: text, reply.id: reply.text}

    @precondition(lambda self: len(self.scenes()) > 1)
    @rule(one=places, two=places)
    def merge_scenes(self, one: int, two: int) -> None:
        if self.chosen(one) != self.chosen(two):
            self.db.scenes.merge(self.chosen(one), [self.chosen(two)])

    @precondition(lambda self: self.scenes())
    @rule(place=places, often=st.integers(1, 4), named=st.booleans())
    def split_scene(self, place: int, often: int, named: bool) -> None:
        scene = self.chosen(place)
        ids = self.roots(scene)
        if len(ids) > 1:
            self.db.scenes.split(scene, ids[1::often], "mine" if named else None)

    @precondition(lambda self: self.scenes())
    @rule(place=places, start=st.integers(0, 3), number=st.integers(2, 4))
    def merge_topics(self, place: int, start: int, number: int) -> None:
        ids = self.roots(self.chosen(place))
        if len(ids) > 1:
            start = min(start, len(ids) - 2)
            self.db.topics.merge(ids[start : start + number])

    def fused(self) -> list[str]:
        return sorted(id_ for scene in self.scenes() for id_ in self.topics(scene) if self.db.topics.get(id_).children)

    @precondition(lambda self: self.fused())
    @rule(which=places)
    def unmerge(self, which: int) -> None:
        known = self.fused()
        self.db.topics.unmerge(known[which % len(known)])

    @precondition(lambda self: len(self.words) > 12)
    @rule(place=places, which=places)
    def delete_topic(self, place: int, which: int) -> None:
        ids = self.topics(self.chosen(place))
        id_ = ids[which % len(ids)]
        gone = [message.id for message in self.db.topics.messages(id_)]
        assert sorted(self.db.topics.delete(id_).message_ids) == sorted(gone)
        for message in gone:
            del self.words[message]

    @precondition(lambda self: len(self.scenes()) > 3)
    @rule(place=places)
    def delete_scene(self, place: int) -> None:
        for message in self.db.scenes.delete(self.chosen(place)).message_ids:
            del self.words[message]

    @precondition(lambda self: self.words)
    @rule(which=places)
    def forget(self, which: int) -> None:
        ids = sorted(self.words)
        gone = ids[which % len(ids)]
        self.db.forget(gone, hard=True)
        del self.words[gone]

    @precondition(lambda self: self.scenes())
    @rule(place=places)
    def rename(self, place: int) -> None:
        self.db.scenes.rename(self.chosen(place), "a name")

    @rule()
    def dream(self) -> None:
        self.db.dream()
        assert self.db.dream().changed == 0, "there is nothing new"

    @rule()
    def undo(self) -> None:
        """The newest dream that changed something, as far as nobody has built on it."""
        newest = [dream for dream in self.db.dreams.list().items if dream.undoable]
        if newest:
            self.db.dreams.undo(newest[0].number)

    @invariant()
    def every_message_stands_in_one_place_and_in_order(self) -> None:
        for depth in (1, 4):
            seen: list[str] = []
            for scene in self.scenes():
                for topic in self.db.scenes.context(scene, depth=depth, limit=100).topics:
                    assert [one.at for one in topic.messages] == sorted(one.at for one in topic.messages)
                    assert all(one.scene_id == scene for one in topic.messages)
                    assert all(one.text == self.words[one.id] for one in topic.messages)
                    seen += [one.id for one in topic.messages]
            assert sorted(seen) == sorted(self.words)

    @invariant()
    def families_hang_together(self) -> None:
        assert dangling(self.db) == []
        topics = {topic.id: topic for topic in self.db._store.scan(Topic)}
        for topic in topics.values():
            assert all(topics[id_].parent == topic.id for id_ in topic.children)
            assert topic.depth in (4, topics[topic.parent].depth + 1 if topic.parent else 1)
            if topic.parent:
                assert topic.id in topics[topic.parent].children
                assert topic.scene == topics[topic.parent].scene


TestRegrouping = Regrouping.TestCase
TestRegrouping.settings = settings(max_examples=20, stateful_step_count=30, derandomize=True, deadline=None)
