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

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from memhop.repo.record import ASKS
from memhop.search.tuning import EVIDENCE, Evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.index.units import UnitTable
    from memhop.search.sparse import Workspace


class Neighbourhood:
    """Hands evidence on to neighbouring units, at the cost of the units that have some."""

    def __init__(self, units: UnitTable, workspace: Workspace, settings: Evidence = EVIDENCE) -> None:
        neighbours = units.neighbours("session")
        self._previous, self._next = neighbours.arrays
        self._alone = len(neighbours.groups[1]) == 0  # no unit has a session
        self._flags = units.column("flags")
        self._settings = settings
        self._scratch = workspace.array("spread", units.size)

    def spread(
        self, docs: NDArray[np.int64], strength: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Evidence after spreading: (ordinals, each once, in no order of meaning; values > 0).

        Args:
            docs: Distinct ordinals. strength: Their evidence, > 0.
        """
        if self._alone:
            return docs, strength
        scratch = self._scratch
        touched = [docs]
        scratch[docs] = strength
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
        values = []
        for group in touched:  # what was read is zero, so that a unit in several groups comes back once
            values.append(scratch[group])
            scratch[group] = 0.0
        reached, total = np.concatenate(touched), np.concatenate(values)
        positive = total > 0
        return reached[positive], total[positive]

    def gather(
        self, docs: NDArray[np.int64], strength_at: Callable[[NDArray[np.int64]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Evidence after spreading at these units alone, where it is costlier to look at all units that have some.

        Args:
            strength_at: The evidence of any units, >= 0.
        """
        result = strength_at(docs)
        if self._alone:
            return result
        for link, answers in ((self._previous, True), (self._next, False)):
            rows, reached = np.arange(len(docs)), docs
            for distance, share in enumerate(self._settings.kernel):
                reached = link[reached].astype(np.int64)
                there = reached >= 0
                rows, reached = rows[there], reached[there]
                strength = strength_at(reached)
                result[rows] += share * strength
                if answers and distance == 0:
                    asks = (self._flags[reached] & ASKS) != 0
                    result[rows[asks]] += self._settings.answer * strength[asks]
        return result

    def widen(self, docs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The units and all that their evidence reaches, ascending."""
        return np.sort(self.spread(docs, np.ones(len(docs)))[0])

    def within_reach(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The units whose evidence reaches one of the mask, these included."""
        if self._alone:
            return mask
        near = mask.copy()
        docs = np.flatnonzero(mask)
        for link in (self._previous, self._next):
            for reached in _walk(link, docs, len(self._settings.kernel)):
                near[reached] = True
        return near

    def saturated(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Share of a term's idf that is earned, in [0, 1)."""
        share: NDArray[np.float64] = values / (values + self._settings.saturation)
        return share


def _walk(link: NDArray[np.int32], docs: NDArray[np.int64], steps: int) -> Iterator[NDArray[np.int64]]:
    for _ in range(steps):
        docs = link[docs].astype(np.int64)
        docs = docs[docs >= 0]
        yield docs


def _step(
    link: NDArray[np.int32], docs: NDArray[np.int64], strength: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The neighbours of units, with what is handed to them; distinct, because links are one to one."""
    neighbours = link[docs].astype(np.int64)
    there = neighbours >= 0
    return neighbours[there], strength[there]
