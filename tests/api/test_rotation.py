"""Automatic copies: made when due, kept by rule, and never in the way of a call."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memhop
from memhop import DB
from memhop.api.backups import Backups
from memhop.api.results import BackupFile
from memhop.api.rotation import Rotation, due, superseded
from memhop.common.clock import ManualClock
from memhop.core.backup import claimed
from memhop.core.disk import FileDisk
from tests.support.memories import DAY, HOUR, MINUTE, NOW, memory


def copies(folder: Path) -> list[int]:
    """Commits of the copies in a folder, oldest first."""
    return [copy.commit for copy in reversed(memhop.backups.list(folder))]


def rotation(db: DB) -> Rotation:
    assert db.backups is not None
    return db.backups


def note(db: DB, text: str) -> None:
    """Remember, and wait for the copy that may have become due."""
    db.remember(text)
    rotation(db).wait()


def test_copies_are_made_by_commits_and_by_hours(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    folder = tmp_path / "a.meh.backups"
    with memory(tmp_path / "a.meh", clock=clock, backups=Backups(every_commits=5, every_hours=2)) as db:
        assert not folder.exists()
        note(db, "the first")
        assert copies(folder) == [1]
        assert folder.stat().st_mode & 0o777 == 0o700
        for number in range(7):
            clock.advance(MINUTE)
            note(db, f"note {number}")
        assert copies(folder) == [1, 6]
        clock.advance(2 * HOUR - 3 * MINUTE)
        note(db, "not yet two hours")
        assert copies(folder) == [1, 6]
        clock.advance(MINUTE)
        note(db, "two hours")
        assert copies(folder) == [1, 6, 10]
        last = rotation(db).last
        assert last is not None
        assert last.commit == 10
        clock.advance(9 * HOUR)
        db.recall("note")
        rotation(db).committed(10)  # as a handle would whose commit another one has copied
        rotation(db).wait()
        assert copies(folder) == [1, 6, 10]
    with memory(tmp_path / "a.meh", clock=clock, backups=Backups(every_commits=5, every_hours=20)) as db:
        note(db, "a new handle finds what is there")
        assert copies(folder) == [1, 6, 10]
        assert rotation(db).last_error is None
    for copy in memhop.backups.list(tmp_path / "a.meh"):
        assert memhop.backups.verify(copy.path).ok


def test_the_newest_stay_and_one_a_day_and_one_a_week(tmp_path: Path) -> None:
    """Against a model which walks the calendar."""
    settings = Backups(every_commits=1, keep=3, daily=4, weekly=3)
    clock = ManualClock(NOW - 40 * DAY)
    made: dict[int, datetime] = {}
    with memory(tmp_path / "a.meh", clock=clock, backups=settings, durability="none") as db:
        for number in range(40 * 3):
            note(db, f"note {number}")
            made[number + 1] = datetime.fromtimestamp(clock.now_ms() / 1000, UTC)
            clock.advance(8 * HOUR)
        assert rotation(db).last_error is None
    today = made[120].date()
    kept = {120, 119, 118}
    for back in range(4):
        kept.add(max(n for n, at in made.items() if (today - at.date()).days == back))
    weeks = sorted({at.isocalendar()[:2] for at in made.values()})[-3:]
    for week in weeks:
        kept.add(max(n for n, at in made.items() if at.isocalendar()[:2] == week))
    assert copies(tmp_path / "a.meh.backups") == sorted(kept)


def test_nothing_else_in_the_folder_is_ever_removed(tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    with memory(tmp_path / "sub.meh") as db:  # another memory, whose copies are named alike
        db.remember("another")
        other = Path(db.backup(folder).path)
    alike = other.rename(folder / "a-20200101T000000000Z-c1.meh")
    others = [
        alike,
        folder / "a-20200102T000000000Z-c9.meh",
        folder / "a-precious.meh",
        folder / "a.meh",
        folder / "b-20200102T000000000Z-c9.meh",
        folder / "a-20200102T000000000Z-c9.meh.old",
    ]
    for path in others[1:]:
        path.write_bytes(b"mine")
    settings = Backups(folder=folder, every_commits=1, keep=1, daily=0, weekly=0)
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock, backups=settings) as db:
        for number in range(4):
            note(db, f"note {number}")
            clock.advance(MINUTE)
        assert rotation(db).last_error is None
    left = set(folder.iterdir()) - set(others)
    assert [path.name[-7:] for path in left] == ["-c4.meh"]
    assert all(path.exists() for path in others)


def test_a_failure_fails_nothing_and_is_told(tmp_path: Path) -> None:
    """Tried again a minute later, then two, four, … up to an hour; and forgotten once a copy is made."""
    clock = ManualClock(NOW)
    folder = tmp_path / "a.meh.backups"
    folder.write_bytes(b"in the way")
    with memory(tmp_path / "a.meh", clock=clock, backups=Backups(every_commits=1)) as db:
        tried = []
        for minute in range(130):
            was = rotation(db)._resting_since_ms
            note(db, f"note {minute}")
            if rotation(db)._resting_since_ms != was:
                tried.append(minute)
            clock.advance(MINUTE)
        assert tried == [0, 1, 3, 7, 15, 31, 63, 123]
        error = rotation(db).last_error
        assert error is not None
        assert "a.meh.backups" in error
        assert db.stats().backup_error == error
        assert db.stats().to_dict()["backup_error"] == error
        folder.unlink()
        note(db, "still resting")
        assert not folder.exists()
        clock.advance(HOUR)
        note(db, "tried again")
        assert copies(folder) == [132]
        assert db.stats().backup_error is None
        clock.advance(MINUTE)
        note(db, "and no more rest")
        assert copies(folder) == [132, 133]


def test_a_damaged_memory_keeps_its_old_copies(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    folder = tmp_path / "a.meh.backups"
    with memory(tmp_path / "a.meh", clock=clock, backups=Backups(every_commits=1, keep=1, daily=0, weekly=0)) as db:
        note(db, "walnuts " * 50)
        data = (tmp_path / "a.meh").read_bytes()
        with (tmp_path / "a.meh").open("r+b") as raw:
            raw.seek(data.index(b"walnuts"))
            raw.write(b"peanuts")
        clock.advance(MINUTE)
        note(db, "another")
        error = rotation(db).last_error
        assert error is not None
        assert "damaged" in error
        assert "repair" in error
        assert copies(folder) == [1]
        assert sorted(os.listdir(folder)) == [Path(memhop.backups.list(folder)[0].path).name]
    assert memhop.backups.restore(memhop.backups.list(folder)[0].path, tmp_path / "a.meh").commit == 1


class GatedClock(ManualClock):
    """Holds up the thread that makes copies until it is let through."""

    def __init__(self) -> None:
        super().__init__(NOW)
        self.gate = threading.Event()
        self.reached = threading.Event()

    def now_ms(self) -> int:
        if threading.current_thread().name == "memhop backup":
            self.reached.set()
            assert self.gate.wait(60)
        return super().now_ms()


def test_no_call_waits_for_a_copy_but_close(tmp_path: Path) -> None:
    clock = GatedClock()
    db = memory(tmp_path / "a.meh", clock=clock, backups=Backups(every_commits=1))
    db.remember("the first")
    assert clock.reached.wait(60)
    assert rotation(db).running
    for number in range(30):
        db.remember(f"note {number}")
    assert db.recall("note 7").hits
    db.checkpoint()
    db.compact()
    closer = threading.Thread(target=db.close)
    closer.start()
    closer.join(0.2)
    assert closer.is_alive()
    clock.gate.set()
    closer.join(60)
    assert not closer.is_alive()
    assert not rotation(db).running
    assert copies(tmp_path / "a.meh.backups") == [1]
    assert sorted(os.listdir(tmp_path)) == ["a.meh", "a.meh.backups", "a.meh.lock"]
    db.close()
    with memory(tmp_path / "a.meh", backups=Backups()) as db:
        assert db.stats().records["note"] == 31


def test_a_copy_of_another_process_is_neither_disturbed_nor_doubled(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    folder = tmp_path / "a.meh.backups"
    folder.mkdir()
    with memory(tmp_path / "a.meh", clock=clock, backups=Backups(every_commits=1)) as db:
        with claimed(FileDisk(), folder / "a.copying", wait=0):
            note(db, "the first")
            assert copies(folder) == []
            assert rotation(db).last_error is None
            clock.advance(59 * MINUTE)
            note(db, "still at it")
            assert rotation(db).last_error is None
            clock.advance(MINUTE)
            note(db, "an hour is too long to be silent")
            assert "a.copying" in (rotation(db).last_error or "")
        (folder / "a.copying").write_bytes(b"left by a process that was killed")
        clock.advance(MINUTE)
        note(db, "the second")
        assert copies(folder) == [4]
        assert len(os.listdir(folder)) == 1
        assert rotation(db).last_error is None
        db.backup(folder, overwrite=True)


def test_two_handles_make_as_many_copies_as_one(tmp_path: Path) -> None:
    """What is known of copies is read from their folder, so it is the same for both."""
    clock = ManualClock(NOW)
    settings = Backups(every_commits=5, keep=100)
    with (
        memory(tmp_path / "a.meh", clock=clock, mode="shared", backups=settings) as one,
        memory(tmp_path / "a.meh", clock=clock, mode="shared", backups=settings) as two,
    ):
        for number in range(24):
            note(one if number % 2 else two, f"note {number}")
            clock.advance(MINUTE)
        assert (rotation(one).last_error, rotation(two).last_error) == (None, None)
    assert copies(tmp_path / "a.meh.backups") == [1, 6, 11, 16, 21]


WRITER = """
import sys
import memhop
with memhop.DB.open(sys.argv[1], durability="none", backups=memhop.Backups(every_commits=1, keep=3)) as db:
    db.remember_many([f"note {number} " + "x" * 3000 for number in range(1000)])
    print("writing", flush=True)
    while True:
        db.remember(f"note {db.stats().commit}")
