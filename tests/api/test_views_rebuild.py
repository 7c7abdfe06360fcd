"""After any sequence of public calls, what is derived equals what is built anew from the log, and no word is lost."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from memhop import DB, HashEmbedder, NotFound
from memhop.common.clock import ManualClock
from memhop.repo import views
from tests.support.memories import HOUR, NOW, copied, memory
from tests.support.visible import seen

WORDS = ("kayak", "leaks", "shed", "lettuce", "slugs", "piano", "猫", "北京", "src/main.py", "café", "?")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
NAMES = st.sampled_from(["one", "two"])


def rebuilt(path: Path, clock: ManualClock, target: Path) -> dict[str, Any]:
    """The same of a copy of the file, whose derived structures are thrown away and built from its live records."""
    with memory(copied(path, target), embedder=HashEmbedder(32), clock=clock) as db:
        fresh = db._store.views
        fresh._rebuild()
        assert fresh.rebuilt
        return seen(db)


class Memory(RuleBasedStateMachine):
    """Public calls in any order, next to dictionaries of what was acknowledged."""

    notes = Bundle("notes")
    messages = Bundle("messages")
    topics = Bundle("topics")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memhop-"))
        self.path = self.folder / "a.meh"
        self.clock = ManualClock(NOW)
        self.db = self._open()
        self.said: dict[str, str] = {}
        self.noted: dict[str, str] = {}
        self.erased: set[str] = set()

    def _open(self) -> DB:
        return memory(self.path, embedder=HashEmbedder(32), clock=self.clock, durability="none")

    def teardown(self) -> None:
        try:
            self._compare()
        finally:
            self.db.close()
            shutil.rmtree(self.folder)

    @initialize()
    def begin(self) -> None:
        self.db.remember("a kayak leaks")

    @rule(
        target=notes, text=TEXTS, project=NAMES, tags=st.lists(NAMES, max_size=2), status=st.sampled_from([None, "x"])
    )
    def remember(self, text: str, project: str, tags: list[str], status: str | None) -> str:
        note = self.db.remember(text, project=project, tags=tags, status=status)
        self.noted[note.id] = note.text
        assert note.text == text
        return note.id

    @rule(target=notes, text=TEXTS, key=NAMES, tags=st.lists(NAMES, max_size=1))
    def remember_under_a_name(self, text: str, key: str, tags: list[str]) -> str:
        note = self.db.remember(text, external_id=key, tags=tags)
        self.noted[note.id] = text
        return note.id

    @rule(note=notes)
    def forget_softly(self, note: str) -> None:
        if note not in self.erased:
            self.db.forget(note)

    @rule(note=consumes(notes))
    def forget_for_good(self, note: str) -> None:
        if note not in self.erased:
            self.db.forget(note, hard=True)
            self.noted.pop(note)
            self.erased.add(note)

    @rule(message=consumes(messages))
    def erase_what_was_said(self, message: str) -> None:
        if message in self.said:
            self.db.forget(message, hard=True)
            del self.said[message]
            self.erased.add(message)

    @rule(target=messages, texts=st.lists(TEXTS, min_size=1, max_size=4), session=NAMES, back=st.integers(0, 60))
    def append(self, texts: list[str], session: str, back: int) -> Any:
        at = self.clock.now_ms() - back * HOUR
        ids = self.db.archive.append_many(
            {"text": text, "session": session, "at": at + n, "speaker": session} for n, text in enumerate(texts)
        )
        self.said.update(zip(ids, texts, strict=True))
        return multiple(*ids)

    @rule(target=topics, text=TEXTS, session=NAMES)
    def search(self, text: str, session: str) -> str:
        found = self.db.search(text, session=session)
        self.said[found.message_id] = text
        return found.new_topic_id

    @rule(target=messages, topic=topics, text=TEXTS)
    def update(self, topic: str, text: str) -> Any:
        try:
            message = self.db.update(topic, text)
        except NotFound:  # its last message was erased
            return multiple()
        self.said[message.id] = text
        return message.id

    @rule(graph=NAMES, title=NAMES, content=TEXTS)
    def put_knowledge(self, graph: str, title: str, content: str) -> None:
        node = self.db.knowledge.put(graph, title, content)
        assert self.db.knowledge.get(node.id).content == content

    @rule(name=NAMES)
    def set_profile(self, name: str) -> None:
        self.db.profile.update(name=name)

    @rule(session=NAMES)
    def append_step(self, session: str) -> None:
        self.db.trajectory.append(session, "tool", "payload")

    @rule(query=TEXTS)
    def recall(self, query: str) -> None:
        """Its usage counters are written with a later commit."""
        self.db.recall(query)

    @rule()
    def backfill(self) -> None:
        report = self.db.backfill()
        assert report.reason is None
        assert report.remaining == report.failed + self.db.pending().failed * (report.failed == 0)

    @rule(hours=st.integers(1, 30))
    def wait(self, hours: int) -> None:
        self.clock.advance(hours * HOUR)

    @rule()
    def checkpoint(self) -> None:
        self.db.checkpoint()
        assert self.db.checkpoint() is False

    @rule(keep=st.booleans())
    def compact(self, keep: bool) -> None:
        self.db.compact(keep_history=keep)

    @rule()
    def reopen(self) -> None:
        self.db.close()
        self.db = self._open()
        assert self.db.recovery.clean

    @invariant()
    def every_word_is_there(self) -> None:
        for id_, text in self.said.items():
            assert self.db.archive.get(id_).text == text
        for id_, text in self.noted.items():
            assert self.db.notes.get(id_).text == text

    def _compare(self) -> None:
        self.db.checkpoint() if len(self.said) % 2 else None  # usage counters are written, or are still to come
        before = seen(self.db)
        after = rebuilt(self.path, self.clock, self.folder / "copy.meh")
        for name, value in before.items():
            assert after[name] == value, name
        assert self.db.verify(deep=True).ok


Memory.TestCase.settings = settings(
    max_examples=25, stateful_step_count=18, derandomize=True, deadline=None, database=None
)
TestMemory = Memory.TestCase


def test_indexes_of_another_version_are_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.meh"
    with memory(path, embedder=HashEmbedder(32)) as db:
        db.remember_many([f"the kayak {word}" for word in WORDS])
        db.search("where is the kayak?", NOW - HOUR, session="one")
        db.backfill()
        db.checkpoint()
    copies = [copied(path, tmp_path / f"{number}.meh") for number in range(2)]
    with memory(copies[0], embedder=HashEmbedder(32)) as db:
        assert not db.stats().views_rebuilt
        before = seen(db)
    monkeypatch.setattr(views, "LAYOUT_VERSION", views.LAYOUT_VERSION + 1)
    with memory(copies[1], embedder=HashEmbedder(32)) as db:
        assert db.stats().views_rebuilt
        assert seen(db) == before
        db.remember("one more")
        db.checkpoint()
    with memory(copies[1], embedder=HashEmbedder(32)) as db:
        assert not db.stats().views_rebuilt, "the checkpoint replaced what could not be read"
        assert db.recall("kayak").hits


def test_an_erased_message_leaves_no_trace_in_the_channels(tmp_path: Path) -> None:
    """Its time and its speaker were still looked at: the time channel said it ran, and an erased speaker's name in a
    question, next to that of another, kept the other from being taken for the one who is meant."""
    with memory(tmp_path / "a.meh") as db:
        db.archive.append_many({"text": f"a kayak {n}", "speaker": "Mara", "at": NOW - 90 * HOUR} for n in range(3))
        before = db.recall("yesterday, what did Mara and Jonas say of a kayak?", explain=True)
        (erased,) = db.archive.append_many([{"text": "a kayak", "speaker": "Jonas", "at": NOW - 24 * HOUR}])
        db.forget(erased, hard=True)
        assert db.recall("yesterday, what did Mara and Jonas say of a kayak?", explain=True) == before
        assert "named" in before.hits[0].parts


def test_what_a_record_names_twice_is_listed_once(tmp_path: Path) -> None:
    """Of two tags that differ by case one was taken away, and the note was no longer found by the other one."""
    with memory(tmp_path / "a.meh") as db:
        for tags in (["Boat", "boat"], ["boat"], ["boat", "BOAT"]):
            db.remember("a kayak in the shed", external_id="x", tags=tags)
            assert len(db.notes.list(tags=["boat"]).items) == 1
            assert db.verify(deep=True).ok
            db.checkpoint()
            assert db.verify(deep=True).ok
