"""What users of such systems report about restores and full disks, as tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import memhop
from memhop import DB, BadFormat, Corrupt, InvalidRequest, StorageError
from tests.support.small_disk import mounted

TEXT = "what must survive "


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    with mounted(tmp_path / "small", mebibytes=2) as folder:
        yield folder


def live_store(path: Path, *, notes: int = 40) -> Path:
    """A memory, and a copy of it from before its last note. Returns the copy."""
    with DB.open(path) as db:
        db.remember_many([f"{TEXT}{number} {'x' * 2000}" for number in range(notes)])
        copy = db.backup(path.with_name("copy.meh"))
        db.remember("the newest")
    return Path(copy.path)


def untouched(path: Path, before: bytes, names: list[str]) -> None:
    assert path.read_bytes() == before
    assert sorted(os.listdir(path.parent)) == names
    with DB.open(path) as db:
        assert db.recovery.clean
        assert db.verify(deep=True).ok
        assert db.notes.list(limit=1).items[0].text == "the newest"


def fill_up(folder: Path, *, leave: int) -> Path:
    """A file that leaves so many bytes free."""
    filler = folder / "filler"
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    filler.write_bytes(b"\1" * (free - leave))
    return filler


def test_row_26_restore_leaves_the_live_store_until_the_new_one_verifies(tmp_path: Path) -> None:
    """Reported: `restore` deletes the live memory first, then fails to copy, and both are gone."""
    path = tmp_path / "agent.meh"
    copy = live_store(path)
    before, whole = path.read_bytes(), copy.read_bytes()
    names = sorted(os.listdir(tmp_path))
    with pytest.raises(InvalidRequest, match="to be replaced"):  # from inside the store: the file itself
        memhop.backups.restore(path, path)
    with pytest.raises(InvalidRequest, match="folder"):  # … its folder
        memhop.backups.restore(tmp_path, path)
    for cut in (0, 100, 5000, 8192, len(whole) // 2, len(whole) - 1):  # from a cut file
        copy.write_bytes(whole[:cut])
        with pytest.raises((Corrupt, BadFormat)):
            memhop.backups.restore(copy, path)
        untouched(path, before, names)
    copy.write_bytes(whole)
    done = memhop.backups.restore(copy, path)
    assert done.replaced is not None
    assert Path(done.replaced).read_bytes() == before
    back = memhop.backups.restore(done.replaced, path)  # … what an earlier restore replaced
    assert back.replaced is not None
    assert Path(back.replaced).read_bytes() == whole
    assert path.read_bytes()[8192:] == before[8192:]  # all but the headers


def test_row_26_restore_on_a_full_disk(small_disk: Path) -> None:
    path = small_disk / "agent.meh"
    live_store(path)
    filler = fill_up(small_disk, leave=32 * 1024)
    before, names = path.read_bytes(), sorted(os.listdir(small_disk))
    with pytest.raises(StorageError, match="free some space"):
        memhop.backups.restore(small_disk / "copy.meh", path)
    assert path.read_bytes() == before
    assert sorted(os.listdir(small_disk)) == names
    filler.unlink()
    names.remove("filler")
    untouched(path, before, names)
    memhop.backups.restore(small_disk / "copy.meh", path)
    with DB.open(path) as db:
        assert len(db.notes.list(limit=100).items) == 40


def test_row_18_an_automatic_copy_never_takes_the_last_space(small_disk: Path) -> None:
    """Half a megabyte would do for the copy, but then the next call could fail for want of space."""
    path = small_disk / "agent.meh"
    with DB.open(path, backups=memhop.Backups(every_commits=1)) as db:
        db.remember_many([f"{TEXT}{number} {'x' * 2000}" for number in range(200)])
        assert db.backups is not None
        db.backups.wait()
        size = os.path.getsize(path)
        for leave, made in ((size + size // 2, 1), (2 * size + 256 * 1024, 2)):
            filler = fill_up(small_disk, leave=leave)
            db.remember(f"with {leave} bytes left")
            db.backups.wait()
            assert len(os.listdir(small_disk / "agent.meh.backups")) == made
            assert (db.backups.last_error is None) == (made == 2)
            filler.unlink()
            db.backups._rest(0)


def test_row_18_a_backup_on_a_full_disk_leaves_nothing_and_hurts_nothing(small_disk: Path) -> None:
    """Reported for packing: the half-written second file stays, no byte is free, and the live one cannot be used."""
    path = small_disk / "agent.meh"
    with DB.open(path, backups=memhop.Backups(every_commits=1)) as db:
        db.remember_many([f"{TEXT}{number} {'x' * 2000}" for number in range(100)])
        assert db.backups is not None
        db.backups.wait()
        assert db.backups.last_error is None
        filler = fill_up(small_disk, leave=64 * 1024)
        names = sorted(os.listdir(small_disk))
        with pytest.raises(StorageError, match="free some space"):
            db.backup(small_disk / "copy.meh")
        assert sorted(os.listdir(small_disk)) == names
        db.remember("the newest")  # the space which the failed copy took is free again
        db.backups.wait()
        assert "free some space" in (db.stats().backup_error or "")
        assert len(os.listdir(small_disk / "agent.meh.backups")) == 1
        filler.unlink()
        assert db.backup(small_disk / "copy.meh").commit == 2
    assert memhop.backups.verify(small_disk / "copy.meh").ok
    untouched(path, path.read_bytes(), sorted(os.listdir(small_disk)))


def test_a_repaired_file_takes_the_place_of_the_damaged_one(tmp_path: Path) -> None:
    """A repaired file is the same memory, so restoring it needs no force, and the damaged one is kept."""
    path = tmp_path / "agent.meh"
    live_store(path, notes=3)
    data = bytearray(path.read_bytes())
    at = data.index(f"{TEXT}1".encode())
    data[at : at + 4] = b"WHAT"
    path.write_bytes(data)
    with pytest.raises(Corrupt, match="repair"):
        memhop.backups.restore(path, tmp_path / "elsewhere.meh")
    report = memhop.repair(path, tmp_path / "repaired.meh")
    done = memhop.backups.restore(report.path, path)
    assert done.replaced is not None
    assert Path(done.replaced).read_bytes() == data
    with DB.open(path) as db:
        assert db.recovery.clean
        assert {note.text[:19] for note in db.notes.list().items} == {f"{TEXT}0", f"{TEXT}2", "the newest"}
