"""Every place where a machine can die during the public calls of a memory, and every way a disk can fail there.

The workload (tests/support/memory_workload.py) is run once to count its boundaries, then again for each pair of a
boundary and a fault. Whatever is found afterwards must open, show what was acknowledged and no half of the call in
flight, verify, have views that equal those built anew from the log, survive a second power cut inside recovery, and
take a write (tests/support/examination.py).

`make test` runs an evenly spread part of the pairs; MEMHOP_NIGHTLY=1 runs all. MEMHOP_SWEEP_JSON=FILE keeps the counts.
"""

from __future__ import annotations

import os

import pytest

from memhop.common.errors import StorageError
from tests.support.examination import Examiner
from tests.support.memory_workload import Morning, Promises, mornings, run
from tests.support.seeds import NIGHTLY
from tests.support.simulated_disk import PowerCut, SimulatedDisk
from tests.support.strikes import AFTER_AN_ERROR, ONE_OF_EACH, SURVIVALS, Strike, record, strikes

PARTS = 8
MOST = 1500  # pairs of `make test`
ONLY = os.environ.get("MEMHOP_STRIKE")
REPLAY = "MEMHOP_STRIKE={} python -m pytest -s tests/crash/test_public_calls.py"


@pytest.fixture(scope="module")
def life() -> list[Morning]:
    """The workload without a fault."""
    return mornings()


def struck(strike: Strike, life: list[Morning]) -> tuple[SimulatedDisk, Promises]:
    """Run the workload on a disk that is struck, from the morning of the day on which that happens."""
    morning = next(morning for morning in reversed(life) if len(morning.disk.calls) <= strike.at)
    disk, promises = strike.arm(morning.disk.copy()), morning.promises.copy()
    try:
        run(disk, promises, morning.day)
    except PowerCut:
        assert strike.cuts_power
    except StorageError:
        assert not strike.cuts_power
        assert strike.fault != "short"
    else:
        assert not strike.cuts_power
    assert disk.struck
    return disk, promises


@pytest.mark.parametrize("part", range(PARTS))
def test_every_boundary_and_every_fault(life: list[Morning], part: int) -> None:
    calls = life[-1].disk.calls
    pairs = strikes(calls)
    if not NIGHTLY and not ONLY:  # every so many are left out, evenly
        pairs = [pairs[number * len(pairs) // MOST] for number in range(min(MOST, len(pairs)))]
    pairs = pairs[len(pairs) * part // PARTS : len(pairs) * (part + 1) // PARTS]  # neighbours share images
    if ONLY:
        pairs = [strike for strike in pairs if str(strike) == ONLY]
    after_a_cut = SURVIVALS if NIGHTLY or ONLY else ONE_OF_EACH
    examiner = Examiner()
    crashes = 0
    violations = []
    for strike in pairs:
        where = f"{strike} ({calls[strike.at]})"
        try:
            disk, promises = struck(strike, life)
            for survival, seed in after_a_cut if strike.cuts_power else AFTER_AN_ERROR:
                where = f"{strike} ({calls[strike.at]}), then {survival} {seed}"
                undone = strike.undone_after(survival)
                promises.check(examiner.examine(disk.after_crash(survival, seed)), undone=undone)
                crashes += 1
        except Exception as error:
            violations.append(f"{where}: {error!r}\n  replay: {REPLAY.format(strike)}")
            if ONLY:
                raise
    record(
        "public calls",
        f"part {part + 1} of {PARTS}",
        boundaries=len(calls),
        pairs=len(pairs),
        crashes=crashes,
        images=examiner.images,
        second_crashes=examiner.second_crashes,
        violations=len(violations),
    )
    assert not violations, "\n".join([f"{len(violations)} violations", *violations[:20]])


def test_what_a_good_disk_keeps(life: list[Morning]) -> None:
    """All of it, whatever was not synced is lost; and the last day, on which nothing is written, adds no byte."""
    *_, last, end = life
    assert not end.promises.open
    end.promises.check(Examiner().examine(end.disk.after_crash("nothing")))
    assert end.disk.image() == last.disk.image()
    assert end.disk.calls == last.disk.calls
