"""How strongly a term occurs where it does: the part of BM25 that looks at one term and one unit."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


def inverse_frequency(units: int, frequency: int) -> float:
    """idf: ln(1 + (N - n + 0.5) / (n + 0.5)) of a term that n of N units hold, 0 <= n <= N. Never negative."""
    return math.log(1 + (units - frequency + 0.5) / (frequency + 0.5))


class TermPostings:
    """Where one term occurs. What it says of a unit is its *strength* there, tf / (tf + norm) in [0, 1).

    `frequency` counts the live units that hold it; `idf` is its `inverse_frequency`; `size` is the number of postings,
    which is what reading all of them costs.
    """

    __slots__ = ("_alive", "_found", "_lengths", "_statistics", "frequency", "idf", "size", "term")

    def __init__(
        self,
        term: str,
        found: list[Found],
        statistics: Statistics,
        lengths: NDArray[np.uint32],
        alive: NDArray[np.bool_] | None,
    ) -> None:
        self.term = term
        self._found = found
        self._statistics = statistics
        self._lengths = lengths
        self._alive = alive
        self.size = sum(len(part.docs) for part in found)
        self.frequency = self.size
        if alive is not None:
            self.frequency = sum(int(np.count_nonzero(alive[part.ordinals()])) for part in found)
        self.idf = inverse_frequency(statistics.units, self.frequency)

    def read(self, near: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
        """(ordinals ascending, occurrences) of the live units.

        Args:
            near: Only units marked in it, bool over all ordinals. None: all.
        """
        if not self._found:
            return np.zeros(0, np.int64), np.zeros(0, np.uint16)
        docs = np.concatenate([part.ordinals() for part in self._found])
        tfs = np.concatenate([part.tfs for part in self._found])
        for mask in (self._alive, near):
            if mask is not None:
                keep = mask[docs]
                docs, tfs = docs[keep], tfs[keep]
        return docs, tfs

    def strength(self, docs: NDArray[np.int64], tfs: NDArray[np.uint16]) -> NDArray[np.float64]:
        """The strength of so many occurrences in these units."""
        occurrences = tfs.astype(np.float64)
        against = self._lengths[docs] * self._statistics.slope
        against += self._statistics.base
        against += occurrences
        occurrences /= against
        return occurrences

    def at(self, ordinals: NDArray[np.int64]) -> NDArray[np.float64]:
        """The strength in each of these live units, 0 where it does not occur.

        Cost: O(log postings) for each of them.
        """
        result = np.zeros(len(ordinals))
        for part in self._found:
            if not len(part.docs):
                continue
            place = ordinals - part.first
            there = np.searchsorted(part.docs, place.astype(part.docs.dtype))  # what does not fit is not there
            there[there == len(part.docs)] = 0
            rows = np.flatnonzero((part.docs[there] == place) & (place >= 0))
            result[rows] = self.strength(ordinals[rows], part.tfs[there[rows]])
        return result


class Found(NamedTuple):
    """A term's postings in one part: unit numbers counted from `first`, ascending, and occurrences."""

    first: int
    docs: NDArray[Any]
    tfs: NDArray[Any]

    def ordinals(self) -> NDArray[np.int64]:
        return self.docs + np.int64(self.first)


class Statistics(NamedTuple):
    """Of the live units: `units` have terms; base + slope * length is what occurrences are set against."""

    units: int
    base: float
    slope: float
    dead: int
