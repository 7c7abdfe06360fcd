"""memhop.doctor on real files: what each check sees, and that nothing is changed by looking."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import memhop
from memhop import DB, HashEmbedder, InvalidRequest
from memhop.api.case import Case
from memhop.api.doctor import CHECKS
from memhop.api.results import Diagnosis, Finding
from memhop.common.clock import ManualClock
from memhop.common.errors import ConfigError
from memhop.core.meh_file import MehFile
from tests.cli.running import held, stop
from tests.support.embedders import Scripted, refusing
from tests.support.memories import DAY, NOW
from tests.support.small_disk import mounted

NAMES = (
    "file", "last write", "indexes", "files beside it", "lock", "disk space", "clock", "permissions", "file system",
    "python", "optional parts", "embedder", "language model", "backups",
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three notes."""
    path = tmp_path / "agent.meh"
    with DB.open(path, clock=ManualClock(NOW)) as db:
        for number in range(3):
            db.remember(f"note {number} about walnuts")
    return path


def look(path: Path, **options: object) -> Diagnosis:
    """The diagnosis of a file, a day after its last note."""
    return memhop.doctor(path, **({"clock": ManualClock(NOW + DAY)} | options))  # type: ignore[arg-type]


def finding(diagnosis: Diagnosis, name: str) -> Finding:
    (found,) = [found for found in diagnosis.findings if found.name == name]
    return found


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir() if file.is_file()}


@pytest.mark.parametrize("with_lock_file", [True, False])
def test_a_healthy_file_has_no_warning_and_is_left_as_it_is(path: Path, with_lock_file: bool) -> None:
    if not with_lock_file:
        path.with_name("agent.meh.lock").unlink()
    before = contents(path.parent)
    found = look(path)
    assert tuple(one.name for one in found.findings) == NAMES
    assert (found.ok, found.path) == (True, str(path))
    assert "3 commits, 3 live records" in finding(found, "file").found
    assert {one.name for one in found.findings if one.state != "ok"} <= {
        "embedder", "backups", "optional parts", "file system",
    }  # fmt: skip
    assert contents(path.parent) == before
    assert json.loads(json.dumps(found.to_dict()))["findings"][0]["state"] == "ok"


def test_a_missing_file_is_an_error_and_is_not_created(tmp_path: Path) -> None:
    found = look(tmp_path / "none.meh")
    assert (found.ok, found.state) == (False, "error")
    assert "there is no file" in finding(found, "file").found
    assert list(tmp_path.iterdir()) == []
    nowhere = look(tmp_path / "no" / "folder" / "a.meh")
    assert finding(nowhere, "permissions").state == "error"
    assert finding(nowhere, "permissions").fix == f"mkdir -p {tmp_path}/no/folder"
    assert not [one for one in nowhere.findings if "this check failed" in one.found]


@pytest.mark.parametrize("kind", ["letter", "empty", "folder", "pipe", "loop", "below a file", "long name"])
def test_what_is_no_memory_is_told_and_every_other_check_goes_on(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "odd"
    if kind == "letter":
        path.write_bytes(b"Dear reader, this is a letter.\n" * 1000)
    elif kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "below a file":
        path.touch()
        path /= "agent.meh"
    else:
        path = tmp_path / ("x" * 300)
    found = look(path)
    assert finding(found, "file").state == "error"
    assert tuple(one.name for one in found.findings) == NAMES
    if kind == "letter":
        assert finding(found, "file").found.endswith("this is not a .meh file")


@pytest.mark.parametrize("path", ["a\0b", "", 3, None])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(InvalidRequest):
        memhop.doctor(path)  # type: ignore[arg-type]


def test_damage_is_an_error_that_names_the_place_and_the_way_out(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(b"note 1")] ^= 1
    path.write_bytes(data)
    found = finding(look(path), "file")
    assert found.state == "error"
    assert "damaged place" in found.found
    assert f"memhop repair --to NEW --file {path}" in (found.fix or "")


def test_a_file_cut_short_below_what_was_on_disk_is_an_error(path: Path) -> None:
    with DB.open(path) as db:
        db.checkpoint()
    os.truncate(path, path.stat().st_size - 100)
    assert finding(look(path), "file").state == "error"


def test_an_unfinished_write_is_a_warning_until_it_was_mended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(64) + b"half a write" * 4 + bytes(64))
    size = path.stat().st_size
    found = look(path)
    assert finding(found, "file").state == "ok"
    assert (finding(found, "last write").state, found.ok) == ("warning", True)
    assert finding(found, "last write").found.startswith("112 bytes of an unfinished write")
    assert path.stat().st_size == size
    DB.open(path).close()
    mended = look(path)
    assert finding(mended, "last write").state == "ok"
    assert finding(mended, "files beside it").state == "note"
    assert "1 .torn (112 bytes" in finding(mended, "files beside it").found


