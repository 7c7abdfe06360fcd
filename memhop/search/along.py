"""The hits of the project that was asked for, and beside them those of the universal project.

Both were looked for apart, each among its own, so that neither can crowd out the other one. Together:

- of `limit` places the universal project gets a quarter at most (none of fewer than four), and what the other one
  leaves free;
- the scores of the one whose best evidence is the weaker are less by as much as the answer is less likely to be there,
  see `confidence`, as if both were equally large;
- in order of score; of equal ones those of the project that was asked for come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

from memhop.search.confidence import Signs, confidence

SHARE = 4  # one place in so many


class Scored(Protocol):
    """A hit as far as it is looked at here."""

    @property
    def id(self) -> int: ...

    @property
    def score(self) -> float: ...

    def scaled(self, factor: float) -> Self:
        """The same with a score this many times as high; 0 < factor <= 1."""


H = TypeVar("H", bound=Scored)


def together(own: Sequence[H], along: Sequence[H], signs: tuple[Signs, Signs], limit: int) -> list[H]:
    """One list of at most `limit` hits.

    Args:
        own, along: Best first; of the project asked for, and of the universal one.
        signs: Of the confidence of both.
    """
    units = signs[0].units + signs[1].units
    sure = [confidence(one._replace(units=units)) for one in signs]
    best = max(sure)
    places = max(limit // SHARE, limit - len(own))
    chosen = along[:places]
    scaled = [
        (hit.scaled(factor / best), second)
        for second, (hits, factor) in enumerate(((own[: limit - len(chosen)], sure[0]), (chosen, sure[1])))
        for hit in hits
    ]
    return [hit for hit, _ in sorted(scaled, key=lambda pair: (-pair[0].score, pair[1], pair[0].id))]
