"""A copy of an open file is a whole file, whatever happens to the file, the disk and the machine meanwhile."""

from __future__ import annotations

import itertools
import os
import stat
import subprocess
import sys
import threading
from array import array
from pathlib import Path

import pytest

from memhop.common.errors import Closed, Corrupt, InvalidRequest, Locked, StorageError
from memhop.core.backup import CopyReport, backup, claimed, verify_file
from memhop.core.disk import FileDisk
from memhop.core.format import HEADER_SIZE, LOG_START
from memhop.core.meh_file import MehFile, Write
from memhop.core.side_files import beside
from tests.support.simulated_disk import Fault, PowerCut, SimulatedDisk, Survival
from tests.support.workload import NOTE, PATH, TURN, open_file, records_of, text

SURVIVALS: list[tuple[Survival, int]] = [
    ("everything", 0),
    ("nothing", 0),
    ("prefix", 1),
    ("sectors", 2),
    ("sectors", 3),
]
COPY = PATH.with_name("copy.meh")
TEMPORARY = beside(COPY, ".copying")


def copy(file: MehFile, target: Path, *, overwrite: bool = False, wait: float = 0) -> CopyReport:
    with file.original() as original:
        return backup(original, target, overwrite=overwrite, wait=wait)


def fill(file: MehFile) -> None:
    """Records, a deletion of the past, a checkpoint, and a tail behind it."""
    file.append([Write(NOTE, 1, text(1, 40)), Write(TURN, 100, text(100, 3000))])
    file.append([Write(NOTE, 2, text(2, 40))])
    file.plan_checkpoint()
    file.checkpoint({"seen": ("Q", array("Q", range(300)))}, meta={"a": 1})
    file.append([Write(NOTE, 1, text(11, 700)), Write(NOTE, 3, text(3, 20))])


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_copy_is_a_whole_file_with_the_same_history(tmp_path: Path) -> None:
    with MehFile.open(tmp_path / "a.meh", durability="none") as file:
        fill(file)
        report = copy(file, tmp_path / "b.meh")
        again = copy(file, tmp_path / "c.meh")
        file.append([Write(NOTE, 4, b"later")])
        expected = (file.uuid, file.generation, file.covers, dict(file.meta))
    assert (report.commit, again.head_digest) == (3, report.head_digest)
    data = (tmp_path / "b.meh").read_bytes()
    assert data == (tmp_path / "c.meh").read_bytes()
    assert len(data) == report.size
    assert not any(data[HEADER_SIZE:LOG_START])
    assert stat.S_IMODE((tmp_path / "b.meh").stat().st_mode) == 0o600
    assert names(tmp_path) == ["a.meh", "a.meh.lock", "b.meh", "c.meh"]
    checked = verify_file(tmp_path / "b.meh")
    assert checked.ok
    assert bytes.fromhex(checked.head_digest) == report.head_digest
    with MehFile.open(tmp_path / "b.meh") as found:
        assert found.recovery.clean
        assert (found.uuid, found.generation, found.covers, dict(found.meta)) == expected
        assert records_of(found) == {
            1: (NOTE, text(11, 700)),
            2: (NOTE, text(2, 40)),
            3: (NOTE, text(3, 20)),
            100: (TURN, text(100, 3000)),
        }
        found.append([Write(NOTE, 9, b"goes on")])
    assert (tmp_path / "c.meh").read_bytes() == data


def test_an_empty_file_can_be_copied(tmp_path: Path) -> None:
    with MehFile.open(tmp_path / "a.meh") as file:
        assert copy(file, tmp_path / "b.meh").commit == 0
    with MehFile.open(tmp_path / "b.meh") as found:
        assert found.recovery.clean


def test_copies_made_while_two_threads_write(tmp_path: Path) -> None:
    """Each holds all that was acknowledged before the call, and exactly the commits up to its own number."""
    ids_of: dict[int, int] = {}
    acknowledged: list[int] = []
    stop = threading.Event()
    copies: list[tuple[CopyReport, set[int]]] = []
    with MehFile.open(tmp_path / "a.meh") as file:

        def write(thread: int) -> None:
            for number in itertools.count(1):
                if stop.is_set():
                    return
                id_ = number * 2 + thread
                ids_of[file.append([Write(NOTE, id_, text(id_, 500))]).number] = id_
                acknowledged.append(id_)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for number in range(12):
            before = set(acknowledged)
            copies.append((copy(file, tmp_path / f"copy{number}.meh"), before))
            if number == 5:
                file.compact(dict, meta={}, keep_history=True)
        stop.set()
        for thread in threads:
            thread.join(60)
        assert len(records_of(file)) == len(acknowledged)
    for report, before in copies:
        assert verify_file(report.path).ok
        with MehFile.open(report.path) as found:
            assert found.commit_number == report.commit
            assert set(records_of(found)) == {id_ for number, id_ in ids_of.items() if number <= report.commit}
            assert before <= set(records_of(found))
    assert copies[-1][0].commit > copies[0][0].commit


