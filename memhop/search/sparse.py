"""Numbers for a few units out of many: what a channel gives, and the arrays in which it is added up.

A question concerns thousands of units out of a million. Adding up needs an array over all ordinals, to be able to add
at random; making one for each question would cost more than the question. A `Workspace` keeps such arrays, all zeros
between uses, and what is taken out of them is put back to zero where it was touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Scores(NamedTuple):
    """What a channel gives: units as ordinals, ascending, each once, and a number > 0 for each. All others have 0."""

    docs: NDArray[np.int64]
    values: NDArray[np.float64]

    def at(self, docs: NDArray[np.int64]) -> NDArray[np.float64]:
        """The numbers of these units."""
        result = np.zeros(len(docs))
        if len(self.docs):
            place = np.searchsorted(self.docs, docs)
            place[place == len(self.docs)] = 0
            known = self.docs[place] == docs
            result[known] = self.values[place[known]]
        return result

    def among(self, mask: NDArray[np.bool_]) -> Scores:
        """Only of the units in a mask over all ordinals."""
        keep = mask[self.docs]
        return Scores(self.docs[keep], self.values[keep])


def union(docs: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The units of any of them, ascending, each once. (`np.union1d` hashes, which takes several times as long.)"""
    found = np.sort(np.concatenate(docs))
    fresh = np.ones(len(found), bool)
    np.not_equal(found[1:], found[:-1], out=fresh[1:])
    return found[fresh]


NOTHING = Scores(np.zeros(0, np.int64), np.zeros(0))


class Sums:
    """A running sum for each unit."""

    def __init__(self, values: NDArray[np.float64], touched: NDArray[np.bool_]) -> None:
        self._values = values
        self._touched = touched

    def add(self, docs: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Add numbers > 0. `docs`: each once."""
        self._values[docs] += values
        self._touched[docs] = True

    @property
    def count(self) -> int:
        """Units that were added to. Cost: a look at every unit's mark."""
        return int(np.count_nonzero(self._touched))

    def take(self) -> Scores:
        """The sums; they begin at zero again."""
        docs = np.flatnonzero(self._touched)
        values = self._values[docs]
        self._values[docs] = 0.0
        self._touched[docs] = False
        return Scores(docs, values)


class Workspace:
    """Arrays over all ordinals that are zero between uses: about 9 bytes for each name and unit.

    What a failed call leaves behind is not zero: throw the workspace away with it.
    """

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, str], NDArray[np.float64] | NDArray[np.bool_]] = {}

    def sums(self, name: str, size: int) -> Sums:
        """The sums of this name over `size` units. One user at a time."""
        return Sums(self.array(name, size), self._array(name, "?", size))  # type: ignore[arg-type]

    def array(self, name: str, size: int) -> NDArray[np.float64]:
        """Zeros, float64[size]; the user leaves zeros behind."""
        return self._array(name, "f8", size)  # type: ignore[return-value]

    def _array(self, name: str, dtype: str, size: int) -> NDArray[np.float64] | NDArray[np.bool_]:
        array = self._arrays.get((name, dtype))
        if array is None or len(array) < size:
            array = self._arrays[name, dtype] = np.zeros(size + size // 8, dtype)
        return array[:size]
