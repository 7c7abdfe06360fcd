"""The present, and the past: of several texts that tell states of one subject, the one of the time asked about.

    "Ottilie lives in Graz" · "Ottilie moved to Linz"        where does Ottilie live?

The subject is what the best candidate has of the question. A text tells of it if it shares the rarest word of that
and most of the rest; where none does, the rarest word is enough in a text that begins with it, as notes begin with
what they are about, and speaks of a change. It does not if it is a near copy which fits the question less well: that
is a look-alike, about something else. Nor is there a subject where the best one has little of the question, or where
more than a few texts tell of it: that is a topic.

The state that held at the time asked about is lifted just above the others, and they keep their order by time behind
it. No text is lifted by more than a bound, and none is lowered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import groupby

from memhop.search.marks import UNSURE
from memhop.search.reading import Question, Reading
from memhop.search.time_window import When
from memhop.search.tuning import RERANK
from memhop.search.values import values

_CHANGES = frozenset(
    "now new newly since instead longer anymore again back latest moved moves switched switches changed changes "
    "replaced replaces renamed upgraded updated raised lowered increased decreased reduced bumped dropped cut doubled "
    "started starts joined left quit became becomes took handed passed swapped migrated relocated "
    "transferred rolled reverted rotated extended shortened postponed slips slipped delayed corrected agreed decided "
    "现 新 改 换 搬 移 转 调 升 降 涨 减 加 停 退 已 交 接 变 起".split()
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
    """The rows that tell of one subject, the one known to first; empty when none is known.

    Known to is the highest score; for a time past one of the fullest texts, because there what lies in the span scores
    high, whatever it tells: the first that is not alone with its subject.
    """
    rows = range(len(scores))
    if when.until is None:
        return _subject_of(max(rows, key=lambda row: (scores[row], -row)), asked, readings)
    fullest = sorted(rows, key=lambda row: (-readings[row].covered, -scores[row], row))
    least = RERANK.rarest * readings[fullest[0]].covered
    for best in fullest[: 1]:
        if readings[best].covered >= least and not (best != fullest[0] and _look_alike(asked, readings[fullest[0]], readings[best])) and len(subject := _subject_of(best, asked, readings)) > 1:
            return subject
    return []


def _subject_of(best: int, asked: Question, readings: Sequence[Reading]) -> list[int]:
    rows = range(len(readings))
    worth = {term: idf for term, idf in asked.subject.items() if idf > 0 and term in readings[best].places}
    known_ = readings[best].covered >= RERANK.known * sum(asked.subject.values())
    holders = {term: sum(term in reading.places for reading in readings) for term in worth}
    few = {term for term, count in holders.items() if asked.asks and count <= RERANK.states}
    others = [row for row in rows if row != best and not _look_alike(asked, readings[best], readings[row])]
    def tell(known: int, **how: bool) -> list[int]:
        return [
            row
            for row in others
            if row not in subject
            and _same_subject(worth, few, readings[known], readings[row], known_=known_, **how)
        ]

    subject = [best]
    subject += tell(best, surely=True, alone=False)
    # What tells of the same as one of these does so, too, if that is two words of the question or more.
    for member in subject[1:]:
        if sum(term in readings[member].places for term in worth) > 1:
            subject += tell(member, surely=True, alone=False)
    weak = tell(best, surely=False, alone=len(subject) == 1) if known_ else []
    return subject + weak if len(subject) + len(weak) <= RERANK.states else subject


def _look_alike(asked: Question, best: Reading, other: Reading) -> bool:
    """Whether a text tells of something else than the best one: it agrees less with the values asked for, lacks the
    question as it was asked, or fits it less well though it is a near copy with other words in it than a change."""
    if other.told < best.told or other.verbatim < best.verbatim:
        return True
    common = len(best.distinct & other.distinct)
    if common < RERANK.alike * max(len(best.distinct), len(other.distinct)):
        return False
    if other.exact + other.order >= best.exact + best.order:
        return False
    if other.distinct == best.distinct:
        return True  # the same words in another order: who did what to whom
    if best.distinct & asked.telling <= other.distinct:
        return False
    added = {token for token in other.distinct - best.distinct if not token.isdecimal()}
    return _CHANGES.isdisjoint(added) and bool(added)  # without words of its own it only says less


def _same_subject(
    worth: Mapping[str, float],
    few: Set[str],
    known: Reading,
    other: Reading,
    *,
    surely: bool,
    alone: bool,
    known_: bool,
) -> bool:
    """Whether another text tells of the subject of a known one.

    Args:
        worth: Terms of the subject, with their idf.
        few: Those of them that few texts have at all.
        surely: Both share most of it. Else the rarest is enough, if the later one shows that it tells of a change.
    """
    had = [term for term in worth if term in known.places]
    shared = [term for term in had if term in other.places]
    rare = {term for term in shared if worth[term] >= RERANK.rarest * max(worth[each] for each in had)}
    if not rare:
        return False
    among_few = not rare.isdisjoint(few)
    share = sum(worth[term] for term in shared) / sum(worth[term] for term in had)
    begin = [not each.begins.isdisjoint(shared) for each in (known, other)]
    if surely:
        return share >= RERANK.sure_subject and (len(shared) > 1 or all(begin)) and (known_ or among_few)
    if share < (RERANK.subject if alone and begin[1] else 0.45) or not ((alone and among_few) or (begin[1] and (alone or among_few))):
        return False
    later = max(known, other, key=lambda reading: reading.at)
    return not _CHANGES.isdisjoint(later.distinct) or (among_few and _same_kind(known, other))


def _same_kind(one: Reading, other: Reading) -> bool:
    """Whether two texts tell values of one kind: two times of the day, two weights."""
    return not _kinds(one).isdisjoint(_kinds(other))


def _kinds(reading: Reading) -> set[str]:
    return {dimension for value in values(reading.passage) for dimension, _ in value.tells} - {"number", UNSURE}