"""


@pytest.mark.parametrize("round_", range(4))
def test_a_process_killed_during_a_copy_leaves_whole_copies_and_what_the_next_one_removes(
    tmp_path: Path, round_: int
) -> None:
    path, folder = tmp_path / "a.meh", tmp_path / "a.meh.backups"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        deadline = time.monotonic() + 60
        while not (folder / "a.copying").exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.004 * round_)
        process.kill()
    with DB.open(path, backups=Backups(every_commits=1, keep=3)) as db:
        note(db, "after the kill")
        assert rotation(db).last_error is None
        assert rotation(db).last is not None
    assert not (folder / "a.copying").exists()
    found = memhop.backups.list(folder)
    assert 1 <= len(found) <= 5
    assert all(memhop.backups.verify(copy.path).ok for copy in found)


def test_a_restored_memory_is_copied_again(tmp_path: Path) -> None:
    """Its commits begin below those of its newest copy; an older history that goes on is a new one."""
    clock = ManualClock(NOW)
    settings = Backups(every_commits=3)
    folder = tmp_path / "a.meh.backups"
    with memory(tmp_path / "a.meh", clock=clock, backups=settings) as db:
        for number in range(8):
            note(db, f"note {number}")
            clock.advance(MINUTE)
    assert copies(folder) == [1, 4, 7]
    memhop.backups.restore(memhop.backups.list(folder)[2].path, tmp_path / "a.meh")
    with memory(tmp_path / "a.meh", clock=clock, backups=settings) as db:
        for number in range(4):
            note(db, f"another {number}")
            clock.advance(MINUTE)
    assert copies(folder) == [1, 4, 7, 2, 5]


def test_a_clock_that_was_ahead_stops_no_copies_and_costs_none(tmp_path: Path) -> None:
    clock = ManualClock(NOW + 300 * DAY)
    settings = Backups(every_commits=3, keep=2, daily=0, weekly=0)
    with memory(tmp_path / "a.meh", clock=clock, backups=settings) as db:
        for number in range(7):
            note(db, f"note {number}")
            clock.advance(MINUTE)
    clock = ManualClock(NOW)
    with memory(tmp_path / "a.meh", clock=clock, backups=settings) as db:
        for number in range(7):
            note(db, f"later {number}")
            clock.advance(MINUTE)
        assert rotation(db).last_error is None
    assert sorted(copies(tmp_path / "a.meh.backups")) == [4, 7, 14]


def test_the_rules_alone() -> None:
    def copy(at: int, commit: int) -> BackupFile:
        return BackupFile(f"{commit}", "a", at, commit, 0)

    settings = Backups(every_commits=10, every_hours=0.5, keep=1, daily=1, weekly=1)
    newest = copy(NOW, 100)
    assert due(settings, None, 0, NOW)
    assert not due(settings, newest, 100, NOW + DAY)
    assert due(settings, newest, 101, NOW + HOUR // 2)
    assert not due(settings, newest, 109, NOW + HOUR // 2 - 1)
    assert due(settings, newest, 110, NOW)
    assert due(settings, newest, 99, NOW)
    monday = 1_779_667_200_000  # 25 May 2026, 00:00 UTC
    sunday, late = copy(monday - 1, 1), copy(monday, 2)
    assert superseded(settings, [sunday, late], monday) == [sunday]
    assert superseded(settings, [], monday) == []
    wide = Backups(keep=1, daily=0, weekly=2)
    assert superseded(wide, [sunday, late, copy(monday - 2, 0)], monday) == [copy(monday - 2, 0)]


@pytest.mark.parametrize("name", ["x" * 200 + ".meh", "记" * 70 + ".meh", "with space", ".meh"])
def test_names_of_every_kind(tmp_path: Path, name: str) -> None:
    with memory(tmp_path / name, backups=Backups(every_commits=1, keep=1)) as db:
        note(db, "the first")
        assert rotation(db).last_error is None
    assert copies(tmp_path / f"{name}.backups") == [1]
