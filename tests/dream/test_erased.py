"""What a dream made of a message goes with it, in every layer, and what is left is told anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop.common.ids import to_hex
from memhop.repo.l2_context import Topic
from tests.api.test_erasure import dangling
from tests.support.memories import DAY, MINUTE, NOW, memory

TURNS = (
    "the kayak hull leaks at the stern",
    "Qxzzy epoxy fixes the hull of the kayak",
    "I like Qxzzy epoxy for the kayak hull",
    "the kayak hull dried well with Qxzzy",
    "Qxzzy sells kayak hull paint",
    "my tax return is due in May",
    "the office wants tax forms",
    "send the tax return to Porto",
    "the tax office answered",
    "lettuce slugs ate everything",
    "copper stops the slugs",
    "beer traps for slugs",
    "violin strings broke",
    "new violin strings are gold",
)


@pytest.mark.parametrize("keep_history", [True, False])
@pytest.mark.parametrize("whole", [False, True])
def test_no_word_is_left_and_summaries_are_drawn_anew(tmp_path: Path, keep_history: bool, whole: bool) -> None:
    """A deleted memory once went on answering out of the graph and the summaries that were made of it."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.archive.append_many(
            {"text": text, "at": NOW - DAY + n * MINUTE, "session": "s", "speaker": "Ann"}
            for n, text in enumerate(TURNS)
        )
        db.dream()
        holding = [topic for topic in db._store.scan(Topic) if "Qxzzy" in topic.summary]
        assert holding
        assert "term.qxzzy" in {line.name.casefold() for line in db.profile.get().derived}
        if whole:
            (scene,) = {to_hex(topic.scene) for topic in holding}
            db.scenes.delete(scene)
        else:
            for message in db.archive.list().items:
                if "Qxzzy" in message.text:
                    db.forget(message.id, hard=True)
            for topic in holding:
                left = db.topics.get(to_hex(topic.id))
                assert left.summary == "Ann: the kayak hull leaks at the stern"
                (statement,) = left.statements
                assert db.archive.get(statement.message_ids[0]).text == TURNS[0]
        assert dangling(db) == []
        db.dream()
        assert all("qxzzy" not in hit.text.casefold() for hit in db.recall("Qxzzy epoxy").hits)
        assert db.verify(deep=True).ok
        db.compact(keep_history=keep_history)
    assert b"qxzzy" not in path.read_bytes().lower()
