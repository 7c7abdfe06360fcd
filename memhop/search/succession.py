"""Notes another note took the place of: still found, and behind what replaced them.

A superseded note loses a fixed share of its score, and what took its place is lifted just above it, even if it shares
no word with the question:

    "We deploy on Fridays" <- superseded by "Releases go out on Mondays"      when do we deploy?

A question about a time past, or about how things began, asks for what was so then, and moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from memhop.repo.l4_note import Note
from memhop.repo.record import SUPERSEDED, Record
from memhop.search.fusion import Fused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memhop.repo.views import Views
    from memhop.search.sparse import Scores

SHARE = 0.25  # of its own score that a superseded note loses
BEST = 20  # superseded notes of one recall whose successors are looked for: the best ones
_CHAIN = 16  # successors that are followed; a chain may run in a circle
_MARGIN = 1e-7  # share by which a successor is put above what it supersedes


def successors(id_: int, get: Callable[[int], Record | None]) -> list[int]:
    """The notes that took the place of a note, one after the other; the last one stands. `get`: the record of an id."""
    chain = [id_]
    while len(chain) <= _CHAIN:
        note = get(chain[-1])
        following = note.superseded_by if isinstance(note, Note) else 0
        if not following or following in chain:
            break
        chain.append(following)
    return chain[1:]


def gains(totals: Sequence[float], heirs: Sequence[tuple[int, int]]) -> dict[int, float]:
    """What to add to the total of a row, so that each heir stands above what it supersedes.

    Args:
        totals: What each row has, without what a superseded one loses.
        heirs: (row, row of what took its place); of a chain, the beginning first.
    """
    gained: dict[int, float] = {}
    for row, heir in heirs:
        level = (totals[row] + gained.get(row, 0.0)) * (1 + _MARGIN)
        gained[heir] = max(gained.get(heir, 0.0), level - totals[heir])
    return {row: more for row, more in gained.items() if more > 0}


def heirs(
    docs: NDArray[np.int64],
    spoken_for: Sequence[Scores],
    views: Views,
    mask: NDArray[np.bool_],
    get: Callable[[int], Record | None],
) -> NDArray[np.int64]:
    """The units of what took the place of the best superseded notes among `docs`, as far as they are in `mask`.

    What answers a question about the old words need not have any of them.

    Args:
        spoken_for: What each channel gives, by which the best ones are told.
    """
    superseded: NDArray[np.int64] = docs[(views.units.column("flags")[docs] & SUPERSEDED) != 0]
    if not len(superseded):
        return superseded
    total = np.zeros(len(superseded))
    for scores in spoken_for:
        total += scores.at(superseded) / max(1e-9, float(scores.values.max(initial=0.0)))
    found = set()
    for doc in superseded[np.lexsort((superseded, -total))[:BEST]].tolist():
        for heir in reversed(successors(int(views.units.ids[doc]), get)):
            ordinal = views.units.ordinal(heir)
            if ordinal is not None and mask[ordinal]:
                found.add(ordinal)
                break
    return np.array(sorted(found), np.int64)


def succeeded(fused: Fused, docs: NDArray[np.int64], views: Views, get: Callable[[int], Record | None]) -> Fused:
    """A layer with its superseded notes behind what took their place."""
    units = views.units
    superseded = ((units.column("flags")[docs] & SUPERSEDED) != 0) & fused.evidence
    if not superseded.any():
        return fused
    lost = np.where(superseded, -SHARE * fused.total, 0.0)
    total = fused.total + lost
    rows = np.flatnonzero(superseded)
    chains = []
    for row in rows[np.lexsort((units.ids[docs[rows]], -total[rows]))][:BEST].tolist():
        chain = successors(int(units.ids[docs[row]]), get)
        for heir in chain:
            place = _row_of(heir, docs, views)
            if place is not None:
                chains.append((-len(chain), row, place))
                break
    gained = np.zeros(len(docs))
    for row, more in gains(total.tolist(), [(row, heir) for _, row, heir in sorted(chains)]).items():
        gained[row] = more
    parts = fused.parts | {"superseded": lost, "supersedes": gained}
    return Fused(total + gained, parts, fused.evidence | (gained > 0))


def _row_of(id_: int, docs: NDArray[np.int64], views: Views) -> int | None:
    ordinal = views.units.ordinal(id_)
    row = None if ordinal is None else int(np.searchsorted(docs, ordinal))
    return row if row is not None and row < len(docs) and docs[row] == ordinal else None
