"""The life of notes: each act on each tier, edits, links, supersession, revisions and the way back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memhop import DB, Config, Conflict, InvalidRequest, NotFound
from memhop.api.results import Changed
from memhop.common.clock import ManualClock
from tests.support.memories import DAY, HOUR, NO_ID, NOW, every, memory, texts

TIERS: dict[str, tuple[str, ...]] = {  # how a note gets there
    "active": (),
    "archived": ("archive",),
    "trashed": ("trash",),
    "trashed, archived before": ("archive", "trash"),
}
ACTS: dict[str, Callable[[DB, str], Changed]] = {
    "trash": lambda db, id_: db.notes.trash(id_),
    "restore": lambda db, id_: db.notes.restore(id_),
    "archive": lambda db, id_: db.notes.archive(id_),
    "unarchive": lambda db, id_: db.notes.unarchive(id_),
    "update": lambda db, id_: db.notes.update(id_, text="other words"),
    "pin": lambda db, id_: db.notes.pin(id_),
    "link": lambda db, id_: db.notes.link(id_, db.remember("the target").id),
    "purge": lambda db, id_: db.notes.purge(id_),
    "purge, force": lambda db, id_: db.notes.purge(id_, force=True),
}
# from, act -> whether it changes, and the tier then. "error": refused
MATRIX: dict[str, dict[str, Any]] = {
    "active": {
        "trash": (True, "trashed"), "restore": (False, "active"), "archive": (True, "archived"),
        "unarchive": (False, "active"), "update": (True, "active"), "pin": (True, "active"), "link": (True, "active"),
        "purge": "error", "purge, force": (True, "purged"),
    },
    "archived": {
        "trash": (True, "trashed"), "restore": (False, "archived"), "archive": (False, "archived"),
        "unarchive": (True, "active"), "update": (True, "archived"), "pin": (True, "archived"),
        "link": (True, "archived"), "purge": "error", "purge, force": (True, "purged"),
    },
    "trashed": {
        "trash": (False, "trashed"), "restore": (True, "active"), "archive": (True, "archived"),
        "unarchive": (False, "trashed"), "update": (False, "trashed"), "pin": (False, "trashed"),
        "link": (False, "trashed"), "purge": (True, "purged"), "purge, force": (True, "purged"),
    },
    "trashed, archived before": {
        "trash": (False, "trashed"), "restore": (True, "archived"), "archive": (True, "archived"),
        "unarchive": (True, "trashed"), "update": (False, "trashed"), "pin": (False, "trashed"),
        "link": (False, "trashed"), "purge": (True, "purged"), "purge, force": (True, "purged"),
    },
}  # fmt: skip


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("start", TIERS)
def test_h6_h7_h8_h9_h10_the_matrix(tmp_path: Path, start: str, act: str) -> None:
    """Every act from every tier: what it changes, where the note is then, and that nothing is written where nothing
    changes and says why."""
    expected = MATRIX[start][act]
    with memory(tmp_path / "a.meh", durability="none", actor="ann") as db:
        note = db.remember("the kayak leaks")
        for step in TIERS[start]:
            assert ACTS[step](db, note.id).changed
        before = db.notes.get(note.id)
        db.remember("the target")
        digest = db.stats().head_digest
        if expected == "error":
            with pytest.raises(InvalidRequest) as refused:
                ACTS[act](db, note.id)
            assert refused.value.field == "force"
            assert db.stats().head_digest == digest
            return
        done = ACTS[act](db, note.id)
        assert (done.changed, done.tier) == expected
        assert (done.id, done.reason != "") == (note.id, True)
        if done.tier == "purged":
            with pytest.raises(NotFound):
                db.notes.get(note.id)
            with pytest.raises(NotFound):
                ACTS[act](db, note.id)
            return
        now = db.notes.get(note.id)
        assert (now.tier, now.rev) == (done.tier, done.rev) == (done.tier, before.rev + done.changed)
        if not done.changed:
            assert now == before
        else:
            assert now.actor == "ann"
            shown = db.recall("kayak words", tier=now.tier).hits
            assert [hit.id for hit in shown if hit.id == note.id]
            for tier in {"active", "archived", "trashed"} - {now.tier}:
                assert note.id not in [hit.id for hit in db.recall("kayak words", tier=tier).hits]
            assert note.id in [item.id for item in db.notes.list(tier=now.tier).items]
        if start == "trashed, archived before" and act == "unarchive":
            assert db.notes.restore(note.id).tier == "active", "the mark was taken away in the trash"


@pytest.mark.parametrize("act", [name for name in ACTS if name != "link"])
def test_h6_what_is_not_there_is_not_found(tmp_path: Path, act: str) -> None:
    with memory(tmp_path / "a.meh") as db:
        (message,) = db.archive.append_many([{"text": "said"}])
        for id_ in (NO_ID, message):
            with pytest.raises(NotFound):
                ACTS[act](db, id_)


def test_n7_forget_is_the_trash(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("the kayak leaks")
        assert db.forget(note.id).changed
        assert not db.forget(note.id).changed
        assert db.notes.restore(note.id).changed
        assert texts(db.recall("kayak")) == ["the kayak leaks"]


class TestEdit:
    def test_h5_edit_merges_metadata(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            note = db.remember("slow", kind="bug", metadata={"a": 1, "b": 2, "severity": "major"})
            db.notes.update(note.id, metadata={"b": None, "c": {"d": 3}, "severity": None})
            assert db.notes.get(note.id).metadata == {"a": 1, "c": {"d": 3}, "severity": "minor", "files": []}
            db.notes.update(note.id, metadata={"z": 1}, replace_metadata=True)
            assert db.notes.get(note.id).metadata == {"z": 1, "severity": "minor", "files": []}
            with pytest.raises(InvalidRequest):
                db.notes.update(note.id, metadata={"big": "x" * 40_000, "bigger": "y" * 40_000})
            db.notes.update(note.id, metadata={"big": "x" * 40_000})
            with pytest.raises(InvalidRequest):
                db.notes.update(note.id, metadata={"bigger": "x" * 40_000})

    def test_h5_an_edit_is_indexed_and_keeps_the_rest(self, tmp_path: Path) -> None:
        clock = ManualClock(NOW)
        with memory(tmp_path / "a.meh", clock=clock) as db:
            note = db.remember("alpha zebra", tags=["t"], at=NOW - DAY, source="mail")
            clock.advance(HOUR)
            assert db.notes.update(note.id, text="beta lion").changed
            now = db.notes.get(note.id)
            assert (now.text, now.tags, now.source, now.at) == ("beta lion", ("t",), "mail", NOW - DAY)
            assert (now.created_at, now.updated_at, now.rev) == (NOW, NOW + HOUR, 2)
            assert db.recall("zebra").hits == ()
            assert texts(db.recall("lion")) == ["beta lion"]
            assert db.notes.update(note.id, tags=[], source="", at=NOW).reason == "tags, source, at changed"
            assert (db.notes.get(note.id).tags, db.notes.get(note.id).source) == ((), None)

    def test_h5_nothing_to_change_writes_nothing(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            note = db.remember("a", kind="bug")
            digest = db.stats().head_digest
            for done in (db.notes.update(note.id), db.notes.update(note.id, text="a", status="open", metadata={})):
                assert (done.changed, done.rev) == (False, 1)
                assert done.reason
            assert db.stats().head_digest == digest

    @pytest.mark.parametrize("text", ["", "  ", 5, "x" * (4 * 1024 * 1024 + 1)], ids=["empty", "blank", "5", "huge"])
    def test_h5_the_limits_of_remember_hold(self, tmp_path: Path, text: Any) -> None:
        with memory(tmp_path / "a.meh") as db:
            note = db.remember("a")
            with pytest.raises(InvalidRequest) as refused:
                db.notes.update(note.id, text=text)
            assert refused.value.field == "text"

    def test_h5_an_edit_of_another_revision_is_a_conflict(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            note = db.remember("a")
            db.notes.update(note.id, text="b", expected_rev=1)
            digest = db.stats().head_digest
            with pytest.raises(Conflict) as conflict:
                db.notes.update(note.id, text="c", expected_rev=1)
            assert conflict.value.rev == 2
            with pytest.raises(Conflict):
                db.notes.revert(note.id, 1, expected_rev=1)
            assert db.stats().head_digest == digest
            assert db.notes.get(note.id).text == "b"

    def test_b35_another_kind_falls_to_its_default_status(self, tmp_path: Path) -> None:
        """A change of kind was refused because of the status that the caller had not named."""
        with memory(tmp_path / "a.meh") as db:
            note = db.remember("x", kind="decision", status="approved")
            done = db.notes.update(note.id, kind="bug")
            assert "approved" in done.reason
            assert "open" in done.reason
            now = db.notes.get(note.id)
            assert (now.kind, now.status) == ("bug", "open")
            assert now.metadata == {"files": [], "rationale": "", "severity": "minor"}
            assert db.notes.update(note.id, kind="plan", status="completed").changed
            with pytest.raises(InvalidRequest):
                db.notes.update(note.id, kind="bug", status="completed")


class TestLinks:
    def test_b34_links_are_checked(self, tmp_path: Path) -> None:
        """Ids that named nothing, and the note itself, were taken for links."""
        with memory(tmp_path / "a.meh") as db:
            a, b = db.remember_many(["a", "b"])
            (message,) = db.archive.append_many([{"text": "said"}])
            with pytest.raises(NotFound):
                db.notes.link(a.id, NO_ID)
            with pytest.raises(NotFound):
                db.remember("c", links=[NO_ID])
            with pytest.raises(InvalidRequest):
                db.notes.link(a.id, a.id)
            with pytest.raises(InvalidRequest):
                db.notes.update(a.id, links=[a.id])
            no_types: tuple[Any, ...] = ("knows", "Fixes", "", 5)
            for bad in no_types:
                with pytest.raises(InvalidRequest):
                    db.notes.link(a.id, b.id, bad)
                with pytest.raises(InvalidRequest):
                    db.remember("c", links=[{"id": b.id, "type": bad}])
            no_links: tuple[Any, ...] = ([{"id": b.id, "kind": "fixes"}], [(b.id,)], [("fixes", b.id, 1)], "abc", [5])
            for bad in no_links:
                with pytest.raises(InvalidRequest):
                    db.remember("c", links=bad)
            with pytest.raises(InvalidRequest):
                db.notes.link(a.id, message, "supersedes")
            note = db.remember("c", links=[a.id, {"id": b.id, "type": "fixes"}, ("causes", b.id), message, a.id])
            assert note.links == (a.id, b.id, b.id, message)
            assert note.link_types == ("related", "fixes", "causes", "related")
            assert replace_created(note) == db.notes.get(note.id)

    def test_h1_links_are_seen_from_both_ends(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            a, b, c = db.remember_many(["a", "b", "c"])
            assert db.notes.link(a.id, b.id, "fixes").changed
            assert not db.notes.link(a.id, b.id, "fixes").changed
            assert db.notes.link(a.id, b.id, "part_of").changed
            assert db.notes.link(c.id, a.id).changed
            found = [(link.id, link.type, link.outgoing, link.text) for link in every(db.notes.links, id=a.id, page=1)]
            assert found == [(b.id, "fixes", True, "b"), (b.id, "part_of", True, "b"), (c.id, "related", False, "c")]
            assert {link.outgoing for link in db.notes.links(b.id).items} == {False}
            assert db.notes.unlink(a.id, b.id, "fixes").changed
            assert not db.notes.unlink(a.id, b.id, "fixes").changed
            assert db.notes.unlink(c.id, a.id).changed
            assert [link.type for link in db.notes.links(a.id).items] == ["part_of"]


def replace_created(note: Any) -> Any:
    from dataclasses import replace

    return replace(note, created=False)


class TestSupersession:
    def test_h1_it_takes_the_place_in_the_same_commit(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", actor="ann") as db:
            old = db.remember("we deploy on Fridays", kind="decision", status="approved")
            commit = db.stats().commit
            new = db.remember("we deploy on Mondays", kind="decision", links=[("supersedes", old.id)])
            assert db.stats().commit == commit + 1
            marked = db.notes.get(old.id)
            assert (marked.superseded_by, marked.status, marked.actor) == (new.id, "superseded", "ann")
            assert db.notes.history(old.id).items[0].act == "supersede"
            assert next(hit for hit in db.recall("deploy").hits if hit.id == old.id).superseded
            assert db.verify(deep=True).ok

    @pytest.mark.parametrize("way", ["unlink", "trash", "purge", "hard", "edit", "revert", "all trash"])
    def test_h1_it_is_in_force_again_when_the_other_goes(self, tmp_path: Path, way: str) -> None:
        with memory(tmp_path / "a.meh") as db:
            old = db.remember("we deploy on Fridays", kind="decision", status="approved")
            new = db.remember("we deploy on Mondays", kind="decision")
            db.notes.link(new.id, old.id, "supersedes")
            assert db.notes.get(old.id).status == "superseded"
            commit = db.stats().commit
            if way == "unlink":
                db.notes.unlink(new.id, old.id)
            elif way == "trash":
                db.notes.trash(new.id)
            elif way == "purge":
                db.notes.purge(new.id, force=True)
            elif way == "hard":
                db.forget(new.id, hard=True)
            elif way == "edit":
                db.notes.update(new.id, links=[])
            elif way == "revert":
                db.notes.revert(new.id, 1)
            else:
                db.projects.trash("default")
            assert db.stats().commit == commit + 1
            now = db.notes.get(old.id)
            assert (now.superseded_by, now.status) == (None, "approved")
            assert db.verify(deep=True).ok
            if way == "trash":
                db.notes.restore(new.id)
                assert (db.notes.get(old.id).superseded_by, db.notes.get(old.id).status) == (new.id, "superseded")

    def test_h1_the_next_one_takes_over(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            old = db.remember("v1", kind="decision", status="approved")
            second = db.remember("v2", links=[("supersedes", old.id)], at=NOW - DAY)
            third = db.remember("v3", links=[("supersedes", old.id)])
            assert db.notes.get(old.id).superseded_by == third.id
            db.notes.purge(third.id, force=True)
            assert (db.notes.get(old.id).superseded_by, db.notes.get(old.id).status) == (second.id, "superseded")
            db.notes.trash(second.id)
            assert (db.notes.get(old.id).superseded_by, db.notes.get(old.id).status) == (None, "approved")

    def test_h1_a_status_that_somebody_set_stays(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            done = db.remember("v1", kind="decision", status="implemented")
            fact = db.remember("a fact", kind="fact", status="checked")
            open_ = db.remember("v1 again", kind="decision")
            new = db.remember("v2", links=[("supersedes", note.id) for note in (done, fact, open_)])
            assert [db.notes.get(note.id).status for note in (done, fact)] == ["implemented", "checked"]
            db.notes.update(open_.id, status="rejected")
            db.notes.trash(new.id)
            found = [db.notes.get(note.id) for note in (done, fact, open_)]
            assert [note.status for note in found] == ["implemented", "checked", "rejected"]
            assert [note.superseded_by for note in found] == [None] * 3

    def test_h1_circles_are_refused(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh") as db:
            a = db.remember("a")
            b = db.remember("b", links=[("supersedes", a.id)])
            c = db.remember("c", links=[("supersedes", b.id)])
            digest = db.stats().head_digest
            for first, second in ((a, c), (a, b), (b, c)):
                with pytest.raises(InvalidRequest):
                    db.notes.link(first.id, second.id, "supersedes")
                with pytest.raises(InvalidRequest):
                    db.notes.update(first.id, links=[("supersedes", second.id)])
            assert db.stats().head_digest == digest

    def test_h1_what_was_erased_is_named_nowhere(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            old = db.remember("v1", kind="decision")
            new = db.remember("qqsecret", links=[("supersedes", old.id)])
            receipt = db.forget(new.id, hard=True, prove=True).receipt
            assert receipt is not None
            assert receipt.complete
            assert b"qqsecret" not in path.read_bytes()
            assert db.verify(deep=True).ok


class TestHistory:
    def test_h5_history_says_who_when_and_what(self, tmp_path: Path) -> None:
        path, clock = tmp_path / "a.meh", ManualClock(NOW)
        with memory(path, clock=clock, actor="ann") as db:
            note = db.remember("line one\nline two", kind="bug", tags=["a"])
        with memory(path, clock=clock, actor="bob") as db:
            clock.advance(HOUR)
            db.notes.update(note.id, text="line one\nline 2", status="fixed")
            clock.advance(HOUR)
            db.notes.pin(note.id)
            for _ in range(2):
                found = every(db.notes.history, id=note.id, page=2)
                assert [(item.rev, item.act, item.actor, item.at) for item in found] == [
                    (3, "pin", "bob", NOW + 2 * HOUR),
                    (2, "edit", "bob", NOW + HOUR),
                    (1, "create", "ann", NOW),
                ]
                assert [(change.name, change.before, change.after) for change in found[1].changes] == [
                    ("status", "open", "fixed")
                ]
                assert found[1].diff == "--- before\n+++ after\n@@ -1,2 +1,2 @@\n line one\n-line two\n+line 2"
                assert found[0].diff is None
                db.compact()
            with pytest.raises(NotFound):
                db.notes.history(NO_ID)

    def test_h5_a_diff_is_bounded(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", durability="none") as db:
            note = db.remember("\n".join(f"line {n}" for n in range(2_000)))
            db.notes.update(note.id, text="\n".join(f"row {n}" for n in range(2_000)))
            diff = db.notes.history(note.id).items[0].diff
            assert diff is not None
            assert diff.count("\n") == 200
            assert "more lines" in diff
            db.notes.update(note.id, text="word " * 200_000)
            assert "not compared" in str(db.notes.history(note.id).items[0].diff)

    def test_h5_revert_brings_a_revision_back_as_a_new_one(self, tmp_path: Path) -> None:
        with memory(tmp_path / "a.meh", durability="none") as db:
            target = db.remember("target")
            note = db.remember("first", kind="bug", tags=["a"], metadata={"x": [1]}, links=[("fixes", target.id)])
            first = db.notes.get(note.id)
            db.notes.update(note.id, text="second", kind="plan", tags=["b"], metadata={"x": None}, links=[])
            db.notes.archive(note.id)
            db.notes.update(note.id, text="third")
            done = db.notes.revert(note.id, 1)
            assert (done.changed, done.rev, done.tier) == (True, 5, "archived")
            now = db.notes.get(note.id)
            for field in ("text", "kind", "status", "tags", "metadata", "links", "link_types", "at", "source"):
                assert getattr(now, field) == getattr(first, field), field
            assert db.notes.revert(note.id, 5).changed is False
            assert db.notes.revert(note.id, 1).changed is False, "nothing differs"
            assert db.notes.revert(note.id, 4).changed
            assert db.notes.get(note.id).text == "third"
            db.notes.purge(target.id, force=True)
            assert "1 links to what is gone" in db.notes.revert(note.id, 1).reason
            assert db.notes.get(note.id).links == ()
            for rev in (99, 5 + 99):
                with pytest.raises(NotFound):
                    db.notes.revert(note.id, rev)
            for bad in (0, -1, True, "1"):
                with pytest.raises(InvalidRequest):
                    db.notes.revert(note.id, bad)  # type: ignore[arg-type]

    def test_h5_revisions_are_bounded(self, tmp_path: Path) -> None:
        """By number and by bytes; the last one is there however large it is, or nothing could be undone."""
        with memory(tmp_path / "a.meh", durability="none") as db:
            small = db.remember("0")
            for n in range(1, 260):
                db.notes.update(small.id, text=str(n))
            found = every(db.notes.history, id=small.id, page=70)
            assert [item.rev for item in found] == list(range(260, 59, -1))
            assert (found[-1].act, found[-1].at) == (None, None)
            with pytest.raises(NotFound):
                db.notes.revert(small.id, 59)
            db.notes.revert(small.id, 60)
            assert db.notes.get(small.id).text == "59"
            large = db.remember("0" + "x" * 100_000)
            for n in range(1, 5):
                db.notes.update(large.id, text=f"{n}{'x' * 100_000}")
            assert [item.rev for item in db.notes.history(large.id).items] == [5, 4]
            db.notes.revert(large.id, 4)
            assert db.notes.get(large.id).text.startswith("3x")


class TestRowsOfPain:
    def test_row_78_and_h10_purge_leaves_no_word_of_any_revision(self, tmp_path: Path) -> None:
        path = tmp_path / "a.meh"
        with memory(path) as db:
            other = db.remember("stays")
            note = db.remember("qqone", tags=["qqtag"], links=[other.id])
            db.checkpoint()
            for text in ("qqtwo", "qqthree"):
                db.notes.update(note.id, text=text, metadata={"qqkey": text})
            db.notes.trash(note.id)
            assert db.notes.purge(note.id).changed
            db.compact(keep_history=True)
            assert b"qq" not in path.read_bytes()
            assert db.notes.links(other.id).items == ()

    def test_row_78_the_history_that_was_dropped_leaves_too(self, tmp_path: Path) -> None:
        """A revision that fell out of the bounds stayed in a kept history, where erasing the note did not look."""
        path = tmp_path / "a.meh"
        with memory(path, durability="none") as db:
            note = db.remember("qqfirst" + "x" * 30_000)
            for n in range(4):
                db.notes.update(note.id, text=f"qq{n}" + "x" * 30_000)
            db.notes.purge(note.id, force=True)
            db.compact(keep_history=True)
            assert b"qq" not in path.read_bytes()


def test_c2_each_item_of_a_batch_is_brought_up_to_date_whole(tmp_path: Path) -> None:
    """A batch over existing ids changed the text alone: tags, metadata and vector stayed those of the older words."""
    from memhop import HashEmbedder

    with memory(tmp_path / "a.meh", embedder=HashEmbedder(16)) as db:
        first, _ = db.remember_many([{"text": "a kayak", "external_id": "x", "tags": ["a"]}, "b"])
        db.backfill()
        assert db.pending().without_vector == 0
        again, _ = db.remember_many(
            [{"text": "a harp", "external_id": "x", "tags": ["b"], "metadata": {"k": 1}, "kind": "fact"}, "b"]
        )
        assert (again.id, again.tags, again.metadata, again.kind) == (first.id, ("b",), {"k": 1}, "fact")
        assert db.pending().without_vector == 1, "the vector of the older words does not count"


def test_n3_a_batch_is_all_or_nothing(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        digest = db.stats().head_digest
        for bad in ({"text": "  "}, {"text": "x", "kind": "bug", "status": "no"}, {"text": "x", "links": [NO_ID]}):
            with pytest.raises((InvalidRequest, NotFound)):
                db.remember_many(["one", bad])
            assert db.stats().head_digest == digest


def test_b15_what_is_no_text_leaves_nothing(tmp_path: Path) -> None:
    """`content: 12345` was an error, and the row was kept."""
    with memory(tmp_path / "a.meh") as db:
        digest = db.stats().head_digest
        with pytest.raises(InvalidRequest):
            db.remember(12345)  # type: ignore[arg-type]
        assert db.stats().head_digest == digest
        assert db.notes.list().total == 0


def test_b34_the_same_words_are_one_note_however_the_kind_fills_in(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        first = db.remember("crash on start", kind="bug")
        same: tuple[Any, ...] = (None, {}, {"severity": "minor"}, {"files": [], "severity": None})
        for metadata in same:
            again = db.remember("crash on start", kind="bug", metadata=metadata)
            assert (again.id, again.created) == (first.id, False)
        assert db.remember("crash on start", kind="bug", metadata={"severity": "major"}).created
        assert db.remember("crash on start", kind="bug", status="fixed").created
        for bad in ("ab", [1], 5):
            with pytest.raises(InvalidRequest):
                db.remember("x", metadata=bad)  # type: ignore[arg-type]


def test_b34_dedupe_can_be_off(tmp_path: Path) -> None:
    from memhop.common.settings import NotesSection

    with memory(tmp_path / "a.meh", config=Config(notes=NotesSection(dedupe="off"))) as db:
        notes = [*db.remember_many(["tea", "tea"]), db.remember("tea")]
        assert len({note.id for note in notes}) == 3
        assert all(note.created for note in notes)
        assert db.remember("a", external_id="x").id == db.remember("b", external_id="x").id


def test_n2_a_given_name_is_replaced_whole_and_keeps_its_birth(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        first = db.remember("old", external_id="x", kind="bug", status="fixed")
        clock.advance(HOUR)
        second = db.remember("new", external_id="x", kind="bug")
        assert (second.id, second.created_at, second.updated_at) == (first.id, NOW, NOW + HOUR)
        assert second.status == "fixed", "nobody said another one"
        assert db.remember("new", external_id="x", kind="plan").status == "pending", "a plan is never fixed"


def test_h12_names_of_projects_are_one_whatever_their_case(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        first = db.remember("a", project=" Zürich ")
        assert first.project == "Zürich"
        for spelled in ("zürich", "ZÜRICH", "zu\u0308rich", "Zürich  "):
            note = db.remember(f"in {spelled}", project=spelled)
            assert note.project == "Zürich"
        one, two = db.remember_many([{"text": "x", "project": "New"}, {"text": "y", "project": "NEW"}])
        assert (one.project, two.project) == ("New", "New")
        assert db.notes.list(project="ZÜRICH").total == 5
        assert db.remember("z", project="DEFAULT").project == "default"
        with pytest.raises(InvalidRequest):
            db.remember("a", project="x" * 201)


def test_c10_a_failing_embedder_breaks_no_write(tmp_path: Path) -> None:
    """A custom embedder that threw, or gave another number of vectors, raised after the row was saved."""

    class Broken:
        name, digest, dim, max_batch = "broken", "0", 4, 8

        def embed(self, texts: Any, *, query: bool = False) -> Any:
            raise RuntimeError("out of order")

    with memory(tmp_path / "a.meh", embedder=Broken()) as db:
        note = db.remember("kept")
        db.notes.update(note.id, text="kept too")
        assert texts(db.recall("kept")) == ["kept too"]


def test_c15_notes_have_types_statuses_a_life_and_an_undo(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("x", kind="plan")
        db.notes.update(note.id, status="completed")
        db.notes.revert(note.id, 1)
        assert db.notes.get(note.id).status == "pending"
        assert db.forget(note.id).changed
        assert db.notes.restore(note.id).tier == "active"


def test_b34_what_was_superseded_and_is_said_again_holds_again(tmp_path: Path) -> None:
    """The old note would have been returned as known already, and its successor would still have come first."""
    with memory(tmp_path / "a.meh") as db:
        first = db.remember("We deploy on Fridays", kind="decision")
        second = db.remember("We deploy on Mondays", kind="decision", links=[("supersedes", first.id)])
        again = db.remember("We deploy on Fridays", kind="decision", links=[("supersedes", second.id)])
        assert again.created
        assert again.id != first.id
        assert db.recall("when do we deploy?").hits[0].id == again.id
        listed = db.remember("- We deploy on Mondays")  # of what is superseded nothing counts as a quote
        assert listed.created
        same = db.remember("We deploy on Fridays", kind="decision")
        assert (same.created, same.id) == (False, again.id)
