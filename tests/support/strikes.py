"""What to do to a disk where: every boundary of a workload with every fault that means something there."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.simulated_disk import NAME_CALLS, Fault, SimulatedDisk, Survival

ALL = sys.maxsize
POWER_CUTS: tuple[Fault, ...] = ("stop", "torn")
SURVIVALS: tuple[tuple[Survival, int], ...] = (
    ("everything", 0),
    ("nothing", 0),
    ("sectors", 3),
    ("unnamed", 5),
    ("prefix", 1),
    ("renamed", 0),
    ("prefix", 2),
    ("sectors", 4),
    ("unnamed", 6),
)
ONE_OF_EACH = SURVIVALS[:6]
AFTER_AN_ERROR = SURVIVALS[:4]
_EVERYWHERE: tuple[tuple[Fault, int | None], ...] = (("stop", 0), ("eio", 0), ("enospc", 0), ("broken", 0))
_WRITE: tuple[tuple[Fault, int | None], ...] = (
    *(("torn", keep) for keep in (1, 24, None, -1)),  # of the first frame: a byte, its head
    *(("short", keep) for keep in (1, -1)),
    *(("eio", keep) for keep in (None, ALL)),
    ("enospc", None),
)


class Strike(NamedTuple):
    """A fault at a boundary; `keep` as in SimulatedDisk. Its text names it, and `parse` reads that."""

    fault: Fault
    keep: int | None
    at: int

    def __str__(self) -> str:
        keep = "half" if self.keep is None else "all" if self.keep == ALL else self.keep
        return f"{self.fault}:{keep}@{self.at}"

    def arm(self, disk: SimulatedDisk) -> SimulatedDisk:
        """The disk, which will be struck."""
        disk.fault, disk.keep, disk.fault_at = self.fault, self.keep, self.at
        disk.rng.seed(self.at)
        return disk

    @property
    def cuts_power(self) -> bool:
        return self.fault in POWER_CUTS

    def undone_after(self, survival: Survival) -> bool:
        """Whether a call that failed by this fault is gone for sure: the disk has let it be taken back.

        A power cut may still keep what was taken back but not synced, as it may keep any write.
        """
        return not self.cuts_power and self.fault != "broken" and survival in ("everything", "nothing")


def strikes(calls: Sequence[str]) -> list[Strike]:
    """All (boundary, fault) pairs of a workload that makes these calls.

    A fault that strikes once, at calls of one kind, is listed at those; at others it would be the same again.
    """
    found = []
    for at, call in enumerate(calls):
        faults = [*_EVERYWHERE]
        if call == "write":
            faults += _WRITE
        elif call == "fsync":
            faults.append(("fsync", 0))
        elif call in NAME_CALLS:
            faults.append(("names", 0))
        found += [Strike(fault, keep, at) for fault, keep in faults]
    return found


def record(sweep: str, part: str, **counts: int) -> None:
    """Print the counts of a part of a sweep; with MEMHOP_SWEEP_JSON also add them to those of the others there.

    The file holds the totals, and under "parts" what they are made of: a part that runs again replaces its counts.
    """
    print(f"\n{sweep}, {part}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    target = os.environ.get("MEMHOP_SWEEP_JSON")
    if not target:
        return
    with Path(target).open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        parts = json.loads(file.read() or "{}").get("parts", {})
        parts[f"{sweep}, {part}"] = {"sweep": sweep, **counts}
        boundaries = {found["sweep"]: found.get("boundaries", 0) for found in parts.values()}
        whole = {"boundaries": sum(boundaries.values())}
        for name in ("pairs", "crashes", "second_crashes", "schedules", "violations"):
            whole[name] = sum(found.get(name, 0) for found in parts.values())
        file.truncate(0)
        json.dump({**whole, "parts": parts}, file, indent=1, sort_keys=True)
