"""Neighbouring topics are put under a fused one; nothing is lost, and nothing is told that was not said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from memhop import DB, HashEmbedder
from memhop.common.ids import from_hex, to_hex
from memhop.dream import compress
from memhop.dream.compress import NEWEST, Compress
from memhop.dream.placing import Placing
from memhop.models import offline
from memhop.models.material import Block, Group, Statement
from memhop.repo.l2_context import FRESH_SCENES, Scene, Topic, fused_id
from memhop.repo.l4_archive import Message
from tests.support.dreaming import dream_of, skipped
from tests.support.memories import DAY, MINUTE, NOW, memory

SUBJECTS = (
    ("the kayak leaks at the stern seam", "sand the kayak seam and seal the stern with epoxy"),
    ("which epoxy seals a kayak seam in the cold", "epoxy with a fast hardener seals the seam of a kayak"),
    ("the roses in the garden have black spots", "prune the roses and spray the garden against black spots"),
    ("how often do I spray roses in the garden", "spray the garden roses each week until the spots are gone"),
)


def talk(db: DB, turns: Sequence[tuple[str, str]], *, start: int = NOW - DAY, session: str = "one") -> Scene:
    """Append a conversation of one scene, and place it."""
    items = []
    for number, (asked, answered) in enumerate(turns):
        at = start + number * 2 * MINUTE
        items.append({"text": asked, "role": "user", "at": at, "session": session})
        items.append({"text": answered, "role": "agent", "at": at + MINUTE, "session": session})
    db.archive.append_many(items)
    dream_of(db, Placing())
    (scene,) = (scene for scene in db._store.scan(Scene) if scene.session == session)
    return scene


def filler(count: int = NEWEST) -> list[tuple[str, str]]:
    """The newest topics, which are not fused."""
    words = "alpha bravo charlie delta foxtrot golf hotel india juliet lima".split()
    return [(f"{words[number]} is up", f"{words[number]} indeed") for number in range(count)]


def fused(db: DB) -> list[Topic]:
    return sorted((topic for topic in db._store.scan(Topic) if topic.children), key=lambda topic: topic.user_at)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[DB]:
    with memory(tmp_path / "a.meh") as opened:
        yield opened
        assert opened.verify(deep=True).ok


def pairs(monkeypatch: pytest.MonkeyPatch, size: int = 2) -> list[list[str]]:
    """Group what is given by twos, whatever it says; gives what was offered."""
    offered: list[list[str]] = []

    def consolidate(blocks: Sequence[Block]) -> tuple[Group, ...]:
        offered.append([block.id for block in blocks])
        found = []
        for at in range(0, len(blocks) - size + 1, size):
            members = blocks[at : at + size]
            stated = tuple(Statement(block.turns[0].text, (block.turns[0].id,)) for block in members)
            found.append(Group(tuple(block.id for block in members), stated, ("word",)))
        return tuple(found)

    monkeypatch.setattr(offline, "consolidate", consolidate)
    return offered


def test_what_speaks_of_one_thing_is_fused_and_cited(db: DB) -> None:
    scene = talk(db, [*SUBJECTS, *filler()])
    before = {message.id: message for message in db._store.scan(Message)}
    dream_of(db, Compress())
    found = fused(db)
    assert len(found) == 2
    for topic, subject in zip(found, ("kayak", "roses"), strict=True):
        assert topic.scene == scene.id
        assert topic.depth == 1
        assert topic.id == fused_id(scene.id, tuple(sorted(topic.children)))
        assert subject in " ".join(topic.user_keywords)
        members = [db._store.get(Topic, id_) for id_ in topic.children]
        assert [(member.depth, member.parent) for member in members] == [(2, topic.id)] * 2
        assert topic.user_at == members[0].user_at
        assert topic.agent_at == members[-1].agent_at
        said = {id_ for member in members for id_ in member.messages}
        assert set(topic.sources) <= said
        start = 0
        for source, end in zip(topic.sources, topic.ends, strict=True):
            statement = topic.summary[start:end].strip()
            assert statement in before[source].text
            start = end
        assert start == len(topic.summary)
    assert {message.id: message for message in db._store.scan(Message)} == before
    assert db._store.get(Scene, scene.id).fresh == 0


def test_the_second_dream_changes_nothing(db: DB) -> None:
    talk(db, [*SUBJECTS, *filler()])
    assert dream_of(db, Compress()).changed > 0
    commit = db.stats().commit
    assert dream_of(db, Compress()).changed == 0
    assert db.stats().commit == commit


def test_fused_topics_are_found_where_they_are_asked_for_and_change_nothing_elsewhere(db: DB) -> None:
    """Fused topics, being searchable, once pushed messages out of the first ten, and changed what words are rare."""
    talk(db, [*SUBJECTS, *filler()])
    questions = ("epoxy for a kayak seam", "roses with spots", "what is up with bravo")
    before = [[(hit.id, hit.score) for hit in db.recall(question).hits] for question in questions]
    dream_of(db, Compress())
    assert [[(hit.id, hit.score) for hit in db.recall(question).hits] for question in questions] == before
    (hit, *_) = db.recall("epoxy kayak", layers=["topics"]).hits
    assert (hit.layer, hit.id) == ("topics", to_hex(fused(db)[0].id))
    both = db.recall("epoxy kayak seam stern", layers=["topics", "messages"], limit=50).hits
    assert [hit.layer for hit in both][:4] == ["messages"] * 4
    assert db.why_not(to_hex(fused(db)[0].id), "epoxy kayak").reason == "left out by the filter layers"
    told = db.recall("epoxy kayak", explain=True).explanation
    assert told is not None
    assert told["filters_left_out"] == {"layers": 2}


def test_a_fused_topic_is_not_repeated_behind_all_that_it_cites(db: DB) -> None:
    talk(db, [*SUBJECTS, *filler()])
    dream_of(db, Compress())
    hits = db.recall("kayak seam epoxy stern cold hardener", layers=["topics", "messages"], limit=100).hits
    there = {from_hex(hit.id) for hit in hits if hit.layer == "messages"}
    assert set(fused(db)[0].sources) <= there
    assert to_hex(fused(db)[0].id) not in [hit.id for hit in hits]


def test_fused_topics_are_not_embedded(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(16)) as db:
        talk(db, [*SUBJECTS, *filler()])
        db.backfill()
        dream_of(db, Compress())
        assert fused(db)
        assert db.pending().without_vector == 0
        assert db.backfill().embedded == 0


def test_small_scenes_and_the_newest_topics_stay_as_they_are(db: DB, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = pairs(monkeypatch)
    scene = talk(db, filler(4))
    report = dream_of(db, Compress())
    assert skipped(report, "compress") == {"the scene has too few topics": 1}
    assert db._store.get(Scene, scene.id).fresh == 0
    talk(db, filler(9), session="two")
    dream_of(db, Compress())
    topics = sorted(
        (topic for topic in db._store.scan(Topic) if topic.scene != scene.id and not topic.children),
        key=lambda topic: topic.user_at,
    )
    assert offered == [[to_hex(topic.id) for topic in topics[: 9 - NEWEST]]]
    assert [topic.depth for topic in topics] == [2] * 4 + [1] * 5


def test_what_is_pinned_or_edited_is_not_fused_and_parts_its_neighbours(
    db: DB, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = pairs(monkeypatch)
    talk(db, filler(10))
    topics = sorted(db._store.scan(Topic), key=lambda topic: topic.user_at)
    with db._store.writing() as batch:
        batch.put(msgspec.structs.replace(topics[2], pinned=True))
    report = dream_of(db, Compress())
    assert offered == [[to_hex(topic.id) for topic in part] for part in (topics[:2], topics[3:5])]
    assert skipped(report, "compress") == {"the topic is pinned or edited": 1}


def test_a_pinned_scene_is_left(db: DB) -> None:
    scene = talk(db, [*SUBJECTS, *filler()])
    with db._store.writing() as batch:
        batch.put(msgspec.structs.replace(scene, pinned=True))
    report = dream_of(db, Compress())
    assert report.changed == 0
    assert skipped(report, "compress") == {"the scene is pinned": 1}


def test_four_depths_are_reached_and_none_beyond(db: DB, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fused topics are fused again while the conversation goes on; nothing sinks below depth 4 or is lost."""
    pairs(monkeypatch)
    start = NOW - 3 * DAY
    depths = []
    for part in range(6):
        items = [
            {"text": f"part {part} turn {turn}", "at": start + (part * 8 + turn) * MINUTE, "session": "one"}
            for turn in range(8)
        ]
        db.archive.append_many(items)
        dream_of(db, Placing(), Compress())
        depths.append(max(topic.depth for topic in db._store.scan(Topic)))
    assert depths[0] == 2
    assert depths[-1] == 4
    topics = {topic.id: topic for topic in db._store.scan(Topic)}
    for topic in topics.values():
        for child in topic.children:
            assert topics[child].parent == topic.id
            assert topics[child].depth == topic.depth + 1
    assert {topic.depth for topic in topics.values()} == {1, 2, 3, 4}
    raw = {id_ for topic in topics.values() for id_ in topic.messages}
    assert raw == {message.id for message in db._store.scan(Message)}


