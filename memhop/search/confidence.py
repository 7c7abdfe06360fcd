"""How likely is it that what was asked is in memory at all?

Ranking finds the best of what there is; whether the best is any good shows in what it is made of. Four signs:

    held      how much of what the words of the question could earn the best unit has earned, neighbours included
    missing   how many of the words nobody ever wrote, nor anything spelt or beginning like them
    units     among more units more is alike by chance
    near      how far the nearest vector stands out from those that come after it; only where there are vectors

A logistic function weighs them. Its coefficients come from questions put to the conversation they were written about,
and to conversations they have nothing to do with: whole, by halves that lack the answer, as isolated notes, and as one
to ten notes; with the names of the speakers in the question and without. `benches/fit_confidence.py` fits them, and
prints how well they hold for a conversation that was left out. Those for vectors are from a static and a contextual
model together, for each of which alone they would be a little different and no better at telling known from unknown.

A probability of what? In the fit, half of the questions can be answered. Where the memory is asked mostly what it
knows, the true share is higher than what is said here, and lower where it is asked mostly what it does not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_UNITS = 1_000  # as many the coefficients were fitted on; beyond, counting on would be guessing


class Signs(NamedTuple):
    """What confidence is made of. `held`, `missing` in 0..1; `units` >= 1; `near` <= 1, None without vectors."""

    held: float
    missing: float
    units: int
    near: float | None


class Coefficients(NamedTuple):
    """Of the logistic function; `units` is of their decimal logarithm."""

    constant: float
    held: float
    missing: float
    units: float
    near: float = 0.0


WORDS = Coefficients(constant=0.55, held=10.71, missing=-2.21, units=-1.30)
VECTORS = Coefficients(constant=-0.71, held=8.62, missing=-1.48, units=-1.29, near=5.51)


def confidence(signs: Signs) -> float:
    """The chance, in 0..1, that the answer is among the units, of a question as likely to have one as not."""
    by = WORDS if signs.near is None else VECTORS
    return 1.0 / (1.0 + math.exp(-sum(map(float.__mul__, by, variables(signs)))))


def variables(signs: Signs) -> tuple[float, ...]:
    """What the coefficients multiply, in their order."""
    units = math.log10(1 + min(signs.units, _MOST_UNITS))
    return (1.0, signs.held, signs.missing, units, signs.near or 0.0)


def standing_out(nearest: NDArray[np.float64]) -> float:
    """How much nearer the nearest vector is than the mean of the others, as a share of what it could be.

    Cosines of unrelated texts are around 0 in one model and around 0.7 in another; the others say where. Without others
    they are taken to be 0.

    Args:
        nearest: Cosines of the nearest units, at least one, in any order.
    """
    best = float(nearest.max())
    others = (float(nearest.sum()) - best) / (len(nearest) - 1) if len(nearest) > 1 else 0.0
    return (best - others) / (1.0 - others) if others < 1.0 else 0.0
