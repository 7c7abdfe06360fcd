"""Every place where a machine can die, and every way a disk can fail there.

The scripted workload (tests/support/workload.py) is run once to count its boundaries: writes, fsyncs, truncates,
renames. Then it is run again for each of them and each fault. Whatever is found afterwards must open, must show a
state the file once had, not older than what was acknowledged, must verify, and must be left alone by a second open.
"""

from __future__ import annotations

import os

import pytest

from memhop.common.errors import StorageError
from memhop.core.meh_file import MehFile, Write
from tests.support.simulated_disk import PowerCut, SimulatedDisk, Survival
from tests.support.strikes import AFTER_AN_ERROR, SURVIVALS, record, strikes
from tests.support.workload import NOTE, PATH, History, open_file, records_of, run, text

REPLAY = "MEMHOP_STRIKE={} python -m pytest -s tests/crash/test_boundaries.py"
PROBE = Write(NOTE, 999, text(999, 50))


def calls() -> list[str]:
    """The boundaries of the workload."""
    disk, history = SimulatedDisk(), History()
    run(disk, history)
    assert history.promised == len(history.states) - 1
    return disk.calls


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


@pytest.mark.parametrize("power", [True, False], ids=["power cuts", "errors"])
def test_every_boundary_and_every_fault(power: bool) -> None:
    """After a power cut; or after an error, of which the caller is told, and which the disk may get over."""
    names = calls()
    pairs = [strike for strike in strikes(names) if strike.cuts_power == power]
    if only := os.environ.get("MEMHOP_STRIKE"):
        pairs = [strike for strike in pairs if str(strike) == only]
    crashes = told = recoveries = 0
    violations = []
    for strike in pairs:
        disk, history = strike.arm(SimulatedDisk()), History()
        where = f"{strike} ({names[strike.at]})"
        try:
            error = outcome(disk, history)
            if power:
                assert isinstance(error, PowerCut)
            else:  # space is reserved to save time, no more; a short write is finished
                quiet = strike.fault == "short" or (names[strike.at] == "allocate" and strike.fault != "broken")
                assert isinstance(error, StorageError) != quiet
                told += not quiet
            for survival, seed in SURVIVALS if power else AFTER_AN_ERROR:
                where = f"{strike} ({names[strike.at]}), {survival} {seed}"
                check(disk.after_crash(survival, seed), history, where)
                crashes += 1
                if power and survival in ("nothing", "sectors"):
                    recoveries += crash_again(disk, history, survival, seed, where)
        except Exception as error:
            violations.append(f"{where}: {error!r}\n  replay: {REPLAY.format(strike)}")
            if only:
                raise
    record(
        "one file",
        "power cuts" if power else "errors",
        boundaries=len(names),
        pairs=len(pairs),
        crashes=crashes,
        told=told,
        second_crashes=recoveries,
        violations=len(violations),
    )
    assert not violations, "\n".join([f"{len(violations)} violations", *violations[:20]])


def outcome(disk: SimulatedDisk, history: History) -> BaseException | None:
    """How the workload ends."""
    try:
        run(disk, history)
    except (PowerCut, StorageError) as error:
        return error
    return None


def crash_again(disk: SimulatedDisk, history: History, survival: Survival, seed: int, where: str) -> int:
    """Cut the power at each boundary of the recovery as well. Returns how many there were."""
    probe = disk.after_crash(survival, seed)
    open_file(probe)
    boundaries = len(probe.calls)
    for at in range(boundaries):
        again = disk.after_crash(survival, seed)
        again.fault, again.fault_at = "torn", at
        with pytest.raises(PowerCut):
            open_file(again)
        check(again.after_crash("sectors", at), history, f"{where}, then recovery cut at {at}")
    return boundaries


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
