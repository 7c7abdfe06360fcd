"""Channels to one order. Pure functions over arrays; nothing here knows what a unit is.

Inside a layer. Each channel gives one number >= 0 per unit. `zscore` divides it by the channel's spread among the
query's best units, multiplies by the channel's weight and adds up; the sum is brought to unit spread again and the
priors are added. The mean is not subtracted: that would move all units alike, and without it every part is >= 0, so
that parts of a score can be shown. Spread is taken over the best `TOP` units because most units of a large memory
have nothing to do with a query, and would make the spread a matter of how large the memory is.

`rrf` is weighted reciprocal rank fusion (Cormack, Clarke, Büttcher 2009) with a small k, which needs no score
statistics: sum of weight / (k + rank), times exp(priors).

Across layers, whose scores cannot be compared: `merge` by weighted reciprocal rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOP = 200
RRF_K = 5
LAST = 1e-6  # below whatever rrf gives to a unit that a channel speaks for


class Fused(NamedTuple):
    """One layer's order.

    `total` is the fused score per unit; `parts` split it by channel and prior and add up to it.
    `evidence` says which units any channel spoke for: only they can be hits.
    """

    total: NDArray[np.float64]
    parts: dict[str, NDArray[np.float64]]
    evidence: NDArray[np.bool_]


def spread_of(scores: NDArray[np.float64], units: int = 0, top: int = TOP) -> float:
    """Population standard deviation of the best `top` scores; the largest score where they are all equal.

    They are added up in order of size: the order of units, which differs between a running and a rebuilt index, must
    not show in the last digit of a score.

    Args:
        units: How many units the scores are the best of; the others have 0. Less than len(scores): no others.
    """
    best = scores if len(scores) <= top else np.partition(scores, len(scores) - top)[-top:]
    best = np.sort(np.concatenate([np.zeros(max(0, min(units, top) - len(best))), best]))
    deviation = float(best.std()) if len(best) else 0.0
    if deviation > 1e-9:
        return deviation
    return float(best.max()) if len(best) and best.max() > 1e-9 else 1.0


def zscore(
    channels: Mapping[str, tuple[float, NDArray[np.float64]]],
    priors: Mapping[str, NDArray[np.float64]],
    side: Mapping[str, tuple[float, NDArray[np.float64]]],
    units: int = 0,
) -> Fused:
    """Weighted sum in units of spread.

    Args:
        channels: Name to (weight, scores >= 0): evidence for a unit. All arrays have one length.
        priors: Name to a value >= 0 per unit, in spreads of the fused evidence.
        side: Name to (weight, scores >= 0): added after the evidence was brought to unit spread; no evidence alone.
        units: How many units the arrays are the candidates of; see `spread_of`.
    """
    parts = {name: weight * scores / spread_of(scores, units) for name, (weight, scores) in channels.items()}
    size = len(next(iter(channels.values()))[1])
    evidence_total = np.zeros(size)
    for part in parts.values():
        evidence_total += part
    evidence = evidence_total > 0
    unit = spread_of(evidence_total, units)
    parts = {name: part / unit for name, part in parts.items()}
    parts |= {name: weight * scores / spread_of(scores, units) for name, (weight, scores) in side.items()}
    parts |= {name: value.astype(np.float64) for name, value in priors.items()}
    total = np.zeros(size)
    for part in parts.values():
        total += part
    return Fused(total, parts, evidence)


def rrf(
    channels: Mapping[str, tuple[float, NDArray[np.float64]]],
    priors: Mapping[str, NDArray[np.float64]],
    side: Mapping[str, tuple[float, NDArray[np.float64]]],
    k: int = RRF_K,
) -> Fused:
    """Weighted reciprocal ranks. Equal scores share a rank. Arguments as for `zscore`; priors are damped to a third."""
    size = len(next(iter(channels.values()))[1])
    factor = np.ones(size)
    for value in priors.values():
        factor *= np.exp(value / 3)
    parts: dict[str, NDArray[np.float64]] = {}
    evidence = np.zeros(size, dtype=bool)
    for name, (weight, scores) in (*channels.items(), *side.items()):
        parts[name] = np.where(scores > 0, weight / (k + ranks(scores)), 0.0) * factor
        if name in channels:
            evidence |= scores > 0
    total = np.zeros(size)
    for part in parts.values():
        total += part
    return Fused(total, parts, evidence)


def ranks(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """1 for the highest score; equal scores share the rank of the first of them."""
    ascending = np.sort(scores)
    return len(scores) - np.searchsorted(ascending, scores, side="right") + 1


def standing(
    channels: Mapping[str, tuple[float, NDArray[np.float64]]], everywhere: Mapping[str, NDArray[np.float64]]
) -> float:
    """How a layer's best evidence compares with the best of all layers, 0..1.

    What a channel gives means the same in every layer; fused scores do not. Without it, the best of a layer that has
    nothing to say would stand beside an exact match in another.

    Args:
        channels: Of the layer, as for `zscore`.
        everywhere: By name, the channel's scores over all layers.
    """
    share = mass = 0.0
    for name, (weight, scores) in channels.items():
        best = float(everywhere[name].max(initial=0.0))
        if best > 0:
            mass += weight
            share += weight * float(scores.max(initial=0.0)) / best
    return share / mass if mass else 1.0


class Placed(NamedTuple):
    """A unit in the merged order. `score` in (0, 1]."""

    layer: int
    place: int  # 1.. within its layer
    item: int  # ordinal
    score: float


def merge(lists: Mapping[int, tuple[float, Sequence[int]]], ids: NDArray[np.uint64], k: int = RRF_K) -> list[Placed]:
    """Ranked lists of several layers as one, by weighted reciprocal rank, equal scores by id.

    Args:
        lists: Layer to (weight > 0, ordinals best first).
        ids: Id of each ordinal.
    """
    heaviest = max((weight for weight, _ in lists.values()), default=1.0)
    merged = [
        Placed(layer, place, item, weight / heaviest * (k + 1) / (k + place))
        for layer, (weight, items) in lists.items()
        for place, item in enumerate(items, 1)
    ]
    return sorted(merged, key=lambda placed: (-placed.score, int(ids[placed.item])))
