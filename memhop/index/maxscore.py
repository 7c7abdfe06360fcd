"""The best k units of a query without adding up every posting: MaxScore (Turtle and Flood 1995), a term at a time.

A term can add at most its weight times its idf to a unit. Terms are taken in order of that bound, rarest first. While
a unit that was not met yet could still come among the best k, whole postings are added up. Once the k-th best partial
score exceeds the sum of the bounds that remain, no new unit can: from then on the remaining, commoner terms, whose
postings are the long ones, are only looked up for the candidates, and candidates that fell behind are dropped.

Bounds are compared with a hair's slack, so that rounding never drops a tie, and terms are added in the same order as
by the dense way, so that scores are equal to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memhop.index.ranking import top_k

_SLACK: Final = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a running query, with all its postings."""

    text: str
    bound: float  # the most it can add to a unit: weight * idf
    found: list[tuple[NDArray[np.int64], NDArray[np.uint16]]]
    lengths: NDArray[np.uint32]
    base: float  # base + slope * length is what occurrences are set against
    slope: float

    def impact(self, docs: NDArray[np.int64], tfs: NDArray[np.uint16]) -> NDArray[np.float64]:
        """What the term adds to these units."""
        occurrences = tfs.astype(np.float64)
        against = self.lengths[docs] * self.slope
        against += self.base
        against += occurrences
        occurrences *= self.bound
        occurrences /= against
        return occurrences

    def impacts(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """(ordinals, what the term adds), in pieces that share no ordinal."""
        for docs, tfs in self.found:
            yield docs, self.impact(docs, tfs)


def pruned_top(
    terms: Sequence[Term], allowed: NDArray[np.bool_], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k best of the allowed units and their scores, best first, equal scores by ordinal; only scores above 0.

    Args:
        terms: Highest bound first.
        allowed: bool over all ordinals.
    """
    rest = np.cumsum([0.0] + [term.bound for term in reversed(terms)])[::-1] * _SLACK
    partial = np.zeros(len(allowed), np.float64)
    candidates = np.zeros(0, np.int64)
    position = 0
    kth = 0.0
    while position < len(terms) and kth <= rest[position]:
        fresh = [candidates]
        for docs, impacts in terms[position].impacts():
            fresh.append(docs[(partial[docs] == 0) & allowed[docs]])
            partial[docs] += impacts
        candidates = np.concatenate(fresh)
        kth = _kth(partial[candidates], k)
        position += 1
    candidates.sort()
    scores = partial[candidates]
    for term, after in zip(terms[position:], rest[position:], strict=False):
        keep = scores * _SLACK + after >= kth
        candidates, scores = candidates[keep], scores[keep]
        for docs, tfs in term.found:
            at = np.searchsorted(docs, candidates)
            at[at == len(docs)] = 0
            hit = np.flatnonzero(docs[at] == candidates) if len(docs) else at[:0]
            scores[hit] += term.impact(candidates[hit], tfs[at[hit]])
        kth = max(kth, _kth(scores, k))
    best = top_k(scores, k)
    best = best[scores[best] > 0]
    return candidates[best], scores[best]


def _kth(scores: NDArray[np.float64], k: int) -> float:
    """The k-th highest, or 0 when there are fewer."""
    if k <= 0:
        return math.inf
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if len(scores) >= k else 0.0
