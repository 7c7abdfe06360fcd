"""A holder that was stopped (SIGSTOP, Ctrl-Z, a suspended laptop) is waited for, then named; nothing is lost."""

from __future__ import annotations

import socket
import time
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from memhop import DB, Locked
from tests.support.memories import every
from tests.support.processes import HANG_S, Starter, until


def hold(link: Connection, path: Path, mode: str) -> None:
    """Write, begin a turn, and end it when told."""
    with DB.open(path, mode=mode, purpose="the night shift") as db:
        db.remember("before the stop")
        with db._file.writing():
            link.send("holding")
            link.recv()
            db.remember("after the stop")
    link.send("done")


def wait_and_write(link: Connection, path: Path) -> None:
    with DB.open(path, mode="shared", wait=HANG_S) as db:
        link.send("waiting")
        db.remember("from the one that waited")
        link.send("written")


@pytest.mark.parametrize("mode", ["exclusive", "shared"])
def test_a_stopped_holder_is_waited_for_and_then_named(tmp_path: Path, start: Starter, mode: str) -> None:
    path = tmp_path / "a.meh"
    holder = start(hold, path, mode)
    assert holder.hear() == "holding"
    with DB.open(path, mode="shared", wait=0.3) as db:
        with pytest.raises(Locked) as early:
            db.remember("while it is busy")
        assert not early.value.stopped
        holder.stop()
        begun = time.monotonic()
        with pytest.raises(Locked) as caught:
            db.remember("while it is stopped")
        assert time.monotonic() - begun >= 0.3, "it was waited for"
        error = caught.value
        assert (error.pid, error.host, error.purpose) == (holder.pid, socket.gethostname(), "the night shift")
        assert error.since is not None
        age = datetime.now(UTC) - datetime.fromisoformat(error.since.replace("Z", "+00:00"))
        assert 0 <= age.total_seconds() < HANG_S
        assert error.stopped
        assert f"process {holder.pid}" in str(error)
        assert "stopped" in str(error)
        assert f"kill -CONT {holder.pid}" in str(error)
        for act in (db.checkpoint, db.compact, lambda: db.search("a turn"), lambda: db.remember_many(["x", "y"])):
            with pytest.raises(Locked):
                act()
        assert [note.text for note in every(db.notes.list)] == ["before the stop"]
        assert [hit.text for hit in db.recall("before the stop").hits] == ["before the stop"]
        with DB.open(path, mode="read") as reader:
            assert [hit.text for hit in reader.recall("before the stop").hits] == ["before the stop"]
            assert reader.verify(deep=True).problem_count <= 1, "at most reserved or unsynced bytes behind the end"
        with pytest.raises(Locked) as caught:
            DB.open(path, wait=0.1)
        assert caught.value.stopped
        waiter = start(wait_and_write, path)
        assert waiter.hear() == "waiting"
        holder.go_on()
        holder.tell("end it")
        assert holder.finish() == ["done"]
        assert waiter.finish() == ["written"]
        db.remember("from the one that was refused")
        assert {note.text for note in every(db.notes.list)} == {
            "before the stop",
            "after the stop",
            "from the one that waited",
            "from the one that was refused",
        }
        assert db.verify(deep=True).ok


def read_on(link: Connection, path: Path) -> None:
    with DB.open(path, mode="read") as db:
        while True:
            link.send(len(db.recall("kayaks", limit=1000).hits))
            if link.recv() == "end":
                return


def test_a_stopped_reader_hurts_nobody(tmp_path: Path, start: Starter) -> None:
    """Writers go on, also past a checkpoint and a compaction, and it reads on afterwards as if nothing had been."""
    path = tmp_path / "a.meh"
    with DB.open(path) as db:
        db.remember_many([f"note {number} on kayaks" for number in range(100)])
        reader = start(read_on, path)
        assert reader.hear() == 100
        reader.stop()
        for number in range(100, 120):
            db.remember(f"note {number} on kayaks")
        db.checkpoint()
        db.compact()
        db.remember("note 120 on kayaks")
        reader.go_on()
        reader.tell("again")
        assert reader.hear() == 121
        db.close()
        with DB.open(path) as db:
            db.remember("note 121 on kayaks")
        reader.tell("again")
        assert reader.hear() == 122
        reader.tell("end")
        reader.finish()


def write_steadily(link: Connection, path: Path, name: str) -> None:
    with DB.open(path, mode="shared", wait=HANG_S) as db:
        number = 0
        while not link.poll(0):
            db.remember(f"{name} wrote {number}")
            number += 1
            link.send(number)


def test_writers_stopped_at_any_moment_lose_nothing(tmp_path: Path, start: Starter) -> None:
    """Two writers in turns, stopped over and over, wherever they are in their turn."""
    path = tmp_path / "a.meh"
    names = ["Ann", "Bob"]
    writers = [start(write_steadily, path, name) for name in names]
    counts = {name: writer.hear() for name, writer in zip(names, writers, strict=True)}
    for turn in range(30):
        one = writers[turn % 2]
        one.stop()
        time.sleep(turn % 5 / 1000)
        one.go_on()
        name = names[turn % 2]
        counts[name] = one.hear()
        until(one.has_said, "it goes on after SIGCONT")
    for name, writer in zip(names, writers, strict=True):
        writer.tell("end")
        counts[name] = max([counts[name], *writer.finish()])
    with DB.open(path) as db:
        assert db.recovery.clean
        stored = sorted(note.text for note in every(db.notes.list))
        assert stored == sorted(f"{name} wrote {number}" for name in names for number in range(counts[name]))
        assert db.stats().commit == len(stored)
        assert db.verify(deep=True).ok
