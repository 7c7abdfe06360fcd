"""How one query term speaks for units, and for their neighbours in a conversation.

An answer often stands next to the words that ask for it. So a term's strength in a unit is handed on to the units
before and after it in the same session, by a kernel, and from a unit that asks to the one that follows. This is done
per term and saturated before terms are added up: a stretch of conversation that holds different words of the question
beats one that repeats a word.

    y(i)  = x(i) + sum over d of kernel[d] * (x(i-d) + x(i+d)) + answer * x(i-1) * [unit i-1 asks]
    score = sum over terms of idf * y / (y + saturation)

Units without a session have no neighbours: for notes this is BM25 with a slightly stronger saturation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memhop.repo.record import ASKS
from memhop.search.tuning import EVIDENCE, Evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.index.units import UnitTable


class Neighbourhood:
    """Hands evidence on to neighbouring units. Works on the units that have some, so it costs O(postings)."""

    def __init__(self, units: UnitTable, settings: Evidence = EVIDENCE) -> None:
        self._previous, self._next = units.neighbours("session")
        self._flags = units.column("flags")
        self._settings = settings
        self._scratch = np.zeros(units.size)

    def spread(
        self, docs: NDArray[np.int64], strength: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Evidence after spreading: (ordinals ascending, values > 0).

        Args:
            docs: Distinct ordinals. strength: Their evidence, >= 0.
        """
        scratch = self._scratch
        touched = [docs]
        scratch[docs] += strength
        before, before_strength = docs, strength
        after, after_strength = docs, strength
        for share in self._settings.kernel:
            before, before_strength = _step(self._previous, before, before_strength)
            after, after_strength = _step(self._next, after, after_strength)
            scratch[before] += share * before_strength
            scratch[after] += share * after_strength
            touched += [before, after]
        asks = (self._flags[docs] & ASKS) != 0
        answers, asked = _step(self._next, docs[asks], strength[asks])
        scratch[answers] += self._settings.answer * asked
        reached = np.unique(np.concatenate(touched))
        values = scratch[reached]
        scratch[reached] = 0.0
        positive = values > 0
        return reached[positive], values[positive]

    def widen(self, docs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The units and all that their evidence reaches, ascending."""
        return self.spread(docs, np.ones(len(docs)))[0]

    def saturated(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Share of a term's idf that is earned, in [0, 1)."""
        share: NDArray[np.float64] = values / (values + self._settings.saturation)
        return share


def _step(
    link: NDArray[np.int32], docs: NDArray[np.int64], strength: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The neighbours of units, with what is handed to them; distinct, because links are one to one."""
    neighbours = link[docs].astype(np.int64)
    there = neighbours >= 0
    return neighbours[there], strength[there]
