"""Notes another note took the place of: still found, and behind what replaced them.

A superseded note loses a fixed share of its score, and what took its place is lifted just above it, even if it shares
no word with the question:

    "We deploy on Fridays" <- superseded by "Releases go out on Mondays"      when do we deploy?

A question about a time past, or about how things began, asks for what was so then, and moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memhop.repo.l4_note import Note
from memhop.repo.record import Record

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
