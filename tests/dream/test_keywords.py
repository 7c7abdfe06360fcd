"""The stage that has a model find keywords for turns. The memory is real, the model is a script."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import msgspec
import pytest

from memhop import DB
from memhop.common.errors import ChatError
from memhop.common.ids import from_hex
from memhop.dream.keywords import BATCH_TEXTS, PATIENCE, Keywords
from memhop.dream.stage import Change, Desk
from memhop.repo.l2_context import UNREFINED, Topic
from tests.support.memories import NOW, memory
from tests.support.scripted_chat import Answered, Question, ScriptedChat


@pytest.fixture
def db(tmp_path: Path) -> Iterator[DB]:
    with memory(tmp_path / "agent.meh") as db:
        yield db


class Run:
    """The stage once over a memory, each change applied as it comes, as far as it still holds."""

    def __init__(
        self,
        db: DB,
        chat: ScriptedChat | None,
        *,
        scene: int = 0,
        apply: bool = True,
        stopping: Callable[[], bool] = bool,
    ) -> None:
        self.read = 0
        self.skipped: Counter[str] = Counter()
        self.changes: list[Change] = []
        store = db._store

        def looked_at(count: int) -> None:
            self.read += count

        def skip(reason: str, count: int = 1) -> None:
            self.skipped[reason] += count

        desk = Desk(store, chat, NOW, scene, 5, looked_at, skip, stopping)
        for change in Keywords().plan(desk):
            self.changes.append(change)
            if apply and all(store.record(record.id) == record for record in change.reads):
                with store.writing() as batch:
                    for record in change.puts:
                        batch.put(record)


def turns(db: DB, *texts: str) -> list[int]:
    return [from_hex(db.search(text, NOW - 1_000 + at, auto_create=True).new_topic_id) for at, text in enumerate(texts)]


def topic(db: DB, id_: int) -> Topic:
    return db._store.get(Topic, id_)


def waiting(db: DB) -> int:
    return len(db._store.places(UNREFINED, limit=1_000))


def first_word(question: Question) -> Answered:
    """Of each text its first word."""
    found = re.findall(r"^\[(m\d+),[^\n]*\n<<[0-9a-f]{12}\n(?:\w+: )?(\w+)", question.user, re.MULTILINE)
    return {"items": [{"id": alias, "keywords": [word]} for alias, word in found]}


def test_each_turn_is_refined_once(db: DB) -> None:
    first, second = turns(db, "Parrots are grey.", "Boats are blue.")
    db.update(f"{first:016x}", "Cages are small.", NOW)
    offline = topic(db, first).user_keywords
    chat = ScriptedChat(first_word)
    run = Run(db, chat)
    assert topic(db, first).user_keywords == ("Parrots",) != offline
    assert topic(db, first).agent_keywords == ("Cages",)
    assert topic(db, second).user_keywords == ("Boats",)
    assert topic(db, second).refined_by == "stub"
    assert (run.read, len(run.changes), run.skipped) == (2, 2, Counter())
    again = Run(db, chat)
    assert (again.read, again.changes, len(chat.asked)) == (0, [], 1)


def test_without_a_model_nothing_is_done(db: DB) -> None:
    turns(db, "Parrots are grey.")
    run = Run(db, None)
    assert (run.changes, run.read, waiting(db)) == ([], 0, 1)


def test_what_a_model_does_not_know_keeps_its_words(db: DB) -> None:
    """And is not asked about again and again."""
    first, second = turns(db, "Parrots are grey.", "Boats are blue.")
    before = topic(db, first).user_keywords, topic(db, second).user_keywords
    run = Run(db, ScriptedChat({"items": [{"id": "m1", "keywords": ["Zanzibar"]}]}))
    assert (topic(db, first).user_keywords, topic(db, second).user_keywords) == before
    assert run.skipped == {"not in its text": 1}
    assert waiting(db) == 0


def test_a_reply_after_a_dream_is_asked_about(db: DB) -> None:
    """A dream may come between question and reply; the reply had kept its offline words for good."""
    (first,) = turns(db, "Parrots are grey.")
    Run(db, ScriptedChat(first_word))
    db.update(f"{first:016x}", "Cages are small.", NOW)
    Run(db, ScriptedChat(first_word))
    assert topic(db, first).agent_keywords == ("Cages",)


def test_many_turns_are_asked_about_in_batches(db: DB) -> None:
    turns(db, *(f"Parrot{number} sings in the {number}. cage." for number in range(3 * BATCH_TEXTS + 1)))
    chat = ScriptedChat(first_word)
    run = Run(db, chat)
    assert (len(run.changes), len(chat.asked), waiting(db)) == (3 * BATCH_TEXTS + 1, 4, 0)


def test_a_preview_comes_to_an_end_and_writes_nothing(db: DB, tmp_path: Path) -> None:
    """Nothing leaves the queue while nothing is applied."""
    turns(db, *(f"Parrot{number} sings." for number in range(60)))
    before = (tmp_path / "agent.meh").read_bytes()
    run = Run(db, ScriptedChat(first_word), apply=False)
    assert (len(run.changes), waiting(db)) == (60, 60)
    assert (tmp_path / "agent.meh").read_bytes() == before


def test_a_model_that_fails_ends_the_stage(db: DB) -> None:
    turns(db, *(f"Parrot{number} sings." for number in range(25)))
    run = Run(db, ScriptedChat(ChatError("HTTP 429")))
    assert run.changes == []
    assert run.skipped == {"model: HTTP 429": BATCH_TEXTS}
    assert waiting(db) == 25


def test_unusable_replies_leave_their_turns_for_another_dream(db: DB) -> None:
    turns(db, *(f"Parrot{number} sings." for number in range(60)))
    chat = ScriptedChat(["I cannot.", {"items": []}, "{", "[]", "no", "never reached"])
    run = Run(db, chat)
    assert len(chat.asked) == 2 + PATIENCE
    assert len(run.changes) == BATCH_TEXTS
    assert run.skipped == {"unusable reply": 1 + PATIENCE, "model: too many unusable replies": 1}
    assert waiting(db) == 60 - BATCH_TEXTS


def test_what_the_host_edited_or_pinned_is_left_alone(db: DB) -> None:
    edited, pinned, free = turns(db, "Parrots are grey.", "Boats are blue.", "Cages are small.")
    with db._store.writing() as batch:
        batch.put(msgspec.structs.replace(topic(db, edited), edited=True))
        batch.put(msgspec.structs.replace(topic(db, pinned), pinned=True))
    run = Run(db, ScriptedChat(first_word))
    assert [change.puts[0].id for change in run.changes] == [free]


def test_one_scene_can_be_asked_for(db: DB) -> None:
    first, second = turns(db, "Parrots are grey.", "Boats are blue.")
    run = Run(db, ScriptedChat(first_word), scene=topic(db, second).scene)
    assert [change.puts[0].id for change in run.changes] == [second]
    assert topic(db, first).refined_by == ""


def test_it_stops_when_told(db: DB) -> None:
    turns(db, "Parrots are grey.")
    chat = ScriptedChat(first_word)
    assert Run(db, chat, stopping=lambda: True).changes == []
    assert not chat.asked


def test_the_model_is_asked_without_a_lock(db: DB) -> None:
    """A turn is stored while the model thinks; the change planned on the old one no longer holds."""
    (first,) = turns(db, "Parrots are grey.")

    def slow(question: Question) -> Answered:
        other = Thread(target=db.update, args=(f"{first:016x}", "Cages are small.", NOW))
        other.start()
        other.join(60)
        assert not other.is_alive(), "a write waits for the model"
        return first_word(question)

    run = Run(db, ScriptedChat(slow))
    assert len(run.changes) == 1
    assert topic(db, first).refined_by == ""
    assert len(topic(db, first).messages) == 2


def test_the_journal_of_a_dream_holds_no_words(db: DB) -> None:
    turns(db, "Parrots are grey.")
    (change,) = Run(db, ScriptedChat(first_word)).changes
    assert change.why == "keywords by stub"
    assert change.what == "topic"
