"""Notes: what `remember` keeps, finds again, joins and refuses, and what `forget` takes away."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memhop import InvalidRequest, NotFound
from memhop.common.clock import ManualClock
from tests.support.memories import DAY, HOUR, NO_ID, NOW, distract, every, memory, texts


def test_a_note_comes_back_as_it_was_given(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        target = db.remember("the review is on Friday")
        note = db.remember(
            "ship the parser\n\tbefore the review  ",
            project="compiler",
            kind="plan",
            status="pending",
            tags=["work", "parser"],
            metadata={"depth": [1, 2.5, None, True], "名": "値"},
            links=[target.id],
            source="standup",
            at=datetime(2026, 5, 1, 12, tzinfo=UTC),
            external_id="plan-7",
            idempotency_key="k-1",
        )
        assert replace(note, created=False) == db.notes.get(note.id)
        assert note.text == "ship the parser\n\tbefore the review  "
        assert (note.project, note.kind, note.status, note.source) == ("compiler", "plan", "pending", "standup")
        assert (note.tags, note.links) == (("work", "parser"), (target.id,))
        assert note.metadata == {"depth": [1, 2.5, None, True], "名": "値", "files": [], "steps": []}
        assert note.at == int(datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp() * 1000)
        assert (note.created_at, note.updated_at, note.rev, note.created) == (NOW, NOW, 1, True)
        shown = json.loads(json.dumps(note.to_dict()))
        assert shown["at"] == "2026-05-01T12:00:00Z"
        assert shown["created_at"] == "2026-05-28T20:26:40Z"


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "NUL \x00 inside",
        "\ttabs\r\nand lines\n",
        "Zürich 東京 🎉 👩‍👩‍👧",
        "x" * 1_000_000,
        "e\u0301",
        "\U0010ffff.",
    ],
    ids=["short", "NUL", "white space", "scripts", "1 MB", "combining", "last code point"],
)
def test_text_is_kept_word_for_word(tmp_path: Path, text: str) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember(text)
        assert db.notes.get(note.id).text == text
    with memory(tmp_path / "a.meh") as db:
        assert db.notes.get(note.id).text == text
        db.compact()
        assert db.notes.get(note.id).text == text


def test_remembered_is_recalled_in_the_next_line(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        distract(db)
        note = db.remember("Mara is allergic to walnuts")
        assert db.recall("what is Mara allergic to?").hits[0].id == note.id


class TestSaidTwice:
    def test_the_same_words_are_one_note_with_two_copies(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            first = db.remember("tea at four", tags=["a"])
            second = db.remember("tea at four", tags=["b"])
            assert (second.id, second.created, second.copies) == (first.id, False, 2)
            assert second.tags == ("a", "b")
            assert len(db.notes.list().items) == 1

    def test_copies_are_counted_beside_the_note(self, tmp_path: Path) -> None:
        """Each repetition stored the whole note once more: a prompt of 1 MB said 100 times took 100 MB."""
        path = tmp_path / "a.meh"
        with memory(path) as db:
            distract(db)
            first = db.remember("tea at four " * 1_000)
            size = db.stats().dead_bytes
            assert [note.copies for note in db.remember_many([first.text, first.text])] == [2, 3]
            assert db.stats().dead_bytes < size + 1_000
            assert db.recall("tea at four").hits[0].id == first.id
            assert db.notes.get(first.id).copies == 3, "a recall is counted in the same place"
            assert db.remember(first.text).copies == 4
            db.recall("tea at four")
        with memory(path) as db:
            assert [note.copies for note in db.notes.list().items if note.id == first.id] == [4]
            assert (db.notes.get(first.id).rev, db.notes.get(first.id).updated_at) == (1, first.updated_at)
            db.remember("about it", links=[first.id])
            db.forget(first.id, hard=True)
            assert db.remember(first.text).copies == 1

    @pytest.mark.parametrize(
        "other",
        [
            {"project": "elsewhere"},
            {"kind": "fact"},
            {"status": "done"},
            {"metadata": {"a": 1}},
            {"source": "mail"},
            {"at": NOW - DAY},
        ],
        ids=lambda other: next(iter(other)),
    )
    def test_the_same_words_with_news_are_another_note(self, tmp_path: Path, other: dict[str, object]) -> None:
        with memory(tmp_path / "a.meh") as db:
            first = db.remember("tea at four")
            second = db.remember("tea at four", **other)  # type: ignore[arg-type]
            assert second.created
            assert second.id != first.id
            assert len(db.recall("tea").hits) == 2

    def test_other_white_space_inside_is_another_text(self, tmp_path: Path) -> None:
        """Code with another indentation was taken for the same words: the note that came back held the older text."""
        with memory(tmp_path / "a.meh") as db:
            texts_ = ["if x:\n    return 1", "if x:\nreturn 1", "if x: return 1"]
            notes = db.remember_many(texts_)
            assert [db.notes.get(note.id).text for note in notes] == texts_
            assert db.remember("if x: return 1\n").id == notes[2].id, "a line end is no news"

    def test_joined_tags_keep_the_limit(self, tmp_path: Path) -> None:
        """Each call was checked alone, so that tags of a note grew without bound."""
        with memory(tmp_path / "a.meh") as db:
            note = db.remember("tea", tags=[f"a{number}" for number in range(40)])
            with pytest.raises(InvalidRequest) as refused:
                db.remember("tea", tags=[f"b{number}" for number in range(40)])
            assert refused.value.field == "tags"
            assert len(db.notes.get(note.id).tags) == 40

    def test_within_one_call(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            notes = db.remember_many(["tea", "tea", {"text": "tea", "external_id": "x"}, "coffee"])
            assert [note.created for note in notes] == [True, False, True, True]
            assert len({note.id for note in notes}) == 3

    def test_words_in_the_trash_are_said_anew(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            first = db.remember("tea at four")
            db.forget(first.id)
            second = db.remember("tea at four")
            assert second.created
            assert [hit.id for hit in db.recall("tea").hits] == [second.id]


class TestExternalId:
    def test_an_edit_replaces_the_words_everywhere(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            distract(db)
            first = db.remember("the deploy runs on Jenkins", external_id="deploy", tags=["ci"])
            clock.advance(HOUR)
            second = db.remember("the deploy runs on Buildkite", external_id="deploy")
            assert (second.id, second.rev, second.created) == (first.id, 2, False)
            assert (second.created_at, second.updated_at) == (NOW, NOW + HOUR)
            assert second.tags == ("ci",)
            assert db.recall("Jenkins").hits == ()
            assert texts(db.recall("Buildkite")) == ["the deploy runs on Buildkite"]

    def test_nothing_new_writes_nothing(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.remember("the deploy runs on Jenkins", external_id="deploy")
            before = db.stats().commit
            again = db.remember("the deploy runs on Jenkins", external_id="deploy")
            assert (again.rev, db.stats().commit) == (1, before)

    def test_it_is_one_per_project(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            one = db.remember("in one", external_id="x", project="one")
            two = db.remember("in two", external_id="x", project="two")
            assert one.id != two.id

    def test_said_again_it_leaves_the_trash(self, tmp_path: Path) -> None:
        """An update of a trashed note stayed in the trash: `remember` returned a note that no recall could find."""
        with memory(tmp_path / "a.meh") as db:
            note = db.remember("the deploy runs on Jenkins", external_id="deploy")
            db.forget(note.id)
            for text in ("the deploy runs on Jenkins", "the deploy runs on Buildkite"):
                db.forget(note.id)
                assert db.remember(text, external_id="deploy").tier == "active"
                assert texts(db.recall("deploy")) == [text]

    def test_twice_in_one_call_the_last_words_count(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            first, second = db.remember_many(
                [{"text": "first", "external_id": "x"}, {"text": "second", "external_id": "x"}]
            )
            assert (first.id, second.rev) == (second.id, 2)
            assert db.notes.get(first.id).text == "second"
            assert texts(db.recall("second")) == ["second"]
            assert db.recall("first").hits == ()


class TestIdempotencyKey:
    def test_a_second_call_returns_the_first_note_and_writes_nothing(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            first = db.remember("pay the rent", idempotency_key="k", tags=["a"])
            before = db.stats().head_digest
            again = db.remember("pay the rent", idempotency_key="k", tags=["b"], status="done")
            assert again.created is False
            assert (again.id, again.tags, again.status, again.copies) == (first.id, ("a",), None, 1)
            assert db.stats().head_digest == before

    def test_other_words_under_a_key_are_refused(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.remember("pay the rent", idempotency_key="k")
            with pytest.raises(InvalidRequest) as refused:
                db.remember("sell the flat", idempotency_key="k")
            assert refused.value.field == "idempotency_key"
            assert len(db.notes.list().items) == 1


class TestForget:
    def test_soft_is_out_of_recall_and_still_there(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            note = db.remember("the key is under the mat")
            done = db.forget(note.id.upper())
            assert (done.id, done.changed, done.tier) == (note.id, True, "trashed")
            assert db.recall("key").hits == ()
            assert "tier leaves out 1" in str(db.recall("key").reason)
            assert texts(db.recall("key", tier="trashed")) == ["the key is under the mat"]
            assert db.notes.get(note.id).tier == "trashed"
            assert db.forget(note.id).changed is False

    def test_hard_is_gone_and_its_bytes_leave_with_compact(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            other = db.remember("something else stays")
            note = db.remember(
                "the safe opens with 4711-zyx", tags=["zyxtag"], metadata={"zyxmeta": 1}, source="zyxsrc"
            )
            db.checkpoint()
            done = db.forget(note.id, hard=True)
            assert (done.changed, done.tier) == (True, None)
            with pytest.raises(NotFound):
                db.notes.get(note.id)
            for tier in ("active", "trashed", "archived"):
                assert note.id not in [hit.id for hit in db.recall("safe 4711-zyx", tier=tier).hits]
            db.compact()
            assert b"zyx" not in path.read_bytes()
            assert db.notes.get(other.id).text == "something else stays"

    def test_earlier_words_of_an_erased_note_leave_too(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        for keep_history in (False, True):
            with memory(path) as db:
                note = db.remember("first wording qqfirst", external_id="x")
                db.checkpoint()
                db.remember("second wording qqsecond", external_id="x")
                db.forget(note.id, hard=True)
                db.compact(keep_history=keep_history)
                raw = path.read_bytes()
                assert b"qqfirst" not in raw
                assert b"qqsecond" not in raw

    def test_a_message_is_only_erased(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            (id_,) = db.archive.append_many([{"text": "what was said"}])
            with pytest.raises(InvalidRequest) as refused:
                db.forget(id_)
            assert refused.value.field == "hard"
            assert db.archive.get(id_).text == "what was said"
            assert db.forget(id_, hard=True).changed

    def test_what_is_no_note_is_not_found(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            node = db.knowledge.put("graph", "node")
            for id_ in (NO_ID, node.id, str(node.graph_id)):
                for hard in (False, True):
                    with pytest.raises(NotFound):
                        db.forget(id_, hard=hard)

    def test_remembered_again_after_erasure_it_is_one_live_copy(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            distract(db)
            first = db.remember("the blue kayak")
            db.forget(first.id, hard=True)
            again = db.remember("the blue kayak")
            assert again.created
            assert [hit.id for hit in db.recall("kayak").hits] == [again.id]


class TestListing:
    def test_pages_walk_everything_once(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            notes = db.remember_many(
                [{"text": f"note {n}", "at": NOW - n // 2 * HOUR, "project": "ab"[n % 2], "tags": ["t" * (n % 3 + 1)]}
                 for n in range(20)]
            )  # fmt: skip
            oldest_first = sorted(notes, key=lambda note: (note.at, note.id))
            ids = [note.id for note in oldest_first]
            assert [note.id for note in every(db.notes.list, sort="at", newest_first=False)] == ids
            assert [note.id for note in every(db.notes.list, sort="at")] == ids[::-1]
            in_a = [note.id for note in oldest_first if note.project == "a"]
            assert [note.id for note in every(db.notes.list, project="a", sort="at", newest_first=False)] == in_a
            tagged = [note.id for note in oldest_first if note.tags == ("tt",)]
            assert [note.id for note in every(db.notes.list, tags=["TT"], sort="at", newest_first=False)] == tagged

    def test_a_page_that_ends_exactly_has_no_next(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            db.remember_many(["one", "two", "three"])
            assert db.notes.list(limit=3).next is None
            assert db.notes.list(limit=2).next is not None

    def test_one_commit_for_many(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            before = db.stats().commit
            assert len(db.remember_many(f"note {n}" for n in range(100))) == 100
            assert db.stats().commit == before + 1
            assert db.remember_many([]) == ()
            assert db.stats().commit == before + 1


class TestFinding:
    def test_by_the_name_the_host_gave(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            kept = db.remember("the pool", external_id="issue-7", project="Web")
            db.remember("another pool", external_id="issue-7", project="shop")
            db.notes.trash(kept.id)
            found = db.notes.find("issue-7", project="web ")
            assert found is not None
            assert (found.id, found.tier) == (kept.id, "trashed")
            assert db.notes.find("issue-8", project="web") is None
            assert db.notes.find("issue-7") is None
            with pytest.raises(InvalidRequest, match="external_id"):
                db.notes.find("")

    def test_an_id_of_another_project_is_not_found(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            kept = db.remember("the pool", project="Web")
            assert db.notes.get(kept.id, project=" wEB").text == "the pool"
            with pytest.raises(NotFound, match="is in the project 'Web'"):
                db.notes.get(kept.id, project="shop")
            with pytest.raises(InvalidRequest, match="project"):
                db.notes.get(kept.id, project="")
