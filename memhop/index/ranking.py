"""The best k of many scores, in one fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def top_k(scores: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Positions of the k highest scores, best first; equal scores by position, so that two runs agree.

    Args:
        scores: One-dimensional, no NaN. Fewer than k values: all come back.
        k: Below 1: none come back.

    Cost: one partition, O(n); sorting only what is returned.
    """
    if k <= 0 or len(scores) == 0:
        return np.zeros(0, np.int64)
    if k < len(scores):
        limit = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > limit)
        equal = np.flatnonzero(scores == limit)[: k - len(above)]
        chosen = np.concatenate([above, equal])
    else:
        chosen = np.arange(len(scores))
    return chosen[np.argsort(-scores[chosen], kind="stable")].astype(np.int64, copy=False)
