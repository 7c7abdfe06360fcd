"""`memhop backup`, as a person or a script uses it."""

from __future__ import annotations

import os
from pathlib import Path

from memhop import DB
from tests.cli.running import memhop


def test_the_way_there_and_back(tmp_path: Path) -> None:
    file = tmp_path / "a.meh"
    memhop("remember", "the first", "--file", file)
    made = memhop("backup", "make", "--file", file)
    assert made.code == 0
    assert made.out.startswith(f"copied to {file}.backups/a-")
    memhop("remember", "the second", "--file", file)
    second = memhop("backup", "make", tmp_path / "b.meh", "--file", file, "--json").json()
    assert (second["path"], second["commit"], second["bytes"]) == (
        str(tmp_path / "b.meh"),
        2,
        os.path.getsize(tmp_path / "b.meh"),
    )
    listed = memhop("backup", "list", "--file", file, "--json").json()
    assert [copy["commit"] for copy in listed] == [1]
    assert listed[0]["memory"] == "a"
    table = memhop("backup", "list", f"{file}.backups").out
    assert listed[0]["path"] in table
    checked = memhop("backup", "verify", listed[0]["path"])
    assert checked.code == 0
    assert checked.out.startswith("in order: 1 commits")
    done = memhop("backup", "restore", listed[0]["path"], "--file", file, "--json").json()
    assert (done["commit"], done["path"]) == (1, str(file))
    with DB.open(file) as db:
        assert [note.text for note in db.notes.list().items] == ["the first"]
    again = memhop("backup", "restore", done["replaced"], env={"MEMHOP_FILE": str(file)})
    assert again.code == 0
    assert f"is kept as {file}.replaced-" in again.out
    with DB.open(file) as db:
        assert len(db.notes.list().items) == 2


def test_what_goes_wrong_is_told_by_exit_code_and_line(tmp_path: Path) -> None:
    file, copy = tmp_path / "a.meh", tmp_path / "b.meh"
    with DB.open(file) as db:
        db.remember("walnuts")
        db.backup(copy)
        while_open = memhop("backup", "make", "--file", file)
        assert while_open.code == 0
        assert while_open.err == ""
        locked = memhop("backup", "restore", copy, "--wait", "0", "--file", file)
        assert locked.code == 3
        assert f"process {os.getpid()}" in locked.err
    DB.open(tmp_path / "other.meh").close()
    assert memhop("backup", "make", copy, "--file", file).code == 2
    assert memhop("backup", "make", copy, "--overwrite", "--file", file).code == 0
    refused = memhop("backup", "restore", copy, "--file", tmp_path / "other.meh", "--json")
    assert refused.code == 2
    assert refused.json()["field"] == "to"
    assert memhop("backup", "restore", copy, "--file", tmp_path / "other.meh", "--another", "--wait", "1").code == 0
    empty = memhop("backup", "list", tmp_path / "none", "--json")
    assert (empty.code, empty.json()) == (1, [])
    assert memhop("backup", "list", tmp_path / "none").err == "no copies\n"
    copy.write_bytes(copy.read_bytes()[:-40])
    broken = memhop("backup", "verify", copy)
    assert broken.code == 1
    assert "problems" in broken.out
    before = file.read_bytes()
    assert memhop("backup", "restore", copy, "--file", file).code == 1
    assert file.read_bytes() == before
    assert memhop("backup", "make", "--file", tmp_path / "no.meh").code == 1
    assert not (tmp_path / "no.meh.backups").exists()


def test_the_group_alone_shows_its_help() -> None:
    shown = memhop("backup")
    assert shown.code == 0
    for name in ("make", "list", "verify", "restore"):
        assert f"  {name} " in shown.out
