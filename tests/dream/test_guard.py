"""The rules that bind a dream hold whatever is proposed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memhop.dream.guard import BUDGET, CHANGED, UNFINISHED, Guard
from memhop.dream.stage import Change
from memhop.repo.l0_profile import Profile, ProfileChange, ProfileLine
from memhop.repo.l1_engram import Engram, Hyperedge
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l3_facts import Fact
from memhop.repo.l3_knowledge import Graph, KnowledgeNode
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from memhop.repo.l5_capability import Capability
from memhop.repo.l6_usage import Usage
from memhop.repo.record import Record

SCENE = Scene(id=1, name="boats", fresh=3)
TOPIC = Topic(id=2, scene=1, messages=(3,))
SAID = Message(id=3, text="the kayak leaks", scene=1, topic=2)
LOOSE = Message(id=4, text="appended")
NOTE = Note(id=5, text="a note")
ENGRAM = Engram(id=6, scene=1)
PINNED = Scene(id=7, name="kept", pinned=True)
IN_PINNED = Topic(id=8, scene=7)
EDITED = Topic(id=9, scene=1, edited=True)
LINE = ProfileLine(id=10, name="term.kayak", value="3", evidence=(3,))
CHANGE = ProfileChange(id=11, field="name")
EDGE = Hyperedge(id=12, relation="temporal", scenes=(1, 7), weight=0.5)
KEPT = (SCENE, TOPIC, SAID, LOOSE, NOTE, ENGRAM, PINNED, IN_PINNED, EDITED, LINE, CHANGE, EDGE)


class Records:
    """Records by id."""

    def __init__(self, *records: Record) -> None:
        self.by_id = {record.id: record for record in records}

    def record(self, id_: int) -> Record | None:
        return self.by_id.get(id_)

    def kind_of(self, id_: int) -> int | None:
        return self.by_id[id_].KIND if id_ in self.by_id else None


def refusal(change: Change, *, most: int = 50, undone: tuple[int, ...] = (), kept: tuple[Record, ...] = KEPT) -> str:
    return Guard(most, lambda: undone).refusal(change, Records(*kept))


def put(before: Record | None = None, /, **values: Any) -> Change:
    """A change of one record, planned on what it is."""
    assert before is not None
    return Change("x", "why", (before,), (msgspec.structs.replace(before, **values),))


def new(record: Record) -> Change:
    return Change("x", "why", (), (record,))


@pytest.mark.parametrize("record", [SCENE, TOPIC, SAID, NOTE, CHANGE], ids=lambda record: type(record).__name__)
def test_only_what_was_derived_is_deleted(record: Record) -> None:
    assert "never deleted" in refusal(Change("x", "why", (record,), (), (record,)))


@pytest.mark.parametrize("record", [ENGRAM, LINE, EDGE], ids=lambda record: type(record).__name__)
def test_what_was_derived_may_be_deleted(record: Record) -> None:
    assert not refusal(Change("x", "why", (record,), (), (record,)))


def test_no_word_of_a_message_is_changed() -> None:
    for values in ({"text": "it floats"}, {"role": "agent"}, {"at": 9}, {"speaker": "x"}, {"session": "y"}):
        assert refusal(put(SAID, **values)) == "what was said is never changed"
    assert refusal(put(LOOSE, text="other", scene=1, topic=2)) == "what was said is never changed"
    assert not refusal(put(LOOSE, scene=1, topic=2))


@pytest.mark.parametrize(
    "record",
    [
        Message(id=99, text="new"), Note(id=99, text="new"), Fact(id=99, subject="a", predicate="b", value="c"),
        Profile(id=99, name="me"), Capability(id=99, name="c", type="skill"), Graph(id=99, name="g"),
        KnowledgeNode(id=99, graph=0, title="t"), Usage(id=99, target=5),
    ],
    ids=lambda record: type(record).__name__,
)  # fmt: skip
def test_words_of_others_are_not_a_dreams_to_write(record: Record) -> None:
    assert "not a dream's to write" in refusal(new(record))
    assert "not a dream's to write" in refusal(put(record, id=99), kept=(record,)) or isinstance(record, Message)


def test_pinned_and_edited_things_stay() -> None:
    assert refusal(put(PINNED, name="other")) == "pinned"
    assert not refusal(put(PINNED, fresh=0, last_at=9))
    assert refusal(put(IN_PINNED, depth=2)) == "pinned"
    assert refusal(put(EDITED, depth=2)) == "edited by the host"
    mine = Scene(id=20, name="mine", edited=True)
    assert refusal(put(mine, name="theirs"), kept=(mine,)) == "edited by the host"


def test_a_topic_keeps_its_messages() -> None:
    assert refusal(put(TOPIC, messages=())) == "no message is taken out of a topic"
    assert not refusal(put(TOPIC, messages=(3, 4)))


def test_what_was_planned_on_something_else_is_not_done() -> None:
    stale = msgspec.structs.replace(SCENE, fresh=2)
    assert refusal(Change("x", "why", (stale,), (msgspec.structs.replace(SCENE, fresh=0),))) == CHANGED
    assert refusal(Change("x", "why", (), (msgspec.structs.replace(SCENE, fresh=0),))) == CHANGED, "it was not read"
    gone = Engram(id=77, scene=1)
    assert refusal(Change("x", "why", (), (), (gone,))) == CHANGED


def test_invented_ids_are_refused() -> None:
    assert (
        refusal(new(ProfileLine(id=99, name="n", value="v", evidence=(3, 12345)))) == "it refers to what is not there"
    )
    assert refusal(new(Engram(id=99, scene=5))) == "it refers to the wrong kind of record"
    dangling = msgspec.structs.replace(TOPIC, graphs=(555,))
    assert not refusal(put(dangling, depth=2), kept=(SCENE, SAID, dangling)), "that was so before"


def test_a_fused_topic_that_was_undone_stays_away() -> None:
    fused = Topic(id=99, scene=1, children=(2,), summary="s")
    absorbed = msgspec.structs.replace(TOPIC, parent=99, depth=2)
    change = Change("x", "why", (TOPIC,), (fused, absorbed))
    assert not refusal(change)
    assert refusal(change, undone=(99,)) == "undone before"


def test_the_share_binds_what_was_there_and_counts_each_record_once() -> None:
    topics = tuple(Topic(id=100 + n, scene=1) for n in range(4))
    guard, now = Guard(2, lambda: ()), Records(SCENE, LOOSE, *topics)
    for topic in (topics[0], topics[1]):
        assert not guard.refusal(put(topic, depth=2), now)
    assert not guard.refusal(put(topics[0], depth=3), now), "counted already"
    assert guard.refusal(put(topics[2], depth=2), now) == BUDGET
    assert not guard.refusal(new(Topic(id=200, scene=1)), now), "new ones are free"
    assert not guard.refusal(put(LOOSE, scene=1), now), "finding a place is free"
    assert not guard.refusal(put(Scene(id=300, name="s", fresh=2), fresh=0), Records(Scene(id=300, name="s", fresh=2)))
    assert guard.refusal(put(SCENE, fresh=0), now) == UNFINISHED, "a topic of it waits"


def test_what_a_run_made_it_may_change() -> None:
    guard, made = Guard(0, lambda: ()), Topic(id=200, scene=1)
    assert not guard.refusal(new(made), Records(SCENE))
    assert not guard.refusal(put(made, depth=2), Records(SCENE, made))
