"""Which of several dated facts on one subject and predicate is meant: the one in force at the time asked about.

Recalled facts of one timeline are put in order: the one that holds at that time, then those before it, newest first,
then those after it; for "originally" and the like the oldest first. Each is lifted just above the next one, at most
above the best of them, and none is lowered, so that what was so before stays where it was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memhop.repo.l3_facts import Fact

if TYPE_CHECKING:
    from memhop.search.time_window import When

_MARGIN = 1e-7  # share by which a fact is put above another one


def in_force(when: When, asked_at: int, facts: Sequence[tuple[Fact, float]]) -> list[float]:
    """What to add to the score (> 0) of each fact, 0 for most.

    Args:
        when: The time whose state is asked. asked_at: Unix ms, what "now" is.
    """
    at = asked_at if when.until is None else when.until - 1
    timelines: dict[int, list[int]] = {}
    for row, (fact, _) in enumerate(facts):
        timelines.setdefault(fact.timeline, []).append(row)

    def place(row: int) -> tuple[bool, bool, int, int]:
        fact = facts[row][0]
        if when.first:
            return False, False, fact.valid_from, fact.id
        return not fact.holds(at), fact.valid_from > at, -fact.valid_from, fact.id

    added = [0.0] * len(facts)
    for rows in timelines.values():
        reached = 0.0
        for row in sorted(rows, key=place, reverse=True):
            score = facts[row][1]
            added[row] = max(0.0, (1 + _MARGIN) * reached - score)
            reached = max(reached, score + added[row])
    return added
