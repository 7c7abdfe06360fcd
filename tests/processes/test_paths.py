"""Paths as people have them: links, relative ones, spaces, any script, long names, and things that are no files."""

from __future__ import annotations

import os
import unicodedata
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from memhop import DB, BadFormat, InvalidRequest, Locked, StorageError
from memhop.core.side_files import beside
from tests.support.memories import every
from tests.support.processes import Starter

NAMES = {
    "spaces": " a name with spaces .meh",
    "quotes and shell characters": "it's $HOME \"*?[x]; rm -rf & #.meh",
    "newline": "two\nlines.meh",
    "Chinese": "把機器推論洗成權威事實.meh",
    "emoji": "🧠 memory 👩‍👩‍👧.meh",
    "composed": unicodedata.normalize("NFC", "Zoë Ångström.meh"),
    "decomposed": unicodedata.normalize("NFD", "Zoë Ångström.meh"),
    "right to left": "זיכרון ذاكرة.meh",
    "no ending": "memory",
    "a dot in front": ".meh",
    "a dash in front": "-rf.meh",
    "bytes that are no text": os.fsdecode(b"caf\xe9.meh"),
    "250 characters": "n" * 246 + ".meh",
    "255 bytes of two each": "é" * 125 + "x.meh",
}


def write_and_leave(link: Connection, path: str, mode: str) -> None:
    """Whatever makes a side file: lock, create, compaction, and a torn tail that the next one must save."""
    db = DB.open(path, mode=mode)
    db.remember(f"by process {os.getpid()}")
    db.compact()
    db.remember("then")
    with open(db.path, "r+b") as raw:
        raw.seek(db._file.published_end)
        raw.write(b"\xf5meh torn")
    link.send(os.getpid())
    link.recv()


@pytest.mark.parametrize("name", NAMES)
def test_any_name_does(tmp_path: Path, start: Starter, name: str) -> None:
    """The side files too: the lock keeps others out, a compaction finds room for its name, a torn tail is saved."""
    path = tmp_path / NAMES[name]
    writer = start(write_and_leave, str(path), "exclusive")
    pid = writer.hear()
    with pytest.raises(Locked) as caught:
        DB.open(path)
    assert caught.value.pid == pid
    writer.kill()
    with DB.open(str(path)) as db:
        assert db.recovery.torn_file is not None
        assert Path(db.recovery.torn_file).read_bytes().startswith(b"\xf5meh torn")
        assert {note.text for note in every(db.notes.list)} == {f"by process {pid}", "then"}
        with pytest.raises(Locked):
            DB.open(path)
    with DB.open(path, mode="shared") as one, DB.open(path, mode="read") as two:
        one.remember("from a shared handle")
        assert two.recall("shared handle").hits
        one.compact(keep_history=True)
        assert two.refresh()
        assert two.verify(deep=True).ok
    beyond = [entry.name for entry in tmp_path.iterdir() if not entry.name.startswith(beside(path, ".").name)]
    assert beyond == [path.name]
    assert len(list(tmp_path.iterdir())) == 3, "the memory, its lock, the torn tail"


def test_long_names_that_begin_alike_have_locks_of_their_own(tmp_path: Path) -> None:
    one, two = tmp_path / ("n" * 250 + "1"), tmp_path / ("n" * 250 + "2")
    with DB.open(one) as first, DB.open(two) as second:
        first.remember("the first")
        second.remember("the second")
        first.compact()
    assert len(list(tmp_path.iterdir())) == 4
    assert all(len(os.fsencode(beside(one, suffix).name)) < 256 for suffix in (".compact", ".torn-1780000000000-99"))


def test_composed_and_decomposed_names_are_what_the_file_system_says(tmp_path: Path) -> None:
    """No name is changed on the way: where the system knows two files, these are two memories."""
    for form in ("composed", "decomposed"):
        with DB.open(tmp_path / NAMES[form]) as db:
            assert Path(db.path).name == NAMES[form]
            db.remember(form)
    if sum(1 for entry in tmp_path.iterdir() if entry.suffix == ".meh") == 2:
        for form in ("composed", "decomposed"):
            with DB.open(tmp_path / NAMES[form]) as db:
                assert [note.text for note in every(db.notes.list)] == [form]


def test_a_name_that_is_too_long_is_refused_at_once(tmp_path: Path) -> None:
    for name in ("n" * 252 + ".meh", "機" * 90 + ".meh", "/".join(["d" * 200] * 40)):
        for mode in ("exclusive", "shared", "read"):
            with pytest.raises(StorageError, match="name too long"):
                DB.open(tmp_path / name, mode=mode)
    assert not list(tmp_path.iterdir())


