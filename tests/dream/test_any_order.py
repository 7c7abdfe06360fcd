"""Dreams and undos between any other calls: what undoing takes back is gone to the byte, and views equal a rebuild."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, precondition, rule

from memhop import DB, HashEmbedder, NotFound
from memhop.common.clock import ManualClock
from tests.api.test_views_rebuild import NAMES, TEXTS, rebuilt
from tests.dream.test_pipeline import dreams_with
from tests.dream.test_undo import forget_engrams, name_after_topics, quote
from tests.support.memories import MINUTE, NOW, memory
from tests.support.stages import Stage, fuse, rename
from tests.support.visible import seen

OWN = (Stage(rename), Stage(quote), Stage(name_after_topics), Stage(fuse, by_scene=True))
CHOICES = st.sampled_from(
    [OWN, OWN[1:], (Stage(fuse, by_scene=True), Stage(forget_engrams)), None]
)  # None: the real ones


class Dreamt(RuleBasedStateMachine):
    """Public calls, dreams and undos. `states`: the digest in front of each dream that can still be undone exactly."""

    topics = Bundle("topics")
    messages = Bundle("messages")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memhop-"))
        self.path = self.folder / "a.meh"
        self.clock = ManualClock(NOW)
        self.db = self._open()
        self.said: dict[str, str] = {}
        self.states: list[tuple[int, str]] = []
        self.keeps = True

    def _open(self) -> DB:
        return memory(self.path, embedder=HashEmbedder(32), clock=self.clock, durability="none")

    def teardown(self) -> None:
        try:
            before = seen(self.db)
            after = rebuilt(self.path, self.clock, self.folder / "copy.meh")
            for name, value in before.items():
                assert after[name] == value, name
            assert self.db.verify(deep=True).ok
        finally:
            self.db.close()
            shutil.rmtree(self.folder)

    @rule(target=topics, text=TEXTS, session=NAMES)
    def search(self, text: str, session: str) -> str:
        self.clock.advance(MINUTE)
        found = self.db.search(text, session=session)
        self.said[found.message_id] = text
        self.states.clear()
        return found.new_topic_id

    @rule(target=messages, topic=topics, text=TEXTS)
    def update(self, topic: str, text: str) -> Any:
        self.clock.advance(MINUTE)
        self.states.clear()
        try:
            message = self.db.update(topic, text)
        except NotFound:  # its last message was erased
            return multiple()
        self.said[message.id] = text
        return message.id

    @rule(texts=st.lists(TEXTS, min_size=1, max_size=4), session=NAMES)
    def append(self, texts: list[str], session: str) -> None:
        self.clock.advance(MINUTE)
        at = self.clock.now_ms()
        ids = self.db.archive.append_many(
            {"text": text, "session": session, "at": at + n} for n, text in enumerate(texts)
        )
        self.said.update(zip(ids, texts, strict=True))
        self.states.clear()

    @rule(message=consumes(messages))
    def erase(self, message: str) -> None:
        if message in self.said:
            self.db.forget(message, hard=True)
            del self.said[message]
            self.states.clear()

    @rule(text=TEXTS)
    def remember(self, text: str) -> None:
        self.db.remember(text)
        self.states.clear()

    @rule(stages=CHOICES)
    def dream(self, stages: tuple[Stage, ...] | None) -> None:
        before = self.db.export().digest
        if stages is None:
            self.db._dreamer_or_none = None
        else:
            dreams_with(self.db, *stages)
        preview = self.db.dream(dry_run=True)
        report = self.db.dream()
        assert (preview.number, preview.changed) == (report.number, report.changed)
        if report.number is not None:
            self.states.append((report.number, before))
        else:
            assert self.db.export().digest == before

    @precondition(lambda self: self.states)
    @rule()
    def undo_to_the_byte(self) -> None:
        number, before = self.states.pop()
        undone = self.db.dreams.undo(number)
        assert not undone.stayed
        assert self.db.export().digest == before

    @rule()
    def undo_whatever_was_built_on_it(self) -> None:
        """What stays is told, and nothing dangles."""
        for report in self.db.dreams.list(limit=10).items:
            if report.undoable:
                undone = self.db.dreams.undo(report.number or 0)
                assert undone.changes + undone.stayed_in_all >= undone.changes_in_all
                self.states = [state for state in self.states if state[0] != report.number]
                break

    @rule(keep=st.booleans())
    def compact(self, keep: bool) -> None:
        self.db.compact(keep_history=keep)
        if not keep:
            self.states.clear()

    @rule()
    def reopen(self) -> None:
        self.db.close()
        self.db = self._open()

    @invariant()
    def every_word_is_there(self) -> None:
        for id_, text in self.said.items():
            assert self.db.archive.get(id_).text == text


Dreamt.TestCase.settings = settings(
    max_examples=8, stateful_step_count=14, derandomize=True, deadline=None, database=None
)
TestDreamt = Dreamt.TestCase
