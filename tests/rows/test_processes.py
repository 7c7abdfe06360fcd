"""Rows of faults that several processes, or copies, bring to light."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

import memhop
from memhop import DB
from memhop.api.backups import Backups
from tests.support.processes import Worker

STORES = 40


def store(link: Connection, path: Path, name: str, copies: bool) -> None:
    """Store notes one by one, as soon as told, and tell which errors there were."""
    errors = []
    backups = Backups(path.parent / "copies", every_commits=3, keep=2, daily=0, weekly=0) if copies else None
    with DB.open(path, mode="shared", wait=60.0, backups=backups) as db:
        link.send("open")
        link.recv()
        for number in range(STORES):
            try:
                db.remember(f"{name} says {number}")
            except memhop.MemhopError as error:
                errors.append(str(error))
    link.send(errors)


def stored_by_two(path: Path, *, copies: bool) -> list[str]:
    """Let two processes store at once. Returns their errors."""
    workers = [Worker(store, path, name, copies) for name in ("one", "two")]
    for worker in workers:
        assert worker.hear() == "open"
    for worker in workers:
        worker.tell("go")
    return [error for worker in workers for error in worker.hear()]


def notes_of(path: Path) -> set[str]:
    with DB.open(path, mode="read") as db:
        page = db.notes.list(limit=1000)
        assert page.next is None
        return {note.text for note in page.items}


ALL = {f"{name} says {number}" for name in ("one", "two") for number in range(STORES)}


def test_c14_two_processes_take_turns(tmp_path: Path) -> None:
    """A second process was turned away at once, for nobody waited for the lock."""
    assert stored_by_two(tmp_path / "a.meh", copies=False) == []
    assert notes_of(tmp_path / "a.meh") == ALL


def test_b28_two_processes_that_remove_old_copies_at_once(tmp_path: Path) -> None:
    """Both chose the same old copy to remove; the second was told of an error, for a note that was stored."""
    assert stored_by_two(tmp_path / "a.meh", copies=True) == []
    assert notes_of(tmp_path / "a.meh") == ALL
    copies = memhop.backups.list(tmp_path / "copies")
    assert 1 <= len(copies) <= 3  # two, and one that came while the other process looked
    assert all(memhop.backups.verify(copy.path).ok for copy in copies)


def test_b16_copies_are_few_and_made_beside_the_stores(tmp_path: Path) -> None:
    """Each fiftieth store waited for a copy of everything, and ten copies of everything were kept; a store now only
    begins one (`tests/api/test_rotation.py` holds one up to see that)."""
    folder = tmp_path / "copies"
    with DB.open(tmp_path / "a.meh", backups=Backups(folder, every_commits=1, keep=2, daily=0, weekly=0)) as db:
        for number in range(50):
            db.remember(f"note {number}")
        assert db.backups is not None
        db.backups.wait()
        assert db.backups.last_error is None
    assert 1 <= len(memhop.backups.list(folder)) <= 2
    assert len(notes_of(tmp_path / "a.meh")) == 50
