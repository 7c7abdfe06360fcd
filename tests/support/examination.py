"""What is asked of a memory that was found after a crash or a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memhop import DB
from tests.support.memory_workload import COPY, QUERIES, facts, note, open_memory
from tests.support.seeds import NIGHTLY
from tests.support.simulated_disk import PowerCut, SimulatedDisk
from tests.support.visible import seen

Image = tuple[tuple[Path, bytes], ...]
PROBE = "on we go"
RECALLED = 3  # of so many images one is also asked questions, besides `verify(deep=True)`; in a nightly run each


class Examiner:
    """Looks at images of a disk, at each different one once.

    Attributes:
        images: How many there were.
        second_crashes: How many power cuts while one was being put in order.
    """

    def __init__(self) -> None:
        self._known: dict[Image, frozenset[str]] = {}
        self._opened: dict[Image, frozenset[str]] = {}
        self.second_crashes = 0

    @property
    def images(self) -> int:
        return len(self._known)

    def examine(self, found: SimulatedDisk) -> frozenset[str]:
        """The facts of the memory on this disk, after everything that must hold of it has been checked.

        Raises:
            AssertionError: a check fails; or whatever the memory raises.
        """
        image = found.image()
        if image not in self._known:
            self._known[image] = self._examine(found)
        return self._known[image]

    def _examine(self, found: SimulatedDisk) -> frozenset[str]:
        disk = found.after_crash("everything")
        with open_memory(disk) as db:
            shown = facts(db)
            damage = [problem for problem in db.verify(deep=True).problems if problem.what != "header"]
            assert not damage, f"after recovery: {damage}"
            assert db.recovery.damaged == 0
            before = derived(db) if NIGHTLY or len(self._known) % RECALLED == 0 else {}
        if before:
            with open_memory(found.after_crash("everything")) as db:
                db._store.views._rebuild()
                anew = derived(db)
                assert before == anew, [name for name in before if before[name] != anew[name]]
        self._crash_again(found, shown)
        if COPY in found.names:
            with open_memory(found.after_crash("everything"), COPY) as db:
                assert db.recovery.clean
                assert facts(db) == shown, "what is in the copy"
        with open_memory(disk) as db:
            assert facts(db) == shown, "opened twice"
            db.remember(PROBE)
        with open_memory(disk) as db:
            assert facts(db) == shown.union(note(PROBE)), "written on"
            assert db.recovery.clean
            problems = db.verify().problems
            assert not problems, f"after writing on: {problems}"
        return shown

    def _crash_again(self, found: SimulatedDisk, shown: frozenset[str]) -> None:
        """Cut the power at every boundary of the recovery as well."""
        probe = found.after_crash("everything")
        open_memory(probe)
        for at in range(len(probe.calls)):
            disk = found.after_crash("everything")
            disk.fault, disk.fault_at = "torn", at
            try:
                open_memory(disk)
                raise AssertionError("the power was not cut")
            except PowerCut:
                pass
            assert self._facts(disk.after_crash("sectors", at)) == shown, f"the power cut at {at} of recovery"
            self.second_crashes += 1

    def _facts(self, found: SimulatedDisk) -> frozenset[str]:
        image = found.image()
        if image not in self._opened:
            with open_memory(found) as db:
                self._opened[image] = facts(db)
        return self._opened[image]


def derived(db: DB) -> dict[str, Any]:
    """What is shown of the derived structures."""
    return seen(db, QUERIES, [{}], page=50)