def test_what_is_no_file(tmp_path: Path) -> None:
    """Refused in every mode, at once, also where opening would wait for ever; nothing is left beside it."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    (tmp_path / "short").write_bytes(b"\x89MEH")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "to a device").symlink_to("/dev/zero")
    (tmp_path / "to a folder").symlink_to("folder")
    names = sorted(os.listdir(tmp_path))
    for mode in ("exclusive", "shared", "read"):
        for name in ("fifo", "folder", "to a device", "to a folder"):
            with pytest.raises(StorageError, match="regular file"):
                DB.open(tmp_path / name, mode=mode)
        for name in ("empty", "short"):
            with pytest.raises(BadFormat):
                DB.open(tmp_path / name, mode=mode)
        with pytest.raises(StorageError, match="symbolic links"):
            DB.open(tmp_path / "circle", mode=mode)
        with pytest.raises(StorageError):
            DB.open(tmp_path / "short" / "a.meh", mode=mode)  # below a file
        for device in ("/dev/null", "/proc/self/mem"):
            with pytest.raises(StorageError):
                DB.open(device, mode=mode)
        wrong: list[object] = ["", "a\0.meh", b"a.meh", f"{tmp_path}/new/", f"{tmp_path}/short/", 7, None, "\ud800.meh"]
        for path in wrong:
            with pytest.raises(InvalidRequest, match="path"):
                DB.open(path, mode=mode)  # type: ignore[arg-type]
    assert sorted(os.listdir(tmp_path)) == names
    assert (tmp_path / "empty").stat().st_size == 0


def test_symbolic_links_lead_to_the_file_and_its_one_lock(tmp_path: Path) -> None:
    """A link, a chain of them, a link to the folder: the side files lie beside the file, and the links stay links."""
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    (other / "link.meh").symlink_to("../home/a.meh")
    (other / "chain.meh").symlink_to("link.meh")
    (tmp_path / "folder").symlink_to("home")
    ways = [home / "a.meh", other / "link.meh", other / "chain.meh", tmp_path / "folder" / "a.meh"]
    for number, way in enumerate(ways):
        with DB.open(way) as db:
            assert Path(db.path) == home / "a.meh"
            db.remember(f"way {number}")
            db.compact()
            for again in ways:
                with pytest.raises(Locked):
                    DB.open(again)
    with DB.open(ways[2], mode="read") as db:
        assert len(every(db.notes.list)) == 4
    assert sorted(os.listdir(other)) == ["chain.meh", "link.meh"]
    assert (other / "chain.meh").is_symlink()
    assert sorted(os.listdir(home)) == ["a.meh", "a.meh.lock"]


def test_a_dangling_link_makes_its_target(tmp_path: Path) -> None:
    """As writing to such a link does everywhere: who links a memory to a disk that is empty yet wants it there.

    Not when the folder of the target is missing, and not for reading."""
    (tmp_path / "a.meh").symlink_to(tmp_path / "there" / "b.meh")
    with pytest.raises(StorageError, match="create the directory first"):
        DB.open(tmp_path / "a.meh")
    (tmp_path / "there").mkdir()
    for options in ({"mode": "read"}, {"create": False}):
        with pytest.raises(StorageError, match="there is no file"):
            DB.open(tmp_path / "a.meh", **options)
    assert not list((tmp_path / "there").iterdir())
    with DB.open(tmp_path / "a.meh") as db:
        db.remember("by the link")
    with DB.open(tmp_path / "there" / "b.meh") as db:
        assert [note.text for note in every(db.notes.list)] == ["by the link"]
    assert (tmp_path / "a.meh").is_symlink()


def work_below(link: Connection, folder: Path) -> None:
    """A relative path means the folder that was the current one at opening."""
    (folder / "elsewhere").mkdir()
    os.chdir(folder)
    with DB.open("a.meh", mode="shared") as db, DB.open(Path("./elsewhere/../a.meh"), mode="read") as reader:
        os.chdir("elsewhere")
        db.remember("after the change of folder")
        db.checkpoint()
        db.compact()
        with db.at(db.stats().commit) as past:
            assert past.notes.list().items
        assert reader.recall("change of folder").hits
    (folder / "gone").mkdir()
    os.chdir(folder / "gone")
    os.rmdir(folder / "gone")
    try:
        DB.open("a.meh")
    except StorageError as error:
        link.send(str(error))


def test_a_relative_path_and_a_change_of_folder(tmp_path: Path, start: Starter) -> None:
    (said,) = start(work_below, tmp_path).finish()
    assert "cannot open a.meh" in said
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.meh", "a.meh.lock", "elsewhere"]
    assert not list((tmp_path / "elsewhere").iterdir())
