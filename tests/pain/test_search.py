"""Rows of section 2 of what users of such memories suffer from: what they stored is not found, or something else is."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memhop import DB, HashEmbedder, InvalidRequest
from tests.support.embedders import DIM, MISBEHAVIOURS, Scripted
from tests.support.memories import DAY, HOUR, NOW, distract, every, memory, texts


@pytest.mark.parametrize("query", ["", "   ", "\u200b", "\n\t", "\u00a0\ufeff"])
@pytest.mark.parametrize("model", [None, HashEmbedder(64)], ids=["words", "vectors"])
def test_row_31_a_blank_question_finds_nothing(tmp_path: Path, query: str, model: HashEmbedder | None) -> None:
    """One encoder crashed on it, another gave all memories."""
    with memory(tmp_path / "a.meh", embedder=model) as db:
        distract(db)
        if model is not None:
            db.backfill()
        for filters in FILTERS:
            found = db.recall(query, **filters)
            assert (found.hits, found.context, found.reason) == ((), "", "the question is blank")


FILTERS: tuple[dict[str, Any], ...] = ({}, {"project": "default"}, {"alpha": 1.0}, {"tier": "all"}, {"fusion": "rrf"})


@pytest.mark.parametrize("text", ["", "\n\t", "  ", "\u200b", None, {}])
def test_row_32_a_text_that_says_nothing_is_refused(tmp_path: Path, text: Any) -> None:
    """It was stored, or reported as stored, with no id."""
    with memory(tmp_path / "a.meh") as db:
        for call in (
            lambda: db.remember(text),
            lambda: db.remember_many([text]),
            lambda: db.remember_many([{"text": text}]),
            lambda: db.archive.append_many([{"text": text}]),
            lambda: db.search(text),
        ):
            with pytest.raises(InvalidRequest):
                call()
        assert db.stats().records == {}


@pytest.mark.parametrize("piece", ["it's", "gateway/run.py", "user@host", "a,b", "why?", "e=mc2", "#tag", "[x]"])
def test_row_33_what_holds_the_very_string_is_found(tmp_path: Path, piece: str) -> None:
    """373 of 651 realistic queries were unparsable, and silently found nothing."""
    with memory(tmp_path / "a.meh") as db:
        distract(db)
        held = f"there {piece} stands, in the middle"
        db.remember(held)
        assert texts(db.recall(piece))[:1] == [held]
        assert texts(db.recall(f"where does {piece} stand"))[:1] == [held]


SYNTAX = ["status: done", 'timeout "error', "retry OR", "pre-edit", "AND", "NEAR(", "-x", "a:b", "(", "^", "NOT done"]


@pytest.mark.parametrize("query", SYNTAX)
def test_row_34_signs_of_a_search_syntax_are_words(tmp_path: Path, query: str) -> None:
    """They raised, or changed what was meant: OR found everything, a minus sign left the word out."""
    with memory(tmp_path / "a.meh") as db:
        distract(db)
        note = db.remember(f"we write {query} here")
        db.remember("everything else is fine")
        assert db.recall(query).hits[0].id == note.id


@pytest.mark.parametrize("query", ["main.py", "main", "src/ma", "src/main.py", "MAIN.PY"])
def test_row_35_a_path_is_found_by_its_parts(tmp_path: Path, query: str) -> None:
    """Quoted, so that it did not crash, `session-recall` was no longer found either."""
    with memory(tmp_path / "a.meh") as db:
        distract(db)
        db.remember("the entry point is src/main.py")
        db.remember("session-recall reads CLAUDE.md")
        assert texts(db.recall(query))[:1] == ["the entry point is src/main.py"]
        for other in ("session-recall", "CLAUDE.md", "claude", "recall"):
            assert texts(db.recall(other))[:1] == ["session-recall reads CLAUDE.md"]


UNSPACED = {
    "今日は成語しりとりをした": ("しりとり", "成語"),
    "把機器推論洗成權威事實": ("權威事實", "權威"),
    "오늘 끝말잇기 게임을 했다": ("끝말잇기", "게임"),
    "縁側で猫が寝ている": ("猫",),
    "我喜欢在北京的胡同里骑车": ("北京", "胡同"),
}


def test_row_36_scripts_without_blanks_are_found_at_the_first_place(tmp_path: Path) -> None:
    """A sentence without blanks was one token, and nothing in it was found."""
    with memory(tmp_path / "a.meh") as db:
        distract(db)
        db.remember_many(list(UNSPACED))
        for text, queries in UNSPACED.items():
            for query in queries:
                assert texts(db.recall(query))[:1] == [text], query


def test_row_38_scores_tell_hits_apart(tmp_path: Path) -> None:
    """All results scored 1.0."""
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(128)) as db:
        right = db.remember("the boiler was serviced in March by Nils")
        db.remember("Nils grows tomatoes")
        db.remember("in March it rained")
        db.backfill()
        hits = db.recall("who serviced the boiler in March?").hits
        assert hits[0].id == right.id
        assert len({hit.score for hit in hits}) == len(hits) > 1


NO_DIRECTION: dict[str, Any] = {
    **{name: MISBEHAVIOURS[name] for name in ("zeros", "NaN", "infinity", "no dimension")},
    "empty": lambda said, rows: [],
}


@pytest.mark.parametrize("name", NO_DIRECTION)
def test_row_39_a_vector_without_direction_hides_nothing_and_ranks_nothing(tmp_path: Path, name: str) -> None:
    """A zero or NaN vector left the order undefined, hid its note for ever, or came first."""
    path = tmp_path / "a.meh"
    with memory(path, embedder=Scripted(NO_DIRECTION[name])) as db:
        note = db.remember("the kayak leaks")
        distract(db)
        assert db.backfill().embedded == 0
        assert db.pending().without_vector == 5, "refused, and queued"
        found = db.recall("kayak")
        assert [hit.id for hit in found.hits] == [note.id]
    with memory(path, embedder=Scripted()) as db:
        db._store.clock.advance(DAY)  # type: ignore[attr-defined]  # after the time it waits before it tries again
        db.backfill()
        assert db.pending().without_vector == 0
    with memory(path, embedder=Scripted(NO_DIRECTION[name])) as db:
        hits = db.recall("kayak").hits
        assert hits[0].id == note.id
        assert all(np.isfinite(hit.score) for hit in hits)


def test_row_40_vectors_of_another_model_are_never_compared(tmp_path: Path) -> None:
    """After a change of model old rows scored 0.0, and an arbitrary part of them came back."""
    path = tmp_path / "a.meh"
    with memory(path, embedder=HashEmbedder(1536)) as db:
        db.remember_many([f"note {number} about the harbour" for number in range(100)])
        db.backfill()
    with memory(path, embedder=HashEmbedder(768)) as db:
        assert db.pending().without_vector == 100
        found = db.recall("note 42")
        assert found.hits[0].text == "note 42 about the harbour"
        assert not any("pooled" in hit.ranks for hit in found.hits)
        (idle,) = [use.reason for use in found.channels if use.name == "pooled"]
        assert str(idle).startswith("nothing was embedded with")
        db.backfill()
        assert "pooled" in db.recall("note 42").hits[0].ranks


def test_row_41_the_dimension_is_learned_and_a_conflict_is_told(tmp_path: Path) -> None:
    """The default dimension was not the encoder's: every insert failed, and the advice was to delete the database."""
    path = tmp_path / "a.meh"
    with memory(path, embedder=Scripted(dim=None)) as db:
        note = db.remember("the kayak leaks")
        assert db.backfill().embedded == 1
        assert f"{DIM} dimensions" in str(db.pending().space)
    with memory(path, embedder=Scripted(dim=1024)) as db:
        db.remember("the tent is dry")
        report = db.backfill()
        assert (report.embedded, report.remaining) == (0, 2)
        assert f"{DIM}" in f"{report.reason} {db.pending().last_reason}"
        assert [hit.id for hit in db.recall("kayak").hits] == [note.id], "and nothing is lost"


