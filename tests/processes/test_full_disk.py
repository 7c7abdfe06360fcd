"""A disk that is really full: at every kind of call that may find it so."""

from __future__ import annotations

import gc
from functools import partial
from pathlib import Path

import pytest

from memhop import DB, StorageError
from tests.support.memories import every
from tests.support.processes import Starter
from tests.support.small_disk import Act, fill, refused, run_on_small_disk, whole


def fill_by_writing(folder: Path) -> None:
    for mode in ("exclusive", "shared"):
        path = folder / f"{mode}.meh"
        texts = []
        with DB.open(path, mode=mode) as db:
            for number in range(10_000):
                text = f"note {number} " + "x" * 3000
                try:
                    db.remember(text)
                except StorageError as error:
                    said = str(error)
                    break
                texts.append(text)
            assert "No space left" in said
            assert "free some space" in said
            assert len(texts) > 100
            whole(db, texts)
            before = path.read_bytes()[: db._file.published_end]
            for _ in range(3):
                refused(lambda: db.remember("y" * 100_000))
                refused(lambda: db.remember_many(["z" * 50_000, "one more"]))
                refused(lambda: db.search("w" * 100_000))
            assert path.read_bytes().startswith(before), "nothing is half written"
            whole(db, texts)
            refused(db.compact)
            assert not list(folder.glob("*.compact"))
            assert path.read_bytes().startswith(before), "the old file is as it was"
            whole(db, texts)
            ballast = fill(folder)
            refused(lambda: db.remember("y" * 100_000))
            ballast.unlink()
            db.forget(next(note.id for note in every(db.notes.list) if note.text == texts[0]), hard=True)
            del texts[0]
            whole(db, texts)
        with DB.open(path) as db:
            whole(db, texts)
        path.unlink()
        gc.collect()  # errors refer to frames, and these to views of the file: they hold its space


def at_commit(folder: Path) -> None:
    """Writes go on when the space is back, without reopening."""
    for mode in ("exclusive", "shared"):
        path = folder / f"{mode}.meh"
        texts = ["the first"]
        with DB.open(path, mode=mode) as db:
            db.remember("the first")
            for number in range(5):
                ballast = fill(folder)
                error = refused(lambda: db.remember("x" * 200_000))
                assert str(path) in str(error)
                whole(db, texts)
                ballast.unlink()
                texts.append(f"written when there was space again {number}")
                db.remember(texts[-1])
                whole(db, texts)
        with DB.open(path) as db:
            assert db.recovery.clean
            whole(db, texts)
        path.unlink()


def at_checkpoint(folder: Path) -> None:
    path = folder / "a.meh"
    texts = [f"note {number} on kayaks and walnuts {number * 7}" for number in range(300)]
    with DB.open(path) as db:
        db.remember_many(texts[:150])
        db.checkpoint()
        db.remember_many(texts[150:])
        ballast = fill(folder)
        refused(db.checkpoint)
        whole(db, texts)
        with DB.open(path, mode="read") as reader:
            whole(reader, texts)
        ballast.unlink()
        assert db.checkpoint()
        whole(db, texts)
    with DB.open(path) as db:
        whole(db, texts)


def at_compaction(folder: Path) -> None:
    """With no space at all, and with space for a part of the new file."""
    path = folder / "a.meh"
    texts = [f"note {number} " + "x" * 1000 for number in range(300)]
    with DB.open(path) as db:
        db.remember_many(texts)
        for leave in (0, 4096, 100_000, 300_000):
            before = path.read_bytes()
            ballast = fill(folder, leave=leave)
            for keep_history in (False, True):
                refused(partial(db.compact, keep_history=keep_history))
            assert sorted(entry.name for entry in folder.iterdir()) == ["a.meh", "a.meh.lock", "ballast"]
            assert path.read_bytes() == before
            whole(db, texts)
            ballast.unlink()
            texts.append(f"after a failed compaction with {leave} bytes")
            db.remember(texts[-1])
        db.compact()
        whole(db, texts)


def at_close(folder: Path) -> None:
    """The checkpoint that closing makes is for speed alone, and the counters of recalls are not waited for: without
    space for them nothing is lost, the file is free, and who has only read does not fail at the end."""
    path = folder / "a.meh"
    texts = [f"note {number} on kayaks {number * 7}" for number in range(600)]
    for mode in ("exclusive", "shared"):
        db = DB.open(path, mode=mode)
        db.remember_many(texts)
        db.recall("kayaks")
        ballast = fill(folder)
        db.close()
        assert db.closed
        with DB.open(path, mode="read") as reader:
            whole(reader, texts)
        ballast.unlink()
        with DB.open(path) as again:
            assert again.recovery.clean
            whole(again, texts)
        path.unlink()


def at_opening(folder: Path) -> None:
    """No file is made where there is no space; one that is there can be read, also when its lock file is new."""
    ballast = fill(folder)
    refused(lambda: DB.open(folder / "new.meh"))
    assert not list(folder.glob("new.meh*.new"))
    assert not (folder / "new.meh").exists()
    ballast.unlink()
    with DB.open(folder / "a.meh") as db:
        db.remember("there already")
    for side in folder.glob("*.lock"):
        side.unlink()
    ballast = fill(folder)
    for mode in ("exclusive", "shared", "read"):
        with DB.open(folder / "a.meh", mode=mode) as db:
            whole(db, ["there already"])
    ballast.unlink()


def torn_tail(folder: Path) -> None:
    """No space to save what is torn: it is kept where it is, reading works, writing is refused with the reason."""
    path = folder / "a.meh"
    with DB.open(path) as db:
        db.remember("whole")
        end = db._file.published_end
        db.remember("torn " * 20_000)
        content = path.read_bytes()[: db._file.published_end - 200]
    path.write_bytes(content)
    ballast = fill(folder)
    with DB.open(path) as db:
        assert db.recovery.refused is not None
        assert "No space left" in db.recovery.refused
        assert [note.text for note in every(db.notes.list)] == ["whole"]
        with pytest.raises(StorageError, match="No space left"):
            db.remember("more")
    assert path.read_bytes() == content
    assert len(content) > end
    assert not list(folder.glob("*.torn-*"))
    ballast.unlink()
    with DB.open(path) as db:
        assert db.recovery.torn_file is not None
        db.remember("more")
        whole(db, ["whole", "more"])


@pytest.mark.parametrize(
    "act",
    [fill_by_writing, at_commit, at_checkpoint, at_compaction, at_close, at_opening, torn_tail],
    ids=lambda act: act.__name__,
)
def test_a_full_disk(tmp_path: Path, start: Starter, act: Act) -> None:
    """A clear error, nothing half written, reading goes on, and so does writing once there is space."""
    run_on_small_disk(start, act, tmp_path)