def test_topics_that_contain_each_other_are_left(db: DB, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file can say anything: a topic among its own children must not make a dream go in circles."""
    pairs(monkeypatch)
    talk(db, filler(10))
    one, two, *_ = sorted(db._store.scan(Topic), key=lambda topic: topic.user_at)
    with db._store.writing() as batch:
        batch.put(msgspec.structs.replace(one, children=(two.id,), sources=one.messages[:1], ends=(1,), summary="x"))
        batch.put(msgspec.structs.replace(two, children=(one.id,), sources=two.messages[:1], ends=(1,), summary="x"))
    dream_of(db, Compress())
    assert all(not {one.id, two.id} & set(topic.children) for topic in fused(db) if topic.id not in (one.id, two.id))


@pytest.mark.parametrize(
    ("group", "reason"),
    [
        (lambda ids, said: Group((ids[0], "00000000000000ab"), (Statement("x", (said,)),), ()), "other members"),
        (lambda ids, said: Group((ids[0], ids[0]), (Statement("x", (said,)),), ()), "other members"),
        (lambda ids, said: Group(ids[:2], (Statement("x", ("00000000000000ab",)),), ()), "states nothing"),
        (lambda ids, said: Group(ids[:2], (Statement(" ", (said,)),), ()), "states nothing"),
    ],
)
def test_groups_that_do_not_do_are_counted(db: DB, monkeypatch: pytest.MonkeyPatch, group: object, reason: str) -> None:
    def consolidate(blocks: Sequence[Block]) -> tuple[Group, ...]:
        ids = tuple(block.id for block in blocks)
        return (group(ids, blocks[0].turns[0].id),)  # type: ignore[operator]

    monkeypatch.setattr(offline, "consolidate", consolidate)
    talk(db, filler(10))
    report = dream_of(db, Compress())
    assert not fused(db)
    (told,) = skipped(report, "compress")
    assert reason in told


def test_a_summary_is_bounded(db: DB, monkeypatch: pytest.MonkeyPatch) -> None:
    def consolidate(blocks: Sequence[Block]) -> tuple[Group, ...]:
        said = blocks[0].turns[0].id
        long = tuple(Statement("word " * 300, (said,)) for _ in range(100))
        return (Group(tuple(block.id for block in blocks[:2]), long, ()),)

    monkeypatch.setattr(offline, "consolidate", consolidate)
    talk(db, filler(10))
    dream_of(db, Compress())
    (topic,) = fused(db)
    assert len(topic.summary) <= compress.MOST_CHARS
    assert topic.ends[-1] == len(topic.summary)


def test_an_erased_message_leaves_no_word_in_a_fused_topic(db: DB) -> None:
    scene = talk(db, [*SUBJECTS, *filler()])
    dream_of(db, Compress())
    topic = fused(db)[0]
    gone = topic.sources[0]
    statement = db._store.get(Message, gone).text
    assert statement in topic.summary
    db.forget(to_hex(gone), hard=True)
    left = db._store.get(Topic, topic.id)
    assert statement not in left.summary
    assert gone not in left.sources
    others = " ".join(message.text for message in db._store.scan(Message))
    words = " ".join((db._store.get(Scene, scene.id).name, *left.user_keywords)).replace(",", " ").split()
    assert not [word for word in words if word in statement and word not in others]


def test_something_said_meanwhile_keeps_the_scene_fresh(db: DB) -> None:
    """The stage plans while others write: the scene it looked at is not the one that is there when it is done."""
    scene = talk(db, [*SUBJECTS, *filler()])

    class Interrupted(Compress):
        def plan(self, desk):  # type: ignore[no-untyped-def]
            for change in super().plan(desk):
                if change.what == "looked at":
                    with db._store.writing() as batch:
                        batch.put(msgspec.structs.replace(scene, fresh=scene.fresh + 1))
                yield change

    dream_of(db, Interrupted())
    assert [id_ for _, id_ in db._store.places(FRESH_SCENES, limit=10)] == [scene.id]