def test_a_write_under_way_is_no_unfinished_one(path: Path) -> None:
    """Between the bytes of a commit and its end, a writer that is alive looks like one that was killed."""
    with held(path):
        with path.open("ab") as file:
            file.write(b"half a write")
        found = finding(look(path), "last write")
    assert found.state == "ok"
    assert "a write that is under way" in found.found


def test_a_file_that_others_write_to_all_the_time_is_in_order(path: Path) -> None:
    """What was appended after the file was opened for the diagnosis is neither damage nor an unfinished write."""
    done = threading.Event()

    def write() -> None:
        with DB.open(path, mode="shared", durability="none") as db:
            while not done.wait(0.002):
                db.remember_many([f"note {os.urandom(8).hex()}" for _ in range(3)])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            found = look(path)
            assert (finding(found, "file").state, finding(found, "last write").state) == ("ok", "ok"), found
    finally:
        done.set()
        writer.join()


def test_a_commit_that_arrives_while_it_looks_is_no_unfinished_write(path: Path) -> None:
    clock = ManualClock(NOW)
    with MehFile.open(path, mode="read") as file:
        case = Case(path=path, file=file, problem=None, clock=clock, embedder=None)
        with DB.open(path, clock=clock) as db:
            db.remember("later than the opening")
        assert CHECKS["last write"](case)[0] == "ok"


def test_files_beside_it_are_counted_and_strangers_are_not(path: Path) -> None:
    for suffix, size in ((".new", 5), (".compact", 2048), (".replaced-20260510T083000123Z", 7), (".bak", 9)):
        path.with_name(path.name + suffix).write_bytes(b"x" * size)
    path.with_name("other.meh.torn-1").touch()
    said = finding(look(path), "files beside it").found
    assert (
        said
        == "1 .compact (2.0 KiB, temporary), 1 .new (5 bytes, temporary), 1 .replaced (7 bytes, replaced by a restore)"
    )


def test_indexes_that_each_opening_has_to_make_again_are_told(path: Path) -> None:
    with DB.open(path) as db:
        db.checkpoint()
    assert finding(look(path), "indexes").state == "ok"
    with MehFile.open(path) as file:
        file.plan_checkpoint(everything=True)
        file.checkpoint({}, meta={"tokenizer": 0, "layout": 0})
    assert finding(look(path), "indexes").state == "note"
    with MehFile.open(path) as file:
        offset = file._writer.state.manifest_offset
    data = bytearray(path.read_bytes())
    data[offset + 40] ^= 0xFF
    path.write_bytes(data)
    lost = finding(look(path), "indexes")
    assert (lost.state, lost.fix) == ("warning", f"memhop compact --file {path}")


def test_who_holds_the_lock_is_told_and_never_waited_for(path: Path) -> None:
    with held(path) as holder:
        found = finding(look(path), "lock")
        assert found.state == "note"
        assert f"process {holder.pid} on {socket.gethostname()}, the holder, since 20" in found.found
        stop(holder)
        stopped = finding(look(path), "lock")
        assert (stopped.state, stopped.fix) == ("warning", f"kill -CONT {holder.pid}, or end that process")
        assert "stopped" in stopped.found
    assert finding(look(path), "lock").found == "nobody holds it"  # though the side file still names the killed one
    with DB.open(path, wait=0.0) as db:
        db.remember("the lock was given back")


def test_permissions_that_let_others_in_are_warnings(path: Path) -> None:
    path.chmod(0o640)
    opened = finding(look(path), "permissions")
    assert (opened.state, opened.fix) == ("warning", f"chmod 600 {path}")
    path.chmod(0o600)
    path.parent.chmod(0o777)
    assert finding(look(path), "permissions").fix == f"chmod go-w {path.parent}"
    path.parent.chmod(0o1777)  # sticky: others cannot rename what is not theirs
    assert finding(look(path), "permissions").state == "ok"
    path.parent.chmod(0o700)


