"""A set of owner ids that grows a batch at a time.

Kept as sorted arrays, of which two neighbouring ones become one while the older is less than twice as large (the
logarithmic method of Bentley and Saxe 1980): after n additions there are at most log2(n) arrays to look into, and each
id was copied at most log2(n) times.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Owners:
    """Ids, each once. All arrays given are uint64, ascending, without repeats."""

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, owners: NDArray[np.uint64]) -> None:
        """Put in those that are not there yet."""
        fresh = owners[~self.contains(owners)]
        if not len(fresh):
            return
        self._runs.append(fresh)
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            newer, older = self._runs.pop(), self._runs.pop()
            self._runs.append(np.sort(np.concatenate([older, newer]), kind="stable"))

    def remove(self, owners: NDArray[np.uint64]) -> None:
        """Take out those that are there. Cost: copies the arrays that held any."""
        kept = [run[~_among(run, owners)] if _among(owners, run).any() else run for run in self._runs]
        self._runs = [run for run in kept if len(run)]

    def contains(self, owners: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of these are there; they need not ascend. Cost: O(len(owners) * log2(n)^2)."""
        found = np.zeros(len(owners), np.bool_)
        for run in self._runs:
            found |= _among(owners, run)
        return found

    def all(self) -> NDArray[np.uint64]:
        """All of them, ascending. Cost: O(n)."""
        return np.sort(np.concatenate([*self._runs, np.zeros(0, np.uint64)]), kind="stable")


def _among(ids: NDArray[np.uint64], run: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of `ids` stand in an ascending array."""
    if not len(run):
        return np.zeros(len(ids), np.bool_)
    places = np.searchsorted(run, ids)
    places[places == len(run)] = 0
    there: NDArray[np.bool_] = run[places] == ids
    return there
