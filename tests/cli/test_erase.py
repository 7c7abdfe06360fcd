"""forget and purge through the real command."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from memhop import DB
from tests.cli.running import COMMAND, environment, memhop

SECRET = "the safe behind the painting opens with qxzzy 4711"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """Two notes, of two projects."""
    path = tmp_path / "agent.meh"
    with DB.open(path) as db:
        db.remember(SECRET, external_id="secret")
        db.remember("the painting is a copy", project="house", external_id="copy")
    return path


def id_of(path: Path, text: str) -> str:
    with DB.open(path) as db:
        return next(str(note.id) for note in db.notes.list().items if note.text == text)


def test_forget_trashes_and_purge_erases(memory: Path) -> None:
    first = id_of(memory, SECRET)
    done = memhop("forget", first, "--file", memory)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"forgotten {first}: moved to the trash")
    assert memhop("forget", first, "--file", memory).out.startswith("unchanged")
    refused = memhop("purge", "--file", memory)
    assert refused.code == 2
    assert "--yes" in refused.err
    other = memhop("purge", "--yes", "--project", "house", "--before", "2100-01-01", "--json", "--file", memory)
    assert other.json()["count"] == 0
    assert memhop("purge", "--yes", "--json", "--file", memory).json()["ids"] == [first]


def test_forget_hard_prints_a_receipt(memory: Path, tmp_path: Path) -> None:
    first = id_of(memory, SECRET)
    copy = tmp_path / "elsewhere" / "copy.meh"
    copy.parent.mkdir()
    copy.write_bytes(memory.read_bytes())
    done = memhop("forget", first, "--hard", "--prove", "--also", copy.parent, "--file", memory)
    assert done.code == 1, "a copy holds it"
    assert "delete it" in done.out
    assert "qxzzy" not in done.out
    assert b"qxzzy" not in memory.read_bytes()
    again = memhop("forget", id_of(memory, "the painting is a copy"), "--hard", "--prove", "--json", "--file", memory)
    assert again.code == 0
    assert again.json()["receipt"]["complete"] is True
    assert memhop("forget", first, "--prove", "--file", memory).code == 2


@pytest.mark.parametrize(("answer", "code", "left"), [(b"n\n", 1, 1), (b"y\n", 0, 0)])
def test_purge_asks_on_a_terminal(memory: Path, answer: bytes, code: int, left: int) -> None:
    memhop("forget", id_of(memory, SECRET), "--file", memory)
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            [*COMMAND, "purge", "--json", "--file", str(memory)],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        ) as process:
            os.write(ours, answer)
            out, err = process.communicate(timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert process.returncode == code, (out, err)
    assert b"for good?" in err
    with DB.open(memory) as db:
        trashed = db.notes.list(tier="trashed").items
    assert len(trashed) == left


def test_stats_says_what_uses_the_space(memory: Path) -> None:
    shown = memhop("stats", "--file", memory)
    assert "note (L4)" in shown.out
    assert "headers" in shown.out
    found = memhop("stats", "--json", "--file", memory).json()
    assert sum(use["bytes"] for use in found["space"]) == found["file_bytes"]
