"""Rows on events, subscribers and what a failure beside a write may do to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memhop import DB, Backups, Config
from memhop.common.settings import BackupsSection, NotifySection
from tests.support.memories import memory
from tests.support.subscriber import listener, manifest


def told(db: DB, since: str) -> list[tuple[str, str | None]]:
    return [(event.type, event.project) for event in db.events(since).events]


def test_b3_a_backup_that_fails_fails_no_write(tmp_path: Path) -> None:
    """A backup folder that cannot be made: each write reported an error, although it had been saved."""
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with memory(tmp_path / "a.meh", backups=Backups(blocked / "copies", every_commits=1)) as db:
        notes = [db.remember(f"note {number}") for number in range(5)]
        assert all(note.created for note in notes)
        assert db.backups is not None
        db.backups.wait()
        assert db.stats().backup_error
        assert db.stats().records["note"] == 5
    assert BackupsSection().folder == ""


def test_b3_a_subscriber_that_fails_fails_no_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    manifest(tmp_path, "dead", "http://127.0.0.1:1/")
    with memory(tmp_path / "a.meh", config=Config(notify=NotifySection(subscribers=("dead", "absent")))) as db:
        assert all(db.remember(f"note {number}").created for number in range(20))
        assert not db.remember("note 1").created


def test_b29_only_what_happened_is_told(tmp_path: Path) -> None:
    """A delete in the wrong project and a restore of what is not in the trash were announced as if they had been."""
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("a note", project="P")
        place = db.events().next
        assert not db.notes.restore(note.id).changed
        assert not db.notes.unarchive(note.id).changed
        assert not db.notes.unpin(note.id).changed
        assert not db.notes.update(note.id, text="a note").changed
        assert told(db, place) == []
        assert db.notes.trash(note.id).changed
        assert not db.notes.trash(note.id).changed
        assert told(db, place) == [("note_trash", "P")]


def test_b33_moved_notes_say_from_where_to_where(tmp_path: Path) -> None:
    """All notes of a project reassigned: pages that showed it could not know."""
    with memory(tmp_path / "a.meh") as db:
        db.remember_many([{"text": f"page {number}", "project": "docs-site"} for number in range(13)])
        trashed = db.remember("in the trash", project="docs-site")
        db.notes.trash(trashed.id)
        place = db.events(limit=1000).next
        db.projects.reassign(all=True, from_="docs-site", to="website")
        events = db.events(place).events
        assert len(events) == 14
        assert {(event.type, event.compat) for event in events} == {("note_reassign", "memory_reassign")}
        assert {(event.from_project, event.to_project, event.project) for event in events} == {
            ("docs-site", "website", "website")
        }
        assert len(db.events(place, project="docs-site").events) == 14


def test_b34_no_subscribers_at_all(tmp_path: Path) -> None:
    """`notifySubscribers: null` made every store report an error after saving."""
    config = Config(notify=NotifySection(subscribers=None))  # type: ignore[arg-type]
    with memory(tmp_path / "a.meh", config=config) as db:
        assert db.remember("a note").created


def test_n20_nothing_beside_a_write_raises_and_nothing_connects_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No exception from whoever is told, and no network without being asked for."""
    import socket

    def refused(*_: object, **__: object) -> socket.socket:
        raise AssertionError("a socket was opened")

    with monkeypatch.context() as patched:
        patched.setattr(socket, "socket", refused)
        patched.setattr(socket, "create_connection", refused)
        with memory(tmp_path / "a.meh") as db:
            db.remember("a note")
            db.search("a question")
            db.events()
    monkeypatch.setenv("HOME", str(tmp_path))
    with (
        listener(lambda _: b"\xff\x00 nonsense") as odd,
        memory(tmp_path / "a.meh", config=Config(notify=NotifySection(subscribers=("odd",)))) as db,
    ):
        manifest(tmp_path, "odd", odd.url)
        assert db.remember("another note").created


ACTS = [
    ("note_edit", "memory_update", lambda db, id_: db.notes.update(id_, text="b")),
    ("note_status", "memory_update", lambda db, id_: db.notes.update(id_, status="open")),
    ("note_tags", "memory_update", lambda db, id_: db.notes.update(id_, tags=["t"])),
    ("note_pin", "memory_update", lambda db, id_: db.notes.pin(id_)),
    ("note_archive", "memory_archive", lambda db, id_: db.notes.archive(id_)),
    ("note_trash", "memory_trash", lambda db, id_: db.notes.trash(id_)),
    ("note_purge", "memory_purge", lambda db, id_: db.notes.purge(id_, force=True)),
    ("note_reassign", "memory_reassign", lambda db, id_: db.projects.reassign([id_], to="Q")),
]


@pytest.mark.parametrize(("type_", "compat", "act"), ACTS)
def test_n20_each_act_is_an_event_of_its_name(tmp_path: Path, type_: str, compat: str, act: object) -> None:
    with memory(tmp_path / "a.meh", actor="Ada") as db:
        note = db.remember("a", kind="bug" if type_ == "note_status" else "note", status="in_progress")
        first = db.events().events[0]
        assert (first.type, first.compat, first.actor, first.rev) == ("note_new", "memory_new", "Ada", 1)
        place = db.events().next
        act(db, note.id)  # type: ignore[operator]
        (event,) = db.events(place).events
        assert (event.type, event.compat, event.id) == (type_, compat, note.id)
        assert event.actor == (None if type_ == "note_purge" else "Ada")


def test_b29_restored_and_unarchived(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("a", project="P")
        db.notes.archive(note.id)
        db.notes.trash(note.id)
        place = db.events().next
        db.notes.restore(note.id)
        db.notes.unarchive(note.id)
        events = db.events(place).events
        assert [event.compat for event in events] == ["memory_restore", "memory_unarchive"]
