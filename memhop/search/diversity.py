"""Questions that have several answers: "What has Ann painted?" has one in every session that speaks of a painting.

Neighbouring turns share their evidence, so that the turns of one session fill the top of the list together. Hence a
hit is set back for every better hit of its session: maximal marginal relevance (Carbonell and Goldstein 1998), where
two turns are alike when they are of one session. A little helps every question; one that asks for several things is
helped by more, which would cost the others their second best turn.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from typing import Final

_AUXILIARY = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|might|may)"
_NO_PLURAL = r"(?:is|was|does|has|this|his|its|us|news|business)"
PARTICIPLE: Final = (
    r"(?:\w{2,30}ed(?<!eed)|\w{2,30}en|been|done|gone|made|had|got|won|met|seen|read|bought|caught|taught|brought|found|held|kept|left|"
    r"lost|paid|put|run|said|sold|sent|set|told|thought|come|become|built|heard|led|cut|hit|let|shown|known|grown|"
    r"flown|drawn|worn|sung|swum|begun|felt|spent)"
)
_SEVERAL = re.compile(
    r"\bhow\s+(?:many|often)\b"
    r"|\b(?:what|which|who)\s+(?:all|are|were|have)\b"
    # what + plural noun + auxiliary: "which outdoor sports does"
    rf"|\b(?:what|which)\s+(?:(?!{_AUXILIARY}\b)[\w'’-]+\s+){{0,4}}?(?!{_NO_PLURAL}\b)[\w'’-]*[^\W\d_s]s\s+{_AUXILIARY}\b"
    # the perfect, which asks for all that happened until now: "where has Ann lived"
    rf"|\b(?:has|have)\s+(?:(?!to\b)[\w'’]+\s+){{1,5}}?{PARTICIPLE}\b"
    r"|哪些|哪几|哪幾|多少|几次|幾次|几个|幾個|都有谁|都有誰",
    re.IGNORECASE,
)
_ONE = re.compile(r"\bhow\s+long\b|\bsince\s+when\b|^\s*(?:has|have)\b", re.IGNORECASE)


def asks_for_several(text: str) -> bool:
    """Whether a question can be expected to have more than one answer, by its grammar (English, Chinese).

    >>> asks_for_several("What instruments does Ann play?"), asks_for_several("What did Ann play on Sunday?")
    (True, False)
    """
    return _SEVERAL.search(text) is not None and _ONE.search(text) is None


def spread_out(totals: Sequence[float], sessions: Sequence[int], step: float, most: int) -> list[int]:
    """The best, then again and again the best of what is left when sessions that were taken from are set back.

    Args:
        totals: Descending.
        sessions: Label of each one's session; 0 for none, which sets nobody back.
        step: Taken from a total for each one of the same session that comes before it, >= 0.
        most: How many are wanted.

    Returns:
        Places in `totals`; those of one session in their old order, as are those that come out equal.

    Cost: O(n + most log sessions), because in a session the order cannot change: it is a merge of sessions.
    """
    queues: dict[int, list[int]] = {}
    for place, session in enumerate(sessions):
        queues.setdefault(session or ~place, []).append(place)
    heads = [(-totals[queue[0]], queue[0], 1, queue) for queue in queues.values()]
    heapq.heapify(heads)
    order: list[int] = []
    while heads and len(order) < most:
        _, place, taken, queue = heads[0]
        order.append(place)
        if taken < len(queue):
            following = queue[taken]
            heapq.heapreplace(heads, (step * taken - totals[following], following, taken + 1, queue))
        else:
            heapq.heappop(heads)
    return order
