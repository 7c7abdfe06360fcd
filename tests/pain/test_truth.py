"""What is true changes, and what a dream may do to it: each test is a complaint about a memory that got it wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benches import dream_packs
from memhop import DB
from memhop.models.chat import ChatModel
from tests.support.memories import DAY, HOUR, NOW, memory, texts
from tests.support.scripted_chat import Question, ScriptedChat


def told(db: DB, text: str, at: int, *, session: str) -> str:
    return db.search(text, at, session=session, token_budget=0).message_id


def said(db: DB) -> dict[str, str]:
    """Every raw text there is, by id: messages and notes."""
    messages = db.archive.list(limit=1000).items
    notes = db.notes.list(limit=1000).items
    return {item.id: item.text for item in (*messages, *notes)}


def test_row_54_love_then_hate(tmp_path: Path) -> None:
    """After "I love X" and "I hate X" the first was deleted as contradicted, the second not added: nothing was left."""
    with memory(tmp_path / "a.meh") as db:
        loved = told(db, "I love cilantro", NOW - 9 * DAY, session="one")
        hated = told(db, "I hate cilantro", NOW - DAY, session="two")
        db.facts.assert_("user", "about cilantro", "loves it", sources=[loved])
        db.facts.assert_("user", "about cilantro", "hates it", sources=[hated])
        db.dream()
        assert texts(db.recall("how do I feel about cilantro?", layers=["messages"])) == [
            "I hate cilantro",
            "I love cilantro",
        ]
        now, then = db.facts.list("user").items, db.facts.history("user", "about cilantro").items
        assert [fact.value for fact in now] == ["hates it"]
        assert {fact.value: (fact.valid_from, fact.valid_to) for fact in then} == {
            "loves it": (NOW - 9 * DAY, NOW - DAY),
            "hates it": (NOW - DAY, None),
        }


def test_row_56_vegetarian_then_steak(tmp_path: Path) -> None:
    """Both came back as true, in the order of their words."""
    with memory(tmp_path / "a.meh") as db:
        first = told(db, "I am a vegetarian and never eat meat", NOW - 90 * DAY, session="one")
        later = told(db, "I eat meat again, we had steak yesterday", NOW - DAY, session="two")
        db.facts.assert_("user", "eats", "no meat", sources=[first])
        db.facts.assert_("user", "eats", "meat", sources=[later])
        db.dream()
        found = db.recall("do I eat meat?", layers=["messages"])
        assert [hit.id for hit in found.hits] == [later, first]
        facts = db.recall("what about meat the user eats?", layers=["knowledge"]).hits
        assert [hit.superseded for hit in facts] == [False, True]
        assert db.facts.list("user").items[0].valid_from == NOW - NOW % DAY - 2 * DAY  # the steak was "yesterday"


def unruly(asked: Question) -> dict[str, Any]:
    """A model that would delete and merge everything it is shown, and names ids that do not exist."""
    labels = sorted(set(re.findall(r"\[([mt]\d+)", asked.user)))
    (key,) = (asked.schema or {"properties": {"items": None}})["properties"]
    everything = {"text": "Everything is the same.", "sources": [*labels, "m9999"]}
    return {
        "groups": {key: [{"topics": [*labels, "t9999"], "statements": [everything], "keywords": ["delete"]}]},
        "items": {key: [{"id": label, "keywords": ["delete", "everything"]} for label in (*labels, "m9999")]},
        "lines": {key: [{"name": "fact.all", "value": "delete", "confidence": 1.0, "evidence": ["m1", "m9999"]}]},
    }.get(key, {key: []})


@pytest.mark.parametrize("llm", [None, ScriptedChat(unruly)], ids=["offline", "unruly model"])
def test_row_63_thirty_dreams_lose_nothing(tmp_path: Path, llm: ChatModel | None) -> None:
    """A nightly dream deleted a quarter of a memory for good in three days; high importance was no protection."""
    with memory(tmp_path / "a.meh", llm=llm, durability="none") as db:
        for number in range(75):
            db.remember(f"note {number}: the shelf {number % 7} holds box {number}")
            told(db, f"box {number} of shelf {number % 7} was counted", NOW - DAY + number * 60_000, session="count")
        before = said(db)
        assert len(before) == 150
        for number in range(30):
            told(db, f"another box, {number}, came to shelf {number % 7}", NOW - HOUR + number, session="more")
            db.dream()
        after = said(db)
        assert before.items() <= after.items()
        assert len(after) == 180
        for report in db.dreams.list(limit=50).items:
            assert report.state == "done"


@pytest.mark.parametrize("way", dream_packs.WAYS)
def test_row_64_look_alikes_are_never_merged(tmp_path: Path, way: str) -> None:
    """Two facts that differ in one value have nearly the same vector: they were merged, and neither was found."""
    figures = dream_packs.measure(dream_packs.load("lookalikes"), way, None, ["dev"])["dev"]
    for figure in figures.values():
        assert {name: figure[name] for name in ("kept", "apart", "both@10")} == dict.fromkeys(
            ("kept", "apart", "both@10"), 100.0
        )


def test_row_65_a_dream_is_listed_reversible_and_off_unless_asked(tmp_path: Path) -> None:
    """Bodies were glued together unattended, without a trace or a switch."""
    with memory(tmp_path / "a.meh") as db:
        for number in range(24):
            told(
                db, f"the walnut cake of {number % 3} needs {number} walnuts", NOW - DAY + number * 60_000, session="s"
            )
        assert db.dreams.list().items == ()  # nothing dreams by itself
        raw = said(db)
        report = db.dream()
        assert report.number is not None
        assert any(topic.statements for topic in every_topic(db))
        assert len(db.dreams.diff(report.number, limit=50).items) > 0
        assert [each.number for each in db.dreams.list().items] == [report.number]
        db.dreams.undo(report.number)
        assert not any(topic.statements for topic in every_topic(db))
        assert said(db) == raw


def every_topic(db: DB) -> list[Any]:
    return [topic for scene in db.scenes.list().items for topic in db.topics.list(scene.id, limit=1000).items]


@pytest.mark.parametrize("llm", [None, ScriptedChat(unruly)], ids=["offline", "unruly model"])
def test_row_68_what_the_user_wrote_by_hand_stays_as_it_is(tmp_path: Path, llm: ChatModel | None) -> None:
    """A background agent deleted what the user had written, because the agent had noted something like it."""
    with memory(tmp_path / "a.meh", llm=llm) as db:
        by_hand = db.notes.get(db.remember("The gate code is 4471.", tags=["mine"]).id)
        loose = db.notes.get(db.remember("The gate code is 4471, I think.", source="agent").id)
        for number in range(12):
            told(db, f"The gate code is 4471, entry {number}.", NOW - DAY + number * 60_000, session="s")
        for _ in range(2):
            db.dream()
        assert db.notes.get(by_hand.id) == by_hand
        assert db.notes.get(loose.id) == loose