def test_a_file_of_another_user_is_told(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 65534, 65534)
    assert "belongs to user 65534" in finding(look(path), "permissions").found


def test_clocks_that_cannot_be_right_are_warnings(path: Path) -> None:
    assert finding(look(path), "clock").state == "ok"
    behind = finding(look(path, clock=ManualClock(NOW - DAY)), "clock")
    assert behind.state == "warning"
    assert "2026-05-28T20:26:40Z" in behind.found
    never_set = finding(look(path, clock=ManualClock(1000)), "clock")
    assert (never_set.state, never_set.fix) == ("warning", "set the clock")


def test_a_check_that_fails_is_told_and_the_others_go_on(path: Path) -> None:
    class Stopped:
        def now_ms(self) -> int:
            raise RuntimeError("the clock\nstopped")

    found = look(path, clock=Stopped())
    assert finding(found, "clock").state == "warning"
    assert finding(found, "clock").found == "this check failed: RuntimeError: the clock stopped"
    assert finding(found, "file").state == "ok"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    with mounted(tmp_path / "small", mebibytes=4) as folder:
        yield folder


def test_a_disk_that_fills_up_is_a_warning_then_an_error(small_disk: Path) -> None:
    path = small_disk / "agent.meh"
    with DB.open(path) as db:
        db.remember("x" * 1_200_000)
    room = look(path)
    assert finding(room, "disk space").state == "ok"
    assert (finding(room, "file system").state, room.ok) == ("note", True)
    assert "tmpfs" in finding(room, "file system").found
    filler = small_disk / "filler"
    for leave, state in ((1_100_000, "warning"), (500_000, "error")):
        free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
        with filler.open("ab") as file:
            file.write(b"\1" * (free - leave))
        found = look(path)
        assert (finding(found, "disk space").state, found.ok) == (state, state != "error")


def test_an_embedder_is_tried_only_when_named(path: Path) -> None:
    assert finding(look(path), "embedder").state == "note"
    fresh = finding(look(path, embedder=HashEmbedder), "embedder")
    assert fresh.state == "note"
    assert "hash: 256 dimensions" in fresh.found
    assert "not used in this file yet; 3 texts wait" in fresh.found
    with DB.open(path, embedder=HashEmbedder()) as db:
        db.backfill()
    done = finding(look(path, embedder=HashEmbedder()), "embedder")
    assert done.state == "ok"
    assert "known in this file; 0 texts wait" in done.found


def test_no_socket_is_opened(path: Path) -> None:
    code = (
        "import sys, memhop\n"
        "sys.addaudithook(lambda event, _: event in ('socket.__new__', 'socket.connect') and print(event))\n"
        "print(memhop.doctor(sys.argv[1]).ok)"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("True\n", "")


def test_an_embedder_that_does_not_work_is_an_error(path: Path) -> None:
    def lacking() -> HashEmbedder:
        raise ConfigError("a package is not installed", hint="pip install it")

    def broken() -> HashEmbedder:
        raise ValueError("nonsense")

    assert finding(look(path, embedder=broken), "embedder").found == "it cannot be made: ValueError: nonsense"
    absent = finding(look(path, embedder=lacking), "embedder")
    assert (absent.state, absent.fix) == ("error", "pip install it")
    refused = look(path, embedder=Scripted(refusing("memory")))
    assert (finding(refused, "embedder").state, refused.ok) == ("error", False)


def test_the_age_of_the_newest_copy_is_told(path: Path) -> None:
    none = finding(look(path), "backups")
    assert (none.state, none.fix) == ("note", f"memhop backup make --file {path}")
    folder = path.with_name("agent.meh.backups")
    folder.mkdir()
    with DB.open(path, clock=ManualClock(NOW)) as db:
        db.backup(folder)
        assert finding(look(path), "backups").state == "ok"
        assert finding(look(path, clock=ManualClock(NOW + 400 * DAY)), "backups").state == "ok"  # nothing is newer
        db.remember("newer than the copy")
    assert finding(look(path), "backups").state == "ok"
    late = finding(look(path, clock=ManualClock(NOW + 8 * DAY)), "backups")
    assert late.state == "note"
    assert "the newest of 2026-05-28T20:26:40Z, commit 3, 1 commits behind" in late.found
