"""Who may open a file: one at a time, on the path that was asked for, and never a forked child."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from memhop.common.errors import BadFormat, Closed, InvalidRequest, Locked, StorageError
from memhop.core.lock import SideLock, holder
from memhop.core.meh_file import MehFile, Write

ONE = [Write(0x10, 1, b"one")]


def test_a_second_open_names_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with MehFile.open(path, purpose="the first") as file:
        with pytest.raises(Locked) as caught:
            MehFile.open(path)
        assert caught.value.pid == os.getpid()
        assert caught.value.purpose == "the first"
        assert caught.value.since is not None
        named = json.loads((tmp_path / "a.meh.lock").read_text())
        assert sorted(named) == ["host", "pid", "purpose", "started"]
        file.append(ONE)
    with MehFile.open(path) as file:
        assert file.locate(1) is not None


def test_waiting_gets_the_lock_when_it_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    first = MehFile.open(path)
    opened: list[MehFile] = []
    thread = threading.Thread(target=lambda: opened.append(MehFile.open(path, wait=30)))
    thread.start()
    first.append(ONE)
    first.close()
    thread.join(30)
    assert opened[0].commit_number == 1
    with pytest.raises(Locked):
        MehFile.open(path, wait=0.02)
    opened[0].close()


@pytest.mark.parametrize(
    "junk", [b"", b"{", b"[1]", b"[" * 4000, b'{"pid": "x", "host": 5, "purpose": "a\\u0000b"}', b"\xff" * 9000]
)
def test_a_side_file_full_of_junk_means_nothing(tmp_path: Path, junk: bytes) -> None:
    path, side = tmp_path / "a.meh", tmp_path / "a.meh.lock"
    side.write_bytes(junk)
    with MehFile.open(path):
        side.write_bytes(junk)
        with pytest.raises(Locked) as caught:
            MehFile.open(path)
        assert caught.value.pid is None
        assert caught.value.purpose is None


def test_symbolic_links_lead_to_one_lock(tmp_path: Path) -> None:
    real, link = tmp_path / "a.meh", tmp_path / "link.meh"
    with MehFile.open(real) as file:
        link.symlink_to(real)
        assert file.path == real
        with pytest.raises(Locked):
            MehFile.open(link)
    assert not (tmp_path / "link.meh.lock").exists()


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    """Nothing is changed and no side file is left beside what is not ours."""
    empty, foreign = tmp_path / "empty.meh", tmp_path / "notes.txt"
    empty.touch()
    foreign.write_text("milk, bread\n" * 900)
    for path in (empty, foreign):
        before = path.read_bytes()
        with pytest.raises(BadFormat):
            MehFile.open(path)
        assert path.read_bytes() == before
    with pytest.raises(StorageError, match="no file"):
        MehFile.open(tmp_path / "missing.meh", create=False)
    with pytest.raises(StorageError, match="create the directory"):
        MehFile.open(tmp_path / "no" / "such" / "a.meh")
    with pytest.raises(StorageError, match="regular"):
        MehFile.open(tmp_path)
    with pytest.raises(InvalidRequest, match="mode"):
        MehFile.open(tmp_path / "a.meh", mode="append")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty.meh", "notes.txt"]


def test_a_new_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    MehFile.open(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "a.meh.lock").stat().st_mode & 0o777 == 0o600


def test_a_closed_handle_answers_closed(tmp_path: Path) -> None:
    file = MehFile.open(tmp_path / "a.meh")
    commit = file.append(ONE)
    offset = commit.entries[0].offset
    view = file.buffer(offset, 24)
    file.close()
    file.close()
    calls: list[Callable[[], object]] = [
        lambda: file.append(ONE),
        lambda: file.locate(1),
        lambda: file.read(offset),
        lambda: file.payload_at(offset),
        lambda: file.buffer(offset, 1),
        lambda: file.ids(0x10),
        lambda: file.tail(),
        lambda: file.segments(),
        lambda: file.plan_checkpoint(),
        lambda: file.checkpoint({}, meta={}),
        lambda: file.compact(dict, meta={}),
        lambda: file.verify(),
        lambda: file.sync(1),
        lambda: file.flush(),
        lambda: file.commit_number,
        lambda: file.meta,
        lambda: file.dead_bytes,
    ]
    for number, call in enumerate(calls):
        with pytest.raises(Closed):
            call()
        assert number >= 0
    assert bytes(view[:4]) == b"\xf5meh", "views outlive the handle"


def test_a_forked_child_is_refused(tmp_path: Path) -> None:
    """Two writers with one lock: the child inherits the descriptor, so only the process id can tell."""
    with MehFile.open(tmp_path / "a.meh") as file:
        file.append(ONE)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            answers = []
            for call in (lambda: file.append(ONE), lambda: file.locate(1)):
                try:
                    call()
                    answers.append(b"granted ")
                except Closed:
                    answers.append(b"refused ")
            file.close()
            os.write(writer, b"".join(answers))
            os._exit(0)
        os.waitpid(child, 0)
        answer = os.read(reader, 100)
        os.close(reader)
        os.close(writer)
        assert answer == b"refused refused "
        file.append(ONE)
        with pytest.raises(Locked):
            MehFile.open(file.path)


def test_asking_who_holds_it_makes_no_file_and_changes_none(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    assert holder(path) is None
    assert list(tmp_path.iterdir()) == []
    lock = SideLock(path, purpose="the owner")
    lock.acquire(0)
    written = path.read_bytes()
    for _ in range(2):
        held = holder(path)
        assert held is not None
        assert (held.pid, held.purpose, held.stopped) == (os.getpid(), "the owner", False)
    assert path.read_bytes() == written
    lock.release()
    assert holder(path) is None
    assert path.read_bytes() == b""


def test_two_who_ask_at_once_do_not_take_each_other_for_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    path.touch()
    with path.open("rb") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH | fcntl.LOCK_NB)
        assert holder(path) is None
