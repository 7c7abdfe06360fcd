"""Group commit, the durability levels, and what a failed fsync takes back."""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path

import pytest

from memhop.common.errors import InvalidRequest, StorageError, WriteRefused
from memhop.core.meh_file import MehFile, Write
from tests.support.simulated_disk import Outcome, SimulatedDisk
from tests.support.workload import NOTE, PATH, open_file, records_of


class SlowSyncDisk(SimulatedDisk):
    """Holds the first fsync that is asked to until `go` is set, as a disk under load would."""

    def __init__(self) -> None:
        super().__init__()
        self.hold = False
        self.syncing = threading.Event()
        self.go = threading.Event()

    def boundary(self, name: str, size: int = 0) -> Outcome:
        if name == "fsync" and self.hold:
            self.hold = False
            self.syncing.set()
            assert self.go.wait(10)
        return super().boundary(name, size)


def test_concurrent_appends_share_one_fsync() -> None:
    """While one fsync runs, nineteen threads write; a single second fsync serves all of them."""
    disk = SlowSyncDisk()
    with open_file(disk) as file:
        file.append([Write(NOTE, 1000, b"first")])
        before = disk.fsyncs
        disk.hold = True
        leader = threading.Thread(target=file.append, args=([Write(NOTE, 1, b"leader")],))
        leader.start()
        assert disk.syncing.wait(10)
        written = threading.Barrier(20)

        def follow(number: int) -> None:
            commit = file.append([Write(NOTE, number, b"follower")], wait=False)
            written.wait(10)
            file.sync(commit.number)

        followers = [threading.Thread(target=follow, args=(number,)) for number in range(2, 21)]
        for thread in followers:
            thread.start()
        written.wait(10)
        disk.go.set()
        for thread in [leader, *followers]:
            thread.join(10)
        assert disk.fsyncs - before == 2
        assert file.commit_number == 21
        assert len(records_of(SimulatedFileReader(disk).file())) == 21


class SimulatedFileReader:
    """Opens what survives when everything un-synced is lost."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self._disk = disk.after_crash("nothing")

    def file(self) -> MehFile:
        return open_file(self._disk)


def test_full_syncs_each_append_and_none_syncs_none() -> None:
    counts = {}
    for level in ("full", "none"):
        disk = SimulatedDisk()
        with open_file(disk, durability=level) as file:
            before = disk.fsyncs
            for number in range(1, 11):
                file.append([Write(NOTE, number, b"x")])
            counts[level] = disk.fsyncs - before
            survivors = len(records_of(SimulatedFileReader(disk).file()))
            assert survivors == (10 if level == "full" else 0)
        assert len(records_of(SimulatedFileReader(disk).file())) == 10, "close syncs at every level"
    assert counts == {"full": 10, "none": 0}


def test_relaxed_syncs_by_itself_and_on_flush() -> None:
    disk = SlowSyncDisk()
    with open_file(disk, durability="relaxed") as file:
        disk.hold = True
        before = disk.fsyncs
        for number in range(1, 50):
            file.append([Write(NOTE, number, b"x")])
        assert disk.syncing.wait(10), "the timer syncs within 200 ms"
        disk.go.set()
        file.flush()
        assert disk.fsyncs - before <= 2
        assert len(records_of(SimulatedFileReader(disk).file())) == 49


def test_a_failed_fsync_takes_commits_back_and_tells() -> None:
    disk = SimulatedDisk()
    file = open_file(disk)
    file.append([Write(NOTE, 1, b"kept")])
    end, digest = file.published_end, file.head_digest
    epoch = file.epoch
    waiting = file.append([Write(NOTE, 1, b"lost"), Write(NOTE, 2, b"lost")], wait=False)
    assert records_of(file)[1] == (NOTE, b"lost"), "visible before it is durable"
    disk.fault, disk.fault_at = "eio", len(disk.calls)
    with pytest.raises(StorageError, match="cannot sync"):
        file.sync(waiting.number)
    assert file.epoch == epoch + 1
    assert (file.published_end, file.head_digest) == (end, digest)
    assert records_of(file) == {1: (NOTE, b"kept")}
    with pytest.raises(WriteRefused):
        file.append([Write(NOTE, 3, b"no")])
    with pytest.raises(WriteRefused):
        file.sync(waiting.number)
    file.close()
    with open_file(disk) as again:
        assert records_of(again) == {1: (NOTE, b"kept")}
        assert again.append([Write(NOTE, 3, b"yes")]).number == 2


def test_a_failed_fsync_of_the_timer_tells_too() -> None:
    disk = SimulatedDisk()
    file = open_file(disk, durability="relaxed")
    epoch = file.epoch
    disk.fault = "broken"
    disk.fault_at = len(disk.calls) + 2
    file.append([Write(NOTE, 1, b"lost")])
    deadline = time.monotonic() + 10
    while file.epoch == epoch and time.monotonic() < deadline:
        time.sleep(0.01)
    assert file.locate(1) is None
    file.close()


def test_a_write_that_cannot_be_taken_back_refuses_more() -> None:
    disk = SimulatedDisk()
    file = open_file(disk)
    file.append([Write(NOTE, 1, b"kept")])
    disk.fault, disk.fault_at = "broken", len(disk.calls)
    with pytest.raises(StorageError, match="cannot write"):
        file.append([Write(NOTE, 2, b"no")])
    disk.fault = None
    with pytest.raises(WriteRefused):
        file.append([Write(NOTE, 2, b"no")])
    assert records_of(file) == {1: (NOTE, b"kept")}
    file.close()
    with open_file(disk) as again:
        assert records_of(again) == {1: (NOTE, b"kept")}


def test_threads_on_one_real_file(tmp_path: Path) -> None:
    """Eight threads append, read and list while one checkpoints; every acknowledged record is there afterwards."""
    path = tmp_path / "a.meh"
    failures: list[BaseException] = []
    with MehFile.open(path) as file:

        def work(base: int) -> None:
            try:
                for number in range(base, base + 25):
                    file.append([Write(NOTE, number, b"%d" % number)])
                    row = file.locate(number)
                    assert row is not None
                    assert file.read(row[1]) == (NOTE, number, b"%d" % number)
                    assert number in set(file.ids(NOTE))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(base,)) for base in range(1, 800, 100)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            try:
                file.checkpoint({}, meta={})
            except InvalidRequest:
                continue
        for thread in threads:
            thread.join()
        assert not failures
        assert file.commit_number == 200
        assert file.verify(deep=True).ok
    with MehFile.open(path) as file:
        assert len(list(file.ids(NOTE))) == 200
        assert file.recovery.clean


def test_an_unknown_level_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="durability"):
        MehFile.open(tmp_path / "a.meh", durability="eventually")


def test_a_clock_gone_mad_loses_nothing() -> None:
    """A commit whose time no reader would believe must not be written: it would be gone at the next opening."""
    for now in (2**80, 2**62 + 1, -(2**70)):
        disk = SimulatedDisk()
        with MehFile.open(PATH, disk=disk, now_ms=partial(int, now)) as file:
            file.append([Write(NOTE, 1, b"%d" % now)])
            file.checkpoint({}, meta={})
        with open_file(disk) as file:
            assert records_of(file)[1] == (NOTE, b"%d" % now)
            assert file.verify(deep=True).ok