def test_row_44_erased_and_written_again_it_is_there_once(tmp_path: Path) -> None:
    """A delete left the keyword half, and writing again lost the graph half."""
    with memory(tmp_path / "a.meh", embedder=HashEmbedder(64)) as db:
        distract(db)
        for _ in range(3):
            note = db.remember("the kayak leaks at the stern", external_id="x", tags=["boat"])
            db.backfill()
            for found in (db.recall("kayak"), db.recall("kayak", alpha=0.0), db.recall("kayak", tags=["boat"])):
                assert [hit.id for hit in found.hits if "kayak" in hit.text] == [note.id]
            assert [hit.id for hit in db.recall(note.text, alpha=1.0).hits].count(note.id) == 1
            db.forget(note.id, hard=True)
            for found in (db.recall("kayak", alpha=0.0), db.recall("kayak", tier="all"), db.recall("x", tags=["boat"])):
                assert not any("kayak" in hit.text for hit in found.hits)
            assert db.verify(deep=True).ok


def test_row_45_what_was_just_stored_is_found(tmp_path: Path) -> None:
    """Recall right after remember found nothing: the index came later, or only what was consolidated was looked at."""
    path = tmp_path / "a.meh"
    with memory(path, mode="shared") as one, memory(path, mode="shared") as other, memory(path, mode="read") as reader:
        for number in range(20):
            note = one.remember(f"parcel {number} lies at desk {number * 7}")
            for db in (one, other, reader):
                assert db.recall(f"parcel {number}", limit=1).hits[0].id == note.id
        turn = other.search("my sister Ottilie moved to Linz", NOW)
        assert one.recall("Ottilie").hits[0].id == turn.message_id