@pytest.mark.parametrize("event", ["compact", "close", "remove", "write"])
def test_what_happens_to_the_file_meanwhile_does_not_reach_the_copy(tmp_path: Path, event: str) -> None:
    file = MehFile.open(tmp_path / "a.meh")
    fill(file)
    expected = records_of(file)
    original = file.original()
    if event == "compact":
        file.append([Write(NOTE, 1, b"new")])
        file.compact(dict, meta={})
        file.append([Write(NOTE, 2, b"newer" * 9000)])
    elif event == "close":
        file.close()
        (tmp_path / "other").write_bytes(b"a file that may get the number of the closed one" * 9000)
    elif event == "remove":
        (tmp_path / "a.meh").unlink()
    else:
        file.append([Write(NOTE, 1, b"new" * 90_000)])
        file.checkpoint({}, meta={})
    with original:
        backup(original, tmp_path / "b.meh")
    file.close()
    assert verify_file(tmp_path / "b.meh").ok
    with MehFile.open(tmp_path / "b.meh") as found:
        assert records_of(found) == expected
    with pytest.raises(Closed):
        file.original()


def test_a_damaged_file_is_not_copied(tmp_path: Path) -> None:
    """A copy that does not verify would be believed in until the day it is needed."""
    path = tmp_path / "a.meh"
    with MehFile.open(path) as file:
        fill(file)
        offset = file.locate(100)
        assert offset is not None
        with path.open("r+b") as raw:
            raw.seek(offset[1] + 100)
            raw.write(b"\xff\xfe\xfd")
        with pytest.raises(Corrupt, match="repair") as caught:
            copy(file, tmp_path / "b.meh")
        assert caught.value.offset == offset[1]
    assert names(tmp_path) == ["a.meh", "a.meh.lock"]


def test_a_file_that_was_cut_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "a.meh"
    with MehFile.open(path) as file:
        fill(file)
        os.truncate(path, file.published_end - 8)
        with pytest.raises(Corrupt, match="ends early"):
            copy(file, tmp_path / "b.meh")
        os.truncate(path, file.published_end)
    assert names(tmp_path) == ["a.meh", "a.meh.lock"]


def test_nothing_but_an_earlier_copy_is_ever_replaced(tmp_path: Path) -> None:
    target = tmp_path / "b.meh"
    (tmp_path / "photo.jpg").write_bytes(b"not ours")
    MehFile.open(tmp_path / "other.meh").close()
    with MehFile.open(tmp_path / "a.meh") as file:
        fill(file)
        copy(file, target)
        with pytest.raises(InvalidRequest, match="exists"):
            copy(file, target)
        file.append([Write(NOTE, 7, b"seven")])
        assert copy(file, target, overwrite=True).commit == 4
        for name in ("photo.jpg", "other.meh"):
            before = (tmp_path / name).read_bytes()
            with pytest.raises(InvalidRequest, match="no copy of this memory"):
                copy(file, tmp_path / name, overwrite=True)
            assert (tmp_path / name).read_bytes() == before
        os.link(tmp_path / "a.meh", tmp_path / "same.meh")
        for name in ("a.meh", "a.meh.lock", "a.meh.compact", "a.meh.restore", "same.meh"):
            with pytest.raises(InvalidRequest, match="memory itself"):
                copy(file, tmp_path / name, overwrite=True)
        with pytest.raises(StorageError, match="directory first"):
            copy(file, tmp_path / "no" / "b.meh")
        with MehFile.open(target), pytest.raises(Locked):
            copy(file, target, overwrite=True)
    assert not [name for name in names(tmp_path) if "copying" in name]


HOLDER = """
import sys, time
from pathlib import Path
from memhop.core.backup import claimed
from memhop.core.disk import FileDisk
with claimed(FileDisk(), Path(sys.argv[1]), wait=0) as file:
    file.pwrite(b"half a copy", 0)
    print("holding", flush=True)
    time.sleep(600)
"""


