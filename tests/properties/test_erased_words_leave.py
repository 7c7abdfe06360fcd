"""Whatever was written, edited, embedded, sealed and erased in whatever order: after a compaction no erased word is
in the file, every other one is, and no reference leads nowhere."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, multiple, rule

from memhop import DB, HashEmbedder
from memhop.common.clock import ManualClock
from memhop.repo import gathering
from tests.api.test_erasure import dangling
from tests.support.memories import MINUTE, NOW, memory


class Erasures(RuleBasedStateMachine):
    """Each text holds a word of its own, `qxz` and a number."""

    notes = Bundle("notes")
    messages = Bundle("messages")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memhop-"))
        self.path = self.folder / "a.meh"
        self.clock = ManualClock(NOW)
        self.saved = gathering.GATHER_SLABS
        gathering.GATHER_SLABS = 2
        self.db = self._open()
        self.words: dict[str, set[str]] = {}  # by id, of all versions
        self.current: dict[str, str] = {}
        self.erased: set[str] = set()
        self.count = 0

    def _open(self) -> DB:
        return memory(self.path, embedder=HashEmbedder(32), clock=self.clock, durability="none")

    def teardown(self) -> None:
        try:
            self.compact(keep_history=False)
        finally:
            gathering.GATHER_SLABS = self.saved
            self.db.close()
            shutil.rmtree(self.folder)

    def _word(self) -> str:
        self.count += 1
        return f"qxz{self.count:04d}"

    def _said(self, id_: str, word: str) -> str:
        self.words.setdefault(id_, set()).add(word)
        self.current[id_] = word
        return id_

    @initialize()
    def begin(self) -> None:
        self.db.remember("a kayak leaks")

    @rule(target=notes, key=st.sampled_from([None, "one", "two"]), link=st.booleans())
    def remember(self, key: str | None, link: bool) -> str:
        word = self._word()
        links = [min(self.current)] if link and self.current else []
        note = self.db.remember(f"the {word} kayak", external_id=key, links=links, tags=[f"tag-{word}"])
        return self._said(note.id, word)

    @rule(target=messages, join=st.booleans())
    def say(self, join: bool) -> str:
        word = self._word()
        self.clock.advance(MINUTE)
        found = self.db.search(f"my {word} boat", session="s", auto_create=not join)
        return self._said(found.message_id, word)

    @rule(target=messages, message=messages)
    def reply(self, message: str) -> object:
        if message not in self.current:
            return multiple()
        topic = self.db.archive.get(message).topic_id
        assert topic is not None
        word = self._word()
        return self._said(self.db.update(topic, f"{word} it is").id, word)

    @rule(id_=notes | messages, since=st.integers(0, 3), until=st.none() | st.integers(4, 6))
    def draw_a_fact(self, id_: str, since: int, until: int | None) -> None:
        if id_ in self.current:
            value, end = f"the {self.current[id_]} kayak", None if until is None else NOW + until * MINUTE
            self.db.facts.assert_("she", "has", value, valid_from=NOW + since * MINUTE, valid_to=end, sources=[id_])

    @rule(id_=consumes(notes) | consumes(messages))
    def erase(self, id_: str) -> None:
        if id_ in self.current:
            self.db.forget(id_, hard=True)
            self.erased |= self.words.pop(id_)
            del self.current[id_]

    @rule(note=notes)
    def trash_and_purge(self, note: str) -> None:
        if note in self.current:
            self.db.forget(note)
            assert self.db.purge().ids == (note,)
            self.erased |= self.words.pop(note)
            del self.current[note]

    @rule()
    def recall(self) -> None:
        self.db.recall("kayak boat", limit=50)

    @rule()
    def backfill(self) -> None:
        self.db.backfill()

    @rule()
    def checkpoint(self) -> None:
        self.db.checkpoint()

    @rule()
    def reopen(self) -> None:
        self.db.close()
        self.db = self._open()

    @rule(keep_history=st.booleans())
    def compact(self, keep_history: bool) -> None:
        self.db.compact(keep_history=keep_history)
        raw = self.path.read_bytes().lower()
        for word in self.erased:
            assert word.encode() not in raw, word
        for word in self.current.values():
            assert word.encode() in raw, word
        assert dangling(self.db) == []
        assert self.db.verify(deep=True).ok
        stats = self.db.stats()
        assert sum(use.bytes for use in stats.space) == stats.file_bytes


Erasures.TestCase.settings = settings(
    max_examples=15, stateful_step_count=20, derandomize=True, deadline=None, database=None
)
TestErasures = Erasures.TestCase
