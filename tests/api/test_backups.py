"""`db.backup` and `memhop.backups`: paths as people write them, and errors that say what to do."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import memhop
from memhop import DB, BadFormat, Closed, Corrupt, InvalidRequest, Locked, StorageError
from memhop.api.backups import Backups
from memhop.api.results import Backup
from tests.support.memories import NOW, every, memory


def texts_in(path: Path | str) -> set[str]:
    with DB.open(path, create=False) as db:
        assert db.recovery.clean
        return {note.text for note in db.notes.list(limit=1000).items}


def test_a_copy_by_every_kind_of_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "folder with spaces é").mkdir()
    monkeypatch.chdir(tmp_path)
    os.symlink(tmp_path / "home", tmp_path / "link")
    with memory(tmp_path / "a.meh") as db:
        db.remember("walnuts")
        made = db.backup("~/copy.meh")
        assert made.path == str(tmp_path / "home" / "copy.meh")
        assert made.to_dict()["commit_at"] == "2026-05-28T20:26:40Z"
        assert (made.commit, made.head_digest) == (1, db.stats().head_digest)
        assert made.bytes == os.path.getsize(made.path)
        assert db.backup("relative.meh").path == str(tmp_path / "relative.meh")
        assert db.backup(Path("link") / "two.meh").path == str(tmp_path / "home" / "two.meh")
        named = db.backup(tmp_path / "folder with spaces é")
        assert Path(named.path).name == "a-20260528T202640000Z-c1.meh"
        db.remember("later")
        assert Path(db.backup("folder with spaces é").path).name.endswith("-c2.meh")
        for path in ("~/copy.meh", "relative.meh", named.path):
            with pytest.raises(InvalidRequest, match="exists"):
                db.backup(path)
        db.backup("relative.meh", overwrite=True)
        for bad in ("a.meh", tmp_path / "a.meh", tmp_path / "a.meh.lock"):
            with pytest.raises(InvalidRequest, match="the memory itself"):
                db.backup(bad, overwrite=True)
        wrong: Any
        for wrong in ("", "nul\0", 7, None, b"bytes.meh"):
            with pytest.raises(InvalidRequest, match="path"):
                db.backup(wrong)
        with pytest.raises(StorageError, match="directory first"):
            db.backup(tmp_path / "missing" / "b.meh")
    with pytest.raises(Closed):
        db.backup("closed.meh")
    assert texts_in(made.path) == {"walnuts"}
    assert texts_in("relative.meh") == {"walnuts", "later"}
    assert [copy.commit for copy in memhop.backups.list("folder with spaces é")] == [2, 1]


def test_copies_of_a_memory_that_two_threads_fill(tmp_path: Path) -> None:
    stop = threading.Event()
    told: list[str] = []
    copies: list[tuple[Backup, set[str]]] = []
    with DB.open(tmp_path / "a.meh", durability="none") as db:

        def write(thread: int) -> None:
            number = 0
            while not stop.is_set():
                note = db.remember(f"note {number} of thread {thread}")
                told.append(note.text)
                number += 1

        threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 60
        for number in range(4):
            while len(told) < 10 * number and time.monotonic() < deadline:
                time.sleep(0.001)
            before = set(told)
            copies.append((db.backup(tmp_path / f"copy{len(copies)}.meh"), before))
        stop.set()
        for thread in threads:
            thread.join(60)
    assert len(told) >= 30
    for made, before in copies:
        assert memhop.backups.verify(made.path).ok
        with DB.open(made.path) as db:
            assert db.stats().commit == made.commit
            assert before <= {note.text for note in every(db.notes.list)}


def test_listing_looks_at_names_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a.meh.backups"
    assert memhop.backups.list(tmp_path / "a.meh") == ()
    folder.mkdir()
    assert memhop.backups.list(tmp_path / "a.meh") == ()
    for name in (
        "a-20260528T202640000Z-c7.meh",
        "a-20260529T000000001Z-c9.meh",
        "my-agent-20250101T000000000Z-c3.meh",
        "a-20261328T202640000Z-c7.meh",
        "a-20260528T202640000Z-c7.meh.copying",
        "a.copying",
        "notes.txt",
    ):
        (folder / name).write_bytes(b"123")
    (folder / "a-20240528T202640000Z-c7.meh").mkdir()
    found = memhop.backups.list(tmp_path / "a.meh")
    assert found == memhop.backups.list(str(folder))
    assert [(copy.memory, copy.commit, copy.bytes) for copy in found] == [("a", 9, 3), ("a", 7, 3), ("my-agent", 3, 3)]
    assert found[1].made_at == NOW
    assert found[0].to_dict()["made_at"] == "2026-05-29T00:00:00.001Z"


def test_checking_a_copy_leaves_no_trace(tmp_path: Path) -> None:
    with memory(tmp_path / "a.meh") as db:
        db.remember_many([f"note {number}" for number in range(100)])
        db.checkpoint()
        made = Path(db.backup(tmp_path / "b.meh").path)
    (tmp_path / "a.meh").unlink()
    (tmp_path / "a.meh.lock").unlink()
    whole = made.read_bytes()
    made.chmod(0o400)
    report = memhop.backups.verify(made)
    assert report.ok
    assert report.records >= 100
    made.chmod(0o600)
    made.write_bytes(whole[: len(whole) // 2])
    assert not memhop.backups.verify(made).ok
    assert made.read_bytes() == whole[: len(whole) // 2]
    made.write_bytes(b"not a memory")
    with pytest.raises(BadFormat, match=r"b\.meh"):
        memhop.backups.verify(made)
    for path in (tmp_path / "none.meh", tmp_path):
        with pytest.raises(StorageError):
            memhop.backups.verify(path)
    assert os.listdir(tmp_path) == ["b.meh"]


def test_going_back_and_forth(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember("the first")
        copy = db.backup(tmp_path / "b.meh")
        db.remember("the second")
        with pytest.raises(Locked, match="end that process"):
            memhop.backups.restore(copy.path, path)
    done = memhop.backups.restore(copy.path, str(path), wait=1)
    assert (done.commit, done.head_digest, done.path) == (1, copy.head_digest, str(path))
    assert texts_in(path) == {"the first"}
    assert done.replaced is not None
    assert memhop.backups.restore(done.replaced, path).commit == 2
    assert texts_in(path) == {"the first", "the second"}
    assert memhop.backups.restore(copy.path, tmp_path / "new.meh").to_dict()["replaced"] is None
    assert texts_in(tmp_path / "new.meh") == {"the first"}


def test_any_handle_can_be_copied(tmp_path: Path) -> None:
    """One that reads copies what it sees, while another process holds the file; the past is copied as it was."""
    path = tmp_path / "a.meh"
    with memory(path, durability="none") as db:
        db.remember("the first")
        db.remember("the second")
        db.checkpoint()
        db.remember("the third")
        with memory(path, mode="read") as reader:
            assert reader.backup(tmp_path / "read.meh").commit == 3
            db.remember("the fourth")
            assert reader.backup(tmp_path / "read.meh", overwrite=True).commit == 4
            assert reader.backups is None
        for commit in (0, 1, 2, 3):
            with db.at(commit) as past:
                made = past.backup(tmp_path / f"past{commit}.meh")
                assert made.commit == commit
                assert memhop.backups.verify(made.path).head_digest == made.head_digest
    assert len(texts_in(tmp_path / "read.meh")) == 4
    assert texts_in(tmp_path / "past0.meh") == set()
    assert texts_in(tmp_path / "past2.meh") == {"the first", "the second"}
    assert texts_in(tmp_path / "past3.meh") == {"the first", "the second", "the third"}
    memhop.backups.restore(tmp_path / "past1.meh", path)
    assert texts_in(path) == {"the first"}


def test_shared_handles_are_copied_and_follow_a_restore(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path, mode="shared") as one, memory(path, mode="shared") as two:
        one.remember("the first")
        copy = two.backup(tmp_path / "b.meh")  # knows of it without having looked
        assert copy.commit == 1
        two.remember("the second")
        assert one.backup(tmp_path / "c.meh").commit == 2
        memhop.backups.restore(copy.path, path)
        assert [note.text for note in one.notes.list().items] == ["the first"]
        two.remember("another second")
        assert {note.text for note in one.notes.list().items} == {"another second", "the first"}
    assert texts_in(path) == {"the first", "another second"}
    assert texts_in(tmp_path / "c.meh") == {"the first", "the second"}


def test_what_a_restore_refuses(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with memory(path) as db:
        db.remember("the first")
        copy = Path(db.backup(tmp_path / "b.meh").path)
    with memory(tmp_path / "other.meh") as db:
        db.remember("another memory")
    before = sorted(os.listdir(tmp_path))
    wrong: Any
    for source, target, error, match in (
        (path, path, InvalidRequest, "to be replaced"),
        (tmp_path, path, InvalidRequest, "is a folder"),
        (copy, tmp_path, InvalidRequest, "not a regular file"),
        (copy, tmp_path / "other.meh", InvalidRequest, "another memory"),
        (tmp_path / "none.meh", path, StorageError, "check the path"),
        (copy, "", InvalidRequest, "to:"),
        (7, path, InvalidRequest, "backup:"),
    ):
        wrong = source
        with pytest.raises(error, match=match):
            memhop.backups.restore(wrong, target)
    for wrong in (-1, 3601, "1", True, float("nan")):
        with pytest.raises(InvalidRequest, match="wait"):
            memhop.backups.restore(copy, path, wait=wrong)
    whole = copy.read_bytes()
    for content in (
        whole[:-8],
        whole[:8400],
        b"",
        b"\0" * len(whole),
        whole[:8300] + bytes([whole[8300] ^ 8]) + whole[8301:],
    ):
        copy.write_bytes(content)
        with pytest.raises((Corrupt, BadFormat), match=r"b\.meh"):
            memhop.backups.restore(copy, path)
    assert sorted(os.listdir(tmp_path)) == before
    assert texts_in(path) == {"the first"}
    copy.write_bytes(whole)
    memhop.backups.restore(copy, tmp_path / "other.meh", another=True)
    assert texts_in(tmp_path / "other.meh") == {"the first"}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("every_commits", (0, -1, 10**10, 1.5, True, "9", None)),
        ("every_hours", (0, -1, 9000, True, "9", None, float("nan"), float("inf"))),
        ("keep", (0, 1001, 1.0, None)),
        ("daily", (-1, 367, True)),
        ("weekly", (-1, 521, "4")),
        ("folder", (7, "", "a\0b")),
    ],
)
def test_settings_out_of_range_are_refused(field: str, values: tuple[Any, ...]) -> None:
    for value in values:
        with pytest.raises(InvalidRequest) as caught:
            Backups(**{field: value})
        assert caught.value.field == field
        assert caught.value.allowed


def test_settings_are_checked_at_open(tmp_path: Path) -> None:
    wrong: Any = {"keep": 3}
    with pytest.raises(InvalidRequest, match="backups"):
        DB.open(tmp_path / "a.meh", backups=wrong)
    assert not list(tmp_path.iterdir())
    with DB.open(tmp_path / "a.meh") as db:
        assert db.backups is None
        assert db.stats().backup_error is None