def test_a_copy_in_another_process_is_left_alone_until_that_process_is_gone(tmp_path: Path) -> None:
    """Neither the age of a temporary nor a pid tells whether it is still written: the claim on it does."""
    temporary = tmp_path / "b.meh.copying"
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(temporary)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "holding\n"
        os.utime(temporary, (0, 0))  # half a century old
        with MehFile.open(tmp_path / "a.meh") as file:
            fill(file)
            with pytest.raises(Locked):
                copy(file, tmp_path / "b.meh", wait=0.1)
            assert temporary.read_bytes() == b"half a copy"
            process.kill()
            process.wait(60)
            assert temporary.exists()
            copy(file, tmp_path / "b.meh")
        assert names(tmp_path) == ["a.meh", "a.meh.lock", "b.meh"]
    finally:
        process.kill()
        process.wait(60)
        process.stdout.close()


def test_two_threads_that_want_one_name_take_turns(tmp_path: Path) -> None:
    temporary = tmp_path / "t.copying"
    inside = []

    def work(number: int) -> None:
        for _ in range(20):
            with claimed(FileDisk(), temporary, wait=60) as file:
                inside.append(number)
                file.pwrite(b"%d" % number, 0)
                assert inside == [number]
                assert temporary.read_bytes() == b"%d" % number
                inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not temporary.exists()
    assert not inside


# -- every place where a machine can die ---------------------------------------------------------------------


def prepared(*, earlier: bool) -> SimulatedDisk:
    """A disk at rest with a file and, if wanted, an earlier copy of it."""
    disk = SimulatedDisk()
    with open_file(disk) as file:
        fill(file)
        if earlier:
            copy(file, COPY)
        file.append([Write(NOTE, 5, text(5, 5000))])
    return disk.after_crash("nothing")


def attempt(disk: SimulatedDisk, *, fault: Fault | None = None, at: int = -1) -> int:
    """Open the file, copy it with a fault, close it. Returns how many boundaries the copy has."""
    file = open_file(disk)
    start = len(disk.calls)
    disk.fault, disk.fault_at = fault, start + at
    try:
        copy(file, COPY, overwrite=True)
    finally:
        count = len(disk.calls) - start
        disk.fault = None
        if not disk.off:
            file.close()
    return count


def check(disk: SimulatedDisk, base: SimulatedDisk, where: str) -> bytes | None:
    """The file is as it was; the target is absent, as it was, or a whole copy. Returns the target."""
    with open_file(disk) as file:
        assert records_of(file)[5] == (NOTE, text(5, 5000)), where
        assert file.recovery.clean, where
        assert file.verify(deep=True).ok, where
        digest = file.head_digest.hex()
    if COPY not in disk.names:
        assert COPY not in base.names, where
        return None
    found = disk.bytes_of(COPY)
    if COPY not in base.names or found != base.bytes_of(COPY):
        report = verify_file(COPY, disk=disk)
        assert report.ok, where
        assert report.head_digest == digest, where
    return found


@pytest.mark.parametrize("earlier", [False, True], ids=["new", "replacing"])
def test_a_fault_at_every_boundary_of_a_copy(monkeypatch: pytest.MonkeyPatch, earlier: bool) -> None:
    monkeypatch.setattr("memhop.core.backup._CHUNK", 4096)
    base = prepared(earlier=earlier)
    disk = base.after_crash("nothing")
    total = attempt(disk)
    whole = disk.bytes_of(COPY)
    pairs = 0
    for at in range(total):
        for fault in ("stop", "torn"):
            disk = base.after_crash("nothing")
            with pytest.raises(PowerCut):
                attempt(disk, fault=fault, at=at)
            for survival, seed in SURVIVALS:
                where = f"{fault} at {at} ({disk.calls[-1]}), {survival} {seed}"
                found = disk.after_crash(survival, seed)
                check(found, base, where)
                attempt(found)  # the next one clears up what was left
                assert found.bytes_of(COPY) == whole, where
                assert TEMPORARY not in found.names, where
                pairs += 1
        for error in ("eio", "enospc"):
            disk = base.after_crash("nothing")
            start = len(disk.calls)
            where = f"{error} at {at}"
            with pytest.raises(StorageError):
                attempt(disk, fault=error, at=at)
            assert TEMPORARY not in disk.names, where
            found_bytes = check(disk, base, where)
            if not earlier or disk.calls[start + at] != "sync_directory":  # by then the earlier one is replaced
                assert found_bytes == (base.bytes_of(COPY) if earlier else None), where
            attempt(disk)
            assert disk.bytes_of(COPY) == whole, where
            pairs += 1
    print(f"\n{total} boundaries of a copy, {pairs} pairs")
    assert total >= 10
    assert pairs == total * (2 * len(SURVIVALS) + 2)


def test_short_writes_are_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memhop.core.backup._CHUNK", 4096)
    base = prepared(earlier=False)
    for at in range(attempt(base.after_crash("nothing"))):
        disk = base.after_crash("nothing")
        attempt(disk, fault="short", at=at)
        assert verify_file(COPY, disk=disk).ok
