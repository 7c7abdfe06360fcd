"""Every place where a machine can die, and every way a disk can fail there.

The scripted workload (tests/support/workload.py) is run once to count its boundaries: writes, fsyncs, truncates,
renames. Then it is run again for each of them and each fault. Whatever is found afterwards must open, must show a
state the file once had, not older than what was acknowledged, must verify, and must be left alone by a second open.
"""

from __future__ import annotations

import pytest

from memhop.common.errors import StorageError
from memhop.core.meh_file import MehFile, Write
from tests.support.simulated_disk import Fault, PowerCut, SimulatedDisk, Survival
from tests.support.workload import NOTE, PATH, History, open_file, records_of, run, text

SURVIVALS: list[tuple[Survival, int]] = [
    ("everything", 0),
    ("nothing", 0),
    ("prefix", 1),
    ("prefix", 2),
    ("sectors", 3),
    ("sectors", 4),
]
PROBE = Write(NOTE, 999, text(999, 50))


def boundaries() -> int:
    """How many the workload has."""
    disk, history = SimulatedDisk(), History()
    run(disk, history)
    assert history.promised == len(history.states) - 1
    return len(disk.calls)


def check(disk: SimulatedDisk, history: History, where: str) -> None:
    """Open what was found, and hold it against what was promised."""
    with open_file(disk) as file:
        found = records_of(file)
        assert found in history.states[history.promised :], f"{where}: {sorted(found)} is no state that may be seen"
        assert not file.recovery.damaged, where
        problems = [p for p in file.verify(deep=True).problems if p.what != "header"]
        assert problems == [], where
        end, digest = file.published_end, file.head_digest
        before = disk.bytes_of(PATH)
    with open_file(disk) as file:
        assert (file.published_end, file.head_digest) == (end, digest), where
        assert file.recovery.cut_bytes == 0, where
        assert disk.bytes_of(PATH)[8192:end] == before[8192:end], where
        file.append([PROBE])
        assert records_of(file) == {**found, PROBE.id: (PROBE.kind, PROBE.payload)}, where


def test_power_cut_at_every_boundary() -> None:
    total = boundaries()
    pairs = recoveries = 0
    for at in range(total):
        fault: Fault
        for fault in ("stop", "torn"):
            disk, history = SimulatedDisk(fault=fault, fault_at=at), History()
            with pytest.raises(PowerCut):
                run(disk, history)
            for survival, seed in SURVIVALS:
                where = f"{fault} at {at} ({disk.calls[-1]}), {survival} {seed}"
                check(disk.after_crash(survival, seed), history, where)
                pairs += 1
                if survival in ("nothing", "sectors"):
                    recoveries += crash_again(disk, history, survival, seed, where)
    print(f"\n{total} boundaries, {pairs} power cuts, {recoveries} second ones during recovery")
    assert pairs == total * 2 * len(SURVIVALS)
    assert recoveries > 50


def crash_again(disk: SimulatedDisk, history: History, survival: Survival, seed: int, where: str) -> int:
    """Cut the power at each boundary of the recovery as well. Returns how many there were."""
    probe = disk.after_crash(survival, seed)
    try:
        file = open_file(probe)
    finally:
        boundaries = len(probe.calls)
    assert file.commit_number >= 0
    for at in range(boundaries):
        again = disk.after_crash(survival, seed)
        again.fault, again.fault_at = "torn", at
        with pytest.raises(PowerCut):
            open_file(again)
        check(again.after_crash("sectors", at), history, f"{where}, then recovery cut at {at}")
    return boundaries


@pytest.mark.parametrize("fault", ["eio", "enospc"])
def test_an_error_at_every_boundary(fault: Fault) -> None:
    """The caller is told, nothing promised is lost, and once the disk works again the file takes writes."""
    total = boundaries()
    told = 0
    for at in range(total):
        disk, history = SimulatedDisk(fault=fault, fault_at=at), History()
        where = f"{fault} at {at}"
        try:
            run(disk, history)
        except StorageError:
            told += 1
        assert disk.struck
        name = disk.calls[at]
        for survival, seed in SURVIVALS:
            found = disk.after_crash(survival, seed)
            if PATH not in found.names and not history.promised:
                continue
            check(found, history, f"{where} ({name}), {survival} {seed}")
    print(f"\n{total} boundaries, {fault}: {told} told")
    assert told >= total // 2


def test_a_handle_survives_a_failed_write_and_refuses_after_a_failed_fsync() -> None:
    """Full disks heal: the same handle goes on. A failed fsync does not: what was pending is gone."""
    for at in range(7, 11):
        disk, history = SimulatedDisk(fault="enospc", fault_at=at), History()
        file = open_file(disk)
        history.tried([Write(NOTE, 1, text(1, 5000))])
        refused = False
        try:
            file.append([Write(NOTE, 1, text(1, 5000))])
            history.promise()
        except StorageError:
            history.states.pop()
            assert records_of(file) == {}
            refused = disk.calls[at] != "write"
        if refused:
            with pytest.raises(StorageError):
                file.append([PROBE])
            assert records_of(file) == {}
        else:
            history.tried([PROBE])
            file.append([PROBE])
            history.promise()
            assert records_of(file) == history.states[-1]
        file.close()
        found = disk.after_crash("nothing")
        with open_file(found) as again:
            assert records_of(again) in history.states[history.promised :]


def test_a_disk_that_fails_for_good_loses_nothing_promised() -> None:
    for at in range(7, boundaries(), 3):
        disk, history = SimulatedDisk(fault="broken", fault_at=at), History()
        with pytest.raises(StorageError):
            run(disk, history)
        check(disk.after_crash("nothing"), history, f"broken from {at}")
        check(disk.after_crash("sectors", at), history, f"broken from {at}")


def test_short_writes_are_finished() -> None:
    for at in range(boundaries()):
        disk, history = SimulatedDisk(fault="short", fault_at=at), History()
        run(disk, history)
        check(disk.after_crash("nothing"), history, f"short write at {at}")


def test_relaxed_and_none_show_a_prefix_after_a_power_cut() -> None:
    """Nothing is promised before a checkpoint or close, but batches never appear without those before them."""
    for seed in range(60):
        disk, history = SimulatedDisk(), History()
        file: MehFile = open_file(disk, durability="none")
        for number in range(1, 9):
            writes = [Write(NOTE, number, text(number, 900)), Write(NOTE, 1, text(1, 40 + number))]
            history.tried(writes)
            file.append(writes)
            if number == 4:
                file.checkpoint({}, meta={})
                history.promise()
        check(disk.after_crash("sectors", seed), history, f"seed {seed}")
