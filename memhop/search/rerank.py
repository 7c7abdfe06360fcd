"""The order of the best few, looked at closely: texts that the channels can hardly tell apart.

Channels see which words a text holds. This stage reads the best `RERANK.candidates` texts of a layer again and asks
four things of each, answered by a number in 0..1, times a weight of the layer (`tuning.Weights`):

    value     does it tell the values the question names (`values`), or others of the same kind, or none?
    exact     how many of the question's words, and pairs of neighbouring words, stand in it letter by letter; and does
              it say no where the question says no?
    order     do the words that both hold follow one another in the same order? Ann paid Bo; Bo paid Ann
    current   of several that tell states of one subject, is it the one of the time asked about (`states`)?

A number that all candidates share moves nothing and is left out, so that what a part shows is what it did. All are
>= 0 and at most their weight's share of the best score, so that candidates stay above all others. Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from memhop.search.reading import Candidate, Question, Reader
from memhop.search.states import lifts
from memhop.search.time_window import When
from memhop.search.tuning import Weights


def rerank(
    asked: Question, when: When | None, candidates: Sequence[Candidate], weights: Weights
) -> dict[str, list[float]]:
    """What to add to each candidate's score, by part; parts that would move nothing are left out.

    A weight is a share of the best score. None as `when`: the question is about no state of anything.
    """
    reader = Reader(asked)
    readings = [reader.read(candidate) for candidate in candidates]
    scores = [candidate.score for candidate in candidates]
    best = max(scores, default=0.0)
    added = {}
    for name, weight, shares in (
        ("value", weights.value, [reading.told for reading in readings]),
        ("exact", weights.exact, [reading.exact for reading in readings]),
        ("order", weights.order, [reading.order for reading in readings]),
    ):
        least = min(shares, default=0.0)
        if weight and any(share > least for share in shares):
            added[name] = [best * weight * (share - least) for share in shares]
            scores = [score + more for score, more in zip(scores, added[name], strict=True)]
    if weights.current and when is not None and candidates:
        lifted = lifts(asked, when, readings, scores, weights.current * best)
        if any(lifted):
            added["current"] = lifted
    return added
