"""The present, and the past: of several texts that tell states of one subject, the one of the time asked about.

    "Ottilie lives in Graz" · "Ottilie moved to Linz"        where does Ottilie live?

The subject is what the best candidate has of the question. A text tells of it if it shares the rarest word of that
and most of the rest. The rarest word with less of the rest is enough where something shows a new state:

    the later one speaks of a change                    Ottilie moved to Linz
    both tell values of one kind                        the crate weighs 5 kg · crate is at 8.3 kg on the scales

The first is enough in a text that begins with the word, as notes begin with what they are about, if no text shares
more. Else the words must be put as a question, and few candidates may have that word: of what many speak of, too much
is told that is not meant.

A text does not tell of the subject if it is a look-alike, about something else: a near copy which fits the question
less well, or one that lacks what the question names exactly. Nor is there a subject where more than a few texts tell
of it: that is a topic. Where the best one has little of the question, time tells apart only its equals.

Where a question is about who asks ("do I run?"), the best one is the best of those that speak of who says it, and what
shares but one word with it must do so, too. Of two turns of a conversation the later one tells a new state if the same
person tells it on another occasion, or if it speaks of a change: most of what is said in one session goes on from what
was said before, and the other speaker takes up its words. A turn that asks tells nothing.

Where a question asks for a relation that is told in words of its own (`relations`), one of these is enough, wherever it
stands, in a text that has a good share of the best score: alone such a word says little. It must speak of who says it,
which Chinese may leave out. Of many that do so the best few count: here they are no topic.

The state that held at the time asked about is lifted just above the others, and they keep their order by time behind
it. No text is lifted by more than a bound, and none is lowered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from memhop.search.marks import UNSURE
from memhop.search.reading import Question, Reading
from memhop.search.time_window import When
from memhop.search.tuning import RERANK
from memhop.search.values import values

_CHANGES = frozenset(
    "now new newly since instead longer anymore again back latest formerly correction replacement "
    "moved moves switched switches changed changes change replaced replaces renamed upgraded updated update "
    "raised lowered increased decreased reduced bumped dropped cut doubled halved "
    "started starts joined left quit hired promoted resigned retired engaged "
    "became becomes took handed passed swapped migrated relocated "
    "transferred rolled reverted rotated extended shortened postponed slips slipped delayed corrected agreed decided "
    "cancelled canceled reopened closed gone broke ended finished sold divorced separated married expired fixed "
    "repaired recovered abandoned quits stopped stop "
    "现 新 改 换 搬 移 转 调 升 降 涨 减 加 停 退 已 交 接 变 起 推 延 挪 迁 离 定".split()
)
_MARGIN = 1e-7  # share by which a text is put above another one


def lifts(
    asked: Question, when: When, readings: Sequence[Reading], scores: Sequence[float], most: float
) -> list[float]:
    """What to add to each score (all > 0), 0 for most; `most` at most."""
    added = [0.0] * len(scores)
    subject = _subject(asked, when, readings, scores)
    subject = [row for row in subject if row == subject[0] or _told_anew(readings[subject[0]], readings[row])]
    if asked.told:  # its words are many, and some of them always fit something else
        subject = sorted(subject, key=lambda row: (-scores[row], row))[: RERANK.states]
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
    """The rows that tell of the best one's subject, that one first; it alone when none is known.

    Best is the highest score; for a time past the fullest text, because there what lies in the span scores high.
    """
    rows: Sequence[int] = range(len(scores))
    if asked.mine:  # "do I run?" is about none of the others who do
        rows = [row for row in rows if readings[row].mine] or rows
    best = max(rows, key=lambda row: (when.until is not None and readings[row].covered, scores[row], -row))
    held = readings[best].places
    worth = {term: idf for term, idf in asked.subject.items() if idf > 0 and term in held}
    seldom = {term for term in worth if sum(term in readings[row].places for row in rows) <= RERANK.states}
    marks = _Marks(
        worth=worth,
        seldom=frozenset(seldom) if asked.asks else frozenset(),
        known=readings[best].covered >= RERANK.known * sum(asked.subject.values()),
        anywhere=asked.told,
    )
    others = [
        row
        for row in range(len(scores))
        if row != best
        and not _look_alike(asked, readings[best], readings[row])
        and (
            scores[row] >= RERANK.told * scores[best] and (row in rows or readings[row].unspaced)
            if asked.told
            else row in rows or sum(term in readings[row].places for term in worth) > 1
        )
    ]
    subject = [best]

    def add(known: Reading) -> None:
        subject.extend(row for row in others if row not in subject and _shares(marks, known, readings[row]))

    add(readings[best])
    for member in subject[1:]:  # what tells of the same as one of these does so, too, if that is two words or more
        if sum(term in readings[member].places for term in worth) > 1:
            add(readings[member])
    if not marks.known:
        return subject
    alone = len(subject) == 1
    changes = [
        row for row in others if row not in subject and _changes(marks, readings[best], readings[row], alone=alone)
    ]
    return subject + changes if len(subject) + len(changes) <= RERANK.states else subject


class _Marks(NamedTuple):
    """What tells that a text is about the subject."""

    worth: Mapping[str, float]  # terms of the question that the best one has, with their idf
    seldom: frozenset[str]  # those of them that only a few candidates have
    known: bool  # the best one has most of the question
    anywhere: bool  # one word in common is enough, wherever it stands


def _look_alike(asked: Question, best: Reading, other: Reading) -> bool:
    """Whether a text tells of something else than the best one.

    It agrees less with the values asked for, lacks the question as it was asked or a path or dotted name in it, says
    yes where the question says no; or it is a near copy that fits less well: with the same words in another order
    (who did what to whom), or without a word of the question and with others in its place that are no change.
    """
    if other.told < best.told or other.verbatim < best.verbatim:
        return True
    if not asked.compounds & best.places.keys() <= other.places.keys():
        return True
    if asked.negated and best.denies and not other.denies:
        return True
    common = len(best.distinct & other.distinct)
    if common < RERANK.alike * max(len(best.distinct), len(other.distinct)):
        return False
    if other.exact + other.order >= best.exact + best.order:
        return False
    if other.distinct == best.distinct:
        return True
    if best.distinct & asked.telling <= other.distinct:
        return False
    added = {token for token in other.distinct - best.distinct if not token.isdecimal()}
    return _CHANGES.isdisjoint(added) and bool(added)  # without words of its own it only says less


def _shares(marks: _Marks, known: Reading, other: Reading) -> bool:
    """Whether another text shares the rarest word of a known one and most of the rest.

    Where the best one has little of the question, that rarest word must be one that few have.
    """
    shared, rarest, share = _common(marks, known, other)
    begin = not (known.begins.isdisjoint(shared) or other.begins.isdisjoint(shared))
    surely = marks.known or not marks.seldom.isdisjoint(rarest)
    enough = marks.anywhere or len(shared) > 1 or begin
    return bool(rarest) and surely and share >= RERANK.sure_subject and enough


def _changes(marks: _Marks, known: Reading, other: Reading, *, alone: bool) -> bool:
    """Whether another text shares the rarest word of the best one, and something shows a new state; see above.

    Args:
        alone: No text shares more. If one does, or if the text does not begin with the word, more of the rest is
            wanted, and the word must be one that few have.
    """
    shared, rarest, share = _common(marks, known, other)
    seldom = not marks.seldom.isdisjoint(rarest)
    begins = not other.begins.isdisjoint(shared)
    if not rarest or share < (RERANK.subject if alone and begins else RERANK.half_subject):
        return False
    if not ((alone or begins) if seldom else (alone and begins)):
        return False
    later = max(known, other, key=lambda reading: reading.at)
    return not _CHANGES.isdisjoint(later.distinct) or (seldom and not _kinds(known).isdisjoint(_kinds(other)))


def _told_anew(best: Reading, other: Reading) -> bool:
    """Whether of two turns the later one may tell a new state. A note, which has no session, stands for itself."""
    earlier, later = sorted((best, other), key=lambda reading: reading.at)
    if later.asks or earlier.asks:
        return False
    elsewhere = later.speaker == earlier.speaker and (later.session != earlier.session or not later.session)
    return elsewhere or not _CHANGES.isdisjoint(later.distinct)


def _common(marks: _Marks, known: Reading, other: Reading) -> tuple[list[str], list[str], float]:
    """The terms that both have, those of them as rare as the rarest of the known one, and the share of its idf."""
    had = [term for term in marks.worth if term in known.places]
    shared = [term for term in had if term in other.places]
    least = RERANK.rarest * max((marks.worth[term] for term in had), default=0.0)
    rarest = [term for term in shared if marks.worth[term] >= least]
    return shared, rarest, sum(marks.worth[term] for term in shared) / (sum(marks.worth[term] for term in had) or 1.0)


def _kinds(reading: Reading) -> set[str]:
    """The dimensions of the values a text tells: a time of the day, a weight, a version or bare number."""
    return {dimension for value in values(reading.passage) for dimension, _ in value.tells} - {"number", UNSURE}
