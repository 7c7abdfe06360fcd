"""Retention: by call, and by itself. Tests are named after the rows they hold."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memhop import DB, Config, ConfigError, InvalidRequest, NotFound, WriteRefused
from memhop.common.clock import ManualClock, SystemClock
from memhop.common.ids import from_hex
from memhop.common.settings import RetentionSection
from memhop.repo.l4_note import Note
from memhop.repo.l4_revision import revise
from memhop.repo.record import Tier
from memhop.repo.upkeep import Maintenance, maintenance_id
from tests.support.memories import DAY, HOUR, NOW, memory

KEPT = RetentionSection(days={"note": 30, "plan": 180, "progressive_summary": 90}, trash_days=20, every_hours=0)


def keeping(**changes: Any) -> Config:
    return Config(retention=replace(KEPT, **changes))


def changed(db: DB, id_: str, **fields: Any) -> None:
    """What the calls on single notes do."""
    with db._store.writing() as batch:
        note = db._store.get(Note, from_hex(id_))
        revise(batch, note, act="edit", actor="", now_ms=db._store.clock.now_ms(), **fields)


def life(db: DB, clock: ManualClock) -> dict[str, str]:
    """Notes of all fates, 200 days old but for those that were changed since; by name."""
    ids = {
        name: db.remember(name, kind=kind, project=project).id
        for name, kind, project in (
            ("old", "note", "a"),
            ("pinned", "note", "a"),
            ("archived", "note", "a"),
            ("edited", "note", "a"),
            ("plan", "plan", "a"),
            ("fact", "fact", "a"),
            ("elsewhere", "note", "b"),
            ("long in the trash", "note", "a"),
        )
    }
    for project in ("a", "b"):
        for number in range(2):
            ids[f"summary {number} of {project}"] = db.summary.save(project, f"summary {number} of {project}").id
            clock.advance(HOUR)
    changed(db, ids["pinned"], pinned=True)
    changed(db, ids["archived"], tier=Tier.ARCHIVED)
    db.forget(ids["long in the trash"])
    clock.advance(200 * DAY)
    changed(db, ids["edited"], text="edited today")
    return ids


def test_b4_what_is_archived_pinned_edited_or_the_last_summary_survives(tmp_path: Path) -> None:
    """Retention deleted archived notes against its own promise, a note edited today, and the only summary."""
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock, config=keeping()) as db:
        ids = life(db, clock)
        done = db.maintain()
        gone = {"old", "plan", "elsewhere", "summary 0 of a", "summary 0 of b"}
        assert {note.id for note in done.trashed} == {ids[name] for name in gone}
        assert {(note.kind, note.project, note.age_days) for note in done.trashed if note.id == ids["old"]} == {
            ("note", "a", 200)
        }
        assert [note.id for note in done.erased] == [ids["long in the trash"]]
        assert (done.pinned, done.summaries, done.trashed_count, done.erased_count) == (1, 2, 5, 1)
        for name, id_ in ids.items():
            if name == "long in the trash":
                with pytest.raises(NotFound):
                    db.notes.get(id_)
                continue
            note = db.notes.get(id_)
            expected = "trashed" if name in gone else "archived" if name == "archived" else "active"
            assert note.tier == expected, name
            assert (note.actor == "maintenance") == (name in gone)
        again = db.maintain()
        assert (again.trashed, again.erased, again.reason) == ((), (), "nothing is due")
        clock.advance(20 * DAY)
        assert {note.id for note in db.maintain().erased} == {ids[name] for name in gone}
        assert not db.verify(deep=True).problems


def test_checklist_11_a_dry_run_tells_what_the_real_run_does(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock, config=keeping()) as db:
        life(db, clock)
        before = db.stats().head_digest
        dry = db.maintain(dry_run=True)
        assert db.stats().head_digest == before
        assert (dry.trashed_count, dry.erased_count) == (5, 1)
        assert db.maintain() == replace(dry, dry_run=False)


def test_checklist_11_removed_notes_are_in_the_trash(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock, config=keeping(trash_days=0)) as db:
        note = db.remember("the ferry leaves at nine")
        clock.advance(30 * DAY - 1)
        assert db.maintain().trashed == ()
        clock.advance(1)
        assert [gone.id for gone in db.maintain().trashed] == [note.id]
        assert [hit.id for hit in db.recall("the ferry", tier="trashed").hits] == [note.id]
        clock.advance(1_000 * DAY)
        assert db.maintain().erased == ()


def test_days_of_single_projects_go_before_those_of_all(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    projects = {"Short": {"note": 1}, "for ever": {"note": 0}}
    with memory(tmp_path / "a.meh", clock=clock, config=keeping(projects=projects)) as db:
        ids = {name: db.remember("hello", project=name).id for name in ("short", "For Ever", "other")}
        clock.advance(DAY)
        assert [note.id for note in db.maintain().trashed] == [ids["short"]]
        clock.advance(300 * DAY)
        assert [note.id for note in db.maintain().trashed] == [ids["other"]]


def test_more_than_one_commit_of_it(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock, config=keeping(), durability="none") as db:
        db.remember_many([{"text": f"note {number}"} for number in range(1_203)])
        db.remember("pinned")
        clock.advance(31 * DAY)
        dry, commit = db.maintain(dry_run=True), db.stats().commit
        done = db.maintain()
        assert done == replace(dry, dry_run=False)
        assert (done.trashed_count, len(done.trashed), db.stats().commit) == (1_204, 1_000, commit + 3)
        clock.advance(20 * DAY)
        assert db.maintain().erased_count == 1_204
        assert db.stats().units == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"trash_days": -1},
        {"trash_days": 1.5},
        {"trash_days": 40_000},
        {"days": {"note": -1}},
        {"days": {"note": True}},
        {"days": ["note"]},
        {"projects": {"a": {"note": "30"}}},
        {"projects": {"a": 30}},
    ],
)
def test_b31_days_below_zero_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    """A purge of what was trashed -1 days ago emptied the trash."""
    with pytest.raises(ConfigError) as refused:
        memory(tmp_path / "a.meh", config=keeping(**changes)).close()
    assert str(refused.value.field).startswith("retention." + next(iter(changes)))
    assert list(tmp_path.iterdir()) == [], "no file is made, and none stays locked"


def test_b31_a_time_below_zero_is_refused(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        note = db.remember("in the trash").id
        db.forget(note)
        with pytest.raises(InvalidRequest):
            db.purge(trashed_before=-1)
        with pytest.raises(InvalidRequest):
            db.maintain(dry_run=1)  # type: ignore[arg-type]
        assert db.notes.get(note).tier == "trashed"


def test_nothing_goes_where_nothing_is_set(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock) as db:
        db.remember("kept")
        clock.advance(10_000 * DAY)
        assert db.maintain().trashed == ()
        assert db._keeper is None


# -- B27: by itself ------------------------------------------------------------------------------------------


def until(done: Callable[[], bool]) -> None:
    """Wait for something that happens in the background; gives up after a minute."""
    limit = time.monotonic() + 60
    while not done():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.01)


def old_notes(path: Path, count: int = 3) -> ManualClock:
    """Notes that are past their time, in a file nobody has looked after."""
    clock = ManualClock(NOW)
    with memory(path, clock=clock) as db:
        db.remember_many([{"text": f"note {number}"} for number in range(count)])
    clock.advance(31 * DAY)
    return clock


def tiers(db: DB) -> set[str]:
    return {note.tier for note in db.notes.list(tier="all").items}


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
def test_b27_overdue_at_open(tmp_path: Path, mode: str) -> None:
    """Retention ran in a browser page: with no page open, never."""
    clock = old_notes(tmp_path / "a.meh")
    with memory(tmp_path / "a.meh", clock=clock, mode=mode, config=keeping(every_hours=24)) as db:
        until(lambda: db._store.find(Maintenance, maintenance_id()) is not None)
        assert tiers(db) == {"trashed"}
        assert db.stats().maintenance_error is None
    with memory(tmp_path / "a.meh", clock=clock, mode=mode) as db:
        assert {note.actor for note in db.notes.list(tier="all").items} == {"maintenance"}
        assert db._store.get(Maintenance, maintenance_id()).trashed == 3


def test_b27_from_time_to_time_while_open(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock, config=keeping(every_hours=0.00002)) as db:
        until(lambda: db._store.find(Maintenance, maintenance_id()) is not None)
        note = db.remember("it gets old").id
        clock.advance(31 * DAY)
        until(lambda: db.notes.get(note).tier == "trashed")
        clock.advance(21 * DAY)
        until(lambda: not db.notes.list(tier="all").items)


def test_b27_not_before_it_is_due_and_never_where_it_is_not_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    clock = old_notes(path)
    with memory(path, clock=clock) as db, db._store.writing() as batch:
        batch.put(Maintenance(at=clock.now_ms() - 23 * HOUR), maintenance_id())
    for config, mode in ((keeping(every_hours=24), "shared"), (keeping(), "shared"), (keeping(every_hours=1), "read")):
        with memory(path, clock=clock, config=config, mode=mode) as db:
            if db._keeper is not None and db._keeper._thread is not None:
                time.sleep(0.3)
            assert tiers(db) == {"active"}
    with memory(path, clock=clock, config=keeping(every_hours=1)) as db, db.at(1) as then:
        assert then._keeper is not None
        assert then._keeper._thread is None
        with pytest.raises(WriteRefused):
            then.maintain()


def test_b27_a_clock_that_was_ahead_does_not_put_it_off(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    clock = old_notes(path)
    with memory(path, clock=clock) as db, db._store.writing() as batch:
        batch.put(Maintenance(at=clock.now_ms() + 400 * DAY), maintenance_id())
    with memory(path, clock=clock, config=keeping(every_hours=24)) as db:
        until(lambda: tiers(db) == {"trashed"})


def test_b27_handles_that_share_a_file_agree(tmp_path: Path) -> None:
    """With two pages open it ran twice."""
    path = tmp_path / "a.meh"
    clock = old_notes(path, 700)
    config = keeping(every_hours=24)
    with memory(path, clock=clock) as db:
        commit = db.stats().commit
    opened = [memory(path, clock=clock, mode="shared", config=config, durability="none") for _ in range(3)]
    try:
        first = opened[0]
        until(lambda: first._store.find(Maintenance, maintenance_id()) is not None)
        time.sleep(0.2)
        notes = [note for db in opened for note in db._store.scan(Note)]
        assert {(note.tier, note.rev) for note in notes} == {(Tier.TRASHED, 2)}
        assert len(notes) == 3 * 700
        assert first.stats().commit == commit + 2, "500, then the others and the record"
    finally:
        for db in opened:
            db.close()


def test_b27_neither_opening_nor_closing_waits_for_it(tmp_path: Path) -> None:
    """Another handle has its turn: opening, reading and closing go on, and it is done later."""
    path = tmp_path / "a.meh"
    clock = old_notes(path)
    config = keeping(every_hours=24)
    with memory(path, clock=clock, mode="shared") as other:
        with other._store.writing():
            begun = time.monotonic()
            db = memory(path, clock=clock, mode="shared", config=config, wait=0.0)
            until(lambda: db._keeper is not None and db._keeper._thread is not None)
            assert tiers(db) == {"active"}
            db.close()
            assert time.monotonic() - begun < 30
        assert tiers(other) == {"active"}
    with memory(path, clock=clock, config=config) as db:
        until(lambda: tiers(db) == {"trashed"})


def test_b27_a_handle_that_nobody_holds_ends_its_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    for _ in range(3):
        memory(tmp_path / "a.meh", clock=SystemClock(), config=keeping(every_hours=24)).close()
    until(lambda: threading.active_count() <= before)


def test_b27_what_failed_can_be_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    clock = old_notes(path, 9_000)
    size = path.stat().st_size
    with memory(path, clock=clock, config=keeping(every_hours=24), max_bytes=size) as db:
        until(lambda: db.stats().maintenance_error is not None)
        assert "max_bytes" in str(db.stats().maintenance_error)


def test_b4_what_is_pinned_stays_in_the_trash(tmp_path: Path) -> None:
    """Pinned is pinned: emptying the trash by itself leaves it there, too."""
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock, config=keeping()) as db:
        note = db.remember("pinned, and trashed all the same")
        db.notes.pin(note.id)
        db.notes.trash(note.id)
        clock.advance(200 * DAY)
        done = db.maintain()
        assert (done.erased_count, done.pinned) == (0, 1)
        assert db.notes.get(note.id).tier == "trashed"
