"""The file is deleted or replaced behind a process that has it open: told or followed, never written over."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from memhop import DB, StorageError
from tests.support.memories import every
from tests.support.processes import Starter


def answer(link: Connection, path: Path, mode: str) -> None:
    """Do what is asked; answer with what came of it, errors by class and text."""
    with DB.open(path, mode=mode, wait=5.0) as db:
        link.send("open")
        while (asked := link.recv()) != "end":
            try:
                if asked == "texts":
                    link.send(sorted(note.text for note in every(db.notes.list)))
                elif asked == "recall":
                    link.send([hit.text for hit in db.recall("old", limit=50).hits])
                else:
                    link.send(db.remember(asked).text)
            except StorageError as error:
                link.send((type(error).__name__, str(error)))


def replaced_by_rename(path: Path, source: Path) -> None:
    copy = path.with_name("copy")
    shutil.copyfile(source, copy)
    os.replace(copy, path)


def deleted_and_made(path: Path, source: Path) -> None:
    path.unlink()
    shutil.copyfile(source, path)


def copied_over(path: Path, source: Path) -> None:
    """In place, as `cp` does it: the same inode with other bytes, no shorter than before."""
    content = source.read_bytes()
    with open(path, "r+b") as file:
        file.write(content + bytes(max(0, path.stat().st_size - len(content))))


WAYS = [replaced_by_rename, deleted_and_made, copied_over]


def memory(path: Path, *texts: str) -> Path:
    with DB.open(path) as db:
        for text in texts:
            db.remember(text)
    return path


@pytest.mark.parametrize("mode", ["exclusive", "shared", "read"])
def test_deleted(tmp_path: Path, start: Starter, mode: str) -> None:
    """Reading goes on; writing is refused, because what has no name is gone at close. No file is made in its place."""
    path = memory(tmp_path / "a.meh", "old one")
    user = start(answer, path, mode)
    assert user.hear() == "open"
    path.unlink()
    for asked in ("texts", "recall"):
        user.tell(asked)
        assert user.hear() == ["old one"]
    user.tell("new")
    name, said = user.hear()
    assert (name, "deleted or replaced" in said) == (
        ("WriteRefused", False) if mode == "read" else ("StorageError", True)
    )
    user.tell("end")
    user.finish()
    assert not path.exists()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("mode", ["shared", "read"])
def test_another_memory_is_not_mistaken_for_the_own(
    tmp_path: Path, start: Starter, mode: str, way: Callable[[Path, Path], None]
) -> None:
    """A handle once went on silently, and wrote into the stranger, where that had been copied into the same inode."""
    path = memory(tmp_path / "a.meh", "old one", "old two")
    other = memory(tmp_path / "b.meh", "a stranger")
    user = start(answer, path, mode)
    assert user.hear() == "open"
    user.tell("texts")
    assert user.hear() == ["old one", "old two"]
    way(path, other)
    for asked in ("texts", "recall", "new"):
        user.tell(asked)
        name, said = user.hear()
        if asked == "new" and mode == "read":
            assert name in ("WriteRefused", "StorageError")
        else:
            assert (name, "another memory" in said) == ("StorageError", True)
            assert "open it again" in said
    user.tell("end")
    user.finish()
    with DB.open(path) as db:
        assert [note.text for note in every(db.notes.list)] == ["a stranger"]
        assert db.verify(deep=True).ok


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("mode", ["shared", "read"])
def test_a_restored_older_copy_is_followed(
    tmp_path: Path, start: Starter, mode: str, way: Callable[[Path, Path], None]
) -> None:
    path = memory(tmp_path / "a.meh", "old one")
    copy = Path(shutil.copyfile(path, tmp_path / "backup"))
    memory(path, "old two", "old three")
    user = start(answer, path, mode)
    assert user.hear() == "open"
    user.tell("recall")
    assert len(user.hear()) == 3
    way(path, copy)
    for asked in ("texts", "recall"):
        user.tell(asked)
        assert user.hear() == ["old one"]
    if mode == "shared":
        user.tell("written after the restore")
        assert user.hear() == "written after the restore"
        user.tell("texts")
        assert user.hear() == ["old one", "written after the restore"]
    user.tell("end")
    user.finish()
    with DB.open(path) as db:
        assert len(every(db.notes.list)) == (2 if mode == "shared" else 1)
        assert db.verify(deep=True).ok


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("mode", ["shared", "read"])
def test_garbage_is_named_and_left_alone(
    tmp_path: Path, start: Starter, mode: str, way: Callable[[Path, Path], None]
) -> None:
    path = memory(tmp_path / "a.meh", "old one")
    garbage = tmp_path / "list.txt"
    garbage.write_bytes(b"milk, bread\n" * 20_000)
    user = start(answer, path, mode)
    assert user.hear() == "open"
    user.tell("recall")
    assert user.hear() == ["old one"]
    way(path, garbage)
    for asked in ("texts", "recall", "new"):
        user.tell(asked)
        name, _ = user.hear()
        assert name in ("BadFormat", "StorageError") or (asked, mode) == ("new", "read")
    user.tell("end")
    user.finish()
    assert path.read_bytes() == garbage.read_bytes()


@pytest.mark.parametrize("way", [replaced_by_rename, deleted_and_made], ids=lambda way: way.__name__)
def test_an_exclusive_holder_refuses_to_write_into_what_has_no_name(
    tmp_path: Path, start: Starter, way: Callable[[Path, Path], None]
) -> None:
    path = memory(tmp_path / "a.meh", "old one")
    other = memory(tmp_path / "b.meh", "a stranger")
    user = start(answer, path, "exclusive")
    assert user.hear() == "open"
    way(path, other)
    user.tell("texts")
    assert user.hear() == ["old one"]
    user.tell("new")
    name, said = user.hear()
    assert (name, "deleted or replaced" in said) == ("StorageError", True)
    user.tell("end")
    user.finish()
    assert path.read_bytes() == other.read_bytes()
