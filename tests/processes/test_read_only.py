"""A folder or a file that a user may not write to: reading works, writing says why not."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from memhop import DB, StorageError, WriteRefused
from tests.support.memories import every
from tests.support.processes import Starter

NOBODY = 65534
TEXTS = [f"note {number} on kayaks" for number in range(50)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can look into; those of pytest are private."""
    made = Path(tempfile.mkdtemp(prefix="memhop-read-only-"))
    made.chmod(0o755)
    try:
        yield made
    finally:
        made.chmod(0o755)
        shutil.rmtree(made)


def made(folder: Path, *, readable: bool = True, locked_once: bool = True) -> Path:
    """A memory whose tail has not been sealed, so that opening has something to replay."""
    path = folder / "a.meh"
    with DB.open(path) as db:
        db.remember_many(TEXTS)
    path.chmod(0o444 if readable else 0)
    if not locked_once:
        (folder / "a.meh.lock").unlink()
    return path


def as_nobody(link: Connection, act: str, path: Path) -> None:
    """Run as a user who owns nothing; where this is no root, as the user there is, who has no right to write either."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            os.listdir(path.parent)
        except PermissionError:
            link.send("the folder of temporary files is closed to other users")
            return
    link.send("")
    globals()[act](path)


def run_as_nobody(start: Starter, act: object, path: Path) -> None:
    worker = start(as_nobody, act.__name__, path)  # type: ignore[attr-defined]
    if why_not := worker.hear():
        pytest.skip(why_not)
    worker.finish()


def read_and_be_refused(path: Path) -> None:
    for mode in ("read", "shared"):
        with DB.open(path, mode=mode, wait=0.0) as db:
            assert db.recovery.clean or mode == "shared"
            assert sorted(note.text for note in every(db.notes.list)) == sorted(TEXTS)
            assert len(db.recall("kayaks", limit=100).hits) == len(TEXTS)
            assert db.recall("kayaks", limit=100).hits == db.recall("kayaks", limit=100).hits
            db.stats(), db.pending(), db.scenes.list()
            assert db.verify(deep=True).ok
            with DB.open(path, mode="read") as again, again.at(1) as past:
                assert past.notes.list(limit=1).items
            forget = partial(db.forget, db.notes.list(limit=1).items[0].id)
            for act in (
                lambda: db.remember("one more"),
                lambda: db.remember_many(["one", "more"]),
                lambda: db.search("one more"),
                forget,
                db.checkpoint,
                db.compact,
            ):
                with pytest.raises(StorageError, match="read" if mode == "read" else "Permission denied") as caught:
                    act()
                assert os.access(path, os.W_OK) or isinstance(caught.value, WriteRefused)
            assert len(db.recall("kayaks", limit=100).hits) == len(TEXTS), "reading goes on"
    with pytest.raises(StorageError, match="Permission denied") as caught:
        DB.open(path)
    assert caught.value.hint


def not_readable(path: Path) -> None:
    for mode in ("read", "shared", "exclusive"):
        with pytest.raises(StorageError, match=r"Permission denied.*permissions"):
            DB.open(path, mode=mode)


def not_creatable(path: Path) -> None:
    for mode in ("shared", "exclusive"):
        with pytest.raises(StorageError, match=r"Permission denied.*writable"):
            DB.open(path.with_name("new.meh"), mode=mode)


@pytest.mark.parametrize("locked_once", [True, False], ids=["a lock file is there", "no lock file"])
@pytest.mark.parametrize("file_mode", [0o444, 0o666], ids=["file read-only", "file writable"])
@pytest.mark.parametrize("folder_mode", [0o555, 0o777], ids=["folder read-only", "folder writable"])
def test_reading_works_and_writing_says_why_not(
    folder: Path, start: Starter, folder_mode: int, file_mode: int, locked_once: bool
) -> None:
    """No side file is left, and closing does not fail because a counter could not be written."""
    if folder_mode == 0o777 and file_mode == 0o666 and not locked_once:
        pytest.skip("nothing forbids to write there")
    if os.geteuid() and (folder_mode == 0o777 or file_mode == 0o666):
        pytest.skip("what the owner may write can only be closed to others, as root")
    path = made(folder, locked_once=locked_once)
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    names = sorted(os.listdir(folder))
    content = path.read_bytes()
    run_as_nobody(start, read_and_be_refused, path)
    assert sorted(os.listdir(folder)) == names
    assert path.read_bytes() == content


def test_a_file_of_somebody_else(folder: Path, start: Starter) -> None:
    path = made(folder, readable=False)
    run_as_nobody(start, not_readable, path)
    assert sorted(os.listdir(folder)) == ["a.meh", "a.meh.lock"]


def test_no_file_is_made_in_a_read_only_folder(folder: Path, start: Starter) -> None:
    path = made(folder)
    folder.chmod(0o555)
    run_as_nobody(start, not_creatable, path)
    assert sorted(os.listdir(folder)) == ["a.meh", "a.meh.lock"]
