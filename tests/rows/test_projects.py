"""Projects as a whole: what is in them, and moving, trashing and erasing it. Tests are named after their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memhop import DB, Config, InvalidRequest, NotFound
from memhop.common.clock import ManualClock
from memhop.repo.l2_context import Scene, Topic
from memhop.repo.l4_archive import Message
from memhop.repo.l4_note import Note
from tests.support.memories import DAY, NO_ID, NOW, every, memory, texts

TICKETS = {
    "kinds": {
        "ticket": {"statuses": ["new", "shipped"], "status": "new", "open": ["new"], "terminal": ["shipped"]},
        "bug": {"statuses": ["reported", "gone"], "status": "reported", "open": ["reported"]},
        "order": {"required": ["customer"]},
    }
}


def noted(db: DB, project: str, count: int = 3, **fields: Any) -> list[str]:
    """Ids of notes that differ."""
    return [db.remember(f"{project} {fields} {number}", project=project, **fields).id for number in range(count)]


def trashed(db: DB, id_: str) -> None:
    db.forget(id_)


def names(db: DB) -> list[str]:
    return [project.name for project in every(db.projects.list)]


# -- H11, B9: reassign ---------------------------------------------------------------------------------------


def test_h11_reassign_moves_notes_of_every_tier(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        active, gone, other = noted(db, "a")
        trashed(db, gone)
        clock.advance(DAY)
        done = db.projects.reassign([active, gone], to="b", from_="A")
        assert (done.project, done.changed, done.notes) == ("b", True, 2)
        assert set(done.ids) == {active, gone}
        note = db.notes.get(gone)
        assert (note.project, note.tier, note.rev, note.updated_at) == ("b", "trashed", 3, NOW + DAY)
        assert db.notes.get(other).project == "a"
        # the index is that of the new project at once
        assert texts(db.recall("a", project="b", universal=False)) == [db.notes.get(active).text]
        assert db.projects.count("a").total == 1
        assert not db.verify(deep=True).problems


def test_h11_reassign_everything_of_a_project(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        ids = noted(db, "a")
        db.archive.append_many([{"text": "said in a", "project": "a"}])
        done = db.projects.reassign(all=True, from_="a", to=" B ")
        assert (set(done.ids), done.project, done.messages) == (set(ids), "B", 0)
        assert db.projects.count("a").messages == 1
        again = db.projects.reassign(all=True, from_="B", to="b")
        assert (again.changed, again.notes, again.reason) == (False, 0, "it is there already")
        assert [id_ for id_, _ in again.stayed] == sorted(ids)


def test_h11_notes_of_another_project_stay_and_are_named(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        (ours,), (theirs,) = noted(db, "a", 1), noted(db, "b", 1)
        done = db.projects.reassign([ours, theirs], from_="a", to="c")
        assert done.ids == (ours,)
        assert done.stayed == ((theirs, "it is in 'b'"),)
        assert db.notes.get(theirs).project == "b"


def test_h11_nothing_moves_where_one_id_is_unknown(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        (note,) = noted(db, "a", 1)
        before = db.stats().commit
        with pytest.raises(NotFound):
            db.projects.reassign([note, NO_ID], to="b")
        with pytest.raises(NotFound, match="there is 'a'"):
            db.projects.reassign(all=True, from_="aa", to="b")
        assert (db.notes.get(note).project, db.stats().commit) == ("a", before)


@pytest.mark.parametrize("dry_run", [False, True])
def test_h11_statuses_fall_to_the_default_of_the_new_project(tmp_path: Path, dry_run: bool) -> None:
    """Kinds were moved into a project where their status means nothing, and then counted nowhere."""
    with memory(tmp_path / "a.meh", config=Config(schemas={"shop": TICKETS})) as db:
        (bug,) = noted(db, "a", 1, kind="bug", status="in_progress")
        (free,) = noted(db, "a", 1, kind="ticket")
        (order,) = noted(db, "a", 1, kind="order")
        (fact,) = noted(db, "a", 1, kind="fact", status="odd")
        with pytest.raises(InvalidRequest) as refused:
            db.projects.reassign(all=True, from_="a", to="shop", strict=True, dry_run=dry_run)
        assert refused.value.field in ("status", "metadata.customer")
        done = db.projects.reassign(all=True, from_="a", to="Shop", dry_run=dry_run)
        assert {(r.id, r.before, r.after) for r in done.restatused} == {
            (bug, "in_progress", "reported"),
            (free, None, "new"),
        }
        assert done.restatused_count == 2
        assert any("1 of kind order lack 'customer'" in remark for remark in done.remarks)
        assert done.notes == 4
        project, status = ("a", "in_progress") if dry_run else ("Shop", "reported")
        assert (db.notes.get(bug).project, db.notes.get(bug).status) == (project, status)
        assert db.notes.get(fact).status == "odd"
        assert db.notes.get(order).project == project


def test_h11_a_dry_run_tells_what_the_real_run_does(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", config=Config(schemas={"shop": TICKETS})) as db:
        noted(db, "a", 2, kind="bug", status="open")
        noted(db, "a", 2, external_id="twice")
        db.remember("is there", project="shop", external_id="twice")
        before = db.stats().head_digest
        dry = db.projects.reassign(all=True, from_="a", to="shop", dry_run=True).to_dict()
        assert db.stats().head_digest == before
        real = db.projects.reassign(all=True, from_="a", to="shop").to_dict()
        assert (dry.pop("dry_run"), real.pop("dry_run")) == (True, False)
        assert (dry.pop("reason"), real.pop("reason")) == ("would move to 'shop'", "moved to 'shop'")
        assert dry == real
        assert any("external id" in remark for remark in real["remarks"])


@pytest.mark.parametrize("ids", [[], (), None, "abc", "0123456789abcdef", ["abc"], [1], {}])
def test_b9_what_is_no_list_of_ids_is_refused(tmp_path: Path, ids: Any) -> None:
    """An empty list of ids, or one in which nothing could be read, meant "all": it moved a whole project."""
    with memory(tmp_path / "a.meh") as db:
        noted(db, "a")
        with pytest.raises(InvalidRequest):
            db.projects.reassign(ids, to="b", from_="a")
        with pytest.raises(InvalidRequest):
            db.projects.reassign(ids, to="b", from_="a", dry_run=True)
        assert db.projects.count("a").total == 3


def test_b9_all_needs_the_word_and_a_project(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        ids = noted(db, "a")
        for arguments in ({"all": True}, {"all": True, "ids": ids, "from_": "a"}, {"all": "yes", "from_": "a"}):
            with pytest.raises(InvalidRequest):
                db.projects.reassign(to="b", **arguments)
        for to in ("", "  ", 7, "x" * 201, "a\nb"):
            with pytest.raises(InvalidRequest):
                db.projects.reassign(ids, to=to)  # type: ignore[arg-type]
        assert db.projects.count("a").total == 3


# -- H12: list, and names ------------------------------------------------------------------------------------


def test_h12_every_project_with_anything_in_it_is_listed(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        (gone,) = noted(db, "only trash", 1)
        noted(db, "Ärger", 2)
        db.archive.append_many([{"text": "hello", "project": "talk"}, {"text": "hello there"}])
        clock.advance(DAY)
        trashed(db, gone)
        listed = {project.name: project for project in every(db.projects.list)}
        assert list(listed) == ["default", "only trash", "talk", "Ärger"]
        assert listed["only trash"].to_dict() == {
            "name": "only trash",
            "active": 0,
            "archived": 0,
            "trashed": 1,
            "messages": 0,
            "changed_at": "2026-05-29T20:26:40Z",
        }
        assert (listed["talk"].messages, listed["talk"].changed_at) == (1, None)
        assert (listed["default"].messages, listed["default"].active) == (1, 0)
        assert listed["Ärger"].active == 2


def test_h12_names_compare_without_case_form_and_space_around_them(tmp_path: Path) -> None:
    """ "P", "p" and " p " were three projects."""
    with memory(tmp_path / "a.meh") as db:
        (one,) = noted(db, "Café", 1)
        for number, name in enumerate(("café", " CAFÉ ", "Cafe\u0301")):
            (other,) = noted(db, f"x{number}", 1)
            assert db.projects.reassign([other], to=name).project == "Café"
        assert names(db) == ["Café"]
        assert db.projects.count("CAFÉ").total == 4
        assert db.notes.get(one).project == "Café"


def test_h12_a_lookalike_is_only_remarked_on(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        noted(db, "webapp")
        (note,) = noted(db, "x", 1)
        done = db.projects.reassign([note], to="web-app")
        assert done.remarks == ("there also is a project 'webapp'",)
        assert names(db) == ["web-app", "webapp"]


# -- H13: count ----------------------------------------------------------------------------------------------


def test_h13_count_by_kind_without_the_trash(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        noted(db, "a", 2, kind="bug", status="open")
        noted(db, "a", 1, kind="bug", status="fixed")
        noted(db, "a", 1, kind="mine")
        (gone,) = noted(db, "a", 1, kind="plan")
        trashed(db, gone)
        noted(db, "b", 1, kind="bug")
        counted = db.projects.count(" A ")
        assert (counted.project, counted.kinds, counted.total) == ("a", {"bug": 3, "mine": 1}, 4)
        assert counted.tiers == {"active": 4, "archived": 0, "trashed": 1}


def test_h13_an_unknown_project_counts_zero(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        counted = db.projects.count("nobody")
        assert (counted.kinds, counted.total, counted.messages) == ({}, 0, 0)
        assert set(counted.tiers.values()) == {0}


# -- H14: trash, H15: purge ----------------------------------------------------------------------------------


def test_h14_trash_a_project(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", actor="mara") as db:
        ids = noted(db, "a")
        others = noted(db, "b")
        done = db.projects.trash("A")
        assert (done.project, done.count, done.ids) == ("a", 3, tuple(sorted(ids)))
        assert {db.notes.get(id_).tier for id_ in ids} == {"trashed"}
        assert {db.notes.get(id_).actor for id_ in ids} == {"mara"}
        assert {db.notes.get(id_).tier for id_ in others} == {"active"}
        again = db.projects.trash("a")
        assert (again.count, again.ids, again.reason) == (0, (), "nothing in it is outside the trash")
        with pytest.raises(NotFound, match="there is 'a'"):
            db.projects.trash("aa")


def test_h15_purge_is_refused_while_something_is_outside_the_trash(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        ids = noted(db, "a")
        with pytest.raises(InvalidRequest, match="3 notes of 'a' are not in the trash"):
            db.projects.purge("a")
        db.projects.trash("a")
        db.archive.append_many([{"text": "hello", "project": "a"}])
        with pytest.raises(InvalidRequest, match="1 messages of 'a' are not in the trash"):
            db.projects.purge("a")
        assert db.projects.count("a").tiers["trashed"] == 3
        with pytest.raises(NotFound):
            db.projects.purge("nobody", force=True)
        with pytest.raises(InvalidRequest):
            db.projects.purge("a", force=1)  # type: ignore[arg-type]
        done = db.projects.purge("a", force=True)
        assert (done.count, set(done.ids), done.messages) == (3, set(ids), 1)
        assert names(db) == []


def test_h15_purged_words_are_gone_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        for number in range(4):
            note = db.remember(f"the zanzibar ledger {number}", project="secret", external_id=f"n{number}")
            db.remember(f"the zanzibar ledger {number}, reworded", project="secret", external_id=f"n{number}")
            db.search(f"tell me of zanzibar {number}", project="secret", session="s", auto_create=True)
        db.remember("kept", project="b", links=[note.id])
        db.dream()
        db.projects.trash("secret")
        done = db.projects.purge("secret", force=True)
        assert (done.count, done.messages) == (4, 4)
        assert not [record for kind in (Message, Scene, Topic) for record in db._store.scan(kind)]
        db.compact(keep_history=True)
        assert db.verify(deep=True).ok
        assert names(db) == ["b"]
    assert b"zanzibar" not in path.read_bytes().lower()


def test_h15_purge_in_more_than_one_commit(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", durability="none") as db:
        db.remember_many([{"text": f"note {number}", "project": "big"} for number in range(1_203)])
        db.projects.trash("big")
        done = db.projects.purge("big")
        assert (done.count, len(done.ids)) == (1_203, 1_000)
        assert names(db) == []


# -- rename and merge ----------------------------------------------------------------------------------------


def filled(db: DB, project: str) -> None:
    """Everything a project can have."""
    noted(db, project, 2)
    (gone,) = noted(db, project, 1, kind="plan")
    trashed(db, gone)
    for number in range(3):
        found = db.search(f"{project} varnish {number}", project=project, session=project, auto_create=True)
        db.update(found.new_topic_id, f"an answer about varnish {number}")
    db.dream()


def belongings(db: DB) -> dict[str, set[str]]:
    """Kind of record -> the projects they say they are of."""
    store = db._store
    return {
        "Message": {message.project for message in store.scan(Message)},
        "Scene": {scene.project for scene in store.scan(Scene)},
        "Topic": {topic.project for topic in store.scan(Topic)},
        "Note": {note.project for note in store.scan(Note)},
    }


@pytest.mark.parametrize("name", ["harbour", "default"])
def test_rename_takes_everything_along_in_one_commit(tmp_path: Path, name: str) -> None:
    with memory(tmp_path / "a.meh") as db:
        filled(db, name)
        before, count = db.stats(), db.projects.count(name)
        done = db.projects.rename(name, "Quay")
        assert db.stats().commit == before.commit + 1
        assert belongings(db) == {"Message": {"Quay"}, "Scene": {"Quay"}, "Topic": {"Quay"}, "Note": {"Quay"}}
        assert (done.notes, done.messages) == (3, 6)
        assert (done.scenes, done.topics) == (before.records["scene"], before.records["topic"])
        assert db.projects.count("quay").to_dict() | {"project": name} == count.to_dict()
        assert names(db) == ["Quay"]
        assert db.recall("varnish", project="quay").hits
        assert not db.recall("varnish", project=name).hits
        assert db.scenes.list(project="quay").items
        assert not db.verify(deep=True).problems


def test_rename_to_another_spelling_of_the_same_name(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        filled(db, "harbour")
        done = db.projects.rename("harbour", "Harbour")
        assert (done.changed, done.notes) == (True, 3)
        assert belongings(db)["Topic"] == {"Harbour"}
        assert names(db) == ["Harbour"]
        again = db.projects.rename("HARBOUR", " Harbour ")
        assert (again.changed, again.notes, again.stayed) == (False, 0, ())


def test_rename_never_joins_two_projects(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        noted(db, "a")
        noted(db, "b")
        with pytest.raises(InvalidRequest, match="merge"):
            db.projects.rename("a", "B")
        with pytest.raises(NotFound, match="there is 'a'"):
            db.projects.rename("aaa", "c")
        assert names(db) == ["a", "b"]


def test_merge(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", config=Config(schemas={"shop": TICKETS})) as db:
        filled(db, "harbour")
        (bug,) = noted(db, "harbour", 1, kind="bug", status="open")
        noted(db, "Shop", 1)
        done = db.projects.merge("HARBOUR", "shop")
        assert (done.project, done.notes, done.messages) == ("Shop", 4, 6)
        assert db.notes.get(bug).status == "reported"
        assert names(db) == ["Shop"]
        assert belongings(db)["Scene"] == {"Shop"}
        for source, into, error in (("shop", "SHOP", InvalidRequest), ("x", "shop", NotFound), ("shop", "x", NotFound)):
            with pytest.raises(error):
                db.projects.merge(source, into)


def test_moving_notes_embeds_nothing_anew(tmp_path: Path) -> None:
    from memhop import HashEmbedder

    with memory(tmp_path / "a.meh", embedder=HashEmbedder(16)) as db:
        noted(db, "a")
        db.backfill()
        db.projects.rename("a", "b")
        assert db.pending().without_vector == 0


def test_a_note_remembers_the_projects_it_was_in(tmp_path: Path) -> None:
    from memhop.repo.l4_revision import NoteRevision

    with memory(tmp_path / "a.meh", actor="mara") as db:
        (note,) = noted(db, "a", 1)
        db.projects.rename("a", "b")
        (revision,) = db._store.scan(NoteRevision)
        assert (revision.act, revision.actor, revision.before["project"]) == ("reassign", "mara", "a")
        assert db.notes.get(note).rev == 2


def test_the_kinds_a_project_knows(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh", config=Config(schemas={"shop": TICKETS})) as db:
        assert db.projects.schema("SHOP")["ticket"].statuses == ("new", "shipped")
        assert "ticket" not in db.projects.schema("other")
        assert db.projects.schema("other")["bug"].open == ("open", "in_progress")


def test_damaged_notes_hide_no_project_and_stay_where_they_are(tmp_path: Path) -> None:
    """A project is known by the newest of its notes, and by others where that one cannot be read."""
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember_many([{"text": f"note number {number}", "project": "a"} for number in range(5)])
        db.checkpoint()
    raw = bytearray(path.read_bytes())
    newest = max(range(5), key=lambda number: _id_of(path, number))
    raw[raw.rindex(f"note number {newest}".encode()) + 12] ^= 1
    path.write_bytes(raw)
    with memory(path) as db:
        assert db.projects.count("a").total == 5
        assert names(db) == ["a"]
        assert db.brief("a").projects[0].kinds == {"note": 5}
        dry = db.projects.reassign(all=True, from_="a", to="b", dry_run=True)
        done = db.projects.rename("a", "b")
        assert [(one.notes, one.damaged) for one in (dry, done)] == [(4, 1), (4, 1)]
        assert "1 damaged records stay" in done.reason


def _id_of(path: Path, number: int) -> str:
    with memory(path, mode="read") as db:
        return str(next(note.id for note in db.notes.list().items if note.text.endswith(str(number))))


def test_h12_a_name_means_the_same_in_every_call(tmp_path: Path) -> None:
    """Notes took the blanks around a name away; messages and filters kept them, and so did not find each other."""
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("the kayak leaks", project=" web ")
        (message,) = db.archive.append_many([{"text": "the kayak is mended", "project": "web "}])
        turn = db.search("where is the kayak?", project="  Web", session="s")
        for name in ("web", " WEB "):
            assert {note.id, message} <= {hit.id for hit in db.recall("kayak", project=name).hits}
            assert [scene.id for scene in db.scenes.list(project=name).items] == [turn.scene_id]
            assert {event.id for event in db.events(project=name).events} >= {note.id, message}
            assert db.export(project=name).records == db.export(project="web").records > 2
        for write in (
            lambda: db.archive.append_many([{"text": "x", "project": " "}]),
            lambda: db.search("x", project=" "),
            lambda: db.recall("x", project=" "),
            lambda: db.purge(project=" "),
        ):
            with pytest.raises(InvalidRequest, match="project"):
                write()
