"""Every place where a machine can die, or a disk fail, while segments are merged between calls.

A memory with segments that wait to be merged is written to until they are one. The same is done again for each fault at
each boundary of it (tests/support/strikes.py), and what is left is examined as in tests/crash/test_public_calls.py.
"""

from __future__ import annotations

import pytest

from memhop.common.errors import StorageError
from memhop.core import records
from memhop.repo import merging, store
from tests.support.examination import Examiner
from tests.support.memory_workload import Promises, note, open_memory
from tests.support.seeds import NIGHTLY
from tests.support.simulated_disk import PowerCut, SimulatedDisk
from tests.support.strikes import AFTER_AN_ERROR, ONE_OF_EACH, SURVIVALS, strikes

MOST = 120  # pairs of `make test`


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment is full with 40 rows, and a few calls merge it."""
    monkeypatch.setattr(records, "TIER", 8)
    monkeypatch.setattr(records, "FULL", 40)
    monkeypatch.setattr(store, "CHECKPOINT_ENTRIES", 10)
    monkeypatch.setattr(merging, "NOTES_PER_STEP", 1)
    monkeypatch.setattr(store, "NOTES_PER_STEP", 1)


def evening() -> tuple[SimulatedDisk, Promises]:
    """A memory whose segments wait to be merged."""
    disk, promises = SimulatedDisk(), Promises()
    for number in range(4):
        with open_memory(disk) as db:
            texts = [f"a kayak, {number}, {place}" for place in range(9)]
            with promises.call("remember_many", brings=note(*texts)):
                db.remember_many(texts)
            with promises.call("remember_many", brings=note(f"a shed {number}")):
                db.remember(f"a shed {number}")
            db.checkpoint()
    return disk, promises


def night(disk: SimulatedDisk, promises: Promises) -> int:
    """Write until they are merged; returns the rows of the largest segment."""
    with open_memory(disk) as db:
        for number in range(12):
            texts = [f"slugs, {number}, {place}" for place in range(4)]
            with promises.call("remember_many", brings=note(*texts)):
                db.remember_many(texts)
        gone = db.notes.list(limit=1).items[0]
        with promises.call("forget", takes=note(gone.text)):
            db.forget(gone.id, hard=True)
        return max(segment.records for segment in db._file.segments())


def test_a_merge_that_is_struck_has_lost_nothing() -> None:
    begun, kept = evening()
    whole, promises = begun.copy(), kept.copy()
    assert night(whole, promises) >= 40
    pairs = [strike for strike in strikes(whole.calls) if strike.at >= len(begun.calls)]
    if not NIGHTLY:
        pairs = [pairs[number * len(pairs) // MOST] for number in range(MOST)]
    examiner = Examiner()
    for strike in pairs:
        disk, promises = strike.arm(begun.copy()), kept.copy()
        try:
            night(disk, promises)
        except PowerCut:
            assert strike.cuts_power
        except StorageError:
            assert not strike.cuts_power
        survivals = SURVIVALS if NIGHTLY else ONE_OF_EACH
        for survival, seed in survivals if strike.cuts_power else AFTER_AN_ERROR:
            left = disk.after_crash(survival, seed)
            try:
                promises.check(examiner.examine(left), undone=strike.undone_after(survival))
            except Exception as error:
                raise AssertionError(f"{strike} ({whole.calls[strike.at]}), then {survival} {seed}") from error
