"""`memhop export`, `import` and `imports`, as a person or a script uses them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from memhop import DB
from tests.cli.running import memhop
from tests.support.sources import hinterland


def test_the_way_from_one_memory_to_another(tmp_path: Path) -> None:
    file, other, export = tmp_path / "a.meh", tmp_path / "b.meh", tmp_path / "e.jsonl"
    memhop("remember", "the first", "--file", file)
    memhop("remember", "the second", "--project", "work", "--file", file)
    done = memhop("export", export, "--file", file)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"exported 2 records to {export}")
    assert stat.S_IMODE(export.stat().st_mode) == 0o600
    assert memhop("export", "--file", file).out.encode() == export.read_bytes()
    assert memhop("export", "-", "--file", file, "--project", "work").out.count("\n") == 2
    assert memhop("export", export, "--file", file).code == 2
    again = memhop("export", export, "--overwrite", "--file", file, "--json").json()
    assert (again["records"], again["path"]) == (2, str(export))
    assert memhop("export", "--json", "--file", file).code == 2

    told = memhop("import", export, "--dry-run", "--file", file)
    assert told.out == "would import: 2 read (memhop), 0 created, 2 unchanged\n"
    took = memhop("import", export, "--file", other)
    assert (took.code, took.err) == (0, "")
    assert took.out == "imported: 2 read (memhop), 2 created\ntake it back with: memhop imports undo 1\n"
    assert memhop("import", export, "--file", other, "--json").json()["unchanged"] == 2
    assert memhop("export", "--file", other).out.encode() == export.read_bytes()


def test_rejected_lines_end_with_1_and_the_rest_is_stored(tmp_path: Path) -> None:
    file = tmp_path / "a.meh"
    source = hinterland(tmp_path / "in.jsonl", {"content": "sound"}, *[b"bro\x1b[31mken"] * 25)
    done = memhop("import", source, "--file", file)
    assert done.code == 1
    assert "1 created, 25 rejected" in done.out
    assert "line 2: not JSON" in done.out
    assert "and 5 more" in done.out
    assert f"rejected: {source}.rejects" in done.out
    assert "\x1b" not in done.out
    assert Path(f"{source}.rejects").read_bytes().count(b"\n") == 25
    given = memhop("import", source, "--rejects", tmp_path / "r", "--file", file, "--json")
    assert given.code == 1
    assert (given.json()["rejects_path"], len(given.json()["problems"])) == (str(tmp_path / "r"), 25)
    assert memhop("import", source, "--rejects", tmp_path / "r", "--file", file).code == 2
    with DB.open(file) as db:
        assert [note.text for note in db.notes.list().items] == ["sound"]


def test_imports_are_listed_shown_and_taken_back(tmp_path: Path) -> None:
    file = tmp_path / "a.meh"
    memhop("remember", "mine", "--file", file)
    none = memhop("imports", "list", "--file", file)
    assert (none.code, none.out) == (1, "")
    source = hinterland(tmp_path / "in.jsonl", {"content": "one"}, {"content": "two"})
    memhop("import", source, "--file", file, "--project", "work", "--format", "hinterland", "--on-conflict", "skip")
    listed = memhop("imports", "list", "--file", file)
    assert "hinterland" in listed.out
    assert all(len(line) <= 80 for line in listed.out.splitlines())
    assert memhop("imports", "list", "--limit", "1", "--file", file, "--json").json()["items"][0]["created"] == 2
    shown = memhop("imports", "show", "1", "--file", file)
    assert "2 created" in shown.out
    assert "created note: " in shown.out
    ids = memhop("imports", "show", "1", "--file", file, "--json").json()["created"]["note"]
    memhop("forget", ids[0], "--file", file)
    undone = memhop("imports", "undo", "1", "--file", file)
    assert undone.code == 0
    assert "removed 1, put back 0" in undone.out
    assert f"stays: note {ids[0]}: it was changed since" in undone.out
    again = memhop("imports", "undo", "1", "--file", file)
    assert again.code == 2
    assert "undone before" in again.err
    assert memhop("imports", "undo", "7", "--file", file, "--json").json()["field"] == "number"
    assert memhop("imports", "show", "7", "--file", file).code == 2
    assert "undo" in memhop("imports").out


def test_what_goes_wrong_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.meh"
    assert memhop("import", tmp_path / "missing", "--file", file).code == 1
    newer = tmp_path / "newer.jsonl"
    newer.write_text(json.dumps({"format": "memhop-export", "version": 9}) + "\n")
    refused = memhop("import", newer, "--file", file)
    assert refused.code == 1
    assert "version 9" in refused.err
    assert memhop("import", newer, "--format", "jpeg", "--file", file).code == 2
    assert not file.exists(), "no memory is begun for what cannot be read"
    assert memhop("export", "--file", tmp_path / "nothing.meh").code == 1
    with DB.open(file) as db:
        db.remember("mine")
        db.export(tmp_path / "e.jsonl")
        locked = memhop("import", tmp_path / "e.jsonl", "--wait", "0", "--file", file)
        assert locked.code == 3
        assert memhop("export", tmp_path / "f.jsonl", "--file", file).code == 0, "reading waits for nobody"
