"""Vectors are enrichment: no embedder, however it behaves, loses words or raises where words are stored or read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memhop import DB, ConfigError, HashEmbedder
from memhop.api import backfill
from memhop.api.backfill import CONTEXT_TOKENS
from memhop.common.clock import ManualClock
from memhop.index.vectors import VectorIndex
from memhop.models.embed import TokenVectors
from memhop.repo.record import Kind, all_of
from memhop.repo.vectors import Space
from tests.support.embedders import (
    CONTEXT_MISBEHAVIOURS,
    DIM,
    MISBEHAVIOURS,
    TOKEN_MISBEHAVIOURS,
    Scripted,
    ScriptedContexts,
    ScriptedReading,
    ScriptedTokens,
    refusing,
)
from tests.support.memories import DAY, HOUR, MINUTE, NOW, memory, texts

NOTES = ["a kayak in the shed", "slugs in the lettuce", "the piano is out of tune", "taxes are due in July"]


@pytest.mark.parametrize("name", MISBEHAVIOURS)
@pytest.mark.parametrize("max_batch", [1, 4])
class TestMisbehaving:
    def test_nothing_raises_and_words_still_answer(self, tmp_path: Path, name: str, max_batch: int) -> None:
        embedder = Scripted(MISBEHAVIOURS[name], max_batch=max_batch)
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            report = db.backfill()
            assert report.embedded == 0
            assert report.remaining == len(NOTES)
            assert report.failed or report.reason
            assert db.pending().without_vector == len(NOTES)
            assert texts(db.recall("kayak")) == [NOTES[0]]
            found = db.search("where is the kayak?", NOW - MINUTE)
            assert [hit.text for hit in found.hits] == [NOTES[0]]
            db.update(found.new_topic_id, "in the shed")
            db.checkpoint()
            db.compact()
            assert db.verify(deep=True).ok
        good = Scripted()
        with memory(tmp_path / "a.meh", embedder=good, clock=ManualClock(NOW + 2 * DAY)) as db:
            assert db.backfill().remaining == 0
            assert db.pending().without_vector == 0

    def test_after_good_days_the_stored_vectors_stay_good(self, tmp_path: Path, name: str, max_batch: int) -> None:
        """The vectors of the good days go on answering as soon as questions have one again."""
        embedder = Scripted(max_batch=max_batch)
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            assert db.backfill().embedded == len(NOTES)
            before = [(hit.id, hit.score) for hit in db.recall("kayak shed").hits]
            embedder.spoil = MISBEHAVIOURS[name]
            later = db.remember("a quokka on the island")
            found = db.recall("quokka")
            assert found.hits[0].id == later.id
            assert {use.name: use.ran for use in found.channels}["pooled"] is False
            assert db.backfill().embedded == 0
            assert db.pending().without_vector == 1
            db.forget(later.id, hard=True)
            assert db.pending().without_vector == 0
            embedder.spoil = None
            assert [(hit.id, hit.score) for hit in db.recall("kayak shed").hits] == before


class TestTokens:
    def test_a_static_model_adds_late_interaction(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", embedder=ScriptedTokens()) as db:
            db.remember_many(NOTES)
            assert db.backfill().remaining == 0
            found = db.recall("kayak shed")
            assert found.hits[0].text == NOTES[0]
            assert {use.name: use.ran for use in found.channels}["late"]

    @pytest.mark.parametrize("name", TOKEN_MISBEHAVIOURS)
    def test_misbehaving(self, tmp_path: Path, name: str) -> None:
        embedder = ScriptedTokens(TOKEN_MISBEHAVIOURS[name])
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            report = db.backfill()
            assert report.embedded == 0
            assert report.reason
            assert texts(db.recall("kayak")) == [NOTES[0]]
            embedder.spoil_tokens = None
            assert db.backfill().embedded == len(NOTES)
            embedder.spoil_tokens = TOKEN_MISBEHAVIOURS[name]
            assert texts(db.recall("kayak"))[0] == NOTES[0]
            db.search("where is the kayak?", NOW - MINUTE)


class TestContexts:
    def test_a_contextual_model_adds_late_interaction_from_one_pass(self, tmp_path: Path) -> None:
        embedder = ScriptedContexts()
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            assert db.backfill().remaining == 0
            assert embedder.calls == [NOTES], "every text passed through the model once"
            found = db.recall("kayak shed")
            assert found.hits[0].text == NOTES[0]
            assert {use.name: use.ran for use in found.channels}["late"]

    @pytest.mark.parametrize("name", CONTEXT_MISBEHAVIOURS)
    def test_misbehaving(self, tmp_path: Path, name: str) -> None:
        embedder = ScriptedContexts(CONTEXT_MISBEHAVIOURS[name])
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            report = db.backfill()
            assert report.embedded == 0
            assert report.reason or report.failed == len(NOTES)
            assert texts(db.recall("kayak")) == [NOTES[0]]
        embedder.spoil_contexts = None
        with memory(tmp_path / "a.meh", embedder=embedder, clock=ManualClock(NOW + 2 * DAY)) as db:
            assert db.backfill().embedded == len(NOTES)
            embedder.spoil_contexts = CONTEXT_MISBEHAVIOURS[name]
            assert texts(db.recall("kayak"))[0] == NOTES[0]
            db.search("where is the kayak?", NOW - MINUTE)

    @pytest.mark.parametrize("name", MISBEHAVIOURS)
    def test_misbehaving_rows(self, tmp_path: Path, name: str) -> None:
        embedder = ScriptedContexts()
        embedder.spoil = MISBEHAVIOURS[name]
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            assert db.backfill().embedded == 0
            assert texts(db.recall("kayak")) == [NOTES[0]]
            db.checkpoint()
            assert db.verify(deep=True).ok

    def test_tokens_without_a_vector_are_left_out_alone(self, tmp_path: Path) -> None:
        def spoil(found: list[TokenVectors]) -> list[TokenVectors]:
            for one in found:
                one.vectors[:1] = np.nan
            return found

        with memory(tmp_path / "a.meh", embedder=ScriptedContexts(spoil)) as db:
            db.remember_many(NOTES)
            assert db.backfill().embedded == len(NOTES)
            assert texts(db.recall("shed"))[0] == NOTES[0]
            assert db.verify(deep=True).ok

    def test_a_long_text_keeps_its_first_tokens(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", embedder=ScriptedContexts()) as db:
            db.remember("word " * 3_000 + "end")
            assert db.backfill().remaining == 0
            (row,) = db._store.views.contexts(next(iter(db._store.scan(Space))).id).contents()
            assert len(row[1]) == CONTEXT_TOKENS * (4 + 96)

    def test_what_lost_its_tokens_is_embedded_again(self, tmp_path: Path) -> None:
        """A unit counted as done when it had a vector, and never got the tokens back that damage had taken."""
        embedder = ScriptedContexts()
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            db.backfill()
            (slab,) = db._store.file.ids(int(Kind.CONTEXT_SLAB))
            with db._store.writing() as batch:
                batch.delete(Kind.CONTEXT_SLAB, slab)
            assert db.pending().without_vector == len(NOTES)
            report = db.backfill()
            assert (report.embedded, report.remaining) == (len(NOTES), 0)
            assert {use.name: use.ran for use in db.recall("kayak").channels}["late"]


def test_a_damaged_text_holds_up_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember_many(NOTES)
        db.checkpoint()
    raw = bytearray(path.read_bytes())
    raw[raw.index(NOTES[1].encode())] ^= 1
    path.write_bytes(raw)
    with memory(path, embedder=Scripted()) as db:
        report = db.backfill()
        assert (report.embedded, report.remaining) == (3, 1)


class TestWork:
    def test_it_grows_with_the_memory_not_with_its_square(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Every batch asked of all units whether they have a vector: a million would have taken an hour."""
        asked: list[int] = []
        contains = VectorIndex.contains

        def counting(self: VectorIndex, owners: NDArray[np.uint64]) -> NDArray[np.bool_]:
            asked.append(len(owners))
            return contains(self, owners)

        monkeypatch.setattr(VectorIndex, "contains", counting)
        monkeypatch.setattr(backfill, "BATCH_UNITS", 5)
        embedder = Scripted(max_batch=64)
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many([f"note number {number}" for number in range(200)])
            assert db.backfill().embedded == 200
            assert len(embedder.calls) == 40
            assert sum(asked) <= 5 * 200
            asked.clear()
            assert db.backfill().embedded == 0
            assert sum(asked) <= 3 * 200

    def test_what_is_written_meanwhile_is_found(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Behind the place it has come to as well as ahead of it, through a rewritten file, by another handle."""
        monkeypatch.setattr(backfill, "BATCH_UNITS", 2)
        path = tmp_path / "a.meh"
        embedder = Scripted()
        with (
            memory(path, embedder=embedder, mode="shared") as db,
            memory(path, mode="shared") as other,
        ):
            db.remember_many([{"text": text, "external_id": str(place)} for place, text in enumerate(NOTES * 3)])

            def meddling(texts: Sequence[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
                if len(embedder.calls) == 3:
                    other.remember("a quokka on the island", external_id="0")
                    other.remember("one more at the end")
                    other.forget(other.recall("taxes").hits[0].id, hard=True)
                    other.compact()
                return rows

            embedder.spoil = meddling
            report = db.backfill()
            assert (report.remaining, report.reason) == (0, None)
            assert db.pending().without_vector == 0
            assert "one more at the end" in [text for call in embedder.calls for text in call]
            assert "a quokka on the island" in [text for call in embedder.calls for text in call]
            assert db.verify(deep=True).ok


class TestReading:
    """A model is believed as far as it reads the question."""

    def test_a_question_it_cannot_read_is_answered_by_words(self, tmp_path: Path) -> None:
        """Chinese questions lost their answers to whatever a model without a word of Chinese said of them."""
        embedder = ScriptedReading(0.0)
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            db.backfill()
            embedder.calls.clear()
            found = db.recall("kayak")
            assert texts(found) == [NOTES[0]]
            assert embedder.calls == []
            told = {use.name: use.reason for use in found.channels}
            assert "script" in str(told["pooled"])
            assert "script" in str(told["late"])

    def test_less_of_it_counts_less(self, tmp_path: Path) -> None:
        embedder = ScriptedReading(1.0)
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            db.backfill()
            shares = []
            for share in (1.0, 0.5, 0.1):
                embedder.share = share
                parts = db.recall("kayak shed", explain=True).hits[0].parts
                shares.append(parts["pooled"] / parts["lexical"])
            assert shares[0] > shares[1] > shares[2] > 0
            assert shares[1] == pytest.approx(shares[0] / 2)

    @pytest.mark.parametrize("share", [None, "much", float("nan"), -1.0, 7.0, [0.5], ValueError("a bug")])
    def test_misbehaving(self, tmp_path: Path, share: object) -> None:
        embedder = ScriptedReading(share)
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            assert db.backfill().embedded == len(NOTES)
            assert texts(db.recall("kayak"))[0] == NOTES[0]
            db.search("where is the kayak?", NOW - MINUTE)


class TestIsolation:
    @pytest.mark.parametrize("max_batch", [1, 2, 4, 64])
    def test_one_refused_text_does_not_block_the_others(self, tmp_path: Path, max_batch: int) -> None:
        """With one text per call, or one text waiting, a refusal counted as the model being away: the queue stood
        still behind that text for ever, and it was sent again at each call."""
        embedder = Scripted(refusing("slugs"), max_batch=max_batch)
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            report = db.backfill()
            assert (report.embedded, report.failed, report.remaining) == (3, 1, 1)
            pending = db.pending()
            assert (pending.without_vector, pending.failed, pending.next_retry_at) == (1, 1, NOW + MINUTE)
            assert pending.last_reason
            assert texts(db.recall("slugs lettuce"))[0] == NOTES[1]

    def test_alone_in_the_queue_it_backs_off(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        embedder = Scripted(refusing("slugs"))
        with memory(tmp_path / "a.meh", embedder=embedder, clock=clock) as db:
            db.remember("slugs in the lettuce")
            waits = []
            for _ in range(14):
                report = db.backfill()
                assert (report.embedded, report.failed) == (0, 1)
                sent = len(embedder.calls)
                assert db.backfill().failed == 0
                assert len(embedder.calls) == sent, "it rests"
                retry_at = db.pending().next_retry_at
                assert retry_at is not None
                waits.append(retry_at - clock.now_ms())
                clock.advance(waits[-1])
            assert waits[:4] == [MINUTE, 2 * MINUTE, 4 * MINUTE, 8 * MINUTE]
            assert waits[-1] == DAY
            assert waits == sorted(waits)

    def test_the_back_off_survives_a_restart_and_ends_with_success(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", embedder=Scripted(refusing("slugs")), clock=clock) as db:
            db.remember_many(NOTES)
            db.backfill()
        good = Scripted()
        with memory(tmp_path / "a.meh", embedder=good, clock=clock) as db:
            assert db.backfill().embedded == 0
            clock.advance(MINUTE)
            assert db.backfill().embedded == 1
            assert db.pending().failed == 0
            assert "embed_failure" not in db.stats().records

    def test_a_text_that_was_edited_or_erased_waits_for_nothing(self, tmp_path: Path) -> None:
        """Failures of texts which are gone were counted for ever."""
        with memory(tmp_path / "a.meh", embedder=Scripted(refusing("slugs"))) as db:
            db.remember_many([*NOTES, {"text": "more slugs", "external_id": "x"}])
            db.backfill()
            assert db.pending().failed == 2
            db.remember("no more of them", external_id="x")
            assert db.pending().failed == 1
            db.forget(db.recall("slugs").hits[0].id, hard=True)
            assert db.pending().failed == 0
            assert db.pending().next_retry_at is None
            db.compact()
            assert "embed_failure" not in db.stats().records

    def test_a_long_text_is_embedded_in_pieces(self, tmp_path: Path) -> None:
        embedder = Scripted(max_batch=8)
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            note = db.remember("A sentence about kayaks. " * 40_000)  # 1 MB
            assert db.backfill().remaining == 0
            assert max(map(len, embedder.calls)) <= 8
            assert "".join(text for call in embedder.calls for text in call) == note.text


class TestSpaces:
    def test_vectors_of_different_models_never_meet(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path, embedder=Scripted(digest="old")) as db:
            db.remember_many(NOTES)
            db.backfill()
        turned = Scripted(lambda texts, rows: -rows, digest="new")
        with memory(path, embedder=turned) as db:
            assert db.pending().without_vector == len(NOTES)
            found = db.recall("kayak")
            assert texts(found) == [NOTES[0]]
            assert "pooled" not in found.hits[0].parts
            assert "backfill" in str({use.name: use.reason for use in found.channels}["pooled"])
            db.backfill()
            assert len(db.stats().spaces) == 2
            assert db.recall("kayak").hits[0].parts["pooled"] > 0
        with memory(path, embedder=Scripted(digest="old")) as db:
            assert db.pending().without_vector == 0

    def test_another_dimension_is_another_space(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        for dim in (16, 64):
            with memory(path, embedder=HashEmbedder(dim)) as db:
                db.remember_many(NOTES)
                assert db.backfill().embedded == len(NOTES)
                assert db.recall("kayak").hits[0].text == NOTES[0]
        with memory(path, embedder=HashEmbedder(16)) as db:
            assert db.pending().without_vector == 0

    @pytest.mark.parametrize("dim", [None, DIM])
    def test_a_model_that_changes_its_dimension_is_stopped(self, tmp_path: Path, dim: int | None) -> None:
        """It opened a second space, and both were filled in turn."""
        embedder = Scripted(dim=dim)
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            assert db.backfill().embedded == len(NOTES)
            embedder.spoil = MISBEHAVIOURS["another dimension"]
            db.remember("one more note")
            report = db.backfill()
            assert report.embedded == 0
            assert str(DIM) in str(report.reason)
            assert len(db.stats().spaces) == 1
            assert texts(db.recall("one more note"))[0] == "one more note"

    def test_a_dimension_learned_from_the_first_answer(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", embedder=Scripted(dim=None)) as db:
            db.remember_many(NOTES)
            assert db.pending().space == "scripted"
            assert db.backfill().space == f"scripted ({DIM} dimensions)"
            assert db.backfill().embedded == 0

    def test_rows_are_brought_to_unit_length(self, tmp_path: Path) -> None:
        """A model which does not normalise would rank its longest vector first for every question."""

        def stretched(texts: Sequence[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
            return rows * np.array([[1000.0 if "piano" in text else 1.0] for text in texts], dtype=np.float32)

        with memory(tmp_path / "a.meh", embedder=Scripted(stretched)) as db:
            db.remember_many(NOTES)
            db.backfill()
            assert texts(db.recall("kayaks and sheds"))[0] == NOTES[0]


class TestEdits:
    def test_an_edited_note_is_embedded_again(self, tmp_path: Path) -> None:
        embedder = Scripted()
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.remember_many(NOTES)
            db.remember("zebra crossing ahead", external_id="x")
            db.backfill()
            db.remember("quokka island ahead", external_id="x")
            assert db.pending().without_vector == 1
            for hit in db.recall("zebra crossing").hits:
                assert "pooled" not in hit.parts or hit.external_id is None
            assert db.backfill().embedded == 1
            assert embedder.calls[-1] == ["quokka island ahead"]
            assert texts(db.recall("quokka island"))[0] == "quokka island ahead"

    def test_new_labels_keep_the_vector(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", embedder=Scripted()) as db:
            db.remember("zebra crossing", external_id="x")
            db.backfill()
            db.remember("zebra crossing", external_id="x", status="done", tags=["street"])
            assert db.pending().without_vector == 0

    def test_words_that_move_between_text_and_tags(self, tmp_path: Path) -> None:
        """Text and tags are indexed together. A word that moved from one to the other left the index as it was, and
        with it the name under which the vector of the old text was found."""
        with memory(tmp_path / "a.meh", embedder=Scripted()) as db:
            db.remember("zebra\ncrossing", external_id="x")
            db.backfill()
            db.remember("zebra", external_id="x", tags=["crossing"])
            assert db.pending().without_vector == 1

    def test_vectors_of_erased_notes_leave_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        secret = "the vault code is 4711"
        row = HashEmbedder(DIM).embed([secret])[0].tobytes()
        with memory(path, embedder=Scripted()) as db:
            db.remember_many(NOTES)
            note = db.remember(secret)
            db.backfill()
            db.checkpoint()
            assert row in path.read_bytes()
            db.forget(note.id, hard=True)
            db.compact()
            raw = path.read_bytes()
            assert row not in raw
            assert secret.encode() not in raw
            assert db.pending().without_vector == 0
            assert texts(db.recall("kayak shed"))[0] == NOTES[0]


class TestBudget:
    def test_without_an_embedder(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            assert db.pending().space is None
            with pytest.raises(ConfigError):
                db.backfill()

    def test_it_stops_and_goes_on(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", embedder=HashEmbedder(16), durability="none") as db:
            db.remember_many([f"note number {number}" for number in range(2_500)])
            report = db.backfill(max_seconds=1e-9)
            assert report.embedded == 0
            assert report.reason == "max_seconds is over"
            assert report.remaining == 2_500
            assert db.backfill().embedded == 2_500

    def test_small_slabs_are_gathered(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", embedder=HashEmbedder(16), durability="none") as db:
            for number in range(20):
                db.remember(f"note number {number}", at=NOW - HOUR)
                db.backfill()
            assert db.stats().records["vector_slab"] == 20
            db.checkpoint()
            assert db.stats().records["vector_slab"] == 1
            assert db.pending().without_vector == 0
            assert len(db.recall("note number 7", limit=20).hits) == 20


def test_what_is_erased_while_the_model_works_keeps_no_vector(tmp_path: Path) -> None:
    """The model is asked without any lock held, so the memory may change meanwhile."""
    embedder = Scripted()
    with memory(tmp_path / "a.meh", embedder=embedder) as db:
        gone = db.remember("slugs in the lettuce")
        db.remember("zebra crossing", external_id="x")

        def meanwhile(texts: Sequence[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
            embedder.spoil = None
            db.forget(gone.id, hard=True)
            db.remember("quokka island", external_id="x")
            return rows

        embedder.spoil = meanwhile
        report = db.backfill()
        assert (report.embedded, report.remaining) == (1, 0)
        assert embedder.calls[-1] == ["quokka island"]


def test_what_two_threads_embed_at_the_same_time_is_kept_once(tmp_path: Path) -> None:
    """Both asked the model for the same texts, and both stored what it said: an owner then had rows in two slabs, and
    a slab into which these were gathered, an owner twice, was refused as a whole."""
    meet = threading.Barrier(2)

    def wait(texts: Sequence[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
        meet.wait(timeout=30)
        return rows

    with memory(tmp_path / "a.meh", embedder=Scripted(wait, max_batch=64)) as db:
        db.remember_many([f"a kayak {number}" for number in range(5)])
        embedded: list[int] = []
        threads = [threading.Thread(target=lambda: embedded.append(db.backfill().embedded)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(embedded) == [0, 5]
        assert db.stats().records["vector_slab"] == 1
        assert db.verify(deep=True).ok


class TestSentences:
    """A turn about several things was near none of them: its one vector stood between."""

    TURN = "Hey Bo! I joined a pottery class. My sister moved to Lisbon. What about you?"

    @staticmethod
    def _rows(db: DB) -> int:
        views = db._store.views
        (space,) = (space for _, space in db._store.listed(Space, all_of(Kind.SPACE), limit=10))
        return views.vectors(space.id, space.dim).rows

    def test_each_has_a_row_and_an_erased_turn_leaves_none(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", embedder=ScriptedContexts()) as db:
            turns = [("Ann", self.TURN), ("Bo", "I joined a gym today.")]
            db.archive.append_many([{"text": text, "speaker": speaker, "session": "s"} for speaker, text in turns])
            db.remember(self.TURN)
            assert db.backfill().embedded == 3
            assert self._rows(db) == 2 + 1 + 1, "notes and turns of one sentence have one"
            (turn,) = (hit.id for hit in db.recall("pottery Lisbon", limit=1, layers=["messages"]).hits)
            db.forget(turn, hard=True)
            db.compact()
            assert self._rows(db) == 2

    def test_a_model_that_refuses_a_sentence_still_gives_the_turn(self, tmp_path: Path) -> None:
        def spoil(texts: Sequence[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
            rows[[text == "My sister moved to Lisbon." for text in texts]] = np.nan
            return rows

        embedder = ScriptedContexts()
        embedder.spoil = spoil
        with memory(tmp_path / "a.meh", embedder=embedder) as db:
            db.archive.append_many([{"text": self.TURN, "session": "s"}])
            report = db.backfill()
            assert (report.embedded, report.remaining) == (1, 0)
            assert self._rows(db) == 2


@pytest.mark.parametrize("way", ["erased and written again", "edited and edited back"])
def test_words_that_come_back_have_their_vector_at_once(tmp_path: Path, way: str) -> None:
    """Their vector was in the file and nothing waited for a model, yet recall by meaning did not see it.

    A recall between had noted that the vector's owner is gone; that it came back was not noted."""
    embedder = Scripted()
    with memory(tmp_path / "a.meh", embedder=embedder) as db:
        db.remember_many(NOTES)
        for _ in range(2):
            note = db.remember("the kayak leaks", external_id="x", at=NOW)
            db.backfill()
            assert db.pending().without_vector == 0
            assert note.id in [hit.id for hit in db.recall(note.text, alpha=1.0).hits]
            if way == "erased and written again":
                db.forget(note.id, hard=True)
            else:
                db.remember("quarterly figures", external_id="x", at=NOW)
            assert note.id not in [hit.id for hit in db.recall(note.text, alpha=1.0).hits]
        assert sum(text == "the kayak leaks" for call in embedder.calls for text in call) == 5, (
            "embedded once, asked 4x"
        )