def test_row_46_four_writers_and_compaction_lose_nothing_and_leave_nothing(tmp_path: Path) -> None:
    """Writes conflicted with compaction, and index files nobody used grew by gigabytes a day."""
    path = tmp_path / "a.meh"
    each = 40
    with memory(path, durability="none") as db:
        done = threading.Event()
        failed: list[BaseException] = []

        def write(who: int) -> None:
            try:
                for number in range(each):
                    db.remember(f"writer {who} wrote line {number}", external_id=f"{who}/{number % 20}")
                    if number % 8 == 0:
                        db.checkpoint()
            except BaseException as error:
                failed.append(error)

        def compact() -> None:
            try:
                while not done.is_set():
                    db.compact()
            except BaseException as error:
                failed.append(error)

        writers = [threading.Thread(target=write, args=(who,)) for who in range(4)]
        compactor = threading.Thread(target=compact)
        for thread in (*writers, compactor):
            thread.start()
        for thread in writers:
            thread.join()
        done.set()
        compactor.join()
        assert not failed
        kept = {note.external_id: note.text for note in every(db.notes.list, page=50)}
        assert kept == {f"{who}/{n % 20}": f"writer {who} wrote line {n}" for who in range(4) for n in range(20, each)}
        db.compact()
        stats = db.stats()
        assert stats.dead_bytes < 8_192
        assert sum(use.bytes for use in stats.space) == stats.file_bytes
        assert db.verify(deep=True).ok
    assert {item.name for item in tmp_path.iterdir()} <= {"a.meh", "a.meh.lock"}


@pytest.mark.parametrize("kind", ["notes", "turns"])
def test_row_48_an_old_exact_match_stands_before_fresh_near_misses(tmp_path: Path, kind: str) -> None:
    """Freshness swamped relevance: what was asked for word by word came after last hour's noise."""
    old = {"text": "the alarm code of the summer house is 4471", "at": NOW - 31 * DAY}
    noise = [
        {"text": f"the alarm of the house went off, entry {number}", "at": NOW - HOUR + number} for number in range(50)
    ]
    with memory(tmp_path / "a.meh") as db:
        if kind == "notes":
            db.remember_many([old, *noise])
        else:
            db.archive.append_many({**turn, "session": f"s{place % 5}"} for place, turn in enumerate([old, *noise]))
        assert texts(db.recall("alarm code of the summer house"))[:1] == [old["text"]]
        assert texts(db.recall("what is the alarm code of the summer house now?"))[:1] == [old["text"]]


def test_row_50_a_text_longer_than_the_model_reads_is_kept_whole_and_holds_up_nobody(tmp_path: Path) -> None:
    """HTTP 400, a null vector, a conversation silently dropped: one long text failed its whole batch."""

    def limited(said: Any, rows: Any) -> Any:
        from memhop import EmbedderError

        if any(len(text.encode()) > 2_000 for text in said):
            raise EmbedderError("input is longer than the context", retryable=False)
        return rows

    with memory(tmp_path / "a.meh", embedder=Scripted(limited, max_batch=16)) as db:
        huge = db.remember("A sentence about the mill. " * 37_000 + "Then there is a gargoyle.")
        long = db.remember("A sentence about the harbour. " * 2_000 + "The last word is zeppelin.")
        chinese = db.remember("港口的船只在清晨离开" * 60)
        short = db.remember_many([f"short note {number}" for number in range(10)])
        report = db.backfill()
        assert (report.embedded, report.failed, report.remaining) == (12, 1, 1), (
            "a megabyte is too much for its 64 pieces"
        )
        assert db.pending().last_reason
        assert db.notes.get(long.id).text == long.text
        assert db.notes.get(huge.id).text == huge.text
        assert db.recall("gargoyle").hits[0].id == huge.id
        assert db.recall("zeppelin").hits[0].id == long.id
        assert db.recall("港口").hits[0].id == chinese.id
        assert {"pooled"} <= db.recall(short[3].text).hits[0].ranks.keys()


def test_rows_are_found_whoever_asks(tmp_path: Path) -> None:
    """The strings of the rows above, in every kind of record that can be found."""
    with memory(tmp_path / "a.meh") as db:
        for word in ("gateway/run.py", "e=mc2", "しりとり"):
            db.remember(f"a note: {word}")
            db.archive.append_many([{"text": f"a turn: {word}", "session": word}])
            db.knowledge.put("graph", f"a node: {word}")
            db.facts.assert_("Ann", "likes", word)
            layers = {hit.layer for hit in db.recall(word).hits}
            assert layers == {"notes", "messages", "knowledge"}, word


def test_the_index_is_one_with_the_records(tmp_path: Path) -> None:
    """After everything above at once: what is found is what would be found after a rebuild."""
    path = tmp_path / "a.meh"

    def found(db: DB) -> list[list[str]]:
        queries = ("kayak", "harbour", "main.py", "權威")
        return [[hit.id for hit in db.recall(one, tier="all").hits] for one in queries]

    with memory(path) as db:
        notes = db.remember_many(["kayak", "harbour", "src/main.py", "把機器推論洗成權威事實", "kayak in the harbour"])
        db.checkpoint()
        db.forget(notes[0].id)
        db.forget(notes[1].id, hard=True)
        db.remember("harbour again", external_id="h")
        db.remember("no longer", external_id="h")
        before = found(db)
    with memory(path) as db:
        db.compact()
        assert found(db) == before
