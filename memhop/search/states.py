"""The present, and the past: of several texts that tell states of one subject, the one of the time asked about.

    "Ottilie lives in Graz" · "Ottilie moved to Linz"        where does Ottilie live?

The subject is that of the best candidate. A text tells of it if it shares most of what the best one has of the
question; or begins with what they share, as notes begin with what they are about, and speaks of a change. It does not
if it is a near copy which fits the question less well: that is a look-alike, about something else. Nor is there a
subject where the best one has little of the question, or where more than a few texts tell of it: that is a topic.

The state that held at the time asked about is lifted just above the others, and they keep their order by time behind
it. No text is lifted by more than a bound, and none is lowered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from memhop.search.reading import Question, Reading
from memhop.search.time_window import When
from memhop.search.tuning import RERANK

_CHANGES = frozenset(
    "now new newly since instead longer anymore again back latest moved moves switched switches changed changes "
    "replaced "
    "renamed upgraded updated raised lowered increased decreased cut doubled started starts joined left quit became "
    "becomes took handed swapped migrated rolled extended shortened postponed slips slipped delayed corrected "
    "现 新 改 换 搬 移 转 调 升 降 涨 已 交 接 变 起".split()
)
_MARGIN = 1e-7  # share by which a text is put above another one


def lifts(
    asked: Question, when: When, readings: Sequence[Reading], scores: Sequence[float], most: float
) -> list[float]:
    """What to add to each score (all > 0), 0 for most; `most` at most."""
    added = [0.0] * len(scores)
    subject = _subject(asked, when, readings, scores)
    if not 1 < len(subject) <= RERANK.states:
        return added

    def in_time(row: int) -> bool:
        return when.until is None or readings[row].at < when.until

    def later(row: int) -> tuple[bool, int]:
        at = readings[row].at
        return in_time(row), -at if when.first else at

    reached = 0.0
    latest = max(map(later, subject))
    for key, rows in groupby(sorted(subject, key=later), key=later):
        if when.until is not None and key == latest:
            # What was so before a span, and was not changed until its end, was so in it: above what is of the span.
            reached = max(reached, *scores)
        level = (1 + _MARGIN) * reached
        for row in rows:  # of one time: none is later than another
            lift = max(0.0, level - scores[row])
            if in_time(row) and lift <= most:
                added[row] = lift
            reached = max(reached, scores[row] + added[row])
    return added


def _subject(asked: Question, when: When, readings: Sequence[Reading], scores: Sequence[float]) -> list[int]:
    """The rows that tell of the best one's subject, that one first; empty when none is known.

    Best is the highest score; for a time past the fullest text, because there what lies in the span scores high.
    """
    rows = range(len(scores))
    best = max(rows, key=lambda row: (when.until is not None and readings[row].covered, scores[row], -row))
    if readings[best].covered < RERANK.known * sum(asked.subject.values()):
        return []
    worth = {term: idf for term, idf in asked.subject.items() if term in readings[best].places}
    others = [row for row in rows if row != best and not _look_alike(readings[best], readings[row])]
    subject = [best]
    for member in subject:  # grows while it is read: what tells of the same as a member does so, too
        words = 1 if member == best else 2
        subject += [
            row for row in others if row not in subject and _same_subject(worth, readings[member], readings[row], words)
        ]
    return subject


def _look_alike(best: Reading, other: Reading) -> bool:
    """Whether a text tells of something else than the best one: it agrees less with the values asked for, lacks the
    question as it was asked, or fits it less well though it is a near copy."""
    if other.told < best.told or other.verbatim < best.verbatim:
        return True
    common = len(best.distinct & other.distinct)
    if common < RERANK.alike * max(len(best.distinct), len(other.distinct)):
        return False
    return other.exact + other.order < best.exact + best.order


def _same_subject(worth: Mapping[str, float], known: Reading, other: Reading, words: int) -> bool:
    """Whether another text tells of the subject of a known one.

    Args:
        worth: Terms of the subject, with their idf.
        words: How many of them both must hold at least.
    """
    shared = [term for term in worth if term in known.places and term in other.places]
    if len(shared) < words:
        return False
    share = sum(worth[term] for term in shared) / sum(idf for term, idf in worth.items() if term in known.places)
    if share < RERANK.subject:
        return False
    begin = max(min(each.places[term] for term in shared) for each in (known, other)) <= RERANK.beginning
    if share < RERANK.sure_subject:
        return begin and not _CHANGES.isdisjoint(other.distinct)
    return begin or len(shared) > 1
